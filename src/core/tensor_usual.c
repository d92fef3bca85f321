/*
 * new, the usual case: what dlpark_tensor_new() of tensor.h hands on in registers. The dimensions are copied and judged
 * in one pass; what that pass cannot judge goes the general way of tensor.c, which also finds the words for a failure.
 */
#include <stdlib.h>

#include "internal.h"

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

    dlpark__block_init(block, heap, release);
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
    dlpark_status status = dlpark_tensor_new_sized(&tensor, &desc, sizeof desc, view, err);

    return (dlpark_tensor_made){tensor.managed, status};
}
