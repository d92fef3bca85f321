"""Pickles and copies of a Tensor: what comes back, what travels out of band, and what hostile pickles get."""

import copy
import ctypes
import gc
import pickle
import sys

import hostile
import numpy as np
import pytest
from hostile import Foreign

import dlpark
from dlpark._core import _from_buffer

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (3,), (2, 3), (0,), (2, 0, 3), (1, 1, 1), (2,) * 10]


def again(tensor, protocol):
    return pickle.loads(pickle.dumps(tensor, protocol))


def same(first, second):
    return (first.dtype, first.shape, first.tobytes()) == (second.dtype, second.shape, second.tobytes())


def test_an_unpickled_tensor_does_not_say_that_it_is_the_only_owner():
    """IS_COPIED means sole owner, and whoever gave the buffers of a pickle may hold them."""
    copied = dlpark.from_dlpack(np.arange(3), copy=True)
    data, buffers = out_of_band(copied)
    memory = [bytearray(buffer) for buffer in buffers]
    first, second = (pickle.loads(data, buffers=memory) for _ in range(2))
    assert copied.is_copied and not first.is_copied and not second.is_copied
    np.from_dlpack(first)[0] = 7
    assert second.tolist() == [7, 1, 2]
    for back in (first, again(copied, 5), again(copied, 2)):
        assert not hostile.read(back.__dlpack__(max_version=(1, 0))).flags & hostile.IS_COPIED


def out_of_band(tensor):
    buffers = []
    return pickle.dumps(tensor, 5, buffer_callback=buffers.append), buffers


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(protocol, dtype):
    tensor = dlpark.from_dlpack(np.arange(6).reshape(2, 3).astype(dtype))
    back = again(tensor, protocol)
    assert same(back, tensor)
    assert back.strides == (3, 1)
    assert (back.readonly, back.is_copied, back.device) == (False, False, "cpu")
    np.from_dlpack(back)[...] = 0  # memory of its own
    assert tensor.tolist() != back.tolist()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(protocol, shape):
    tensor = dlpark.from_dlpack(np.arange(np.prod(shape, dtype=int)).reshape(shape))
    assert same(again(tensor, protocol), tensor)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "dtype, flags, name",
    [
        ((4, 16, 1), 0, "bfloat16"),
        ((12, 8, 1), 0, "float8_e5m2"),
        ((2, 32, 4), 0, "float32x4"),
        ((1, 4, 1), 0, "uint4"),
        ((17, 4, 1), 0, "float4_e2m1fn"),
        ((17, 4, 1), hostile.PADDED, "float4_e2m1fn"),
    ],
)
def test_dtypes_without_a_format(protocol, dtype, flags, name):
    foreign = Foreign(dtype=dtype, flags=flags, shape=(3, 3))
    ctypes.memmove(foreign.memory, bytes(range(200)), 200)
    tensor = dlpark.from_dlpack(foreign.capsule())
    back = again(tensor, protocol)
    held = hostile.read(back.__dlpack__(max_version=(1, 0)))
    assert (back.dtype, back.shape, held.flags) == (name, (3, 3), flags)
    assert back.nbytes == tensor.nbytes
    assert ctypes.string_at(held.dl_tensor.data, back.nbytes) == bytes(range(back.nbytes))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("legacy", [False, True])
def test_read_only_stays(protocol, legacy):
    foreign = Foreign(legacy=legacy, flags=0 if legacy else hostile.READ_ONLY)
    back = again(dlpark.from_dlpack(foreign.capsule()), protocol)
    assert back.readonly
    assert not np.from_dlpack(back).flags.writeable


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_not_compact_is_copied(protocol):
    array = np.arange(24).reshape(4, 6)[::-1, ::2]
    back = again(dlpark.from_dlpack(array), protocol)
    assert (back.tolist(), back.strides) == (array.tolist(), (3, 1))


def test_out_of_band_is_the_same_memory():
    array = np.arange(1000.0)
    stream, buffers = out_of_band(dlpark.from_dlpack(array))
    assert len(stream) < 200 and len(buffers) == 1
    assert buffers[0].raw().nbytes == array.nbytes
    back = pickle.loads(stream, buffers=buffers)
    assert np.from_dlpack(back).ctypes.data == array.ctypes.data
    assert not back.readonly


@pytest.mark.parametrize("kind, readonly", [(bytearray, False), (bytes, True), (memoryview, True)])
def test_buffers_of_whoever_loads(kind, readonly):
    """The memory of a buffer that must not be written is not, whatever the pickle says."""
    stream, buffers = out_of_band(dlpark.from_dlpack(np.arange(4)))
    given = kind(bytes(buffers[0].raw()))
    back = pickle.loads(stream, buffers=[given])
    assert (back.tolist(), back.readonly) == ([0, 1, 2, 3], readonly)
    if not readonly:
        np.from_dlpack(back)[0] = 9
        assert given[0] == 9
        with pytest.raises(BufferError):
            given.append(0)  # it is in use
        del back
        gc.collect()
        given.append(0)


def test_nobody_can_release_the_buffer():
    """Whatever the garbage collector shows: a memoryview among it could be released behind the tensor's back."""
    source = bytearray(np.arange(1000.0).tobytes())
    pickled, _ = out_of_band(dlpark.from_dlpack(np.arange(1000.0)))
    before = [id(each) for each in gc.get_objects()]
    tensor = pickle.loads(pickled, buffers=[source])
    for each in gc.get_objects():
        if isinstance(each, memoryview) and id(each) not in before:
            each.release()
    with pytest.raises(BufferError, match="cannot be re-sized"):
        source.append(0)
    assert tensor[999].item() == 999
    del tensor
    source.append(0)


def test_read_only_out_of_band():
    array = np.arange(4)
    array.flags.writeable = False
    stream, buffers = out_of_band(dlpark.from_dlpack(array))
    assert buffers[0].raw().readonly
    assert pickle.loads(stream, buffers=[bytearray(buffers[0].raw())]).readonly


def test_the_producer_is_kept_by_the_buffer():
    foreign = Foreign()
    stream, buffers = out_of_band(dlpark.from_dlpack(foreign.capsule()))
    gc.collect()
    assert foreign.calls == []
    back = pickle.loads(stream, buffers=buffers)
    del buffers
    assert foreign.calls == []
    del back
    gc.collect()
    assert len(foreign.calls) == 1


def test_memory_of_a_device():
    tensor = dlpark.from_dlpack(Foreign(device=(hostile.CUDA, 1)).capsule())
    for protocol in PROTOCOLS:
        with pytest.raises(TypeError, match=r"^cannot pickle Tensor\(float32\[2, 3\], cuda:1.*the host cannot read it"):
            pickle.dumps(tensor, protocol)
    with pytest.raises(TypeError):
        copy.deepcopy(tensor)
    assert hostile.read(copy.copy(tensor).__dlpack__()).dl_tensor.device.device_id == 1


def test_page_locked_memory_comes_back_as_the_cpus():
    tensor = dlpark.from_dlpack(Foreign(device=(hostile.CUDA_HOST, 0)).capsule())
    assert again(tensor, 5).device == "cpu"


def test_in_containers():
    tensor = dlpark.from_dlpack(np.arange(3))
    first, second = again([tensor, tensor], 5)
    assert first is second


@pytest.mark.parametrize("protocol", ["5", 5.0, None])
def test_protocols_of_another_kind(protocol):
    with pytest.raises(TypeError):
        dlpark.from_dlpack(np.arange(3)).__reduce_ex__(protocol)


# ---- Hostile pickles ----


@pytest.mark.parametrize(
    "args, error, text",
    [
        ((b"12345678", "int64", (2,), False, False), ValueError, r"i64\[2\].* takes 16 bytes, and the buffer has 8"),
        ((b"12345678", "int64", (), False, False), None, ""),
        ((b"12345678", "int32", (1,), False, False), ValueError, "takes 4 bytes, and the buffer has 8"),
        ((b"", "int32", (1,), False, False), ValueError, "takes 4 bytes, and the buffer has 0"),
        ((b"", "int32", (0,), False, False), None, ""),
        ((b"x", "int32", (0, 5), False, False), ValueError, "takes 0 bytes, and the buffer has 1"),
        ((b"12345678", "int64", (-1,), False, False), ValueError, r"shape\[0\] is -1"),
        ((b"12345678", "int64", (2**62, 4), False, False), ValueError, ""),
        ((b"12345678", "int64", (2**63,), False, False), (ValueError, OverflowError), ""),
        ((b"12345678", "int64", (2**64 + 1,), False, False), (ValueError, OverflowError), ""),
        ((b"12345678", "int64", (1,) * 65, False, False), ValueError, "64"),
        ((b"12345678", "int64", [1], False, False), TypeError, "shape must be a tuple of integers, not list"),
        ((b"12345678", "int64", (1.0,), False, False), TypeError, "shape"),
        ((b"12345678", "int64", ("1",), False, False), TypeError, "shape"),
        ((b"12345678", "nothing", (1,), False, False), (TypeError, ValueError), "nothing"),
        ((b"12345678", b"int64", (1,), False, False), TypeError, "dtype"),
        ((b"12345678", "int65536", (1,), False, False), (TypeError, ValueError), ""),
        ((b"1", "uint4", (2,), False, False), None, ""),
        ((b"1", "uint4", (2,), False, True), ValueError, "takes 2 bytes"),
        ((12345678, "int64", (1,), False, False), TypeError, "bytes-like"),
        (("12345678", "int64", (1,), False, False), TypeError, "bytes-like"),
        ((np.zeros((4, 2), "u1")[:, 0], "uint8", (4,), False, False), ValueError, "contiguous"),  # NumPy's own
        ((memoryview(b"12345678")[::2], "uint8", (4,), False, False), BufferError, "contiguous"),
        ((b"12345678", "int64", (1,), False), TypeError, "5 positional arguments"),
        ((), TypeError, "5 positional arguments"),
    ],
)
def test_what_a_pickle_claims(args, error, text):
    if error is None:
        assert _from_buffer(*args).readonly
        return
    with pytest.raises(error, match=text or None):
        _from_buffer(*args)


def test_references_of_what_is_refused():
    memory, shape = bytearray(8), (3, 2)
    gc.collect()
    before = sys.getrefcount(memory), sys.getrefcount(shape)
    for _ in range(10):
        with pytest.raises(ValueError):
            _from_buffer(memory, "int64", shape, False, False)
        with pytest.raises(TypeError):
            _from_buffer(memory, 3, shape, False, False)
    gc.collect()
    assert (sys.getrefcount(memory), sys.getrefcount(shape)) == before
    memory.append(1)  # nobody holds a buffer of it


def test_truth_that_raises():
    class Untrue:
        def __bool__(self):
            raise KeyError("truth")

    for args in ((Untrue(), False), (False, Untrue())):
        with pytest.raises(KeyError, match="truth"):
            _from_buffer(b"1", "uint8", (1,), *args)


# ---- copy ----


def test_copy_is_the_same_memory():
    foreign = Foreign()
    tensor = dlpark.from_dlpack(foreign.capsule())
    shallow = copy.copy(tensor)
    assert shallow is not tensor
    assert hostile.read(shallow.__dlpack__()).dl_tensor.data == ctypes.addressof(foreign.memory)
    del tensor
    assert foreign.calls == []
    del shallow
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("legacy", [False, True])
def test_copy_stays_read_only(legacy):
    foreign = Foreign(legacy=legacy, flags=0 if legacy else hostile.READ_ONLY)
    shallow = copy.copy(dlpark.from_dlpack(foreign.capsule()))
    assert shallow.readonly
    assert hostile.read(shallow.__dlpack__(max_version=(1, 0))).flags == hostile.READ_ONLY


def test_deepcopy_is_a_copy():
    array = np.arange(6).reshape(2, 3)[:, ::-1]
    array.flags.writeable = False
    tensor = dlpark.from_dlpack(array)
    deep = copy.deepcopy([tensor, tensor])
    assert deep[0] is deep[1]
    assert (deep[0].tolist(), deep[0].readonly, deep[0].is_copied) == (array.tolist(), False, True)
    assert np.from_dlpack(deep[0]).ctypes.data != array.ctypes.data
