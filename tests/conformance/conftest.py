"""Partners are as in tests/python: with DLPARK_PARTNERS=all a missing one is a failure, else a skip that is reported."""

import importlib.util
import os

import pytest


def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def pytest_collection_modifyitems(items):
    for item in items:
        for mark in item.iter_markers("partner"):
            if os.environ.get("DLPARK_PARTNERS") != "all" and not is_there(mark.args[0]):
                reason = f"partner {mark.args[0]} is not installed (PARTNERS=all installs it)"
                item.add_marker(pytest.mark.skip(reason=reason))
