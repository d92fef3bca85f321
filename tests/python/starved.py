"""Each allocation of a call fails in turn: `starved.py GROUP`, in a process of its own with failing_malloc.so preloaded.

After each: a MemoryError came, or what comes with enough memory; no block of memory is left and no reference; every
tensor has ended once, and a capsule that was not consumed is as it was. Prints how many allocations have failed.
"""

import array
import functools
import gc
import importlib.machinery
import importlib.util
import itertools
import operator
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import dlpark
import hostile
import interfaces
import kit_probe as probe
import numpy as np

NEVER = 10**9
# A Tensor that has ended leaves its place for the next one: while so many are alive there are none.
PLACES = 17

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)
TURNED = np.arange(6, dtype=np.float32).reshape(3, 2).T
WIDE = np.zeros((1,) * 64, np.float32)
TENSOR = dlpark.from_dlpack(ARRAY)
HALVES = TENSOR.view("bfloat16")
LENDER = type("Lender", (), {"__dlpack_c_exchange_api__": probe.lender_table()})()
DEVICE = probe.device_tensor(1, 0, 2, 3)
DTYPE, KEY = np.dtype("float32"), (0, slice(None, None, -1), None)


class Plain:
    """Has one attribute, which is no Python code."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


ARRAY_INTERFACE = Plain(__array_interface__={**ARRAY.__array_interface__})
SWAPPED = Plain(__array_interface__={**ARRAY.__array_interface__, "typestr": ">f4"})
CUDA_INTERFACE = Plain(__cuda_array_interface__={**interfaces.CudaInterface().__cuda_array_interface__})
ARRAY_STRUCT = interfaces.Ready()
WATCHED = [ARRAY, TURNED, SWAPPED, WIDE, TENSOR, HALVES, LENDER, DEVICE, DTYPE, KEY, ARRAY_INTERFACE, CUDA_INTERFACE]
# Types are not among them: the kit keeps some, which ones is a matter of where they happen to lie.
WATCHED += [ARRAY_STRUCT]


def kit_type(functions):
    made = probe.exchange_type("", None)
    probe.install_exchange(made, functions)
    return made


HOLDING, SHARING = kit_type("tensor all"), kit_type("share")


def counted():
    """A capsule of a tensor whose end is counted, and needs no memory."""
    return probe.counted(2, 32)


def counted_legacy():
    return dlpark.from_dlpack(counted()).__dlpack__()


# What makes an argument anew for each call.
SOURCES = {
    "own": lambda: TENSOR,
    "own counted": lambda: dlpark.from_dlpack(counted()),
    "numpy": lambda: ARRAY,
    "numpy turned": lambda: TURNED,
    "numpy wide": lambda: WIDE,
    "table": lambda: LENDER,
    "table that only lends": lambda: DEVICE,
    "installed table": lambda: probe.exchange_make(HOLDING, counted()),
    "installed table of shares": lambda: probe.exchange_make(SHARING, counted()),
    "capsule": counted,
    "legacy capsule": counted_legacy,
    "bytearray": lambda: bytearray(24),
    "memoryview": lambda: memoryview(ARRAY),
    "array_interface": lambda: ARRAY_INTERFACE,
    "array_interface swapped": lambda: SWAPPED,
    "array_struct": lambda: ARRAY_STRUCT,
    "cuda_array_interface": lambda: CUDA_INTERFACE,
    "nothing": lambda: KEY,
}

P = functools.partial
function = P(probe.function, bare=True)

# What takes one of them; arguments that follow it.
IMPORTS = {
    "from_dlpack": [dlpark.from_dlpack],
    "from_dlpack copy": [P(dlpark.from_dlpack, copy=True)],
    "from_dlpack device": [P(dlpark.from_dlpack, device="cpu", byteswap=True)],
    "from_dlpack dlpack": [P(dlpark.from_dlpack, via="dlpack")],
    "from_dlpack via": [P(dlpark.from_dlpack, via=("buffer", "capsule"))],
    "py_import": [probe.py_import],
    "py_import compact": [P(probe.py_import, to_compact=True)],
    "py_view": [probe.py_view],
    "py_view writable": [P(probe.py_view, writable=True)],
    "request": [probe.request],
    "request copy": [P(probe.request, copy=2)],
}
CALLS = {
    "begin": [function("f(a: f32[n,k], b?: f32[n,k], s?: str)")],
    "scalars": [P(function("f(a: any, s: str, i: int, x: float, o: object)"), s="text" * 9, i=2**40, x=0.5, o=KEY)],
    "c": [function("f(a: f32[n,k] c cpu)")],
    "mut": [function("f(a: f32[n,k] c mut)")],
    "convert": [function("f(a: any convert c)")],
    "two": [function("f(a: f32[n,k], b: f32)"), LENDER],
    "results": [function("f(a: f32[n,...]) -> f32[n], same(a)[n,2]")],
    "results of numpy": [function("f(a: f32[n,...]) -> f32[n] as=numpy, f64[n,2] as=numpy")],
    "results of ours": [function("f(a: f32[n,...]) -> f32[n] as=dlpark, f16[n,2] as=dlpark")],
    "memoryviews": [function("f(a: f32[n,...]) -> f32[n] as=memoryview, f64[n,2] as=memoryview")],
    "overloads": [function("f(a: f64[n])", "f(a: f32[n,k,m])", "f(a: f32[...])")],
    "nogil": [probe.function("f(a: f32[...] contig)", nogil=True)],
    "more room": [function("f(a: f32, b: f32, c: f32, d: f32, e: f32)"), WIDE, WIDE, WIDE, WIDE],
}
EXPORTS = {
    "to ours": [probe.export, 1],
    "to numpy": [probe.export, 2],
    "to memoryview": [probe.export, 8],
    "handoff": [probe.handoff],
    "answer": [probe.answer_dlpack],
    "answer device": [probe.answer_dlpack_device],
    "make": [P(probe.exchange_make, HOLDING)],
}

method, attribute = operator.methodcaller, operator.attrgetter
TENSORS = {
    "own": lambda: TENSOR,
    "own counted": lambda: dlpark.from_dlpack(counted()),
    "installed table": lambda: probe.exchange_make(HOLDING, counted()),
    "installed table of shares": lambda: probe.exchange_make(SHARING, counted()),
    "narrow": lambda: HALVES,
}
PRODUCE = {
    "__dlpack__": [method("__dlpack__")],
    "__dlpack__ versioned": [method("__dlpack__", max_version=(1, 3))],
    "__dlpack__ all": [method("__dlpack__", max_version=(1, 0), stream=-1, dl_device=(1, 0), copy=True)],
    "__dlpack__ wrong": [method("__dlpack__", max_version=(1, 0), dl_device=(2, 0), copy=False)],
    "__dlpack_device__": [method("__dlpack_device__")],
    "numpy takes it": [np.from_dlpack],
    "memoryview takes it": [memoryview],
    "__array_interface__": [attribute("__array_interface__")],
    "index": [P(operator.getitem), KEY],
    "index wrong": [P(operator.getitem), 10**9],
    "attributes": [attribute("shape", "strides", "dtype", "device", "size", "nbytes", "readonly", "stream", "is_copied")],
    "T": [attribute("T", "mT", "real")],
    "permute": [method("permute", 1, 0)],
    "reshape": [method("reshape", (-1,))],
    "reshape copy": [method("reshape", 3, -1, copy=True)],
    "squeeze": [method("squeeze")],
    "expand_dims": [method("expand_dims", (0, -1))],
    "flip": [method("flip", (0, 1))],
    "broadcast_to": [method("broadcast_to", (4, 2, 3))],
    "diagonal": [method("diagonal", 1)],
    "windows": [method("sliding_window_view", (1, 2))],
    "view": [method("view", "uint8")],
    "view dtype": [method("view", DTYPE)],
    "copy": [method("copy")],
    "astype": [method("astype", "float32")],
    "numpy": [method("numpy")],
    "tobytes": [method("tobytes")],
    "tolist": [method("tolist")],
    "item": [method("item", 1, -1)],
    "list": [list],
    "repr": [repr],
    "str": [str],
    "hash": [hash],
    "reduce": [method("__reduce_ex__", 5)],
}

# Where NumPy runs Python code of its own, which makes something else of a MemoryError.
THEIRS = {"numpy"}

FRESH = {
    "exchange_type": lambda: probe.exchange_type("", None),
    "module": lambda: importlib.util.module_from_spec(SPEC),
    "text": lambda: "f(a: f32[n,k] c cpu, b?: any none, s: str) -> same(a)[n], f64[k] as=numpy",
    "wrong text": lambda: "f(a: f32[n,k] c cpu, b: nothing)",
    "buffer": lambda: bytearray(24),
}
SPEC = importlib.util.spec_from_file_location("dlpark._core", dlpark._core.__file__)
MAKE = {
    "install_exchange": [probe.install_exchange, "tensor all"],
    "exec": [importlib.machinery.ExtensionFileLoader("dlpark._core", dlpark._core.__file__).exec_module],
    "signature": [probe.signature_text],
    "_from_buffer": [dlpark._core._from_buffer, *TENSOR.__reduce_ex__(5)[1][1:]],
}
MADE_OF = dict(zip(FRESH, ["install_exchange", "exec", "signature", "signature", "_from_buffer"]))


def cases(group):
    if group == "make":
        return [(f"{MADE_OF[name]} of {name}", make, *MAKE[MADE_OF[name]]) for name, make in FRESH.items()]
    sources, takers = {
        "imports": (SOURCES, IMPORTS),
        "calls": (SOURCES, CALLS),
        "exports": (SOURCES, EXPORTS),
        "tensors": (TENSORS, PRODUCE),
    }[group]
    return [(f"{t} of {s}", make, *takers[t]) for s, make in sources.items() for t in takers]


class Attempt:
    """One call of a case, whose nth allocation fails; the outcome is dropped with the rest."""

    def __init__(self, nth, make, call, *more):
        places = [dlpark.from_dlpack(ARRAY) for _ in range(PLACES)]
        ended = probe.ended()
        given = make()
        before = probe.ended()
        self.failed, outcome = probe.starve(nth, call, given, *more)
        self.kind = type(outcome)
        self.raised = isinstance(outcome, Exception)
        if type(given).__name__ == "PyCapsule" and self.raised:
            unused = hostile.capsule_name(given) in (hostile.VERSIONED, hostile.LEGACY)
            assert probe.ended() - before == (0 if unused else 1), "a capsule that was refused"
        del given, outcome, places
        gc.collect()  # and with it the free lists of Python
        self.ended = probe.ended() - ended
        assert probe.lender_owners() == 0


def _may_fail(name, attempt):
    return attempt.kind is MemoryError or (attempt.raised and name.split(" of ")[0] in THEIRS)


def repeat(name, nth, usual, case):
    """Whether the nth allocation was asked for. So often that what is lost each time shows: the first may fill a cache."""
    live = array.array("q", bytes(8 * 6))
    counts = [sys.getrefcount(each) for each in WATCHED]
    for i in range(len(live)):
        attempt = Attempt(nth, *case)
        assert attempt.kind is usual.kind or (attempt.failed and _may_fail(name, attempt)), (name, nth, attempt.kind)
        assert attempt.ended == usual.ended, (name, nth, attempt.ended)
        has_failed = attempt.failed
        del attempt
        sys._clear_type_cache()
        live[i] = probe.live()
        if i > 1 and live[i] == live[i - 1]:
            break
    else:
        raise AssertionError(f"{name}: {nth} loses blocks of memory: {list(live)}")
    assert [sys.getrefcount(each) for each in WATCHED] == counts, (name, nth)
    return has_failed


def exhaust(name, *case):
    """How many allocations have failed, each alone, and then each with all that follow it."""
    for _ in range(4):
        usual = Attempt(NEVER, *case)
    assert usual.kind not in (MemoryError, SystemError), (name, usual.kind)
    count = 0
    for sign in (1, -1):
        for nth in itertools.count(1):
            if not repeat(name, sign * nth, usual, case):
                break
            count += 1
    return count


if __name__ == "__main__":
    probe.open_gate(True)
    gc.collect()
    gc.freeze()
    failed = {name: exhaust(name, *case) for name, *case in cases(sys.argv[1])}
    for name, count in failed.items():
        print(count, name)
