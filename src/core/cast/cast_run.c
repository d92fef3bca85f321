/*
 * Runs a chain over two views: by tiles, whose elements lie one after the other. Where those of a view do, the chain reads
 * or writes them in place; else they are gathered before and scattered behind it, whatever runs the tile spans.
 */
#include <string.h>

#include "../copy/copy_parts.h"
#include "../elements/bits_parts.h"
#include "cast_parts.h"

#if defined(__x86_64__) || defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- The floating-point unit ---- */

#if defined(__x86_64__) || defined(__SSE2__)
#define TILE_FLOAT_MODE  0x1F80u
#define TILE_FLOAT_FLAGS 0x003Fu /* which of the bits only say what has happened */
#else
#define TILE_FLOAT_MODE 0u
#endif

/* Rounding to nearest, subnormal numbers kept, nothing trapped: what the steps rely on. Returns what was set, and which
 * flags were raised. To set costs as much as some dozens of instructions, so what is right already is left alone. */
static uint64_t tile_begin_float_mode(void)
{
#if defined(__x86_64__) || defined(__SSE2__)
    unsigned before = _mm_getcsr();
    if ((before & ~TILE_FLOAT_FLAGS) != TILE_FLOAT_MODE)
        _mm_setcsr(TILE_FLOAT_MODE);
    return before;
#elif defined(__aarch64__)
    uint64_t before, flags;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)TILE_FLOAT_MODE));
    return flags << 32 | before;
#else
    return TILE_FLOAT_MODE;
#endif
}

/* Sets that again, and lowers the flags that the steps have raised. */
static void tile_end_float_mode(uint64_t before)
{
#if defined(__x86_64__) || defined(__SSE2__)
    if (_mm_getcsr() != before)
        _mm_setcsr((unsigned)before);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before & UINT32_MAX));
    __asm__ volatile("msr fpsr, %0" : : "r"(before >> 32));
#else
    (void)before;
#endif
}

/* From so many elements for each code on a table of all codes is made first. */
#define TILE_TABLE_PAYS 2

/* Bytes in one piece from which it pays to write them past the caches, where all of the destination is large. */
#define TILE_STREAM_RUN 4096

#define TILE_LINE 64 /* bytes of a line of a cache */

#define TILE_ALONE 64 /* parts from which a run that is read and written in place costs less than its copy to a tile */

/* ---- One side of a tile ---- */

typedef struct tile_side {
    unsigned bits;   /* of a part */
    unsigned nbytes; /* of a part in a tile: 1, 2, 4, 8 */
    unsigned step;   /* bits from one part to the next, where they lie side by side */
} tile_side;

static tile_side tile_side_of(const dlpark__cast_side *side)
{
    unsigned bits = side->part.bits;

    return (tile_side){bits, bits < 8 ? 1 : bits / 8, dlpark__cast_side_step(side)};
}

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

/* `count` parts from bit `at` on, `step` bits apart, to a tile. */
static void tile_take(const tile_side *side, unsigned char *to, const unsigned char *from, int64_t at, int64_t step,
                      int64_t count)
{
    if (step == side->step && side->bits >= 8) {
        memcpy(to, dlpark__bits_byte(from, at), (size_t)count * side->nbytes);
    } else if (side->bits >= 8) {
        tile_move(to, side->nbytes, dlpark__bits_byte(from, at), step / 8, side->nbytes, count);
    } else if (step == side->bits) {
        dlpark__bits_unpack(to, from, at, side->bits, count);
    } else {
        for (int64_t i = 0; i < count; i++, at += step)
            to[i] = (unsigned char)dlpark__bits_get(dlpark__bits_byte(from, at), (unsigned)(at & 7), side->bits);
    }
}

/* The reverse. A padded part is written with the rest of its byte zero. */
static void tile_put(const tile_side *side, unsigned char *to, int64_t at, int64_t step, const unsigned char *from,
                     int64_t count)
{
    if (step == side->step && side->bits >= 8) {
        memcpy(dlpark__bits_byte_mut(to, at), from, (size_t)count * side->nbytes);
    } else if (side->bits >= 8) {
        tile_move(dlpark__bits_byte_mut(to, at), step / 8, from, side->nbytes, side->nbytes, count);
    } else if (step == side->bits) {
        dlpark__bits_pack(to, at, from, side->bits, count);
    } else {
        unsigned mask = 0xFFu >> (8 - side->bits);
        for (int64_t i = 0; i < count; i++, at += step) {
            if (side->step == 8)
                *dlpark__bits_byte_mut(to, at) = (unsigned char)(from[i] & mask);
            else
                dlpark__bits_put(dlpark__bits_byte_mut(to, at), (unsigned)(at & 7), side->bits, from[i] & mask);
        }
    }
}

/* ---- Where a side is ---- */

/* A walk of which one side is looked at, and how far its run is done. */
typedef struct tile_cursor {
    dlpark__walk walk;
    int64_t done;
} tile_cursor;

static const dlpark__walk_dim *tile_dim(const tile_cursor *cursor)
{
    return &cursor->walk.dims[cursor->walk.ndim - 1];
}

/* How much of `count` is left in the run; goes to the next run when there is nothing. */
static int64_t tile_rest(tile_cursor *cursor, int64_t count)
{
    if (cursor->done == tile_dim(cursor)->extent) {
        dlpark__walk_next(&cursor->walk);
        cursor->done = 0;
    }
    int64_t rest = tile_dim(cursor)->extent - cursor->done;
    return rest < count ? rest : count;
}

typedef struct tile_state {
    tile_side to_side;
    tile_side from_side;
    tile_cursor to;
    tile_cursor from;
    unsigned char *to_data;
    const unsigned char *from_data;
    const dlpark__kernels *streams; /* what writes past the caches; NULL: nothing does */
    bool whole;                     /* one step at most leads from place to place, however much lies there */
    bool clears;                    /* a part follows each that is written, an imaginary one, and is 0 */
    _Alignas(64) unsigned char tiles[3][DLPARK__CAST_TILE * 8];
} tile_state;

/* `count` parts in one piece: those of the view itself, or the tile that they were gathered to. */
static const unsigned char *tile_read(tile_state *state, int64_t count)
{
    const tile_side *side = &state->from_side;
    unsigned char *tile = state->tiles[0];

    for (int64_t have = 0; have < count;) {
        int64_t some = tile_rest(&state->from, count - have);
        int64_t step = tile_dim(&state->from)->from;
        int64_t at = state->from.walk.from + state->from.done * step;
        state->from.done += some;
        if (some == count && side->bits >= 8 && step == side->step)
            return dlpark__bits_byte(state->from_data, at);
        tile_take(side, tile + have * side->nbytes, state->from_data, at, step, some);
        have += some;
    }
    return tile;
}

/* Where `count` parts are to be written in one piece; NULL where they have to be scattered. */
static unsigned char *tile_place(tile_state *state, int64_t count)
{
    const tile_side *side = &state->to_side;
    int64_t step = tile_dim(&state->to)->to;

    if (state->clears || side->bits < 8 || step != side->step || tile_rest(&state->to, count) < count)
        return NULL;
    int64_t at = state->to.walk.to + state->to.done * step;
    state->to.done += count;
    return dlpark__bits_byte_mut(state->to_data, at);
}

static void tile_write(tile_state *state, const unsigned char *tile, int64_t count)
{
    const tile_side *side = &state->to_side;
    static const unsigned char zeros[DLPARK__CAST_TILE * 8];

    for (int64_t have = 0; have < count;) {
        int64_t some = tile_rest(&state->to, count - have);
        int64_t step = tile_dim(&state->to)->to;
        int64_t at = state->to.walk.to + state->to.done * step;
        tile_put(side, state->to_data, at, step, tile + have * side->nbytes, some);
        if (state->clears)
            tile_put(side, state->to_data, at + side->bits, step, zeros, some);
        state->to.done += some;
        have += some;
    }
}

/* A tile's worth, or the rest of a run that is read and written in place. */
static int64_t tile_count(tile_state *state, int64_t left)
{
    int64_t count = left < DLPARK__CAST_TILE ? left : DLPARK__CAST_TILE;
    int64_t rest = tile_rest(&state->to, state->whole ? left : count); /* on both sides: it is one walk */

    /* A short run is joined with the next ones; one that fills half a tile is better off alone. */
    return rest >= (state->whole && count > TILE_ALONE ? TILE_ALONE : count / 2) ? rest : count;
}

/* Where lines are written past the caches, whole ones: a tile that begins inside of one is as much shorter. */
static int64_t tile_count_lines(tile_state *state, int64_t left)
{
    int64_t count = tile_count(state, left);
    const tile_side *side = &state->to_side;
    int64_t at = state->to.walk.to + state->to.done * tile_dim(&state->to)->to;
    int64_t within = (int64_t)((uintptr_t)dlpark__bits_byte(state->to_data, at) % TILE_LINE) / side->nbytes;

    return count == DLPARK__CAST_TILE ? count - within : count;
}

static void tile_convert(tile_state *state, const dlpark__cast_chain *chain, int64_t count)
{
    const unsigned char *from = tile_read(state, count);
    unsigned char *place = tile_place(state, count);

    for (int i = 0; i < chain->count; i++) {
        bool last = i == chain->count - 1;
        unsigned char *to = last && place != NULL && state->streams == NULL ? place : state->tiles[1 + i % 2];
        chain->steps[i](&chain->params, to, from, (size_t)count);
        from = to;
    }
    if (place == NULL)
        tile_write(state, from, count);
    else if (state->streams != NULL)
        state->streams->stream(place, from, (size_t)count * state->to_side.nbytes);
    else if (chain->count == 0)
        memmove(place, from, (size_t)count * state->to_side.nbytes);
}

static int64_t tile_total(const dlpark__walk *walk)
{
    int64_t total = 1;

    for (int32_t i = 0; i < walk->ndim; i++)
        total *= walk->dims[i].extent;
    return total;
}

/* Only the dimensions that there are: a walk has room for many. */
static void tile_copy_walk(dlpark__walk *to, const dlpark__walk *from)
{
    memcpy(to->dims, from->dims, (size_t)from->ndim * sizeof from->dims[0]);
    memcpy(to->index, from->index, (size_t)from->ndim * sizeof from->index[0]);
    to->ndim = from->ndim;
    to->to = from->to;
    to->from = from->from;
}

/* Whether parts lie side by side in a run, each in bytes of its own. */
static bool tile_is_run(const tile_side *side, int64_t step)
{
    return side->bits >= 8 && step == side->step;
}

/* The one rule that copies have, where pieces are long. */
static const dlpark__kernels *tile_streams(const tile_state *state, const dlpark_view *to)
{
    const dlpark__walk_dim *dim = tile_dim(&state->to);
    const tile_side *side = &state->to_side;
    int64_t nbytes = tile_total(&state->to.walk) * side->nbytes;

    if (state->clears || !tile_is_run(side, dim->to) || dim->extent * side->nbytes < TILE_STREAM_RUN)
        return NULL;
    return dlpark__copy_streams(to->data, nbytes) ? dlpark__kernels_get() : NULL;
}

/* Whether one step does all, from place to place: what small tensors are mostly about. */
static bool tile_run_at_once(tile_state *state, const dlpark__cast_chain *chain)
{
    const dlpark__walk *walk = &state->to.walk;
    const dlpark__walk_dim *dim = &walk->dims[0];

    if (walk->ndim != 1 || chain->count != 1 || state->streams != NULL || state->clears ||
        !tile_is_run(&state->to_side, dim->to) || !tile_is_run(&state->from_side, dim->from))
        return false;
    chain->steps[0](&chain->params, dlpark__bits_byte_mut(state->to_data, walk->to),
                    dlpark__bits_byte(state->from_data, walk->from), (size_t)dim->extent);
    return true;
}

static void tile_run(tile_state *state, const dlpark__cast_chain *chain, int64_t total)
{
    tile_copy_walk(&state->from.walk, &state->to.walk);
    state->to.done = state->from.done = 0;
    state->whole = chain->count <= 1 && state->streams == NULL && !state->clears &&
                   tile_is_run(&state->to_side, tile_dim(&state->to)->to) &&
                   tile_is_run(&state->from_side, tile_dim(&state->from)->from);
    for (int64_t left = total, count; left > 0; left -= count) {
        count = state->streams != NULL ? tile_count_lines(state, left) : tile_count(state, left);
        tile_convert(state, chain, count);
    }
    if (state->streams != NULL)
        state->streams->fence();
}

void dlpark__cast_run(const dlpark__cast_job *job, dlpark__cast_chain *chain, const dlpark_view *to,
                      const dlpark_view *from)
{
    tile_state state;

    state.to_side = tile_side_of(&job->to);
    state.from_side = tile_side_of(&job->from);
    state.to_data = to->data;
    state.from_data = from->data;
    state.clears = job->to.parts > job->from.parts;
    dlpark__cast_walk_begin(&state.to.walk, job, to, from, false);
    state.streams = tile_streams(&state, to);

    uint64_t mode = tile_begin_float_mode();
    int64_t total = tile_total(&state.to.walk);
    if (job->from.part.bits <= 8 && total >= TILE_TABLE_PAYS << job->from.part.bits)
        dlpark__cast_chain_tabulate(chain, job);
    if (!tile_run_at_once(&state, chain))
        tile_run(&state, chain, total);
    tile_end_float_mode(mode);
}
