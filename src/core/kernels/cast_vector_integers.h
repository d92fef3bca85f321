/*
 * The steps of cast_vector.h that begin or end with integers. Included by it alone.
 */
/* ---- Integers and floats ---- */

#define CAST_FLOAT_OF(name, step, nbytes, load)                                                                        \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { out_nbytes = CAST_LANES * 4, in_nbytes = CAST_LANES * (nbytes) };                                       \
        CAST_EACH(CAST_LANES)                                                                                          \
        {                                                                                                              \
            CAST_F32 numbers = __builtin_convertvector((CAST_I32)load(from), CAST_F32);                                \
            memcpy(to, &numbers, sizeof numbers);                                                                      \
        }                                                                                                              \
        CAST_REST(step);                                                                                               \
    }

CAST_FLOAT_OF(float_of_uint8, DLPARK__CAST_FLOAT_OF_UNSIGNED_8, 1, CAST_LOAD8)
CAST_FLOAT_OF(float_of_uint16, DLPARK__CAST_FLOAT_OF_UNSIGNED_8 + DLPARK__CAST_16, 2, CAST_LOAD16)
CAST_FLOAT_OF(float_of_int8, DLPARK__CAST_FLOAT_OF_SIGNED_8, 1, CAST_EXTEND8)
CAST_FLOAT_OF(float_of_int16, DLPARK__CAST_FLOAT_OF_SIGNED_8 + DLPARK__CAST_16, 2, CAST_EXTEND16)

#if !defined(CAST_OWN_CONVERSIONS)
/* No int16 is beyond the ends of a float of 16 bits, or NaN. */
static CAST_STEP(float16_of_i16)
{
    enum { out_nbytes = CAST_LANES * 2, in_nbytes = CAST_LANES * 2 };

    if (params->shift == 13) {
        CAST_EACH(CAST_LANES)
        CAST_SAVE_HALF(to, (CAST_U32) __builtin_convertvector((CAST_I32)CAST_EXTEND16(from), CAST_F32));
    } else {
        CAST_EACH(CAST_LANES)
        {
            CAST_U32 bits = (CAST_U32) __builtin_convertvector((CAST_I32)CAST_EXTEND16(from), CAST_F32);
            CAST_SAVE16(to, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
        }
    }
    CAST_REST(DLPARK__CAST_FLOAT16_OF_I16);
}

static CAST_STEP(float8_of_i16)
{
    enum { out_nbytes = CAST_LANES, in_nbytes = CAST_LANES * 2 };
    const dlpark__cast_params known = *params;

    CAST_EACH(CAST_LANES)
    {
        CAST_F32 numbers = __builtin_convertvector((CAST_I32)CAST_EXTEND16(from), CAST_F32);
        CAST_SAVE8(to, CAST_NAME(narrow)(&known, (CAST_U32)numbers));
    }
    CAST_REST(DLPARK__CAST_FLOAT8_OF_I16);
}
#endif

/* Rounded: more bits than a float32 holds. */
static CAST_STEP(f32_of_i32)
{
    enum { out_nbytes = CAST_LANES * 4, in_nbytes = CAST_LANES * 4 };

    CAST_EACH(CAST_LANES)
    {
        CAST_I32 numbers;
        memcpy(&numbers, from, sizeof numbers);
        CAST_F32 made = __builtin_convertvector(numbers, CAST_F32);
        memcpy(to, &made, sizeof made);
    }
    CAST_REST(DLPARK__CAST_F32_OF_I32);
}

static CAST_STEP(float_of_int32)
{
    enum { lanes = CAST_LANES / 2, out_nbytes = lanes * 8, in_nbytes = lanes * 4 };

    CAST_EACH(lanes)
    {
        CAST_I32X numbers;
        memcpy(&numbers, from, sizeof numbers);
        CAST_F64X wide = CAST_WIDEN_I32(numbers);
        memcpy(to, &wide, sizeof wide);
    }
    CAST_REST(DLPARK__CAST_FLOAT_OF_SIGNED_8 + DLPARK__CAST_32);
}

#if !defined(CAST_OWN_CONVERSIONS)
/* Kept within, NaN 0, truncated. Limits are of at most 16 bits: exact. */
static inline CAST_TARGET CAST_U32 CAST_NAME(truncate)(const dlpark__cast_params *params, CAST_F32 numbers)
{
    const float least = (float)params->low_float, most = (float)params->high;
    CAST_U32 kept = (CAST_U32)numbers & (CAST_U32)(numbers == numbers);

    kept = CAST_PICK((CAST_F32)kept < least, (CAST_U32)((CAST_F32){0} + least), kept);
    kept = CAST_PICK((CAST_F32)kept > most, (CAST_U32)((CAST_F32){0} + most), kept);
    return (CAST_U32) __builtin_convertvector((CAST_F32)kept, CAST_I32);
}

#define CAST_INTEGER_OF_F32(name, step, nbytes, save)                                                                  \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { out_nbytes = CAST_LANES * (nbytes), in_nbytes = CAST_LANES * 4 };                                       \
        const dlpark__cast_params known = *params;                                                                     \
        CAST_EACH(CAST_LANES)                                                                                          \
        {                                                                                                              \
            CAST_F32 numbers;                                                                                          \
            memcpy(&numbers, from, sizeof numbers);                                                                    \
            save(to, CAST_NAME(truncate)(&known, numbers));                                                            \
        }                                                                                                              \
        CAST_REST(step);                                                                                               \
    }

CAST_INTEGER_OF_F32(integer8_of_f32, DLPARK__CAST_INTEGER_OF_F32_8, 1, CAST_SAVE8)
CAST_INTEGER_OF_F32(integer16_of_f32, DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_16, 2, CAST_SAVE16)

/* Floats of 16 bits by way of registers alone. NaN may be of either kind. */
#define CAST_INTEGER_OF_FLOAT16(name, step, nbytes, save)                                                              \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { out_nbytes = CAST_LANES * (nbytes), in_nbytes = CAST_LANES * 2 };                                       \
        const dlpark__cast_params known = *params;                                                                     \
        if (known.from_fraction == 10) {                                                                               \
            CAST_EACH(CAST_LANES)                                                                                      \
            save(to, CAST_NAME(truncate)(&known, CAST_WIDEN_HALF(from)));                                              \
        } else {                                                                                                       \
            CAST_EACH(CAST_LANES)                                                                                      \
            save(to, CAST_NAME(truncate)(&known, (CAST_F32)(CAST_LOAD16(from) << 16)));                                \
        }                                                                                                              \
        CAST_REST(step);                                                                                               \
    }

CAST_INTEGER_OF_FLOAT16(integer8_of_float16, DLPARK__CAST_INTEGER_OF_FLOAT16_8, 1, CAST_SAVE8)
CAST_INTEGER_OF_FLOAT16(integer16_of_float16, DLPARK__CAST_INTEGER_OF_FLOAT16_8 + DLPARK__CAST_16, 2, CAST_SAVE16)

/* Whole vectors of float32 to int32: what is beyond the ends, and NaN, is what the processor makes of it and then mended. */
static CAST_STEP(integer32_of_f32)
{
    enum { out_nbytes = CAST_LANES * 4, in_nbytes = CAST_LANES * 4 };

    if (params->low < 0) { /* of uint32 processors know little */
        CAST_EACH(CAST_LANES)
        {
            CAST_F32 numbers;
            memcpy(&numbers, from, sizeof numbers);
            CAST_U32 kept = (CAST_U32)numbers & (CAST_U32)(numbers == numbers);
            CAST_I32 is_large = (CAST_F32)kept >= 2147483648.0f;
            kept = CAST_PICK((CAST_F32)kept < -2147483648.0f, (CAST_U32)((CAST_F32){0} - 2147483648.0f), kept);
            CAST_U32 made = (CAST_U32) __builtin_convertvector((CAST_F32)(kept & ~(CAST_U32)is_large), CAST_I32);
            made = CAST_PICK(is_large, (CAST_U32){0} + 0x7FFFFFFF, made);
            memcpy(to, &made, sizeof made);
        }
    }
    CAST_REST(DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_32);
}

/* The same of float64, to what is exact in both: limits of int32 and less. */
static inline CAST_TARGET CAST_I32X CAST_NAME(truncate_wide)(double least, double most, const unsigned char *from)
{
    CAST_F64X numbers;
    memcpy(&numbers, from, sizeof numbers);
    CAST_U64X kept = (CAST_U64X)numbers & (CAST_U64X)(numbers == numbers);
    CAST_U64X is_small = (CAST_U64X)((CAST_F64X)kept < least), is_large = (CAST_U64X)((CAST_F64X)kept > most);

    kept = (is_small & (CAST_U64X)((CAST_F64X){0} + least)) | (~is_small & kept);
    kept = (is_large & (CAST_U64X)((CAST_F64X){0} + most)) | (~is_large & kept);
    return __builtin_convertvector((CAST_F64X)kept, CAST_I32X);
}

#define CAST_INTEGER_OF_F64(name, step, nbytes, save)                                                                  \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { out_nbytes = CAST_LANES * (nbytes), in_nbytes = CAST_LANES * 8 };                                       \
        const double least = params->low_float, most = (double)params->high;                                           \
        CAST_EACH(CAST_LANES)                                                                                          \
        {                                                                                                              \
            CAST_I32X low = CAST_NAME(truncate_wide)(least, most, from);                                               \
            CAST_I32X high = CAST_NAME(truncate_wide)(least, most, from + CAST_LANES * 4);                             \
            save(to, CAST_JOIN(low, high));                                                                            \
        }                                                                                                              \
        CAST_REST(step);                                                                                               \
    }

CAST_INTEGER_OF_F64(integer8_of_f64, DLPARK__CAST_INTEGER_OF_F64_8, 1, CAST_SAVE8)
CAST_INTEGER_OF_F64(integer16_of_f64, DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_16, 2, CAST_SAVE16)

#endif

static CAST_STEP(integer32_of_f64)
{
    enum { lanes = CAST_LANES / 2, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };
    const double least = params->low_float, most = (double)params->high;

    if (most <= 2147483647.0) { /* of uint32 processors know little */
        CAST_EACH(lanes)
        {
            CAST_I32X made = CAST_NAME(truncate_wide)(least, most, from);
            memcpy(to, &made, sizeof made);
        }
    }
    CAST_REST(DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_32);
}

/* ---- Integers of up to 32 bits ---- */

#define CAST_I32_OF(name, step, nbytes, load)                                                                          \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { out_nbytes = CAST_LANES * 4, in_nbytes = CAST_LANES * (nbytes) };                                       \
        CAST_EACH(CAST_LANES)                                                                                          \
        {                                                                                                              \
            CAST_U32 numbers = load(from);                                                                             \
            memcpy(to, &numbers, sizeof numbers);                                                                      \
        }                                                                                                              \
        CAST_REST(step);                                                                                               \
    }

CAST_I32_OF(i32_of_int8, DLPARK__CAST_I32_OF_SIGNED_8, 1, CAST_EXTEND8)
CAST_I32_OF(i32_of_int16, DLPARK__CAST_I32_OF_SIGNED_8 + DLPARK__CAST_16, 2, CAST_EXTEND16)
CAST_I32_OF(i32_of_uint8, DLPARK__CAST_I32_OF_UNSIGNED_8, 1, CAST_LOAD8)
CAST_I32_OF(i32_of_uint16, DLPARK__CAST_I32_OF_UNSIGNED_8 + DLPARK__CAST_16, 2, CAST_LOAD16)

#define CAST_OF_I32(name, step, nbytes, save, saturates)                                                               \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { out_nbytes = CAST_LANES * (nbytes), in_nbytes = CAST_LANES * 4 };                                       \
        const CAST_I32 least = (CAST_I32){0} + (int32_t)params->low, most = (CAST_I32){0} + (int32_t)params->high;     \
        CAST_EACH(CAST_LANES)                                                                                          \
        {                                                                                                              \
            CAST_U32 numbers;                                                                                          \
            memcpy(&numbers, from, sizeof numbers);                                                                    \
            if (saturates) {                                                                                           \
                numbers = CAST_PICK((CAST_I32)numbers < least, (CAST_U32)least, numbers);                              \
                numbers = CAST_PICK((CAST_I32)numbers > most, (CAST_U32)most, numbers);                                \
            }                                                                                                          \
            save(to, numbers);                                                                                         \
        }                                                                                                              \
        CAST_REST(step);                                                                                               \
    }

CAST_OF_I32(wrap8, DLPARK__CAST_WRAP_I32_8, 1, CAST_SAVE8, false)
CAST_OF_I32(wrap16, DLPARK__CAST_WRAP_I32_8 + DLPARK__CAST_16, 2, CAST_SAVE16, false)
CAST_OF_I32(saturate8, DLPARK__CAST_SATURATE_I32_8, 1, CAST_SAVE8, true)
CAST_OF_I32(saturate16, DLPARK__CAST_SATURATE_I32_8 + DLPARK__CAST_16, 2, CAST_SAVE16, true)

#if !defined(CAST_OWN_CONVERSIONS)
/* To odd, as of float64; the way back overflows where the number became 2^31, and then is below every number. */
static inline CAST_TARGET CAST_U32 CAST_NAME(odd)(CAST_I32 numbers)
{
    CAST_F32 near = __builtin_convertvector(numbers, CAST_F32);
    CAST_I32 is_top = near >= 2147483648.0f;
    CAST_I32 back = __builtin_convertvector((CAST_F32)((CAST_U32)near & ~(CAST_U32)is_top), CAST_I32);
    CAST_I32 lost = is_top | (back != numbers);
    CAST_I32 grew = is_top | ((numbers > 0) & (back > numbers)) | ((numbers < 0) & (back < numbers));

    return (CAST_U32)((CAST_I32)near + grew) | ((CAST_U32)lost & 1);
}
#endif

static CAST_STEP(odd_of_i32)
{
    enum { out_nbytes = CAST_LANES * 4, in_nbytes = CAST_LANES * 4 };

    CAST_EACH(CAST_LANES)
    {
        CAST_I32 numbers;
        memcpy(&numbers, from, sizeof numbers);
        CAST_U32 bits = CAST_NAME(odd)(numbers);
        memcpy(to, &bits, sizeof bits);
    }
    CAST_REST(DLPARK__CAST_ODD_OF_I32);
}
