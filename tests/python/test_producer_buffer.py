"""The buffer protocol beside NumPy's: the same answer to every combination of flags."""

import ctypes
import gc
import itertools
from ctypes import POINTER, c_char_p, c_int, c_ssize_t, c_void_p, py_object

import hostile
import numpy as np
import pytest
from hostile import Foreign

import dlpark


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", c_void_p),
        ("obj", c_void_p),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", POINTER(c_ssize_t)),
        ("strides", POINTER(c_ssize_t)),
        ("suboffsets", POINTER(c_ssize_t)),
        ("internal", c_void_p),
    ]


get_buffer = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(Buffer), c_int)(("PyObject_GetBuffer", ctypes.pythonapi))
release_buffer = ctypes.PYFUNCTYPE(None, POINTER(Buffer))(("PyBuffer_Release", ctypes.pythonapi))

WRITABLE, FORMAT = 0x1, 0x4
ORDERS = {"simple": 0, "nd": 0x8, "strides": 0x18, "c": 0x38, "f": 0x58, "any": 0x98, "indirect": 0x118,
          "c or f": 0x38 | 0x58, "c or any": 0x38 | 0x98, "f indirect": 0x58 | 0x118}
FLAGS = [order | extra for order, extra in itertools.product(ORDERS.values(), (0, WRITABLE, FORMAT, 5))]


def describe(object, flags):
    """What a request gets: None for a refusal. Strides of what has no elements, or one in a dimension, mean nothing."""
    buffer = Buffer()
    try:
        assert get_buffer(object, buffer, flags) == 0
    except BufferError:
        assert buffer.obj is None
        return None
    except ValueError:  # what NumPy raises for some
        return None
    shape = tuple(buffer.shape[: buffer.ndim]) if buffer.shape else None
    strides = tuple(buffer.strides[: buffer.ndim]) if buffer.strides else None
    if strides is not None and shape is not None:
        empty = 0 in shape
        strides = tuple(None if empty or extent == 1 else stride for extent, stride in zip(shape, strides))
    answer = (
        buffer.buf if buffer.len else None,
        buffer.len,
        buffer.itemsize,
        bool(buffer.readonly),
        buffer.ndim,
        buffer.format,
        shape,
        strides,
        bool(buffer.suboffsets),
    )
    assert buffer.obj == id(object)
    release_buffer(buffer)
    assert buffer.obj is None
    return answer


ARRAYS = {
    "rows": lambda: np.arange(6.0).reshape(2, 3),
    "columns": lambda: np.arange(6.0).reshape(2, 3).T,
    "both": lambda: np.arange(3),
    "gaps": lambda: np.arange(12).reshape(2, 6)[:, ::2],
    "backwards": lambda: np.arange(6)[::-1],
    "broadcast": lambda: np.lib.stride_tricks.as_strided(np.arange(3), (2, 3), (0, 8)),
    "scalar": lambda: np.array(7, np.int16),
    "empty": lambda: np.empty((2, 0, 3), np.float32),
    "ones": lambda: np.ones((1, 1)),
    "one row": lambda: np.arange(8, dtype=np.uint8).reshape(2, 4)[:1],
    "one column": lambda: np.arange(8, dtype=np.uint8).reshape(2, 4)[:, :1],
    "bool": lambda: np.ones((2, 2), bool),
    "complex": lambda: np.ones((2, 2), np.complex64),
}


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_as_numpy_does(make, writeable):
    array = make()
    if not writeable:
        array.flags.writeable = False
    tensor = dlpark.from_dlpack(array)
    ours = {flags: describe(tensor, flags) for flags in FLAGS}
    assert ours == {flags: describe(array, flags) for flags in FLAGS}
    assert any(ours.values()) and (writeable or not all(ours.values()))


def test_an_empty_tensor_has_an_address():
    """Consumers hand it to functions of C that must not be given NULL, although they read nothing."""
    buffer = Buffer()
    tensor = dlpark.from_dlpack(np.empty((0, 3)))
    assert hostile.read(tensor.__dlpack__()).dl_tensor.data is None
    get_buffer(tensor, buffer, ORDERS["c"])
    assert buffer.buf and buffer.len == 0
    release_buffer(buffer)


def test_exports_are_counted_and_outlive_the_tensor():
    foreign = Foreign(dtype=(1, 8, 1))
    tensor = dlpark.from_dlpack(foreign.capsule())
    buffers = [Buffer() for _ in range(3)]
    for buffer in buffers:
        get_buffer(tensor, buffer, ORDERS["strides"])
    assert len({buffer.internal for buffer in buffers}) == 3
    assert [buffer.buf for buffer in buffers] == [ctypes.addressof(foreign.memory)] * 3
    del tensor
    gc.collect()
    for buffer in buffers:
        assert foreign.calls == []
        assert tuple(buffer.shape[:2]) == (2, 3)
        release_buffer(buffer)
    assert len(foreign.calls) == 1


def test_refusals_leave_nothing():
    array = np.arange(6).reshape(2, 3).T
    array.flags.writeable = False
    foreign = Foreign(dtype=(4, 16, 1))
    for tensor in (dlpark.from_dlpack(array), dlpark.from_dlpack(foreign.capsule())):
        for flags in FLAGS:
            describe(tensor, flags)
    del tensor
    gc.collect()
    assert len(foreign.calls) == 1


def test_array_interfaces():
    array = np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::2]
    tensor = dlpark.from_dlpack(array)
    expected = {**array.__array_interface__}
    assert tensor.__array_interface__ == {key: expected[key] for key in tensor.__array_interface__}
    assert set(tensor.__array_interface__) == {"shape", "typestr", "data", "strides", "version"}
    assert not hasattr(tensor, "__cuda_array_interface__")
    device = dlpark.from_dlpack(Foreign(device=(hostile.CUDA, 0)).capsule())
    assert not hasattr(device, "__array_interface__")
    described = device.__cuda_array_interface__
    assert (described["shape"], described["typestr"], described["version"]) == ((2, 3), "<f4", 3)
    assert described["stream"] == 1
