"""A DLPack library in pure Python, by the book, whose every step is a method that a test may break.

Its memory is never given back and its deleter is libc's free for the header, so that both work on any thread and when
the interpreter is gone. What ctypes cannot do is listed in `BEYOND_CTYPES`.
"""

import ctypes
from ctypes import POINTER, c_int64, c_void_p, cast

from dlpark.conformance import abi, adapters, elements

BEYOND_CTYPES = {
    "P-LIFE-03": "a destructor in Python loses the exception that is pending",
    "X-TO-02": "a function in Python cannot return -1 with an exception set",
    "X-TO-03": "the same",
    "X-STATE-01": "the same",
    "X-STATE-02": "the same",
    "X-STATE-03": "the same",
}
"""Rules that a library in pure Python cannot keep."""

_forever = []

malloc, free = abi.libc.malloc, abi.libc.free
malloc.restype, malloc.argtypes = c_void_p, [ctypes.c_size_t]
FREE = abi.address_of(free)


def memory(nbytes):
    """The address of memory that stays, aligned to 64 bytes."""
    raw = (ctypes.c_char * (nbytes + 128))()
    _forever.append(raw)
    return (ctypes.addressof(raw) + 63) // 64 * 64


class Array:
    """A strided array on the host."""

    def __init__(self, library, address, dtype, shape, strides=None, *, readonly=False, owner=None, state=None):
        self.library, self.address, self.dtype, self.shape = library, address, dtype, tuple(shape)
        self.strides = elements.compact(shape) if strides is None else tuple(strides)
        self.readonly, self.owner, self.state, self.device = readonly, owner, state, (abi.CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.library.export(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return self.library.device_of(self)

    def like(self, address, shape, strides):
        return type(self)(self.library, address, self.dtype, shape, strides, readonly=self.readonly, owner=self.owner)

    @property
    def T(self):
        return self.like(self.address, self.shape[::-1], self.strides[::-1])

    def __getitem__(self, part):
        start, stop, step = part.indices(self.shape[0])
        extent = len(range(start, stop, step))
        address = self.address + start * self.strides[0] * elements.nbytes(self.dtype)
        return self.like(address, (extent, *self.shape[1:]), (self.strides[0] * step, *self.strides[1:]))

    def __setitem__(self, index, value):
        if self.readonly:
            raise ValueError("the array is read-only")
        at = sum(i * stride for i, stride in zip(index, self.strides, strict=True))
        raw = elements.encode(self.dtype, value)
        ctypes.memmove(self.address + at * len(raw), raw, len(raw))

    def tolist(self):
        where = elements.offsets(self.shape, self.strides)
        if self.dtype in elements.SUB_BYTE:
            bits = elements.code_bits(self.dtype)[1]
            raw = ctypes.string_at(self.address, (bits * (max(where) + 1) + 7) // 8)
            return [elements.unpack(self.dtype, raw, at) for at in where]
        size = elements.nbytes(self.dtype)
        return [elements.decode(self.dtype, ctypes.string_at(self.address + at * size, size)) for at in where]


class Library:
    """What a factory for the kit returns; see dlpark.conformance.targets.Maker."""

    version = "1"
    dtypes = tuple(elements.TRIPLES)

    array_class = Array

    def __init__(self):
        self.Array = type("Array", (self.array_class,), {})

    # ---- Making ----

    def make(self, dtype, shape):
        raw = adapters.raw(dtype, shape)
        address = self.room(len(raw))
        ctypes.memmove(address, raw, len(raw))
        return self.Array(self, address, dtype, shape)

    def room(self, nbytes):
        return memory(nbytes)

    def readonly(self):
        array = self.make("float32", (2, 3))
        array.readonly = True
        return array

    def subclass(self):
        made = self.make("float32", (2, 3))
        return type("Derived", (self.Array,), {})(self, made.address, made.dtype, made.shape)

    def unexportable(self):
        made = self.make("float32", (2, 3))
        return {"a secret": self.Array(self, made.address, made.dtype, made.shape, state="a secret")}

    def odd_row(self):
        return self.make("int32", (1, 1))

    def view(self, array, which):
        if which == "broadcast":
            return array.like(array.address, (4, *array.shape[1:]), (0, *array.strides[1:]))
        parts = {"sliced": slice(None, None, 2), "reversed": slice(None, None, -1)}
        parts |= {"row": slice(1, 2), "tail": slice(1, None)}
        return array.T if which == "transposed" else array[parts[which]]

    def device_keyword(self):
        return (abi.CPU, 0)

    # ---- Producing ----

    def device_of(self, array):
        return array.device

    def export(self, array, stream, max_version, dl_device, copy):
        self.check_stream(array, stream)
        version = self.version_for(max_version)
        self.check_device(array, dl_device)
        self.check_state(array)
        copied = bool(copy)
        if array.readonly and version is None and not copied:
            self.refuse_read_only_legacy(array)
        if copied:
            array = self.copied(array)
        return self.capsule(self.header(array, version, self.flags_for(array, copied)), version)

    def check_stream(self, array, stream):
        if stream is not None and stream != -1:
            raise BufferError(f"stream {stream!r} on the host")

    def version_for(self, max_version):
        """None for a legacy struct."""
        if max_version is None:
            return None
        if type(max_version) is not tuple or [type(part) for part in max_version] != [int, int]:
            raise TypeError(f"max_version is a pair of ints, not {max_version!r}")
        return None if max_version[0] < 1 else abi.VERSION

    def check_device(self, array, dl_device):
        if dl_device is None:
            return
        if type(dl_device) is not tuple or [type(part) for part in dl_device] != [int, int]:
            raise TypeError(f"dl_device is a pair of ints, not {dl_device!r}")
        if dl_device != array.device:
            raise BufferError(f"the data are on {array.device}, and cannot be brought to {dl_device}")

    def check_state(self, array):
        if array.state:
            raise BufferError(f"DLPack cannot express {array.state}")

    def refuse_read_only_legacy(self, array):
        raise BufferError("the array is read-only, which a legacy capsule cannot say")

    def copied(self, array):
        values = array.tolist()
        made = self.Array(self, memory(len(values) * elements.nbytes(array.dtype)), array.dtype, array.shape)
        raw = b"".join(elements.encode(array.dtype, value) for value in values)
        ctypes.memmove(made.address, raw, len(raw))
        return made

    def flags_for(self, array, copied):
        return (abi.READ_ONLY if array.readonly else 0) | (abi.IS_COPIED if copied else 0)

    def header(self, array, version, flags):
        """The address of a managed tensor with its shape and strides, in one block."""
        kind = abi.Legacy if version is None else abi.Versioned
        ndim, size = len(array.shape), ctypes.sizeof(kind)
        at = malloc(size + 16 * ndim)
        ctypes.memset(at, 0, size)
        managed = abi.struct_at(kind, at)
        managed.deleter = self.deleter()
        if version is not None:
            managed.version, managed.flags = abi.Version(*version), flags
        self.describe(managed.dl_tensor, array, at + size, at + size + 8 * ndim)
        return at

    def deleter(self):
        return FREE

    def describe(self, tensor, array, shape_at, strides_at):
        """Fills a DLTensor; shape and strides go to these addresses."""
        ndim = len(array.shape)
        tensor.data, tensor.byte_offset = self.data_and_offset(array)
        tensor.device = abi.Device(*array.device)
        tensor.ndim = ndim
        tensor.dtype = abi.DataType(*self.triple_of(array.dtype))
        for numbers, at, field in ((array.shape, shape_at, "shape"), (self.strides_of(array), strides_at, "strides")):
            if numbers is not None and ndim:
                (c_int64 * ndim).from_address(at)[:] = numbers
                setattr(tensor, field, cast(at, POINTER(c_int64)))

    def data_and_offset(self, array):
        return (array.address if elements.count(array.shape) else None), 0

    def triple_of(self, dtype):
        return elements.TRIPLES[dtype]

    def strides_of(self, array):
        return array.strides

    def capsule(self, at, version):
        return abi.capsule_new(at, self.name_for(version), self.destructor())

    def name_for(self, version):
        return abi.LEGACY if version is None else abi.VERSIONED

    def destructor(self):
        return abi.address_of(DESTROY)

    # ---- Consuming ----

    def from_dlpack(self, x, /, *, device=None, copy=None):
        table = self.table_on(x)
        if table is not None:
            at = self.ask_table(table, x)
            return self.take(at, abi.VERSIONED, lambda: None, copy, owned=True)
        self.check_there(x, device)
        capsule = self.ask(x, copy)
        name, at = self.open(capsule)
        return self.take(at, name, lambda: self.rename(capsule, name), copy)

    def open(self, capsule):
        name = abi.capsule_name(capsule) if abi.is_capsule(capsule) else None
        if name not in (abi.LEGACY, abi.VERSIONED):
            raise ValueError(f"no fresh DLPack capsule: {capsule!r}")
        return name, abi.capsule_pointer(capsule, name)

    def rename(self, capsule, name):
        abi.capsule_rename(capsule, abi.USED[name])

    def check_there(self, x, device):
        if not hasattr(x, "__dlpack__"):
            raise AttributeError("no __dlpack__")
        there = x.__dlpack_device__()
        if not isinstance(there, tuple) or len(there) != 2 or not all(isinstance(part, int) for part in there):
            raise TypeError(f"__dlpack_device__ returned {there!r}")
        if there[0] not in abi.HOST_DEVICES:
            raise BufferError(f"device {there}")
        if device not in (None, there):
            raise BufferError(f"the data are on {there}, not on {device}")

    def ask(self, x, copy):
        keywords = {"max_version": abi.VERSION}
        if copy is not None:
            keywords["copy"] = copy
        try:
            return x.__dlpack__(**keywords)
        except TypeError as error:
            if "unexpected keyword" not in str(error):
                raise
        return x.__dlpack__()

    def take(self, at, name, rename, copy, *, owned=False):
        """An array over a managed tensor. It is checked first, then owned, then nothing fails but the copy."""
        legacy = name == abi.LEGACY
        managed = abi.struct_at(abi.Legacy if legacy else abi.Versioned, at)
        try:
            if not legacy:
                self.check_version((managed.version.major, managed.version.minor))
            flags = 0 if legacy else managed.flags
            self.check(managed.dl_tensor, flags)
            if copy is False and flags & abi.IS_COPIED:
                raise BufferError("copy=False, and the producer made a copy")
            array = self.describe_array(managed.dl_tensor, flags)
        except BufferError:
            if owned:
                self.end(at, managed.deleter)
            raise
        rename()
        array.owner = self.keep(at, managed.deleter)
        if copy and not flags & abi.IS_COPIED:
            array = self.copied(array)
        return array

    def check_version(self, version):
        if version[0] != 1:
            raise BufferError(f"DLPack {version[0]}.{version[1]}")

    def check(self, tensor, flags):
        if not 0 <= tensor.ndim <= 64:
            raise BufferError(f"ndim is {tensor.ndim}")
        if tensor.ndim and not tensor.shape:
            raise BufferError("shape is NULL")
        shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
        if any(extent < 0 for extent in shape):
            raise BufferError(f"shape is {shape}")
        self.check_type(tensor.dtype, flags)
        self.check_struct_device((tensor.device.device_type, tensor.device.device_id))
        self.check_size(tensor, shape)

    def check_type(self, dtype, flags):
        if (dtype.code, dtype.bits, dtype.lanes) not in elements.NAMES:
            raise BufferError(f"dtype code {dtype.code}, bits {dtype.bits}, lanes {dtype.lanes}")
        if dtype.bits < 8 and flags & abi.PADDED:
            raise BufferError("padded elements")

    def check_struct_device(self, device):
        if device[0] not in abi.HOST_DEVICES:
            raise BufferError(f"device {device}")

    def check_size(self, tensor, shape):
        count = elements.count(shape)
        if not count:
            return
        strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else elements.compact(shape)
        reach = 1 + sum((extent - 1) * abs(stride) for extent, stride in zip(shape, strides, strict=True))
        if max(count, reach) * tensor.dtype.bits >= 1 << 63:
            raise BufferError(f"shape {shape}, strides {strides}")
        if not tensor.data:
            raise BufferError("data is NULL")
        if tensor.data + tensor.byte_offset + reach * tensor.dtype.bits // 8 >= 1 << 64:
            raise BufferError(f"byte_offset is {tensor.byte_offset}")

    def describe_array(self, tensor, flags):
        shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
        strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
        dtype = elements.NAMES[tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes]
        readonly = bool(flags & abi.READ_ONLY)
        return self.Array(self, (tensor.data or 0) + tensor.byte_offset, dtype, shape, strides, readonly=readonly)

    def keep(self, at, deleter):
        return Owner(self, at, deleter)

    def end(self, at, deleter):
        if deleter:
            abi.DELETER(deleter)(at)

    # ---- Tables of others ----

    def table_on(self, x):
        """The newest table of a version that is understood, or None."""
        value = getattr(type(x), abi.TABLE_NAME, None)
        if not abi.is_capsule(value) or not abi.capsule_is_valid(value, abi.EXCHANGE):
            return None
        at = abi.capsule_pointer(value, abi.EXCHANGE)
        while at:
            table = abi.struct_at(abi.Table, at)
            if table.version.major == 1:
                return table if table.managed_tensor_from_py_object_no_sync else None
            at = table.prev_api
        return None

    def ask_table(self, table, x):
        out = c_void_p()
        if abi.FROM_PY(table.managed_tensor_from_py_object_no_sync)(x, ctypes.byref(out)) != 0 or not out.value:
            raise BufferError("the exchange table gave no tensor, and no reason")
        return out.value


class Owner:
    """What ends a managed tensor when the last array over it is gone."""

    def __init__(self, library, at, deleter):
        self.library, self.at, self.deleter = library, at, deleter

    def __del__(self):
        self.library.end(self.at, self.deleter)


def _destroy(address):
    name = abi.dying_name(address)
    if name in (abi.LEGACY, abi.VERSIONED):
        at = abi.dying_pointer(address, name)
        managed = abi.struct_at(abi.Legacy if name == abi.LEGACY else abi.Versioned, at)
        if managed.deleter:
            abi.DELETER(managed.deleter)(at)


DESTROY = abi.DESTRUCTOR(_destroy)


class TableLibrary(Library):
    """The same, with an exchange table of ctypes functions."""

    def __init__(self):
        super().__init__()
        self.functions = {
            "managed_tensor_allocator": abi.ALLOCATOR(self.allocate),
            "managed_tensor_from_py_object_no_sync": abi.FROM_PY(self.from_py),
            "managed_tensor_to_py_object_no_sync": abi.TO_PY(self.to_py),
            "dltensor_from_py_object_no_sync": abi.VIEW_FROM_PY(self.view_of),
            "current_work_stream": abi.WORK_STREAM(self.work_stream),
        }
        self.table = self.make_table()
        _forever.extend((self, self.table))
        for name, value in self.attributes().items():
            setattr(self.Array, name, value)

    def make_table(self):
        table = abi.Table(version=abi.Version(*abi.VERSION))
        for name, function in self.functions.items():
            setattr(table, name, abi.address_of(function))
        return table

    def attributes(self):
        capsule = abi.capsule_new(ctypes.addressof(self.table), abi.EXCHANGE, None)
        return {abi.TABLE_NAME: capsule, abi.OLD_TABLE_NAME: capsule}

    def allocate(self, prototype, out, context, set_error):
        tensor = prototype.contents
        try:
            shape = tuple(tensor.shape[: tensor.ndim]) if 0 <= tensor.ndim <= 64 else None
            if shape is None or any(extent < 0 for extent in shape):
                raise BufferError(f"ndim {tensor.ndim}, shape {shape}")
            self.check_type(tensor.dtype, 0)
            self.check_struct_device((tensor.device.device_type, tensor.device.device_id))
            if elements.count(shape) * tensor.dtype.bits >= 1 << 63:
                raise BufferError(f"shape {shape}")
        except BufferError as error:
            self.tell(set_error, context, error)
            return -1
        out[0] = self.allocated(elements.NAMES[tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes], shape)
        return 0

    def allocated(self, dtype, shape):
        address = memory(elements.count(shape) * elements.nbytes(dtype))
        return self.header(self.Array(self, address, dtype, shape), abi.VERSION, 0)

    def tell(self, set_error, context, error):
        if set_error:
            abi.SET_ERROR(set_error)(context, type(error).__name__.encode(), str(error).encode())

    def from_py(self, array, out):
        out[0] = self.header(array, abi.VERSION, self.flags_for(array, False))
        return 0

    def to_py(self, at, out):
        try:
            array = self.take(at, abi.VERSIONED, lambda: None, None, owned=True)
        except BufferError:
            return -1
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))
        out[0] = id(array)
        return 0

    def view_of(self, array, out):
        tensor = out.contents
        numbers = (c_int64 * (2 * max(len(array.shape), 1)))()
        array.lent = numbers
        at = ctypes.addressof(numbers)
        self.describe(tensor, array, at, at + 8 * len(array.shape))
        return 0

    def work_stream(self, device_type, device_id, out):
        out[0] = None
        return 0


def library():
    """By the book, without a table."""
    return Library()


def library_with_table():
    """By the book, with a table."""
    return TableLibrary()


def one_array():
    """A single array, the least that a factory returns."""
    return Library().make("float32", (2, 3))


def not_an_array():
    return 3


def from_dlpack(x, /, *, device=None, copy=None):
    """The consumer that goes with `one_array`."""
    return Library().from_dlpack(x, device=device, copy=copy)
