/*
 * What the two ways for usual tensors, in check.c and in tensor_usual.c, know alike: each judges a tensor in one pass
 * without looking for overflow, and leaves whatever is not below these limits to the general way.
 */
#ifndef DLPARK_CORE_USUAL_H
#define DLPARK_CORE_USUAL_H

#include <stdbool.h>
#include <stdint.h>

#include <dlpark/dtype.h>

/* Each entry has a copy of its own of all that is inline, whatever the compiler thinks of its size, and without the
 * parts that it never enters. */
#if defined(__OPTIMIZE__)
#define DLPARK__USUAL_INLINE inline __attribute__((always_inline))
#else
#define DLPARK__USUAL_INLINE inline
#endif

/* Strides and byte offsets below this, and extents up to it, keep each product within 63 bits, and the sum of 64 such. */
#define DLPARK__USUAL_LIMIT ((uint64_t)1 << 28)

/* Up to this rank there are ways without a loop. */
#define DLPARK__USUAL_SHORT 4

/* dlpark__dtype_is_usual() where the bytes of an element are wanted as well: one load and one look into a table. */
static DLPARK__USUAL_INLINE bool dlpark__usual_dtype(DLDataType dtype, uint32_t *nbytes)
{
    /* By code, a bit for each size in bytes. */
    static const uint32_t sizes[8] = {
        [kDLInt] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
        [kDLUInt] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
        [kDLFloat] = 1 << 2 | 1 << 4 | 1 << 8,
        [kDLBfloat] = 1 << 2,
        [kDLComplex] = 1 << 8 | 1 << 16,
        [kDLBool] = 1 << 1,
    };
    /* One load, where the machine's byte order allows it. */
    uint32_t word = dtype.code | (uint32_t)dtype.bits << 8 | (uint32_t)dtype.lanes << 16;

    /* One lane, a code below 8, and whole bytes. */
    *nbytes = word >> 11 & 31;
    return (word & 0xFFFF07F8) == 0x00010000 && (sizes[word & 7] >> *nbytes & 1) != 0;
}

#endif
