/*
 * What cast_avx512.c has of its own: conversions that truncate as the instruction says and not as the unit is set, and
 * integers of 64 bits. Included by it alone, before cast_vector.h.
 */
/* ---- To odd ---- */

#define CAST_TRUNCATING (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)

/* Truncated numbers, the last place set in the lanes where the way back did not lead to what they were. */
static inline CAST_TARGET void CAST_NAME(save_odd)(unsigned char *to, __m256 made, __mmask8 lost)
{
    const __m256i bits = _mm256_castps_si256(made);

    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_mask_or_epi32(bits, lost, bits, _mm256_set1_epi32(1)));
}

static CAST_STEP(odd_of_f64)
{
    enum { lanes = 8, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };

    CAST_EACH(lanes)
    {
        const __m512d numbers = _mm512_loadu_pd((const void *)from);
        const __m256 made = _mm512_cvt_roundpd_ps(numbers, CAST_TRUNCATING);
        CAST_NAME(save_odd)(to, made, _mm512_cmp_pd_mask(numbers, _mm512_cvtps_pd(made), _CMP_NEQ_OQ));
    }
    CAST_REST(DLPARK__CAST_ODD_OF_F64);
}

static CAST_STEP(odd_of_i64)
{
    enum { lanes = 8, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };

    CAST_EACH(lanes)
    {
        const __m512i numbers = _mm512_loadu_si512((const void *)from);
        const __m256 made = _mm512_cvt_roundepi64_ps(numbers, CAST_TRUNCATING);
        CAST_NAME(save_odd)(to, made, _mm512_cmpneq_epi64_mask(numbers, _mm512_cvttps_epi64(made)));
    }
    CAST_REST(DLPARK__CAST_ODD_OF_I64);
}

static CAST_STEP(odd_of_u64)
{
    enum { lanes = 8, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };

    CAST_EACH(lanes)
    {
        const __m512i numbers = _mm512_loadu_si512((const void *)from);
        const __m256 made = _mm512_cvt_roundepu64_ps(numbers, CAST_TRUNCATING);
        CAST_NAME(save_odd)(to, made, _mm512_cmpneq_epi64_mask(numbers, _mm512_cvttps_epu64(made)));
    }
    CAST_REST(DLPARK__CAST_ODD_OF_U64);
}

static inline CAST_TARGET CAST_U32 CAST_NAME(odd)(CAST_I32 numbers)
{
    const __m512 made = _mm512_cvt_roundepi32_ps((__m512i)numbers, CAST_TRUNCATING);
    const __mmask16 lost = _mm512_cmpneq_epi32_mask((__m512i)numbers, _mm512_cvttps_epi32(made));
    const __m512i bits = _mm512_castps_si512(made);

    return (CAST_U32)_mm512_mask_or_epi32(bits, lost, bits, _mm512_set1_epi32(1));
}

/* ---- Floats to integers: what is no number is 0, and what is too large is mended; what is too small comes out as the
 * least number that there is, which is right or less than the limit ---- */

static inline CAST_TARGET CAST_I32X CAST_NAME(truncate_wide)(double least, double most, const unsigned char *from)
{
    const __m512d given = _mm512_loadu_pd((const void *)from);
    const __mmask8 ordered = _mm512_cmp_pd_mask(given, given, _CMP_ORD_Q);
    const __m256i made = _mm512_maskz_cvttpd_epi32(ordered, _mm512_min_pd(_mm512_set1_pd(most), given));

    return (CAST_I32X)_mm256_max_epi32(made, _mm256_set1_epi32((int32_t)least));
}

static CAST_STEP(int64_of_f64)
{
    enum { lanes = 8, out_nbytes = lanes * 8, in_nbytes = lanes * 8 };
    const __m512d past = _mm512_set1_pd(9223372036854775808.0);

    CAST_EACH(lanes)
    {
        const __m512d given = _mm512_loadu_pd((const void *)from);
        const __mmask8 ordered = _mm512_cmp_pd_mask(given, given, _CMP_ORD_Q);
        const __m512i made = _mm512_maskz_cvttpd_epi64(ordered, given);
        const __mmask8 large = _mm512_cmp_pd_mask(given, past, _CMP_GE_OQ);
        _mm512_storeu_si512((void *)to, _mm512_mask_mov_epi64(made, large, _mm512_set1_epi64(INT64_MAX)));
    }
    CAST_REST(DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_64);
}

static CAST_STEP(int64_of_f32)
{
    enum { lanes = 8, out_nbytes = lanes * 8, in_nbytes = lanes * 4 };
    const __m256 past = _mm256_set1_ps(9223372036854775808.0f);

    CAST_EACH(lanes)
    {
        const __m256 given = _mm256_loadu_ps((const void *)from);
        const __mmask8 ordered = _mm256_cmp_ps_mask(given, given, _CMP_ORD_Q);
        const __m512i made = _mm512_maskz_cvttps_epi64(ordered, given);
        const __mmask8 large = _mm256_cmp_ps_mask(given, past, _CMP_GE_OQ);
        _mm512_storeu_si512((void *)to, _mm512_mask_mov_epi64(made, large, _mm512_set1_epi64(INT64_MAX)));
    }
    CAST_REST(DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_64);
}

static CAST_STEP(uint64_of_f64)
{
    enum { lanes = 8, out_nbytes = lanes * 8, in_nbytes = lanes * 8 };

    CAST_EACH(lanes)
    {
        const __m512d given = _mm512_loadu_pd((const void *)from);
        const __mmask8 positive = _mm512_cmp_pd_mask(given, _mm512_setzero_pd(), _CMP_GT_OQ);
        _mm512_storeu_si512((void *)to, _mm512_maskz_cvttpd_epu64(positive, given));
    }
    CAST_REST(DLPARK__CAST_UINT64_OF_F64);
}

/* ---- Integers of 64 bits ---- */

#define CAST_AVX512_ALL(p)   _mm512_loadu_si512((const void *)(p))
#define CAST_AVX512_EIGHT(p) _mm_loadl_epi64((const __m128i *)(const void *)(p))

/* A step by one conversion of 8 lanes. */
#define CAST_WIDE(name, step, out, in, save, load)                                                                     \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { lanes = 8, out_nbytes = lanes * (out), in_nbytes = lanes * (in) };                                      \
        CAST_EACH(lanes)                                                                                               \
        save(to, load);                                                                                                \
        CAST_REST(step);                                                                                               \
    }

#define CAST_PUT8(p, v)    _mm_storel_epi64((__m128i *)(void *)(p), _mm512_cvtepi64_epi8(v))
#define CAST_PUT16(p, v)   _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi64_epi16(v))
#define CAST_PUT32(p, v)   _mm256_storeu_si256((__m256i *)(void *)(p), _mm512_cvtepi64_epi32(v))
#define CAST_PUT64(p, v)   _mm512_storeu_si512((void *)(p), v)
#define CAST_PUT_F32(p, v) _mm256_storeu_ps((void *)(p), v)
#define CAST_PUT_F64(p, v) _mm512_storeu_pd((void *)(p), v)

CAST_WIDE(i64_of_i8, DLPARK__CAST_I64_OF_SIGNED_8, 8, 1, CAST_PUT64, _mm512_cvtepi8_epi64(CAST_AVX512_EIGHT(from)))
CAST_WIDE(i64_of_i16, DLPARK__CAST_I64_OF_SIGNED_8 + DLPARK__CAST_16, 8, 2, CAST_PUT64,
          _mm512_cvtepi16_epi64(CAST_AVX512_8(from)))
CAST_WIDE(i64_of_i32, DLPARK__CAST_I64_OF_SIGNED_8 + DLPARK__CAST_32, 8, 4, CAST_PUT64,
          _mm512_cvtepi32_epi64(CAST_AVX512_16(from)))
CAST_WIDE(i64_of_u8, DLPARK__CAST_I64_OF_UNSIGNED_8, 8, 1, CAST_PUT64, _mm512_cvtepu8_epi64(CAST_AVX512_EIGHT(from)))
CAST_WIDE(i64_of_u16, DLPARK__CAST_I64_OF_UNSIGNED_8 + DLPARK__CAST_16, 8, 2, CAST_PUT64,
          _mm512_cvtepu16_epi64(CAST_AVX512_8(from)))
CAST_WIDE(i64_of_u32, DLPARK__CAST_I64_OF_UNSIGNED_8 + DLPARK__CAST_32, 8, 4, CAST_PUT64,
          _mm512_cvtepu32_epi64(CAST_AVX512_16(from)))
CAST_WIDE(f64_of_u32, DLPARK__CAST_FLOAT_OF_UNSIGNED_8 + DLPARK__CAST_32, 8, 4, CAST_PUT_F64,
          _mm512_cvtepu32_pd(CAST_AVX512_16(from)))
CAST_WIDE(f64_of_i8, DLPARK__CAST_F64_OF_SIGNED_8, 8, 1, CAST_PUT_F64,
          _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(CAST_AVX512_EIGHT(from))))
CAST_WIDE(f64_of_i16, DLPARK__CAST_F64_OF_SIGNED_8 + DLPARK__CAST_16, 8, 2, CAST_PUT_F64,
          _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(CAST_AVX512_8(from))))
CAST_WIDE(f64_of_u8, DLPARK__CAST_F64_OF_UNSIGNED_8, 8, 1, CAST_PUT_F64,
          _mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(CAST_AVX512_EIGHT(from))))
CAST_WIDE(f64_of_u16, DLPARK__CAST_F64_OF_UNSIGNED_8 + DLPARK__CAST_16, 8, 2, CAST_PUT_F64,
          _mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(CAST_AVX512_8(from))))
CAST_WIDE(f32_of_i64, DLPARK__CAST_F32_OF_I64, 4, 8, CAST_PUT_F32, _mm512_cvtepi64_ps(CAST_AVX512_ALL(from)))
CAST_WIDE(f32_of_u64, DLPARK__CAST_F32_OF_U64, 4, 8, CAST_PUT_F32, _mm512_cvtepu64_ps(CAST_AVX512_ALL(from)))
CAST_WIDE(f64_of_i64, DLPARK__CAST_F64_OF_I64, 8, 8, CAST_PUT_F64, _mm512_cvtepi64_pd(CAST_AVX512_ALL(from)))
CAST_WIDE(f64_of_u64, DLPARK__CAST_F64_OF_U64, 8, 8, CAST_PUT_F64, _mm512_cvtepu64_pd(CAST_AVX512_ALL(from)))
CAST_WIDE(wrap_i64_8, DLPARK__CAST_WRAP_8, 1, 8, CAST_PUT8, CAST_AVX512_ALL(from))
CAST_WIDE(wrap_i64_16, DLPARK__CAST_WRAP_8 + DLPARK__CAST_16, 2, 8, CAST_PUT16, CAST_AVX512_ALL(from))
CAST_WIDE(wrap_i64_32, DLPARK__CAST_WRAP_8 + DLPARK__CAST_32, 4, 8, CAST_PUT32, CAST_AVX512_ALL(from))

static inline CAST_TARGET __m512i CAST_NAME(keep_within64)(const unsigned char *from, int64_t low, uint64_t high)
{
    const __m512i least = _mm512_set1_epi64(low);
    const __m512i most = _mm512_set1_epi64(high < INT64_MAX ? (int64_t)high : INT64_MAX);

    return _mm512_min_epi64(_mm512_max_epi64(CAST_AVX512_ALL(from), least), most);
}

#define CAST_KEPT          CAST_NAME(keep_within64)(from, params->low, params->high)
#define CAST_KEPT_UNSIGNED _mm512_min_epu64(CAST_AVX512_ALL(from), _mm512_set1_epi64((int64_t)params->high))

CAST_WIDE(keep_i64_8, DLPARK__CAST_SATURATE_I64_8, 1, 8, CAST_PUT8, CAST_KEPT)
CAST_WIDE(keep_i64_16, DLPARK__CAST_SATURATE_I64_8 + DLPARK__CAST_16, 2, 8, CAST_PUT16, CAST_KEPT)
CAST_WIDE(keep_i64_32, DLPARK__CAST_SATURATE_I64_8 + DLPARK__CAST_32, 4, 8, CAST_PUT32, CAST_KEPT)
CAST_WIDE(keep_i64_64, DLPARK__CAST_SATURATE_I64_8 + DLPARK__CAST_64, 8, 8, CAST_PUT64, CAST_KEPT)
CAST_WIDE(keep_u64_8, DLPARK__CAST_SATURATE_U64_8, 1, 8, CAST_PUT8, CAST_KEPT_UNSIGNED)
CAST_WIDE(keep_u64_16, DLPARK__CAST_SATURATE_U64_8 + DLPARK__CAST_16, 2, 8, CAST_PUT16, CAST_KEPT_UNSIGNED)
CAST_WIDE(keep_u64_32, DLPARK__CAST_SATURATE_U64_8 + DLPARK__CAST_32, 4, 8, CAST_PUT32, CAST_KEPT_UNSIGNED)
CAST_WIDE(keep_u64_64, DLPARK__CAST_SATURATE_U64_8 + DLPARK__CAST_64, 8, 8, CAST_PUT64, CAST_KEPT_UNSIGNED)

#define CAST_WIDE_WIDTHS(first, name)                                                                                  \
    [(first) + DLPARK__CAST_8] = CAST_NAME(name##8), [(first) + DLPARK__CAST_16] = CAST_NAME(name##16),                \
               [(first) + DLPARK__CAST_32] = CAST_NAME(name##32)

#define CAST_AVX512_WIDE_ROWS                                                                                          \
    CAST_WIDE_WIDTHS(DLPARK__CAST_I64_OF_SIGNED_8, i64_of_i),                                                          \
        CAST_WIDE_WIDTHS(DLPARK__CAST_I64_OF_UNSIGNED_8, i64_of_u), CAST_WIDE_WIDTHS(DLPARK__CAST_WRAP_8, wrap_i64_),  \
        CAST_WIDE_WIDTHS(DLPARK__CAST_SATURATE_I64_8, keep_i64_),                                                      \
        CAST_WIDE_WIDTHS(DLPARK__CAST_SATURATE_U64_8, keep_u64_),                                                      \
        [DLPARK__CAST_SATURATE_I64_8 +                                                                                 \
            DLPARK__CAST_64] = CAST_NAME(keep_i64_64),                                                                 \
            [DLPARK__CAST_SATURATE_U64_8 + DLPARK__CAST_64] = CAST_NAME(keep_u64_64),                                  \
            [DLPARK__CAST_FLOAT_OF_UNSIGNED_8 + DLPARK__CAST_32] = CAST_NAME(f64_of_u32),                              \
            [DLPARK__CAST_F64_OF_SIGNED_8] = CAST_NAME(f64_of_i8),                                                     \
            [DLPARK__CAST_F64_OF_SIGNED_8 + DLPARK__CAST_16] = CAST_NAME(f64_of_i16),                                  \
            [DLPARK__CAST_F64_OF_UNSIGNED_8] = CAST_NAME(f64_of_u8),                                                   \
            [DLPARK__CAST_F64_OF_UNSIGNED_8 + DLPARK__CAST_16] = CAST_NAME(f64_of_u16),                                \
            [DLPARK__CAST_F32_OF_I64] = CAST_NAME(f32_of_i64), [DLPARK__CAST_F32_OF_U64] = CAST_NAME(f32_of_u64),      \
            [DLPARK__CAST_F64_OF_I64] = CAST_NAME(f64_of_i64), [DLPARK__CAST_F64_OF_U64] = CAST_NAME(f64_of_u64),      \
            [DLPARK__CAST_ODD_OF_I64] = CAST_NAME(odd_of_i64), [DLPARK__CAST_ODD_OF_U64] = CAST_NAME(odd_of_u64),      \
            [DLPARK__CAST_INTEGER_OF_F32_8 + DLPARK__CAST_64] = CAST_NAME(int64_of_f32),                               \
            [DLPARK__CAST_INTEGER_OF_F64_8 + DLPARK__CAST_64] = CAST_NAME(int64_of_f64),                               \
            [DLPARK__CAST_UINT64_OF_F64] = CAST_NAME(uint64_of_f64)
