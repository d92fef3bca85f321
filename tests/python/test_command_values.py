"""The verbs of the command that read and write the numbers of tensors: show, stats, diff, convert."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from test_command import command, on_a_terminal, run  # noqa: F401  (fixtures)

import dlpark

WEIGHT = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
TENSORS = {"weight": WEIGHT, "ids": np.array([1, -2, 300], np.int64), "mask": np.array([True, False]), "z": np.array([3 + 4j], np.complex64)}


@pytest.fixture
def model(tmp_path):
    dlpark.save(tmp_path / "model", TENSORS, metadata={"format": "np"})
    return tmp_path / "model"


# ---- show ----


def test_show_prints_as_numpy_does(run, model):  # noqa: F811
    done = run("show", model, "weight[0]", "ids[::-1]", "mask")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"weight[0]: f32[3, 4] cpu c read-only\n{WEIGHT[0]}\n"
        f"ids[::-1]: i64[3] cpu strides [-1] read-only\n{TENSORS['ids'][::-1]}\n"
        f"mask: bool[2] cpu c read-only\n{TENSORS['mask']}\n"
    )


@pytest.mark.parametrize("slice", ["0", "-1", "0:2, :8", "..., ::2", "1, ..., -1", ":, 1:", "::-1", "0, 1, 2", "5:", "...", " 0 , 1 : 3 ", "0, :, 1:3", "-9:9:1"])
def test_slices_are_pythons(run, model, slice):  # noqa: F811
    expected = eval(f"WEIGHT[{slice}]", {"WEIGHT": WEIGHT})
    shown = json.loads(run("show", "--json", model, f"weight[{slice}]").stdout)["tensors"][0]
    assert shown["shape"] == list(expected.shape)
    np.testing.assert_array_equal(np.array(shown["values"]).reshape(expected.shape), expected)


@pytest.mark.parametrize(
    "operand, text",
    [
        ("wait", "there is no tensor 'wait'\n"),
        ("wieght[0]", "there is no tensor 'wieght'; did you mean 'weight'?\n"),
        ("id", "there is no tensor 'id'; did you mean 'ids'?\n"),
        ("[0]", "'[0]': a slice needs the name of a tensor before it, as there are 4\n"),
        ("weight[2]", "index 2 is out of range for dimension 0 of extent 2"),
        ("weight[a]", "'a' is no index"),
        ("weight[]", "'' is no index"),
        ("weight[1:2:3:4]", "is no index"),
        ("weight[::0]", "step"),
        ("weight[0,0,0,0]", "one index too many"),
        ("weight[0", "'[0': the slice has no ']' at its end"),
        ("weight[", "'[': the slice has no ']' at its end"),
        ("weight[0]x", "expected a comma or a bracket at the end"),
    ],
)
def test_slices_that_are_none(run, model, operand, text):  # noqa: F811
    done = run("show", model, operand)
    assert (done.returncode, done.stdout) == (2, "") and text in done.stderr


def test_show_for_programs_has_every_value(run, model):  # noqa: F811
    shown = json.loads(run("show", "--json", model).stdout)
    assert shown["schema"] == "dlpark.show/1"
    values = {tensor["tensor"]: tensor["values"] for tensor in shown["tensors"]}
    assert values == {"weight": WEIGHT.tolist(), "ids": [1, -2, 300], "mask": [True, False], "z": [[3.0, 4.0]]}


def test_a_name_with_brackets_or_escapes_can_be_shown(run, tmp_path):  # noqa: F811
    dlpark.save(tmp_path / "odd", {"a[0]": np.array([7]), "a": np.array([8, 9]), "\n": np.array([5])})
    assert "[7]" in run("show", "odd", "a[0]").stdout
    assert "\n9\n" in run("show", "odd", "a[1]").stdout
    assert "[5]" in run("show", "odd", r"\x0A").stdout


def test_a_slice_alone_is_of_the_only_tensor(run, tmp_path):  # noqa: F811
    np.save(tmp_path / "x.npy", WEIGHT[0])
    assert run("show", "x.npy", "[0, :3]").stdout.splitlines()[1:] == ["[0. 1. 2.]"]
    (shown,) = json.loads(run("show", "--json", "x.npy", "[-1, 0]").stdout)["tensors"]
    assert (shown["tensor"], shown["values"]) == ("[-1, 0]", 8)
    dlpark.save(tmp_path / "none", {})
    done = run("show", "none", "[0]")
    assert (done.returncode, done.stderr) == (2, "dlpark show: '[0]': a slice needs the name of a tensor before it, as there are 0\n")
    dlpark.save(tmp_path / "nameless", {"": np.array([4, 5]), "x": np.zeros(1)})
    assert "[4]" in run("show", "nameless", "[:1]").stdout


def test_the_nearest_name_is_looked_for_among_ten_thousand(run, tmp_path):  # noqa: F811
    """Names as long as models have them, and one that a terminal would obey."""
    dlpark.save(tmp_path / "x", {f"model.layers.{i:05}.self_attn.q_proj.weight": np.zeros(1, np.uint8) for i in range(10_000)} | {"z" * 30: np.zeros(1, np.uint8)})
    with dlpark.open(tmp_path / "x") as file:
        assert list(file)[-1] == "z" * 30
    assert run("show", "x", "model.layers.09000.self_attn.q_porj.weight").stderr.endswith("; did you mean 'model.layers.09000.self_attn.q_proj.weight'?\n")
    assert "did you mean" not in run("show", "x", "model.layers.05000.mlp.weight").stderr
    assert "did you mean" not in run("show", "x", "z" * 29).stderr
    dlpark.save(tmp_path / "y", {"\x1babcde": np.zeros(1)})
    assert run("show", "y", r"\x1Babced").stderr.endswith("; did you mean '\\x1Babcde'?\n")


def test_show_leaves_out_the_middle_unless_all_is_asked_for(run, tmp_path):  # noqa: F811
    dlpark.save(tmp_path / "x", {"x": np.arange(5000)})
    assert "..." in run("show", "x").stdout and " 2500 " not in run("show", "x").stdout
    assert " 2500 " in run("show", "--all", "x").stdout.replace("\n", " ")
    dlpark.save(tmp_path / "y", {"y": np.array([1 / 3])})
    assert "[0.333]" in run("show", "-p3", "y").stdout
    assert run("show", "-p", "x", "y").returncode == 2


# ---- stats ----


def test_stats_are_numpys(run, tmp_path):  # noqa: F811
    rng = np.random.default_rng(0)
    many = rng.normal(5, 2, 1_500_000).astype(np.float32)  # more than one piece
    odd = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 2], np.float16)
    dlpark.save(tmp_path / "x", {"many": many, "odd": odd, "z": np.array([3 + 4j, 0], np.complex64), "none": np.zeros((0, 2), np.int8), "b": np.array([True, True, False])})
    done = run("stats", "--json", "--histogram", "x")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["schema"]) == (0, "dlpark.stats/1")
    stats = {tensor["name"]: tensor for tensor in answer["tensors"]}
    exact = many.astype(np.float64)
    for key, value in {"min": exact.min(), "max": exact.max(), "mean": exact.mean(), "std": exact.std()}.items():
        assert stats["many"][key] == pytest.approx(value, rel=1e-9)
    counts, _ = np.histogram(exact, 16)
    assert np.abs(np.array(stats["many"]["histogram"]) - counts).max() <= 2 and sum(stats["many"]["histogram"]) == len(many)
    assert [stats["odd"][key] for key in ("count", "min", "max", "zeros", "nans", "infinities")] == [6, 0, 2, 2, 1, 2]
    assert (stats["z"]["max"], stats["z"]["mean"]) == (5, 2.5)
    assert (stats["none"]["count"], stats["none"]["min"]) == (0, None)
    assert stats["b"]["mean"] == pytest.approx(2 / 3)


def test_stats_for_people(run, model):  # noqa: F811
    out = run("stats", "-i", "weight", "-g", model).stdout.splitlines()
    assert out[0] == "weight  float32[2, 3, 4]"
    assert out[1] == "  min 0  max 23  mean 11.5  std 6.92219"
    assert out[2] == "  24 numbers, 1 zero"
    assert len(out) == 3 + 17 and out[3].split()[1] == "#" * 50


# ---- diff ----


def test_diff_tells_what_differs(run, model, tmp_path):  # noqa: F811
    other = WEIGHT.copy()
    other[1, 2, 3] += 0.5
    other[0, 0, 0] -= 0.25
    dlpark.save(tmp_path / "other", {"weight": other, "ids": np.array([1, -2], np.int64), "mask": np.array([1, 0], np.uint8), "new": np.zeros(1)})
    done = run("diff", model, "other")
    assert (done.returncode, done.stderr) == (1, "")
    assert set(done.stdout.splitlines()) == {
        "ids: shape [3] and [2]",
        "z: only in the first file",
        "weight: 2 numbers differ, by at most 0.5 at [1, 2, 3]",
        "mask: dtype bool and uint8",
        "new: only in the second file",
        "0 tensors are the same, 5 differ",
    }
    answer = json.loads(run("diff", "--json", model, "other").stdout)
    assert answer["schema"] == "dlpark.diff/1"
    assert {d["tensor"]: d["kind"] for d in answer["differences"]} == {"ids": "shape", "z": "missing", "weight": "values", "mask": "dtype", "new": "added"}
    close = run("diff", "-t", "0.5", "-i", "weight", model, "other")
    assert (close.returncode, close.stdout) == (0, "1 tensor is the same, 0 differ\n")
    assert run("diff", model, model).returncode == 0


def test_nan_is_nan_and_not_a_number(run, tmp_path):  # noqa: F811
    dlpark.save(tmp_path / "a", {"x": np.array([np.nan, 1, np.inf])})
    dlpark.save(tmp_path / "b", {"x": np.array([np.nan, np.nan, np.inf])})
    assert "x: 1 number differs, by at most inf at [1]" in run("diff", "a", "b").stdout
    assert run("diff", "a", "a").returncode == 0
    assert run("diff", "a", "absent").returncode == 3
    assert run("diff", "-t", "x", "a", "b").returncode == 2


# ---- convert ----


def test_convert_changes_numbers_of_its_kind(run, model, tmp_path):  # noqa: F811
    assert run("convert", model, "half", "--dtype", "f16").returncode == 0
    with dlpark.open(tmp_path / "half") as file:
        assert {name: file.info(name).dtype for name in file} == {"weight": "float16", "ids": "int64", "mask": "bool", "z": "complex64"}
        np.testing.assert_array_equal(np.from_dlpack(file["weight"]), WEIGHT.astype(np.float16))
        assert file.metadata == {"format": "np"}
    assert run("convert", model, "narrow", "-d", "int8", "--overflow", "saturate").returncode == 0
    assert dlpark.load(tmp_path / "narrow")["ids"].tobytes() == np.array([1, -2, 127], np.int8).tobytes()


def test_convert_chooses_and_renames(run, model, tmp_path):  # noqa: F811
    assert run("convert", model, "x", "-i", "*s*", "-x", "mask", "-r", "i=k", "--rename=kd=kid", "--align=64").returncode == 0
    with dlpark.open(tmp_path / "x") as file:
        assert list(file) == ["kids"] and file.info("kids").offset % 64 == 0
    clash = run("convert", model, "y", "--rename", "ids=mask")
    assert clash.returncode == 2
    assert "two of the tensors are called 'mask'" in clash.stderr and not (tmp_path / "y").exists()


def test_convert_over_itself(run, model):  # noqa: F811
    before = model.read_bytes()
    assert run("convert", model, model).returncode == 0
    assert model.read_bytes() == before
    assert run("convert", model, model, "-d", "bf16").returncode == 0
    assert dlpark.open(model).info("weight").dtype == "bfloat16"


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        (["--dtype", "f33"], 2, "--dtype f33: "),
        (["--dtype", "bool"], 2, "expected a float or an integer"),
        (["--align", "3"], 2, "expected a power of two up to 4096"),
        (["--overflow", "warp"], 2, "did you mean 'wrap'?"),
        (["--overflow", "wrap"], 2, "--overflow wrap: is of numbers that --dtype changes, which is missing"),
        (["--include", "nope"], 2, "no tensor matches --include nope\n"),
        (["-i", "nope", "-i", "no", "-x", "*"], 2, "no tensor matches --include nope --include no --exclude *\n"),
        (["--exclude", "*"], 2, "no tensor is left by --exclude *\n"),
        (["--rename", "x"], 2, "expected OLD=NEW"),
        (["--dtype", "f128"], 2, "safetensors has no dtype for float128"),
        (["--dtype", "f8_e4m3fn", "--overflow", "wrap"], 2, "overflow is WRAP, which has no meaning for f8_e4m3fn"),
    ],
)
def test_convert_refuses(run, model, tmp_path, arguments, code, text):  # noqa: F811
    done = run("convert", model, "out", *arguments)
    assert done.returncode == code and text in done.stderr
    assert not (tmp_path / "out").exists() and len(list(tmp_path.iterdir())) == 1


def test_overflow_is_told_by_the_help(run, tmp_path):  # noqa: F811
    """What the paragraphs say of each mode is what it does."""
    told = " ".join(run("convert", "--help").stdout.split())
    for words in ("nosat, the default, makes it infinity", "satfinite makes it the largest number and leaves infinity", "wrap, the default, takes it modulo", "saturate takes the nearest"):
        assert words in told
    dlpark.save(tmp_path / "x", {"f": np.array([1e6, np.inf], np.float32), "i": np.array([300, -1], np.int16)})

    def f16(*arguments):
        assert run("convert", "x", "y", "-d", "f16", *arguments).stderr == ""
        return np.from_dlpack(dlpark.load(tmp_path / "y")["f"]).tolist()

    def u8(*arguments):
        assert run("convert", "x", "y", "-d", "u8", *arguments).stderr == ""
        return np.from_dlpack(dlpark.load(tmp_path / "y")["i"]).tolist()

    assert f16() == f16("--overflow", "nosat") == f16("--overflow", "default") == [np.inf, np.inf]
    assert f16("--overflow", "satfinite") == [65504, np.inf] and f16("--overflow", "satall") == [65504, 65504]
    assert u8() == u8("--overflow", "wrap") == u8("--overflow", "default") == [44, 255]
    assert u8("--overflow", "saturate") == [255, 0]


def test_a_dtype_that_changes_nothing_is_told(run, model, tmp_path):  # noqa: F811
    dlpark.save(tmp_path / "floats", {"x": np.zeros(2, np.float32)})
    done = run("convert", "floats", "y", "--dtype", "i8")
    assert (done.returncode, done.stderr) == (0, "dlpark convert: note: no tensor is of integers, nothing was converted\n")
    done = run("convert", model, "y", "--dtype", "f16", "--include", "ids")
    assert (done.returncode, done.stderr) == (0, "dlpark convert: note: no tensor is of floats, nothing was converted\n")
    done = run("convert", model, "y", "--dtype", "f32")
    assert (done.returncode, done.stderr) == (0, "dlpark convert: note: all tensors of floats are float32 already, nothing was converted\n")
    assert (tmp_path / "y").exists()


def test_patterns_that_leave_nothing_are_misuse(run, model, tmp_path):  # noqa: F811
    for words in (["stats", model], ["stats", "--json", model], ["diff", model, model], ["diff", "--json", model, model]):
        done = run(*words, "-i", "nope", "-x", "mask")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"dlpark {words[0]}: no tensor matches --include nope --exclude mask\n"
    dlpark.save(tmp_path / "other", {"other": np.zeros(1)})
    assert run("diff", model, "other", "-i", "other").stdout.startswith("other: only in the second file\n")
    dlpark.save(tmp_path / "none", {})
    for words in (["stats", "none"], ["diff", "none", "none"], ["convert", "none", "y"]):
        assert run(*words, "-i", "nope").returncode == 0
    assert run("info", model, "-i", "nope").returncode == 0


@pytest.fixture
def sparse(tmp_path):
    """Gigabytes of zeros that take no space: one, at night more."""
    count = int(os.environ.get("DLPARK_SPARSE_GIB", "1")) << 28
    text = json.dumps({"x": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}).encode()
    path = tmp_path / "sparse"
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    os.truncate(path, 8 + len(text) + 4 * count)
    return path


def test_convert_takes_little_memory(command, sparse, tmp_path):  # noqa: F811
    """Peak memory, that of mapped files included, stays far below the file."""
    # Of a process that a large one starts, the system counts the large one's memory: a small one starts it.
    program = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    convert = [command, "convert", sparse, tmp_path / "half", "-d", "f16"]
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([sys.executable, "-S", "-c", program, *convert], capture_output=True, text=True, check=True, env=env)
    assert int(done.stdout) <= 256 * 1024  # in KiB
    assert (tmp_path / "half").stat().st_size > sparse.stat().st_size // 2 - 1000
    (tmp_path / "half").unlink()


def test_an_interrupted_convert_leaves_no_half_file(command, sparse, tmp_path):  # noqa: F811
    (tmp_path / "half").write_bytes(b"before")
    process = subprocess.Popen([command, "convert", sparse, tmp_path / "half", "-d", "f16"], stderr=subprocess.PIPE, text=True, env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
    while process.poll() is None and not any(path.name.startswith(".dlpark-") for path in tmp_path.iterdir()):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in said
    assert (tmp_path / "half").read_bytes() == b"before" and sorted(path.name for path in tmp_path.iterdir()) == ["half", "sparse"]


def test_long_work_shows_its_progress_on_a_terminal(command, sparse, tmp_path):  # noqa: F811
    said = on_a_terminal(command, "convert", sparse, tmp_path / "bf", "-d", "bf16", columns=100, env={"TERM": "xterm"})
    assert said == "" or ("%" in said and "left" in said and "GiB" in said)


# ---- What a hostile file, or a hasty shell, does ----


def test_a_histogram_between_the_ends_of_all_doubles(run, tmp_path):  # noqa: F811
    dlpark.save(tmp_path / "x", {"x": np.array([-1.7e308, 0, 1.7e308, np.nan, np.inf])})
    (stats,) = json.loads(run("stats", "-g", "--json", "x").stdout)["tensors"]
    assert (stats["histogram"][0], stats["histogram"][8], stats["histogram"][15]) == (1, 1, 1) and sum(stats["histogram"]) == 3
    shown = run("stats", "-g", "x")
    assert shown.returncode == 0 and "nan" not in shown.stdout.split("numbers")[1].replace("NaN", "")


@pytest.mark.parametrize("dtype, a, b, largest", [(np.int64, 2**53, 2**53 + 1, 1), (np.uint64, 2**64 - 1, 2**64 - 2, 1), (np.int64, -(2**63), 2**63 - 1, 2**64 - 1)])
def test_integers_of_64_bits_are_told_apart(run, tmp_path, dtype, a, b, largest):  # noqa: F811
    dlpark.save(tmp_path / "a", {"x": np.array([7, a], dtype)})
    dlpark.save(tmp_path / "b", {"x": np.array([7, b], dtype)})
    done = run("diff", "--json", "a", "b")
    (difference,) = json.loads(done.stdout)["differences"]
    assert done.returncode == 1 and (difference["count"], difference["largest"], difference["at"]) == (1, largest, 1)
    assert f"by at most {largest} at [1]\n0 tensors are the same, 1 differs\n" in run("diff", "a", "b").stdout
    assert run("diff", "a", "a").returncode == 0
    (stats,) = json.loads(run("stats", "--json", "a").stdout)["tensors"]
    assert (stats["min"], stats["max"]) == (min(7, a), max(7, a))
    assert f"  min {min(7, a)}  max {max(7, a)}  mean " in run("stats", "-g", "a").stdout


def test_a_tensor_that_differs_twice_is_one(run, tmp_path):  # noqa: F811
    dlpark.save(tmp_path / "a", {"x": np.array([1, 2], np.int32), "y": np.ones(1)})
    dlpark.save(tmp_path / "b", {"x": np.array([1, 3], np.int64), "y": np.ones(1)})
    assert run("diff", "a", "b").stdout.splitlines() == [
        "x: dtype int32 and int64",
        "x: 1 number differs, by at most 1 at [1]",
        "1 tensor is the same, 1 differs",
    ]


def test_no_elements_are_an_empty_list_however_many_lists_that_would_be(run, tmp_path):  # noqa: F811
    text = json.dumps({"x": {"dtype": "U8", "shape": [1 << 60, 0], "data_offsets": [0, 0]}}).encode()
    (tmp_path / "x").write_bytes(len(text).to_bytes(8, "little") + text)
    assert json.loads(run("show", "--json", "x", timeout=20).stdout)["tensors"][0]["values"] == []


def test_names_that_look_the_same_are_each_shown(run, tmp_path):  # noqa: F811
    dlpark.save(tmp_path / "x", {"\x1b": np.array([1]), "\\x1B": np.array([2])})
    shown = run("show", "x").stdout
    assert "[1]" in shown and "[2]" in shown


def test_a_tensor_of_too_many_dimensions_is_not_compared(run, tmp_path):  # noqa: F811
    text = json.dumps({"x": {"dtype": "U8", "shape": [1] * 65, "data_offsets": [0, 1]}}).encode()
    (tmp_path / "x").write_bytes(len(text).to_bytes(8, "little") + text + b"x")
    done = run("diff", "x", "x")
    assert done.returncode == 1 and "x: has more than 64 dimensions, and is not compared" in done.stdout
    assert run("convert", "x", "y").returncode == 1 and run("show", "x").returncode == 1 and run("info", "x").returncode == 0


def test_a_long_name_does_not_widen_every_row(run, tmp_path):  # noqa: F811
    tensors = {"n" * 100_000: np.zeros(1)} | {f"t{i}": np.zeros(1) for i in range(1000)}
    dlpark.save(tmp_path / "x", tensors)
    shown = run("info", "x").stdout
    assert "n" * 100_000 in shown and len(shown) < 500_000


def test_what_the_shell_ignores_stays_ignored(command, sparse, tmp_path):  # noqa: F811
    """As under nohup: SIGHUP does not end the work."""
    process = subprocess.Popen(
        [command, "stats", sparse], stdout=subprocess.PIPE, env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    time.sleep(0.2)
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0 and b"268435456 numbers" in out


def test_a_limit_on_file_sizes_leaves_no_half_file(command, model, tmp_path):  # noqa: F811
    import resource

    done = subprocess.run(
        [command, "convert", model, tmp_path / "out"], stderr=subprocess.PIPE, text=True, check=False, env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
    )
    assert done.returncode == 3 and "too large" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
