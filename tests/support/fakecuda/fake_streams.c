#include "fake.h"

#define LEGACY(number)                                                                                                 \
    {                                                                                                                  \
        .open = true, .blocking = true, .context = &fake_contexts[number]                                              \
    }

struct CUstream_st fake_streams[FAKE_STREAMS] = {LEGACY(0), LEGACY(1)};

static int last_place = FAKE_DEVICES - 1;
static long counted;

long fake_stream_count(void)
{
    return counted;
}

/* ---- From open to closed ---- */

static CUstream new_stream(CUcontext context, bool blocking, bool is_counted)
{
    int places = FAKE_STREAMS - FAKE_DEVICES;

    for (int i = 0; i < places; i++) {
        int place = FAKE_DEVICES + (last_place + 1 - FAKE_DEVICES + i) % places;
        CUstream stream = &fake_streams[place];
        if (stream->open || !fake_is_idle(stream))
            continue;
        last_place = place;
        *stream = (struct CUstream_st){.open = true, .blocking = blocking, .counted = is_counted, .context = context};
        counted += is_counted;
        return stream;
    }
    return NULL;
}

/* Its work goes on. */
static void close_stream(CUstream stream)
{
    stream->open = false;
    counted -= stream->counted;
}

void fake_close_streams(CUcontext context)
{
    for (int i = FAKE_DEVICES; i < FAKE_STREAMS; i++)
        if (fake_streams[i].open && fake_streams[i].context == context)
            close_stream(&fake_streams[i]);
}

/* ---- Handles ---- */

/* The stream that 0x2 is for this thread in the current context. */
static CUstream per_thread(void)
{
    CUstream *stream = &fake_this_thread.per_thread[fake_current()->device];

    if (*stream == NULL || !(*stream)->open)
        *stream = new_stream(fake_current(), true, false);
    return *stream;
}

static bool is_open(CUstream handle)
{
    for (int i = FAKE_DEVICES; i < FAKE_STREAMS; i++)
        if (handle == &fake_streams[i])
            return handle->open && handle->counted;
    return false;
}

/* Whose handle it is, whatever may be done with it now. */
static CUresult look_up(CUstream handle, CUstream *out)
{
    bool is_legacy = handle == NULL || handle == CU_STREAM_LEGACY;

    if (!is_legacy && handle != CU_STREAM_PER_THREAD) {
        *out = handle;
        return is_open(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    if (fake_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = is_legacy ? &fake_streams[fake_current()->device] : per_thread();
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult fake_find_stream(CUstream handle, bool anywhere, CUstream *out)
{
    CUresult result = look_up(handle, out);

    if (result != CUDA_SUCCESS)
        return result;
    if (!anywhere && (*out)->context != fake_current())
        return CUDA_ERROR_INVALID_HANDLE;
    if ((*out)->context->lost != 0)
        return (CUresult)(*out)->context->lost;
    /* Whoever is ordered against a graph that is made would be part of it without wanting to. */
    if (*out == &fake_streams[(*out)->context->device] && fake_capture_spoil((*out)->context, true))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return CUDA_SUCCESS;
}

/* ---- The driver's calls ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    FAKE_BEGIN(cuStreamCreate, FAKE_NEEDS_CONTEXT);
    if (stream == NULL || flags > CU_STREAM_NON_BLOCKING)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    CUstream made = new_stream(fake_current(), flags == CU_STREAM_DEFAULT, true);
    if (made == NULL)
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    *stream = made;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    FAKE_BEGIN(cuStreamDestroy_v2, FAKE_NEEDS_INIT); /* the handle says its context */
    if (!is_open(stream))
        return fake_end(CUDA_ERROR_INVALID_HANDLE);
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) {
        fake_capture_spoil_stream(stream);
        return fake_end(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    close_stream(stream);
    return fake_end(CUDA_SUCCESS);
}

/* For waiting and asking: not of a stream that is captured, whose work does not run. */
static CUresult find_running(CUstream *stream)
{
    CUresult result = fake_find_stream(*stream, true, stream);

    if (result != CUDA_SUCCESS || (*stream)->capture == CU_STREAM_CAPTURE_STATUS_NONE)
        return result;
    fake_capture_spoil_stream(*stream);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    FAKE_BEGIN(cuStreamSynchronize, FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    CUresult result = find_running(&stream);
    if (result == CUDA_SUCCESS)
        fake_run_stream(stream);
    return fake_end(result);
}

CUresult cuStreamQuery(CUstream stream)
{
    FAKE_BEGIN(cuStreamQuery, FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    CUresult result = find_running(&stream);
    if (result == CUDA_SUCCESS && !fake_is_idle(stream))
        result = CUDA_ERROR_NOT_READY;
    return fake_end(result);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    FAKE_BEGIN(cuStreamIsCapturing, FAKE_NEEDS_CONTEXT);
    if (status == NULL)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    CUresult result = look_up(stream, &stream);
    if (result != CUDA_SUCCESS)
        return fake_end(result);
    /* The one question about the legacy default stream that spoils nothing. */
    if (stream == &fake_streams[stream->context->device] && fake_capture_holds(stream->context))
        return fake_end(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    *status = stream->capture;
    return fake_end(CUDA_SUCCESS);
}
