"""What the rules about consumers share: handing a tensor over, and seeing who owns it afterwards."""

import ctypes
import gc
import time
from dataclasses import dataclass
from typing import Any

from . import elements
from .foreign import Foreign, Maker, NoFlags, Offer
from .rules import Broken, Deviates, NotApplicable, Wrong, say
from .targets import Target, consumes

PATIENCE = 8.0
"""Seconds in which a deleter has to be called, on a busy machine, too. A rule has to end within its own time, so once
they were in vain, what comes after has a part of them."""

_in_vain = False


@dataclass
class Outcome:
    """What a consumer made of an offer."""

    foreign: Foreign | None
    got: Any = None
    error: Exception | None = None

    @property
    def text(self) -> str:
        return say(self.error) if self.error else "took it"


def take(target: Target, offer: Maker | Offer, **keywords: Any) -> Outcome:
    """Hands a tensor to the target's from_dlpack. A maker is offered with the ABI that the target asks for."""
    if not consumes(target):
        raise NotApplicable("it has no from_dlpack")
    if not isinstance(offer, Offer):
        offer = Offer(offer)
    try:
        producer: Any = offer.hand_out({}) if target.bare_capsules else offer
        got = target.from_dlpack(producer, **keywords)
    except NotApplicable:
        raise
    except NoFlags:
        raise NotApplicable("it asks for a legacy capsule, which has no flags") from None
    except Exception as error:
        error.__traceback__ = None  # its frames hold the capsule
        return Outcome(offer.foreign, error=error)
    return Outcome(offer.foreign, got=got)


def taken(target: Target, offer: Maker | Offer, what: str = "an array", **keywords: Any) -> Outcome:
    """As `take`, where a refusal breaks the rule."""
    outcome = take(target, offer, **keywords)
    if outcome.error:
        owned = ended_once(outcome)
        raise Broken(what, f"{outcome.text}; {owned}")
    return outcome


def settle(foreign: Foreign, calls: int) -> int:
    """The calls of the deleter, after waiting for as many as are expected: some libraries end tensors later."""
    global _in_vain
    deadline = time.monotonic() + (PATIENCE / 16 if _in_vain else PATIENCE)
    if not calls:
        gc.collect()
    while foreign.calls() < calls and time.monotonic() < deadline:
        gc.collect()
        if foreign.calls() < calls:
            time.sleep(0.01)
    _in_vain = _in_vain or foreign.calls() < calls
    return foreign.calls()


def ended_once(outcome: Outcome) -> str:
    """Who ends a tensor that was refused: the consumer, if it took it, or else the capsule's own destructor."""
    foreign = outcome.foreign
    if foreign is None:
        return "it did not ask for the capsule"
    took = foreign.taken
    calls = settle(foreign, 1 if took else 0)
    if took and calls == 1:
        return "it took the tensor and called the deleter once"
    if not took and calls == 0:
        return "it left the tensor in its capsule"
    if took:
        raise Wrong(
            "one call of the deleter", f"{calls} calls by the consumer, which had taken the tensor ({outcome.text})"
        )
    raise Wrong(
        "one call of the deleter",
        f"{calls} by the consumer, and the capsule's destructor makes one more ({outcome.text})",
    )


def needs(target: Target, *, legacy: bool) -> None:
    """Makes a rule inapplicable where capsules of this ABI are refused altogether, which C-CAP-01 and -02 are about."""
    outcome = take(target, Offer(lambda _: Foreign(legacy=legacy, version=(1, 0)), legacy=legacy))
    if outcome.error:
        raise NotApplicable(f"it takes no {'legacy' if legacy else 'versioned'} capsules: {outcome.text}")


def has_keyword(target: Target, name: str) -> None:
    """Makes a rule about a keyword of from_dlpack inapplicable where there is none."""
    offer = Offer(lambda legacy: Foreign(legacy=legacy))
    outcome = take(target, offer, **{name: None})
    if isinstance(outcome.error, TypeError) and not offer.asked:
        raise NotApplicable(f"its from_dlpack has no {name}: {outcome.text}")


def refuses(target: Target, offer: Maker | Offer, *, reads: bool = False, **keywords: Any) -> str:
    """The target must refuse the tensor, and leave one deleter call in all. With `reads`, what it took is read."""
    outcome = take(target, offer, **keywords)
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    if not reads:
        raise Broken("an exception", "took it")
    refusal, values = read(target, outcome)
    raise Broken("an exception", f"took it, and {refusal or f'reads {shorten(values)}'}")


def read(target: Target, outcome: Outcome) -> tuple[str | None, Any]:
    """The values of what was taken, or what the target says when it is asked for them: some look only then."""
    try:
        return None, target.values(outcome.got)
    except NotApplicable:
        raise
    except Exception as error:
        return f"reading it raises {say(error)}", None


def refuses_to_read(target: Target, offer: Maker | Offer) -> str:
    """The target must refuse the tensor, if not when it is taken, then when it is read."""
    outcome = take(target, offer)
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    refusal, values = read(target, outcome)
    if refusal is None:
        raise Broken("an exception", f"took it, and reads {shorten(values)}")
    return f"took it, and {refusal}"


def shorten(values: Any, limit: int = 8) -> str:
    values = list(values)
    return f"{values}" if len(values) <= limit else f"{str(values[:limit])[:-1]}, ...]"


def check_values(target: Target, outcome: Outcome) -> str:
    """What was taken must read as what was handed over."""
    assert outcome.foreign is not None
    shape, expected = target.shape(outcome.got), outcome.foreign.values()
    if shape != outcome.foreign.shape:
        raise Wrong(f"shape {outcome.foreign.shape}", f"shape {shape}")
    values = target.values(outcome.got)
    if len(values) != len(expected) or any(a != b for a, b in zip(values, expected, strict=True)):
        raise Wrong(f"elements {shorten(expected)}", f"{shorten(values)}")
    return f"reads {shorten(values, 3)}"


def reads_right(target: Target, offer: Maker | Offer, what: str = "an array", **keywords: Any) -> str:
    """The target must take the tensor and read it right."""
    outcome = taken(target, offer, what, **keywords)
    return check_values(target, outcome)


def reads_or_refuses(target: Target, offer: Maker | Offer, **keywords: Any) -> str:
    """The target may refuse the tensor, which others take; if it takes it, it must read it right."""
    outcome = take(target, offer, **keywords)
    if outcome.error:
        raise Deviates("an array", f"{outcome.text}; {ended_once(outcome)}")
    return check_values(target, outcome)


def right_or_refused(target: Target, offer: Maker | Offer, **keywords: Any) -> str:
    """As `reads_or_refuses`, where a refusal is as good."""
    outcome = take(target, offer, **keywords)
    if outcome.error:
        return f"{outcome.text}; {ended_once(outcome)}"
    refusal, _ = read(target, outcome)
    return f"took it, and {refusal}" if refusal else check_values(target, outcome)


def shares(target: Target, outcome: Outcome) -> bool:
    """Whether what was taken lies in the memory that was handed over."""
    assert outcome.foreign is not None
    return shows(target, outcome.got, outcome.foreign, 0)


def shows(target: Target, array: Any, foreign: Foreign, index: int) -> bool:
    """Whether the first element of an array is the one at an index of the memory: it is changed there, and put back."""
    before = target.values(array)[0]
    size = elements.nbytes(foreign.dtype)
    place = foreign.element + index * size
    old = ctypes.string_at(place, size)
    ctypes.memmove(place, elements.encode(foreign.dtype, elements.ramp(foreign.dtype, index + 1)), size)
    after = target.values(array)[0]
    ctypes.memmove(place, old, size)
    return bool(before != after)
