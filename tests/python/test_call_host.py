"""Arguments by a __dlpack__ in C: after the first tensor from host memory the device is not asked for first."""

import sys

import dlpark
import numpy as np
import pytest


class Subclass(np.ndarray):
    """Comes by NumPy's own __dlpack__, whose fields are not read of it."""


def made(shape=(2, 3), dtype=np.float32, cls=Subclass):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape).view(cls)


@pytest.fixture
def look(probe):
    return lambda signature, *args: probe.function(signature)(*args)[0]["args"]


@pytest.mark.parametrize("word", ["", "mut"])
def test_the_second_is_what_the_first_was(look, word):
    x = made()
    spec = f"f32[n,k] c cpu {word}"
    for told in look(f"f(a: {spec}, b: {spec}, c: {spec})", x, x, x):
        assert (told["address"], told["shape"], told["strides"]) == (x.ctypes.data, (2, 3), (3, 1))
        assert (told["lent"], told["owned"]) == (0, 1)


def test_nothing_is_kept_afterwards(look):
    x = made()
    before = sys.getrefcount(x)
    for word in ("", "mut"):
        for _ in range(100):
            look(f"f(a: f32[n,k] c cpu {word}, b: f32[2,3] c cpu {word})", x, x)
    assert sys.getrefcount(x) == before


def test_read_only_memory_is_read_and_never_written(look):
    x = made()
    look("f(a: f32[n,k] c cpu)", x)
    x.flags.writeable = False
    for _ in range(3):
        assert look("f(a: f32[n,k] c cpu)", x)[0]["flags"] & 1  # NumPy refuses a legacy capsule, and says why
        with pytest.raises(TypeError, match="read-only"):
            look("f(a: f32[n,k] c cpu mut)", x)


def test_what_does_not_fit_is_refused_as_before(look):
    x = made()
    look("f(a: f32[n,k] c cpu)", x)
    cases = {
        "f(a: f64[n,k] c cpu)": x,
        "f(a: f32[n] c cpu)": x,
        "f(a: f32[n,n] c cpu)": x,
        "f(a: f32[n,k] c cpu)": x.T,
        "f(a: f32[n,4] c cpu)": x,
    }
    for signature, argument in cases.items():
        with pytest.raises(TypeError, match=r"argument 'a': expected f"):
            look(signature, argument)
    assert look("f(a: f32[n,k] cpu)", x.T)[0]["strides"] == (1, 3)
    assert look("f(a: f32[n,k] cpu)", x[::-1])[0]["strides"] == (-3, 1)
    assert look("f(a: f32[n,k] cpu)", made((0, 3)))[0]["shape"] == (0, 3)


def test_a_method_of_python_is_asked_by_the_book(look):
    asked = []

    class Python(np.ndarray):
        def __dlpack_device__(self):
            asked.append("device")
            return super().__dlpack_device__()

        def __dlpack__(self, **keywords):
            asked.append(sorted(keywords))
            return super().__dlpack__(**keywords)

    x = made(cls=Python)
    for _ in range(3):
        look("f(a: f32[n,k] c cpu)", x)
    assert asked == ["device", ["max_version"]] * 3


def test_a_type_that_gets_a_method_of_its_own_is_looked_at_again(look):
    class Changing(np.ndarray):
        pass

    x, calls = made(cls=Changing), []
    for _ in range(2):
        look("f(a: f32[n,k] c cpu)", x)

    def dlpack(self, **keywords):
        calls.append(keywords)
        return np.ndarray.__dlpack__(self, **keywords)

    Changing.__dlpack__ = dlpack
    look("f(a: f32[n,k] c cpu)", x)
    assert calls == [{"max_version": (1, 3)}]
    del Changing.__dlpack__
    look("f(a: f32[n,k] c cpu)", x)
    assert len(calls) == 1


def test_what_was_lent_before_is_owned_when_foreign_code_runs(probe):
    own = dlpark.from_dlpack(np.zeros((2, 3), np.float32))
    x = made()
    told = probe.function("f(a: f32[n,k] c cpu, b: f32[n,k] c cpu)")(own, x)[0]["args"]
    assert told[0]["shape"] == told[1]["shape"] == (2, 3)
