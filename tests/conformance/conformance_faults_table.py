"""Exchange tables with one fault each, by the rule that must find it."""

import ctypes
import threading

from conformance_faults_producer import DeleterWantsTheGil, Mortal
from conformance_reference import Array, TableLibrary, _forever

from dlpark.conformance import abi, elements

FAULTS = {}


def breaks(*rules):
    """Registers a library as one that breaks these rules."""

    def register(library):
        for each in rules:
            assert each not in FAULTS, each
            FAULTS[each] = library
        return library

    return register


def attribute(change):
    """A library that publishes something else; `change` maps its attributes."""

    class Publishing(TableLibrary):
        def attributes(self):
            return change(self, super().attributes())

    return Publishing


def table(**fields):
    """A library with other fields in its table."""

    class Tabling(TableLibrary):
        def make_table(self):
            made = super().make_table()
            for name, value in fields.items():
                setattr(made, name, value)
            return made

    return Tabling


# ---- Where and what ----

breaks("X-TAB-01")(attribute(lambda library, names: {abi.TABLE_NAME: ctypes.addressof(library.table)}))
breaks("X-TAB-02")(attribute(lambda library, names: {abi.TABLE_NAME: names[abi.TABLE_NAME]}))
breaks("X-TAB-03")(table(version=abi.Version(1, 0)))
breaks("X-TAB-04")(table(current_work_stream=None))


class Anew:
    """A class attribute that is another capsule, over another table, each time."""

    def __init__(self, library):
        self.library = library

    def __get__(self, instance, owner):
        copy = abi.Table.from_buffer_copy(self.library.table)
        _forever.append(copy)
        return abi.capsule_new(ctypes.addressof(copy), abi.EXCHANGE, None)


breaks("X-TAB-05")(attribute(lambda library, names: {abi.TABLE_NAME: Anew(library)}))


@breaks("X-TAB-06")
class OlderThanItself(TableLibrary):
    def make_table(self):
        made = super().make_table()
        made.prev_api = ctypes.addressof(made)
        return made


# ---- The allocator ----


@breaks("X-ALLOC-01")
class AllocatesTooFew(TableLibrary):
    def allocated(self, dtype, shape):
        return super().allocated(dtype, shape[1:])


@breaks("X-ALLOC-02")
class AllocatesNothingSmall(TableLibrary):
    def allocate(self, prototype, out, context, set_error):
        if not prototype.contents.ndim or not prototype.contents.shape[0]:
            self.tell(set_error, context, MemoryError("too small"))
            return -1
        return super().allocate(prototype, out, context, set_error)


@breaks("X-ALLOC-03", "X-ALLOC-06")
class SaysNothing(TableLibrary):
    def tell(self, set_error, context, error):
        pass


@breaks("X-ALLOC-04")
class AllocatesAnything(TableLibrary):
    def allocate(self, prototype, out, context, set_error):
        tensor = prototype.contents
        if tensor.ndim in (1, 2, 3) and (tensor.dtype.code, tensor.dtype.bits) in ((2, 32), (0, 32), (2, 64)):
            out[0] = self.allocated("float32", (1,))
            return 0
        return super().allocate(prototype, out, context, set_error)


@breaks("X-ALLOC-05")
class WantsSetError(TableLibrary):
    def tell(self, set_error, context, error):
        abi.SET_ERROR(set_error or 0)(context, b"BufferError", str(error).encode())


@breaks("X-ALLOC-07")
class KindIsANumber(TableLibrary):
    def tell(self, set_error, context, error):
        abi.SET_ERROR(set_error)(context, b"-1", str(error).encode())


# ---- The stream ----


@breaks("X-STREAM-01", "X-STREAM-02")
class NoStream(TableLibrary):
    def work_stream(self, device_type, device_id, out):
        return -1


# ---- from_py ----


@breaks("X-FROM-01")
class FromPyCopies(TableLibrary):
    def from_py(self, array, out):
        return super().from_py(self.copied(array), out)


@breaks("X-FROM-02")
class FromPyHolds(TableLibrary):
    def from_py(self, array, out):
        _forever.append(array)
        return super().from_py(array, out)


@breaks("X-FROM-03")
class FromPyBorrows(TableLibrary):
    array_class = Mortal


@breaks("X-FROM-04")
class FromPyForgetsReadOnly(TableLibrary):
    def flags_for(self, array, copied):
        return 0


@breaks("X-FROM-05")
class FromPyClaimsACopy(TableLibrary):
    def flags_for(self, array, copied):
        return abi.IS_COPIED


@breaks("X-FROM-06")
class FromPyWantsTheGil(DeleterWantsTheGil, TableLibrary):
    pass


@breaks("X-FROM-07")
class FromPyRoundsDown(TableLibrary):
    def data_and_offset(self, array):
        data, _ = super().data_and_offset(array)
        return data and data & ~63, 0


# ---- The view ----


@breaks("X-VIEW-01")
class ViewIsColumnMajor(TableLibrary):
    def view_of(self, array, out):
        super().view_of(array, out)
        for axis, stride in enumerate(elements.compact(array.shape[::-1])[::-1]):
            out.contents.strides[axis] = stride
        return 0


@breaks("X-VIEW-02")
class ViewHolds(TableLibrary):
    def view_of(self, array, out):
        _forever.append(array)
        return super().view_of(array, out)


# ---- to_py ----


@breaks("X-TO-01")
class ToPyNeverEnds(TableLibrary):
    def keep(self, at, deleter):
        return None


FAULTS["X-TO-02"] = FAULTS["X-TO-03"] = TableLibrary  # which it cannot keep in pure Python


@breaks("X-TO-04")
class ToPyCallsNull(TableLibrary):
    def end(self, at, deleter):
        abi.DELETER(deleter or 0)(at)


@breaks("X-TO-05")
class ToPyForgetsReadOnly(TableLibrary):
    def describe_array(self, tensor, flags):
        return super().describe_array(tensor, 0)


@breaks("X-TO-06")
class ToPyCopies(TableLibrary):
    def take(self, at, name, rename, copy, *, owned=False):
        return super().take(at, name, rename, True, owned=owned)


@breaks("X-TO-07")
class ToPyIgnoresOffsets(TableLibrary):
    def describe_array(self, tensor, flags):
        array = super().describe_array(tensor, flags)
        array.address = tensor.data
        return array


# ---- States, derived classes, threads ----

FAULTS["X-STATE-01"] = FAULTS["X-STATE-02"] = TableLibrary  # whose functions ask nothing


@breaks("X-STATE-03")
class RefusesWithoutAReason(TableLibrary):
    def from_py(self, array, out):
        return -1 if array.state else super().from_py(array, out)


@breaks("X-SUB-01")
class DerivedHasNoTable(TableLibrary):
    def subclass(self):
        made = self.make("float32", (2, 3))
        return type("Derived", (Array,), {})(self, made.address, made.dtype, made.shape)


@breaks("X-THREAD-01")
class OnlyTheMainThread(TableLibrary):
    def from_py(self, array, out):
        return super().from_py(array, out) if threading.current_thread() is threading.main_thread() else -1
