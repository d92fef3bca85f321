"""Sharded checkpoints: their index opened as one file, and the verbs split and merge."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import safetensors.numpy as reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensor_files import safetensors

import dlpark

INDEX = "model.safetensors.index.json"


def checkpoint(folder, shards, metadata=None, weight_map=None):
    """An index and its shards, {name: {tensor: array}}; the path of the index."""
    for name, tensors in shards.items():
        reference.save_file(tensors, folder / name, metadata={"format": "np"})
    if weight_map is None:
        weight_map = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    path = folder / INDEX
    path.write_text(json.dumps({"metadata": {} if metadata is None else metadata, "weight_map": weight_map}))
    return path


@pytest.fixture
def shards():
    return {
        "model-00001-of-00002.safetensors": {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(7, np.int8)},
        "model-00002-of-00002.safetensors": {"é": np.arange(4, dtype=np.uint16), "": np.zeros((0, 3))},
    }


@pytest.fixture
def model(tmp_path, shards):
    return checkpoint(tmp_path, shards, {"total_size": 33, "by": "hand", "list": [1]})


@pytest.fixture(scope="session")
def command():
    found = shutil.which("dlpark")
    assert found is not None, "dlpark is not on the PATH"
    return found


@pytest.fixture
def run(command, tmp_path):
    def run(*arguments):
        # A sanitizer that was preloaded for Python is in the program already.
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        words = [command, *map(os.fspath, arguments)]
        return subprocess.run(words, env=env, check=False, capture_output=True, text=True, timeout=120, cwd=tmp_path)

    return run


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.startswith(".dlpark-")]


# ---- Reading ----


@pytest.mark.parametrize("copy", [False, True])
def test_an_index_is_one_file(model, shards, copy):
    with dlpark.open(model, copy=copy) as file:
        assert file.format == "safetensors-index"
        assert len(file) == 4
        assert list(file) == ["a", "b", "", "é"]  # by shard, and there by the bytes
        assert file.metadata == {"total_size": "33", "by": "hand"}
        assert file.nbytes == sum(entry.stat().st_size for entry in os.scandir(model.parent))
        for shard, tensors in shards.items():
            for name, array in tensors.items():
                assert file.info(name).shard == shard
                assert np.array_equal(np.from_dlpack(file[name]), array)
        kept = file["é"]
    assert np.from_dlpack(kept).tolist() == [0, 1, 2, 3]
    assert {name: tensor.shape for name, tensor in dlpark.load(model).items()} == {"a": (2, 3), "b": (), "é": (4,), "": (0, 3)}


def test_other_files_have_no_shards(model):
    with dlpark.open(model.parent / "model-00001-of-00002.safetensors") as file:
        assert file.info("a").shard is None
        assert file.format == "safetensors"


def test_the_format_may_be_asked_for(model):
    assert len(dlpark.open(model, format="safetensors-index")) == 4
    with pytest.raises(ValueError, match="is safetensors-index, and was to be safetensors"):
        dlpark.open(model, format="safetensors")
    with pytest.raises(ValueError, match="an index file holds no tensors"):
        dlpark.save(model.parent / "x", {"a": np.zeros(2)}, format="safetensors-index")
    with pytest.raises(ValueError, match="an index file holds no tensors"):
        dlpark.save(model.parent / "x.safetensors.index.json", {"a": np.zeros(2)})


def test_an_index_needs_its_folder(model):
    with pytest.raises(ValueError, match="is the index of 2 shards, which lie beside it"):
        dlpark.open(model.read_bytes())


def test_stale_indexes_are_told_apart(model, shards):
    names = list(shards)
    weight_map = {"a": names[0], "b": names[0], "é": names[1], "": names[1]}
    checkpoint(model.parent, shards, weight_map=weight_map | {"z": names[1]})
    with pytest.raises(ValueError, match=f"tensor 'z': is not in the shard '{names[1]}', where the index says, nor in another"):
        dlpark.open(model)
    checkpoint(model.parent, shards, weight_map=weight_map | {"a": names[1]})
    with pytest.raises(ValueError, match=f"tensor 'a': is in the shard '{names[0]}', and the index says in '{names[1]}'"):
        dlpark.open(model)
    checkpoint(model.parent, shards)
    (model.parent / names[1]).unlink()
    with pytest.raises(FileNotFoundError, match=f"there is no shard '{names[1]}' beside the index"):
        dlpark.open(model)


def test_links_are_followed_when_asked_for(tmp_path, shards):
    """As a cache of Hugging Face has it: all are links into another folder."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "1"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    checkpoint(blobs, shards)
    for number, name in enumerate([INDEX, *shards]):
        (blobs / name).rename(blobs / str(number))
        (snapshot / name).symlink_to(f"../../blobs/{number}")
    with pytest.raises(PermissionError, match="is a link.*follow_links"):
        dlpark.open(snapshot / INDEX)
    assert len(dlpark.open(snapshot / INDEX, follow_links=True)) == 4
    assert len(dlpark.load(snapshot / INDEX, follow_links=True)) == 4
    with pytest.raises(TypeError, match="follow_links must be True or False"):
        dlpark.open(snapshot / INDEX, follow_links=1)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\0b", "x" * 256])
def test_shards_have_plain_names(model, shards, name):
    checkpoint(model.parent, shards, weight_map={"a": name})
    with pytest.raises(ValueError, match="the name of its shard is to be that of a file beside the index"):
        dlpark.open(model)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), st.integers(0, 5), max_size=30), st.randoms())
def test_any_weight_map(tmp_path_factory, numbers, order):
    """Whatever the order of an index and the names in it: each tensor is found, and in its shard."""
    folder = tmp_path_factory.mktemp("any")
    shards = {}
    for name, number in numbers.items():
        if name != "__metadata__":
            shards.setdefault(f"s{number}", {})[name] = np.array(number, np.uint8)
    pairs = [(name, shard) for shard, tensors in shards.items() for name in tensors]
    order.shuffle(pairs)
    path = checkpoint(folder, shards, weight_map=dict(pairs))
    with dlpark.open(path) as file:
        assert sorted(file) == sorted(name for name, _ in pairs)
        for name, shard in pairs:
            assert file.info(name).shard == shard
            assert int(file[name]) == numbers[name]
        assert [file.info(name).shard for name in file] == sorted(shard for _, shard in pairs)
    shutil.rmtree(folder)


# ---- Split and merge ----


def deal(sizes, most):
    """Shards of names, as huggingface_hub 2.4 deals {name: bytes} out."""
    shards, current, used = [], [], 0
    for name, size in sizes.items():
        if size > most:
            shards.append([name])
            continue
        if used + size > most:
            shards.append(current)
            current, used = [], 0
        current.append(name)
        used += size
    return shards + [current] if current else shards


def many(seed, count=60):
    chosen = random.Random(seed)
    dtypes = [np.float64, np.float32, np.uint8, np.int16, np.bool_]
    tensors = {}
    for i in range(count):
        dtype = chosen.choice(dtypes)
        size = chosen.choice([0, 1, 7, 300, 5000])
        tensors[f"layers.{i}.{'wé' if i % 7 == 0 else 'w'}"] = np.frombuffer(chosen.randbytes(size), np.uint8).astype(dtype)
    return tensors


@pytest.mark.parametrize("seed", range(6))
def test_split_and_merge_are_the_references(run, tmp_path, seed):
    tensors, metadata = many(seed), {"format": "pt"}
    most = [1, 1000, 5000, 12345, 40000, 10**9][seed]
    whole = tmp_path / "whole.safetensors"
    reference.save_file(tensors, whole, metadata=metadata)
    folder = tmp_path / "out"
    folder.mkdir()
    assert run("split", whole, folder, "--size", str(most)).returncode == 0
    with dlpark.open(whole) as file:
        sizes = {name: file.info(name).nbytes for name in file}
    names = deal(sizes, most)
    weight_map = {}
    for number, shard in enumerate(names, 1):
        name = f"model-{number:05d}-of-{len(names):05d}.safetensors"
        reference.save_file({tensor: tensors[tensor] for tensor in shard}, tmp_path / "shard", metadata=metadata)
        assert (folder / name).read_bytes() == (tmp_path / "shard").read_bytes()
        weight_map |= dict.fromkeys(shard, name)
    index = {"metadata": {"total_size": sum(sizes.values())}, "weight_map": weight_map}
    assert (folder / INDEX).read_text() == json.dumps(index, indent=2, sort_keys=True) + "\n"
    assert len(os.listdir(folder)) == len(names) + 1
    assert run("check", folder / INDEX).stdout == f"{folder / INDEX}: ok\n"
    for number, sources in enumerate([[folder / INDEX], sorted(folder.glob("*.safetensors"))]):
        merged = tmp_path / f"{number}.safetensors"
        assert run("merge", *sources, merged).returncode == 0
        assert merged.read_bytes() == whole.read_bytes()
    assert run("convert", folder / INDEX, tmp_path / "converted").returncode == 0
    assert (tmp_path / "converted").read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("count", [1, 2, 3, 7, 59, 60, 99999])
def test_split_by_count(run, tmp_path, count):
    whole = tmp_path / "whole.safetensors"
    reference.save_file(many(1), whole)
    done = run("split", whole, tmp_path / "few", "--count", str(count))
    assert done.returncode == 0
    written = len(list(tmp_path.glob("few-*")))
    assert done.stdout == f"{tmp_path / 'few'}.safetensors.index.json: {written} shard{'' if written == 1 else 's'}\n"
    assert 0 < written <= count
    sizes = [sum(t.nbytes for t in reference.load_file(path).values()) for path in tmp_path.glob("few-*")]
    assert written < 7 or count > 7 or max(sizes) < 3 * sum(sizes) / written
    assert run("diff", whole, str(tmp_path / "few") + ".safetensors.index.json").returncode == 0


def test_an_index_is_split_anew(run, tmp_path, model, shards):
    assert run("split", model, tmp_path / "one.safetensors", "--count", "1").returncode == 0
    with dlpark.open(tmp_path / "one.safetensors.index.json") as file:
        assert {file.info(name).shard for name in file} == {"one-00001-of-00001.safetensors"}
    with dlpark.open(tmp_path / "one-00001-of-00001.safetensors") as file:
        assert file.metadata == {"format": "np"}
    # In the place of the shards that it reads.
    assert run("split", model, model.parent, "--count", "2").returncode == 0
    assert sorted(dlpark.load(model)) == ["", "a", "b", "é"]


def test_a_file_without_tensors_is_one_shard(run, tmp_path):
    (tmp_path / "none.safetensors").write_bytes(safetensors({}, {"a": "b"}))
    assert run("split", "none.safetensors", "x").returncode == 0
    assert len(dlpark.open(tmp_path / "x.safetensors.index.json")) == 0
    assert dlpark.open(tmp_path / "x-00001-of-00001.safetensors").metadata == {"a": "b"}


def test_metadata_of_merged_files(run, tmp_path):
    for name, metadata in {"1": {"x": "1", "y": "2"}, "2": {"y": "2", "z": "3"}, "3": {"y": "other"}}.items():
        (tmp_path / name).write_bytes(safetensors({name: ("U8", (1,), b"x")}, metadata))
    assert run("merge", "1", "2", "out").returncode == 0
    assert dlpark.open(tmp_path / "out").metadata == {"x": "1", "y": "2", "z": "3"}
    before = (tmp_path / "out").read_bytes()
    done = run("merge", "--force", "1", "2", "3", "out")
    assert done.returncode == 2
    assert "two of the files have another metadata 'y': '2' and 'other'; --keep-first takes the first" in done.stderr
    assert (tmp_path / "out").read_bytes() == before
    assert run("merge", "--keep-first", "-f", "3", "2", "1", "out").returncode == 0
    assert dlpark.open(tmp_path / "out").metadata == {"y": "other", "z": "3", "x": "1"}
    done = run("merge", "--force", "1", "1", "out")
    assert done.returncode == 2
    assert "two of the tensors are called '1'" in done.stderr
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("target, options", [("x.npz", []), ("x", ["--to", "npz"])])
def test_where_metadata_have_no_place(run, tmp_path, model, target, options):
    for verb in ("merge", "convert"):
        done = run(verb, model, target, *options)
        assert (done.returncode, (tmp_path / target).exists()) == (2, False)
        assert done.stderr.endswith("an npz file has no place for metadata, and 1 were given; --no-metadata leaves them out\n")
        assert run(verb, model, target, *options, "--no-metadata").returncode == 0
        assert "a" in np.load(tmp_path / target)
        (tmp_path / target).unlink()


def test_metadata_that_are_left_out_may_differ(run, tmp_path):
    for name in ("1", "2"):
        (tmp_path / name).write_bytes(safetensors({name: ("U8", (1,), b"x")}, {"key": name}))
    assert run("merge", "1", "2", "out").returncode == 2
    assert run("merge", "1", "2", "out", "--no-metadata").returncode == 0
    assert dlpark.open(tmp_path / "out").metadata == {}


def test_a_forgotten_target_costs_no_shard(run, tmp_path, model, shards):
    paths = [model.parent / name for name in shards]
    before = [path.read_bytes() for path in paths]
    done = run("merge", *paths)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"dlpark merge: {paths[-1]} exists, and would be TO, the last operand; --force replaces it\n"
    assert [path.read_bytes() for path in paths] == before and leftovers(tmp_path) == []
    (tmp_path / "link").symlink_to("nowhere")
    assert run("merge", *paths, "link").returncode == 2
    assert run("merge", "--force", *paths, "link").returncode == 0
    assert sorted(dlpark.load(tmp_path / "link")) == ["", "a", "b", "é"]


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["split", "in", "x", "--size", "5XB"], 2, "--size 5XB: expected bytes, or a number of KB"),
        (["split", "in", "x", "--size", "0"], 2, "--size 0"),
        (["split", "in", "x", "--size", "-1"], 2, "--size -1"),
        (["split", "in", "x", "--size", "99999999999999999999GB"], 2, "expected bytes"),
        (["split", "in", "x", "--count", "0"], 2, "--count 0: expected a number from 1 to 99999"),
        (["split", "in", "x", "--count", "2x"], 2, "--count 2x"),
        (["split", "in", "x", "--count", "2", "--size", "1"], 2, "expected one of them"),
        (["split", "in", "nowhere/"], 3, "No such file"),
        (["split", "nothing", "x"], 3, "nothing: No such file"),
        (["split", "in"], 2, "FROM FOLDER|PREFIX is missing"),
        (["merge", "in"], 2, "FROM... TO is missing"),
        (["merge", "in", "nothing", "out"], 3, "nothing: No such file"),
        (["merge", "in", "nowhere/out"], 3, "No such file"),
        (["merge", "in", "out", "--align", "3"], 2, "--align 3: expected a power of two"),
        (["merge", "in", "out", "--to", "safetensors-index"], 2, "an index file holds no tensors"),
        (["merge", "in", "out", "--format", "safetensors-index"], 1, "'{' of the index is expected here"),
    ],
)
def test_misuse_leaves_nothing(run, tmp_path, arguments, code, said):
    (tmp_path / "in").write_bytes(safetensors({"a": ("U8", (3,), b"abc")}))
    done = run(*arguments)
    assert said in done.stderr
    assert done.returncode == code
    assert os.listdir(tmp_path) == ["in"]


def test_sizes_have_units(run, tmp_path):
    (tmp_path / "in").write_bytes(safetensors({f"{i:04}": ("U8", (1000,), bytes(1000)) for i in range(40)}))
    for size, shards in {"1KB": 40, "2KB": 20, "1KiB": 40, "2KiB": 20, "10KB": 4, "10000": 4, "9999B": 5, "1MB": 1, "1TiB": 1}.items():
        assert f": {shards} shard" in run("split", "in", "x", "--size", size).stdout
    assert "1 shard\n" in run("split", "in", "x").stdout


# ---- The other verbs ----


def test_verbs_read_an_index(run, tmp_path, model):
    done = run("info", model)
    assert done.stdout.startswith(f"{model}: safetensors-index, 2 shards, 4 tensors, ")
    report = json.loads(run("info", "--json", model).stdout)["files"][0]
    assert (report["format"], report["shards"]) == ("safetensors-index", 2)
    assert {tensor["name"]: tensor["shard"] for tensor in report["tensors"]}["é"] == "model-00002-of-00002.safetensors"
    assert run("show", model, "a[1, :2]").stdout.splitlines()[1:] == ["[3. 4.]"]
    assert "b" in run("stats", model).stdout
    assert run("diff", model, model).returncode == 0
    assert run("convert", model, "half", "--dtype", "f16").returncode == 0
    assert np.from_dlpack(dlpark.load(tmp_path / "half")["a"]).dtype == np.float16


def test_check_names_the_shard(run, model, shards):
    name = list(shards)[1]
    (model.parent / name).write_bytes(b"short")
    done = run("check", model)
    assert done.returncode == 1
    assert done.stdout == (
        f"{model}: byte 0: in {name}: has 5 bytes; a safetensors file has at least 8, the length of its header [short]\n"
    )
    checkpoint(model.parent, shards, {"total_size": 34})
    faults = json.loads(run("check", "--json", model).stdout)["files"][0]["faults"]
    assert [fault["rule"] for fault in faults] == ["total-size"]


def test_links_on_the_command_line(run, model, shards):
    name = list(shards)[0]
    (model.parent / name).rename(model.parent / "blob")
    (model.parent / name).symlink_to("blob")
    done = run("info", model)
    assert done.returncode == 3
    assert "--follow-links" in done.stderr
    for words in (["info"], ["check"], ["show"], ["stats"]):
        assert run(*words, "--follow-links", model).returncode == 0
    assert run("diff", "--follow-links", model, model).returncode == 0
    assert run("merge", "--follow-links", model, "one").returncode == 0
    assert run("convert", "--follow-links", model, "two").returncode == 0
    assert run("split", "--follow-links", model, "three").returncode == 0


def test_each_shard_is_an_open_file(command, tmp_path):
    """The command raises the limit as far as it may, and else says what it is about."""
    path = checkpoint(tmp_path, {f"s{i:02}": {str(i): np.array(i, np.uint8)} for i in range(60)})

    def limited(limit):
        script = f'ulimit {limit} 40; exec "$0" check "$1"'
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        return subprocess.run(["sh", "-c", script, command, path], env=env, check=False, capture_output=True, text=True)

    assert limited("-S -n").stdout == f"{path}: ok\n"
    done = limited("-n")
    assert done.returncode == 3
    assert re.search(r"/s\d\d: Too many open files; it is shard \d\d of 60, and each is an open file \(ulimit -n\)", done.stderr)


# ---- Ends that nobody wished for ----


def large(path, seed, dtype=np.float32):
    """8 MB in 40 tensors."""
    chosen = np.random.default_rng(seed)
    reference.save_file({f"t{i}": chosen.random(50_000).astype(dtype) for i in range(40)}, path)


def start(command, arguments):
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.Popen([command, *map(os.fspath, arguments)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def spawn(command, arguments):
    """A process as a number, and how to wait for it."""
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    child = os.posix_spawn(command, [command, *map(os.fspath, arguments)], env, file_actions=quiet)
    return child, lambda: os.waitpid(child, 0)[1]


SAVER = """
import os, sys
import numpy as np
import dlpark

tensors = {name: np.from_dlpack(tensor) for name, tensor in dlpark.load(sys.argv[1], copy=True).items()}
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        dlpark.save(sys.argv[2], tensors)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Saver:
    """Begins a dlpark.save() when it is asked to. A process that has imported other libraries cannot fork one."""

    def __init__(self, source, target):
        words = [sys.executable, "-c", SAVER, os.fspath(source), os.fspath(target)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()), lambda: int(self.process.stdout.readline())

    def end(self):
        self.process.communicate()


class Killed:
    """Begins something again and again, each time ended at a random moment by SIGKILL."""

    def __init__(self, folder, begin):
        self.folder, self.begin = folder, begin
        self.chosen = random.Random(7)
        took = []
        for _ in range(3):
            began = time.monotonic()
            _, wait = begin()
            assert wait() == 0
            took.append(time.monotonic() - began)
        self.seconds = min(took)
        self.survived = 0

    def once(self):
        child, wait = self.begin()
        time.sleep(self.chosen.uniform(0, self.seconds * 1.2))
        # It may have ended before; and been waited for, by the process that saves.
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        self.survived += os.WIFEXITED(wait())
        for name in leftovers(self.folder):
            assert re.fullmatch(r"\.dlpark-[0-9a-f]{16}\.tmp", name)
            os.unlink(self.folder / name)


def test_a_killed_writer_leaves_the_old_file_or_the_new(command, tmp_path):
    """150 times: what was there, or what was to be, and never a part of it."""
    large(tmp_path / "in", 1)
    assert subprocess.run([command, "split", tmp_path / "in", tmp_path / "s", "--count", "4"], capture_output=True).returncode == 0
    index = tmp_path / "s.safetensors.index.json"
    out = tmp_path / "out"
    out.mkdir()
    target = out / "target"
    saver = Saver(tmp_path / "in", target)
    ways = [
        lambda: spawn(command, ["merge", "--force", index, target]),
        lambda: spawn(command, ["convert", tmp_path / "in", target, "--dtype", "f16"]),
        saver.begin,
    ]
    large(tmp_path / "other", 2)
    old = (tmp_path / "other").read_bytes()
    for way in ways:
        killed = Killed(out, way)
        new = target.read_bytes()
        seen = set()
        for _ in range(50):
            target.write_bytes(old)
            killed.once()
            content = target.read_bytes()
            assert content in (old, new)
            seen.add(content == new)
            assert os.listdir(out) == ["target"]
        assert seen == {False, True} and killed.survived < 50
    saver.end()


def test_split_begins_nothing_that_it_cannot_end(run, tmp_path, model):
    """An index that cannot be written is told before a shard has its name."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "m.safetensors.index.json").mkdir()
    done = run("split", model, tmp_path / "out" / "m", "--count", "2")
    assert done.returncode == 3 and "exists and is not a regular file" in done.stderr
    (tmp_path / "other").mkdir()
    done = run("split", model, os.fsencode(tmp_path / "other") + b"/m\xff", "--count", "2")
    assert done.returncode == 2
    assert os.listdir(tmp_path / "other") == [] and os.listdir(tmp_path / "out") == ["m.safetensors.index.json"]


def test_a_killed_split_leaves_whole_shards_and_no_early_index(command, tmp_path):
    """50 times: who sees the index sees all that it names."""
    large(tmp_path / "in", 1)
    out = tmp_path / "out"
    out.mkdir()
    killed = Killed(out, lambda: spawn(command, ["split", tmp_path / "in", out, "--count", "4"]))
    whole = {path.name: path.read_bytes() for path in out.iterdir()}
    assert len(whole) == 5
    seen = set()
    for _ in range(50):
        for path in out.iterdir():
            path.unlink()
        killed.once()
        found = {path.name: path.read_bytes() for path in out.iterdir()}
        assert all(whole[name] == content for name, content in found.items())
        assert INDEX not in found or len(found) == 5
        seen.add(len(found))
    assert {0, 5} <= seen and killed.survived < 50


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("verb", ["split", "merge"])
def test_an_interrupted_verb_cleans_up(command, tmp_path, number, verb):
    """Ten times at random moments: all of it, or nothing, and no temporary file."""
    large(tmp_path / "in", 1)
    out = tmp_path / "out"
    out.mkdir()
    words = [verb, tmp_path / "in", out / "x"]
    began = time.monotonic()
    assert start(command, words).wait() == 0
    seconds = time.monotonic() - began
    whole, chosen = len(os.listdir(out)), random.Random(number)
    for _ in range(10):
        for path in out.iterdir():
            path.unlink()
        process = start(command, words)
        time.sleep(chosen.uniform(0, seconds))
        process.send_signal(number)
        code = process.wait()
        assert code in (0, 128 + number, -number)  # the last: before it was watched for
        assert len(os.listdir(out)) == (whole if code == 0 else 0)
