"""dlpark's own tensors, taken by the module and by another copy of the kit."""

import sys
import threading

import hostile
import hostile_table
import numpy as np
import pytest
from hostile import Foreign

import dlpark

OWN, DLPACK = 0x002, 0x010
READ_ONLY, UNKNOWN_WRITE = 1, 8
ALWAYS = 2


def test_the_same_object_where_nothing_is_asked():
    tensor = dlpark.from_dlpack(np.zeros(3))
    before = sys.getrefcount(tensor)
    assert dlpark.from_dlpack(tensor) is tensor
    assert sys.getrefcount(tensor) == before
    again = dlpark.from_dlpack(tensor, copy=None)
    assert again is not tensor and np.shares_memory(np.asarray(again), np.asarray(tensor))


def test_a_view_is_lent(probe):
    array = np.zeros((2, 3), np.int16)
    tensor = dlpark.from_dlpack(array)
    before = sys.getrefcount(tensor)
    view, owned = probe.py_view(tensor)
    assert (view, owned) == (probe.py_view(array)[0], False)
    assert sys.getrefcount(tensor) == before
    assert probe.py_view(tensor, writable=True)[1] is False


@pytest.mark.parametrize("legacy", [False, True])
def test_the_last_owner_ends_it_once(probe, legacy):
    foreign = Foreign(legacy=legacy)
    tensor = dlpark.from_dlpack(foreign.capsule())
    capsule, origin, view = probe.py_import(tensor)
    assert (origin, view[3]) == ((OWN, False, None), [2, 3])
    shared = dlpark.from_dlpack(tensor, via="own")
    del tensor
    del capsule
    assert foreign.calls == []
    del shared
    assert foreign.calls == [threading.get_ident()]


def test_flags_are_kept(probe):
    read_only = dlpark.from_dlpack(Foreign(flags=hostile.READ_ONLY).capsule())
    legacy = dlpark.from_dlpack(Foreign(legacy=True).capsule())
    assert probe.py_view(read_only)[0][5] == READ_ONLY
    assert probe.py_view(legacy)[0][5] in (READ_ONLY, UNKNOWN_WRITE)  # another copy of the library cannot ask ours
    for tensor in (read_only, legacy):
        with pytest.raises(BufferError, match="will be written, and "):
            probe.py_view(tensor, writable=True)
        assert dlpark.from_dlpack(tensor, copy=None).readonly


def test_two_copies_of_the_library_in_turn(probe):
    """Neither wraps what the other has made: the deleter behind them all is reached, and what they hold does not grow."""
    foreign = Foreign()
    tensor = dlpark.from_dlpack(foreign.capsule())
    kept = []
    for _ in range(1000):
        kept.append(probe.py_import(tensor)[0])
        kept.append(tensor.__dlpack__(max_version=(1, 0)))
    managed = hostile.consume(kept.pop())
    del tensor
    kept.clear()
    assert foreign.calls == []
    hostile.end(managed)
    assert len(foreign.calls) == 1


def test_copies(probe):
    array = np.arange(3)
    tensor = dlpark.from_dlpack(array)
    assert probe.py_import(tensor, copy=ALWAYS)[1] == (OWN, True, None)
    copied = dlpark.from_dlpack(tensor, copy=True)
    assert dlpark.from_dlpack(copied).is_copied  # it is the same object
    assert not dlpark.from_dlpack(copied, copy=None).is_copied


def test_devices():
    tensor = dlpark.from_dlpack(Foreign(device=(hostile.CUDA, 0)).capsule())
    assert dlpark.from_dlpack(tensor, device="cuda:0").device == "cuda:0"
    with pytest.raises(BufferError):
        dlpark.from_dlpack(tensor, device="cpu")
    with pytest.raises(dlpark.DeviceCopyError):
        dlpark.from_dlpack(tensor, device="cpu", copy=False)
    with pytest.raises(BufferError, match="came on cuda:0, and cpu was asked for: the driver of CUDA"):
        dlpark.from_dlpack(tensor, device="cpu", via="own")


# ---- Streams ----


@pytest.fixture
def on_device():
    hostile_table.streams.clear()
    return dlpark.from_dlpack(Foreign(device=(hostile.CUDA, 0)).capsule())


def test_the_default_stream_is_ready(probe, on_device):
    assert probe.py_import(on_device)[1] == (OWN, False, None)
    assert probe.py_view(on_device)[1] is False
    assert probe.py_view(on_device, on_producer_stream=True)[1] is False


def test_another_stream_is_ordered(probe, on_device):
    calls = []
    _, origin, _ = probe.py_import(on_device, stream=0x7000, order=lambda *args: calls.append(args))
    assert (origin[0], calls) == (OWN, [((hostile.CUDA, 0), 1, 0x7000)])
    assert probe.py_view(on_device, stream=-1)[1] is False


def test_another_stream_that_nobody_orders(probe, on_device):
    with pytest.raises(BufferError, match="^Tensor: .*not ready on the stream"):
        probe.py_import(on_device, stream=0x7000, paths=OWN)
    with pytest.raises(BufferError, match="^Tensor: .*not ready on the stream"):
        probe.py_import(on_device, stream=0x7000, order=lambda *_: False, paths=OWN)


# ---- Threads ----


@pytest.mark.threads
def test_threads_share_one_tensor(probe):
    for _ in range(20):
        foreign = Foreign()
        tensor = dlpark.from_dlpack(foreign.capsule())
        kept = []
        barrier = threading.Barrier(4)

        def work():
            barrier.wait()
            for _ in range(25):
                kept.append(dlpark.from_dlpack(tensor, copy=None))
                kept.append(probe.py_import(tensor)[0])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        del tensor
        assert (len(kept), foreign.calls) == (200, [])
        kept.clear()
        assert len(foreign.calls) == 1


def test_tensors_that_end_are_made_again_as_new():
    """Ended objects are kept for the next ones."""
    import weakref

    for _ in range(100):
        tensors = [dlpark.from_dlpack(np.full(2, i)) for i in range(40)]
        references = [weakref.ref(tensor) for tensor in tensors]
        assert [np.asarray(tensor).tolist() for tensor in tensors] == [[i, i] for i in range(40)]
        assert [reference() for reference in references] == tensors
        tensors.clear()
        assert [reference() for reference in references] == [None] * 40
