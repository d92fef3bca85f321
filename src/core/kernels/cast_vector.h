/*
 * The steps of casts by vectors of CAST_LANES numbers of 32 bits: one text for all instruction sets. The file of a set
 * defines the operations below, includes this, and has its table. The elements behind the last whole vector go to
 * cast_generic.c. Arithmetic, shifts and comparisons are the compiler's own on vectors; only where the width of elements
 * changes does a set say how.
 *
 *     CAST_LANES             8 or 16
 *     CAST_TARGET            the attribute of a function
 *     CAST_NAME(x)           x with the prefix of the set
 *     CAST_LOAD8(p)          bytes to lanes; CAST_LOAD16(p) pairs of bytes; with zeros above them
 *     CAST_EXTEND8(p)        the same with their sign; CAST_EXTEND16(p)
 *     CAST_SAVE8(p, v)       the lowest byte of each lane; CAST_SAVE16(p, v) the lowest two
 *     CAST_WIDEN_HALF(p)     float16 to float32; CAST_NARROW_HALF(v) the reverse, to nearest, a float16 in each lane
 *
 * The file ends with cast_vector_end.h.
 */
typedef uint32_t CAST_NAME(u32) __attribute__((vector_size(CAST_LANES * 4)));
typedef int32_t CAST_NAME(i32) __attribute__((vector_size(CAST_LANES * 4)));
typedef float CAST_NAME(f32) __attribute__((vector_size(CAST_LANES * 4)));
/* Half as many, beside doubles. */
typedef uint32_t CAST_NAME(u32x) __attribute__((vector_size(CAST_LANES * 2)));
typedef int32_t CAST_NAME(i32x) __attribute__((vector_size(CAST_LANES * 2)));
typedef float CAST_NAME(f32x) __attribute__((vector_size(CAST_LANES * 2)));
typedef double CAST_NAME(f64x) __attribute__((vector_size(CAST_LANES * 4)));
typedef uint64_t CAST_NAME(u64x) __attribute__((vector_size(CAST_LANES * 4)));
typedef int64_t CAST_NAME(i64x) __attribute__((vector_size(CAST_LANES * 4)));

#define CAST_U32  CAST_NAME(u32)
#define CAST_I32  CAST_NAME(i32)
#define CAST_F32  CAST_NAME(f32)
#define CAST_U32X CAST_NAME(u32x)
#define CAST_I32X CAST_NAME(i32x)
#define CAST_F32X CAST_NAME(f32x)
#define CAST_F64X CAST_NAME(f64x)
#define CAST_U64X CAST_NAME(u64x)
#define CAST_I64X CAST_NAME(i64x)

/* Lanes of `a` where the comparison is true, of `b` elsewhere. Comparisons are of signed numbers, which sets have. */
#define CAST_PICK(test, a, b) ((CAST_U32)(((CAST_U32)(test) & (a)) | (~(CAST_U32)(test) & (b))))

#define CAST_STEP(name)                                                                                                \
    CAST_TARGET void CAST_NAME(name)(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from,  \
                                     size_t count)
/* Whole vectors of `lanes` elements; then the rest, by the step of that name. */
#define CAST_EACH(lanes) for (; count >= (lanes); count -= (lanes), to += out_nbytes, from += in_nbytes)
#define CAST_REST(step)  dlpark__cast_generic[step](params, to, from, count)

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
    if (format->bias != 0)
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

static CAST_STEP(f32_of_float16)
{
    enum { out_nbytes = CAST_LANES * 4, in_nbytes = CAST_LANES * 2 };

    if (params->from_fraction == 10) {
        CAST_EACH(CAST_LANES)
        {
            CAST_F32 numbers = CAST_WIDEN_HALF(from);
            memcpy(to, &numbers, sizeof numbers);
        }
    } else { /* bfloat16, of which a NaN becomes quiet */
        CAST_EACH(CAST_LANES)
        {
            CAST_U32 bits = CAST_LOAD16(from) << 16;
            bits |= (CAST_U32)((CAST_I32)(bits & 0x7FFFFFFF) > 0x7F800000) & 0x00400000;
            memcpy(to, &bits, sizeof bits);
        }
    }
    CAST_REST(DLPARK__CAST_F32_OF_FLOAT16);
}

/* ---- float32 to smaller floats ---- */

static inline CAST_TARGET CAST_U32 CAST_NAME(narrow)(const dlpark__cast_params *params, CAST_U32 bits)
{
    const uint32_t shift = params->shift, rebias = params->rebias;
    CAST_U32 magnitude = bits & 0x7FFFFFFF;
    CAST_U32 sign = (bits >> 31) << params->sign;
    CAST_U32 code = (magnitude + ((1u << (shift - 1)) - 1) + (magnitude >> shift & 1)) >> shift;

    code -= rebias << (23 - shift);
    if (rebias != 0) { /* bfloat16 has float32's exponents, subnormal numbers among them */
        const CAST_U32 one = (CAST_U32){0} + 1;
        CAST_U32 exponent = magnitude >> 23;
        CAST_I32 is_small = (CAST_I32)exponent <= (int32_t)rebias;
        CAST_U32 drop = CAST_PICK(is_small, rebias + 1 + shift - exponent, (CAST_U32){0} + shift);
        drop = CAST_PICK((CAST_I32)drop > 25, (CAST_U32){0} + 25, drop);
        CAST_U32 significand = (magnitude & 0x7FFFFF) | 0x800000;
        CAST_U32 small = (significand + (one << (drop - 1)) - 1 + (significand >> drop & 1)) >> drop;
        code = CAST_PICK(is_small, small, code);
    }
    code = CAST_PICK((CAST_I32)magnitude > (int32_t)params->limit, (CAST_U32){0} + params->over, code);
    code = CAST_PICK((CAST_I32)magnitude == 0x7F800000, (CAST_U32){0} + params->infinite, code);
    code = CAST_PICK((CAST_I32)magnitude > 0x7F800000, (magnitude >> shift & params->payload) | params->nan, code);
    if (params->fnuz) /* no sign for 0 and for what is above the largest */
        sign &= (CAST_U32)((CAST_I32)code > 0) & (CAST_U32)((CAST_I32)code <= (int32_t)params->largest);
    return code ^ sign;
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

/* The processor's own rounding, and the modes. */
static inline CAST_TARGET CAST_U32 CAST_NAME(narrow_half)(const dlpark__cast_params *params, CAST_U32 bits)
{
    CAST_U32 magnitude = bits & 0x7FFFFFFF;
    CAST_U32 sign = (bits >> 31) << 15;
    CAST_U32 code = CAST_NARROW_HALF(bits);

    code = CAST_PICK((CAST_I32)magnitude > (int32_t)params->limit, params->over | sign, code);
    code = CAST_PICK((CAST_I32)magnitude == 0x7F800000, params->infinite | sign, code);
    return CAST_PICK((CAST_I32)magnitude > 0x7F800000, (magnitude >> 13 & 0x3FF) | 0x7E00 | sign, code);
}

static CAST_STEP(float16_of_f32)
{
    enum { out_nbytes = CAST_LANES * 2, in_nbytes = CAST_LANES * 4 };
    const dlpark__cast_params known = *params;

    if (known.shift == 13) {
        CAST_EACH(CAST_LANES)
        {
            CAST_U32 bits;
            memcpy(&bits, from, sizeof bits);
            CAST_SAVE16(to, CAST_NAME(narrow_half)(&known, bits));
        }
    } else {
        CAST_EACH(CAST_LANES)
        {
            CAST_U32 bits;
            memcpy(&bits, from, sizeof bits);
            CAST_SAVE16(to, CAST_NAME(narrow)(&known, bits));
        }
    }
    CAST_REST(DLPARK__CAST_FLOAT16_OF_F32);
}

/* ---- float32 and float64 ---- */

static CAST_STEP(f64_of_f32)
{
    enum { lanes = CAST_LANES / 2, out_nbytes = lanes * 8, in_nbytes = lanes * 4 };

    CAST_EACH(lanes)
    {
        CAST_F32X numbers;
        memcpy(&numbers, from, sizeof numbers);
        CAST_F64X wide = __builtin_convertvector(numbers, CAST_F64X);
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

#include "cast_vector_integers.h"

#define CAST_TABLE                                                                                                     \
    {                                                                                                                  \
        [DLPARK__CAST_F32_OF_FLOAT8] = CAST_NAME(f32_of_float8),                                                       \
        [DLPARK__CAST_F32_OF_FLOAT16] = CAST_NAME(f32_of_float16),                                                     \
        [DLPARK__CAST_FLOAT8_OF_F32] = CAST_NAME(float8_of_f32),                                                       \
        [DLPARK__CAST_FLOAT16_OF_F32] = CAST_NAME(float16_of_f32), [DLPARK__CAST_F64_OF_F32] = CAST_NAME(f64_of_f32),  \
        [DLPARK__CAST_F32_OF_F64] = CAST_NAME(f32_of_f64), [DLPARK__CAST_ODD_OF_F64] = CAST_NAME(odd_of_f64),          \
        [DLPARK__CAST_FLOAT_OF_SIGNED_8] = CAST_NAME(float_of_int8),                                                   \
        [DLPARK__CAST_FLOAT_OF_SIGNED_8 + DLPARK__CAST_16] = CAST_NAME(float_of_int16),                                \
        [DLPARK__CAST_FLOAT_OF_SIGNED_8 + DLPARK__CAST_32] = CAST_NAME(float_of_int32),                                \
        [DLPARK__CAST_FLOAT_OF_UNSIGNED_8] = CAST_NAME(float_of_uint8),                                                \
        [DLPARK__CAST_FLOAT_OF_UNSIGNED_8 + DLPARK__CAST_16] = CAST_NAME(float_of_uint16),                             \
        [DLPARK__CAST_INTEGER_OF_F32_8] = CAST_NAME(integer8_of_f32),                                                  \
        [DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_16] = CAST_NAME(integer16_of_f32),                               \
        [DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_32] = CAST_NAME(integer32_of_f32),                               \
        [DLPARK__CAST_INTEGER_OF_F64_8] = CAST_NAME(integer8_of_f64),                                                  \
        [DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_16] = CAST_NAME(integer16_of_f64),                               \
        [DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_32] = CAST_NAME(integer32_of_f64),                               \
        [DLPARK__CAST_I32_OF_SIGNED_8] = CAST_NAME(i32_of_int8),                                                       \
        [DLPARK__CAST_I32_OF_SIGNED_8 + DLPARK__CAST_16] = CAST_NAME(i32_of_int16),                                    \
        [DLPARK__CAST_I32_OF_UNSIGNED_8] = CAST_NAME(i32_of_uint8),                                                    \
        [DLPARK__CAST_I32_OF_UNSIGNED_8 + DLPARK__CAST_16] = CAST_NAME(i32_of_uint16),                                 \
        [DLPARK__CAST_WRAP_I32_8] = CAST_NAME(wrap8), [DLPARK__CAST_WRAP_I32_8 + DLPARK__CAST_16] = CAST_NAME(wrap16), \
        [DLPARK__CAST_SATURATE_I32_8] = CAST_NAME(saturate8),                                                          \
        [DLPARK__CAST_SATURATE_I32_8 + DLPARK__CAST_16] = CAST_NAME(saturate16),                                       \
        [DLPARK__CAST_ODD_OF_I32] = CAST_NAME(odd_of_i32),                                                             \
    }
