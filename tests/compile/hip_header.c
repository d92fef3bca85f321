/*
 * What src/devices/gpu says of HIP's runtime, held to the real hip/hip_runtime_api.h: prototypes, numbers and offsets.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stddef.h>

#include "../../src/devices/gpu/hip_functions.h"

#define SAME_PROTOTYPE(field, symbol, is_optional, returns, parameters)                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), returns parameters), #symbol);
DLPARK__HIP_FUNCTIONS(SAME_PROTOTYPE)

/* Their types, under other names beside the real ones. */
#define hipError_t             our_hipError_t
#define hipDeviceAttribute_t   our_hipDeviceAttribute_t
#define hipMemcpyKind          our_hipMemcpyKind
#define hipStreamCaptureMode   our_hipStreamCaptureMode
#define hipStreamCaptureStatus our_hipStreamCaptureStatus
#define hipDevice_t            our_hipDevice_t
#define hipDeviceptr_t         our_hipDeviceptr_t
#define hipPointerAttribute_t  our_hipPointerAttribute_t
#include "../../src/devices/gpu/hip_types.h"
#undef hipError_t
#undef hipDeviceAttribute_t
#undef hipMemcpyKind
#undef hipStreamCaptureMode
#undef hipStreamCaptureStatus
#undef hipDevice_t
#undef hipDeviceptr_t
#undef hipPointerAttribute_t

#define SAME_SIZE(type) _Static_assert(sizeof(type) == sizeof(our_##type), #type)
SAME_SIZE(hipError_t);
SAME_SIZE(hipDeviceAttribute_t);
SAME_SIZE(hipMemcpyKind);
SAME_SIZE(hipStreamCaptureMode);
SAME_SIZE(hipStreamCaptureStatus);
SAME_SIZE(hipPointerAttribute_t);
_Static_assert(__builtin_types_compatible_p(hipDevice_t, our_hipDevice_t), "hipDevice_t");
_Static_assert(__builtin_types_compatible_p(hipDeviceptr_t, our_hipDeviceptr_t), "hipDeviceptr_t");

#define SAME_FIELD(field)                                                                                              \
    _Static_assert(offsetof(hipPointerAttribute_t, field) == offsetof(our_hipPointerAttribute_t, field), #field)
SAME_FIELD(device);
SAME_FIELD(devicePointer);
SAME_FIELD(hostPointer);
SAME_FIELD(isManaged);
SAME_FIELD(allocationFlags);

#define SAME_NUMBER(name) _Static_assert((int)hip##name == HIP_NUMBER_##name, #name)
#if HIP_VERSION_MAJOR < 6
SAME_FIELD(memoryType);
SAME_NUMBER(MemoryTypeHost);
#else
_Static_assert((int)hipMemoryTypeUnregistered == HIP_NUMBER_6_MemoryTypeUnregistered, "hipMemoryTypeUnregistered");
_Static_assert((int)hipMemoryTypeHost == HIP_NUMBER_6_MemoryTypeHost, "hipMemoryTypeHost");
#endif
SAME_NUMBER(MemcpyHostToDevice);
SAME_NUMBER(MemcpyDeviceToHost);
SAME_NUMBER(MemcpyDeviceToDevice);
SAME_NUMBER(DeviceAttributeMemoryPoolsSupported);
SAME_NUMBER(HostMallocPortable);
SAME_NUMBER(EventDisableTiming);
SAME_NUMBER(ErrorNotSupported);

/* Of gpu_parts.h and gpu_release.c, which have CUDA's numbers. */
_Static_assert(hipSuccess == 0 && hipErrorInvalidValue == 1 && hipErrorOutOfMemory == 2, "errors");
_Static_assert(hipErrorNotInitialized == 3 && hipErrorDeinitialized == 4 && hipErrorNoDevice == 100, "errors");
_Static_assert(hipErrorInvalidContext == 201 && hipErrorNotReady == 600, "errors");
_Static_assert(hipErrorStreamCaptureUnsupported == 900 && hipErrorStreamCaptureWrongThread == 908, "errors");
_Static_assert(hipStreamCaptureModeRelaxed == 2 && hipStreamCaptureStatusNone == 0, "captures");
