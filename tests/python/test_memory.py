"""Memory that fails, at every place in turn: nothing leaks, nothing ends twice. Collected where CPython has _testcapi."""

import pathlib
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
    import gc, sys
    import _testcapi
    sys.path.insert(0, {tests!r})
    import hostile
    import dlpark

    def failing_at(n, call):
        '''Whether the call ran into the n-th allocation from here, which fails.'''
        _testcapi.set_nomemory(n, n + 1)
        try:
            call()
        except MemoryError:
            return True
        finally:
            _testcapi.remove_mem_hooks()
        return False

    failed = 0
"""

IMPORT = """
    # What is kept of types is filled first, where memory that fails is no failure.
    known = [dlpark.from_dlpack(hostile.Foreign(legacy={legacy}).capsule(){keywords}) for _ in range(20)]
    alive = []  # so that no Tensor is made in the place of one that has ended
    for n in range(60):
        foreign = hostile.Foreign(legacy={legacy})
        capsule = foreign.capsule(destructor=True)
        kept = []
        failed += failing_at(n, lambda: kept.append(dlpark.from_dlpack(capsule{keywords})))
        del capsule
        assert len(foreign.calls) == (0 if kept else 1), (n, foreign.calls)
        alive.append((kept, foreign))
    for kept, foreign in alive:
        kept.clear()
        assert len(foreign.calls) == 1, foreign.calls
"""

EXPORT = """
    foreign = hostile.Foreign(legacy={legacy})
    tensor = dlpark.from_dlpack(foreign.capsule())
    tensor.__dlpack__(max_version={version}{keywords})
    for n in range(60):
        before = sys.getrefcount(tensor)
        kept = []
        failed += failing_at(n, lambda: kept.append(tensor.__dlpack__(max_version={version}{keywords})))
        kept.clear()
        assert sys.getrefcount(tensor) == before, n
    assert foreign.calls == []
    del tensor
    assert len(foreign.calls) == 1
"""

TEXT = """
    foreign = hostile.Foreign()
    tensor = dlpark.from_dlpack(foreign.capsule())
    expected = str(tensor)
    for n in range(10):
        kept = []
        failed += failing_at(n, lambda: kept.append(str(tensor)))
        assert kept in ([], [expected]), n
    del tensor
    assert len(foreign.calls) == 1
"""

TENSOR = """
    foreign = hostile.Foreign(shape=(2, 3), dtype=(4, 16, 1))
    tensor = dlpark.from_dlpack(foreign.capsule())
    call = lambda: {call}
    expected = repr(call())
    for n in range(80):
        kept = []
        failed += failing_at(n, lambda: kept.append(call()))
        assert not kept or repr(kept[0]) == expected, n
        kept.clear()
    assert foreign.calls == []
    del tensor
    assert len(foreign.calls) == 1
"""

CHECK = """
    import dlpark._check
    foreign = hostile.Foreign(shape=(2, 3), strides=(-3, 1), byte_offset=12)
    tensor = dlpark.from_dlpack(foreign.capsule())
    repr(dlpark.check(tensor))
    for n in range(400):
        capsule = tensor.__dlpack__(max_version=(1, 3))  # what ends it needs no memory
        offer = hostile.Offer(lambda **_: capsule)
        failed += failing_at(n, lambda: repr(dlpark.check(offer)))
        del capsule, offer
    assert foreign.calls == []
    del tensor
    assert len(foreign.calls) == 1
"""


RESULT = """
    import types
    import numpy
    import kit_probe
    sys.modules["cupy"] = cupy = types.ModuleType("cupy")
    cupy.from_dlpack = lambda x: (x.__dlpack_device__(), x.__dlpack__(max_version=(1, 3)))
    sys.modules["tensorflow"] = tensorflow = types.ModuleType("tensorflow")

    def take(capsule):
        kept.append(dlpark.from_dlpack(capsule))
        return kept[-1]

    tensorflow.experimental = types.SimpleNamespace(dlpack=types.SimpleNamespace(from_dlpack=take))
    kept = []
    kit_probe.export(kit_probe.counted(2, 32), {number})
    for n in range(60):
        kept.clear()
        capsule = kit_probe.counted({code}, {bits})
        before = kit_probe.ended()
        try:
            failed += failing_at(n, lambda: kept.append(kit_probe.export(capsule, {number})))
        except BufferError:
            pass
        except SystemError as error:  # CPython 3.11 loses an exception when it has no memory for its traceback
            assert str(error) == "error return without exception set"
        if hostile.capsule_name(capsule) == hostile.VERSIONED:
            continue  # it did not come so far
        assert kit_probe.ended() - before == (0 if kept else 1), n
        kept.clear()
        assert kit_probe.ended() - before == 1, n
"""


def run(script, **values):
    script = textwrap.dedent(PRELUDE) + textwrap.dedent(script) + "\nprint(failed)"
    script = script.format(tests=str(pathlib.Path(__file__).parent), **values)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0  # or nothing has been tried


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("keywords", ["", ", device='cpu'"])
def test_import(legacy, keywords):
    run(IMPORT, legacy=legacy, keywords=keywords)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("keywords", ["", ", copy=True", ", dl_device=(1, 0)"])
def test_export(legacy, version, keywords):
    run(EXPORT, legacy=legacy, version=version, keywords=keywords)


def test_text():
    run(TEXT)


@pytest.mark.parametrize(
    "call",
    [
        "tensor[0, ::-1, None]",
        "tensor.T",
        "tensor.permute((1, 0))",
        "tensor.reshape(3, 2)",
        "tensor.reshape([6], copy=True)",
        "tensor.T.reshape(6)",
        "tensor.expand_dims((0, 1))",
        "tensor.sliding_window_view(2, axis=1)",
        "tensor.view('uint8')",
        "tensor.copy()",
        "tensor.astype('bfloat16')",
        "tensor.tobytes()",
        "tensor.tolist()",
        "tensor.item(1, 2)",
        "[part.shape for part in tensor]",
        "repr(tensor)",
        "complex(tensor[0, 0])",
        "(tensor.shape, tensor.strides, tensor.dtype, tensor.device, tensor.nbytes, tensor.stream)",
    ],
)
def test_tensor(call):
    run(TENSOR, call=call)


def test_check():
    run(CHECK)


@pytest.mark.parametrize("code, bits", [(2, 32), (3, 64)], ids=["arrives", "refused"])
@pytest.mark.parametrize("number", [1, 2, 5, 7, 8], ids=["dlpark", "numpy", "cupy", "tensorflow", "memoryview"])
def test_result(number, code, bits):
    run(RESULT, number=number, code=code, bits=bits)
