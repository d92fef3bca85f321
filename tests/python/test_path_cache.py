"""What is remembered of types: what counts as a table, and that nothing is kept alive, or believed, for too long."""

import gc
import subprocess
import sys
import threading
import weakref

import hostile_table
import numpy as np
import pytest
from hostile import Foreign
from hostile_table import NEW_NAME, OLD_NAME, Dlpack, Lender, LenderToo, capsule, table, with_table

import dlpark

SLOW, OWN, EXCHANGE, NUMPY, CAPSULE = range(5)


def test_routes(probe):
    assert probe.type_of(with_table())[0] == EXCHANGE
    assert probe.type_of(np.ndarray)[0] == NUMPY
    assert probe.type_of(type("Sub", (np.ndarray,), {}))[0] == SLOW
    assert probe.type_of(dlpark.Tensor)[0] == OWN
    assert probe.type_of(type(Foreign().capsule()))[0] == CAPSULE
    for other in (int, Dlpack, Lender, type):
        assert probe.type_of(other)[:2] == (SLOW, None)


# ---- What is a table ----


@pytest.mark.parametrize("name", [NEW_NAME, OLD_NAME])
@pytest.mark.parametrize("as_integer", [False, True])
def test_both_names_and_both_forms(probe, name, as_integer):
    made = table()
    value = hostile_table.ctypes.addressof(made) if as_integer else capsule(made)
    for found in (with_table(value, name=name), type("Derived", (with_table(value, name=name),), {})):
        assert probe.type_of(found) == (EXCHANGE, hostile_table.ctypes.addressof(made), 0)
        assert probe.exchange_of(found) == hostile_table.ctypes.addressof(made)
        assert probe.py_import(found())[1][0] == 0x004


def test_the_new_name_goes_first(probe):
    new, old = table(), table()
    both = with_table(capsule(new), **{OLD_NAME: capsule(old)})
    assert probe.type_of(both)[1] == hostile_table.ctypes.addressof(new)
    assert probe.type_of(with_table(None, **{OLD_NAME: capsule(old)}))[1] == hostile_table.ctypes.addressof(old)


@pytest.mark.parametrize("value", [None, 0, 1, 4097, -8, 2**80, True, 3.0, "x", b"dlpack_exchange_api", object(), [], int])
def test_anything_else_is_ignored(probe, value):
    found = with_table(value, base=LenderToo)
    assert probe.type_of(found) == (SLOW, None, 0)
    assert probe.py_import(found())[1][0] == 0x010


def test_a_capsule_of_another_name_is_ignored(probe):
    assert probe.type_of(with_table(capsule(table(), b"dltensor")))[1] is None
    assert probe.type_of(with_table(capsule(table(), None)))[1] is None


def test_an_attribute_of_the_object_is_no_table(probe):
    lender = LenderToo()
    setattr(lender, NEW_NAME, capsule(table()))
    assert probe.py_import(lender)[1][0] == 0x010


def test_the_chain_of_versions_is_walked(probe):
    ours = table()
    newer = table(version=(3, 0), prev=table(version=(2, 7), prev=ours))
    assert probe.type_of(with_table(capsule(newer)))[:2] == (EXCHANGE, hostile_table.ctypes.addressof(ours))
    later = table(version=(1, 99), prev=ours)  # of our major: no need to walk
    assert probe.type_of(with_table(capsule(later)))[1] == hostile_table.ctypes.addressof(later)


def test_an_incompatible_table_leaves_it_to_dlpack(probe):
    found = with_table(capsule(table(version=(2, 0))), base=LenderToo)
    assert probe.type_of(found)[:2] == (SLOW, None)
    assert probe.py_import(found())[1][0] == 0x010


def test_a_chain_that_goes_round_ends(probe):
    first = table(version=(2, 0))
    second = table(version=(2, 1), prev=first)
    first.prev_api = hostile_table.ctypes.addressof(second)
    assert probe.type_of(with_table(capsule(first)))[1] is None


def test_a_table_without_functions(probe):
    empty = table(own=False, lend=False)
    found = with_table(capsule(empty), base=LenderToo)
    assert probe.type_of(found)[:2] == (SLOW, hostile_table.ctypes.addressof(empty))
    assert probe.py_import(found())[1][0] == 0x010


def test_a_subclass_with_a_dlpack_of_its_own(probe):
    base = with_table(base=LenderToo)
    plain = type("Plain", (base,), {})
    own = type("Own", (base,), {"__dlpack__": lambda self, **keywords: Foreign(shape=(7,)).capsule()})
    below = type("Below", (own,), {})
    assert [probe.type_of(found)[0] for found in (base, plain, own, below)] == [EXCHANGE, EXCHANGE, SLOW, SLOW]
    assert dlpark.from_dlpack(below()).shape == (7,)


# ---- Types that cannot be looked at ----


def test_a_metaclass_that_fails(probe):
    class Meta(type):
        error = None

        def __getattr__(cls, name):
            if name in (NEW_NAME, OLD_NAME) and Meta.error is not None:
                raise Meta.error
            raise AttributeError(name)

    found = Meta("Odd", (LenderToo,), {})
    for error in (ValueError("boom"), MemoryError(), None):
        Meta.error = error
        assert probe.type_of(found) == (SLOW, None, 0)
        assert probe.py_import(found())[1][0] == 0x010


def test_a_failed_look_is_not_remembered(probe):
    class Meta(type):
        looks = 0

        def __getattribute__(cls, name):
            if name == NEW_NAME:
                Meta.looks += 1
                if Meta.looks == 1:
                    raise MemoryError
            return super().__getattribute__(name)

    found = Meta("Late", (Lender,), {NEW_NAME: capsule(table())})
    assert probe.type_of(found)[0] == SLOW
    assert probe.type_of(found)[0] == EXCHANGE


def test_a_miss_is_remembered(probe):
    class Meta(type):
        looks = 0

        def __getattribute__(cls, name):
            if name == NEW_NAME:
                Meta.looks += 1
            return super().__getattribute__(name)

    found = Meta("Without", (LenderToo,), {})
    for _ in range(5):
        probe.py_import(found())
    # Once; and again where the type had no version when it was looked at for the first time.
    assert Meta.looks <= 2


# ---- Changes ----


def test_a_changed_attribute_is_noticed(probe):
    found = type("Changing", (LenderToo,), {})
    assert probe.py_import(found())[1][0] == 0x010
    setattr(found, NEW_NAME, capsule(table()))
    assert probe.py_import(found())[1][0] == 0x004
    delattr(found, NEW_NAME)
    assert probe.py_import(found())[1][0] == 0x010
    setattr(LenderToo, NEW_NAME, capsule(table()))
    try:
        assert probe.py_import(found())[1][0] == 0x004
    finally:
        delattr(LenderToo, NEW_NAME)
    assert probe.py_import(found())[1][0] == 0x010


# ---- Life ----


def test_types_by_the_thousand(probe):
    """Kept alive are no more than there are places; the others end when they are pushed out."""
    alive = []
    ended = 0
    for _ in range(5000):
        found = with_table()
        probe.py_view(found())
        alive.append(weakref.ref(found))
    del found
    gc.collect()
    ended = sum(reference() is None for reference in alive)
    assert 5000 - 256 - 1 <= ended < 5000


def test_memory_stays_flat_over_types():
    """In a process of its own, counted in blocks that Python has given out."""
    script = """
import gc, sys
import hostile_table, kit_probe
from hostile import Foreign
foreign, value = Foreign(), hostile_table.capsule(hostile_table.table())
def round():
    for _ in range(2000):
        kit_probe.py_view(hostile_table.with_table(value)(foreign))
    gc.collect()
    return sys.getallocatedblocks()
round()
before = [round() for _ in range(3)]
print(max(before) - min(before))
"""
    assert int(run(script)) < 300


def test_an_eviction_may_run_code_that_comes_back(probe):
    """A weak reference's callback imports by other types, while the cache is being written."""
    calls = []

    def callback(_):
        calls.append(probe.py_view(with_table()())[0][3])

    references = []
    for _ in range(1500):
        found = with_table()
        references.append(weakref.ref(found, callback))
        assert probe.py_view(found())[0][3] == [2, 3]
        del found
    gc.collect()
    assert len(calls) > 500
    assert all(shape == [2, 3] for shape in calls)


@pytest.mark.threads
def test_threads_share_the_cache(probe):
    types = [with_table() for _ in range(600)]
    failures = []

    def work(part):
        try:
            for _ in range(3):
                for found in part:
                    if probe.py_view(found())[0][3] != [2, 3] or dlpark.from_dlpack(found()).shape != (2, 3):
                        failures.append(found)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(types[at::2] + types[::-3],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# ---- Frameworks ----


def test_frameworks_by_module(probe):
    def of(module, base=object):
        return probe.type_of(type("X", (base,), {"__module__": module}))[2]

    assert [of(name) for name in ("torch", "torch.nn", "torchvision", "jaxlib._jax", "jax", "mlx.core")] == [3, 3, 0, 4, 4, 6]
    assert [of(name) for name in ("tensorflow.python", "cupy._core", "numpy", "mine", 3)] == [7, 5, 2, 0, 0]
    assert of("mine", base=np.ndarray) == 2
    assert probe.type_of(dlpark.Tensor)[2] == 1


# ---- Interpreters ----


def run(script, *options, python=sys.executable):
    done = subprocess.run([python, *options, "-c", prelude() + script], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    return done.stdout


def prelude():
    import pathlib

    return f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"


def test_interpreters_that_come_and_go():
    """More than have a place of their own; what one has left behind, no other looks at."""
    script = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import kit_probe
within = '''
import sys
sys.path[:0] = PATH
import kit_probe
lender = type("Lender", (), {"__dlpack_c_exchange_api__": kit_probe.lender_table()})
for _ in range(3):
    assert kit_probe.py_view(lender())[0][3] == [2, 3]
    kit_probe.py_import(type("Sub", (lender,), {})())
'''.replace("PATH", repr(sys.path))
lender = type("Lender", (), {"__dlpack_c_exchange_api__": kit_probe.lender_table()})
for count in range(70):
    interpreter = interpreters.create("legacy") if sys.version_info >= (3, 13) else interpreters.create(isolated=False)
    interpreters.run_string(interpreter, within)
    assert kit_probe.py_view(lender())[0][3] == [2, 3]
    interpreters.destroy(interpreter)
    assert kit_probe.py_view(lender())[0][3] == [2, 3]
print(kit_probe.lender_owners())
"""
    assert run(script) == "0\n"


def test_after_the_interpreters_dictionary_is_gone():
    """Functions registered for forks go after it; what they hold imports once more, when names mean nothing any more."""
    script = """
import ctypes, os, dlpark, hostile, hostile_table, kit_probe, numpy
foreign = hostile.Foreign()
managed, dl_tensor = ctypes.addressof(foreign.managed), ctypes.addressof(foreign.managed.dl_tensor)
made = type("Made", (), {hostile_table.NEW_NAME: hostile_table.capsule(hostile_table.table()),
                         "own": lambda self, managed=managed: managed,
                         "lend": lambda self, dl_tensor=dl_tensor: dl_tensor})()
class Late:
    def __del__(self, out=os.write, tensor=dlpark.from_dlpack(numpy.zeros(3)), array=numpy.zeros(4), made=made,
                new=dlpark.from_dlpack, view=kit_probe.py_view, take=kit_probe.py_import, shared=kit_probe.shared,
                errors=(AttributeError, BufferError, ImportError, RuntimeError),
                alive=(foreign, hostile._alive, hostile_table._alive)):
        out(1, b"import ")
        new(tensor)
        new(tensor, copy=True)
        new(array)
        take(made)
        out(1, b"view ")
        view(tensor), view(array), view(made)
        for call, keywords in ((lambda x: new(3), {}), (take, {"device": "cuda", "copy": 1}), (lambda x: shared(), {})):
            try:
                call(tensor, **keywords)
                out(1, b"no error ")
            except errors:
                out(1, b"error ")
os.register_at_fork(before=lambda late=Late(): None)
"""
    assert run(script) == "import view error error error "


def test_a_deleter_at_the_end():
    script = """
import sys, dlpark, numpy
array = numpy.zeros(3)
sys.kept = dlpark.from_dlpack(array)
sys.also = numpy.from_dlpack(dlpark.from_dlpack(array))  # which calls our deleter when next to nothing is left
sys.capsule = dlpark.from_dlpack(array).__dlpack__()
import atexit
atexit.register(print, "end")
"""
    assert run(script) == "end\n"
