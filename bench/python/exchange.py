#!/usr/bin/env python3
"""What it costs to keep a tensor of another library, and to hand one out, beside the libraries' own exchange.

    bench/python/exchange.py [--quick] [--rounds N] [--only TEXT] [--json FILE]
"""

import pathlib
import subprocess
import sys

import dlpark
import numpy as np
from harness import Call, Case, Group, cases, main, optional, peer

PEERS = pathlib.Path(dlpark.__file__).parents[2] / "bench" / "python" / "peers"
sys.path.insert(0, str(PEERS))

import bench_floor as floor  # noqa: E402

torch = optional("torch")
nanobind = optional("bench_nanobind")
tvm_ffi = optional("tvm_ffi")
rust = optional("dlpark_rust")


def same_memory(result, array):
    """Whether an exchange gave a view of the same memory, with the same contents."""
    back = np.from_dlpack(result)
    return back.ctypes.data == array.ctypes.data and back.shape == array.shape and bool((back == array).all())


def is_copy(result, array):
    back = np.from_dlpack(result)
    return back.ctypes.data != array.ctypes.data and bool((back == array).all())


def is_legacy(capsule):
    return '"dltensor"' in repr(capsule)


def is_versioned(capsule):
    return "dltensor_versioned" in repr(capsule)


def is_cpu(pair):
    return tuple(pair) == (1, 0)


def keeping():
    array = np.arange(20, dtype=np.float32).reshape(4, 5)
    tensor = dlpark.from_dlpack(array)

    def kept(result):
        return same_memory(result, array)

    yield Group(
        "keep a NumPy array",
        cases(
            [
                ("numpy.from_dlpack", Call(np.from_dlpack, array), kept),
                ("dlpark.from_dlpack", Call(dlpark.from_dlpack, array), kept, {"numpy.from_dlpack": 0.65}),
                ("tvm-ffi", peer(tvm_ffi, "from_dlpack", array), kept),
                ("Rust", peer(rust, "from_dlpack", array), kept),
            ]
        ),
    )
    yield Group(
        "keep a tensor of one's own",
        cases(
            [
                ("a bare function", Call(floor.bare, tensor), lambda r: r is None),
                ("dlpark.from_dlpack", Call(dlpark.from_dlpack, tensor), kept, {"a bare function": 3.0}),
            ]
        ),
    )
    if torch is None:
        return
    from_numpy = torch.from_dlpack(array)
    yield Group(
        "keep a torch tensor",
        cases(
            [
                ("hand-written, cached table", Call(floor.kept, from_numpy), lambda r: r is not None),
                ("dlpark.from_dlpack", Call(dlpark.from_dlpack, from_numpy), kept, {"tvm-ffi": 0.5}),
                ("tvm-ffi", peer(tvm_ffi, "from_dlpack", from_numpy), kept),
                ("Rust", peer(rust, "from_dlpack", from_numpy), kept),
            ]
        ),
    )


def giving():
    array = np.arange(20, dtype=np.float32).reshape(4, 5)
    tensor = dlpark.from_dlpack(array)
    theirs = nanobind.ones() if nanobind else None
    producers = [("ndarray", array), ("dlpark.Tensor", tensor)] + ([("nanobind", theirs)] if theirs is not None else [])
    goals = {"__dlpack__()": 1.0, "__dlpack__(max_version)": 1.0, "__dlpack_device__()": 1.2}

    def group(name, call, right):
        made = []
        for label, producer in producers:
            targets = {"nanobind": goals[name]} if label == "dlpark.Tensor" else {}
            made.append(Case(label, call(producer), right, targets))
        return Group(name, made)

    yield group("__dlpack__()", lambda p: Call(p.__dlpack__), is_legacy)
    yield group("__dlpack__(max_version)", lambda p: Call(p.__dlpack__, max_version=(1, 3)), is_versioned)
    yield group("__dlpack_device__()", lambda p: Call(p.__dlpack_device__), is_cpu)
    yield Group(
        "numpy.from_dlpack(x)",
        [
            Case("of an ndarray", Call(np.from_dlpack, array), lambda r: same_memory(r, array)),
            Case(
                "of a dlpark.Tensor",
                Call(np.from_dlpack, tensor),
                lambda r: same_memory(r, array),
                {"of an ndarray": 1.0},
            ),
        ],
    )
    if torch is None:
        return
    from_numpy = torch.from_dlpack(array)
    yield Group(
        "torch.from_dlpack(x)",
        [
            Case("of a torch tensor", Call(torch.from_dlpack, from_numpy), lambda r: same_memory(r, array)),
            Case(
                "of a dlpark.Tensor",
                Call(torch.from_dlpack, tensor),
                lambda r: same_memory(r, array),
                {"of a torch tensor": 1.0},
            ),
        ],
    )


def copying():
    large = np.ones(64 << 20, dtype=np.uint8)

    def fresh():
        array = np.empty(large.shape, dtype=np.uint8)
        array.fill(1)
        return array

    yield Group(
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
    )


def groups():
    yield from keeping()
    yield from giving()
    yield from copying()


def import_time():
    """Milliseconds that `import dlpark` takes in a fresh interpreter: the least of ten, less that of an empty one."""
    code = "import sys, time; t = time.perf_counter_ns(); import dlpark; print(time.perf_counter_ns() - t); " \
        "assert 'numpy' not in sys.modules and 'torch' not in sys.modules"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(10)]
    return min(int(run.stdout) for run in runs) / 1e6


def versions():
    modules = {"NumPy": np, "PyTorch": torch, "tvm-ffi": tvm_ffi, "nanobind": optional("nanobind"), "Rust crate": rust}
    return ", ".join(f"{name} {module.__version__}" for name, module in modules.items() if module is not None)


if __name__ == "__main__":
    took = import_time()
    print(f"import dlpark: {took:.1f} ms  {'ok' if took <= 15 else 'MISSED'} (at most 15)")
    sys.exit(main("exchange", __doc__.splitlines()[0], groups, versions()))
