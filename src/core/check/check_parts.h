/*
 * What the sources of check share among themselves.
 */
#ifndef DLPARK_CHECK_PARTS_H
#define DLPARK_CHECK_PARTS_H

#include "../internal.h"

/* Where faults go: as many as fit, and how many there were. */
typedef struct dlpark__faults {
    dlpark_fault *list;
    size_t capacity;
    size_t count;
} dlpark__faults;

/* A tensor under judgement, and what the broken rules found out for the hazards. */
typedef struct dlpark__judged {
    const DLTensor *tensor;
    uint64_t flags;
    DLPackVersion version;
    bool foreign; /* of another major version, of which nothing is read */
    bool legible; /* there is a tensor, of a major version that is read here */
    bool dtype_known;
    bool device_known;
    bool shape_known;  /* the lists may be read, and no extent is negative */
    bool extent_known; /* `extent` is right: nothing overflowed */
    bool empty;        /* an extent is 0 */
    dlpark__span extent;
} dlpark__judged;

/* Notes a fault; `what` is the message up to the table's words, or with ", expected " the whole of it. `dimension` is -1
 * for a whole field. */
void dlpark__faults_add(dlpark__faults *faults, dlpark_rule rule, int32_t dimension, int64_t value, int64_t limit,
                        const char *what, ...) DLPARK_PRINTF(6, 7);

/* The two halves of the table. `lists` false: nothing but the head is judged, and the lists are not read. */
void dlpark__judge_broken(dlpark__judged *judged, bool lists, dlpark__faults *faults);
void dlpark__judge_hazards(const dlpark__judged *judged, dlpark__faults *faults);

/* Bytes that a known extent reaches below and above element 0; false when they, or all elements, leave 63 bits. */
bool dlpark__check_reach(const DLTensor *tensor, uint64_t flags, const dlpark__span *extent, int64_t *below,
                         int64_t *above);

/* Whether that reach lies within the address space, or for a handle between its offset and the limit of one. */
bool dlpark__check_address(const DLTensor *tensor, int64_t below, int64_t above);

#endif
