"""Layouts of any kind, given out by NumPy in each of the four ways: they come back equal, in the same memory."""

import interfaces
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dlpark

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


class AsCuda:
    """Says that the host's memory is a CUDA device's."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = {**array.__array_interface__, "stream": None}


@st.composite
def arrays(draw, orders="="):
    """An array that starts somewhere within its memory, sliced, turned, broadcast, and perhaps read-only."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES))).newbyteorder(draw(st.sampled_from(orders)))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5))
    nbytes = int(np.prod(shape, dtype=int)) * dtype.itemsize
    offset = draw(st.integers(0, 7))  # aligned or not
    memory = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).integers(0, 2, nbytes + offset, np.uint8)
    array = memory[offset:].view(dtype).reshape(shape) if nbytes else np.zeros(shape, dtype)
    if draw(st.booleans()):
        array = array[draw(hnp.basic_indices(array.shape, allow_newaxis=True, max_dims=8))]
        array = np.asarray(array)
    if draw(st.booleans()):
        array = array.transpose(draw(st.permutations(range(array.ndim))))
    if draw(st.integers(0, 4)) == 0:
        array = np.broadcast_to(array, (draw(st.integers(1, 3)), *array.shape))
    if draw(st.booleans()):
        array = array.view()
        array.flags.writeable = False
    return array


def strides_that_matter(array):
    if array.size == 0:
        return ()
    return tuple(stride for stride, extent in zip(array.strides, array.shape) if extent != 1)


@pytest.mark.parametrize("way", ["array_interface", "array_struct", "buffer"])
@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_host(probe, way, data):
    array = data.draw(arrays())
    tensor = interfaces.take(probe, way, array)
    assert tensor.readonly == (not array.flags.writeable)
    seen = np.from_dlpack(tensor)
    assert (seen.dtype, seen.shape) == (array.dtype, array.shape)
    assert strides_that_matter(seen) == strides_that_matter(array)
    assert array.size == 0 or seen.ctypes.data == array.ctypes.data
    assert array.size == 0 or seen.flags.writeable == array.flags.writeable
    np.testing.assert_array_equal(seen, array)


@pytest.mark.parametrize("way", ["array_interface", "array_struct", "buffer"])
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_other_byte_order(probe, way, data):
    array = data.draw(arrays(orders=">"))
    if array.dtype.isnative:  # of one byte
        return
    with pytest.raises(BufferError, match="byte order"):
        interfaces.take(probe, way, array)
    tensor = interfaces.take(probe, way, array, byteswap=True)
    assert tensor.is_copied and not tensor.readonly
    seen = np.from_dlpack(tensor)
    assert seen.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(seen, array)


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_cuda(probe, data):
    array = data.draw(arrays())
    tensor = interfaces.take(probe, "cuda_array_interface", AsCuda(array))
    assert (tensor.device, tensor.shape, tensor.dtype) == ("cuda:0", array.shape, array.dtype.name)
    assert tensor.readonly == (not array.flags.writeable)
    again = probe.cuda_array_interface(tensor.__dlpack__(max_version=(1, 3), stream=-1), tensor)
    assert array.size == 0 or again["data"] == (array.ctypes.data, tensor.readonly)
    back = np.asarray(type("Host", (), {"__array_interface__": again})())
    assert strides_that_matter(back) == strides_that_matter(array)
    np.testing.assert_array_equal(back, array)


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_there_and_back(probe, data):
    array = data.draw(arrays())
    said = probe.array_interface(dlpark.from_dlpack(array).__dlpack__(max_version=(1, 3)), None)
    source = type("Source", (), {"__array_interface__": said})()
    for seen in (np.asarray(source), np.from_dlpack(interfaces.take(probe, "array_interface", source))):
        assert (seen.dtype, seen.shape) == (array.dtype, array.shape)
        assert array.size == 0 or seen.flags.writeable == array.flags.writeable
        assert strides_that_matter(seen) == strides_that_matter(array)
        np.testing.assert_array_equal(seen, array)
