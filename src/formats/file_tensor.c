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
    if (ndim == 0 || shape[ndim - 1] % 2 != 0) /* GCOVR_EXCL_BR_LINE: half a byte is no tensor of safetensors */
        return;
    shape[ndim - 1] /= 2;
    if (file->options.float4 == DLPARK_FILE_FLOAT4_PAIRS)
        dtype->lanes = 2;
    else
        *dtype = DLPARK_U8;
}

dlpark_status dlpark_file_entry_get(const dlpark_file *file, int64_t index, dlpark_file_entry *out, dlpark_error *err)
{
    DLPARK_TRY(dlpark__file_check_index(file, index, err));
    const dlpark__index_entry *entry = &file->index.entries[index];
    const dlpark__index_type *type = &file->index.types[entry->type];
    uint64_t at = entry->begin; /* a map begins at a page, memory of others anywhere */
    if (file->source->descriptor < 0)
        at += (uintptr_t)atomic_load_explicit(&file->source->map, memory_order_relaxed);
    uint64_t low = at & (~at + 1); /* its lowest bit */

    out->name = file->index.text + entry->name.at;
    out->name_nbytes = entry->name.nbytes;
    out->type = type->name;
    out->dtype = type->dtype;
    out->offset = entry->begin;
    out->nbytes = entry->nbytes;
    out->alignment_bytes = (size_t)(low > FILE_MAX_ALIGNMENT ? FILE_MAX_ALIGNMENT : low);
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

static dlpark_status file_check_order(const dlpark_file *file, const dlpark_file_entry *entry, dlpark_error *err)
{
    if (!DLPARK__IS_BIG_ENDIAN || entry->dtype.bits <= 8 || entry->nbytes == 0)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                            "%s: tensor '%s' is little-endian, and this machine is not: it can be loaded, not mapped",
                            file->source->name.text, dlpark_file_name_text(entry->name, entry->name_nbytes).text);
}

/* ---- Mapped ---- */

/* The tensor's description, over the mapping; not yet made. */
static dlpark_status file_describe(dlpark_file *file, int64_t index, dlpark_file_entry *entry, dlpark_tensor_desc *desc,
                                   dlpark_error *err)
{
    unsigned char *bytes;

    DLPARK_TRY(file_find_entry(file, index, entry, err));
    DLPARK_TRY(file_check_order(file, entry, err)); /* GCOVR_EXCL_BR_LINE: fails on big-endian machines */
    DLPARK_TRY(dlpark__source_map(file->source, &bytes, err));
    *desc = (dlpark_tensor_desc){.dtype = entry->dtype, .ndim = entry->ndim, .shape = DLPARK_DIMS(entry->shape)};
    if (entry->nbytes != 0)
        desc->data = bytes + entry->offset;
    if (!file->options.is_private)
        desc->flags = DLPARK_TENSOR_READ_ONLY;
    return DLPARK_OK;
}

dlpark_status dlpark_file_view(dlpark_file *file, int64_t index, dlpark_view *view, dlpark_error *err)
{
    dlpark_file_entry entry;
    dlpark_tensor_desc desc;

    DLPARK_TRY(file_describe(file, index, &entry, &desc, err));
    DLTensor tensor = {desc.data, desc.device, entry.ndim, entry.dtype, entry.shape, NULL, 0};
    tensor.device.device_type = kDLCPU;
    dlpark_status status = dlpark_check(&tensor, desc.flags, view, err);
    view->flags &= ~DLPARK_VIEW_UNKNOWN_WRITE; /* the mapping is the file's own, and was made to be written or not */
    return status;
}

dlpark_status dlpark_file_share(dlpark_file *file, int64_t index, dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_file_entry entry;
    dlpark_tensor_desc desc;

    DLPARK_TRY(file_describe(file, index, &entry, &desc, err));
    desc.owner = file->source;
    desc.release = dlpark__source_release; /* GCOVR_EXCL_BR_LINE: one of dlpark_tensor_new(), which is inline */
    DLPARK_TRY(dlpark_tensor_new(tensor, &desc, NULL, err));
    (void)dlpark__source_share(file->source);
    return DLPARK_OK;
}

/* ---- Copied ---- */

static dlpark_status file_read_entry(const dlpark_file *file, const dlpark_file_entry *entry, unsigned char *to,
                                     dlpark_error *err)
{
    DLPARK_TRY(dlpark__source_read(file->source, entry->offset, to, (size_t)entry->nbytes, err));
    if (DLPARK__IS_BIG_ENDIAN)
        dlpark__swap_numbers(to, entry->nbytes, entry->dtype);
    return DLPARK_OK;
}

dlpark_status dlpark_file_load(const dlpark_file *file, int64_t index, dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_file_entry entry;
    dlpark_view view;

    DLPARK_TRY(file_find_entry(file, index, &entry, err));
    const dlpark_tensor_desc desc = {.dtype = entry.dtype, .ndim = entry.ndim, .shape = DLPARK_DIMS(entry.shape)};
    DLPARK_TRY(dlpark_tensor_alloc(tensor, &desc, &view, err));
    dlpark_status status = file_read_entry(file, &entry, view.data, err);
    if (status != DLPARK_OK)
        dlpark_tensor_release(tensor);
    return status;
}

dlpark_status dlpark_file_read(const dlpark_file *file, int64_t index, const dlpark_view *to, dlpark_error *err)
{
    dlpark_file_entry entry;
    dlpark_error own;
    int64_t nbytes;

    DLPARK_TRY(file_find_entry(file, index, &entry, err));
    if (!dlpark_dtype_equal(to->dtype, entry.dtype))
        return dlpark_error_set(
            err, DLPARK_E_DTYPE, "the destination is %s, tensor '%s' is %s", dlpark_dtype_name(to->dtype).text,
            dlpark_file_name_text(entry.name, entry.name_nbytes).text, dlpark_dtype_name(entry.dtype).text);
    if (to->ndim != entry.ndim || memcmp(to->shape, entry.shape, (size_t)entry.ndim * sizeof *entry.shape) != 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "the destination is %s, tensor '%s' is %s",
                                dlpark__layout_list(to->ndim, to->shape).text,
                                dlpark_file_name_text(entry.name, entry.name_nbytes).text,
                                dlpark__layout_list(entry.ndim, entry.shape).text);
    unsigned char *bytes = dlpark_view_bytes_mut(to, &nbytes, &own);
    if (bytes == NULL)
        return dlpark_error_set(err, own.status, "%s", own.message);
    if ((to->flags & DLPARK_VIEW_PADDED) != 0 && (uint64_t)nbytes != entry.nbytes)
        return dlpark_error_set(err, DLPARK_E_LAYOUT, "the destination has its elements padded, the file packs them");
    return file_read_entry(file, &entry, bytes, err);
}
