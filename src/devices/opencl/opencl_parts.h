/*
 * What the sources of OpenCL share among themselves. Grouped by the file that defines it.
 *
 * No header of OpenCL is included: its types, its numbers and the functions that are called are declared here, and
 * tests/unit/opencl_abi_test.c holds them to the real ones.
 */
#ifndef DLPARK_OPENCL_PARTS_H
#define DLPARK_OPENCL_PARTS_H

#include <dlpark/opencl.h>

#include "../../core/internal.h"

struct _cl_device_id;
struct _cl_event;
struct _cl_platform_id;

/* cl_buffer_region. */
typedef struct opencl_region {
    size_t origin;
    size_t size;
} opencl_region;

typedef void opencl_callback(struct _cl_mem *mem, void *context);

enum {
    OPENCL_DEVICE_NOT_FOUND = -1,
    OPENCL_MEM_ALLOCATION_FAILURE = -4,
    OPENCL_OUT_OF_RESOURCES = -5,
    OPENCL_OUT_OF_HOST_MEMORY = -6,
    OPENCL_PLATFORM_NOT_FOUND = -1001 /* of the loader, CL/cl_ext.h */
};

enum {
    OPENCL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019, /* in bits */
    OPENCL_DEVICE_NAME = 0x102B,
    OPENCL_CONTEXT_DEVICES = 0x1081,
    OPENCL_QUEUE_CONTEXT = 0x1090,
    OPENCL_MEM_TYPE = 0x1100,
    OPENCL_MEM_FLAGS = 0x1101,
    OPENCL_MEM_SIZE = 0x1102,
    OPENCL_MEM_CONTEXT = 0x1106,
    OPENCL_MEM_ASSOCIATED_MEMOBJECT = 0x1107,
    OPENCL_MEM_OFFSET = 0x1108,
    OPENCL_MEM_OBJECT_BUFFER = 0x10F0,
    OPENCL_BUFFER_CREATE_TYPE_REGION = 0x1220
};

#define OPENCL_DEVICE_TYPE_ALL  UINT64_C(0xFFFFFFFF)
#define OPENCL_MEM_READ_WRITE   UINT64_C(0x1)
#define OPENCL_MEM_WRITE_ONLY   UINT64_C(0x2)
#define OPENCL_MEM_READ_ONLY    UINT64_C(0x4)
#define OPENCL_MEM_USE_HOST_PTR UINT64_C(0x8)

/* X(result, name, parameters): the functions that are looked up, all of OpenCL 1.2. */
#define OPENCL_FUNCTIONS(X)                                                                                            \
    X(int32_t, GetPlatformIDs, (uint32_t, struct _cl_platform_id **, uint32_t *))                                      \
    X(int32_t, GetDeviceIDs, (struct _cl_platform_id *, uint64_t, uint32_t, struct _cl_device_id **, uint32_t *))      \
    X(int32_t, GetDeviceInfo, (struct _cl_device_id *, uint32_t, size_t, void *, size_t *))                            \
    X(int32_t, GetContextInfo, (struct _cl_context *, uint32_t, size_t, void *, size_t *))                             \
    X(struct _cl_mem *, CreateBuffer, (struct _cl_context *, uint64_t, size_t, void *, int32_t *))                     \
    X(struct _cl_mem *, CreateSubBuffer, (struct _cl_mem *, uint64_t, uint32_t, const void *, int32_t *))              \
    X(int32_t, RetainMemObject, (struct _cl_mem *))                                                                    \
    X(int32_t, ReleaseMemObject, (struct _cl_mem *))                                                                   \
    X(int32_t, GetMemObjectInfo, (struct _cl_mem *, uint32_t, size_t, void *, size_t *))                               \
    X(int32_t, SetMemObjectDestructorCallback, (struct _cl_mem *, opencl_callback *, void *))                          \
    X(int32_t, RetainCommandQueue, (struct _cl_command_queue *))                                                       \
    X(int32_t, ReleaseCommandQueue, (struct _cl_command_queue *))                                                      \
    X(int32_t, GetCommandQueueInfo, (struct _cl_command_queue *, uint32_t, size_t, void *, size_t *))                  \
    X(void *, EnqueueMapBuffer,                                                                                        \
      (struct _cl_command_queue *, struct _cl_mem *, uint32_t, uint64_t, size_t, size_t, uint32_t,                     \
       struct _cl_event *const *, struct _cl_event **, int32_t *))                                                     \
    X(int32_t, EnqueueUnmapMemObject,                                                                                  \
      (struct _cl_command_queue *, struct _cl_mem *, void *, uint32_t, struct _cl_event *const *,                      \
       struct _cl_event **))                                                                                           \
    X(int32_t, EnqueueMarkerWithWaitList,                                                                              \
      (struct _cl_command_queue *, uint32_t, struct _cl_event *const *, struct _cl_event **))                          \
    X(int32_t, EnqueueBarrierWithWaitList,                                                                             \
      (struct _cl_command_queue *, uint32_t, struct _cl_event *const *, struct _cl_event **))                          \
    X(int32_t, ReleaseEvent, (struct _cl_event *))                                                                     \
    X(int32_t, Flush, (struct _cl_command_queue *))                                                                    \
    X(int32_t, Finish, (struct _cl_command_queue *))

#define OPENCL_DECLARE_TYPE(result, name, parameters) typedef result opencl_##name##_fn parameters;
OPENCL_FUNCTIONS(OPENCL_DECLARE_TYPE)
#undef OPENCL_DECLARE_TYPE

/* As many devices are counted, and a context may have. */
#define OPENCL_MAX_DEVICES 64

/* A loader. Made once for each library, and never unmade: tensors point to it. */
typedef struct dlpark__opencl {
    struct dlpark__opencl *next;
    void *library;
#define OPENCL_DECLARE_MEMBER(result, name, parameters) opencl_##name##_fn *name;
    OPENCL_FUNCTIONS(OPENCL_DECLARE_MEMBER)
#undef OPENCL_DECLARE_MEMBER
    uint32_t platform_count;
    uint32_t device_count;
    struct _cl_device_id *devices[OPENCL_MAX_DEVICES];
    char path[]; /* as it was asked for first */
} dlpark__opencl;

/* ---- opencl.c ---- */

dlpark_status dlpark__opencl_check(const dlpark_opencl *opencl, dlpark_error *err);

/* ---- opencl_error.c ---- */

/* "clCreateBuffer: CL_INVALID_BUFFER_SIZE (-61)"; E_MEMORY for want of memory, else E_FOREIGN. */
DLPARK_COLD dlpark_status dlpark__opencl_fail(const char *function, int32_t code, dlpark_error *err);

/* Calls a function of OpenCL by its name, and returns from the calling function where it fails. */
#define OPENCL_TRY(loader, err, function, ...)                                                                         \
    do {                                                                                                               \
        int32_t opencl_code = (loader)->function(__VA_ARGS__);                                                         \
        if (opencl_code != 0)                                                                                          \
            return dlpark__opencl_fail("cl" #function, opencl_code, (err));                                            \
    } while (0)

/* ---- opencl_buffer.c ---- */

/* What OpenCL says of a buffer. */
typedef struct opencl_buffer {
    uint64_t flags;
    size_t nbytes;
    struct _cl_context *context;
} opencl_buffer;

/* Asks, and refuses what is no buffer. */
dlpark_status dlpark__opencl_buffer_read(const dlpark__opencl *loader, struct _cl_mem *mem, opencl_buffer *out,
                                         dlpark_error *err);

/* Where the bytes of a view with elements lie in its buffer; refuses a view that leaves it. */
dlpark_status dlpark__opencl_buffer_place(const opencl_buffer *buffer, const dlpark_view *view, opencl_region *out,
                                          dlpark_error *err);

/* The buffer of a tensor that nobody else has and this file has made, which is not the tensor's any more; NULL of others. */
struct _cl_mem *dlpark__opencl_buffer_take(const dlpark_tensor *tensor);

/* The devices of a context; `out` has room for OPENCL_MAX_DEVICES. */
dlpark_status dlpark__opencl_context_devices(const dlpark__opencl *loader, struct _cl_context *context,
                                             struct _cl_device_id **out, size_t *count, dlpark_error *err);

#endif
