/*
 * A view as a matrix of BLAS: one dimension contiguous, the lines of the other `ld` elements apart.
 */
#include "array_parts.h"

dlpark_status dlpark__array_refuse_order(int order, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            "order is %d, expected %d (DLPARK_ROW_MAJOR) or %d (DLPARK_COLUMN_MAJOR)", order,
                            DLPARK_ROW_MAJOR, DLPARK_COLUMN_MAJOR);
}

/* Whether `inner` is the contiguous dimension, and how far its lines lie apart then. A stride of an extent of 1 means
 * nothing, nor do any without elements; BLAS wants at least 1, and at least the extent. */
static bool array_find_ld(const dlpark_view *view, int32_t inner, int64_t *ld)
{
    int64_t extent = view->shape[inner], lines = view->shape[1 - inner], stride = view->strides[1 - inner];
    int64_t least = extent > 1 ? extent : 1;

    *ld = least;
    if (extent == 0 || lines == 0)
        return true;
    if (extent > 1 && view->strides[inner] != 1)
        return false;
    if (lines > 1)
        *ld = stride;
    return *ld >= least;
}

static dlpark_status array_find_matrix(const dlpark_view *view, int order, int *transpose, int64_t *ld,
                                       dlpark_error *err)
{
    if (order != DLPARK_ROW_MAJOR && order != DLPARK_COLUMN_MAJOR)
        return dlpark__array_refuse_order(order, err);
    if (view->ndim != 2)
        return dlpark_error_set(err, DLPARK_E_RANK, "expected a matrix of rank 2, got shape %s",
                                dlpark__layout_list(view->ndim, view->shape).text);
    int32_t inner = order == DLPARK_ROW_MAJOR ? 1 : 0;
    *transpose = DLPARK_NO_TRANSPOSE;
    if (array_find_ld(view, inner, ld))
        return DLPARK_OK;
    *transpose = DLPARK_TRANSPOSE;
    if (array_find_ld(view, 1 - inner, ld))
        return DLPARK_OK;
    return dlpark_error_set(
        err, DLPARK_E_LAYOUT,
        "shape %s with strides %s has no leading dimension, expected one stride of 1 and the other at "
        "least the extent of that dimension: copy the matrix to a compact one, of %lld bytes",
        dlpark__layout_list(2, view->shape).text, dlpark__layout_list(2, view->strides).text,
        (long long)dlpark_view_nbytes(view));
}

dlpark_status dlpark_array_blas64(const dlpark_view *view, int order, int *transpose, int64_t *ld, dlpark_error *err)
{
    int64_t found_ld;
    int found;

    DLPARK_TRY(array_find_matrix(view, order, &found, &found_ld, err));
    *transpose = found;
    *ld = found_ld;
    return DLPARK_OK;
}

dlpark_status dlpark_array_blas(const dlpark_view *view, int order, int *transpose, int32_t *ld, dlpark_error *err)
{
    int64_t found_ld;
    int found;

    DLPARK_TRY(array_find_matrix(view, order, &found, &found_ld, err));
    for (int32_t i = 0; i < 2; i++)
        if (view->shape[i] > INT32_MAX)
            return dlpark_error_set(err, DLPARK_E_OVERFLOW, "shape[%d] is %lld, and this BLAS counts to 2^31-1", (int)i,
                                    (long long)view->shape[i]);
    if (found_ld > INT32_MAX)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "the leading dimension is %lld, and this BLAS counts to 2^31-1",
                                (long long)found_ld);
    *transpose = found;
    *ld = (int32_t)found_ld;
    return DLPARK_OK;
}
