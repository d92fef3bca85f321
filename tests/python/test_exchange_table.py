"""The exchange table that dlpark publishes: each member, called as a consumer in C would, with what it must survive."""

import ctypes
import gc
import sys

import hostile
import kit_probe
import numpy as np
import pytest
from exchange_table import Exchange, kit_type
from hostile import DLDataType, DLDevice, DLTensor, Foreign
from hostile_table import NEW_NAME

import dlpark

KINDS = ["Tensor", "tensor", "tensor all", "share", "share all"]


@pytest.fixture
def fault():
    yield kit_probe.exchange_fault
    kit_probe.exchange_fault("")


@pytest.fixture(scope="module")
def types():
    return {"Tensor": dlpark.Tensor} | {name: kit_type(name) for name in KINDS[1:]}


@pytest.fixture(params=KINDS)
def cls(request, types):
    return types[request.param]


def make(cls, producer):
    return dlpark.from_dlpack(producer) if cls is dlpark.Tensor else kit_probe.exchange_make(cls, producer)


def read_only_array():
    array = np.arange(6.0).reshape(2, 3)
    array.flags.writeable = False
    return array


def test_the_table(cls, types):
    table = Exchange(cls).table
    assert (table.version.major, table.version.minor, table.prev_api) == (1, 3, None)
    assert table.allocator and table.own and table.to_py and table.current_stream
    assert bool(table.lend) is (cls is not types["share"])
    assert kit_probe.exchange_of(cls) == Exchange(cls).address


# ---- managed_tensor_from_py_object_no_sync ----


def test_an_owner(cls):
    foreign = Foreign()
    given = make(cls, foreign.capsule())
    exchange = Exchange(cls)
    first, second = exchange.own(given), exchange.own(given)
    assert ctypes.addressof(first) != ctypes.addressof(second)
    for held in (first, second):
        assert (held.version.major, held.version.minor, held.flags) == (1, 3, 0)
        assert held.dl_tensor.data == ctypes.addressof(foreign.memory)
        assert (list(held.dl_tensor.shape[:2]), list(held.dl_tensor.strides[:2])) == ([2, 3], [3, 1])
        assert held.dl_tensor.byte_offset == 0
    first.dl_tensor.shape[0] = 77
    assert second.dl_tensor.shape[0] == 2
    assert exchange.own(given).dl_tensor.shape[0] == 2
    del given
    gc.collect()
    assert foreign.calls == []


def test_owners_end_in_any_order(cls):
    for last in (0, 1):
        foreign = Foreign()
        given = make(cls, foreign.capsule())
        held = [Exchange(cls).own(given) for _ in range(3)]
        if last == 0:
            del given
        for managed in held:
            assert foreign.calls == []
            hostile.end(managed)
        if last == 1:
            assert foreign.calls == []
            del given
        assert len(foreign.calls) == 1


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_an_owner_of_edges(cls, shape):
    held = Exchange(cls).own(make(cls, np.ones(shape, np.int16)))
    assert held.dl_tensor.ndim == len(shape)
    assert bool(held.dl_tensor.data) is (0 not in shape)
    assert bool(held.dl_tensor.strides) is (shape != ())
    hostile.end(held)


@pytest.mark.parametrize("legacy, flags", [(True, 0), (False, hostile.READ_ONLY)])
def test_an_owner_says_that_it_is_read_only(cls, legacy, flags):
    """What came by the legacy ABI, too: nobody said that it may be written."""
    held = Exchange(cls).own(make(cls, Foreign(legacy=legacy, flags=flags).capsule()))
    assert held.flags == hostile.READ_ONLY
    hostile.end(held)


def test_objects_of_other_types(cls, types):
    exchange = Exchange(cls)
    others = [object(), 3, cls, None, np.zeros(1)] + [make(other, np.zeros(1)) for other in types.values()]
    for other in others:
        if type(other) is cls:
            continue
        for call in [exchange.own] + ([exchange.lend] if exchange.table.lend else []):
            with pytest.raises(TypeError, match=f"^the exchange table of {cls.__name__} was given a "):
                call(other)
        assert exchange.out.value is None


def test_subtypes():
    base = kit_type("tensor", "base")
    array = np.arange(3)
    given = kit_probe.exchange_make(type("Sub", (base,), {}), array)
    held = Exchange(base).own(given)
    assert held.dl_tensor.data == array.ctypes.data
    assert Exchange(base).lend(given).data == array.ctypes.data
    hostile.end(held)


# ---- managed_tensor_to_py_object_no_sync ----


def test_an_object(cls, types):
    foreign = Foreign()
    made = Exchange(cls).to_py(foreign.managed)
    assert type(made) is (cls if cls in (types["tensor all"], types["share all"]) else dlpark.Tensor)
    assert sys.getrefcount(made) == 2
    assert hostile.read(made.__dlpack__()).dl_tensor.data == ctypes.addressof(foreign.memory)
    assert foreign.calls == []
    del made
    assert len(foreign.calls) == 1


@pytest.mark.parametrize("flags", [0, hostile.READ_ONLY, hostile.IS_COPIED, hostile.READ_ONLY | hostile.IS_COPIED])
def test_an_object_keeps_the_flags(flags):
    made = Exchange(dlpark.Tensor).to_py(Foreign(flags=flags).managed)
    assert made.readonly is bool(flags & hostile.READ_ONLY)
    assert made.is_copied is bool(flags & hostile.IS_COPIED)


INVALID = {
    "major 2": dict(version=(2, 0)),
    "major 0": dict(version=(0, 9)),
    "ndim -1": dict(ndim=-1),
    "ndim 65": dict(ndim=65),
    "ndim huge": dict(ndim=2**31 - 1),
    "no shape": dict(shape=None, ndim=2),
    "negative extent": dict(shape=(2, -3), strides=(3, 1)),
    "too many elements": dict(shape=(2**40, 2**40)),
    "too many bytes": dict(shape=(2**62, 4)),
    "strides too far": dict(shape=(2, 2), strides=(2**62, 2**62)),
    "no data": dict(data=None),
    "offset": dict(byte_offset=2**64 - 4),
    "no lanes": dict(dtype=(2, 32, 0)),
    "no bits": dict(dtype=(2, 0, 1)),
    "odd float": dict(dtype=(2, 24, 1)),
    "unknown dtype": dict(dtype=(200, 8, 1)),
    "unknown device": dict(device=(99, 0)),
}


@pytest.mark.parametrize("fields", INVALID.values(), ids=INVALID)
def test_what_is_invalid_is_ended(cls, fields):
    foreign = Foreign(**fields)
    exchange = Exchange(cls)
    with pytest.raises(BufferError):
        exchange.to_py(foreign.managed)
    assert exchange.out.value is None
    assert len(foreign.calls) == 1


def test_of_another_major_version_nothing_is_read(cls):
    """The rest of the struct may be anything, such as addresses that nobody can read."""
    foreign = Foreign(version=(2, 0))
    tensor = foreign.managed.dl_tensor
    tensor.ndim = 2
    for field in ("shape", "strides"):
        setattr(tensor, field, ctypes.cast(ctypes.c_void_p(8), ctypes.POINTER(ctypes.c_int64)))
    with pytest.raises(BufferError, match="DLPack 2.0"):
        Exchange(cls).to_py(foreign.managed)
    assert len(foreign.calls) == 1


def test_nothing_is_taken(cls):
    with pytest.raises(BufferError, match="NULL"):
        Exchange(cls).to_py(None)


@pytest.mark.parametrize("fields", [{}, dict(ndim=-1), dict(version=(7, 0))])
def test_without_a_deleter(cls, fields):
    foreign = Foreign(deleter=False, **fields)
    if fields:
        with pytest.raises(BufferError):
            Exchange(cls).to_py(foreign.managed)
    else:
        assert hostile.read(Exchange(cls).to_py(foreign.managed).__dlpack__()).dl_tensor.ndim == 2


@pytest.mark.parametrize("kind, error", [("raise", KeyError), ("silent", RuntimeError)])
@pytest.mark.parametrize("functions", ["tensor all", "share all"])
def test_a_type_that_makes_no_object(fault, types, functions, kind, error):
    foreign = Foreign()
    exchange = Exchange(types[functions])
    fault(kind)
    with pytest.raises(error):
        exchange.to_py(foreign.managed)
    assert exchange.out.value is None
    assert len(foreign.calls) == 1


def test_a_type_that_is_no_more():
    made = kit_probe.exchange_type("", None)
    kit_probe.install_exchange(made, "share all")
    exchange, foreign = Exchange(made), Foreign()
    del made
    gc.collect()
    with pytest.raises(RuntimeError, match="no more"):
        exchange.to_py(foreign.managed)
    assert len(foreign.calls) == 1


def test_there_and_back(cls):
    array = np.arange(12, dtype=np.int32).reshape(3, 4)[::-1, ::2]
    exchange = Exchange(cls)
    made = exchange.to_py(exchange.own(make(cls, array)))
    back = np.from_dlpack(made)
    assert (back.ctypes.data, back.strides, back.tolist()) == (array.ctypes.data, array.strides, array.tolist())


# ---- dltensor_from_py_object_no_sync ----


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
def test_what_is_lent(cls, shape):
    exchange = Exchange(cls)
    if not exchange.table.lend:
        return
    array = np.ones(shape)
    given = make(cls, array)
    lent = exchange.lend(given)
    assert (lent.data or 0) == (array.ctypes.data if array.size else 0)
    assert (lent.ndim, lent.dtype.bits, lent.byte_offset) == (len(shape), 64, 0)
    assert tuple(lent.shape[: len(shape)]) == shape
    assert bool(lent.strides) is (shape != ())
    again = exchange.lend(given)
    assert not shape or ctypes.addressof(lent.shape.contents) == ctypes.addressof(again.shape.contents)


@pytest.mark.parametrize("kind", ["Tensor", "tensor", "tensor all"])
@pytest.mark.parametrize(
    "fields, word",
    [
        (dict(flags=hostile.READ_ONLY), "read-only"),
        (dict(legacy=True), "read-only"),
        (dict(flags=hostile.PADDED, dtype=(17, 4, 1)), "padded"),
    ],
)
def test_what_a_description_cannot_say(types, kind, fields, word):
    given = make(types[kind], Foreign(**fields).capsule())
    with pytest.raises(BufferError, match=f"is {word}, which a DLTensor cannot say.*managed_tensor_from_py_object"):
        Exchange(types[kind]).lend(given)


@pytest.mark.parametrize("kind, error", [("raise", KeyError), ("silent", RuntimeError), ("no strides", RuntimeError),
                                         ("no shape", RuntimeError)])
def test_descriptions_that_fail(fault, types, kind, error):
    given = make(types["share all"], np.zeros((2, 2)))
    fault(kind)
    with pytest.raises(error, match="as asked" if error is KeyError else "Image"):
        Exchange(types["share all"]).lend(given)


# ---- current_work_stream ----


def test_streams(types):
    for kind in ("Tensor", "tensor", "share"):
        for device in ((1, 0), (2, 3), (99, -1), (-5, 2**31 - 1)):
            assert Exchange(types[kind]).stream(*device) is None
    assert Exchange(types["tensor all"]).stream(2, 3) == 0x1003
    assert kit_probe.exchange_asked()[:2] == (2, 3)


@pytest.mark.parametrize("kind, error", [("raise", KeyError), ("silent", RuntimeError)])
def test_streams_that_fail(fault, types, kind, error):
    exchange = Exchange(types["share all"])
    fault(kind)
    with pytest.raises(error):
        exchange.stream(2, 0)
    assert exchange.out.value is None


# ---- managed_tensor_allocator ----


def prototype(shape=(2, 3), dtype=(2, 32, 1), device=(1, 0), ndim=None):
    """Only what counts is set: every other field is an address that nobody can read."""
    made = DLTensor(data=8, device=DLDevice(*device), dtype=DLDataType(*dtype), byte_offset=2**63)
    made.ndim = len(shape) if ndim is None else ndim
    if shape is not None:
        made.kept = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        made.shape = ctypes.cast(made.kept, ctypes.POINTER(ctypes.c_int64))
    made.strides = ctypes.cast(ctypes.c_void_p(16), ctypes.POINTER(ctypes.c_int64))
    return made


def allocate(made, told=True, cls=dlpark.Tensor):
    """Without the GIL: the allocator must not need Python."""
    return kit_probe.exchange_allocate(Exchange(cls).address, 0 if made is None else ctypes.addressof(made), told)


@pytest.mark.parametrize("dtype, nbytes", [((2, 32, 1), 4), ((6, 8, 1), 1), ((4, 16, 1), 2), ((5, 128, 1), 16),
                                           ((17, 4, 1), 0.5), ((2, 32, 4), 16), ((12, 8, 1), 1)])
@pytest.mark.parametrize("shape", [(2, 3), (), (7,), (3, 0), (1,) * 64])
def test_memory(cls, shape, dtype, nbytes):
    status, address, calls, kind, message = allocate(prototype(shape, dtype), cls=cls)
    assert (status, calls, kind, message) == (0, 0, "", "")
    held = hostile.Versioned.from_address(address)
    numel = int(np.prod(shape))
    assert (held.version.major, held.flags) == (1, 0)
    assert (held.dl_tensor.ndim, held.dl_tensor.byte_offset) == (len(shape), 0)
    assert (held.dl_tensor.device.device_type, held.dl_tensor.device.device_id) == (1, 0)
    assert tuple(held.dl_tensor.shape[: len(shape)]) == shape
    assert tuple(held.dl_tensor.strides[: len(shape)]) == hostile.compact_strides(shape)
    if numel == 0:
        assert held.dl_tensor.data is None
    else:
        assert held.dl_tensor.data % 64 == 0
        ctypes.memset(held.dl_tensor.data, 0xAA, -(-numel * dtype[1] * dtype[2] // 8))
    hostile.end(held)


REFUSED = {
    "device": (dict(device=(2, 0)), "on cuda:0, and is allocated on the cpu only"),
    "page-locked": (dict(device=(3, 0)), "on cuda_host"),
    "another cpu": (dict(device=(1, 1)), "cpu:1"),
    "unknown device": (dict(device=(77, 0)), "77"),
    "ndim -1": (dict(ndim=-1), "ndim is -1"),
    "ndim 65": (dict(ndim=65), "ndim is 65"),
    "ndim huge": (dict(ndim=2**31 - 1), "ndim is 2147483647"),
    "no shape": (dict(shape=None, ndim=1), "shape is NULL"),
    "negative": (dict(shape=(2, -1)), r"shape\[1\] is -1"),
    "elements": (dict(shape=(2**40, 2**40)), "overflow|element count"),
    "bytes": (dict(shape=(2**62,)), "overflow|bytes"),
    "lanes": (dict(dtype=(2, 32, 0)), "0 lanes"),
    "bits": (dict(dtype=(2, 0, 1)), ""),
    "dtype": (dict(dtype=(200, 8, 1)), "200"),
}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("fields, text", REFUSED.values(), ids=REFUSED)
def test_memory_that_is_refused(fields, text, told):
    import re

    status, address, calls, kind, message = allocate(prototype(**fields), told)
    assert (status, address, calls) == (-1, 0, int(told))
    if told:
        assert kind == "BufferError"
        assert re.search(text, message)


@pytest.mark.parametrize("told", [True, False])
def test_memory_that_there_is_not(told):
    status, address, calls, kind, _ = allocate(prototype((2**58,), (1, 8, 1)), told)
    assert (status, address, calls, kind) == (-1, 0, int(told), "MemoryError" if told else "")


def test_no_prototype():
    assert allocate(None)[:4] == (-1, 0, 1, "BufferError")
    assert allocate(None, False)[:3] == (-1, 0, 0)


def test_memory_becomes_an_object(cls):
    status, address, *_ = allocate(prototype((2, 3)), cls=cls)
    assert status == 0
    made = Exchange(cls).to_py(hostile.Versioned.from_address(address))
    array = np.from_dlpack(made)
    array[:] = 5
    assert array.flags.writeable and array.shape == (2, 3)


# ---- Real consumers ----


@pytest.mark.partner("tvm_ffi")
def test_tvm_ffi(cls, types):
    import tvm_ffi

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = make(cls, array)
    taken = tvm_ffi.from_dlpack(given)
    assert (tuple(taken.shape), taken.data_ptr()) == ((2, 3), array.ctypes.data)
    returned = tvm_ffi.convert(lambda x: x)(given)
    assert type(returned) is (cls if cls in (types["tensor all"], types["share all"]) else dlpark.Tensor)
    assert np.from_dlpack(returned).ctypes.data == array.ctypes.data


@pytest.mark.partner("torch")
def test_torch(cls):
    import torch

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert torch.from_dlpack(make(cls, array)).data_ptr() == array.ctypes.data
    assert getattr(cls, NEW_NAME) is cls.__dict__[NEW_NAME]
