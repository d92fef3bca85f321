"""Calls by a signature: every word of the grammar, from Python's arguments to what C sees of them."""

import array
import ctypes

import dlpark
import hostile
import numpy as np
import pytest
from hostile import CUDA, CUDA_HOST, Foreign, Offer

VIEW_READ_ONLY, VIEW_PADDED = 1, 4

rng = np.random.default_rng(5)


def f32(*shape):
    return rng.random(shape, dtype=np.float32)


def own(x):
    """A tensor of ours that has nothing to do with NumPy any more."""
    return dlpark.from_dlpack(x)


def misaligned(shape, dtype=np.float32):
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(shape)) * dtype.itemsize
    return np.zeros(nbytes + 1, np.uint8)[1:].view(dtype).reshape(shape)


@pytest.fixture
def look(probe):
    """look(signature, *args, **keywords): what C was told of the arguments."""

    def read(signature, *args, **keywords):
        told, result = probe.function(signature)(*args, **keywords)
        assert result is None or told["results"]
        return told

    return read


def refused(look, message, signature, *args, **keywords):
    with pytest.raises(TypeError) as caught:
        look(signature, *args, **keywords)
    assert str(caught.value) == message


# ---- What C sees ----------------------------------------------------------------------------------------------------


WAYS = {
    "numpy": lambda x: x,
    "own": own,
    "offer": lambda x: Offer(lambda **_: x.__dlpack__(max_version=(1, 0))),
    "capsule": lambda x: x.__dlpack__(max_version=(1, 0)),
    "buffer": memoryview,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (3, 1, 2), (2, 1, 1, 3, 1), (0,), (2, 0, 3)])
def test_each_way_tells_the_same(look, way, shape):
    x = f32(*shape)
    (told,) = look("f(a: f32)", WAYS[way](x))["args"]
    assert told["shape"] == shape
    assert (told["dtype"], told["device"], told["bit_offset"], told["byte_offset"]) == ("f32", "cpu", 0, 0)
    assert told["address"] == (x.ctypes.data if x.size else 0)
    if x.size:
        assert [s for s, n in zip(told["strides"], shape) if n != 1] == [
            s // 4 for s, n in zip(x.strides, shape) if n != 1
        ]
    assert told["owned"] == (way not in ("numpy", "own"))
    assert told["f32"] != 0 and told["f64"] == 0 and told["f32_mut"] == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_plain_spec_tells_the_same(look, way):
    x = f32(3, 4)
    told = look("f(a: f32[n,k] c cpu)", WAYS[way](x))
    assert told["dims"] == {"n": 3, "k": 4}
    assert told["args"][0]["address"] == told["args"][0]["f32"] == x.ctypes.data
    assert (told["args"][0]["shape"], told["args"][0]["strides"]) == ((3, 4), (4, 1))


def test_strided_memory_is_read_in_place(look):
    x = f32(6, 8)[::2, ::-1]
    (told,) = look("f(a: f32[n,k])", x)["args"]
    assert (told["shape"], told["strides"], told["address"]) == ((3, 8), (16, -1), x.ctypes.data)


def test_a_matrix_product(probe):
    a, b = f32(4, 5), f32(5, 3)
    out = probe.matmul(a, b)
    assert type(out) is np.ndarray and out.dtype == np.float32
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)
    np.testing.assert_allclose(probe.matmul(b=own(b), a=a), a @ b, rtol=1e-5)
    assert type(probe.matmul(own(a), b)) is dlpark.Tensor
    with pytest.raises(TypeError) as caught:
        probe.matmul(f32(2, 4), np.zeros((5, 3)))
    assert str(caught.value) == "matmul() argument 'b': expected f32[k=4,m] c cpu, got f64[5,3]"


# ---- Dtypes ---------------------------------------------------------------------------------------------------------


NUMPY_NAMES = {"bool": "bool"} | {
    f"{short}{bits}": f"{long}{bits}"
    for short, long, widths in (("i", "int", (8, 16, 32, 64)), ("u", "uint", (8, 16, 32, 64)), ("f", "float", (16, 32, 64)))
    for bits in widths
}


@pytest.mark.parametrize("dtype", NUMPY_NAMES)
@pytest.mark.parametrize("form", ["{}[n]", "{}[...]", "{}[n] c cpu", "u8x4|{}[n]"])
def test_dtypes(look, dtype, form):
    x = np.zeros(3, NUMPY_NAMES[dtype])
    spec = form.format(dtype)
    for each in (x, own(x)):
        (told,) = look(f"f(a: {spec})", each)["args"]
        assert (told["dtype"], told["address"]) == (dtype, x.ctypes.data)
        assert look("f(a: any[n])", each)["args"][0]["dtype"] == dtype
    message = f"f() argument 'a': expected {spec.replace('[...]', '')}, got c64[3]"
    refused(look, message, f"f(a: {spec})", np.zeros(3, np.complex64))


def test_complex_numbers(look):
    for x in (np.zeros(2, np.complex64), own(np.zeros(2, np.complex64))):
        assert look("f(a: c64[n] c cpu)", x)["args"][0]["dtype"] == "c64"


def test_the_dtype_of_another_argument(look):
    signature = "f(a: f32|f64[n], b: same(a)[n])"
    assert look(signature, f32(3), f32(3))["args"][1]["dtype"] == "f32"
    assert look(signature, np.zeros(3), own(np.zeros(3)))["args"][1]["dtype"] == "f64"
    refused(look, "f() argument 'b': expected same(a)=f32[n=3], got f64[3]", signature, f32(3), np.zeros(3))
    signature = "f(a: f32[n] c cpu, b: same(a)[n] c cpu)"  # the first is plain, and tells late
    assert look(signature, f32(3), f32(3))["args"][1]["dtype"] == "f32"
    refused(look, "f() argument 'b': expected same(a)=f32[n=3] c cpu, got f64[3]", signature, f32(3), np.zeros(3))
    refused(
        look,
        "f() argument 'b': expected the dtype of argument 'a', which was not matched in this call",
        "f(a?: f32, b?: same(a))",
        b=f32(1),
    )


# ---- Dimensions -----------------------------------------------------------------------------------------------------


def test_names_are_bound_across_arguments(look):
    signature = "f(a: f32[n,k] c, b: f32[k,m] c, c: f32[m,n])"
    assert look(signature, f32(2, 3), f32(3, 4), f32(4, 2))["dims"] == {"n": 2, "k": 3, "m": 4}
    assert look(signature, c=f32(4, 2), a=f32(2, 3), b=own(f32(3, 4)))["dims"] == {"n": 2, "k": 3, "m": 4}
    refused(
        look,
        "f() argument 'c': expected f32[m=4,n=2], got f32[4,3]",
        signature,
        f32(2, 3),
        f32(3, 4),
        f32(4, 3),
    )
    refused(look, "f() argument 'b': expected f32[k=3,m] c, got f32[4,4]", signature, f32(2, 3), f32(4, 4), f32(4, 2))


@pytest.mark.parametrize("make", [lambda x: x, own])
@pytest.mark.parametrize(
    "dims, good, bad",
    [
        ("[n,n]", (3, 3), (3, 4)),
        ("[3,n]", (3, 9), (4, 9)),
        ("[_,2]", (7, 2), (7, 3)),
        ("[n,_,n]", (2, 5, 2), (2, 5, 3)),
        ("[]", (), (1,)),
        ("[...,n,2]", (4, 5, 3, 2), (4, 5, 3, 3)),
        ("[n,...]", (4,), ()),
        ("[1,n]", (1, 3), (3, 1)),
        ("[n,n,n,n,n]", (2,) * 5, (2, 2, 2, 2, 1)),
    ],
)
def test_dimensions(look, make, dims, good, bad):
    assert look(f"f(a: f32{dims} c cpu)", make(f32(*good)))["args"][0]["shape"] == good
    shown = ",".join(map(str, bad))
    refused(look, f"f() argument 'a': expected f32{dims} c cpu, got f32[{shown}]", f"f(a: f32{dims} c cpu)", make(f32(*bad)))


def test_a_name_of_a_refused_argument_is_not_bound(probe):
    """The first signature binds k to 4 before its second dimension fails."""
    function = probe.function("f(a: f32[3,k] c)", "f(a: f32[k,4] c)")
    told, _ = function(f32(5, 4))
    assert (told["overload"], told["dims"]) == (1, {"k": 5})
    told, _ = function(own(f32(5, 4)))
    assert (told["overload"], told["dims"]) == (1, {"k": 5})


def test_empty_tensors(look):
    for x in (f32(0, 3), f32(3, 0), own(f32(0, 3)), own(f32(3, 0))):
        told = look("f(a: f32[n,k] c cpu)", x)
        assert told["dims"] == {"n": x.shape[0], "k": x.shape[1]}
        assert told["args"][0]["address"] == 0 and told["args"][0]["f32"] != 0


def test_64_dimensions(look):
    shape = (1,) * 62 + (2, 3)
    told = look("f(" + ", ".join(f"a{i}: f32" for i in range(16)) + ")", *[f32(*shape) for _ in range(16)])
    assert told["heap"] and all(each["shape"] == shape for each in told["args"])
    assert all(each["strides"][-2:] == (3, 1) for each in told["args"])
    assert not look("f(a: f32)", f32(*shape))["heap"]


def test_sixteen_tensors_and_eight_scalars(look):
    names = [f"t{i}: f32[n,_] c cpu" for i in range(16)] + [f"s{i}: int" for i in range(8)]
    args = [f32(3, i) if i % 2 else own(f32(3, i)) for i in range(16)]
    told = look(f"f({', '.join(names)})", *args, *range(8))
    assert [each["shape"] for each in told["args"][:16]] == [(3, i) for i in range(16)]
    assert told["args"][16:] == list(range(8)) and told["dims"] == {"n": 3}


# ---- Layouts and alignment ------------------------------------------------------------------------------------------


LAYOUTS = {
    "c": lambda: f32(3, 4),
    "f": lambda: np.asfortranarray(f32(3, 4)),
    "inner": lambda: f32(3, 8)[:, :4],
    "none": lambda: f32(3, 8)[:, ::2],
}


@pytest.mark.parametrize("make", [lambda x: x, own, lambda x: Offer(lambda **_: x.__dlpack__())])
@pytest.mark.parametrize("has", LAYOUTS)
@pytest.mark.parametrize("word, fits", [("c", "c"), ("f", "f"), ("contig", "cf"), ("inner", "c inner"), ("", "c f inner none")])
def test_layouts(look, make, has, word, fits):
    x = LAYOUTS[has]()
    signature = f"f(a: f32[n,k] {word} cpu)"
    if has in fits:
        assert look(signature, make(x))["args"][0]["address"] == x.ctypes.data
        return
    shown = ",".join(str(s // 4) for s in x.strides)
    refused(look, f"f() argument 'a': expected f32[n,k] {word} cpu, got f32[3,4] strides [{shown}]", signature, make(x))


def test_strides_of_one_element_mean_nothing(look):
    x = np.lib.stride_tricks.as_strided(f32(3), (1, 3), (4096, 4))
    for each in (x, own(x)):
        assert look("f(a: f32[n,k] c cpu)", each)["args"][0]["shape"] == (1, 3)


@pytest.mark.parametrize("make", [lambda x: x, own])
def test_alignment(look, make):
    x = f32(64)
    at = (-x.ctypes.data // 4) % 16
    aligned, other = x[at : at + 8], x[at + 1 : at + 9]
    assert look("f(a: f32[n] align=64)", make(aligned))["args"][0]["address"] == aligned.ctypes.data
    refused(
        look, "f() argument 'a': expected f32[n] align=64, got f32[8] aligned to 4", "f(a: f32[n] align=64)", make(other)
    )


@pytest.mark.parametrize("spec", ["f32[n]", "f32[n] c cpu", "any", "f32|f64"])
def test_elements_lie_where_c_can_read_them(look, spec):
    """Unless the spec says otherwise: `align=1`."""
    x = misaligned((4,))
    for make in (lambda x: x, own):
        with pytest.raises(TypeError, match=r"^f\(\) argument 'a': expected .* align=4, got f32\[4\] aligned to 1$"):
            look(f"f(a: {spec})", make(x))
        assert look(f"f(a: {spec} align=1)", make(x))["args"][0]["address"] == x.ctypes.data
    assert look(f"f(a: {spec})", misaligned((0,)))["args"][0]["shape"] == (0,)


# ---- mut ------------------------------------------------------------------------------------------------------------


def test_memory_that_will_be_written(look):
    signature = "f(a: f32[n] c cpu mut)"
    x = f32(4)
    for each in (x, own(x), Offer(lambda **_: x.__dlpack__(max_version=(1, 0))), x.__dlpack__(max_version=(1, 0))):
        (told,) = look(signature, each)["args"]
        assert told["f32"] == told["f32_mut"] == x.ctypes.data and told["flags"] == 0
    assert look("f(a: f32[n])", x)["args"][0]["f32_mut"] == 0


def test_memory_that_must_not_be_written(look):
    x = f32(4)
    x.flags.writeable = False
    message = "f() argument 'a': expected f32[n] mut, got f32[4] read-only"
    for spec in ("f32[n] mut", "f32[n] c cpu mut"):
        shown = message.replace("f32[n] mut", {"f32[n] mut": "f32[n] mut", "f32[n] c cpu mut": "f32[n] c mut cpu"}[spec])
        for each in (x, own(x), Offer(lambda **_: x.__dlpack__(max_version=(1, 0))), memoryview(bytes(16)).cast("f")):
            refused(look, shown, f"f(a: {spec})", each)
    assert look("f(a: f32[n])", x)["args"][0]["flags"] == VIEW_READ_ONLY
    assert look("f(a: f32[n] c cpu)", own(x))["args"][0]["flags"] == VIEW_READ_ONLY


def test_memory_of_which_nobody_says_that_it_may_be_written(look):
    legacy = Foreign(legacy=True, shape=(4,))
    refused(
        look,
        "f() argument 'a': expected f32[n] mut, got f32[4] of unknown writability (legacy or raw origin)",
        "f(a: f32[n] mut)",
        legacy.capsule(),
    )
    assert len(legacy.calls) == 1
    # Another copy of the library, the module's, holds this one, and says what DLPack has a word for.
    held = dlpark.from_dlpack(Foreign(legacy=True, shape=(4,)).capsule())
    refused(look, "f() argument 'a': expected f32[n] c mut cpu, got f32[4] read-only", "f(a: f32[n] c cpu mut)", held)


@pytest.mark.parametrize("scalar", [np.float32(3), np.ones(3, np.float32)[1]])
def test_a_scalar_of_numpys_is_not_written(look, scalar):
    """It makes memory for each request, and would never see what is written to that."""
    assert look("f(a: f32)", scalar)["args"][0]["flags"] & VIEW_READ_ONLY
    refused(look, "f() argument 'a': expected f32 mut, got f32[] read-only", "f(a: f32 mut)", scalar)
    assert dlpark.from_dlpack(scalar, via="array_interface").readonly


def test_a_copy_is_not_written(probe):
    copied = Foreign(flags=hostile.IS_COPIED)
    with pytest.raises(BufferError, match="made a copy, and what is written to it would be lost") as caught:
        probe.function("f(a: f32 mut)")(Offer(copied))
    assert caught.value.__notes__ == ["in f() argument 'a'"] and len(copied.calls) == 1


# ---- convert --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda x: x, own, lambda x: Offer(lambda **_: x.__dlpack__())])
@pytest.mark.parametrize("word, strides", [("c", (4, 1)), ("f", (1, 3)), ("contig", (4, 1)), ("inner", (4, 1))])
@pytest.mark.parametrize("rows", [3, 3 * 4096])
def test_what_does_not_fit_a_layout_is_copied(probe, make, word, strides, rows):
    x = f32(rows, 8)[:, ::2]
    seen = []

    def hook(told):
        (told,) = told["args"]
        flat = np.ctypeslib.as_array((ctypes.c_float * x.size).from_address(told["address"])).copy()
        seen.append(flat.reshape(x.shape, order="F" if word == "f" else "C"))

    before = (x.copy(), x.base is not None)
    told, _ = probe.function(f"f(a: f32[n,k] {word} convert)", hook=hook)(make(x))
    assert told["args"][0]["owned"] == 1 and told["args"][0]["address"] != x.ctypes.data
    assert told["args"][0]["strides"] == tuple(rows if s == 3 else s for s in strides)
    np.testing.assert_array_equal(seen[0], before[0])


@pytest.mark.parametrize("make", [lambda x: x, own])
def test_what_is_not_aligned_is_copied(look, make):
    x = misaligned((2, 3))
    (told,) = look("f(a: f32[n,k] convert)", make(x))["args"]
    assert told["address"] % 4 == 0 and told["owned"]
    x = np.zeros(40, np.float32)[1:]
    (told,) = look("f(a: f32[n] align=4096 convert)", make(x))["args"]
    assert told["address"] % 4096 == 0


def test_what_fits_is_not_copied(look):
    x = f32(3, 4)
    assert look("f(a: f32[n,k] c convert)", x)["args"][0]["address"] == x.ctypes.data


def test_packed_elements_are_copied_to_where_they_begin(look):
    """Padded elements have no layout; packed ones of a copy have."""
    padded = Foreign(dtype=(0, 4, 1), shape=(2, 3), flags=hostile.PADDED)
    refused(look, "f() argument 'a': expected i4[n,k] c, got i4[2,3] strides [3,1] padded", "f(a: i4[n,k] c)", Offer(padded))
    padded = Foreign(dtype=(0, 4, 1), shape=(2, 3), flags=hostile.PADDED)
    (told,) = look("f(a: i4[n,k] c convert)", Offer(padded))["args"]
    assert (told["flags"] & VIEW_PADDED, told["strides"]) == (0, (3, 1)) and len(padded.calls) == 1


UPWARDS = "convert goes to the same kind of number or a higher one, from bool over integers and floats to complex"


def test_what_another_dtype_would_not_mend_is_not_converted(look):
    refused(look, "f() argument 'a': expected i8[n] convert, got c64[2]; c64 is not converted: " + UPWARDS, "f(a: i8[n] convert)", np.zeros(2, "c8"))
    refused(look, "f() argument 'a': expected f32[4] convert, got f64[3]", "f(a: f32[4] convert)", np.zeros(3))
    refused(look, "f() argument 'a': expected i32[n] c convert, got f64[3] strides [2]; f64 is not converted: " + UPWARDS, "f(a: i32[n] c convert)", np.zeros((3, 2))[:, 0])
    refused(look, "f() argument 'a': expected f32[4] c convert, got f32[3]", "f(a: f32[4] c convert)", f32(3))


# ---- Devices --------------------------------------------------------------------------------------------------------


def test_devices(look):
    host = Foreign(device=(CUDA_HOST, 0))
    assert look("f(a: f32 cpu)", Offer(host, device=(CUDA_HOST, 0)))["args"][0]["device"] == "cuda_host"
    assert len(host.calls) == 1
    for spec, shown in (("f32 cpu", "f32 cpu"), ("f32[n,k] c cpu", "f32[n,k] c cpu"), ("f32 cuda:0|rocm", "f32 rocm|cuda:0")):
        device = Foreign(device=(CUDA, 1))
        refused(look, f"f() argument 'a': expected {shown}, got f32[2,3] on cuda:1", f"f(a: {spec})", Offer(device, device=(CUDA, 1)))
        assert len(device.calls) == 1
    for spec in ("f32", "f32 cuda", "f32 cpu|cuda", "f32[n,k] cuda:1 c"):
        device = Foreign(device=(CUDA, 1))
        (told,) = look(f"f(a: {spec})", Offer(device, device=(CUDA, 1)))["args"]
        assert told["device"] == "cuda:1" and len(device.calls) == 1


def test_a_device_is_not_converted(look):
    device = Foreign(device=(CUDA, 0), strides=(1, 2))
    refused(
        look,
        "f() argument 'a': expected f32[n,k] c convert cuda, got f32[2,3] strides [1,2]; f32 is not converted: "
        "convert reads memory of the host alone",
        "f(a: f32[n,k] c convert cuda)",
        Offer(device, device=(CUDA, 0)),
    )


# ---- none and optional ----------------------------------------------------------------------------------------------


def test_none_stands_for_nothing_where_the_spec_says_so(look):
    told = look("f(a: f32[n] none, b: f32[n])", None, f32(3))
    assert told["args"][0] is None and told["dims"] == {"n": 3}
    assert look("f(a: f32[n] c cpu none)", None)["dims"] == {"n": -1}
    assert look("f(a?: f32[n] none)")["args"] == [None]
    refused(look, "f() argument 'a': expected f32[n], got NoneType", "f(a?: f32[n])", None)
    refused(look, "f() missing 1 required positional argument: 'a'", "f(a: f32[n] none)")


def test_arguments_that_may_be_left_out(look):
    signature = "f(a: f32[n], b?: f32[n,m], c?: int)"
    assert look(signature, f32(2))["dims"] == {"n": 2, "m": -1}
    assert look(signature, f32(2), c=5)["args"][1:] == [None, 5]
    assert look(signature, f32(2), f32(2, 3), 6)["dims"] == {"n": 2, "m": 3}
    assert look("f(a?: f32[n])")["dims"] == {"n": -1}


# ---- What is no tensor ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thing", [3, 2.5, "text", [1.0], None, object(), {}, int])
def test_what_is_no_tensor(look, thing):
    refused(look, f"f() argument 'a': expected f32[n], got {type(thing).__name__}", "f(a: f32[n])", thing)
    refused(look, f"f() argument 'b': expected f32[n=2] c cpu, got {type(thing).__name__}", "f(a: f32[n], b: f32[n] c cpu)", f32(2), thing)


def test_bytes_are_a_tensor(look):
    refused(look, "f() argument 'a': expected f32[n], got u8[5]", "f(a: f32[n])", b"bytes")
    assert look("f(a: u8[n] c cpu)", b"bytes")["dims"] == {"n": 5}
    assert look("f(a: f64[n] c cpu)", array.array("d", [1, 2]))["dims"] == {"n": 2}


class Sour:
    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **keywords):
        raise self.error

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize(
    "error", [BufferError("no"), RuntimeError("broken"), TypeError("sour"), AttributeError("inner"), KeyError("k"), MemoryError()]
)
def test_what_a_producer_raised_passes_with_a_note(probe, error):
    with pytest.raises(type(error)) as caught:
        probe.function("f(a: f32, b: f32)")(f32(1), Sour(error))
    assert caught.value is error
    assert error.__notes__ == ["in f() argument 'b'"]


def test_a_capsule_that_is_none_of_ours(probe):
    with pytest.raises(ValueError, match="the capsule is called 'other'") as caught:
        probe.function("f(a: f32)")(Foreign().capsule(b"other"))
    assert caught.value.__notes__ == ["in f() argument 'a'"]


def test_a_type_of_numpy_that_dlpack_lacks(probe):
    with pytest.raises(BufferError, match="datetime64"):
        probe.function("f(a: i64[n] c cpu)")(np.zeros(2, "M8[s]"))


# ---- Failure releases what was taken --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [7, np.zeros(3), Sour(BufferError("no"))])
@pytest.mark.parametrize("place", [1, 2])
def test_a_failure_releases_the_arguments_before(probe, bad, place):
    foreign = [Foreign(shape=(3,)) for _ in range(2)]
    args = [Offer(each) for each in foreign]
    args.insert(place, bad)
    with pytest.raises((TypeError, BufferError)):
        probe.function("f(a: f32[n], b: f32[n], c: f32[n])")(*args)
    assert [len(each.calls) for each in foreign] == ([1, 0] if place == 1 else [1, 1])


def test_arguments_are_released_after_the_call(probe):
    foreign = Foreign(shape=(3,))
    calls = []
    probe.function("f(a: f32[n])", hook=lambda told: calls.append(len(foreign.calls)))(Offer(foreign))
    assert calls == [0] and len(foreign.calls) == 1


def test_an_exception_of_the_function(probe):
    foreign = Foreign(shape=(3,))

    def hook(told):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        probe.function("f(a: f32[n]) -> f32[n], u8[2] as=dlpark", hook=hook)(Offer(foreign))
    assert len(foreign.calls) == 1


def test_without_a_signature(probe):
    with pytest.raises(SystemError, match="a call without a signature"):
        probe.without_signature()


def test_accessors_answer_for_what_is_not_there(probe):
    assert probe.misuse(f32(2), 5) is True


def test_a_result_that_is_tried_again_and_again(probe):
    """What was refused keeps no room of the call's, and a rank of 0 needs no list."""
    result, took_none = probe.retry()
    assert took_none and (result.shape, result.item()) == ((), 7)
