"""Tensor files as large as the format allows: a header of 100,000,000 bytes, a million tensors."""

import os
import shutil
import struct
import subprocess
import sys

import pytest

import dlpark

LIMIT = 100_000_000
COUNT = 1_000_000


def header(nbytes):
    """A million tensors of a byte, and blanks up to the length."""
    parts = [f'"model.layers.{i // 1000}.experts.{i % 1000}.w":{{"dtype":"U8","shape":[1],"data_offsets":[{i},{i + 1}]}}' for i in range(COUNT)]
    text = ("{" + ",".join(parts) + "}").encode()
    assert len(text) > 0.75 * LIMIT
    return text.ljust(nbytes)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "model.safetensors"
    path.write_bytes(struct.pack("<Q", LIMIT) + header(LIMIT) + (b"0123456789" * (COUNT // 10)))
    yield path
    path.unlink()


def test_a_million_tensors_are_opened_and_listed(large):
    with dlpark.open(large) as file:
        names = list(file)
        assert len(names) == len(file) == COUNT
        assert names[0] == "model.layers.0.experts.0.w" and names[-1] == "model.layers.999.experts.999.w"
        assert len(set(names)) == COUNT
        for i in (0, 1, 123456, COUNT - 1):
            assert file[names[i]].tolist() == [ord("0") + i % 10]
            assert file.info(names[i]).offset == 8 + LIMIT + i
        assert "model.layers.1000.experts.0.w" not in file


def test_the_index_takes_half_as_much_again_as_the_header(large):
    """Peak memory, as the system counts it, of a process that does nothing else."""
    program = """if True:
        import resource, sys
        import dlpark
        dlpark.open  # imports what opening needs
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        file = dlpark.open(sys.argv[1])
        print(len(file), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
    """
    # Of a process that a large one starts, the system counts the large one's memory: a small one starts it.
    starter = "import subprocess, sys; subprocess.run([sys.executable, '-c', *sys.argv[1:]], check=True)"
    done = subprocess.run([sys.executable, "-S", "-c", starter, program, large], capture_output=True, text=True, check=True)
    count, nbytes = map(int, done.stdout.split())
    assert count == COUNT
    most = 1.5 if "LD_PRELOAD" not in os.environ else 4  # a sanitizer keeps what was given back
    assert 0.9 * LIMIT < nbytes <= most * LIMIT


def test_the_command_lists_them(large):
    command = shutil.which("dlpark")
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([command, "info", large], capture_output=True, check=True, env=env)
    assert done.stdout.count(b"\n") == COUNT + 2
    assert done.stdout.rstrip().endswith(b"model.layers.999.experts.999.w  uint8  [1]           1 B")
    assert subprocess.run([command, "check", large], capture_output=True, check=True, env=env).stdout == os.fsencode(large) + b": ok\n"


def test_a_longer_header_is_refused(tmp_path):
    path = tmp_path / "longer"
    path.write_bytes(struct.pack("<Q", LIMIT + 1))
    os.truncate(path, 8 + LIMIT + 1)
    with pytest.raises(ValueError, match="the header has 100000001 bytes, more than 100000000"):
        dlpark.open(path)
