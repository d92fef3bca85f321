#!/usr/bin/env python3
"""What a float32 becomes as each element type: here, in ml_dtypes and NumPy, in PyTorch and in ONNX.

    element_types.py --update       runs all and writes docs/element-types.md

ONNX is its reference implementation, the operator Cast with `saturate` 0 and 1.
"""

import pathlib
import re
import sys
import textwrap
import warnings

import ml_dtypes
import numpy as np

import dlpark

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "element-types.md"
VALUES = np.array([1, -1, -0.0, 300, 448, 464, 465, 1e30, np.inf, -np.inf, np.nan], np.float32)
TITLES = ["1", "-1", "-0", "300", "448", "464", "465", "1e30", "inf", "-inf", "NaN"]
FLOAT_MODES, INTEGER_MODES = ("nosat", "satfinite", "satall"), ("saturate", "wrap")
FAMILIES = {
    "Floats of 16 bits": (["float16", "bfloat16"], ""),
    "Floats of 8 bits with infinity": (["float8_e5m2", "float8_e4m3", "float8_e3m4"], ""),
    "Floats of 8 bits without infinity": (
        ["float8_e4m3fn"],
        "The type that most people mean by fp8. Its largest value is 448; what is up to 464 rounds to it.",
    ),
    "The FNUZ floats": (
        ["float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"],
        "No infinity and no -0: the code of -0 is the one NaN.",
    ),
    "Scales": (
        ["float8_e8m0fnu"],
        "Powers of two from 2^-127 to 2^127, without sign and zero. What lies between two of them goes to the nearer one here, "
        "1.5 times a power up; ONNX rounds up unless its `round_mode` says otherwise.",
    ),
    "Floats of 6 and 4 bits": (
        ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"],
        "Every code is a number: there is nothing for infinity and NaN to become.",
    ),
    "Integers": (
        ["int8", "uint8", "int4", "uint4", "int2", "uint2"],
        "Truncated. What C leaves undefined, a float that is out of range, is what the machine makes of it in NumPy, ml_dtypes, "
        "PyTorch and ONNX: those cells say *undefined*, and are not run.",
    ),
    "Bool": (["bool"], "Whatever is not 0, NaN too."),
}
EXPLANATION = """\
What `dlpark_cast()` and `Tensor.astype()` make of a value that an element type does not hold, and what others make of it.
The cells are what came out of a run, the libraries in these versions: {versions}.

This page is written by `tests/python/element_types.py --update`; a test runs all of it again and compares.

A row is one result, and names everybody who gives it. `nosat`, `satfinite` and `satall` are the modes of dlpark for floats,
`saturate` and `wrap` those for integers; `refuse` raises where its cell says *error*. The default is
marked with \\*. A **bold** cell is a result that no mode of dlpark gives. The source is float32: ml_dtypes rounds a float64
to a float32 first and then once more, dlpark rounds once.

In short:

{findings}
"""


def show(value):
    """A result as the tables have it."""
    if value is None or isinstance(value, str):
        return value or ""
    value = float(value)
    if np.isnan(value):
        return "NaN"
    if value and float(np.log2(abs(value))).is_integer() and not 2**-10 < abs(value) < 1e6:
        return f"{'-' if value < 0 else ''}2^{int(np.log2(abs(value)))}"
    return f"{value:.4g}" if abs(value) >= 1e6 else f"{value:g}"


# ---- Who converts ----


def by_dlpark(name, mode):
    made = []
    for value in VALUES:
        try:
            made.append(dlpark.from_dlpack(np.array([value])).astype(name, overflow=mode).tolist()[0])
        except OverflowError:
            made.append("*error*")
    return made


def undefined(name, results):
    """A float that an integer does not hold is no number that anybody promises."""
    limits = dlpark.dtypes.DType(name).limits
    fits = [np.isfinite(v) and limits.min <= np.trunc(v) <= limits.max for v in VALUES]
    return [result if fit else "*undefined*" for result, fit in zip(results, fits)]


def by_numpy(name):
    """NumPy's own dtype, or that of ml_dtypes."""
    kind = getattr(ml_dtypes, name, None)
    library = "NumPy" if kind is None else "ml_dtypes"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = VALUES.astype(np.dtype(name if kind is None else kind))
        return library, [float(value) for value in made]


def by_torch(name):
    import torch

    dtype = getattr(torch, name, None)
    if dtype is None or name in ("int4", "uint4", "int2", "uint2", "float4_e2m1fn"):
        return None
    # One at a time, and all at once: the two are different code in PyTorch.
    alone = [float(torch.tensor([value]).to(dtype).to(torch.float32)) for value in VALUES.tolist()]
    many = torch.tensor(np.repeat(VALUES, 64)).to(dtype).to(torch.float32).numpy()[::64].tolist()
    if not np.array_equal(alone, many, equal_nan=True) or not np.array_equal(np.signbit(alone), np.signbit(many)):
        return [f"{show(a)} or {show(b)}" if show(a) != show(b) else a for a, b in zip(alone, many)]
    return alone


ONNX_TYPES = {
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "float8_e4m3fn": "FLOAT8E4M3FN",
    "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8_e5m2": "FLOAT8E5M2",
    "float8_e5m2fnuz": "FLOAT8E5M2FNUZ",
    "float8_e8m0fnu": "FLOAT8E8M0",
    "float4_e2m1fn": "FLOAT4E2M1",
    "int8": "INT8",
    "uint8": "UINT8",
    "int4": "INT4",
    "uint4": "UINT4",
    "int2": "INT2",
    "uint2": "UINT2",
    "bool": "BOOL",
}


def by_onnx(name, saturate):
    import onnx
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    kind = getattr(TensorProto, ONNX_TYPES.get(name, ""), None)
    if kind is None:
        return None
    node = helper.make_node("Cast", ["x"], ["y"], to=kind, saturate=saturate)
    graph = helper.make_graph(
        [node],
        "cast",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])],
        [helper.make_tensor_value_info("y", kind, [None])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", onnx.defs.onnx_opset_version())])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        (made,) = ReferenceEvaluator(model).run(None, {"x": VALUES})
    return [float(value) for value in np.asarray(made)]


# ---- The tables ----


def results_of_ours(name):
    """How many modes there are, and a list of (who, results): these, NumPy or ml_dtypes, and `refuse` last."""
    is_bool, is_integer = name == "bool", "int" in name
    modes = ("saturate",) if is_bool else INTEGER_MODES if is_integer else FLOAT_MODES
    rows = [("dlpark" if is_bool else f"`{mode}`" + "\\*" * (mode == modes[0]), by_dlpark(name, None if is_bool else mode)) for mode in modes]
    library, made = by_numpy(name)
    rows.append((library, undefined(name, made) if is_integer else made))
    if not is_bool:
        rows.append(("`refuse`", by_dlpark(name, "refuse")))
    return len(modes), rows


def results(name):
    """The same with the partners' before `refuse`."""
    count, rows = results_of_ours(name)
    others = [("PyTorch", by_torch(name))]
    onnx = [by_onnx(name, saturate) for saturate in (1, 0)]
    if onnx[0] is not None and [*map(show, onnx[0])] == [*map(show, onnx[1])]:
        others.append(("ONNX", onnx[0]))
    else:
        others += [("ONNX `saturate=1`", onnx[0]), ("ONNX `saturate=0`", onnx[1])]
    theirs = [(who, undefined(name, made) if "int" in name else made) for who, made in others if made is not None]
    return count, [*rows[: count + 1], *theirs, *rows[count + 1 :]]


def merged(count, rows):
    """Rows of (names, cells, whether a cell is one of ours), alike ones together."""
    shown = [(who, [*map(show, made)]) for who, made in rows]
    ours = [cells for _, cells in shown[:count]]
    lines = {}
    for who, cells in shown:
        lines.setdefault(tuple(cells), []).append(who)
    for cells, names in lines.items():
        known = [cell in {mode[i] for mode in ours} or cell in ("*undefined*", "*error*") for i, cell in enumerate(cells)]
        yield names, cells, known


def family(names):
    lines = ["| type | by | " + " | ".join(TITLES) + " |", "|---|---|" + "---|" * len(TITLES)]
    for name in names:
        for at, (who, cells, known) in enumerate(merged(*results(name))):
            marked = [cell if ours else f"**{cell}**" for cell, ours in zip(cells, known)]
            lines.append(f"| {name if at == 0 else ''} | {', '.join(who)} | " + " | ".join(marked) + " |")
    return lines


def torch_rule():
    """Which rule of fp8 this PyTorch has."""
    rows = {name: (by_torch(name), {mode: by_dlpark(name, mode) for mode in FLOAT_MODES}) for name in ("float8_e4m3fn", "float8_e5m2")}
    said = []
    for name, (theirs, ours) in rows.items():
        same = [mode for mode, made in ours.items() if [*map(show, made)] == [*map(show, theirs)]]
        said.append(f"`{name}` as `{same[0]}` does" if same else f"`{name}` as none of the modes does")
    return ", and ".join(said)


def e4m3fn(value, who):
    return show(who("float8_e4m3fn")[TITLES.index(value)])


def findings():
    import torch

    return "\n".join(
        [
            f"- PyTorch {torch.__version__} converts {torch_rule()}.",
            f"- 465 as `float8_e4m3fn` is {show(by_dlpark('float8_e4m3fn', 'nosat')[6])} by default here, as in ml_dtypes "
            f"({e4m3fn('465', lambda n: by_numpy(n)[1])}); {e4m3fn('465', by_torch)} in PyTorch; "
            f"{e4m3fn('465', lambda n: by_onnx(n, 1))} in ONNX, which saturates unless it is told not to.",
            f"- Infinity as `float8_e4m3fn` is {e4m3fn('inf', lambda n: by_dlpark(n, 'nosat'))} here and in ml_dtypes; it is "
            f"{e4m3fn('inf', by_torch)} in PyTorch and {e4m3fn('inf', lambda n: by_onnx(n, 1))} in ONNX.",
            "- `satfinite` leaves infinity what it is where the type has one; `satall` is for whoever wants finite numbers alone.",
        ]
    )


def versions():
    import onnx
    import torch

    return (
        f"ml_dtypes {ml_dtypes.__version__}, NumPy {np.__version__}, PyTorch {torch.__version__}, ONNX {onnx.__version__}, "
        f"dlpark {dlpark.__version__}"
    )


def wrapped(text):
    """The paragraphs and items of a text, in lines of at most 120 characters."""
    blocks = [textwrap.fill(" ".join(block.split()), 120, subsequent_indent="  " * block.startswith("- "), break_long_words=False)
              for block in re.split(r"\n\n|\n(?=- )", text.strip())]
    return re.sub(r"(?m)^(- .*(?:\n  .*)*)\n\n(?=- )", r"\1\n", "\n\n".join(blocks))


def page():
    lines = ["# Element types: what becomes of what does not fit", "", wrapped(EXPLANATION.format(versions=versions(), findings=findings()))]
    for title, (names, text) in FAMILIES.items():
        lines += ["", f"## {title}", "", *([wrapped(text), ""] if text else []), *family(names)]
    return "\n".join([*lines, ""])


def main(arguments):
    if arguments != ["--update"]:
        raise SystemExit(__doc__)
    PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
