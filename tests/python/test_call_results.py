"""Results of a call: in which framework, on which device, of which layout; made before the function runs."""

import array
import contextlib
import gc
import re
import sys

import dlpark
import numpy as np
import pytest
from hostile import CUDA, CUDA_HOST, Foreign, Offer


def f32(*shape):
    return np.ones(shape, np.float32)


@contextlib.contextmanager
def raises(error, message, note=None):
    """The exception with a message that matches, and one note."""
    with pytest.raises(error) as caught:
        yield caught
    assert re.search(message, str(caught.value)), str(caught.value)
    assert getattr(caught.value, "__notes__", None) == (note and [note])
    caught.value.__traceback__ = None  # its frames hold the arguments


def pattern(array_like, number):
    """Whether every byte is the number, as the probe fills results."""
    return set(np.asarray(array_like).tobytes()) <= {number}


# ---- Frameworks -----------------------------------------------------------------------------------------------------


def test_a_result_is_of_the_first_tensors_framework(probe):
    scale = probe.function("scale(n: int, a: f32[n,k], b?: f32) -> f32[k,n]")
    told, result = scale(2, f32(2, 3), dlpark.from_dlpack(f32(1)))
    assert type(result) is np.ndarray and result.shape == (3, 2) and result.dtype == np.float32
    assert told["results"][0]["address"] == result.ctypes.data and pattern(result, 1)
    assert result.flags.writeable and result.flags.owndata
    told, result = scale(2, dlpark.from_dlpack(f32(2, 3)), f32(1))
    assert type(result) is dlpark.Tensor and result.shape == (3, 2) and pattern(result, 1)
    assert told["results"][0]["address"] == np.asarray(result).ctypes.data


def test_without_a_tensor_a_result_is_ours(probe):
    _, result = probe.function("iota(n: int, a?: f32 none) -> i64[4]")(3, None)
    assert type(result) is dlpark.Tensor and result.dtype == "int64"
    assert type(probe.function("f(a: u8[n]) -> u8[n]")(memoryview(b"abc"))[1]) is memoryview
    for thing in (array.array("B", b"abc"), b"abc", Offer(lambda **_: np.zeros(3, np.uint8).__dlpack__())):
        _, result = probe.function("f(a: u8[n]) -> u8[n]")(thing)
        assert type(result) is dlpark.Tensor and result.shape == (3,)


def test_the_framework_that_is_named(probe):
    _, results = probe.function("f(a: f32[n]) -> f32[n] as=dlpark, f32[n] as=numpy, u8[n] as=memoryview, f32[n]")(f32(2))
    assert [type(each) for each in results] == [dlpark.Tensor, np.ndarray, memoryview, np.ndarray]
    assert [pattern(each, i + 1) for i, each in enumerate(results)] == [True] * 4
    assert not results[2].readonly


def test_results_are_each_their_own_memory(probe):
    told, (a, b) = probe.function("f(a: f32[n]) -> f32[n], f32[n]")(f32(4))
    assert a.ctypes.data != b.ctypes.data and pattern(a, 1) and pattern(b, 2)


def test_no_result(probe):
    assert probe.function("f(a: f32)")(f32(1))[1] is None


@pytest.mark.parametrize("make", [lambda x: x, dlpark.from_dlpack])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float64", "complex64"])
def test_dtypes_of_results(probe, make, dtype):
    x = np.zeros((2, 0, 3), dtype)
    _, result = probe.function("f(a: any[...]) -> same(a)[5,1], same(a)[0,2]")(make(x))
    for each, shape in zip(result, ((5, 1), (0, 2))):
        assert tuple(each.shape) == shape and str(each.dtype) == dtype and type(each) is type(make(x))


@pytest.mark.parametrize("make", [lambda x: x, dlpark.from_dlpack])
def test_the_dtype_of_a_plain_argument(probe, make):
    _, result = probe.function("f(a: f32[n] c cpu) -> same(a)[n,n]")(make(f32(2)))
    assert tuple(result.shape) == (2, 2) and str(result.dtype) == "float32"


def test_dtypes_that_a_framework_lacks(probe):
    with raises(BufferError, "NumPy has no dtype for float32x4", "in result 1 of f()"):
        probe.function("f(a: f32[n]) -> f32[n], f32x4[n]")(f32(2))
    _, result = probe.function("f(a: f32[n]) -> bf16[n], i4[3], f32x4[2]")(dlpark.from_dlpack(f32(2)))
    assert [each.dtype for each in result] == ["bfloat16", "int4", "float32x4"]


# ---- Layout ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda x: x, dlpark.from_dlpack])
@pytest.mark.parametrize("word, strides", [("", (12, 4, 1)), ("c", (12, 4, 1)), ("contig", (12, 4, 1)), ("inner", (12, 4, 1)), ("f", (1, 2, 6))])
def test_layouts_of_results(probe, make, word, strides):
    told, result = probe.function(f"f(a: f32) -> f32[2,3,4] {word}")(make(f32(1)))
    assert told["results"][0]["strides"] == strides and type(result) is type(make(f32(1)))
    assert tuple(s // 4 for s in np.asarray(result).strides) == strides and pattern(result, 1)
    assert told["results"][0]["address"] == np.asarray(result).ctypes.data


@pytest.mark.parametrize("make", [lambda x: x, dlpark.from_dlpack])
@pytest.mark.parametrize("alignment", [8, 64, 4096])
def test_alignment_of_results(probe, make, alignment):
    for shape in ("[1]", "[1000]", "[]"):
        told, result = probe.function(f"f(a: f32) -> f64{shape} align={alignment}")(make(f32(1)))
        assert told["results"][0]["address"] % alignment == 0 and type(result) is type(make(f32(1)))


# ---- Open results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda x: x, dlpark.from_dlpack])
@pytest.mark.parametrize(
    "spec, shape",
    [("f32[?]", (7,)), ("f32[n,?]", (2, 0)), ("f32[...]", ()), ("f32[n,...,?]", (2, 3, 1, 4)), ("f32", (1, 2)), ("f32[?,3] f", (2, 3)), ("f32[?] align=256", (3,))],
)
def test_a_result_whose_shape_the_function_finds_out(probe, make, spec, shape):
    told, result = probe.function(f"f(a: f32[n]) -> {spec}", alloc={0: shape})(make(f32(2)))
    assert told["results"][0]["shape"] == shape == tuple(result.shape)
    assert type(result) is type(make(f32(2))) and pattern(result, 1)
    if shape == (2, 3):
        assert told["results"][0]["strides"] == (1, 2)


def test_known_results_are_there_before_open_ones(probe):
    told, _ = probe.function("f(a: f32[n]) -> f32[n], f32[?]", alloc={1: (3,)})(f32(2))
    assert [each["shape"] for each in told["results"]] == [(2,), (3,)]


@pytest.mark.parametrize(
    "spec, shape, message",
    [
        ("f32[n,?]", (3, 4), r"^result: expected f32\[n=2,\?\], got f32\[3,4\]$"),
        ("f32[?]", (3, 4), r"^result: expected f32\[\?\], got f32\[3,4\]$"),
        ("f32[?,3] f", (3, 4), r"^result: expected f32\[\?,3\], got f32\[3,4\]$"),
        ("f32[?]", (-1,), r"shape\[0\] is -1"),
        ("f32[?,?]", (2**62, 4), r"overflow|63|elements"),
    ],
)
def test_a_shape_that_the_signature_does_not_say(probe, spec, shape, message):
    with raises(ValueError, message, "in result 0 of f()"):
        probe.function(f"f(a: f32[n]) -> {spec}", alloc={0: shape})(f32(2))


@pytest.mark.parametrize("make", [lambda x: x, dlpark.from_dlpack])
def test_a_result_that_no_memory_suffices_for(probe, make):
    with pytest.raises(MemoryError):
        probe.function("f(a: f32[n]) -> f32[?]", alloc={0: (2**59,)})(make(f32(2)))
    with pytest.raises(MemoryError):
        probe.function("f(a: f32[n]) -> u8[3], f32[576460752303423488]")(make(f32(2)))
    with pytest.raises((BufferError, ValueError, MemoryError)):
        probe.function("f(a: f32[n]) -> f32[9223372036854775807]")(make(f32(2)))


def test_a_result_that_was_not_made(probe):
    with raises(SystemError, r"^f\(\) did not make its result 1: dlpark_call_result_alloc\(\) does$"):
        probe.function("f(a: f32[n]) -> f32[n], f32[?]")(f32(2))


def test_a_result_is_made_once(probe):
    with raises(ValueError, r"^f\(\) has made its result 0$"):
        probe.function("f(a: f32[n]) -> f32[n]", alloc={0: (2,)})(f32(2))
    with raises(ValueError, r"^f\(\) has no result 1$"):
        probe.function("f(a: f32[n]) -> f32[n]", alloc={1: (2,)})(f32(2))


# ---- Devices --------------------------------------------------------------------------------------------------------


@pytest.fixture
def device(probe):
    """A framework whose tensors say that they are on CUDA; afterwards none of them is left."""
    probe.device_fault(0, 0)
    probe.device_members(True)
    yield probe.device_tensor
    probe.device_members(True)
    gc.collect()
    assert probe.device_fault(0, 0) == 0


def test_a_result_is_on_the_first_tensors_device(probe, device):
    told, result = probe.function("f(a: f32[n,k]) -> f32[k,n], i32[n] cuda, f32[] cuda:3")(device(CUDA, 3, 2, 5))
    assert [each["device"] for each in told["results"]] == ["cuda:3"] * 3
    assert [each["shape"] for each in told["results"]] == [(5, 2), (2,), ()]
    assert type(result[0]) is type(device(CUDA, 0, 1))


def test_a_result_is_where_its_spec_says(probe, device):
    told, result = probe.function("f(a: f32) -> f32[2] cpu as=numpy, f32[2] cuda|cpu, u8[1] cpu:0 as=dlpark")(device(CUDA, 3, 2))
    assert [each["device"] for each in told["results"]] == ["cpu", "cuda:3", "cpu"]
    assert type(result[0]) is np.ndarray and type(result[2]) is dlpark.Tensor
    told, _ = probe.function("f(a: f32) -> f32[2] cuda:1|cuda:2, f32[2] rocm")(device(CUDA, 3, 2))
    assert [each["device"] for each in told["results"]] == ["cuda:1", "rocm:0"]


def test_memory_of_the_host_gives_results_in_the_hosts_own(probe):
    host = Foreign(device=(CUDA_HOST, 0))
    told, result = probe.function("f(a: f32) -> f32[2]")(Offer(host, device=(CUDA_HOST, 0)))
    assert told["results"][0]["device"] == "cpu" and type(result) is dlpark.Tensor


def test_open_results_on_a_device(probe, device):
    told, _ = probe.function("f(a: f32[n]) -> f32[n,?]", alloc={0: (2, 9)})(device(CUDA, 1, 2))
    assert (told["results"][0]["device"], told["results"][0]["shape"]) == ("cuda:1", (2, 9))


@pytest.mark.parametrize(
    "fault, error, message",
    [
        (1, MemoryError, "^the device is full$"),
        (2, RuntimeError, "^the allocator failed$"),
        (3, RuntimeError, "^the allocator failed$"),
        (4, MemoryError, "^the allocator failed$"),
        (5, BufferError, "^cannot make a result on cuda:1: the first tensor argument is DeviceTensor, whose allocator gave no tensor$"),
        (6, BufferError, "whose allocator gave another tensor than it was asked for$"),
        (7, BufferError, "whose allocator gave no tensor$"),
    ],
)
def test_an_allocator_that_fails(probe, device, fault, error, message):
    x = device(CUDA, 1, 2)
    probe.device_fault(fault, 0)
    with raises(error, message, "in result 0 of f()"):
        probe.function("f(a: f32) -> f32[2]")(x)


def test_there_is_no_allocator(probe, device):
    probe.device_members(False)
    with raises(BufferError, r"^cannot make a result on cuda:1: the first tensor argument is DeviceTensor, which offers no allocator$", "in result 0 of f()"):
        probe.function("f(a: f32) -> f32[2]")(device(CUDA, 1, 2))
    with raises(BufferError, "is ndarray, which offers no allocator$", "in result 0 of f()"):
        probe.function("f(a: f32[n]) -> f32[n] cuda")(f32(2))
    with raises(BufferError, "is no tensor, which offers no allocator$", "in result 0 of f()"):
        probe.function("f() -> f32[2] metal")()
    probe.device_members(True)
    with raises(BufferError, "whose allocator makes row-major tensors only$", "in result 0 of f()"):
        probe.function("f(a: f32) -> f32[2,3] f")(device(CUDA, 1, 2))


# ---- Streams --------------------------------------------------------------------------------------------------------


def test_the_stream_of_the_first_device_tensor(probe, device):
    probe.device_fault(0, 0x5EED)
    look = probe.function("f(a: f32, b?: f32[...] cuda none)")
    assert look(device(CUDA, 0, 2), device(CUDA, 0, 3))[0]["stream"] == 0x5EED
    assert look(f32(2), device(CUDA, 0, 3))[0]["stream"] == 0x5EED
    assert look(f32(2))[0]["stream"] == 0
    told, _ = look(device(CUDA, 0, 2))
    assert (told["args"][0]["device"], told["args"][0]["lent"], told["owned"]) == ("cuda:0", 1, 0)


class Asked(Offer):
    """A producer on a device that notes for which stream it is asked."""

    def __init__(self, index=0):
        super().__init__(Foreign(device=(CUDA, index)), device=(CUDA, index))


def test_another_library_makes_its_tensor_ready_for_that_stream(probe, device):
    """The first tensor comes by __dlpack__, for the default stream; the second works on another, and has no __dlpack__."""
    probe.device_fault(0, 0x5EED)
    first = Asked()
    told, _ = probe.function("f(a: f32)")(first)
    assert told["stream"] == 0 and first.asked[0]["stream"] == 1
    with raises(BufferError, "DeviceTensor", "in f() argument 'b'"):
        probe.function("f(a: f32, b: f32)")(Asked(), device(CUDA, 0, 2))


# ---- Failure --------------------------------------------------------------------------------------------------------


def test_results_of_a_call_that_fails_late(probe, device):
    """The second result cannot be made: the first is released, and the arguments."""
    foreign = Foreign(shape=(3,))
    with raises(BufferError, "row-major tensors only", "in result 2 of f()"):
        probe.function("f(b: f32, a: f32) -> f32[2] cuda, f32[3] metal as=dlpark, f32[2] cuda f")(device(CUDA, 0, 2), Offer(foreign))
    assert len(foreign.calls) == 1


def test_a_framework_that_is_not_there(probe, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with raises(ImportError, "cupy", "in result 1 of f()"):
        probe.function("f(a: f32[n]) -> f32[n], f32[n] as=cupy, f32[n]")(f32(2))
