"""What is wrong with a tensor that somebody hands on: `check`, and the report that it gives."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

_ABI_VERSION = (1, 3)

# What the two methods are judged by, in the form of the C side's rules: name, severity, field, limit, text.
_METHOD_RULES = (
    (
        "CAPSULE",
        "broken",
        "__dlpack__()",
        "a capsule named 'dltensor_versioned' or 'dltensor'",
        "Nobody else can take what comes in another form.",
    ),
    (
        "DEVICE_AGREES",
        "broken",
        "__dlpack_device__()",
        "the device of the tensor",
        "A consumer prepares for the device that it was told, and looks for the memory there.",
    ),
    (
        "DEVICE_METHOD",
        "hazard",
        "__dlpack_device__()",
        "a method",
        "PyTorch, JAX and CuPy ask for the device first, and refuse a producer that does not say it.",
    ),
    (
        "MAX_VERSION",
        "hazard",
        "max_version",
        "a keyword of __dlpack__()",
        "A producer without it is of the legacy ABI, which cannot say that memory must not be written.",
    ),
)

# Which rules have to hold for another to be judged, beside those that these need.
_DTYPE = ("DTYPE_CODE", "DTYPE_LANES", "DTYPE_COMPLEX", "DTYPE_BITS")
_DEVICE = ("DEVICE_TYPE", "DEVICE_ID")
_NEEDS: dict[str, tuple[str, ...]] = {
    "CAPSULE": (),
    "DEVICE_METHOD": (),
    "DEVICE_AGREES": ("VERSION", "DEVICE_METHOD"),
    "MAX_VERSION": ("CAPSULE",),
    "TENSOR": ("CAPSULE",),
    "VERSION": ("TENSOR",),
    "SHAPE": ("RANK",),
    "EXTENT": ("SHAPE",),
    "NUMEL": ("EXTENT",),
    "REACH": ("EXTENT",),
    "DATA": ("EXTENT",),
    "NBYTES": ("NUMEL", "REACH", *_DTYPE),
    "ADDRESS": ("NBYTES", "DATA", *_DEVICE),
    "BYTE_OFFSET": ("EXTENT", *_DEVICE),
    "NEGATIVE_STRIDE": ("EXTENT",),
    "ZERO_STRIDE": ("EXTENT",),
    "UNUSED_STRIDE": ("NUMEL", "REACH"),
    "NOT_COMPACT": ("NUMEL", "REACH"),
    "ALIGNMENT": ("DATA", *_DTYPE, *_DEVICE),
    "SELF_OVERLAP": ("NUMEL", "REACH"),
    "MAYBE_OVERLAP": ("NUMEL", "REACH"),
    "EMPTY_DATA": ("EXTENT",),
    "PADDED": _DTYPE,
    "DTYPE_VERSION": _DTYPE,
    "HOST_DEVICE_ID": _DEVICE,
    "SCALABLE_LANES": _DTYPE,
    "PACKED_LANES": _DTYPE,
}
_NEEDS_OF_THE_REST = ("VERSION",)

# By what a producer is known that has never heard of a keyword: Python's own words, and those of nanobind and pybind11.
_OLD_PRODUCER = ("max_version", "keyword argument", "incompatible function arguments")


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a tensor, or legal and misread by some consumer.

    Attributes
    ----------
    rule : str
        The name of the rule: ``"EXTENT"``.
    severity : str
        ``"broken"``: the description is wrong, and dlpark refuses it. ``"hazard"``: legal, and misread by somebody.
    field : str
        Of the struct, or a method: ``"shape[2]"``.
    value : int or str
        What it holds; of a pointer, the address, and 0 for NULL.
    limit : int or str
        The bound that `value` passed, where that is a number, else 0; of a method, what was expected.
    message : str
        One sentence with the numbers.
    """

    rule: str
    severity: str
    field: str
    value: int | str
    limit: int | str
    message: str


@dataclass(frozen=True)
class Verdict:
    """What became of one rule.

    Attributes
    ----------
    rule : str
        Its name.
    verdict : str
        ``"ok"``, ``"broken"``, ``"hazard"``, or ``"unjudged"`` where another fault leaves nothing to judge.
    field : str
        What the rule is about.
    limit : str
        What is expected of it.
    text : str
        What the rule means; for a hazard, which consumer misreads it.
    """

    rule: str
    verdict: str
    field: str
    limit: str
    text: str


class Report:
    """The judgement of one tensor: one line a rule. Falsy when a rule is broken.

    Made by `check`. Iterating gives the faults.

    Attributes
    ----------
    subject : str
        What was checked, in one line.
    rules : tuple of Verdict
        Every rule with what became of it.
    faults : tuple of Fault
        Everything that was found; what is broken comes first.
    broken, hazards : tuple of Fault
        The faults of either severity.
    """

    __slots__ = ("faults", "rules", "subject")

    subject: str
    rules: tuple[Verdict, ...]
    faults: tuple[Fault, ...]

    def __init__(self, subject: str, rules: tuple[Verdict, ...], faults: tuple[Fault, ...]) -> None:
        self.subject = subject
        self.rules = rules
        self.faults = faults

    @property
    def broken(self) -> tuple[Fault, ...]:
        """The faults for which the tensor is refused."""
        return tuple(fault for fault in self.faults if fault.severity == "broken")

    @property
    def hazards(self) -> tuple[Fault, ...]:
        """What is legal, and misread by some consumer."""
        return tuple(fault for fault in self.faults if fault.severity == "hazard")

    def __bool__(self) -> bool:
        return not self.broken

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.faults)

    def __len__(self) -> int:
        return len(self.faults)

    def __repr__(self) -> str:
        rules = max(len(verdict.rule) for verdict in self.rules)
        lines = [self.subject]
        for verdict in self.rules:
            lines.append(f"  {verdict.verdict:8}  {verdict.rule:{rules}}  {self._finding(verdict)}".rstrip())
        lines.append(f"{len(self.broken)} broken, {_count(len(self.hazards), 'hazard')}")
        return "\n".join(lines)

    def _finding(self, verdict: Verdict) -> str:
        messages = [fault.message for fault in self.faults if fault.rule == verdict.rule]
        if not messages:
            return "" if verdict.verdict == "unjudged" else f"{verdict.field}: {verdict.limit}"
        return messages[0] + (f" (and {len(messages) - 1} more)" if len(messages) > 1 else "")

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, as `json` takes it.

        Returns
        -------
        dict
            With the keys ``ok``, ``subject``, ``rules`` and ``faults``.
        """
        return {
            "ok": bool(self),
            "subject": self.subject,
            "rules": [asdict(verdict) for verdict in self.rules],
            "faults": [asdict(fault) for fault in self.faults],
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """The report as JSON text.

        Parameters
        ----------
        indent : int, optional
            As `json.dumps` takes it.

        Returns
        -------
        str
        """
        return json.dumps(self.to_dict(), indent=indent)


def check(x: Any, /) -> Report:
    """Judge a tensor by every rule of DLPack, and by what consumers in the field misread.

    Parameters
    ----------
    x : object with __dlpack__, or a DLPack capsule
        A producer is asked once, and what it gives is ended. A capsule is only looked at, and can still be consumed.

    Returns
    -------
    Report
        One line a rule; falsy when one is broken.

    Raises
    ------
    TypeError
        `x` is neither.
    ValueError
        The capsule has been consumed already, or is no DLPack capsule.
    BufferError
        The producer refuses to give out its tensor. Whatever else it raises comes through as well.

    Notes
    -----
    The elements are not read, and of the struct no more than its version and its pointers allow.

    Examples
    --------
    >>> report = dlpark.check(np.zeros((4, 6))[:, ::2])
    >>> bool(report), [fault.rule for fault in report]
    (True, ['NOT_COMPACT'])
    >>> print(report.faults[0].message)
    shape [4, 3] has strides [6, 2]. DLPack.jl reads whatever is not column-major as compact row-major.
    """
    judged = _core._check_capsule(x, False)
    if judged is not None:
        return _report("a capsule", judged, [], asked=False)
    name = _type_name(x)
    if isinstance(x, type):
        raise TypeError(f"x must be a DLPack producer or a capsule, not a class ({x.__qualname__})")
    if getattr(x, "__dlpack__", None) is None:
        raise TypeError(f"x must be a DLPack producer or a capsule, and {name} has no __dlpack__")
    faults: list[Fault] = []
    device = _ask_device(x, name, faults)
    judged = _judge(_ask_capsule(x, faults), name, faults)
    if judged is not None and device is not None and judged[3] is not None and device != judged[3]:
        message = f"{name}.__dlpack_device__() says {device}, and the tensor is on {judged[3]}"
        faults.append(Fault("DEVICE_AGREES", "broken", "__dlpack_device__()", str(device), str(judged[3]), message))
    return _report(name, judged, faults, asked=True)


def _type_name(x: Any) -> str:
    kind = type(x)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _method_fault(rule: str, value: str, found: str) -> Fault:
    """A fault against one of the two methods, worded as the C side's are."""
    for name, severity, field, limit, text in _METHOD_RULES:
        if name == rule:
            message = f"{found}, expected {limit}" if severity == "broken" else f"{found}. {text}"
            return Fault(rule, severity, field, value, limit, message)
    raise KeyError(rule)


def _ask_device(x: Any, name: str, faults: list[Fault]) -> tuple[int, int] | None:
    method = getattr(x, "__dlpack_device__", None)
    if method is None:
        faults.append(_method_fault("DEVICE_METHOD", "", f"{name} has no __dlpack_device__"))
        return None
    pair = method()
    if not (isinstance(pair, tuple) and len(pair) == 2 and all(_is_integer(part) for part in pair)):
        found = f"{name}.__dlpack_device__() returned {_short(pair)}, which is no pair of integers"
        faults.append(_method_fault("DEVICE_AGREES", _short(pair), found))
        return None
    return int(pair[0]), int(pair[1])


def _is_integer(value: Any) -> bool:
    # Enumerations of device types count, and are what most libraries return.
    return isinstance(value, int) or hasattr(type(value), "__index__")


def _ask_capsule(x: Any, faults: list[Fault]) -> Any:
    try:
        return x.__dlpack__(max_version=_ABI_VERSION)
    except TypeError as error:
        refusal = str(error)
        if not any(words in refusal for words in _OLD_PRODUCER):
            raise
    capsule = x.__dlpack__()
    faults.append(_method_fault("MAX_VERSION", "", f"__dlpack__() takes no max_version ({refusal})"))
    return capsule


def _judge(capsule: Any, name: str, faults: list[Fault]) -> Any:
    try:
        judged = _core._check_capsule(capsule, True)
    except ValueError as error:
        faults.append(_method_fault("CAPSULE", str(error), f"{name}.__dlpack__(): {error}"))
        return None
    if judged is None:
        kind = type(capsule).__name__
        faults.append(_method_fault("CAPSULE", kind, f"{name}.__dlpack__() returned {kind}, not a capsule"))
    return judged


def _report(subject: str, judged: Any, methods: list[Fault], *, asked: bool) -> Report:
    """Puts together what was found in a struct, and what the methods did."""
    found = list(methods)
    if judged is not None:
        abi, (major, minor), flags, _, description, faults = judged
        version = "legacy" if abi == "legacy" else f"versioned {major}.{minor}"
        subject += f": {description}, " if description is not None else ": "
        subject += f"{version}, flags {flags:#x}"
        for rule, severity, field, _, value, limit, message in faults:
            found.append(Fault(rule, severity, field, value, limit, message))
    found.sort(key=lambda fault: fault.severity != "broken")
    rules = (_METHOD_RULES if asked else _METHOD_RULES[:1]) + _core._check_rules()
    worst = {fault.rule: fault.severity for fault in reversed(found)}
    verdicts = tuple(
        Verdict(name, worst.get(name) or ("ok" if _is_judged(name, worst) else "unjudged"), field, limit, text)
        for name, _, field, limit, text in rules
    )
    return Report(subject, verdicts, tuple(found))


def _is_judged(rule: str, worst: dict[str, str]) -> bool:
    """Whether nothing that was found keeps a rule from being judged."""
    needs = _NEEDS.get(rule, _NEEDS_OF_THE_REST)
    return all(need not in worst and _is_judged(need, worst) for need in needs)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
