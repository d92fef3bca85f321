"""The other libraries, each with the few things that the matrix needs of it.

A partner makes an array of its own from a NumPy array (`make`), takes anybody's (`take`), and says where the first element
lies (`address`). What it has no word for raises Absent: the matrix then leaves the field empty.
"""

import ctypes
import os

import hostile
import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


# A deleter that works when the interpreter is gone, and with an exception pending, as one in Python does not.
_harmless = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p)


class Absent(Exception):
    """The library has no such thing."""


def aligned(array):
    """The array again, on memory at a multiple of 64 bytes, which JAX would copy otherwise; with the same strides."""
    lowest = sum(min(0, (extent - 1) * step) for extent, step in zip(array.shape, array.strides))
    highest = sum(max(0, (extent - 1) * step) for extent, step in zip(array.shape, array.strides))
    memory = np.zeros(highest - lowest + array.itemsize + 64, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64
    again = np.ndarray(array.shape, array.dtype, memory, start - lowest, array.strides)
    again[...] = array
    return again


def offer(array, read_only=False, legacy=False):
    """A producer by the book with a copy of the array, for libraries that make no arrays themselves: NumPy gives out only a
    part of the dtypes."""
    array = aligned(np.ascontiguousarray(array).reshape(array.shape))
    codes = {"bool": 6, "bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12, "float8_e8m0fnu": 14}
    code = codes.get(str(array.dtype), {"i": 0, "u": 1, "f": 2, "c": 5}.get(array.dtype.kind))
    foreign = hostile.Foreign(
        legacy=legacy,
        data=array.__array_interface__["data"][0] if array.size else None,
        dtype=(code, array.itemsize * 8, 1),
        shape=array.shape,
        flags=hostile.READ_ONLY if read_only else 0,
    )
    foreign.array, foreign.managed.deleter = array, _harmless
    return hostile.Offer(foreign)


def address_in_capsule(array, **keywords):
    managed = hostile.consume(array.__dlpack__(**keywords))
    address = (managed.dl_tensor.data or 0) + managed.dl_tensor.byte_offset
    hostile.end(managed)
    return address


class Partner:
    """What most have alike."""

    name = module = ""
    forks = True  # whether a child may be forked once it was imported

    def __init__(self):
        self.library = __import__(self.module, fromlist=["*"])

    @property
    def version(self):
        return self.library.__version__

    def make(self, array):
        raise Absent

    def take(self, tensor):
        return self.library.from_dlpack(tensor)

    def address(self, array):
        raise Absent

    def read_only(self, array):
        raise Absent

    def negative(self, array):
        """A view of the array back to front."""
        return array[::-1]

    def strided(self, array):
        return array[::2, 1:]

    def transposed(self, array):
        return array.T


class NumPy(Partner):
    name, module = "NumPy", "numpy"

    def make(self, array):
        return array.copy()

    def address(self, array):
        return array.__array_interface__["data"][0]

    def read_only(self, array):
        array = array.copy()
        array.flags.writeable = False
        return array


class Torch(Partner):
    name, module = "PyTorch", "torch"

    def make(self, array):
        element = getattr(self.library, str(array.dtype), None)
        if element is None:
            raise Absent
        made = self.library.empty(array.shape, dtype=element)
        np.ctypeslib.as_array((ctypes.c_uint8 * array.nbytes).from_address(made.data_ptr()))[:] = np.frombuffer(
            array.tobytes(), np.uint8
        ) if array.size else 0
        return made

    def address(self, array):
        return array.data_ptr()

    def negative(self, array):
        raise Absent


class Jax(Partner):
    name, module, forks = "JAX", "jax.numpy", False

    def __init__(self):
        import jax

        super().__init__()
        jax.config.update("jax_enable_x64", True)
        self.jax = jax

    @property
    def version(self):
        return self.jax.__version__

    def make(self, array):
        try:
            return self.library.array(array)
        except TypeError:
            raise Absent from None

    def address(self, array):
        return array.unsafe_buffer_pointer()

    def read_only(self, array):
        return self.library.array(array)

    def negative(self, array):
        raise Absent  # an operation that copies

    strided = transposed = negative


class Mlx(Partner):
    name, module = "MLX", "mlx.core"

    def make(self, array):
        if str(array.dtype) in ("float64", "complex128"):
            raise Absent  # they become narrower ones
        try:
            return self.library.array(array)
        except (TypeError, ValueError):
            raise Absent from None

    def address(self, array):
        self.library.eval(array)
        return address_in_capsule(array)

    def negative(self, array):
        raise Absent  # lazily, by a copy

    strided = transposed = negative


class TensorFlow(Partner):
    name, module, forks = "TensorFlow", "tensorflow", False

    def make(self, array):
        try:
            return self.library.constant(array)
        except (TypeError, ValueError):
            raise Absent from None

    def take(self, tensor):
        return self.library.experimental.dlpack.from_dlpack(tensor.__dlpack__())

    def address(self, array):
        return address_in_capsule(array)

    def negative(self, array):
        raise Absent

    strided = transposed = negative


class TvmFfi(Partner):
    name, module = "tvm-ffi", "tvm_ffi"

    def make(self, array):
        return self.library.from_dlpack(offer(array, legacy=True))

    def address(self, array):
        return array.data_ptr()

    def negative(self, array):
        raise Absent

    strided = transposed = negative


class PyArrow(Partner):
    name, module = "PyArrow", "pyarrow"

    def make(self, array):
        if array.dtype == bool:
            raise Absent  # they become integers
        try:
            return self.library.Tensor.from_numpy(array.copy())
        except (self.library.ArrowException, TypeError):
            raise Absent from None

    def take(self, tensor):
        return self.library.Tensor.from_dlpack(tensor)

    def address(self, array):
        return np.asarray(memoryview(array)).__array_interface__["data"][0] if array.size else 0

    def read_only(self, array):
        array = array.copy()
        array.flags.writeable = False
        return self.library.Tensor.from_numpy(array)

    def negative(self, array):
        raise Absent

    strided = transposed = negative


class Nanobind(Partner):
    name, module = "nanobind", "interop_nanobind"

    @property
    def version(self):
        import nanobind

        return nanobind.__version__

    def make(self, array):
        return self.library.keep(offer(array))

    def take(self, tensor):
        return self.library.keep(tensor)

    def address(self, array):
        return self.library.address(array)

    def read_only(self, array):
        return self.library.keep(offer(array, read_only=True))

    def negative(self, array):
        raise Absent

    strided = transposed = negative


class Rust(Partner):
    name, module = "Rust crate dlpark", "dlpark_rust"

    def make(self, array):
        return self.library.from_dlpack(offer(array))

    def address(self, array):
        return array.describe()[0]

    def read_only(self, array):
        return self.library.from_dlpack(offer(array, read_only=True))

    def negative(self, array):
        raise Absent

    strided = transposed = negative


class CudaCore(Partner):
    name, module = "cuda.core", "cuda.core.utils"

    @property
    def version(self):
        import cuda.core

        return cuda.core.__version__

    def make(self, array):
        return self.library.StridedMemoryView.from_dlpack(offer(array), stream_ptr=-1)

    def take(self, tensor):
        return self.library.StridedMemoryView.from_dlpack(tensor, stream_ptr=-1)

    def address(self, array):
        return array.ptr

    def read_only(self, array):
        return self.library.StridedMemoryView.from_dlpack(offer(array, read_only=True), stream_ptr=-1)

    def negative(self, array):
        raise Absent

    strided = transposed = negative


class Strict(Partner):
    name, module = "array-api-strict", "array_api_strict"

    def make(self, array):
        try:
            return self.library.asarray(array.copy())
        except TypeError:
            raise Absent from None

    def address(self, array):
        return array._array.__array_interface__["data"][0]

    def negative(self, array):
        return array[::-1, ...]


class Ourselves(Partner):
    name, module = "dlpark", "dlpark"

    def make(self, array):
        return self.library.from_dlpack(offer(array))

    def address(self, array):
        return address_in_capsule(array, max_version=(1, 3))

    def read_only(self, array):
        return self.library.from_dlpack(offer(array, read_only=True))


PARTNERS = {
    cls.module: cls
    for cls in (NumPy, Torch, Jax, Mlx, TensorFlow, TvmFfi, PyArrow, Nanobind, Rust, CudaCore, Strict, Ourselves)
}
