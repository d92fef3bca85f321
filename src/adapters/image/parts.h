/*
 * What the PNG and the WebP codec share: numbers in files, the order of bytes, and whole pictures for a sink.
 */
#ifndef DLPARK_IMAGE_PARTS_H
#define DLPARK_IMAGE_PARTS_H

#include <stdlib.h>
#include <string.h>

#include "codec.h"

static inline uint32_t parts_load_be32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline uint32_t parts_load_le32(const unsigned char *bytes)
{
    return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

static inline bool parts_host_is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* Zeroed memory for `rows` rows; NULL when there is none or the size does not fit. free() ends it. */
static inline void *parts_alloc_rows(size_t rows, size_t row_nbytes)
{
    return calloc(rows, row_nbytes);
}

/* Puts a whole decoded picture. */
static inline void parts_put_picture(const image_sink *sink, const unsigned char *rows, size_t pitch_nbytes,
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
static inline bool parts_zero_rows_from(const image_sink *sink, int32_t first)
{
    if (first >= sink->height)
        return true;
    void *zeros = parts_alloc_rows((size_t)sink->width, (size_t)sink->channels);
    if (zeros == NULL)
        return false;
    for (int32_t y = first; y < sink->height; y++)
        dlpark__image_sink_put(sink, y, zeros, IMAGE_U8, sink->channels);
    free(zeros);
    return true;
}

#endif
