"""Pictures in the command `dlpark`, in and out, against Pillow and `dlpark.load_image`."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import time
import zlib

import numpy as np
import pytest
from PIL import Image
from test_command import command, run  # noqa: F401

import dlpark

pytestmark = pytest.mark.usefixtures("codecs")

ENDINGS = {"jpeg": "jpg", "png": "png", "webp": "webp"}
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def picture(channels=3, height=23, width=37, dtype=np.uint8):
    """Smooth, so that lossy formats stay close, and without a symmetry that would hide a flip."""
    y, x = np.mgrid[:height, :width]
    planes = [(x * (3 + c) + y * (5 - c) + 20 * c) % 256 for c in range(channels)]
    return (np.stack(planes, axis=-1) * (257 if dtype == np.uint16 else 1)).astype(dtype)


def save(path, array, format, **options):
    Image.fromarray(array.squeeze()).save(path, format, **options)
    return path


def by_pillow(path):
    with Image.open(path) as image:
        return np.asarray(image)


@pytest.fixture(params=ENDINGS)
def photo(request, tmp_path):
    """A picture of each format, and its name."""
    return request.param, save(tmp_path / f"photo.{ENDINGS[request.param]}", picture(), request.param)


# ---- info ----


def test_info_reads_the_header_alone(run, photo):  # noqa: F811
    format, path = photo
    done = run("info", path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{path}: {format}, 1 tensor, ")
    assert lines[1].split() == ["name", "dtype", "shape", "size"]
    assert lines[2].split() == ["image", "uint8", "[23,", "37,", "3]", "2.5", "KiB", "compressed"]
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 60])
    assert run("info", path).returncode == 0, "its end is pixels"


def test_info_for_programs(run, photo):  # noqa: F811
    format, path = photo
    answer = json.loads(run("info", "--json", path).stdout)
    assert answer["schema"] == "dlpark.info/1"
    tensor = {"name": "image", "dtype": "uint8", "type": "U8", "shape": [23, 37, 3], "offset": 0, "nbytes": 23 * 37 * 3, "flags": ["compressed"]}
    assert answer["files"] == [{"path": str(path), "format": format, "nbytes": path.stat().st_size, "metadata": {}, "tensors": [tensor]}]
    assert json.loads(run("info", "--json", "-x", "image", path).stdout)["files"][0]["tensors"] == []


@pytest.mark.parametrize("channels", MODES)
def test_the_shape_is_the_files(run, tmp_path, channels):  # noqa: F811
    path = save(tmp_path / "x.png", picture(channels), "png")
    assert json.loads(run("info", "--json", path).stdout)["files"][0]["tensors"][0]["shape"] == [23, 37, channels]
    shown = json.loads(run("show", "--json", path).stdout)["tensors"][0]
    assert (np.array(shown["values"]) == picture(channels)).all()


def test_a_picture_is_turned_as_it_says(run, tmp_path):  # noqa: F811
    exif = Image.Exif()
    exif[0x0112] = 6
    path = save(tmp_path / "x.jpg", picture(), "jpeg", exif=exif)
    (tensor,) = json.loads(run("info", "--json", path).stdout)["files"][0]["tensors"]
    assert tensor["shape"] == [37, 23, 3]
    assert json.loads(run("show", "--json", path).stdout)["tensors"][0]["values"] == np.asarray(dlpark.load_image(path)).tolist()


def test_files_of_all_kinds_stand_beside_each_other(run, photo, tmp_path):  # noqa: F811
    np.savez(tmp_path / "weights.npz", w=np.zeros(2, np.float32))
    dlpark.save(tmp_path / "model.safetensors", {"x": np.zeros(3)})
    done = run("info", "--json", "model.safetensors", photo[1], "weights.npz", "absent.png")
    files = json.loads(done.stdout)["files"]
    assert done.returncode == 3 and [file.get("format") for file in files] == ["safetensors", photo[0], "npz", None]
    assert files[3] == {"path": "absent.png", "error": "absent.png: No such file or directory"}


def test_a_huge_picture_is_not_decoded_for_its_shape(run, tmp_path):  # noqa: F811
    """16384 x 16384 of RGBA at 16 bits are 2 GiB of pixels, which no page of is touched."""
    path = tmp_path / "huge.png"
    path.write_bytes(png(struct.pack(">IIBBBBB", 16384, 16384, 16, 6, 0, 0, 0)))
    program = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(["python3", "-S", "-c", program, shutil.which("dlpark"), "info", path], capture_output=True, text=True, check=True, env=env)
    assert int(done.stdout) <= 512 * 1024  # in KiB; a sanitizer takes most of it
    (tensor,) = json.loads(run("info", "--json", path).stdout)["files"][0]["tensors"]
    assert (tensor["dtype"], tensor["nbytes"]) == ("uint16", 2**31)
    path.write_bytes(png(struct.pack(">IIBBBBB", 16385, 16384, 8, 0, 0, 0, 0)))
    refused = run("info", path)
    assert refused.returncode == 1 and "are 268451840 pixels, and max_pixels is 268435456" in refused.stderr


def png(header):
    """The signature, a header and an end."""
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    packed = [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


# ---- What a file is ----


def test_content_tells_and_names_lie(run, tmp_path):  # noqa: F811
    save(tmp_path / "x.png", picture(), "jpeg")
    save(tmp_path / "x.npy", picture(), "png")
    np.save(tmp_path / "array.npy", picture())
    (tmp_path / "array.npy").rename(tmp_path / "x.webp")
    dlpark.save(tmp_path / "x.safetensors", {"x": np.zeros(1)})
    (tmp_path / "x.safetensors").rename(tmp_path / "x.jpg")
    answer = json.loads(run("info", "--json", "x.png", "x.npy", "x.webp", "x.jpg").stdout)
    assert [file["format"] for file in answer["files"]] == ["jpeg", "png", "npy", "safetensors"]


@pytest.mark.parametrize("data", [b"\xff\xd8", b"\x89PNG\r\n\x1a", b"RIFF\0\0\0\0WEB", b"RIFF\x04\0\0\0WAVE" + bytes(20), b""])
def test_what_only_begins_like_a_picture_is_none(run, tmp_path, data):  # noqa: F811
    (tmp_path / "x.jpg").write_bytes(data)
    done = run("info", "x.jpg")
    assert done.returncode == 1 and "JPEG" not in done.stderr and "PNG" not in done.stderr


def test_format_refuses_any_other(run, photo, tmp_path):  # noqa: F811
    format, path = photo
    other = {"jpeg": "png", "png": "webp", "webp": "npy"}[format]
    for verb in ("info", "show", "stats"):
        assert run(verb, "--format", format, path).returncode == 0
        done = run(verb, "--format", other, path)
        assert (done.returncode, done.stderr) == (1, f"dlpark {verb}: {path}: is {format}, and was to be {other}\n")
    done = run("check", "--format", other, path)
    assert (done.returncode, done.stdout) == (1, f"{path}: byte 0: is {format}, and was to be {other} [format]\n")
    np.save(tmp_path / "x.npy", np.zeros(2))
    assert "x.npy: neither JPEG, PNG nor WebP" in run("info", "--format", format, "x.npy").stderr
    assert run("info", "--format", format, "absent").returncode == 3
    assert "did you mean 'jpeg'?" in run("info", "--format", "jpg", path).stderr + run("info", "--format", "jpge", path).stderr


def test_a_picture_comes_from_a_file_not_a_pipe(run, photo):  # noqa: F811
    format, path = photo
    done = run("info", "--format", format, "/dev/stdin", input=path.read_bytes(), text=False)
    assert done.returncode == 3 and b"is no regular file" in done.stderr


# ---- check ----


def test_check_decodes(run, photo):  # noqa: F811
    format, path = photo
    assert run("check", path).stdout == f"{path}: ok\n"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 60])
    done = run("check", path)
    assert (done.returncode, done.stderr) == (1, "")
    assert re.fullmatch(rf"{re.escape(str(path))}: byte 0: (?!{re.escape(str(path))}).+ \[picture\]\n", done.stdout)
    assert "tolerant" not in done.stdout
    answer = json.loads(run("check", "--json", path).stdout)["files"][0]
    assert (answer["ok"], answer["count"], answer["hazards"]) == (False, 1, [])
    assert answer["faults"][0]["rule"] == "picture" and answer["faults"][0]["tensor"] == ""
    for verb in ("show", "stats"):
        assert run(verb, path).returncode == 1


def test_a_byte_that_is_wrong_is_found(run, tmp_path):  # noqa: F811
    path = save(tmp_path / "x.png", picture(), "png")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert run("info", path).returncode == 0
    assert run("check", path).returncode == 1


# ---- show, stats, diff ----


def test_show_takes_slices(run, tmp_path):  # noqa: F811
    array = picture()
    path = save(tmp_path / "x.png", array, "png")
    done = run("show", path, "image[0:2, 0:3]", "image[-1, ..., 1]")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"image[0:2, 0:3]: u8[2, 3, 3] cpu strides [111, 3, 1] read-only\n{array[0:2, 0:3]}\n"
        f"image[-1, ..., 1]: u8[37] cpu strides [3] read-only\n"
        f"{np.array2string(array[-1, ..., 1], max_line_width=75)}\n"
    )
    assert run("show", path, "photo").returncode == 2


def test_16_bits_are_numbers_of_16_bits(run, tmp_path):  # noqa: F811
    array = picture(1, dtype=np.uint16)
    path = save(tmp_path / "x.png", array, "png")
    shown = json.loads(run("show", "--json", path).stdout)["tensors"][0]
    assert shown["dtype"] == "uint16" and (np.array(shown["values"]) == array).all()
    assert run("convert", path, "y.npy").returncode == 0
    assert (np.load(tmp_path / "y.npy") == array).all()
    assert run("convert", "y.npy", "z.png").returncode == 0
    assert (by_pillow(tmp_path / "z.png") == array.squeeze()).all()
    done = run("convert", "y.npy", "z.jpg")
    assert done.returncode == 2 and "JPEG stores 8 bits a sample, got u16" in done.stderr


def test_stats_are_of_the_pixels(run, photo):  # noqa: F811
    pixels = np.asarray(dlpark.load_image(photo[1])).astype(np.float64)
    (stats,) = json.loads(run("stats", "-g", "--json", photo[1]).stdout)["tensors"]
    assert (stats["name"], stats["count"], stats["min"], stats["max"]) == ("image", pixels.size, pixels.min(), pixels.max())
    assert stats["mean"] == pytest.approx(pixels.mean()) and sum(stats["histogram"]) == pixels.size


def test_diff_compares_pixels(run, tmp_path):  # noqa: F811
    array = picture()
    save(tmp_path / "a.png", array, "png")
    save(tmp_path / "b.webp", array, "webp", lossless=True)
    assert run("diff", "a.png", "b.webp").stdout == "1 tensor is the same, 0 differ\n"
    array[3, 4, 1] ^= 64
    save(tmp_path / "c.png", array, "png")
    done = run("diff", "a.png", "c.png")
    assert done.returncode == 1 and "image: 1 number differs, by at most 64 at [3, 4, 1]" in done.stdout
    save(tmp_path / "d.png", picture(height=2), "png")
    assert "image: shape [23, 37, 3] and [2, 37, 3]" in run("diff", "a.png", "d.png").stdout


# ---- convert: out of pictures ----


def test_a_picture_becomes_a_tensor_file(run, photo, tmp_path):  # noqa: F811
    pixels = np.asarray(dlpark.load_image(photo[1]))
    assert run("convert", photo[1], "x.npy").returncode == 0
    assert (np.load(tmp_path / "x.npy") == pixels).all()
    assert run("convert", photo[1], "x.safetensors", "--rename", "image=photo", "--align", "64").returncode == 0
    with dlpark.open(tmp_path / "x.safetensors") as file:
        assert list(file) == ["photo"] and file.metadata == {} and (np.from_dlpack(file["photo"]) == pixels).all()
    assert run("convert", photo[1], "c.npy", "--layout", "chw").returncode == 0
    assert (np.load(tmp_path / "c.npy") == pixels.transpose(2, 0, 1)).all()


def test_pixels_are_integers(run, photo, tmp_path):  # noqa: F811
    """Floats are from 0 to 1, as load_image has them; integers are --dtype's."""
    for dtype, made in (("f32", np.float32), ("f16", np.float16)):
        done = run("convert", photo[1], "x.npy", "--dtype", dtype, "--layout", "chw")
        assert (done.returncode, done.stderr) == (0, "")
        expected = dlpark.load_image(photo[1], dtype="float32", layout="chw").numpy().astype(made)
        np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), expected, strict=True)
    assert run("convert", photo[1], "y.npy", "--dtype", "i32").returncode == 0
    assert np.load(tmp_path / "y.npy").dtype == np.int32
    done = run("convert", photo[1], "y.npy", "--dtype", "u8")
    assert done.stderr == "dlpark convert: note: all tensors of integers are uint8 already, nothing was converted\n"


# ---- convert: into pictures ----


@pytest.mark.parametrize("channels", [0, 1, 2, 3, 4])
def test_an_array_becomes_a_picture(run, tmp_path, channels):  # noqa: F811
    array = picture(channels) if channels else picture(1)[..., 0]
    np.save(tmp_path / "x.npy", array)
    assert run("convert", "x.npy", "out.PNG").returncode == 0
    with Image.open(tmp_path / "out.PNG") as image:
        assert (image.format, image.mode) == ("PNG", MODES[channels or 1])
        assert (np.asarray(image) == array.squeeze()).all()


@pytest.mark.parametrize("name, format", [("a.jpg", "JPEG"), ("a.JPEG", "JPEG"), ("a.png", "PNG"), ("a.webp", "WEBP"), ("a.b.WebP", "WEBP")])
def test_the_end_of_a_name_says_the_format(run, tmp_path, name, format):  # noqa: F811
    np.save(tmp_path / "x.npy", picture())
    assert run("convert", "x.npy", name).returncode == 0
    with Image.open(tmp_path / name) as image:
        assert image.format == format
        assert np.abs(np.asarray(image).astype(int) - picture()).mean() < 12
    assert run("convert", "x.npy", "out", "--to", format.lower()).returncode == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / name).read_bytes()
    assert run("convert", "x.npy", name, "--to", "npy").returncode == 0
    assert (np.load(tmp_path / name) == picture()).all()


def test_picture_to_picture(run, photo, tmp_path):  # noqa: F811
    pixels = np.asarray(dlpark.load_image(photo[1]))
    for layout in ("hwc", "chw"):
        assert run("convert", photo[1], f"{layout}.png", "--layout", layout).returncode == 0
        assert (by_pillow(tmp_path / f"{layout}.png") == pixels).all()
    assert run("convert", photo[1], photo[1], "--to", "png").returncode == 0
    assert (by_pillow(photo[1]) == pixels).all()


def test_layout_is_of_the_array(run, tmp_path):  # noqa: F811
    np.save(tmp_path / "x.npy", picture().transpose(2, 0, 1))
    done = run("convert", "x.npy", "x.png")
    assert done.returncode == 2 and "expected 1 to 4 channels in dimension 2" in done.stderr and not (tmp_path / "x.png").exists()
    assert run("convert", "x.npy", "x.png", "--layout", "chw").returncode == 0
    assert (by_pillow(tmp_path / "x.png") == picture()).all()


def test_arrays_of_other_orders_and_dtypes(run, tmp_path):  # noqa: F811
    array = picture(3, dtype=np.uint16)
    np.save(tmp_path / "x.npy", np.asfortranarray(array).astype(">u2"))
    assert run("convert", "x.npy", "x.png").returncode == 0
    assert (np.asarray(dlpark.load_image(tmp_path / "x.png")) == array).all()
    np.save(tmp_path / "y.npy", picture().astype(np.int64))
    done = run("convert", "y.npy", "y.png")
    assert done.returncode == 2 and "pictures are stored as u8 or u16, got i64" in done.stderr
    assert run("convert", "y.npy", "y.png", "--dtype", "u8").returncode == 0
    assert (by_pillow(tmp_path / "y.png") == picture()).all()
    np.save(tmp_path / "z.npy", picture().astype(np.int64) * 2 - 100)
    assert run("convert", "z.npy", "z.png", "--dtype", "u8", "--overflow", "saturate").returncode == 0
    assert (by_pillow(tmp_path / "z.png") == np.clip(picture().astype(int) * 2 - 100, 0, 255)).all()


def test_quality_is_of_lossy_formats(run, photo, tmp_path):  # noqa: F811
    for ending in ("jpg", "webp"):
        for quality in (10, 95):
            assert run("convert", photo[1], f"{quality}.{ending}", "-q", str(quality)).returncode == 0
        assert (tmp_path / f"10.{ending}").stat().st_size < (tmp_path / f"95.{ending}").stat().st_size
    assert (tmp_path / "95.jpg").read_bytes() == dlpark.encode_image(dlpark.load_image(photo[1]), "jpeg", quality=95)


def test_one_tensor_of_several_is_chosen(run, tmp_path):  # noqa: F811
    dlpark.save(tmp_path / "x", {"a": picture(), "b": picture(1), "c": np.zeros(2)}, metadata={"k": "v"})
    done = run("convert", "x", "x.png")
    assert (done.returncode, done.stderr) == (2, "dlpark convert: x.png: a picture is one tensor, and 3 are chosen; --include chooses\n")
    assert run("convert", "x", "x.png", "-i", "z").stderr == "dlpark convert: no tensor matches --include z\n"
    done = run("convert", "x", "x.png", "-i", "a")
    assert done.returncode == 2 and "a picture has no place for metadata, and 1 were given; --no-metadata leaves them out" in done.stderr
    assert run("convert", "x", "x.png", "-i", "a", "--no-metadata").returncode == 0
    assert (by_pillow(tmp_path / "x.png") == picture()).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "x.png"]


@pytest.mark.parametrize(
    "array, arguments, text",
    [
        (np.zeros((2, 3), np.float32), ["out.png"], "pictures are stored as u8 or u16, got f32: scale to 0..255 and cast to u8 first"),
        (np.zeros((2, 3, 4, 5), np.uint8), ["out.png"], "expected a picture of rank 2 or 3, got [2, 3, 4, 5]"),
        (np.zeros((2, 0, 3), np.uint8), ["out.png"], "expected a picture with pixels, got [2, 0, 3]"),
        (np.zeros((2, 3, 4), np.uint8), ["out.jpg"], "JPEG cannot store alpha"),
        (np.zeros((2, 3), np.uint8), ["out.png", "--quality", "90"], "--quality is of JPEG and WebP, and out.png becomes neither"),
        (np.zeros((2, 3), np.uint8), ["out.npy", "--quality", "90"], "--quality is of JPEG and WebP, and out.npy becomes neither"),
        (np.zeros((2, 3), np.uint8), ["out.jpg", "--quality", "0"], "--quality 0: expected a number from 1 to 100"),
        (np.zeros((2, 3), np.uint8), ["out.jpg", "--quality", "9x"], "--quality 9x: expected a number from 1 to 100"),
        (np.zeros((2, 3), np.uint8), ["out.jpg", "--quality", "4294967386"], "expected a number from 1 to 100"),
        (np.zeros((2, 3), np.uint8), ["out.jpg", "--layout", "cwh"], "--layout cwh: expected hwc or chw"),
        (np.zeros((2, 3), np.uint8), ["out.npy", "--layout", "chw"], "--layout is of pictures, and neither x.npy nor out.npy is one"),
        (np.zeros((2, 3), np.uint8), ["out.png", "--align", "64"], "--align is of tensor files, and out.png becomes a picture"),
        (np.zeros((2, 3), np.uint8), ["out.png", "--sync"], "--sync is of tensor files, and out.png becomes a picture"),
        (np.zeros((2, 3), np.uint8), ["out.png", "--rename", "a=b"], "--rename is of tensor files, and out.png becomes a picture"),
    ],
)
def test_what_is_no_picture_is_told(run, tmp_path, array, arguments, text):  # noqa: F811
    np.save(tmp_path / "x.npy", array)
    done = run("convert", "x.npy", *arguments)
    assert done.returncode == 2 and text in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_what_cannot_be_written_or_read(run, tmp_path):  # noqa: F811
    np.save(tmp_path / "x.npy", picture())
    done = run("convert", "x.npy", "absent/x.png")
    assert done.returncode == 3 and "No such file" in done.stderr
    assert run("convert", "absent.npy", "x.png").returncode == 3
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-9])
    assert run("convert", "x.npy", "x.png").returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_a_link_in_the_place_of_a_picture_is_replaced(run, tmp_path):  # noqa: F811
    np.save(tmp_path / "x.npy", picture())
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "x.png").symlink_to("real")
    assert run("convert", "x.npy", "x.png").returncode == 0
    assert not (tmp_path / "x.png").is_symlink() and (by_pillow(tmp_path / "x.png") == picture()).all()
    assert (tmp_path / "real").read_bytes() == b"before"


def test_a_limit_on_file_sizes_leaves_the_old_picture(command, tmp_path):  # noqa: F811
    import resource

    np.save(tmp_path / "x.npy", np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))
    (tmp_path / "x.png").write_bytes(b"before")
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))  # noqa: E731
    done = subprocess.run([command, "convert", tmp_path / "x.npy", tmp_path / "x.png"], stderr=subprocess.PIPE, text=True, check=False, env=env, preexec_fn=limit)
    assert done.returncode == 3 and "too large" in done.stderr
    assert (tmp_path / "x.png").read_bytes() == b"before" and sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "x.png"]


def test_an_interrupted_convert_leaves_the_old_picture_or_a_whole_one(command, tmp_path):  # noqa: F811
    array = np.random.default_rng(0).integers(0, 256, (1500, 1500, 3), np.uint8)
    np.save(tmp_path / "x.npy", array)
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    codes = set()
    for wait in (0.001, 0.02, 0.1, 0.3):
        (tmp_path / "x.png").write_bytes(b"before")
        process = subprocess.Popen([command, "convert", tmp_path / "x.npy", tmp_path / "x.png"], stderr=subprocess.DEVNULL, env=env)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        process.wait(120)
        codes.add(process.returncode)
        whole = (tmp_path / "x.png").read_bytes() != b"before"
        assert whole == (process.returncode == 0), process.returncode
        assert not whole or by_pillow(tmp_path / "x.png").shape == array.shape
        assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "x.png"]
    assert codes <= {0, 130, -signal.SIGINT}


# ---- The page ----

ROOT = pathlib.Path(__file__).parents[2]


def test_the_page_shows_what_the_command_prints(run, tmp_path):  # noqa: F811
    shutil.copy(ROOT / "demos" / "image-python" / "photo.jpg", tmp_path)
    chapter = (ROOT / "docs" / "command.md").read_text().partition("## Pictures\n")[2]
    session = re.search(r"^```\n(\$ .*?)^```", chapter, re.MULTILINE | re.DOTALL)[1]
    parts = [part.partition("\n") for part in session.split("$ dlpark ")[1:]]
    assert len(parts) == 4
    for line, _, expected in parts:
        done = run(*shlex.split(line))
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, ""), line


def test_every_example_of_the_help_is_understood(run, tmp_path):  # noqa: F811
    """Those of pictures, on pictures of these names."""
    for name in ("photo.jpg", "before.png", "after.png", "photos/a.jpg", "photos/b.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        save(tmp_path / name, picture(), "jpeg" if name.endswith("jpg") else "png")
    dlpark.save(tmp_path / "model.safetensors", {"x": np.zeros(3)})
    np.savez(tmp_path / "weights.npz", w=np.zeros(2))
    count = 0
    for verb in ("info", "check", "show", "stats", "diff", "convert"):
        for line in run(verb, "--help").stdout.split("Examples:\n")[1].splitlines():
            if re.search(r"photo|\.png", line):
                words = ["photos/a.jpg", "photos/b.jpg"] if "*" in line else shlex.split(line)[2:]
                assert run(verb, *words).returncode == 0, line
                count += 1
    assert count == 7


# ---- Without codecs ----


@pytest.fixture
def plain(run, monkeypatch):  # noqa: F811
    """The command as it is built with the core alone."""
    path = pathlib.Path(os.environ["DLPARK_PROBE"]) / "dlpark_plain"
    assert path.exists(), f"{path} was not built: DLPARK_PYTHON_PROBE builds it"

    def plain(*arguments, cwd):
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        return subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60, check=False, env=env, cwd=cwd)

    return plain


def test_without_codecs_a_picture_is_told_by_name(plain, photo, tmp_path):
    format, path = photo
    title = {"jpeg": "a JPEG picture", "png": "a PNG picture", "webp": "a WebP picture"}[format]
    for verb in ("info", "check", "show", "stats"):
        done = plain(verb, path.name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == f"dlpark {verb}: {path.name}: is {title}, and this dlpark was built without pictures\n"
    assert plain("diff", path.name, path.name, cwd=tmp_path).returncode == 3
    np.save(tmp_path / "x.npy", picture())
    done = plain("convert", "x.npy", f"out.{ENDINGS[format]}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, f"dlpark convert: out.{ENDINGS[format]}: is to be {title}, and this dlpark was built without pictures\n")
    assert plain("convert", path.name, "y.npy", cwd=tmp_path).returncode == 3
    assert plain("convert", "x.npy", "x.safetensors", cwd=tmp_path).returncode == 0
    assert plain("show", "x.npy", cwd=tmp_path).returncode == 0
