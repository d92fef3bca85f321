/*
 * The header of a GGUF file to be written, of version 3: byte for byte what the package gguf writes of the same pairs and
 * tensors. Metadata are strings, but for the alignment, which is a number, and what is given with a type.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../json.h"
#include "../swap.h"
#include "gguf_parts.h"

#define GGUF_WRITE_MOST UINT64_C(100000000)

/* What ggml has room for. */
#define GGUF_WRITE_NAME_MOST ((size_t)63)

/* One tensor on its way into the header. */
typedef struct gguf_item {
    dlpark__span_text span; /* its name, in the header */
    const char *name;
    size_t name_nbytes;
    dlpark__write_kind kind;
    uint8_t type;
    uint64_t nbytes;
} gguf_item;

typedef struct gguf_writer {
    const dlpark_file_write_options *options;
    gguf_item *items;
    size_t count;
    dlpark__span_text *keys; /* of the metadata, in the header */
    uint64_t alignment;
    bool has_alignment; /* among the metadata */
    char *bytes;        /* of the header; NULL: they are counted */
    uint64_t nbytes;
} gguf_writer;

/* ---- Tensors ---- */

static bool gguf_write_type(DLDataType dtype, uint8_t *type)
{
    for (uint8_t i = 0; i < DLPARK__GGUF_TYPES; i++) {
        const dlpark__index_type *row = &dlpark__gguf_types[i];
        *type = i;
        if (row->name != NULL && row->dtype.code != kDLUInt && dlpark_dtype_equal(row->dtype, dtype))
            return true;
    }
    return false;
}

static dlpark_status gguf_write_measure(gguf_item *item, const dlpark_file_part *part, dlpark_error *err)
{
    const dlpark__write_kind *kind = &item->kind;
    uint64_t nbytes = kind->dtype.bits / 8;
    bool is_vast = false;

    if (kind->ndim < 1 || kind->ndim > DLPARK__GGUF_MAX_NDIM)
        return dlpark_error_set(err, DLPARK_E_RANK, "tensor '%s' has %d dimensions, expected 1 to %d for GGUF",
                                dlpark__write_name(part).text, (int)kind->ndim, DLPARK__GGUF_MAX_NDIM);
    for (int32_t i = 0; i < kind->ndim; i++) {
        if (kind->shape[i] < 1)
            return dlpark_error_set(err, DLPARK_E_SHAPE,
                                    "tensor '%s': shape[%d] is %lld, and a GGUF file has extents of 1 and more",
                                    dlpark__write_name(part).text, (int)i, (long long)kind->shape[i]);
        is_vast |= __builtin_mul_overflow(nbytes, (uint64_t)kind->shape[i], &nbytes);
    }
    if (is_vast || nbytes > INT64_MAX)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "tensor '%s': shape %s has more than 2^63-1 bytes",
                                dlpark__write_name(part).text, dlpark__layout_list(kind->ndim, kind->shape).text);
    item->nbytes = nbytes;
    return DLPARK_OK;
}

static dlpark_status gguf_write_item(gguf_item *item, const dlpark_file_part *part, dlpark_error *err)
{
    item->name = part->name;
    item->name_nbytes = dlpark__write_name_nbytes(part);
    item->kind = dlpark__write_kind_of(part);
    if (item->name_nbytes > GGUF_WRITE_NAME_MOST)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the name '%s' has %zu bytes, and ggml has room for %zu",
                                dlpark__write_name(part).text, item->name_nbytes, GGUF_WRITE_NAME_MOST);
    if (dlpark__utf8_check(item->name, item->name_nbytes) != item->name_nbytes)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the name '%s' is no UTF-8", dlpark__write_name(part).text);
    if (!gguf_write_type(item->kind.dtype, &item->type))
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "tensor '%s': GGUF has no dtype for %s",
                                dlpark__write_name(part).text, dlpark_dtype_long_name(item->kind.dtype).text);
    return gguf_write_measure(item, part, err);
}

/* ---- Metadata ---- */

static bool gguf_write_is_alignment(dlpark_file_text key)
{
    return key.nbytes == strlen(DLPARK__GGUF_ALIGNMENT_KEY) &&
           memcmp(key.text, DLPARK__GGUF_ALIGNMENT_KEY, key.nbytes) == 0;
}

/* The alignment that a file had which was read. One that the caller asks for takes its place. */
static dlpark_status gguf_write_take_alignment(gguf_writer *writer, dlpark_file_text value, dlpark_error *err)
{
    int64_t number = -1;
    size_t digits = value.nbytes > 0 ? dlpark__read_decimal(value.text, value.nbytes, INT32_MAX, &number) : 0;

    if (digits == 0 || digits != value.nbytes || number < (int64_t)DLPARK__GGUF_ALIGNMENT_LEAST ||
        number > (int64_t)DLPARK__GGUF_ALIGNMENT_MOST || (number & (number - 1)) != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the metadata '" DLPARK__GGUF_ALIGNMENT_KEY
                                "' is '%s', expected a power of two from 8 to 65536",
                                dlpark_file_name_text(value.text, value.nbytes).text);
    writer->has_alignment = true;
    if (writer->options->alignment_bytes == 0)
        writer->alignment = (uint64_t)number;
    return DLPARK_OK;
}

static dlpark_status gguf_write_check_metadata(gguf_writer *writer, dlpark_error *err)
{
    size_t wanted = writer->options->alignment_bytes;

    writer->alignment = wanted == 0                             ? DLPARK__GGUF_ALIGNMENT
                        : wanted < DLPARK__GGUF_ALIGNMENT_LEAST ? DLPARK__GGUF_ALIGNMENT_LEAST
                                                                : wanted;
    for (size_t i = 0; i < writer->options->nmetadata; i++) {
        const dlpark_file_pair *pair = &writer->options->metadata[i];
        if (pair->key.nbytes == 0)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "metadata %zu has a key without letters", i);
        if (dlpark__utf8_check(pair->key.text, pair->key.nbytes) != pair->key.nbytes ||
            dlpark__utf8_check(pair->value.text, pair->value.nbytes) != pair->value.nbytes)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the metadata '%s' is no UTF-8",
                                    dlpark_file_name_text(pair->key.text, pair->key.nbytes).text);
        if (gguf_write_is_alignment(pair->key))
            DLPARK_TRY(gguf_write_take_alignment(writer, pair->value, err));
    }
    return DLPARK_OK;
}

/* The number of a type of values; of texts and of arrays it is another. */
static bool gguf_write_value_kind(DLDataType dtype, uint8_t *kind)
{
    static const struct {
        DLDataType dtype;
        uint8_t kind;
    } kinds[] = {
        {{0, 0, 0}, DLPARK__GGUF_STRING},
        {{kDLUInt, 8, 1}, 0},
        {{kDLInt, 8, 1}, 1},
        {{kDLUInt, 16, 1}, 2},
        {{kDLInt, 16, 1}, 3},
        {{kDLUInt, 32, 1}, 4},
        {{kDLInt, 32, 1}, 5},
        {{kDLFloat, 32, 1}, 6},
        {{kDLBool, 8, 1}, 7},
        {{kDLUInt, 64, 1}, 10},
        {{kDLInt, 64, 1}, 11},
        {{kDLFloat, 64, 1}, 12},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        *kind = kinds[i].kind;
        if (dlpark_dtype_equal(kinds[i].dtype, dtype))
            return true;
    }
    return false;
}

/* What is in a value, whose key is right. */
static dlpark_status gguf_write_check_items(const dlpark_file_value *value, const char *key, dlpark_error *err)
{
    uint8_t kind;

    if (value->is_array ? value->count > GGUF_WRITE_MOST : value->count != 1)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the metadata '%s' has %zu values, expected %s", key,
                                value->count, value->is_array ? "at most 100000000" : "one, or an array");
    if (!gguf_write_value_kind(value->dtype, &kind))
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "the metadata '%s': GGUF has no values of %s", key,
                                dlpark_dtype_long_name(value->dtype).text);
    for (size_t i = 0; value->dtype.code == kDLBool && i < value->count; i++)
        if (((const unsigned char *)value->data)[i] > 1)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                    "the metadata '%s': byte %u is neither 0 (false) nor 1 (true)", key,
                                    (unsigned)((const unsigned char *)value->data)[i]);
    if (value->is_array || kind != DLPARK__GGUF_STRING) /* tokens of an array are not always characters */
        return DLPARK_OK;
    const dlpark_file_text *text = value->data;
    return dlpark__utf8_check(text->text, text->nbytes) == text->nbytes
               ? DLPARK_OK
               : dlpark_error_set(err, DLPARK_E_ARGUMENT, "the metadata '%s' is no UTF-8", key);
}

static dlpark_status gguf_write_check_values(const dlpark_file_write_options *options, dlpark_error *err)
{
    for (size_t i = 0; i < options->nvalues; i++) {
        const dlpark_file_text key = options->values[i].key;
        if (key.nbytes == 0)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "typed metadata %zu has a key without letters", i);
        if (dlpark__utf8_check(key.text, key.nbytes) != key.nbytes)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the metadata '%s' is no UTF-8",
                                    dlpark_file_name_text(key.text, key.nbytes).text);
        if (gguf_write_is_alignment(key))
            return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                    "the metadata '" DLPARK__GGUF_ALIGNMENT_KEY "' has a type, expected a text");
        DLPARK_TRY(gguf_write_check_items(&options->values[i], dlpark_file_name_text(key.text, key.nbytes).text, err));
    }
    return DLPARK_OK;
}

/* ---- The header ---- */

static void gguf_write_put(gguf_writer *writer, const char *bytes, size_t nbytes)
{
    if (writer->bytes != NULL && nbytes > 0)
        memcpy(writer->bytes + writer->nbytes, bytes, nbytes);
    writer->nbytes += nbytes;
}

/* Little-endian. */
static void gguf_write_number(gguf_writer *writer, uint64_t number, size_t nbytes)
{
    char bytes[8];

    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (char)(number >> 8 * i & 0xFF);
    gguf_write_put(writer, bytes, nbytes);
}

static dlpark__span_text gguf_write_text(gguf_writer *writer, const char *text, size_t nbytes)
{
    gguf_write_number(writer, nbytes, 8);
    dlpark__span_text span = {(uint32_t)writer->nbytes, (uint32_t)nbytes};
    gguf_write_put(writer, text, nbytes);
    return span;
}

static dlpark__span_text gguf_write_alignment(gguf_writer *writer)
{
    dlpark__span_text span = gguf_write_text(writer, DLPARK__GGUF_ALIGNMENT_KEY, sizeof DLPARK__GGUF_ALIGNMENT_KEY - 1);

    gguf_write_number(writer, DLPARK__GGUF_U32, 4);
    gguf_write_number(writer, writer->alignment, 4);
    return span;
}

static void gguf_write_pairs(gguf_writer *writer)
{
    for (size_t i = 0; i < writer->options->nmetadata; i++) {
        const dlpark_file_pair *pair = &writer->options->metadata[i];
        if (gguf_write_is_alignment(pair->key)) {
            writer->keys[i] = gguf_write_alignment(writer);
            continue;
        }
        writer->keys[i] = gguf_write_text(writer, pair->key.text, pair->key.nbytes);
        gguf_write_number(writer, DLPARK__GGUF_STRING, 4);
        (void)gguf_write_text(writer, pair->value.text, pair->value.nbytes);
    }
}

static void gguf_write_items(gguf_writer *writer, const dlpark_file_value *value, uint8_t kind)
{
    size_t nbytes = value->count * (value->dtype.bits / 8); /* at most 100 million numbers */
    const dlpark_file_text *texts = value->data;

    if (kind != DLPARK__GGUF_STRING) {
        gguf_write_put(writer, value->data, nbytes);
        if (DLPARK__IS_BIG_ENDIAN && writer->bytes != NULL)
            dlpark__swap_numbers((unsigned char *)writer->bytes + writer->nbytes - nbytes, nbytes, value->dtype);
        return;
    }
    for (size_t i = 0; i < value->count; i++)
        (void)gguf_write_text(writer, texts[i].text, texts[i].nbytes);
}

static void gguf_write_values(gguf_writer *writer)
{
    const dlpark_file_write_options *options = writer->options;

    for (size_t i = 0; i < options->nvalues; i++) {
        const dlpark_file_value *value = &options->values[i];
        uint8_t kind;
        writer->keys[options->nmetadata + i] = gguf_write_text(writer, value->key.text, value->key.nbytes);
        (void)gguf_write_value_kind(value->dtype, &kind);
        if (value->is_array) {
            gguf_write_number(writer, DLPARK__GGUF_ARRAY, 4);
            gguf_write_number(writer, kind, 4);
            gguf_write_number(writer, value->count, 8);
        } else {
            gguf_write_number(writer, kind, 4);
        }
        gguf_write_items(writer, value, kind);
    }
}

static uint64_t gguf_write_padding(const gguf_writer *writer, uint64_t at)
{
    return (writer->alignment - at % writer->alignment) % writer->alignment;
}

static void gguf_write_header(gguf_writer *writer)
{
    bool is_said = !writer->has_alignment && writer->alignment != DLPARK__GGUF_ALIGNMENT;
    uint64_t begin = 0;

    writer->nbytes = 0;
    gguf_write_put(writer, "GGUF", 4);
    gguf_write_number(writer, 3, 4);
    gguf_write_number(writer, writer->count, 8);
    gguf_write_number(writer, writer->options->nmetadata + writer->options->nvalues + is_said, 8);
    if (is_said)
        (void)gguf_write_alignment(writer);
    gguf_write_pairs(writer);
    gguf_write_values(writer);
    for (size_t i = 0; i < writer->count; i++) {
        gguf_item *item = &writer->items[i];
        item->span = gguf_write_text(writer, item->name, item->name_nbytes);
        gguf_write_number(writer, (uint64_t)item->kind.ndim, 4);
        for (int32_t d = item->kind.ndim - 1; d >= 0; d--)
            gguf_write_number(writer, (uint64_t)item->kind.shape[d], 8);
        gguf_write_number(writer, item->type, 4);
        gguf_write_number(writer, begin, 8);
        begin += item->nbytes + gguf_write_padding(writer, item->nbytes);
    }
}

static dlpark_status gguf_write_head(gguf_writer *writer, dlpark__write_plan *plan, dlpark_error *err)
{
    gguf_write_header(writer);
    uint64_t nbytes = writer->nbytes + gguf_write_padding(writer, writer->nbytes);
    if (nbytes > GGUF_WRITE_MOST)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "the header would have %llu bytes, and a file has at most %llu",
                                (unsigned long long)nbytes, (unsigned long long)GGUF_WRITE_MOST);
    plan->head = calloc((size_t)nbytes, 1);
    if (plan->head == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    plan->head_nbytes = (size_t)nbytes;
    writer->bytes = plan->head;
    gguf_write_header(writer);
    return DLPARK_OK;
}

/* ---- The plan ---- */

/* Whether no two texts of the header are the same: what is written twice nobody reads. */
static dlpark_status gguf_write_unique(const gguf_writer *writer, const void *spans, size_t step, size_t count,
                                       const char *what, dlpark_error *err)
{
    dlpark__names names = {0};
    int64_t twin = -1;
    dlpark__span_text span = {0, 0};

    if (!dlpark__names_begin(&names, writer->bytes, spans, step, count))
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < count && twin < 0; i++) {
        twin = dlpark__names_add(&names, i);
        memcpy(&span, (const char *)spans + i * step, sizeof span);
    }
    dlpark__names_end(&names);
    if (twin < 0)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "two of the %s are called '%s'", what,
                            dlpark_file_name_text(writer->bytes + span.at, span.nbytes).text);
}

static dlpark_status gguf_write_places(const gguf_writer *writer, dlpark__write_plan *plan, dlpark_error *err)
{
    plan->places = calloc(writer->count + 1, sizeof *plan->places);
    if (plan->places == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    plan->nbytes = plan->head_nbytes;
    for (size_t i = 0; i < writer->count; i++) {
        uint64_t nbytes = writer->items[i].nbytes;
        plan->places[i] = (dlpark__write_place){plan->nbytes, nbytes};
        nbytes += gguf_write_padding(writer, nbytes); /* at most 2^63: that is a multiple, too */
        plan->nbytes += nbytes;
        if (plan->nbytes > INT64_MAX)
            return dlpark_error_set(err, DLPARK_E_LIMIT, "the tensors have more than 2^63-1 bytes together");
    }
    return DLPARK_OK;
}

static dlpark_status gguf_write_make(gguf_writer *writer, dlpark__write_plan *plan, const dlpark_file_part *parts,
                                     dlpark_error *err)
{
    for (size_t i = 0; i < writer->count; i++)
        DLPARK_TRY(gguf_write_item(&writer->items[i], &parts[i], err));
    DLPARK_TRY(gguf_write_check_metadata(writer, err));
    DLPARK_TRY(gguf_write_check_values(writer->options, err));
    DLPARK_TRY(gguf_write_head(writer, plan, err));
    DLPARK_TRY(gguf_write_unique(writer, writer->items, sizeof *writer->items, writer->count, "tensors", err));
    DLPARK_TRY(gguf_write_unique(writer, writer->keys, sizeof *writer->keys,
                                 writer->options->nmetadata + writer->options->nvalues, "metadata", err));
    return gguf_write_places(writer, plan, err);
}

dlpark_status dlpark__gguf_plan(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                                const dlpark_file_write_options *options, dlpark_error *err)
{
    gguf_writer writer = {.options = options, .count = count};
    size_t npairs;

    *plan = (dlpark__write_plan){.head = NULL};
    if (__builtin_add_overflow(options->nmetadata, options->nvalues, &npairs))
        npairs = SIZE_MAX;
    if (count > DLPARK__NAMES_MOST || npairs > DLPARK__NAMES_MOST)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "%zu tensors and %zu metadata, more than %zu", count, npairs,
                                DLPARK__NAMES_MOST);
    writer.items = calloc(count + 1, sizeof *writer.items);
    writer.keys = calloc(npairs + 1, sizeof *writer.keys);
    dlpark_status status = writer.items != NULL && writer.keys != NULL ? gguf_write_make(&writer, plan, parts, err)
                                                                       : dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    free(writer.items);
    free(writer.keys);
    if (status != DLPARK_OK)
        dlpark__write_plan_end(plan);
    return status;
}
