"""C exchange tables by the book or against it, on types made for the occasion."""

import ctypes
from ctypes import Structure, c_void_p

import hostile
import kit_probe
from hostile import Foreign

NEW_NAME, OLD_NAME = "__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"
CAPSULE = b"dlpack_exchange_api"


class Table(Structure):
    _fields_ = [
        ("version", hostile.Version),
        ("prev_api", c_void_p),
        ("allocator", c_void_p),
        ("own", c_void_p),
        ("to_py", c_void_p),
        ("lend", c_void_p),
        ("current_stream", c_void_p),
    ]


streams = {}  # by device: what current_work_stream answers; an exception is raised, None fails silently
asked_streams = []
_alive = []


def _current_stream(*device):
    asked_streams.append(device)
    answer = streams.get(device, 0)
    if isinstance(answer, BaseException):
        raise answer
    return answer


OWN, LEND, CURRENT_STREAM = kit_probe.table_functions(_current_stream)


def table(*, version=(1, 3), prev=None, own=True, lend=True, stream=True):
    """A table that calls own() and lend() of the object; a member that is False is NULL."""
    made = Table(hostile.Version(*version), None if prev is None else ctypes.addressof(prev), None)
    made.own = OWN if own else None
    made.lend = LEND if lend else None
    made.current_stream = CURRENT_STREAM if stream else None
    _alive.extend((made, prev))
    return made


def capsule(made, name=CAPSULE):
    _alive.append(name)
    return hostile.capsule_new(ctypes.addressof(made), name, None)


class Lender:
    """An object with a table: lends and gives out a Foreign, and counts how often it is asked."""

    def __init__(self, foreign=None, fault=None):
        self.foreign = Foreign() if foreign is None else foreign
        self.fault = fault
        self.owned = self.lent = 0

    def answer(self, address):
        if isinstance(self.fault, BaseException):
            raise self.fault
        return None if self.fault == "silent" else address

    def own(self):
        self.owned += 1
        return self.answer(ctypes.addressof(self.foreign.managed))

    def lend(self):
        self.lent += 1
        return self.answer(ctypes.addressof(self.foreign.managed.dl_tensor))


def with_table(value=..., *, name=NEW_NAME, base=Lender, **members):
    """A fresh type with a table, or with another value in its place."""
    if value is ...:
        value = capsule(table())
    return type("Tabled", (base,), {name: value, **members})


class Dlpack:
    """The protocol beside a table: what it is asked for is noted."""

    def __dlpack_device__(self):
        device = self.foreign.managed.dl_tensor.device
        return (device.device_type, device.device_id)

    def __dlpack__(self, **keywords):
        self.asked = keywords
        return self.foreign.capsule(destructor=True)


class LenderToo(Dlpack, Lender):
    """Both ways; the table is on the type that is made of it."""
