"""Exchange tables: where they are, what they hold, the allocator and the stream."""

import ctypes

from . import abi, elements, exchange
from .rules import MUST, NOTE, SHOULD, Broken, Deviates, NotApplicable, expect, rule, say
from .targets import Target

HEADER = "dlpack.h, DLPackExchangeAPI"
ALLOCATOR = "dlpack.h, DLPackManagedTensorAllocator"


@rule(
    "X-TAB-01",
    MUST,
    f"{HEADER}; pitfalls 122",
    "The table is an attribute of the type: a capsule named dlpack_exchange_api.",
)
def published(target: Target) -> str:
    value = exchange.attribute(target)
    if isinstance(value, int):
        raise Deviates("a capsule", "an int, as in DLPack 1.2")
    expect(abi.is_capsule(value), "a capsule", type(value).__name__)
    return expect(
        bool(abi.capsule_is_valid(value, abi.EXCHANGE)), "dlpack_exchange_api", f"{abi.capsule_name(value)!r}"
    )


@rule(
    "X-TAB-02",
    NOTE,
    "DLPack 1.2; pitfalls 122",
    f"It is published under the name of DLPack 1.2, {abi.OLD_TABLE_NAME}, too.",
)
def old_name(target: Target) -> str:
    exchange.table_of(target)
    value = getattr(type(target.any()), abi.OLD_TABLE_NAME, None)
    return expect(value is not None, "the attribute", "none")


@rule("X-TAB-03", MUST, f"{HEADER}, header.version", "Its version is 1.2 or later, of major 1.")
def version(target: Target) -> str:
    found = exchange.table_of(target).version
    expect(found.major == 1 and found.minor >= 2, "1.2 or later", f"{found.major}.{found.minor}")
    return f"{found.major}.{found.minor}"


@rule(
    "X-TAB-04",
    MUST,
    f"{HEADER}: only dltensor_from_py_object_no_sync may be NULL",
    "No function is NULL but perhaps the view.",
)
def members(target: Target) -> str:
    table = exchange.table_of(target)
    missing = [name for name in exchange.NAMES if not getattr(table, name)]
    needed = [name for name in missing if name != "dltensor_from_py_object_no_sync"]
    expect(not needed, "functions", "NULL " + ", ".join(needed))
    return "all but the view" if missing else "all five"


@rule("X-TAB-05", MUST, f"{HEADER}: it lives for the whole process", "It is the same table each time it is asked for.")
def same(target: Target) -> str:
    exchange.table_of(target)
    addresses = {abi.capsule_pointer(exchange.attribute(target), abi.EXCHANGE) for _ in range(4)}
    return expect(len(addresses) == 1, "one address", f"{len(addresses)} addresses")


@rule(
    "X-TAB-06", MUST, f"{HEADER}, header.prev_api", "prev_api is NULL, or leads to tables of ever older major versions."
)
def older(target: Target) -> str:
    table, majors = exchange.table_of(target), list[int]()
    while table is not None and len(majors) < 8:
        majors.append(table.version.major)
        table = abi.struct_at(abi.Table, table.prev_api) if table.prev_api else None
    expect(all(a > b for a, b in zip(majors, majors[1:], strict=False)), "falling majors", f"{majors}")
    return "NULL" if len(majors) == 1 else f"majors {majors}"


# ---- The allocator ----


@rule(
    "X-ALLOC-01",
    MUST,
    ALLOCATOR,
    "It makes a tensor of the dtype, shape and device of the prototype, whose memory can be written and read.",
)
def allocates(target: Target) -> str:
    seen = []
    for dtype, shape in (("float32", (2, 3)), ("int64", (4,)), ("uint8", (2, 1, 5))):
        answer = exchange.allocate(target, exchange.prototype(dtype, shape))
        made = answer.tensor
        if made is None:
            raise Broken("a tensor", answer.text)
        found = (made.triple, made.shape, made.device)
        expect(found == (elements.TRIPLES[dtype], shape, (abi.CPU, 0)), f"{dtype}{list(shape)}", f"{found}")
        expect(made.strides is not None, "strides", "NULL")
        nbytes = elements.count(shape) * elements.nbytes(dtype)
        ctypes.memset(made.address, 0x41, nbytes)
        expect(ctypes.string_at(made.address, nbytes) == b"A" * nbytes, "what was written", "something else")
        made.end()
        seen.append(f"{dtype}{list(shape)}")
    return ", ".join(seen)


@rule("X-ALLOC-02", MUST, ALLOCATOR, "It makes 0-d tensors and tensors without elements.")
def allocates_edges(target: Target) -> str:
    for shape in ((), (0, 3)):
        made = exchange.allocate(target, exchange.prototype("float32", shape))
        if made.tensor is None:
            raise Broken(f"a tensor of shape {shape}", made.text)
        expect(made.tensor.shape == shape, f"shape {shape}", f"shape {made.tensor.shape}")
        made.tensor.end()
    return "() and (0, 3)"


def _fails(target: Target, what: str, proto: object) -> str:
    answer = exchange.allocate(target, proto)
    expect(answer.status != 0, f"-1 for {what}", "0")
    expect(len(answer.errors) == 1, f"one call of SetError for {what}", answer.text)
    return answer.errors[0][0]


@rule(
    "X-ALLOC-03",
    MUST,
    f"{ALLOCATOR}; pitfalls 119",
    "What cannot be made returns -1 and calls SetError once: type code 200, device type 99.",
)
def refuses(target: Target) -> str:
    seen = [
        _fails(target, "type code 200", exchange.prototype("float32", (2,), triple=(200, 32, 1))),
        _fails(target, "device type 99", exchange.prototype("float32", (2,), device=(99, 0))),
    ]
    return ", ".join(seen)


@rule(
    "X-ALLOC-04",
    MUST,
    "docs/pitfalls.md, size and hostile input; pitfalls 123",
    "A negative extent, and sizes beyond 64 bits, return -1 and call SetError once.",
)
def refuses_sizes(target: Target) -> str:
    seen = [
        _fails(target, "extent -3", exchange.prototype("float32", (2, -3))),
        _fails(target, "(2^32, 2^32, 16)", exchange.prototype("int32", (2**32, 2**32, 16))),
        _fails(target, "2^61 float64", exchange.prototype("float64", (2**61,))),
    ]
    return ", ".join(seen)


@rule("X-ALLOC-05", MUST, "tvm-ffi passes a NULL SetError", "A failure with a NULL SetError returns -1.")
def null_set_error(target: Target) -> str:
    proto = exchange.prototype("float32", (2,), triple=(200, 32, 1))
    answer = exchange.allocate(target, proto, set_error=False)
    return expect(answer.status != 0, "-1", "0")


@rule(
    "X-ALLOC-06",
    MUST,
    "docs/pitfalls.md, size and hostile input; pitfalls 40",
    "A negative ndim returns -1 and calls SetError once.",
)
def refuses_rank(target: Target) -> str:
    return _fails(target, "ndim -1", exchange.prototype("float32", (2, 3), ndim=-1))


@rule("X-ALLOC-07", SHOULD, ALLOCATOR, "kind of SetError is the name of a Python exception class.")
def error_kind(target: Target) -> str:
    import builtins

    answer = exchange.allocate(target, exchange.prototype("float32", (2,), triple=(200, 32, 1)))
    if not answer.errors:
        raise NotApplicable(f"it called no SetError: {answer.text}")
    kind = answer.errors[0][0]
    known = getattr(builtins, kind, None)
    return expect(isinstance(known, type) and issubclass(known, Exception), "such as MemoryError", kind) and kind


# ---- The stream ----


@rule(
    "X-STREAM-01",
    MUST,
    "dlpack.h, DLPackCurrentWorkStream",
    "current_work_stream answers for the host, with NULL or any pointer.",
)
def host_stream(target: Target) -> str:
    found = exchange.work_stream(target, abi.CPU, 0)
    return "NULL" if not found else "a pointer"


@rule(
    "X-STREAM-02",
    SHOULD,
    "dlpack.h, DLPackCurrentWorkStream; pitfalls 121",
    "current_work_stream answers or raises for a device that is not there, type 99.",
)
def other_stream(target: Target) -> str:
    try:
        found = exchange.work_stream(target, 99, 0)
    except NotApplicable:
        raise
    except Broken:
        raise
    except Exception as error:
        return say(error)
    return "NULL" if not found else "a pointer"
