/*
 * What the PNG and the WebP codec share: their encoders, which lie in files of their own, and a few sizes and rows.
 */
#ifndef DLPARK_IMAGE_PARTS_H
#define DLPARK_IMAGE_PARTS_H

#include <stdlib.h>

#include "codec.h"

dlpark_status dlpark__png_encode(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                                 dlpark_error *err);
dlpark_status dlpark__webp_encode(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                                  dlpark_error *err);

static inline uint32_t parts_be32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline uint32_t parts_le32(const unsigned char *bytes)
{
    return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

/* Zeroed memory for `rows` rows; NULL when there is none or the size does not fit. free() ends it. */
static inline void *parts_rows(size_t rows, size_t row_nbytes)
{
    return calloc(rows, row_nbytes);
}

/* Puts a whole decoded picture. */
static inline void parts_put(const image_sink *sink, const unsigned char *rows, size_t pitch_nbytes,
                             image_sample sample, int32_t channels)
{
    int32_t block = dlpark__image_sink_block(sink);
    for (int32_t y = 0; y < sink->height; y += block) {
        int32_t nrows = sink->height - y < block ? sink->height - y : block;
        dlpark__image_sink_put_rows(sink, y, nrows, rows + (size_t)y * pitch_nbytes, pitch_nbytes, sample, channels);
    }
}

/* Makes the sink's rows from `first` on zero in every channel, so that nothing undefined is left where a damaged file
 * said nothing. False when memory is out. */
static inline bool parts_blank(const image_sink *sink, int32_t first)
{
    if (first >= sink->height)
        return true;
    void *zeros = parts_rows((size_t)sink->width, (size_t)sink->channels);
    if (zeros == NULL)
        return false;
    for (int32_t y = first; y < sink->height; y++)
        dlpark__image_sink_put(sink, y, zeros, IMAGE_U8, sink->channels);
    free(zeros);
    return true;
}

#endif
