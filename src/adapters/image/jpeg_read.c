/*
 * JPEG files. libjpeg converts colours and upsamples; where the tensor's rows are interleaved u8 it writes them itself,
 * elsewhere a few rows at a time pass through a buffer that stays in the cache.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jpeg_fault.h"

#define READJPEG_MARKER_EXIF (JPEG_APP0 + 1)

/* libjpeg gives at most one group of rows a call, which is 4 rows at most. */
#define READJPEG_ROWS_DIRECT 4
#define READJPEG_ROWS_MOST   64

typedef struct readjpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_progress_mgr progress;
    jpegfault fault;
    int32_t max_scans;
    const unsigned char *bytes;
    size_t nbytes;
    const image_sink *sink;
    int32_t channels; /* of the rows that come out of readjpeg_fill */
    bool direct;
    int32_t block; /* rows of `rows` */
    size_t pitch_nbytes;
    unsigned char *rows;
} readjpeg;

static bool readjpeg_matches(const unsigned char *bytes, size_t nbytes)
{
    return nbytes >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

/* libjpeg calls this for every group of rows of every scan, also while it only collects them. */
static void readjpeg_count_scans(j_common_ptr cinfo)
{
    readjpeg *reader = cinfo->client_data;
    if (reader->cinfo.input_scan_number > reader->max_scans)
        dlpark__jpeg_fault_raise(&reader->fault, DLPARK_E_LIMIT, "has more scans than max_scans, %" PRId32,
                                 reader->max_scans);
}

static void readjpeg_head(void *context)
{
    readjpeg *reader = context;
    jpeg_create_decompress(&reader->cinfo);
    reader->cinfo.client_data = reader;
    reader->progress.progress_monitor = readjpeg_count_scans;
    reader->cinfo.progress = &reader->progress;
    jpeg_mem_src(&reader->cinfo, reader->bytes, (unsigned long)reader->nbytes);
    jpeg_save_markers(&reader->cinfo, READJPEG_MARKER_EXIF, 0xFFFF);
    (void)jpeg_read_header(&reader->cinfo, TRUE);
    if (reader->cinfo.arith_code)
        dlpark__jpeg_fault_raise(&reader->fault, DLPARK_E_UNSUPPORTED, "JPEG with arithmetic coding is not supported");
    if (reader->cinfo.jpeg_color_space == JCS_UNKNOWN)
        dlpark__jpeg_fault_raise(&reader->fault, DLPARK_E_UNSUPPORTED,
                                 "JPEG with %d colour components is not supported", reader->cinfo.num_components);
}

static int32_t readjpeg_orientation(const struct jpeg_decompress_struct *cinfo)
{
    for (jpeg_saved_marker_ptr marker = cinfo->marker_list; marker; marker = marker->next)
        if (marker->marker == READJPEG_MARKER_EXIF && marker->data_length >= 6 &&
            memcmp(marker->data, "Exif\0\0", 6) == 0)
            return dlpark__exif_orientation(marker->data, marker->data_length);
    return 1;
}

static void readjpeg_close(image_reader *reader)
{
    readjpeg *state = reader->state;
    jpeg_destroy_decompress(&state->cinfo);
    free(state);
    reader->state = NULL;
}

static dlpark_status readjpeg_open(image_reader *reader, dlpark_error *err)
{
    readjpeg *state = calloc(1, sizeof *state);
    if (!state)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for the decoder", reader->name);
    state->cinfo.err = dlpark__jpeg_fault_init(&state->fault, reader->tolerant);
    state->max_scans = reader->max_scans;
    state->bytes = reader->bytes;
    state->nbytes = reader->nbytes;
    reader->state = state;
    if (!dlpark__jpeg_guard(&state->fault, readjpeg_head, state)) {
        dlpark_status status = dlpark__jpeg_fault_report(&state->fault, reader->name, "", err);
        readjpeg_close(reader);
        return status;
    }
    const struct jpeg_decompress_struct *cinfo = &state->cinfo;
    reader->head = (dlpark_image_info){
        .format = DLPARK_IMAGE_JPEG,
        .width = (int32_t)cinfo->image_width,
        .height = (int32_t)cinfo->image_height,
        .channels = cinfo->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3,
        .bits = 8,
        .orientation = readjpeg_orientation(cinfo),
        .progressive = cinfo->progressive_mode != 0,
    };
    return DLPARK_OK;
}

/* Chooses what libjpeg shall give: the asked channels where it can, or what the sink can make them from. */
static void readjpeg_choose(readjpeg *reader)
{
    J_COLOR_SPACE from = reader->cinfo.jpeg_color_space;
    J_COLOR_SPACE *to = &reader->cinfo.out_color_space;
    int32_t wanted = reader->sink->channels;
    if (from == JCS_CMYK || from == JCS_YCCK) {
        *to = JCS_CMYK;
        reader->channels = 3;
    } else if (from == JCS_GRAYSCALE && wanted <= 2) {
        *to = JCS_GRAYSCALE;
        reader->channels = 1;
    } else if (from == JCS_YCbCr && wanted <= 2) {
        *to = JCS_GRAYSCALE; /* the file's own luma; the colours are not even decoded */
        reader->channels = 1;
    } else if (wanted == 4) {
        *to = JCS_EXT_RGBA;
        reader->channels = 4;
    } else {
        *to = JCS_EXT_RGB;
        reader->channels = 3;
    }
    reader->direct = *to != JCS_CMYK && dlpark__image_sink_is_direct(reader->sink, IMAGE_U8, reader->channels);
}

/*
 * In place, 4 samples to 3. Ink is stored as it is, or, by Adobe's programs, which leave a marker, as what the ink
 * leaves over; of that, a colour is what its own ink and black leave over together.
 */
static void readjpeg_cmyk_row(unsigned char *row, int32_t width, bool inverted)
{
    unsigned flip = inverted ? 0 : 0xFF;
    for (int32_t x = 0; x < width; x++) {
        const unsigned char *from = row + 4 * (ptrdiff_t)x;
        unsigned char *to = row + 3 * (ptrdiff_t)x;
        unsigned black = from[3] ^ flip;
        for (int c = 0; c < 3; c++)
            to[c] = (unsigned char)(((from[c] ^ flip) * black + 127) / 255);
    }
}

static void readjpeg_start(void *context)
{
    readjpeg *reader = context;
    (void)jpeg_start_decompress(&reader->cinfo);
}

static void readjpeg_rows_direct(void *context)
{
    readjpeg *reader = context;
    struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    JSAMPROW rows[READJPEG_ROWS_DIRECT];
    while (cinfo->output_scanline < cinfo->output_height) {
        unsigned left = cinfo->output_height - cinfo->output_scanline;
        unsigned count = left < READJPEG_ROWS_DIRECT ? left : READJPEG_ROWS_DIRECT;
        for (unsigned i = 0; i < count; i++)
            rows[i] = reader->sink->data + (ptrdiff_t)(cinfo->output_scanline + i) * reader->sink->y_stride;
        (void)jpeg_read_scanlines(cinfo, rows, count);
    }
}

/* Fills the buffer with as many rows as it holds or the picture still has. */
static unsigned readjpeg_fill(readjpeg *reader)
{
    struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    unsigned left = cinfo->output_height - cinfo->output_scanline;
    unsigned wanted = left < (unsigned)reader->block ? left : (unsigned)reader->block;
    JSAMPROW rows[READJPEG_ROWS_MOST];
    for (unsigned i = 0; i < wanted; i++)
        rows[i] = reader->rows + i * reader->pitch_nbytes;
    for (unsigned got = 0; got < wanted;)
        got += jpeg_read_scanlines(cinfo, rows + got, wanted - got);
    return wanted;
}

static void readjpeg_rows_put(void *context)
{
    readjpeg *reader = context;
    struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    while (cinfo->output_scanline < cinfo->output_height) {
        int32_t y = (int32_t)cinfo->output_scanline;
        unsigned count = readjpeg_fill(reader);
        if (cinfo->out_color_space == JCS_CMYK)
            for (unsigned i = 0; i < count; i++)
                readjpeg_cmyk_row(reader->rows + i * reader->pitch_nbytes, reader->sink->width,
                                  cinfo->saw_Adobe_marker);
        dlpark__image_sink_put_rows(reader->sink, y, (int32_t)count, reader->rows, reader->pitch_nbytes, IMAGE_U8,
                                    reader->channels);
    }
}

/* Reads what follows the rows: a file that ends before its end marker is cut short. */
static void readjpeg_finish(void *context)
{
    readjpeg *reader = context;
    if (reader->fault.tolerant)
        return;
    reader->fault.tolerable = true;
    (void)jpeg_finish_decompress(&reader->cinfo);
}

static bool readjpeg_run(readjpeg *reader)
{
    void (*rows)(void *) = reader->direct ? readjpeg_rows_direct : readjpeg_rows_put;
    return dlpark__jpeg_guard(&reader->fault, readjpeg_start, reader) &&
           dlpark__jpeg_guard(&reader->fault, rows, reader) &&
           dlpark__jpeg_guard(&reader->fault, readjpeg_finish, reader);
}

static dlpark_status readjpeg_decode(image_reader *reader, const image_sink *sink, dlpark_error *err)
{
    readjpeg *state = reader->state;
    state->sink = sink;
    readjpeg_choose(state);
    if (!state->direct) {
        state->block = dlpark__image_sink_block(sink);
        state->pitch_nbytes = (size_t)sink->width * 4;
        state->rows = malloc(state->pitch_nbytes * (size_t)state->block);
        if (!state->rows)
            return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for %" PRId32 " rows", reader->name,
                                    state->block);
    }
    bool done = readjpeg_run(state);
    free(state->rows);
    state->rows = NULL;
    bool tolerable = state->fault.tolerable && state->fault.status == DLPARK_E_FORMAT;
    return done ? DLPARK_OK
                : dlpark__jpeg_fault_report(&state->fault, reader->name, tolerable ? IMAGE_TOLERABLE : "", err);
}

const image_codec dlpark__image_jpeg = {
    .format = DLPARK_IMAGE_JPEG,
    .name = "JPEG",
    .matches = readjpeg_matches,
    .open = readjpeg_open,
    .decode = readjpeg_decode,
    .close = readjpeg_close,
    .encode = dlpark__jpeg_encode,
};
