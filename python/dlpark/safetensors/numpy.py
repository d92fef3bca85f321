"""The names of safetensors.numpy, by dlpark."""

from __future__ import annotations

import os
from typing import Any

from .. import _tensor_files
from . import _call, _write, safe_open

__all__ = ["load", "load_file", "save", "save_file"]


def save(tensor_dict: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file with these arrays.

    Parameters
    ----------
    tensor_dict : dict of arrays
        Of any strides and either byte order.
    metadata : dict of str, optional

    Returns
    -------
    bytes

    Raises
    ------
    SafetensorError
        The format has no such dtype or name.
    """
    return _write.to_bytes(_native(tensor_dict), metadata)


def save_file(
    tensor_dict: dict[str, Any], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write arrays into a file.

    Parameters
    ----------
    tensor_dict : dict of arrays
        Of any strides and either byte order.
    filename : str or path
    metadata : dict of str, optional

    Raises
    ------
    SafetensorError
        The format has no such dtype or name, or the file cannot be written.
    """
    _write.save_file(_native(tensor_dict), filename, metadata)


def load(data: bytes) -> dict[str, Any]:
    """The arrays of a file in memory.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    dict of arrays

    Raises
    ------
    SafetensorError
        The file is broken.
    """
    with _call(_tensor_files.open, data, format="safetensors", copy=True) as file:
        return {name: _call(tensor.numpy) for name, tensor in file.items()}


def load_file(filename: str | os.PathLike[str], *, backend: str = "mmap") -> dict[str, Any]:
    """The arrays of a file.

    Parameters
    ----------
    filename : str or path
    backend : str
        ``"mmap"`` or ``"pread"``: arrays have memory of their own with either.

    Returns
    -------
    dict of arrays

    Raises
    ------
    FileNotFoundError
        There is no such file.
    SafetensorError
        The file is broken.
    """
    with safe_open(filename, "np", backend=backend) as file:
        return file.get_tensors()


def _native(tensors: dict[str, Any]) -> dict[str, Any]:
    """Arrays of the other byte order turned around."""
    import numpy as np

    return {
        name: array.astype(array.dtype.newbyteorder("="))
        if isinstance(array, np.ndarray) and not array.dtype.isnative
        else array
        for name, array in tensors.items()
    }
