/*
 * new, the usual case: what dlpark_tensor_new() of tensor.h hands on in registers. The dimensions are copied and judged
 * in one pass; what that pass cannot judge goes the general way of tensor.c, which also finds the words for a failure.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Below this, no stride times extent and no sum of 64 such leaves 63 bits. What is not below takes the general way. */
#define USUAL_LIMIT ((uint64_t)1 << 28)

/* What a pass over given dimensions gathers. Meaningless unless everything that went into `any` was below the limit. */
typedef struct usual_sum {
    uint64_t any;  /* all extents and strides, or-ed */
    uint64_t high; /* reach from element 0 */
    int64_t numel;
} usual_sum;

static inline void usual_add(usual_sum *sum, int64_t extent, int64_t stride)
{
    sum->any |= (uint64_t)extent | (uint64_t)stride;
    sum->high += ((uint64_t)extent - 1) * (uint64_t)stride;
}

/*
 * Copies given dimensions and measures them on the way, two at a time: the larger of the element count and of the reach
 * from element 0. False for whatever is not usual: no elements, negative or huge strides, overflow.
 */
static inline bool usual_copy(size_t ndim, const int64_t *restrict shape, const int64_t *restrict strides,
                              int64_t *restrict to, int64_t *count)
{
    usual_sum sum = {0, 0, 1};
    size_t i = ndim & 1;

    if (i != 0) {
        to[0] = shape[0];
        to[ndim] = strides[0];
        usual_add(&sum, shape[0], strides[0]);
        sum.numel = shape[0];
    }
    for (; i < ndim; i += 2) {
        int64_t one = shape[i], two = shape[i + 1];
        memcpy(to + i, shape + i, 2 * sizeof *to); /* one vector move, where two numbers would be two */
        memcpy(to + ndim + i, strides + i, 2 * sizeof *to);
        if (one == 1 && two == 1)
            continue;
        usual_add(&sum, one, strides[i]);
        usual_add(&sum, two, strides[i + 1]);
        if (DLPARK_UNLIKELY(__builtin_mul_overflow(sum.numel, (int64_t)((uint64_t)one * (uint64_t)two), &sum.numel)))
            return false;
    }
    *count = sum.numel > (int64_t)sum.high ? sum.numel : (int64_t)(sum.high + 1);
    return sum.any < USUAL_LIMIT && sum.numel != 0;
}

/* The same with compact strides, which are made on the way, from the last dimension to the first. */
static inline bool usual_fill(size_t ndim, const int64_t *restrict shape, int64_t *restrict to, int64_t *count)
{
    int64_t numel = 1, inner, signs = 0;
    size_t i = ndim;

    for (; i >= 2; i -= 2) {
        int64_t one = shape[i - 2], two = shape[i - 1];
        to[i - 2] = one;
        to[i - 1] = two;
        to[ndim + i - 1] = numel;
        signs |= one | two;
        if (DLPARK_UNLIKELY(__builtin_mul_overflow(numel, two, &inner)))
            return false;
        to[ndim + i - 2] = inner;
        if (DLPARK_UNLIKELY(__builtin_mul_overflow(inner, one, &numel)))
            return false;
    }
    if (i != 0) {
        to[0] = shape[0];
        to[ndim] = numel;
        signs |= shape[0];
        if (DLPARK_UNLIKELY(__builtin_mul_overflow(numel, shape[0], &numel)))
            return false;
    }
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
