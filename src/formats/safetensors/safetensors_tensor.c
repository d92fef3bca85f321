/* One tensor of a safetensors header: its fields, and whether they agree. */
#include <stdio.h>
#include <string.h>

#include "../../core/internal.h"
#include "safetensors_parts.h"

const dlpark__index_type dlpark__safetensors_types[DLPARK__SAFETENSORS_TYPES] = {
    {"U64", {kDLUInt, 64, 1}, false},
    {"I64", {kDLInt, 64, 1}, false},
    {"F64", {kDLFloat, 64, 1}, false},
    {"C64", {kDLComplex, 64, 1}, false},
    {"F32", {kDLFloat, 32, 1}, false},
    {"U32", {kDLUInt, 32, 1}, false},
    {"I32", {kDLInt, 32, 1}, false},
    {"BF16", {kDLBfloat, 16, 1}, false},
    {"F16", {kDLFloat, 16, 1}, false},
    {"U16", {kDLUInt, 16, 1}, false},
    {"I16", {kDLInt, 16, 1}, false},
    {"F8_E5M2FNUZ", {kDLFloat8_e5m2fnuz, 8, 1}, false},
    {"F8_E4M3FNUZ", {kDLFloat8_e4m3fnuz, 8, 1}, false},
    {"F8_E8M0", {kDLFloat8_e8m0fnu, 8, 1}, false},
    {"F8_E4M3", {kDLFloat8_e4m3fn, 8, 1}, false}, /* not DLPack's e4m3, which has an infinity */
    {"F8_E5M2", {kDLFloat8_e5m2, 8, 1}, false},
    {"I8", {kDLInt, 8, 1}, false},
    {"U8", {kDLUInt, 8, 1}, false},
    {"F6_E3M2", {kDLFloat6_e3m2fn, 6, 1}, false},
    {"F6_E2M3", {kDLFloat6_e2m3fn, 6, 1}, false},
    {"F4", {kDLFloat4_e2m1fn, 4, 1}, false},
    {"BOOL", {kDLBool, 8, 1}, false},
};
#define SAFETENSORS_TYPES ((uint8_t)DLPARK__SAFETENSORS_TYPES)

/* One tensor, as it is read. */
typedef struct safetensors_tensor {
    const dlpark__json_text *name;
    size_t at;      /* of its name's quotation mark, in the header */
    unsigned seen;  /* a bit for each field */
    uint8_t type;   /* SAFETENSORS_TYPES: unknown, and already told */
    bool is_broken; /* already told: its bytes can be judged, its shape not */
    uint64_t begin; /* from `data_begin` */
    uint64_t end;
    uint64_t numel; /* the product of the extents that are not 0 */
    bool is_vast;   /* which leaves 63 bits */
    bool is_empty;
    uint32_t ndim; /* which may be more than a tensor has, and than are kept */
    int64_t shape[DLPARK_MAX_NDIM];
} safetensors_tensor;

enum { FIELD_DTYPE = 1, FIELD_SHAPE = 2, FIELD_OFFSETS = 4, FIELD_ALL = 7 };

/* ---- Fields ---- */

static dlpark__file_fault_place safetensors_place(const char *rule, size_t at, const safetensors_tensor *tensor)
{
    return (dlpark__file_fault_place){rule, DLPARK__SAFETENSORS_PREFIX + at, tensor->name->text, tensor->name->nbytes};
}

#define SAFETENSORS_FAULT(reader, status, rule, at, tensor, ...)                                                       \
    (dlpark__file_faults_add((reader)->faults, (status),                                                               \
                             (dlpark__file_fault_place[]){safetensors_place((rule), (at), (tensor))}, __VA_ARGS__))

/* A text of a few bytes, which may hold zeros. */
static bool safetensors_is_word(const char *word, const char *text, size_t nbytes)
{
    size_t i = 0;

    while (i < nbytes && word[i] == text[i] && word[i] != '\0')
        i++;
    return i == nbytes && word[i] == '\0';
}

bool dlpark__safetensors_is(const dlpark__json_text *text, const char *word)
{
    return safetensors_is_word(word, text->text, text->nbytes);
}

/* The dtype of the tensor that was read before, where it is one. */
static uint8_t safetensors_last_type(const dlpark__safetensors_reader *reader)
{
    const dlpark__index *index = reader->index;
    uint8_t last = index->count > 0 ? index->entries[index->count - 1].type : 0;

    return last < SAFETENSORS_TYPES ? last : 0;
}

static uint8_t safetensors_type(uint8_t last, const char *text, size_t nbytes)
{
    uint8_t type = 0;

    if (safetensors_is_word(dlpark__safetensors_types[last].name, text, nbytes))
        return last;
    while (type < SAFETENSORS_TYPES && !safetensors_is_word(dlpark__safetensors_types[type].name, text, nbytes))
        type++;
    return type;
}

static bool safetensors_read_dtype(dlpark__safetensors_reader *reader, safetensors_tensor *tensor)
{
    dlpark__json_text text;

    (void)dlpark__json_peek(&reader->json);
    size_t at = reader->json.at;
    if (!dlpark__json_string(&reader->json, "a dtype in quotation marks", &text))
        return false;
    tensor->type = safetensors_type(safetensors_last_type(reader), text.text, text.nbytes);
    if (tensor->type < SAFETENSORS_TYPES)
        return true;
    tensor->is_broken = true;
    return SAFETENSORS_FAULT(reader, DLPARK_E_FORMAT, "dtype", at, tensor, "dtype \"%s\" is none of the format's",
                             dlpark_file_name_text(text.text, text.nbytes).text);
}

static void safetensors_begin_shape(safetensors_tensor *tensor)
{
    tensor->numel = 1;
    tensor->is_vast = tensor->is_empty = false;
    tensor->ndim = 0;
}

static void safetensors_add_extent(safetensors_tensor *tensor, uint64_t extent)
{
    if (extent == 0) /* which excuses no other from being too large */
        tensor->is_empty = true;
    else
        tensor->is_vast |= __builtin_mul_overflow(tensor->numel, extent, &tensor->numel);
    if (tensor->ndim < DLPARK_MAX_NDIM)
        tensor->shape[tensor->ndim] = (int64_t)extent;
    tensor->ndim++;
}

static bool safetensors_check_extent(dlpark__safetensors_reader *reader, safetensors_tensor *tensor, size_t at,
                                     uint64_t extent)
{
    if (extent <= INT64_MAX) {
        safetensors_add_extent(tensor, extent);
        return true;
    }
    tensor->is_broken = true;
    safetensors_add_extent(tensor, 0);
    return SAFETENSORS_FAULT(reader, DLPARK_E_FORMAT, "overflow", at, tensor, "shape[%lu] is %llu, above 2^63-1",
                             (unsigned long)tensor->ndim - 1, (unsigned long long)extent);
}

static bool safetensors_read_shape(dlpark__safetensors_reader *reader, safetensors_tensor *tensor)
{
    dlpark__json *json = &reader->json;
    bool is_empty;

    if (!dlpark__json_open(json, '[', "the '[' of a shape", &is_empty))
        return false;
    if (is_empty)
        return true;
    do {
        uint64_t extent;
        (void)dlpark__json_peek(json);
        size_t at = json->at;
        if (!dlpark__json_uint(json, "an extent", &extent) || !safetensors_check_extent(reader, tensor, at, extent))
            return false;
    } while (dlpark__json_more(json, ']'));
    return json->fault[0] == '\0';
}

static bool safetensors_read_offsets(dlpark__safetensors_reader *reader, safetensors_tensor *tensor)
{
    dlpark__json *json = &reader->json;

    return dlpark__json_expect(json, '[', "the '[' of data_offsets") &&
           dlpark__json_uint(json, "where the tensor begins", &tensor->begin) &&
           dlpark__json_expect(json, ',', "',' and the tensor's end") &&
           dlpark__json_uint(json, "where the tensor ends", &tensor->end) &&
           dlpark__json_expect(json, ']', "the ']' behind two offsets");
}

/* ---- A tensor ---- */

static bool safetensors_read_field(dlpark__safetensors_reader *reader, safetensors_tensor *tensor, size_t at,
                                   const dlpark__json_text *key)
{
    unsigned field = dlpark__safetensors_is(key, "dtype")          ? FIELD_DTYPE
                     : dlpark__safetensors_is(key, "shape")        ? FIELD_SHAPE
                     : dlpark__safetensors_is(key, "data_offsets") ? FIELD_OFFSETS
                                                                   : 0;

    if ((tensor->seen & field) != 0)
        return dlpark__json_fail(&reader->json, at, "tensor '%s' has two fields \"%s\"",
                                 dlpark_file_name_text(tensor->name->text, tensor->name->nbytes).text,
                                 dlpark_file_name_text(key->text, key->nbytes).text);
    tensor->seen |= field;
    switch (field) {
    case FIELD_DTYPE:
        return safetensors_read_dtype(reader, tensor);
    case FIELD_SHAPE:
        return safetensors_read_shape(reader, tensor);
    case FIELD_OFFSETS:
        return safetensors_read_offsets(reader, tensor);
    default: /* of a later version, or somebody's own */
        return dlpark__json_skip(&reader->json);
    }
}

static bool safetensors_read_fields(dlpark__safetensors_reader *reader, safetensors_tensor *tensor)
{
    dlpark__json *json = &reader->json;
    bool is_empty;

    if (!dlpark__json_open(json, '{', "the '{' of a tensor", &is_empty))
        return false;
    if (!is_empty) {
        do {
            dlpark__json_text key;
            (void)dlpark__json_peek(json);
            size_t at = json->at;
            if (!dlpark__json_key(json, &key) || !safetensors_read_field(reader, tensor, at, &key))
                return false;
        } while (dlpark__json_more(json, '}'));
        if (json->fault[0] != '\0')
            return false;
    }
    unsigned missing = FIELD_ALL & ~tensor->seen;
    if (missing == 0)
        return true;
    return dlpark__json_fail(json, json->at - 1, "tensor '%s' has no \"%s\"",
                             dlpark_file_name_text(tensor->name->text, tensor->name->nbytes).text,
                             missing & FIELD_DTYPE   ? "dtype"
                             : missing & FIELD_SHAPE ? "shape"
                                                     : "data_offsets");
}

/* "shape [2, 3] of F32", of as many extents as are kept. */
typedef struct safetensors_shape_text {
    char text[200];
} safetensors_shape_text;

static safetensors_shape_text safetensors_show_shape(const safetensors_tensor *tensor)
{
    safetensors_shape_text out;
    int32_t shown = tensor->ndim < DLPARK_MAX_NDIM ? (int32_t)tensor->ndim : DLPARK_MAX_NDIM;

    snprintf(out.text, sizeof out.text, "shape %s of %s", dlpark__layout_list(shown, tensor->shape).text,
             dlpark__safetensors_types[tensor->type].name);
    return out;
}

/* Whether shape and dtype take the bytes that the offsets span. In bits, each step checked. */
static bool safetensors_check_size(dlpark__safetensors_reader *reader, const safetensors_tensor *tensor)
{
    uint64_t bits = 0, each = dlpark__safetensors_types[tensor->type].dtype.bits, nbytes = tensor->end - tensor->begin;
    bool is_vast = tensor->is_vast || tensor->numel > INT64_MAX || __builtin_mul_overflow(tensor->numel, each, &bits);

    if (is_vast)
        return SAFETENSORS_FAULT(reader, DLPARK_E_FORMAT, "overflow", tensor->at, tensor,
                                 "%s has more than 2^64-1 bits", safetensors_show_shape(tensor).text);
    if (tensor->is_empty)
        bits = 0;
    if (bits % 8 != 0)
        return SAFETENSORS_FAULT(reader, DLPARK_E_FORMAT, "bits", tensor->at, tensor,
                                 "%s has %llu bits, which are not whole bytes", safetensors_show_shape(tensor).text,
                                 (unsigned long long)bits);
    if (bits / 8 != nbytes)
        return SAFETENSORS_FAULT(reader, DLPARK_E_FORMAT, "size", tensor->at, tensor,
                                 "%s has %llu bytes, data_offsets [%llu, %llu] span %llu",
                                 safetensors_show_shape(tensor).text, (unsigned long long)(bits / 8),
                                 (unsigned long long)tensor->begin, (unsigned long long)tensor->end,
                                 (unsigned long long)nbytes);
    return true;
}

/* A tensor that is not within the file has no place in the index. */
static bool safetensors_check_offsets(dlpark__safetensors_reader *reader, safetensors_tensor *tensor, bool *is_within)
{
    unsigned long long begin = tensor->begin, end = tensor->end, nbytes = reader->data_nbytes;
    bool had_outside = reader->has_outside;

    *is_within = false;
    reader->has_outside = true;
    if (begin > end)
        return SAFETENSORS_FAULT(reader, DLPARK_E_FORMAT, "offsets", tensor->at, tensor,
                                 "data_offsets [%llu, %llu] end before they begin", begin, end);
    if (end > nbytes)
        return SAFETENSORS_FAULT(
            reader, DLPARK_E_FORMAT, "truncated", tensor->at, tensor,
            "data_offsets [%llu, %llu] end %llu bytes behind the file, which has %llu bytes of data", begin, end,
            end - nbytes, nbytes);
    *is_within = true;
    reader->has_outside = had_outside;
    return true;
}

bool dlpark__safetensors_read_tensor(dlpark__safetensors_reader *reader, size_t at, const dlpark__json_text *name)
{
    safetensors_tensor tensor;
    bool is_within;

    tensor.name = name;
    tensor.at = at;
    tensor.seen = 0;
    tensor.is_broken = false;
    safetensors_begin_shape(&tensor);
    if (!safetensors_read_fields(reader, &tensor))
        return false;
    if (!safetensors_check_offsets(reader, &tensor, &is_within))
        return false;
    if (!is_within)
        return true;
    if (!tensor.is_broken && !safetensors_check_size(reader, &tensor))
        return false;
    if (tensor.ndim > UINT16_MAX) {
        reader->has_outside = true; /* it has no place in the index either */
        return SAFETENSORS_FAULT(reader, DLPARK_E_LIMIT, "rank", at, &tensor, "has %lu dimensions, more than %d",
                                 (unsigned long)tensor.ndim, UINT16_MAX);
    }
    dlpark__index_entry entry = {
        .name = {(uint32_t)(name->text - reader->json.text), (uint32_t)name->nbytes},
        .ndim = (uint16_t)tensor.ndim,
        .type = tensor.type,
        .begin = reader->data_begin + tensor.begin,
        .nbytes = tensor.end - tensor.begin,
    };
    reader->is_seamless &= tensor.begin == reader->reached;
    reader->reached = tensor.end;
    reader->is_starved = !dlpark__index_add(reader->index, &entry, tensor.shape);
    return !reader->is_starved;
}
