import numpy  # in the place of your library
from numpy import from_dlpack


def array():
    return numpy.zeros((2, 3), "float32")


class Arrays:
    dtypes = ("bool", "int32", "float32", "float64")

    def make(self, dtype, shape):
        values = numpy.arange(numpy.prod(shape, dtype=int))
        return (values % 2 if dtype == "bool" else values).astype(dtype).reshape(shape)

    def from_dlpack(self, x, **keywords):
        return numpy.from_dlpack(x, **keywords)
