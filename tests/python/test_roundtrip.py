"""Round trips through NumPy: any dtype, shape and strides, both ABIs, both ways."""

import ctypes

import hostile
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import dlpark

DTYPES = st.sampled_from("? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split())


@st.composite
def arrays(draw):
    """An array and a view of it that basic indexing and transposition can make: gaps, negative and zero strides."""
    dtype = np.dtype(draw(DTYPES))
    shape = draw(npst.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5))
    numbers = np.arange(np.prod(shape, dtype=int) * dtype.itemsize) * 37 % 251
    array = numbers.astype(np.uint8).view(dtype).reshape(shape) if dtype != bool else (numbers % 2 == 0).reshape(shape)
    index = draw(npst.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    index = index if isinstance(index, tuple) else (index,)
    array = array[index] if Ellipsis in index else array[*index, ...]  # with an ellipsis always an array
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    if draw(st.booleans()) and array.ndim < 5:
        array = np.lib.stride_tricks.as_strided(array, (3, *array.shape), (0, *array.strides))
    return array


def as_bytes(array):
    return np.ascontiguousarray(array).tobytes()


@given(arrays())
def test_numpy_and_back(array):
    tensor = dlpark.from_dlpack(array)
    assert tensor.shape == array.shape
    assert tensor.dtype == array.dtype.name
    assert (tensor.size, tensor.nbytes) == (array.size, array.nbytes)
    for back in (np.from_dlpack(tensor), np.asarray(tensor), np.from_dlpack(dlpark.from_dlpack(tensor))):
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert as_bytes(back) == as_bytes(array)
        assert array.size == 0 or np.shares_memory(back, array)
        assert array.size <= 1 or back.strides == tuple(
            theirs if extent > 1 else ours
            for theirs, ours, extent in zip(array.strides, back.strides, array.shape, strict=True)
        )


@given(arrays())
def test_legacy_both_ways(array):
    tensor = dlpark.from_dlpack(array.__dlpack__())
    assert tensor.readonly
    copied = dlpark.from_dlpack(tensor, copy=True)
    for given in (tensor, copied):
        back = np.from_dlpack(hostile.Offer(lambda **_: given.__dlpack__()))
        assert back.flags.writeable is (back.size == 0)  # NumPy's rule for legacy, and for no memory at all
        assert np.shares_memory(back, array) is (given is tensor and array.size > 0)
        assert as_bytes(back) == as_bytes(array)


@given(arrays())
def test_copies(array):
    for tensor, is_ours in (
        (dlpark.from_dlpack(array, copy=True), False),  # NumPy makes it, in an order of its own
        (dlpark.from_dlpack(array.__dlpack__(), copy=True), True),
        (dlpark.from_dlpack(dlpark.from_dlpack(array), copy=True), True),
    ):
        assert tensor.is_copied
        seen = np.asarray(tensor)
        assert seen.flags.c_contiguous or not is_ours
        assert not np.shares_memory(seen, array)
        assert as_bytes(seen) == as_bytes(array)


@given(arrays(), st.booleans())
def test_read_only(array, writeable):
    array = array.view()
    array.flags.writeable = writeable
    tensor = dlpark.from_dlpack(array)
    assert tensor.readonly is not writeable
    assert np.from_dlpack(tensor).flags.writeable is (writeable or array.size == 0)
    assert np.asarray(tensor).flags.writeable is writeable


CODES = {
    "bfloat16": (4, 16, 1),
    "float8_e3m4": (7, 8, 1),
    "float8_e4m3": (8, 8, 1),
    "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e4m3fnuz": (11, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e5m2fnuz": (13, 8, 1),
    "float8_e8m0fnu": (14, 8, 1),
}


@pytest.mark.parametrize("name, code", CODES.items())
def test_dtypes_of_ml_dtypes(name, code):
    """The names are ml_dtypes' own; and a copy moves the bytes."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    foreign = hostile.Foreign(dtype=code, shape=(2, 3), strides=(1, 2))
    values = np.arange(1, 7, dtype=np.float32).astype(dtype)
    foreign.memory[: values.nbytes] = values.tobytes()
    tensor = dlpark.from_dlpack(foreign.capsule(), copy=True)
    assert tensor.dtype == dtype.name == name
    held = hostile.read(tensor.__dlpack__())
    assert (held.dl_tensor.dtype.code, held.dl_tensor.dtype.bits) == code[:2]
    copied = np.frombuffer(ctypes.string_at(held.dl_tensor.data, values.nbytes), dtype)
    assert copied.tobytes() == values.reshape(3, 2).T.tobytes()
