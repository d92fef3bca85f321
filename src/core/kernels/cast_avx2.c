/* The steps of casts for x86 processors with AVX2 and F16C. */
#include "kernels.h"

#if defined(DLPARK__KERNELS_X86)
#include <immintrin.h>
#include <string.h>

#define CAST_LANES      8
#define CAST_TARGET     __attribute__((target("avx2,f16c")))
#define CAST_NAME(name) cast_avx2_##name

#define CAST_AVX2_8(p)      _mm_loadl_epi64((const __m128i *)(const void *)(p))
#define CAST_AVX2_16(p)     _mm_loadu_si128((const __m128i *)(const void *)(p))
#define CAST_LOAD8(p)       ((CAST_U32)_mm256_cvtepu8_epi32(CAST_AVX2_8(p)))
#define CAST_LOAD16(p)      ((CAST_U32)_mm256_cvtepu16_epi32(CAST_AVX2_16(p)))
#define CAST_EXTEND8(p)     ((CAST_U32)_mm256_cvtepi8_epi32(CAST_AVX2_8(p)))
#define CAST_EXTEND16(p)    ((CAST_U32)_mm256_cvtepi16_epi32(CAST_AVX2_16(p)))
#define CAST_WIDEN_HALF(p)  ((CAST_F32)_mm256_cvtph_ps(CAST_AVX2_16(p)))
#define CAST_NARROW_HALF(v) ((CAST_U32)_mm256_cvtepu16_epi32(_mm256_cvtps_ph((__m256)(v), _MM_FROUND_TO_NEAREST_INT)))

/* The bytes of each half that are kept, first; the lower 8 or 16 bits of its four lanes. */
#define CAST_AVX2_KEEP8  _mm256_set1_epi64x(0x0C080400)
#define CAST_AVX2_KEEP16 _mm256_set1_epi64x(0x0D0C090805040100)

static inline __attribute__((target("avx2,f16c"))) void cast_avx2_save8(unsigned char *to, __m256i v)
{
    __m256i kept = _mm256_shuffle_epi8(v, CAST_AVX2_KEEP8);
    __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256(kept, 1));

    _mm_storel_epi64((__m128i *)(void *)to, both);
}

static inline __attribute__((target("avx2,f16c"))) void cast_avx2_save16(unsigned char *to, __m256i v)
{
    __m256i kept = _mm256_shuffle_epi8(v, CAST_AVX2_KEEP16);

    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(_mm256_permute4x64_epi64(kept, 0x08)));
}

#define CAST_MIN(a, b) ((CAST_U32)_mm256_min_epi32((__m256i)(a), (__m256i)(b)))
#define CAST_MAX(a, b) ((CAST_U32)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define CAST_MORE(a, b, x, y)                                                                                          \
    ((CAST_U32)_mm256_blendv_epi8((__m256i)(y), (__m256i)(x), _mm256_cmpgt_epi32((__m256i)(a), (__m256i)(b))))
#define CAST_JOIN(a, b)  ((CAST_U32)_mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)(a)), (__m128i)(b), 1))
#define CAST_SHIFT(v, n) ((CAST_U32)_mm256_srlv_epi32((__m256i)(v), _mm256_set1_epi32((int)(n))))
#define CAST_SAVE_HALF(p, v)                                                                                           \
    _mm_storeu_si128((__m128i *)(void *)(p), _mm256_cvtps_ph((__m256)(v), _MM_FROUND_TO_NEAREST_INT))
/* Of its own accord a compiler does so by halves. */
#define CAST_WIDEN_F32(v) ((CAST_F64X)_mm256_cvtps_pd((__m128)(v)))
#define CAST_WIDEN_I32(v) ((CAST_F64X)_mm256_cvtepi32_pd((__m128i)(v)))
#define CAST_SAVE8(p, v)  cast_avx2_save8(p, (__m256i)(v))
#define CAST_SAVE16(p, v) cast_avx2_save16(p, (__m256i)(v))

#define CAST_OWN_ODD 1

#include "cast_avx2_table.h"
#include "cast_vector_begin.h"

#include "cast_avx2_wide.h"

#include "cast_vector.h"

const dlpark__cast_step dlpark__cast_avx2[DLPARK__CAST_STEPS] = {
    CAST_ROWS,
    [DLPARK__CAST_ODD_OF_I64] = CAST_NAME(odd_of_i64),
    [DLPARK__CAST_ODD_OF_U64] = CAST_NAME(odd_of_u64),
    [DLPARK__CAST_TABLE] = avx2_table_all,
    [DLPARK__CAST_TABLE_16] = avx2_table_all_16,
    [DLPARK__CAST_TABLE_F32] = avx2_table_all_f32,
    [DLPARK__CAST_TABLE_FEW] = avx2_table_few,
    [DLPARK__CAST_TABLE_FEW_16] = avx2_table_few_16,
    [DLPARK__CAST_TABLE_FEW_F32] = avx2_table_few_f32,
};

#include "cast_vector_end.h"
#else
typedef int cast_avx2_is_absent;
#endif
