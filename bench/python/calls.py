#!/usr/bin/env python3
"""What a call over tensors costs: arguments checked by the extension kit, and results, beside its peers.

    bench/python/calls.py [--quick] [--rounds N] [--only TEXT] [--json FILE]

The peers' modules are those of bench/python/peers; each does the same: three matrices of float32, row-major, on the host.
"""

import pathlib
import sys

import dlpark
import numpy as np
from harness import Case, Group, main, optional

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


def cases(listed):
    """The cases whose peer is here."""
    return [Case(*item) for item in listed if item[1] is not None]


def of_three(function, a, b, c):
    return (lambda: function(a, b, c)) if function is not None else None


def torch_arguments():
    a, b, c = (torch.ones(3, 4) for _ in range(3))
    return Group(
        "f(a, b, c): torch tensors",
        cases(
            [
                ("hand-written, cached table", of_three(floor.table, a, b, c), lambda r: r is None),
                (
                    "kit",
                    of_three(kit.read, a, b, c),
                    true,
                    {"hand-written, cached table": 1.3},
                    {"Rust, view | Rust, import | tvm-ffi | nanobind": 0.4},
                ),
                ("kit, c writable", of_three(kit.write, a, b, c), true),
                ("Rust, view", of_three(rust and rust.ranks_by_view, a, b, c), lambda r: r == 6),
                ("Rust, import", of_three(rust and rust.ranks, a, b, c), lambda r: r == 6),
                ("tvm-ffi", of_three(tvm and tvm.read, a, b, c), bool),
                ("nanobind", of_three(nanobind and nanobind.read, a, b, c), true),
                ("torch.add(a, b, out=c)", lambda: torch.add(a, b, out=c), lambda r: r is c),
            ]
        ),
    )


def numpy_arguments(name, make, at_most):
    a, b, c = (make() for _ in range(3))
    peers = [
        ("nanobind", of_three(nanobind and nanobind.read, a, b, c), true),
        ("nanobind, c writable", of_three(nanobind and nanobind.write, a, b, c), true),
        ("pybind11", of_three(pybind11 and pybind11.read, a, b, c), true),
        ("tvm-ffi", of_three(tvm and tvm.read, a, b, c), bool),
        ("Rust, import", of_three(rust and rust.ranks, a, b, c), lambda r: r == 6),
        ("numpy.add(a, b, out=c)", lambda: np.add(a, b, out=c), lambda r: r is c),
    ]
    targets = {"nanobind": at_most, "numpy.add(a, b, out=c)": 1.0}
    writable = {"nanobind, c writable": at_most, "numpy.add(a, b, out=c)": 1.0}
    ours = [
        ("kit", of_three(kit.read, a, b, c), true, targets),
        ("kit, c writable", of_three(kit.write, a, b, c), true, writable),
    ]
    return Group(name, cases(ours + peers))


class Subclass(np.ndarray):
    """What NumPy's own fields are not read of: it comes by __dlpack__."""


def own_arguments():
    a, b, c = (dlpark.from_dlpack(np.ones((3, 4), np.float32)) for _ in range(3))
    theirs = [tvm_ffi.from_dlpack(np.ones((3, 4), np.float32)) for _ in range(3)] if tvm_ffi else [None] * 3
    x, y, z = (np.ones((3, 4), np.float32) for _ in range(3))
    return Group(
        "f(a, b, c): tensors of the library's own",
        cases(
            [
                ("a bare function", of_three(floor.bare, a, b, c), lambda r: r is None),
                ("kit", of_three(kit.read, a, b, c), true, {"tvm-ffi": 0.3, "numpy.add(x, y, out=z)": 1.0}),
                ("tvm-ffi", of_three(tvm and tvm.read, *theirs), bool),
                ("numpy.add(x, y, out=z)", lambda: np.add(x, y, out=z), lambda r: r is z),
            ]
        ),
    )


def is_ones(array):
    return np.asarray(array).tolist() == [1, 1, 1, 1]


def results():
    array = np.ones((3, 4), np.float32)
    subclass = array.view(Subclass)
    own = dlpark.from_dlpack(array)
    yield Group(
        "a result: four ones as a numpy.ndarray",
        cases(
            [
                ("kit", lambda: kit.ones_like(array), is_ones, {"pybind11": 0.65}),
                ("pybind11", pybind11 and pybind11.ones_numpy, is_ones),
                ("nanobind", nanobind and nanobind.ones_numpy, is_ones),
            ]
        ),
    )
    yield Group(
        "a result: four ones as a numpy.ndarray, by DLPack",
        cases(
            [
                (
                    "kit",
                    lambda: np.from_dlpack(kit.ones_like(own)),
                    is_ones,
                    {},
                    {"Rust | nanobind | tvm-ffi": 0.8},
                ),
                ("Rust", rust and (lambda: np.from_dlpack(rust.ones())), is_ones),
                ("nanobind", nanobind and (lambda: np.from_dlpack(nanobind.ones())), is_ones),
                ("tvm-ffi", tvm and (lambda: np.from_dlpack(tvm.ones())), is_ones),
            ]
        ),
    )
    yield Group(
        "a result: four ones as the library's own tensor",
        cases(
            [
                ("a bare function", lambda: floor.bare(own), lambda r: r is None),
                ("kit", lambda: kit.ones_like(own), is_ones, {"a bare function": 5.0}),
                ("tvm-ffi", tvm and tvm.ones, lambda r: is_ones(np.from_dlpack(r))),
                ("Rust", rust and rust.ones, lambda r: is_ones(np.from_dlpack(r))),
            ]
        ),
    )
    del subclass
    if torch is None:
        return
    like = torch.ones(3, 4)
    yield Group(
        "a result: four ones as a torch.Tensor",
        cases(
            [
                ("kit", lambda: kit.ones_like(like), is_ones, {}, {"Rust | nanobind | tvm-ffi": 0.95}),
                ("Rust", rust and (lambda: rust.ones_like(like)), is_ones),
                ("nanobind", nanobind and nanobind.ones_torch, is_ones),
                ("tvm-ffi", tvm and (lambda: torch.from_dlpack(tvm.ones())), is_ones),
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
    yield from results()


def versions():
    modules = {"NumPy": np, "PyTorch": torch, "tvm-ffi": tvm_ffi, "nanobind": optional("nanobind"), "Rust crate": rust}
    modules["pybind11"] = optional("pybind11")
    return ", ".join(f"{name} {module.__version__}" for name, module in modules.items() if module is not None)


if __name__ == "__main__":
    sys.exit(main("calls", __doc__.splitlines()[0], groups, versions()))
