#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

_Static_assert(sizeof(dlpark__block) <= DLPARK_TENSOR_STORAGE_NBYTES(0), "storage of a scalar holds a block");

#define TENSOR_ALIGNMENT      alignof(max_align_t)
#define TENSOR_DATA_ALIGNMENT ((size_t)64)

/* ---- The end of life ---- */

static void tensor_end_heap(DLManagedTensorVersioned *managed)
{
    dlpark__block *block = (dlpark__block *)managed;

    /* The owner may be the extra bytes, so the block goes last. */
    if (block->release != NULL)
        block->release(managed->manager_ctx);
    free(block);
}

static void tensor_end_storage(DLManagedTensorVersioned *managed)
{
    dlpark__block *block = (dlpark__block *)managed;

    /* The last touch: the release function may give the storage back. */
    if (block->release != NULL)
        block->release(managed->manager_ctx);
}

dlpark__block *dlpark__block_of(DLManagedTensorVersioned *managed)
{
    bool ours = managed != NULL && (managed->deleter == tensor_end_heap || managed->deleter == tensor_end_storage);

    return ours ? (dlpark__block *)managed : NULL;
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

static inline void tensor_block_init(dlpark__block *block, bool heap, void (*release)(void *))
{
    block->managed.version = (DLPackVersion){DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR};
    block->managed.deleter = heap ? tensor_end_heap : tensor_end_storage;
    block->release = release;
    block->extra_at = 0;
    block->write = 0;
}

dlpark__block *dlpark__block_new(int32_t ndim, void *owner, void (*release)(void *owner))
{
    dlpark__block *block = dlpark__memory_get(tensor_head_nbytes(1, ndim));

    if (block != NULL) {
        tensor_block_init(block, true, release);
        block->managed.manager_ctx = owner;
    }
    return block;
}

/* What a tensor that is given out promises: no offset where addresses add up, no data without elements. */
static void tensor_normalise(DLTensor *tensor, int64_t numel)
{
    if (numel == 0) {
        tensor->data = NULL;
        tensor->byte_offset = 0;
    } else if (dlpark_device_is_addressable(tensor->device)) {
        tensor->data = (unsigned char *)tensor->data + (size_t)tensor->byte_offset;
        tensor->byte_offset = 0;
    }
}

/* ---- new ---- */

/* The memory of the block: the caller's storage if given, or the heap. */
static dlpark_status tensor_get_block(const dlpark_tensor_desc *desc, size_t nbytes, dlpark__block **out,
                                      dlpark_error *err)
{
    if (desc->storage == NULL) {
        *out = dlpark__memory_get(nbytes);
        if (DLPARK_UNLIKELY(*out == NULL))
            return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a tensor header of %zu bytes", nbytes);
        return DLPARK_OK;
    }
    if (DLPARK_UNLIKELY(desc->storage_nbytes < nbytes))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "storage has %zu bytes, %zu are needed for rank %d",
                                desc->storage_nbytes, nbytes, (int)desc->ndim);
    if (DLPARK_UNLIKELY((uintptr_t)desc->storage % TENSOR_ALIGNMENT != 0))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "storage %p is not aligned to %zu bytes", desc->storage,
                                TENSOR_ALIGNMENT);
    *out = desc->storage;
    return DLPARK_OK;
}

/* Writes everything into a block and checks it there; the block is the caller's again on failure. */
static dlpark_status tensor_fill_block(dlpark__block *block, const dlpark_tensor_desc *desc, size_t head_nbytes,
                                       dlpark_view *view, dlpark_error *err)
{
    DLTensor *made = &block->managed.dl_tensor;
    void *owner = desc->owner;
    dlpark__extent extent;

    DLPARK_TRY(dlpark__desc_read_dimensions(desc, made, block->dimensions, &extent, err));
    block->managed.flags = dlpark__desc_flags(desc);
    DLPARK_TRY(dlpark__check_bytes(made, block->managed.flags, &extent, err));

    tensor_normalise(made, extent.numel);
    if (owner == NULL && desc->extra_nbytes > 0)
        owner = (unsigned char *)block + head_nbytes;
    tensor_block_init(block, desc->storage == NULL, desc->release);
    block->managed.manager_ctx = owner;
    if (desc->extra_nbytes > 0)
        block->extra_at = (uint32_t)head_nbytes;
    if (view != NULL)
        dlpark__view_fill(view, made, (uint32_t)block->managed.flags, extent.numel);
    return DLPARK_OK;
}

static dlpark_status tensor_new(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_view *view,
                                dlpark_error *err)
{
    dlpark__block *block;
    DLTensor head;

    DLPARK_TRY(dlpark__desc_check(tensor, desc, err));
    DLPARK_TRY(dlpark__desc_read_head(desc, &head, err));

    int32_t copied = (desc->shape_borrowed == NULL) + (desc->strides_borrowed == NULL);
    size_t head_nbytes = tensor_head_nbytes(copied, desc->ndim);
    if (desc->extra_nbytes > 0)
        head_nbytes = tensor_align(head_nbytes, TENSOR_ALIGNMENT);
    DLPARK_TRY(tensor_get_block(desc, head_nbytes + desc->extra_nbytes, &block, err));

    block->managed.dl_tensor = head;
    dlpark_status status = tensor_fill_block(block, desc, head_nbytes, view, err);
    if (DLPARK_UNLIKELY(status != DLPARK_OK)) {
        if (desc->storage == NULL)
            free(block);
        return status;
    }
    tensor->managed = &block->managed;
    return DLPARK_OK;
}

dlpark_status dlpark_tensor_new_sized(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                      dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor_desc sized;

    if (DLPARK_LIKELY(desc_nbytes == sizeof *desc))
        return tensor_new(tensor, desc, view, err);
    DLPARK_TRY(dlpark__desc_read_sized(desc, desc_nbytes, &sized, err));
    return tensor_new(tensor, &sized, view, err);
}

/* ---- new, the usual case ---- */

/* Below this, no stride times extent and no sum of 64 such leaves 63 bits. What is not below takes the general way. */
#define USUAL_LIMIT ((uint64_t)1 << 28)

/*
 * Copies given dimensions and measures them on the way: the larger of the element count and of the reach from element
 * 0. False for whatever is not usual: no elements, negative or huge strides, overflow.
 */
static inline bool usual_copy(size_t ndim, const int64_t *restrict shape, const int64_t *restrict strides,
                              int64_t *restrict to, int64_t *count)
{
    uint64_t any = 0, high = 0;
    int64_t numel = 1;
    size_t i = 0;

    do {
        int64_t extent = shape[i], stride = strides[i];
        to[i] = extent;
        to[ndim + i] = stride;
        if (extent == 1)
            continue;
        any |= (uint64_t)extent | (uint64_t)stride;
        high += ((uint64_t)extent - 1) * (uint64_t)stride;
        if (DLPARK_UNLIKELY(__builtin_mul_overflow(numel, extent, &numel)))
            return false;
    } while (++i < ndim);
    *count = numel > (int64_t)high ? numel : (int64_t)(high + 1);
    return any < USUAL_LIMIT && numel != 0;
}

/* The same with compact strides, which are made on the way. */
static inline bool usual_fill(size_t ndim, const int64_t *restrict shape, int64_t *restrict to, int64_t *count)
{
    int64_t numel = 1, signs = 0;
    size_t i = ndim;

    do {
        int64_t extent = shape[--i];
        to[i] = extent;
        to[ndim + i] = numel;
        signs |= extent;
        if (DLPARK_UNLIKELY(__builtin_mul_overflow(numel, extent, &numel)))
            return false;
    } while (i != 0);
    *count = numel;
    return signs >= 0 && numel != 0;
}

/* Whether at least one element at `data` has bytes that exist. One less than NULL overflows, too. */
static inline bool usual_bytes(const void *data, uint32_t bits, int64_t count)
{
    int64_t nbytes;
    uintptr_t last;

    return !__builtin_mul_overflow(count, (int64_t)(bits / 8), &nbytes) &&
           !__builtin_add_overflow((uintptr_t)data - 1, (uint64_t)nbytes, &last);
}

/* Fills a block but for its owner. What needs no judging goes first, which frees the registers for the dimensions. */
static inline DLManagedTensorVersioned *usual_init(dlpark__block *block, bool heap, void *data, uint32_t dtype,
                                                   size_t rank, const int64_t *shape, const int64_t *strides,
                                                   void (*release)(void *owner))
{
    DLTensor *made = &block->managed.dl_tensor;
    int64_t count;

    tensor_block_init(block, heap, release);
    block->managed.flags = 0;
    made->data = data;
    made->device = DLPARK_DEVICE_CPU;
    made->ndim = (int32_t)rank;
    made->dtype = DLPARK_DTYPE(dtype, (uint8_t)(dtype >> 8), 1);
    made->shape = block->dimensions;
    made->strides = block->dimensions + rank;
    made->byte_offset = 0;
    bool usual = strides != NULL ? usual_copy(rank, shape, strides, block->dimensions, &count)
                                 : usual_fill(rank, shape, block->dimensions, &count);
    return DLPARK_LIKELY(usual && usual_bytes(data, dtype >> 8 & 0xFF, count)) ? &block->managed : NULL;
}

DLManagedTensorVersioned *dlpark_tensor_new_heap(void *data, uint32_t dtype, int32_t ndim, const int64_t *shape,
                                                 const int64_t *strides, void (*release)(void *owner))
{
    size_t rank = (uint32_t)ndim;

    if (DLPARK_UNLIKELY(rank - 1 >= DLPARK_MAX_NDIM || shape == NULL))
        return NULL;
    dlpark__block *block = malloc(sizeof *block + 2 * rank * sizeof(int64_t));
    if (DLPARK_UNLIKELY(block == NULL))
        return NULL;
    DLManagedTensorVersioned *made = usual_init(block, true, data, dtype, rank, shape, strides, release);
    if (DLPARK_UNLIKELY(made == NULL))
        free(block);
    return made;
}

DLManagedTensorVersioned *dlpark_tensor_new_storage(void *data, uint32_t dtype, int32_t ndim, const int64_t *shape,
                                                    const int64_t *strides, void (*release)(void *owner), void *storage)
{
    size_t rank = (uint32_t)ndim;

    if (DLPARK_UNLIKELY(rank - 1 >= DLPARK_MAX_NDIM || shape == NULL))
        return NULL;
    return usual_init(storage, false, data, dtype, rank, shape, strides, release);
}

dlpark_tensor_made dlpark_tensor_new_unusual(void *data, uint32_t dtype, int32_t ndim, const int64_t *shape,
                                             const int64_t *strides, void *owner, void (*release)(void *owner),
                                             void *storage, size_t storage_nbytes, dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const dlpark_tensor_desc desc = {.data = data,
                                     .dtype = {(uint8_t)dtype, (uint8_t)(dtype >> 8), (uint16_t)(dtype >> 16)},
                                     .ndim = ndim,
                                     .shape = DLPARK_DIMS(shape),
                                     .strides = DLPARK_DIMS(strides),
                                     .owner = owner,
                                     .release = release,
                                     .storage = storage,
                                     .storage_nbytes = storage_nbytes};
    dlpark_status status = tensor_new(&tensor, &desc, view, err);

    return (dlpark_tensor_made){tensor.managed, status};
}

/* ---- alloc ---- */

static dlpark_status tensor_check_alloc(const dlpark_tensor_desc *desc, dlpark_error *err)
{
    const char *field = desc->data != NULL || desc->data_const != NULL                   ? "data"
                        : desc->byte_offset != 0                                         ? "byte_offset"
                        : desc->strides.values != NULL || desc->strides_borrowed != NULL ? "strides"
                        : desc->owner != NULL || desc->release != NULL                   ? "owner"
                        : desc->storage != NULL                                          ? "storage"
                                                                                         : NULL;
    if (field != NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is given, and alloc makes its own", field);
    if ((desc->flags & DLPARK_TENSOR_READ_ONLY) != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "READ_ONLY memory without contents is of no use");
    if (desc->device.device_type != 0 && desc->device.device_type != kDLCPU)
        return dlpark_error_set(err, DLPARK_E_DEVICE, "alloc makes host memory, not %s",
                                dlpark_device_name(desc->device).text);
    return DLPARK_OK;
}

/* The bytes that the elements of a description take. */
static dlpark_status tensor_alloc_nbytes(const dlpark_tensor_desc *desc, int64_t *nbytes, dlpark_error *err)
{
    int64_t scratch[DLPARK_MAX_NDIM];
    const int64_t *shape = desc->shape_borrowed;
    DLTensor head;
    int64_t numel;

    DLPARK_TRY(dlpark__desc_read_head(desc, &head, err));
    if (shape == NULL && desc->ndim > 0) {
        DLPARK_TRY(dlpark__desc_read_dims(&desc->shape, desc->ndim, scratch, "shape", err));
        shape = scratch;
    }
    DLPARK_TRY(dlpark_layout_numel(desc->ndim, shape, &numel, err));
    return dlpark_layout_nbytes(desc->dtype, (desc->flags & DLPARK_TENSOR_PADDED) != 0, numel, nbytes, err);
}

/* Header, extra bytes and data in one piece of memory: the header lies in it as caller's storage does, and its release
 * gives the whole piece back. */
static dlpark_status tensor_alloc(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, dlpark_view *view,
                                  dlpark_error *err)
{
    int64_t nbytes;

    DLPARK_TRY(dlpark__desc_check(tensor, desc, err));
    DLPARK_TRY(tensor_check_alloc(desc, err));
    DLPARK_TRY(tensor_alloc_nbytes(desc, &nbytes, err));

    size_t header = tensor_align(DLPARK_TENSOR_STORAGE_NBYTES(desc->ndim) + desc->extra_nbytes, TENSOR_DATA_ALIGNMENT);
    size_t total;
    void *memory = NULL;
    if (!__builtin_add_overflow(header, (uint64_t)nbytes, &total))
        memory = dlpark__memory_get_large(total);
    if (memory == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory for a tensor of %lld bytes", (long long)nbytes);

    dlpark_tensor_desc made = *desc;
    made.data = (unsigned char *)memory + header;
    made.flags |= DLPARK_TENSOR_CLAIM_COPIED;
    made.storage = memory;
    made.storage_nbytes = header;
    made.owner = memory;
    made.release = free;
    dlpark_status status = tensor_new(tensor, &made, view, err);
    if (status != DLPARK_OK)
        free(memory);
    return status;
}

dlpark_status dlpark_tensor_alloc_sized(dlpark_tensor *tensor, const dlpark_tensor_desc *desc, size_t desc_nbytes,
                                        dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor_desc sized;

    if (DLPARK_LIKELY(desc_nbytes == sizeof *desc))
        return tensor_alloc(tensor, desc, view, err);
    DLPARK_TRY(dlpark__desc_read_sized(desc, desc_nbytes, &sized, err));
    return tensor_alloc(tensor, &sized, view, err);
}
