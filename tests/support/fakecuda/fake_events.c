#include "fake.h"

#include <stdlib.h>

struct CUevent_st {
    bool open;
    CUcontext context;
    fake_fence *fence;     /* NULL: never recorded, or recorded in a capture */
    unsigned long capture; /* the capture that it was last recorded in, 0: none */
    CUstream stream;       /* and where */
};

/* A table, so that no handle is followed that was destroyed; its places come back late. */
enum { EVENTS = 1 << 16 };

static struct CUevent_st events[EVENTS];
static int last_place = -1;
static long count;

long fake_event_count(void)
{
    return count;
}

static void close_event(CUevent event)
{
    if (event->fence != NULL)
        fake_release_fence(event->fence);
    *event = (struct CUevent_st){0};
    count--;
}

void fake_close_events(CUcontext context)
{
    for (int i = 0; i < EVENTS; i++)
        if (events[i].open && events[i].context == context)
            close_event(&events[i]);
}

static bool is_event(CUevent handle)
{
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)events;

    return (uintptr_t)handle >= (uintptr_t)events && offset < sizeof events && offset % sizeof *events == 0 &&
           handle->open;
}

/* ---- From created to destroyed ---- */

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    FAKE_BEGIN(cuEventCreate, FAKE_NEEDS_CONTEXT);
    if (event == NULL || flags > (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < EVENTS; i++) {
        int place = (last_place + 1 + i) % EVENTS;
        if (events[place].open)
            continue;
        last_place = place;
        events[place] = (struct CUevent_st){.open = true, .context = fake_current()};
        count++;
        *event = &events[place];
        return fake_end(CUDA_SUCCESS);
    }
    return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuEventDestroy_v2(CUevent event)
{
    FAKE_BEGIN(cuEventDestroy_v2, FAKE_NEEDS_CONTEXT);
    if (!is_event(event))
        return fake_end(CUDA_ERROR_INVALID_HANDLE);
    close_event(event);
    return fake_end(CUDA_SUCCESS);
}

/* ---- Recorded and waited for ---- */

/* A fence that nobody holds yet, in work that will pass it. */
static fake_work *new_record(void)
{
    fake_work *work = fake_new_work(FAKE_RECORD, 0);
    fake_fence *fence = calloc(1, sizeof *fence);

    if (work == NULL || fence == NULL) {
        fake_drop_work(work);
        free(fence);
        return NULL;
    }
    fence->references = 1;
    work->fence = fence;
    return work;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    bool captured;

    FAKE_BEGIN(cuEventRecord, FAKE_NEEDS_CONTEXT);
    CUresult result = fake_find_stream(stream, true, &stream);
    if (result != CUDA_SUCCESS)
        return fake_end(result);
    if (!is_event(event) || event->context != stream->context)
        return fake_end(CUDA_ERROR_INVALID_HANDLE);
    bool joined = stream->capture_joined;
    result = fake_capture_takes(stream, &captured);
    if (result != CUDA_SUCCESS)
        return fake_end(result);
    fake_work *work = captured ? NULL : new_record();
    if (work == NULL && !captured)
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    if (event->fence != NULL)
        fake_release_fence(event->fence);
    event->fence = NULL;
    event->capture = 0;
    if (captured) { /* itself no work that the origin must wait for */
        stream->capture_joined = joined;
        event->capture = stream->capture_id;
        event->stream = stream;
        return fake_end(CUDA_SUCCESS);
    }
    work->fence->references++;
    event->fence = work->fence;
    fake_queue(stream, work);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    FAKE_BEGIN(cuStreamWaitEvent, FAKE_NEEDS_CONTEXT);
    CUresult result = fake_find_stream(stream, true, &stream);
    if (result != CUDA_SUCCESS)
        return fake_end(result);
    if (!is_event(event))
        return fake_end(CUDA_ERROR_INVALID_HANDLE);
    if (flags != CU_EVENT_WAIT_DEFAULT)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (event->capture != 0)
        return fake_end(fake_capture_join(stream, event->stream, event->capture));
    if (event->fence == NULL) {
        fake_note("a stream waits for an event that was never recorded");
        return fake_end(CUDA_SUCCESS);
    }
    if (stream->capture != CU_STREAM_CAPTURE_STATUS_NONE) {
        fake_capture_spoil_stream(stream);
        return fake_end(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    fake_work *work = fake_new_work(FAKE_WAIT, 0);
    if (work == NULL)
        return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
    event->fence->references++;
    work->fence = event->fence;
    fake_queue(stream, work);
    return fake_end(CUDA_SUCCESS);
}

/* For the host: whether an event may be asked for at all. */
static CUresult check_event(CUevent event)
{
    if (!is_event(event))
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture == 0)
        return (CUresult)event->context->lost;
    fake_capture_spoil_id(event->capture);
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult cuEventQuery(CUevent event)
{
    FAKE_BEGIN(cuEventQuery, FAKE_NEEDS_INIT | FAKE_UNSAFE_IN_CAPTURE);
    CUresult result = check_event(event);
    if (result == CUDA_SUCCESS && event->fence != NULL && !event->fence->done)
        result = CUDA_ERROR_NOT_READY;
    return fake_end(result);
}

CUresult cuEventSynchronize(CUevent event)
{
    FAKE_BEGIN(cuEventSynchronize, FAKE_NEEDS_INIT | FAKE_UNSAFE_IN_CAPTURE);
    CUresult result = check_event(event);
    if (result == CUDA_SUCCESS && event->fence != NULL)
        fake_run_fence(event->fence);
    return fake_end(result);
}
