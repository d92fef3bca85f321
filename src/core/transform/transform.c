/*
 * The same elements with the dimensions in another order or number, and what all sources transform*.c share.
 */
#include "../usual.h"
#include "transform_parts.h"

/* ---- Shared ---- */

DLPARK_COLD dlpark_status dlpark__transform_explain_dim(int32_t ndim, int32_t dim, dlpark_error *err)
{
    if (ndim == 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "there is no dimension %d, the rank is 0", dim);
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "there is no dimension %d, expected %d to %d", dim, -ndim,
                            ndim - 1);
}

DLPARK_COLD dlpark_status dlpark__transform_explain_rank(dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_RANK, "the rank is %d already, no dimension can be added", DLPARK_MAX_NDIM);
}

DLPARK_COLD dlpark_status dlpark__transform_explain_bytes(const dlpark_view *view, int64_t numel, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%lld elements of %s, counted singly, take more than 2^63-1 bytes",
                            (long long)numel, dlpark_dtype_name(view->dtype).text);
}

/* ---- Another order ---- */

static DLPARK_COLD dlpark_status permute_explain(const dlpark_view *view, int32_t ndim, const int *order,
                                                 dlpark_error *err)
{
    int32_t first[DLPARK_MAX_NDIM];

    if (ndim != view->ndim)
        return dlpark_error_set(err, DLPARK_E_RANK, "the order has %d dimensions, the view has %d", ndim,
                                (int)view->ndim);
    if (order == NULL)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "order is NULL although the rank is %d", ndim);
    for (int32_t i = 0; i < ndim; i++)
        first[i] = -1;
    for (int32_t i = 0;; i++) {
        int32_t from = transform_dim(ndim, order[i]);
        if (from < 0)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "order[%d] is %d, expected %d to %d", i, order[i], -ndim,
                                    ndim - 1);
        if (first[from] >= 0)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "order[%d] and order[%d] are both dimension %d",
                                    first[from], i, from);
        first[from] = i;
    }
}

/* Inline, so that each caller has no more room than it needs: some builds clear what is on the stack. */
static inline dlpark_status permute_through(dlpark_view *view, int32_t ndim, const int *order, int64_t *shape,
                                            int64_t *strides, dlpark_error *err)
{
    uint64_t named = 0; /* a bit for each dimension that an entry names */

    for (int32_t i = 0; i < ndim; i++) {
        int32_t from = transform_dim(ndim, order[i]);
        if (DLPARK_UNLIKELY(from < 0 || (named >> from & 1) != 0))
            return permute_explain(view, ndim, order, err);
        named |= UINT64_C(1) << from;
        shape[i] = view->shape[from];
        strides[i] = view->strides[from];
    }
    for (int32_t i = 0; i < ndim; i++) {
        TRANSFORM_SHORT_LOOP(i);
        view->shape[i] = shape[i];
        view->strides[i] = strides[i];
    }
    return DLPARK_OK;
}

static __attribute__((noinline)) dlpark_status permute_many(dlpark_view *view, int32_t ndim, const int *order,
                                                            dlpark_error *err)
{
    int64_t shape[DLPARK_MAX_NDIM], strides[DLPARK_MAX_NDIM];

    return permute_through(view, ndim, order, shape, strides, err);
}

/* One dimension of permute_short(). What `from` is, is seen when all have been taken: here it only stays in the lists. */
static DLPARK__USUAL_INLINE void permute_take(const dlpark_view *view, int from, int64_t *extent, int64_t *stride,
                                              uint32_t *any, uint32_t *named)
{
    uint32_t place = (uint32_t)from % DLPARK__USUAL_SHORT;

    *any |= (uint32_t)from;
    *named |= 1u << place;
    *extent = view->shape[place];
    *stride = view->strides[place];
}

/* Up to four dimensions that do not count from the end, or false; `ndim` is a constant. As many entries as dimensions
 * name each of them only where none is named twice. */
static DLPARK__USUAL_INLINE bool permute_short(dlpark_view *view, int32_t ndim, const int *order)
{
    int64_t shape[DLPARK__USUAL_SHORT], strides[DLPARK__USUAL_SHORT];
    uint32_t any = 0, named = 0;

    permute_take(view, order[0], &shape[0], &strides[0], &any, &named);
    permute_take(view, order[1], &shape[1], &strides[1], &any, &named);
    if (ndim > 2)
        permute_take(view, order[2], &shape[2], &strides[2], &any, &named);
    if (ndim > 3)
        permute_take(view, order[3], &shape[3], &strides[3], &any, &named);
    if (DLPARK_UNLIKELY(any >= DLPARK__USUAL_SHORT || named != (1u << ndim) - 1))
        return false;
    for (int32_t i = 0; i < 2; i++) {
        view->shape[i] = shape[i];
        view->strides[i] = strides[i];
    }
    if (ndim > 2) {
        view->shape[2] = shape[2];
        view->strides[2] = strides[2];
    }
    if (ndim > 3) {
        view->shape[3] = shape[3];
        view->strides[3] = strides[3];
    }
    return true;
}

static __attribute__((noinline)) dlpark_status permute_any(dlpark_view *view, int32_t ndim, const int *order,
                                                           dlpark_error *err)
{
    int64_t shape[TRANSFORM_FEW], strides[TRANSFORM_FEW];

    if (DLPARK_UNLIKELY(ndim != view->ndim || (order == NULL && ndim > 0)))
        return permute_explain(view, ndim, order, err);
    if (DLPARK_UNLIKELY(ndim > TRANSFORM_FEW))
        return permute_many(view, ndim, order, err);
    return permute_through(view, ndim, order, shape, strides, err);
}

dlpark_status dlpark_view_permute(dlpark_view *view, int32_t ndim, const int *order, dlpark_error *err)
{
    if (DLPARK_LIKELY(ndim == view->ndim && order != NULL) &&
        ((ndim == 4 && permute_short(view, 4, order)) || (ndim == 3 && permute_short(view, 3, order)) ||
         (ndim == 2 && permute_short(view, 2, order))))
        return DLPARK_OK;
    return permute_any(view, ndim, order, err);
}

dlpark_status dlpark_view_transpose(dlpark_view *view, int32_t dim1, int32_t dim2, dlpark_error *err)
{
    int32_t a = transform_dim(view->ndim, dim1), b = transform_dim(view->ndim, dim2);

    if (DLPARK_UNLIKELY((a | b) < 0))
        return dlpark__transform_explain_dim(view->ndim, a < 0 ? dim1 : dim2, err);
    int64_t extent = view->shape[a], stride = view->strides[a];
    view->shape[a] = view->shape[b];
    view->strides[a] = view->strides[b];
    view->shape[b] = extent;
    view->strides[b] = stride;
    return DLPARK_OK;
}

/* ---- Fewer or more dimensions ---- */

dlpark_status dlpark_view_squeeze(dlpark_view *view, int32_t dim, dlpark_error *err)
{
    int32_t at = transform_dim(view->ndim, dim);

    if (DLPARK_UNLIKELY(at < 0))
        return dlpark__transform_explain_dim(view->ndim, dim, err);
    if (DLPARK_UNLIKELY(view->shape[at] != 1))
        return dlpark_error_set(err, DLPARK_E_SHAPE, "shape[%d] is %lld, only an extent of 1 can be left out", at,
                                (long long)view->shape[at]);
    transform_drop_dim(view, at);
    return DLPARK_OK;
}

void dlpark_view_squeeze_all(dlpark_view *view)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < view->ndim; i++) {
        if (view->shape[i] == 1)
            continue;
        view->shape[kept] = view->shape[i];
        view->strides[kept] = view->strides[i];
        kept++;
    }
    view->ndim = kept;
}

dlpark_status dlpark_view_expand_dims(dlpark_view *view, int32_t dim, dlpark_error *err)
{
    int32_t at = transform_dim(view->ndim + 1, dim);
    int64_t stride = 1;

    if (DLPARK_UNLIKELY(view->ndim >= DLPARK_MAX_NDIM))
        return dlpark__transform_explain_rank(err);
    if (DLPARK_UNLIKELY(at < 0))
        return dlpark__transform_explain_dim(view->ndim + 1, dim, err);
    /* A stride that means nothing, but is what a reader expects who looks at all of them: compact stays compact. */
    if (at < view->ndim)
        stride = transform_scale(view->strides[at], view->shape[at]);
    for (int32_t i = view->ndim; i > at; i--) {
        view->shape[i] = view->shape[i - 1];
        view->strides[i] = view->strides[i - 1];
    }
    view->shape[at] = 1;
    view->strides[at] = stride;
    view->ndim++;
    return DLPARK_OK;
}

/* ---- Repeated elements ---- */

/* What is odd about a shape: OK when it only has no elements. */
static DLPARK_COLD dlpark_status broadcast_settle(const dlpark_view *view, int32_t ndim, const int64_t *shape,
                                                  dlpark_error *err)
{
    int32_t added = ndim - view->ndim;
    int64_t numel;

    DLPARK_TRY(dlpark_layout_numel(ndim, shape, &numel, err));
    if (added < 0)
        return dlpark_error_set(err, DLPARK_E_RANK, "cannot broadcast shape %s to %s, which has fewer dimensions",
                                dlpark__layout_list(view->ndim, view->shape).text,
                                dlpark__layout_list(ndim, shape).text);
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->shape[i] != shape[added + i] && view->shape[i] != 1)
            return dlpark_error_set(
                err, DLPARK_E_SHAPE,
                "cannot broadcast shape %s to %s: shape[%d] is %lld, and only an extent of 1 becomes %lld",
                dlpark__layout_list(view->ndim, view->shape).text, dlpark__layout_list(ndim, shape).text, i,
                (long long)view->shape[i], (long long)shape[added + i]);
    return DLPARK_OK;
}

/* Whether everything fits and there are elements: their count then, and else broadcast_settle() has the word. */
static inline bool broadcast_fits(const dlpark_view *view, int32_t ndim, const int64_t *shape, int64_t *numel)
{
    int32_t added = ndim - view->ndim;

    if (added < 0 || ndim > DLPARK_MAX_NDIM || (shape == NULL && ndim > 0))
        return false;
    *numel = 1;
    for (int32_t i = 0; i < ndim; i++)
        if (shape[i] <= 0 || __builtin_mul_overflow(*numel, shape[i], numel))
            return false;
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->shape[i] != shape[added + i] && view->shape[i] != 1)
            return false;
    return true;
}

static __attribute__((noinline)) dlpark_status broadcast_any(dlpark_view *view, int32_t ndim, const int64_t *shape,
                                                             dlpark_error *err)
{
    int32_t added = ndim - view->ndim;
    int64_t numel;

    if (DLPARK_LIKELY(broadcast_fits(view, ndim, shape, &numel))) {
        DLPARK_TRY(transform_check_bytes(view, numel, err));
    } else {
        DLPARK_TRY(broadcast_settle(view, ndim, shape, err));
        transform_make_empty(view);
    }
    /* From the end, so that no stride is overwritten that is still to be read; the shape may lie in the view's own. */
    for (int32_t i = view->ndim - 1; i >= 0; i--)
        view->strides[added + i] = view->shape[i] == shape[added + i] ? view->strides[i] : 0;
    for (int32_t i = 0; i < added; i++)
        view->strides[i] = 0;
    for (int32_t i = 0; i < ndim; i++)
        view->shape[i] = shape[i];
    view->ndim = ndim;
    return DLPARK_OK;
}

/* Whether an extent can become another one, whose bytes are then counted; `same` turns false where it changes. */
static DLPARK__USUAL_INLINE bool broadcast_meets(int64_t own, int64_t extent, int64_t *nbytes, bool *same)
{
    if (DLPARK_UNLIKELY(own != extent)) {
        if (own != 1 || extent <= 0)
            return false;
        *same = false;
    }
    return DLPARK_LIKELY(!__builtin_mul_overflow(*nbytes, extent, nbytes));
}

static DLPARK__USUAL_INLINE void broadcast_put(dlpark_view *view, int32_t from, int32_t to, int64_t extent, bool same)
{
    view->strides[to] = same || view->shape[from] == extent ? view->strides[from] : 0;
    view->shape[to] = extent;
}

/* From the last, so that nothing is overwritten that is still to be read. */
static DLPARK__USUAL_INLINE void broadcast_put_all(dlpark_view *view, int32_t own_ndim, int32_t added,
                                                   const int64_t *last, bool same)
{
    if (own_ndim > 3)
        broadcast_put(view, 3, added + 3, last[3], same);
    if (own_ndim > 2)
        broadcast_put(view, 2, added + 2, last[2], same);
    if (own_ndim > 1)
        broadcast_put(view, 1, added + 1, last[1], same);
    broadcast_put(view, 0, added, last[0], same);
}

/* Up to four dimensions of elements of whole bytes, to a shape that lies outside the view; or false. `own_ndim` is a
 * constant, the view's rank. */
static DLPARK__USUAL_INLINE bool broadcast_short(dlpark_view *view, int32_t own_ndim, int32_t ndim,
                                                 const int64_t *shape)
{
    int64_t nbytes = dlpark_dtype_nbits(view->dtype) / 8;
    int32_t added = ndim - own_ndim;
    const int64_t *last = shape + added;
    bool same = true;

    if (DLPARK_UNLIKELY(added < 0 || ndim > DLPARK_MAX_NDIM || dlpark_dtype_is_packed(view->dtype)))
        return false;
    if ((own_ndim > 3 && !broadcast_meets(view->shape[3], last[3], &nbytes, &same)) ||
        (own_ndim > 2 && !broadcast_meets(view->shape[2], last[2], &nbytes, &same)) ||
        (own_ndim > 1 && !broadcast_meets(view->shape[1], last[1], &nbytes, &same)) ||
        !broadcast_meets(view->shape[0], last[0], &nbytes, &same))
        return false;
    for (int32_t i = 0; i < added; i++)
        if (DLPARK_UNLIKELY(shape[i] <= 0 || __builtin_mul_overflow(nbytes, shape[i], &nbytes)))
            return false;
    if (same)
        broadcast_put_all(view, own_ndim, added, last, true);
    else
        broadcast_put_all(view, own_ndim, added, last, false);
    for (int32_t i = 0; i < added; i++) {
        TRANSFORM_SHORT_LOOP(i);
        view->strides[i] = 0;
        view->shape[i] = shape[i];
    }
    view->ndim = ndim;
    return true;
}

dlpark_status dlpark_view_broadcast(dlpark_view *view, int32_t ndim, const int64_t *shape, dlpark_error *err)
{
    int32_t own_ndim = view->ndim;

    if (DLPARK_LIKELY(shape != NULL && !transform_is_inside(shape, view)) &&
        ((own_ndim == 4 && broadcast_short(view, 4, ndim, shape)) ||
         (own_ndim == 3 && broadcast_short(view, 3, ndim, shape)) ||
         (own_ndim == 2 && broadcast_short(view, 2, ndim, shape)) ||
         (own_ndim == 1 && broadcast_short(view, 1, ndim, shape))))
        return DLPARK_OK;
    return broadcast_any(view, ndim, shape, err);
}
