/*
 * What cast_avx2.c looks up in tables, 32 codes at a time. An instruction sees four bits of a code. Of codes of at most 6 bits
 * the other two choose between what it found in four parts of the table. Of all codes of a byte a part says what has to
 * change in what the parts before it found.
 */
#define TABLE_TARGET __attribute__((target("avx2")))
#define TABLE_LANES  32
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

/* Codes dealt out so that words put together in each half come out in order. */
static inline TABLE_TARGET __m256i avx2_codes_16(const unsigned char *from)
{
    return _mm256_permute4x64_epi64(avx2_codes(from), 0xD8);
}

static inline TABLE_TARGET void avx2_store_16(unsigned char *to, __m256i low, __m256i high)
{
    avx2_store(to, _mm256_unpacklo_epi8(low, high));
    avx2_store(to + TABLE_LANES, _mm256_unpackhi_epi8(low, high));
}

static TABLE_STEP(avx2_table_few_16)
{
    const avx2_table lower = avx2_load(params->table), upper = avx2_load(params->table + 256);

    TABLE_EACH(2)
    {
        const __m256i codes = avx2_codes_16(from);
        const __m256i low = avx2_look(&lower, codes), high = avx2_look(&upper, codes);
        avx2_store_16(to, low, high);
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE_16](params, to, from, count);
}

/* Codes dealt out so that words put together in each half, and floats of these, come out in order. */
static inline TABLE_TARGET __m256i avx2_codes_f32(const unsigned char *from)
{
    return _mm256_permutevar8x32_epi32(avx2_codes(from), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
}

static inline TABLE_TARGET void avx2_store_f32(unsigned char *to, __m256i low, __m256i high)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i first = _mm256_unpacklo_epi8(low, high), last = _mm256_unpackhi_epi8(low, high);

    avx2_store(to, _mm256_unpacklo_epi16(zero, first));
    avx2_store(to + TABLE_LANES, _mm256_unpackhi_epi16(zero, first));
    avx2_store(to + 2 * TABLE_LANES, _mm256_unpacklo_epi16(zero, last));
    avx2_store(to + 3 * TABLE_LANES, _mm256_unpackhi_epi16(zero, last));
}

static TABLE_STEP(avx2_table_few_f32)
{
    const avx2_table lower = avx2_load(params->table), upper = avx2_load(params->table + 256);

    TABLE_EACH(4)
    {
        const __m256i codes = avx2_codes_f32(from);
        avx2_store_f32(to, avx2_look(&lower, codes), avx2_look(&upper, codes));
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE_F32](params, to, from, count);
}

/* ---- All codes of a byte ---- */

/* 256 bytes: each part of a half but its first is the difference to the part before. */
typedef struct avx2_all {
    __m256i part[16];
    __m256i odd;   /* what code 128 differs by from what the parts say: -0, which some formats have for NaN */
    __m256i flip;  /* the difference between the halves, where it is one for all others: that of a sign, or none */
    bool has_flip; /* whether it is */
} avx2_all;

static inline TABLE_TARGET bool avx2_is_same(__m256i one, __m256i other)
{
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(one, other)) == -1;
}

static TABLE_TARGET void avx2_load_all(avx2_all *table, const uint8_t *bytes)
{
    const uint8_t flip = bytes[1] ^ bytes[129], odd = bytes[0] ^ bytes[128] ^ flip;
    __m256i before = _mm256_setzero_si256();

    for (int i = 0; i < 16; i++) {
        __m256i part = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(bytes + i * 16)));
        if (i == 8) {
            part = _mm256_xor_si256(part, _mm256_setr_epi64x(odd, 0, odd, 0));
            before = _mm256_setzero_si256();
        }
        table->part[i] = _mm256_xor_si256(part, before);
        before = part;
    }
    table->odd = _mm256_set1_epi8((char)odd);
    table->flip = _mm256_set1_epi8((char)flip);
    table->has_flip = avx2_is_same(_mm256_xor_si256(table->part[0], table->part[8]), table->flip);
    for (int i = 1; i < 8; i++)
        table->has_flip &= avx2_is_same(table->part[i], table->part[8 + i]);
}

/* From codes below 128. A code is found in its own part and in those before it; behind, it has gone below 0, where an
 * instruction finds nothing. Those of 128 and more are below 0 from the beginning, and stay there. */
static inline TABLE_TARGET __m256i avx2_look_half(const __m256i *part, __m256i codes)
{
    const __m256i step = _mm256_set1_epi8(16);
    __m256i found = _mm256_shuffle_epi8(part[0], codes);

    for (int i = 1; i < 8; i++) {
        codes = _mm256_subs_epi8(codes, step);
        found = _mm256_xor_si256(found, _mm256_shuffle_epi8(part[i], codes));
    }
    return found;
}

static inline TABLE_TARGET __m256i avx2_mend(const avx2_all *table, __m256i codes, __m256i found)
{
    return _mm256_xor_si256(found,
                            _mm256_and_si256(table->odd, _mm256_cmpeq_epi8(codes, _mm256_set1_epi8((char)0x80))));
}

static inline TABLE_TARGET __m256i avx2_look_all(const avx2_all *table, __m256i codes)
{
    const __m256i others = _mm256_xor_si256(codes, _mm256_set1_epi8((char)0x80));

    return avx2_mend(table, codes,
                     _mm256_xor_si256(avx2_look_half(table->part, codes), avx2_look_half(table->part + 8, others)));
}

static inline TABLE_TARGET __m256i avx2_look_flip(const avx2_all *table, __m256i codes)
{
    const __m256i is_high = _mm256_cmpgt_epi8(_mm256_setzero_si256(), codes);
    const __m256i found = avx2_look_half(table->part, _mm256_and_si256(codes, _mm256_set1_epi8(0x7F)));

    return avx2_mend(table, codes, _mm256_xor_si256(found, _mm256_and_si256(table->flip, is_high)));
}

static TABLE_STEP(avx2_table_all)
{
    avx2_all table;

    if (count >= TABLE_LANES) {
        avx2_load_all(&table, params->table);
        if (table.has_flip) {
            TABLE_EACH(1)
            avx2_store(to, avx2_look_flip(&table, avx2_codes(from)));
        } else {
            TABLE_EACH(1)
            avx2_store(to, avx2_look_all(&table, avx2_codes(from)));
        }
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE](params, to, from, count);
}

static TABLE_STEP(avx2_table_all_16)
{
    avx2_all lower, upper;

    if (count >= TABLE_LANES) {
        avx2_load_all(&lower, params->table);
        avx2_load_all(&upper, params->table + 256);
        if (lower.has_flip && upper.has_flip) {
            TABLE_EACH(2)
            {
                const __m256i codes = avx2_codes_16(from);
                avx2_store_16(to, avx2_look_flip(&lower, codes), avx2_look_flip(&upper, codes));
            }
        } else {
            TABLE_EACH(2)
            {
                const __m256i codes = avx2_codes_16(from);
                avx2_store_16(to, avx2_look_all(&lower, codes), avx2_look_all(&upper, codes));
            }
        }
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE_16](params, to, from, count);
}

static TABLE_STEP(avx2_table_all_f32)
{
    avx2_all lower, upper;

    if (count >= TABLE_LANES) {
        avx2_load_all(&lower, params->table);
        avx2_load_all(&upper, params->table + 256);
        if (lower.has_flip && upper.has_flip) {
            TABLE_EACH(4)
            {
                const __m256i codes = avx2_codes_f32(from);
                avx2_store_f32(to, avx2_look_flip(&lower, codes), avx2_look_flip(&upper, codes));
            }
        } else {
            TABLE_EACH(4)
            {
                const __m256i codes = avx2_codes_f32(from);
                avx2_store_f32(to, avx2_look_all(&lower, codes), avx2_look_all(&upper, codes));
            }
        }
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE_F32](params, to, from, count);
}

#undef TABLE_EACH
#undef TABLE_LANES
#undef TABLE_STEP
#undef TABLE_TARGET
