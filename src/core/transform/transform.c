/*
 * The same elements with the dimensions in another order or number, and what all sources transform*.c share.
 */
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

dlpark_status dlpark_view_permute(dlpark_view *view, int32_t ndim, const int *order, dlpark_error *err)
{
    int64_t shape[TRANSFORM_FEW], strides[TRANSFORM_FEW];

    if (DLPARK_UNLIKELY(ndim != view->ndim || (order == NULL && ndim > 0)))
        return permute_explain(view, ndim, order, err);
    if (DLPARK_UNLIKELY(ndim > TRANSFORM_FEW))
        return permute_many(view, ndim, order, err);
    return permute_through(view, ndim, order, shape, strides, err);
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

dlpark_status dlpark_view_broadcast(dlpark_view *view, int32_t ndim, const int64_t *shape, dlpark_error *err)
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
