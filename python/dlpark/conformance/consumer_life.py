"""Consumers: when, how often and in which state the deleter is called."""

import gc
import threading
import time
from typing import Any

from . import foreign as kit
from .consumer_layout import making
from .foreign import Foreign, Offer, Watch, droppable
from .importing import PATIENCE, check_values, needs, settle, shares, shows, take, taken
from .rules import MUST, NOTE, SHOULD, NotApplicable, Wrong, expect, rule
from .targets import Target, view

HEADER = "dlpack.h, deleter"


def _life(target: Target, legacy: bool | None) -> str:
    outcome = taken(target, Offer(making(), legacy=legacy))
    foreign = outcome.foreign
    assert foreign is not None
    gc.collect()
    early = foreign.calls()
    if early and shares(target, outcome):
        raise Wrong("no call of the deleter while the array lives", f"{early}, and the array still shows the memory")
    check_values(target, outcome)
    outcome.got = None
    calls = settle(foreign, 1)
    if calls != 1:
        raise Wrong("one call of the deleter when the array is gone", f"{calls}")
    return "once, when the copy was made" if early else "once, when the array was gone"


@rule(
    "C-LIFE-01",
    MUST,
    f"{HEADER}; pitfalls 1, 2, 17",
    "The deleter is called once: when the array is gone, or when a copy was made.",
)
def once(target: Target) -> str:
    return _life(target, None)


@rule("C-LIFE-02", MUST, f"{HEADER}; pitfalls 1, 2, 17", "The deleter of a legacy struct is called once, too.")
def once_legacy(target: Target) -> str:
    needs(target, legacy=True)
    return _life(target, True)


@rule("C-LIFE-03", MUST, f"{HEADER}; pitfalls 10", "A NULL deleter is not called.")
def null_deleter(target: Target) -> str:
    outcome = taken(target, making(deleter=None))
    check_values(target, outcome)
    outcome.got = None
    gc.collect()
    return "the array came and went"


@rule(
    "C-LIFE-04",
    MUST,
    f"{HEADER}; pitfalls 12",
    "The deleter of a tensor without elements is called, with NULL data too.",
)
def without_elements(target: Target) -> str:
    for data in (None, ...):
        outcome = taken(target, making(shape=(0, 3), data=data))
        outcome.got = None
        assert outcome.foreign is not None
        calls = settle(outcome.foreign, 1)
        if calls != 1:
            raise Wrong("one call of the deleter", f"{calls} with {'NULL' if data is None else 'some'} data")
    return "once each"


@rule("C-LIFE-05", MUST, f"{HEADER}; pitfalls 16", "What is made of the array, a part of it, keeps the tensor alive.")
def part(target: Target) -> str:
    outcome = taken(target, making(shape=(4, 3)))
    foreign = outcome.foreign
    assert foreign is not None
    try:
        rest = view(target, outcome.got, "tail")
        values = target.values(rest)
    finally:
        outcome.got = None
    gc.collect()
    early = foreign.calls()
    if early and shows(target, rest, foreign, 3):
        raise Wrong("no call of the deleter while a part lives", f"{early}, and the part still shows the memory")
    expected = foreign.values()[3:]
    expect(values == expected, f"{expected}", f"{values}")
    again = target.values(rest)
    expect(again == expected, f"{expected}", f"{again} when the whole is gone")
    del rest
    calls = settle(foreign, 1)
    if calls != 1:
        raise Wrong("one call of the deleter", f"{calls}")
    return "once, " + ("when a copy was made" if early else "when the part was gone")


@rule(
    "C-LIFE-06",
    SHOULD,
    "pitfalls 22",
    "A refused tensor is ended with no exception pending: its deleter and its capsule's destructor may use Python.",
)
def pending(target: Target) -> str:
    for _ in range(4):
        droppable(Foreign(deleter=Watch()))  # what runs for the first time may lose the exception before it is seen
    watch, dropped = Watch(), kit.DROPPED_PENDING
    dropped.clear()

    class Dropping(Offer):
        def hand_out(self, keywords: dict[str, Any]) -> Any:
            wanted = keywords.get("max_version")
            return droppable(Foreign(legacy=wanted is None, triple=(200, 32, 1), deleter=watch))

    if target.bare_capsules:
        raise NotApplicable("the capsule is the caller's")
    outcome = take(target, Dropping(making()))
    if outcome.error is None:
        raise NotApplicable("it takes type code 200")
    gc.collect()
    if not watch.threads:
        raise Wrong("one call of the deleter", f"none, after {outcome.text}")
    found = ", ".join(dict.fromkeys(name for name in (*watch.pending, *dropped) if name))
    lost = isinstance(outcome.error, SystemError)
    return expect(
        not found and not lost, "none pending", f"{found or 'an exception'} pending; what arrives is {outcome.text}"
    )


@rule("C-LIFE-07", MUST, f"{HEADER}; pitfalls 1, 17", "Many imports end as many tensors.")
def many(target: Target) -> str:
    tensors: list[Foreign] = []

    def make(legacy: bool) -> Foreign:
        tensors.append(Foreign(legacy=legacy))
        return tensors[-1]

    for _ in range(64):
        taken(target, make)
    for foreign in tensors:
        if settle(foreign, 1) != 1:
            break
    calls = [foreign.calls() for foreign in tensors]
    return expect(calls == [1] * 64, "64 calls for 64 tensors", f"{sum(calls)}")


@rule("C-LIFE-08", NOTE, f"{HEADER}; pitfalls 26", "The deleter is called on the thread that lets the array go.")
def thread(target: Target) -> str:
    watch = Watch()
    outcome = taken(target, making(deleter=watch))
    outcome.got = None
    deadline = time.monotonic() + PATIENCE
    while not watch.threads and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.02)
    if not watch.threads:
        raise Wrong("a call of the deleter", "none")
    return expect(watch.threads == [threading.get_ident()], "this thread", "another one")


@rule(
    "C-LIFE-09",
    MUST,
    "dlpack.h, manager_ctx; pitfalls 16",
    "The array reads when the producer and its capsule are gone.",
)
def producer_gone(target: Target) -> str:
    class Dropping(Offer):
        """Keeps no capsule, and gives it the destructor by the book."""

        def hand_out(self, keywords: dict[str, Any]) -> Any:
            wanted = keywords.get("max_version")
            self.given.append(self.make(wanted is None or wanted[0] < 1))
            return droppable(self.given[-1])

    outcome = taken(target, Dropping(making()))
    foreign = outcome.foreign
    assert foreign is not None
    gc.collect()
    if foreign.calls() and shares(target, outcome):
        raise Wrong(
            "no call of the deleter",
            f"{foreign.calls()} when the capsule was gone, and the array still shows the memory",
        )
    return check_values(target, outcome)


@rule("C-LIFE-10", MUST, "array API, from_dlpack", "Two imports of one producer do not know of each other.")
def two(target: Target) -> str:
    offer = Offer(making())
    first, second = taken(target, offer), taken(target, offer)
    assert first.foreign is not None and second.foreign is not None
    first.got = None
    if settle(first.foreign, 1) != 1:
        raise Wrong("one call of the first deleter", f"{first.foreign.calls()}")
    return check_values(target, second)


@rule("C-LIFE-11", MUST, "array API, from_dlpack", "Its own arrays come back through its own from_dlpack.")
def itself(target: Target) -> str:
    array = target.any()
    expected = target.values(array)
    got = target.from_dlpack(array.__dlpack__() if target.bare_capsules else array)
    values = target.values(got)
    return expect(values == expected, f"{expected}", f"{values}")
