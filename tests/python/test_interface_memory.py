"""Memory that fails while an interface is read or written, at every place in turn. As test_memory.py."""

import pytest
from test_memory import run

IMPORT = """
    import functools
    import interfaces, kit_probe
    make = {make}
    def take(source):
        return functools.partial(kit_probe.interface_import, {way!r}, source, byteswap=True)
    expected = kit_probe.caught(take(make()))
    succeeded = 0
    for n in range(80):
        source = make()
        things = [source] if not hasattr(source, "dict") else [source, source.dict]
        call = take(source)
        before = [sys.getrefcount(thing) for thing in things]
        _testcapi.set_nomemory(n, n + 1)
        try:
            result = kit_probe.caught(call)
        except MemoryError:  # where Python calls it
            result = MemoryError()
        finally:
            _testcapi.remove_mem_hooks()
        if type(result) is MemoryError:
            failed += 1
        else:
            assert type(result) is type(expected), (n, result)
            succeeded += str(result) == str(expected) or type(result) is tuple
        result = None
        assert [sys.getrefcount(thing) for thing in things] == before, n
        if type(source) is bytearray:
            source.append(0)  # given back
    assert succeeded
"""

EXPORT = """
    import kit_probe
    foreign = hostile.Foreign(shape=(300, 400){keywords})
    tensor = dlpark.from_dlpack(foreign.capsule())
    for n in range(60):
        capsule = tensor.__dlpack__(max_version=(1, 3), stream={stream})
        kept = []
        failed += failing_at(n, lambda: kept.append(kit_probe.{function}(capsule, tensor, {stream})))
        assert not kept or kept[0]["shape"] == (300, 400), n
        capsule = None
        assert foreign.calls == []
    del tensor, kept
    assert len(foreign.calls) == 1
"""


@pytest.mark.parametrize(
    "way, make",
    [
        ("array_interface", "interfaces.Interface"),
        ("array_interface", "lambda: interfaces.Interface(strides=(0, 4), shape=(1, 3), typestr='>f4')"),
        ("array_interface", "lambda: interfaces.Interface(data=bytearray(24))"),
        ("array_interface", "lambda: interfaces.Interface(data=bytearray(23))"),
        ("array_interface", "lambda: interfaces.Interface(shape=(2, 3.0))"),
        ("array_interface", "lambda: interfaces.Interface(typestr='|V4')"),
        ("array_struct", "interfaces.Ready"),
        ("array_struct", "lambda: interfaces.Ready(flags=0)"),
        ("array_struct", "lambda: interfaces.Ready(two=3)"),
        ("buffer", "lambda: bytearray(b'abc')"),
        ("buffer", "lambda: memoryview(b'abc').cast('c')"),
        ("cuda_array_interface", "interfaces.CudaInterface"),
        ("cuda_array_interface", "lambda: interfaces.CudaInterface(stream=1)"),
        ("cuda_array_interface", "lambda: interfaces.CudaInterface(stream=2)"),
    ],
)
def test_import(way, make):
    run(IMPORT, way=way, make=make)


@pytest.mark.parametrize("keywords", ["", ", strides=(1000, 2)"])
def test_export(keywords):
    run(EXPORT, function="array_interface", keywords=keywords, stream=None)


@pytest.mark.parametrize("keywords", ["", ", strides=(1000, 2)"])
def test_export_cuda(keywords):
    run(EXPORT, function="cuda_array_interface", keywords=", device=(2, 0)" + keywords, stream=1)
