#include <pthread.h>
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdbool.h>
#endif

#include "crc32.h"

/* ---- By tables ---- */

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

static uint32_t crc32_add_by_tables(uint32_t sum, const unsigned char *at, size_t nbytes)
{
    for (; nbytes >= CRC32_STEP; nbytes -= CRC32_STEP, at += CRC32_STEP) {
        uint32_t others = crc32_four(crc32_word(at + 4), 8) ^ crc32_four(crc32_word(at + 8), 4) ^
                          crc32_four(crc32_word(at + 12), 0); /* which wait for no sum */
        sum = crc32_four(crc32_word(at) ^ sum, 12) ^ others;
    }
    for (; nbytes > 0; nbytes--, at++)
        sum = sum >> 8 ^ crc32_tables[0][(sum ^ *at) & 0xFF];
    return sum;
}

#if defined(__x86_64__)
/* ---- By products without carries ---- */

#define CRC32_FOLDED ((size_t)64)
#define CRC32_FOLD   __attribute__((target("pclmul,sse4.1")))

/* x^(bits + 32) and x^(bits - 32) modulo the polynomial, in its order of bits, and one bit up as a product of two such
 * numbers is one bit down: what the halves of 16 bytes are multiplied by that are moved by so many bits. */
static const uint64_t crc32_by_512[2] = {UINT64_C(0x154442BD4), UINT64_C(0x1C6E41596)};
static const uint64_t crc32_by_128[2] = {UINT64_C(0x1751997D0), UINT64_C(0x0CCAA009E)};

/* What has the sum of both: of `sum`, moved, and of the bytes there. */
CRC32_FOLD static inline __m128i crc32_fold(__m128i sum, const uint64_t by[2], __m128i bytes)
{
    __m128i powers = _mm_loadu_si128((const void *)by);

    return _mm_xor_si128(
        _mm_xor_si128(_mm_clmulepi64_si128(sum, powers, 0x00), _mm_clmulepi64_si128(sum, powers, 0x11)), bytes);
}

/* Four sums at once, each of every fourth 16 bytes; of whole 64 bytes, and twice at least. What is left of 16 bytes is
 * for the tables. */
CRC32_FOLD static uint32_t crc32_add_folded(uint32_t sum, const unsigned char *at, size_t nbytes)
{
    __m128i sums[4];
    unsigned char left[16];

    for (int i = 0; i < 4; i++)
        sums[i] = _mm_loadu_si128((const void *)(at + i * 16));
    sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128((int)sum));
    for (const unsigned char *end = at + nbytes; (at += CRC32_FOLDED) < end;)
        for (int i = 0; i < 4; i++)
            sums[i] = crc32_fold(sums[i], crc32_by_512, _mm_loadu_si128((const void *)(at + i * 16)));
    for (int i = 1; i < 4; i++)
        sums[0] = crc32_fold(sums[0], crc32_by_128, sums[i]);
    _mm_storeu_si128((void *)left, sums[0]);
    return crc32_add_by_tables(0, left, sizeof left);
}

static bool crc32_can_fold(void)
{
    return !!__builtin_cpu_supports("pclmul") & !!__builtin_cpu_supports("sse4.1");
}
#endif

uint32_t dlpark__crc32_add(uint32_t sum, const void *bytes, size_t nbytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *at = bytes;

    (void)pthread_once(&once, crc32_make_tables);
#if defined(__x86_64__)
    size_t whole = nbytes - nbytes % CRC32_FOLDED;
    if (whole > CRC32_FOLDED && crc32_can_fold()) { /* GCOVR_EXCL_BR_LINE: every processor of these years can */
        sum = crc32_add_folded(sum, at, whole);
        at += whole;
        nbytes -= whole;
    }
#endif
    return crc32_add_by_tables(sum, at, nbytes);
}

/* ---- Of zeros ---- */

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
