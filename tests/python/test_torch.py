"""PyTorch, both ways."""

import os
import subprocess
import sys

import hostile
import numpy as np
import pytest
from steady import assert_steady

import dlpark

pytestmark = [pytest.mark.partner("torch"), pytest.mark.filterwarnings("default")]

DTYPES = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 complex64 complex128"


@pytest.fixture(scope="module")
def torch():
    import torch

    return torch


@pytest.mark.parametrize("name", DTYPES.split())
def test_dtypes_both_ways(torch, name):
    theirs = torch.ones(2, 3, dtype=getattr(torch, name))
    tensor = dlpark.from_dlpack(theirs)
    assert repr(tensor).splitlines()[0] == f"Tensor({name}[2, 3], cpu, strides=[3, 1])"
    back = torch.from_dlpack(tensor)
    assert (back.dtype, back.shape) == (theirs.dtype, theirs.shape)
    assert back.data_ptr() == theirs.data_ptr()
    assert torch.equal(back, theirs)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"])
def test_narrow_floats_both_ways(torch, name):
    theirs = torch.ones(4, dtype=torch.float32).to(getattr(torch, name))
    tensor = dlpark.from_dlpack(theirs)
    assert tensor.dtype == name
    assert torch.from_dlpack(tensor).dtype == theirs.dtype


@pytest.mark.parametrize("view", ["t[::2]", "t[:, 1:]", "t.T", "t[:0]", "t[1, 1]", "t.expand(2, 3, 4)", "t[None]"])
def test_views(torch, view):
    theirs = eval(view, {"t": torch.arange(12).reshape(3, 4)})
    tensor = dlpark.from_dlpack(theirs)
    assert tensor.shape == tuple(theirs.shape)
    back = torch.from_dlpack(tensor)
    assert torch.equal(back, theirs)
    assert back.data_ptr() == theirs.data_ptr()
    assert (np.asarray(tensor) == theirs.numpy()).all()


def test_writes_are_seen_on_both_sides(torch):
    theirs = torch.zeros(3)
    np.from_dlpack(dlpark.from_dlpack(theirs))[1] = 5
    assert theirs.tolist() == [0, 5, 0]
    torch.from_dlpack(dlpark.from_dlpack(theirs))[2] = 7
    assert theirs.tolist() == [0, 5, 7]


def test_copies(torch):
    theirs = torch.arange(3)
    tensor = dlpark.from_dlpack(theirs, copy=True)
    assert tensor.is_copied
    back = torch.from_dlpack(tensor, copy=True)
    back[:] = -1
    assert (theirs.tolist(), np.asarray(tensor).tolist()) == ([0, 1, 2], [0, 1, 2])
    assert torch.from_dlpack(tensor, device="cpu", copy=False).data_ptr() == torch.from_dlpack(tensor).data_ptr()


def test_what_torch_refuses_comes_through(torch):
    with pytest.raises(BufferError, match="conj"):
        dlpark.from_dlpack(torch.zeros(1, dtype=torch.complex64).conj())
    with pytest.raises(BufferError, match="grad"):
        dlpark.from_dlpack(torch.zeros(1, requires_grad=True), via="dlpack")


def test_what_only_dlpack_refuses(torch, probe):
    """The exchange table asks nothing: whoever reads may, whoever writes is refused."""
    theirs = torch.arange(3.0, requires_grad=True)
    assert np.asarray(dlpark.from_dlpack(theirs)).tolist() == [0, 1, 2]
    assert probe.py_view(theirs)[1] is False
    for call in (probe.py_view, probe.py_import):
        with pytest.raises(BufferError, match="^Tensor requires gradients"):
            call(theirs, writable=True)
    assert probe.py_view(theirs.detach(), writable=True)[0][5] == 0


def test_fake_tensors_have_no_memory():
    """In a process of its own: what torch imports for them does not live with every other partner."""
    script = """
import torch, dlpark, kit_probe
from torch._subclasses.fake_tensor import FakeTensorMode
fake = FakeTensorMode().from_tensor(torch.zeros(3))
for call in (dlpark.from_dlpack, kit_probe.py_view):
    try:
        call(fake)
    except BufferError as error:
        print(str(error).split(":")[0])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("FakeTensor\nFakeTensor\n", 0), done.stderr


def test_subclasses(torch, probe):
    class Plain(torch.Tensor):
        pass

    class Own(torch.Tensor):
        def __dlpack__(self, **keywords):
            raise BufferError("mine")

    theirs = torch.arange(3)
    for made in (theirs.as_subclass(Plain), torch.nn.Parameter(theirs.float(), requires_grad=False)):
        assert probe.py_import(made)[1][0] == 0x004
    with pytest.raises(BufferError, match="^mine$"):
        dlpark.from_dlpack(theirs.as_subclass(Own))


def test_legacy_and_versioned_by_hand(torch):
    tensor = dlpark.from_dlpack(np.arange(3))
    for version in (None, (1, 0)):
        capsule = tensor.__dlpack__(max_version=version)
        assert torch.utils.dlpack.from_dlpack(capsule).tolist() == [0, 1, 2]
        assert hostile.capsule_name(capsule) in (hostile.USED_LEGACY, hostile.USED_VERSIONED)
    assert dlpark.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(3))).shape == (3,)


def test_deleter_runs_once_in_torchs_hands(torch):
    foreign = hostile.Foreign()
    theirs = torch.from_dlpack(dlpark.from_dlpack(foreign.capsule()))
    part = theirs[1:]
    del theirs
    assert foreign.calls == []
    del part
    assert len(foreign.calls) == 1


def test_meta_tensor_is_refused(torch):
    with pytest.raises((BufferError, ValueError)):
        dlpark.from_dlpack(torch.zeros(1, device="meta"))


def test_image_to_torch(torch, codecs):
    pixels = torch.arange(24, dtype=torch.uint8).reshape(2, 4, 3)
    loaded = dlpark.load_image(dlpark.encode_image(pixels, "png"), layout="chw", dtype=torch.float32)
    assert torch.equal((torch.from_dlpack(loaded) * 255).round().to(torch.uint8), pixels.permute(2, 0, 1))
    out = torch.zeros(2, 4, 3, dtype=torch.uint8)
    assert dlpark.load_image(dlpark.encode_image(pixels.permute(2, 0, 1), "png", layout="chw"), out=out) is out
    assert torch.equal(out, pixels)


def test_alive_at_exit(torch):
    """torch ends some of its tensors when the interpreter is gone."""
    script = """
import dlpark, numpy, torch
kept = torch.from_dlpack(dlpark.from_dlpack(numpy.zeros(3)))
torch.kept = [kept, dlpark.from_dlpack(kept)]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("spec", ["f32[n,k] c cpu", "f32[n,k]", "any"])
def test_nothing_is_allocated_for_what_a_call_is_lent(torch, probe, spec):
    x = torch.zeros(2, 3)
    function = probe.function(f"f(a: {spec}, b: {spec}, c: {spec})", bare=True)
    assert probe.count_allocations(function, (x, x, x), 10000) == 0


@pytest.mark.parametrize("signature", ["f(a: f32[n,k] c cpu, b: f32, c?: f32)", "f(a: f32[n,k]) -> f32[k]"])
def test_calls_leave_nothing_behind(torch, probe, signature):
    x = torch.zeros(2, 3)
    args = (x,) * (3 if "c?" in signature else 1)
    function = probe.function(signature, bare=True)
    calls = int(os.environ.get("DLPARK_CALLS", 10**6)) // (1 if "c?" in signature else 10)
    assert_steady(lambda: probe.repeat(function, args, 300), 1, [x, function, torch.Tensor])
    assert_steady(lambda: probe.repeat(function, args, calls), 1, [x, function, torch.Tensor], rounds=2)
