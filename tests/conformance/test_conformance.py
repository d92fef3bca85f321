"""The command: what it prints, how it ends, and that nothing a target does takes it along."""

import collections
import contextlib
import io
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

import pytest

from dlpark.conformance import __main__ as command
from dlpark.conformance import report, rules
from dlpark.conformance.runner import Run

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
FIELDS = {"schema", "date", "dlpack", "python", "platform", "rules", "targets"}
TARGET_FIELDS = {"target", "version", "forked", "error", "summary", "results"}
RULE_FIELDS = {"id", "kind", "severity", "source", "says"}
RESULT_FIELDS = {"rule", "verdict", "expected", "observed"}


def environment():
    """Where the tests' own libraries, dlpark and compiled partners are, from whatever folder."""
    folders = [str(HERE), str(pathlib.Path(command.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


Done = collections.namedtuple("Done", "returncode stdout stderr")


def kit(*arguments):
    """Runs the command in this process, and its workers in theirs: exit status, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
        status = command.main(arguments)
    return Done(status, out.getvalue(), err.getvalue())


def verdicts(*arguments):
    """The verdicts by rule of one target, by --json."""
    done = kit("--json", *arguments)
    assert done.returncode in (0, 1), done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    return {result["rule"]: result for result in target["results"]}, target


# ---- Exit status ----


@pytest.mark.parametrize(
    "status, arguments",
    [
        (0, ["-r", "P-VER-*", "conformance_reference:library"]),
        (0, ["-r", "P-VER-05", "conformance_faults_producer:AnyVersion"]),  # deviates, and no more
        (1, ["-r", "P-RO-01", "conformance_faults_producer:ReadOnlyLost"]),
        (1, ["-r", "C-VER-02", "conformance_faults_consumer:AnyMajor"]),  # a crash under a should-rule
        (1, ["-r", "P-COPY-02", "--timeout", "1", "conformance_targets:hangs_for_copies"]),
        (2, ["no_such_module"]),
        (2, ["conformance_targets:no_such_factory"]),
        (2, ["conformance_targets:no_array"]),
        (2, ["conformance_targets:raises"]),
        (2, ["json"]),  # a module, and none of arrays
    ],
)
def test_exit_status(status, arguments):
    done = kit(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if status == 2:
        assert f"{arguments[-1]}: not judged: " in done.stderr


@pytest.mark.parametrize("status, target", [(0, "conformance_targets:array"), (2, "no_such_module")])
def test_the_command_is_a_module(status, target):
    arguments = [sys.executable, "-m", "dlpark.conformance", "-r", "P-CAP-*", target]
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment())
    assert done.returncode == status
    assert f"{target} of no known version: 2 pass" in done.stdout or "not judged" in done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "no TARGET"),
        (["numpy", "-r", "P-NOTHING-*"], "no rule matches 'P-NOTHING-*'"),
        (["numpy", "--timeout", "0"], "0 is no number of seconds"),
        (["numpy", "--timeout", "soon"], "soon"),
        (["numpy", "--json", "--markdown"], "not allowed with"),
        (["numpy", "--fork", "--no-fork"], "not allowed with"),
    ],
)
def test_a_wrong_command(capsys, arguments, said):
    with pytest.raises(SystemExit) as end:
        command.main(arguments)
    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_a_target_that_cannot_be_judged_does_not_stop_the_others():
    done = kit("-r", "P-CAP-01", "no_such_module", "conformance_targets:array")
    assert done.returncode == 2
    assert "no_such_module: not judged: ModuleNotFoundError" in done.stderr and "judged" not in done.stdout
    assert "conformance_targets:array of no known version: 1 pass" in done.stdout


@pytest.mark.parametrize(
    "target, said",
    [
        ("nummpy", "No module named 'nummpy'; is it numpy?"),
        ("conformance_targets.array", "is it conformance_targets:array?"),
        ("./conformance_targets.py:array", "is a path; the name of a module is wanted, such as conformance_targets:"),
        ("conformance_targets:", "a module and a factory are wanted"),
        (":array", "a module and a factory are wanted"),
        ("conformance_targets:nothing", "module conformance_targets has no nothing"),
        ("conformance_targets:raises", "RuntimeError: not today (conformance_targets.py, line "),
        ("conformance_targets:makes_nothing", "it makes no array: ValueError: no float32"),
        ("json", "give json:factory"),
    ],
)
def test_what_is_wrong_with_a_target_is_said_once(target, said):
    done = kit("-r", "P-CAP-01", target)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_a_target_that_makes_nothing_is_not_judged_in_fresh_processes_either():
    done = kit("--no-fork", "-r", "P-CAP-0[12]", "conformance_targets:makes_nothing")
    assert (done.returncode, done.stdout) == (2, "") and "it makes no array" in done.stderr


@pytest.mark.parametrize("name", ["NumPy", "numpy"])
def test_names_are_known_in_any_case(name):
    assert f"{name} " in kit("-r", "P-CAP-01", name).stdout


def test_a_target_whose_import_dies(tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text("import os\nos.abort()\n")
    monkeypatch.chdir(tmp_path)
    done = kit("deadly:factory")
    assert done.returncode == 2
    assert "its import died of SIGABRT" in done.stderr


def test_the_working_folder_is_searched(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text("import numpy\nfactory = lambda: numpy.zeros((2, 3), 'float32')\n")
    monkeypatch.chdir(tmp_path)
    assert kit("-r", "P-CAP-01", "mine:factory").returncode == 0


def test_the_targets_of_the_documentation(monkeypatch):
    monkeypatch.chdir(ROOT / "docs" / "snippets")
    few = ["-r", "P-CAP-*", "-r", "P-TYPE-0[12]", "-r", "P-LAY-01", "-r", "C-CAP-*"]
    for factory, skipped in (("array", {"P-TYPE-01", "P-TYPE-02", "P-LAY-01"}), ("Arrays", set())):
        found, _ = verdicts(*few, f"conformance:{factory}")
        assert {rule for rule, result in found.items() if result["verdict"] == "not applicable"} == skipped
        assert {result["verdict"] for result in found.values()} <= {"pass", "not applicable"}


def test_help_names_the_targets_and_every_verdict(capsys):
    with pytest.raises(SystemExit) as end:
        command.main(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    for word in ("numpy", "torch", "MODULE:FACTORY", *rules.VERDICTS):
        assert word in text


# ---- What a target does ----


@pytest.mark.parametrize(
    "how, factory, verdict, observed",
    [
        ("--fork", "hangs_for_copies", "hang", "no end after 5 s"),
        ("--fork", "dies_for_copies", "crash", "died of SIGABRT"),
        ("--fork", "leaves_for_copies", "crash", "ended with status 7"),
        ("--fork", "leaves_children", "hang", "no end after 5 s"),
        ("--no-fork", "hangs_for_copies", "hang", "no end after 5 s"),
        ("--no-fork", "dies_for_copies", "crash", "died of SIGABRT"),
    ],
)
def test_what_is_contained(how, factory, verdict, observed):
    """The rule after the deadly one is judged as ever."""
    found, _ = verdicts(how, "--timeout", "5", "-r", "P-COPY-0[24]", f"conformance_targets:{factory}")
    assert (found["P-COPY-02"]["verdict"], found["P-COPY-02"]["observed"][: len(observed)]) == (verdict, observed)
    assert found["P-COPY-04"]["verdict"] == "pass"


@pytest.mark.parametrize("factory", ["hangs_in_a_fork", "dies_in_a_fork"])
def test_a_target_that_does_not_bear_a_fork(factory):
    found, target = verdicts("--timeout", "5", "-r", "P-CAP-01", "-r", "C-CAP-01", f"conformance_targets:{factory}")
    assert target["forked"] is False
    assert {result["verdict"] for result in found.values()} == {"pass"}
    found, target = verdicts("--fork", "--timeout", "1", "-r", "P-CAP-01", f"conformance_targets:{factory}")
    assert found["P-CAP-01"]["verdict"] in ("hang", "crash")


def test_a_hang_that_is_the_forks_is_no_verdict():
    rule, target = ["-r", "P-COPY-02", "--timeout", "5"], "conformance_targets:hangs_for_copies_in_a_fork"
    assert verdicts("--fork", *rule, target)[0]["P-COPY-02"]["verdict"] == "hang"
    found, judged = verdicts(*rule, target)
    assert found["P-COPY-02"]["verdict"] == "pass" and judged["forked"] is True


@pytest.mark.parametrize("how", ["--fork", "--no-fork"])
def test_the_end_of_a_process(how):
    """By a rule whose check ends its process: in a deleter that works, and in one that does not."""
    found, _ = verdicts(how, "-r", "P-LIFE-06", "conformance_targets:array")
    assert found["P-LIFE-06"]["verdict"] == "pass"
    found, _ = verdicts(how, "-r", "P-LIFE-06", "conformance_faults_producer:DeleterInPython")
    assert (found["P-LIFE-06"]["verdict"], found["P-LIFE-06"]["observed"][:14]) == ("crash", "in the deleter")


def test_killed_children_are_gone():
    kit("--timeout", "1", "-r", "P-COPY-02", "conformance_targets:leaves_children")
    wait_until(lambda: not workers("conformance_targets:leaves_children"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_the_command_is_ended(number):
    """While a target is imported, and while a rule runs, which are different processes."""
    for target in ("conformance_targets:hangs", "conformance_targets:hangs_for_copies"):
        arguments = [sys.executable, "-m", "dlpark.conformance", "-r", "P-COPY-02", "--timeout", "9999", target]
        process = subprocess.Popen(
            arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_interrupts
        )
        wait_until(lambda: len(workers(target)) == (2 if target.endswith("hangs") else 3))
        process.send_signal(number)
        said = process.communicate()
        assert process.returncode in (-number, 128 + number)
        assert said == (b"", b"interrupted\n" if number == signal.SIGINT else b"")
        wait_until(lambda: not workers(target))


def hear_interrupts():
    """As at a terminal, also where these tests run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_reader_that_has_read_enough(tmp_path):
    script = f"{sys.executable} -m dlpark.conformance --list-rules 2>{tmp_path}/said | head -1"
    done = subprocess.run(script, shell=True, env=environment(), capture_output=True, text=True)
    assert done.stdout.startswith("P-CAP-01") and (tmp_path / "said").read_text() == ""


def wait_until(condition):
    """For what other processes do in their own time, which is a moment, or a minute where the machine is busy."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("it did not come about")


def workers(target):
    """The command lines of the processes that have to do with a target."""
    lines = [contents(path) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")]
    return [line for line in lines if target.encode() in line.split(b"\0")]


def contents(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_what_a_target_prints_is_not_in_the_report():
    found, _ = verdicts("-r", "P-CAP-01", "conformance_targets:prints")
    assert found["P-CAP-01"]["verdict"] == "pass"


def test_nobody_is_judged_in_a_process_with_dlpark():
    found, _ = verdicts("-r", "P-CAP-01", "conformance_targets:alone")
    assert found["P-CAP-01"]["verdict"] == "pass"


def test_the_kit_needs_no_compiled_module():
    """It runs as a package of its own, beside whatever Python there is."""
    place = pathlib.Path(command.__file__).parent.parent
    script = "import sys; from conformance.__main__ import main; code = main(sys.argv[1:]); assert 'dlpark' not in sys.modules; sys.exit(code)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(HERE)])}
    done = subprocess.run(
        [sys.executable, "-c", script, "-r", "P-CAP-*", "numpy"], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# ---- Output ----


def test_json_has_these_fields_and_no_others():
    done = json.loads(kit("--json", "-r", "P-CAP-*", "conformance_targets:array", "no_such_module").stdout)
    assert set(done) == FIELDS
    assert done["schema"] == 1
    assert all(set(rule) == RULE_FIELDS for rule in done["rules"])
    assert all(set(target) == TARGET_FIELDS for target in done["targets"])
    judged, missing = done["targets"]
    assert all(set(result) == RESULT_FIELDS for result in judged["results"])
    assert (
        [result["rule"] for result in judged["results"]]
        == [rule["id"] for rule in done["rules"]]
        == ["P-CAP-01", "P-CAP-02"]
    )
    assert judged["summary"] == {**dict.fromkeys(rules.VERDICTS, 0), "pass": 2}
    assert (missing["error"], missing["results"]) == ("ModuleNotFoundError: No module named 'no_such_module'", [])


def test_text_says_what_was_expected_and_what_was_observed():
    text = kit("-r", "P-RO-*", "conformance_faults_producer:ReadOnlyLost").stdout
    assert "As a producer" in text and "As a consumer" not in text
    assert "must: expected READ_ONLY; observed flags 0x0" in text
    assert text.splitlines()[-2].endswith("2 pass, 1 fail") or "2 pass, 1 fail" in text
    assert "\033" not in text


def test_quiet_leaves_out_what_is_kept():
    arguments = ["-r", "P-RO-*", "conformance_faults_producer:ReadOnlyLost"]
    loud, quiet = kit(*arguments).stdout, kit("-q", *arguments).stdout
    assert "P-RO-03" in loud and "P-RO-03" not in quiet
    assert "P-RO-01" in quiet


def test_verbose_says_what_was_observed_everywhere():
    assert "observed dltensor_versioned" in kit("-v", "-r", "P-CAP-02", "conformance_targets:array").stdout


def test_rules_that_do_not_apply_for_one_reason_share_a_line():
    text = kit("-r", "X-TAB-*", "conformance_targets:array").stdout
    assert text.count("not applicable") == 2  # the line, and the summary
    assert "X-TAB-01 to X-TAB-06, 6 rules" in text


@pytest.mark.parametrize("plain", [False, True])
def test_colours_and_progress_are_for_terminals(plain):
    ours, theirs = pty.openpty()
    env = {**environment(), "TERM": "xterm", **({"NO_COLOR": "1"} if plain else {})}
    env = {name: value for name, value in env.items() if plain or name != "NO_COLOR"}
    arguments = ["-r", "P-CAP-01", "conformance_targets:array"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dlpark.conformance", *arguments], stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:
            break
        if not more:
            break
        said += more
    assert process.wait() == 0
    os.close(ours)
    assert (b"\033[32mpass" in said) is not plain
    assert b"\r\033[K" + b"conformance_targets:array: 0/1 P-CAP-01" in said


def test_lines_are_as_wide_as_they_may_be():
    which = rules.all_rules()[0]
    run = Run("lib", "1.0", results=[rules.Result(which.id, rules.FAIL, "something " * 30, "else " * 30)])
    for width in (72, 100):
        text = report.Text(colour=False, width=width).run(run, {which.id: which})
        assert max(map(len, text.splitlines())) <= width
        assert "fail" in text and which.id in text


def test_markdown_is_a_page():
    text = kit(
        "--markdown", "-r", "P-RO-*", "conformance_faults_producer:ReadOnlyLost", "conformance_targets:array"
    ).stdout
    rows = [line for line in text.splitlines() if line.startswith("| P-RO-01")]
    assert rows[0].endswith("| **fail** | – |")
    assert rows[1].split(" | ")[1] == "fail"
    assert rows[1].split(" | ")[3:] == [r"READ\_ONLY", "flags 0x0 |"]
    assert text.count("### ") == 2


def test_cells_hold_any_text():
    assert report.cell("a | b\n*c*  <d> `e`") == r"a \| b \*c\* \<d\> \`e\`"


# ---- Rules ----


def test_rules_are_listed_with_their_sources(capsys):
    assert command.main(["--list-rules"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for rule in rules.all_rules():
        assert f"{rule.id} {rule.severity} {rule.says} [{rule.source}]" in text


def test_rules_are_listed_as_json(capsys):
    assert command.main(["--list-rules", "--json", "-r", "P-CAP-*"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [rule["id"] for rule in listed["rules"]] == ["P-CAP-01", "P-CAP-02"] and listed["targets"] == []


def test_patterns_select_rules_in_any_case():
    assert [rule.id for rule in rules.select(["p-cap-*"])] == ["P-CAP-01", "P-CAP-02"]
    with pytest.raises(LookupError, match="Q-"):
        rules.select(["P-*", "Q-*"])


# What a sentence may begin with in small letters: names of the protocol.
KEYWORDS = {"bool", "kind", "ndim"}


def test_every_rule_is_a_sentence_with_a_source():
    every = rules.all_rules()
    assert len({rule.id for rule in every}) == len(every) > 200
    assert len({rule.says for rule in every}) == len(every)
    for rule in every:
        assert rule.kind in rules.KINDS and rule.severity in rules.SEVERITIES
        first = rule.says.split()[0]
        assert first[0].isupper() or not first.isalpha() or first in KEYWORDS, rule.says
        assert rule.says.endswith("."), rule.says
        assert rule.source


def test_severity_decides_what_a_broken_rule_is():
    def check(error):
        def raising(target):
            raise error

        return raising

    def judged(severity, error):
        return rules.judge(rules.Rule("P-X-01", "producer", severity, "here", "It is so.", check(error)), None).verdict

    assert judged("must", rules.Broken("a", "b")) == judged("must", ValueError("b")) == "fail"
    assert judged("should", rules.Broken("a", "b")) == judged("note", ValueError("b")) == "deviates"
    assert judged("note", rules.Wrong("a", "b")) == "fail"
    assert judged("must", rules.Deviates("a", "b")) == "deviates"
    assert judged("must", rules.NotApplicable("b")) == "not applicable"


def test_the_page_of_rules_is_that_of_the_code():
    page = (ROOT / "docs" / "conformance-rules.md").read_text()
    assert page.partition("<!-- rules -->\n")[2].strip() == report.rules_markdown(rules.all_rules()).strip()
