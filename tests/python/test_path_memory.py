"""Memory that fails while tensors are taken, by each way; needs CPython's _testcapi, as test_memory.py does."""

import pytest
from test_memory import run

# Each way with what it is given and what is kept alive by it, and what else may be asked.
IMPORT = """
    import numpy as np
    import kit_probe
    Lender = type("Lender", (), {{"__dlpack_c_exchange_api__": kit_probe.lender_table()}})
    array = np.zeros((2, 3), np.float32)
    make = dict(exchange=Lender, capsule=lambda: array.__dlpack__(max_version=(1, 0)), legacy=array.__dlpack__,
                own=lambda: dlpark.from_dlpack(array, copy=None), numpy=lambda: array, dlpack=lambda: array)[{way!r}]
    via = dict(dlpack="dlpack", legacy="capsule").get({way!r}, {way!r})
    paths = dict(exchange=4, capsule=1, own=2, numpy=8, dlpack=16)[via]
    calls = [
        lambda x: dlpark.from_dlpack(x, via=via),
        lambda x: dlpark.from_dlpack(x, copy=True, via=(via,)),
        lambda x: dlpark.from_dlpack(x, device="cpu", via=[via, via]),
        lambda x: kit_probe.py_import(x, paths=paths),
        lambda x: kit_probe.py_view(x, paths=paths),
        lambda x: kit_probe.request(x, paths=paths),
    ]
    if {way!r} not in ("dlpack", "own"):
        calls += [dlpark.from_dlpack, kit_probe.py_import, kit_probe.py_view]
    for number, call in enumerate(calls):
        call(make())
        base = sys.getrefcount(array)
        succeeded = 0
        for n in range(60):
            made = make()
            before = sys.getrefcount(made)
            kept = []
            failing = failing_at(n, lambda: kept.append(call(made)))
            failed += failing
            succeeded += not failing
            assert kept or failing, (number, n)
            kept.clear()
            assert sys.getrefcount(made) == before, (number, n)
            del made
            assert sys.getrefcount(array) == base, (number, n)
            assert kit_probe.lender_owners() == 0, (number, n)
        assert succeeded, number
"""

TYPES = """
    import kit_probe
    value = kit_probe.lender_table()
    class Dlpack:
        def __dlpack__(self):
            raise BufferError
    for n in range(80):
        made = type("Lender", (type("Base", (Dlpack,), dict(requires_grad=False)),), {{"__dlpack_c_exchange_api__": value}})
        routes = []
        failed += failing_at(n, lambda: routes.append(kit_probe.type_of(made)[0]))
        assert routes in ([], [0], [2]), (n, routes)
        # What could not be found out is looked for again.
        assert kit_probe.type_of(made)[0] == 2, n
        assert kit_probe.py_view(made())[1] is False, n
    failed += 1
"""

STATE = """
    import subprocess
    script = (
        "import sys, _testcapi, kit_probe, numpy, dlpark\\n"
        "array = numpy.zeros(3); tensor = dlpark.from_dlpack(array)\\n"
        "for at in sys.argv[1:]:\\n"
        "    _testcapi.set_nomemory(int(at), int(at) + 1)\\n"
        "    try: kit_probe.py_view(tensor); kit_probe.py_view(array)\\n"
        "    except MemoryError: pass\\n"
        "    finally: _testcapi.remove_mem_hooks()\\n"
        "print(kit_probe.type_of(numpy.ndarray)[0], kit_probe.type_of(dlpark.Tensor)[0], kit_probe.py_view(array)[0][3])"
    )
    for n in range(0, 60, 2):
        command = [sys.executable, "-c", script, str(n), str(n // 2)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr) == ("3 1 [3]\\n", ""), (n, done.stdout, done.stderr)
    failed += 1
"""


@pytest.mark.parametrize("way", ["exchange", "capsule", "legacy", "own", "numpy", "dlpack"])
def test_each_way(way):
    run(IMPORT, way=way)


def test_types_that_are_seen_for_the_first_time():
    run(TYPES)


def test_the_first_call_in_an_interpreter():
    run(STATE)
