"""The current stream of a device, for a block of code."""

from __future__ import annotations

from typing import Any

from ._core import _stream_set


class stream:
    """Make a stream the one on which this thread works with dlpark's tensors, for a ``with`` block.

    Inside of it what is taken from other libraries is ready on that stream; a consumer that takes a Tensor by the
    exchange table is told of it; and copies between devices are made in its order. Each thread has streams of its own.
    Other libraries have their own current streams, which this does not touch.

    Parameters
    ----------
    stream : int or object
        As ``__dlpack__`` takes it: a number, of CUDA 1 for the legacy default stream and 2 for the thread's own; or
        an object with ``__cuda_stream__``, as the streams of PyTorch, CuPy and cuda.core have it.
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
        self._stream = stream
        self._device = device
        self._before: list[int | None] = []
        self._number = 0

    def __enter__(self) -> stream:
        """Make it current; the one before is kept for the end of the block."""
        before, self._number = _stream_set(self._device, self._stream)
        self._before.append(before)
        return self

    def __exit__(self, *exception: object) -> None:
        """Make the one current that was it before."""
        _stream_set(self._device, self._before.pop())

    def __cuda_stream__(self) -> tuple[int, int]:
        """The stream for cuda.core and whoever speaks its protocol; the default one is 0 there."""
        return 0, 0 if self._number == 1 else self._number
