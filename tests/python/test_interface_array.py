"""Tensors from objects with __array_interface__."""

import ctypes
import gc
import sys

import interfaces
import ml_dtypes
import numpy as np
import pytest
from interfaces import Interface, Raising

import dlpark


def take(probe, source, **options):
    return interfaces.take(probe, "array_interface", source, **options)


class Exact:
    """Another object's interface and nothing else of it."""

    def __init__(self, source, **keys):
        self.source = source
        self.keys = keys

    @property
    def __array_interface__(self):
        return {**self.source.__array_interface__, **self.keys}


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
    with pytest.raises(BufferError, match="ndarray.__array_interface__: .* is of no dtype"):
        take(probe, np.zeros(3, dtype))


def test_numpy_scalars_keep_their_memory(probe):
    """The memory is made for the dict, and ends with it."""
    tensors = [take(probe, np.float64(value)) for value in range(200)]
    gc.collect()
    assert [np.from_dlpack(tensor).item() for tensor in tensors] == list(range(200))


def test_read_only_is_exact(probe):
    source = np.zeros(3)
    assert not take(probe, source).readonly
    source.flags.writeable = False
    assert take(probe, source).readonly
    assert take(probe, Interface(data=(Interface().address, 1))).readonly
    assert not take(probe, Interface(data=(Interface().address, np.False_))).readonly


@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int4", "uint2", "float4_e2m1fn"]
)
def test_dtypes_of_ml_dtypes(probe, name):
    """Mere bytes to the interface; the dtype's name tells. Narrow ones fill a byte each there."""
    source = np.arange(4).astype(getattr(ml_dtypes, name))
    tensor = take(probe, source)
    assert (tensor.dtype, tensor.shape) == (name, (4,))
    assert str(tensor) == str(take(probe, source.copy()))
    with pytest.raises(BufferError, match="a structure, or bytes|2, 4 or 8"):
        take(probe, Exact(source))  # nobody says what the bytes are


def test_dtypes_of_ml_dtypes_in_the_other_order(probe):
    class Swapped(Exact):
        dtype = np.dtype("bfloat16")

    source = np.arange(4).astype("bfloat16")
    swapped = source.view("u2").byteswap()
    tensor = take(probe, Swapped(swapped, typestr=">V2"), byteswap=True)
    assert tensor.dtype == "bfloat16"
    assert str(tensor) == str(take(probe, source))


@pytest.mark.parametrize("text", ["torch.bfloat16", "bfloat16"])
def test_dtype_without_a_name(probe, text):
    class Dtype:
        def __str__(self):
            return text

    source = Interface(typestr="<V2")
    source.dtype = Dtype()
    assert take(probe, source).dtype == "bfloat16"


@pytest.mark.parametrize("name", ["float16", "int16", "float8_e5m2", "int4", "void16", "", 3, None, "b\xe9"])
def test_dtype_names_that_do_not_fit(probe, name):
    """Another size, or a dtype which the interface has a kind for and did not use."""

    class Dtype:
        pass

    source = Interface(typestr="|V2")
    source.dtype = Dtype()
    source.dtype.name = name
    with pytest.raises(BufferError, match="a structure, or bytes"):
        take(probe, source)


def test_dtype_that_raises(probe):
    class Dtype:
        @property
        def name(self):
            raise OSError("name")

    source = Interface(typestr="|V2")
    source.dtype = Dtype()
    with pytest.raises(OSError, match="name"):
        take(probe, source)

    class Other(Interface):
        @property
        def dtype(self):
            raise OSError("dtype")

    with pytest.raises(OSError, match="dtype"):
        take(probe, Other(typestr="|V2"))
    assert take(probe, Other()).dtype == "float32"  # not asked

    class Text:
        def __str__(self):
            raise OSError("str")

    source.dtype = Text()
    with pytest.raises(OSError, match="str"):
        take(probe, source)
    source.dtype.name = "\ud800"
    with pytest.raises(UnicodeEncodeError):
        take(probe, source)


def test_other_byte_order(probe):
    source = np.arange(6, dtype=">i4").reshape(2, 3).T
    with pytest.raises(BufferError, match="ndarray.__array_interface__: .*byte order"):
        take(probe, source)
    with pytest.raises(BufferError, match="copy=False"):
        take(probe, source, byteswap=True, copy=False)
    np.testing.assert_array_equal(np.from_dlpack(take(probe, source, byteswap=True)), source)


def test_none(probe):
    for source in (None, 3, object(), b"abc", [1], Raising(AttributeError("no"))):
        assert take(probe, source) is None


def test_what_a_property_raises_passes_through(probe):
    for error in (OSError("mine"), KeyError("mine"), ValueError("mine"), TypeError("mine"), KeyboardInterrupt("mine")):
        with pytest.raises(type(error), match="mine"):
            take(probe, Raising(error))


# ---- data ----


def test_data_with_a_buffer(probe):
    memory = bytearray(range(24))
    source = Interface(data=memory, typestr="|u1", shape=(4, 6))
    tensor = take(probe, source)
    assert not tensor.readonly
    np.testing.assert_array_equal(np.from_dlpack(tensor), np.arange(24).reshape(4, 6))
    with pytest.raises(BufferError):
        memory.append(1)
    del tensor
    memory.append(1)
    assert take(probe, Interface(data=b"abcd", typestr="<f4", shape=())).readonly


def test_data_of_the_object_itself(probe):
    class Bytes(bytearray):
        __array_interface__ = {"version": 3, "shape": (2, 2), "typestr": "<u2", "offset": 1}

    source = Bytes(range(10))
    tensor = take(probe, source)
    np.testing.assert_array_equal(np.from_dlpack(tensor), [[0x0201, 0x0403], [0x0605, 0x0807]])
    with pytest.raises(BufferError):
        source.append(0)
    del tensor
    source.append(0)
    Bytes.__array_interface__["data"] = None
    assert take(probe, source).shape == (2, 2)


def test_data_without_a_buffer(probe):
    with pytest.raises(TypeError, match="__array_interface__: 'data' must be a tuple .*, which Interface has not"):
        take(probe, Interface(data=...))
    with pytest.raises(TypeError, match="which int has not"):
        take(probe, Interface(data=12345))


def test_data_whose_buffer_is_not_contiguous(probe):
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        take(probe, Interface(data=memoryview(bytes(100))[::2]))


def test_writable_is_asked_of_the_buffer(probe):
    source = Interface(data=bytes(24))
    with pytest.raises(BufferError, match="not writable"):
        take(probe, source, writable=True)
    assert take(probe, source, writable=True, copy=True).readonly
    assert not take(probe, Interface(data=bytearray(24)), writable=True).readonly


@pytest.mark.parametrize(
    "nbytes, keys, fits",
    [
        (24, {}, True),
        (23, {}, False),
        (25, {"offset": 1}, True),
        (24, {"offset": 1}, False),
        (24, {"offset": 24, "shape": (0, 3)}, True),
        (24, {"offset": 25, "shape": (0, 3)}, False),
        (24, {"offset": -1}, False),
        (24, {"offset": 2**62}, False),
        (24, {"strides": (12, 4)}, True),
        (24, {"strides": (16, 4)}, False),
        (28, {"strides": (16, 4)}, True),
        (24, {"strides": (-12, -4)}, False),
        (24, {"strides": (-12, -4), "offset": 20}, True),
        (24, {"strides": (-12, -4), "offset": 19}, False),
        (24, {"strides": (12, -4), "offset": 8}, True),
        (23, {"strides": (12, -4), "offset": 8}, False),
        (4, {"strides": (0, 0)}, True),
        (3, {"strides": (0, 0)}, False),
        (0, {"shape": (0,)}, True),
        (0, {"shape": ()}, False),
        (24, {"shape": (2, -3)}, False),
        (4, {"shape": (2**60,), "strides": (4,)}, False),
        (4, {"shape": (2, 2**31), "strides": (2**62, 4)}, False),
    ],
)
def test_elements_lie_in_the_buffer(probe, nbytes, keys, fits):
    source = Interface(data=bytearray(nbytes), **keys)
    if fits:
        assert take(probe, source).shape == source.dict["shape"]
    else:
        message = "(.*do not lie in|offset is|.*address|.*63|shape.1. is -3)"
        with pytest.raises(BufferError, match="Interface.__array_interface__: " + message):
            take(probe, source)


def test_offset_of_an_address(probe):
    assert take(probe, Interface(offset=0)).shape == (2, 3)
    with pytest.raises(ValueError, match="offset is 4, which has a meaning only where 'data' has a buffer"):
        take(probe, Interface(offset=4))


# ---- the dict, wrong in every way ----

WRONG = [
    ({"version": ...}, ValueError, "there is no 'version' in it"),
    ({"version": None}, ValueError, "there is no 'version' in it"),
    ({"version": 2}, BufferError, "version is 2, and is known from 3 to 3"),
    ({"version": 4}, BufferError, "version is 4, and is known from 3 to 3"),
    ({"version": "3"}, TypeError, "version must be an integer, not str"),
    ({"version": 3.0}, TypeError, "version must be an integer, not float"),
    ({"version": True}, TypeError, "version must be an integer, not bool"),
    ({"shape": ...}, ValueError, "there is no 'shape' in it"),
    ({"shape": None}, ValueError, "there is no 'shape' in it"),
    ({"shape": [2, 3]}, TypeError, "'shape' must be a tuple, not list"),
    ({"shape": 6}, TypeError, "'shape' must be a tuple, not int"),
    ({"shape": (2, 3.0)}, TypeError, r"shape\[1\] must be an integer, not float"),
    ({"shape": (2, True)}, TypeError, r"shape\[1\] must be an integer, not bool"),
    ({"shape": (2, None)}, TypeError, r"shape\[1\] must be an integer, not NoneType"),
    ({"shape": (2, -3)}, BufferError, r"shape\[1\] is -3"),
    ({"shape": (2, 2**63)}, BufferError, r"shape\[1\] is -?[0-9]+: more than 64 bits"),
    ({"shape": (2, -(2**70))}, BufferError, r"shape\[1\] is -?[0-9]+: more than 64 bits"),
    ({"shape": (2**40, 2**40)}, BufferError, "63"),
    ({"shape": (1,) * 65}, BufferError, "'shape' has 65 entries, and a tensor at most 64"),
    ({"strides": [12, 4]}, TypeError, "'strides' must be a tuple, not list"),
    ({"strides": (12,)}, ValueError, "'strides' has 1 entries, and 'shape' 2"),
    ({"strides": (12, 4, 1)}, ValueError, "'strides' has 3 entries, and 'shape' 2"),
    ({"strides": (12, "4")}, TypeError, r"strides\[1\] must be an integer, not str"),
    ({"strides": (12, 6)}, BufferError, r"strides\[1\] is 6 bytes, no multiple of the 4 of an element"),
    ({"strides": (2**64, 4)}, BufferError, r"strides\[0\] is 18446744073709551616: more than 64 bits"),
    ({"strides": (2**62, 4), "shape": (9, 3)}, BufferError, "63"),
    ({"strides": (1,) * 65}, BufferError, "'strides' has 65 entries"),
    ({"typestr": ...}, ValueError, "there is no 'typestr' in it"),
    ({"typestr": b"<f4"}, TypeError, "'typestr' must be a str, not bytes"),
    ({"typestr": "f4"}, BufferError, 'typestr "f4" is not of the form'),
    ({"typestr": "<f4\0"}, BufferError, "null character"),
    ({"typestr": "<f4[3]"}, BufferError, 'typestr "<f4\\[3\\]" is not of the form'),
    ({"typestr": "<f16"}, BufferError, "the kind 'f' with items of 16 bytes is of no dtype"),
    ({"typestr": "|V4"}, BufferError, "a structure, or bytes of no known meaning"),
    ({"typestr": "|V4", "descr": [("a", "<i2"), ("b", "<i2")]}, BufferError, "a structure"),
    ({"typestr": ">f4"}, BufferError, "byte order of other machines"),
    ({"mask": Interface()}, BufferError, "it has a mask"),
    ({"mask": 0}, BufferError, "it has a mask"),
    ({"data": (1, 2, 3)}, ValueError, "'data' must be a tuple of an address and a flag, not of 3"),
    ({"data": ()}, ValueError, "'data' must be a tuple of an address and a flag, not of 0"),
    ({"data": ("0x10", False)}, TypeError, r"data\[0\] must be an integer, not str"),
    ({"data": (False, 4096)}, TypeError, r"data\[0\] must be an integer, not bool"),
    ({"data": (-1, False)}, BufferError, r"data\[0\] is no address"),
    ({"data": (2**64, False)}, BufferError, r"data\[0\] is no address"),
    ({"data": (0, False)}, BufferError, "data is NULL"),
    ({"data": (2**64 - 8, False)}, BufferError, "address"),
    ({"offset": "4"}, TypeError, "offset must be an integer, not str"),
    ({"offset": 2**64}, BufferError, "offset is 18446744073709551616: more than 64 bits"),
]


@pytest.mark.parametrize("keys, error, message", WRONG)
def test_wrong(probe, keys, error, message):
    source = Interface(**keys)
    things = [source, source.dict, *(value for value in source.dict.values() if not isinstance(value, int) and value)]
    before = [sys.getrefcount(thing) for thing in things]
    for _ in range(3):
        with pytest.raises(error, match=rf"^Interface.__array_interface__: .*{message}"):
            take(probe, source)
    assert [sys.getrefcount(thing) for thing in things] == before


@pytest.mark.parametrize("value", [None, 3, "text", (1, 2), [1], object()])
def test_no_dict(probe, value):
    class Source:
        __array_interface__ = value

    with pytest.raises(TypeError, match=f"Source.__array_interface__: it must be a dict, not {type(value).__name__}"):
        take(probe, Source())


def test_typestr_that_is_no_text(probe):
    with pytest.raises(UnicodeEncodeError):
        take(probe, Interface(typestr="\ud800"))


def test_dict_with_a_mind_of_its_own(probe):
    """A dict it must be, and as a dict it is read."""

    class Dict(dict):
        def __missing__(self, key):
            raise OSError(key)

        def __getitem__(self, key):
            raise OSError(key)

    source = Interface()
    source.dict = Dict(source.dict)
    assert take(probe, source).shape == (2, 3)
    del source.dict["shape"]
    with pytest.raises(ValueError, match="there is no 'shape'"):
        take(probe, source)


def test_keys_that_raise(probe):
    class Key(str):
        def __hash__(self):
            return hash("shape")

        def __eq__(self, other):
            raise OSError("mine")

    source = Interface(shape=...)
    source.dict[Key("shape")] = (2, 3)
    with pytest.raises(OSError, match="mine"):
        take(probe, source)


def test_a_class_instead_of_an_object(probe):
    with pytest.raises(TypeError, match="must be a dict, not property"):
        take(probe, Interface)


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


def test_integers_of_any_kind(probe):
    source = Interface(shape=(np.int8(2), Index(3)), strides=(np.uint64(12), np.int16(4)), version=np.int32(3))
    source.dict["data"] = (np.uint64(source.address), False)
    assert take(probe, source).shape == (2, 3)
    assert np.from_dlpack(take(probe, source)).ctypes.data == source.address


@pytest.mark.parametrize("error", [OSError("mine"), TypeError("mine"), AttributeError("mine"), KeyError("mine")])
def test_integers_that_raise(probe, error):
    bad = Index(error)
    for keys in ({"shape": (2, bad)}, {"strides": (bad, 4)}, {"version": bad}, {"data": (bad, False)}, {"offset": bad}):
        with pytest.raises(type(error), match="mine"):
            take(probe, Interface(**keys))


def test_integers_that_change_the_dict(probe):
    """The tuple that is being read dies in the dict meanwhile."""

    class Saboteur:
        def __index__(self):
            source.dict.clear()
            gc.collect()
            return 2

    for key in ("shape", "strides", "version"):
        source = Interface()
        source.dict[key] = tuple([Saboteur(), 4]) if key != "version" else Saboteur()
        with pytest.raises((ValueError, TypeError, BufferError)):
            take(probe, source)
    source = Interface()
    source.dict["data"] = (Saboteur(), False)
    assert take(probe, source).shape == (2, 3)  # at address 2, which nobody reads


def test_truth_that_raises(probe):
    class Doubt:
        def __bool__(self):
            raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        take(probe, Interface(data=(1, Doubt())))


def test_strides_that_mean_nothing(probe):
    assert take(probe, Interface(shape=(1, 3), strides=(7, 4))).shape == (1, 3)
    assert take(probe, Interface(shape=(1, 3), strides=(-(2**63), 4))).shape == (1, 3)
    assert take(probe, Interface(shape=(0, 3), strides=(7, 5))).shape == (0, 3)
    assert take(probe, Interface(shape=(0, 2**62, 2**62), data=(0, False))).size == 0
    assert take(probe, Interface(shape=(), strides=())).shape == ()
    assert take(probe, Interface(shape=(1,) * 64)).ndim == 64


# ---- life ----


def test_the_object_is_kept(probe):
    source = Interface()
    before = sys.getrefcount(source)
    tensor = take(probe, source)
    assert sys.getrefcount(source) == before + 1
    del tensor
    assert sys.getrefcount(source) == before


def test_memory_of_an_object_that_is_gone(probe):
    tensor = take(probe, Exact(np.arange(1000)))
    gc.collect()
    np.testing.assert_array_equal(np.from_dlpack(tensor), np.arange(1000))


PILLOW = {"L": "u1", "P": "u1", "RGB": "u1", "RGBA": "u1", "I": "i4", "F": "f4", "I;16": "u2", "1": "?"}


@pytest.mark.parametrize("mode, dtype", PILLOW.items())
def test_pillow(probe, mode, dtype):
    from PIL import Image

    image = Image.new(mode, (4, 3), 1)
    tensor = take(probe, image)
    assert tensor.shape == ((3, 4) if len(image.getbands()) == 1 else (3, 4, len(image.getbands())))
    assert tensor.readonly  # a copy that Pillow made, as bytes
    seen = np.from_dlpack(tensor)
    assert seen.dtype == dtype
    np.testing.assert_array_equal(seen, np.asarray(image))


def test_pillow_in_the_other_order(probe):
    from PIL import Image

    image = Image.new("I;16B", (4, 3), 258)
    with pytest.raises(BufferError, match="byte order"):
        take(probe, image)
    assert np.from_dlpack(take(probe, image, byteswap=True)).max() == 258


@pytest.mark.partner("torch")
def test_torch_has_none(probe):
    import torch

    for way in interfaces.WAYS:
        assert interfaces.take(probe, way, torch.zeros(3)) is None


def test_ours(probe):
    """What is taken is a tensor as any other."""
    tensor = take(probe, np.arange(6.0).reshape(2, 3).T)
    assert repr(tensor).startswith("Tensor(float64[3, 2], cpu, strides=[1, 3])\n")
    assert not tensor.is_copied
    again = dlpark.from_dlpack(tensor, copy=True)
    assert again.is_copied and again.strides == (2, 1)


def test_ctypes_pointer_type(probe):
    values = (ctypes.c_double * 4)(1, 2, 3, 4)
    source = Interface(shape=(4,), typestr="<f8", data=(ctypes.addressof(values), True))
    tensor = take(probe, source)
    assert tensor.readonly
    assert np.from_dlpack(tensor).tolist() == [1, 2, 3, 4]
