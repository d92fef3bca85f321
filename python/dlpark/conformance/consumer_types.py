"""Consumers: element types, known and unknown."""

import ctypes
from typing import Any

from . import abi, elements
from .consumer_layout import making
from .foreign import Foreign, NoFlags, Offer
from .importing import check_values, ended_once, read, refuses_to_read, right_or_refused, take
from .rules import MUST, NOTE, SHOULD, Broken, NotApplicable, Wrong, expect, rule, say
from .targets import Target, export

HEADER = "dlpack.h, DLDataType"


def _each(target: Target, wanted: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """The types that are taken and read right, and what is said of the others. A wrong value breaks any rule."""
    right, refused = [], {}
    for dtype in wanted:
        outcome = take(target, making(dtype))
        if outcome.error:
            ended_once(outcome)
            refused[dtype] = type(outcome.error).__name__
            continue
        try:
            check_values(target, outcome)
        except Wrong as wrong:
            raise Wrong(f"{wrong.expected} of {dtype}", wrong.observed) from None
        except Exception as error:
            refused[dtype] = f"taken, and not read: {say(error)}"
            continue
        right.append(dtype)
    return right, refused


def _shown(right: list[str], refused: dict[str, str]) -> str:
    shown = ", ".join(right) or "none"
    return f"{shown}; not {', '.join(refused)}" if refused else shown


@rule("C-TYPE-01", SHOULD, f"{HEADER}; pitfalls 80, 81", "The types that it makes itself are taken, and read right.")
def own_types(target: Target) -> str:
    wanted = tuple(name for name in target.dtypes or elements.COMMON if name not in elements.SUB_BYTE)
    right, refused = _each(target, wanted)
    expect(not refused, "every type", "; ".join(f"{dtype}: {said}" for dtype, said in refused.items()))
    return ", ".join(right)


@rule(
    "C-TYPE-02",
    MUST,
    f"{HEADER}; pitfalls 83",
    "Every other type of the header is read right, or refused in good order.",
)
def other_types(target: Target) -> str:
    wanted = tuple(name for name in elements.TRIPLES if name not in (*target.dtypes, *elements.SUB_BYTE))
    if not wanted:
        raise NotApplicable("it makes every type of the header")
    return _shown(*_each(target, wanted))


@rule("C-TYPE-03", MUST, f"{HEADER}; pitfalls 87", "Packed elements below a byte are read right, or refused.")
def packed(target: Target) -> str:
    return _shown(*_each(target, ("int4", "uint4", "int2", "float4_e2m1fn", "float6_e2m3fn")))


@rule(
    "C-TYPE-04",
    MUST,
    "dlpack.h, IS_SUBBYTE_TYPE_PADDED; pitfalls 87",
    "Elements below a byte with a byte for each are read right, or refused.",
)
def padded(target: Target) -> str:
    def make(legacy: bool) -> Foreign:
        if legacy:
            raise NoFlags
        foreign = Foreign("int4", (2, 3), flags=abi.PADDED)
        values = bytes(elements.to_bits("int4", value) for value in foreign.values())
        ctypes.memmove(foreign.element, values, len(values))
        return foreign

    return right_or_refused(target, make)


def _vector(target: Target, dtype: str) -> str:
    code, bits, _ = elements.TRIPLES[dtype]
    outcome = take(target, making(dtype, (2, 3), triple=(code, bits, 2)))
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    refusal, _ = read(target, outcome)
    if refusal:
        return f"took it, and {refusal}"
    many = elements.count(target.shape(outcome.got))
    lanes = " of two lanes" if _keeps_lanes(outcome.got) else ""
    if many != 12 and not lanes:
        raise Wrong("an exception, or all 12 numbers", f"an array of {many} elements")
    return f"an array of {many} elements{lanes}"


def _keeps_lanes(array: Any) -> bool:
    """Whether the library has vector types of its own and exports what it took as such."""
    try:
        return export(array).triple[2] == 2
    except Exception:
        return False


@rule("C-TYPE-05", MUST, f"{HEADER}; pitfalls 86, 88", "Two lanes are two numbers: refused, or none of them lost.")
def lanes(target: Target) -> str:
    return _vector(target, "float32")


UNKNOWN = (200, 32, 1)


@rule(
    "C-TYPE-06", MUST, f"{HEADER}, DLDataTypeCode; pitfalls 83", "A type code that the header does not have is refused."
)
def unknown_code(target: Target) -> str:
    return refuses_to_read(target, making(triple=UNKNOWN))


ODD = {
    "float of 24 bits": (2, 24, 1),
    "bfloat of 32 bits": (4, 32, 1),
    "bool of 16 bits": (6, 16, 1),
    "float8_e4m3fn of 16 bits": (10, 16, 1),
    "int of 0 bits": (0, 0, 1),
    "float of 0 lanes": (2, 32, 0),
    "complex of 64 bits in two lanes": (5, 64, 2),
    "int of 12 bits": (0, 12, 1),
}


@rule(
    "C-TYPE-07",
    MUST,
    f"{HEADER}; pitfalls 84, 86",
    "A type is the whole triple: known codes with bits or lanes that make no sense are refused.",
)
def odd_triples(target: Target) -> str:
    took = []
    for name, triple in ODD.items():
        outcome = take(target, making("float64", triple=triple))
        if outcome.error:
            ended_once(outcome)
        elif not read(target, outcome)[0]:
            took.append(name)
    expect(not took, "an exception for each of " + ", ".join(ODD), "took " + ", ".join(took))
    return f"all {len(ODD)} are refused"


@rule("C-TYPE-08", MUST, "pitfalls 82", "uint8 that holds only 0 and 1 stays uint8, and bool stays bool.")
def no_guess(target: Target) -> str:
    seen = []
    for dtype in ("uint8", "bool"):
        outcome = take(target, making(dtype))
        if outcome.error:
            raise NotApplicable(f"it takes no {dtype}: {outcome.text}")
        foreign = outcome.foreign
        assert foreign is not None
        ctypes.memmove(foreign.element, b"\x01\x00\x01\x01\x00\x01", 6)
        try:
            triple = export(outcome.got).triple
        except Exception as error:
            raise NotApplicable(f"what it took is not exported again: {say(error)}") from None
        expect(triple == elements.TRIPLES[dtype], f"{elements.TRIPLES[dtype]}", f"{triple} after an import of {dtype}")
        seen.append(f"{dtype} {triple}")
    return ", ".join(seen)


@rule(
    "C-EXC-01",
    SHOULD,
    "array API, from_dlpack, Raises; pitfalls 96, 98",
    "What cannot be taken raises BufferError: an unknown type, two lanes, negative strides, a device that it has not.",
)
def buffer_error(target: Target) -> str:
    offers: dict[str, Any] = {
        "an unknown type": Offer(making(triple=UNKNOWN)),
        "two lanes": Offer(making(triple=(2, 32, 2))),
        "negative strides": Offer(making(strides=(-3, 1))),
        "device EXT_DEV": Offer(making(device=(abi.EXT_DEV, 0)), device=(abi.EXT_DEV, 0)),
    }
    wrong, fine = {}, []
    for what, offer in offers.items():
        outcome = take(target, offer)
        if outcome.error is None:
            continue
        if isinstance(outcome.error, BufferError):
            fine.append(what)
        else:
            wrong[what] = outcome.text
    if wrong:
        raise Broken("BufferError", "; ".join(f"{what}: {text}" for what, text in wrong.items()))
    if not fine:
        raise NotApplicable("it takes them all")
    return "for " + ", ".join(fine)


@rule(
    "C-EXC-02",
    NOTE,
    "pitfalls 60, 88",
    "The message of a refusal says what was refused: the type's code or the stride.",
)
def telling(target: Target) -> str:
    outcome = take(target, making(triple=UNKNOWN))
    if outcome.error is None:
        raise NotApplicable("it takes type code 200")
    return expect("200" in str(outcome.error), "a message with the code 200", outcome.text)
