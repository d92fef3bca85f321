#!/usr/bin/env python3
"""Casts between dtypes, destination reused: dlpark beside memcpy, NumPy with ml_dtypes, and PyTorch.

    bench/python/cast_peers.py [--quick] [--rounds N] [--only WORD] [--json FILE] [--library FILE]

All cast between the same buffers, one after the other, round by round, in another order each round; times are CPU time of
the thread, one thread each. A ratio is against memcpy of as many bytes as the cast reads and writes together. Times are
minima over the rounds. Prints one matrix for large tensors and one for tensors in the first cache: dlpark's ratio, the
best peer's behind it, and a mark where dlpark is not first. And float32 to float16 in new memory, by Tensor.astype(). Exit status 1 when a result is wrong; --quick checks the
results of the small ones and measures nothing.
"""

import argparse
import ctypes
import json
import random
import statistics
import sys
from pathlib import Path

import numpy as np
from copy_peers import MIB, DLTensor, aligned, timed
from harness import machine, optional

dlpark = optional("dlpark")
ml_dtypes = optional("ml_dtypes")
torch = optional("torch")

# DLPack's code and bits by name; what PyTorch calls the same.
DTYPES = {
    "float64": (2, 64),
    "float32": (2, 32),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float8_e4m3fn": (10, 8),
    "float8_e5m2": (12, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2fnuz": (13, 8),
    "int64": (0, 64),
    "int32": (0, 32),
    "int16": (0, 16),
    "int8": (0, 8),
    "uint8": (1, 8),
}
EASY = {name for name in DTYPES if name != "int64"}


def numpy_dtype(name):
    return np.dtype(getattr(np, name, None) or getattr(ml_dtypes, name))


def described(memory, name, count):
    code, bits = DTYPES[name]
    longs = ctypes.c_int64 * 1
    return DLTensor(memory.ctypes.data, 1, 0, 1, code, bits, 1, longs(count), longs(1), 0)


def runners(library, name, other, memory, count, times):
    """What casts `name` to `other`, by peer; each call does so `times` times where the peer is compiled."""
    source, to = memory
    keep = described(to, other, count), described(source, name, count)
    moved = count * (DTYPES[name][1] + DTYPES[other][1]) // 16
    run = {
        "memcpy": lambda: library.peers_memcpy(to.ctypes.data, source.ctypes.data, moved, times),
        "dlpark": lambda: library.peers_cast(ctypes.byref(keep[0]), ctypes.byref(keep[1]), times),
    }
    if ml_dtypes:
        a = source[: count * DTYPES[name][1] // 8].view(numpy_dtype(name))
        b = to[: count * DTYPES[other][1] // 8].view(numpy_dtype(other))
        run["NumPy"] = lambda: np.copyto(b, a, casting="unsafe")
    if torch:
        x = torch.from_numpy(source[: count * DTYPES[name][1] // 8]).view(getattr(torch, name))
        y = torch.from_numpy(to[: count * DTYPES[other][1] // 8]).view(getattr(torch, other))
        run["torch"] = lambda: y.copy_(x)
    return run


def fill(memory, name, count):
    """Numbers that every dtype holds, so that all peers agree on the result."""
    values = np.resize(np.arange(8), count).astype(numpy_dtype(name))
    memory[: values.nbytes] = values.view(np.uint8)


def is_right(memory, other, count):
    made = memory[: count * DTYPES[other][1] // 8].view(numpy_dtype(other)).astype(np.float64)
    return np.array_equal(made, np.resize(np.arange(8), count))


def measure(library, name, other, memory, count, options, small):
    repeat = 100 if small else 1
    run = runners(library, name, other, memory, count, repeat)
    fill(memory[0], name, count)
    run["dlpark"]()
    wrong = 0 if is_right(memory[1], other, count) else 1
    if wrong:
        print(f"WRONG RESULT: {name} to {other}")
    if options.quick or wrong:
        return None, wrong
    times = {peer: [] for peer in run}
    peers = list(run)
    for number in range(options.rounds):
        random.shuffle(peers)
        for peer in peers:
            if number >= 2 and min(times[peer]) > 4 * min(times["memcpy"]) and number % 4:
                continue  # whoever is far behind takes part in every fourth round
            compiled = peer in ("memcpy", "dlpark")
            times[peer].append(timed(run[peer], 1) / repeat if compiled else timed(run[peer], repeat))
    floor = min(times["memcpy"])
    row = {peer: round(min(t) / floor, 3) for peer, t in times.items() if peer != "memcpy"}
    return row | {"from": name, "to": other, "count": count, "floor_ns": floor}, wrong


def fresh(nbytes, options):
    """float32 to float16 in new memory, which the allocator may ask the system for: rows of the results, wrong ones."""
    source = np.resize(np.arange(8, dtype=np.float32), nbytes // 4)
    run = {"NumPy": lambda: source.astype(np.float16)}
    if dlpark:
        ours = dlpark.from_dlpack(source)
        run["dlpark"] = lambda: ours.astype("float16")
    if torch:
        theirs = torch.from_numpy(source)
        run["torch"] = lambda: theirs.to(torch.float16)
    wrong = 0
    if dlpark and not np.array_equal(np.from_dlpack(run["dlpark"]()), source.astype(np.float16)):
        print("WRONG RESULT: fresh float16")
        wrong = 1
    if options.quick or wrong or not dlpark:
        return [], wrong
    times = {peer: [] for peer in run}
    peers = list(run)
    for _ in range(options.rounds):
        random.shuffle(peers)
        for peer in peers:
            times[peer].append(timed(run[peer], 1))
    print(f"\nfloat32 to float16, {nbytes // MIB} MiB to fresh memory, ms (min, median)")
    rows = []
    for peer in sorted(times):
        least, middle = min(times[peer]) / 1e6, statistics.median(times[peer]) / 1e6
        ratio = statistics.median(a / b for a, b in zip(times["dlpark"], times[peer]))
        print(f"{peer:10}{least:10.1f}{middle:10.1f}" + ("" if peer == "dlpark" else f"   dlpark takes {ratio:.2f} of it (at most 0.35)"))
        rows.append({"fresh": "float32 to float16", "peer": peer, "ms": middle, "ratio": round(ratio, 3)})
    return rows, wrong


def print_matrix(rows, title):
    names = [name for name in DTYPES if any(row["from"] == name for row in rows)]
    cells = {(row["from"], row["to"]): row for row in rows}
    print(f"\n{title}: dlpark / best peer, as multiples of memcpy of as many bytes; * where a peer is faster")
    print(f"{'from, to':16}" + "".join(f"{name[:14]:>15}" for name in DTYPES))
    for name in names:
        line = f"{name:16}"
        for other in DTYPES:
            row = cells.get((name, other))
            if row is None:
                line += f"{'':>15}"
                continue
            best = min((row[peer] for peer in ("NumPy", "torch") if peer in row), default=float("nan"))
            line += f"{row['dlpark']:7.2f} /{best:5.1f}{'*' if best < row['dlpark'] else ' '}"
        print(line)
    late = [row for row in rows if row["from"] in EASY and row["to"] in EASY and row["dlpark"] > 1.1]
    print(f"{len(rows)} pairs, {sum(row['dlpark'] > 1.1 for row in rows)} above 1.10 of memcpy ({len(late)} of them without int64)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="verify only, measure nothing")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", metavar="WORD", help="pairs whose names have this word")
    parser.add_argument("--json", metavar="FILE", help="write the rows to this file as well")
    parser.add_argument("--mib", type=int, default=64, help="of the larger side of large tensors")
    built = Path(__file__).resolve().parents[2] / "build/bench/bench/libbench_copy_peers.so"
    parser.add_argument("--library", default=str(built))
    options = parser.parse_args()
    library = ctypes.CDLL(options.library)
    library.peers_memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.peers_memcpy.restype = None
    if torch:
        torch.set_num_threads(1)
    print("machine:", machine(options.rounds))
    room = (1 if options.quick else options.mib) * MIB
    memory = [aligned(room), aligned(room)]
    for part in memory:
        part.fill(0)
    wrong, results = 0, []
    for title, small in (("large", False), ("16 KiB", True)):
        rows = []
        if options.quick and not small:
            continue
        for name in DTYPES:
            for other in DTYPES:
                if name == other or options.only not in f"{name} {other}" or ml_dtypes is None:
                    continue
                widest = max(DTYPES[name][1], DTYPES[other][1]) // 8
                count = (16 << 10 if small else room) // widest
                row, bad = measure(library, name, other, memory, count, options, small)
                wrong += bad
                rows += [row] if row else []
        if rows:
            print_matrix(rows, title)
        results += rows
    if options.only in ("", "fresh"):
        rows, bad = fresh((1 if options.quick else options.mib) * MIB, options)
        wrong += bad
        results += rows
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    print(f"\n{wrong} wrong results")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
