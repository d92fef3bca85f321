/*
 * Makes the n-th allocation of a whole process fail, whoever asks, and counts what is alive: failing_alloc.h for shared
 * libraries. To be preloaded, before a sanitizer's run-time if there is one:
 *
 *   LD_PRELOAD=failing_malloc.so PYTHONMALLOC=malloc python ...
 */
#define _GNU_SOURCE

#include "failing_alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static atomic_long fail_at;
static atomic_long fail_until;
static atomic_long asked;
static atomic_long live;

#define EXPORTED __attribute__((visibility("default")))

static void arm(long first, long last)
{
    atomic_store(&asked, 0);
    atomic_store(&fail_at, first);
    atomic_store(&fail_until, last);
}

EXPORTED void failing_alloc_arm(long nth)
{
    arm(nth, nth);
}

EXPORTED void failing_alloc_arm_from(long nth)
{
    arm(nth, LONG_MAX);
}

EXPORTED long failing_alloc_count(void)
{
    return atomic_load(&asked);
}

EXPORTED long failing_alloc_live(void)
{
    return atomic_load(&live);
}

/* ---- What is behind ---- */

static void *(*real_malloc)(size_t nbytes);
static void *(*real_calloc)(size_t count, size_t nbytes);
static void *(*real_realloc)(void *block, size_t nbytes);
static void *(*real_aligned_alloc)(size_t alignment, size_t nbytes);
static int (*real_posix_memalign)(void **out, size_t alignment, size_t nbytes);
static void (*real_free)(void *block);

/* What the search for the functions asks for itself; never given back. */
static _Alignas(max_align_t) unsigned char first_memory[16384];
static size_t first_used;

static void *get_first(size_t nbytes)
{
    void *block = first_memory + first_used;

    nbytes = (nbytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (nbytes > sizeof first_memory - first_used)
        return NULL;
    first_used += nbytes;
    return block;
}

static bool is_first(const void *block)
{
    return (uintptr_t)block - (uintptr_t)first_memory < sizeof first_memory;
}

static void find(const char *name, void *out)
{
    void *found = dlsym(RTLD_NEXT, name);

    memcpy(out, &found, sizeof found); /* a pointer to a function, which ISO C keeps apart */
}

/* Whether the functions are known; not while they are looked for. */
static bool is_ready(void)
{
    static bool looks;

    if (real_free != NULL)
        return true;
    if (looks)
        return false;
    looks = true;
    find("malloc", &real_malloc);
    find("calloc", &real_calloc);
    find("realloc", &real_realloc);
    find("aligned_alloc", &real_aligned_alloc);
    find("posix_memalign", &real_posix_memalign);
    find("free", &real_free);
    return true;
}

/* ---- In front ---- */

static bool fails_this_time(void)
{
    long number = atomic_fetch_add(&asked, 1) + 1;
    long first = atomic_load(&fail_at);
    bool fails = first != 0 && number >= first && number <= atomic_load(&fail_until);

    if (fails)
        errno = ENOMEM;
    return fails;
}

static void *counted(void *block)
{
    if (block != NULL)
        atomic_fetch_add(&live, 1);
    return block;
}

EXPORTED void *malloc(size_t nbytes)
{
    if (!is_ready())
        return get_first(nbytes);
    return fails_this_time() ? NULL : counted(real_malloc(nbytes));
}

EXPORTED void *calloc(size_t count, size_t nbytes)
{
    if (!is_ready())
        return get_first(count * nbytes);
    return fails_this_time() ? NULL : counted(real_calloc(count, nbytes));
}

EXPORTED void *realloc(void *block, size_t nbytes)
{
    if (!is_ready() || is_first(block))
        return NULL; /* nobody does so with the first memory */
    if (fails_this_time())
        return NULL;
    return block != NULL ? real_realloc(block, nbytes) : counted(real_realloc(NULL, nbytes));
}

EXPORTED void *aligned_alloc(size_t alignment, size_t nbytes)
{
    return !is_ready() || fails_this_time() ? NULL : counted(real_aligned_alloc(alignment, nbytes));
}

EXPORTED int posix_memalign(void **out, size_t alignment, size_t nbytes)
{
    if (!is_ready() || fails_this_time())
        return ENOMEM;
    int failure = real_posix_memalign(out, alignment, nbytes);
    if (failure == 0)
        counted(*out);
    return failure;
}

EXPORTED void free(void *block)
{
    if (block == NULL || is_first(block) || !is_ready())
        return;
    atomic_fetch_sub(&live, 1);
    real_free(block);
}
