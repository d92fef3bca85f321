/*
 * Giving a tensor out under the legacy ABI, or the end of its life alone.
 */
#include <stdlib.h>

#include "tensor_parts.h"

/* ---- The legacy ABI ---- */

/* manager_ctx is the versioned tensor. */
static void legacy_end(DLManagedTensor *managed)
{
    DLManagedTensorVersioned *inner = managed->manager_ctx;

    inner->deleter(inner);
    free(managed);
}

static bool legacy_describes(const DLTensor *a, const DLTensor *b)
{
    return a->data == b->data && dlpark_device_equal(a->device, b->device) && a->ndim == b->ndim &&
           dlpark_dtype_equal(a->dtype, b->dtype) && a->shape == b->shape && a->strides == b->strides &&
           a->byte_offset == b->byte_offset;
}

DLManagedTensorVersioned *dlpark__legacy_inner(const DLManagedTensor *legacy)
{
    DLManagedTensorVersioned *inner = legacy->deleter == legacy_end ? legacy->manager_ctx : NULL;

    return inner != NULL && legacy_describes(&legacy->dl_tensor, &inner->dl_tensor) ? inner : NULL;
}

dlpark_status dlpark_tensor_export_legacy(dlpark_tensor *tensor, uint64_t dropped, DLManagedTensor **out,
                                          dlpark_error *err)
{
    if (tensor == NULL || out == NULL || tensor->managed == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, out == NULL ? "out is NULL" : "the tensor is empty");
    if (*out != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "*out is not NULL");
    if ((dropped & ~(DLPARK_TENSOR_READ_ONLY | DLPARK_TENSOR_PADDED)) != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "dropped is 0x%llx, expected READ_ONLY, PADDED or both",
                                (unsigned long long)dropped);

    uint64_t lost = dlpark__tensor_flags(tensor->managed) & ~dropped;
    if (lost & DLPACK_FLAG_BITMASK_READ_ONLY)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY,
                                "the tensor is read-only, which a legacy tensor cannot say (drop READ_ONLY by name to "
                                "lose it)");
    if ((lost & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) && dlpark_dtype_is_packed(tensor->managed->dl_tensor.dtype))
        return dlpark_error_set(err, DLPARK_E_FLAGS,
                                "the tensor's %s elements are padded, which a legacy tensor cannot say (drop PADDED by "
                                "name to lose it)",
                                dlpark_dtype_name(tensor->managed->dl_tensor.dtype).text);

    DLManagedTensor *wrapper = dlpark__memory_get(sizeof *wrapper);
    if (wrapper == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a legacy tensor header of %zu bytes",
                                sizeof *wrapper);
    wrapper->dl_tensor = tensor->managed->dl_tensor;
    wrapper->manager_ctx = dlpark_tensor_export(tensor);
    wrapper->deleter = legacy_end;
    *out = wrapper;
    return DLPARK_OK;
}

/* ---- The end of life alone ---- */

static void export_end_nothing(void *context)
{
    (void)context;
}

void dlpark_tensor_export_deleter(dlpark_tensor *tensor, void (**release)(void *context), void **context)
{
    *context = dlpark_tensor_export(tensor);
    *release = *context != NULL ? dlpark__versioned_end : export_end_nothing;
}
