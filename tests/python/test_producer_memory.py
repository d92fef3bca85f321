"""Memory that fails while types are given the table and while tensors are given out: all of it or nothing."""

import pathlib
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
    import gc, pickle, sys
    import _testcapi
    sys.path.insert(0, {tests!r})
    import hostile, kit_probe
    import dlpark
    import numpy as np
    from exchange_table import NAMES, Exchange, kit_type

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

INSTALL = """
    array = np.arange(3)
    for n in range(80):
        made = kit_probe.exchange_type("", None)
        before = dict(made.__dict__)
        if failing_at(n, lambda: kit_probe.install_exchange(made, "tensor")):
            failed += 1
            assert dict(made.__dict__) == before, n
            kit_probe.install_exchange(made, "tensor")
        assert NAMES <= set(made.__dict__), n
        assert np.from_dlpack(kit_probe.exchange_make(made, array)).ctypes.data == array.ctypes.data, n
        del made
        gc.collect()
"""

TABLE = """
    import ctypes
    cls = dlpark.Tensor if {kind!r} == "Tensor" else kit_type({kind!r})
    table, to_py = Exchange(cls).address, kit_probe.exchange_to_py
    kit_probe.shared()
    alive = []
    for n in range(30):
        foreign = hostile.Foreign({fields})
        address, kept, calls = ctypes.addressof(foreign.managed), [], kit_probe.exchange_to_py_calls()
        if failing_at(n, lambda: kept.append(to_py(table, address))):
            assert len(foreign.calls) == kit_probe.exchange_to_py_calls() - calls, n
            failed += len(foreign.calls)
        else:
            assert foreign.calls == [] and len(kept) == 1, n
        alive.append((kept, foreign))
    for kept, foreign in alive:
        kept.clear()
        assert len(foreign.calls) <= 1
"""

DEVICES = """
    for n in range(8):
        tensor = dlpark.from_dlpack(hostile.Foreign(device=(2, 300 + n)).capsule())
        kept = []
        failed += failing_at(n, lambda: kept.append(tensor.__dlpack_device__()))
        assert kept in ([], [(2, 300 + n)])
        assert tensor.__dlpack_device__() == (2, 300 + n)
"""

PICKLE = """
    foreign = hostile.Foreign()
    tensor = dlpark.from_dlpack(foreign.capsule())
    {more}
    arguments = [tensor.__reduce_ex__(protocol)[1] for protocol in (2, 5)]
    for protocol, n in [(protocol, n) for protocol in (2, 5) for n in range(40)]:
        before = sys.getrefcount(tensor)
        kept = []
        failed += failing_at(n, lambda: kept.append(tensor.__reduce_ex__(protocol)))
        failed += failing_at(n, lambda: kept.append(dlpark._core._from_buffer(*arguments[protocol == 5])))
        kept.clear()
        assert sys.getrefcount(tensor) == before, n
    del arguments
    gc.collect()
    assert foreign.calls == []
    del tensor
    gc.collect()
    assert len(foreign.calls) == 1
"""


def run(script, **values):
    script = textwrap.dedent(PRELUDE) + textwrap.dedent(script) + "\nprint(failed)"
    script = script.format(tests=str(pathlib.Path(__file__).parent), **values)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0  # or nothing has been tried


def test_install():
    run(INSTALL)


@pytest.mark.parametrize("kind", ["Tensor", "tensor all", "share"])
def test_table(kind):
    run(TABLE, kind=kind, fields="")


def test_devices():
    run(DEVICES)


@pytest.mark.parametrize("more", ["", "tensor = tensor.T"])
def test_pickle(more):
    run(PICKLE, more=more)
