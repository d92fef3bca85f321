/* What the two sources of the transfer share. */
#ifndef DLPARK_TRANSFER_PARTS_H
#define DLPARK_TRANSFER_PARTS_H

#include <dlpark/transfer.h>

#include "../../core/copy/copy_parts.h"
#include "../gpu/gpu_parts.h"

/* A copy that a driver can do by itself: runs of bytes, in rows where they lie evenly, and the dimensions around them. */
typedef struct dlpark__transfer_plan {
    dlpark__copy_plan order; /* its dims are those around the rows */
    dlpark__copy_dim row;    /* extent 1: the runs lie in no rows */
    int64_t calls;           /* of the driver */
} dlpark__transfer_plan;

/* Where a copy begins and ends, and what it runs on. */
typedef struct dlpark__transfer {
    dlpark__gpu *gpu;
    void *stream;
    int32_t ordinal;      /* whose context is current */
    int32_t to_ordinal;   /* -1: the host */
    int32_t from_ordinal; /* -1: the host */
} dlpark__transfer;

/* ---- transfer_plan.c ---- */

/* Plans the copy of two views of one shape and dtype, with elements, that have whole bytes. */
void dlpark__transfer_plan_make(dlpark__transfer_plan *plan, const dlpark_view *to, const dlpark_view *from);

/* Whether it is so few copies, or such large ones, that no other way is quicker. */
bool dlpark__transfer_plan_is_good(const dlpark__transfer_plan *plan);

/* Does it, in the stream's order. Inside a context. */
dlpark__gpu_result dlpark__transfer_run(const dlpark__transfer *transfer, const dlpark__transfer_plan *plan);

/* ---- transfer.c ---- */

dlpark_status dlpark__transfer_copy(dlpark__gpu *gpu, const dlpark_view *to, const dlpark_view *from,
                                    dlpark_stream stream, dlpark_error *err);

#endif
