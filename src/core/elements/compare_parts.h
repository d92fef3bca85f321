/*
 * What the parts of a comparison share: compare.c walks the views and lays lanes side by side; compare_equal.c and
 * compare_close.c say what two rows of lanes have to be like.
 */
#ifndef DLPARK_CORE_COMPARE_PARTS_H
#define DLPARK_CORE_COMPARE_PARTS_H

#include "../internal.h"

/* Which codes of a float are NaN, and which are zero: c is NaN when ((c - offset) & mask) > above, and two codes are
 * both zero when neither has a bit of `zero`. */
typedef struct dlpark__float_rule {
    uint64_t offset;
    uint64_t mask;
    uint64_t above;
    uint64_t zero;
} dlpark__float_rule;

typedef struct dlpark__compare dlpark__compare;

/* The first of `count` lanes at which two rows differ, or `count`. Lanes lie one after the other, of any alignment; one
 * of less than a byte has a byte with the upper bits zero. */
typedef int64_t dlpark__compare_rows(const dlpark__compare *compare, const unsigned char *a, const unsigned char *b,
                                     int64_t count);

struct dlpark__compare {
    dlpark__compare_rows *rows;
    int64_t lanes;           /* in an element */
    unsigned width;          /* bits of a lane: 1, 2, 4, 6, 8, 16, 32, 64 or 128 */
    DLDataType dtype;        /* of a lane */
    dlpark__float_rule rule; /* equal: of floats */
    double rtol;             /* close */
    double atol;
    bool equal_nan;
};

/* ---- compare_equal.c ---- */

/* How elements of a known dtype are compared for equality. */
void dlpark__compare_equal(dlpark__compare *compare, DLDataType dtype);

/* ---- compare_close.c ---- */

/* How elements of a dtype are compared within the tolerances that are filled in; false when they cannot be. */
bool dlpark__compare_close(dlpark__compare *compare, DLDataType dtype);

#endif
