#!/usr/bin/env python3
"""What it costs to hand an array from NumPy to dlpark and back, beside NumPy handing one to itself.

    bench/exchange.py [--quick] [--rounds N] [--json FILE]

The cases of a group take turns, round by round, in one process, and another one begins each round; a case's ratio is
the median over the rounds of its time against the first case's in the same round. Times are CPU time of the thread.
Exit status 1 when a result is wrong; a missed target is printed and is no failure.
"""

import argparse
import itertools
import json
import platform
import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

import dlpark

TURN_NS = 5_000_000


@dataclass
class Case:
    name: str
    run: Callable[[], object]
    right: Callable[[object], bool]
    targets: dict[str, float] = field(default_factory=dict)  # name of another case: at most so many times its time


@dataclass
class Group:
    name: str
    cases: list[Case]


def same_memory(result, array):
    """Whether an exchange gave a view of the same memory, with the same contents."""
    back = np.from_dlpack(result)
    return back.ctypes.data == array.ctypes.data and back.shape == array.shape and bool((back == array).all())


def is_copy(result, array):
    back = np.from_dlpack(result)
    return back.ctypes.data != array.ctypes.data and bool((back == array).all())


def groups():
    small = np.arange(20, dtype=np.float32).reshape(4, 5)
    tensor = dlpark.from_dlpack(small)
    large = np.ones(64 << 20, dtype=np.uint8)
    to_self = Case("NumPy to NumPy", lambda: np.from_dlpack(small), lambda r: same_memory(r, small))

    def fresh():
        array = np.empty(large.shape, dtype=np.uint8)
        array.fill(1)
        return array

    return [
        Group(
            "exchange of a small array",
            [
                to_self,
                Case(
                    "NumPy to dlpark",
                    lambda: dlpark.from_dlpack(small),
                    lambda r: same_memory(r, small),
                    {"NumPy to NumPy": 1.0},
                ),
                Case(
                    "dlpark to NumPy",
                    lambda: np.from_dlpack(tensor),
                    lambda r: same_memory(r, small),
                    {"NumPy to NumPy": 1.0},
                ),
                Case("dlpark to dlpark", lambda: dlpark.from_dlpack(tensor), lambda r: same_memory(r, small)),
            ],
        ),
        Group(
            "the protocol's calls",
            [
                Case("ndarray.__dlpack__()", small.__dlpack__, lambda r: "dltensor" in repr(r)),
                Case("Tensor.__dlpack__()", tensor.__dlpack__, lambda r: "dltensor" in repr(r)),
                Case(
                    "ndarray.__dlpack__(max_version)",
                    lambda: small.__dlpack__(max_version=(1, 3)),
                    lambda r: "dltensor_versioned" in repr(r),
                ),
                Case(
                    "Tensor.__dlpack__(max_version)",
                    lambda: tensor.__dlpack__(max_version=(1, 3)),
                    lambda r: "dltensor_versioned" in repr(r),
                    {"ndarray.__dlpack__(max_version)": 1.0},
                ),
                Case("ndarray.__dlpack_device__()", small.__dlpack_device__, lambda r: tuple(r) == (1, 0)),
                Case(
                    "Tensor.__dlpack_device__()",
                    tensor.__dlpack_device__,
                    lambda r: tuple(r) == (1, 0),
                    {"ndarray.__dlpack_device__()": 1.0},
                ),
            ],
        ),
        Group(
            "a copy of 64 MiB into fresh memory",
            [
                Case("ndarray.copy()", large.copy, lambda r: is_copy(r, large)),
                Case(
                    "dlpark.from_dlpack(copy=True)",
                    lambda: dlpark.from_dlpack(large, copy=True),
                    lambda r: is_copy(r, large),
                    {"ndarray.copy()": 1.1},
                ),
                Case("np.empty, fill", fresh, lambda r: is_copy(r, large)),
            ],
        ),
    ]


def timed(run, count):
    """Nanoseconds of one operation, over `count` of them."""
    repeat = itertools.repeat(None, count)
    before = time.thread_time_ns()
    for _ in repeat:
        run()
    return (time.thread_time_ns() - before) / count


def turn_count(run):
    count = 1
    while (ns := timed(run, count)) * count < TURN_NS / 10:
        count *= 10
    return int(TURN_NS / ns) + 1


def measure(cases, rounds):
    counts = [turn_count(case.run) for case in cases]
    times = [[0.0] * rounds for _ in cases]
    for r in range(rounds):
        for turn in range(len(cases)):
            i = (r + turn) % len(cases)
            times[i][r] = timed(cases[i].run, counts[i])
    return times


def ratio(times, others):
    return statistics.median(a / b for a, b in zip(times, others))


def report(group, times, rows):
    """Prints the table of a group and appends its rows; the number of missed targets."""
    by_name = {case.name: t for case, t in zip(group.cases, times)}
    missed = 0
    print(f"\n{group.name}\n{'':32} {'min ns':>11} {'median ns':>11} {'ratio':>7}  target")
    for case, t in zip(group.cases, times):
        line = f"{case.name:32} {min(t):11.1f} {statistics.median(t):11.1f} {ratio(t, times[0]):7.2f}"
        targets = []
        for against, at_most in case.targets.items():
            got = ratio(t, by_name[against])
            missed += got > at_most
            line += f"  {'ok:' if got <= at_most else 'MISSED:'} {got:.2f} of {against} (at most {at_most:.2f})"
            targets.append({"against": against, "at_most": at_most, "ratio": round(got, 3), "ok": got <= at_most})
        print(line, flush=True)
        rows.append(
            {
                "bench": "exchange",
                "group": group.name,
                "case": case.name,
                "min_ns": round(min(t), 2),
                "median_ns": round(statistics.median(t), 2),
                "ratio": round(ratio(t, times[0]), 3),
                "targets": targets,
            }
        )
    return missed


def machine(rounds):
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            cpu = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    system = f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}"
    return f"{cpu}, {system}, Python {platform.python_version()}, NumPy {np.__version__}, {rounds} rounds"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="verify only, measure nothing")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", help="write the rows to this file as well")
    options = parser.parse_args()

    print("machine:", machine(options.rounds))
    rows = [{"machine": machine(options.rounds)}]
    wrong = missed = 0
    for group in groups():
        faults = [case.name for case in group.cases if not case.right(case.run())]
        for name in faults:
            print(f"WRONG RESULT: {group.name}, {name}")
        wrong += len(faults)
        if options.quick:
            print(f"{group.name}: {len(group.cases)} cases verified")
        elif not faults:
            missed += report(group, measure(group.cases, options.rounds), rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    print(f"\n{wrong} wrong results" + ("" if options.quick else f", {missed} targets missed"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
