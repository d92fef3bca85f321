"""str() of a tensor: the elements as NumPy prints them, character for character."""

import hashlib

import hostile
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlpark

DTYPES = [
    np.dtype(name) for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 0.1, 1 / 3, 1e-4, 1e-5, 999.5, 1000.0, 1e6, 1e8, 1e16]


def reals(dtype):
    """Floats of a dtype: any bits, round numbers, magnitudes close together and far apart, what is no number."""
    return st.one_of(
        st.floats(width=dtype.itemsize * 8),
        st.floats(-1000, 1000, width=dtype.itemsize * 8),
        st.integers(-1000, 1000).map(float),
        st.integers(-100000, 100000).map(lambda value: value / 1000),
        st.sampled_from(SPECIAL),
    )


def elements(dtype):
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return st.one_of(st.integers(max(limits.min, -99), 99), st.integers(int(limits.min), int(limits.max)))
    if dtype.kind == "f":
        return reals(dtype)
    part = reals(np.dtype(f"f{dtype.itemsize // 2}"))
    return st.builds(complex, part, part)


@st.composite
def arrays(draw):
    """A few values, repeated over an array of any rank, then seen through a view."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 5, 7, 9]), max_size=4))
    if draw(st.booleans()):
        shape += [draw(st.integers(0, 400))]
    values = draw(st.lists(elements(dtype), min_size=1, max_size=12))
    with np.errstate(all="ignore"):
        array = np.resize(np.array(values).astype(dtype), shape)
    for axis in range(array.ndim):
        array = array.swapaxes(axis, draw(st.integers(0, array.ndim - 1)))
    steps = [slice(None, None, draw(st.sampled_from([1, 1, 2, -1, -3]))) for _ in array.shape]
    return array[(..., *steps)]


def assert_same(array):
    assert str(dlpark.from_dlpack(array)) == str(array)


@given(arrays())
@settings(max_examples=1000, deadline=None)
def test_any_array(array):
    assert_same(array)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_bits(dtype):
    generator = np.random.default_rng(11)
    for count in (1, 2, 7, 300, 1000, 1001, 5000):
        noise = generator.integers(0, 2 if dtype.kind == "b" else 256, count * dtype.itemsize, np.uint8)
        assert_same(noise.view(dtype))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_every_magnitude_alone_and_beside_one(dtype):
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        for exponent in range(int(np.log10(info.smallest_subnormal)), int(np.log10(info.max)) + 1):
            for factor in (1.0, 1.5, 9.999999, 1 / 3):
                value = np.array([factor * 10.0**exponent]).astype(dtype)
                assert_same(value)
                assert_same(value.reshape(()))
                assert_same(np.append(value, value.dtype.type(-1)))


def test_every_half_alone():
    """A rank of 0 prints as the scalar does, with all its digits."""
    for bits in range(0, 1 << 16, 7):
        assert_same(np.array(bits, np.uint16).view(np.float16))


@pytest.mark.parametrize("part", SPECIAL)
def test_lone_complex_numbers(part):
    for other in SPECIAL:
        assert_same(np.array(complex(part, other)))
        assert_same(np.array(complex(part, other), np.complex64))


@pytest.mark.parametrize("shape", [(1000,), (1001,), (6, 200), (7, 200), (2, 3, 400), (30, 40), (5, 6, 7, 8), (1, 1, 1)])
def test_large_arrays_are_summarised(shape):
    count = int(np.prod(shape))
    assert_same(np.arange(count).reshape(shape))
    assert_same(np.linspace(-1, 1, count).reshape(shape))
    assert_same(np.linspace(-1, 1, count).reshape(shape).T)
    assert_same(np.broadcast_to(np.float32(0.5), shape))


def test_repr_of_a_small_tensor_has_the_elements():
    tensor = dlpark.from_dlpack(np.zeros((2, 2)))
    assert repr(tensor) == "Tensor(float64[2, 2], cpu, strides=[2, 1])\n[[0. 0.]\n [0. 0.]]"
    assert f"{tensor}" == "[[0. 0.]\n [0. 0.]]"
    assert repr(tensor[0]) == "Tensor(float64[2], cpu, strides=[1]) [0. 0.]"
    assert repr(tensor[1, 1]) == "Tensor(float64[], cpu, strides=[]) 0.0"


@pytest.mark.parametrize("count, shown", [(0, False), (1, True), (100, True), (101, False)])
def test_repr_of_a_large_tensor_is_one_line(count, shown):
    tensor = dlpark.from_dlpack(np.arange(count))
    head = f"Tensor(int64[{count}], cpu, strides={list(tensor.strides)})"
    assert repr(tensor).startswith(head)
    assert (repr(tensor) != head) == shown


def test_repr_counts_lanes():
    assert "\n" not in repr(dlpark.from_dlpack(hostile.Foreign(dtype=(2, 32, 4), shape=(26,)).capsule()))
    assert "(0., 0., 0., 0.)" in repr(dlpark.from_dlpack(hostile.Foreign(dtype=(2, 32, 4), shape=(25,)).capsule()))


@pytest.mark.parametrize("device", [(hostile.CUDA, 1), (13, 0), (8, 0)])
def test_repr_does_not_read_memory_of_a_device(device):
    tensor = dlpark.from_dlpack(hostile.Foreign(device=device, data=64).capsule())
    assert repr(tensor) == f"Tensor(float32[2, 3], {tensor.device}, strides=[3, 1])"


def test_messages_have_the_description_alone():
    tensor = dlpark.from_dlpack(np.zeros((2, 2))[:, ::-1])
    with pytest.raises(BufferError) as caught:
        hashlib.sha256(tensor)
    assert str(caught.value).startswith("Tensor(float64[2, 2], cpu, strides=[2, -1]): a buffer without strides")


def test_narrow_floats_have_the_digits_that_are_theirs():
    for dtype, code, bits in (("bfloat16", 4, 16), ("float8_e4m3fn", 10, 8), ("float8_e5m2", 12, 8)):
        values = np.array([0.1, 1, -2.5], getattr(ml_dtypes, dtype))
        foreign = hostile.Foreign(shape=(3,), dtype=(code, bits, 1))
        foreign.memory[: values.nbytes] = values.tobytes()
        printed = str(dlpark.from_dlpack(foreign.capsule()))
        assert np.array_equal(np.array(printed.strip("[]").split(), float).astype(values.dtype), values)


def test_memory_of_a_device_is_not_read():
    foreign = hostile.Foreign(device=(hostile.CUDA, 1))
    text = str(dlpark.from_dlpack(foreign.capsule()))
    assert text.startswith("<") and text.endswith(": not accessible to the host>") and "cuda:1" in text


def test_managed_memory_is_not_read():
    """The host could, but the device may be at work on it."""
    foreign = hostile.Foreign(device=(13, 0))
    text = str(dlpark.from_dlpack(foreign.capsule()))
    assert text.startswith("<") and text.endswith(": not read, the device may be at work on it>")
