"""The type Tensor: attributes, representation, weak references, and how it ends."""

import collections.abc
import pydoc
import sys
import weakref

import hostile
import numpy as np
import pytest

import dlpark


def test_attributes_of_a_strided_array():
    array = np.arange(24, dtype=np.int16).reshape(4, 6)[::2, ::-3]
    tensor = dlpark.from_dlpack(array)
    assert tensor.shape == (2, 2)
    assert tensor.strides == (12, -3)
    assert (tensor.dtype, tensor.device, tensor.ndim) == ("int16", "cpu", 2)
    assert (tensor.size, tensor.nbytes) == (4, 8)
    assert tensor.readonly is False
    assert tensor.is_copied is False
    assert len(tensor) == 2


def test_repr_is_the_documented_one():
    pixels = np.zeros((512, 512, 3), np.uint8)
    assert repr(dlpark.from_dlpack(pixels)) == "Tensor(uint8[512, 512, 3], cpu, strides=[1536, 3, 1])"
    pixels.flags.writeable = False
    assert repr(dlpark.from_dlpack(pixels)) == "Tensor(uint8[512, 512, 3], cpu, strides=[1536, 3, 1], read-only)"
    assert repr(dlpark.from_dlpack(np.array(1.5))) == "Tensor(float64[], cpu, strides=[]) 1.5"


def test_long_dtype_and_device_names():
    foreign = hostile.Foreign(dtype=(4, 16, 1), device=(hostile.CUDA, 1))
    tensor = dlpark.from_dlpack(foreign.capsule())
    assert repr(tensor) == "Tensor(bfloat16[2, 3], cuda:1, strides=[3, 1])"
    assert (tensor.nbytes, tensor.__dlpack_device__()) == (12, (2, 1))


def test_nbytes_of_packed_elements_is_rounded_once():
    tensor = dlpark.from_dlpack(hostile.Foreign(dtype=(17, 4, 1), shape=(3, 3)).capsule())
    assert (tensor.dtype, tensor.size, tensor.nbytes) == ("float4_e2m1fn", 9, 5)
    padded = dlpark.from_dlpack(hostile.Foreign(dtype=(17, 4, 1), shape=(3, 3), flags=hostile.PADDED).capsule())
    assert padded.nbytes == 9


@pytest.mark.parametrize("name", ["shape", "dtype", "readonly", "anything"])
def test_immutable(name):
    tensor = dlpark.from_dlpack(np.zeros(3))
    with pytest.raises(AttributeError):
        setattr(tensor, name, None)
    with pytest.raises(TypeError, match="immutable"):
        dlpark.Tensor.shape = None


def test_not_made_by_calling_and_not_a_base():
    with pytest.raises(TypeError, match=r"from_dlpack\(\)"):
        dlpark.Tensor()
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Sub", (dlpark.Tensor,), {})


def test_equal_means_the_same_object():
    tensor = dlpark.from_dlpack(np.zeros(3))
    other = tensor[...]
    assert tensor == tensor and not tensor != tensor  # noqa: PLR0124
    assert tensor != other and not tensor == other
    assert tensor is not None and tensor != None  # noqa: E711
    assert tensor in [other, tensor]
    with pytest.raises(TypeError, match="not supported between instances"):
        tensor < other  # noqa: B015


def test_not_hashable():
    tensor = dlpark.from_dlpack(np.zeros(3))
    assert dlpark.Tensor.__hash__ is None
    assert not isinstance(tensor, collections.abc.Hashable)
    with pytest.raises(TypeError, match="unhashable type: 'dlpark.Tensor'"):
        hash(tensor)


def test_stream_is_none_where_nobody_said():
    assert dlpark.from_dlpack(np.zeros(3)).stream is None
    assert dlpark.from_dlpack(hostile.Foreign(device=(hostile.CUDA, 0)).capsule()).stream is None


def test_dir_and_help_are_for_people():
    names = [name for name in dir(dlpark.Tensor) if not name.startswith("_")]
    assert names == sorted(
        "T astype broadcast_to copy device diagonal dtype expand_dims flip imag is_copied item mT nbytes ndim numpy "
        "permute readonly real reshape shape size sliding_window_view squeeze stream strides to tobytes tolist transpose "
        "view".split()
    )
    text = pydoc.render_doc(dlpark.Tensor, renderer=pydoc.plaintext)
    assert "reshape(self, /, *shape, copy=None)" in text
    assert "sliding_window_view(self, /, window_shape, axis=None)" in text


def test_scalar_has_no_length():
    scalar = dlpark.from_dlpack(np.array(7, np.uint32))
    assert (scalar.shape, scalar.size) == ((), 1)
    with pytest.raises(TypeError, match="rank 0"):
        len(scalar)


def test_weak_reference_dies_with_the_tensor():
    died = []
    tensor = dlpark.from_dlpack(np.zeros(3))
    reference = weakref.ref(tensor, died.append)
    assert reference() is tensor
    del tensor
    assert reference() is None
    assert died == [reference]


def test_keeps_the_producer_alive_and_lets_go():
    foreign = hostile.Foreign()
    tensor = dlpark.from_dlpack(foreign.capsule())
    other = dlpark.from_dlpack(tensor)
    del tensor
    assert foreign.calls == []
    del other
    assert len(foreign.calls) == 1


def test_a_tensor_keeps_its_type():
    array = np.zeros(1)
    dlpark.from_dlpack(array)  # what is remembered of types
    before = sys.getrefcount(dlpark.Tensor)
    kept = [dlpark.from_dlpack(array) for _ in range(100)]
    with_them = sys.getrefcount(dlpark.Tensor)
    kept.clear()
    after = sys.getrefcount(dlpark.Tensor)
    assert (with_them - before, after - before) == (100, 0)


def test_version_is_that_of_the_headers():
    import pathlib
    import re

    header = pathlib.Path(__file__).parents[2].joinpath("include/dlpark/version.h").read_text()
    numbers = [re.search(rf"DLPARK_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert dlpark.__version__ == ".".join(numbers)
