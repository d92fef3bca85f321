"""docs/element-types.md is what a run gives, cell by cell."""

import re

import element_types
import pytest

import dlpark

PAGE = element_types.PAGE.read_text()


def rows(name):
    """The page's rows of a type: (who, cells)."""
    found, current = [], ""
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == len(element_types.TITLES) + 2:
            current = cells[0] or current
            if current == name:
                found.append((cells[1], [cell.strip("*") for cell in cells[2:]]))
    return found


@pytest.mark.partner("torch")
@pytest.mark.partner("onnx")
def test_the_page_is_what_a_run_gives():
    """A cell that changes is to be looked at; then element_types.py --update writes the page anew."""
    assert element_types.page() == PAGE


@pytest.mark.parametrize("name", [name for names, _ in element_types.FAMILIES.values() for name in names])
def test_what_needs_no_partner_is_as_the_page_says(name):
    said = rows(name)
    assert len(said) >= 1
    count, made = element_types.results_of_ours(name)
    for who, results in made:
        (cells,) = [cells for by, cells in said if who in re.split(", ", by)]
        assert cells == [element_types.show(result).strip("*") for result in results], who
    assert count == len({who for who, _ in made} - {"NumPy", "ml_dtypes", "`refuse`"})


def test_every_float_is_on_the_page():
    shown = {name for names, _ in element_types.FAMILIES.values() for name in names}
    narrow = {dtype for dtype in dlpark.dtypes.ALL if "float" in dtype and dtype.bits <= 16}
    assert narrow <= shown


def test_a_bold_cell_is_none_of_ours():
    rows = [("`nosat`", [1.0, 2.0]), ("X", [1.0, 3.0]), ("Y", [1.0, 2.0]), ("Z", ["*undefined*", 2.0])]
    merged = list(element_types.merged(1, rows))
    assert merged == [
        (["`nosat`", "Y"], ("1", "2"), [True, True]),
        (["X"], ("1", "3"), [True, False]),
        (["Z"], ("*undefined*", "2"), [True, True]),
    ]


@pytest.mark.parametrize(
    "value, shown",
    [(1.0, "1"), (-0.0, "-0"), (float("nan"), "NaN"), (float("inf"), "inf"), (2.0**-127, "2^-127"), (1e30, "1e+30"), (65504.0, "65504")],
)
def test_how_a_number_is_shown(value, shown):
    assert element_types.show(value) == shown
