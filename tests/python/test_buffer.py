"""The buffer protocol and __array__."""

import ctypes
import io

import hostile
import numpy as np
import pytest
from hostile import Foreign

import dlpark

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]

WRITABLE, SIMPLE, ND, STRIDES, C, F, ANY = 1, 0, 0x8, 0x18, 0x38, 0x58, 0x98
ORDERS = [SIMPLE, ND, STRIDES, C, F, ANY]
get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
release_buffer = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyBuffer_Release", ctypes.pythonapi))


def gets_buffer(tensor, flags):
    buffer = (ctypes.c_void_p * 16)()  # as large as a Py_buffer at least
    try:
        get_buffer(tensor, buffer, flags)
    except BufferError:
        return False
    release_buffer(buffer)
    return True


@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray_shares_memory_and_dtype(dtype):
    array = np.ones((3, 4), dtype)[::2, ::-1]
    seen = np.asarray(dlpark.from_dlpack(array))
    assert seen.dtype == array.dtype
    assert seen.dtype.char == np.dtype(dtype).char
    assert (seen.shape, seen.strides) == (array.shape, array.strides)
    assert np.shares_memory(seen, array)
    assert seen.flags.writeable


def test_memoryview_fields():
    array = np.arange(12, dtype=np.int16).reshape(3, 4)[:, ::-2]
    memory = memoryview(dlpark.from_dlpack(array))
    assert (memory.format, memory.itemsize, memory.ndim) == ("h", 2, 2)
    assert (memory.shape, memory.strides, memory.nbytes) == ((3, 2), (8, -4), 12)
    assert memory.tolist() == array.tolist()
    assert not memory.readonly


def test_buffer_keeps_the_tensor_alive():
    foreign = Foreign(dtype=(1, 8, 1))
    memory = memoryview(dlpark.from_dlpack(foreign.capsule()))
    assert foreign.calls == []
    memory.release()
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("legacy", [False, True])
def test_read_only(legacy):
    foreign = Foreign(legacy=legacy, dtype=(1, 8, 1), flags=0 if legacy else hostile.READ_ONLY)
    tensor = dlpark.from_dlpack(foreign.capsule())
    assert memoryview(tensor).readonly
    assert not np.asarray(tensor).flags.writeable
    assert not gets_buffer(tensor, WRITABLE)
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"x" * 6).readinto(tensor)


def test_writes_go_to_the_producer():
    array = np.zeros(4, np.uint8)
    assert io.BytesIO(b"\1\2\3\4").readinto(dlpark.from_dlpack(array)) == 4
    assert array.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (1, 1)])
def test_edges(shape):
    array = np.ones(shape, np.float32)
    tensor = dlpark.from_dlpack(array)
    assert np.asarray(tensor).shape == shape
    assert bytes(tensor) == array.tobytes()
    assert memoryview(tensor).c_contiguous and memoryview(tensor).f_contiguous


@pytest.mark.parametrize("shape, strides", [((1, 3), (2**62, 1)), ((0, 3), (-(2**62), 2**62))])
def test_strides_that_mean_nothing_are_not_multiplied(shape, strides):
    tensor = dlpark.from_dlpack(Foreign(shape=shape, strides=strides).capsule())
    assert tensor.strides == strides
    assert np.asarray(tensor).shape == shape
    assert memoryview(tensor).c_contiguous


def test_contiguity_is_what_was_asked_for():
    rows = dlpark.from_dlpack(np.arange(6).reshape(2, 3))
    columns = dlpark.from_dlpack(np.arange(6).reshape(2, 3).T)
    gaps = dlpark.from_dlpack(np.arange(12).reshape(2, 6)[:, ::2])
    assert rows.__dlpack__() and columns.__dlpack__() and gaps.__dlpack__()
    assert (memoryview(rows).c_contiguous, memoryview(rows).f_contiguous) == (True, False)
    assert (memoryview(columns).c_contiguous, memoryview(columns).f_contiguous) == (False, True)
    assert memoryview(gaps).contiguous is False
    expected = [(rows, order, order in {SIMPLE, ND, STRIDES, C, ANY}) for order in ORDERS]
    expected += [(columns, order, order in {STRIDES, F, ANY}) for order in ORDERS]
    expected += [(gaps, order, order == STRIDES) for order in ORDERS]
    assert [gets_buffer(tensor, order) for tensor, order, _ in expected] == [gets for *_, gets in expected]


@pytest.mark.parametrize(
    "fields, name, instead",
    [
        (dict(dtype=(4, 16, 1)), "bfloat16", r"the method numpy\(\) gives an array of the package ml_dtypes"),
        (dict(dtype=(12, 8, 1)), "float8_e5m2", r"the method numpy\(\) gives"),
        (dict(dtype=(2, 32, 4)), "float32x4", r"the method numpy\(\) makes lanes a dimension"),
        (dict(dtype=(1, 4, 1)), "uint4", r"tolist\(\) reads the elements"),
    ],
)
def test_dtype_without_a_format(fields, name, instead):
    tensor = dlpark.from_dlpack(Foreign(**fields).capsule())
    with pytest.raises(BufferError, match=f"{name}.*no format"):
        memoryview(tensor)
    with pytest.raises(TypeError, match=f"^NumPy has no dtype for {name}; {instead}"):
        np.asarray(tensor)


def test_device_memory():
    tensor = dlpark.from_dlpack(Foreign(device=(hostile.CUDA, 0)).capsule())
    with pytest.raises(BufferError, match="not accessible to the host"):
        memoryview(tensor)
    with pytest.raises(TypeError, match="cuda:0"):
        np.asarray(tensor)


def test_managed_memory_is_not_the_hosts():
    tensor = dlpark.from_dlpack(Foreign(device=(13, 0)).capsule())
    with pytest.raises(BufferError, match="cuda_managed.*the host may read it only when the device is done"):
        memoryview(tensor)
    with pytest.raises(TypeError, match="cuda_managed.*the host may read it only when the device is done"):
        np.asarray(tensor)


# ---- __array__ ----


def test_array_method_without_arguments():
    array = np.arange(3)
    assert np.shares_memory(dlpark.from_dlpack(array).__array__(), array)


@pytest.mark.parametrize("copy, shares", [(None, True), (False, True), (True, False)])
def test_array_method_of_the_same_dtype(copy, shares):
    array = np.arange(3)
    for dtype in (None, array.dtype, "int64", np.int64):
        assert np.shares_memory(dlpark.from_dlpack(array).__array__(dtype, copy=copy), array) is shares


def test_array_method_of_another_dtype():
    tensor = dlpark.from_dlpack(np.arange(3))
    assert tensor.__array__(np.float32).dtype == np.float32
    assert tensor.__array__(dtype="f4", copy=True).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="copy=False"):
        tensor.__array__("f4", copy=False)
    with pytest.raises(TypeError):
        tensor.__array__("nonsense")
    with pytest.raises(TypeError, match="at most 2"):
        tensor.__array__(None, None, None)


def test_numpy_functions_take_it():
    assert np.sum(dlpark.from_dlpack(np.arange(5))) == 10
    assert np.asarray(dlpark.from_dlpack(np.arange(5)), dtype="f8").dtype == np.float64
