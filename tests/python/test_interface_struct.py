"""Tensors from objects with __array_struct__."""

import gc
import sys

import interfaces
import ml_dtypes
import numpy as np
import pytest
from interfaces import ALIGNED, NOTSWAPPED, WRITEABLE, Raising, Struct


def take(probe, source, **options):
    return interfaces.take(probe, "array_struct", source, **options)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_numpy(probe, dtype):
    source = np.arange(24).reshape(2, 3, 4).astype(dtype)[:, ::-1, ::2]
    tensor = take(probe, source)
    seen = np.from_dlpack(tensor)
    assert (seen.dtype, seen.strides, seen.ctypes.data) == (source.dtype, source.strides, source.ctypes.data)
    np.testing.assert_array_equal(seen, source)
    assert not tensor.readonly


@pytest.mark.parametrize("dtype", ["g", "G", "S3", "U3", "O", "i4,f4", "V5", "M8[s]", "m8[us]", "S1"])
def test_numpy_refused(probe, dtype):
    with pytest.raises(BufferError, match="ndarray.__array_struct__: .* is of no dtype"):
        take(probe, np.zeros(3, dtype))


def test_numpy_scalars_keep_their_memory(probe):
    tensors = [take(probe, np.float64(value)) for value in range(200)]
    gc.collect()
    assert [np.from_dlpack(tensor).item() for tensor in tensors] == list(range(200))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint2", "float4_e2m1fn"])
def test_dtypes_of_ml_dtypes(probe, name):
    source = np.arange(4).astype(getattr(ml_dtypes, name))
    tensor = take(probe, source)
    assert (tensor.dtype, tensor.shape) == (name, (4,))


def test_other_byte_order(probe):
    source = np.arange(6, dtype=">i4").reshape(2, 3).T
    with pytest.raises(BufferError, match="ndarray.__array_struct__: .*byte order"):
        take(probe, source)
    np.testing.assert_array_equal(np.from_dlpack(take(probe, source, byteswap=True)), source)
    assert take(probe, Struct(itemsize=1, typekind=b"u", flags=0, strides=None)).dtype == "uint8"  # has no order


def test_flags(probe):
    assert not take(probe, Struct()).readonly
    assert take(probe, Struct(flags=NOTSWAPPED | ALIGNED)).readonly
    source = Struct(flags=NOTSWAPPED | WRITEABLE)
    source.struct.data = source.address + 1  # nobody promised that it is aligned
    assert take(probe, source).shape == (2, 3)
    array = np.zeros(3)
    array.flags.writeable = False
    assert take(probe, array).readonly


def test_forms_that_are_unusual_and_right(probe):
    assert take(probe, Struct(strides=None)).strides == (3, 1)
    assert take(probe, Struct(nd=0)).shape == ()
    assert take(probe, Struct(shape=(0, 3), data=None)).size == 0
    assert take(probe, Struct(shape=(1,), strides=(7,))).shape == (1,)
    assert take(probe, Struct(shape=(1,) * 64, strides=(0,) * 64)).ndim == 64


def test_none(probe):
    for source in (None, 3, object(), b"abc", [1], Raising(AttributeError("no"))):
        assert take(probe, source) is None


def test_what_a_property_raises_passes_through(probe):
    for error in (OSError("mine"), KeyError("mine"), ValueError("mine"), TypeError("mine")):
        with pytest.raises(type(error), match="mine"):
            take(probe, Raising(error))


@pytest.mark.parametrize(
    "fields, error, message",
    [
        ({"two": 3}, BufferError, "the struct begins with 3 instead of 2"),
        ({"nd": -1}, BufferError, "it has -1 dimensions, and a tensor 0 to 64"),
        ({"nd": 65}, BufferError, "it has 65 dimensions, and a tensor 0 to 64"),
        ({"shape": None, "nd": 1}, BufferError, "it has 1 dimensions, and no shape"),
        ({"shape": (-1, 3)}, BufferError, r"shape\[0\] is -1"),
        ({"shape": (2**40, 2**40)}, BufferError, "63"),
        ({"strides": (12, 6)}, BufferError, r"strides\[1\] is 6 bytes, no multiple of the 4"),
        ({"itemsize": 0}, BufferError, "the kind 'f' with items of 0 bytes"),
        ({"itemsize": -4}, BufferError, "the kind 'f' with items of -4 bytes"),
        ({"itemsize": 16}, BufferError, "the kind 'f' with items of 16 bytes"),
        ({"typekind": b"\0"}, BufferError, r"the kind '\?' with items of 4 bytes"),
        ({"typekind": b"V", "itemsize": 8}, BufferError, "a structure"),
        ({"typekind": b"V", "itemsize": -1}, BufferError, "a structure"),
        ({"data": None}, BufferError, "data is NULL"),
        ({"flags": WRITEABLE}, BufferError, "byte order of other machines"),
        ({"name": b"dltensor"}, TypeError, "the capsule must have no name, and is called 'dltensor'"),
    ],
)
def test_wrong(probe, fields, error, message):
    source = Struct(**fields)
    before = sys.getrefcount(source)
    with pytest.raises(error, match=f"Struct.__array_struct__: .*{message}"):
        take(probe, source)
    assert sys.getrefcount(source) == before


@pytest.mark.parametrize("value", [None, 3, {}, object(), (1, 2)])
def test_no_capsule(probe, value):
    class Source:
        __array_struct__ = value

    with pytest.raises(TypeError, match=f"Source.__array_struct__: it must be a capsule, not {type(value).__name__}"):
        take(probe, Source())


def test_object_and_capsule_are_kept(probe):
    class Source(Struct):
        @property
        def __array_struct__(self):
            return capsule

    source = Source()
    capsule = Struct.__array_struct__.fget(source)
    before = [sys.getrefcount(thing) for thing in (source, capsule)]
    tensor = take(probe, source)
    assert [sys.getrefcount(thing) for thing in (source, capsule)] == [count + 1 for count in before]
    del tensor
    assert [sys.getrefcount(thing) for thing in (source, capsule)] == before
