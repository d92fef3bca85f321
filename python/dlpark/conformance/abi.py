"""DLPack 1.3 as ctypes sees it: structs, flags, capsules. Nothing here comes from a compiled module."""

import ctypes
import mmap
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
    pythonapi,
)
from typing import Any

VERSION = (1, 3)

READ_ONLY, IS_COPIED, PADDED = 1, 2, 4

CPU, CUDA, CUDA_HOST, ROCM, ROCM_HOST, EXT_DEV, CUDA_MANAGED = 1, 2, 3, 10, 11, 12, 13

DEVICES = {
    1: "CPU",
    2: "CUDA",
    3: "CUDA_HOST",
    4: "OPENCL",
    7: "VULKAN",
    8: "METAL",
    9: "VPI",
    10: "ROCM",
    11: "ROCM_HOST",
    12: "EXT_DEV",
    13: "CUDA_MANAGED",
    14: "ONE_API",
    15: "WEBGPU",
    16: "HEXAGON",
    17: "MAIA",
    18: "TRN",
}
"""Every device type of the header."""

STANDARD_DEVICES = frozenset({1, 2, 3, 4, 7, 8, 9, 10, 13, 14})
"""Those that the array API standard's enumeration has too."""

HOST_DEVICES = frozenset({CPU, CUDA_HOST, ROCM_HOST, CUDA_MANAGED})
"""Device types whose memory this process can read."""

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
USED = {LEGACY: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
EXCHANGE = b"dlpack_exchange_api"
TABLE_NAME = "__dlpack_c_exchange_api__"
OLD_TABLE_NAME = "__c_dlpack_exchange_api__"


class Device(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    """DLTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("device", Device),
        ("ndim", c_int32),
        ("dtype", DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Version(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class Versioned(Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("version", Version),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", Tensor),
    ]


class Legacy(Structure):
    """DLManagedTensor."""

    _fields_ = [("dl_tensor", Tensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class Table(Structure):
    """DLPackExchangeAPI, with its header's fields in line."""

    _fields_ = [
        ("version", Version),
        ("prev_api", c_void_p),
        ("managed_tensor_allocator", c_void_p),
        ("managed_tensor_from_py_object_no_sync", c_void_p),
        ("managed_tensor_to_py_object_no_sync", c_void_p),
        ("dltensor_from_py_object_no_sync", c_void_p),
        ("current_work_stream", c_void_p),
    ]


# A deleter is called with the GIL released, as a consumer on a thread of its own would do.
DELETER = CFUNCTYPE(None, c_void_p)
DESTRUCTOR = CFUNCTYPE(None, c_void_p)

# The functions of the exchange table. All but the allocator want the GIL.
SET_ERROR = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
ALLOCATOR = CFUNCTYPE(c_int, POINTER(Tensor), POINTER(c_void_p), c_void_p, c_void_p)
FROM_PY = PYFUNCTYPE(c_int, py_object, POINTER(c_void_p))
TO_PY = PYFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
VIEW_FROM_PY = PYFUNCTYPE(c_int, py_object, POINTER(Tensor))
WORK_STREAM = PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


def _api(name: str, result: Any, *arguments: Any) -> Any:
    return PYFUNCTYPE(result, *arguments)((name, pythonapi))


capsule_new = _api("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
capsule_name = _api("PyCapsule_GetName", c_char_p, py_object)
capsule_rename = _api("PyCapsule_SetName", c_int, py_object, c_char_p)
capsule_pointer = _api("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
capsule_is_valid = _api("PyCapsule_IsValid", c_int, py_object, c_char_p)
capsule_destructor = _api("PyCapsule_GetDestructor", c_void_p, py_object)

# For a capsule that is being destroyed: its reference count is 0, and py_object would bring it back to life.
dying_name = _api("PyCapsule_GetName", c_char_p, c_void_p)
dying_pointer = _api("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)

# ctypes looks for a pending exception after this call and raises it, so the answer is None or an exception.
_occurred = _api("PyErr_Occurred", c_void_p)

libc = ctypes.CDLL(None)


_calloc = libc.calloc
_calloc.restype, _calloc.argtypes = c_void_p, [ctypes.c_size_t, ctypes.c_size_t]


def lasting(kind: Any) -> Any:
    """A ctypes object of zeros in memory that is never given back, not even when the interpreter ends."""
    address = _calloc(1, max(ctypes.sizeof(kind), 1))
    if not address:
        raise MemoryError
    return kind.from_address(address)


_map, _protect = libc.mmap, libc.mprotect
_map.restype = c_void_p
_map.argtypes = [c_void_p, ctypes.c_size_t, c_int, c_int, c_int, ctypes.c_ssize_t]
_protect.argtypes = [c_void_p, ctypes.c_size_t, c_int]


def guarded(kind: Any) -> Any:
    """As `lasting`, where the byte after the object cannot be touched: who reads on dies of it, each time."""
    page = mmap.PAGESIZE
    room = max(-(-ctypes.sizeof(kind) // page), 1) * page
    protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = _map(None, room + page, protection, flags, -1, 0)
    if address in (None, c_void_p(-1).value) or _protect(address + room, page, 0) != 0:
        raise MemoryError
    return kind.from_address(address + room - ctypes.sizeof(kind))


def address_of(function: Any) -> int:
    """The machine address of a ctypes function."""
    return ctypes.cast(function, c_void_p).value or 0


def struct_at(kind: Any, address: int) -> Any:
    """The struct at an address, in place."""
    return ctypes.cast(address, POINTER(kind)).contents


def pending_exception() -> str | None:
    """The exception that was pending when C called into Python, as text. Asking takes it away."""
    try:
        _occurred()
    except BaseException as error:  # whatever it was
        return type(error).__name__
    return None


def is_capsule(thing: object) -> bool:
    return type(thing).__name__ == "PyCapsule"


def device_text(device_type: int, device_id: int) -> str:
    return f"({device_type}, {device_id}) {DEVICES.get(device_type, 'of no name in the header')}"
