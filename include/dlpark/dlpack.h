/**
 * The DLPack 1.3 ABI, declared in our own words and byte-compatible with every implementation of it.
 *
 * Use this header wherever `dlpack/dlpack.h` would be used. The two coexist in either include order: whichever
 * comes first declares the types, and this one then fills in what an older upstream release (0.6 to 1.2) lacks.
 * Compiles as C11, C17 and C++11 or later. Every size and offset is asserted at compile time, for 64-bit and
 * 32-bit targets, and DLDeviceType keeps its four bytes under -fshort-enums.
 *
 * Two things that a header cannot mend when an older upstream came first: a `switch` over the bare enum warns about the
 * enumerators filled in here (switch over an int), and an upstream state between two releases may be told for the
 * release before it. Including this header first avoids both.
 *
 * Names and values are those of the DLPack standard; nothing here is an extension.
 */
#ifndef DLPARK_DLPACK_H
#define DLPARK_DLPACK_H

#include <stddef.h>
#include <stdint.h>

/* ---- 1. What an upstream header has declared, if one came first ---------------------------------------------- */

#if defined(DLPACK_DLPACK_H_)
#if defined(DLPACK_MAJOR_VERSION)
#define DLPARK_UPSTREAM_DLPACK (DLPACK_MAJOR_VERSION * 100 + DLPACK_MINOR_VERSION)
#elif defined(DLPACK_VERSION)
#define DLPARK_UPSTREAM_DLPACK DLPACK_VERSION
#else
#define DLPARK_UPSTREAM_DLPACK 80
#endif
#if DLPARK_UPSTREAM_DLPACK >= 200
#error "dlpark knows DLPack 1.x; the dlpack.h included before it is of a later major version"
#elif DLPARK_UPSTREAM_DLPACK < 60
#error "dlpark knows dlpack.h from 0.6 on; the one included before it is older"
#endif
#else
/* Claims upstream's include guard, so that an upstream dlpack.h that comes later adds nothing. */
#define DLPACK_DLPACK_H_
#define DLPARK_UPSTREAM_DLPACK 0
#endif

#if !defined(DLPACK_EXTERN_C)
#if defined(__cplusplus)
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif
#endif
#if !defined(DLPACK_DLL)
#define DLPACK_DLL
#endif

/* DLDeviceType stands in a struct, so it must be four bytes wide whatever -fshort-enums would make of it. */
#if defined(__cplusplus)
#define DLPARK_ABI_ENUM32 enum : int32_t
#elif defined(__GNUC__)
#define DLPARK_ABI_ENUM32 enum __attribute__((mode(SI)))
#else
#define DLPARK_ABI_ENUM32 enum
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- 2. The types of the legacy ABI (DLPack 0.8) --------------------------------------------------------------- */

#if DLPARK_UPSTREAM_DLPACK == 0

/** Where the memory of a tensor is. 5 and 6 are unused. */
typedef DLPARK_ABI_ENUM32{
    kDLCPU = 1,          /**< host memory */
    kDLCUDA = 2,         /**< CUDA device memory */
    kDLCUDAHost = 3,     /**< page-locked host memory of CUDA */
    kDLOpenCL = 4,       /**< OpenCL buffer; `data` is a cl_mem handle */
    kDLVulkan = 7,       /**< Vulkan buffer; `data` is a handle */
    kDLMetal = 8,        /**< Metal buffer; `data` is an id<MTLBuffer> handle */
    kDLVPI = 9,          /**< Verilog simulator memory */
    kDLROCM = 10,        /**< ROCm device memory */
    kDLROCMHost = 11,    /**< page-locked host memory of ROCm */
    kDLExtDev = 12,      /**< reserved for devices under development */
    kDLCUDAManaged = 13, /**< CUDA memory that the driver migrates between host and device */
    kDLOneAPI = 14,      /**< unified shared memory of oneAPI */
    kDLWebGPU = 15,      /**< WebGPU buffer */
    kDLHexagon = 16,     /**< Qualcomm Hexagon DSP */
    kDLMAIA = 17,        /**< Microsoft MAIA */
    kDLTrn = 18          /**< AWS Trainium */
} DLDeviceType;

/** A device: a kind of memory, and which one of that kind. 8 bytes. */
typedef struct {
    DLDeviceType device_type;
    int32_t device_id; /**< the producer's numbering; 0 for plain CPU, page-locked and managed memory */
} DLDevice;

/** What the bits of one element mean; the width is in DLDataType::bits. */
typedef enum {
    kDLInt = 0U,          /**< signed integer, two's complement */
    kDLUInt = 1U,         /**< unsigned integer */
    kDLFloat = 2U,        /**< IEEE 754 binary floating point */
    kDLOpaqueHandle = 3U, /**< a handle that only producer and consumer understand */
    kDLBfloat = 4U,       /**< bfloat16 */
    kDLComplex = 5U,      /**< two floats, real part first; bits counts both */
    kDLBool = 6U,         /**< one byte, 0 or 1 */
    kDLFloat8_e3m4 = 7U,
    kDLFloat8_e4m3 = 8U,
    kDLFloat8_e4m3b11fnuz = 9U,
    kDLFloat8_e4m3fn = 10U,
    kDLFloat8_e4m3fnuz = 11U,
    kDLFloat8_e5m2 = 12U,
    kDLFloat8_e5m2fnuz = 13U,
    kDLFloat8_e8m0fnu = 14U,
    kDLFloat6_e2m3fn = 15U,
    kDLFloat6_e3m2fn = 16U,
    kDLFloat4_e2m1fn = 17U
} DLDataTypeCode;

/** An element type, the whole triple. 4 bytes. Types of less than 8 bits are packed, lowest bits first. */
typedef struct {
    uint8_t code;   /**< a DLDataTypeCode */
    uint8_t bits;   /**< width of one lane in bits */
    uint16_t lanes; /**< lanes in one element; 1 unless it is a short vector */
} DLDataType;

/** A tensor as somebody describes it. Owns nothing. Element 0 is `byte_offset` bytes into `data`. */
typedef struct {
    void *data; /**< base of the memory, or a handle (OpenCL, Metal, Vulkan); NULL when there are no elements */
    DLDevice device;
    int32_t ndim; /**< rank; 0 is a scalar, with one element */
    DLDataType dtype;
    int64_t *shape;       /**< `ndim` extents; may be NULL when ndim is 0 */
    int64_t *strides;     /**< `ndim` strides in elements; before 1.2 NULL means compact row-major */
    uint64_t byte_offset; /**< bytes from `data` to element 0 */
} DLTensor;

/** The legacy owner: a tensor and the function that ends it, exactly once. It cannot say "read-only". */
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;                             /**< the producer's; nobody else reads it */
    void (*deleter)(struct DLManagedTensor *self); /**< frees everything, `self` too; may be NULL */
} DLManagedTensor;

#endif /* DLPARK_UPSTREAM_DLPACK == 0 */

/* ---- 3. What 1.0 added: the versioned ABI ------------------------------------------------------------------------ */

#if DLPARK_UPSTREAM_DLPACK < 100

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL) /**< the memory must not be written */
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL) /**< a copy made for this export; its receiver is the sole owner */

/** The version of the ABI that a struct follows. Another major: only the deleter may be used. */
typedef struct {
    uint32_t major; /**< what is not equal is not understood */
    uint32_t minor; /**< what is greater has only added something */
} DLPackVersion;

/** The owner since 1.0. The fields before `dl_tensor` keep their places in every later major version. */
struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;                                      /**< the producer's; nobody else reads it */
    void (*deleter)(struct DLManagedTensorVersioned *self); /**< frees everything, `self` too; may be NULL */
    uint64_t flags;                                         /**< DLPACK_FLAG_BITMASK_* */
    DLTensor dl_tensor;
};

#endif
#if DLPARK_UPSTREAM_DLPACK < 102
/** Upstream has this name only from 1.2 on; in C a `struct` had to be written. */
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;
#endif

/* Enumerators that the upstream header included first does not know yet. */
#if DLPARK_UPSTREAM_DLPACK != 0 && DLPARK_UPSTREAM_DLPACK < 80
#define kDLOneAPI  ((DLDeviceType)14)
#define kDLWebGPU  ((DLDeviceType)15)
#define kDLHexagon ((DLDeviceType)16)
#define kDLBool    ((DLDataTypeCode)6)
#endif
#if DLPARK_UPSTREAM_DLPACK != 0 && DLPARK_UPSTREAM_DLPACK < 100
#define kDLMAIA ((DLDeviceType)17)
#endif
#if DLPARK_UPSTREAM_DLPACK != 0 && DLPARK_UPSTREAM_DLPACK < 102
#define kDLTrn ((DLDeviceType)18)
#endif

/* ---- 4. What 1.1 added: narrow floats -------------------------------------------------------------------------- */

#if DLPARK_UPSTREAM_DLPACK < 101
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL) /**< each sub-byte element fills a byte of its own */
#endif
#if DLPARK_UPSTREAM_DLPACK != 0 && DLPARK_UPSTREAM_DLPACK < 101
#define kDLFloat8_e3m4        7U
#define kDLFloat8_e4m3        8U
#define kDLFloat8_e4m3b11fnuz 9U
#define kDLFloat8_e4m3fn      10U
#define kDLFloat8_e4m3fnuz    11U
#define kDLFloat8_e5m2        12U
#define kDLFloat8_e5m2fnuz    13U
#define kDLFloat8_e8m0fnu     14U
#define kDLFloat6_e2m3fn      15U
#define kDLFloat6_e3m2fn      16U
#define kDLFloat4_e2m1fn      17U
#endif

/* ---- 5. What 1.2 added: the C exchange table -------------------------------------------------------------------- */

#if DLPARK_UPSTREAM_DLPACK < 102

/** Makes an uninitialised tensor like `prototype` (dtype, ndim, shape, device are read). 0, or -1 after `SetError`. */
typedef int (*DLPackManagedTensorAllocator)(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                                            void (*SetError)(void *error_ctx, const char *kind, const char *message));
/** Owning export of a Python object, without synchronisation. 0, or -1 with a Python error. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void *py_object, DLManagedTensorVersioned **out);
/** Borrowed description of a Python object, valid while the caller holds it and runs no Python code. Optional. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);
/** The stream that the framework currently works on; NULL when there is none. 0, or -1 with a Python error. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id, void **out_current_stream);
/** Makes a Python object of a tensor, which it takes. 0, or -1 with a Python error. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned *tensor, void **out_py_object);

/** What a reader may look at before it knows that the rest of the table is of a major version it understands. */
typedef struct DLPackExchangeAPIHeader {
    DLPackVersion version;
    struct DLPackExchangeAPIHeader *prev_api; /**< a table of an earlier major version, or NULL */
} DLPackExchangeAPIHeader;

/** A framework's exchange functions, static for the life of the process. All need the GIL but the allocator. */
typedef struct DLPackExchangeAPI {
    DLPackExchangeAPIHeader header;
    DLPackManagedTensorAllocator managed_tensor_allocator;
    DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
    DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
    DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync; /**< may be NULL */
    DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#endif

/* ---- 6. Version ---------------------------------------------------------------------------------------------------- */

/* When an older upstream header came first, these two keep its values: they belong to its users. Ours are
 * DLPARK_ABI_MAJOR and DLPARK_ABI_MINOR in version.h. */
#if DLPARK_UPSTREAM_DLPACK < 100
/** The DLPack version that this header declares. */
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3
#endif

#if defined(__cplusplus)
}
#endif

/* ---- 7. The promise: sizes and offsets ------------------------------------------------------------------------------ */

#if defined(__cplusplus)
#define DLPARK_ABI_ASSERT(condition, text) static_assert(condition, text)
#else
#define DLPARK_ABI_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define DLPARK_ABI_SIZE(type, size64, size32)                                                                          \
    DLPARK_ABI_ASSERT(sizeof(type) == (sizeof(void *) == 8 ? (size64) : (size32)), "size of " #type " is not "         \
                                                                                   "DLPack's")
#define DLPARK_ABI_OFFSET(type, field, at64, at32)                                                                     \
    DLPARK_ABI_ASSERT(offsetof(type, field) == (sizeof(void *) == 8 ? (at64) : (at32)),                                \
                      "offset of " #type "." #field " is not DLPack's")

/** 32-bit targets differ in the alignment of a 64-bit integer: 4 on i386, 8 on ARM EABI and wasm32. */
struct dlpark_abi_probe {
    char first;
    uint64_t second;
};
#define DLPARK_ABI_PAD (offsetof(struct dlpark_abi_probe, second) == 8 ? 4 : 0)

DLPARK_ABI_ASSERT(sizeof(DLDeviceType) == 4, "DLDeviceType is not 4 bytes: dlpack.h was included under -fshort-enums");
DLPARK_ABI_ASSERT(sizeof(DLDevice) == 8, "size of DLDevice is not DLPack's");
DLPARK_ABI_ASSERT(sizeof(DLDataType) == 4, "size of DLDataType is not DLPack's");
DLPARK_ABI_ASSERT(sizeof(DLPackVersion) == 8, "size of DLPackVersion is not DLPack's");
DLPARK_ABI_OFFSET(DLPackVersion, minor, 4, 4);
DLPARK_ABI_OFFSET(DLDevice, device_id, 4, 4);
DLPARK_ABI_OFFSET(DLDataType, bits, 1, 1);
DLPARK_ABI_OFFSET(DLDataType, lanes, 2, 2);
DLPARK_ABI_SIZE(DLTensor, 48, 36 + DLPARK_ABI_PAD);
DLPARK_ABI_OFFSET(DLTensor, data, 0, 0);
DLPARK_ABI_OFFSET(DLTensor, device, 8, 4);
DLPARK_ABI_OFFSET(DLTensor, ndim, 16, 12);
DLPARK_ABI_OFFSET(DLTensor, dtype, 20, 16);
DLPARK_ABI_OFFSET(DLTensor, shape, 24, 20);
DLPARK_ABI_OFFSET(DLTensor, strides, 32, 24);
DLPARK_ABI_OFFSET(DLTensor, byte_offset, 40, 28 + DLPARK_ABI_PAD);
DLPARK_ABI_SIZE(DLManagedTensor, 64, 44 + DLPARK_ABI_PAD);
DLPARK_ABI_OFFSET(DLManagedTensor, manager_ctx, 48, 36 + DLPARK_ABI_PAD);
DLPARK_ABI_OFFSET(DLManagedTensor, deleter, 56, 40 + DLPARK_ABI_PAD);
DLPARK_ABI_SIZE(DLManagedTensorVersioned, 80, 60 + DLPARK_ABI_PAD);
DLPARK_ABI_OFFSET(DLManagedTensorVersioned, manager_ctx, 8, 8);
DLPARK_ABI_OFFSET(DLManagedTensorVersioned, deleter, 16, 12);
DLPARK_ABI_OFFSET(DLManagedTensorVersioned, flags, 24, 16);
DLPARK_ABI_OFFSET(DLManagedTensorVersioned, dl_tensor, 32, 24);
DLPARK_ABI_SIZE(DLPackExchangeAPIHeader, 16, 12);
DLPARK_ABI_OFFSET(DLPackExchangeAPIHeader, prev_api, 8, 8);
DLPARK_ABI_SIZE(DLPackExchangeAPI, 56, 32);
DLPARK_ABI_OFFSET(DLPackExchangeAPI, managed_tensor_allocator, 16, 12);
DLPARK_ABI_OFFSET(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24, 16);
DLPARK_ABI_OFFSET(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32, 20);
DLPARK_ABI_OFFSET(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40, 24);
DLPARK_ABI_OFFSET(DLPackExchangeAPI, current_work_stream, 48, 28);

#endif
