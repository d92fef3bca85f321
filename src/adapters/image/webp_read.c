/*
 * WebP files by libwebp's advanced interface, which writes RGB or RGBA into memory of ours.
 *
 * What it cannot write in place it writes once beside it; or, where the tensor's samples are wider than a byte, into
 * the end of the tensor's own memory, from where the rows are widened forward without ever catching up.
 */
#include <limits.h>
#include <string.h>
#include <webp/decode.h>

#include "parts.h"

#define READWEBP_HEAD 12 /* "RIFF", size, "WEBP" */

/* Where the decoder writes. */
typedef struct readwebp_target {
    unsigned char *data; /* the lowest address of any row */
    size_t pitch_nbytes;
    size_t nbytes;
    int32_t channels; /* 3 or 4 */
    bool flip;        /* bottom row first */
} readwebp_target;

static bool readwebp_matches(const unsigned char *bytes, size_t nbytes)
{
    return nbytes >= READWEBP_HEAD && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
}

/* ---- messages ---- */

static dlpark_status readwebp_fail(const image_reader *reader, VP8StatusCode code, dlpark_error *err)
{
    const int width = (int)reader->head.width;
    const int height = (int)reader->head.height;
    const char *advice = width > 0 ? IMAGE_TOLERABLE : ""; /* nobody goes on without a head */
    switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
    case VP8_STATUS_USER_ABORT: /* nobody aborts here: a buffer for rows was not to be had */
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a WebP of %d x %d pixels", reader->name,
                                width, height);
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
        return dlpark_error_set(err, DLPARK_E_FORMAT, "%s: the WebP is cut short after %zu bytes%s", reader->name,
                                reader->nbytes, advice);
    case VP8_STATUS_BITSTREAM_ERROR:
        return dlpark_error_set(
            err, DLPARK_E_FORMAT,
            "%s: damaged WebP: its %zu bytes do not decode (or memory is out, which libwebp does not "
            "tell apart)%s",
            reader->name, reader->nbytes, advice);
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "%s: a WebP of a kind that libwebp does not know",
                                reader->name);
    default:
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "%s: libwebp failed with status %d on %d x %d pixels",
                                reader->name, (int)code, width, height);
    }
}

/* ---- open ---- */

/* Bytes of the container by its head; no more than the file has. */
static size_t readwebp_container(const image_reader *reader)
{
    uint64_t said = (uint64_t)parts_load_le32(reader->bytes + 4) + 8;
    return said < reader->nbytes ? (size_t)said : reader->nbytes;
}

/* The orientation and the number of frames: chunks of the extended format, in any order behind its head. */
static int readwebp_walk(image_reader *reader)
{
    const unsigned char *bytes = reader->bytes;
    const size_t end = readwebp_container(reader);
    int frames = 0;
    size_t at = READWEBP_HEAD;
    while (at <= end && end - at >= 8) {
        size_t said = parts_load_le32(bytes + at + 4);
        size_t there = said < end - at - 8 ? said : end - at - 8;
        if (memcmp(bytes + at, "ANMF", 4) == 0)
            frames++;
        if (memcmp(bytes + at, "EXIF", 4) == 0)
            reader->head.orientation = dlpark__exif_orientation(bytes + at + 8, there);
        if (there < said || end - at - 8 - said < said % 2)
            break;
        at += 8 + said + said % 2;
    }
    return frames;
}

static dlpark_status readwebp_open(image_reader *reader, dlpark_error *err)
{
    reader->state = NULL;
    WebPBitstreamFeatures features;
    VP8StatusCode code = WebPGetFeatures(reader->bytes, reader->nbytes, &features);
    if (code != VP8_STATUS_OK)
        return readwebp_fail(reader, code, err);
    dlpark_image_info *head = &reader->head;
    head->format = DLPARK_IMAGE_WEBP;
    head->width = features.width;
    head->height = features.height;
    head->channels = features.has_alpha ? 4 : 3;
    head->bits = 8;
    head->orientation = 1;
    head->progressive = false;
    head->lossless = features.format == 2;
    int frames = readwebp_walk(reader);
    if (features.has_animation)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "%s: animated WebP (%d frames)", reader->name, frames);
    return DLPARK_OK;
}

static void readwebp_close(image_reader *reader)
{
    reader->state = NULL;
}

/* ---- decode ---- */

/* The rows that a damaged file still gives, then zeros. */
static VP8StatusCode readwebp_what_is_there(const image_reader *reader, WebPDecoderConfig *config,
                                            const readwebp_target *target)
{
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, config);
    if (decoder == NULL)
        return VP8_STATUS_OUT_OF_MEMORY;
    VP8StatusCode code = WebPIUpdate(decoder, reader->bytes, reader->nbytes);
    int32_t complete = reader->head.height;
    if (code != VP8_STATUS_OK) {
        int last = 0;
        complete = WebPIDecGetRGB(decoder, &last, NULL, NULL, NULL) != NULL ? last : 0;
    }
    WebPIDelete(decoder);
    const size_t row_nbytes = (size_t)reader->head.width * (size_t)target->channels;
    for (int32_t y = complete; y < reader->head.height; y++) {
        size_t row = (size_t)(target->flip ? reader->head.height - 1 - y : y);
        memset(target->data + row * target->pitch_nbytes, 0, row_nbytes);
    }
    /* Other codes mean damage here, USER_ABORT too: alpha that does not decode. */
    return code == VP8_STATUS_OUT_OF_MEMORY ? code : VP8_STATUS_OK;
}

static dlpark_status readwebp_run(const image_reader *reader, const readwebp_target *target, dlpark_error *err)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "%s: libwebp is of another version than its header",
                                reader->name);
    config.options.flip = target->flip;
    config.output.colorspace = target->channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = target->data;
    config.output.u.RGBA.stride = (int)target->pitch_nbytes;
    config.output.u.RGBA.size = target->nbytes;
    VP8StatusCode code;
    if (reader->tolerant)
        code = readwebp_what_is_there(reader, &config, target);
    else
        code = WebPDecode(reader->bytes, reader->nbytes, &config);
    WebPFreeDecBuffer(&config.output);
    return code == VP8_STATUS_OK ? DLPARK_OK : readwebp_fail(reader, code, err);
}

/* Whether the decoder can write into the sink itself; rows from the bottom up are its flip. */
static bool readwebp_is_direct(const image_sink *sink, readwebp_target *target)
{
    if (!dlpark__image_sink_is_direct(sink, IMAGE_U8, target->channels))
        return false;
    const size_t row_nbytes = (size_t)sink->width * (size_t)target->channels;
    const bool flip = sink->y_stride < 0;
    const size_t pitch_nbytes = flip ? (size_t)-sink->y_stride : (size_t)sink->y_stride;
    if (pitch_nbytes < row_nbytes || pitch_nbytes > INT_MAX)
        return false;
    target->data = flip ? sink->data + (sink->height - 1) * sink->y_stride : sink->data;
    target->pitch_nbytes = pitch_nbytes;
    target->nbytes = pitch_nbytes * (size_t)(sink->height - 1) + row_nbytes;
    target->flip = flip;
    return true;
}

/*
 * Whether the picture can lie at the end of the sink's memory while rows are put in order: no row may be written over
 * the rows behind it. The sink must have no holes, or they would be written, and no stride may run backwards: either
 * makes the distance from its first place to its last another than its size. Sides are at most 16384 here, so nothing
 * overflows. The distance between what is written and what is read changes evenly with the row: its ends decide.
 */
static bool readwebp_has_tail(const image_sink *sink, readwebp_target *target)
{
    const int64_t sample_nbytes = sink->sample == IMAGE_U8 ? 1 : sink->sample == IMAGE_U16 ? 2 : 4;
    const int64_t row_end = (sink->width - 1) * sink->x_stride + (sink->channels - 1) * sink->c_stride + sample_nbytes;
    const int64_t span = row_end + (sink->height - 1) * sink->y_stride;
    const int64_t row_nbytes = (int64_t)sink->width * target->channels;
    if (span != (int64_t)sink->width * sink->height * sink->channels * sample_nbytes ||
        span < row_nbytes * sink->height || row_end > span - row_nbytes * (sink->height - 1))
        return false;
    target->nbytes = (size_t)(row_nbytes * sink->height);
    target->data = sink->data + (span - row_nbytes * sink->height);
    target->pitch_nbytes = (size_t)row_nbytes;
    return true;
}

static dlpark_status readwebp_by_tail(const image_reader *reader, const image_sink *sink, const readwebp_target *target,
                                      dlpark_error *err)
{
    const int32_t block = dlpark__image_sink_block(sink);
    /* Rows of the last block lie where they are going to. */
    unsigned char *rows = parts_alloc_rows((size_t)block, target->pitch_nbytes);
    if (rows == NULL)
        return readwebp_fail(reader, VP8_STATUS_OUT_OF_MEMORY, err);
    dlpark_status status = readwebp_run(reader, target, err);
    for (int32_t y = 0; status == DLPARK_OK && y < sink->height; y += block) {
        int32_t nrows = sink->height - y < block ? sink->height - y : block;
        memcpy(rows, target->data + (size_t)y * target->pitch_nbytes, (size_t)nrows * target->pitch_nbytes);
        dlpark__image_sink_put_rows(sink, y, nrows, rows, target->pitch_nbytes, IMAGE_U8, target->channels);
    }
    free(rows);
    return status;
}

static dlpark_status readwebp_beside(const image_reader *reader, const image_sink *sink, readwebp_target *target,
                                     dlpark_error *err)
{
    target->pitch_nbytes = (size_t)sink->width * (size_t)target->channels;
    target->nbytes = target->pitch_nbytes * (size_t)sink->height;
    target->data = malloc(target->nbytes);
    if (target->data == NULL)
        return readwebp_fail(reader, VP8_STATUS_OUT_OF_MEMORY, err);
    dlpark_status status = readwebp_run(reader, target, err);
    if (status == DLPARK_OK)
        parts_put_picture(sink, target->data, target->pitch_nbytes, IMAGE_U8, target->channels);
    free(target->data);
    return status;
}

static dlpark_status readwebp_decode(image_reader *reader, const image_sink *sink, dlpark_error *err)
{
    /* libwebp would refuse it as well, but could not say how much is missing. */
    const uint64_t said = (uint64_t)parts_load_le32(reader->bytes + 4) + 8;
    if (!reader->tolerant && said > reader->nbytes)
        return dlpark_error_set(err, DLPARK_E_FORMAT, "%s: the WebP is cut short after %zu of %llu bytes%s",
                                reader->name, reader->nbytes, (unsigned long long)said, IMAGE_TOLERABLE);
    readwebp_target target = {.channels = reader->head.channels};
    if (sink->channels >= 3)
        target.channels = sink->channels;
    if (readwebp_is_direct(sink, &target))
        return readwebp_run(reader, &target, err);
    if (readwebp_has_tail(sink, &target))
        return readwebp_by_tail(reader, sink, &target, err);
    return readwebp_beside(reader, sink, &target, err);
}

const image_codec dlpark__image_webp = {
    .format = DLPARK_IMAGE_WEBP,
    .name = "WebP",
    .matches = readwebp_matches,
    .open = readwebp_open,
    .decode = readwebp_decode,
    .close = readwebp_close,
    .encode = dlpark__webp_encode,
};
