/* The order in which the dimensions of a row lie in memory, which arrow.fixed_shape_tensor can say. */
#include "arrow_parts.h"

/* Dimensions of more than one element, from the slowest to the fastest: only their strides mean something. */
static int32_t arrow_sort_dimensions(int32_t ndim, const int64_t *shape, const int64_t *strides, int64_t *order)
{
    int32_t count = 0;

    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] == 1)
            continue;
        int32_t at = count++;
        for (; at > 0 && strides[i] > strides[order[at - 1]]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return count;
}

/* The first sorted dimension that does not follow the others without a gap, from the fastest; -1 where all do. The product
 * of a view's extents is known to fit. */
static int32_t arrow_find_gap(const int64_t *order, int32_t count, const int64_t *shape, const int64_t *strides,
                              int64_t *expected)
{
    *expected = 1;
    for (int32_t i = count - 1; i >= 0; i--) {
        if (strides[order[i]] != *expected)
            return (int32_t)order[i];
        *expected *= shape[order[i]] ? shape[order[i]] : 1;
    }
    return -1;
}

int32_t dlpark__arrow_permutation_find(int32_t ndim, const int64_t *shape, const int64_t *strides, arrow_shape *out,
                                       int64_t *expected)
{
    int64_t order[DLPARK_MAX_NDIM];
    int32_t next = 0, count = arrow_sort_dimensions(ndim, shape, strides, order);
    int32_t gap = arrow_find_gap(order, count, shape, strides, expected);
    bool in_order = true;

    if (gap >= 0)
        return gap;
    /* Dimensions of one element keep their places, the others take the remaining ones in the order of memory. */
    for (int32_t i = 0; i < ndim; i++) {
        int64_t from = shape[i] == 1 ? i : order[next++];
        out->shape[i] = shape[from];
        out->permutation[from] = i;
        in_order &= from == i;
    }
    out->ndim = ndim;
    out->permutation_ndim = in_order ? 0 : ndim;
    return -1;
}
