/*
 * Every float32 to every float of at most 16 bits, in every mode, by every set of instructions. A shard is a range of
 * 2^20 float32 in the order of their bits; there are 4096.
 */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "casts.h"
#include "nearest.h"

#define CAST_SHARD (UINT32_C(1) << 20)
#define CAST_PIECE 8192

static _Alignas(64) uint32_t cast_bits[CAST_PIECE];
static _Alignas(64) unsigned char cast_expected[CAST_PIECE * 2], cast_out[CAST_PIECE * 2];

static _Noreturn void cast_fail(const casts_way *way, const char *set)
{
    for (int64_t i = 0; i < CAST_PIECE; i++) {
        unsigned code = (unsigned)casts_code(cast_out, way->dtype, i);
        unsigned expected = (unsigned)casts_code(cast_expected, way->dtype, i);
        if (code != expected)
            fprintf(stderr, "0x%08X to %s, modes %d and %d, by %s: 0x%X, expected 0x%X\n", cast_bits[i],
                    dlpark_dtype_name(way->dtype).text, (int)way->overflow, (int)way->scale, set, code, expected);
    }
    exit(1);
}

static uint64_t cast_piece(const casts_way *way, nearest_singles *walk)
{
    size_t width = way->dtype.bits == 16 ? 2 : 1;
    const dlpark__kernels *set;
    uint64_t cases = 0;

    for (size_t i = 0; i < CAST_PIECE; i++) {
        uint16_t code = (uint16_t)nearest_single(walk, cast_bits[i]);
        if (width == 2)
            memcpy(cast_expected + i * 2, &code, 2);
        else
            cast_expected[i] = (unsigned char)code;
    }
    for (size_t at = 0; (set = casts_next_set(&at)) != NULL; cases += CAST_PIECE) {
        dlpark__kernels_use(set);
        memset(cast_out, 0xA5, sizeof cast_out);
        if (casts_row(way, cast_out, DLPARK_F32, cast_bits, CAST_PIECE) != DLPARK_OK ||
            memcmp(cast_out, cast_expected, CAST_PIECE * width) != 0)
            cast_fail(way, set->name);
    }
    dlpark__kernels_use(NULL);
    return cases;
}

uint64_t sweep_cast(int shard)
{
    casts_way ways[CASTS_WAYS];
    nearest_singles walks[CASTS_WAYS];
    uint32_t first = (uint32_t)shard * CAST_SHARD;
    uint64_t cases = 0;

    casts_narrowing(ways);
    for (int i = 0; i < CASTS_WAYS; i++)
        walks[i] = (nearest_singles){.dtype = ways[i].dtype, .overflow = ways[i].overflow, .scale = ways[i].scale};
    for (uint32_t at = 0; at < CAST_SHARD; at += CAST_PIECE) {
        for (uint32_t i = 0; i < CAST_PIECE; i++)
            cast_bits[i] = first + at + i;
        for (int i = 0; i < CASTS_WAYS; i++)
            cases += cast_piece(&ways[i], &walks[i]);
    }
    return cases;
}
