/*
 * What is wrong with a layout, in the words of the rules: for the layout's own messages, and for the judge of tensors.
 */
#include <stdio.h>

#include "internal.h"

bool dlpark__layout_find_head(int32_t ndim, const int64_t *shape, dlpark__layout_fault *fault)
{
    if (ndim < 0 || ndim > DLPARK_MAX_NDIM) {
        *fault = (dlpark__layout_fault){DLPARK_RULE_RANK, -1, ndim, ndim < 0 ? 0 : DLPARK_MAX_NDIM, ""};
        snprintf(fault->text, sizeof fault->text, "ndim is %d", (int)ndim);
        return true;
    }
    if (ndim > 0 && shape == NULL) {
        *fault = (dlpark__layout_fault){DLPARK_RULE_SHAPE, -1, 0, 0, ""};
        snprintf(fault->text, sizeof fault->text, "shape is NULL although ndim is %d", (int)ndim);
        return true;
    }
    return false;
}

bool dlpark__layout_find_extent(int32_t ndim, const int64_t *shape, int32_t first, dlpark__layout_fault *fault)
{
    for (int32_t i = first; i < ndim; i++) {
        int64_t extent = shape[i];
        if (extent >= 0)
            continue;
        *fault = (dlpark__layout_fault){DLPARK_RULE_EXTENT, i, extent, 0, ""};
        snprintf(fault->text, sizeof fault->text, "shape[%d] is %lld", (int)i, (long long)extent);
        return true;
    }
    return false;
}

bool dlpark__layout_find_numel(int32_t ndim, const int64_t *shape, dlpark__span *span, dlpark__layout_fault *fault)
{
    span->numel = 1;
    for (int32_t i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(span->numel, shape[i], &span->numel)) {
            *fault = (dlpark__layout_fault){DLPARK_RULE_NUMEL, i, shape[i], INT64_MAX, ""};
            snprintf(fault->text, sizeof fault->text, "the element count leaves 63 bits at shape[%d] = %lld of %s",
                     (int)i, (long long)shape[i], dlpark__layout_list(ndim, shape).text);
            return true;
        }
    return false;
}

bool dlpark__layout_find_reach(int32_t ndim, const int64_t *shape, const int64_t *strides, dlpark__span *span,
                               dlpark__layout_fault *fault)
{
    span->lowest = 0;
    span->highest = strides != NULL ? 0 : span->numel - 1;
    for (int32_t i = 0; strides != NULL && i < ndim; i++)
        if (!dlpark__span_add(span, shape[i], strides[i]) || !dlpark__span_fits(span)) {
            *fault = (dlpark__layout_fault){DLPARK_RULE_REACH, i, strides[i], INT64_MAX - 1, ""};
            snprintf(fault->text, sizeof fault->text,
                     "the reach in elements leaves 63 bits at shape[%d] = %lld with strides[%d] = %lld", (int)i,
                     (long long)shape[i], (int)i, (long long)strides[i]);
            return true;
        }
    return false;
}

DLPARK_COLD dlpark_status dlpark__layout_explain(int32_t ndim, const int64_t *shape, const int64_t *strides,
                                                 dlpark_error *err)
{
    /* The last word where somebody changes the lists meanwhile. */
    dlpark__layout_fault fault = {DLPARK_RULE_REACH, -1, 0, 0, "the lists changed while they were read"};
    dlpark__span span;

    if (!dlpark__layout_find_head(ndim, shape, &fault) && !dlpark__layout_find_extent(ndim, shape, 0, &fault) &&
        !dlpark__layout_find_numel(ndim, shape, &span, &fault))
        (void)dlpark__layout_find_reach(ndim, shape, strides, &span, &fault);
    return dlpark_error_set(err, dlpark_rule_status(fault.rule), "%s, expected %s", fault.text,
                            dlpark_rule_limit(fault.rule));
}
