import example
import numpy as np

a = np.ones((2, 4), np.float32)
print(example.matmul(a, b=np.ones((4, 3), np.float32)))
try:
    example.matmul(a, np.ones((5, 3)))
except TypeError as error:
    print(f"TypeError: {error}")
