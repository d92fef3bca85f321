/*
 * What may be cast to what, and who does it: the copy, the chain of steps, or one element at a time.
 */
#include "cast_parts.h"

static const dlpark__view_words cast_words = {"cast", "to", "the source", "the destination"};

/* ---- What is asked for ---- */

static dlpark_status cast_check_dtype(DLDataType dtype, const char *whose, dlpark_error *err)
{
    if (dtype.code == kDLOpaqueHandle || (dtype.bits > 64 && dtype.code != kDLComplex))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "%s has dtype %s, which is not cast", whose,
                                dlpark_dtype_name(dtype).text);
    return DLPARK_OK;
}

static dlpark_status cast_check_dtypes(const dlpark_view *to, const dlpark_view *from,
                                       const dlpark_cast_options *options, dlpark_error *err)
{
    DLPARK_TRY(cast_check_dtype(from->dtype, "the source", err));
    DLPARK_TRY(cast_check_dtype(to->dtype, "the destination", err));
    if (to->dtype.lanes != from->dtype.lanes)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "cannot cast %s to %s: elements have %u and %u lanes",
                                dlpark_dtype_name(from->dtype).text, dlpark_dtype_name(to->dtype).text,
                                (unsigned)from->dtype.lanes, (unsigned)to->dtype.lanes);
    if (from->dtype.code == kDLComplex && to->dtype.code != kDLComplex && to->dtype.code != kDLBool &&
        !options->real_part)
        return dlpark_error_set(
            err, DLPARK_E_DTYPE,
            "cannot cast %s to %s: the imaginary part would be lost, which the option real_part allows",
            dlpark_dtype_name(from->dtype).text, dlpark_dtype_name(to->dtype).text);
    return DLPARK_OK;
}

static dlpark__cast_side cast_side(const dlpark_view *view)
{
    dlpark__cast_side side = {view->dtype, dlpark__float_format_of(view->dtype), 1, false};

    side.part.lanes = 1;
    if (view->dtype.code == kDLComplex) {
        side.parts = 2;
        side.part = (DLDataType){kDLFloat, (uint8_t)(view->dtype.bits / 2), 1};
    }
    /* Lanes of less than a byte lie side by side; what is padded is the element. */
    side.padded = side.part.bits < 8 && view->dtype.lanes == 1 && !dlpark__view_is_packed(view);
    return side;
}

static const char *cast_overflow_name(dlpark_overflow overflow)
{
    static const char *const names[] = {"DEFAULT", "NOSAT", "SATFINITE", "SATALL", "WRAP", "SATURATE", "REFUSE"};

    return names[overflow];
}

/* What an option means for this pair; REFUSE has been looked at before, and nothing that it forbids is left. */
static dlpark_status cast_resolve(dlpark__cast_job *job, const dlpark_view *to, const dlpark_cast_options *options,
                                  dlpark_error *err)
{
    bool to_float = job->to.format != NULL;
    dlpark_overflow overflow = options->overflow;

    if ((unsigned)overflow > DLPARK_OVERFLOW_REFUSE)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "overflow is %d, which is no mode", (int)overflow);
    if ((unsigned)options->scale > DLPARK_SCALE_DOWN)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "scale is %d, which is no way to round", (int)options->scale);
    if (overflow == DLPARK_OVERFLOW_DEFAULT || overflow == DLPARK_OVERFLOW_REFUSE)
        overflow = to_float                   ? DLPARK_OVERFLOW_NOSAT
                   : job->from.format != NULL ? DLPARK_OVERFLOW_SATURATE
                                              : DLPARK_OVERFLOW_WRAP;
    else if (job->to.part.code != kDLBool && to_float != (overflow <= DLPARK_OVERFLOW_SATALL))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "overflow is %s, which has no meaning for %s",
                                cast_overflow_name(overflow), dlpark_dtype_name(to->dtype).text);
    job->overflow = overflow;
    job->scale = options->scale;
    return DLPARK_OK;
}

/* ---- Where it is written ---- */

/* Elements whose last byte has bits that belong to no lane: they are to be zero. */
static bool cast_has_rest(const dlpark_view *to)
{
    return to->dtype.lanes > 1 && !dlpark__view_is_packed(to) && dlpark_dtype_nbits(to->dtype) % 8 != 0;
}

static dlpark_status cast_check_overlap(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from,
                                        dlpark_error *err)
{
    dlpark__walk walk;

    if (!dlpark__view_meets(to, from))
        return DLPARK_OK;
    dlpark__cast_walk_begin(&walk, job, to, from, false);
    if (to->data == from->data && !cast_has_rest(to) && dlpark__cast_walk_is_forward(&walk, job))
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            "the destination overlaps the source, and %s cannot be cast to %s in place there",
                            dlpark_dtype_name(from->dtype).text, dlpark_dtype_name(to->dtype).text);
}

static dlpark_status cast_write(const dlpark__cast_job *job, const dlpark_view *to, const dlpark_view *from,
                                dlpark_error *err)
{
    static const unsigned char zeros[(6 * UINT16_MAX + 7) / 8]; /* an element of as many lanes as there can be */
    dlpark__cast_chain chain;

    if (cast_has_rest(to))
        DLPARK_TRY(dlpark_fill(to, zeros, err)); /* GCOVR_EXCL_BR_LINE: all that it refuses has been refused */
    dlpark__cast_chain_make(&chain, job);
    if (chain.count == 0 && job->to.parts == job->from.parts && !cast_has_rest(to) && !dlpark__view_meets(to, from)) {
        dlpark_view same = *from;
        same.dtype = to->dtype;
        return dlpark_copy(to, &same, err);
    }
    if (chain.count >= 0)
        dlpark__cast_run(job, &chain, to, from);
    else
        dlpark__cast_exact(job, to, from);
    return DLPARK_OK;
}

dlpark_status dlpark_cast(const dlpark_view *to, const dlpark_view *from, const dlpark_cast_options *options,
                          dlpark_error *err)
{
    static const dlpark_cast_options usual = {DLPARK_OVERFLOW_DEFAULT, DLPARK_SCALE_NEAREST, false, NULL};
    dlpark__cast_job job;

    if (options == NULL)
        options = &usual;
    DLPARK_TRY(dlpark__view_check_shapes(from, to, &cast_words, err));
    DLPARK_TRY(cast_check_dtypes(to, from, options, err));
    job = (dlpark__cast_job){cast_side(to), cast_side(from), to->dtype.lanes, DLPARK_OVERFLOW_DEFAULT, options->scale};
    DLPARK_TRY(cast_resolve(&job, to, options, err));
    DLPARK_TRY(dlpark__view_check_host(to, err));
    DLPARK_TRY(dlpark__view_check_write(to, err));
    DLPARK_TRY(dlpark__view_check_host(from, err));
    dlpark_cast_counts counts = {0, 0, 0};
    if (dlpark_view_numel(to) > 0) {
        bool same = dlpark_dtype_equal(to->dtype, from->dtype); /* every value fits, and keeps its bits */
        DLPARK_TRY(dlpark__view_check_places(to, err));
        if (!same)
            DLPARK_TRY(cast_check_overlap(&job, to, from, err));
        if (options->overflow == DLPARK_OVERFLOW_REFUSE && !same)
            DLPARK_TRY(dlpark__cast_check_values(&job, to, from, err));
        if (options->counts != NULL)
            dlpark__cast_count(&job, to, from, &counts);
        DLPARK_TRY(same ? dlpark_copy(to, from, err) : cast_write(&job, to, from, err));
    }
    if (options->counts != NULL)
        *options->counts = counts;
    return DLPARK_OK;
}
