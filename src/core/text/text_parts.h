/*
 * What the sources of the text of a view share: text.c lays out, text_number.c writes numbers, text_float.c finds the
 * digits of floats.
 */
#ifndef DLPARK_CORE_TEXT_PARTS_H
#define DLPARK_CORE_TEXT_PARTS_H

#include <dlpark/text.h>

#include "../elements/element_parts.h"
#include "../sink.h"

/* ---- text_float.c ---- */

/* A float taken apart: when finite, its magnitude is (high * 2^64 + low) * 2^exponent, an integer of its grid. */
typedef struct dlpark__binary {
    bool is_negative;
    bool is_finite;
    bool is_nan;
    bool is_lower_closer; /* the next value below is at half the distance of the next above */
    int32_t exponent;
    uint64_t high;
    uint64_t low;
} dlpark__binary;

/* The real or the imaginary part of a float or complex scalar. */
void dlpark__binary_read(const dlpark_scalar *scalar, bool is_imaginary, dlpark__grid grid, dlpark__binary *out);

/* Decimal digits: d.ddd times 10^exponent. The last may be 0. */
#define DLPARK__DIGITS 48
typedef struct dlpark__decimal {
    int32_t exponent;
    int32_t count; /* 1 to DLPARK__DIGITS */
    char digits[DLPARK__DIGITS];
} dlpark__decimal;

/* Where digits end although the value would have more or fewer; -1 sets no limit. */
typedef struct dlpark__cut {
    bool is_fraction; /* counts digits after the point, instead of all */
    int32_t most;
    int32_t least;
} dlpark__cut;

/*
 * The fewest digits that tell a finite value from its neighbours on the grid, and of these the closest to it; a tie goes
 * to the even digit. `cut` ends them before, correctly rounded, or goes on beyond with the digits of the exact value.
 */
void dlpark__decimal_find(const dlpark__binary *value, dlpark__cut cut, dlpark__decimal *out);

/* Bits of the magnitude of a double: they are in the order of the values, whatever the floating-point unit is set to. */
uint64_t dlpark__double_magnitude(double value);

/*
 * Whether large / small, each a finite double but 0 given by its magnitude, exceeds 1000 after rounding to `precision`
 * bits, ties to even; not rounded where a precision of 10 bits or fewer cannot hold 1000 and a half unit of it.
 */
bool dlpark__double_exceeds_1000(uint64_t large, uint64_t small, int precision);

/* ---- text_number.c ---- */

/* How all floats of a tensor, or all parts of one kind, are written below each other. */
typedef struct dlpark__float_column {
    bool is_signed; /* a plus sign, too: imaginary parts */
    bool has_finite;
    bool has_special; /* nan or inf */
    bool has_negative_infinity;
    bool is_exponential;
    uint64_t largest;  /* magnitudes of finite values but 0 */
    uint64_t smallest; /* UINT64_MAX: none */
    int32_t left;      /* characters before the point */
    int32_t fraction;  /* digits after it */
    int32_t exponent_digits;
} dlpark__float_column;

/* How all lanes of a tensor are written. Looked at all, decided, if so measured all, ended; then it writes. */
typedef struct dlpark__column {
    dlpark__grid grid;
    int32_t precision; /* digits after the point at most */
    int32_t width;     /* characters of every lane */
    dlpark__float_column parts[2];
} dlpark__column;

void dlpark__column_begin(dlpark__column *column, DLDataType dtype, int32_t precision);
void dlpark__column_look(dlpark__column *column, const dlpark_scalar *scalar);
bool dlpark__column_decide(dlpark__column *column, DLDataType dtype); /* whether lanes are to be measured */
void dlpark__column_measure(dlpark__column *column, const dlpark_scalar *scalar);
void dlpark__column_end(dlpark__column *column, DLDataType dtype);
void dlpark__column_write(const dlpark__column *column, const dlpark_scalar *scalar, dlpark__sink *sink);

/* One lane that stands alone: all its digits, no padding. */
void dlpark__scalar_write(const dlpark_scalar *scalar, DLDataType dtype, dlpark__sink *sink);

#endif
