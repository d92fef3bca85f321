"""from_dlpack: ways by name, streams, two-step requests, and what an object is told that offers nothing."""

import itertools
import re

import hostile
import hostile_table
import numpy as np
import pytest
from hostile import Foreign, Offer
from hostile_table import LenderToo, with_table

import dlpark

WAYS = "capsule own exchange numpy dlpack cuda_array_interface array_struct array_interface buffer".split()
CAPSULE, OWN, EXCHANGE, NUMPY, DLPACK, BUFFER = 0x001, 0x002, 0x004, 0x008, 0x010, 0x100
NEVER, ALWAYS, DROP = 1, 2, 99


# ---- via ----


def test_each_way_alone():
    foreign = Foreign()
    assert dlpark.from_dlpack(foreign.capsule(), via="capsule").shape == (2, 3)
    assert dlpark.from_dlpack(dlpark.from_dlpack(np.zeros(3)), via="own").shape == (3,)
    lender = with_table(base=LenderToo)()
    assert dlpark.from_dlpack(lender, via="exchange").shape == (2, 3)
    assert not hasattr(lender, "asked")
    assert dlpark.from_dlpack(lender, via="dlpack").shape == (2, 3)
    assert lender.asked == {"max_version": (1, 3)}
    for way in ("numpy", "dlpack", "array_struct", "array_interface", "buffer"):
        assert dlpark.from_dlpack(np.zeros((2, 3)), via=way).shape == (2, 3)


@pytest.mark.parametrize("via", [("numpy", "dlpack"), ["dlpack", "numpy"], ("exchange", "numpy"), WAYS, ("numpy",) * 3])
def test_sequences_of_ways(via):
    array = np.zeros(3)
    array.flags.writeable = False
    assert dlpark.from_dlpack(array, via=via).readonly


def test_the_order_is_ours(probe):
    lender = with_table(base=LenderToo)()
    for via in itertools.permutations(("dlpack", "exchange")):
        dlpark.from_dlpack(lender, via=via)
        assert not hasattr(lender, "asked")


@pytest.mark.parametrize("via", ["", "DLPACK", "dlpack ", "__dlpack__", "all", ("numpy", "x")])
def test_names_that_are_no_ways(via):
    with pytest.raises(ValueError, match=f"^via: expected one of {', '.join(WAYS)}, got "):
        dlpark.from_dlpack(np.zeros(3), via=via)


@pytest.mark.parametrize("via, text", [(3, "int"), (b"dlpack", "int"), (("dlpack", 3), "int"), ({"dlpack"}, "set")])
def test_values_that_are_no_names(via, text):
    with pytest.raises(TypeError, match=f"^via must be a name or a sequence of names, not {text}$"):
        dlpark.from_dlpack(np.zeros(3), via=via)


def test_no_way_at_all():
    with pytest.raises(ValueError, match="^via names no way$"):
        dlpark.from_dlpack(np.zeros(3), via=[])
    assert dlpark.from_dlpack(np.zeros(3), via=None).shape == (3,)


def test_sequences_that_fail():
    class Sequence:
        def __len__(self):
            return 2

        def __getitem__(self, at):
            raise KeyError("boom")

    class Endless(Sequence):
        def __len__(self):
            raise KeyError("boom")

    for via in (Sequence(), Endless()):
        with pytest.raises(KeyError, match="boom"):
            dlpark.from_dlpack(np.zeros(3), via=via)


SOUGHT = {
    "capsule": "a DLPack capsule",
    "own": "a dlpark.Tensor",
    "exchange": "a C exchange table",
    "numpy": "a numpy.ndarray",
    "cuda_array_interface": "__cuda_array_interface__",
    "array_struct": "__array_struct__",
    "array_interface": "__array_interface__",
    "buffer": "a buffer",
}


@pytest.mark.parametrize("way", SOUGHT)
def test_a_way_that_is_not_offered(way):
    with pytest.raises(TypeError, match=f"^list does not offer what was asked for: {SOUGHT[way]}$"):
        dlpark.from_dlpack([1], via=way)


def test_ways_that_are_not_offered():
    with pytest.raises(TypeError, match="^list does not offer what was asked for: a C exchange table, a buffer$"):
        dlpark.from_dlpack([1], via=("buffer", "exchange"))
    with pytest.raises(AttributeError, match=r"^list has no __dlpack__; numpy.asarray\(...\) may make an array of it$"):
        dlpark.from_dlpack([1], via="dlpack")
    with pytest.raises(AttributeError, match="^str has no __dlpack__, nor a buffer$"):
        dlpark.from_dlpack("x", via=("dlpack", "buffer"))


@pytest.mark.parametrize("byteswap", [True, 1, np.True_])
def test_byteswap(byteswap):
    array = np.arange(3).astype(">i4")
    tensor = dlpark.from_dlpack(array, byteswap=byteswap)
    assert (np.asarray(tensor).tolist(), tensor.is_copied) == ([0, 1, 2], True)
    with pytest.raises(BufferError, match=r"other byte order; dlpark.from_dlpack\(x, byteswap=True\) takes a copy in this one$"):
        dlpark.from_dlpack(array, byteswap=False)
    with pytest.raises(BufferError, match="^ndarray: its elements are of the other byte order"):
        dlpark.from_dlpack(array, byteswap=byteswap, via="numpy")
    with pytest.raises(BufferError):
        dlpark.from_dlpack(array, byteswap=byteswap, copy=False)
    assert not dlpark.from_dlpack(array.astype("<i4"), byteswap=byteswap).is_copied


@pytest.mark.parametrize("text", ["no", "", "False", b"x"])
def test_a_text_is_no_truth_value(text):
    array = np.arange(3)
    tensor = dlpark.from_dlpack(array)
    for call, expected in (
        (lambda: dlpark.from_dlpack(array, copy=text), "copy is {}, expected True, False or None"),
        (lambda: dlpark.from_dlpack(array, byteswap=text), "byteswap is {}, expected True or False"),
        (lambda: tensor.reshape(3, copy=text), "copy is {}, expected True, False or None"),
        (lambda: tensor.astype("int8", copy=text), "copy is {}, expected True or False"),
        (lambda: tensor.__dlpack__(copy=text), "copy is {}, expected True, False or None"),
        (lambda: tensor.__array__(copy=text), "copy is {}, expected True, False or None"),
    ):
        with pytest.raises(TypeError, match=f"^{re.escape(expected.format(repr(text)))}$"):
            call()


def test_a_copy_that_is_none_of_the_three(probe):
    array = np.arange(3)
    for call in (lambda: probe.py_import(array, copy=77), lambda: probe.py_view(array, copy=-1), lambda: probe.request(array, copy=3)):
        with pytest.raises(ValueError, match=r"^options: copy is (77|-1|3), which is none of DLPARK_PY_COPY_\*$"):
            call()


@pytest.mark.parametrize(
    "value, said",
    [(2**64, "18446744073709551616"), (-(2**70), "-1180591620717411303424"), (10**5000, "an integer of 16610 bits")],
    ids=["positive", "negative", "huge"],
)
def test_an_integer_that_does_not_fit_is_said(value, said):
    tensor = dlpark.from_dlpack(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=f"^shape is {said}: more than 64 bits$"):
        tensor.reshape(value)
    with pytest.raises(IndexError, match=f"^index {said} is out of range for dimension 0 with extent 2$"):
        tensor[value]
    with pytest.raises(TypeError, match=f"^device has {said} in it: more than 64 bits$"):
        dlpark.from_dlpack(tensor, device=(1, value))


# ---- stream ----


@pytest.mark.parametrize("stream, asked", [(None, 1), (1, 1), (2, 2), (-1, -1), (0x7000, 0x7000), (np.int64(7), 7)])
def test_the_consumers_stream_goes_to_the_producer(stream, asked):
    offer = Offer(Foreign(device=(hostile.CUDA, 0)), device=(hostile.CUDA, 0))
    dlpark.from_dlpack(offer, stream=stream)
    assert offer.asked == [{"max_version": (1, 3), "stream": asked}]


def test_the_host_has_no_streams():
    offer = Offer(Foreign())
    dlpark.from_dlpack(offer, stream=None)
    assert offer.asked == [{"max_version": (1, 3)}]


def test_no_stream_where_the_data_comes_to_the_host():
    offer = Offer(lambda **_: Foreign(flags=hostile.IS_COPIED).capsule(), device=(hostile.CUDA, 0))
    dlpark.from_dlpack(offer, device="cpu", stream=2)
    assert offer.asked == [{"max_version": (1, 3), "dl_device": (1, 0)}]


@pytest.mark.parametrize("stream", [0, True, "2", -2, object()])
def test_streams_that_mean_nothing(stream):
    offer = Offer(Foreign(device=(hostile.CUDA, 0)), device=(hostile.CUDA, 0))
    with pytest.raises(ValueError, match="^stream="):
        dlpark.from_dlpack(offer, stream=stream)
    assert offer.asked == []


# ---- Two steps ----


def test_request_of_a_producer(probe):
    offer = Offer(Foreign(device=(hostile.CUDA, 1)), device=(hostile.CUDA, 1))
    device, path, held, imported = probe.request(offer, stream=2)
    assert (device, path, held) == ("cuda:1", DLPACK, False)
    assert offer.asked == [{"max_version": (1, 3), "stream": 2}]
    assert imported[1] == (DLPACK, False, None)


def test_request_of_a_producer_without_a_device(probe):
    """Asked for its tensor at once, which is held, and ended if nothing comes of it."""

    class Old:
        def __init__(self, foreign):
            self.foreign = foreign

        def __dlpack__(self):
            return self.foreign.capsule(destructor=True)

    foreign = Foreign(device=(hostile.CUDA, 1))
    assert probe.request(Old(foreign), copy=DROP) == ("cuda:1", DLPACK, True, None)
    assert len(foreign.calls) == 1
    foreign = Foreign(strides=(1, 2))
    imported = probe.request(Old(foreign), to_compact=True)[3]
    assert (imported[1], imported[2][4], len(foreign.calls)) == ((DLPACK, True, None), [3, 1], 1)
    foreign = Foreign()
    with pytest.raises(BufferError, match="came on cpu, and cuda:0 was asked for"):
        probe.request(Old(foreign), device="cuda:0")
    assert len(foreign.calls) == 1


def test_request_of_a_capsule(probe):
    foreign = Foreign()
    capsule = foreign.capsule(destructor=True)
    assert probe.request(capsule, copy=DROP) == ("cpu", CAPSULE, True, None)
    assert len(foreign.calls) == 1
    with pytest.raises(ValueError, match="consumed already"):
        probe.request(capsule)
    foreign = Foreign()
    device, path, held, imported = probe.request(foreign.capsule(), copy=ALWAYS)
    assert (imported[1], len(foreign.calls)) == ((CAPSULE, True, None), 1)


def test_request_of_a_table(probe):
    hostile_table.streams.clear()
    foreign = Foreign(device=(hostile.CUDA, 0))
    lender = with_table(base=LenderToo)(foreign)
    assert probe.request(lender, copy=DROP)[:3] == ("cuda:0", EXCHANGE, False)
    assert (lender.lent, lender.owned) == (1, 0)
    assert probe.request(lender, order=lambda *_: None)[3][1] == (EXCHANGE, False, 0)
    assert probe.request(lender)[3][1] == (DLPACK, False, None)  # nobody orders
    owns = with_table(hostile_table.capsule(hostile_table.table(lend=False)))(Foreign())
    assert probe.request(owns, copy=DROP)[:3] == ("cpu", EXCHANGE, False)
    assert len(owns.foreign.calls) == 1
    refuses = with_table(base=LenderToo)(Foreign(), RuntimeError("frames"))
    assert probe.request(refuses)[1] == DLPACK
    fails = with_table(base=LenderToo)(Foreign(), KeyError("boom"))
    with pytest.raises(KeyError, match="boom"):
        probe.request(fails)


def test_request_of_others(probe):
    array = np.arange(3.0)
    assert probe.request(array)[1] == NUMPY
    assert probe.request(array, paths=DLPACK)[1] == DLPACK
    assert probe.request(array, paths=BUFFER, copy=DROP) == ("cpu", BUFFER, False, None)
    assert probe.request(array, paths=BUFFER)[3][1] == (BUFFER, False, None)
    assert probe.request(dlpark.from_dlpack(array))[1:3] == (OWN, False)
    assert probe.request(b"abc")[1] == BUFFER


def test_request_that_fails(probe):
    with pytest.raises(AttributeError, match="^int has no __dlpack__"):
        probe.request(3)
    with pytest.raises(TypeError, match="^ndarray does not offer what was asked for: a DLPack capsule, a dlpark.Tensor$"):
        probe.request(np.zeros(3), paths=CAPSULE | OWN)
    offer = Offer(Foreign(), device="cpu")
    with pytest.raises(TypeError, match="__dlpack_device__"):
        probe.request(offer)
    with pytest.raises(ValueError, match="^the request has ended$"):
        probe.request_again(np.zeros(3))


# ---- Options of the kit ----


def test_writable(probe):
    with pytest.raises(BufferError, match="not writable"):
        probe.py_import(b"abc", writable=True)
    assert probe.py_view(bytearray(3), writable=True)[0][5] == 0
    with pytest.raises(BufferError, match="will be written, and its producer cannot say that it may be"):
        probe.py_import(Foreign(legacy=True).capsule(), writable=True)
    legacy = Offer(Foreign(legacy=True))
    with pytest.raises(BufferError, match="will be written, and its producer cannot say"):
        probe.py_view(legacy, writable=True)
    assert len(legacy.make.calls) == 1


def test_compact(probe):
    array = np.arange(6, dtype=np.int16).reshape(2, 3).T
    view, owned = probe.py_view(array, to_compact=True)
    assert (view[3], view[4], owned) == ([3, 2], [2, 1], True)
    assert probe.py_view(array[0], to_compact=True)[1] is True
    assert probe.py_view(array.T, to_compact=True)[1] is False
    assert probe.py_import(array, to_compact=True)[1] == (NUMPY, True, None)
    with pytest.raises(BufferError, match="i16.* is not compact, and must not be copied"):
        probe.py_import(array, to_compact=True, copy=NEVER)
