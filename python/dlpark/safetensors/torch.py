"""The names of safetensors.torch, by dlpark."""

from __future__ import annotations

import importlib
import os
from typing import Any

from .. import _tensor_files
from . import _call, _models, _write, safe_open
from ._frameworks import as_framework

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model"]

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
    with _call(_tensor_files.open, data, format="safetensors", copy=True, float4="pairs") as file:
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


def save_model(
    model: Any,
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write the tensors of a model. Of those that share memory one is written, and the metadata has the others' names.

    Parameters
    ----------
    model : torch.nn.Module
    filename : str or path
    metadata : dict of str, optional
        What it says of a name is kept. It is not changed.
    force_contiguous : bool
        Write tensors that are not contiguous as if they were, instead of a ValueError.

    Raises
    ------
    RuntimeError
        Of tensors that share memory none is all of it.
    ValueError
        A tensor is not contiguous, or is sparse.
    SafetensorError
        The format has no such dtype or name, or the file cannot be written.
    """
    state = model.state_dict()
    texts = dict(metadata or {})
    for kept, others in _models.dropped_names(state).items():
        for name in others:
            texts.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(dict(state), filename, texts or metadata)


def load_model(
    model: Any, filename: str | os.PathLike[str], strict: bool = True, device: str | int = "cpu", *, backend: str = "mmap"
) -> tuple[set[str], list[str]]:
    """Load a file into a model.

    Parameters
    ----------
    model : torch.nn.Module
    filename : str or path
    strict : bool
        Whether names that the file lacks, or has too many, are a RuntimeError. The model has its tensors by then.
    device, backend
        As for `load_file`.

    Returns
    -------
    missing : set of str
        Names of the model that the file lacks, and for which it has no other.
    unexpected : list of str
        Names of the file that the model has not.

    Raises
    ------
    RuntimeError
        With `strict`, names are missing or unexpected; or a shape is another.
    FileNotFoundError, SafetensorError
        As `load_file`.
    """
    state = load_file(filename, device=device, backend=backend)
    dropped = _models.dropped_names(model.state_dict(), state.keys())
    missing, unexpected = model.load_state_dict(state, strict=False)
    missing = _models.without_dropped(missing, unexpected, dropped)
    if strict and (missing or unexpected):
        raise RuntimeError(_models.explain(model, missing, unexpected))
    return missing, unexpected


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
