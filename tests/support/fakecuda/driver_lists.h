/*
 * The driver's calls, values and fields as lists that driver.h and cuda_header_test.c expand. Includes nothing and defines
 * no name of the driver's, so that it can stand beside the real cuda.h.
 */
#ifndef FAKECUDA_DRIVER_LISTS_H
#define FAKECUDA_DRIVER_LISTS_H

/* clang-format off */

/* X(name as dlsym() takes it, parameters) */
#define DRIVER_CALLS(X) \
    X(cuInit, (unsigned int flags)) \
    X(cuDriverGetVersion, (int *version)) \
    X(cuGetErrorName, (CUresult result, const char **text)) \
    X(cuGetErrorString, (CUresult result, const char **text)) \
    X(cuDeviceGet, (CUdevice *device, int ordinal)) \
    X(cuDeviceGetCount, (int *count)) \
    X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device)) \
    X(cuDeviceGetName, (char *name, int nbytes, CUdevice device)) \
    X(cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
    X(cuCtxPushCurrent_v2, (CUcontext context)) \
    X(cuCtxPopCurrent_v2, (CUcontext *context)) \
    X(cuCtxGetCurrent, (CUcontext *context)) \
    X(cuCtxGetDevice, (CUdevice *device)) \
    X(cuCtxSynchronize, (void)) \
    X(cuMemAlloc_v2, (CUdeviceptr *pointer, size_t nbytes)) \
    X(cuMemFree_v2, (CUdeviceptr pointer)) \
    X(cuMemAllocAsync, (CUdeviceptr *pointer, size_t nbytes, CUstream stream)) \
    X(cuMemFreeAsync, (CUdeviceptr pointer, CUstream stream)) \
    X(cuMemHostAlloc, (void **pointer, size_t nbytes, unsigned int flags)) \
    X(cuMemFreeHost, (void *pointer)) \
    X(cuMemAllocManaged, (CUdeviceptr *pointer, size_t nbytes, unsigned int flags)) \
    X(cuMemGetAddressRange_v2, (CUdeviceptr *base, size_t *nbytes, CUdeviceptr pointer)) \
    X(cuMemGetInfo_v2, (size_t *free_nbytes, size_t *total_nbytes)) \
    X(cuPointerGetAttribute, (void *value, CUpointer_attribute attribute, CUdeviceptr pointer)) \
    X(cuPointerGetAttributes, (unsigned int count, CUpointer_attribute *attributes, void **values, CUdeviceptr pointer)) \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t nbytes, CUstream stream)) \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t nbytes, CUstream stream)) \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t nbytes, CUstream stream)) \
    X(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t nbytes, CUstream stream)) \
    X(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream)) \
    X(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t nbytes, \
                          CUstream stream)) \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream)) \
    X(cuStreamCreate, (CUstream *stream, unsigned int flags)) \
    X(cuStreamDestroy_v2, (CUstream stream)) \
    X(cuStreamSynchronize, (CUstream stream)) \
    X(cuStreamQuery, (CUstream stream)) \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags)) \
    X(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status)) \
    X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode)) \
    X(cuStreamEndCapture, (CUstream stream, CUgraph *graph)) \
    X(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *mode)) \
    X(cuEventCreate, (CUevent *event, unsigned int flags)) \
    X(cuEventRecord, (CUevent event, CUstream stream)) \
    X(cuEventQuery, (CUevent event)) \
    X(cuEventSynchronize, (CUevent event)) \
    X(cuEventDestroy_v2, (CUevent event))

/* X(name, value, text) */
#define DRIVER_RESULTS(X) \
    X(CUDA_SUCCESS, 0, "no error") \
    X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument") \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory") \
    X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error") \
    X(CUDA_ERROR_DEINITIALIZED, 4, "driver shutting down") \
    X(CUDA_ERROR_STUB_LIBRARY, 34, "the library is a stub") \
    X(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected") \
    X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal") \
    X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context") \
    X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle") \
    X(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found") \
    X(CUDA_ERROR_NOT_READY, 600, "device not ready") \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered") \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "context is destroyed") \
    X(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure") \
    X(CUDA_ERROR_NOT_PERMITTED, 800, "operation not permitted") \
    X(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing") \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "operation failed due to a previous error during capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, "operation would result in a merge of separate capture sequences") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "capture was not ended in the same stream as it began") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "capturing stream has unjoined work") \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "dependency created on uncaptured work in another stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "operation would make the legacy stream depend on a capturing blocking stream") \
    X(CUDA_ERROR_CAPTURED_EVENT, 907, "operation not permitted on an event last recorded in a capturing stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "attempt to terminate a thread-local capture sequence from another thread") \
    X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

#define DRIVER_DEVICE_ATTRIBUTES(X) \
    X(CU_DEVICE_ATTRIBUTE_MAX_PITCH, 11) \
    X(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
    X(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83) \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89) \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115)

#define DRIVER_POINTER_ATTRIBUTES(X) \
    X(CU_POINTER_ATTRIBUTE_CONTEXT, 1) \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2) \
    X(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3) \
    X(CU_POINTER_ATTRIBUTE_HOST_POINTER, 4) \
    X(CU_POINTER_ATTRIBUTE_BUFFER_ID, 7) \
    X(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8) \
    X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9) \
    X(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 10) \
    X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11) \
    X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12) \
    X(CU_POINTER_ATTRIBUTE_MAPPED, 13) \
    X(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 17)

#define DRIVER_MEMORY_TYPES(X) \
    X(CU_MEMORYTYPE_HOST, 1) \
    X(CU_MEMORYTYPE_DEVICE, 2) \
    X(CU_MEMORYTYPE_ARRAY, 3) \
    X(CU_MEMORYTYPE_UNIFIED, 4)

#define DRIVER_CAPTURE_STATUSES(X) \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0) \
    X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1) \
    X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)

#define DRIVER_CAPTURE_MODES(X) \
    X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0) \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1) \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#define DRIVER_FLAGS(X) \
    X(CU_STREAM_DEFAULT, 0) \
    X(CU_STREAM_NON_BLOCKING, 1) \
    X(CU_EVENT_DEFAULT, 0) \
    X(CU_EVENT_BLOCKING_SYNC, 1) \
    X(CU_EVENT_DISABLE_TIMING, 2) \
    X(CU_EVENT_WAIT_DEFAULT, 0) \
    X(CU_MEM_ATTACH_GLOBAL, 1) \
    X(CU_MEM_ATTACH_HOST, 2)

/* X(type, field), in their order */
#define DRIVER_MEMCPY2D(X) \
    X(size_t, srcXInBytes) \
    X(size_t, srcY) \
    X(CUmemorytype, srcMemoryType) \
    X(const void *, srcHost) \
    X(CUdeviceptr, srcDevice) \
    X(CUarray, srcArray) \
    X(size_t, srcPitch) \
    X(size_t, dstXInBytes) \
    X(size_t, dstY) \
    X(CUmemorytype, dstMemoryType) \
    X(void *, dstHost) \
    X(CUdeviceptr, dstDevice) \
    X(CUarray, dstArray) \
    X(size_t, dstPitch) \
    X(size_t, WidthInBytes) \
    X(size_t, Height)

/* clang-format on */

#endif
