"""Elements in memory of their own: copy(), astype(), tobytes(); and of the same memory: numpy()."""

import sys
import threading
import time

import hostile
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from test_index import arrays
from test_value import NARROW, tensor_of

import dlpark

# ---- copy ----


@given(arrays())
@settings(max_examples=200, deadline=None)
def test_copy_is_compact_writable_and_alone(array):
    array.flags.writeable = False
    tensor = dlpark.from_dlpack(array)
    copied = tensor.copy()
    assert (copied.tolist(), copied.shape, copied.dtype) == (tensor.tolist(), tensor.shape, tensor.dtype)
    assert (copied.readonly, copied.is_copied, copied.device) == (False, True, "cpu")
    assert copied.numpy().flags.c_contiguous and copied.numpy().flags.writeable
    assert array.size == 0 or not np.shares_memory(copied.numpy(), array)
    assert copied.copy().is_copied


def test_copy_lets_the_tensor_go():
    foreign = hostile.Foreign(device=(hostile.CUDA_HOST, 0))
    copied = dlpark.from_dlpack(foreign.capsule()).copy()
    assert len(foreign.calls) == 1
    assert copied.device == "cpu"


def test_copy_of_padded_and_packed_elements():
    data = bytes([0x21, 0x43])
    packed = tensor_of(data, (1, 4, 1), (4,))
    assert packed.copy().tolist() == packed.tolist() == [1, 2, 3, 4]
    padded = tensor_of(bytes([1, 2, 3, 4]), (1, 4, 1), (4,), flags=hostile.PADDED)
    assert padded.copy().nbytes == 4
    assert padded.copy().tolist() == [1, 2, 3, 4]


def test_copy_of_what_cannot_be_read():
    tensor = dlpark.from_dlpack(hostile.Foreign(device=(hostile.CUDA, 0)).capsule())
    with pytest.raises(TypeError, match="a copy reads the elements, and the tensor is on cuda:0"):
        tensor.copy()
    with pytest.raises(TypeError, match=r"copy\(\) takes 0 positional arguments, 1 were given"):
        tensor.copy("C")


def test_copy_without_memory():
    huge = dlpark.from_dlpack(np.broadcast_to(np.zeros(2, np.uint8), (2**60, 2)))
    for call in (huge.copy, huge.tobytes, lambda: huge.T.reshape(-1)):
        with pytest.raises(MemoryError):
            call()


# ---- astype ----


@pytest.mark.parametrize("dtype", ["float32", "f32", np.float32, np.dtype("f4")])
def test_astype_to_the_same(dtype):
    tensor = dlpark.from_dlpack(np.arange(3, dtype=np.float32))
    assert tensor.astype(dtype, copy=False) is tensor
    made = tensor.astype(dtype)
    assert (made.is_copied, made.dtype, made.tolist()) == (True, "float32", [0, 1, 2])
    assert tensor.astype(dtype=dtype, copy=True).is_copied


def test_astype_refuses():
    tensor = dlpark.from_dlpack(np.arange(3, dtype=np.float32))
    with pytest.raises(TypeError, match="dtype is <class 'object'>, expected one that DLPack has"):
        tensor.astype(object)
    with pytest.raises(TypeError, match="takes 1 positional argument, 2 were given"):
        tensor.astype("float32", True)
    with pytest.raises(TypeError, match="missing required argument 'dtype'"):
        tensor.astype(copy=True)
    with pytest.raises(UnicodeEncodeError):
        tensor.astype("\ud800")


# ---- tobytes ----


@given(arrays())
@settings(max_examples=200, deadline=None)
def test_tobytes_is_numpys(array):
    assert dlpark.from_dlpack(array).tobytes() == array.tobytes()


def test_tobytes_of_packed_elements_from_inside_a_byte():
    tensor = tensor_of(bytes([0x21, 0x43, 0x65]), (1, 4, 1), (6,))
    assert tensor.tobytes() == b"\x21\x43\x65"
    assert tensor[:5].tobytes() == b"\x21\x43\x05"  # the rest of the last byte is 0
    assert tensor[4::-2].tobytes() == b"\x35\x01"
    padded = tensor_of(bytes([1, 2, 3]), (1, 4, 1), (3,), flags=hostile.PADDED)
    assert padded.tobytes() == b"\x01\x02\x03"


# ---- numpy ----


@given(arrays())
@settings(max_examples=200, deadline=None)
def test_numpy_is_the_same_memory(array):
    mine = dlpark.from_dlpack(array).numpy()
    assert type(mine) is np.ndarray
    assert (mine.shape, mine.dtype, mine.tolist()) == (array.shape, array.dtype, array.tolist())
    assert mine.flags.writeable == array.flags.writeable
    assert array.size == 0 or mine.ctypes.data == array.ctypes.data


@pytest.mark.parametrize("name", "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split())
def test_numpy_dtypes(name):
    array = np.ones((2, 3), name)
    assert dlpark.from_dlpack(array).numpy().dtype == array.dtype


def test_numpy_is_read_only_where_the_tensor_is():
    array = np.zeros(3)
    array.flags.writeable = False
    assert not dlpark.from_dlpack(array).numpy().flags.writeable
    assert not dlpark.from_dlpack(hostile.Foreign(legacy=True).capsule()).numpy().flags.writeable
    narrow = dlpark.from_dlpack(hostile.Foreign(dtype=(4, 16, 1), flags=hostile.READ_ONLY).capsule())
    assert not narrow.numpy().flags.writeable
    writable = np.zeros(3)
    dlpark.from_dlpack(writable)[1:].numpy()[0] = 5
    assert writable.tolist() == [0, 5, 0]


def test_numpy_keeps_the_memory_alive():
    foreign = hostile.Foreign(dtype=(4, 16, 1))
    array = dlpark.from_dlpack(foreign.capsule()).numpy()
    assert foreign.calls == []
    del array
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("code, name", [(4, "bfloat16"), *NARROW.items()])
def test_numpy_of_the_narrow_floats(code, name):
    bits = 16 if code == 4 else int(name[5])
    dtype = np.dtype(getattr(ml_dtypes, name))
    values = np.array([0.5, 1, 2, 1, 0.5, 2], dtype)
    tensor = tensor_of(values.tobytes(), (code, bits, 1), (2, 3), flags=hostile.PADDED if bits < 8 else 0)
    array = tensor.T.numpy()
    assert array.dtype == dtype
    assert array.astype(float).tolist() == values.reshape(2, 3).T.astype(float).tolist()
    assert array.base is not None


@pytest.mark.parametrize("code, bits, name", [(c, b, f"{'u' * c}int{b}") for c in (0, 1) for b in (2, 4)])
def test_numpy_of_the_narrow_integers(code, bits, name):
    tensor = tensor_of(bytes([1, 0, 1]), (code, bits, 1), (3,), flags=hostile.PADDED)
    assert tensor.numpy().dtype == np.dtype(getattr(ml_dtypes, name))
    assert tensor.numpy().astype(int).tolist() == [1, 0, 1]


ML_TYPES = [name for name, kind in vars(ml_dtypes).items() if isinstance(kind, type) and name not in ("finfo", "iinfo")]


@pytest.mark.parametrize("name", ML_TYPES)
def test_every_type_of_ml_dtypes_comes_and_goes(name):
    array = np.arange(4).astype(getattr(ml_dtypes, name))
    if name == "bcomplex32":  # DLPack has no code for it
        with pytest.raises(BufferError):
            dlpark.from_dlpack(array)
        return
    tensor = dlpark.from_dlpack(array)
    assert tensor.dtype == name
    back = tensor.numpy()
    assert back.dtype == array.dtype and np.shares_memory(back, array)
    assert tensor[::2].numpy().tobytes() == array[::2].tobytes()


def test_lanes_become_a_dimension():
    values = np.arange(16, dtype=np.float32)
    tensor = tensor_of(values.tobytes(), (2, 32, 4), (2, 2))
    assert np.array_equal(tensor.numpy(), values.reshape(2, 2, 4))
    assert np.array_equal(tensor.T[::-1].numpy(), values.reshape(2, 2, 4).swapaxes(0, 1)[::-1])
    assert tensor[1, 1].numpy().tolist() == [12, 13, 14, 15]
    narrow = tensor_of(np.arange(8, dtype=np.uint16).tobytes(), (4, 16, 2), (4,))
    assert (narrow.numpy().shape, narrow.numpy().dtype.name) == ((4, 2), "bfloat16")
    full = dlpark.from_dlpack(hostile.Foreign(dtype=(2, 32, 4), shape=(1,) * 64).capsule())
    with pytest.raises(ValueError, match="the rank is 64 already"):
        full.numpy()


@pytest.mark.parametrize(
    "dtype, flags, name",
    [
        ((0, 128, 1), 0, "int128"),
        ((2, 128, 1), 0, "float128"),
        ((3, 64, 1), 0, "opaque64"),
        ((1, 4, 1), 0, "packed uint4"),
        ((17, 4, 1), 0, "packed float4_e2m1fn"),
        ((15, 6, 1), 0, "packed float6_e2m3fn"),
        ((1, 4, 2), 0, "uint4x2"),
        ((1, 4, 3), hostile.PADDED, "packed uint4x3"),
    ],
)
def test_what_numpy_cannot_say(dtype, flags, name):
    tensor = dlpark.from_dlpack(hostile.Foreign(dtype=dtype, shape=(2,), flags=flags).capsule())
    with pytest.raises(TypeError, match=f"NumPy has no dtype for {name}"):
        tensor.numpy()


def test_without_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    tensor = dlpark.from_dlpack(hostile.Foreign(dtype=(4, 16, 1)).capsule())
    with pytest.raises(ModuleNotFoundError, match="bfloat16 through the package ml_dtypes, which is not installed"):
        tensor.numpy()
    assert tensor.tolist() == [[0.0] * 3] * 2


def test_with_an_older_ml_dtypes(monkeypatch):
    monkeypatch.delattr(ml_dtypes, "float4_e2m1fn")
    tensor = dlpark.from_dlpack(hostile.Foreign(dtype=(17, 4, 1), flags=hostile.PADDED).capsule())
    with pytest.raises(TypeError, match="the installed ml_dtypes has no float4_e2m1fn"):
        tensor.numpy()


def test_without_numpy(monkeypatch):
    tensor = dlpark.from_dlpack(hostile.Foreign().capsule())
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        tensor.numpy()


# ---- Threads ----


@pytest.mark.threads
@pytest.mark.parametrize("call", [lambda t: t.copy(), lambda t: t.tobytes(), lambda t: t.reshape(-1)])
def test_large_copies_let_other_threads_run(call):
    """Nobody is made to give up the interpreter here: the other thread runs only where a call lets it."""
    tensor = dlpark.from_dlpack(np.zeros((512, 1024), np.uint64).T)
    count, stop = [0], []

    def run():
        while not stop:
            count[0] += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=run)
    try:
        thread.start()
        ran = False
        for _ in range(500):
            before = count[0]
            call(tensor)
            ran = ran or count[0] > before
            if ran:
                break
    finally:
        stop.append(True)
        sys.setswitchinterval(interval)
        thread.join()
    assert ran


@pytest.mark.threads
def test_threads_that_share_a_tensor():
    """Parts, copies and views of one tensor from several threads; each ends its own."""
    foreign = hostile.Foreign(shape=(64, 16), dtype=(0, 32, 1))
    tensor = dlpark.from_dlpack(foreign.capsule())
    failures = []

    def work():
        for i in range(300):
            part = tensor[i % 64, ::-1].reshape(4, 4).T
            if part.copy().tolist() != [[0] * 4] * 4 or len(part.tobytes()) != 64:
                failures.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    del tensor
    assert len(foreign.calls) == 1
