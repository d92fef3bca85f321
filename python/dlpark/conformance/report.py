"""Results for people, for programs and for a page."""

import datetime
import json
import os
import platform
import shutil
import textwrap
from collections.abc import Iterable
from typing import Any

from . import abi
from .rules import BROKEN, CRASH, DEVIATES, FAIL, HANG, KINDS, NA, PASS, VERDICTS, Result, Rule
from .runner import Run

SCHEMA = 1
"""Counted up when a field of the JSON output changes its meaning or goes."""

_COLOURS = {PASS: "32", FAIL: "31", CRASH: "31;1", HANG: "31;1", DEVIATES: "33", NA: "2"}
_HEADINGS = {"producer": "As a producer", "consumer": "As a consumer", "table": "Its C exchange table"}
_VERDICT_WIDTH = max(len(word) for word in VERDICTS)
_ID_WIDTH = 12


def counts(results: Iterable[Result]) -> dict[str, int]:
    found = dict.fromkeys(VERDICTS, 0)
    for result in results:
        found[result.verdict] += 1
    return found


def summary(run: Run) -> str:
    if run.error:
        return f"{run.target}: not judged: {run.error}"
    return f"{run.target} {run.version}: " + ", ".join(
        f"{many} {word}" for word, many in counts(run.results).items() if many
    )


def is_broken(runs: Iterable[Run]) -> bool:
    """Whether a must-rule is broken, or anything crashed, hung, or went wrong with memory."""
    return any(result.verdict in BROKEN for run in runs for result in run.results)


# ---- For people ----


class Text:
    """A table of verdicts for a terminal or a file."""

    def __init__(self, *, colour: bool, width: int | None = None, quiet: bool = False, verbose: bool = False) -> None:
        self.colour, self.quiet, self.verbose = colour, quiet, verbose
        self.width = max(width or shutil.get_terminal_size((120, 40)).columns, 72)

    def paint(self, verdict: str, text: str) -> str:
        return f"\033[{_COLOURS[verdict]}m{text}\033[0m" if self.colour else text

    def run(self, run: Run, rules: dict[str, Rule]) -> str:
        how = "" if run.forked else ", a fresh process for each rule"
        lines = [f"{run.target} {run.version}{how}"] if not run.error else [f"{run.target}"]
        for kind in KINDS:
            rows = [result for result in run.results if rules[result.rule].kind == kind]
            shown = list(self._rows(rows, rules))
            if shown:
                lines += ["", f"{_HEADINGS[kind]}", *shown]
        return "\n".join([*lines, "", summary(run), ""])

    def _rows(self, rows: list[Result], rules: dict[str, Rule]) -> Iterable[str]:
        skipped: list[Result] = []
        for result in [*rows, None]:
            if skipped and (result is None or result.verdict != NA or result.observed != skipped[0].observed):
                yield from self._not_applicable(skipped)
                skipped = []
            if result is None:
                return
            if result.verdict == NA:
                skipped.append(result)
            elif not self.quiet or result.verdict != PASS:
                yield from self._row(result, rules[result.rule])

    def _row(self, result: Result, rule: Rule) -> Iterable[str]:
        yield from self._line(result.verdict, result.rule, rule.says)
        if result.verdict != PASS:
            expected = "" if result.expected == rule.says else f"expected {result.expected}; "
            yield from self._line(
                result.verdict, "", f"{rule.severity}: {expected}observed {result.observed}", named=False
            )
        elif self.verbose:
            yield from self._line(result.verdict, "", f"observed {result.observed}", named=False)

    def _not_applicable(self, rows: list[Result]) -> Iterable[str]:
        if self.quiet:
            return
        first, last = rows[0].rule, rows[-1].rule
        ids = first if len(rows) == 1 else f"{first} to {last}, {len(rows)} rules"
        text = rows[0].observed if len(rows) == 1 else f"({ids}) {rows[0].observed}"
        yield from self._line(NA, first, text)

    def _line(self, verdict: str, identity: str, text: str, *, named: bool = True) -> Iterable[str]:
        margin = 2 + _VERDICT_WIDTH + 2 + _ID_WIDTH + 2
        wrapped = textwrap.wrap(text, self.width - margin, break_on_hyphens=False) or [""]
        word = self.paint(verdict, verdict.ljust(_VERDICT_WIDTH)) if named else " " * _VERDICT_WIDTH
        yield f"  {word}  {identity:<{_ID_WIDTH}}  {wrapped[0]}".rstrip()
        for more in wrapped[1:]:
            yield " " * margin + more


def rule_list(rules: Iterable[Rule], width: int | None = None) -> str:
    """Every rule with its severity and source."""
    columns = max(width or shutil.get_terminal_size((120, 40)).columns, 72)
    lines = []
    for rule in rules:
        head = f"{rule.id:<{_ID_WIDTH}} {rule.severity:<7}"
        wrapped = textwrap.wrap(f"{rule.says} [{rule.source}]", columns - len(head) - 1, break_on_hyphens=False)
        lines += [f"{head} {wrapped[0]}", *(" " * (len(head) + 1) + more for more in wrapped[1:])]
    return "\n".join(lines)


# ---- For programs ----


def surroundings() -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "dlpack": "{}.{}".format(*abi.VERSION),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
    }


def as_dict(runs: Iterable[Run], rules: Iterable[Rule]) -> dict[str, Any]:
    """All results, in the form that ``--json`` writes."""
    return {
        "schema": SCHEMA,
        **surroundings(),
        "rules": [
            {"id": rule.id, "kind": rule.kind, "severity": rule.severity, "source": rule.source, "says": rule.says}
            for rule in rules
        ],
        "targets": [
            {
                "target": run.target,
                "version": run.version,
                "forked": run.forked,
                "error": run.error,
                "summary": counts(run.results),
                "results": [result.as_dict() for result in run.results],
            }
            for run in runs
        ],
    }


def as_json(runs: Iterable[Run], rules: Iterable[Rule]) -> str:
    return json.dumps(as_dict(runs, rules), indent=1)


# ---- For a page ----

_CELLS = {PASS: "pass", FAIL: "**fail**", CRASH: "**crash**", HANG: "**hang**", DEVIATES: "deviates", NA: "–"}


def cell(text: str) -> str:
    """Text that stands in a cell of a Markdown table as it is."""
    for sign in ("\\", "|", "<", ">", "*", "_", "`"):
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())


def table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def markdown(runs: list[Run], rules: list[Rule]) -> str:
    """Versions, verdicts of every rule for every target, and what was observed where a rule is not kept."""
    about = surroundings()
    lines = [
        f"Run on {about['date']} with {about['python']} on {about['platform']}, against DLPack {about['dlpack']}.",
        "",
        *table(["target", "version", *VERDICTS], (_totals(run) for run in runs)),
    ]
    judged = [run for run in runs if not run.error]
    for kind in KINDS:
        chosen = [rule for rule in rules if rule.kind == kind]
        if chosen:
            lines += ["", f"## {_HEADINGS[kind]}", "", *_matrix(judged, chosen)]
    lines += ["", "## What was observed"]
    by_id = {rule.id: rule for rule in rules}
    for run in judged:
        lines += ["", f"### {run.target} {run.version}", "", *_findings(run, by_id)]
    return "\n".join(lines) + "\n"


def _totals(run: Run) -> list[str]:
    if run.error:
        return [run.target, f"not judged: {cell(run.error)}", *[""] * len(VERDICTS)]
    return [run.target, cell(run.version), *(str(many or "") for many in counts(run.results).values())]


def _matrix(runs: list[Run], rules: list[Rule]) -> list[str]:
    verdicts = {(run.target, result.rule): result.verdict for run in runs for result in run.results}
    rows = (
        [rule.id, rule.severity, cell(rule.says), *(_CELLS[verdicts.get((run.target, rule.id), NA)] for run in runs)]
        for rule in rules
    )
    return table(["rule", "severity", "", *(run.target for run in runs)], rows)


def _findings(run: Run, rules: dict[str, Rule]) -> list[str]:
    found = [result for result in run.results if result.verdict not in (PASS, NA)]
    if not found:
        return ["Every rule that applies is kept."]
    rows = (
        [
            result.rule,
            result.verdict,
            cell(rules[result.rule].says),
            "" if result.expected == rules[result.rule].says else cell(result.expected),
            cell(result.observed),
        ]
        for result in found
    )
    return table(["rule", "verdict", "", "expected", "observed"], rows)


def rules_markdown(rules: Iterable[Rule]) -> str:
    """The rules as a table for each kind."""
    lines: list[str] = []
    every = list(rules)
    for kind in KINDS:
        chosen = [rule for rule in every if rule.kind == kind]
        rows = ([rule.id, rule.severity, cell(rule.says), cell(rule.source)] for rule in chosen)
        lines += [f"## {_HEADINGS[kind]}", "", *table(["rule", "severity", "", "source"], rows), ""]
    return "\n".join(lines)


def wants_colour(stream: Any) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
