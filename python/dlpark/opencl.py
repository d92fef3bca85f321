"""Buffers of OpenCL as tensors, and tensors as buffers of PyOpenCL, without a copy.

What the data of such a tensor is, is a handle, a ``cl_mem``; its elements begin a number of bytes behind. A kernel
takes both. The loader of OpenCL is found when a function is first called; PyOpenCL is imported by `to_buffer` alone.

>>> import dlpark.opencl
>>> import numpy as np
>>> import pyopencl as cl  # doctest: +SKIP
>>> context = cl.create_some_context(interactive=False)  # doctest: +SKIP
>>> queue = cl.CommandQueue(context)  # doctest: +SKIP
>>> buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 24)  # doctest: +SKIP
>>> t = dlpark.opencl.from_buffer(buffer, "float32", (2, 3))  # doctest: +SKIP
>>> t[1].device  # doctest: +SKIP
'opencl:0'
>>> dlpark.opencl.map(t, queue)  # doctest: +SKIP
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, SupportsIndex

from ._core import Tensor, _dtype_parts, from_dlpack

__all__ = ["from_buffer", "map", "to_buffer", "to_host"]

_ABI_VERSION = (1, 3)
_READ, _WRITE = 1, 2


def _handle(object_: Any, what: str) -> int:
    """The number that PyOpenCL knows an object by, or that number itself."""
    number = getattr(object_, "int_ptr", object_)
    try:
        if isinstance(number, bool):
            raise TypeError
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{what} is a {type(object_).__name__}, expected an object of PyOpenCL or a handle") from None


def _integers(values: Any) -> tuple[int, ...]:
    try:
        return (operator.index(values),)
    except TypeError:  # an array has __index__ too
        return tuple(operator.index(value) for value in values)


def _capsule(tensor: Any) -> Any:
    """What is ready is ready: queues are ordered by who has them."""
    return tensor.__dlpack__(stream=-1, max_version=_ABI_VERSION)


def from_buffer(
    buffer: Any,
    /,
    dtype: Any,
    shape: SupportsIndex | Iterable[SupportsIndex],
    *,
    strides: Iterable[SupportsIndex] | None = None,
    offset: SupportsIndex = 0,
    readonly: bool = False,
) -> Tensor:
    """A tensor of a buffer of OpenCL, without a copy.

    Parameters
    ----------
    buffer : pyopencl.Buffer or int
        Or anything else with ``int_ptr``; a number is the ``cl_mem`` itself, which OpenCL believes: one that is no buffer
        ends the process.
    dtype : dtype
        Of any library, or a name.
    shape : int or iterable of int
        The extents.
    strides : iterable of int, optional
        In elements, of any sign. Compact row-major where they are not given.
    offset : int, optional
        From the beginning of the buffer to the first element, in bytes.
    readonly : bool, optional
        Whether the tensor says that it must not be written. One of a buffer that kernels may only read always does.

    Returns
    -------
    Tensor
        On ``opencl:N``. It adds a reference to the buffer, which is dropped when the last tensor of it ends.

    Raises
    ------
    TypeError
        `buffer` is no buffer, or one of a memory pool, or `dtype` none that DLPack has.
    BufferError
        Elements outside of the buffer, no such buffer, or one that kernels may only write.
    RuntimeError
        There is no OpenCL.

    See Also
    --------
    to_buffer : the other way.
    """
    pooled = getattr(sys.modules.get("pyopencl._cl"), "PooledBuffer", None)
    if pooled is not None and isinstance(buffer, pooled):
        raise TypeError("buffer is of a memory pool, which gives it to others while the tensor uses it: allocate a pyopencl.Buffer")
    number, name = _handle(buffer, "buffer"), _dtype_parts(dtype)[0]
    begin = operator.index(offset)
    if not 0 <= begin < 1 << 64:
        raise ValueError(f"offset is {begin}, expected 0 to 2**64 - 1 bytes")
    distances = None if strides is None else _integers(strides)
    from . import _opencl

    return from_dlpack(_opencl.share(number, name, _integers(shape), distances, begin, bool(readonly)))


def to_buffer(tensor: Any, /) -> tuple[Any, int]:
    """The buffer of a tensor for PyOpenCL, without a copy, and the byte at which its elements begin.

    Parameters
    ----------
    tensor : Tensor
        Or anything else with ``__dlpack__``, on OpenCL's device and with elements.

    Returns
    -------
    buffer : pyopencl.Buffer
        With a reference of its own: it may outlive the tensor.
    byte_offset : int
        From the beginning of the buffer to element 0: an argument for a kernel, as few devices let a sub-buffer begin
        there.

    Raises
    ------
    BufferError
        The tensor is on another device, or has no elements.
    ModuleNotFoundError
        PyOpenCL is not installed.
    RuntimeError
        There is no OpenCL.

    Notes
    -----
    The order is the caller's: who reads what another queue writes makes his queue wait for it.
    """
    from . import _opencl

    pyopencl = import_module("pyopencl")  # its types, which not everybody has, do not matter
    kept = tensor if isinstance(tensor, Tensor) else from_dlpack(tensor, stream=-1)
    number, byte_offset = _opencl.borrow(_capsule(kept))
    return pyopencl.Buffer.from_int_ptr(number, retain=True), byte_offset


def map(tensor: Any, queue: Any, /, *, writable: bool = False) -> Tensor:
    """The same elements in memory of the host, once the queue has done what it was given so far.

    Parameters
    ----------
    tensor : Tensor
        Or anything else with ``__dlpack__``, on OpenCL's device.
    queue : pyopencl.CommandQueue or int
        Of the buffer's context. The elements are unmapped in it.
    writable : bool, optional
        Whether they will be written. Kernels see that once the mapping has ended.

    Returns
    -------
    Tensor
        On the CPU, with the strides of `tensor`. It keeps the buffer; when it and all that shares its memory have
        ended, the elements are unmapped. Until then no kernel may write them, nor read them where the mapping is
        writable.

    Raises
    ------
    BufferError
        The tensor is on another device, or is read-only and `writable` is asked for.
    RuntimeError
        There is no OpenCL.
    """
    from . import _opencl

    kept = tensor if isinstance(tensor, Tensor) else from_dlpack(tensor, stream=-1)
    access = _READ | _WRITE if writable else _READ
    return from_dlpack(_opencl.map(_capsule(kept), _handle(queue, "queue"), access))


def to_host(tensor: Any, queue: Any, /) -> Tensor:
    """A compact copy on the host, once the queue has done what it was given so far. It does not keep the buffer.

    Parameters
    ----------
    tensor : Tensor
        Or anything else with ``__dlpack__``, on OpenCL's device.
    queue : pyopencl.CommandQueue or int
        Of the buffer's context.

    Returns
    -------
    Tensor
        On the CPU, writable.

    Raises
    ------
    BufferError
        The tensor is on another device.
    RuntimeError
        There is no OpenCL.
    """
    return map(tensor, queue).copy()
