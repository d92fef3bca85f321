"""mpi4py takes and fills tensors as they are: real processes, which talk by the loopback device."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.partner("mpi4py")

RANKS = pathlib.Path(__file__).with_name("mpi_ranks.py")
SECONDS = 60
# Nothing but the loopback, also where processes of one machine would share memory; more of them than processors. By sockets
# alone Open MPI 4 has windows where it is asked to, in processes that use MPI in one thread.
LOOPBACK = "--mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo --mca osc pt2pt"
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "MPI4PY_RC_THREADS": "false"}


@pytest.fixture(scope="module")
def mpiexec():
    path = shutil.which("mpiexec")
    reason = "partner mpiexec is not installed (Debian's openmpi-bin; PARTNERS=all installs it)"
    if path is None and os.environ.get("DLPARK_PARTNERS") != "all":
        pytest.skip(reason)
    if path is None:
        pytest.fail(reason, pytrace=False)
    return path


def run(mpiexec, count, *program):
    """Runs a program of Python in so many processes, as root too: that, as all of ENVIRONMENT, is said to them alone."""
    env = {**os.environ, **ENVIRONMENT}
    launch = [mpiexec, "--oversubscribe", "--bind-to", "none", *LOOPBACK.split(), "-n", str(count)]
    command = [*launch, sys.executable, "-W", "error", "-m", "mpi4py", *program]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS)


@pytest.mark.parametrize(
    "name",
    [
        "numbers",
        "collectives",
        "without_a_format",
        "reduced_as_bytes",
        "half",
        "packed",
        "read_only",
        "strided",
        "odd_shapes",
        "pending",
        "window",
        "pickled",
        "memory_of_a_device",
    ],
)
def test_ranks(mpiexec, name):
    done = run(mpiexec, 4, str(RANKS), name)
    assert (done.returncode, done.stdout) == (0, f"{name} by 4 processes of Open MPI\n"), done.stdout + done.stderr


def test_one_that_fails_ends_all(mpiexec):
    """Or the tests above might wait for ever, or pass."""
    done = run(mpiexec, 2, "-c", "from mpi4py import MPI\nassert MPI.COMM_WORLD.rank == 0\nMPI.COMM_WORLD.Recv(bytearray(1))")
    assert done.returncode != 0 and "AssertionError" in done.stderr
