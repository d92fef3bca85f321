"""The names of safetensors.torch, by dlpark."""

from __future__ import annotations

import importlib
import os
from typing import Any

from .. import _tensor_files
from . import _call, _write, safe_open
from ._frameworks import as_framework

__all__ = ["load", "load_file", "save", "save_file"]

_torch: Any = importlib.import_module("torch")  # of which a type checker need not know


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file with these tensors.

    Parameters
    ----------
    tensors : dict of torch.Tensor
        Contiguous, and none sharing memory with another.
    metadata : dict of str, optional

    Returns
    -------
    bytes

    Raises
    ------
    ValueError, RuntimeError
        As `save_file`.
    SafetensorError
        The format has no such dtype or name.
    """
    return _write.to_bytes(_prepare(tensors), metadata)


def save_file(
    tensors: dict[str, Any], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write tensors into a file.

    Parameters
    ----------
    tensors : dict of torch.Tensor
        Contiguous, and none sharing memory with another.
    filename : str or path
    metadata : dict of str, optional

    Raises
    ------
    ValueError
        Something is no torch.Tensor, is sparse, or is not contiguous.
    RuntimeError
        Tensors share memory.
    SafetensorError
        The format has no such dtype or name, or the file cannot be written.
    """
    _write.save_file(_prepare(tensors), filename, metadata)


def load(data: bytes) -> dict[str, Any]:
    """The tensors of a file in memory.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    dict of torch.Tensor

    Raises
    ------
    SafetensorError
        The file is broken.
    """
    with _call(_tensor_files.open, data, copy=True, float4="pairs") as file:
        return {name: _call(as_framework, tensor, "torch") for name, tensor in file.items()}


def load_file(
    filename: str | os.PathLike[str], device: str | int = "cpu", *, backend: str = "mmap"
) -> dict[str, Any]:
    """The tensors of a file.

    Parameters
    ----------
    filename : str or path
    device : str or int
        Where the tensors shall be.
    backend : str
        ``"mmap"``: the tensors are the file's own pages, and what is written to them stays here. ``"pread"``: memory of
        their own.

    Returns
    -------
    dict of torch.Tensor

    Raises
    ------
    FileNotFoundError
        There is no such file.
    SafetensorError
        The file is broken.
    """
    with safe_open(filename, "pt", device=device, backend=backend) as file:
        return file.get_tensors()


def _prepare(tensors: dict[str, Any]) -> dict[str, Any]:
    """As dlpark takes them, after what the reference refuses was refused."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, _torch.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        if tensor.layout != _torch.strided:
            raise ValueError(f"You are trying to save a sparse tensor: `{name}`: make it dense before")
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you are "
                "trying to save tensors which are reference of each other, or it is recommended to call `.contiguous()`"
            )
    _refuse_sharing(tensors)
    return {name: _exportable(tensor) for name, tensor in tensors.items()}


def _refuse_sharing(tensors: dict[str, Any]) -> None:
    """Bytes that two tensors have in common would be two tensors when they are loaded."""
    spans = []
    for name, tensor in tensors.items():
        if tensor.device.type != "meta" and tensor.nbytes > 0:
            spans.append((str(tensor.device), tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes, name))
    spans.sort()
    shared = {
        name
        for (device, _, end, first), (other, begin, _, second) in zip(spans, spans[1:])
        if device == other and begin < end
        for name in (first, second)
    }
    if shared:
        raise RuntimeError(
            f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: [{sorted(shared)}]"
        )


def _exportable(tensor: Any) -> Any:
    """A tensor of the host without gradient; narrow floats by their bytes, as not every version gives them out."""
    from .._core import from_dlpack

    host = tensor.detach().cpu()
    name = str(host.dtype).removeprefix("torch.")
    if name.startswith(("float8", "float4")):
        flat = from_dlpack(host.reshape(-1).view(_torch.uint8))
        if name == "float4_e2m1fn_x2":
            return flat.view("float4_e2m1fnx2").reshape(*host.shape)
        return flat.view(name).reshape(*host.shape)
    return host
