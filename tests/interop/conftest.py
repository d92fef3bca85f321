"""Partners are as in tests/python: without DLPARK_PARTNERS=all a missing one is skipped aloud."""

import importlib.util
import os
import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent)]


def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def pytest_configure(config):
    config.addinivalue_line("markers", "partner(module): as in tests/python")


def pytest_collection_modifyitems(items):
    for item in items:
        for mark in item.iter_markers("partner"):
            if os.environ.get("DLPARK_PARTNERS") != "all" and not is_there(mark.args[0]):
                item.add_marker(pytest.mark.skip(reason=f"partner {mark.args[0]} is not here (PARTNERS=all brings it)"))
