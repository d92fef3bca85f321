/*
 * Pixels of other libraries as views and tensors: an arithmetic of distances in bytes. There is a view where each is a
 * whole number of samples, and where the channels that are wanted lie at one distance from each other.
 */
#include <inttypes.h>
#include <string.h>

#include <dlpark/array.h>
#include <dlpark/device.h>
#include <dlpark/dtype.h>

#include "pixels_parts.h"

/* A description of the view, which points to the lists behind it. */
typedef struct pixels_described {
    dlpark_tensor_desc desc;
    int64_t shape[3];
    int64_t strides[3];
} pixels_described;

dlpark_status dlpark__pixels_check_letters(const char *field, const char *letters, bool repeats, int32_t *count,
                                           dlpark_error *err)
{
    int32_t length = 0;

    while (length < DLPARK_PIXELS_CHANNELS_NBYTES && letters[length] >= 'A' && letters[length] <= 'Z')
        length++;
    if (length == 0 || length == DLPARK_PIXELS_CHANNELS_NBYTES || letters[length] != '\0')
        return dlpark_error_set(
            err, DLPARK_E_ARGUMENT, "%s begins with \"%.*s\", expected 1 to %d capital letters, such as \"RGB\"", field,
            length < DLPARK_PIXELS_CHANNELS_NBYTES ? length + 1 : length, letters, DLPARK_PIXELS_CHANNELS_NBYTES - 1);
    for (int32_t i = 1; i < length && !repeats; i++)
        if (letters[i] != 'X' && memchr(letters, letters[i], (size_t)i))
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is \"%s\", with %c twice", field, letters, letters[i]);
    *count = length;
    return DLPARK_OK;
}

dlpark_status dlpark__pixels_check_form(DLDataType dtype, DLDevice device, dlpark_image_layout layout,
                                        dlpark_error *err)
{
    DLPARK_TRY(dlpark_dtype_check(dtype, err));
    if (dtype.bits % 8 != 0 || dtype.lanes != 1)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "a sample is %s, expected whole bytes and one lane",
                                dlpark_dtype_name(dtype).text);
    if (!dlpark_device_is_addressable(device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "memory of %s has handles, and pixels have addresses",
                                dlpark_device_name(device).text);
    if (layout != DLPARK_IMAGE_HWC && layout != DLPARK_IMAGE_CHW)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "layout is %d, not DLPARK_IMAGE_HWC or DLPARK_IMAGE_CHW",
                                (int)layout);
    return DLPARK_OK;
}

/* ---- Distances ---- */

/* INT64_MIN, which has no distance, is as good as overflown. */
static int64_t pixels_distance(const pixels_axis *axis)
{
    if (axis->step == INT64_MIN)
        return INT64_MAX;
    return axis->step < 0 ? -axis->step : axis->step;
}

/* Grows `reach` by all steps of an axis. */
static bool pixels_reach(const pixels_axis *axis, int64_t *reach)
{
    int64_t all;

    return !__builtin_mul_overflow(pixels_distance(axis), axis->count - 1, &all) &&
           !__builtin_add_overflow(*reach, all, reach);
}

pixels_fault dlpark__pixels_nest(pixels_axis axes[3], int64_t *reach, int *at)
{
    if (axes[PIXELS_ROW].count > 1 && axes[PIXELS_PIXEL].count > 1 &&
        pixels_distance(&axes[PIXELS_ROW]) < pixels_distance(&axes[PIXELS_PIXEL])) {
        if (!pixels_reach(&axes[PIXELS_PIXEL], reach)) {
            *at = PIXELS_PIXEL;
            return PIXELS_FAULT_OVERFLOW;
        }
        *at = PIXELS_ROW; /* a row lies within it */
        return PIXELS_FAULT_MEETS;
    }
    for (int i = 1; i < 3; i++)
        for (int j = i; j > 0 && pixels_distance(&axes[j]) < pixels_distance(&axes[j - 1]); j--) {
            const pixels_axis other = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = other;
        }
    for (int i = 0; i < 3; i++) {
        *at = i;
        if (axes[i].count <= 1)
            continue;
        if (pixels_distance(&axes[i]) < *reach)
            return PIXELS_FAULT_MEETS;
        if (!pixels_reach(&axes[i], reach))
            return PIXELS_FAULT_OVERFLOW;
    }
    return PIXELS_FAULT_NONE;
}

/* What is not given follows without a gap. INT64_MAX, which nothing can step over, for a product that leaves 63 bits. */
static int64_t pixels_step(int64_t given, int64_t count, int64_t of)
{
    int64_t step;

    if (given)
        return given;
    return __builtin_mul_overflow(count, of, &step) ? INT64_MAX : step;
}

static void pixels_read_axes(const dlpark_pixels *pixels, int64_t letters, pixels_axis axes[3])
{
    const int64_t sample = pixels->dtype.bits / 8;
    const int64_t pixel = pixels_step(pixels->pixel_nbytes, pixels->planar ? 1 : letters, sample);
    const int64_t row = pixels_step(pixels->pitch_nbytes, pixels->width, pixel);
    const int64_t plane =
        pixels_step(pixels->plane_nbytes, pixels->height, row == INT64_MIN ? INT64_MAX : imaxabs(row));

    axes[PIXELS_CHANNEL] = (pixels_axis){"plane_nbytes", pixels->planar ? plane : sample, letters};
    axes[PIXELS_PIXEL] = (pixels_axis){"pixel_nbytes", pixel, pixels->width};
    axes[PIXELS_ROW] = (pixels_axis){"pitch_nbytes", row, pixels->height};
}

static DLPARK_COLD dlpark_status pixels_refuse_steps(const pixels_axis *axis, dlpark_error *err)
{
    return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%" PRId64 " steps of %s, which is %" PRId64 ", leave 63 bits",
                            axis->count - 1, axis->field, axis->step);
}

static dlpark_status pixels_check_step(const pixels_axis *axis, int64_t sample, dlpark_error *err)
{
    if (axis->count <= 1)
        return DLPARK_OK;
    if (axis->step == INT64_MAX)
        return pixels_refuse_steps(axis, err);
    if (axis->step % sample != 0)
        return dlpark_error_set(err, DLPARK_E_STRIDES,
                                "%s is %" PRId64 ", no multiple of the %" PRId64 " bytes of a sample: the pixels would "
                                "have to be copied",
                                axis->field, axis->step, sample);
    return DLPARK_OK;
}

/* Whether the distances leave every sample a place of its own, within `nbytes`. */
static dlpark_status pixels_check_axes(const dlpark_pixels *pixels, const pixels_axis axes[3], dlpark_error *err)
{
    pixels_axis sorted[3] = {axes[0], axes[1], axes[2]};
    int64_t reach = pixels->dtype.bits / 8;
    int at;

    if (pixels->width == 0 || pixels->height == 0)
        return DLPARK_OK;
    for (int i = 0; i < 3; i++)
        DLPARK_TRY(pixels_check_step(&axes[i], reach, err));
    pixels_fault fault = dlpark__pixels_nest(sorted, &reach, &at);
    if (fault == PIXELS_FAULT_OVERFLOW)
        return pixels_refuse_steps(&sorted[at], err);
    if (fault == PIXELS_FAULT_MEETS)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s is %" PRId64 ", and %" PRId64 " bytes lie within that step",
                                sorted[at].field, sorted[at].step, reach);
    if (pixels->nbytes && (uint64_t)reach > pixels->nbytes)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "nbytes is %" PRIu64 ", and the pixels take %" PRId64,
                                pixels->nbytes, reach);
    return DLPARK_OK;
}

static dlpark_status pixels_check_fields(const dlpark_pixels *pixels, dlpark_error *err)
{
    if (pixels->width < 0 || pixels->height < 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "the pixels are %" PRId32 " x %" PRId32, pixels->width,
                                pixels->height);
    if (pixels->pixel_nbytes < 0 || pixels->plane_nbytes < 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                "pixel_nbytes is %" PRId64 " and plane_nbytes %" PRId64 ", expected 0 or more",
                                pixels->pixel_nbytes, pixels->plane_nbytes);
    if (pixels->plane_nbytes && !pixels->planar)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "plane_nbytes is %" PRId64 ", and there are no planes",
                                pixels->plane_nbytes);
    if (pixels->reserved != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "reserved is %" PRId32 ", expected 0", pixels->reserved);
    return DLPARK_OK;
}

/* ---- Channels ---- */

/* All letters with a meaning, in the order of memory. */
static void pixels_want_all(const char *channels, char wanted[DLPARK_PIXELS_CHANNELS_NBYTES])
{
    for (; *channels; channels++)
        if (*channels != 'X')
            *wanted++ = *channels;
    *wanted = '\0';
}

/* The place of the first channel that is wanted, and from each to the next: the same for all, or no stride says it. */
static dlpark_status pixels_find_channels(const dlpark_pixels *pixels, const char *wanted, int32_t *count,
                                          int64_t *first, int64_t *step, dlpark_error *err)
{
    int64_t places[DLPARK_PIXELS_CHANNELS_NBYTES] = {0};

    DLPARK_TRY(dlpark__pixels_check_letters("wanted", wanted, true, count, err));
    for (int32_t i = 0; i < *count; i++) {
        const char *found = wanted[i] == 'X' ? NULL : strchr(pixels->channels, wanted[i]);
        if (!found)
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "\"%s\" is wanted, and there is no channel %c in \"%s\"",
                                    wanted, wanted[i], pixels->channels);
        places[i] = found - pixels->channels;
    }
    *first = places[0];
    *step = *count > 1 ? places[1] - places[0] : 1;
    for (int32_t i = 2; i < *count; i++)
        if (places[i] - places[i - 1] != *step)
            return dlpark_error_set(
                err, DLPARK_E_LAYOUT,
                "\"%s\" of \"%s\" lies at no one distance, which a stride would have to say: ask for "
                "channels that do, or the pixels would have to be copied",
                wanted, pixels->channels);
    return DLPARK_OK;
}

static dlpark_status pixels_describe(const dlpark_pixels *pixels, const char *wanted, dlpark_image_layout layout,
                                     pixels_described *out, dlpark_error *err)
{
    char all[DLPARK_PIXELS_CHANNELS_NBYTES];
    int32_t letters = 0, count = 0;
    int64_t first = 0, step = 0;
    pixels_axis axes[3];

    if (!pixels)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the pixels are NULL");
    DLPARK_TRY(dlpark__pixels_check_form(pixels->dtype, pixels->device, layout, err));
    DLPARK_TRY(pixels_check_fields(pixels, err));
    DLPARK_TRY(dlpark__pixels_check_letters("channels", pixels->channels, false, &letters, err));
    pixels_read_axes(pixels, letters, axes);
    DLPARK_TRY(pixels_check_axes(pixels, axes, err));
    pixels_want_all(pixels->channels, all);
    if (!wanted && all[0] == '\0')
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "channels is \"%s\", which are of no meaning all",
                                pixels->channels);
    DLPARK_TRY(pixels_find_channels(pixels, wanted ? wanted : all, &count, &first, &step, err));

    const image_axes order = dlpark__image_axes(layout);
    const int64_t sample = pixels->dtype.bits / 8;
    bool is_empty = pixels->width == 0 || pixels->height == 0; /* then nothing is known of the steps */
    out->shape[order.y] = pixels->height;
    out->shape[order.x] = pixels->width;
    out->shape[order.c] = count;
    out->strides[order.y] = axes[PIXELS_ROW].step / sample;
    out->strides[order.x] = axes[PIXELS_PIXEL].step / sample;
    out->strides[order.c] = is_empty ? 1 : axes[PIXELS_CHANNEL].step / sample * step;
    out->desc = (dlpark_tensor_desc){.data = pixels->data,
                                     .data_const = pixels->data_const,
                                     .byte_offset = is_empty ? 0 : (uint64_t)(axes[PIXELS_CHANNEL].step * first),
                                     .dtype = pixels->dtype,
                                     .device = pixels->device,
                                     .ndim = 3,
                                     .shape = DLPARK_DIMS(out->shape),
                                     .strides = DLPARK_DIMS(out->strides),
                                     .flags = step == 0 ? DLPARK_TENSOR_READ_ONLY : 0};
    return DLPARK_OK;
}

dlpark_status dlpark_pixels_view(dlpark_view *view, const dlpark_pixels *pixels, const char *wanted,
                                 dlpark_image_layout layout, dlpark_error *err)
{
    pixels_described described;

    DLPARK_TRY(pixels_describe(pixels, wanted, layout, &described, err));
    return dlpark_array_view(view, &described.desc, err);
}

dlpark_status dlpark_pixels_import(dlpark_tensor *tensor, dlpark_pixels *pixels, const char *wanted,
                                   dlpark_image_layout layout, dlpark_view *view, dlpark_error *err)
{
    pixels_described described;

    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, NULL);
    DLPARK_TRY(pixels_describe(pixels, wanted, layout, &described, err));
    described.desc.owner = pixels->owner;
    described.desc.release = pixels->release;
    DLPARK_TRY(dlpark_tensor_new(tensor, &described.desc, view, err));
    memset(pixels, 0, sizeof *pixels);
    return DLPARK_OK;
}
