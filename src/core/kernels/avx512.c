/* The kernels for x86 processors with AVX-512 F, BW and VL: four lanes. */
#include "kernels.h"

#if defined(DLPARK__KERNELS_X86)
#include <immintrin.h>
#include <string.h>

#define VECTOR __m512i

#define VECTOR_TARGET       __attribute__((target("avx512f,avx512bw,avx512vl")))
#define VECTOR_LANES        4
#define VECTOR_NAME(name)   avx512_##name
#define VECTOR_BELOW        dlpark__kernels_avx2
#define VECTOR_CAST         dlpark__cast_avx512
#define VECTOR_ONLY_STREAMS 1

#define AVX512_LANE(p)       _mm_loadu_si128((const __m128i *)(const void *)(p))
#define AVX512_LAY(v, i, p)  _mm512_inserti32x4(v, AVX512_LANE(p), i)
#define AVX512_TAKE(p, v, i) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_extracti32x4_epi32(v, i))
#define VECTOR_LOAD(p, step)                                                                                           \
    AVX512_LAY(AVX512_LAY(AVX512_LAY(_mm512_castsi128_si512(AVX512_LANE(p)), 1, (p) + (step)), 2, (p) + 2 * (step)),   \
               3, (p) + 3 * (step))
#define VECTOR_LOAD_ALL(p) _mm512_loadu_si512((const void *)(p))
#define VECTOR_SAVE(p, v)  _mm512_storeu_si512((void *)(p), v)
#define VECTOR_SPREAD(p, step, v)                                                                                      \
    (_mm_storeu_si128((__m128i *)(void *)(p), _mm512_castsi512_si128(v)), AVX512_TAKE((p) + (step), v, 1),             \
     AVX512_TAKE((p) + 2 * (step), v, 2), AVX512_TAKE((p) + 3 * (step), v, 3))
#define VECTOR_STREAM(p, v)  _mm512_stream_si512((void *)(p), v)
#define AVX512_PUSH(p, v, i) _mm_stream_si128((__m128i *)(void *)(p), _mm512_extracti32x4_epi32(v, i))
#define VECTOR_SPREAD_STREAM(p, step, v)                                                                               \
    (AVX512_PUSH(p, v, 0), AVX512_PUSH((p) + (step), v, 1), AVX512_PUSH((p) + 2 * (step), v, 2),                       \
     AVX512_PUSH((p) + 3 * (step), v, 3))
#define VECTOR_LOW8(a, b)   _mm512_unpacklo_epi8(a, b)
#define VECTOR_HIGH8(a, b)  _mm512_unpackhi_epi8(a, b)
#define VECTOR_LOW16(a, b)  _mm512_unpacklo_epi16(a, b)
#define VECTOR_HIGH16(a, b) _mm512_unpackhi_epi16(a, b)
#define VECTOR_LOW32(a, b)  _mm512_unpacklo_epi32(a, b)
#define VECTOR_HIGH32(a, b) _mm512_unpackhi_epi32(a, b)
#define VECTOR_LOW64(a, b)  _mm512_unpacklo_epi64(a, b)
#define VECTOR_HIGH64(a, b) _mm512_unpackhi_epi64(a, b)
#define VECTOR_PICK(v, m)   _mm512_shuffle_epi8(v, m)
#define VECTOR_OR(a, b)     _mm512_or_si512(a, b)
#define VECTOR_MASK(p)      _mm512_broadcast_i32x4(AVX512_LANE(p))
#define VECTOR_MASKS(p, q, r, s)                                                                                       \
    AVX512_LAY(AVX512_LAY(AVX512_LAY(_mm512_castsi128_si512(AVX512_LANE(p)), 1, q), 2, r), 3, s)
#define VECTOR_DEALS(i, j, k, l)                                                                                       \
    _mm512_setr_epi64(2 * (i), 2 * (i) + 1, 2 * (j), 2 * (j) + 1, 2 * (k), 2 * (k) + 1, 2 * (l), 2 * (l) + 1)
#define VECTOR_DEAL(v, deals) _mm512_permutexvar_epi64(deals, v)
#define AVX512_PACK           _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15)
#define VECTOR_PACK12(v)      _mm512_permutexvar_epi32(AVX512_PACK, v)
#define VECTOR_FENCE()        _mm_sfence()

#include "vector.h"

const dlpark__kernels dlpark__kernels_avx512 = VECTOR_TABLE("avx512");

/* The same kernels; only casts have a use for what VBMI adds, and BF16. */
#undef VECTOR_BELOW
#undef VECTOR_CAST
#define VECTOR_BELOW dlpark__kernels_avx512
#define VECTOR_CAST  dlpark__cast_avx512vbmi
const dlpark__kernels dlpark__kernels_avx512vbmi = VECTOR_TABLE("avx512vbmi");

#undef VECTOR_BELOW
#undef VECTOR_CAST
#define VECTOR_BELOW dlpark__kernels_avx512vbmi
#define VECTOR_CAST  dlpark__cast_avx512bf16
const dlpark__kernels dlpark__kernels_avx512bf16 = VECTOR_TABLE("avx512bf16");

#include "vector_end.h"
#else
typedef int avx512_is_absent;
#endif
