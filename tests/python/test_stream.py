"""Streams as Python passes them: what a consumer said, and what a producer is told."""

import operator
import sys

import numpy as np
import pytest

CPU, CUDA, CUDA_HOST, OPENCL, METAL, ROCM, ROCM_HOST = (1, 0), (2, 1), (3, 0), (4, 0), (8, 0), (10, 0), (11, 0)
EXT_DEV, MANAGED, ONE_API = (12, 0), (13, 0), (14, 0)
HOST = [CPU, CUDA_HOST, ROCM_HOST]
OTHER = [OPENCL, METAL, EXT_DEV, ONE_API]
EVERY = [*HOST, CUDA, MANAGED, ROCM, *OTHER]

UNSAID, NO_SYNC, DEFAULT, PER_THREAD, HANDLE = range(5)  # dlpark_stream_kind
ADDRESS = 0x7F0123456780


class Stream:
    """A stream by the protocol of cuda.core."""

    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


class Queue:
    """What dpctl passes: known to its own library only."""


# ---- What a consumer passed ----


@pytest.mark.parametrize("device", EVERY)
def test_none_says_nothing(probe, device):
    assert probe.stream_read(device, None) == (UNSAID, 0)


@pytest.mark.parametrize("minus_one", [-1, np.int64(-1), np.int8(-1), Index(-1)])
@pytest.mark.parametrize("device", EVERY)
def test_minus_one_is_no_synchronisation_everywhere(probe, device, minus_one):
    assert probe.stream_read(device, minus_one) == (NO_SYNC, 0)


@pytest.mark.parametrize("integer", [int, np.int64, np.uint64, Index])
@pytest.mark.parametrize(
    "device, number, expected",
    [
        *((device, 1, (DEFAULT, 0)) for device in (CUDA, MANAGED)),
        *((device, 2, (PER_THREAD, 0)) for device in (CUDA, MANAGED)),
        (ROCM, 0, (DEFAULT, 0)),
        *((device, 3, (HANDLE, 3)) for device in (CUDA, MANAGED, ROCM, *OTHER)),
        *((device, ADDRESS, (HANDLE, ADDRESS)) for device in (CUDA, MANAGED, ROCM, *OTHER)),
        *((device, 1, (HANDLE, 1)) for device in OTHER),
        *((device, 2, (HANDLE, 2)) for device in OTHER),
    ],
)
def test_numbers(probe, device, number, expected, integer):
    assert probe.stream_read(device, integer(number)) == expected


REFUSED = [
    *((device, number) for device in HOST for number in (0, 1, 2, 3, ADDRESS)),
    *((device, 0) for device in (CUDA, MANAGED, *OTHER)),
    *((ROCM, number) for number in (1, 2)),
    *((device, number) for device in EVERY for number in (-2, -(2**63), 2**63, 2**64, 2**70, -(2**70))),
]


@pytest.mark.parametrize("device, number", REFUSED)
def test_numbers_that_mean_nothing(probe, device, number):
    with pytest.raises(ValueError, match=rf"^stream={number} for a tensor on \w+(:\d)?: expected None"):
        probe.stream_read(device, number)
    with pytest.raises(ValueError, match=rf"^stream={number} for"):
        probe.stream_read(device, Index(number))


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("device", EVERY)
def test_a_bool_is_a_mistake(probe, device, flag):
    with pytest.raises(ValueError, match=f"stream={flag} .* not a bool"):
        probe.stream_read(device, flag)


@pytest.mark.parametrize("stream", [np.True_, np.False_, 1.0, "1", b"1", object(), (0, 1), [1], Queue()])
@pytest.mark.parametrize("device", [*HOST, CUDA, MANAGED, ROCM])
def test_objects_that_are_no_stream(probe, device, stream):
    shown = "'1'" if stream == "1" else f"<{type(stream).__name__} object>"
    with pytest.raises(ValueError, match=f"stream={shown} for a tensor on .*: expected None"):
        probe.stream_read(device, stream)


@pytest.mark.parametrize("device", OTHER)
def test_a_queue_is_handed_on_as_it_is(probe, device):
    for queue in (Queue(), Stream((0, 5)), object()):
        assert probe.stream_read(device, queue) is None


@pytest.mark.parametrize(
    "device, address, expected",
    [
        *((device, 0, (DEFAULT, 0)) for device in (CUDA, MANAGED, ROCM)),
        *((device, 1, (DEFAULT, 0)) for device in (CUDA, MANAGED)),
        *((device, 2, (PER_THREAD, 0)) for device in (CUDA, MANAGED)),
        *((device, ADDRESS, (HANDLE, ADDRESS)) for device in (CUDA, MANAGED, ROCM)),
    ],
)
def test_an_object_with_cuda_stream(probe, device, address, expected):
    assert probe.stream_read(device, Stream((0, address))) == expected
    assert probe.stream_read(device, Stream((np.int32(0), Index(address)))) == expected


@pytest.mark.parametrize("device", HOST)
def test_an_object_with_cuda_stream_on_the_host(probe, device):
    with pytest.raises(ValueError, match="stream=<Stream object> .*the host has no streams"):
        probe.stream_read(device, Stream((0, ADDRESS)))


@pytest.mark.parametrize(
    "answer, error, message",
    [
        ((1, ADDRESS), ValueError, "Stream.* version 1 "),
        ((-1, ADDRESS), ValueError, "Stream.* version -1 "),
        ((0, -2), ValueError, "stream=-2"),
        ((0, 2**64), TypeError, "more than 64 bits"),
        ((0,), TypeError, "__cuda_stream__.* not of 1"),
        ((0, 1, 2), TypeError, "__cuda_stream__.* not of 3"),
        ((0, "1"), TypeError, "__cuda_stream__.* has a str"),
        ((0, None), TypeError, "__cuda_stream__.* has a NoneType"),
        (ADDRESS, TypeError, "__cuda_stream__.* not int"),
        (None, TypeError, "__cuda_stream__.* not NoneType"),
        (KeyError("no context"), KeyError, "no context"),
        (AttributeError("inside"), AttributeError, "inside"),
        (MemoryError("here"), MemoryError, "here"),
    ],
)
def test_a_cuda_stream_that_goes_wrong(probe, answer, error, message):
    with pytest.raises(error, match=message):
        probe.stream_read(CUDA, Stream(answer))


def test_a_cuda_stream_that_cannot_be_called_or_looked_up(probe):
    class Tuple:
        __cuda_stream__ = (0, 5)

    class Broken:
        @property
        def __cuda_stream__(self):
            raise OSError("the driver is gone")

    with pytest.raises(TypeError, match="not callable"):
        probe.stream_read(CUDA, Tuple())
    with pytest.raises(OSError, match="the driver is gone"):
        probe.stream_read(CUDA, Broken())


@pytest.mark.parametrize("error", [ValueError("of its own"), KeyboardInterrupt(), AttributeError("inside")])
def test_an_index_that_raises_is_heard(probe, error):
    with pytest.raises(type(error)):
        probe.stream_read(CUDA, Index(error))


def test_no_references_are_lost(probe):
    address = 2**61 + 12345
    pair = (0, address)
    streams = [address, Index(address), Stream(pair), Queue(), "1", 2**70, Stream((7, address)), Stream([])]

    def everything():
        for device in EVERY:
            for stream in streams:
                for call in (probe.stream_read, probe.stream_write):
                    try:
                        call(device, stream)
                    except (TypeError, ValueError):
                        pass

    def counts():
        return [sys.getrefcount(value) for value in [*streams, address, pair, Stream, Index, Queue]]

    everything()
    before = counts()
    for _ in range(20):
        everything()
    assert counts() == before


@pytest.mark.partner("cuda.core")
def test_streams_of_cuda_core(probe):
    """Without a driver no stream can be made, but the two default ones need none."""
    from cuda.core import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM

    assert probe.stream_read(CUDA, LEGACY_DEFAULT_STREAM) == (DEFAULT, 0)
    assert probe.stream_read(CUDA, PER_THREAD_DEFAULT_STREAM) == (PER_THREAD, 0)
    assert probe.stream_write(CUDA, PER_THREAD_DEFAULT_STREAM) == 2


# ---- What a producer is told ----

LEFT_OUT = ()


@pytest.mark.parametrize("wanted", [None, 0, 1, -1, ADDRESS, True, Queue(), Stream((0, 1))])
@pytest.mark.parametrize("device", HOST)
def test_a_host_producer_is_told_nothing(probe, device, wanted):
    """NumPy refuses every stream but None, and the consumer's own has no meaning there."""
    assert probe.stream_write(device, wanted) == LEFT_OUT
    assert probe.stream_write(device) == LEFT_OUT


@pytest.mark.parametrize("device, expected", [(CUDA, 1), (MANAGED, 1), (ROCM, 0)])
def test_the_default_stream_is_said_by_its_number(probe, device, expected):
    """A producer's own default may be no synchronisation at all, as PyTorch's is."""
    for said in (probe.stream_write(device), probe.stream_write(device, None)):
        assert said == expected
        assert type(said) is int  # PyTorch takes no other


@pytest.mark.parametrize("device", OTHER)
def test_where_the_default_has_no_number_nothing_is_said(probe, device):
    assert probe.stream_write(device) == LEFT_OUT
    assert probe.stream_write(device, None) == LEFT_OUT


@pytest.mark.parametrize(
    "device, wanted, expected",
    [
        *((device, np.int64(-1), -1) for device in (CUDA, MANAGED, ROCM, *OTHER)),
        *((device, Index(ADDRESS), ADDRESS) for device in (CUDA, MANAGED, ROCM, *OTHER)),
        (CUDA, 1, 1),
        (CUDA, 2, 2),
        (ROCM, 0, 0),
        (CUDA, Stream((0, 0)), 1),
        (CUDA, Stream((0, 1)), 1),
        (CUDA, Stream((0, 2)), 2),
        (CUDA, Stream((0, ADDRESS)), ADDRESS),
        (ROCM, Stream((0, 0)), 0),
        (ROCM, Stream((0, ADDRESS)), ADDRESS),
    ],
)
def test_a_stream_is_said_as_an_int(probe, device, wanted, expected):
    said = probe.stream_write(device, wanted)
    assert said == expected
    assert type(said) is int


@pytest.mark.parametrize("device", OTHER)
def test_a_queue_is_said_as_it_is(probe, device):
    queue = Queue()
    assert probe.stream_write(device, queue) is queue


@pytest.mark.parametrize("device, wanted", [(CUDA, 0), (CUDA, "1"), (CUDA, Queue()), (ROCM, 1), (METAL, 0), (METAL, True)])
def test_a_wanted_stream_that_means_nothing(probe, device, wanted):
    with pytest.raises(ValueError, match="stream="):
        probe.stream_write(device, wanted)


def test_what_is_written_is_read_as_the_same(probe):
    for device in EVERY:
        for number in (-1, 0, 1, 2, 3, ADDRESS):
            try:
                read = probe.stream_read(device, number)
            except ValueError:
                continue
            if probe.has_streams(device):
                assert operator.index(probe.stream_write(device, number)) == number
                assert probe.stream_read(device, probe.stream_write(device, number)) == read


def test_the_host_alone_has_no_streams(probe):
    assert [device for device in EVERY if not probe.has_streams(device)] == HOST
