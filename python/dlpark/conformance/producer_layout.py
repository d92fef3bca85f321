"""Producers: shape, strides, offsets and pointers of what they export, read as the header says."""

from typing import Any

from . import abi, capture, elements
from .producer_requests import ask
from .rules import MUST, NOTE, SHOULD, Broken, NotApplicable, advise, expect, rule, say
from .targets import Target, export, make, view

HEADER = "dlpack.h, DLTensor"


def pattern(dtype: str, shape: tuple[int, ...]) -> list[list[Any]]:
    """The rows of an array of rank 2 that was made for the kit."""
    rows, columns = shape
    return [[elements.pattern(dtype, row * columns + column) for column in range(columns)] for row in range(rows)]


def flat(rows: Any) -> list[Any]:
    return [value for row in rows for value in row]


def exported(array: Any, **keywords: Any) -> capture.Export:
    """The export; a refusal by BufferError makes the rule inapplicable."""
    try:
        return export(array, **keywords)
    except BufferError as error:
        raise NotApplicable(f"it is refused: {say(error)}") from None


def reads(answer: capture.Export, dtype: str, expected: list[Any]) -> str:
    values = answer.values(dtype)
    expect(values == expected, f"elements {expected}", f"{values}, shape {answer.shape}, strides {answer.strides}")
    return f"shape {answer.shape}, strides {answer.strides}"


def _rank_two(target: Target, which: str, expected: Any) -> str:
    rows = pattern("int32", (4, 3))
    array = view(target, make(target, "int32", (4, 3)), which)
    return reads(exported(array), "int32", expected(rows))


@rule("P-LAY-01", MUST, HEADER, "A compact array is exported with its shape and reads element by element.")
def compact(target: Target) -> str:
    return reads(exported(make(target, "int32", (2, 3, 4))), "int32", list(range(24)))


@rule("P-LAY-02", MUST, f"{HEADER}: strides; pitfalls 57", "A transposed array reads element by element.")
def transposed(target: Target) -> str:
    return _rank_two(target, "transposed", lambda rows: flat(zip(*rows, strict=True)))


@rule("P-LAY-03", MUST, f"{HEADER}: strides", "Every second row of an array reads element by element.")
def sliced(target: Target) -> str:
    return _rank_two(target, "sliced", lambda rows: flat(rows[::2]))


@rule(
    "P-LAY-04",
    MUST,
    f"{HEADER}: strides; pitfalls 52, 58",
    "Rows in reverse are exported as such, as a copy, or refused by BufferError.",
)
def reversed_rows(target: Target) -> str:
    return _rank_two(target, "reversed", lambda rows: flat(rows[::-1]))


@rule("P-LAY-05", MUST, f"{HEADER}: byte_offset; pitfalls 62", "A part that begins at the second row reads from there.")
def tail(target: Target) -> str:
    return _rank_two(target, "tail", lambda rows: flat(rows[1:]))


@rule(
    "P-LAY-06",
    MUST,
    f"{HEADER}: strides; pitfalls 61",
    "A row that is repeated without a copy reads element by element.",
)
def broadcast(target: Target) -> str:
    return _rank_two(target, "broadcast", lambda rows: flat([rows[0]] * 4))


@rule("P-LAY-07", MUST, f"{HEADER}: strides; pitfalls 38", "From version 1.2 on, strides is not NULL unless ndim is 0.")
def strides_given(target: Target) -> str:
    answer = exported(make(target, "float32", (2, 3)), max_version=abi.VERSION)
    if answer.version is None or answer.version < (1, 2):
        shown = "legacy" if answer.version is None else "{}.{}".format(*answer.version)
        raise NotApplicable(f"its structs are {shown}, where NULL means row-major")
    return expect(answer.strides is not None, "strides", "NULL")


@rule("P-LAY-08", NOTE, "pitfalls 36, 37, 38", "Strides are given in older and legacy structs too.")
def strides_always(target: Target) -> str:
    array = make(target, "float32", (2, 3))
    seen = {}
    for wanted in (None, (1, 0)):
        answer = ask(target, array, max_version=wanted)
        if isinstance(answer, capture.Export):
            seen[answer.abi_text] = answer.strides
    missing = [kind for kind, strides in seen.items() if strides is None]
    advise(not missing, "strides", "NULL in a " + ", ".join(missing) + " struct")
    return ", ".join(f"{kind} {strides}" for kind, strides in seen.items())


@rule(
    "P-LAY-09",
    SHOULD,
    "pitfalls 42, 43, 44",
    "The stride of a dimension of size 1 is the array's own, by which row- and column-major are told apart.",
)
def size_one(target: Target) -> str:
    answer = exported(view(target, make(target, "float32", (4, 6)), "row"))
    expect(answer.shape == (1, 6), "shape (1, 6)", f"shape {answer.shape}")
    expect(answer.strides in ((6, 1), None), "strides (6, 1) for a row of an array of 4 by 6", f"{answer.strides}")
    return f"{answer.strides}"


@rule(
    "P-LAY-10",
    NOTE,
    "pitfalls 62, 63, 64; CuPy, cuda.core and DLPack.jl ignore byte_offset",
    "On memory that can be addressed, element 0 is at data itself, and byte_offset is 0.",
)
def folded_offset(target: Target) -> str:
    answer = exported(view(target, make(target, "float32", (4, 6)), "tail"))
    if answer.device[0] not in (*abi.HOST_DEVICES, abi.CUDA, abi.ROCM):
        raise NotApplicable("its data are handles, not addresses")
    return advise(answer.tensor.byte_offset == 0, "byte_offset 0", f"byte_offset {answer.tensor.byte_offset}")


@rule("P-LAY-11", MUST, f"{HEADER}: data; pitfalls 49, 50", "An array without elements is exported, with its shape.")
def empty(target: Target) -> str:
    answer = ask(target, make(target, "float32", (0, 3)), max_version=abi.VERSION)
    if isinstance(answer, Exception):
        raise Broken("a capsule", say(answer))
    expect(answer.shape == (0, 3), "shape (0, 3)", f"shape {answer.shape}")
    return f"shape {answer.shape}, strides {answer.strides}"


@rule(
    "P-LAY-12",
    SHOULD,
    f"{HEADER}: data is NULL for zero-size tensors",
    "The data pointer of an array without elements is NULL.",
)
def empty_data(target: Target) -> str:
    answer = exported(make(target, "float32", (0, 3)))
    return expect(not answer.tensor.data, "NULL", "an address")


@rule("P-LAY-13", MUST, f"{HEADER}: ndim; pitfalls 39, 40, 41", "A 0-d array is exported with ndim 0 and reads.")
def zero_d(target: Target) -> str:
    array = make(target, "int32", ())
    answer = exported(array)
    expect(answer.tensor.ndim == 0, "ndim 0", f"ndim {answer.tensor.ndim}")
    values = answer.values("int32")
    expect(values == [0], "[0]", f"{values}")
    pointers = [name for name in ("shape", "strides") if getattr(answer.tensor, name)]
    return f"[0]; {' and '.join(pointers) or 'neither shape nor strides'} not NULL" if pointers else "[0]"


@rule("P-LAY-14", MUST, f"{HEADER}: data", "The data pointer is a multiple of the element's size.")
def aligned(target: Target) -> str:
    answer = exported(make(target, "float64", (2, 3)) if "float64" in target.dtypes else target.any())
    size = max(answer.triple[1] * answer.triple[2] // 8, 1)
    return expect(
        answer.address % size == 0, f"a multiple of {size}", f"an address that leaves {answer.address % size}"
    )


@rule(
    "P-LAY-15",
    NOTE,
    f"{HEADER}: data; pitfalls 68, 69, 70",
    "Fresh memory is aligned to 64 bytes, without which JAX and TVM copy or refuse.",
)
def well_aligned(target: Target) -> str:
    exports = [exported(target.any()) for _ in range(16)]  # all at once, so that each has a place of its own
    left = sorted({each.address % 64 for each in exports} - {0})
    return advise(not left, "multiples of 64", f"addresses that leave {', '.join(map(str, left))}")


@rule("P-LAY-16", MUST, "pitfalls 54, 55", "What DLPack cannot express is refused, not exported as something else.")
def unexportable(target: Target) -> str:
    refused = _refusals(target)
    taken = [what for what, error in refused.items() if error is None]
    expect(not taken, "an exception", "a capsule for " + ", ".join(taken))
    return "refuses " + ", ".join(refused)


@rule(
    "P-LAY-17",
    SHOULD,
    f"array API, __dlpack__, Raises; pitfalls 98, 118",
    "What DLPack cannot express raises BufferError.",
)
def unexportable_error(target: Target) -> str:
    wrong = {what: error for what, error in _refusals(target).items() if error and not isinstance(error, BufferError)}
    expect(not wrong, "BufferError", "; ".join(f"{what}: {say(error)}" for what, error in wrong.items()))
    return "BufferError for each"


def _refusals(target: Target) -> dict[str, Exception | None]:
    things = target.unexportable()
    if not things:
        raise NotApplicable("the kit knows of no array of its that DLPack cannot express")
    found = {}
    for what, array in things.items():
        answer = ask(target, array, max_version=abi.VERSION)
        found[what] = answer if isinstance(answer, Exception) else None
    return found


@rule(
    "P-LAY-18",
    MUST,
    "pitfalls 54",
    "A size-1 dimension whose stride is no multiple of the element is no reason to refuse.",
)
def odd_size_one(target: Target) -> str:
    answer = ask(target, target.odd_row(), max_version=abi.VERSION)
    if isinstance(answer, Exception):
        raise Broken("a capsule", say(answer))
    return reads(answer, "int32", [0])
