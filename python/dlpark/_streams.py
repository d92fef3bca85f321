"""The current stream of a device, for a block of code."""

from __future__ import annotations

import threading
from typing import Any

from ._core import _stream_number, _stream_set


class stream:
    """Make a stream the one on which this thread works with dlpark's tensors, for a ``with`` block.

    Inside of it what is taken from other libraries is ready on that stream; what is given to them comes after what that
    stream was given so far; and copies between devices are made in its order. Other libraries have their own current
    streams, which this does not touch.

    Each thread has current streams of its own, and several may enter one object at a time. The tasks of asyncio share
    those of their thread: leave the block before you await.

    Parameters
    ----------
    stream : int or object
        As ``__dlpack__`` takes it: a number, of CUDA 1 for the legacy default stream and 2 for the thread's own; or
        an object with ``__cuda_stream__``, as the streams of PyTorch, CuPy and cuda.core have it, which is kept. None: this
        thread has no current stream. It has to live as long as tensors that were taken on it are used.
    device : str or tuple of int, optional
        Of which the stream is: ``'cuda:0'``, ``'rocm:1'``.

    Raises
    ------
    ValueError
        The stream means nothing on the device, or the device has no streams that can be set.

    Examples
    --------
    >>> with dlpark.stream(torch_stream, "cuda:0"):  # doctest: +SKIP
    ...     t = dlpark.from_dlpack(x)
    """

    def __init__(self, stream: Any, device: Any = "cuda:0") -> None:
        self._kept = stream
        self._device = device
        self._number = _stream_number(device, stream)
        self._entered = threading.local()

    def __enter__(self) -> stream:
        """Make it current; the one before is kept for the end of the block."""
        before = _stream_set(self._device, self._number)
        self._entered.__dict__.setdefault("before", []).append(before)
        return self

    def __exit__(self, *exception: object) -> None:
        """Make the one current that was it before."""
        before = self._entered.__dict__.get("before")
        if not before:
            raise RuntimeError("dlpark.stream() is left on a thread that has not entered it")
        _stream_set(self._device, before.pop())

    def __cuda_stream__(self) -> tuple[int, int]:
        """The stream for cuda.core and whoever speaks its protocol; the default one is 0 there."""
        return 0, 0 if self._number in (None, 1) else self._number
