"""A consumer for machines without a GPU: takes a DLPack capsule apart, and "launches kernels" on the fake driver of the tests.

It does what CuPy does: a stream of its own, `__dlpack__(stream=...)` with it, and work in that stream. The fake driver runs work
as late as CUDA's rules allow, and counts the calls that it is given.
"""

import ctypes

import numpy as np

NEEDED_ONLY, NON_BLOCKING, MEMORY = 3, 1, 0
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# What the exchange of a stream calls, as it is said of each call.
CALLS = {
    "cuCtxPushCurrent_v2": "push the context",
    "cuEventCreate": "create an event",
    "cuEventRecord": "record it",
    "cuStreamWaitEvent": "wait for it",
    "cuEventDestroy_v2": "destroy it",
    "cuCtxPopCurrent_v2": "pop the context",
}


class ManagedTensor(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack 1.x, with its DLTensor in place."""


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(ManagedTensor))
ManagedTensor._fields_ = [
    ("version", ctypes.c_uint32 * 2),
    ("manager_ctx", ctypes.c_void_p),
    ("deleter", DELETER),
    ("flags", ctypes.c_uint64),
    ("data", ctypes.c_void_p),
    ("device", ctypes.c_int32 * 2),
    ("ndim", ctypes.c_int32),
    ("dtype", ctypes.c_uint8 * 4),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("strides", ctypes.POINTER(ctypes.c_int64)),
    ("byte_offset", ctypes.c_uint64),
]


def open_capsule(capsule) -> ctypes.POINTER(ManagedTensor):
    """The struct in a capsule, which says from now on that it is used."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    managed = ctypes.cast(get(capsule, b"dltensor_versioned"), ctypes.POINTER(ManagedTensor))
    rename(capsule, b"used_dltensor_versioned")
    return managed


class FakeDriver:
    """The fake driver that dlpark has opened, and a stream on it."""

    def __init__(self, path: str) -> None:
        self.library = library = ctypes.CDLL(path)
        library.fake_calls.restype = library.fake_live.restype = ctypes.c_long
        library.fake_touch.restype = ctypes.c_void_p
        library.fake_touch.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
        library.fake_launch.argtypes = [ctypes.c_void_p, KERNEL, ctypes.c_void_p]
        library.fake_schedule(NEEDED_ONLY)
        context = ctypes.c_void_p()
        self.must(library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.must(library.cuCtxPushCurrent_v2(context))

    @staticmethod
    def must(result: int) -> None:
        """Stops at what the driver reports."""
        if result != 0:
            raise RuntimeError(f"the driver's error {result}")

    def new_stream(self) -> int:
        """A stream that no other one waits for."""
        stream = ctypes.c_void_p()
        self.must(self.library.cuStreamCreate(ctypes.byref(stream), NON_BLOCKING))
        return stream.value

    def counts(self) -> dict[str, int]:
        """How often each call of CALLS was made so far, and all calls together as ""."""
        return {name: self.library.fake_calls(name.encode() or None) for name in ("", *CALLS)}

    def live_buffers(self) -> int:
        """How many pieces of memory are allocated."""
        return self.library.fake_live(MEMORY)


class Consumer:
    """A tensor in this consumer's hands, and a stream for the work on it."""

    def __init__(self, driver: FakeDriver, producer, stream: int) -> None:
        self.driver, self.stream = driver, stream
        self.managed = open_capsule(producer.__dlpack__(stream=stream, max_version=(1, 3)))
        self.kernels = []  # ctypes ends a function that nobody holds

    @property
    def address(self) -> int:
        """Where the elements begin, on the device."""
        return self.managed.contents.data + self.managed.contents.byte_offset

    def launch(self, change) -> None:
        """Queues a change of the numbers, which the fake driver makes when somebody waits for it."""
        tensor = self.managed.contents
        shape = tuple(tensor.shape[:tensor.ndim])
        count = int(np.prod(shape))

        def kernel(_):
            memory = self.driver.library.fake_touch(self.address, 4 * count)
            change(np.ctypeslib.as_array(ctypes.cast(memory, ctypes.POINTER(ctypes.c_float)), shape))

        self.kernels.append(KERNEL(kernel))
        self.driver.must(self.driver.library.fake_launch(self.stream, self.kernels[-1], None))

    def close(self) -> None:
        """Gives the tensor back."""
        self.managed.contents.deleter(self.managed)
