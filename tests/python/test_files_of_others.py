"""Tensor files that other libraries write, read by dlpark; and what dlpark writes, read by them."""

import numpy as np
import pytest

import dlpark


def numbers():
    """Arrays of dtypes and shapes that every format has."""
    rng = np.random.default_rng(5)
    return {
        "model.weight": rng.standard_normal((64, 48)).astype(np.float32),
        "model.half": rng.standard_normal((3, 5, 32)).astype(np.float16),
        "ids": np.arange(-40, 40, dtype=np.int32),
        "bytes": np.arange(-8, 8, dtype=np.int8).reshape(2, 8),
    }


def same(file, arrays):
    assert sorted(file) == sorted(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(file[name].numpy(), array, strict=True)


@pytest.mark.partner("mlx")
def test_what_mlx_writes(tmp_path):
    import mlx.core as mx

    arrays = numbers()
    theirs = {name: mx.array(array) for name, array in arrays.items()}
    mx.save_safetensors(str(tmp_path / "m.safetensors"), theirs, {"format": "mlx"})
    mx.savez(str(tmp_path / "m.npz"), **theirs)
    mx.savez_compressed(str(tmp_path / "c.npz"), **theirs)
    mx.save_gguf(str(tmp_path / "m.gguf"), theirs, {"general.name": "a model"})
    for name in ("m.safetensors", "m.npz", "c.npz", "m.gguf"):
        with dlpark.open(tmp_path / name) as file:
            same(file, arrays)
    with dlpark.open(tmp_path / "m.safetensors") as file:
        assert file.metadata == {"format": "mlx"}
    with dlpark.open(tmp_path / "m.gguf") as file:
        assert file.metadata["general.name"] == "a model"
    mx.save(str(tmp_path / "m.npy"), theirs["model.weight"])
    same(dlpark.open(tmp_path / "m.npy"), {"arr_0": arrays["model.weight"]})
    brain = mx.array(arrays["model.weight"]).astype(mx.bfloat16)
    mx.save_safetensors(str(tmp_path / "b.safetensors"), {"w": brain})
    with dlpark.open(tmp_path / "b.safetensors") as file:
        assert file["w"].dtype == "bfloat16"
        np.testing.assert_array_equal(file["w"].astype("float32").numpy(), np.array(brain.astype(mx.float32)))


@pytest.mark.partner("mlx")
@pytest.mark.parametrize("name", ["x.safetensors", "x.npz", "x.gguf"])
def test_what_mlx_reads(tmp_path, name):
    import mlx.core as mx

    arrays = numbers()
    dlpark.save(tmp_path / name, arrays)
    loaded = mx.load(str(tmp_path / name))
    assert sorted(loaded) == sorted(arrays)
    for key, array in arrays.items():
        np.testing.assert_array_equal(np.array(loaded[key]), array, strict=True)


@pytest.mark.partner("torch")
def test_what_torch_writes(tmp_path):
    import safetensors.torch
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Conv2d(1, 2, 3)).to(torch.float16)
    state = model.state_dict()
    safetensors.torch.save_file(state, tmp_path / "model.safetensors")
    with dlpark.open(tmp_path / "model.safetensors") as file:
        assert sorted(file) == sorted(state)
        for name, tensor in state.items():
            assert torch.equal(torch.from_dlpack(file.load(name)), tensor)
    dlpark.save(tmp_path / "again.safetensors", dlpark.load(tmp_path / "model.safetensors"))
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "model.safetensors").read_bytes()
