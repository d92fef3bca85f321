/* The tensors of an open file: mapped, or copied. */
#include <string.h>

#include "../core/internal.h"
#include "format.h"
#include "swap.h"

/* An address that is a multiple of more is luck. */
#define FILE_MAX_ALIGNMENT ((uint64_t)4096)

/* ---- Descriptions ---- */

/* A dtype and shape as the options want float4. Pairs need an even last extent; a tensor without one stays as it is. */
static void file_apply_float4(const dlpark_file *file, DLDataType *dtype, int32_t ndim, int64_t *shape)
{
    if (ndim > DLPARK_MAX_NDIM || dtype->code != kDLFloat4_e2m1fn || file->options.float4 == DLPARK_FILE_FLOAT4_LOGICAL)
        return;
    if (ndim == 0 || shape[ndim - 1] % 2 != 0)
        return;
    shape[ndim - 1] /= 2;
    if (file->options.float4 == DLPARK_FILE_FLOAT4_PAIRS)
        dtype->lanes = 2;
    else
        *dtype = DLPARK_U8;
}

static uint32_t file_flags(const dlpark__index_entry *entry, const dlpark__index_type *type)
{
    bool is_swapped = type->is_big_endian != DLPARK__IS_BIG_ENDIAN && type->dtype.bits > 8;

    return (entry->is_column_major ? DLPARK_FILE_COLUMN_MAJOR : 0) |
           (entry->is_compressed ? DLPARK_FILE_COMPRESSED : 0) | (is_swapped ? DLPARK_FILE_SWAPPED : 0);
}

dlpark_status dlpark_file_entry_get(const dlpark_file *file, int64_t index, dlpark_file_entry *out, dlpark_error *err)
{
    DLPARK_TRY(dlpark__file_check_index(file, index, err));
    const dlpark__index_entry *entry = &file->index.entries[index];
    const dlpark__index_type *type = &file->index.types[entry->type];
    uint64_t at = entry->begin; /* a map begins at a page, memory of others anywhere */
    const dlpark__source *source = dlpark__file_source(file, index);
    if (source->descriptor < 0)
        at += (uintptr_t)atomic_load_explicit(&source->map, memory_order_relaxed);
    uint64_t low = at & (~at + 1); /* its lowest bit */

    out->name = file->index.text + entry->name.at;
    out->name_nbytes = entry->name.nbytes;
    out->type = type->name;
    out->dtype = type->dtype;
    out->offset = entry->begin;
    out->nbytes = entry->nbytes;
    out->alignment_bytes = (size_t)(low > FILE_MAX_ALIGNMENT ? FILE_MAX_ALIGNMENT : low);
    out->index = index;
    out->flags = file_flags(entry, type);
    out->ndim = entry->ndim;
    dlpark__index_shape(&file->index, entry, out->shape);
    file_apply_float4(file, &out->dtype, out->ndim, out->shape);
    return DLPARK_OK;
}

/* The same for one that a tensor is made of. */
static dlpark_status file_find_entry(const dlpark_file *file, int64_t index, dlpark_file_entry *entry,
                                     dlpark_error *err)
{
    DLPARK_TRY(dlpark_file_entry_get(file, index, entry, err));
    if (entry->ndim <= DLPARK_MAX_NDIM)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                            "%s: tensor '%s' has %d dimensions, more than the %d of a tensor", file->source->name.text,
                            dlpark_file_name_text(entry->name, entry->name_nbytes).text, (int)entry->ndim,
                            DLPARK_MAX_NDIM);
}

/* ---- Byte order ---- */

static DLPARK_COLD dlpark_status file_refuse_mapping(const dlpark_file *file, const dlpark_file_entry *entry,
                                                     dlpark_error *err)
{
    const char *what = (entry->flags & DLPARK_FILE_COMPRESSED) != 0 ? "compressed"
                       : DLPARK__IS_BIG_ENDIAN                      ? "little-endian, and this machine is not"
                                                                    : "big-endian, and this machine is not";

    return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "%s: tensor '%s' is %s: it can be loaded, not mapped",
                            file->source->name.text, dlpark_file_name_text(entry->name, entry->name_nbytes).text, what);
}

/* What cannot be used where it is in the file. */
static bool file_is_mappable(const dlpark_file_entry *entry)
{
    return (entry->flags & (DLPARK_FILE_COMPRESSED | DLPARK_FILE_SWAPPED)) == 0 ||
           ((entry->flags & DLPARK_FILE_COMPRESSED) == 0 && entry->nbytes == 0);
}

/* ---- Mapped ---- */

/* A tensor of fewer bytes comes by itself, with what the system reads ahead. */
#define FILE_PREFETCH_FROM ((uint64_t)1 << 20)

static dlpark_status file_prefetch_all(const dlpark_file *file, dlpark_error *err)
{
    const dlpark__shards *shards = &file->shards;

    for (size_t i = 0; i < shards->count; i++)
        DLPARK_TRY(dlpark__source_read_threads(shards->items[i].source, 0, NULL, shards->items[i].source->nbytes,
                                               file->options.threads, err));
    return dlpark__source_read_threads(file->source, 0, NULL, file->source->nbytes, file->options.threads, err);
}

dlpark_status dlpark_file_prefetch(const dlpark_file *file, const int64_t *indexes, size_t count, dlpark_error *err)
{
    if (indexes == NULL)
        return file_prefetch_all(file, err);
    for (size_t i = 0; i < count; i++)
        DLPARK_TRY(dlpark__file_check_index(file, indexes[i], err));
    for (size_t i = 0; i < count; i++) {
        const dlpark__source *source = dlpark__file_source(file, indexes[i]);
        const dlpark__index_entry *entry = &file->index.entries[indexes[i]];
        uint64_t left = source->nbytes - entry->begin; /* of a compressed one fewer are there than its `nbytes` */
        uint64_t nbytes = entry->nbytes < left ? entry->nbytes : left;
        DLPARK_TRY(dlpark__source_read_threads(source, entry->begin, NULL, nbytes, file->options.threads, err));
    }
    return DLPARK_OK;
}

/* What the file says of a tensor, and where its bytes are mapped. */
static dlpark_status file_locate(dlpark_file *file, int64_t index, dlpark_file_entry *entry, unsigned char **data,
                                 dlpark_error *err)
{
    DLPARK_TRY(file_find_entry(file, index, entry, err));
    if (!file_is_mappable(entry))
        return file_refuse_mapping(file, entry, err);
    if (file->options.access == DLPARK_FILE_ACCESS_PREFETCH && entry->nbytes >= FILE_PREFETCH_FROM)
        DLPARK_TRY(dlpark_file_prefetch(file, &index, 1, err));
    DLPARK_TRY(dlpark__source_map(dlpark__file_source(file, index), data, err));
    *data = entry->nbytes != 0 ? *data + entry->offset : NULL;
    return DLPARK_OK;
}

dlpark_status dlpark_file_view(dlpark_file *file, int64_t index, dlpark_view *view, dlpark_error *err)
{
    dlpark_file_entry entry;
    unsigned char *data = NULL;
    int64_t strides[DLPARK_MAX_NDIM];

    DLPARK_TRY(file_locate(file, index, &entry, &data, err));
    DLTensor tensor = {data, {kDLCPU, 0}, entry.ndim, entry.dtype, entry.shape, NULL, 0};
    if ((entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0) {
        dlpark__file_column_strides(&entry, strides);
        tensor.strides = strides;
    }
    uint64_t flags = file->options.is_private ? 0 : DLPARK_TENSOR_READ_ONLY;
    DLPARK_TRY(dlpark_check(&tensor, flags, view, err)); /* GCOVR_EXCL_BR_LINE: checked when the file was opened */
    /* The mapping is the file's own, and was made to be written or not. */
    return file->options.is_private ? dlpark_view_allow_write(view, err) : DLPARK_OK;
}

/* Of a tensor of whole bytes as they are in the file, where that is mapped by now. NULL: the general way has to look. */
static inline DLManagedTensorVersioned *file_share_usual(const dlpark_file *file, dlpark__source *source, int64_t index)
{
    const dlpark__index_entry *entry = &file->index.entries[index];
    const dlpark__index_type *type = &file->index.types[entry->type];
    unsigned char *map = atomic_load_explicit(&source->map, memory_order_acquire);
    int64_t shape[DLPARK_MAX_NDIM];

    if (map == NULL || entry->nbytes == 0 || entry->ndim > DLPARK_MAX_NDIM || file_flags(entry, type) != 0 ||
        !dlpark__dtype_is_usual(type->dtype) || file->options.access == DLPARK_FILE_ACCESS_PREFETCH)
        return NULL;
    dlpark__index_shape(&file->index, entry, shape);
    DLManagedTensorVersioned *made = dlpark__tensor_new_heap(
        map + entry->begin, dlpark__tensor_kind(type->dtype, entry->ndim), shape, NULL, dlpark__source_release);
    if (made != NULL)
        made->manager_ctx = source;
    return made;
}

static dlpark_status file_share_general(dlpark_file *file, int64_t index, dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_file_entry entry;
    unsigned char *data = NULL;
    int64_t strides[DLPARK_MAX_NDIM];

    DLPARK_TRY(file_locate(file, index, &entry, &data, err));
    dlpark_tensor_desc desc = {.data = data,
                               .dtype = entry.dtype,
                               .ndim = entry.ndim,
                               .shape = DLPARK_DIMS(entry.shape),
                               .owner = dlpark__file_source(file, index),
                               .release = dlpark__source_release};
    if ((entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0) {
        dlpark__file_column_strides(&entry, strides);
        desc.strides = DLPARK_DIMS(strides);
    }
    return dlpark_tensor_new_sized(tensor, &desc, sizeof desc, NULL, err);
}

dlpark_status dlpark_file_share(dlpark_file *file, int64_t index, dlpark_tensor *tensor, dlpark_error *err)
{
    DLManagedTensorVersioned *made = NULL;

    DLPARK_TRY(dlpark__file_check_index(file, index, err));
    dlpark__source *source = dlpark__file_source(file, index);
    if (tensor->managed == NULL)
        made = file_share_usual(file, source, index);
    if (made != NULL)
        tensor->managed = made;
    else
        DLPARK_TRY(file_share_general(file, index, tensor, err));
    if (!file->options.is_private)
        tensor->managed->flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    (void)dlpark__source_share(source);
    return DLPARK_OK;
}

/* ---- Copied ---- */

dlpark_status dlpark__file_read_bytes(const dlpark_file *file, const dlpark_file_entry *entry, uint64_t begin,
                                      unsigned char *to, uint64_t nbytes, dlpark_error *err)
{
    if ((entry->flags & DLPARK_FILE_COMPRESSED) != 0)
        DLPARK_TRY(file->format->read_bytes(file, entry->index, begin, to, nbytes, err));
    else
        DLPARK_TRY(dlpark__source_read_threads(dlpark__file_source(file, entry->index), entry->offset + begin, to,
                                               nbytes, file->options.threads, err));
    if ((entry->flags & DLPARK_FILE_SWAPPED) != 0)
        dlpark__swap_numbers(to, nbytes, entry->dtype);
    return DLPARK_OK;
}

static void file_reverse(int64_t *values, int32_t count)
{
    for (int32_t i = 0, j = count - 1; i < j; i++, j--) {
        int64_t kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

dlpark_status dlpark_file_load(const dlpark_file *file, int64_t index, dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_file_entry entry;
    dlpark_view view;

    DLPARK_TRY(file_find_entry(file, index, &entry, err));
    bool is_reversed = (entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0;
    if (is_reversed)
        file_reverse(entry.shape, entry.ndim);
    const dlpark_tensor_desc desc = {.dtype = entry.dtype, .ndim = entry.ndim, .shape = DLPARK_DIMS(entry.shape)};
    DLPARK_TRY(dlpark_tensor_alloc(tensor, &desc, &view, err));
    if (is_reversed) { /* compact and row-major, and nobody has seen it yet */
        file_reverse(tensor->managed->dl_tensor.shape, entry.ndim);
        file_reverse(tensor->managed->dl_tensor.strides, entry.ndim);
    }
    dlpark_status status = dlpark__file_read_bytes(file, &entry, 0, view.data, entry.nbytes, err);
    if (status != DLPARK_OK)
        dlpark_tensor_release(tensor);
    return status;
}

/* The bytes of a destination; its dtype is right. */
static dlpark_status file_find_destination(const dlpark_view *to, const dlpark_file_entry *entry, unsigned char **bytes,
                                           dlpark_error *err)
{
    dlpark_error own;

    if (!dlpark_dtype_equal(to->dtype, entry->dtype))
        return dlpark_error_set(
            err, DLPARK_E_DTYPE, "the destination is %s, tensor '%s' is %s", dlpark_dtype_name(to->dtype).text,
            dlpark_file_name_text(entry->name, entry->name_nbytes).text, dlpark_dtype_name(entry->dtype).text);
    if ((to->flags & DLPARK_VIEW_PADDED) != 0 && to->dtype.bits < 8 && dlpark_view_numel(to) != 0)
        return dlpark_error_set(err, DLPARK_E_LAYOUT, "the destination has its elements padded, the file packs them");
    *bytes = dlpark_view_bytes_mut(to, NULL, &own);
    return *bytes != NULL ? DLPARK_OK : dlpark_error_set(err, own.status, "%s", own.message);
}

/* Elements of all dimensions, which is known to fit. */
static uint64_t file_numel(const dlpark_file_entry *entry)
{
    uint64_t numel = 1;

    for (int32_t i = 0; i < entry->ndim; i++)
        numel *= (uint64_t)entry->shape[i];
    return numel;
}

dlpark_status dlpark_file_read(const dlpark_file *file, int64_t index, const dlpark_view *to, dlpark_error *err)
{
    dlpark_file_entry entry;
    unsigned char *bytes = NULL;

    DLPARK_TRY(file_find_entry(file, index, &entry, err));
    if (to->ndim != entry.ndim || memcmp(to->shape, entry.shape, (size_t)entry.ndim * sizeof *entry.shape) != 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "the destination is %s, tensor '%s' is %s",
                                dlpark__layout_list(to->ndim, to->shape).text,
                                dlpark_file_name_text(entry.name, entry.name_nbytes).text,
                                dlpark__layout_list(entry.ndim, entry.shape).text);
    DLPARK_TRY(file_find_destination(to, &entry, &bytes, err));
    if ((entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0)
        return dlpark__file_gather(file, &entry, 0, file_numel(&entry), bytes, err);
    return dlpark__file_read_bytes(file, &entry, 0, bytes, entry.nbytes, err);
}

dlpark_status dlpark_file_read_range(const dlpark_file *file, int64_t index, int64_t first, const dlpark_view *to,
                                     dlpark_error *err)
{
    dlpark_file_entry entry;
    unsigned char *bytes = NULL;

    DLPARK_TRY(file_find_entry(file, index, &entry, err));
    uint64_t numel = file_numel(&entry), count = (uint64_t)dlpark_view_numel(to);
    uint64_t bits = (uint64_t)entry.dtype.bits * entry.dtype.lanes;
    if (first < 0 || (uint64_t)first > numel || count > numel - (uint64_t)first)
        return dlpark_error_set(err, DLPARK_E_INDEX, "%llu elements from %lld on: tensor '%s' has %llu",
                                (unsigned long long)count, (long long)first,
                                dlpark_file_name_text(entry.name, entry.name_nbytes).text, (unsigned long long)numel);
    if ((uint64_t)first % 8 * bits % 8 != 0)
        return dlpark_error_set(err, DLPARK_E_LAYOUT, "element %lld of tensor '%s' begins inside a byte",
                                (long long)first, dlpark_file_name_text(entry.name, entry.name_nbytes).text);
    DLPARK_TRY(file_find_destination(to, &entry, &bytes, err));
    if ((entry.flags & DLPARK_FILE_COLUMN_MAJOR) != 0)
        return dlpark__file_gather(file, &entry, (uint64_t)first, count, bytes, err);
    uint64_t begin = (uint64_t)first / 8 * bits + (uint64_t)first % 8 * bits / 8;
    return dlpark__file_read_bytes(file, &entry, begin, bytes, (uint64_t)dlpark_view_nbytes(to), err);
}
