/*
 * Views and tensors described as pixels. Their strides may be anything; pixels have rows of any direction, and within
 * them columns and channels that go forwards.
 */
#include <inttypes.h>
#include <string.h>

#include <dlpark/device.h>
#include <dlpark/dtype.h>

#include "pixels_parts.h"

/* Rows, columns and channels of a view: extents, and distances in bytes. */
typedef struct pixels_grid {
    int64_t height, width, channels;
    int64_t row, pixel, channel;
    int64_t sample;
} pixels_grid;

/* A distance in bytes; the stride of a dimension of one element means nothing, and may be any number. */
static int64_t pixels_read_step(const dlpark_view *view, int32_t axis)
{
    return view->shape[axis] > 1 && dlpark_view_numel(view) > 0 ? view->strides[axis] * (view->dtype.bits / 8) : 0;
}

static dlpark_status pixels_read_grid(const dlpark_view *view, dlpark_image_layout layout, pixels_grid *grid,
                                      dlpark_error *err)
{
    image_axes order = dlpark__image_axes(layout);

    if (view->ndim != 2 && view->ndim != 3)
        return dlpark_error_set(err, DLPARK_E_RANK, "the rank is %d, expected 3, or 2 for one channel",
                                (int)view->ndim);
    if (view->ndim == 2)
        order = (image_axes){.y = 0, .x = 1};
    grid->sample = view->dtype.bits / 8;
    grid->height = view->shape[order.y];
    grid->width = view->shape[order.x];
    grid->channels = view->ndim == 3 ? view->shape[order.c] : 1;
    grid->row = pixels_read_step(view, order.y);
    grid->pixel = pixels_read_step(view, order.x);
    grid->channel = view->ndim == 3 ? pixels_read_step(view, order.c) : 0;
    if (grid->height > INT32_MAX || grid->width > INT32_MAX)
        return dlpark_error_set(err, DLPARK_E_SHAPE,
                                "the picture is %" PRId64 " x %" PRId64 ", at most 2147483647 a side", grid->width,
                                grid->height);
    if (grid->channels < 1 || grid->channels >= DLPARK_PIXELS_CHANNELS_NBYTES)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "the picture has %" PRId64 " channels, expected 1 to %d",
                                grid->channels, DLPARK_PIXELS_CHANNELS_NBYTES - 1);
    return DLPARK_OK;
}

/* Gives extents of one, and all where there are no elements, the distances that leave no gap. */
static void pixels_tidy_grid(pixels_grid *grid)
{
    bool is_empty = grid->height == 0 || grid->width == 0;

    if (grid->channels == 1 || is_empty)
        grid->channel = grid->sample;
    int64_t together = imaxabs(grid->channel) == grid->sample ? grid->channels * grid->sample : grid->sample;
    if (grid->width <= 1 || is_empty)
        grid->pixel = together;
    if (grid->height <= 1 || is_empty)
        grid->row = (grid->width > 0 ? grid->width - 1 : 0) * grid->pixel + together;
}

static dlpark_status pixels_check_grid(const pixels_grid *grid, int64_t *reach, dlpark_error *err)
{
    pixels_axis axes[3] = {[PIXELS_CHANNEL] = {"channels", grid->channel, grid->channels},
                           [PIXELS_PIXEL] = {"columns", grid->pixel, grid->width},
                           [PIXELS_ROW] = {"rows", grid->row, grid->height}};
    int at;

    *reach = 0;
    if (grid->height == 0 || grid->width == 0)
        return DLPARK_OK;
    if (grid->pixel < 0)
        return dlpark_error_set(err, DLPARK_E_LAYOUT,
                                "the columns lie backwards, %" PRId64
                                " bytes from each to the next: the pixels would have to "
                                "be copied",
                                grid->pixel);
    *reach = grid->sample;
    if (dlpark__pixels_nest(axes, reach, &at) == PIXELS_FAULT_NONE)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_LAYOUT,
                            "the %s lie %" PRId64 " bytes apart, and %" PRId64
                            " bytes lie within that step: the pixels would "
                            "have to be copied",
                            axes[at].field, axes[at].step, *reach);
}

/* The letters in the order of memory. */
static void pixels_write_letters(const pixels_grid *grid, const char *channels, dlpark_pixels *out)
{
    for (int64_t i = 0; i < grid->channels; i++)
        out->channels[i] = channels[grid->channel < 0 ? grid->channels - 1 - i : i];
}

static dlpark_status pixels_check_needed(const dlpark_pixels *made, const pixels_grid *grid, const char *needed,
                                         dlpark_error *err)
{
    int32_t count;

    if (!needed)
        return DLPARK_OK;
    DLPARK_TRY(dlpark__pixels_check_letters("needed", needed, false, &count, err));
    if (!made->planar && strcmp(made->channels, needed) == 0 && made->pixel_nbytes == grid->channels * grid->sample)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_LAYOUT,
                            "the pixels lie as \"%s\"%s, %" PRId64 " bytes apart, and are needed as \"%s\", %" PRId64
                            " bytes apart: they would have to be copied",
                            made->channels, made->planar ? " in planes" : "", made->pixel_nbytes, needed,
                            count * grid->sample);
}

dlpark_status dlpark_pixels_borrow(dlpark_pixels *pixels, const dlpark_view *view, const char *channels,
                                   const char *needed, dlpark_image_layout layout, dlpark_error *err)
{
    dlpark_pixels made = {.dtype = view->dtype, .device = view->device};
    pixels_grid grid = {.sample = 1};
    int64_t reach;
    int32_t count = 0;

    DLPARK_TRY(dlpark__pixels_check_form(view->dtype, view->device, layout, err));
    DLPARK_TRY(pixels_read_grid(view, layout, &grid, err));
    DLPARK_TRY(dlpark__pixels_check_letters("channels", channels, false, &count, err));
    if (count != grid.channels)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "channels is \"%s\", and the picture has %" PRId64, channels,
                                grid.channels);
    pixels_tidy_grid(&grid);
    DLPARK_TRY(pixels_check_grid(&grid, &reach, err));
    pixels_write_letters(&grid, channels, &made);
    made.width = (int32_t)grid.width;
    made.height = (int32_t)grid.height;
    made.planar = imaxabs(grid.channel) != grid.sample; /* else side by side, and pixels step over them */
    made.pitch_nbytes = grid.row;
    made.pixel_nbytes = grid.pixel;
    made.plane_nbytes = made.planar ? imaxabs(grid.channel) : 0;
    made.nbytes = (uint64_t)reach;
    DLPARK_TRY(pixels_check_needed(&made, &grid, needed, err));
    unsigned char *lowest = view->data; /* of the channels */
    if (grid.channel < 0)
        lowest += (grid.channels - 1) * grid.channel;
    if (view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE))
        made.data_const = lowest;
    else
        made.data = lowest;
    *pixels = made;
    return DLPARK_OK;
}

dlpark_status dlpark_pixels_export(dlpark_pixels *pixels, dlpark_tensor *tensor, const char *channels,
                                   const char *needed, dlpark_image_layout layout, dlpark_error *err)
{
    dlpark_view DLPARK_UNINITIALIZED view;

    if (!tensor->managed)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is empty");
    dlpark_tensor_view(tensor, &view);
    DLPARK_TRY(dlpark_pixels_borrow(pixels, &view, channels, needed, layout, err));
    dlpark_tensor_export_deleter(tensor, &pixels->release, &pixels->owner);
    return DLPARK_OK;
}
