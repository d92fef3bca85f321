#!/usr/bin/env python3
"""What passes between dlpark and a partner, in both directions, without a copy.

    matrix.py PARTNER                 runs the cases of one partner (a name of partners.PARTNERS), prints JSON
    matrix.py --update                runs all, writes expected.json beside this file and docs/interop.md

Outcomes: "same" memory; "copy": right values, other memory; "refused": an exception; "wrong": other values, shape or dtype;
"crash": the process died; None: the library has no such thing.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
PAGE = HERE.parents[1] / "docs" / "interop.md"
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import dlpark  # noqa: E402
import hostile  # noqa: E402
from partners import PARTNERS, Absent, aligned  # noqa: E402

# name: (code, bits) of DLPack, and NumPy's or ml_dtypes' type where there is one.
DTYPES = {
    "bool": ((6, 8), np.bool_),
    **{f"{kind}{bits}": ((code, bits), np.dtype(f"{kind}{bits}").type)
       for code, kind in enumerate(("int", "uint")) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": ((2, bits), np.dtype(f"float{bits}").type) for bits in (16, 32, 64)},
    **{f"complex{bits}": ((5, bits), np.dtype(f"complex{bits}").type) for bits in (64, 128)},
    "bfloat16": ((4, 16), ml_dtypes.bfloat16),
    "float8_e4m3fn": ((10, 8), ml_dtypes.float8_e4m3fn),
    "float8_e5m2": ((12, 8), ml_dtypes.float8_e5m2),
    "float8_e8m0fnu": ((14, 8), ml_dtypes.float8_e8m0fnu),
}
LAYOUTS = ("compact", "strided", "transposed", "negative", "read-only", "empty", "rank 0", "rank 64")


def values(dtype, shape=(4, 6)):
    count = int(np.prod(shape, dtype=int))
    return (np.arange(count) % 2 if dtype is np.bool_ else np.arange(1, count + 1) % 7 + 1).astype(dtype).reshape(shape)


def our_tensor(array, read_only=False):
    """A Tensor of the array's memory, whatever the dtype: by a capsule, since NumPy gives out but a part of them."""
    array = aligned(array)
    code, bits = DTYPES[str(array.dtype)][0]
    strides = tuple(step // array.itemsize for step in array.strides)
    foreign = hostile.Foreign(
        data=array.__array_interface__["data"][0] if array.size else None,
        dtype=(code, bits, 1), shape=array.shape, strides=strides, flags=hostile.READ_ONLY if read_only else 0,
    )
    foreign.array = array
    return dlpark.from_dlpack(foreign.capsule())


def what_it_holds(tensor):
    """Address, shape and bytes in order of a Tensor, read by no library under test."""
    managed = hostile.consume(tensor.__dlpack__(max_version=(1, 3)))
    held = managed.dl_tensor
    shape = tuple(held.shape[i] for i in range(held.ndim))
    strides = tuple(held.strides[i] for i in range(held.ndim))
    nbytes = held.dtype.bits * held.dtype.lanes // 8
    address = (held.data or 0) + held.byte_offset
    elements = b"".join(
        ctypes.string_at(address + nbytes * sum(i * step for i, step in zip(index, strides)), nbytes)
        for index in np.ndindex(shape)
    )
    triple = (held.dtype.code, held.dtype.bits)
    hostile.end(managed)
    return address, shape, triple, elements


def compare(tensor, array, address):
    """The outcome of a Tensor that shall be the array, which lies at the address."""
    at, shape, triple, elements = what_it_holds(tensor)
    if shape != array.shape or triple != DTYPES[str(array.dtype)][0] or elements != array.tobytes():
        return "wrong"
    return "same" if at == address or array.size == 0 else "copy"


def to_us(partner, make, array):
    theirs = make()
    address = partner.address(theirs)
    return compare(dlpark.from_dlpack(theirs), array, address)


def to_them(partner, array, read_only=False):
    tensor = our_tensor(array, read_only)
    theirs = partner.take(tensor)
    address = what_it_holds(tensor)[0]
    again = compare(dlpark.from_dlpack(theirs), array, address)
    return again if again != "same" or array.size == 0 or partner.address(theirs) == address else "copy"


def of_layout(partner, layout):
    """(what makes the partner's array, the same as a NumPy array)."""
    array = values(np.float32)
    shaped = {"empty": (0, 3), "rank 0": (), "rank 64": (1,) * 63 + (3,)}
    if layout in shaped:
        array = values(np.float32, shaped[layout])
    if layout == "strided":
        return lambda: partner.strided(partner.make(array)), array[::2, 1:]
    if layout == "transposed":
        return lambda: partner.transposed(partner.make(array)), array.T
    if layout == "negative":
        return lambda: partner.negative(partner.make(array)), array[::-1]
    if layout == "read-only":
        return lambda: partner.read_only(array), array
    return lambda: partner.make(array), array


def cases(partner):
    """(direction, what, the function that gives the outcome)"""
    for name, (_, element) in DTYPES.items():
        array = values(element)
        yield "to dlpark", name, lambda array=array: to_us(partner, lambda: partner.make(array), array)
        yield "from dlpark", name, lambda array=array: to_them(partner, array)
    for layout in LAYOUTS:
        make, array = of_layout(partner, layout)
        yield "to dlpark", layout, lambda make=make, array=array: to_us(partner, make, array)
        yield "from dlpark", layout, lambda array=array, layout=layout: to_them(partner, array, layout == "read-only")


def attempt(run):
    try:
        return run(), ""
    except Absent:
        return None, ""
    except Exception as error:
        if "-v" in sys.argv:
            traceback.print_exc()
        return "refused", f"{type(error).__name__}: {error}".split("\n")[0][:200]


def contained(run):
    """The outcome, from a child that may die."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(writer, json.dumps(attempt(run)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if text else ("crash", f"signal {status & 127}")


def run(module):
    """All cases of a partner: its name, its version, and [direction, what, outcome, why]."""
    partner = PARTNERS[module]()
    inside = contained if partner.forks else attempt
    rows = [[direction, what, *inside(case)] for direction, what, case in cases(partner)]
    return {"partner": partner.name, "module": module, "seen": partner.version, "rows": rows}


def run_apart(module):
    """The same in a process of its own: libraries do not like each other's threads."""
    done = subprocess.run([sys.executable, __file__, module], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"{module}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


SIGNS = {"same": "same", "copy": "copy", "refused": "no", "wrong": "**wrong**", "crash": "**crash**", None: "–"}


def table(results, direction, names):
    head = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for result in results:
        outcomes = {what: outcome for where, what, outcome, _ in result["rows"] if where == direction}
        head.append(f"| {result['partner']} | " + " | ".join(SIGNS[outcomes[name]] for name in names) + " |")
    return head


def page(results):
    """The Markdown of docs/interop.md."""
    versions = ", ".join(f"{result['partner']} {result['seen']}" for result in results)
    lines = [
        "# Interoperability",
        "",
        "What passes between dlpark and other libraries on the host, in both directions. Written by",
        "`tests/interop/matrix.py --update`, and held equal to what runs by `tests/interop/test_matrix.py`.",
        "",
        f"Versions: {versions}.",
        "",
        "*same*: the same memory, the same values. *copy*: the right values in other memory. *no*: the library raises an",
        "exception. –: the library has no such array. An outcome other than *same* is the other library's choice.",
    ]
    for direction, words in (("to dlpark", "`dlpark.from_dlpack(theirs)`"), ("from dlpark", "their `from_dlpack(tensor)`")):
        lines += ["", f"## {direction[0].upper()}{direction[1:]}: {words}", "", "### Layouts of float32", ""]
        lines += table(results, direction, LAYOUTS)
        for title, part in (("Integers and bool", list(DTYPES)[:9]), ("Floats and complex", list(DTYPES)[9:])):
            lines += ["", f"### {title}", "", *table(results, direction, part)]
    reasons = [
        f"- {result['partner']}, {direction}, {what}: {why}".replace("<", "&lt;")
        for result in results
        for direction, what, outcome, why in result["rows"]
        if outcome in ("refused", "crash")
    ]
    return "\n".join([*lines, "", "## What they say", "", *reasons, ""])


def main(arguments):
    if arguments == ["--update"]:
        results = [run_apart(module) for module in PARTNERS]
        EXPECTED.write_text(json.dumps(results, indent=0) + "\n")
        PAGE.write_text(page(results))
        return 0
    if len(arguments) < 1 or arguments[0] not in PARTNERS:
        print(__doc__, file=sys.stderr)
        return 2
    print(json.dumps(run(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
