"""Objects with an array interface of any kind, right or wrong, and the ways in by which tests take them."""

import ctypes

import dlpark

WAYS = ("array_interface", "array_struct", "buffer", "cuda_array_interface")


def take(probe, way, source, **options):
    """The tensor of an object by one way; None where it does not offer that."""
    taken = probe.interface_import(way, source, **options)
    if taken is None:
        return None
    capsule, is_copied, _ = taken
    tensor = dlpark.from_dlpack(capsule)
    assert not is_copied or options.get("byteswap")
    return tensor


class Interface:
    """Has `__array_interface__`: a good one over memory of its own but for what the keywords say. ... leaves a key
    out."""

    attribute = "__array_interface__"
    usual = {"version": 3, "shape": (2, 3), "typestr": "<f4", "strides": None}

    def __init__(self, **keys):
        self.memory = (ctypes.c_char * 4096)()
        self.address = ctypes.addressof(self.memory)
        found = {**self.usual, "data": (self.address, False), **keys}
        self.dict = {key: value for key, value in found.items() if value is not ...}

    @property
    def __array_interface__(self):
        return self.dict


class CudaInterface(Interface):
    """The same with `__cuda_array_interface__`. Its address is of host memory, which nobody may read."""

    attribute = "__cuda_array_interface__"
    __array_interface__ = None  # no dict

    @property
    def __cuda_array_interface__(self):
        return self.dict


class Raising:
    """An attribute of any name whose look-up raises."""

    def __init__(self, error):
        self.error = error

    def __getattr__(self, name):
        raise self.error


class ArrayStruct(ctypes.Structure):
    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.py_object),
    ]


ALIGNED, NOTSWAPPED, WRITEABLE = 0x100, 0x200, 0x400

capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Struct:
    """Has `__array_struct__`: a good one but for what the keywords say."""

    def __init__(self, name=None, shape=(2, 3), strides=(12, 4), **fields):
        self.memory = (ctypes.c_char * 4096)()
        self.address = ctypes.addressof(self.memory)
        self.name = name
        self.lists = [
            None if values is None else (ctypes.c_ssize_t * max(len(values), 1))(*values) for values in (shape, strides)
        ]
        usual = {
            "two": 2,
            "nd": 0 if shape is None else len(shape),
            "typekind": b"f",
            "itemsize": 4,
            "flags": NOTSWAPPED | WRITEABLE,
            "data": self.address,
        }
        self.struct = ArrayStruct(shape=self.lists[0], strides=self.lists[1], **{**usual, **fields})

    @property
    def __array_struct__(self):
        return capsule_new(ctypes.addressof(self.struct), self.name, None)


class Ready:
    """The same with the capsule made beforehand."""

    def __init__(self, **fields):
        self.source = Struct(**fields)
        self.__array_struct__ = self.source.__array_struct__
