"""Consumers: structs that no producer should make. Each must raise, and leave the tensor to be ended once."""

from typing import Any

from . import abi
from .consumer_layout import making
from .foreign import Foreign, Maker, Offer
from .importing import ended_once, needs, refuses, shorten, take
from .rules import MUST, NOTE, SHOULD, Broken, NotApplicable, Wrong, rule
from .targets import Target

HEADER = "dlpack.h, DLTensor"
BAD_INPUT = "docs/pitfalls.md, size and hostile input"


def wrapping(legacy: bool) -> Foreign:
    foreign = Foreign(legacy=legacy)
    foreign.managed.dl_tensor.byte_offset = 2**64 - 4
    return foreign


def _rule(identity: str, severity: str, source: str, says: str, make: Maker | Offer, *, reads: bool = False) -> None:
    """Registers a rule that one tensor is refused."""

    def check(target: Target) -> str:
        return refuses(target, make, reads=reads)

    rule(identity, severity, source, says)(check)


_rule("C-BAD-01", MUST, f"{HEADER}: ndim; pitfalls 40", "ndim -1 is refused.", making(ndim=-1))
_rule(
    "C-BAD-02",
    NOTE,
    f"{HEADER}: ndim; pitfalls 40; NumPy ends at 64",
    "65 dimensions are refused.",
    making(shape=(1,) * 64 + (3,)),
)
_rule("C-BAD-03", MUST, f"{HEADER}: ndim; pitfalls 40", "ndim 2^31 - 1 is refused.", making(ndim=2**31 - 1))
_rule("C-BAD-04", MUST, f"{HEADER}: shape", "A NULL shape with ndim 2 is refused.", making(shape=None, ndim=2))
_rule(
    "C-BAD-05",
    MUST,
    f"{HEADER}: data; pitfalls 34",
    "NULL data with elements are refused.",
    making(data=None),
    reads=True,
)
_rule(
    "C-BAD-06",
    MUST,
    f"{HEADER}: data, byte_offset",
    "NULL data with elements and a byte_offset are refused.",
    making(data=None, byte_offset=64),
    reads=True,
)
_rule(
    "C-BAD-07",
    MUST,
    f"{HEADER}: shape; pitfalls 123, 127",
    "A negative extent is refused.",
    making(shape=(2, -3), strides=(3, 1)),
)
_rule(
    "C-BAD-10",
    MUST,
    f"{BAD_INPUT}; pitfalls 124, 125",
    "Strides of 2^62 elements, whose bytes exceed 64 bits, are refused.",
    making(shape=(2, 3), strides=(2**62, 1)),
    reads=True,
)
_rule(
    "C-BAD-11",
    MUST,
    f"{HEADER}: byte_offset; pitfalls 67",
    "A byte_offset that wraps around, 2^64 - 4, is refused.",
    wrapping,
    reads=True,
)
_rule(
    "C-BAD-12",
    MUST,
    "dlpack.h, DLDeviceType; pitfalls 104",
    "A device type in the struct that the header has not, 99, is refused.",
    Offer(making(device=(99, 0))),
)


def _overflows(target: Target, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """With strides and without, as they are different paths in many consumers."""
    seen, faults = [], []
    for what, given in (("strides", strides), ("NULL strides", None)):
        fields = {"shape": shape, "strides": given, "version": (1, 0)}
        try:
            seen.append(f"with {what}: {refuses(target, making(dtype, **fields))}")
        except Broken as fault:
            faults.append(fault)
            seen.append(f"with {what}: {fault.observed}")
    if faults:
        wrong = any(isinstance(fault, Wrong) for fault in faults)
        raise (Wrong if wrong else Broken)(" and ".join(dict.fromkeys(f.expected for f in faults)), "; ".join(seen))
    return "; ".join(seen)


@rule(
    "C-BAD-08",
    MUST,
    f"{BAD_INPUT}; pitfalls 123",
    "A shape whose element count exceeds 64 bits is refused: (6, 2^62, 4).",
)
def count_overflow(target: Target) -> str:
    return _overflows(target, "float32", (6, 2**62, 4), (4, 4, 1))


@rule(
    "C-BAD-09",
    MUST,
    f"{BAD_INPUT}; pitfalls 123",
    "A shape whose size in bytes exceeds 64 bits is refused: 2^61 float64.",
)
def size_overflow(target: Target) -> str:
    return _overflows(target, "float64", (2**61,), (1,))


@rule(
    "C-BAD-13",
    MUST,
    "array API, __dlpack_device__; pitfalls 102",
    "A struct on CUDA from a producer whose __dlpack_device__ says host is not read as host memory.",
)
def other_device(target: Target) -> str:
    outcome = take(target, Offer(making(device=(abi.CUDA, 0))))
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    try:
        values = target.values(outcome.got)
    except NotApplicable as unreadable:
        return f"took it, and {unreadable}"
    raise Broken("an exception, or memory on CUDA", f"took it, and reads {shorten(values)}")


@rule(
    "C-BAD-15",
    SHOULD,
    f"{BAD_INPUT}; pitfalls 123",
    "A shape whose strided extent exceeds 64 bits is refused: (2^32, 2^32) by strides (2^32, 0).",
)
def extent(target: Target) -> str:
    return refuses(target, making(shape=(2**32, 2**32), strides=(2**32, 0)))


@rule(
    "C-BAD-16",
    MUST,
    f"{HEADER}; docs/pitfalls.md, who ends it",
    "In a legacy struct too, what C-BAD-07, C-BAD-08 and C-TYPE-06 are about is refused, and ended once.",
)
def legacy_refusals(target: Target) -> str:
    needs(target, legacy=True)
    tensors: dict[str, dict[str, Any]] = {
        "(6, 2^62, 4)": {"shape": (6, 2**62, 4), "strides": (4, 4, 1)},
        "(2, -3)": {"shape": (2, -3), "strides": (3, 1)},
        "type code 200": {"triple": (200, 32, 1)},
    }
    seen = []
    for what, fields in tensors.items():
        outcome = take(target, Offer(making(**fields), legacy=True))
        if outcome.error is None:
            raise Broken(f"an exception for {what}", "took it")
        seen.append(f"{what}: {type(outcome.error).__name__}, {ended_once(outcome)}")
    return "; ".join(seen)


@rule("C-BAD-14", MUST, f"{HEADER}: data", "NULL data of a 0-d tensor, which has an element, are refused.")
def scalar_null(target: Target) -> str:
    return refuses(target, making(shape=(), data=None), reads=True)
