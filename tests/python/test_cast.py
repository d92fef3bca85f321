"""Elements as another dtype: astype() beside NumPy, ml_dtypes, PyTorch and exact fractions, and the kit's `convert`."""

import fractions
import math

import ml_dtypes
import numpy as np
import pytest
from test_value import tensor_of

import dlpark

rng = np.random.default_rng(11)

FLOATS = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def singles(count=20000):
    """float32 of every exponent that a narrow format has, and of all others; halves between its values among them."""
    bits = rng.integers(0, 2**32, count, dtype=np.uint32)
    near = bits & 0x80FFFFFF | rng.integers(107, 137, count, dtype=np.uint32) << 23
    few = near & 0xFFF80000
    special = np.array([0, 0x80000000, 1, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x43E80000], np.uint32)
    return np.concatenate([bits, near, few, special]).view(np.float32)


def codes(tensor):
    """The codes of a Tensor, packed or not, as they are."""
    return np.frombuffer(tensor.tobytes(), np.uint8 if tensor.nbytes == math.prod(tensor.shape) else np.uint16)


def unpacked(tensor):
    """The elements of a packed tensor as floats, by the reader of elements."""
    return np.array(tensor.tolist(), np.float32)


@pytest.mark.parametrize("name", FLOATS)
def test_singles_become_what_ml_dtypes_makes_of_them(name):
    values = singles()
    dtype = np.dtype(getattr(ml_dtypes, name))
    if name == "float8_e8m0fnu":  # ml_dtypes takes 2**-127 for a subnormal number, and rounds what is near it to 2**-126
        values = values[~((np.abs(values) > 2.0**-127) & (np.abs(values) < 1.5 * 2.0**-127))]
    with np.errstate(all="ignore"):
        theirs = values.astype(dtype)
    tensor = dlpark.from_dlpack(values).astype(name)
    ours = unpacked(tensor)
    theirs_back = theirs.astype(np.float32)
    if name.startswith(("float6", "float4")):  # no NaN, and zero of either sign instead
        assert np.array_equal(np.signbit(ours), np.signbit(theirs_back))
    differs = ~((ours == theirs_back) | (np.isnan(ours) & np.isnan(theirs_back)))
    assert not differs.any(), (values[differs][:5], ours[differs][:5], theirs_back[differs][:5])
    assert np.array_equal(np.signbit(ours)[~np.isnan(ours)], np.signbit(theirs_back)[~np.isnan(ours)])


@pytest.mark.parametrize("name", FLOATS)
def test_every_code_comes_back(name):
    """From each narrow float to float32, by ml_dtypes and by us; and back again."""
    bits = ml_dtypes.finfo(getattr(ml_dtypes, name)).bits
    every = np.arange(2**bits, dtype=np.uint16 if bits == 16 else np.uint8)
    theirs = every.view(getattr(ml_dtypes, name)).astype(np.float32)
    source = dlpark.from_dlpack(every.view(np.uint8)).view(name) if bits >= 8 else dlpark.from_dlpack(theirs).astype(name)
    ours = source.astype("float32").numpy()
    np.testing.assert_array_equal(ours, theirs)
    assert np.array_equal(np.signbit(ours)[~np.isnan(ours)], np.signbit(theirs)[~np.isnan(ours)])
    finite = np.isfinite(theirs)
    again = unpacked(dlpark.from_dlpack(ours).astype(name))
    np.testing.assert_array_equal(again[finite], theirs[finite])


# Significant bits, the exponent of the smallest number, the largest number, and what is beyond it.
ROUNDED = {
    "float32": (24, -149, 2**128 - 2**104, math.inf),
    "float16": (11, -24, 65504, math.inf),
    "bfloat16": (8, -133, 2**128 - 2**120, math.inf),
    "float8_e3m4": (5, -6, 15.5, math.inf),
    "float8_e4m3": (4, -9, 240, math.inf),
    "float8_e4m3b11fnuz": (4, -13, 30, math.nan),
    "float8_e4m3fn": (4, -9, 448, math.nan),
    "float8_e4m3fnuz": (4, -10, 240, math.nan),
    "float8_e5m2": (3, -16, 57344, math.inf),
    "float8_e5m2fnuz": (3, -17, 57344, math.nan),
    "float6_e2m3fn": (4, -3, 7.5, 7.5),
    "float6_e3m2fn": (3, -4, 28, 28),
    "float4_e2m1fn": (2, -1, 6, 6),
}


def nearest(value, name):
    """The value of a float that is nearest to a Fraction, ties to even, by arithmetic with fractions alone."""
    digits, lowest, largest, beyond = ROUNDED[name]
    sign, size = (-1 if value < 0 else 1), abs(value)
    if size == 0:
        return 0.0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if fractions.Fraction(2) ** exponent > size:
        exponent -= 1
    unit = fractions.Fraction(2) ** max(exponent - digits + 1, lowest)
    rounded = round(size / unit) * unit  # Python rounds halves to even
    return sign * (beyond if rounded > largest else float(rounded))


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("source", ["float64", "int64", "uint64"])
def test_wide_numbers_are_rounded_once(name, source):
    """What lies within one unit of the last place of the source of every kind of boundary: 10,000 of each."""
    digits, lowest, largest, _ = ROUNDED[name]
    if source == "float64":
        exponents = rng.integers(lowest - 3, math.frexp(largest)[1] - digits + 1, 2500)
        grid = rng.integers(-(2 ** (digits + 1)), 2 ** (digits + 1), 2500).astype(np.float64) * 2.0**exponents
        values = np.concatenate([grid, np.nextafter(grid, np.inf), np.nextafter(grid, -np.inf), grid * (1 + 2.0**-40)])
    else:
        high = rng.integers(1, 2 ** (digits + 1), 2500) << rng.integers(0, 62 - digits, 2500)
        values = np.concatenate([high, high - 1, high + 1, -high if source == "int64" else high + 2]).astype(source)
    ours = dlpark.from_dlpack(values).astype(name).tolist()
    expected = [nearest(fractions.Fraction(value), name) for value in values.tolist()]
    np.testing.assert_array_equal(ours, expected)


def test_wide_floats_as_numpy_has_them():
    with np.errstate(all="ignore"):
        values = np.concatenate([singles().astype(np.float64) * (1 + 2.0**-30), rng.standard_normal(1000) * 1e300])
        tensor = dlpark.from_dlpack(values)
        for name in ("float32", "float16"):
            np.testing.assert_array_equal(tensor.astype(name).numpy(), values.astype(name))


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_wrap_as_numpy_has_them(source, target):
    info = np.iinfo(source)
    values = rng.integers(info.min, info.max, 3000, dtype=source, endpoint=True)
    values[:2] = info.min, info.max
    tensor = dlpark.from_dlpack(values)
    np.testing.assert_array_equal(tensor.astype(target).numpy(), values.astype(target))
    limits = np.iinfo(target)
    saturated = [min(max(int(v), limits.min), limits.max) for v in values]
    assert tensor.astype(target, overflow="saturate").tolist() == saturated


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", ["float64", "float32", "float16", "bfloat16"])
def test_floats_to_integers_are_truncated_and_kept_within(source, target):
    values = np.concatenate([rng.standard_normal(2000) * 10.0 ** rng.integers(0, 20, 2000), [0.5, -0.5, 1.5, np.inf, -np.inf]])
    tensor = dlpark.from_dlpack(values).astype(source)
    limits = np.iinfo(target)

    def kept(value):
        return limits.max if value == math.inf else limits.min if value == -math.inf else min(max(int(value), limits.min), limits.max)

    assert tensor.astype(target).tolist() == [kept(value) for value in tensor.tolist()]


def test_complex_numbers_and_bools():
    values = rng.standard_normal(100) + 1j * rng.standard_normal(100)
    tensor = dlpark.from_dlpack(values)
    np.testing.assert_array_equal(tensor.astype("complex64").numpy(), values.astype(np.complex64))
    np.testing.assert_array_equal(tensor.real.astype("complex128").numpy(), values.real.astype(np.complex128))
    assert tensor.astype("bool").tolist() == [True] * 100
    assert dlpark.from_dlpack(np.array([0.0, -0.0, np.nan, 2])).astype("bool").tolist() == [False, False, True, True]
    with pytest.raises(TypeError, match=r"cannot cast complex128 to float64: the imaginary parts would be lost; take .real first"):
        tensor.astype("float64")


def test_layouts():
    array = rng.standard_normal((5, 7, 3)).astype(np.float32)
    for view in (array[::2, ::-1], array.T, np.broadcast_to(array[0], (4, 7, 3)), array[:0], array[2, 3, 1]):
        made = dlpark.from_dlpack(view).astype("float64")
        np.testing.assert_array_equal(made.numpy(), view.astype(np.float64))
        assert (made.is_copied, made.readonly) == (True, False)


def test_narrow_integers():
    tensor = dlpark.from_dlpack(np.array([1, -8, 7, 9, -1], np.int32))
    assert tensor.astype("int4").tolist() == [1, -8, 7, -7, -1]
    assert tensor.astype("int4", overflow="saturate").tolist() == [1, -8, 7, 7, -1]
    assert tensor.astype("uint2", overflow="saturate").tolist() == [1, 0, 3, 3, 0]
    packed = tensor_of(bytes([0x21, 0x43]), (1, 4, 1), (4,))
    assert packed.astype("float4_e2m1fn").astype("int64").tolist() == [1, 2, 3, 4]
    assert packed[2:].astype("int8").tolist() == [3, 4]


def test_modes():
    tensor = dlpark.from_dlpack(np.array([1000.0, -1000.0, np.inf]))
    told = [str(tensor.astype("float8_e4m3fn", overflow=mode).tolist()) for mode in (None, "nosat", "satfinite", "satall")]
    assert told == ["[nan, nan, nan]", "[nan, nan, nan]", "[448.0, -448.0, nan]", "[448.0, -448.0, 448.0]"]
    assert tensor.astype("int8", overflow="wrap").tolist() == [-24, 24, 0]
    assert tensor.astype("int8", overflow="saturate").tolist() == [127, -128, 127]
    with pytest.raises(OverflowError, match=r"element \[0\] is 1000, which i8 does not hold"):
        tensor.astype("int8", overflow="refuse")


@pytest.mark.parametrize(
    "mode, dtype, error, message",
    [
        ("wrap", "float16", ValueError, "overflow is 'wrap', which has no meaning for float16: expected 'nosat', 'satfinite', 'satall' or 'refuse'"),
        ("satall", "int8", ValueError, "overflow is 'satall', which has no meaning for int8: expected 'wrap', 'saturate' or 'refuse'"),
        ("clip", "int8", ValueError, "overflow is 'clip', expected 'nosat', 'satfinite'"),
        (1, "int8", TypeError, "overflow is 1, expected a str or None"),
    ],
)
def test_modes_that_are_none(mode, dtype, error, message):
    with pytest.raises(error, match=message):
        dlpark.from_dlpack(np.zeros(3)).astype(dtype, overflow=mode)


def test_what_is_not_cast():
    with pytest.raises(TypeError, match="astype.. cannot cast float64 to opaque64"):
        dlpark.from_dlpack(np.zeros(3)).astype("opaque64")


def test_other_threads_run_beside_a_large_cast():
    """Without the GIL, and the result is whole."""
    values = rng.standard_normal(1 << 20)
    np.testing.assert_array_equal(dlpark.from_dlpack(values).astype("float32").numpy(), values.astype(np.float32))


@pytest.mark.partner("torch")
@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_what_torch_makes_of_singles(name):
    """Where it does not saturate. float8_e4m3fn does in some versions, and is left to the golden table."""
    import torch

    values = singles()
    theirs = torch.from_numpy(values.copy()).to(getattr(torch, name)).to(torch.float32).numpy()
    ours = unpacked(dlpark.from_dlpack(values).astype(name))
    np.testing.assert_array_equal(ours, theirs)


# ---- convert, of the extension kit ----


@pytest.fixture
def look(probe):
    def read(signature, *args):
        return probe.function(signature, hook=None)(*args)[0]["args"]

    return read


def test_convert_changes_the_dtype(probe):
    seen = []

    def hook(told):
        (told,) = told["args"]
        seen.append((told["dtype"], told["strides"]))

    array = np.arange(6.0).reshape(2, 3).T
    probe.function("f(a: f32[n,k] c convert)", hook=hook)(array)
    probe.function("f(a: f16|f32 convert)", hook=hook)(array)
    probe.function("f(a: f64 convert)", hook=hook)(np.arange(3, dtype=np.int8))
    probe.function("f(a: c64 convert)", hook=hook)(np.array([True, False]))
    assert [dtype for dtype, _ in seen] == ["f32", "f16", "f64", "c64"]
    assert seen[0][1] == (2, 1)


def test_convert_loses_no_kind_of_value(look):
    for signature, array in (
        ("f(a: i32 convert)", np.zeros(3)),
        ("f(a: f64 convert)", np.zeros(3, np.complex64)),
        ("f(a: bool convert)", np.zeros(3)),
        ("f(a: f32[4] convert)", np.zeros(3)),
        ("f(a: f32[n,k] convert)", np.zeros(3)),
    ):
        with pytest.raises(TypeError, match=r"f\(\) argument 'a': expected .* convert, got (f64|c64)\[3\]"):
            look(signature, array)
    with pytest.raises(OverflowError, match=r"element \[1\] is 300, which u8 does not hold") as caught:
        look("f(a: u8 convert)", np.array([1, 300]))
    assert caught.value.__notes__ == ["in f() argument 'a'"]


def test_convert_to_the_dtype_of_another_argument(probe):
    seen = []
    function = probe.function("f(a: f32|f64, b: same(a) convert)", hook=lambda told: seen.append(told["args"][1]["dtype"]))
    function(np.zeros(2, np.float64), np.zeros(2, np.float32))
    function(np.zeros(2, np.float32), np.zeros(2, np.int64))
    assert seen == ["f64", "f32"]


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_refuse_refuses_infinity_and_nan_where_there_is_none(value):
    tensor = dlpark.from_dlpack(np.array([1, value], np.float32))
    for dtype in dlpark.dtypes.ALL:
        if "float" in dtype and dtype.bits <= 16:
            if dtype.limits.has_infinity if value == np.inf else dtype.limits.has_nan:
                assert repr(tensor.astype(dtype, overflow="refuse").tolist()[1]) == repr(float(value))
                continue
            with pytest.raises(OverflowError, match=r"^element \[1\] is (inf|nan), which f\d_\w+ does not hold$"):
                tensor.astype(dtype, overflow="refuse")
