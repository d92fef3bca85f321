/*
 * The steps of casts for x86 processors with AVX-512 BF16 besides: integers of 16 and 32 bits to bfloat16. Its conversion
 * takes subnormal numbers of float32 for 0, whatever the unit is set to, so floats are none of its business.
 */
#include "kernels.h"

#if defined(DLPARK__KERNELS_X86)
#include <immintrin.h>
#include <string.h>

#define BRAIN_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define BRAIN_LANES  ((size_t)32)

static inline BRAIN_TARGET void brain_put(unsigned char *to, __m512 low, __m512 high)
{
    const __m512bh codes = _mm512_cvtne2ps_pbh(high, low);

    memcpy(to, &codes, sizeof codes);
}

static inline BRAIN_TARGET __m512 brain_of_words(const unsigned char *from)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)from)));
}

/* To odd: truncated, and the last place set where the way back does not lead to what it was. */
static inline BRAIN_TARGET __m512 brain_of_longs(const unsigned char *from)
{
    const __m512i numbers = _mm512_loadu_si512((const void *)from);
    const __m512 made = _mm512_cvt_roundepi32_ps(numbers, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __mmask16 lost = _mm512_cmpneq_epi32_mask(numbers, _mm512_cvttps_epi32(made));
    const __m512i bits = _mm512_castps_si512(made);

    return _mm512_castsi512_ps(_mm512_mask_or_epi32(bits, lost, bits, _mm512_set1_epi32(1)));
}

/* A step by `load`, from `nbytes` bytes; the rest, and what is no bfloat16, by the set below. */
#define BRAIN_STEP(name, step, nbytes, load)                                                                           \
    BRAIN_TARGET void name(const dlpark__cast_params *params, unsigned char *to, const unsigned char *from,            \
                           size_t count)                                                                               \
    {                                                                                                                  \
        for (; params->shift == 16 && count >= BRAIN_LANES; count -= BRAIN_LANES) {                                    \
            brain_put(to, load(from), load(from + 16 * (nbytes)));                                                     \
            to += 2 * BRAIN_LANES;                                                                                     \
            from += (nbytes)*BRAIN_LANES;                                                                              \
            DLPARK__CAST_ASK_AHEAD(from);                                                                              \
        }                                                                                                              \
        dlpark__cast_avx512[step](params, to, from, count);                                                            \
    }

static BRAIN_STEP(brain_float16_of_i16, DLPARK__CAST_FLOAT16_OF_I16, 2,
                  brain_of_words) static BRAIN_STEP(brain_float16_of_i32, DLPARK__CAST_FLOAT16_OF_I32, 4,
                                                    brain_of_longs)

    const dlpark__cast_step dlpark__cast_avx512bf16[DLPARK__CAST_STEPS] = {
        [DLPARK__CAST_FLOAT16_OF_I16] = brain_float16_of_i16,
        [DLPARK__CAST_FLOAT16_OF_I32] = brain_float16_of_i32,
};

#undef BRAIN_LANES
#undef BRAIN_STEP
#undef BRAIN_TARGET
#else
typedef int cast_avx512bf16_is_absent;
#endif
