"""What __dlpack__ is asked, of every kind of owner: a Tensor, types of an extension, an owner without a type."""

import ctypes
import itertools
import types

import hostile
import kit_probe
import numpy as np
import pytest
from exchange_table import kit_type
from hostile import Foreign

import dlpark

COPIES = [None, False, True]
VERSIONS = [None, (0, 0), (0, 9), (1, 0), (1, 2), (1, 3), (1, 99), (2, 0), (1000, 0)]
DEVICES = [None, (1, 0)]


def bare(producer):
    """An owner that answers by dlpark_py_answer_dlpack() alone."""
    if not isinstance(producer, np.ndarray):
        producer = dlpark.from_dlpack(producer)
    return types.SimpleNamespace(
        __dlpack__=lambda **keywords: kit_probe.answer_dlpack(producer, **keywords),
        __dlpack_device__=lambda: kit_probe.answer_dlpack_device(producer),
    )


OWNERS = {
    "Tensor": dlpark.from_dlpack,
    "tensor": lambda producer: kit_probe.exchange_make(kit_type("tensor"), producer),
    "tensor all": lambda producer: kit_probe.exchange_make(kit_type("tensor all"), producer),
    "share": lambda producer: kit_probe.exchange_make(kit_type("share"), producer),
    "share all": lambda producer: kit_probe.exchange_make(kit_type("share all"), producer),
    "bare": bare,
}


@pytest.fixture(params=OWNERS.values(), ids=OWNERS)
def own(request):
    return request.param


@pytest.mark.parametrize("dtype", ["bool", "i2", "u8", "f2", "f8", "c16"])
@pytest.mark.parametrize("shape", [(1,), (3, 2), (0,), ()])
def test_as_array_api_tests_ask(own, dtype, shape):
    """No combination raises for memory of the CPU that may be written, and each is answered as it was asked."""
    array = np.ones(shape, dtype)
    given = own(array)
    for copy, version, device in itertools.product(COPIES, VERSIONS, DEVICES):
        capsule = given.__dlpack__(copy=copy, max_version=version, dl_device=device, stream=None)
        legacy = version is None or version[0] == 0
        assert hostile.capsule_name(capsule) == (hostile.LEGACY if legacy else hostile.VERSIONED)
        held = hostile.read(capsule)
        if not legacy:
            assert (held.version.major, held.version.minor) == (1, 3)
            assert held.flags == (hostile.IS_COPIED if copy else 0)
        tensor = held.dl_tensor
        assert (tensor.byte_offset, tensor.device.device_type, tensor.device.device_id) == (0, 1, 0)
        if array.size == 0:
            assert tensor.data is None
        else:
            assert (tensor.data == array.ctypes.data) is (copy is not True)
        assert tuple(tensor.shape[: len(shape)]) == shape
        assert bool(tensor.strides) is (shape != ())
    assert given.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    "keywords, error, text",
    [
        (dict(copy=None, stream="1"), ValueError, "stream="),
        (dict(stream=True), ValueError, "stream="),
        (dict(stream=1.5), ValueError, "stream="),
        (dict(stream=0), ValueError, "stream="),
        (dict(stream=2**80), ValueError, "stream="),
        (dict(max_version="1.0"), TypeError, "max_version must be a tuple of two integers, not str"),
        (dict(max_version=1), TypeError, "max_version must be a tuple of two integers, not int"),
        (dict(max_version=[1, 0]), TypeError, "max_version must be a tuple of two integers, not list"),
        (dict(max_version=()), TypeError, "not of 0"),
        (dict(max_version=(1, 0, 0)), TypeError, "not of 3"),
        (dict(max_version=(1, None)), TypeError, "max_version"),
        (dict(max_version=("1", 0)), TypeError, "max_version"),
        (dict(max_version=(1.0, 0)), TypeError, "max_version"),
        (dict(max_version=(-1, 0)), TypeError, "no version"),
        (dict(max_version=(1, -1)), TypeError, "no version"),
        (dict(max_version=(2**70, 0)), TypeError, "64 bits"),
        (dict(max_version=(1, -(2**70))), TypeError, "64 bits"),
        (dict(dl_device=1), TypeError, "dl_device"),
        (dict(dl_device=("cpu", 0)), TypeError, "dl_device"),
        (dict(dl_device=(1,)), TypeError, "dl_device"),
        (dict(dl_device=(2**40, 0)), BufferError, "no device"),
        (dict(dl_device=(0, 0)), BufferError, "cannot be copied"),
        (dict(dl_device=(1, 1)), BufferError, "cpu:1"),
        (dict(dl_device=(2, 0)), BufferError, "cuda:0"),
        (dict(dl_device=(2, 0), copy=True), BufferError, "cuda:0"),
        (dict(version=(1, 0)), TypeError, "unexpected keyword argument 'version'"),
        (dict(max_version=(1, 0), copy_=True), TypeError, "unexpected keyword argument 'copy_'"),
    ],
)
def test_keywords_of_another_kind(own, keywords, error, text):
    foreign = Foreign()
    given = own(foreign.capsule())
    with pytest.raises(error, match=text):
        given.__dlpack__(**keywords)
    assert foreign.calls == []
    del given
    assert len(foreign.calls) == 1


def test_forbidden_copies(own):
    given = own(np.zeros(1))
    with pytest.raises(dlpark.DeviceCopyError) as caught:
        given.__dlpack__(dl_device=(2, 0), copy=False)
    assert isinstance(caught.value, BufferError) and isinstance(caught.value, ValueError)
    given = own(Foreign(device=(hostile.CUDA, 0)).capsule())
    with pytest.raises(dlpark.DeviceCopyError, match="cuda:0 and cpu was asked for"):
        given.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="cuda:0 and cannot be copied to cpu"):
        given.__dlpack__(dl_device=(1, 0))


def test_arguments_whose_own_code_fails(own):
    class Fails:
        def __index__(self):
            raise KeyError("index")

        def __bool__(self):
            raise KeyError("truth")

    given = own(np.zeros(1))
    for keywords in (
        dict(stream=Fails()),
        dict(max_version=(Fails(), 0)),
        dict(max_version=(1, Fails())),
        dict(dl_device=(1, Fails())),
    ):
        with pytest.raises(KeyError, match="index"):
            given.__dlpack__(**keywords)
    with pytest.raises(KeyError, match="truth"):
        given.__dlpack__(copy=Fails())


def test_truth_decides_of_copies(own):
    array = np.ones(3)
    given = own(array)
    for copy, copied in ((0, False), (1, True), (np.True_, True), (np.False_, False), ([], False), ([0], True)):
        held = hostile.read(given.__dlpack__(copy=copy, max_version=(1, 0)))
        assert (held.dl_tensor.data != array.ctypes.data) is copied


def test_names_that_are_other_strings(own):
    """Names are compared as objects first; the text is what counts."""

    class Text(str):
        pass

    given = own(np.ones(3))
    for make in (lambda name: "".join(list(name)), Text):
        keywords = {make("max_version"): (1, 0), make("copy"): True}
        assert all(name is not other for name, other in zip(keywords, ("max_version", "copy")))
        held = hostile.read(given.__dlpack__(**keywords))
        assert held.flags == hostile.IS_COPIED


def test_versions_of_other_integers(own):
    given = own(np.ones(3))
    for version in ((np.int8(1), np.uint64(0)), (True, False), (1, 10**15)):
        assert hostile.capsule_name(given.__dlpack__(max_version=version)) == hostile.VERSIONED
    assert hostile.capsule_name(given.__dlpack__(max_version=(False, 1))) == hostile.LEGACY


def test_positional(own):
    if own is bare:
        with pytest.raises(TypeError, match="keyword arguments only"):
            kit_probe.answer_dlpack(np.zeros(1), None)
        return
    with pytest.raises(TypeError, match="keyword arguments only"):
        own(np.zeros(1)).__dlpack__(None)


def test_earlier_exports_do_not_change(own):
    """Whatever is asked later, or done to another export, a consumer's struct stays as it was given."""
    array = np.arange(6.0).reshape(2, 3)
    given = own(array)
    first = hostile.read(given.__dlpack__(max_version=(1, 0)))
    legacy = hostile.read(given.__dlpack__())
    before = bytes(first), bytes(legacy), list(first.dl_tensor.shape[:2]), list(legacy.dl_tensor.strides[:2])
    for copy, version, device in itertools.product(COPIES, VERSIONS, DEVICES):
        other = hostile.read(given.__dlpack__(copy=copy, max_version=version, dl_device=device))
        other.dl_tensor.shape[0] = other.dl_tensor.strides[1] = -77
        other.dl_tensor.ndim = 9
    assert (bytes(first), bytes(legacy), list(first.dl_tensor.shape[:2]), list(legacy.dl_tensor.strides[:2])) == before
    assert hostile.read(given.__dlpack__()).dl_tensor.shape[0] == 2


def test_byte_offsets_are_folded(own):
    foreign = Foreign(byte_offset=24)
    given = own(foreign.capsule())
    for version in (None, (1, 0)):
        held = hostile.read(given.__dlpack__(max_version=version)).dl_tensor
        assert (held.data, held.byte_offset) == (ctypes.addressof(foreign.memory) + 24, 0)


def test_handles_keep_their_offset(own):
    foreign = Foreign(byte_offset=24, device=(4, 0), data=0x1234)
    held = hostile.read(own(foreign.capsule()).__dlpack__()).dl_tensor
    assert (held.data, held.byte_offset) == (0x1234, 24)


@pytest.mark.parametrize(
    "device, pair", [((2, 0), (2, 0)), ((2, 7), (2, 7)), ((10, 1), (10, 1)), ((13, 0), (13, 0)), ((8, 0), (8, 0))]
)
def test_devices(own, device, pair):
    given = own(Foreign(device=device).capsule())
    first, second = given.__dlpack_device__(), given.__dlpack_device__()
    assert first == second == pair
    assert first is second  # a tuple is shared
    assert [type(number) for number in first] == [int, int]


def test_more_devices_than_are_remembered(own):
    for index in range(40):
        for kind in (2, 10):
            given = own(Foreign(device=(kind, index)).capsule())
            assert given.__dlpack_device__() == (kind, index) == given.__dlpack_device__()
