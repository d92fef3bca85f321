/*
 * The tokens of a spec, and what is said of one that is wrong.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "spec_parts.h"

static bool spec_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool dlpark__spec_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool spec_is_word_char(char c)
{
    return dlpark__spec_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void dlpark__spec_advance(dlpark__spec_parser *parser)
{
    const char *text = parser->source->text;
    size_t end = parser->source->length;
    size_t at = parser->at;

    while (at < end && spec_is_blank(text[at]))
        at++;
    parser->token = (dlpark__spec_token){at < end ? text + at : "", at, 0};
    if (at < end && spec_is_word_char(text[at]))
        while (at < end && spec_is_word_char(text[at]))
            at++;
    else if (at < end)
        at += end - at >= 3 && memcmp(text + at, "...", 3) == 0 ? 3 : 1;
    parser->token.length = at - parser->token.at;
    parser->at = at;
}

bool dlpark__spec_is(dlpark__spec_token token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.text, text, token.length) == 0;
}

bool dlpark__spec_accept(dlpark__spec_parser *parser, const char *text)
{
    bool there = dlpark__spec_is(parser->token, text);

    if (there)
        dlpark__spec_advance(parser);
    return there;
}

bool dlpark__spec_is_word(dlpark__spec_token token)
{
    return token.length > 0 && spec_is_word_char(*token.text);
}

bool dlpark__spec_is_name(dlpark__spec_token token)
{
    return dlpark__spec_is_word(token) && !dlpark__spec_is_digit(*token.text) && !dlpark__spec_is(token, "_");
}

dlpark_name dlpark__spec_copy(dlpark__spec_token token)
{
    dlpark_name out = {""};

    if (token.length < sizeof out.text)
        memcpy(out.text, token.text, token.length);
    return out;
}

/* ---- Failure ---- */

dlpark_status dlpark__spec_refuse(const dlpark__spec_parser *parser, dlpark__spec_token token, const char *format, ...)
{
    char message[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return dlpark_error_set(parser->err, DLPARK_E_ARGUMENT, "column %zu: %s", token.at + 1, message);
}

dlpark__spec_line dlpark__spec_quote(dlpark__spec_token token)
{
    dlpark__spec_line out;
    unsigned char first = (unsigned char)*token.text;

    if (token.length == 0)
        snprintf(out.text, sizeof out.text, "the end");
    else if (first < 0x20 || first > 0x7E)
        snprintf(out.text, sizeof out.text, "byte 0x%02X", (unsigned)first);
    else
        snprintf(out.text, sizeof out.text, "\"%s\"", dlpark__quote(token.text, token.length).text);
    return out;
}

dlpark_status dlpark__spec_refuse_token(const dlpark__spec_parser *parser, const char *expected)
{
    return dlpark__spec_refuse(parser, parser->token, "expected %s, got %s", expected,
                               dlpark__spec_quote(parser->token).text);
}

dlpark__spec_guess dlpark__spec_guess_begin(dlpark__spec_token token)
{
    return (dlpark__spec_guess){token, token.length > 3 ? 3 : 2, {""}};
}

void dlpark__spec_guess_try(dlpark__spec_guess *guess, const char *word)
{
    size_t distance = dlpark__name_distance(guess->token.text, guess->token.length, word);

    if (distance >= guess->nearest || distance >= guess->token.length)
        return;
    guess->nearest = distance;
    snprintf(guess->word.text, sizeof guess->word.text, "%s", word);
}

dlpark__spec_line dlpark__spec_guess_text(const dlpark__spec_guess *guess)
{
    dlpark__spec_line out = {""};

    if (*guess->word.text != '\0')
        snprintf(out.text, sizeof out.text, " (did you mean \"%s\"?)", guess->word.text);
    return out;
}
