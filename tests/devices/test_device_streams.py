"""Which work comes after which: the fake runs what is queued as late, and in as odd an order, as CUDA's model allows."""

import dlpark
import hostile
import hostile_table
import pytest
from conftest import NEEDED_ONLY, NEWEST_FIRST, OLDEST_FIRST, Foreign, Only, address_of

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

