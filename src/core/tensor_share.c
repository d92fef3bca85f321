/*
 * Sharing. The block that holds a tensor counts its owners; each further one is a small block of its own, whose end drops
 * the count. A part of a part counts at the same block, so there are no chains.
 */
#include <stdlib.h>

#include "tensor_parts.h"

/* Ends what a part keeps alive; a function of its own, so that a part is told from any other block. */
static void share_end_part(void *root)
{
    DLManagedTensorVersioned *managed = root; /* the first member of its block */

    managed->deleter(managed);
}

/* Where the bytes of a view lie: addresses, or offsets from its handle. False when it has none. */
static bool share_find_bytes(const dlpark_view *view, uint64_t *first, uint64_t *past_last)
{
    bool addressable = dlpark_device_is_addressable(view->device);
    uint64_t base = (addressable ? (uint64_t)(uintptr_t)view->data : 0) + view->byte_offset;
    int64_t lowest, past_highest;

    if (dlpark_view_numel(view) == 0)
        return false;
    dlpark__view_byte_range(view, &lowest, &past_highest);
    *first = base + (uint64_t)lowest;
    *past_last = base + (uint64_t)past_highest;
    return true;
}

/* Whether both are on one device, and where that gives out handles, of one handle. */
static bool share_is_same_memory(const dlpark_view *whole, const dlpark_view *part)
{
    return dlpark_device_equal(whole->device, part->device) &&
           (dlpark_device_is_addressable(whole->device) || whole->data == part->data);
}

static DLPARK_COLD dlpark_status share_refuse_part(const dlpark_view *whole, const dlpark_view *part, dlpark_error *err)
{
    uint64_t part_first = 0, part_past = 0, first = 0, past = 0;

    if (!dlpark_device_equal(whole->device, part->device))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the view is on %s, and the tensor on %s",
                                dlpark_device_name(part->device).text, dlpark_device_name(whole->device).text);
    if (!share_find_bytes(whole, &first, &past))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the view has elements, and the tensor none");
    if (!share_is_same_memory(whole, part))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the view is of handle %p on %s, and the tensor of %p",
                                part->data, dlpark_device_name(part->device).text, whole->data);
    (void)share_find_bytes(part, &part_first, &part_past);
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            "the view (bytes 0x%llx to 0x%llx) leaves the tensor's memory (bytes 0x%llx to 0x%llx)",
                            (unsigned long long)part_first, (unsigned long long)part_past, (unsigned long long)first,
                            (unsigned long long)past);
}

/* Whether a view that is known to be right lies within the tensor. */
static dlpark_status share_check_part(const dlpark_view *whole, const dlpark_view *part, dlpark_error *err)
{
    uint64_t part_first, part_past, first, past;
    bool inside = share_is_same_memory(whole, part);

    if (!share_find_bytes(part, &part_first, &part_past))
        inside = dlpark_device_equal(whole->device, part->device);
    else if (inside)
        inside = share_find_bytes(whole, &first, &past) && first <= part_first && part_past <= past;
    return inside ? DLPARK_OK : share_refuse_part(whole, part, err);
}

/* The tensor that a caller's view claims to be, checked as anybody's, since a struct can be filled with anything. */
static dlpark_status share_read_view(const dlpark_view *view, DLTensor *out, dlpark_error *err)
{
    bool empty;

    DLPARK_TRY(dlpark__view_check_byte(view, err));
    *out = (DLTensor){.data = view->data,
                      .device = view->device,
                      .ndim = view->ndim,
                      .dtype = view->dtype,
                      .shape = dlpark__unconst(view->shape),
                      .strides = dlpark__unconst(view->strides),
                      .byte_offset = view->byte_offset};
    DLPARK_TRY(dlpark__check_tensor(out, view->flags & DLPARK_VIEW_PADDED, 0, &empty, NULL, err));
    dlpark__tensor_normalise(out, !empty);
    return DLPARK_OK;
}

/* The block of a part. Its lists are its own, since those of the tensor may end before it. */
static dlpark__block *share_make_part(const DLTensor *tensor, uint32_t flags)
{
    dlpark__block *block = dlpark__block_new(2 * tensor->ndim, NULL, share_end_part);
    size_t ndim = (size_t)tensor->ndim;

    if (block == NULL)
        return NULL;
    DLTensor *made = &block->managed.dl_tensor;
    int64_t *lists = block->dimensions;
    *made = *tensor;
    made->shape = ndim > 0 ? lists : NULL;
    made->strides = ndim > 0 ? lists + ndim : NULL;
    for (size_t i = 0; i < ndim; i++) {
        lists[i] = tensor->shape[i];
        lists[ndim + i] = tensor->strides[i];
    }
    if (made->data == NULL) { /* strides without elements mean nothing, but somebody may multiply by them */
        dlpark__span extent;
        (void)dlpark__layout_fill(made->ndim, lists, lists + ndim, &extent, NULL); /* known to succeed */
    }
    block->managed.flags = flags & DLPARK_VIEW_READ_ONLY;
    if (dlpark_dtype_is_packed(made->dtype))
        block->managed.flags |= flags & DLPARK_VIEW_PADDED;
    if ((flags & DLPARK_VIEW_READ_ONLY) == 0 && (flags & DLPARK_VIEW_UNKNOWN_WRITE) != 0) {
        block->write = DLPARK_VIEW_UNKNOWN_WRITE;
        block->managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    }
    return block;
}

/* The block that counts the owners of a tensor of ours. */
static dlpark__block *share_find_root(dlpark__block *block)
{
    return block->release == share_end_part ? block->managed.manager_ctx : block;
}

static dlpark_status share_check_arguments(const dlpark_tensor *part, const dlpark_tensor *tensor, dlpark_error *err)
{
    if (part == NULL || tensor == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is NULL", part == NULL ? "part" : "tensor");
    DLPARK_TRY(dlpark__tensor_check_output(part, err));
    if (tensor->managed == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is empty");
    return DLPARK_OK;
}

static dlpark_status share_refuse_memory(int32_t ndim, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory to share a tensor of rank %d", (int)ndim);
}

dlpark_status dlpark_tensor_share(dlpark_tensor *part, dlpark_tensor *tensor, const dlpark_view *view,
                                  dlpark_error *err)
{
    DLTensor read;
    dlpark_view whole;

    DLPARK_TRY(share_check_arguments(part, tensor, err));
    dlpark_tensor_view(tensor, &whole);
    if (view == NULL)
        view = &whole;
    DLPARK_TRY(share_read_view(view, &read, err));
    DLPARK_TRY(share_check_part(&whole, view, err));

    uint32_t flags = view->flags | (whole.flags & DLPARK_VIEW_READ_ONLY);
    dlpark__block *made = share_make_part(&read, flags);
    if (made == NULL)
        return share_refuse_memory(view->ndim, err);
    dlpark__block *block = dlpark__block_of(tensor->managed);
    if (block == NULL)
        block = dlpark__block_wrap(tensor->managed);
    if (block == NULL) {
        free(made);
        return share_refuse_memory(view->ndim, err);
    }
    tensor->managed = &block->managed;
    block->managed.flags &= ~(uint64_t)DLPACK_FLAG_BITMASK_IS_COPIED;
    dlpark__block *root = share_find_root(block);
    dlpark__block_share(root);
    made->managed.manager_ctx = root;
    part->managed = &made->managed;
    return DLPARK_OK;
}
