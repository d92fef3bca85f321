/**
 * The rules that a tensor's description is judged by: one table, from which the checks take verdict and words.
 *
 *     dlpark_fault fault;
 *     if (dlpark_check_all_managed(managed, &fault, 1) > 0)
 *         printf("%s: %s\n", dlpark_rule_name(fault.rule), fault.message);
 *
 * A broken rule makes dlpark_check() refuse the tensor. A hazard is legal and accepted, and some consumer in the field
 * is known to misread it; the rule says which. Pointers must not be NULL unless a parameter says optional.
 */
#ifndef DLPARK_RULE_H
#define DLPARK_RULE_H

#include <stdint.h>

#include "api.h"
#include "status.h"

DLPARK_BEGIN_C

/**
 * X(name, value, severity, status, field, limit, text), in the order in which faults are listed; the first broken one is
 * what dlpark_check() answers, with this status. `limit` is what the field is expected to be. `text` is what the rule
 * means; for a hazard, who misreads it. Values are never reused.
 */
#define DLPARK_RULE_TABLE(X)                                                                                           \
    X(TENSOR, 1, BROKEN, E_ARGUMENT, "tensor", "a tensor", "Nothing is there to be judged.")                           \
    X(VERSION, 2, BROKEN, E_VERSION, "version", "major 1, or 0 for the legacy struct",                                 \
      "Of a struct of another major version only the deleter may be used, and no other field is looked at.")           \
    X(FLAGS, 3, BROKEN, E_FLAGS, "flags", "only bits that DLPack 1.3 defines",                                         \
      "What an unknown flag changes cannot be honoured.")                                                              \
    X(RANK, 4, BROKEN, E_RANK, "ndim", "0 to 64",                                                                      \
      "Shape and strides have no such length, and are not looked at; 64 is NumPy's limit too.")                        \
    X(DTYPE_CODE, 5, BROKEN, E_DTYPE, "dtype.code", "a code that DLPack 1.3 defines",                                  \
      "The bits of an element have no known meaning.")                                                                 \
    X(DTYPE_LANES, 6, BROKEN, E_DTYPE, "dtype.lanes", "1 or more", "An element without lanes has no size.")            \
    X(DTYPE_COMPLEX, 7, BROKEN, E_DTYPE, "dtype.lanes", "1 lane, whose bits count both parts",                         \
      "Some exporters of old meant complex64 by two lanes of 32 bits; the two readings cannot be told apart.")         \
    X(DTYPE_BITS, 8, BROKEN, E_DTYPE, "dtype.bits", "a width that the code can have",                                  \
      "fp8, fp6, fp4, bfloat16 and bool have one width each; any other has no agreed meaning.")                        \
    X(DEVICE_TYPE, 9, BROKEN, E_DEVICE, "device.device_type", "a type that DLPack 1.3 defines",                        \
      "Where such memory is, and who may touch it, is not known.")                                                     \
    X(DEVICE_ID, 10, BROKEN, E_DEVICE, "device.device_id", "0 or more", "No device has a negative number.")            \
    X(SHAPE, 11, BROKEN, E_SHAPE, "shape", "a list of ndim extents",                                                   \
      "How many elements there are is not said; NULL is legal for rank 0 only.")                                       \
    X(EXTENT, 12, BROKEN, E_SHAPE, "shape[i]", "0 or more", "No dimension has a negative length.")                     \
    X(NUMEL, 13, BROKEN, E_OVERFLOW, "shape[i]", "at most 2^63-1 elements",                                            \
      "A count that wraps lets a small buffer pass for a large one. An extent of 0 excuses the others.")               \
    X(REACH, 14, BROKEN, E_OVERFLOW, "strides[i]", "less than 2^63-1 elements to either side",                         \
      "An element that wraps lies anywhere. Strides of extents of 1, or without elements, mean nothing.")              \
    X(DATA, 15, BROKEN, E_DATA, "data", "an address where there are elements",                                         \
      "The elements are nowhere; NULL is legal only without elements.")                                                \
    X(NBYTES, 16, BROKEN, E_OVERFLOW, "strides", "at most 2^63-1 bytes",                                               \
      "The elements, or the way to the farthest of them, are more bytes than can be addressed.")                       \
    X(ADDRESS, 17, BROKEN, E_OVERFLOW, "data", "memory within the address space",                                      \
      "An element lies where no address is; byte_offset, and the way to an element of a handle, are below 2^63.")      \
    X(NULL_STRIDES, 100, HAZARD, OK, "strides", "a list from DLPack 1.2 on",                                           \
      "The Rust crates dlpark and dlpk refuse NULL strides from version 1.2 on; this library takes them as compact.")  \
    X(BYTE_OFFSET, 101, HAZARD, OK, "byte_offset", "0 where it can be added to data",                                  \
      "CuPy, DLPack.jl and cuda.core's view_as_dlpack leave byte_offset out and read other elements.")                 \
    X(NEGATIVE_STRIDE, 102, HAZARD, OK, "strides[i]", "0 or more",                                                     \
      "PyTorch and TensorFlow refuse them, and one PyTorch ended the process over them.")                              \
    X(ZERO_STRIDE, 103, HAZARD, OK, "strides[i]", "not 0 where the extent is above 1",                                 \
      "ONNX Runtime took broadcast elements for contiguous ones and counted bytes that are not there.")                \
    X(UNUSED_STRIDE, 104, HAZARD, OK, "strides[i]", "the compact stride where the extent is 1",                        \
      "Triton Inference Server and the Rust crate dlpark compare it and take a compact tensor for another.")           \
    X(NOT_COMPACT, 105, HAZARD, OK, "strides", "compact in row-major or column-major order",                           \
      "DLPack.jl reads whatever is not column-major as compact row-major.")                                            \
    X(ALIGNMENT, 106, HAZARD, OK, "data", "a multiple of the size of a number in it",                                  \
      "tf-dlpack read such memory with aligned vector instructions and crashed; XLA copies it.")                       \
    X(SELF_OVERLAP, 107, HAZARD, OK, "strides", "a place for each element where it may be written",                    \
      "Writing one element changes another; PyTorch notices that for strides of 0 only.")                              \
    X(MAYBE_OVERLAP, 108, HAZARD, OK, "strides", "a place for each element where it may be written",                   \
      "Not decided in the steps allowed: elements may share memory, and writing one may change another.")              \
    X(EMPTY_DATA, 109, HAZARD, OK, "data", "NULL where there are no elements",                                         \
      "DLPack asks for NULL; who tells emptiness by the pointer, as with this library's own exports, is misled.")      \
    X(READ_ONLY, 110, HAZARD, OK, "flags", "READ_ONLY clear, for a consumer without the notion",                       \
      "CuPy and tvm-ffi drop the flag, and hand the memory on as writable.")                                           \
    X(PADDED, 111, HAZARD, OK, "flags", "PADDED only for elements that do not fill whole bytes",                       \
      "It means nothing for whole bytes and is harmless; tvm-ffi and the Rust crate dlpark refuse padded tensors.")    \
    X(FLAGS_VERSION, 112, HAZARD, OK, "flags", "bits that the struct's own version defines",                           \
      "A consumer of that version does not know the flag; NumPy, of 1.0, ignores PADDED.")                             \
    X(DTYPE_VERSION, 113, HAZARD, OK, "dtype.code", "a code that the struct's own version defines",                    \
      "fp8, fp6 and fp4 came with 1.1; DLPack.jl and pyo3-dlpack, of 1.0, do not know them.")                          \
    X(DEVICE_VERSION, 114, HAZARD, OK, "device.device_type", "a type that the struct's own version defines",           \
      "MAIA came with 1.0 and Trainium with 1.2; pyo3-dlpack, of 1.0, does not know Trainium.")                        \
    X(HOST_DEVICE_ID, 115, HAZARD, OK, "device.device_id", "0 for memory of the host",                                 \
      "DLPack fixes 0; who compares with {kDLCPU, 0} finds another device.")                                           \
    X(SCALABLE_LANES, 116, HAZARD, OK, "dtype.lanes", "at most 32767",                                                 \
      "TVM takes such a number for a negative one, by which it means a vector of scalable length.")                    \
    X(PACKED_LANES, 117, HAZARD, OK, "dtype.lanes", "lanes that fill whole bytes together",                            \
      "Whether such a vector is padded to whole bytes is not defined; tvm-ffi packs it, as this library does.")

/** How much a fault weighs. Four bytes in every build. */
typedef enum dlpark_severity {
    DLPARK_SEVERITY_BROKEN = 1, /**< the description is wrong: dlpark_check() refuses it */
    DLPARK_SEVERITY_HAZARD = 2, /**< legal and accepted, and misread by some consumer */
    DLPARK_SEVERITY_PIN_32 = 0x7fffffff
} dlpark_severity;

/** A rule of the table. Four bytes in every build. */
typedef enum dlpark_rule {
#define DLPARK_RULE_ENUMERATOR(name, value, severity, status, field, limit, text) DLPARK_RULE_##name = (value),
    DLPARK_RULE_TABLE(DLPARK_RULE_ENUMERATOR)
#undef DLPARK_RULE_ENUMERATOR
        DLPARK_RULE_PIN_32 = 0x7fffffff /**< keeps the enum at 32 bits; never found */
} dlpark_rule;

/**
 * The name of a rule, such as "NULL_STRIDES"; "UNKNOWN" for a value that is not in the table.
 *
 * @return a static string, never NULL.
 * Threads: any.
 */
DLPARK_API const char *dlpark_rule_name(dlpark_rule rule);

/** Whether a fault against the rule breaks the tensor. BROKEN for a value that is not in the table. Threads: any. */
DLPARK_API dlpark_severity dlpark_rule_severity(dlpark_rule rule);

/** What dlpark_check() answers for a broken rule; DLPARK_OK for a hazard. Threads: any. */
DLPARK_API dlpark_status dlpark_rule_status(dlpark_rule rule);

/** What the rule is about: "ndim", "shape[i]". A static string, never NULL. Threads: any. */
DLPARK_API const char *dlpark_rule_field(dlpark_rule rule);

/** What is expected of the field, as half a sentence: "0 or more". A static string, never NULL. Threads: any. */
DLPARK_API const char *dlpark_rule_limit(dlpark_rule rule);

/** What the rule means; for a hazard, which consumer misreads it. A static string, never NULL. Threads: any. */
DLPARK_API const char *dlpark_rule_text(dlpark_rule rule);

/** "broken" or "hazard". A static string, never NULL. Threads: any. */
DLPARK_API const char *dlpark_severity_name(dlpark_severity severity);

DLPARK_END_C

#endif
