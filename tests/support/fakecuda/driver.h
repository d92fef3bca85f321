/*
 * The CUDA driver's calls as dlsym() knows them, their types and values: our own declarations, so that no cuda.h is needed.
 * They are lists: cuda_header_test.c expands the same lists beside the real cuda.h and compares.
 */
#ifndef FAKECUDA_DRIVER_H
#define FAKECUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "driver_lists.h"

typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUarray_st *CUarray;
#if UINTPTR_MAX > 0xffffffffu
typedef unsigned long long CUdeviceptr;
#else
typedef unsigned int CUdeviceptr;
#endif

#define DRIVER_ENUMERATOR(name, value)   name = (value),
#define DRIVER_RESULT(name, value, text) name = (value),
typedef enum cudaError_enum { DRIVER_RESULTS(DRIVER_RESULT) } CUresult;
typedef enum CUdevice_attribute_enum { DRIVER_DEVICE_ATTRIBUTES(DRIVER_ENUMERATOR) } CUdevice_attribute;
typedef enum CUpointer_attribute_enum { DRIVER_POINTER_ATTRIBUTES(DRIVER_ENUMERATOR) } CUpointer_attribute;
typedef enum CUmemorytype_enum { DRIVER_MEMORY_TYPES(DRIVER_ENUMERATOR) } CUmemorytype;
typedef enum CUstreamCaptureStatus_enum { DRIVER_CAPTURE_STATUSES(DRIVER_ENUMERATOR) } CUstreamCaptureStatus;
typedef enum CUstreamCaptureMode_enum { DRIVER_CAPTURE_MODES(DRIVER_ENUMERATOR) } CUstreamCaptureMode;
enum driver_flags { DRIVER_FLAGS(DRIVER_ENUMERATOR) };
#undef DRIVER_ENUMERATOR
#undef DRIVER_RESULT

#define DRIVER_FIELD(type, name) type name;
typedef struct CUDA_MEMCPY2D_st {
    DRIVER_MEMCPY2D(DRIVER_FIELD)
} CUDA_MEMCPY2D;
#undef DRIVER_FIELD

#define CU_STREAM_LEGACY     ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

/* Visible to dlsym() and the linker, as nothing else of the library is. */
#define DRIVER_API __attribute__((visibility("default")))

#define DRIVER_PROTOTYPE(name, parameters) DRIVER_API CUresult name parameters;
DRIVER_CALLS(DRIVER_PROTOTYPE)
#undef DRIVER_PROTOTYPE

#endif
