/*
 * Runs a chain over two views: by tiles, whose elements lie one after the other. Where those of a view do, the chain reads
 * or writes them in place; else they are gathered before and scattered behind it, whatever runs the tile spans.
 */
#include <string.h>

#include "../copy/copy_parts.h"
#include "cast_tile_parts.h"

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

#define TILE_FAR (1 << 19) /* bytes of a source that will not all be in the nearest cache, or the next */

#define TILE_LONG_RUN 256 /* bytes of a run from which to begin anew with the next one costs less than to copy it */

#define TILE_ALONE 192 /* parts from which a run that is read and written in place costs less than its copy to a tile */

/* ---- Tiles ---- */

typedef struct tile_state {
    dlpark__tile_cursor to;
    dlpark__tile_cursor from;
    const dlpark__kernels *streams; /* what writes past the caches; NULL: nothing does */
    bool whole;                     /* one step at most leads from place to place, however much lies there */
    _Alignas(64) unsigned char tiles[3][DLPARK__CAST_TILE * 8];
} tile_state;

/* `count` parts in one piece: those of the view itself, or the tile that they are gathered to. What is asked for
 * meanwhile lies ahead in the view, be it the tile that is read. */
static const unsigned char *tile_read(tile_state *state, int64_t count, uintptr_t *ahead)
{
    dlpark__tile_cursor *cursor = &state->from;
    int64_t rest = dlpark__tile_rest(cursor, count);
    const unsigned char *from = dlpark__bits_byte(cursor->data, dlpark__tile_at(cursor));

    *ahead = DLPARK__CAST_AHEAD;
    if (rest == count && dlpark__tile_is_plain(cursor)) {
        cursor->done += count;
        return from;
    }
    *ahead += (uintptr_t)from - (uintptr_t)state->tiles[0];
    dlpark__tile_gather(cursor, state->tiles[0], count);
    return state->tiles[0];
}

/* Where `count` parts are to be written in one piece; NULL where they have to be scattered. */
static unsigned char *tile_place(tile_state *state, int64_t count)
{
    dlpark__tile_cursor *cursor = &state->to;

    if (!dlpark__tile_is_plain(cursor) || dlpark__tile_rest(cursor, count) < count)
        return NULL;
    int64_t at = dlpark__tile_at(cursor);
    cursor->done += count;
    return dlpark__bits_byte_mut(cursor->data, at);
}

/* What is left of the runs of both sides, of at most `count`. */
static int64_t tile_rest(tile_state *state, int64_t count)
{
    return dlpark__tile_rest(&state->to, dlpark__tile_rest(&state->from, count));
}

/* How long the runs of the side are that has the shorter ones. */
static int64_t tile_shorter(const tile_state *state)
{
    int64_t to = dlpark__tile_run(&state->to)->extent, from = dlpark__tile_run(&state->from)->extent;

    return to < from ? to : from;
}

/* A tile's worth, or the rest of a run that is read and written in place. */
static int64_t tile_count(tile_state *state, int64_t left)
{
    int64_t count = left < DLPARK__CAST_TILE ? left : DLPARK__CAST_TILE;
    int64_t rest = tile_rest(state, state->whole ? left : count);

    /* A short run is joined with the next ones; one that fills half a tile is better off alone. */
    if (rest >= (state->whole && count > TILE_ALONE ? TILE_ALONE : count / 2))
        return rest;
    /* A tile ends with the end of a run, so that the next one begins with one. */
    return rest < count ? count - (count - rest) % tile_shorter(state) : count;
}

/* Where lines are written past the caches, whole ones: a tile that begins inside of one is as much shorter. */
static int64_t tile_count_lines(tile_state *state, int64_t left)
{
    dlpark__tile_cursor *cursor = &state->to;
    int64_t count = left < DLPARK__CAST_TILE ? left : DLPARK__CAST_TILE;
    int64_t rest = dlpark__tile_rest(cursor, count);
    const unsigned char *place = dlpark__bits_byte(cursor->data, dlpark__tile_at(cursor));

    if (rest < count / 2)
        return count;
    return rest == DLPARK__CAST_TILE ? rest - (int64_t)((uintptr_t)place % DLPARK__CAST_LINE) / cursor->nbytes : rest;
}

/* Whether one step takes the source run by run, so that it need not be gathered. */
static bool tile_has_long_runs(const tile_state *state, const dlpark__cast_chain *chain, int64_t count)
{
    const dlpark__tile_cursor *cursor = &state->from;
    int64_t run = dlpark__tile_run(cursor)->extent;

    return chain->count == 1 && run < count && run * cursor->nbytes >= TILE_LONG_RUN && dlpark__tile_is_plain(cursor);
}

/* The one step over `count` parts of the source where they are. What is asked for is what lies as far into a later run. */
static void tile_step_runs(tile_state *state, dlpark__cast_chain *chain, unsigned char *to, int64_t count)
{
    dlpark__tile_cursor *cursor = &state->from;
    int64_t apart = cursor->walk.dims[cursor->walk.ndim - 2].to / 8; /* one run is not all there is */
    int64_t runs = apart > 0 ? (DLPARK__CAST_AHEAD - 1) / apart + 1 : 0;

    chain->params.ahead = (uintptr_t)(runs * apart);
    for (int64_t have = 0, some; have < count; have += some) {
        some = dlpark__tile_rest(cursor, count - have);
        const unsigned char *from = dlpark__bits_byte(cursor->data, dlpark__tile_at(cursor));
        chain->steps[0](&chain->params, to + have * state->to.nbytes, from, (size_t)some);
        cursor->done += some;
    }
}

static void tile_convert(tile_state *state, dlpark__cast_chain *chain, int64_t count)
{
    if (tile_has_long_runs(state, chain, count)) {
        unsigned char *place = tile_place(state, count);
        unsigned char *to = place != NULL && state->streams == NULL ? place : state->tiles[1];
        tile_step_runs(state, chain, to, count);
        if (place == NULL)
            dlpark__tile_scatter(&state->to, to, count);
        else if (state->streams != NULL)
            state->streams->stream(place, to, (size_t)count * state->to.nbytes);
        return;
    }
    const unsigned char *from = tile_read(state, count, &chain->params.ahead);
    unsigned char *place = tile_place(state, count);
    size_t nbytes = (size_t)count * state->to.nbytes;

    for (int i = 0; i < chain->count; i++, chain->params.ahead = 0) { /* of a tile all is in the cache */
        bool last = i == chain->count - 1;
        unsigned char *to = last && place != NULL && state->streams == NULL ? place : state->tiles[1 + i % 2];
        chain->steps[i](&chain->params, to, from, (size_t)count);
        from = to;
    }
    if (place == NULL)
        dlpark__tile_scatter(&state->to, from, count);
    else if (state->streams != NULL)
        state->streams->stream(place, from, nbytes);
    else if (chain->count == 0)
        memmove(place, from, nbytes);
}

static int64_t tile_total(const dlpark__walk *walk)
{
    int64_t total = 1;

    for (int32_t i = 0; i < walk->ndim; i++)
        total *= walk->dims[i].extent;
    return total;
}

/* The one rule that copies have, where pieces are long. */
static const dlpark__kernels *tile_streams(const dlpark__tile_cursor *to, int64_t total)
{
    if (!dlpark__tile_is_plain(to) || dlpark__tile_run(to)->extent * to->nbytes < TILE_STREAM_RUN)
        return NULL;
    return dlpark__copy_streams(to->data, total * to->nbytes) ? dlpark__kernels_get() : NULL;
}

static void tile_run(tile_state *state, dlpark__cast_chain *chain, int64_t total)
{
    bool plain = dlpark__tile_is_plain(&state->to) && dlpark__tile_is_plain(&state->from);

    state->streams = tile_streams(&state->to, total);
    if (plain && chain->count == 1 && state->streams == NULL && tile_rest(state, total) == total) {
        /* One step does all, from place to place: what small tensors are mostly about. */
        const unsigned char *source = tile_read(state, total, &chain->params.ahead);
        chain->steps[0](&chain->params, tile_place(state, total), source, (size_t)total);
        return;
    }
    state->whole = chain->count <= 1 && state->streams == NULL && plain;
    for (int64_t left = total, count; left > 0; left -= count) {
        count = state->streams != NULL ? tile_count_lines(state, left) : tile_count(state, left);
        tile_convert(state, chain, count);
    }
    if (state->streams != NULL)
        state->streams->fence();
}

/* One step from place to place, of no more than is written to the caches in any case: what small tensors are about. */
static bool tile_run_small(const dlpark__cast_job *job, dlpark__cast_chain *chain, const dlpark__walk *walk,
                           const dlpark_view *to, const dlpark_view *from)
{
    const dlpark__walk_dim *dim = &walk->dims[0];
    bool plain = dim->extent == 1 || (dim->to == job->to.part.bits && dim->from == job->from.part.bits);

    if (walk->ndim != 1 || chain->count != 1 || job->to.parts > job->from.parts || job->to.part.bits < 8 ||
        job->from.part.bits < 8 || !plain || dim->extent * dim->to >= 8 * TILE_STREAM_RUN)
        return false;
    chain->params.ahead = DLPARK__CAST_AHEAD;
    chain->steps[0](&chain->params, dlpark__bits_byte_mut(to->data, walk->to),
                    dlpark__bits_byte(from->data, walk->from), (size_t)dim->extent);
    return true;
}

void dlpark__cast_run(const dlpark__cast_job *job, dlpark__cast_chain *chain, const dlpark_view *to,
                      const dlpark_view *from)
{
    tile_state state;
    dlpark__walk walk;

    dlpark__cast_walk_begin(&walk, job, to, from, false);
    uint64_t mode = tile_begin_float_mode();
    int64_t total = tile_total(&walk);
    if (job->from.part.bits <= 8 && total >= TILE_TABLE_PAYS << job->from.part.bits)
        dlpark__cast_chain_tabulate(chain, job);
    if (!tile_run_small(job, chain, &walk, to, from)) {
        dlpark__tile_begin(&state.to, &job->to, to, &walk, true);
        dlpark__tile_begin(&state.from, &job->from, from, &walk, false);
        state.to.clears = job->to.parts > job->from.parts;
        state.from.is_far = total * state.from.nbytes >= TILE_FAR;
        tile_run(&state, chain, total);
    }
    tile_end_float_mode(mode);
}
