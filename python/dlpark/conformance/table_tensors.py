"""Exchange tables: arrays out of Python, and tensors into it."""

import gc
import sys
import threading
from typing import Any

from . import abi, capture, elements, exchange
from .foreign import Foreign
from .importing import settle, shorten
from .rules import MUST, NOTE, SHOULD, Broken, NotApplicable, Wrong, expect, rule
from .targets import Target, export, view

FROM_PY = "dlpack.h, DLPackManagedTensorFromPyObjectNoSync"
TO_PY = "dlpack.h, DLPackManagedTensorToPyObjectNoSync"
VIEW = "dlpack.h, DLPackDLTensorFromPyObjectNoSync"


def described(tensor: Any) -> str:
    return f"{capture.triple_of(tensor)}, shape {capture.shape_of(tensor)}, strides {capture.strides_of(tensor)}"


def facts(tensor: Any) -> tuple[Any, ...]:
    """What must be the same of a tensor by whatever way it is exported."""
    device = (tensor.device.device_type, tensor.device.device_id)
    start = (tensor.data or 0) + tensor.byte_offset
    shape = capture.shape_of(tensor)
    strides = capture.strides_of(tensor) or elements.compact(shape)
    return (start, device, capture.triple_of(tensor), shape, strides)


# ---- from_py ----


@rule("X-FROM-01", MUST, FROM_PY, "It gives a versioned struct over the array's own memory, as __dlpack__ does.")
def same_as_method(target: Target) -> str:
    array = target.any()
    made = exchange.from_py(target, array)
    expect(made.version is not None and made.version[0] == 1, "major version 1", f"{made.version}")
    method = export(array)
    expect(facts(made.tensor) == facts(method.tensor), described(method.tensor), described(made.tensor))
    made.end()
    return described(method.tensor)


@rule("X-FROM-02", MUST, f"{FROM_PY}; pitfalls 119, 120", "Its tensors let the array go when they are ended.")
def lets_go(target: Target) -> str:
    array = target.any()
    exchange.from_py(target, array).end()
    before = sys.getrefcount(array)
    for _ in range(16):
        exchange.from_py(target, array).end()
    gc.collect()
    after = sys.getrefcount(array)
    return expect(after == before, f"{before} references as before", f"{after} after 16 exports")


@rule("X-FROM-03", MUST, f"{FROM_PY}; pitfalls 16", "Its tensor outlives the array.")
def outlives(target: Target) -> str:
    array = target.any()
    dtype = elements.NAMES[export(array).triple]
    expected = target.values(array)
    made = exchange.from_py(target, array)
    del array
    gc.collect()
    values = made.values(dtype)
    made.end()
    return expect(values == expected, f"{expected}", f"{values}")


@rule("X-FROM-04", MUST, "dlpack.h, READ_ONLY", "A read-only array has READ_ONLY, or is refused.")
def read_only(target: Target) -> str:
    array = target.readonly()
    try:
        made = exchange.from_py(target, array)
    except BufferError as error:
        return f"BufferError: {error}"
    return expect(bool(made.flags & abi.READ_ONLY), "READ_ONLY", f"flags {made.flags:#x}")


@rule("X-FROM-05", MUST, "dlpack.h, IS_COPIED", "An export of the array's own memory has no IS_COPIED.")
def not_copied(target: Target) -> str:
    made = exchange.from_py(target, target.any())
    return expect(not made.flags & abi.IS_COPIED, "no IS_COPIED", f"flags {made.flags:#x}")


@rule(
    "X-FROM-06",
    MUST,
    f"{FROM_PY}; pitfalls 26",
    "The deleter of its tensors may be called on a thread that Python has never seen.",
)
def foreign_thread(target: Target) -> str:
    exchange.from_py(target, target.any()).end_on_a_foreign_thread()
    gc.collect()
    return "done"


@rule(
    "X-FROM-07",
    MUST,
    f"{FROM_PY}; {VIEW}",
    "Parts of arrays come out at the right place: the second row onwards, transposed.",
)
def parts(target: Target) -> str:
    from .targets import make

    seen = []
    for which in ("tail", "transposed"):
        array = view(target, make(target, "int32", (4, 3)), which)
        made = exchange.from_py(target, array)
        values, expected = made.values("int32"), target.values(array)
        expect(values == expected, f"{expected}", f"{values}, {which}")
        seen.append(which)
    return ", ".join(seen)


# ---- The view ----


@rule("X-VIEW-01", MUST, VIEW, "The view agrees with the owning export in address, device, type, shape and strides.")
def view_agrees(target: Target) -> str:
    array = target.any()
    seen, owned = exchange.view_of(target, array), exchange.from_py(target, array)
    expect(facts(seen) == facts(owned.tensor), described(owned.tensor), described(seen))
    return described(seen)


@rule("X-VIEW-02", MUST, f"{VIEW}: it owns nothing", "The view takes no reference.")
def view_owns_nothing(target: Target) -> str:
    array = target.any()
    exchange.view_of(target, array)
    before = sys.getrefcount(array)
    for _ in range(16):
        exchange.view_of(target, array)
    after = sys.getrefcount(array)
    return expect(after == before, f"{before} references as before", f"{after} after 16 views")


# ---- to_py ----


def _made(target: Target, foreign: Foreign) -> Any:
    return exchange.to_py(target, foreign.address)


@rule("X-TO-01", MUST, TO_PY, "It makes an array of the type over the tensor's memory, and ends the tensor once.")
def makes(target: Target) -> str:
    foreign = Foreign()
    array = _made(target, foreign)
    kind = type(array).__name__
    expect(isinstance(array, type(target.any())), type(target.any()).__name__, kind)
    values = target.values(array)
    expect(values == foreign.values(), shorten(foreign.values()), shorten(values))
    early = foreign.calls()
    expect(not early, "no call of the deleter while the array lives", f"{early}")
    del array
    calls = settle(foreign, 1)
    if calls != 1:
        raise Wrong("one call of the deleter when the array is gone", f"{calls}")
    return f"{kind}; the tensor is ended once"


HOSTILE: dict[str, dict[str, Any]] = {
    "type code 200": {"triple": (200, 32, 1)},
    "extent -3": {"shape": (2, -3), "strides": (3, 1)},
    "device type 99": {"device": (99, 0)},
    "major version 2": {"version": (2, 0)},
    "(6, 2^62, 4)": {"shape": (6, 2**62, 4), "strides": None, "version": (1, 0)},
}


@rule("X-TO-02", MUST, f"{TO_PY}: the ownership is stolen", "A tensor that it refuses is ended all the same, once.")
def consumes_on_failure(target: Target) -> str:
    wrong, seen = {}, []
    for what, fields in HOSTILE.items():
        foreign = Foreign(**fields)
        try:
            said = exchange.refusal(_made, target, foreign)
        except Wrong as silent:
            wrong[what] = f"{silent.observed}, {foreign.calls()} calls"
            continue
        if said is None:
            seen.append(f"{what}: took it")
            continue
        calls = settle(foreign, 1)
        if calls == 1:
            seen.append(what)
        else:
            wrong[what] = f"{calls} calls after {said}"
    if wrong:
        raise Wrong("one call of the deleter", "; ".join(f"{what}: {text}" for what, text in wrong.items()))
    return ", ".join(seen)


@rule("X-TO-03", MUST, "dlpack.h, DLPackVersion", "A tensor of major version 2 is refused.")
def other_major(target: Target) -> str:
    said = exchange.refusal(_made, target, Foreign(version=(2, 0)))
    if said is None:
        raise Broken("an exception", "took it")
    return said


@rule(
    "X-TO-04",
    MUST,
    "dlpack.h, deleter; pitfalls 10",
    "A tensor with a NULL deleter is taken, and the deleter not called.",
)
def null_deleter(target: Target) -> str:
    foreign = Foreign(deleter=None)
    array = _made(target, foreign)
    values = target.values(array)
    expect(values == foreign.values(), shorten(foreign.values()), shorten(values))
    del array
    gc.collect()
    return "the array came and went"


@rule("X-TO-05", MUST, "dlpack.h, READ_ONLY", "READ_ONLY is respected, and there again in the next export.")
def respects_read_only(target: Target) -> str:
    foreign = Foreign(flags=abi.READ_ONLY)
    array = _made(target, foreign)
    flags = exchange.from_py(target, array).flags
    return expect(bool(flags & abi.READ_ONLY), "READ_ONLY", f"flags {flags:#x}")


@rule("X-TO-06", MUST, f"{FROM_PY}; {TO_PY}", "What goes out by from_py comes back by to_py, the same memory.")
def round_trip(target: Target) -> str:
    array = target.any()
    made = exchange.from_py(target, array)
    start = made.address
    back = exchange.to_py(target, made.at)
    again = export(back)
    expect(again.address == start, "the same address", "another one")
    values, expected = target.values(back), target.values(array)
    return expect(values == expected, f"{expected}", f"{values}")


@rule("X-TO-07", MUST, "dlpack.h, DLTensor: byte_offset", "byte_offset counts.")
def offset(target: Target) -> str:
    foreign = Foreign(byte_offset=12)
    values = target.values(_made(target, foreign))
    return expect(values == foreign.values(), shorten(foreign.values()), shorten(values))


# ---- States that a table does not see ----


@rule(
    "X-STATE-01",
    NOTE,
    "pitfalls 118; the table asks for no state",
    "What __dlpack__ refuses, a table refuses too: gradients, the conjugate bit, data that are not there.",
)
def states(target: Target) -> str:
    states = target.unexportable()
    passed: list[str] = []
    refused: list[str] = []
    for what, array in states.items():
        if type(array) is not type(target.any()):
            continue
        said = exchange.refusal(exchange.from_py, target, array)
        (refused if said else passed).append(what)
    if not states:
        raise NotApplicable("the kit knows of no array of its that DLPack cannot express")
    return expect(
        not passed,
        "exceptions",
        f"tensors for {', '.join(passed)}" + (f"; refused: {', '.join(refused)}" if refused else ""),
    )


@rule("X-STATE-02", NOTE, "pitfalls 118; the view has no flags and asks nothing", "The same, by the view.")
def states_by_view(target: Target) -> str:
    function = exchange.function(target, "dltensor_from_py_object_no_sync")
    states = target.unexportable()
    if not states or not function:
        raise NotApplicable("the kit knows of no array of its that DLPack cannot express")
    passed = [
        what
        for what, array in states.items()
        if type(array) is type(target.any()) and not exchange.refusal(exchange.view_of, target, array)
    ]
    return expect(not passed, "exceptions", "views of " + ", ".join(passed))


@rule("X-STATE-03", SHOULD, "pitfalls 98, 118", "What from_py refuses raises BufferError.")
def refusal_kind(target: Target) -> str:
    exchange.table_of(target)
    kinds = {}
    for what, array in target.unexportable().items():
        said = exchange.refusal(exchange.from_py, target, array)
        if said:
            kinds[what] = said
    if not kinds:
        raise NotApplicable("it refuses nothing that the kit can make")
    wrong = {what: said for what, said in kinds.items() if not said.startswith("BufferError")}
    return expect(not wrong, "BufferError", "; ".join(f"{what}: {said}" for what, said in wrong.items()))


@rule(
    "X-SUB-01", SHOULD, f"{FROM_PY}; pitfalls 76", "A derived class inherits the table, and its arrays go through it."
)
def derived(target: Target) -> str:
    exchange.table_of(target)
    array = target.subclass()
    expect(getattr(type(array), abi.TABLE_NAME, None) is not None, "the attribute", "none")
    made = exchange.from_py(target, array)
    expect(facts(made.tensor) == facts(export(array).tensor), described(export(array).tensor), described(made.tensor))
    return described(made.tensor)


@rule("X-THREAD-01", MUST, "dlpack.h, DLPackExchangeAPI", "Its functions work on any Python thread.")
def threads(target: Target) -> str:
    faults: list[str] = []

    def work() -> None:
        try:
            array = target.any()
            for _ in range(16):
                made = exchange.from_py(target, array)
                exchange.to_py(target, made.at)
        except BaseException as error:
            faults.append(f"{type(error).__name__}: {error}")

    exchange.table_of(target)
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return expect(not faults, "no exception", "; ".join(faults)) and "4 threads"
