"""JAX, both ways. It speaks the legacy protocol and compact layouts."""

import numpy as np
import pytest

import dlpark

pytestmark = [pytest.mark.partner("jax"), pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def jax():
    import jax

    return jax


@pytest.mark.parametrize("name", "bool uint8 int16 int32 uint32 float16 bfloat16 float32 complex64".split())
def test_dtypes_both_ways(jax, name):
    theirs = jax.numpy.ones((2, 3), name)
    tensor = dlpark.from_dlpack(theirs)
    assert (tensor.dtype, tensor.shape, tensor.device) == (name, (2, 3), "cpu")
    for given in (tensor, dlpark.from_dlpack(theirs, copy=True)):
        back = jax.dlpack.from_dlpack(given)
        assert back.dtype == theirs.dtype
        assert (back == theirs).all()


def test_immutable_arrays_are_not_written(jax):
    """They come by a legacy capsule, which cannot say so."""
    tensor = dlpark.from_dlpack(jax.numpy.arange(3))
    assert tensor.readonly
    assert not np.asarray(tensor).flags.writeable


@pytest.mark.parametrize("keywords", [{}, {"copy": False}])
def test_back_without_a_copy(jax, keywords):
    theirs = jax.numpy.arange(6.0).reshape(2, 3)
    back = jax.dlpack.from_dlpack(dlpark.from_dlpack(theirs), **keywords)
    assert back.unsafe_buffer_pointer() == theirs.unsafe_buffer_pointer()
    assert (back == theirs).all()
