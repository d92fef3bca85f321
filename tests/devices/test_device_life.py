"""Failures, threads, forks, ends: nothing leaks, nothing hangs, and the messages say why."""

import ctypes
import os
import subprocess
import sys
import threading

import dlpark
import numpy as np
import pytest
from conftest import LIBRARY, NEWEST_FIRST

OUT_OF_MEMORY, LOST = 2, 700


def run(program, **environment):
    """A Python of its own; what it printed."""
    env = {name: value for name, value in os.environ.items() if name not in ("DLPARK_CUDA_LIBRARY", "FAKECUDA")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**env, **environment}, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# ---- Each call of the driver fails in turn ----


def round_trip(numbers):
    there = dlpark.from_dlpack(numbers).to("cuda:0")
    other = there[:, ::2].to("cuda:1")
    there.__dlpack__(stream=2, max_version=(1, 3))
    managed = dlpark.empty(3, device="cuda_managed")
    return other.to("cpu").tolist(), managed.to("cpu").shape, dlpark.from_dlpack(there, device="cpu").tolist()


@pytest.mark.parametrize("error", [OUT_OF_MEMORY, LOST])
def test_every_call_fails_in_turn(driver, numbers, error):
    expected = (numbers[:, ::2].tolist(), (3,), numbers.tolist())
    assert round_trip(numbers) == expected
    failures = 0
    for nth in range(1, 500):
        driver.fail(nth, error)
        try:
            assert round_trip(numbers) == expected  # a failure at the end of memory is nobody's
        except (RuntimeError, MemoryError, BufferError, ValueError) as raised:
            failures += 1
            assert str(raised)
        if not driver.failed():
            break
        driver.fail(0, 0)
    assert 10 < failures <= nth < 499
    driver.fail(0, 0)


def test_the_drivers_reason_is_told(driver):
    driver.fail(1, LOST, "cuMemAlloc_v2")
    with pytest.raises(RuntimeError, match="cuMemAlloc.*700"):
        dlpark.empty(3, device="cuda:0")
    driver.fail(1, OUT_OF_MEMORY, "cuMemAlloc_v2")
    with pytest.raises(MemoryError, match="cuMemAlloc"):
        dlpark.empty(3, device="cuda:0")


def test_a_failing_order_is_a_buffer_error(driver):
    given = dlpark.empty(3, device="cuda:0")
    driver.fail(1, LOST, "cuEventRecord")
    with pytest.raises(BufferError, match=r"stream=2 for a tensor on cuda:0: the data cannot be made ready there: cuEventRecord"):
        given.__dlpack__(stream=2)


# ---- Without a driver ----

NONE = """
import dlpark, numpy as np
t = dlpark.from_dlpack(np.zeros(3))
for use in (lambda: dlpark.empty(3, device="cuda:0"), lambda: t.to("cuda:0"), lambda: dlpark.from_dlpack(np.zeros(3), device="cuda:0"),
            lambda: t.__dlpack__(dl_device=(2, 0))):
    try:
        use()
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"DLPARK_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}, "/nowhere/libcuda.so.1: cannot open"),
        ({"DLPARK_CUDA_LIBRARY": str(LIBRARY), "FAKECUDA": "stub"}, "stub"),
        ({"DLPARK_CUDA_LIBRARY": str(LIBRARY), "FAKECUDA": "no-device"}, "no device"),
        ({"DLPARK_CUDA_LIBRARY": str(LIBRARY), "FAKECUDA": "old"}, "version 10020 of CUDA"),
    ],
    ids=["none", "stub", "no device", "old"],
)
def test_why_there_is_no_driver(environment, reason):
    lines = run(NONE, **environment).splitlines()
    assert len(lines) == 4 and all(reason in line for line in lines), lines
    kinds = [line.split()[0] for line in lines]
    assert kinds[0] == kinds[1] and kinds[0] in ("RuntimeError", "ValueError") and kinds[2:] == ["BufferError"] * 2


def test_importing_opens_no_driver():
    assert run("import dlpark, sys; dlpark.empty(3).to('cpu'); print(any('libcuda' in line for line in open('/proc/self/maps')))", DLPARK_CUDA_LIBRARY=str(LIBRARY)) == "False\n"


# ---- Ends ----

START = "import dlpark, numpy as np, os, sys, threading, ctypes\nt = dlpark.from_dlpack(np.arange(6.0)).to('cuda:0')\nassert t.to('cpu').tolist() == [0, 1, 2, 3, 4, 5]\n"


@pytest.mark.parametrize(
    "end",
    [
        "",
        "sys.modules['kept'] = t; del t",
        "dlpark.kept = t; import atexit; atexit.register(lambda: dlpark.kept)",
        "threading.Thread(target=lambda: threading.Event().wait(), daemon=True).start()",
        "np.kept = t.__dlpack__()",
        "ctypes.CDLL(os.environ['DLPARK_CUDA_LIBRARY']).fake_mode(4); del t",
    ],
    ids=["alive", "in sys.modules", "at exit", "daemon thread", "in a capsule", "the driver has ended"],
)
def test_a_process_ends_with_live_tensors(end):
    assert run(START + end, DLPARK_CUDA_LIBRARY=str(LIBRARY)) == ""


def test_a_forked_child_leaves_the_memory_to_its_parent():
    program = START + (
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        t.to('cpu')\n"
        "    except RuntimeError as error:\n"
        "        print(error, flush=True)\n"
        "    del t\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0 and t.to('cpu').tolist() == [0, 1, 2, 3, 4, 5]\n"
        "fake = ctypes.CDLL(os.environ['DLPARK_CUDA_LIBRARY'])\n"
        "del t\n"
        "print(fake.fake_faults(), fake.fake_live_all())"
    )
    first, last = run(program, DLPARK_CUDA_LIBRARY=str(LIBRARY)).splitlines()
    assert "fork" in first and last == "0 0"


# ---- Threads ----


def test_the_end_of_memory_lets_other_threads_run(driver):
    """It waits for the device; a kernel of another thread's program needs the interpreter meanwhile."""
    given = dlpark.empty(12, "int32", device="cuda:0")
    stream, ran = driver.stream(), []
    driver.schedule(NEWEST_FIRST)
    driver.launch(stream, lambda: ran.append(threading.current_thread() is threading.main_thread()))
    del given  # the callback enters Python on the thread that waits, which holds no lock
    assert ran == [True]


def test_eight_threads(driver, numbers):
    failed = []

    def work(number):
        try:
            stream = driver.stream(number % 2)
            device = f"cuda:{number % 2}"
            for _ in range(200):
                with dlpark.stream(stream, device):
                    there = dlpark.from_dlpack(numbers).to(device)
                    taken = dlpark.from_dlpack(there, stream=stream)
                    assert taken[1].to("cpu").tolist() == numbers[1].tolist()
                    capsule = taken.__dlpack__(stream=2)
                    del there, taken, capsule
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    driver.schedule(NEWEST_FIRST)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_tensor_may_end_on_a_thread_that_python_does_not_know(driver, numbers):
    """By a consumer's deleter."""
    there = dlpark.from_dlpack(numbers).to("cuda:0")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = there.__dlpack__(max_version=(1, 3))
    managed = pointer(capsule, b"dltensor_versioned")
    name = ctypes.create_string_buffer(b"used_dltensor_versioned")
    assert rename(capsule, name) == 0
    del there
    deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.cast(managed, ctypes.POINTER(ctypes.c_void_p))[2])
    thread = threading.Thread(target=lambda: deleter(managed))
    thread.start()
    thread.join()
    del capsule
    assert driver.calls("cuMemFree_v2") == 1


def test_memory_of_the_host_needs_no_driver():
    assert np.from_dlpack(dlpark.empty((2, 2), "uint8")).shape == (2, 2)
