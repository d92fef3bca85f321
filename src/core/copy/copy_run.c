/*
 * Runs a plan: walks its outer dimensions, and gives what is inside to a kernel, in pieces that fit the nearest cache.
 * What is written past the caches is first put together in a buffer, so that whole lines go out.
 */
#include <string.h>

#include "copy_parts.h"

enum {
    RUN_BUFFER = 32768,
    RUN_PITCH = 64,
    RUN_LINE = 64,
    RUN_COLUMN = 4096,
    RUN_ALIAS = 1024,
    RUN_NEAR = 32768,
    RUN_BUFFERED_ROW = 256,

    RUN_STREAM_ROW = 1024
};

/* A tile: elements along each dimension. */
typedef struct run_size {
    int64_t x, wide, y, deep;
} run_size;

/* Where a tile begins, in the destination and in the source. */
typedef struct run_place {
    unsigned char *to;
    const unsigned char *from;
    run_size size;
} run_place;

/* One run over the innermost dimensions, from where the walk stands. */
typedef struct copy_step {
    const dlpark__copy_plan *plan;
    const dlpark__kernels *kernels;
    unsigned char *buffer; /* NULL unless the plan streams */
    /* Of TRANSPOSE: how its tiles are copied, and how large they are. */
    void (*run_tile)(const struct copy_step *step, const run_place *at);
    run_size tile;
} copy_step;

/* ---- Runs and strides ---- */

static void run_runs(const copy_step *step, unsigned char *to, const unsigned char *from)
{
    const dlpark__copy_plan *plan = step->plan;
    bool stream = step->buffer != NULL && plan->element >= RUN_STREAM_ROW;

    for (int64_t i = 0; i < plan->x.extent; i++, to += plan->x.to, from += plan->x.from)
        if (stream)
            step->kernels->stream(to, from, plan->element);
        else
            memcpy(to, from, plan->element);
}

static void run_strided(const copy_step *step, unsigned char *to, const unsigned char *from)
{
    const dlpark__copy_plan *plan = step->plan;
    const int64_t edge = 64;

    /* In tiles when the source is contiguous the other way: a line that is read is used before it leaves the cache. */
    if (plan->y.extent == 1 || plan->y.from == 0 || plan->y.to <= plan->x.to || plan->y.from >= plan->x.from) {
        step->kernels->strided(to, from, plan->element, &plan->y, &plan->x);
        return;
    }
    for (int64_t j = 0; j < plan->y.extent; j += edge)
        for (int64_t i = 0; i < plan->x.extent; i += edge) {
            dlpark__copy_dim y = plan->y, x = plan->x;
            y.extent = y.extent - j < edge ? y.extent - j : edge;
            x.extent = x.extent - i < edge ? x.extent - i : edge;
            step->kernels->strided(to + j * y.to + i * x.to, from + j * y.from + i * x.from, plan->element, &y, &x);
        }
}

/* ---- Lines: the destination has no gaps ---- */

/* Of the elements of `nbytes` that a line begins with, those before the first that is aligned to a cache line. */
static int64_t run_head(const unsigned char *to, int64_t nbytes, int64_t count)
{
    int64_t head = 0;

    while (head < RUN_LINE && ((uintptr_t)to + (uintptr_t)(head * nbytes)) % RUN_LINE != 0)
        head++;
    return head < RUN_LINE && head < count ? head : 0;
}

static void run_line_piece(const copy_step *step, unsigned char *to, const unsigned char *from, int64_t count)
{
    const dlpark__copy_plan *plan = step->plan;
    const bool stream = step->buffer != NULL;

    switch (plan->kind) {
    case DLPARK__COPY_REVERSE:
        step->kernels->reverse(to, from, plan->element, count, stream);
        break;
    case DLPARK__COPY_PICK:
        step->kernels->split(to, 0, from, plan->element, plan->channels, 1, count, stream);
        break;
    case DLPARK__COPY_JOIN:
        step->kernels->join(to, from, plan->x.from, plan->element, plan->channels, count, stream);
        break;
    default:
        step->kernels->blocks(to, from, plan->x.from, &plan->block, count, stream);
    }
}

static void run_line(const copy_step *step, unsigned char *to, const unsigned char *from)
{
    const dlpark__copy_plan *plan = step->plan;
    const dlpark__copy_dim *along = plan->kind == DLPARK__COPY_JOIN ? &plan->y : &plan->x;
    const int64_t head = step->buffer != NULL ? run_head(to, along->to, along->extent) : 0;

    if (head > 0)
        run_line_piece(step, to, from, head);
    run_line_piece(step, to + head * along->to, from + head * along->from, along->extent - head);
}

static void run_split(const copy_step *step, unsigned char *to, const unsigned char *from)
{
    const dlpark__copy_plan *plan = step->plan;
    const int64_t element = (int64_t)plan->element;
    const int planes = (int)plan->y.extent;
    const int64_t head = step->buffer != NULL ? run_head(to, element, plan->x.extent) : 0;

    if (head > 0)
        step->kernels->split(to, plan->y.to, from, plan->element, plan->channels, planes, head, false);
    step->kernels->split(to + head * element, plan->y.to, from + head * plan->x.from, plan->element, plan->channels,
                         planes, plan->x.extent - head, step->buffer != NULL);
}

/* ---- Tiles ---- */

static int64_t run_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * Reads a tile into a buffer. Rows whose distance is a power of two all fall on the same few places of a cache, so that
 * a line is gone before its next element is asked for: here it is read at once, as a whole. The rows of `wide` follow
 * those of x, so that short ones make whole lines of the destination.
 */
static int64_t run_gather(const copy_step *step, const run_place *at)
{
    const dlpark__copy_plan *plan = step->plan;
    const int64_t column = at->size.y * at->size.deep * (int64_t)plan->element, pitch = column + RUN_PITCH;

    for (int64_t w = 0; w < at->size.wide; w++)
        step->kernels->rows(step->buffer + w * at->size.x * pitch, pitch, at->from + w * plan->wide.from, plan->x.from,
                            (size_t)column, at->size.x);
    return pitch;
}

static void run_tile_gathered(const copy_step *step, const run_place *at)
{
    const dlpark__copy_plan *plan = step->plan;
    const int64_t pitch = run_gather(step, at), column = at->size.y * (int64_t)plan->element;

    for (int64_t d = 0; d < at->size.deep; d++)
        step->kernels->transpose(at->to + d * plan->deep.to, plan->y.to, step->buffer + d * column, pitch,
                                 plan->element, at->size.x * at->size.wide, at->size.y, true);
}

/* By way of a buffer on the other side as well, where short rows of the destination do not begin with a line. */
static void run_tile_buffered(const copy_step *step, const run_place *at)
{
    const dlpark__copy_plan *plan = step->plan;
    const int64_t pitch = run_gather(step, at), element = (int64_t)plan->element;
    const int64_t nx = at->size.x * at->size.wide, row = nx * element;
    unsigned char *out = step->buffer + RUN_BUFFER;

    for (int64_t d = 0; d < at->size.deep; d++) {
        unsigned char *to = at->to + d * plan->deep.to;
        step->kernels->transpose(out, row, step->buffer + d * at->size.y * element, pitch, plan->element, nx,
                                 at->size.y, false);
        if (plan->y.to == row)
            step->kernels->stream(to, out, (size_t)(row * at->size.y));
        else
            for (int64_t i = 0; i < at->size.y; i++)
                step->kernels->stream(to + i * plan->y.to, out + i * row, (size_t)row);
    }
}

static void run_tile_direct(const copy_step *step, const run_place *at)
{
    const dlpark__copy_plan *plan = step->plan;

    for (int64_t d = 0; d < at->size.deep; d++)
        for (int64_t w = 0; w < at->size.wide; w++)
            step->kernels->transpose(at->to + w * plan->wide.to + d * plan->deep.to, plan->y.to,
                                     at->from + w * plan->wide.from + d * plan->deep.from, plan->x.from, plan->element,
                                     at->size.x, at->size.y, step->buffer != NULL);
}

/* Whether every plane and row that the walk comes to begins with a line if the first does. Rows that make up a line
 * between them are written together. */
static bool run_is_aligned(const dlpark__copy_plan *plan, int64_t row)
{
    int64_t all = (int64_t)((uintptr_t)plan->to % RUN_LINE) | plan->y.to | plan->deep.to;

    if (RUN_LINE % row != 0)
        all |= plan->wide.to;
    for (int32_t i = 0; i < plan->ndim; i++)
        all |= plan->dims[i].to;
    return all % RUN_LINE == 0;
}

/* One line of the destination for each element of a long piece of the source; where that is not to be, as it fits. */
static void run_choose_tile(copy_step *step)
{
    const dlpark__copy_plan *plan = step->plan;
    const int64_t element = (int64_t)plan->element, row = plan->x.extent * element;
    /* A part of a plan may have lost what made the two dimensions one. */
    const bool wide = plan->wide.extent > 1 && plan->wide.to == row;
    const bool deep = plan->deep.extent > 1 && plan->deep.from == plan->y.extent * element;
    const bool alias = element == 1 && (deep || plan->x.from % RUN_ALIAS == 0);
    run_size *size = &step->tile;
    int64_t line = RUN_LINE, column = RUN_COLUMN;

    *size = (run_size){1, 1, 1, 1};
    step->run_tile = run_tile_direct;
    if (step->buffer != NULL && row < RUN_BUFFERED_ROW && (wide || plan->y.to == row) && !run_is_aligned(plan, row)) {
        step->run_tile = run_tile_buffered;
        line = RUN_BUFFERED_ROW;
    } else if (step->buffer != NULL && ((wide && row < RUN_LINE) || alias)) {
        step->run_tile = run_tile_gathered;
    }
    size->x = run_min(plan->x.extent, line / element);
    if (wide && size->x == plan->x.extent)
        size->wide = run_min(plan->wide.extent, line / row);
    if (step->run_tile != run_tile_direct)
        column = RUN_BUFFER / (size->x * size->wide) - RUN_PITCH;
    size->y = run_min(plan->y.extent, column / element);
    if (deep && size->y == plan->y.extent)
        size->deep = run_min(plan->deep.extent, column / element / size->y);
}

static void run_transpose(const copy_step *step, unsigned char *to, const unsigned char *from)
{
    const dlpark__copy_plan *plan = step->plan;
    const int64_t element = (int64_t)plan->element;
    const run_size tile = step->tile;
    /* A first tile up to where the lines of the destination begin. */
    const int64_t head =
        step->buffer != NULL && step->run_tile == run_tile_direct ? (int64_t)(-(uintptr_t)to % RUN_LINE) / element : 0;

    for (int64_t d = 0; d < plan->deep.extent; d += tile.deep)
        for (int64_t y = 0; y < plan->y.extent; y += tile.y)
            for (int64_t w = 0; w < plan->wide.extent; w += tile.wide)
                for (int64_t x = 0, nx = head > 0 ? head : tile.x; x < plan->x.extent; x += nx, nx = tile.x) {
                    const run_place at = {
                        to + d * plan->deep.to + y * plan->y.to + w * plan->wide.to + x * element,
                        from + d * plan->deep.from + y * element + w * plan->wide.from + x * plan->x.from,
                        {run_min(plan->x.extent - x, nx), run_min(plan->wide.extent - w, tile.wide),
                         run_min(plan->y.extent - y, tile.y), run_min(plan->deep.extent - d, tile.deep)},
                    };
                    step->run_tile(step, &at);
                }
}

/* Within the nearest cache a plane is one tile. */
static void run_planes(const copy_step *step, unsigned char *to, const unsigned char *from)
{
    const dlpark__copy_plan *plan = step->plan;
    const dlpark__kernels *set = step->kernels;

    while (set->nbytes > 16 && plan->x.extent * (int64_t)plan->element < set->nbytes)
        set = set->below;
    for (int64_t d = 0; d < plan->deep.extent; d++)
        for (int64_t w = 0; w < plan->wide.extent; w++)
            set->transpose(to + w * plan->wide.to + d * plan->deep.to, plan->y.to,
                           from + w * plan->wide.from + d * plan->deep.from, plan->x.from, plan->element,
                           plan->x.extent, plan->y.extent, false);
}

/* ---- The walk ---- */

static void run_walk(copy_step *step)
{
    static void (*const runs[])(const copy_step *, unsigned char *, const unsigned char *) = {
        [DLPARK__COPY_RUNS] = run_runs,   [DLPARK__COPY_STRIDED] = run_strided,     [DLPARK__COPY_REVERSE] = run_line,
        [DLPARK__COPY_PICK] = run_line,   [DLPARK__COPY_BLOCKS] = run_line,         [DLPARK__COPY_JOIN] = run_line,
        [DLPARK__COPY_SPLIT] = run_split, [DLPARK__COPY_TRANSPOSE] = run_transpose,
    };
    const dlpark__copy_plan *plan = step->plan;
    unsigned char *to = plan->to;
    const unsigned char *from = plan->from;
    int64_t index[DLPARK_MAX_NDIM];
    int32_t i;

    void (*run)(const copy_step *, unsigned char *, const unsigned char *) = runs[plan->kind];
    if (plan->kind == DLPARK__COPY_TRANSPOSE && plan->nbytes <= RUN_NEAR && step->buffer == NULL)
        run = run_planes;
    else if (plan->kind == DLPARK__COPY_TRANSPOSE)
        run_choose_tile(step);
    for (i = 0; i < plan->ndim; i++)
        index[i] = 0;
    do {
        run(step, to, from);
        for (i = plan->ndim - 1; i >= 0; i--) {
            const dlpark__copy_dim *dim = &plan->dims[i];
            if (++index[i] < dim->extent) {
                to += dim->to;
                from += dim->from;
                break;
            }
            index[i] = 0;
            to -= dim->to * (dim->extent - 1);
            from -= dim->from * (dim->extent - 1);
        }
    } while (i >= 0);
}

/* Apart, so that small copies have no such array. */
static __attribute__((noinline)) void run_streamed(copy_step *step)
{
    _Alignas(64) unsigned char buffer[2 * RUN_BUFFER];

    step->buffer = buffer;
    run_walk(step);
    step->kernels->fence();
}

void dlpark__copy_run(const dlpark__copy_plan *plan)
{
    copy_step step = {.plan = plan, .kernels = dlpark__kernels_get()};

    if (plan->stream)
        run_streamed(&step);
    else
        run_walk(&step);
}
