"""Files made of memory that is told by its address, as the package safetensors has it."""

from __future__ import annotations

import ctypes
import math
import operator
import os
from collections.abc import Sequence
from typing import Any

from .._core import Tensor, from_dlpack
from . import SafetensorError, _write

# The package's words: the format's own, dlpark's, and bits.
_DTYPES = {
    "bool": ("BOOL", "bool", 8),
    "int8": ("I8", "int8", 8),
    "uint8": ("U8", "uint8", 8),
    "int16": ("I16", "int16", 16),
    "uint16": ("U16", "uint16", 16),
    "int32": ("I32", "int32", 32),
    "uint32": ("U32", "uint32", 32),
    "int64": ("I64", "int64", 64),
    "uint64": ("U64", "uint64", 64),
    "float16": ("F16", "float16", 16),
    "float32": ("F32", "float32", 32),
    "float64": ("F64", "float64", 64),
    "bfloat16": ("BF16", "bfloat16", 16),
    "float8_e4m3fn": ("F8_E4M3", "float8_e4m3fn", 8),
    "float8_e4m3fnuz": ("F8_E4M3FNUZ", "float8_e4m3fnuz", 8),
    "float8_e5m2": ("F8_E5M2", "float8_e5m2", 8),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", "float8_e5m2fnuz", 8),
    "float8_e8m0fnu": ("F8_E8M0", "float8_e8m0fnu", 8),
    "float4_e2m1fn_x2": ("F4", "float4_e2m1fn", 4),
    "complex64": ("C64", "complex64", 64),
}


class TensorSpec:
    """A tensor by the address of its memory, compact and row-major, which has to be there until the call is done.

    Parameters
    ----------
    dtype : str
        ``"float32"`` and its like; ``"float4_e2m1fn_x2"`` is two numbers a byte.
    shape : sequence of int
        Of ``"float4_e2m1fn_x2"`` in bytes: the last extent is doubled.
    data_ptr : int
    data_len : int
        In bytes.

    Raises
    ------
    SafetensorError
        There is no such dtype.
    OverflowError
        A number is negative or has more than 64 bits.

    Attributes
    ----------
    dtype : str
        The format's word, such as ``"F32"``.
    shape : list of int
        In elements.
    data_ptr, data_len : int
    """

    __slots__ = ("_data_len", "_data_ptr", "_kind", "_shape")

    def __init__(self, *, dtype: str, shape: Sequence[int], data_ptr: int, data_len: int) -> None:
        if not isinstance(dtype, str):
            raise TypeError(f"argument 'dtype': {type(dtype).__name__!r} object is not an instance of 'str'")
        if isinstance(shape, str) or not isinstance(shape, Sequence):
            raise TypeError(f"argument 'shape': {type(shape).__name__!r} object is not an instance of 'Sequence'")
        self._shape = [_unsigned("shape", extent) for extent in shape]
        self._data_ptr = _unsigned("data_ptr", data_ptr)
        self._data_len = _unsigned("data_len", data_len)
        if dtype not in _DTYPES:
            raise SafetensorError(f'Unknown dtype "{dtype}". Supported dtypes: {", ".join(_DTYPES)}')
        self._kind = _DTYPES[dtype]
        if self._kind[0] == "F4" and self._shape:
            self._shape[-1] *= 2

    @property
    def dtype(self) -> str:
        """The format's word for the dtype."""
        return self._kind[0]

    @property
    def shape(self) -> list[int]:
        """The extents, in elements."""
        return list(self._shape)

    @property
    def data_ptr(self) -> int:
        """The address."""
        return self._data_ptr

    @property
    def data_len(self) -> int:
        """Bytes of the memory."""
        return self._data_len

    def __repr__(self) -> str:
        return f"TensorSpec(dtype={self.dtype!r}, shape={self._shape}, data_ptr={self._data_ptr}, data_len={self._data_len})"

    def _tensor(self, name: str) -> Tensor:
        """The memory as a tensor, after all that can be checked of it."""
        nbits = math.prod(self._shape) * self._kind[2]
        if nbits >= 2**64:
            raise SafetensorError("Error while serializing: overflow computing buffer size from shape and/or element type")
        if nbits != self._data_len * 8:
            told = f"tensor {name!r}: shape {self._shape} of {self.dtype} has {nbits} bits, data_len is {self._data_len} bytes"
            raise SafetensorError(f"Error while serializing: {told}")
        if self._data_len > 0 and self._data_ptr == 0:
            raise SafetensorError(f"Error while serializing: tensor {name!r}: data_ptr is 0")
        memory = (ctypes.c_ubyte * self._data_len).from_address(self._data_ptr) if self._data_len else b""
        return from_dlpack(memoryview(memory).cast("B")).view(self._kind[1]).reshape(tuple(self._shape))


def serialize(tensor_dict: dict[str, TensorSpec], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file with these tensors.

    Parameters
    ----------
    tensor_dict : dict of TensorSpec
    metadata : dict of str, optional

    Returns
    -------
    bytes

    Raises
    ------
    SafetensorError
        A tensor has not as many bytes as its shape asks for, or the format has no such name.
    """
    return _write.to_bytes(_tensors(tensor_dict), metadata)


def serialize_file(
    tensor_dict: dict[str, TensorSpec], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write these tensors into a file.

    Parameters
    ----------
    tensor_dict : dict of TensorSpec
    filename : str or path
    metadata : dict of str, optional

    Raises
    ------
    SafetensorError
        As `serialize`, or the file cannot be written.
    """
    if not isinstance(filename, str | os.PathLike):
        raise TypeError(f"argument 'filename': {type(filename).__name__!r} object is not an instance of 'str'")
    _write.save_file(_tensors(tensor_dict), filename, metadata)


def _unsigned(what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f"argument {what!r}: {error}") from None
    if number < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if number >= 2**64:
        raise OverflowError("int too big to convert")
    return number


def _tensors(specs: dict[str, TensorSpec]) -> dict[str, Tensor]:
    if not isinstance(specs, dict):
        raise TypeError(f"argument 'tensor_dict': {type(specs).__name__!r} object is not an instance of 'dict'")
    for name, spec in specs.items():
        for value, kind in ((name, str), (spec, TensorSpec)):
            if not isinstance(value, kind):
                raise TypeError(
                    f"argument 'tensor_dict': {type(value).__name__!r} object is not an instance of {kind.__name__!r}"
                )
    return {name: spec._tensor(name) for name, spec in specs.items()}
