"""The names of the package safetensors, by dlpark: change one import.

>>> from dlpark.safetensors import safe_open
>>> from dlpark.safetensors.numpy import load_file, save_file

Where dlpark is stricter, and where it can more, is said in docs/tensor-files.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .._tensor_files import TensorFile, open
from ._frameworks import as_framework, framework_of, is_mapped

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["SafetensorError", "TensorSpec", "deserialize", "safe_open", "serialize", "serialize_file"]

_BACKENDS = ("mmap", "pread")


class SafetensorError(Exception):
    """A file is broken or cannot be written, or an argument is out of range."""


class safe_open:
    """Open a file whose tensors are made when they are asked for.

    Parameters
    ----------
    filename : str or path
    framework : str
        ``"np"``, ``"numpy"``, ``"pt"``, ``"torch"``, ``"pytorch"``, ``"jax"``, ``"flax"``, ``"tf"``, ``"tensorflow"``,
        ``"mlx"``; or ``"dlpark"``, for Tensors.
    device : str or int
        For PyTorch and JAX: where the tensors shall be.
    backend : str
        ``"mmap"``, or ``"pread"`` to read tensors into memory of their own.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    SafetensorError
        The file is broken, or an argument is out of range.

    Examples
    --------
    >>> from dlpark.safetensors.numpy import save_file
    >>> save_file({"w": np.ones((2, 3))}, "w.safetensors")
    >>> with dlpark.safetensors.safe_open("w.safetensors", "np") as f:
    ...     f.keys(), f.get_slice("w")[:, 1:].shape
    (['w'], (2, 2))
    """

    def __init__(
        self, filename: str | os.PathLike[str], framework: str, device: str | int = "cpu", *, backend: str = "mmap"
    ) -> None:
        if not isinstance(filename, (str, os.PathLike)):
            raise TypeError(f"argument 'filename': {type(filename).__name__!r} object is not an instance of 'str'")
        if backend not in _BACKENDS:
            raise SafetensorError(f'backend "{backend}" is invalid (expected one of: "mmap", "pread")')
        name = framework_of(framework)
        if name is None:
            raise SafetensorError(f"framework {framework} is invalid")
        self._framework = name
        self._device = device
        # NumPy's arrays are to be written, and so are the user's own; PyTorch's are mapped, and written in private.
        copy = backend == "pread" or not is_mapped(name)
        self._file: TensorFile | None = _call(
            open,
            os.fspath(filename),
            format="safetensors",
            copy=copy,
            private=not copy,
            float4="pairs" if name == "torch" else "logical",
        )

    def __enter__(self) -> safe_open:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._opened().close()
        self._file = None

    def keys(self) -> list[str]:
        """The names of the tensors, sorted.

        Returns
        -------
        list of str
        """
        return sorted(self._opened())

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order of their bytes.

        Returns
        -------
        list of str
        """
        return list(self._opened())

    def metadata(self) -> dict[str, str] | None:
        """The texts that the file carries; None where there are none.

        Returns
        -------
        dict of str, or None
        """
        return self._opened().metadata or None

    def get_tensor(self, name: str) -> Any:
        """A tensor of the framework that was asked for.

        Parameters
        ----------
        name : str

        Returns
        -------
        array of the framework

        Raises
        ------
        SafetensorError
            There is no such tensor, or the framework has no such dtype.
        """
        return self._give(self._take(name))

    def get_tensors(self) -> dict[str, Any]:
        """All tensors, in the order of their bytes.

        Returns
        -------
        dict
        """
        return {name: self.get_tensor(name) for name in self._opened()}

    def get_slice(self, name: str) -> _Slice:
        """A tensor of which parts can be taken: only they are read.

        Parameters
        ----------
        name : str

        Returns
        -------
        object with ``get_shape()``, ``get_dtype()`` and ``[...]``

        Raises
        ------
        SafetensorError
            There is no such tensor.
        """
        return _Slice(self, name)

    def _opened(self) -> TensorFile:
        if self._file is None:
            raise SafetensorError("File is closed")
        return self._file

    def _take(self, name: str, mapped: bool = False) -> Tensor:
        file = self._opened()
        if name not in file:
            raise SafetensorError(f"File does not contain tensor {name}")
        tensor: Tensor = _call(file._take, name, False) if mapped else _call(file.__getitem__, name)
        return tensor

    def _give(self, tensor: Tensor) -> Any:
        return _call(as_framework, tensor, self._framework, self._device)


class _Slice:
    """A tensor of a file, of which parts can be taken."""

    def __init__(self, file: safe_open, name: str) -> None:
        self._file = file
        self._tensor = file._take(name, mapped=True)
        self._type = file._opened().info(name).type

    def get_shape(self) -> list[int]:
        """The extents."""
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        """The format's word for the dtype, such as ``"F32"``."""
        return self._type

    def __getitem__(self, index: Any) -> Any:
        try:
            part = self._tensor[index]
        except (IndexError, TypeError, ValueError) as error:
            shape = list(self._tensor.shape)
            raise SafetensorError(f"Error during slicing {index!r} with shape {shape}: {error}") from None
        return self._file._give(part.copy())


def deserialize(data: bytes, /) -> list[tuple[str, dict[str, Any]]]:
    """All tensors of a file in memory, as bytes.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    list of (str, dict)
        With the keys ``"shape"``, ``"dtype"`` and ``"data"``.

    Raises
    ------
    SafetensorError
        The file is broken.
    """
    with _call(open, data, format="safetensors") as file:
        infos = [file.info(name) for name in file]
        return [
            (i.name, {"shape": list(i.shape), "dtype": i.type, "data": bytearray(file[i.name].tobytes())}) for i in infos
        ]


def _call(function: Any, *args: Any, **options: Any) -> Any:
    """What a call of dlpark gives; its ValueErrors and their like as the error of this package."""
    try:
        return function(*args, **options)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"No such file or directory: {error.filename}") from None
    except (ValueError, BufferError, OverflowError, OSError) as error:
        raise SafetensorError(str(error)) from error


# It makes use of what is above.
from ._serialize import TensorSpec, serialize, serialize_file  # noqa: E402
