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
    /* widen: the source's format */
    uint32_t from_fraction; /* bits of its fraction */
    uint32_t from_rebias;   /* 127 less its bias */
    uint32_t from_sign;     /* which bit its sign is */
    uint32_t from_top; /* magnitudes from here on are infinity and NaN; one past the largest code where there is none */
    bool from_infinite; /* from_top is infinity */
    bool from_fnuz;     /* the code of -0 is NaN */

    /* narrow: the destination's format */
    uint32_t shift;    /* 23 less the bits of its fraction */
    uint32_t rebias;   /* 127 less its bias */
    uint32_t sign;     /* which bit its sign is */
    uint32_t limit;    /* magnitudes above these bits of a float32 overflow */
    uint32_t over;     /* what they become */
    uint32_t infinite; /* what infinity becomes */
    uint32_t nan;      /* what NaN becomes, joined with what `payload` leaves of it */
    uint32_t payload;
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

    uint32_t nbits; /* of an integer of the source that has less than a byte */
} dlpark__cast_params;

typedef void (*dlpark__cast_step)(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from,
                                  size_t count);

/* How integers and their likes are stored: of a byte or less, and of whole bytes. */
enum { DLPARK__CAST_8, DLPARK__CAST_16, DLPARK__CAST_32, DLPARK__CAST_64, DLPARK__CAST_WIDTHS };

/* The steps. F32, F64: floats; I64: integers of either sign; U64: those of uint64. Odd: to odd, see cast_chain.c. */
typedef struct dlpark__cast_steps {
    dlpark__cast_step f32_of_float8; /* any format of at most 8 bits but e8m0, one in a byte */
    dlpark__cast_step f32_of_float16;
    dlpark__cast_step f32_of_scale;
    dlpark__cast_step float8_of_f32;
    dlpark__cast_step float16_of_f32;
    dlpark__cast_step scale_of_f32;
    dlpark__cast_step f64_of_f32;
    dlpark__cast_step f32_of_f64;
    dlpark__cast_step odd_of_f64;
    dlpark__cast_step
        finite[DLPARK__CAST_WIDTHS]; /* infinity becomes the largest; float16 to float64, the first is NULL */

    dlpark__cast_step i64_of_signed[DLPARK__CAST_WIDTHS]; /* the last of either row is NULL: there is nothing to do */
    dlpark__cast_step i64_of_unsigned[DLPARK__CAST_WIDTHS];
    dlpark__cast_step i64_of_bool;
    dlpark__cast_step f32_of_i64, f32_of_u64;
    dlpark__cast_step odd_of_i64, odd_of_u64;
    dlpark__cast_step f64_of_i64, f64_of_u64;

    dlpark__cast_step wrap[DLPARK__CAST_WIDTHS]; /* the low bits of 64 */
    dlpark__cast_step saturate_i64[DLPARK__CAST_WIDTHS];
    dlpark__cast_step saturate_u64[DLPARK__CAST_WIDTHS];
    dlpark__cast_step integer_of_f32[DLPARK__CAST_WIDTHS]; /* the last is NULL */
    dlpark__cast_step integer_of_f64[DLPARK__CAST_WIDTHS];
    dlpark__cast_step uint64_of_f64;

    dlpark__cast_step bool_of_f32;
    dlpark__cast_step bool_of_f64;
    dlpark__cast_step bool_of_i64;
} dlpark__cast_steps;

/* ---- cast_generic.c ---- */

extern const dlpark__cast_steps dlpark__cast_generic;

#endif
