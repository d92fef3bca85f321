/*
 * What cast_avx512.c narrows by packing: two or four vectors of 32 bits to one of 16 or 8, which takes fewer instructions
 * than to narrow each by itself, and keeps within the ends on its way. Included by it alone, behind cast_avx512_wide.h.
 */
/* A step by `each`, a function of whole vectors; the rest is done as if there were more. */
#define CAST_PACKED(name, count_each, out, in, each)                                                                   \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { lanes = (count_each), out_nbytes = lanes * (out), in_nbytes = lanes * (in) };                           \
        const dlpark__cast_params known = *params;                                                                     \
        CAST_EACH(lanes) each(&known, to, from);                                                                       \
        if (count > 0) {                                                                                               \
            unsigned char rest[in_nbytes] = {0}, made[out_nbytes];                                                     \
            memcpy(rest, from, count *(in));                                                                           \
            each(&known, made, rest);                                                                                  \
            memcpy(to, made, count *(out));                                                                            \
        }                                                                                                              \
    }
#define CAST_VECTORS(name)                                                                                             \
    CAST_TARGET void CAST_NAME(name)(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from)

/* Packing goes on in each 128 bits by itself: the order of what came of four vectors, and of two. */
#define CAST_PACK_DEAL4 _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
#define CAST_PACK_DEAL2 _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7)

/* ---- Sources, 16 numbers each ---- */

#define CAST_PACK_F32(p)   _mm512_loadu_ps((const void *)(p))
#define CAST_PACK_HALF(p)  _mm512_cvtph_ps(CAST_AVX512_16(p))
#define CAST_PACK_BRAIN(p) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(CAST_AVX512_16(p)), 16))
#define CAST_PACK_I16(p)   _mm512_cvtepi16_epi32(CAST_AVX512_16(p))
#define CAST_PACK_I32(p)   _mm512_loadu_si512((const void *)(p))

/* ---- Floats to integers: what is no number is 0, what is too large is mended; what is too small comes out as the least
 * int32 or less than the limit, and is kept within later ---- */

static inline CAST_TARGET __m512i CAST_NAME(whole)(const dlpark__cast_params *params, __m512 given)
{
    const __mmask16 ordered = _mm512_cmp_ps_mask(given, given, _CMP_ORD_Q);

    return _mm512_maskz_cvttps_epi32(ordered, _mm512_min_ps(_mm512_set1_ps((float)params->high), given));
}

static inline CAST_TARGET __m512i CAST_NAME(whole_wide)(const dlpark__cast_params *params, const unsigned char *from)
{
    const __m512d most = _mm512_set1_pd((double)params->high);
    const __m512d first = _mm512_loadu_pd((const void *)from), last = _mm512_loadu_pd((const void *)(from + 64));
    const __mmask8 has_first = _mm512_cmp_pd_mask(first, first, _CMP_ORD_Q);
    const __mmask8 has_last = _mm512_cmp_pd_mask(last, last, _CMP_ORD_Q);
    const __m256i low = _mm512_maskz_cvttpd_epi32(has_first, _mm512_min_pd(most, first));
    const __m256i high = _mm512_maskz_cvttpd_epi32(has_last, _mm512_min_pd(most, last));

    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

static inline CAST_TARGET __m512i CAST_NAME(whole32)(const dlpark__cast_params *params, __m512 given)
{
    const __mmask16 ordered = _mm512_cmp_ps_mask(given, given, _CMP_ORD_Q);
    const __mmask16 positive = _mm512_cmp_ps_mask(given, _mm512_setzero_ps(), _CMP_GT_OQ);
    const __mmask16 large = _mm512_cmp_ps_mask(given, _mm512_set1_ps(2147483648.0f), _CMP_GE_OQ);

    if (params->low == 0) /* all ones where it is too large: right */
        return _mm512_maskz_cvttps_epu32(positive, given);
    return _mm512_mask_mov_epi32(_mm512_maskz_cvttps_epi32(ordered, given), large, _mm512_set1_epi32(INT32_MAX));
}

static inline CAST_TARGET void CAST_NAME(put_bytes)(const dlpark__cast_params *params, unsigned char *to, __m512i a,
                                                    __m512i b, __m512i c, __m512i d)
{
    const __m512i low = _mm512_packs_epi32(a, b), high = _mm512_packs_epi32(c, d);
    const __m512i bytes = params->low == 0 ? _mm512_packus_epi16(low, high)
                                           : _mm512_max_epi8(_mm512_packs_epi16(low, high),
                                                             _mm512_set1_epi8((char)params->low)); /* of less than 8 */

    _mm512_storeu_si512((void *)to, _mm512_permutexvar_epi32(CAST_PACK_DEAL4, bytes));
}

static inline CAST_TARGET void CAST_NAME(put_words)(const dlpark__cast_params *params, unsigned char *to, __m512i a,
                                                    __m512i b)
{
    const __m512i words = params->low == 0 ? _mm512_packus_epi32(a, b) : _mm512_packs_epi32(a, b);

    _mm512_storeu_si512((void *)to, _mm512_permutexvar_epi64(CAST_PACK_DEAL2, words));
}

/* The steps of a source: its numbers of `nbytes` bytes, by `load` and `whole`, to bytes and to 16 bits. */
#define CAST_PACK_INTEGERS(to8, to16, nbytes, whole)                                                                   \
    static inline CAST_VECTORS(each_##to8)                                                                             \
    {                                                                                                                  \
        CAST_NAME(put_bytes)                                                                                           \
        (params, to, whole(from), whole(from + 16 * (nbytes)), whole(from + 32 * (nbytes)),                            \
         whole(from + 48 * (nbytes)));                                                                                 \
    }                                                                                                                  \
    static inline CAST_VECTORS(each_##to16)                                                                            \
    {                                                                                                                  \
        CAST_NAME(put_words)(params, to, whole(from), whole(from + 16 * (nbytes)));                                    \
    }                                                                                                                  \
    CAST_PACKED(to8, 64, 1, nbytes, CAST_NAME(each_##to8))                                                             \
    CAST_PACKED(to16, 32, 2, nbytes, CAST_NAME(each_##to16))

#define CAST_WHOLE_F32(p)   CAST_NAME(whole)(params, CAST_PACK_F32(p))
#define CAST_WHOLE_HALF(p)  CAST_NAME(whole)(params, CAST_PACK_HALF(p))
#define CAST_WHOLE_BRAIN(p) CAST_NAME(whole)(params, CAST_PACK_BRAIN(p))
#define CAST_WHOLE_F64(p)   CAST_NAME(whole_wide)(params, p)

CAST_PACK_INTEGERS(integer8_of_f32, integer16_of_f32, 4, CAST_WHOLE_F32)
CAST_PACK_INTEGERS(integer8_of_f64, integer16_of_f64, 8, CAST_WHOLE_F64)
CAST_PACK_INTEGERS(integer8_of_half, integer16_of_half, 2, CAST_WHOLE_HALF)
CAST_PACK_INTEGERS(integer8_of_brain, integer16_of_brain, 2, CAST_WHOLE_BRAIN)

static inline CAST_VECTORS(each_integer32_of_f32)
{
    CAST_PUT64(to, CAST_NAME(whole32)(params, CAST_PACK_F32(from)));
}

static inline CAST_VECTORS(each_integer32_of_half)
{
    CAST_PUT64(to, CAST_NAME(whole32)(params, CAST_PACK_HALF(from)));
}

static inline CAST_VECTORS(each_integer32_of_brain)
{
    CAST_PUT64(to, CAST_NAME(whole32)(params, CAST_PACK_BRAIN(from)));
}

CAST_PACKED(integer32_of_f32, 16, 4, 4, CAST_NAME(each_integer32_of_f32))
CAST_PACKED(integer32_of_half, 16, 4, 2, CAST_NAME(each_integer32_of_half))
CAST_PACKED(integer32_of_brain, 16, 4, 2, CAST_NAME(each_integer32_of_brain))

/* One step of two, by the source's format. */
#define CAST_OF_FLOAT16(name, half, brain)                                                                             \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        (params->from_fraction == 10 ? CAST_NAME(half) : CAST_NAME(brain))(params, to, from, count);                   \
    }

CAST_OF_FLOAT16(integer8_of_float16, integer8_of_half, integer8_of_brain)
CAST_OF_FLOAT16(integer16_of_float16, integer16_of_half, integer16_of_brain)
CAST_OF_FLOAT16(integer32_of_float16, integer32_of_half, integer32_of_brain)

/* ---- Integers of 16 and 32 bits to smaller floats. None is NaN or infinite, and but for 0 none is below the least
 * normal number of any format ---- */

/* Whether a float32 has an odd place where it is to be cut. */
static inline CAST_TARGET __m512i CAST_NAME(round)(__m512i bits, __m512i less_than_half, __m512i places)
{
    const __m512i odd = _mm512_and_si512(_mm512_srlv_epi32(bits, places), _mm512_set1_epi32(1));

    return _mm512_add_epi32(_mm512_add_epi32(bits, less_than_half), odd);
}

/* Every integer of 32 bits is within bfloat16's ends. */
static inline CAST_TARGET void CAST_NAME(put_brains)(unsigned char *to, __m512i a, __m512i b)
{
    const __m512i places = _mm512_set1_epi32(16), less_than_half = _mm512_set1_epi32(0x7FFF);
    const __m512i low = _mm512_srli_epi32(CAST_NAME(round)(a, less_than_half, places), 16);
    const __m512i high = _mm512_srli_epi32(CAST_NAME(round)(b, less_than_half, places), 16);

    _mm512_storeu_si512((void *)to, _mm512_permutexvar_epi64(CAST_PACK_DEAL2, _mm512_packus_epi32(low, high)));
}

static inline CAST_VECTORS(each_brain_of_i16)
{
    (void)params;
    CAST_NAME(put_brains)
    (to, _mm512_castps_si512(_mm512_cvtepi32_ps(CAST_PACK_I16(from))),
     _mm512_castps_si512(_mm512_cvtepi32_ps(CAST_PACK_I16(from + 32))));
}

static inline CAST_VECTORS(each_brain_of_i32)
{
    (void)params;
    CAST_NAME(put_brains)
    (to, (__m512i)CAST_NAME(odd)((CAST_I32)CAST_PACK_I32(from)),
     (__m512i)CAST_NAME(odd)((CAST_I32)CAST_PACK_I32(from + 64)));
}

static inline CAST_VECTORS(each_half_of_i16)
{
    (void)params;
    _mm256_storeu_si256(CAST_AVX512_TO16(to), CAST_AVX512_HALF(_mm512_cvtepi32_ps(CAST_PACK_I16(from))));
}

CAST_PACKED(brain_of_i16, 32, 2, 2, CAST_NAME(each_brain_of_i16))
CAST_PACKED(brain_of_i32, 32, 2, 4, CAST_NAME(each_brain_of_i32))
CAST_PACKED(half_of_i16, 16, 2, 2, CAST_NAME(each_half_of_i16))

static CAST_STEP(float16_of_i16)
{
    (params->shift == 13 ? CAST_NAME(half_of_i16) : CAST_NAME(brain_of_i16))(params, to, from, count);
}

/* The code of a number without its sign, in a lane of 32 bits. */
static inline CAST_TARGET __m512i CAST_NAME(count_code)(const dlpark__cast_params *params, __m512i number)
{
    const __m512i places = _mm512_set1_epi32((int)params->shift);
    const __m512i less = _mm512_set1_epi32((int)((1u << (params->shift - 1)) - 1 - (params->rebias << 23)));
    const __m512i bits = _mm512_castps_si512(_mm512_cvtepu32_ps(_mm512_abs_epi32(number)));
    const __m512i kept = _mm512_min_epi32(bits, _mm512_set1_epi32((int)params->clamp));

    /* 0 is below 0 by now. */
    return _mm512_srlv_epi32(_mm512_max_epi32(CAST_NAME(round)(kept, less, places), _mm512_setzero_si512()), places);
}

static inline CAST_TARGET void CAST_NAME(put_codes)(const dlpark__cast_params *params, unsigned char *to, __m512i a,
                                                    __m512i b, __m512i c, __m512i d)
{
    const __mmask32 first = _mm512_kunpackw(_mm512_movepi32_mask(b), _mm512_movepi32_mask(a));
    const __mmask32 last = _mm512_kunpackw(_mm512_movepi32_mask(d), _mm512_movepi32_mask(c));
    const __m512i low = _mm512_packs_epi32(CAST_NAME(count_code)(params, a), CAST_NAME(count_code)(params, b));
    const __m512i high = _mm512_packs_epi32(CAST_NAME(count_code)(params, c), CAST_NAME(count_code)(params, d));
    const __m512i codes = _mm512_permutexvar_epi32(CAST_PACK_DEAL4, _mm512_packus_epi16(low, high));
    const __m512i with_sign = _mm512_or_si512(codes, _mm512_set1_epi8((char)(1u << params->sign)));

    _mm512_storeu_si512((void *)to, _mm512_mask_mov_epi8(codes, _mm512_kunpackd(last, first), with_sign));
}

static inline CAST_VECTORS(each_float8_of_i16)
{
    CAST_NAME(put_codes)
    (params, to, CAST_PACK_I16(from), CAST_PACK_I16(from + 32), CAST_PACK_I16(from + 64), CAST_PACK_I16(from + 96));
}

static inline CAST_VECTORS(each_float8_of_i32)
{
    CAST_NAME(put_codes)
    (params, to, CAST_PACK_I32(from), CAST_PACK_I32(from + 64), CAST_PACK_I32(from + 128), CAST_PACK_I32(from + 192));
}

CAST_PACKED(float8_of_i16, 64, 1, 2, CAST_NAME(each_float8_of_i16))
CAST_PACKED(float8_of_i32, 64, 1, 4, CAST_NAME(each_float8_of_i32))

#define CAST_AVX512_PACK_ROWS                                                                                          \
    [DLPARK__CAST_INTEGER_OF_FLOAT16_8 + DLPARK__CAST_32] = CAST_NAME(integer32_of_float16),                           \
                                         [DLPARK__CAST_FLOAT8_OF_I32] = CAST_NAME(float8_of_i32)
