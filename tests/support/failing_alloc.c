#include "failing_alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t count, size_t nbytes);
void *__real_realloc(void *block, size_t nbytes);
void *__real_aligned_alloc(size_t alignment, size_t nbytes);
int __real_posix_memalign(void **out, size_t alignment, size_t nbytes);
void __real_free(void *block);

/* Visible, since a shared library that a sanitizer's runtime serves with memory makes the linker look for them. */
#pragma GCC visibility push(default)
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t count, size_t nbytes);
void *__wrap_realloc(void *block, size_t nbytes);
void *__wrap_aligned_alloc(size_t alignment, size_t nbytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t nbytes);
void __wrap_free(void *block);
#pragma GCC visibility pop

static atomic_long fail_at;
static atomic_long fail_until;
static atomic_long asked;
static atomic_long live;

static void arm(long first, long last)
{
    atomic_store(&asked, 0);
    atomic_store(&fail_at, first);
    atomic_store(&fail_until, last);
}

void failing_alloc_arm(long nth)
{
    arm(nth, nth);
}

void failing_alloc_arm_from(long nth)
{
    arm(nth, LONG_MAX);
}

long failing_alloc_count(void)
{
    return atomic_load(&asked);
}

long failing_alloc_live(void)
{
    return atomic_load(&live);
}

/* More than any machine has. Refused here as the system would, since sanitizers and valgrind report the attempt. */
#define TOO_MUCH (sizeof(size_t) > 4 ? SIZE_MAX >> 20 : SIZE_MAX >> 1)

static bool fails_this_time(size_t nbytes)
{
    long number = atomic_fetch_add(&asked, 1) + 1;
    long first = atomic_load(&fail_at);

    return (first != 0 && number >= first && number <= atomic_load(&fail_until)) || nbytes > TOO_MUCH;
}

static void *counted(void *block)
{
    if (block != NULL)
        atomic_fetch_add(&live, 1);
    return block;
}

void *__wrap_malloc(size_t nbytes)
{
    return fails_this_time(nbytes) ? NULL : counted(__real_malloc(nbytes));
}

void *__wrap_calloc(size_t count, size_t nbytes)
{
    return fails_this_time(nbytes) ? NULL : counted(__real_calloc(count, nbytes));
}

void *__wrap_realloc(void *block, size_t nbytes)
{
    if (fails_this_time(nbytes))
        return NULL;
    return block != NULL ? __real_realloc(block, nbytes) : counted(__real_realloc(NULL, nbytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t nbytes)
{
    return fails_this_time(nbytes) ? NULL : counted(__real_aligned_alloc(alignment, nbytes));
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t nbytes)
{
    if (fails_this_time(nbytes))
        return ENOMEM;
    int failure = __real_posix_memalign(out, alignment, nbytes);
    if (failure == 0)
        counted(*out);
    return failure;
}

void __wrap_free(void *block)
{
    if (block != NULL)
        atomic_fetch_sub(&live, 1);
    __real_free(block);
}
