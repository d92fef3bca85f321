/**
 * Streams as the array API standard numbers them: read and written for each kind of device. No driver is needed.
 *
 *     dlpark_stream stream;
 *     DLPARK_TRY(dlpark_stream_decode(device, 2, &stream, err));      // on CUDA: the per-thread default stream
 *     cudaStream_t native = dlpark_stream_native(device, stream);     // what the driver calls it
 *
 * `__dlpack__(stream=n)` means another thing on each kind of device:
 *
 *                                  -1        0          1               2               above 2
 *     CUDA, CUDA managed memory    no sync   refused    legacy default  per-thread      a handle
 *     ROCm                         no sync   default    refused         refused         a handle
 *     CPU, page-locked memory      no sync   refused    refused         refused         refused
 *     any other device             no sync   refused    a handle        a handle        a handle
 *
 * On any other device what the handle is must be agreed between the two libraries. Pointers must not be NULL unless a
 * parameter says optional.
 */
#ifndef DLPARK_STREAM_H
#define DLPARK_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "dlpack.h"
#include "status.h"

DLPARK_BEGIN_C

/** What a stream argument says. Four bytes in every build. */
typedef enum dlpark_stream_kind {
    DLPARK_STREAM_UNSAID = 0, /**< None: the default stream of a device with streams; nothing on the host */
    DLPARK_STREAM_NO_SYNC,    /**< -1: the producer must not synchronise */
    DLPARK_STREAM_DEFAULT,    /**< the legacy default stream of CUDA, the default stream of ROCm */
    DLPARK_STREAM_PER_THREAD, /**< the per-thread default stream of CUDA: another one on each thread, so never stored */
    DLPARK_STREAM_HANDLE,     /**< the stream at `handle` */
    DLPARK_STREAM_PIN_32 = 0x7fffffff
} dlpark_stream_kind;

/** A stream. Zeroed memory is one that is unsaid. */
typedef struct dlpark_stream {
    dlpark_stream_kind kind;
    void *handle; /**< borrowed, of DLPARK_STREAM_HANDLE; else NULL */
} dlpark_stream;

/**
 * Whether work on the device is ordered by streams or queues, so that data may not be ready yet: every device but the CPU
 * and page-locked memory (cuda_host, rocm_host). Managed memory has them, although the host may read it; so has a device
 * type that DLPack 1.3 does not define, to be on the safe side.
 * Threads: any.
 */
DLPARK_API bool dlpark_device_has_streams(DLDevice device);

/**
 * Reads the integer of `__dlpack__(stream=number)`. None is not a number: it is DLPARK_STREAM_UNSAID.
 *
 * @param device  in. Of the tensor; the id is for messages.
 * @param number  in.
 * @param out     out. Not written on failure.
 * @param err     out, optional. Names the number and what the device allows.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (refused by the table above, below -1, or wider than a pointer).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_stream_decode(DLDevice device, int64_t number, dlpark_stream *out,
                                                               dlpark_error *err);

/**
 * Writes a stream as that integer.
 *
 * @param device  in.
 * @param stream  in. On CUDA the driver's own names for its default streams, the handles 0x1 and 0x2, count as those.
 * @param number  out. Not written on failure.
 * @param err     out, optional. Names the stream and what the device has.
 * @return DLPARK_OK; DLPARK_E_ARGUMENT (the device has no such stream, the handle is NULL or would be read as another
 *         stream; a stream that is unsaid has no number: that is None, for the caller to say).
 * Threads: any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_stream_encode(DLDevice device, dlpark_stream stream, int64_t *number,
                                                               dlpark_error *err);

/**
 * What the device's own driver takes for the stream.
 *
 * @return the handle; on CUDA 0x1 for the default stream and one that is unsaid, and 0x2 for the per-thread one; else NULL,
 *         which on ROCm is the default stream.
 * Threads: any.
 */
DLPARK_API void *dlpark_stream_native(DLDevice device, dlpark_stream stream);

DLPARK_END_C

#endif
