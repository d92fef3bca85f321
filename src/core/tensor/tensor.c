#include <stdalign.h>
#include <stdlib.h>

#include "tensor_parts.h"

_Static_assert(sizeof(dlpark__block) <= DLPARK_TENSOR_STORAGE_NBYTES(0), "storage of a scalar holds a block");

#define TENSOR_ALIGNMENT alignof(max_align_t)

/* ---- The end of life ---- */

void dlpark__block_end_heap(DLManagedTensorVersioned *managed)
{
    dlpark__block *block = (dlpark__block *)managed;

    /* The owner may be the extra bytes, so the block goes last. */
    if (block->release != NULL)
        block->release(managed->manager_ctx);
    free(block);
}

void dlpark__block_end_storage(DLManagedTensorVersioned *managed)
{
    dlpark__block *block = (dlpark__block *)managed;

    /* The last touch: the release function may give the storage back. */
    if (block->release != NULL)
        block->release(managed->manager_ctx);
}

/* Release and acquire: what the others did to the memory has happened before its end. */
static bool tensor_drop_owner(DLManagedTensorVersioned *managed)
{
    return __atomic_fetch_sub(&((dlpark__block *)managed)->owners, 1, __ATOMIC_ACQ_REL) == 1;
}

void dlpark__block_end_shared_heap(DLManagedTensorVersioned *managed)
{
    if (!tensor_drop_owner(managed))
        return;
    free(((dlpark__block *)managed)->spare);
    dlpark__block_end_heap(managed);
}

/* Whoever shares next may be at work on the part as soon as the owner is dropped. */
void dlpark__block_end_spare(DLManagedTensorVersioned *managed)
{
    dlpark__block *spare = (dlpark__block *)managed, *root = managed->manager_ctx;
    uint32_t one = 1 + DLPARK__BLOCK_SPARE_OUT;

    DLPARK__SPARE_HIDE(spare);
    if (__atomic_fetch_sub(&root->owners, one, __ATOMIC_ACQ_REL) != one)
        return;
    free(spare);
    dlpark__block_end_heap(&root->managed);
}

void dlpark__block_end_shared_storage(DLManagedTensorVersioned *managed)
{
    if (tensor_drop_owner(managed))
        dlpark__block_end_storage(managed);
}

void dlpark__block_share_first(dlpark__block *block)
{
    bool heap = block->managed.deleter == dlpark__block_end_heap;

    block->owners = 2;
    block->spare = NULL;
    block->managed.deleter = heap ? dlpark__block_end_shared_heap : dlpark__block_end_shared_storage;
}

void dlpark_managed_release_legacy(DLManagedTensor **managed)
{
    if (managed == NULL || *managed == NULL)
        return;
    DLManagedTensor *ended = *managed;
    *managed = NULL;
    if (ended->deleter != NULL)
        ended->deleter(ended);
}

/* ---- What a tensor is ---- */

uint32_t dlpark__tensor_write(DLManagedTensorVersioned *managed)
{
    const dlpark__block *ours = dlpark__block_of(managed);

    return ours != NULL ? ours->write : 0;
}

/* The struct of what came by the legacy ABI says READ_ONLY to others, who cannot be told more exactly. */
uint64_t dlpark__tensor_flags(DLManagedTensorVersioned *managed)
{
    return dlpark__tensor_write(managed) != 0 ? managed->flags & ~(uint64_t)DLPACK_FLAG_BITMASK_READ_ONLY
                                              : managed->flags;
}

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
    uint32_t flags = (uint32_t)dlpark__tensor_flags(tensor->managed) | dlpark__tensor_write(tensor->managed);
    const DLTensor *held = &tensor->managed->dl_tensor;
    /* Data is NULL exactly when there are no elements: every maker sees to it. */
    dlpark__view_fill(view, held, flags, held->data == NULL ? 0 : 1);
}

void *dlpark_tensor_extra(const dlpark_tensor *tensor)
{
    dlpark__block *block = dlpark__block_of(tensor->managed);

    return block != NULL && block->extra_at != 0 ? (unsigned char *)block + block->extra_at : NULL;
}

void *dlpark__tensor_owner(DLManagedTensorVersioned *managed, void (*release)(void *owner))
{
    const dlpark__block *block = dlpark__block_of(managed);

    /* A part and a spare part have the block that they share as their owner. */
    if (block != NULL && (managed->deleter == dlpark__block_end_spare || block->release == dlpark__part_end))
        block = block->managed.manager_ctx;
    return block != NULL && block->release == release ? block->managed.manager_ctx : NULL;
}

/* ---- Blocks ---- */

static size_t tensor_align(size_t nbytes, size_t alignment)
{
    return (nbytes + alignment - 1) / alignment * alignment;
}

/* Bytes of a block up to its extra bytes. Rank is in range, so this cannot overflow. */
static size_t tensor_head_nbytes(int32_t copied_lists, int32_t ndim)
{
    return sizeof(dlpark__block) + (size_t)copied_lists * (size_t)ndim * sizeof(int64_t);
}

dlpark__block *dlpark__block_new(int32_t ndim, void *owner, void (*release)(void *owner))
{
    dlpark__block *block = dlpark__memory_get(tensor_head_nbytes(1, ndim));

    if (block != NULL) {
        dlpark__block_init(block, true, release);
        block->managed.manager_ctx = owner;
    }
    return block;
}

/* ---- new ---- */

static dlpark_status tensor_check_storage(const dlpark_tensor_desc *desc, size_t nbytes, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(desc->storage_nbytes < nbytes))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "storage has %zu bytes, %zu are needed for rank %d",
                                desc->storage_nbytes, nbytes, (int)desc->ndim);
    if (DLPARK_UNLIKELY((uintptr_t)desc->storage % TENSOR_ALIGNMENT != 0))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "storage %p is not aligned to %zu bytes", desc->storage,
                                TENSOR_ALIGNMENT);
    return DLPARK_OK;
}

/* The memory of the block: the caller's storage, what the caller's allocator gives, with a hook, or the heap. */
static dlpark_status tensor_get_block(const dlpark_tensor_desc *desc, size_t nbytes, dlpark__hook **hook,
                                      dlpark__block **out, dlpark_error *err)
{
    *hook = NULL;
    if (desc->storage != NULL) {
        DLPARK_TRY(tensor_check_storage(desc, nbytes, err));
        *out = desc->storage;
        return DLPARK_OK;
    }
    if (desc->allocator != NULL) {
        DLPARK_TRY(dlpark__hook_new(desc->allocator, nbytes, TENSOR_ALIGNMENT, hook, err));
        *out = (dlpark__block *)(*hook + 1);
        return DLPARK_OK;
    }
    *out = dlpark__memory_get(nbytes);
    if (DLPARK_UNLIKELY(*out == NULL))
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a tensor header of %zu bytes", nbytes);
    return DLPARK_OK;
}

/* Writes everything into a block and checks it there; the block is the caller's again on failure. */
static dlpark_status tensor_fill_block(dlpark__block *block, const dlpark_tensor_desc *desc, size_t head_nbytes,
                                       dlpark_view *view, dlpark_error *err)
{
    DLTensor *made = &block->managed.dl_tensor;
    void *owner = desc->owner;
    dlpark__span extent;

    DLPARK_TRY(dlpark__desc_read_dimensions(desc, made, block->dimensions, &extent, err));
    block->managed.flags = dlpark__desc_flags(desc);
    DLPARK_TRY(dlpark__check_bytes(made, block->managed.flags, &extent, err));

    dlpark__tensor_normalise(made, extent.numel);
    DLPARK_TRY(dlpark__desc_check_alignment(desc, made, err));
    if (owner == NULL && desc->extra_nbytes > 0)
        owner = (unsigned char *)block + head_nbytes;
    dlpark__block_init(block, desc->storage == NULL, desc->release);
    block->managed.manager_ctx = owner;
    if (desc->extra_nbytes > 0)
        block->extra_at = (uint32_t)head_nbytes;
    if (view != NULL)
        dlpark__view_fill(view, made, (uint32_t)block->managed.flags, extent.numel);
    return DLPARK_OK;
}

/* Memory of a caller's allocator ends as a caller's storage does; its hook has the caller's release in it. */
static void tensor_attach_hook(dlpark__block *block, dlpark__hook *hook)
{
    hook->owner = block->managed.manager_ctx;
    hook->release = block->release;
    block->managed.manager_ctx = hook;
    block->managed.deleter = dlpark__block_end_storage;
    block->release = dlpark__hook_end;
}

static dlpark_status tensor_new(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_view *view,
                                dlpark_error *err)
{
    dlpark__block *block;
    dlpark__hook *hook;
    DLTensor head;

    DLPARK_TRY(dlpark__desc_check(tensor, desc, err));
    DLPARK_TRY(dlpark__desc_read_head(desc, &head, err));

    int32_t copied = (desc->shape_borrowed == NULL) + (desc->strides_borrowed == NULL);
    size_t head_nbytes = tensor_head_nbytes(copied, desc->ndim);
    if (desc->extra_nbytes > 0)
        head_nbytes = tensor_align(head_nbytes, TENSOR_ALIGNMENT);
    DLPARK_TRY(tensor_get_block(desc, head_nbytes + desc->extra_nbytes, &hook, &block, err));

    block->managed.dl_tensor = head;
    dlpark_status status = tensor_fill_block(block, desc, head_nbytes, view, err);
    if (DLPARK_UNLIKELY(status != DLPARK_OK)) {
        if (hook != NULL)
            dlpark__hook_end(hook);
        else if (desc->storage == NULL)
            free(block);
        return status;
    }
    if (hook != NULL)
        tensor_attach_hook(block, hook);
    tensor->managed = &block->managed;
    return DLPARK_OK;
}

dlpark_status dlpark_tensor_new_sized(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                      dlpark_view *view, dlpark_error *err)
{
    return dlpark__desc_make(tensor_new, tensor, desc, desc_nbytes, view, err);
}
