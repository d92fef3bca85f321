/*
 * Whether two elements of a layout are in one place, and whether two layouts that start a few elements apart share one:
 * by marking every place. The search of the library must decide them all.
 */
#include "sweep.h"

#include "internal.h"

#define OVERLAP_STEPS  10000
#define OVERLAP_MIDDLE 64

/* The places of a layout, as bits; element 0 is `middle`. */
static void overlap_mark(const sweep_layout *layout, int64_t middle, bool *places)
{
    for (int64_t n = 0; n < sweep_count(layout); n++)
        places[middle + sweep_offset(layout, n)] = true;
}

static bool overlap_meets(const sweep_layout *layout, int64_t middle, const bool *places)
{
    for (int64_t n = 0; n < sweep_count(layout); n++)
        if (places[middle + sweep_offset(layout, n)])
            return true;
    return false;
}

static dlpark_view overlap_view(const sweep_layout *layout, int64_t start)
{
    dlpark_view view;
    sweep_layout copy = *layout;
    DLTensor tensor = {(void *)(uintptr_t)(0x10000 + 4 * start),
                       {kDLCPU, 0},
                       copy.ndim,
                       {kDLFloat, 32, 1},
                       copy.shape,
                       copy.strides,
                       0};

    SWEEP_WANT(layout, dlpark_check(&tensor, 0, &view, NULL) == DLPARK_OK);
    return view;
}

/* A layout against the compact ones of the same shape, before and behind it. */
static uint64_t overlap_pairs(const sweep_layout *layout)
{
    bool places[4 * OVERLAP_MIDDLE + 200] = {false};
    dlpark_view view = overlap_view(layout, 0);
    uint64_t cases = 0;

    overlap_mark(layout, 2 * OVERLAP_MIDDLE, places);
    for (int code = 0; code < sweep_orders(layout->ndim); code += 7)
        for (int64_t apart = -5; apart <= 5; apart += 2, cases++) {
            sweep_layout other = sweep_ordered(layout, code, 1 + code % 2);
            if (sweep_reach(&other) > OVERLAP_MIDDLE)
                continue;
            dlpark_view other_view = overlap_view(&other, apart);
            bool meets = overlap_meets(&other, 2 * OVERLAP_MIDDLE + apart, places);
            dlpark__overlap answer = dlpark__overlap_two(&view, &other_view, OVERLAP_STEPS);
            if (answer != (meets ? DLPARK__OVERLAP_YES : DLPARK__OVERLAP_NO))
                sweep_fail(layout, "and order %d, %lld apart: %d", code, (long long)apart, (int)answer);
        }
    return cases;
}

uint64_t sweep_overlap(int shard)
{
    sweep_layout layout = sweep_first(shard);
    uint64_t cases = 0;

    if (sweep_count(&layout) == 0)
        return 0;
    do {
        dlpark__overlap answer = dlpark__overlap_layout(layout.ndim, layout.shape, layout.strides, OVERLAP_STEPS);
        bool injective = sweep_is_injective(&layout);
        if (answer != (injective ? DLPARK__OVERLAP_NO : DLPARK__OVERLAP_YES))
            sweep_fail(&layout, "overlap: %d", (int)answer);
        cases += 1 + overlap_pairs(&layout);
    } while (sweep_next(&layout));
    return cases;
}
