/*
 * What the sources of CUDA and ROCm share, and what copies between devices need of them. One code for both: a platform is
 * a table of functions over the driver's own. Grouped by the file that defines it.
 */
#ifndef DLPARK_GPU_PARTS_H
#define DLPARK_GPU_PARTS_H

#include <pthread.h>

#include <dlpark/gpu.h>

#include "../../core/internal.h"

struct dlpark__gpu_block;

/* What a function of a driver returned, and its name for messages. CUDA's numbers, which HIP has as well. */
typedef struct dlpark__gpu_result {
    int code;
    const char *function;
} dlpark__gpu_result;

enum {
    DLPARK__GPU_SUCCESS = 0,
    DLPARK__GPU_INVALID_VALUE = 1,
    DLPARK__GPU_OUT_OF_MEMORY = 2,
    DLPARK__GPU_NOT_INITIALIZED = 3,
    DLPARK__GPU_DEINITIALIZED = 4,
    DLPARK__GPU_STUB_LIBRARY = 34,
    DLPARK__GPU_NO_DEVICE = 100,
    DLPARK__GPU_INVALID_CONTEXT = 201,
    DLPARK__GPU_NOT_READY = 600,
    DLPARK__GPU_CAPTURE_FIRST = 900, /* of the errors that mean that a graph is being captured */
    DLPARK__GPU_CAPTURE_LAST = 908
};

typedef struct dlpark__gpu dlpark__gpu;

/* The three kinds of memory, and how each is freed. */
typedef enum dlpark__gpu_kind { DLPARK__GPU_DEVICE, DLPARK__GPU_MANAGED, DLPARK__GPU_HOST } dlpark__gpu_kind;

/* What was current before, for leave(). */
typedef struct dlpark__gpu_scope {
    int previous;
    bool is_changed;
} dlpark__gpu_scope;

/* A function that dlsym() finds. */
typedef struct dlpark__gpu_symbol {
    const char *name;
    bool is_optional;
} dlpark__gpu_symbol;

/* Which way bytes are copied. */
typedef enum dlpark__gpu_way { DLPARK__GPU_TO_DEVICE, DLPARK__GPU_TO_HOST, DLPARK__GPU_ON_DEVICE } dlpark__gpu_way;

/* Rows of bytes, `pitch` from one to the next; each side on the host or the device, as the way says. */
typedef struct dlpark__gpu_rows {
    void *to;
    const void *from;
    size_t to_pitch;
    size_t from_pitch;
    size_t nbytes; /* of a row */
    size_t count;
} dlpark__gpu_rows;

/* A driver's functions as this code calls them. Streams are the driver's own handles. What is called between enter() and
 * leave() says so with (in). */
typedef struct dlpark__gpu_platform {
    const char *name;             /* "CUDA" */
    const char *environment;      /* of the variable that names the library */
    const char *const *libraries; /* where that is not set; ends with NULL */
    const dlpark__gpu_symbol *symbols;
    size_t symbol_count;
    int32_t version_least;
    DLDeviceType device_type;
    DLDeviceType host_type;
    bool has_managed;    /* kDLCUDAManaged; DLPack has no such type for ROCm */
    bool has_per_thread; /* the standard numbers a per-thread default stream */

    dlpark__gpu_result (*init)(const dlpark__gpu *gpu, int32_t *version, int32_t *device_count);
    const char *(*error_name)(const dlpark__gpu *gpu, int code); /* NULL: unknown */
    dlpark__gpu_result (*retain)(const dlpark__gpu *gpu, int32_t ordinal, void **context, bool *has_pools);
    dlpark__gpu_result (*device_name)(const dlpark__gpu *gpu, int32_t ordinal, char *text, int nbytes);
    dlpark__gpu_result (*enter)(const dlpark__gpu *gpu, int32_t ordinal, void *context, dlpark__gpu_scope *scope);
    dlpark__gpu_result (*leave)(const dlpark__gpu *gpu, const dlpark__gpu_scope *scope);
    /* Makes this thread's calls harmless to captures of others. Gives the mode before; SUCCESS where there is none. */
    dlpark__gpu_result (*exchange_capture_mode)(const dlpark__gpu *gpu, int *mode);

    dlpark__gpu_result (*alloc)(const dlpark__gpu *gpu, dlpark__gpu_kind kind, size_t nbytes, void **out); /* (in) */
    dlpark__gpu_result (*alloc_async)(const dlpark__gpu *gpu, size_t nbytes, void *stream, void **out);    /* (in) */
    dlpark__gpu_result (*free)(const dlpark__gpu *gpu, dlpark__gpu_kind kind, void *memory);               /* (in) */
    dlpark__gpu_result (*free_async)(const dlpark__gpu *gpu, void *memory, void *stream);                  /* (in) */
    dlpark__gpu_result (*synchronise)(const dlpark__gpu *gpu);                                             /* (in) */
    dlpark__gpu_result (*stream_synchronise)(const dlpark__gpu *gpu, void *stream);                        /* (in) */
    dlpark__gpu_result (*stream_wait)(const dlpark__gpu *gpu, void *stream, void *event);                  /* (in) */
    dlpark__gpu_result (*stream_is_capturing)(const dlpark__gpu *gpu, void *stream, bool *out);            /* (in) */
    dlpark__gpu_result (*event_create)(const dlpark__gpu *gpu, void **event);                              /* (in) */
    dlpark__gpu_result (*event_record)(const dlpark__gpu *gpu, void *event, void *stream);                 /* (in) */
    dlpark__gpu_result (*event_query)(const dlpark__gpu *gpu, void *event);                                /* (in) */
    dlpark__gpu_result (*event_synchronise)(const dlpark__gpu *gpu, void *event);                          /* (in) */
    dlpark__gpu_result (*event_destroy)(const dlpark__gpu *gpu, void *event);                              /* (in) */
    /* SUCCESS and an `ordinal` of -1 where the driver does not know the address; INVALID_CONTEXT where it wants one. */
    dlpark__gpu_result (*pointer)(const dlpark__gpu *gpu, const void *address, dlpark_gpu_pointer *out);

    dlpark__gpu_result (*copy)(const dlpark__gpu *gpu, dlpark__gpu_way way, void *to, const void *from, size_t nbytes,
                               void *stream); /* (in) */
    dlpark__gpu_result (*copy_rows)(const dlpark__gpu *gpu, dlpark__gpu_way way, const dlpark__gpu_rows *rows,
                                    void *stream); /* (in) */
    dlpark__gpu_result (*copy_peer)(const dlpark__gpu *gpu, void *to, int32_t to_ordinal, const void *from,
                                    int32_t from_ordinal, size_t nbytes, void *stream); /* (in) */
} dlpark__gpu_platform;

/* What is known of a device once it has been used. */
typedef struct dlpark__gpu_device {
    void *context;
    bool is_retained; /* atomic: the rest is read without the lock */
    bool has_pools;
} dlpark__gpu_device;

/* A loaded driver. Made once for a library, never freed: deleters may need it at any time. */
struct dlpark__gpu {
    const dlpark__gpu_platform *platform;
    void **functions; /* in the platform's order, which has a struct of function pointers over them */
    void *library;
    dlpark__gpu *next;
    char *path;
    int32_t version;
    int32_t device_count;
    dlpark__gpu_device *devices;
    pthread_mutex_t lock;
    struct dlpark__gpu_waiting *waiting; /* the deferred queue */
    size_t waiting_count;                /* atomic */
};

/* ---- cuda_driver.c, hip_driver.c ---- */

extern const dlpark__gpu_platform dlpark__cuda_platform;
extern const dlpark__gpu_platform dlpark__hip_platform;

/* ---- gpu.c ---- */

/* Whether this process is a child of one that has opened a driver: nothing of it works here. */
bool dlpark__gpu_is_forked(void);

/* Loads a driver, or finds it in the list. */
dlpark_status dlpark__gpu_open(const dlpark__gpu_platform *platform, const char *path, dlpark__gpu **out,
                               dlpark_error *err);

/* Whether a driver is there, and works in this process. */
dlpark_status dlpark__gpu_check(const dlpark__gpu *gpu, const char *open, dlpark_error *err);

/* "cuMemAlloc_v2: CUDA_ERROR_INVALID_CONTEXT (201)", or E_MEMORY. */
DLPARK_COLD dlpark_status dlpark__gpu_fail(const dlpark__gpu *gpu, dlpark__gpu_result result, dlpark_error *err);

/* The same of a result that may be a success. */
static inline dlpark_status dlpark__gpu_report(const dlpark__gpu *gpu, dlpark__gpu_result result, dlpark_error *err)
{
    return DLPARK_LIKELY(result.code == DLPARK__GPU_SUCCESS) ? DLPARK_OK : dlpark__gpu_fail(gpu, result, err);
}

/* Whether there is a device of this number. */
dlpark_status dlpark__gpu_check_ordinal(const dlpark__gpu *gpu, int32_t ordinal, dlpark_error *err);

/* Whether the device is of this platform, and the kind of memory; {0, 0} is device 0. */
dlpark_status dlpark__gpu_read_device(const dlpark__gpu *gpu, DLDevice device, dlpark__gpu_kind *kind, int32_t *ordinal,
                                      dlpark_error *err);

/* The driver's name of a device, cut to fit. */
dlpark_status dlpark__gpu_device_name(const dlpark__gpu *gpu, int32_t ordinal, dlpark_name *name, dlpark_error *err);

/* Makes the context of a device current, which is retained the first time. Ended by the platform's leave(). */
dlpark__gpu_result dlpark__gpu_enter(dlpark__gpu *gpu, int32_t ordinal, dlpark__gpu_scope *scope);

/* The driver's handle of a stream; the null one is the default stream. */
dlpark_status dlpark__gpu_read_stream(const dlpark__gpu *gpu, dlpark_stream stream, void **out, dlpark_error *err);

/* Whether a result means that a graph is being captured; that the driver has ended, and with it all that it had. */
static inline bool dlpark__gpu_is_capture(dlpark__gpu_result result)
{
    return result.code >= DLPARK__GPU_CAPTURE_FIRST && result.code <= DLPARK__GPU_CAPTURE_LAST;
}
static inline bool dlpark__gpu_is_over(dlpark__gpu_result result)
{
    return result.code == DLPARK__GPU_DEINITIALIZED || result.code == DLPARK__GPU_NOT_INITIALIZED;
}

/* ---- gpu_pointer.c ---- */

/* What the driver says of an address. */
dlpark_status dlpark__gpu_pointer(dlpark__gpu *gpu, const void *address, dlpark_gpu_pointer *out, dlpark_error *err);

/* The device whose streams a tensor's work is on: of managed and page-locked memory the driver is asked. */
dlpark_status dlpark__gpu_find_ordinal(dlpark__gpu *gpu, const dlpark_tensor *tensor, int32_t *ordinal,
                                       dlpark_error *err);

/* ---- gpu_tensor.c ---- */

dlpark_status dlpark__gpu_alloc(dlpark__gpu *gpu, dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                size_t desc_nbytes, const dlpark_gpu_options *options, size_t options_nbytes,
                                dlpark_view *view, dlpark_error *err);
dlpark_status dlpark__gpu_import(dlpark__gpu *gpu, dlpark_tensor *tensor, const dlpark_tensor_desc *desc,
                                 size_t desc_nbytes, const dlpark_gpu_options *options, size_t options_nbytes,
                                 dlpark_view *view, dlpark_error *err);

/* ---- gpu_order.c ---- */

dlpark_status dlpark__gpu_order(dlpark__gpu *gpu, DLDevice device, dlpark_stream producer, dlpark_stream consumer,
                                dlpark_error *err);
dlpark_status dlpark__gpu_wait(dlpark__gpu *gpu, DLDevice device, dlpark_stream stream, dlpark_error *err);
dlpark_status dlpark__gpu_export(dlpark__gpu *gpu, DLManagedTensorVersioned **managed, dlpark_tensor *tensor,
                                 dlpark_stream producer, dlpark_stream consumer, dlpark_error *err);

/* An event for what a stream has been given so far; none is left on failure. Inside a context. */
dlpark__gpu_result dlpark__gpu_mark(const dlpark__gpu *gpu, void *stream, void **event);

/* ---- gpu_release.c ---- */

/* What is to be ended later: memory of ours, or somebody's tensor after an event. */
typedef struct dlpark__gpu_waiting {
    struct dlpark__gpu_waiting *next;
    struct dlpark__gpu_block *block; /* or NULL */
    DLManagedTensorVersioned *managed;
    void *event;
    int32_t ordinal;
    bool was_tried; /* freeing it has failed once */
} dlpark__gpu_waiting;

/* A stream's use of memory: an event after it. */
typedef struct dlpark__gpu_note {
    struct dlpark__gpu_note *next;
    void *event;
} dlpark__gpu_note;

/* Owns memory of a device: one block with the header of its tensor. */
typedef struct dlpark__gpu_block {
    dlpark__gpu *gpu;
    void *memory;                 /* what the driver frees; NULL: nothing */
    void (*release)(void *owner); /* instead, for memory that was imported */
    void *owner;
    int32_t ordinal;
    dlpark__gpu_kind kind;
    dlpark_gpu_release policy;
    bool is_armed;           /* it may release: the tensor was made */
    void *stream;            /* of ON_STREAM, the driver's handle */
    dlpark__gpu_note *notes; /* atomic */
    dlpark__gpu_waiting waiting;
    _Alignas(max_align_t) unsigned char header[];
} dlpark__gpu_block;

/* The release function of such blocks' tensors. */
void dlpark__gpu_block_end(void *block);

/* Releases the memory and ends the block; false where that cannot be done now, and is to be tried again. */
bool dlpark__gpu_block_try(dlpark__gpu_block *block);

dlpark_status dlpark__gpu_note_use(dlpark__gpu *gpu, const dlpark_tensor *tensor, dlpark_stream stream,
                                   dlpark_error *err);

/* ---- gpu_deferred.c ---- */

/* Puts something on the queue. */
void dlpark__gpu_defer(dlpark__gpu *gpu, dlpark__gpu_waiting *waiting);

dlpark_status dlpark__gpu_release_after(dlpark__gpu *gpu, dlpark_tensor *tensor, dlpark_stream stream,
                                        dlpark_error *err);

/* Ends what can be; with `own` only memory of ours, whose end calls no code of others. */
size_t dlpark__gpu_poll(dlpark__gpu *gpu, bool wait, bool own);

#endif
