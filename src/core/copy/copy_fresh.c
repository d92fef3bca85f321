/* mincore is not in C11; this is the one file that needs it. */
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE
#endif

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "copy_parts.h"

bool dlpark__copy_is_fresh(const unsigned char *at)
{
#if defined(__linux__)
    long page = sysconf(_SC_PAGESIZE);
    unsigned char resident = 1;
    uintptr_t begin = (uintptr_t)at - (uintptr_t)at % (uintptr_t)page;

    return mincore(dlpark__address((void *)begin, 0), 1, &resident) == 0 && (resident & 1) == 0;
#else
    (void)at;
    return false;
#endif
}
