#!/usr/bin/env python3
"""Writes the tables of docs/adapters.md: what passes between dlpark and other libraries without a copy.

Usage: tools/adapters_page.py [--check] FOLDER

FOLDER has a file for each adapter, with what its tests have seen (tests/support/passage.h). The stage `release` of
tools/run_tests.py leaves them in build/test/passages. --check writes nothing and fails where the page says otherwise:

    PARTNERS=all tools/setup test tools/run_tests.py release
    tools/adapters_page.py build/test/passages
"""

import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "adapters.md"
MARKER = "<!-- written by tools/adapters_page.py -->"
WAYS = ("in", "out")
NOT_TRIED = "–"


def read(path):
    """{(dtype, layout): {way: outcome}}; two outcomes of one crossing are a fault."""
    rows = {}
    for line in path.read_text().splitlines():
        way, dtype, layout, outcome = line.split("\t")
        seen = rows.setdefault((dtype, layout), {})
        if seen.setdefault(way, outcome) != outcome:
            raise SystemExit(f"{path.name}: {dtype}, {layout}, {way}: both {seen[way]} and {outcome}")
    return rows


def table(rows):
    """One line for all dtypes that fare alike. Sorted, as tests run beside each other and report in any order: what passes both
    ways first, then what passes one way."""
    alike = {}
    for (dtype, layout), seen in sorted(rows.items(), key=lambda row: dtype_order(row[0][0])):
        outcomes = tuple(words(seen.get(way, NOT_TRIED)) for way in WAYS)
        alike.setdefault((layout, outcomes), []).append(dtype)
    lines = ["| layout | elements | into dlpark | out of dlpark |", "|---|---|---|---|"]
    for (layout, outcomes), dtypes in sorted(alike.items(), key=lambda row: (-row[0][1].count("passes"), *row[0])):
        lines.append(f"| {layout} | {', '.join(dtypes)} | {' | '.join(outcomes)} |")
    return "\n".join(lines)


def dtype_order(name):
    """bool, integers, floats by their width, then the rest."""
    letters, bits = re.match(r"([a-z]+)(\d*)", name).groups()
    kinds = ("bool", "i", "u", "f", "bf", "c")
    narrow = letters == "f" and "_" in name
    return (kinds.index(letters) if letters in kinds and not narrow else len(kinds), letters, int(bits or 0), name)


def words(outcome):
    return f"`{outcome}`" if outcome.startswith("E_") else outcome


def tables(folder):
    files = sorted(folder.iterdir())
    if not files:
        raise SystemExit(f"{folder} is empty: no test reported a crossing")
    return "".join(f"\n### {path.name}\n\n{table(read(path))}\n" for path in files)


def main(arguments):
    check = "--check" in arguments
    folders = [argument for argument in arguments if argument != "--check"]
    if len(folders) != 1:
        raise SystemExit(__doc__)
    text = PAGE.read_text()
    head, found, _ = text.partition(MARKER + "\n")
    if not found:
        raise SystemExit(f"{PAGE} has no line {MARKER}")
    new = head + found + tables(pathlib.Path(folders[0]))
    if check:
        return 0 if new == text else f"{PAGE.name} is not what the tests saw; tools/adapters_page.py writes it"
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
