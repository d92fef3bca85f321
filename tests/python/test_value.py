"""Elements as Python objects: item(), tolist(), int() and its like, for every dtype that DLPack has."""

import math
import operator

import hostile
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from test_index import arrays

import dlpark

INT, UINT, FLOAT, OPAQUE, BFLOAT, COMPLEX, BOOL = range(7)
NARROW = {
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
    15: "float6_e2m3fn",
    16: "float6_e3m2fn",
    17: "float4_e2m1fn",
}


def tensor_of(data, dtype, shape, flags=0, strides=...):
    """A tensor over given bytes."""
    foreign = hostile.Foreign(dtype=dtype, shape=shape, flags=flags, strides=strides)
    foreign.memory[: len(data)] = data
    return dlpark.from_dlpack(foreign.capsule())


def same(ours, theirs):
    """Equal, of the same type, and the same zero; a NaN is a NaN."""
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, float) and math.isnan(theirs):
        return math.isnan(ours)
    signs = not isinstance(theirs, float) or math.copysign(1, ours) == math.copysign(1, theirs)
    return type(ours) is type(theirs) and ours == theirs and signs


@pytest.mark.parametrize("name", "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split())
def test_dtypes_of_numpy(name):
    dtype = np.dtype(name)
    noise = np.random.default_rng(5).integers(0, 2 if name == "?" else 256, 24 * dtype.itemsize, np.uint8)
    array = noise.view(dtype).reshape(2, 3, 4)
    ours, theirs = dlpark.from_dlpack(array).tolist(), array.tolist()
    if dtype.kind == "c":
        assert repr(ours) == repr(theirs)
    else:
        assert same(ours, theirs)


@pytest.mark.parametrize("code, name", NARROW.items())
def test_every_code_of_the_narrow_floats(code, name):
    bits = int(name[5])
    codes = np.arange(1 << bits, dtype=np.uint8)
    expected = codes.view(getattr(ml_dtypes, name)).astype(np.float64).tolist()
    padded = tensor_of(codes.tobytes(), (code, bits, 1), (len(codes),), flags=hostile.PADDED if bits < 8 else 0)
    assert same(padded.tolist(), expected)


def test_bfloat16():
    array = np.arange(0, 1 << 16, 37, dtype=np.uint16)
    foreign = tensor_of(array.tobytes()[:4096], (BFLOAT, 16, 1), (1000,))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        expected = array[:1000].view(ml_dtypes.bfloat16).astype(np.float64).tolist()
    assert same(foreign.tolist(), expected)


@pytest.mark.parametrize("code, bits", [(c, b) for c in (INT, UINT) for b in (1, 2, 4)])
def test_packed_integers(code, bits):
    data = bytes(range(0, 256, 7))
    lanes = 8 // bits
    values = [byte >> bits * i & (1 << bits) - 1 for byte in data for i in range(lanes)]
    if code == INT:
        values = [value - (1 << bits) if value >> (bits - 1) else value for value in values]
    tensor = tensor_of(data, (code, bits, 1), (len(values),))
    assert tensor.tolist() == values
    assert [tensor.item(i) for i in range(len(values))] == values
    assert tensor.flip().tolist() == values[::-1] if bits * (len(values) - 1) % 8 == 0 else True


def test_packed_floats_of_6_bits_lie_across_bytes():
    codes = list(range(64))
    whole = sum(code << 6 * i for i, code in enumerate(codes)).to_bytes(48, "little")
    expected = np.array(codes, np.uint8).view(ml_dtypes.float6_e3m2fn).astype(float).tolist()
    assert tensor_of(whole, (16, 6, 1), (64,)).tolist() == expected


@pytest.mark.parametrize("value", [0, 1, -1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**127 - 1, -(2**127), 3**70])
def test_integers_of_128_bits(value):
    signed = tensor_of(value.to_bytes(16, "little", signed=True), (INT, 128, 1), ())
    assert (signed.item(), int(signed), operator.index(signed)) == (value, value, value)
    unsigned = tensor_of((value % 2**128).to_bytes(16, "little"), (UINT, 128, 1), ())
    assert unsigned.tolist() == value % 2**128


def test_floats_of_128_bits_are_rounded():
    one_and_a_bit = (0x3FFF << 112 | 1 << 111 | 1).to_bytes(16, "little")
    assert tensor_of(one_and_a_bit, (FLOAT, 128, 1), ()).item() == 1.5


def test_complex_halves():
    halves = np.array([1.5, -2], np.float16)
    assert tensor_of(halves.tobytes(), (COMPLEX, 32, 1), ()).item() == 1.5 - 2j


def test_any_byte_but_0_is_true():
    assert tensor_of(bytes([0, 1, 2, 255]), (BOOL, 8, 1), (4,)).tolist() == [False, True, True, True]


def test_opaque_bytes():
    tensor = tensor_of(b"abcdefgh", (OPAQUE, 32, 1), (2,))
    assert tensor.tolist() == [b"abcd", b"efgh"]
    with pytest.raises(TypeError, match=r"int\(\): an element of opaque32 is no number"):
        int(tensor_of(b"1234", (OPAQUE, 32, 1), ()))
    with pytest.raises(TypeError, match=r"bool\(\): an element of opaque32 is no number"):
        bool(tensor_of(b"1234", (OPAQUE, 32, 1), ()))


def test_lanes_are_lists():
    values = np.arange(8, dtype=np.float32)
    tensor = tensor_of(values.tobytes(), (FLOAT, 32, 4), (2,))
    assert tensor.tolist() == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]
    assert tensor[1].item() == [4.0, 5.0, 6.0, 7.0]
    for convert in (int, float, complex, bool):
        with pytest.raises(TypeError, match=rf"{convert.__name__}\(\): an element of float32x4 is no number"):
            convert(tensor[0])


@given(arrays())
@settings(max_examples=200, deadline=None)
def test_tolist_of_any_view(array):
    assert dlpark.from_dlpack(array).tolist() == array.tolist()


@given(arrays())
@settings(max_examples=100, deadline=None)
def test_item_counts_in_row_major_order(array):
    tensor = dlpark.from_dlpack(array)
    for flat, (index, value) in enumerate(np.ndenumerate(array)):
        assert tensor.item(*index) == tensor.item(index) == value
        assert tensor.item([entry - extent for entry, extent in zip(index, array.shape)]) == value
        if array.ndim:
            assert tensor.item(flat) == tensor.item(flat - array.size) == value


@pytest.mark.parametrize("shape, strides", [((3, 0), (2**62, 2**62)), ((0, 3), (-(2**63), 1)), ((2, 0, 2), (2**62, 5, 1))])
def test_strides_that_mean_nothing(shape, strides):
    tensor = tensor_of(b"", (FLOAT, 32, 1), shape, strides=strides)
    assert tensor.tolist() == np.zeros(shape).tolist()
    with pytest.raises(IndexError):
        tensor.item(0)
    with pytest.raises(IndexError):
        tensor.item(*[extent - 1 for extent in shape])


@pytest.mark.parametrize(
    "index, error, message",
    [
        ((), ValueError, r"item\(\) without an index needs a tensor of one element, and this has 6"),
        ((6,), IndexError, "index 6 is out of range for 6 elements"),
        ((-7,), IndexError, "index -7 is out of range for 6 elements"),
        ((0, 3), IndexError, "index 3 is out of range for dimension 1 with extent 3"),
        ((-3, 0), IndexError, "index -3 is out of range for dimension 0 with extent 2"),
        ((0, 0, 0), ValueError, r"item\(\) has 3 indices for a tensor of rank 2"),
        ((0.0, 0), TypeError, "index must be an integer, not float"),
        ((True, 0), TypeError, "index must be an integer, not bool"),
        ((2**64, 0), ValueError, "index is 18446744073709551616: more than 64 bits"),
    ],
)
def test_items_that_are_not_there(index, error, message):
    with pytest.raises(error, match=message):
        dlpark.from_dlpack(np.zeros((2, 3))).item(*index)
    with pytest.raises(TypeError, match="unexpected keyword"):
        dlpark.from_dlpack(np.zeros((2, 3))).item(index=0)


# ---- Numbers ----


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_one_element_is_a_number(shape):
    def one(value, dtype):
        return dlpark.from_dlpack(np.full(shape, value, dtype))

    assert (int(one(7, "u1")), type(int(one(7, "u1")))) == (7, int)
    assert int(one(-2.9, "f4")) == -2
    assert float(one(1.5, "f2")) == 1.5
    assert float(one(3, "i4")) == 3.0
    assert complex(one(1 + 2j, "c8")) == 1 + 2j
    assert complex(one(2, "i8")) == 2
    assert int(one(True, "?")) == 1
    assert [bool(one(value, "f8")) for value in (0, -0.0, 0.5, np.nan)] == [False, False, True, True]
    assert [bool(one(value, "c8")) for value in (0, 1j)] == [False, True]


@pytest.mark.parametrize("shape", [(0,), (2,), (1, 2)])
def test_several_elements_are_no_number(shape):
    tensor = dlpark.from_dlpack(np.zeros(shape))
    for convert in (int, float, complex):
        with pytest.raises(TypeError, match=rf"{convert.__name__}\(\) needs a tensor of one element, and this has"):
            convert(tensor)
    with pytest.raises(ValueError, match=r"bool\(\) needs a tensor of one element"):
        bool(tensor)


@pytest.mark.parametrize("convert", [int, float])
def test_a_complex_number_is_not_cut(convert):
    with pytest.raises(TypeError, match="complex"):
        convert(dlpark.from_dlpack(np.array(1j)))


def test_what_int_refuses():
    with pytest.raises(ValueError, match="NaN"):
        int(dlpark.from_dlpack(np.array(np.nan)))
    with pytest.raises(OverflowError, match="infinity"):
        int(dlpark.from_dlpack(np.array(np.inf)))


def test_an_integer_of_rank_0_is_an_index():
    tensor = dlpark.from_dlpack(np.array([4, 5], np.uint8))
    assert operator.index(tensor[1]) == 5
    assert list(range(10))[tensor[0]] == 4
    assert "x" * tensor[0] == "xxxx"
    for other in (tensor, tensor[:1]):
        with pytest.raises(TypeError, match="only a tensor of integers and of rank 0.*not uint8 of rank 1"):
            operator.index(other)
    for array in (np.array(1.0), np.array(True), np.array(1j)):
        with pytest.raises(TypeError, match="only a tensor of integers and of rank 0"):
            operator.index(dlpark.from_dlpack(array))


# ---- Where nothing is read ----


@pytest.mark.parametrize("device", [(hostile.CUDA, 0), (10, 1), (8, 0), (13, 0)])
def test_memory_of_a_device_is_not_read(device):
    tensor = dlpark.from_dlpack(hostile.Foreign(device=device, shape=(1,)).capsule())
    for call, name in (
        (tensor.tolist, "tolist"),
        (tensor.item, "item"),
        (lambda: tensor.item(0), "item"),
        (lambda: int(tensor), "int"),
        (lambda: float(tensor), "float"),
        (lambda: complex(tensor), "complex"),
        (lambda: bool(tensor), "bool"),
        (tensor.tobytes, "tobytes"),
        (tensor.numpy, "numpy"),
    ):
        with pytest.raises(TypeError, match=rf"{name}\(\) reads the elements, and the tensor is on {tensor.device}, out"):
            call()
    if device[0] == 13:
        with pytest.raises(TypeError, match="the host may read it only when the device is done with it"):
            tensor.tolist()


def test_page_locked_memory_is_read():
    tensor = dlpark.from_dlpack(hostile.Foreign(device=(hostile.CUDA_HOST, 0), shape=(2,)).capsule())
    assert tensor.tolist() == [0.0, 0.0]
