"""The shared libdlpark by ctypes: `struct dlpark_view` as include/dlpark/view.h has it, and what is tested."""

import ctypes
import os
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATH = os.environ.get("DLPARK_LIBRARY", ROOT / "build" / "shared" / "src" / "core" / "libdlpark.so")
LIBRARY = ctypes.CDLL(str(PATH))
NONE = -(2**63)
UNKNOWN_WRITE = 8


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Dtype(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", Dtype),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("device", Device),
        ("dtype", Dtype),
        ("ndim", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("bit_offset", ctypes.c_uint32),
        ("reserved", ctypes.c_uint64 * 4),
        ("shape", ctypes.c_int64 * 64),
        ("strides", ctypes.c_int64 * 64),
    ]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int32), ("message", ctypes.c_char * 508)]


CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
INT, INT64, POINTER = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
ARGUMENTS = {
    "index": [INT, INT64],
    "slice": [INT, INT64, INT64, INT64],
    "flip": [INT],
    "diagonal": [INT64, INT, INT],
    "window": [INT, INT64, INT64],
    "permute": [INT, POINTER],
    "transpose": [INT, INT],
    "squeeze": [INT],
    "expand_dims": [INT],
    "broadcast": [INT, POINTER],
    "reshape": [INT, POINTER],
    "reinterpret": [Dtype],
    "real": [],
    "imag": [],
}
for name, arguments in ARGUMENTS.items():
    function = getattr(LIBRARY, f"dlpark_view_{name}")
    function.argtypes = [ctypes.POINTER(View), *arguments, ctypes.POINTER(Error)]
LIBRARY.dlpark_view_squeeze_all.argtypes = [ctypes.POINTER(View)]
LIBRARY.dlpark_view_squeeze_all.restype = None
LIBRARY.dlpark_check.argtypes = [ctypes.POINTER(Tensor), ctypes.c_uint64, ctypes.POINTER(View), ctypes.POINTER(Error)]
LIBRARY.dlpark_copy.argtypes = [ctypes.POINTER(View), ctypes.POINTER(View), ctypes.POINTER(Error)]


def dtype_of(dtype):
    """The triple of a NumPy dtype; raw bytes ("V3") are lanes of u8."""
    dtype = np.dtype(dtype)
    if dtype.kind == "V":
        return Dtype(1, 8, dtype.itemsize)
    return Dtype(CODES[dtype.kind], 8 * dtype.itemsize, 1)


def list_of(kind, values):
    return (kind * max(len(values), 1))(*values)


def view_of(array):
    """What dlpark_check() makes of an array's description, writable. Elements may lie anywhere in it."""
    item = array.dtype.itemsize
    assert all(stride % item == 0 for stride in array.strides)
    shape = list_of(INT64, array.shape)
    strides = list_of(INT64, [stride // item for stride in array.strides])
    data = array.__array_interface__["data"][0]
    tensor = Tensor(data, Device(1, 0), array.ndim, dtype_of(array.dtype), shape, strides, 0)
    view, error = View(), Error()
    status = LIBRARY.dlpark_check(tensor, 0, view, error)
    assert status == 0, error.message
    view.flags &= ~UNKNOWN_WRITE
    return view


def call(view, name, *arguments):
    """One operation in place; 0 or the status, with the message."""
    error = Error()
    if name == "squeeze_all":
        LIBRARY.dlpark_view_squeeze_all(view)
        return 0, ""
    status = getattr(LIBRARY, f"dlpark_view_{name}")(view, *arguments, error)
    return status, error.message.decode() if status else ""


def snapshot(view):
    """All that an operation that fails must leave alone."""
    head = ctypes.string_at(ctypes.addressof(view), View.shape.offset)
    return head, view.shape[: view.ndim], view.strides[: view.ndim]


def copy(to, source):
    error = Error()
    status = LIBRARY.dlpark_copy(to, source, error)
    assert status == 0, error.message.decode()
