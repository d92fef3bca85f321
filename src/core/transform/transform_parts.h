/*
 * What the sources transform*.c share. A view that comes in is right: its element count and its reach on either side of
 * element 0, in elements and in bytes, fit 63 bits. What goes out keeps that, since nobody checks a view again. Where a
 * dimension has an extent of 1, or there are no elements, a stride means nothing and may be any number: strides are
 * therefore computed modulo 2^64, and fit wherever they mean something.
 */
#ifndef DLPARK_CORE_TRANSFORM_PARTS_H
#define DLPARK_CORE_TRANSFORM_PARTS_H

#include "../internal.h"

/* A rank that common tensors have: more dimensions take a path with room for all. */
enum { TRANSFORM_FEW = 8 };

/* The index of a dimension that may count from the end; negative when it is out of range. */
static inline int32_t transform_dim(int32_t ndim, int32_t dim)
{
    int32_t at = dim < 0 ? dim + ndim : dim;

    return at < ndim ? at : -1;
}

static inline int64_t transform_scale(int64_t stride, int64_t factor)
{
    return (int64_t)((uint64_t)stride * (uint64_t)factor);
}

/* A view without elements has no data, and one with elements has some: nothing lies at address 0. */
static inline bool transform_is_empty(const dlpark_view *view)
{
    return view->data == NULL;
}

/* Whether a list lies in the view that is about to be written. */
static inline bool transform_is_inside(const int64_t *list, const dlpark_view *view)
{
    return (uintptr_t)list - (uintptr_t)view < sizeof *view;
}

static inline void transform_make_empty(dlpark_view *view)
{
    view->data = NULL;
    view->byte_offset = 0;
    view->bit_offset = 0;
}

/* Moves element 0 by `nbytes` modulo 2^64: back where it was negative. */
static inline void transform_move_bytes(dlpark_view *view, uint64_t nbytes)
{
    if (DLPARK_LIKELY(dlpark_device_is_addressable(view->device)))
        view->data = dlpark__address(view->data, nbytes);
    else
        view->byte_offset += nbytes;
}

/* Moves element 0 of a view that has elements to another one of them. */
static inline void transform_move(dlpark_view *view, int64_t count)
{
    uint32_t nbits = dlpark_dtype_nbits(view->dtype);

    if (DLPARK_UNLIKELY(dlpark__view_is_packed(view))) {
        /* Eight elements are a whole number of bytes: by those downwards, then up by the rest. */
        int64_t eights = count / 8 - (count % 8 < 0);
        uint32_t bits = view->bit_offset + (uint32_t)(count - eights * 8) * nbits;
        transform_move_bytes(view, (uint64_t)eights * nbits + bits / 8);
        view->bit_offset = bits % 8;
        return;
    }
    transform_move_bytes(view, (uint64_t)count * ((nbits + 7) / 8));
}

/*
 * Stands in a loop over the few dimensions of a view, and keeps the compiler from making a block move or a vector loop
 * of it: their start takes longer than four dimensions one by one. Rows of bench/transform.c with it and without: index
 * 6.5 and 9.2 ns, permute 8.9 and 16.0, reshape of cut rows 17 and 21. Nowhere else does it gain a tenth.
 */
#define TRANSFORM_SHORT_LOOP(counter) __asm__("" : "+r"(counter))

static inline void transform_drop_dim(dlpark_view *view, int32_t dim)
{
    view->ndim--;
    for (int32_t i = dim; i < view->ndim; i++) {
        TRANSFORM_SHORT_LOOP(i);
        view->shape[i] = view->shape[i + 1];
        view->strides[i] = view->strides[i + 1];
    }
}

/* ---- transform.c ---- */

/* E_ARGUMENT for a dimension that a view of this rank does not have. */
dlpark_status dlpark__transform_explain_dim(int32_t ndim, int32_t dim, dlpark_error *err);

/* E_RANK for one dimension too many. */
dlpark_status dlpark__transform_explain_rank(dlpark_error *err);

/* E_OVERFLOW for `numel` elements, whose bytes leave 63 bits. */
dlpark_status dlpark__transform_explain_bytes(const dlpark_view *view, int64_t numel, dlpark_error *err);

static inline dlpark_status transform_check_bytes(const dlpark_view *view, int64_t numel, dlpark_error *err)
{
    uint32_t nbits = dlpark_dtype_nbits(view->dtype);
    int64_t nbytes;

    if (DLPARK_LIKELY(nbits % 8 == 0 ? !__builtin_mul_overflow(numel, nbits / 8, &nbytes)
                                     : dlpark__view_count_bytes(view, numel, &nbytes)))
        return DLPARK_OK;
    return dlpark__transform_explain_bytes(view, numel, err);
}

#endif
