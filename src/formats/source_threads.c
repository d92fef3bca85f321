/*
 * Large reads cut into pieces, which threads of this call take one after the other. One thread alone gets neither what a disk
 * nor what the page cache can give.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../core/internal.h"
#include "source.h"

#define THREADS_PIECE   ((uint64_t)4 << 20)
#define THREADS_SCRATCH ((size_t)256 << 10) /* stays in a core's cache */

enum { SOURCE_THREADS_MOST = 64 };

/* What the threads of a call share. */
typedef struct threads_job {
    const dlpark__source *source;
    uint64_t offset;
    unsigned char *to;
    uint64_t nbytes;
    _Atomic(uint64_t) next; /* the first byte that nobody has taken */
    atomic_bool has_failed;
    pthread_mutex_t lock; /* of what follows: the first failure */
    dlpark_status status;
    dlpark_error err;
} threads_job;

/* A piece that nobody keeps. */
static dlpark_status threads_skim(const threads_job *job, uint64_t at, uint64_t nbytes, unsigned char *scratch,
                                  dlpark_error *err)
{
    for (uint64_t done = 0; done < nbytes; done += THREADS_SCRATCH) {
        size_t some = nbytes - done < THREADS_SCRATCH ? (size_t)(nbytes - done) : THREADS_SCRATCH;
        DLPARK_TRY(dlpark__source_read(job->source, job->offset + at + done, scratch, some, err));
    }
    return DLPARK_OK;
}

static dlpark_status threads_read(threads_job *job, unsigned char *scratch, dlpark_error *err)
{
    while (!atomic_load_explicit(&job->has_failed, memory_order_relaxed)) {
        uint64_t at = atomic_fetch_add_explicit(&job->next, THREADS_PIECE, memory_order_relaxed);
        if (at >= job->nbytes)
            break;
        uint64_t nbytes = job->nbytes - at < THREADS_PIECE ? job->nbytes - at : THREADS_PIECE;
        if (job->to == NULL)
            DLPARK_TRY(threads_skim(job, at, nbytes, scratch, err));
        else
            DLPARK_TRY(dlpark__source_read(job->source, job->offset + at, job->to + at, (size_t)nbytes, err));
    }
    return DLPARK_OK;
}

static void *threads_work(void *argument)
{
    threads_job *job = argument;
    unsigned char *scratch = job->to == NULL ? malloc(THREADS_SCRATCH) : NULL;
    dlpark_error err;
    dlpark_status status = job->to == NULL && scratch == NULL ? dlpark_error_set(&err, DLPARK_E_MEMORY, NULL)
                                                              : threads_read(job, scratch, &err);

    free(scratch);
    if (status == DLPARK_OK)
        return NULL;
    (void)pthread_mutex_lock(&job->lock);
    if (job->status == DLPARK_OK) {
        job->status = status;
        job->err = err;
    }
    (void)pthread_mutex_unlock(&job->lock);
    atomic_store_explicit(&job->has_failed, true, memory_order_relaxed);
    return NULL;
}

/* Where the system gives no more threads, those that there are do it all. */
static void threads_run(threads_job *job, int count)
{
    pthread_t started[SOURCE_THREADS_MOST];
    int running = 1;

    while (running < count && pthread_create(&started[running], NULL, threads_work, job) == 0)
        running++;
    threads_work(job);
    while (--running > 0)
        pthread_join(started[running], NULL);
}

dlpark_status dlpark__source_read_threads(const dlpark__source *source, uint64_t offset, unsigned char *to,
                                          uint64_t nbytes, int threads, dlpark_error *err)
{
    uint64_t pieces = (nbytes + (THREADS_PIECE - 1)) / THREADS_PIECE;
    int count = threads < SOURCE_THREADS_MOST ? threads : SOURCE_THREADS_MOST;

    if (source->descriptor < 0 || (to != NULL && (pieces <= 1 || count <= 1)))
        return to != NULL ? dlpark__source_read(source, offset, to, (size_t)nbytes, err) : DLPARK_OK;
    threads_job job = {.source = source, .offset = offset, .to = to, .nbytes = nbytes, .status = DLPARK_OK};
    atomic_init(&job.next, 0);
    atomic_init(&job.has_failed, false);
    (void)pthread_mutex_init(&job.lock, NULL);
    threads_run(&job, pieces < (uint64_t)count ? (int)pieces : count);
    (void)pthread_mutex_destroy(&job.lock);
    if (job.status != DLPARK_OK && err != NULL)
        *err = job.err;
    return job.status;
}

dlpark_status dlpark__source_take(dlpark__source *source, int threads, dlpark_error *err)
{
    if (source->descriptor < 0)
        return DLPARK_OK;
    unsigned char *bytes =
        source->nbytes > SIZE_MAX / 2 ? NULL : dlpark__memory_get_large((size_t)source->nbytes, sizeof(uint64_t));
    if (bytes == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for its %llu bytes", source->name.text,
                                (unsigned long long)source->nbytes);
    dlpark_status status = dlpark__source_read_threads(source, 0, bytes, source->nbytes, threads, err);
    if (status != DLPARK_OK) {
        free(bytes);
        return status;
    }
    (void)close(source->descriptor);
    source->descriptor = -1;
    source->owner = bytes;
    source->release = free;
    atomic_store_explicit(&source->map, bytes, memory_order_relaxed);
    return DLPARK_OK;
}
