"""What a call is lent: no allocation for it, owned before anybody may change it, and never lost."""

import ctypes
import threading

import dlpark
import hostile
import numpy as np
import pytest
from hostile import Foreign, Offer
from hostile_table import Lender, capsule, table, with_table
from steady import assert_steady

Tabled = with_table()
LendOnly = with_table(capsule(table(own=False)))


def f32(*shape):
    return np.zeros(shape, np.float32)


def lender(cls=Tabled, **fields):
    return cls(Foreign(**fields))


@pytest.fixture
def look(probe):
    return lambda signature, *args, **keywords: probe.function(signature)(*args, **keywords)[0]


# ---- The table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["f32[n,k] c cpu", "f32[n,k]", "any", "f32 align=4"])
def test_a_table_lends(look, spec):
    x = lender()
    told = look(f"f(a: {spec}, b: {spec})", x, x)
    assert [(each["lent"], each["owned"]) for each in told["args"]] == [(1, 0)] * 2
    assert (x.lent, x.owned, x.foreign.calls) == (2, 0, [])
    assert told["args"][0]["address"] == ctypes.addressof(x.foreign.memory)
    assert (told["args"][0]["shape"], told["args"][0]["strides"]) == ((2, 3), (3, 1))
    assert told["args"][0]["flags"] == 8  # nobody said that it may be written


@pytest.mark.parametrize(
    "fields",
    [
        {"strides": None},
        {"byte_offset": 8},
        {"shape": (0, 3)},
        {"shape": (1, 3), "strides": (77, 1)},
        {"shape": (2, 3), "strides": (1, 2)},
        {"shape": (2, 3), "strides": (0, 1)},
        {"device": (3, 0)},
        {"shape": (2**28, 1), "data": 4096},
        {"shape": (2**40, 2**10), "data": 4096},
        {"shape": (3, 2), "device": (1, 7)},
    ],
)
def test_unusual_descriptions_are_read_by_the_other_way(look, fields):
    """A plain spec and one that is not must agree."""
    x = lender(**fields)
    plain = look("f(a: f32[n,k] cpu)", x)["args"][0]
    other = look("f(a: f32[n,k,...] cpu)", x)["args"][0]
    for each in (plain, other):  # compact strides are told where others mean nothing
        each["strides"] = [s for s, n in zip(each["strides"], each["shape"]) if n != 1]
    assert plain == other


@pytest.mark.parametrize(
    "fields",
    [
        {"shape": (-1, 3)},
        {"shape": (-2, -3), "strides": (-3, 1)},
        {"shape": (2**32, 2**32), "strides": (2**32, 1)},
        {"data": None},
        {"shape": None, "ndim": 2},
        {"shape": (2**56, 2**6), "strides": (2**6, 1)},
        {"shape": (2**50, 2), "data": 2**64 - 4096},
        {"device": (99, 0)},
        {"byte_offset": 2**63},
    ],
)
@pytest.mark.parametrize("spec", ["f32[n,k] c", "f32[n,...]"])
def test_claims_that_cannot_be_are_refused(probe, fields, spec):
    x = lender(**fields)
    with pytest.raises((BufferError, ValueError, TypeError)):
        probe.function(f"f(a: {spec})")(x)
    assert x.owned == len(x.foreign.calls)


def test_a_table_is_asked_for_an_owner_of_what_will_be_written(look):
    x = lender()
    told = look("f(a: f32[n,k] c cpu mut)", x)
    assert (told["args"][0]["owned"], told["args"][0]["f32_mut"]) == (1, ctypes.addressof(x.foreign.memory))
    assert (x.lent, x.owned, len(x.foreign.calls)) == (0, 1, 1)


@pytest.mark.parametrize("fault", [KeyError, RuntimeError, BufferError, "silent"])
@pytest.mark.parametrize("spec", ["f32[n,k] c", "f32", "f32 mut"])
def test_a_table_that_fails(probe, fault, spec):
    x = Tabled(fault=fault if fault == "silent" else fault("own"))
    with pytest.raises(RuntimeError if fault == "silent" else fault) as caught:
        probe.function(f"f(a: f32, b: {spec})")(f32(1), x)
    assert caught.value.__notes__ == ["in f() argument 'b'"]
    assert fault == "silent" or caught.value is x.fault


def test_a_table_without_a_view(look):
    x = lender(with_table(capsule(table(lend=False))))
    told = look("f(a: f32[n,k] c cpu)", x)
    assert told["args"][0]["owned"] == 1 and len(x.foreign.calls) == 1


# ---- Foreign code beside it -----------------------------------------------------------------------------------------


class Meddler:
    """A producer, and a number, that does something when it is asked."""

    def __init__(self, act):
        self.act = act

    def __dlpack__(self, **keywords):
        self.act()
        return f32(2, 3).__dlpack__(max_version=(1, 0))

    def __dlpack_device__(self):
        return (1, 0)

    def __index__(self):
        self.act()
        return 7

    __float__ = None


SECOND = ["f32", "int"]


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("spec", ["f32[n,k] c", "f32"])
def test_what_was_lent_is_owned_when_foreign_code_has_run(look, second, spec):
    x = lender()
    told = look(f"f(a: {spec}, b: {second})", x, Meddler(lambda: None))
    assert told["args"][0]["owned"] == 1 and (x.lent, x.owned, len(x.foreign.calls)) == (1, 1, 1)


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("cls", [Tabled, LendOnly])
@pytest.mark.parametrize("change", [{"shape": (3, 2)}, {"shape": (2, 3, 1)}, {"dtype": (1, 32, 1)}, {"strides": (1, 2)}, {"data": 4096}, {"shape": (-1, 2)}])
def test_what_was_lent_has_changed(probe, second, cls, change):
    x = lender(cls)
    other = Foreign(**change)

    def act():
        x.foreign = other

    with pytest.raises((RuntimeError, BufferError)) as caught:
        probe.function(f"f(a: f32, b: {second})")(x, Meddler(act))
    if not isinstance(caught.value, BufferError):
        assert str(caught.value) == "f() argument 'a' was changed while the call was reading it"
    assert len(other.calls) == x.owned and (x.owned == 0 or cls is Tabled)


@pytest.mark.parametrize("second", SECOND)
def test_what_has_no_owner_is_looked_at_again(look, second):
    x = lender(LendOnly)
    told = look(f"f(a: f32, b: {second})", x, Meddler(lambda: None))
    assert told["args"][0]["lent"] == 1 and x.lent == 2


class Fake:
    """Says that it is NumPy's bool, and does something when it is asked which."""

    __module__ = "numpy"

    def __init__(self, act):
        self.act = act

    def __bool__(self):
        self.act()
        return True


Fake.__name__ = "bool"


class Heir(Tabled):
    """A class derived from one with a table: its own code runs when the kit asks whether gradients are needed."""

    @property
    def requires_grad(self):
        self.act()
        return False


class Nosy(type):
    """Does something when anybody asks what its class has."""

    def __getattribute__(cls, name):
        type.__getattribute__(cls, "act")()
        return type.__getattribute__(cls, name)


def make_heir(act):
    heir = lender(Heir, shape=(4,))
    heir.act = act
    return heir


def make_nosy(act, **members):
    """Of a class that no call has seen."""
    return Nosy("Fresh", (Lender,), {"act": staticmethod(act), **members})(Foreign(shape=(4,)))


FOREIGN = {
    "bool": ("bool", Fake),
    "gradients": ("f32[4] c mut", make_heir),
    "gradients of any": ("any mut", make_heir),
    "table": ("f32[4] c", lambda act: make_nosy(act, __dlpack_c_exchange_api__=capsule(table()))),
}


@pytest.mark.parametrize("way", FOREIGN)
@pytest.mark.parametrize("cls", [Tabled, LendOnly])
@pytest.mark.parametrize("result", ["", " -> f32[2]"])
def test_whatever_code_runs_beside_what_is_lent(probe, way, cls, result):
    x, other, (spec, make) = lender(cls), Foreign(shape=(7,)), FOREIGN[way]
    function = probe.function(f"f(a: f32[n,k] c, b: {spec}){result}", bare=True)

    def act():
        x.foreign = other

    with pytest.raises(RuntimeError, match=r"^f\(\) argument 'a' was changed while the call was reading it$"):
        function(x, make(act))
    assert len(other.calls) == x.owned


def test_what_a_deleter_of_an_earlier_signature_does(probe):
    """A capsule that only the first signature wanted is ended when the second one fits."""
    x, other, foreign = lender(), Foreign(shape=(7,)), Foreign(shape=(4,))

    def act(_):
        x.foreign = other

    foreign.callback = hostile.DELETER(act)
    foreign.managed.deleter = ctypes.cast(foreign.callback, ctypes.c_void_p)
    function = probe.function("f(a: f32[n,k], b: f32[4], n: int)", "f(a: f32[n,k], b: object, n: str)", bare=True)
    with pytest.raises(RuntimeError, match="argument 'a' was changed while the call was reading it"):
        function(x, foreign.capsule(), "s")


def test_a_type_is_looked_at_before_anything_is_lent(look):
    x = lender(with_table())
    assert [each["lent"] for each in look("f(a: f32[n,k] c, b: f32)", x, x)["args"]] == [1, 1]


def test_what_has_no_owner_and_fails_the_second_time(probe):
    x = lender(LendOnly)

    def act():
        x.fault = "silent"

    with pytest.raises(RuntimeError) as caught:
        probe.function("f(a: f32, n: int)")(x, Meddler(act))
    assert caught.value.__notes__ == ["in f() argument 'a'"]


def test_tensors_of_numpy_and_ours_are_not_owned(look):
    told = look("f(a: f32[n] c, b: f32, n: int, c: f32)", f32(2), dlpark.from_dlpack(f32(1)), Meddler(lambda: None), Meddler(lambda: None))
    assert [told["args"][i]["owned"] for i in (0, 1, 3)] == [0, 0, 1]


# ---- Without the GIL ------------------------------------------------------------------------------------------------


@pytest.fixture
def gate(probe):
    """A thread of Python's that opens the gate for which the block waits."""
    probe.open_gate(False)
    thread = threading.Thread(target=lambda: probe.open_gate(True))
    yield thread
    thread.join()
    probe.open_gate(False)


def test_other_threads_run_during_a_block(probe, gate):
    x, foreign = lender(), Foreign()
    args = (x, Offer(foreign), f32(2), dlpark.from_dlpack(f32(3)))
    function = probe.function("f(a: f32[n,k] c, b: f32, c: f32, d: f32[3] c) -> f32[n]", nogil=True, hook=lambda told: gate.start())
    told, result = function(*args)
    assert told["waited"] is True and result.shape == (2,)
    # b came by foreign code, after which a was owned already
    assert [each["owned"] for each in told["after"]["args"]] == [1, 1, 0, 0]
    assert len(x.foreign.calls) == len(foreign.calls) == 1


def test_what_was_lent_is_owned_in_a_block(probe, gate):
    x = lender()
    told, _ = probe.function("f(a: f32[n,k] c, n?: int)", nogil=True, hook=lambda told: gate.start())(x, 5)
    assert [told[when]["args"][0]["owned"] for when in ("after",)] == [1] and told["args"][0]["lent"] == 1
    assert (x.lent, x.owned, len(x.foreign.calls)) == (1, 1, 1)


def test_a_block_does_not_run_when_something_cannot_be_owned(probe):
    with pytest.raises(BufferError, match="gives no owners") as caught:
        probe.function("f(a: f32[n,k] c)", nogil=True)(lender(LendOnly))
    assert caught.value.__notes__ == ["in f() argument 'a'"]


def test_many_threads_in_blocks(probe):
    probe.open_gate(True)
    function = probe.function("f(a: f32[n] c cpu, b: f32[n]) -> f32[n]", nogil=True)
    x, failures = dlpark.from_dlpack(f32(4)), []

    def work():
        try:
            for _ in range(200):
                told, result = function(x, np.ones(4, np.float32))
                assert told["waited"] and result.shape == (4,)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    probe.open_gate(False)
    assert failures == []


# ---- Memory ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["numpy", "own", "device"])
@pytest.mark.parametrize("spec", ["f32[n,k] c cpu", "f32[n,k]", "any"])
def test_nothing_is_allocated_for_what_is_lent(probe, make, spec):
    x = f32(2, 3)
    args = {"numpy": lambda: x, "own": lambda: dlpark.from_dlpack(x), "device": lambda: probe.device_tensor(1, 0, 2, 3)}[make]()
    function = probe.function(f"f(a: {spec}, b: {spec}, c: {spec})", bare=True)
    assert probe.count_allocations(function, (args, args, args), 10000) == 0
    assert probe.count_allocations(probe.function("f() -> f32[2]"), (), 10) >= 20  # they are counted, Python's and others
    assert probe.count_allocations(probe.function("f(a: f32[n,k] c convert)", bare=True), (f32(3, 2).T,), 10) >= 10


@pytest.mark.parametrize("way", ["numpy", "own", "offer", "lender", "refused"])
def test_reference_counts_and_memory_stay_flat(probe, way):
    x = f32(4, 8)
    make = {
        "numpy": lambda: x,
        "own": lambda held=dlpark.from_dlpack(x): held,
        "offer": lambda: memoryview(x),
        "lender": lambda held=lender(shape=(4, 8)): held,
        "refused": lambda: x,
    }[way]
    function = probe.function("f(a: f32[n,k] c, b: f32[n,k], s?: str) -> f32[n], same(a)[k]", bare=True)
    given, text = make(), "text" * 50

    def once():
        if way == "refused":
            for args in ((x, 1), (x, x, x), (x, f32(1, 2), text)):
                with pytest.raises(TypeError):
                    function(*args)
        else:
            function(given, make(), text)

    assert_steady(once, 300, [x, given, text, type(given)])
