"""Consumers of the C exchange table: tables that are unusual, incompatible or broken.

A library that looks at no table is judged by nothing here: the kit sees that no function of its table was called, and
that `__dlpack__` was.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from . import abi
from .foreign import Foreign, Offer
from .importing import Outcome, check_values, read, settle, take
from .rules import MUST, SHOULD, Broken, NotApplicable, Wrong, expect, rule, say
from .targets import Target, export

HEADER = "dlpack.h, DLPackExchangeAPI"

_alive: list[Any] = []


class Tabled:
    """A type with a table, and the calls of its functions. Each function may be replaced, or left out with None."""

    def __init__(
        self,
        *,
        version: tuple[int, int] = abi.VERSION,
        older: "Tabled | None" = None,
        make: Callable[[], Foreign] | None = None,
        status: int = 0,
        without: tuple[str, ...] = (),
        attribute: Any = ...,
    ) -> None:
        self.calls: list[str] = []
        self.given: list[Foreign] = []
        self.lent: list[Foreign] = []
        self.make, self.status = make or Foreign, status
        functions = {
            "managed_tensor_allocator": abi.ALLOCATOR(self._allocate),
            "managed_tensor_from_py_object_no_sync": abi.FROM_PY(self._from_py),
            "managed_tensor_to_py_object_no_sync": abi.TO_PY(self._to_py),
            "dltensor_from_py_object_no_sync": abi.VIEW_FROM_PY(self._view),
            "current_work_stream": abi.WORK_STREAM(self._stream),
        }
        self.table = abi.Table(version=abi.Version(*version))
        for name, function in functions.items():
            setattr(self.table, name, None if name in without else abi.address_of(function))
        if older:
            self.table.prev_api = ctypes.addressof(older.table)
        _alive.extend((self, functions, self.table))
        self.offer = self._type(attribute)(lambda legacy: Foreign(legacy=legacy))

    def _type(self, attribute: Any) -> Any:
        if attribute is ...:
            attribute = abi.capsule_new(ctypes.addressof(self.table), abi.EXCHANGE, None)
        return type("Tabled", (Offer,), {abi.TABLE_NAME: attribute})

    def _allocate(self, *_: Any) -> int:
        self.calls.append("allocator")
        return -1

    def _from_py(self, _: Any, out: Any) -> int:
        self.calls.append("from_py")
        if self.status == 0:
            foreign = self.make()
            self.given.append(foreign)
            out[0] = foreign.address
        return self.status

    def _view(self, _: Any, out: Any) -> int:
        self.calls.append("view")
        if self.status == 0:
            foreign = self.make()
            self.lent.append(foreign)
            ctypes.pointer(out.contents)[0] = foreign.managed.dl_tensor
        return self.status

    def _to_py(self, *_: Any) -> int:
        self.calls.append("to_py")
        return -1

    def _stream(self, _: int, __: int, out: Any) -> int:
        self.calls.append("stream")
        out[0] = None
        return 0

    def take(self, target: Target) -> Outcome:
        """Hands the object to the target; what the table gave, or else the capsule, is the outcome's tensor."""
        outcome = take(target, self.offer)
        return Outcome(self.given[-1] if self.given else outcome.foreign, outcome.got, outcome.error)


def uses_tables(target: Target) -> None:
    """Whether the target's from_dlpack looks at a table: it is shown a good one."""
    good = Tabled()
    outcome = good.take(target)
    if not good.calls:
        raise NotApplicable("it uses no exchange table" + (f" ({outcome.text})" if outcome.error else ""))


def _ended(tabled: Tabled, outcome: Outcome) -> str:
    """The tensor of the table belongs to the consumer from its first moment; a view never does."""
    outcome.got = None
    for foreign in tabled.lent:
        if foreign.calls():
            raise Wrong("no call of the deleter of a view", f"{foreign.calls()}")
    for foreign in tabled.given:
        calls = settle(foreign, 1)
        if calls != 1:
            raise Wrong("one call of the deleter", f"{calls}")
    return "the tensor is ended once" if tabled.given else "by __dlpack__"


@rule(
    "C-TAB-01",
    MUST,
    f"{HEADER}, managed_tensor_from_py_object_no_sync",
    "A tensor that a table gives is read right, and ended once.",
)
def good_table(target: Target) -> str:
    uses_tables(target)
    tabled = Tabled()
    outcome = tabled.take(target)
    if outcome.error:
        raise Broken("an array", outcome.text)
    check_values(target, outcome)
    return f"{', '.join(tabled.calls)}; {_ended(tabled, outcome)}"


@rule("C-TAB-02", MUST, f"{HEADER}, header.version", "Of a table of major version 2 nothing is called.")
def other_major(target: Target) -> str:
    uses_tables(target)
    tabled = Tabled(version=(2, 0))
    outcome = tabled.take(target)
    expect(not tabled.calls, "no call", ", ".join(tabled.calls))
    return outcome.text if outcome.error else "__dlpack__ is used"


@rule(
    "C-TAB-03",
    SHOULD,
    f"{HEADER}, header.prev_api",
    "Behind a table of major version 2, the older one by prev_api is used, or __dlpack__.",
)
def older_table(target: Target) -> str:
    uses_tables(target)
    older = Tabled()
    newer = Tabled(version=(2, 0), older=older)
    outcome = newer.take(target)
    expect(not newer.calls, "no call of the newer table", ", ".join(newer.calls))
    if outcome.error:
        raise Broken("an array", outcome.text)
    return "the older table is used" if older.calls else "__dlpack__ is used"


@rule(
    "C-TAB-04",
    MUST,
    "pitfalls 122",
    "An attribute that is no capsule of that name is passed over or refused: None, text, an int of 0, another capsule.",
)
def odd_attributes(target: Target) -> str:
    uses_tables(target)
    seen = []
    hidden = Tabled()
    other = abi.capsule_new(ctypes.addressof(hidden.table), b"something_else", None)
    for attribute in (None, "table", 0, other):
        outcome = Tabled(attribute=attribute).take(target)
        seen.append(f"{type(attribute).__name__}: {outcome.text if outcome.error else 'by __dlpack__'}")
    expect(not hidden.calls, "no call", f"{', '.join(hidden.calls)} of a table in a capsule named something_else")
    return "; ".join(seen)


@rule(
    "C-TAB-05",
    MUST,
    f"{HEADER}; pitfalls 119, 120",
    "A function that fails without an exception ends in an exception or by __dlpack__.",
)
def silent_failure(target: Target) -> str:
    uses_tables(target)
    tabled = Tabled(status=-1)
    outcome = tabled.take(target)
    if outcome.error:
        return (
            expect(not isinstance(outcome.error, SystemError), "an exception of the consumer's", outcome.text)
            and outcome.text
        )
    expect(outcome.got is not None, "an exception, or an array", "None")
    return "by __dlpack__"


@rule(
    "C-TAB-06",
    MUST,
    f"{HEADER}, dltensor_from_py_object_no_sync may be NULL",
    "A table without the view function is good.",
)
def without_view(target: Target) -> str:
    uses_tables(target)
    tabled = Tabled(without=("dltensor_from_py_object_no_sync",))
    outcome = tabled.take(target)
    if outcome.error:
        raise Broken("an array", outcome.text)
    check_values(target, outcome)
    return _ended(tabled, outcome)


@rule("C-TAB-07", SHOULD, f"{HEADER}", "Functions that are NULL against the header are not called.")
def without_functions(target: Target) -> str:
    uses_tables(target)
    tabled = Tabled(
        without=("managed_tensor_from_py_object_no_sync", "dltensor_from_py_object_no_sync", "current_work_stream")
    )
    outcome = tabled.take(target)
    return outcome.text if outcome.error else "by __dlpack__"


@rule(
    "C-TAB-08",
    MUST,
    f"{HEADER}; pitfalls 119, 120",
    "A tensor of a table that is refused is ended once, with its deleter NULL not at all.",
)
def refused(target: Target) -> str:
    uses_tables(target)
    seen = []
    hostile: dict[str, dict[str, Any]] = {
        "type code 200": {"triple": (200, 32, 1)},
        "extent -3": {"shape": (2, -3), "strides": (3, 1)},
    }
    for what, fields in hostile.items():
        tabled = Tabled(make=functools.partial(Foreign, **fields))
        outcome = tabled.take(target)
        if outcome.error is None and read(target, outcome)[0] is None:
            raise Broken(f"an exception for {what}", "took it")
        seen.append(f"{what}: {_ended(tabled, outcome)}")
    Tabled(make=lambda: Foreign(triple=(200, 32, 1), deleter=None)).take(target)
    return "; ".join(seen)


@rule(
    "C-TAB-09", MUST, "dlpack.h, DLPackVersion", "A struct of major version 2 from a table is refused, and ended once."
)
def struct_of_other_major(target: Target) -> str:
    uses_tables(target)
    tabled = Tabled(make=lambda: Foreign(version=(2, 0)))
    outcome = tabled.take(target)
    if outcome.error is None:
        raise Broken("an exception", "took it")
    return f"{outcome.text}; {_ended(tabled, outcome)}"


@rule(
    "C-TAB-10",
    SHOULD,
    "dlpack.h, READ_ONLY",
    "READ_ONLY of a tensor of a table is respected, and there again in the next export.",
)
def read_only(target: Target) -> str:
    uses_tables(target)
    tabled = Tabled(make=lambda: Foreign(flags=abi.READ_ONLY))
    outcome = tabled.take(target)
    if outcome.error or outcome.foreign is None:
        raise Broken("an array", outcome.text)
    before = outcome.foreign.memory.raw
    try:
        target.write(outcome.got)
    except Exception as error:
        said = say(error)
    else:
        return (
            expect(outcome.foreign.memory.raw == before, "an exception", "wrote into the read-only memory") and "a copy"
        )
    again = export(outcome.got)
    return expect(bool(again.flags & abi.READ_ONLY), "READ_ONLY", f"flags {again.flags:#x} in the next export") and said
