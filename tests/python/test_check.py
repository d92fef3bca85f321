"""dlpark.check(): the report on a producer, on a capsule, by the book and against it."""

import json

import hostile
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dlpark
from dlpark import _check, _core

RULES = [name for name, *_ in _core._check_rules()]
METHODS = [name for name, *_ in _check._METHOD_RULES]


def names(faults):
    return [fault.rule for fault in faults]


def of(**fields):
    """The report on a made-up struct, in a capsule that has a destructor."""
    foreign = hostile.Foreign(**fields)
    report = dlpark.check(foreign.capsule(destructor=True))
    assert len(foreign.calls) == (1 if fields.get("deleter", True) else 0)
    return report


def test_a_good_tensor():
    report = dlpark.check(np.zeros((2, 3)))
    assert report
    assert report.subject == "numpy.ndarray: f64[2, 3] cpu c, versioned 1.0, flags 0x0"
    assert (report.faults, report.broken, report.hazards, list(report), len(report)) == ((), (), (), [], 0)
    assert names(report.rules) == METHODS + RULES
    assert {verdict.verdict for verdict in report.rules} == {"ok"}


def test_one_line_a_rule():
    report = dlpark.check(np.zeros((4, 3))[:, ::-2])
    lines = repr(report).splitlines()
    assert str(report) == repr(report)
    assert lines[0] == report.subject
    assert lines[-1] == "0 broken, 2 hazards"
    assert [line.split()[1] for line in lines[1:-1]] == METHODS + RULES
    verdicts = {line.split()[1]: line.split()[0] for line in lines[1:-1]}
    assert {name for name, verdict in verdicts.items() if verdict == "hazard"} == {"NEGATIVE_STRIDE", "NOT_COMPACT"}
    assert any("strides[1] is -2 with extent 2. PyTorch" in line for line in lines)
    assert any("RANK" in line and "ndim: 0 to 64" in line for line in lines)


def test_a_hazard_does_not_make_it_falsy_and_a_broken_rule_does():
    hazard = dlpark.check(np.zeros((4, 3)).T[::2])
    assert hazard and names(hazard.hazards) == ["NOT_COMPACT"] and hazard.broken == ()
    broken = of(shape=(2, -3))
    assert not broken and names(broken.broken) == ["EXTENT"]


# ---- What is in the struct ----


@pytest.mark.parametrize(
    "fields, rule, field, value, limit",
    [
        (dict(version=(2, 0)), "VERSION", "version", 2, 1),
        (dict(flags=0x100), "FLAGS", "flags", 0x100, 7),
        (dict(ndim=65), "RANK", "ndim", 65, 64),
        (dict(ndim=-1), "RANK", "ndim", -1, 0),
        (dict(dtype=(18, 16, 1)), "DTYPE_CODE", "dtype.code", 18, 17),
        (dict(dtype=(2, 32, 0)), "DTYPE_LANES", "dtype.lanes", 0, 1),
        (dict(dtype=(5, 32, 2)), "DTYPE_COMPLEX", "dtype.lanes", 2, 1),
        (dict(dtype=(2, 33, 1)), "DTYPE_BITS", "dtype.bits", 33, 0),
        (dict(device=(99, 0)), "DEVICE_TYPE", "device.device_type", 99, 18),
        (dict(device=(2, -1)), "DEVICE_ID", "device.device_id", -1, 0),
        (dict(shape=None, ndim=2, strides=None), "SHAPE", "shape", 0, 0),
        (dict(shape=(2, -3)), "EXTENT", "shape[1]", -3, 0),
        (dict(shape=(2**32, 2**32)), "NUMEL", "shape[1]", 2**32, 2**63 - 1),
        (dict(shape=(3,), strides=(2**62,)), "REACH", "strides[0]", 2**62, 2**63 - 2),
        (dict(data=None), "DATA", "data", 0, 0),
        (dict(shape=(2**62,)), "NBYTES", "strides", 2**62, 0),
        (dict(data=8, strides=(-3, 1)), "ADDRESS", "data", 8, 0),
    ],
)
def test_every_broken_rule(fields, rule, field, value, limit):
    report = of(**fields)
    assert not report
    fault = report.broken[0]
    assert (fault.rule, fault.severity, fault.field, fault.value, fault.limit) == (rule, "broken", field, value, limit)
    assert fault.message in repr(report)
    assert next(v for v in report.rules if v.rule == rule).verdict == "broken"


@pytest.mark.parametrize(
    "fields, rule",
    [
        (dict(strides=None), "NULL_STRIDES"),
        (dict(byte_offset=4), "BYTE_OFFSET"),
        (dict(strides=(3, 0)), "ZERO_STRIDE"),
        (dict(shape=(1, 3), strides=(7, 1)), "UNUSED_STRIDE"),
        (dict(byte_offset=1), "ALIGNMENT"),
        (dict(shape=(2, 2), strides=(1, 1)), "SELF_OVERLAP"),
        (dict(shape=(0,)), "EMPTY_DATA"),
        (dict(flags=hostile.READ_ONLY), "READ_ONLY"),
        (dict(flags=hostile.PADDED), "PADDED"),
        (dict(version=(1, 0), flags=hostile.PADDED, dtype=(1, 4, 1)), "FLAGS_VERSION"),
        (dict(version=(1, 0), dtype=(10, 8, 1)), "DTYPE_VERSION"),
        (dict(version=(1, 1), device=(18, 0)), "DEVICE_VERSION"),
        (dict(device=(1, 3)), "HOST_DEVICE_ID"),
        (dict(legacy=True, dtype=(17, 4, 2)), "DTYPE_VERSION"),
        (dict(dtype=(0, 8, 40000), shape=()), "SCALABLE_LANES"),
        (dict(dtype=(0, 4, 3)), "PACKED_LANES"),
    ],
)
def test_every_hazard(fields, rule):
    report = of(**fields)
    assert report
    assert rule in names(report.hazards)


def test_several_dimensions_are_one_line():
    report = of(shape=(-1, 2, -3, -4))
    assert [fault.field for fault in report.broken] == ["shape[0]", "shape[2]", "shape[3]"]
    line = next(line for line in repr(report).splitlines() if "EXTENT" in line)
    assert "shape[0] is -1" in line and line.endswith("(and 2 more)")


def test_legacy():
    report = of(legacy=True)
    assert report and report.subject == "a capsule: f32[2, 3] cpu c write unknown, legacy, flags 0x0"
    assert names(report.rules) == METHODS[:1] + RULES


def test_another_major_version_is_not_read():
    report = of(version=(7, 1), shape=None, ndim=3, strides=None, data=None)
    assert (names(report.faults), report.subject) == (["VERSION"], "a capsule: versioned 7.1, flags 0x0")
    unjudged = [verdict.rule for verdict in report.rules if verdict.verdict == "unjudged"]
    assert unjudged == RULES[2:]


numbers = st.one_of(st.integers(-3, 5), st.sampled_from([2**31, 2**62, 2**63 - 1, -(2**63), 64, 65]))


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "legacy": st.booleans(),
            "version": st.tuples(st.integers(0, 3), st.integers(0, 5)),
            "flags": st.sampled_from([0, 1, 2, 4, 7, 8, 2**63]),
            "data": st.sampled_from([None, 1, 2**64 - 8, 4096]),
            "device": st.tuples(st.integers(-2, 20), st.integers(-1, 2)),
            "ndim": st.sampled_from([-1, 0, 1, 65, 2**31 - 1, -(2**31)]),
            "dtype": st.tuples(st.integers(0, 20), st.integers(0, 255), st.integers(0, 3)),
            "shape": st.one_of(st.none(), st.lists(numbers, min_size=1, max_size=4).map(tuple)),
            "strides": st.one_of(st.none(), st.lists(numbers, min_size=4, max_size=4).map(tuple)),
            "byte_offset": st.sampled_from([0, 1, 64, 2**63, 2**64 - 1]),
            "deleter": st.booleans(),
        },
    )
)
@settings(max_examples=400, deadline=None)
def test_nothing_crashes_and_the_verdicts_hang_together(fields):
    if fields.get("shape", ()) is None:
        fields.setdefault("ndim", 2)
    report = of(**fields)
    broken = {fault.rule for fault in report.broken}
    for verdict in report.rules:
        if verdict.verdict == "unjudged":
            assert broken and verdict.rule not in names(report.faults)
        else:
            assert (verdict.verdict == "ok") == (verdict.rule not in names(report.faults))
    assert json.loads(report.to_json())["ok"] == bool(report) == (not broken)
    assert len(repr(report).splitlines()) == len(report.rules) + 2
    try:  # the import is of the same opinion
        dlpark.from_dlpack(hostile.Foreign(**fields).capsule())
    except BufferError:
        assert broken
    else:
        assert not broken


# ---- Capsules ----


@pytest.mark.parametrize("legacy", [False, True])
def test_a_capsule_is_looked_at_and_can_still_be_taken(legacy):
    foreign = hostile.Foreign(legacy=legacy)
    capsule = foreign.capsule()
    assert dlpark.check(capsule) and dlpark.check(capsule)
    assert hostile.capsule_name(capsule) == foreign.default_name
    assert foreign.calls == []
    tensor = dlpark.from_dlpack(capsule)
    with pytest.raises(ValueError, match="consumed already"):
        dlpark.check(capsule)
    del tensor
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("name", [b"tensor", b"dltensor_", b"", None])
def test_other_capsules(name):
    with pytest.raises(ValueError, match="the capsule is called '.*'; a DLPack capsule is called"):
        dlpark.check(hostile.Foreign().capsule(name=name))


def test_the_capsule_functions_arguments():
    with pytest.raises(TypeError, match="takes 2 arguments"):
        _core._check_capsule(1)
    assert _core._check_capsule(1, False) is None


# ---- Producers ----


@pytest.mark.parametrize("destructor", [True, False])
def test_a_producer_is_asked_once_and_its_tensor_ended_once(destructor):
    foreign = hostile.Foreign()
    offer = hostile.Offer(lambda **_: foreign.capsule(destructor=destructor))
    assert dlpark.check(offer)
    assert offer.asked == [{"max_version": (1, 3)}]
    assert len(foreign.calls) == 1


def test_a_broken_tensor_of_a_producer_is_ended_too():
    foreign = hostile.Foreign(ndim=65)
    assert not dlpark.check(hostile.Offer(foreign))
    assert len(foreign.calls) == 1


def test_what_is_wrong_in_a_producers_devices():
    report = dlpark.check(hostile.Offer(hostile.Foreign(), device=(2, 0)))
    assert names(report.broken) == ["DEVICE_AGREES"]
    fault = report.broken[0]
    assert (fault.field, fault.value, fault.limit) == ("__dlpack_device__()", "(2, 0)", "(1, 0)")
    assert fault.message == "hostile.Offer.__dlpack_device__() says (2, 0), and the tensor is on (1, 0)"
    for device in (None, [1, 0], (1,), ("cpu", 0), 1, "x" * 100):
        report = dlpark.check(hostile.Offer(hostile.Foreign(), device=device))
        assert names(report.broken) == ["DEVICE_AGREES"]
        assert "which is no pair of integers" in report.broken[0].message


def test_devices_as_enumerations():
    class Kind:
        def __index__(self):
            return 1

    assert dlpark.check(hostile.Offer(hostile.Foreign(), device=(Kind(), np.int64(0))))


def test_without_a_device_method():
    class Old:
        def __dlpack__(self, **_):
            return hostile.Foreign().capsule(destructor=True)

    report = dlpark.check(Old())
    assert report and names(report.faults) == ["DEVICE_METHOD"]
    assert next(v for v in report.rules if v.rule == "DEVICE_AGREES").verdict == "unjudged"


def test_without_max_version():
    class Old(hostile.Offer):
        def __dlpack__(self):
            return hostile.Foreign(legacy=True).capsule(destructor=True)

    class OlderStill(hostile.Offer):
        def __dlpack__(self, stream=None):
            return hostile.Foreign(legacy=True).capsule(destructor=True)

    for kind in (Old, OlderStill):
        report = dlpark.check(kind(None))
        assert report and names(report.faults) == ["MAX_VERSION"]
        assert "cannot say that memory must not be written" in report.faults[0].message


@pytest.mark.parametrize("answer", [None, 3, b"dltensor", [1]])
def test_no_capsule_from_a_producer(answer):
    report = dlpark.check(hostile.Offer(lambda **_: answer))
    assert names(report.broken) == ["CAPSULE"]
    assert f"__dlpack__() returned {type(answer).__name__}, not a capsule" in report.broken[0].message
    judged = {verdict.rule for verdict in report.rules if verdict.verdict != "unjudged"}
    assert judged == {"CAPSULE", "DEVICE_METHOD"}


@pytest.mark.parametrize("name", [b"other", hostile.USED_VERSIONED, hostile.USED_LEGACY])
def test_a_capsule_of_another_name_from_a_producer(name):
    foreign = hostile.Foreign()
    report = dlpark.check(hostile.Offer(lambda **_: foreign.capsule(name=name)))
    assert names(report.broken) == ["CAPSULE"]
    assert foreign.calls == []


@pytest.mark.parametrize("error", [BufferError("no"), RuntimeError("no"), TypeError("no"), KeyboardInterrupt()])
def test_what_a_producer_raises_comes_through(error):
    def refuse(**_):
        raise error

    with pytest.raises(type(error)):
        dlpark.check(hostile.Offer(refuse))


@pytest.mark.parametrize("x", [None, 3, "text", [1.0], object(), np.ndarray, dlpark.Tensor, dlpark])
def test_other_kinds(x):
    with pytest.raises(TypeError, match="x must be a DLPack producer or a capsule"):
        dlpark.check(x)


def test_ourselves():
    """What we give out is judged as anybody's, and has no fault of ours."""
    array = np.zeros((4, 6))
    tensor = dlpark.from_dlpack(array)
    assert dlpark.check(tensor).faults == ()
    assert dlpark.check(tensor[:, 0]).subject.startswith("dlpark.Tensor: f64[4] cpu strides [6], versioned 1.3")
    array.flags.writeable = False
    assert names(dlpark.check(dlpark.from_dlpack(array))) == ["READ_ONLY"]
    assert dlpark.check(dlpark.from_dlpack(np.zeros((0, 3)))).faults == ()


# ---- The report as data ----


def test_the_report_as_data():
    report = dlpark.check(hostile.Offer(hostile.Foreign(shape=(2, -3), flags=hostile.READ_ONLY), device=(2, 0)))
    data = report.to_dict()
    assert data == json.loads(report.to_json()) == json.loads(report.to_json(indent=2))
    assert set(data) == {"ok", "subject", "rules", "faults"}
    assert data["ok"] is False
    assert [fault["rule"] for fault in data["faults"]] == ["DEVICE_AGREES", "EXTENT", "READ_ONLY"]
    assert set(data["faults"][0]) == {"rule", "severity", "field", "value", "limit", "message"}
    assert set(data["rules"][0]) == {"rule", "verdict", "field", "limit", "text"}
    assert "\n" not in report.to_json()


def test_every_rule_has_its_needs_among_the_rules():
    known = {*METHODS, *RULES}
    assert set(_check._NEEDS) <= known
    assert {need for needs in _check._NEEDS.values() for need in needs} <= known


@pytest.mark.partner("torch")
def test_torch():
    import torch

    report = dlpark.check(torch.zeros(2, 3).T)
    assert report and report.subject.startswith("torch.Tensor: f32[3, 2] cpu f")
    with pytest.raises(BufferError):
        dlpark.check(torch.zeros(3, requires_grad=True))
