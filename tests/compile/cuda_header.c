/*
 * What src/devices/gpu says of CUDA's driver, held to the real cuda.h: prototypes, numbers, sizes and offsets.
 */
#include <cuda.h>
#include <stddef.h>

#include "../../src/devices/gpu/cuda_functions.h"

#define SAME_PROTOTYPE(field, symbol, is_optional, parameters)                                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), CUresult parameters), #symbol);
DLPARK__CUDA_FUNCTIONS(SAME_PROTOTYPE)

/* Their types, under other names beside the real ones. */
#define CUresult              our_CUresult
#define CUdevice_attribute    our_CUdevice_attribute
#define CUpointer_attribute   our_CUpointer_attribute
#define CUstreamCaptureMode   our_CUstreamCaptureMode
#define CUstreamCaptureStatus our_CUstreamCaptureStatus
#define CUmemorytype          our_CUmemorytype
#define CUdevice              our_CUdevice
#define CUdeviceptr           our_CUdeviceptr
#define CUDA_MEMCPY2D         our_CUDA_MEMCPY2D
#include "../../src/devices/gpu/cuda_types.h"
#undef CUresult
#undef CUdevice_attribute
#undef CUpointer_attribute
#undef CUstreamCaptureMode
#undef CUstreamCaptureStatus
#undef CUmemorytype
#undef CUdevice
#undef CUdeviceptr
#undef CUDA_MEMCPY2D

#define SAME_SIZE(type) _Static_assert(sizeof(type) == sizeof(our_##type), #type)
SAME_SIZE(CUresult);
SAME_SIZE(CUdevice_attribute);
SAME_SIZE(CUpointer_attribute);
SAME_SIZE(CUstreamCaptureMode);
SAME_SIZE(CUstreamCaptureStatus);
SAME_SIZE(CUmemorytype);
SAME_SIZE(CUDA_MEMCPY2D);
_Static_assert(__builtin_types_compatible_p(CUdevice, our_CUdevice), "CUdevice");
_Static_assert(__builtin_types_compatible_p(CUdeviceptr, our_CUdeviceptr), "CUdeviceptr");

#define SAME_FIELD(field) _Static_assert(offsetof(CUDA_MEMCPY2D, field) == offsetof(our_CUDA_MEMCPY2D, field), #field)
SAME_FIELD(srcXInBytes);
SAME_FIELD(srcY);
SAME_FIELD(srcMemoryType);
SAME_FIELD(srcHost);
SAME_FIELD(srcDevice);
SAME_FIELD(srcArray);
SAME_FIELD(srcPitch);
SAME_FIELD(dstXInBytes);
SAME_FIELD(dstY);
SAME_FIELD(dstMemoryType);
SAME_FIELD(dstHost);
SAME_FIELD(dstDevice);
SAME_FIELD(dstArray);
SAME_FIELD(dstPitch);
SAME_FIELD(WidthInBytes);
SAME_FIELD(Height);

#define SAME_NUMBER(name) _Static_assert((int)CU_##name == CUDA_NUMBER_##name, #name)
SAME_NUMBER(MEMORYTYPE_HOST);
SAME_NUMBER(MEMORYTYPE_DEVICE);
SAME_NUMBER(POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_NUMBER(POINTER_ATTRIBUTE_IS_MANAGED);
SAME_NUMBER(POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_NUMBER(POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_NUMBER(POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_NUMBER(POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
SAME_NUMBER(DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
SAME_NUMBER(MEM_ATTACH_GLOBAL);
SAME_NUMBER(EVENT_DISABLE_TIMING);
_Static_assert(CU_MEMHOSTALLOC_PORTABLE == CUDA_NUMBER_MEMHOSTALLOC_PORTABLE, "CU_MEMHOSTALLOC_PORTABLE");
_Static_assert((int)CUDA_ERROR_NOT_SUPPORTED == CUDA_NUMBER_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED");

/* Of gpu_parts.h and gpu_release.c, which include nothing of CUDA. */
_Static_assert(CUDA_SUCCESS == 0 && CUDA_ERROR_INVALID_VALUE == 1 && CUDA_ERROR_OUT_OF_MEMORY == 2, "errors");
_Static_assert(CUDA_ERROR_NOT_INITIALIZED == 3 && CUDA_ERROR_DEINITIALIZED == 4, "errors");
_Static_assert(CUDA_ERROR_STUB_LIBRARY == 34 && CUDA_ERROR_NO_DEVICE == 100, "errors");
_Static_assert(CUDA_ERROR_INVALID_CONTEXT == 201 && CUDA_ERROR_NOT_READY == 600, "errors");
_Static_assert(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED == 900 && CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD == 908, "errors");
_Static_assert(CU_STREAM_CAPTURE_MODE_RELAXED == 2 && CU_STREAM_CAPTURE_STATUS_NONE == 0, "captures");
