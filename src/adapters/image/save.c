/* Tensors to files: what can be refused is refused before a byte is encoded, and encoded before a file is touched. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <dlpark/device.h>
#include <dlpark/dtype.h>

#include "adapter.h"

#define IMAGE_SAVE_SUBSAMPLING_DEFAULT 420

static char image_save_lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

typedef struct image_ending {
    const char *text;
    dlpark_image_format format;
} image_ending;

static bool image_save_ends(const char *path, const char *ending)
{
    size_t length = strlen(path);
    size_t wanted = strlen(ending);
    if (length < wanted)
        return false;
    for (size_t i = 0; i < wanted; i++)
        if (image_save_lower(path[length - wanted + i]) != ending[i])
            return false;
    return true;
}

static dlpark_status image_save_format(dlpark_image_format *format, const char *path, const char *name,
                                       dlpark_error *err)
{
    static const image_ending endings[] = {{".jpg", DLPARK_IMAGE_JPEG},
                                           {".jpeg", DLPARK_IMAGE_JPEG},
                                           {".png", DLPARK_IMAGE_PNG},
                                           {".webp", DLPARK_IMAGE_WEBP}};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (!image_save_ends(path, endings[i].text))
            continue;
        size_t before = strlen(path) - strlen(endings[i].text);
        if (before == 0 || path[before - 1] == '/')
            return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                                    "%s: the name has no part before the ending %s, and desc names no format", name,
                                    endings[i].text);
        *format = endings[i].format;
        return DLPARK_OK;
    }
    return dlpark_error_set(err, DLPARK_E_ARGUMENT,
                            "%s: ends in none of .jpg .jpeg .png .webp, and desc names no format", name);
}

static int32_t image_save_effort_limit(const dlpark_image_save_desc *desc)
{
    return desc->format == DLPARK_IMAGE_WEBP && !desc->lossless ? 6 : 9;
}

/* Ranges, once the format is known; fills the defaults in. */
static dlpark_status image_save_settle(dlpark_image_save_desc *desc, const char *name, dlpark_error *err)
{
    if (desc->layout != DLPARK_IMAGE_HWC && desc->layout != DLPARK_IMAGE_CHW)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: layout is %d, not DLPARK_IMAGE_HWC or DLPARK_IMAGE_CHW",
                                name, (int)desc->layout);
    if (desc->quality < 0 || desc->quality > 100)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: quality is %" PRId32 ", not 1 to 100", name,
                                desc->quality);
    int32_t limit = image_save_effort_limit(desc);
    if (desc->compression < 0 || desc->compression > limit)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: compression is %" PRId32 ", not 1 to %" PRId32, name,
                                desc->compression, limit);
    if (desc->subsampling != 0 && desc->subsampling != 444 && desc->subsampling != 422 && desc->subsampling != 420)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: subsampling is %" PRId32 ", not 444, 422 or 420", name,
                                desc->subsampling);
    if (desc->lossless && desc->format == DLPARK_IMAGE_JPEG)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "%s: JPEG is never lossless: save as PNG or WebP", name);
    if (desc->reserved != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: reserved is %" PRId32 ", not 0", name, desc->reserved);
    desc->quality = desc->quality ? desc->quality : DLPARK_IMAGE_QUALITY_DEFAULT;
    desc->subsampling = desc->subsampling ? desc->subsampling : IMAGE_SAVE_SUBSAMPLING_DEFAULT;
    return DLPARK_OK;
}

static dlpark_status image_save_check_shape(const dlpark_view *view, dlpark_image_layout layout, const char *name,
                                            dlpark_error *err)
{
    image_axes axes = dlpark__image_axes(layout);
    if (view->ndim != 2 && view->ndim != 3)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "%s: expected a picture of rank 2 or 3, got %s", name,
                                dlpark__image_shape_text(view->ndim, view->shape).text);
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->shape[i] < 1)
            return dlpark_error_set(err, DLPARK_E_SHAPE, "%s: expected a picture with pixels, got %s", name,
                                    dlpark__image_shape_text(view->ndim, view->shape).text);
    if (view->ndim == 3 && view->shape[axes.c] > 4)
        return dlpark_error_set(
            err, DLPARK_E_SHAPE, "%s: expected 1 to 4 channels in dimension %" PRId32 " (layout %s), got %s%s", name,
            axes.c, layout == DLPARK_IMAGE_CHW ? "CHW" : "HWC", dlpark__image_shape_text(view->ndim, view->shape).text,
            layout == DLPARK_IMAGE_HWC && view->shape[0] <= 4 ? "; layout CHW?" : "");
    return DLPARK_OK;
}

/* What makes a picture of such values; nothing can be said of vectors, complex numbers and what nobody can read. */
static const char *image_save_advice(DLDataType dtype)
{
    if (dtype.lanes != 1 || dtype.code == kDLComplex || dtype.code == kDLOpaqueHandle)
        return "";
    if (dtype.code == kDLInt || dtype.code == kDLUInt || dtype.code == kDLBool)
        return ": cast to u8 first";
    return ": scale to 0..255 and cast to u8 first";
}

static dlpark_status image_save_check_view(const dlpark_view *view, dlpark_image_layout layout, const char *name,
                                           dlpark_error *err)
{
    if (!view)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: view is NULL", name);
    if (!dlpark_dtype_equal(view->dtype, DLPARK_U8) && !dlpark_dtype_equal(view->dtype, DLPARK_U16))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "%s: pictures are stored as u8 or u16, got %s%s", name,
                                dlpark_dtype_name(view->dtype).text, image_save_advice(view->dtype));
    if (!dlpark_device_is_host_accessible(view->device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "%s: expected a picture in host memory, got %s", name,
                                dlpark_device_name(view->device).text);
    return image_save_check_shape(view, layout, name, err);
}

/* As image_load_sink(): a single place has no step, and gets the one that a compact picture would have. */
static image_source image_save_source(const dlpark_view *view, dlpark_image_layout layout, const char *name)
{
    image_axes axes = view->ndim == 2 ? (image_axes){0, 1, -1} : dlpark__image_axes(layout);
    ptrdiff_t nbytes = view->dtype.bits / 8;
    int32_t channels = axes.c < 0 ? 1 : (int32_t)view->shape[axes.c];
    image_source source = {.name = name,
                           .data = view->data,
                           .x_stride = channels * nbytes,
                           .c_stride = nbytes,
                           .sample = nbytes == 1 ? IMAGE_U8 : IMAGE_U16,
                           .channels = channels,
                           .width = (int32_t)view->shape[axes.x],
                           .height = (int32_t)view->shape[axes.y]};
    source.y_stride = source.width * source.x_stride;
    if (channels > 1)
        source.c_stride = (ptrdiff_t)view->strides[axes.c] * nbytes;
    if (source.width > 1)
        source.x_stride = (ptrdiff_t)view->strides[axes.x] * nbytes;
    if (source.height > 1)
        source.y_stride = (ptrdiff_t)view->strides[axes.y] * nbytes;
    return source;
}

static dlpark_status image_save_check_format(const dlpark_view *view, const dlpark_image_save_desc *desc,
                                             const char *name, dlpark_error *err)
{
    image_axes axes = dlpark__image_axes(desc->layout);
    const char *format = dlpark__image_codec_find(desc->format)->name;
    int64_t channels = view->ndim == 2 ? 1 : view->shape[axes.c];
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->shape[i] > INT32_MAX)
            return dlpark_error_set(err, DLPARK_E_UNSUPPORTED, "%s: %s cannot store a side of %" PRId64 " pixels", name,
                                    format, view->shape[i]);
    if (desc->format == DLPARK_IMAGE_JPEG && channels % 2 == 0)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                                "%s: JPEG cannot store alpha: drop it (keep %s) or save as PNG or WebP", name,
                                channels == 2 ? "channel 0" : "channels 0..2");
    if (desc->format != DLPARK_IMAGE_PNG && view->dtype.bits == 16)
        return dlpark_error_set(err, DLPARK_E_UNSUPPORTED,
                                "%s: %s stores 8 bits a sample, got u16: convert to u8 or save as PNG", name, format);
    return DLPARK_OK;
}

/* Encodes into `out`, which is empty on failure. */
static dlpark_status image_save_encode(image_buffer *out, const dlpark_view *view, dlpark_image_save_desc *desc,
                                       const char *name, dlpark_error *err)
{
    if (!dlpark__image_codec_find(desc->format))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: format is %d, not one of dlpark_image_format", name,
                                (int)desc->format);
    DLPARK_TRY(image_save_settle(desc, name, err));
    DLPARK_TRY(image_save_check_view(view, desc->layout, name, err));
    DLPARK_TRY(image_save_check_format(view, desc, name, err));
    image_source source = image_save_source(view, desc->layout, name);
    *out = (image_buffer){NULL, 0, 0};
    dlpark_status status = dlpark__image_codec_find(desc->format)->encode(&source, desc, out, err);
    if (status != DLPARK_OK) {
        free(out->bytes);
        *out = (image_buffer){NULL, 0, 0};
    }
    return status;
}

dlpark_status dlpark_image_save_sized(const dlpark_view *view, const dlpark_image_save_desc *desc, size_t desc_nbytes,
                                      dlpark_error *err)
{
    dlpark_image_save_desc known;
    DLPARK_TRY(dlpark__image_desc_copy(&known, sizeof known, desc, desc_nbytes, err));
    if (!known.path)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "desc has no path");
    image_name name = dlpark__image_name(known.path);
    if (known.format == DLPARK_IMAGE_ANY)
        DLPARK_TRY(image_save_format(&known.format, known.path, name.text, err));
    image_buffer file;
    DLPARK_TRY(image_save_encode(&file, view, &known, name.text, err));
    dlpark_status status = dlpark__image_file_write(known.path, &file, err);
    free(file.bytes);
    return status;
}

dlpark_status dlpark_image_encode_sized(dlpark_tensor *tensor, const dlpark_view *view,
                                        const dlpark_image_save_desc *desc, size_t desc_nbytes, dlpark_view *bytes,
                                        dlpark_error *err)
{
    dlpark_image_save_desc known;
    DLPARK_TRY(dlpark__image_desc_copy(&known, sizeof known, desc, desc_nbytes, err));
    image_name name = dlpark__image_name(known.path);
    if (known.path)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: desc has a path; dlpark_image_save() writes files",
                                name.text);
    if (!tensor)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: tensor is NULL", name.text);
    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "%s: tensor already holds something; release it first",
                                name.text);
    image_buffer file;
    DLPARK_TRY(image_save_encode(&file, view, &known, name.text, err));
    unsigned char *tight = realloc(file.bytes, file.nbytes);
    file.bytes = tight ? tight : file.bytes; /* a block that cannot shrink is as good */
    dlpark_tensor_desc made = {.data = file.bytes,
                               .dtype = DLPARK_U8,
                               .ndim = 1,
                               .shape = DLPARK_DIMS(&file.nbytes),
                               .flags = DLPARK_TENSOR_CLAIM_COPIED,
                               .owner = file.bytes,
                               .release = free};
    dlpark_error reason = {0};
    dlpark_status status = dlpark_tensor_new(tensor, &made, bytes, &reason);
    if (status != DLPARK_OK) {
        free(file.bytes);
        return dlpark_error_set(err, status, "%s: %s", name.text, reason.message);
    }
    return DLPARK_OK;
}
