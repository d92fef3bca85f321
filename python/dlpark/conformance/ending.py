"""How the process that ran a check ended, and the verdict that follows from it."""

import json
import os
import re
import signal
from dataclasses import dataclass

from .rules import CRASH, HANG, NA, PASS, Result, Rule

STATUS = 42
MARKER = b"the interpreter is gone"
"""What a check of a process's end leaves behind: the exit status, and a line on stderr before the deadly step."""

_TELLING = re.compile(r"what\(\)|Fatal|Check fail|[Aa]ssert|free\(\)|corrupt|terminate called|error:", re.IGNORECASE)

_LOG_PREFIX = re.compile(r"^[IWEF]\d{4} [\d:.]+ +\d+ ")  # of glog: time and thread, which say nothing here


@dataclass
class Ending:
    """What is left of a process.

    Attributes
    ----------
    answer : bytes
        The result that it wrote, as JSON; empty if it did not come so far.
    status : int or None
        Its wait status; None if it was killed because its time was up.
    said : str
        What it wrote to stdout and stderr.
    timeout : float
        The time that it had, in seconds.
    """

    answer: bytes
    status: int | None
    said: str
    timeout: float

    @property
    def signal(self) -> str | None:
        if self.status is None or not os.WIFSIGNALED(self.status):
            return None
        number = os.WTERMSIG(self.status)
        try:
            return signal.Signals(number).name
        except ValueError:
            return f"signal {number}"

    @property
    def text(self) -> str:
        """How it ended, with what it said about it."""
        if self.status is None:
            return f"no end after {self.timeout:g} s"
        how = f"died of {self.signal}" if self.signal else f"ended with status {os.waitstatus_to_exitcode(self.status)}"
        line = telling_line(self.said, anything=not self.signal)
        return f"{how}: {line}" if line else how


def telling_line(said: str, *, anything: bool, limit: int = 160) -> str:
    """The line that tells what happened; the last one if `anything` will do."""
    lines = [_LOG_PREFIX.sub("", line.strip()) for line in said.splitlines() if line.strip() and MARKER.decode() not in line]
    best = next((line for line in lines if _TELLING.search(line)), lines[-1] if lines and anything else "")
    return best if len(best) <= limit else best[: limit - 3] + "..."


def conclude(which: Rule, end: Ending) -> Result:
    """The result of a check that ran in a process of its own."""
    if which.ends_process and _passed(end):
        return _conclude_end(which, end)
    if end.status is None:
        return Result(which.id, HANG, which.says, end.text)
    if end.signal or not end.answer:
        return Result(which.id, CRASH, which.says, end.text)
    if os.waitstatus_to_exitcode(end.status) != 0:
        return Result(which.id, CRASH, which.says, end.text)
    return Result(**json.loads(end.answer))


def _passed(end: Ending) -> bool:
    return bool(end.answer) and json.loads(end.answer)["verdict"] == PASS


def _conclude_end(which: Rule, end: Ending) -> Result:
    reached = MARKER.decode() in end.said
    if end.status is not None and not end.signal and os.waitstatus_to_exitcode(end.status) == STATUS and reached:
        return Result(which.id, PASS, which.says, json.loads(end.answer)["observed"])
    if not reached:
        return Result(which.id, NA, which.says, f"the process did not end in good order by itself: {end.text}")
    if end.status is None:
        return Result(which.id, HANG, which.says, end.text)
    return Result(which.id, CRASH, which.says, f"in the deleter, the process {end.text}")
