#include "test.h"

#include <stdbool.h>

#include "npz/crc32.h"

/* A bit at a time, as the polynomial is defined. */
static uint32_t slow_sum(uint32_t sum, const unsigned char *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = (sum & 1) != 0 ? sum >> 1 ^ UINT32_C(0xEDB88320) : sum >> 1;
    }
    return sum;
}

static void fill(unsigned char *bytes, size_t nbytes)
{
    uint32_t seed = 12345;

    for (size_t i = 0; i < nbytes; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(seed >> 24);
    }
}

/* The values that the standards and zlib have for these. */
static void known_sums(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t sum;
    } cases[] = {{"", 0},
                 {"a", 0xE8B7BE43},
                 {"123456789", 0xCBF43926},
                 {"The quick brown fox jumps over the lazy dog", 0x414FA339}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(~dlpark__crc32_add(DLPARK__CRC32_BEGIN, cases[i].text, strlen(cases[i].text)), cases[i].sum);
}

static void every_length_and_place(void **state)
{
    unsigned char bytes[300]; /* some steps of 64, and all that can be left of one */

    (void)state;
    fill(bytes, sizeof bytes);
    for (size_t begin = 0; begin < 9; begin++)
        for (size_t nbytes = 0; begin + nbytes <= sizeof bytes; nbytes++)
            assert_int_equal(dlpark__crc32_add(0x12345678, bytes + begin, nbytes),
                             slow_sum(0x12345678, bytes + begin, nbytes));
}

static void zeros_are_skipped(void **state)
{
    static const unsigned char zeros[4096];

    (void)state;
    for (size_t nbytes = 0; nbytes <= sizeof zeros; nbytes = nbytes * 2 + 1)
        assert_int_equal(dlpark__crc32_shift(0xDEADBEEF, nbytes), slow_sum(0xDEADBEEF, zeros, nbytes));
    /* More than can be tried: in two steps as in one. */
    uint64_t far = UINT64_C(0x123456789ABCDEF);
    assert_int_equal(dlpark__crc32_shift(dlpark__crc32_shift(1, far), far * 3), dlpark__crc32_shift(1, far * 4));
    assert_int_equal(dlpark__crc32_shift(0, UINT64_MAX), 0);
}

static void pieces_in_any_order(void **state)
{
    unsigned char bytes[1000];
    static const size_t cuts[] = {0, 1, 9, 500, 507, 999, 1000};
    static const size_t order[] = {3, 0, 5, 4, 1, 2};
    uint32_t sum = 0;

    (void)state;
    fill(bytes, sizeof bytes);
    for (size_t i = 0; i < 6; i++) {
        size_t begin = cuts[order[i]], end = cuts[order[i] + 1];
        sum ^= dlpark__crc32_shift(dlpark__crc32_add(0, bytes + begin, end - begin), sizeof bytes - end);
    }
    assert_int_equal(dlpark__crc32_shift(DLPARK__CRC32_BEGIN, sizeof bytes) ^ sum,
                     slow_sum(DLPARK__CRC32_BEGIN, bytes, sizeof bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums),
        cmocka_unit_test(every_length_and_place),
        cmocka_unit_test(zeros_are_skipped),
        cmocka_unit_test(pieces_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
