"""Factories that are hard to judge: they hang, die, print, or do not bear a fork. None of them imports dlpark."""

import os
import sys
import time

import numpy as np

IMPORTED_IN = os.getpid()


def array():
    return np.arange(6, dtype="float32").reshape(2, 3)


class Wrapped:
    """An array whose methods do something first."""

    def __init__(self, first):
        self.first, self.array = first, array()

    def __dlpack__(self, **keywords):
        self.first(keywords)
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def hangs_for_copies():
    return Wrapped(lambda keywords: time.sleep(3600) if keywords.get("copy") else None)


def hangs_for_copies_in_a_fork():
    def first(keywords):
        if keywords.get("copy") and os.getpid() != IMPORTED_IN:
            time.sleep(3600)

    return Wrapped(first)


def dies_for_copies():
    return Wrapped(lambda keywords: os.abort() if keywords.get("copy") else None)


def leaves_for_copies():
    return Wrapped(lambda keywords: os._exit(7) if keywords.get("copy") else None)


def leaves_children():
    """What it starts lives on when its parent has to be killed."""

    def first(keywords):
        if keywords.get("copy"):
            if os.fork() == 0:
                time.sleep(3600)
            time.sleep(3600)

    return Wrapped(first)


def prints():
    print("a library that talks")
    sys.stderr.write("to everybody\n")
    return array()


def hangs_in_a_fork():
    if os.getpid() != IMPORTED_IN:
        time.sleep(3600)
    return array()


def dies_in_a_fork():
    if os.getpid() != IMPORTED_IN:
        os.abort()
    return array()


def alone():
    """Fails where dlpark was imported into the process that judges somebody else."""
    assert not any(name.partition(".")[0] == "dlpark" for name in sys.modules)
    return array()


def no_array():
    return 3


def hangs():
    time.sleep(3600)


def makes_nothing():
    class Maker:
        def make(self, dtype, shape):
            raise ValueError(f"no {dtype}")

    return Maker()


def raises():
    raise RuntimeError("not today")


from_dlpack = np.from_dlpack
