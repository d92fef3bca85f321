/* The steps of casts for x86 processors with AVX-512 F, BW and VL. */
#include "kernels.h"

#if defined(DLPARK__KERNELS_X86)
#include <immintrin.h>
#include <string.h>

#define CAST_LANES      16
#define CAST_TARGET     __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define CAST_NAME(name) cast_avx512_##name

#define CAST_AVX512_8(p)   _mm_loadu_si128((const __m128i *)(const void *)(p))
#define CAST_AVX512_16(p)  _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define CAST_LOAD8(p)      ((CAST_U32)_mm512_cvtepu8_epi32(CAST_AVX512_8(p)))
#define CAST_LOAD16(p)     ((CAST_U32)_mm512_cvtepu16_epi32(CAST_AVX512_16(p)))
#define CAST_EXTEND8(p)    ((CAST_U32)_mm512_cvtepi8_epi32(CAST_AVX512_8(p)))
#define CAST_EXTEND16(p)   ((CAST_U32)_mm512_cvtepi16_epi32(CAST_AVX512_16(p)))
#define CAST_SAVE8(p, v)   _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8((__m512i)(v)))
#define CAST_SAVE16(p, v)  _mm256_storeu_si256((__m256i *)(void *)(p), _mm512_cvtepi32_epi16((__m512i)(v)))
#define CAST_WIDEN_HALF(p) ((CAST_F32)_mm512_cvtph_ps(CAST_AVX512_16(p)))
/* The form with a mask: the one without warns of its own constants. */
#define CAST_NARROW_HALF(v)                                                                                            \
    ((CAST_U32)_mm512_cvtepu16_epi32(_mm512_maskz_cvtps_ph((__mmask16)0xFFFF, (__m512)(v), _MM_FROUND_TO_NEAREST_INT)))

#include "cast_vector.h"

const dlpark__cast_step dlpark__cast_avx512[DLPARK__CAST_STEPS] = CAST_TABLE;

#include "cast_vector_end.h"
#else
typedef int cast_avx512_is_absent;
#endif
