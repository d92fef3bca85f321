/*
 * Each function of HIP by CUDA's of the same work, in the primary context of the thread's current device. The results have
 * the same numbers.
 */
#include "fakehip.h"

#include <stdbool.h>
#include <string.h>

#include "fakecuda/driver.h"

#include "../../../src/devices/gpu/hip_functions.h"
#include "../../../src/devices/gpu/hip_types.h"

#define PROTOTYPE(field, symbol, is_optional, returns, parameters) FAKEHIP_API returns symbol parameters;
DLPARK__HIP_FUNCTIONS(PROTOTYPE)

static int version = 60000000;
static _Thread_local int current;

FAKEHIP_API void fakehip_version(int number)
{
    version = number;
}

/* HIP's null stream is the default stream; CUDA's has a handle of its own. */
static CUstream cuda_stream(hipStream_t stream)
{
    return stream ? (CUstream)(void *)stream : (CUstream)(uintptr_t)1;
}

static CUdeviceptr address_of(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

/* The context of the current device, retained for good. */
static CUresult enter(void)
{
    static CUcontext contexts[16];
    CUresult result = cuInit(0);

    if (result == CUDA_SUCCESS && !contexts[current])
        result = cuDevicePrimaryCtxRetain(&contexts[current], current);
    return result == CUDA_SUCCESS ? cuCtxPushCurrent_v2(contexts[current]) : result;
}

static hipError_t leave(CUresult result)
{
    CUcontext context;

    (void)cuCtxPopCurrent_v2(&context);
    return (hipError_t)result;
}

#define IN_CONTEXT(call)                                                                                               \
    do {                                                                                                               \
        CUresult entered = enter();                                                                                    \
        return entered == CUDA_SUCCESS ? leave(call) : (hipError_t)entered;                                            \
    } while (0)

hipError_t hipDriverGetVersion(int *number)
{
    *number = version;
    return 0;
}

hipError_t hipGetDeviceCount(int *count)
{
    CUresult result = cuInit(0);

    return (hipError_t)(result == CUDA_SUCCESS ? cuDeviceGetCount(count) : result);
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
{
    return attribute == HIP_NUMBER_DeviceAttributeMemoryPoolsSupported
               ? (hipError_t)cuDeviceGetAttribute(value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device)
               : CUDA_ERROR_INVALID_VALUE;
}

hipError_t hipDeviceGetName(char *name, int nbytes, hipDevice_t device)
{
    return (hipError_t)cuDeviceGetName(name, nbytes, device);
}

hipError_t hipGetDevice(int *device)
{
    *device = current;
    return 0;
}

hipError_t hipSetDevice(int device)
{
    int count = 0;
    CUresult result = cuDeviceGetCount(&count);

    if (result != CUDA_SUCCESS || device < 0 || device >= count)
        return (hipError_t)(result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_DEVICE);
    current = device;
    return 0;
}

hipError_t hipDeviceSynchronize(void)
{
    IN_CONTEXT(cuCtxSynchronize());
}

static CUresult given(CUresult result, const CUdeviceptr *address, void **out)
{
    if (result == CUDA_SUCCESS)
        *out = (void *)(uintptr_t)*address;
    return result;
}

hipError_t hipMalloc(void **out, size_t nbytes)
{
    CUdeviceptr address = 0;

    IN_CONTEXT(given(cuMemAlloc_v2(&address, nbytes), &address, out));
}

hipError_t hipFree(void *memory)
{
    IN_CONTEXT(cuMemFree_v2(address_of(memory)));
}

hipError_t hipMallocAsync(void **out, size_t nbytes, hipStream_t stream)
{
    CUdeviceptr address = 0;

    IN_CONTEXT(given(cuMemAllocAsync(&address, nbytes, cuda_stream(stream)), &address, out));
}

hipError_t hipFreeAsync(void *memory, hipStream_t stream)
{
    IN_CONTEXT(cuMemFreeAsync(address_of(memory), cuda_stream(stream)));
}

hipError_t hipHostMalloc(void **out, size_t nbytes, unsigned int flags)
{
    IN_CONTEXT(cuMemHostAlloc(out, nbytes, flags));
}

hipError_t hipHostFree(void *memory)
{
    IN_CONTEXT(cuMemFreeHost(memory));
}

/* Up to ROCm 5 host memory has the number 0, and from 6 on what the runtime does not know. */
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *out, const void *memory)
{
    unsigned int type = 0;
    int ordinal = 0;
    bool is_6 = version >= 60000000;
    CUresult result = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(memory));

    if (result == CUDA_SUCCESS)
        result = cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address_of(memory));
    if (result == CUDA_ERROR_INVALID_VALUE && is_6)
        type = 0;
    else if (result != CUDA_SUCCESS)
        return (hipError_t)result;
    memset(out, 0, sizeof *out);
    out->memoryType = (int)type - (is_6 ? 0 : 1);
    out->device = ordinal;
    return 0;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *nbytes, hipDeviceptr_t memory)
{
    CUdeviceptr first = 0;

    IN_CONTEXT(given(cuMemGetAddressRange_v2(&first, nbytes, address_of(memory)), &first, base));
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t nbytes, hipMemcpyKind kind, hipStream_t stream)
{
    if (kind == HIP_NUMBER_MemcpyHostToDevice)
        IN_CONTEXT(cuMemcpyHtoDAsync_v2(address_of(to), from, nbytes, cuda_stream(stream)));
    if (kind == HIP_NUMBER_MemcpyDeviceToHost)
        IN_CONTEXT(cuMemcpyDtoHAsync_v2(to, address_of(from), nbytes, cuda_stream(stream)));
    IN_CONTEXT(cuMemcpyDtoDAsync_v2(address_of(to), address_of(from), nbytes, cuda_stream(stream)));
}

hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind kind, hipStream_t stream)
{
    bool to_host = kind == HIP_NUMBER_MemcpyDeviceToHost, from_host = kind == HIP_NUMBER_MemcpyHostToDevice;
    CUDA_MEMCPY2D copy = {.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                          .srcHost = from,
                          .srcDevice = address_of(from),
                          .srcPitch = from_pitch,
                          .dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                          .dstHost = to,
                          .dstDevice = address_of(to),
                          .dstPitch = to_pitch,
                          .WidthInBytes = width,
                          .Height = height};

    IN_CONTEXT(cuMemcpy2DAsync_v2(&copy, cuda_stream(stream)));
}

hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t nbytes,
                              hipStream_t stream)
{
    CUcontext contexts[2] = {NULL, NULL};

    (void)cuDevicePrimaryCtxRetain(&contexts[0], to_device);
    (void)cuDevicePrimaryCtxRetain(&contexts[1], from_device);
    IN_CONTEXT(
        cuMemcpyPeerAsync(address_of(to), contexts[0], address_of(from), contexts[1], nbytes, cuda_stream(stream)));
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    IN_CONTEXT(cuStreamSynchronize(cuda_stream(stream)));
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
{
    IN_CONTEXT(cuStreamWaitEvent(cuda_stream(stream), (CUevent)(void *)event, flags));
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *out)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult entered = enter();

    if (entered != CUDA_SUCCESS)
        return (hipError_t)entered;
    hipError_t result = leave(cuStreamIsCapturing(cuda_stream(stream), &status));
    *out = (hipStreamCaptureStatus)status;
    return result;
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned int flags)
{
    IN_CONTEXT(cuEventCreate((CUevent *)(void *)event, flags));
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    IN_CONTEXT(cuEventRecord((CUevent)(void *)event, cuda_stream(stream)));
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return (hipError_t)cuEventQuery((CUevent)(void *)event);
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    return (hipError_t)cuEventSynchronize((CUevent)(void *)event);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    IN_CONTEXT(cuEventDestroy_v2((CUevent)(void *)event));
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    CUstreamCaptureMode exchanged = (CUstreamCaptureMode)*mode;
    CUresult result = cuThreadExchangeStreamCaptureMode(&exchanged);

    *mode = (hipStreamCaptureMode)exchanged;
    return (hipError_t)result;
}

const char *hipGetErrorName(hipError_t error)
{
    return error == CUDA_ERROR_UNKNOWN ? NULL : "hipErrorOfTheFake";
}
