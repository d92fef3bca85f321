"""Other views of the same elements: order, number of dimensions, shape, parts, dtype. NumPy is the oracle."""

import hostile
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from test_index import arrays, assert_same_view

import dlpark

few = settings(max_examples=120, deadline=None)


def agrees(array, ours, theirs):
    """Both give the same view, or both refuse."""
    tensor = dlpark.from_dlpack(array)
    try:
        expected = theirs(array)
    except ValueError:  # an AxisError is one
        with pytest.raises(ValueError):
            ours(tensor)
        return
    if isinstance(expected, np.ndarray):
        assert_same_view(ours(tensor), expected)
    else:  # some of NumPy's functions make a scalar of a rank of 0
        assert (ours(tensor).shape, ours(tensor).item()) == ((), expected)


axes = st.integers(-5, 5)
some_axes = st.one_of(st.none(), axes, st.lists(axes, max_size=3).map(tuple))


# ---- Order ----


@given(arrays(), st.data())
@few
def test_permute(array, data):
    order = data.draw(st.permutations(range(array.ndim)))
    order = [dim - array.ndim if data.draw(st.booleans()) else dim for dim in order]
    agrees(array, lambda t: t.permute(*order), lambda a: a.transpose(order))
    agrees(array, lambda t: t.permute(tuple(order)), lambda a: a.transpose(order))
    agrees(array, lambda t: t.permute(order), lambda a: a.transpose(order))


@given(arrays(), st.lists(axes, max_size=5))
@few
def test_permute_by_anything(array, order):
    if len(order) != array.ndim:  # NumPy takes none at all for a reversal
        with pytest.raises(ValueError, match=f"the order has {len(order)} dimensions|expected|no dimension"):
            dlpark.from_dlpack(array).permute(*order)
        return
    agrees(array, lambda t: t.permute(*order), lambda a: a.transpose(order))


@given(arrays(), axes, axes)
@few
def test_transpose(array, first, second):
    agrees(array, lambda t: t.transpose(first, second), lambda a: a.swapaxes(first, second))
    agrees(array, lambda t: t.transpose(dim2=second, dim1=first), lambda a: a.swapaxes(first, second))


@given(arrays())
@few
def test_transposed(array):
    agrees(array, lambda t: t.T, lambda a: a.T)
    agrees(array, lambda t: t.mT, lambda a: a.mT)


@given(arrays(), some_axes)
@few
def test_flip(array, axis):
    agrees(array, lambda t: t.flip(axis), lambda a: np.flip(a, axis))
    agrees(array, lambda t: t.flip(axis=axis), lambda a: np.flip(a, axis))


# ---- Fewer or more dimensions ----


@given(arrays(), some_axes)
@few
def test_squeeze(array, axis):
    if array.ndim == 0 and axis in (0, -1):  # NumPy lets that pass
        with pytest.raises(ValueError, match="a tensor of rank 0 has no dimension"):
            dlpark.from_dlpack(array).squeeze(axis)
        return
    agrees(array, lambda t: t.squeeze(axis), lambda a: a.squeeze(axis))
    agrees(array, lambda t: t.squeeze(), lambda a: a.squeeze())


@given(arrays(), st.one_of(axes, st.lists(axes, max_size=4).map(tuple)))
@few
def test_expand_dims(array, axis):
    agrees(array, lambda t: t.expand_dims(axis), lambda a: np.expand_dims(a, axis))


def test_expand_dims_up_to_64():
    tensor = dlpark.from_dlpack(np.zeros((1,) * 62))
    assert tensor.expand_dims((0, -1)).ndim == 64
    with pytest.raises(ValueError, match="the rank is 62, and 3 more would be above 64"):
        tensor.expand_dims((0, 1, 2))


@given(arrays(), st.one_of(st.integers(-1, 5), st.lists(st.integers(-1, 5), max_size=6).map(tuple)))
@few
def test_broadcast_to(array, shape):
    agrees(array, lambda t: t.broadcast_to(shape), lambda a: np.broadcast_to(a, shape))


def test_what_is_repeated_is_read_only():
    tensor = dlpark.from_dlpack(np.zeros(3))
    assert tensor.broadcast_to((2, 3)).readonly
    assert tensor.sliding_window_view(2).readonly
    assert not np.asarray(tensor.broadcast_to((2, 3))).flags.writeable
    assert not tensor.readonly


# ---- Another shape ----


@st.composite
def shapes(draw, size):
    """Mostly those that fit, by splitting the size up; -1 in places."""
    shape, rest = [], size
    while rest > 1 and draw(st.booleans()):
        factor = draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0]))
        shape.append(factor)
        rest //= factor
    shape.append(rest)
    for _ in range(draw(st.integers(0, 2))):
        shape.insert(draw(st.integers(0, len(shape))), draw(st.sampled_from([1, 1, 1, 2, 0, -1])))
    if draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = -1
    return tuple(shape)


@given(arrays(), st.data())
@settings(max_examples=400, deadline=None)
def test_reshape(array, data):
    shape = data.draw(shapes(array.size))
    tensor = dlpark.from_dlpack(array)
    try:
        expected = array.reshape(shape)
    except ValueError:
        for copy in (None, True, False):
            with pytest.raises(ValueError):
                tensor.reshape(shape, copy=copy)
        return
    copied = tensor.reshape(*shape, copy=True)
    assert (copied.shape, copied.tolist()) == (expected.shape, expected.tolist())
    assert copied.is_copied and not copied.readonly
    assert array.size == 0 or not np.shares_memory(copied.numpy(), array)
    try:
        view = array.reshape(shape, copy=False)
    except ValueError:
        with pytest.raises(ValueError, match=r"strides\[\d+\] is .* would continue dimension \d+"):
            tensor.reshape(shape, copy=False)
        made = tensor.reshape(shape)
        assert (made.shape, made.tolist(), made.is_copied) == (expected.shape, expected.tolist(), True)
    else:
        assert_same_view(tensor.reshape(shape, copy=False), view)
        assert_same_view(tensor.reshape(shape), view)
        assert_same_view(tensor.reshape(list(shape)), view)


def test_a_reshaped_copy_is_compact_and_outlives_the_tensor():
    foreign = hostile.Foreign(shape=(2, 3), strides=(1, 2))
    tensor = dlpark.from_dlpack(foreign.capsule())
    copied = tensor.reshape(3, 2, 1)
    assert (copied.strides, copied.is_copied, copied.readonly) == ((2, 1, 1), True, False)
    del tensor
    assert len(foreign.calls) == 1
    assert copied.tolist() == [[[0.0], [0.0]]] * 3


def test_reshape_that_needs_a_copy_of_device_memory():
    foreign = hostile.Foreign(device=(hostile.CUDA, 0), shape=(2, 3), strides=(1, 2))
    tensor = dlpark.from_dlpack(foreign.capsule())
    with pytest.raises(TypeError, match="a copy reads the elements, and the tensor is on cuda:0"):
        tensor.reshape(6)
    assert tensor.reshape(2, 3, 1).device == "cuda:0"


# ---- Parts ----


@given(arrays(), st.one_of(st.integers(-7, 7), st.just(2**70), st.just(-(2**70))), axes, axes)
@few
def test_diagonal(array, offset, first, second):
    near = max(-(2**30), min(offset, 2**30))  # NumPy has no more bits
    agrees(array, lambda t: t.diagonal(offset, first, second), lambda a: a.diagonal(near, first, second))
    agrees(array, lambda t: t.diagonal(axis2=second, axis1=first), lambda a: a.diagonal(0, first, second))
    agrees(array, lambda t: t.diagonal(), lambda a: a.diagonal())


@given(
    arrays(),
    st.one_of(st.integers(1, 4), st.lists(st.integers(1, 4), max_size=3).map(tuple)),
    st.one_of(st.none(), axes, st.lists(axes, max_size=3).map(tuple)),
)
@few
def test_sliding_window_view(array, window, axis):
    if array.size == 0:  # NumPy lets a window of 1 slide over nothing
        return
    agrees(
        array, lambda t: t.sliding_window_view(window, axis), lambda a: sliding_window_view(a, window, axis)
    )


@pytest.mark.parametrize("size", [0, -1, 4])
def test_windows_that_do_not_fit(size):
    with pytest.raises(ValueError, match=f"the window has size {size}"):
        dlpark.from_dlpack(np.zeros(3)).sliding_window_view(size)


# ---- Another dtype ----


DTYPES = ["bool", "int8", "uint16", "int32", "float16", "float32", "float64", "complex64", "complex128"]


@given(arrays(), st.sampled_from(DTYPES), st.sampled_from(["name", "type", "dtype"]))
@few
def test_view(array, name, form):
    dtype = {"name": name, "type": np.dtype(name).type, "dtype": np.dtype(name)}[form]
    tensor = dlpark.from_dlpack(array)
    same_width = np.dtype(name).itemsize == array.itemsize
    try:
        expected = array.view(name)
    except ValueError:
        if not same_width:
            with pytest.raises(ValueError):
                tensor.view(dtype)
        return
    try:
        viewed = tensor.view(dtype)
    except ValueError as error:
        # NumPy divides strides in bytes; there they need not be whole elements.
        assert "no whole number" in str(error)
        return
    assert viewed.dtype == name
    assert (viewed.shape, viewed.tobytes()) == (expected.shape, expected.tobytes())


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_parts_of_complex_numbers(name):
    array = (np.arange(12) + 1j * np.arange(12)[::-1]).astype(name).reshape(3, 4)[:, ::-2]
    tensor = dlpark.from_dlpack(array)
    assert_same_view(tensor.real, array.real)
    assert_same_view(tensor.imag, array.imag)


def test_parts_of_what_is_not_complex():
    tensor = dlpark.from_dlpack(np.zeros(3))
    assert tensor.real is tensor
    with pytest.raises(TypeError, match="float64 has no imaginary parts"):
        tensor.imag
    opaque = dlpark.from_dlpack(hostile.Foreign(dtype=(3, 64, 1)).capsule())
    for part in ("real", "imag"):
        with pytest.raises(TypeError, match="opaque64? has no"):
            getattr(opaque, part)


# ---- What is no argument ----


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda t: t.permute(0), ValueError, "the order has 1 dimensions, the view has 3"),
        (lambda t: t.permute(0, 1, 3), ValueError, "dims is 3, expected -3 to 2 for a rank of 3"),
        (lambda t: t.permute(0, 1, 1), ValueError, "are both dimension 1"),
        (lambda t: t.permute("abc"), TypeError, "dims must be an integer, not str"),
        (lambda t: t.permute(0, 1, 2.0), TypeError, "dims must be an integer, not float"),
        (lambda t: t.permute(0, 1, True), TypeError, "dims must be an integer, not bool"),
        (lambda t: t.permute((0, 1), 2), TypeError, "dims must be an integer, not tuple"),
        (lambda t: t.permute(*range(65)), ValueError, "dims has 65 entries"),
        (lambda t: t.permute(2**70, 0, 1), ValueError, "dims is 1180591620717411303424: more than 64 bits"),
        (lambda t: t.permute(dims=(0, 1, 2)), TypeError, r"permute\(\) got an unexpected keyword argument 'dims'"),
        (lambda t: t.transpose(0), TypeError, r"transpose\(\) missing required argument 'dim2'"),
        (lambda t: t.transpose(0, 1, 2), TypeError, r"transpose\(\) takes 2 positional arguments, 3 were given"),
        (lambda t: t.transpose(0, 1, dim1=2), TypeError, r"transpose\(\) got multiple values for argument 'dim1'"),
        (lambda t: t.transpose(0, None), TypeError, "dim2 must be an integer, not NoneType"),
        (lambda t: t.flip((0, 0)), ValueError, "axis names dimension 0 twice"),
        (lambda t: t.flip((0, -3)), ValueError, "axis names dimension 0 twice"),
        (lambda t: t.squeeze(0), ValueError, r"shape\[0\] is 2, only an extent of 1"),
        (lambda t: t.squeeze(9), ValueError, "axis is 9, expected -3 to 2 for a rank of 3"),
        (lambda t: t[0, 0, 0].flip(0), ValueError, "axis is 0, and a tensor of rank 0 has no dimension"),
        (lambda t: t.expand_dims(), TypeError, "missing required argument 'axis'"),
        (lambda t: t.expand_dims(None), TypeError, "axis must be an integer, not NoneType"),
        (lambda t: t.broadcast_to((3, 4)), ValueError, "which has fewer dimensions"),
        (lambda t: t.broadcast_to((2, 3, 5)), ValueError, r"shape\[2\] is 4, and only an extent of 1 becomes 5"),
        (lambda t: t.broadcast_to((2**62, 2, 3, 4)), ValueError, "63 bits|2\\^63"),
        (lambda t: t.broadcast_to(None), TypeError, "shape must be an integer, not NoneType"),
        (lambda t: t.reshape(5, 5), ValueError, "24 elements, to .5, 5., 25 elements"),
        (lambda t: t.reshape(-1, -1), ValueError, "are both -1"),
        (lambda t: t.reshape(-3), ValueError, r"shape\[0\] is -3"),
        (lambda t: t.reshape(24, order="F"), TypeError, "unexpected keyword argument 'order'"),
        (lambda t: t.reshape("24"), TypeError, "shape must be an integer, not str"),
        (lambda t: t.diagonal(0, 1, 1), ValueError, "got dimension 1 twice"),
        (lambda t: t[0, 0].diagonal(), ValueError, "a diagonal needs two dimensions, and the rank is 1"),
        (lambda t: t.diagonal("0"), TypeError, "offset must be an integer, not str"),
        (lambda t: t.sliding_window_view((1, 1)), ValueError, "window_shape has 2 extents for 3 dimensions"),
        (lambda t: t.sliding_window_view(1, (0, 1)), ValueError, "window_shape has 1 extents for 2 dimensions"),
        (lambda t: t[0, 0, 0].mT, ValueError, "mT needs two dimensions or more, and the rank is 0"),
        (lambda t: t.view("float33"), TypeError, 'dtype: "float33" is not a dtype; did you mean float32'),
        (lambda t: t.view(7), TypeError, "dtype is 7, expected one that DLPack has"),
        (lambda t: t.view(np.dtype(">f8")), TypeError, "of the other byte order"),
        (lambda t: t.view(np.dtype([("a", "i4")])), TypeError, "expected one that DLPack has"),
        (lambda t: t.view("float32\0"), TypeError, "expected one that DLPack has"),
        (lambda t: t[..., ::2].view("float32"), ValueError, r"strides\[2\] is 2: only a contiguous last dimension"),
    ],
)
def test_refusals(call, error, message):
    tensor = dlpark.from_dlpack(np.arange(24.0).reshape(2, 3, 4))
    with pytest.raises(error, match=message):
        call(tensor)


def test_what_foreign_code_raises_comes_through():
    class Angry:
        def __index__(self):
            raise RuntimeError("not today")

        def __bool__(self):
            raise RuntimeError("not today")

        @property
        def name(self):
            raise RuntimeError("not today")

        @property
        def isnative(self):
            return True

    class AngryStr:
        def __str__(self):
            raise RuntimeError("not today")

    tensor = dlpark.from_dlpack(np.zeros((2, 3)))
    for call in (
        lambda: tensor.permute(Angry(), 0),
        lambda: tensor.permute((Angry(), 0)),
        lambda: tensor.flip(Angry()),
        lambda: tensor.reshape(6, copy=Angry()),
        lambda: tensor.view(Angry()),
        lambda: tensor.view(AngryStr()),
        lambda: tensor.transpose(0, Angry()),
        lambda: tensor.diagonal(Angry()),
        lambda: tensor.astype("float64", copy=Angry()),
        lambda: tensor.item(Angry(), 0),
    ):
        with pytest.raises(RuntimeError, match="not today"):
            call()


def test_a_list_that_changes_while_it_is_read():
    """Entries are read from a copy of the list: nothing dangles."""
    tensor = dlpark.from_dlpack(np.zeros((2, 3)))
    shape = []

    class Clearing:
        def __index__(self):
            shape.clear()
            return 3

    shape += [Clearing(), 2]
    assert tensor.reshape(shape).shape == (3, 2)


# ---- Flags and ownership ----


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.permute(1, 0),
        lambda t: t.T,
        lambda t: t.mT,
        lambda t: t.flip(),
        lambda t: t.squeeze(),
        lambda t: t.expand_dims(0),
        lambda t: t.reshape(3, 2),
        lambda t: t.diagonal(),
        lambda t: t.view("int32"),
        lambda t: t.transpose(0, 1),
    ],
)
def test_parts_inherit_and_own(call):
    foreign = hostile.Foreign(flags=hostile.READ_ONLY | hostile.IS_COPIED)
    tensor = dlpark.from_dlpack(foreign.capsule())
    assert (tensor.readonly, tensor.is_copied) == (True, True)
    part = call(tensor)
    assert (part.readonly, part.is_copied) == (True, False)
    del tensor
    assert foreign.calls == []
    del part
    assert len(foreign.calls) == 1
    assert not call(dlpark.from_dlpack(hostile.Foreign().capsule())).readonly


@pytest.mark.partner("torch")
def test_dtypes_of_torch():
    import torch

    tensor = dlpark.from_dlpack(torch.zeros(4, dtype=torch.bfloat16))
    assert tensor.view(torch.uint16).dtype == "uint16"
    assert tensor.view(torch.float8_e4m3fn).shape == (8,)
    assert tensor.astype(torch.bfloat16).dtype == "bfloat16"
    assert tensor.view(torch.half).dtype == "float16"


def test_dtypes_of_ml_dtypes():
    import ml_dtypes

    tensor = dlpark.from_dlpack(np.zeros(4, np.uint16))
    assert tensor.view(ml_dtypes.bfloat16).dtype == "bfloat16"
    assert tensor.view(np.dtype(ml_dtypes.float8_e5m2)).dtype == "float8_e5m2"
