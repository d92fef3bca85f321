"""Files of NumPy's arrays that are nearly right: small valid ones, changed where the header's text has a rule."""

import struct

DTYPES = [
    "|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16",
    ">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8", ">c8", ">c16",
]  # fmt: skip
ODD_DTYPES = [
    "'|O'", "'O'", "'<U2'", "'|S3'", "'S'", "'|V2'", "'V'", "'<M8[ns]'", "'>m8[25us]'", "'M8'", "'<f16'", "'>c32'", "'f4'",
    "'=f4'", "'|f4'", "'=u1'", "'<i1'", "'>b1'", "'u1'", "'b1'", "'?'", "'float32'", "'f'", "'d'", "'B'", "'int'", "'<f2,<f2'",
    "'2f4'", "'<q4'", "''", "'<'", "'<f'", "'<f3'", "'<f4 '", "' <f4'", "'<F4'", "'Unicorn'", "'<f04'", "'<f4\\0'", "u'<f4'",
    "b'<f4'", "r'<f4'", "'<' 'f4'", "'''<f4'''", "'\\x3cf4'", "'\\74f4'", "'\\u003cf4'", "'\\N{LESS-THAN SIGN}f4'", "'<f4\\\n'",
    "'<\\f4'", "4", "None", "True", "{}", "()", "[]", "('<f2', (2,))", "('<f2', ())", "[('x', '<f2')]", "['<f4']",
    "[('x', '<f2'), ('y', '<i2', (2,))]", "[('x', [('y', '<f2')])]", "[(('t', 'x'), '<f2')]", "[('', '|V4')]", "[('x', '<f2',)]",
    "[('x' '<f2')]", "[(1, '<f2')]", "[('x', '<f2'", "('<f4')", "dict",
]  # fmt: skip
ORDERS = ["False", "True", "0", "1", "None", "'False'", "false", "(False)", "(True,)", "not True", "True or False", "Falsey", ""]
EXTENTS = [
    "-1", "-0", "+2", "02", "00", "0x2", "0b1", "0o3", "1_0", "2.0", "2e0", "1j", "True", "False", "None", "'2'", "2L", "2 L", "2l",
    "-2L", "(2)", "(2,)", "2+0j", "1+1", "~1", "np.int64(2)", "", "4294967296", "4611686018427387904", "9223372036854775807",
    "9223372036854775808", "18446744073709551615", "18446744073709551616", "1" * 30, "0" * 30,
]  # fmt: skip
SHAPES = ["2", "(2)", "[2]", "[2,]", "{2}", "(,)", "(2,,)", "(2 3)", "(2;3)", "None", "'(2,)'", "((2, 3))", "((2, 3),)", "(2, 3", "2, 3"]
SPACES = [" ", "\t", "\n", "\r", "\f", "\v", "\r\n", "\0", "\xa0", "  \n ", "\\\n", "#x\n"]
BYTES = b"{}()[]:,'\"\\ 0123456789.-+eELdsf_#\x00\x0a\x0d\x7f\x80\xc3\xff"


def fields_of(random):
    """A valid header's parts and the bytes of its data."""
    dtype = random.choice(DTYPES)
    shape = [random.choice([0, 1, 1, 2, 3, 4]) for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4]))]
    nbytes = int(dtype[2:])
    for extent in shape:
        nbytes *= extent
    return {"descr": repr(dtype), "fortran_order": random.choice(["False", "True"]), "shape": list(map(str, shape))}, bytes(
        (i * 37 + 1) % 251 for i in range(nbytes)
    )


def shape_text(random, shape):
    if isinstance(shape, str):
        return shape
    comma = "," if len(shape) == 1 or random.random() < 0.2 and shape else ""
    return "(" + random.choice([", ", ","]).join(shape) + comma + ")"


def change_field(random, fields):
    kind = random.randrange(6)
    if kind == 0:
        fields["descr"] = random.choice(ODD_DTYPES)
    elif kind == 1:
        fields["fortran_order"] = random.choice(ORDERS)
    elif kind == 2:
        fields["shape"] = random.choice(SHAPES)
    elif kind == 3 and isinstance(fields["shape"], list):
        fields["shape"].insert(random.randrange(len(fields["shape"]) + 1), random.choice(EXTENTS))
    elif kind == 4 and isinstance(fields["shape"], list) and fields["shape"]:
        fields["shape"][random.randrange(len(fields["shape"]))] = random.choice(EXTENTS)
    elif isinstance(fields["shape"], list):
        fields["shape"] += ["1"] * random.choice([1, 2, 10, 58, 62, 63, 64, 65])


def text_of(random, fields):
    items = [[f"'{key}'", shape_text(random, value) if key == "shape" else value] for key, value in fields.items()]
    if random.random() < 0.5:
        random.shuffle(items)
    if random.random() < 0.06:
        kind = random.randrange(4)
        if kind == 0:
            items.insert(random.randrange(4), list(random.choice(items)))
        elif kind == 1:
            items.pop()
        elif kind == 2:
            items.append(["'extra'", "1"])
        else:
            items[0][0] = random.choice(['"descr"', "'shap\\145'", "'\\x73hape'", "b'descr'", "u'descr'", "'Descr'", "1", "descr"])
    colon, comma = random.choice([": ", ":", " : "]), random.choice([", ", ",", " ,\n"])
    text = "{" + comma.join(colon.join(item) for item in items) + random.choice([", ", "", ","]) + "}"
    return text + random.choice(["", " ", "    \n", "\n", "\n\n", " \n "])


def change_text(random, text):
    """A character more, less, or another; or white space, of which some is none."""
    at = random.randrange(len(text) + 1)
    kind = random.randrange(7)
    if kind == 0:
        return text[:at] + random.choice(SPACES) + text[at:]
    if kind == 1:
        return random.choice(SPACES) + text
    if kind == 2:
        return text + random.choice(["{}", ",", "x", "#", " # x\n", "\0", "\n }", "\n x"])
    if kind == 3:
        return text[:at] + text[at + random.choice([1, 1, 5]) :]
    if kind == 4:
        return text[:at] + chr(random.choice(BYTES)) + text[at + 1 :]
    if kind == 5:
        return text[:at] + chr(random.randrange(256)) + text[at + 1 :]
    return random.choice([f"({text.strip()})", text.replace("'", '"'), text + " " * 10000, text.replace(" ", "\n")])


def file_of(random):
    """A file as it might come from a hostile stranger, or from a writer with a fault."""
    fields, data = fields_of(random)
    for _ in range(random.choice([0, 1, 1, 1, 2])):
        change_field(random, fields)
    text = text_of(random, fields)
    for _ in range(random.choice([0, 0, 0, 1, 2])):
        text = change_text(random, text)
    major = random.choice([1, 1, 1, 2, 3])
    encoded = text.encode("utf-8" if major == 3 and random.random() < 0.9 else "latin-1")
    nbytes = len(encoded)
    if random.random() < 0.03:
        nbytes = random.choice([0, max(0, nbytes - 1), nbytes + 1, nbytes + len(data), 65535])
    if random.random() < 0.3:
        data += bytes(random.choice([1, 8, 100, 1000]))
    elif random.random() < 0.05:
        data = random.choice([data[:-1], b""])
    version = bytes([major, 0]) if random.random() < 0.98 else bytes([random.randrange(5), random.randrange(2)])
    magic = b"\x93NUMPY" if random.random() < 0.99 else b"\x93NUMPX"
    return magic + version + struct.pack("<H" if major == 1 else "<I", nbytes) + encoded + data
