/*
 * The tokens of a signature, and what is said of one that is wrong.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "signature_parts.h"

static bool signature_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool signature_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool signature_is_word_char(char c)
{
    return signature_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void dlpark__signature_advance(dlpark__signature_parser *parser)
{
    const char *text = parser->text; /* ends with a zero, which is none of the bytes that are looked for */
    size_t at = parser->at;

    while (signature_is_blank(text[at]))
        at++;
    parser->token = (dlpark__signature_token){text + at, at, 0};
    if (signature_is_word_char(text[at]))
        while (signature_is_word_char(text[at]))
            at++;
    else if (at < parser->length)
        at += text[at] == '-' && text[at + 1] == '>' ? 2 : 1;
    parser->token.length = at - parser->token.at;
    parser->at = at;
}

bool dlpark__signature_is(dlpark__signature_token token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.text, text, token.length) == 0;
}

bool dlpark__signature_accept(dlpark__signature_parser *parser, const char *text)
{
    bool there = dlpark__signature_is(parser->token, text);

    if (there)
        dlpark__signature_advance(parser);
    return there;
}

bool dlpark__signature_is_name(dlpark__signature_token token)
{
    return signature_is_word_char(*token.text) && !signature_is_digit(*token.text) && !dlpark__signature_is(token, "_");
}

bool dlpark__signature_is_reserved(dlpark__signature_token token)
{
    static const char *const words[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (dlpark__signature_is(token, words[i]))
            return true;
    return false;
}

/* ---- Failure ---- */

dlpark_status dlpark__signature_refuse(const dlpark__signature_parser *parser, dlpark__signature_token token,
                                       const char *format, ...)
{
    char message[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return dlpark_error_set(parser->err, DLPARK_E_ARGUMENT, "column %zu: %s", token.at + 1, message);
}

dlpark_status dlpark__signature_refuse_token(const dlpark__signature_parser *parser, const char *expected)
{
    enum { MOST = 60 };
    dlpark__signature_token token = parser->token;
    unsigned char first = (unsigned char)*token.text;

    if (token.length == 0)
        return dlpark__signature_refuse(parser, token, "expected %s, got the end", expected);
    if (first < 0x20 || first > 0x7E)
        return dlpark__signature_refuse(parser, token, "expected %s, got byte 0x%02X", expected, (unsigned)first);
    if (token.length > MOST)
        return dlpark__signature_refuse(parser, token, "expected %s, got \"%.*s...\"", expected, MOST - 3, token.text);
    return dlpark__signature_refuse(parser, token, "expected %s, got \"%.*s\"", expected, (int)token.length,
                                    token.text);
}
