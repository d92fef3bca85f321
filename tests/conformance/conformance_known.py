"""Faults of current libraries that were found by other means than the kit, which has to find each of them.

They were seen by running the libraries, or reported in public: docs/pitfalls.md. Each is one clause, with the rules that find
it in the versions of docs/conformance.md; the page's own verdicts say that they do.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One fault of one target.

    Attributes
    ----------
    target : str
        As the page calls it.
    says : str
        What is wrong.
    rules : tuple
        The ids of the rules that find it; empty where no rule can.
    gone : bool
        Whether this version has it no more: then the rules are kept.
    note : str
        What else there is to say.
    """

    target: str
    says: str
    rules: tuple[str, ...]
    gone: bool = False
    note: str = ""


def _of(target, *faults):
    return [Fault(target, says, tuple(rules.split()), **dict(more)) for says, rules, *more in faults]


FAULTS = [
    *_of(
        "torch",
        ("the deleter is called twice when the element count overflows", "C-BAD-08"),
        (
            "the deleter is called twice when the size in bytes overflows",
            "C-BAD-09",
            ("note", "not twice any more: with NULL strides it is taken, else refused and left alone"),
        ),
        ("the deleter is never called when to_py fails", "X-TO-02"),
        ("dies of a negative ndim", "C-BAD-01"),
        ("dies of a huge ndim", "C-BAD-03"),
        ("dies of a NULL shape", "C-BAD-04"),
        ("dies of NULL data", "C-BAD-06 C-BAD-05", ("note", "of those with a byte_offset; the others it takes")),
        ("dies when its allocator fails and SetError is NULL", "X-ALLOC-05"),
        ("takes 65 dimensions", "C-BAD-02"),
        ("takes a byte_offset of 2^64 - 4", "C-BAD-11"),
        ("takes a struct of major version 0", "C-VER-04"),
        ("takes a malformed max_version", "P-VER-05"),
        ("takes a malformed dl_device", "P-DEV-06 P-DEV-07"),
        ("READ_ONLY is lost on import", "C-FLAG-01 C-FLAG-04 X-TO-05"),
        ("IS_COPIED is never set", "P-COPY-03"),
        ("what is written into the shape of an export reaches the source", "P-LIFE-11"),
        ("no negative strides", "C-LAY-11"),
        ("RuntimeError where BufferError is due", "C-EXC-01 C-VER-02"),
        ("asks again after any TypeError of the producer's", "C-ASK-16"),
        ("the table gives tensors that require grad, and conjugated ones", "X-STATE-01 X-STATE-02"),
    ),
    *_of(
        "numpy",
        ("dies of a NULL shape with ndim 2", "C-BAD-04"),
        ("dies of NULL data with a byte_offset", "C-BAD-06"),
        ("strides of 2^62 elements wrap to 0, and the values are wrong", "C-BAD-10"),
        ("NULL data give an array over uninitialised memory", "C-BAD-05"),
        ("the deleter is called with NumPy's own exception pending", "C-LIFE-06"),
        ("refuses stream -1", "P-STREAM-01"),
        ("asks again after any TypeError of the producer's", "C-ASK-16"),
        ("what came in a legacy capsule is always read-only", "C-FLAG-03"),
    ),
    *_of(
        "tvm_ffi",
        ("READ_ONLY is lost on import", "C-TAB-10", ("note", "by the table; else it asks for legacy capsules")),
        ("READ_ONLY is lost on export", "C-TAB-10", ("note", "seen in the next export; the two cannot be told apart")),
        ("max_version=(0, x) raises AttributeError", "P-VER-01"),
        ("the major version is not looked at", "C-TAB-02 C-TAB-09"),
        ("prev_api is not followed", "C-TAB-03"),
        ("sizes that overflow are taken", "C-BAD-08 C-BAD-09"),
        ("copy=True is ignored without max_version", "P-COPY-06"),
    ),
    *_of(
        "nanobind",
        ("the major version is not looked at", "C-VER-01"),
        ("writes strides into the producer's struct", "C-LAY-24"),
        ("stream is taken and ignored", "P-STREAM-02 P-STREAM-05"),
        ("READ_ONLY is lost without max_version", "P-RO-02"),
    ),
    *_of(
        "cuda.core",
        ("byte_offset is ignored", "C-LAY-05 C-LAY-06 C-LAY-07 X-TO-07", ("gone", True)),
        ("READ_ONLY is lost without max_version", "P-RO-02"),
    ),
    *_of(
        "Rust crate dlpark",
        ("a stride of a dimension of size 1 makes a tensor not compact", "C-LAY-13"),
        (
            "asking whether a tensor is compact allocates memory",
            "",
            ("note", "nothing of it is seen from Python; by its source it does"),
        ),
        (
            "its import into candle refuses valid slices",
            "",
            ("note", "not run, as the module is built without candle; by its source it gathers them now"),
        ),
    ),
]
"""Those of CuPy, DLPack.jl and metatensor are not here, as those libraries do not run in our tests."""
