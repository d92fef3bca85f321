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

/* The same for a struct that lies in the room of the part that it describes, and ends with it. */
static void legacy_end_part(DLManagedTensor *managed)
{
    DLManagedTensorVersioned *inner = managed->manager_ctx;

    inner->deleter(inner);
}

void dlpark__legacy_free(DLManagedTensor *legacy)
{
    if (legacy->deleter == legacy_end)
        free(legacy);
}

static bool legacy_describes(const DLTensor *a, const DLTensor *b)
{
    return a->data == b->data && dlpark_device_equal(a->device, b->device) && a->ndim == b->ndim &&
           dlpark_dtype_equal(a->dtype, b->dtype) && a->shape == b->shape && a->strides == b->strides &&
           a->byte_offset == b->byte_offset;
}

DLManagedTensorVersioned *dlpark__legacy_inner(const DLManagedTensor *legacy)
{
    bool ours = legacy->deleter == legacy_end || legacy->deleter == legacy_end_part;
    DLManagedTensorVersioned *inner = ours ? legacy->manager_ctx : NULL;

    return inner != NULL && legacy_describes(&legacy->dl_tensor, &inner->dl_tensor) ? inner : NULL;
}

/* What a legacy struct has no place for. IS_COPIED it need not say. */
static DLPARK_COLD dlpark_status legacy_check_lost(const DLManagedTensorVersioned *managed, uint64_t lost,
                                                   dlpark_error *err)
{
    if (lost & DLPACK_FLAG_BITMASK_READ_ONLY)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY,
                                "the tensor is read-only, which a legacy tensor cannot say (drop READ_ONLY by name to "
                                "lose it)");
    if ((lost & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) && dlpark_dtype_is_packed(managed->dl_tensor.dtype))
        return dlpark_error_set(err, DLPARK_E_FLAGS,
                                "the tensor's %s elements are padded, which a legacy tensor cannot say (drop PADDED by "
                                "name to lose it)",
                                dlpark_dtype_name(managed->dl_tensor.dtype).text);
    return DLPARK_OK;
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

    dlpark__block *block = dlpark__block_of(tensor->managed);
    uint64_t unsaid = block != NULL && block->write != 0 ? DLPACK_FLAG_BITMASK_READ_ONLY : 0; /* as lost before */
    uint64_t lost = tensor->managed->flags & ~unsaid & ~dropped;
    if (DLPARK_UNLIKELY(lost != 0))
        DLPARK_TRY(legacy_check_lost(tensor->managed, lost, err));

    DLManagedTensor *room = dlpark__part_legacy(block);
    DLManagedTensor *wrapper = room != NULL ? room : dlpark__memory_get(sizeof *wrapper);
    if (wrapper == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a legacy tensor header of %zu bytes",
                                sizeof *wrapper);
    wrapper->dl_tensor = tensor->managed->dl_tensor;
    wrapper->manager_ctx = dlpark_tensor_export(tensor);
    wrapper->deleter = room != NULL ? legacy_end_part : legacy_end;
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
