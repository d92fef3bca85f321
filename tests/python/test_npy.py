"""Files of NumPy's arrays, .npy: read as NumPy reads them, and written as it writes them."""

import io
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import dlpark

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (1,), (7,), (0,), (3, 4), (1, 5), (5, 1), (3, 0, 2), (2, 3, 4), (1, 2, 1, 3), (2, 1, 3, 2, 2)]


def array_of(dtype, shape):
    """Elements that can be told apart."""
    numel = int(np.prod(shape, dtype=np.int64))
    if np.dtype(dtype) == bool:
        return (np.arange(numel) % 3 == 0).reshape(shape)
    values = (np.arange(numel) * 3 % 5000 + 1).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values += np.array(1j, dtype) * np.arange(numel).astype(values.real.dtype)
    return values.reshape(shape)


def written(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


def assert_same(tensor, array):
    np.testing.assert_array_equal(tensor.numpy(), array.astype(array.dtype.newbyteorder("=")), strict=True)


# ---- Reading ----


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_numpy_saves_is_read(tmp_path, dtype, shape):
    for order in "CF":
        for sign in "<>":
            array = np.asarray(array_of(dtype, shape), np.dtype(dtype).newbyteorder(sign), order=order)
            np.save(tmp_path / "x.npy", array)
            with dlpark.open(tmp_path / "x.npy") as file:
                assert (file.format, list(file), len(file), file.metadata) == ("npy", ["arr_0"], 1, {})
                assert_same(file["arr_0"], array)
                assert_same(file.load("arr_0"), array)
                info = file.info("arr_0")
                assert (info.name, info.dtype, info.shape, info.nbytes) == ("arr_0", file["arr_0"].dtype, shape, array.nbytes)
                assert info.type == array.dtype.str
                assert info.column_major == (array.flags.f_contiguous and not array.flags.c_contiguous)
                assert info.byteswapped == (array.dtype.byteorder == ">") and not info.compressed


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)], ids=str)
@pytest.mark.parametrize("order", "CF")
def test_every_version_is_read(version, order):
    for dtype in DTYPES:
        array = np.asarray(array_of(dtype, (2, 3, 4)), order=order)
        tensor = dlpark.load(written(array, version))["arr_0"]
        assert_same(tensor, array)
        assert tensor.strides == tuple(stride // array.itemsize for stride in array.strides)


@pytest.mark.parametrize("order", "CF")
def test_a_file_is_mapped(tmp_path, order):
    """No copy: the tensor is the file, read-only, with the strides that NumPy's own mapping has."""
    array = np.asarray(array_of("f4", (300, 7)), order=order)
    np.save(tmp_path / "x.npy", array)
    with dlpark.open(tmp_path / "x.npy") as file:
        tensor, again = file["arr_0"], file["arr_0"]
        offset = file.info("arr_0").offset
    theirs = np.load(tmp_path / "x.npy", mmap_mode="r")
    view = tensor.numpy()
    assert tensor.readonly and not view.flags.writeable and view.strides == theirs.strides == array.strides
    assert view.ctypes.data == again.numpy().ctypes.data
    mappings = [line.split() for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if line.endswith("x.npy")]
    starts = [int(fields[0].split("-")[0], 16) for fields in mappings]
    assert view.ctypes.data - offset in starts
    with pathlib.Path(tmp_path / "x.npy").open("r+b") as changed:
        changed.seek(offset)
        changed.write(np.float32(-5).tobytes())
    assert view[0, 0] == -5
    with dlpark.open(tmp_path / "x.npy", private=True) as file:
        file["arr_0"].numpy()[0, 0] = 9
    assert np.load(tmp_path / "x.npy")[0, 0] == -5


def test_the_other_byte_order_is_loaded(tmp_path):
    """numpy.load gives an array in the other order; DLPack has none, so the tensor is a copy in this one."""
    for order in "CF":
        array = np.asarray(array_of("c16", (3, 4)), ">c16", order=order)
        np.save(tmp_path / "x.npy", array)
        with dlpark.open(tmp_path / "x.npy") as file:
            tensor = file["arr_0"]
            assert not tensor.readonly and tensor.is_copied
            assert_same(tensor, array)
            assert_same(tensor[1:, ::2], array[1:, ::2])


def test_what_numpy_refuses_or_pickles_is_refused_by_name():
    structured = np.zeros(2, [("x", "f4"), ("y", "i4", (2,))])
    for array, text in (
        (np.array([1, "a", None], object), "Python objects: that is a pickle"),
        (structured, r"the dtype has fields \('x', 'y'\)"),
        (np.array(["ab"]), "text of 32-bit characters"),
        (np.array([b"ab"]), "text of bytes"),
        (np.zeros(2, "V2"), "raw bytes; if they were bfloat16"),
        (np.zeros(2, "M8[ns]"), "dates or times"),
        (np.zeros(2, "m8[s]"), "dates or times"),
        (np.zeros(2, np.longdouble), "a long double"),
        (np.zeros(2, np.clongdouble), "a long double"),
    ):
        with pytest.raises(ValueError, match=text):
            dlpark.open(written(array))


def test_ml_dtypes_lose_their_names():
    """What ml_dtypes' bfloat16 becomes in NumPy's format is two bytes of anything."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(ValueError, match=r"dtype '[<|]V2' is of raw bytes"):
        dlpark.open(written(np.zeros(2, ml_dtypes.bfloat16)))


def test_more_than_the_data_is_left(tmp_path):
    """As numpy.load does it: what is behind the array is not looked at, and less is an error."""
    data = written(array_of("i4", (2, 3)))
    assert_same(dlpark.load(data + b"more")["arr_0"], array_of("i4", (2, 3)))
    with pytest.raises(ValueError, match=r"shape \[2, 3\] of <i4 has 24 bytes, and there are 23 behind the header"):
        dlpark.open(data[:-1])


def test_a_format_can_be_asked_for(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    assert dlpark.open(tmp_path / "x.npy", format="npy").format == "npy"
    with pytest.raises(ValueError, match="is npy, and was to be safetensors"):
        dlpark.open(tmp_path / "x.npy", format="safetensors")
    dlpark.save(tmp_path / "x.safetensors", {"x": np.zeros(3)})
    with pytest.raises(ValueError, match="does not begin as an array of NumPy's"):
        dlpark.open(tmp_path / "x.safetensors", format="npy")


# ---- Writing ----


@pytest.mark.parametrize("shape", [*SHAPES, (10,), (123456,), (1, 10, 10, *[1] * 11), (1,) * 32, (1,) * 64], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bytes_are_numpys(tmp_path, dtype, shape):
    array = array_of(dtype, shape)
    dlpark.save(tmp_path / "ours.npy", {"any name": array})
    np.save(tmp_path / "theirs.npy", array)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


def test_strided_arrays_are_written_row_major(tmp_path):
    array = array_of("f4", (300, 70, 3))
    for name, view in {"transposed": array.T, "reversed": array[::-1, :, ::-1], "part": array[::2, 3:5]}.items():
        dlpark.save(tmp_path / "x.npy", {name: view})
        assert (tmp_path / "x.npy").read_bytes() == written(np.ascontiguousarray(view))
    dlpark.save(tmp_path / "x.bin", {"x": array}, format="npy")
    np.testing.assert_array_equal(np.load(tmp_path / "x.bin"), array)


@pytest.mark.parametrize("alignment", [1, 32, 64, 128, 4096])
def test_the_data_begins_where_it_is_asked_for(tmp_path, alignment):
    array = array_of("i8", (5, 5))
    dlpark.save(tmp_path / "x.npy", {"x": array}, alignment=alignment)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), array)
    with dlpark.open(tmp_path / "x.npy") as file:
        assert file.info("arr_0").offset % max(alignment, 64) == 0
    if alignment <= 64:
        assert (tmp_path / "x.npy").read_bytes() == written(array)


def test_what_cannot_be_saved_leaves_everything_as_it_was(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"before")
    bfloat16 = dlpark.from_dlpack(np.zeros(2, np.float32)).astype("bfloat16")
    for tensors, options, text in (
        ({}, {}, "an npy file has one tensor, and 0 were given"),
        ({"a": np.zeros(2), "b": np.zeros(2)}, {}, "an npy file has one tensor, and 2 were given"),
        ({"a": np.zeros(2)}, {"metadata": {"k": "v"}}, "an npy file has no place for metadata, and 1 were given"),
        ({"a": bfloat16}, {}, "tensor 'a': npy has no dtype for bfloat16"),
    ):
        with pytest.raises(ValueError, match=text):
            dlpark.save(tmp_path / "x.npy", tensors, **options)
    assert (tmp_path / "x.npy").read_bytes() == b"before" and len(os.listdir(tmp_path)) == 1


def test_no_metadata_is_no_metadata(tmp_path):
    dlpark.save(tmp_path / "x.npy", {"x": np.zeros(2)}, metadata={})
    assert np.load(tmp_path / "x.npy").tolist() == [0, 0]


# ---- The command ----


@pytest.fixture
def run(tmp_path):
    command = shutil.which("dlpark")
    assert command is not None, "dlpark is not on the PATH"
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}

    def run(*arguments):
        return subprocess.run([command, *arguments], capture_output=True, text=True, timeout=120, cwd=tmp_path, env=env, check=False)

    return run


@pytest.fixture
def four(tmp_path):
    """One array in both layouts and both byte orders."""
    array = array_of("f4", (50, 40))
    names = []
    for order in "CF":
        for sign in "<>":
            names.append({"<": "little", ">": "big"}[sign] + order + ".npy")
            np.save(tmp_path / names[-1], np.asarray(array, np.dtype("f4").newbyteorder(sign), order=order))
    return array, names


def test_info_says_what_is_special(run, four):
    words = {"littleC.npy": [], "bigC.npy": ["big-endian"], "littleF.npy": ["column-major"], "bigF.npy": ["column-major", "big-endian"]}
    for name in four[1]:
        line = run("info", name).stdout.splitlines()[-1]
        assert line.split("KiB")[1].strip() == ", ".join(words[name])
        (tensor,) = json.loads(run("info", "--json", name).stdout)["files"][0]["tensors"]
        assert tensor["flags"] == words[name] and tensor["type"] == ("<f4" if "little" in name else ">f4")


def test_every_verb_sees_the_same_numbers(run, four, tmp_path):
    array, names = four
    np.save(tmp_path / "other.npy", array + np.eye(50, 40, dtype="f4"))
    for name in names:
        (shown,) = json.loads(run("show", "--json", name).stdout)["tensors"]
        assert shown["values"] == array.tolist()
        (part,) = json.loads(run("show", "--json", name, "arr_0[3:5, ::7]").stdout)["tensors"]
        assert part["values"] == array[3:5, ::7].tolist()
        (stats,) = json.loads(run("stats", "--json", name).stdout)["tensors"]
        assert (stats["min"], stats["max"]) == (array.min(), array.max())
        assert stats["mean"] == pytest.approx(array.mean(dtype=float), rel=1e-12)
        assert run("diff", "littleC.npy", name).stdout.startswith("1 tensor is the same")
        differs = run("diff", name, "other.npy")
        assert differs.returncode == 1 and differs.stdout.startswith("arr_0: 40 numbers differ, by at most 1 at [0, 0]")
        assert run("convert", name, "out.npy").returncode == 0
        assert (tmp_path / "out.npy").read_bytes() == written(array)
        assert run("convert", name, "out.safetensors", "--rename", "arr_0=w").returncode == 0
        np.testing.assert_array_equal(dlpark.load(tmp_path / "out.safetensors")["w"].numpy(), array)
        assert run("check", name).stdout == f"{name}: ok\n"


def test_a_large_column_major_array_is_converted(run, tmp_path):
    """Larger than what is read whole, and in more than one piece."""
    array = np.asarray(np.arange(1700 * 2700, dtype="i4").reshape(1700, 2700), order="F")
    np.save(tmp_path / "x.npy", array)
    assert run("convert", "x.npy", "y.npy").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), array)


def test_texts_are_left_out_only_when_asked(run, tmp_path):
    dlpark.save(tmp_path / "x.safetensors", {"a": np.zeros(2, "f4"), "b": np.ones(3, "i2")}, metadata={"k": "v"})
    done = run("convert", "x.safetensors", "x.npy", "--include", "b")
    assert done.returncode == 2 and "has no place for metadata" in done.stderr
    assert run("convert", "x.safetensors", "x.npy", "--include", "b", "--no-metadata").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.ones(3, "i2"), strict=True)
    done = run("convert", "x.safetensors", "all.npy", "--no-metadata")
    assert done.returncode == 2 and "has one tensor, and 2 were given" in done.stderr
    assert run("convert", "x.safetensors", "y.safetensors", "--no-metadata").returncode == 0
    assert dlpark.open(tmp_path / "y.safetensors").metadata == {}


def test_faults_are_told_with_byte_and_rule(run, tmp_path):
    (tmp_path / "x.npy").write_bytes(written(np.zeros(3)).replace(b"(3,)", b"(-3,)").replace(b"<f8", b"<V8"))
    done = run("check", "x.npy")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "x.npy: byte 20: dtype '<V8' is of raw bytes; if they were bfloat16 or a float8, the format has lost that: save them as integers [dtype]",
        "x.npy: byte 61: shape[0] is -3 [shape]",
    ]
