"""Tensors from objects with a buffer."""

import array
import ctypes
import gc
import mmap
import sys
import threading

import hostile
import interfaces
import numpy as np
import pytest
from interfaces import Raising

import dlpark

WRITABLE = 1


def take(probe, source, **options):
    return interfaces.take(probe, "buffer", source, **options)


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_array_array(probe, code):
    source = array.array(code, [1, 2, 100])
    tensor = take(probe, source)
    assert (tensor.shape, tensor.strides, tensor.device, tensor.readonly) == ((3,), (1,), "cpu", False)
    seen = np.from_dlpack(tensor)
    assert seen.tolist() == [1, 2, 100]
    assert seen.ctypes.data == source.buffer_info()[0]
    seen[0] = 7
    assert source[0] == 7


def test_bytes_are_read_only(probe):
    source = b"abcdef"
    tensor = take(probe, source)
    assert (tensor.dtype, tensor.shape, tensor.readonly) == ("uint8", (6,), True)
    assert np.from_dlpack(tensor).tobytes() == source
    with pytest.raises(BufferError, match="not writable"):
        take(probe, source, writable=True)
    assert take(probe, source, writable=True, copy=True).shape == (6,)  # the copy will be


def test_bytearray_cannot_move_while_it_is_used(probe):
    source = bytearray(b"abc")
    tensor = take(probe, source, writable=True)
    assert not tensor.readonly
    with pytest.raises(BufferError):
        source.extend(b"more")
    del tensor
    source.extend(b"more")


def test_memoryview_of_any_form(probe):
    memory = memoryview(bytearray(range(24)))
    assert take(probe, memory[::-2]).strides == (-2,)
    assert np.from_dlpack(take(probe, memory[::-2])).tolist() == list(range(24))[::-2]
    assert take(probe, memory.cast("h")).dtype == "int16"
    assert take(probe, memory.cast("B", (2, 3, 4))).shape == (2, 3, 4)
    assert take(probe, memory.toreadonly()).readonly
    assert take(probe, memory[3:3]).shape == (0,)
    assert take(probe, memory.cast("?")).dtype == "bool"
    with pytest.raises(BufferError, match='memoryview buffer: the format "c" is of no dtype: a character'):
        take(probe, memory.cast("c"))
    scalar = memory[:4].cast("i", ())
    assert (take(probe, scalar).shape, take(probe, scalar).ndim) == ((), 0)


def test_released_memoryview(probe):
    memory = memoryview(b"abc")
    memory.release()
    with pytest.raises(ValueError, match="released"):
        take(probe, memory)


def test_mmap(probe, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    with path.open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
        tensor = take(probe, mapped)
        assert not tensor.readonly
        np.from_dlpack(tensor)[5] = 77
        with pytest.raises(BufferError):
            mapped.close()
        del tensor
        gc.collect()
        mapped.close()
        assert path.read_bytes()[5] == 77
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            assert take(probe, mapped).readonly


def test_ctypes_arrays(probe):
    source = (ctypes.c_int * 3 * 2)((1, 2, 3), (4, 5, 6))
    tensor = take(probe, source)
    assert np.from_dlpack(tensor).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert np.from_dlpack(tensor).ctypes.data == ctypes.addressof(source)
    assert take(probe, ctypes.c_double(3)).shape == ()
    assert take(probe, (ctypes.c_bool * 2)()).dtype == "bool"

    class Point(ctypes.Structure):
        _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float)]

    with pytest.raises(BufferError, match="a structure is not one number"):
        take(probe, (Point * 2)())
    big = (ctypes.c_int.__ctype_be__ * 2)(1, 2)
    assert np.from_dlpack(take(probe, big, byteswap=True)).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_numpy(probe, dtype):
    source = np.arange(24).reshape(2, 3, 4).astype(dtype)[:, ::-1, ::2]
    tensor = take(probe, source)
    seen = np.from_dlpack(tensor)
    assert (seen.dtype, seen.strides, seen.ctypes.data) == (source.dtype, source.strides, source.ctypes.data)
    np.testing.assert_array_equal(seen, source)


@pytest.mark.parametrize("dtype", ["g", "G", "S3", "U3", "O", "i4,f4", "V5", "S1"])
def test_numpy_refused(probe, dtype):
    with pytest.raises(BufferError, match="ndarray buffer: the format .* is of no dtype"):
        take(probe, np.zeros(3, dtype))


def test_numpy_says_itself_what_has_no_buffer(probe):
    with pytest.raises(ValueError, match="cannot include dtype"):
        take(probe, np.zeros(3, "M8[s]"))


def test_numpy_scalars_and_read_only(probe):
    assert take(probe, np.float64(3)).shape == ()
    source = np.zeros(3)
    source.flags.writeable = False
    assert take(probe, source).readonly
    assert take(probe, np.broadcast_to(np.int32(3), (2, 3))).strides == (0, 0)


@pytest.mark.parametrize("dtype", ["i2", "u4", "f8", "c8", "c16", "f2"])
def test_other_byte_order(probe, dtype):
    source = (np.arange(24).reshape(4, 6) * 3).astype(dtype)
    swapped = source.astype(source.dtype.newbyteorder(">"))[::2, ::-1]
    with pytest.raises(BufferError, match="ndarray buffer: the elements have the byte order of other machines"):
        take(probe, swapped)
    with pytest.raises(BufferError, match="needs a copy, and copy=False"):
        take(probe, swapped, byteswap=True, copy=False)
    capsule, is_copied, _ = probe.interface_import("buffer", swapped, byteswap=True)
    assert is_copied
    tensor = dlpark.from_dlpack(capsule)
    assert (tensor.is_copied, tensor.readonly) == (True, False)
    np.testing.assert_array_equal(np.from_dlpack(tensor), source[::2, ::-1])
    np.testing.assert_array_equal(swapped, source[::2, ::-1])  # not written to


def test_other_byte_order_of_much(probe):
    """Large enough that the GIL is released."""
    source = np.arange(100_000, dtype=">i4")
    np.testing.assert_array_equal(np.from_dlpack(take(probe, source, byteswap=True)), source)


def test_other_byte_order_of_more_than_there_is_memory(probe):
    source = np.broadcast_to(np.zeros(1, ">i8"), (2**58,))
    before = sys.getrefcount(source)
    with pytest.raises(MemoryError):
        take(probe, source, byteswap=True)
    assert sys.getrefcount(source) == before


def test_other_byte_order_of_nothing_and_of_bytes(probe):
    assert take(probe, np.zeros((0, 3), ">f4"), byteswap=True).shape == (0, 3)
    source = np.zeros(3, "u1")
    assert np.from_dlpack(take(probe, source, byteswap=True)).ctypes.data == source.ctypes.data  # as they are


def test_strides_between_elements(probe):
    packed = np.zeros(4, [("a", "<f4"), ("b", "i1")])
    with pytest.raises(BufferError, match=r"strides\[0\] is 5 bytes, no multiple of the 4 of an element"):
        take(probe, packed["a"])
    assert take(probe, packed["a"][:1]).shape == (1,)  # where it means nothing
    assert take(probe, packed["a"][:0]).shape == (0,)
    assert take(probe, packed["b"]).strides == (5,)


def test_no_buffer(probe):
    for source in (None, 3, object(), "text", [1, 2], Raising(OSError())):
        assert take(probe, source) is None


@pytest.mark.partner("pyarrow")
def test_pyarrow(probe):
    import pyarrow

    values = pyarrow.array([1, 2, 3], pyarrow.int32())
    tensor = take(probe, values.buffers()[1])
    assert tensor.readonly == memoryview(values.buffers()[1]).readonly
    assert take(probe, pyarrow.py_buffer(b"abc")).readonly
    assert np.from_dlpack(tensor).view("i4")[:3].tolist() == [1, 2, 3]
    assert np.from_dlpack(tensor).ctypes.data == values.buffers()[1].address
    cube = pyarrow.Tensor.from_numpy(np.arange(6, dtype="f4").reshape(2, 3).T)
    assert take(probe, cube).strides == (1, 3)


@pytest.mark.partner("mlx")
def test_mlx(probe):
    import mlx.core as mx

    source = mx.arange(6).reshape(2, 3)
    mx.eval(source)
    assert np.from_dlpack(take(probe, source)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert take(probe, mx.zeros((2,), mx.bfloat16)).dtype == "bfloat16"


@pytest.mark.partner("jax")
def test_jax(probe):
    import jax.numpy as jnp

    assert np.from_dlpack(take(probe, jnp.arange(3))).tolist() == [0, 1, 2]
    assert take(probe, jnp.arange(3)).readonly


def strange(probe, format=b"f", itemsize=4, readonly=0, ndim=1, shape=(3,), strides=None, suboffsets=None, refused=0):
    text = None if format is None else format.decode()
    return probe.strange_buffer(text, itemsize, readonly, ndim, shape, strides, suboffsets, 12, refused)


@pytest.mark.parametrize(
    "form, message",
    [
        ({"format": b"B", "itemsize": 2}, '"B" is of items of 1 bytes, but the items have 2'),
        ({"format": None}, '"B" is of items of 1 bytes, but the items have 4'),
        ({"itemsize": 0}, "items have 0"),
        ({"itemsize": -4}, "items have -4"),
        ({"ndim": -1}, "it has -1 dimensions, and a tensor 0 to 64"),
        ({"ndim": 65, "shape": (1,) * 65}, "it has 65 dimensions, and a tensor 0 to 64"),
        ({"ndim": 2, "shape": None}, "it has 2 dimensions, and no shape"),
        ({"shape": (-1,)}, r"shape\[0\] is -1"),
        ({"ndim": 2, "shape": (2**62, 2**62)}, r"2\^63|63 bits"),
        ({"shape": (2**61,), "strides": (4,)}, "2\\^63|address|63 bits"),
        ({"shape": (3,), "strides": (2**62,)}, "2\\^63|address|63 bits"),
        ({"strides": (6,)}, r"strides\[0\] is 6 bytes, no multiple of the 4"),
        ({"suboffsets": (0,), "strides": (8,)}, r"behind pointers \(suboffsets\[0\] is 0\)"),
        ({"format": b">f"}, "byte order of other machines"),
    ],
)
def test_strange_buffers(probe, form, message):
    source = strange(probe, **form)
    before = sys.getrefcount(source)
    with pytest.raises(BufferError, match=f"Strange buffer: .*({message})"):
        take(probe, source)
    assert source.counts() == (1, 1)
    assert sys.getrefcount(source) == before


def test_forms_that_are_unusual_and_right(probe):
    assert take(probe, strange(probe, suboffsets=(-1,))).shape == (3,)
    assert take(probe, strange(probe, format=None, itemsize=1)).dtype == "uint8"
    assert take(probe, strange(probe, ndim=0, shape=None)).shape == ()
    assert take(probe, strange(probe, ndim=64, shape=(1,) * 64)).ndim == 64
    assert take(probe, strange(probe, readonly=1)).readonly
    assert take(probe, strange(probe, shape=(1,), strides=(7,))).shape == (1,)


def test_a_writable_buffer_is_asked_for_only_where_it_matters(probe):
    source = strange(probe, refused=WRITABLE)
    assert take(probe, source).shape == (3,)
    assert take(probe, source, writable=True, copy=True).shape == (3,)
    with pytest.raises(BufferError, match="^refused$"):
        take(probe, source, writable=True)
    assert source.counts()[0] == source.counts()[1] == 2


@pytest.mark.threads
def test_released_once_on_whatever_thread(probe):
    source = strange(probe)
    before = sys.getrefcount(source)
    capsule, *_ = probe.interface_import("buffer", source)
    assert source.counts() == (1, 0)
    managed = hostile.consume(capsule)
    del capsule
    assert source.counts() == (1, 0)
    thread = threading.Thread(target=hostile.end, args=[managed])
    thread.start()
    thread.join()
    assert source.counts() == (1, 1)
    assert sys.getrefcount(source) == before


@pytest.mark.threads
def test_released_on_a_thread_that_python_does_not_know(probe):
    source = strange(probe)
    capsule, *_ = probe.interface_import("buffer", source)
    managed = hostile.consume(capsule)
    pthreads = ctypes.CDLL(None)
    handle = ctypes.c_ulong()
    deleter = ctypes.c_void_p(managed.deleter)
    assert pthreads.pthread_create(ctypes.byref(handle), None, deleter, ctypes.byref(managed)) == 0
    assert pthreads.pthread_join(handle, None) == 0
    assert source.counts() == (1, 1)


def test_references_are_flat(probe):
    source = bytearray(b"abc")
    before = sys.getrefcount(source)
    for _ in range(1000):
        take(probe, source)
        with pytest.raises(BufferError):
            take(probe, memoryview(source).cast("c"))
    assert sys.getrefcount(source) == before
