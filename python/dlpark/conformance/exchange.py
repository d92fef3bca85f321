"""Calling the functions of somebody's exchange table."""

import ctypes
from ctypes import POINTER, c_int32, c_int64, c_void_p
from dataclasses import dataclass, field
from typing import Any

from . import abi, capture, elements
from .rules import Broken, NotApplicable, Wrong, say
from .targets import Target

NAMES = {
    "managed_tensor_allocator": abi.ALLOCATOR,
    "managed_tensor_from_py_object_no_sync": abi.FROM_PY,
    "managed_tensor_to_py_object_no_sync": abi.TO_PY,
    "dltensor_from_py_object_no_sync": abi.VIEW_FROM_PY,
    "current_work_stream": abi.WORK_STREAM,
}


def attribute(target: Target) -> Any:
    """The value that the target's array type publishes as its table."""
    found = getattr(type(target.any()), abi.TABLE_NAME, None)
    if found is None:
        raise NotApplicable(f"its type has no {abi.TABLE_NAME}")
    return found


def table_of(target: Target) -> Any:
    value = attribute(target)
    if not abi.is_capsule(value) or not abi.capsule_is_valid(value, abi.EXCHANGE):
        raise NotApplicable("what it publishes is no capsule named dlpack_exchange_api")
    return abi.struct_at(abi.Table, abi.capsule_pointer(value, abi.EXCHANGE))


def function(target: Target, name: str) -> Any:
    address = getattr(table_of(target), name)
    if not address:
        raise NotApplicable(f"its {name} is NULL")
    return NAMES[name](address)


def from_py(target: Target, array: Any) -> capture.Export:
    """The owning export of an array; what the function raises is raised."""
    out = c_void_p()
    status = function(target, "managed_tensor_from_py_object_no_sync")(array, ctypes.byref(out))
    if status != 0:
        raise Broken("an exception with -1", f"{status} without one")
    if not out.value:
        raise Broken("a tensor with 0", "NULL")
    return capture.Export(address=out.value)


def view_of(target: Target, array: Any) -> Any:
    tensor = abi.Tensor()
    status = function(target, "dltensor_from_py_object_no_sync")(array, ctypes.byref(tensor))
    if status != 0:
        raise Broken("an exception with -1", f"{status} without one")
    return tensor


def to_py(target: Target, address: int) -> Any:
    """The object that is made of a managed tensor, which is the target's from the call on."""
    out = c_void_p()
    call = function(target, "managed_tensor_to_py_object_no_sync")
    status = call(address, ctypes.byref(out))
    if status != 0:
        raise Broken("an exception with -1", f"{status} without one")
    if not out.value:
        raise Broken("an object with 0", "NULL")
    made = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))  # `out` is a reference of its own, and so is `made`
    return made


@dataclass
class Allocated:
    """What an allocator answered."""

    status: int
    tensor: capture.Export | None
    errors: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        said = "; ".join(f"{kind}: {message}" for kind, message in self.errors)
        return f"{self.status}" + (f", SetError({said})" if said else ", SetError not called")


UNTOUCHED = 0x5A5A5A50
ERROR_CONTEXT = 0x1234


def prototype(dtype: str, shape: tuple[int, ...], **fields: Any) -> Any:
    """A tensor that says what to allocate. Only dtype, ndim, shape and device mean anything; the rest leads nowhere."""
    tensor = abi.Tensor()
    tensor.dtype = abi.DataType(*fields.pop("triple", elements.TRIPLES[dtype]))
    tensor.device = abi.Device(*fields.pop("device", (abi.CPU, 0)))
    tensor.ndim = fields.pop("ndim", len(shape))
    tensor.shape = (c_int64 * max(len(shape), 1))(*shape)
    tensor.strides = ctypes.cast(24, POINTER(c_int64))
    tensor.data, tensor.byte_offset = 8, 2**60
    return tensor


def allocate(target: Target, proto: Any, *, set_error: bool = True) -> Allocated:
    """Calls the allocator, with the GIL released as its contract allows."""
    errors: list[tuple[str, str]] = []

    def said(context: int, kind: bytes, message: bytes) -> None:
        if context != ERROR_CONTEXT:
            errors.append(("another context", hex(context or 0)))
        errors.append(((kind or b"NULL").decode(errors="replace"), (message or b"NULL").decode(errors="replace")[:80]))

    callback = abi.SET_ERROR(said)
    _alive.append(callback)
    out = c_void_p(UNTOUCHED)
    call = function(target, "managed_tensor_allocator")
    try:
        status = call(
            ctypes.byref(proto), ctypes.byref(out), ERROR_CONTEXT, abi.address_of(callback) if set_error else None
        )
    except SystemError as left:  # ctypes found an exception that the function left behind
        observed = f"{say(left.__cause__ or left)} as a Python exception, and {len(errors)} calls of SetError"
        raise Broken("an answer without Python, by the status and SetError", observed) from None
    made = capture.Export(address=out.value) if status == 0 and out.value not in (None, UNTOUCHED) else None
    return Allocated(status, made, errors)


_alive: list[Any] = []


def work_stream(target: Target, device_type: int, device_id: int) -> int | None:
    """The current stream of a device; what the function raises is raised."""
    out = c_void_p()
    status = function(target, "current_work_stream")(c_int32(device_type), c_int32(device_id), ctypes.byref(out))
    if status != 0:
        raise Broken("an exception with -1", f"{status} without one")
    return out.value


def refusal(call: Any, *arguments: Any) -> str | None:
    """What a function of the table raised, or None. -1 without an exception is against the header."""
    try:
        call(*arguments)
    except Broken as silent:
        raise Wrong(silent.expected, silent.observed) from None
    except NotApplicable:
        raise
    except Exception as error:
        return say(error)
    return None
