"""The tests of the package, as its author would have them."""

import example_setuptools
import numpy as np
import pytest


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matmul(dtype):
    a = np.arange(6, dtype=dtype).reshape(2, 3)
    b = np.arange(12, dtype=dtype).reshape(3, 4)
    c = example_setuptools.matmul(a, b=b)
    assert type(c) is np.ndarray
    assert c.dtype == dtype
    np.testing.assert_array_equal(c, a @ b)


def test_what_does_not_fit_is_named():
    with pytest.raises(TypeError, match=r"matmul\(\) argument 'b': expected same\(a\)=f32\[k=3,m\] c cpu, got f64\[2,2\]"):
        example_setuptools.matmul(np.ones((2, 3), np.float32), np.ones((2, 2)))


@pytest.mark.parametrize(
    "limits, expected",
    [({}, [-2, 0.5, 7]), ({"low": 0}, [0, 0.5, 7]), ({"high": 1}, [-2, 0.5, 1]), ({"low": 0, "high": 1}, [0, 0.5, 1])],
)
def test_clip(limits, expected):
    x = np.array([-2, 0.5, 7], np.float32)
    assert example_setuptools.clip(x, **limits) is None
    np.testing.assert_array_equal(x, np.array(expected, np.float32))


def test_clip_does_not_write_what_is_read_only():
    x = np.full((2, 2), 5, np.float32)
    x.flags.writeable = False
    with pytest.raises((TypeError, BufferError), match="clip"):
        example_setuptools.clip(x, high=1)
    assert (x == 5).all()
