/*
 * WebP files by libwebp: interleaved RGB and RGBA rows are imported where they lie, all else goes row by row into the
 * encoder's own picture.
 */
#include <limits.h>
#include <string.h>
#include <webp/encode.h>

#include "parts.h"

typedef struct writewebp {
    WebPPicture picture;
    WebPConfig config;
    image_buffer *out;
    bool out_of_memory;
} writewebp;

static int writewebp_on_write(const uint8_t *bytes, size_t nbytes, const WebPPicture *picture)
{
    writewebp *w = picture->custom_ptr;
    if (dlpark__image_buffer_append(w->out, bytes, nbytes))
        return 1;
    w->out_of_memory = true;
    return 0;
}

static dlpark_status writewebp_configure(WebPConfig *config, const char *name, const dlpark_image_save_desc *desc,
                                         dlpark_error *err)
{
    if (!WebPConfigInit(config))
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "%s: libwebp is of another version than its header", name);
    config->thread_level = 0;
    if (desc->lossless) {
        config->lossless = 1;
        config->exact = 1; /* pixels that alpha hides keep their colours */
        if (desc->compression != 0 && !WebPConfigLosslessPreset(config, desc->compression))
            return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: compression is %d, lossless WebP has 1 to 9", name,
                                    (int)desc->compression);
    } else {
        config->quality = (float)desc->quality;
        if (desc->compression != 0)
            config->method = desc->compression;
    }
    if (!WebPValidateConfig(config))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: WebP of quality %d with compression %d is not possible",
                                name, (int)desc->quality, (int)desc->compression);
    return DLPARK_OK;
}

static void writewebp_row(uint32_t *argb, const unsigned char *row, int32_t channels, int32_t width)
{
    for (int32_t x = 0; x < width; x++, row += channels) {
        const unsigned char *green = channels >= 3 ? row + 1 : row;
        const unsigned char *blue = channels >= 3 ? row + 2 : row;
        uint32_t alpha = channels % 2 == 0 ? row[channels - 1] : 0xff;
        argb[x] = alpha << 24 | (uint32_t)row[0] << 16 | (uint32_t)*green << 8 | *blue;
    }
}

/* Row by row into the encoder's picture, which then needs no second picture beside it. */
static bool writewebp_gather(WebPPicture *picture, const image_source *source)
{
    unsigned char *row = parts_alloc_rows((size_t)source->width, (size_t)source->channels);
    picture->use_argb = 1;
    bool done = row != NULL && WebPPictureAlloc(picture);
    for (int32_t y = 0; done && y < source->height; y++) {
        dlpark__image_source_get(source, y, row);
        writewebp_row(picture->argb + (ptrdiff_t)y * picture->argb_stride, row, source->channels, source->width);
    }
    free(row);
    return done;
}

static bool writewebp_import(writewebp *w, const image_source *source)
{
    const ptrdiff_t row_nbytes = (ptrdiff_t)source->width * source->channels;
    w->picture.width = source->width;
    w->picture.height = source->height;
    w->picture.use_argb = w->config.lossless;
    w->picture.writer = writewebp_on_write;
    w->picture.custom_ptr = w;
    if (source->channels < 3 || !dlpark__image_source_is_direct(source) || source->y_stride < row_nbytes ||
        source->y_stride > INT_MAX)
        return writewebp_gather(&w->picture, source);
    if (source->channels == 3)
        return WebPPictureImportRGB(&w->picture, source->data, (int)source->y_stride) != 0;
    return WebPPictureImportRGBA(&w->picture, source->data, (int)source->y_stride) != 0;
}

static dlpark_status writewebp_all(writewebp *w, const image_source *source, const dlpark_image_save_desc *desc,
                                   dlpark_error *err)
{
    DLPARK_TRY(writewebp_configure(&w->config, source->name, desc, err));
    const int width = (int)source->width;
    const int height = (int)source->height;
    if (!writewebp_import(w, source))
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a WebP of %d x %d pixels", source->name,
                                width, height);
    if (WebPEncode(&w->config, &w->picture))
        return DLPARK_OK;
    const WebPEncodingError code = w->picture.error_code;
    /* The alpha plane's encoder fails without a reason, and then memory is out: all else was checked before. */
    if (w->out_of_memory || code == VP8_ENC_OK || code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
        code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a WebP of %d x %d pixels", source->name,
                                width, height);
    if (code == VP8_ENC_ERROR_PARTITION0_OVERFLOW || code == VP8_ENC_ERROR_PARTITION_OVERFLOW ||
        code == VP8_ENC_ERROR_FILE_TOO_BIG)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                                "%s: %d x %d pixels make more bytes than WebP can hold (libwebp's error %d)",
                                source->name, width, height, (int)code);
    return dlpark_error_set(err, DLPARK_E_FOREIGN, "%s: libwebp cannot write %d x %d pixels, its error %d",
                            source->name, width, height, (int)code);
}

dlpark_status dlpark__webp_encode(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                                  dlpark_error *err)
{
    if (source->width > WEBP_MAX_DIMENSION || source->height > WEBP_MAX_DIMENSION)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                                "%s: WebP cannot store %d x %d pixels, a side has at most %d: save as PNG",
                                source->name, (int)source->width, (int)source->height, WEBP_MAX_DIMENSION);
    writewebp w = {.out = out};
    if (!WebPPictureInit(&w.picture))
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "%s: libwebp is of another version than its header",
                                source->name);
    dlpark_status status = writewebp_all(&w, source, desc, err);
    WebPPictureFree(&w.picture);
    return status;
}
