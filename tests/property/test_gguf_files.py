"""GGUF files on dlpark and on the package gguf, which read the same files as the same, but for what is listed.

DLPARK_EXAMPLES files that are nearly right, 2,500 by default. The seed is hypothesis': --hypothesis-seed, or 1.
"""

import os
import pathlib
import random

import gguf
import gguf_files

CASES = pathlib.Path(__file__).resolve().parent.parent / "cases" / "gguf"
COUNT = int(os.environ.get("DLPARK_EXAMPLES", 2500))


def is_file(data):
    try:
        gguf_files.ours(data)
    except gguf_files.Refused:
        return False
    return True


def test_mutated_files(request):
    seed = int(request.config.getoption("--hypothesis-seed") or 1)
    source = random.Random(seed)
    read, reasons = 0, {}
    for _ in range(COUNT):
        data = gguf_files.file_of(source)
        reason = gguf_files.difference(data)
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
        else:
            read += is_file(data)
    print(f"\n{COUNT} GGUF files, {read} of them read by both; differences: {reasons}")
    assert COUNT / 5 < read < COUNT * 0.9
    assert sum(reasons.values()) < COUNT / 2


def test_cases():
    """The table says of each file what all three readers did; two of them are here."""
    for line in (CASES / "expected.tsv").read_text().splitlines()[1:]:
        name, rules, _, theirs = line.split("\t")
        data = (CASES / name).read_bytes()
        assert (rules == "ok") == is_file(data) or name in ("empty_file", "letters_short", "other_letters")
        if theirs == "-":
            continue
        try:
            gguf_files.theirs(data, gguf.GGUFReader)
            found = "ok"
        except (gguf_files.Refused, ValueError):
            found = "error"
        assert found == theirs, name
