"""The kit on real libraries: ourselves, NumPy, and with PARTNERS=all everybody else."""

import functools

import pytest
from test_conformance import verdicts

# Faults that versions in the field have, found by running them. A version that is not named has to be looked at again.
KNOWN = {
    ("numpy", "2.4.6"): {
        "C-BAD-04": ("crash", "NULL shape with ndim 2"),
        "C-BAD-06": ("crash", "NULL data with a byte_offset"),
        "C-BAD-10": ("fail", "strides of 2^62 elements wrap to 0"),
        "C-BAD-05": ("fail", "NULL data give an array over uninitialised memory"),
        "C-LIFE-06": ("deviates", "the deleter is called with its exception pending"),
        "P-STREAM-01": ("deviates", "refuses stream -1"),
        "C-ASK-16": ("deviates", "asks again after any TypeError"),
        "C-FLAG-03": ("deviates", "a legacy import is read-only"),
    },
    ("torch", "2.15.0"): {
        "C-BAD-08": ("fail", "the deleter is called twice when the element count overflows"),
        "C-BAD-09": ("fail", "a size in bytes that overflows"),
        "X-TO-02": ("fail", "a failing to_py never calls the deleter"),
        "C-BAD-01": ("crash", "a negative ndim"),
        "C-BAD-03": ("crash", "a huge ndim"),
        "C-BAD-04": ("crash", "a NULL shape"),
        "C-BAD-06": ("crash", "NULL data"),
        "C-BAD-05": ("fail", "NULL data"),
        "X-ALLOC-05": ("crash", "an allocator's error with a NULL SetError"),
        "C-BAD-02": ("deviates", "65 dimensions"),
        "C-BAD-11": ("fail", "byte_offset 2^64 - 4"),
        "C-VER-04": ("deviates", "major version 0"),
        "P-VER-05": ("deviates", "a malformed max_version"),
        "P-DEV-06": ("deviates", "a malformed dl_device"),
        "P-DEV-07": ("deviates", "a dl_device that is not there"),
        "C-FLAG-01": ("deviates", "READ_ONLY is lost on import"),
        "C-FLAG-04": ("deviates", "READ_ONLY is lost on import"),
        "P-COPY-03": ("fail", "IS_COPIED is never set"),
        "P-LIFE-11": ("deviates", "an export shares its shape with the source"),
        "C-LAY-11": ("deviates", "no negative strides"),
        "C-EXC-01": ("deviates", "RuntimeError where BufferError is due"),
        "C-ASK-16": ("deviates", "asks again after any TypeError"),
        "X-STATE-01": ("deviates", "the table asks for no gradient and no conjugate bit"),
        "X-STATE-02": ("deviates", "nor does the view"),
        "P-LAY-16": ("fail", "the negative bit is dropped"),
    },
    ("tvm_ffi", "0.1.15.post2"): {
        "P-VER-01": ("fail", "max_version=(0, 0) raises AttributeError"),
        "P-COPY-06": ("fail", "copy=True is ignored without max_version"),
        "C-TAB-02": ("fail", "a table of another major version is called"),
        "C-TAB-03": ("deviates", "prev_api is not followed"),
        "C-TAB-09": ("fail", "a struct of another major version is taken"),
        "C-TAB-10": ("deviates", "READ_ONLY is lost"),
        "C-BAD-08": ("fail", "sizes that overflow"),
    },
    ("cuda.core", "1.2.2"): {
        "C-VER-01": ("fail", "a struct of another major version is taken"),
        "P-RO-02": ("deviates", "READ_ONLY is lost without max_version"),
        "P-COPY-02": ("deviates", "no copies"),
        "P-DEV-03": ("fail", "refuses its own device"),
    },
    ("jax", "0.10.2"): {
        "P-CAP-02": ("deviates", "a legacy capsule whatever max_version says"),
        "C-ASK-09": ("fail", "copy=True shares the memory"),
        "C-LIFE-03": ("crash", "a NULL deleter"),
    },
    ("mlx", "0.32.4"): {
        "C-VER-01": ("crash", "a struct of another major version is read"),
        "C-CAP-03": ("deviates", "the capsule is not renamed"),
        "C-ASK-13": ("deviates", "always copies"),
    },
    ("tensorflow", "2.21.0"): {
        "C-LAY-05": ("fail", "byte_offset is refused"),
        "C-TYPE-05": ("fail", "lanes are ignored"),
    },
    ("pyarrow", "26.0.1"): {"C-BAD-06": ("crash", "NULL data with a byte_offset")},
    ("array_api_strict", "2.6.1"): {"C-ASK-16": ("deviates", "asks again after any TypeError")},
}


@functools.cache
def judged(name):
    return verdicts(name)


def test_dlpark_keeps_every_rule():
    """All but one that is a choice: what nobody said may be written to is not written to."""
    found, _ = judged("dlpark")
    broken = {rule: result for rule, result in found.items() if result["verdict"] not in ("pass", "not applicable")}
    assert set(broken) <= {"C-FLAG-03"}, broken
    assert sum(result["verdict"] == "pass" for result in found.values()) >= 150


def test_dlpark_is_judged_the_same_in_fresh_processes():
    few = ["-r", "P-LIFE-0[136]", "-r", "C-BAD-0[15]"]
    fresh, target = verdicts("--no-fork", *few, "dlpark")
    assert target["forked"] is False
    forked = judged("dlpark")[0]
    assert {rule: result["verdict"] for rule, result in fresh.items()} == {
        rule: forked[rule]["verdict"] for rule in fresh
    }


@pytest.mark.parametrize(
    "name",
    [
        "numpy",
        *(
            pytest.param(name, marks=pytest.mark.partner(name.partition(".")[0]))
            for name, _ in KNOWN
            if name != "numpy"
        ),
        pytest.param("pyarrow.array", marks=pytest.mark.partner("pyarrow")),
    ],
)
def test_known_faults_are_found(name):
    found, target = judged(name)
    assert target["error"] is None
    assert sum(result["verdict"] == "pass" for result in found.values()) >= 30
    known = KNOWN.get((name, target["version"].partition("+")[0]), {})
    missed = {rule: found[rule] for rule, (verdict, _) in known.items() if found[rule]["verdict"] != verdict}
    assert not missed
