"""What save and save_file of every framework come to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._tensor_files import save
from . import SafetensorError


def save_file(tensors: Mapping[str, Any], filename: str | os.PathLike[str], metadata: Mapping[str, str] | None) -> None:
    """Write a file; what dlpark says of it as the error of this package."""
    for name in tensors:
        if not isinstance(name, str):
            raise TypeError(f"argument 'tensor_dict': {type(name).__name__!r} object is not an instance of 'str'")
    for name, tensor in tensors.items():
        if not hasattr(tensor, "dtype"):
            raise AttributeError(f"{type(tensor).__name__!r} object has no attribute 'dtype' (tensor {name!r})")
    for text in [] if metadata is None else [*metadata.keys(), *metadata.values()]:
        if not isinstance(text, str):
            raise TypeError(f"argument 'metadata': {type(text).__name__!r} object is not an instance of 'str'")
    try:
        save(filename, tensors, format="safetensors", metadata=metadata)
    except (ValueError, BufferError, OSError) as error:
        raise SafetensorError(f"Error while serializing: {error}") from error


def to_bytes(tensors: Mapping[str, Any], metadata: Mapping[str, str] | None) -> bytes:
    """The bytes of that file."""
    with tempfile.TemporaryDirectory(prefix="dlpark-") as folder:
        path = Path(folder) / "file"
        save_file(tensors, path, metadata)
        return path.read_bytes()
