"""dlpark.stream(): what is taken, given out and copied on a thread's current stream, on the fake's lazy schedules."""

import ctypes
import threading

import dlpark
import kit_probe
import pytest
from conftest import NEEDED_ONLY, NEWEST_FIRST, OLDEST_FIRST, Foreign, Only

ORDERS = [OLDEST_FIRST, NEWEST_FIRST, NEEDED_ONLY]
DATA = bytes(range(48))


def fresh():
    """Not a fixture: pytest would keep it beyond the driver's."""
    return dlpark.empty(12, "int32", device="cuda:0")


def read_on(driver, stream, tensor):
    """What a kernel reads that is queued on a stream now."""
    seen = []
    driver.read(stream, tensor, seen)
    driver.library.fake_drain()
    return seen[0]


def entry(at, *kinds):
    """A function of Tensor's exchange table: 3 gives an owner, 5 lends, 6 tells the current stream."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(dlpark.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    entries = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))  # behind the version, of 8 bytes, and the earlier table
    return ctypes.PYFUNCTYPE(ctypes.c_int, *kinds)(entries[at])


def current(device_type=2, device_id=0):
    """What the exchange table of Tensor says."""
    out = ctypes.c_void_p()
    assert entry(6, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))(device_type, device_id, ctypes.byref(out)) == 0
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


# ---- What is dlpark's already ----


def takers(tensor):
    """Ways to take a Tensor that leave the memory where it is."""
    lent = ctypes.create_string_buffer(64)
    owned = ctypes.c_void_p()
    return {
        "from_dlpack": lambda: dlpark.from_dlpack(tensor),
        "again": lambda: dlpark.from_dlpack(tensor, copy=False),
        "lent": lambda: entry(5, ctypes.py_object, ctypes.c_void_p)(tensor, lent),
        "owned": lambda: (entry(3, ctypes.py_object, ctypes.c_void_p)(tensor, ctypes.byref(owned)), end(owned)),
        "interface": lambda: tensor.__cuda_array_interface__,
    }


def end(managed):
    """Calls the deleter of a DLManagedTensorVersioned: behind the version and the context."""
    deleter = ctypes.cast(managed, ctypes.POINTER(ctypes.c_void_p))[2]
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(deleter)(managed)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("came_on_a_stream", [False, True])
@pytest.mark.parametrize("way", ["from_dlpack", "again", "lent", "owned", "interface"])
def test_a_tensor_is_ready_on_the_current_stream(driver, order, came_on_a_stream, way):
    given = fresh()
    producer = driver.stream() if came_on_a_stream else None
    taken = dlpark.from_dlpack(Only(given, producer), stream=producer) if came_on_a_stream else given
    here = driver.stream()
    driver.schedule(order)
    driver.write(producer, taken, DATA)
    with dlpark.stream(here):
        takers(taken)[way]()
    assert read_on(driver, here, given) == DATA


def test_without_a_block_nothing_is_ordered(driver):
    """So that the test above can fail."""
    given, here = fresh(), driver.stream()
    driver.schedule(NEWEST_FIRST)
    driver.write(None, given, DATA)
    for take in takers(given).values():
        take()
    assert read_on(driver, here, given) == b"\xcd" * 48


def test_from_dlpack_gives_the_tensor_itself(driver):
    given, here = fresh(), driver.stream()
    calls = driver.calls()
    assert dlpark.from_dlpack(given) is given and driver.calls() == calls
    with dlpark.stream(here):
        calls = driver.calls()
        assert dlpark.from_dlpack(given) is given and driver.calls() - calls == 6
    with dlpark.stream(1):  # on which it is ready
        calls = driver.calls()
        assert dlpark.from_dlpack(given) is given and driver.calls() == calls


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("consumer_is_default", [False, True])
def test_what_is_given_out_comes_after_the_current_stream(driver, order, consumer_is_default):
    """And after the stream on which it came."""
    given = fresh()
    producer, here = driver.stream(), driver.stream()
    consumer = None if consumer_is_default else driver.stream()
    taken = dlpark.from_dlpack(Only(given, producer), stream=producer)
    driver.schedule(order)
    with dlpark.stream(here):
        driver.write(here, taken, DATA)
        taken.__dlpack__(stream=consumer or 1, max_version=(1, 3))
        assert read_on(driver, consumer, taken) == DATA
        driver.write(producer, taken, DATA[::-1])
        taken.__dlpack__(stream=consumer or 1, max_version=(1, 3))
        assert read_on(driver, consumer, taken) == DATA[::-1]


@pytest.mark.parametrize("order", ORDERS)
def test_the_interface_tells_the_current_stream(driver, order):
    given, here = fresh(), driver.stream()
    driver.schedule(order)
    driver.write(None, given, DATA)
    with dlpark.stream(here):
        assert given.__cuda_array_interface__["stream"] == here
    assert given.__cuda_array_interface__["stream"] == 1
    driver.fail(1, function="cuEventRecord")
    with dlpark.stream(here), pytest.raises(BufferError, match="cannot be made ready"):
        _ = given.__cuda_array_interface__


@pytest.mark.parametrize("order", ORDERS)
def test_a_copy_to_another_device_comes_after_the_current_stream(driver, order):
    given, here = fresh(), driver.stream()
    driver.schedule(order)
    with dlpark.stream(here):
        driver.write(here, given, DATA)
        assert driver.bytes_of(given.to("cuda:1")) == DATA


def test_a_tensor_asked_for_on_a_stream_is_ready_there(driver):
    given, here, other = fresh(), driver.stream(), driver.stream()
    taken = dlpark.from_dlpack(given, stream=here)
    assert (given.stream, taken.stream) == (None, here)
    assert dlpark.from_dlpack(taken, stream=-1).stream == here
    assert dlpark.from_dlpack(taken, stream=1).stream is None
    with dlpark.stream(other):
        assert dlpark.from_dlpack(taken, copy=False).stream == other


def test_a_failing_order_takes_nothing(driver):
    given, here = fresh(), driver.stream()
    owned = ctypes.c_void_p()
    for function in ("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"):
        with dlpark.stream(here):
            driver.fail(1, function=function)
            with pytest.raises(BufferError, match=function):
                dlpark.from_dlpack(given)
            driver.fail(1, function=function)
            with pytest.raises(BufferError, match=function):
                entry(3, ctypes.py_object, ctypes.c_void_p)(given, ctypes.byref(owned))
            assert owned.value is None


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("first, second", [("default", "stream"), ("stream", "default"), ("stream", "other"), ("stream", "foreign")])
def test_arguments_of_a_call_are_ready_on_its_stream(driver, order, first, second):
    """The stream of a call is that on which its first tensor is ready; the others are made to be."""
    producer, other = driver.stream(), driver.stream()
    streams = {"default": None, "stream": producer, "other": other, "foreign": None}
    a, b = fresh(), fresh()
    one = dlpark.from_dlpack(a, stream=streams[first]) if streams[first] else a
    two = dlpark.from_dlpack(b, stream=streams[second]) if streams[second] else Foreign(b) if second == "foreign" else b
    driver.schedule(order)
    driver.write(streams[first], a, DATA)
    driver.write(streams[second], b, DATA[::-1])
    told, _ = kit_probe.function("f(a: i32[n], b: i32[n])")(one, two)
    assert told["stream"] == (streams[first] or 0)
    seen = []
    driver.read(streams[first], a, seen)
    driver.read(streams[first], b, seen)
    driver.library.fake_drain()
    assert seen == [DATA, DATA[::-1]]


@pytest.mark.parametrize("order", ORDERS)
def test_a_call_inside_of_the_block_is_on_its_stream(driver, order):
    given, here = fresh(), driver.stream()
    driver.schedule(order)
    driver.write(None, given, DATA)
    with dlpark.stream(here):
        told, _ = kit_probe.function("f(a: i32[n], b: i32[n])")(given, given)
        assert told["stream"] == here
    assert read_on(driver, here, given) == DATA


# ---- Threads, and objects ----


def test_the_stream_of_a_thread_is_not_kept(driver):
    """CUDA's 2 is another stream on each thread; the default stream waits for all of them."""
    given = fresh()
    taken = dlpark.from_dlpack(Only(given, 2))
    assert taken.stream is None and taken.__cuda_array_interface__["stream"] == 1
    consumer = driver.stream()
    driver.schedule(NEWEST_FIRST)
    driver.write(2, taken, DATA)
    seen = []
    thread = threading.Thread(target=lambda: taken.__dlpack__(stream=2) and driver.read(2, taken, seen))
    thread.start()
    thread.join()
    taken.__dlpack__(stream=consumer)
    driver.read(consumer, taken, seen)
    driver.library.fake_drain()
    assert seen == [DATA, DATA]


def test_threads_enter_one_object(driver):
    before, here = driver.stream(), driver.stream()
    shared = dlpark.stream(here)
    entered, left, seen = threading.Event(), threading.Event(), []

    def work():
        with shared:
            entered.set()
            left.wait(20)
            seen.append(current())
        seen.append(current())

    thread = threading.Thread(target=work)
    with dlpark.stream(before):
        with shared:
            thread.start()
            assert entered.wait(20)
        assert current() == before
        left.set()
        thread.join(20)
    assert (seen, current()) == ([here, 0], 0)


def test_one_object_is_entered_again(driver):
    here, other = dlpark.stream(driver.stream()), dlpark.stream(driver.stream())
    with here:
        outer = current()
        with other, here:
            assert current() == outer
        assert current() == outer
    assert current() == 0


def test_a_block_is_left_where_it_was_entered(driver):
    entered = dlpark.stream(driver.stream())
    failed = []

    def leave():
        try:
            entered.__exit__(None, None, None)
        except RuntimeError as error:
            failed.append(str(error))

    with entered:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
    assert failed == ["dlpark.stream() is left on a thread that has not entered it"]


def test_no_stream_for_a_block(driver):
    with dlpark.stream(driver.stream()):
        with dlpark.stream(None) as none:
            assert current() == 0 and none.__cuda_stream__() == (0, 0)


def test_an_object_that_was_not_entered_is_a_stream_too(driver):
    given, here = fresh(), driver.stream()
    asked = dlpark.stream(here)
    assert asked.__cuda_stream__() == (0, here)
    driver.schedule(NEWEST_FIRST)
    driver.write(None, given, DATA)
    assert dlpark.from_dlpack(given, stream=asked).stream == here
    assert read_on(driver, here, given) == DATA


def test_an_object_is_asked_for_its_stream_once(driver):
    given, here = fresh(), driver.stream()
    asked = []

    class Stream:
        def __cuda_stream__(self):
            asked.append(here)
            if len(asked) > 1:
                raise KeyboardInterrupt
            return 0, here

    assert dlpark.from_dlpack(Foreign(given), stream=Stream()).stream == here and len(asked) == 1
    with pytest.raises(KeyboardInterrupt):
        dlpark.from_dlpack(Foreign(given), stream=Stream())
