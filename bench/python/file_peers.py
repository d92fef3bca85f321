#!/usr/bin/env python3
"""Tensor files of a GiB: read, mapped, written; dlpark beside the package safetensors, NumPy and the calls of the system.

    bench/python/file_peers.py [--quick] [--rounds N] [--only WORD] [--json FILE] [--library FILE] [--folder DIR]

Cases of a group take turns, round by round, in another order each round; times are what a clock on the wall says, as several
threads and a disk are at work, and of opening those of the process. A ratio is the median over the rounds of one time against another in the same round. "warm":
the file is in the page cache, brought there by reading; "cold": it was dropped from it just before. Peers that are not
installed are left out aloud. Exit status 1 when a result is wrong; a missed target is printed and is no failure. --quick
checks the results on a small file.
"""

import argparse
import ctypes
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import dlpark
import dlpark.safetensors.numpy
import numpy as np
from harness import optional

MIB = 1 << 20


@dataclass
class Case:
    """One way to do the group's job. `right` looks at what it gave, and is not timed; neither is giving that back."""

    name: str
    run: Callable[[], object]
    right: Callable[[object], bool]
    targets: dict[str, float] = field(default_factory=dict)  # another case: at most so many times its time
    before: Callable[[], object] | None = None


@dataclass
class Group:
    name: str
    cases: list[Case]
    clock: Callable[[], float] = time.perf_counter


# ---- The file ----


def numbers(mib: int) -> dict[str, np.ndarray]:
    """Tensors of 64 MiB, as layers have them, and a small one beside each."""
    random_words = np.random.default_rng(7).integers(0, 1 << 32, MIB * 16, np.uint32)
    tensors = {}
    for i in range(max(mib // 64, 1)):
        layer = (random_words ^ np.uint32(i * 2654435761 & 0xFFFFFFFF))[: min(mib, 64) * MIB // 4]
        tensors[f"layers.{i}.weight"] = layer.view(np.float32).reshape(-1, 1024)
        tensors[f"layers.{i}.bias"] = layer[:1024].view(np.float32)
    return tensors


def same(found: object, tensors: dict[str, np.ndarray]) -> bool:
    """Whether all tensors are there, by the bytes at their ends and in their middle."""
    if set(found) != set(tensors):
        return False
    for name, tensor in tensors.items():
        got = found[name]
        got = got if isinstance(got, np.ndarray) else got.numpy()
        words, expected = got.reshape(-1).view(np.uint32), tensor.reshape(-1).view(np.uint32)
        if words.shape != expected.shape or not np.array_equal(words[:: len(words) // 97 + 1], expected[:: len(words) // 97 + 1]):
            return False
    return True


def touch(found: object) -> object:
    """One word of each page of each tensor."""
    for tensor in found.values():
        array = tensor if isinstance(tensor, np.ndarray) else tensor.numpy()
        array.reshape(-1).view(np.uint32)[::1024].sum()
    return found


def drop(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def warm(path: Path) -> None:
    """Into the page cache by reading: what was left there by writing is in small pieces."""
    drop(path)
    with path.open("rb") as file:
        while file.read(8 * MIB):
            pass


# ---- Cases ----


def with_backend(torch_files, path: Path, backend: str):
    from safetensors import safe_open

    with safe_open(path, framework="pt", backend=backend) as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def system_read(library, path: Path, memory: np.ndarray, direct: bool) -> int:
    return library.peers_system_read(os.fsencode(path), memory.ctypes.data, memory.nbytes // 4096 * 4096, int(direct))


def fresh(nbytes: int) -> np.ndarray:
    memory = np.empty(nbytes + 4096, np.uint8)
    return memory[-memory.ctypes.data % 4096 :][:nbytes]


def fresh_read(library, path: Path, direct: bool) -> int:
    return system_read(library, path, fresh(path.stat().st_size), direct)


def right_zero(result: object) -> bool:
    return result == 0


def reading_groups(library, path: Path, tensors: dict[str, np.ndarray]) -> list[Group]:
    numpy_files, torch_files = optional("safetensors.numpy"), optional("safetensors.torch")

    def right(found):
        return same(found, tensors)

    copied = [
        Case("dlpark", lambda: dlpark.load(path, copy=True), right, {"safetensors.numpy": 0.4, "safetensors.torch, pread": 0.5, "read(2)": 1 / 0.9}),
        Case("dlpark, one thread", lambda: dlpark.load(path, copy=True, threads=1), right),
        Case("dlpark.safetensors.numpy", lambda: dlpark.safetensors.numpy.load_file(path), right, {"safetensors.numpy": 0.4}),
        Case("read(2)", lambda: fresh_read(library, path, False), right_zero),
    ]
    mapped = [
        Case("dlpark", lambda: touch(dlpark.load(path)), right, {"safetensors.torch": 1.0}),
        Case("dlpark, prefetched", lambda: touch(dlpark.load(path, access="prefetch")), right),
    ]
    cold = [
        Case("dlpark", lambda: dlpark.load(path, copy=True), right, {"O_DIRECT": 1 / 0.85}, lambda: drop(path)),
        Case("O_DIRECT", lambda: fresh_read(library, path, True), right_zero, {}, lambda: drop(path)),
        Case("dlpark, mapped and touched", lambda: touch(dlpark.load(path)), right, {}, lambda: drop(path)),
        Case("dlpark, prefetched and touched", lambda: touch(dlpark.load(path, access="prefetch")), right, {}, lambda: drop(path)),
    ]
    if numpy_files is not None:
        copied.append(Case("safetensors.numpy", lambda: numpy_files.load_file(path), right))
        cold.append(Case("safetensors.numpy", lambda: numpy_files.load_file(path), right, {}, lambda: drop(path)))
    if torch_files is not None:
        copied.append(Case("safetensors.torch, pread", lambda: with_backend(torch_files, path, "pread"), right))
        mapped.append(Case("safetensors.torch", lambda: touch(torch_files.load_file(path)), right))
        cold.append(Case("safetensors.torch, touched", lambda: touch(torch_files.load_file(path)), right, {}, lambda: drop(path)))
    return [
        Group("copied into fresh memory, warm", copied),
        reused_group(library, path, tensors),
        Group("mapped and touched, warm", mapped),
        Group("cold", cold),
    ]


def reused_group(library, path: Path, tensors: dict[str, np.ndarray]) -> Group:
    with dlpark.open(path) as file:
        order = list(file)
    memory = {name: np.zeros_like(tensors[name]) for name in order}
    pointers = (ctypes.c_void_p * len(order))(*(memory[name].ctypes.data for name in order))
    whole = fresh(path.stat().st_size)
    whole[:] = 0

    def read():
        return memory if library.peers_file_read(os.fsencode(path), pointers, len(order)) == 0 else {}

    return Group(
        "into memory that there is, warm",
        [
            Case("dlpark", read, lambda found: same(found, tensors), {"read(2)": 1 / 0.95}),
            Case("read(2)", lambda: system_read(library, path, whole, False), right_zero),
        ],
    )


def write_plain(path: Path, tensors: dict[str, np.ndarray]) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for tensor in tensors.values():
        view = memoryview(tensor).cast("B")
        while view:
            view = view[os.write(descriptor, view) :]
    os.close(descriptor)
    return path


def saving_group(folder: Path, tensors: dict[str, np.ndarray]) -> Group:
    numpy_files = optional("safetensors.numpy")
    path = folder / "saved"

    def clear():
        path.unlink(missing_ok=True)
        os.sync()

    def saved(save):
        def run():
            save()
            return path

        return run

    def right(found):
        return same(dlpark.load(found), tensors)

    cases = [
        Case("dlpark", saved(lambda: dlpark.save(path, tensors)), right, {"write(2)": 1 / 0.95, "safetensors": 1.0}, clear),
        Case("write(2)", lambda: write_plain(path, tensors), lambda found: found.stat().st_size == sum(t.nbytes for t in tensors.values()), {}, clear),
    ]
    if numpy_files is not None:
        cases.append(Case("safetensors", saved(lambda: numpy_files.save_file(tensors, path)), right, {}, clear))
    return Group("saved", cases)


def opening_groups(folder: Path, counts: list[int]) -> list[Group]:
    package = optional("safetensors")
    groups = []
    for count in counts:
        names = [f"model.layers.{i // 256}.mlp.experts.{i % 256}.gate_proj.weight" for i in range(count)]
        path = folder / f"names-{count}"
        dlpark.save(path, dict.fromkeys(names, np.zeros((2, 4), np.float16)), format="safetensors")

        def ours(path=path):
            with dlpark.open(path) as file:
                return list(file)

        def theirs(path=path):
            with package.safe_open(path, framework="np") as file:
                return list(file.keys())

        def right(found, names=names):
            return sorted(found) == sorted(names)

        cases = [Case("dlpark", ours, right, {"safetensors": 0.05})]
        if package is not None:
            cases.append(Case("safetensors", theirs, right))
        groups.append(Group(f"opened, its {count} names listed", cases, time.process_time))
    return groups


def archive_groups(folder: Path, mib: int) -> list[Group]:
    """npz: NumPy reads a member through Python's zipfile, and sums it up."""
    tensors = numbers(mib)
    compressible = {name: (tensor.view(np.uint32) >> 20).astype(np.float32) for name, tensor in tensors.items()}
    stored, deflated = folder / "stored.npz", folder / "deflated.npz"
    np.savez(stored, **tensors)
    np.savez_compressed(deflated, **{name: tensor[: max(len(tensor) // 4, 1)] for name, tensor in compressible.items()})
    packed = {name: tensor[: max(len(tensor) // 4, 1)] for name, tensor in compressible.items()}

    def theirs(path):
        with np.load(path) as archive:
            return dict(archive)

    def saved(save, *arguments, **options):
        save(folder / "saved.npz", *arguments, **options)
        return folder / "saved.npz"

    def right_saved(path):
        return same(theirs(path), packed)

    return [
        Group(
            "npz, stored",
            [
                Case("dlpark, mapped and touched", lambda: touch(dlpark.load(stored)), lambda found: same(found, tensors), {"NumPy": 0.5}),
                Case("dlpark, copied", lambda: dlpark.load(stored, copy=True), lambda found: same(found, tensors)),
                Case("NumPy", lambda: theirs(stored), lambda found: same(found, tensors)),
            ],
        ),
        Group(
            "npz, deflated",
            [
                Case("dlpark", lambda: dlpark.load(deflated), lambda found: same(found, packed), {"NumPy": 1.0}),
                Case("NumPy", lambda: theirs(deflated), lambda found: same(found, packed)),
            ],
        ),
        Group(
            "npz, deflated and saved",
            [
                Case("dlpark", lambda: saved(dlpark.save, packed, compress=True), right_saved, {"NumPy": 1.0}),
                Case("NumPy", lambda: saved(np.savez_compressed, **packed), right_saved),
            ],
        ),
    ]


# ---- Turns ----


def run_group(group: Group, rounds: int) -> tuple[dict[str, list[float]], list[str]]:
    times = {case.name: [] for case in group.cases}
    wrong = []
    for round_number in range(rounds):
        for case in random.Random(round_number).sample(group.cases, len(group.cases)):
            if case.before is not None:
                case.before()
            began = group.clock()
            result = case.run()
            times[case.name].append(group.clock() - began)
            if round_number == 0 and not case.right(result):
                wrong.append(case.name)
            del result
    return times, wrong


def report(group: Group, times: dict[str, list[float]]) -> tuple[list[dict], int]:
    rows, missed = [], 0
    print(f"\n{group.name}\n{'':34}{'min ms':>10}{'median ms':>12}")
    for case in group.cases:
        verdicts = []
        for other, at_most in case.targets.items():
            if other not in times:
                continue
            ratio = statistics.median(a / b for a, b in zip(times[case.name], times[other], strict=True))
            missed += ratio > at_most
            verdicts.append(f"{'ok' if ratio <= at_most else 'MISSED'}: {ratio:.2f} of {other} (at most {at_most:.2f})")
        least, middle = min(times[case.name]) * 1e3, statistics.median(times[case.name]) * 1e3
        print(f"{case.name:34}{least:10.2f}{middle:12.2f}  {'; '.join(verdicts)}")
        rows.append({"group": group.name, "case": case.name, "min_ms": least, "median_ms": middle})
    return rows, missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=argparse.FileType("w"))
    parser.add_argument("--library", default="build/bench/bench/libbench_file_peers.so")
    parser.add_argument("--folder", help="where the files are written; by default the system's for temporary files")
    options = parser.parse_args()
    library = ctypes.CDLL(str(Path(options.library).resolve()))
    library.peers_system_read.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    tensors = numbers(16 if options.quick else 1024)
    rows, missed, wrong = [], 0, []
    with tempfile.TemporaryDirectory(prefix="dlpark-bench-", dir=options.folder) as name:
        folder = Path(name)
        path = folder / "tensors"
        dlpark.save(path, tensors, format="safetensors")
        groups = opening_groups(folder, [1000] if options.quick else [1000, 80000])
        groups += [*reading_groups(library, path, tensors), saving_group(folder, tensors)]
        groups += archive_groups(folder, 1 if options.quick else 256)
        for group in groups:
            if options.only not in group.name:
                continue
            warm(path)
            times, failed = run_group(group, 1 if options.quick else options.rounds)
            wrong += [f"{group.name}: {case}" for case in failed]
            if not options.quick:
                found, count = report(group, times)
                rows += found
                missed += count
    for row in rows if options.json else []:
        options.json.write(json.dumps(row) + "\n")
    for line in wrong:
        print(f"file_peers: wrong result: {line}", file=sys.stderr)
    print(f"\n{len(wrong)} wrong results" + ("" if options.quick else f", {missed} targets missed"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
