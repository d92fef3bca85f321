"""The sum of all reference counts stays flat, in a debug build of Python, which counts it: `run_tests.py python-debug`.

Without NumPy: an extension that was built for a release Python changes counts that the sum does not see.
"""

import functools
import gc
import operator
import pickle

import dlpark
import pytest
from steady import assert_steady

MEMORY = bytearray(24)
KEY = (slice(None, None, -1), None)
P, method, attribute = functools.partial, operator.methodcaller, operator.attrgetter


class Array:
    """Memory by an array interface."""

    __array_interface__ = {"version": 3, "shape": (2, 3), "typestr": "<f4", "strides": None, "data": MEMORY}


class Offer:
    """The two methods alone."""

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        return TENSOR.__dlpack__(**keywords)


TENSOR = dlpark.from_dlpack(Array())


def lender(probe):
    return type("Lender", (), {"__dlpack_c_exchange_api__": probe.lender_table()})()


def image(probe):
    made = probe.exchange_type("", None)
    probe.install_exchange(made, "tensor all")
    return probe.exchange_make(made, TENSOR)


SOURCES = {
    "own": lambda probe: TENSOR,
    "table": lambda probe: probe.device_tensor(1, 0, 2, 3),
    "table of owners": lender,
    "installed table": image,
    "__dlpack__": lambda probe: Offer(),
    "buffer": lambda probe: memoryview(MEMORY).cast("f", (2, 3)),
    "array_interface": lambda probe: Array(),
}


def refused(error, call, *args):
    try:
        call(*args)
    except error:
        return
    raise AssertionError("it was not refused")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "signature",
    [
        "f(a: f32[n,k], b?: f32)",
        "f(a: f32[n,k] c cpu) -> f32[n] as=dlpark, same(a)[k] as=memoryview",
        "f(a: any convert f)",
        "f(a: f32[7])",
    ],
)
def test_calls(probe, source, signature):
    call, x = probe.function(signature, bare=True), SOURCES[source](probe)
    assert_steady(P(refused, TypeError, call, x) if "7" in signature else P(call, x), 100, [x])


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "table"])
@pytest.mark.parametrize("keywords", [{}, {"copy": True}, {"device": "cpu"}], ids=["plain", "copy", "device"])
def test_imports(probe, source, keywords):
    x = SOURCES[source](probe)
    assert_steady(P(dlpark.from_dlpack, x, **keywords), 100, [x])
    assert_steady(P(probe.request, x), 100, [x])


@pytest.mark.parametrize("version", [None, (1, 3)])
def test_capsules(probe, version):
    def once():
        capsule = TENSOR.__dlpack__(max_version=version)
        dlpark.from_dlpack(capsule)
        refused(ValueError, dlpark.from_dlpack, capsule)

    assert_steady(once, 100, [TENSOR])


@pytest.mark.parametrize(
    "call",
    [
        method("__dlpack__", max_version=(1, 0), copy=True),
        P(refused, BufferError, method("__dlpack__", dl_device=(2, 0))),
        method("__dlpack_device__"),
        attribute("shape", "strides", "dtype", "device", "nbytes", "T", "mT", "__array_interface__"),
        operator.itemgetter(KEY),
        method("reshape", 3, -1),
        method("view", "uint8"),
        method("astype", "float32"),
        method("tolist"),
        method("item", 1, -1),
        memoryview,
        list,
        repr,
        dlpark.check,
        lambda tensor: pickle.loads(pickle.dumps(tensor, protocol=5)),
    ],
)
def test_tensors(call):
    assert_steady(lambda: call(TENSOR), 100, [TENSOR, KEY])


def test_types_that_are_given_the_table(probe):
    def once():
        image(probe)
        gc.collect()

    assert_steady(once, 20)
