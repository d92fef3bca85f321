/*
 * The steps of a cast: loops over elements that lie one after the other, from one representation to the next. A cast is a
 * chain of them, by way of a common one that holds every value of the source exactly, or rounded so that what follows
 * cannot tell: floats as float32 or float64, integers in 64 bits. So there are few steps, and not one for each pair.
 *
 * Alignment is never assumed. `to` and `from` do not overlap, or are the same place with elements of `to` no larger. The
 * floating-point unit rounds to nearest and keeps subnormal numbers: whoever runs a chain sees to that.
 */
#ifndef DLPARK_CORE_KERNELS_CAST_STEPS_H
#define DLPARK_CORE_KERNELS_CAST_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the steps of one cast are told. Codes are those of the destination's format. */
typedef struct dlpark__cast_params {
    uintptr_t ahead; /* bytes from what a loop reads to what it asks for meanwhile */

    /* widen: the source's format */
    uint32_t from_fraction; /* bits of its fraction */
    uint32_t from_rebias;   /* 127 less its bias */
    uint32_t from_sign;     /* which bit its sign is */
    uint32_t from_top; /* magnitudes from here on are infinity and NaN; one past the largest code where there is none */
    bool from_infinite; /* from_top is infinity */
    bool from_fnuz;     /* the code of -0 is NaN */
    bool from_raw;      /* NaN may stay as it is: a later step makes it quiet, or something else */

    /* narrow: the destination's format */
    uint32_t shift;    /* 23 less the bits of its fraction */
    uint32_t rebias;   /* 127 less its bias */
    uint32_t sign;     /* which bit its sign is */
    uint32_t limit;    /* magnitudes above these bits of a float32 overflow */
    uint32_t over;     /* what they become */
    uint32_t infinite; /* what infinity becomes */
    uint32_t nan;      /* what NaN becomes, joined with what `payload` leaves of it */
    uint32_t payload;
    uint32_t clamp;   /* magnitudes above these bits of a float32 become what these do, NaN apart */
    uint32_t largest; /* where `fnuz`, codes of 0 and above this have no sign */
    bool fnuz;

    /* to float8_e8m0fnu, and to float32 from float64 */
    bool saturates;          /* finite values */
    bool saturates_infinite; /* infinity too */
    uint8_t scale;           /* dlpark_scale_rounding */

    /* to integers */
    int64_t low; /* the least value, and the greatest: of uint64 as if it were signed */
    uint64_t high;
    double low_float;  /* the least value */
    double past_float; /* the greatest and 1 */

    uint32_t nbits; /* of a signed integer of the source that has less than a byte */

    /* What each byte becomes: 256 bytes, and behind them 256 that are the upper ones where it becomes 16 bits. */
    const uint8_t *table;
} dlpark__cast_params;

typedef void (*dlpark__cast_step)(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from,
                                  size_t count);

/* How integers and their likes are stored: of a byte or less, and of whole bytes. */
enum { DLPARK__CAST_8, DLPARK__CAST_16, DLPARK__CAST_32, DLPARK__CAST_64, DLPARK__CAST_WIDTHS };

/* Bytes ahead of what is read that are asked for: the next page, to which no processor looks ahead by itself. */
#define DLPARK__CAST_AHEAD           4096
#define DLPARK__CAST_LINE            64 /* bytes of a line of a cache */
#define DLPARK__CAST_ASK_AHEAD(from) __builtin_prefetch((const void *)((uintptr_t)(from) + params->ahead))

/* Where a loop by vectors of `lanes` elements, `in` bytes to `out`, has `rest` of `all` left, fewer than a vector: goes so
 * far back that a last vector ends with them, and does some again. False, and nothing is changed, where there is no rest,
 * where there never was a vector, and where what would be read has been written. */
static inline bool dlpark__cast_back(unsigned char **to, const unsigned char **from, size_t *rest, size_t all,
                                     size_t lanes, size_t out, size_t in)
{
    const size_t more = lanes - *rest, done = all - *rest;
    const uintptr_t read = (uintptr_t)*from - more * in, written = (uintptr_t)*to - done * out;

    if (*rest == 0 || all < lanes || (read < (uintptr_t)*to && written < (uintptr_t)*from + *rest * in))
        return false;
    *to -= more * out;
    *from -= more * in;
    *rest = lanes;
    return true;
}

/* The steps. F32, F64: floats; I32, I64: integers of either sign; U64: those of uint64; ODD: to odd, see cast_chain.c. A name
 * in the singular that ends in 8 is the first of four, by width. */
typedef enum dlpark__cast_step_name {
    DLPARK__CAST_F32_OF_FLOAT8, /* any format of at most 8 bits but e8m0, one in a byte */
    DLPARK__CAST_F32_OF_FLOAT16,
    DLPARK__CAST_F32_OF_SCALE,
    DLPARK__CAST_FLOAT8_OF_F32,
    DLPARK__CAST_FLOAT16_OF_F32,
    DLPARK__CAST_SCALE_OF_F32,
    DLPARK__CAST_F64_OF_F32,
    DLPARK__CAST_F32_OF_F64,
    DLPARK__CAST_ODD_OF_F64,
    DLPARK__CAST_F32_OF_I32,
    DLPARK__CAST_F32_OF_I64,
    DLPARK__CAST_F32_OF_U64,
    DLPARK__CAST_ODD_OF_I64,
    DLPARK__CAST_ODD_OF_U64,
    DLPARK__CAST_F64_OF_I64,
    DLPARK__CAST_F64_OF_U64,
    DLPARK__CAST_I64_OF_BOOL,
    DLPARK__CAST_BOOL_OF_F32,
    DLPARK__CAST_BOOL_OF_F64,
    DLPARK__CAST_BOOL_OF_I64,
    DLPARK__CAST_UINT64_OF_F64,
    DLPARK__CAST_ODD_OF_I32,
    DLPARK__CAST_FLOAT8_OF_FLOAT16,  /* chains have it only where a set knows a way that is not by float32 */
    DLPARK__CAST_FLOAT16_OF_FLOAT16, /* the same: between float16 and bfloat16 */
    DLPARK__CAST_FLOAT8_OF_I16,
    DLPARK__CAST_FLOAT16_OF_I16,
    DLPARK__CAST_FLOAT8_OF_I32,
    DLPARK__CAST_FLOAT16_OF_I32,
    DLPARK__CAST_FLOAT16_OF_F64,
    DLPARK__CAST_TABLE,     /* bytes to bytes, by params->table */
    DLPARK__CAST_TABLE_16,  /* bytes to 16 bits */
    DLPARK__CAST_TABLE_F32, /* bytes to float32 by the upper 16 bits of it, where the lower are 0 */
    DLPARK__CAST_TABLE_FEW, /* the three of codes of at most 6 bits; where a set has a shorter way for these */
    DLPARK__CAST_TABLE_FEW_16,
    DLPARK__CAST_TABLE_FEW_F32,
    DLPARK__CAST_I8_OF_FEW, /* signed integers of less than a byte */
    DLPARK__CAST_I16_OF_I8,
    DLPARK__CAST_I16_OF_U8,
    DLPARK__CAST_WRAP_I16,     /* the low bits of 16, to 8 */
    DLPARK__CAST_SATURATE_I16, /* the same, kept within, and to 16 */
    DLPARK__CAST_SATURATE_I16_16,
    DLPARK__CAST_FINITE_8, /* infinity becomes the largest; there is none for 8 bits */
    DLPARK__CAST_I64_OF_SIGNED_8 =
        DLPARK__CAST_FINITE_8 + DLPARK__CAST_WIDTHS, /* none for 64: there is nothing to do */
    DLPARK__CAST_I64_OF_UNSIGNED_8 = DLPARK__CAST_I64_OF_SIGNED_8 + DLPARK__CAST_WIDTHS, /* the same */
    DLPARK__CAST_FLOAT_OF_SIGNED_8 =
        DLPARK__CAST_I64_OF_UNSIGNED_8 + DLPARK__CAST_WIDTHS, /* F32; of 32 bits F64; no 64 */
    DLPARK__CAST_FLOAT_OF_UNSIGNED_8 = DLPARK__CAST_FLOAT_OF_SIGNED_8 + DLPARK__CAST_WIDTHS, /* the same */
    DLPARK__CAST_F64_OF_SIGNED_8 =
        DLPARK__CAST_FLOAT_OF_UNSIGNED_8 + DLPARK__CAST_WIDTHS, /* of 8 and 16 bits; where a set has it */
    DLPARK__CAST_F64_OF_UNSIGNED_8 = DLPARK__CAST_F64_OF_SIGNED_8 + DLPARK__CAST_WIDTHS, /* the same */
    DLPARK__CAST_I32_OF_SIGNED_8 = DLPARK__CAST_F64_OF_UNSIGNED_8 + DLPARK__CAST_WIDTHS, /* of 8 and 16 bits */
    DLPARK__CAST_I32_OF_UNSIGNED_8 = DLPARK__CAST_I32_OF_SIGNED_8 + DLPARK__CAST_WIDTHS, /* the same */
    DLPARK__CAST_WRAP_I32_8 =
        DLPARK__CAST_I32_OF_UNSIGNED_8 + DLPARK__CAST_WIDTHS,                    /* the low bits of 32, to 8 and 16 */
    DLPARK__CAST_SATURATE_I32_8 = DLPARK__CAST_WRAP_I32_8 + DLPARK__CAST_WIDTHS, /* to 8, 16 and 32 */
    DLPARK__CAST_WRAP_8 = DLPARK__CAST_SATURATE_I32_8 + DLPARK__CAST_WIDTHS,     /* the low bits of 64, to fewer */
    DLPARK__CAST_SATURATE_I64_8 = DLPARK__CAST_WRAP_8 + DLPARK__CAST_WIDTHS,
    DLPARK__CAST_SATURATE_U64_8 = DLPARK__CAST_SATURATE_I64_8 + DLPARK__CAST_WIDTHS,
    DLPARK__CAST_INTEGER_OF_F32_8 = DLPARK__CAST_SATURATE_U64_8 + DLPARK__CAST_WIDTHS,
    DLPARK__CAST_INTEGER_OF_F64_8 = DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_WIDTHS,
    DLPARK__CAST_INTEGER_OF_FLOAT16_8 =
        DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_WIDTHS, /* of 8 to 32 bits; where a set has it */
    DLPARK__CAST_STEPS = DLPARK__CAST_INTEGER_OF_FLOAT16_8 + DLPARK__CAST_WIDTHS
} dlpark__cast_step_name;

/* ---- cast_generic.c ---- */

/* Every step; NULL where its name says that there is none. */
extern const dlpark__cast_step dlpark__cast_generic[DLPARK__CAST_STEPS];

#endif
