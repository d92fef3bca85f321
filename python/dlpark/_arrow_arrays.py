"""Arrays of Apache Arrow as tensors, by the capsules of its C data interface. PyArrow is not imported."""

from __future__ import annotations

from typing import Any

from ._core import Tensor, from_dlpack

_ABI_VERSION = (1, 3)


def from_arrow(array: Any, /) -> Tensor:
    """A tensor of the memory of an Arrow array, without a copy.

    Parameters
    ----------
    array : object
        With ``__arrow_c_array__`` or ``__arrow_c_device_array__``: an array of PyArrow, nanoarrow, Polars, pandas ...
        of integers, floats or ``arrow.bool8``, of fixed-size lists of these, or of ``arrow.fixed_shape_tensor``.

    Returns
    -------
    Tensor
        Read-only, as Arrow's data are. The first dimension is the array's length. It keeps the memory.

    Raises
    ------
    TypeError
        `array` is no Arrow array, or one in chunks.
    BufferError
        The elements are no numbers, or their bits would have to be unpacked; data on a device that may not be ready.
    ValueError
        An element is null.

    See Also
    --------
    Tensor.__arrow_c_array__ : the other way, ``pyarrow.array(tensor)``.

    Examples
    --------
    >>> import pyarrow as pa  # doctest: +SKIP
    >>> dlpark.from_arrow(pa.array([1, 2, 3], pa.int16()))  # doctest: +SKIP
    Tensor(int16[3], cpu, read-only)
    [1 2 3]
    """
    for name in ("__arrow_c_device_array__", "__arrow_c_array__"):
        produce = getattr(array, name, None)
        if produce is not None:
            from . import _arrow

            schema, data = produce()
            return from_dlpack(_arrow.take(schema, data))
    kind = type(array).__name__
    if hasattr(array, "__arrow_c_stream__"):
        raise TypeError(f"{kind} comes in chunks: make one array of it first, as combine_chunks() does")
    raise TypeError(f"{kind} is no Arrow array: it has no __arrow_c_array__")


def to_arrow(tensor: Tensor, /) -> tuple[Any, Any]:
    """What ``Tensor.__arrow_c_array__`` gives."""
    from . import _arrow

    return _arrow.give(tensor.__dlpack__(max_version=_ABI_VERSION))
