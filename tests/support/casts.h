/*
 * Rows of elements through dlpark_cast(), by each set of instructions that this processor has.
 */
#ifndef CASTS_H
#define CASTS_H

#include <stddef.h>
#include <string.h>

#include <dlpark/dlpark.h>

#include "kernels/kernels.h"

/* A destination, and how it is rounded to. */
typedef struct casts_way {
    DLDataType dtype;
    dlpark_overflow overflow;
    dlpark_scale_rounding scale;
} casts_way;

#define CASTS_WAYS 45

/* Every float of at most 16 bits, in every mode. */
static inline void casts_narrowing(casts_way ways[CASTS_WAYS])
{
    const DLDataType dtypes[] = {
        DLPARK_F16,       DLPARK_BF16,        DLPARK_F8_E3M4,   DLPARK_F8_E4M3,     DLPARK_F8_E4M3B11FNUZ,
        DLPARK_F8_E4M3FN, DLPARK_F8_E4M3FNUZ, DLPARK_F8_E5M2,   DLPARK_F8_E5M2FNUZ, DLPARK_F6_E2M3FN,
        DLPARK_F6_E3M2FN, DLPARK_F4_E2M1FN,   DLPARK_F8_E8M0FNU};
    static const dlpark_overflow modes[] = {DLPARK_OVERFLOW_NOSAT, DLPARK_OVERFLOW_SATFINITE, DLPARK_OVERFLOW_SATALL};

    for (int i = 0; i < CASTS_WAYS; i++) /* the scale, the last dtype, three times: it has roundings of its own */
        ways[i] = (casts_way){dtypes[i < 39 ? i / 3 : 12], modes[i % 3],
                              (dlpark_scale_rounding)(i < 39 ? 0 : 1 + (i - 39) / 3)};
}

/* The sets that cast by code of their own, the plainest first; NULL past the last. `at` is where to go on, 0 at first. */
static inline const dlpark__kernels *casts_next_set(size_t *at)
{
    const dlpark__kernels *set;

    while ((set = dlpark__kernels_list((*at)++)) != NULL)
        if (set->cast != NULL || set->below == NULL)
            return set;
    return NULL;
}

/* Sub-byte elements are a byte each on either side. Any status but DLPARK_OK is a fault of the test or of the library. */
static inline dlpark_status casts_row(const casts_way *way, void *to, DLDataType from_dtype, const void *from,
                                      int64_t count)
{
    const dlpark_cast_options options = {.overflow = way->overflow, .scale = way->scale};
    DLTensor tensor = {(void *)(uintptr_t)from, {kDLCPU, 0}, 1, from_dtype, &count, NULL, 0};
    uint64_t flags[2] = {from_dtype.bits < 8 ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0,
                         way->dtype.bits < 8 ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0};
    dlpark_view source, target;
    dlpark_status status = dlpark_check(&tensor, flags[0], &source, NULL);

    tensor.data = to;
    tensor.dtype = way->dtype;
    if (status == DLPARK_OK)
        status = dlpark_check(&tensor, flags[1], &target, NULL);
    if (status == DLPARK_OK)
        status = dlpark_view_allow_write(&target, NULL);
    return status == DLPARK_OK ? dlpark_cast(&target, &source, &options, NULL) : status;
}

/* Element `at` of such a row, as it is stored. */
static inline uint64_t casts_code(const void *row, DLDataType dtype, int64_t at)
{
    const unsigned char *bytes = (const unsigned char *)row + at * (dtype.bits < 8 ? 1 : dtype.bits / 8);
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (dtype.bits) {
    case 16:
        memcpy(&two, bytes, sizeof two);
        return two;
    case 32:
        memcpy(&four, bytes, sizeof four);
        return four;
    case 64:
        memcpy(&eight, bytes, sizeof eight);
        return eight;
    default:
        return *bytes;
    }
}

#endif
