"""The targets that docs/conformance.md is about, and factories for those that are compiled for the tests.

Nothing here imports dlpark: a process that judges another library has none.
"""

import ctypes
import pathlib
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "interop"), str(HERE.parent / "python")]

import partners  # noqa: E402

TARGETS = {
    "dlpark": "dlpark",
    "numpy": "numpy",
    "array_api_strict": "array_api_strict",
    "torch": "torch",
    "jax": "jax",
    "mlx": "mlx",
    "tensorflow": "tensorflow",
    "tvm_ffi": "tvm_ffi",
    "pyarrow": "pyarrow",
    "pyarrow.array": "pyarrow",
    "conformance_peers:nanobind": "interop_nanobind",
    "conformance_peers:rust": "dlpark_rust",
    "cuda.core": "cuda.core",
}
"""What the kit is asked to judge, and the module that has to be there for it."""

NAMES = {"conformance_peers:nanobind": "nanobind", "conformance_peers:rust": "Rust crate dlpark"}
"""What they are called on the page, where that is another name."""


class Peer:
    """A compiled partner of tests/interop, which takes its arrays over from a producer by the book."""

    dtypes = tuple(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
    )

    def __init__(self, module):
        self.partner = partners.PARTNERS[module]()
        self.version = self.partner.version

    def make(self, dtype, shape):
        values = numpy.arange(numpy.prod(shape, dtype=int))
        return self.partner.make((values % 2 if dtype == "bool" else values).astype(dtype).reshape(shape))

    def readonly(self):
        return self.partner.read_only(numpy.arange(6, dtype="float32").reshape(2, 3))

    def from_dlpack(self, producer):
        return self.partner.take(producer)


class Rust(Peer):
    """The crate, used as its documentation says: a tensor is validated before anything else is done with it."""

    def from_dlpack(self, producer):
        kept = self.partner.take(producer)
        kept.describe()
        return kept

    def values(self, array):
        """By the crate's own slice where the header calls the layout compact."""
        address, shape, strides, (code, bits, lanes), _ = array.describe()
        if lanes != 1 or code not in KINDS:
            raise TypeError(f"no dtype of NumPy's is ({code}, {bits}, {lanes})")
        dtype = numpy.dtype(f"{KINDS[code]}{bits // 8}")
        if is_compact(shape, strides):
            return numpy.frombuffer(array.bytes(), dtype).tolist()
        places = [address + dtype.itemsize * dot(index, strides) for index in numpy.ndindex(*shape)]
        return [numpy.frombuffer(ctypes.string_at(at, dtype.itemsize), dtype)[0].item() for at in places]


KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


def dot(index, strides):
    return sum(i * stride for i, stride in zip(index, strides, strict=True))


def is_compact(shape, strides):
    """Strides of dimensions of size 1, and of tensors without elements, mean nothing."""
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step and 0 not in shape:
            return False
        step *= extent
    return True


def nanobind():
    return Peer("interop_nanobind")


def rust():
    return Rust("dlpark_rust")
