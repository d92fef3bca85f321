"""Tensors by the C exchange table of their type: what is lent, what is owned, what the table cannot say."""

import ctypes
import gc
import threading

import hostile
import hostile_table
import pytest
from hostile import Foreign
from hostile_table import Lender, LenderToo, with_table

import dlpark

EXCHANGE, DLPACK = 0x004, 0x010
READ_ONLY, PADDED, UNKNOWN_WRITE = 1, 4, 8
NEVER, ALWAYS = 1, 2

Tabled = with_table()
Both = with_table(base=LenderToo)
LendsOnly = with_table(hostile_table.capsule(hostile_table.table(own=False)), base=LenderToo)
OwnsOnly = with_table(hostile_table.capsule(hostile_table.table(lend=False)), base=LenderToo)


def address(foreign):
    return ctypes.addressof(foreign.memory)


# ---- Lent and owned ----


def test_a_view_is_lent_and_nothing_owned(probe):
    lender = Tabled()
    view, owned = probe.py_view(lender)
    assert view == (address(lender.foreign), "float32", "cpu", [2, 3], [3, 1], UNKNOWN_WRITE)
    assert (owned, lender.lent, lender.owned, lender.foreign.calls) == (False, 1, 0, [])


def test_an_import_owns_and_ends_once():
    lender = Tabled()
    tensor = dlpark.from_dlpack(lender)
    assert (tensor.shape, tensor.readonly, tensor.is_copied) == ((2, 3), False, False)
    assert (lender.owned, lender.lent, lender.foreign.calls) == (1, 0, [])
    del tensor
    assert lender.foreign.calls == [threading.get_ident()]


def test_flags_of_the_owner_are_kept(probe):
    for flags, readonly, is_copied in ((hostile.READ_ONLY, True, False), (hostile.IS_COPIED, False, True)):
        tensor = dlpark.from_dlpack(Tabled(Foreign(flags=flags)))
        assert (tensor.readonly, tensor.is_copied) == (readonly, is_copied)
    _, origin, _ = probe.py_import(Tabled())
    assert origin == (EXCHANGE, False, None)


def test_a_table_without_the_view_lends_an_owner(probe):
    lender = OwnsOnly()
    view, owned = probe.py_view(lender)
    assert (view[5], owned, lender.lent, lender.owned) == (0, True, 0, 1)
    assert len(lender.foreign.calls) == 1


def test_a_table_without_owners_lends_views_and_leaves_the_rest_to_dlpack(probe):
    lender = LendsOnly()
    assert probe.py_view(lender)[1] is False
    _, origin, _ = probe.py_import(lender)
    assert (origin[0], lender.owned, lender.asked) == (DLPACK, 0, {"max_version": (1, 3)})
    with pytest.raises(BufferError, match="^Tabled: its exchange table lends tensors, and gives no owners$"):
        probe.py_import(lender, paths=EXCHANGE)


@pytest.mark.parametrize("deleter", [False, True])
def test_a_null_deleter_is_tolerated(probe, deleter):
    lender = OwnsOnly(Foreign(deleter=deleter))
    dlpark.from_dlpack(lender)
    probe.py_view(lender)
    assert len(lender.foreign.calls) == 2 * deleter


# ---- What the table cannot say ----


def test_complex_elements_go_to_dlpack(probe):
    """They may be conjugated."""
    lender = Both(Foreign(dtype=(5, 64, 1)))
    for call in (probe.py_import, probe.py_view, probe.lend):
        del lender.foreign.calls[:]
        lender.asked = None
        call(lender)
        assert lender.asked == {"max_version": (1, 3)}
    lender = Tabled(Foreign(dtype=(5, 64, 1)))
    with pytest.raises(BufferError, match="^Tabled: its dtype is complex, and .* conjugated$"):
        probe.py_import(lender, paths=EXCHANGE)
    assert len(lender.foreign.calls) == 1
    with pytest.raises(BufferError, match="^Tabled: its dtype is complex"):
        probe.py_view(lender)
    assert len(lender.foreign.calls) == 2


def test_copy_of_complex_elements_is_made_by_dlpark():
    """As it would be of any other dtype: the table was near to being used."""
    lender = Both(Foreign(dtype=(5, 64, 1)))
    tensor = dlpark.from_dlpack(lender, copy=True)
    assert (tensor.is_copied, lender.asked) == (True, {"max_version": (1, 3)})


def test_null_data_with_elements_is_refused(probe):
    """As of PyTorch's fake tensors."""
    lender = Both(Foreign(data=None))
    for call in (probe.py_view, probe.py_import, dlpark.from_dlpack):
        with pytest.raises(BufferError, match="^Tabled: .*NULL"):
            call(lender)
    assert (lender.lent, lender.owned, len(lender.foreign.calls)) == (1, 2, 2)
    assert probe.py_view(Tabled(Foreign(data=None, shape=(0, 2))))[0][0] == 0


@pytest.mark.parametrize("flags", [0, hostile.PADDED])
def test_packed_elements_are_owned_for_their_flags(probe, flags):
    lender = Tabled(Foreign(dtype=(0, 4, 1), flags=flags))
    view, owned = probe.py_view(lender)
    assert (view[1], view[5], owned) == ("int4", flags, True)
    assert (lender.lent, lender.owned, len(lender.foreign.calls)) == (1, 1, 1)


def test_writers_own_for_the_flags(probe):
    lender = Tabled()
    view, owned = probe.py_view(lender, writable=True)
    assert (view[5], owned, lender.lent) == (0, True, 0)
    lender = Tabled(Foreign(flags=hostile.READ_ONLY))
    with pytest.raises(BufferError, match="will be written, and is read-only"):
        probe.py_view(lender, writable=True)
    with pytest.raises(BufferError, match="will be written, and is read-only"):
        probe.py_import(lender, writable=True)
    assert len(lender.foreign.calls) == 2
    assert probe.lend(lender, writable=True)[0][5] == READ_ONLY  # for the caller to see
    with pytest.raises(BufferError, match="its exchange table lends tensors"):
        probe.py_import(LendsOnly(), writable=True, paths=EXCHANGE)


@pytest.mark.parametrize("value, refused", [(True, True), (False, False), (None, False), (1, False), ("yes", False)])
def test_writers_ask_for_gradients(probe, value, refused):
    for lender in (with_table(requires_grad=value)(), Tabled()):
        lender.requires_grad = value
        for call in (probe.py_view, probe.py_import, probe.lend):
            del lender.foreign.calls[:]
            if refused:
                with pytest.raises(BufferError, match="^Tabled requires gradients, .*detach"):
                    call(lender, writable=True)
                assert lender.foreign.calls == []
            else:
                call(lender, writable=True)
        assert probe.py_view(lender)[1] is False  # readers do not


def test_gradients_that_cannot_be_asked_for(probe):
    class Property:
        @property
        def requires_grad(self):
            raise self.error

    made = type("Tabled", (Property, Lender), {hostile_table.NEW_NAME: hostile_table.capsule(hostile_table.table())})()
    made.error = KeyError("boom")
    with pytest.raises(KeyError, match="boom"):
        probe.py_view(made, writable=True)
    made.error = AttributeError("none")
    assert probe.py_view(made, writable=True)[1] is True


# ---- Functions that fail ----


@pytest.mark.parametrize("error", [BufferError("boom"), KeyError("boom"), MemoryError("boom"), KeyboardInterrupt()])
def test_exceptions_of_the_table_come_through(probe, error):
    lender = Both(fault=error)
    for call in (probe.py_view, probe.py_import, dlpark.from_dlpack):
        with pytest.raises(type(error)) as caught:
            call(lender)
        assert caught.value is error
    assert not hasattr(lender, "asked")


def test_a_runtime_error_of_the_table_leaves_it_to_dlpack(probe):
    """PyTorch says so, with a page of addresses, what its __dlpack__ says in one sentence."""
    lender = Both(fault=RuntimeError("frame #0: frame #1:"))
    assert probe.py_import(lender)[1][0] == DLPACK
    assert probe.py_view(lender) == (probe.py_view(lender)[0], True)
    with pytest.raises(RuntimeError, match="frame #1"):
        probe.py_import(lender, paths=EXCHANGE)


@pytest.mark.parametrize("error", [RuntimeError("frame #0:"), NotImplementedError("not yet")])
def test_a_runtime_error_of_the_table_is_the_users_where_nothing_else_serves(probe, error):
    for call in (probe.py_view, probe.py_import, probe.request, dlpark.from_dlpack):
        with pytest.raises(RuntimeError) as caught:
            call(Tabled(fault=error))
        assert caught.value is error


@pytest.mark.parametrize("later", [BufferError("needs gradients"), KeyboardInterrupt()])
def test_a_runtime_error_of_the_table_is_the_context_of_what_dlpack_raises(probe, later):
    def ask(self, **_):
        raise later

    Refusing = with_table(base=LenderToo, __dlpack__=ask)
    for call in (probe.py_view, probe.py_import, dlpark.from_dlpack):
        lender = Refusing(fault=RuntimeError("frame #0:"))
        later.__context__ = None
        with pytest.raises(type(later)) as caught:
            call(lender)
        assert caught.value is later and later.__context__ is lender.fault


@pytest.mark.parametrize("writable, function", [(False, "dltensor"), (True, "managed_tensor")])
def test_silent_failures_get_an_exception(probe, writable, function):
    lender = Both(fault="silent")
    text = f"^{function}_from_py_object_no_sync of Tabled failed without saying why$"
    with pytest.raises(RuntimeError, match=text):
        probe.py_view(lender, writable=writable)
    with pytest.raises(RuntimeError, match="^managed_tensor_from_py_object_no_sync of Tabled failed without"):
        dlpark.from_dlpack(lender)


def test_success_without_a_tensor(probe):
    lender = Tabled()
    lender.answer = lambda address: 0
    with pytest.raises(RuntimeError, match="managed_tensor_from_py_object_no_sync of Tabled failed without"):
        dlpark.from_dlpack(lender)


# ---- Tensors that are refused ----

REFUSED = [
    ("another major", dict(version=(2, 0)), "2.0.*1.3"),
    ("negative extent", dict(shape=(2, -3)), r"shape\[1\].*-3"),
    ("65 dimensions", dict(shape=(1,) * 65), "65"),
    ("bytes overflow", dict(shape=(2**61,)), "2305843009213693952"),
    ("no shape", dict(shape=None, ndim=2, strides=None), "NULL"),
    ("unknown dtype", dict(dtype=(18, 16, 1)), "18"),
    ("no lanes", dict(dtype=(2, 32, 0)), "lanes"),
    ("unknown flag", dict(flags=1 << 40), "0x10000000000"),
]


@pytest.mark.parametrize("fields, text", [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_owner_is_ended_once(fields, text):
    lender = Tabled(Foreign(**fields))
    with pytest.raises(BufferError, match=f"^Tabled: .*{text}"):
        dlpark.from_dlpack(lender)
    assert len(lender.foreign.calls) == 1
    with pytest.raises(BufferError, match=text):
        dlpark.from_dlpack(Tabled(Foreign(deleter=False, **fields)))


@pytest.mark.parametrize("fields, text", [row[1:] for row in REFUSED[1:-1]], ids=[row[0] for row in REFUSED[1:-1]])
def test_refused_view_ends_nothing(probe, fields, text):
    lender = Tabled(Foreign(**fields))
    with pytest.raises(BufferError, match=f"^Tabled: .*{text}"):
        probe.py_view(lender)
    assert lender.foreign.calls == []


def test_what_no_table_gives_out_as_we_promise_is_wrapped():
    foreign = Foreign(strides=None, byte_offset=4, version=(1, 0))
    tensor = dlpark.from_dlpack(Tabled(foreign))
    assert tensor.strides == (3, 1)
    assert hostile.read(tensor.__dlpack__(max_version=(1, 0))).dl_tensor.data == address(foreign) + 4
    del tensor
    gc.collect()
    assert len(foreign.calls) == 1


# ---- Devices and copies ----


def test_a_copy_is_dlparks_own():
    lender = Both()
    tensor = dlpark.from_dlpack(lender, copy=True)
    assert (tensor.is_copied, tensor.readonly, len(lender.foreign.calls)) == (True, False, 1)
    assert not hasattr(lender, "asked")
    with pytest.raises(BufferError, match="made a copy although copy=False"):
        dlpark.from_dlpack(Both(Foreign(flags=hostile.IS_COPIED)), copy=False)


def test_another_device_is_asked_of_dlpack():
    on_device = Foreign(device=(hostile.CUDA, 0))
    lender = Both(on_device)
    with pytest.raises(BufferError, match="came on cuda:0, and cpu was asked for"):
        dlpark.from_dlpack(lender, device="cpu")
    assert lender.asked == {"max_version": (1, 3), "dl_device": (1, 0)}
    with pytest.raises(dlpark.DeviceCopyError):
        dlpark.from_dlpack(lender, device="cpu", copy=False)
    with pytest.raises(BufferError, match="^Tabled: it is on another device than was asked for$"):
        dlpark.from_dlpack(lender, device="cpu", via="exchange")
    assert dlpark.from_dlpack(Both(Foreign(device=(hostile.CUDA_HOST, 0))), device="cpu").device == "cpu"


# ---- Streams ----

ORDERED = [(hostile.CUDA, 0), (hostile.CUDA, 3), (13, 0), (10, 1), (8, 0)]


@pytest.fixture
def streams():
    hostile_table.streams.clear()
    del hostile_table.asked_streams[:]
    yield hostile_table.streams
    hostile_table.streams.clear()


@pytest.mark.parametrize("device", ORDERED)
def test_nobody_orders(probe, streams, device):
    lender = Both(Foreign(device=device))
    for call in (probe.py_import, probe.py_view):
        lender.asked = None
        call(lender)
        assert lender.asked["max_version"] == (1, 3)
    with pytest.raises(BufferError, match="^Tabled: its device has streams, and nobody orders"):
        probe.py_import(lender, paths=EXCHANGE)


@pytest.mark.parametrize("stream, native", [(None, 0), (1, 1), (2, 2), (0x7000, 0x7000)])
def test_order_gets_both_streams(probe, streams, stream, native):
    streams[hostile.CUDA, 3] = 0x5000
    calls = []
    lender = Both(Foreign(device=(hostile.CUDA, 3)))
    order = lambda *args: calls.append(args)  # noqa: E731
    _, origin, view = probe.py_import(lender, order=order, stream=stream)
    assert (origin, view[2]) == ((EXCHANGE, False, 0x5000), "cuda:3")
    assert calls[0][:2] == ((hostile.CUDA, 3), 0x5000)
    assert calls[0][2] in (native, 1 if stream is None else native)  # CUDA has two names for the default stream
    assert probe.py_view(lender, order=order, stream=stream)[1] is False
    assert len(calls) == 2
    assert not hasattr(lender, "asked")


@pytest.mark.parametrize("answer", [False, ValueError("no"), KeyboardInterrupt()])
def test_order_that_fails(probe, streams, answer):
    def order(*_):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    for call in (probe.py_import, probe.py_view):
        lender = Both(Foreign(device=(hostile.CUDA, 0)))
        if isinstance(answer, KeyboardInterrupt):
            with pytest.raises(KeyboardInterrupt):
                call(lender, order=order)
            assert not hasattr(lender, "asked")
        else:
            call(lender, order=order, stream=2)
            assert lender.asked == {"max_version": (1, 3), "stream": 2}


def test_what_is_lent_is_read_again_after_the_order(probe, streams):
    lender = Both(Foreign(device=(hostile.CUDA, 0)))
    other = Foreign(device=(hostile.CUDA, 0), shape=(5,))
    elsewhere = Foreign(device=(hostile.CUDA, 1))

    def order(*_):
        lender.foreign = other

    assert probe.py_view(lender, order=order)[0][3] == [5]

    def move(*_):
        lender.foreign = elsewhere

    view, owned = probe.py_view(lender, order=move)
    assert (view[2], view[5], owned, len(elsewhere.calls)) == ("cuda:1", 0, True, 1)


def test_producers_stream_needs_no_order(probe, streams):
    streams[hostile.CUDA, 0] = 0x5000
    lender = Both(Foreign(device=(hostile.CUDA, 0)))
    assert probe.py_view(lender, on_producer_stream=True)[1] is False
    assert probe.py_import(lender, on_producer_stream=True)[1] == (EXCHANGE, False, 0x5000)
    silent = with_table(hostile_table.capsule(hostile_table.table(stream=False)), base=LenderToo)(lender.foreign)
    assert probe.py_import(silent, on_producer_stream=True)[1] == (EXCHANGE, False, None)
    assert probe.py_import(silent, order=lambda *_: None)[1][0] == DLPACK  # nobody knows its stream


def test_no_synchronisation_needs_no_order(probe, streams):
    lender = Both(Foreign(device=(hostile.CUDA, 0)))
    assert probe.py_import(lender, stream=-1)[1][0] == EXCHANGE


@pytest.mark.parametrize("answer, error", [(None, RuntimeError), (KeyError("boom"), KeyError)])
def test_stream_that_cannot_be_asked_for(probe, streams, answer, error):
    streams[hostile.CUDA, 0] = answer
    lender = Both(Foreign(device=(hostile.CUDA, 0)))
    with pytest.raises(error, match="current_work_stream of Tabled failed without|boom"):
        probe.py_import(lender)
    assert len(lender.foreign.calls) == 1


def test_stream_that_means_nothing(probe, streams):
    lender = Both(Foreign(device=(hostile.CUDA, 0)))
    for call in (probe.py_import, probe.py_view):
        with pytest.raises(ValueError, match="stream=0 .*cuda:0"):
            call(lender, stream=0, order=lambda *_: None)
    assert len(lender.foreign.calls) == 1


def test_page_locked_memory_has_no_streams(probe, streams):
    lender = Tabled(Foreign(device=(hostile.CUDA_HOST, 0)))
    assert probe.py_view(lender)[0][2] == "cuda_host"
    assert probe.py_import(lender)[1] == (EXCHANGE, False, None)
    assert hostile_table.asked_streams == []


def test_copy_on_a_device_is_asked_of_dlpack(probe, streams):
    lender = Both(Foreign(device=(hostile.CUDA, 0), flags=hostile.IS_COPIED))
    assert probe.py_import(lender, copy=ALWAYS, order=lambda *_: None)[1][:2] == (DLPACK, True)
    assert lender.asked == {"max_version": (1, 3), "copy": True, "stream": 1}


# ---- Layout ----


def test_compact_on_request(probe):
    lender = Both(Foreign(strides=(1, 2)))
    view, owned = probe.py_view(lender, to_compact=True)
    assert (view[4], owned, view[5]) == ([3, 1], True, 0)
    assert len(lender.foreign.calls) == 1
    assert probe.py_view(Both(), to_compact=True)[1] is False
    with pytest.raises(BufferError, match="is not compact, and must not be copied"):
        probe.py_import(lender, to_compact=True, copy=NEVER)
    on_device = Both(Foreign(device=(hostile.CUDA, 0), strides=(1, 2)))
    with pytest.raises(BufferError, match="a copy on cuda:0 was asked for, which the producer did not make: the driver of CUDA"):
        probe.py_import(on_device, to_compact=True, stream=-1)
    lender = OwnsOnly(Foreign(strides=(1, 2)))
    assert probe.py_view(lender, to_compact=True, writable=True)[0][4] == [3, 1]
    assert len(lender.foreign.calls) == 2
