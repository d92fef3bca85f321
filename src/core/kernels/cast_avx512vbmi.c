/* The steps of casts for x86 processors with AVX-512 VBMI besides: tables of all codes of a byte, 64 codes at a time. */
#include "kernels.h"

#if defined(DLPARK__KERNELS_X86)
#include <immintrin.h>
#include <string.h>

#define TABLE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")))
#define TABLE_LANES  64
#include "cast_table.h"

/* 256 bytes in registers. */
typedef struct vbmi_table {
    __m512i part[4];
} vbmi_table;

static inline TABLE_TARGET vbmi_table vbmi_load(const uint8_t *bytes)
{
    vbmi_table table;

    for (int i = 0; i < 4; i++)
        table.part[i] = _mm512_loadu_si512((const void *)(bytes + i * TABLE_LANES));
    return table;
}

/* What the table has for each code: an instruction sees seven bits of it, and the eighth chooses between two. */
static inline TABLE_TARGET __m512i vbmi_look(const vbmi_table *table, __m512i codes)
{
    __m512i low = _mm512_permutex2var_epi8(table->part[0], codes, table->part[1]);
    __m512i high = _mm512_permutex2var_epi8(table->part[2], codes, table->part[3]);

    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(codes), high);
}

static TABLE_STEP(vbmi_bytes)
{
    const vbmi_table table = vbmi_load(params->table);

    TABLE_EACH(1)
    _mm512_storeu_si512((void *)to, vbmi_look(&table, _mm512_loadu_si512((const void *)from)));
    dlpark__cast_generic[DLPARK__CAST_TABLE](params, to, from, count);
}

/* Codes dealt out so that what is put together lane by lane comes out in order. */
static TABLE_STEP(vbmi_words)
{
    const vbmi_table lower = vbmi_load(params->table), upper = vbmi_load(params->table + 256);
    const __m512i deal = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);

    TABLE_EACH(2)
    {
        const __m512i codes = _mm512_permutexvar_epi64(deal, _mm512_loadu_si512((const void *)from));
        const __m512i low = vbmi_look(&lower, codes), high = vbmi_look(&upper, codes);
        _mm512_storeu_si512((void *)to, _mm512_unpacklo_epi8(low, high));
        _mm512_storeu_si512((void *)(to + TABLE_LANES), _mm512_unpackhi_epi8(low, high));
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE_16](params, to, from, count);
}

static TABLE_STEP(vbmi_floats)
{
    const vbmi_table lower = vbmi_load(params->table), upper = vbmi_load(params->table + 256);
    const __m512i deal = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i zero = _mm512_setzero_si512();

    TABLE_EACH(4)
    {
        const __m512i codes = _mm512_permutexvar_epi32(deal, _mm512_loadu_si512((const void *)from));
        const __m512i low = vbmi_look(&lower, codes), high = vbmi_look(&upper, codes);
        const __m512i first = _mm512_unpacklo_epi8(low, high), last = _mm512_unpackhi_epi8(low, high);
        _mm512_storeu_si512((void *)to, _mm512_unpacklo_epi16(zero, first));
        _mm512_storeu_si512((void *)(to + TABLE_LANES), _mm512_unpackhi_epi16(zero, first));
        _mm512_storeu_si512((void *)(to + 2 * TABLE_LANES), _mm512_unpacklo_epi16(zero, last));
        _mm512_storeu_si512((void *)(to + 3 * TABLE_LANES), _mm512_unpackhi_epi16(zero, last));
    }
    dlpark__cast_generic[DLPARK__CAST_TABLE_F32](params, to, from, count);
}

const dlpark__cast_step dlpark__cast_avx512vbmi[DLPARK__CAST_STEPS] = {
    [DLPARK__CAST_TABLE] = vbmi_bytes,
    [DLPARK__CAST_TABLE_16] = vbmi_words,
    [DLPARK__CAST_TABLE_F32] = vbmi_floats,
};

#undef TABLE_EACH
#undef TABLE_LANES
#undef TABLE_STEP
#undef TABLE_TARGET
#else
typedef int cast_avx512vbmi_is_absent;
#endif
