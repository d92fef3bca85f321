"""That calls leave nothing behind: no reference, no block of Python's memory, no byte of the C library's."""

import array
import gc
import itertools
import sys

import kit_probe

# What every call may get hold of. Their counts are part of the proof.
TOTAL = getattr(sys, "gettotalrefcount", lambda: 0)  # of debug builds
SHARED = (None, True, False, NotImplemented, Ellipsis, (), 0, 1, 2, 3)


def assert_steady(call, times, watched=(), rounds=12):
    """Calls in rounds of `times` until a round has changed nothing at all.

    What a call loses it loses in every round, so one without a difference is the proof, and nothing is tolerated. That
    the first rounds may differ is Python's doing: it specialises code, and libraries fill caches.
    """
    things = [*watched, *SHARED]
    counts = [array.array("q", bytes(8 * (len(things) + 3))) for _ in range(rounds + 1)]
    gc.collect()
    gc.freeze()  # or every collection would go through all that the test run has made, which conftest.py thaws
    _measure(things, counts[0])
    for before, after in itertools.pairwise(counts):
        for _ in itertools.repeat(None, times):
            call()
        gc.collect()
        _measure(things, after)
        if before == after:
            return
    names = [f"references to {type(thing).__name__} {i}" for i, thing in enumerate(things)]
    names += ["blocks", "bytes", "all references"]
    rows = [{name: b - a for name, a, b in zip(names, *pair) if a != b} for pair in itertools.pairwise(counts)]
    raise AssertionError(f"every round of {times} calls has changed something: {rows}")


def _measure(things, out):
    """Python remembers look-ups on types with the very strings that it was asked by: as many as come by, up to 4096."""
    getattr(sys, "_clear_internal_caches", sys._clear_type_cache)()
    for i in range(len(things)):
        out[i] = sys.getrefcount(things[i])
    out[len(things)] = sys.getallocatedblocks()
    out[len(things) + 1] = kit_probe.heap_nbytes()
    if "numpy" not in sys.modules:  # a release build, which counts none of what it does itself
        out[len(things) + 2] = TOTAL()
