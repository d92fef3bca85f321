/*
 * A part of the elements: one place, every n-th, a diagonal, windows.
 */
#include "transform_parts.h"

/* ---- Index ---- */

static DLPARK_COLD dlpark_status index_explain(int32_t dim, int64_t index, int64_t extent, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_INDEX, "index %lld is out of range for dimension %d of extent %lld",
                            (long long)index, dim, (long long)extent);
}

dlpark_status dlpark_view_index(dlpark_view *view, int32_t dim, int64_t index, dlpark_error *err)
{
    int32_t at = transform_dim(view->ndim, dim);

    if (DLPARK_UNLIKELY(at < 0))
        return dlpark__transform_explain_dim(view->ndim, dim, err);
    int64_t extent = view->shape[at];
    int64_t place = index < 0 ? index + extent : index;
    if (DLPARK_UNLIKELY(place < 0 || place >= extent))
        return index_explain(at, index, extent, err);
    if (!transform_is_empty(view))
        transform_move(view, transform_scale(view->strides[at], place));
    transform_drop_dim(view, at);
    return DLPARK_OK;
}

/* ---- Slice ---- */

/* What a slice takes of a dimension. */
typedef struct slice_range {
    int64_t start;
    int64_t step;
    int64_t count;
} slice_range;

/* A bound from the end when it is negative, then kept within what the direction allows. */
static inline int64_t slice_bound(int64_t bound, int64_t absent, int64_t extent, int64_t lowest)
{
    if (bound == DLPARK_NONE)
        return absent;
    if (bound < 0)
        bound += extent;
    if (bound < lowest)
        return lowest;
    return bound > lowest + extent ? lowest + extent : bound;
}

static inline slice_range slice_resolve(int64_t extent, int64_t start, int64_t stop, int64_t step)
{
    if (step > 0) {
        start = slice_bound(start, 0, extent, 0);
        stop = slice_bound(stop, extent, extent, 0);
        int64_t length = stop - start;
        int64_t count = step == 1 || length <= 0 ? length : (length - 1) / step + 1;
        return (slice_range){start, step, count < 0 ? 0 : count};
    }
    start = slice_bound(start, extent - 1, extent, -1);
    stop = slice_bound(stop, -1, extent, -1);
    int64_t length = start - stop;
    int64_t count = step == -1 || length <= 0 ? length : (length - 1) / -step + 1;
    return (slice_range){start, step, count < 0 ? 0 : count};
}

/* Whether both sides of element 0 stay within 63 bits when a dimension that reached to one is turned to the other. */
static bool slice_can_turn(const dlpark_view *view, int32_t dim, int64_t count, int64_t stride)
{
    dlpark__span span = {0, 0, 0};
    int64_t nbytes;
    bool odd = false;

    for (int32_t i = 0; i < view->ndim; i++)
        odd |= !dlpark__span_add(&span, i == dim ? count : view->shape[i], i == dim ? stride : view->strides[i]);
    if (odd || !dlpark__span_fits(&span))
        return false;
    int64_t below = -span.lowest, above = span.highest + 1;
    return dlpark__view_count_bytes(view, below > above ? below : above, &nbytes);
}

/*
 * Whether slice_can_turn() need not be asked: nothing lies below address 0, so below an element 0 that comes to lie
 * within 2^60 bytes of it there are fewer bytes, and at most eight times as many elements. `moved` is how far element 0
 * goes; an element has less than 2^20 bytes.
 */
static inline bool slice_turns_near(const dlpark_view *view, int64_t moved)
{
    uint64_t from = view->byte_offset + (dlpark_device_is_addressable(view->device) ? (uintptr_t)view->data : 0);

    return (uint64_t)moved < UINT64_C(1) << 38 && from < UINT64_C(1) << 59;
}

static DLPARK_COLD dlpark_status slice_explain_turn(const dlpark_view *view, int32_t dim, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_OVERFLOW,
                            "turned round at dimension %d, shape %s with strides %s would reach too far, expected less "
                            "than 2^63-1 elements and at most 2^63-1 bytes to either side of element 0",
                            dim, dlpark__layout_list(view->ndim, view->shape).text,
                            dlpark__layout_list(view->ndim, view->strides).text);
}

static inline dlpark_status slice_apply(dlpark_view *view, int32_t dim, slice_range range, dlpark_error *err)
{
    int64_t stride = transform_scale(view->strides[dim], range.step);

    if (DLPARK_UNLIKELY(range.count == 0)) {
        transform_make_empty(view);
    } else if (!transform_is_empty(view)) {
        int64_t moved = transform_scale(view->strides[dim], range.start);
        if (range.step < 0 && !slice_turns_near(view, moved) && !slice_can_turn(view, dim, range.count, stride))
            return slice_explain_turn(view, dim, err);
        transform_move(view, moved);
    }
    view->shape[dim] = range.count;
    view->strides[dim] = stride;
    return DLPARK_OK;
}

dlpark_status dlpark_view_slice(dlpark_view *view, int32_t dim, int64_t start, int64_t stop, int64_t step,
                                dlpark_error *err)
{
    int32_t at = transform_dim(view->ndim, dim);

    if (DLPARK_UNLIKELY(at < 0))
        return dlpark__transform_explain_dim(view->ndim, dim, err);
    if (DLPARK_UNLIKELY(step == 0))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the step of the slice of dimension %d is 0", at);
    if (step == DLPARK_NONE)
        step = 1;
    return slice_apply(view, at, slice_resolve(view->shape[at], start, stop, step), err);
}

dlpark_status dlpark_view_flip(dlpark_view *view, int32_t dim, dlpark_error *err)
{
    int32_t at = transform_dim(view->ndim, dim);

    if (DLPARK_UNLIKELY(at < 0))
        return dlpark__transform_explain_dim(view->ndim, dim, err);
    return slice_apply(view, at, (slice_range){view->shape[at] - 1, -1, view->shape[at]}, err);
}

/* ---- Diagonal ---- */

dlpark_status dlpark_view_diagonal(dlpark_view *view, int64_t offset, int32_t dim1, int32_t dim2, dlpark_error *err)
{
    int32_t row = transform_dim(view->ndim, dim1), column = transform_dim(view->ndim, dim2);

    if (DLPARK_UNLIKELY((row | column) < 0))
        return dlpark__transform_explain_dim(view->ndim, row < 0 ? dim1 : dim2, err);
    if (DLPARK_UNLIKELY(row == column))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "a diagonal needs two dimensions, got dimension %d twice", row);

    int64_t rows = view->shape[row] + (offset < 0 ? offset : 0);
    int64_t columns = view->shape[column] - (offset > 0 ? offset : 0);
    int64_t extent = rows < columns ? rows : columns;
    /* Both fit together where they mean something: the diagonal reaches no further than its two sides. */
    int64_t stride = (int64_t)((uint64_t)view->strides[row] + (uint64_t)view->strides[column]);
    if (extent <= 0) {
        extent = 0;
        transform_make_empty(view);
    } else if (!transform_is_empty(view)) {
        transform_move(view, offset < 0 ? transform_scale(view->strides[row], -offset)
                                        : transform_scale(view->strides[column], offset));
    }
    transform_drop_dim(view, row > column ? row : column);
    transform_drop_dim(view, row > column ? column : row);
    view->shape[view->ndim] = extent;
    view->strides[view->ndim] = stride;
    view->ndim++;
    return DLPARK_OK;
}

/* ---- Windows ---- */

static DLPARK_COLD dlpark_status window_explain(int32_t dim, int64_t size, int64_t step, int64_t extent,
                                                dlpark_error *err)
{
    if (step < 1)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the step of the window is %lld, expected at least 1",
                                (long long)step);
    if (extent == 0)
        return dlpark_error_set(
            err, DLPARK_E_ARGUMENT,
            "the window has size %lld, and dimension %d has no place for one, expected an extent of "
            "at least 1",
            (long long)size, dim);
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            "the window has size %lld, expected 1 to %lld, the extent of dimension %d", (long long)size,
                            (long long)extent, dim);
}

/* Whether windows of this size fit wherever they are: there are no more of them than the dimension has elements. */
static inline bool window_fits_easily(const dlpark_view *view, int64_t size)
{
    int64_t nbytes = (dlpark_dtype_nbits(view->dtype) + 7) / 8;

    for (int32_t i = view->ndim - 1; i >= 0; i--) {
        TRANSFORM_SHORT_LOOP(i);
        if (__builtin_mul_overflow(nbytes, view->shape[i], &nbytes))
            return false;
    }
    return !__builtin_mul_overflow(nbytes, size, &nbytes);
}

static dlpark_status window_check(const dlpark_view *view, int32_t dim, int64_t count, int64_t size, dlpark_error *err)
{
    int64_t numel = count;

    if (transform_is_empty(view))
        return DLPARK_OK;
    for (int32_t i = 0; i < view->ndim; i++)
        numel *= i == dim ? 1 : view->shape[i];
    if (DLPARK_UNLIKELY(__builtin_mul_overflow(numel, size, &numel)))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW,
                                "%lld windows of %lld along dimension %d of shape %s leave 63 bits", (long long)count,
                                (long long)size, dim, dlpark__layout_list(view->ndim, view->shape).text);
    return transform_check_bytes(view, numel, err);
}

static inline int64_t window_count(int64_t extent, int64_t size, int64_t step)
{
    return (step == 1 ? extent - size : (extent - size) / step) + 1;
}

static inline dlpark_status window_apply(dlpark_view *view, int32_t dim, int64_t size, int64_t step)
{
    int64_t stride = view->strides[dim];

    view->shape[dim] = window_count(view->shape[dim], size, step);
    view->strides[dim] = transform_scale(stride, step);
    view->shape[view->ndim] = size;
    view->strides[view->ndim] = stride;
    view->ndim++;
    return DLPARK_OK;
}

static __attribute__((noinline)) dlpark_status window_any(dlpark_view *view, int32_t dim, int64_t size, int64_t step,
                                                          dlpark_error *err)
{
    DLPARK_TRY(window_check(view, dim, window_count(view->shape[dim], size, step), size, err));
    return window_apply(view, dim, size, step);
}

dlpark_status dlpark_view_window(dlpark_view *view, int32_t dim, int64_t size, int64_t step, dlpark_error *err)
{
    int32_t at = transform_dim(view->ndim, dim);

    if (DLPARK_UNLIKELY(at < 0))
        return dlpark__transform_explain_dim(view->ndim, dim, err);
    if (DLPARK_UNLIKELY(view->ndim >= DLPARK_MAX_NDIM))
        return dlpark__transform_explain_rank(err);
    if (DLPARK_UNLIKELY(step < 1 || size < 1 || size > view->shape[at]))
        return window_explain(at, size, step, view->shape[at], err);
    if (DLPARK_UNLIKELY(!window_fits_easily(view, size)))
        return window_any(view, at, size, step, err);
    return window_apply(view, at, size, step);
}
