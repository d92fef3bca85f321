"""Tensors as arrays of a framework, whatever their dtype."""

from __future__ import annotations

import importlib
from typing import Any

from .._core import Tensor

_NAMES = {
    "np": "numpy",
    "numpy": "numpy",
    "pt": "torch",
    "torch": "torch",
    "pytorch": "torch",
    "jax": "jax",
    "flax": "jax",
    "tf": "tensorflow",
    "tensorflow": "tensorflow",
    "mlx": "mlx",
    "dlpark": "dlpark",
}

# PyTorch's names, where they are not ours.
_TORCH_NAMES = {"float4_e2m1fnx2": "float4_e2m1fn_x2"}


def framework_of(name: object) -> str | None:
    """One word for each framework; None for what is none."""
    return _NAMES.get(name) if isinstance(name, str) else None


def is_mapped(framework: str) -> bool:
    """Whether its arrays are given over the mapping, instead of in memory of their own."""
    return framework in ("torch", "dlpark")


def as_framework(tensor: Tensor, framework: str, device: str | int = "cpu") -> Any:
    """An array of the framework, of the same memory where that can be."""
    if framework == "torch":
        return _as_torch(tensor, device)
    if framework == "numpy":
        return tensor.numpy()
    if framework == "jax":
        return importlib.import_module("jax.numpy").asarray(tensor.numpy())
    if framework == "tensorflow":
        return importlib.import_module("tensorflow").convert_to_tensor(tensor.numpy())
    if framework == "mlx":
        return importlib.import_module("mlx.core").array(tensor.numpy())
    return tensor


def _as_torch(tensor: Tensor, device: str | int) -> Any:
    torch = importlib.import_module("torch")
    if tensor.size == 0:  # which may have no memory
        array = torch.empty(tensor.shape, dtype=_torch_dtype(tensor.dtype))
    elif tensor.dtype.startswith("float4") or tensor.dtype.startswith("float8"):
        # By its bytes: which of these pass through DLPack depends on the version.
        flat = tensor.reshape(-1).view("uint8")
        array = torch.from_dlpack(flat).view(_torch_dtype(tensor.dtype)).reshape(tensor.shape)
    else:
        array = torch.from_dlpack(tensor)
    return array if device == "cpu" else array.to(device)


def _torch_dtype(name: str) -> Any:
    torch = importlib.import_module("torch")
    dtype = getattr(torch, _TORCH_NAMES.get(name, name), None)
    if dtype is None:
        raise ValueError(f"PyTorch {torch.__version__} has no dtype for {name}")
    return dtype
