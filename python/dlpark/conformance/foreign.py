"""Tensors of a made-up producer, by the book or against it, and a count of the calls of their deleters.

A deleter must be countable without Python: it may be called without the GIL or with an exception pending, where a
ctypes callback would change what is being looked at. So it is a function of libc that turns a number at its argument
into the next one of a fixed series, `rand_r`: how far the series went is how often it was called. The struct stays
mapped for as long as the process lives, so that a second call is counted and not a crash.
"""

import ctypes
import threading
from collections.abc import Callable, Sequence
from ctypes import c_int64, c_uint32, c_void_p
from typing import Any

from . import abi, elements

_alive: list[Any] = []  # what foreign code may touch at any time

_rand_r = abi.libc.rand_r
_rand_r.argtypes, _rand_r.restype = [c_void_p], ctypes.c_int
_harmless = abi.address_of(abi.libc.abs)  # a destructor that does nothing with its argument

COUNTING = abi.address_of(_rand_r)
"""The address of the counting deleter, for structs that others made too."""

MANY = 16


def calls_since(seed: int, address: int) -> int:
    """How often the counting deleter was called for the struct at an address that began with this number."""
    now = c_uint32.from_address(address).value
    state = c_uint32(seed)
    for calls in range(MANY):
        if state.value == now:
            return calls
        _rand_r(ctypes.byref(state))
    return MANY


class Watch:
    """A deleter in Python, for what only Python can see: the thread, and whether an exception was pending."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.pending: list[str | None] = []
        self.callback = abi.DELETER(self._called)
        _alive.append(self)

    def _called(self, _: int) -> None:
        pending = abi.pending_exception()  # first: the next call into C would trip over it
        self.pending.append(pending)
        self.threads.append(threading.get_ident())


class Foreign:
    """One tensor over memory of the kit.

    Element 0 lies at ``data + byte_offset``, and all memory around it holds `elements.ramp` by its distance from
    there, so that a reader at a wrong place reads a wrong value. After the shape and after the strides nothing is
    mapped, so that a reader of more numbers than there are dies.
    """

    def __init__(
        self,
        dtype: str = "float32",
        shape: Sequence[int] | None = (2, 3),
        *,
        legacy: bool = False,
        strides: Any = ...,
        data: Any = ...,
        byte_offset: int = 0,
        ndim: int | None = None,
        triple: tuple[int, int, int] | None = None,
        device: tuple[int, int] = (abi.CPU, 0),
        flags: int = 0,
        version: tuple[int, int] = abi.VERSION,
        deleter: Any = COUNTING,
        shift: int = 0,
        room: int = 0,
    ) -> None:
        self.dtype, self.shape, self.legacy = dtype, None if shape is None else tuple(shape), legacy
        self.capsule: Any = None
        raw = abi.lasting(ctypes.c_char * (12288 + room))
        start = (ctypes.addressof(raw) + 4096 + 255) // 256 * 256 + shift
        self.memory, self.element = raw, start
        self._fill(start)
        self.managed = abi.lasting(abi.Legacy if legacy else abi.Versioned)
        self.managed.deleter = abi.address_of(deleter.callback) if isinstance(deleter, Watch) else deleter
        if not legacy:
            self.managed.version = abi.Version(*version)
            self.managed.flags = flags
        tensor = self.managed.dl_tensor
        tensor.data = start - byte_offset if data is ... else data
        tensor.device = abi.Device(*device)
        tensor.ndim = ndim if ndim is not None else len(shape or ())
        tensor.dtype = abi.DataType(*(triple or elements.TRIPLES[dtype]))
        tensor.byte_offset = byte_offset
        if strides is ...:
            strides = None if shape is None else elements.compact(shape)
        self.strides = None if strides is None else tuple(strides)
        tensor.shape = self._numbers(self.shape)
        tensor.strides = self._numbers(self.strides)
        self.address = ctypes.addressof(self.managed)
        self.seed = c_uint32.from_address(self.address).value
        self.before = self.contents()
        _alive.append(self)

    def _fill(self, start: int) -> None:
        size = elements.nbytes(self.dtype)
        if self.dtype in elements.SUB_BYTE:
            around = [elements.ramp(self.dtype, index) for index in range(64)]
            raw = elements.pack(self.dtype, around)
            ctypes.memmove(start, raw, len(raw))
            return
        first, last = -(4096 // size), 4096 // size
        values = {index: elements.encode(self.dtype, elements.ramp(self.dtype, index)) for index in range(100)}
        raw = b"".join(values[index % 100] for index in range(first, last))
        ctypes.memmove(start + first * size, raw, len(raw))

    @staticmethod
    def _numbers(numbers: tuple[int, ...] | None) -> Any:
        if numbers is None:
            return None
        kept = abi.guarded(c_int64 * max(len(numbers), 1))
        kept[: len(numbers)] = numbers
        return kept

    def values(self) -> list[Any]:
        """What a reader who honours every field reads, in row-major order."""
        shape = self.shape or ()
        strides = self.strides if self.strides is not None else elements.compact(shape)
        return [elements.ramp(self.dtype, at) for at in elements.offsets(shape, strides)]

    def contents(self) -> tuple[Any, ...]:
        """The struct with its shape and strides, as a consumer could have changed them."""
        tensor = self.managed.dl_tensor
        many = max(len(self.shape or ()), 0)
        return (
            bytes(tensor),
            tuple(tensor.shape[:many]) if tensor.shape else None,
            tuple(tensor.strides[:many]) if tensor.strides else None,
            None if self.legacy else self.managed.flags,
        )

    def calls(self) -> int:
        """How often the counting deleter was called."""
        return calls_since(self.seed, self.address)

    def make_capsule(self, name: bytes | None = None) -> Any:
        """A capsule. The kit keeps it, so that its name tells afterwards who owns the tensor."""
        name = name if name is not None else abi.LEGACY if self.legacy else abi.VERSIONED
        _alive.append(name)
        self.capsule = abi.capsule_new(self.address, name, _harmless)
        return self.capsule

    @property
    def taken(self) -> bool:
        """Whether a consumer took the tensor out of its capsule, by the name or by taking the destructor away."""
        if self.capsule is None:
            return False
        fresh = abi.LEGACY if self.legacy else abi.VERSIONED
        return not (abi.capsule_is_valid(self.capsule, fresh) and abi.capsule_destructor(self.capsule))


Maker = Callable[[bool], Foreign]


class NoFlags(BufferError):
    """What a producer of the kit answers to a consumer that asks for a legacy capsule where it has to say more."""

    def __init__(self) -> None:
        super().__init__("a legacy capsule cannot say what there is to say: ask with max_version=(1, 0)")


class Offer:
    """A producer with the two methods, which gives the ABI that it is asked for.

    Parameters
    ----------
    make : callable
        ``make(legacy)`` returns the `Foreign` to hand out.
    device : tuple
        What ``__dlpack_device__`` says.
    abi_forced : bool, optional
        True for a legacy capsule, False for a versioned one, whatever is asked for: the standard allows both.
    """

    def __init__(
        self, make: Maker, *, device: Any = (abi.CPU, 0), legacy: bool | None = None, name: bytes | None = None
    ) -> None:
        self.make, self.device, self.legacy, self.name = make, device, legacy, name
        self.asked: list[dict[str, Any]] = []
        self.device_asked = 0
        self.given: list[Foreign] = []

    def __dlpack_device__(self) -> Any:
        self.device_asked += 1
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        return self.hand_out(keywords)

    def hand_out(self, keywords: dict[str, Any]) -> Any:
        legacy = self.legacy
        if legacy is None:
            wanted = keywords.get("max_version")
            legacy = wanted is None or wanted[0] < 1
        foreign = self.make(legacy)
        self.given.append(foreign)
        return foreign.make_capsule(self.name)

    @property
    def foreign(self) -> Foreign | None:
        """The tensor that was handed out last."""
        return self.given[-1] if self.given else None


class Old(Offer):
    """A producer from before the newer keywords: it takes the stream, and a legacy capsule is all that it has."""

    def __dlpack__(self, *, stream: Any = None) -> Any:  # type: ignore[override]
        self.asked.append({"stream": stream})
        return self.hand_out({})


class Oldest(Offer):
    """A producer that takes no keyword."""

    def __dlpack__(self) -> Any:  # type: ignore[override]
        self.asked.append({})
        return self.hand_out({})


class Raising(Offer):
    """A producer that refuses, with an exception of its own."""

    def __init__(self, error: BaseException, **options: Any) -> None:
        super().__init__(lambda legacy: Foreign(legacy=legacy), **options)
        self.error = error

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        raise self.error


# The destructor by the book, for the rules about what runs when an unconsumed capsule dies. It sees a capsule whose
# reference count is 0, and may run with an exception pending: looking at that takes it away, as ctypes has no way back.
def _destroy(address: int) -> None:
    pending = abi.pending_exception()
    name = abi.dying_name(address)
    if name in (abi.LEGACY, abi.VERSIONED):
        managed = abi.struct_at(abi.Legacy if name == abi.LEGACY else abi.Versioned, abi.dying_pointer(address, name))
        DROPPED_PENDING.append(pending)
        if managed.deleter:
            abi.DELETER(managed.deleter)(ctypes.addressof(managed))


DROPPED_PENDING: list[str | None] = []
"""For each unconsumed capsule that died, the exception that was pending then."""

destroy = abi.DESTRUCTOR(_destroy)


def droppable(foreign: Foreign) -> Any:
    """A capsule with the destructor by the book, which nobody but the consumer keeps."""
    name = abi.LEGACY if foreign.legacy else abi.VERSIONED
    return abi.capsule_new(foreign.address, name, abi.address_of(destroy))
