"""Frameworks that are missing, old, or misbehave: each in a process of its own, since what is found of one is kept."""

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
    import ctypes, gc, sys, types
    sys.path.insert(0, {tests!r})
    import hostile
    import dlpark
    import kit_probe as probe

    def module(name, **attributes):
        made = types.ModuleType(name)
        made.__dict__.update(attributes)
        sys.modules[name] = made
        return made

    foreign = hostile.Foreign()

    def export(number, *like):
        return probe.export(foreign.capsule(), number, *like)

    def refused(error, number):
        try:
            export(number)
        except error as raised:
            return raised.with_traceback(None)
        raise AssertionError("nothing was raised")
"""


def run(script, error=""):
    script = textwrap.dedent(PRELUDE) + textwrap.dedent(script)
    script = script.replace("{tests!r}", repr(os.path.dirname(__file__)))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, error)


@pytest.mark.parametrize(
    "number, name", [(2, "numpy"), (3, "torch"), (4, "jax"), (5, "cupy"), (6, "mlx"), (7, "tensorflow")]
)
def test_a_missing_framework_is_named(number, name):
    run(f"""
        sys.modules[{name!r}] = None
        error = refused(ModuleNotFoundError, {number})
        assert {name!r} in str(error), error
        assert error.__cause__ is None
        assert len(foreign.calls) == 1
    """)


@pytest.mark.parametrize("number", [1, 8], ids=["dlpark", "memoryview"])
def test_without_the_package(number):
    """The kit works in an extension without dlpark being installed; only its own type is missing then."""
    run(f"""
        del sys.modules["dlpark"], sys.modules["dlpark._core"]
        sys.modules["dlpark"] = None
        assert "dlpark" in str(refused(ModuleNotFoundError, {number}))
        assert len(foreign.calls) == 1
    """)


def test_cupy_is_called_with_an_object_to_take_from():
    run("""
        seen = []
        module("cupy", from_dlpack=lambda x: (seen.append((type(x).__name__, x.__dlpack_device__(), sys.getrefcount(x))), x)[1])
        foreign = hostile.Foreign(device=(2, 3))
        given = export(5)
        assert seen == [("Handoff", (2, 3), 2 + 1)], seen
        for stream in (None, -1, 0, 1, 2, 12345, "any"):  # it is the caller's to order
            managed = hostile.read(given.__dlpack__(stream=stream, max_version=(1, 3)))
            assert managed.dl_tensor.data == ctypes.addressof(foreign.memory)
        assert hostile.capsule_name(given.__dlpack__()) == b"dltensor"
        for keywords in (dict(dl_device=(1, 0)), dict(copy=True)):
            try:
                given.__dlpack__(**keywords)
            except BufferError:
                continue
            raise AssertionError(keywords)
        for bad in (lambda: given.__dlpack__(1), lambda: given.__dlpack__(other=1), lambda: type(given)(),
                    lambda: given.__dlpack__(stream=1, max_version=None, dl_device=None, copy=None, other=1)):
            try:
                bad()
            except TypeError:
                continue
            raise AssertionError("no TypeError")
        managed = None
        assert foreign.calls == []
        del given
        assert len(foreign.calls) == 1
    """)


def test_a_function_is_looked_up_once():
    run("""
        asked = []
        class Module(types.ModuleType):
            def __getattr__(self, name):
                if name.startswith("__"):
                    raise AttributeError(name)
                asked.append(name)
                return lambda x: 5
        sys.modules["cupy"] = Module("cupy")
        assert [export(5) for _ in range(3)] == [5, 5, 5]
        assert asked == ["from_dlpack"]
        assert len(foreign.calls) == 3
    """)


def test_what_a_framework_raises():
    run("""
        class Rude(Exception):
            def __str__(self):
                raise KeyError("no text")
        error = None
        def raising(x):
            x.__dlpack__()
            raise error
        module("cupy", from_dlpack=raising)
        for error in (ValueError("no such"), RuntimeError("no such"), BufferError("no such"), AttributeError("no such")):
            told = refused(BufferError, 5)
            assert str(told) == "cupy cannot take float32 on cpu: no such", told
            assert told.__cause__ is error and told.__context__ is error
        error = Rude()
        told = refused(BufferError, 5)
        assert str(told) == "cupy cannot take float32 on cpu" and told.__cause__ is error
        for error in (MemoryError("x"), KeyboardInterrupt("x"), SystemExit("x"), ImportError("x")):
            assert refused(BaseException, 5) is error
            error.__traceback__ = None
        error = told = None
        gc.collect()
        assert len(foreign.calls) == 9
    """)


def test_a_framework_that_keeps_what_it_was_given():
    run("""
        kept = []
        def keeping(x):
            kept.extend([x, x.__dlpack__(max_version=(1, 3)), hostile.consume(x.__dlpack__())])
            raise ValueError("but")
        module("cupy", from_dlpack=keeping)
        refused(BufferError, 5)
        assert foreign.calls == []
        kept.pop(0)
        kept.pop(0)
        assert foreign.calls == []
        hostile.end(kept.pop())
        assert len(foreign.calls) == 1
    """)


def test_a_numpy_of_another_abi_takes_it_as_any_consumer_does():
    run("""
        sys.modules.pop("numpy", None)
        seen = []
        module("numpy", from_dlpack=lambda x: seen.append(hostile.read(x.__dlpack__(max_version=(1, 0))).dl_tensor.device.device_type) or "array")
        foreign = hostile.Foreign(device=(3, 0))
        assert export(2) == "array"
        assert seen == [1]
        assert len(foreign.calls) == 1
    """)


def test_a_torch_without_a_table_takes_it_as_any_consumer_does():
    run("""
        def take(x):
            return hostile.capsule_name(x.__dlpack__(max_version=(1, 0)))
        module("torch", from_dlpack=take, Tensor=type("Tensor", (), {}))
        assert export(3) == b"dltensor_versioned"
        module("torch", from_dlpack=take)  # found already
        assert export(3) == b"dltensor_versioned"
        assert len(foreign.calls) == 2
    """)
    run("""
        module("torch", Tensor=type("Tensor", (), {}))
        assert "from_dlpack" in str(refused(BufferError, 3))
        assert len(foreign.calls) == 1
    """)


def test_torch_on_another_device_is_asked_before_its_table_is_trusted():
    """The table's function leaks what it refuses, so a device is taken by the table only after it has been taken at all."""
    run("""
        ways = []
        def to_py(address):
            ways.append("table")
            hostile.end(ctypes.cast(address, ctypes.POINTER(hostile.Versioned)).contents)
            return ways
        ready = False
        def take(x):
            ways.append("function")
            if not ready:
                raise RuntimeError("no driver")
            return ways
        module("torch", from_dlpack=take, Tensor=type("Tensor", (), {"__dlpack_c_exchange_api__": probe.exchange_table(to_py)}))
        for device, dtype, expected in [((1, 0), (2, 32, 1), "table"), ((1, 0), (17, 4, 2), "function")]:
            ready = True
            foreign = hostile.Foreign(device=device, dtype=dtype)
            assert export(3) is ways
            assert (ways.pop(), ways) == (expected, [])
            assert len(foreign.calls) == 1
        for device in ((2, 0), (10, 1)):
            for ready, expected in [(False, "function"), (False, "function"), (True, "function"), (True, "table"), (True, "table")]:
                foreign = hostile.Foreign(device=device)
                if ready:
                    assert export(3) is ways
                else:
                    assert "no driver" in str(refused(BufferError, 3))
                assert (ways.pop(), ways) == (expected, [])
                assert len(foreign.calls) == 1
    """)


def test_an_older_mlx_has_another_name_for_it():
    run("""
        core = types.ModuleType("mlx.core")
        core.array = lambda x: hostile.capsule_name(x.__dlpack__())
        module("mlx", core=core)
        sys.modules["mlx.core"] = core
        assert export(6) == b"dltensor"
        del core.array
        assert len(foreign.calls) == 1
    """)


@pytest.mark.parametrize("itemsize", ["4", "8", "'8'", "None", "2**80", "-1"])
def test_elements_that_were_narrowed(itemsize):
    """JAX without 64 bits, and MLX, narrow what they are given and say nothing."""
    run(f"""
        class Array:
            itemsize = {itemsize}
        module("jax")
        module("jax.dlpack", from_dlpack=lambda x: Array())
        foreign = hostile.Foreign(dtype=(2, 64, 1))
        if {itemsize} == 8:
            assert type(export(4)) is Array
        else:
            assert str(refused(BufferError, 4)).startswith("jax cannot take float64 on cpu: ")
        assert len(foreign.calls) == 1
    """)


def test_tensorflow_is_lent_a_legacy_capsule():
    """A late refusal by TensorFlow has called the deleter and left the capsule's name, which is no end of its own."""
    run("""
        def take(capsule):
            global kept
            kept = capsule
            return ways[way](capsule)
        def end_and_refuse(capsule):
            hostile.end(hostile.read(capsule))
            raise ValueError("no such device")
        def refuse(capsule):
            raise ValueError("no such dtype")
        def consume_and_refuse(capsule):
            hostile.end(hostile.consume(capsule))
            raise ValueError("no such shape")
        ways = dict(take=hostile.consume, ignore=lambda capsule: "ignored", end=lambda capsule: hostile.end(hostile.consume(capsule)),
                    end_and_refuse=end_and_refuse, refuse=refuse, consume_and_refuse=consume_and_refuse)
        dlpack = types.SimpleNamespace(from_dlpack=take)
        module("tensorflow", experimental=types.SimpleNamespace(dlpack=dlpack))
        for way in ways:
            for keywords in ({}, dict(flags=hostile.READ_ONLY), dict(legacy=True), dict(device=(3, 0))):
                foreign = hostile.Foreign(**keywords)
                result = export(7) if "refuse" not in way else refused(BufferError, 7)
                assert hostile.capsule_name(kept) == b"used_dltensor"
                if way == "take":
                    assert result.dl_tensor.data == ctypes.addressof(foreign.memory)
                    assert result.dl_tensor.device.device_type == 1
                    assert foreign.calls == []
                    hostile.end(result)
                result = None
                assert len(foreign.calls) == 1, way
    """)


def test_nothing_is_imported_before_it_is_used():
    run("""
        export(1)
        export(8)
        for name in ("numpy", "torch", "jax", "mlx", "tensorflow", "cupy", "ml_dtypes"):
            assert name not in sys.modules, name
        export(2)
        assert "numpy" in sys.modules and "ml_dtypes" not in sys.modules
        foreign = hostile.Foreign(dtype=(4, 16, 1))
        assert str(export(2).dtype) == "bfloat16"
    """)


def test_ml_dtypes_that_is_not_installed_is_named():
    run("""
        import numpy
        sys.modules["ml_dtypes"] = None
        foreign = hostile.Foreign(dtype=(4, 16, 1))
        told = str(refused(BufferError, 2))
        assert told == "numpy cannot take bfloat16 on cpu: NumPy has no dtype for bfloat16; the package ml_dtypes has one, and is not installed", told
        assert len(foreign.calls) == 1
    """)
