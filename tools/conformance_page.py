#!/usr/bin/env python3
"""Writes docs/conformance.md and docs/conformance-rules.md: the verdicts of today's libraries, and the rules.

Usage: tools/conformance_page.py [--rules] [TARGET...]

Without a target, all that can be imported of those that the kit knows by name. With --rules only the rules, which takes a
second. dlpark has to be importable: PARTNERS=all tools/setup test env PYTHONPATH=build/py/python tools/conformance_page.py
"""

import importlib.util
import pathlib
import sys

from dlpark.conformance import report, rules, runner

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
TARGETS = [
    "dlpark",
    "numpy",
    "array_api_strict",
    "torch",
    "jax",
    "mlx",
    "tensorflow",
    "tvm_ffi",
    "pyarrow",
    "pyarrow.array",
    "cuda.core",
]


def write(page, marker, text):
    """Replaces what follows the marker."""
    path = DOCS / page
    head, found, _ = path.read_text().partition(marker + "\n")
    if not found:
        raise SystemExit(f"{path} has no line {marker}")
    path.write_text(head + found + "\n" + text.rstrip() + "\n")


def progress(target, at, many, what):
    if at == 0 or what == "import":
        print(f"{target}: {what}", file=sys.stderr)


def main(arguments):
    every = rules.all_rules()
    write("conformance-rules.md", "<!-- rules -->", report.rules_markdown(every))
    if arguments == ["--rules"]:
        return
    names = arguments or [name for name in TARGETS if importlib.util.find_spec(name.partition(".")[0])]
    runs = [runner.run_target(name, every, runner.Options(timeout=60), progress) for name in names]
    write("conformance.md", "<!-- results -->", report.markdown(runs, every))
    for run in runs:
        print(report.summary(run))
    if any(run.error for run in runs):
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
