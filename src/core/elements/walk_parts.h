/*
 * Walks two views of one shape side by side, run by run. Positions are in bits, so that packed, padded and whole-byte
 * elements are walked alike; memory that exists has fewer than 2^63 of them.
 */
#ifndef DLPARK_CORE_WALK_PARTS_H
#define DLPARK_CORE_WALK_PARTS_H

#include "../internal.h"

/* One dimension, strides in bits. */
typedef struct dlpark__walk_dim {
    int64_t extent;
    int64_t to;
    int64_t from;
    int32_t axis; /* of the view; -1 where the dimension is inside an element */
} dlpark__walk_dim;

typedef struct dlpark__walk {
    dlpark__walk_dim dims[DLPARK_MAX_NDIM + 1]; /* outermost first; the last is the run, walked by the caller */
    int64_t index[DLPARK_MAX_NDIM + 1];         /* of the dimensions before the run */
    int32_t ndim;                               /* at least 1 once the walk is ready */
    int64_t to;                                 /* where the run begins, in bits from each view's data */
    int64_t from;
} dlpark__walk;

/* A walk without dimensions, at element 0 of both views. */
void dlpark__walk_init(dlpark__walk *walk, const dlpark_view *to, const dlpark_view *from);

/* Adds every dimension of the views in their order, outermost first, but those that lead nowhere. */
void dlpark__walk_add_ordered(dlpark__walk *walk, const dlpark_view *to, const dlpark_view *from);

/* The same in the order of memory: backward dimensions turned round, long strides outside. */
void dlpark__walk_add_sorted(dlpark__walk *walk, const dlpark_view *to, const dlpark_view *from);

/* Adds the innermost dimension, unless it leads nowhere. */
void dlpark__walk_add_inner(dlpark__walk *walk, int64_t extent, int64_t to, int64_t from);

/* Joins dimensions that are one in both views. The walk can then no longer say at which index it is. */
void dlpark__walk_join(dlpark__walk *walk);

/* Readies the walk at its first run. */
void dlpark__walk_begin(dlpark__walk *walk);

/* Goes to the next run; false when there is none. */
bool dlpark__walk_next(dlpark__walk *walk);

#endif
