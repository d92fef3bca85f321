/* The steps of casts for x86 processors with AVX-512 F, BW, VL and DQ. */
#include "kernels.h"

#if defined(DLPARK__KERNELS_X86)
#include <immintrin.h>
#include <string.h>

#define CAST_LANES      16
#define CAST_TARGET     __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define CAST_NAME(name) cast_avx512_##name

#define CAST_AVX512_8(p)    _mm_loadu_si128((const __m128i *)(const void *)(p))
#define CAST_AVX512_16(p)   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define CAST_AVX512_TO16(p) ((__m256i *)(void *)(p))
#define CAST_LOAD8(p)       ((CAST_U32)_mm512_cvtepu8_epi32(CAST_AVX512_8(p)))
#define CAST_LOAD16(p)      ((CAST_U32)_mm512_cvtepu16_epi32(CAST_AVX512_16(p)))
#define CAST_EXTEND8(p)     ((CAST_U32)_mm512_cvtepi8_epi32(CAST_AVX512_8(p)))
#define CAST_EXTEND16(p)    ((CAST_U32)_mm512_cvtepi16_epi32(CAST_AVX512_16(p)))
#define CAST_SAVE8(p, v)    _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8((__m512i)(v)))
#define CAST_SAVE16(p, v)   _mm256_storeu_si256(CAST_AVX512_TO16(p), _mm512_cvtepi32_epi16((__m512i)(v)))
#define CAST_WIDEN_HALF(p)  ((CAST_F32)_mm512_cvtph_ps(CAST_AVX512_16(p)))
/* The forms with a mask: those without warn of their own constants. */
#define CAST_AVX512_HALF(v) _mm512_maskz_cvtps_ph((__mmask16)0xFFFF, (__m512)(v), _MM_FROUND_TO_NEAREST_INT)
#define CAST_NARROW_HALF(v) ((CAST_U32)_mm512_cvtepu16_epi32(CAST_AVX512_HALF(v)))

#define CAST_MIN(a, b) ((CAST_U32)_mm512_min_epi32((__m512i)(a), (__m512i)(b)))
#define CAST_MAX(a, b) ((CAST_U32)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define CAST_MORE(a, b, x, y)                                                                                          \
    ((CAST_U32)_mm512_mask_mov_epi32((__m512i)(y), _mm512_cmpgt_epi32_mask((__m512i)(a), (__m512i)(b)), (__m512i)(x)))
#define CAST_JOIN(a, b) ((CAST_U32)_mm512_inserti64x4(_mm512_castsi256_si512((__m256i)(a)), (__m256i)(b), 1))
#define CAST_QUIET(v, other)                                                                                           \
    ((CAST_U32)_mm512_mask_or_epi32((__m512i)(other), _mm512_cmp_ps_mask((__m512)(v), (__m512)(v), _CMP_UNORD_Q),      \
                                    (__m512i)(v), _mm512_set1_epi32(0x00400000)))
/* By a vector of counts: by one count for all is an operation more. */
#define CAST_SHIFT(v, n)     ((CAST_U32)_mm512_srlv_epi32((__m512i)(v), _mm512_set1_epi32((int)(n))))
#define CAST_SAVE_HALF(p, v) _mm256_storeu_si256(CAST_AVX512_TO16(p), CAST_AVX512_HALF(v))
/* Of its own accord a compiler does so by halves. */
#define CAST_WIDEN_F32(v) ((CAST_F64X)_mm512_cvtps_pd((__m256)(v)))
#define CAST_WIDEN_I32(v) ((CAST_F64X)_mm512_cvtepi32_pd((__m256i)(v)))

#define CAST_OWN_CONVERSIONS 1
#define CAST_OWN_ODD         1

#include "cast_vector_begin.h"

#include "cast_avx512_wide.h"

#include "cast_avx512_pack.h"

#include "cast_vector.h"

#include "cast_avx512_half.h"

const dlpark__cast_step dlpark__cast_avx512[DLPARK__CAST_STEPS] = {CAST_ROWS, CAST_AVX512_WIDE_ROWS,
                                                                   CAST_AVX512_PACK_ROWS, CAST_AVX512_HALF_ROWS};

#include "cast_vector_end.h"
#undef CAST_AVX512_16
#undef CAST_AVX512_8
#undef CAST_AVX512_ALL
#undef CAST_AVX512_EIGHT
#undef CAST_AVX512_HALF
#undef CAST_AVX512_HALF_ROWS
#undef CAST_AVX512_PACK_ROWS
#undef CAST_AVX512_TO16
#undef CAST_AVX512_WIDE_ROWS
#undef CAST_VECTORS
#undef CAST_KEPT
#undef CAST_KEPT_UNSIGNED
#undef CAST_OF_FLOAT16
#undef CAST_PACKED
#undef CAST_PACK_BRAIN
#undef CAST_PACK_DEAL2
#undef CAST_PACK_DEAL4
#undef CAST_PACK_F32
#undef CAST_PACK_HALF
#undef CAST_PACK_I16
#undef CAST_PACK_I32
#undef CAST_PACK_INTEGERS
#undef CAST_PUT16
#undef CAST_PUT32
#undef CAST_PUT64
#undef CAST_PUT8
#undef CAST_PUT_F32
#undef CAST_PUT_F64
#undef CAST_TRUNCATING
#undef CAST_WHOLE_BRAIN
#undef CAST_WHOLE_F32
#undef CAST_WHOLE_F64
#undef CAST_WHOLE_HALF
#undef CAST_WIDE
#undef CAST_WIDE_WIDTHS
#else
typedef int cast_avx512_is_absent;
#endif
