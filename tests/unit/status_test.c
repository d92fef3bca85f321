#include "test.h"

#include <locale.h>

static void every_status_has_a_row(void **state)
{
    (void)state;
#define ROW(name, value, exception, text)                                                                              \
    assert_int_equal(DLPARK_##name, (value));                                                                          \
    assert_string_equal(dlpark_status_name(DLPARK_##name), #name);                                                     \
    assert_string_equal(dlpark_status_exception(DLPARK_##name), #exception);                                           \
    assert_string_equal(dlpark_status_text(DLPARK_##name), text);
    DLPARK_STATUS_TABLE(ROW)
#undef ROW
}

static void statuses_are_distinct_and_small(void **state)
{
    (void)state;
    static const int values[] = {
#define VALUE(name, value, exception, text) (value),
        DLPARK_STATUS_TABLE(VALUE)
#undef VALUE
    };
    size_t count = sizeof values / sizeof values[0];

    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            assert_int_not_equal(values[i], values[j]);
    assert_int_equal(values[0], 0);
}

static void unknown_status_is_named_so(void **state)
{
    (void)state;
    assert_string_equal(dlpark_status_name((dlpark_status)9999), "E_UNKNOWN");
    assert_string_equal(dlpark_status_exception((dlpark_status)9999), "RuntimeError");
    assert_string_equal(dlpark_status_text((dlpark_status)-1), "unknown status");
}

static void message_is_formatted(void **state)
{
    (void)state;
    dlpark_error err = test_fresh_error();

    assert_int_equal(dlpark_error_set(&err, DLPARK_E_SHAPE, "shape[%d] is %lld", 2, -1LL), DLPARK_E_SHAPE);
    assert_int_equal(err.status, DLPARK_E_SHAPE);
    assert_string_equal(err.message, "shape[2] is -1");
}

static void message_may_be_wrapped_in_words(void **state)
{
    (void)state;
    dlpark_error err = test_fresh_error();

    (void)dlpark_error_set(&err, DLPARK_E_SHAPE, "shape[%d] is -1", 2);
    assert_int_equal(dlpark_error_set(&err, err.status, "argument 'a': %s", err.message), DLPARK_E_SHAPE);
    assert_string_equal(err.message, "argument 'a': shape[2] is -1");
}

static void error_is_optional(void **state)
{
    (void)state;
    assert_int_equal(dlpark_error_set(NULL, DLPARK_E_IO, "%s", "nobody reads this"), DLPARK_E_IO);
}

static void default_text_without_a_format(void **state)
{
    (void)state;
    dlpark_error err = test_fresh_error();
    const char *none = NULL;

    assert_int_equal(dlpark_error_set(&err, DLPARK_E_MEMORY, none, 0), DLPARK_E_MEMORY);
    assert_string_equal(err.message, "out of memory");
}

/* Fills the message so that a character of `width` bytes falls on the cut, at each of its bytes. */
static void check_cut(const char *character, size_t width)
{
    char text[DLPARK_ERROR_MESSAGE_NBYTES + 16];

    for (size_t inside = 0; inside < width; inside++) {
        size_t before = DLPARK_ERROR_MESSAGE_NBYTES - 1 - inside;
        dlpark_error err = test_fresh_error();
        memset(text, 'a', before);
        memcpy(text + before, character, width);
        strcpy(text + before + width, "zz");
        (void)dlpark_error_set(&err, DLPARK_E_IO, "%s", text);
        assert_int_equal(strlen(err.message), before);
        assert_int_equal(err.message[before - 1], 'a');
    }
}

static void long_message_is_cut_between_characters(void **state)
{
    (void)state;
    check_cut("\xC3\xA9", 2);
    check_cut("\xE2\x82\xAC", 3);
    check_cut("\xF0\x9F\x99\x82", 4);
}

static void whole_last_character_is_kept(void **state)
{
    (void)state;
    char text[DLPARK_ERROR_MESSAGE_NBYTES + 16];
    size_t before = DLPARK_ERROR_MESSAGE_NBYTES - 1 - 3;
    dlpark_error err = test_fresh_error();

    memset(text, 'a', before);
    strcpy(text + before, "\xE2\x82\xAC"
                          "more");
    (void)dlpark_error_set(&err, DLPARK_E_IO, "%s", text);
    assert_int_equal(strlen(err.message), DLPARK_ERROR_MESSAGE_NBYTES - 1);
    assert_string_equal(err.message + before, "\xE2\x82\xAC");
}

static void only_continuation_bytes_do_not_run_off(void **state)
{
    (void)state;
    char text[DLPARK_ERROR_MESSAGE_NBYTES + 16];
    dlpark_error err = test_fresh_error();

    memset(text, 0x80, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)dlpark_error_set(&err, DLPARK_E_IO, "%s", text);
    assert_int_equal(strlen(err.message), DLPARK_ERROR_MESSAGE_NBYTES - 1);
}

static dlpark_status stop_at_failure(dlpark_status first, int *reached)
{
    DLPARK_TRY(first);
    *reached = 1;
    return DLPARK_OK;
}

static void try_returns_the_failure(void **state)
{
    (void)state;
    int reached = 0;

    assert_int_equal(stop_at_failure(DLPARK_E_RANK, &reached), DLPARK_E_RANK);
    assert_int_equal(reached, 0);
    assert_int_equal(stop_at_failure(DLPARK_OK, &reached), DLPARK_OK);
    assert_int_equal(reached, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_row),          cmocka_unit_test(statuses_are_distinct_and_small),
        cmocka_unit_test(unknown_status_is_named_so),      cmocka_unit_test(message_is_formatted),
        cmocka_unit_test(message_may_be_wrapped_in_words), cmocka_unit_test(error_is_optional),
        cmocka_unit_test(default_text_without_a_format),   cmocka_unit_test(long_message_is_cut_between_characters),
        cmocka_unit_test(whole_last_character_is_kept),    cmocka_unit_test(only_continuation_bytes_do_not_run_off),
        cmocka_unit_test(try_returns_the_failure),
    };

    setlocale(LC_ALL, "");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
