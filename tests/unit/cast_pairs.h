/*
 * Casts by a chain of steps, as dlpark_cast() would run it, and what they are tried with: the dtypes, bits that are special
 * to some of them, memory with guards.
 */
#ifndef DLPARK_TESTS_CAST_PAIRS_H
#define DLPARK_TESTS_CAST_PAIRS_H

#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cast/cast_parts.h"

#define RUN_DTYPES                                                                                                     \
    {                                                                                                                  \
        DLPARK_F64, DLPARK_F32, DLPARK_F16, DLPARK_BF16, DLPARK_F8_E3M4, DLPARK_F8_E4M3, DLPARK_F8_E4M3B11FNUZ,        \
            DLPARK_F8_E4M3FN, DLPARK_F8_E4M3FNUZ, DLPARK_F8_E5M2, DLPARK_F8_E5M2FNUZ, DLPARK_F8_E8M0FNU,               \
            DLPARK_F6_E2M3FN, DLPARK_F6_E3M2FN, DLPARK_F4_E2M1FN, DLPARK_I64, DLPARK_I32, DLPARK_I16, DLPARK_I8,       \
            DLPARK_I4, DLPARK_DTYPE(kDLInt, 2, 1), DLPARK_DTYPE(kDLInt, 1, 1), DLPARK_U64, DLPARK_U32, DLPARK_U16,     \
            DLPARK_U8, DLPARK_U4, DLPARK_DTYPE(kDLUInt, 2, 1), DLPARK_DTYPE(kDLUInt, 1, 1), DLPARK_BOOL,               \
            DLPARK_DTYPE(kDLComplex, 32, 1), DLPARK_C64, DLPARK_C128                                                   \
    }
#define RUN_COUNT 33

static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Memory that is as long as a view needs, between guards that nobody writes. */
#define RUN_GUARD 64

typedef struct run_memory {
    unsigned char *bytes;
    size_t nbytes;
} run_memory;

static inline run_memory memory_new(size_t nbytes)
{
    run_memory memory = {malloc(nbytes + 2 * RUN_GUARD), nbytes};

    assert_non_null(memory.bytes);
    memset(memory.bytes, 0xA5, nbytes + 2 * RUN_GUARD);
    return memory;
}

static inline dlpark_view view_of(const run_memory *memory, DLDataType dtype, int64_t count, int64_t stride,
                                  bool padded)
{
    dlpark_view view;
    int64_t first = stride < 0 ? (count - 1) * -stride : 0;
    uint32_t nbits = padded ? (dlpark_dtype_nbits(dtype) + 7) / 8 * 8 : dlpark_dtype_nbits(dtype);
    DLTensor tensor = {.data = memory->bytes + RUN_GUARD,
                       .device = {kDLCPU, 0},
                       .ndim = 1,
                       .dtype = dtype,
                       .shape = &count,
                       .strides = &stride};

    assert_int_equal(first * nbits % 8, 0);
    tensor.data = memory->bytes + RUN_GUARD + first * nbits / 8;
    assert_ok(dlpark_check(&tensor, padded ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0, &view, e));
    return view;
}

/* The job that dlpark_cast() would make of it. */
static inline dlpark__cast_job job_of(const dlpark_view *to, const dlpark_view *from, dlpark_overflow overflow,
                                      dlpark_scale_rounding scale)
{
    dlpark__cast_job job = {.lanes = 1, .overflow = overflow, .scale = scale};
    const dlpark_view *views[] = {to, from};
    dlpark__cast_side *sides[] = {&job.to, &job.from};

    for (int i = 0; i < 2; i++) {
        DLDataType dtype = views[i]->dtype;
        bool complex = dtype.code == kDLComplex;
        sides[i]->part = complex ? DLPARK_DTYPE(kDLFloat, (uint8_t)(dtype.bits / 2), 1) : dtype;
        sides[i]->format = dlpark__float_format_of(dtype);
        sides[i]->parts = complex ? 2 : 1;
        sides[i]->padded = dtype.bits < 8 && (views[i]->flags & DLPARK_VIEW_PADDED) != 0;
    }
    return job;
}

static inline bool is_float(DLDataType dtype)
{
    return dlpark__float_format_of(dtype) != NULL;
}

/* The modes that have a meaning for a pair. */
static inline int modes_of(DLDataType to, dlpark_overflow modes[3])
{
    if (is_float(to)) {
        modes[0] = DLPARK_OVERFLOW_NOSAT;
        modes[1] = DLPARK_OVERFLOW_SATFINITE;
        modes[2] = DLPARK_OVERFLOW_SATALL;
        return 3;
    }
    modes[0] = DLPARK_OVERFLOW_SATURATE;
    modes[1] = DLPARK_OVERFLOW_WRAP;
    return 2;
}

static inline void run_chain(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from)
{
    dlpark__cast_chain chain;

    dlpark__cast_chain_make(&chain, job);
    assert_true(chain.count >= -1 && chain.count <= DLPARK__CAST_MAX_STEPS);
    if (chain.count >= 0)
        dlpark__cast_run(job, &chain, to, from);
    else
        dlpark__cast_exact(job, to, from);
}

/* Bits of which some are special to each format: signs, ends, halves between, what is subnormal. */
static inline void fill_source(run_memory *memory, DLDataType dtype, uint64_t seed)
{
    uint64_t random = seed;
    size_t width = dtype.bits < 8 ? 1 : dtype.bits / (dtype.code == kDLComplex ? 16u : 8u);

    for (size_t at = 0; at + width <= memory->nbytes; at += width) {
        uint64_t word = next_random(&random);
        if (dtype.code == kDLFloat && width == 8) {
            /* The exponents of every other format, with few and with many bits below. */
            uint64_t exponent = word % 8 == 0 ? word >> 8 : 850 + (word >> 8) % 320;
            word = (word & UINT64_C(0x8000000000000000)) | (exponent & 0x7FF) << 52 |
                   (next_random(&random) & (word % 3 == 0 ? UINT64_C(0xFFFFF00000000) : UINT64_C(0xFFFFFFFFFFFFF)));
        } else if (word % 4 == 0) {
            word = next_random(&random) >> (word >> 8) % 64;
            word = word % 2 != 0 ? 0 - word : word;
        }
        if (dtype.code == kDLFloat && width >= 4 && at / width < 8) {
            /* both zeros and infinities, NaN quiet and not, the largest, the least */
            static const uint64_t doubles[] = {0,
                                               UINT64_C(0x8000000000000000),
                                               UINT64_C(0x7FF0000000000000),
                                               UINT64_C(0xFFF0000000000000),
                                               UINT64_C(0x7FFC000000000000),
                                               UINT64_C(0x7FF0000000000001),
                                               UINT64_C(0x7FEFFFFFFFFFFFFF),
                                               1};
            static const uint32_t singles[] = {0,          0x80000000, 0x7F800000, 0xFF800000,
                                               0x7FE00000, 0x7F800001, 0x7F7FFFFF, 1};
            word = width == 8 ? doubles[at / width] : singles[at / width];
        }
        memcpy(memory->bytes + RUN_GUARD + at, &word, width);
    }
}

#endif
