"""What a producer exported, read as a consumer that honours every field reads it."""

import ctypes
from collections.abc import Sequence
from ctypes import c_int, c_uint32, c_uint64, c_void_p
from typing import Any

from . import abi, elements
from .foreign import COUNTING, calls_since
from .rules import NotApplicable


class Export:
    """One capsule, or one managed tensor of an exchange table, of somebody else's.

    The struct is only looked at until `take` is called; then the kit owns it, and `end` calls the deleter.
    """

    def __init__(self, capsule: Any = None, *, address: int | None = None) -> None:
        self.capsule = capsule
        if address is None:
            if not abi.is_capsule(capsule):
                raise TypeError(f"a capsule is expected, not {type(capsule).__name__}")
            self.name = abi.capsule_name(capsule)
            if self.name not in (abi.LEGACY, abi.VERSIONED):
                raise ValueError(f"a capsule named {self.name!r} holds no tensor")
            address = abi.capsule_pointer(capsule, self.name)
        else:
            self.name = abi.VERSIONED
        self.at = address or 0
        self.legacy = self.name == abi.LEGACY
        self.managed = abi.struct_at(abi.Legacy if self.legacy else abi.Versioned, self.at)

    # ---- Fields ----

    @property
    def tensor(self) -> Any:
        return self.managed.dl_tensor

    @property
    def version(self) -> tuple[int, int] | None:
        return None if self.legacy else (self.managed.version.major, self.managed.version.minor)

    @property
    def flags(self) -> int:
        return 0 if self.legacy else self.managed.flags

    @property
    def abi_text(self) -> str:
        return "legacy" if self.legacy else "versioned"

    @property
    def device(self) -> tuple[int, int]:
        return (self.tensor.device.device_type, self.tensor.device.device_id)

    @property
    def triple(self) -> tuple[int, int, int]:
        return triple_of(self.tensor)

    @property
    def address(self) -> int:
        """Where element 0 lies."""
        return int(self.tensor.data or 0) + int(self.tensor.byte_offset)

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.tensor)

    @property
    def strides(self) -> tuple[int, ...] | None:
        return strides_of(self.tensor)

    def values(self, dtype: str) -> list[Any]:
        """The elements in row-major order, whatever the triple says, as elements of the type that they should be."""
        return read(self.tensor, dtype, padded=bool(self.flags & abi.PADDED))

    # ---- Ownership ----

    def hook(self) -> None:
        """Puts the counting deleter in place of the producer's, which will not be called any more."""
        self.managed.deleter = COUNTING
        self.seed = c_uint32.from_address(self.at).value

    def calls(self) -> int:
        """How often the counting deleter was called."""
        return calls_since(self.seed, self.at)

    def take(self) -> None:
        """Takes the struct out of its capsule as a consumer does."""
        if self.capsule is not None:
            used = abi.USED[self.name]
            if abi.capsule_rename(self.capsule, used) != 0:
                raise RuntimeError("the capsule could not be renamed")
            self.capsule = None

    @property
    def deleter(self) -> int:
        return self.managed.deleter or 0

    def end(self) -> None:
        """Calls the deleter on this thread, with the GIL released."""
        if self.deleter:
            abi.DELETER(self.deleter)(self.at)

    def end_on_a_foreign_thread(self) -> None:
        """Calls the deleter as the whole of a thread that Python has never seen."""
        thread = c_uint64()
        create = abi.libc.pthread_create
        create.argtypes = [c_void_p, c_void_p, c_void_p, c_void_p]
        join = abi.libc.pthread_join
        join.argtypes = [c_uint64, c_void_p]
        if create(ctypes.byref(thread), None, self.deleter, self.at) != 0 or join(thread, None) != 0:
            raise RuntimeError("no thread could be started")

    def end_after_the_interpreter(self, status: int, marker: bytes) -> None:
        """Has the deleter called by exit(), when Python is gone; then the process ends with the status.

        Handlers run last registered first: the marker is written to stderr, the deleter is called, `_exit` is called.
        """
        register = getattr(abi.libc, "__cxa_atexit")  # the plain name would be mangled in a class
        register.argtypes, register.restype = [c_void_p, c_void_p, c_void_p], c_int
        _markers.append(marker)
        libc = abi.libc
        for function, argument in (
            (abi.address_of(libc._exit), status),
            (self.deleter, self.at),
            (abi.address_of(libc.perror), ctypes.cast(ctypes.c_char_p(marker), c_void_p).value),
        ):
            if register(function, argument, None) != 0:
                raise RuntimeError("exit() takes no more handlers")


_markers: list[bytes] = []


def triple_of(tensor: Any) -> tuple[int, int, int]:
    return (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)


def shape_of(tensor: Any) -> tuple[int, ...]:
    return tuple(tensor.shape[: tensor.ndim]) if tensor.ndim > 0 else ()


def strides_of(tensor: Any) -> tuple[int, ...] | None:
    """None where the pointer is NULL."""
    return tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None


def read(tensor: Any, dtype: str, *, padded: bool = False) -> list[Any]:
    """The elements of a DLTensor on the host in row-major order."""
    if tensor.device.device_type not in abi.HOST_DEVICES:
        device = abi.device_text(tensor.device.device_type, tensor.device.device_id)
        raise NotApplicable(f"its memory is on device {device}, which the kit cannot read")
    shape = shape_of(tensor)
    strides = strides_of(tensor) or elements.compact(shape)
    where = elements.offsets(shape, strides)
    if not where:
        return []
    start = (tensor.data or 0) + tensor.byte_offset
    return read_at(start, dtype, where, padded=padded)


def read_at(start: int, dtype: str, where: Sequence[int], *, padded: bool = False) -> list[Any]:
    """Elements by their distance, in elements, from an address."""
    size = elements.nbytes(dtype)
    if dtype not in elements.SUB_BYTE:
        return [elements.decode(dtype, ctypes.string_at(start + at * size, size)) for at in where]
    if padded:
        return [elements.unpack(dtype, ctypes.string_at(start + at, 1), 0) for at in where]
    bits = elements.code_bits(dtype)[1]
    raw = ctypes.string_at(start, (bits * (max(where) + 1) + 7) // 8)
    return [elements.unpack(dtype, raw, at) for at in where]
