"""Partners: another library is needed, and with DLPARK_PARTNERS=all it must be there."""

import gc
import importlib
import importlib.util
import os
import pathlib
import signal
import sys

import pytest


def probe_folder():
    """Where the extension kit_probe of tests/python/extension is: DLPARK_PROBE says, or it lies beside the package."""
    if "DLPARK_PROBE" in os.environ:
        return os.environ["DLPARK_PROBE"]
    package = importlib.util.find_spec("dlpark")
    return str(pathlib.Path(package.origin).parents[2] / "tests_python") if package is not None else ""


# In the environment as well, for tests that start a Python of their own.
os.environ["DLPARK_PROBE"] = probe_folder()
sys.path.append(os.environ["DLPARK_PROBE"])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), os.environ["DLPARK_PROBE"]]))

# Tests that make CPython's own allocation fail need its test module, which some distributions leave out.
collect_ignore = [] if importlib.util.find_spec("_testcapi") else ["test_memory.py", "test_path_memory.py", "test_producer_memory.py", "test_tensor_files_memory.py"]

# That one is for a debug build, which the stage python-debug has.
collect_ignore += [] if hasattr(sys, "gettotalrefcount") else ["test_total_refcount.py"]


def pytest_configure():
    """Behind `&` a shell has SIGINT ignored, which the command respects: tests of interruption want it as at a terminal."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header():
    return [f"not collected, as this Python has not what it needs: {name}" for name in collect_ignore]


def pytest_collection_modifyitems(items):
    missing = {}
    for item in items:
        for mark in item.iter_markers("partner"):
            name = mark.args[0]
            if name not in missing:
                missing[name] = why_missing(name)
            if missing[name] is not None and os.environ.get("DLPARK_PARTNERS") != "all":
                item.add_marker(pytest.mark.skip(reason=missing[name]))


def pytest_runtest_setup(item):
    for mark in item.iter_markers("partner"):
        reason = why_missing(mark.args[0])
        if reason is not None:
            pytest.fail(reason, pytrace=False)


def why_missing(name):
    """A partner that is there but does not import is a failure in any case: its error comes out of the test."""
    try:
        found = importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:  # the package that it would be in
        if error.name is None or not name.startswith(error.name + "."):
            raise
        found = False
    return None if found else f"partner {name} is not installed (PARTNERS=all installs it)"


@pytest.fixture(scope="module", autouse=True)
def quick_collections():
    """A gc.collect() of a test looks at what is made from here on: with all partners loaded it takes a second otherwise."""
    gc.freeze()
    yield
    gc.collect()  # of this module's own: types that nobody uses have places in tables of a fixed size
    gc.unfreeze()


@pytest.fixture(scope="session")
def codecs():
    """The image codecs must be there, unless the run says that this build has none."""
    from dlpark import _build_info

    if not _build_info.IMAGE and os.environ.get("DLPARK_IMAGE") == "off":
        pytest.skip("this build has no image codecs, and DLPARK_IMAGE=off says so")
    assert _build_info.IMAGE, f"no image codecs in this build: {_build_info.MISSING}"


@pytest.fixture(scope="session")
def probe():
    """The kit's functions, as an extension has them; the test fails where kit_probe was not built."""
    try:
        return importlib.import_module("kit_probe")
    except ImportError as error:
        pytest.fail(f"{error}; tests/python/extension/CMakeLists.txt says how it is built", pytrace=False)
