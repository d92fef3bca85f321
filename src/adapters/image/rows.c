/*
 * Rows from decoders to tensors and from tensors to encoders: channels are mapped first, in short runs that stay in the
 * cache, then samples are converted and put where the strides say.
 */
#include <string.h>

#include "adapter.h"

/* Pixels that are mapped at a time. */
#define ROW_RUN ((size_t)256)

/* Columns that are turned at a time where rows and columns are swapped. */
#define ROW_TILE 16

/* Rows that a decoder collects. Where rows and columns are swapped, they become pixels that fill whole cache lines. */
#define ROW_BLOCK_SWAPPED 64
#define ROW_BLOCK_PLAIN   4

typedef struct row_block {
    const unsigned char *rows;
    size_t pitch_nbytes;
    image_sample sample;
    int32_t channels;
    int32_t y;
    int32_t nrows;
} row_block;

static ptrdiff_t row_distance(ptrdiff_t stride)
{
    return stride < 0 ? -stride : stride;
}

static bool row_is_swapped(const image_sink *sink)
{
    return row_distance(sink->y_stride) < row_distance(sink->x_stride);
}

bool dlpark__image_sink_is_direct(const image_sink *sink, image_sample sample, int32_t channels)
{
    ptrdiff_t nbytes = (ptrdiff_t)dlpark__image_sample_nbytes(sample);
    return sink->sample == sample && sink->channels == channels && sink->c_stride == nbytes &&
           sink->x_stride == channels * nbytes;
}

int32_t dlpark__image_sink_block(const image_sink *sink)
{
    return row_is_swapped(sink) ? ROW_BLOCK_SWAPPED : ROW_BLOCK_PLAIN;
}

static uint32_t row_sample(const unsigned char *pixels, image_sample sample, size_t at)
{
    if (sample == IMAGE_U8)
        return pixels[at];
    uint16_t value;
    memcpy(&value, pixels + at * sizeof value, sizeof value);
    return value;
}

static void row_sample_set(unsigned char *pixels, image_sample sample, size_t at, uint32_t value)
{
    if (sample == IMAGE_U8) {
        pixels[at] = (unsigned char)value;
    } else {
        uint16_t narrow = (uint16_t)value;
        memcpy(pixels + at * sizeof narrow, &narrow, sizeof narrow);
    }
}

static void row_map_copy(unsigned char *mapped, size_t to, const unsigned char *pixels, size_t from,
                         image_sample sample, size_t count)
{
    for (size_t i = 0; i < count; i++)
        row_sample_set(mapped, sample, i * to, row_sample(pixels, sample, i * from));
}

static void row_map_opaque(unsigned char *mapped, size_t to, image_sample sample, size_t count)
{
    for (size_t i = 0; i < count; i++)
        row_sample_set(mapped, sample, i * to, sample == IMAGE_U8 ? UINT8_MAX : UINT16_MAX);
}

static void row_map_grey(unsigned char *mapped, size_t to, const unsigned char *pixels, size_t from,
                         image_sample sample, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t red = row_sample(pixels, sample, i * from);
        uint32_t green = row_sample(pixels, sample, i * from + 1);
        uint32_t blue = row_sample(pixels, sample, i * from + 2);
        row_sample_set(mapped, sample, i * to, (299 * red + 587 * green + 114 * blue + 500) / 1000);
    }
}

/* Interleaved pixels of `from` channels as pixels of `to` channels, one channel after the other. */
static void row_map(unsigned char *mapped, int32_t to, const unsigned char *pixels, image_sample sample, int32_t from,
                    size_t count)
{
    size_t nbytes = dlpark__image_sample_nbytes(sample);
    for (int32_t c = 0; c < to; c++) {
        unsigned char *out = mapped + (size_t)c * nbytes;
        bool is_alpha = to % 2 == 0 && c == to - 1;
        if (is_alpha && from % 2 == 1)
            row_map_opaque(out, (size_t)to, sample, count);
        else if (is_alpha)
            row_map_copy(out, (size_t)to, pixels + (size_t)(from - 1) * nbytes, (size_t)from, sample, count);
        else if (to <= 2 && from >= 3)
            row_map_grey(out, (size_t)to, pixels, (size_t)from, sample, count);
        else
            row_map_copy(out, (size_t)to, pixels + (from >= 3 ? (size_t)c * nbytes : 0), (size_t)from, sample, count);
    }
}

/* Pixels with the sink's channels, from column x of row y on. */
static void row_scatter(const image_sink *sink, int32_t y, size_t x, const void *pixels, image_sample sample,
                        size_t count)
{
    unsigned char *to = sink->data + y * sink->y_stride + (ptrdiff_t)x * sink->x_stride;
    ptrdiff_t nbytes = (ptrdiff_t)dlpark__image_sample_nbytes(sink->sample);
    size_t channels = (size_t)sink->channels;
    if (dlpark__image_sink_is_direct(sink, sink->sample, sink->channels))
        dlpark__image_samples(to, nbytes, sink->sample, pixels, 1, sample, count * channels);
    else if (channels == 3 && sample == IMAGE_U8 && sink->sample != IMAGE_U16 && sink->x_stride == nbytes)
        dlpark__image_samples_split(to, sink->c_stride, sink->sample, pixels, count);
    else
        for (size_t c = 0; c < channels; c++)
            dlpark__image_samples(to + (ptrdiff_t)c * sink->c_stride, sink->x_stride, sink->sample,
                                  (const unsigned char *)pixels + c * dlpark__image_sample_nbytes(sample), channels,
                                  sample, count);
}

/* Pixels of one size, columns first. The size is a constant wherever this is inlined. */
static inline void row_turn_pixels(unsigned char *turned, const row_block *block, size_t first, size_t count,
                                   bool backwards, size_t pixel_nbytes)
{
    size_t nrows = (size_t)block->nrows;
    for (size_t i = 0; i < nrows; i++) {
        size_t row = backwards ? nrows - 1 - i : i;
        const unsigned char *from = block->rows + row * block->pitch_nbytes + first * pixel_nbytes;
        for (size_t x = 0; x < count; x++)
            memcpy(turned + (x * nrows + i) * pixel_nbytes, from + x * pixel_nbytes, pixel_nbytes);
    }
}

static void row_turn(unsigned char *turned, const row_block *block, size_t first, size_t count, bool backwards)
{
    switch ((size_t)block->channels * dlpark__image_sample_nbytes(block->sample)) {
    case 1:
        row_turn_pixels(turned, block, first, count, backwards, 1);
        break;
    case 2:
        row_turn_pixels(turned, block, first, count, backwards, 2);
        break;
    case 3:
        row_turn_pixels(turned, block, first, count, backwards, 3);
        break;
    case 4:
        row_turn_pixels(turned, block, first, count, backwards, 4);
        break;
    case 6:
        row_turn_pixels(turned, block, first, count, backwards, 6);
        break;
    default:
        row_turn_pixels(turned, block, first, count, backwards, 8);
        break;
    }
}

/*
 * Stored columns are rows of the tensor: a tile is turned in the cache, in the direction in which the tensor's
 * addresses grow, and then each of its columns is put as if it were a short row.
 */
static void row_scatter_swapped(const image_sink *sink, const row_block *block)
{
    uint16_t turned[ROW_BLOCK_SWAPPED * ROW_TILE * 4];
    bool backwards = sink->y_stride < 0;
    int32_t lowest = backwards ? block->y + block->nrows - 1 : block->y;
    image_sink run = *sink;
    run.data = sink->data + lowest * sink->y_stride;
    run.x_stride = row_distance(sink->y_stride);
    run.y_stride = sink->x_stride;
    size_t column_nbytes = (size_t)block->nrows * (size_t)block->channels * dlpark__image_sample_nbytes(block->sample);
    for (int32_t first = 0; first < sink->width; first += ROW_TILE) {
        int32_t count = sink->width - first < ROW_TILE ? sink->width - first : ROW_TILE;
        row_turn((unsigned char *)turned, block, (size_t)first, (size_t)count, backwards);
        for (int32_t x = 0; x < count; x++)
            row_scatter(&run, first + x, 0, (unsigned char *)turned + (size_t)x * column_nbytes, block->sample,
                        (size_t)block->nrows);
    }
}

static void row_put_mapped(const image_sink *sink, int32_t y, const unsigned char *row, image_sample sample,
                           int32_t channels)
{
    uint16_t mapped[ROW_RUN * 4];
    size_t pixel_nbytes = (size_t)channels * dlpark__image_sample_nbytes(sample);
    size_t width = (size_t)sink->width;
    for (size_t x = 0; x < width; x += ROW_RUN) {
        size_t count = width - x < ROW_RUN ? width - x : ROW_RUN;
        row_map((unsigned char *)mapped, sink->channels, row + x * pixel_nbytes, sample, channels, count);
        row_scatter(sink, y, x, mapped, sample, count);
    }
}

void dlpark__image_sink_put_rows(const image_sink *sink, int32_t y, int32_t nrows, const void *rows,
                                 size_t pitch_nbytes, image_sample sample, int32_t channels)
{
    const unsigned char *first = rows;
    bool is_swapped = nrows > 1 && channels == sink->channels && row_is_swapped(sink);
    int32_t step = is_swapped ? ROW_BLOCK_SWAPPED : 1;
    for (int32_t i = 0; i < nrows; i += step) {
        const unsigned char *row = first + (size_t)i * pitch_nbytes;
        if (is_swapped)
            row_scatter_swapped(
                sink, &(row_block){row, pitch_nbytes, sample, channels, y + i, nrows - i < step ? nrows - i : step});
        else if (channels == sink->channels)
            row_scatter(sink, y + i, 0, row, sample, (size_t)sink->width);
        else
            row_put_mapped(sink, y + i, row, sample, channels);
    }
}

void dlpark__image_sink_put(const image_sink *sink, int32_t y, const void *row, image_sample sample, int32_t channels)
{
    dlpark__image_sink_put_rows(sink, y, 1, row, 0, sample, channels);
}

bool dlpark__image_source_is_direct(const image_source *source)
{
    ptrdiff_t nbytes = (ptrdiff_t)dlpark__image_sample_nbytes(source->sample);
    return source->c_stride == nbytes && source->x_stride == source->channels * nbytes;
}

/* A gather is a conversion to the same depth, into interleaved places. */
void dlpark__image_source_get(const image_source *source, int32_t y, void *row)
{
    const unsigned char *from = source->data + y * source->y_stride;
    size_t nbytes = dlpark__image_sample_nbytes(source->sample);
    if (dlpark__image_source_is_direct(source)) {
        memcpy(row, from, (size_t)source->width * (size_t)source->channels * nbytes);
        return;
    }
    unsigned char *to = row;
    for (int32_t x = 0; x < source->width; x++, from += source->x_stride)
        for (int32_t c = 0; c < source->channels; c++, to += nbytes)
            memcpy(to, from + c * source->c_stride, nbytes);
}
