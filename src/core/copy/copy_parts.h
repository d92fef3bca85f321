/*
 * What the files of the copy share: what a copy is planned to be, and who runs it.
 */
#ifndef DLPARK_CORE_COPY_PARTS_H
#define DLPARK_CORE_COPY_PARTS_H

#include "../internal.h"
#include "../kernels/kernels.h"

/* What the innermost dimensions of a copy are. */
typedef enum dlpark__copy_kind {
    DLPARK__COPY_RUNS,      /* elements so large, or so much in one piece, that each is a memcpy */
    DLPARK__COPY_STRIDED,   /* any strides */
    DLPARK__COPY_REVERSE,   /* written upwards, read downwards */
    DLPARK__COPY_PICK,      /* written without gaps, every second to fourth read */
    DLPARK__COPY_BLOCKS,    /* written without gaps, from spans of at most 16 bytes */
    DLPARK__COPY_JOIN,      /* 2 to 4 planes become interleaved elements */
    DLPARK__COPY_SPLIT,     /* the way back */
    DLPARK__COPY_TRANSPOSE, /* x is without gaps in the destination, y in the source */
} dlpark__copy_kind;

/* Element (.., deep, y, wide, x) lies at the sum of its steps from `to` and from `from`. */
typedef struct dlpark__copy_plan {
    unsigned char *to;
    const unsigned char *from;
    size_t element; /* bytes that are in one piece on both sides */
    int64_t nbytes; /* of all elements */
    dlpark__copy_kind kind;
    int channels;             /* of PICK, JOIN and SPLIT */
    bool stream;              /* too large to be in a cache afterwards: written past it */
    dlpark__copy_block block; /* of BLOCKS */
    int32_t ndim;
    dlpark__copy_dim x, y; /* what the kernel runs over; extent 1 where the kind has no such dimension */
    dlpark__copy_dim wide; /* of TRANSPOSE: the dimension that goes on where a short x ends in the destination */
    dlpark__copy_dim deep; /* of TRANSPOSE: the one that goes on where a short y ends in the source */
    dlpark__copy_dim dims[DLPARK_MAX_NDIM]; /* what is walked, outermost first */
} dlpark__copy_plan;

/* ---- copy.c ---- */

/* Whether every element of two views of one shape and dtype lies where the other's does. */
bool dlpark__copy_is_same_view(const dlpark_view *to, const dlpark_view *from);

/* ---- copy_plan.c ---- */

/* Whether what is written should go past the caches: too much to be in one afterwards, and to memory of which `middle`
 * is an address and that was written before. */
bool dlpark__copy_streams(const unsigned char *middle, int64_t nbytes);

/* The dimensions of a copy as it will walk them, outermost first, joined where both sides go on without a gap; no kernel is
 * chosen yet, all are in `dims`. Nothing is asked of the memory, which may be a device's. */
void dlpark__copy_plan_order(dlpark__copy_plan *plan, const dlpark_view *to, const dlpark_view *from);

/* Plans the copy of two views of one shape and dtype, with elements of whole bytes, of which there are some. */
void dlpark__copy_plan_make(dlpark__copy_plan *plan, const dlpark_view *to, const dlpark_view *from);

/* The part `at` of `count` that a plan is cut into; false when the part is empty. */
bool dlpark__copy_plan_cut(const dlpark__copy_plan *plan, int at, int count, dlpark__copy_plan *part);

/* ---- copy_fresh.c ---- */

/* Whether the page at an address was never written: the system clears it on the first write, and leaves it in the
 * cache. There a store past the cache is the slower one. False where the system does not say. */
bool dlpark__copy_is_fresh(const unsigned char *at);

/* ---- copy_run.c ---- */

/* Does all that is planned, on this thread. */
void dlpark__copy_run(const dlpark__copy_plan *plan);

/* ---- copy_threads.c ---- */

/* The same on up to `threads` threads, this one included. All have ended on return. */
void dlpark__copy_run_threads(const dlpark__copy_plan *plan, int threads);

#endif
