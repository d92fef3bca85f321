"""Arrow: arrays of PyArrow as tensors, and tensors as arrays of PyArrow, of the same memory."""

import gc
import pickle

import numpy as np
import pytest

import dlpark

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


class Pair:
    """An object that gives what it was given."""

    def __init__(self, pair, name="__arrow_c_array__"):
        setattr(self, name, lambda requested_schema=None: pair)


def test_a_tensor_is_an_arrow_array_without_any_library():
    tensor = dlpark.from_dlpack(np.arange(6, dtype=np.float32).reshape(2, 3))
    back = dlpark.from_arrow(tensor)
    assert (back.shape, back.dtype, back.readonly) == ((2, 3), "float32", True)
    assert back.__array_interface__["data"][0] == tensor.__array_interface__["data"][0]
    assert np.shares_memory(np.asarray(back), np.asarray(tensor))


def test_capsules_may_be_left_unused_or_used_once():
    tensor = dlpark.from_dlpack(np.arange(6, dtype=np.int16))
    tensor.__arrow_c_array__()
    pair = tensor.__arrow_c_array__(requested_schema=None)
    assert dlpark.from_arrow(Pair(pair)).shape == (6,)
    with pytest.raises(ValueError, match="the array is released"):
        dlpark.from_arrow(Pair(pair))


@pytest.mark.parametrize(
    "pair, error, words",
    [
        ((1, 2), ValueError, "PyCapsule_GetPointer"),
        ((None, None), ValueError, "PyCapsule_GetPointer"),
        ("x", ValueError, "unpack"),
        (3, TypeError, "unpack"),
    ],
)
def test_what_is_no_pair_of_capsules_is_refused(pair, error, words):
    with pytest.raises(error, match=words):
        dlpark.from_arrow(Pair(pair))


def test_the_array_must_be_in_a_capsule_of_the_right_name():
    schema, array = dlpark.from_dlpack(np.arange(6)).__arrow_c_array__()
    with pytest.raises(TypeError, match="no capsule of the name 'arrow_array'"):
        dlpark.from_arrow(Pair((schema, schema)))
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        dlpark.from_arrow(Pair((array, array)))


def test_what_is_no_arrow_array_is_refused():
    with pytest.raises(TypeError, match="^ndarray is no Arrow array: it has no __arrow_c_array__$"):
        dlpark.from_arrow(np.arange(3))
    with pytest.raises(TypeError, match="^Pair comes in chunks"):
        dlpark.from_arrow(Pair(None, "__arrow_c_stream__"))


def test_arguments_of_the_method_are_checked():
    tensor = dlpark.from_dlpack(np.arange(3))
    with pytest.raises(TypeError, match="at most 1 argument"):
        tensor.__arrow_c_array__(None, None)
    with pytest.raises(TypeError, match="schema"):
        tensor.__arrow_c_array__(schema=None)


@pytest.mark.parametrize(
    "array, words",
    [
        (np.arange(6).reshape(2, 3).T, "would have to be copied"),
        (np.arange(6)[::-1], "would have to be copied"),
        (np.zeros(3, np.complex64), "Arrow has no type for c64"),
        (np.zeros((), np.float32), "the rank is 0"),
        (np.zeros((2, 2), bool), "has one dimension"),
    ],
)
def test_what_arrow_cannot_hold_is_refused(array, words):
    tensor = dlpark.from_dlpack(array)
    with pytest.raises(BufferError, match=words):
        tensor.__arrow_c_array__()
    assert tensor.shape == array.shape


@pytest.mark.partner("pyarrow")
@pytest.mark.parametrize("dtype", NUMBERS)
def test_primitive_arrays_both_ways(dtype):
    import pyarrow as pa

    theirs = pa.array(np.arange(10, dtype=dtype))[2:7]
    tensor = dlpark.from_arrow(theirs)
    assert (tensor.dtype, tensor.shape, tensor.readonly) == (dtype, (5,), True)
    address = theirs.buffers()[1].address + 2 * np.dtype(dtype).itemsize
    assert tensor.__array_interface__["data"][0] == address
    ours = dlpark.from_dlpack(np.arange(10, dtype=dtype))
    array = pa.array(ours)
    assert array.type == pa.from_numpy_dtype(np.dtype(dtype))
    assert array.buffers()[1].address == ours.__array_interface__["data"][0]
    array.validate(full=True)
    assert array.to_pylist() == list(range(10))


@pytest.mark.partner("pyarrow")
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)])
def test_tensors_both_ways(order):
    import pyarrow as pa

    numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(order)
    array = pa.array(dlpark.from_dlpack(numbers))
    array.validate(full=True)
    assert array.type.extension_name == "arrow.fixed_shape_tensor"
    np.testing.assert_array_equal(array.to_numpy_ndarray(), numbers)
    back = dlpark.from_arrow(array)
    assert np.shares_memory(np.asarray(back), numbers)
    np.testing.assert_array_equal(np.asarray(back), numbers)
    theirs = pa.FixedShapeTensorArray.from_numpy_ndarray(np.ascontiguousarray(numbers))
    np.testing.assert_array_equal(np.asarray(dlpark.from_arrow(theirs)), numbers)


@pytest.mark.partner("pyarrow")
def test_lists_bools_and_arrays_without_elements():
    import pyarrow as pa

    lists = pa.FixedSizeListArray.from_arrays(pa.array(range(12), pa.int32()), 3)
    np.testing.assert_array_equal(np.asarray(dlpark.from_arrow(lists[1:])), np.arange(3, 12).reshape(3, 3))
    bools = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, 1], pa.int8()))
    tensor = dlpark.from_arrow(bools)
    assert (tensor.dtype, np.asarray(tensor).tolist()) == ("bool", [True, False, True])
    assert pa.array(tensor).to_pylist() == [True, False, True]
    assert dlpark.from_arrow(pa.array([], pa.float64())).shape == (0,)
    assert len(pa.array(dlpark.from_dlpack(np.zeros((0, 3))))) == 0


@pytest.mark.partner("pyarrow")
def test_what_a_tensor_cannot_hold_is_refused():
    import datetime

    import pyarrow as pa

    for array, error, words in (
        (pa.array([1, None, 3]), ValueError, "element 1 is null"),
        (pa.array([True, False]), BufferError, "booleans as bits"),
        (pa.array(["a"]), BufferError, "text"),
        (pa.array([datetime.date(2026, 1, 1)]), BufferError, "dates"),
        (pa.array([[1], [2, 3]]), BufferError, "lists of any length"),
        (pa.array(["a", "b"]).dictionary_encode(), BufferError, "dictionary-encoded"),
        (pa.chunked_array([[1], [2]]), TypeError, "in chunks"),
    ):
        with pytest.raises(error, match=words):
            dlpark.from_arrow(array)
    assert dlpark.from_arrow(pa.array([None, 1, 2])[1:]).shape == (2,)


@pytest.mark.partner("pyarrow")
def test_either_side_may_end_first():
    import pyarrow as pa

    before = pa.total_allocated_bytes()
    tensor = dlpark.from_arrow(pa.array(np.arange(1000)).take(pa.array(range(1000))))
    gc.collect()
    assert pa.total_allocated_bytes() >= before + 8000
    assert int(np.asarray(tensor).sum()) == 499500
    assert pickle.loads(pickle.dumps(tensor)).shape == (1000,)
    del tensor
    gc.collect()
    assert pa.total_allocated_bytes() < before + 8000
    array = pa.array(dlpark.from_dlpack(np.arange(1000)))
    gc.collect()
    assert sum(array.to_pylist()) == 499500
