"""Tensor files as mappings from names to tensors. Imported by the first use."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _files
from ._core import Tensor, from_dlpack

if TYPE_CHECKING:
    from types import TracebackType

    from ._core import Producer

    Source = str | bytes | bytearray | memoryview | os.PathLike[str] | os.PathLike[bytes] | int
    Format = Literal["safetensors", "npy", "npz", "gguf", "safetensors-index"]
    Float4 = Literal["logical", "pairs", "bytes"]
    Access = Literal["auto", "map", "prefetch", "read"]

_FORMATS = {"safetensors": 1, "npy": 2, "npz": 3, "gguf": 4, "safetensors-index": 5}
_FLOAT4 = {"logical": 0, "pairs": 1, "bytes": 2}
_ACCESS = {"auto": 0, "map": 1, "prefetch": 2, "read": 3}


@dataclass(frozen=True)
class TensorInfo:
    """What a file says of one of its tensors.

    Attributes
    ----------
    name : str
        As it is in the file: never to be used as a path.
    dtype : str
        As `Tensor.dtype` has it.
    type : str
        The format's own word for it, such as ``"F8_E4M3"``. ``"Q4_0"`` and its like are quantised: their dtype is uint8,
        and a row is the bytes of its blocks.
    shape : tuple of int
    offset : int
        Where its bytes begin, from the start of the file, or of its shard.
    nbytes : int
    alignment : int
        What the address of a mapped tensor is a multiple of, at most 4096.
    column_major : bool
        The first index runs fastest, as in Fortran: the tensor has such strides.
    compressed, byteswapped : bool
        Its bytes are not a tensor's as they lie in the file: it is read into memory, never mapped.
    shard : str or None
        The name of the file beside an index file that the tensor is in: untrusted. None where the file is no index.
    """

    name: str
    dtype: str
    type: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    alignment: int
    column_major: bool
    compressed: bool
    byteswapped: bool
    shard: str | None


class TensorFile(Mapping[str, Tensor]):
    """An open tensor file: a mapping from names to tensors, made by `dlpark.open`.

    A tensor is made when it is asked for, and is the file's own memory: slices read only what they touch. It keeps the
    mapping alive and may be used after the file is closed. One that no memory can be mapped for, as its numbers are in the
    other byte order or compressed, is read into memory of its own.

    Attributes
    ----------
    name : str or None
        The path that was opened.
    format : str
        ``"safetensors"``, ``"npy"``, ``"npz"``, ``"gguf"`` or ``"safetensors-index"``.
    nbytes : int
        Of the file; of an index and all its shards.
    metadata : dict of str
        The texts that the file carries; a copy. Of a GGUF file numbers come as texts, and arrays of at most 256 items
        as JSON.
    """

    name: str | None
    format: str
    nbytes: int

    def __init__(self, handle: Any, name: str | None, copy: bool) -> None:
        self._handle = handle
        self._copy = copy
        self._names: list[str] | None = None
        self.name = name
        self.format, self.nbytes, self._count = _files.about(handle)

    # ---- The mapping ----

    def __getitem__(self, name: str) -> Tensor:
        return self._take(name, self._copy)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all_names())

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _files.find(self._handle, name) >= 0

    def __repr__(self) -> str:
        tensors = f"{self._count} tensor{'' if self._count == 1 else 's'}"
        return f"<dlpark.TensorFile {self.name!r} {self.format}, {tensors}, {self.nbytes} bytes>"

    # Two files are the same when they are the same object: comparing gigabytes is never what == shall do.
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    # ---- What only files have ----

    @property
    def metadata(self) -> dict[str, str]:
        """The texts that the file carries; a copy."""
        return _files.metadata(self._handle)

    def info(self, name: str) -> TensorInfo:
        """What the file says of a tensor, without touching its bytes.

        Parameters
        ----------
        name : str

        Returns
        -------
        TensorInfo

        Raises
        ------
        KeyError
            There is no such tensor.
        """
        entry = _files.entry(self._handle, self._find(name))
        flags = entry[7]
        return TensorInfo(*entry[:7], bool(flags & 1), bool(flags & 2), bool(flags & 4), entry[8])

    def load(self, name: str) -> Tensor:
        """A tensor read into memory of its own: writable, and safe when another process changes the file.

        Parameters
        ----------
        name : str

        Returns
        -------
        Tensor

        Raises
        ------
        KeyError
            There is no such tensor.
        ValueError
            The file was cut short since it was opened.
        OSError
            It could not be read.
        """
        return self._take(name, True)

    def prefetch(self, *names: str) -> None:
        """Read tensors by several threads, so that the system has their bytes when they are touched. Keeps no memory.

        Parameters
        ----------
        *names : str
            None: the whole file.

        Raises
        ------
        KeyError
            There is no such tensor.
        ValueError
            The file was cut short since it was opened.
        OSError
            It could not be read.
        """
        _files.prefetch(self._handle, [self._find(name) for name in names] if names else None)

    def close(self) -> None:
        """Close the file. Tensors that were taken from it stay as they are. Closing twice is allowed."""
        _files.close(self._handle)

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()

    # ---- Within ----

    def _take(self, name: str, copy: bool) -> Tensor:
        return from_dlpack(_files.take(self._handle, self._find(name), copy))

    def _all_names(self) -> list[str]:
        if self._names is None:
            self._names = _files.names(self._handle)
        return self._names

    def _find(self, name: str) -> int:
        if not isinstance(name, str):
            raise TypeError(f"tensors have names: expected a str, not {type(name).__name__}")
        index = _files.find(self._handle, name)
        if index < 0:
            raise KeyError(_explain_absence(name, self._all_names()))
        return index


def open(
    source: Source,
    /,
    *,
    format: Format | None = None,
    copy: bool = False,
    private: bool = False,
    float4: Float4 = "logical",
    access: Access = "auto",
    threads: int | None = None,
    follow_links: bool = False,
) -> TensorFile:
    """Open a tensor file. Reads the names, shapes and places of its tensors, and checks them all.

    Parameters
    ----------
    source : path, int or bytes-like
        A str or path object names a file; an int is an open descriptor, which stays open; bytes, bytearray or memoryview
        are the file itself. The path of an index, ``"model.safetensors.index.json"``, opens the shards beside it as one
        file.
    format : str, optional
        Refuse any other: ``"safetensors"``, ``"npy"``, ``"npz"``, ``"gguf"``, ``"safetensors-index"``. Told by the content
        by default.
    copy : bool
        Tensors are read into memory of their own when they are asked for, instead of mapped.
    private : bool
        Mapped tensors may be written; what is written stays in this process, and not in the file.
    float4 : str
        What a packed pair of float4 is taken for: ``"logical"`` elements of their own, ``"pairs"`` as PyTorch's
        float4_e2m1fn_x2, or ``"bytes"``.
    access : str
        How tensors come into memory. ``"map"``: a page is read when it is touched. ``"prefetch"``: mapped, but read by
        several threads before they are handed out. ``"read"``: the whole file is read when it is opened, and what others
        do to it later is no matter. ``"auto"`` is ``"prefetch"`` for files across a network, else ``"map"``.
    threads : int, optional
        That read a large tensor at the same time, up to 64. By default 8.
    follow_links : bool
        Shards of an index may be links, which lead anywhere: those in a cache of Hugging Face are.

    Returns
    -------
    TensorFile
        A mapping from names to tensors, and a context manager.

    Raises
    ------
    FileNotFoundError, PermissionError, OSError
        The file, or a shard of it, is not there, is a link, cannot be read.
    ValueError
        The file is broken, or its index is stale: the message has the byte and the tensor. Or an argument is out of range.
    MemoryError
        There is no memory for the index.

    Examples
    --------
    >>> dlpark.save("model.safetensors", {"bias": np.zeros(3, np.float32)})
    >>> with dlpark.open("model.safetensors") as file:
    ...     bias = file["bias"]
    >>> bias.readonly
    True
    """
    return TensorFile(*_open_handle(source, format, private, float4, access, threads, follow_links), copy=_flag("copy", copy))


def load(
    source: Source,
    /,
    *,
    format: Format | None = None,
    copy: bool = False,
    private: bool = False,
    float4: Float4 = "logical",
    access: Access = "auto",
    threads: int | None = None,
    follow_links: bool = False,
) -> dict[str, Tensor]:
    """All tensors of a file, in the order of their bytes.

    Parameters
    ----------
    source, format, copy, private, float4, access, threads, follow_links
        As for `open`. Without `copy` the tensors are mapped: nothing is read until it is touched.

    Returns
    -------
    dict of Tensor

    Raises
    ------
    OSError, ValueError, MemoryError
        As `open`.
    """
    with open(
        source,
        format=format,
        copy=copy,
        private=private,
        float4=float4,
        access=access,
        threads=threads,
        follow_links=follow_links,
    ) as file:
        return dict(file.items())


def save(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Producer],
    /,
    *,
    format: Format | None = None,
    metadata: Mapping[str, Any] | None = None,
    alignment: int | None = None,
    sync: bool = False,
    compress: bool | int = False,
) -> None:
    """Write tensors into a file.

    The file gets its name when it is whole: until then, and when anything fails, the one that was there stays as it was.
    A safetensors file is byte for byte what the reference implementation writes, unless `alignment` is given. An npy file
    is what `numpy.save` writes; it has one tensor, whose name is not kept. An npz file is an archive that `numpy.load`
    reads, stored and its data aligned to 64 bytes; or deflated, with `compress`.

    Parameters
    ----------
    path : path
    tensors : mapping of names to tensors
        Of any library that `from_dlpack` takes, in memory that the host can read, of any strides.
    format : str, optional
        ``"safetensors"``, ``"npy"``, ``"npz"`` or ``"gguf"``. By default what the path ends in says it, ``".gguf"`` for
        one; safetensors where it says nothing.
    metadata : mapping of str to str, optional
        Texts that the file carries, written in this order. In a GGUF file they are strings, but for
        ``"general.alignment"``; there a value may also be a bool, an int (of 32 bits, or of 64 where it needs them), a
        float (of 32 bits), a list of one of these or of texts, or a scalar or an array of one dimension of NumPy, which
        keeps its dtype: ``np.uint32(32)``. These come behind the texts.
    alignment : int, optional
        A power of two up to 4096: tensors are ordered so that as many as can be begin at a multiple of it. Every reader
        takes such a file. In a GGUF file all tensors begin at a multiple of it, 32 by default.
    sync : bool
        Return only when the file is on the disk.
    compress : bool or int
        Of an npz file: deflate its members, as `numpy.savez_compressed` does, by all processors. 1, which is fast, to 9,
        which packs best; True is 6. Until the file is whole the disk has room for the tensors as they are.

    Raises
    ------
    TypeError
        A name or a text is no str, or a tensor is none.
    ValueError
        A name comes twice or is ``"__metadata__"``; the format has no such dtype, no place for metadata, or not as many
        tensors; the alignment is no power of two; what is compressed is no npz file, or is to be aligned.
    BufferError
        A tensor cannot be exchanged, or is not in memory that the host can read.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> dlpark.save("model.safetensors", {"bias": np.zeros(3, np.float32)}, metadata={"format": "np"})
    >>> dlpark.load("model.safetensors")["bias"].shape
    (3,)
    """
    if not isinstance(tensors, Mapping):
        raise TypeError(f"tensors must be a mapping of names to tensors, not {type(tensors).__name__}")
    taken = [(_text("a tensor's name", name), _capsule(name, tensor)) for name, tensor in tensors.items()]
    number = 0 if format is None else _choice("format", format, _FORMATS)
    is_typed = format == "gguf" or (format is None and os.fsdecode(path).lower().endswith(".gguf"))
    pairs, values = [], []
    for key, value in ({} if metadata is None else metadata).items():
        if isinstance(value, str) or not is_typed:
            pairs.append((_text("a key", key), _text(f"metadata[{key!r}]", value)))
        else:
            values.append((_text("a key", key), *_value(f"metadata[{key!r}]", value)))
    _files.save(os.fsdecode(path), taken, pairs, number, _alignment(alignment), _flag("sync", sync), values, _level(compress))


# ---- Arguments ----


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    return value


# DLPack's codes of what may be metadata of a GGUF file, by the kinds of NumPy.
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


def _value(what: str, value: Any) -> tuple[int, int, bool, bytes | list[str]]:
    """A value of metadata with its type: code, bits, whether it is an array, and what is in it."""
    dtype: Any = getattr(value, "dtype", None)
    if hasattr(dtype, "kind") and hasattr(value, "tobytes"):
        if dtype.kind not in _CODES or not dtype.isnative or value.ndim > 1:
            raise TypeError(f"{what}: expected one dimension at most, and native numbers or bools, not {dtype} of {value.ndim}")
        return _CODES[dtype.kind], dtype.itemsize * 8, value.ndim == 1, value.tobytes()
    is_array = isinstance(value, list | tuple)
    items = list(value) if is_array else [value]
    types = {type(item) for item in items}
    if types == {str}:
        return 0, 0, is_array, items
    if types == {bool}:
        return 6, 8, is_array, bytes(items)
    if types == {int}:
        code, letter, bits = (0, "i", 32) if -(2**31) <= min(items) and max(items) < 2**31 else (0, "q", 64)
        if max(items) >= 2**63:
            code, letter = 1, "Q"
    elif types == {float}:
        code, letter, bits = 2, "f", 32
    else:
        raise TypeError(f"{what} must be a str, bool, int or float, a list of one of these, or of NumPy, not {value!r:.80}")
    try:
        return code, bits, is_array, struct.pack(f"={len(items)}{letter}", *items)
    except (struct.error, OverflowError) as error:
        raise ValueError(f"{what}: {error}") from None


def _capsule(name: str, tensor: Any) -> Any:
    try:
        return from_dlpack(tensor).__dlpack__(max_version=(1, 3))
    except AttributeError as error:
        raise TypeError(f"tensor {name!r} is none: {error}") from None
    except (TypeError, ValueError, BufferError) as error:
        error.add_note(f"while taking the tensor {name!r}")
        raise


def _alignment(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"alignment must be an int, not {type(value).__name__}")
    if not 0 < value <= 4096 or value & (value - 1):
        raise ValueError(f"alignment is {value}, expected a power of two up to 4096")
    return value


def _level(value: Any) -> int:
    if isinstance(value, bool):
        return 0 if value else -1
    if not isinstance(value, int):
        raise TypeError(f"compress must be True, False or a level, not {value!r}")
    if not 1 <= value <= 9:
        raise ValueError(f"compress is {value}, expected 1 to 9")
    return value


def _open_handle(
    source: Any, format: Any, private: Any, float4: Any, access: Any, threads: Any, follow_links: Any
) -> tuple[Any, str | None]:
    number = 0 if format is None else _choice("format", format, _FORMATS)
    form = _choice("float4", float4, _FLOAT4)
    given, name = _read_source(source)
    way = _choice("access", access, _ACCESS)
    links = _flag("follow_links", follow_links)
    return _files.open(given, number, form, _flag("private", private), way, _threads(threads), links), name


def _threads(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"threads must be an int, not {type(value).__name__}")
    if not 1 <= value <= 64:
        raise ValueError(f"threads is {value}, expected 1 to 64")
    return value


def _read_source(source: Any) -> tuple[Any, str | None]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return source, None
    if isinstance(source, int) and not isinstance(source, bool):
        return source, None
    try:
        name = os.fsdecode(source)
    except TypeError:
        hint = "; pass its .name or .fileno()" if hasattr(source, "fileno") else ""
        raise TypeError(f"expected a path, a descriptor or bytes, not {type(source).__name__}{hint}") from None
    return name, name


def _choice(name: str, value: Any, choices: dict[str, int]) -> int:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    if value not in choices:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(repr, choices))}")
    return choices[value]


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def _explain_absence(name: str, names: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, names[:10000], 1)
    return f"no tensor {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")
