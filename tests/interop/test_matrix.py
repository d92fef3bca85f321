"""Every partner, both ways: what passes is what docs/interop.md says."""

import json

import matrix
import pytest

EXPECTED = {result["module"]: result for result in json.loads(matrix.EXPECTED.read_text())}
PLAIN = ("numpy", "dlpark")  # the others come with PARTNERS=all


def marked(module):
    return pytest.param(module, id=module, marks=() if module in PLAIN else pytest.mark.partner(module))


@pytest.mark.parametrize("module", [marked(module) for module in matrix.PARTNERS])
def test_what_passes(module):
    result, expected = matrix.run_apart(module), EXPECTED[module]
    assert result["seen"] == expected["seen"]
    got = {(direction, what): outcome for direction, what, outcome, _ in result["rows"]}
    assert got == {(direction, what): outcome for direction, what, outcome, _ in expected["rows"]}


@pytest.mark.parametrize("module", list(matrix.PARTNERS))
def test_nothing_is_lost_on_the_way_to_us(module):
    """Whatever a partner gives out comes as what it is, in its own memory."""
    outcomes = [outcome for direction, _, outcome, _ in EXPECTED[module]["rows"] if direction == "to dlpark"]
    assert outcomes.count("same") >= 10
    assert not {"wrong", "crash", "copy"} & set(outcomes)


def test_all_passes_between_ourselves():
    assert {outcome for _, _, outcome, _ in EXPECTED["dlpark"]["rows"]} == {"same"}


def test_the_page_is_what_is_expected():
    assert matrix.PAGE.read_text() == matrix.page(list(EXPECTED.values()))
