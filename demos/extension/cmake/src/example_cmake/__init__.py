"""Functions over tensors of any framework, written in C and C++ with the extension kit of dlpark.

>>> import numpy as np, example_cmake
>>> example_cmake.matmul(np.eye(2, dtype="float32"), np.ones((2, 3), dtype="float32"))
array([[1., 1., 1.],
       [1., 1., 1.]], dtype=float32)
"""

from ._example import axpy, matmul

__all__ = ["axpy", "matmul"]
