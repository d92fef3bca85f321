"""Consumers: tensors that are unusual and legal must be read as they are."""

from typing import Any

from . import abi
from .foreign import Foreign, Maker, Offer
from .importing import check_values, needs, reads_or_refuses, reads_right, right_or_refused, take, taken
from .rules import MUST, NOTE, SHOULD, Wrong, advise, expect, rule
from .targets import Target

HEADER = "dlpack.h, DLTensor"


def making(*arguments: Any, **fields: Any) -> Maker:
    return lambda legacy: Foreign(*arguments, legacy=legacy, **fields)


def at_version(version: tuple[int, int], **fields: Any) -> Offer:
    return Offer(lambda _: Foreign(version=version, **fields), legacy=False)


# ---- NULL strides ----


@rule("C-LAY-01", MUST, f"{HEADER}: strides before 1.2; pitfalls 36", "NULL strides in a legacy struct mean row-major.")
def null_strides_legacy(target: Target) -> str:
    needs(target, legacy=True)
    return reads_right(target, Offer(making(strides=None), legacy=True))


@rule(
    "C-LAY-02",
    SHOULD,
    f"{HEADER}: strides before 1.2; pitfalls 38",
    "NULL strides in a struct of version 1.0 mean row-major.",
)
def null_strides_versioned(target: Target) -> str:
    needs(target, legacy=False)
    return reads_right(target, at_version((1, 0), strides=None))


@rule(
    "C-LAY-03",
    NOTE,
    f"{HEADER}: strides; pitfalls 38",
    "NULL strides in a struct of version 1.3, against the header and seen in the field, are row-major or refused.",
)
def null_strides_late(target: Target) -> str:
    needs(target, legacy=False)
    return right_or_refused(target, at_version((1, 3), strides=None))


@rule("C-LAY-04", SHOULD, f"{HEADER}: byte_offset", "NULL strides go together with a byte_offset.")
def null_strides_offset(target: Target) -> str:
    return reads_right(target, making(strides=None, byte_offset=8, version=(1, 0)))


# ---- Offsets ----


@rule("C-LAY-05", MUST, f"{HEADER}: byte_offset; pitfalls 62, 63, 64", "Element 0 is at data + byte_offset.")
def offset(target: Target) -> str:
    return reads_right(target, making(byte_offset=12))


@rule("C-LAY-06", MUST, f"{HEADER}: byte_offset; pitfalls 62", "byte_offset counts in a legacy struct too.")
def offset_legacy(target: Target) -> str:
    needs(target, legacy=True)
    return reads_right(target, Offer(making(byte_offset=12), legacy=True))


@rule("C-LAY-07", MUST, f"{HEADER}: byte_offset; pitfalls 41", "byte_offset counts for a 0-d tensor too.")
def offset_scalar(target: Target) -> str:
    return reads_right(target, making(shape=(), byte_offset=12))


@rule(
    "C-LAY-08",
    NOTE,
    f"{HEADER}: byte_offset",
    "A byte_offset that is no multiple of the element is read right, or refused.",
)
def offset_odd(target: Target) -> str:
    return right_or_refused(target, making(byte_offset=3))


# ---- Strides ----


@rule("C-LAY-09", NOTE, f"{HEADER}: strides; pitfalls 56, 60", "A transposed tensor is taken.")
def transposed(target: Target) -> str:
    return reads_or_refuses(target, making(strides=(1, 2)))


@rule("C-LAY-10", NOTE, f"{HEADER}: strides; pitfalls 59, 60, 133", "Rows with gaps between them are taken.")
def gaps(target: Target) -> str:
    return reads_or_refuses(target, making(strides=(8, 1)))


@rule("C-LAY-11", NOTE, f"{HEADER}: strides; pitfalls 52, 53, 58", "Negative strides are taken.")
def negative(target: Target) -> str:
    return reads_or_refuses(target, making(strides=(-3, -1)))


@rule("C-LAY-12", NOTE, f"{HEADER}: strides; pitfalls 61", "A stride of 0, which repeats elements, is taken.")
def repeated(target: Target) -> str:
    return reads_or_refuses(target, making(strides=(0, 1)))


@rule("C-LAY-13", MUST, "pitfalls 42, 45, 46, 47, 48", "The stride of a dimension of size 1 may be anything.")
def size_one(target: Target) -> str:
    for shape, strides in (((1, 3), (99, 1)), ((1, 3), (-7, 1)), ((3, 1), (1, 2**40)), ((1, 1), (0, 0))):
        reads_right(target, making(shape=shape, strides=strides), f"an array of shape {shape}, strides {strides}")
    return "99, -7, 2^40 and 0 are read right"


# ---- Without elements ----


def _empty(target: Target, offer: Maker | Offer) -> str:
    outcome = taken(target, offer)
    foreign = outcome.foreign
    assert foreign is not None
    return expect(
        target.shape(outcome.got) == foreign.shape, f"shape {foreign.shape}", f"shape {target.shape(outcome.got)}"
    )


@rule("C-LAY-14", MUST, f"{HEADER}: data; pitfalls 12, 51", "A tensor without elements may have a NULL data pointer.")
def empty_null(target: Target) -> str:
    return _empty(target, making(shape=(0, 3), data=None))


@rule("C-LAY-15", MUST, "pitfalls 49, 50", "The strides of a tensor without elements may be anything.")
def empty_strides(target: Target) -> str:
    for strides in ((3, 1), (0, 0), (7, -5), (1, 1)):
        _empty(target, making(shape=(0, 3), strides=strides))
    return "(3, 1), (0, 0), (7, -5) and (1, 1) are taken"


@rule("C-LAY-16", MUST, f"{HEADER}: data", "A tensor without elements may have a data pointer.")
def empty_data(target: Target) -> str:
    return _empty(target, making(shape=(2, 0)))


@rule(
    "C-LAY-17",
    MUST,
    "pitfalls 123",
    "A tensor without elements is not refused or taken wrongly for huge other extents: (0, 2^40).",
)
def empty_huge(target: Target) -> str:
    outcome = take(target, making(shape=(0, 2**40), data=None))
    if outcome.error:
        return outcome.text
    if target.shape(outcome.got) != (0, 2**40):
        raise Wrong("shape (0, 2^40)", f"shape {target.shape(outcome.got)}")
    return "shape (0, 2^40)"


# ---- Rank, place ----


@rule("C-LAY-18", MUST, f"{HEADER}: ndim; pitfalls 39, 40", "A 0-d tensor may have NULL shape and strides.")
def scalar(target: Target) -> str:
    def make(legacy: bool) -> Foreign:
        foreign = Foreign(shape=(), strides=None, legacy=legacy)
        foreign.managed.dl_tensor.shape = None
        foreign.before = foreign.contents()
        return foreign

    return reads_right(target, make)


@rule("C-LAY-19", NOTE, f"{HEADER}: ndim", "Tensors of up to 64 dimensions are taken.")
def ranks(target: Target) -> str:
    largest, said = 0, ""
    for rank in (4, 8, 16, 32, 64):
        outcome = take(target, making(shape=(1,) * (rank - 1) + (2,)))
        if outcome.error:
            said = f"{rank}: {outcome.text}"
            break
        check_values(target, outcome)
        largest = rank
    return advise(largest == 64, "64 dimensions", f"{largest} are, and {said}")


@rule(
    "C-LAY-20",
    MUST,
    f"{HEADER}: data; pitfalls 68, 69, 71",
    "Data that are not aligned to the element are read right, or refused.",
)
def misaligned(target: Target) -> str:
    return right_or_refused(target, making("float64", shift=1))


@rule("C-LAY-21", MUST, f"{HEADER}: data; pitfalls 68, 69", "Data aligned to the element and no more are taken.")
def barely_aligned(target: Target) -> str:
    return reads_right(target, making("float32", shift=4))


@rule("C-LAY-22", NOTE, "pitfalls 102, 103", "Pinned memory (CUDA_HOST), which the host can read, is taken.")
def pinned(target: Target) -> str:
    return reads_or_refuses(target, Offer(making(device=(abi.CUDA_HOST, 0)), device=(abi.CUDA_HOST, 0)))


@rule("C-LAY-23", MUST, "pitfalls 35", "The producer's struct, shape and strides are left as they are.")
def untouched(target: Target) -> str:
    outcome = taken(target, making(shape=(2, 3), strides=(3, 1)))
    foreign = outcome.foreign
    assert foreign is not None
    if foreign.calls():
        return "a copy was made, and the tensor ended"
    return expect(foreign.contents() == foreign.before, "the same bytes", "other bytes, while the array lives")


@rule("C-LAY-24", MUST, "pitfalls 35, 38", "NULL strides in the producer's struct are left NULL.")
def untouched_null(target: Target) -> str:
    outcome = taken(target, making(strides=None, version=(1, 0)))
    foreign = outcome.foreign
    assert foreign is not None
    if foreign.calls():
        return "a copy was made, and the tensor ended"
    return expect(not foreign.managed.dl_tensor.strides, "NULL", "strides of the consumer's, while the array lives")
