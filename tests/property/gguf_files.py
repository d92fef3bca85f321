"""A GGUF file as dlpark reads it, and as the package gguf does; both as plain values. And files that are nearly right."""

import json
import struct
import tempfile

import gguf
import numpy as np

import tensor_files
from tensor_files import Refused

gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType.Q8_1] = (32, 36)  # as in ggml; the package (0.19.0) says 40

PLAIN = {"F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64"}
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
SHOWN = 256

# ---- Two readers ----


def ours(data):
    """Tensors by name: type, shape, bytes; and the metadata as texts."""
    return tensor_files.ours(data)


class Reader(gguf.GGUFReader):
    """The package's, which takes what is behind the end of a file for nothing, and may look for it for ever."""

    def _get(self, offset, dtype, count=1, override_order=None):
        if count > 0 and offset + np.dtype(dtype).itemsize * int(count) > len(self.data):
            raise Refused("behind the end of the file")
        return super()._get(offset, dtype, count, override_order)


def theirs(data, reader=Reader):
    """The same of the package, whose metadata are values."""
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(data)
        file.flush()
        try:
            read = reader(file.name)
        except Exception as error:  # it has no class of its own: IndexError, KeyError, OverflowError, UnicodeError...
            raise Refused(f"{type(error).__name__}: {error}") from None
        tensors = {}
        for tensor in read.tensors:
            kind = tensor.tensor_type.name
            shape = tensor.shape.tolist()[::-1] if kind in PLAIN else list(tensor.data.shape)
            tensors[tensor.name] = kind, shape, tensor.data.tobytes()
        fields = [field for field in read.fields.values() if not field.name.startswith("GGUF.")]
        metadata = {field.name: (field.types, values_of(field)) for field in fields}
    return tensors, metadata


def values_of(field):
    """A list of what a field has, strings as bytes."""
    is_text = field.types[-1] == STRING
    return [bytes(field.parts[at]) if is_text else field.parts[at].tolist()[0] for at in field.data]


def is_same_text(text, kinds, values):
    """Whether a text of dlpark's says what the package read."""
    if kinds[0] != ARRAY:
        return is_same_value(text, kinds[0], values[0])
    is_shown = len(values) <= SHOWN and (kinds[-1] != STRING or all(is_utf8(value) for value in values))
    if not is_shown:
        return text.startswith(f"array of {len(values)} ")
    if kinds[-1] == STRING:
        return json.loads(text) == [value.decode() for value in values]
    items = text[1:-1].split(", ") if values else []
    return len(items) == len(values) and all(is_same_value(item, kinds[-1], value) for item, value in zip(items, values))


def is_same_value(text, kind, value):
    if kind == STRING:
        return text.encode() == value
    if kind == 7:
        return text == ("true" if value else "false")
    if kind not in (6, 12):
        return text == str(value)
    packed = struct.pack("<" + SCALARS[kind], float(text))
    return packed == struct.pack("<" + SCALARS[kind], value) or (text == "nan" and value != value)


def is_utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# ---- Where they differ, and why ----

# What dlpark says of a file that the package reads.
STRICTER = {
    "is a big-endian GGUF file": "the package knows both byte orders",
    "a key has no letters": "ggml refuses it",
    "of a key is no UTF-8": "the specification",
    "of a value is no UTF-8": "the specification: only an array may hold bytes",
    "of a tensor's name is no UTF-8": "the specification",
    "is neither 0 (false) nor 1 (true)": "the specification",
    "an array of type": "the package does not look at the type of no items",
    "an array of arrays": "ggml refuses it",
    "has to be a power of two from 8 to 65536": "the specification, and a cap",
    "dimensions, more than 4": "ggml refuses it",
    "above 2^63-1": "ggml refuses it",
    "has more than 2^63-1 bytes": "ggml refuses it",
    "which are not whole blocks of": "ggml refuses it",
    "which is no multiple of": "ggml refuses it",
    "before": "ggml refuses tensors that overlap",
    "belong to no tensor": "ggml refuses holes",
    "belong to none": "what no tensor has is no part of a GGUF file",
    "bytes begin at": "the package reads an empty tensor wherever it is",
}

# What the package says of a file that dlpark reads.
LAXER = {
    "Duplicate GGUF.": "a key that the package uses itself",
    "Can only calculate": "a tensor of blocks without elements",
    "not a multiple of": "a tensor of blocks without elements",
    "cannot reshape": "a tensor without elements",
    "IndexError": "an extent of 0",
    "maximum supported dimension": "an extent of 0 beside a large one",
    "Maximum allowed dimension": "an extent of 0 beside a large one",
    "array is too big": "an extent of 0 beside a large one",
    "cannot be interpreted as an integer": "an extent of 0 beside a large one",
    "OverflowError": "an extent of 0 beside a large one",
}


def difference(data):
    """None where both see the same; a reason of STRICTER or LAXER where that is why not; else AssertionError."""
    try:
        found = ours(data)
    except Refused as why:
        found = why
    try:
        expected = theirs(data)
    except Refused as why:
        expected = why
    if isinstance(found, Refused) and isinstance(expected, Refused):
        return None
    if isinstance(found, Refused):
        reasons = [reason for reason in STRICTER if reason in str(found)]
    elif isinstance(expected, Refused):
        reasons = [reason for reason in LAXER if reason in str(expected)]
    else:
        assert found[0] == expected[0], data
        assert list(found[1]) == list(expected[1]), data
        assert all(is_same_text(text, *expected[1][key]) for key, text in found[1].items()), (data, found[1], expected[1])
        return None
    assert reasons, (data, str(found), str(expected))
    return reasons[0]


# ---- Files that are nearly right ----

KEYS = ["a", "general.architecture", "general.alignment", "é", "x.y", "", "tokenizer.ggml.tokens"]
NAMES = ["a", "b", "weight", "", "a\0", "é", "n" * 64, "../x"]
TEXTS = [b"", b"llama", b"a\n\"\\", "é😀".encode(), b"\xff", b"\xc3", b"x" * 300]
EDGES = [0, 1, 2, 4, 5, 8, 12, 13, 31, 32, 33, 64, 255, 256, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


def string(text):
    return struct.pack("<Q", len(text)) + text


def number(random, width, value):
    """A number, now and then another one."""
    if random.random() < 0.01:
        value = random.choice([value + 1, max(0, value - 1), random.choice(EDGES)])
    return (value % (1 << 8 * width)).to_bytes(width, "little")


def scalar(random, kind):
    width = struct.calcsize("<" + SCALARS[kind])
    if kind == 7 and random.random() < 0.98:
        return bytes([random.randrange(2)])
    return bytes(random.choice([0, 1, 255, random.randrange(256)]) for _ in range(width))


def pair(random, key):
    kind = random.choice([*SCALARS, STRING, STRING, ARRAY, ARRAY])
    if key == "general.alignment" and random.random() < 0.9:
        return string(key.encode()) + struct.pack("<I", 4) + number(random, 4, random.choice([8, 16, 32, 64]))
    out = string(key.encode()) + number(random, 4, kind)
    if kind == STRING:
        return out + string(random.choice(TEXTS))
    if kind != ARRAY:
        return out + scalar(random, kind)
    item, count = random.choice([*SCALARS, STRING, STRING]), random.choice([0, 1, 2, 3, 255, 256, 257])
    texts = TEXTS if random.random() < 0.3 else TEXTS[:4]
    items = (string(random.choice(texts)) if item == STRING else scalar(random, item) for _ in range(count))
    if random.random() < 0.01:
        return out + number(random, 4, ARRAY) + number(random, 8, 1) + struct.pack("<IQ", 0, 1) + b"\1"
    return out + number(random, 4, item) + number(random, 8, count) + b"".join(items)


def tensor(random, name, alignment, begin):
    """What the header has of it, and where the next may begin."""
    kind, (block, size) = random.choice(list(gguf.GGML_QUANT_SIZES.items()))
    extents = [random.choice([0, 1, 1, 2, 3]) * block if i == 0 else random.choice([0, 1, 1, 2, 3]) for i in range(random.choice([0, 1, 2, 2, 3, 4]))]
    if block > 1 and not extents:
        extents = [block]
    if random.random() < 0.03:
        extents.append(random.choice(EDGES))
    nbytes = size
    for at, extent in enumerate(extents):
        nbytes *= extent // block if at == 0 else extent
    out = string(name.encode()) + number(random, 4, len(extents)) + b"".join(number(random, 8, extent) for extent in extents)
    out += number(random, 4, int(kind)) + number(random, 8, begin)
    return out, begin + nbytes + -nbytes % alignment


def file_of(random):
    """A file as it might come from a hostile stranger, or from a writer with a fault."""
    keys = random.sample(KEYS[:5] if random.random() < 0.95 else KEYS, random.choice([0, 1, 2, 3]))
    names = random.sample(NAMES, random.choice([0, 1, 2, 3]))
    for texts in (keys, names):
        if texts and random.random() < 0.03:
            texts.append(texts[0])
    pairs = {key: pair(random, key) for key in keys}
    alignment = 32
    if "general.alignment" in pairs:
        alignment = int.from_bytes(pairs["general.alignment"][-4:], "little") % 128 or 32
    header = b"GGUF" + number(random, 4, random.choice([2, 3, 3])) + number(random, 8, len(names)) + number(random, 8, len(keys))
    header += b"".join(pairs[key] for key in keys)
    begin = 0
    for name in names:
        described, begin = tensor(random, name, alignment, begin + (random.random() < 0.02) * alignment)
        header += described
    header += bytes(-len(header) % alignment)
    data = bytes(random.randrange(256) for _ in range(min(begin, 1 << 14)))
    if random.random() < 0.05:
        data = random.choice([data + b"x", data[:-1], b"", data * 2])
    whole = bytearray(header + data)
    for _ in range(random.choice([0, 0, 0, 1, 2])):
        whole[random.randrange(len(header))] = random.choice([0, 1, 4, 8, 255, random.randrange(256)])
    return bytes(whole)
