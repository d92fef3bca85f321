/*
 * Where every sample of described pixels lies, computed sample by sample, and the same of a view.
 */
#ifndef PIXELS_MADE_H
#define PIXELS_MADE_H

#include "test.h"

#include <stdlib.h>

#include <dlpark/pixels.h>

static inline int64_t made_or(int64_t given, int64_t otherwise)
{
    return given ? given : otherwise;
}

/* From the first sample of the first row, in bytes. */
static inline int64_t made_place(const dlpark_pixels *pixels, int64_t y, int64_t x, int64_t letter)
{
    const int64_t sample = pixels->dtype.bits / 8, letters = (int64_t)strlen(pixels->channels);
    const int64_t pixel = made_or(pixels->pixel_nbytes, pixels->planar ? sample : letters * sample);
    const int64_t row = made_or(pixels->pitch_nbytes, pixels->width * pixel);
    const int64_t plane = made_or(pixels->plane_nbytes, llabs(row) * pixels->height);

    return y * row + x * pixel + letter * (pixels->planar ? plane : sample);
}

static inline const unsigned char *made_first(const dlpark_pixels *pixels)
{
    return pixels->data ? pixels->data : pixels->data_const;
}

static inline const unsigned char *made_in_view(const dlpark_view *view, dlpark_image_layout layout, int64_t y,
                                                int64_t x, int64_t c)
{
    bool planar = layout == DLPARK_IMAGE_CHW;
    int64_t offset = planar ? c * view->strides[0] + y * view->strides[1] + x * view->strides[2]
                            : y * view->strides[0] + x * view->strides[1] + c * view->strides[2];

    return (const unsigned char *)view->data + offset * (view->dtype.bits / 8);
}

/* Every sample of the view is where the pixels have the channel of that letter. */
static inline void assert_same_samples(const dlpark_view *view, dlpark_image_layout layout, const char *letters,
                                       const dlpark_pixels *pixels)
{
    const int64_t channels = (int64_t)strlen(letters);
    const bool planar = layout == DLPARK_IMAGE_CHW;

    assert_int_equal(view->ndim, 3);
    assert_int_equal(view->shape[planar ? 1 : 0], pixels->height);
    assert_int_equal(view->shape[planar ? 2 : 1], pixels->width);
    assert_int_equal(view->shape[planar ? 0 : 2], channels);
    for (int64_t y = 0; y < pixels->height; y++)
        for (int64_t x = 0; x < pixels->width; x++)
            for (int64_t c = 0; c < channels; c++) {
                const char *letter = strchr(pixels->channels, letters[c]);
                assert_non_null(letter);
                assert_ptr_equal(made_in_view(view, layout, y, x, c),
                                 made_first(pixels) + made_place(pixels, y, x, letter - pixels->channels));
            }
}

#endif
