"""References and memory are flat over a million calls of what programs call in their loops, and over some of the rest."""

import functools
import os

import dlpark
import numpy as np
import pytest
from steady import assert_steady

# Sanitizers make each call slow, and run fewer.
CALLS = int(os.environ.get("DLPARK_CALLS", 10**6))
SOME = CALLS // 20

ARRAY = np.arange(32, dtype=np.float32).reshape(4, 8)
TENSOR = dlpark.from_dlpack(ARRAY)


class Interface:
    """An array by its interface alone."""

    __array_interface__ = ARRAY.__array_interface__ | {"data": ARRAY}


def lender(probe):
    Lender = type("Lender", (), {"__dlpack_c_exchange_api__": probe.lender_table()})
    return Lender()


def device(probe):
    return probe.device_tensor(1, 0, 4, 8)


SOURCES = {
    "numpy": lambda probe: ARRAY,
    "own": lambda probe: TENSOR,
    "table": device,
    "table of owners": lender,
    "buffer": lambda probe: memoryview(ARRAY),
    "array_interface": lambda probe: Interface(),
}
SELDOM = {"buffer", "array_interface"}


def run(probe, function, *args, times=CALLS):
    watched = [function, *args, *map(type, args), ARRAY, TENSOR]
    assert_steady(lambda: probe.repeat(function, args, 300), 1, watched)
    assert_steady(lambda: probe.repeat(function, args, times), 1, watched, rounds=2)


@pytest.mark.parametrize("source", SOURCES)
def test_calls(probe, source):
    x = SOURCES[source](probe)
    function = probe.function("f(a: f32[n,k] c cpu, b: f32[n,k], c?: f32)", bare=True)
    run(probe, function, x, x, x, times=SOME if source in SELDOM else CALLS)


@pytest.mark.parametrize("source", ["numpy", "own", "table of owners"])
def test_calls_that_write(probe, source):
    run(probe, probe.function("f(a: f32[n,k] c mut)", bare=True), SOURCES[source](probe), times=SOME)


@pytest.mark.parametrize("framework", ["dlpark", "numpy", "memoryview"])
def test_calls_with_results(probe, framework):
    run(probe, probe.function(f"f(a: f32[n,k]) -> f32[k] as={framework}, f64[] as={framework}", bare=True), TENSOR, times=SOME)


def test_calls_that_convert(probe):
    x = np.zeros((8, 4), np.float32).T
    run(probe, probe.function("f(a: f32[n,k] c convert)", bare=True), x, times=SOME)


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "table"])
def test_imports(probe, source):
    run(probe, dlpark.from_dlpack, SOURCES[source](probe), times=SOME if source in SELDOM else CALLS)


@pytest.mark.parametrize("keywords", [{"via": "dlpack"}, {"copy": True}, {"device": "cpu"}], ids=["dlpack", "copy", "device"])
def test_imports_with_keywords(probe, keywords):
    run(probe, functools.partial(dlpark.from_dlpack, **keywords), ARRAY, times=SOME)


@pytest.mark.parametrize(
    "keywords", [{}, {"max_version": (1, 3)}, {"max_version": (1, 0), "copy": True}], ids=["legacy", "versioned", "copy"]
)
def test_exports(probe, keywords):
    run(probe, functools.partial(TENSOR.__dlpack__, **keywords), times=SOME if "copy" in keywords else CALLS)


@pytest.mark.parametrize("call", [np.from_dlpack, memoryview, dlpark.Tensor.__dlpack_device__, dlpark.Tensor.numpy])
def test_consumers(probe, call):
    run(probe, call, TENSOR, times=SOME)


def test_requests(probe):
    run(probe, functools.partial(probe.request, copy=0), ARRAY, times=SOME)
