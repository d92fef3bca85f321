"""Files of arrays on dlpark and on NumPy, which read the same files as the same, but for a written list.

DLPARK_EXAMPLES files that are nearly right, 2,500 by default: DLPARK_EXAMPLES=100000 for 10^5. The seed is hypothesis':
--hypothesis-seed, or 1.
"""

import os
import pathlib
import random

import pytest

import npy_files
import npy_mutations

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases" / "npy"
COUNT = int(os.environ.get("DLPARK_EXAMPLES", 2500))
SMALL = b"{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }\n"
DATA = bytes(range(1, 13))


def file_of(header, data=DATA, major=1):
    return b"\x93NUMPY" + bytes([major, 0]) + len(header).to_bytes(2 if major == 1 else 4, "little") + header + data


def compare(files):
    """How many both took for files, and for which reasons they differ."""
    read, reasons = 0, {}
    for data in files:
        reason = npy_files.difference(data)
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
            continue
        try:
            npy_files.ours(data)
            read += 1
        except npy_files.Refused:
            pass
    return read, reasons


def test_mutated_arrays(request):
    source = random.Random(int(request.config.getoption("--hypothesis-seed") or 1))
    read, reasons = compare(npy_mutations.file_of(source) for _ in range(COUNT))
    print(f"\n{COUNT} arrays, {read} of them read by both; differences: {reasons}")
    assert COUNT / 20 < read < COUNT * 0.9
    if COUNT >= 2500:
        assert set(reasons) <= set(npy_files.STRICTER) | set(npy_files.LAXER)


def test_every_byte_of_an_array_changed():
    whole = file_of(SMALL)
    changed = (whole[:at] + bytes([byte]) + whole[at + 1 :] for at in range(len(whole)) for byte in range(256))
    read, _ = compare(changed)
    assert 256 * 12 < read < 256 * len(whole) / 4


def test_headers_that_are_cut():
    for major in (1, 2, 3):
        for end in range(len(SMALL) + 1):
            assert npy_files.difference(file_of(SMALL[:end], major=major)) is None
    for end in range(len(file_of(SMALL))):
        assert npy_files.difference(file_of(SMALL)[:end]) is None


@pytest.mark.parametrize("path", sorted(CASES.iterdir()), ids=lambda path: path.name)
def test_cases(path):
    if path.suffix != ".tsv":
        npy_files.difference(path.read_bytes())


def test_reasons_are_those_of_the_page():
    """Each reason explains a file that is made for it, and none a file that both read."""
    headers = {
        "no tensor": SMALL.replace(b"'<f2'", b"'<M8[ns]'"),
        "the reader's byte order": SMALL.replace(b"<f2", b"f2"),
        "another name of a dtype": SMALL.replace(b"<f2", b"float16"),
        "a key twice": SMALL.replace(b"}", b"'shape': (3, 2)}"),
        "strings": SMALL + b"# comment\n",
        "numbers": SMALL.replace(b"(2, 3)", b"(2, 0x3)"),
        "brackets": SMALL.replace(b"True", b"(True)"),
        "a long header": SMALL + b" " * 10000,
        "indented": b"\n " + SMALL,
    }
    assert set(headers) == set(npy_files.STRICTER) | set(npy_files.LAXER)
    for reason, header in headers.items():
        assert npy_files.difference(file_of(header, bytes(100))) == reason, reason
    assert npy_files.difference(file_of(SMALL)) is None
