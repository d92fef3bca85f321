/* Which codec reads a file, and what a file says of itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"

#define IMAGE_SCANS_DEFAULT  256
#define IMAGE_CHUNKS_DEFAULT 1000

/* Bytes of an unknown file that its error message shows. */
#define IMAGE_HEAD_SHOWN 8

static const image_codec *const image_codecs[] = {&dlpark__image_jpeg, &dlpark__image_png, &dlpark__image_webp};

#define IMAGE_CODEC_COUNT (sizeof image_codecs / sizeof *image_codecs)

const image_codec *dlpark__image_codec_find(dlpark_image_format format)
{
    for (size_t i = 0; i < IMAGE_CODEC_COUNT; i++)
        if (image_codecs[i]->format == format)
            return image_codecs[i];
    return NULL;
}

image_axes dlpark__image_axes(dlpark_image_layout layout)
{
    return layout == DLPARK_IMAGE_CHW ? (image_axes){1, 2, 0} : (image_axes){0, 1, 2};
}

image_shape_text dlpark__image_shape_text(int32_t ndim, const int64_t *shape)
{
    image_shape_text out = {"["};
    size_t at = 1;
    for (int32_t i = 0; i < ndim && at < sizeof out.text; i++) {
        int put = snprintf(out.text + at, sizeof out.text - at, "%s%" PRId64, i ? ", " : "", shape[i]);
        at += put > 0 ? (size_t)put : 0;
    }
    if (at < sizeof out.text - 1)
        memcpy(out.text + at, "]", 2);
    return out;
}

dlpark_status dlpark__image_desc_copy(void *desc, size_t known_nbytes, const void *given, size_t nbytes,
                                      dlpark_error *err)
{
    if (!given)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "desc is NULL");
    memset(desc, 0, known_nbytes);
    memcpy(desc, given, nbytes < known_nbytes ? nbytes : known_nbytes);
    for (size_t i = known_nbytes; i < nbytes; i++)
        if (((const unsigned char *)given)[i])
            return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                    "desc sets a field at byte %zu that this version of dlpark does not have", i);
    return DLPARK_OK;
}

static dlpark_status image_check_source(const dlpark_image_load_desc *desc, dlpark_error *err)
{
    if (desc->path && desc->bytes)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "desc has both a path and bytes");
    if (!desc->bytes && desc->nbytes)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "desc has nbytes without bytes: nbytes is %zu, bytes is NULL",
                                desc->nbytes);
    if (!desc->path && !desc->bytes)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "desc has neither a path nor bytes");
    if (desc->max_pixels < 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "max_pixels is %" PRId64, desc->max_pixels);
    if (desc->max_scans < 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "max_scans is %" PRId32, desc->max_scans);
    if (desc->max_chunks < 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "max_chunks is %" PRId32, desc->max_chunks);
    if (desc->reserved != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "reserved is %" PRId32 ", not 0", desc->reserved);
    return DLPARK_OK;
}

static DLPARK_COLD dlpark_status image_fail_unknown(const char *name, const unsigned char *bytes, size_t nbytes,
                                                    dlpark_error *err)
{
    char shown[3 * IMAGE_HEAD_SHOWN + 1] = "";
    for (size_t i = 0; i < IMAGE_HEAD_SHOWN && i < nbytes; i++)
        (void)snprintf(shown + 3 * i, 4, " %02X", bytes[i]);
    if (nbytes == 0)
        return dlpark_error_set(err, DLPARK_E_FORMAT, "%s: is empty, neither JPEG, PNG nor WebP", name);
    return dlpark_error_set(err, DLPARK_E_FORMAT, "%s: neither JPEG, PNG nor WebP: its first bytes are%s", name, shown);
}

dlpark_status dlpark__image_codec_match(const image_codec **codec, const char *name, const unsigned char *bytes,
                                        size_t nbytes, dlpark_error *err)
{
    for (size_t i = 0; i < IMAGE_CODEC_COUNT; i++) {
        if (image_codecs[i]->matches(bytes, nbytes)) {
            *codec = image_codecs[i];
            return DLPARK_OK;
        }
    }
    return image_fail_unknown(name, bytes, nbytes, err);
}

static dlpark_status image_check_size(const image_reader *reader, dlpark_error *err)
{
    int64_t pixels = (int64_t)reader->head.width * reader->head.height;
    if (pixels <= reader->max_pixels)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_LIMIT,
                            "%s: %" PRId32 " x %" PRId32 " are %" PRId64 " pixels, and max_pixels is %" PRId64,
                            reader->name, reader->head.width, reader->head.height, pixels, reader->max_pixels);
}

static dlpark_status image_open_reader(image_reader *reader, dlpark_error *err)
{
    DLPARK_TRY(dlpark__image_codec_match(&reader->codec, reader->name, reader->bytes, reader->nbytes, err));
    DLPARK_TRY(reader->codec->open(reader, err));
    dlpark_status status = image_check_size(reader, err);
    if (status != DLPARK_OK)
        reader->codec->close(reader);
    return status;
}

dlpark_status dlpark__image_open(image_opened *opened, const dlpark_image_load_desc *desc, dlpark_error *err)
{
    *opened = (image_opened){0};
    DLPARK_TRY(image_check_source(desc, err));
    if (desc->path)
        DLPARK_TRY(dlpark__image_file_read(desc->path, IMAGE_FILE_MAX_NBYTES, &opened->file, err));
    opened->name = dlpark__image_name(desc->path);
    opened->reader = (image_reader){
        .name = opened->name.text,
        .bytes = desc->path ? opened->file.bytes : desc->bytes,
        .nbytes = desc->path ? opened->file.nbytes : desc->nbytes,
        .tolerant = desc->tolerant != 0,
        .max_pixels = desc->max_pixels ? desc->max_pixels : DLPARK_IMAGE_MAX_PIXELS,
        .max_scans = desc->max_scans ? desc->max_scans : IMAGE_SCANS_DEFAULT,
        .max_chunks = desc->max_chunks ? desc->max_chunks : IMAGE_CHUNKS_DEFAULT,
    };
    dlpark_status status = image_open_reader(&opened->reader, err);
    if (status != DLPARK_OK)
        free(opened->file.bytes);
    return status;
}

void dlpark__image_close(image_opened *opened)
{
    opened->reader.codec->close(&opened->reader);
    free(opened->file.bytes);
}

dlpark_status dlpark_image_read_info_sized(dlpark_image_info *info, const dlpark_image_load_desc *desc,
                                           size_t desc_nbytes, dlpark_error *err)
{
    dlpark_image_load_desc known;
    DLPARK_TRY(dlpark__image_desc_copy(&known, sizeof known, desc, desc_nbytes, err));
    if (!info)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "info is NULL");
    image_opened opened;
    DLPARK_TRY(dlpark__image_open(&opened, &known, err));
    dlpark_image_info head = opened.reader.head;
    if (head.orientation >= 5 && !known.keep_orientation) {
        head.width = opened.reader.head.height;
        head.height = opened.reader.head.width;
    }
    dlpark__image_close(&opened);
    *info = head;
    return DLPARK_OK;
}
