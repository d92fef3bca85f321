/* Tensors as pictures of libavutil: how their rows become planes. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "avframe_parts.h"

/* A frame in the making. */
typedef struct export_picture {
    const AVPixFmtDescriptor *descriptor;
    const dlpark_avframe_options *options;
    int64_t width;
    int64_t height;
    uint8_t *data[4];
    int linesize[4];
} export_picture;

static dlpark_status export_check_options(const dlpark_avframe_options *options, dlpark_error *err)
{
    int32_t alignment = options->require_alignment;

    if (options->width < 0 || options->height < 0 || options->require_padding < 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "width is %d, height %d, require_padding %d",
                                (int)options->width, (int)options->height, (int)options->require_padding);
    if (alignment < 0 || (alignment & (alignment - 1)) != 0)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "require_alignment is %d, no power of two", (int)alignment);
    if (options->reserved[0] || options->reserved[1] || options->reserved[2])
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the reserved fields of the options are not 0");
    return DLPARK_OK;
}

/* "u8[h, w, 3]", as messages name what a plane takes. */
static DLPARK_COLD dlpark_status export_refuse_shape(const avframe_layout *layout, const dlpark_view *view,
                                                     dlpark_status status, dlpark_error *err)
{
    char text[160], shape[64];

    (void)dlpark_view_describe(view, text, sizeof text);
    if (layout->ndim == 3)
        (void)snprintf(shape, sizeof shape, "%lld, %lld, %lld", (long long)layout->shape[0],
                       (long long)layout->shape[1], (long long)layout->shape[2]);
    else
        (void)snprintf(shape, sizeof shape, "%lld, %lld", (long long)layout->shape[0], (long long)layout->shape[1]);
    return dlpark_error_set(err, status, "%s: plane %d takes %s[%s], not %s", layout->format, (int)layout->plane,
                            dlpark_dtype_name(layout->dtype).text, shape, text);
}

/* What a plane is: rows, columns and samples, whichever rank a tensor has them in. */
typedef struct export_plane {
    int64_t shape[3];
    int64_t strides[3];
    uint8_t *data;
} export_plane;

static dlpark_status export_check_padding(const export_picture *picture, const avframe_layout *layout,
                                          const avframe_given *given, const export_plane *plane, int64_t pitch,
                                          dlpark_error *err)
{
    int64_t alignment = picture->options->require_alignment, begin = plane->data - (uint8_t *)given->view.data;
    int64_t past = begin + (pitch > 0 ? (layout->shape[0] - 1) * pitch : 0) + layout->row_nbytes;
    int64_t missing = picture->options->require_padding - (given->past - past);

    if (picture->options->require_padding > 0 && missing > 0)
        return dlpark_error_set(
            err, DLPARK_E_SHAPE,
            "%s: %lld bytes are missing behind plane %d: require_padding is %d, and the tensor has %lld; "
            "make it larger, and name width and height",
            layout->format, (long long)missing, (int)layout->plane, (int)picture->options->require_padding,
            (long long)(given->past - past));
    if (alignment > 1 &&
        ((uintptr_t)plane->data % (uintptr_t)alignment != 0 || (layout->shape[0] > 1 && pitch % alignment != 0)))
        return dlpark_error_set(
            err, DLPARK_E_ALIGNMENT, "%s: plane %d begins at %p with rows of %lld bytes, and %lld is asked for",
            layout->format, (int)layout->plane, (void *)plane->data, (long long)pitch, (long long)alignment);
    return DLPARK_OK;
}

/* The rows of a plane as libav wants them: dense, and as far apart as an int can say. */
static dlpark_status export_check_rows(const avframe_layout *layout, const export_plane *plane, int64_t *pitch,
                                       dlpark_error *err)
{
    int64_t nbytes = dlpark__avframe_nbytes(layout->dtype), samples = layout->shape[2];
    bool is_dense = (samples == 1 || plane->strides[2] == 1) && (layout->shape[1] == 1 || plane->strides[1] == samples);
    int64_t all = dlpark__avframe_rows_nbytes(layout);

    if (!is_dense)
        return dlpark_error_set(
            err, DLPARK_E_STRIDES,
            "%s: the pixels of a row do not lie side by side (strides %lld, %lld): %lld bytes would have "
            "to be copied",
            layout->format, (long long)plane->strides[1], (long long)plane->strides[2], (long long)all);
    *pitch = layout->row_nbytes;
    if (layout->shape[0] > 1 && __builtin_mul_overflow(plane->strides[0], nbytes, pitch))
        *pitch = INT64_MAX;
    if (*pitch > INT_MAX || *pitch < -INT_MAX)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%s: rows are %lld bytes apart, more than linesize can say",
                                layout->format, (long long)*pitch);
    if (*pitch < layout->row_nbytes && -*pitch < layout->row_nbytes)
        return dlpark_error_set(err, DLPARK_E_STRIDES,
                                "%s: rows of %lld bytes overlap, %lld bytes apart: %lld bytes would have to be copied",
                                layout->format, (long long)layout->row_nbytes, (long long)*pitch, (long long)all);
    return DLPARK_OK;
}

/* One plane of the frame. Where the frame's size was given, the tensor may have more. */
static dlpark_status export_place(export_picture *picture, int32_t number, const avframe_given *given,
                                  const export_plane *plane, dlpark_error *err)
{
    int32_t any_depth = picture->options->any_depth ? DLPARK_AVFRAME_ANY_DEPTH : 0;
    avframe_layout layout;
    int64_t pitch = 0;

    DLPARK_TRY(dlpark__avframe_format_layout(&layout, picture->descriptor, picture->width, picture->height,
                                             number | any_depth, err));
    if (!dlpark_dtype_equal(given->view.dtype, layout.dtype))
        return export_refuse_shape(&layout, &given->view, DLPARK_E_DTYPE, err);
    bool fits = plane->shape[2] == layout.shape[2];
    fits = fits &&
           (picture->options->height > 0 ? plane->shape[0] >= layout.shape[0] : plane->shape[0] == layout.shape[0]);
    fits =
        fits && (picture->options->width > 0 ? plane->shape[1] >= layout.shape[1] : plane->shape[1] == layout.shape[1]);
    if (!fits)
        return export_refuse_shape(&layout, &given->view, DLPARK_E_SHAPE, err);
    DLPARK_TRY(export_check_rows(&layout, plane, &pitch, err));
    DLPARK_TRY(export_check_padding(picture, &layout, given, plane, pitch, err));
    picture->data[layout.plane] = plane->data;
    picture->linesize[layout.plane] = (int)pitch;
    return DLPARK_OK;
}

/* A tensor as a plane, from dimension `first` on. */
static dlpark_status export_read_plane(export_plane *plane, const dlpark_view *view, int32_t first, const char *format,
                                       dlpark_error *err)
{
    int32_t rank = view->ndim - first;

    if (rank != 2 && rank != 3)
        return dlpark_error_set(err, DLPARK_E_RANK, "%s takes [height, width] or [height, width, samples], not rank %d",
                                format, (int)rank);
    for (int32_t i = 0; i < 3; i++) {
        plane->shape[i] = i < rank ? view->shape[first + i] : 1;
        plane->strides[i] = i < rank ? view->strides[first + i] : 1;
    }
    plane->data = view->data;
    return DLPARK_OK;
}

/* The size of the picture, as given or of its first plane. */
static dlpark_status export_read_size(export_picture *picture, const export_plane *plane, dlpark_error *err)
{
    int halvings = dlpark__avframe_format_halvings(picture->descriptor, 0);

    picture->width = picture->options->width;
    picture->height = picture->options->height > 0 ? picture->options->height : plane->shape[0];
    if (picture->width == 0)
        picture->width = plane->shape[1] > INT_MAX ? INT64_MAX : plane->shape[1] << halvings;
    if (picture->width > INT_MAX || picture->height > INT_MAX)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%s: %lld x %lld pixels are more than an int can say",
                                picture->descriptor->name, (long long)plane->shape[1], (long long)plane->shape[0]);
    return DLPARK_OK;
}

/* Whether every component has a plane of its own and of full size. */
static bool export_is_planar(const AVPixFmtDescriptor *descriptor)
{
    return descriptor->nb_components > 1 && descriptor->log2_chroma_w == 0 && descriptor->log2_chroma_h == 0 &&
           dlpark__avframe_format_planes(descriptor) == descriptor->nb_components;
}

/* Rows of one component lie behind those of another, or between them. */
static dlpark_status export_check_apart(const export_picture *picture, const dlpark_view *view, dlpark_error *err)
{
    int64_t nbytes = dlpark__avframe_nbytes(view->dtype), row = picture->width * nbytes, rows = picture->height;
    int64_t pitch = llabs((long long)picture->linesize[0]), step = llabs((long long)view->strides[0] * nbytes);
    int64_t count = picture->descriptor->nb_components;
    bool is_behind = step >= (rows - 1) * pitch + row, is_between = step >= row && pitch >= (count - 1) * step + row;

    if (is_behind || is_between)
        return DLPARK_OK;
    return dlpark_error_set(
        err, DLPARK_E_STRIDES,
        "%s: the components overlap, %lld bytes apart, with %lld rows of %lld bytes, %lld bytes apart",
        picture->descriptor->name, (long long)step, (long long)rows, (long long)row, (long long)pitch);
}

/* [components, height, width]: a plane for each component, all in one buffer. */
static dlpark_status export_components(export_picture *picture, const avframe_given *given, dlpark_error *err)
{
    const AVPixFmtDescriptor *descriptor = picture->descriptor;
    const dlpark_view *view = &given->view;
    export_plane plane;

    if (view->ndim != 3 || view->shape[0] != descriptor->nb_components)
        return dlpark_error_set(err, view->ndim != 3 ? DLPARK_E_RANK : DLPARK_E_SHAPE,
                                "%s takes [%d, height, width] as one tensor, or a tensor for each of its %d planes",
                                descriptor->name, descriptor->nb_components, descriptor->nb_components);
    DLPARK_TRY(export_read_plane(&plane, view, 1, descriptor->name, err));
    DLPARK_TRY(export_read_size(picture, &plane, err));
    for (int i = 0; i < descriptor->nb_components; i++) {
        plane.data = (uint8_t *)view->data + i * view->strides[0] * dlpark__avframe_nbytes(view->dtype);
        DLPARK_TRY(export_place(picture, descriptor->comp[i].plane, given, &plane, err));
    }
    return export_check_apart(picture, view, err);
}

static dlpark_status export_each_plane(export_picture *picture, const avframe_given *given, int32_t count,
                                       dlpark_error *err)
{
    export_plane plane;

    for (int32_t i = 0; i < count; i++) {
        DLPARK_TRY(export_read_plane(&plane, &given[i].view, 0, picture->descriptor->name, err));
        if (i == 0)
            DLPARK_TRY(export_read_size(picture, &plane, err));
        DLPARK_TRY(export_place(picture, i, &given[i], &plane, err));
    }
    return DLPARK_OK;
}

dlpark_status dlpark_avframe_export_planes(struct AVFrame **frame, dlpark_tensor *planes, int32_t nplanes, int format,
                                           const dlpark_avframe_options *options, dlpark_error *err)
{
    static const dlpark_avframe_options plain = {0};
    export_picture picture = {.options = options ? options : &plain};
    avframe_given given[4];

    DLPARK_TRY(dlpark__avframe_check_output(frame, err));
    DLPARK_TRY(export_check_options(picture.options, err));
    DLPARK_TRY(dlpark__avframe_format_read(&picture.descriptor, format, err));
    int32_t count = dlpark__avframe_format_planes(picture.descriptor);
    bool is_planar = nplanes == 1 && export_is_planar(picture.descriptor);
    if (!planes || (nplanes != count && !is_planar))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s takes %d tensors, and got %d", picture.descriptor->name,
                                (int)count, planes ? (int)nplanes : 0);
    for (int32_t i = 0; i < nplanes; i++)
        DLPARK_TRY(dlpark__avframe_given_read(&given[i], &planes[i], err));
    DLPARK_TRY(is_planar ? export_components(&picture, given, err) : export_each_plane(&picture, given, nplanes, err));
    DLPARK_TRY(dlpark__avframe_given_take(frame, planes, given, nplanes, err));
    (*frame)->format = format;
    (*frame)->width = (int)picture.width;
    (*frame)->height = (int)picture.height;
    for (int32_t i = 0; i < count; i++) {
        (*frame)->data[i] = picture.data[i];
        (*frame)->linesize[i] = picture.linesize[i];
    }
    return DLPARK_OK;
}

dlpark_status dlpark_avframe_export(struct AVFrame **frame, dlpark_tensor *tensor, int format, dlpark_error *err)
{
    return dlpark_avframe_export_planes(frame, tensor, 1, format, NULL, err);
}
