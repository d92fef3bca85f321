"""The members of a type's exchange table, called by ctypes as a consumer in C would."""

import ctypes
import functools
from ctypes import POINTER, PYFUNCTYPE, byref, c_int, c_int32, c_void_p, py_object

import hostile
import kit_probe
from hostile import DLTensor, Versioned
from hostile_table import CAPSULE, NEW_NAME, OLD_NAME, Table

NAMES = {"__dlpack__", "__dlpack_device__", NEW_NAME, OLD_NAME}



@functools.cache
def kit_type(functions, flags=""):
    """A type of the extension kit_probe with these functions. One for all tests: there is room for 16."""
    made = kit_probe.exchange_type(flags, None)
    kit_probe.install_exchange(made, functions)
    return made


_own = PYFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
_lend = PYFUNCTYPE(c_int, c_void_p, POINTER(DLTensor))
_to_py = PYFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
_stream = PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class Exchange:
    """The table of a type. A member that fails raises what it has set; its output is in `out` in any case."""

    def __init__(self, cls):
        self.address = hostile.capsule_pointer(cls.__dict__[NEW_NAME], CAPSULE)
        self.table = Table.from_address(self.address)
        self.out = None

    def _call(self, prototype, member, *args):
        self.out = c_void_p(0xBAD)
        status = prototype(member)(*args, byref(self.out))
        assert status == 0, "failed without an exception"
        return self.out.value

    def own(self, object):
        """The struct, for hostile.end()."""
        address = None if object is None else id(object)
        return Versioned.from_address(self._call(_own, self.table.own, address))

    def to_py(self, managed):
        address = None if managed is None else ctypes.addressof(managed)
        made = ctypes.cast(self._call(_to_py, self.table.to_py, address), py_object)
        result = made.value
        ctypes.pythonapi.Py_DecRef(py_object(result))  # the reference that came with it
        return result

    def lend(self, object):
        out = DLTensor()
        status = _lend(self.table.lend)(None if object is None else id(object), byref(out))
        assert status == 0, "failed without an exception"
        return out

    def stream(self, kind, index):
        return self._call(_stream, self.table.current_stream, kind, index)
