/*
 * Makes the n-th read of a file fail. For a test that is linked with -Wl,--wrap=pread, as tests/unit/CMakeLists.txt says.
 */
#ifndef FAILING_READ_H
#define FAILING_READ_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

static int reads_until_failure; /* 0: none fails */

ssize_t __real_pread(int descriptor, void *to, size_t nbytes, off_t offset);
ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset);

ssize_t __wrap_pread(int descriptor, void *to, size_t nbytes, off_t offset)
{
    if (reads_until_failure > 0 && --reads_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    return __real_pread(descriptor, to, nbytes, offset);
}

#endif
