"""dlpark.safetensors beside the package whose names it has: the same calls, the same answers."""

import inspect
import os

import numpy as np
import pytest
import safetensors
import safetensors.numpy

import dlpark.safetensors
import dlpark.safetensors.numpy

BOTH = [safetensors, dlpark.safetensors]
NUMPY = [safetensors.numpy, dlpark.safetensors.numpy]
DTYPES = [np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.complex64]


def tensors():
    made = {f"t.{np.dtype(d).name}": np.arange(12).reshape(3, 4).astype(d) for d in DTYPES}
    return made | {"scalar": np.array(3.0), "none": np.zeros((2, 0), np.int8)}


def errors():
    return (safetensors.SafetensorError, dlpark.safetensors.SafetensorError)


@pytest.fixture
def path(tmp_path):
    safetensors.numpy.save_file(tensors(), tmp_path / "x", metadata={"a": "b"})
    return tmp_path / "x"


@pytest.mark.parametrize("module, ours", [(safetensors.numpy, dlpark.safetensors.numpy), (safetensors, dlpark.safetensors)])
def test_signatures_are_the_same(module, ours):
    for name in ours.__all__:
        theirs, mine = getattr(module, name), getattr(ours, name)
        if inspect.isfunction(theirs):
            assert [(p.name, p.kind, p.default) for p in inspect.signature(theirs).parameters.values()] == [
                (p.name, p.kind, p.default) for p in inspect.signature(mine).parameters.values()
            ]
    assert [p for p in inspect.signature(dlpark.safetensors.safe_open).parameters] == ["filename", "framework", "device", "backend"]
    public = {name for name in dir(safetensors.safe_open) if not name.startswith("_")}
    assert public == {name for name in dir(dlpark.safetensors.safe_open) if not name.startswith("_")}


def test_files_are_byte_for_byte_the_same(tmp_path):
    for metadata in (None, {"format": "np"}):
        for made in ({}, tensors()):
            assert safetensors.numpy.save(made, metadata) == dlpark.safetensors.numpy.save(made, metadata)
            for i, module in enumerate(NUMPY):
                module.save_file(made, tmp_path / str(i), metadata)
            assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_what_is_loaded_is_the_same(path, backend):
    theirs, ours = (module.load_file(path, backend=backend) for module in NUMPY)
    assert list(theirs) == list(ours)
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours[name], array, strict=True)
        assert ours[name].flags.writeable == array.flags.writeable
    for name, array in dlpark.safetensors.numpy.load(path.read_bytes()).items():
        np.testing.assert_array_equal(array, theirs[name], strict=True)
    before = path.read_bytes()
    ours["t.int32"][:] = 9
    assert path.read_bytes() == before


def test_safe_open_answers_the_same(path):
    with safetensors.safe_open(path, "np") as theirs, dlpark.safetensors.safe_open(path, "np") as ours:
        assert theirs.keys() == ours.keys()
        assert theirs.offset_keys() == ours.offset_keys()
        assert theirs.metadata() == ours.metadata() == {"a": "b"}
        for name in theirs.keys():
            np.testing.assert_array_equal(ours.get_tensor(name), theirs.get_tensor(name), strict=True)
        assert set(ours.get_tensors()) == set(theirs.get_tensors())
        for index in (0, -1, slice(1, 3), (slice(None), slice(1, None)), (..., 0), (1, 2), slice(None), (slice(0, 2), slice(1, 3))):
            a, b = theirs.get_slice("t.float32"), ours.get_slice("t.float32")
            assert (a.get_shape(), a.get_dtype()) == (b.get_shape(), b.get_dtype())
            np.testing.assert_array_equal(b[index], a[index])
    dlpark.safetensors.numpy.save_file({}, path)
    with dlpark.safetensors.safe_open(path, "np") as ours:
        assert ours.metadata() is None and ours.keys() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda m, path: m.safe_open(path, "np").get_tensor("x"),
        lambda m, path: m.safe_open(path, "np").get_slice("x"),
        lambda m, path: m.safe_open(path, "zz"),
        lambda m, path: m.safe_open(path, "np", backend="zz"),
        lambda m, path: m.safe_open(path, "np").get_slice("t.int8")[5],
        lambda m, path: m.safe_open(path, "np").get_slice("t.int8")["x"],
        lambda m, path: m.safe_open(path, "np").get_slice("t.int8")[0, 0, 0],
        lambda m, path: m.deserialize(b"xx"),
        lambda m, path: m.deserialize(b'{"weight_map": {}}'),
        lambda m, path: m.safe_open(index_of_nothing(path), "np"),
        lambda m, path: closed(m, path).keys(),
    ],
)
def test_errors_are_of_the_same_kind(call, path):
    for module in BOTH:
        with pytest.raises(module.SafetensorError):
            call(module, path)


def index_of_nothing(path):
    """The index of a sharded checkpoint, which is another format."""
    index = f"{path}.index.json"
    with open(index, "w") as file:
        file.write('{"metadata": {}, "weight_map": {}}')
    return index


def closed(module, path):
    with module.safe_open(path, "np") as file:
        return file


@pytest.mark.parametrize("module", NUMPY)
def test_refusals_of_numpys_functions(module, tmp_path):
    with pytest.raises(errors()):
        module.save({"a": np.zeros(1, np.complex128)})
    with pytest.raises(errors()):
        module.save_file({"a": np.zeros(1)}, tmp_path / "no" / "x")
    with pytest.raises(errors()):
        module.load(b"xx")
    with pytest.raises(TypeError, match="metadata"):
        module.save({"a": np.zeros(1)}, {"a": 1})
    with pytest.raises(TypeError, match="tensor_dict"):
        module.save({1: np.zeros(1)})
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        module.load_file(tmp_path / "absent")
    with pytest.raises(AttributeError):
        module.save({"a": 3})


# ---- Memory by its address ----

SPECS = {"bool": "?", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4", "int64": "i8", "uint64": "u8",
    "float16": "f2", "float32": "f4", "float64": "f8", "complex64": "c8", "bfloat16": "u2", "float8_e4m3fn": "u1", "float8_e4m3fnuz": "u1",
    "float8_e5m2": "u1", "float8_e5m2fnuz": "u1", "float8_e8m0fnu": "u1", "float4_e2m1fn_x2": "u1"}  # fmt: skip


def specs(module, arrays):
    return {
        name: module.TensorSpec(dtype=name.split("/")[0], shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
        for name, array in arrays.items()
    }


def test_what_is_serialized_is_the_same(tmp_path):
    arrays = {name: (np.arange(24) % 7).reshape(2, 3, 4).astype(kind) for name, kind in SPECS.items()}
    arrays |= {"float32/0": np.array(2.5, "f4"), "int8/none": np.zeros((3, 0), "i1"), "float4_e2m1fn_x2/none": np.zeros((2, 0), "u1")}
    for made in ({}, arrays):
        for metadata in (None, {"format": "np"}):
            theirs, ours = (module.serialize(specs(module, made), metadata) for module in BOTH)
            assert theirs == ours and type(ours) is bytes
            for i, module in enumerate(BOTH):
                assert module.serialize_file(specs(module, made), tmp_path / str(i), metadata=metadata) is None
                assert (tmp_path / str(i)).read_bytes() == theirs
    assert {name: spec["shape"] for name, spec in dlpark.safetensors.deserialize(theirs)}["float4_e2m1fn_x2"] == [2, 3, 8]


def test_specs_say_what_they_were_given():
    for name in SPECS:
        theirs, ours = (module.TensorSpec(dtype=name, shape=(2, 3), data_ptr=16, data_len=7) for module in BOTH)
        assert repr(theirs) == repr(ours)
        assert all(getattr(theirs, key) == getattr(ours, key) for key in ("dtype", "shape", "data_ptr", "data_len"))
        with pytest.raises(AttributeError):
            ours.shape = [1]
    assert ours != dlpark.safetensors.TensorSpec(dtype=name, shape=(2, 3), data_ptr=16, data_len=7)  # as objects are


RIGHT = {"dtype": "float32", "shape": [1], "data_ptr": 8, "data_len": 4}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"dtype": "F32"}, "SafetensorError"),
        ({"dtype": "complex128"}, "SafetensorError"),
        ({"dtype": 1}, TypeError),
        ({"shape": [-1]}, OverflowError),
        ({"shape": [2**64]}, OverflowError),
        ({"shape": [1.5]}, TypeError),
        ({"shape": 3}, TypeError),
        ({"shape": "ab"}, TypeError),
        ({"data_ptr": -1}, OverflowError),
        ({"data_len": "x"}, TypeError),
    ],
)
def test_specs_refuse_the_same(wrong, error):
    messages = []
    for module in BOTH:
        with pytest.raises(getattr(module, error) if isinstance(error, str) else error) as caught:
            module.TensorSpec(**RIGHT | wrong)
        messages.append(str(caught.value))
    assert messages[0] == messages[1] or error is not OverflowError and error != "SafetensorError"
    with pytest.raises(TypeError):
        dlpark.safetensors.TensorSpec("float32", [1], 8, 4)


@pytest.mark.parametrize("module", BOTH)
def test_serializing_refuses_the_same(module, tmp_path):
    array = np.arange(6, dtype="f4")
    spec = {"dtype": "float32", "shape": [2, 3], "data_ptr": array.ctypes.data, "data_len": 24}
    right = module.TensorSpec(**spec)
    for wrong in ({"data_len": 20}, {"data_len": 28}, {"shape": [2**63, 2**63]}):
        with pytest.raises(module.SafetensorError, match="Error while serializing"):
            module.serialize({"a": module.TensorSpec(**spec | wrong)})
    with pytest.raises(module.SafetensorError):
        module.serialize_file({"a": right}, tmp_path / "no" / "x")
    for arguments, text in [(({"a": 1},), "'TensorSpec'"), (({1: right},), "'str'"), (([right],), "'dict'"), (({"a": right}, {"b": 1}), "metadata")]:
        with pytest.raises(TypeError, match=text):
            module.serialize(*arguments)
    with pytest.raises(TypeError, match="filename"):
        module.serialize_file({"a": right}, b"x")


def test_where_serializing_is_safer():
    """Both end the process of who uses the reference, or make a file that nobody reads."""
    with pytest.raises(dlpark.safetensors.SafetensorError, match="tensor 'a': data_ptr is 0"):
        dlpark.safetensors.serialize({"a": dlpark.safetensors.TensorSpec(**RIGHT | {"data_ptr": 0})})
    array = np.zeros(1, "f4")
    with pytest.raises(dlpark.safetensors.SafetensorError, match="__metadata__"):
        dlpark.safetensors.serialize(
            {"__metadata__": dlpark.safetensors.TensorSpec(**RIGHT | {"data_ptr": array.ctypes.data})}
        )


def test_deserialize_is_the_same(path):
    theirs, ours = (dict(module.deserialize(path.read_bytes())) for module in BOTH)
    assert theirs == ours


def test_where_ours_is_better():
    """Strides and names that the reference writes wrongly."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    loaded = dlpark.safetensors.numpy.load(dlpark.safetensors.numpy.save({"t": array.T, "big": array.astype(">f4")}))
    np.testing.assert_array_equal(loaded["t"], array.T)
    np.testing.assert_array_equal(loaded["big"], array)
    with pytest.raises(dlpark.safetensors.SafetensorError, match="__metadata__"):
        dlpark.safetensors.numpy.save({"__metadata__": array})


def test_the_module_is_not_imported_with_dlpark():
    import subprocess
    import sys

    program = "import dlpark, sys; assert 'dlpark.safetensors' not in sys.modules; import dlpark.safetensors; assert 'numpy' not in sys.modules and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ)


# ---- PyTorch ----


@pytest.mark.partner("torch")
def test_torch_is_the_same_both_ways(tmp_path):
    import safetensors.torch
    import torch

    import dlpark.safetensors.torch

    names = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "uint16", "uint32", "uint64"]
    made = {name: torch.arange(1, 13).reshape(3, 4).to(torch.float32).to(getattr(torch, name)) for name in names}
    made |= {"scalar": torch.tensor(3.0), "none": torch.zeros(2, 0), "packed": torch.arange(8, dtype=torch.uint8).reshape(2, 4).view(torch.float4_e2m1fn_x2)}
    modules = [safetensors.torch, dlpark.safetensors.torch]
    assert modules[0].save(made, {"a": "b"}) == modules[1].save(made, {"a": "b"})
    for module in modules:
        module.save_file(made, tmp_path / "x")
        for backend in ("mmap", "pread"):
            for other in modules:
                if other is safetensors.torch and backend == "pread":
                    continue  # it cannot read packed pairs in this way
                loaded = other.load_file(tmp_path / "x", backend=backend)
                assert set(loaded) == set(made)
                for name, tensor in made.items():
                    assert loaded[name].dtype == tensor.dtype and loaded[name].shape == tensor.shape
                    assert torch.equal(loaded[name].reshape(-1).view(torch.uint8), tensor.reshape(-1).view(torch.uint8)), name
    before = (tmp_path / "x").read_bytes()
    mapped = dlpark.safetensors.torch.load_file(tmp_path / "x")["int32"]
    mapped += 1
    assert (tmp_path / "x").read_bytes() == before
    assert {k: v.tolist() for k, v in dlpark.safetensors.torch.load(before).items() if k == "int8"} == {"int8": made["int8"].tolist()}


def models():
    """Models whose tensors share memory in every way, by name."""
    import torch

    def model(**tensors):
        made = torch.nn.Module()
        for name, tensor in tensors.items():
            made.register_buffer(name, tensor)
        return made

    def tied():
        made = torch.nn.ModuleDict({"embed": torch.nn.Embedding(5, 4), "head": torch.nn.Linear(4, 5, bias=False)})
        torch.nn.init.ones_(made["embed"].weight)
        made["head"].weight = made["embed"].weight
        return made

    base = torch.arange(12.0)
    return {
        "plain": lambda: model(b=torch.ones(2), a=torch.zeros(3, 2)),
        "tied": tied,
        "three": lambda: model(c=base, a=base, b=base),
        "part": lambda: model(part=base[3:5], whole=base),
        "halves": lambda: model(left=base[:6], right=base[6:]),
        "transposed": lambda: model(t=torch.arange(6.0).reshape(2, 3).T),
        "empty": lambda: model(none=torch.zeros(0, 3), other=torch.zeros(0, 3)),
    }


@pytest.mark.partner("torch")
@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt", "b": "mine"}])
def test_models_are_saved_and_loaded_as_the_reference_does(tmp_path, metadata):
    import safetensors.torch
    import torch

    import dlpark.safetensors.torch

    for kind, make in models().items():
        said = []
        for module, path in ((safetensors.torch, tmp_path / "theirs"), (dlpark.safetensors.torch, tmp_path / "ours")):
            given = None if metadata is None else dict(metadata)
            try:
                said.append(module.save_model(make(), path, given))
            except RuntimeError as error:
                said.append(type(error))
        assert said[0] == said[1], kind
        if said[0] is not None:
            assert kind == "halves"
            continue
        with safetensors.safe_open(tmp_path / "theirs", "pt") as theirs, safetensors.safe_open(tmp_path / "ours", "pt") as ours:
            assert (theirs.metadata() or {}) == (ours.metadata() or {}), kind
            assert list(theirs.keys()) == list(ours.keys()), kind
        for module in (safetensors.torch, dlpark.safetensors.torch):
            loaded = make()
            for tensor in loaded.state_dict().values():
                tensor.zero_()
            assert module.load_model(loaded, tmp_path / "ours") == (set(), []), kind
            expected = make().state_dict()
            assert all(torch.equal(tensor, expected[name]) for name, tensor in loaded.state_dict().items()), kind


@pytest.mark.partner("torch")
def test_models_that_do_not_fit_are_told(tmp_path):
    import safetensors.torch
    import torch

    import dlpark.safetensors.torch

    made = models()
    dlpark.safetensors.torch.save_file({"a": torch.zeros(3, 2), "z": torch.ones(1)}, tmp_path / "x")
    dlpark.safetensors.torch.save_file({"c": torch.ones(12), "a": torch.ones(12)}, tmp_path / "twice")
    for module in (safetensors.torch, dlpark.safetensors.torch):
        with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "b"\n +Unexpected key\(s\) in state_dict: "z"'):
            module.load_model(made["plain"](), tmp_path / "x")
        assert module.load_model(made["plain"](), tmp_path / "x", strict=False) == ({"b"}, ["z"])
        assert module.load_model(made["three"](), tmp_path / "twice", False) == (set(), ["c"])
        assert module.load_model(made["part"](), tmp_path / "x", strict=False, backend="pread") == ({"whole"}, ["a", "z"])
        with pytest.raises(ValueError, match="non contiguous"):
            module.save_model(made["transposed"](), tmp_path / "y", force_contiguous=False)


@pytest.mark.partner("torch")
def test_torch_refuses_the_same(tmp_path):
    import safetensors.torch
    import torch

    import dlpark.safetensors.torch

    a = torch.zeros(4, 4)
    for module in (safetensors.torch, dlpark.safetensors.torch):
        for bad, error in (({"a": a.t()[:, 1:]}, ValueError), ({"a": a, "b": a}, RuntimeError), ({"a": a[:2], "b": a[1:]}, RuntimeError), ({"a": 3}, ValueError), ({"a": a.to_sparse()}, ValueError), ([a], ValueError)):
            with pytest.raises(error):
                module.save_file(bad, tmp_path / "x")
        module.save_file({"a": a[:2], "b": a[2:], "grad": torch.zeros(2, requires_grad=True)}, tmp_path / "x")
    assert not list(tmp_path.glob(".dlpark-*"))


@pytest.mark.partner("jax")
def test_jax_gets_its_own(tmp_path):
    import jax

    dlpark.safetensors.numpy.save_file({"x": np.arange(3, dtype=np.float32)}, tmp_path / "x")
    with dlpark.safetensors.safe_open(tmp_path / "x", "flax") as file:
        array = file.get_tensor("x")
    assert isinstance(array, jax.Array) and array.tolist() == [0, 1, 2]
    with dlpark.safetensors.safe_open(tmp_path / "x", "dlpark") as file:
        assert isinstance(file.get_tensor("x"), dlpark.Tensor)


def test_other_formats_are_no_safetensors(tmp_path):
    """What dlpark.open reads, and the reference does not."""
    np.save(tmp_path / "x.npy", np.zeros(3))
    data = (tmp_path / "x.npy").read_bytes()
    for module in NUMPY:
        for call in (lambda m: m.load_file(tmp_path / "x.npy"), lambda m: m.load(data)):
            with pytest.raises(errors()):
                call(module)
    for module in BOTH:
        with pytest.raises(errors()):
            module.safe_open(tmp_path / "x.npy", "np")
        with pytest.raises(errors()):
            module.deserialize(data)
