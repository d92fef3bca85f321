#include <pthread.h>

#include "crc32.h"

#define CRC32_POLYNOMIAL UINT32_C(0xEDB88320)
#define CRC32_STEP       ((size_t)16)

/* Row `i` has the sums of a byte and `i` zeros behind it. */
static uint32_t crc32_tables[CRC32_STEP][256];

static void crc32_make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (CRC32_POLYNOMIAL & (0 - (sum & 1)));
        crc32_tables[0][byte] = sum;
    }
    for (size_t row = 1; row < CRC32_STEP; row++) {
        for (size_t byte = 0; byte < 256; byte++) {
            uint32_t sum = crc32_tables[row - 1][byte];
            crc32_tables[row][byte] = sum >> 8 ^ crc32_tables[0][sum & 0xFF];
        }
    }
}

static uint32_t crc32_word(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* The sum of four bytes that so many follow. */
static uint32_t crc32_four(uint32_t word, size_t behind)
{
    return crc32_tables[behind + 3][word & 0xFF] ^ crc32_tables[behind + 2][word >> 8 & 0xFF] ^
           crc32_tables[behind + 1][word >> 16 & 0xFF] ^ crc32_tables[behind][word >> 24];
}

uint32_t dlpark__crc32_add(uint32_t sum, const void *bytes, size_t nbytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *at = bytes;

    (void)pthread_once(&once, crc32_make_tables);
    for (; nbytes >= CRC32_STEP; nbytes -= CRC32_STEP, at += CRC32_STEP) {
        uint32_t others = crc32_four(crc32_word(at + 4), 8) ^ crc32_four(crc32_word(at + 8), 4) ^
                          crc32_four(crc32_word(at + 12), 0); /* which wait for no sum */
        sum = crc32_four(crc32_word(at) ^ sum, 12) ^ others;
    }
    for (; nbytes > 0; nbytes--, at++)
        sum = sum >> 8 ^ crc32_tables[0][(sum ^ *at) & 0xFF];
    return sum;
}

/* Of polynomials over bits, modulo that of the sum; the highest bit is the coefficient of 1. */
static uint32_t crc32_multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (int bit = 31; bit >= 0; bit--) {
        product ^= b & (0 - (a >> bit & 1));
        b = b >> 1 ^ (CRC32_POLYNOMIAL & (0 - (b & 1)));
    }
    return product;
}

uint32_t dlpark__crc32_shift(uint32_t sum, uint64_t nbytes)
{
    uint32_t power = UINT32_C(1) << 23; /* x^8: a byte */

    for (; nbytes != 0; nbytes >>= 1) {
        if ((nbytes & 1) != 0)
            sum = crc32_multiply(sum, power);
        power = crc32_multiply(power, power);
    }
    return sum;
}
