"""DLPack capsules made field by field with ctypes, by the book or against it, and a count of deleter calls."""

import ctypes
import threading
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    Structure,
    byref,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    cast,
    py_object,
    pythonapi,
)

READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
CPU, CUDA, CUDA_HOST = 1, 2, 3

VERSIONED, LEGACY = b"dltensor_versioned", b"dltensor"
USED_VERSIONED, USED_LEGACY = b"used_dltensor_versioned", b"used_dltensor"


class DLDevice(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Version(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class Versioned(Structure):
    _fields_ = [
        ("version", Version),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


class Legacy(Structure):
    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


DELETER = CFUNCTYPE(None, c_void_p)
DESTRUCTOR = CFUNCTYPE(None, c_void_p)

capsule_new = pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
capsule_pointer = pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = c_void_p, [py_object, c_char_p]
capsule_name = pythonapi.PyCapsule_GetName
capsule_name.restype, capsule_name.argtypes = c_char_p, [py_object]
capsule_rename = pythonapi.PyCapsule_SetName
capsule_rename.restype, capsule_rename.argtypes = c_int32, [py_object, c_char_p]

_alive = []  # a struct may be read, and its deleter called, for as long as the process lives


class Foreign:
    """A tensor of a made-up producer. `calls` says on which threads its deleter has been called."""

    def __init__(
        self,
        *,
        legacy=False,
        version=(1, 3),
        flags=0,
        data=...,
        device=(CPU, 0),
        ndim=None,
        dtype=(2, 32, 1),
        shape=(2, 3),
        strides=...,
        byte_offset=0,
        deleter=True,
    ):
        self.calls = []
        self.memory = (ctypes.c_char * 4096)()
        self.managed = Legacy() if legacy else Versioned()
        self.callback = DELETER(lambda _: self.calls.append(threading.get_ident()))
        self.managed.deleter = cast(self.callback, c_void_p) if deleter else None
        if not legacy:
            self.managed.version = Version(*version)
            self.managed.flags = flags
        tensor = self.managed.dl_tensor
        tensor.data = ctypes.addressof(self.memory) if data is ... else data
        tensor.device = DLDevice(*device)
        tensor.ndim = len(shape) if ndim is None else ndim
        tensor.dtype = DLDataType(*dtype)
        tensor.byte_offset = byte_offset
        if strides is ...:
            strides = compact_strides(shape) if shape is not None else None
        tensor.shape = None if shape is None else (c_int64 * max(len(shape), 1))(*shape)
        tensor.strides = None if strides is None else (c_int64 * max(len(strides), 1))(*strides)
        self.default_name = LEGACY if legacy else VERSIONED
        _alive.append(self)

    def capsule(self, name=..., destructor=False):
        """A capsule of any name; with a destructor by the book, if one is asked for."""
        name = self.default_name if name is ... else name
        _alive.append(name)
        return capsule_new(byref(self.managed), name, cast(destroy, c_void_p) if destructor else None)


def compact_strides(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step if -(2**63) <= step < 2**63 else 0)
        step *= max(extent, 1)
    return tuple(reversed(strides))


class Offer:
    """A producer with the two methods, over a Foreign or a function that makes the capsule."""

    def __init__(self, make, device=(CPU, 0)):
        self.make, self.device, self.asked = make, device, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return self.make.capsule(destructor=True) if isinstance(self.make, Foreign) else self.make(**keywords)


# The destructor sees a capsule whose reference count is 0: by address only, or it would come alive and die again.
_name_at = PYFUNCTYPE(c_char_p, c_void_p)(("PyCapsule_GetName", pythonapi))
_pointer_at = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", pythonapi))


def _destroy(address):
    name = _name_at(address)
    if name in (VERSIONED, LEGACY):
        struct = Versioned if name == VERSIONED else Legacy
        managed = cast(_pointer_at(address, name), POINTER(struct)).contents
        if managed.deleter:
            DELETER(managed.deleter)(ctypes.addressof(managed))


destroy = DESTRUCTOR(_destroy)


def read(capsule):
    """What a capsule holds, by its name, without consuming it; keeps the capsule alive."""
    name = capsule_name(capsule)
    struct = {VERSIONED: Versioned, LEGACY: Legacy}[name]
    managed = cast(capsule_pointer(capsule, name), POINTER(struct)).contents
    managed.capsule = capsule
    return managed


def consume(capsule):
    """Takes the struct as a consumer does; the caller ends it with end()."""
    managed = read(capsule)
    used = {VERSIONED: USED_VERSIONED, LEGACY: USED_LEGACY}[capsule_name(capsule)]
    assert capsule_rename(capsule, used) == 0
    return managed


def end(managed):
    """Calls the deleter; ctypes releases the GIL for the call."""
    DELETER(managed.deleter)(ctypes.addressof(managed))
