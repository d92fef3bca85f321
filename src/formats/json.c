#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "../core/internal.h"
#include "json.h"
#include "swap.h"

/* ---- UTF-8 ---- */

/* Whether 64 bytes are ASCII. */
static inline bool utf8_is_ascii(const char *text)
{
#if defined(__SSE2__)
    __m128i seen = _mm_setzero_si128();
    for (size_t at = 0; at < 64; at += 16)
        seen = _mm_or_si128(seen, _mm_loadu_si128((const void *)(text + at)));
    return _mm_movemask_epi8(seen) == 0;
#else
    uint64_t seen = 0, word;
    for (size_t at = 0; at < 64; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        seen |= word;
    }
    return (seen & UINT64_C(0x8080808080808080)) == 0;
#endif
}

size_t dlpark__utf8_check(const char *text, size_t nbytes)
{
    size_t at = 0;

    while (at < nbytes) {
        while (nbytes - at >= 64 && utf8_is_ascii(text + at)) /* as most of it is */
            at += 64;
        for (size_t stop = at + 64; at < nbytes && at < stop;) {
            size_t width = (unsigned char)text[at] < 0x80 ? 1 : dlpark__utf8_width(text + at, nbytes - at);
            if (width == 0)
                return at;
            at += width;
        }
    }
    return nbytes;
}

/* ---- The cursor ---- */

void dlpark__json_begin(dlpark__json *json, char *text, size_t nbytes)
{
    json->text = text;
    json->at = 0;
    json->end = nbytes;
    json->fault_at = 0;
    json->fault[0] = '\0';
}

bool dlpark__json_fail(dlpark__json *json, size_t at, const char *format, ...)
{
    va_list arguments;

    if (json->fault[0] == '\0') {
        json->fault_at = at;
        va_start(arguments, format);
        vsnprintf(json->fault, sizeof json->fault, format, arguments);
        va_end(arguments);
    }
    json->at = json->end; /* nothing is read any more */
    return false;
}

/* What is at the cursor, for a message: "'x'", "byte 0x1F", "the end". */
typedef struct json_found {
    char text[16];
} json_found;

static json_found json_found_at(const dlpark__json *json)
{
    json_found found;
    unsigned char byte = json->at < json->end ? (unsigned char)json->text[json->at] : 0;

    if (json->at >= json->end)
        snprintf(found.text, sizeof found.text, "the end");
    else if (byte > 0x20 && byte < 0x7F)
        snprintf(found.text, sizeof found.text, "'%c'", byte);
    else
        snprintf(found.text, sizeof found.text, "byte 0x%02X", byte);
    return found;
}

static bool __attribute__((cold)) json_unexpected(dlpark__json *json, const char *what)
{
    return dlpark__json_fail(json, json->at, "%s is expected here, not %s", what, json_found_at(json).text);
}

char dlpark__json_peek(dlpark__json *json)
{
    while (json->at < json->end) {
        char byte = json->text[json->at];
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t')
            return byte;
        json->at++;
    }
    return '\0';
}

bool dlpark__json_expect(dlpark__json *json, char byte, const char *what)
{
    if (dlpark__json_peek(json) != byte)
        return json_unexpected(json, what);
    json->at++;
    return true;
}

bool dlpark__json_more(dlpark__json *json, char close)
{
    char byte = dlpark__json_peek(json);

    if (byte == ',' || byte == close) {
        json->at++;
        return byte == ',';
    }
    return json_unexpected(json, close == '}' ? "',' or '}'" : "',' or ']'");
}

bool dlpark__json_open(dlpark__json *json, char open, const char *what, bool *is_empty)
{
    if (!dlpark__json_expect(json, open, what))
        return false;
    *is_empty = dlpark__json_peek(json) == (open == '{' ? '}' : ']');
    json->at += *is_empty;
    return true;
}

bool dlpark__json_end(dlpark__json *json)
{
    if (json->fault[0] != '\0')
        return false;
    (void)dlpark__json_peek(json);
    if (json->at < json->end)
        return json_unexpected(json, "the end of the header");
    return true;
}

/* ---- Strings ---- */

/* The first byte from `at` on that a string cannot hold as it is: a quotation mark, a backslash, or a control. */
static size_t json_special(const char *text, size_t at, size_t end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;

#if defined(__SSE2__)
    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const void *)(text + at));
        __m128i special =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        special = _mm_or_si128(special, _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes));
        unsigned found = (unsigned)_mm_movemask_epi8(special);
        if (found != 0)
            return at + (size_t)__builtin_ctz(found);
    }
#endif
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, text + at, sizeof word);
        if (DLPARK__IS_BIG_ENDIAN)
            word = __builtin_bswap64(word); /* the first byte is the lowest */
        uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
        /* A lane that is 0 lends from the next, and one below 0x20 too; a byte of more than 0x7F never does. */
        uint64_t special = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word);
        special &= highs;
        if (special != 0)
            return at + (size_t)__builtin_ctzll(special) / 8;
    }
    while (at < end && text[at] != '"' && text[at] != '\\' && (unsigned char)text[at] >= 0x20)
        at++;
    return at;
}

static bool json_hex(const dlpark__json *json, size_t at, unsigned *out)
{
    unsigned value = 0;

    if (json->end - at < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        char digit = json->text[at + i];
        unsigned low = (unsigned)(digit | 0x20);
        if (digit >= '0' && digit <= '9')
            value = value << 4 | (unsigned)(digit - '0');
        else if (low >= 'a' && low <= 'f')
            value = value << 4 | (low - 'a' + 10);
        else
            return false;
    }
    *out = value;
    return true;
}

static size_t json_put_character(char *to, unsigned code)
{
    unsigned char *bytes = (unsigned char *)to;
    size_t width = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t i = width - 1; i > 0; i--, code >>= 6)
        bytes[i] = (unsigned char)(0x80 | (code & 0x3F));
    bytes[0] = (unsigned char)(leads[width] | code);
    return width;
}

/* "\u" and its digits, both of a pair; the cursor is at the backslash. 0 on a fault. */
static size_t json_unicode(dlpark__json *json, char *to)
{
    size_t at = json->at;
    unsigned code, low;

    if (!json_hex(json, at + 2, &code))
        return (size_t)dlpark__json_fail(json, at, "\\u is followed by four hexadecimal digits");
    json->at += 6;
    if (code >= 0xD800 && code < 0xE000) {
        bool is_pair = code < 0xDC00 && json->end - json->at >= 6 && json->text[json->at] == '\\' &&
                       json->text[json->at + 1] == 'u' && json_hex(json, json->at + 2, &low) && low >= 0xDC00 &&
                       low < 0xE000;
        if (!is_pair)
            return (size_t)dlpark__json_fail(json, at, "\\u%04X is half of a surrogate pair", code);
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        json->at += 6;
    }
    return json_put_character(to, code);
}

/* An escape at the cursor, decoded to `to`, which is at or before it: bytes written, 0 on a fault. */
static size_t json_escape(dlpark__json *json, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char name = json->end - json->at > 1 ? json->text[json->at + 1] : '\0';
    const char *found = name != '\0' ? strchr(names, name) : NULL;

    if (name == 'u')
        return json_unicode(json, to);
    if (found == NULL)
        return (size_t)dlpark__json_fail(json, json->at, "a backslash is followed by one of \" \\ / b f n r t u");
    *to = values[found - names];
    json->at += 2;
    return 1;
}

bool dlpark__json_string(dlpark__json *json, const char *what, dlpark__json_text *out)
{
    if (!dlpark__json_expect(json, '"', what))
        return false;
    size_t begin = json->at, used = json->at;
    for (;;) {
        size_t stop = json_special(json->text, json->at, json->end);
        if (used != json->at)
            memmove(json->text + used, json->text + json->at, stop - json->at);
        used += stop - json->at;
        json->at = stop;
        if (stop == json->end)
            return dlpark__json_fail(json, begin - 1, "the string that begins here has no end");
        if (json->text[stop] == '"')
            break;
        if (json->text[stop] != '\\')
            return dlpark__json_fail(json, stop, "a string holds the control character 0x%02X",
                                     (unsigned)(unsigned char)json->text[stop]);
        size_t width = json_escape(json, json->text + used);
        if (width == 0)
            return false;
        used += width;
    }
    json->at++;
    *out = (dlpark__json_text){json->text + begin, used - begin};
    return true;
}

bool dlpark__json_key(dlpark__json *json, dlpark__json_text *out)
{
    return dlpark__json_string(json, "a name in quotation marks", out) && dlpark__json_expect(json, ':', "':'");
}

/* ---- Numbers ---- */

static bool json_is_digit(const dlpark__json *json, size_t at)
{
    return at < json->end && json->text[at] >= '0' && json->text[at] <= '9';
}

bool dlpark__json_uint(dlpark__json *json, const char *what, uint64_t *out)
{
    uint64_t value = 0;
    size_t begin;

    (void)dlpark__json_peek(json);
    begin = json->at;
    if (!json_is_digit(json, begin))
        return json_unexpected(json, what);
    while (json_is_digit(json, json->at)) {
        uint64_t digit = (uint64_t)(json->text[json->at] - '0');
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
            return dlpark__json_fail(json, begin, "the number that begins here is not below 2^64");
        json->at++;
    }
    if (json->text[begin] == '0' && json->at - begin > 1)
        return dlpark__json_fail(json, begin, "a number begins with 0");
    if (json->at < json->end && strchr(".eE", json->text[json->at]) != NULL && json->text[json->at] != '\0')
        return dlpark__json_fail(json, begin, "%s is written with digits only", what);
    *out = value;
    return true;
}

/* Digits, at least one. */
static bool json_digits(dlpark__json *json)
{
    if (!json_is_digit(json, json->at))
        return json_unexpected(json, "a digit");
    while (json_is_digit(json, json->at))
        json->at++;
    return true;
}

/* Whether a number, of digits and at most one point, is beyond the largest double: by the power of ten of its first digit
 * that is not 0, and where that alone cannot tell, by its digits. */
static bool json_is_infinite(const char *text, size_t nbytes, int64_t exponent)
{
    static const char largest[] = "17976931348623157";
    bool past_point = false;
    int64_t first = -1; /* the power of ten of the first digit, less `exponent` */
    int order = 0;
    size_t matched = 0;

    for (size_t i = 0; i < nbytes; i++) {
        if (text[i] == '.') {
            past_point = true;
            continue;
        }
        if (matched == 0 && text[i] == '0') { /* 0.001 */
            first -= past_point;
            continue;
        }
        if (!past_point)
            first++;
        if (matched < sizeof largest - 1 && order == 0)
            order = text[i] - largest[matched];
        matched++;
    }
    first += exponent;
    return matched != 0 && (first > 308 || (first == 308 && order > 0));
}

static bool json_number(dlpark__json *json)
{
    size_t begin = json->at, digits;
    int64_t exponent = 0;
    bool down = false;

    json->at += json->text[json->at] == '-';
    digits = json->at;
    if (!json_digits(json))
        return false;
    if (json->text[digits] == '0' && json->at - digits > 1)
        return dlpark__json_fail(json, begin, "a number begins with 0");
    if (json->at < json->end && json->text[json->at] == '.') {
        json->at++;
        if (!json_digits(json))
            return false;
    }
    size_t mantissa_end = json->at;
    if (json->at < json->end && (json->text[json->at] | 0x20) == 'e') {
        json->at++;
        if (json->at < json->end && (json->text[json->at] == '+' || json->text[json->at] == '-'))
            down = json->text[json->at++] == '-';
        if (!json_is_digit(json, json->at))
            return json_unexpected(json, "a digit");
        for (; json_is_digit(json, json->at); json->at++) /* of a billion and more each is as good as any */
            exponent = exponent < 1000000000 ? exponent * 10 + (json->text[json->at] - '0') : exponent;
    }
    if (json_is_infinite(json->text + digits, mantissa_end - digits, down ? -exponent : exponent))
        return dlpark__json_fail(json, begin, "the number that begins here is beyond every double");
    return true;
}

/* ---- Values that nobody asked for ---- */

static bool json_word(dlpark__json *json)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if (json->end - json->at >= length && memcmp(json->text + json->at, words[i], length) == 0) {
            json->at += length;
            return true;
        }
    }
    return json_unexpected(json, "a value");
}

/* A value that holds no others. */
static bool json_plain(dlpark__json *json, char first)
{
    dlpark__json_text ignored;

    if (first == '"')
        return dlpark__json_string(json, "a string", &ignored);
    if (first == '-' || (first >= '0' && first <= '9'))
        return json_number(json);
    return json_word(json);
}

bool dlpark__json_skip(dlpark__json *json)
{
    char closes[DLPARK__JSON_DEPTH];
    dlpark__json_text key;
    int depth = 0;

    for (;;) {
        char first = dlpark__json_peek(json);
        bool is_empty = true;
        if (first == '{' || first == '[') {
            if (depth == DLPARK__JSON_DEPTH)
                return dlpark__json_fail(json, json->at, "values nest more than %d deep", DLPARK__JSON_DEPTH);
            closes[depth++] = first == '{' ? '}' : ']';
            (void)dlpark__json_open(json, first, "a value", &is_empty);
            depth -= is_empty;
        } else if (!json_plain(json, first)) {
            return false;
        }
        if (is_empty) { /* a value is complete: its parent goes on, or is complete too */
            while (depth > 0 && !dlpark__json_more(json, closes[depth - 1]))
                depth--;
            if (json->fault[0] != '\0')
                return false;
            if (depth == 0)
                return true;
        }
        if (closes[depth - 1] == '}' && !dlpark__json_key(json, &key))
            return false;
    }
}
