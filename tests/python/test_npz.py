"""Archives of NumPy's arrays, .npz: read as NumPy reads them, refused where readers disagree, written for it to read."""

import io
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import threading
import time
import warnings
import zipfile
import zlib

import numpy as np
import pytest

import dlpark
from dlpark import _files

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases" / "npz"

ARRAYS = {
    "weight": np.arange(12, dtype="f4").reshape(3, 4),
    "fortran": np.asfortranarray(np.arange(6, dtype="i2").reshape(2, 3)),
    "big": np.arange(5, dtype=">c16") * (1 - 2j),
    "scalar": np.array(2.5),
    "none": np.zeros((0, 3), "u1"),
    "folder/é": np.array([True, False]),
    "long": np.arange(70000, dtype="u2") % 251,
}


def saved(save, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def assert_same(tensor, array):
    np.testing.assert_array_equal(tensor.numpy(), array.astype(array.dtype.newbyteorder("=")), strict=True)


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), **options)
    return file.getvalue()


def archive(members, **options):
    """Members are (name or ZipInfo, bytes)."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that come twice
        with zipfile.ZipFile(file, "w", **options) as made:
            for name, data in members:
                made.writestr(name, data)
    return file.getvalue()


def refused(data, *texts):
    with pytest.raises(ValueError) as caught:
        dlpark.open(data)
    for text in texts:
        assert text in str(caught.value)


# ---- Reading ----


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed], ids=["stored", "deflated"])
def test_what_numpy_saves_is_read(tmp_path, save):
    save(tmp_path / "x.npz", **ARRAYS)
    compressed = save is np.savez_compressed
    with dlpark.open(tmp_path / "x.npz") as file:
        assert (file.format, list(file), file.metadata) == ("npz", list(ARRAYS), {})
        for name, array in ARRAYS.items():
            assert_same(file[name], array)
            assert_same(file.load(name), array)
            info = file.info(name)
            assert (info.shape, info.type, info.nbytes) == (array.shape, array.dtype.str, array.nbytes)
            assert info.compressed == compressed
            assert file[name].strides == tuple(stride // array.itemsize for stride in array.strides) or array.size == 0
    for name, tensor in dlpark.load((tmp_path / "x.npz").read_bytes()).items():
        assert_same(tensor, ARRAYS[name])


def test_stored_arrays_are_mapped_and_deflated_ones_loaded(tmp_path):
    np.savez(tmp_path / "s.npz", a=ARRAYS["long"])
    np.savez_compressed(tmp_path / "d.npz", a=ARRAYS["long"])
    with dlpark.open(tmp_path / "s.npz") as file:
        info, tensor = file.info("a"), file["a"]
        assert tensor.readonly and tensor.numpy().ctypes.data % info.alignment == 0
        assert np.memmap(tmp_path / "s.npz", "u2", "r", info.offset, info.shape)[7] == tensor.numpy()[7]
        with pathlib.Path(tmp_path / "s.npz").open("r+b") as changed:
            changed.seek(info.offset)
            changed.write(b"\x39\x30")
        assert tensor.numpy()[0] == 12345
    with dlpark.open(tmp_path / "d.npz") as file:
        assert not file["a"].readonly and file["a"].is_copied


def test_arrays_without_names_are_numbered():
    tensors = dlpark.load(saved(lambda file: np.savez(file, np.arange(2), np.arange(3))))
    assert {name: tensor.shape for name, tensor in tensors.items()} == {"arr_0": (2,), "arr_1": (3,)}


class Forward(io.RawIOBase):
    """What can only be written to its end: zipfile puts sizes behind members then."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("wide", [False, True])
def test_sizes_behind_members(method, wide):
    stream = Forward()
    with zipfile.ZipFile(stream, "w", method) as made:
        for name, array in ARRAYS.items():
            with made.open(f"{name}.npy", "w", force_zip64=wide) as member:
                member.write(npy(array))
    for name, tensor in dlpark.load(bytes(stream.data)).items():
        assert_same(tensor, ARRAYS[name])


def test_comments_and_extra_fields():
    file = io.BytesIO(saved(np.savez, a=np.arange(3)))
    with zipfile.ZipFile(file, "a") as made:
        info = zipfile.ZipInfo("b.npy")
        info.comment = b"of a member"
        info.extra = struct.pack("<HH4s", 0xCAFE, 4, b"abcd")
        made.writestr(info, npy(np.arange(4)))
        made.comment = b"of all " * 100
    assert {name: tensor.shape for name, tensor in dlpark.load(file.getvalue()).items()} == {"a": (3,), "b": (4,)}


def test_many_members():
    """More than 16 bits count."""
    data = archive([(f"{i}.npy", npy(np.uint8(i % 251))) for i in range(70000)])
    assert np.load(io.BytesIO(data))["69999"] == 69999 % 251
    with dlpark.open(data) as file:
        assert len(file) == 70000
        assert [int(file[f"{i}"].numpy()) for i in (0, 65535, 69999)] == [0, 65535 % 251, 69999 % 251]


# ---- What is refused ----


def test_what_is_no_array_is_refused_by_name():
    good = ("a.npy", npy(np.arange(3)))
    refused(archive([good, ("readme.txt", b"hello")]), "'readme.txt'", "is no array")
    refused(archive([good, ("o.npy", npy(np.array([{}], object), allow_pickle=True))]), "tensor 'o'", "|O")
    refused(archive([good, ("s.npy", npy(np.zeros(2, "i4,f4")))]), "tensor 's'")
    refused(archive([good, ("u.npy", npy(np.array("text")))]), "tensor 'u'", "<U4")
    refused(archive([good, ("long.npy", good[1] + b"x")]), "tensor 'long'", "152 bytes with its header, the member 153")
    refused(archive([good, ("short.npy", good[1][:-1])]), "tensor 'short'")


@pytest.mark.parametrize("name", ["/a.npy", "../a.npy", "a/../b.npy", "a\\b.npy", "./a.npy"])
def test_names_that_lead_elsewhere(name):
    info = zipfile.ZipInfo("x" * len(name))
    data = archive([(info, npy(np.arange(3)))]).replace(b"x" * len(name), name.encode())
    refused(data, "its name")
    with pytest.raises(ValueError, match="its name"):
        dlpark.save("nowhere.npz", {name.removesuffix(".npy"): np.arange(3)})
    assert not pathlib.Path("nowhere.npz").exists()


def test_members_of_one_name():
    refused(archive([("a.npy", npy(1)), ("a.npy", npy(2))]), "tensor 'a'", "two tensors of this name")
    refused(archive([("a.npy", npy(1)), ("a", npy(2))]), "tensor 'a'", "two tensors of this name")


def test_a_name_that_numpy_takes_for_anothers_file():
    """NumPy gives `x` where "x.npy" is asked for, and never the tensor of that name."""
    data = archive([("x.npy.npy", npy(np.arange(2))), ("x.npy", npy(np.arange(3)))])
    refused(data, "'x.npy'", "NumPy takes its name for the file of the tensor without the .npy")
    assert list(dlpark.open(archive([("x.npy.npy", npy(np.arange(2))), ("y.npy", npy(np.arange(3)))]))) == ["x.npy", "y"]


def test_headers_have_a_limit_together():
    """Each is within the limit of one, and deflated they take no room."""
    array = npy(np.arange(3))
    header = array[10:-24].rstrip()
    long = b"\x93NUMPY\2\0" + struct.pack("<I", 1000000) + header.ljust(999999) + b"\n" + array[-24:]
    members = [(f"{i}.npy", long) for i in range(100)]
    assert len(dlpark.open(archive(members[:99], compression=zipfile.ZIP_DEFLATED))) == 99
    refused(archive(members, compression=zipfile.ZIP_DEFLATED), "'99'", "the headers of arrays to this one have 100001200 bytes")


def test_other_methods_and_folders():
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(archive([("a.npy", npy(1))], compression=method), "tensor 'a'", "is packed by method")
    refused(archive([("a.npy", npy(1)), ("folder/", b"")]), "'folder/'", "is a folder")


def test_bytes_that_are_of_no_member():
    data = saved(np.savez, a=np.arange(3))
    with pytest.raises(ValueError, match="the header has"):
        dlpark.open(b"x" + data)  # not even told to be an archive
    with pytest.raises(ValueError, match="the directory has"):
        dlpark.open(b"#!/bin/sh\n" + data, format="npz")
    refused(data + b"x", "are behind its end")
    refused(data[:-1], "cut short")


def bomb(nbytes):
    """Zeros that say to be an array of them."""
    head = npy(np.zeros(0, "u1")).replace(b"(0,), }".ljust(20), f"({nbytes},), }}".ljust(20).encode())
    return head + bytes(nbytes)


def test_bombs_are_refused_before_they_are_unpacked():
    inner = bomb(1 << 20)
    data = archive([("a.npy", inner)], compression=zipfile.ZIP_DEFLATED)
    assert len(data) < 3000 and dlpark.load(data)["a"].shape == (1 << 20,)  # which is what it says
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packed.compress(inner) + packed.flush()
    entry = data.index(b"PK\1\2")
    claims = bytearray(data)
    for at in (22, entry + 24):
        claims[at : at + 4] = struct.pack("<I", 1033 * len(packed))
    refused(bytes(claims), "cannot be packed into")
    for at in (22, entry + 24):  # an array and a directory that lie to each other
        claims[at : at + 4] = struct.pack("<I", 4096)
    refused(bytes(claims), "tensor 'a'")
    liar = bytearray(archive([("a.npy", bomb(1000)[:-1] + b"\1" * 100000)], compression=zipfile.ZIP_DEFLATED))
    for at in (22, bytes(liar).index(b"PK\1\2") + 24):
        liar[at : at + 4] = struct.pack("<I", 1128)
    with dlpark.open(bytes(liar)) as file, pytest.raises(ValueError, match="unpack to more than the directory says"):
        file.load("a")


def test_archives_within_archives_are_not_looked_into():
    data = archive([("a.npy", npy(np.zeros(1000)))], compression=zipfile.ZIP_DEFLATED)
    for _ in range(5):
        data = archive([("a.npz", data)], compression=zipfile.ZIP_DEFLATED)
    refused(data, "'a.npz'", "is no array")


def test_the_sum_of_deflated_bytes_is_verified():
    data = bytearray(saved(np.savez_compressed, a=np.arange(1000)))
    entry = bytes(data).index(b"PK\1\2")
    for at in (14, entry + 16):
        data[at] ^= 1
    with dlpark.open(bytes(data)) as file, pytest.raises(ValueError, match="another CRC-32"):
        file.load("a")


def test_threads_read_one_archive():
    data = saved(np.savez_compressed, **ARRAYS)
    faults = []

    def work(file):
        try:
            for name, array in ARRAYS.items():
                assert_same(file.load(name), array)
        except AssertionError as fault:
            faults.append(fault)

    with dlpark.open(data) as file:
        workers = [threading.Thread(target=work, args=(file,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not faults


# ---- Writing ----


@pytest.mark.parametrize("alignment", [None, 1, 64, 4096])
def test_what_is_saved_numpy_reads(tmp_path, alignment):
    path = tmp_path / "x.npz"
    dlpark.save(path, {name: np.asarray(array, array.dtype.newbyteorder("=")) for name, array in ARRAYS.items()}, alignment=alignment)
    with zipfile.ZipFile(path) as made:
        assert made.testzip() is None
        assert {info.date_time for info in made.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    with np.load(path) as theirs:
        assert theirs.files == list(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(theirs[name], array.astype(array.dtype.newbyteorder("=")), strict=True)
    with dlpark.open(path) as file:
        for name, array in ARRAYS.items():
            assert_same(file[name], array)
            assert file.info(name).offset % (alignment or 64) == 0


@pytest.mark.parametrize("compress", [True, 1, 9])
def test_what_is_compressed_numpy_reads(tmp_path, compress):
    native = {name: np.asarray(array, array.dtype.newbyteorder("=")) for name, array in ARRAYS.items()}
    native["noise"] = np.random.default_rng(1).integers(0, 256, 3 << 20, np.uint8)  # which is stored, in blocks
    native["steps"] = np.arange(2 << 20) // 1000
    dlpark.save(tmp_path / "x.npz", native, compress=compress)
    dlpark.save(tmp_path / "y.npz", native, compress=compress)
    assert (tmp_path / "x.npz").read_bytes() == (tmp_path / "y.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "x.npz") as made:
        assert made.testzip() is None
        assert {info.compress_type for info in made.infolist()} == {zipfile.ZIP_DEFLATED}
        assert {info.date_time for info in made.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    with np.load(tmp_path / "x.npz") as theirs, dlpark.open(tmp_path / "x.npz") as file:
        assert theirs.files == list(file) == list(native)
        for name, array in native.items():
            np.testing.assert_array_equal(theirs[name], array, strict=True)
            assert_same(file[name], array)
            assert file.info(name).compressed
    np.savez_compressed(tmp_path / "numpy.npz", **native)
    assert compress == 1 or (tmp_path / "x.npz").stat().st_size < 1.01 * (tmp_path / "numpy.npz").stat().st_size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["numpy.npz", "x.npz", "y.npz"]


def test_what_cannot_be_compressed_is_told(tmp_path):
    tensors = {"a": np.arange(3)}
    for options, error, text in [
        ({"compress": 0}, ValueError, "compress is 0, expected 1 to 9"),
        ({"compress": 10}, ValueError, "compress is 10"),
        ({"compress": "9"}, TypeError, "compress must be True, False or a level, not '9'"),
        ({"compress": True, "alignment": 64}, ValueError, "what is deflated has none"),
        ({"compress": True, "format": "safetensors"}, ValueError, "safetensors files are not deflated, npz files are"),
    ]:
        with pytest.raises(error, match=text):
            dlpark.save(tmp_path / "x.npz", tensors, **options)
    assert not list(tmp_path.iterdir())


def test_compressing_is_interrupted_at_once(tmp_path, command):
    """And not when the tensor is packed, which takes seconds."""
    dlpark.save(tmp_path / "x", {"a": np.random.default_rng(1).integers(0, 12, 64 << 20, np.uint8)})
    process = subprocess.Popen([shutil.which("dlpark"), "convert", "-z", tmp_path / "x", tmp_path / "y.npz"], stderr=subprocess.PIPE)
    while len(list(tmp_path.iterdir())) == 1:
        time.sleep(0.01)
    time.sleep(0.2)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert b"interrupted" in process.communicate()[1] and process.returncode == 130
    assert time.monotonic() - began < 2
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_the_command_compresses(tmp_path, command):
    np.savez(tmp_path / "s.npz", **ARRAYS)
    command("convert", "--compress", tmp_path / "s.npz", tmp_path / "c.npz")
    with zipfile.ZipFile(tmp_path / "c.npz") as made:
        assert {info.compress_type for info in made.infolist()} == {zipfile.ZIP_DEFLATED}
    with np.load(tmp_path / "c.npz") as theirs:
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(theirs[name], array.astype(array.dtype.newbyteorder("=")), strict=True)
    assert "not deflated" in command("convert", "-z", tmp_path / "s.npz", tmp_path / "c.safetensors", status=2)
    assert "has none" in command("convert", "-z", "--align", "64", tmp_path / "s.npz", tmp_path / "d.npz", status=2)
    assert "--compress is of tensor files" in command("convert", "-z", tmp_path / "s.npz", tmp_path / "d.png", status=2)


def test_strided_tensors_and_names(tmp_path):
    names = {"": np.arange(3), "a.npy": np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)[::2], "é": np.ones((2, 2))[:, 1]}
    dlpark.save(tmp_path / "x.npz", names)
    with np.load(tmp_path / "x.npz") as theirs:
        for name, array in names.items():
            np.testing.assert_array_equal(theirs[name + ".npy"], array, strict=True)
    assert list(dlpark.load(tmp_path / "x.npz")) == list(names)


def test_what_the_format_has_no_place_for(tmp_path):
    with pytest.raises(ValueError, match="no place for metadata"):
        dlpark.save(tmp_path / "x.npz", {"a": np.arange(3)}, metadata={"k": "v"})
    with pytest.raises(ValueError, match="bfloat16"):
        dlpark.save(tmp_path / "x.npz", {"a": dlpark.from_dlpack(np.zeros(3, "f4")).astype("bfloat16")})
    assert not list(tmp_path.iterdir())


def test_an_empty_archive(tmp_path):
    dlpark.save(tmp_path / "x.npz", {})
    assert np.load(tmp_path / "x.npz").files == []
    assert dlpark.load(tmp_path / "x.npz") == {} and dlpark.load(saved(np.savez)) == {}


# ---- The command ----


@pytest.fixture
def command():
    program = shutil.which("dlpark")
    if program is None:
        pytest.skip("the command dlpark is not on the PATH")

    def run(*arguments, status=0):
        said = subprocess.run([program, *map(os.fspath, arguments)], capture_output=True, text=True)
        assert said.returncode == status, said.stderr
        return said.stdout + said.stderr

    return run


def test_the_command_reads_and_writes_archives(tmp_path, command):
    np.savez_compressed(tmp_path / "d.npz", **ARRAYS)
    np.savez(tmp_path / "s.npz", **ARRAYS)
    assert command("check", tmp_path / "d.npz").endswith("d.npz: ok\n")
    command("diff", tmp_path / "d.npz", tmp_path / "s.npz")
    entries = json.loads(command("info", "--json", tmp_path / "d.npz"))["files"][0]
    assert entries["format"] == "npz"
    assert all("compressed" in entry["flags"] for entry in entries["tensors"])
    shown = json.loads(command("show", "--json", tmp_path / "d.npz", "weight[1]"))["tensors"][0]
    assert shown["values"] == ARRAYS["weight"][1].tolist()
    stats = json.loads(command("stats", "--json", tmp_path / "d.npz"))["tensors"]
    assert {entry["name"]: entry["count"] for entry in stats} == {name: array.size for name, array in ARRAYS.items()}
    command("convert", tmp_path / "d.npz", tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as theirs:
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(theirs[name], array.astype(array.dtype.newbyteorder("=")), strict=True)
    assert "no place for metadata" not in command("convert", tmp_path / "c.npz", tmp_path / "c.safetensors", "--exclude", "big")
    pathlib.Path(tmp_path / "bad.npz").write_bytes((tmp_path / "s.npz").read_bytes()[:-4])
    assert "[end]" in command("check", tmp_path / "bad.npz", status=1)
    assert "there is no such format" in command("info", "--format", "npx", tmp_path / "s.npz", status=2)
    command("info", "--format", "npz", tmp_path / "s.npz")


# ---- NumPy as an oracle, over archives that were changed ----

# Why dlpark refuses what NumPy reads: docs/tensor-files.md. Rules of dlpark_file_check().
STRICTER = {
    "end", "zip64", "disks", "directory", "count", "extra", "prepended", "hole", "overlap", "outside", "local", "descriptor",
    "encrypted", "flags", "method", "size", "ratio", "name", "duplicate", "npy", "dtype",
}  # fmt: skip


def numpy_reads(data):
    """All arrays by name; None where NumPy cannot read one of them, or they are none."""
    try:
        with np.load(io.BytesIO(data)) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception:  # noqa: BLE001 - whatever it raises
        return None
    return arrays if all(isinstance(array, np.ndarray) for array in arrays.values()) else None


def ours_reads(path):
    """The same, and the rule by which it is refused."""
    faults = _files.check(os.fspath(path), 3)
    try:
        with dlpark.open(path, format="npz") as file:
            assert not faults
            return {name: file.load(name).numpy() for name in file}, None
    except ValueError:
        return None, faults[0][0] if faults else "load"


def rows():
    table = CASES / "expected.tsv"
    return [line.split("\t") for line in table.read_text().splitlines()[1:]]


@pytest.mark.parametrize(("name", "verdict", "numpy", "content"), rows())
def test_cases_have_their_verdicts(name, verdict, numpy, content):
    ours, rule = ours_reads(CASES / name)
    assert (rule or "ok") == verdict
    found = "; ".join(f"{key} {array.dtype.str} {list(array.shape)}" for key, array in (ours or {}).items())
    assert found == content
    if np.__version__.startswith("2.4."):
        assert (numpy_reads((CASES / name).read_bytes()) is not None) == (numpy == "ok")
    assert verdict == "ok" or numpy == "refused" or verdict in STRICTER


def test_every_case_is_in_the_table():
    assert sorted(path.name for path in CASES.iterdir()) == sorted([row[0] for row in rows()] + ["expected.tsv"])


def seeds():
    small = {name: array for name, array in ARRAYS.items() if name != "long"}
    stream = Forward()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, array in small.items():
            made.writestr(f"{name}.npy", npy(array))
    wide = io.BytesIO()
    with zipfile.ZipFile(wide, "w") as made:
        made.comment = b"hello"
        for name, array in small.items():
            with made.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(npy(array))
    return [saved(np.savez, **small), saved(np.savez_compressed, **small), bytes(stream.data), wide.getvalue()]


def changed(chance, data):
    """A byte or several, a number, a piece that is moved, left out or doubled; mostly of headers."""
    data = bytearray(data)
    heads = [at for mark in (b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\7\10", b"\x93NUMPY") for at in every(data, mark)]
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        at = chance.choice(heads) + chance.randrange(70) if chance.random() < 0.8 else chance.randrange(len(data))
        at = min(at, len(data) - 9)
        kind = chance.randrange(6)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            size = chance.choice([2, 4, 8])
            data[at : at + size] = chance.choice([0, 1, len(data), 2 ** (8 * size) - 1]).to_bytes(size, "little")
        elif kind == 3:
            del data[at : at + chance.randrange(1, 20)]
        elif kind == 4:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 20)))
        else:
            there = chance.choice(heads) % (len(data) - 60)
            data[at : at + 46] = data[there : there + 46]
    return bytes(data)


def every(data, mark):
    found, at = [], bytes(data).find(mark)
    while at >= 0:
        found.append(at)
        at = bytes(data).find(mark, at + 1)
    return found


def test_numpy_is_an_oracle(tmp_path):
    """What dlpark reads NumPy reads, and sees the same; what only NumPy reads is refused by a rule that is written down."""
    chance = random.Random(20260)
    path, both, only, originals = tmp_path / "x.npz", 0, {}, seeds()
    for _ in range(2000):
        data = changed(chance, chance.choice(originals))
        path.write_bytes(data)
        ours, rule = ours_reads(path)
        theirs = numpy_reads(data)
        if ours is None:
            if theirs is not None:
                only[rule] = only.get(rule, 0) + 1
            continue
        assert theirs is not None or is_crc_of_stored(data), data
        both += theirs is not None
        for name, array in (theirs or {}).items():
            np.testing.assert_array_equal(ours[name], array.astype(array.dtype.newbyteorder("=")), strict=True)
    assert both > 60, both
    assert set(only) <= STRICTER, only


def is_crc_of_stored(data):
    """NumPy's reader takes the sum of stored members as well."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        for info in file.infolist():
            if info.compress_type == zipfile.ZIP_STORED:
                try:
                    file.read(info)
                except zipfile.BadZipFile as error:
                    return "CRC" in str(error)
    return False


@pytest.mark.parametrize("source", ["model.safetensors", "model.gguf", "model.npz"])
def test_what_is_copied_into_an_archive_has_its_check_sums(tmp_path, source):
    """Bytes that go from file to file are summed up all the same, however large."""
    tensors = {"large": np.arange(3 << 20, dtype=np.int32), "small": np.arange(5, dtype=np.int8), "row": np.zeros((1, 7), np.float32)}
    dlpark.save(tmp_path / source, tensors)
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run([shutil.which("dlpark"), "convert", tmp_path / source, tmp_path / "out.npz"], check=True, env=environment)
    with zipfile.ZipFile(tmp_path / "out.npz") as archive:
        assert archive.testzip() is None
    with np.load(tmp_path / "out.npz") as loaded:
        assert set(loaded) == set(tensors) and all(np.array_equal(loaded[name], tensors[name]) for name in tensors)


def test_deflated_column_major_arrays_are_unpacked_once(tmp_path, command):
    """By pieces each of which would unpack all of it, this takes minutes; and the values are in their places."""
    array = np.asfortranarray(np.arange(12 << 20, dtype=np.int32).reshape(3, 4 << 20) // 7)
    np.savez_compressed(tmp_path / "f.npz", array=array)
    command("convert", tmp_path / "f.npz", tmp_path / "c.npy", "--dtype", "i64")
    assert np.array_equal(np.load(tmp_path / "c.npy"), array)
    assert json.loads(command("stats", "--json", tmp_path / "f.npz"))["tensors"][0]["max"] == int(array.max())
