"""The tests of the package, as its author would have them."""

import example_cmake
import numpy as np
import pytest


def test_matmul():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = np.arange(12, dtype=np.float32).reshape(3, 4)
    c = example_cmake.matmul(a, b=b)
    assert type(c) is np.ndarray
    assert c.dtype == np.float32
    np.testing.assert_array_equal(c, a @ b)


def test_what_does_not_fit_is_named():
    with pytest.raises(TypeError, match=r"matmul\(\) argument 'b': expected f32\[k=3,m\] c cpu, got f64\[2,2\]"):
        example_cmake.matmul(np.ones((2, 3), np.float32), np.ones((2, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_axpy(dtype):
    y = np.array([1, 2, 3], dtype)
    assert example_cmake.axpy(y, np.array([10, 20, 30], dtype), a=0.5) is None
    np.testing.assert_array_equal(y, [6, 12, 18])
    example_cmake.axpy(y, y.copy())
    np.testing.assert_array_equal(y, [12, 24, 36])


def test_axpy_does_not_write_what_is_read_only():
    y = np.zeros(3)
    y.flags.writeable = False
    with pytest.raises((TypeError, BufferError), match="axpy"):
        example_cmake.axpy(y, np.ones(3))
    assert (y == 0).all()
