/*
 * new and alloc, the usual case: what is handed on in registers. The dimensions are copied and judged in one pass; what
 * that pass cannot judge goes the general way of tensor.c, which also finds the words for a failure.
 */
#include <stdlib.h>
#include <string.h>

#include "../pair.h"
#include "tensor_parts.h"
#include "../usual.h"

/* What a pass over given dimensions gathers. Meaningless unless everything that went into `any` was below the limit. */
typedef struct usual_sum {
    uint64_t any;  /* all extents and strides, or-ed */
    uint64_t high; /* reach from element 0 */
    int64_t numel;
} usual_sum;

/* Copies dimension i and the next; false when the element count overflows. */
static DLPARK__USUAL_INLINE bool usual_copy_pair(usual_sum *sum, size_t i, size_t ndim, const int64_t *restrict shape,
                                                 const int64_t *restrict strides, int64_t *restrict to)
{
    uint64_t one = (uint64_t)shape[i], two = (uint64_t)shape[i + 1];

    dlpark__pair_store(to + i, dlpark__pair_load(shape + i));
    dlpark__pair_store(to + ndim + i, dlpark__pair_load(strides + i));
    if (one == 1 && two == 1)
        return true;
    sum->any |= one | two | (uint64_t)strides[i] | (uint64_t)strides[i + 1];
    sum->high += (one - 1) * (uint64_t)strides[i] + (two - 1) * (uint64_t)strides[i + 1];
    return !__builtin_mul_overflow(sum->numel, (int64_t)(one * two), &sum->numel);
}

/*
 * Copies given dimensions and measures them on the way: the larger of the element count and of the reach from element 0.
 * False for whatever is not usual: no elements, negative or huge strides, overflow.
 */
static DLPARK__USUAL_INLINE bool usual_copy(size_t ndim, const int64_t *restrict shape, const int64_t *restrict strides,
                                            int64_t *restrict to, int64_t *count)
{
    usual_sum sum = {0, 0, 1};
    size_t i = ndim & 1;

    if (i != 0) {
        to[0] = sum.numel = shape[0];
        to[ndim] = strides[0];
        sum.any = (uint64_t)shape[0] | (uint64_t)strides[0];
        sum.high = ((uint64_t)shape[0] - 1) * (uint64_t)strides[0];
    }
    if ((ndim & 2) != 0) {
        if (DLPARK_UNLIKELY(!usual_copy_pair(&sum, i, ndim, shape, strides, to)))
            return false;
        i += 2;
    }
    for (; i < ndim; i += 4)
        if (DLPARK_UNLIKELY(!usual_copy_pair(&sum, i, ndim, shape, strides, to) ||
                            !usual_copy_pair(&sum, i + 2, ndim, shape, strides, to)))
            return false;
    *count = sum.numel > (int64_t)sum.high ? sum.numel : (int64_t)(sum.high + 1);
    return sum.any < DLPARK__USUAL_LIMIT && sum.numel != 0;
}

/* The same for up to four dimensions, which are those of most tensors: in two pairs, without a loop. */
static DLPARK__USUAL_INLINE bool usual_copy_short(size_t ndim, const int64_t *restrict shape,
                                                  const int64_t *restrict strides, int64_t *restrict to, int64_t *count)
{
    dlpark__pair outer = dlpark__pair_make(1, 1), outer_step = dlpark__pair_make(0, 0);
    size_t at = ndim & 1;

    if (ndim == 1) { /* as a pair it would cost more */
        to[0] = *count = shape[0];
        to[1] = strides[0];
        int64_t reach = (int64_t)(((uint64_t)shape[0] - 1) * (uint64_t)strides[0]);
        if (reach >= shape[0])
            *count = (int64_t)((uint64_t)reach + 1); /* what wraps is over the limit */
        return ((uint64_t)shape[0] | (uint64_t)strides[0]) < DLPARK__USUAL_LIMIT && shape[0] != 0;
    }
    if (at != 0) {
        to[0] = shape[0];
        to[ndim] = strides[0];
        outer = dlpark__pair_make(shape[0], 1);
        outer_step = dlpark__pair_make(strides[0], 0);
    } else if (ndim == 4) {
        outer = dlpark__pair_load(shape);
        outer_step = dlpark__pair_load(strides);
        dlpark__pair_store(to, outer);
        dlpark__pair_store(to + ndim, outer_step);
        at = 2;
    }
    dlpark__pair inner = dlpark__pair_load(shape + at), inner_step = dlpark__pair_load(strides + at);
    dlpark__pair_store(to + at, inner);
    dlpark__pair_store(to + ndim + at, inner_step);
    uint64_t any =
        dlpark__pair_any(dlpark__pair_or(dlpark__pair_or(outer, inner), dlpark__pair_or(outer_step, inner_step)));
    int64_t high = dlpark__pair_sum(dlpark__pair_add(dlpark__pair_multiply(dlpark__pair_less_one(outer), outer_step),
                                                     dlpark__pair_multiply(dlpark__pair_less_one(inner), inner_step)));
    dlpark__pair product = dlpark__pair_multiply(outer, inner);
    int64_t numel;
    if (DLPARK_UNLIKELY(any >= DLPARK__USUAL_LIMIT ||
                        __builtin_mul_overflow(dlpark__pair_first(product), dlpark__pair_second(product), &numel)))
        return false;
    *count = numel > high ? numel : high + 1;
    return numel != 0;
}

/* The same with compact strides, which are made on the way, from the last dimension to the first. */
static DLPARK__USUAL_INLINE bool usual_fill(size_t ndim, const int64_t *restrict shape, int64_t *restrict to,
                                            int64_t *count)
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

/* The same for four dimensions, the most frequent of the larger ranks, without a loop. */
static DLPARK__USUAL_INLINE bool usual_fill_4(const int64_t *restrict shape, int64_t *restrict to, int64_t *count)
{
    dlpark__pair outer = dlpark__pair_load(shape), inner = dlpark__pair_load(shape + 2);
    int64_t rows = (int64_t)((uint64_t)shape[2] * (uint64_t)shape[3]), planes, numel;

    dlpark__pair_store(to, outer);
    dlpark__pair_store(to + 2, inner);
    to[7] = 1;
    to[6] = shape[3];
    to[5] = rows;
    if (DLPARK_UNLIKELY(dlpark__pair_any(dlpark__pair_or(outer, inner)) >= DLPARK__USUAL_LIMIT ||
                        __builtin_mul_overflow(rows, shape[1], &planes) ||
                        __builtin_mul_overflow(planes, shape[0], &numel)))
        return false;
    to[4] = planes;
    *count = numel;
    return numel != 0;
}

static DLPARK__USUAL_INLINE bool usual_fill_short(size_t ndim, const int64_t *restrict shape, int64_t *restrict to,
                                                  int64_t *count)
{
    if (ndim == 1) {
        to[0] = *count = shape[0];
        to[1] = 1;
        return shape[0] > 0;
    }
    return ndim == 4 ? usual_fill_4(shape, to, count) : usual_fill(ndim, shape, to, count);
}

/* Whether at least one element at `data` has bytes that exist. One less than NULL overflows, too. */
static DLPARK__USUAL_INLINE bool usual_bytes(const void *data, uint64_t bits, int64_t count)
{
    int64_t nbytes;
    uintptr_t last;

    return !__builtin_mul_overflow(count, (int64_t)(bits / 8), &nbytes) &&
           !__builtin_add_overflow((uintptr_t)data - 1, (uint64_t)nbytes, &last);
}

/* Fills a block but for its owner. What needs no judging goes first, which frees the registers for the dimensions. */
static DLPARK__USUAL_INLINE DLManagedTensorVersioned *usual_init(dlpark__block *block, bool heap, bool is_short,
                                                                 void *data, uint64_t kind, const int64_t *shape,
                                                                 const int64_t *strides, void (*release)(void *owner))
{
    DLTensor *made = &block->managed.dl_tensor;
    size_t rank = (uint32_t)kind;
    int64_t count;
    bool usual;

    dlpark__block_init(block, heap, release);
    block->managed.flags = 0;
    made->data = data;
    made->device = DLPARK_DEVICE_CPU;
    made->ndim = (int32_t)rank;
    made->dtype.code = (uint8_t)(kind >> 32);
    made->dtype.bits = (uint8_t)(kind >> 40);
    made->dtype.lanes = (uint16_t)(kind >> 48);
    made->shape = block->dimensions;
    made->strides = block->dimensions + rank;
    made->byte_offset = 0;
    if (strides == NULL)
        usual = is_short ? usual_fill_short(rank, shape, block->dimensions, &count)
                         : usual_fill(rank, shape, block->dimensions, &count);
    else if (is_short)
        usual = usual_copy_short(rank, shape, strides, block->dimensions, &count);
    else
        usual = usual_copy(rank, shape, strides, block->dimensions, &count);
    return DLPARK_LIKELY(usual && usual_bytes(data, kind >> 40 & 0xFF, count)) ? &block->managed : NULL;
}

static DLPARK__USUAL_INLINE DLManagedTensorVersioned *usual_new(bool is_short, void *data, uint64_t kind,
                                                                const int64_t *shape, const int64_t *strides,
                                                                void (*release)(void *owner))
{
    dlpark__block *block = malloc(sizeof *block + 2 * (size_t)(uint32_t)kind * sizeof(int64_t));

    if (DLPARK_UNLIKELY(block == NULL))
        return NULL;
    DLManagedTensorVersioned *made = usual_init(block, true, is_short, data, kind, shape, strides, release);
    if (DLPARK_UNLIKELY(made == NULL))
        free(block);
    return made;
}

/* Many dimensions want more registers: in functions of their own, so that few do not pay for them. */
static __attribute__((noinline)) DLManagedTensorVersioned *
usual_new_long(void *data, uint64_t kind, const int64_t *shape, const int64_t *strides, void (*release)(void *owner))
{
    return usual_new(false, data, kind, shape, strides, release);
}

static __attribute__((noinline)) DLManagedTensorVersioned *usual_init_long(void *data, uint64_t kind,
                                                                           const int64_t *shape, const int64_t *strides,
                                                                           void (*release)(void *owner), void *storage)
{
    return usual_init(storage, false, false, data, kind, shape, strides, release);
}

DLManagedTensorVersioned *dlpark__tensor_new_heap(void *data, uint64_t kind, const int64_t *shape,
                                                  const int64_t *strides, void (*release)(void *owner))
{
    uint64_t before = (uint32_t)kind - UINT64_C(1); /* wraps at rank 0 */

    if (DLPARK_UNLIKELY(before >= DLPARK_MAX_NDIM || shape == NULL))
        return NULL;
    if (before >= DLPARK__USUAL_SHORT)
        return usual_new_long(data, kind, shape, strides, release);
    return usual_new(true, data, kind, shape, strides, release);
}

DLManagedTensorVersioned *dlpark__tensor_new_storage(void *data, uint64_t kind, const int64_t *shape,
                                                     const int64_t *strides, void (*release)(void *owner),
                                                     void *storage)
{
    uint64_t before = (uint32_t)kind - UINT64_C(1);

    if (DLPARK_UNLIKELY(before >= DLPARK_MAX_NDIM || shape == NULL))
        return NULL;
    if (before >= DLPARK__USUAL_SHORT)
        return usual_init_long(data, kind, shape, strides, release, storage);
    return usual_init(storage, false, true, data, kind, shape, strides, release);
}

dlpark__tensor_made dlpark__tensor_new_unusual(void *data, uint64_t kind, const int64_t *shape, const int64_t *strides,
                                               void *owner, void (*release)(void *owner), void *storage,
                                               size_t storage_nbytes, dlpark_view *view, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const dlpark_tensor_desc desc = {.data = data,
                                     .dtype = {(uint8_t)(kind >> 32), (uint8_t)(kind >> 40), (uint16_t)(kind >> 48)},
                                     .ndim = (int32_t)kind,
                                     .shape = DLPARK_DIMS(shape),
                                     .strides = DLPARK_DIMS(strides),
                                     .owner = owner,
                                     .release = release,
                                     .storage = storage,
                                     .storage_nbytes = storage_nbytes};
    dlpark_status status = dlpark_tensor_new_sized(&tensor, &desc, sizeof desc, view, err);

    return (dlpark__tensor_made){tensor.managed, status};
}

/* ---- alloc ---- */

#define USUAL_ALIGNMENT ((size_t)64)

/* The bytes of compact elements; 0 for none, for what overflows, and for so many that huge pages are asked for. */
static size_t usual_nbytes(uint64_t kind, const int64_t *shape)
{
    int64_t nbytes = (int64_t)(kind >> 40 & 0xFF) / 8, signs = 0;

    for (uint32_t i = 0; i < (uint32_t)kind; i++) {
        signs |= shape[i];
        if (DLPARK_UNLIKELY(__builtin_mul_overflow(nbytes, shape[i], &nbytes)))
            return 0;
    }
    return signs >= 0 && nbytes < (int64_t)DLPARK__MEMORY_HUGE_FROM ? (size_t)nbytes : 0;
}

/* The data lies behind the header. malloc and a gap: a heap that is asked for an alignment takes five times as long. */
dlpark__tensor_made dlpark__tensor_alloc_heap(uint64_t kind, const int64_t *shape)
{
    size_t rank = (uint32_t)kind, head_nbytes = sizeof(dlpark__block) + 2 * rank * sizeof(int64_t);
    size_t nbytes = rank - 1 < DLPARK_MAX_NDIM && shape != NULL ? usual_nbytes(kind, shape) : 0;

    if (DLPARK_UNLIKELY(nbytes == 0))
        return (dlpark__tensor_made){NULL, DLPARK_OK};
    dlpark__block *block = dlpark__memory_get(head_nbytes + (USUAL_ALIGNMENT - 1) + nbytes);
    if (DLPARK_UNLIKELY(block == NULL))
        return (dlpark__tensor_made){NULL, DLPARK_E_MEMORY};
    uintptr_t data = ((uintptr_t)block + head_nbytes + (USUAL_ALIGNMENT - 1)) & ~(uintptr_t)(USUAL_ALIGNMENT - 1);
    DLManagedTensorVersioned *made =
        usual_init(block, true, rank <= DLPARK__USUAL_SHORT, (unsigned char *)block + (data - (uintptr_t)block), kind,
                   shape, NULL, NULL);
    if (made == NULL) { /* GCOVR_EXCL_BR_LINE: the bytes have been counted by now */
        free(block);
        return (dlpark__tensor_made){NULL, DLPARK_OK};
    }
    made->flags = DLPACK_FLAG_BITMASK_IS_COPIED;
    made->manager_ctx = NULL;
    return (dlpark__tensor_made){made, DLPARK_OK};
}
