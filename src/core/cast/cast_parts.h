/*
 * What the files of the cast share: what is to become of an element, the chain of steps that does it, and the one element
 * at a time that counts and refuses.
 */
#ifndef DLPARK_CORE_CAST_PARTS_H
#define DLPARK_CORE_CAST_PARTS_H

#include <dlpark/cast.h>

#include "../elements/float_parts.h"
#include "../elements/walk_parts.h"
#include "../internal.h"
#include "../kernels/kernels.h"

/* A side of a cast. */
typedef struct dlpark__cast_side {
    DLDataType part;                    /* the dtype of one lane, and of one part of a complex one */
    const dlpark__float_format *format; /* of a float; NULL: an integer or bool */
    unsigned parts;                     /* 2 where complex */
    bool padded;                        /* a sub-byte part has a byte of its own */
} dlpark__cast_side;

/* A cast that was found possible, its options resolved. */
typedef struct dlpark__cast_job {
    dlpark__cast_side to;
    dlpark__cast_side from;
    unsigned lanes;
    dlpark_overflow overflow; /* NOSAT, SATFINITE, SATALL, WRAP or SATURATE */
    dlpark_scale_rounding scale;
} dlpark__cast_job;

/* How many steps a chain has at most, and how many elements go through it at once: all that a tile needs is in the
 * first cache. */
#define DLPARK__CAST_MAX_STEPS 4
#define DLPARK__CAST_TILE      512

typedef struct dlpark__cast_chain {
    dlpark__cast_step steps[DLPARK__CAST_MAX_STEPS];
    int count; /* 0: the parts are alike; -1: no chain does this job, one element at a time does */
    dlpark__cast_params params;
    uint8_t table[512]; /* what params.table may be */
} dlpark__cast_chain;

/* Bits from one part to the next, where they lie side by side. */
static inline unsigned dlpark__cast_side_step(const dlpark__cast_side *side)
{
    return side->padded ? 8u : side->part.bits;
}

/* ---- cast_chain.c ---- */

void dlpark__cast_chain_make(dlpark__cast_chain *chain, const dlpark__cast_job *job);

/* Puts a table of all codes, which have at most 8 bits, in the place of the steps from bytes to at most 16 bits, or to float32. Runs them, so the
 * floating-point unit is as they want it: dlpark__cast_run() does so where it pays. The chain stays where it is. */
void dlpark__cast_chain_tabulate(dlpark__cast_chain *chain, const dlpark__cast_job *job);

/* ---- cast_walk.c ---- */

/* Readies a walk over the parts of two views: those of each element innermost. In memory order and joined, or in the
 * order of indices. */
void dlpark__cast_walk_begin(dlpark__walk *walk, const dlpark__cast_job *job, const dlpark_view *to,
                             const dlpark_view *from, bool ordered);

/* Whether the walk writes nothing that it has yet to read, although both sides begin at one byte. */
bool dlpark__cast_walk_is_forward(const dlpark__walk *walk, const dlpark__cast_job *job);

/* ---- cast_run.c ---- */

/* Does a job by its chain, which may be changed for it. The views have elements. */
void dlpark__cast_run(const dlpark__cast_job *job, dlpark__cast_chain *chain, const dlpark_view *to,
                      const dlpark_view *from);

/* ---- cast_exact.c ---- */

/* The same one element at a time, which every job can be done by. */
void dlpark__cast_exact(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from);

/* Counts what a job would do, and writes nothing. */
void dlpark__cast_count(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from,
                        dlpark_cast_counts *counts);

/* DLPARK_E_VALUE for the first element, in the order of indices, that a job would not hold; writes nothing. */
dlpark_status dlpark__cast_check_values(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from,
                                        dlpark_error *err);

#endif
