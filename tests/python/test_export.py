"""Tensor.__dlpack__: the answers to every request, and the life of what is given out."""

import ctypes
import gc
import itertools
import subprocess
import sys
import textwrap
import threading
import weakref

import hostile
import numpy as np
import pytest
from hostile import Foreign

import dlpark

COPIES = [None, False, True]
VERSIONS = [None, (0, 0), (1, 0), (1, 3), (2, 0)]
DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (3, 2), (0,), (2, 0, 3), ()])
def test_array_api_matrix(dtype, shape):
    """As array-api-tests asks: no combination raises for a writable tensor on the CPU."""
    tensor = dlpark.from_dlpack(np.ones(shape, dtype))
    for copy, max_version, dl_device in itertools.product(COPIES, VERSIONS, [None, (1, 0)]):
        capsule = tensor.__dlpack__(copy=copy, max_version=max_version, dl_device=dl_device)
        legacy = max_version is None or max_version[0] == 0
        assert hostile.capsule_name(capsule) == (hostile.LEGACY if legacy else hostile.VERSIONED)
        held = hostile.read(capsule)
        own = hostile.read(tensor.__dlpack__())  # shares
        if legacy is False:
            assert (held.version.major, held.version.minor) == (1, 3)
            assert held.flags == (hostile.IS_COPIED if copy else 0)
        assert held.dl_tensor.byte_offset == 0
        assert bool(held.dl_tensor.data) == (0 not in shape)
        if 0 not in shape:
            assert (held.dl_tensor.data == own.dl_tensor.data) is (copy is not True)
        if shape:
            assert bool(held.dl_tensor.strides)
        result = np.from_dlpack(hostile.Offer(lambda **_: capsule))
        assert (result.dtype, result.shape) == (np.dtype(dtype), shape)
        assert (result == 1).all()


def test_device_type_is_of_the_standard():
    kind, index = dlpark.from_dlpack(np.zeros(1)).__dlpack_device__()
    assert (kind, index) == (1, 0)


def test_every_call_makes_a_header_of_its_own():
    tensor = dlpark.from_dlpack(np.zeros(3))
    first, second = (tensor.__dlpack__(max_version=(1, 0)) for _ in range(2))
    assert ctypes.addressof(hostile.read(first)) != ctypes.addressof(hostile.read(second))
    assert hostile.read(first).dl_tensor.data == hostile.read(second).dl_tensor.data


def test_copies_are_isolated_and_are_not_claimed_of_shared_memory():
    array = np.arange(6).reshape(2, 3)[:, ::-1]
    tensor = dlpark.from_dlpack(array, copy=True)
    assert tensor.is_copied
    assert hostile.read(tensor.__dlpack__(max_version=(1, 0))).flags == 0  # this call did not copy
    copied = np.from_dlpack(tensor, copy=True)
    copied[:] = -1
    assert np.asarray(tensor).tolist() == array.tolist() == [[2, 1, 0], [5, 4, 3]]


def test_large_copy_is_the_same():
    array = np.arange(1 << 16, dtype=np.int64).reshape(256, 256).T
    assert (np.from_dlpack(dlpark.from_dlpack(array), copy=True) == array).all()


# ---- Read-only ----


def read_only():
    array = np.arange(3)
    array.flags.writeable = False
    return dlpark.from_dlpack(array)


def test_read_only_travels():
    tensor = read_only()
    assert tensor.readonly
    assert hostile.read(tensor.__dlpack__(max_version=(1, 0))).flags == hostile.READ_ONLY
    assert np.from_dlpack(tensor).flags.writeable is False
    assert dlpark.from_dlpack(tensor).readonly


@pytest.mark.parametrize("keywords", [{}, {"max_version": (0, 8)}, {"copy": False}])
def test_read_only_never_becomes_legacy(keywords):
    text = r"^the tensor is read-only, which a legacy capsule cannot say; ask with max_version=\(1, 0\) or copy=True$"
    with pytest.raises(BufferError, match=text):
        read_only().__dlpack__(**keywords)


def test_read_only_copied_may_be_legacy():
    assert hostile.capsule_name(read_only().__dlpack__(copy=True)) == hostile.LEGACY


LEGACY_ORIGINS = {
    "imported": lambda foreign: dlpark.from_dlpack(foreign.capsule()),
    "shared": lambda foreign: dlpark.from_dlpack(dlpark.from_dlpack(foreign.capsule())),
    "relabelled": lambda foreign: dlpark.from_dlpack(foreign.capsule(), device="cpu"),
    "legacy again": lambda foreign: dlpark.from_dlpack(dlpark.from_dlpack(foreign.capsule()).__dlpack__()),
}


@pytest.mark.parametrize("make", LEGACY_ORIGINS.values(), ids=LEGACY_ORIGINS)
def test_legacy_origin(make):
    """Nobody said whether it may be written: a versioned capsule says no, a legacy one says as little as before."""
    foreign = Foreign(legacy=True, device=(hostile.CUDA_HOST, 0))
    tensor = make(foreign)
    assert tensor.readonly
    versioned, legacy = hostile.read(tensor.__dlpack__(max_version=(1, 0))), hostile.read(tensor.__dlpack__())
    assert versioned.flags == hostile.READ_ONLY
    assert versioned.dl_tensor.data == legacy.dl_tensor.data == ctypes.addressof(foreign.memory)
    assert foreign.calls == []
    del tensor, versioned, legacy
    assert len(foreign.calls) == 1


def test_numpy_legacy_to_legacy():
    array = np.arange(6)
    back = np.from_dlpack(hostile.Offer(lambda **_: dlpark.from_dlpack(array.__dlpack__()).__dlpack__()))
    assert np.shares_memory(back, array)


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("strides", [(77, 1), (1, 1), (0, 1), (-5, 1)])
def test_strides_of_an_extent_of_one_are_given_out_as_they_came(version, strides):
    tensor = dlpark.from_dlpack(Foreign(shape=(1, 77), strides=strides).capsule())
    assert tensor.strides == strides
    held = hostile.read(tensor.__dlpack__(max_version=version)).dl_tensor
    assert tuple(held.strides[:2]) == strides


def test_padded_travels_and_never_becomes_legacy():
    tensor = dlpark.from_dlpack(Foreign(dtype=(17, 4, 1), flags=hostile.PADDED).capsule())
    assert hostile.read(tensor.__dlpack__(max_version=(1, 0))).flags == hostile.PADDED
    copied = tensor.__dlpack__(max_version=(1, 0), copy=True)
    assert hostile.read(copied).flags == hostile.PADDED | hostile.IS_COPIED
    text = r"float4_e2m1fn elements are padded, which a legacy capsule cannot say; ask with max_version=\(1, 0\)$"
    with pytest.raises(BufferError, match=text):
        tensor.__dlpack__()


# ---- Requests ----


@pytest.mark.parametrize("pair", [1, "11", [1, 0], (1,), (1, 0, 0), ("1", 0), (1.0, 0), (1, None), (2**80, 0)])
@pytest.mark.parametrize("keyword", ["max_version", "dl_device"])
def test_malformed_pairs(keyword, pair):
    with pytest.raises(TypeError, match=keyword):
        dlpark.from_dlpack(np.zeros(1)).__dlpack__(**{keyword: pair})


def test_negative_version():
    with pytest.raises(TypeError, match="max_version"):
        dlpark.from_dlpack(np.zeros(1)).__dlpack__(max_version=(-1, 0))


def test_pairs_of_other_integer_types():
    import enum
    import typing

    class Kind(enum.IntEnum):
        CPU = 1

    class Pair(typing.NamedTuple):
        first: int
        second: int

    tensor = dlpark.from_dlpack(np.zeros(1))
    capsule = tensor.__dlpack__(max_version=Pair(np.uint8(1), np.int64(0)), dl_device=(Kind.CPU, np.int8(0)))
    assert hostile.capsule_name(capsule) == hostile.VERSIONED


def test_positional_and_unknown_keywords():
    tensor = dlpark.from_dlpack(np.zeros(1))
    with pytest.raises(TypeError, match="keyword"):
        tensor.__dlpack__(None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'version'"):
        tensor.__dlpack__(version=(1, 0))


@pytest.mark.parametrize("stream", [None, -1, np.int64(-1)])
def test_stream_on_the_host(stream):
    assert dlpark.from_dlpack(np.zeros(1)).__dlpack__(stream=stream) is not None


@pytest.mark.parametrize("stream", [0, 1, 2, 12345, 2**70, "1", object()])
def test_stream_on_the_host_that_means_nothing(stream):
    with pytest.raises(ValueError, match="stream="):
        dlpark.from_dlpack(np.zeros(1)).__dlpack__(stream=stream)


@pytest.mark.parametrize(
    "device, stream, error",
    [
        (2, None, None),
        (2, 1, None),
        (2, -1, None),
        (2, 0, ValueError),
        (2, 2, BufferError),
        (2, 140000000000, BufferError),
        (10, 0, None),
        (10, 1, ValueError),
        (10, 2, ValueError),
        (10, 77, BufferError),
        (8, None, None),
        (8, 3, BufferError),
        (8, -1, None),
    ],
)
def test_stream_on_a_device(device, stream, error):
    tensor = dlpark.from_dlpack(Foreign(device=(device, 0)).capsule())
    if error is None:
        assert tensor.__dlpack__(stream=stream) is not None
        return
    with pytest.raises(error, match=f"stream={stream}"):
        tensor.__dlpack__(stream=stream)


def test_another_device():
    tensor = dlpark.from_dlpack(np.zeros(1))
    for copy in (None, True):
        with pytest.raises(BufferError, match="cpu and cannot be copied to cuda:0: the driver of CUDA") as caught:
            tensor.__dlpack__(dl_device=(2, 0), copy=copy)
        assert not isinstance(caught.value, ValueError)
    with pytest.raises(dlpark.DeviceCopyError):
        tensor.__dlpack__(dl_device=(2, 0), copy=False)


def test_managed_memory_is_not_given_out_as_the_hosts():
    tensor = dlpark.from_dlpack(Foreign(device=(13, 0)).capsule())
    with pytest.raises(BufferError, match="cuda_managed and cannot be copied to cpu: the driver of CUDA"):
        tensor.__dlpack__(dl_device=(1, 0))


def test_own_device_by_name_of_its_numbers():
    tensor = dlpark.from_dlpack(Foreign(device=(hostile.CUDA, 1)).capsule())
    assert hostile.read(tensor.__dlpack__(dl_device=(2, 1))).dl_tensor.device.device_id == 1
    with pytest.raises(BufferError, match="cuda:1 and cannot be copied to cuda:1"):
        tensor.__dlpack__(copy=True)


def test_page_locked_memory_as_cpu():
    tensor = dlpark.from_dlpack(Foreign(device=(hostile.CUDA_HOST, 0)).capsule())
    assert hostile.read(tensor.__dlpack__()).dl_tensor.device.device_type == hostile.CUDA_HOST
    assert hostile.read(tensor.__dlpack__(dl_device=(1, 0), copy=False)).dl_tensor.device.device_type == hostile.CPU


# ---- The life of an export ----


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_dropped_unconsumed(version):
    foreign = Foreign()
    tensor = dlpark.from_dlpack(foreign.capsule())
    capsule = tensor.__dlpack__(max_version=version)
    del tensor
    assert foreign.calls == []
    del capsule
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_consumed_and_ended_once(version):
    foreign = Foreign()
    tensor = dlpark.from_dlpack(foreign.capsule())
    capsule = tensor.__dlpack__(max_version=version)
    managed = hostile.consume(capsule)
    del tensor, capsule
    assert foreign.calls == []
    hostile.end(managed)
    assert len(foreign.calls) == 1


@pytest.mark.threads
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_ended_on_a_thread_that_python_does_not_know(version):
    """pthread_create straight into the deleter: no thread state, no GIL."""
    foreign = Foreign()
    tensor = dlpark.from_dlpack(foreign.capsule())
    managed = hostile.consume(tensor.__dlpack__(max_version=version))
    reference = weakref.ref(tensor)
    del tensor
    pthreads = ctypes.CDLL(None)
    handle = ctypes.c_ulong()
    assert pthreads.pthread_create(
        ctypes.byref(handle), None, ctypes.c_void_p(managed.deleter), ctypes.byref(managed)
    ) == 0
    assert pthreads.pthread_join(handle, None) == 0
    assert reference() is None
    assert len(foreign.calls) == 1
    assert foreign.calls != [threading.get_ident()]


@pytest.mark.threads
def test_eight_threads_and_one_tensor():
    """Given out, copied without the GIL, taken in and ended on other threads than it was made on."""
    foreign = Foreign(dtype=(0, 64, 1), shape=(256, 256), strides=(0, 1))
    expected = np.arange(256)
    np.frombuffer(foreign.memory, np.int64)[:256] = expected
    tensor = dlpark.from_dlpack(foreign.capsule())
    barrier = threading.Barrier(8)
    right = []

    def work(version):
        barrier.wait()
        for _ in range(10):
            copied = np.asarray(dlpark.from_dlpack(tensor, copy=True))
            shared = np.asarray(dlpark.from_dlpack(tensor.__dlpack__(max_version=version)))
            right.append((copied == expected).all() and (shared == expected).all())

    threads = [threading.Thread(target=work, args=[(1, 0) if index % 2 else None]) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 80
    assert foreign.calls == []
    del tensor
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_destructor_keeps_a_pending_exception(version):
    """The interpreter drops what a failing expression has made so far while its exception is set."""

    def fail():
        raise KeyError("pending")

    foreign = Foreign()
    tensors = [dlpark.from_dlpack(foreign.capsule())]
    with pytest.raises(KeyError, match="pending"):
        _ = [tensors.pop().__dlpack__(max_version=version), fail()]
    assert len(foreign.calls) == 1  # a callback written in Python, which the pending exception would have broken


def test_tensor_dies_with_an_exception_pending():
    def fail():
        raise KeyError("pending")

    foreign = Foreign()
    with pytest.raises(KeyError, match="pending"):
        _ = [dlpark.from_dlpack(foreign.capsule()), fail()]
    assert len(foreign.calls) == 1


STATIC = """
    import ctypes, sys
    sys.path.insert(0, {tests!r})
    import hostile, numpy, dlpark

    tensor = dlpark.from_dlpack(numpy.zeros(3))
    managed = hostile.consume(tensor.__dlpack__(max_version={version}))
    # What a C++ static does: the deleter runs in an exit handler of libc, after the interpreter is gone.
    libc = ctypes.CDLL(None)
    assert libc.__cxa_atexit(ctypes.c_void_p(managed.deleter), ctypes.byref(managed), None) == 0
    kept = ctypes.pythonapi.Py_IncRef
    kept.argtypes = [ctypes.py_object]
    kept(managed)
"""


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_ended_after_the_interpreter(version):
    import pathlib

    script = textwrap.dedent(STATIC).format(tests=str(pathlib.Path(__file__).parent), version=version)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_alive_at_exit():
    """Tensors, capsules and arrays over them in module globals and cycles, when the interpreter ends."""
    script = """
        import numpy, dlpark
        tensor = dlpark.from_dlpack(numpy.zeros(3))
        capsule = tensor.__dlpack__()
        array = numpy.from_dlpack(tensor)
        memory = memoryview(tensor)
        cycle = [tensor, capsule, array]
        cycle.append(cycle)
        numpy.kept = cycle
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_references_are_lost():
    array = np.zeros(3)
    tensor = dlpark.from_dlpack(array)
    gc.collect()  # tensors of earlier tests that wait in cycles would be counted as lost
    before = (sys.getrefcount(tensor), sys.getrefcount(array), sys.getrefcount(dlpark.Tensor))
    for copy, version in itertools.product(COPIES, VERSIONS):
        tensor.__dlpack__(copy=copy, max_version=version)
        np.from_dlpack(tensor, copy=copy)
        dlpark.from_dlpack(tensor, copy=copy)
        dlpark.from_dlpack(array, copy=copy)
        with pytest.raises(BufferError):
            tensor.__dlpack__(dl_device=(2, 0), copy=copy)
        with pytest.raises(TypeError):
            tensor.__dlpack__(max_version=(1,), copy=copy)
    gc.collect()
    assert (sys.getrefcount(tensor), sys.getrefcount(array), sys.getrefcount(dlpark.Tensor)) == before
