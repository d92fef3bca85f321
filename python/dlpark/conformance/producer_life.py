"""Producers: capsules, deleters, and what an export does to its source."""

import gc
import sys
import threading
import weakref
from typing import Any

from . import abi, capture, elements, ending
from .producer_requests import ask
from .rules import MUST, SHOULD, Broken, NotApplicable, advise, expect, rule, say
from .targets import Target, export, make

BOOK = "Python spec of DLPack, capsule destructor"


class Pending(Exception):
    """What is under way while a capsule dies."""


def both(target: Target) -> list[capture.Export]:
    """An export by each ABI that it has."""
    found: dict[str, capture.Export] = {}
    for wanted in (None, abi.VERSION):
        answer = ask(target, max_version=wanted)
        if isinstance(answer, capture.Export):
            found[answer.abi_text] = answer
    if not found:
        raise Broken("a capsule", say(ask(target)))  # type: ignore[arg-type]
    return list(found.values())


def _counted(target: Target, act: Any) -> str:
    """Puts the counting deleter into an export by each ABI, lets `act` drop the capsule, and tells the calls."""
    seen = []
    for answer in both(target):
        answer.hook()
        act(answer)
        gc.collect()
        seen.append((answer.abi_text, answer.calls()))
    return ", ".join(f"{kind} {calls}" for kind, calls in seen)


def _drop(answer: capture.Export) -> None:
    answer.capsule = None


def _consume_and_drop(answer: capture.Export) -> None:
    abi.capsule_rename(answer.capsule, abi.USED[answer.name])
    answer.capsule = None


def _drop_in_exception(answer: capture.Export) -> None:
    box = [answer.capsule]
    answer.capsule = None

    def broken() -> Any:
        yield box.pop()
        raise Pending("is still there")

    # The half-made list dies inside C, with the exception pending.
    list(broken())


@rule("P-LIFE-01", MUST, f"{BOOK}; pitfalls 3, 4", "A capsule that nobody took calls the deleter once when it dies.")
def unconsumed(target: Target) -> str:
    seen = _counted(target, _drop)
    if all(part.endswith(" 1") for part in seen.split(", ")):
        return f"{seen} call"
    expect(all(part.endswith((" 0", " 1")) for part in seen.split(", ")), "1 call of each", seen + " calls")
    lost = _loss(target)
    if lost:
        raise Broken("1 call of each", f"{seen} calls, and {lost} are lost when arrays and capsules are dropped")
    return f"{seen} calls: it ends the tensor without looking at the struct's deleter, and loses no memory"


def _loss(target: Target) -> str | None:
    """What the process grows by while arrays are exported to capsules that nobody takes, if that is half of them."""
    first: Any = make(target, "float32", (256, 256))
    try:
        first, turns = first + 1, 256
    except Exception:
        turns = 64
    before, size = 0, 256 * 256 * 4
    for turn in range(turns + 4):
        if turn == 4:
            before = _peak()
        (first + 1 if turns == 256 else make(target, "float32", (256, 256))).__dlpack__()
        gc.collect()
    grown = _peak() - before
    return f"{grown >> 20} of {turns * size >> 20} MiB" if grown > turns * size / 2 else None


def _peak() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@rule(
    "P-LIFE-02",
    MUST,
    f"{BOOK}; pitfalls 5, 8",
    "A capsule that was renamed to used_... leaves the deleter alone when it dies.",
)
def consumed(target: Target) -> str:
    seen = _counted(target, _consume_and_drop)
    expect(all(part.endswith(" 0") for part in seen.split(", ")), "no call", seen + " calls")
    return "no call"


@rule(
    "P-LIFE-03",
    MUST,
    f"{BOOK}; pitfalls 22, 23, 24",
    "A capsule that dies while an exception is under way leaves the exception as it is, and calls its own deleter.",
)
def pending_exception(target: Target) -> str:
    for answer in both(target):
        observed = "none any more"
        try:
            _drop_in_exception(answer)
        except Pending:
            continue
        except BaseException as error:
            observed = say(error)
        raise Broken("the exception that was under way", f"{observed}, from a {answer.abi_text} capsule")
    return "the exception arrives"


@rule(
    "P-LIFE-04",
    MUST,
    "pitfalls 26, 28",
    "The deleter may be called on another Python thread that does not hold the GIL.",
)
def other_thread(target: Target) -> str:
    for answer in both(target):
        answer.take()
        thread = threading.Thread(target=answer.end)
        thread.start()
        thread.join()
    return "done"


@rule(
    "P-LIFE-05",
    MUST,
    f"Python spec of DLPack, deleter; pitfalls 26",
    "The deleter may be called on a thread that Python has never seen.",
)
def foreign_thread(target: Target) -> str:
    for answer in both(target):
        answer.take()
        answer.end_on_a_foreign_thread()
    gc.collect()
    return "done"


@rule(
    "P-LIFE-06",
    MUST,
    "Python spec of DLPack, deleter; pitfalls 27",
    "The deleter may be called when the interpreter is gone.",
    ends_process=True,
)
def after_the_interpreter(target: Target) -> str:
    answer = both(target)[-1]
    answer.take()
    answer.end_after_the_interpreter(ending.STATUS, ending.MARKER)
    return f"{answer.abi_text}: done"


@rule(
    "P-LIFE-07",
    MUST,
    "dlpack.h, manager_ctx; pitfalls 16, 30",
    "The data stay when the source is gone, for as long as the deleter was not called.",
)
def outlives(target: Target) -> str:
    array = make(target, "int32", (64, 64))
    answer = export(array)
    answer.take()
    expected = answer.values("int32")
    del array
    gc.collect()
    crowd = _crowd(target)
    values = answer.values("int32")
    expect(values == expected, "the elements", f"others, the first {values[:4]}")
    del crowd
    answer.end()
    return "the elements are there"


def _crowd(target: Target) -> list[Any]:
    """Arrays with other bytes, which take the source's memory if that was given back."""
    for dtype in ("float32", "int32"):
        try:
            return [make(target, dtype, (64, 64)) for _ in range(8)]
        except NotApplicable:
            continue
    return []


@rule("P-LIFE-08", MUST, "dlpack.h, deleter; pitfalls 14", "After the deleter nothing of the export holds the source.")
def lets_go(target: Target) -> str:
    array = target.any()
    before = sys.getrefcount(array)
    for wanted in (None, abi.VERSION):
        for _ in range(8):
            answer = ask(target, array, max_version=wanted)
            if isinstance(answer, capture.Export):
                answer.take()
                answer.end()
            del answer
    gc.collect()
    after = sys.getrefcount(array)
    expect(after == before, f"{before} references as before", f"{after} after 16 exports")
    return _dies(array)


def _dies(array: Any) -> str:
    try:
        watch = weakref.ref(array)
    except TypeError:
        return "the references are as before"
    del array
    return "the references are as before" if watch() is not None else "the source dies"


@rule("P-LIFE-09", MUST, "pitfalls 18, 19", "An export that is refused holds nothing of the source.")
def refusals_hold_nothing(target: Target) -> str:
    array = target.any()
    before, refused = sys.getrefcount(array), 0
    for _ in range(8):
        for keywords in ({"dl_device": (abi.EXT_DEV, 7)}, {"stream": 12345}, {"max_version": (1,)}):
            answer = ask(target, array, **keywords)
            refused += isinstance(answer, Exception)
            del answer
    gc.collect()
    after = sys.getrefcount(array)
    if not refused:
        raise NotApplicable("it refused nothing")
    return expect(after == before, f"{before} references as before", f"{after} after {refused} refusals")


@rule("P-LIFE-10", MUST, "pitfalls 117", "An export leaves the source usable, and every export is a struct of its own.")
def usable(target: Target) -> str:
    array = target.any()
    before = target.values(array)
    first, second = export(array), export(array)
    shared = first.at == second.at
    first.take()
    first.end()
    after = target.values(array)
    expect(after == before, f"{before}", f"{after}")
    values = second.values(elements.NAMES[second.triple]) if second.triple in elements.NAMES else before
    expect(values == before, f"{before}", f"{values} in the second export")
    return advise(not shared, "two structs", "the same struct twice, each time with a deleter call to come")


@rule(
    "P-LIFE-11",
    SHOULD,
    "pitfalls 35",
    "What a consumer writes into the shape and strides of its struct does not reach the source.",
)
def private_shape(target: Target) -> str:
    array = target.any()
    before = target.shape(array)
    answer = export(array)
    if answer.tensor.ndim == 0:
        raise NotApplicable("its array is of rank 0")
    answer.tensor.shape[0] = 1
    if answer.tensor.strides:
        answer.tensor.strides[0] = 5
    shape, again = target.shape(array), export(array)
    expect(shape == before, f"shape {before}", f"shape {shape} in the source")
    return expect(
        again.shape == before and again.strides != (5, *(again.strides or ())[1:]),
        f"shape {before}, strides untouched",
        f"shape {again.shape}, strides {again.strides} in the next export",
    )


@rule(
    "P-LIFE-12",
    MUST,
    "pitfalls 30, 31",
    "The struct stays as it is when garbage is collected and other exports are made.",
)
def stable_struct(target: Target) -> str:
    answer = export(target.any())
    before = bytes(answer.managed), answer.shape, answer.strides
    others = [export(target.any()) for _ in range(64)]
    gc.collect()
    after = bytes(answer.managed), answer.shape, answer.strides
    del others
    return expect(before == after, "the same bytes", "other bytes")
