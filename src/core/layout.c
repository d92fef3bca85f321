#include <stdio.h>

#include "internal.h"

static dlpark_status layout_check_head(int32_t ndim, const int64_t *shape, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(ndim < 0 || ndim > DLPARK_MAX_NDIM || (ndim > 0 && shape == NULL)))
        return dlpark__layout_explain(ndim, shape, NULL, err);
    return DLPARK_OK;
}

/* Decides what an overflow or a negative extent means: nothing, when another extent is 0. */
static DLPARK_COLD dlpark_status layout_settle(int32_t ndim, const int64_t *shape, const int64_t *strides,
                                               dlpark__span *extent, dlpark_error *err)
{
    int64_t signs = 0;
    bool empty = false;

    for (int32_t i = 0; i < ndim; i++) {
        signs |= shape[i];
        empty |= shape[i] == 0;
    }
    if (signs < 0 || !empty)
        return dlpark__layout_explain(ndim, shape, strides, err);
    *extent = (dlpark__span){0, 0, -1};
    return DLPARK_OK;
}

dlpark_status dlpark__layout_scan(int32_t ndim, const int64_t *shape, const int64_t *strides, dlpark__span *extent,
                                  dlpark_error *err)
{
    dlpark__span span = {1, 0, 0};
    bool odd = false; /* one flag for the whole pass: what it means is asked only when it is set */

    for (int32_t i = 0; i < ndim; i++) {
        odd |= shape[i] <= 0;
        odd |= __builtin_mul_overflow(span.numel, shape[i], &span.numel);
        odd |= !dlpark__span_add(&span, shape[i], strides[i]);
    }
    if (DLPARK_UNLIKELY(odd || !dlpark__span_fits(&span)))
        return layout_settle(ndim, shape, strides, extent, err);
    *extent = span;
    return DLPARK_OK;
}

/* Compact strides, also without elements: extents of 0 count as 1, and what leaves 63 bits is 0. Into the shape itself
 * too. */
static void layout_fill_any(int32_t ndim, const int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;

    for (int32_t i = ndim - 1; i >= 0; i--) {
        int64_t extent = shape[i];
        strides[i] = stride;
        if (extent > 0 && __builtin_mul_overflow(stride, extent, &stride))
            stride = 0;
    }
}

dlpark_status dlpark__layout_fill(int32_t ndim, const int64_t *shape, int64_t *strides, dlpark__span *extent,
                                  dlpark_error *err)
{
    int64_t numel = 1;
    bool odd = false;

    for (int32_t i = ndim - 1; i >= 0; i--) {
        strides[i] = numel;
        odd |= shape[i] <= 0;
        odd |= __builtin_mul_overflow(numel, shape[i], &numel);
    }
    if (DLPARK_UNLIKELY(odd)) {
        DLPARK_TRY(layout_settle(ndim, shape, NULL, extent, err));
        layout_fill_any(ndim, shape, strides);
        return DLPARK_OK;
    }
    *extent = (dlpark__span){numel, 0, numel - 1};
    return DLPARK_OK;
}

bool dlpark__layout_bytes(DLDataType dtype, bool padded, int64_t count, int64_t *nbytes)
{
    int64_t nbits = dlpark_dtype_nbits(dtype);
    int64_t whole;

    if (padded || nbits % 8 == 0)
        return !__builtin_mul_overflow(count, (nbits + 7) / 8, nbytes);
    /* Eight packed elements are a whole number of bytes; the rest is rounded up once. */
    return !__builtin_mul_overflow(count / 8, nbits, &whole) &&
           !__builtin_add_overflow(whole, (count % 8 * nbits + 7) / 8, nbytes);
}

dlpark__list dlpark__layout_list(int32_t ndim, const int64_t *values)
{
    static const char more[] = ", ...]";
    dlpark__list out = {"["};
    size_t at = 1;

    for (int32_t i = 0; i < ndim; i++) {
        char item[24];
        size_t length = (size_t)snprintf(item, sizeof item, "%s%lld", i == 0 ? "" : ", ", (long long)values[i]);
        if (at + length + sizeof more > sizeof out.text) {
            snprintf(out.text + at, sizeof out.text - at, "%s", more);
            return out;
        }
        snprintf(out.text + at, sizeof out.text - at, "%s", item);
        at += length;
    }
    snprintf(out.text + at, sizeof out.text - at, "]");
    return out;
}

dlpark_status dlpark_layout_numel(int32_t ndim, const int64_t *shape, int64_t *out, dlpark_error *err)
{
    int64_t numel = 1;
    bool odd = false;

    DLPARK_TRY(layout_check_head(ndim, shape, err));
    for (int32_t i = 0; i < ndim; i++) {
        odd |= shape[i] <= 0;
        odd |= __builtin_mul_overflow(numel, shape[i], &numel);
    }
    if (DLPARK_UNLIKELY(odd)) {
        dlpark__span extent;
        DLPARK_TRY(layout_settle(ndim, shape, NULL, &extent, err));
        numel = 0;
    }
    *out = numel;
    return DLPARK_OK;
}

dlpark_status dlpark_layout_compact_strides(int32_t ndim, const int64_t *shape, int64_t *out, dlpark_error *err)
{
    int64_t numel;

    /* Before anything is written, as `out` may be the shape. */
    DLPARK_TRY(dlpark_layout_numel(ndim, shape, &numel, err));
    layout_fill_any(ndim, shape, out);
    return DLPARK_OK;
}

bool dlpark__layout_is_dense(int32_t ndim, const int64_t *shape, const int64_t *strides, bool column_major)
{
    int64_t expected = 1;
    bool dense = true;

    for (int32_t at = 0; at < ndim; at++) {
        int32_t i = column_major ? at : ndim - 1 - at;
        if (shape[i] == 0)
            return true;
        if (shape[i] == 1)
            continue;
        /* Only an extent of 0 can still change a no; only beside one can the product overflow. */
        dense = dense && strides[i] == expected && !__builtin_mul_overflow(expected, shape[i], &expected);
    }
    return dense;
}

bool dlpark_layout_is_compact(int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    return strides == NULL || dlpark__layout_is_dense(ndim, shape, strides, false);
}

dlpark_status dlpark_layout_span(int32_t ndim, const int64_t *shape, const int64_t *strides, int64_t *lowest,
                                 int64_t *highest, dlpark_error *err)
{
    dlpark__span extent;
    int64_t scratch[DLPARK_MAX_NDIM];

    DLPARK_TRY(layout_check_head(ndim, shape, err));
    if (strides != NULL)
        DLPARK_TRY(dlpark__layout_scan(ndim, shape, strides, &extent, err));
    else
        DLPARK_TRY(dlpark__layout_fill(ndim, shape, scratch, &extent, err));
    *lowest = extent.lowest;
    *highest = extent.highest;
    return DLPARK_OK;
}

dlpark_status dlpark_layout_nbytes(DLDataType dtype, bool padded, int64_t numel, int64_t *out, dlpark_error *err)
{
    int64_t nbytes;

    DLPARK_TRY(dlpark_dtype_check(dtype, err));
    if (numel < 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "numel is %lld, expected 0 or more", (long long)numel);
    if (!dlpark__layout_bytes(dtype, padded, numel, &nbytes))
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%lld elements of %s take more than 2^63-1 bytes",
                                (long long)numel, dlpark_dtype_name(dtype).text);
    *out = nbytes;
    return DLPARK_OK;
}
