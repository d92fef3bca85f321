"""Every partner's tensors, taken by each way that they offer."""

import importlib
import warnings

import numpy as np
import pytest

import dlpark

PATHS = {
    "capsule": 0x001,
    "own": 0x002,
    "exchange": 0x004,
    "numpy": 0x008,
    "dlpack": 0x010,
    "cuda_array_interface": 0x020,
    "array_struct": 0x040,
    "array_interface": 0x080,
    "buffer": 0x100,
}


def strict_address(tensor):
    return np.from_dlpack(tensor).__array_interface__["data"][0]


# How a float32 array becomes one of the partner's, the address of its memory, and the ways that it offers.
PARTNERS = {
    "numpy": (
        lambda numpy, array: array,
        lambda made: made.__array_interface__["data"][0],
        "numpy dlpack array_struct array_interface buffer",
    ),
    "torch": (lambda torch, array: torch.from_numpy(array), lambda made: made.data_ptr(), "exchange dlpack"),
    "jax": (lambda jax, array: jax.numpy.asarray(array), lambda made: made.unsafe_buffer_pointer(), "dlpack buffer"),
    "mlx.core": (lambda mlx, array: mlx.array(array), None, "dlpack buffer"),
    "tensorflow": (lambda tensorflow, array: tensorflow.constant(array), None, "dlpack buffer"),
    "tvm_ffi": (lambda tvm, array: tvm.from_dlpack(array), None, "dlpack"),
    "pyarrow": (lambda arrow, array: arrow.array(array), lambda made: made.buffers()[1].address, "dlpack"),
    "array_api_strict": (lambda strict, array: strict.asarray(array), strict_address, "dlpack"),
    "cuda.core": (
        lambda cuda, array: importlib.import_module("cuda.core.utils").StridedMemoryView.from_any_interface(
            array, stream_ptr=-1
        ),
        lambda made: made.ptr,
        "exchange dlpack",
    ),
}
ROWS = [
    pytest.param(name, path, marks=pytest.mark.partner(name), id=f"{name}-{path}")
    for name, (_, _, paths) in PARTNERS.items()
    for path in paths.split()
]
NAMES = [pytest.param(name, marks=pytest.mark.partner(name), id=name) for name in PARTNERS]


def made_by(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module(name)
        array = np.arange(6, dtype=np.float32)
        return PARTNERS[name][0](module, array)


@pytest.mark.parametrize("name, path", ROWS)
def test_each_way_that_is_offered(probe, name, path):
    made = made_by(name)
    address = PARTNERS[name][1]
    tensor = dlpark.from_dlpack(made, via=path)
    assert (tensor.shape, tensor.dtype, tensor.device) == ((6,), "float32", "cpu")
    assert np.asarray(tensor).tolist() == [0, 1, 2, 3, 4, 5]
    capsule, origin, view = probe.py_import(made, paths=PATHS[path])
    assert origin == (PATHS[path], False, None)
    if address is not None:
        assert view[0] == address(made)
    view, _ = probe.py_view(made, paths=PATHS[path])
    assert (view[1], view[3]) == ("float32", [6])


@pytest.mark.parametrize("name", NAMES)
def test_ways_that_are_not_offered(name):
    made = made_by(name)
    offered = PARTNERS[name][2].split()
    for path in PATHS:
        if path not in offered:
            with pytest.raises(AttributeError if path == "dlpack" else TypeError, match="does not offer|has no __dlpack__"):
                dlpark.from_dlpack(made, via=path)


@pytest.mark.parametrize("name", NAMES)
def test_the_best_way_goes_first(probe, name):
    made = made_by(name)
    best = PATHS[PARTNERS[name][2].split()[0]]
    assert probe.py_import(made)[1][0] == best
    view, owned = probe.py_view(made)
    assert owned is (best == PATHS["dlpack"])
    assert (view[1], view[2], view[3], view[4]) == ("float32", "cpu", [6], [1])


@pytest.mark.parametrize("name", NAMES)
def test_in_two_steps(probe, name):
    made = made_by(name)
    device, path, held, imported = probe.request(made)
    assert (device, held) == ("cpu", False)
    assert path == imported[1][0] == PATHS[PARTNERS[name][2].split()[0]]
    assert imported[2][3] == [6]
