"""Producers: what __dlpack__ answers to stream, max_version, dl_device and copy, and what __dlpack_device__ says."""

from typing import Any

from . import abi, capture
from .rules import MUST, NOTE, SHOULD, Broken, Deviates, NotApplicable, advise, expect, rule, say
from .targets import Target, export

API = "array API, __dlpack__"


def ask(target: Target, array: Any = None, **keywords: Any) -> capture.Export | Exception:
    """The export, or the exception that was raised instead."""
    array = target.any() if array is None else array
    try:
        return capture.Export(array.__dlpack__(**keywords))
    except Exception as error:
        return error


def accepted(answer: capture.Export | Exception, question: str) -> capture.Export:
    if isinstance(answer, Exception):
        raise Broken(f"a capsule for {question}", say(answer))
    return answer


def names(refused: dict[str, str]) -> str:
    return "; ".join(f"{question}: {answer}" for question, answer in refused.items())


# ---- Capsule and version ----


@rule(
    "P-CAP-01",
    MUST,
    f"{API}: max_version; Python spec of DLPack",
    "Without max_version the capsule is a legacy one, named dltensor, or BufferError is raised.",
)
def plain_capsule(target: Target) -> str:
    answer = ask(target)
    if isinstance(answer, BufferError):
        return say(answer)
    return expect(accepted(answer, "__dlpack__()").legacy, "dltensor", str(answer.name))  # type: ignore[union-attr]


@rule(
    "P-CAP-02",
    SHOULD,
    f"{API}: max_version; pitfalls 75, 95",
    "max_version=(1, 0) gives a versioned capsule, without which read-only and copied cannot be said.",
)
def versioned_capsule(target: Target) -> str:
    answer = accepted(ask(target, max_version=(1, 0)), "max_version=(1, 0)")
    return expect(not answer.legacy, "dltensor_versioned", str(answer.name))


@rule("P-VER-01", MUST, f"{API}: max_version", "max_version=(0, 0) gives a legacy capsule, or BufferError.")
def major_zero(target: Target) -> str:
    answer = ask(target, max_version=(0, 0))
    if isinstance(answer, BufferError):
        return say(answer)
    answer = accepted(answer, "max_version=(0, 0)")
    return expect(answer.legacy, "dltensor", str(answer.name))


@rule(
    "P-VER-02",
    SHOULD,
    "array-api-tests, test_dunder_dlpack",
    "max_version=(0, 0) is answered, as array-api-tests demands.",
)
def major_zero_answered(target: Target) -> str:
    return accepted(ask(target, max_version=(0, 0)), "max_version=(0, 0)").abi_text


@rule(
    "P-VER-03",
    MUST,
    f"{API}: max_version",
    "A consumer that knows more, max_version=(2, 0) or (1, 99), gets the newest that the producer has.",
)
def newer_consumer(target: Target) -> str:
    seen = []
    for wanted in ((1, 99), (2, 0)):
        answer = accepted(ask(target, max_version=wanted), f"max_version={wanted}")
        plain = accepted(ask(target, max_version=(1, 0)), "max_version=(1, 0)")
        text = f"{wanted}: {answer.name!r} {answer.version or ''}".rstrip()
        expect(answer.name == plain.name, f"{plain.name!r} as for (1, 0)", text)
        seen.append(text)
    return "; ".join(seen)


@rule(
    "P-VER-04",
    MUST,
    "dlpack.h, DLPackVersion",
    "The version in a versioned struct is 1.x, and no later than the header's.",
)
def version_field(target: Target) -> str:
    answer = accepted(ask(target, max_version=abi.VERSION), f"max_version={abi.VERSION}")
    if answer.version is None:
        raise NotApplicable("it has no versioned capsules")
    major, minor = answer.version
    if major == 1 and minor > abi.VERSION[1]:
        raise Deviates(f"at most 1.{abi.VERSION[1]}, the last that the kit knows", f"{major}.{minor}")
    expect(major == 1, "1.x", f"{major}.{minor}")
    return f"{major}.{minor}"


@rule("P-VER-05", SHOULD, f"{API}: max_version is a pair of ints", "A max_version that is no pair of ints raises.")
def malformed_version(target: Target) -> str:
    return _malformed(target, "max_version", [(), (1,), (1, 0, 0), "1.0", 1, ("1", "0"), (1, None)])


def _malformed(target: Target, keyword: str, values: list[Any]) -> str:
    taken, refused = [], {}
    for value in values:
        answer = ask(target, **{keyword: value})
        if isinstance(answer, Exception):
            refused[repr(value)] = type(answer).__name__
        else:
            taken.append(repr(value))
    expect(not taken, f"an exception for each of {', '.join(map(repr, values))}", "took " + ", ".join(taken))
    return names(refused)


# ---- Keywords ----


@rule("P-KW-01", MUST, f"{API}, signature", "All four keywords are taken, each with its default None.")
def four_keywords(target: Target) -> str:
    answer = ask(target, stream=None, max_version=None, dl_device=None, copy=None)
    if isinstance(answer, BufferError):
        return say(answer)
    return accepted(answer, "the four keywords as None").abi_text


@rule("P-KW-02", SHOULD, f"{API}, signature: keywords only", "Arguments by position raise TypeError.")
def keywords_only(target: Target) -> str:
    array = target.any()
    try:
        array.__dlpack__(None)
    except TypeError as error:
        return say(error)
    raise Broken("TypeError", "__dlpack__(None) was answered")


@rule(
    "P-KW-03",
    MUST,
    f"{API}, Notes: consumers fall back on TypeError",
    "A keyword that it does not know raises TypeError, by which consumers see what it knows.",
)
def unknown_keyword(target: Target) -> str:
    answer = ask(target, a_later_keyword=None)
    if isinstance(answer, TypeError):
        return say(answer)
    raise Broken("TypeError", say(answer) if isinstance(answer, Exception) else "a capsule")


@rule("P-KW-04", MUST, "pitfalls 76", "An array of a derived class honours the keywords as its base does.")
def derived_class(target: Target) -> str:
    derived, base = target.subclass(), target.any()
    seen = []
    for keywords in ({}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": True}):
        ours, theirs = ask(target, derived, **keywords), ask(target, base, **keywords)
        for each in (ours, theirs):
            if isinstance(each, Exception) and not isinstance(each, BufferError):
                raise Broken(f"an answer to {keywords}", say(each))
        kinds = [type(each).__name__ if isinstance(each, Exception) else each.abi_text for each in (theirs, ours)]
        expect(kinds[0] == kinds[1], f"for {keywords} what the base answers, {kinds[0]}", kinds[1])
        seen.append(kinds[1])
    return f"{type(derived).__mro__[0].__name__}: {', '.join(seen)}"


# ---- Device ----


@rule(
    "P-DEV-01",
    MUST,
    "array API, __dlpack_device__",
    "__dlpack_device__ returns a pair of ints whose first is a device type of the header.",
)
def device_pair(target: Target) -> str:
    answer = target.any().__dlpack_device__()
    fine = isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(part, int) for part in answer)
    expect(fine, "a tuple of two ints", repr(answer))
    text = abi.device_text(int(answer[0]), int(answer[1]))
    if int(answer[0]) in abi.DEVICES and int(answer[0]) not in abi.STANDARD_DEVICES:
        raise Deviates("a type in the standard's enumeration", text)
    expect(int(answer[0]) in abi.DEVICES, "a type in the header's enumeration", text)
    return text


@rule(
    "P-DEV-02",
    MUST,
    "array API, __dlpack_device__; pitfalls 102, 105",
    "The device in the struct is the one that __dlpack_device__ says.",
)
def device_agrees(target: Target) -> str:
    array = target.any()
    said, found = tuple(map(int, array.__dlpack_device__())), export(array).device
    return expect(said == found, f"{abi.device_text(*said)} in the struct", abi.device_text(*found))


@rule("P-DEV-03", MUST, f"{API}: dl_device", "dl_device with its own device is answered, and nothing is copied.")
def own_device(target: Target) -> str:
    array = target.any()
    plain = export(array)
    answer = accepted(
        ask(target, array, dl_device=tuple(array.__dlpack_device__()), max_version=abi.VERSION), "its own device"
    )
    if plain.address == export(array).address:
        expect(answer.address == plain.address, "the same memory", "another address")
    return f"device {abi.device_text(*answer.device)}"


def _elsewhere(target: Target) -> dict[str, capture.Export | Exception]:
    here = tuple(map(int, target.any().__dlpack_device__()))
    wanted = [pair for pair in ((abi.EXT_DEV, 0), (8, 0), (99, 0), (abi.CPU, 1)) if pair != here]
    return {abi.device_text(*pair): ask(target, dl_device=pair, max_version=abi.VERSION) for pair in wanted}


@rule(
    "P-DEV-04",
    MUST,
    f"{API}: dl_device",
    "A dl_device where the data are not and cannot be brought raises: EXT_DEV, Metal, type 99.",
)
def foreign_device(target: Target) -> str:
    seen = {}
    for device, answer in _elsewhere(target).items():
        if device.startswith("(1,"):
            continue  # P-DEV-07
        taken = "" if isinstance(answer, Exception) else f"a capsule on {abi.device_text(*answer.device)}"
        expect(isinstance(answer, Exception), f"an exception for {device}", taken)
        seen[device] = type(answer).__name__
    return names(seen)


@rule(
    "P-DEV-05",
    SHOULD,
    f"{API}: dl_device, Raises; pitfalls 96, 97",
    "The exception for a device where the data cannot be brought is BufferError.",
)
def foreign_device_error(target: Target) -> str:
    refused = {device: answer for device, answer in _elsewhere(target).items() if isinstance(answer, Exception)}
    wrong = {device: say(error) for device, error in refused.items() if not isinstance(error, BufferError)}
    expect(not wrong, "BufferError", names(wrong))
    return "BufferError for " + ", ".join(refused)


@rule("P-DEV-06", SHOULD, f"{API}: dl_device is a pair", "A dl_device that is no pair of ints raises.")
def malformed_device(target: Target) -> str:
    here = tuple(map(int, target.any().__dlpack_device__()))
    return _malformed(
        target, "dl_device", [(), here[0], here[:1], (*here, 0), "cpu", (str(here[0]), 0), (here[0], None)]
    )


@rule(
    "P-DEV-07",
    NOTE,
    "dlpack.h, DLDevice: device_id is 0 for plain CPU memory",
    "dl_device=(1, 1), a host that there is not, raises.",
)
def second_host(target: Target) -> str:
    answer = ask(target, dl_device=(abi.CPU, 1))
    if isinstance(answer, Exception):
        return say(answer)
    raise Broken("an exception", f"a capsule on {abi.device_text(*answer.device)}")


# ---- Streams ----


def _device_type(target: Target) -> int:
    return int(target.any().__dlpack_device__()[0])


@rule("P-STREAM-01", SHOULD, f"{API}: stream", "stream=-1, which forbids to synchronise, is taken on every device.")
def no_sync(target: Target) -> str:
    answer = ask(target, stream=-1)
    if isinstance(answer, BufferError) and isinstance(ask(target), BufferError):
        answer = ask(target, stream=-1, max_version=abi.VERSION)
    return accepted(answer, "stream=-1").abi_text


@rule("P-STREAM-02", SHOULD, f"{API}: stream; pitfalls 114", "On the host no stream but None and -1 is taken.")
def host_streams(target: Target) -> str:
    if _device_type(target) != abi.CPU:
        raise NotApplicable("its data are not on the host")
    answers = {str(stream): ask(target, stream=stream) for stream in (0, 1, 2, 12345)}
    taken = [stream for stream, answer in answers.items() if not isinstance(answer, Exception)]
    expect(not taken, "an exception for 0, 1, 2 and 12345", "took " + ", ".join(taken))
    return names({stream: type(answer).__name__ for stream, answer in answers.items()})


def _streams(target: Target, device: int, fine: tuple[Any, ...], forbidden: tuple[Any, ...]) -> str:
    if _device_type(target) != device:
        raise NotApplicable(f"its data are not on a device of type {abi.DEVICES[device]}")
    for stream in fine:
        accepted(ask(target, stream=stream), f"stream={stream}")
    for stream in forbidden:
        answer = ask(target, stream=stream)
        expect(isinstance(answer, Exception), f"an exception for stream={stream}", "a capsule")
    return f"takes {', '.join(map(str, fine))}; refuses {', '.join(map(str, forbidden))}"


@rule("P-STREAM-03", MUST, f"{API}: stream; pitfalls 110, 112", "On CUDA, None, -1 and 1 are taken and 0 is refused.")
def cuda_streams(target: Target) -> str:
    return _streams(target, abi.CUDA, (None, -1, 1), (0,))


@rule(
    "P-STREAM-04", MUST, f"{API}: stream; pitfalls 112", "On ROCm, None, -1 and 0 are taken, and 1 and 2 are refused."
)
def rocm_streams(target: Target) -> str:
    return _streams(target, abi.ROCM, (None, -1, 0), (1, 2))


@rule("P-STREAM-05", SHOULD, f"{API}: stream", "A stream that is no stream raises: a string, a float.")
def odd_streams(target: Target) -> str:
    odd: list[Any] = ["default", 1.5]
    answers = {repr(stream): ask(target, stream=stream) for stream in odd}
    taken = [stream for stream, answer in answers.items() if not isinstance(answer, Exception)]
    advise(not taken, "an exception for each of 'default' and 1.5", "took " + ", ".join(taken))
    return names({stream: type(answer).__name__ for stream, answer in answers.items()})
