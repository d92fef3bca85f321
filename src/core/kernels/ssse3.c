/* The kernels for x86 processors with SSSE3: one lane. */
#include "kernels.h"

#if defined(DLPARK__KERNELS_X86)
#include <immintrin.h>
#include <string.h>

#define VECTOR __m128i

#define VECTOR_TARGET       __attribute__((target("ssse3")))
#define VECTOR_LANES        1
#define VECTOR_NAME(name)   ssse3_##name
#define VECTOR_BELOW        dlpark__kernels_generic
#define VECTOR_CAST         NULL
#define VECTOR_ONLY_STREAMS 0

#define VECTOR_LOAD(p, step)             ((void)(step), _mm_loadu_si128((const __m128i *)(const void *)(p)))
#define VECTOR_LOAD_ALL(p)               _mm_loadu_si128((const __m128i *)(const void *)(p))
#define VECTOR_LOAD_HALF(p)              _mm_loadl_epi64((const __m128i *)(const void *)(p))
#define VECTOR_SAVE_HALF(p, v)           _mm_storel_epi64((__m128i *)(void *)(p), v)
#define VECTOR_SAVE(p, v)                _mm_storeu_si128((__m128i *)(void *)(p), v)
#define VECTOR_SPREAD(p, step, v)        ((void)(step), VECTOR_SAVE(p, v))
#define VECTOR_STREAM(p, v)              _mm_stream_si128((__m128i *)(void *)(p), v)
#define VECTOR_SPREAD_STREAM(p, step, v) ((void)(step), VECTOR_STREAM(p, v))
#define VECTOR_LOW8(a, b)                _mm_unpacklo_epi8(a, b)
#define VECTOR_HIGH8(a, b)               _mm_unpackhi_epi8(a, b)
#define VECTOR_LOW16(a, b)               _mm_unpacklo_epi16(a, b)
#define VECTOR_HIGH16(a, b)              _mm_unpackhi_epi16(a, b)
#define VECTOR_LOW32(a, b)               _mm_unpacklo_epi32(a, b)
#define VECTOR_HIGH32(a, b)              _mm_unpackhi_epi32(a, b)
#define VECTOR_LOW64(a, b)               _mm_unpacklo_epi64(a, b)
#define VECTOR_HIGH64(a, b)              _mm_unpackhi_epi64(a, b)
#define VECTOR_PICK(v, m)                _mm_shuffle_epi8(v, m)
#define VECTOR_OR(a, b)                  _mm_or_si128(a, b)
#define VECTOR_MASK(p)                   _mm_loadu_si128((const __m128i *)(const void *)(p))
#define VECTOR_MASKS(p, q, r, s)         VECTOR_MASK(p)
#define VECTOR_DEALS(i, j, k, l)         _mm_setzero_si128()
#define VECTOR_DEAL(v, deals)            ((void)(deals), (v))
#define VECTOR_PACK12(v)                 (v)
#define VECTOR_FENCE()                   _mm_sfence()

#include "vector.h"

const dlpark__kernels dlpark__kernels_ssse3 = VECTOR_TABLE("ssse3");

#include "vector_end.h"
#else
typedef int ssse3_is_absent;
#endif
