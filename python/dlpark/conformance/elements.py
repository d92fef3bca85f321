"""Element types: their DLPack triples, and single elements to and from memory, without any array library."""

import functools
import math
import struct
import sys
from collections.abc import Sequence
from typing import Any

_PLAIN = {
    "bool": (6, 8),
    **{f"int{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": (4, 16),
    **{f"complex{bits}": (5, bits) for bits in (32, 64, 128)},
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
    "int4": (0, 4),
    "uint4": (1, 4),
    "int2": (0, 2),
    "uint2": (1, 2),
}

TRIPLES: dict[str, tuple[int, int, int]] = {name: (code, bits, 1) for name, (code, bits) in _PLAIN.items()}
"""(code, bits, lanes) of each element type, by its usual name."""

NAMES = {triple: name for name, triple in TRIPLES.items()}

COMMON = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
WIDE = (*COMMON, "float16", "complex64", "complex128")
SMALL_FLOATS = tuple(name for name in TRIPLES if name.startswith(("float8_", "float6_", "float4_")))
SUB_BYTE = tuple(name for name, (_, bits, _) in TRIPLES.items() if bits < 8)

# exponent bits, mantissa bits, bias
_FORMATS = {
    "float8_e3m4": (3, 4, 3),
    "float8_e4m3": (4, 3, 7),
    "float8_e4m3b11fnuz": (4, 3, 11),
    "float8_e4m3fn": (4, 3, 7),
    "float8_e4m3fnuz": (4, 3, 8),
    "float8_e5m2": (5, 2, 15),
    "float8_e5m2fnuz": (5, 2, 16),
    "float8_e8m0fnu": (8, 0, 127),
    "float6_e2m3fn": (2, 3, 1),
    "float6_e3m2fn": (3, 2, 3),
    "float4_e2m1fn": (2, 1, 1),
}
_STRUCT = {16: "=e", 32: "=f", 64: "=d"}


def code_bits(name: str) -> tuple[int, int]:
    code, bits, _ = TRIPLES[name]
    return code, bits


def nbytes(name: str) -> int:
    """Bytes of one element; 1 for what is packed tighter."""
    return max(TRIPLES[name][1] // 8, 1)


def _small_value(name: str, pattern: int) -> float:
    exponent_bits, mantissa_bits, bias = _FORMATS[name]
    if name == "float8_e8m0fnu":
        return math.ldexp(1.0, pattern - bias)
    mantissa = pattern & ((1 << mantissa_bits) - 1)
    exponent = (pattern >> mantissa_bits) & ((1 << exponent_bits) - 1)
    sign = -1.0 if pattern >> (exponent_bits + mantissa_bits) & 1 else 1.0
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


@functools.cache
def _small_patterns(name: str) -> dict[float, int]:
    """The bits of every value of a format of at most 8 bits."""
    _, bits = code_bits(name)
    return {_small_value(name, pattern): pattern for pattern in reversed(range(1 << bits))}


def to_bits(name: str, value: Any) -> int:
    """The bits of one element, as a number."""
    code, bits = code_bits(name)
    if code in (0, 1, 6):
        return int(value) & ((1 << bits) - 1)
    if code == 2:
        return int.from_bytes(struct.pack(_STRUCT[bits], value), sys.byteorder)
    if code == 4:
        return int.from_bytes(struct.pack(">f", value), "big") >> 16
    return _small_patterns(name)[float(value)]


def from_bits(name: str, pattern: int) -> Any:
    """The value of one element. Infinities and what is not a number come out as the formula of the format says."""
    code, bits = code_bits(name)
    if code == 6:
        return bool(pattern)
    if code == 0:
        return pattern - (1 << bits) if pattern >> (bits - 1) else pattern
    if code == 1:
        return pattern
    if code == 2:
        return struct.unpack(_STRUCT[bits], pattern.to_bytes(bits // 8, sys.byteorder))[0]
    if code == 4:
        return struct.unpack(">f", (pattern << 16).to_bytes(4, "big"))[0]
    return _small_value(name, pattern)


def encode(name: str, value: Any) -> bytes:
    """One element of at least a byte, as it lies in memory."""
    code, bits = code_bits(name)
    if code == 5:
        part = f"float{bits // 2}"
        number = complex(value)
        return encode(part, number.real) + encode(part, number.imag)
    return to_bits(name, value).to_bytes(nbytes(name), sys.byteorder)


def decode(name: str, raw: bytes) -> Any:
    code, bits = code_bits(name)
    if code == 5:
        part, half = f"float{bits // 2}", bits // 16
        return complex(decode(part, raw[:half]), decode(part, raw[half:]))
    return from_bits(name, int.from_bytes(raw, sys.byteorder))


def pack(name: str, values: Sequence[Any]) -> bytes:
    """Elements below a byte one after the other, lowest bits first, rounded up to bytes once at the end."""
    _, bits = code_bits(name)
    whole = sum(to_bits(name, value) << (bits * at) for at, value in enumerate(values))
    return whole.to_bytes((bits * len(values) + 7) // 8, "little")


def unpack(name: str, raw: bytes, index: int) -> Any:
    """The element at an index of packed ones."""
    _, bits = code_bits(name)
    return from_bits(name, int.from_bytes(raw, "little") >> (bits * index) & ((1 << bits) - 1))


def pattern(name: str, index: int) -> Any:
    """What the element at a row-major index of an array made for the kit holds: 0, 1, 2, ... as far as it can."""
    code, bits = code_bits(name)
    if code == 6:
        return bool(index % 2)
    if name == "float8_e8m0fnu":
        return float(1 << (index % 4))
    if bits < 16 and code not in (0, 1):
        return float(index % 4)
    if bits < 8:
        return index % 4 if bits == 4 or code == 1 else index % 2
    number = index % 100
    return complex(number) if code == 5 else float(number) if code in (2, 4) else number


def ramp(name: str, index: int) -> Any:
    """What a tensor of the kit holds `index` elements after its element 0, or before it if that is negative."""
    return pattern(name, (index + 50) % 100)


def count(shape: Sequence[int]) -> int:
    return math.prod(shape)


def compact(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements; 0 where they would not fit 63 bits."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step if -(2**63) <= step < 2**63 else 0)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def offsets(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Where each element lies, in elements from the first, in row-major order."""
    found = [0]
    for extent, stride in zip(shape, strides, strict=True):
        found = [base + at * stride for base in found for at in range(extent)]
    return found
