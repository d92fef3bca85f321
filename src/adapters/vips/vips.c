/*
 * Images of libvips as views and tensors. Whether an image is in memory is read from its struct: every function that would
 * tell computes the image in place, for all who hold it.
 */
#include <string.h>

#include <dlpark/check.h>

#include "vips_parts.h"

static const vipsin_format vipsin_formats[] = {
    {VIPS_FORMAT_UCHAR, {kDLUInt, 8, 1}},       {VIPS_FORMAT_CHAR, {kDLInt, 8, 1}},
    {VIPS_FORMAT_USHORT, {kDLUInt, 16, 1}},     {VIPS_FORMAT_SHORT, {kDLInt, 16, 1}},
    {VIPS_FORMAT_UINT, {kDLUInt, 32, 1}},       {VIPS_FORMAT_INT, {kDLInt, 32, 1}},
    {VIPS_FORMAT_FLOAT, {kDLFloat, 32, 1}},     {VIPS_FORMAT_DOUBLE, {kDLFloat, 64, 1}},
    {VIPS_FORMAT_COMPLEX, {kDLComplex, 64, 1}}, {VIPS_FORMAT_DPCOMPLEX, {kDLComplex, 128, 1}},
};

#define VIPSIN_FORMAT_COUNT (sizeof vipsin_formats / sizeof vipsin_formats[0])

const vipsin_format *dlpark__vips_by_format(VipsBandFormat format)
{
    for (size_t i = 0; i < VIPSIN_FORMAT_COUNT; i++)
        if (vipsin_formats[i].format == format)
            return &vipsin_formats[i];
    return NULL;
}

const vipsin_format *dlpark__vips_by_dtype(DLDataType dtype)
{
    for (size_t i = 0; i < VIPSIN_FORMAT_COUNT; i++)
        if (dlpark_dtype_equal(vipsin_formats[i].dtype, dtype))
            return &vipsin_formats[i];
    return NULL;
}

dlpark_status dlpark__vips_fault(const char *what, dlpark_error *err)
{
    char *says = vips_error_buffer_copy();
    size_t length = strlen(says);

    while (length > 0 && says[length - 1] == '\n')
        says[--length] = '\0';
    (void)dlpark_error_set(err, DLPARK_E_FOREIGN, "libvips %s: %s", what, length ? says : "it does not say why");
    g_free(says);
    return DLPARK_E_FOREIGN;
}

static bool vipsin_is_in_memory(const VipsImage *image)
{
    return image->data && (image->dtype == VIPS_IMAGE_SETBUF || image->dtype == VIPS_IMAGE_SETBUF_FOREIGN ||
                           image->dtype == VIPS_IMAGE_MMAPIN || image->dtype == VIPS_IMAGE_MMAPINRW);
}

static DLPARK_COLD dlpark_status vipsin_refuse_elsewhere(const VipsImage *image, dlpark_error *err)
{
    bool is_file = image->dtype == VIPS_IMAGE_OPENIN;

    return dlpark_error_set(err, DLPARK_E_DATA,
                            "the image is not in memory: its %d x %d pixels of %d bands would have to be %s, which "
                            "dlpark_vips_import() and vips_image_copy_memory() do",
                            vips_image_get_width(image), vips_image_get_height(image), vips_image_get_bands(image),
                            is_file ? "read from its file" : "computed");
}

/* What an image is, wherever its pixels are. */
static dlpark_status vipsin_find_format(const VipsImage *image, const vipsin_format **format, dlpark_error *err)
{
    if (!image)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the image is NULL");
    if (vips_image_get_coding(image) != VIPS_CODING_NONE)
        return dlpark_error_set(
            err, DLPARK_E_DTYPE,
            "the coding %d (%s) packs the bands of a pixel: vips_image_decode() makes numbers of them",
            (int)vips_image_get_coding(image), vips_enum_nick(VIPS_TYPE_CODING, vips_image_get_coding(image)));
    *format = dlpark__vips_by_format(vips_image_get_format(image));
    if (!*format)
        return dlpark_error_set(err, DLPARK_E_DTYPE, "the format %d is none of libvips' band formats",
                                (int)vips_image_get_format(image));
    return DLPARK_OK;
}

/* An image in memory, as a claim that is checked as anybody's. */
static dlpark_status vipsin_view(dlpark_view *view, const VipsImage *image, const vipsin_format *format,
                                 dlpark_error *err)
{
    int64_t shape[3] = {vips_image_get_height(image), vips_image_get_width(image), vips_image_get_bands(image)};
    const DLTensor claim = {
        .data = image->data, .ndim = 3, .dtype = format->dtype, .device = {kDLCPU, 0}, .shape = shape};

    return dlpark_check(&claim, DLPACK_FLAG_BITMASK_READ_ONLY, view, err);
}

dlpark_status dlpark_vips_view(dlpark_view *view, const VipsImage *image, dlpark_error *err)
{
    const vipsin_format *format;

    DLPARK_TRY(vipsin_find_format(image, &format, err));
    if (!vipsin_is_in_memory(image))
        return vipsin_refuse_elsewhere(image, err);
    return vipsin_view(view, image, format, err);
}

static void vipsin_release(void *owner)
{
    g_object_unref(owner);
}

/* The tensor has the caller's reference to the image on success. */
static dlpark_status vipsin_wrap(dlpark_tensor *tensor, VipsImage *image, const vipsin_format *format, uint64_t flags,
                                 dlpark_view *view, dlpark_error *err)
{
    dlpark_view DLPARK_UNINITIALIZED seen;

    DLPARK_TRY(vipsin_view(&seen, image, format, err));
    const dlpark_tensor_desc desc = {.data = seen.data,
                                     .dtype = seen.dtype,
                                     .ndim = seen.ndim,
                                     .shape = DLPARK_DIMS(seen.shape),
                                     .flags = flags,
                                     .owner = image,
                                     .release = vipsin_release};
    return dlpark_tensor_new(tensor, &desc, view, err);
}

dlpark_status dlpark_vips_share(dlpark_tensor *tensor, VipsImage *image, dlpark_view *view, dlpark_error *err)
{
    const vipsin_format *format;

    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, NULL);
    DLPARK_TRY(vipsin_find_format(image, &format, err));
    if (!vipsin_is_in_memory(image))
        return vipsin_refuse_elsewhere(image, err);
    DLPARK_TRY(vipsin_wrap(tensor, image, format, DLPARK_TENSOR_READ_ONLY, view, err));
    g_object_ref(image);
    return DLPARK_OK;
}

/* Whether nobody else can see the pixels. Operations and the cache hold references to what they read and make. */
static bool vipsin_is_ours_to_write(VipsImage *image)
{
    const DLManagedTensorVersioned *behind = dlpark__vips_tensor_of(image);

    if (g_atomic_int_get(&G_OBJECT(image)->ref_count) != 1)
        return false;
    if (image->dtype == VIPS_IMAGE_SETBUF_FOREIGN)
        return behind && !(behind->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    return image->dtype == VIPS_IMAGE_SETBUF;
}

dlpark_status dlpark_vips_import(dlpark_tensor *tensor, VipsImage **image, dlpark_view *view, dlpark_error *err)
{
    const vipsin_format *format;
    VipsImage *given;

    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, NULL);
    if (!image)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the pointer to the image is NULL");
    given = *image;
    DLPARK_TRY(vipsin_find_format(given, &format, err));
    bool computed = !vipsin_is_in_memory(given);
    VipsImage *taken = computed ? vips_image_copy_memory(given) : given;
    if (!taken)
        return dlpark__vips_fault("cannot compute the image", err);
    uint64_t flags = vipsin_is_ours_to_write(taken) ? 0 : DLPARK_TENSOR_READ_ONLY;
    dlpark_status status = vipsin_wrap(tensor, taken, format, flags, view, err);
    if (status == DLPARK_OK)
        *image = NULL;
    if (computed)
        g_object_unref(status == DLPARK_OK ? given : taken);
    return status;
}
