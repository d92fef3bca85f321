"""dlpark.open and dlpark.load: tensor files as mappings."""

import collections
import contextlib
import gc
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tensor_files import safetensors

import dlpark

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)
BIAS = np.array([1, -2, 3], np.int16)
TENSORS = {"weight": ("F32", (3, 4), WEIGHT.tobytes()), "bias": ("I16", (3,), BIAS.tobytes()), "none": ("U8", (0, 2), b"")}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "small.safetensors"
    path.write_bytes(safetensors(TENSORS, {"format": "pt", "über": "\n"}))
    return path


def test_a_file_is_a_mapping_of_its_tensors(path):
    with dlpark.open(path) as file:
        assert list(file) == ["weight", "none", "bias"] or list(file) == ["weight", "bias", "none"]
        assert len(file) == 3 and "bias" in file and "Bias" not in file and 3 not in file
        assert file.format == "safetensors" and file.nbytes == path.stat().st_size
        assert file.metadata == {"format": "pt", "über": "\n"}
        assert {name: tensor.shape for name, tensor in file.items()} == {"weight": (3, 4), "bias": (3,), "none": (0, 2)}
        np.testing.assert_array_equal(np.from_dlpack(file["weight"]), WEIGHT)
        np.testing.assert_array_equal(np.from_dlpack(file["bias"]), BIAS)
        assert file.get("absent") is None
        assert "3 tensors" in repr(file) and str(path) in repr(file)


def test_info_says_where_the_bytes_are(path):
    data = path.read_bytes()
    with dlpark.open(path) as file:
        info = file.info("bias")
        assert (info.name, info.dtype, info.type, info.shape) == ("bias", "int16", "I16", (3,))
        assert data[info.offset : info.offset + info.nbytes] == BIAS.tobytes()
        assert info.offset % info.alignment == 0
        with pytest.raises(KeyError, match="did you mean 'bias'"):
            file.info("bais")


def test_mapped_tensors_are_read_only_and_outlive_their_file(path):
    with dlpark.open(path) as file:
        weight = file["weight"]
        rows = file["weight"][1:, ::2]
    del file
    gc.collect()
    assert weight.readonly and not weight.is_copied
    np.testing.assert_array_equal(np.from_dlpack(rows), WEIGHT[1:, ::2])
    np.testing.assert_array_equal(np.from_dlpack(weight), WEIGHT)


def test_two_takes_share_the_mapping(path):
    with dlpark.open(path) as file:
        first, second = np.from_dlpack(file["weight"]), np.from_dlpack(file["weight"])
        assert first.ctypes.data == second.ctypes.data
        assert np.from_dlpack(file.load("weight")).ctypes.data != first.ctypes.data


def test_loaded_tensors_are_their_own(path):
    with dlpark.open(path) as file:
        loaded = file.load("weight")
    assert not loaded.readonly
    np.from_dlpack(loaded)[0, 0] = 99
    assert path.read_bytes() == safetensors(TENSORS, {"format": "pt", "über": "\n"})
    with dlpark.open(path, copy=True) as file:
        assert not file["bias"].readonly


def test_what_is_written_to_a_private_mapping_stays_here(path):
    before = path.read_bytes()
    with dlpark.open(path, private=True) as file:
        weight = np.from_dlpack(file["weight"])
        weight[:] = -1
        np.testing.assert_array_equal(np.from_dlpack(file["weight"]), np.full((3, 4), -1))
    assert path.read_bytes() == before


def test_load_gives_a_dict(path):
    tensors = dlpark.load(path)
    assert type(tensors) is dict and set(tensors) == set(TENSORS)
    np.testing.assert_array_equal(np.from_dlpack(tensors["bias"]), BIAS)
    assert tensors["bias"].readonly and not dlpark.load(path, copy=True)["bias"].readonly


def test_bytes_and_descriptors_are_files_too(path):
    data = path.read_bytes()
    for given in (data, bytearray(data), memoryview(data)):
        file = dlpark.open(given)
        bias = file["bias"]
        assert file.name is None
        del given, file
        gc.collect()
        np.testing.assert_array_equal(np.from_dlpack(bias), BIAS)
    with path.open("rb") as opened:
        opened.read(5)
        with dlpark.open(opened.fileno()) as file:
            np.testing.assert_array_equal(np.from_dlpack(file["bias"]), BIAS)
        assert opened.tell() == 5 and opened.read(3) == data[5:8]
    assert dlpark.open(os.fsencode(path).decode())["bias"].shape == (3,)


def test_bytes_stay_lent_until_the_last_tensor_is_gone(path):
    data = bytearray(path.read_bytes())
    file = dlpark.open(data)
    bias = file["bias"]
    file.close()
    with pytest.raises(BufferError):
        data.append(0)
    del bias, file
    gc.collect()
    data.append(0)


def test_a_pipe_is_read_to_its_end(path):
    out, into = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(into, path.read_bytes()), os.close(into)))
    writer.start()
    with dlpark.open(out) as file:
        np.testing.assert_array_equal(np.from_dlpack(file["weight"]), WEIGHT)
    writer.join()
    os.close(out)


def test_a_closed_file_says_so(path):
    file = dlpark.open(path)
    file.close()
    file.close()
    for use in (lambda: file["bias"], lambda: list(file), lambda: "bias" in file, lambda: file.metadata, lambda: file.info("bias")):
        with pytest.raises(ValueError, match="is closed"):
            use()


def test_names_are_whatever_the_file_says(tmp_path):
    odd = {"": ("U8", (1,), b"a"), "\0": ("U8", (1,), b"b"), "../../etc": ("U8", (1,), b"c"), "\x1b[31m\u202e": ("U8", (1,), b"d"), "😀": ("U8", (1,), b"e")}
    (tmp_path / "odd").write_bytes(safetensors(odd))
    with dlpark.open(tmp_path / "odd") as file:
        assert {name: file[name].tobytes() for name in file} == {name: data for name, (_, _, data) in odd.items()}
        assert "\ud800" not in file
        with pytest.raises(KeyError):
            file["\ud800"]
        with pytest.raises(TypeError, match="expected a str, not int"):
            file[0]


@pytest.mark.parametrize("form, dtype, shape", [("logical", "float4_e2m1fn", (2, 4)), ("pairs", "float4_e2m1fnx2", (2, 2)), ("bytes", "uint8", (2, 2))])
def test_float4_in_its_three_forms(tmp_path, form, dtype, shape):
    (tmp_path / "f4").write_bytes(safetensors({"x": ("F4", (2, 4), b"\x12\x34\x56\x78")}))
    with dlpark.open(tmp_path / "f4", float4=form) as file:
        assert (file["x"].dtype, file["x"].shape) == (dtype, shape)
        assert file["x"].tobytes() == b"\x12\x34\x56\x78"


def test_faults_are_told_with_file_tensor_and_byte(tmp_path):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(safetensors({"a": ("F32", (3,), b"12345678")}))
    with pytest.raises(ValueError, match=r"broken\.safetensors: tensor 'a': shape \[3\] of F32 has 12 bytes, data_offsets \[0, 8\] span 8 \(byte 9\)"):
        dlpark.open(broken)
    for data, text in ((b"", "has 0 bytes"), (b"1234567", "has 7 bytes"), (safetensors({}, tail=b"x"), "1 byte behind the last tensor")):
        broken.write_bytes(data)
        with pytest.raises(ValueError, match=text):
            dlpark.open(broken)


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        dlpark.open(tmp_path / "absent")
    assert caught.value.filename == str(tmp_path / "absent")
    with pytest.raises(OSError, match="directory"):
        dlpark.open(tmp_path)
    with pytest.raises(OSError):
        dlpark.open(10**6)


def test_a_file_cut_short_is_an_error_where_it_is_loaded(tmp_path):
    path = tmp_path / "cut"
    path.write_bytes(safetensors({"x": ("U8", (10000,), bytes(10000))}))
    with dlpark.open(path) as file:
        os.truncate(path, 5000)
        with pytest.raises(ValueError, match="ends at byte 5000, and had 10"):
            file.load("x")


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ({"format": "npyy"}, ValueError, "format is 'npyy', expected one of 'safetensors', 'npy', 'npz', 'gguf', 'safetensors-index'"),
        ({"format": 3}, TypeError, "format must be a str, not int"),
        ({"float4": "x"}, ValueError, "float4 is 'x'"),
        ({"copy": "no"}, TypeError, "copy must be True or False, not 'no'"),
        ({"private": 1}, TypeError, "private must be True or False, not 1"),
        ({"access": "mmap"}, ValueError, "access is 'mmap', expected one of 'auto', 'map', 'prefetch', 'read'"),
        ({"access": 1}, TypeError, "access must be a str, not int"),
        ({"threads": 0}, ValueError, "threads is 0, expected 1 to 64"),
        ({"threads": 65}, ValueError, "threads is 65, expected 1 to 64"),
        ({"threads": True}, TypeError, "threads must be an int, not bool"),
    ],
)
def test_arguments_are_checked(path, arguments, error, text):
    with pytest.raises(error, match=text):
        dlpark.open(path, **arguments)


def test_sources_are_checked(path):
    with pytest.raises(TypeError, match=r"expected a path, a descriptor or bytes, not float"):
        dlpark.open(1.5)
    with path.open("rb") as opened, pytest.raises(TypeError, match=r"pass its \.name or \.fileno\(\)"):
        dlpark.open(opened)


@pytest.mark.parametrize("access", ["auto", "map", "prefetch", "read"])
@pytest.mark.parametrize("threads", [None, 1, 3])
def test_every_access_gives_the_same(tmp_path, access, threads):
    large = np.arange(5 << 20, dtype=np.int32)
    dlpark.save(tmp_path / "x", {"large": large, "small": large[:3]})
    with dlpark.open(tmp_path / "x", access=access, threads=threads) as file:
        file.prefetch()
        file.prefetch("small", "large")
        with pytest.raises(KeyError, match="no tensor 'larg'; did you mean 'large'"):
            file.prefetch("larg")
        for name, array in (("large", large), ("small", large[:3])):
            assert np.array_equal(np.from_dlpack(file[name]), array)
            assert np.array_equal(np.from_dlpack(file.load(name)), array)
            assert file[name].readonly
    assert np.array_equal(dlpark.load(tmp_path / "x", access=access, threads=threads)["large"].numpy(), large)


def test_what_was_read_on_opening_is_ours(tmp_path):
    array = np.arange(3 << 20, dtype=np.int32)
    dlpark.save(tmp_path / "x", {"x": array})
    read = dlpark.open(tmp_path / "x", access="read")
    prefetched = dlpark.open(tmp_path / "x", access="prefetch")
    told = f"ends at byte 1048576, and had {prefetched.nbytes} when it was opened"
    os.truncate(tmp_path / "x", 1 << 20)
    assert np.array_equal(read["x"].numpy(), array)
    for call in (lambda: prefetched["x"], lambda: prefetched.prefetch("x"), prefetched.prefetch):
        with pytest.raises(ValueError, match=told):
            call()
    prefetched.close()
    with pytest.raises(ValueError, match="closed"):
        prefetched.prefetch()


@pytest.mark.threads
def test_threads_share_one_file(path):
    failures = []
    with dlpark.open(path) as file:

        def read():
            for _ in range(200):
                if file["weight"].tobytes() != WEIGHT.tobytes() or file.load("bias").tobytes() != BIAS.tobytes():
                    failures.append(threading.get_ident())

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_closing_waits_for_those_who_read(tmp_path):
    """close() while another thread loads: the load goes on to its end."""
    path = tmp_path / "large"
    path.write_bytes(safetensors({"x": ("U8", (1 << 24,), bytes(1 << 24))}))
    for _ in range(5):
        file = dlpark.open(path)
        loaded = []

        def load(file=file, loaded=loaded):
            try:
                loaded.append(file.load("x").nbytes)
            except ValueError as error:
                loaded.append(str(error))

        thread = threading.Thread(target=load)
        thread.start()
        file.close()
        thread.join()
        assert loaded == [1 << 24] or "is closed" in loaded[0]


def test_pathlib_and_str_are_the_same(path):
    assert dlpark.open(str(path)).name == dlpark.open(pathlib.Path(path)).name == str(path)


# ---- Writing ----


STRIDED = np.arange(3000 * 211 * 2, dtype=np.int32).reshape(3000, 211, 2)
WRITTEN = {
    "compact": STRIDED,
    "reversed": STRIDED[::-1, :, ::-1],
    "transposed": STRIDED.T,
    "column": STRIDED[:, 3:4, 0],
    "every second": STRIDED[::2, ::2],
    "wide": np.arange(1 << 20, dtype=np.float32)[::2].reshape(1, -1),
    "none": np.zeros((0, 3), np.int64),
    "scalar": np.array(3, np.int8),
    "truth": np.array([True, False]),
    "complex": np.array([1 + 2j], np.complex64),
}


def test_what_is_saved_is_what_is_loaded(tmp_path):
    dlpark.save(tmp_path / "all", WRITTEN, metadata={"b": "2", "a": "1"})
    with dlpark.open(tmp_path / "all") as file:
        assert set(file) == set(WRITTEN) and list(file.metadata.items()) == [("b", "2"), ("a", "1")]
        for name, array in WRITTEN.items():
            assert file.info(name).dtype == dlpark.from_dlpack(array).dtype
            np.testing.assert_array_equal(np.from_dlpack(file[name]), array, err_msg=name, strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_the_bytes_are_the_references(tmp_path):
    """By hand, as the reference has it: metadata first, wide dtypes first, then names; padded with spaces to 8 bytes."""
    dlpark.save(tmp_path / "x", {"b": np.array([1], np.int8), "c": np.array([2], np.int32), "a": np.array([3], np.int8)}, metadata={"k": 'q"\\\n\x01\x7fé'})
    data = (tmp_path / "x").read_bytes()
    text = (
        r'{"__metadata__":{"k":"q\"\\\n\u0001' + '\x7fé"},"c":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},'
        '"a":{"dtype":"I8","shape":[1],"data_offsets":[4,5]},"b":{"dtype":"I8","shape":[1],"data_offsets":[5,6]}}'
    ).encode()
    text += b" " * (-len(text) % 8)
    assert data == len(text).to_bytes(8, "little") + text + b"\x02\0\0\0\x03\x01"
    dlpark.save(tmp_path / "empty", {})
    assert (tmp_path / "empty").read_bytes() == b"\x08" + b"\0" * 7 + b"{}      "


@pytest.mark.parametrize("alignment", [1, 16, 64, 4096])
def test_an_alignment_is_kept_where_sizes_allow(tmp_path, alignment):
    tensors = {f"t{n}": np.zeros(n, np.uint8) for n in (4096, 3, 8192, 64, 128, 1)}
    dlpark.save(tmp_path / "x", tensors, alignment=alignment)
    with dlpark.open(tmp_path / "x") as file:
        for name in file:
            if int(name[1:]) % alignment == 0:
                assert file.info(name).offset % alignment == 0
        assert len(file) == len(tensors)


def test_a_name_of_any_kind_comes_back(tmp_path):
    names = ["", "\0", "a/b", "\x1b[0m", "😀", '"', "\\", "\u2028"]
    dlpark.save(tmp_path / "x", {name: np.array([i], np.uint8) for i, name in enumerate(names)})
    with dlpark.open(tmp_path / "x") as file:
        assert [file[name].item() for name in names] == list(range(len(names)))


@pytest.mark.parametrize(
    "tensors, options, error, text",
    [
        ({"__metadata__": BIAS}, {}, ValueError, "cannot be called '__metadata__'"),
        ({"x": np.zeros(1, np.complex128)}, {}, ValueError, "tensor 'x': safetensors has no dtype for complex128"),
        ({3: BIAS}, {}, TypeError, "a tensor's name must be a str, not int"),
        ({"x": 3}, {}, TypeError, "tensor 'x' is none: int has no __dlpack__"),
        ([BIAS], {}, TypeError, "tensors must be a mapping of names to tensors, not list"),
        ({}, {"metadata": {"k": 1}}, TypeError, r"metadata\['k'\] must be a str, not int"),
        ({}, {"metadata": {1: "v"}}, TypeError, "a key must be a str, not int"),
        ({}, {"alignment": 3}, ValueError, "alignment is 3, expected a power of two up to 4096"),
        ({}, {"alignment": "4"}, TypeError, "alignment must be an int, not str"),
        ({}, {"sync": 1}, TypeError, "sync must be True or False, not 1"),
        ({"x\ud800": BIAS}, {}, UnicodeEncodeError, "surrogates not allowed"),
    ],
)
def test_what_cannot_be_saved_leaves_everything_as_it_was(tmp_path, tensors, options, error, text):
    (tmp_path / "x").write_bytes(b"before")
    with pytest.raises(error, match=text):
        dlpark.save(tmp_path / "x", tensors, **options)
    assert (tmp_path / "x").read_bytes() == b"before" and len(list(tmp_path.iterdir())) == 1


def test_where_it_cannot_be_saved(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        dlpark.save(tmp_path / "absent" / "x", {})
    assert caught.value.filename == str(tmp_path / "absent" / "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        dlpark.save(tmp_path / "folder", {})


def test_a_saved_file_has_the_mode_that_one_expects(tmp_path):
    mask = os.umask(0o027)
    try:
        dlpark.save(tmp_path / "new", {})
    finally:
        os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
    (tmp_path / "new").chmod(0o604)
    dlpark.save(tmp_path / "new", {}, sync=True)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o604


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "link").symlink_to("target")
    dlpark.save(tmp_path / "link", {"bias": BIAS})
    assert (tmp_path / "target").read_bytes() == b"precious"
    assert not (tmp_path / "link").is_symlink() and "bias" in dlpark.open(tmp_path / "link")


def test_a_file_can_be_saved_over_itself_while_it_is_mapped(tmp_path):
    dlpark.save(tmp_path / "x", {"weight": WEIGHT})
    mapped = dlpark.load(tmp_path / "x")
    dlpark.save(tmp_path / "x", {"again": mapped["weight"][::-1]})
    np.testing.assert_array_equal(np.from_dlpack(mapped["weight"]), WEIGHT)
    np.testing.assert_array_equal(np.from_dlpack(dlpark.load(tmp_path / "x")["again"]), WEIGHT[::-1])


# Starts one save a line, in a process of its own: to start Python for each takes longer than to save.
SAVES = """
import os, sys
import numpy as np
import dlpark

new = np.full(1 << 20, 7, np.uint8)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        dlpark.save(sys.argv[1], {"new": new}, **OPTIONS)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.mark.parametrize(("times", "options"), [(200, {}), (50, {"format": "npz", "compress": 1})], ids=["as it is", "deflated"])
def test_a_killed_save_leaves_the_old_file_or_the_new_one(tmp_path, times, options):
    """kill -9 at random moments of a save."""
    path = tmp_path / "x"
    chosen = random.Random(times)
    found = collections.Counter()
    words = [sys.executable, "-c", SAVES.replace("OPTIONS", repr(options)), str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as saver:

        def save(killed_after=None):
            began = time.monotonic()
            print(file=saver.stdin, flush=True)
            child = int(saver.stdout.readline())
            if killed_after is not None:
                time.sleep(killed_after)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            status = int(saver.stdout.readline())
            assert status in ((0,) if killed_after is None else (0, signal.SIGKILL))
            return time.monotonic() - began

        takes = min(save() for _ in range(3))
        for _ in range(times):
            dlpark.save(path, {"old": np.zeros(10, np.uint8)})
            save(killed_after=chosen.uniform(0, 1.2 * takes))
            with dlpark.open(path) as file:
                (name,) = file
                assert file[name].tobytes() == (bytes(10) if name == "old" else b"\7" * (1 << 20))
            found[name] += 1
    assert set(found) == {"old", "new"}
