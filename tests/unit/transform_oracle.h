/*
 * What the tests of transform*.c share: where an element lies, in bits, worked out element by element, and every small
 * layout to try. Nothing here uses the library's arithmetic.
 */
#ifndef TRANSFORM_ORACLE_H
#define TRANSFORM_ORACLE_H

#include "test.h"

#include <stdbool.h>

/* Never read or written. Element 0 of every layout lies in the middle. */
enum { ORACLE_START = 4096 };
static unsigned char oracle_memory[2 * ORACLE_START];

static inline dlpark_view oracle_view(DLDevice device, DLDataType dtype, uint64_t flags, int ndim, const int64_t *shape,
                                      const int64_t *strides)
{
    dlpark_view view;
    DLTensor tensor = {oracle_memory, device, ndim, dtype, (int64_t *)(uintptr_t)shape, (int64_t *)(uintptr_t)strides,
                       ORACLE_START};

    memset(&view, 0xC3, sizeof view); /* no byte is undefined when a refused view is compared as a whole */
    assert_int_equal(dlpark_check(&tensor, flags, &view, NULL), DLPARK_OK);
    return view;
}

static inline dlpark_view oracle_cpu(DLDataType dtype, int ndim, const int64_t *shape, const int64_t *strides)
{
    return oracle_view(DLPARK_DEVICE_CPU, dtype, 0, ndim, shape, strides);
}

static inline int64_t oracle_width(DLDataType dtype, uint32_t flags)
{
    int64_t bits = (int64_t)dtype.bits * dtype.lanes;

    while ((flags & DLPARK_VIEW_PADDED) && bits % 8 != 0)
        bits++;
    return bits;
}

/* What is left of the flags when the elements become those of `dtype`. */
static inline uint32_t oracle_flags(const dlpark_view *before, DLDataType dtype)
{
    bool whole = oracle_width(before->dtype, 0) % 8 == 0 || oracle_width(dtype, 0) % 8 == 0;

    return whole ? before->flags & ~DLPARK_VIEW_PADDED : before->flags;
}

static inline bool oracle_is_handle(const dlpark_view *view)
{
    return view->device.device_type == kDLMetal || view->device.device_type == kDLOpenCL ||
           view->device.device_type == kDLVulkan;
}

/* The bit at which an element lies, from the start of the memory. */
static inline int64_t oracle_bit(const dlpark_view *view, const int64_t *index)
{
    int64_t at = oracle_is_handle(view) ? (int64_t)view->byte_offset
                                        : (int64_t)((uintptr_t)view->data - (uintptr_t)oracle_memory);

    at = at * 8 + view->bit_offset;
    for (int i = 0; i < view->ndim; i++)
        at += index[i] * view->strides[i] * oracle_width(view->dtype, view->flags);
    return at;
}

static inline int64_t oracle_numel(int ndim, const int64_t *shape)
{
    int64_t numel = 1;

    for (int i = 0; i < ndim; i++)
        numel *= shape[i];
    return numel;
}

/* The index of the n-th element in row-major order. */
static inline void oracle_unravel(int ndim, const int64_t *shape, int64_t n, int64_t *index)
{
    for (int i = ndim - 1; i >= 0; i--) {
        index[i] = n % shape[i];
        n /= shape[i];
    }
}

/* What every result must be, whatever made it: what a check of the raw form would say again. */
static inline void oracle_check_invariants(const dlpark_view *before, const dlpark_view *after)
{
    dlpark_view raw = *after, again;
    bool empty = oracle_numel(after->ndim, after->shape) == 0;

    raw.bit_offset = 0; /* which a raw tensor has no field for */
    DLTensor tensor;
    assert_ok(dlpark_view_borrow_dltensor(&raw, &tensor, e));
    assert_ok(dlpark_check(&tensor, raw.flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_PADDED), &again, e));
    assert_int_equal(after->flags, oracle_flags(before, after->dtype));
    assert_true(dlpark_device_equal(after->device, before->device));
    assert_memory_equal(after->reserved, before->reserved, sizeof after->reserved);
    assert_true(after->bit_offset < 8);
    if (oracle_width(after->dtype, after->flags) % 8 == 0)
        assert_int_equal(after->bit_offset, 0);
    if (empty) {
        assert_null(after->data);
        assert_int_equal(after->byte_offset, 0);
        assert_int_equal(after->bit_offset, 0);
    } else if (oracle_is_handle(after)) {
        assert_ptr_equal(after->data, oracle_memory);
    } else {
        assert_int_equal(after->byte_offset, 0);
    }
}

/* The definition of an operation: which element of the view before is at `index` of the view after. */
typedef void (*oracle_map)(const int64_t *index, int64_t *from, const void *how);

static inline void oracle_compare(const dlpark_view *before, const dlpark_view *after, oracle_map map, const void *how)
{
    int64_t numel = oracle_numel(after->ndim, after->shape);

    oracle_check_invariants(before, after);
    assert_true(dlpark_dtype_equal(after->dtype, before->dtype));
    for (int64_t n = 0; n < numel; n++) {
        int64_t index[8] = {0}, from[8] = {0};
        oracle_unravel(after->ndim, after->shape, n, index);
        map(index, from, how);
        if (oracle_bit(after, index) != oracle_bit(before, from))
            fail_msg("element %d lies at bit %d, expected %d", (int)n, (int)oracle_bit(after, index),
                     (int)oracle_bit(before, from));
    }
}

static inline void assert_shape(const dlpark_view *view, int ndim, const int64_t *shape)
{
    assert_int_equal(view->ndim, ndim);
    for (int i = 0; i < ndim; i++)
        assert_int_equal(view->shape[i], shape[i]);
}

/* A call that fails as told, and leaves every byte of the view alone. */
#define assert_refused(expected, text, view, call)                                                                     \
    do {                                                                                                               \
        dlpark_view oracle_before;                                                                                     \
        memcpy(&oracle_before, &(view), sizeof oracle_before);                                                         \
        assert_fails(expected, text, call);                                                                            \
        assert_memory_equal(&(view), &oracle_before, sizeof oracle_before);                                            \
    } while (0)

/* Every layout of a rank with extents of 0 to 3 and strides of either sign and 0, given to `visit`. */
static inline void oracle_each_of_rank(int ndim, DLDevice device, DLDataType dtype, uint64_t flags,
                                       void (*visit)(const dlpark_view *view))
{
    static const int64_t choices[] = {-5, 0, 1, 2, 3, -1};
    int shapes = 1 << 2 * ndim, each = ndim < 3 ? 6 : 4, layouts = 1;

    for (int i = 0; i < ndim; i++)
        layouts *= each;
    for (int s = 0; s < shapes; s++)
        for (int l = 0; l < layouts; l++) {
            int64_t shape[3], strides[3];
            for (int i = 0, rest = l; i < ndim; i++, rest /= each) {
                shape[i] = s >> 2 * i & 3;
                strides[i] = choices[rest % each];
            }
            dlpark_view view = oracle_view(device, dtype, flags, ndim, shape, strides);
            visit(&view);
        }
}

/* The same for ranks 0 to `ndim`: for whole bytes; for packed, padded and handle memory one rank less. */
static inline void oracle_each(int ndim, void (*visit)(const dlpark_view *view))
{
    static const int handles[] = {kDLMetal, kDLOpenCL, kDLVulkan};

    for (int i = 0; i <= ndim; i++)
        oracle_each_of_rank(i, DLPARK_DEVICE_CPU, DLPARK_DTYPE(kDLUInt, 8, 3), DLPACK_FLAG_BITMASK_READ_ONLY, visit);
    for (int i = 0; i < ndim; i++) {
        oracle_each_of_rank(i, DLPARK_DEVICE_CPU, DLPARK_F6_E2M3FN, 0, visit);
        oracle_each_of_rank(i, DLPARK_DEVICE_CPU, DLPARK_I4, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, visit);
        oracle_each_of_rank(i, DLPARK_DEVICE(kDLCUDA, 1), DLPARK_DTYPE(kDLUInt, 1, 9), 0, visit);
        oracle_each_of_rank(i, DLPARK_DEVICE(handles[i], 0), i == 1 ? DLPARK_F6_E2M3FN : DLPARK_F32, 0, visit);
    }
}

#endif
