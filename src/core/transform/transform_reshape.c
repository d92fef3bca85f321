/*
 * Another shape without a copy. Dimensions of the view join into runs, each as long as its strides continue: a run is a
 * row of elements at one distance. The shape is filled in from its end, run by run, and fits when every run ends where
 * one of its dimensions does. These are the shapes that NumPy reshapes without a copy, with its strides.
 */
#include "../usual.h"
#include "transform_parts.h"

/* The shape that is asked for, its -1 worked out. */
typedef struct reshape_target {
    const int64_t *shape;
    int32_t ndim;
    int32_t open; /* where the -1 is; negative: nowhere */
    int64_t open_extent;
} reshape_target;

static inline int64_t reshape_extent(reshape_target target, int32_t dim)
{
    return target.shape[dim] < 0 ? target.open_extent : target.shape[dim];
}

/* ---- The shape ---- */

static DLPARK_COLD dlpark_status reshape_explain_count(const dlpark_view *view, int64_t numel, reshape_target target,
                                                       int64_t known, dlpark_error *err)
{
    dlpark__list from = dlpark__layout_list(view->ndim, view->shape);
    dlpark__list to = dlpark__layout_list(target.ndim, target.shape);

    if (target.open < 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "cannot reshape %s, %lld elements, to %s, %lld elements",
                                from.text, (long long)numel, to.text, (long long)known);
    if (known == 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE,
                                "cannot reshape %s to %s: beside an extent of 0, -1 could be any number", from.text,
                                to.text);
    return dlpark_error_set(err, DLPARK_E_SHAPE, "cannot reshape %s to %s: %lld elements are no multiple of %lld",
                            from.text, to.text, (long long)numel, (long long)known);
}

/* Extents that are not positive, or a product that leaves 63 bits: faults, but for one -1 and for extents of 0. */
static DLPARK_COLD dlpark_status reshape_settle(const dlpark_view *view, reshape_target target, dlpark_error *err)
{
    bool empty = false;

    target.open = -1;
    for (int32_t i = 0; i < target.ndim; i++) {
        int64_t extent = target.shape[i];
        if (extent == -1 && target.open >= 0)
            return dlpark_error_set(err, DLPARK_E_SHAPE, "shape[%d] and shape[%d] are both -1, one can be worked out",
                                    target.open, i);
        if (extent == -1)
            target.open = i;
        else if (extent < 0)
            return dlpark_error_set(err, DLPARK_E_SHAPE, "shape[%d] is %lld, expected 0 or more, or -1 once", i,
                                    (long long)extent);
        empty |= extent == 0;
    }
    int64_t numel = dlpark_view_numel(view);
    if (!empty)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "cannot reshape %s, %lld elements, to %s, more than 2^63-1",
                                dlpark__layout_list(view->ndim, view->shape).text, (long long)numel,
                                dlpark__layout_list(target.ndim, target.shape).text);
    return numel == 0 && target.open < 0 ? DLPARK_OK : reshape_explain_count(view, numel, target, 0, err);
}

/* Finds the -1 and compares the element counts. */
static inline dlpark_status reshape_resolve(const dlpark_view *view, int64_t numel, reshape_target *target,
                                            dlpark_error *err)
{
    int64_t known = 1; /* the product of the other extents */

    for (int32_t i = 0; i < target->ndim; i++) {
        int64_t extent = target->shape[i];
        if (extent == -1 && target->open < 0)
            target->open = i;
        else if (DLPARK_UNLIKELY(extent <= 0 || __builtin_mul_overflow(known, extent, &known)))
            return reshape_settle(view, *target, err);
    }
    if (target->open >= 0) {
        target->open_extent = numel / known;
        if (DLPARK_LIKELY(target->open_extent * known == numel))
            return DLPARK_OK;
    } else if (DLPARK_LIKELY(known == numel)) {
        return DLPARK_OK;
    }
    return reshape_explain_count(view, numel, *target, known, err);
}

static inline bool reshape_is_same(const dlpark_view *view, reshape_target target)
{
    if (view->ndim != target.ndim)
        return false;
    for (int32_t i = 0; i < target.ndim; i++)
        if (view->shape[i] != target.shape[i])
            return false;
    return true;
}

/* ---- The strides ---- */

/* A run of dimensions of the view that are one row of elements. */
typedef struct reshape_run {
    int32_t next;  /* the dimension outside the run, of another extent than 1; negative: none */
    int32_t outer; /* its outermost dimension */
    int64_t numel;
    int64_t stride;
} reshape_run;

static inline int32_t reshape_skip_ones(const dlpark_view *view, int32_t dim)
{
    while (dim >= 0 && view->shape[dim] == 1)
        dim--;
    return dim;
}

/* The run that begins with dimension `dim`, the innermost. */
static inline reshape_run reshape_find_run(const dlpark_view *view, int32_t dim)
{
    reshape_run run = {reshape_skip_ones(view, dim - 1), dim, view->shape[dim], view->strides[dim]};
    int64_t joined;

    while (run.next >= 0 && !__builtin_mul_overflow(view->shape[run.outer], view->strides[run.outer], &joined) &&
           view->strides[run.next] == joined) {
        run.outer = run.next;
        run.numel *= view->shape[run.outer];
        run.next = reshape_skip_ones(view, run.next - 1);
    }
    return run;
}

static DLPARK_COLD dlpark_status reshape_explain_run(const dlpark_view *view, reshape_target target, reshape_run run,
                                                     dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_LAYOUT,
                            "strides[%d] is %lld, where %lld would continue dimension %d: copy to a compact tensor "
                            "first, to reshape %s with "
                            "strides %s to %s",
                            run.next, (long long)view->strides[run.next],
                            (long long)transform_scale(view->strides[run.outer], view->shape[run.outer]), run.outer,
                            dlpark__layout_list(view->ndim, view->shape).text,
                            dlpark__layout_list(view->ndim, view->strides).text,
                            dlpark__layout_list(target.ndim, target.shape).text);
}

/* The strides in the target's shape. The view is not compact, so it has more than one element. */
static inline dlpark_status reshape_fill(const dlpark_view *view, reshape_target target, int64_t *strides,
                                         dlpark_error *err)
{
    reshape_run run = reshape_find_run(view, reshape_skip_ones(view, view->ndim - 1));
    int64_t stride = run.stride, filled = 1;

    for (int32_t i = target.ndim - 1; i >= 0; i--) {
        int64_t extent = reshape_extent(target, i);
        if (extent != 1 && filled == run.numel) {
            run = reshape_find_run(view, run.next);
            stride = run.stride;
            filled = 1;
        }
        filled *= extent;
        if (DLPARK_UNLIKELY(filled > run.numel))
            return reshape_explain_run(view, target, run, err);
        strides[i] = stride;
        stride = transform_scale(stride, extent);
    }
    return DLPARK_OK;
}

/* `shape` may lie in the view's own, further on: written from the front, nothing is lost that is still to be read. */
static inline void reshape_store_shape(dlpark_view *view, reshape_target target)
{
    for (int32_t i = 0; i < target.ndim; i++)
        view->shape[i] = reshape_extent(target, i);
    view->ndim = target.ndim;
}

/* Inline, so that each caller has no more room for strides than it needs: some builds clear what is on the stack. */
static inline dlpark_status reshape_apply(dlpark_view *view, reshape_target target, int64_t *strides, dlpark_error *err)
{
    DLPARK_TRY(reshape_fill(view, target, strides, err));
    reshape_store_shape(view, target);
    for (int32_t i = 0; i < target.ndim; i++) {
        TRANSFORM_SHORT_LOOP(i);
        view->strides[i] = strides[i];
    }
    return DLPARK_OK;
}

static __attribute__((noinline)) dlpark_status reshape_many(dlpark_view *view, reshape_target target, dlpark_error *err)
{
    int64_t strides[DLPARK_MAX_NDIM];

    return reshape_apply(view, target, strides, err);
}

/* Strides mean nothing without elements; compact ones surprise nobody. */
static DLPARK_COLD void reshape_empty(dlpark_view *view, reshape_target target)
{
    dlpark__span extent;

    reshape_store_shape(view, target);
    (void)dlpark__layout_fill(view->ndim, view->shape, view->strides, &extent, NULL);
}

/* The element count; and whether the elements are compact, where there are some. One pass for both: with a call of
 * dlpark__layout_is_dense() the row "reshape" of bench/transform.c takes 16.9 ns for 13.2, "reshape, cut
 * rows" 21 for 17. */
static inline int64_t reshape_measure(const dlpark_view *view, bool *compact)
{
    uint64_t numel = 1;
    bool odd = false;

    for (int32_t i = view->ndim - 1; i >= 0; i--) {
        odd |= (uint64_t)view->strides[i] != numel && view->shape[i] != 1;
        numel *= (uint64_t)view->shape[i];
    }
    *compact = !odd;
    return (int64_t)numel;
}

/* Compact elements have any shape. */
static inline void reshape_compact(dlpark_view *view, reshape_target target)
{
    int64_t stride = 1;

    reshape_store_shape(view, target);
    for (int32_t i = target.ndim - 1; i >= 0; i--) {
        view->strides[i] = stride;
        stride *= view->shape[i];
    }
}

static __attribute__((noinline)) dlpark_status reshape_any(dlpark_view *view, int32_t ndim, const int64_t *shape,
                                                           dlpark_error *err)
{
    reshape_target target = {shape, ndim, -1, 0};
    int64_t strides[TRANSFORM_FEW];
    bool compact;

    if (DLPARK_UNLIKELY(ndim < 0 || ndim > DLPARK_MAX_NDIM || (shape == NULL && ndim > 0)))
        return dlpark__layout_explain(ndim, shape, NULL, err);
    if (reshape_is_same(view, target))
        return DLPARK_OK;

    int64_t numel = reshape_measure(view, &compact);
    DLPARK_TRY(reshape_resolve(view, numel, &target, err));
    if (DLPARK_UNLIKELY(numel == 0)) {
        reshape_empty(view, target);
        return DLPARK_OK;
    }
    if (DLPARK_LIKELY(compact)) {
        reshape_compact(view, target);
        return DLPARK_OK;
    }
    if (DLPARK_UNLIKELY(ndim > TRANSFORM_FEW))
        return reshape_many(view, target, err);
    return reshape_apply(view, target, strides, err);
}

/* ---- The usual ways ---- */

/* The last dimensions of a view that lie one after the other from a stride of 1 on, and how many elements they have. */
typedef struct reshape_row {
    int64_t numel;
    int32_t first; /* the outermost of them; the rank: none */
} reshape_row;

/* One dimension more of a row, outwards; false where the row ends before it. */
static DLPARK__USUAL_INLINE bool reshape_grow(const dlpark_view *view, reshape_row *row, int32_t dim)
{
    if (view->strides[dim] != row->numel)
        return false;
    row->numel *= view->shape[dim];
    row->first = dim;
    return true;
}

/* The last four dimensions need no loop. */
static DLPARK__USUAL_INLINE reshape_row reshape_find_row(const dlpark_view *view)
{
    reshape_row row = {1, view->ndim};

    while (DLPARK_UNLIKELY(row.first > DLPARK__USUAL_SHORT))
        if (!reshape_grow(view, &row, row.first - 1))
            return row;
    if (row.first == 4 && !reshape_grow(view, &row, 3))
        return row;
    if (row.first == 3 && !reshape_grow(view, &row, 2))
        return row;
    if (row.first == 2 && !reshape_grow(view, &row, 1))
        return row;
    if (row.first == 1)
        (void)reshape_grow(view, &row, 0);
    return row;
}

/* By the shorter division where the numbers are as small as that. */
static inline int64_t reshape_divide(uint64_t numel, uint64_t by)
{
    return (int64_t)(DLPARK_LIKELY((numel | by) >> 32 == 0) ? (uint32_t)numel / (uint32_t)by : numel / by);
}

/* Up to four extents in the place of a row, or false; `count` is a constant. */
static DLPARK__USUAL_INLINE bool reshape_short(dlpark_view *view, reshape_row row, int32_t count, const int64_t *shape)
{
    int64_t *extents = view->shape + row.first, *strides = view->strides + row.first;
    int64_t a = shape[0], b = count > 1 ? shape[1] : 1, c = count > 2 ? shape[2] : 1, d = count > 3 ? shape[3] : 1;
    int64_t ab, cd, known;

    if (DLPARK_UNLIKELY(__builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(c, d, &cd) ||
                        __builtin_mul_overflow(ab, cd, &known)))
        return false;
    if (known < 0) {
        /* Mostly by one -1: the first is replaced, and what else is below 0 stays. */
        uint64_t others = 0 - (uint64_t)known;
        int64_t extent = reshape_divide((uint64_t)row.numel, others);
        if (a == -1)
            a = extent;
        else if (count > 3 && d == -1)
            d = extent;
        else if (count > 2 && c == -1)
            c = extent;
        else if (b == -1)
            b = extent;
        known = (int64_t)(others * (uint64_t)extent);
    }
    if (DLPARK_UNLIKELY(known != row.numel || (a | b | c | d) < 0))
        return false;
    view->ndim = row.first + count;
    extents[0] = a;
    strides[0] = b * (c * d);
    if (count > 1) {
        extents[1] = b;
        strides[1] = c * d;
    }
    if (count > 2) {
        extents[2] = c;
        strides[2] = d;
    }
    if (count > 3) {
        extents[3] = d;
        strides[3] = 1;
    }
    return true;
}

/* Up to four dimensions in the place of a row. */
static DLPARK__USUAL_INLINE dlpark_status reshape_place(dlpark_view *view, reshape_row row, int32_t ndim,
                                                        const int64_t *shape, dlpark_error *err)
{
    const int64_t *rest = shape + row.first;
    int32_t count = ndim - row.first;

    if ((count == 4 && reshape_short(view, row, 4, rest)) || (count == 3 && reshape_short(view, row, 3, rest)) ||
        (count == 2 && reshape_short(view, row, 2, rest)) || (count == 1 && reshape_short(view, row, 1, rest)))
        return DLPARK_OK;
    return reshape_any(view, ndim, shape, err);
}

/* Where there are dimensions before the row, which stay as they are. An extent of 1 may not: it can belong to the row. */
static __attribute__((noinline)) dlpark_status reshape_after(dlpark_view *view, reshape_row row, int32_t ndim,
                                                             const int64_t *shape, dlpark_error *err)
{
    if (ndim <= row.first || ndim > DLPARK_MAX_NDIM || row.first == view->ndim)
        return reshape_any(view, ndim, shape, err);
    for (int32_t i = 0; i < row.first; i++)
        if (shape[i] != view->shape[i] || shape[i] == 1)
            return reshape_any(view, ndim, shape, err);
    return reshape_place(view, row, ndim, shape, err);
}

dlpark_status dlpark_view_reshape(dlpark_view *view, int32_t ndim, const int64_t *shape, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(shape == NULL || transform_is_empty(view)))
        return reshape_any(view, ndim, shape, err);
    reshape_row row = reshape_find_row(view);
    if (row.first != 0)
        return reshape_after(view, row, ndim, shape, err);
    return reshape_place(view, row, ndim, shape, err);
}
