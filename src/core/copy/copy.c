/*
 * What may be copied to what, and who does it: the plan, the bits, or the one for views that overlap.
 */
#include "copy_parts.h"

static const dlpark__view_words copy_words = {"copy", "to", "the source", "the destination"};

/* Of a destination with elements. */
static dlpark_status copy_check_places(const dlpark_view *to, dlpark_error *err)
{
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] > 1 && to->strides[i] == 0)
            return dlpark_error_set(err, DLPARK_E_STRIDES,
                                    "strides[%d] of the destination is 0 with extent %lld: its elements coincide",
                                    (int)i, (long long)to->shape[i]);
    return DLPARK_OK;
}

/* Elements of bytes on both sides, padded ones among them, are moved as bytes. */
static bool copy_has_bits(const dlpark_view *to, const dlpark_view *from)
{
    return dlpark__view_is_packed(to) || dlpark__view_is_packed(from);
}

static bool copy_is_same_view(const dlpark_view *to, const dlpark_view *from)
{
    if (to->data != from->data || to->bit_offset != from->bit_offset ||
        dlpark__view_is_packed(to) != dlpark__view_is_packed(from))
        return false;
    for (int32_t i = 0; i < to->ndim; i++)
        if (to->shape[i] > 1 && to->strides[i] != from->strides[i])
            return false;
    return true;
}

static bool copy_meets(const dlpark_view *to, const dlpark_view *from)
{
    int64_t to_low, to_high, from_low, from_high;
    uintptr_t to_data = (uintptr_t)to->data, from_data = (uintptr_t)from->data;

    dlpark__view_byte_range(to, &to_low, &to_high);
    dlpark__view_byte_range(from, &from_low, &from_high);
    return to_data + (uintptr_t)to_high > from_data + (uintptr_t)from_low &&
           from_data + (uintptr_t)from_high > to_data + (uintptr_t)to_low;
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
    DLPARK_TRY(copy_check_places(to, err));
    if (copy_is_same_view(to, from))
        return DLPARK_OK;
    if (copy_meets(to, from))
        return dlpark__copy_overlapping(to, from, threads, err);
    dlpark__copy_disjoint(to, from, threads);
    return DLPARK_OK;
}

dlpark_status dlpark_copy(const dlpark_view *to, const dlpark_view *from, dlpark_error *err)
{
    return dlpark_copy_threads(to, from, 1, err);
}
