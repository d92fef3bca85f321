/*
 * Files to tensors. Orientation and layout are strides of the sink, so a picture is decoded once, to where it stays.
 */
#include <inttypes.h>
#include <string.h>

#include <dlpark/device.h>
#include <dlpark/dtype.h>

#include "adapter.h"

static bool image_load_sample(DLDataType dtype, image_sample *sample)
{
    if (dlpark_dtype_equal(dtype, DLPARK_U8))
        *sample = IMAGE_U8;
    else if (dlpark_dtype_equal(dtype, DLPARK_U16))
        *sample = IMAGE_U16;
    else if (dlpark_dtype_equal(dtype, DLPARK_F32))
        *sample = IMAGE_F32;
    else
        return false;
    return true;
}

static bool image_load_dtype_is_unset(DLDataType dtype)
{
    return dtype.code == 0 && dtype.bits == 0 && dtype.lanes == 0;
}

static dlpark_status image_load_check(const dlpark_image_load_desc *desc, dlpark_error *err)
{
    image_sample sample;
    if (desc->channels < 0 || desc->channels > 4)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "channels is %" PRId32 ", not 1 to 4 (0: as the file has them)",
                                desc->channels);
    if (desc->layout != DLPARK_IMAGE_HWC && desc->layout != DLPARK_IMAGE_CHW)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "layout is %d, not DLPARK_IMAGE_HWC or DLPARK_IMAGE_CHW",
                                (int)desc->layout);
    if (!image_load_dtype_is_unset(desc->dtype) && !image_load_sample(desc->dtype, &sample))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "dtype is %s; pictures come as u8, u16 or f32",
                                dlpark_dtype_name(desc->dtype).text);
    return DLPARK_OK;
}

static int32_t image_load_orientation(const image_reader *reader, const dlpark_image_load_desc *desc)
{
    return desc->keep_orientation ? 1 : reader->head.orientation;
}

/* The shape that the picture has once it is turned; `channels` of them. */
static void image_load_shape(const image_reader *reader, int32_t orientation, dlpark_image_layout layout,
                             int64_t channels, int64_t shape[3])
{
    image_axes axes = dlpark__image_axes(layout);
    shape[axes.y] = orientation >= 5 ? reader->head.width : reader->head.height;
    shape[axes.x] = orientation >= 5 ? reader->head.height : reader->head.width;
    shape[axes.c] = channels;
}

/* An axis of one place has no step of its own; a decoder that asks for a pitch gets the compact one. */
static void image_load_tidy(image_sink *sink)
{
    ptrdiff_t nbytes = (ptrdiff_t)dlpark__image_sample_nbytes(sink->sample);
    if (sink->channels == 1)
        sink->c_stride = nbytes;
    if (sink->width == 1)
        sink->x_stride = sink->channels * nbytes;
    if (sink->height == 1)
        sink->y_stride = (ptrdiff_t)sink->width * sink->channels * nbytes;
}

/* Byte stride; 0 along an extent of 1, whatever the view says there. */
static ptrdiff_t image_load_step(const dlpark_view *view, int32_t axis)
{
    return view->shape[axis] == 1 ? 0 : (ptrdiff_t)(view->strides[axis] * (view->dtype.bits / 8));
}

/*
 * The strides at which stored rows and columns lie in the view. Orientations 2, 3, 6, 7 run against the shown columns,
 * 3, 4, 7, 8 against the shown rows, and from 5 on stored rows are shown as columns.
 */
static image_sink image_load_sink(const dlpark_view *view, dlpark_image_layout layout, const image_reader *reader,
                                  int32_t orientation)
{
    image_axes axes = dlpark__image_axes(layout);
    ptrdiff_t x_step = image_load_step(view, axes.x);
    ptrdiff_t y_step = image_load_step(view, axes.y);
    image_sink sink = {.data = view->data,
                       .c_stride = image_load_step(view, axes.c),
                       .channels = (int32_t)view->shape[axes.c],
                       .width = reader->head.width,
                       .height = reader->head.height};
    (void)image_load_sample(view->dtype, &sink.sample);
    if (orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7) {
        sink.data += (ptrdiff_t)(view->shape[axes.x] - 1) * x_step;
        x_step = -x_step;
    }
    if (orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8) {
        sink.data += (ptrdiff_t)(view->shape[axes.y] - 1) * y_step;
        y_step = -y_step;
    }
    sink.x_stride = orientation >= 5 ? y_step : x_step;
    sink.y_stride = orientation >= 5 ? x_step : y_step;
    image_load_tidy(&sink);
    return sink;
}

static dlpark_status image_load_decode(image_reader *reader, const dlpark_view *view,
                                       const dlpark_image_load_desc *desc, dlpark_error *err)
{
    image_sink sink = image_load_sink(view, desc->layout, reader, image_load_orientation(reader, desc));
    return reader->codec->decode(reader, &sink, err);
}

/* The tensor belongs to this function until it is complete. */
static dlpark_status image_load_new(dlpark_tensor *tensor, image_reader *reader, const dlpark_image_load_desc *desc,
                                    dlpark_view *view, dlpark_error *err)
{
    DLDataType dtype = desc->dtype;
    if (image_load_dtype_is_unset(dtype))
        dtype = reader->head.bits == 16 ? DLPARK_U16 : DLPARK_U8;
    int64_t shape[3];
    image_load_shape(reader, image_load_orientation(reader, desc), desc->layout,
                     desc->channels ? desc->channels : reader->head.channels, shape);
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc made_desc = {.dtype = dtype, .ndim = 3, .shape = DLPARK_DIMS(shape)};
    dlpark_view made_view;
    DLPARK_TRY(dlpark_tensor_alloc(&made, &made_desc, &made_view, err));
    dlpark_status status = image_load_decode(reader, &made_view, desc, err);
    if (status != DLPARK_OK) {
        dlpark_tensor_release(&made);
        return status;
    }
    if (view)
        dlpark_view_copy(view, &made_view);
    *tensor = made;
    return DLPARK_OK;
}

dlpark_status dlpark_image_load_sized(dlpark_tensor *tensor, const dlpark_image_load_desc *desc, size_t desc_nbytes,
                                      dlpark_view *view, dlpark_error *err)
{
    dlpark_image_load_desc known;
    DLPARK_TRY(dlpark__image_desc_copy(&known, sizeof known, desc, desc_nbytes, err));
    DLPARK_TRY(image_load_check(&known, err));
    if (!tensor)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "tensor is NULL");
    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY, "tensor already holds something; release it first");
    image_opened opened;
    DLPARK_TRY(dlpark__image_open(&opened, &known, err));
    dlpark_status status = image_load_new(tensor, &opened.reader, &known, view, err);
    dlpark__image_close(&opened);
    return status;
}

static int64_t image_load_abs(int64_t value)
{
    return value < 0 ? -value : value;
}

/* From the last dimension on, each stride is longer than all that lies under it: no two elements can meet. */
static bool image_load_is_nested(const dlpark_view *out)
{
    int64_t reach = 0;
    for (int32_t i = 2; i >= 0; i--) {
        int64_t stride = image_load_abs(out->strides[i]);
        if (out->shape[i] == 1)
            continue;
        if (stride <= reach)
            return false;
        reach += (out->shape[i] - 1) * stride;
    }
    return true;
}

/* Whether two elements share a place: whether some steps along two axes are undone by steps along the longest. */
static bool image_load_meets(const dlpark_view *out)
{
    int32_t longest = out->shape[0] >= out->shape[1] ? 0 : 1;
    longest = out->shape[2] > out->shape[longest] ? 2 : longest;
    int32_t a = (longest + 1) % 3;
    int32_t b = (longest + 2) % 3;
    int64_t stride = out->shape[longest] == 1 ? 1 : out->strides[longest];
    int64_t a_stride = out->shape[a] == 1 ? 0 : out->strides[a];
    int64_t b_stride = out->shape[b] == 1 ? 0 : out->strides[b];
    if (stride == 0)
        return true;
    for (int64_t i = 0; i < out->shape[a]; i++) {
        for (int64_t k = 1 - out->shape[b]; k < out->shape[b]; k++) {
            int64_t way = i * a_stride + k * b_stride;
            if ((i || k) && way % stride == 0 && image_load_abs(way / stride) < out->shape[longest])
                return true;
        }
    }
    return false;
}

static dlpark_status image_load_check_out(const dlpark_view *out, image_axes axes, dlpark_error *err)
{
    image_sample sample;
    if (!image_load_sample(out->dtype, &sample))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "expected out of u8, u16 or f32, got %s",
                                dlpark_dtype_name(out->dtype).text);
    if (!dlpark_device_is_host_accessible(out->device))
        return dlpark_error_set(err, DLPARK_E_DEVICE, "expected out in host memory, got %s",
                                dlpark_device_name(out->device).text);
    if (out->flags & DLPARK_VIEW_READ_ONLY)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY, "out is read-only");
    if (out->flags & DLPARK_VIEW_UNKNOWN_WRITE)
        return dlpark_error_set(err, DLPARK_E_READ_ONLY,
                                "nobody said that out may be written; dlpark_view_allow_write() does");
    if (out->ndim != 3 || out->shape[axes.c] < 1 || out->shape[axes.c] > 4)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "expected out of rank 3 with 1 to 4 channels, got %s",
                                dlpark__image_shape_text(out->ndim, out->shape).text);
    return DLPARK_OK;
}

static dlpark_status image_load_check_shape(const dlpark_view *out, const image_reader *reader,
                                            const dlpark_image_load_desc *desc, dlpark_error *err)
{
    int64_t channels = desc->channels ? desc->channels : out->shape[dlpark__image_axes(desc->layout).c];
    int64_t shape[3];
    image_load_shape(reader, image_load_orientation(reader, desc), desc->layout, channels, shape);
    if (memcmp(shape, out->shape, sizeof shape) != 0)
        return dlpark_error_set(err, DLPARK_E_SHAPE, "%s: expected out shape %s, got %s", reader->name,
                                dlpark__image_shape_text(3, shape).text, dlpark__image_shape_text(3, out->shape).text);
    if (!image_load_is_nested(out) && image_load_meets(out))
        return dlpark_error_set(
            err, DLPARK_E_STRIDES, "%s: out has elements that share memory: shape %s with strides %s", reader->name,
            dlpark__image_shape_text(3, out->shape).text, dlpark__image_shape_text(3, out->strides).text);
    return DLPARK_OK;
}

dlpark_status dlpark_image_load_into_sized(const dlpark_view *out, const dlpark_image_load_desc *desc,
                                           size_t desc_nbytes, dlpark_error *err)
{
    dlpark_image_load_desc known;
    DLPARK_TRY(dlpark__image_desc_copy(&known, sizeof known, desc, desc_nbytes, err));
    DLPARK_TRY(image_load_check(&known, err));
    if (!out)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "out is NULL");
    DLPARK_TRY(image_load_check_out(out, dlpark__image_axes(known.layout), err));
    image_opened opened;
    DLPARK_TRY(dlpark__image_open(&opened, &known, err));
    dlpark_status status = image_load_check_shape(out, &opened.reader, &known, err);
    if (status == DLPARK_OK)
        status = image_load_decode(&opened.reader, out, &known, err);
    dlpark__image_close(&opened);
    return status;
}
