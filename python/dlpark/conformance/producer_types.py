"""Producers: element types, their triples and their bits."""

from . import abi, capture, elements
from .rules import MUST, SHOULD, Broken, NotApplicable, expect, rule, say
from .targets import Target, consumes, export, make

SHAPE = (2, 4)
HEADER = "dlpack.h, DLDataType"


def _each(target: Target, wanted: tuple[str, ...]) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Exports an array of each type: those that are right, what is wrong with others, and which are refused."""
    right: list[str] = []
    wrong: dict[str, str] = {}
    refused: dict[str, str] = {}
    for dtype in wanted:
        if dtype not in target.dtypes:
            continue
        try:
            array = make(target, dtype, SHAPE)
        except NotApplicable:
            continue
        try:
            fault = _fault(export(array), dtype)
        except NotApplicable:
            raise
        except Exception as error:
            refused[dtype] = type(error).__name__
            continue
        if fault:
            wrong[dtype] = fault
        else:
            right.append(dtype)
    if not (right or wrong or refused):
        raise NotApplicable("it has none of these types, or the kit knows no way to make them")
    return right, wrong, refused


def _fault(answer: capture.Export, dtype: str) -> str | None:
    triple = elements.TRIPLES[dtype]
    if answer.triple != triple:
        return f"{answer.triple} instead of {triple}"
    expected = [elements.pattern(dtype, index) for index in range(elements.count(SHAPE))]
    if answer.device[0] in abi.HOST_DEVICES and answer.values(dtype) != expected:
        return f"reads {answer.values(dtype)} instead of {expected}"
    return None


def _judge(target: Target, wanted: tuple[str, ...]) -> str:
    right, wrong, refused = _each(target, wanted)
    faults = "; ".join(f"{dtype}: {fault}" for dtype, fault in wrong.items())
    expect(not wrong, "the triple and the bits of each type", faults)
    shown = ", ".join(right) or "none exported"
    return f"{shown}; refused: " + ", ".join(f"{dtype} {kind}" for dtype, kind in refused.items()) if refused else shown


@rule("P-TYPE-01", MUST, HEADER, "Integers and floats carry their triple (code, bits, lanes), and their bits.")
def plain(target: Target) -> str:
    return _judge(target, tuple(name for name in elements.WIDE if name != "bool" and not name.startswith("complex")))


@rule("P-TYPE-02", MUST, f"{HEADER}; pitfalls 80, 82", "bool is (6, 8, 1), one byte an element.")
def boolean(target: Target) -> str:
    return _judge(target, ("bool",))


@rule("P-TYPE-03", MUST, f"{HEADER}; pitfalls 86", "Complex types count the bits of the whole number, in one lane.")
def complex_types(target: Target) -> str:
    return _judge(target, ("complex64", "complex128", "complex32"))


@rule("P-TYPE-04", MUST, f"{HEADER}; pitfalls 84", "bfloat16 is (4, 16, 1).")
def bfloat(target: Target) -> str:
    return _judge(target, ("bfloat16",))


@rule("P-TYPE-05", MUST, f"{HEADER}; pitfalls 18", "Floats of 8 bits carry the code of their own format.")
def eight_bits(target: Target) -> str:
    return _judge(target, tuple(name for name in elements.SMALL_FLOATS if name.startswith("float8")))


@rule(
    "P-TYPE-06",
    MUST,
    f"{HEADER}; pitfalls 87",
    "Floats of 6 and 4 bits have lanes 1, the shape counts elements, and they are packed, lowest bits first.",
)
def small_floats(target: Target) -> str:
    return _judge(target, tuple(name for name in elements.SMALL_FLOATS if not name.startswith("float8")))


@rule(
    "P-TYPE-07",
    MUST,
    f"{HEADER}, IS_SUBBYTE_TYPE_PADDED; pitfalls 87",
    "Integers of 4 and 2 bits are packed, unless the flag says that each has a byte.",
)
def small_integers(target: Target) -> str:
    return _judge(target, ("int4", "uint4", "int2", "uint2"))


@rule("P-TYPE-08", SHOULD, "pitfalls 81", "What it exports, its own from_dlpack takes back with the same elements.")
def round_trip(target: Target) -> str:
    if not consumes(target):
        raise NotApplicable("it has no from_dlpack")
    done, wrong = [], {}
    for dtype in target.dtypes:
        try:
            array = make(target, dtype, SHAPE)
            capsule = array.__dlpack__()
        except (NotApplicable, Exception):
            continue  # the other rules say so
        try:
            back = target.from_dlpack(capsule if target.bare_capsules else array)
            values = target.values(back)
        except NotApplicable:
            raise
        except Exception as error:
            wrong[dtype] = say(error)
            continue
        del capsule
        expected = [elements.pattern(dtype, index) for index in range(elements.count(SHAPE))]
        if list(values) == expected:
            done.append(dtype)
        else:
            wrong[dtype] = f"comes back as {values}"
    if wrong:
        raise Broken("the same elements", "; ".join(f"{dtype}: {fault}" for dtype, fault in wrong.items()))
    if not done:
        raise NotApplicable("it exports none of the types that the kit can make")
    return ", ".join(done)
