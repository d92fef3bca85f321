"""The array interfaces and the buffer protocol by the front door: from_dlpack(), with what it is asked for."""

import array
import ctypes
import mmap
import sys

import hostile
import interfaces
import ml_dtypes
import numpy as np
import pytest
from hostile import Foreign, Offer

import dlpark

VALUES = np.arange(6, dtype="f4").reshape(2, 3)


class Everything:
    """Offers every way, each with a shape of its own, and notes what it is asked for; `without` takes ways away."""

    def __init__(self, *without):
        self.without, self.asked = without, []
        self.memory = (ctypes.c_float * 64)()

    def __getattribute__(self, name):
        if name.startswith("__") and name not in ("__class__", "__dict__"):
            self.asked.append(name)
            if name in self.without:
                raise AttributeError(name)
        return super().__getattribute__(name)

    def interface(self, *shape):
        return {"version": 3, "shape": shape, "typestr": "<f4", "data": (ctypes.addressof(self.memory), False)}

    @property
    def __cuda_array_interface__(self):
        return self.interface(2)

    @property
    def __array_struct__(self):
        self.struct = interfaces.Struct(shape=(3,), strides=(4,))
        return self.struct.__array_struct__

    @property
    def __array_interface__(self):
        return self.interface(4)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        return Foreign(shape=(1,)).capsule(destructor=True)


def test_order_of_the_ways():
    ways = ["__dlpack__", "__cuda_array_interface__", "__array_struct__", "__array_interface__"]
    without = ["__dlpack_device__"]
    for count in range(4):
        tensor = dlpark.from_dlpack(Everything(*without, *ways[:count]))
        assert tensor.shape == (count + 1,)
        assert tensor.device == ("cuda:0" if count == 1 else "cpu")
    with pytest.raises(AttributeError, match="Everything has no __dlpack__"):
        dlpark.from_dlpack(Everything(*without, *ways))


def test_what_was_found_first_is_not_left_for_the_next():
    """A way that the object offers and that fails is an error, and no reason to try another."""
    source = interfaces.Interface(typestr="|V4")
    with pytest.raises(BufferError, match="structure"):
        dlpark.from_dlpack(source)

    class Both(bytearray):
        __array_interface__ = {"version": 4}

    with pytest.raises(BufferError, match="version is 4"):
        dlpark.from_dlpack(Both(b"abc"))


SOURCES = {
    "bytes": lambda: b"abcdef",
    "bytearray": lambda: bytearray(b"abcdef"),
    "memoryview": lambda: memoryview(b"abcdef")[::-1],
    "array": lambda: array.array("h", [1, 2, 3]),
    "ctypes": lambda: (ctypes.c_double * 3)(1, 2, 3),
    "mmap": lambda: mmap.mmap(-1, 64),
    "interface": lambda: interfaces.Interface(),
    "interface over a buffer": lambda: interfaces.Interface(data=bytes(24)),
    "struct": lambda: interfaces.Struct(),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("device", [None, "cpu"])
def test_copy(name, device):
    source = SOURCES[name]()
    before = sys.getrefcount(source)
    shared, never, copied = (dlpark.from_dlpack(source, copy=copy, device=device) for copy in (None, False, True))
    assert [tensor.is_copied for tensor in (shared, never, copied)] == [False, False, True]
    first, second, third = (np.from_dlpack(tensor) for tensor in (shared, never, copied))
    assert first.ctypes.data == second.ctypes.data != third.ctypes.data
    assert not copied.readonly
    np.testing.assert_array_equal(first, third)
    del shared, never, copied, first, second, third
    assert sys.getrefcount(source) == before


@pytest.mark.parametrize("name", SOURCES)
def test_another_device(name):
    with pytest.raises(BufferError, match="cpu"):
        dlpark.from_dlpack(SOURCES[name](), device="cuda:0")
    with pytest.raises(dlpark.DeviceCopyError):
        dlpark.from_dlpack(SOURCES[name](), device="cuda:0", copy=False)


@pytest.mark.parametrize("via", ["array_struct", "array_interface", "buffer"])
@pytest.mark.parametrize("copy", [None, True])
def test_each_alone_and_in_the_other_order(via, copy):
    tensor = dlpark.from_dlpack(VALUES.T, via=via, copy=copy)
    assert tensor.strides == ((2, 1) if copy else (1, 3))
    swapped = VALUES.astype(">f4").T
    with pytest.raises(BufferError, match="byteswap=True"):
        dlpark.from_dlpack(swapped, via=via, copy=copy)
    tensor = dlpark.from_dlpack(swapped, via=via, copy=copy, byteswap=True)
    assert tensor.is_copied
    np.testing.assert_array_equal(np.from_dlpack(tensor), VALUES.T)
    with pytest.raises(BufferError, match="copy=False"):
        dlpark.from_dlpack(swapped, via=via, copy=False, byteswap=True)


def test_numpy_in_the_other_order():
    """NumPy itself refuses to export it; the array interface is where the order is told."""
    swapped = VALUES.astype(">f4")
    np.testing.assert_array_equal(np.from_dlpack(dlpark.from_dlpack(swapped, byteswap=True)), VALUES)


@pytest.mark.parametrize("via", ["array_struct", "array_interface"])
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_ml_dtypes(via, name):
    values = np.arange(4).astype(getattr(ml_dtypes, name))
    assert dlpark.from_dlpack(values, via=via).dtype == name


@pytest.mark.parametrize(
    "via, shape", [("cuda_array_interface", (2,)), ("array_struct", (3,)), ("array_interface", (4,))]
)
def test_one_way_of_several(via, shape):
    source = Everything("__dlpack_device__")
    assert dlpark.from_dlpack(source, via=via).shape == shape
    assert "__dlpack__" not in source.asked
    with pytest.raises(TypeError, match="Everything does not offer"):
        dlpark.from_dlpack(source, via="buffer")


def test_cuda_arrays_come_no_nearer():
    source = interfaces.CudaInterface()
    assert dlpark.from_dlpack(source).device == "cuda:0"
    assert dlpark.from_dlpack(source, device="cuda:0", copy=False).device == "cuda:0"
    for keywords in ({"device": "cpu"}, {"copy": True}, {"device": "cuda:1"}, {"device": "cpu", "copy": False}):
        with pytest.raises(BufferError):
            dlpark.from_dlpack(source, **keywords)


def test_given_on():
    """What came by one protocol goes out by the others."""
    tensor = dlpark.from_dlpack(array.array("i", [1, 2, 3]))
    assert np.from_dlpack(tensor).tolist() == memoryview(tensor).tolist() == [1, 2, 3]
    tensor = dlpark.from_dlpack(b"abc")
    assert bytes(tensor) == b"abc"
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()  # by the legacy ABI
    assert hostile.read(tensor.__dlpack__(max_version=(1, 0))).flags == hostile.READ_ONLY


def test_device_method_alone_is_not_enough():
    class Located(bytearray):
        def __dlpack_device__(self):
            return (1, 0)

    assert dlpark.from_dlpack(Located(b"abc")).shape == (3,)


def test_dlpack_comes_first():
    class Both(Offer):
        __array_interface__ = {"version": 4}

    assert dlpark.from_dlpack(Both(Foreign())).shape == (2, 3)


@pytest.mark.parametrize("mode", ["L", "RGB", "F"])
def test_pillow(mode):
    from PIL import Image

    image = Image.new(mode, (4, 3), 1)
    np.testing.assert_array_equal(np.from_dlpack(dlpark.from_dlpack(image)), np.asarray(image))


@pytest.mark.partner("pyarrow")
def test_pyarrow():
    import pyarrow

    assert bytes(dlpark.from_dlpack(pyarrow.py_buffer(b"abc"))) == b"abc"
