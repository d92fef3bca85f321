/**
 * What CUDA and ROCm have in common: how memory is released, and what a driver says of a pointer.
 *
 *     (dlpark_gpu_options){.stream = stream, .release = DLPARK_GPU_RELEASE_ON_STREAM}
 *
 * The functions are in cuda.h and hip.h. DLPack's deleter has no stream, so the owner of the memory has to know when the
 * last user is done. By default it waits, which is right whatever a consumer does; the quicker ways are asked for by name.
 */
#ifndef DLPARK_GPU_H
#define DLPARK_GPU_H

#include <stdint.h>

#include "dlpack.h"
#include "stream.h"

DLPARK_BEGIN_C

/** What happens when the last owner of device memory ends. Four bytes in every build. */
typedef enum dlpark_gpu_release {
    /** The releasing thread waits: for what was noted by note_use(), and where nothing was, for all work of the device's
     *  context; then the memory is freed. Right for every consumer that has no work to submit any more. */
    DLPARK_GPU_RELEASE_WAIT = 0,
    /** Nobody waits: `stream` is made to wait for what was noted, and the memory is freed in its order. Right only if all
     *  other use is ordered before that stream. It must outlive the tensor, and cannot be the per-thread one, which is
     *  another on each thread. Managed and page-locked memory is freed in no order: there the thread waits for `stream`. */
    DLPARK_GPU_RELEASE_ON_STREAM,
    /** Nothing is waited for: the description's `release` is called as it is, by a pool which has an order of its own.
     *  Only of import. */
    DLPARK_GPU_RELEASE_CALLBACK,
    DLPARK_GPU_RELEASE_PIN_32 = 0x7fffffff
} dlpark_gpu_release;

/**
 * What alloc and import may be told beside the description. Zero the rest: a field that is not named has its plain
 * meaning. Grows only at its end.
 */
typedef struct dlpark_gpu_options {
    /** Of DLPARK_GPU_RELEASE_ON_STREAM. Said for alloc of a device's memory, this comes from the device's pool in the
     *  stream's order, and work of other streams has to be ordered after it; unsaid, it is plain memory, ready for all. */
    dlpark_stream stream;
    dlpark_gpu_release release;
    uint32_t reserved; /**< 0 */
} dlpark_gpu_options;

/** What the driver says of an address. */
typedef struct dlpark_gpu_pointer {
    DLDevice device;  /**< as a tensor there says it: the id of managed and page-locked memory is 0, as DLPack wants it;
                               cpu:0 where the driver does not know the address */
    int32_t ordinal;  /**< the device whose context the memory belongs to, also where `device` says 0; -1: none */
    uint32_t is_pool; /**< 1: known to come from a stream-ordered pool */
    void *base;       /**< where the allocation begins; NULL: not known */
    uint64_t nbytes;  /**< of the allocation; 0: not known */
    uint64_t reserved[4]; /**< 0 */
} dlpark_gpu_pointer;

DLPARK_END_C

#endif
