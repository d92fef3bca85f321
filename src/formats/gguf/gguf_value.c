/*
 * The pairs of a GGUF header: a key, and a value of one of thirteen types. What the index keeps of a value is a text:
 * numbers and truth values as they are written, strings as they are, a short array as JSON, and of a long one what it has.
 */
#include <stdio.h>
#include <string.h>

#include "../../core/internal.h"
#include "../../core/text/text_parts.h"
#include "../json.h"
#include "gguf_parts.h"

/* Of more items an array's text says only how many there are: tokens of a vocabulary. */
#define GGUF_ITEMS_SHOWN 256
/* A string of more bytes is nothing to look at, and escaped it takes six times as many. */
#define GGUF_NBYTES_SHOWN ((uint32_t)65536)

/* In the order of their numbers in the file. */
enum { GGUF_I8 = 1, GGUF_I16 = 3, GGUF_I32 = 5, GGUF_F32, GGUF_BOOL, GGUF_I64 = 11, GGUF_F64, GGUF_KINDS };

/* `nbytes` is the least that a value takes: a string has a length. */
static const struct gguf_kind {
    const char *name;
    uint8_t nbytes;
} gguf_kinds[GGUF_KINDS] = {{"u8", 1},   {"i8", 1},  {"u16", 2},  {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
                            {"bool", 1}, {"str", 8}, {"arr", 12}, {"u64", 8}, {"i64", 8}, {"f64", 8}};

/* ---- One value ---- */

static void gguf_value_float(uint64_t bits, uint64_t kind, char *text, size_t nbytes)
{
    dlpark_scalar scalar = {.kind = DLPARK_SCALAR_FLOAT, .is_exact = true};
    uint32_t low = (uint32_t)bits;
    float single;
    dlpark__sink sink;

    memcpy(&single, &low, sizeof single);
    memcpy(&scalar.re, &bits, sizeof scalar.re);
    if (kind == GGUF_F32)
        scalar.re = (double)single;
    dlpark__sink_begin(&sink, text, nbytes);
    dlpark__scalar_write(&scalar, kind == GGUF_F32 ? DLPARK_F32 : DLPARK_F64, &sink);
    (void)dlpark__sink_end(&sink);
}

/* A number or a truth value onto the end of the text. */
static bool gguf_value_put(dlpark__gguf_reader *reader, uint64_t kind, uint64_t bits)
{
    char text[48];

    if (kind == GGUF_F32 || kind == GGUF_F64)
        gguf_value_float(bits, kind, text, sizeof text);
    else if (kind == GGUF_BOOL)
        snprintf(text, sizeof text, "%s", bits != 0 ? "true" : "false");
    else if (kind == GGUF_I8 || kind == GGUF_I16 || kind == GGUF_I32 || kind == GGUF_I64) {
        uint64_t sign = UINT64_C(1) << (8 * gguf_kinds[kind].nbytes - 1);
        snprintf(text, sizeof text, "%lld", (long long)((bits ^ sign) - sign));
    } else {
        snprintf(text, sizeof text, "%llu", (unsigned long long)bits);
    }
    return dlpark__gguf_put(reader, text, strlen(text));
}

/* Whether a truth value is one: anything but 0 and 1 is invalid by the specification. */
static bool gguf_value_is_bool(dlpark__gguf_reader *reader, uint64_t bits, bool *goes_on)
{
    *goes_on = true;
    if (bits <= 1)
        return true;
    *goes_on = DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "bool", dlpark__gguf_at(reader) - 1,
                                  "byte %u is neither 0 (false) nor 1 (true)", (unsigned)bits);
    return false;
}

static bool gguf_value_scalar(dlpark__gguf_reader *reader, uint64_t kind, uint64_t *bits)
{
    bool goes_on;

    if (!dlpark__gguf_take(reader, gguf_kinds[kind].nbytes, "a value", bits))
        return false;
    if (kind == GGUF_BOOL && !gguf_value_is_bool(reader, *bits, &goes_on) && !goes_on)
        return false;
    return gguf_value_put(reader, kind, *bits);
}

static bool gguf_value_string(dlpark__gguf_reader *reader)
{
    dlpark__span_text span;
    bool goes_on;

    if (!dlpark__gguf_text(reader, "a value", &span))
        return false;
    return dlpark__gguf_is_utf8(reader, span, "a value", &goes_on) || goes_on;
}

/* ---- Arrays ---- */

typedef struct gguf_array {
    uint64_t kind; /* of its items */
    uint64_t count;
    bool is_shown; /* by its items, so far */
} gguf_array;

/* Quotation marks around the end of the text, from `at` on, and what JSON escapes escaped. */
static bool gguf_array_quote(dlpark__gguf_reader *reader, size_t at)
{
    size_t end = reader->text_nbytes;
    bool is_put = dlpark__gguf_put(reader, "\"", 1);

    for (size_t i = at; i < end && is_put; i++) {
        unsigned char byte = (unsigned char)reader->index->text[i];
        char escaped[8] = {(char)byte, '\0'};
        if (byte == '"' || byte == '\\')
            snprintf(escaped, sizeof escaped, "\\%c", byte);
        else if (byte < 0x20)
            snprintf(escaped, sizeof escaped, "\\u%04x", byte);
        is_put = dlpark__gguf_put(reader, escaped, strlen(escaped));
    }
    if (!is_put || !dlpark__gguf_put(reader, "\"", 1))
        return false;
    memmove(reader->index->text + at, reader->index->text + end, reader->text_nbytes - end);
    reader->text_nbytes -= end - at;
    return true;
}

/* A string of any bytes: tokens are not always characters. Such an array is not shown by its items. */
static bool gguf_array_string(dlpark__gguf_reader *reader, gguf_array *array)
{
    dlpark__span_text span;
    uint64_t nbytes;

    if (!array->is_shown)
        return dlpark__gguf_take(reader, 8, "a string", &nbytes) && dlpark__gguf_skip(reader, nbytes, "a string");
    if (!dlpark__gguf_text(reader, "a string", &span))
        return false;
    array->is_shown = span.nbytes <= GGUF_NBYTES_SHOWN &&
                      dlpark__utf8_check(reader->index->text + span.at, span.nbytes) == span.nbytes;
    return !array->is_shown || gguf_array_quote(reader, span.at);
}

static bool gguf_array_bool(dlpark__gguf_reader *reader, gguf_array *array, uint64_t *left)
{
    uint64_t bits;
    bool goes_on;

    if (!dlpark__gguf_take(reader, 1, "a value", &bits))
        return false;
    if (!gguf_value_is_bool(reader, bits, &goes_on)) { /* one is told of an array */
        uint64_t others = *left - 1;
        *left = 1;
        array->is_shown = false;
        return goes_on && dlpark__gguf_skip(reader, others, "an array");
    }
    return !array->is_shown || gguf_value_put(reader, GGUF_BOOL, bits);
}

static bool gguf_array_items(dlpark__gguf_reader *reader, gguf_array *array)
{
    uint64_t bits;

    if (!array->is_shown && array->kind != DLPARK__GGUF_STRING && array->kind != GGUF_BOOL)
        return dlpark__gguf_skip(reader, array->count * gguf_kinds[array->kind].nbytes, "an array");
    for (uint64_t left = array->count; left > 0; left--) {
        bool is_read = !array->is_shown || left == array->count || dlpark__gguf_put(reader, ", ", 2);
        if (is_read && array->kind == DLPARK__GGUF_STRING)
            is_read = gguf_array_string(reader, array);
        else if (is_read && array->kind == GGUF_BOOL)
            is_read = gguf_array_bool(reader, array, &left);
        else if (is_read)
            is_read = gguf_value_scalar(reader, array->kind, &bits);
        if (!is_read)
            return false;
    }
    return true;
}

/* Its type and length. False ends the reading: where it ends cannot be known. */
static bool gguf_array_begin(dlpark__gguf_reader *reader, gguf_array *array)
{
    uint64_t at = dlpark__gguf_at(reader), left;

    if (!dlpark__gguf_take(reader, 4, "the type of an array", &array->kind) ||
        !dlpark__gguf_take(reader, 8, "the length of an array", &array->count))
        return false;
    if (array->kind >= GGUF_KINDS || array->kind == DLPARK__GGUF_ARRAY) {
        (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, array->kind == DLPARK__GGUF_ARRAY ? "array" : "value-type",
                                 at,
                                 array->kind == DLPARK__GGUF_ARRAY ? "an array of arrays (type %llu), which is not read"
                                                                   : "an array of type %llu, and there are 0 to 12",
                                 (unsigned long long)array->kind);
        return false;
    }
    left = dlpark__gguf_left(reader);
    if (array->count > left / gguf_kinds[array->kind].nbytes) {
        (void)DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "truncated", at,
                                 "an array of %llu %s, and the file has %llu bytes behind byte %llu",
                                 (unsigned long long)array->count, gguf_kinds[array->kind].name,
                                 (unsigned long long)left, (unsigned long long)dlpark__gguf_at(reader));
        return false;
    }
    array->is_shown = array->count <= GGUF_ITEMS_SHOWN;
    return true;
}

static bool gguf_value_array(dlpark__gguf_reader *reader)
{
    size_t begin = reader->text_nbytes;
    gguf_array array;
    char text[48];

    if (!gguf_array_begin(reader, &array) || !dlpark__gguf_put(reader, "[", 1) || !gguf_array_items(reader, &array))
        return false;
    if (array.is_shown)
        return dlpark__gguf_put(reader, "]", 1);
    reader->text_nbytes = begin;
    int length =
        snprintf(text, sizeof text, "array of %llu %s", (unsigned long long)array.count, gguf_kinds[array.kind].name);
    return dlpark__gguf_put(reader, text, (size_t)length);
}

/* ---- A pair ---- */

/* The one value that says how the rest of the file is read. */
static bool gguf_pair_alignment(dlpark__gguf_reader *reader, uint64_t at, uint64_t kind, uint64_t value)
{
    if (kind != DLPARK__GGUF_U32)
        return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "alignment", at,
                                  DLPARK__GGUF_ALIGNMENT_KEY " is of type %s, and has to be of u32",
                                  gguf_kinds[kind].name);
    if (value < DLPARK__GGUF_ALIGNMENT_LEAST || value > DLPARK__GGUF_ALIGNMENT_MOST || (value & (value - 1)) != 0)
        return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "alignment", at,
                                  DLPARK__GGUF_ALIGNMENT_KEY " is %llu, and has to be a power of two from 8 to 65536",
                                  (unsigned long long)value);
    reader->alignment = value;
    return true;
}

static bool gguf_pair_value(dlpark__gguf_reader *reader, uint64_t kind, uint64_t *bits)
{
    if (kind == DLPARK__GGUF_STRING)
        return gguf_value_string(reader);
    if (kind == DLPARK__GGUF_ARRAY)
        return gguf_value_array(reader);
    return gguf_value_scalar(reader, kind, bits);
}

static bool gguf_pair_check_key(dlpark__gguf_reader *reader, dlpark__span_text key)
{
    bool goes_on;

    if (key.nbytes == 0)
        return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "key", dlpark__gguf_place_of(reader->index, key),
                                  "a key has no letters");
    return dlpark__gguf_is_utf8(reader, key, "a key", &goes_on) || goes_on;
}

bool dlpark__gguf_read_pair(dlpark__gguf_reader *reader)
{
    static const char alignment[] = DLPARK__GGUF_ALIGNMENT_KEY;
    dlpark__span_text key;
    uint64_t kind, bits = 0;

    if (!dlpark__gguf_name(reader, "a key", &key) || !gguf_pair_check_key(reader, key))
        return false;
    uint64_t at = dlpark__gguf_at(reader);
    if (!dlpark__gguf_take(reader, 4, "the type of a value", &kind))
        return false;
    if (kind >= GGUF_KINDS) {
        (void)DLPARK__GGUF_FAULT(
            reader, DLPARK_E_FORMAT, "value-type", at, "the value of '%s' is of type %llu, and there are 0 to 12",
            dlpark_file_name_text(reader->index->text + key.at, key.nbytes).text, (unsigned long long)kind);
        return false;
    }
    size_t begin = reader->text_nbytes;
    if (!gguf_pair_value(reader, kind, &bits))
        return false;
    if (key.nbytes == sizeof alignment - 1 &&
        memcmp(reader->index->text + key.at, alignment, sizeof alignment - 1) == 0 &&
        !gguf_pair_alignment(reader, at, kind, bits))
        return false;
    dlpark__span_text value = {(uint32_t)begin, (uint32_t)(reader->text_nbytes - begin)};
    if (dlpark__index_add_pair(reader->index, key, value))
        return true;
    reader->status = dlpark_error_set(reader->err, DLPARK_E_MEMORY, NULL);
    return false;
}
