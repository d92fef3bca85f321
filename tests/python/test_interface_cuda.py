"""Tensors from objects with __cuda_array_interface__, over addresses that nobody reads."""

import sys

import hostile
import interfaces
import pytest
from interfaces import CudaInterface, Raising

import dlpark

CUDA, CUDA_HOST, METAL, ROCM, ROCM_HOST, CUDA_MANAGED = 2, 3, 8, 10, 11, 13


def take(probe, source, **options):
    return interfaces.take(probe, "cuda_array_interface", source, **options)


class Order:
    """Counts what it is asked for, and answers."""

    def __init__(self, answer=0):
        self.asked, self.answer = [], answer

    def __call__(self, device, producer, consumer):
        self.asked.append((device, producer, consumer))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def data_of(tensor):
    managed = hostile.read(tensor.__dlpack__(max_version=(1, 3), stream=-1))
    return managed.dl_tensor.data


def test_memory_is_described_and_not_touched(probe):
    source = CudaInterface(data=(4096, False), strides=(16, 4), typestr="<i4")  # an address where nothing is
    tensor = take(probe, source)
    assert repr(tensor) == "Tensor(int32[2, 3], cuda:0, strides=[4, 1])"
    assert data_of(tensor) == 4096
    assert not tensor.readonly
    assert take(probe, CudaInterface(data=(4096, True))).readonly


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_versions(probe, version):
    assert take(probe, CudaInterface(version=version)).shape == (2, 3)
    assert take(probe, CudaInterface(version=version, strides=...)).strides == (3, 1)


@pytest.mark.parametrize(
    "keys, error, message",
    [
        ({"version": 4}, BufferError, "version is 4, and is known from 0 to 3"),
        ({"version": -1}, BufferError, "version is -1, and is known from 0 to 3"),
        ({"version": ...}, ValueError, "there is no 'version' in it"),
        ({"shape": ...}, ValueError, "there is no 'shape' in it"),
        ({"shape": (2, -3)}, BufferError, r"shape\[1\] is -3"),
        ({"shape": (2, True)}, TypeError, r"shape\[1\] must be an integer, not bool"),
        ({"typestr": ...}, ValueError, "there is no 'typestr' in it"),
        ({"typestr": "|V4"}, BufferError, "a structure"),
        ({"data": ...}, ValueError, "there is no 'data' in it"),
        ({"data": None}, ValueError, "there is no 'data' in it"),
        ({"data": b"memory"}, TypeError, "'data' must be a tuple of an address and a flag, not bytes"),
        ({"data": (0, False)}, BufferError, "data is NULL"),
        ({"data": (2**64, False)}, BufferError, r"data\[0\] is no address"),
        ({"mask": CudaInterface()}, BufferError, "it has a mask"),
        ({"strides": (12, 6)}, BufferError, r"strides\[1\] is 6 bytes"),
        ({"stream": 0}, ValueError, "stream=0 .* 0 is ambiguous"),
        ({"stream": -1}, ValueError, "stream is -1, which is none"),
        ({"stream": -2}, ValueError, "stream=-2"),
        ({"stream": "1"}, TypeError, "stream must be an integer, not str"),
        ({"stream": True}, TypeError, "stream must be an integer, not bool"),
        ({"stream": 2**64}, BufferError, "stream is 18446744073709551616: more than 64 bits"),
    ],
)
def test_wrong(probe, keys, error, message):
    source = CudaInterface(**keys)
    before = [sys.getrefcount(thing) for thing in (source, source.dict)]
    with pytest.raises(error, match=f"^CudaInterface.__cuda_array_interface__: .*{message}"):
        take(probe, source)
    assert [sys.getrefcount(thing) for thing in (source, source.dict)] == before


def test_no_dict(probe):
    class Source:
        __cuda_array_interface__ = 3

    with pytest.raises(TypeError, match="Source.__cuda_array_interface__: it must be a dict, not int"):
        take(probe, Source())


def test_none(probe):
    for source in (None, 3, object(), b"abc", Raising(AttributeError("no"))):
        assert take(probe, source) is None
        assert probe.cuda_array_device(source) is None
    with pytest.raises(OSError, match="mine"):
        take(probe, Raising(OSError("mine")))
    with pytest.raises(OSError, match="mine"):
        probe.cuda_array_device(Raising(OSError("mine")))


def test_no_elements(probe):
    assert take(probe, CudaInterface(shape=(0, 3), data=(0, False))).shape == (0, 3)
    assert take(probe, CudaInterface(shape=(), data=(8, False))).shape == ()


@pytest.mark.partner("torch")
def test_bfloat16_of_torch(probe):
    """PyTorch says "<V2" of it, as ml_dtypes' dtype does."""
    import torch

    assert torch._tensor._dtype_to_typestr(torch.bfloat16) == "<V2"
    source = CudaInterface(typestr="<V2")
    source.dtype = torch.bfloat16
    assert take(probe, source).dtype == "bfloat16"


def test_other_byte_order(probe):
    with pytest.raises(BufferError, match="byte order of other machines"):
        take(probe, CudaInterface(typestr=">f4"))
    with pytest.raises(BufferError, match="and on cuda:0 dlpark cannot swap them"):
        take(probe, CudaInterface(typestr=">f4"), byteswap=True)


# ---- the device ----


class Named:
    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


class WithId:
    def __init__(self, id):
        self.id = id


class WithoutText:
    def __str__(self):
        raise OSError("mine")


class WithoutId:
    @property
    def id(self):
        raise OSError("mine")


@pytest.mark.parametrize(
    "device, expected",
    [
        (Named("cuda:1"), "cuda:1"),
        ("cuda:2", "cuda:2"),
        (Named("cuda"), "cuda:0"),
        ("rocm:1", "rocm:1"),
        (3, "cuda:3"),
        (WithId(4), "cuda:4"),
        (WithId("text"), "cuda:0"),
        (Named("<CUDA Device 5>"), "cuda:0"),
        ("gpu", "cuda:0"),
        (None, "cuda:0"),
        (lambda: "cuda:1", "cuda:0"),
    ],
)
def test_device_by_attribute(probe, device, expected):
    source = CudaInterface()
    source.device = device
    assert take(probe, source).device == expected
    kind, number = probe.cuda_array_device(source)
    assert (kind, number) == (ROCM if expected.startswith("rocm") else CUDA, int(expected[-1]))


@pytest.mark.parametrize(
    "device, error, message",
    [
        ("cpu", BufferError, "the object says that it is on cpu"),
        (Named("metal:0"), BufferError, "the object says that it is on metal:0"),
        (-1, BufferError, "device is -1"),
        (2**31, BufferError, "device is 2147483648"),
        (2**70, BufferError, "device is 1180591620717411303424: more than 64 bits"),
        (WithId(-1), BufferError, "device is -1"),
        (True, TypeError, "device must be an integer, not bool"),
        (WithoutText(), OSError, "mine"),
        (WithoutId(), OSError, "mine"),
        (Named(None), TypeError, "__str__ returned non-string"),
        (Named("\ud800"), UnicodeEncodeError, "surrogates"),
    ],
)
def test_device_that_cannot_be(probe, device, error, message):
    source = CudaInterface()
    source.device = device
    for function in (lambda: take(probe, source), lambda: probe.cuda_array_device(source)):
        with pytest.raises(error, match=message):
            function()


def test_device_that_raises(probe):
    class Source(CudaInterface):
        @property
        def device(self):
            raise self.error

    source = Source()
    source.error = OSError("mine")
    with pytest.raises(OSError, match="mine"):
        take(probe, source)
    source.error = AttributeError("mine")
    assert take(probe, source).device == "cuda:0"


@pytest.mark.parametrize(
    "device, expected",
    [
        ((CUDA, 3), "cuda:3"),
        ((ROCM, 1), "rocm:1"),
        ((CUDA_MANAGED, 0), "cuda_managed"),
        ((CUDA_HOST, 0), "cuda_host"),
        ((ROCM_HOST, 0), "rocm_host"),
    ],
)
def test_device_by_dlpack(probe, device, expected):
    """__dlpack_device__() is asked first: it is the one that has a meaning."""

    class Source(CudaInterface):
        device = "cuda:7"

        def __dlpack_device__(self):
            return device

    assert take(probe, Source()).device == expected
    assert probe.cuda_array_device(Source()) == device


@pytest.mark.parametrize(
    "device, error, message",
    [
        ((1, 0), BufferError, "Source.__cuda_array_interface__: the object says that it is on cpu"),
        ((METAL, 0), BufferError, "on metal:0"),
        ((99, 0), BufferError, r"on device\(type=99"),
        ((CUDA, -1), BufferError, "-1"),
        ("cuda", TypeError, "tuple of two integers"),
        (OSError("mine"), OSError, "mine"),
    ],
)
def test_device_by_dlpack_that_cannot_be(probe, device, error, message):
    class Source(CudaInterface):
        def __dlpack_device__(self):
            if isinstance(device, BaseException):
                raise device
            return device

    with pytest.raises(error, match=message):
        take(probe, Source())


# ---- the stream ----


@pytest.mark.parametrize("keys", [{}, {"stream": None}, {"version": 2}])
@pytest.mark.parametrize("stream", [None, 1, 2, 0x1000, -1])
def test_without_a_stream_the_data_is_ready(probe, keys, stream):
    order = Order()
    assert take(probe, CudaInterface(**keys), stream=stream, order=order).shape == (2, 3)
    assert order.asked == []
    assert take(probe, CudaInterface(**keys), stream=stream).shape == (2, 3)


@pytest.mark.parametrize(
    "producer, consumer, asked",
    [
        (1, None, None),
        (1, 1, None),
        (2, 2, None),
        (0x1000, 0x1000, None),
        (0x1000, -1, None),
        (2, None, (2, 1)),
        (2, 1, (2, 1)),
        (1, 2, (1, 2)),
        (0x1000, None, (0x1000, 1)),
        (0x1000, 2, (0x1000, 2)),
        (0x1000, 0x2000, (0x1000, 0x2000)),
    ],
)
def test_order(probe, producer, consumer, asked):
    """Asked for where the consumer's stream is another one than the producer's, and not told to do without."""
    order = Order()
    source = CudaInterface(stream=producer)
    assert take(probe, source, stream=consumer, order=order).shape == (2, 3)
    assert order.asked == ([] if asked is None else [((CUDA, 0), *asked)])
    if asked is None:
        assert take(probe, source, stream=consumer).shape == (2, 3)
    else:
        with pytest.raises(BufferError, match=f"the data is ready on the stream {producer:#x}, and there is no means"):
            take(probe, source, stream=consumer)


@pytest.mark.parametrize("stream, expected", [(None, None), (1, 1), (2, 2), (0x1000, 0x1000)])
def test_the_producers_stream_stays_known(probe, stream, expected):
    """And a consumer that works on it needs no order."""
    source = CudaInterface(stream=stream)
    *_, known = probe.interface_import("cuda_array_interface", source, on_producer_stream=True)
    assert known == expected
    *_, known = probe.interface_import("cuda_array_interface", source, order=Order())
    assert known == expected


def test_order_with_a_stream_object(probe):
    class Stream:
        def __cuda_stream__(self):
            return 0, 0x3000

    order = Order()
    take(probe, CudaInterface(stream=0x1000), stream=Stream(), order=order)
    assert order.asked == [((CUDA, 0), 0x1000, 0x3000)]


def test_order_that_fails(probe):
    source = CudaInterface(stream=2)
    before = sys.getrefcount(source)
    with pytest.raises(BufferError, match="could not be made to wait"):
        take(probe, source, order=Order(-1))
    assert sys.getrefcount(source) == before
    with pytest.raises(OSError, match="mine"):
        take(probe, source, order=Order(OSError("mine")))


def test_consumer_stream_that_cannot_be(probe):
    with pytest.raises(ValueError, match="stream=0"):
        take(probe, CudaInterface(stream=2), stream=0)


def test_rocm(probe):
    class Source(CudaInterface):
        def __dlpack_device__(self):
            return ROCM, 1

    order = Order()
    take(probe, Source(stream=0x1000), stream=0x2000, order=order)
    assert order.asked == [((ROCM, 1), 0x1000, 0x2000)]
    with pytest.raises(ValueError, match="1 and 2 mean nothing"):
        take(probe, Source(stream=1), order=order)


@pytest.mark.parametrize("kind", [CUDA_HOST, ROCM_HOST])
def test_page_locked_memory_waits_for_nobody(probe, kind):
    class Source(CudaInterface):
        def __dlpack_device__(self):
            return kind, 0

    order = Order()
    assert take(probe, Source()).shape == (2, 3)
    for on_producer_stream in (False, True):
        with pytest.raises(BufferError, match="no means to make the host wait"):
            take(probe, Source(stream=0x1000), order=order, on_producer_stream=on_producer_stream)
    assert take(probe, Source(stream=0x1000), stream=-1).shape == (2, 3)
    assert order.asked == []


# ---- life ----


def test_the_object_is_kept(probe):
    source = CudaInterface()
    before = [sys.getrefcount(thing) for thing in (source, source.dict)]
    capsule, *_ = probe.interface_import("cuda_array_interface", source)
    assert [sys.getrefcount(thing) for thing in (source, source.dict)] == [count + 1 for count in before]
    managed = hostile.consume(capsule)
    del capsule
    hostile.end(managed)
    assert [sys.getrefcount(thing) for thing in (source, source.dict)] == before


def test_tensors_are_ours(probe):
    tensor = take(probe, CudaInterface(data=(4096, False)))
    assert tensor.__dlpack_device__() == (CUDA, 0)
    assert dlpark.from_dlpack(tensor).device == "cuda:0"
