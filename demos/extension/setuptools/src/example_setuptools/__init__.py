"""Functions over tensors of any framework, written in C and C++ with the extension kit of dlpark.

>>> import numpy as np, example_setuptools
>>> x = np.array([-2, 0.5, 7], dtype="float32")
>>> example_setuptools.clip(x, low=0, high=1)
>>> x
array([0. , 0.5, 1. ], dtype=float32)
"""

from ._example import clip, matmul

__all__ = ["clip", "matmul"]
