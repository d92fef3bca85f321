/*
 * Copies the way one writes them without a library: plain loops, one for each case, left to the compiler.
 */
#ifndef BENCH_COPY_PLAIN_H
#define BENCH_COPY_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* What is copied, and the sizes that it depends on. */
typedef enum plain_job {
    PLAIN_TRANSPOSE, /* rows x columns to columns x rows */
    PLAIN_SPLIT,     /* images x pixels x channels to images x channels x pixels */
    PLAIN_JOIN,      /* the way back */
    PLAIN_DROP,      /* pixels of 4 channels to 3 */
    PLAIN_REVERSE,
    PLAIN_SECOND,
    PLAIN_CONTIGUOUS,
    PLAIN_ROWS,   /* one row, again and again */
    PLAIN_MIDDLE, /* the middle half of each row */
    PLAIN_COLUMN, /* one column of 16 */
    PLAIN_NONE    /* nobody writes this by hand */
} plain_job;

/* `a`, `b`: extents in elements, as the job has them. False when there is no such loop for this element size. */
bool plain_copy(plain_job job, int element, void *to, const void *from, int64_t a, int64_t b);

#endif
