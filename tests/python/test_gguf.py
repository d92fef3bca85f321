"""GGUF files: what the package gguf writes is read, what dlpark writes the package reads, and writes the same."""

import json
import shutil
import subprocess

import gguf
import numpy as np
import pytest

import dlpark

gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType.Q8_1] = (32, 36)  # as in ggml; the package (0.19.0) says 40

PLAIN = {"F32": np.float32, "F16": np.float16, "F64": np.float64, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64}
BLOCKS = {kind.name: sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items() if kind.name not in {*PLAIN, "BF16"}}


def array_of(dtype, shape):
    return np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(dtype)


def write(path, tensors, pairs=(), alignment=None):
    """By the package. `tensors`: name to array, or to bytes and the type that they are of."""
    writer = gguf.GGUFWriter(path, "test")
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    for key, value in pairs:
        writer.add_string(key, value)
    for name, tensor in tensors.items():
        if isinstance(tensor, tuple):
            writer.add_tensor(name, tensor[0], raw_dtype=gguf.GGMLQuantizationType[tensor[1]])
        else:
            writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- Read ----


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 1, 3), (2, 3, 4, 5)])
def test_plain_tensors_of_the_package_are_read(tmp_path, shape):
    tensors = {kind: array_of(dtype, shape) for kind, dtype in PLAIN.items()}
    write(tmp_path / "x", tensors)
    with dlpark.open(tmp_path / "x") as file:
        assert file.format == "gguf" and list(file) == list(PLAIN)
        for kind, expected in tensors.items():
            info, found = file.info(kind), np.from_dlpack(file[kind])
            assert (info.type, info.shape, info.dtype) == (kind, shape, str(expected.dtype))
            assert info.offset % 32 == 0 and info.nbytes == expected.nbytes
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_bfloat16_is_read(tmp_path):
    codes = np.array([[0x3F80, 0x4000, 0x4040]], np.uint16)
    write(tmp_path / "x", {"b": (codes.view(np.uint8), "BF16")})
    with dlpark.open(tmp_path / "x") as file:
        assert (file.info("b").dtype, file.info("b").type, file["b"].shape) == ("bfloat16", "BF16", (1, 3))
        assert file["b"].astype("float32").tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("kind", BLOCKS)
def test_quantised_tensors_are_the_bytes_of_their_rows(tmp_path, kind):
    rows = np.arange(3 * 2 * BLOCKS[kind][1]).reshape(3, -1).astype(np.uint8)
    write(tmp_path / "x", {"q": (rows, kind), "f": array_of(np.float32, (2,))})
    with dlpark.open(tmp_path / "x") as file:
        info = file.info("q")
        assert (info.type, info.dtype, info.shape) == (kind, "uint8", rows.shape)
        np.testing.assert_array_equal(np.from_dlpack(file["q"]), rows)
        np.testing.assert_array_equal(np.from_dlpack(file["f"]), [1, 2])


@pytest.mark.parametrize("kind", ["Q4_0", "Q8_0", "Q5_1", "TQ1_0", "MXFP4"])
def test_what_the_package_quantises_it_finds_again(tmp_path, kind):
    values = np.random.default_rng(1).standard_normal((4, 512)).astype(np.float32)
    number = gguf.GGMLQuantizationType[kind]
    blocks = gguf.quantize(values, number)
    write(tmp_path / "x", {"q": (blocks, kind)})
    found = np.from_dlpack(dlpark.load(tmp_path / "x")["q"])
    np.testing.assert_array_equal(gguf.dequantize(found, number), gguf.dequantize(blocks, number))


def test_metadata_are_texts(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "x", "llama")
    writer.add_uint32("count", 32)
    writer.add_float32("epsilon", 1e-5)
    writer.add_float64("third", 1 / 3)
    writer.add_int64("least", -(2**63))
    writer.add_bool("flag", True)
    writer.add_array("sections", [16, 24, 24, 0])
    writer.add_array("tags", ["é", 'a"b\n', ""])
    writer.add_array("tokens", [f"token{number}" for number in range(1000)])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with dlpark.open(tmp_path / "x", format="gguf") as file:
        assert json.loads(file.metadata["tags"]) == ["é", 'a"b\n', ""]
        assert {key: text for key, text in file.metadata.items() if key != "tags"} == {
            "general.architecture": "llama",
            "count": "32",
            "epsilon": "1e-05",
            "third": "0.3333333333333333",
            "least": "-9223372036854775808",
            "flag": "true",
            "sections": "[16, 24, 24, 0]",
            "tokens": "array of 1000 str",
        }


# ---- Written ----


@pytest.mark.parametrize("alignment", [None, 8, 64, 4096])
def test_the_package_writes_the_same_file(tmp_path, alignment):
    tensors = {kind: array_of(dtype, (3, 5)) for kind, dtype in PLAIN.items()}
    pairs = [("general.name", "x"), ("é", "a\nb")]
    write(tmp_path / "theirs", tensors, pairs, alignment)
    metadata = {"general.architecture": "test"}
    if alignment is not None:
        metadata["general.alignment"] = str(alignment)  # where the package has it, behind the architecture
    dlpark.save(tmp_path / "ours.gguf", tensors, metadata=metadata | dict(pairs), alignment=alignment)
    assert (tmp_path / "ours.gguf").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_the_package_reads_what_is_saved(tmp_path):
    tensors = {"t": array_of(np.float32, (3, 4)).T, "v": array_of(np.int16, (7,))}
    dlpark.save(tmp_path / "x", tensors, format="gguf", metadata={"k": "v", "empty": ""}, alignment=128)
    reader = gguf.GGUFReader(tmp_path / "x")
    assert reader.alignment == 128 and [tensor.name for tensor in reader.tensors] == ["t", "v"]
    for tensor in reader.tensors:
        assert tensor.data_offset % 128 == 0
        np.testing.assert_array_equal(tensor.data, tensors[tensor.name])
    assert reader.get_field("k").contents() == "v" and reader.get_field("empty").contents() == ""


def test_a_file_is_copied_with_its_alignment(tmp_path):
    write(tmp_path / "x", {"a": array_of(np.int8, (3,)), "b": array_of(np.int8, (3,))}, alignment=64)
    with dlpark.open(tmp_path / "x") as file:
        dlpark.save(tmp_path / "y.gguf", dict(file), metadata=file.metadata)
    assert (tmp_path / "y.gguf").read_bytes() == (tmp_path / "x").read_bytes()


VALUES = {
    "bool": (True, "BOOL"),
    "int": (-5, "INT32"),
    "long": (2**31, "INT64"),
    "vast": (2**64 - 1, "UINT64"),
    "float": (1.5, "FLOAT32"),
    "u32": (np.uint32(32), "UINT32"),
    "f64": (np.float64(0.1), "FLOAT64"),
    "i8s": (np.array([-1, 2], np.int8), "INT8"),
    "u16": (np.uint16(7), "UINT16"),
    "zero": (np.array(3, np.int16), "INT16"),
    "bools": ([True, False], "BOOL"),
    "ints": ((1, -2), "INT32"),
    "floats": ([0.5, -2.0], "FLOAT32"),
    "texts": (["é", "", "b"], "STRING"),
}


def test_values_keep_their_types(tmp_path):
    metadata = {"general.architecture": "test"} | {key: value for key, (value, _) in VALUES.items()}
    for path, options in ((tmp_path / "x.GGUF", {}), (tmp_path / "x", {"format": "gguf"})):
        dlpark.save(path, {"t": np.ones(3, np.float32)}, metadata=metadata, **options)
        fields = gguf.GGUFReader(path).fields
        for key, (value, kind) in VALUES.items():
            is_array = isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1
            assert [part.name for part in fields[key].types] == ["ARRAY"] * is_array + [kind], key
            found = fields[key].contents()
            assert found == (list(value) if is_array else value), key
        with dlpark.open(path) as file:
            assert file.metadata["u32"] == "32" and file.metadata["floats"] == "[0.5, -2.0]" and file["t"].shape == (3,)


def test_values_are_what_the_package_writes(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "theirs", "test")
    writer.add_uint32("a", 7)
    writer.add_array("b", ["x", "yy"])
    writer.add_array("c", [1, 2, 3])
    writer.add_array("d", [0.5])
    writer.add_bool("e", True)
    writer.add_float64("f", 0.1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    metadata = {"general.architecture": "test", "a": np.uint32(7), "b": ["x", "yy"], "c": [1, 2, 3], "d": [0.5], "e": True, "f": np.float64(0.1)}
    dlpark.save(tmp_path / "ours.gguf", {}, metadata=metadata)
    theirs = (tmp_path / "theirs").read_bytes()
    assert (tmp_path / "ours.gguf").read_bytes() == theirs.ljust(-(-len(theirs) // 32) * 32, b"\0")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (None, TypeError, r"metadata\['k'\] must be a str, bool, int or float, a list of one of these, or of NumPy, not None"),
        ([], TypeError, r"not \[\]"),
        ([1, "a"], TypeError, "a list of one of these"),
        ([1, True], TypeError, "a list of one of these"),
        (2**64, ValueError, r"metadata\['k'\]: "),
        ([-1, 2**63], ValueError, r"metadata\['k'\]: "),
        (-(2**63) - 1, ValueError, r"metadata\['k'\]: "),
        (1e39, ValueError, "too large"),
        (np.zeros((2, 2)), TypeError, "not float64 of 2"),
        (np.array([1], ">i4"), TypeError, "not >i4 of 1"),
        (np.complex64(1), TypeError, "not complex64 of 0"),
        (np.float16(1), ValueError, "GGUF has no values of float16"),
        (["\ud800"], ValueError, "surrogates not allowed"),
    ],
)
def test_values_that_are_refused(tmp_path, value, error, message):
    with pytest.raises(error, match=message):
        dlpark.save(tmp_path / "x.gguf", {}, metadata={"k": value})
    assert list(tmp_path.iterdir()) == []


def test_values_are_for_gguf_alone(tmp_path):
    with pytest.raises(TypeError, match="must be a str, not int"):
        dlpark.save(tmp_path / "x.safetensors", {}, metadata={"k": 1})


@pytest.mark.parametrize(
    "tensors, options, text",
    [
        ({"t": np.zeros(3, np.uint8)}, {}, "GGUF has no dtype for uint8"),
        ({"t": np.zeros(3, bool)}, {}, "GGUF has no dtype for bool"),
        ({"t": np.zeros((), np.float32)}, {}, "has 0 dimensions, expected 1 to 4"),
        ({"t": np.zeros((1,) * 5, np.float32)}, {}, "has 5 dimensions, expected 1 to 4"),
        ({"t": np.zeros((2, 0), np.float32)}, {}, r"shape\[1\] is 0"),
        ({"n" * 64: np.zeros(3, np.float32)}, {}, "has 64 bytes, and ggml has room for 63"),
        ({}, {"metadata": {"general.alignment": "33"}}, "expected a power of two from 8 to 65536"),
        ({}, {"metadata": {"": "x"}}, "a key without letters"),
    ],
)
def test_what_ggml_could_not_read_is_not_written(tmp_path, tensors, options, text):
    with pytest.raises((ValueError, BufferError, TypeError, NotImplementedError), match=text):
        dlpark.save(tmp_path / "x.gguf", tensors, **options)
    assert not any(tmp_path.iterdir())


# ---- The command ----


def run(tmp_path, *arguments):
    return subprocess.run([shutil.which("dlpark"), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def model(tmp_path):
    blocks = np.arange(4 * 36).reshape(4, 36).astype(np.uint8)
    write(tmp_path / "model.gguf", {"blocks": (blocks, "Q4_0"), "norm": array_of(np.float32, (3,))})
    return blocks


def test_info_has_the_types_of_blocks(tmp_path, model):
    lines = run(tmp_path, "info", "model.gguf").stdout.splitlines()
    assert lines[0].startswith("model.gguf: gguf, 2 tensors, ") and lines[1] == "  general.architecture = test"
    assert lines[3].split() == ["blocks", "Q4_0", "[4,", "36]", "144", "B"]
    assert lines[4].split() == ["norm", "float32", "[3]", "12", "B"]
    tensors = json.loads(run(tmp_path, "info", "--json", "--format", "gguf", "model.gguf").stdout)["files"][0]["tensors"]
    assert [(tensor["type"], tensor["dtype"]) for tensor in tensors] == [("Q4_0", "uint8"), ("F32", "float32")]


def test_convert_tells_what_is_lost(tmp_path, model):
    done = run(tmp_path, "convert", "model.gguf", "model.safetensors")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "dlpark convert: note: the metadata are texts now, numbers and arrays too",
        "dlpark convert: note: 1 quantised tensor came as bytes, without the name of its type",
    ]
    tensors = dlpark.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(np.from_dlpack(tensors["blocks"]), model)
    back = run(tmp_path, "convert", "model.safetensors", "back.gguf")
    assert back.returncode == 2 and "tensor 'blocks': GGUF has no dtype for uint8" in back.stderr
    assert run(tmp_path, "convert", "model.safetensors", "back.gguf", "--exclude", "blocks", "--dtype", "f16").stderr == ""
    assert run(tmp_path, "convert", "--to", "gguf", "back.gguf", "again").returncode == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "back.gguf").read_bytes()
    assert [tensor.tensor_type.name for tensor in gguf.GGUFReader(tmp_path / "again").tensors] == ["F16"]


@pytest.mark.parametrize("alignment", [None, 64])
def test_convert_keeps_the_types_of_metadata(tmp_path, alignment):
    metadata = {"general.architecture": "test"} | ({"general.alignment": str(alignment)} if alignment else {})
    metadata |= {key: value for key, (value, _) in VALUES.items()} | {"long": list(range(1000)), "tokens": ["é"] * 999, "last": "text"}
    dlpark.save(tmp_path / "from.gguf", {"t": np.ones(3, np.float32)}, metadata=metadata)
    done = run(tmp_path, "convert", "from.gguf", "to.gguf")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "to.gguf").read_bytes() == (tmp_path / "from.gguf").read_bytes()
    fields = gguf.GGUFReader(tmp_path / "to.gguf").fields
    assert fields["long"].contents() == list(range(1000)) and fields["last"].contents() == "text"
    assert run(tmp_path, "convert", "from.gguf", "to.GGUF").returncode == 0
    assert (tmp_path / "to.GGUF").read_bytes() == (tmp_path / "from.gguf").read_bytes()
    assert run(tmp_path, "convert", "from.gguf", "bare.gguf", "--no-metadata").returncode == 0
    assert dlpark.open(tmp_path / "bare.gguf").metadata == {}
    assert "texts now" in run(tmp_path, "convert", "from.gguf", "to.gguf", "--to", "safetensors").stderr


def test_what_gguf_has_no_place_for_is_misuse(tmp_path):
    """As a dtype that it has not: the file could be read, and another format has a place."""
    for name, tensor in [("rank", np.ones((1,) * 5)), ("empty", np.ones((0, 2))), ("n" * 64, np.ones(1)), ("dtype", np.ones(1, bool))]:
        dlpark.save(tmp_path / "x", {name: tensor})
        assert run(tmp_path, "convert", "x", "x.gguf").returncode == 2, name
        assert run(tmp_path, "convert", "x", "x.npz").returncode == 0, name


def test_only_what_is_lost_is_told(tmp_path, model):
    texts = "note: the metadata are texts now, numbers and arrays too\n"
    blocks = "note: 1 quantised tensor came as bytes, without the name of its type\n"
    assert run(tmp_path, "convert", "model.gguf", "x", "--no-metadata").stderr == f"dlpark convert: {blocks}"
    assert run(tmp_path, "convert", "model.gguf", "x", "--exclude", "blocks").stderr == f"dlpark convert: {texts}"
    assert run(tmp_path, "merge", "model.gguf", "y").stderr == f"dlpark merge: {texts}dlpark merge: {blocks}"
    assert run(tmp_path, "merge", "model.gguf", "z", "--no-metadata").stderr == f"dlpark merge: {blocks}"
    assert dlpark.open(tmp_path / "z").metadata == {}
    done = run(tmp_path, "split", "model.gguf", "s", "--count", "1")
    assert (done.returncode, done.stderr) == (0, f"dlpark split: {texts}dlpark split: {blocks}")
    assert run(tmp_path, "merge", "s.safetensors.index.json", "back").stderr == ""


def test_blocks_are_no_integers(tmp_path, model):
    done = run(tmp_path, "convert", "model.gguf", "x", "--dtype", "i32", "--no-metadata")
    assert done.stderr.splitlines()[1:] == ["dlpark convert: note: no tensor is of integers, nothing was converted"]
    np.testing.assert_array_equal(np.from_dlpack(dlpark.load(tmp_path / "x")["blocks"]), model)


@pytest.mark.parametrize("verb", ["convert", "merge"])
def test_blocks_are_not_written(tmp_path, model, verb):
    done = run(tmp_path, verb, "model.gguf", "x.gguf")
    assert (done.returncode, (tmp_path / "x.gguf").exists()) == (2, False)
    assert done.stderr == f"dlpark {verb}: tensor 'blocks': GGUF has no dtype for uint8; quantised tensors can be read and not written\n"
    assert run(tmp_path, verb, "model.gguf", "x", "--to", "gguf").stderr.endswith("can be read and not written\n")


def test_diff_tells_quantised_types_apart(tmp_path):
    """Those of 18 bytes for 32 numbers and of 144 for 256: the shapes in bytes are the same."""
    blocks = np.arange(2 * 144).reshape(2, 144).astype(np.uint8)
    for kind in ("Q4_0", "Q4_K"):
        write(tmp_path / kind, {"w": (blocks if kind == "Q4_0" else blocks[::-1].copy(), kind)})
    done = run(tmp_path, "diff", "Q4_0", "Q4_K")
    assert (done.returncode, done.stdout) == (1, "w: dtype Q4_0 and Q4_K\n0 tensors are the same, 1 differs\n")
    (told,) = json.loads(run(tmp_path, "diff", "--json", "Q4_0", "Q4_K").stdout)["differences"]
    assert told == {"tensor": "w", "kind": "dtype", "message": "dtype Q4_0 and Q4_K"}
    assert run(tmp_path, "diff", "Q4_0", "Q4_0").returncode == 0
    assert run(tmp_path, "convert", "Q4_0", "bytes").returncode == 0
    assert run(tmp_path, "diff", "Q4_0", "bytes").stdout.startswith("w: dtype Q4_0 and uint8\n0 tensors")


def test_check_lists_the_faults(tmp_path, model):
    assert run(tmp_path, "check", "model.gguf").stdout == "model.gguf: ok\n"
    data = bytearray((tmp_path / "model.gguf").read_bytes())
    at = data.index(b"blocks") + 6 + 4 + 16
    data[at] = 5
    (tmp_path / "broken").write_bytes(data)
    done = run(tmp_path, "check", "broken")
    assert (done.returncode, done.stdout) == (1, f"broken: byte {at}: tensor 'blocks': is of type 5, which ggml took out [type]\n")
    assert run(tmp_path, "info", "--format", "safetensors", "model.gguf").returncode == 1


def test_another_format_is_refused_by_name(tmp_path, model):
    with pytest.raises(ValueError, match="does not begin with 'GGUF'"):
        dlpark.open(b"PK", format="gguf")
    with pytest.raises(ValueError, match="is gguf, and was to be safetensors"):
        dlpark.open(tmp_path / "model.gguf", format="safetensors")
