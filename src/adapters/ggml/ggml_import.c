/*
 * Tensors of ggml's memory. ggml counts no users: what keeps the memory is taken as a whole and ends with the last tensor.
 */
#include <stdbool.h>

#include "ggml_parts.h"

/* Called with a tensor's extra bytes, by whoever ends it. */
static void gg_owner_end(void *extra)
{
    dlpark_ggml_owner owner = *(dlpark_ggml_owner *)extra;

    ggml_backend_buffer_free(owner.buffer);
    ggml_free(owner.context);
    if (owner.release != NULL)
        owner.release(owner.owner);
}

static bool gg_is_in_pool(const struct ggml_tensor *tensor, const struct ggml_context *context)
{
    uintptr_t pool = (uintptr_t)ggml_get_mem_buffer(context), data = (uintptr_t)tensor->data;

    return data >= pool && data - pool < ggml_get_mem_size(context);
}

/* Whether an owner keeps the memory of a tensor with elements. */
static dlpark_status gg_check_owner(const struct ggml_tensor *tensor, const dlpark_ggml_owner *owner, dlpark_error *err)
{
    struct ggml_backend_buffer *buffer = dlpark__ggml_buffer(tensor);

    if (owner->release != NULL)
        return DLPARK_OK;
    if (buffer == NULL && (owner->context == NULL || !gg_is_in_pool(tensor, owner->context)))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the ggml tensor \"%.40s\" is in no buffer, at %p, which is not in the memory of the "
                                "context that is given (%p)",
                                tensor->name, tensor->data, (const void *)owner->context);
    if (buffer != NULL && buffer != owner->buffer)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "the ggml tensor \"%.40s\" is in the buffer %p, not in the one that is given (%p)",
                                tensor->name, (const void *)buffer, (const void *)owner->buffer);
    return DLPARK_OK;
}

static dlpark_status gg_check_output(const dlpark_tensor *tensor, dlpark_error *err)
{
    if (tensor->managed != NULL)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the output tensor already holds one");
    return DLPARK_OK;
}

/* A description of what a tensor says, which is judged when it is made; who owns it is the caller's to say. */
static dlpark_tensor_desc gg_describe(const DLTensor *claim, uint64_t flags)
{
    return (dlpark_tensor_desc){.data = claim->data,
                                .dtype = claim->dtype,
                                .ndim = claim->ndim,
                                .shape = DLPARK_DIMS(claim->shape),
                                .strides = DLPARK_DIMS(claim->strides),
                                .flags = flags};
}

dlpark_status dlpark_ggml_import(dlpark_tensor *tensor, const struct ggml_tensor *ggml, dlpark_ggml_owner *owner,
                                 uint32_t as, dlpark_view *view, dlpark_error *err)
{
    DLPARK_UNINITIALIZED dlpark_view lists;
    DLTensor claim;
    uint64_t flags;

    DLPARK_TRY(gg_check_output(tensor, err));
    DLPARK_TRY(dlpark__ggml_read(ggml, as, &lists, &claim, &flags, err));
    if (claim.data != NULL)
        DLPARK_TRY(gg_check_owner(ggml, owner, err));
    dlpark_tensor_desc desc = gg_describe(&claim, flags);
    desc.release = gg_owner_end;
    desc.extra_nbytes = sizeof *owner;
    DLPARK_TRY(dlpark_tensor_new(tensor, &desc, view, err));
    *(dlpark_ggml_owner *)dlpark_tensor_extra(tensor) = *owner;
    *owner = (dlpark_ggml_owner){.buffer = NULL};
    return DLPARK_OK;
}

static void gg_share_end(void *keeper)
{
    DLManagedTensorVersioned *managed = keeper;

    dlpark_managed_release(&managed);
}

dlpark_status dlpark_ggml_share(dlpark_tensor *part, dlpark_tensor *tensor, const struct ggml_tensor *ggml, uint32_t as,
                                dlpark_view *view, dlpark_error *err)
{
    DLPARK_UNINITIALIZED dlpark_view lists;
    dlpark_tensor keeper = DLPARK_TENSOR_EMPTY;
    DLTensor claim;
    uint64_t flags;

    DLPARK_TRY(gg_check_output(part, err));
    DLPARK_TRY(dlpark__ggml_read(ggml, as, &lists, &claim, &flags, err));
    DLPARK_TRY(dlpark_tensor_share(&keeper, tensor, NULL, err));
    dlpark_tensor_desc desc = gg_describe(&claim, flags);
    desc.flags |= keeper.managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY; /* what ggml's buffer does not say */
    desc.owner = keeper.managed;
    desc.release = gg_share_end;
    dlpark_status status = dlpark_tensor_new(part, &desc, view, err);
    if (status == DLPARK_OK)
        keeper.managed = NULL; /* the part has it */
    dlpark_tensor_release(&keeper);
    return status;
}
