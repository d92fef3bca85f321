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
    for n in range(60):
        foreign = hostile.Foreign(legacy={legacy})
        capsule = foreign.capsule(destructor=True)
        kept = []
        failed += failing_at(n, lambda: kept.append(dlpark.from_dlpack(capsule{keywords})))
        assert not kept or foreign.calls == [], n
        kept.clear()
        del capsule
        assert len(foreign.calls) == 1, (n, foreign.calls)
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
