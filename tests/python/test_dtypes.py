"""Names of dtypes in every library's spelling, dlpark.dtypes, and limits against the libraries' own."""

import copy
import inspect
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from test_docs import run_examples, sections

import dlpark
from dlpark import dtypes
from dlpark.dtypes import DType

FLOATS = [dtype for dtype in dtypes.ALL if "float" in dtype and dtype != "float128"]
INTEGERS = [dtype for dtype in dtypes.ALL if "int" in dtype]


def numpy_dtype(dtype):
    """NumPy's, or that of ml_dtypes; None where neither has one."""
    if hasattr(ml_dtypes, dtype):
        return np.dtype(getattr(ml_dtypes, dtype))
    try:
        return np.dtype(str(dtype))
    except TypeError:
        return None


# ---- Objects ----


def test_all_of_them_are_there():
    assert len(dtypes.ALL) == len(set(dtypes.ALL)) == 36
    assert all(isinstance(dtype, DType) and isinstance(dtype, str) for dtype in dtypes.ALL)
    assert {name for name in dtypes.__all__ if name not in ("ALL", "DType", "Limits")} == {
        "bool_" if dtype == "bool" else str(dtype) for dtype in dtypes.ALL
    }
    for name in dtypes.__all__:
        assert hasattr(dtypes, name)


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_a_dtype_is_its_name(dtype):
    assert eval(repr(dtype)) is dtype
    assert DType(str(dtype)) == dtype == str(dtype) and hash(dtype) == hash(str(dtype))
    assert DType(dtype.short_name) == dtype and DType(dtype) == dtype
    assert type(str(dtype)) is str and f"{dtype}" == str(dtype)
    assert dtype.lanes == 1 and (dtype.bits == 8 or str(dtype.bits) in dtype)
    for again in (copy.copy(dtype), copy.deepcopy(dtype), pickle.loads(pickle.dumps(dtype))):
        assert again == dtype and (again.code, again.bits, again.lanes) == (dtype.code, dtype.bits, dtype.lanes)


def test_lanes():
    dtype = DType("f32x4")
    assert (dtype, dtype.short_name, dtype.code, dtype.bits, dtype.lanes) == ("float32x4", "f32x4", 2, 32, 4)
    assert repr(dtype) == "dlpark.dtypes.DType('float32x4')" and eval(repr(dtype)) == dtype


def test_equality_is_by_meaning():
    assert dtypes.float32 == np.dtype("f4") and np.dtype("f4") == dtypes.float32
    assert dtypes.float32 == np.float32 and not dtypes.float32 != np.float32
    assert dtypes.float32 != np.dtype("f8") and np.dtype("f8") != dtypes.float32
    assert dtypes.bfloat16 == ml_dtypes.bfloat16 and dtypes.float8_e4m3 != ml_dtypes.float8_e4m3fn
    assert dtypes.float8_e4m3fn == np.dtype(ml_dtypes.float8_e4m3fn)
    assert dtypes.float32 != np.dtype("f4").newbyteorder()
    assert dtypes.float32 != "f32" and dtypes.float32 != 7 and dtypes.float32 != None  # noqa: E711
    assert dtypes.float64 == float and dtypes.int64 == int and dtypes.bool_ == bool
    assert dlpark.from_dlpack(np.zeros(2, np.int16)).dtype == dtypes.int16


@pytest.mark.partner("torch")
def test_equality_with_pytorch():
    import torch

    both = [dtype for dtype in dtypes.ALL if isinstance(getattr(torch, str(dtype), None), torch.dtype)]
    assert len(both) >= 25
    for dtype in both:
        assert dtype == getattr(torch, dtype) and getattr(torch, dtype) == dtype
        assert (dtypes.float32 == getattr(torch, dtype)) == (dtype == "float32")
    assert dtypes.bool_ == torch.bool and dtypes.complex32 == torch.chalf
    assert DType(torch.half) == "float16" and DType(torch.float4_e2m1fn_x2) == "float4_e2m1fnx2"


def test_a_dtype_is_taken_wherever_one_is_asked_for():
    tensor = dlpark.from_dlpack(np.ones(2, np.float32))
    for dtype in (dtypes.float16, "F16", "torch.half", "<f2", "np.half", np.float16, np.dtype("f2"), "half"):
        assert tensor.astype(dtype).dtype == "float16"
    assert tensor.view(dtypes.uint32).tolist() == tensor.view("U32").tolist() == [0x3F800000] * 2
    assert tensor.astype("F8_E4M3").dtype == "float8_e4m3fn"
    assert tensor.astype("float8_e4m3").dtype == "float8_e4m3"
    assert tensor.astype(float).dtype == "float64" and tensor.astype(int).dtype == "int64"
    assert tensor.astype(bool).dtype == "bool" and tensor.astype(complex).dtype == "complex128"


def test_pictures_take_them_too(codecs):
    png = dlpark.encode_image(np.zeros((2, 3, 3), np.uint8), "png")
    for dtype in (dtypes.float32, "F32", "torch.float", np.float32, "<f4"):
        assert dlpark.load_image(png, dtype=dtype).dtype == "float32"


@pytest.mark.parametrize(
    "name, message",
    [
        ("flaot32", 'dtype: "flaot32" is not a dtype; did you mean float32\\?'),
        ("float", "did you mean float32 \\(torch.float\\) or float64 \\(Python, NumPy\\)\\?"),
        ("f4", "did you mean float32, which is f32 or <f4\\?"),
        (">f4", '">f4" is of the other byte order'),
        ("Q4_0", "format of whole blocks"),
        ("float32\0", "expected one that DLPack has"),
        (object, "expected one that DLPack has"),
        (np.dtype("M8[s]"), "expected one that DLPack has"),
        (np.dtype(">f4"), "of the other byte order"),
        (7, "dtype is 7, expected one"),
    ],
)
def test_what_is_none_is_a_type_error(name, message):
    with pytest.raises(TypeError, match=message):
        DType(name)
    with pytest.raises(TypeError, match=message):
        dlpark.from_dlpack(np.ones(2)).astype(name)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize != 16 or np.finfo(np.longdouble).nmant == 112, reason="no x87")
def test_a_long_double_is_no_binary128():
    with pytest.raises(TypeError, match="expected one that DLPack has"):
        DType(np.dtype(np.longdouble))


def test_no_library_is_imported():
    code = "import dlpark, sys; dlpark.dtypes.DType('torch.half'); assert not {'numpy', 'torch', 'ml_dtypes'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- Limits ----


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_against_finfo(dtype):
    theirs = numpy_dtype(dtype)
    if theirs is None:
        pytest.fail(f"neither NumPy nor ml_dtypes has {dtype}")
    info, limits = ml_dtypes.finfo(theirs), dtype.limits
    assert type(limits.max) is float
    assert limits.max == float(info.max) and limits.min == float(info.min)
    assert limits.eps == float(info.eps) and limits.digits == info.nmant + 1
    assert limits.smallest_normal == float(info.smallest_normal)
    assert limits.smallest_subnormal == float(info.smallest_subnormal)
    every = np.array([np.inf, np.nan, -0.0, 0.0]).astype(theirs)
    assert limits.has_nan == bool(np.isnan(every[1]))
    assert limits.has_infinity == bool(np.isinf(every[0]))
    assert limits.has_signed_zero == (bool(np.signbit(every[2])) and float(every[2]) == 0)
    assert limits.has_zero == (float(every[3]) == 0)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_against_iinfo(dtype):
    theirs = numpy_dtype(dtype)
    limits = dtype.limits
    if theirs is None:
        assert dtype in ("int1", "uint1", "int128", "uint128")  # below, by definition
        lowest = -(2 ** (dtype.bits - 1)) if dtype.startswith("i") else 0
        highest = lowest + 2**dtype.bits - 1
    else:
        lowest, highest = int(ml_dtypes.iinfo(theirs).min), int(ml_dtypes.iinfo(theirs).max)
    assert (limits.min, limits.max) == (lowest, highest) and type(limits.max) is int
    assert limits.digits == dtype.bits - dtype.startswith("i")
    assert limits.has_zero and not (limits.has_nan or limits.has_infinity or limits.has_signed_zero)


@pytest.mark.partner("torch")
def test_floats_against_pytorch():
    import torch

    compared = 0
    for dtype in FLOATS:
        try:
            info = torch.finfo(getattr(torch, dtype))
        except (AttributeError, TypeError):
            continue
        limits = dtype.limits
        assert (limits.max, limits.eps, limits.smallest_normal) == (info.max, info.eps, info.tiny), dtype
        if dtype != "float8_e8m0fnu":  # without a sign the lowest is positive
            assert limits.min == info.min
        compared += 1
    assert compared >= 9


def test_others():
    assert dtypes.bool_.limits[:2] == (True, False) and dtypes.bool_.limits.max is True
    assert dtypes.complex64.limits == dtypes.float32.limits
    assert DType("float16x4").limits == dtypes.float16.limits
    for dtype in (dtypes.float128, DType("opaque64")):
        with pytest.raises(ValueError, match="has no limits"):
            dtype.limits


# ---- Documentation ----


@pytest.mark.parametrize("thing", [dtypes, dtypes.DType, dtypes.Limits, dtypes.DType.limits])
def test_docstrings(thing):
    assert set(sections(thing)) <= {"", "Parameters", "Attributes", "Raises", "Examples"}
    ran = run_examples(inspect.getdoc(thing), "dtypes")
    assert ran > 0 or thing is dtypes.Limits
