/*
 * What cast_avx2.c looks up in tables: codes of at most 6 bits, 32 at a time. An instruction sees four bits of a code; the
 * other two choose between what it found in four parts of the table.
 */
#define TABLE_TARGET __attribute__((target("avx2")))
#define TABLE_LANES 32
#include "cast_table.h"

/* 64 bytes in registers, each part in both halves of one. */
typedef struct avx2_table {
    __m256i part[4];
} avx2_table;

static inline TABLE_TARGET avx2_table avx2_load(const uint8_t *bytes)
{
    avx2_table table;

    for (int i = 0; i < 4; i++)
        table.part[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(bytes + i * 16)));
    return table;
}

static inline TABLE_TARGET __m256i avx2_look(const avx2_table *table, __m256i codes)
{
    const __m256i fifth = _mm256_slli_epi16(codes, 3), sixth = _mm256_slli_epi16(codes, 2); /* as the highest bit */
    const __m256i low = _mm256_blendv_epi8(_mm256_shuffle_epi8(table->part[0], codes),
                                           _mm256_shuffle_epi8(table->part[1], codes), fifth);
    const __m256i high = _mm256_blendv_epi8(_mm256_shuffle_epi8(table->part[2], codes),
                                            _mm256_shuffle_epi8(table->part[3], codes), fifth);

    return _mm256_blendv_epi8(low, high, sixth);
}

static inline TABLE_TARGET __m256i avx2_codes(const unsigned char *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline TABLE_TARGET void avx2_store(unsigned char *to, __m256i vector)
{
    _mm256_storeu_si256((__m256i *)(void *)to, vector);
}

static TABLE_STEP(avx2_table_few)
{
    const avx2_table table = avx2_load(params->table);

    TABLE_EACH(1)
    avx2_store(to, avx2_look(&table, avx2_codes(from)));
    dlpark__cast_generic[DLPARK__CAST_TABLE](params, to, from, count);
}

/* Codes dealt out so that what is put together in each half comes out in order. */
static TABLE_STEP(avx2_table_few_16)
{
    const avx2_table lower = avx2_load(params->table), upper = avx2_load(params->table + 256);

    TABLE_EACH(2)
    {
        const __m256i codes = _mm256_permute4x64_epi64(avx2_codes(from), 0xD8);
        const __m256i low = avx2_look(&lower, codes), high = avx2_look(&upper, codes);
        avx2_store(to, _mm256_unpacklo_epi8(low, high));
        avx2_store(to + TABLE_LANES, _mm256_unpackhi_epi8(low, high));
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE_16](params, to, from, count);
}

static TABLE_STEP(avx2_table_few_f32)
{
    const avx2_table lower = avx2_load(params->table), upper = avx2_load(params->table + 256);
    const __m256i deal = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7), zero = _mm256_setzero_si256();

    TABLE_EACH(4)
    {
        const __m256i codes = _mm256_permutevar8x32_epi32(avx2_codes(from), deal);
        const __m256i low = avx2_look(&lower, codes), high = avx2_look(&upper, codes);
        const __m256i first = _mm256_unpacklo_epi8(low, high), last = _mm256_unpackhi_epi8(low, high);
        avx2_store(to, _mm256_unpacklo_epi16(zero, first));
        avx2_store(to + TABLE_LANES, _mm256_unpackhi_epi16(zero, first));
        avx2_store(to + 2 * TABLE_LANES, _mm256_unpacklo_epi16(zero, last));
        avx2_store(to + 3 * TABLE_LANES, _mm256_unpackhi_epi16(zero, last));
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE_F32](params, to, from, count);
}

#undef TABLE_EACH
#undef TABLE_LANES
#undef TABLE_STEP
#undef TABLE_TARGET
