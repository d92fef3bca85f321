#include <stdlib.h>

#include "codec.h"
#include "failing_alloc.h"
#include "test.h"

static void what_is_appended_is_there(void **state)
{
    (void)state;
    image_buffer buffer = {NULL, 0, 0};
    for (unsigned i = 0; i < 100000; i++) {
        const unsigned char piece[3] = {(unsigned char)i, (unsigned char)(i >> 8), (unsigned char)(i >> 16)};
        assert_true(dlpark__image_buffer_append(&buffer, piece, sizeof piece));
    }
    assert_int_equal(buffer.nbytes, 300000);
    assert_true(buffer.capacity >= buffer.nbytes);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(buffer.bytes[3 * i] | buffer.bytes[3 * i + 1] << 8 | buffer.bytes[3 * i + 2] << 16, i);
    free(buffer.bytes);
}

static void growing_is_rare(void **state)
{
    (void)state;
    image_buffer buffer = {NULL, 0, 0};
    failing_alloc_arm(0);
    for (unsigned i = 0; i < 1u << 20; i++)
        assert_true(dlpark__image_buffer_append(&buffer, "8 bytes.", 8));
    assert_true(failing_alloc_count() <= 10);
    free(buffer.bytes);
}

static void nothing_may_be_appended(void **state)
{
    (void)state;
    image_buffer buffer = {NULL, 0, 0};
    assert_true(dlpark__image_buffer_append(&buffer, NULL, 0));
    assert_int_equal(buffer.nbytes, 0);
    assert_true(dlpark__image_buffer_append(&buffer, "a", 1));
    assert_true(dlpark__image_buffer_append(&buffer, NULL, 0));
    assert_int_equal(buffer.nbytes, 1);
    free(buffer.bytes);
}

static void without_memory_the_buffer_is_as_before(void **state)
{
    (void)state;
    image_buffer buffer = {NULL, 0, 0};
    assert_true(dlpark__image_buffer_append(&buffer, "abc", 3));
    const image_buffer before = buffer;
    failing_alloc_arm(1);
    assert_false(dlpark__image_buffer_reserve(&buffer, before.capacity));
    failing_alloc_arm(0);
    assert_false(dlpark__image_buffer_reserve(&buffer, SIZE_MAX));
    assert_false(dlpark__image_buffer_reserve(&buffer, SIZE_MAX - 2));
    assert_memory_equal(&buffer, &before, sizeof before);
    assert_memory_equal(buffer.bytes, "abc", 3);
    free(buffer.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_is_there),
        cmocka_unit_test(growing_is_rare),
        cmocka_unit_test(nothing_may_be_appended),
        cmocka_unit_test(without_memory_the_buffer_is_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
