/*
 * A copy of a fake driver's file: another driver to the loader, and so one that is asked anew. It lies in the current
 * folder until it is ended.
 */
#ifndef GPU_COPY_H
#define GPU_COPY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct gpu_copy {
    char path[64];
} gpu_copy;

/* A path with a slash, so that it is not looked for under the name that it has inside. */
static inline gpu_copy gpu_copy_make(const char *from)
{
    gpu_copy copy = {"./fake_XXXXXX"};
    int file = mkstemp(copy.path);
    FILE *in = fopen(from, "rb"), *out = file < 0 ? NULL : fdopen(file, "wb");
    static char bytes[65536];
    size_t nbytes;

    assert_non_null(in);
    assert_non_null(out);
    while ((nbytes = fread(bytes, 1, sizeof bytes, in)) > 0)
        assert_int_equal(fwrite(bytes, 1, nbytes, out), nbytes);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(fclose(in), 0);
    return copy;
}

static inline void gpu_copy_end(const gpu_copy *copy)
{
    assert_int_equal(unlink(copy->path), 0);
}

#endif
