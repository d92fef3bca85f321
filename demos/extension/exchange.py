"""Two extensions, each with a copy of the kit, exchange tensors in one process. FRAMEWORK=torch: PyTorch's as well."""

import os

import dlpark
import example_cmake
import example_setuptools
import numpy as np


def say(title, tensor):
    kind = type(tensor)
    print(f"  {title:46} {kind.__module__}.{kind.__qualname__}")


def same_memory(a, b):
    return np.from_dlpack(a).ctypes.data == np.from_dlpack(b).ctypes.data


def exchange(name, make):
    """What one extension makes goes into the other, as it is."""
    print(f"{name}:")
    a, b = make([[1, 2, 3], [4, 5, 6]]), make([[1, -1], [1, -1], [1, -1]])
    product = example_cmake.matmul(a, b)
    say("matmul by the extension that CMake built", product)
    assert type(product) is type(a)
    assert np.from_dlpack(product).tolist() == [[6, -6], [15, -15]]

    before = np.from_dlpack(product).ctypes.data
    example_setuptools.clip(product, low=-8, high=8)
    assert np.from_dlpack(product).ctypes.data == before
    assert np.from_dlpack(product).tolist() == [[6, -6], [8, -8]]
    say("clipped in place by the one of setuptools", product)

    square = example_setuptools.matmul(product, product)
    assert np.from_dlpack(square).tolist() == [[-12, 12], [-16, 16]]
    say("and multiplied by it", square)

    row = dlpark.from_dlpack(square)
    assert same_memory(row, square)
    del product, square
    x = np.array([1, 1], np.float32)
    flat = np.from_dlpack(row)[0]
    example_cmake.axpy(flat, x, a=2)
    assert np.from_dlpack(row).tolist() == [[-10, 14], [-16, 16]]
    say("whose memory the first one writes, once more", row)


exchange("NumPy", lambda rows: np.array(rows, np.float32))
exchange("dlpark", lambda rows: dlpark.from_dlpack(np.array(rows, np.float32)))
if os.environ.get("FRAMEWORK") == "torch":
    import torch

    exchange("PyTorch", lambda rows: torch.tensor(rows, dtype=torch.float32))
