/*
 * The float formats of DLPack as numbers: how a code is decoded, and how a value becomes a code, rounded once. In integers
 * alone, so that no mode of the floating-point unit matters.
 */
#ifndef DLPARK_CORE_FLOAT_PARTS_H
#define DLPARK_CORE_FLOAT_PARTS_H

#include <dlpark/cast.h>
#include <dlpark/element.h>

#include "../internal.h"

/* What the codes at the end of a format's range mean. */
typedef enum dlpark__float_flavour {
    DLPARK__FLOAT_IEEE,   /* the largest exponent is infinity and NaN */
    DLPARK__FLOAT_FN,     /* all ones is NaN, nothing is infinite */
    DLPARK__FLOAT_FNUZ,   /* what would be -0 is NaN, nothing is infinite */
    DLPARK__FLOAT_FINITE, /* every code is a number */
    DLPARK__FLOAT_E8M0    /* a power of two without sign; all ones is NaN */
} dlpark__float_flavour;

/* A float of at most 64 bits: sign, exponent, fraction, from the highest bit down. */
typedef struct dlpark__float_format {
    uint8_t exponent_bits;
    uint8_t fraction_bits;
    uint16_t bias;
    uint8_t flavour; /* dlpark__float_flavour */
} dlpark__float_format;

/* ---- float_format.c ---- */

/* The format of a dtype, and of the parts of a complex one; NULL for what is no float, or one of 128 bits. */
const dlpark__float_format *dlpark__float_format_of(DLDataType dtype);

/* All bits of a code but the sign. */
static inline uint64_t dlpark__float_ones(const dlpark__float_format *format)
{
    return (UINT64_C(1) << (format->exponent_bits + format->fraction_bits)) - 1;
}

/* The code of the largest finite magnitude. */
uint64_t dlpark__float_largest(const dlpark__float_format *format);

/* The code of infinity where the format has one; else of NaN; else the largest. Without sign, but for FNUZ. */
uint64_t dlpark__float_beyond(const dlpark__float_format *format);

/* The bits of the double that a code means: exact. A NaN keeps its sign and payload, and becomes quiet. */
uint64_t dlpark__float_decode(uint64_t code, const dlpark__float_format *format);

/* ---- float_encode.c ---- */

typedef enum dlpark__real_kind { DLPARK__REAL_FINITE, DLPARK__REAL_INFINITE, DLPARK__REAL_NAN } dlpark__real_kind;

/* The exact value of any element of at most 64 bits: (-1)^negative * significand * 2^exponent. */
typedef struct dlpark__real {
    dlpark__real_kind kind;
    bool negative;
    int32_t exponent;
    uint64_t significand; /* of NaN: the 52 bits of its payload as a double */
} dlpark__real;

/* What happened to a value on its way. */
enum {
    DLPARK__EVENT_OVERFLOW = 1,
    DLPARK__EVENT_INEXACT = 2,
    DLPARK__EVENT_NAN = 4,
    DLPARK__EVENT_INFINITE = 8 /* to floats; to integers infinity is an overflow */
};

/* The value of a double by its bits, and of an integer by its halves in two's complement. */
dlpark__real dlpark__real_of_double(uint64_t bits);
dlpark__real dlpark__real_of_integer(uint64_t low, bool negative);

/* The code of a value, rounded to nearest even; e8m0 as `rounding` says. `overflow` is NOSAT, SATFINITE or SATALL. Adds
 * its events. */
uint64_t dlpark__float_encode(const dlpark__real *real, const dlpark__float_format *format, dlpark_overflow overflow,
                              dlpark_scale_rounding rounding, unsigned *events);

/* Whether DLPARK_OVERFLOW_REFUSE refuses a value with these events: the dtype of the part, which may be bool, has no code
 * for it. */
bool dlpark__real_is_lost(unsigned events, DLDataType dtype);

/* The value as an integer of 1 to 64 bits, truncated; `overflow` is WRAP or SATURATE. Adds its events. */
uint64_t dlpark__integer_encode(const dlpark__real *real, unsigned nbits, bool is_signed, dlpark_overflow overflow,
                                unsigned *events);

#endif
