/*
 * Copies between views whose spans meet. Straight where no element of one meets one of the other; in the direction that
 * reads everything before it is overwritten, where both have the same strides; through a compact copy otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "../elements/bits_parts.h"
#include "../elements/walk_parts.h"

/* Both views have these dimensions. Blocks of the innermost ones are moved as a whole, one after the other. */
typedef struct overlap_plan {
    int64_t extent[DLPARK_MAX_NDIM]; /* longest stride first */
    int64_t stride[DLPARK_MAX_NDIM]; /* in bits, positive */
    int32_t ndim;
    int32_t whole;   /* the first dimension inside a block */
    bool contiguous; /* a block is one range of bits */
    bool rising;     /* blocks from the lowest address on */
    int64_t block;   /* bits that a block spans */
    int64_t step;    /* bits of an element */
    int64_t lowest;  /* bits from `data` to the lowest element; the same in both */
    dlpark_view to;  /* a block, where blocks are not contiguous */
    dlpark_view from;
    unsigned char *to_data;
    const unsigned char *from_data;
    int64_t to_bit;
    int64_t from_bit;
    int threads;
} overlap_plan;

/* Bits from element 0 of `to` to that of `from`. */
static int64_t overlap_distance(const dlpark_view *to, const dlpark_view *from)
{
    int64_t nbytes = (int64_t)(intptr_t)((uintptr_t)from->data - (uintptr_t)to->data);

    return nbytes * 8 + (int64_t)from->bit_offset - (int64_t)to->bit_offset;
}

static bool overlap_same_strides(const dlpark_view *to, const dlpark_view *from)
{
    if (dlpark__view_element_nbits(to) != dlpark__view_element_nbits(from))
        return false;
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] != 1 && to->strides[i] != from->strides[i])
            return false;
    return true;
}

/* ---- Elements that lie between those of the other view ---- */

static int64_t overlap_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Whether all elements repeat with one period in which those of one view keep clear of the other's. */
static bool overlap_is_interleaved(const dlpark_view *to, const dlpark_view *from)
{
    int64_t to_step = dlpark__view_element_nbits(to), from_step = dlpark__view_element_nbits(from), period = 0;

    for (int32_t i = 0; i < to->ndim; i++) {
        if (to->shape[i] == 1)
            continue;
        period = overlap_common_divisor(period, to->strides[i] * to_step);
        period = overlap_common_divisor(period, from->strides[i] * from_step);
    }
    if (period == 0)
        return false;
    int64_t behind = overlap_distance(to, from) % period;
    if (behind < 0)
        behind += period;
    return behind >= to_step && behind + from_step <= period;
}

/* ---- In the right direction ---- */

static void overlap_insert_dim(overlap_plan *plan, int64_t extent, int64_t stride)
{
    int32_t at = plan->ndim++;

    for (; at > 0 && plan->stride[at - 1] < stride; at--) {
        plan->extent[at] = plan->extent[at - 1];
        plan->stride[at] = plan->stride[at - 1];
    }
    plan->extent[at] = extent;
    plan->stride[at] = stride;
}

static void overlap_add_dims(overlap_plan *plan, const dlpark_view *to)
{
    for (int32_t i = 0; i < to->ndim; i++) {
        int64_t stride = to->strides[i] * plan->step;
        if (to->shape[i] == 1)
            continue;
        if (stride < 0) {
            plan->lowest += stride * (to->shape[i] - 1);
            stride = -stride;
        }
        overlap_insert_dim(plan, to->shape[i], stride);
    }
}

/*
 * Finds the largest blocks that are one range of bits or lie clear of their own source, from single elements outwards.
 * False when the steps of a dimension are shorter than what is inside it: then no order follows the addresses.
 */
static bool overlap_choose_blocks(overlap_plan *plan, int64_t distance)
{
    int64_t reach = plan->step;
    bool grows = true;

    plan->whole = plan->ndim;
    plan->contiguous = true;
    plan->block = reach;
    for (int32_t i = plan->ndim - 1; i >= 0; i--) {
        bool joined = plan->contiguous && plan->stride[i] == reach;
        if (plan->stride[i] < reach)
            return false;
        reach += plan->stride[i] * (plan->extent[i] - 1);
        grows = grows && (joined || reach <= distance);
        if (grows) {
            plan->whole = i;
            plan->contiguous = joined;
            plan->block = reach;
        }
    }
    return true;
}

/* A view of the dimensions inside a block; where it lies is filled in for each. */
static void overlap_describe_block(const overlap_plan *plan, const dlpark_view *whole, dlpark_view *block)
{
    memcpy(block, whole, offsetof(dlpark_view, shape));
    block->ndim = plan->ndim - plan->whole;
    for (int32_t i = 0; i < block->ndim; i++) {
        block->shape[i] = plan->extent[plan->whole + i];
        block->strides[i] = plan->stride[plan->whole + i] / plan->step;
    }
}

static bool overlap_make_plan(overlap_plan *plan, const dlpark_view *to, const dlpark_view *from, int threads)
{
    int64_t distance = overlap_distance(to, from);

    if (!overlap_same_strides(to, from))
        return false;
    plan->ndim = 0;
    plan->step = dlpark__view_element_nbits(to);
    plan->lowest = 0;
    plan->rising = distance > 0;
    plan->to_data = to->data;
    plan->from_data = from->data;
    plan->to_bit = to->bit_offset;
    plan->from_bit = from->bit_offset;
    plan->threads = threads;
    overlap_add_dims(plan, to);
    if (!overlap_choose_blocks(plan, distance < 0 ? -distance : distance))
        return false;
    overlap_describe_block(plan, to, &plan->to);
    overlap_describe_block(plan, from, &plan->from);
    return true;
}

/* A range of bits that may meet its own source, piece by piece through memory that meets neither. */
static void overlap_move_bits(const overlap_plan *plan, int64_t to, int64_t from)
{
    enum { PIECE = 4096 };
    unsigned char piece[PIECE / 8];

    for (int64_t done = 0, nbits; done < plan->block; done += nbits) {
        nbits = plan->block - done < PIECE ? plan->block - done : PIECE;
        int64_t at = plan->rising ? done : plan->block - done - nbits;
        dlpark__bits_move(piece, 0, plan->from_data, from + at, nbits);
        dlpark__bits_move(plan->to_data, to + at, piece, 0, nbits);
    }
}

static void overlap_move_block(overlap_plan *plan, int64_t at)
{
    int64_t to = plan->to_bit + at, from = plan->from_bit + at;

    if (!plan->contiguous) {
        plan->to.data = dlpark__bits_byte_mut(plan->to_data, to);
        plan->to.bit_offset = (uint32_t)(to & 7);
        plan->from.data = dlpark__unconst(dlpark__bits_byte(plan->from_data, from));
        plan->from.bit_offset = (uint32_t)(from & 7);
        dlpark__copy_disjoint(&plan->to, &plan->from, plan->threads);
    } else if (plan->step % 8 == 0) {
        memmove(dlpark__bits_byte_mut(plan->to_data, to), dlpark__bits_byte(plan->from_data, from),
                (size_t)(plan->block >> 3));
    } else {
        overlap_move_bits(plan, to, from);
    }
}

/* The blocks below dimension `level`, whose first begins at bit `at`. As deep as the tensor has dimensions. */
static void overlap_move(overlap_plan *plan, int32_t level, int64_t at)
{
    if (level == plan->whole) {
        overlap_move_block(plan, at);
        return;
    }
    for (int64_t i = 0; i < plan->extent[level]; i++)
        overlap_move(plan, level + 1, at + plan->stride[level] * (plan->rising ? i : plan->extent[level] - 1 - i));
}

/* ---- Through a copy ---- */

/* What a compact copy of a view looks like. Dimensions that repeat the same elements go on doing so. */
static void overlap_describe_held(const dlpark_view *from, dlpark_view *held)
{
    int64_t stride = 1;

    dlpark_view_copy(held, from);
    held->bit_offset = 0;
    held->flags &= DLPARK_VIEW_PADDED;
    for (int32_t i = from->ndim - 1; i >= 0; i--) {
        if (from->strides[i] == 0)
            held->shape[i] = 1;
        held->strides[i] = stride;
        stride *= held->shape[i];
    }
}

static dlpark_status overlap_copy_through(const dlpark_view *to, const dlpark_view *from, int threads,
                                          dlpark_error *err)
{
    dlpark_view once, held;
    void *memory = NULL;

    overlap_describe_held(from, &held);
    int64_t nbytes = dlpark_view_nbytes(&held);
    if ((int64_t)(size_t)nbytes == nbytes) /* in 32 bits it may not be */
        memory = dlpark__memory_get((size_t)nbytes);
    if (memory == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY,
                                "no memory for the %lld bytes of the source, which the destination overlaps",
                                (long long)nbytes);
    held.data = memory;
    dlpark_view_copy(&once, from);
    memcpy(once.shape, held.shape, (size_t)from->ndim * sizeof held.shape[0]);
    dlpark__copy_disjoint(&held, &once, threads);

    for (int32_t i = 0; i < from->ndim; i++) {
        if (from->strides[i] == 0)
            held.strides[i] = 0;
        held.shape[i] = from->shape[i];
    }
    dlpark__copy_disjoint(to, &held, threads);
    free(memory);
    return DLPARK_OK;
}

dlpark_status dlpark__copy_overlapping(const dlpark_view *to, const dlpark_view *from, int threads, dlpark_error *err)
{
    overlap_plan plan;

    if (overlap_distance(to, from) == 0 && overlap_same_strides(to, from))
        return DLPARK_OK;
    if (overlap_is_interleaved(to, from)) {
        /* Packed elements share bytes with those of the other view, and one thread writes them back. */
        dlpark__copy_disjoint(to, from, dlpark__view_is_packed(to) ? 1 : threads);
        return DLPARK_OK;
    }
    if (!overlap_make_plan(&plan, to, from, threads))
        return overlap_copy_through(to, from, threads, err);
    overlap_move(&plan, 0, plan.lowest);
    return DLPARK_OK;
}
