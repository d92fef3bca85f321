/*
 * One element at a time, by its exact value: what counts, what refuses, and what no chain of steps does.
 */
#include <stdio.h>
#include <string.h>

#include "../elements/bits_parts.h"
#include "../elements/element_parts.h"
#include "cast_parts.h"

static uint64_t exact_bits(const double *value)
{
    uint64_t bits;

    memcpy(&bits, value, sizeof bits); /* a register of the x87 would make a signalling NaN quiet */
    return bits;
}

/* The value of part 0 or 1 of a lane. */
static dlpark__real exact_real(const dlpark_scalar *scalar, unsigned part)
{
    switch (scalar->kind) {
    case DLPARK_SCALAR_FLOAT:
    case DLPARK_SCALAR_COMPLEX:
        return dlpark__real_of_double(exact_bits(part == 0 ? &scalar->re : &scalar->im));
    default:
        return dlpark__real_of_integer(scalar->low, scalar->high != 0);
    }
}

static bool exact_is_zero(const dlpark__real *real)
{
    return real->kind == DLPARK__REAL_FINITE && real->significand == 0;
}

static uint64_t exact_word(const unsigned char *from, unsigned bits)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (bits) {
    case 8:
        return *from;
    case 16:
        memcpy(&two, from, sizeof two);
        return two;
    case 32:
        memcpy(&four, from, sizeof four);
        return four;
    default:
        memcpy(&eight, from, sizeof eight);
        return eight;
    }
}

/* The code that a value becomes. `from` is where it lies, for what is moved and not converted: a real number that becomes
 * a complex one, or the reverse. */
static uint64_t exact_code(const dlpark__cast_job *job, const dlpark__real *real, const unsigned char *from,
                           unsigned *events)
{
    DLDataType dtype = job->to.part;

    if (dtype.code == kDLBool) {
        *events |= real->kind == DLPARK__REAL_NAN ? DLPARK__EVENT_NAN : 0;
        return !exact_is_zero(real);
    }
    if (real->kind == DLPARK__REAL_NAN && job->to.format != NULL && job->to.format == job->from.format) {
        *events |= DLPARK__EVENT_NAN;
        return exact_word(from, dtype.bits);
    }
    if (job->to.format != NULL)
        return dlpark__float_encode(real, job->to.format, job->overflow, job->scale, events);
    return dlpark__integer_encode(real, dtype.bits, dtype.code == kDLInt, job->overflow, events);
}

static void exact_store(const dlpark__cast_side *side, unsigned char *to, int64_t at, uint64_t code)
{
    unsigned char *place = dlpark__bits_byte_mut(to, at);
    unsigned bits = side->part.bits;
    uint8_t one = (uint8_t)code;
    uint16_t two = (uint16_t)code;
    uint32_t four = (uint32_t)code;

    if (bits < 8 && !side->padded)
        dlpark__bits_put(place, (unsigned)(at & 7), bits, (unsigned)code);
    else if (bits <= 8)
        *place = one;
    else if (bits == 16)
        memcpy(place, &two, sizeof two);
    else if (bits == 32)
        memcpy(place, &four, sizeof four);
    else
        memcpy(place, &code, sizeof code);
}

/* The value of a complex lane is zero only where both parts are. */
static bool exact_joins(const dlpark__cast_job *job)
{
    return job->to.part.code == kDLBool && job->from.parts == 2;
}

/* What one lane becomes, part by part, with the events of all parts. */
typedef struct exact_lane {
    uint64_t codes[2];
    unsigned events[2];
} exact_lane;

static exact_lane exact_convert(const dlpark__cast_job *job, const unsigned char *from, int64_t at)
{
    DLDataType dtype = job->from.part;
    exact_lane lane = {{0, 0}, {0, 0}};
    dlpark_scalar scalar;

    if (job->from.parts == 2)
        dtype = (DLDataType){kDLComplex, (uint8_t)(dtype.bits * 2), 1};
    const unsigned char *place = dlpark__bits_byte(from, at);
    dlpark__element_load(place, (unsigned)(at & 7), dtype, &scalar);
    for (unsigned part = 0; part < job->to.parts && part < job->from.parts; part++) {
        dlpark__real real = exact_real(&scalar, part);
        if (exact_joins(job)) {
            dlpark__real other = exact_real(&scalar, 1);
            if (exact_is_zero(&real))
                real = other;
        }
        lane.codes[part] = exact_code(job, &real, place + part * (job->from.part.bits / 8u), &lane.events[part]);
    }
    return lane;
}

/* Called with each lane, and where it is to be written; false ends the walk. */
typedef bool exact_visit(void *context, const dlpark__cast_job *job, const dlpark__walk *walk, int64_t to,
                         int64_t from);

/* Lanes only, so that a complex one comes once. */
static void exact_each(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from, exact_visit *visit,
                       void *context)
{
    dlpark__cast_job lanes = *job;
    dlpark__walk walk;

    lanes.to.part.bits = (uint8_t)(job->to.part.bits * job->to.parts);
    lanes.from.part.bits = (uint8_t)(job->from.part.bits * job->from.parts);
    lanes.to.parts = lanes.from.parts = 1;
    dlpark__cast_walk_begin(&walk, &lanes, to, from, true);
    do {
        dlpark__walk_dim *run = &walk.dims[walk.ndim - 1];
        for (int64_t i = 0; i < run->extent; i++) {
            walk.index[walk.ndim - 1] = i;
            if (!visit(context, job, &walk, walk.to + i * run->to, walk.from + i * run->from))
                return;
        }
        walk.index[walk.ndim - 1] = 0;
    } while (dlpark__walk_next(&walk));
}

/* ---- Writing ---- */

typedef struct exact_sides {
    unsigned char *to;
    const unsigned char *from;
} exact_sides;

static bool exact_write(void *context, const dlpark__cast_job *job, const dlpark__walk *walk, int64_t to, int64_t from)
{
    const exact_sides *sides = context;
    exact_lane lane = exact_convert(job, sides->from, from);

    (void)walk;
    for (unsigned part = 0; part < job->to.parts; part++)
        exact_store(&job->to, sides->to, to + (int64_t)part * job->to.part.bits, lane.codes[part]);
    return true;
}

void dlpark__cast_exact(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from)
{
    exact_sides sides = {to->data, from->data};

    exact_each(job, to, from, exact_write, &sides);
}

/* ---- Counting ---- */

typedef struct exact_tally {
    const unsigned char *from;
    dlpark_cast_counts counts;
} exact_tally;

static bool exact_count(void *context, const dlpark__cast_job *job, const dlpark__walk *walk, int64_t to, int64_t from)
{
    exact_tally *tally = context;
    exact_lane lane = exact_convert(job, tally->from, from);

    (void)walk;
    (void)to;
    for (unsigned part = 0; part < 2; part++) {
        unsigned events = lane.events[part];
        if ((events & DLPARK__EVENT_OVERFLOW) != 0)
            tally->counts.overflowed++;
        else if ((events & DLPARK__EVENT_INEXACT) != 0)
            tally->counts.inexact++;
        if ((events & DLPARK__EVENT_NAN) != 0)
            tally->counts.nan++;
    }
    return true;
}

void dlpark__cast_count(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from,
                        dlpark_cast_counts *counts)
{
    exact_tally tally = {from->data, {0, 0, 0}};

    exact_each(job, to, from, exact_count, &tally);
    *counts = tally.counts;
}

/* ---- Refusing ---- */

typedef struct exact_search {
    const unsigned char *from;
    bool found;
    int64_t at;
    int64_t index[DLPARK_MAX_NDIM];
} exact_search;

static bool exact_find(void *context, const dlpark__cast_job *job, const dlpark__walk *walk, int64_t to, int64_t from)
{
    exact_search *search = context;
    exact_lane lane = exact_convert(job, search->from, from);
    unsigned events = lane.events[0] | lane.events[1];

    (void)to;
    if (!dlpark__real_is_lost(events, job->to.part))
        return true;
    search->found = true;
    search->at = from;
    for (int32_t i = 0; i < walk->ndim; i++)
        if (walk->dims[i].axis >= 0)
            search->index[walk->dims[i].axis] = walk->index[i];
    return false;
}

/* The element as people write it. */
static dlpark_name exact_text(const dlpark__cast_job *job, const unsigned char *from, int64_t at)
{
    DLDataType dtype = job->from.part;
    dlpark_scalar scalar;
    dlpark_name name;

    if (job->from.parts == 2)
        dtype = (DLDataType){kDLComplex, (uint8_t)(dtype.bits * 2), 1};
    dlpark__element_load(dlpark__bits_byte(from, at), (unsigned)(at & 7), dtype, &scalar);
    if (scalar.kind == DLPARK_SCALAR_COMPLEX)
        snprintf(name.text, sizeof name.text, "%.9g%+.9gj", scalar.re, scalar.im);
    else if (scalar.kind == DLPARK_SCALAR_FLOAT)
        snprintf(name.text, sizeof name.text, "%.17g", scalar.re);
    else if (scalar.kind == DLPARK_SCALAR_INT)
        snprintf(name.text, sizeof name.text, "%lld", (long long)scalar.low);
    else
        snprintf(name.text, sizeof name.text, "%llu", (unsigned long long)scalar.low);
    return name;
}

dlpark_status dlpark__cast_check_values(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from,
                                        dlpark_error *err)
{
    exact_search search = {.from = from->data};

    exact_each(job, to, from, exact_find, &search);
    if (!search.found)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_VALUE, "element %s is %s, which %s does not hold",
                            dlpark__layout_list(to->ndim, search.index).text,
                            exact_text(job, search.from, search.at).text, dlpark_dtype_name(to->dtype).text);
}
