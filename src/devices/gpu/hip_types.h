/*
 * The types and numbers of HIP's runtime that are needed, as its header has them: that is not there where a program is
 * built. A test compares all of it with the real one.
 */
#ifndef DLPARK_HIP_TYPES_H
#define DLPARK_HIP_TYPES_H

#include <stddef.h>

typedef int hipError_t; /* an enum there, as are the next four; of the same size */
typedef int hipDeviceAttribute_t;
typedef int hipMemcpyKind;
typedef int hipStreamCaptureMode;
typedef int hipStreamCaptureStatus;
typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;

typedef struct hipPointerAttribute_t {
    int memoryType; /* of another numbering from ROCm 6 on, where it is called `type` */
    int device;
    void *devicePointer;
    void *hostPointer;
    int isManaged;
    unsigned allocationFlags;
} hipPointerAttribute_t;

/* Their values, each under HIP's name with another beginning. */
enum {
    HIP_NUMBER_MemoryTypeHost = 0, /* up to ROCm 5 */
    HIP_NUMBER_6_MemoryTypeUnregistered = 0,
    HIP_NUMBER_6_MemoryTypeHost = 1,
    HIP_NUMBER_MemcpyHostToDevice = 1,
    HIP_NUMBER_MemcpyDeviceToHost = 2,
    HIP_NUMBER_MemcpyDeviceToDevice = 3,
    HIP_NUMBER_DeviceAttributeMemoryPoolsSupported = 88,
    HIP_NUMBER_HostMallocPortable = 1,
    HIP_NUMBER_EventDisableTiming = 2,
    HIP_NUMBER_ErrorNotSupported = 801
};

#endif
