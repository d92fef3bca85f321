/*
 * The end of device memory: on any thread, with any context current or none, while a graph is captured, after the driver
 * has shut down, and in a child after fork().
 */
#include <stdlib.h>

#include "gpu_parts.h"

/* Lets one thread do what a capture of another forbids; the driver's number for it. */
enum { RELEASE_CAPTURE_RELAXED = 2 };

/* ---- Uses that were noted ---- */

/* Ends the first note of a list once its event has ended; it stays where that fails. */
static dlpark__gpu_result release_drop_note(const dlpark__gpu *gpu, dlpark__gpu_note **notes)
{
    dlpark__gpu_note *note = *notes;
    dlpark__gpu_result result = gpu->platform->event_destroy(gpu, note->event);

    if (result.code == DLPARK__GPU_SUCCESS) {
        *notes = note->next;
        free(note);
    }
    return result;
}

/* Without the driver, which has ended, or is another process's. */
static void release_forget_notes(dlpark__gpu_block *block)
{
    while (block->notes) {
        dlpark__gpu_note *note = block->notes;
        block->notes = note->next;
        free(note);
    }
}

static void release_push_note(dlpark__gpu_block *block, dlpark__gpu_note *note)
{
    bool is_first;

    note->next = __atomic_load_n(&block->notes, __ATOMIC_RELAXED);
    do
        is_first =
            __atomic_compare_exchange_n(&block->notes, &note->next, note, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    while (!is_first); /* GCOVR_EXCL_BR_LINE: else another owner notes just now */
}

/* A note whose use is over, for the next one; those that are not go back. Other owners may be noting meanwhile. */
static dlpark__gpu_note *release_find_done(dlpark__gpu_block *block)
{
    const dlpark__gpu *gpu = block->gpu;
    dlpark__gpu_note *list = __atomic_exchange_n(&block->notes, NULL, __ATOMIC_ACQUIRE), *done = NULL;

    while (list) {
        dlpark__gpu_note *note = list;
        list = note->next;
        if (!done && gpu->platform->event_query(gpu, note->event).code == DLPARK__GPU_SUCCESS)
            done = note;
        else
            release_push_note(block, note);
    }
    return done;
}

/* Inside a context. */
static dlpark__gpu_result release_note(dlpark__gpu_block *block, dlpark__gpu_note **spare, void *stream)
{
    dlpark__gpu_note *note = release_find_done(block);
    dlpark__gpu_result result;

    if (note) {
        result = block->gpu->platform->event_record(block->gpu, note->event, stream);
        release_push_note(block, note); /* where it could not be recorded, it still says what it said */
        return result;
    }
    result = dlpark__gpu_mark(block->gpu, stream, &(*spare)->event);
    if (result.code == DLPARK__GPU_SUCCESS) {
        release_push_note(block, *spare);
        *spare = NULL;
    }
    return result;
}

dlpark_status dlpark__gpu_note_use(dlpark__gpu *gpu, const dlpark_tensor *tensor, dlpark_stream stream,
                                   dlpark_error *err)
{
    void *handle;
    dlpark__gpu_scope scope;

    if (!tensor || !tensor->managed)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, tensor ? "the tensor is empty" : "tensor is NULL");
    dlpark__gpu_block *block = dlpark__tensor_owner(tensor->managed, dlpark__gpu_block_end);
    if (!block || block->gpu != gpu)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the memory of the tensor is not owned by this library and driver, so that nothing can "
                                "be noted; what ends a tensor of others after a stream is release_after");
    if (stream.kind == DLPARK_STREAM_NO_SYNC || block->policy == DLPARK_GPU_RELEASE_CALLBACK || !block->is_armed)
        return DLPARK_OK;
    DLPARK_TRY(dlpark__gpu_read_stream(gpu, stream, &handle, err));
    dlpark__gpu_note *spare = malloc(sizeof *spare);
    if (!spare)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for %zu bytes to note a use in", sizeof *spare);
    dlpark__gpu_result result = dlpark__gpu_enter(gpu, block->ordinal, &scope);
    if (result.code == DLPARK__GPU_SUCCESS) {
        result = release_note(block, &spare, handle);
        dlpark__gpu_result left = gpu->platform->leave(gpu, &scope);
        if (result.code == DLPARK__GPU_SUCCESS)
            result = left;
    }
    free(spare);
    return dlpark__gpu_report(gpu, result, err);
}

/* ---- The end ---- */

/* A stream that is captured must not be given what is no part of its graph. */
static dlpark__gpu_result release_check_stream(const dlpark__gpu *gpu, void *stream)
{
    bool is_capturing = false;
    dlpark__gpu_result result = gpu->platform->stream_is_capturing(gpu, stream, &is_capturing);

    if (result.code == DLPARK__GPU_SUCCESS && is_capturing)
        result.code = DLPARK__GPU_CAPTURE_FIRST;
    return result;
}

/* To wait for everything would spoil a capture. The default stream tells of those of streams that it waits for, and only of
 * them. */
static dlpark__gpu_result release_wait_for_all(const dlpark__gpu *gpu)
{
    void *stream = dlpark_stream_native((DLDevice){gpu->platform->device_type, 0}, (dlpark_stream){0});
    dlpark__gpu_result result = release_check_stream(gpu, stream);

    return result.code == DLPARK__GPU_SUCCESS ? gpu->platform->synchronise(gpu) : result;
}

static dlpark__gpu_result release_by_waiting(dlpark__gpu_block *block)
{
    const dlpark__gpu *gpu = block->gpu;
    dlpark__gpu_result result = {DLPARK__GPU_SUCCESS, NULL};

    if (!block->notes)
        result = release_wait_for_all(gpu);
    while (block->notes && result.code == DLPARK__GPU_SUCCESS) {
        result = gpu->platform->event_synchronise(gpu, block->notes->event);
        if (result.code == DLPARK__GPU_SUCCESS)
            result = release_drop_note(gpu, &block->notes);
    }
    if (result.code == DLPARK__GPU_SUCCESS && block->memory)
        result = gpu->platform->free(gpu, block->kind, block->memory);
    return result;
}

static dlpark__gpu_result release_on_stream(dlpark__gpu_block *block)
{
    const dlpark__gpu *gpu = block->gpu;
    dlpark__gpu_result result = release_check_stream(gpu, block->stream);

    while (block->notes && result.code == DLPARK__GPU_SUCCESS) {
        result = gpu->platform->stream_wait(gpu, block->stream, block->notes->event);
        if (result.code == DLPARK__GPU_SUCCESS)
            result = release_drop_note(gpu, &block->notes);
    }
    if (result.code != DLPARK__GPU_SUCCESS || !block->memory)
        return result;
    if (block->kind == DLPARK__GPU_DEVICE)
        return gpu->platform->free_async(gpu, block->memory, block->stream);
    result =
        gpu->platform->stream_synchronise(gpu, block->stream); /* only the device's memory ends in a stream's order */
    return result.code == DLPARK__GPU_SUCCESS ? gpu->platform->free(gpu, block->kind, block->memory) : result;
}

/* What is left of a block is memory of the host. */
static void release_finish(dlpark__gpu_block *block)
{
    release_forget_notes(block);
    if (block->release)
        block->release(block->owner);
    free(block);
}

bool dlpark__gpu_block_try(dlpark__gpu_block *block)
{
    dlpark__gpu *gpu = block->gpu;
    dlpark__gpu_scope scope;
    int mode = RELEASE_CAPTURE_RELAXED;
    dlpark__gpu_result result = dlpark__gpu_enter(gpu, block->ordinal, &scope);

    if (result.code == DLPARK__GPU_SUCCESS) {
        bool is_relaxed = gpu->platform->exchange_capture_mode(gpu, &mode).code == DLPARK__GPU_SUCCESS;
        result = block->policy == DLPARK_GPU_RELEASE_ON_STREAM ? release_on_stream(block) : release_by_waiting(block);
        if (is_relaxed)
            (void)gpu->platform->exchange_capture_mode(gpu, &mode);
        (void)gpu->platform->leave(gpu, &scope); /* its failures are those of work that was given before */
    }
    bool is_lost = block->waiting.was_tried && !dlpark__gpu_is_capture(result); /* twice: its context is no more */
    if (result.code != DLPARK__GPU_SUCCESS && !dlpark__gpu_is_over(result) && !is_lost) {
        block->waiting.was_tried = !dlpark__gpu_is_capture(result);
        return false;
    }
    release_finish(block);
    return true;
}

void dlpark__gpu_block_end(void *ended)
{
    dlpark__gpu_block *block = ended;

    if (!block->is_armed) {
        free(block);
    } else if (DLPARK_UNLIKELY(dlpark__gpu_is_forked())) {
        release_forget_notes(block);
        free(block);
    } else if (block->policy == DLPARK_GPU_RELEASE_CALLBACK) {
        release_finish(block);
    } else if (!dlpark__gpu_block_try(block)) {
        dlpark__gpu_defer(block->gpu, &block->waiting);
    }
}
