/*
 * Reading a dlpark_tensor_desc: contradictions, integer types, and what it makes of a DLTensor.
 */
#include <string.h>

#include "tensor_parts.h"

_Static_assert(DLPARK_TENSOR_READ_ONLY == DLPACK_FLAG_BITMASK_READ_ONLY, "tensor flags are DLPack's bits");
_Static_assert(DLPARK_TENSOR_PADDED == DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, "tensor flags are DLPack's bits");

_Static_assert(sizeof(void *) != 8 || sizeof(dlpark_tensor_desc) == 152,
               "a field that was appended is looked at in dlpark__tensor_desc_is_usual() as well");

#define DESC_FLAGS_KNOWN (DLPARK_TENSOR_READ_ONLY | DLPARK_TENSOR_PADDED | DLPARK_TENSOR_CLAIM_COPIED)

dlpark_status dlpark__desc_read_sized(const dlpark_tensor_desc *desc, size_t nbytes, dlpark_tensor_desc *out,
                                      dlpark_error *err)
{
    size_t known = nbytes < sizeof *out ? nbytes : sizeof *out;

    if (desc == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "desc is NULL");
    for (size_t i = known; i < nbytes; i++)
        if (((const unsigned char *)desc)[i] != 0)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                    "the description uses a field at byte %zu, and this library (%s) knows %zu bytes",
                                    i, dlpark_version(), sizeof *out);
    memset(out, 0, sizeof *out);
    memcpy(out, desc, known);
    return DLPARK_OK;
}

static dlpark_status desc_refuse_value(const char *field, int32_t i, unsigned long long value, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%s[%d] is %llu, which leaves 63 bits", field, (int)i, value);
}

#define DESC_WIDEN(type)                                                                                               \
    for (int32_t i = 0; i < ndim; i++)                                                                                 \
        out[i] = (int64_t)((const type *)dims->values)[i];                                                             \
    return DLPARK_OK

dlpark_status dlpark__desc_read_dims(const dlpark_dims *dims, int32_t ndim, int64_t *out, const char *field,
                                     dlpark_error *err)
{
    if (DLPARK_UNLIKELY(dims->count != 0 && dims->count < ndim))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s has %d value%s, and ndim is %d", field, (int)dims->count,
                                dims->count == 1 ? "" : "s", (int)ndim);
    switch (dims->width) {
    case -1:
        DESC_WIDEN(int8_t);
    case -2:
        DESC_WIDEN(int16_t);
    case -4:
        DESC_WIDEN(int32_t);
    case -8:
        DESC_WIDEN(int64_t);
    case 1:
        DESC_WIDEN(uint8_t);
    case 2:
        DESC_WIDEN(uint16_t);
    case 4:
        DESC_WIDEN(uint32_t);
    case 8:
        for (int32_t i = 0; i < ndim; i++) {
            uint64_t value = ((const uint64_t *)dims->values)[i];
            if (DLPARK_UNLIKELY(value > INT64_MAX))
                return desc_refuse_value(field, i, value, err);
            out[i] = (int64_t)value;
        }
        return DLPARK_OK;
    default:
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s has integers of %d bytes: it was not made by DLPARK_DIMS",
                                field, (int)dims->width);
    }
}

static DLPARK_COLD dlpark_status desc_refuse_flags(uint64_t flags, dlpark_error *err)
{
    if (flags & DLPACK_FLAG_BITMASK_IS_COPIED)
        return dlpark_error_set(err, DLPARK_E_FLAGS,
                                "IS_COPIED is claimed by name: DLPARK_TENSOR_CLAIM_COPIED, not flags 0x%llx",
                                (unsigned long long)flags);
    return dlpark_error_set(err, DLPARK_E_FLAGS, "flags 0x%llx has unknown bits", (unsigned long long)flags);
}

static DLPARK_COLD dlpark_status desc_check_allocation(const dlpark_tensor_desc *desc, dlpark_error *err)
{
    const dlpark_allocator *allocator = desc->allocator;

    if ((desc->alignment_bytes & (desc->alignment_bytes - 1)) != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "alignment_bytes is %zu, expected a power of two",
                                desc->alignment_bytes);
    if (allocator != NULL && (allocator->allocate == NULL || allocator->deallocate == NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the allocator has no %s function",
                                allocator->allocate == NULL ? "allocate" : "deallocate");
    if (allocator != NULL && desc->storage != NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "both storage and allocator are given");
    return DLPARK_OK;
}

dlpark_status dlpark__desc_check(const dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(tensor == NULL || desc == NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is NULL", tensor == NULL ? "tensor" : "desc");
    DLPARK_TRY(dlpark__tensor_check_output(tensor, err));
    if (DLPARK_UNLIKELY((desc->flags & ~DESC_FLAGS_KNOWN) != 0))
        return desc_refuse_flags(desc->flags, err);
    if (DLPARK_UNLIKELY(desc->data != NULL && desc->data_const != NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "both data and data_const are given");
    if (DLPARK_UNLIKELY(desc->shape.values != NULL && desc->shape_borrowed != NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "both shape and shape_borrowed are given");
    if (DLPARK_UNLIKELY(desc->strides.values != NULL && desc->strides_borrowed != NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "both strides and strides_borrowed are given");
    if (DLPARK_UNLIKELY(desc->storage == NULL && desc->storage_nbytes != 0))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "storage_nbytes is %zu, and storage is NULL",
                                desc->storage_nbytes);
    if (DLPARK_UNLIKELY(desc->extra_nbytes > INT32_MAX))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "extra_nbytes is %zu, expected at most %lu", desc->extra_nbytes,
                                (unsigned long)INT32_MAX);
    if (DLPARK_UNLIKELY(desc->allocator != NULL || desc->alignment_bytes != 0))
        return desc_check_allocation(desc, err);
    return DLPARK_OK;
}

dlpark_status dlpark__desc_read_head(const dlpark_tensor_desc *desc, DLTensor *out, dlpark_error *err)
{
    const void *data = desc->data_const != NULL ? desc->data_const : desc->data;
    const void *shape = desc->shape_borrowed != NULL ? (const void *)desc->shape_borrowed : desc->shape.values;

    out->data = dlpark__unconst(data);
    out->device = dlpark__device_is_usual(desc->device) ? DLPARK_DEVICE_CPU : desc->device;
    out->ndim = desc->ndim;
    out->dtype = desc->dtype;
    out->shape = dlpark__unconst(shape);
    out->strides = NULL;
    out->byte_offset = desc->byte_offset;
    return dlpark__check_head(out, err);
}

dlpark_status dlpark__desc_read_dimensions(const dlpark_tensor_desc *desc, DLTensor *out, int64_t *room,
                                           dlpark__span *extent, dlpark_error *err)
{
    int32_t ndim = desc->ndim;

    if (ndim == 0) {
        out->shape = NULL;
        out->strides = NULL;
        *extent = (dlpark__span){1, 0, 0};
        return DLPARK_OK;
    }
    if (desc->shape_borrowed == NULL) {
        out->shape = room;
        room += ndim;
        DLPARK_TRY(dlpark__desc_read_dims(&desc->shape, ndim, out->shape, "shape", err));
    }
    if (desc->strides_borrowed != NULL) {
        out->strides = dlpark__unconst(desc->strides_borrowed);
        return dlpark__layout_scan(ndim, out->shape, out->strides, extent, err);
    }
    out->strides = room;
    if (desc->strides.values == NULL)
        return dlpark__layout_fill(ndim, out->shape, out->strides, extent, err);
    DLPARK_TRY(dlpark__desc_read_dims(&desc->strides, ndim, out->strides, "strides", err));
    DLPARK_TRY(dlpark__layout_scan(ndim, out->shape, out->strides, extent, err));
    /* Strides without elements mean nothing, but somebody may multiply by them. */
    if (DLPARK_UNLIKELY(extent->numel == 0))
        return dlpark__layout_fill(ndim, out->shape, out->strides, extent, err);
    return DLPARK_OK;
}

/* Where element 0 lies, of a handle by its offset; 0 without elements. */
static uint64_t desc_find_element(const DLTensor *made)
{
    return dlpark_device_is_addressable(made->device) ? (uint64_t)(uintptr_t)made->data : made->byte_offset;
}

dlpark_status dlpark__desc_check_alignment(const dlpark_tensor_desc *desc, const DLTensor *made, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(desc->alignment_bytes > 1 && desc_find_element(made) % desc->alignment_bytes != 0))
        return dlpark_error_set(err, DLPARK_E_ALIGNMENT, "data %p with byte_offset %llu is not aligned to %zu bytes",
                                desc->data_const != NULL ? desc->data_const : desc->data,
                                (unsigned long long)desc->byte_offset, desc->alignment_bytes);
    return DLPARK_OK;
}

uint64_t dlpark__desc_flags(const dlpark_tensor_desc *desc)
{
    uint64_t flags = desc->flags & (DLPARK_TENSOR_READ_ONLY | DLPARK_TENSOR_PADDED);

    if (!dlpark_dtype_is_packed(desc->dtype))
        flags &= ~DLPARK_TENSOR_PADDED; /* says nothing of whole bytes */
    if (desc->data_const != NULL)
        flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    if (desc->flags & DLPARK_TENSOR_CLAIM_COPIED)
        flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
    return flags;
}
