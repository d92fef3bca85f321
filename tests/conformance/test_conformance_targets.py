"""The kit on real libraries, ourselves among them: what docs/conformance.md says of a version is what it does."""

import functools
import pathlib
import re

import pytest
from conformance_known import FAULTS
from conformance_peers import NAMES, TARGETS
from test_conformance import verdicts

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "conformance.md"
BROKEN = {"fail", "crash", "hang", "deviates"}


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def plain(cell):
    return {"–": "not applicable"}.get(cell, cell.strip("*"))


@functools.cache
def page():
    """The versions by target, and the verdicts by target and rule, as they stand on the page."""
    versions, found, head = {}, {}, []
    for line in PAGE.read_text().partition("<!-- results -->")[2].partition("## What was observed")[0].splitlines():
        row = cells(line) if line.startswith("|") else []
        if row[:1] in (["target"], ["rule"]):
            head = row
        elif row and head[0] == "target" and not row[0].startswith("-"):
            versions[row[0]] = row[1].replace("\\", "")
        elif row and head[0] == "rule" and not row[0].startswith("-"):
            found.update({(target, row[0]): plain(cell) for target, cell in zip(head[3:], row[3:], strict=True)})
    return versions, found


@functools.cache
def judged(name):
    """With time for each rule on a machine that is busy: none hangs on the page."""
    return verdicts("--timeout", "300", name)


def test_dlpark_keeps_every_rule():
    """All but one that is a choice: what nobody said may be written to is not written to."""
    found, _ = judged("dlpark")
    broken = {rule: result for rule, result in found.items() if result["verdict"] not in ("pass", "not applicable")}
    assert set(broken) <= {"C-FLAG-03"}, broken
    assert sum(result["verdict"] == "pass" for result in found.values()) >= 150


def test_dlpark_is_judged_the_same_in_fresh_processes():
    few = ["--timeout", "300", "-r", "P-LIFE-0[136]", "-r", "C-BAD-0[15]"]
    fresh, target = verdicts("--no-fork", *few, "dlpark")
    assert target["forked"] is False
    forked = judged("dlpark")[0]
    assert {rule: result["verdict"] for rule, result in fresh.items()} == {
        rule: forked[rule]["verdict"] for rule in fresh
    }


def marked(name, module):
    return pytest.param(name, marks=() if module in ("dlpark", "numpy") else pytest.mark.partner(module))


@pytest.mark.parametrize("name", [marked(*each) for each in TARGETS.items()])
def test_the_page_says_what_is(name):
    """A verdict that changes is to be looked at; then tools/conformance_page.py writes the page anew."""
    found, target = judged(name)
    assert target["error"] is None
    versions, on_page = page()
    shown = NAMES.get(name, name)
    assert target["version"].partition("+")[0] == versions[shown].partition("+")[0]
    assert {rule: result["verdict"] for rule, result in found.items()} == {
        rule: verdict for (whose, rule), verdict in on_page.items() if whose == shown
    }


def test_every_target_is_on_the_page():
    assert list(page()[0]) == [NAMES.get(name, name) for name in TARGETS]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.target}: {fault.says}")
def test_a_known_fault_is_found(fault):
    """By the verdicts of the page, which the test above holds to what is."""
    found = {page()[1][fault.target, rule] for rule in fault.rules}
    assert found <= ({"pass"} if fault.gone else BROKEN)
    assert found or fault.note
