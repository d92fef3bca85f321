/*
 * One portable strided copy: drop extents of 1, order by the destination's strides, join what is contiguous in both,
 * then walk the outer dimensions and run a loop for the element size over the innermost.
 */
#include <string.h>

#include "internal.h"

/* One dimension of the walk, strides in bytes. */
typedef struct copy_dim {
    int64_t extent;
    int64_t to;
    int64_t from;
} copy_dim;

typedef struct copy_plan {
    copy_dim dims[DLPARK_MAX_NDIM]; /* outermost first */
    int32_t ndim;
    size_t element; /* bytes */
} copy_plan;

/* ---- Checks ---- */

static dlpark_status copy_check_same(const dlpark_view *to, const dlpark_view *from, dlpark_error *err)
{
    if (!dlpark_dtype_equal(to->dtype, from->dtype))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "cannot copy %s to %s", dlpark_dtype_name(from->dtype).text,
                                dlpark_dtype_name(to->dtype).text);
    if (to->ndim != from->ndim)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "cannot copy shape %s to shape %s",
                                dlpark__layout_list(from->ndim, from->shape).text,
                                dlpark__layout_list(to->ndim, to->shape).text);
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] != from->shape[i])
            return dlpark_error_set(err, DLPARK_E_SHAPE, "shape[%d] is %lld in the source and %lld in the destination",
                                    (int)i, (long long)from->shape[i], (long long)to->shape[i]);
    return DLPARK_OK;
}

static dlpark_status copy_check_destination(const dlpark_view *to, dlpark_error *err)
{
    DLPARK_TRY(dlpark__view_check_host(to, err));
    DLPARK_TRY(dlpark__view_check_write(to, err));
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] > 1 && to->strides[i] == 0)
            return dlpark_error_set(err, DLPARK_E_STRIDES,
                                    "strides[%d] of the destination is 0 with extent %lld: its elements coincide",
                                    (int)i, (long long)to->shape[i]);
    return DLPARK_OK;
}

static bool copy_is_same_view(const dlpark_view *to, const dlpark_view *from)
{
    if (to->data != from->data)
        return false;
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] > 1 && to->strides[i] != from->strides[i])
            return false;
    return true;
}

static dlpark_status copy_check_overlap(const dlpark_view *to, const dlpark_view *from, dlpark_error *err)
{
    int64_t to_low, to_high, from_low, from_high;

    dlpark__view_span(to, &to_low, &to_high);
    dlpark__view_span(from, &from_low, &from_high);
    uintptr_t to_data = (uintptr_t)to->data, from_data = (uintptr_t)from->data;
    if (to_data + (uintptr_t)to_high <= from_data + (uintptr_t)from_low ||
        from_data + (uintptr_t)from_high <= to_data + (uintptr_t)to_low)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_OVERLAP,
                            "source (bytes %lld to %lld from %p) and destination (bytes %lld to %lld from %p) overlap",
                            (long long)from_low, (long long)from_high, from->data, (long long)to_low,
                            (long long)to_high, to->data);
}

/* Packed elements share bytes with their neighbours: here they are copied only as whole compact blocks. */
static dlpark_status copy_check_packed(const dlpark_view *to, const dlpark_view *from, dlpark_error *err)
{
    bool to_padded = (to->flags & DLPARK_VIEW_PADDED) != 0;
    bool from_padded = (from->flags & DLPARK_VIEW_PADDED) != 0;

    if (!dlpark_dtype_is_packed(to->dtype) || (to_padded && from_padded))
        return DLPARK_OK;
    if (to_padded == from_padded && to->bit_offset == 0 && from->bit_offset == 0 && dlpark_view_is_compact(to) &&
        dlpark_view_is_compact(from))
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_DTYPE, "packed %s is copied only between compact views of one packing",
                            dlpark_dtype_name(to->dtype).text);
}

/* ---- The plan ---- */

/* Longest destination stride outermost, so that the innermost loop writes forward through memory. */
static void copy_insert_dim(copy_plan *plan, copy_dim dim)
{
    int32_t at = plan->ndim++;
    int64_t size = dim.to < 0 ? -dim.to : dim.to;

    for (; at > 0; at--) {
        int64_t before = plan->dims[at - 1].to;
        if ((before < 0 ? -before : before) >= size)
            break;
        plan->dims[at] = plan->dims[at - 1];
    }
    plan->dims[at] = dim;
}

static void copy_join_dims(copy_plan *plan)
{
    int32_t kept = 0;

    for (int32_t i = 1; i < plan->ndim; i++) {
        copy_dim *outer = &plan->dims[kept];
        const copy_dim *inner = &plan->dims[i];
        if (outer->to == inner->to * inner->extent && outer->from == inner->from * inner->extent)
            *outer = (copy_dim){outer->extent * inner->extent, inner->to, inner->from};
        else
            plan->dims[++kept] = *inner;
    }
    plan->ndim = plan->ndim > 0 ? kept + 1 : 0;
}

static void copy_make_plan(copy_plan *plan, const dlpark_view *to, const dlpark_view *from)
{
    int64_t element = (int64_t)(dlpark_dtype_nbits(to->dtype) + 7) / 8;

    plan->ndim = 0;
    plan->element = (size_t)element;
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] != 1)
            copy_insert_dim(plan, (copy_dim){to->shape[i], to->strides[i] * element, from->strides[i] * element});
    copy_join_dims(plan);
}

/* ---- The loops ---- */

/* A constant size lets the compiler turn memcpy into one load and one store, at any alignment. */
#define COPY_LOOP(nbytes)                                                                                              \
    for (int64_t i = 0; i < count; i++, to += to_stride, from += from_stride)                                          \
    memcpy(to, from, (nbytes))

static void copy_run(unsigned char *to, int64_t to_stride, const unsigned char *from, int64_t from_stride,
                     int64_t count, size_t element)
{
    if (to_stride == (int64_t)element && from_stride == (int64_t)element) {
        memcpy(to, from, (size_t)count * element);
        return;
    }
    switch (element) {
    case 1:
        COPY_LOOP(1);
        break;
    case 2:
        COPY_LOOP(2);
        break;
    case 4:
        COPY_LOOP(4);
        break;
    case 8:
        COPY_LOOP(8);
        break;
    case 16:
        COPY_LOOP(16);
        break;
    default:
        COPY_LOOP(element);
    }
}

static void copy_execute(const copy_plan *plan, unsigned char *to, const unsigned char *from)
{
    int64_t index[DLPARK_MAX_NDIM];
    int32_t outer = plan->ndim - 1;

    if (plan->ndim == 0) {
        memcpy(to, from, plan->element);
        return;
    }
    for (int32_t i = 0; i < outer; i++)
        index[i] = 0;

    const copy_dim *inner = &plan->dims[outer];
    for (;;) {
        copy_run(to, inner->to, from, inner->from, inner->extent, plan->element);
        int32_t i = outer - 1;
        for (; i >= 0; i--) {
            const copy_dim *dim = &plan->dims[i];
            if (++index[i] < dim->extent) {
                to += dim->to;
                from += dim->from;
                break;
            }
            index[i] = 0;
            to -= dim->to * (dim->extent - 1);
            from -= dim->from * (dim->extent - 1);
        }
        if (i < 0)
            return;
    }
}

/* All bytes, but of the last one only the bits that are elements: the others may be a neighbour's. */
static void copy_compact(const dlpark_view *to, const dlpark_view *from)
{
    size_t nbytes = (size_t)dlpark_view_nbytes(to);
    unsigned spare = 0;

    if (dlpark_dtype_is_packed(to->dtype) && (to->flags & DLPARK_VIEW_PADDED) == 0)
        spare = (unsigned)(nbytes * 8 - (uint64_t)dlpark_view_numel(to) * dlpark_dtype_nbits(to->dtype));
    if (spare == 0) {
        memcpy(to->data, from->data, nbytes);
        return;
    }
    unsigned char *last = (unsigned char *)to->data + nbytes - 1;
    unsigned mask = 0xFFu >> spare;
    memcpy(to->data, from->data, nbytes - 1);
    *last = (unsigned char)((*last & ~mask) | (((const unsigned char *)from->data)[nbytes - 1] & mask));
}

dlpark_status dlpark_copy(const dlpark_view *to, const dlpark_view *from, dlpark_error *err)
{
    copy_plan plan;

    DLPARK_TRY(copy_check_same(to, from, err));
    DLPARK_TRY(copy_check_destination(to, err));
    DLPARK_TRY(dlpark__view_check_host(from, err));
    DLPARK_TRY(copy_check_packed(to, from, err));
    if (dlpark_view_numel(to) == 0 || copy_is_same_view(to, from))
        return DLPARK_OK;
    DLPARK_TRY(copy_check_overlap(to, from, err));

    if (dlpark_view_is_compact(to) && dlpark_view_is_compact(from)) {
        copy_compact(to, from);
        return DLPARK_OK;
    }
    copy_make_plan(&plan, to, from);
    copy_execute(&plan, to->data, from->data);
    return DLPARK_OK;
}
