"""Which work comes after which: the fake runs what is queued as late, and in as odd an order, as CUDA's model allows."""

import ctypes
import threading

import dlpark
import hostile
import hostile_table
import pytest
from conftest import NEEDED_ONLY, NEWEST_FIRST, OLDEST_FIRST, address_of

ORDERS = [OLDEST_FIRST, NEWEST_FIRST, NEEDED_ONLY]
DATA = bytes(range(48))


def fresh():
    """Not a fixture: pytest would keep it beyond the driver's."""
    return dlpark.empty(12, "int32", device="cuda:0")


def taken_on(driver, tensor, stream):
    """What a consumer's kernel reads that is queued on a stream right behind its __dlpack__(stream=...)."""
    seen = []
    capsule = tensor.__dlpack__(stream=1 if stream is None else stream, max_version=(1, 3))
    driver.read(stream, tensor, seen)
    driver.library.fake_drain()
    del capsule
    return seen[0]


@pytest.mark.parametrize("order", ORDERS)
def test_a_consumers_stream_waits_for_the_default_one(driver, order):
    given = fresh()
    consumer = driver.stream()
    driver.schedule(order)
    driver.write(None, given, DATA)
    assert taken_on(driver, given, consumer) == DATA


def test_no_sync_is_no_order(driver):
    """So that the test above can fail."""
    given = fresh()
    consumer = driver.stream()
    driver.schedule(NEWEST_FIRST)
    driver.write(None, given, DATA)
    seen = []
    given.__dlpack__(stream=-1, max_version=(1, 3))
    driver.read(consumer, given, seen)
    driver.library.fake_drain()
    assert seen[0] == b"\xcd" * 48


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("consumer_is_default", [False, True])
def test_a_tensor_that_came_on_a_stream_is_ready_there(driver, order, consumer_is_default):
    """Taken on one stream, given out on another: by dlpark's own capsule, and with None."""
    given = fresh()
    producer = driver.stream()
    consumer = None if consumer_is_default else driver.stream()
    driver.schedule(order)
    with dlpark.stream(producer):
        taken = dlpark.from_dlpack(Only(given, producer))
    assert taken.stream == producer
    driver.write(producer, taken, DATA)
    assert taken_on(driver, taken, consumer) == DATA


class Only:
    """What __cuda_array_interface__ says, and nothing else: the memory is ready on a stream."""

    def __init__(self, tensor, stream):
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "stream": stream}


def test_calls_of_the_driver(driver):
    """Six for an ordered hand-over, none on the same stream."""
    given = fresh()
    consumer = driver.stream()
    given.__dlpack__(stream=consumer)
    calls = driver.calls()
    given.__dlpack__(stream=consumer)
    assert driver.calls() - calls == 6
    for keywords in ({}, {"stream": None}, {"stream": 1}, {"stream": -1}, {"max_version": (1, 3)}):
        given.__dlpack__(**keywords)
    assert driver.calls() - calls == 6


@pytest.mark.parametrize("order", ORDERS)
def test_copies_come_after_the_producers_work(driver, order):
    given = fresh()
    producer = driver.stream()
    taken = dlpark.from_dlpack(Only(given, producer))
    driver.schedule(order)
    driver.write(producer, taken, DATA)
    assert taken.to("cpu").tobytes() == DATA
    driver.write(producer, taken, DATA[::-1])
    there = taken.to("cuda:1")
    driver.write(producer, taken, DATA)  # behind the copy
    driver.library.fake_drain()
    assert driver.bytes_of(there) == DATA[::-1]
    driver.write(producer, taken, DATA[::-1])
    assert dlpark.from_dlpack(taken.__dlpack__(dl_device=(1, 0), max_version=(1, 3))).tobytes() == DATA[::-1]
    driver.write(producer, taken, DATA)
    unordered = taken.__dlpack__(dl_device=(1, 0), stream=-1, max_version=(1, 3))  # of the consumer's streams
    assert dlpark.from_dlpack(unordered).tobytes() == DATA


# ---- The current stream ----


def current(device_type=2, device_id=0):
    """What the exchange table of Tensor says."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(dlpark.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    entries = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
    # version (8 bytes), prev_api, allocator, from_py, to_py, dltensor_from_py, current_work_stream
    ask = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))(entries[6])
    out = ctypes.c_void_p()
    assert ask(device_type, device_id, ctypes.byref(out)) == 0
    return out.value or 0


def test_the_current_stream_is_told_by_the_table(driver):
    one, other = driver.stream(), driver.stream(1)
    assert current() == 0
    with dlpark.stream(one) as entered, dlpark.stream(other, "cuda:1"):
        assert (current(), current(2, 1)) == (one, other)
        with dlpark.stream(2):
            assert current() == 2  # the thread's own
        assert current() == one and entered.__cuda_stream__() == (0, one)
    assert (current(), current(2, 1)) == (0, 0)


def test_each_thread_has_its_own(driver):
    one = driver.stream()
    seen = []
    with dlpark.stream(one):
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
        assert (current(), seen) == (one, [0])


def test_objects_with_cuda_stream_are_streams(driver):
    one = driver.stream()

    class Stream:
        def __cuda_stream__(self):
            return 0, one

    with dlpark.stream(Stream()) as entered:
        assert current() == one
        with dlpark.stream(entered, "cuda:1"):
            assert current(2, 1) == one
    given = dlpark.empty(3, device="cuda:0")
    given.__dlpack__(stream=Stream())


def test_what_is_no_stream(driver):
    for stream, device, message in [
        (0, "cuda:0", "0"),
        (-1, "cuda:0", "no stream to work on"),
        ("x", "cuda:0", "expected"),
        (3, "cpu", "streams are set of CUDA's and ROCm's devices"),
        (3, "metal:0", "streams are set of"),
        (1, "rocm:0", "1"),
    ]:
        with pytest.raises(ValueError, match=message):
            dlpark.stream(stream, device).__enter__()
    assert current() == 0


@pytest.mark.parametrize("order", ORDERS)
def test_inside_of_the_block_imports_are_ready_on_it(driver, order):
    """A producer's __dlpack__ is asked for it."""
    given = fresh()
    consumer, seen = driver.stream(), []
    driver.schedule(order)
    driver.write(None, given, DATA)
    with dlpark.stream(consumer):
        producer = Foreign(given)
        taken = dlpark.from_dlpack(producer)
    driver.read(consumer, taken, seen)
    driver.library.fake_drain()
    assert producer.asked == [consumer] and seen == [DATA]


@pytest.mark.parametrize("order", ORDERS)
def test_what_was_taken_on_a_stream_is_given_out_ready(driver, order):
    given = fresh()
    producer = driver.stream()
    consumer = driver.stream()
    driver.schedule(order)
    taken = dlpark.from_dlpack(Foreign(given), stream=producer)
    driver.write(producer, taken, DATA)
    assert taken_on(driver, taken, consumer) == DATA
    driver.write(producer, taken, DATA[::-1])
    assert taken_on(driver, taken, None) == DATA[::-1]


class Foreign:
    """A producer that is not dlpark's."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.asked = []

    def __dlpack__(self, **keywords):
        self.asked.append(keywords.get("stream"))
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


# ---- By the exchange table ----


@pytest.mark.parametrize("order", ORDERS)
def test_a_foreign_table_is_used_once_the_driver_orders(driver, order, monkeypatch):
    """The producer's current stream is asked, the consumer's is made to wait for it, and __dlpack__ is not called."""
    given = fresh()
    producer, consumer, seen = driver.stream(), driver.stream(), []
    foreign = hostile.Foreign(device=(hostile.CUDA, 0), shape=(12,), strides=(1,))
    foreign.managed.dl_tensor.data = address_of(given)
    monkeypatch.setitem(hostile_table.streams, (hostile.CUDA, 0), producer)
    lender = hostile_table.with_table()(foreign)
    driver.schedule(order)
    driver.write(producer, given, DATA)
    taken = dlpark.from_dlpack(lender, stream=consumer)
    driver.read(consumer, taken, seen)
    driver.library.fake_drain()
    assert seen == [DATA] and taken.stream == producer and address_of(taken) == address_of(given)

