/* One tensor of a GGUF header: its name, extents, type and place, and whether they agree. */
#include <stdio.h>
#include <string.h>

#include "../../core/internal.h"
#include "gguf_parts.h"

/* What is no dtype is the bytes of its blocks. */
const dlpark__index_type dlpark__gguf_types[DLPARK__GGUF_TYPES] = {
    [0] = {"F32", {kDLFloat, 32, 1}, false},    [1] = {"F16", {kDLFloat, 16, 1}, false},
    [2] = {"Q4_0", {kDLUInt, 8, 1}, false},     [3] = {"Q4_1", {kDLUInt, 8, 1}, false},
    [6] = {"Q5_0", {kDLUInt, 8, 1}, false},     [7] = {"Q5_1", {kDLUInt, 8, 1}, false},
    [8] = {"Q8_0", {kDLUInt, 8, 1}, false},     [9] = {"Q8_1", {kDLUInt, 8, 1}, false},
    [10] = {"Q2_K", {kDLUInt, 8, 1}, false},    [11] = {"Q3_K", {kDLUInt, 8, 1}, false},
    [12] = {"Q4_K", {kDLUInt, 8, 1}, false},    [13] = {"Q5_K", {kDLUInt, 8, 1}, false},
    [14] = {"Q6_K", {kDLUInt, 8, 1}, false},    [15] = {"Q8_K", {kDLUInt, 8, 1}, false},
    [16] = {"IQ2_XXS", {kDLUInt, 8, 1}, false}, [17] = {"IQ2_XS", {kDLUInt, 8, 1}, false},
    [18] = {"IQ3_XXS", {kDLUInt, 8, 1}, false}, [19] = {"IQ1_S", {kDLUInt, 8, 1}, false},
    [20] = {"IQ4_NL", {kDLUInt, 8, 1}, false},  [21] = {"IQ3_S", {kDLUInt, 8, 1}, false},
    [22] = {"IQ2_S", {kDLUInt, 8, 1}, false},   [23] = {"IQ4_XS", {kDLUInt, 8, 1}, false},
    [24] = {"I8", {kDLInt, 8, 1}, false},       [25] = {"I16", {kDLInt, 16, 1}, false},
    [26] = {"I32", {kDLInt, 32, 1}, false},     [27] = {"I64", {kDLInt, 64, 1}, false},
    [28] = {"F64", {kDLFloat, 64, 1}, false},   [29] = {"IQ1_M", {kDLUInt, 8, 1}, false},
    [30] = {"BF16", {kDLBfloat, 16, 1}, false}, [34] = {"TQ1_0", {kDLUInt, 8, 1}, false},
    [35] = {"TQ2_0", {kDLUInt, 8, 1}, false},   [39] = {"MXFP4", {kDLUInt, 8, 1}, false},
    [40] = {"NVFP4", {kDLUInt, 8, 1}, false},   [41] = {"Q1_0", {kDLUInt, 8, 1}, false},
};

/* So many elements, all of one row, take so many bytes: as ggml has it. The package gguf 0.19.0 says 40 of Q8_1. */
static const struct gguf_block {
    uint16_t numel;
    uint16_t nbytes;
} gguf_blocks[DLPARK__GGUF_TYPES] = {
    [0] = {1, 4},      [1] = {1, 2},      [2] = {32, 18},   [3] = {32, 20},    [6] = {32, 22},    [7] = {32, 24},
    [8] = {32, 34},    [9] = {32, 36},    [10] = {256, 84}, [11] = {256, 110}, [12] = {256, 144}, [13] = {256, 176},
    [14] = {256, 210}, [15] = {256, 292}, [16] = {256, 66}, [17] = {256, 74},  [18] = {256, 98},  [19] = {256, 50},
    [20] = {32, 18},   [21] = {256, 110}, [22] = {256, 82}, [23] = {256, 136}, [24] = {1, 1},     [25] = {1, 2},
    [26] = {1, 4},     [27] = {1, 8},     [28] = {1, 8},    [29] = {256, 56},  [30] = {1, 2},     [34] = {256, 54},
    [35] = {256, 66},  [39] = {32, 17},   [40] = {64, 36},  [41] = {128, 18},
};

/* One tensor, as it is read. */
typedef struct gguf_tensor {
    uint64_t at; /* of it, in the file */
    uint64_t ndim;
    uint64_t extents[DLPARK__GGUF_MAX_NDIM]; /* as in the file: the fastest first */
    uint64_t type;
    uint64_t begin; /* from where the data begins */
    uint64_t nbytes;
    bool is_broken; /* already told */
} gguf_tensor;

/* ---- What is there ---- */

static bool gguf_tensor_read_name(dlpark__gguf_reader *reader, gguf_tensor *tensor, dlpark__span_text *name)
{
    bool goes_on;

    if (!dlpark__gguf_name(reader, "a tensor's name", name))
        return false;
    tensor->is_broken = !dlpark__gguf_is_utf8(reader, *name, "a tensor's name", &goes_on);
    return goes_on;
}

static bool gguf_tensor_read_extents(dlpark__gguf_reader *reader, gguf_tensor *tensor)
{
    uint64_t at = dlpark__gguf_at(reader);

    if (!dlpark__gguf_take(reader, 4, "the number of dimensions", &tensor->ndim))
        return false;
    if (tensor->ndim > DLPARK__GGUF_MAX_NDIM) {
        tensor->is_broken = true;
        return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "rank", at, "has %llu dimensions, more than %d",
                                  (unsigned long long)tensor->ndim, DLPARK__GGUF_MAX_NDIM) &&
               dlpark__gguf_skip(reader, tensor->ndim * 8, "the extents of a tensor");
    }
    for (uint64_t i = 0; i < tensor->ndim; i++)
        if (!dlpark__gguf_take(reader, 8, "an extent", &tensor->extents[i]))
            return false;
    return true;
}

/* ---- Whether it can be ---- */

static bool gguf_tensor_check_type(dlpark__gguf_reader *reader, gguf_tensor *tensor, uint64_t at)
{
    if (tensor->type < DLPARK__GGUF_TYPES && dlpark__gguf_types[tensor->type].name != NULL)
        return true;
    tensor->is_broken = true;
    return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "type", at,
                              tensor->type < DLPARK__GGUF_TYPES ? "is of type %llu, which ggml took out"
                                                                : "is of type %llu, and 0 to 41 are known",
                              (unsigned long long)tensor->type);
}

/* "[3, 2] of F32", the slowest first. */
typedef struct gguf_shape_text {
    char text[200];
} gguf_shape_text;

static gguf_shape_text gguf_tensor_show(const gguf_tensor *tensor)
{
    int64_t shape[DLPARK__GGUF_MAX_NDIM];
    gguf_shape_text out;

    for (uint64_t i = 0; i < tensor->ndim; i++)
        shape[i] = (int64_t)tensor->extents[tensor->ndim - 1 - i];
    snprintf(out.text, sizeof out.text, "shape %s of %s", dlpark__layout_list((int32_t)tensor->ndim, shape).text,
             dlpark__gguf_types[tensor->type].name);
    return out;
}

/* Its bytes. An extent of 0 excuses no other from being too large. */
static bool gguf_tensor_measure(gguf_tensor *tensor)
{
    const struct gguf_block *block = &gguf_blocks[tensor->type];
    uint64_t nbytes = block->nbytes;
    bool is_empty = false, is_vast = false;

    for (uint64_t i = 0; i < tensor->ndim; i++) {
        uint64_t factor = i == 0 ? tensor->extents[i] / block->numel : tensor->extents[i];
        is_empty |= factor == 0;
        is_vast |= factor != 0 && __builtin_mul_overflow(nbytes, factor, &nbytes);
    }
    tensor->nbytes = is_empty ? 0 : nbytes;
    return !is_vast && nbytes <= INT64_MAX;
}

static bool gguf_tensor_check_size(dlpark__gguf_reader *reader, gguf_tensor *tensor)
{
    unsigned numel = gguf_blocks[tensor->type].numel;
    uint64_t row = tensor->ndim > 0 ? tensor->extents[0] : 1;

    for (uint64_t i = 0; i < tensor->ndim; i++) {
        if (tensor->extents[i] <= INT64_MAX)
            continue;
        tensor->is_broken = true;
        return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "overflow", tensor->at, "extent %llu is %llu, above 2^63-1",
                                  (unsigned long long)i, (unsigned long long)tensor->extents[i]);
    }
    tensor->is_broken = row % numel != 0;
    if (tensor->is_broken)
        return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "block", tensor->at,
                                  "%s has rows of %llu elements, which are not whole blocks of %u",
                                  gguf_tensor_show(tensor).text, (unsigned long long)row, numel);
    tensor->is_broken = !gguf_tensor_measure(tensor);
    if (tensor->is_broken)
        return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "overflow", tensor->at, "%s has more than 2^63-1 bytes",
                                  gguf_tensor_show(tensor).text);
    return true;
}

static bool gguf_tensor_check_offset(dlpark__gguf_reader *reader, gguf_tensor *tensor, uint64_t at)
{
    if (tensor->begin % reader->alignment == 0)
        return true;
    tensor->is_broken = true;
    return DLPARK__GGUF_FAULT(reader, DLPARK_E_FORMAT, "offset", at,
                              "begins at %llu of the data, which is no multiple of %llu, the file's alignment",
                              (unsigned long long)tensor->begin, (unsigned long long)reader->alignment);
}

/* ---- A tensor ---- */

static bool gguf_tensor_add(dlpark__gguf_reader *reader, const gguf_tensor *tensor, dlpark__span_text name)
{
    const struct gguf_block *block = &gguf_blocks[tensor->type];
    int64_t shape[DLPARK__GGUF_MAX_NDIM];
    dlpark__index_entry entry = {
        .name = name,
        .ndim = (uint16_t)tensor->ndim,
        .type = (uint8_t)tensor->type,
        .begin = tensor->begin,
        .nbytes = tensor->nbytes,
    };

    for (uint64_t i = 0; i < tensor->ndim; i++)
        shape[tensor->ndim - 1 - i] = (int64_t)tensor->extents[i];
    if (block->numel > 1) /* the bytes of a row */
        shape[tensor->ndim - 1] = shape[tensor->ndim - 1] / block->numel * block->nbytes;
    if (dlpark__index_add(reader->index, &entry, shape))
        return true;
    reader->status = dlpark_error_set(reader->err, DLPARK_E_MEMORY, "%s: no memory for its %zu tensors",
                                      reader->source->name.text, reader->index->count);
    return false;
}

bool dlpark__gguf_read_tensor(dlpark__gguf_reader *reader)
{
    gguf_tensor tensor = {.at = dlpark__gguf_at(reader)};
    dlpark__span_text name;

    reader->name.nbytes = UINT32_MAX;
    if (!gguf_tensor_read_name(reader, &tensor, &name))
        return false;
    reader->name = name;
    if (!gguf_tensor_read_extents(reader, &tensor))
        return false;
    uint64_t at = dlpark__gguf_at(reader);
    if (!dlpark__gguf_take(reader, 4, "the type of a tensor", &tensor.type) ||
        !dlpark__gguf_take(reader, 8, "the place of a tensor", &tensor.begin) ||
        !gguf_tensor_check_type(reader, &tensor, at) || !gguf_tensor_check_offset(reader, &tensor, at + 4))
        return false;
    if (!tensor.is_broken && !gguf_tensor_check_size(reader, &tensor))
        return false;
    if (!tensor.is_broken)
        return gguf_tensor_add(reader, &tensor, name);
    reader->has_outside = true;
    return true;
}
