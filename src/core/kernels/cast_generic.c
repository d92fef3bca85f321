/*
 * The steps of casts in plain C, for every processor.
 */
#include <string.h>

#include "cast_steps.h"

#define STEP(name)                                                                                                     \
    static void name(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from, size_t count)

/* Loads `in` for each element and stores what `value` is. */
#define STEP_EACH(out_type, in_type, value)                                                                            \
    for (size_t i = 0; i < count; i++) {                                                                               \
        in_type in;                                                                                                    \
        memcpy(&in, from + i * sizeof in, sizeof in);                                                                  \
        out_type out = (out_type)(value);                                                                              \
        memcpy(to + i * sizeof out, &out, sizeof out);                                                                 \
    }
#define STEP_OF(name, out_type, in_type, value)                                                                        \
    STEP(name)                                                                                                         \
    {                                                                                                                  \
        (void)params;                                                                                                  \
        STEP_EACH(out_type, in_type, value)                                                                            \
    }

#define F16_INFINITE 0x7C00
#define F32_INFINITE 0x7F800000u
#define F64_INFINITE (UINT64_C(0x7FF) << 52)
#define F32_QUIET    0x00400000u

static inline uint32_t step_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double step_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* ---- Floats to float32: exact ---- */

static inline uint32_t step_widen(const dlpark__cast_params *params, uint32_t code)
{
    uint32_t negative = code >> params->from_sign & 1;
    uint32_t magnitude = code & ((1u << params->from_sign) - 1);
    uint32_t up = 23 - params->from_fraction;
    uint32_t bits = (magnitude << up) + (params->from_rebias << 23);

    if (magnitude >> params->from_fraction == 0 && params->from_rebias != 0) /* the fraction is what counts */
        bits = magnitude == 0 ? 0
                              : step_bits((float)magnitude) + ((params->from_rebias + 1) << 23) -
                                    ((127 + params->from_fraction) << 23);
    if (magnitude >= params->from_top) {
        uint32_t payload = params->from_infinite ? (magnitude - params->from_top) << up : F32_QUIET;
        bits = F32_INFINITE | (payload != 0 ? payload | F32_QUIET : 0);
    }
    if (params->from_fnuz && code == 1u << params->from_sign)
        return F32_INFINITE | F32_QUIET;
    return bits | negative << 31;
}

STEP_OF(step_f32_of_float8, uint32_t, uint8_t, step_widen(params, in))
STEP_OF(step_f32_of_float16, uint32_t, uint16_t, step_widen(params, in))
STEP_OF(step_f32_of_scale, uint32_t, uint8_t,
        in == 0xFF ? F32_INFINITE | F32_QUIET
        : in == 0  ? F32_QUIET
                   : (uint32_t)in << 23)

/* ---- float32 to smaller floats: rounded once, to nearest with ties to even ---- */

static inline uint32_t step_round(uint32_t value, uint32_t count)
{
    return (value + (1u << (count - 1)) - 1 + (value >> count & 1)) >> count;
}

static inline uint32_t step_narrow(const dlpark__cast_params *params, uint32_t bits)
{
    uint32_t magnitude = bits & 0x7FFFFFFF;
    uint32_t exponent = magnitude >> 23;
    uint32_t sign = bits >> 31 << params->sign;
    uint32_t code;

    if (exponent > params->rebias || params->rebias == 0) {
        code = step_round(magnitude, params->shift) - (params->rebias << (23 - params->shift));
    } else { /* subnormal there; from 25 places on nothing is left */
        uint32_t count = params->rebias + 1 - exponent + params->shift;
        code = step_round((magnitude & 0x7FFFFF) | 0x800000, count < 25 ? count : 25);
    }
    if (magnitude > params->limit)
        code = params->over;
    if (magnitude >= F32_INFINITE)
        code =
            magnitude == F32_INFINITE ? params->infinite : params->nan | (magnitude >> params->shift & params->payload);
    if (params->fnuz && (code == 0 || code > params->largest))
        return code;
    return code ^ sign;
}

STEP_OF(step_float8_of_f32, uint8_t, uint32_t, step_narrow(params, in))
STEP_OF(step_float16_of_f32, uint16_t, uint32_t, step_narrow(params, in))

/* What vectors do in one go. */
STEP_OF(step_float8_of_float16, uint8_t, uint16_t, step_narrow(params, step_widen(params, in)))
STEP_OF(step_float16_of_float16, uint16_t, uint16_t, step_narrow(params, step_widen(params, in)))

static inline uint8_t step_scale(const dlpark__cast_params *params, uint32_t bits)
{
    enum { NEAREST, UP, DOWN };
    const uint8_t nan = 0xFF, largest = 0xFE;
    uint32_t magnitude = bits & 0x7FFFFFFF;
    bool negative = bits != magnitude;
    uint32_t code = magnitude >> 23, fraction = magnitude & 0x7FFFFF;

    if (magnitude >= F32_INFINITE)
        return magnitude > F32_INFINITE || !params->saturates_infinite ? nan : negative ? 0 : largest;
    if (magnitude == 0 || negative)
        return params->saturates ? 0 : nan;
    if (code == 0) /* 2^-127 is the number of the fraction 0x400000 */
        return params->scale == UP ? fraction > 0x400000 : params->scale == NEAREST && fraction >= 0x600000;
    code += params->scale == UP ? fraction != 0 : params->scale == NEAREST && fraction >= 0x400000;
    return code <= largest ? (uint8_t)code : params->saturates ? largest : nan;
}

STEP_OF(step_scale_of_f32, uint8_t, uint32_t, step_scale(params, in))

/* ---- float32 and float64 ---- */

STEP_OF(step_f64_of_f32, double, float, in)

#define F32_LARGEST 0x7F7FFFFFu

static inline uint32_t step_f32_of_double(const dlpark__cast_params *params, double value)
{
    uint32_t bits = step_bits((float)value);

    if ((bits & 0x7FFFFFFF) != F32_INFINITE)
        return bits;
    bool infinite = value - value != 0; /* NaN then */
    if (infinite ? params->saturates_infinite : params->saturates)
        return (bits & 0x80000000) | F32_LARGEST;
    return bits;
}

STEP_OF(step_f32_of_f64, uint32_t, double, step_f32_of_double(params, in))

/* To odd: truncated, and the last place set where something was lost. */
static inline uint32_t step_odd(double value)
{
    float near = (float)value;
    uint32_t bits = step_bits(near);
    double back = (double)near;

    if (back == value || value != value)
        return bits;
    bits -= (back < 0 ? -back : back) > (value < 0 ? -value : value);
    return bits | 1;
}

STEP_OF(step_odd_of_f64, uint32_t, double, step_odd(in))

/* The bits of the largest number come right before those of infinity. */
STEP_OF(step_finite_f16, uint16_t, uint16_t, in - ((in & 0x7FFF) == F16_INFINITE))
STEP_OF(step_finite_f32, uint32_t, uint32_t, in - ((in & 0x7FFFFFFF) == F32_INFINITE))
STEP_OF(step_finite_f64, uint64_t, uint64_t, in - (in << 1 == F64_INFINITE << 1))

/* ---- Integers to 64 bits, and on to floats ---- */

static void step_i8_of_few(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from,
                           size_t count)
{
    const uint8_t sign = (uint8_t)(1u << (params->nbits - 1)); /* here, for a loop that the compiler can vectorise */

    STEP_EACH(uint8_t, uint8_t, (in ^ sign) - sign)
}

STEP_OF(step_i64_of_int_8, int64_t, int8_t, in)
STEP_OF(step_i64_of_int_16, int64_t, int16_t, in)
STEP_OF(step_i64_of_int_32, int64_t, int32_t, in)
STEP_OF(step_i64_of_uint_8, int64_t, uint8_t, in)
STEP_OF(step_i64_of_uint_16, int64_t, uint16_t, in)
STEP_OF(step_i64_of_uint_32, int64_t, uint32_t, in)
STEP_OF(step_float_of_int_8, float, int8_t, in)
STEP_OF(step_float_of_int_16, float, int16_t, in)
STEP_OF(step_float_of_int_32, double, int32_t, in)
STEP_OF(step_float_of_uint_8, float, uint8_t, in)
STEP_OF(step_float_of_uint_16, float, uint16_t, in)
STEP_OF(step_float_of_uint_32, double, uint32_t, in)
STEP_OF(step_f64_of_int_8, double, int8_t, in)
STEP_OF(step_f64_of_int_16, double, int16_t, in)
STEP_OF(step_f64_of_uint_8, double, uint8_t, in)
STEP_OF(step_f64_of_uint_16, double, uint16_t, in)
STEP_OF(step_i32_of_int_8, int32_t, int8_t, in)
STEP_OF(step_i32_of_int_16, int32_t, int16_t, in)
STEP_OF(step_i32_of_uint_8, int32_t, uint8_t, in)
STEP_OF(step_i32_of_uint_16, int32_t, uint16_t, in)
STEP_OF(step_i16_of_i8, int16_t, int8_t, in)
STEP_OF(step_i16_of_u8, int16_t, uint8_t, in)
STEP_OF(step_i64_of_bool, int64_t, uint8_t, in != 0)
STEP_OF(step_f32_of_i32, float, int32_t, in)
STEP_OF(step_f32_of_i64, float, int64_t, in)
STEP_OF(step_f32_of_u64, float, uint64_t, in)
STEP_OF(step_f64_of_i64, double, int64_t, in)
STEP_OF(step_f64_of_u64, double, uint64_t, in)

static inline uint32_t step_odd_of_integer(uint64_t magnitude, uint32_t sign)
{
    if (magnitude == 0)
        return 0;
    uint32_t zeros = (uint32_t)__builtin_clzll(magnitude);
    uint64_t high = magnitude << zeros;
    uint32_t lost = (uint32_t)(high << 24 != 0);
    /* The highest bit is not stored: it adds 1 to the exponent. */
    return (sign | ((127 + 62 - zeros) << 23)) + ((uint32_t)(high >> 40) | lost);
}

static inline uint32_t step_odd_of_signed(int64_t value)
{
    return value < 0 ? step_odd_of_integer(0 - (uint64_t)value, 0x80000000) : step_odd_of_integer((uint64_t)value, 0);
}

STEP_OF(step_odd_of_i64, uint32_t, int64_t, step_odd_of_signed(in))
STEP_OF(step_odd_of_i32, uint32_t, int32_t, step_odd_of_signed(in))
STEP_OF(step_odd_of_u64, uint32_t, uint64_t, step_odd_of_integer(in, 0))

STEP_OF(step_float8_of_i16, uint8_t, int16_t, step_narrow(params, step_bits(in)))
STEP_OF(step_float16_of_i16, uint16_t, int16_t, step_narrow(params, step_bits(in)))
STEP_OF(step_float16_of_i32, uint16_t, int32_t, step_narrow(params, step_odd_of_signed(in)))

/* ---- To integers ---- */

STEP_OF(step_wrap_8, uint8_t, uint64_t, in)
STEP_OF(step_wrap_16, uint16_t, uint64_t, in)
STEP_OF(step_wrap_32, uint32_t, uint64_t, in)

static inline uint64_t step_saturate(const dlpark__cast_params *params, int64_t value)
{
    if (value < params->low)
        return (uint64_t)params->low;
    return value > 0 && (uint64_t)value > params->high ? params->high : (uint64_t)value;
}

STEP_OF(step_wrap_i32_8, uint8_t, uint32_t, in)
STEP_OF(step_wrap_i32_16, uint16_t, uint32_t, in)
STEP_OF(step_wrap_i16, uint8_t, uint16_t, in)
STEP_OF(step_saturate_i16, uint8_t, int16_t, step_saturate(params, in))
STEP_OF(step_saturate_i16_16, uint16_t, int16_t, step_saturate(params, in))
STEP_OF(step_saturate_i32_8, uint8_t, int32_t, step_saturate(params, in))
STEP_OF(step_saturate_i32_16, uint16_t, int32_t, step_saturate(params, in))
STEP_OF(step_saturate_i32_32, uint32_t, int32_t, step_saturate(params, in))
STEP_OF(step_saturate_i64_8, uint8_t, int64_t, step_saturate(params, in))
STEP_OF(step_saturate_i64_16, uint16_t, int64_t, step_saturate(params, in))
STEP_OF(step_saturate_i64_32, uint32_t, int64_t, step_saturate(params, in))
STEP_OF(step_saturate_i64_64, uint64_t, int64_t, step_saturate(params, in))
STEP_OF(step_saturate_u64_8, uint8_t, uint64_t, in > params->high ? params->high : in)
STEP_OF(step_saturate_u64_16, uint16_t, uint64_t, in > params->high ? params->high : in)
STEP_OF(step_saturate_u64_32, uint32_t, uint64_t, in > params->high ? params->high : in)
STEP_OF(step_saturate_u64_64, uint64_t, uint64_t, in > params->high ? params->high : in)

static inline int64_t step_truncate(const dlpark__cast_params *params, double value)
{
    if (value >= params->past_float)
        return (int64_t)params->high;
    if (value <= params->low_float)
        return params->low;
    return value == value ? (int64_t)value : 0;
}

STEP_OF(step_integer_of_f32_8, uint8_t, float, step_truncate(params, (double)in))
STEP_OF(step_integer_of_f32_16, uint16_t, float, step_truncate(params, (double)in))
STEP_OF(step_integer_of_f32_32, uint32_t, float, step_truncate(params, (double)in))
STEP_OF(step_integer_of_f32_64, uint64_t, float, step_truncate(params, (double)in))
STEP_OF(step_integer_of_float16_8, uint8_t, uint16_t, step_truncate(params, step_float(step_widen(params, in))))
STEP_OF(step_integer_of_float16_16, uint16_t, uint16_t, step_truncate(params, step_float(step_widen(params, in))))
STEP_OF(step_integer_of_f64_8, uint8_t, double, step_truncate(params, in))
STEP_OF(step_integer_of_f64_16, uint16_t, double, step_truncate(params, in))
STEP_OF(step_integer_of_f64_32, uint32_t, double, step_truncate(params, in))
STEP_OF(step_integer_of_f64_64, uint64_t, double, step_truncate(params, in))

static inline uint64_t step_truncate_unsigned(double value)
{
    const double half = 9223372036854775808.0; /* 2^63, to which a conversion to int64 reaches */

    if (!(value > 0)) /* NaN too */
        return 0;
    if (value >= 2 * half)
        return UINT64_MAX;
    return value < half ? (uint64_t)(int64_t)value : (uint64_t)(int64_t)(value - half) + (UINT64_C(1) << 63);
}

STEP_OF(step_uint64_of_f64, uint64_t, double, step_truncate_unsigned(in))
STEP_OF(step_bool_of_f32, uint8_t, uint32_t, (in & 0x7FFFFFFF) != 0)
STEP_OF(step_bool_of_f64, uint8_t, uint64_t, (in << 1) != 0)
STEP_OF(step_bool_of_i64, uint8_t, uint64_t, in != 0)

#define STEP_WORD ((uint32_t)params->table[in] | (uint32_t)params->table[256 + in] << 8)

STEP_OF(step_table, uint8_t, uint8_t, params->table[in])
STEP_OF(step_table_16, uint16_t, uint8_t, STEP_WORD)
STEP_OF(step_table_f32, uint32_t, uint8_t, STEP_WORD << 16)

#define STEP_WIDTHS(name, step)                                                                                        \
    [name + DLPARK__CAST_8] = step##_8, [name + DLPARK__CAST_16] = step##_16, [name + DLPARK__CAST_32] = step##_32

const dlpark__cast_step dlpark__cast_generic[DLPARK__CAST_STEPS] = {
    [DLPARK__CAST_F32_OF_FLOAT8] = step_f32_of_float8,
    [DLPARK__CAST_F32_OF_FLOAT16] = step_f32_of_float16,
    [DLPARK__CAST_F32_OF_SCALE] = step_f32_of_scale,
    [DLPARK__CAST_FLOAT8_OF_F32] = step_float8_of_f32,
    [DLPARK__CAST_FLOAT16_OF_F32] = step_float16_of_f32,
    [DLPARK__CAST_SCALE_OF_F32] = step_scale_of_f32,
    [DLPARK__CAST_F64_OF_F32] = step_f64_of_f32,
    [DLPARK__CAST_F32_OF_F64] = step_f32_of_f64,
    [DLPARK__CAST_ODD_OF_F64] = step_odd_of_f64,
    [DLPARK__CAST_F32_OF_I32] = step_f32_of_i32,
    [DLPARK__CAST_F32_OF_I64] = step_f32_of_i64,
    [DLPARK__CAST_F32_OF_U64] = step_f32_of_u64,
    [DLPARK__CAST_ODD_OF_I64] = step_odd_of_i64,
    [DLPARK__CAST_ODD_OF_U64] = step_odd_of_u64,
    [DLPARK__CAST_F64_OF_I64] = step_f64_of_i64,
    [DLPARK__CAST_F64_OF_U64] = step_f64_of_u64,
    [DLPARK__CAST_I64_OF_BOOL] = step_i64_of_bool,
    [DLPARK__CAST_BOOL_OF_F32] = step_bool_of_f32,
    [DLPARK__CAST_BOOL_OF_F64] = step_bool_of_f64,
    [DLPARK__CAST_BOOL_OF_I64] = step_bool_of_i64,
    [DLPARK__CAST_UINT64_OF_F64] = step_uint64_of_f64,
    [DLPARK__CAST_ODD_OF_I32] = step_odd_of_i32,
    [DLPARK__CAST_FLOAT8_OF_FLOAT16] = step_float8_of_float16,
    [DLPARK__CAST_FLOAT16_OF_FLOAT16] = step_float16_of_float16,
    [DLPARK__CAST_FLOAT8_OF_I16] = step_float8_of_i16,
    [DLPARK__CAST_FLOAT16_OF_I16] = step_float16_of_i16,
    [DLPARK__CAST_FLOAT16_OF_I32] = step_float16_of_i32,
    [DLPARK__CAST_TABLE] = step_table,
    [DLPARK__CAST_TABLE_16] = step_table_16,
    [DLPARK__CAST_TABLE_F32] = step_table_f32,
    [DLPARK__CAST_TABLE_FEW] = step_table,
    [DLPARK__CAST_TABLE_FEW_16] = step_table_16,
    [DLPARK__CAST_TABLE_FEW_F32] = step_table_f32,
    [DLPARK__CAST_I8_OF_FEW] = step_i8_of_few,
    [DLPARK__CAST_I16_OF_I8] = step_i16_of_i8,
    [DLPARK__CAST_I16_OF_U8] = step_i16_of_u8,
    [DLPARK__CAST_WRAP_I16] = step_wrap_i16,
    [DLPARK__CAST_SATURATE_I16] = step_saturate_i16,
    [DLPARK__CAST_SATURATE_I16_16] = step_saturate_i16_16,
    [DLPARK__CAST_FINITE_8 + DLPARK__CAST_16] = step_finite_f16,
    [DLPARK__CAST_FINITE_8 + DLPARK__CAST_32] = step_finite_f32,
    [DLPARK__CAST_FINITE_8 + DLPARK__CAST_64] = step_finite_f64,
    STEP_WIDTHS(DLPARK__CAST_I64_OF_SIGNED_8, step_i64_of_int),
    STEP_WIDTHS(DLPARK__CAST_I64_OF_UNSIGNED_8, step_i64_of_uint),
    STEP_WIDTHS(DLPARK__CAST_FLOAT_OF_SIGNED_8, step_float_of_int),
    STEP_WIDTHS(DLPARK__CAST_FLOAT_OF_UNSIGNED_8, step_float_of_uint),
    [DLPARK__CAST_F64_OF_SIGNED_8 + DLPARK__CAST_8] = step_f64_of_int_8,
    [DLPARK__CAST_F64_OF_SIGNED_8 + DLPARK__CAST_16] = step_f64_of_int_16,
    [DLPARK__CAST_F64_OF_UNSIGNED_8 + DLPARK__CAST_8] = step_f64_of_uint_8,
    [DLPARK__CAST_F64_OF_UNSIGNED_8 + DLPARK__CAST_16] = step_f64_of_uint_16,
    [DLPARK__CAST_I32_OF_SIGNED_8 + DLPARK__CAST_8] = step_i32_of_int_8,
    [DLPARK__CAST_I32_OF_SIGNED_8 + DLPARK__CAST_16] = step_i32_of_int_16,
    [DLPARK__CAST_I32_OF_UNSIGNED_8 + DLPARK__CAST_8] = step_i32_of_uint_8,
    [DLPARK__CAST_I32_OF_UNSIGNED_8 + DLPARK__CAST_16] = step_i32_of_uint_16,
    [DLPARK__CAST_WRAP_I32_8 + DLPARK__CAST_8] = step_wrap_i32_8,
    [DLPARK__CAST_WRAP_I32_8 + DLPARK__CAST_16] = step_wrap_i32_16,
    STEP_WIDTHS(DLPARK__CAST_SATURATE_I32_8, step_saturate_i32),
    STEP_WIDTHS(DLPARK__CAST_WRAP_8, step_wrap),
    STEP_WIDTHS(DLPARK__CAST_SATURATE_I64_8, step_saturate_i64),
    [DLPARK__CAST_SATURATE_I64_8 + DLPARK__CAST_64] = step_saturate_i64_64,
    STEP_WIDTHS(DLPARK__CAST_SATURATE_U64_8, step_saturate_u64),
    [DLPARK__CAST_SATURATE_U64_8 + DLPARK__CAST_64] = step_saturate_u64_64,
    STEP_WIDTHS(DLPARK__CAST_INTEGER_OF_F32_8, step_integer_of_f32),
    [DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_64] = step_integer_of_f32_64,
    [DLPARK__CAST_INTEGER_OF_FLOAT16_8 + DLPARK__CAST_8] = step_integer_of_float16_8,
    [DLPARK__CAST_INTEGER_OF_FLOAT16_8 + DLPARK__CAST_16] = step_integer_of_float16_16,
    STEP_WIDTHS(DLPARK__CAST_INTEGER_OF_F64_8, step_integer_of_f64),
    [DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_64] = step_integer_of_f64_64,
};
