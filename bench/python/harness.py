"""What the benchmarks in Python share: cases that take turns in one process, their ratios and their report.

The cases of a group take turns, round by round, and another one begins each round. Times are CPU time of the thread, of
as many operations as fill a turn; a Call is timed as a program has it, in a loop of its own. A ratio is the median over
the rounds of one case's time against the other's in the same round. A wrong result makes the exit status 1; a missed
target is printed and is no failure.
"""

import argparse
import gc
import importlib
import itertools
import json
import pathlib
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

TURN_NS = 5_000_000
ONE_OF = " | "


def optional(name: str):
    """A module, or None with a word about it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"bench: without {name}: it is not installed", file=sys.stderr)
        return None


class Call:
    """An expression, function(*args, **kwargs), where a function around it would cost as much as a fast call does. An
    argument that is a Call is called each time."""

    def __init__(self, function: Callable, *args: object, **kwargs: object):
        self._parts = function, args, kwargs
        self._values = []
        text = self._text(*self._parts)
        names = ", ".join(f"v{i}" for i in range(len(self._values)))
        made = {}
        exec(f"def once({names}): return {text}\ndef loop(turns, {names}):\n    for _ in turns: {text}", made)
        self._once, self._loop = made["once"], made["loop"]

    def _name(self, value):
        if isinstance(value, Call):
            return self._text(*value._parts)
        self._values.append(value)
        return f"v{len(self._values) - 1}"

    def _text(self, function, args, kwargs):
        name = self._name(function)
        items = [self._name(value) for value in args] + [f"{key}={self._name(value)}" for key, value in kwargs.items()]
        return f"{name}({', '.join(items)})"

    def __call__(self):
        return self._once(*self._values)

    def repeat(self, turns: Iterable):
        """As often as `turns` says."""
        self._loop(turns, *self._values)


@dataclass
class Case:
    """One way to do the group's job. Targets name other cases: at most so many times their time, or that of the fastest
    of several, "a | b", of which those that are not there are left out."""

    name: str
    run: Callable[[], object]
    right: Callable[[object], bool]
    targets: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)


@dataclass
class Group:
    name: str
    cases: list[Case]


def peer(module: object, name: str, *args: object) -> Call | None:
    """A call of a peer's function; None without the peer."""
    return Call(getattr(module, name), *args) if module is not None else None


def cases(listed: Iterable[tuple]) -> list[Case]:
    """The cases whose peer is here."""
    return [Case(*item) for item in listed if item[1] is not None]


# ---- Measuring ----


def timed(run, count):
    """Nanoseconds of one operation, over `count` of them."""
    turns = itertools.repeat(None, count)
    before = time.thread_time_ns()
    if isinstance(run, Call):
        run.repeat(turns)
    else:
        for _ in turns:
            run()
    return (time.thread_time_ns() - before) / count


def turn_count(run):
    """How many operations fill a turn: by the least of three tries, as one that was disturbed would make turns too short."""
    count = 1
    while (ns := min(timed(run, count) for _ in range(3))) * count < TURN_NS / 10:
        count *= 10
    return int(TURN_NS / ns) + 1


def measure(cases, rounds):
    """Nanoseconds of each case in each round, without the garbage collector, which would fall to whoever is next."""
    gc.disable()
    counts = [turn_count(case.run) for case in cases]
    times = [[0.0] * rounds for _ in cases]
    for r in range(rounds):
        for turn in range(len(cases)):
            i = (r + turn) % len(cases)
            times[i][r] = timed(cases[i].run, counts[i])
    gc.enable()
    return times


def ratio(times, others):
    return statistics.median(a / b for a, b in zip(times, others, strict=True))


def wrong_cases(group):
    """The cases whose result is not what the group asks for."""
    return [case.name for case in group.cases if not case.right(case.run())]


# ---- Reporting ----


def machine(rounds):
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            cpu = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    system = f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}"
    return f"{cpu}, {system}, Python {platform.python_version()}, NumPy {np.__version__}, {rounds} rounds"


def judged(case, own, by_name):
    """The targets of a case whose peers are there, with the ratio reached."""
    for against, at_most in {**case.targets, **case.best}.items():
        names = [name for name in against.split(ONE_OF) if name in by_name]
        if not names:
            continue
        fastest = min(names, key=lambda name: statistics.median(by_name[name]))
        got = ratio(own, by_name[fastest])
        yield {"against": fastest, "at_most": at_most, "ratio": round(got, 3), "ok": got <= at_most}


def report(group, times, rows):
    """Prints the table of a group and appends its rows; the number of missed targets."""
    by_name = {case.name: t for case, t in zip(group.cases, times, strict=True)}
    missed = 0
    print(f"\n{group.name}\n{'':36} {'min ns':>11} {'median ns':>11} {'ratio':>7}  target")
    for case, own in zip(group.cases, times, strict=True):
        line = f"{case.name:36} {min(own):11.1f} {statistics.median(own):11.1f} {ratio(own, times[0]):7.2f}"
        targets = list(judged(case, own, by_name))
        for target in targets:
            missed += not target["ok"]
            word = "ok:" if target["ok"] else "MISSED:"
            line += f"  {word} {target['ratio']:.2f} of {target['against']} (at most {target['at_most']:.2f})"
        print(line, flush=True)
        rows.append(
            {
                "group": group.name,
                "case": case.name,
                "min_ns": round(min(own), 2),
                "median_ns": round(statistics.median(own), 2),
                "ratio": round(ratio(own, times[0]), 3),
                "targets": targets,
            }
        )
    return missed


def main(bench: str, about: str, groups: Callable[[], Iterable[Group]], versions: str) -> int:
    """The command line of a benchmark; its exit status."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="verify only, measure nothing")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", default="", metavar="TEXT", help="the groups whose name has this text")
    parser.add_argument("--json", metavar="FILE", help="write the rows to this file as well")
    options = parser.parse_args()

    print("machine:", machine(options.rounds))
    print("versions:", versions)
    rows = [{"bench": bench, "machine": machine(options.rounds), "versions": versions}]
    wrong = missed = 0
    for group in groups():
        if options.only not in group.name:
            continue
        faults = wrong_cases(group)
        for name in faults:
            print(f"WRONG RESULT: {group.name}, {name}")
        wrong += len(faults)
        if options.quick:
            print(f"{group.name}: {len(group.cases)} cases verified")
        elif not faults:
            missed += report(group, measure(group.cases, options.rounds), rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    print(f"\n{wrong} wrong results" + ("" if options.quick else f", {missed} targets missed"))
    return 1 if wrong else 0
