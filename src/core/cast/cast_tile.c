/*
 * Parts of a view that lie anywhere, to a tile and back: by blocks of whole rows where there are some, else run by run.
 */
#include <string.h>

#include "cast_tile_parts.h"

/* Only the dimensions that there are: a walk has room for many. */
void dlpark__tile_begin(dlpark__tile_cursor *cursor, const dlpark__cast_side *side, const dlpark_view *view,
                        const dlpark__walk *walk, bool is_to)
{
    dlpark__walk *own = &cursor->walk;

    cursor->bits = side->part.bits;
    cursor->nbytes = cursor->bits < 8 ? 1 : cursor->bits / 8;
    cursor->step = dlpark__cast_side_step(side);
    cursor->clears = cursor->is_far = false;
    cursor->data = view->data;
    cursor->done = 0;
    own->ndim = walk->ndim;
    own->to = own->from = is_to ? walk->to : walk->from;
    for (int32_t i = 0; i < walk->ndim; i++) {
        int64_t step = is_to ? walk->dims[i].to : walk->dims[i].from;
        own->dims[i] = (dlpark__walk_dim){walk->dims[i].extent, step, step, -1};
    }
    dlpark__walk_join(own);
    dlpark__walk_begin(own);
}

/* ---- Run by run ---- */

/* A constant size lets the compiler turn memcpy into loads and stores, at any alignment. */
#define TILE_MOVE(nbytes)                                                                                              \
    case (nbytes):                                                                                                     \
        for (int64_t i = 0; i < count; i++, to += to_step, from += from_step)                                          \
            memcpy(to, from, (nbytes));                                                                                \
        break

static void tile_move(unsigned char *to, int64_t to_step, const unsigned char *from, int64_t from_step, unsigned nbytes,
                      int64_t count)
{
    switch (nbytes) {
        TILE_MOVE(1);
        TILE_MOVE(2);
        TILE_MOVE(4);
    default: /* there is no other */
        TILE_MOVE(8);
    }
}

/* `count` parts from bit `at` on, to a tile. */
static void tile_take(const dlpark__tile_cursor *cursor, unsigned char *to, int64_t at, int64_t count)
{
    const unsigned char *from = cursor->data;
    const int64_t step = dlpark__tile_run(cursor)->to;

    if (step == cursor->step && cursor->bits >= 8) {
        memcpy(to, dlpark__bits_byte(from, at), (size_t)count * cursor->nbytes);
    } else if (cursor->bits >= 8) {
        tile_move(to, cursor->nbytes, dlpark__bits_byte(from, at), step / 8, cursor->nbytes, count);
    } else if (step == cursor->bits) {
        dlpark__bits_unpack(to, from, at, cursor->bits, count);
    } else {
        for (int64_t i = 0; i < count; i++, at += step)
            to[i] = (unsigned char)dlpark__bits_get(dlpark__bits_byte(from, at), (unsigned)(at & 7), cursor->bits);
    }
}

/* The reverse. A padded part is written with the rest of its byte zero. */
static void tile_put(const dlpark__tile_cursor *cursor, int64_t at, const unsigned char *from, int64_t count)
{
    unsigned char *to = cursor->data;
    const int64_t step = dlpark__tile_run(cursor)->to;

    if (step == cursor->step && cursor->bits >= 8) {
        memcpy(dlpark__bits_byte_mut(to, at), from, (size_t)count * cursor->nbytes);
    } else if (cursor->bits >= 8) {
        tile_move(dlpark__bits_byte_mut(to, at), step / 8, from, cursor->nbytes, cursor->nbytes, count);
    } else if (step == cursor->bits) {
        dlpark__bits_pack(to, at, from, cursor->bits, count);
    } else {
        unsigned mask = 0xFFu >> (8 - cursor->bits);
        for (int64_t i = 0; i < count; i++, at += step) {
            if (cursor->step == 8)
                *dlpark__bits_byte_mut(to, at) = (unsigned char)(from[i] & mask);
            else
                dlpark__bits_put(dlpark__bits_byte_mut(to, at), (unsigned)(at & 7), cursor->bits, from[i] & mask);
        }
    }
}

/* ---- By blocks ---- */

#define TILE_ROW_VECTOR   16 /* bytes of a row from which the kernel for rows takes it */
#define TILE_LONGEST_SPAN 4  /* times as long as its parts, of which all lines are asked for */

/* How many whole runs lie ahead in `count` parts, one step of the walk apart from each other. */
static int64_t tile_rows(const dlpark__tile_cursor *cursor, int64_t count)
{
    const dlpark__walk *walk = &cursor->walk;

    if (walk->ndim < 2 || cursor->bits < 8 || cursor->clears || cursor->done > 0)
        return 0;
    int64_t rows = count / dlpark__tile_run(cursor)->extent;
    int64_t left = walk->dims[walk->ndim - 2].extent - walk->index[walk->ndim - 2];
    return rows < left ? rows : left;
}

/* Behind the last of the rows. */
static void tile_pass(dlpark__tile_cursor *cursor, int64_t rows)
{
    dlpark__walk *walk = &cursor->walk;

    walk->index[walk->ndim - 2] += rows - 1;
    walk->to += walk->dims[walk->ndim - 2].to * (rows - 1);
    cursor->done = dlpark__tile_run(cursor)->extent;
}

/* Rows of parts, or of pieces that are as good as a part. */
static void tile_block(unsigned char *to, const unsigned char *from, size_t nbytes, const dlpark__copy_dim *outer,
                       const dlpark__copy_dim *inner)
{
    const dlpark__kernels *kernels = dlpark__kernels_get();
    const dlpark__copy_dim once = {1, 0, 0};
    int64_t row = inner->extent * (int64_t)nbytes;

    if (inner->to != (int64_t)nbytes || inner->from != (int64_t)nbytes)
        kernels->strided(to, from, nbytes, outer, inner);
    else if (row >= TILE_ROW_VECTOR)
        kernels->rows(to, outer->to, from, outer->from, (size_t)row, outer->extent);
    else
        kernels->strided(to, from, (size_t)row, &once, outer);
}

/* Asks for what lies behind each `nbytes` of a span, which a step does not ask for, where gaps are short. */
static void tile_ask_ahead(const dlpark__tile_cursor *cursor, int64_t at, int64_t span, int64_t nbytes)
{
    const uintptr_t from = (uintptr_t)dlpark__bits_byte(cursor->data, at) + DLPARK__CAST_AHEAD;

    if (!cursor->is_far || span > TILE_LONGEST_SPAN * nbytes)
        return;
    for (; nbytes < span; nbytes += DLPARK__CAST_LINE)
        __builtin_prefetch((const void *)(from + (uintptr_t)nbytes), 0, 2);
}

void dlpark__tile_gather(dlpark__tile_cursor *cursor, unsigned char *tile, int64_t count)
{
    for (int64_t have = 0; have < count;) {
        int64_t some = dlpark__tile_rest(cursor, count - have), at = dlpark__tile_at(cursor);
        int64_t rows = tile_rows(cursor, count - have);
        unsigned char *to = tile + have * cursor->nbytes;
        if (rows > 1) {
            const dlpark__walk_dim *dims = &cursor->walk.dims[cursor->walk.ndim - 2];
            const dlpark__copy_dim outer = {rows, dims[1].extent * cursor->nbytes, dims[0].to / 8};
            const dlpark__copy_dim inner = {dims[1].extent, cursor->nbytes, dims[1].to / 8};
            tile_ask_ahead(cursor, at, rows * outer.from, rows * outer.to);
            tile_block(to, dlpark__bits_byte(cursor->data, at), cursor->nbytes, &outer, &inner);
            tile_pass(cursor, rows);
            have += rows * inner.extent;
        } else {
            tile_ask_ahead(cursor, at, some * dlpark__tile_run(cursor)->to / 8, some * cursor->nbytes);
            tile_take(cursor, to, at, some);
            cursor->done += some;
            have += some;
        }
    }
}

void dlpark__tile_scatter(dlpark__tile_cursor *cursor, const unsigned char *tile, int64_t count)
{
    static const unsigned char zeros[DLPARK__CAST_TILE * 8];

    for (int64_t have = 0; have < count;) {
        int64_t some = dlpark__tile_rest(cursor, count - have), at = dlpark__tile_at(cursor);
        int64_t rows = tile_rows(cursor, count - have);
        const unsigned char *from = tile + have * cursor->nbytes;
        if (rows > 1) {
            const dlpark__walk_dim *dims = &cursor->walk.dims[cursor->walk.ndim - 2];
            const dlpark__copy_dim outer = {rows, dims[0].to / 8, dims[1].extent * cursor->nbytes};
            const dlpark__copy_dim inner = {dims[1].extent, dims[1].to / 8, cursor->nbytes};
            tile_block(dlpark__bits_byte_mut(cursor->data, at), from, cursor->nbytes, &outer, &inner);
            tile_pass(cursor, rows);
            have += rows * inner.extent;
        } else {
            tile_put(cursor, at, from, some);
            if (cursor->clears)
                tile_put(cursor, at + cursor->bits, zeros, some);
            cursor->done += some;
            have += some;
        }
    }
}
