"""NumPy arrays by NumPy's own C API: every dtype, layout and flag, and new arrays."""

import gc
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import dlpark

NUMPY, DLPACK = 0x008, 0x010
READ_ONLY, PADDED = 1, 4

BUILTINS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
OTHERS = (
    "bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float6_e2m3fn float6_e3m2fn float4_e2m1fn complex32 int1 int2 int4 uint1 uint2 uint4"
)
NARROW = {"float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int1", "int2", "int4", "uint1", "uint2", "uint4"}


def address(array):
    return array.__array_interface__["data"][0]


# ---- dtypes ----


@pytest.mark.parametrize("name", BUILTINS.split())
def test_builtin_dtypes(probe, name):
    array = np.zeros((2, 3), name)
    assert probe.py_view(array) == ((address(array), name, "cpu", [2, 3], [3, 1], 0), False)
    _, origin, view = probe.py_import(array)
    assert (origin, view) == ((NUMPY, False, None), probe.py_view(array)[0])
    assert dlpark.from_dlpack(array).dtype == name


@pytest.mark.parametrize("code", "bBhHiIlLqQ")
def test_c_integers(probe, code):
    array = np.zeros(2, code)
    assert probe.py_view(array)[0][1] == f"{'u' * code.isupper()}int{array.itemsize * 8}"


@pytest.mark.parametrize("name", OTHERS.split())
def test_dtypes_of_ml_dtypes(probe, name):
    """NumPy's own __dlpack__ refuses them."""
    array = np.zeros((2, 3), getattr(ml_dtypes, name))
    with pytest.raises(BufferError):
        array.__dlpack__()
    flags = PADDED if name in NARROW else 0
    assert probe.py_view(array) == ((address(array), name, "cpu", [2, 3], [3, 1], flags), False)
    tensor = dlpark.from_dlpack(array)
    assert (tensor.dtype, tensor.readonly) == (name, False)


def test_values_of_narrow_numbers():
    array = np.array([1, -1, 7, -8, 0], ml_dtypes.int4)
    assert str(dlpark.from_dlpack(array)) == "[ 1 -1  7 -8  0]"
    assert str(dlpark.from_dlpack(array, copy=True)) == "[ 1 -1  7 -8  0]"
    assert str(dlpark.from_dlpack(array[::-2])) == "[0 7 1]"


@pytest.mark.parametrize(
    "dtype",
    ["O", "S3", "U3", "V4", "M8[s]", "m8[us]", [("a", "i4"), ("b", "f8")], "M8", "S0"],
)
def test_what_is_no_number_is_refused_by_name(probe, dtype):
    array = np.empty(2, dtype)
    for call in (dlpark.from_dlpack, probe.py_view):
        with pytest.raises(BufferError) as caught:
            call(array)
        assert str(caught.value) == f"a NumPy array of dtype {array.dtype} cannot be exchanged: DLPack has no such elements"


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_extended_floats_are_numpys_to_judge(probe, dtype):
    with pytest.raises(BufferError, match="DLPack only supports IEEE"):
        probe.py_view(np.zeros(2, dtype))
    with pytest.raises(BufferError, match="^ndarray: NumPy itself has to say"):
        probe.py_import(np.zeros(2, dtype), paths=NUMPY)


def test_dtypes_that_numpy_itself_made_later(probe):
    array = np.array(["a", "b"], np.dtypes.StringDType())
    with pytest.raises(BufferError):
        dlpark.from_dlpack(array)


@pytest.mark.parametrize("dtype", [">i2", ">f4", ">c16", ">u8"])
def test_the_other_byte_order(probe, dtype):
    array = np.arange(3).astype(dtype)
    for call in (dlpark.from_dlpack, probe.py_view):
        with pytest.raises(BufferError, match=f"^a NumPy array of dtype {dtype} has its elements in the other byte order"):
            call(array)
    assert probe.py_view(array.astype(f"<{dtype[1:]}"))[1] is False
    assert probe.py_view(np.zeros(2, ">i1"))[0][1] == "int8"  # one byte has no order


# ---- Layouts ----

VIEWS = ["a", "a[::2]", "a[:, ::-1]", "a.T", "a[1, 1]", "a[None]", "a[1:2]", "a[:0]", "a[..., None, :]", "np.broadcast_to(a, (2, 3, 4))"]


@pytest.mark.parametrize("view", VIEWS)
def test_layouts(probe, view):
    array = eval(view, {"a": np.arange(12, dtype=np.int32).reshape(3, 4), "np": np})
    array = np.asarray(array)
    got, owned = probe.py_view(array)
    assert got[:4] == (address(array) if array.size else 0, "int32", "cpu", list(array.shape))
    assert got[4] == [stride // 4 for stride in array.strides]
    assert owned is False
    assert np.asarray(dlpark.from_dlpack(array)).tolist() == array.tolist()


def test_rank_64(probe):
    array = np.zeros((1,) * 62 + (2, 3))
    assert probe.py_view(array)[0][3] == list(array.shape)
    assert dlpark.from_dlpack(array).ndim == 64


def test_strides_between_elements_are_numpys_to_judge(probe):
    base = np.zeros(64, np.uint8)
    odd = as_strided(base[:8].view(np.int64), (3,), (9,))
    for call in (dlpark.from_dlpack, probe.py_view):
        with pytest.raises(BufferError, match="multiple of itemsize"):
            call(odd)
    one, none = as_strided(base[:8].view(np.int64), (1,), (9,)), as_strided(base[:8].view(np.int64), (0,), (9,))
    assert probe.py_view(one)[0][3:] == ([1], [1], 0)
    assert probe.py_view(none)[0][0] == 0
    assert np.asarray(dlpark.from_dlpack(odd, copy=True)).tolist() == [0, 0, 0]  # by NumPy's own copy


def test_strides_beyond_the_address_space(probe):
    """as_strided makes such arrays; nobody could read them."""
    for stride in (2**62, -(2**62), 2**63 - 8):
        for shape in ((3,), (2, 2)):
            array = as_strided(np.zeros(1), shape, (stride,) * len(shape))
            with pytest.raises(BufferError):
                probe.py_view(array)
    far = as_strided(np.zeros(1), (2,), (-(2**48),))
    with pytest.raises(BufferError):
        probe.py_view(far)
    assert probe.py_view(as_strided(np.zeros(1), (1, 2), (2**62, 8)))[0][4] == [2**59, 1]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_view_is_what_numpy_says(probe, data):
    name = data.draw(st.sampled_from(["uint8", "int16", "float32", "float64", "complex128"]))
    array = np.arange(240).astype(name).reshape(data.draw(st.sampled_from([(240,), (15, 16), (4, 5, 12), (2, 3, 4, 10)])))
    index = tuple(
        data.draw(st.one_of(st.integers(0, extent - 1), st.builds(slice, *[st.one_of(st.none(), st.integers(-9, 9))] * 2, st.sampled_from([1, 2, 3, -1, -2]))))
        for extent in array.shape
    )
    part = np.asarray(array[index]).transpose(data.draw(st.permutations(range(np.asarray(array[index]).ndim))))
    view, owned = probe.py_view(part)
    assert (view[1], view[3], owned) == (name, list(part.shape), False)
    if part.size:
        assert (view[0], view[4]) == (address(part), [stride // part.itemsize for stride in part.strides])
    assert np.asarray(dlpark.from_dlpack(part)).tolist() == part.tolist()


# ---- Flags ----


def test_read_only(probe):
    array = np.zeros(3)
    array.flags.writeable = False
    assert probe.py_view(array)[0][5] == READ_ONLY
    assert dlpark.from_dlpack(array).readonly
    with pytest.raises(BufferError, match="will be written, and is read-only"):
        probe.py_view(array, writable=True)
    assert probe.lend(array, writable=True)[0][5] == READ_ONLY
    assert probe.py_view(np.zeros(3), writable=True)[1] is False


@pytest.mark.filterwarnings("ignore")
def test_writes_that_warn_count_as_forbidden(probe):
    array = np.broadcast_arrays(np.zeros(3), np.zeros((2, 3)))[0]
    assert array.flags.num & 1 << 31
    assert probe.py_view(array)[0][5] == READ_ONLY
    assert dlpark.from_dlpack(array).readonly


def test_misaligned_arrays_are_taken(probe):
    array = np.frombuffer(b"\0" * 17, np.uint8)[1:].view(np.float64)
    assert not array.flags.aligned
    assert probe.py_view(array)[0][0] == address(array)


# ---- Life ----


def test_owners_keep_the_array_and_let_it_go():
    array = np.zeros(3)
    before = sys.getrefcount(array)
    tensor = dlpark.from_dlpack(array)
    assert sys.getrefcount(array) == before + 1
    part = np.from_dlpack(tensor)
    del tensor
    assert sys.getrefcount(array) == before + 1
    del part
    assert sys.getrefcount(array) == before


def test_references_stay_flat(probe):
    array, swapped = np.zeros(3), np.zeros(3, ">f8")
    dtype, other = array.dtype, np.zeros(3, ml_dtypes.bfloat16)
    before = [sys.getrefcount(x) for x in (array, dtype, other, swapped)]
    for _ in range(2000):
        dlpark.from_dlpack(array)
        dlpark.from_dlpack(other, copy=True)
        probe.py_view(array)
        with pytest.raises(BufferError):
            probe.py_view(swapped)
    assert [sys.getrefcount(x) for x in (array, dtype, other, swapped)] == before


@pytest.mark.threads
def test_the_end_on_another_thread():
    array = np.zeros(3)
    before = sys.getrefcount(array)
    kept = [dlpark.from_dlpack(array) for _ in range(100)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert sys.getrefcount(array) == before


def test_subclasses_are_asked_themselves(probe):
    class Logged(np.ndarray):
        def __dlpack__(self, **keywords):
            self.keywords = keywords
            return super().__dlpack__(**keywords)

    array = np.zeros(3).view(Logged)
    assert probe.py_import(array)[1][0] == DLPACK
    assert array.keywords == {"max_version": (1, 3)}
    with pytest.raises(TypeError, match="^Logged does not offer what was asked for: a numpy.ndarray$"):
        probe.py_import(array, paths=NUMPY)


def test_numpy_is_never_imported():
    script = """
import sys
import dlpark, kit_probe
class Odd: pass
for x in (Odd(), 3):
    try:
        kit_probe.py_view(x)
    except AttributeError:
        pass
assert kit_probe.numpy_new("float32", (2,)) is None
assert not any(name.split(".")[0] in ("numpy", "torch") for name in sys.modules), sorted(sys.modules)
import numpy
array, view = kit_probe.numpy_new("float32", (2,))
assert array.shape == (2,) and kit_probe.type_of(numpy.ndarray)[0] == 3
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.parametrize("table", ["missing", "not a capsule", "old"])
def test_a_numpy_that_is_not_known(table):
    """Arrays then go by __dlpack__."""
    script = f"""
import sys, types, ctypes
import numpy as np, dlpark, kit_probe
real = sys.modules["numpy._core._multiarray_umath"]
fake = types.ModuleType("fake")
if {table!r} == "not a capsule":
    fake._ARRAY_API = 3
if {table!r} == "old":
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(lambda: 0x01000008)
    entries = (ctypes.c_void_p * 300)(*[ctypes.cast(version, ctypes.c_void_p).value] * 300)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    fake._ARRAY_API = new(ctypes.addressof(entries), None, None)
sys.modules["numpy._core._multiarray_umath"] = fake
assert kit_probe.type_of(np.ndarray)[0] == 0
assert kit_probe.py_import(np.zeros(3))[1][0] == 0x10
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("done\n", "")


# ---- New arrays ----


@pytest.mark.parametrize("name", BUILTINS.split() + OTHERS.split())
def test_new_arrays(probe, name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    array, view = probe.numpy_new(name, (2, 3))
    assert (type(array), array.dtype, array.shape, array.strides) == (np.ndarray, dtype, (2, 3), (3 * dtype.itemsize, dtype.itemsize))
    assert array.flags.writeable and array.flags.owndata
    assert view == (address(array), name, "cpu", [2, 3], [3, 1], PADDED if name in NARROW else 0)
    assert probe.numpy_new(name, ())[0].shape == ()
    assert probe.numpy_new(name, (0, 2))[1][0] == 0


def test_new_arrays_that_cannot_be(probe):
    with pytest.raises(BufferError, match="^NumPy has no dtype for float128$"):
        probe.numpy_new("float128", (2,))
    with pytest.raises(BufferError, match="^a NumPy array cannot have 65 dimensions$"):
        probe.numpy_new("float32", (1,) * 65)
    for shape in ((2**60, 2**60), (2**62,)):
        with pytest.raises((ValueError, MemoryError)):
            probe.numpy_new("float32", shape)
    with pytest.raises(ValueError):
        probe.numpy_new("float32", (-1,))


def test_new_arrays_import_ml_dtypes_when_they_need_it():
    script = """
import sys, numpy, kit_probe
kit_probe.numpy_new("float32", (2,))
assert "ml_dtypes" not in sys.modules
for _ in range(2):
    print(kit_probe.numpy_new("bfloat16", (2,))[0].dtype)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("bfloat16\nbfloat16\n", "")


def test_references_of_dtypes_stay_flat(probe):
    for dtype in (np.dtype("float32"), np.dtype(ml_dtypes.bfloat16)):
        before = sys.getrefcount(dtype)
        for _ in range(500):
            probe.numpy_new(dtype.name, (2,))
        with pytest.raises((ValueError, MemoryError)):
            probe.numpy_new(dtype.name, (2**62,))
        assert sys.getrefcount(dtype) == before


# ---- Masks ----

WAYS = [None, "dlpack", "array_struct", "array_interface", "buffer"]


class Masked(np.ma.MaskedArray):
    """A class of somebody else's."""


@pytest.mark.parametrize("kind", [np.ma.MaskedArray, Masked])
@pytest.mark.parametrize("way", WAYS)
def test_masked_elements_are_refused_by_every_way(way, kind):
    array = kind([1, 2, 3], mask=[0, 1, 0])
    for _ in range(3):  # the type is known the second time
        with pytest.raises(BufferError, match=r"^a NumPy array with masked elements cannot be exchanged.*x.filled\(value\) and x.data"):
            dlpark.from_dlpack(array, via=way)
        assert dlpark.from_dlpack(array.filled(9), via=way).tolist() == [1, 9, 3]
        assert dlpark.from_dlpack(array.data, via=way).tolist() == [1, 2, 3]
        for whole in (kind([4, 5]), kind([4, 5], mask=[0, 0])):
            tensor = dlpark.from_dlpack(whole, via=way)
            assert tensor.tolist() == [4, 5] and not tensor.is_copied


def test_masked_elements_are_refused_by_the_kit(probe):
    array = np.ma.MaskedArray(np.ones(3, np.float32), mask=[0, 1, 0])
    function = probe.function("f(a: f32[n])", bare=True)
    for call in (lambda: function(array), lambda: probe.py_view(array), lambda: probe.py_import(array), lambda: probe.request(array)):
        for _ in range(3):
            with pytest.raises(BufferError, match="masked elements"):
                call()
    whole = np.ma.MaskedArray(np.ones(3, np.float32))
    for _ in range(3):
        function(whole)
    whole[1] = np.ma.masked
    with pytest.raises(BufferError, match="masked elements"):
        function(whole)


def test_a_mask_that_cannot_be_read_says_why():
    class Angry(np.ma.MaskedArray):
        @property
        def mask(self):
            raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        dlpark.from_dlpack(np.ones(3).view(Angry))
