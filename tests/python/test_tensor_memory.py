"""What the methods of Tensor leave behind: no reference, no block of memory, whether they succeed or fail."""

import gc

import hostile
import numpy as np
import pytest
from steady import assert_steady

import dlpark

SHAPE, DTYPE, KEY, NUMBER = (3, 2), np.dtype("float64"), (slice(None), 10**9), 10**12


def fails(call):
    def caught(tensor):
        try:
            call(tensor)
        except (TypeError, ValueError, IndexError, OverflowError):
            return
        raise AssertionError("it did not fail")

    return caught


CALLS = {
    "index": lambda t: t[0, ::-1, None, ...],
    "index number": lambda t: t[np.int64(1)],
    "index out": fails(lambda t: t[KEY]),
    "index far out": fails(lambda t: t[2**80]),
    "index kind": fails(lambda t: t[[1, 2]]),
    "index late kind": fails(lambda t: t[np.array([1, 2])]),
    "assign": fails(lambda t: t.__setitem__(0, KEY)),
    "contains": fails(lambda t: NUMBER in t),
    "iterate": lambda t: [len(part) for part in t],
    "iterate rank 0": fails(lambda t: iter(t[0, 0])),
    "attributes": lambda t: (t.shape, t.strides, t.dtype, t.device, t.ndim, t.size, t.nbytes, t.readonly, t.stream),
    "T": lambda t: (t.T, t.mT, t.real),
    "imag": fails(lambda t: t.imag),
    "permute": lambda t: t.permute(1, 0),
    "permute list": lambda t: t.permute([1, 0]),
    "permute twice": fails(lambda t: t.permute(1, 1)),
    "reshape": lambda t: t.reshape(SHAPE),
    "reshape copy": lambda t: t.reshape(3, 2, copy=True),
    "reshape strided": lambda t: t.T.reshape(-1),
    "reshape never": fails(lambda t: t.T.reshape(-1, copy=False)),
    "reshape count": fails(lambda t: t.reshape(5)),
    "reshape keyword": fails(lambda t: t.reshape(5, order=KEY)),
    "squeeze": lambda t: t.squeeze(),
    "expand_dims": lambda t: t.expand_dims((0, -1)),
    "flip": lambda t: t.flip((0, 1)),
    "broadcast_to": lambda t: t.broadcast_to((4, 2, 3)),
    "broadcast_to none": fails(lambda t: t.broadcast_to(SHAPE)),
    "diagonal": lambda t: t.diagonal(1),
    "windows": lambda t: t.sliding_window_view(SHAPE[::-1]),
    "view": lambda t: t.view(DTYPE),
    "view name": lambda t: t.view("uint8"),
    "view nothing": fails(lambda t: t.view("nothing")),
    "view swapped": fails(lambda t: t.view(np.dtype(">f8"))),
    "copy": lambda t: t.copy(),
    "astype": lambda t: t.astype(DTYPE),
    "astype other": lambda t: t.astype("float32", overflow="satall"),
    "astype refused": fails(lambda t: t.astype("float32", overflow="wrap")),
    "tobytes": lambda t: t.tobytes(),
    "tolist": lambda t: t.tolist(),
    "item": lambda t: t.item(1, -1),
    "item out": fails(lambda t: t.item(NUMBER)),
    "numbers": lambda t: (int(t[0, 1]), float(t[0, 1]), complex(t[0, 1]), bool(t[0, 1])),
    "number of several": fails(lambda t: int(t)),
    "numpy": lambda t: t.numpy(),
    "narrow numpy": lambda t: t.view("bfloat16").numpy(),
    "repr": lambda t: (repr(t), str(t)),
    "compare": lambda t: (t == KEY, t != KEY),
    "hash": fails(hash),
    "check": lambda t: repr(dlpark.check(t)),
    "check broken": lambda t: repr(dlpark.check(hostile.Offer(BROKEN))),
    "check kind": fails(lambda t: dlpark.check(NUMBER)),
    "check used": fails(lambda t: dlpark.check(USED)),
}

BROKEN = hostile.Foreign(shape=(2, -3))
USED = hostile.Foreign().capsule()
dlpark.from_dlpack(USED)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_left(name):
    call = CALLS[name]
    array = np.arange(6.0).reshape(2, 3)
    tensor = dlpark.from_dlpack(array)
    watched = [tensor, array, dlpark.Tensor, SHAPE, DTYPE, KEY, NUMBER, USED]

    def once():
        call(tensor)
        BROKEN.calls.clear()

    assert_steady(once, 100, watched)


def test_every_tensor_of_a_tensor_ends():
    foreign = hostile.Foreign(shape=(2, 3), dtype=(2, 64, 1))
    tensor = dlpark.from_dlpack(foreign.capsule())
    for name, call in CALLS.items():
        if not name.startswith("check"):
            call(tensor)
    assert foreign.calls == []
    del tensor
    gc.collect()
    assert len(foreign.calls) == 1
