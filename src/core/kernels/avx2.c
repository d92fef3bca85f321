/* The kernels for x86 processors with AVX2: two lanes. */
#include "kernels.h"

#if defined(DLPARK__KERNELS_X86)
#include <immintrin.h>
#include <string.h>

#define VECTOR __m256i

#define VECTOR_TARGET       __attribute__((target("avx2")))
#define VECTOR_LANES        2
#define VECTOR_NAME(name)   avx2_##name
#define VECTOR_BELOW        dlpark__kernels_ssse3
#define VECTOR_CAST         dlpark__cast_avx2
#define VECTOR_ONLY_STREAMS 0

#define AVX2_HALF(p)         _mm_loadu_si128((const __m128i *)(const void *)(p))
#define VECTOR_LOAD(p, step) _mm256_inserti128_si256(_mm256_castsi128_si256(AVX2_HALF(p)), AVX2_HALF((p) + (step)), 1)
#define VECTOR_LOAD_ALL(p)   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VECTOR_SAVE(p, v)    _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define VECTOR_SPREAD(p, step, v)                                                                                      \
    (_mm_storeu_si128((__m128i *)(void *)(p), _mm256_castsi256_si128(v)),                                              \
     _mm_storeu_si128((__m128i *)(void *)((p) + (step)), _mm256_extracti128_si256(v, 1)))
#define VECTOR_STREAM(p, v) _mm256_stream_si256((__m256i *)(void *)(p), v)
#define VECTOR_SPREAD_STREAM(p, step, v)                                                                               \
    (_mm_stream_si128((__m128i *)(void *)(p), _mm256_castsi256_si128(v)),                                              \
     _mm_stream_si128((__m128i *)(void *)((p) + (step)), _mm256_extracti128_si256(v, 1)))
#define VECTOR_LOW8(a, b)        _mm256_unpacklo_epi8(a, b)
#define VECTOR_HIGH8(a, b)       _mm256_unpackhi_epi8(a, b)
#define VECTOR_LOW16(a, b)       _mm256_unpacklo_epi16(a, b)
#define VECTOR_HIGH16(a, b)      _mm256_unpackhi_epi16(a, b)
#define VECTOR_LOW32(a, b)       _mm256_unpacklo_epi32(a, b)
#define VECTOR_HIGH32(a, b)      _mm256_unpackhi_epi32(a, b)
#define VECTOR_LOW64(a, b)       _mm256_unpacklo_epi64(a, b)
#define VECTOR_HIGH64(a, b)      _mm256_unpackhi_epi64(a, b)
#define VECTOR_PICK(v, m)        _mm256_shuffle_epi8(v, m)
#define VECTOR_OR(a, b)          _mm256_or_si256(a, b)
#define VECTOR_MASK(p)           _mm256_broadcastsi128_si256(AVX2_HALF(p))
#define VECTOR_MASKS(p, q, r, s) _mm256_inserti128_si256(_mm256_castsi128_si256(AVX2_HALF(p)), AVX2_HALF(q), 1)
#define AVX2_WORDS(i)            4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#define VECTOR_DEALS(i, j, k, l) _mm256_setr_epi32(AVX2_WORDS(i), AVX2_WORDS(j))
#define VECTOR_DEAL(v, deals)    _mm256_permutevar8x32_epi32(v, deals)
#define VECTOR_PACK12(v)         _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7))
#define VECTOR_FENCE()           _mm_sfence()

#include "vector.h"

const dlpark__kernels dlpark__kernels_avx2 = VECTOR_TABLE("avx2");

#include "vector_end.h"
#else
typedef int avx2_is_absent;
#endif
