#include <string.h>

#include "bits_parts.h"

/* Eight bytes as a number whose lowest byte is the first, whatever the machine's order. */
static inline uint64_t bits_ordered(uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(value);
#else
    return value;
#endif
}

static inline uint64_t bits_load(const unsigned char *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof value);
    return bits_ordered(value);
}

static inline void bits_store(unsigned char *to, uint64_t value)
{
    value = bits_ordered(value);
    memcpy(to, &value, sizeof value);
}

/* To the start of a byte, from inside one. The first loop is what vectorises; it reads whole words, as long as there
 * are some, where the second takes nine bytes for each 64 bits, all of which have some. */
static void bits_move_shifted(unsigned char *to, const unsigned char *from, unsigned bit, int64_t nbits)
{
    for (; nbits >= 128; nbits -= 64, to += 8, from += 8)
        bits_store(to, bits_load(from) >> bit | bits_load(from + 8) << (64 - bit));
    for (; nbits >= 64; nbits -= 64, to += 8, from += 8)
        bits_store(to, bits_load(from) >> bit | (uint64_t)from[8] << (64 - bit));
    for (; nbits >= 8; nbits -= 8, to++, from++)
        *to = (unsigned char)dlpark__bits_get(from, bit, 8);
    if (nbits > 0)
        dlpark__bits_put(to, 0, (unsigned)nbits, dlpark__bits_get(from, bit, (unsigned)nbits));
}

void dlpark__bits_move(unsigned char *to, int64_t to_bit, const unsigned char *from, int64_t from_bit, int64_t nbits)
{
    unsigned to_in = (unsigned)(to_bit & 7), from_in = (unsigned)(from_bit & 7);

    to = dlpark__bits_byte_mut(to, to_bit);
    from = dlpark__bits_byte(from, from_bit);
    if (to_in != 0) {
        unsigned head = nbits < 8 - (int64_t)to_in ? (unsigned)nbits : 8 - to_in;
        dlpark__bits_put(to, to_in, head, dlpark__bits_get(from, from_in, head));
        nbits -= head;
        if (nbits == 0)
            return;
        to++;
        from_in += head;
        from += from_in >> 3;
        from_in &= 7;
    }
    if (from_in != 0) {
        bits_move_shifted(to, from, from_in, nbits);
        return;
    }
    memcpy(to, from, (size_t)(nbits >> 3));
    unsigned tail = (unsigned)(nbits & 7);
    if (tail != 0)
        dlpark__bits_put(to + (nbits >> 3), 0, tail, dlpark__bits_get(from + (nbits >> 3), 0, tail));
}

/* ---- Eight elements at a time: `width` bytes on the packed side, eight on the other ---- */

#define BITS_EACH_32 UINT64_C(0x0000000100000001)
#define BITS_EACH_16 UINT64_C(0x0001000100010001)
#define BITS_EACH_8  UINT64_C(0x0101010101010101)

/* Each step takes every group apart into two halves, and puts the upper one at the middle of twice the room. */
static inline uint64_t bits_spread(uint64_t packed, unsigned width)
{
    uint64_t four = (UINT64_C(1) << 4 * width) - 1, two = (UINT64_C(1) << 2 * width) - 1,
             one = (UINT64_C(1) << width) - 1;
    uint64_t x = packed;

    x = (x & four) | (x >> 4 * width & four) << 32;
    x = (x & two * BITS_EACH_32) | (x >> 2 * width & two * BITS_EACH_32) << 16;
    return (x & one * BITS_EACH_16) | (x >> width & one * BITS_EACH_16) << 8;
}

static inline uint64_t bits_squeeze(uint64_t bytes, unsigned width)
{
    uint64_t four = (UINT64_C(1) << 4 * width) - 1, two = (UINT64_C(1) << 2 * width) - 1,
             one = (UINT64_C(1) << width) - 1;
    uint64_t x = bytes & one * BITS_EACH_8;

    x = (x & one * BITS_EACH_16) | (x >> 8 & one * BITS_EACH_16) << width;
    x = (x & two * BITS_EACH_32) | (x >> 16 & two * BITS_EACH_32) << 2 * width;
    return (x & four) | (x >> 32 & four) << 4 * width;
}

/* Inlined for each width of a lane, so that the masks are constants and the loops over bytes are none. */
DLPARK_INLINE void bits_unpack_width(unsigned char *to, const unsigned char *from, unsigned bit, const unsigned width,
                                     int64_t count)
{
    for (; count * width >= 64; count -= 8, to += 8, from += width) /* eight bytes are there to be read */
        bits_store(to, bits_spread(bits_load(from) >> bit, width));
    for (; count >= 8; count -= 8, to += 8, from += width) {
        uint64_t packed = 0;
        for (unsigned i = 0; i < width; i++)
            packed |= (uint64_t)from[i] << 8 * i;
        packed >>= bit;
        if (bit != 0)
            packed |= (uint64_t)from[width] << (8 * width - bit);
        bits_store(to, bits_spread(packed, width));
    }
    for (; count > 0; count--, bit += width)
        *to++ = (unsigned char)dlpark__bits_get(from + (bit >> 3), bit & 7, width);
}

/* Two in each byte, from the beginning of one on or the middle: a loop that the compiler makes vectors of. */
static void bits_unpack_four(unsigned char *to, const unsigned char *from, unsigned bit, int64_t count)
{
    if (bit == 4) {
        *to++ = *from++ >> 4;
        count--;
    }
    int64_t pairs = count / 2;
    for (int64_t i = 0; i < pairs; i++) {
        to[2 * i] = from[i] & 0xF;
        to[2 * i + 1] = from[i] >> 4;
    }
    if (count % 2 != 0)
        to[2 * pairs] = from[pairs] & 0xF;
}

void dlpark__bits_unpack(unsigned char *to, const unsigned char *from, int64_t from_bit, unsigned width, int64_t count)
{
    unsigned bit = (unsigned)(from_bit & 7);

    from = dlpark__bits_byte(from, from_bit);
    switch (width) {
    case 1:
        bits_unpack_width(to, from, bit, 1, count);
        break;
    case 2:
        bits_unpack_width(to, from, bit, 2, count);
        break;
    case 6:
        bits_unpack_width(to, from, bit, 6, count);
        break;
    case 4:
        if (bit % 4 == 0) {
            bits_unpack_four(to, from, bit, count);
            break;
        } /* fall through */
    default:
        bits_unpack_width(to, from, bit, width, count);
    }
}

/* The bits before the first element are carried along, and written with it. */
DLPARK_INLINE void bits_pack_width(unsigned char *to, unsigned bit, const unsigned char *from, const unsigned width,
                                   int64_t count)
{
    /* What is written behind the eight is written again, with those that follow. */
    for (; bit == 0 && count * width >= 64; count -= 8, from += 8, to += width)
        bits_store(to, bits_squeeze(bits_load(from), width));
    if (count >= 8) {
        uint64_t carry = bit != 0 ? dlpark__bits_get(to, 0, bit) : 0;
        for (; count >= 8; count -= 8, from += 8, to += width) {
            carry |= bits_squeeze(bits_load(from), width) << bit;
            uint64_t first = bits_ordered(carry);
            memcpy(to, &first, width);
            carry >>= 8 * width;
        }
        if (bit != 0)
            dlpark__bits_put(to, 0, bit, (unsigned)carry);
    }
    for (; count > 0; count--, bit += width)
        dlpark__bits_put(to + (bit >> 3), bit & 7, width, *from++ & (0xFFu >> (8 - width)));
}

static void bits_pack_four(unsigned char *to, unsigned bit, const unsigned char *from, int64_t count)
{
    if (bit == 4) {
        dlpark__bits_put(to++, 4, 4, *from++ & 0xF);
        count--;
    }
    int64_t pairs = count / 2;
    for (int64_t i = 0; i < pairs; i++)
        to[i] = (unsigned char)((from[2 * i] & 0xF) | from[2 * i + 1] << 4);
    if (count % 2 != 0)
        dlpark__bits_put(to + pairs, 0, 4, from[2 * pairs] & 0xF);
}

void dlpark__bits_pack(unsigned char *to, int64_t to_bit, const unsigned char *from, unsigned width, int64_t count)
{
    unsigned bit = (unsigned)(to_bit & 7);

    to = dlpark__bits_byte_mut(to, to_bit);
    switch (width) {
    case 1:
        bits_pack_width(to, bit, from, 1, count);
        break;
    case 2:
        bits_pack_width(to, bit, from, 2, count);
        break;
    case 6:
        bits_pack_width(to, bit, from, 6, count);
        break;
    case 4:
        if (bit % 4 == 0) {
            bits_pack_four(to, bit, from, count);
            break;
        } /* fall through */
    default:
        bits_pack_width(to, bit, from, width, count);
    }
}
