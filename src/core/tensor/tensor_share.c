/*
 * Sharing. The block that holds a tensor counts its owners; each further one is a small block of its own, whose end drops
 * the count. A part of a part counts at the same block, so there are no chains. A part has room for the legacy struct,
 * since most parts are made to be given out, and old consumers ask for that one: then one allocation serves both.
 */
#include <stdlib.h>

#include "../pair.h"
#include "tensor_parts.h"

void dlpark__part_end(void *root)
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

/* Strides without elements mean nothing, but somebody may multiply by them. */
static DLPARK_COLD void share_fill_strides(DLTensor *made)
{
    dlpark__span extent;

    (void)dlpark__layout_fill(made->ndim, made->shape, made->strides, &extent, NULL); /* known to succeed */
}

static dlpark__block *share_new_part(size_t ndim)
{
    size_t words = (size_t)DLPARK__PART_LEGACY_WORDS + 2 * ndim;

    return malloc(sizeof(dlpark__block) + words * sizeof(int64_t));
}

/* Fills the block of a part, but for owner and flags. Its lists are its own, since those of the tensor may end before. */
static inline void share_fill_part(dlpark__block *block, const DLTensor *tensor)
{
    size_t ndim = (size_t)tensor->ndim, i = 0;
    DLTensor *made = &block->managed.dl_tensor;
    int64_t *lists = block->dimensions + DLPARK__PART_LEGACY_WORDS;

    dlpark__block_init(block, true, dlpark__part_end);
    *made = *tensor;
    made->shape = ndim > 0 ? lists : NULL;
    made->strides = ndim > 0 ? lists + ndim : NULL;
    for (; i + 2 <= ndim; i += 2) {
        dlpark__pair_store(lists + i, dlpark__pair_load(tensor->shape + i));
        dlpark__pair_store(lists + ndim + i, dlpark__pair_load(tensor->strides + i));
    }
    if (i < ndim) {
        lists[i] = tensor->shape[i];
        lists[ndim + i] = tensor->strides[i];
    }
    if (DLPARK_UNLIKELY(made->data == NULL))
        share_fill_strides(made);
}

/* What a part of a view may do. */
static void share_set_flags(dlpark__block *block, uint32_t flags)
{
    block->managed.flags = flags & DLPARK_VIEW_READ_ONLY;
    if (dlpark_dtype_is_packed(block->managed.dl_tensor.dtype))
        block->managed.flags |= flags & DLPARK_VIEW_PADDED;
    if ((flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) == DLPARK_VIEW_UNKNOWN_WRITE) {
        block->write = DLPARK_VIEW_UNKNOWN_WRITE;
        block->managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
    }
}

/* The same for the whole of a tensor of ours: what that may do. */
static inline void share_copy_flags(dlpark__block *block, const dlpark__block *whole)
{
    block->write = whole->write;
    block->managed.flags = whole->managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY;
    if (DLPARK_UNLIKELY((whole->managed.flags & DLPARK_VIEW_PADDED) != 0 &&
                        dlpark_dtype_is_packed(whole->managed.dl_tensor.dtype)))
        block->managed.flags |= DLPARK_VIEW_PADDED;
}

static DLPARK_COLD dlpark_status share_refuse_memory(int32_t ndim, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory to share a tensor of rank %d", (int)ndim);
}

/* Counts the part at the block that counts the owners of a tensor of ours. */
static void share_join(dlpark__block *block, dlpark__block *made, dlpark_tensor *part)
{
    dlpark__block *root = dlpark__part_legacy(block) != NULL ? block->managed.manager_ctx : block;

    block->managed.flags &= ~(uint64_t)DLPACK_FLAG_BITMASK_IS_COPIED;
    dlpark__block_share(root);
    made->managed.manager_ctx = root;
    part->managed = &made->managed;
}

/* The block behind a tensor, a new one around that of others. NULL when there is no memory. */
static inline dlpark__block *share_get_block(const dlpark_tensor *tensor)
{
    dlpark__block *block = dlpark__block_of(tensor->managed);

    return DLPARK_LIKELY(block != NULL) ? block : dlpark__block_wrap(tensor->managed);
}

/* The whole of a tensor, which is what it has to be already. */
static dlpark_status share_whole(dlpark_tensor *part, dlpark_tensor *tensor, dlpark_error *err)
{
    int32_t ndim = tensor->managed->dl_tensor.ndim;
    dlpark__block *made = share_new_part((size_t)ndim);

    if (DLPARK_UNLIKELY(made == NULL))
        return share_refuse_memory(ndim, err);
    dlpark__block *block = share_get_block(tensor);
    if (DLPARK_UNLIKELY(block == NULL)) {
        free(made);
        return share_refuse_memory(ndim, err);
    }
    tensor->managed = &block->managed;
    share_fill_part(made, &block->managed.dl_tensor);
    share_copy_flags(made, block);
    share_join(block, made, part);
    return DLPARK_OK;
}

/*
 * The whole of a tensor that is shared already, and so may be many times more: its spare part is used again whenever it
 * is back. Only the thread that has the tensor takes it, so whoever gives it back may not be watched; but what they
 * did to it must have happened.
 */
static dlpark_status share_again(dlpark_tensor *part, dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark__block *block = (dlpark__block *)tensor->managed, *made = block->spare;

    if (DLPARK_UNLIKELY(made == NULL)) {
        made = share_new_part((size_t)block->managed.dl_tensor.ndim);
        if (made == NULL)
            return share_refuse_memory(block->managed.dl_tensor.ndim, err);
        block->spare = made;
    } else if (DLPARK_UNLIKELY(__atomic_load_n(&block->owners, __ATOMIC_ACQUIRE) >= DLPARK__BLOCK_SPARE_OUT)) {
        return share_whole(part, tensor, err);
    }
    /* Before the part is written, as it would wait for that. */
    (void)__atomic_fetch_add(&block->owners, 1 + DLPARK__BLOCK_SPARE_OUT, __ATOMIC_RELAXED);
    DLPARK__SPARE_SHOW(made);
    share_fill_part(made, &block->managed.dl_tensor);
    share_copy_flags(made, block);
    made->managed.deleter = dlpark__block_end_spare;
    made->managed.manager_ctx = block;
    part->managed = &made->managed;
    return DLPARK_OK;
}

/* A part as a view describes it. */
static dlpark_status share_viewed(dlpark_tensor *part, dlpark_tensor *tensor, const dlpark_view *view,
                                  dlpark_error *err)
{
    DLTensor read;
    dlpark_view whole;

    dlpark_tensor_view(tensor, &whole);
    DLPARK_TRY(share_read_view(view, &read, err));
    DLPARK_TRY(share_check_part(&whole, view, err));
    dlpark__block *made = share_new_part((size_t)read.ndim);
    if (made == NULL)
        return share_refuse_memory(view->ndim, err);
    dlpark__block *block = share_get_block(tensor);
    if (block == NULL) {
        free(made);
        return share_refuse_memory(view->ndim, err);
    }
    tensor->managed = &block->managed;
    share_fill_part(made, &read);
    share_set_flags(made, view->flags | (whole.flags & DLPARK_VIEW_READ_ONLY));
    share_join(block, made, part);
    return DLPARK_OK;
}

static dlpark_status share_check_arguments(const dlpark_tensor *part, const dlpark_tensor *tensor, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(part == NULL || tensor == NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is NULL", part == NULL ? "part" : "tensor");
    DLPARK_TRY(dlpark__tensor_check_output(part, err));
    if (DLPARK_UNLIKELY(tensor->managed == NULL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is empty");
    return DLPARK_OK;
}

dlpark_status dlpark_tensor_share(dlpark_tensor *part, dlpark_tensor *tensor, const dlpark_view *view,
                                  dlpark_error *err)
{
    DLPARK_TRY(share_check_arguments(part, tensor, err));
    if (view != NULL)
        return share_viewed(part, tensor, view, err);
    if (DLPARK_LIKELY(tensor->managed->deleter == dlpark__block_end_shared_heap))
        return share_again(part, tensor, err);
    return share_whole(part, tensor, err);
}
