"""Runs targets, each in a process of its own, and gathers their results."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .ending import Ending, conclude
from .rules import HANG, Result, Rule

IMPORT_SECONDS = 300.0

# The kit is loaded under a name of its own, so that a process that judges another library has no dlpark in it.
_BOOTSTRAP = """
import importlib.util, sys
place = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location("dlpark_conformance", place + "/__init__.py",
                                              submodule_search_locations=[place])
sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from dlpark_conformance import worker
worker.main(sys.argv[1:])
"""


@dataclass
class Options:
    """How to run: the time for one rule in seconds, and ``auto``, ``fork`` or ``fresh`` processes."""

    timeout: float = 20.0
    mode: str = "auto"


@dataclass
class Run:
    """What came of one target. `error` says why it could not be judged at all."""

    target: str
    version: str = ""
    forked: bool = True
    error: str | None = None
    results: list[Result] = field(default_factory=list)


Progress = Callable[[str, int, int, str], None]


def run_target(name: str, chosen: list[Rule], options: Options, progress: Progress) -> Run:
    """Judges one target by the chosen rules, in their order."""
    done = Run(name)
    if options.mode != "fresh":
        _run_forking(done, chosen, options, progress)
        if done.error or done.forked:
            return done
    done.forked = False
    for at, each in enumerate(chosen):
        progress(name, at, len(chosen), each.id)
        result = _run_fresh(done, each, options)
        if result is None:
            break
        done.results.append(result)
    return done


def _run_forking(done: Run, chosen: list[Rule], options: Options, progress: Progress) -> None:
    ids = [each.id for each in chosen]
    with _worker(done.target, options.mode, options.timeout, ids) as (process, lines, said):
        progress(done.target, 0, len(ids), "import")
        head = next(lines, None)
        if head is None or "error" in head:
            done.error = head["error"] if head else f"its import {_ending(process, b'', said, options).text}"
            return
        done.version, done.forked = head["version"], head["forks"]
        if not done.forked:
            return
        for at, each in enumerate(ids):
            progress(done.target, at, len(ids), each)
            line = next(lines, None)
            if line is None:
                done.error = f"the kit's own process {_ending(process, b'', said, options).text} in {each}"
                return
            result = Result(**line)
            if line["verdict"] == HANG and options.mode == "auto":
                # A lock that some thread held when the child was forked is held there for ever: that is no verdict.
                fresh = _run_fresh(done, chosen[at], options)
                if fresh is None:
                    return
                result = fresh
            done.results.append(result)


def _run_fresh(done: Run, which: Rule, options: Options) -> Result | None:
    """One rule in a process that imported the target for it alone; None if that failed.

    The time for the rule begins after the import.
    """
    with _worker(done.target, "here", options.timeout, [which.id]) as (process, lines, said):
        head = next(lines, None)
        if head is None or "error" in head:
            done.error = head["error"] if head else f"its import {_ending(process, b'', said, options).text}"
            return None
        done.version = head["version"]
        answer = b"".join(json.dumps(line).encode() for line in _until(lines, time.monotonic() + options.timeout))
        return conclude(which, _ending(process, answer, said, options))


class _Lines:
    """JSON lines from a pipe, each waited for until a deadline."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.rest = descriptor, b""
        self.deadline = time.monotonic() + IMPORT_SECONDS
        self.endless = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        while b"\n" not in self.rest:
            left = None if self.endless else self.deadline - time.monotonic()
            if left is not None and left <= 0 or not select.select([self.descriptor], [], [], left)[0]:
                raise StopIteration
            more = os.read(self.descriptor, 65536)
            if not more:
                raise StopIteration
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        self.endless = True  # the import is over; from here on the worker keeps the time
        return dict(json.loads(line))


def _until(lines: _Lines, deadline: float) -> _Lines:
    lines.deadline, lines.endless = deadline, False
    return lines


@contextmanager
def _worker(name: str, mode: str, timeout: float, ids: list[str]) -> Iterator[tuple[Any, _Lines, Any]]:
    reader, writer = os.pipe()
    place = str(Path(__file__).parent)
    numbers = [str(timeout), str(writer), str(os.getpid())]
    command = [sys.executable, "-c", _BOOTSTRAP, place, name, mode, *numbers, *ids]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, pass_fds=[writer], start_new_session=True
        )
        os.close(writer)
        try:
            yield process, _Lines(reader), said
        finally:
            os.close(reader)
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.wait()


def _ending(process: Any, answer: bytes, said: Any, options: Options) -> Ending:
    """How a worker ended; it is given a moment, and killed if it does not."""
    try:
        code = process.wait(timeout=0 if not answer and _still(process) else options.timeout)
        status: int | None = -code if code < 0 else code << 8
    except subprocess.TimeoutExpired:
        status = None
    said.seek(0)
    return Ending(answer, status, said.read().decode(errors="replace"), options.timeout)


def _still(process: Any) -> bool:
    """Whether it runs on, a moment after its pipe fell silent."""
    for _ in range(100):
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    return True
