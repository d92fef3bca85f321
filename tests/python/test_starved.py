"""Memory that fails anywhere in the process, at every allocation of every way through the kit: see starved.py."""

import os
import pathlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("group, least", [("imports", 5000), ("calls", 5000), ("exports", 1000), ("tensors", 1000), ("make", 50)])
def test_every_allocation_fails(group, least):
    here = pathlib.Path(__file__).parent
    library = pathlib.Path(os.environ["DLPARK_PROBE"]) / "failing_malloc.so"
    env = {
        **os.environ,
        "LD_PRELOAD": " ".join(filter(None, [str(library), os.environ.get("LD_PRELOAD")])),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0",
    }
    command = [sys.executable, here / "starved.py", group]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    failed = [int(line.split()[0]) for line in done.stdout.splitlines()]
    assert sum(failed) >= least  # or little has been tried
