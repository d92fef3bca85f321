#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "npy_literal.h"

/* ---- The cursor ---- */

bool dlpark__npy_literal_fail(dlpark__npy_literal *literal, size_t at, const char *format, ...)
{
    va_list arguments;

    if (literal->fault[0] == '\0') {
        literal->fault_at = at;
        va_start(arguments, format);
        vsnprintf(literal->fault, sizeof literal->fault, format, arguments);
        va_end(arguments);
    }
    literal->at = literal->end; /* nothing is read any more */
    return false;
}

static bool __attribute__((cold)) npy_literal_unexpected(dlpark__npy_literal *literal, const char *what)
{
    unsigned char byte = literal->at < literal->end ? (unsigned char)literal->text[literal->at] : 0;

    if (literal->at >= literal->end)
        return dlpark__npy_literal_fail(literal, literal->at, "%s is expected here, not the end", what);
    if (byte > 0x20 && byte < 0x7F)
        return dlpark__npy_literal_fail(literal, literal->at, "%s is expected here, not '%c'", what, byte);
    return dlpark__npy_literal_fail(literal, literal->at, "%s is expected here, not byte 0x%02X", what, byte);
}

char dlpark__npy_literal_peek(dlpark__npy_literal *literal)
{
    while (literal->at < literal->end) {
        char byte = literal->text[literal->at];
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t' && byte != '\f')
            return byte;
        literal->at++;
    }
    return '\0';
}

bool dlpark__npy_literal_expect(dlpark__npy_literal *literal, char byte, const char *what)
{
    if (dlpark__npy_literal_peek(literal) != byte)
        return npy_literal_unexpected(literal, what);
    literal->at++;
    return true;
}

static char npy_literal_close_of(char open)
{
    return open == '(' ? ')' : open == '[' ? ']' : '}';
}

bool dlpark__npy_literal_open(dlpark__npy_literal *literal, char open, const char *what, bool *is_empty)
{
    if (!dlpark__npy_literal_expect(literal, open, what))
        return false;
    *is_empty = dlpark__npy_literal_peek(literal) == npy_literal_close_of(open);
    literal->at += *is_empty;
    return true;
}

bool dlpark__npy_literal_more(dlpark__npy_literal *literal, char close)
{
    char byte = dlpark__npy_literal_peek(literal);
    const char what[] = {'\'', ',', '\'', ' ', 'o', 'r', ' ', '\'', close, '\'', '\0'};

    if (byte == ',') {
        literal->at++;
        literal->has_comma = true;
        byte = dlpark__npy_literal_peek(literal);
        if (byte != close)
            return true;
    }
    if (byte != close)
        return npy_literal_unexpected(literal, what);
    literal->at++;
    return false;
}

bool dlpark__npy_literal_end(dlpark__npy_literal *literal)
{
    if (literal->fault[0] != '\0')
        return false;
    (void)dlpark__npy_literal_peek(literal);
    if (literal->at < literal->end)
        return npy_literal_unexpected(literal, "the end of the header");
    return true;
}

/* ---- Strings ---- */

static void npy_literal_put(dlpark__npy_string *out, char byte)
{
    if (out->nbytes < sizeof out->text)
        out->text[out->nbytes] = byte;
    out->nbytes++;
}

/* Digits of an escape, at most `most`: how many there are. */
static size_t npy_literal_number(const dlpark__npy_literal *literal, size_t at, unsigned base, size_t most,
                                 unsigned long *out)
{
    size_t count = 0;

    *out = 0;
    for (; count < most && at + count < literal->end; count++) {
        char digit = literal->text[at + count];
        unsigned low = (unsigned)(unsigned char)digit | 0x20, value = 16;
        if (digit >= '0' && digit <= '9')
            value = (unsigned)(digit - '0');
        else if (low >= 'a' && low <= 'f')
            value = low - 'a' + 10;
        if (value >= base)
            break;
        *out = *out * base + value;
    }
    return count;
}

/* An escape by number; the cursor is behind the backslash. */
static bool npy_literal_code(dlpark__npy_literal *literal, char kind, dlpark__npy_string *out)
{
    bool is_octal = kind <= '7'; /* else x, u or U */
    size_t wanted = is_octal ? 3 : kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
    unsigned long code;
    size_t count = npy_literal_number(literal, literal->at + !is_octal, is_octal ? 8 : 16, wanted, &code);

    if (!is_octal && (count < wanted || code > 0x10FFFF))
        return dlpark__npy_literal_fail(literal, literal->at - 1, "\\%c is not followed by %d hexadecimal digits", kind,
                                        (int)wanted);
    literal->at += count + !is_octal;
    npy_literal_put(out, (char)(code < 0x80 ? code : '?'));
    return true;
}

/* An escape; the cursor is at the backslash, and not at the end behind it. */
static bool npy_literal_escape(dlpark__npy_literal *literal, dlpark__npy_string *out)
{
    static const char names[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    char name = literal->text[++literal->at];
    const char *found = name != '\0' ? strchr(names, name) : NULL;

    if (found != NULL) {
        npy_literal_put(out, values[found - names]);
        literal->at++;
        return true;
    }
    if ((name >= '0' && name <= '7') || name == 'x' || name == 'u' || name == 'U')
        return npy_literal_code(literal, name, out);
    return dlpark__npy_literal_fail(literal, literal->at - 1, "a backslash begins no escape");
}

bool dlpark__npy_literal_string(dlpark__npy_literal *literal, const char *what, dlpark__npy_string *out)
{
    char quote = dlpark__npy_literal_peek(literal);
    size_t begin = literal->at;

    out->nbytes = 0;
    if (quote != '\'' && quote != '"')
        return npy_literal_unexpected(literal, what);
    literal->at++;
    while (literal->at < literal->end && literal->text[literal->at] != quote) {
        char byte = literal->text[literal->at];
        if (byte == '\\' && literal->end - literal->at > 1) {
            if (!npy_literal_escape(literal, out))
                return false;
            continue;
        }
        if (byte == '\0' || byte == '\n' || byte == '\r')
            return dlpark__npy_literal_fail(literal, literal->at, "a string holds the byte 0x%02X", (unsigned)byte);
        npy_literal_put(out, byte);
        literal->at++;
    }
    if (literal->at == literal->end)
        return dlpark__npy_literal_fail(literal, begin, "the string that begins here has no end");
    literal->at++;
    return true;
}

/* ---- Words and numbers ---- */

/* One of some words, none of which begins as another does: its number; -1 where it is none of them. */
static int npy_literal_word(dlpark__npy_literal *literal, const char *const *words, int count)
{
    (void)dlpark__npy_literal_peek(literal);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        if (literal->end - literal->at >= length && memcmp(literal->text + literal->at, words[i], length) == 0) {
            literal->at += length;
            return i;
        }
    }
    return -1;
}

bool dlpark__npy_literal_bool(dlpark__npy_literal *literal, const char *what, bool *out)
{
    static const char *const words[] = {"False", "True"};
    int word = npy_literal_word(literal, words, 2);

    if (word < 0)
        return npy_literal_unexpected(literal, what);
    *out = word == 1;
    return true;
}

bool dlpark__npy_literal_digits(dlpark__npy_literal *literal, const char *what, size_t *begin, size_t *count)
{
    (void)dlpark__npy_literal_peek(literal);
    size_t at = literal->at;
    while (literal->at < literal->end && literal->text[literal->at] >= '0' && literal->text[literal->at] <= '9')
        literal->at++;
    *begin = at;
    *count = literal->at - at;
    if (*count == 0)
        return npy_literal_unexpected(literal, what);
    if (*count > 1 && literal->text[at] == '0')
        return dlpark__npy_literal_fail(literal, at, "a number begins with 0");
    if (literal->has_longs && literal->at < literal->end && literal->text[literal->at] == 'L')
        literal->at++;
    return true;
}

/* ---- Values that nobody asked for ---- */

/* A value that holds no others. */
static bool npy_literal_plain(dlpark__npy_literal *literal, char first)
{
    static const char *const words[] = {"False", "True", "None"};
    dlpark__npy_string ignored;
    size_t begin, count;

    if (first == '\'' || first == '"')
        return dlpark__npy_literal_string(literal, "a string", &ignored);
    if (npy_literal_word(literal, words, 3) >= 0)
        return true;
    literal->at += first == '-';
    return dlpark__npy_literal_digits(literal, "a value", &begin, &count);
}

bool dlpark__npy_literal_skip(dlpark__npy_literal *literal)
{
    char closes[DLPARK__NPY_DEPTH];
    int depth = 0;

    for (;;) {
        char first = dlpark__npy_literal_peek(literal);
        bool is_empty = true;
        if (first == '(' || first == '[') {
            if (depth == DLPARK__NPY_DEPTH)
                return dlpark__npy_literal_fail(literal, literal->at, "values nest more than %d deep",
                                                DLPARK__NPY_DEPTH);
            closes[depth++] = npy_literal_close_of(first);
            (void)dlpark__npy_literal_open(literal, first, "a value", &is_empty);
            depth -= is_empty;
        } else if (!npy_literal_plain(literal, first)) {
            return false;
        }
        if (is_empty) { /* a value is complete: what holds it goes on, or is complete too */
            while (depth > 0 && !dlpark__npy_literal_more(literal, closes[depth - 1]))
                depth--;
            if (literal->fault[0] != '\0')
                return false;
            if (depth == 0)
                return true;
        }
    }
}
