"""Safetensors files that are nearly right: small valid ones, changed where the format has a rule."""

import json

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}  # fmt: skip
NAMES = ["a", "b", "weight", "", "a\0", "é", "😀", "\x7f", "__metadata", "dtype", "../x", '"', "\\"]
NUMBERS = [
    "0", "1", "2", "3", "8", "-1", "-0", "00", "01", "+1", "1.0", "1e0", "0.5", "1E2", "4294967296",
    "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615",
    "18446744073709551616", "1e308", "1e309", "1.7976931348623157e308", "1.7976931348623158e308",
    "179769313486231570000e288", "1.79769313486231580e308", "1.7976931348623159e308", "1e-400", "-1e999", "0e999",
    "1" * 30, "1." + "0" * 30 + "1", "0." + "0" * 400 + "1e400", "1e", "1.", ".1", "-", "NaN",
    "2305843009213693951", "2305843009213693952",
]  # fmt: skip
WORDS = ["null", "true", "false", "nul", "{}", "[]", '""', '"x"', "[1,2]", '{"a":1}', "'x'", "{,}", "[,]", "[1,]", ""]
TEXTS = ['"\\u0000"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\u00"', '"\\x"', '"\t"', '"\\/"', '"\x7f"', '"\xff"', '"']
SPACES = [" ", "\t", "\n", "\r", "  ", "\f", "\v", "\0", "\ufeff", "\xa0", "/**/"]
BYTES = b'{}[]:,"\\ 0123456789.-+eEtfnu\x00\x1f\x20\x7f\x80\xc3\xff'


def text_of(random, text):
    """A text as JSON, some of its characters as escapes that mean the same."""
    if random.random() < 0.8:
        return json.dumps(text, ensure_ascii=random.random() < 0.5)
    return '"' + "".join(json.dumps(char)[1:-1] if random.random() < 0.5 else escape(char) for char in text) + '"'


def escape(char):
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2))


def value_of(random):
    """Any value, most of them valid."""
    kind = random.randrange(6)
    if kind == 0:
        depth = random.choice([1, 2, 20, 60, 61, 62, 63, 64, 65, 66, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129])
        opening = random.choice(["[", '{"k":'])
        return opening * depth + "1" + {"[": "]", "{": "}"}[opening[0]] * depth
    return random.choice([NUMBERS, WORDS, TEXTS, NUMBERS, WORDS][kind - 1])


VAST = [2**31, 2**32, 2**60, 2**61 - 1, 2**61, 2**63 - 1, 2**63, 2**64 - 1]


def extents_of(random, bits):
    if random.random() < 0.04:  # nothing, however much of it
        shape = [0, *(random.choice([1, *VAST]) for _ in range(random.randrange(1, 4)))]
        random.shuffle(shape)
        return shape, 0
    while True:
        shape = [random.choice([0, 1, 1, 2, 3, 4]) for _ in range(random.choice([0, 1, 1, 2, 2, 3]))]
        total = bits
        for extent in shape:
            total *= extent
        if total % 8 == 0:
            return shape, total // 8


def tensors_of(random):
    """A valid file: pairs of a name's text and the fields, which are pairs as well; and the bytes."""
    tensors, end = [], 0
    for name in random.sample(NAMES, random.choice([0, 1, 1, 2, 2, 3])):
        dtype = random.choice(list(BITS))
        shape, nbytes = extents_of(random, BITS[dtype])
        fields = [
            ['"dtype"', f'"{dtype}"'],
            ['"shape"', [str(extent) for extent in shape]],
            ['"data_offsets"', [str(end), str(end + nbytes)]],
        ]
        tensors.append([text_of(random, name), fields])
        end += nbytes
    if random.random() < 0.3:
        random.shuffle(tensors)
    return tensors, bytes(random.randrange(256) for _ in range(end))


def metadata_of(random):
    texts = [text_of(random, random.choice(NAMES)) for _ in range(random.choice([0, 2, 4]))]
    pairs = [[key, value] for key, value in zip(texts[::2], texts[1::2])]
    return ['"__metadata__"', pairs] if random.random() < 0.9 else ['"__meta\\u0064ata__"', "null"]


def change_fields(random, header):
    """One rule of a tensor, or of the metadata, broken or kept by a hair."""
    if not header:
        return
    name, fields = entry = random.choice(header)
    kind = random.randrange(12)
    if kind == 0:
        header.append([name, list(fields) if isinstance(fields, list) else fields])
    elif kind == 1:
        entry[0] = random.choice([text_of(random, random.choice(NAMES)), random.choice(header)[0], value_of(random)])
    elif kind == 2 or not isinstance(fields, list) or not fields:
        entry[1] = value_of(random)
    elif kind == 3:
        fields.pop(random.randrange(len(fields)))
    elif kind == 4:
        fields.append(list(random.choice(fields)))
    elif kind == 5:
        field = [text_of(random, random.choice(["x", *NAMES])), value_of(random)]
        fields.insert(random.randrange(len(fields) + 1), field)
    elif kind == 6:
        random.shuffle(fields)
    elif kind == 7 and all(isinstance(value, (str, list)) for _, value in fields) and name != '"__metadata__"':
        entry[1] = emit([value for _, value in fields])
    else:
        change_field(random, random.choice(fields))


def change_field(random, field):
    value = field[1]
    if not isinstance(value, list):
        dtypes = [f'"{random.choice(list(BITS))}"', '"f32"', '"F8_E4M3FN"', '{"F32":null}', '{"U8":[]}', '"U\\u0038"']
        field[1] = random.choice([value_of(random), random.choice(dtypes)])
    elif not value or random.random() < 0.3:
        number = random.choice(["0", "1", random.choice(NUMBERS), value_of(random)])
        value.insert(random.randrange(len(value) + 1), number)
    elif random.random() < 0.2:
        value.pop()
    else:
        at = random.randrange(len(value))
        near = str(max(0, int(value[at]) + random.choice([-1, 1, 8]))) if value[at].isdigit() else "0"
        value[at] = random.choice([near, near, random.choice(NUMBERS)])


def emit(value):
    """Strings are text of JSON, lists of pairs objects, other lists arrays; an empty one is whatever it is not."""
    if isinstance(value, str):
        return value
    pair = value[0] if value else None
    if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and pair[0][:1] == '"':
        return "{" + ",".join(f"{key}:{emit(item)}" for key, item in value) + "}"
    return "[" + ",".join(emit(item) for item in value) + "]"


def change_text(random, header):
    """A byte more, less, or another; or white space, which is none of JSON's in half of the cases."""
    at = random.randrange(len(header) + 1)
    kind = random.randrange(5)
    if kind == 0:
        return header[:at] + random.choice(SPACES).encode() + header[at:]
    if kind == 1:
        return header[:at] + header[at + random.choice([1, 1, 5]) :]
    if kind == 2:
        return header[:at] + bytes([random.choice(BYTES)]) + header[at + 1 :]
    if kind == 3:
        return header[:at] + bytes([random.randrange(256)]) + header[at + 1 :]
    return header + random.choice([" ", "  \n", "\0", "{}", ",", "x"]).encode()


def file_of(random):
    """A file as it might come from a hostile stranger, or from a writer with a fault."""
    tensors, data = tensors_of(random)
    header = [[name, fields] for name, fields in tensors]
    if random.random() < 0.4:
        header.insert(random.randrange(len(header) + 1), metadata_of(random))
    for _ in range(random.choice([0, 1, 1, 1, 2])):
        change_fields(random, header)
    text = (emit(header) if header else "{}").encode("utf-8", "surrogatepass")
    for _ in range(random.choice([0, 0, 1, 2])):
        text = change_text(random, text)
    nbytes = len(text)
    if random.random() < 0.03:
        nbytes = random.choice([0, nbytes + 1, max(0, nbytes - 1), nbytes + len(data), 2**63, 2**64 - 1, 100000001])
    if random.random() < 0.05:
        data = random.choice([data + b"x", data[:-1], b"", data * 2])
    return nbytes.to_bytes(8, "little") + text + data
