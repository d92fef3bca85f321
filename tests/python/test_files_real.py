"""Files that people use, as packages ship them: tools/partner models brings them with PARTNERS=all."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import dlpark

FOLDER = pathlib.Path(os.environ.get("DLPARK_MODELS", "/nonexistent"))
NAMES = {
    "ggml-vocab-*.gguf": "gguf",
    "lfw_subset.npy": "npy",
    "motorcycle_disp.npz": "npz",
    "silero_vad_16k.safetensors": "safetensors",
}
VOCABULARIES = 19


@pytest.fixture(scope="module", autouse=True)
def are_there():
    if FOLDER.is_dir():
        return
    reason = "real files are not here (PARTNERS=all brings them)"
    if os.environ.get("DLPARK_PARTNERS") == "all":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def paths(pattern):
    found = sorted(FOLDER.glob(pattern))
    assert len(found) == (VOCABULARIES if "*" in pattern else 1)
    return found


@pytest.mark.parametrize("pattern", NAMES)
def test_they_are_opened_and_have_no_fault(pattern):
    for path in paths(pattern):
        with dlpark.open(path) as file:
            assert file.format == NAMES[pattern], path.name
        done = subprocess.run(["dlpark", "check", "--strict", path], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{path}: ok\n", "")


def test_vocabularies_say_what_the_package_gguf_reads():
    import gguf

    pairs = 0
    for path in paths("ggml-vocab-*.gguf"):
        if path.stat().st_size > 1 << 20:
            continue  # the package takes seconds for one of these
        with dlpark.open(path) as file:
            said = file.metadata
        fields = {name: field for name, field in gguf.GGUFReader(path).fields.items() if not name.startswith("GGUF.")}
        assert sorted(said) == sorted(fields)
        for name, field in fields.items():
            value = field.contents()
            if field.types[0] == gguf.GGUFValueType.STRING:
                assert said[name] == value
            elif field.types[0] == gguf.GGUFValueType.ARRAY:
                assert said[name].startswith(f"array of {len(field.data)} ") or json.loads(said[name]) == value
            elif field.types[0] == gguf.GGUFValueType.BOOL:
                assert said[name] == ("true" if value else "false")
            else:
                assert np.float32(said[name]) == np.float32(value)
            pairs += 1
    assert pairs > 60


def test_a_real_model_is_read_and_written_as_the_reference_does(tmp_path):
    import safetensors.numpy as reference

    (path,) = paths("silero_vad_16k.safetensors")
    theirs, ours = reference.load_file(path), dlpark.load(path)
    assert len(theirs) == 15 and sorted(ours) == sorted(theirs)
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours[name].numpy(), array, strict=True)
    reference.save_file(theirs, tmp_path / "theirs")
    dlpark.save(tmp_path / "ours.safetensors", ours)
    assert (tmp_path / "ours.safetensors").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_real_arrays_are_what_numpy_reads_and_writes(tmp_path):
    (path,) = paths("lfw_subset.npy")
    np.testing.assert_array_equal(dlpark.load(path)["arr_0"].numpy(), np.load(path), strict=True)
    dlpark.save(tmp_path / "x.npy", dlpark.load(path))
    np.save(tmp_path / "theirs.npy", np.load(path))
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()
    (path,) = paths("motorcycle_disp.npz")
    with np.load(path) as theirs:
        np.testing.assert_array_equal(dlpark.load(path)["arr_0"].numpy(), theirs["arr_0"], strict=True)


def test_a_real_model_goes_round_all_formats(tmp_path):
    (path,) = paths("silero_vad_16k.safetensors")
    at = path
    for ending in ("npz", "gguf", "safetensors"):
        to = tmp_path / f"model.{ending}"
        subprocess.run(["dlpark", "convert", at, to], check=True, capture_output=True)
        at = to
    done = subprocess.run(["dlpark", "diff", path, at], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
