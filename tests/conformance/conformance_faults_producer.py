"""Producers with one fault each, by the rule that must find it."""

import ctypes
from ctypes import POINTER, c_int64, cast

from conformance_reference import Array, Library, _forever

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


# ---- Capsule, version, keywords ----


@breaks("P-CAP-01")
class AlwaysVersioned(Library):
    def version_for(self, max_version):
        return abi.VERSION


@breaks("P-CAP-02")
class AlwaysLegacy(Library):
    def version_for(self, max_version):
        return None


@breaks("P-VER-01")
class VersionedForMajorZero(Library):
    def version_for(self, max_version):
        return None if max_version is None else abi.VERSION


@breaks("P-VER-02")
class NoMajorZero(Library):
    def version_for(self, max_version):
        if max_version == (0, 0):
            raise BufferError("too old")
        return super().version_for(max_version)


@breaks("P-VER-03")
class OnlyItsOwnMajor(Library):
    def version_for(self, max_version):
        if max_version and max_version[0] > 1:
            raise BufferError("too new")
        return super().version_for(max_version)


@breaks("P-VER-04")
class VersionOfTheFuture(Library):
    def version_for(self, max_version):
        return super().version_for(max_version) and (2, 0)


@breaks("P-VER-05")
class AnyVersion(Library):
    def version_for(self, max_version):
        return max_version and abi.VERSION


class WithoutCopy(Array):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None):
        return self.library.export(self, stream, max_version, dl_device, None)


@breaks("P-KW-01")
class NoCopyKeyword(Library):
    array_class = WithoutCopy


class ByPosition(Array):
    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        return self.library.export(self, stream, max_version, dl_device, copy)


@breaks("P-KW-02")
class TakesPositions(Library):
    array_class = ByPosition


class AnyKeyword(Array):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None, **_):
        return self.library.export(self, stream, max_version, dl_device, copy)


@breaks("P-KW-03")
class TakesEveryKeyword(Library):
    array_class = AnyKeyword


@breaks("P-KW-04")
class DerivedDropsKeywords(Library):
    def subclass(self):
        array = super().subclass()
        type(array).__dlpack__ = lambda self, *, stream=None, max_version=None, copy=None: Array.__dlpack__(self)
        return array


# ---- Device ----


@breaks("P-DEV-01")
class DeviceIsAList(Library):
    def device_of(self, array):
        return [1, 0]


@breaks("P-DEV-02")
class DeviceDisagrees(Library):
    def device_of(self, array):
        return (abi.CUDA_HOST, 0)


@breaks("P-DEV-03")
class NoDeviceAtAll(Library):
    def check_device(self, array, dl_device):
        if dl_device is not None:
            raise BufferError("no dl_device")


@breaks("P-DEV-04")
class DeviceIgnored(Library):
    def check_device(self, array, dl_device):
        pass


@breaks("P-DEV-05")
class DeviceIsAValueError(Library):
    def check_device(self, array, dl_device):
        try:
            super().check_device(array, dl_device)
        except BufferError as error:
            raise ValueError(error) from None


@breaks("P-DEV-06")
class MalformedDevice(Library):
    def check_device(self, array, dl_device):
        if type(dl_device) is tuple and [type(part) for part in dl_device] == [int, int]:
            super().check_device(array, dl_device)


@breaks("P-DEV-07")
class AnyHost(Library):
    def check_device(self, array, dl_device):
        super().check_device(array, dl_device if dl_device != (1, 1) else None)


# ---- Copy ----


@breaks("P-COPY-01")
class CopyIsTheSource(Library):
    def copied(self, array):
        return array


@breaks("P-COPY-02")
class CopyIsEmpty(Library):
    def copied(self, array):
        made = super().copied(array)
        ctypes.memset(made.address, 0, 24)
        return made


@breaks("P-COPY-03")
class CopyIsNotFlagged(Library):
    def flags_for(self, array, copied):
        return super().flags_for(array, False)


@breaks("P-COPY-04")
class EverythingIsFlagged(Library):
    def flags_for(self, array, copied):
        return super().flags_for(array, True)


@breaks("P-COPY-05")
class FalseCopies(Library):
    def export(self, array, stream, max_version, dl_device, copy):
        return super().export(array, stream, max_version, dl_device, copy is not None)


@breaks("P-COPY-06")
class LegacyIgnoresCopy(Library):
    def export(self, array, stream, max_version, dl_device, copy):
        return super().export(array, stream, max_version, dl_device, copy if max_version else None)


@breaks("P-COPY-07")
class CopyStaysReadOnly(Library):
    def copied(self, array):
        made = super().copied(array)
        made.readonly = array.readonly
        return made


@breaks("P-COPY-08")
class NoCopies(Library):
    def copied(self, array):
        raise BufferError("no copies")


# ---- Streams ----


@breaks("P-STREAM-01")
class NoNoSync(Library):
    def check_stream(self, array, stream):
        if stream is not None:
            raise BufferError("streams")


@breaks("P-STREAM-02", "P-STREAM-05")
class AnyStream(Library):
    def check_stream(self, array, stream):
        pass


class OnADevice(AnyStream):
    device = abi.CUDA

    def make(self, dtype, shape):
        made = super().make(dtype, shape)
        made.device = (self.device, 0)
        return made


@breaks("P-STREAM-03")
class StreamZeroOnCuda(OnADevice):
    device = abi.CUDA


@breaks("P-STREAM-04")
class StreamTwoOnRocm(OnADevice):
    device = abi.ROCM


# ---- Read-only ----


@breaks("P-RO-01")
class ReadOnlyLost(Library):
    def flags_for(self, array, copied):
        return super().flags_for(array, copied) & ~abi.READ_ONLY


@breaks("P-RO-02")
class ReadOnlyAsLegacy(Library):
    def refuse_read_only_legacy(self, array):
        pass


@breaks("P-RO-03")
class EverythingReadOnly(Library):
    def flags_for(self, array, copied):
        return super().flags_for(array, copied) | abi.READ_ONLY


# ---- Layout ----


@breaks("P-LAY-01")
class ColumnMajor(Library):
    def strides_of(self, array):
        return elements.compact(array.shape[::-1])[::-1]


@breaks("P-LAY-02", "P-LAY-03", "P-LAY-04", "P-LAY-06")
class StridesDropped(Library):
    def strides_of(self, array):
        return elements.compact(array.shape)


@breaks("P-LAY-05")
class OffsetDropped(Library):
    def data_and_offset(self, array):
        data, _ = super().data_and_offset(array)
        return data and data & ~63, 0


@breaks("P-LAY-07", "P-LAY-08")
class NoStrides(Library):
    def strides_of(self, array):
        return None


@breaks("P-LAY-09")
class StridesNormalised(Library):
    def strides_of(self, array):
        return tuple(1 if extent == 1 else stride for extent, stride in zip(array.shape, array.strides, strict=True))


@breaks("P-LAY-10")
class OffsetKept(Library):
    def data_and_offset(self, array):
        data, _ = super().data_and_offset(array)
        return (data & ~63, data & 63) if data else (None, 0)


@breaks("P-LAY-11")
class NothingEmpty(Library):
    def check_state(self, array):
        if 0 in array.shape:
            raise BufferError("empty")
        super().check_state(array)


@breaks("P-LAY-12")
class EmptyWithData(Library):
    def data_and_offset(self, array):
        return array.address, 0


@breaks("P-LAY-13")
class ScalarOfRankOne(Library):
    def describe(self, tensor, array, shape_at, strides_at):
        super().describe(tensor, array, shape_at, strides_at)
        if not array.shape:
            one = (c_int64 * 1)(1)
            _forever.append(one)
            tensor.ndim, tensor.shape, tensor.strides = 1, cast(one, POINTER(c_int64)), cast(one, POINTER(c_int64))


@breaks("P-LAY-14")
class Misaligned(Library):
    def room(self, nbytes):
        return super().room(nbytes + 1) + 1


@breaks("P-LAY-15")
class BarelyAligned(Library):
    def room(self, nbytes):
        return super().room(nbytes + 16) + 16


@breaks("P-LAY-16")
class StateIgnored(Library):
    def check_state(self, array):
        pass


@breaks("P-LAY-17")
class StateIsATypeError(Library):
    def check_state(self, array):
        if array.state:
            raise TypeError(array.state)


@breaks("P-LAY-18")
class OddRowRefused(Library):
    def odd_row(self):
        array = super().odd_row()
        array.state = "an odd stride"
        return array


# ---- Types ----


def mistyped(dtype, triple):
    class Mistyped(Library):
        def triple_of(self, name):
            return triple if name == dtype else super().triple_of(name)

    return Mistyped


breaks("P-TYPE-01")(mistyped("int16", (0, 32, 1)))
breaks("P-TYPE-02")(mistyped("bool", (1, 8, 1)))
breaks("P-TYPE-03")(mistyped("complex64", (5, 32, 2)))
breaks("P-TYPE-04")(mistyped("bfloat16", (2, 16, 1)))
breaks("P-TYPE-05")(mistyped("float8_e4m3fn", (8, 8, 1)))
breaks("P-TYPE-06")(mistyped("float4_e2m1fn", (17, 4, 2)))


@breaks("P-TYPE-07")
class PaddedUnsaid(Library):
    def make(self, dtype, shape):
        if dtype != "int4":
            return super().make(dtype, shape)
        made = super().make("int8", shape)
        made.dtype = "int4"
        return made


@breaks("P-TYPE-08")
class CannotReadItself(Library):
    def check_type(self, dtype, flags):
        super().check_type(dtype, flags)
        if (dtype.code, dtype.bits) == (2, 64):
            raise BufferError("float64")


# ---- Life ----


@breaks("P-LIFE-01")
class NoDestructor(Library):
    def destructor(self):
        return None

    def room(self, nbytes):
        super().room(nbytes)
        return super().room(nbytes)


def _always(address):
    name = abi.dying_name(address)
    legacy = name in (abi.LEGACY, abi.USED[abi.LEGACY])
    at = abi.dying_pointer(address, name)
    abi.DELETER(abi.struct_at(abi.Legacy if legacy else abi.Versioned, at).deleter)(at)


ALWAYS = abi.DESTRUCTOR(_always)


@breaks("P-LIFE-02")
class DestructorIgnoresTheName(Library):
    def destructor(self):
        return abi.address_of(ALWAYS)


FAULTS["P-LIFE-03"] = Library  # which it cannot keep in pure Python


@breaks("P-LIFE-04", "P-LIFE-05")
class DeleterWantsTheGil(Library):
    def deleter(self):
        return abi.address_of(ctypes.pythonapi.PyErr_Clear)


IN_PYTHON = abi.DELETER(lambda at: None)


@breaks("P-LIFE-06")
class DeleterInPython(Library):
    def deleter(self):
        return abi.address_of(IN_PYTHON)


class Mortal(Array):
    def __del__(self):
        ctypes.memset(self.address, 0xEE, 64)


@breaks("P-LIFE-07")
class DataDieWithTheSource(Library):
    array_class = Mortal


@breaks("P-LIFE-08")
class HoldsForever(Library):
    def header(self, array, version, flags):
        _forever.append(array)
        return super().header(array, version, flags)


@breaks("P-LIFE-09")
class HoldsWhatItRefused(Library):
    def check_device(self, array, dl_device):
        try:
            super().check_device(array, dl_device)
        except BufferError:
            _forever.append(array)
            raise


@breaks("P-LIFE-10")
class OneStruct(Library):
    def header(self, array, version, flags):
        if not hasattr(array, "only"):
            array.only = super().header(array, version, flags)
        return array.only


class Exposed(Array):
    @property
    def shape(self):
        return tuple(self.numbers)

    @shape.setter
    def shape(self, shape):
        self.numbers = (c_int64 * len(shape))(*shape)


@breaks("P-LIFE-11")
class SharesItsShape(Library):
    array_class = Exposed

    def describe(self, tensor, array, shape_at, strides_at):
        super().describe(tensor, array, shape_at, strides_at)
        if array.shape:
            tensor.shape = cast(array.numbers, POINTER(c_int64))


@breaks("P-LIFE-12")
class ReusesTheStruct(Library):
    def __init__(self):
        super().__init__()
        self.places = {}

    def header(self, array, version, flags):
        at = super().header(array, version, flags)
        nbytes = ctypes.sizeof(abi.Legacy if version is None else abi.Versioned)
        place = self.places.setdefault(version, (ctypes.c_char * nbytes)())
        _forever.append(place)
        ctypes.memmove(place, at, nbytes)
        return ctypes.addressof(place)

    def deleter(self):
        return None
