#!/usr/bin/env python3
"""Strided copies of large and of small tensors: dlpark beside memcpy, NumPy, torch, OpenCV and a plain C loop.

    bench/python/copy_peers.py [--quick] [--rounds N] [--only WORD] [--json FILE] [--library FILE]

All copy between the same buffers, one after the other, round by round, in another order each round; times are CPU time
of the thread, one thread each. A ratio is against memcpy of as many bytes as the copy must read and write, in cache
lines of 64 bytes: what no copy can do without. Times are minima over the rounds. Peers that are not installed are left out aloud. Exit status 1 when a result is
wrong; a missed target is printed and is no failure. --quick checks the results of the small ones.
"""

import argparse
import ctypes
import json
import random
import statistics
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from harness import optional

MIB = 1 << 20
TYPES = {1: np.uint8, 4: np.float32, 8: np.float64, 16: np.complex128}
JOBS = ["transpose", "split", "join", "drop", "reverse", "second", "contiguous", "rows", "middle", "column"]


# ---- The shared object ----


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def described(array):
    """A DLTensor of an array, as bytes: the element size is all that a copy asks for."""
    longs = ctypes.c_int64 * max(array.ndim, 1)
    strides = longs(*(s // array.itemsize for s in array.strides))
    return DLTensor(array.ctypes.data, 1, 0, array.ndim, 1, 8, array.itemsize, longs(*array.shape), strides, 0)


def aligned(nbytes):
    """Memory that begins with a cache line, in huge pages where NumPy asks for them: the same for all."""
    memory = np.empty(nbytes + 4096, np.uint8)
    return memory[-memory.ctypes.data % 4096 :][:nbytes]


# ---- The cases ----


@dataclass
class Case:
    name: str
    shape: tuple  # of the memory that is read
    element: int  # bytes
    view: callable  # from the array of that shape to what is copied
    at_most: float = 0  # the target, as a multiple of memcpy
    job: str = ""  # of the plain loop, with its two extents
    extents: tuple = ()
    cv: callable = None  # cv2, source array, destination array -> None
    tags: set = field(default_factory=set)


def cv_transpose(cv2, source, to):
    cv2.transpose(source, dst=to)


def cv_split(cv2, source, to):
    for image, planes in zip(source, to):
        cv2.split(image, [planes[0], planes[1], planes[2]])


def cv_join(cv2, source, to):
    for planes, image in zip(source, to):
        cv2.merge([planes[0], planes[1], planes[2]], image)


def cv_flip(cv2, source, to):
    cv2.flip(source.reshape(1024, -1), -1, to.reshape(1024, -1))


def cv_drop(cv2, source, to):
    cv2.cvtColor(source, cv2.COLOR_BGRA2BGR, to)


def large_cases():
    image = 1024 * 1024
    for element, short, n, images in ((4, "f32", 4096, 5), (1, "u8", 8192, 20)):
        count = n * n
        yield Case(f"transpose {short} {n}^2", (n, n), element, lambda a: a.T, 2.2 if element == 4 else 4, "transpose",
                   (n, n), cv_transpose)
        yield Case(f"NHWC to NCHW {short}", (images, 1024, 1024, 3), element, lambda a: a.transpose(0, 3, 1, 2), 1.1,
                   "split", (images, image), cv_split)
        yield Case(f"NCHW to NHWC {short}", (images, 3, 1024, 1024), element, lambda a: a.transpose(0, 2, 3, 1), 1.1,
                   "join", (images, image), cv_join)
        yield Case(f"RGBA to RGB {short}", (n, n, 4), element, lambda a: a[..., :3], 1.0, "drop", (count,), cv_drop)
        yield Case(f"reversed {short}", (count,), element, lambda a: a[::-1], 1.2, "reverse", (count,), cv_flip)
        yield Case(f"every second {short}", (count,), element, lambda a: a[::2], 1.3, "second", (count // 2,))
        five = (16 if element == 4 else 64, 32, 32, 32, 32)
        yield Case(f"5-d (0,3,1,4,2) {short}", five, element, lambda a: a.transpose(0, 3, 1, 4, 2),
                   3 if element == 4 else 6)
        yield Case(f"5-d reversal {short}", five, element, lambda a: a.T, 3 if element == 4 else 6)
    yield Case("transpose 16 bytes 2048^2", (2048, 2048), 16, lambda a: a.T, 1.6, "transpose", (2048, 2048))
    yield Case("(N, M, 4) f32 swap", (4096, 1024, 4), 4, lambda a: a.transpose(1, 0, 2), 0)
    yield Case("contiguous f32", (4096, 4096), 4, lambda a: a, 1.1, "contiguous", (4096 * 4096,))
    yield Case("broadcast rows f32", (4096,), 4, lambda a: np.broadcast_to(a, (4096, 4096)), 1.1, "rows", (4096, 4096))
    yield Case("middle columns f32", (8192, 4096), 4, lambda a: a[:, 1024:3072], 1.1, "middle", (8192, 2048))
    yield Case("one column of 16 f32", (1 << 22, 16), 4, lambda a: a[:, 0], 0, "column", (1 << 22,))


def small_cases():
    for element, short, n in ((4, "f32", 64), (1, "u8", 128)):
        count = n * n
        pixels = count // 4
        yield Case(f"transpose {short} {n}^2", (n, n), element, lambda a: a.T, 0, "transpose", (n, n), cv_transpose)
        yield Case(f"HWC to CHW {short}", (pixels, 3), element, lambda a: a.T, 0, "split", (1, pixels))
        yield Case(f"CHW to HWC {short}", (3, pixels), element, lambda a: a.T, 0, "join", (1, pixels))
        yield Case(f"RGBA to RGB {short}", (pixels, 4), element, lambda a: a[..., :3], 0, "drop", (pixels,))
        yield Case(f"reversed {short}", (count,), element, lambda a: a[::-1], 0, "reverse", (count,))
        yield Case(f"every second {short}", (2 * count,), element, lambda a: a[::2], 0, "second", (count,))
        five = (4, 8, 4, 8, 4) if element == 4 else (8, 4, 8, 8, 8)
        yield Case(f"5-d (0,3,1,4,2) {short}", five, element, lambda a: a.transpose(0, 3, 1, 4, 2), 0)
        yield Case(f"5-d reversal {short}", five, element, lambda a: a.T, 0)
    yield Case("transpose 16 bytes 32^2", (32, 32), 16, lambda a: a.T, 0, "transpose", (32, 32))
    yield Case("contiguous f32", (64, 64), 4, lambda a: a, 0, "contiguous", (4096,))
    yield Case("broadcast rows f32", (64,), 4, lambda a: np.broadcast_to(a, (64, 64)), 0, "rows", (64, 64))
    yield Case("middle columns f32", (64, 128), 4, lambda a: a[:, 32:96], 0, "middle", (64, 64))


def lines_touched(view):
    """Bytes in cache lines that a view's elements lie in, each counted once: an estimate that is exact for these cases."""
    strides = sorted((abs(s), n) for s, n in zip(view.strides, view.shape) if n > 1 and s != 0)
    span = view.itemsize
    for stride, extent in strides:
        if stride - span < 64:
            span = stride * (extent - 1) + span
        else:
            span = -(-span // 64) * 64 * extent
            strides = [(s, n) for s, n in strides if s > stride]
            for _, extent in strides:
                span *= extent
            break
    return span


# ---- Runners: name -> function without arguments ----


def runners(case, library, source, to, flat_source, flat_to, peers, moved, times):
    view = case.view(source)
    keep = described(to), described(view)
    to_address, from_address = to.ctypes.data, source.ctypes.data
    run = {
        "memcpy": lambda: library.peers_memcpy(flat_to, flat_source, moved, times),
        "dlpark": lambda: library.peers_dlpark(ctypes.byref(keep[0]), ctypes.byref(keep[1]), 1, times),
        "NumPy": lambda: np.copyto(to, view),
    }
    if case.job:
        extents = (case.extents + (0,))[:2]
        job = JOBS.index(case.job)
        run["plain C"] = lambda: library.peers_plain(job, case.element, to_address, from_address, *extents, times)
    torch, cv2 = peers
    if torch and all(s >= 0 for s in view.strides):
        with warnings.catch_warnings():  # that a broadcast array may only be read, which is all that happens
            warnings.simplefilter("ignore")
            theirs, target = torch.from_numpy(view), torch.from_numpy(to)
        run["torch"] = lambda: target.copy_(theirs)
    elif torch:
        theirs, target = torch.from_numpy(source), torch.from_numpy(to)
        run["torch"] = lambda: target.copy_(torch.flip(theirs, (0,)))
    if cv2 and case.cv and case.element in (1, 4):
        run["OpenCV"] = lambda: case.cv(cv2, source, to)
    return run


def timed(function, times):
    begin = time.thread_time_ns()
    for _ in range(times):
        function()
    return (time.thread_time_ns() - begin) / times


def measure(case, library, memory, peers, options, small):
    nbytes = int(np.prod(case.shape)) * case.element
    source = memory[0][:nbytes].view(TYPES[case.element]).reshape(case.shape)
    view = case.view(source)
    to_bytes = view.size * case.element
    to = memory[1][:to_bytes].view(TYPES[case.element]).reshape(view.shape)
    lines = lines_touched(view)
    moved = min((lines + to_bytes) // 2, memory[0].nbytes, memory[1].nbytes)
    repeat = 50 if small else 1
    run = runners(case, library, source, to, memory[0].ctypes.data, memory[1].ctypes.data, peers, moved, repeat)
    compiled = {"memcpy", "dlpark", "plain C"}
    wrong = 0
    for name, function in run.items():
        if name == "memcpy":
            continue
        to.view(np.uint8).fill(0)
        try:
            function()
        except Exception as error:  # a peer that cannot is left out, aloud
            print(f"copy_peers: {case.name}: without {name}: {error}", file=sys.stderr)
            run[name] = None
            continue
        if not np.array_equal(to.view(np.uint8).reshape(-1), np.ascontiguousarray(view).view(np.uint8).reshape(-1)):
            if name == "dlpark":
                wrong = 1
            print(f"copy_peers: {case.name}: {name} is WRONG", file=sys.stderr)
            if name != "dlpark":
                run[name] = None
    run = {name: function for name, function in run.items() if function}
    if options.quick:
        return None, wrong
    times = {name: [] for name in run}
    names = list(run)
    for number in range(options.rounds):
        random.shuffle(names)
        for name in names:
            if not small and number >= 3 and min(times[name]) > 8 * min(times["memcpy"]) and number % 4:
                continue  # whoever is far behind takes part in every fourth round
            times[name].append(timed(run[name], 1) / repeat if name in compiled else timed(run[name], repeat))
    floor = min(times["memcpy"])
    row = {name: min(t) / floor for name, t in times.items() if name != "memcpy"}
    row.update(case=case.name, floor_ns=floor, read=lines, written=to_bytes, at_most=case.at_most)
    row["median"] = statistics.median(a / b for a, b in zip(times["dlpark"], times["memcpy"]))
    return row, wrong


def print_table(rows, title):
    names = ["dlpark", "plain C", "OpenCV", "NumPy", "torch"]
    print(f"\n{title}")
    print(f"{'':28}{'MiB r + w':>18}{'memcpy us':>11}" + "".join(f"{n:>9}" for n in names) + f"{'of best':>9}  target")
    for row in rows:
        best = min(row[n] for n in names[1:] if n in row)
        cells = "".join(f"{row[n]:9.2f}" if n in row else f"{'':>9}" for n in names)
        sizes = f"{row['read'] / MIB:.3g} + {row['written'] / MIB:.3g}"
        verdict = ""
        if row["at_most"]:
            verdict = f"{'ok' if row['dlpark'] <= row['at_most'] else 'MISSED'} {row['at_most']}"
        print(f"{row['case']:28}{sizes:>18}{row['floor_ns'] / 1000:11.1f}{cells}{row['dlpark'] / best:9.2f}  {verdict}")


def fresh(library, memory, peers, options):
    """64 MiB to a destination that is made for it."""
    source = memory[0][: 64 * MIB].view(np.float32)
    tensor = described(source)
    run = {"dlpark": lambda: library.peers_fresh(ctypes.byref(tensor)), "NumPy": lambda: source.copy()}
    if peers[0]:
        theirs = peers[0].from_numpy(source)
        run["torch clone"] = lambda: theirs.clone()
    times = {name: [] for name in run}
    for _ in range(options.rounds):
        for name, function in random.sample(list(run.items()), len(run)):
            times[name].append(timed(function, 1))
    print("\n64 MiB to fresh memory, ms (min, median)")
    for name, values in times.items():
        print(f"{name:14}{min(values) / 1e6:8.2f}{statistics.median(values) / 1e6:8.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    built = Path(__file__).resolve().parents[2] / "build/bench/bench/libbench_copy_peers.so"
    parser.add_argument("--library", default=str(built))
    options = parser.parse_args()
    library = ctypes.CDLL(options.library)
    library.peers_memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.peers_memcpy.restype = None
    library.peers_plain.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + 2 * [ctypes.c_int64] + [ctypes.c_int]
    torch, cv2 = optional("torch"), optional("cv2")
    if torch:
        torch.set_num_threads(1)
    if cv2:
        cv2.setNumThreads(1)
    room = (1 if options.quick else 256) * MIB
    memory = [aligned(room) for _ in range(2)]
    memory[0].view(np.uint64)[:] = np.arange(room // 8, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    memory[1].fill(1)
    wrong, results = 0, []
    for title, cases, small in (("large", large_cases(), False), ("16 KiB", small_cases(), True)):
        rows = []
        if options.quick and not small:
            continue
        for case in cases:
            if options.only not in f"{title} {case.name}":
                continue
            row, bad = measure(case, library, memory, (torch, cv2), options, small)
            wrong += bad
            if row:
                rows.append(row)
        if rows:
            print_table(rows, f"{title}: time as a multiple of memcpy of as many bytes")
        results += rows
    if not options.quick and options.only in ("", "fresh"):
        fresh(library, memory, (torch, cv2), options)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
