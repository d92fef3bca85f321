/*
 * Taking foreign tensors, and giving ours out under the legacy ABI.
 */
#include <stdlib.h>

#include "internal.h"

/* ---- import ---- */

static void import_end_versioned(void *theirs)
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
static bool import_is_conformant(const DLManagedTensorVersioned *theirs, const dlpark__span *extent)
{
    const DLTensor *tensor = &theirs->dl_tensor;

    if (theirs->deleter == NULL || (tensor->strides == NULL && tensor->ndim > 0))
        return false;
    if (extent->numel == 0)
        return tensor->data == NULL && tensor->byte_offset == 0;
    return tensor->byte_offset == 0 || !dlpark_device_is_addressable(tensor->device);
}

/* A wrapper that describes a checked foreign tensor as we promise, and ends it through `release(theirs)`. */
static dlpark_status import_wrap(const DLTensor *tensor, uint64_t flags, const dlpark__span *extent, void *theirs,
                                 void (*release)(void *), dlpark__block **out, dlpark_error *err)
{
    dlpark__block *block = dlpark__block_new(tensor->strides == NULL ? tensor->ndim : 0, theirs, release);

    if (DLPARK_UNLIKELY(block == NULL))
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for the wrapper of an imported tensor of rank %d",
                                (int)tensor->ndim);

    DLTensor *made = &block->managed.dl_tensor;
    *made = *tensor;
    block->managed.flags = flags;
    if (tensor->strides == NULL) {
        dlpark__span again; /* known to succeed: the check has made the same pass */
        (void)dlpark__layout_fill(tensor->ndim, tensor->shape, block->dimensions, &again, NULL);
        made->strides = tensor->ndim > 0 ? block->dimensions : NULL;
    }
    dlpark__tensor_normalise(made, extent->numel);
    *out = block;
    return DLPARK_OK;
}

dlpark__block *dlpark__block_wrap(DLManagedTensorVersioned *theirs)
{
    dlpark__block *block = dlpark__block_new(0, theirs, import_end_versioned);

    if (block != NULL) {
        block->managed.dl_tensor = theirs->dl_tensor;
        block->managed.flags = theirs->flags;
    }
    return block;
}

/* What a tensor of ours that came by the legacy ABI does not know, DLPARK_VIEW_UNKNOWN_WRITE; 0 for any other. */
static uint32_t import_write(DLManagedTensorVersioned *managed)
{
    const dlpark__block *ours = dlpark__block_of(managed);

    return ours != NULL ? ours->write : 0;
}

/* Its struct says READ_ONLY to others, who cannot be told more exactly. */
static uint64_t import_view_flags(DLManagedTensorVersioned *managed)
{
    return import_write(managed) != 0 ? managed->flags & ~(uint64_t)DLPACK_FLAG_BITMASK_READ_ONLY : managed->flags;
}

static dlpark_status import_check_arguments(const dlpark_tensor *tensor, const void *theirs, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(tensor == NULL || theirs == NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is NULL", tensor == NULL ? "tensor" : "the tensor to take");
    if (DLPARK_UNLIKELY(tensor->managed != NULL))
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "the output tensor already holds one: release or export it");
    return DLPARK_OK;
}

dlpark_status dlpark_tensor_import(dlpark_tensor *tensor, DLManagedTensorVersioned **theirs, dlpark_view *view,
                                   dlpark_error *err)
{
    DLManagedTensorVersioned *taken = theirs != NULL ? *theirs : NULL;
    dlpark__span extent;

    DLPARK_TRY(import_check_arguments(tensor, taken, err));
    DLPARK_TRY(dlpark_abi_check(taken->version, err)); /* of another major nothing else may be read */

    DLPARK_TRY(
        dlpark__check_tensor(&taken->dl_tensor, import_view_flags(taken), import_write(taken), &extent, view, err));
    if (!import_is_conformant(taken, &extent)) {
        dlpark__block *block;
        DLPARK_TRY(import_wrap(&taken->dl_tensor, taken->flags, &extent, taken, import_end_versioned, &block, err));
        taken = &block->managed;
    }
    tensor->managed = taken;
    *theirs = NULL;
    return DLPARK_OK;
}

dlpark_status dlpark_tensor_import_legacy(dlpark_tensor *tensor, DLManagedTensor **theirs, dlpark_view *view,
                                          dlpark_error *err)
{
    DLManagedTensor *taken = theirs != NULL ? *theirs : NULL;
    dlpark__span extent;
    dlpark__block *block;

    DLPARK_TRY(import_check_arguments(tensor, taken, err));
    DLPARK_TRY(dlpark__check_tensor(&taken->dl_tensor, 0, DLPARK_VIEW_UNKNOWN_WRITE, &extent, view, err));
    DLPARK_TRY(
        import_wrap(&taken->dl_tensor, DLPACK_FLAG_BITMASK_READ_ONLY, &extent, taken, import_end_legacy, &block, err));
    block->write = DLPARK_VIEW_UNKNOWN_WRITE;
    tensor->managed = &block->managed;
    *theirs = NULL;
    return DLPARK_OK;
}

/* ---- export under the legacy ABI, and of the end of life alone ---- */

/* manager_ctx is the versioned tensor. */
static void legacy_end(DLManagedTensor *managed)
{
    DLManagedTensorVersioned *inner = managed->manager_ctx;

    inner->deleter(inner);
    free(managed);
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

    uint64_t lost = import_view_flags(tensor->managed) & ~dropped;
    if (lost & DLPACK_FLAG_BITMASK_READ_ONLY)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY,
                                "the tensor is read-only, which a legacy tensor cannot say (drop READ_ONLY by name to "
                                "lose it)");
    if (lost & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)
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

static void export_end_nothing(void *context)
{
    (void)context;
}

void dlpark_tensor_export_deleter(dlpark_tensor *tensor, void (**release)(void *context), void **context)
{
    *context = dlpark_tensor_export(tensor);
    *release = *context != NULL ? import_end_versioned : export_end_nothing;
}

/* ---- What a tensor is ---- */

void dlpark_tensor_view(const dlpark_tensor *tensor, dlpark_view *view)
{
    static int64_t no_elements[1] = {0};
    static int64_t any_stride[1] = {1};
    const DLTensor nothing = {
        .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLUInt, 8, 1}, .shape = no_elements, .strides = any_stride};

    if (tensor->managed == NULL) {
        dlpark__view_fill(view, &nothing, 0, 0);
        return;
    }
    uint32_t flags = (uint32_t)import_view_flags(tensor->managed) | import_write(tensor->managed);
    const DLTensor *held = &tensor->managed->dl_tensor;
    /* Data is NULL exactly when there are no elements: every maker sees to it. */
    dlpark__view_fill(view, held, flags, held->data == NULL ? 0 : 1);
}

void *dlpark_tensor_extra(const dlpark_tensor *tensor)
{
    dlpark__block *block = dlpark__block_of(tensor->managed);

    return block != NULL && block->extra_at != 0 ? (unsigned char *)block + block->extra_at : NULL;
}
