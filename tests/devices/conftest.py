"""The module dlpark on the fake CUDA driver of tests/support/fakecuda, which takes the place of a GPU: two devices.

DLPARK_FAKECUDA says where it lies, else it is beside the probe of tests/python/extension.
"""

import ctypes
import gc
import os
import pathlib
import sys

import pytest

LIBRARY = pathlib.Path(os.environ.get("DLPARK_FAKECUDA") or pathlib.Path(os.environ["DLPARK_PROBE"]).parent / "fakecuda" / "libcuda.so.1")
os.environ["DLPARK_CUDA_LIBRARY"] = str(LIBRARY)  # before anything opens a driver
HIP_LIBRARY = LIBRARY.parents[1] / "fakehip" / "libamdhip64.so.6"  # over the same fake driver
sys.path += [os.environ["DLPARK_PROBE"], str(pathlib.Path(__file__).parents[1] / "python")]

import dlpark  # noqa: E402

AT_ONCE, OLDEST_FIRST, NEWEST_FIRST, NEEDED_ONLY, SHUFFLED = range(5)
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Driver:
    """The fake's controls, and the few calls of the driver that a consumer makes."""

    def __init__(self, path):
        self.library = library = ctypes.CDLL(str(path))
        library.fake_memory.restype = library.fake_touch.restype = ctypes.c_void_p
        library.fake_memory.argtypes = [ctypes.c_uint64]
        library.fake_touch.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
        library.fake_calls.restype = library.fake_live_all.restype = library.fake_faults.restype = ctypes.c_long
        library.fake_calls.argtypes = [ctypes.c_char_p]
        library.fake_fail.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
        library.fake_fault.restype = ctypes.c_char_p
        library.fake_launch.argtypes = [ctypes.c_void_p, KERNEL, ctypes.c_void_p]
        self.kept = []

    def calls(self, function=None):
        return self.library.fake_calls(function.encode() if function else None)

    def fail(self, nth, error=999, function=None):
        self.library.fake_fail(function.encode() if function else None, nth, error)

    def failed(self):
        self.library.fake_failed.restype = ctypes.c_bool
        return self.library.fake_failed()

    def schedule(self, order):
        self.library.fake_schedule(order)

    def bytes_of(self, tensor):
        """What lies in a compact tensor's memory, read past the driver."""
        address = address_of(tensor)
        return ctypes.string_at(self.library.fake_memory(address), tensor.nbytes) if tensor.nbytes else b""

    def in_context(self, call, device=0):
        """Runs something with the device's primary context current, as a program on it has."""
        context = ctypes.c_void_p()
        assert self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
        assert self.library.cuCtxPushCurrent_v2(context) == 0
        try:
            return call()
        finally:
            assert self.library.cuCtxPopCurrent_v2(ctypes.byref(context)) == 0
            assert self.library.cuDevicePrimaryCtxRelease_v2(device) == 0

    def stream(self, device=0):
        """A stream that does not wait for the default one."""
        made = ctypes.c_void_p()
        assert self.in_context(lambda: self.library.cuStreamCreate(ctypes.byref(made), 1), device) == 0
        self.kept.append((made.value, device))
        return made.value

    def launch(self, stream, work, device=0):
        """Queues work in a stream, which runs when the schedule says so."""
        kernel = KERNEL(lambda ignored: work())
        self.kept.append(kernel)
        assert self.in_context(lambda: self.library.fake_launch(ctypes.c_void_p(stream), kernel, None), device) == 0

    def write(self, stream, tensor, data, device=0):
        """Queues a kernel that writes a compact tensor's memory."""
        address = address_of(tensor)

        def work():
            ctypes.memmove(self.library.fake_touch(address, len(data)), data, len(data))

        self.launch(stream, work, device)

    def read(self, stream, tensor, seen, device=0):
        """Queues a kernel that notes what is in a compact tensor's memory when it runs."""
        address, nbytes = address_of(tensor), tensor.nbytes
        self.launch(stream, lambda: seen.append(ctypes.string_at(self.library.fake_touch(address, nbytes), nbytes)), device)

    def end(self):
        self.library.fake_drain()
        for item in self.kept:
            if isinstance(item, tuple):
                assert self.in_context(lambda item=item: self.library.cuStreamDestroy_v2(ctypes.c_void_p(item[0])), item[1]) == 0
        self.kept.clear()


def address_of(tensor):
    return tensor.__cuda_array_interface__["data"][0]


class Only:
    """What __cuda_array_interface__ says, and nothing else: the memory is ready on a stream."""

    def __init__(self, tensor, stream):
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "stream": stream}


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


@pytest.fixture(scope="session")
def loaded():
    driver = Driver(LIBRARY)
    for device in ("cuda:0", "cuda:1"):
        dlpark.empty(1, device=device)  # dlpark keeps the primary contexts from now on, and streams live in them
    return driver


@pytest.fixture
def driver(loaded):
    """The driver as at the start; all that a test has made there must have ended with it, and no rule been broken."""
    loaded.library.fake_reset()
    yield loaded
    gc.collect()  # what an expected exception saw
    loaded.fail(0, 0)
    loaded.schedule(AT_ONCE)
    loaded.end()
    assert loaded.library.fake_faults() == 0, loaded.library.fake_fault().decode()
    assert loaded.library.fake_live_all() == 0
    loaded.library.fake_reset()


@pytest.fixture
def numbers():
    np = pytest.importorskip("numpy")
    return np.arange(24, dtype=np.float32).reshape(2, 3, 4)

