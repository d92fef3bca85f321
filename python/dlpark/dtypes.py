"""Element types as objects: names that know their bits and limits.

>>> dlpark.dtypes.float8_e4m3fn
dlpark.dtypes.float8_e4m3fn
>>> dlpark.dtypes.float8_e4m3fn.bits, dlpark.dtypes.float8_e4m3fn.limits.max
(8, 448.0)
>>> dlpark.from_dlpack(np.zeros(3, np.float32)).dtype == dlpark.dtypes.float32
True

Each is a str, the long name that `Tensor.dtype` has, and can be passed wherever a dtype is asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Union

from . import _core

__all__ = [
    "ALL",
    "DType",
    "Limits",
    "bfloat16",
    "bool_",
    "complex128",
    "complex32",
    "complex64",
    "float128",
    "float16",
    "float32",
    "float4_e2m1fn",
    "float64",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "int1",
    "int128",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "uint1",
    "uint128",
    "uint16",
    "uint2",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
]


class Limits(NamedTuple):
    """What an element type can hold; of a complex one, each part.

    Attributes
    ----------
    max, min : int or float or bool
        The largest and the most negative finite value.
    smallest_normal, smallest_subnormal : float
        The smallest positive value of full precision, and of any: the same where there are no subnormal ones.
        0 of integers.
    eps : float
        From 1 to the next value. 0 of integers.
    digits : int
        Bits of precision: of a float with the one that is not stored, of an integer without the sign.
    has_infinity, has_nan, has_signed_zero, has_zero, has_subnormals : bool
        Whether there are codes for these.
    """

    max: Union[int, float]
    min: Union[int, float]
    smallest_normal: float
    smallest_subnormal: float
    eps: float
    digits: int
    has_infinity: bool
    has_nan: bool
    has_signed_zero: bool
    has_zero: bool
    has_subnormals: bool


class DType(str):
    """An element type, by its long name.

    Equal to a dtype of NumPy, ml_dtypes or PyTorch that means the same, and to its own name.

    Parameters
    ----------
    dtype : str or dtype
        A name in any library's spelling, with lanes as 'float32x4', or a dtype of any library.

    Attributes
    ----------
    short_name : str
        As signatures have it, 'f8_e4m3fn'.
    code, bits, lanes : int
        What DLPack calls it; the bits are those of one lane.

    Raises
    ------
    TypeError
        There is no such dtype. The message says which was probably meant.

    Examples
    --------
    >>> DType = dlpark.dtypes.DType
    >>> DType("F8_E4M3"), DType("<i8"), DType(np.uint8)
    (dlpark.dtypes.float8_e4m3fn, dlpark.dtypes.int64, dlpark.dtypes.uint8)
    >>> DType("float16") == np.dtype("float16"), DType("f32x4").lanes
    (True, 4)
    >>> DType("flaot16")
    Traceback (most recent call last):
    TypeError: dtype: "flaot16" is not a dtype; did you mean float16?
    """

    __slots__ = ("bits", "code", "lanes", "short_name")

    short_name: str
    code: int
    bits: int
    lanes: int

    def __new__(cls, dtype: Any) -> DType:
        name, short, code, bits, lanes = _core._dtype_parts(dtype)
        self = super().__new__(cls, name)
        self.short_name, self.code, self.bits, self.lanes = short, code, bits, lanes
        return self

    @property
    def limits(self) -> Limits:
        """What it can hold. ValueError of 'float128' and of opaque types.

        Examples
        --------
        >>> dlpark.dtypes.float16.limits.eps, dlpark.dtypes.int4.limits.min
        (0.0009765625, -8)
        """
        return Limits(*_core._dtype_limits(str(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        try:
            return _core._dtype_parts(other)[0] == str(self)
        except TypeError:
            return NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        name = "bool_" if str(self) == "bool" else str(self)
        return f"dlpark.dtypes.{name}" if name in __all__ else f"dlpark.dtypes.DType({str(self)!r})"

    def __str__(self) -> str:
        return str.__str__(self)

    def __reduce__(self) -> tuple[type[DType], tuple[str]]:
        return DType, (str(self),)


bool_ = DType("bool")
int1 = DType("int1")
int2 = DType("int2")
int4 = DType("int4")
int8 = DType("int8")
int16 = DType("int16")
int32 = DType("int32")
int64 = DType("int64")
int128 = DType("int128")
uint1 = DType("uint1")
uint2 = DType("uint2")
uint4 = DType("uint4")
uint8 = DType("uint8")
uint16 = DType("uint16")
uint32 = DType("uint32")
uint64 = DType("uint64")
uint128 = DType("uint128")
float16 = DType("float16")
float32 = DType("float32")
float64 = DType("float64")
float128 = DType("float128")
bfloat16 = DType("bfloat16")
float8_e3m4 = DType("float8_e3m4")
float8_e4m3 = DType("float8_e4m3")
float8_e4m3b11fnuz = DType("float8_e4m3b11fnuz")
float8_e4m3fn = DType("float8_e4m3fn")
float8_e4m3fnuz = DType("float8_e4m3fnuz")
float8_e5m2 = DType("float8_e5m2")
float8_e5m2fnuz = DType("float8_e5m2fnuz")
float8_e8m0fnu = DType("float8_e8m0fnu")
float6_e2m3fn = DType("float6_e2m3fn")
float6_e3m2fn = DType("float6_e3m2fn")
float4_e2m1fn = DType("float4_e2m1fn")
complex32 = DType("complex32")
complex64 = DType("complex64")
complex128 = DType("complex128")

#: All of these, a tuple.
ALL = tuple(value for value in list(globals().values()) if isinstance(value, DType))
