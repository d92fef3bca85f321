#include "internal.h"

dlpark_status dlpark__check_head(const DLTensor *tensor, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(tensor->ndim < 0 || tensor->ndim > DLPARK_MAX_NDIM))
        return dlpark_error_set(err, DLPARK_E_RANK, "ndim is %d, expected 0 to %d", (int)tensor->ndim, DLPARK_MAX_NDIM);
    DLPARK_TRY(dlpark_dtype_check(tensor->dtype, err));
    DLPARK_TRY(dlpark_device_check(tensor->device, err));
    if (DLPARK_UNLIKELY(tensor->ndim > 0 && tensor->shape == NULL))
        return dlpark_error_set(err, DLPARK_E_SHAPE, "shape is NULL although ndim is %d", (int)tensor->ndim);
    return DLPARK_OK;
}

static DLPARK_COLD dlpark_status check_explain_address(const DLTensor *tensor, int64_t below, int64_t above,
                                                       dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_OVERFLOW,
                            "data %p with byte_offset %llu, reaching %lld bytes below and %lld above element 0, leaves "
                            "the address space",
                            tensor->data, (unsigned long long)tensor->byte_offset, (long long)below, (long long)above);
}

dlpark_status dlpark__check_bytes(const DLTensor *tensor, uint64_t flags, const dlpark__extent *extent,
                                  dlpark_error *err)
{
    bool padded = (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
    int64_t below, above, compact;

    if (extent->numel == 0)
        return DLPARK_OK;
    if (DLPARK_UNLIKELY(tensor->data == NULL))
        return dlpark_error_set(err, DLPARK_E_DATA, "data is NULL although there are %lld elements (shape %s)",
                                (long long)extent->numel, dlpark__layout_list(tensor->ndim, tensor->shape).text);
    if (DLPARK_UNLIKELY(!dlpark__layout_bytes(tensor->dtype, padded, -extent->lowest, &below) ||
                        !dlpark__layout_bytes(tensor->dtype, padded, extent->highest + 1, &above) ||
                        !dlpark__layout_bytes(tensor->dtype, padded, extent->numel, &compact)))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW,
                                "%lld elements of %s, reaching from element %lld to %lld, take more than 2^63-1 bytes",
                                (long long)extent->numel, dlpark_dtype_name(tensor->dtype).text,
                                (long long)extent->lowest, (long long)extent->highest);

    /* A handle is no address: there the reach must fit between byte_offset and its limits. */
    bool addressable = dlpark_device_is_addressable(tensor->device);
    uint64_t base = addressable ? (uint64_t)(uintptr_t)tensor->data : 0;
    uint64_t limit = addressable ? UINTPTR_MAX : INT64_MAX;
    uint64_t first, last;
    if (DLPARK_UNLIKELY(tensor->byte_offset > INT64_MAX || __builtin_add_overflow(base, tensor->byte_offset, &first) ||
                        first < (uint64_t)below || __builtin_add_overflow(first, (uint64_t)above - 1, &last) ||
                        last > limit))
        return check_explain_address(tensor, below, above, err);
    return DLPARK_OK;
}

static dlpark_status check_scan(const DLTensor *tensor, dlpark_view *view, dlpark__extent *extent, dlpark_error *err)
{
    int64_t scratch[DLPARK_MAX_NDIM];

    if (tensor->strides != NULL)
        return dlpark__layout_scan(tensor->ndim, tensor->shape, tensor->strides, extent, err);
    return dlpark__layout_fill(tensor->ndim, tensor->shape, view != NULL ? view->strides : scratch, extent, err);
}

dlpark_status dlpark__check_tensor(const DLTensor *tensor, uint64_t flags, uint32_t write, dlpark__extent *extent,
                                   dlpark_view *view, dlpark_error *err)
{
    if (DLPARK_UNLIKELY((flags & ~DLPARK__FLAGS_KNOWN) != 0))
        return dlpark_error_set(err, DLPARK_E_FLAGS, "flags 0x%llx has bits that DLPack %d.%d does not define",
                                (unsigned long long)flags, DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR);
    DLPARK_TRY(dlpark__check_head(tensor, err));
    DLPARK_TRY(check_scan(tensor, view, extent, err));
    DLPARK_TRY(dlpark__check_bytes(tensor, flags, extent, err));
    if (view != NULL)
        dlpark__view_fill(view, tensor, (uint32_t)flags | write, extent->numel);
    return DLPARK_OK;
}

dlpark_status dlpark_check(const DLTensor *tensor, uint64_t flags, dlpark_view *view, dlpark_error *err)
{
    dlpark__extent extent;

    if (DLPARK_UNLIKELY(tensor == NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "tensor is NULL");
    return dlpark__check_tensor(tensor, flags, DLPARK_VIEW_UNKNOWN_WRITE, &extent, view, err);
}
