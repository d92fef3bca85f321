/* madvise and posix_memalign are not in C11; this is the one file that needs them. */
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif

#include <stdlib.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "internal.h"

#define MEMORY_HUGE_PAGE ((size_t)2 << 20)

void *dlpark__memory_get(size_t nbytes)
{
    return malloc(nbytes);
}

void *dlpark__memory_get_large(size_t nbytes, size_t alignment_bytes)
{
    void *memory = NULL;
    bool huge = nbytes >= DLPARK__MEMORY_HUGE_FROM;

    if (huge && alignment_bytes < MEMORY_HUGE_PAGE)
        alignment_bytes = MEMORY_HUGE_PAGE;
    if (posix_memalign(&memory, alignment_bytes, nbytes) != 0)
        return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    /* Only whole huge pages: the tail would otherwise cost one to hold a few bytes. A refusal costs nothing. */
    if (huge)
        (void)madvise(memory, nbytes / MEMORY_HUGE_PAGE * MEMORY_HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return memory;
}
