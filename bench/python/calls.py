#!/usr/bin/env python3
"""What a call over tensors costs: arguments checked by the extension kit, and results, beside its peers.

    bench/python/calls.py [--quick] [--rounds N] [--only TEXT] [--json FILE]

The peers' modules are those of bench/python/peers; each does the same: three matrices of float32, row-major, on the host.
"""

import pathlib
import sys

import dlpark
import numpy as np
from harness import Call, Case, Group, cases, main, optional, peer

PEERS = pathlib.Path(dlpark.__file__).parents[2] / "bench" / "python" / "peers"
sys.path.insert(0, str(PEERS))

import bench_floor as floor  # noqa: E402
import bench_kit as kit  # noqa: E402

torch = optional("torch")
nanobind = optional("bench_nanobind")
pybind11 = optional("bench_pybind11")
tvm_ffi = optional("tvm_ffi")
rust = optional("dlpark_rust")
tvm = tvm_ffi.load_module(str(PEERS / "bench_tvm_ffi.so")) if tvm_ffi else None


def true(result):
    return result is True


def added():
    """What NumPy takes for the least that three arrays are good for."""
    a, b, c = (np.ones((3, 4), np.float32) for _ in range(3))
    return ("numpy.add(a, b, out=c)", Call(np.add, a, b, out=c), lambda r: r is c)


# ---- Arguments ----


def torch_arguments():
    abc = [torch.ones(3, 4) for _ in range(3)]
    best = {"Rust, view | Rust, import | tvm-ffi | nanobind": 0.4}
    targets = {"hand-written, cached table": 1.3, "numpy.add(a, b, out=c)": 1.0}
    return Group(
        "f(a, b, c): torch tensors",
        cases(
            [
                ("hand-written, cached table", Call(floor.table, *abc), lambda r: r is None),
                ("kit", Call(kit.read, *abc), true, targets, best),
                ("kit, c writable", Call(kit.write, *abc), true, {"numpy.add(a, b, out=c)": 1.0}),
                ("Rust, view", peer(rust, "matrices_by_view", *abc), true),
                ("Rust, import", peer(rust, "ranks", *abc), lambda r: r == 6),
                ("tvm-ffi", peer(tvm, "read", *abc), bool),
                ("nanobind", peer(nanobind, "read", *abc), true),
                added(),
                ("torch.add(a, b, out=c)", Call(torch.add, *abc[:2], out=abc[2]), lambda r: r is abc[2]),
            ]
        ),
    )


class Subclass(np.ndarray):
    """What NumPy's own fields are not read of: it comes by __dlpack__."""


def numpy_arguments(name, make, at_most):
    abc = [make() for _ in range(3)]
    return Group(
        name,
        cases(
            [
                ("kit", Call(kit.read, *abc), true, {"nanobind": at_most, "numpy.add(a, b, out=c)": 1.0}),
                (
                    "kit, c writable",
                    Call(kit.write, *abc),
                    true,
                    {"nanobind, c writable": at_most, "numpy.add(a, b, out=c)": 1.0},
                ),
                ("nanobind", peer(nanobind, "read", *abc), true),
                ("nanobind, c writable", peer(nanobind, "write", *abc), true),
                ("pybind11", peer(pybind11, "read", *abc), true),
                ("tvm-ffi", peer(tvm, "read", *abc), bool),
                ("Rust, import", peer(rust, "ranks", *abc), lambda r: r == 6),
                added(),
            ]
        ),
    )


def own_arguments():
    abc = [dlpark.from_dlpack(np.ones((3, 4), np.float32)) for _ in range(3)]
    theirs = [tvm_ffi.from_dlpack(np.ones((3, 4), np.float32)) for _ in range(3)] if tvm_ffi else []
    targets = {"tvm-ffi": 0.3, "numpy.add(a, b, out=c)": 1.0}
    return Group(
        "f(a, b, c): tensors of the library's own",
        cases(
            [
                ("a bare function", Call(floor.bare, *abc), lambda r: r is None),
                ("kit", Call(kit.read, *abc), true, targets),
                ("kit, c writable", Call(kit.write, *abc), true, targets),
                ("tvm-ffi", peer(tvm, "read", *theirs), bool),
                added(),
            ]
        ),
    )


def many_arguments(count):
    """What one more argument costs."""
    functions = {1: kit.one, 4: kit.four, 16: kit.sixteen}
    array = np.ones((3, 4), np.float32)
    own = dlpark.from_dlpack(array)
    listed = [
        ("a bare function", Call(floor.bare, *[array] * count), lambda r: r is None),
        ("kit, tensors of its own", Call(functions[count], *[own] * count), lambda r: r is None),
        ("kit, NumPy arrays", Call(functions[count], *[array] * count), lambda r: r is None),
    ]
    if torch is not None:
        tensors = [torch.ones(3, 4) for _ in range(count)]
        listed += [
            ("hand-written, torch tensors", Call(floor.table, *tensors), lambda r: r is None),
            (
                "kit, torch tensors",
                Call(functions[count], *tensors),
                lambda r: r is None,
                {"hand-written, torch tensors": 1.3},
            ),
        ]
    return Group(f"f of {count} tensor{'s' if count > 1 else ''}", cases(listed))


# ---- Results ----


def is_ones(array):
    return np.asarray(array).tolist() == [1, 1, 1, 1]


def is_ones_dlpack(tensor):
    return is_ones(np.from_dlpack(tensor))


def results():
    array = np.ones((3, 4), np.float32)
    own = dlpark.from_dlpack(array)
    yield Group(
        "a result: four ones as a numpy.ndarray",
        cases(
            [
                ("hand-written, NumPy's C API", Call(floor.array), is_ones),
                ("kit", Call(kit.ones_numpy), is_ones, {"pybind11": 0.65}),
                ("kit, as the argument is", Call(kit.ones_like, array), is_ones),
                ("pybind11", peer(pybind11, "ones_numpy"), is_ones),
                ("nanobind", peer(nanobind, "ones_numpy"), is_ones),
            ]
        ),
    )
    given = [("kit", kit), ("Rust", rust), ("nanobind", nanobind), ("tvm-ffi", tvm)]
    best = {"Rust | nanobind | tvm-ffi": 0.8}
    yield Group(
        "a result: four ones as a numpy.ndarray, by DLPack",
        [
            Case(name, Call(np.from_dlpack, Call(module.ones)), is_ones, {}, best if module is kit else {})
            for name, module in given
            if module is not None
        ],
    )
    yield Group(
        "a result: four ones as the library's own tensor",
        cases(
            [
                ("a bare function", Call(floor.bare), lambda r: r is None),
                ("kit", Call(kit.ones), is_ones_dlpack, {"a bare function": 5.0}),
                ("kit, as the argument is", Call(kit.ones_like, own), is_ones_dlpack),
                ("tvm-ffi", peer(tvm, "ones"), is_ones_dlpack),
                ("Rust", peer(rust, "ones"), is_ones_dlpack),
                ("nanobind", peer(nanobind, "ones"), is_ones_dlpack),
            ]
        ),
    )
    if torch is not None:
        yield torch_results()


def torch_results():
    like = torch.ones(3, 4)
    best = {"Rust | nanobind | tvm-ffi": 0.95}
    return Group(
        "a result: four ones as a torch.Tensor",
        cases(
            [
                ("kit", Call(kit.ones_torch), is_ones, {}, best),
                ("kit, as the argument is", Call(kit.ones_like, like), is_ones),
                ("Rust", peer(rust, "ones_like", like), is_ones),
                ("nanobind", peer(nanobind, "ones_torch"), is_ones),
                ("tvm-ffi", Call(torch.from_dlpack, Call(tvm.ones)) if tvm is not None else None, is_ones),
            ]
        ),
    )


def groups():
    if torch is not None:
        yield torch_arguments()
    yield numpy_arguments("f(a, b, c): NumPy arrays", lambda: np.ones((3, 4), np.float32), 0.25)
    yield numpy_arguments(
        "f(a, b, c): NumPy arrays, by DLPack alone", lambda: np.ones((3, 4), np.float32).view(Subclass), 0.8
    )
    yield own_arguments()
    for count in (1, 4, 16):
        yield many_arguments(count)
    yield from results()


def versions():
    modules = {"NumPy": np, "PyTorch": torch, "tvm-ffi": tvm_ffi, "nanobind": optional("nanobind"), "Rust crate": rust}
    modules["pybind11"] = optional("pybind11")
    return ", ".join(f"{name} {module.__version__}" for name, module in modules.items() if module is not None)


if __name__ == "__main__":
    sys.exit(main("calls", __doc__.splitlines()[0], groups, versions()))
