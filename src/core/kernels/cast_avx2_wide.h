/*
 * What cast_avx2.c has of its own: float64 and integers of 64 bits as float32, rounded to odd. Included by it alone, before
 * cast_vector.h.
 */
#define WIDE_LOST   0x1FFFFFFF         /* the places of a double that a float has not */
#define WIDE_LEAST  0x3810000000000000 /* 2^-126: below, a float has fewer places */
#define WIDE_BEYOND 0x47F0000000000000 /* 2^128 */

/* Of doubles whose size a float has with all its places, or that are 0, infinity or NaN. What is lost is noted in the last
 * place that is kept, so that the conversion, which then is exact, does not depend on the unit's mode. */
static inline CAST_TARGET __m128 cast_avx2_odd_float(__m256i numbers)
{
    const __m256i places = _mm256_set1_epi64x(WIDE_LOST);
    const __m256i is_exact = _mm256_cmpeq_epi64(_mm256_and_si256(numbers, places), _mm256_setzero_si256());
    const __m256i last = _mm256_andnot_si256(is_exact, _mm256_set1_epi64x(WIDE_LOST + 1));

    return _mm256_cvtpd_ps(_mm256_castsi256_pd(_mm256_or_si256(_mm256_andnot_si256(places, numbers), last)));
}

/* Whether cast_avx2_odd_float() takes all of them. */
static inline CAST_TARGET bool cast_avx2_are_floats(__m256i numbers)
{
    const __m256i size = _mm256_and_si256(numbers, _mm256_set1_epi64x(INT64_MAX));
    const __m256i is_small = _mm256_cmpgt_epi64(_mm256_set1_epi64x(WIDE_LEAST), size);
    const __m256i is_large = _mm256_cmpgt_epi64(size, _mm256_set1_epi64x(WIDE_BEYOND - 1));
    const __m256i is_zero = _mm256_cmpeq_epi64(size, _mm256_setzero_si256());
    const __m256i is_none = _mm256_cmpgt_epi64(size, _mm256_set1_epi64x(INT64_C(0x7FEFFFFFFFFFFFFF)));
    const __m256i is_other =
        _mm256_or_si256(_mm256_andnot_si256(is_zero, is_small), _mm256_andnot_si256(is_none, is_large));

    return _mm256_testz_si256(is_other, is_other) != 0;
}

static CAST_STEP(odd_of_f64)
{
    enum { lanes = 4, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };

    CAST_EACH(lanes)
    {
        const __m256i numbers = _mm256_loadu_si256((const __m256i *)(const void *)from);
        if (__builtin_expect(cast_avx2_are_floats(numbers), 1))
            _mm_storeu_ps((void *)to, cast_avx2_odd_float(numbers));
        else
            dlpark__cast_generic[DLPARK__CAST_ODD_OF_F64](params, to, from, lanes);
    }
    CAST_REST(DLPARK__CAST_ODD_OF_F64);
}

/* Integers below 2^53 as doubles: each half is the fraction of a number so large that its last place is the half's. */
static inline CAST_TARGET __m256i cast_avx2_double(__m256i integers)
{
    const __m256i lower = _mm256_castpd_si256(_mm256_set1_pd(0x1p52)),
                  upper = _mm256_castpd_si256(_mm256_set1_pd(0x1p84));
    const __m256i high = _mm256_or_si256(_mm256_srli_epi64(integers, 32), upper);
    const __m256i low = _mm256_blend_epi32(integers, lower, 0xAA);
    const __m256d rest = _mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(0x1p84 + 0x1p52));

    return _mm256_castpd_si256(_mm256_add_pd(rest, _mm256_castsi256_pd(low)));
}

/* Those of any size; of those with more than 53 places what the lowest eleven say is noted in the one above. */
static inline CAST_TARGET __m128 cast_avx2_odd_large(__m256i integers)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi64x(1);
    const __m256i is_small = _mm256_cmpeq_epi64(_mm256_srli_epi64(integers, 53), zero);
    const __m256i is_exact = _mm256_cmpeq_epi64(_mm256_slli_epi64(integers, 53), zero);
    const __m256i noted = _mm256_or_si256(_mm256_srli_epi64(integers, 11), _mm256_andnot_si256(is_exact, one));
    const __m256i made = cast_avx2_double(_mm256_blendv_epi8(noted, integers, is_small));
    const __m256i scale = _mm256_andnot_si256(is_small, _mm256_set1_epi64x(INT64_C(11) << 52));

    return cast_avx2_odd_float(_mm256_add_epi64(made, scale));
}

static inline CAST_TARGET __m128 cast_avx2_odd_integer(__m256i integers)
{
    if (__builtin_expect(_mm256_testz_si256(integers, _mm256_set1_epi64x((int64_t)(UINT64_MAX << 53))), 1))
        return cast_avx2_odd_float(cast_avx2_double(integers));
    return cast_avx2_odd_large(integers);
}

static CAST_STEP(odd_of_i64)
{
    enum { lanes = 4, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };

    CAST_EACH(lanes)
    {
        const __m256i numbers = _mm256_loadu_si256((const __m256i *)(const void *)from);
        const __m256i is_negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), numbers);
        const __m256i size = _mm256_sub_epi64(_mm256_xor_si256(numbers, is_negative), is_negative);
        const __m256i signs = _mm256_permutevar8x32_epi32(is_negative, _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7));
        const __m128 sign = _mm_and_ps(_mm_castsi128_ps(_mm256_castsi256_si128(signs)), _mm_set1_ps(-0.0F));
        _mm_storeu_ps((void *)to, _mm_or_ps(cast_avx2_odd_integer(size), sign));
    }
    CAST_REST(DLPARK__CAST_ODD_OF_I64);
}

static CAST_STEP(odd_of_u64)
{
    enum { lanes = 4, out_nbytes = lanes * 4, in_nbytes = lanes * 8 };

    CAST_EACH(lanes)
    _mm_storeu_ps((void *)to, cast_avx2_odd_integer(_mm256_loadu_si256((const __m256i *)(const void *)from)));
    CAST_REST(DLPARK__CAST_ODD_OF_U64);
}

#undef WIDE_BEYOND
#undef WIDE_LEAST
#undef WIDE_LOST
