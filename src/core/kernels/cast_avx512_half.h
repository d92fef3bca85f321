/*
 * What cast_avx512.c does in lanes of 16 bits, 32 of them: floats of 16 bits to those of 8, and integers of 16 and 8. And
 * what it does in one step more than others.
 * Included by it alone, behind cast_vector.h.
 */
/* ---- Floats of 16 bits to those of at most 8 ---- */

/* The numbers of two formats in registers, for a loop. Places are bits of the source that the destination lacks. */
typedef struct CAST_NAME(narrowing) {
    __m512i clamp, nan, infinite, top, places, fraction, fraction_to, hidden, ones, least, sign, sign_shift;
    int rebias; /* bias of the source less that of the destination */
    bool is_mended, fnuz;
} CAST_NAME(narrowing);

#define CAST_HALF_ALL(number) _mm512_set1_epi16((short)(number))

static inline CAST_TARGET CAST_NAME(narrowing) CAST_NAME(narrowing_of)(const dlpark__cast_params *params)
{
    const uint32_t up = 23 - params->from_fraction, fraction_to = 23 - params->shift;
    const int rebias = (int)params->rebias - (int)params->from_rebias;
    const uint32_t clamp = params->clamp - (params->from_rebias << 23);

    return (CAST_NAME(narrowing)){
        .clamp = CAST_HALF_ALL((clamp + (1u << up) - 1) >> up), /* the least that is not below */
        .nan = CAST_HALF_ALL(params->nan),
        .infinite = CAST_HALF_ALL(params->infinite),
        .top = CAST_HALF_ALL(params->from_top),
        .places = CAST_HALF_ALL(params->shift - up),
        .fraction = CAST_HALF_ALL(params->from_fraction),
        .fraction_to = CAST_HALF_ALL(fraction_to),
        .hidden = CAST_HALF_ALL(1u << params->from_fraction),
        .ones = CAST_HALF_ALL((1u << params->from_fraction) - 1),
        .least = CAST_HALF_ALL(rebias + 1),
        .sign = CAST_HALF_ALL(1u << params->sign),
        .sign_shift = CAST_HALF_ALL(15 - params->sign),
        .rebias = rebias,
        .is_mended = params->infinite != params->over,
        .fnuz = params->fnuz,
    };
}

/* Without the lowest places, of which there are at least one, and more than 15 where nothing is left. */
static inline CAST_TARGET __m512i CAST_NAME(round16)(__m512i value, __m512i places)
{
    const __m512i odd = _mm512_and_si512(_mm512_srlv_epi16(value, places), CAST_HALF_ALL(1));
    const __m512i half = _mm512_srlv_epi16(CAST_HALF_ALL(0x7FFF), _mm512_sub_epi16(CAST_HALF_ALL(16), places));

    return _mm512_srlv_epi16(_mm512_add_epi16(_mm512_add_epi16(value, half), odd), places);
}

/* Where the least normal number of the destination is normal in the source too: below it more places are lost the
 * smaller a number is. Subnormal numbers of the source are below half of the least number here, whatever is made of
 * their exponent. */
static inline CAST_TARGET __m512i CAST_NAME(narrow16)(const CAST_NAME(narrowing) * format, __m512i kept)
{
    const __m512i exponent = _mm512_srlv_epi16(kept, format->fraction);
    const __m512i below = _mm512_subs_epu16(format->least, exponent);
    const __m512i above = _mm512_subs_epu16(exponent, format->least);
    const __m512i significand = _mm512_or_si512(_mm512_and_si512(kept, format->ones), format->hidden);
    const __m512i code = CAST_NAME(round16)(significand, _mm512_add_epi16(format->places, below));

    return _mm512_add_epi16(code, _mm512_sllv_epi16(above, format->fraction_to));
}

/* Where both have the same exponents (float16 and e5m2), or the destination one more below (e5m2fnuz): there a subnormal
 * number of the source has one place more. */
static inline CAST_TARGET __m512i CAST_NAME(narrow16_same)(const CAST_NAME(narrowing) * format, __m512i kept)
{
    const __m512i code = CAST_NAME(round16)(kept, format->places);

    if (format->rebias == 0)
        return code;
    const __m512i small = CAST_NAME(round16)(kept, _mm512_sub_epi16(format->places, CAST_HALF_ALL(1)));
    const __m512i normal = _mm512_add_epi16(code, _mm512_sllv_epi16(CAST_HALF_ALL(1), format->fraction_to));
    return _mm512_mask_mov_epi16(normal, _mm512_cmplt_epu16_mask(kept, format->hidden), small);
}

static inline CAST_TARGET __m512i CAST_NAME(mend16)(const CAST_NAME(narrowing) * format, __m512i word, __m512i code)
{
    const __m512i magnitude = _mm512_and_si512(word, CAST_HALF_ALL(0x7FFF));
    const __m512i sign = _mm512_and_si512(_mm512_srlv_epi16(word, format->sign_shift), format->sign);

    if (format->is_mended)
        code = _mm512_mask_mov_epi16(code, _mm512_cmpeq_epi16_mask(magnitude, format->top), format->infinite);
    code = _mm512_mask_mov_epi16(code, _mm512_cmpgt_epi16_mask(magnitude, format->top), format->nan);
    if (format->fnuz) /* 0 has no sign; what is above the largest is the sign */
        return _mm512_or_si512(code, _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(code, code), sign));
    return _mm512_xor_si512(code, sign);
}

static CAST_STEP(float8_of_float16)
{
    enum { lanes = 32, out_nbytes = lanes, in_nbytes = lanes * 2 };
    const CAST_NAME(narrowing) format = CAST_NAME(narrowing_of)(params);

    CAST_EACH(lanes)
    {
        const __m512i word = _mm512_loadu_si512((const void *)from);
        const __m512i magnitude = _mm512_and_si512(word, CAST_HALF_ALL(0x7FFF));
        const __m512i kept = _mm512_min_epu16(magnitude, format.clamp);
        const __m512i code =
            format.rebias > 0 ? CAST_NAME(narrow16)(&format, kept) : CAST_NAME(narrow16_same)(&format, kept);
        _mm256_storeu_si256(CAST_AVX512_TO16(to), _mm512_cvtepi16_epi8(CAST_NAME(mend16)(&format, word, code)));
    }
    CAST_REST(DLPARK__CAST_FLOAT8_OF_FLOAT16);
}

/* ---- Integers ---- */

#define CAST_I16_OF(name, step, extend)                                                                                \
    static CAST_STEP(name)                                                                                             \
    {                                                                                                                  \
        enum { lanes = 32, out_nbytes = lanes * 2, in_nbytes = lanes };                                                \
        CAST_EACH(lanes)                                                                                               \
        _mm512_storeu_si512((void *)to, extend(CAST_AVX512_16(from)));                                                 \
        CAST_REST(step);                                                                                               \
    }

CAST_I16_OF(i16_of_i8, DLPARK__CAST_I16_OF_I8, _mm512_cvtepi8_epi16)
CAST_I16_OF(i16_of_u8, DLPARK__CAST_I16_OF_U8, _mm512_cvtepu8_epi16)

static CAST_STEP(wrap_i16)
{
    enum { lanes = 32, out_nbytes = lanes, in_nbytes = lanes * 2 };

    CAST_EACH(lanes)
    _mm256_storeu_si256(CAST_AVX512_TO16(to), _mm512_cvtepi16_epi8(_mm512_loadu_si512((const void *)from)));
    CAST_REST(DLPARK__CAST_WRAP_I16);
}

static inline CAST_TARGET __m512i CAST_NAME(keep_within16)(const dlpark__cast_params *params, const unsigned char *from)
{
    const __m512i least = CAST_HALF_ALL(params->low);
    const __m512i most = CAST_HALF_ALL(params->high < INT16_MAX ? params->high : INT16_MAX);

    return _mm512_min_epi16(_mm512_max_epi16(_mm512_loadu_si512((const void *)from), least), most);
}

static CAST_STEP(saturate_i16)
{
    enum { lanes = 32, out_nbytes = lanes, in_nbytes = lanes * 2 };
    const dlpark__cast_params known = *params;

    CAST_EACH(lanes)
    _mm256_storeu_si256(CAST_AVX512_TO16(to), _mm512_cvtepi16_epi8(CAST_NAME(keep_within16)(&known, from)));
    CAST_REST(DLPARK__CAST_SATURATE_I16);
}

static CAST_STEP(saturate_i16_16)
{
    enum { lanes = 32, out_nbytes = lanes * 2, in_nbytes = lanes * 2 };
    const dlpark__cast_params known = *params;

    CAST_EACH(lanes)
    _mm512_storeu_si512((void *)to, CAST_NAME(keep_within16)(&known, from));
    CAST_REST(DLPARK__CAST_SATURATE_I16_16);
}

/* ---- int32 to odd and on without a tile between: sets with half as many registers are faster in two steps ---- */

static CAST_STEP(half_of_i32)
{
    enum { out_nbytes = CAST_LANES * 2, in_nbytes = CAST_LANES * 4 };
    const dlpark__cast_params known = *params;

    if (known.over == 0x7C00) {
        CAST_EACH(CAST_LANES) CAST_SAVE_HALF(to, CAST_NAME(odd)((CAST_I32)CAST_NAME(load)(from)));
    } else {
        CAST_EACH(CAST_LANES)
        CAST_SAVE_HALF(to, CAST_NAME(clamp_half)(&known, CAST_NAME(odd)((CAST_I32)CAST_NAME(load)(from))));
    }
    CAST_REST(DLPARK__CAST_FLOAT16_OF_I32);
}

static CAST_STEP(float16_of_i32)
{
    (params->shift == 13 ? CAST_NAME(half_of_i32) : CAST_NAME(brain_of_i32))(params, to, from, count);
}

/* ---- float64 to floats of 16 bits, without a tile between ---- */

/* To odd as far as the destination can tell. Of the places that it cuts off behind the one that it rounds by, all that
 * counts is whether there is something. Where there is nothing, float32 loses something only of what is less than half
 * of the destination's least number. */
static inline CAST_TARGET CAST_U32 CAST_NAME(odd_wide)(const dlpark__cast_params *params, const unsigned char *from)
{
    const __m512i cut = _mm512_set1_epi64((1LL << (28 + params->shift)) - 1);
    const __m512d low = _mm512_loadu_pd((const void *)from), high = _mm512_loadu_pd((const void *)(from + 64));
    const __mmask8 low_lost = _mm512_test_epi64_mask(_mm512_castpd_si512(low), cut);
    const __mmask8 high_lost = _mm512_test_epi64_mask(_mm512_castpd_si512(high), cut);
    const __m256i low_made = _mm256_castps_si256(_mm512_cvt_roundpd_ps(low, CAST_TRUNCATING));
    const __m256i high_made = _mm256_castps_si256(_mm512_cvt_roundpd_ps(high, CAST_TRUNCATING));
    const __m512i made = _mm512_inserti64x4(_mm512_castsi256_si512(low_made), high_made, 1);

    return (CAST_U32)_mm512_mask_or_epi32(made, _mm512_kunpackb(high_lost, low_lost), made, _mm512_set1_epi32(1));
}

static inline CAST_VECTORS(each_half_of_f64)
{
    CAST_U32 bits = CAST_NAME(odd_wide)(params, from);

    CAST_SAVE_HALF(to, params->over == 0x7C00 ? bits : CAST_NAME(clamp_half)(params, bits));
}

static inline CAST_VECTORS(each_brain_of_f64)
{
    CAST_U32 bits = CAST_NAME(odd_wide)(params, from);

    CAST_SAVE16(to,
                params->over == 0x7F80 ? CAST_NAME(narrow_brain_nosat)(bits) : CAST_NAME(narrow_brain)(params, bits));
}

CAST_PACKED(half_of_f64, 16, 2, 8, CAST_NAME(each_half_of_f64))
CAST_PACKED(brain_of_f64, 16, 2, 8, CAST_NAME(each_brain_of_f64))

static CAST_STEP(float16_of_f64)
{
    (params->shift == 13 ? CAST_NAME(half_of_f64) : CAST_NAME(brain_of_f64))(params, to, from, count);
}

#define CAST_AVX512_HALF_ROWS                                                                                          \
    [DLPARK__CAST_FLOAT16_OF_F64] = CAST_NAME(float16_of_f64),                                                         \
    [DLPARK__CAST_FLOAT16_OF_I32] = CAST_NAME(float16_of_i32),                                                         \
    [DLPARK__CAST_FLOAT8_OF_FLOAT16] = CAST_NAME(float8_of_float16), [DLPARK__CAST_I16_OF_I8] = CAST_NAME(i16_of_i8),  \
    [DLPARK__CAST_I16_OF_U8] = CAST_NAME(i16_of_u8), [DLPARK__CAST_WRAP_I16] = CAST_NAME(wrap_i16),                    \
    [DLPARK__CAST_SATURATE_I16] = CAST_NAME(saturate_i16), [DLPARK__CAST_SATURATE_I16_16] = CAST_NAME(saturate_i16_16)

#undef CAST_HALF_ALL
#undef CAST_I16_OF
