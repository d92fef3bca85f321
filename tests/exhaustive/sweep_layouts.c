/* Element count, span, compactness and compact strides, by walking every element. */
#include "sweep.h"

__extension__ typedef __int128 layouts_wide;

typedef struct walked {
    layouts_wide low, high;
    int64_t count;
    bool in_order;
} walked;

static walked layouts_walk(const sweep_layout *layout, const int64_t *strides)
{
    walked w = {0, 0, 0, true};
    int64_t extent[SWEEP_NDIM] = {1, 1, 1, 1}, by[SWEEP_NDIM] = {0};

    for (int i = 0; i < layout->ndim; i++) {
        extent[i] = layout->shape[i];
        by[i] = strides[i];
    }
    for (int64_t a = 0; a < extent[0]; a++)
        for (int64_t b = 0; b < extent[1]; b++)
            for (int64_t c = 0; c < extent[2]; c++)
                for (int64_t d = 0; d < extent[3]; d++) {
                    layouts_wide at = (layouts_wide)a * by[0] + b * by[1] + c * by[2] + d * by[3];
                    w.low = at < w.low ? at : w.low;
                    w.high = at > w.high ? at : w.high;
                    w.in_order &= at == w.count++;
                }
    return w;
}

uint64_t sweep_layouts(int shard)
{
    sweep_layout layout = sweep_first(shard);
    uint64_t cases = 0;

    do {
        walked w = layouts_walk(&layout, layout.strides);
        int64_t numel = -7, lowest = -7, highest = -7, compact[SWEEP_NDIM];

        SWEEP_WANT(&layout, dlpark_layout_numel(layout.ndim, layout.shape, &numel, NULL) == DLPARK_OK);
        SWEEP_WANT(&layout, numel == w.count);
        SWEEP_WANT(&layout,
                   dlpark_layout_span(layout.ndim, layout.shape, layout.strides, &lowest, &highest, NULL) == DLPARK_OK);
        SWEEP_WANT(&layout, lowest == (w.count > 0 ? w.low : 0));
        SWEEP_WANT(&layout, highest == (w.count > 0 ? w.high : -1));
        SWEEP_WANT(&layout, dlpark_layout_is_compact(layout.ndim, layout.shape, layout.strides) == w.in_order);
        SWEEP_WANT(&layout, dlpark_layout_compact_strides(layout.ndim, layout.shape, compact, NULL) == DLPARK_OK);
        SWEEP_WANT(&layout, layouts_walk(&layout, compact).in_order);
        cases++;
    } while (sweep_next(&layout));
    return cases;
}
