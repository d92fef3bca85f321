/*
 * The functions of the CUDA driver that are looked up, in CUDA's own words: the including file has declared its types.
 * A test holds each to the real cuda.h where that is at hand.
 *
 * X(field, symbol, is optional, parameters). The symbol says the version: the plain names are those of the first one, in
 * which an address had 32 bits.
 */
#ifndef DLPARK_CUDA_FUNCTIONS_H
#define DLPARK_CUDA_FUNCTIONS_H

/* clang-format off */
#define DLPARK__CUDA_FUNCTIONS(X)                                                                                      \
    X(init, cuInit, false, (unsigned int))                                                                             \
    X(driver_version, cuDriverGetVersion, false, (int *))                                                              \
    X(device_get, cuDeviceGet, false, (CUdevice *, int))                                                               \
    X(device_count, cuDeviceGetCount, false, (int *))                                                                  \
    X(device_attribute, cuDeviceGetAttribute, false, (int *, CUdevice_attribute, CUdevice))                            \
    X(device_name, cuDeviceGetName, false, (char *, int, CUdevice))                                                    \
    X(primary_retain, cuDevicePrimaryCtxRetain, false, (CUcontext *, CUdevice))                                        \
    X(push, cuCtxPushCurrent_v2, false, (CUcontext))                                                                   \
    X(pop, cuCtxPopCurrent_v2, false, (CUcontext *))                                                                   \
    X(synchronise, cuCtxSynchronize, false, (void))                                                                    \
    X(mem_alloc, cuMemAlloc_v2, false, (CUdeviceptr *, size_t))                                                        \
    X(mem_free, cuMemFree_v2, false, (CUdeviceptr))                                                                    \
    X(mem_alloc_async, cuMemAllocAsync, true, (CUdeviceptr *, size_t, CUstream))                                       \
    X(mem_free_async, cuMemFreeAsync, true, (CUdeviceptr, CUstream))                                                   \
    X(mem_alloc_host, cuMemHostAlloc, false, (void **, size_t, unsigned int))                                          \
    X(mem_free_host, cuMemFreeHost, false, (void *))                                                                   \
    X(mem_alloc_managed, cuMemAllocManaged, false, (CUdeviceptr *, size_t, unsigned int))                              \
    X(pointer_attribute, cuPointerGetAttribute, false, (void *, CUpointer_attribute, CUdeviceptr))                     \
    X(pointer_attributes, cuPointerGetAttributes, true,                                                                \
      (unsigned int, CUpointer_attribute *, void **, CUdeviceptr))                                                     \
    X(copy_to_device, cuMemcpyHtoDAsync_v2, false, (CUdeviceptr, const void *, size_t, CUstream))                      \
    X(copy_to_host, cuMemcpyDtoHAsync_v2, false, (void *, CUdeviceptr, size_t, CUstream))                              \
    X(copy_on_device, cuMemcpyDtoDAsync_v2, false, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                       \
    X(copy_rows, cuMemcpy2DAsync_v2, false, (const CUDA_MEMCPY2D *, CUstream))                                         \
    X(copy_peer, cuMemcpyPeerAsync, false, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))         \
    X(stream_synchronise, cuStreamSynchronize, false, (CUstream))                                                      \
    X(stream_wait, cuStreamWaitEvent, false, (CUstream, CUevent, unsigned int))                                        \
    X(stream_capturing, cuStreamIsCapturing, true, (CUstream, CUstreamCaptureStatus *))                                \
    X(event_create, cuEventCreate, false, (CUevent *, unsigned int))                                                   \
    X(event_record, cuEventRecord, false, (CUevent, CUstream))                                                         \
    X(event_query, cuEventQuery, false, (CUevent))                                                                     \
    X(event_synchronise, cuEventSynchronize, false, (CUevent))                                                         \
    X(event_destroy, cuEventDestroy_v2, false, (CUevent))                                                              \
    X(capture_mode, cuThreadExchangeStreamCaptureMode, true, (CUstreamCaptureMode *))                                  \
    X(error_name, cuGetErrorName, false, (CUresult, const char **))
/* clang-format on */

#endif
