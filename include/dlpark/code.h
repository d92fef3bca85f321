/**
 * The codes of narrow floats as numbers, one at a time, and back: for loops of your own.
 *
 *     const uint16_t *half = DLPARK_CPU(...);                          // as dlpark has a float16: its bits
 *     sum += dlpark_f16_decode(half[i]);
 *     out[i] = dlpark_f8_e4m3fn_encode(x, DLPARK_OVERFLOW_SATFINITE);
 *
 * A code is the bits of one element, in the lowest bits of an integer; the bits above it are not looked at. Decoding is
 * exact, a NaN becomes a quiet one and keeps its sign and payload. Encoding rounds once, to nearest with ties to even, and
 * does with NaN, infinity and what is too large the same as dlpark_cast(), which is the function for whole tensors.
 *
 * All of it is inline, in integer arithmetic alone: no mode of the floating-point unit matters, and no flag of it is
 * raised. There are no tables and no branches on data, so that compilers make vectors of loops. One that converts a double
 * to the `float` parameter has rounded it once already: dlpark_code_encode() takes a double as it is.
 *
 * `overflow` is DLPARK_OVERFLOW_NOSAT, _SATFINITE or _SATALL; any other mode is NOSAT. What has no such parameter is NOSAT.
 */
#ifndef DLPARK_CODE_H
#define DLPARK_CODE_H

#include <stdint.h>

#include "cast.h"
#include "code_parts.h"
#include "dlpack.h"
#include "status.h"

DLPARK_BEGIN_C

/* ---- 16 bits: too large is infinity ---- */

/**
 * The code of a float, and the float of a code. Decoding is exact; encoding rounds once, to nearest with ties to even.
 * Too large is infinity.
 * Threads: any.
 */
DLPARK_INLINE float dlpark_f16_decode(uint16_t code);
DLPARK_INLINE uint16_t dlpark_f16_encode(float value);
DLPARK_INLINE float dlpark_bf16_decode(uint16_t code);
DLPARK_INLINE uint16_t dlpark_bf16_encode(float value);

/* ---- 8 bits: too large is as `overflow` says, by default infinity, or NaN in the FN and FNUZ formats ---- */

/**
 * The code of a float, and the float of a code. Decoding is exact; encoding rounds once, to nearest with ties to even.
 * Too large is as `overflow` says, by default infinity, or NaN in the formats that have none.
 * Threads: any.
 */
DLPARK_INLINE float dlpark_f8_e3m4_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f8_e3m4_encode(float value, dlpark_overflow overflow);
DLPARK_INLINE float dlpark_f8_e4m3_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f8_e4m3_encode(float value, dlpark_overflow overflow);
DLPARK_INLINE float dlpark_f8_e4m3b11fnuz_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f8_e4m3b11fnuz_encode(float value, dlpark_overflow overflow);
DLPARK_INLINE float dlpark_f8_e4m3fn_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f8_e4m3fn_encode(float value, dlpark_overflow overflow);
DLPARK_INLINE float dlpark_f8_e4m3fnuz_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f8_e4m3fnuz_encode(float value, dlpark_overflow overflow);
DLPARK_INLINE float dlpark_f8_e5m2_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f8_e5m2_encode(float value, dlpark_overflow overflow);
DLPARK_INLINE float dlpark_f8_e5m2fnuz_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f8_e5m2fnuz_encode(float value, dlpark_overflow overflow);

/** A power of two; its code 0 is 2^-127, which is subnormal as a float. */
DLPARK_INLINE float dlpark_f8_e8m0fnu_decode(uint8_t code);

/** The nearest power of two, 1.5 times one going up. Zero and what is negative become NaN, or 2^-127 where `overflow`
 *  saturates. Other roundings are options of dlpark_cast(). */
DLPARK_INLINE uint8_t dlpark_f8_e8m0fnu_encode(float value, dlpark_overflow overflow);

/* ---- 6 and 4 bits: too large, and infinity, is the largest; NaN is -0, a negative one +0 ---- */

/**
 * The code of a float, and the float of a code. Decoding is exact; encoding rounds once, to nearest with ties to even.
 * Too large, and infinity, is the largest; NaN is -0, a negative one +0.
 * Threads: any.
 */
DLPARK_INLINE float dlpark_f6_e2m3fn_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f6_e2m3fn_encode(float value);
DLPARK_INLINE float dlpark_f6_e3m2fn_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f6_e3m2fn_encode(float value);
DLPARK_INLINE float dlpark_f4_e2m1fn_decode(uint8_t code);
DLPARK_INLINE uint8_t dlpark_f4_e2m1fn_encode(float value);

/* ---- Any dtype of one number of at most 64 bits: floats, integers, bool ---- */

/**
 * The number that a code stands for.
 *
 * @param dtype  in. Of floats, integers or bool, of at most 64 bits; `dtype.lanes` is not looked at.
 * @param code   in. The element's bits, the lowest first; those above the dtype's width are not looked at.
 * @param out    out. Exact but for integers of 64 bits, which come as the nearest double, ties to even. A NaN is quiet
 *               unless it is one of 64 bits. Not written on failure.
 * @param err    out, optional. Names the dtype.
 * @return DLPARK_OK; DLPARK_E_DTYPE.
 * Threads: any; no mode of the floating-point unit matters.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_code_decode(DLDataType dtype, uint64_t code, double *out,
                                                             dlpark_error *err);

/**
 * The code of a number, rounded once: what dlpark_cast() makes of a double.
 *
 * @param dtype     in. As above.
 * @param value     in. Any double.
 * @param overflow  in. As for dlpark_cast() from float64; DLPARK_OVERFLOW_REFUSE is DLPARK_E_VALUE for what the dtype does
 *                  not hold.
 * @param out       out. The bits above the dtype's width are 0. Not written on failure.
 * @param err       out, optional. Names the dtype, the mode, or the value.
 * @return DLPARK_OK; DLPARK_E_DTYPE; DLPARK_E_ARGUMENT (a mode that is none, or has no meaning for the dtype);
 *         DLPARK_E_VALUE.
 * Threads: any; no mode of the floating-point unit matters.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_code_encode(DLDataType dtype, double value, dlpark_overflow overflow,
                                                             uint64_t *out, dlpark_error *err);

/* ---- Bodies ---- */

DLPARK_INLINE float dlpark_f16_decode(uint16_t code)
{
    return dlpark__code_ieee(code & 0x8000u, code & 0x7FFFu, 10, 15);
}

DLPARK_INLINE uint16_t dlpark_f16_encode(float value)
{
    uint32_t bits = dlpark__code_bits(value);
    uint32_t magnitude = bits & UINT32_C(0x7FFFFFFF);
    uint32_t code = dlpark__code_round(magnitude, 10, 15);

    code = code > 0x7BFF ? 0x7C00 : code;
    code = magnitude > DLPARK__CODE_INFINITE ? 0x7E00 | (magnitude >> 13 & 0x3FF) : code;
    return DLPARK_CAST(uint16_t, code | (bits >> 16 & 0x8000));
}

DLPARK_INLINE float dlpark_bf16_decode(uint16_t code)
{
    uint32_t magnitude = DLPARK_CAST(uint32_t, code & 0x7FFFu) << 16;

    return dlpark__code_float(code & 0x8000u, magnitude | (magnitude > DLPARK__CODE_INFINITE ? DLPARK__CODE_QUIET : 0));
}

DLPARK_INLINE uint16_t dlpark_bf16_encode(float value)
{
    uint32_t bits = dlpark__code_bits(value);
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16; /* a carry makes infinity of what is too large */
    uint32_t is_nan = (bits & UINT32_C(0x7FFFFFFF)) > DLPARK__CODE_INFINITE ? 1 : 0;

    return DLPARK_CAST(uint16_t, is_nan != 0 ? bits >> 16 | 0x40 : rounded);
}

DLPARK_INLINE float dlpark_f8_e3m4_decode(uint8_t code)
{
    return dlpark__code_ieee(code & 0x80u, code & 0x7Fu, 4, 3);
}

DLPARK_INLINE uint8_t dlpark_f8_e3m4_encode(float value, dlpark_overflow overflow)
{
    return dlpark__code_byte(value, overflow, 4, 3, 0x6F, 0x70, 0x78);
}

DLPARK_INLINE float dlpark_f8_e4m3_decode(uint8_t code)
{
    return dlpark__code_ieee(code & 0x80u, code & 0x7Fu, 3, 7);
}

DLPARK_INLINE uint8_t dlpark_f8_e4m3_encode(float value, dlpark_overflow overflow)
{
    return dlpark__code_byte(value, overflow, 3, 7, 0x77, 0x78, 0x7C);
}

DLPARK_INLINE float dlpark_f8_e4m3b11fnuz_decode(uint8_t code)
{
    return dlpark__code_fnuz(code, 3, 11);
}

DLPARK_INLINE uint8_t dlpark_f8_e4m3b11fnuz_encode(float value, dlpark_overflow overflow)
{
    return dlpark__code_byte_fnuz(value, overflow, 3, 11);
}

DLPARK_INLINE float dlpark_f8_e4m3fn_decode(uint8_t code)
{
    uint32_t finite = dlpark__code_finite(code & 0x7Fu, 3, 7);

    return dlpark__code_float(code & 0x80u,
                              (code & 0x7F) == 0x7F ? DLPARK__CODE_INFINITE | DLPARK__CODE_QUIET : finite);
}

DLPARK_INLINE uint8_t dlpark_f8_e4m3fn_encode(float value, dlpark_overflow overflow)
{
    return dlpark__code_byte(value, overflow, 3, 7, 0x7E, 0x7F, 0x7F);
}

DLPARK_INLINE float dlpark_f8_e4m3fnuz_decode(uint8_t code)
{
    return dlpark__code_fnuz(code, 3, 8);
}

DLPARK_INLINE uint8_t dlpark_f8_e4m3fnuz_encode(float value, dlpark_overflow overflow)
{
    return dlpark__code_byte_fnuz(value, overflow, 3, 8);
}

DLPARK_INLINE float dlpark_f8_e5m2_decode(uint8_t code)
{
    return dlpark__code_ieee(code & 0x80u, code & 0x7Fu, 2, 15);
}

DLPARK_INLINE uint8_t dlpark_f8_e5m2_encode(float value, dlpark_overflow overflow)
{
    return dlpark__code_byte(value, overflow, 2, 15, 0x7B, 0x7C, 0x7E);
}

DLPARK_INLINE float dlpark_f8_e5m2fnuz_decode(uint8_t code)
{
    return dlpark__code_fnuz(code, 2, 16);
}

DLPARK_INLINE uint8_t dlpark_f8_e5m2fnuz_encode(float value, dlpark_overflow overflow)
{
    return dlpark__code_byte_fnuz(value, overflow, 2, 16);
}

DLPARK_INLINE float dlpark_f8_e8m0fnu_decode(uint8_t code)
{
    uint32_t power = code == 0 ? DLPARK__CODE_QUIET : DLPARK_CAST(uint32_t, code) << 23;

    return dlpark__code_float(0, code == 0xFF ? DLPARK__CODE_INFINITE | DLPARK__CODE_QUIET : power);
}

DLPARK_INLINE uint8_t dlpark_f8_e8m0fnu_encode(float value, dlpark_overflow overflow)
{
    uint32_t bits = dlpark__code_bits(value);
    uint32_t magnitude = bits & UINT32_C(0x7FFFFFFF);
    uint32_t all = overflow == DLPARK_OVERFLOW_SATALL ? 1 : 0;
    uint32_t saturates = overflow == DLPARK_OVERFLOW_SATFINITE ? 1 : all;
    /* Half of the last place carries into the exponent; 2^-127 is half a place itself, and 1.5 times it goes up. */
    uint32_t code = magnitude < UINT32_C(0x800000) ? (magnitude + UINT32_C(0x200000)) >> 23
                                                   : (magnitude + DLPARK__CODE_QUIET) >> 23;

    code = code > 0xFE ? 0xFFu - saturates : code;
    code = bits - 1 >= UINT32_C(0x7FFFFFFF) ? (saturates != 0 ? 0 : 0xFFu) : code; /* zero, or negative */
    code = magnitude == DLPARK__CODE_INFINITE ? (all == 0 ? 0xFFu : bits >> 31 != 0 ? 0 : 0xFEu) : code;
    return DLPARK_CAST(uint8_t, magnitude > DLPARK__CODE_INFINITE ? 0xFFu : code);
}

DLPARK_INLINE float dlpark_f6_e2m3fn_decode(uint8_t code)
{
    return dlpark__code_float(code & 0x20u, dlpark__code_finite(code & 0x1Fu, 3, 1));
}

DLPARK_INLINE uint8_t dlpark_f6_e2m3fn_encode(float value)
{
    return dlpark__code_narrow(value, 3, 1, 0x20);
}

DLPARK_INLINE float dlpark_f6_e3m2fn_decode(uint8_t code)
{
    return dlpark__code_float(code & 0x20u, dlpark__code_finite(code & 0x1Fu, 2, 3));
}

DLPARK_INLINE uint8_t dlpark_f6_e3m2fn_encode(float value)
{
    return dlpark__code_narrow(value, 2, 3, 0x20);
}

DLPARK_INLINE float dlpark_f4_e2m1fn_decode(uint8_t code)
{
    return dlpark__code_float(code & 0x8u, dlpark__code_finite(code & 0x7u, 1, 1));
}

DLPARK_INLINE uint8_t dlpark_f4_e2m1fn_encode(float value)
{
    return dlpark__code_narrow(value, 1, 1, 0x8);
}

DLPARK_END_C

#endif
