/*
 * The steps of casts by vectors of CAST_LANES numbers of 32 bits: one text for all instruction sets. The file of a set
 * defines the operations below, includes this, and has its table. The elements behind the last whole vector go to
 * cast_generic.c. Arithmetic, shifts and comparisons are the compiler's own on vectors; only where the width of elements
 * changes does a set say how.
 *
 *     CAST_LANES             4, 8 or 16
 *     CAST_TARGET            the attribute of a function
 *     CAST_NAME(x)           x with the prefix of the set
 *     CAST_LOAD8(p)          bytes to lanes; CAST_LOAD16(p) pairs of bytes; with zeros above them
 *     CAST_EXTEND8(p)        the same with their sign; CAST_EXTEND16(p)
 *     CAST_SAVE8(p, v)       the lowest byte of each lane; CAST_SAVE16(p, v) the lowest two
 *     CAST_WIDEN_HALF(p)     float16 to float32; CAST_NARROW_HALF(v) the reverse, to nearest, a float16 in each lane
 *
 * and, where it has better than what stands here for them,
 *
 *     CAST_MIN(a, b)         the lesser of signed numbers; CAST_MAX(a, b) the greater
 *     CAST_MORE(a, b, x, y)  lanes of x where a > b, signed; of y elsewhere
 *     CAST_JOIN(a, b)        two vectors of half as many lanes as one: a set of more than 4 lanes has to have it
 *     CAST_QUIET(v, other)   lanes of v that are NaN as float32, made quiet; of other elsewhere
 *     CAST_SHIFT(v, n)       to the right by a number of bits that is no constant
 *     CAST_SAVE_HALF(p, v)   CAST_NARROW_HALF, stored
 *     CAST_WIDEN_F32(v)      half as many lanes of float32 as float64; CAST_WIDEN_I32(v) of int32
 *
 * A set that defines CAST_OWN_CONVERSIONS has odd, truncate_wide, and the steps from floats to integers of at most 32 bits and
 * from int16 to floats of at most 16 of its own, one that defines CAST_OWN_ODD has odd_of_f64: in a file between
 * cast_vector_begin.h, which this includes otherwise, and this.
 *
 * The file ends with cast_vector_end.h.
 */
#include "cast_vector_begin.h"

/* ---- Floats to float32 ---- */

/* A format's numbers in registers, for a loop. */
typedef struct CAST_NAME(format) {
    uint32_t fraction, up, sign, top, special, bias, subnormal, nan_code;
} CAST_NAME(format);

static inline CAST_TARGET CAST_NAME(format) CAST_NAME(format_of)(const dlpark__cast_params *params)
{
    return (CAST_NAME(format)){
        .fraction = params->from_fraction,
        .up = 23 - params->from_fraction,
        .sign = params->from_sign,
        .top = params->from_top,
        .special = params->from_infinite ? 0x7F800000 : 0x7FC00000,
        .bias = params->from_rebias << 23,
        .subnormal = ((params->from_rebias + 1) << 23) - ((127 + params->from_fraction) << 23),
        .nan_code = params->from_fnuz ? 1u << params->from_sign : UINT32_MAX,
    };
}

static inline CAST_TARGET CAST_U32 CAST_NAME(widen)(const CAST_NAME(format) * format, CAST_U32 code)
{
    CAST_U32 magnitude = code & ((1u << format->sign) - 1);
    CAST_U32 negative = (code >> format->sign) << 31;
    CAST_U32 bits = (magnitude << format->up) + format->bias;
    CAST_F32 number = __builtin_convertvector((CAST_I32)magnitude, CAST_F32);
    CAST_U32 small = (CAST_U32)number + format->subnormal;
    /* Where infinity is a code, all above it is NaN, and keeps its payload. */
    CAST_U32 payload = (magnitude - format->top) << format->up;
    CAST_U32 special = format->special | payload | ((CAST_U32)((CAST_I32)payload > 0) & 0x00400000);

    small = small & (CAST_U32)((CAST_I32)magnitude > 0);
    bits = CAST_PICK((CAST_I32)magnitude < (int32_t)(1u << format->fraction), small, bits);
    bits = CAST_PICK((CAST_I32)magnitude >= (int32_t)format->top, special, bits) | negative;
    return CAST_PICK(code == format->nan_code, (CAST_U32){0} + 0x7FC00000, bits);
}

static CAST_STEP(f32_of_float8)
{
    enum { out_nbytes = CAST_LANES * 4, in_nbytes = CAST_LANES };
    const CAST_NAME(format) format = CAST_NAME(format_of)(params);

    CAST_EACH(CAST_LANES)
    {
        CAST_U32 bits = CAST_NAME(widen)(&format, CAST_LOAD8(from));
        memcpy(to, &bits, sizeof bits);
    }
    CAST_REST(DLPARK__CAST_F32_OF_FLOAT8);
}

/* bfloat16, of which a NaN becomes quiet. */
static inline CAST_TARGET CAST_U32 CAST_NAME(widen_brain)(CAST_U32 code)
{
    CAST_U32 bits = code << 16;

    return CAST_QUIET(bits, bits);
}

static CAST_STEP(f32_of_float16)
{
    enum { out_nbytes = CAST_LANES * 4, in_nbytes = CAST_LANES * 2 };

    if (params->from_fraction == 10) {
        CAST_EACH(CAST_LANES)
        {
            CAST_F32 numbers = CAST_WIDEN_HALF(from);
            memcpy(to, &numbers, sizeof numbers);
        }
    } else if (params->from_raw) {
        CAST_EACH(CAST_LANES)
        {
            CAST_U32 bits = CAST_LOAD16(from) << 16;
            memcpy(to, &bits, sizeof bits);
        }
    } else {
        enum { pair_lanes = 2 * CAST_LANES, pair_out = 2 * out_nbytes, pair_in = 2 * in_nbytes };
        for (; count >= pair_lanes; count -= pair_lanes, to += pair_out, from += pair_in) {
            CAST_U32 first = CAST_NAME(widen_brain)(CAST_LOAD16(from));
            CAST_U32 second = CAST_NAME(widen_brain)(CAST_LOAD16(from + in_nbytes));
            memcpy(to, &first, sizeof first);
            memcpy(to + out_nbytes, &second, sizeof second);
            DLPARK__CAST_ASK_AHEAD(from);
        }
        CAST_EACH(CAST_LANES)
        {
            CAST_U32 bits = CAST_NAME(widen_brain)(CAST_LOAD16(from));
            memcpy(to, &bits, sizeof bits);
        }
    }
    CAST_REST(DLPARK__CAST_F32_OF_FLOAT16);
}

/* ---- float32 to smaller floats ---- */

/* What is no number: `code` is what the rest became, `nan` what NaN becomes. */
static inline CAST_TARGET CAST_U32 CAST_NAME(mend)(const dlpark__cast_params *params, CAST_U32 magnitude, CAST_U32 nan,
                                                   CAST_U32 code)
{
    if (params->infinite != params->over)
        code = CAST_MORE(magnitude, CAST_ALL(0x7F7FFFFF), CAST_ALL(params->infinite), code);
    return CAST_MORE(magnitude, CAST_ALL(0x7F800000), nan, code);
}

/* The addition rounds: to a number so much larger that its last place is the one of the result. Its exponent is at least
 * that of the least normal number there, so subnormal numbers are no case of their own. Only the lowest byte of a lane is
 * the code: the larger number has in its lowest places what is to be taken from the exponent. */
static inline CAST_TARGET CAST_U32 CAST_NAME(narrow)(const dlpark__cast_params *params, CAST_U32 bits)
{
    const uint32_t shift = params->shift, least = (params->rebias + 1) << 23;
    const uint32_t larger = (shift << 23) + ((0 - (least >> shift)) & 0xFF);
    CAST_U32 magnitude = bits & 0x7FFFFFFF;
    CAST_U32 sign = CAST_SHIFT(bits, 31 - params->sign) & 1u << params->sign;
    CAST_U32 kept = CAST_MIN(magnitude, CAST_ALL(params->clamp));
    CAST_U32 exponent = CAST_MAX(kept & 0x7F800000, CAST_ALL(least));
    CAST_U32 rounded = (CAST_U32)((CAST_F32)kept + (CAST_F32)(exponent + larger));
    CAST_U32 code = rounded + CAST_SHIFT(exponent, shift);

    code = CAST_NAME(mend)(params, magnitude, CAST_ALL(params->nan), code); /* of 8 bits there is no payload */
    if (params->fnuz) /* 0 has no sign; what is above the largest is the sign */
        return code | CAST_MORE(code & 0xFF, CAST_ALL(0), sign, CAST_ALL(0));
    return code ^ sign;
}

/* bfloat16 has the exponents of float32, up to the last: there is no larger number to add. */
static inline CAST_TARGET CAST_U32 CAST_NAME(narrow_brain)(const dlpark__cast_params *params, CAST_U32 bits)
{
    CAST_U32 magnitude = bits & 0x7FFFFFFF;
    CAST_U32 kept = CAST_MIN(magnitude, CAST_ALL(params->clamp));
    CAST_U32 code = (kept + 0x7FFF + (kept >> 16 & 1)) >> 16;

    return CAST_NAME(mend)(params, magnitude, magnitude >> 16 | params->nan, code) | (bits >> 16 & 0x8000);
}

/* The same where infinity may come of a number: the upper half of a float32 is all that there is to round. */
static inline CAST_TARGET CAST_U32 CAST_NAME(narrow_brain_nosat)(CAST_U32 bits)
{
    CAST_U32 rounded = bits + 0x7FFF + (bits >> 16 & 1);

    return CAST_QUIET(bits, rounded) >> 16;
}

/* The processor's own rounding; where infinity is not to come of a number, numbers are clamped. */
static inline CAST_TARGET CAST_U32 CAST_NAME(clamp_half)(const dlpark__cast_params *params, CAST_U32 bits)
{
    CAST_U32 magnitude = bits & 0x7FFFFFFF;
    CAST_U32 kept = CAST_MIN(magnitude, CAST_ALL(params->clamp));

    if (params->infinite != params->over)
        kept = CAST_MORE(magnitude, CAST_ALL(0x7F7FFFFF), magnitude, kept);
    kept = CAST_MORE(magnitude, CAST_ALL(0x7F800000), magnitude, kept);
    return kept | (bits & 0x80000000);
}

static CAST_STEP(float8_of_f32)
{
    enum { out_nbytes = CAST_LANES, in_nbytes = CAST_LANES * 4 };
    const dlpark__cast_params known = *params; /* a copy: what bytes are written could be these */

    CAST_EACH(CAST_LANES)
    {
        CAST_U32 bits;
        memcpy(&bits, from, sizeof bits);
        CAST_SAVE8(to, CAST_NAME(narrow)(&known, bits));
    }
    CAST_REST(DLPARK__CAST_FLOAT8_OF_F32);
}

static inline CAST_TARGET CAST_U32 CAST_NAME(load)(const unsigned char *from)
{
    CAST_U32 words;

    memcpy(&words, from, sizeof words);
    return words;
}

/* A loop for each of the ways that the format and the mode allow. */
static CAST_STEP(float16_of_f32)
{
    enum { out_nbytes = CAST_LANES * 2, in_nbytes = CAST_LANES * 4 };
    const dlpark__cast_params known = *params;

    if (known.over == 0x7C00) { /* infinity, of float16 alone */
        CAST_EACH(CAST_LANES)
        CAST_SAVE_HALF(to, CAST_NAME(load)(from));
    } else if (known.shift == 13) {
        CAST_EACH(CAST_LANES)
        CAST_SAVE_HALF(to, CAST_NAME(clamp_half)(&known, CAST_NAME(load)(from)));
    } else if (known.over == 0x7F80) {
        CAST_EACH(CAST_LANES)
        CAST_SAVE16(to, CAST_NAME(narrow_brain_nosat)(CAST_NAME(load)(from)));
    } else {
        CAST_EACH(CAST_LANES)
        CAST_SAVE16(to, CAST_NAME(narrow_brain)(&known, CAST_NAME(load)(from)));
    }
    CAST_REST(DLPARK__CAST_FLOAT16_OF_F32);
}

static CAST_STEP(float16_of_float16)
{
    enum { out_nbytes = CAST_LANES * 2, in_nbytes = CAST_LANES * 2 };
    const dlpark__cast_params known = *params;

    if (known.over == 0x7C00) { /* infinity, of float16 alone; NaN of bfloat16 becomes quiet on its way */
        CAST_EACH(CAST_LANES)
        CAST_SAVE_HALF(to, CAST_LOAD16(from) << 16);
    } else if (known.shift == 13) {
        CAST_EACH(CAST_LANES)
        CAST_SAVE_HALF(to, CAST_NAME(clamp_half)(&known, CAST_LOAD16(from) << 16));
    } else if (known.over == 0x7F80) {
        CAST_EACH(CAST_LANES)
        CAST_SAVE16(to, CAST_NAME(narrow_brain_nosat)((CAST_U32)CAST_WIDEN_HALF(from)));
    } else {
        CAST_EACH(CAST_LANES)
        CAST_SAVE16(to, CAST_NAME(narrow_brain)(&known, (CAST_U32)CAST_WIDEN_HALF(from)));
    }
    CAST_REST(DLPARK__CAST_FLOAT16_OF_FLOAT16);
}

/* ---- float32 and float64 ---- */

static CAST_STEP(f64_of_f32)
{
    enum { lanes = CAST_LANES / 2, out_nbytes = lanes * 8, in_nbytes = lanes * 4 };

    CAST_EACH(lanes)
    {
        CAST_F32X numbers;
        memcpy(&numbers, from, sizeof numbers);
        CAST_F64X wide = CAST_WIDEN_F32(numbers);
        memcpy(to, &wide, sizeof wide);
    }
    CAST_REST(DLPARK__CAST_F64_OF_F32);
}

static CAST_STEP(f32_of_f64)
{
    enum { lanes = CAST_LANES / 2, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };

    if (!params->saturates) {
        CAST_EACH(lanes)
        {
            CAST_F64X numbers;
            memcpy(&numbers, from, sizeof numbers);
            CAST_F32X narrow = __builtin_convertvector(numbers, CAST_F32X);
            memcpy(to, &narrow, sizeof narrow);
        }
    }
    CAST_REST(DLPARK__CAST_F32_OF_F64);
}

#if !defined(CAST_OWN_ODD)
static CAST_STEP(odd_of_f64)
{
    enum { lanes = CAST_LANES / 2, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };

    CAST_EACH(lanes)
    {
        CAST_F64X numbers;
        memcpy(&numbers, from, sizeof numbers);
        CAST_F32X near = __builtin_convertvector(numbers, CAST_F32X);
        CAST_F64X back = __builtin_convertvector(near, CAST_F64X);
        /* Doubles without their sign are ordered as integers are; of equal ones, and of NaN, nothing was lost. */
        CAST_I64X size = (CAST_I64X)numbers & INT64_MAX, back_size = (CAST_I64X)back & INT64_MAX;
        CAST_I64X lost = (back_size != size) & (size <= INT64_C(0x7FF0000000000000));
        CAST_I32X grew = __builtin_convertvector(lost & (back_size > size), CAST_I32X);
        CAST_U32X bits = (CAST_U32X)((CAST_I32X)near + grew);
        bits |= (CAST_U32X) __builtin_convertvector(lost, CAST_I32X) & 1;
        memcpy(to, &bits, sizeof bits);
    }
    CAST_REST(DLPARK__CAST_ODD_OF_F64);
}
#endif

#include "cast_vector_integers.h"

#define CAST_ROWS                                                                                                      \
    [DLPARK__CAST_F32_OF_FLOAT8] = CAST_NAME(f32_of_float8),                                                           \
    [DLPARK__CAST_F32_OF_FLOAT16] = CAST_NAME(f32_of_float16),                                                         \
    [DLPARK__CAST_FLOAT8_OF_F32] = CAST_NAME(float8_of_f32),                                                           \
    [DLPARK__CAST_FLOAT16_OF_FLOAT16] = CAST_NAME(float16_of_float16),                                                 \
    [DLPARK__CAST_FLOAT16_OF_I16] = CAST_NAME(float16_of_i16),                                                         \
    [DLPARK__CAST_FLOAT8_OF_I16] = CAST_NAME(float8_of_i16),                                                           \
    [DLPARK__CAST_FLOAT16_OF_F32] = CAST_NAME(float16_of_f32), [DLPARK__CAST_F64_OF_F32] = CAST_NAME(f64_of_f32),      \
    [DLPARK__CAST_F32_OF_F64] = CAST_NAME(f32_of_f64), [DLPARK__CAST_ODD_OF_F64] = CAST_NAME(odd_of_f64),              \
    [DLPARK__CAST_FLOAT_OF_SIGNED_8] = CAST_NAME(float_of_int8),                                                       \
    [DLPARK__CAST_FLOAT_OF_SIGNED_8 + DLPARK__CAST_16] = CAST_NAME(float_of_int16),                                    \
    [DLPARK__CAST_FLOAT_OF_SIGNED_8 + DLPARK__CAST_32] = CAST_NAME(float_of_int32),                                    \
    [DLPARK__CAST_FLOAT_OF_UNSIGNED_8] = CAST_NAME(float_of_uint8),                                                    \
    [DLPARK__CAST_FLOAT_OF_UNSIGNED_8 + DLPARK__CAST_16] = CAST_NAME(float_of_uint16),                                 \
    [DLPARK__CAST_INTEGER_OF_F32_8] = CAST_NAME(integer8_of_f32),                                                      \
    [DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_16] = CAST_NAME(integer16_of_f32),                                   \
    [DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_32] = CAST_NAME(integer32_of_f32),                                   \
    [DLPARK__CAST_INTEGER_OF_FLOAT16_8] = CAST_NAME(integer8_of_float16),                                              \
    [DLPARK__CAST_INTEGER_OF_FLOAT16_8 + DLPARK__CAST_16] = CAST_NAME(integer16_of_float16),                           \
    [DLPARK__CAST_INTEGER_OF_F64_8] = CAST_NAME(integer8_of_f64),                                                      \
    [DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_16] = CAST_NAME(integer16_of_f64),                                   \
    [DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_32] = CAST_NAME(integer32_of_f64),                                   \
    [DLPARK__CAST_I32_OF_SIGNED_8] = CAST_NAME(i32_of_int8),                                                           \
    [DLPARK__CAST_I32_OF_SIGNED_8 + DLPARK__CAST_16] = CAST_NAME(i32_of_int16),                                        \
    [DLPARK__CAST_I32_OF_UNSIGNED_8] = CAST_NAME(i32_of_uint8),                                                        \
    [DLPARK__CAST_I32_OF_UNSIGNED_8 + DLPARK__CAST_16] = CAST_NAME(i32_of_uint16),                                     \
    [DLPARK__CAST_WRAP_I32_8] = CAST_NAME(wrap8), [DLPARK__CAST_WRAP_I32_8 + DLPARK__CAST_16] = CAST_NAME(wrap16),     \
    [DLPARK__CAST_SATURATE_I32_8] = CAST_NAME(saturate8),                                                              \
    [DLPARK__CAST_SATURATE_I32_8 + DLPARK__CAST_16] = CAST_NAME(saturate16),                                           \
    [DLPARK__CAST_ODD_OF_I32] = CAST_NAME(odd_of_i32), [DLPARK__CAST_F32_OF_I32] = CAST_NAME(f32_of_i32)
#define CAST_TABLE                                                                                                     \
    {                                                                                                                  \
        CAST_ROWS                                                                                                      \
    }
