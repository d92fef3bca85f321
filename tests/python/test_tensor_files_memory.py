"""Memory that fails while tensor files are opened, asked, read and written; needs CPython's _testcapi, as test_memory.py does."""

import pytest
from test_memory import run

FILES = """
    import os, pathlib, tempfile
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "a.safetensors")
    tensors = dict(first=dlpark.from_dlpack(hostile.Foreign(shape=(2, 3)).capsule()), second=dlpark.from_dlpack(hostile.Foreign().capsule()))
    dlpark.save(path, tensors, metadata=dict(format="pt", more="text"))
    data = pathlib.Path(path).read_bytes()

    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    def each(count, call, right=lambda found: True):
        '''Fails at each place; what comes out is right, and when it has ended no file is open that was not before.'''
        global failed
        assert right(call())
        open_before, succeeded = descriptors(), 0
        for n in range(count):
            kept = []
            failing = failing_at(n, lambda: kept.append(call()))
            failed += failing
            succeeded += not failing
            assert failing or right(kept[0]), n
            kept.clear()
            gc.collect()
            assert descriptors() == open_before, n
        assert succeeded, "no call came through"
"""

OPEN = """
    opens = dict(path=lambda: dlpark.open(path), bytes=lambda: dlpark.open(data), descriptor=lambda: dlpark.open(descriptor))
    descriptor = os.open(path, os.O_RDONLY)
    references = sys.getrefcount(data)
    each(60, opens[{way!r}], lambda file: len(file) == 2)
    assert sys.getrefcount(data) == references
    os.close(descriptor)
    folder.cleanup()
"""

ASK = """
    with dlpark.open(path) as file:
        call = lambda: {call}
        expected = repr(call())
        each(60, call, lambda found: repr(found) == expected)
    folder.cleanup()
"""

CHECK = """
    broken = os.path.join(folder.name, "broken")
    pathlib.Path(broken).write_bytes(data.replace(b"[0,", b"[9,"))
    faults = len(dlpark._files.check(broken, 0))
    assert faults > 0
    each(40, lambda: dlpark._files.check(broken, 0), lambda found: len(found) == faults)
    folder.cleanup()
"""

SAVE = """
    out = os.path.join(folder.name, "out.safetensors")
    before, saved = sorted(os.listdir(folder.name)), 0
    for n in range(60):
        foreign = hostile.Foreign(shape=(2, 3))
        tensor = dlpark.from_dlpack(foreign.capsule())
        given, metadata = dict(a=tensor, b=tensor), {{chr(233) + str(n): "pt"}}  # whose UTF-8 takes memory
        capsules = [(name, tensor.__dlpack__(max_version=(1, 3))) for name in given]
        pairs = list(metadata.items())
        values = [("texts", 0, 0, True, [chr(233) + str(n), ""]), ("number", 0, 32, False, bytes(4))]
        save = {call}
        failing = failing_at(n, save)
        failed += failing
        saved += not failing
        assert sorted(os.listdir(folder.name)) == (before if failing else sorted([*before, "out.safetensors"])), n
        if not failing:
            with dlpark.open(out) as file:
                assert list(file) == ["a", "b"] and file.metadata.items() >= metadata.items()
            os.remove(out)
        assert foreign.calls == [], n
        del tensor, given, capsules, pairs, values, save
        gc.collect()
        # CPython 3.11 keeps the arguments of a function for whose frame there is no memory.
        assert len(foreign.calls) == 1 or (n == 0 and {keeps}), n
    assert saved
    folder.cleanup()
"""


@pytest.mark.parametrize("way", ["path", "bytes", "descriptor"])
def test_opening(way):
    run(FILES + OPEN, way=way)


@pytest.mark.parametrize(
    "call",
    [
        "dlpark._files.names(file._handle)",
        "dlpark._files.metadata(file._handle)",
        "dlpark._files.entry(file._handle, 0)",
        "dlpark._files.about(file._handle)",
        "dlpark._files.find(file._handle, 'fir' + 'st')",
        "dlpark._files.prefetch(file._handle, [0, 1])",
        "file['first'].shape",
        "dlpark.load(path, copy=True)['first'].shape",
    ],
)
def test_asking(call):
    run(FILES + ASK, call=call)


def test_checking():
    run(FILES + CHECK)


def test_saving():
    run(FILES + SAVE, call='lambda: dlpark._files.save(out, capsules, pairs, 0, 0, False, [], -1)', keeps=False)
    typed = 'lambda: dlpark._files.save(out, capsules, pairs, dlpark._tensor_files._FORMATS["gguf"], 0, False, values, -1)'
    run(FILES + SAVE, call=typed, keeps=False)
    run(FILES + SAVE, call="lambda: dlpark.save(out, given, metadata=metadata)", keeps="sys.version_info < (3, 12)")
