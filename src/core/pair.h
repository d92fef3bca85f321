/*
 * Two 64-bit numbers side by side: one vector register where the machine has such, two plain ones elsewhere. For passes
 * over dimensions, where loading each extent by itself costs more than the arithmetic.
 */
#ifndef DLPARK_CORE_PAIR_H
#define DLPARK_CORE_PAIR_H

#include <stdint.h>

#if defined(__SSE2__) && defined(__x86_64__)

#include <immintrin.h>

typedef __m128i dlpark__pair;

static inline dlpark__pair dlpark__pair_load(const int64_t *from)
{
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

static inline dlpark__pair dlpark__pair_make(int64_t first, int64_t second)
{
    return _mm_set_epi64x(second, first);
}

static inline void dlpark__pair_store(int64_t *to, dlpark__pair pair)
{
    _mm_storeu_si128((__m128i *)(void *)to, pair);
}

static inline dlpark__pair dlpark__pair_or(dlpark__pair a, dlpark__pair b)
{
    return _mm_or_si128(a, b);
}

static inline dlpark__pair dlpark__pair_add(dlpark__pair a, dlpark__pair b)
{
    return _mm_add_epi64(a, b);
}

static inline dlpark__pair dlpark__pair_less_one(dlpark__pair a)
{
    return _mm_add_epi64(a, _mm_set1_epi64x(-1));
}

/* Of the lower 32 bits of each: right where both are known to have no more. */
static inline dlpark__pair dlpark__pair_multiply(dlpark__pair a, dlpark__pair b)
{
    return _mm_mul_epu32(a, b);
}

static inline int64_t dlpark__pair_first(dlpark__pair pair)
{
    return (int64_t)_mm_cvtsi128_si64(pair);
}

static inline int64_t dlpark__pair_second(dlpark__pair pair)
{
    return (int64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(pair, pair));
}

#else

typedef struct dlpark__pair {
    uint64_t first, second;
} dlpark__pair;

static inline dlpark__pair dlpark__pair_load(const int64_t *from)
{
    return (dlpark__pair){(uint64_t)from[0], (uint64_t)from[1]};
}

static inline dlpark__pair dlpark__pair_make(int64_t first, int64_t second)
{
    return (dlpark__pair){(uint64_t)first, (uint64_t)second};
}

static inline void dlpark__pair_store(int64_t *to, dlpark__pair pair)
{
    to[0] = (int64_t)pair.first;
    to[1] = (int64_t)pair.second;
}

static inline dlpark__pair dlpark__pair_or(dlpark__pair a, dlpark__pair b)
{
    return (dlpark__pair){a.first | b.first, a.second | b.second};
}

static inline dlpark__pair dlpark__pair_add(dlpark__pair a, dlpark__pair b)
{
    return (dlpark__pair){a.first + b.first, a.second + b.second};
}

static inline dlpark__pair dlpark__pair_less_one(dlpark__pair a)
{
    return (dlpark__pair){a.first - 1, a.second - 1};
}

/* Of the lower 32 bits of each: right where both are known to have no more. */
static inline dlpark__pair dlpark__pair_multiply(dlpark__pair a, dlpark__pair b)
{
    return (dlpark__pair){(uint64_t)(uint32_t)a.first * (uint32_t)b.first,
                          (uint64_t)(uint32_t)a.second * (uint32_t)b.second};
}

static inline int64_t dlpark__pair_first(dlpark__pair pair)
{
    return (int64_t)pair.first;
}

static inline int64_t dlpark__pair_second(dlpark__pair pair)
{
    return (int64_t)pair.second;
}

#endif

static inline int64_t dlpark__pair_sum(dlpark__pair pair)
{
    return (int64_t)((uint64_t)dlpark__pair_first(pair) + (uint64_t)dlpark__pair_second(pair));
}

/* The bits that either has. */
static inline uint64_t dlpark__pair_any(dlpark__pair pair)
{
    return (uint64_t)dlpark__pair_first(pair) | (uint64_t)dlpark__pair_second(pair);
}

#endif
