/*
 * Views are walked twice at most: in the order of memory, to see whether they differ, and in that of the indices to see
 * where. Rows of lanes are compared by a function for the dtype.
 */
#include <float.h>
#include <string.h>

#include "bits_parts.h"
#include "compare_parts.h"
#include "walk_parts.h"

#define COMPARE_CHUNK 128

/* A comparison with room for lanes that do not lie one after the other. */
typedef struct compare_job {
    dlpark__compare how;
    const void *a;
    const void *b;
    unsigned char a_room[COMPARE_CHUNK * 16];
    unsigned char b_room[COMPARE_CHUNK * 16];
} compare_job;

/* ---- Checks ---- */

static dlpark_status compare_check(const dlpark_view *a, const dlpark_view *b, dlpark_error *err)
{
    static const dlpark__view_words words = {"compare", "with", "a", "b"};

    DLPARK_TRY(dlpark__view_check_same(a, b, &words, err));
    DLPARK_TRY(dlpark__view_check_host(a, err));
    return dlpark__view_check_host(b, err);
}

static dlpark_status compare_check_tolerance(double tolerance, const char *name, dlpark_error *err)
{
    if (tolerance >= 0 && tolerance <= DBL_MAX)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is %s, expected a finite number from 0 on", name,
                            tolerance < 0   ? "negative"
                            : tolerance > 0 ? "infinite"
                                            : "NaN");
}

/* ---- Rows ---- */

#define COMPARE_GATHER(nbytes)                                                                                         \
    for (int64_t i = 0; i < count; i++, at += step)                                                                    \
    memcpy(to + (nbytes) * (size_t)i, at, (nbytes))

static void compare_gather_bytes(unsigned char *to, const unsigned char *at, ptrdiff_t step, int64_t count,
                                 unsigned width)
{
    switch (width) {
    case 8:
        COMPARE_GATHER(1);
        break;
    case 16:
        COMPARE_GATHER(2);
        break;
    case 32:
        COMPARE_GATHER(4);
        break;
    case 64:
        COMPARE_GATHER(8);
        break;
    default:
        COMPARE_GATHER(16);
    }
}

/* Lanes one after the other: where they are, if they lie like that. */
static const unsigned char *compare_gather(const void *data, int64_t bit, int64_t step, int64_t count, unsigned width,
                                           unsigned char *room)
{
    const unsigned char *at = dlpark__bits_byte(data, bit);

    if (width < 8) {
        if (step == width)
            dlpark__bits_unpack(room, data, bit, width, count);
        for (int64_t i = 0; step != width && i < count; i++, bit += step)
            room[i] = (unsigned char)dlpark__bits_get(dlpark__bits_byte(data, bit), (unsigned)(bit & 7), width);
        return room;
    }
    if (step == width)
        return at;
    compare_gather_bytes(room, at, (ptrdiff_t)(step / 8), count, width);
    return room;
}

/* The first lane of a run that differs, or the run's extent. */
static int64_t compare_run(compare_job *job, const dlpark__walk *walk)
{
    const dlpark__walk_dim *run = &walk->dims[walk->ndim - 1];
    const unsigned width = job->how.width;
    bool in_place = width >= 8 && run->to == width && run->from == width;

    for (int64_t done = 0, count; done < run->extent; done += count) {
        count = run->extent - done;
        if (!in_place && count > COMPARE_CHUNK)
            count = COMPARE_CHUNK;
        const unsigned char *a = compare_gather(job->a, walk->to + done * run->to, run->to, count, width, job->a_room);
        const unsigned char *b =
            compare_gather(job->b, walk->from + done * run->from, run->from, count, width, job->b_room);
        int64_t found = job->how.rows(&job->how, a, b, count);
        if (found < count)
            return done + found;
    }
    return run->extent;
}

/* ---- Walks ---- */

/* In the order of memory, which is fast, and says only whether. */
static bool compare_whole(compare_job *job, const dlpark_view *a, const dlpark_view *b)
{
    dlpark__walk walk;

    dlpark__walk_init(&walk, a, b);
    dlpark__walk_add_sorted(&walk, a, b);
    dlpark__walk_add_inner(&walk, job->how.lanes, job->how.width, job->how.width);
    dlpark__walk_join(&walk);
    dlpark__walk_begin(&walk);
    do
        if (compare_run(job, &walk) < walk.dims[walk.ndim - 1].extent)
            return false;
    while (dlpark__walk_next(&walk));
    return true;
}

/* In the order of the indices. Only for views that differ. */
static void compare_find(compare_job *job, const dlpark_view *a, const dlpark_view *b, int64_t *where)
{
    dlpark__walk walk;
    int64_t found;

    dlpark__walk_init(&walk, a, b);
    dlpark__walk_add_ordered(&walk, a, b);
    dlpark__walk_add_inner(&walk, job->how.lanes, job->how.width, job->how.width);
    dlpark__walk_begin(&walk);
    do
        found = compare_run(job, &walk);
    /* The walk ends only if somebody changed the memory meanwhile, and then it does end. */
    while (found == walk.dims[walk.ndim - 1].extent && dlpark__walk_next(&walk)); /* GCOVR_EXCL_BR_LINE: see above */

    walk.index[walk.ndim - 1] = found;
    for (int32_t i = 0; i < a->ndim; i++)
        where[i] = 0; /* where every index is as good: extents of 1, and elements that repeat in both */
    for (int32_t i = 0; i < walk.ndim; i++)
        if (walk.dims[i].axis >= 0)
            where[walk.dims[i].axis] = walk.index[i];
}

static void compare_views(compare_job *job, const dlpark_view *a, const dlpark_view *b, bool *same, int64_t *where)
{
    job->a = a->data;
    job->b = b->data;
    *same = dlpark_view_numel(a) == 0 || compare_whole(job, a, b);
    if (!*same && where != NULL)
        compare_find(job, a, b, where);
}

/* ---- The two comparisons ---- */

dlpark_status dlpark_equal(const dlpark_view *a, const dlpark_view *b, bool *equal, int64_t *where, dlpark_error *err)
{
    compare_job job;

    DLPARK_TRY(compare_check(a, b, err));
    dlpark__compare_equal(&job.how, a->dtype);
    compare_views(&job, a, b, equal, where);
    return DLPARK_OK;
}

dlpark_status dlpark_allclose(const dlpark_view *a, const dlpark_view *b, double rtol, double atol, bool equal_nan,
                              bool *close, int64_t *where, dlpark_error *err)
{
    compare_job job;

    DLPARK_TRY(compare_check(a, b, err));
    DLPARK_TRY(compare_check_tolerance(rtol, "rtol", err));
    DLPARK_TRY(compare_check_tolerance(atol, "atol", err));
    job.how.rtol = rtol;
    job.how.atol = atol;
    job.how.equal_nan = equal_nan;
    if (!dlpark__compare_close(&job.how, a->dtype))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "there is no closeness of %s: dlpark_equal() compares it",
                                dlpark_dtype_name(a->dtype).text);
    compare_views(&job, a, b, close, where);
    return DLPARK_OK;
}
