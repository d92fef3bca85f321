#include "fake.h"

/*
 * Captures: what a stream is given becomes part of a graph and does not run. The graph itself is forgotten. A capture begins
 * in one stream, its origin; other streams become part of it by waiting for an event that was recorded in it.
 */

static unsigned long last_id;
static struct CUgraph_st {
    int unused;
} graph;

/* ---- Spoilt captures ---- */

void fake_capture_spoil_id(unsigned long id)
{
    for (int i = 0; i < FAKE_STREAMS; i++)
        if (fake_streams[i].capture_id == id && fake_streams[i].capture == CU_STREAM_CAPTURE_STATUS_ACTIVE)
            fake_streams[i].capture = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

void fake_capture_spoil_stream(CUstream stream)
{
    fake_capture_spoil_id(stream->capture_id);
}

static bool is_captured(CUstream stream)
{
    return stream->capture != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool fake_capture_spoil(CUcontext context, bool blocking_only)
{
    bool found = false;

    for (int i = 0; i < FAKE_STREAMS; i++) {
        CUstream stream = &fake_streams[i];
        if (!is_captured(stream) || stream->context != context || (blocking_only && !stream->blocking))
            continue;
        found = true;
        fake_capture_spoil_stream(stream);
    }
    return found;
}

bool fake_capture_holds(CUcontext context)
{
    for (int i = 0; i < FAKE_STREAMS; i++)
        if (is_captured(&fake_streams[i]) && fake_streams[i].context == context && fake_streams[i].blocking)
            return true;
    return false;
}

bool fake_capture_forbids(void)
{
    bool forbidden = false;

    if (fake_this_thread.mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    for (int i = 0; i < FAKE_STREAMS; i++) {
        CUstream stream = &fake_streams[i];
        if (!is_captured(stream) || stream->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
            continue;
        /* Another thread's matters only where both sides are in the global mode. */
        if (stream->capture_thread != &fake_this_thread && (stream->capture_mode != CU_STREAM_CAPTURE_MODE_GLOBAL ||
                                                            fake_this_thread.mode != CU_STREAM_CAPTURE_MODE_GLOBAL))
            continue;
        forbidden = true;
        fake_capture_spoil_stream(stream);
    }
    return forbidden;
}

/* ---- Taking part ---- */

CUresult fake_capture_takes(CUstream stream, bool *takes)
{
    *takes = stream->capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (*takes)
        stream->capture_joined = false;
    return stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                                                   : CUDA_SUCCESS;
}

CUresult fake_capture_join(CUstream stream, CUstream from, unsigned long id)
{
    if (from->capture_id != id || !is_captured(from))
        return CUDA_ERROR_CAPTURED_EVENT; /* of a capture that has ended */
    if (from->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream == &fake_streams[stream->context->device]) {
        fake_capture_spoil_id(id);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (is_captured(stream) && stream->capture_id != id) {
        fake_capture_spoil_id(id);
        fake_capture_spoil_stream(stream);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!is_captured(stream)) {
        stream->capture = from->capture;
        stream->capture_mode = from->capture_mode;
        stream->capture_thread = from->capture_thread;
        stream->capture_origin = from->capture_origin;
        stream->capture_id = id;
    }
    stream->capture_joined = false;
    if (from != stream)
        from->capture_joined = true;
    return CUDA_SUCCESS;
}

/* ---- From begun to ended ---- */

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    FAKE_BEGIN(cuStreamBeginCapture_v2, FAKE_NEEDS_CONTEXT);
    CUresult result = fake_find_stream(stream, true, &stream);
    if (result != CUDA_SUCCESS)
        return fake_end(result);
    if (stream == &fake_streams[stream->context->device])
        return fake_end(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED || is_captured(stream))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    stream->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->capture_mode = mode;
    stream->capture_thread = &fake_this_thread;
    stream->capture_origin = stream;
    stream->capture_id = ++last_id;
    stream->capture_joined = true;
    return fake_end(CUDA_SUCCESS);
}

/* Ends it in all its streams. False: one of them has work that the origin does not wait for. */
static bool end_capture(unsigned long id, CUstream origin)
{
    bool joined = true;

    for (int i = 0; i < FAKE_STREAMS; i++) {
        CUstream stream = &fake_streams[i];
        if (!is_captured(stream) || stream->capture_id != id)
            continue;
        joined = joined && (stream == origin || stream->capture_joined);
        stream->capture = CU_STREAM_CAPTURE_STATUS_NONE;
    }
    return joined;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out)
{
    FAKE_BEGIN(cuStreamEndCapture, FAKE_NEEDS_CONTEXT);
    CUresult result = fake_find_stream(stream, true, &stream);
    if (result != CUDA_SUCCESS)
        return fake_end(result);
    if (out == NULL || !is_captured(stream))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (stream->capture_origin != stream) {
        fake_capture_spoil_stream(stream);
        return fake_end(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    }
    if (stream->capture_thread != &fake_this_thread && stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return fake_end(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    bool spoilt = stream->capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    bool joined = end_capture(stream->capture_id, stream);
    *out = spoilt || !joined ? NULL : &graph;
    if (spoilt)
        return fake_end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return fake_end(joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    FAKE_BEGIN(cuThreadExchangeStreamCaptureMode, FAKE_NEEDS_INIT);
    if (mode == NULL || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    CUstreamCaptureMode before = fake_this_thread.mode;
    fake_this_thread.mode = *mode;
    *mode = before;
    return fake_end(CUDA_SUCCESS);
}
