"""Consumers with one fault each, by the rule that must find it."""

import ctypes
import threading

from conformance_reference import Library, Owner

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


def described(**changes):
    """A library that misreads: each change maps the tensor and the flags to an attribute of the array."""

    class Misreading(Library):
        def describe_array(self, tensor, flags):
            array = super().describe_array(tensor, flags)
            for name, change in changes.items():
                setattr(array, name, change(array, tensor, flags))
            return array

    return Misreading


# ---- Capsules and versions ----


@breaks("C-CAP-01")
class NoLegacy(Library):
    def open(self, capsule):
        name, at = super().open(capsule)
        if name == abi.LEGACY:
            raise ValueError("legacy")
        return name, at


@breaks("C-CAP-02")
class OnlyLegacy(Library):
    def open(self, capsule):
        name, at = super().open(capsule)
        if name == abi.VERSIONED:
            raise ValueError("versioned")
        return name, at


@breaks("C-CAP-03", "C-LIFE-09")
class NotRenamed(Library):
    def rename(self, capsule, name):
        pass


class AnyName(Library):
    def open(self, capsule):
        name = abi.capsule_name(capsule)
        return abi.VERSIONED, abi.capsule_pointer(capsule, name)


breaks("C-CAP-04", "C-CAP-05")(AnyName)


@breaks("C-CAP-06")
class NoneIsEmpty(Library):
    def open(self, capsule):
        if capsule is None:
            return abi.VERSIONED, self.header(self.make("float32", (0,)), abi.VERSION, 0)
        return super().open(capsule)

    def rename(self, capsule, name):
        if capsule is not None:
            super().rename(capsule, name)


@breaks("C-VER-01", "C-TAB-09")
class AnyMajor(Library):
    def check_version(self, version):
        pass


@breaks("C-VER-02")
class MajorIsAValueError(Library):
    def check_version(self, version):
        if version[0] != 1:
            raise ValueError(version)


@breaks("C-VER-03")
class OnlyItsOwnMinor(Library):
    def check_version(self, version):
        if version > abi.VERSION:
            raise BufferError(version)


@breaks("C-VER-04")
class MajorZero(Library):
    def check_version(self, version):
        if version[0] > 1:
            raise BufferError(version)


# ---- Flags ----

breaks("C-FLAG-01", "C-TAB-10")(described(readonly=lambda array, tensor, flags: False))
breaks("C-FLAG-02", "C-FLAG-03")(described(readonly=lambda array, tensor, flags: True))


@breaks("C-FLAG-04")
class ReadOnlyOnce(Library):
    def flags_for(self, array, copied):
        return super().flags_for(array, copied) & ~abi.READ_ONLY


@breaks("C-FLAG-05")
class CopiedForEver(Library):
    def describe_array(self, tensor, flags):
        array = super().describe_array(tensor, flags)
        array.came = flags
        return array

    def flags_for(self, array, copied):
        return super().flags_for(array, copied) | getattr(array, "came", 0) & abi.IS_COPIED


breaks("C-FLAG-06")(described(address=lambda array, tensor, flags: array.address + 4 * bool(flags >> 3)))


# ---- Layout ----

breaks("C-LAY-01", "C-LAY-02", "C-LAY-03", "C-LAY-04")(
    described(
        strides=lambda array, tensor, flags: (
            array.strides if tensor.strides else elements.compact(array.shape[::-1])[::-1]
        )
    )
)
breaks("C-LAY-05", "C-LAY-06", "C-LAY-07")(described(address=lambda array, tensor, flags: tensor.data or 0))
breaks("C-LAY-08")(described(address=lambda array, tensor, flags: (tensor.data or 0) + (tensor.byte_offset & ~3)))
breaks("C-LAY-20")(described(address=lambda array, tensor, flags: array.address & ~3))
breaks("C-LAY-09", "C-LAY-10", "C-LAY-11", "C-LAY-12")(
    described(strides=lambda array, tensor, flags: elements.compact(array.shape))
)


def refusing(condition):
    """A library that refuses tensors for no good reason."""

    class Refusing(Library):
        def check(self, tensor, flags):
            super().check(tensor, flags)
            shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
            strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else elements.compact(shape)
            if condition(tensor, shape, strides):
                raise BufferError("for no good reason")

    return Refusing


breaks("C-LAY-13", "C-LAY-15")(refusing(lambda tensor, shape, strides: strides != elements.compact(shape)))
breaks("C-LAY-14", "C-LIFE-04")(refusing(lambda tensor, shape, strides: not tensor.data))
breaks("C-LAY-16")(refusing(lambda tensor, shape, strides: 0 in shape and tensor.data))
breaks("C-LAY-17")(described(shape=lambda array, tensor, flags: tuple(extent & 0xFFFFFFFF for extent in array.shape)))
breaks("C-LAY-18")(refusing(lambda tensor, shape, strides: not tensor.shape))
breaks("C-LAY-19")(refusing(lambda tensor, shape, strides: len(shape) > 32))
breaks("C-LAY-21")(refusing(lambda tensor, shape, strides: tensor.data and tensor.data % 64))
breaks("C-LAY-22")(refusing(lambda tensor, shape, strides: tensor.device.device_type != 1))


@breaks("C-LAY-23")
class ScalesTheStrides(Library):
    def describe_array(self, tensor, flags):
        array = super().describe_array(tensor, flags)
        for axis in range(tensor.ndim if tensor.strides else 0):
            tensor.strides[axis] *= 4
        return array


@breaks("C-LAY-24")
class FillsInStrides(Library):
    def describe_array(self, tensor, flags):
        array = super().describe_array(tensor, flags)
        if not tensor.strides and tensor.ndim:
            array.numbers = (ctypes.c_int64 * tensor.ndim)(*array.strides)
            tensor.strides = ctypes.cast(array.numbers, ctypes.POINTER(ctypes.c_int64))
        return array


# ---- Types ----


def retyping(retyped, dtypes=Library.dtypes):
    """A library that takes one triple for another."""

    class Retyping(Library):
        def check_type(self, dtype, flags):
            pass

        def describe_array(self, tensor, flags):
            real = abi.DataType.from_buffer_copy(tensor.dtype)
            triple = retyped((real.code, real.bits, real.lanes))
            tensor.dtype = abi.DataType(*triple)
            array = super().describe_array(tensor, flags)
            tensor.dtype = real
            return array

    Retyping.dtypes = dtypes
    return Retyping


def instead(triples):
    return lambda triple: triples.get(triple, triple)


breaks("C-TYPE-01")(refusing(lambda tensor, shape, strides: (tensor.dtype.code, tensor.dtype.bits) == (1, 16)))
breaks("C-TYPE-02")(retyping(instead({(4, 16, 1): (2, 16, 1)}), elements.COMMON))
breaks("C-TYPE-03")(retyping(instead({(0, 4, 1): (0, 8, 1)})))
breaks("C-TYPE-04")(retyping(instead({})))
breaks("C-TYPE-05")(retyping(instead({(2, 32, 2): (2, 32, 1)})))
breaks("C-TYPE-06", "C-TAB-08")(retyping(instead({(200, 32, 1): (2, 32, 1)})))
breaks("C-TYPE-07")(retyping(lambda triple: triple if triple in elements.NAMES else (2, 64, 1)))
breaks("C-TYPE-08")(retyping(instead({(1, 8, 1): (6, 8, 1)})))


@breaks("C-EXC-01")
class NotABufferError(Library):
    def check(self, tensor, flags):
        try:
            super().check(tensor, flags)
        except BufferError as error:
            raise ValueError(error) from None


@breaks("C-EXC-02")
class SaysNothing(Library):
    def check(self, tensor, flags):
        try:
            super().check(tensor, flags)
        except BufferError:
            raise BufferError("bad tensor") from None


# ---- Broken tensors ----


@breaks("C-BAD-01", "C-BAD-03")
class OddRanksAreZero(Library):
    def check(self, tensor, flags):
        if not 0 <= tensor.ndim <= 64:
            tensor.ndim = 0
        super().check(tensor, flags)


@breaks("C-BAD-02")
class AnyRank(Library):
    def check(self, tensor, flags):
        ndim = tensor.ndim
        tensor.ndim = min(ndim, 64)
        super().check(tensor, flags)
        tensor.ndim = ndim


@breaks("C-BAD-04")
class NullShapeIsNone(Library):
    def check(self, tensor, flags):
        if not tensor.shape:
            tensor.ndim = 0
        super().check(tensor, flags)


@breaks("C-BAD-05", "C-BAD-06", "C-BAD-08", "C-BAD-09", "C-BAD-10", "C-BAD-11", "C-BAD-14", "C-BAD-15")
class NoSizes(Library):
    def check_size(self, tensor, shape):
        pass


@breaks("C-BAD-07")
class AbsoluteExtents(Library):
    def check(self, tensor, flags):
        for axis in range(tensor.ndim if tensor.shape and 0 < tensor.ndim < 64 else 0):
            tensor.shape[axis] = abs(tensor.shape[axis])
        super().check(tensor, flags)


@breaks("C-BAD-12", "C-BAD-13")
class AnyDeviceInTheStruct(Library):
    def check_struct_device(self, device):
        pass


@breaks("C-BAD-16")
class EndsWhatItDidNotTake(Library):
    def take(self, at, name, rename, copy, *, owned=False):
        return super().take(at, name, rename, copy, owned=True)


# ---- Requests ----


def asking(**more):
    """A library that asks for something else."""

    class Asking(Library):
        def check_there(self, x, device):
            if x.__dlpack_device__()[0] not in (abi.CUDA, abi.ROCM):
                super().check_there(x, device)

        def ask(self, x, copy):
            return x.__dlpack__(**more)

    return Asking


breaks("C-ASK-01")(asking(stream=None))
breaks("C-ASK-02")(asking(stream=1, max_version=(1, 3)))
breaks("C-ASK-03")(asking(stream=0, max_version=(1, 3)))
breaks("C-ASK-04")(asking(stream=2, max_version=(1, 3)))
breaks("C-ASK-06")(asking(max_version=(1, 3)))


@breaks("C-ASK-05")
class ReadsAnyDevice(AnyDeviceInTheStruct):
    def check_there(self, x, device):
        pass

    def describe_array(self, tensor, flags):
        array = super().describe_array(tensor, flags)
        array.tolist()
        return array


@breaks("C-ASK-07")
class AlwaysAStream(Library):
    def ask(self, x, copy):
        try:
            return x.__dlpack__(stream=None, max_version=(1, 3))
        except TypeError:
            return x.__dlpack__(stream=None)


@breaks("C-ASK-08", "C-ASK-10")
class TrustsTheProducer(Library):
    def take(self, at, name, rename, copy, *, owned=False):
        return super().take(at, name, rename, None, owned=owned)


@breaks("C-ASK-09")
class CopyIgnored(Library):
    def from_dlpack(self, x, /, *, device=None, copy=None):
        return super().from_dlpack(x, device=device)


@breaks("C-ASK-11")
class TakesAnyCopy(Library):
    def take(self, at, name, rename, copy, *, owned=False):
        return super().take(at, name, rename, copy or None, owned=owned)


@breaks("C-ASK-12", "C-ASK-13")
class AlwaysCopies(Library):
    def take(self, at, name, rename, copy, *, owned=False):
        return super().take(at, name, rename, True, owned=owned)


@breaks("C-ASK-14")
class DeviceDropped(AnyDeviceInTheStruct):
    def check_there(self, x, device):
        pass


@breaks("C-ASK-15")
class WrapsExceptions(Library):
    def ask(self, x, copy):
        try:
            return super().ask(x, copy)
        except Exception as error:
            raise RuntimeError(f"the producer failed: {error}") from error


@breaks("C-ASK-16")
class RetriesOnAnyTypeError(Library):
    def ask(self, x, copy):
        try:
            return super().ask(x, copy)
        except TypeError:
            return x.__dlpack__()


@breaks("C-ASK-17", "C-ASK-18")
class MissingIsARuntimeError(Library):
    def check_there(self, x, device):
        if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
            raise RuntimeError("not an array")
        super().check_there(x, device)


@breaks("C-ASK-19")
class DeviceAsAnOffset(Library):
    def check_there(self, x, device):
        there = x.__dlpack_device__()
        self.shift = 0 if there == (1, 0) else 4

    def describe_array(self, tensor, flags):
        array = super().describe_array(tensor, flags)
        array.address += self.shift
        return array


@breaks("C-ASK-20")
class ItsOwnAsTheyAre(Library):
    def from_dlpack(self, x, /, *, device=None, copy=None):
        return x if isinstance(x, self.Array) else super().from_dlpack(x, device=device, copy=copy)


# ---- Life ----


@breaks("C-LIFE-01", "C-TAB-01")
class NeverEnds(Library):
    def keep(self, at, deleter):
        return None


@breaks("C-LIFE-02")
class LegacyNeverEnds(Library):
    def take(self, at, name, rename, copy, *, owned=False):
        array = super().take(at, name, rename, copy, owned=owned)
        if name == abi.LEGACY:
            array.owner.deleter = None
        return array


@breaks("C-LIFE-03")
class CallsNull(Library):
    def end(self, at, deleter):
        abi.DELETER(deleter or 0)(at)


@breaks("C-LIFE-05")
class PartsKeepNothing(Library):
    def view(self, array, which):
        part = super().view(array, which)
        part.owner = None
        return part


@breaks("C-LIFE-06")
class DropsWhilePending(Library):
    def from_dlpack(self, x, /, *, device=None, copy=None):
        box = [self.ask(x, copy)]
        try:
            self.check(abi.struct_at(abi.Versioned, self.open(box[0])[1]).dl_tensor, 0)
        except BufferError as error:
            refusal = error.with_traceback(None)

            def half():
                yield box.pop()
                raise refusal

            list(half())
        return super().from_dlpack(x, device=device, copy=copy)


@breaks("C-LIFE-07")
class ForgetsOneInTen(Library):
    count = 0

    def keep(self, at, deleter):
        self.count += 1
        return Owner(self, at, deleter if self.count % 10 else None)


@breaks("C-LIFE-08")
class EndsElsewhere(Library):
    def end(self, at, deleter):
        thread = threading.Thread(target=super().end, args=(at, deleter))
        thread.start()
        thread.join()


@breaks("C-LIFE-10")
class RemembersProducers(Library):
    def __init__(self):
        super().__init__()
        self.known = {}

    def from_dlpack(self, x, /, *, device=None, copy=None):
        if id(x) not in self.known:
            self.known[id(x)] = super().from_dlpack(x, device=device, copy=copy)
        return self.known[id(x)]


@breaks("C-LIFE-11")
class ZerosOfItself(Library):
    def from_dlpack(self, x, /, *, device=None, copy=None):
        array = super().from_dlpack(x, device=device, copy=True)
        ctypes.memset(array.address, 0, 8)
        return array


# ---- Tables of others ----


@breaks("C-TAB-02", "C-TAB-03")
class AnyTable(Library):
    def table_on(self, x):
        value = getattr(type(x), abi.TABLE_NAME, None)
        good = abi.is_capsule(value) and abi.capsule_is_valid(value, abi.EXCHANGE)
        return abi.struct_at(abi.Table, abi.capsule_pointer(value, abi.EXCHANGE)) if good else None


@breaks("C-TAB-04")
class AnyCapsule(Library):
    def table_on(self, x):
        value = getattr(type(x), abi.TABLE_NAME, None)
        if not abi.is_capsule(value):
            return None
        return abi.struct_at(abi.Table, abi.capsule_pointer(value, abi.capsule_name(value)))


@breaks("C-TAB-05")
class FailsSilently(Library):
    def from_dlpack(self, x, /, *, device=None, copy=None):
        try:
            return super().from_dlpack(x, device=device, copy=copy)
        except BufferError as error:
            if "no reason" in str(error):
                return None
            raise


@breaks("C-TAB-06")
class WantsEveryFunction(Library):
    def table_on(self, x):
        table = super().table_on(x)
        if table is not None and not table.dltensor_from_py_object_no_sync:
            raise BufferError("a table without a view")
        return table


@breaks("C-TAB-07")
class CallsNullFunctions(AnyTable):
    def ask_table(self, table, x):
        out = ctypes.c_void_p()
        abi.FROM_PY(table.managed_tensor_from_py_object_no_sync or 0)(x, ctypes.byref(out))
        return out.value
