#include "test.h"

#include <locale.h>
#include <stdbool.h>

#include "internal.h"

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

/* ---- Texts of others ---- */

/* The character at the beginning of a text, decoded by the arithmetic of UTF-8; -1 where there is none. */
static long decode(const unsigned char *text, size_t length, size_t *width)
{
    static const long least[] = {0, 0, 0x80, 0x800, 0x10000};
    long value;

    *width = text[0] < 0x80 ? 1 : text[0] >> 5 == 6 ? 2 : text[0] >> 4 == 14 ? 3 : text[0] >> 3 == 30 ? 4 : 0;
    if (*width == 0 || *width > length)
        return -1;
    value = *width == 1 ? text[0] : text[0] & (0x7F >> *width);
    for (size_t i = 1; i < *width; i++) {
        if (text[i] >> 6 != 2)
            return -1;
        value = value * 64 + (text[i] & 63);
    }
    return value < least[*width] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000) ? -1 : value;
}

/* What a quotation has to be where nothing is cut. */
static void quote_slowly(const unsigned char *text, size_t length, char *out)
{
    for (size_t at = 0, width; at < length; at += width) {
        long character = decode(text + at, length - at, &width);
        if (character >= 0x20 && (character < 0x7F || character >= 0xA0)) {
            memcpy(out, text + at, width);
            out += width;
        } else {
            width = 1;
            out += sprintf(out, "\\x%02X", text[at]);
        }
    }
    *out = '\0';
}

/* All texts of up to four bytes out of those where the rules of UTF-8 change. */
static void quotations_are_as_the_slow_way_says(void **state)
{
    (void)state;
    static const unsigned char edges[] = {0x00, 0x1F, 0x20, 'a',  0x7E, 0x7F, 0x80, 0x8F, 0x90,
                                          0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
                                          0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
    enum { COUNT = sizeof edges };
    unsigned char text[4];
    char expected[32];

    for (int number = 0; number < COUNT * COUNT * COUNT * COUNT; number++) {
        for (int i = 0, rest = number; i < 4; i++, rest /= COUNT)
            text[i] = edges[rest % COUNT];
        size_t length = number < COUNT * COUNT * COUNT ? (size_t)number % 5 : 4;
        quote_slowly(text, length, expected);
        if (strcmp(dlpark__quote((const char *)text, length).text, expected) != 0)
            fail_msg("%02X %02X %02X %02X", text[0], text[1], text[2], text[3]);
    }
}

/* Characters of one width, moved across the cut; all of them stay where they fit. */
static void quotations_are_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = {"b", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x99\x82", "\xFF"};

    for (size_t c = 0; c < 5; c++)
        for (size_t before = 0; before < 5; before++) {
            size_t width = strlen(characters[c]), shown = c == 4 ? 4 : width;
            size_t fit = (60 - before) / shown, kept = (57 - before) / shown;
            char text[128] = "", expected[128] = "";
            for (size_t i = 0; i < before; i++)
                strcat(text, "a");
            strcpy(expected, text);
            for (size_t i = 0; i < fit; i++)
                strcat(text, characters[c]);
            dlpark__quoted whole = dlpark__quote(text, strlen(text));
            assert_int_equal(strlen(whole.text), before + fit * shown);
            for (size_t i = 0; i < kept; i++)
                strcat(expected, c == 4 ? "\\xFF" : characters[c]);
            strcat(expected, "...");
            strcat(text, characters[c]);
            assert_string_equal(dlpark__quote(text, strlen(text)).text, expected);
        }
}

static void a_quotation_reads_what_it_is_given(void **state)
{
    (void)state;
    assert_string_equal(dlpark__quote(NULL, 0).text, "");
    assert_string_equal(dlpark__quote("f32[n]", 3).text, "f32");
    assert_string_equal(dlpark__quote("\xE2\x82\xAC", 2).text, "\\xE2\\x82");
}

static void a_message_is_utf8_whatever_it_quotes(void **state)
{
    (void)state;
    dlpark_error err = test_fresh_error();

    (void)dlpark_error_set(&err, DLPARK_E_NOT_FOUND, "%s: no such file", "b\xFF\xC3\xA9\xC3.png\n");
    assert_string_equal(err.message, "b\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD.png\n: no such file");
}

/* What stands for a byte is longer than that: it is dropped as a whole, or the text ends before. */
static void what_stands_for_a_byte_is_never_cut(void **state)
{
    (void)state;
    char text[DLPARK_ERROR_MESSAGE_NBYTES];

    for (size_t room = 0; room < 5; room++) {
        dlpark_error err = test_fresh_error();
        size_t before = DLPARK_ERROR_MESSAGE_NBYTES - 1 - room;
        memset(text, 'a', before);
        text[before] = '\0';
        (void)dlpark_error_set(&err, DLPARK_E_IO, "%s%s", text, room > 0 ? "\xFF" : "");
        assert_int_equal(strlen(err.message), before + (room >= 3 ? 3 : 0));
    }
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
        cmocka_unit_test(every_status_has_a_row),
        cmocka_unit_test(statuses_are_distinct_and_small),
        cmocka_unit_test(unknown_status_is_named_so),
        cmocka_unit_test(message_is_formatted),
        cmocka_unit_test(message_may_be_wrapped_in_words),
        cmocka_unit_test(error_is_optional),
        cmocka_unit_test(default_text_without_a_format),
        cmocka_unit_test(long_message_is_cut_between_characters),
        cmocka_unit_test(whole_last_character_is_kept),
        cmocka_unit_test(only_continuation_bytes_do_not_run_off),
        cmocka_unit_test(try_returns_the_failure),
        cmocka_unit_test(quotations_are_as_the_slow_way_says),
        cmocka_unit_test(quotations_are_cut_between_characters),
        cmocka_unit_test(a_quotation_reads_what_it_is_given),
        cmocka_unit_test(a_message_is_utf8_whatever_it_quotes),
        cmocka_unit_test(what_stands_for_a_byte_is_never_cut),
    };

    setlocale(LC_ALL, "");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
