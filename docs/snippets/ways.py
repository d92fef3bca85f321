import numpy as np

import dlpark

array = np.arange(6, dtype=np.float32).reshape(2, 3)

tensor = dlpark.from_dlpack(array)                       # by the best way that the object offers: NumPy's C API
assert dlpark.from_dlpack(tensor) is tensor              # a Tensor is immutable, so it is its own
assert np.shares_memory(np.asarray(tensor), array)

for way in ("numpy", "dlpack", "array_struct", "array_interface", "buffer"):
    assert dlpark.from_dlpack(array, via=way).shape == (2, 3)   # or by one way alone
try:
    dlpark.from_dlpack(array, via="exchange")
except TypeError as error:
    print(error)

try:
    dlpark.from_dlpack(array.astype(">f4"))
except BufferError as error:
    print(error)
print(repr(dlpark.from_dlpack(array.astype(">f4"), byteswap=True)))
print(dlpark.from_dlpack(array, copy=True).is_copied)
