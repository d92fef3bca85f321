#include "text_parts.h"

/* ---- The line about a view ---- */

static void text_put_layout(dlpark__sink *sink, const dlpark_view *view)
{
    bool is_whole = view->bit_offset == 0; /* elements inside a byte cannot be taken as bytes, whatever their order */

    if (dlpark_view_numel(view) == 0) {
        dlpark__sink_text(sink, " empty");
    } else if (is_whole && dlpark__layout_is_dense(view->ndim, view->shape, view->strides, false)) {
        dlpark__sink_text(sink, " c");
    } else if (is_whole && dlpark__layout_is_dense(view->ndim, view->shape, view->strides, true)) {
        dlpark__sink_text(sink, " f");
    } else {
        dlpark__sink_text(sink, " strides ");
        dlpark__sink_list(sink, view->ndim, view->strides, ", ");
    }
}

static void text_put_description(dlpark__sink *sink, const dlpark_view *view)
{
    dlpark__sink_text(sink, dlpark_dtype_name(view->dtype).text);
    dlpark__sink_list(sink, view->ndim, view->shape, ", ");
    dlpark__sink_put(sink, ' ');
    dlpark__sink_text(sink, dlpark_device_name(view->device).text);
    text_put_layout(sink, view);
    if (view->byte_offset != 0) {
        dlpark__sink_text(sink, " byte offset ");
        dlpark__sink_integer(sink, (int64_t)view->byte_offset);
    }
    if (view->bit_offset != 0) {
        dlpark__sink_text(sink, " bit offset ");
        dlpark__sink_integer(sink, view->bit_offset);
    }
    if (dlpark_dtype_is_packed(view->dtype) && !dlpark__view_is_packed(view))
        dlpark__sink_text(sink, " padded");
    if ((view->flags & DLPARK_VIEW_READ_ONLY) != 0)
        dlpark__sink_text(sink, " read-only");
    else if ((view->flags & DLPARK_VIEW_UNKNOWN_WRITE) != 0)
        dlpark__sink_text(sink, " write unknown");
}

size_t dlpark_view_describe(const dlpark_view *view, char *text, size_t nbytes)
{
    dlpark__sink sink;

    dlpark__sink_begin(&sink, text, nbytes);
    text_put_description(&sink, view);
    return dlpark__sink_end(&sink);
}

/* ---- The elements ---- */

/* What the passes over the elements share. */
typedef struct text_walk {
    const dlpark_view *view;
    int64_t edge;  /* elements shown at each end of a dimension that is longer than both; 0: all are shown */
    int64_t limit; /* characters after which a line ends */
    dlpark__column column;
    dlpark__sink sink;
} text_walk;

typedef void text_action(text_walk *walk, const dlpark_scalar *lane);

/* How many of a dimension are shown; the first half of them from its beginning if that is not all. */
static int64_t text_shown(const text_walk *walk, int64_t extent)
{
    return walk->edge > 0 && extent > 2 * walk->edge ? 2 * walk->edge : extent;
}

/* The position of the i-th that is shown. */
static int64_t text_position(const text_walk *walk, int64_t extent, int64_t i)
{
    int64_t shown = text_shown(walk, extent);

    return shown < extent && i >= walk->edge ? extent - shown + i : i;
}

static void text_visit(text_walk *walk, int32_t axis, int64_t at, text_action *action)
{
    const dlpark_view *view = walk->view;
    dlpark_scalar scalar;

    if (axis < view->ndim) {
        int64_t extent = view->shape[axis];
        for (int64_t i = 0; i < text_shown(walk, extent); i++)
            text_visit(walk, axis + 1, at + text_position(walk, extent, i) * view->strides[axis], action);
        return;
    }
    for (uint32_t lane = 0; lane < view->dtype.lanes; lane++) {
        dlpark_element_load(view, at, lane, &scalar);
        action(walk, &scalar);
    }
}

static void text_look(text_walk *walk, const dlpark_scalar *lane)
{
    dlpark__column_look(&walk->column, lane);
}

static void text_measure(text_walk *walk, const dlpark_scalar *lane)
{
    dlpark__column_measure(&walk->column, lane);
}

static void text_write_lane(text_walk *walk, const dlpark_scalar *lane)
{
    if (walk->view->ndim == 0)
        dlpark__scalar_write(lane, walk->view->dtype, &walk->sink);
    else
        dlpark__column_write(&walk->column, lane, &walk->sink);
}

static void text_write_element(text_walk *walk, int64_t at)
{
    uint32_t lanes = walk->view->dtype.lanes;
    dlpark_scalar scalar;

    if (lanes > 1)
        dlpark__sink_put(&walk->sink, '(');
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (lane > 0)
            dlpark__sink_text(&walk->sink, ", ");
        dlpark_element_load(walk->view, at, lane, &scalar);
        text_write_lane(walk, &scalar);
    }
    if (lanes > 1)
        dlpark__sink_put(&walk->sink, ')');
}

static int64_t text_element_width(const text_walk *walk)
{
    int64_t lanes = walk->view->dtype.lanes;

    return lanes == 1 ? walk->column.width : lanes * (walk->column.width + 2);
}

/* The innermost dimension: as many words on a line as fit, and at least one. */
static void text_write_row(text_walk *walk, int64_t at)
{
    const dlpark_view *view = walk->view;
    int32_t axis = view->ndim - 1;
    int64_t extent = view->shape[axis], shown = text_shown(walk, extent);
    int64_t gap = shown < extent ? walk->edge : -1; /* the dots are a word before this one */
    int64_t used = view->ndim, width = text_element_width(walk);

    for (int64_t i = 0, word = 0; i < shown; word++) {
        bool is_dots = word == gap;
        int64_t length = is_dots ? 3 : width;
        if (word > 0) {
            dlpark__sink_spaces(&walk->sink, 1);
            used++;
        }
        if (used + length > walk->limit && used > view->ndim) {
            dlpark__sink_line(&walk->sink);
            dlpark__sink_spaces(&walk->sink, view->ndim);
            used = view->ndim;
        }
        used += length;
        if (is_dots)
            dlpark__sink_text(&walk->sink, "...");
        else
            text_write_element(walk, at + text_position(walk, extent, i++) * view->strides[axis]);
    }
}

/* Ends the line of a row of `axis`, leaves lines empty between blocks, and indents the next row. */
static void text_write_break(text_walk *walk, int32_t axis)
{
    for (int32_t i = axis + 1; i < walk->view->ndim; i++)
        dlpark__sink_line(&walk->sink);
    dlpark__sink_spaces(&walk->sink, axis + 1);
}

static void text_write_rows(text_walk *walk, int32_t axis, int64_t at)
{
    const dlpark_view *view = walk->view;
    int64_t extent = view->shape[axis], shown = text_shown(walk, extent);

    dlpark__sink_put(&walk->sink, '[');
    if (axis == view->ndim - 1) {
        text_write_row(walk, at);
    } else {
        for (int64_t i = 0; i < shown; i++) {
            if (i > 0)
                text_write_break(walk, axis);
            if (shown < extent && i == walk->edge) {
                dlpark__sink_text(&walk->sink, "...");
                text_write_break(walk, axis);
            }
            text_write_rows(walk, axis + 1, at + text_position(walk, extent, i) * view->strides[axis]);
        }
    }
    dlpark__sink_put(&walk->sink, ']');
}

#define TEXT_MOST_DIGITS 64 /* more than any float has after the point where there is no exponent */

static int32_t text_clamp(int32_t value, int32_t lowest, int32_t highest)
{
    if (value < lowest)
        return lowest;
    return value > highest ? highest : value;
}

#define TEXT_MOST_LANES (INT64_C(1) << 20) /* shown; more would be read for minutes, or for ever where strides are 0 */

static bool text_is_too_much(const text_walk *walk)
{
    int64_t room = TEXT_MOST_LANES / walk->view->dtype.lanes;

    for (int32_t i = 0; i < walk->view->ndim; i++)
        room /= text_shown(walk, walk->view->shape[i]);
    return room == 0;
}

/* Decides how much is shown; false when even one element at each end of the dimensions is too much. */
static bool text_choose_edge(text_walk *walk, const dlpark_text_options *options)
{
    if (dlpark_view_numel(walk->view) > options->threshold || text_is_too_much(walk))
        walk->edge = text_clamp(options->edgeitems, 1, INT32_MAX);
    if (text_is_too_much(walk))
        walk->edge = 1;
    return !text_is_too_much(walk);
}

static void text_write_elements(text_walk *walk, const dlpark_text_options *options)
{
    const dlpark_view *view = walk->view;

    if (view->ndim == 0) {
        text_write_element(walk, 0);
        return;
    }
    walk->limit = (int64_t)options->linewidth - view->ndim;
    dlpark__column_begin(&walk->column, view->dtype, text_clamp(options->precision, 0, TEXT_MOST_DIGITS));
    text_visit(walk, 0, 0, text_look);
    if (dlpark__column_decide(&walk->column, view->dtype))
        text_visit(walk, 0, 0, text_measure);
    dlpark__column_end(&walk->column, view->dtype);
    text_write_rows(walk, 0, 0);
}

/* The line about a view in place of its elements. */
static void text_write_reason(text_walk *walk, const char *reason)
{
    dlpark__sink_put(&walk->sink, '<');
    text_put_description(&walk->sink, walk->view);
    dlpark__sink_text(&walk->sink, ": ");
    dlpark__sink_text(&walk->sink, reason);
    dlpark__sink_put(&walk->sink, '>');
}

size_t dlpark_view_text(const dlpark_view *view, const dlpark_text_options *options, char *text, size_t nbytes)
{
    const dlpark_text_options defaults = DLPARK_TEXT_DEFAULTS;
    const dlpark_text_options *chosen = options != NULL ? options : &defaults;
    text_walk walk = {.view = view, .edge = 0};

    dlpark__sink_begin(&walk.sink, text, nbytes);
    if (!dlpark_device_is_host_accessible(view->device))
        text_write_reason(&walk, "not accessible to the host");
    else if (dlpark_view_numel(view) == 0)
        dlpark__sink_text(&walk.sink, "[]");
    else if (!text_choose_edge(&walk, chosen))
        text_write_reason(&walk, "too many elements to show");
    else
        text_write_elements(&walk, chosen);
    return dlpark__sink_end(&walk.sink);
}
