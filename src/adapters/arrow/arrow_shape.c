/*
 * The metadata of arrow.fixed_shape_tensor, a JSON object: {"shape": [3, 4], "permutation": [1, 0], "dim_names": [...]}.
 * Its two lists of integers are read, whatever else is there is passed over.
 */
#include <string.h>

#include "arrow_parts.h"

/* Digits of an int64_t, a comma, and a little. */
#define ARROW_NUMBER_NBYTES 24

typedef struct arrow_reader {
    const char *at;
    const char *end;
} arrow_reader;

/* The next character that is no blank, without taking it; 0 at the end. */
static char arrow_peek(arrow_reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r' || *reader->at == '\n'))
        reader->at++;
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool arrow_take(arrow_reader *reader, char expected)
{
    if (arrow_peek(reader) != expected)
        return false;
    reader->at++;
    return true;
}

/* A string, without its quotes; escapes stay as they are, since no key of ours has one. */
static bool arrow_take_string(arrow_reader *reader, arrow_text *out)
{
    if (!arrow_take(reader, '"'))
        return false;
    out->bytes = reader->at;
    while (reader->at < reader->end && *reader->at != '"')
        reader->at += *reader->at == '\\' && reader->end - reader->at > 1 ? 2 : 1;
    out->nbytes = (int32_t)(reader->at - out->bytes);
    return arrow_take(reader, '"');
}

/* One digit after the other; a value of 19 digits or more is none that a size can have. */
static bool arrow_take_extent(arrow_reader *reader, int64_t *out)
{
    int digits = 0;

    for (*out = 0; arrow_peek(reader) >= '0' && *reader->at <= '9'; digits++) {
        if (digits == 18)
            return false;
        *out = 10 * *out + (*reader->at++ - '0');
        if (reader->at == reader->end || *reader->at < '0' || *reader->at > '9')
            return true;
    }
    return false;
}

static bool arrow_take_list(arrow_reader *reader, int64_t *values, int32_t *count)
{
    *count = 0;
    if (!arrow_take(reader, '['))
        return false;
    if (arrow_take(reader, ']'))
        return true;
    do {
        if (*count == DLPARK_MAX_NDIM || !arrow_take_extent(reader, &values[*count]))
            return false;
        ++*count;
    } while (arrow_take(reader, ','));
    return arrow_take(reader, ']');
}

/* Past a value of any kind: as far as a comma or a bracket that closes what is around it. */
static bool arrow_pass_value(arrow_reader *reader)
{
    arrow_text ignored;
    int64_t depth = 0;

    for (;;) {
        char next = arrow_peek(reader);
        if (next == '\0')
            return false;
        if (depth == 0 && (next == ',' || next == '}'))
            return true;
        if (next == '"') {
            if (!arrow_take_string(reader, &ignored))
                return false;
            continue;
        }
        depth += (next == '[' || next == '{') - (next == ']' || next == '}');
        reader->at++;
    }
}

/* Whether each number from 0 to ndim - 1 is there once. */
static bool arrow_is_permutation(const arrow_shape *shape)
{
    uint64_t seen = 0;

    for (int32_t i = 0; i < shape->permutation_ndim; i++) {
        int64_t at = shape->permutation[i];
        if (at >= shape->ndim || seen >> at & 1)
            return false;
        seen |= UINT64_C(1) << at;
    }
    return shape->permutation_ndim == shape->ndim;
}

static bool arrow_shape_take(arrow_reader *reader, arrow_shape *out)
{
    arrow_text key;
    bool has_shape = false;

    out->permutation_ndim = 0;
    if (!arrow_take(reader, '{') || arrow_peek(reader) == '}')
        return false;
    do {
        if (!arrow_take_string(reader, &key) || !arrow_take(reader, ':'))
            return false;
        bool is_list = arrow_peek(reader) == '[', is_shape = dlpark__arrow_text_is(key, ARROW_TEXT("shape"));
        bool read = is_shape ? arrow_take_list(reader, out->shape, &out->ndim)
                    : is_list && dlpark__arrow_text_is(key, ARROW_TEXT("permutation"))
                        ? arrow_take_list(reader, out->permutation, &out->permutation_ndim)
                        : arrow_pass_value(reader);
        if (!read)
            return false;
        has_shape |= is_shape;
    } while (arrow_take(reader, ','));
    return arrow_take(reader, '}') && has_shape && (out->permutation_ndim == 0 || arrow_is_permutation(out));
}

dlpark_status dlpark__arrow_shape_read(arrow_text text, arrow_shape *out, dlpark_error *err)
{
    arrow_reader reader = {text.bytes, text.bytes ? text.bytes + text.nbytes : NULL};

    if (text.bytes && arrow_shape_take(&reader, out))
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the metadata of " ARROW_TENSOR " do not say its shape: %.*s",
                            text.nbytes < 160 ? text.nbytes : 160, text.bytes ? text.bytes : "");
}

size_t dlpark__arrow_shape_nbytes(int32_t ndim)
{
    return 2 * (size_t)ndim * ARROW_NUMBER_NBYTES + sizeof "{\"shape\":[],\"permutation\":[]}";
}

char *dlpark__arrow_write_number(int64_t number, char *out)
{
    char digits[ARROW_NUMBER_NBYTES];
    size_t count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *out++ = digits[--count];
    return out;
}

static char *arrow_write_list(const int64_t *values, int32_t count, char *out)
{
    for (int32_t i = 0; i < count; i++) {
        if (i > 0)
            *out++ = ',';
        out = dlpark__arrow_write_number(values[i], out);
    }
    return out;
}

size_t dlpark__arrow_shape_write(const arrow_shape *shape, char *out)
{
    static const char first[] = "{\"shape\":[", second[] = "],\"permutation\":[", last[] = "]}";
    char *at = out;

    memcpy(at, first, sizeof first - 1);
    at = arrow_write_list(shape->shape, shape->ndim, at + sizeof first - 1);
    if (shape->permutation_ndim) {
        memcpy(at, second, sizeof second - 1);
        at = arrow_write_list(shape->permutation, shape->permutation_ndim, at + sizeof second - 1);
    }
    memcpy(at, last, sizeof last);
    return (size_t)(at - out) + sizeof last - 1;
}
