/*
 * What a driver says of addresses.
 */
#include "gpu_parts.h"

dlpark_status dlpark__gpu_pointer(dlpark__gpu *gpu, const void *address, dlpark_gpu_pointer *out, dlpark_error *err)
{
    dlpark_gpu_pointer found = {.device = DLPARK_DEVICE_CPU, .ordinal = -1};
    dlpark__gpu_scope scope;
    dlpark__gpu_result result = gpu->platform->pointer(gpu, address, &found);

    /* Most threads that have such addresses have a context. */
    if (result.code == DLPARK__GPU_INVALID_CONTEXT) {
        DLPARK_TRY(dlpark__gpu_report(gpu, dlpark__gpu_enter(gpu, 0, &scope), err));
        result = gpu->platform->pointer(gpu, address, &found);
        dlpark__gpu_result left = gpu->platform->leave(gpu, &scope);
        if (result.code == DLPARK__GPU_SUCCESS)
            result = left;
    }
    DLPARK_TRY(dlpark__gpu_report(gpu, result, err));
    if (found.ordinal >= 0)
        DLPARK_TRY(dlpark__gpu_check_ordinal(gpu, found.ordinal, err));
    *out = found;
    return DLPARK_OK;
}

dlpark_status dlpark__gpu_find_ordinal(dlpark__gpu *gpu, const dlpark_tensor *tensor, int32_t *ordinal,
                                       dlpark_error *err)
{
    const DLTensor *described = &tensor->managed->dl_tensor;
    const dlpark__gpu_block *block = dlpark__tensor_owner(tensor->managed, dlpark__gpu_block_end);
    dlpark_gpu_pointer found = {.ordinal = 0};
    dlpark__gpu_kind kind;

    DLPARK_TRY(dlpark__gpu_read_device(gpu, described->device, &kind, ordinal, err));
    if (kind == DLPARK__GPU_DEVICE || !described->data)
        return DLPARK_OK;
    if (block) {
        *ordinal = block->ordinal;
        return DLPARK_OK;
    }
    DLPARK_TRY(dlpark__gpu_pointer(gpu, described->data, &found, err));
    *ordinal = found.ordinal < 0 ? 0 : found.ordinal; /* page-locked memory of others may be of no device */
    return DLPARK_OK;
}
