/*
 * Taking foreign tensors.
 */
#include <stdlib.h>

#include "tensor_parts.h"

void dlpark__versioned_end(void *theirs)
{
    DLManagedTensorVersioned *managed = theirs;

    if (managed->deleter != NULL)
        managed->deleter(managed);
}

static void import_end_legacy(void *theirs)
{
    DLManagedTensor *managed = theirs;

    dlpark_managed_release_legacy(&managed);
}

/* Whether a checked tensor keeps already what a tensor given out by this library promises. */
static bool import_is_conformant(const DLManagedTensorVersioned *theirs, bool empty)
{
    const DLTensor *tensor = &theirs->dl_tensor;

    if (theirs->deleter == NULL || (tensor->strides == NULL && tensor->ndim > 0))
        return false;
    if (empty)
        return tensor->data == NULL && tensor->byte_offset == 0;
    return tensor->byte_offset == 0 || !dlpark_device_is_addressable(tensor->device);
}

static dlpark_status import_refuse_memory(const DLTensor *tensor, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for the wrapper of an imported tensor of rank %d",
                            (int)tensor->ndim);
}

/* A wrapper that describes a checked foreign tensor as we promise, and ends it through `release(theirs)`. */
static dlpark_status import_wrap(const DLTensor *tensor, uint64_t flags, bool empty, void *theirs,
                                 void (*release)(void *), dlpark__block **out, dlpark_error *err)
{
    dlpark__block *block = dlpark__block_new(tensor->strides == NULL ? tensor->ndim : 0, theirs, release);

    if (DLPARK_UNLIKELY(block == NULL))
        return import_refuse_memory(tensor, err);

    DLTensor *made = &block->managed.dl_tensor;
    *made = *tensor;
    block->managed.flags = flags;
    if (tensor->strides == NULL) {
        dlpark__span again; /* known to succeed: the check has made the same pass */
        (void)dlpark__layout_fill(tensor->ndim, tensor->shape, block->dimensions, &again, NULL);
        made->strides = tensor->ndim > 0 ? block->dimensions : NULL;
    }
    dlpark__tensor_normalise(made, !empty);
    *out = block;
    return DLPARK_OK;
}

dlpark__block *dlpark__block_wrap(DLManagedTensorVersioned *theirs)
{
    dlpark__block *block = dlpark__block_new(0, theirs, dlpark__versioned_end);

    if (block != NULL) {
        block->managed.dl_tensor = theirs->dl_tensor;
        block->managed.flags = theirs->flags;
    }
    return block;
}

static dlpark_status import_check_arguments(const dlpark_tensor *tensor, const void *theirs, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(tensor == NULL || theirs == NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is NULL", tensor == NULL ? "tensor" : "the tensor to take");
    return dlpark__tensor_check_output(tensor, err);
}

dlpark_status dlpark_tensor_import(dlpark_tensor *tensor, DLManagedTensorVersioned **theirs, dlpark_view *view,
                                   dlpark_error *err)
{
    DLManagedTensorVersioned *taken = theirs != NULL ? *theirs : NULL;
    bool empty;

    DLPARK_TRY(import_check_arguments(tensor, taken, err));
    DLPARK_TRY(dlpark_abi_check(taken->version, err)); /* of another major nothing else may be read */

    if (view == NULL) /* then it makes no difference what is known of writing */
        DLPARK_TRY(dlpark__check_tensor(&taken->dl_tensor, taken->flags, 0, &empty, NULL, err));
    else
        DLPARK_TRY(dlpark__check_tensor(&taken->dl_tensor, dlpark__tensor_flags(taken), dlpark__tensor_write(taken),
                                        &empty, view, err));
    if (!import_is_conformant(taken, empty)) {
        dlpark__block *block;
        DLPARK_TRY(import_wrap(&taken->dl_tensor, taken->flags, empty, taken, dlpark__versioned_end, &block, err));
        taken = &block->managed;
    }
    tensor->managed = taken;
    *theirs = NULL;
    return DLPARK_OK;
}

/* Takes the tensor that we gave out as `legacy` back, so that a tensor which goes to and fro stays as it is. */
static dlpark_status import_unwrap(DLManagedTensor *legacy, DLManagedTensorVersioned *inner, dlpark__block **out,
                                   dlpark_error *err)
{
    dlpark__block *block = dlpark__block_of(inner);

    if (block == NULL)
        block = dlpark__block_wrap(inner);
    if (block == NULL)
        return import_refuse_memory(&inner->dl_tensor, err);
    dlpark__legacy_free(legacy);
    *out = block;
    return DLPARK_OK;
}

dlpark_status dlpark_tensor_import_legacy(dlpark_tensor *tensor, DLManagedTensor **theirs, dlpark_view *view,
                                          dlpark_error *err)
{
    DLManagedTensor *taken = theirs != NULL ? *theirs : NULL;
    bool empty;
    dlpark__block *block = NULL;

    DLPARK_TRY(import_check_arguments(tensor, taken, err));
    DLPARK_TRY(dlpark__check_tensor(&taken->dl_tensor, 0, DLPARK_VIEW_UNKNOWN_WRITE, &empty, view, err));
    DLManagedTensorVersioned *inner = dlpark__legacy_inner(taken);
    if (inner != NULL)
        DLPARK_TRY(import_unwrap(taken, inner, &block, err));
    else
        DLPARK_TRY(import_wrap(&taken->dl_tensor, 0, empty, taken, import_end_legacy, &block, err));
    /* Nobody can say anything by this ABI, whatever was known before. */
    block->managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    block->write = DLPARK_VIEW_UNKNOWN_WRITE;
    tensor->managed = &block->managed;
    *theirs = NULL;
    return DLPARK_OK;
}
