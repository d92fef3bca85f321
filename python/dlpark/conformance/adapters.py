"""Adapters: how arrays of well-known libraries are made, read and written."""

import ctypes
import functools
import importlib
import importlib.util
from typing import Any

from . import abi, capture, elements
from .foreign import Foreign, NoFlags, Offer
from .rules import NotApplicable
from .targets import Target


@functools.lru_cache(maxsize=64)
def raw(dtype: str, shape: tuple[int, ...]) -> bytes:
    """The memory of an array whose elements are the pattern."""
    values = [elements.pattern(dtype, index) for index in range(elements.count(shape))]
    if dtype in elements.SUB_BYTE:
        return elements.pack(dtype, values)
    return b"".join(elements.encode(dtype, value) for value in values)


class Adapter(Target):
    """A target that is imported when it is made."""

    version_from = ""
    needs = ""

    def __init__(self) -> None:
        self.module: Any = importlib.import_module(self.needs or self.version_from)


class ArrayAPI(Adapter):
    """Any module with the functions of the array API standard."""

    def __init__(self, name: str) -> None:
        self.version_from = name
        super().__init__()
        self.dtypes = tuple(dtype for dtype in elements.WIDE if hasattr(self.module, dtype))

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        values = [elements.pattern(dtype, index) for index in range(elements.count(shape))]
        flat = self.module.asarray(values, dtype=getattr(self.module, dtype))
        return self.module.reshape(flat, shape)

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.from_dlpack(producer, **keywords)

    def view(self, array: Any, which: str) -> Any:
        if which == "broadcast":
            return self.module.broadcast_to(array[0], (4, *array.shape[1:]))
        return super().view(array, which)

    def values(self, array: Any) -> list[Any]:
        if hasattr(array, "tolist"):
            return super().values(array)
        exported = capture.Export(array.__dlpack__())
        return exported.values(elements.NAMES[exported.triple])


class ArrayAPIStrict(ArrayAPI):
    def __init__(self) -> None:
        super().__init__("array_api_strict")

    def values(self, array: Any) -> list[Any]:
        return list(array._array.ravel().tolist())

    def device_keyword(self) -> Any:
        return self.module.Device("CPU_DEVICE")


class NumPy(ArrayAPI):
    def __init__(self) -> None:
        super().__init__("numpy")

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        if dtype not in self.dtypes:
            raise NotApplicable(f"NumPy has no {dtype} of its own")
        memory = bytearray(raw(dtype, shape))
        array = self.module.empty(shape, dtype)
        array[...] = self.module.frombuffer(memory, dtype).reshape(shape)
        return array

    def odd_row(self) -> Any:
        return self.module.ndarray((1, 1), "int32", bytearray(8), strides=(6, 4))

    def readonly(self) -> Any:
        array = self.any()
        array.flags.writeable = False
        return array

    def subclass(self) -> Any:
        derived = type("Derived", (self.module.ndarray,), {})
        return self.any().view(derived)

    def unexportable(self) -> dict[str, Any]:
        np = self.module
        apart = np.ndarray((2,), "int32", bytearray(16), strides=(6,))
        return {
            "objects": np.array([None, 1], object),
            "text": np.array(["a", "b"]),
            "dates": np.array(["2020-01-01"], "datetime64[D]"),
            "records": np.zeros(2, "i4,f8"),
            "the other byte order": np.arange(3, dtype=np.dtype("int32").newbyteorder()),
            "a stride of one and a half elements": apart,
        }

    def device_keyword(self) -> Any:
        return "cpu"


class Torch(Adapter):
    version_from = "torch"
    dtypes = (
        *(
            *elements.WIDE,
            "bfloat16",
            "complex32",
            "float8_e4m3fn",
            "float8_e4m3fnuz",
            "float8_e5m2",
            "float8_e5m2fnuz",
        ),
        *("float8_e8m0fnu", "float4_e2m1fn"),
    )

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        self.device = device

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        torch = self.module
        kind = torch.float4_e2m1fn_x2 if dtype == "float4_e2m1fn" else getattr(torch, dtype)
        memory = bytearray(raw(dtype, shape))
        if not memory:
            return torch.empty(shape, dtype=kind, device=self.device)
        if dtype == "float4_e2m1fn":
            shape = (*shape[:-1], shape[-1] // 2)
        return torch.frombuffer(memory, dtype=torch.uint8).clone().view(kind).reshape(shape).to(self.device)

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.from_dlpack(producer, **keywords)

    def values(self, array: Any) -> list[Any]:
        torch = self.module
        if array.dtype.itemsize == 1 and array.dtype.is_floating_point:
            return list(array.flatten().to(torch.float32).tolist())
        return list(array.flatten().tolist())

    def view(self, array: Any, which: str) -> Any:
        if which == "broadcast":
            return array[0].expand(4, *array.shape[1:])
        return super().view(array, which)

    def subclass(self) -> Any:
        return self.any().as_subclass(type("Derived", (self.module.Tensor,), {}))

    def unexportable(self) -> dict[str, Any]:
        torch = self.module
        number = torch.ones(2, dtype=torch.complex64)
        return {
            "requires_grad": torch.ones(2, requires_grad=True),
            "the conjugate bit": number.conj(),
            "the negative bit": number.conj().imag,
            "a sparse layout": torch.eye(2).to_sparse(),
            "fake data (device meta)": torch.ones(2, device="meta"),
        }

    def device_keyword(self) -> Any:
        return "cpu"


class JAX(Adapter):
    version_from = "jax"
    needs = "jax.numpy"
    immutable = True
    dtypes = (*elements.WIDE, "bfloat16", *elements.SMALL_FLOATS, "int4", "uint4")

    def __init__(self) -> None:
        super().__init__()
        importlib.import_module("jax").config.update("jax_enable_x64", True)

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        values = [elements.pattern(dtype, index) for index in range(elements.count(shape))]
        return self.module.asarray(values).astype(getattr(self.module, dtype)).reshape(shape)

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.from_dlpack(producer, **keywords)

    def readonly(self) -> Any:
        return self.any()

    def device_keyword(self) -> Any:
        return importlib.import_module("jax").devices("cpu")[0]


class MLX(Adapter):
    version_from = "mlx.core"
    dtypes = tuple(name for name in (*elements.WIDE, "bfloat16") if name != "complex128")

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        values = [elements.pattern(dtype, index) for index in range(elements.count(shape))]
        kind = self.module.bool_ if dtype == "bool" else getattr(self.module, dtype)
        return self.module.array(values, kind).reshape(shape)

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.from_dlpack(producer, **keywords)


class TensorFlow(Adapter):
    version_from = "tensorflow"
    immutable = True
    bare_capsules = True
    dtypes = (*elements.WIDE, "bfloat16")

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        tf = self.module
        values = [elements.pattern(dtype, index) for index in range(elements.count(shape))]
        exact = tf.constant(values, tf.float32 if dtype == "bfloat16" or not values else None)
        return tf.reshape(tf.cast(exact, getattr(tf, dtype)), shape)

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.experimental.dlpack.from_dlpack(producer, **keywords)

    def readonly(self) -> Any:
        return self.any()

    def values(self, array: Any) -> list[Any]:
        return list(array.numpy().ravel().tolist())

    def view(self, array: Any, which: str) -> Any:
        return self.module.transpose(array) if which == "transposed" else super().view(array, which)


class Borrowed(Adapter):
    """A library without arrays of its own making: they are taken over from memory of the kit."""

    def source(self, dtype: str, shape: tuple[int, ...], flags: int = 0) -> Any:
        memory = raw(dtype, shape)

        def make(legacy: bool) -> Foreign:
            if legacy and flags:
                raise NoFlags
            foreign = Foreign(dtype, shape, legacy=legacy, flags=flags, room=len(memory))
            ctypes.memmove(foreign.element, memory, len(memory))
            return foreign

        return Offer(make)

    def read_only_source(self) -> Any:
        """The same, or no rule: where it asks for legacy capsules, it cannot be told."""
        try:
            return self.from_dlpack(self.source("float32", (2, 3), abi.READ_ONLY))
        except NoFlags:
            raise NotApplicable("it asks for legacy capsules, by which no tensor is read-only") from None


class TVMFFI(Borrowed):
    version_from = "tvm_ffi"
    dtypes = (*elements.COMMON, "float16", "bfloat16", *elements.SMALL_FLOATS, "int4")

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        return self.from_dlpack(self.source(dtype, shape))

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.from_dlpack(producer, **keywords)

    def readonly(self) -> Any:
        return self.read_only_source()

    def values(self, array: Any) -> list[Any]:
        dtype = str(array.dtype)
        if not str(array.device).startswith("cpu"):
            raise NotApplicable(f"its memory is on {array.device}, which the kit cannot read")
        shape, strides = self.shape(array), tuple(array.strides)
        where = elements.offsets(shape, strides or elements.compact(shape))
        return capture.read_at(array.data_ptr(), dtype, where)


class CudaCore(Borrowed):
    """The view type of cuda.core, on host memory."""

    version_from = "cuda.core"
    needs = "cuda.core.utils"
    dtypes = elements.WIDE

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        return self.from_dlpack(self.source(dtype, shape))

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.StridedMemoryView.from_dlpack(producer, stream_ptr=-1, **keywords)

    def readonly(self) -> Any:
        return self.read_only_source()

    def values(self, array: Any) -> list[Any]:
        if array.device_id != -1:
            raise NotApplicable(f"its memory is on device {array.device_id}, which the kit cannot read")
        shape = self.shape(array)
        strides = tuple(array.strides) if array.strides else elements.compact(shape)
        return capture.read_at(array.ptr, str(array.dtype), elements.offsets(shape, strides))


class PyArrow(Adapter):
    """pyarrow.Tensor."""

    version_from = "pyarrow"
    dtypes = tuple(name for name in elements.COMMON if name != "bool") + ("float16",)

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        numpy = importlib.import_module("numpy")
        memory = bytearray(raw(dtype, shape))
        array = numpy.frombuffer(memory, dtype).reshape(shape) if memory else numpy.empty(shape, dtype)
        return self.module.Tensor.from_numpy(array)

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.Tensor.from_dlpack(producer, **keywords)

    def readonly(self) -> Any:
        numpy = importlib.import_module("numpy")
        return self.module.Tensor.from_numpy(numpy.frombuffer(raw("float32", (2, 3)), "float32").reshape(2, 3))

    def values(self, array: Any) -> list[Any]:
        return list(array.to_numpy().ravel().tolist())

    def write(self, array: Any) -> None:
        array.to_numpy()[(0,) * array.ndim] = 77

    def view(self, array: Any, which: str) -> Any:
        views = {"transposed": lambda a: a.T, "sliced": lambda a: a[::2], "reversed": lambda a: a[::-1]}
        if which not in views:
            raise NotApplicable("a pyarrow.Tensor has no views")
        return self.module.Tensor.from_numpy(views[which](array.to_numpy()))

    def device_keyword(self) -> Any:
        return (abi.CPU, 0)


class PyArrowArray(PyArrow):
    """pyarrow.Array: of rank 1, immutable. As a consumer it takes nothing of the rank of the kit's tensors."""

    immutable = True
    from_dlpack = Target.from_dlpack

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        if len(shape) != 1:
            raise NotApplicable("a pyarrow.Array is of rank 1")
        values = [elements.pattern(dtype, index) for index in range(shape[0])]
        return self.module.array(values, getattr(self.module, "bool_" if dtype == "bool" else dtype)())

    def any(self) -> Any:
        return self.make("float32", (6,))

    def readonly(self) -> Any:
        return self.any()

    def values(self, array: Any) -> list[Any]:
        return list(array.to_pylist())

    def shape(self, array: Any) -> tuple[int, ...]:
        return (len(array),)

    def write(self, array: Any) -> None:
        raise TypeError("a pyarrow.Array is immutable")

    def view(self, array: Any, which: str) -> Any:
        if which != "tail":
            raise NotApplicable("a pyarrow.Array has no such view")
        return array[1:]


class Dlpark(Borrowed):
    version_from = "dlpark"
    dtypes = tuple(elements.TRIPLES)

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        return self.module.from_dlpack(self.source(dtype, shape))

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        return self.module.from_dlpack(producer, **keywords)

    def readonly(self) -> Any:
        return self.read_only_source()

    def values(self, array: Any) -> list[Any]:
        exported = capture.Export(array.__dlpack__(max_version=abi.VERSION))
        return exported.values(elements.NAMES[exported.triple])

    def write(self, array: Any) -> None:
        memory = memoryview(array)
        memory[(0,) * memory.ndim] = 77


ADAPTERS: dict[str, Any] = {
    "array_api_strict": ArrayAPIStrict,
    "cuda.core": CudaCore,
    "dlpark": Dlpark,
    "jax": JAX,
    "mlx": MLX,
    "numpy": NumPy,
    "pyarrow": PyArrow,
    "pyarrow.array": PyArrowArray,
    "tensorflow": TensorFlow,
    "torch": Torch,
    "torch.cuda": lambda: Torch("cuda"),
    "tvm_ffi": TVMFFI,
}
"""The targets that are known by name. Others with an array API (cupy, dpnp, ...) are taken by `ArrayAPI`."""

ALIASES = {
    "array-api-strict": "array_api_strict",
    "cuda-core": "cuda.core",
    "jax.numpy": "jax",
    "mlx.core": "mlx",
    "pytorch": "torch",
    "tensorflow-cpu": "tensorflow",
    "tvm-ffi": "tvm_ffi",
}
"""Names of distributions, and other names that are in use."""


def adapter(name: str) -> Target:
    """The adapter of a module.

    Raises
    ------
    ImportError
        The module is not there, or its own import fails.
    LookupError
        It is a module, but none of the array API.
    """
    known = ALIASES.get(name.lower(), name.lower())
    if known in ADAPTERS:
        return ADAPTERS[known]()  # type: ignore[no-any-return]
    module = importlib.import_module(name)
    if not hasattr(module, "asarray") or not hasattr(module, "from_dlpack"):
        raise LookupError(f"module {name} has no asarray and from_dlpack of the array API; give {name}:factory")
    return ArrayAPI(name)
