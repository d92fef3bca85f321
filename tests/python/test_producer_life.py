"""The life of what the producer gives out: memory over many exports, threads, pending exceptions, the end of Python."""

import ctypes
import gc
import pathlib
import subprocess
import sys
import textwrap
import threading
import weakref

import hostile
import kit_probe
import numpy as np
import pytest
from exchange_table import Exchange, kit_type
from hostile import Foreign

import dlpark

KINDS = ["Tensor", "tensor", "share all"]


def class_of(kind):
    return dlpark.Tensor if kind == "Tensor" else kit_type(kind)


def make(kind, producer):
    return dlpark.from_dlpack(producer) if kind == "Tensor" else kit_probe.exchange_make(class_of(kind), producer)


class Allocations(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keep")]


def in_use():
    """Bytes that malloc has given out, and blocks that Python has."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return 0, sys.getallocatedblocks()
    libc.mallinfo2.restype = Allocations
    return libc.mallinfo2().uordblks, sys.getallocatedblocks()


@pytest.mark.parametrize("kind", KINDS)
def test_memory_stays_flat(kind):
    foreign = Foreign()
    given = make(kind, foreign.capsule())
    exchange = Exchange(class_of(kind))

    def export(count):
        for _ in range(count):
            given.__dlpack__()
            given.__dlpack__(max_version=(1, 3))
            given.__dlpack_device__()

    def exchange_once(count):
        for _ in range(count):
            hostile.end(exchange.own(given))

    export(100), exchange_once(100)
    references = sys.getrefcount(given), sys.getrefcount(class_of(kind))
    nbytes, blocks = in_use()
    export(100_000), exchange_once(1_000)
    more_bytes, more_blocks = in_use()
    assert more_bytes - nbytes < 65_536
    assert more_blocks - blocks < 200
    assert (sys.getrefcount(given), sys.getrefcount(class_of(kind))) == references
    assert foreign.calls == []


@pytest.mark.parametrize("kind", KINDS)
def test_many_at_once(kind):
    foreign = Foreign()
    given = make(kind, foreign.capsule())
    capsules = [given.__dlpack__(max_version=version) for version in (None, (1, 0)) * 500]
    managed = [hostile.consume(capsule) for capsule in capsules[::2]]
    assert len({ctypes.addressof(held) for held in managed}) == 500
    del given, capsules[::3]
    for held in managed:
        hostile.end(held)
    assert foreign.calls == []
    del capsules
    assert len(foreign.calls) == 1


def end_on_a_thread_of_its_own(managed):
    """pthread_create straight into the deleter: no thread state, no GIL."""
    pthreads = ctypes.CDLL(None)
    handle = ctypes.c_ulong()
    deleter = ctypes.c_void_p(managed.deleter)
    assert pthreads.pthread_create(ctypes.byref(handle), None, deleter, ctypes.byref(managed)) == 0
    assert pthreads.pthread_join(handle, None) == 0


@pytest.mark.threads
@pytest.mark.parametrize("kind", KINDS)
def test_owners_end_on_threads_that_python_does_not_know(kind):
    foreign = Foreign()
    given = make(kind, foreign.capsule())
    held = [Exchange(class_of(kind)).own(given) for _ in range(4)]
    del given
    for managed in held:
        assert foreign.calls == []
        end_on_a_thread_of_its_own(managed)
    assert len(foreign.calls) == 1 and foreign.calls != [threading.get_ident()]


@pytest.mark.threads
@pytest.mark.parametrize("kind", KINDS)
def test_exports_come_back_while_others_are_made(kind):
    """The struct of an export that has ended is used again: never before its consumer is done with it."""
    array = np.arange(6.0).reshape(2, 3)
    given = make(kind, array)
    exchange = Exchange(class_of(kind))
    queue, wrong = [], []

    def consume():
        for _ in range(2000):
            while not queue:
                pass
            managed = queue.pop()
            if list(managed.dl_tensor.shape[:2]) != [2, 3] or managed.dl_tensor.data != array.ctypes.data:
                wrong.append(bytes(managed))
            managed.dl_tensor.shape[0] = 99
            hostile.end(managed)

    thread = threading.Thread(target=consume)
    thread.start()
    for _ in range(2000):
        queue.append(exchange.own(given))
    thread.join()
    assert wrong == []


def test_an_owner_written_in_python_is_dropped_on_any_thread():
    array = np.zeros(3)
    alive = weakref.ref(array)
    held = Exchange(dlpark.Tensor).own(dlpark.from_dlpack(array))
    del array
    gc.collect()
    assert alive() is not None
    end_on_a_thread_of_its_own(held)
    assert alive() is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_pending_exception_survives(kind, version):
    """The interpreter drops what a failing expression has made so far while its exception is set."""

    def fail():
        raise KeyError("pending")

    foreign = Foreign()
    given = [make(kind, foreign.capsule())]
    with pytest.raises(KeyError, match="pending"):
        _ = [given.pop().__dlpack__(max_version=version), fail()]
    assert len(foreign.calls) == 1


def run(script, **values):
    prelude = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
    script = prelude + textwrap.dedent(script).format(**values)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


LATE = """
    import ctypes, sys
    import hostile, numpy, dlpark, kit_probe
    from exchange_table import Exchange, kit_type

    cls = dlpark.Tensor if {kind!r} == "Tensor" else kit_type({kind!r})
    array = numpy.zeros(3)
    given = dlpark.from_dlpack(array) if {kind!r} == "Tensor" else kit_probe.exchange_make(cls, array)
    for managed in (Exchange(cls).own(given), Exchange(cls).own(given)):
        # What a C++ static does: the deleter runs in an exit handler of libc, after the interpreter is gone.
        assert ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(managed.deleter), ctypes.byref(managed), None) == 0
    if {kept}:
        sys.modules["kept"] = [given, cls]
    else:
        del given
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [True, False])
def test_ended_after_the_interpreter(kind, kept):
    run(LATE, kind=kind, kept=kept)


DEEPER = {
    "array": "numpy.asarray(dlpark.from_dlpack(step))",
    "DLPack": "numpy.from_dlpack(dlpark.from_dlpack(step))",
    "buffer": "memoryview(dlpark.from_dlpack(step))",
    "interface": "numpy.asarray(dlpark.from_dlpack(numpy.asarray(step), via='array_interface'))",
}


@pytest.mark.parametrize("way", DEEPER)
def test_objects_on_objects_end_without_recursion(way):
    """A loop that wraps its state anew in every step makes a chain, whose end must not need the stack of all of it."""
    run(
        f"""
    import dlpark, hostile, numpy
    foreign = hostile.Foreign(shape=(2, 3))
    step = numpy.asarray(dlpark.from_dlpack(foreign.capsule()))
    for _ in range(50000):
        step = {DEEPER[way]}
    assert foreign.calls == []
    del step
    assert len(foreign.calls) == 1
    """
    )


def test_a_tree_of_objects_ends():
    """More objects wait at once than have a place to."""
    run(
        """
    import dlpark, hostile, numpy
    memory = numpy.zeros(1)
    class Node:
        __array_interface__ = memory.__array_interface__
        def __init__(self, children):
            self.children = children
    foreign = [hostile.Foreign() for _ in range(300)]
    steps = [dlpark.from_dlpack(each.capsule()) for each in foreign]
    for _ in range(70):
        steps = [dlpark.from_dlpack(Node(step), via="array_interface") for step in steps]
    tree = dlpark.from_dlpack(Node(steps), via="array_interface")
    del steps
    assert [each.calls for each in foreign] == [[]] * 300
    del tree
    assert [len(each.calls) for each in foreign] == [1] * 300
    """
    )


WITHIN = """
import sys
sys.path[:0] = PATH
try:
    import dlpark
except ImportError as error:
    assert "subinterpreter" in str(error), error
else:
    raise AssertionError("imported")
"""


def test_a_subinterpreter_is_refused():
    """There, whatever gives memory back would wait for an interpreter lock that its own thread has."""
    run(
        f"""
    import sys
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    within = {WITHIN!r}.replace("PATH", repr(sys.path))
    interpreter = interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create(isolated=False)
    interpreters.run_string(interpreter, within)
    interpreters.destroy(interpreter)
    import dlpark
    assert dlpark.from_dlpack(bytearray(3)).shape == (3,)
    """
    )


def test_a_module_that_is_executed_again():
    """There is one Tensor in an interpreter, and one exception class, however often dlpark._core is executed."""
    run(
        """
    import gc, importlib, pickle, sys
    import dlpark, dlpark._core, kit_probe, numpy as np
    first, tensor = dlpark._core, dlpark.from_dlpack(np.arange(3))
    for _ in range(20):
        del sys.modules["dlpark._core"]
        again = importlib.import_module("dlpark._core")
        assert again is not first
        assert again.Tensor is first.Tensor and again.DeviceCopyError is first.DeviceCopyError
        assert type(again.from_dlpack(np.zeros(1))) is first.Tensor
        assert pickle.loads(pickle.dumps(tensor)).tolist() == [0, 1, 2]
    del first, dlpark, sys.modules["dlpark"], sys.modules["dlpark._core"], again
    gc.collect()
    import dlpark
    assert type(tensor) is dlpark.Tensor and tensor.tolist() == [0, 1, 2]
    view, owned = kit_probe.py_view(tensor)
    assert view[3] == [3] and not owned
    """
    )
