import array
import mmap

import dlpark

samples = array.array("h", [1, -2, 3])
print(repr(dlpark.from_dlpack(samples)))              # the same memory: samples cannot grow while it is used
print(repr(dlpark.from_dlpack(b"text")))
print(repr(dlpark.from_dlpack(memoryview(samples)[::-2])))
print(repr(dlpark.from_dlpack(mmap.mmap(-1, 4096))))


class Frame:
    """Whatever has NumPy's dict is taken as well."""

    def __init__(self, width, height):
        self.pixels = bytearray(width * height * 3)
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (height, width, 3), "data": self.pixels}


print(repr(dlpark.from_dlpack(Frame(640, 480))))
