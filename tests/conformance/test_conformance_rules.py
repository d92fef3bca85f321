"""Every rule finds the fault that was planted for it, and a library by the book keeps them all."""

import json
import pathlib
import subprocess
import sys

import pytest
from conformance_reference import BEYOND_CTYPES
from test_conformance import environment, verdicts

from dlpark.conformance import rules

HERE = pathlib.Path(__file__).parent
EVERY = [rule.id for rule in rules.all_rules()]

# What a library on the host, with all types, has nothing to show for.
NOT_APPLICABLE = {"P-STREAM-03", "P-STREAM-04", "C-TYPE-02", "C-ASK-03", "C-ASK-04"}


@pytest.fixture(scope="module")
def planted():
    """What the kit says of each planted fault."""
    script = HERE / "conformance_planted.py"
    done = subprocess.run([sys.executable, script], env=environment(), capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("rule", EVERY)
def test_a_planted_fault_is_found(planted, rule):
    """No rule is without a fault, and none passes over it; what was seen is said."""
    result = planted[rule]
    assert result["verdict"] in ("fail", "deviates", "crash", "hang"), result
    assert result["expected"] and result["observed"]
    assert "conformance" not in result["observed"].lower() or "Error" in result["observed"]


def test_crashes_are_among_what_is_planted(planted):
    assert {"C-VER-01", "C-BAD-05", "P-LIFE-05", "P-LIFE-06"} <= {
        rule for rule, result in planted.items() if result["verdict"] == "crash"
    }


@pytest.mark.parametrize("factory", ["library", "library_with_table"])
def test_a_library_by_the_book_keeps_every_rule(factory):
    found, target = verdicts("--timeout", "300", f"conformance_reference:{factory}")
    assert target["version"] == "1"
    assert list(found) == EVERY
    table = {rule for rule in EVERY if rule.startswith("X-")}
    has_table = factory == "library_with_table"
    skipped = NOT_APPLICABLE | ({"X-STATE-03", "C-ASK-20"} if has_table else table)
    beyond = set(BEYOND_CTYPES) - skipped
    assert {rule for rule, result in found.items() if result["verdict"] == "not applicable"} == skipped
    assert {
        rule: found[rule] for rule in EVERY if found[rule]["verdict"] not in ("pass", "not applicable")
    }.keys() == beyond


def test_the_least_that_a_factory_returns():
    """One array and a from_dlpack: everything that is about one array is judged, the rest says why not."""
    found, _ = verdicts("--timeout", "300", "conformance_reference:one_array")
    kinds = {rule: result["verdict"] for rule, result in found.items()}
    assert {rule for rule, kind in kinds.items() if kind in ("fail", "crash", "hang", "deviates")} == {"P-LIFE-03"}
    assert sum(kind == "pass" for kind in kinds.values()) > 130
    assert found["P-LAY-11"]["observed"] == "its factory gives one array, not one of a dtype and a shape"
