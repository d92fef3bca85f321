"""The process of one target: it imports the target once, then forks a child for each rule.

What it has to say goes as lines of JSON to the file descriptor that it is given, because stdout belongs to whatever
the target prints: first one line about the target, then one for each rule.
"""

import gc
import json
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from . import abi, rules, targets
from .ending import Ending, conclude
from .foreign import Foreign, Offer

# Bytes that a rule may allocate beyond what its target has: less than the 16 GiB that 2^31 - 1 extents take, so that a
# library that makes room for them first is told the same on every machine.
DATA_LIMIT = 8 << 30
TICK = 0.005


def contain(which: rules.Rule, target: Any, timeout: float) -> rules.Result:
    """Runs a check in a forked child: what it returned, or how the child ended."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as said:
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _be_child(said.fileno(), parent)
            _check(which, target, writer)
        os.close(writer)
        status = _wait(child, timeout)
        with os.fdopen(reader, "rb") as pipe:
            answer = pipe.read()
        said.seek(0)
        return conclude(which, Ending(answer, status, said.read().decode(errors="replace"), timeout))


def end_with(parent: int) -> None:
    """Has the kernel kill this process when the one that started it is gone, however that came; where it can."""
    if sys.platform == "linux":
        abi.libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it was gone before
            os.kill(os.getpid(), signal.SIGKILL)


def _be_child(said: int, parent: int) -> None:
    end_with(parent)
    os.setsid()
    os.dup2(said, 1)
    os.dup2(said, 2)
    limit_resources()


def limit_resources() -> None:
    """No core files, and no machine full of memory because of a shape that was made up."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/status") as status:
            used = next(int(line.split()[1]) for line in status if line.startswith("VmData")) << 10
        resource.setrlimit(resource.RLIMIT_DATA, (used + DATA_LIMIT, used + DATA_LIMIT))
    except (OSError, ValueError, StopIteration):
        pass


def _check(which: rules.Rule, target: Any, writer: int) -> None:
    """The child's whole life. It ends without the interpreter's end, unless that is what the rule is about."""
    try:
        result = rules.judge(which, target)
        os.write(writer, json.dumps(result.as_dict()).encode())
        if which.ends_process and result.verdict == rules.PASS:
            sys.exit(0)
    except SystemExit:
        if which.ends_process:
            raise
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def _wait(child: int, timeout: float) -> int | None:
    """The wait status; None when the time was up and the child, with all that it started, was killed."""
    deadline = time.monotonic() + timeout
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > deadline:
            try:
                os.killpg(child, signal.SIGKILL)
            except ProcessLookupError:
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(TICK)


def _use(target: Any) -> str:
    """What a target must be able to do in a forked child, if rules are to run in one. An exception is an answer."""
    array = _some_array(target)
    try:
        targets.export(array)
        if targets.consumes(target):
            offer: Any = Offer(lambda legacy: Foreign(legacy=legacy))
            if target.bare_capsules:
                offer = Foreign(legacy=True).make_capsule()
            target.values(target.from_dlpack(offer))
    except Exception as error:
        return rules.say(error)
    return "a child can use it"


def _some_array(target: Any) -> Any:
    try:
        return target.any()
    except Exception as error:
        raise rules.Broken("an array", f"it makes no array: {rules.say(error)}") from None


PROBE = rules.Rule("PROBE", "producer", rules.MUST, "", "", _use)


def run(name: str, wanted: list[str], mode: str, timeout: float, tell: Callable[[dict[str, Any]], None]) -> None:
    """Judges one target. `mode` is ``fork``, ``auto`` (fork if the target bears it), or ``here`` (no child at all)."""
    try:
        target = targets.load(name)
    except Exception as error:
        tell({"error": rules.say(error) + targets.place_of(error), "version": ""})
        return
    chosen = [each for each in rules.all_rules() if each.id in wanted]
    gc.collect()
    gc.freeze()  # what the import left is not looked at again in every child
    if mode == "here" or not hasattr(os, "fork"):
        _run_here(target, chosen, tell)
        return
    tried = contain(PROBE, target, timeout) if mode == "auto" else None
    if tried and tried.verdict == rules.FAIL:
        tell({"error": tried.observed, "version": target.version})
        return
    forks = tried is None or tried.verdict == rules.PASS
    tell({"version": target.version, "forks": forks})
    if forks:
        for each in chosen:
            tell(contain(each, target, timeout).as_dict())


def _run_here(target: Any, chosen: list[rules.Rule], tell: Callable[[dict[str, Any]], None]) -> None:
    limit_resources()
    try:
        _some_array(target)
    except rules.Broken as none:
        tell({"error": none.observed, "version": target.version})
        return
    tell({"version": target.version, "forks": False})
    for each in chosen:
        result = rules.judge(each, target)
        tell(result.as_dict())
        if each.ends_process and result.verdict == rules.PASS:
            sys.exit(0)
    sys.stderr.flush()
    os._exit(0)


def main(arguments: list[str]) -> None:
    """NAME MODE TIMEOUT FD PARENT ID...; rule ids are complete, patterns were resolved by the caller."""
    name, mode, timeout, descriptor, parent, *wanted = arguments
    end_with(int(parent))
    warnings.simplefilter("ignore")
    channel = int(descriptor)

    def tell(line: dict[str, Any]) -> None:
        os.write(channel, json.dumps(line).encode() + b"\n")

    run(name, wanted, mode, float(timeout), tell)
    # What a target does at its end is no rule's business: leave without it.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
