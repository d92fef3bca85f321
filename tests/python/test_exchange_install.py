"""dlpark_py_install_exchange(): types of an extension get the protocol and the table, all of it or nothing."""

import ctypes
import pathlib
import subprocess
import sys
import textwrap

import hostile
import kit_probe
import numpy as np
import pytest
from exchange_table import NAMES, Exchange, kit_type
from hostile import Foreign
from hostile_table import NEW_NAME, OLD_NAME

import dlpark

UNKNOWN_WRITE = 8  # of a view that was lent: the struct has no flags
SETS = ["tensor", "tensor all", "share", "share all"]


@pytest.fixture
def fault():
    yield kit_probe.exchange_fault
    kit_probe.exchange_fault("")


def image(producer, functions="tensor", flags=""):
    return kit_probe.exchange_make(kit_type(functions, flags), producer)


@pytest.mark.parametrize(
    "functions, flags", [(functions, "") for functions in SETS] + [("tensor", "immutable"), ("tensor", "base")]
)
def test_what_a_type_gets(functions, flags):
    before = set(kit_probe.exchange_type(flags, None).__dict__)
    made = kit_type(functions, flags)
    assert set(made.__dict__) - before == NAMES
    assert made.__dict__[OLD_NAME] == Exchange(made).address
    assert type(made.__dict__[OLD_NAME]) is int
    assert made.__dlpack__.__doc__ == dlpark.Tensor.__dlpack__.__doc__
    assert made.__dlpack__.__text_signature__.startswith("($self, /, *, stream=None, max_version=None")
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = kit_probe.exchange_make(made, array)
    assert given.__dlpack_device__() == (1, 0)
    for keywords in ({}, {"max_version": (1, 3)}, {"copy": False}, {"dl_device": (1, 0)}):
        held = hostile.read(given.__dlpack__(**keywords))
        assert held.dl_tensor.data == array.ctypes.data
    assert np.from_dlpack(given).ctypes.data == array.ctypes.data
    assert np.from_dlpack(given, copy=True).tolist() == array.tolist()
    assert dlpark.from_dlpack(given).tolist() == array.tolist()


def test_our_own_type_is_one_of_them():
    assert NAMES < set(dlpark.Tensor.__dict__)
    assert Exchange(dlpark.Tensor).table.lend
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Sub", (dlpark.Tensor,), {})
    with pytest.raises(TypeError, match="immutable type"):
        dlpark.Tensor.__dlpack__ = None


def test_a_static_type_and_the_same_functions_again():
    static = kit_probe.exchange_static_type()
    kit_probe.install_exchange(static, "tensor all")
    before = dict(static.__dict__)
    assert NAMES < set(before)
    kit_probe.install_exchange(static, "tensor all")
    assert dict(static.__dict__) == before
    assert all(static.__dict__[name] is before[name] for name in NAMES)
    array = np.arange(3)
    assert np.from_dlpack(kit_probe.exchange_make(static, array)).ctypes.data == array.ctypes.data
    with pytest.raises(TypeError, match="has __dlpack__ already"):
        kit_probe.install_exchange(static, "share")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_type_that_has_a_name_already(name):
    made = kit_probe.exchange_type("", name)
    before = dict(made.__dict__)
    with pytest.raises(TypeError, match=f"^<class 'kit_probe.Image'> has {name} already$"):
        kit_probe.install_exchange(made, "tensor")
    assert dict(made.__dict__) == before


@pytest.mark.parametrize("functions", ["neither", "both"])
def test_exactly_one_source(functions):
    made = kit_probe.exchange_type("", None)
    with pytest.raises(ValueError, match="Image.*exactly one of the functions `tensor` and `share`"):
        kit_probe.install_exchange(made, functions)
    assert not NAMES & set(made.__dict__)


def test_inherited_and_overridden():
    base = kit_type("tensor", "base")
    sub = type("Sub", (base,), {})
    array = np.arange(3)
    given = kit_probe.exchange_make(sub, array)
    assert np.from_dlpack(given).ctypes.data == array.ctypes.data
    assert getattr(sub, NEW_NAME) is base.__dict__[NEW_NAME]
    assert hostile.end(Exchange(base).own(given)) is None
    kit_probe.install_exchange(sub, "share")  # its own names are free
    assert Exchange(sub).address != Exchange(base).address
    assert np.from_dlpack(given).ctypes.data == array.ctypes.data


ALONE = """
    import gc, weakref
    import kit_probe, numpy as np, pytest
    from exchange_table import NAMES, Exchange

    def make():
        made = kit_probe.exchange_type("", None)
        kit_probe.install_exchange(made, "tensor")
        return made
"""


def run(script):
    script = "import sys; sys.path.insert(0, %r)\n" % str(pathlib.Path(__file__).parent) + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_types_that_die_make_room():
    """They lie in cycles, and are collected when room is needed."""
    run(
        ALONE
        + """
    gc.set_threshold(10**6)  # nothing is collected unless it is asked for
    for _ in range(100):
        made = make()
        alive = weakref.ref(made)
        del made
    gc.collect()
    assert alive() is None
"""
    )


def test_too_many():
    run(
        ALONE
        + """
    kept = [make() for _ in range(16)]
    assert len({Exchange(made).address for made in kept}) == 16
    spare = kit_probe.exchange_type("", None)
    before = dict(spare.__dict__)
    with pytest.raises(RuntimeError, match="to 16 types, which is the most"):
        kit_probe.install_exchange(spare, "tensor")
    assert dict(spare.__dict__) == before
    del kept[3]
    with pytest.raises(RuntimeError):
        kit_probe.install_exchange(spare, "share")  # a table leads to the same functions for ever
    kit_probe.install_exchange(spare, "tensor")
    array = np.arange(2)
    for cls in [*kept, spare]:
        assert np.from_dlpack(kit_probe.exchange_make(cls, array)).ctypes.data == array.ctypes.data
"""
    )


def test_methods_want_an_object_of_the_type():
    made = kit_type("tensor")
    for method in (made.__dlpack__, made.__dlpack_device__):
        with pytest.raises(TypeError, match="'kit_probe.Image'"):
            method(object())
        with pytest.raises(TypeError):
            method()


# ---- Functions that fail ----


@pytest.mark.parametrize("functions", SETS)
@pytest.mark.parametrize("kind, error, text", [("raise", KeyError, "as asked"), ("silent", RuntimeError, "Image")])
def test_functions_that_fail(fault, functions, kind, error, text):
    given = image(np.zeros(3), functions)
    exchange = Exchange(type(given))
    fault(kind)
    for call in (given.__dlpack__, given.__dlpack_device__, lambda: exchange.own(given)):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("kind, error", [("nothing", RuntimeError), ("both", KeyError)])
def test_an_owner_that_comes_with_a_failure_is_ended(fault, kind, error):
    foreign = Foreign()
    given = image(foreign.capsule(), "share")
    fault(kind)
    for call in (given.__dlpack__, lambda: given.__dlpack__(max_version=(1, 0)), given.__dlpack_device__):
        with pytest.raises(error):
            call()
    del given, call
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("functions", ["tensor", "tensor all"])
def test_an_object_that_holds_nothing(functions):
    given = image(None, functions)
    for call in (given.__dlpack__, given.__dlpack_device__, lambda: given.__dlpack__(copy=True)):
        with pytest.raises(BufferError, match="^the Image holds no tensor$"):
            call()


# ---- What is said of copies and of memory that must not be written ----


def test_a_type_that_can_only_copy(fault):
    array = np.arange(3)
    given = image(array, "share")
    fault("copy")
    for copy in (None, True):
        held = hostile.read(given.__dlpack__(max_version=(1, 0), copy=copy))
        assert held.flags == hostile.IS_COPIED
        assert held.dl_tensor.data != array.ctypes.data
    with pytest.raises(BufferError, match="copy only, and copy=False"):
        given.__dlpack__(copy=False)
    assert np.from_dlpack(given).tolist() == [0, 1, 2]


@pytest.mark.parametrize("functions", SETS)
def test_read_only_and_copies(functions):
    array = np.arange(3)
    array.flags.writeable = False
    given = image(array, functions)
    assert hostile.read(given.__dlpack__(max_version=(1, 0))).flags == hostile.READ_ONLY
    assert hostile.read(given.__dlpack__(max_version=(1, 0), copy=True)).flags == hostile.IS_COPIED
    with pytest.raises(BufferError, match="read-only"):
        given.__dlpack__()
    assert np.from_dlpack(given).flags.writeable is False
    assert dlpark.from_dlpack(given).readonly


@pytest.mark.parametrize("functions", ["tensor", "tensor all"])
def test_what_cannot_be_lent_is_owned(functions):
    """The kit's consumer falls back to an owner where the table refuses to describe memory without flags."""
    array = np.arange(3.0)
    array.flags.writeable = False
    view, owned = kit_probe.py_view(image(array, functions))
    assert (view[0], view[5], owned) == (array.ctypes.data, hostile.READ_ONLY, True)
    view, owned = kit_probe.py_view(image(np.arange(3.0), functions))
    assert (view[5], owned) == (UNKNOWN_WRITE, False)


@pytest.mark.parametrize("functions", SETS)
def test_pinned_memory_as_cpu(functions):
    foreign = Foreign(device=(hostile.CUDA_HOST, 0))
    given = image(foreign.capsule(), functions)
    assert given.__dlpack_device__() == (hostile.CUDA_HOST, 0)
    held = hostile.read(given.__dlpack__(dl_device=(1, 0), copy=False))
    assert held.dl_tensor.device.device_type == hostile.CPU
    assert held.dl_tensor.data == ctypes.addressof(foreign.memory)
    with pytest.raises(dlpark.DeviceCopyError):
        given.__dlpack__(dl_device=(2, 0), copy=False)
    del given, held
    assert len(foreign.calls) == 1


# ---- Streams ----

DEFAULT, PER_THREAD, HANDLE = 2, 3, 4


@pytest.mark.parametrize("functions", ["tensor all", "share all"])
def test_a_consumers_stream(functions):
    given = image(Foreign(device=(hostile.CUDA, 1)).capsule(), functions)
    assert hostile.read(given.__dlpack__(stream=2)).dl_tensor.device.device_id == 1
    assert kit_probe.exchange_asked() == (hostile.CUDA, 1, PER_THREAD, 0)
    given.__dlpack__(stream=0xABC, max_version=(1, 0))
    assert kit_probe.exchange_asked() == (hostile.CUDA, 1, HANDLE, 0xABC)
    given.__dlpack__(stream=-1)
    assert kit_probe.exchange_asked() == (hostile.CUDA, 1, HANDLE, 0xABC)  # no order is asked for
    for keywords in ({}, {"stream": None}, {"stream": 1}, {"max_version": (1, 0)}):
        given.__dlpack__(stream=0xABC)
        given.__dlpack__(**keywords)
        assert kit_probe.exchange_asked() == (hostile.CUDA, 1, DEFAULT, 0)
    with pytest.raises(ValueError):
        given.__dlpack__(stream=0)


@pytest.mark.parametrize("kind, error", [("raise", KeyError), ("silent", RuntimeError)])
def test_a_stream_that_cannot_be_ordered(fault, kind, error):
    foreign = Foreign(device=(hostile.CUDA, 0))
    given = image(foreign.capsule(), "share all")
    with pytest.raises(BufferError, match="stream=7.*cannot be ordered"):
        image(Foreign(device=(hostile.CUDA, 0)).capsule(), "share").__dlpack__(stream=7)
    made = kit_probe.exchange_make(kit_type("tensor all"), Foreign(device=(hostile.CUDA, 0)).capsule())
    fault(kind)
    with pytest.raises(error):
        made.__dlpack__(stream=7)
    fault("")
    del given
    assert len(foreign.calls) == 1
