"""Consumers: what they ask a producer for, when they ask again, and what becomes of its exceptions."""

from typing import Any

from . import abi
from .consumer_layout import making
from .foreign import Foreign, Offer, Old, Oldest, Raising
from .importing import check_values, ended_once, has_keyword, reads_right, shares, take, taken
from .rules import MUST, NOTE, SHOULD, Broken, Deviates, NotApplicable, Wrong, expect, rule, say
from .targets import Target, consumes

API = "array API, from_dlpack"


def asks(target: Target) -> None:
    if not consumes(target):
        raise NotApplicable("it has no from_dlpack")
    if target.bare_capsules:
        raise NotApplicable("its from_dlpack takes capsules, and asks for nothing")


def _asked(target: Target, offer: Offer, **keywords: Any) -> list[dict[str, Any]]:
    asks(target)
    taken(target, offer, **keywords)
    return offer.asked


@rule(
    "C-ASK-01",
    SHOULD,
    f"{API}; array API, __dlpack__, Notes; pitfalls 74",
    "It asks with max_version, a pair of ints of at least (1, 0).",
)
def asks_for_versions(target: Target) -> str:
    first = _asked(target, Offer(making()))[0]
    version = first.get("max_version")
    fine = isinstance(version, tuple) and len(version) == 2 and all(type(part) is int for part in version)
    expect(fine and version >= (1, 0), "max_version=(1, x)", f"{first or 'no keyword'}")  # type: ignore[operator]
    return f"max_version={version}"


@rule(
    "C-ASK-02",
    MUST,
    "array API, __dlpack__: stream; pitfalls 114",
    "For a tensor on the host it passes no stream, or None.",
)
def host_stream(target: Target) -> str:
    asked = _asked(target, Offer(making()))
    streams = [call["stream"] for call in asked if call.get("stream") is not None]
    if streams == [-1] * len(streams) and streams:
        raise Deviates("no stream, or None, as NumPy takes no other", "stream=-1")
    return expect(not streams, "no stream, or None", f"stream={streams[:1]}")


class Guarded(Offer):
    """A producer on a device that is not there. Its capsule is never made: what is asked of it is what counts."""

    def hand_out(self, keywords: dict[str, Any]) -> Any:
        raise BufferError("this device is made up, and the data cannot be exported")


def _device_stream(target: Target, device: int, forbidden: tuple[Any, ...]) -> str:
    asks(target)
    offer = Guarded(making(), device=(device, 0))
    outcome = take(target, offer)
    if not offer.asked:
        raise NotApplicable(f"it refuses before it asks: {outcome.text}")
    streams = [call.get("stream", "none given") for call in offer.asked]
    bad = [stream for stream in streams if type(stream) is int and stream in forbidden]
    return expect(not bad, "a stream that is not " + " or ".join(map(str, forbidden)), f"stream={bad}") and (
        f"stream={streams[0]}" if streams[0] != "none given" else "no stream"
    )


@rule("C-ASK-03", MUST, "array API, __dlpack__: stream; pitfalls 110", "For a tensor on CUDA it never passes stream=0.")
def cuda_stream(target: Target) -> str:
    return _device_stream(target, abi.CUDA, (0,))


@rule(
    "C-ASK-04",
    MUST,
    "array API, __dlpack__: stream; pitfalls 112",
    "For a tensor on ROCm it never passes stream 1 or 2.",
)
def rocm_stream(target: Target) -> str:
    return _device_stream(target, abi.ROCM, (1, 2))


@rule(
    "C-ASK-05",
    MUST,
    f"{API}, Raises; pitfalls 83",
    "Data on a device that it has not are refused without being touched.",
)
def absent_device(target: Target) -> str:
    asks(target)
    device = (abi.EXT_DEV, 3)
    offer = Offer(making(device=device, data=4096), device=device)  # nobody may read there
    outcome = take(target, offer)
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    return "took it as memory of that device"


# ---- Producers from before ----


@rule(
    "C-ASK-06",
    SHOULD,
    f"{API}; array API, __dlpack__, Notes; pitfalls 91",
    "A producer that knows only stream is asked again without the newer keywords.",
)
def old_producer(target: Target) -> str:
    asks(target)
    offer = Old(making())
    reads_right(target, offer, "an array of a producer that takes only stream")
    return f"asked with {offer.asked[-1]}"


@rule("C-ASK-07", NOTE, f"{API}", "A producer that takes no keyword at all is asked again without any.")
def oldest_producer(target: Target) -> str:
    asks(target)
    return reads_right(target, Oldest(making()), "an array of a producer that takes no keyword")


@rule(
    "C-ASK-08",
    MUST,
    "pitfalls 91, 92",
    "copy=True for a producer without that keyword is not dropped: it copies itself, or raises.",
)
def copy_not_dropped(target: Target) -> str:
    return _copies(target, Old(making()))


@rule("C-ASK-09", MUST, f"{API}: copy", "copy=True gives memory that the producer does not see.")
def copy_true(target: Target) -> str:
    class Copying(Offer):
        def hand_out(self, keywords: dict[str, Any]) -> Any:
            copied = keywords.get("copy")
            self.make = making(flags=abi.IS_COPIED if copied else 0)
            if copied:
                self.source = Foreign()  # what was copied, and is never handed out
            return super().hand_out(keywords)

    asks(target)
    has_keyword(target, "copy")
    offer = Copying(making())
    outcome = taken(target, offer, copy=True)
    check_values(target, outcome)
    if any(call.get("copy") for call in offer.asked):
        return "it asks the producer for the copy"
    if shares(target, outcome):
        raise Wrong("a copy", "the producer's memory")
    return "it copies itself"


def _copies(target: Target, offer: Offer) -> str:
    asks(target)
    has_keyword(target, "copy")
    outcome = take(target, offer, copy=True)
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    check_values(target, outcome)
    if shares(target, outcome):
        raise Wrong("a copy, or an exception", "the producer's memory")
    return "it copies itself"


@rule(
    "C-ASK-10",
    NOTE,
    "dlpack.h, IS_COPIED",
    "copy=True answered without IS_COPIED is noticed: it copies again, or raises.",
)
def copy_unflagged(target: Target) -> str:
    class Ignoring(Offer):
        """Takes copy=True, and hands out its own memory."""

    asks(target)
    has_keyword(target, "copy")
    outcome = take(target, Ignoring(making()), copy=True)
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    return expect(not shares(target, outcome), "a copy, or an exception", "the producer's memory, taken for a copy")


@rule("C-ASK-11", NOTE, "dlpack.h, IS_COPIED", "copy=False answered with IS_COPIED is noticed.")
def copy_false_flagged(target: Target) -> str:
    asks(target)
    has_keyword(target, "copy")
    outcome = take(target, Offer(lambda legacy: Foreign(legacy=legacy, flags=abi.IS_COPIED)), copy=False)
    if outcome.error is None:
        raise Broken("an exception", "took the copy")
    return f"{outcome.text}; {ended_once(outcome)}"


@rule("C-ASK-12", MUST, f"{API}: copy; pitfalls 70", "copy=False gives the producer's own memory, or raises.")
def copy_false(target: Target) -> str:
    asks(target)
    has_keyword(target, "copy")
    outcome = take(target, making(shift=4), copy=False)
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    expect(shares(target, outcome), "the producer's memory, or an exception", "a copy")
    return "the producer's memory"


@rule(
    "C-ASK-13", NOTE, "pitfalls 70", "Memory that is well aligned, compact and of a known type is taken without a copy."
)
def zero_copy(target: Target) -> str:
    outcome = taken(target, making())
    return expect(shares(target, outcome), "the producer's memory", "a copy")


@rule(
    "C-ASK-14", SHOULD, f"{API}: device; pitfalls 91, 92", "device= for a producer without dl_device is met, or raises."
)
def device_not_dropped(target: Target) -> str:
    asks(target)
    where = target.device_keyword()
    if where is None:
        raise NotApplicable("its from_dlpack has no device, or the kit knows no value for it")
    offer = Offer(making(device=(abi.EXT_DEV, 0), data=4096), device=(abi.EXT_DEV, 0))
    outcome = take(target, offer, device=where)
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    raise Wrong("an exception, as the data are on EXT_DEV and the host was asked for", "took it")


# ---- Exceptions ----


class Custom(Exception):
    """An exception that only this producer has."""


@rule(
    "C-ASK-15",
    MUST,
    f"{API}, Raises",
    "An exception of the producer arrives as it is: BufferError, RuntimeError, its own class.",
)
def exceptions_arrive(target: Target) -> str:
    asks(target)
    seen = []
    for error in (BufferError("not today"), RuntimeError("broken"), Custom("mine")):
        outcome = take(target, Raising(error))
        if outcome.error is not error:
            raise Broken(say(error), outcome.text)
        seen.append(type(error).__name__)
    return ", ".join(seen)


@rule(
    "C-ASK-16",
    SHOULD,
    "pitfalls 92",
    "A TypeError of the producer's own, which is about no keyword, arrives and is not taken for an old producer.",
)
def type_error_arrives(target: Target) -> str:
    asks(target)
    offer = Raising(TypeError("unhashable type: 'list'"))
    outcome = take(target, offer)
    if outcome.error is None:
        raise Broken("TypeError", "an array")
    if not isinstance(outcome.error, TypeError):
        raise Broken("TypeError", outcome.text)
    return expect(
        len(offer.asked) == 1,
        "one call of __dlpack__",
        f"{len(offer.asked)} calls, with " + ", then ".join(str(sorted(call)) for call in offer.asked),
    )


class NoDevice:
    """A producer with half of the protocol."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return Foreign(legacy=keywords.get("max_version") is None).make_capsule()


class NoCapsule:
    """A producer with the other half."""

    def __dlpack_device__(self) -> Any:
        return (abi.CPU, 0)


@rule("C-ASK-17", SHOULD, f"{API}, Raises", "An object without __dlpack__ raises AttributeError or TypeError.")
def no_method(target: Target) -> str:
    return _half(target, NoCapsule(), (AttributeError, TypeError))


@rule(
    "C-ASK-18",
    SHOULD,
    f"{API}, Raises",
    "An object without __dlpack_device__ raises AttributeError or TypeError, or is taken by what its struct says.",
)
def no_device_method(target: Target) -> str:
    return _half(target, NoDevice(), (AttributeError, TypeError), may_take=True)


def _half(target: Target, thing: Any, errors: tuple[type[Exception], ...], *, may_take: bool = False) -> str:
    asks(target)
    expected = " or ".join(each.__name__ for each in errors)
    try:
        target.from_dlpack(thing)
    except Exception as error:
        expect(isinstance(error, errors), expected, say(error))
        return say(error)
    return expect(may_take, expected, "took it") and "took it"


@rule(
    "C-ASK-19",
    MUST,
    "array API, __dlpack_device__",
    "A __dlpack_device__ that is no pair of ints does no harm: an exception, or the device of the struct.",
)
def odd_device(target: Target) -> str:
    asks(target)
    seen = []
    for device in (1, (1,), ("cpu", 0), None, (1, None), (2**40, 0), (1, 0, 0)):
        outcome = take(target, Offer(making(), device=device))
        if outcome.error is None:
            check_values(target, outcome)
        else:
            ended_once(outcome)
        seen.append(f"{device}: {type(outcome.error).__name__ if outcome.error else 'taken'}")
    return "; ".join(seen)


@rule(
    "C-ASK-20",
    SHOULD,
    "pitfalls 76",
    "A derived class of its own array type that has another __dlpack__ is asked by that.",
)
def derived(target: Target) -> str:
    asks(target)
    array = target.subclass()
    if getattr(type(array), abi.TABLE_NAME, None) is not None:
        raise NotApplicable("its class inherits an exchange table, which goes before the method")
    asked: list[dict[str, Any]] = []

    def method(self: Any, **keywords: Any) -> Any:
        asked.append(keywords)
        return Foreign(legacy=keywords.get("max_version") is None).make_capsule()

    try:
        type(array).__dlpack__ = method
        values = target.values(target.from_dlpack(array))
    except (TypeError, AttributeError) as error:
        raise NotApplicable(f"the class cannot be changed: {say(error)}") from None
    return expect(bool(asked), "a call of the derived class's __dlpack__", f"none; reads {values[:3]}")
