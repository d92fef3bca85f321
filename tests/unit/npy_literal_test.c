#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "npy/npy_literal.h"

/* A reader of a text in a block of its own size, whose end a sanitizer sees. */
static dlpark__npy_literal begin(const char *text, size_t nbytes)
{
    char *block = malloc(nbytes > 0 ? nbytes : 1);

    assert_non_null(block);
    memcpy(block, text, nbytes);
    return (dlpark__npy_literal){.text = block, .end = nbytes};
}

static void end(dlpark__npy_literal *literal)
{
    free((void *)(uintptr_t)literal->text);
}

/* ---- Strings ---- */

static void assert_string(const char *text, const char *expected, size_t nbytes)
{
    dlpark__npy_literal literal = begin(text, strlen(text));
    dlpark__npy_string found;

    if (!dlpark__npy_literal_string(&literal, "a string", &found))
        fail_msg("%s: %s", text, literal.fault);
    assert_int_equal(found.nbytes, nbytes);
    assert_memory_equal(found.text, expected, nbytes);
    assert_true(dlpark__npy_literal_end(&literal));
    end(&literal);
}

static void assert_no_string(const char *text, size_t nbytes, size_t at, const char *why)
{
    dlpark__npy_literal literal = begin(text, nbytes);
    dlpark__npy_string found;

    assert_false(dlpark__npy_literal_string(&literal, "a string", &found));
    if (strstr(literal.fault, why) == NULL)
        fail_msg("%s: \"%s\" does not contain \"%s\"", text, literal.fault, why);
    assert_int_equal(literal.fault_at, at);
    assert_false(dlpark__npy_literal_end(&literal));
    end(&literal);
}

static void strings_are_decoded(void **state)
{
    (void)state;
    assert_string("''", "", 0);
    assert_string(" \t\n\r\f\"\"", "", 0);
    assert_string("'a\"b'", "a\"b", 3);
    assert_string("\"a'b\"", "a'b", 3);
    assert_string("'\\'\\\"\\\\'", "'\"\\", 3);
    assert_string("'\\a\\b\\f\\n\\r\\t\\v'", "\a\b\f\n\r\t\v", 7);
    assert_string("'\\x64\\x6A\\x6a'", "djj", 3);
    assert_string("'\\u0064\\U00000064'", "dd", 2);
    assert_string("'\\144\\1444\\0\\7x\\18'",
                  "dd4\0\7x\1"
                  "8",
                  8);
    assert_string("'\\xe9\\u20AC\\U0010ffff\\377'", "????", 4);
    assert_string("'\xE9\xFF'", "\xE9\xFF", 2);
}

static void long_strings_keep_their_length(void **state)
{
    char text[103] = "'", expected[48];
    dlpark__npy_string found;

    (void)state;
    memset(text + 1, 'x', 100);
    text[101] = '\'';
    memset(expected, 'x', sizeof expected);
    dlpark__npy_literal literal = begin(text, 102);
    assert_true(dlpark__npy_literal_string(&literal, "a string", &found));
    assert_int_equal(found.nbytes, 100);
    assert_memory_equal(found.text, expected, sizeof expected);
    end(&literal);
}

static void strings_that_are_none(void **state)
{
    (void)state;
    assert_no_string("", 0, 0, "a string is expected here, not the end");
    assert_no_string("  x", 3, 2, "a string is expected here, not 'x'");
    assert_no_string("\x01", 1, 0, "a string is expected here, not byte 0x01");
    assert_no_string("\x7F", 1, 0, "not byte 0x7F");
    assert_no_string("\0", 1, 0, "not byte 0x00");
    assert_no_string("b'a'", 4, 0, "not 'b'");
    assert_no_string("'", 1, 0, "the string that begins here has no end");
    assert_no_string(" 'a\"", 4, 1, "the string that begins here has no end");
    assert_no_string("'a\\", 3, 0, "the string that begins here has no end");
    assert_no_string("'a\\'", 4, 0, "the string that begins here has no end");
    assert_no_string("'a\nb'", 5, 2, "a string holds the byte 0x0A");
    assert_no_string("'a\rb'", 5, 2, "a string holds the byte 0x0D");
    assert_no_string("'\0'", 3, 1, "a string holds the byte 0x00");
    assert_no_string("'\\q'", 4, 1, "a backslash begins no escape");
    assert_no_string("'\\8'", 4, 1, "a backslash begins no escape");
    assert_no_string("'\\/'", 4, 1, "a backslash begins no escape");
    assert_no_string("'\\\n'", 4, 1, "a backslash begins no escape");
    assert_no_string("'\\\0'", 4, 1, "a backslash begins no escape");
    assert_no_string("'\\N{DASH}'", 10, 1, "a backslash begins no escape");
    assert_no_string("'\\x6'", 5, 1, "\\x is not followed by 2 hexadecimal digits");
    assert_no_string("'\\x6g'", 6, 1, "\\x is not followed by 2 hexadecimal digits");
    assert_no_string("'\\x", 3, 1, "\\x is not followed by 2 hexadecimal digits");
    assert_no_string("'\\u006'", 7, 1, "\\u is not followed by 4 hexadecimal digits");
    assert_no_string("'\\U0011ffff'", 12, 1, "\\U is not followed by 8 hexadecimal digits");
    assert_no_string("'\\U00110000'", 12, 1, "\\U is not followed by 8");
    assert_no_string("'\\1", 3, 0, "the string that begins here has no end");
}

/* ---- Numbers and words ---- */

static bool read_digits(const char *text, bool has_longs, size_t *at, size_t *count, char *why)
{
    dlpark__npy_literal literal = begin(text, strlen(text));

    literal.has_longs = has_longs;
    bool is_read = dlpark__npy_literal_digits(&literal, "a number", at, count) && dlpark__npy_literal_end(&literal);
    strcpy(why, literal.fault);
    end(&literal);
    return is_read;
}

static void numbers_are_digits(void **state)
{
    static const char *const bad[][2] = {
        {"", "a number is expected here, not the end"},
        {"-1", "not '-'"},
        {"01", "a number begins with 0"},
        {"00", "a number begins with 0"},
        {"1_0", "the end of the header is expected here, not '_'"},
        {"0x1", "not 'x'"},
        {"1.0", "not '.'"},
        {"1L", "not 'L'"},
        {"/", "a number is expected here, not '/'"},
        {":", "a number is expected here, not ':'"},
    };
    size_t at, count;
    char why[160];

    (void)state;
    assert_true(read_digits(" 0", false, &at, &count, why));
    assert_int_equal(at, 1);
    assert_int_equal(count, 1);
    assert_true(read_digits("1234567890123456789012345678901234567890 ", false, &at, &count, why));
    assert_int_equal(count, 40);
    assert_true(read_digits("3L", true, &at, &count, why));
    assert_int_equal(count, 1);
    assert_true(read_digits("3", true, &at, &count, why));
    assert_false(read_digits("3LL", true, &at, &count, why));
    assert_false(read_digits("3 L", true, &at, &count, why));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(read_digits(bad[i][0], false, &at, &count, why));
        assert_non_null(strstr(why, bad[i][1]));
    }
}

static void words_are_truth(void **state)
{
    static const char *const bad[] = {"", "true", "Tru", "1", "None", "'True'"};
    bool value;

    (void)state;
    for (int i = 0; i < 2; i++) {
        dlpark__npy_literal literal = begin(i == 1 ? "\nTrue" : " False", i == 1 ? 5 : 6);
        assert_true(dlpark__npy_literal_bool(&literal, "a word", &value));
        assert_int_equal(value, i);
        assert_true(dlpark__npy_literal_end(&literal));
        end(&literal);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dlpark__npy_literal literal = begin(bad[i], strlen(bad[i]));
        assert_false(dlpark__npy_literal_bool(&literal, "a word", &value));
        assert_non_null(strstr(literal.fault, "a word is expected here, not "));
        end(&literal);
    }
}

/* ---- Values ---- */

static void assert_skips(const char *text, const char *why)
{
    dlpark__npy_literal literal = begin(text, strlen(text));
    bool is_read = dlpark__npy_literal_skip(&literal) && dlpark__npy_literal_end(&literal);

    if (is_read != (why == NULL) || (why != NULL && strstr(literal.fault, why) == NULL))
        fail_msg("%s: %s", text, literal.fault);
    assert_true(is_read || literal.fault_at <= literal.end);
    end(&literal);
}

static void values_are_skipped(void **state)
{
    static const char *const good[] = {"1",
                                       "-1",
                                       "'x'",
                                       "\"x\"",
                                       "True",
                                       "False",
                                       "None",
                                       "()",
                                       "[]",
                                       "( )",
                                       "(1,)",
                                       "[1 , 2 ,\n]",
                                       "(1)",
                                       "((),[],([()],),'a')",
                                       "[('x', '<f4'), ('y', [('z', '<i4', (2, 3))])]"};
    static const char *const bad[][2] = {{"", "a value is expected here, not the end"},
                                         {"-", "a value is expected here, not the end"},
                                         {"-x", "not 'x'"},
                                         {"(", "a value is expected here, not the end"},
                                         {"(,)", "a value is expected here, not ','"},
                                         {"(1", "',' or ')' is expected here, not the end"},
                                         {"(1]", "',' or ')' is expected here, not ']'"},
                                         {"[1)", "',' or ']' is expected here, not ')'"},
                                         {"(1,,)", "a value is expected here, not ','"},
                                         {"(1 2)", "',' or ')' is expected here, not '2'"},
                                         {"('a' 'b')", "',' or ')' is expected here, not '''"},
                                         {"{}", "a value is expected here, not '{'"},
                                         {"1j", "the end of the header is expected here, not 'j'"},
                                         {"(1,'x)", "the string that begins here has no end"},
                                         {"[(1, (2, 3), x)]", "a value is expected here, not 'x'"},
                                         {"1#", "the end of the header is expected here, not '#'"}};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_skips(good[i], NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_skips(bad[i][0], bad[i][1]);
}

static void values_nest_so_deep(void **state)
{
    (void)state;
    for (int depth = DLPARK__NPY_DEPTH - 1; depth <= DLPARK__NPY_DEPTH + 1; depth++) {
        char text[100] = "";
        for (int i = 0; i < depth; i++)
            strcat(text, i % 2 ? "[" : "(");
        strcat(text, "1");
        for (int i = depth - 1; i >= 0; i--)
            strcat(text, i % 2 ? "]" : ")");
        assert_skips(text, depth <= DLPARK__NPY_DEPTH ? NULL : "values nest more than 32 deep");
    }
}

static void the_first_fault_stays(void **state)
{
    dlpark__npy_literal literal = begin("x'y'", 4);
    dlpark__npy_string string;
    bool is_empty, value;
    size_t at, count;

    (void)state;
    assert_false(dlpark__npy_literal_fail(&literal, 3, "the %s", "first"));
    assert_false(dlpark__npy_literal_fail(&literal, 1, "the second"));
    assert_false(dlpark__npy_literal_string(&literal, "x", &string));
    assert_false(dlpark__npy_literal_bool(&literal, "x", &value));
    assert_false(dlpark__npy_literal_digits(&literal, "x", &at, &count));
    assert_false(dlpark__npy_literal_open(&literal, '(', "x", &is_empty));
    assert_false(dlpark__npy_literal_more(&literal, ')'));
    assert_false(dlpark__npy_literal_expect(&literal, 'x', "x"));
    assert_false(dlpark__npy_literal_skip(&literal));
    assert_false(dlpark__npy_literal_end(&literal));
    assert_string_equal(literal.fault, "the first");
    assert_int_equal(literal.fault_at, 3);
    end(&literal);
}

static void commas_are_seen(void **state)
{
    dlpark__npy_literal literal = begin("1,2)3)", 6);
    bool is_empty;

    (void)state;
    literal.at = 1;
    assert_true(dlpark__npy_literal_more(&literal, ')'));
    assert_true(literal.has_comma);
    literal.at = 3;
    literal.has_comma = false;
    assert_false(dlpark__npy_literal_more(&literal, ')'));
    assert_false(literal.has_comma);
    assert_int_equal(literal.at, 4);
    assert_string_equal(literal.fault, "");
    end(&literal);
    literal = begin("{}{ 1", 5);
    assert_true(dlpark__npy_literal_open(&literal, '{', "x", &is_empty));
    assert_true(is_empty);
    assert_true(dlpark__npy_literal_open(&literal, '{', "x", &is_empty));
    assert_false(is_empty);
    end(&literal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_decoded),   cmocka_unit_test(long_strings_keep_their_length),
        cmocka_unit_test(strings_that_are_none), cmocka_unit_test(numbers_are_digits),
        cmocka_unit_test(words_are_truth),       cmocka_unit_test(values_are_skipped),
        cmocka_unit_test(values_nest_so_deep),   cmocka_unit_test(the_first_fault_stays),
        cmocka_unit_test(commas_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
