#!/usr/bin/env python3
"""Writes docs/conformance.md and docs/conformance-rules.md: the verdicts of today's libraries, and the rules.

Usage: tools/conformance_page.py [--rules]

Every target of tests/conformance/conformance_peers.py has to be there. With --rules only the rules, which takes a second.
The compiled targets lie in build/test/interop, where the stage `conformance` puts them:

    PARTNERS=all tools/setup test tools/run_tests.py conformance
    PARTNERS=all tools/setup test env PYTHONPATH=build/test/site:build/test/interop tools/conformance_page.py
"""

import importlib.util
import os
import pathlib
import sys

from dlpark.conformance import report, rules, runner

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "conformance"
sys.path.insert(0, str(TESTS))

import conformance_known  # noqa: E402
import conformance_peers  # noqa: E402

SECONDS = 300  # for a rule, on whatever machine


def write(page, marker, text):
    """Replaces what follows the marker."""
    path = ROOT / "docs" / page
    head, found, _ = path.read_text().partition(marker + "\n")
    if not found:
        raise SystemExit(f"{path} has no line {marker}")
    path.write_text(head + found + "\n" + text.rstrip() + "\n")


def progress(target, at, many, what):
    if what == "import":
        print(f"{target}: {what}", file=sys.stderr)


def judge(every):
    """All targets by all rules, under the names that the page has for them."""
    missing = [name for name, module in conformance_peers.TARGETS.items() if not is_there(module)]
    if missing:
        raise SystemExit(f"not here: {', '.join(missing)}")
    os.environ["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(TESTS)])
    runs = []
    for name in conformance_peers.TARGETS:
        runs.append(runner.run_target(name, every, runner.Options(timeout=SECONDS), progress))
        runs[-1].target = conformance_peers.NAMES.get(name, name)
        print(report.summary(runs[-1]))
    return runs


def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def known_faults(runs):
    """What the kit says to the faults that were known before: a table of one row for each."""
    results = {(run.target, result.rule): result for run in runs for result in run.results}
    versions = {run.target: run.version for run in runs}
    rows = []
    for fault in conformance_known.FAULTS:
        found = [f"{rule} {results[fault.target, rule].verdict}" for rule in fault.rules]
        verdict = "not in this version: " if fault.gone else "" if found else "no rule"
        target = f"{fault.target} {versions[fault.target]}"
        rows.append([target, *map(report.cell, (fault.says, verdict + ", ".join(found), fault.note))])
    return "\n".join(["## Faults that were known before", "", *report.table(["target", "fault", "rules", ""], rows)])


def main(arguments):
    every = rules.all_rules()
    if arguments not in ([], ["--rules"]):
        raise SystemExit(__doc__)
    write("conformance-rules.md", "<!-- rules -->", report.rules_markdown(every))
    if arguments:
        return
    runs = judge(every)
    if any(run.error for run in runs):
        raise SystemExit(1)
    write("conformance.md", "<!-- results -->", f"{report.markdown(runs, every)}\n{known_faults(runs)}")


if __name__ == "__main__":
    main(sys.argv[1:])
