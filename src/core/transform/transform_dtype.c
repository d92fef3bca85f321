/*
 * The same bytes as elements of another type.
 */
#include "../usual.h"
#include "transform_parts.h"

/* ---- Any other type ---- */

/* `to` new elements take the room of `from` old ones; no smaller numbers do. */
typedef struct reinterpret_ratio {
    uint32_t from;
    uint32_t to;
} reinterpret_ratio;

static inline reinterpret_ratio reinterpret_reduce(uint32_t old_width, uint32_t new_width)
{
    uint32_t a = old_width, b = new_width;

    /* Mostly both are powers of two, and the lower one divides both. */
    if (DLPARK_LIKELY(((a & (a - 1)) | (b & (b - 1))) == 0)) {
        int shift = __builtin_ctz(b) - __builtin_ctz(a);
        return shift > 0 ? (reinterpret_ratio){1u << shift, 1} : (reinterpret_ratio){1, 1u << -shift};
    }
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return (reinterpret_ratio){new_width / a, old_width / a};
}

/* Widths mostly grow or shrink by a power of two, and shrink without a division. */
static inline int64_t reinterpret_divide(int64_t value, uint32_t by)
{
    return by == 1 ? value : value / by;
}

static inline bool reinterpret_divides(int64_t value, uint32_t by)
{
    return by == 1 || value % by == 0;
}

static DLPARK_COLD dlpark_status reinterpret_explain_stride(const dlpark_view *view, int32_t dim, DLDataType dtype,
                                                            dlpark_error *err)
{
    dlpark_name from = dlpark_dtype_name(view->dtype), to = dlpark_dtype_name(dtype);

    if (dim == view->ndim - 1)
        return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                "strides[%d] is %lld: only a contiguous last dimension of %s can be taken as %s", dim,
                                (long long)view->strides[dim], from.text, to.text);
    return dlpark_error_set(err, DLPARK_E_STRIDES, "strides[%d] is %lld elements of %s, no whole number of %s", dim,
                            (long long)view->strides[dim], from.text, to.text);
}

static DLPARK_COLD dlpark_status reinterpret_explain_extent(const dlpark_view *view, DLDataType dtype,
                                                            dlpark_error *err)
{
    int32_t last = view->ndim - 1;

    if (view->ndim == 0)
        return dlpark_error_set(err, DLPARK_E_RANK,
                                "%s of rank 0 has no dimension that could change with the width of %s",
                                dlpark_dtype_name(view->dtype).text, dlpark_dtype_name(dtype).text);
    return dlpark_error_set(err, DLPARK_E_SHAPE, "shape[%d] is %lld elements of %s, no whole number of %s", last,
                            (long long)view->shape[last], dlpark_dtype_name(view->dtype).text,
                            dlpark_dtype_name(dtype).text);
}

static DLPARK_COLD dlpark_status reinterpret_explain_overflow(const dlpark_view *view, DLDataType dtype,
                                                              dlpark_error *err)
{
    return dlpark_error_set(
        err, DLPARK_E_OVERFLOW, "shape %s with strides %s leaves 63 bits when its %s are taken as %s",
        dlpark__layout_list(view->ndim, view->shape).text, dlpark__layout_list(view->ndim, view->strides).text,
        dlpark_dtype_name(view->dtype).text, dlpark_dtype_name(dtype).text);
}

/* The last dimension contiguous, and the strides of the others whole numbers of new elements. */
static inline dlpark_status reinterpret_check_strides(const dlpark_view *view, DLDataType dtype,
                                                      reinterpret_ratio ratio, dlpark_error *err)
{
    int32_t last = view->ndim - 1;

    if (DLPARK_UNLIKELY(view->shape[last] != 1 && view->strides[last] != 1))
        return reinterpret_explain_stride(view, last, dtype, err);
    for (int32_t i = 0; ratio.from != 1 && i < last; i++)
        if (DLPARK_UNLIKELY(view->shape[i] != 1 && view->strides[i] % ratio.from != 0))
            return reinterpret_explain_stride(view, i, dtype, err);
    return DLPARK_OK;
}

/* The bytes fit as before, and so do the elements, but where a byte holds more than one. */
static DLPARK_COLD dlpark_status reinterpret_check_reach(const dlpark_view *view, DLDataType dtype,
                                                         reinterpret_ratio ratio, int64_t last_extent,
                                                         dlpark_error *err)
{
    dlpark__span span = {last_extent, 0, last_extent - 1};
    int64_t stride;
    bool odd = false;

    for (int32_t i = 0; i < view->ndim - 1; i++) {
        if (view->shape[i] == 1)
            continue;
        odd |= __builtin_mul_overflow(reinterpret_divide(view->strides[i], ratio.from), ratio.to, &stride);
        odd |= !dlpark__span_add(&span, view->shape[i], stride);
        odd |= __builtin_mul_overflow(span.numel, view->shape[i], &span.numel);
    }
    if (odd || !dlpark__span_fits(&span))
        return reinterpret_explain_overflow(view, dtype, err);
    return DLPARK_OK;
}

static dlpark_status reinterpret_resize(dlpark_view *view, DLDataType dtype, uint32_t old_width, uint32_t new_width,
                                        dlpark_error *err)
{
    reinterpret_ratio ratio = reinterpret_reduce(old_width, new_width);
    int32_t last = view->ndim - 1;
    int64_t extent;

    if (DLPARK_UNLIKELY(last < 0 || !reinterpret_divides(view->shape[last], ratio.from)))
        return reinterpret_explain_extent(view, dtype, err);
    if (DLPARK_UNLIKELY(view->bit_offset != 0 && new_width % 8 == 0))
        return dlpark_error_set(err, DLPARK_E_LAYOUT, "element 0 begins %d bits into its byte, and %s takes whole ones",
                                (int)view->bit_offset, dlpark_dtype_name(dtype).text);
    if (DLPARK_UNLIKELY(__builtin_mul_overflow(reinterpret_divide(view->shape[last], ratio.from), ratio.to, &extent)))
        return reinterpret_explain_overflow(view, dtype, err);
    if (!transform_is_empty(view)) {
        DLPARK_TRY(reinterpret_check_strides(view, dtype, ratio, err));
        if (DLPARK_UNLIKELY(new_width < 8))
            DLPARK_TRY(reinterpret_check_reach(view, dtype, ratio, extent, err));
    }
    for (int32_t i = 0; i < last; i++)
        view->strides[i] = transform_scale(reinterpret_divide(view->strides[i], ratio.from), ratio.to);
    view->shape[last] = extent;
    view->strides[last] = 1;
    return DLPARK_OK;
}

static __attribute__((noinline)) dlpark_status reinterpret_any(dlpark_view *view, DLDataType dtype, dlpark_error *err)
{
    DLPARK_TRY(dlpark_dtype_check(dtype, err));
    uint32_t nbits = dlpark_dtype_nbits(dtype), old_width = dlpark__view_element_nbits(view), flags = view->flags;
    /* Of whole bytes, before or after, PADDED says nothing. */
    if (old_width != dlpark_dtype_nbits(view->dtype) && nbits % 8 != 0)
        nbits = (nbits + 7) / 8 * 8;
    else
        flags &= ~DLPARK_VIEW_PADDED;
    if (old_width != nbits)
        DLPARK_TRY(reinterpret_resize(view, dtype, old_width, nbits, err));
    view->dtype = dtype;
    view->flags = flags;
    return DLPARK_OK;
}

/* So many elements of whole bytes for each. The bytes fit as before, and so do the elements. */
static inline void reinterpret_split(dlpark_view *view, int32_t last, int64_t times)
{
    view->shape[last] *= times;
    for (int32_t i = 0; i < last; i++) {
        TRANSFORM_SHORT_LOOP(i);
        view->strides[i] = transform_scale(view->strides[i], times);
    }
}

/* One element for 1 << shift, or false. */
static inline bool reinterpret_join(dlpark_view *view, int32_t last, int shift)
{
    int64_t any = view->shape[last];

    for (int32_t i = 0; i < last; i++)
        any |= view->strides[i];
    if (DLPARK_UNLIKELY((any & ((1 << shift) - 1)) != 0))
        return false;
    view->shape[last] >>= shift;
    for (int32_t i = 0; i < last; i++) {
        TRANSFORM_SHORT_LOOP(i);
        view->strides[i] >>= shift;
    }
    return true;
}

dlpark_status dlpark_view_reinterpret(dlpark_view *view, DLDataType dtype, dlpark_error *err)
{
    int32_t last = view->ndim - 1;
    uint32_t nbytes, old_nbytes;

    if (DLPARK_UNLIKELY(!dlpark__usual_dtype(dtype, &nbytes) || !dlpark__usual_dtype(view->dtype, &old_nbytes) ||
                        last < 0 || view->strides[last] != 1 || transform_is_empty(view)))
        return reinterpret_any(view, dtype, err);
    int shift = __builtin_ctz(nbytes) - __builtin_ctz(old_nbytes);
    if (shift < 0)
        reinterpret_split(view, last, 1 << -shift);
    else if (shift > 0 && DLPARK_UNLIKELY(!reinterpret_join(view, last, shift)))
        return reinterpret_any(view, dtype, err);
    view->dtype = dtype;
    return DLPARK_OK;
}

/* ---- Parts of complex numbers ---- */

static inline dlpark_status part_halve(dlpark_view *view, dlpark_error *err)
{
    if (DLPARK_UNLIKELY(view->dtype.code != kDLComplex))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "%s has no real and imaginary parts, expected c32, c64 or c128",
                                dlpark_dtype_name(view->dtype).text);
    view->dtype = DLPARK_DTYPE(kDLFloat, view->dtype.bits / 2, 1);
    /* An element has at least 4 bytes, so where a stride means something it is below 2^61. */
    for (int32_t i = 0; i < view->ndim; i++)
        view->strides[i] = transform_scale(view->strides[i], 2);
    return DLPARK_OK;
}

dlpark_status dlpark_view_real(dlpark_view *view, dlpark_error *err)
{
    return part_halve(view, err);
}

dlpark_status dlpark_view_imag(dlpark_view *view, dlpark_error *err)
{
    DLPARK_TRY(part_halve(view, err));
    if (!transform_is_empty(view))
        transform_move(view, 1);
    return DLPARK_OK;
}
