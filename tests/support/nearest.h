/*
 * What a number becomes as an element of another dtype: the oracle of the casts. It shares no code with the library, and
 * no idea: codes of a float are ordered as the magnitudes that they mean, so the nearest is found by bisection, with
 * exact comparisons. Slow on purpose.
 */
#ifndef NEAREST_H
#define NEAREST_H

#include <stdbool.h>
#include <stdint.h>

#include <dlpark/dlpark.h>

typedef enum nearest_kind { NEAREST_FINITE, NEAREST_INFINITE, NEAREST_NAN } nearest_kind;

/* (-1)^negative * significand * 2^exponent. */
typedef struct nearest_number {
    nearest_kind kind;
    bool negative;
    int exponent;
    uint64_t significand; /* of NaN: the fraction of a double */
} nearest_number;

/* What was lost; of one number at most one of the first two. */
enum { NEAREST_OVERFLOWED = 1, NEAREST_INEXACT = 2, NEAREST_WAS_NAN = 4 };

bool nearest_is_float(DLDataType dtype);

/* The largest finite code of a float, without sign. */
uint64_t nearest_largest(DLDataType dtype);

/* What a code means: of one lane, and one part of a complex one. Integers and bool as well. */
nearest_number nearest_value(DLDataType dtype, uint64_t code);

/* What lies in the middle between a code of a float, one of 0 to the largest, and the next. */
nearest_number nearest_middle(DLDataType dtype, uint64_t code);

nearest_number nearest_of_double(double value);

/* -1, 0 or 1, as |a| is less than, equal to or greater than |b|; both finite. */
int nearest_compare(const nearest_number *a, const nearest_number *b);

/* The code of a number; `overflow` is one that has a meaning for the dtype, and neither DEFAULT nor REFUSE. Adds events. */
uint64_t nearest_code(DLDataType dtype, const nearest_number *number, dlpark_overflow overflow,
                      dlpark_scale_rounding scale, unsigned *events);

/* ---- Many float32 in the order of their bits ---- */

/* All begin with: dtype, overflow and scale as above, and the rest zero. */
typedef struct nearest_singles {
    DLDataType dtype;
    dlpark_overflow overflow;
    dlpark_scale_rounding scale;
    bool begun;
    uint32_t until; /* up to here, `code` */
    uint64_t code;
} nearest_singles;

/* The code of a float32 whose bits are no less than those of the call before. As cheap as codes change seldom. */
uint64_t nearest_single(nearest_singles *walk, uint32_t bits);

#endif
