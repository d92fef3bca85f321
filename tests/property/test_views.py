"""Random programs of view operations and copies, on dlpark's views and on NumPy's arrays of the same memory.

DLPARK_EXAMPLES is the number of examples of each test; 2500 by default, 10,000 together.
"""

import ctypes
import math
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import library

EXAMPLES = int(os.environ.get("DLPARK_EXAMPLES", 2500))
RUNS = settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
DTYPES = ["u1", "<i2", "<f4", "<f8", "<c8", "<c16", "V3", "<u8", "V12"]
NUMBERS = DTYPES[:6]
MIDDLE = 4096

counted = {}


@pytest.fixture(scope="module", autouse=True)
def report():
    """How many examples each test ran, for tools/nightly."""
    yield
    for name, count in counted.items():
        print(f"\n{name}: {count} examples")


def count(name):
    counted[name] = counted.get(name, 0) + 1


# ---- Arrays of any strides within a buffer ---------------------------------------------------------------------------


def memory(nbytes=2 * MIDDLE):
    """Bytes that differ from their neighbours."""
    numbers = np.arange(nbytes, dtype=np.uint32)
    return (numbers * 7 + numbers // 251).astype(np.uint8)


def strided(buffer, dtype, shape, strides, start=0):
    """Elements of the buffer from its middle on, strides in elements."""
    dtype = np.dtype(dtype)
    first = buffer[MIDDLE + start :][: (buffer.size - MIDDLE - start) // dtype.itemsize * dtype.itemsize].view(dtype)
    return as_strided(first, shape, [stride * dtype.itemsize for stride in strides])


def compact(shape, order, signs, gap):
    """Strides of elements in places of their own: dimensions nested in some order, forwards or backwards, some with a
    gap: dimension `gap`, counted from the innermost, keeps every second place free."""
    strides, stride = [0] * len(shape), 1
    for number, dim in enumerate(sorted(range(len(shape)), key=lambda dim: (order[dim], dim))):
        stride *= 2 if number == gap else 1
        strides[dim] = -stride if signs >> dim & 1 else stride
        stride *= max(shape[dim], 1)
    return strides


def bounded(shape):
    """No more elements than the buffers have room for, whatever their order and width."""
    return [extent if math.prod(shape[: dim + 1]) <= 60 else 1 for dim, extent in enumerate(shape)]


shapes = st.lists(st.sampled_from([2, 3, 1, 4, 0, 5]), max_size=4).map(bounded)
small = st.integers(-5, 6)
four = st.lists(small, min_size=4, max_size=4)
orders = st.tuples(*[st.integers(0, 4)] * 4, st.integers(0, 15), st.integers(0, 7))


def injective(shape, choice):
    return compact(shape, choice[:4], choice[4], choice[5])


# ---- The operations on NumPy's side: the result, or None where NumPy refuses -----------------------------------------


def along(array, dim, what):
    """what applied to one dimension; always an array, of rank 0 too."""
    if not -array.ndim <= dim < array.ndim:
        return None
    return array[(slice(None),) * (dim % array.ndim) + (what, Ellipsis)]


def refused(function, *arguments, **names):
    try:
        return function(*arguments, **names)
    except (ValueError, TypeError, IndexError):  # AxisError is the first and the last
        return None


def numpy_window(array, dim, size, step):
    if step < 1 or size < 1:
        return None
    windows = refused(sliding_window_view, array, size, axis=dim)
    return None if windows is None else along(windows, dim % array.ndim, slice(None, None, step))


def numpy_reinterpret(array, dtype):
    """NumPy counts strides in bytes, so that any number of them will do; DLPack's are in elements."""
    made = refused(array.view, dtype)
    if made is None or any(n > 1 and stride % made.itemsize for n, stride in zip(made.shape, made.strides)):
        return None if made is not None and made.size else made
    return made


def numpy_squeeze(array, dim):
    return refused(np.squeeze, array, axis=dim) if array.ndim else None


def bound(number):
    """6 stands for a bound that is left out."""
    return (library.NONE, None) if number == 6 else (number, number)


def factors(array, a, b, c):
    """A shape of as many elements where that is possible, sometimes with an extent to be computed."""
    size, shape = array.size, []
    for number in (abs(a), abs(b)):
        fits = number > 0 and size > 0 and size % number == 0
        shape.append(number if fits else 1)
        size //= shape[-1]
    shape.insert(abs(c) % 3, -1 if c > 3 else size)
    return shape[: 2 if c == -5 else 3]


def step(array, view, kind, a, b, c):
    """One operation on both sides; the status and message of one, the result of the other."""
    call = library.call
    if kind == "index":
        return call(view, kind, a, b), refused(along, array, a, b)
    if kind == "slice":
        dim, by = c % 5 - 2, (c - 1 if c else 2)
        (start, first), (stop, last) = bound(a), bound(b)
        made = along(array, dim, slice(first, last, by)) if by else None
        return call(view, kind, dim, start, stop, by), made
    if kind == "flip":
        return call(view, kind, a), along(array, a, slice(None, None, -1))
    if kind == "diagonal":
        made = refused(np.diagonal, array, a, b, c) if array.ndim > 1 else None
        return call(view, kind, a, b, c), made
    if kind == "window":
        return call(view, kind, a, b, c), numpy_window(array, a, b, c)
    if kind == "permute":
        order = list(range(array.ndim))
        for at in range(array.ndim):
            other = (a, b, c, a + b)[at % 4] % array.ndim
            order[at], order[other] = order[other], order[at]
        order = [dim - array.ndim if a < 0 else dim for dim in order]
        order = order + [0] if c == 6 and array.ndim else order
        return call(view, kind, len(order), library.list_of(ctypes.c_int, order)), refused(array.transpose, order)
    if kind == "transpose":
        return call(view, kind, a, b), refused(array.swapaxes, a, b)
    if kind == "squeeze":
        return call(view, kind, a), numpy_squeeze(array, a)
    if kind == "squeeze_all":
        return call(view, kind), np.squeeze(array)
    if kind == "expand_dims":
        return call(view, kind, a), refused(np.expand_dims, array, a)
    if kind == "broadcast":
        shape = [max(a, 0) % 3 + 1] * max(b, 0) + [abs(c) if n == 1 else n for n in array.shape]
        shape = shape[1:] if b == -5 else shape
        made = refused(np.broadcast_to, array, shape) if len(shape) <= 64 else None
        return call(view, kind, len(shape), library.list_of(ctypes.c_int64, shape)), made
    if kind == "reshape":
        shape = factors(array, a, b, c)
        made = refused(array.reshape, shape, copy=False)
        return call(view, kind, len(shape), library.list_of(ctypes.c_int64, shape)), made
    if kind == "reinterpret":
        dtype = NUMBERS[a % len(NUMBERS)]
        return call(view, kind, library.dtype_of(dtype)), numpy_reinterpret(array, dtype)
    made = getattr(array, kind) if array.dtype.kind == "c" else None
    return call(view, kind), made


KINDS = [*library.ARGUMENTS, "squeeze_all", "slice", "slice", "reshape", "reshape", "permute"]
programs = st.lists(st.tuples(st.sampled_from(KINDS), small, small, small), min_size=1, max_size=7)


def assert_same(view, array):
    assert view.ndim == array.ndim
    assert tuple(view.shape[: view.ndim]) == array.shape
    if array.size == 0:
        return
    assert view.data == array.__array_interface__["data"][0]
    strides = [stride * array.itemsize for stride in view.strides[: view.ndim]]
    assert all(n == 1 or ours == theirs for n, ours, theirs in zip(array.shape, strides, array.strides))
    assert (view.dtype.bits * view.dtype.lanes, view.bit_offset) == (8 * array.itemsize, 0)


def run_program(array, view, program):
    """Both sides step by step, as long as there are not too many elements."""
    for kind, a, b, c in program:
        before = library.snapshot(view)
        (status, message), made = step(array, view, kind, a, b, c)
        assert (status == 0) == (made is not None), f"{kind} {a} {b} {c} on {array.shape}: {message or 'done'}"
        if made is None:
            assert message
            assert library.snapshot(view) == before
            continue
        array = made
        assert_same(view, array)
        if array.size > 600 or array.ndim > 8:
            break
    return array


def copied_out(array, view):
    """The elements of both in row-major order, as bytes."""
    target = np.empty(max(array.size, 1), array.dtype)[: array.size].reshape(array.shape)
    library.copy(library.view_of(target), view)
    assert target.tobytes() == np.ascontiguousarray(array).tobytes()


# ---- The properties --------------------------------------------------------------------------------------------------


@RUNS
@given(st.sampled_from(NUMBERS), shapes, four, st.booleans(), programs)
def test_view_programs(dtype, shape, strides, is_compact, program):
    count("view_programs")
    buffer = memory()
    strides = compact(shape, (4, 3, 2, 1), 0, 4) if is_compact else strides[: len(shape)]
    array = strided(buffer, dtype, shape, strides)
    view = library.view_of(array)
    array = run_program(array, view, program)
    copied_out(array, view)


@RUNS
@given(st.sampled_from(DTYPES), shapes, four, orders, st.integers(0, 9))
def test_copies(dtype, shape, strides, choice, start):
    count("copies")
    source = strided(memory(), dtype, shape, strides[: len(shape)], start)
    ours = np.full(2 * MIDDLE, 0xEE, np.uint8)
    theirs = ours.copy()
    layout = injective(shape, choice)
    library.copy(library.view_of(strided(ours, dtype, shape, layout, 9 - start)), library.view_of(source))
    strided(theirs, dtype, shape, layout, 9 - start)[...] = source
    assert ours.tobytes() == theirs.tobytes()


@RUNS
@given(st.sampled_from(DTYPES), shapes, four, orders, st.integers(-40, 40), st.booleans())
def test_moves(dtype, shape, strides, choice, apart, same_strides):
    """Source and destination in one buffer: as if all of the source were read first."""
    count("moves")
    ours = memory()
    theirs = ours.copy()
    layout = injective(shape, choice)
    strides = layout if same_strides else strides[: len(shape)]
    source = strided(ours, dtype, shape, strides, apart)
    library.copy(library.view_of(strided(ours, dtype, shape, layout)), library.view_of(source))
    strided(theirs, dtype, shape, layout)[...] = strided(theirs, dtype, shape, strides, apart).copy()
    assert ours.tobytes() == theirs.tobytes()


def packed_view(buffer, bits, shape, strides, start):
    """A view of sub-byte elements that starts at any bit. No check() makes one, only slicing a whole one."""
    at = (MIDDLE * 8 + start * bits) // 8
    view = library.view_of(buffer[at : at + 1])
    view.dtype = library.Dtype(1, bits, 1)
    view.bit_offset = start * bits % 8
    view.ndim = len(shape)
    for dim, (extent, stride) in enumerate(zip(shape, strides)):
        view.shape[dim], view.strides[dim] = extent, stride
    return view


def packed_elements(buffer, bits, shape, strides, start):
    """The same elements as an array of their bits, in an unpacked copy of the buffer, which comes with it."""
    elements = np.unpackbits(buffer, bitorder="little").reshape(-1, bits)
    first = elements[MIDDLE * 8 // bits + start :]
    return as_strided(first, [*shape, bits], [*(stride * bits for stride in strides), 1]), elements


@RUNS
@given(st.sampled_from([4, 1, 2]), shapes, four, orders, st.integers(0, 9), st.integers(0, 9))
def test_packed_copies(bits, shape, strides, choice, start, to_start):
    """Elements of 1, 2 and 4 bits at any bit offset: their neighbours in a byte stay."""
    count("packed_copies")
    source = memory()
    ours = memory()[::-1].copy()
    layout = injective(shape, choice)
    target, unpacked = packed_elements(ours, bits, shape, layout, to_start)
    target[...] = packed_elements(source, bits, shape, strides[: len(shape)], start)[0]
    library.copy(
        packed_view(ours, bits, shape, layout, to_start), packed_view(source, bits, shape, strides[: len(shape)], start)
    )
    assert ours.tobytes() == np.packbits(unpacked.reshape(-1), bitorder="little").tobytes()
