#include "codec.h"
#include "jpeg_made.h"

/* On a copy of exactly these bytes: a sanitizer or valgrind sees a read behind them. */
static int32_t orientation_of(const unsigned char *bytes, size_t nbytes)
{
    unsigned char *exact = malloc(nbytes ? nbytes : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, nbytes);
    int32_t orientation = dlpark__exif_orientation(nbytes ? exact : NULL, nbytes);
    free(exact);
    return orientation;
}

static void every_orientation_in_both_byte_orders(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++)
        for (int value = 0; value <= 9; value++) {
            unsigned char bytes[JPEG_EXIF_NBYTES];
            jpeg_exif(bytes, value, big);
            int expected = value >= 1 && value <= 8 ? value : 1;
            assert_int_equal(orientation_of(bytes, sizeof bytes), expected);
            assert_int_equal(orientation_of(bytes + 6, sizeof bytes - 6), expected);
        }
}

static void a_value_is_found_behind_other_tags(void **state)
{
    (void)state;
    const unsigned char bytes[] = {'M', 'M', 0, '*', 0, 0, 0, 10, 0xAA, 0xBB, 0, 3, /* offset 10, three entries */
                                   1,   0,   0, 3,   0, 0, 0, 1,  0,    7,    0, 0, /* another tag */
                                   1,   0xF, 0, 2,   0, 0, 0, 9,  0,    0,    0, 0,
                                   1,   18,  0, 3,   0, 0, 0, 1,  0,    8,    0, 0};
    assert_int_equal(orientation_of(bytes, sizeof bytes), 8);
}

static void a_long_is_taken_and_other_types_are_not(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 16; type++) {
        unsigned char bytes[JPEG_EXIF_NBYTES];
        jpeg_exif(bytes, 6, false);
        bytes[6 + 12] = (unsigned char)type;
        assert_int_equal(orientation_of(bytes, sizeof bytes), type == 3 || type == 4 ? 6 : 1);
    }
    unsigned char high[JPEG_EXIF_NBYTES];
    jpeg_exif(high, 6, false);
    high[6 + 12] = 4;
    high[6 + 21] = 1; /* 6 + 2^24 */
    assert_int_equal(orientation_of(high, sizeof high), 1);
    jpeg_exif(high, 6, false);
    high[6 + 14] = 2; /* two values in the field */
    assert_int_equal(orientation_of(high, sizeof high), 1);
}

static void every_length_is_safe(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        unsigned char bytes[JPEG_EXIF_NBYTES];
        jpeg_exif(bytes, 5, big);
        for (size_t nbytes = 0; nbytes <= sizeof bytes; nbytes++)
            /* the link to the next directory, the last 4 bytes, is not needed */
            assert_int_equal(orientation_of(bytes, nbytes), nbytes >= sizeof bytes - 4 ? 5 : 1);
    }
}

static void wild_offsets_and_counts_are_safe(void **state)
{
    (void)state;
    unsigned char bytes[JPEG_EXIF_NBYTES];
    for (uint32_t offset = 0; offset < 64; offset++) {
        jpeg_exif(bytes, 5, true);
        bytes[6 + 7] = (unsigned char)offset;
        assert_in_range(orientation_of(bytes, sizeof bytes), 1, 8);
    }
    jpeg_exif(bytes, 5, true);
    memset(bytes + 6 + 4, 0xFF, 4);
    assert_int_equal(orientation_of(bytes, sizeof bytes), 1);
    jpeg_exif(bytes, 5, true);
    /* A directory that would begin with the header itself, and have the tag as its second entry. */
    const unsigned char header[] = {'M', 'M', 0,  '*', 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                    0,   1,   18, 0,   3, 0, 0, 0, 1, 0, 5, 0, 0};
    assert_int_equal(orientation_of(header, sizeof header), 1);
    jpeg_exif(bytes, 5, true);
    memset(bytes + 6 + 8, 0xFF, 2); /* 65535 entries are said, one is there */
    assert_int_equal(orientation_of(bytes, sizeof bytes), 5);
    memset(bytes + 6 + 10, 0, 2);
    assert_int_equal(orientation_of(bytes, sizeof bytes), 1);
    jpeg_exif(bytes, 5, true);
    bytes[6 + 3] = '+';
    assert_int_equal(orientation_of(bytes, sizeof bytes), 1);
}

static void noise_is_safe(void **state)
{
    (void)state;
    uint32_t random = 88172645u;
    for (int i = 0; i < 20000; i++) {
        unsigned char bytes[64];
        jpeg_exif(bytes, 3, i % 2);
        size_t nbytes = 8 + picture_random(&random) % (JPEG_EXIF_NBYTES - 7);
        for (uint32_t k = 0; k < 1 + picture_random(&random) % 6; k++)
            bytes[picture_random(&random) % nbytes] = (unsigned char)picture_random(&random);
        assert_in_range(orientation_of(bytes, nbytes), 1, 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_orientation_in_both_byte_orders),   cmocka_unit_test(a_value_is_found_behind_other_tags),
        cmocka_unit_test(a_long_is_taken_and_other_types_are_not), cmocka_unit_test(every_length_is_safe),
        cmocka_unit_test(wild_offsets_and_counts_are_safe),        cmocka_unit_test(noise_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
