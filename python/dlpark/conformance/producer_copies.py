"""Producers: copies, and what is read-only."""

from . import abi, elements
from .producer_requests import API, accepted, ask, names
from .rules import MUST, SHOULD, Broken, Deviates, NotApplicable, expect, rule, say
from .targets import Target, export

# ---- Copy ----


@rule(
    "P-COPY-01",
    MUST,
    f"{API}: copy; pitfalls 77, 99",
    "copy=True never gives the source's own memory: it copies, or raises.",
)
def copy_is_apart(target: Target) -> str:
    array = target.any()
    plain = export(array)
    answer = ask(target, array, copy=True, max_version=abi.VERSION)
    if isinstance(answer, Exception):
        return say(answer)
    return expect(answer.address != plain.address, "memory of its own", "the address of the source")


@rule(
    "P-COPY-02",
    SHOULD,
    f"{API}: copy; array-api-tests, test_dunder_dlpack",
    "copy=True is answered with a copy whose elements are the source's.",
)
def copy_is_answered(target: Target) -> str:
    array = target.any()
    answer = accepted(ask(target, array, copy=True, max_version=abi.VERSION), "copy=True")
    dtype = elements.NAMES.get(answer.triple)
    if dtype is None or answer.device[0] not in abi.HOST_DEVICES:
        return f"{answer.abi_text}, not read"
    values = answer.values(dtype)
    return expect(values == export(array).values(dtype), "equal elements", f"{values}")


@rule(
    "P-COPY-03",
    MUST,
    f"{API}: copy; dlpack.h, IS_COPIED",
    "A copy that was asked for carries IS_COPIED, which tells the consumer that nobody else sees it.",
)
def copy_is_flagged(target: Target) -> str:
    array = target.any()
    answer = ask(target, array, copy=True, max_version=abi.VERSION)
    if isinstance(answer, Exception):
        raise NotApplicable(f"copy=True raises {say(answer)}")
    if answer.legacy:
        raise NotApplicable("it answers copy=True with a legacy capsule, which has no flags")
    return expect(bool(answer.flags & abi.IS_COPIED), "IS_COPIED", f"flags {answer.flags:#x}")


@rule("P-COPY-04", MUST, "dlpack.h, IS_COPIED", "An export without a copy does not carry IS_COPIED.")
def zero_copy_is_not_flagged(target: Target) -> str:
    array = target.any()
    first, second = export(array), export(array)
    if first.legacy:
        raise NotApplicable("a legacy capsule has no flags")
    if first.address != second.address:
        raise NotApplicable("each export is a copy")
    return expect(not first.flags & abi.IS_COPIED, "no IS_COPIED", f"flags {first.flags:#x}")


@rule("P-COPY-05", MUST, f"{API}: copy", "copy=False never copies: the same memory and no IS_COPIED, or BufferError.")
def copy_false(target: Target) -> str:
    array = target.any()
    plain = export(array)
    shared = plain.address == export(array).address
    answer = ask(target, array, copy=False, max_version=abi.VERSION)
    if isinstance(answer, BufferError) and not shared:
        return say(answer)
    answer = accepted(answer, "copy=False")
    expect(not answer.flags & abi.IS_COPIED, "no IS_COPIED", f"flags {answer.flags:#x}")
    return expect(answer.address == plain.address, "the memory of the source", "another address")


@rule(
    "P-COPY-06",
    MUST,
    f"{API}: copy",
    "copy=True with a legacy capsule copies all the same, or raises; it is not ignored.",
)
def legacy_copy(target: Target) -> str:
    array = target.any()
    plain, answer = export(array), ask(target, array, copy=True)
    if isinstance(answer, Exception):
        return say(answer)
    return expect(answer.address != plain.address, "memory of its own", "the address of the source")


@rule(
    "P-COPY-07",
    SHOULD,
    "dlpack.h, IS_COPIED: nobody else sees it",
    "A copy may be written to, also when the source may not.",
)
def copy_of_read_only(target: Target) -> str:
    answer = ask(target, target.readonly(), copy=True, max_version=abi.VERSION)
    if isinstance(answer, Exception):
        raise NotApplicable(f"copy=True raises {say(answer)}")
    if answer.legacy:
        raise NotApplicable("a legacy capsule has no flags")
    return expect(not answer.flags & abi.READ_ONLY, "no READ_ONLY", f"flags {answer.flags:#x}")


@rule(
    "P-COPY-08",
    SHOULD,
    "array-api-tests, test_dunder_dlpack",
    "Every mix of copy, max_version and dl_device=(1, 0) that array-api-tests tries is answered.",
)
def every_mix(target: Target) -> str:
    array = target.any()
    if int(array.__dlpack_device__()[0]) != abi.CPU:
        raise NotApplicable("its data are not on the host")
    failed = {}
    for copy in (True, False, None):
        for version in (None, (0, 0), (1, 0), (2, 0)):
            for device in (None, (abi.CPU, 0)):
                answer = ask(target, array, copy=copy, max_version=version, dl_device=device)
                if isinstance(answer, Exception):
                    failed[f"copy={copy}, max_version={version}, dl_device={device}"] = type(answer).__name__
    shown = dict(list(failed.items())[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    expect(not failed, "24 capsules", f"{len(failed)} exceptions: {names(shown)}{more}")
    return "24 capsules"


# ---- Read-only ----


@rule(
    "P-RO-01",
    MUST,
    "dlpack.h, READ_ONLY; pitfalls 72, 73, 77",
    "An array that must not be written to is exported with READ_ONLY.",
)
def read_only_flag(target: Target) -> str:
    answer = accepted(ask(target, target.readonly(), max_version=abi.VERSION), "a read-only array")
    if answer.legacy:
        raise Deviates("READ_ONLY, in a versioned capsule", "a legacy capsule, which cannot say so")
    return expect(bool(answer.flags & abi.READ_ONLY), "READ_ONLY", f"flags {answer.flags:#x}")


@rule(
    "P-RO-02",
    SHOULD,
    "dlpack.h, READ_ONLY; pitfalls 72, 78",
    "A read-only array is refused for a legacy capsule, which cannot say so.",
)
def read_only_legacy(target: Target) -> str:
    answer = ask(target, target.readonly())
    if isinstance(answer, Exception):
        return expect(isinstance(answer, BufferError), "BufferError", say(answer))
    raise Broken("BufferError", "a legacy capsule")


@rule(
    "P-RO-03",
    MUST,
    "dlpack.h, READ_ONLY; pitfalls 73",
    "An array that may be written to is exported without READ_ONLY.",
)
def writable_flag(target: Target) -> str:
    if target.immutable:
        raise NotApplicable("its arrays are immutable")
    answer = accepted(ask(target, max_version=abi.VERSION), "an array")
    if answer.legacy:
        raise NotApplicable("a legacy capsule has no flags")
    return expect(not answer.flags & abi.READ_ONLY, "no READ_ONLY", f"flags {answer.flags:#x}")
