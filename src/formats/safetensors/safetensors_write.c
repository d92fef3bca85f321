/*
 * The header of a safetensors file to be written: byte for byte what the reference writes, but for metadata, whose order
 * there is another in each run, and is the caller's here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/internal.h"
#include "../json.h"
#include "../names.h"
#include "../write_plan.h"
#include "safetensors_parts.h"

#define SAFETENSORS_WRITE_MOST     UINT64_C(100000000)
#define SAFETENSORS_WRITE_MULTIPLE ((size_t)8)

/* One tensor on its way into the header. */
typedef struct safetensors_item {
    const char *name;
    size_t name_nbytes;
    size_t part;
    int type; /* row of the format's table */
    uint64_t nbytes;
    uint64_t alignment; /* the largest power of two, at most the one asked for, that divides `nbytes` */
    dlpark__write_kind kind;
} safetensors_item;

/* ---- Checks ---- */

static int safetensors_write_type(DLDataType dtype)
{
    if (dtype.code == kDLFloat4_e2m1fn && dtype.lanes == 2)
        dtype.lanes = 1; /* pairs, as PyTorch has them */
    for (int i = 0; i < DLPARK__SAFETENSORS_TYPES; i++)
        if (dlpark_dtype_equal(dlpark__safetensors_types[i].dtype, dtype))
            return i;
    return -1;
}

/* Bits of all elements. */
static dlpark_status safetensors_write_bits(const dlpark_file_part *part, const dlpark__write_kind *kind,
                                            uint64_t *bits, dlpark_error *err)
{
    dlpark__write_size size;

    DLPARK_TRY(dlpark__write_measure(part, (uint64_t)kind->dtype.bits * kind->dtype.lanes, &size, err));
    if (size.is_vast)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "tensor '%s': shape %s has more than 2^64-1 bits",
                                dlpark__write_name(part).text, dlpark__layout_list(kind->ndim, kind->shape).text);
    *bits = size.is_empty ? 0 : size.product;
    return DLPARK_OK;
}

static dlpark_status safetensors_write_item(safetensors_item *item, const dlpark_file_part *part,
                                            size_t alignment_bytes, dlpark_error *err)
{
    size_t length = dlpark__write_name_nbytes(part);
    dlpark__write_kind kind = dlpark__write_kind_of(part);
    uint64_t bits = 0;

    *item = (safetensors_item){.name = part->name, .name_nbytes = length, .kind = kind};
    if (length == 12 && memcmp(part->name, "__metadata__", 12) == 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "a tensor cannot be called '__metadata__'");
    if (dlpark__utf8_check(part->name, length) != length)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the name '%s' is no UTF-8", dlpark__write_name(part).text);
    item->type = safetensors_write_type(kind.dtype);
    if (item->type < 0)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "tensor '%s': safetensors has no dtype for %s",
                                dlpark__write_name(part).text, dlpark_dtype_long_name(kind.dtype).text);
    if (kind.dtype.lanes == 2 && kind.ndim == 0) /* the file has no shape for it */
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "tensor '%s': a lone pair of float4 needs a dimension",
                                dlpark__write_name(part).text);
    DLPARK_TRY(safetensors_write_bits(part, &kind, &bits, err));
    if (bits % 8 != 0)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                                "tensor '%s': %llu bits of %s do not fill whole bytes, which safetensors asks for",
                                dlpark__write_name(part).text, (unsigned long long)bits,
                                dlpark_dtype_long_name(kind.dtype).text);
    item->nbytes = bits / 8;
    item->alignment = item->nbytes == 0 ? alignment_bytes : item->nbytes & (~item->nbytes + 1);
    if (item->alignment > alignment_bytes)
        item->alignment = alignment_bytes;
    return DLPARK_OK;
}

/* The number of a text that another, before or behind it, equals; -1: none. `text` has room for all of them, `spans` for
 * as many. False: out of memory. */
static bool safetensors_write_twin(const dlpark_file_text *texts, size_t count, char *text, dlpark__span_text *spans,
                                   int64_t *twin)
{
    dlpark__names names = {0};
    size_t at = 0;

    *twin = -1;
    if (!dlpark__names_begin(&names, text, spans, sizeof *spans, count))
        return false;
    for (size_t i = 0; i < count && *twin < 0; i++) {
        spans[i] = (dlpark__span_text){(uint32_t)at, (uint32_t)texts[i].nbytes};
        if (texts[i].nbytes > 0)
            memcpy(text + at, texts[i].text, texts[i].nbytes);
        at += texts[i].nbytes;
        *twin = dlpark__names_add(&names, i);
    }
    dlpark__names_end(&names);
    return true;
}

/* Names are unique: what is written twice one reader takes for the first, and another for the second. */
static dlpark_status safetensors_write_unique(const dlpark_file_text *texts, size_t count, const char *what,
                                              dlpark_error *err)
{
    size_t nbytes = 1;
    int64_t twin = -1;

    for (size_t i = 0; i < count; i++) {
        if (texts[i].nbytes > SAFETENSORS_WRITE_MOST - nbytes)
            return dlpark_error_set(err, DLPARK_E_LIMIT, "the names of the %s have more than %llu bytes together", what,
                                    (unsigned long long)SAFETENSORS_WRITE_MOST);
        nbytes += texts[i].nbytes;
    }
    char *text = calloc(nbytes, 1);
    dlpark__span_text *spans = calloc(count + 1, sizeof *spans);
    bool is_made = text != NULL && spans != NULL && safetensors_write_twin(texts, count, text, spans, &twin);
    free(text);
    free(spans);
    if (!is_made)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    if (twin >= 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "two of the %s are called '%s'", what,
                                dlpark_file_name_text(texts[twin].text, texts[twin].nbytes).text);
    return DLPARK_OK;
}

static dlpark_status safetensors_write_check_metadata(const dlpark_file_write_options *options, dlpark_error *err)
{
    for (size_t i = 0; i < options->nmetadata; i++) {
        const dlpark_file_pair *pair = &options->metadata[i];
        if (dlpark__utf8_check(pair->key.text, pair->key.nbytes) != pair->key.nbytes ||
            dlpark__utf8_check(pair->value.text, pair->value.nbytes) != pair->value.nbytes)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the metadata '%s' is no UTF-8",
                                    dlpark_file_name_text(pair->key.text, pair->key.nbytes).text);
    }
    return DLPARK_OK;
}

static dlpark_status safetensors_write_check_names(const safetensors_item *items, size_t count,
                                                   const dlpark_file_write_options *options, dlpark_error *err)
{
    size_t most = count > options->nmetadata ? count : options->nmetadata;
    dlpark_file_text *texts = calloc(most + 1, sizeof *texts);

    if (texts == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (size_t i = 0; i < count; i++)
        texts[i] = (dlpark_file_text){items[i].name, items[i].name_nbytes};
    dlpark_status status = safetensors_write_unique(texts, count, "tensors", err);
    for (size_t i = 0; i < options->nmetadata; i++)
        texts[i] = options->metadata[i].key;
    if (status == DLPARK_OK)
        status = safetensors_write_unique(texts, options->nmetadata, "metadata", err);
    free(texts);
    return status;
}

/* ---- Order ---- */

static int safetensors_write_compare_names(const safetensors_item *a, const safetensors_item *b)
{
    size_t shorter = a->name_nbytes < b->name_nbytes ? a->name_nbytes : b->name_nbytes;
    int order = shorter > 0 ? memcmp(a->name, b->name, shorter) : 0;

    if (order != 0)
        return order;
    return a->name_nbytes < b->name_nbytes ? -1 : a->name_nbytes > b->name_nbytes;
}

/* The reference's: by dtype, the widest first, then by name. */
static int safetensors_write_by_type(const void *left, const void *right)
{
    const safetensors_item *a = left, *b = right;

    return a->type != b->type ? (a->type < b->type ? -1 : 1) : safetensors_write_compare_names(a, b);
}

/* What keeps the alignment for its successors comes first. */
static int safetensors_write_by_alignment(const void *left, const void *right)
{
    const safetensors_item *a = left, *b = right;

    if (a->alignment != b->alignment)
        return a->alignment > b->alignment ? -1 : 1;
    return safetensors_write_by_type(left, right);
}

/* ---- Text ---- */

/* Counts where `text` is NULL, and writes where it is not. */
typedef struct safetensors_text {
    char *text;
    size_t nbytes;
} safetensors_text;

static void safetensors_text_put(safetensors_text *out, const char *bytes, size_t nbytes)
{
    if (out->text != NULL)
        memcpy(out->text + out->nbytes, bytes, nbytes);
    out->nbytes += nbytes;
}

static void safetensors_text_number(safetensors_text *out, const char *before, uint64_t number)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%s%llu", before, (unsigned long long)number);

    safetensors_text_put(out, digits, (size_t)length);
}

/* As serde_json escapes: quotation mark, backslash, and controls, five of them by a letter. */
static void safetensors_text_string(safetensors_text *out, const char *text, size_t nbytes)
{
    static const char letters[] = "\b\f\n\r\t", names[] = "bfnrt";

    safetensors_text_put(out, "\"", 1);
    for (size_t i = 0; i < nbytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        const char *letter = byte != 0 ? strchr(letters, byte) : NULL;
        char escaped[8];
        if (byte == '"' || byte == '\\')
            safetensors_text_put(out, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\%c", byte));
        else if (letter != NULL)
            safetensors_text_put(out, escaped,
                                 (size_t)snprintf(escaped, sizeof escaped, "\\%c", names[letter - letters]));
        else if (byte < 0x20)
            safetensors_text_put(out, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", byte));
        else
            safetensors_text_put(out, text + i, 1);
    }
    safetensors_text_put(out, "\"", 1);
}

#define SAFETENSORS_TEXT(out, literal) safetensors_text_put((out), (literal), sizeof(literal) - 1)

static void safetensors_text_item(safetensors_text *out, const safetensors_item *item, uint64_t begin)
{
    const dlpark__write_kind *kind = &item->kind;
    const char *type = dlpark__safetensors_types[item->type].name;

    safetensors_text_string(out, item->name, item->name_nbytes);
    SAFETENSORS_TEXT(out, ":{\"dtype\":\"");
    safetensors_text_put(out, type, strlen(type));
    SAFETENSORS_TEXT(out, "\",\"shape\":[");
    for (int32_t i = 0; i < kind->ndim; i++) {
        bool is_pair = i == kind->ndim - 1 && kind->dtype.bits == 4 && kind->dtype.lanes == 2;
        safetensors_text_number(out, i > 0 ? "," : "", (uint64_t)kind->shape[i] << is_pair);
    }
    SAFETENSORS_TEXT(out, "],\"data_offsets\":[");
    safetensors_text_number(out, "", begin);
    safetensors_text_number(out, ",", begin + item->nbytes);
    SAFETENSORS_TEXT(out, "]}");
}

static void safetensors_text_header(safetensors_text *out, const safetensors_item *items, size_t count,
                                    const dlpark_file_write_options *options)
{
    uint64_t begin = 0;

    SAFETENSORS_TEXT(out, "{");
    for (size_t i = 0; i < options->nmetadata; i++) {
        const dlpark_file_pair *pair = &options->metadata[i];
        if (i == 0)
            SAFETENSORS_TEXT(out, "\"__metadata__\":{");
        else
            SAFETENSORS_TEXT(out, ",");
        safetensors_text_string(out, pair->key.text, pair->key.nbytes);
        SAFETENSORS_TEXT(out, ":");
        safetensors_text_string(out, pair->value.text, pair->value.nbytes);
    }
    if (options->nmetadata > 0)
        SAFETENSORS_TEXT(out, "}");
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || options->nmetadata > 0)
            SAFETENSORS_TEXT(out, ",");
        safetensors_text_item(out, &items[i], begin);
        begin += items[i].nbytes;
    }
    SAFETENSORS_TEXT(out, "}");
}

/* ---- The plan ---- */

/* The first bytes of the file: the length, the text, and spaces up to where the data begins. */
static dlpark_status safetensors_write_head(dlpark__write_plan *plan, const safetensors_item *items, size_t count,
                                            const dlpark_file_write_options *options, dlpark_error *err)
{
    safetensors_text counted = {NULL, 0};
    size_t multiple =
        options->alignment_bytes > SAFETENSORS_WRITE_MULTIPLE ? options->alignment_bytes : SAFETENSORS_WRITE_MULTIPLE;

    safetensors_text_header(&counted, items, count, options);
    size_t nbytes = DLPARK__SAFETENSORS_PREFIX + counted.nbytes;
    nbytes += (multiple - nbytes % multiple) % multiple;
    uint64_t header = nbytes - DLPARK__SAFETENSORS_PREFIX;
    if (header > SAFETENSORS_WRITE_MOST)
        return dlpark_error_set(err, DLPARK_E_LIMIT, "the header would have %llu bytes, and a file has at most %llu",
                                (unsigned long long)header, (unsigned long long)SAFETENSORS_WRITE_MOST);
    plan->head = malloc(nbytes);
    if (plan->head == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    plan->head_nbytes = nbytes;
    memset(plan->head, ' ', nbytes);
    for (int i = 0; i < DLPARK__SAFETENSORS_PREFIX; i++)
        plan->head[i] = (char)(header >> (8 * i) & 0xFF);
    safetensors_text written = {plan->head + DLPARK__SAFETENSORS_PREFIX, 0};
    safetensors_text_header(&written, items, count, options);
    return DLPARK_OK;
}

static dlpark_status safetensors_write_places(dlpark__write_plan *plan, const safetensors_item *items, size_t count,
                                              dlpark_error *err)
{
    plan->places = calloc(count + 1, sizeof *plan->places);
    if (plan->places == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    plan->nbytes = plan->head_nbytes;
    for (size_t i = 0; i < count; i++) {
        plan->places[items[i].part] = (dlpark__write_place){plan->nbytes, items[i].nbytes};
        plan->nbytes += items[i].nbytes; /* below 2^63, and below 2^61, as its bits are counted in 64 */
        if (plan->nbytes > INT64_MAX)
            return dlpark_error_set(err, DLPARK_E_LIMIT, "the tensors have more than 2^63-1 bytes together");
    }
    return DLPARK_OK;
}

static dlpark_status safetensors_write_make(dlpark__write_plan *plan, safetensors_item *items,
                                            const dlpark_file_part *parts, size_t count,
                                            const dlpark_file_write_options *options, dlpark_error *err)
{
    for (size_t i = 0; i < count; i++) {
        DLPARK_TRY(safetensors_write_item(&items[i], &parts[i], options->alignment_bytes, err));
        items[i].part = i;
    }
    DLPARK_TRY(safetensors_write_check_metadata(options, err));
    DLPARK_TRY(safetensors_write_check_names(items, count, options, err));
    qsort(items, count, sizeof *items,
          options->alignment_bytes != 0 ? safetensors_write_by_alignment : safetensors_write_by_type);
    DLPARK_TRY(safetensors_write_head(plan, items, count, options, err));
    return safetensors_write_places(plan, items, count, err);
}

dlpark_status dlpark__safetensors_plan(dlpark__write_plan *plan, const dlpark_file_part *parts, size_t count,
                                       const dlpark_file_write_options *options, dlpark_error *err)
{
    safetensors_item *items = count <= DLPARK__NAMES_MOST ? calloc(count + 1, sizeof *items) : NULL;

    *plan = (dlpark__write_plan){.head = NULL};
    if (count > DLPARK__NAMES_MOST || options->nmetadata > DLPARK__NAMES_MOST) {
        free(items);
        return dlpark_error_set(err, DLPARK_E_LIMIT, "%zu tensors and %zu metadata, more than %zu", count,
                                options->nmetadata, DLPARK__NAMES_MOST);
    }
    if (items == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    dlpark_status status = safetensors_write_make(plan, items, parts, count, options, err);
    free(items);
    if (status != DLPARK_OK)
        dlpark__write_plan_end(plan);
    return status;
}
