"""from_dlpack: what is taken, what is refused, and that a deleter is called once in every case."""

import ctypes
import threading

import hostile
import numpy as np
import pytest
from hostile import Foreign, Offer

import dlpark

# ---- Both ABIs ----


@pytest.mark.parametrize("legacy", [False, True])
def test_capsule_is_consumed_and_ended_once(legacy):
    foreign = Foreign(legacy=legacy)
    capsule = foreign.capsule(destructor=True)
    tensor = dlpark.from_dlpack(capsule)
    assert hostile.capsule_name(capsule) == (hostile.USED_LEGACY if legacy else hostile.USED_VERSIONED)
    del capsule
    assert foreign.calls == []
    assert tensor.readonly is legacy
    del tensor
    assert foreign.calls == [threading.get_ident()]


@pytest.mark.parametrize("legacy", [False, True])
def test_producer_by_its_methods(legacy):
    foreign = Foreign(legacy=legacy)
    offer = Offer(foreign)
    tensor = dlpark.from_dlpack(offer)
    assert offer.asked == [{"max_version": (1, 3)}]
    assert (tensor.shape, tensor.readonly) == ((2, 3), legacy)
    del tensor
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("legacy", [False, True])
def test_the_name_decides_the_abi_not_what_was_asked(legacy):
    """A producer may ignore max_version, in either direction."""
    made = np.arange(6, dtype=np.int32)
    make = made.__dlpack__ if legacy else lambda: made.__dlpack__(max_version=(1, 0))
    tensor = dlpark.from_dlpack(Offer(lambda **_: make()))
    assert np.asarray(tensor).tolist() == [0, 1, 2, 3, 4, 5]
    assert tensor.readonly is legacy


@pytest.mark.parametrize("legacy", [False, True])
def test_null_deleter_is_not_called(legacy):
    foreign = Foreign(legacy=legacy, deleter=False)
    tensor = dlpark.from_dlpack(foreign.capsule())
    np.asarray(tensor)
    del tensor
    assert foreign.calls == []


def test_byte_offset_null_strides_and_later_minor_are_taken():
    foreign = Foreign(dtype=(1, 8, 1), shape=(4,), byte_offset=3, strides=None, version=(1, 99))
    foreign.memory[3:7] = b"\x01\x02\x03\x04"
    tensor = dlpark.from_dlpack(foreign.capsule())
    assert tensor.strides == (1,)
    assert np.asarray(tensor).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("code, name", [(1, "uint8"), (6, "bool")])
def test_bool_is_never_guessed_from_uint8(legacy, code, name):
    """Only zeros and ones in memory make no bool, and no byte makes a uint8."""
    foreign = Foreign(legacy=legacy, dtype=(code, 8, 1), shape=(3,))
    foreign.memory[:3] = b"\x01\x00\x01"
    tensor = dlpark.from_dlpack(foreign.capsule())
    assert tensor.dtype == np.asarray(tensor).dtype.name == name
    assert np.asarray(tensor).tolist() == [1, 0, 1]
    for keywords in ({}, {"max_version": (1, 0)}, {"copy": True}):
        assert hostile.read(tensor.__dlpack__(**keywords)).dl_tensor.dtype.code == code


@pytest.mark.parametrize("byte_offset", [0, 1, 3])
@pytest.mark.parametrize("shift", [0, 1])
def test_misaligned_floats_are_taken(byte_offset, shift):
    foreign = Foreign(shape=(2, 3), strides=(1, 2), byte_offset=byte_offset)
    foreign.managed.dl_tensor.data += shift
    values = np.arange(1, 7, dtype=np.float32)
    foreign.memory[shift + byte_offset : shift + byte_offset + values.nbytes] = values.tobytes()
    tensor = dlpark.from_dlpack(foreign.capsule())
    expected = values.reshape(3, 2).T.tolist()
    assert np.asarray(tensor).tolist() == expected
    assert np.asarray(dlpark.from_dlpack(tensor, copy=True)).tolist() == expected
    held = hostile.read(tensor.__dlpack__())
    assert held.dl_tensor.data == ctypes.addressof(foreign.memory) + shift + byte_offset


@pytest.mark.parametrize("data", [..., None])
def test_empty_tensor_calls_the_deleter(data):
    foreign = Foreign(shape=(0, 3), data=data)
    tensor = dlpark.from_dlpack(foreign.capsule())
    assert tensor.shape == (0, 3)
    del tensor
    assert len(foreign.calls) == 1


def test_scalar_with_null_shape_is_taken():
    foreign = Foreign(shape=None, ndim=0, strides=None)
    assert dlpark.from_dlpack(foreign.capsule()).shape == ()


# ---- Refused ----

REFUSED = [
    ("another major", dict(version=(2, 0)), BufferError, "2.0.*1.3"),
    ("65 dimensions", dict(shape=(1,) * 65), BufferError, "65"),
    ("negative rank", dict(ndim=-1), BufferError, "-1"),
    ("negative extent", dict(shape=(2, -3)), BufferError, r"shape\[1\].*-3"),
    ("element count overflows", dict(shape=(2**62, 2**62)), BufferError, "4611686018427387904"),
    ("bytes overflow", dict(shape=(2**61,)), BufferError, "2305843009213693952"),
    ("strides overflow", dict(shape=(3, 3), strides=(2**62, 1)), BufferError, "4611686018427387904"),
    ("no data", dict(data=None), BufferError, "NULL"),
    ("no shape", dict(shape=None, ndim=2, strides=None), BufferError, "NULL"),
    ("unknown dtype", dict(dtype=(18, 16, 1)), BufferError, "18"),
    ("no lanes", dict(dtype=(2, 32, 0)), BufferError, "lanes"),
    ("narrow float of another width", dict(dtype=(17, 8, 1)), BufferError, "17"),
    ("unknown device", dict(device=(20, 0)), BufferError, "20"),
    ("no device", dict(device=(0, 0)), BufferError, "0"),
    ("unknown flag", dict(flags=1 << 40), BufferError, "0x10000000000"),
]


@pytest.mark.parametrize("fields, error, text", [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
@pytest.mark.parametrize("legacy", [False, True], ids=["versioned", "legacy"])
def test_refused_capsule_stays_with_its_producer(fields, error, text, legacy):
    if legacy and fields.keys() & {"version", "flags"}:
        fields = {"device": (-5, 0)}  # a legacy struct has neither field
        text = "-5"
    foreign = Foreign(legacy=legacy, **fields)
    capsule = foreign.capsule(destructor=True)
    for _ in range(2):
        with pytest.raises(error, match=text):
            dlpark.from_dlpack(capsule)
        assert hostile.capsule_name(capsule) == foreign.default_name
        assert foreign.calls == []
    del capsule
    assert len(foreign.calls) == 1


def test_another_major_without_deleter():
    with pytest.raises(BufferError, match="2.0"):
        dlpark.from_dlpack(Foreign(version=(2, 0), deleter=False).capsule())


@pytest.mark.parametrize("legacy", [False, True])
def test_copy_that_no_memory_holds(legacy):
    """Fails after the capsule has been consumed: the deleter is ours to call."""
    foreign = Foreign(legacy=legacy, dtype=(1, 8, 1), shape=(2**62,), strides=(0,))
    capsule = foreign.capsule(destructor=True)
    with pytest.raises(MemoryError):
        dlpark.from_dlpack(capsule, copy=True)
    assert len(foreign.calls) == 1
    del capsule
    assert len(foreign.calls) == 1


def test_refused_import_from_a_producer_drops_its_capsule_without_a_pending_exception():
    """A destructor written in Python would otherwise turn our error into a SystemError."""
    foreign = Foreign(shape=(2, -3))
    with pytest.raises(BufferError, match=r"^Offer: shape\[1\].*-3"):
        dlpark.from_dlpack(Offer(foreign))
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("legacy", [False, True])
def test_used_capsule(legacy):
    foreign = Foreign(legacy=legacy)
    capsule = foreign.capsule()
    tensor = dlpark.from_dlpack(capsule)
    with pytest.raises(ValueError, match="consumed already"):
        dlpark.from_dlpack(capsule)
    assert foreign.calls == []
    del tensor
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("name, text", [(b"arrow_array", "arrow_array"), (None, "no name"), (b"", "''"), (b"\xff", "\ufffd")])
def test_capsule_of_another_name_is_left_alone(name, text):
    foreign = Foreign()
    capsule = foreign.capsule(name=name)
    with pytest.raises(ValueError, match=text):
        dlpark.from_dlpack(capsule)
    assert hostile.capsule_name(capsule) == name
    assert foreign.calls == []


@pytest.mark.threads
def test_eight_threads_and_one_capsule():
    for _ in range(50):
        foreign = Foreign()
        capsule = foreign.capsule(destructor=True)
        barrier = threading.Barrier(8)
        outcomes = []

        def consume():
            barrier.wait()
            try:
                outcomes.append(dlpark.from_dlpack(capsule))
            except ValueError as error:
                outcomes.append(str(error))

        threads = [threading.Thread(target=consume) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        won = [outcome for outcome in outcomes if isinstance(outcome, dlpark.Tensor)]
        lost = [outcome for outcome in outcomes if isinstance(outcome, str)]
        assert (len(won), len(lost)) == (1, 7)
        assert all("consumed already" in text for text in lost)
        assert foreign.calls == []
        outcomes.clear()
        won.clear()
        assert len(foreign.calls) == 1


# ---- Producers that misbehave, or are old ----


def test_no_protocol():
    others = "__cuda_array_interface__, __array_struct__, __array_interface__, a buffer"
    lacks = f"has no __dlpack__, nor a C exchange table, {others}"
    for source in (3, [1, 2, 3]):
        advice = r"; numpy.asarray\(...\) may make an array of it"
        with pytest.raises(AttributeError, match=f"^{type(source).__name__} {lacks}{advice}$"):
            dlpark.from_dlpack(source)
    with pytest.raises(AttributeError, match=f"^str {lacks}$"):
        dlpark.from_dlpack("f.png")

    class Half:
        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(AttributeError, match="Half has no __dlpack__, nor "):
        dlpark.from_dlpack(Half())


class NoDevice:
    """Before the protocol was written down: one method, no arguments."""

    def __init__(self, foreign):
        self.foreign = foreign

    def __dlpack__(self):
        return self.foreign.capsule(destructor=True)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("device, name", [((hostile.CPU, 0), "cpu"), ((hostile.CUDA, 1), "cuda:1")])
def test_producer_without_a_device(legacy, device, name):
    foreign = Foreign(legacy=legacy, device=device)
    tensor = dlpark.from_dlpack(NoDevice(foreign))
    assert (tensor.device, tensor.shape, tensor.readonly) == (name, (2, 3), legacy)
    assert dlpark.from_dlpack(NoDevice(foreign), device=name).device == name
    foreign.calls.clear()
    del tensor
    assert len(foreign.calls) == 1


def test_requests_to_a_producer_without_a_device():
    """What it cannot be asked is seen to when the tensor is there, or refused."""
    foreign = Foreign()
    tensor = dlpark.from_dlpack(NoDevice(foreign), copy=True)
    assert (tensor.is_copied, len(foreign.calls)) == (True, 1)
    with pytest.raises(BufferError, match="does not know the keyword copy, so it cannot promise copy=False"):
        dlpark.from_dlpack(NoDevice(foreign), copy=False)
    assert len(foreign.calls) == 1
    with pytest.raises(BufferError, match="came on cpu, and cuda:0 was asked for"):
        dlpark.from_dlpack(NoDevice(foreign), device="cuda:0")
    assert len(foreign.calls) == 2
    on_device = Foreign(device=(hostile.CUDA, 0))
    for keywords in (dict(copy=True), dict(device="cpu"), dict(device="cpu", copy=True)):
        with pytest.raises(BufferError, match="cuda:0"):
            dlpark.from_dlpack(NoDevice(on_device), **keywords)
    assert len(on_device.calls) == 3


def test_producer_without_a_device_that_knows_the_keywords():
    asked = []

    class Modern:
        def __dlpack__(self, **keywords):
            asked.append(keywords)
            return Foreign(flags=hostile.IS_COPIED).capsule()

    assert dlpark.from_dlpack(Modern(), device="cpu", copy=True).is_copied
    assert asked == [{"max_version": (1, 3), "dl_device": (1, 0), "copy": True}]


@pytest.mark.parametrize("error", [RuntimeError("boom"), TypeError("boom"), AttributeError("inner"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["__dlpack__", "__dlpack_device__"])
def test_errors_of_the_producer_come_through(error, where):
    calls = []

    def fail(self, **keywords):
        calls.append(keywords)
        raise error

    members = {"__dlpack__": fail, "__dlpack_device__": lambda self: (1, 0), where: fail}
    with pytest.raises(type(error)) as caught:
        dlpark.from_dlpack(type("Failing", (), members)())
    assert caught.value is error
    assert len(calls) == 1


@pytest.mark.parametrize("inner", [lambda: int("1", wrong=1), lambda: len([], key=1), lambda: sorted(1)])
def test_type_error_from_inside_the_producer_is_not_an_old_producer(inner):
    calls = []

    def make(**keywords):
        calls.append(keywords)
        inner()

    with pytest.raises(TypeError) as expected:
        inner()
    with pytest.raises(TypeError) as caught:
        dlpark.from_dlpack(Offer(make))
    assert str(caught.value) == str(expected.value)
    assert len(calls) == 1


def helper():
    """What a producer may call by mistake with the words of the protocol."""


ASKED = {
    "copy": ((hostile.CPU, 0), dict(copy=True)),
    "max_version": ((hostile.CPU, 0), {}),
    "dl_device": ((hostile.CUDA_HOST, 0), dict(device="cpu")),
    "stream": ((hostile.CUDA, 0), {}),
}


@pytest.mark.parametrize("inner", [helper, lambda **keywords: sorted([], **keywords), int], ids=["helper", "sorted", "int"])
@pytest.mark.parametrize("keyword", ASKED)
def test_type_error_about_a_keyword_of_ours_from_inside_the_producer(keyword, inner):
    device, keywords = ASKED[keyword]
    calls = []

    def make(**given):
        calls.append(given)
        inner(**{keyword: given[keyword]})

    with pytest.raises(TypeError, match=f"'{keyword}' is an invalid|unexpected keyword argument '{keyword}'"):
        dlpark.from_dlpack(Offer(make, device=device), **keywords)
    assert len(calls) == 1
    assert keyword in calls[0]


class Wrapped:
    """Passes on what it is asked to an old producer."""

    def __init__(self, old):
        self.old = old

    def __dlpack_device__(self):
        return self.old.__dlpack_device__()

    def __dlpack__(self, **keywords):
        return self.old.__dlpack__(**keywords)


class Saying(Wrapped):
    """Refuses keywords in the words of another binding generator, which may add a frame of its own."""

    def __init__(self, old, text):
        self.old, self.text = old, text

    def __dlpack__(self, **keywords):
        if keywords:
            raise TypeError(self.text)
        return self.old.__dlpack__()


def assigned(old):
    """The function has another name, but it is the one that was called."""
    members = {"__dlpack__": lambda self: old.__dlpack__(), "__dlpack_device__": lambda self: (1, 0)}
    return type("Assigned", (), members)()


COMPLAINTS = {
    "wrapped": Wrapped,
    "assigned": assigned,
    "cython": lambda old: Saying(old, "__dlpack__() got an unexpected keyword argument 'max_version'"),
    "c": lambda old: Saying(old, "'max_version' is an invalid keyword argument for __dlpack__()"),
    "no keywords": lambda old: Saying(old, "Saying.__dlpack__() takes no keyword arguments"),
    "nanobind": lambda old: Saying(old, "__dlpack__(): incompatible function arguments. The following argument types"),
}


@pytest.mark.parametrize("wrap", COMPLAINTS.values(), ids=COMPLAINTS)
def test_complaint_about_the_call_itself(wrap):
    foreign = Foreign(legacy=True)
    assert dlpark.from_dlpack(wrap(NoKeywords(foreign))).shape == (2, 3)
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("returned", [None, 3, b"dltensor", np.zeros(3)])
def test_producer_that_returns_no_capsule(returned):
    with pytest.raises(TypeError, match=f"Offer.__dlpack__.. returned {type(returned).__name__}"):
        dlpark.from_dlpack(Offer(lambda **_: returned))


@pytest.mark.parametrize("device", [None, (1,), (1, 0, 0), [1, 0], ("cpu", 0), 1, (2**70, 0)])
def test_producer_with_a_malformed_device(device):
    named = "" if isinstance(device, tuple) else "Offer."
    with pytest.raises(TypeError, match=rf"^{named}__dlpack_device__\(\)"):
        dlpark.from_dlpack(Offer(Foreign(), device=device))


class NoKeywords:
    """As of 2021."""

    def __init__(self, foreign):
        self.foreign = foreign

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, stream=None):
        return self.foreign.capsule(destructor=True)


class OnlyMaxVersion(NoKeywords):
    def __dlpack__(self, *, stream=None, max_version=None):
        return self.foreign.capsule(destructor=True)


OLD = [NoKeywords, OnlyMaxVersion]


@pytest.mark.parametrize("old", OLD)
def test_old_producer(old):
    foreign = Foreign(legacy=True)
    assert dlpark.from_dlpack(old(foreign)).shape == (2, 3)
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("old", OLD)
def test_old_producer_copied_by_us(old):
    foreign = Foreign(legacy=True, dtype=(1, 8, 1))
    foreign.memory[0] = b"\x07"
    tensor = dlpark.from_dlpack(old(foreign), copy=True)
    assert len(foreign.calls) == 1  # the copy keeps nothing alive
    assert (tensor.is_copied, tensor.readonly) == (True, False)
    foreign.memory[0] = b"\x08"
    assert np.asarray(tensor)[0, 0] == 7


@pytest.mark.parametrize("old", OLD)
def test_old_producer_cannot_promise_not_to_copy(old):
    with pytest.raises(BufferError, match="does not know the keyword copy, so it cannot promise copy=False"):
        dlpark.from_dlpack(old(Foreign()), copy=False)


@pytest.mark.parametrize("old", OLD)
def test_old_producer_cannot_be_asked_for_another_device(old):
    """It is asked for its tensor where that is, which the driver would copy."""
    offer = old(Foreign(device=(hostile.CUDA, 0)))
    offer.__class__ = type("Cuda", (old,), {"__dlpack_device__": lambda self: (2, 0)})
    with pytest.raises(BufferError, match="came on cuda:0, and cpu was asked for: the driver of CUDA"):
        dlpark.from_dlpack(offer, device="cpu")


# ---- device and copy ----


@pytest.mark.parametrize("device", [None, "cpu", "cpu:0", (1, 0), (np.int32(1), np.int64(0))])
def test_same_device_asks_nothing(device):
    offer = Offer(Foreign())
    assert dlpark.from_dlpack(offer, device=device).device == "cpu"
    assert offer.asked == [{"max_version": (1, 3)}]


def test_another_device_is_asked_for():
    offer = Offer(lambda **_: Foreign(flags=hostile.IS_COPIED).capsule(), device=(hostile.CUDA, 0))
    tensor = dlpark.from_dlpack(offer, device="cpu")
    assert offer.asked == [{"max_version": (1, 3), "dl_device": (1, 0)}]
    assert (tensor.device, tensor.is_copied) == ("cpu", True)


def test_device_that_was_not_followed():
    foreign = Foreign(device=(hostile.CUDA, 0))
    with pytest.raises(BufferError, match="came on cuda:0, and cpu was asked for"):
        dlpark.from_dlpack(Offer(foreign, device=(hostile.CUDA, 0)), device="cpu")
    assert len(foreign.calls) == 1


def test_no_copy_across_devices_is_both_errors():
    offer = Offer(Foreign(device=(hostile.CUDA, 0)), device=(hostile.CUDA, 0))
    for expected in (BufferError, ValueError, dlpark.DeviceCopyError):
        with pytest.raises(expected, match="cuda:0.*cpu.*copy=False"):
            dlpark.from_dlpack(offer, device="cpu", copy=False)
    assert offer.asked == []


def test_page_locked_memory_is_the_hosts():
    foreign = Foreign(device=(hostile.CUDA_HOST, 0), flags=hostile.READ_ONLY)
    tensor = dlpark.from_dlpack(foreign.capsule(), device="cpu", copy=False)
    assert (tensor.device, tensor.readonly) == ("cpu", True)
    assert np.asarray(tensor).shape == (2, 3)
    del tensor
    assert len(foreign.calls) == 1


def test_managed_memory_is_not_the_hosts():
    foreign = Foreign(device=(13, 0))
    with pytest.raises(BufferError, match="came on cuda_managed, and cpu was asked for: the driver of CUDA cannot be loaded"):
        dlpark.from_dlpack(foreign.capsule(), device="cpu")
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("device, stream", [(2, 1), (13, 1), (10, 0)])
def test_device_memory_is_asked_for_on_the_default_stream(device, stream):
    """A producer's own default may be not to synchronise at all, as PyTorch's is."""
    offer = Offer(Foreign(device=(device, 0)), device=(device, 0))
    dlpark.from_dlpack(offer)
    assert offer.asked == [{"max_version": (1, 3), "stream": stream}]


@pytest.mark.parametrize("legacy", [False, True])
def test_copy_of_a_capsule(legacy):
    foreign = Foreign(legacy=legacy, dtype=(0, 64, 1), shape=(3,), strides=(-1,), byte_offset=16)
    np.frombuffer(foreign.memory, np.int64)[:3] = [1, 2, 3]
    tensor = dlpark.from_dlpack(foreign.capsule(), copy=True)
    assert len(foreign.calls) == 1
    assert (tensor.is_copied, tensor.strides, tensor.readonly) == (True, (1,), False)
    assert np.asarray(tensor).tolist() == [3, 2, 1]


def test_copy_made_by_the_producer_is_not_copied_again():
    foreign = Foreign(flags=hostile.IS_COPIED)
    tensor = dlpark.from_dlpack(Offer(foreign), copy=True)
    assert tensor.is_copied
    assert foreign.calls == []


@pytest.mark.parametrize("device", [None, "cpu"])
def test_copy_that_the_producer_does_not_vouch_for(device):
    """It knows the keyword, and its struct could say that it copied."""
    foreign = Foreign()
    with pytest.raises(BufferError, match=r"^Offer.__dlpack__\(copy=True\) answered without IS_COPIED: nobody knows"):
        dlpark.from_dlpack(Offer(foreign), copy=True, device=device)
    assert len(foreign.calls) == 1


def test_copy_that_the_producer_cannot_vouch_for():
    """It answers in the legacy ABI, which has no flags: dlpark copies once more."""
    foreign = Foreign(legacy=True)
    offer = Offer(foreign)
    tensor = dlpark.from_dlpack(offer, copy=True)
    assert offer.asked == [{"max_version": (1, 3), "copy": True}]
    assert (tensor.is_copied, tensor.readonly, len(foreign.calls)) == (True, False, 1)


def test_forbidden_copy_made_by_the_producer():
    foreign = Foreign(flags=hostile.IS_COPIED)
    with pytest.raises(BufferError, match="copy=False"):
        dlpark.from_dlpack(Offer(foreign), copy=False)
    assert len(foreign.calls) == 1


def test_copy_in_device_memory_is_refused():
    foreign = Foreign(device=(hostile.CUDA, 0))
    with pytest.raises(BufferError, match="cuda:0"):
        dlpark.from_dlpack(foreign.capsule(), copy=True)
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("copy", [0, False, np.False_])
def test_copy_is_a_truth_value(copy):
    offer = Offer(Foreign())
    dlpark.from_dlpack(offer, copy=copy)
    assert offer.asked[0]["copy"] is False


@pytest.mark.parametrize("copy", [None, False, True])
def test_a_tensor_of_ours(copy):
    array = np.arange(3.0)
    tensor = dlpark.from_dlpack(array)
    again = dlpark.from_dlpack(tensor, copy=copy, device=tensor.device)
    assert again is not tensor
    assert again.is_copied is (copy is True)
    assert np.shares_memory(np.asarray(again), array) is (copy is not True)


@pytest.mark.parametrize(
    "keywords, error",
    [
        (dict(device="gpu"), ValueError),
        (dict(device="cpu\0"), ValueError),
        (dict(device=1), TypeError),
        (dict(device=(1,)), TypeError),
        (dict(device=(1, 2**40)), BufferError),
    ],
)
def test_malformed_arguments(keywords, error):
    foreign = Foreign()
    capsule = foreign.capsule()
    with pytest.raises(error):
        dlpark.from_dlpack(capsule, **keywords)
    assert hostile.capsule_name(capsule) == hostile.VERSIONED  # not consumed


def test_the_argument_is_positional():
    with pytest.raises(TypeError, match="1 positional argument"):
        dlpark.from_dlpack()
    with pytest.raises(TypeError):
        dlpark.from_dlpack(x=np.zeros(1))


def test_an_output_that_holds_a_tensor(probe):
    """It is refused before the object is asked: a capsule is not consumed, and nothing is lost."""
    foreign = Foreign()
    for given in (np.zeros(3), dlpark.from_dlpack(np.zeros(3)), Offer(foreign), bytearray(3)):
        *raised, same = probe.outputs(given)
        assert same and [str(each).split(":")[0] for each in raised] == ["the output tensor already holds one"] * 3
        assert {type(each) for each in raised} == {ValueError}
    capsule = Foreign().capsule()
    raised = probe.outputs(capsule)
    assert str(raised[0]).startswith("the output tensor") and str(raised[1]).startswith("the output tensor")
    assert foreign.calls == []
