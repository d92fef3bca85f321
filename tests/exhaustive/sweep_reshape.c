/*
 * dlpark_view_reshape() of every layout to every shape of rank <= 4 with as many elements, and to some with others.
 * It can be done when some strides give the same elements in the same order: those are looked for here by measuring
 * from the first element along each dimension and then comparing all of them.
 */
#include "sweep.h"

#include <string.h>

/* Whether strides for `to` exist that list the same places as `from`; both have elements. */
static bool reshape_strides(const sweep_layout *from, sweep_layout *to)
{
    int64_t after = 1;

    for (int i = to->ndim - 1; i >= 0; i--) {
        to->strides[i] = to->shape[i] > 1 ? sweep_offset(from, after) : 0;
        after *= to->shape[i];
    }
    for (int64_t n = 0; n < sweep_count(from); n++)
        if (sweep_offset(from, n) != sweep_offset(to, n))
            return false;
    return true;
}

static void reshape_one(const sweep_layout *from, const dlpark_view *whole, sweep_layout *to)
{
    static dlpark_view view;
    int64_t count = sweep_count(from);
    bool possible = count == sweep_count(to) && (count == 0 || reshape_strides(from, to));

    dlpark_view_copy(&view, whole);
    dlpark_status status = dlpark_view_reshape(&view, to->ndim, to->shape, NULL);
    if ((status == DLPARK_OK) != possible)
        sweep_fail(from, "to rank %d, [%lld, %lld, %lld, %lld]: %s", to->ndim, (long long)to->shape[0],
                   (long long)to->shape[1], (long long)to->shape[2], (long long)to->shape[3],
                   dlpark_status_name(status));
    const sweep_layout *want = possible ? to : from;
    SWEEP_WANT(from, view.ndim == want->ndim && view.data == whole->data);
    for (int i = 0; i < want->ndim; i++) {
        SWEEP_WANT(from, view.shape[i] == want->shape[i]);
        SWEEP_WANT(from, view.strides[i] == want->strides[i] || (possible && (count == 0 || want->shape[i] == 1)));
    }
}

/* Tries the shapes of one rank whose extents multiply to `left`. */
static uint64_t reshape_to(const sweep_layout *from, const dlpark_view *whole, sweep_layout *to, int dim, int64_t left)
{
    uint64_t cases = 0;

    if (dim == to->ndim || dim == SWEEP_NDIM) {
        if (left != 1)
            return 0;
        reshape_one(from, whole, to);
        return 1;
    }
    for (int64_t extent = 1; extent <= left; extent++) {
        to->shape[dim] = extent;
        if (left % extent == 0)
            cases += reshape_to(from, whole, to, dim + 1, left / extent);
    }
    return cases;
}

/* All shapes of rank <= 3 with extents 0..3, most of which have another number of elements. */
static uint64_t reshape_to_small(const sweep_layout *from, const dlpark_view *whole)
{
    for (int shard = 0; shard < 1 + 4 + 16 + 64; shard++) {
        sweep_layout to = sweep_first(shard);
        reshape_one(from, whole, &to);
    }
    return 1 + 4 + 16 + 64;
}

uint64_t sweep_reshape(int shard)
{
    static unsigned char memory[1];
    static dlpark_view whole;
    sweep_layout from = sweep_first(shard);
    uint64_t cases = 0;

    do {
        sweep_layout copy = from, to = {0};
        DLTensor tensor = {memory, {kDLCPU, 0}, copy.ndim, {kDLUInt, 8, 1}, copy.shape, copy.strides, 0};
        SWEEP_WANT(&from, dlpark_check(&tensor, 0, &whole, NULL) == DLPARK_OK);
        if (sweep_count(&from) == 0 || from.ndim < 3)
            cases += reshape_to_small(&from, &whole);
        if (sweep_count(&from) == 0)
            continue;
        for (to.ndim = 0; to.ndim <= SWEEP_NDIM; to.ndim++)
            cases += reshape_to(&from, &whole, &to, 0, sweep_count(&from));
    } while (sweep_next(&from));
    return cases;
}
