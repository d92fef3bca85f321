"""The command `dlpark`, run as a person or a program runs it."""

import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest
from tensor_files import safetensors

import dlpark

TENSORS = {
    "layers.0.weight": ("F32", (2, 3), bytes(24)),
    "layers.1.weight": ("BF16", (5,), bytes(10)),
    "lm_head": ("F8_E4M3", (), b"\0"),
}


@pytest.fixture(scope="session")
def command():
    found = shutil.which("dlpark")
    assert found is not None, "dlpark is not on the PATH"
    return found


@pytest.fixture
def run(command, tmp_path):
    def run(*arguments, **options):
        options = {"capture_output": True, "text": True, "timeout": 120, "cwd": tmp_path} | options
        # A sanitizer that was preloaded for Python is in the program already.
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        return subprocess.run([command, *(os.fspath(a) if isinstance(a, os.PathLike) else a for a in arguments)], env=env, check=False, **options)

    return run


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors(TENSORS, {"format": "pt"}))
    return path


def test_info_is_a_table(run, model):
    done = run("info", model)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{model}: safetensors, 3 tensors, {model.stat().st_size} B"
    assert lines[1] == "  format = pt"
    assert [line.split() for line in lines[2:]] == [
        ["name", "dtype", "shape", "size"],
        ["layers.0.weight", "float32", "[2,", "3]", "24", "B"],
        ["layers.1.weight", "bfloat16", "[5]", "10", "B"],
        ["lm_head", "float8_e4m3fn", "[]", "1", "B"],
    ]
    assert len({line.index("[") for line in lines[3:]}) == 1, "a column is straight"


def test_info_for_programs(run, model):
    done = run("info", "--json", model)
    answer = json.loads(done.stdout)
    assert answer["schema"] == "dlpark.info/1"
    (file,) = answer["files"]
    assert (file["path"], file["format"], file["nbytes"]) == (str(model), "safetensors", model.stat().st_size)
    assert file["metadata"] == {"format": "pt"}
    with dlpark.open(model) as opened:
        assert [(t["name"], t["dtype"], t["type"], tuple(t["shape"]), t["offset"], t["nbytes"]) for t in file["tensors"]] == [
            (i.name, i.dtype, i.type, i.shape, i.offset, i.nbytes) for i in map(opened.info, opened)
        ]


def test_patterns_choose_tensors(run, model):
    def names(*arguments):
        return [tensor["name"] for tensor in json.loads(run("info", "--json", model, *arguments).stdout)["files"][0]["tensors"]]

    assert names("--include", "layers.*") == ["layers.0.weight", "layers.1.weight"]
    assert names("-i", "layers.*", "-x*.1.*") == ["layers.0.weight"]
    assert names("--exclude=*", "--include=*") == []
    assert names("-ilm_head", "-i", "*.0.*") == ["layers.0.weight", "lm_head"]
    assert "2 of 3 tensors, 34 B" in run("info", model, "-x", "lm*").stdout


def test_names_do_not_reach_the_terminal_as_they_are(run, tmp_path):
    (tmp_path / "evil").write_bytes(safetensors({"\x1b[2J\u202e\n": ("U8", (1,), b"x")}, {"\x07": "\x9b31m"}))
    out = run("info", "evil").stdout
    assert "\\x1B[2J\\u202E\\x0A" in out and "\\x07 = \\x9B31m" in out
    assert not set(out) & set("\x1b\u202e\x07\x9b")
    assert json.loads(run("info", "--json", "evil").stdout)["files"][0]["tensors"][0]["name"] == "\x1b[2J\u202e\n"


def test_json_is_json_whatever_a_path_or_a_name_holds(run, tmp_path):
    name = "\x9b\u202e\x7fé😀\u061c"
    (tmp_path / "x").write_bytes(safetensors({name: ("U8", (1,), b"x")}))
    out = run("info", "--json", "x").stdout
    assert json.loads(out)["files"][0]["tensors"][0]["name"] == name
    assert not set(out) & set("\x9b\u202e\x7f\u061c") and "é😀" in out
    for path, expected in ((b"a\xff", "a\ufffd"), (b"\xe2\x82", "\ufffd\ufffd"), (b"\xc3", "\ufffd")):
        done = run("check", "--json", os.fsdecode(path), text=False)
        assert json.loads(done.stdout)["files"][0]["path"] == expected


def test_check_says_ok_or_every_fault(run, model, tmp_path):
    broken = {"a": ("F32", (3,), bytes(8)), "b": ("F99", (2,), bytes(8)), "c": ("U8", (1,), b"x")}
    data = safetensors(broken, tail=b"more")
    where = data.index(b'"F99"')
    (tmp_path / "broken").write_bytes(data)
    done = run("check", model, "broken")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        f"{model}: ok",
        "broken: byte 9: tensor 'a': shape [3] of F32 has 12 bytes, data_offsets [0, 8] span 8 [size]",
        f"broken: byte {where}: tensor 'b': dtype \"F99\" is none of the format's [dtype]",
        f"broken: byte {len(data) - 4}: 4 bytes behind the last tensor belong to none [trailing]",
    ]
    assert run("check", "--quiet", model).stdout == ""


def test_check_for_programs(run, model, tmp_path):
    (tmp_path / "broken").write_bytes(b"12345678")
    answer = json.loads(run("check", "--json", model, "broken", "absent").stdout)
    assert answer["schema"] == "dlpark.check/1"
    good, bad, absent = answer["files"]
    assert (good["ok"], good["count"], good["faults"]) == (True, 0, [])
    assert (bad["ok"], bad["count"]) == (False, 1) and bad["faults"][0]["rule"] == "header-size"
    assert absent == {"path": "absent", "error": "absent: No such file or directory"}


def test_a_program_is_told_of_files_that_cannot_be_opened(run, model, tmp_path):
    (tmp_path / "broken").write_bytes(b"short")
    absent = "absent: No such file or directory"
    broken = "broken: has 5 bytes; a safetensors file has at least 8, the length of its header (byte 0)"
    for verb, *more in (["show"], ["stats"], ["diff", model]):
        for path, code, error in (("absent", 3, absent), ("broken", 1, broken)):
            done = run(verb, "--json", *more, path)
            assert (done.returncode, done.stderr) == (code, "")
            answer = json.loads(done.stdout)
            assert list(answer) == ["schema", "error"] and answer["schema"] == f"dlpark.{verb}/1"
            assert answer["error"] == error
            plain = run(verb, *more, path)
            assert (plain.returncode, plain.stdout, plain.stderr) == (code, "", f"dlpark {verb}: {answer['error']}\n")
    for paths in (["absent", "broken"], ["broken", "absent"]):
        done = run("diff", "--json", *paths)
        assert (done.returncode, json.loads(done.stdout)) == (3, {"schema": "dlpark.diff/1", "error": absent})
        assert len(run("diff", *paths).stderr.splitlines()) == 2
    done = run("diff", "--json", "--format", "foo", "absent", "absent")
    assert (done.returncode, done.stdout) == (2, "")


def test_hazards_are_told_and_count_when_asked(run, tmp_path):
    (tmp_path / "odd").write_bytes(safetensors({"a": ("U8", (1,), b"1"), "../b": ("F32", (1,), b"1234")}))
    (tmp_path / "even").write_bytes(safetensors({"a": ("F32", (1,), b"1234")}))
    done = run("check", "odd", "even")
    assert done.returncode == 0
    first, *hazards, last = done.stdout.splitlines()
    assert (first, last) == ("odd: ok", "even: ok")
    assert [line.rsplit(" ", 1)[1] for line in hazards] == ["[misaligned]", "[path]"]
    assert all(line.startswith("odd: hazard: byte ") and "tensor '../b': " in line for line in hazards)
    assert run("check", "--quiet", "odd").stdout == ""
    strict = run("check", "--strict", "--quiet", "odd", "even")
    assert (strict.returncode, strict.stdout.splitlines()) == (1, hazards)
    told = json.loads(run("check", "--json", "odd").stdout)["files"][0]
    assert told["ok"] and told["hazard_count"] == 2 and told["faults"] == []
    assert [hazard["rule"] for hazard in told["hazards"]] == ["misaligned", "path"]
    piped = (tmp_path / "odd").read_bytes()
    assert run("check", "/dev/stdin", input=piped, text=False).stdout == b"/dev/stdin: ok\n"


@pytest.mark.parametrize("data", [b"", b"short", b"\0" * 8, b"garbage garbage garbage", b"\xff" * 64])
def test_garbage_is_a_faulty_file(run, tmp_path, data):
    (tmp_path / "garbage").write_bytes(data)
    for verb in ("info", "check"):
        assert run(verb, "garbage").returncode == 1


def test_the_highest_exit_status_counts(run, model, tmp_path):
    (tmp_path / "broken").write_bytes(b"short")
    assert run("info", model).returncode == 0
    assert run("info", model, "broken").returncode == 1
    assert run("info", "absent", "broken", model).returncode == 3
    done = run("check", "absent")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "dlpark check: absent: No such file or directory\n")


TENSORS_OF = "safetensors, npy, npz, gguf"
READ = f"{TENSORS_OF}, safetensors-index, jpeg, png or webp"


@pytest.mark.parametrize(
    "arguments, text",
    [
        ([], "a verb is missing"),
        (["inof"], "there is no verb 'inof'; did you mean 'info'?"),
        (["xyzzy"], "there is no verb 'xyzzy'; `dlpark --help` lists them"),
        (["info"], "FILE... is missing; usage: dlpark info [OPTION]... FILE..."),
        (["info", "--jsno", "x"], "there is no option '--jsno'; did you mean '--json'?"),
        (["info", "-q", "x"], "there is no option '-q'"),
        (["info", "--include"], "--include needs a value: PATTERN"),
        (["info", "--json=1", "x"], "--json takes no value, and '1' was given"),
        (["info", "--format", "zip", "x"], f"--format zip: there is no such format; expected {READ}\n"),
        (["info", "--format", "nzp", "x"], f"--format nzp: there is no such format; expected {READ}; did you mean 'npz'?\n"),
        (["show", "--format", "elephant", "x"], f"--format elephant: there is no such format; expected {READ}\n"),
        (["convert", "--to", "foo", "x", "y"], f"--to foo: there is no such format; expected {TENSORS_OF}, jpeg, png or webp\n"),
        (["convert", "--to", "pgn", "x", "y"], "jpeg, png or webp; did you mean 'png'?\n"),
        (["merge", "--to", "foo", "x", "y"], "--to foo: there is no such format; expected safetensors, npy, npz or gguf\n"),
        (["merge", "--to", "png", "x", "y"], "--to png: there is no such format; expected safetensors, npy, npz or gguf\n"),
    ],
)
def test_misuse_is_told(run, arguments, text):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "") and text in done.stderr


def test_help_and_version(run):
    assert run("--version").stdout.startswith(f"dlpark {dlpark.__version__} ")
    everything = run("--help")
    assert everything.returncode == 0 and everything.stdout == run("help").stdout
    assert " safetensors, npy, npz, gguf, jpeg, png, webp; else " in run("convert", "--help").stdout
    assert "  -f, --force " in run("merge", "--help").stdout
    assert " safetensors, npy, npz, gguf; else " in run("merge", "--help").stdout
    for verb in ("info", "check", "show", "stats", "diff", "convert", "split", "merge"):
        assert f"  {verb} " in everything.stdout
        told = run(verb, "--help")
        assert told.returncode == 0 and f"dlpark {verb} " in told.stdout.split("Examples:")[1]
        assert told.stdout == run("help", verb).stdout == run(verb, "-h").stdout
        assert max(map(len, told.stdout.splitlines())) <= 100


def test_what_follows_two_dashes_is_a_file(run, tmp_path):
    (tmp_path / "--json").write_bytes(safetensors({}))
    assert run("check", "--", "--json").stdout == "--json: ok\n"


def on_a_terminal(command, *arguments, columns, env):
    master, terminal = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    clean = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "NO_COLOR")}
    process = subprocess.Popen([command, *map(str, arguments)], stdout=terminal, stderr=terminal, env=clean | env)
    os.close(terminal)
    out = b""
    while True:
        try:
            some = os.read(master, 65536)
        except OSError:  # the other end is gone
            break
        if not some:
            break
        out += some
    process.wait(60)
    os.close(master)
    return out.decode().replace("\r\n", "\n")


def test_a_terminal_gets_what_fits_it(command, tmp_path):
    path = tmp_path / "long"
    path.write_bytes(safetensors({"model." + "x" * 200 + ".weight": ("U8", (1,), b"x")}))
    wide = on_a_terminal(command, "info", path, columns=300, env={"TERM": "xterm"})
    assert "\033[1m" in wide and "x" * 200 in wide
    narrow = on_a_terminal(command, "info", path, columns=80, env={"TERM": "xterm"})
    line = narrow.splitlines()[2]
    assert len(line) <= 80 and line.lstrip().startswith("model.x") and "..." in line and ".weight" in line
    for env in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\033" not in on_a_terminal(command, "info", path, columns=80, env=env)


def test_a_full_disk_is_told(command, model):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([command, "info", model], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
    assert done.returncode == 3 and "standard output: No space left on device" in done.stderr


# ---- The manual, and completions ----


def test_the_manual_page_is_one(run):
    page = run("--print", "man")
    assert page.returncode == 0
    shown = None
    if shutil.which("man"):
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        shown = subprocess.run(["man", "--warnings=w", "-l", "-"], input=page.stdout, capture_output=True, text=True, check=False, env=env)
    for verb in ("info", "check", "show", "stats", "diff", "convert"):
        assert f".SS dlpark {verb} " in page.stdout
        for option in re.findall(r"--([a-z]+)", run(verb, "--help").stdout.split("Examples:")[0].split("Options:")[1]):
            assert option == "help" or rf"\-\-{option}" in page.stdout
        assert shown is None or f"dlpark {verb}" in shown.stdout
    assert shown is None or shown.stderr == ""
    assert run("--print", "fish").returncode == 2


def test_bash_completes(run, tmp_path):
    (tmp_path / "completion").write_text(run("--print", "bash").stdout)

    def complete(*words):
        program = 'source ./completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dlpark; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", program, "bash", *words], capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout.split()

    assert complete("dlpark", "c") == ["check", "convert"]
    assert complete("dlpark", "info", "--in") == ["--include"]
    assert set(complete("dlpark", "diff", "--")) == {"--help", "--tolerance", "--include", "--exclude", "--format", "--json", "--follow-links"}
    assert complete("dlpark", "info", "comp") == ["completion"]


def test_zsh_takes_its_completion(run, tmp_path):
    text = run("--print", "zsh").stdout
    assert text.startswith("#compdef dlpark\n") and "'*--include=[" in text and "'info:" in text
    if shutil.which("zsh"):
        (tmp_path / "_dlpark").write_text(text)
        subprocess.run(["zsh", "-n", "_dlpark"], check=True, cwd=tmp_path)


# ---- The page ----

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "command.md"


def test_the_page_shows_what_the_command_prints(run, tmp_path):
    """Every line of its session, and every field of its schemas."""
    weight = np.arange(256, dtype=np.float32).reshape(16, 16)
    norm = dlpark.from_dlpack(np.zeros(16, np.float32)).astype("bfloat16")
    dlpark.save(tmp_path / "model.safetensors", {"lm_head.weight": weight, "norm": norm}, metadata={"format": "pt"})
    session = re.search(r"^```\n(\$ .*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
    for part in session.split("$ dlpark ")[1:]:
        line, _, expected = part.partition("\n")
        assert run(*shlex.split(line)).stdout == expected, line


# Words of the rows that are values.
NO_FIELDS = {"info": set(), "check": set(), "show": {"null"}, "stats": {"null"}, "diff": {"missing", "added", "dtype", "shape", "rank", "values", "null"}}


def test_the_page_has_every_schema_and_field(run, tmp_path):
    dlpark.save(tmp_path / "a", {"x": np.array([1.0, 2.0]), "y": np.zeros(2)})
    dlpark.save(tmp_path / "b", {"x": np.array([1.0, 3.0])})
    (tmp_path / "broken").write_bytes(b"short")
    assert run("split", "a", "a").returncode == 0
    rows = dict(re.findall(r"^\| `(dlpark\.\w+/\d+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE))
    calls = {
        "info": [["a", "a.safetensors.index.json", "broken"]],
        "check": [["a", "broken", "absent"]],
        "show": [["a"], ["absent"]],
        "stats": [["-g", "a"], ["absent"]],
        "diff": [["a", "b"], ["a", "absent"]],
    }
    for verb, each in calls.items():
        answers = [json.loads(run(verb, "--json", *arguments).stdout) for arguments in each]
        assert {answer["schema"] for answer in answers} == {f"dlpark.{verb}/1"}
        told = set(re.findall(r"`(\w+)`", rows.pop(f"dlpark.{verb}/1"))) - NO_FIELDS[verb]
        assert fields(answers) - {"schema"} == told, verb
    assert not rows


def fields(value):
    """The keys of all objects within, but those that a file chose."""
    if isinstance(value, list):
        return set().union(*map(fields, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(fields(inner) for key, inner in value.items() if key != "metadata"))
