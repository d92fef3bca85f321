"""A tensor file as dlpark reads it, and as the reference implementation of safetensors does; both as plain values."""

import ctypes
import decimal
import json
import tempfile

import safetensors

from library import LIBRARY, Dtype, Error

MAX_NDIM = 64
UINT64, SIZE, POINTER, TEXT = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(ctypes.c_char)


class Entry(ctypes.Structure):
    """struct dlpark_file_entry."""

    _fields_ = [
        ("name", TEXT),
        ("name_nbytes", SIZE),
        ("type", ctypes.c_char_p),
        ("dtype", Dtype),
        ("offset", UINT64),
        ("nbytes", UINT64),
        ("alignment_bytes", SIZE),
        ("index", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * MAX_NDIM),
    ]


class Text(ctypes.Structure):
    """struct dlpark_file_text."""

    _fields_ = [("text", TEXT), ("nbytes", SIZE)]

    def __str__(self):
        return ctypes.string_at(self.text, self.nbytes).decode()


LIBRARY.dlpark_file_open_memory.argtypes = [
    ctypes.POINTER(POINTER),
    ctypes.c_char_p,
    SIZE,
    POINTER,
    POINTER,
    POINTER,
    ctypes.POINTER(Error),
]
LIBRARY.dlpark_file_release.argtypes = [ctypes.POINTER(POINTER)]
LIBRARY.dlpark_file_release.restype = None
for name in ("count", "metadata_count"):
    function = getattr(LIBRARY, f"dlpark_file_{name}")
    function.argtypes, function.restype = [POINTER], ctypes.c_int64
LIBRARY.dlpark_file_entry_get.argtypes = [POINTER, ctypes.c_int64, ctypes.POINTER(Entry), ctypes.POINTER(Error)]
LIBRARY.dlpark_file_metadata_get.argtypes = [
    POINTER,
    ctypes.c_int64,
    ctypes.POINTER(Text),
    ctypes.POINTER(Text),
    ctypes.POINTER(Error),
]


class Refused(Exception):
    """Not a file, and why."""


def ours(data):
    """Tensors by name: dtype, shape, bytes; and the metadata. A shape is cut after 64 extents."""
    file, error = POINTER(), Error()
    status = LIBRARY.dlpark_file_open_memory(file, data, len(data), None, None, None, error)
    if status != 0:
        raise Refused(error.message.decode())
    tensors, metadata = {}, {}
    try:
        for number in range(LIBRARY.dlpark_file_count(file)):
            entry = Entry()
            assert LIBRARY.dlpark_file_entry_get(file, number, entry, None) == 0
            found = ctypes.string_at(entry.name, entry.name_nbytes).decode()
            assert found not in tensors
            content = data[entry.offset : entry.offset + entry.nbytes]
            tensors[found] = entry.type.decode(), entry.shape[: min(entry.ndim, MAX_NDIM)], content
        for number in range(LIBRARY.dlpark_file_metadata_count(file)):
            key, value = Text(), Text()
            assert LIBRARY.dlpark_file_metadata_get(file, number, key, value, None) == 0
            assert str(key) not in metadata
            metadata[str(key)] = str(value)
    finally:
        LIBRARY.dlpark_file_release(file)
    return tensors, metadata


def theirs(data):
    """The same of the reference. It knows the metadata of files only, which are asked for where there may be some."""
    try:
        listed = safetensors.deserialize(data)
    except safetensors.SafetensorError as error:
        raise Refused(str(error)) from None
    tensors = {name: (about["dtype"], about["shape"][:MAX_NDIM], bytes(about["data"])) for name, about in listed}
    metadata = {}
    if b"meta" in data:
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            file.write(data)
            file.flush()
            with safetensors.safe_open(file.name, "np") as opened:
                metadata = opened.metadata() or {}
    return tensors, metadata


# ---- Where they differ, and why ----


def pairs_of(data):
    """The header as pairs, so that what is there twice can be seen; None where it is no JSON for Python either."""
    nbytes = int.from_bytes(data[:8], "little")
    try:
        return json.loads(data[8 : 8 + nbytes].decode(), object_pairs_hook=lambda pairs: ("object", pairs))
    except (ValueError, RecursionError):
        return None


def has_twice(pairs):
    keys = [key for key, _ in pairs]
    return len(set(keys)) < len(keys)


def tensors_of(data):
    header = pairs_of(data)
    return [pair for pair in header[1] if pair[0] != "__metadata__"] if header else []


def twice_a_tensor(data):
    return has_twice(tensors_of(data))


def twice_a_text(data):
    return any(key == "__metadata__" and value and has_twice(value[1]) for key, value in pairs_of(data)[1])


def array_for_a_tensor(data):
    return any(isinstance(value, list) for _, value in tensors_of(data))


def fields_of(data, field):
    objects = [value[1] for _, value in tensors_of(data) if isinstance(value, tuple)]
    return [item for pairs in objects for key, item in pairs if key == field]


def object_for_a_dtype(data):
    return any(isinstance(dtype, tuple) for dtype in fields_of(data, "dtype"))


def product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def nothing_beside_too_much(data):
    shapes = fields_of(data, "shape")
    return any(0 in shape and product(extent for extent in shape if extent) * 64 >= 2**63 for shape in shapes)


def extent_of_64_bits(data):
    return any(2**63 <= extent < 2**64 for shape in fields_of(data, "shape") for extent in shape)


def depth_of(data):
    """How deep brackets of either kind nest, outside of texts."""
    depth = deepest = 0
    in_text = False
    at = 8
    while at < len(data):
        byte = data[at]
        if in_text:
            at += byte == 0x5C
            in_text = byte != 0x22
        elif byte == 0x22:
            in_text = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
        at += 1
    return deepest


def at_the_largest_double(data):
    """A number that takes rounding to tell from infinity."""
    found = []
    largest = decimal.Decimal(1.7976931348623157e308)
    note = lambda text: found.append(abs(decimal.Decimal(text) / largest - 1) < decimal.Decimal("1e-15"))
    nbytes = int.from_bytes(data[:8], "little")
    try:
        json.loads(data[8 : 8 + nbytes].decode(), parse_float=note, parse_int=note)
    except (ValueError, RecursionError, decimal.Overflow):
        return False
    return any(found)


def plain(value):
    """Without what the last of its name replaces, as the reference has it."""
    if isinstance(value, tuple):
        return {key: plain(item) for key, item in value[1]}
    return [plain(item) for item in value] if isinstance(value, list) else value


def last_of_each(data):
    nbytes = int.from_bytes(data[:8], "little")
    header = json.dumps(plain(pairs_of(data))).encode()
    return len(header).to_bytes(8, "little") + header + data[8 + nbytes :]


# What dlpark says where the reference reads on, and how a third reader of the header sees that this is why. The rows
# are those of docs/tensor-files.md, but for what is too large to be tried here.
STRICTER = {
    "there are two tensors of this name": twice_a_tensor,
    "__metadata__ has two keys": twice_a_text,
    "the '{' of a tensor is expected here, not '['": array_for_a_tensor,
    "a dtype in quotation marks is expected here, not '{'": object_for_a_dtype,
    "has more than 2^64-1 bits": nothing_beside_too_much,
    "above 2^63-1": extent_of_64_bits,
    "values nest more than 64 deep": lambda data: depth_of(data) > 64,
    "beyond every double": at_the_largest_double,
}


def difference(data):
    """None where both see the same; a reason of STRICTER where that is why not; else AssertionError."""
    try:
        expected = theirs(data)
    except Refused as why:
        expected = why
    try:
        found = ours(data)
    except Refused as why:
        found = why
    if isinstance(expected, Refused) and isinstance(found, Refused):
        return None
    if isinstance(found, Refused):
        for reason, explains in STRICTER.items():
            if reason in str(found) and explains(data):
                return reason
        if twice_a_tensor(data) and ours(last_of_each(data)) == expected:  # the one that is replaced is wrong
            return "there are two tensors of this name"
    assert not isinstance(found, Refused), (data, str(found))
    if isinstance(expected, Refused) and "number out of range" in str(expected) and at_the_largest_double(data):
        return "beyond every double"  # by how it rounds, not by what dlpark says
    assert not isinstance(expected, Refused), (data, str(expected))
    assert found == expected, data
    return None
