"""Rules: what each is about, the register of all of them, and how a check says what it found."""

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

MUST, SHOULD, NOTE = "must", "should", "note"
SEVERITIES = (MUST, SHOULD, NOTE)
KINDS = ("producer", "consumer", "table")

PASS, FAIL, CRASH, HANG, DEVIATES, NA = "pass", "fail", "crash", "hang", "deviates", "not applicable"
VERDICTS = (PASS, FAIL, CRASH, HANG, DEVIATES, NA)
BROKEN = (FAIL, CRASH, HANG)


class Broken(Exception):
    """A rule is broken: what was expected, and what was seen instead."""

    def __init__(self, expected: str, observed: str) -> None:
        super().__init__(f"expected {expected}, observed {observed}")
        self.expected, self.observed = expected, observed


class Wrong(Broken):
    """Values, memory or ownership went wrong, which breaks a rule of any severity."""


class Deviates(Broken):
    """What was seen is legal, and known to bite."""


class NotApplicable(Exception):
    """The rule has nothing to look at here, with the reason."""


Check = Callable[[Any], str]


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes
    ----------
    id : str
        Such as ``P-STREAM-01``: kind, subject, number.
    kind : str
        What is judged: ``producer``, ``consumer``, or the ``table`` of C functions.
    severity : str
        ``must``: the standard says so, or memory or values are at stake. ``should``: others rely on it.
        ``note``: nobody has promised it, and it bites.
    source : str
        Where it is written, or the public report (a row of docs/pitfalls.md) that taught it.
    says : str
        The rule, in one sentence.
    check : callable
        ``check(target)`` returns what it observed, or raises.
    ends_process : bool
        The verdict is the end of the process: the check returns the expected exit status and marker.
    """

    id: str
    kind: str
    severity: str
    source: str
    says: str
    check: Check
    ends_process: bool = False

    @property
    def subject(self) -> str:
        """What comes before the number: ``P-STREAM``."""
        return self.id.rpartition("-")[0]


REGISTER: dict[str, Rule] = {}

_KIND_OF_LETTER = {"P": "producer", "C": "consumer", "X": "table"}


def rule(
    identity: str, severity: str, source: str, says: str, *, ends_process: bool = False
) -> Callable[[Check], Check]:
    """Registers a check under its rule."""

    def register(check: Check) -> Check:
        kind = _KIND_OF_LETTER[identity[0]]
        if identity in REGISTER or severity not in SEVERITIES:
            raise ValueError(f"rule {identity} is there twice, or has no severity")
        REGISTER[identity] = Rule(identity, kind, severity, source, says, check, ends_process)
        return check

    return register


def all_rules() -> list[Rule]:
    """Every rule, producers first, subjects in the order of their modules, each by its numbers."""
    from . import catalogue

    catalogue.load()
    modules = [f"{__package__}.{name}" for name in catalogue.MODULES]
    # By the catalogue, and not by what was imported first.
    registered = sorted(REGISTER.values(), key=lambda each: modules.index(each.check.__module__))
    subjects = list(dict.fromkeys(each.subject for each in registered))
    return sorted(REGISTER.values(), key=lambda each: (KINDS.index(each.kind), subjects.index(each.subject), each.id))


def select(patterns: Iterable[str]) -> list[Rule]:
    """The rules whose ids match one of the patterns of the shell; all without a pattern.

    Raises
    ------
    LookupError
        A pattern matches none; the message names it.
    """
    rules, wanted = all_rules(), list(patterns)
    for pattern in wanted:
        if not any(fnmatch.fnmatchcase(each.id, pattern.upper()) for each in rules):
            raise LookupError(pattern)
    return [each for each in rules if not wanted or any(fnmatch.fnmatchcase(each.id, p.upper()) for p in wanted)]


@dataclass
class Result:
    """What came of one rule."""

    rule: str
    verdict: str
    expected: str
    observed: str

    def as_dict(self) -> dict[str, str]:
        return {"rule": self.rule, "verdict": self.verdict, "expected": self.expected, "observed": self.observed}


def judge(which: Rule, target: Any) -> Result:
    """Runs a check in this process. Whatever it raises is a verdict; crash and hang are for the caller to see."""
    try:
        return Result(which.id, PASS, which.says, which.check(target))
    except NotApplicable as reason:
        return Result(which.id, NA, which.says, str(reason))
    except Deviates as found:
        return Result(which.id, DEVIATES, found.expected, found.observed)
    except Broken as found:
        fails = which.severity == MUST or isinstance(found, Wrong)
        return Result(which.id, FAIL if fails else DEVIATES, found.expected, found.observed)
    except Exception as error:
        verdict = FAIL if which.severity == MUST else DEVIATES
        return Result(which.id, verdict, which.says, say(error))


def say(error: BaseException, limit: int = 160) -> str:
    """An exception as one line: its class, and the first line of its message."""
    text = str(error).strip().split("\n")[0]
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def expect(condition: bool, expected: str, observed: str) -> str:
    """Says that the rule is broken, or returns what was expected, as it is what was seen."""
    if not condition:
        raise Broken(expected, observed)
    return expected


def advise(condition: bool, expected: str, observed: str) -> str:
    """As `expect`, for what is legal and known to bite."""
    if not condition:
        raise Deviates(expected, observed)
    return expected
