"""load_image, save_image, encode_image and image_info against Pillow."""

import errno
import io
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import hostile
import numpy as np
import pytest
from PIL import Image, ImageOps, JpegImagePlugin, PngImagePlugin

import dlpark

pytestmark = pytest.mark.usefixtures("codecs")

FORMATS = ["png", "jpeg", "webp"]
CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}


def picture(channels=3, height=23, width=37, dtype=np.uint8):
    """Smooth, so that lossy formats stay close, and without a symmetry that would hide a flip."""
    y, x = np.mgrid[:height, :width]
    planes = [(x * (3 + c) + y * (5 - c) + 20 * c) % 256 for c in range(channels)]
    return (np.stack(planes, axis=-1) * (257 if dtype == np.uint16 else 1)).astype(dtype)


def made_by_pillow(array, format, **options):
    file = io.BytesIO()
    Image.fromarray(array.squeeze()).save(file, format, **options)
    return file.getvalue()


def read_by_pillow(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)


# ---- Loading ----


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_is_pillows(channels):
    array = picture(channels)
    tensor = dlpark.load_image(made_by_pillow(array, "png"))
    assert repr(tensor) == f"Tensor(uint8[23, 37, {channels}], cpu, strides=[{37 * channels}, {channels}, 1])"
    assert (np.asarray(tensor) == array).all()


def test_png_of_16_bits():
    array = picture(1, dtype=np.uint16)
    tensor = dlpark.load_image(made_by_pillow(array, "png"))
    assert tensor.dtype == "uint16"
    assert (np.asarray(tensor) == array).all()
    assert (np.asarray(dlpark.load_image(made_by_pillow(array, "png"), dtype="uint8")) == picture(1)).all()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg_is_pillows(channels, progressive):
    data = made_by_pillow(picture(channels), "jpeg", quality=93, progressive=progressive)
    assert (np.asarray(dlpark.load_image(data)).squeeze() == read_by_pillow(data)).all()


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("lossless", [False, True])
def test_webp_is_pillows(channels, lossless):
    array = picture(channels)
    array[..., 3:] |= 1  # a transparent pixel's colour is nobody's business
    data = made_by_pillow(array, "webp", lossless=lossless, exact=True)
    tensor = dlpark.load_image(data)
    assert (np.asarray(tensor) == read_by_pillow(data)).all()
    assert (np.asarray(tensor) == array).all() or not lossless


@pytest.mark.parametrize("format", FORMATS)
def test_layout_channels_and_dtype(format):
    data = made_by_pillow(picture(), format)
    plain = np.asarray(dlpark.load_image(data))
    assert (np.asarray(dlpark.load_image(data, layout="chw")) == plain.transpose(2, 0, 1)).all()
    rgba = np.asarray(dlpark.load_image(data, channels=4))
    assert (rgba[..., :3] == plain).all()
    assert (rgba[..., 3] == 255).all()
    assert dlpark.load_image(data, channels=1).shape == (23, 37, 1)
    for dtype in ("float32", np.float32, np.dtype(np.float32)):
        floats = np.asarray(dlpark.load_image(data, dtype=dtype))
        assert floats.dtype == np.float32
        assert (np.rint(floats * 255) == plain).all()


@pytest.mark.parametrize("kind", [str, pathlib.Path, os.fsencode, "bytes path"])
def test_paths(tmp_path, kind):
    path = tmp_path / "a pïcture.png"
    path.write_bytes(made_by_pillow(picture(), "png"))
    if kind == "bytes path":

        class BytesPath:
            def __fspath__(self):
                return os.fsencode(path)

        source = BytesPath()
    elif kind is os.fsencode:  # bytes are a file, not a path
        with pytest.raises(ValueError):
            dlpark.load_image(os.fsencode(path))
        return
    else:
        source = kind(path)
    assert (np.asarray(dlpark.load_image(source)) == picture()).all()
    assert dlpark.image_info(source).width == 37


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8)])
def test_bytes_like(kind):
    source = kind(made_by_pillow(picture(), "png"))
    assert (np.asarray(dlpark.load_image(source)) == picture()).all()


def test_a_bytearray_is_let_go():
    source = bytearray(made_by_pillow(picture(), "png"))
    dlpark.load_image(source)
    dlpark.image_info(source)
    with pytest.raises(ValueError):
        dlpark.load_image(source, max_pixels=1)
    source.append(0)  # BufferError while a buffer is held


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = made_by_pillow(picture(), "jpeg", exif=exif)
    with Image.open(io.BytesIO(data)) as image:
        stored, turned = np.asarray(image), np.asarray(ImageOps.exif_transpose(image))
    assert (np.asarray(dlpark.load_image(data)) == turned).all()
    assert (np.asarray(dlpark.load_image(data, orient=False)) == stored).all()
    info = dlpark.image_info(data)
    assert (info.orientation, info.height, info.width) == (orientation, *turned.shape[:2])
    assert dlpark.image_info(data, orient=False).height == 23


def test_info():
    assert dlpark.image_info(made_by_pillow(picture(2), "png")) == dlpark.ImageInfo(
        format="png",
        width=37,
        height=23,
        channels=2,
        dtype="uint8",
        orientation=1,
        progressive=False,
        lossless=True,
    )
    jpeg = dlpark.image_info(made_by_pillow(picture(), "jpeg", progressive=True))
    assert (jpeg.format, jpeg.progressive, jpeg.lossless) == ("jpeg", True, False)
    assert dlpark.image_info(made_by_pillow(picture(1, dtype=np.uint16), "png")).dtype == "uint16"


# ---- Loading into memory ----


def test_out_is_returned_and_written():
    out = np.zeros((23, 37, 3), np.uint8)
    assert dlpark.load_image(made_by_pillow(picture(), "png"), out=out) is out
    assert (out == picture()).all()


def test_out_with_a_pitch_and_backwards():
    canvas = np.zeros((30, 50, 3), np.uint8)
    window = canvas[5:28, 45:8:-1]
    dlpark.load_image(made_by_pillow(picture(), "png"), out=window)
    assert (window == picture()).all()
    window[:] = 0
    assert not canvas.any()  # nothing beside it


def test_out_as_tensor_and_planes():
    out = dlpark.from_dlpack(np.zeros((3, 23, 37), np.float32))
    assert dlpark.load_image(made_by_pillow(picture(), "png"), layout="chw", out=out) is out
    assert (np.rint(np.asarray(out) * 255).transpose(1, 2, 0) == picture()).all()


@pytest.mark.parametrize(
    "out, error, text",
    [
        (np.zeros((23, 36, 3), np.uint8), BufferError, r"expected out shape \[23, 37, 3\], got \[23, 36, 3\]"),
        (np.zeros((23, 37, 3), np.int8), BufferError, "expected out of u8, u16 or f32, got i8"),
        (np.zeros((23, 37), np.uint8)[:0], BufferError, r"expected out of rank 3 .* got \[0, 37\]"),
        (
            hostile.Offer(hostile.Foreign(legacy=True, dtype=(1, 8, 1), shape=(23, 37, 3))),
            BufferError,
            r"out must not be written, or its producer cannot say that it may be: Tensor\(uint8\[23, 37, 3\]",
        ),
        (np.broadcast_to(np.zeros(3, np.uint8), (23, 37, 3)), BufferError, "out must not be written"),
        (
            np.lib.stride_tricks.as_strided(np.zeros(3, np.uint8), (23, 37, 3), (0, 0, 1)),
            BufferError,
            "out.*share memory",
        ),
        (bytearray(23 * 37 * 3), BufferError, r"expected out of rank 3 .* got \[2553\]"),
        ([[0]], AttributeError, "list has no __dlpack__"),
    ],
)
def test_out_that_does_not_do(out, error, text):
    with pytest.raises(error, match=text):
        dlpark.load_image(made_by_pillow(picture(), "png"), out=out)


def test_read_only_out_is_not_written():
    out = np.zeros((23, 37, 3), np.uint8)
    out.flags.writeable = False
    with pytest.raises(BufferError, match="out must not be written"):
        dlpark.load_image(made_by_pillow(picture(), "png"), out=out)
    assert not out.any()


# ---- Damage and limits ----


@pytest.mark.parametrize(
    "format, text",
    [
        ("png", "<memory>: the PNG is cut short after [0-9]+ bytes, in row [0-9]+ of 200; {advice}"),
        ("jpeg", "<memory>: Premature end of JPEG file; {advice}"),
        ("webp", "<memory>: the WebP is cut short after {given} of {whole} bytes; {advice}"),
    ],
)
def test_cut_short(format, text):
    data = made_by_pillow(picture(height=200), format)
    given = len(data) * 2 // 3
    text = text.format(given=given, whole=len(data), advice="tolerant=True may accept what is there$")
    with pytest.raises(ValueError, match=text):
        dlpark.load_image(data[:given])
    assert dlpark.load_image(data[:given], tolerant=True).shape == (200, 37, 3)


@pytest.mark.parametrize(
    "data, text",
    [
        (b"", "is empty, neither JPEG, PNG nor WebP"),
        (b"GIF89a", "neither JPEG, PNG nor WebP: its first bytes are 47 49 46 38 39 61"),
        (bytes(100), "neither JPEG, PNG nor WebP: its first bytes are 00 00 00 00"),
        (b"\xff\xd8\xff", "Premature end of JPEG file$"),
        (b"\x89PNG\r\n\x1a\n", "the PNG is cut short after 8 bytes$"),
    ],
)
def test_no_picture(data, text):
    for read in (dlpark.load_image, dlpark.image_info):
        with pytest.raises(ValueError, match=f"^<memory>: {text}"):
            read(data)


def test_tolerant_takes_what_is_there():
    data = made_by_pillow(picture(height=200), "jpeg")
    tensor = dlpark.load_image(data[: len(data) // 2], tolerant=True)
    assert tensor.shape == (200, 37, 3)
    assert (np.asarray(tensor)[:40] == read_by_pillow(data)[:40]).all()


def test_limits():
    data = made_by_pillow(picture(), "png")
    assert dlpark.load_image(data, max_pixels=23 * 37).shape == (23, 37, 3)
    for read in (dlpark.load_image, dlpark.image_info):
        with pytest.raises(ValueError, match=str(23 * 37 - 1)):
            read(data, max_pixels=23 * 37 - 1)
    with pytest.raises(ValueError, match="scan"):
        dlpark.load_image(made_by_pillow(picture(), "jpeg", progressive=True), max_scans=1)


def test_limit_of_chunks():
    info = PngImagePlugin.PngInfo()
    for number in range(1100):
        info.add_text(f"key{number}", "value")
    data = made_by_pillow(picture(), "png", pnginfo=info)
    for read in (dlpark.load_image, dlpark.image_info):
        with pytest.raises(ValueError, match="1000"):
            read(data)
        with pytest.raises(ValueError, match="20"):
            read(data, max_chunks=20)
        assert read(data, max_chunks=2000) is not None


def test_missing_file(tmp_path):
    path = tmp_path / "missing.png"
    for read in (dlpark.load_image, dlpark.image_info):
        with pytest.raises(FileNotFoundError) as caught:
            read(path)
        assert (caught.value.errno, caught.value.filename) == (2, str(path))


def test_a_directory_is_no_file(tmp_path):
    for read in (dlpark.load_image, dlpark.image_info):
        with pytest.raises(IsADirectoryError) as caught:
            read(tmp_path)
        assert (caught.value.errno, caught.value.filename) == (errno.EISDIR, str(tmp_path))


def test_a_disk_that_is_full(tmp_path):
    """A limit on the size of files stands for it; of a process of its own, as it cannot be taken back."""
    path = tmp_path / "kept.png"
    path.write_bytes(b"kept")
    script = f"""
import errno, resource
import dlpark, numpy
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
try:
    dlpark.save_image({str(path)!r}, numpy.zeros((9, 9), numpy.uint8))
except OSError as error:
    print(error.errno == errno.EFBIG, error.filename)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"True {path}\n", "")
    assert path.read_bytes() == b"kept"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.threads
def test_the_gil_is_released():
    """Nobody is asked to give the GIL here, so a thread can count during the decoding only if it was given."""
    data = made_by_pillow(np.tile(picture(height=64, width=64), (40, 40, 1)), "png")
    started, stop, counts = threading.Event(), threading.Event(), []

    def count():
        while not stop.is_set():
            counts.append(None)
            started.set()
            time.sleep(1e-4)  # gives it, each time

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=count)
    sys.setswitchinterval(1000)
    try:
        thread.start()
        started.wait()
        before = len(counts)
        dlpark.load_image(data)
        during = len(counts) - before
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert during > 0


# ---- Saving ----


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.jpeg", "a.webp", "A.PNG"])
def test_save_and_encode_give_the_same_file(tmp_path, name):
    path = tmp_path / name
    assert dlpark.save_image(path, picture()) is None
    format = {"jpg": "jpeg"}.get(name[2:].lower(), name[2:].lower())
    assert path.read_bytes() == dlpark.encode_image(picture(), format)
    with Image.open(path) as image:
        assert (image.format.lower(), image.size) == (format, (37, 23))
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("compression", [None, 1, 9])
def test_png_is_exact(channels, compression):
    data = dlpark.encode_image(picture(channels), "png", compression=compression)
    assert (read_by_pillow(data).reshape(23, 37, channels) == picture(channels)).all()


def test_png_of_16_bits_is_exact():
    array = picture(1, dtype=np.uint16)
    assert (read_by_pillow(dlpark.encode_image(array, "png")) == array[..., 0]).all()


def test_lossless_webp_is_exact():
    data = dlpark.encode_image(picture(4) | 1, "webp", lossless=True)
    assert (read_by_pillow(data) == picture(4) | 1).all()
    assert dlpark.image_info(data).lossless


@pytest.mark.parametrize("format", ["jpeg", "webp"])
def test_quality(format):
    errors, sizes = [], []
    for quality in (10, None, 100):
        data = dlpark.encode_image(picture(), format, quality=quality)
        errors.append(np.abs(read_by_pillow(data).astype(int) - picture()).mean())
        sizes.append(len(data))
    assert errors[0] > errors[1] > errors[2]
    assert sizes[0] < sizes[1] < sizes[2]


@pytest.mark.parametrize("given, expected", [(444, 0), ("4:2:2", 1), (None, 2), ("4:2:0", 2)])
def test_subsampling_and_progressive(given, expected):
    data = dlpark.encode_image(picture(), "jpeg", subsampling=given, progressive=True)
    with Image.open(io.BytesIO(data)) as image:
        assert JpegImagePlugin.get_sampling(image) == expected
        assert image.info.get("progressive") == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::-1],
        lambda a: a[:, ::-2],
        lambda a: a[..., ::-1],
        lambda a: a.transpose(1, 0, 2),
        lambda a: a[..., 0],
    ],
)
def test_any_strides(view):
    array = view(picture())
    assert (read_by_pillow(dlpark.encode_image(array, "png")) == array).all()
    if array.ndim == 3:
        assert dlpark.encode_image(array.transpose(2, 0, 1), "png", layout="chw") == dlpark.encode_image(array, "png")


def test_read_only_and_legacy_producers_are_read():
    array = picture()
    array.flags.writeable = False
    assert (read_by_pillow(dlpark.encode_image(array, "png")) == picture()).all()
    legacy = hostile.Offer(lambda **_: picture().__dlpack__())
    assert (read_by_pillow(dlpark.encode_image(legacy, "png")) == picture()).all()


@pytest.mark.parametrize(
    "image, format, error, text",
    [
        (picture().astype(float), "png", BufferError, "u8 or u16, got f64: scale to 0..255 and cast to u8 first$"),
        (picture() > 9, "png", BufferError, "u8 or u16, got bool: cast to u8 first$"),
        (picture().astype(np.int64), "png", BufferError, "u8 or u16, got i64: cast to u8 first$"),
        (picture().astype(complex), "png", BufferError, "u8 or u16, got c128$"),
        (picture(dtype=np.uint16), "jpeg", ValueError, "got u16: convert to u8"),
        (picture(4), "jpeg", ValueError, r"drop it \(keep channels 0..2\)"),
        (picture(2), "jpeg", ValueError, r"drop it \(keep channel 0\)"),
        (np.zeros((3, 40, 50), np.uint8), "png", BufferError, r"got \[3, 40, 50\]; layout='chw'\?$"),
        (np.zeros((40, 40, 5), np.uint8), "png", BufferError, r"got \[40, 40, 5\]$"),
        (np.zeros((4, 0, 3), np.uint8), "png", BufferError, "with pixels"),
        (np.zeros(4, np.uint8), "png", BufferError, "rank 2 or 3"),
        ([[1, 2]], "png", AttributeError, r"has no __dlpack__, .*; numpy.asarray\(...\) may make an array of it$"),
    ],
)
def test_no_picture_of_that_format(tmp_path, image, format, error, text):
    path = tmp_path / f"kept.{format}"
    path.write_bytes(b"kept")
    with pytest.raises(error, match=text):
        dlpark.encode_image(image, format)
    with pytest.raises(error, match=text):
        dlpark.save_image(path, image)
    assert path.read_bytes() == b"kept"
    assert os.listdir(tmp_path) == [path.name]


def test_nowhere_to_save(tmp_path):
    path = tmp_path / "missing" / "a.png"
    with pytest.raises(FileNotFoundError) as caught:
        dlpark.save_image(path, picture())
    assert caught.value.filename == str(path)
    for name in ("a.gif", "png", ".png", os.fsencode(tmp_path / "a")):
        with pytest.raises(ValueError, match="ends in none of .jpg .jpeg .png .webp, and no format is given"):
            dlpark.save_image(tmp_path / name if isinstance(name, str) else name, picture())
    assert os.listdir(tmp_path) == []


def test_format_over_the_ending(tmp_path):
    dlpark.save_image(tmp_path / "a.dat", picture(), format="webp")
    assert dlpark.image_info(tmp_path / "a.dat").format == "webp"


# ---- Arguments ----


def test_choices_in_capitals(tmp_path):
    planes = picture().transpose(2, 0, 1)
    for format in ("JPEG", "jpg", "JPG", "PNG", "WebP"):
        name = {"jpg": "jpeg"}.get(format.lower(), format.lower())
        expected = dlpark.encode_image(picture(), name)
        assert dlpark.encode_image(planes, format, layout="CHW") == expected
        dlpark.save_image(tmp_path / "a", planes, format=format, layout="CHW")
        assert (tmp_path / "a").read_bytes() == expected
        assert dlpark.load_image(expected, layout="CHW").shape == (3, 23, 37)


@pytest.mark.parametrize(
    "path, image, text",
    [
        (picture(), "x.png", "^path must be a path, not ndarray; the path comes first$"),
        (picture(), pathlib.Path("x.png"), "^path must be a path, not ndarray; the path comes first$"),
        (None, picture(), "^path must be a path, not NoneType$"),
    ],
)
def test_path_that_is_none(path, image, text):
    with pytest.raises(TypeError, match=text):
        dlpark.save_image(path, image)


@pytest.mark.parametrize(
    "keywords, error, text",
    [
        (dict(layout="nchw"), ValueError, "layout is 'nchw'"),
        (dict(layout=0), TypeError, "layout must be a str"),
        (dict(channels=0), ValueError, "channels is 0"),
        (dict(channels=5), ValueError, "channels is 5, expected a number from 1 to 4$"),
        (dict(channels="RGB"), TypeError, "^channels must be an integer, not str$"),
        (dict(max_pixels=0), ValueError, "max_pixels is 0, expected a number from 1 on$"),
        (dict(max_pixels=2**64), ValueError, "max_pixels"),
        (dict(max_scans=-1), ValueError, "max_scans is -1"),
        (dict(max_chunks=0), ValueError, "max_chunks is 0"),
        (dict(dtype="uint9"), ValueError, "^dtype is 'uint9'; pictures come as uint8, uint16 or float32$"),
        (dict(dtype=np.int32), ValueError, "^dtype is 'int32'; pictures come as uint8, uint16 or float32$"),
        (dict(colour=True), TypeError, "colour"),
    ],
)
def test_load_arguments(keywords, error, text):
    with pytest.raises(error, match=text):
        dlpark.load_image(made_by_pillow(picture(), "png"), **keywords)


@pytest.mark.parametrize(
    "source, advice",
    [(None, ""), (3, ""), ([1, 2], ""), (io.StringIO(), ""), (io.BytesIO(), "; pass its .read()")],
)
def test_source_of_another_kind(source, advice):
    with pytest.raises(TypeError, match=f"not {type(source).__name__}{re.escape(advice)}$"):
        dlpark.load_image(source)


@pytest.mark.parametrize(
    "keywords, error, text",
    [
        (dict(quality=0), ValueError, "quality is 0"),
        (dict(quality=101), ValueError, "101"),
        (dict(quality=1.5), TypeError, "^quality must be an integer, not float$"),
        (dict(quality="high"), TypeError, "^quality must be an integer, not str$"),
        (dict(compression=10), ValueError, "10"),
        (dict(subsampling="4:1:1"), ValueError, "4:1:1"),
        (dict(subsampling=411), ValueError, "411"),
        (dict(layout="hw"), ValueError, "layout is 'hw'"),
    ],
)
@pytest.mark.parametrize("format", ["jpeg", "webp", "png"])
def test_save_arguments(keywords, error, text, format):
    with pytest.raises(error, match=text):
        dlpark.encode_image(picture(), format, **keywords)


def test_encode_needs_a_format():
    with pytest.raises(TypeError):
        dlpark.encode_image(picture(), None)
    with pytest.raises(ValueError, match="'gif'"):
        dlpark.encode_image(picture(), "gif")


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda png: dlpark.load_image(png, orient="no"), "orient"),
        (lambda png: dlpark.load_image(png, tolerant="no"), "tolerant"),
        (lambda png: dlpark.image_info(png, orient=b"x"), "orient"),
        (lambda png: dlpark.encode_image(np.zeros((2, 3, 3), np.uint8), "png", progressive="no"), "progressive"),
        (lambda png: dlpark.encode_image(np.zeros((2, 3, 3), np.uint8), "webp", lossless="no"), "lossless"),
    ],
)
def test_a_text_is_no_truth_value(codecs, call, name):
    png = dlpark.encode_image(np.zeros((2, 3, 3), np.uint8), "png")
    with pytest.raises(TypeError, match=f"^{name} is b?'(no|x)', expected True or False$"):
        call(png)
