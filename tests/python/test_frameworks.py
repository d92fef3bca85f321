"""Results: a tensor as an object of each framework, on the same memory, and ended once whatever happens."""

import ctypes
import gc
import sys
import weakref

import hostile
import numpy as np
import pytest
from hostile import Foreign

import dlpark

pytestmark = pytest.mark.filterwarnings("default")

NUMBERS = dict(dlpark=1, numpy=2, torch=3, jax=4, cupy=5, mlx=6, tensorflow=7, memoryview=8)
ALWAYS = ["dlpark", "numpy", "memoryview"]
PARTNERS = ["torch", "jax", "mlx", "tensorflow"]


def framework(name):
    marks = [pytest.mark.partner(name)] if name in PARTNERS else []
    return pytest.param(name, marks=marks)


EVERY = [framework(name) for name in ALWAYS + PARTNERS]

# (code, bits, lanes) by dlpark's long name.
DTYPES = {
    **{f"int{bits}": (0, bits, 1) for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits, 1) for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{f"float{bits}": (2, bits, 1) for bits in (16, 32, 64, 128)},
    "opaque64": (3, 64, 1),
    "bfloat16": (4, 16, 1),
    **{f"complex{bits}": (5, bits, 1) for bits in (32, 64, 128)},
    "bool": (6, 8, 1),
    "float8_e3m4": (7, 8, 1),
    "float8_e4m3": (8, 8, 1),
    "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e4m3fnuz": (11, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e5m2fnuz": (13, 8, 1),
    "float8_e8m0fnu": (14, 8, 1),
    "float6_e2m3fn": (15, 6, 1),
    "float6_e3m2fn": (16, 6, 1),
    "float4_e2m1fn": (17, 4, 1),
    "float4_e2m1fnx2": (17, 4, 2),
    "float32x4": (2, 32, 4),
    "int8x2": (0, 8, 2),
}

PLAIN = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
WIDE = {"int64", "uint64", "float64", "complex128"}
SMALL = {name for name in DTYPES if name.startswith("float8")}
PACKED = sorted(name for name, (_, bits, lanes) in DTYPES.items() if bits * lanes % 8)
HAS = {
    "dlpark": set(DTYPES),
    "numpy": {*PLAIN, "bfloat16", "complex32", *SMALL},
    "torch": {*PLAIN, "bfloat16", "complex32", "float4_e2m1fnx2", *SMALL}
    - {"float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"},
    "jax": {*PLAIN, "bfloat16", *SMALL} - WIDE,
    "mlx": {*PLAIN, "bfloat16"} - {"float64", "complex128"},
    "tensorflow": {*PLAIN, "bfloat16"},
    "memoryview": set(PLAIN),
}


def aligned(**keywords):
    """A foreign tensor whose memory begins at a multiple of 64 bytes, without which JAX copies; and its address."""
    foreign = Foreign(**keywords)
    address = -(-ctypes.addressof(foreign.memory) // 64) * 64
    foreign.managed.dl_tensor.data = address
    return foreign, address


def address_of(name, result):
    if name == "dlpark":
        return hostile.read(result.__dlpack__(max_version=(1, 3))).dl_tensor.data
    if name == "torch":
        return result.data_ptr()
    if name == "jax":
        return result.unsafe_buffer_pointer()
    if name == "memoryview" and 0 in result.shape:
        return None
    return np.asarray(result).__array_interface__["data"][0]


def dtype_of(name, result):
    """The name of a result's dtype as dlpark has it."""
    if name == "memoryview":
        return str(np.asarray(result).dtype)
    if name == "tensorflow":
        return result.dtype.name
    return str(result.dtype).rpartition(".")[2].replace("float4_e2m1fn_x2", "float4_e2m1fnx2")


def strides_of(name, result):
    """In elements; None where the framework does not tell."""
    if name in ("numpy", "memoryview"):
        return tuple(stride // result.itemsize for stride in result.strides)
    if name == "dlpark":
        return result.strides
    return tuple(result.stride()) if name == "torch" else None


KINDS = {
    "dlpark": "dlpark Tensor",
    "numpy": "numpy ndarray",
    "torch": "torch Tensor",
    "jax": "jaxlib._jax ArrayImpl",
    "mlx": "mlx.core array",
    "tensorflow": "tensorflow.python.framework.ops EagerTensor",
    "memoryview": "builtins memoryview",
}


def require_ended(foreign):
    if not foreign.calls:
        gc.collect()  # an exception's frames
    assert len(foreign.calls) == 1


# ---- What each framework has ----


@pytest.mark.parametrize("dtype, padded", [*((dtype, False) for dtype in DTYPES), *((dtype, True) for dtype in PACKED)])
@pytest.mark.parametrize("name", EVERY)
def test_every_dtype_arrives_or_is_refused_by_name(probe, name, dtype, padded):
    foreign, address = aligned(dtype=DTYPES[dtype], shape=(2, 4), flags=hostile.PADDED if padded else 0)
    has = HAS[name] | set(PACKED if padded and name == "numpy" else [])
    if dtype not in has:
        with pytest.raises(BufferError, match=f"^{name} cannot take {dtype} on cpu: ") as caught:
            probe.export(foreign.capsule(), NUMBERS[name])
        assert isinstance(caught.value.__cause__, Exception)
        assert caught.value.__context__ is caught.value.__cause__
        del caught
        return require_ended(foreign)
    result = probe.export(foreign.capsule(), NUMBERS[name])
    assert f"{type(result).__module__} {type(result).__qualname__}" == KINDS[name]
    assert (tuple(result.shape), dtype_of(name, result)) == ((2, 4), dtype)
    if name != "mlx":
        assert foreign.calls == []
        assert dtype == "bfloat16" or address_of(name, result) == address
    del result
    require_ended(foreign)


LAYOUTS = {
    "compact": dict(shape=(2, 3)),
    "rank 0": dict(shape=()),
    "empty": dict(shape=(0, 3), data=None),
    "transposed": dict(shape=(3, 2), strides=(1, 3)),
    "strided": dict(shape=(3, 2), strides=(8, 2)),
    "broadcast": dict(shape=(3, 2), strides=(0, 1)),
    "negative": dict(shape=(3,), strides=(-1,), byte_offset=64),
    "one negative": dict(shape=(1, 3), strides=(-5, 1)),
    "one far": dict(shape=(1, 3), strides=(2**62, 1)),
    "64 dimensions": dict(shape=(1,) * 63 + (3,)),
    "too many": dict(shape=(6, 2**62, 0), data=None),
}
# What is refused; the rest arrives as it is.
LACKS = {
    "dlpark": set(),
    "numpy": {"too many"},
    "torch": {"negative", "too many"},
    "jax": {"strided", "broadcast", "negative", "too many"},
    "mlx": {"negative", "one negative", "too many"},
    "tensorflow": {"transposed", "strided", "broadcast", "negative", "too many"},
    "memoryview": set(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", EVERY)
def test_every_layout_arrives_or_is_refused(probe, name, layout):
    keywords = LAYOUTS[layout]
    foreign, address = aligned(**keywords) if "data" not in keywords else (Foreign(**keywords), None)
    if layout in LACKS[name]:
        with pytest.raises(BufferError, match=f"^{name} cannot take float32 on cpu: "):
            probe.export(foreign.capsule(), NUMBERS[name])
        return require_ended(foreign)
    result = probe.export(foreign.capsule(), NUMBERS[name])
    assert tuple(result.shape) == keywords["shape"]
    if strides_of(name, result) is not None and "strides" in keywords and 1 not in keywords["shape"]:
        assert strides_of(name, result) == keywords["strides"]
    if address is not None and name != "mlx":
        assert address_of(name, result) == address + keywords.get("byte_offset", 0)
    del result
    require_ended(foreign)


@pytest.mark.parametrize("device", [(hostile.CUDA_HOST, 0), (11, 0)])
@pytest.mark.parametrize("name", EVERY)
def test_page_locked_memory_is_the_hosts(probe, name, device):
    foreign, address = aligned(device=device)
    result = probe.export(foreign.capsule(), NUMBERS[name])
    if name != "mlx":
        assert foreign.calls == []
        assert address_of(name, result) == address
    del result
    require_ended(foreign)


@pytest.mark.parametrize("device, shown", [((hostile.CUDA, 0), "cuda:0"), ((13, 0), "cuda_managed"), ((15, 0), "webgpu:0")])
@pytest.mark.parametrize("name", [item for item in EVERY if item.values[0] != "dlpark"])
def test_memory_that_cannot_be_reached(probe, name, device, shown):
    foreign = Foreign(device=device)
    with pytest.raises(BufferError, match=f"^{name} cannot take float32 on {shown}: "):
        probe.export(foreign.capsule(), NUMBERS[name])
    require_ended(foreign)


def test_any_device_as_a_tensor_of_ours(probe):
    foreign = Foreign(device=(hostile.CUDA, 1))
    assert probe.export(foreign.capsule(), 1).device == "cuda:1"
    require_ended(foreign)


# ---- Whether it may be written ----

ORIGINS = {"read-only": dict(flags=hostile.READ_ONLY), "legacy": dict(legacy=True)}


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("name", EVERY)
def test_read_only_stays_so_where_the_framework_can_say_it(probe, name, origin):
    """PyTorch has no such tensors; JAX's and TensorFlow's are never written."""
    foreign, address = aligned(**ORIGINS[origin])
    result = probe.export(foreign.capsule(), NUMBERS[name])
    writable = dict(dlpark=lambda: not result.readonly, numpy=lambda: result.flags.writeable)
    writable["memoryview"] = lambda: not result.readonly
    if name in writable:
        assert not writable[name]()
    if name != "mlx":
        assert address_of(name, result) == address
    del result, writable
    require_ended(foreign)


@pytest.mark.parametrize("name", ALWAYS)
def test_what_may_be_written_is_written_in_place(probe, name):
    foreign, address = aligned(shape=(3,))
    np.asarray(probe.export(foreign.capsule(), NUMBERS[name]))[1] = 5
    assert ctypes.cast(address, ctypes.POINTER(ctypes.c_float))[1] == 5
    require_ended(foreign)


def test_is_copied_is_what_the_tensor_says(probe):
    assert probe.export(Foreign(flags=hostile.IS_COPIED).capsule(), 1).is_copied
    assert not probe.export(Foreign().capsule(), 1).is_copied


# ---- Who keeps the memory ----


@pytest.mark.parametrize("name", [item for item in EVERY if item.values[0] != "mlx"])
def test_the_result_keeps_the_producer(probe, name):
    class Producer(np.ndarray):
        pass

    memory = np.zeros(64, np.float32)
    skip = -memory.ctypes.data % 64 // 4
    producer = memory[skip : skip + 6].view(Producer)
    alive = weakref.ref(producer)
    result = probe.export(producer, NUMBERS[name])
    assert address_of(name, result) == producer.ctypes.data
    del producer
    assert alive() is not None
    del result
    if alive() is not None:
        gc.collect()
    assert alive() is None


@pytest.mark.partner("mlx")
def test_mlx_copies_on_the_cpu(probe):
    foreign, _ = aligned(shape=(3,))
    np.frombuffer(foreign.memory, np.uint8)[:] = 0
    result = probe.export(foreign.capsule(), NUMBERS["mlx"])
    assert len(foreign.calls) == 1
    assert result.tolist() == [0, 0, 0]


def test_numpy_arrays_are_bare_and_plain(probe):
    foreign, _ = aligned(shape=(2, 3))
    array = probe.export(foreign.capsule(), 2)
    assert type(array) is np.ndarray
    assert type(array.base).__name__ == "PyCapsule"
    assert (array.flags.owndata, array.flags.aligned, array.flags.c_contiguous) == (False, True, True)
    view = array[1:]
    del array
    assert foreign.calls == []
    del view
    require_ended(foreign)


def test_numpy_arrays_that_are_not_aligned_say_so(probe):
    foreign, _ = aligned(byte_offset=1)
    assert not probe.export(foreign.capsule(), 2).flags.aligned


# ---- Like an argument ----


class Subclass(np.ndarray):
    pass


def samples():
    yield "numpy", lambda: np.zeros(1)
    yield "numpy", lambda: np.zeros(1).view(Subclass)
    yield "numpy", lambda: np.float32(1)
    yield "dlpark", lambda: dlpark.from_dlpack(np.zeros(1))
    yield "memoryview", lambda: memoryview(b"")
    yield "torch", lambda: __import__("torch").zeros(1)
    yield "torch", lambda: __import__("torch").nn.Parameter(__import__("torch").zeros(1))
    yield "jax", lambda: __import__("jax").numpy.zeros(1)
    yield "mlx", lambda: __import__("mlx.core").core.zeros(1)
    yield "tensorflow", lambda: __import__("tensorflow").zeros(1)
    yield "tensorflow", lambda: __import__("tensorflow").Variable([1.0])


SAMPLES = [pytest.param(name, make, marks=framework(name).marks) for name, make in samples()]


@pytest.mark.parametrize("name, make", SAMPLES)
def test_the_framework_of_an_object(probe, name, make):
    sample = make()
    assert probe.framework_of(sample) == NUMBERS[name]
    foreign, _ = aligned()
    result = probe.export(foreign.capsule(), 0, sample)
    assert f"{type(result).__module__} {type(result).__qualname__}" == KINDS[name]
    assert sys.getrefcount(sample) == 2
    del result
    require_ended(foreign)


@pytest.mark.parametrize("like", [None, 1, [1], "numpy", b"", bytearray(1), object(), np, type, Foreign])
def test_an_object_of_no_framework_gets_a_tensor_of_ours(probe, like):
    assert probe.framework_of(like) == 0
    foreign = Foreign()
    assert type(probe.export(foreign.capsule(), 0, like)) is dlpark.Tensor
    require_ended(foreign)


def test_without_a_word_it_is_a_tensor_of_ours(probe):
    assert type(probe.export(Foreign().capsule())) is dlpark.Tensor


def test_a_named_framework_goes_before_the_argument(probe):
    assert type(probe.export(Foreign().capsule(), NUMBERS["memoryview"], np.zeros(1))) is memoryview


def test_a_name_is_not_enough_to_be_of_a_framework(probe):
    for module in ("numpyro", "torchvision_like", "my.torch", "", "mlxx.core"):
        assert probe.framework_of(type("Tensor", (), {"__module__": module})()) == 0
    for module in (5, None):
        assert probe.framework_of(type("Tensor", (), {"__module__": module})()) == 0
    assert probe.framework_of(type("Tensor", (), {"__module__": "torch.fx"})()) == 3


@pytest.mark.parametrize("number", [9, 99, -1, 2**31 - 1, -(2**31)])
def test_a_number_that_is_no_framework(probe, number):
    foreign = Foreign()
    with pytest.raises(ValueError, match=f"{number} is no framework"):
        probe.export(foreign.capsule(), number)
    require_ended(foreign)


@pytest.mark.partner("cuda.core")
def test_a_type_with_a_table_of_its_own(probe):
    from cuda.core.utils import StridedMemoryView

    like = StridedMemoryView.from_dlpack(np.zeros(2, np.float32), stream_ptr=-1)
    assert probe.framework_of(like) == 0
    foreign, address = aligned()
    result = probe.export(foreign.capsule(), 0, like)
    assert type(result) is StridedMemoryView
    assert (result.ptr, result.shape) == (address, (2, 3))
    assert foreign.calls == []
    del result
    require_ended(foreign)


# ---- Exchange tables that misbehave ----


def with_table(probe, to_py):
    """An object whose type has a table with this function, of the address of a tensor."""
    return type("Tabled", (), {"__dlpack_c_exchange_api__": probe.exchange_table(to_py)})()


def end(address):
    hostile.end(ctypes.cast(address, ctypes.POINTER(hostile.Versioned)).contents)


def test_a_table_gets_the_tensor_itself(probe):
    taken = []

    def to_py(address):
        taken.append(address)
        return taken

    foreign = Foreign()
    before = sys.getrefcount(taken)
    assert probe.export(foreign.capsule(), 0, with_table(probe, to_py)) is taken
    assert sys.getrefcount(taken) == before
    assert taken == [ctypes.addressof(foreign.managed)]
    assert foreign.calls == []  # it is the table's


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("returned", [-1, 1, 0])
def test_a_table_that_fails_without_a_word(probe, returned, keeps):
    """Whether it ends what it refuses differs from library to library; it is never ended by us as well."""
    foreign = Foreign()
    like = with_table(probe, lambda address: returned if keeps else (end(address), returned)[1])
    with pytest.raises(BufferError, match="^Tabled cannot take float32 on cpu: .*without saying why"):
        probe.export(foreign.capsule(), 0, like)
    assert len(foreign.calls) == (0 if keeps else 1)


@pytest.mark.parametrize("error", [KeyError("of its own"), BufferError("of its own"), AttributeError("of its own")])
def test_a_table_that_raises(probe, error):
    def to_py(address):
        end(address)
        raise error

    foreign = Foreign()
    with pytest.raises(BufferError, match="^Tabled cannot take float32 on cpu: '?of its own") as caught:
        probe.export(foreign.capsule(), 0, with_table(probe, to_py))
    assert caught.value.__cause__ is error
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("error", [MemoryError("of its own"), KeyboardInterrupt("of its own"), ImportError("of its own")])
def test_a_table_that_raises_what_is_not_about_the_tensor(probe, error):
    def to_py(address):
        end(address)
        raise error

    with pytest.raises(type(error)) as caught:
        probe.export(Foreign().capsule(), 0, with_table(probe, to_py))
    assert caught.value is error


def test_a_table_that_cannot_make_objects_is_none(probe):
    assert type(probe.export(Foreign().capsule(), 0, with_table(probe, None))) is dlpark.Tensor


# ---- Nothing is lost ----


@pytest.mark.parametrize("name", EVERY)
def test_reference_counts_stay(probe, name):
    foreign, _ = aligned()
    wrong, _ = aligned(dtype=DTYPES["opaque64"])

    def everything():
        for _ in range(100):
            probe.export(foreign.capsule(), NUMBERS[name])
            try:
                probe.export(wrong.capsule(), NUMBERS[name])
            except BufferError:
                pass

    def counts():
        result = probe.export(foreign.capsule(), NUMBERS[name])
        kinds = [BufferError, dlpark.Tensor, type(foreign.capsule()), None, dlpark]
        kinds += [] if name == "tensorflow" else [type(result)]  # which loses one for each of its objects
        return [sys.getrefcount(kind) for kind in kinds]

    everything()
    before = counts()
    everything()
    after = counts()
    assert all(abs(a - b) < 50 for a, b in zip(before, after)), (before, after)
