"""Indexing: exactly NumPy's basic indexing, in results and in what is refused."""

import ctypes

import hostile
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlpark


class Number:
    """Any object with __index__ is an index."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


sequence_item = ctypes.pythonapi.PySequence_GetItem
sequence_item.restype, sequence_item.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]


@st.composite
def arrays(draw):
    """An array of any rank and any strides, with a number of its own in each place."""
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    steps = [draw(st.sampled_from([1, 1, 2, 3])) for _ in shape]
    base = np.arange(np.prod([e * s for e, s in zip(shape, steps)], dtype=int), dtype=np.int32)
    array = base.reshape([e * s for e, s in zip(shape, steps)])[(..., *(slice(None, None, s) for s in steps))]
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    if draw(st.booleans()):
        array = array[(..., *[slice(None, None, -1)] * array.ndim)]
    if draw(st.integers(0, 4)) == 0:
        array = np.broadcast_to(array, (3, *array.shape))
    return array


bounds = st.one_of(st.none(), st.integers(-8, 8), st.sampled_from([2**63 - 1, -(2**63), 2**70, -(2**70), 2**63]))
steps = st.one_of(bounds, st.sampled_from([1, -1, 2, -3]))
slices = st.builds(slice, bounds, bounds, steps)
numbers = st.integers(-6, 6)
entries = st.one_of(
    numbers, numbers.map(Number), numbers.map(np.int16), slices, slices, st.none(), st.just(Ellipsis), st.just(slice(None))
)
keys = st.one_of(entries, st.lists(entries, max_size=6).map(tuple))


def numpys(array, key):
    """The view that NumPy makes: of a rank of 0 too, where it would give a scalar."""
    entries = key if isinstance(key, tuple) else (key,)
    return array[key] if any(entry is Ellipsis for entry in entries) else array[(*entries, ...)]


def assert_same_view(tensor, array):
    """The same elements at the same place, by the same strides wherever they mean something."""
    assert type(tensor) is dlpark.Tensor
    assert tensor.shape == array.shape
    assert tensor.is_copied is False
    assert tensor.tolist() == array.tolist()
    if array.size:
        assert np.asarray(tensor).ctypes.data == array.ctypes.data
        for extent, stride, nbytes in zip(tensor.shape, tensor.strides, array.strides):
            assert extent == 1 or stride * array.itemsize == nbytes


@given(arrays(), keys)
@settings(max_examples=1000, deadline=None)
def test_any_key_does_what_numpy_does(array, key):
    tensor = dlpark.from_dlpack(array)
    try:
        expected = numpys(array, key)
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error)):
            tensor[key]
        return
    assert_same_view(tensor[key], expected)


@given(arrays(), st.lists(keys, max_size=4))
@settings(max_examples=150, deadline=None)
def test_parts_of_parts(array, chain):
    tensor = dlpark.from_dlpack(array)
    for key in chain:
        try:
            array = numpys(array, key)
        except (IndexError, ValueError):
            continue
        tensor = tensor[key]
    assert_same_view(tensor, array)


def test_full_index_is_a_tensor_of_rank_0():
    array = np.arange(6).reshape(2, 3)
    part = dlpark.from_dlpack(array)[1, -1]
    assert (part.shape, part.strides, part.item()) == ((), (), 5)
    array[1, 2] = 7
    assert part.item() == 7


def test_a_slice_with_the_lowest_bound_is_not_one_without():
    array = np.arange(4)
    tensor = dlpark.from_dlpack(array)
    for lowest in (-(2**63), -(2**63) - 1, -(2**90)):
        assert tensor[:lowest].tolist() == []
        assert tensor[lowest:].tolist() == [0, 1, 2, 3]
        assert tensor[lowest::-1].tolist() == []
        assert tensor[:lowest:-1].tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(
    "key, message",
    [
        (4, "index 4 is out of range for dimension 0 with extent 4"),
        (-5, "index -5 is out of range for dimension 0 with extent 4"),
        ((0, 3), "index 3 is out of range for dimension 1 with extent 3"),
        ((..., 5), "index 5 is out of range for dimension 2 with extent 2"),
        ((None, slice(1), -4), "index -4 is out of range for dimension 1 with extent 3"),
        (2**100, f"index {2**100} is out of range for dimension 0 with extent 4"),
        ((0, 0, -(2**64)), f"index {-(2**64)} is out of range for dimension 2 with extent 2"),
        ((0, 0, 0, 0), "4 indices for a tensor of rank 3"),
        ((slice(None),) * 4, "4 indices for a tensor of rank 3"),
        ((..., 0, ...), "an index can have one ellipsis, this has two"),
        ((None,) * 62, "the result would have a rank of 65, at most 64 is possible"),
    ],
)
def test_what_is_out_of_range_is_named(key, message):
    tensor = dlpark.from_dlpack(np.zeros((4, 3, 2)))
    with pytest.raises(IndexError) as caught:
        tensor[key]
    assert str(caught.value) == message


@pytest.mark.parametrize("index", [-(2**63), -5, -4, -3, -1, 0, 2, 3, 2**63 - 1])
def test_an_index_of_the_sequence_protocol(index):
    """C code counts a negative one from the end before it comes to the type, which must not do so once more."""
    values = [5, 6, 7]
    tensor = dlpark.from_dlpack(np.array(values))
    if -3 <= index < 3:
        assert sequence_item(tensor, index).item() == sequence_item(values, index)
    else:
        with pytest.raises(IndexError, match=f"index {index} is out of range for dimension 0 with extent 3"):
            sequence_item(tensor, index)


def test_up_to_64_dimensions():
    array = np.zeros((1,) * 64, np.uint8)
    tensor = dlpark.from_dlpack(array)
    assert tensor[(None,) * 64 + (0,) * 64].shape == (1,) * 64
    assert tensor[(0,) * 64].shape == ()
    assert tensor[..., 0].ndim == 63
    with pytest.raises(IndexError, match="rank of 65"):
        tensor[None]


@pytest.mark.parametrize(
    "key, name",
    [
        (True, "bool"),
        (np.True_, "bool"),
        ([0], "list"),
        (np.array([0, 1]), "ndarray"),
        (np.array([True, False]), "ndarray"),
        (1.0, "float"),
        ("a", "str"),
        ({}, "dict"),
        ((0, False), "bool"),
        ((slice(None), [0]), "list"),
    ],
)
def test_other_kinds_are_refused_with_a_way_out(key, name):
    tensor = dlpark.from_dlpack(np.zeros((2, 2)))
    with pytest.raises(TypeError) as caught:
        tensor[key]
    assert f"not by {name};" in str(caught.value)
    assert "numpy.from_dlpack(t)[...]" in str(caught.value)


def test_a_tensor_as_an_index():
    tensor = dlpark.from_dlpack(np.arange(5))
    assert tensor[tensor[3]].item() == 3
    with pytest.raises(TypeError, match="not by Tensor"):
        tensor[tensor]
    with pytest.raises(TypeError, match="not by Tensor"):
        tensor[dlpark.from_dlpack(np.array(1.0))]


def test_a_slice_step_of_0():
    with pytest.raises(ValueError, match="zero"):
        dlpark.from_dlpack(np.zeros(3))[::0]


def test_what_an_index_raises_comes_through():
    class Angry:
        def __index__(self):
            raise RuntimeError("not today")

    tensor = dlpark.from_dlpack(np.zeros(3))
    for key in (Angry(), slice(Angry()), (0, Angry())):
        with pytest.raises(RuntimeError if not isinstance(key, tuple) else (RuntimeError, IndexError)):
            tensor[key]


def test_an_index_that_exports_the_tensor_meanwhile():
    """Foreign code in the middle of it: the first export gives the tensor another header."""
    foreign = hostile.Foreign(shape=(3, 2))
    tensor = dlpark.from_dlpack(foreign.capsule())

    class Busy:
        def __index__(self):
            tensor.__dlpack__(max_version=(1, 0))
            return 1

    part = tensor[Busy(), Busy()]
    assert part.shape == ()
    assert np.asarray(part).ctypes.data == np.asarray(tensor).ctypes.data + 3 * 4


# ---- Ownership ----


def test_a_part_is_an_owner_of_its_own():
    foreign = hostile.Foreign(shape=(4, 3))
    tensor = dlpark.from_dlpack(foreign.capsule())
    part = tensor[1:, 0]
    other = part[::2]
    del tensor, part
    assert foreign.calls == []
    del other
    assert len(foreign.calls) == 1


def test_read_only_is_inherited():
    array = np.zeros((2, 3))
    array.flags.writeable = False
    tensor = dlpark.from_dlpack(array)
    assert tensor[0].readonly and tensor[0][1].readonly and tensor[...].readonly
    assert not dlpark.from_dlpack(np.zeros((2, 3)))[0].readonly
    unknown = dlpark.from_dlpack(hostile.Foreign(legacy=True).capsule())
    assert unknown.readonly and unknown[0].readonly
    assert not np.asarray(unknown[0]).flags.writeable


def test_is_copied_is_not_inherited():
    tensor = dlpark.from_dlpack(np.zeros((2, 3)), copy=True)
    assert tensor.is_copied
    assert not tensor[0].is_copied and not tensor[...].is_copied


def test_memory_of_a_device_is_indexed_without_being_read():
    foreign = hostile.Foreign(device=(hostile.CUDA, 1), shape=(4, 4))
    tensor = dlpark.from_dlpack(foreign.capsule())
    part = tensor[1, ::2]
    assert (part.device, part.shape, part.strides) == ("cuda:1", (2,), (2,))
    tensor_of_it = hostile.read(part.__dlpack__(max_version=(1, 3))).dl_tensor
    assert tensor_of_it.data == foreign.managed.dl_tensor.data + 4 * 4


def test_a_handle_keeps_its_pointer_and_moves_its_offset():
    foreign = hostile.Foreign(device=(8, 0), shape=(4, 4), byte_offset=64)  # Metal
    part = dlpark.from_dlpack(foreign.capsule())[2, 1:]
    tensor_of_it = hostile.read(part.__dlpack__(max_version=(1, 3))).dl_tensor
    assert tensor_of_it.data == foreign.managed.dl_tensor.data
    assert tensor_of_it.byte_offset == 64 + (2 * 4 + 1) * 4


def test_packed_elements():
    foreign = hostile.Foreign(dtype=(1, 4, 1), shape=(8,))
    foreign.memory[:4] = bytes([0x10, 0x32, 0x54, 0x76])
    tensor = dlpark.from_dlpack(foreign.capsule())
    assert tensor[2:6].tolist() == [2, 3, 4, 5]
    assert tensor[::2].tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError, match="begins at bit 4 of its byte"):
        tensor[1]
    assert [tensor.item(i) for i in range(8)] == list(range(8))


# ---- What a Tensor does not do ----


def test_it_is_immutable():
    tensor = dlpark.from_dlpack(np.zeros(3))
    with pytest.raises(TypeError, match=r"immutable: no element can be assigned.*numpy.from_dlpack\(t\)\[...\] ="):
        tensor[0] = 1
    with pytest.raises(TypeError, match="immutable: no element can be deleted"):
        del tensor[0]


def test_membership_is_refused():
    with pytest.raises(TypeError, match=r"value in numpy.from_dlpack\(t\)"):
        1 in dlpark.from_dlpack(np.zeros(3))  # noqa: B015


# ---- Iteration ----


@given(arrays())
@settings(max_examples=100, deadline=None)
def test_iteration_is_over_the_first_dimension(array):
    tensor = dlpark.from_dlpack(array)
    if array.ndim == 0:
        with pytest.raises(TypeError, match="rank 0"):
            iter(tensor)
        return
    parts = list(tensor)
    assert len(parts) == len(tensor) == len(array)
    for part, expected in zip(parts, array):
        assert part.tolist() == expected.tolist()
    assert [part.tolist() for part in reversed(tensor)] == array[::-1].tolist()


def test_iteration_unpacks():
    first, *rest = dlpark.from_dlpack(np.arange(6).reshape(3, 2))
    assert first.tolist() == [0, 1]
    assert [part.tolist() for part in rest] == [[2, 3], [4, 5]]


def test_an_iterator_keeps_the_tensor_alive():
    foreign = hostile.Foreign()
    parts = iter(dlpark.from_dlpack(foreign.capsule()))
    assert next(parts).shape == (3,)
    assert foreign.calls == []
    del parts
    assert len(foreign.calls) == 1
