/*
 * What is ended later. The driver's own callbacks are no place for it: they must not call the driver, and a deleter of
 * others may want any lock.
 */
#include <stdlib.h>

#include "gpu_parts.h"

static void deferred_put(dlpark__gpu *gpu, dlpark__gpu_waiting *waiting)
{
    (void)pthread_mutex_lock(&gpu->lock);
    waiting->next = gpu->waiting;
    gpu->waiting = waiting;
    (void)pthread_mutex_unlock(&gpu->lock);
}

void dlpark__gpu_defer(dlpark__gpu *gpu, dlpark__gpu_waiting *waiting)
{
    (void)__atomic_fetch_add(&gpu->waiting_count, 1, __ATOMIC_RELAXED);
    deferred_put(gpu, waiting);
}

/* Takes what is asked for off the queue, so that nobody else ends it as well. */
static dlpark__gpu_waiting *deferred_take(dlpark__gpu *gpu, bool own)
{
    dlpark__gpu_waiting *taken = NULL, **at = &gpu->waiting;

    (void)pthread_mutex_lock(&gpu->lock);
    while (*at) {
        dlpark__gpu_waiting *waiting = *at;
        if (own && !waiting->block) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        waiting->next = taken;
        taken = waiting;
    }
    (void)pthread_mutex_unlock(&gpu->lock);
    return taken;
}

/* Whether the event has come, and is ended; or will never come. */
static bool deferred_is_due(dlpark__gpu *gpu, dlpark__gpu_waiting *waiting, bool wait)
{
    const dlpark__gpu_platform *platform = gpu->platform;
    dlpark__gpu_scope scope;
    dlpark__gpu_result result = dlpark__gpu_enter(gpu, waiting->ordinal, &scope);

    if (result.code == DLPARK__GPU_SUCCESS) {
        result = wait ? platform->event_synchronise(gpu, waiting->event) : platform->event_query(gpu, waiting->event);
        if (result.code == DLPARK__GPU_SUCCESS)
            result = platform->event_destroy(gpu, waiting->event);
        (void)platform->leave(gpu, &scope);
    }
    if (result.code == DLPARK__GPU_SUCCESS || dlpark__gpu_is_over(result))
        return true;
    if (result.code == DLPARK__GPU_NOT_READY || dlpark__gpu_is_capture(result))
        return false;
    bool is_lost = waiting->was_tried; /* twice: its context is no more */
    waiting->was_tried = true;
    return is_lost;
}

static bool deferred_end(dlpark__gpu *gpu, dlpark__gpu_waiting *waiting, bool wait)
{
    if (waiting->block)
        return dlpark__gpu_block_try(waiting->block);
    if (!deferred_is_due(gpu, waiting, wait))
        return false;
    waiting->managed->deleter(waiting->managed);
    free(waiting);
    return true;
}

size_t dlpark__gpu_poll(dlpark__gpu *gpu, bool wait, bool own)
{
    if (dlpark__gpu_is_forked())
        return 0;
    dlpark__gpu_waiting *taken = deferred_take(gpu, own);
    while (taken) {
        dlpark__gpu_waiting *waiting = taken;
        taken = waiting->next;
        if (deferred_end(gpu, waiting, wait))
            (void)__atomic_fetch_sub(&gpu->waiting_count, 1, __ATOMIC_RELAXED);
        else
            deferred_put(gpu, waiting);
    }
    return __atomic_load_n(&gpu->waiting_count, __ATOMIC_RELAXED);
}

/* The event, of a stream that is known to be one. */
static dlpark_status deferred_mark(dlpark__gpu *gpu, dlpark__gpu_waiting *waiting, void *stream, dlpark_error *err)
{
    dlpark__gpu_scope scope;

    DLPARK_TRY(dlpark__gpu_report(gpu, dlpark__gpu_enter(gpu, waiting->ordinal, &scope), err));
    dlpark__gpu_result result = dlpark__gpu_mark(gpu, stream, &waiting->event);
    (void)gpu->platform->leave(gpu, &scope); /* its failures are those of work that was given before */
    return dlpark__gpu_report(gpu, result, err);
}

static dlpark_status deferred_release(dlpark__gpu *gpu, dlpark_tensor *tensor, dlpark_stream stream, dlpark_error *err)
{
    int32_t ordinal;
    void *handle;

    DLPARK_TRY(dlpark__gpu_find_ordinal(gpu, tensor, &ordinal, err));
    DLPARK_TRY(dlpark__gpu_read_stream(gpu, stream, &handle, err));
    dlpark__gpu_waiting *waiting = calloc(1, sizeof *waiting);
    if (!waiting)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %zu bytes to remember a tensor in",
                                sizeof *waiting);
    waiting->ordinal = ordinal;
    dlpark_status status = deferred_mark(gpu, waiting, handle, err);
    if (status != DLPARK_OK) {
        free(waiting);
        return status;
    }
    waiting->managed = dlpark_tensor_export(tensor);
    dlpark__gpu_defer(gpu, waiting);
    return DLPARK_OK;
}

dlpark_status dlpark__gpu_release_after(dlpark__gpu *gpu, dlpark_tensor *tensor, dlpark_stream stream,
                                        dlpark_error *err)
{
    if (!tensor)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "tensor is NULL");
    if (!tensor->managed)
        return DLPARK_OK;
    if (stream.kind == DLPARK_STREAM_NO_SYNC)
        dlpark_tensor_release(tensor);
    else
        DLPARK_TRY(deferred_release(gpu, tensor, stream, err));
    (void)dlpark__gpu_poll(gpu, false, false);
    return DLPARK_OK;
}
