/*
 * From two layouts to loops: dimensions of extent 1 are dropped, destination strides made positive, dimensions ordered
 * by them and joined where both sides go on without a gap. What is then innermost decides which kernel runs.
 */
#include <string.h>

#include "copy_parts.h"

#define PLAN_STREAM_FROM  ((int64_t)16 << 20) /* bytes written; below, the last cache may hold them for the reader */
#define PLAN_RUN_FROM     ((size_t)33)        /* bytes of an element from which it is a run */
#define PLAN_LINE_FROM    ((int64_t)32)       /* bytes of the innermost dimension from which a call for it pays */
#define PLAN_CHANNEL_FROM ((int64_t)64)       /* bytes of a channel from which its kernel pays */
#define PLAN_SHORT_BELOW  ((int64_t)256) /* bytes of x or y below which it is taken together with the next dimension */

static int64_t plan_size(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* 1, 2, 4, 8 or 16 bytes: what the vector kernels move. */
static bool plan_is_vector(size_t element)
{
    return element <= 16 && (element & (element - 1)) == 0;
}

/* Turns a dimension round, so that it starts at its other end. */
static void plan_flip(dlpark__copy_plan *plan, dlpark__copy_dim *dim)
{
    plan->to += (dim->extent - 1) * dim->to;
    plan->from += (dim->extent - 1) * dim->from;
    dim->to = -dim->to;
    dim->from = -dim->from;
}

/* Longest destination stride outermost, so that the innermost loop writes forward through memory. */
static void plan_insert(dlpark__copy_plan *plan, dlpark__copy_dim dim)
{
    int32_t at = plan->ndim++;

    if (dim.to < 0)
        plan_flip(plan, &dim);
    for (; at > 0 && plan->dims[at - 1].to < dim.to; at--)
        plan->dims[at] = plan->dims[at - 1];
    plan->dims[at] = dim;
}

static void plan_join(dlpark__copy_plan *plan)
{
    int32_t kept = 0;

    if (plan->ndim == 0)
        return;
    for (int32_t i = 1; i < plan->ndim; i++) {
        dlpark__copy_dim *outer = &plan->dims[kept];
        const dlpark__copy_dim *inner = &plan->dims[i];
        if (outer->to == inner->to * inner->extent && outer->from == inner->from * inner->extent)
            *outer = (dlpark__copy_dim){outer->extent * inner->extent, inner->to, inner->from};
        else
            plan->dims[++kept] = *inner;
    }
    plan->ndim = kept + 1;

    const dlpark__copy_dim *last = &plan->dims[kept];
    if (last->to == (int64_t)plan->element && last->from == (int64_t)plan->element) {
        plan->element *= (size_t)last->extent;
        plan->ndim = kept;
    }
}

static dlpark__copy_dim plan_remove(dlpark__copy_plan *plan, int32_t at)
{
    dlpark__copy_dim dim = plan->dims[at];

    plan->ndim--;
    memmove(plan->dims + at, plan->dims + at + 1, (size_t)(plan->ndim - at) * sizeof dim);
    return dim;
}

/* ---- One dimension: it is innermost on both sides ---- */

/* Whether the innermost dimensions make a block: no gaps in the destination, 16 bytes at most on either side. */
static int32_t plan_find_block(const dlpark__copy_plan *plan, dlpark__copy_block *block, int64_t *lowest)
{
    int64_t map[16], count = 1, nbytes = (int64_t)plan->element, low = 0, high = nbytes;
    int32_t taken = 0;

    if (nbytes > 16)
        return -1;
    for (int64_t i = 0; i < nbytes; i++)
        map[i] = i;
    for (; taken < plan->ndim - 1; taken++) {
        const dlpark__copy_dim *dim = &plan->dims[plan->ndim - 1 - taken];
        int64_t reach = (dim->extent - 1) * dim->from;
        int64_t new_low = reach < 0 ? low + reach : low, new_high = reach > 0 ? high + reach : high;
        if (dim->to != nbytes || dim->extent > 16 / nbytes || new_high - new_low > 16)
            break;
        for (count = nbytes * dim->extent; nbytes < count; nbytes++)
            map[nbytes] = map[nbytes - dim->to] + dim->from;
        low = new_low;
        high = new_high;
    }
    for (int64_t i = 0; i < nbytes; i++)
        block->map[i] = (uint8_t)(map[i] - low);
    block->nbytes = (uint8_t)nbytes;
    block->span = (uint8_t)(high - low);
    *lowest = low;
    return taken;
}

static bool plan_choose_block(dlpark__copy_plan *plan)
{
    dlpark__copy_block block;
    int64_t lowest;
    int32_t taken = plan_find_block(plan, &block, &lowest);

    if (taken < 0)
        return false;
    const dlpark__copy_dim *next = &plan->dims[plan->ndim - 1 - taken];
    if (next->to != block.nbytes || block.nbytes * next->extent < PLAN_LINE_FROM)
        return false;
    /* Without a change inside the block, gaps between sizes that a register has are as fast by plain loads. */
    if (taken == 0 && next->from != 0 && plan_is_vector(plan->element))
        return false;
    plan->ndim -= taken;
    plan->x = plan_remove(plan, plan->ndim - 1);
    plan->block = block;
    plan->from += lowest;
    plan->kind = DLPARK__COPY_BLOCKS;
    return true;
}

static void plan_choose_line(dlpark__copy_plan *plan)
{
    int64_t element = (int64_t)plan->element;

    if (plan_choose_block(plan))
        return;
    plan->x = plan_remove(plan, plan->ndim - 1);
    int64_t times = plan->x.from / element;
    bool dense = plan->x.to == element && plan->x.extent * element >= PLAN_LINE_FROM && plan_is_vector(plan->element) &&
                 plan->x.from % element == 0;
    if (dense && times == -1) {
        plan->kind = DLPARK__COPY_REVERSE;
    } else if (dense && times >= 2 && times <= 4 && element <= 8) {
        plan->kind = DLPARK__COPY_PICK;
        plan->channels = (int)times;
    } else {
        plan->kind = DLPARK__COPY_STRIDED;
        if (plan->ndim > 0)
            plan->y = plan_remove(plan, plan->ndim - 1);
    }
}

/* ---- Two dimensions: x is innermost in the destination, y in the source ---- */

/* The dimension with the shortest step in the source, when that is not the last. */
static int32_t plan_find_y(const dlpark__copy_plan *plan)
{
    int32_t best = plan->ndim - 1;

    for (int32_t i = plan->ndim - 2; i >= 0; i--)
        if (plan->dims[i].from != 0 && plan_size(plan->dims[i].from) < plan_size(plan->dims[best].from))
            best = i;
    return best;
}

/* A short x leaves lines of the destination half written: the dimension that fills them is done with it. */
static void plan_widen(dlpark__copy_plan *plan)
{
    int64_t row = plan->x.extent * (int64_t)plan->element;

    if (row >= PLAN_SHORT_BELOW)
        return;
    for (int32_t i = 0; i < plan->ndim; i++)
        if (plan->dims[i].to == row) {
            plan->wide = plan_remove(plan, i);
            return;
        }
}

/* A short y leaves lines of the source half read: the dimension that reads on is done with it. */
static void plan_deepen(dlpark__copy_plan *plan)
{
    int64_t row = plan->y.extent * (int64_t)plan->element;

    if (row >= PLAN_SHORT_BELOW)
        return;
    for (int32_t i = 0; i < plan->ndim; i++)
        if (plan->dims[i].from == row) {
            plan->deep = plan_remove(plan, i);
            return;
        }
}

static void plan_choose_tile(dlpark__copy_plan *plan, int32_t y)
{
    int64_t element = (int64_t)plan->element,
            fits = element == 1 ? 8 : 16 / element; /* the least tile of the kernels */

    plan->x = plan_remove(plan, plan->ndim - 1);
    plan->y = plan_remove(plan, y);
    if (plan->y.from < 0)
        plan_flip(plan, &plan->y);
    plan->kind = DLPARK__COPY_STRIDED;
    if (!plan_is_vector(plan->element) || plan->x.to != element || plan->y.from != element)
        return;
    if (element <= 8 && plan->x.from >= 2 * element && plan->x.from <= 4 * element && plan->x.from % element == 0 &&
        plan->y.extent <= plan->x.from / element && plan->x.extent * element >= PLAN_CHANNEL_FROM) {
        plan->kind = DLPARK__COPY_SPLIT;
        plan->channels = (int)(plan->x.from / element);
    } else if (element <= 8 && plan->x.extent <= 4 && plan->y.to == plan->x.extent * element &&
               plan->y.extent * element >= PLAN_CHANNEL_FROM) {
        plan->kind = DLPARK__COPY_JOIN;
        plan->channels = (int)plan->x.extent;
    } else if (plan->x.extent >= fits && plan->y.extent >= fits) {
        plan->kind = DLPARK__COPY_TRANSPOSE;
        plan_widen(plan);
        plan_deepen(plan);
    }
}

/* An address in the middle of the destination. */
static const unsigned char *plan_middle(const dlpark__copy_plan *plan)
{
    const unsigned char *at = plan->to + plan->element / 2;

    for (int32_t i = 0; i < plan->ndim; i++)
        at += plan->dims[i].extent / 2 * plan->dims[i].to;
    return at;
}

bool dlpark__copy_streams(const unsigned char *middle, int64_t nbytes)
{
    return nbytes >= PLAN_STREAM_FROM && !dlpark__copy_is_fresh(middle);
}

void dlpark__copy_plan_order(dlpark__copy_plan *plan, const dlpark_view *to, const dlpark_view *from)
{
    const dlpark__copy_dim once = {1, 0, 0};
    int64_t element = (int64_t)(dlpark_dtype_nbits(to->dtype) + 7) / 8;

    plan->to = to->data;
    plan->from = from->data;
    plan->element = (size_t)element;
    plan->nbytes = element * dlpark_view_numel(to);
    plan->kind = DLPARK__COPY_RUNS;
    plan->channels = 0;
    plan->ndim = 0;
    plan->x = plan->y = plan->wide = plan->deep = once;
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] != 1)
            plan_insert(plan, (dlpark__copy_dim){to->shape[i], to->strides[i] * element, from->strides[i] * element});
    plan->stream = false;
    plan_join(plan);
}

void dlpark__copy_plan_make(dlpark__copy_plan *plan, const dlpark_view *to, const dlpark_view *from)
{
    dlpark__copy_plan_order(plan, to, from);
    plan->stream = dlpark__copy_streams(plan_middle(plan), plan->nbytes);
    if (plan->ndim == 0)
        return;
    if (plan->element >= PLAN_RUN_FROM) {
        plan->x = plan_remove(plan, plan->ndim - 1);
        return;
    }
    int32_t y = plan_find_y(plan);
    if (y == plan->ndim - 1)
        plan_choose_line(plan);
    else
        plan_choose_tile(plan, y);
}

/* ---- Parts ---- */

/* The dimension that is cut: the longest, of equal ones the outermost. */
static dlpark__copy_dim *plan_longest(dlpark__copy_plan *plan)
{
    dlpark__copy_dim *last[] = {&plan->y, &plan->deep, &plan->wide, &plan->x};
    dlpark__copy_dim *best = &plan->y;

    for (int32_t i = plan->ndim - 1; i >= 0; i--)
        if (plan->dims[i].extent >= best->extent)
            best = &plan->dims[i];
    for (int i = 0; i < 4; i++)
        if (last[i]->extent > best->extent)
            best = last[i];
    return best;
}

bool dlpark__copy_plan_cut(const dlpark__copy_plan *plan, int at, int count, dlpark__copy_plan *part)
{
    *part = *plan;
    dlpark__copy_dim *dim = plan_longest(part);
    bool one = dim->extent < count && plan->kind == DLPARK__COPY_RUNS;
    dlpark__copy_dim bytes = {(int64_t)plan->element, 1, 1};

    if (one)
        dim = &bytes;
    /* Whole vectors and lines to each but the last, where there are enough. */
    int64_t share = (dim->extent + count - 1) / count;
    if (share > 64)
        share = (share + 63) / 64 * 64;
    int64_t first = at * share;
    if (first >= dim->extent)
        return false;
    part->to += first * dim->to;
    part->from += first * dim->from;
    dim->extent = dim->extent - first < share ? dim->extent - first : share;
    if (one)
        part->element = (size_t)dim->extent;
    return true;
}
