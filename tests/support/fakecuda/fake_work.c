#include "fake.h"

#include <stdlib.h>
#include <string.h>

static fake_order order = FAKE_AT_ONCE;
static uint64_t random_state = 1;
static uint64_t last_ticket;
static long queued;

static void run_first(CUstream stream);

/* ---- Queues ---- */

fake_work *fake_new_work(fake_task task, size_t nbytes)
{
    fake_work *work = nbytes <= SIZE_MAX - sizeof *work ? calloc(1, sizeof *work + nbytes) : NULL;

    if (work != NULL)
        work->task = task;
    return work;
}

void fake_drop_work(fake_work *work)
{
    if (work != NULL && work->fence != NULL)
        fake_release_fence(work->fence);
    free(work);
}

void fake_release_fence(fake_fence *fence)
{
    if (--fence->references == 0)
        free(fence);
}

long fake_work_count(void)
{
    return queued;
}

bool fake_is_idle(CUstream stream)
{
    return stream->first == NULL;
}

void fake_queue(CUstream stream, fake_work *work)
{
    work->ticket = ++last_ticket;
    if (work->task == FAKE_RECORD) {
        work->fence->stream = stream;
        work->fence->ticket = work->ticket;
    }
    if (stream->last != NULL)
        stream->last->next = work;
    else
        stream->first = work;
    stream->last = work;
    queued++;
    if (order == FAKE_AT_ONCE && queued == 1)
        run_first(stream);
}

/* ---- One piece of work ---- */

/* Memory that work uses when it runs, which it could use when it was queued. */
static void *used_now(CUdeviceptr address, size_t nbytes, const char *what)
{
    fake_block *block = fake_block_at(address);

    if (block == NULL)
        return (void *)(uintptr_t)address; /* the host's own */
    if (block->reached && !block->freed && nbytes <= block->nbytes - (size_t)(address - block->address))
        return fake_alias(address);
    fake_note("%s uses memory at 0x%llx that %s", what, (unsigned long long)address,
              block->freed ? "is freed" : "its stream has not yet allocated");
    return NULL;
}

/* Rows are copied on their own: what lies between them is not touched. */
static void copy_now(const fake_work *work, bool staged)
{
    size_t rows = work->height - 1;
    unsigned char *to = used_now(work->to, rows * work->to_pitch + work->width, "a copy to");
    const unsigned char *from =
        staged ? work->staged : used_now(work->from, rows * work->from_pitch + work->width, "a copy from");

    if (to == NULL || from == NULL)
        return;
    for (size_t row = 0; row < work->height; row++)
        memmove(to + row * work->to_pitch, from + row * work->from_pitch, work->width);
}

static void set_now(const fake_work *work)
{
    void *to = used_now(work->to, work->width, "a memset");

    if (to != NULL)
        memset(to, work->value, work->width);
}

static void kernel_now(const fake_work *work)
{
    fake_this_thread.in_kernel = true;
    work->kernel(work->argument);
    fake_this_thread.in_kernel = false;
}

static void end_now(fake_block *block)
{
    if (!block->reached)
        fake_note("memory at 0x%llx is freed before its stream has allocated it", (unsigned long long)block->address);
    if (!block->freed)
        fake_free_block(block);
}

static void run_first(CUstream stream)
{
    fake_work *work = stream->first;

    stream->first = work->next;
    if (stream->first == NULL)
        stream->last = NULL;
    queued--;
    switch (work->task) {
    case FAKE_KERNEL:
        kernel_now(work);
        break;
    case FAKE_COPY:
        copy_now(work, work->from == 0);
        break;
    case FAKE_SET:
        set_now(work);
        break;
    case FAKE_BORN:
        work->block->reached = true;
        break;
    case FAKE_END:
        end_now(work->block);
        break;
    case FAKE_RECORD:
        work->fence->done = true;
        break;
    case FAKE_WAIT:
        break;
    }
    fake_drop_work(work);
}

/* ---- What may run ---- */

static CUstream legacy_of(CUstream stream)
{
    return &fake_streams[stream->context->device];
}

static bool has_before(CUstream stream, uint64_t ticket)
{
    return stream->first != NULL && stream->first->ticket < ticket;
}

/* The legacy default stream waits for what the blocking streams were given before, and they for what it was given. NULL:
   nothing holds the stream. */
static CUstream holder_of(CUstream stream)
{
    CUstream legacy = legacy_of(stream);
    uint64_t ticket = stream->first->ticket;

    if (stream != legacy)
        return stream->blocking && has_before(legacy, ticket) ? legacy : NULL;
    for (int i = FAKE_DEVICES; i < FAKE_STREAMS; i++) {
        CUstream other = &fake_streams[i];
        if (other->blocking && other->context == stream->context && has_before(other, ticket))
            return other;
    }
    return NULL;
}

static bool is_ready(CUstream stream)
{
    if (stream->first == NULL || (stream->first->task == FAKE_WAIT && !stream->first->fence->done))
        return false;
    return holder_of(stream) == NULL;
}

/* ---- In what order ---- */

static int random_below(int limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)(random_state % (uint64_t)limit);
}

/* Streams are created from the beginning of the table to its end. */
static CUstream next_ready(void)
{
    bool from_the_end = order == FAKE_NEWEST_FIRST || order == FAKE_NEEDED_ONLY;
    CUstream chosen = NULL;
    int ready = 0;

    for (int i = 0; i < FAKE_STREAMS; i++) {
        CUstream stream = &fake_streams[from_the_end ? FAKE_STREAMS - 1 - i : i];
        if (!is_ready(stream))
            continue;
        if (order != FAKE_SHUFFLED)
            return stream;
        ready++;
        if (random_below(ready) == 0)
            chosen = stream;
    }
    return chosen;
}

void fake_run_all(void)
{
    CUstream stream;

    while (queued > 0 && (stream = next_ready()) != NULL)
        run_first(stream);
}

/* Runs a stream up to a ticket and only what that waits for: which has lower tickets, so this ends. */
static void run_needed(CUstream stream, uint64_t ticket)
{
    while (stream->first != NULL && stream->first->ticket <= ticket) {
        if (stream->first->task == FAKE_WAIT && !stream->first->fence->done)
            run_needed(stream->first->fence->stream, stream->first->fence->ticket);
        for (CUstream holder; (holder = holder_of(stream)) != NULL;)
            run_needed(holder, stream->first->ticket - 1);
        run_first(stream);
    }
}

static void run_until(CUstream stream, uint64_t ticket)
{
    if (order == FAKE_NEEDED_ONLY)
        run_needed(stream, ticket);
    while (stream->first != NULL && stream->first->ticket <= ticket)
        run_first(next_ready());
}

void fake_run_stream(CUstream stream)
{
    run_until(stream, UINT64_MAX);
}

void fake_run_fence(fake_fence *fence)
{
    if (!fence->done)
        run_until(fence->stream, fence->ticket);
}

void fake_run_context(CUcontext context)
{
    for (int i = 0; i < FAKE_STREAMS; i++)
        if (fake_streams[i].context == context)
            fake_run_stream(&fake_streams[i]);
}

/* ---- Controls ---- */

void fake_schedule(fake_order wanted)
{
    fake_lock();
    order = wanted;
    if (order == FAKE_AT_ONCE)
        fake_run_all();
    fake_unlock();
}

void fake_shuffle(uint64_t seed)
{
    fake_lock();
    random_state = seed * 2654435761u + 1; /* never 0 */
    for (int i = 0; i < 8; i++)
        random_below(2);
    fake_unlock();
}

void fake_drain(void)
{
    fake_lock();
    fake_run_all();
    fake_unlock();
}

int fake_launch(void *handle, void (*kernel)(void *argument), void *argument)
{
    CUstream stream;
    bool captured;

    fake_lock();
    CUresult result = fake_current() != NULL ? fake_find_stream(handle, false, &stream) : CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS)
        result = fake_capture_takes(stream, &captured);
    if (result == CUDA_SUCCESS && !captured) {
        fake_work *work = fake_new_work(FAKE_KERNEL, 0);
        if (work != NULL) {
            work->kernel = kernel;
            work->argument = argument;
            fake_queue(stream, work);
        } else
            result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    fake_unlock();
    return (int)result;
}
