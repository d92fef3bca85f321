/*
 * One side of a cast by tiles: where its parts are, and how they come to lie one after the other in a tile and back.
 */
#ifndef DLPARK_CORE_CAST_TILE_PARTS_H
#define DLPARK_CORE_CAST_TILE_PARTS_H

#include "../elements/bits_parts.h"
#include "cast_parts.h"

/* Where one side of a cast is. Its walk is joined without the other side: what lies in one piece there is one run,
 * whatever the other is like. Both strides of the walk are those of this side. */
typedef struct dlpark__tile_cursor {
    unsigned bits;   /* of a part */
    unsigned nbytes; /* of a part in a tile: 1, 2, 4, 8 */
    unsigned step;   /* bits from one part to the next, where they lie side by side */
    bool clears;     /* of a destination: a part follows each that is written, an imaginary one, and is 0 */
    bool is_far;     /* of a source: more than is in a near cache */
    unsigned char *data;
    int64_t done; /* of the run */
    dlpark__walk walk;
} dlpark__tile_cursor;

static inline const dlpark__walk_dim *dlpark__tile_run(const dlpark__tile_cursor *cursor)
{
    return &cursor->walk.dims[cursor->walk.ndim - 1];
}

/* Whether parts lie side by side in a run, each in bytes of its own. */
static inline bool dlpark__tile_is_plain(const dlpark__tile_cursor *cursor)
{
    return cursor->bits >= 8 && !cursor->clears && dlpark__tile_run(cursor)->to == cursor->step;
}

/* How much of `count` is left in the run; goes to the next run when there is nothing. */
static inline int64_t dlpark__tile_rest(dlpark__tile_cursor *cursor, int64_t count)
{
    if (cursor->done == dlpark__tile_run(cursor)->extent) {
        dlpark__walk_next(&cursor->walk);
        cursor->done = 0;
    }
    int64_t rest = dlpark__tile_run(cursor)->extent - cursor->done;
    return rest < count ? rest : count;
}

/* The first part that is not done, in bits from the data; there is one in the run. */
static inline int64_t dlpark__tile_at(const dlpark__tile_cursor *cursor)
{
    return cursor->walk.to + cursor->done * dlpark__tile_run(cursor)->to;
}

/* ---- cast_tile.c ---- */

/* Begins with one side of a walk over both. */
void dlpark__tile_begin(dlpark__tile_cursor *cursor, const dlpark__cast_side *side, const dlpark_view *view,
                        const dlpark__walk *walk, bool is_to);

/* The next `count` parts to a tile, and from one. */
void dlpark__tile_gather(dlpark__tile_cursor *cursor, unsigned char *tile, int64_t count);
void dlpark__tile_scatter(dlpark__tile_cursor *cursor, const unsigned char *tile, int64_t count);

#endif
