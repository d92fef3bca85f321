"""What the kit's judgement rests on: elements, the count of deleter calls, how a process ended."""

import ctypes
import faulthandler

import ml_dtypes
import numpy as np
import pytest

from dlpark.conformance import abi, capture, consumer_tables, elements, ending, foreign, importing, rules, targets, worker

WHOLE_BYTES = [name for name in elements.TRIPLES if name not in elements.SUB_BYTE and name != "complex32"]


def numpy_type(name):
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.mark.parametrize("name", WHOLE_BYTES)
def test_elements_are_numpys(name):
    """Every value that the kit puts into memory, both ways."""
    values = [elements.pattern(name, index) for index in range(100)]
    raw = b"".join(elements.encode(name, value) for value in values)
    theirs = np.frombuffer(raw, numpy_type(name))
    assert theirs.astype("complex128").tolist() == values
    assert np.array(values).astype(numpy_type(name)).tobytes() == raw
    assert [
        elements.decode(name, raw[at : at + elements.nbytes(name)]) for at in range(0, len(raw), elements.nbytes(name))
    ] == values


@pytest.mark.parametrize("name", [name for name in elements.SMALL_FLOATS if hasattr(ml_dtypes, name)])
def test_small_floats_decode_as_ml_dtypes_does(name):
    """Every finite pattern."""
    bits = elements.code_bits(name)[1]
    for pattern in range(1 << bits):
        theirs = float(np.array([pattern], np.uint8).view(numpy_type(name))[0])
        if np.isfinite(theirs):
            assert elements.from_bits(name, pattern) == theirs, pattern


@pytest.mark.parametrize("name", elements.SUB_BYTE)
def test_packed_elements_begin_with_the_lowest_bits(name):
    values = [elements.pattern(name, index) for index in range(13)]
    raw = elements.pack(name, values)
    bits = elements.code_bits(name)[1]
    assert len(raw) == (13 * bits + 7) // 8
    assert raw[0] & ((1 << bits) - 1) == elements.to_bits(name, values[0])
    assert [elements.unpack(name, raw, index) for index in range(13)] == values


def test_complex_of_two_halves():
    assert elements.encode("complex32", 3 - 2j) == np.array([3, -2], "float16").tobytes()
    assert elements.decode("complex32", np.array([0.5, 4], "float16").tobytes()) == 0.5 + 4j


@pytest.mark.parametrize("name", elements.TRIPLES)
def test_neighbours_differ(name):
    """A reader that is one element off reads something else."""
    ramp = [elements.ramp(name, index) for index in range(-20, 20)]
    assert all(a != b for a, b in zip(ramp, ramp[1:], strict=False))


# ---- Foreign tensors ----


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_calls_of_the_deleter_are_counted(legacy, calls):
    tensor = foreign.Foreign(legacy=legacy)
    for _ in range(calls):
        abi.DELETER(tensor.managed.deleter)(tensor.address)
    assert tensor.calls() == calls


def test_the_deleter_works_without_python():
    tensor = foreign.Foreign()
    exported = capture.Export(tensor.make_capsule())
    exported.end_on_a_foreign_thread()
    assert tensor.calls() == 1


@pytest.mark.parametrize("legacy", [False, True])
def test_whose_a_tensor_is(legacy):
    tensor = foreign.Foreign(legacy=legacy)
    assert not tensor.taken
    capsule = tensor.make_capsule()
    assert not tensor.taken
    abi.capsule_rename(capsule, abi.USED[abi.LEGACY if legacy else abi.VERSIONED])
    assert tensor.taken


def test_a_destructor_that_was_taken_out():
    tensor = foreign.Foreign()
    capsule = tensor.make_capsule()
    ctypes.pythonapi.PyCapsule_SetDestructor(ctypes.py_object(capsule), None)
    assert tensor.taken


def test_memory_reads_by_the_fields():
    for fields in (
        {},
        {"strides": (-3, -1)},
        {"strides": (8, 1), "byte_offset": 12},
        {"shape": (2, 2), "strides": (0, 1)},
    ):
        tensor = foreign.Foreign(**fields)
        assert capture.read(tensor.managed.dl_tensor, "float32") == tensor.values()
        assert (
            np.from_dlpack(foreign.Offer(lambda legacy, tensor=tensor: tensor, legacy=False)).ravel().tolist()
            == tensor.values()
        )


def test_an_offer_gives_what_it_is_asked_for():
    offer = foreign.Offer(lambda legacy: foreign.Foreign(legacy=legacy))
    for keywords, name in (
        ({}, abi.LEGACY),
        ({"max_version": (0, 9)}, abi.LEGACY),
        ({"max_version": (1, 0)}, abi.VERSIONED),
    ):
        assert abi.capsule_name(offer.__dlpack__(**keywords)) == name
    assert [call.get("max_version") for call in offer.asked] == [None, (0, 9), (1, 0)]


@pytest.mark.parametrize("which", ["shape", "strides"])
def test_a_reader_of_more_extents_than_there_are_dies(which):
    def read(target):
        faulthandler.disable()  # pytest's, which has much to say
        numbers = getattr(foreign.Foreign(shape=(2, 3)).managed.dl_tensor, which)
        return str([numbers[axis] for axis in range(target)])

    judged = rules.Rule("P-X-01", "producer", "must", "here", "It is so.", read)
    assert worker.contain(judged, 2, 60).verdict == "pass"
    assert worker.contain(judged, 3, 60).observed == "died of SIGSEGV"


def test_a_view_of_a_table_is_nobodys_to_end():
    tabled = consumer_tables.Tabled()
    view = abi.Tensor()
    assert tabled._view(None, ctypes.pointer(view)) == 0 and view.ndim == 2
    outcome = importing.Outcome(None)
    assert consumer_tables._ended(tabled, outcome) == "by __dlpack__"
    abi.DELETER(tabled.lent[0].managed.deleter)(tabled.lent[0].address)
    with pytest.raises(rules.Wrong, match="a view"):
        consumer_tables._ended(tabled, outcome)


def test_who_ends_a_refused_tensor(monkeypatch):
    monkeypatch.setattr(importing, "PATIENCE", 0.1)

    def outcome(calls, taken):
        tensor = foreign.Foreign()
        capsule = tensor.make_capsule()
        for _ in range(calls):
            abi.DELETER(tensor.managed.deleter)(tensor.address)
        if taken:
            abi.capsule_rename(capsule, abi.USED[abi.VERSIONED])
        return importing.Outcome(tensor, error=ValueError("no"))

    assert importing.ended_once(outcome(0, False)) == "it left the tensor in its capsule"
    assert importing.ended_once(outcome(1, True)) == "it took the tensor and called the deleter once"
    for calls, taken in ((1, False), (2, True), (0, True)):
        with pytest.raises(rules.Wrong):
            importing.ended_once(outcome(calls, taken))


# ---- Endings ----

ANSWER = b'{"rule": "P-X-01", "verdict": "pass", "expected": "It is so.", "observed": "so"}'


def rule(**more):
    return rules.Rule("P-X-01", "producer", "must", "here", "It is so.", lambda target: "so", **more)


@pytest.mark.parametrize(
    "answer, status, said, verdict, observed",
    [
        (ANSWER, 0, "", "pass", "so"),
        (b"", 0, "", "crash", "ended with status 0"),
        (b"", None, "", "hang", "no end after 5 s"),
        (ANSWER, None, "", "hang", "no end after 5 s"),
        (b"", 11, "", "crash", "died of SIGSEGV"),
        (b"", 6, "x\nterminate called: bad\ny", "crash", "died of SIGABRT: terminate called: bad"),
        (b"", 11, "nothing of interest", "crash", "died of SIGSEGV"),
        (b"", 3 << 8, "first\nlast words", "crash", "ended with status 3: last words"),
        (b"", 64 - 1, "", "crash", "died of signal 63"),
    ],
)
def test_how_a_process_ended(answer, status, said, verdict, observed):
    result = ending.conclude(rule(), ending.Ending(answer, status, said, 5))
    assert (result.verdict, result.observed) == (verdict, observed)


MARK = ending.MARKER.decode()


@pytest.mark.parametrize(
    "status, said, verdict",
    [
        (ending.STATUS << 8, MARK + ": Success", "pass"),
        (11, MARK, "crash"),
        (None, MARK, "hang"),
        (1 << 8, MARK, "crash"),
        (11, "", "not applicable"),
        (0, "", "not applicable"),
    ],
)
def test_an_end_that_is_the_verdict(status, said, verdict):
    """Only what happens after the marker is the deleter's."""
    assert ending.conclude(rule(ends_process=True), ending.Ending(ANSWER, status, said, 5)).verdict == verdict


# ---- Targets ----


def test_a_factory_may_replace_any_default():
    class Mine:
        dtypes = ("int8",)
        immutable = True
        version = "7"

        def make(self, dtype, shape):
            return (dtype, shape)

        def values(self, array):
            return ["mine"]

    target = targets.from_factory("mine", Mine)
    assert (target.name, target.version, target.dtypes, target.immutable) == ("mine", "7", ("int8",), True)
    assert target.any() == ("float32", (2, 3))
    assert target.values(None) == ["mine"]
    assert not targets.consumes(target)
    assert targets.consumes(targets.from_factory("mine", Mine, consumer=len))


def test_a_factory_that_makes_nothing():
    with pytest.raises(TypeError, match="neither __dlpack__ nor make"):
        targets.from_factory("mine", lambda: 3)


def test_what_a_target_has_not_is_a_reason():
    class Mine:
        def make(self, dtype, shape):
            raise ValueError("no such type")

    target = targets.from_factory("mine", Mine)
    with pytest.raises(rules.NotApplicable, match=r"it makes no bool\[2\]: ValueError: no such type"):
        targets.make(target, "bool", (2,))
    with pytest.raises(rules.NotApplicable, match="no view that is reversed"):
        targets.view(target, object(), "reversed")


def test_an_array_without_a_shape_says_it_by_its_export():
    class Shapeless:
        def __dlpack__(self, **keywords):
            return np.zeros((2, 3)).__dlpack__(**keywords)

    assert targets.Target().shape(Shapeless()) == (2, 3)


def test_logs_are_told_without_their_times():
    said = "x\nF0000 00:00:17960494.131871   30240 shape.cc:204] Check failed: y\nz"
    assert ending.telling_line(said, anything=False) == "shape.cc:204] Check failed: y"


def test_any_module_of_the_array_api_is_a_target(tmp_path, monkeypatch):
    (tmp_path / "somebody.py").write_text("from numpy import *\n__version__ = '0.1'\n")
    (tmp_path / "nobody.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    target = targets.load("somebody")
    assert (target.name, target.version) == ("somebody", "0.1")
    assert "float32" in target.dtypes and "bool" in target.dtypes
    assert target.values(target.make("int8", (2, 2))) == [0, 1, 2, 3]
    with pytest.raises(LookupError, match="nobody:factory"):
        targets.load("nobody")
