/*
 * The header as every writer that follows the reference has it: no white space, no escapes, the fields of a tensor in their
 * order. There may be a million tensors, and this reads most of them in a quarter of the time: the cursor is a pointer in a
 * register, and no step asks where the text ends, as zeros lie behind it, which no step takes.
 *
 * It knows no faults. What is not as expected, not right, or not yet read to its end, is left where it is: for
 * safetensors_tensor.c to look closer, or for more text to come.
 */
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "../../core/internal.h"
#include "../swap.h"
#include "safetensors_parts.h"

/* ---- Tensors ---- */

/* A tensor as it is read. */
typedef struct usual_tensor {
    uint64_t begin, end;
    uint64_t numel;
    uint32_t ndim;
    uint8_t type;
} usual_tensor;

/* The steps return where they end; NULL where the text is another. */

static inline bool usual_is(const char *at, const char *word, size_t nbytes)
{
    return memcmp(at, word, nbytes) == 0;
}
#define USUAL_IS(at, word) usual_is((at), (word), sizeof(word) - 1)

/* Where a name ends: at a quotation mark, as nothing that is written with a backslash, and no control, is taken. */
static inline const char *usual_name(const char *at)
{
#if defined(__SSE2__)
    for (;; at += 16) {
        __m128i bytes = _mm_loadu_si128((const void *)at);
        __m128i special =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        special = _mm_or_si128(special, _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes));
        unsigned found = (unsigned)_mm_movemask_epi8(special);
        if (found != 0) {
            at += __builtin_ctz(found);
            break;
        }
    }
#else
    while (*at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
#endif
    return *at == '"' ? at : NULL;
}

/* Whether eight bytes are digits, and then their value. Little-endian. */
static inline bool usual_eight_digits(const char *text, uint64_t *value)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word;

    memcpy(&word, text, sizeof word);
    word ^= ones * '0'; /* a digit is its value; what is none has a bit above, or is above 9 */
    if ((((word + ones * 0x76) | word) & ones * 0x80) != 0)
        return false;
    /* Neighbours are joined, thrice. */
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    *value = (word * 10000 + (word >> 32)) & UINT64_C(0xFFFFFFFF);
    return true;
}

/* At most 19 digits, which cannot overflow. */
static inline const char *usual_number(const char *at, uint64_t *out)
{
    const char *begin = at;
    uint64_t value = 0;
    unsigned digit;

    if (!DLPARK__IS_BIG_ENDIAN && usual_eight_digits(at, &value))
        at += 8;
    for (; (digit = (unsigned char)*at - (unsigned)'0') <= 9; at++)
        value = value * 10 + digit;
    *out = value;
    return at == begin || at - begin > 19 || (*begin == '0' && at > begin + 1) ? NULL : at;
}

/* Extents that have 32 bits and are not 0 go to where the next tensor's will be. */
static inline const char *usual_shape(const char *at, uint32_t *extents, usual_tensor *tensor)
{
    uint64_t extent;
    bool is_odd = false;

    tensor->ndim = 0;
    tensor->numel = 1;
    if (*at == ']')
        return at + 1;
    do {
        at = usual_number(at, &extent);
        if (at == NULL || tensor->ndim == DLPARK_MAX_NDIM)
            return NULL;
        extents[tensor->ndim++] = (uint32_t)extent;
        is_odd |= extent - 1 >= UINT32_MAX || __builtin_mul_overflow(tensor->numel, extent, &tensor->numel);
    } while (*at++ == ',');
    return at[-1] == ']' && !is_odd ? at : NULL;
}

/* The eight bytes that a dtype and what is behind it begin with, and how many are the dtype's. Not of the two that are
 * longer. */
static const struct {
    char text[9];
    uint8_t nbytes;
} usual_types[DLPARK__SAFETENSORS_TYPES] = {
    {"U64\",\"sh", 3}, {"I64\",\"sh", 3}, {"F64\",\"sh", 3}, {"C64\",\"sh", 3}, {"F32\",\"sh", 3}, {"U32\",\"sh", 3},
    {"I32\",\"sh", 3}, {"BF16\",\"s", 4}, {"F16\",\"sh", 3}, {"U16\",\"sh", 3}, {"I16\",\"sh", 3}, {"", 0},
    {"", 0},           {"F8_E8M0\"", 7},  {"F8_E4M3\"", 7},  {"F8_E5M2\"", 7},  {"I8\",\"sha", 2}, {"U8\",\"sha", 2},
    {"F6_E3M2\"", 7},  {"F6_E2M3\"", 7},  {"F4\",\"sha", 2}, {"BOOL\",\"s", 4},
};

static inline const char *usual_type(const char *at, uint8_t *type)
{
    if (memcmp(at, usual_types[*type].text, 8) != 0) {
        *type = 0;
        while (memcmp(at, usual_types[*type].text, 8) != 0)
            if (++*type == DLPARK__SAFETENSORS_TYPES)
                return NULL;
    }
    return at + usual_types[*type].nbytes;
}

static inline const char *usual_fields(const char *at, uint32_t *extents, usual_tensor *tensor)
{
    if (!USUAL_IS(at, "\":{\"dtype\":\""))
        return NULL;
    at = usual_type(at + 12, &tensor->type);
    if (at == NULL || !USUAL_IS(at, "\",\"shape\":["))
        return NULL;
    at = usual_shape(at + 11, extents, tensor);
    if (at == NULL || !USUAL_IS(at, ",\"data_offsets\":["))
        return NULL;
    at = usual_number(at + 17, &tensor->begin);
    if (at == NULL || *at != ',')
        return NULL;
    at = usual_number(at + 1, &tensor->end);
    return at != NULL && USUAL_IS(at, "]}") ? at + 2 : NULL;
}

static inline bool usual_is_right(const dlpark__safetensors_reader *reader, const usual_tensor *tensor)
{
    uint64_t bits;

    return tensor->begin <= tensor->end && tensor->end <= reader->data_nbytes &&
           !__builtin_mul_overflow(tensor->numel, dlpark__safetensors_types[tensor->type].dtype.bits, &bits) &&
           bits % 8 == 0 && bits / 8 == tensor->end - tensor->begin;
}

/* A place for it was made. */
static inline void usual_add(dlpark__safetensors_reader *reader, dlpark__span_text name, const usual_tensor *tensor)
{
    dlpark__index *index = reader->index;

    index->entries[index->count++] = (dlpark__index_entry){
        .name = name,
        .shape = (uint32_t)index->extents_count,
        .ndim = (uint16_t)tensor->ndim,
        .type = tensor->type,
        .begin = reader->data_begin + tensor->begin,
        .nbytes = tensor->end - tensor->begin,
    };
    index->extents_count += tensor->ndim;
    reader->is_seamless &= tensor->begin == reader->reached;
    reader->reached = tensor->end;
}

/* Entries, from the cursor on, which is before a tensor and the '{' or ',' before it. */
static bool usual_read_tensors(dlpark__safetensors_reader *reader)
{
    dlpark__index *index = reader->index;
    char *text = reader->json.text;
    const char *at = text + reader->json.at;
    usual_tensor tensor = {.type = index->count > 0 ? index->entries[index->count - 1].type : 0};

    if (tensor.type == DLPARK__SAFETENSORS_TYPES || *at++ != (reader->json.at == 0 ? '{' : ','))
        return true;
    while (*at == '"') {
        const char *name = at + 1, *end = usual_name(name);
        if (end == NULL || (end - name == 12 && USUAL_IS(name, "__metadata__")))
            break;
        reader->is_starved = !dlpark__index_reserve(index, DLPARK_MAX_NDIM);
        if (reader->is_starved)
            return false;
        at = usual_fields(end, index->extents + index->extents_count, &tensor);
        if (at == NULL || !usual_is_right(reader, &tensor))
            break;
        usual_add(reader, (dlpark__span_text){(uint32_t)(name - text), (uint32_t)(end - name)}, &tensor);
        reader->json.at = (size_t)(at - text);
        if (*at++ != ',')
            break;
    }
    return true;
}

/* ---- Metadata ---- */

/* From a quotation mark on. */
static const char *usual_pairs(dlpark__safetensors_reader *reader, const char *at)
{
    const char *text = reader->json.text;

    do {
        const char *key = at + 1, *key_end = usual_name(key);
        if (key_end == NULL || !USUAL_IS(key_end, "\":\""))
            return NULL;
        const char *value = key_end + 3, *value_end = usual_name(value);
        if (value_end == NULL)
            return NULL;
        reader->is_starved = !dlpark__index_add_pair(
            reader->index, (dlpark__span_text){(uint32_t)(key - text), (uint32_t)(key_end - key)},
            (dlpark__span_text){(uint32_t)(value - text), (uint32_t)(value_end - value)});
        if (reader->is_starved)
            return NULL;
        at = value_end + 1;
    } while (*at++ == ',' && *at == '"');
    return at[-1] == '}' ? at : NULL;
}

/* Where they come first, as the reference writes them. */
static bool usual_read_metadata(dlpark__safetensors_reader *reader)
{
    const char *text = reader->json.text, *at;

    if (!USUAL_IS(text, "{\"__metadata__\":{\""))
        return true;
    at = usual_pairs(reader, text + 17);
    if (at == NULL) {
        reader->index->pairs_count = 0;
        return !reader->is_starved;
    }
    reader->has_metadata = true;
    reader->json.at = (size_t)(at - text);
    return true;
}

bool dlpark__safetensors_read_usual(dlpark__safetensors_reader *reader)
{
    return (reader->json.at > 0 || usual_read_metadata(reader)) && usual_read_tensors(reader);
}
