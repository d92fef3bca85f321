"""A disk that becomes full while a file is written: the error says so, and what was there stays as it was.

The disk is a tmpfs of 256 KiB in a name space of its own, which ends with the process that made it."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

NBYTES = 256 << 10

MOUNT = 'mount -t tmpfs -o size="$0" none "$1" && cd "$1" && shift && exec "$@"'

PRELUDE = """
    import errno, os, pathlib, subprocess, sys
    import numpy as np
    import dlpark

    def fills(call):
        '''The OSError with which a call ends that fills the disk.'''
        before = {path: path.read_bytes() for path in pathlib.Path().rglob("*") if path.is_file()}
        free = os.statvfs(".").f_bfree
        try:
            call()
        except OSError as error:
            assert {path: path.read_bytes() for path in pathlib.Path().rglob("*") if path.is_file()} == before
            assert os.statvfs(".").f_bfree == free  # nor is there anything without a name
            return error
        raise AssertionError("the disk is not full")

    small, large = np.zeros(1 << 14, np.int8), np.ones(1 << 20, np.float32).reshape(1024, -1)
"""


def is_allowed(folder):
    return shutil.which("unshare") is not None and subprocess.run([*inside(folder), "true"], capture_output=True).returncode == 0


def inside(folder):
    """What starts a program with such a disk as its folder."""
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--mount", "sh", "-c", MOUNT, str(NBYTES), str(folder)]


@pytest.fixture
def disk(tmp_path):
    if not is_allowed(tmp_path):
        pytest.skip("mounting is not allowed here")
    return inside(tmp_path)


def run(disk, script):
    script = textwrap.dedent(PRELUDE) + textwrap.dedent(script)
    done = subprocess.run([*disk, sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name, options", [("a.safetensors", {}), ("a.npy", {}), ("a.npz", {}), ("a.gguf", {}), ("a.npz", {"compress": True})])
def test_saving(disk, name, options):
    run(
        disk,
        f"""
    import functools
    name = {name!r}
    dlpark.save = functools.partial(dlpark.save, **{options!r})
    dlpark.save(name, dict(a=small))  # there is room for this
    assert dlpark.load(name)
    for array in large, large[:, ::2], large[::-1]:
        error = fills(lambda: dlpark.save(name, dict(a=array)))
        assert error.filename == name and "No space left on device" in str(error), error
    fills(lambda: dlpark.save("new." + name, dict(a=large)))
    dlpark.save(name, dict(a=small[::2]))  # and still is
    """,
    )


def test_the_last_bytes(disk):
    """The disk is full at the first page, at each later one, and at none."""
    run(
        disk,
        """
    page, saved = os.sysconf("SC_PAGE_SIZE"), 0
    for pages in range(12):
        taken = (os.statvfs(".").f_bavail - pages) * page
        with open("taken", "wb") as file:
            file.write(bytes(taken))
        save = lambda: dlpark.save("a.safetensors", dict(a=small))
        if pages * page < small.nbytes + page:
            fills(save)
        else:
            save()
            saved += 1
            os.remove("a.safetensors")
        os.remove("taken")
    assert saved > 0
    """,
    )


def test_the_command(disk, tmp_path_factory):
    """Converting, splitting and merging: the message has the reason, and no file is half there."""
    dlpark, large = shutil.which("dlpark"), tmp_path_factory.mktemp("large") / "large.safetensors"
    assert dlpark is not None, "dlpark is not on the PATH"
    run(
        disk,
        f"""
    command, large_file = {dlpark!r}, {str(large)!r}
    dlpark.save(large_file, {{f"layer.{{i}}": large[i * 128 : (i + 1) * 128] for i in range(8)}})
    dlpark.save("out.safetensors", dict(a=small))

    def call(*arguments):
        done = subprocess.run([command, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(done.returncode, done.stderr)

    for arguments in (
        ["convert", large_file, "out.safetensors"],
        ["convert", large_file, "out.npz", "--dtype", "f16"],
        ["convert", large_file, "new.gguf"],
        ["split", large_file, ".", "--size", "1MB"],
    ):
        error = fills(lambda: call(*arguments))
        assert "No space left on device" in str(error), (arguments, error)
    """,
    )
