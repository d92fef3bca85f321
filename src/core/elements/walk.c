#include "walk_parts.h"

static bool walk_leads_nowhere(int64_t extent, int64_t to, int64_t from)
{
    return extent == 1 || (to == 0 && from == 0);
}

static uint64_t walk_length(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

void dlpark__walk_init(dlpark__walk *walk, const dlpark_view *to, const dlpark_view *from)
{
    walk->ndim = 0;
    walk->to = to->bit_offset;
    walk->from = from->bit_offset;
}

void dlpark__walk_add_inner(dlpark__walk *walk, int64_t extent, int64_t to, int64_t from)
{
    if (!walk_leads_nowhere(extent, to, from))
        walk->dims[walk->ndim++] = (dlpark__walk_dim){extent, to, from, -1};
}

void dlpark__walk_add_ordered(dlpark__walk *walk, const dlpark_view *to, const dlpark_view *from)
{
    int64_t to_step = dlpark__view_element_nbits(to), from_step = dlpark__view_element_nbits(from);

    for (int32_t i = 0; i < to->ndim; i++)
        if (!walk_leads_nowhere(to->shape[i], to->strides[i], from->strides[i]))
            walk->dims[walk->ndim++] =
                (dlpark__walk_dim){to->shape[i], to->strides[i] * to_step, from->strides[i] * from_step, i};
}

/* By the sum of both strides: where one view is broadcast, the other decides. */
static void walk_insert(dlpark__walk *walk, dlpark__walk_dim dim)
{
    uint64_t length = walk_length(dim.to) + walk_length(dim.from);
    int32_t at = walk->ndim++;

    for (; at > 0 && walk_length(walk->dims[at - 1].to) + walk_length(walk->dims[at - 1].from) < length; at--)
        walk->dims[at] = walk->dims[at - 1];
    walk->dims[at] = dim;
}

void dlpark__walk_add_sorted(dlpark__walk *walk, const dlpark_view *to, const dlpark_view *from)
{
    int64_t to_step = dlpark__view_element_nbits(to), from_step = dlpark__view_element_nbits(from);

    for (int32_t i = 0; i < to->ndim; i++) {
        if (walk_leads_nowhere(to->shape[i], to->strides[i], from->strides[i]))
            continue;
        dlpark__walk_dim dim = {to->shape[i], to->strides[i] * to_step, from->strides[i] * from_step, i};
        if (dim.to < 0 || (dim.to == 0 && dim.from < 0)) {
            walk->to += dim.to * (dim.extent - 1);
            walk->from += dim.from * (dim.extent - 1);
            dim.to = -dim.to;
            dim.from = -dim.from;
        }
        walk_insert(walk, dim);
    }
}

void dlpark__walk_join(dlpark__walk *walk)
{
    int32_t kept = 0;

    for (int32_t i = 1; i < walk->ndim; i++) {
        dlpark__walk_dim *outer = &walk->dims[kept];
        const dlpark__walk_dim *inner = &walk->dims[i];
        if (outer->to == inner->to * inner->extent && outer->from == inner->from * inner->extent)
            *outer = (dlpark__walk_dim){outer->extent * inner->extent, inner->to, inner->from, -1};
        else
            walk->dims[++kept] = *inner;
    }
    walk->ndim = walk->ndim > 0 ? kept + 1 : 0;
}

void dlpark__walk_begin(dlpark__walk *walk)
{
    if (walk->ndim == 0)
        walk->dims[walk->ndim++] = (dlpark__walk_dim){1, 0, 0, -1};
    for (int32_t i = 0; i < walk->ndim; i++)
        walk->index[i] = 0;
}

bool dlpark__walk_next(dlpark__walk *walk)
{
    for (int32_t i = walk->ndim - 2; i >= 0; i--) {
        const dlpark__walk_dim *dim = &walk->dims[i];
        if (++walk->index[i] < dim->extent) {
            walk->to += dim->to;
            walk->from += dim->from;
            return true;
        }
        walk->index[i] = 0;
        walk->to -= dim->to * (dim->extent - 1);
        walk->from -= dim->from * (dim->extent - 1);
    }
    return false;
}
