/*
 * The functions of HIP's runtime that are looked up, in HIP's own words: the including file has declared its types. A test
 * holds each to the real header where that is at hand.
 *
 * X(field, symbol, is optional, returns, parameters)
 */
#ifndef DLPARK_HIP_FUNCTIONS_H
#define DLPARK_HIP_FUNCTIONS_H

/* clang-format off */
#define DLPARK__HIP_FUNCTIONS(X)                                                                                       \
    X(driver_version, hipDriverGetVersion, false, hipError_t, (int *))                                                 \
    X(device_count, hipGetDeviceCount, false, hipError_t, (int *))                                                     \
    X(device_attribute, hipDeviceGetAttribute, false, hipError_t, (int *, hipDeviceAttribute_t, int))                  \
    X(device_name, hipDeviceGetName, false, hipError_t, (char *, int, hipDevice_t))                                    \
    X(get_device, hipGetDevice, false, hipError_t, (int *))                                                            \
    X(set_device, hipSetDevice, false, hipError_t, (int))                                                              \
    X(synchronise, hipDeviceSynchronize, false, hipError_t, (void))                                                    \
    X(mem_alloc, hipMalloc, false, hipError_t, (void **, size_t))                                                      \
    X(mem_free, hipFree, false, hipError_t, (void *))                                                                  \
    X(mem_alloc_async, hipMallocAsync, true, hipError_t, (void **, size_t, hipStream_t))                               \
    X(mem_free_async, hipFreeAsync, true, hipError_t, (void *, hipStream_t))                                           \
    X(mem_alloc_host, hipHostMalloc, false, hipError_t, (void **, size_t, unsigned int))                               \
    X(mem_free_host, hipHostFree, false, hipError_t, (void *))                                                         \
    X(pointer_attributes, hipPointerGetAttributes, false, hipError_t, (hipPointerAttribute_t *, const void *))         \
    X(address_range, hipMemGetAddressRange, false, hipError_t, (hipDeviceptr_t *, size_t *, hipDeviceptr_t))           \
    X(copy, hipMemcpyAsync, false, hipError_t, (void *, const void *, size_t, hipMemcpyKind, hipStream_t))             \
    X(copy_rows, hipMemcpy2DAsync, false, hipError_t,                                                                  \
      (void *, size_t, const void *, size_t, size_t, size_t, hipMemcpyKind, hipStream_t))                              \
    X(copy_peer, hipMemcpyPeerAsync, false, hipError_t, (void *, int, const void *, int, size_t, hipStream_t))         \
    X(stream_synchronise, hipStreamSynchronize, false, hipError_t, (hipStream_t))                                      \
    X(stream_wait, hipStreamWaitEvent, false, hipError_t, (hipStream_t, hipEvent_t, unsigned int))                     \
    X(stream_capturing, hipStreamIsCapturing, true, hipError_t, (hipStream_t, hipStreamCaptureStatus *))               \
    X(event_create, hipEventCreateWithFlags, false, hipError_t, (hipEvent_t *, unsigned int))                          \
    X(event_record, hipEventRecord, false, hipError_t, (hipEvent_t, hipStream_t))                                      \
    X(event_query, hipEventQuery, false, hipError_t, (hipEvent_t))                                                     \
    X(event_synchronise, hipEventSynchronize, false, hipError_t, (hipEvent_t))                                         \
    X(event_destroy, hipEventDestroy, false, hipError_t, (hipEvent_t))                                                 \
    X(capture_mode, hipThreadExchangeStreamCaptureMode, true, hipError_t, (hipStreamCaptureMode *))                    \
    X(error_name, hipGetErrorName, false, const char *, (hipError_t))
/* clang-format on */

#endif
