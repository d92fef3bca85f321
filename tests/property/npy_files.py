"""A file of NumPy's as dlpark reads it, and as NumPy does; and where they differ, with a third reader to see why."""

import ast
import ctypes
import io
import re
import token
import tokenize
import warnings

import numpy as np

from library import LIBRARY, Error
from tensor_files import POINTER, Entry, Refused

FORMAT_NPY, COLUMN_MAJOR, MOST = 2, 1, 10_000


class Options(ctypes.Structure):
    """struct dlpark_file_options."""

    _fields_ = [
        ("format", ctypes.c_int),
        ("max_header_nbytes", ctypes.c_uint64),
        ("float4", ctypes.c_int),
        ("is_private", ctypes.c_bool),
        ("follow_links", ctypes.c_bool),
        ("access", ctypes.c_int),
        ("threads", ctypes.c_int),
        ("inflate", ctypes.c_void_p),
    ]


def ours(data):
    """dtype, shape, and the bytes in row-major order."""
    file, error, entry = POINTER(), Error(), Entry()
    status = LIBRARY.dlpark_file_open_memory(file, data, len(data), None, None, ctypes.byref(Options(FORMAT_NPY)), error)
    if status != 0:
        raise Refused(error.message.decode())
    try:
        assert LIBRARY.dlpark_file_count(file) == 1
        assert LIBRARY.dlpark_file_entry_get(file, 0, entry, None) == 0
        assert ctypes.string_at(entry.name, entry.name_nbytes) == b"arr_0"
        shape, dtype = tuple(entry.shape[: entry.ndim]), np.dtype(entry.type.decode())
        content = data[entry.offset : entry.offset + entry.nbytes]
        order = "F" if entry.flags & COLUMN_MAJOR else "C"
        return dtype, shape, np.frombuffer(content, dtype).reshape(shape, order=order).tobytes()
    finally:
        LIBRARY.dlpark_file_release(file)


def theirs(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            array = np.lib.format.read_array(io.BytesIO(data))
        except (Exception, RecursionError) as error:  # whatever it stumbles over
            raise Refused(repr(error)) from None
    return array.dtype, array.shape, array.tobytes()


# ---- The third reader ----


def text_of(data):
    begin = 10 if data[6] == 1 else 12
    nbytes = int.from_bytes(data[8:begin], "little")
    text = data[begin : begin + nbytes].decode("utf-8" if data[6] == 3 else "latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")  # as Python reads programs


def tokens_of(data):
    return list(tokenize.generate_tokens(io.StringIO(text_of(data)).readline))


def value_of(data):
    """The dictionary as Python has it."""
    text = text_of(data).strip(" \t")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.literal_eval(text)
        except SyntaxError:
            return ast.literal_eval(re.sub(r"(?<=[0-9])\s*L", "", text))


def has_descr(data, is_so):
    descr = value_of(data)["descr"]
    return isinstance(descr, str) and is_so(descr)


def is_native(descr):
    return re.fullmatch(r"[=|]?[iufc][0-9]+", descr) is not None and np.dtype(descr).itemsize > 1


def is_other_name(descr):
    names = r"b1|[iu][1248]|f2|f4|f8|f12|f16|c8|c16|c24|c32|[OSUV][0-9]*|[Mm][0-9]*(\[.*\])?"
    return re.fullmatch(f"[<>=|]?({names})", descr) is None


def is_no_tensor(data):
    descr = value_of(data)["descr"]
    dtype = np.lib.format.descr_to_dtype(descr)
    return dtype.kind in "OSUVMm" or dtype.char in "gG" or isinstance(descr, tuple)


def has_twice(data):
    tree = ast.parse(re.sub(r"(?<=[0-9])\s*L", "", text_of(data).strip()), mode="eval")
    keys = [key.value for key in tree.body.keys]
    return len(set(keys)) < len(keys)


def has_other_strings(data):
    """Comments, prefixes, three quotation marks, strings in a row, escapes that a header never has, lines put together."""
    found = [item for item in tokens_of(data) if item.type not in (token.NL, token.NEWLINE)]
    strings = [item.string for item in found if item.type == token.STRING]
    return (
        any(item.type == tokenize.COMMENT for item in found)
        or any(text[0] not in "'\"" or text[:3] in ("'''", '"""') for text in strings)
        or any(re.search(r"\\[^\\'\"abfnrtv0-7xuU]", text, re.DOTALL) for text in strings)
        or any(one.type == two.type == token.STRING for one, two in zip(found, found[1:], strict=False))
        or "\\\n" in text_of(data)
    )


def has_other_numbers(data):
    found = tokens_of(data)
    return any(
        (item.type == token.NUMBER and not re.fullmatch(r"0|[1-9][0-9]*", item.string)) or item.string in ("+", "-", "L")
        for item in found
    ) or any(isinstance(extent, bool) for extent in value_of(data)["shape"])


def has_other_brackets(data):
    """More pairs of round ones than there are tuples."""
    tree = ast.parse(re.sub(r"(?<=[0-9])\s*L", "", text_of(data).strip()), mode="eval")
    tuples = sum(isinstance(node, ast.Tuple) for node in ast.walk(tree))
    return sum(item.string == "(" for item in tokens_of(data)) > tuples


# What dlpark says where NumPy reads on, and how the third reader sees that this is why. The rows are those of
# docs/tensor-files.md.
STRICTER = {
    "no tensor": (("is of ", "has fields", "is a pair", "a dtype in quotation marks"), is_no_tensor),
    "the reader's byte order": (("does not say its byte order",), lambda data: has_descr(data, is_native)),
    "another name of a dtype": (("none of the format's",), lambda data: has_descr(data, is_other_name)),
    "strings": (("is expected here", "a string holds", "begins no escape", "none of the format's"), has_other_strings),
    "numbers": (("is expected here", "begins with 0", "shape["), has_other_numbers),
    "brackets": (("is expected here", "is a pair"), has_other_brackets),
    "a key twice": (("",), has_twice),  # the one that is replaced may be wrong
}


def is_long(data):
    return len(text_of(data)) > MOST


def is_indented(data):
    """Spaces that begin a line before the dictionary, as they do after a form feed, or that end the text without a line's
    end: to Python, a block. And lines before a dictionary with 3L, which NumPy puts together anew from its tokens."""
    return re.match(r"\s*[\n\f]\s+\{|.*\n[ \t\f]+$|\s*\n.*[0-9]L", text_of(data), re.DOTALL) is not None


# Where dlpark reads on, and NumPy does not.
LAXER = {"a long header": is_long, "indented": is_indented}


def holds(reason, data):
    try:
        return reason(data)
    except (SyntaxError, ValueError, TypeError, KeyError, AttributeError, IndentationError, tokenize.TokenError, MemoryError):
        return False


def difference(data):
    """None where both see the same; a reason of STRICTER or LAXER where that is why not; else AssertionError."""
    try:
        expected = theirs(data)
    except Refused as why:
        expected = why
    try:
        found = ours(data)
    except Refused as why:
        found = why
    if isinstance(found, Refused):
        if isinstance(expected, Refused):
            return None
        for reason, (texts, explains) in STRICTER.items():
            if any(text in str(found) for text in texts) and holds(explains, data):
                return reason
    elif isinstance(expected, Refused):
        for reason, explains in LAXER.items():
            if holds(explains, data):
                return reason
    assert not isinstance(found, Refused), (data, str(found))
    assert not isinstance(expected, Refused), (data, str(expected))
    assert found == expected, data
    return None
