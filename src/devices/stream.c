#include <dlpark/stream.h>

#include <inttypes.h>

/* The kinds of device that number their streams alike. */
typedef enum stream_numbering { STREAM_OF_HOST, STREAM_OF_CUDA, STREAM_OF_ROCM, STREAM_OF_OTHERS } stream_numbering;

/* The standard's numbers of what has no handle. CUDA's driver has the same two for its default streams. */
enum { STREAM_NO_SYNC = -1, STREAM_ROCM_DEFAULT = 0, STREAM_CUDA_LEGACY = 1, STREAM_CUDA_PER_THREAD = 2 };

static stream_numbering stream_numbering_of(DLDevice device)
{
    switch ((int)device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
    case kDLROCMHost:
        return STREAM_OF_HOST;
    case kDLCUDA:
    case kDLCUDAManaged:
        return STREAM_OF_CUDA;
    case kDLROCM:
        return STREAM_OF_ROCM;
    default:
        return STREAM_OF_OTHERS;
    }
}

bool dlpark_device_has_streams(DLDevice device)
{
    return stream_numbering_of(device) != STREAM_OF_HOST;
}

static const char *stream_allowed(DLDevice device)
{
    static const char *const allowed[] = {
        [STREAM_OF_HOST] = "None or -1, the host has no streams",
        [STREAM_OF_CUDA] = ("None, 1 (legacy default), 2 (per-thread default), a handle above 2, or -1 (no "
                            "synchronisation); 0 is ambiguous"),
        [STREAM_OF_ROCM] = "None, 0 (default), a handle above 2, or -1 (no synchronisation); 1 and 2 mean nothing",
        [STREAM_OF_OTHERS] = "None, a handle above 0, or -1 (no synchronisation)",
    };

    return allowed[stream_numbering_of(device)];
}

/* Whether a number is an address: not one of those that stand for something else, and no wider than a pointer. */
static bool stream_is_handle(stream_numbering numbering, int64_t number)
{
    static const int64_t reserved[] = {
        [STREAM_OF_HOST] = INT64_MAX,
        [STREAM_OF_CUDA] = STREAM_CUDA_PER_THREAD,
        [STREAM_OF_ROCM] = STREAM_CUDA_PER_THREAD, /* not to be mistaken for what they are on CUDA */
        [STREAM_OF_OTHERS] = 0,
    };

#if UINTPTR_MAX < INT64_MAX
    if (number > (int64_t)UINTPTR_MAX)
        return false;
#endif
    return number > reserved[numbering];
}

/* ---- Reading ---- */

static DLPARK_COLD dlpark_status stream_refuse_number(DLDevice device, int64_t number, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "stream=%" PRId64 " for a tensor on %s: expected %s", number,
                            dlpark_device_name(device).text, stream_allowed(device));
}

dlpark_status dlpark_stream_decode(DLDevice device, int64_t number, dlpark_stream *out, dlpark_error *err)
{
    stream_numbering numbering = stream_numbering_of(device);
    dlpark_stream stream = {DLPARK_STREAM_UNSAID, NULL};

    if (number == STREAM_NO_SYNC)
        stream.kind = DLPARK_STREAM_NO_SYNC;
    else if (stream_is_handle(numbering, number))
        stream = (dlpark_stream){DLPARK_STREAM_HANDLE, (void *)(uintptr_t)number};
    else if (numbering == STREAM_OF_CUDA && number == STREAM_CUDA_LEGACY)
        stream.kind = DLPARK_STREAM_DEFAULT;
    else if (numbering == STREAM_OF_CUDA && number == STREAM_CUDA_PER_THREAD)
        stream.kind = DLPARK_STREAM_PER_THREAD;
    else if (numbering == STREAM_OF_ROCM && number == STREAM_ROCM_DEFAULT)
        stream.kind = DLPARK_STREAM_DEFAULT;
    else
        return stream_refuse_number(device, number, err);
    *out = stream;
    return DLPARK_OK;
}

/* ---- Writing ---- */

static DLPARK_COLD dlpark_status stream_refuse(DLDevice device, dlpark_stream stream, dlpark_error *err)
{
    dlpark_name name = dlpark_device_name(device);

    switch ((int)stream.kind) {
    case DLPARK_STREAM_UNSAID:
    case DLPARK_STREAM_DEFAULT:
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s has no number for %s: it is None", name.text,
                                stream.kind == DLPARK_STREAM_UNSAID ? "a stream that is unsaid" : "a default stream");
    case DLPARK_STREAM_PER_THREAD:
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s has no per-thread default stream", name.text);
    case DLPARK_STREAM_HANDLE:
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "a stream with the handle 0x%" PRIxPTR " for a tensor on %s: "
                                "expected %s",
                                (uintptr_t)stream.handle, name.text, stream_allowed(device));
    default:
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%d is no kind of stream", (int)stream.kind);
    }
}

/* The number of a handle; false where no number says it. */
static bool stream_encode_handle(stream_numbering numbering, void *handle, int64_t *number)
{
    uintptr_t address = (uintptr_t)handle;

#if UINTPTR_MAX > INT64_MAX
    if (address > (uintptr_t)INT64_MAX)
        return false;
#endif
    *number = (int64_t)address;
    return stream_is_handle(numbering, *number) ||
           (numbering == STREAM_OF_CUDA && (*number == STREAM_CUDA_LEGACY || *number == STREAM_CUDA_PER_THREAD));
}

dlpark_status dlpark_stream_encode(DLDevice device, dlpark_stream stream, int64_t *number, dlpark_error *err)
{
    stream_numbering numbering = stream_numbering_of(device);
    int64_t encoded;

    if (stream.kind == DLPARK_STREAM_NO_SYNC)
        encoded = STREAM_NO_SYNC;
    else if (stream.kind == DLPARK_STREAM_DEFAULT && numbering == STREAM_OF_CUDA)
        encoded = STREAM_CUDA_LEGACY;
    else if (stream.kind == DLPARK_STREAM_DEFAULT && numbering == STREAM_OF_ROCM)
        encoded = STREAM_ROCM_DEFAULT;
    else if (stream.kind == DLPARK_STREAM_PER_THREAD && numbering == STREAM_OF_CUDA)
        encoded = STREAM_CUDA_PER_THREAD;
    else if (stream.kind != DLPARK_STREAM_HANDLE || !stream_encode_handle(numbering, stream.handle, &encoded))
        return stream_refuse(device, stream, err);
    *number = encoded;
    return DLPARK_OK;
}

void *dlpark_stream_native(DLDevice device, dlpark_stream stream)
{
    if (stream.kind == DLPARK_STREAM_HANDLE)
        return stream.handle;
    if (stream_numbering_of(device) != STREAM_OF_CUDA)
        return NULL;
    if (stream.kind == DLPARK_STREAM_PER_THREAD)
        return (void *)(uintptr_t)STREAM_CUDA_PER_THREAD;
    if (stream.kind == DLPARK_STREAM_DEFAULT || stream.kind == DLPARK_STREAM_UNSAID)
        return (void *)(uintptr_t)STREAM_CUDA_LEGACY;
    return NULL;
}
