"""Tensors as the dicts of the array interfaces."""

import hostile
import numpy as np
import pytest
from hostile import READ_ONLY, Foreign

import dlpark

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
CUDA, CUDA_HOST, METAL, ROCM, CUDA_MANAGED = 2, 3, 8, 10, 13


def capsule_of(array):
    return dlpark.from_dlpack(array).__dlpack__(max_version=(1, 3))


def describe(probe, array):
    return probe.array_interface(capsule_of(array), array)


class Source:
    def __init__(self, interface, keep):
        self.__array_interface__ = interface
        self.keep = keep


@pytest.mark.parametrize("dtype", NUMBERS)
def test_as_numpy_says(probe, dtype):
    array = np.ones((3, 4), dtype)
    for part in (array, array[::2, ::-1], array.T, array[1, 1:2], array[:, :0], array[0, 0, None]):
        expected = {key: value for key, value in part.__array_interface__.items() if key != "descr"}
        said = describe(probe, part)
        if part.size == 0:
            expected["data"] = (0, False)
            expected["strides"] = None
        assert said == expected
        assert [type(value) for value in said["data"]] == [int, bool]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numpy_reads_it(probe, dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)[::-1, ::2]
    seen = np.asarray(Source(describe(probe, array), array))
    assert (seen.dtype, seen.strides, seen.ctypes.data) == (array.dtype, array.strides, array.ctypes.data)
    assert seen.flags.writeable
    np.testing.assert_array_equal(seen, array)


def test_read_only(probe):
    for keywords in ({"flags": READ_ONLY}, {"legacy": True}):
        tensor = dlpark.from_dlpack(Foreign(**keywords).capsule())
        said = probe.array_interface(tensor.__dlpack__(max_version=(1, 3)), tensor)
        assert said["data"][1] is True
        assert not np.asarray(Source(said, tensor)).flags.writeable
    said = probe.array_interface(Foreign(legacy=True).capsule(), None)
    assert said["data"][1] is True


def test_rank_0_and_64(probe):
    assert describe(probe, np.array(3.0))["shape"] == ()
    assert np.asarray(Source(describe(probe, np.ones((1,) * 64)), None)).ndim == 64


def test_strides_that_mean_nothing(probe):
    foreign = Foreign(shape=(1, 3), strides=(2**62, 2), dtype=(2, 64, 1))
    assert probe.array_interface(foreign.capsule(), None)["strides"] == (8, 16)


@pytest.mark.parametrize("device", [(CUDA, 1), (ROCM, 0), (METAL, 0), (CUDA_MANAGED, 0)])
def test_what_the_host_cannot_read(probe, device):
    foreign = Foreign(device=device)
    with pytest.raises(AttributeError, match="list has no __array_interface__: the host cannot read memory on"):
        probe.array_interface(foreign.capsule(), [])
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("dtype", [(4, 16, 1), (2, 32, 4), (0, 4, 1), (10, 8, 1)])
@pytest.mark.parametrize("device", [(1, 0), (CUDA, 0)])
def test_dtypes_without_a_typestr(probe, dtype, device):
    function = probe.array_interface if device == (1, 0) else probe.cuda_array_interface
    with pytest.raises(AttributeError, match="list has no __.*array_interface__: .* no dtype for"):
        function(Foreign(dtype=dtype, device=device).capsule(), [])


def test_page_locked_memory_is_the_hosts(probe):
    assert probe.array_interface(Foreign(device=(CUDA_HOST, 0)).capsule(), None)["shape"] == (2, 3)


# ---- CUDA ----


@pytest.mark.parametrize("kind", [CUDA, CUDA_MANAGED])
def test_cuda(probe, kind):
    foreign = Foreign(device=(kind, 0), data=0x10000, byte_offset=16, strides=(6, 2))
    said = probe.cuda_array_interface(foreign.capsule(), None)
    assert said == {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (0x10010, False),
        "strides": (24, 8),
        "version": 3,
        "stream": 1,
    }
    said = probe.cuda_array_interface(Foreign(device=(kind, 0), flags=READ_ONLY).capsule(), None)
    assert said["data"][1] is True
    assert said["strides"] is None


def test_cuda_without_elements(probe):
    said = probe.cuda_array_interface(Foreign(device=(CUDA, 0), shape=(0, 3), data=0x10000).capsule(), None)
    assert (said["data"], said["strides"], said["shape"]) == ((0, False), None, (0, 3))


@pytest.mark.parametrize("stream, expected", [(None, 1), (0, 1), (2, 2), (0x7000_0000_1000, 0x7000_0000_1000)])
def test_stream(probe, stream, expected):
    """0 is forbidden in the interface, and is the default stream where the exchange table says it."""
    said = probe.cuda_array_interface(Foreign(device=(CUDA, 0)).capsule(), None, stream)
    assert said["stream"] == expected


@pytest.mark.parametrize("device", [(1, 0), (CUDA_HOST, 0), (ROCM, 0), (METAL, 0)])
def test_not_cuda(probe, device):
    foreign = Foreign(device=device)
    with pytest.raises(AttributeError, match="list has no __cuda_array_interface__: the memory is on"):
        probe.cuda_array_interface(foreign.capsule(), [])
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("stream", [None, 0x1000])
def test_there_and_back(probe, stream):
    foreign = Foreign(device=(CUDA, 0), data=0x10000, strides=(6, 2), flags=READ_ONLY)

    class Owner:
        __cuda_array_interface__ = probe.cuda_array_interface(foreign.capsule(), None, stream)

    capsule, is_copied, _ = probe.interface_import("cuda_array_interface", Owner(), stream=stream)
    back = hostile.read(capsule)
    assert (back.dl_tensor.data, list(back.dl_tensor.strides[:2]), back.flags) == (0x10000, [6, 2], READ_ONLY)
    assert not is_copied
