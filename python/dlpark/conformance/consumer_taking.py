"""Consumers: capsules, versions and flags."""

import ctypes
from typing import Any

from . import abi, capture
from .foreign import Foreign, NoFlags, Offer
from .importing import check_values, ended_once, needs, reads_right, refuses, right_or_refused, settle, take, taken
from .rules import MUST, NOTE, SHOULD, Broken, Deviates, NotApplicable, Wrong, expect, rule, say
from .targets import Target, consumes, export

BOOK = "Python spec of DLPack, consumer"


def plain(legacy: bool) -> Foreign:
    return Foreign(legacy=legacy)


# ---- Capsules ----


@rule(
    "C-CAP-01",
    SHOULD,
    f"{BOOK}; pitfalls 89, 90",
    "A legacy capsule is taken, whatever was asked for: its name says what is in it.",
)
def legacy_capsule(target: Target) -> str:
    return reads_right(target, Offer(plain, legacy=True), "an array of a legacy capsule")


@rule("C-CAP-02", SHOULD, f"{BOOK}; pitfalls 73, 90", "A versioned capsule is taken, whatever was asked for.")
def versioned_capsule(target: Target) -> str:
    return reads_right(
        target, Offer(lambda _: Foreign(version=(1, 0)), legacy=False), "an array of a versioned capsule"
    )


@rule("C-CAP-03", MUST, f"{BOOK}; pitfalls 6, 8", "A capsule whose tensor was taken is renamed to used_....")
def renamed(target: Target) -> str:
    foreign = taken(target, plain).foreign
    assert foreign is not None
    name, wanted = abi.capsule_name(foreign.capsule), abi.USED[abi.LEGACY if foreign.legacy else abi.VERSIONED]
    if name != wanted and not abi.capsule_destructor(foreign.capsule):
        raise Deviates(f"{wanted!r}", f"{name!r}, with the destructor taken out of the capsule")
    return expect(name == wanted, f"{wanted!r}", f"{name!r}")


class Again(Offer):
    """A producer that hands out the same capsule each time."""

    def hand_out(self, keywords: dict[str, Any]) -> Any:
        return self.given[0].capsule if self.given else super().hand_out(keywords)


@rule(
    "C-CAP-04",
    MUST,
    f"{BOOK}; pitfalls 7",
    "A capsule that was consumed is refused the second time, and its deleter is called once.",
)
def twice(target: Target) -> str:
    offer: Any = Again(plain)
    first = taken(target, offer)
    foreign = first.foreign
    assert foreign is not None
    try:
        second = target.from_dlpack(foreign.capsule if target.bare_capsules else offer)
    except Exception as error:
        text = say(error)
    else:
        del second
        raise Wrong("an exception", "took it twice")
    check_values(target, first)
    first.got = None
    calls = settle(foreign, 1)
    if calls != 1:
        raise Wrong("one call of the deleter", f"{calls} calls")
    return text


@rule("C-CAP-05", MUST, f"{BOOK}; pitfalls 122", "A capsule of another name is refused, and what is in it left alone.")
def other_names(target: Target) -> str:
    seen = []
    for name in (b"dltensor_other", b"used_dltensor", b"used_dltensor_versioned", abi.EXCHANGE, b""):
        outcome = take(target, Offer(plain, name=name))
        foreign = outcome.foreign
        if foreign is None:
            raise NotApplicable(f"it did not ask for the capsule: {outcome.text}")
        if not outcome.error:
            raise Wrong(f"an exception for a capsule named {name!r}", "took it")
        if foreign.calls():
            raise Wrong(f"no call of the deleter for a capsule named {name!r}", f"{foreign.calls()}")
        seen.append(type(outcome.error).__name__)
    return ", ".join(seen)


class Saying(Offer):
    """A producer that returns something."""

    def __init__(self, what: Any) -> None:
        super().__init__(plain)
        self.what = what

    def hand_out(self, keywords: dict[str, Any]) -> Any:
        return self.what


@rule("C-CAP-06", MUST, "array API, __dlpack__, Returns", "What is no capsule is refused: None, an int, bytes.")
def no_capsule(target: Target) -> str:
    if not consumes(target):
        raise NotApplicable("it has no from_dlpack")
    seen = []
    for what in (None, 1, b"dltensor"):
        try:
            target.from_dlpack(what if target.bare_capsules else Saying(what))
        except Exception as error:
            seen.append(f"{what!r}: {type(error).__name__}")
        else:
            raise Broken(f"an exception for {what!r}", "took it")
    return "; ".join(seen)


# ---- Versions ----


def major_two(_: bool) -> Foreign:
    """A struct of a version to come, whose tensor must not be read: its pointers lead nowhere."""
    foreign = Foreign(version=(2, 0), flags=1 << 17)
    tensor = foreign.managed.dl_tensor
    tensor.data, tensor.ndim, tensor.byte_offset = 8, 3, 2**40
    tensor.shape = ctypes.cast(16, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(24, ctypes.POINTER(ctypes.c_int64))
    return foreign


@rule(
    "C-VER-01",
    MUST,
    "dlpack.h, DLPackVersion; pitfalls 94",
    "A struct of major version 2 is refused, and nothing of it is touched but the deleter.",
)
def other_major(target: Target) -> str:
    return refuses(target, Offer(major_two, legacy=False))


@rule(
    "C-VER-02",
    SHOULD,
    "array API, from_dlpack, Raises; pitfalls 98",
    "The exception for another major version is BufferError.",
)
def other_major_error(target: Target) -> str:
    needs(target, legacy=False)
    outcome = take(target, Offer(major_two, legacy=False))
    if outcome.error is None:
        raise Broken("BufferError", "took it")
    ended_once(outcome)
    return expect(isinstance(outcome.error, BufferError), "BufferError", outcome.text)


@rule("C-VER-03", MUST, "dlpack.h, DLPackVersion; pitfalls 93", "A later minor version is as good.")
def later_minor(target: Target) -> str:
    needs(target, legacy=False)
    return reads_right(target, Offer(lambda _: Foreign(version=(1, 99)), legacy=False), "an array of version 1.99")


@rule(
    "C-VER-04",
    SHOULD,
    "dlpack.h, DLPackVersion",
    "A versioned struct that says major version 0, which there never was, is refused.",
)
def major_zero(target: Target) -> str:
    return refuses(target, Offer(lambda _: Foreign(version=(0, 8)), legacy=False))


# ---- Flags ----


def _flagged(flags: int) -> Offer:
    def make(legacy: bool) -> Foreign:
        if legacy:
            raise NoFlags
        return Foreign(flags=flags)

    return Offer(make)


def _write(target: Target, array: Any) -> str | None:
    """Why it cannot be written to, or None."""
    try:
        target.write(array)
    except Exception as error:
        return say(error)
    return None


@rule(
    "C-FLAG-01",
    SHOULD,
    "dlpack.h, READ_ONLY; array API, __dlpack__, Notes",
    "What was handed over with READ_ONLY cannot be written to.",
)
def read_only(target: Target) -> str:
    outcome = taken(target, _flagged(abi.READ_ONLY))
    foreign = outcome.foreign
    assert foreign is not None
    before = foreign.memory.raw
    refusal = _write(target, outcome.got)
    if foreign.memory.raw != before:
        raise Deviates("an exception, or a write to memory of its own", "wrote into the read-only memory")
    return f"{refusal}" if refusal else "writes to memory of its own"


@rule(
    "C-FLAG-02", SHOULD, "dlpack.h, READ_ONLY; pitfalls 73", "What was handed over without READ_ONLY can be written to."
)
def writable(target: Target) -> str:
    return _writable(target, _flagged(0))


@rule(
    "C-FLAG-03",
    NOTE,
    "pitfalls 75; NumPy takes legacy capsules as read-only",
    "What came in a legacy capsule can be written to.",
)
def legacy_writable(target: Target) -> str:
    needs(target, legacy=True)
    return _writable(target, Offer(plain, legacy=True))


def _writable(target: Target, offer: Offer) -> str:
    if target.immutable:
        raise NotApplicable("its arrays are immutable")
    outcome = taken(target, offer)
    foreign = outcome.foreign
    assert foreign is not None
    before = foreign.memory.raw
    refusal = _write(target, outcome.got)
    if refusal:
        exported = _again(outcome.got)
        if exported is not None and not exported.legacy and not exported.flags & abi.READ_ONLY:
            return "it cannot write by itself, and its next export is writable"
        raise Deviates("a write", refusal)
    return "writes into it" if foreign.memory.raw != before else "writes to memory of its own"


def _again(array: Any) -> capture.Export | None:
    try:
        return export(array)
    except Exception:
        return None


@rule(
    "C-FLAG-04",
    SHOULD,
    "dlpack.h, READ_ONLY; pitfalls 76",
    "READ_ONLY is still there when what was taken is exported again.",
)
def read_only_again(target: Target) -> str:
    outcome = taken(target, _flagged(abi.READ_ONLY))
    foreign, again = outcome.foreign, _again(outcome.got)
    assert foreign is not None
    if again is None:
        raise NotApplicable("what it took is not exported again")
    if not foreign.element <= again.address < foreign.element + 64:
        raise NotApplicable("what it exports is a copy")
    if again.legacy:
        raise Broken("READ_ONLY, in a versioned capsule", "a legacy capsule")
    return expect(bool(again.flags & abi.READ_ONLY), "READ_ONLY", f"flags {again.flags:#x}")


@rule(
    "C-FLAG-05",
    MUST,
    "dlpack.h, IS_COPIED",
    "IS_COPIED of what was taken is not passed on with the same memory, which then has two users.",
)
def copied_again(target: Target) -> str:
    outcome = taken(target, _flagged(abi.IS_COPIED))
    again = _again(outcome.got)
    if again is None or again.legacy:
        raise NotApplicable("what it took is not exported again with flags")
    return expect(not again.flags & abi.IS_COPIED, "no IS_COPIED", f"flags {again.flags:#x}")


@rule("C-FLAG-06", MUST, "dlpack.h, flags", "A flag that it does not know is no reason to read wrongly.")
def unknown_flag(target: Target) -> str:
    return right_or_refused(target, _flagged(1 << 40))
