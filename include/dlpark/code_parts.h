/**
 * What the functions of code.h are made of. Nothing here is of interest to a caller.
 */
#ifndef DLPARK_CODE_PARTS_H
#define DLPARK_CODE_PARTS_H

#include <stdint.h>
#include <string.h>

#include "cast.h"

DLPARK_BEGIN_C

#define DLPARK__CODE_INFINITE UINT32_C(0x7F800000)
#define DLPARK__CODE_QUIET    UINT32_C(0x00400000)

DLPARK_INLINE uint32_t dlpark__code_bits(float value);
DLPARK_INLINE float dlpark__code_float(uint32_t sign, uint32_t magnitude);
DLPARK_INLINE uint32_t dlpark__code_lift(uint32_t *magnitude, unsigned fraction_bits, unsigned step);
DLPARK_INLINE uint32_t dlpark__code_finite(uint32_t magnitude, unsigned fraction_bits, unsigned bias);
DLPARK_INLINE float dlpark__code_ieee(uint32_t sign, uint32_t magnitude, unsigned fraction_bits, unsigned bias);
DLPARK_INLINE float dlpark__code_fnuz(uint32_t code, unsigned fraction_bits, unsigned bias);
DLPARK_INLINE uint32_t dlpark__code_round(uint32_t magnitude, unsigned fraction_bits, unsigned bias);
DLPARK_INLINE uint8_t dlpark__code_byte(float value, dlpark_overflow overflow, unsigned fraction_bits, unsigned bias,
                                        uint32_t largest, uint32_t beyond, uint32_t nan);
DLPARK_INLINE uint8_t dlpark__code_byte_fnuz(float value, dlpark_overflow overflow, unsigned fraction_bits,
                                             unsigned bias);
DLPARK_INLINE uint8_t dlpark__code_narrow(float value, unsigned fraction_bits, unsigned bias, uint32_t sign);

DLPARK_INLINE uint32_t dlpark__code_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Of a float without sign, and whether it has one. */
DLPARK_INLINE float dlpark__code_float(uint32_t sign, uint32_t magnitude)
{
    uint32_t bits = magnitude | (sign != 0 ? UINT32_C(0x80000000) : 0);
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Shifts what has none of the highest `step` + 1 bits, of `fraction_bits` + 1 that there are, and takes it off the
 * exponent. */
DLPARK_INLINE uint32_t dlpark__code_lift(uint32_t *magnitude, unsigned fraction_bits, unsigned step)
{
    uint32_t by = fraction_bits >= step && *magnitude >> (fraction_bits + 1 - step) == 0 ? step : 0;

    *magnitude = by != 0 ? *magnitude << step : *magnitude;
    return by;
}

/* The bits of the float that a finite code without sign means. What is subnormal here is normal as a float: its highest
 * bit becomes the one that is not stored, and nothing happens to what is normal. Selects, so that loops can be vectors. */
DLPARK_INLINE uint32_t dlpark__code_finite(uint32_t magnitude, unsigned fraction_bits, unsigned bias)
{
    uint32_t lifted = magnitude;
    uint32_t below = dlpark__code_lift(&lifted, fraction_bits, 8);

    below += dlpark__code_lift(&lifted, fraction_bits, 4);
    below += dlpark__code_lift(&lifted, fraction_bits, 2);
    below += dlpark__code_lift(&lifted, fraction_bits, 1);
    uint32_t bits = (lifted << (23 - fraction_bits)) + ((127 - bias - below) << 23);

    return magnitude == 0 ? 0 : bits;
}

/* Where the largest exponent is infinity and NaN. */
DLPARK_INLINE float dlpark__code_ieee(uint32_t sign, uint32_t magnitude, unsigned fraction_bits, unsigned bias)
{
    uint32_t top = (2 * bias + 1) << fraction_bits;
    uint32_t finite = dlpark__code_finite(magnitude, fraction_bits, bias);
    uint32_t special = (DLPARK__CODE_INFINITE + ((magnitude - top) << (23 - fraction_bits))) |
                       (magnitude != top ? DLPARK__CODE_QUIET : 0);

    return dlpark__code_float(sign, magnitude < top ? finite : special);
}

DLPARK_INLINE float dlpark__code_fnuz(uint32_t code, unsigned fraction_bits, unsigned bias)
{
    uint32_t finite = dlpark__code_finite(code & 0x7F, fraction_bits, bias);
    uint32_t is_nan = code == 0x80 ? 1 : 0;

    return dlpark__code_float(is_nan != 0 ? 0 : code & 0x80,
                              is_nan != 0 ? DLPARK__CODE_INFINITE | DLPARK__CODE_QUIET : finite);
}

/* The code of a float without sign as if the exponent had no end: infinity and NaN are above any largest code. What is
 * subnormal as a float is 0 in all these formats. */
DLPARK_INLINE uint32_t dlpark__code_round(uint32_t magnitude, unsigned fraction_bits, unsigned bias)
{
    uint32_t exponent = magnitude >> 23;
    uint32_t significand = (magnitude & UINT32_C(0x7FFFFF)) | UINT32_C(0x800000);
    uint32_t lowest = 128 - bias; /* of a normal number there, as a float has it */
    uint32_t below = exponent < lowest ? lowest - exponent : 0;
    uint32_t drop = 23 - fraction_bits + below;

    drop = drop < 25 ? drop : 25; /* less than half of the last place */
    uint32_t rounded = (significand + (UINT32_C(1) << (drop - 1)) - 1 + (significand >> drop & 1)) >> drop;
    /* The highest bit of the significand, which is not stored, is added to the exponent; so is a carry. */
    return rounded + (exponent < lowest ? 0 : (exponent - lowest) << fraction_bits);
}

DLPARK_INLINE uint8_t dlpark__code_byte(float value, dlpark_overflow overflow, unsigned fraction_bits, unsigned bias,
                                        uint32_t largest, uint32_t beyond, uint32_t nan)
{
    uint32_t bits = dlpark__code_bits(value);
    uint32_t magnitude = bits & UINT32_C(0x7FFFFFFF);
    uint32_t code = dlpark__code_round(magnitude, fraction_bits, bias);
    uint32_t infinite = overflow == DLPARK_OVERFLOW_SATALL ? largest : beyond;
    uint32_t large = overflow == DLPARK_OVERFLOW_SATFINITE ? largest : infinite;

    code = code > largest ? large : code;
    code = magnitude == DLPARK__CODE_INFINITE ? infinite : code;
    code = magnitude > DLPARK__CODE_INFINITE ? nan : code;
    return DLPARK_CAST(uint8_t, code | (bits >> 24 & 0x80));
}

/* There is no -0: its code is the one NaN, which is that of infinity as well. */
DLPARK_INLINE uint8_t dlpark__code_byte_fnuz(float value, dlpark_overflow overflow, unsigned fraction_bits,
                                             unsigned bias)
{
    uint8_t code = dlpark__code_byte(value, overflow, fraction_bits, bias, 0x7F, 0x80, 0x80);

    uint32_t magnitude = dlpark__code_bits(value) & UINT32_C(0x7FFFFFFF);

    return DLPARK_CAST(uint8_t, code == 0x80 && magnitude < UINT32_C(0x3F800000) ? 0 : code);
}

/* Every code is a number; `sign` is the bit of it. */
DLPARK_INLINE uint8_t dlpark__code_narrow(float value, unsigned fraction_bits, unsigned bias, uint32_t sign)
{
    uint32_t bits = dlpark__code_bits(value);
    uint32_t magnitude = bits & UINT32_C(0x7FFFFFFF);
    uint32_t code = dlpark__code_round(magnitude, fraction_bits, bias);
    uint32_t is_nan = magnitude > DLPARK__CODE_INFINITE ? 1 : 0;
    uint32_t is_negative = bits >> 31 ^ is_nan;

    code = code > sign - 1 ? sign - 1 : code;
    return DLPARK_CAST(uint8_t, (is_nan != 0 ? 0 : code) | (is_negative != 0 ? sign : 0));
}

DLPARK_END_C

#endif
