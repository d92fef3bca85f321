"""Formats of PEP 3118 and typestrs: every one that a partner emits, held against what the partner means by it."""

import array
import ctypes
import itertools
import struct

import numpy as np
import pytest

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("code", "?bBhHiIlLqQnNefd")
@pytest.mark.parametrize("prefix", ["", "@", "=", "<", ">", "!"])
def test_codes_of_the_module_struct(probe, code, prefix):
    """Sizes are those of the module struct, and no other size is accepted."""
    try:
        nbytes = struct.calcsize(prefix + code)
    except struct.error:  # n and N have no standard size
        for nbytes in (4, 8):
            with pytest.raises(BufferError, match="no dtype"):
                probe.format(prefix + code, nbytes)
        return
    kind = {"?": "bool", "e": "float", "f": "float", "d": "float"}.get(code, "int" if code.islower() else "uint")
    name = kind if kind == "bool" else f"{kind}{8 * nbytes}"
    swapped = prefix in (">", "!") and nbytes > 1
    assert probe.format(prefix + code, nbytes) == (name, swapped)
    for other in {0, 1, 2, 3, 4, 8, 16, -1, -nbytes, 2**32 + nbytes, 2**62} - {nbytes}:
        with pytest.raises(BufferError, match=f"items of {nbytes} bytes, but the items have {other}"):
            probe.format(prefix + code, other)


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_array_array(probe, code):
    memory = memoryview(array.array(code))
    name, swapped = probe.format(memory.format, memory.itemsize)
    assert (np.dtype(name).itemsize, np.dtype(name).kind) == (memory.itemsize, np.dtype(code).kind)
    assert not swapped


@pytest.mark.parametrize("code", [code for code in np.typecodes["All"] if code not in "SUVOMmgG"])
@pytest.mark.parametrize("order", "=<>")
def test_numpy(probe, code, order):
    values = np.zeros(2, np.dtype(code).newbyteorder(order))
    memory = memoryview(values)
    swapped = order == ">" and values.itemsize > 1
    assert probe.format(memory.format, memory.itemsize) == (values.dtype.name, swapped)
    assert probe.typestr(values.__array_interface__["typestr"]) == (values.dtype.name, swapped)


@pytest.mark.parametrize("code", [*"gGSUO", "V8", "S3", "i4,f4", "(2,2)f4", "2i4,i1", "S0", "U2"])
def test_numpy_refused(probe, code):
    values = np.zeros(2, np.dtype([("a", code)]) if code.startswith("(") else code)
    memory = memoryview(values)
    with pytest.raises(BufferError, match="of no dtype"):
        probe.format(memory.format, memory.itemsize)
    with pytest.raises(BufferError, match="of no dtype|not of the form"):
        probe.typestr(values.__array_interface__["typestr"])


@pytest.mark.parametrize(
    "name, expected",
    [
        ("c_bool", "bool"),
        ("c_byte", "int8"),
        ("c_ubyte", "uint8"),
        ("c_short", "int16"),
        ("c_ushort", "uint16"),
        ("c_int", "int32"),
        ("c_uint", "uint32"),
        ("c_long", f"int{8 * ctypes.sizeof(ctypes.c_long)}"),
        ("c_ulong", f"uint{8 * ctypes.sizeof(ctypes.c_long)}"),
        ("c_longlong", "int64"),
        ("c_ulonglong", "uint64"),
        ("c_size_t", f"uint{8 * ctypes.sizeof(ctypes.c_size_t)}"),
        ("c_float", "float32"),
        ("c_double", "float64"),
    ],
)
def test_ctypes(probe, name, expected):
    kind = getattr(ctypes, name)
    memory = memoryview((kind * 2)())
    assert probe.format(memory.format, memory.itemsize) == (expected, False)
    if hasattr(kind, "__ctype_be__"):
        memory = memoryview((kind.__ctype_be__ * 2)())
        assert probe.format(memory.format, memory.itemsize) == (expected, memory.itemsize > 1)


@pytest.mark.parametrize("name", ["c_char", "c_wchar", "c_longdouble", "c_void_p", "py_object"])
def test_ctypes_refused(probe, name):
    memory = memoryview((getattr(ctypes, name) * 2)())
    with pytest.raises(BufferError, match=f'"{memory.format}" is of no dtype'):
        probe.format(memory.format, memory.itemsize)


@pytest.mark.partner("mlx")
def test_mlx(probe):
    import mlx.core as mx

    names = "bool_ int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 complex64".split()
    for name in names:
        values = mx.zeros((2,), getattr(mx, name))
        mx.eval(values)
        memory = memoryview(values)
        assert probe.format(memory.format, memory.itemsize) == (name.rstrip("_"), False)


@pytest.mark.partner("jax")
def test_jax(probe):
    import jax.numpy as jnp

    for name in "bool_ int8 uint8 int16 uint16 int32 uint32 float16 float32 complex64".split():
        memory = memoryview(jnp.zeros((2,), getattr(jnp, name)))
        assert probe.format(memory.format, memory.itemsize) == (name.rstrip("_"), False)


@pytest.mark.parametrize(
    "text, nbytes, reason",
    [
        ("", 1, "empty"),
        ("@", 1, "empty"),
        ("c", 1, "character"),
        ("3s", 3, "repeat count"),
        ("2f", 8, "repeat count"),
        ("1f", 4, "repeat count"),
        ("ff", 8, "more than one number"),
        ("f:name:", 4, "more than one number"),
        ("T{<f:a:}", 4, "structure"),
        ("(2)f", 8, "array within"),
        ("&f", 8, "pointers"),
        ("X{}", 8, "pointers"),
        ("Z", 8, "complex"),
        ("Zg", 32, "complex"),
        ("Zi", 8, "complex"),
        ("Zff", 8, "complex"),
        ("x", 1, "padding"),
        ("t", 1, "bits"),
        ("E", 2, "not known"),
        (" f", 4, "more than one number"),
        ("bfloat", 2, "more than one number"),
        ("\xe9", 1, "number|known"),
    ],
)
def test_refusals_say_what_it_is(probe, text, nbytes, reason):
    with pytest.raises(BufferError, match=reason):
        probe.format(text, nbytes)


def test_item_size_of_another_type(probe):
    """MLX before 0.30 said "B" of bfloat16; whoever believes the format reads half of each element."""
    with pytest.raises(BufferError, match='"B" is of items of 1 bytes, but the items have 2'):
        probe.format("B", 2)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_names_out(probe, dtype):
    name = np.dtype(dtype).name
    assert np.dtype(probe.typestr_of(name)) == np.dtype(dtype)
    assert probe.typestr_of(name) == np.dtype(dtype).str
    memory = memoryview(np.zeros(1, dtype))
    assert probe.format_of(name) == memory.format
    assert probe.format(probe.format_of(name), memory.itemsize) == (name, False)
    assert probe.typestr(probe.typestr_of(name)) == (name, False)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4", "float32x2", "boolx2", "int128", "complex32"])
def test_no_names_out(probe, name):
    assert probe.format_of(name) is None
    assert probe.typestr_of(name) is None


def test_every_typestr_of_a_size(probe):
    """Orders, kinds and sizes against numpy.dtype: what that takes for a number, and what it does not."""
    for order, kind, nbytes in itertools.product("<>|=", "biufctmMOSUVQ", [*range(40), 64, 2**31, 2**33, 10**12]):
        text = f"{order}{kind}{nbytes}"
        try:
            expected = np.dtype(text)
            known = kind in "biufc" and expected.itemsize == nbytes and expected.char not in "gG"
        except TypeError:
            known = False
        if known:
            assert probe.typestr(text) == (expected.name, order == ">" and nbytes > 1), text
        else:
            with pytest.raises(BufferError, match="of no dtype|not of the form"):
                probe.typestr(text)


@pytest.mark.parametrize("text", ["", "<", "<f", "f4", "<f4 ", "<f4x", "<4", "<f-4", "^f4", "<ff4", "float32"])
def test_no_typestr(probe, text):
    with pytest.raises(BufferError, match="not of the form|of no dtype"):
        probe.typestr(text)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("<M8[ns]", "times have"),
        ("<m8[us]", "time differences"),
        ("|O8", "Python objects"),
        ("|O", "Python objects"),
        ("|S5", "text"),
        ("<U5", "text"),
        ("|V12", "structure"),
        ("<f16", "2, 4 or 8"),
        ("<f1", "2, 4 or 8"),
        ("<c32", "8 or 16"),
        ("<i16", "1, 2, 4 or 8"),
        ("<i0", "1, 2, 4 or 8"),
        ("|b2", "1 byte"),
        ("|t1", "bits"),
        ("<z4", "not known"),
    ],
)
def test_typestr_refusals_say_what_it_is(probe, text, reason):
    with pytest.raises(BufferError, match=reason):
        probe.typestr(text)
