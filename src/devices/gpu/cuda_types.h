/*
 * The types and numbers of the CUDA driver that are needed, as its header has them: cuda.h is not there where a program is
 * built, and not ours to copy. A test compares all of it with the real one.
 */
#ifndef DLPARK_CUDA_TYPES_H
#define DLPARK_CUDA_TYPES_H

#include <stddef.h>

typedef int CUresult; /* an enum there, as are the next four; of the same size */
typedef int CUdevice_attribute;
typedef int CUpointer_attribute;
typedef int CUstreamCaptureMode;
typedef int CUstreamCaptureStatus;
typedef int CUmemorytype;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUarray_st *CUarray;
#if defined(__LP64__)
typedef unsigned long long CUdeviceptr;
#else
typedef unsigned int CUdeviceptr;
#endif

typedef struct CUDA_MEMCPY2D {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

/* Their values, each under CUDA's name with another beginning. */
enum {
    CUDA_NUMBER_MEMORYTYPE_HOST = 1,
    CUDA_NUMBER_MEMORYTYPE_DEVICE = 2,
    CUDA_NUMBER_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CUDA_NUMBER_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CUDA_NUMBER_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CUDA_NUMBER_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    CUDA_NUMBER_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    CUDA_NUMBER_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
    CUDA_NUMBER_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
    CUDA_NUMBER_MEMHOSTALLOC_PORTABLE = 1,
    CUDA_NUMBER_MEM_ATTACH_GLOBAL = 1,
    CUDA_NUMBER_EVENT_DISABLE_TIMING = 2,
    CUDA_NUMBER_ERROR_NOT_SUPPORTED = 801
};

#endif
