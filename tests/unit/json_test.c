#include "test.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "json.h"

/* A reader over a copy of exactly that many bytes, so that a sanitizer sees one that is read beyond. */
typedef struct fixture {
    dlpark__json json;
    char *copy;
} fixture;

static fixture fixture_of(const char *text, size_t nbytes)
{
    fixture made;

    made.copy = malloc(nbytes > 0 ? nbytes : 1);
    assert_non_null(made.copy);
    memcpy(made.copy, text, nbytes);
    dlpark__json_begin(&made.json, made.copy, nbytes);
    return made;
}

/* ---- UTF-8 ---- */

/* Bytes of the character that begins there, by decoding it and asking what it is; 0: none. */
static size_t slow_character(const unsigned char *text, size_t nbytes)
{
    unsigned lead = text[0];
    size_t width = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

    if (width == 0 || width > nbytes)
        return 0;
    uint32_t code = width == 1 ? lead : lead & (0x7Fu >> width);
    for (size_t i = 1; i < width; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        code = code << 6 | (text[i] & 0x3Fu);
    }
    return code < least[width] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : width;
}

static size_t slow_utf8(const unsigned char *text, size_t nbytes)
{
    size_t at = 0;

    while (at < nbytes) {
        size_t width = slow_character(text + at, nbytes - at);
        if (width == 0)
            break;
        at += width;
    }
    return at;
}

static void check_utf8(const unsigned char *text, size_t nbytes)
{
    size_t found = dlpark__utf8_check((const char *)text, nbytes), wanted = slow_utf8(text, nbytes);

    if (found != wanted)
        fail_msg("%02X %02X %02X %02X of %zu: %zu, not %zu", text[0], text[1], text[2], text[3], nbytes, found, wanted);
}

static void utf8_of_every_lead_and_tail(void **state)
{
    static const unsigned char tails[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};

    (void)state;
    for (unsigned lead = 0; lead < 256; lead++)
        for (unsigned second = 0; second < 256; second++)
            for (size_t third = 0; third < sizeof tails; third++)
                for (size_t fourth = 0; fourth < sizeof tails; fourth++) {
                    const unsigned char text[] = {(unsigned char)lead, (unsigned char)second, tails[third],
                                                  tails[fourth]};
                    check_utf8(text, fourth == 0 ? 3 : 4);
                }
}

static void utf8_at_every_place(void **state)
{
    static const char *const pieces[] = {
        "\x7F",
        "\xC2\x80",
        "\xDF\xBF",
        "\xE0\xA0\x80",
        "\xED\x9F\xBF",
        "\xEE\x80\x80",
        "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80",
        "\xF4\x8F\xBF\xBF", /* and what is none: */
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC2",
        "\xC2\x41",
        "\xE0\x9F\xBF",
        "\xE1\x80",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xE1\x41\x80",
        "\xF0\x8F\xBF\xBF",
        "\xF0\x90\x80",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xF8\x88\x80\x80\x80",
        "\xFE",
        "\xFF",
    };

    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (size_t before = 0; before < 135; before++) /* beyond two steps */
            for (size_t after = 0; after < 70; after += after < 3 ? 1 : 33) {
                size_t length = strlen(pieces[i]), nbytes = before + length + after;
                char text[224];
                memset(text, 'a', sizeof text);
                memcpy(text + before, pieces[i], length);
                fixture made = fixture_of(text, nbytes);
                size_t found = dlpark__utf8_check(made.copy, nbytes);
                assert_int_equal(found, slow_utf8((const unsigned char *)text, nbytes));
                assert_int_equal(found, i < 9 ? nbytes : before);
                free(made.copy);
            }
}

/* ---- Strings ---- */

/* `middle` between quotation marks: the decoded text, or why not, and where. */
static void check_string(const char *text, size_t nbytes, const char *decoded, size_t decoded_nbytes)
{
    fixture made = fixture_of(text, nbytes);
    dlpark__json_text out;

    if (!dlpark__json_string(&made.json, "a text", &out))
        fail_msg("%.*s: %s", (int)nbytes, text, made.json.fault);
    assert_int_equal(out.nbytes, decoded_nbytes);
    assert_memory_equal(out.text, decoded, decoded_nbytes);
    assert_int_equal(made.json.at, nbytes);
    assert_true(dlpark__json_end(&made.json));
    free(made.copy);
}

static void check_broken_string(const char *text, size_t nbytes, size_t at, const char *why)
{
    fixture made = fixture_of(text, nbytes);
    dlpark__json_text out;

    if (dlpark__json_string(&made.json, "a text", &out))
        fail_msg("%.*s was read", (int)nbytes, text);
    if (strstr(made.json.fault, why) == NULL || made.json.fault_at != at)
        fail_msg("%.*s: \"%s\" at %zu, not \"%s\" at %zu", (int)nbytes, text, made.json.fault, made.json.fault_at, why,
                 at);
    assert_false(dlpark__json_end(&made.json));
    free(made.copy);
}

static bool is_special(unsigned byte)
{
    return byte < 0x20 || byte == '"' || byte == '\\';
}

static void strings_of_every_length_and_a_byte_at_every_place(void **state)
{
    static const unsigned char bytes[] = {0x00, 0x01, 0x1F, 0x20, 0x21, '"',  '#',  '[',
                                          '\\', ']',  0x7F, 0x80, 0x9F, 0xA2, 0xDC, 0xFF};
    char text[64];

    (void)state;
    for (size_t length = 0; length <= 40; length++) {
        text[0] = '"';
        memset(text + 1, 'a', length);
        text[length + 1] = '"';
        check_string(text, length + 2, text + 1, length);
        check_broken_string(text, length + 1, 0, "has no end");
        for (size_t at = 0; at < length; at++)
            for (size_t i = 0; i < sizeof bytes; i++) {
                memset(text + 1, 'a', length);
                text[1 + at] = (char)bytes[i];
                if (bytes[i] == '\\')
                    check_broken_string(text, length + 2, at + 1 == length ? 0 : 1 + at,
                                        at + 1 == length ? "has no end" : "a backslash is followed by");
                else if (bytes[i] < 0x20)
                    check_broken_string(text, length + 2, 1 + at, "the control character 0x");
                else if (bytes[i] != '"')
                    check_string(text, length + 2, text + 1, length);
            }
    }
}

/* A byte lends from the next in the words that are looked at: two of them, side by side, in every place of one. */
static void bytes_side_by_side(void **state)
{
    (void)state;
    for (size_t place = 1; place < 9; place++)
        for (unsigned first = 0; first < 256; first++)
            for (unsigned second = 0; second < 256; second++) {
                char text[20] = "\"aaaaaaaaaaaaaaaaa\"";
                if (first == '\\' && second != 0 && strchr("\"\\/bfnrtu", (int)second) != NULL)
                    continue; /* an escape */
                text[place] = (char)first;
                text[place + 1] = (char)second;
                dlpark__json json;
                dlpark__json_text out;
                dlpark__json_begin(&json, text, 19);
                bool is_read = dlpark__json_string(&json, "a text", &out);
                size_t stop = is_special(first) ? place : is_special(second) ? place + 1 : 18;
                if (text[stop] == '"')
                    assert_true(is_read && out.nbytes == stop - 1 && json.at == stop + 1);
                else
                    assert_true(!is_read && json.fault_at == stop);
            }
}

static void escapes_are_decoded(void **state)
{
    static const struct {
        const char *text, *decoded;
        size_t nbytes;
    } rows[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"\\u0000\"", "\0", 1},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\\u007f\\u0080\\u07FF\\u0800\\uFFFF\"", "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF", 11},
        {"\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80", 4},
        {"\"\\uD800\\uDC00\\uDBFF\\uDFFF\"", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8},
        {"\"d\\u0074ype\"", "dtype", 5},
        {"\"0123456789abcdef\\n0123456789abcdef\\u00e4 and so on\"",
         "0123456789abcdef\n0123456789abcdef\xC3\xA4 and so on", 45},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_string(rows[i].text, strlen(rows[i].text), rows[i].decoded, rows[i].nbytes);
}

static void every_escape_of_four_digits(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 0x10000; code++) {
        char text[16], decoded[4];
        snprintf(text, sizeof text, code % 2 ? "\"\\u%04x\"" : "\"\\u%04X\"", code);
        if (code >= 0xD800 && code < 0xE000) {
            check_broken_string(text, 8, 1, "is half of a surrogate pair");
            continue;
        }
        size_t width = code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
        if (width == 1)
            decoded[0] = (char)code;
        else if (width == 2)
            memcpy(decoded, (const char[]){(char)(0xC0 | code >> 6), (char)(0x80 | (code & 0x3F))}, 2);
        else
            memcpy(decoded,
                   (const char[]){(char)(0xE0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3F)),
                                  (char)(0x80 | (code & 0x3F))},
                   3);
        check_string(text, 8, decoded, width);
    }
}

static void surrogates_come_in_pairs(void **state)
{
    (void)state;
    for (unsigned high = 0xD800; high < 0xDC00; high += 0x11)
        for (unsigned low = 0xDC00; low < 0xE000; low += 0x13) {
            char text[20], decoded[4];
            uint32_t code = 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00);
            snprintf(text, sizeof text, "\"\\u%04X\\u%04x\"", high, low);
            for (int i = 0; i < 4; i++)
                decoded[i] = (char)((i == 0 ? 0xF0u : 0x80u) | (code >> 6 * (3 - i) & (i == 0 ? 7u : 0x3Fu)));
            check_string(text, 14, decoded, 4);
        }
    static const char *const halves[] = {"\"\\uD800\"",         "\"\\uD800x\"",       "\"\\uDC00\\uD800\"",
                                         "\"\\uD800\\uD800\"",  "\"\\uD800\\u0041\"", "\"\\uD800\\uE000\"",
                                         "\"\\uD800\\n00000\"", "\"\\uD800xu00000\"", "\"\\uD800\\uDC0x\"",
                                         "\"\\uD800\\uDC0",     "\"\\uD800\\uDC"};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        check_broken_string(halves[i], strlen(halves[i]), 1, "is half of a surrogate pair");
}

static void broken_escapes(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[] = "\"ab\\_cd\"";
        text[4] = (char)byte;
        if (byte == 'u')
            check_broken_string(text, 8, 3, "four hexadecimal digits");
        else if (byte == 0 || strchr("\"\\/bfnrt", (int)byte) == NULL)
            check_broken_string(text, 8, 3, "a backslash is followed by one of");
    }
    check_broken_string("\"ab\\", 4, 3, "a backslash is followed by one of");
    for (size_t place = 0; place < 4; place++)
        for (const char *wrong = "/:@G`g \"\\"; *wrong != '\0'; wrong++) {
            char text[] = "\"ab\\u00aA\"";
            text[5 + place] = *wrong;
            check_broken_string(text, 10, 3, "four hexadecimal digits");
        }
    for (size_t nbytes = 5; nbytes < 9; nbytes++)
        check_broken_string("\"ab\\u00aA\"", nbytes, 3, "four hexadecimal digits");
    check_broken_string("x", 1, 0, "a text is expected here, not 'x'");
    check_broken_string("", 0, 0, "a text is expected here, not the end");
}

/* ---- Numbers ---- */

static void whole_numbers(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
        size_t nbytes;
    } good[] = {{"0", 0, 1},
                {"7", 7, 1},
                {" \t\r\n10,", 10, 6},
                {"9223372036854775808", UINT64_C(9223372036854775808), 19},
                {"18446744073709551615", UINT64_MAX, 20},
                {"7\0", 7, 1}};
    static const char *const bad[][2] = {
        {"18446744073709551616", "not below 2^64"},
        {"18446744073709551620", "not below 2^64"},
        {"99999999999999999999", "not below 2^64"},
        {"1000000000000000000000000000000", "not below 2^64"},
        {"00", "begins with 0"},
        {"01", "begins with 0"},
        {"-0", "an extent is expected here, not '-'"},
        {"+1", "an extent is expected here, not '+'"},
        {"", "an extent is expected here, not the end"},
        {"\x1F", "an extent is expected here, not byte 0x1F"},
        {"\x7F", "an extent is expected here, not byte 0x7F"},
        {"/", "not '/'"},
        {":", "not ':'"},
        {"1.0", "an extent is written with digits only"},
        {"1e0", "an extent is written with digits only"},
        {"2E0", "an extent is written with digits only"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        fixture made = fixture_of(good[i].text, good[i].text[0] == '7' && i == 5 ? 2 : strlen(good[i].text));
        uint64_t value = 0;
        assert_true(dlpark__json_uint(&made.json, "an extent", &value));
        assert_true(value == good[i].value && made.json.at == good[i].nbytes);
        free(made.copy);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fixture made = fixture_of(bad[i][0], strlen(bad[i][0]));
        uint64_t value = 42;
        assert_false(dlpark__json_uint(&made.json, "an extent", &value));
        if (strstr(made.json.fault, bad[i][1]) == NULL)
            fail_msg("%s: %s", bad[i][0], made.json.fault);
        assert_true(value == 42 && made.json.fault_at == 0 && made.json.at == made.json.end);
        free(made.copy);
    }
}

/* Whether a value is skipped, all of it; else why not, in `fault`. */
static bool is_skipped(const char *text, size_t nbytes, char fault[160])
{
    fixture made = fixture_of(text, nbytes);
    bool is_read = dlpark__json_skip(&made.json) && dlpark__json_end(&made.json);

    assert_int_equal(is_read, made.json.fault[0] == '\0');
    memcpy(fault, made.json.fault, 160);
    free(made.copy);
    return is_read;
}

static void assert_skipped(const char *text)
{
    char fault[160];

    if (!is_skipped(text, strlen(text), fault))
        fail_msg("%s: %s", text, fault);
}

static void assert_not_skipped(const char *text, const char *why)
{
    char fault[160];

    if (is_skipped(text, strlen(text), fault))
        fail_msg("%s was read", text);
    if (strstr(fault, why) == NULL)
        fail_msg("%s: \"%s\", not \"%s\"", text, fault, why);
}

static void numbers_of_every_form(void **state)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "0.0",
                                       "-0.0e0",
                                       "1e5",
                                       "1E+5",
                                       "1e-5",
                                       "10.25E-2",
                                       "1234567890",
                                       "123456789012345678901234567890",
                                       "0e99999999999999999999",
                                       "-1e-99999999999999999999",
                                       "0.0e+999999999999"};
    static const char *const bad[][2] = {
        {"-", "a digit is expected here, not the end"},
        {"-x", "a digit is expected here, not 'x'"},
        {"01", "a number begins with 0"},
        {"-00", "a number begins with 0"},
        {"1.", "a digit is expected here, not the end"},
        {"1.e5", "a digit is expected here, not 'e'"},
        {"1e", "a digit is expected here, not the end"},
        {"1e+", "a digit is expected here, not the end"},
        {"1e-x", "a digit is expected here, not 'x'"},
        {"+1", "a value is expected here, not '+'"},
        {".5", "a value is expected here, not '.'"},
        {"1.5.", "the end of the header is expected here, not '.'"},
        {"0x1", "the end of the header is expected here, not 'x'"},
        {"1e99999999999999999999", "beyond every double"},
        {"NaN", "a value is expected here, not 'N'"},
        {"Infinity", "a value is expected here, not 'I'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_skipped(good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_not_skipped(bad[i][0], bad[i][1]);
}

static void numbers_at_the_largest_double(void **state)
{
    char text[1200];

    (void)state;
    assert_skipped("1.7976931348623157e308");
    assert_skipped("-1.7976931348623157e308");
    assert_skipped("17976931348623157e292");
    assert_skipped("0.00017976931348623157e312");
    assert_skipped("1.79769313486231570000000000000001e+308");
    assert_skipped("9.99e307");
    assert_skipped("1.6e308");
    assert_not_skipped("1.7976931348623159e308", "beyond every double");
    assert_not_skipped("1.8e308", "beyond every double");
    assert_not_skipped("2e308", "beyond every double");
    assert_not_skipped("-2e308", "beyond every double");
    assert_not_skipped("1e309", "beyond every double");
    assert_not_skipped("1e999", "beyond every double");
    assert_not_skipped("0.0018e311", "beyond every double");
    for (int zeros = 280; zeros < 320; zeros++) { /* 1000000... */
        text[0] = '1';
        memset(text + 1, '0', (size_t)zeros);
        text[zeros + 1] = '\0';
        if (zeros <= 308)
            assert_skipped(text);
        else
            assert_not_skipped(text, "beyond every double");
    }
    for (int exponent = 700; exponent < 720; exponent++) { /* 0.000...1e7xx */
        memset(text, '0', 402);
        text[1] = '.';
        snprintf(text + 402, sizeof text - 402, "1e%d", exponent);
        if (exponent <= 401 + 308)
            assert_skipped(text);
        else
            assert_not_skipped(text, "beyond every double");
    }
}

/* Against strtod(), which rounds; what rounds down to the largest double may be refused. */
static void numbers_as_strtod_has_them(void **state)
{
    uint64_t seed = 88172645463325252u;

    (void)state;
    for (int round = 0; round < 40000; round++) {
        char text[80], fault[160];
        size_t used = 0;
        unsigned picks[24];
        for (size_t i = 0; i < sizeof picks / sizeof *picks; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            picks[i] = (unsigned)(seed >> 33);
        }
        unsigned before = 1 + picks[0] % 10, after = picks[1] % 10;
        for (unsigned i = 0; i < before; i++)
            text[used++] =
                (char)('0' + (i == 0 ? picks[2] % 3 == 0 && before == 1 ? 0 : 1 + picks[2] % 9 : picks[2 + i] % 10));
        if (after > 0)
            text[used++] = '.';
        for (unsigned i = 0; i < after; i++)
            text[used++] = (char)('0' + (picks[23] % 2 ? 0 : picks[12 + i] % 10));
        snprintf(text + used, sizeof text - used, "e%d", 290 + (int)(picks[22] % 30));
        double value = strtod(text, NULL);
        bool is_read = is_skipped(text, strlen(text), fault);
        if (isinf(value) ? is_read : !is_read && value < DBL_MAX)
            fail_msg("%s: %s", text, is_read ? "read" : fault);
    }
}

/* ---- Values ---- */

static void values_of_every_kind(void **state)
{
    static const char *const good[] = {
        "true",
        "false",
        "null",
        "\"\"",
        "{}",
        "[]",
        " [ ] ",
        "{ }",
        "[[]]",
        "[{}]",
        "[[],[]]",
        "[1,2,3]",
        "{\"a\":1}",
        "{\"a\":[1,{\"b\":[]},2],\"c\":null}",
        "[true,false,null,\"x\",-1.5e-3]",
        "{\"a\":{},\"a\":{}}",
    };
    static const char *const bad[][2] = {
        {"", "a value is expected here, not the end"},
        {"tru", "a value is expected here, not 't'"},
        {"nul]", "a value is expected here, not 'n'"},
        {"True", "a value is expected here, not 'T'"},
        {"[", "a value is expected here, not the end"},
        {"[1", "',' or ']' is expected here, not the end"},
        {"[1}", "',' or ']' is expected here, not '}'"},
        {"[1 2]", "',' or ']' is expected here, not '2'"},
        {"[1,]", "a value is expected here, not ']'"},
        {"[,1]", "a value is expected here, not ','"},
        {"{", "a name in quotation marks is expected here, not the end"},
        {"{1:2}", "a name in quotation marks is expected here, not '1'"},
        {"{\"a\"}", "':' is expected here, not '}'"},
        {"{\"a\":}", "a value is expected here, not '}'"},
        {"{\"a\":1]", "',' or '}' is expected here, not ']'"},
        {"{\"a\":1,}", "a name in quotation marks is expected here, not '}'"},
        {"{\"a\":1,,}", "a name in quotation marks is expected here, not ','"},
        {"[\"x]", "the string that begins here has no end"},
        {"[1]]", "the end of the header is expected here, not ']'"},
        {"// no", "a value is expected here, not '/'"},
        {"'x'", "a value is expected here, not '''"},
        {"[\"\\x\"]", "a backslash is followed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_skipped(good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_not_skipped(bad[i][0], bad[i][1]);
}

static void values_nest_64_deep(void **state)
{
    (void)state;
    for (int depth = 1; depth < 70; depth++)
        for (int kind = 0; kind < 4; kind++) {
            char text[1024];
            size_t used = 0;
            for (int i = 0; i < depth; i++)
                used +=
                    (size_t)snprintf(text + used, sizeof text - used, (kind + i * (kind > 1)) % 2 ? "{\"k\":" : "[");
            used += (size_t)snprintf(text + used, sizeof text - used, "0");
            for (int i = depth - 1; i >= 0; i--)
                text[used++] = (kind + i * (kind > 1)) % 2 ? '}' : ']';
            text[used] = '\0';
            if (depth <= DLPARK__JSON_DEPTH)
                assert_skipped(text);
            else
                assert_not_skipped(text, "values nest more than 64 deep");
        }
    size_t many = 1000000;
    char *text = malloc(many), fault[160];
    assert_non_null(text);
    memset(text, '[', many);
    assert_false(is_skipped(text, many, fault));
    free(text);
}

/* ---- The cursor ---- */

static void first_fault_stays_and_ends_all(void **state)
{
    char text[] = "{\"a\":[1], \"b\":2}";
    dlpark__json json;
    dlpark__json_text key;
    bool is_empty;
    uint64_t value;

    (void)state;
    dlpark__json_begin(&json, text, sizeof text - 1);
    assert_true(dlpark__json_open(&json, '{', "a map", &is_empty) && !is_empty);
    assert_true(dlpark__json_key(&json, &key) && key.nbytes == 1 && key.text[0] == 'a');
    assert_true(dlpark__json_open(&json, '[', "a list", &is_empty) && !is_empty);
    assert_true(dlpark__json_uint(&json, "a number", &value) && value == 1);
    assert_false(dlpark__json_more(&json, ']'));
    assert_int_equal(json.fault[0], '\0');
    assert_true(dlpark__json_more(&json, '}'));
    assert_int_equal(dlpark__json_peek(&json), '"');
    assert_int_equal(json.at, 10);
    assert_false(dlpark__json_fail(&json, 3, "number %d", 7));
    assert_string_equal(json.fault, "number 7");
    assert_false(dlpark__json_key(&json, &key));
    assert_false(dlpark__json_open(&json, '{', "a map", &is_empty));
    assert_false(dlpark__json_expect(&json, 'x', "x"));
    assert_false(dlpark__json_uint(&json, "a number", &value));
    assert_false(dlpark__json_more(&json, '}'));
    assert_false(dlpark__json_skip(&json));
    assert_false(dlpark__json_end(&json));
    assert_int_equal(dlpark__json_peek(&json), '\0');
    assert_string_equal(json.fault, "number 7");
    assert_int_equal(json.fault_at, 3);
}

static void white_space_is_what_json_says(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[] = "_{_}_", fault[160];
        text[0] = text[2] = text[4] = (char)byte;
        assert_int_equal(is_skipped(text, 5, fault), byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_of_every_lead_and_tail),
        cmocka_unit_test(utf8_at_every_place),
        cmocka_unit_test(strings_of_every_length_and_a_byte_at_every_place),
        cmocka_unit_test(bytes_side_by_side),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(every_escape_of_four_digits),
        cmocka_unit_test(surrogates_come_in_pairs),
        cmocka_unit_test(broken_escapes),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(numbers_of_every_form),
        cmocka_unit_test(numbers_at_the_largest_double),
        cmocka_unit_test(numbers_as_strtod_has_them),
        cmocka_unit_test(values_of_every_kind),
        cmocka_unit_test(values_nest_64_deep),
        cmocka_unit_test(first_fault_stays_and_ends_all),
        cmocka_unit_test(white_space_is_what_json_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
