"""The command ``python -m dlpark.conformance``."""

import argparse
import os
import signal
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from . import report, rules, runner
from .adapters import ADAPTERS
from .report import Text

DESCRIPTION = (
    "Judges how a library speaks DLPack from Python: as a producer, as a consumer, and by its C exchange table."
)

KNOWN = textwrap.fill(
    f"a library that the kit knows: {', '.join(ADAPTERS)}; or any module of the array API (asarray, from_dlpack)",
    width=110,
    initial_indent="  NAME             ",
    subsequent_indent=" " * 19,
)

EPILOG = f"""\
targets:
{KNOWN}
  MODULE:FACTORY   yours. FACTORY() returns an array (any object with __dlpack__; MODULE.from_dlpack is then the
                   consumer), or an object with make(dtype, shape), by which more rules apply:
                   make("float32", (2, 3)) is an array that holds 0, 1, 2, ... in row-major order. MODULE is found
                   as by import: here, or where PYTHONPATH says

verdicts:
  pass             the rule is kept
  fail             a must-rule is broken, or values, memory or ownership went wrong
  crash, hang      the process died, or its time was up
  deviates         legal, and known to bite
  not applicable   nothing to look at, with the reason

The target is imported once, in a process of its own, and each rule runs in a fork of that; where the target does not
work in a forked process, each rule runs in a fresh one. Exit status: 0, 1 if there is a fail, crash or hang, 2 if the
command was wrong or a target could not be imported.

examples:
  python -m dlpark.conformance numpy torch
  python -m dlpark.conformance -q mypackage.testing:make_array
  python -m dlpark.conformance --rule 'C-BAD-*' --rule P-COPY-03 torch
  python -m dlpark.conformance --json jax > jax.json
"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m dlpark.conformance",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("targets", nargs="*", metavar="TARGET", help="what to judge, see below")
    made.add_argument(
        "-r",
        "--rule",
        action="append",
        default=[],
        metavar="ID",
        dest="rules",
        help="only this rule, or those that match a pattern such as 'P-COPY-*'; may be repeated",
    )
    made.add_argument(
        "-l", "--list-rules", action="store_true", help="print the rules and their sources, and judge nothing"
    )
    made.add_argument("-q", "--quiet", action="store_true", help="only what is not kept, and the summary")
    made.add_argument("-v", "--verbose", action="store_true", help="what was observed where a rule is kept, too")
    made.add_argument(
        "--timeout", type=_seconds, default=20.0, metavar="SECONDS", help="time for one rule (default: 20)"
    )
    forms = made.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print everything as JSON")
    forms.add_argument("--markdown", action="store_true", help="print everything as a page of Markdown")
    process = made.add_mutually_exclusive_group()
    process.add_argument(
        "--fork",
        action="store_const",
        const="fork",
        dest="mode",
        default="auto",
        help="run every rule in a forked child, without trying first whether the target bears it",
    )
    process.add_argument(
        "--no-fork",
        action="store_const",
        const="fresh",
        dest="mode",
        help="run every rule in a fresh process that imports the target again",
    )
    return made


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return value


class Progress:
    """One line on a terminal that says what is under way; nothing anywhere else."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()

    def __call__(self, target: str, at: int, many: int, what: str) -> None:
        if self.shown:
            sys.stderr.write(f"\r\033[K{target}: {at}/{many} {what}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    try:
        status = run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:  # whoever read has read enough; the interpreter shall not try once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def run(arguments: Sequence[str] | None) -> int:
    command = parser()
    options = command.parse_args(arguments)
    try:
        chosen = rules.select(options.rules)
    except LookupError as error:
        command.error(f"no rule matches {error.args[0]!r}; --list-rules names them")
    if options.list_rules:
        print(listed(options, chosen))
        return 0
    if not options.targets:
        command.error("no TARGET was given; --help names some")
    return judge(options, chosen)


def listed(options: argparse.Namespace, chosen: list[rules.Rule]) -> str:
    if options.json:
        return report.as_json([], chosen)
    return report.rules_markdown(chosen) if options.markdown else report.rule_list(chosen)


def judge(options: argparse.Namespace, chosen: list[rules.Rule]) -> int:
    how = runner.Options(timeout=options.timeout, mode=options.mode)
    text = Text(colour=report.wants_colour(sys.stdout), quiet=options.quiet, verbose=options.verbose)
    by_id = {rule.id: rule for rule in chosen}
    progress, runs = Progress(), []
    for name in options.targets:
        runs.append(runner.run_target(name, chosen, how, progress))
        progress.clear()
        if runs[-1].error:
            print(report.summary(runs[-1]), file=sys.stderr, flush=True)
        if runs[-1].results and not (options.json or options.markdown):
            print(text.run(runs[-1], by_id), flush=True)
    if options.json:
        print(report.as_json(runs, chosen))
    elif options.markdown:
        print(report.markdown(runs, chosen), end="")
    if any(each.error for each in runs):
        return 2
    return 1 if report.is_broken(runs) else 0


def leave(number: int, _: Any) -> None:
    """What a signal does: the way out by which the workers are ended, too."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, leave)
    sys.exit(main())
