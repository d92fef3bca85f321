#include "cast_plain.h"

#if defined(__FLT16_MANT_DIG__)
__extension__ typedef _Float16 plain_half;

static bool plain_to_f16(void *to, const void *from, int64_t count)
{
    plain_half *restrict out = to;
    const float *restrict in = from;

    for (int64_t i = 0; i < count; i++)
        out[i] = (plain_half)in[i];
    return true;
}

static bool plain_from_f16(void *to, const void *from, int64_t count)
{
    float *restrict out = to;
    const plain_half *restrict in = from;

    for (int64_t i = 0; i < count; i++)
        out[i] = (float)in[i];
    return true;
}
#else
static bool plain_to_f16(void *to, const void *from, int64_t count)
{
    return (void)to, (void)from, (void)count, false;
}

static bool plain_from_f16(void *to, const void *from, int64_t count)
{
    return plain_to_f16(to, from, count);
}
#endif

/* To nearest even; a NaN stays one. */
static bool plain_to_bf16(void *to, const void *from, int64_t count)
{
    uint16_t *restrict out = to;
    const uint32_t *restrict in = from;

    for (int64_t i = 0; i < count; i++) {
        uint32_t word = in[i], rounded = word + 0x7FFF + (word >> 16 & 1);
        out[i] = (uint16_t)(((word & 0x7FFFFFFF) > 0x7F800000 ? word | 0x400000 : rounded) >> 16);
    }
    return true;
}

/* A NaN becomes quiet. */
static bool plain_from_bf16(void *to, const void *from, int64_t count)
{
    uint32_t *restrict out = to;
    const uint16_t *restrict in = from;

    for (int64_t i = 0; i < count; i++) {
        uint32_t word = (uint32_t)in[i] << 16;
        out[i] = (word & 0x7FFFFFFF) > 0x7F800000 ? word | 0x400000 : word;
    }
    return true;
}

bool plain_cast(plain_pair pair, void *to, const void *from, int64_t count)
{
    switch (pair) {
    case PLAIN_F32_F16:
        return plain_to_f16(to, from, count);
    case PLAIN_F16_F32:
        return plain_from_f16(to, from, count);
    case PLAIN_F32_BF16:
        return plain_to_bf16(to, from, count);
    case PLAIN_BF16_F32:
        return plain_from_bf16(to, from, count);
    }
    return false;
}
