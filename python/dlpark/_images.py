"""Pictures as tensors. The codecs are an extension of their own, loaded by the first use."""

from __future__ import annotations

import io
import operator
import os
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from ._core import Tensor, from_dlpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._core import Producer

    Source = str | bytes | bytearray | memoryview | os.PathLike[str] | os.PathLike[bytes]
    Layout = Literal["hwc", "chw", "HWC", "CHW"]
    Format = Literal["jpeg", "jpg", "png", "webp", "JPEG", "JPG", "PNG", "WEBP"]

Out = TypeVar("Out")

_FORMATS = {"jpeg": 1, "jpg": 1, "png": 2, "webp": 3}
_FORMAT_NAMES = {1: "jpeg", 2: "png", 3: "webp"}
_LAYOUTS = {"hwc": 0, "chw": 1}
_ENDINGS = (".jpg", ".jpeg", ".png", ".webp")
_ABI_VERSION = (1, 3)

# How messages of the codecs end, which know the fields of a C struct, and how they end here.
_ADVICE = {
    "; `tolerant` may accept what is there": "; tolerant=True may accept what is there",
    "; layout CHW?": "; layout='chw'?",
}


@dataclass(frozen=True)
class ImageInfo:
    """What a picture file says of itself.

    Attributes
    ----------
    format : str
        ``"jpeg"``, ``"png"`` or ``"webp"``.
    width, height : int
        In pixels, as `load_image` gives them.
    channels : int
        1 grey, 2 grey and alpha, 3 RGB, 4 RGBA.
    dtype : str
        ``"uint8"`` or ``"uint16"``: what `load_image` gives unless told otherwise.
    orientation : int
        The EXIF tag, 1 to 8; 1 when there is none.
    progressive : bool
        A progressive JPEG or an interlaced PNG.
    lossless : bool
        A PNG or a lossless WebP.
    """

    format: str
    width: int
    height: int
    channels: int
    dtype: str
    orientation: int
    progressive: bool
    lossless: bool


@overload
def load_image(
    source: Source,
    /,
    *,
    channels: int | None = None,
    layout: Layout = "hwc",
    dtype: Any = None,
    orient: bool = True,
    tolerant: bool = False,
    max_pixels: int | None = None,
    max_scans: int | None = None,
    max_chunks: int | None = None,
    out: None = None,
) -> Tensor: ...
@overload
def load_image(
    source: Source,
    /,
    *,
    channels: int | None = None,
    layout: Layout = "hwc",
    dtype: Any = None,
    orient: bool = True,
    tolerant: bool = False,
    max_pixels: int | None = None,
    max_scans: int | None = None,
    max_chunks: int | None = None,
    out: Out,
) -> Out: ...
def load_image(
    source: Source,
    /,
    *,
    channels: int | None = None,
    layout: Layout = "hwc",
    dtype: Any = None,
    orient: bool = True,
    tolerant: bool = False,
    max_pixels: int | None = None,
    max_scans: int | None = None,
    max_chunks: int | None = None,
    out: Any = None,
) -> Any:
    """Decode a JPEG, PNG or WebP picture straight into a tensor's memory.

    Parameters
    ----------
    source : path or bytes-like
        A str or path object names a file; bytes, bytearray or memoryview are the file itself.
    channels : int, optional
        1 grey, 2 grey and alpha, 3 RGB, 4 RGBA. As the file has it by default.
    layout : {"hwc", "chw"}
        The order of the dimensions: [height, width, channels] or [channels, height, width]. Capitals do as well.
    dtype : str or dtype, optional
        "uint8", "uint16", or "float32" for values from 0 to 1. As the file has it by default.
    orient : bool
        Turn the picture as its EXIF tag says.
    tolerant : bool
        Accept a file that is cut short or damaged, as far as its decoder can.
    max_pixels : int, optional
        Refuse a picture of more pixels; 2**28 by default.
    max_scans : int, optional
        Refuse a progressive JPEG of more scans; 256 by default.
    max_chunks : int, optional
        Refuse a PNG of more chunks beside its picture; 1000 by default.
    out : Tensor or writable DLPack producer, optional
        Decode into this memory, of the picture's shape. Its dtype and channels decide.

    Returns
    -------
    Tensor
        On the CPU; or `out` itself, when it is given.

    Raises
    ------
    FileNotFoundError, PermissionError, OSError
        The file cannot be read.
    ValueError
        It is damaged, of no known format, or beyond a limit; or an argument is out of range.
    BufferError
        `out` cannot be written, or does not fit.
    ImportError
        This build of dlpark has no image codecs.
    """
    filename, data = _read_source(source)
    target = None if out is None else _capsule_to_write(out)
    capsule = _in_our_words(
        _codecs().load,
        filename,
        data,
        _positive("channels", channels, 5),
        _choice("layout", layout, _LAYOUTS),
        None if dtype is None else _dtype_name(dtype),
        not _flag("orient", orient),
        _flag("tolerant", tolerant),
        _positive("max_pixels", max_pixels, 2**63),
        _positive("max_scans", max_scans),
        _positive("max_chunks", max_chunks),
        target,
    )
    return from_dlpack(capsule) if out is None else out


def image_info(
    source: Source,
    /,
    *,
    orient: bool = True,
    max_pixels: int | None = None,
    max_scans: int | None = None,
    max_chunks: int | None = None,
) -> ImageInfo:
    """Read what a picture file says of itself, without decoding it.

    Parameters
    ----------
    source : path or bytes-like
        As for `load_image`.
    orient : bool
        Give width and height as they are after the EXIF tag is followed.
    max_pixels, max_scans, max_chunks : int, optional
        As for `load_image`.

    Returns
    -------
    ImageInfo

    Raises
    ------
    FileNotFoundError, PermissionError, OSError, ValueError, ImportError
        As `load_image`.
    """
    filename, data = _read_source(source)
    kind, width, height, channels, bits, orientation, progressive, lossless = _codecs().info(
        filename,
        data,
        not _flag("orient", orient),
        _positive("max_pixels", max_pixels, 2**63),
        _positive("max_scans", max_scans),
        _positive("max_chunks", max_chunks),
    )
    return ImageInfo(
        format=_FORMAT_NAMES[kind],
        width=width,
        height=height,
        channels=channels,
        dtype=f"uint{bits}",
        orientation=orientation,
        progressive=progressive,
        lossless=lossless,
    )


def save_image(
    path: str | os.PathLike[str] | os.PathLike[bytes],
    image: Producer,
    /,
    *,
    format: Format | None = None,
    layout: Layout = "hwc",
    quality: int | None = None,
    lossless: bool = False,
    compression: int | None = None,
    subsampling: int | str | None = None,
    progressive: bool = False,
) -> None:
    """Write a picture to a file: all of it, or nothing.

    Parameters
    ----------
    path : path
        Written under another name beside it, then renamed. A file of that name is untouched on failure.
    image : Tensor or any DLPack producer
        uint8, or uint16 for PNG. [h, w], or three dimensions with 1 to 4 channels in the order of `layout`.
    format : {"jpeg", "jpg", "png", "webp"}, optional
        As the path ends by default. Capitals do as well.
    layout : {"hwc", "chw"}
        The order of the dimensions of `image`. Capitals do as well.
    quality : int, optional
        1 to 100, for JPEG and lossy WebP; 90 by default.
    lossless : bool
        WebP: every pixel exactly.
    compression : int, optional
        PNG: 1 fast to 9 small. WebP: effort, 1 to 6, lossless 1 to 9.
    subsampling : {"4:4:4", "4:2:2", "4:2:0"} or {444, 422, 420}, optional
        JPEG chroma; 4:2:0 by default.
    progressive : bool
        A progressive JPEG.

    Raises
    ------
    FileNotFoundError, PermissionError, OSError
        The file cannot be written.
    ValueError
        The format cannot hold the picture, or an argument is out of range.
    BufferError
        The tensor is no picture: its shape, dtype or device.
    ImportError
        This build of dlpark has no image codecs.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        swapped = isinstance(image, (str, bytes, os.PathLike))
        raise TypeError(f"path must be a path, not {type(path).__name__}{'; the path comes first' if swapped else ''}")
    filename = os.fspath(path)
    if format is None and os.path.splitext(os.fsdecode(filename))[1].lower() not in _ENDINGS:
        raise ValueError(f"{os.fsdecode(filename)}: ends in none of {' '.join(_ENDINGS)}, and no format is given")
    _in_our_words(
        _codecs().save,
        filename,
        _capsule_to_read(image),
        0 if format is None else _choice("format", format, _FORMATS),
        _choice("layout", layout, _LAYOUTS),
        _positive("quality", quality),
        _flag("lossless", lossless),
        _positive("compression", compression),
        _subsampling(subsampling),
        _flag("progressive", progressive),
    )


def encode_image(
    image: Producer,
    format: Format,
    /,
    *,
    layout: Layout = "hwc",
    quality: int | None = None,
    lossless: bool = False,
    compression: int | None = None,
    subsampling: int | str | None = None,
    progressive: bool = False,
) -> bytes:
    """Encode a picture; the bytes are those of the file that `save_image` would write.

    Parameters
    ----------
    image : Tensor or any DLPack producer
        As for `save_image`.
    format : {"jpeg", "jpg", "png", "webp"}
        Capitals do as well.
    layout, quality, lossless, compression, subsampling, progressive
        As for `save_image`.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError, BufferError, ImportError
        As `save_image`.
    """
    encoded: bytes = _in_our_words(
        _codecs().save,
        None,
        _capsule_to_read(image),
        _choice("format", format, _FORMATS),
        _choice("layout", layout, _LAYOUTS),
        _positive("quality", quality),
        _flag("lossless", lossless),
        _positive("compression", compression),
        _subsampling(subsampling),
        _flag("progressive", progressive),
    )
    return encoded


def _codecs() -> ModuleType:
    from . import _build_info

    if not _build_info.IMAGE:
        raise ImportError(_explain_absence(_build_info.MISSING))
    from . import _image

    return _image


def _explain_absence(missing: tuple[tuple[str, str], ...]) -> str:
    if not missing:
        return "this build of dlpark has no image codecs: they were switched off when it was built"
    names = " and ".join(name for name, _ in missing)
    packages = " ".join(package for _, package in missing)
    return (
        f"this build of dlpark has no image codecs: {names} {'was' if len(missing) == 1 else 'were'} not found "
        f"when it was built (Debian package{'' if len(missing) == 1 else 's'} {packages})"
    )


def _in_our_words(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (ValueError, BufferError) as error:
        for theirs, ours in _ADVICE.items():
            if str(error).endswith(theirs):
                error.args = (str(error).removesuffix(theirs) + ours,)
        raise


def _read_source(source: Any) -> tuple[str | bytes | None, Any]:
    """The source as (filename, bytes), one of them None."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source), None
    try:
        data = memoryview(source)
    except TypeError:
        # What a file of text reads would be taken for a path.
        is_binary_file = hasattr(source, "read") and not isinstance(source, io.TextIOBase)
        advice = "; pass its .read()" if is_binary_file else ""
        raise TypeError(f"source must be a path or bytes-like, not {type(source).__name__}{advice}") from None
    return None, data


def _capsule_to_read(image: Any) -> Any:
    return from_dlpack(image, device="cpu").__dlpack__(max_version=_ABI_VERSION)


def _capsule_to_write(out: Any) -> Any:
    tensor = from_dlpack(out, copy=False)
    if tensor.readonly:
        raise BufferError(f"out must not be written, or its producer cannot say that it may be: {tensor!r}")
    return tensor.__dlpack__(max_version=_ABI_VERSION)


def _positive(name: str, value: Any, below: int = 2**31) -> int:
    """The C side reads 0 as "not given", so a 0 that was given must not get there."""
    if value is None:
        return 0
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not 0 < number < below:
        raise ValueError(f"{name} is {number}, expected a number from 1 {f'to {below - 1}' if below < 2**31 else 'on'}")
    return number


def _flag(name: str, value: Any) -> bool:
    """A text is refused: "no" would be true."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is {value!r}, expected True or False")
    return bool(value)


def _choice(name: str, value: Any, choices: dict[str, int]) -> int:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    if value.lower() not in choices:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(repr, choices))}")
    return choices[value.lower()]


def _subsampling(value: Any) -> int:
    if isinstance(value, str):
        try:
            return {"4:4:4": 444, "4:2:2": 422, "4:2:0": 420}[value]
        except KeyError:
            raise ValueError(f"subsampling is {value!r}, expected '4:4:4', '4:2:2' or '4:2:0'") from None
    return _positive("subsampling", value)


def _dtype_name(dtype: Any) -> str:
    """The name of a dtype of any library: "uint8", numpy.uint8, numpy.dtype("uint8"), torch.uint8."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return str(name).removeprefix("torch.")
