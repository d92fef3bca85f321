/*
 * Streams of bits, the lowest bit of a byte first, as DLPack packs elements. No function reads or writes a byte that
 * has no bit of its range, and the other bits of the bytes at the edges stay as they are.
 */
#ifndef DLPARK_CORE_BITS_PARTS_H
#define DLPARK_CORE_BITS_PARTS_H

#include "../internal.h"

/* The byte that has a bit counted from `base`, also before it: >> rounds down in every compiler that we know. */
static inline const unsigned char *dlpark__bits_byte(const void *base, int64_t bit)
{
    return (const unsigned char *)base + (ptrdiff_t)(bit >> 3);
}

static inline unsigned char *dlpark__bits_byte_mut(void *base, int64_t bit)
{
    return (unsigned char *)base + (ptrdiff_t)(bit >> 3);
}

/* `count` bits, 1 to 8, from bit 0 to 7 of a byte on. */
static inline unsigned dlpark__bits_get(const unsigned char *from, unsigned bit, unsigned count)
{
    unsigned value = (unsigned)from[0] >> bit;

    if (bit + count > 8)
        value |= (unsigned)from[1] << (8 - bit);
    return value & (0xFFu >> (8 - count));
}

/* Stores a value that has no bits beyond `count`. */
static inline void dlpark__bits_put(unsigned char *to, unsigned bit, unsigned count, unsigned value)
{
    unsigned mask = (0xFFu >> (8 - count)) << bit;

    value <<= bit;
    to[0] = (unsigned char)((to[0] & ~mask) | (value & 0xFF));
    if (bit + count > 8)
        to[1] = (unsigned char)((to[1] & ~(mask >> 8)) | value >> 8);
}

/* Moves a range of bits, counted from the first bit of each base, to one that it does not meet. */
void dlpark__bits_move(unsigned char *to, int64_t to_bit, const unsigned char *from, int64_t from_bit, int64_t nbits);

/* Elements of 1 to 7 bits that follow one another, at least one, to a byte each with the upper bits zero. */
void dlpark__bits_unpack(unsigned char *to, const unsigned char *from, int64_t from_bit, unsigned width, int64_t count);

/* The reverse. Upper bits of the bytes are not looked at. */
void dlpark__bits_pack(unsigned char *to, int64_t to_bit, const unsigned char *from, unsigned width, int64_t count);

#endif
