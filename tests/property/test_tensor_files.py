"""Tensor files on dlpark and on the reference implementation of safetensors, which read the same files as the same.

Four times DLPARK_EXAMPLES files that are nearly right, 10,000 by default: DLPARK_EXAMPLES=25000 for 10^5. The seed is
hypothesis': --hypothesis-seed, or 1.
"""

import os
import pathlib
import random

import pytest

import mutations
import tensor_files

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases" / "safetensors"
COUNT = 4 * int(os.environ.get("DLPARK_EXAMPLES", 2500))
SMALL = (
    b'{"__metadata__":{"k":"v\\n"},"t":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},'
    b'"b":{ "shape":[],"dtype":"U8","data_offsets":[4,5]}}'
)


def compare(files):
    """How many were compared, how many both took for files, and for which reasons dlpark took less."""
    files_read, reasons = 0, {}
    for data in files:
        reason = tensor_files.difference(data)
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
        elif is_file(data):
            files_read += 1
    return files_read, reasons


def is_file(data):
    try:
        tensor_files.ours(data)
    except tensor_files.Refused:
        return False
    return True


def test_mutated_files(request):
    seed = int(request.config.getoption("--hypothesis-seed") or 1)
    source = random.Random(seed)
    read, reasons = compare(mutations.file_of(source) for _ in range(COUNT))
    print(f"\n{COUNT} tensor files, {read} of them read by both; stricter: {reasons}")
    assert COUNT / 20 < read < COUNT * 0.9
    if seed == 1 and COUNT >= 10000:
        assert set(reasons) == set(tensor_files.STRICTER)


def test_every_byte_of_a_file_changed():
    whole = len(SMALL).to_bytes(8, "little") + SMALL + b"12345"
    changed = (whole[:at] + bytes([byte]) + whole[at + 1 :] for at in range(len(whole)) for byte in range(256))
    read, _ = compare(changed)
    assert 256 * 5 < read < 256 * len(whole) / 4


def test_headers_that_are_cut():
    for end in range(len(SMALL) + 1):
        assert tensor_files.difference(end.to_bytes(8, "little") + SMALL[:end] + b"12345") is None


@pytest.mark.parametrize("path", sorted(CASES.iterdir()), ids=lambda path: path.name)
def test_cases(path):
    if path.suffix != ".tsv":
        tensor_files.difference(path.read_bytes())


def test_reasons_are_those_of_the_page():
    """Each reason explains a file that is made for it, and none a file that both read."""
    tensor = b'"t":{"dtype":"U8","shape":[%s],"data_offsets":[0,%d]%s}'
    plain = tensor % (b"1", 1, b"")
    headers = {
        "there are two tensors of this name": b"{%s,%s}" % (plain, plain),
        "__metadata__ has two keys": b'{"__metadata__":{"k":"1","\\u006b":"2"},%s}' % plain,
        "the '{' of a tensor is expected here, not '['": b'{"t":["U8",[1],[0,1]]}',
        "a dtype in quotation marks is expected here, not '{'": b"{%s}" % plain.replace(b'"U8"', b'{"U8":null}'),
        "has more than 2^64-1 bits": b"{%s}" % (tensor % (b"0,4294967296,4294967296", 0, b"")),
        "above 2^63-1": b"{%s}" % (tensor % (b"0,9223372036854775808", 0, b"")),
        "beyond every double": b"{%s}" % (tensor % (b"1", 1, b',"x":1.79769313486231580e308')),
        "values nest more than 64 deep": b"{%s}" % (tensor % (b"1", 1, b',"x":' + b"[" * 65 + b"]" * 65)),
    }
    assert set(headers) == set(tensor_files.STRICTER)
    for reason, header in headers.items():
        data = b"" if b"[0,0]" in header else b"x"
        assert tensor_files.difference(len(header).to_bytes(8, "little") + header + data) == reason
    read = b"{%s}" % (tensor % (b"1", 1, b',"x":179769313486231570000e288'))  # by dlpark, and not by the reference
    assert tensor_files.difference(len(read).to_bytes(8, "little") + read + b"x") == "beyond every double"
    file = b"{%s}" % plain
    assert tensor_files.difference(len(file).to_bytes(8, "little") + file + b"x") is None
