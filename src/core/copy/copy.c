/*
 * What may be copied to what, and who does it: the plan, the bits, or the one for views that overlap.
 */
#include "copy_parts.h"

static const dlpark__view_words copy_words = {"copy", "to", "the source", "the destination"};

/* Elements of bytes on both sides, padded ones among them, are moved as bytes. */
static bool copy_has_bits(const dlpark_view *to, const dlpark_view *from)
{
    return dlpark__view_is_packed(to) || dlpark__view_is_packed(from);
}

bool dlpark__copy_is_same_view(const dlpark_view *to, const dlpark_view *from)
{
    if (to->data != from->data || to->bit_offset != from->bit_offset ||
        dlpark__view_is_packed(to) != dlpark__view_is_packed(from))
        return false;
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] > 1 && to->strides[i] != from->strides[i])
            return false;
    return true;
}

void dlpark__copy_disjoint(const dlpark_view *to, const dlpark_view *from, int threads)
{
    dlpark__copy_plan plan;

    if (copy_has_bits(to, from)) {
        dlpark__copy_bits(to, from);
        return;
    }
    dlpark__copy_plan_make(&plan, to, from);
    dlpark__copy_run_threads(&plan, threads);
}

dlpark_status dlpark_copy_threads(const dlpark_view *to, const dlpark_view *from, int threads, dlpark_error *err)
{
    if (threads < 1)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "threads is %d, expected 1 or more", threads);
    DLPARK_TRY(dlpark__view_check_same(from, to, &copy_words, err));
    DLPARK_TRY(dlpark__view_check_host(to, err));
    DLPARK_TRY(dlpark__view_check_write(to, err));
    DLPARK_TRY(dlpark__view_check_host(from, err));
    if (dlpark_view_numel(to) == 0)
        return DLPARK_OK;
    DLPARK_TRY(dlpark__view_check_places(to, err));
    if (dlpark__copy_is_same_view(to, from))
        return DLPARK_OK;
    if (dlpark__view_meets(to, from))
        return dlpark__copy_overlapping(to, from, threads, err);
    dlpark__copy_disjoint(to, from, threads);
    return DLPARK_OK;
}

dlpark_status dlpark_copy(const dlpark_view *to, const dlpark_view *from, dlpark_error *err)
{
    return dlpark_copy_threads(to, from, 1, err);
}
