/*
 * A stand-in for the dlpack.h of dmlc/dlpack, written for these tests: it declares what the release STANDIN declares
 * (60 is 0.6, 80 is 0.8, 100 is 1.0, ... 103 is 1.3), under the same guard, with the same macros, and nothing else.
 *
 * STANDIN_FAULT spoils one declaration, to prove that the header under test notices: see refusals.cmake.
 */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#if !defined(STANDIN)
#define STANDIN 103
#endif
#if !defined(STANDIN_FAULT)
#define STANDIN_FAULT 0
#endif

#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif

#if STANDIN < 100
#define DLPACK_VERSION     STANDIN
#define DLPACK_ABI_VERSION 1
#else
#define DLPACK_MAJOR_VERSION (STANDIN / 100)
#define DLPACK_MINOR_VERSION (STANDIN % 100)
#endif

#define DLPACK_DLL

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if STANDIN >= 100
typedef struct {
#if STANDIN_FAULT == 1
    uint32_t minor;
    uint16_t major;
#else
    uint32_t major;
    uint32_t minor;
#endif
} DLPackVersion;
#endif

#if defined(__cplusplus) && STANDIN >= 80
typedef enum : int32_t {
#else
typedef enum {
#endif
    kDLCPU = 1,
    kDLCUDA = 2,
    kDLCUDAHost = 3,
    kDLOpenCL = 4,
    kDLVulkan = 7,
    kDLMetal = 8,
    kDLVPI = 9,
    kDLROCM = 10,
    kDLROCMHost = 11,
    kDLExtDev = 12,
    kDLCUDAManaged = 13,
#if STANDIN >= 80
    kDLOneAPI = 14,
    kDLWebGPU = 15,
    kDLHexagon = 16,
#endif
#if STANDIN >= 100
    kDLMAIA = 17,
#endif
#if STANDIN >= 102
    kDLTrn = 18,
#endif
} DLDeviceType;

typedef struct {
#if STANDIN_FAULT == 2
    int32_t device_id;
    DLDeviceType device_type;
#else
    DLDeviceType device_type;
    int32_t device_id;
#endif
} DLDevice;

typedef enum {
    kDLInt = 0U,
    kDLUInt = 1U,
    kDLFloat = 2U,
    kDLOpaqueHandle = 3U,
    kDLBfloat = 4U,
    kDLComplex = 5U,
#if STANDIN >= 80
    kDLBool = 6U,
#endif
#if STANDIN >= 101
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
    kDLFloat4_e2m1fn = 17U,
#endif
} DLDataTypeCode;

typedef struct {
#if STANDIN_FAULT == 3
    uint8_t bits;
    uint8_t pad;
    uint8_t code;
    uint8_t lanes;
#elif STANDIN_FAULT == 4
    DLDataTypeCode code;
    uint8_t bits;
    uint16_t lanes;
#else
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
#endif
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
#if STANDIN_FAULT == 5
    DLDataType dtype;
    int32_t ndim;
#elif STANDIN_FAULT == 6
    int64_t ndim;
    DLDataType dtype;
#else
    int32_t ndim;
    DLDataType dtype;
#endif
#if STANDIN_FAULT == 7
    int64_t *strides;
    int64_t *shape;
#else
    int64_t *shape;
    int64_t *strides;
#endif
    uint64_t byte_offset;
#if STANDIN_FAULT == 8
    uint64_t *elements_length;
#endif
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
#if STANDIN_FAULT == 9
    void (*deleter)(struct DLManagedTensor *self);
    void *manager_ctx;
#else
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
#endif
} DLManagedTensor;

#if STANDIN >= 100
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#if STANDIN >= 101
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)
#endif

#if STANDIN >= 102
typedef struct DLManagedTensorVersioned {
#else
struct DLManagedTensorVersioned {
#endif
    DLPackVersion version;
#if STANDIN_FAULT == 10
    void (*deleter)(struct DLManagedTensorVersioned *self);
    void *manager_ctx;
#else
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
#endif
#if STANDIN_FAULT == 11
    DLTensor dl_tensor;
    uint64_t flags;
#else
    uint64_t flags;
    DLTensor dl_tensor;
#endif
#if STANDIN >= 102
} DLManagedTensorVersioned;
#else
};
#endif
#endif

#if STANDIN >= 102
typedef int (*DLPackManagedTensorAllocator)(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                                            void (*SetError)(void *error_ctx, const char *kind, const char *message));
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void *py_object, DLManagedTensorVersioned **out);
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id, void **out_current_stream);
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned *tensor, void **out_py_object);

typedef struct DLPackExchangeAPIHeader {
    DLPackVersion version;
#if STANDIN_FAULT != 12
    struct DLPackExchangeAPIHeader *prev_api;
#endif
} DLPackExchangeAPIHeader;

typedef struct DLPackExchangeAPI {
    DLPackExchangeAPIHeader header;
    DLPackManagedTensorAllocator managed_tensor_allocator;
#if STANDIN_FAULT == 13
    DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
    DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
#else
    DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
    DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
#endif
#if STANDIN_FAULT == 14
    DLPackCurrentWorkStream current_work_stream;
    DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
#else
    DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
    DLPackCurrentWorkStream current_work_stream;
#endif
#if STANDIN_FAULT == 15
    void *appended;
#endif
} DLPackExchangeAPI;
#endif

#ifdef __cplusplus
}
#endif

#endif
