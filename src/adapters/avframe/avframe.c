/* Frames of libavutil as tensors: borrowed, shared by a clone, or taken. */
#include "avframe_parts.h"

/* ---- Which buffers a frame has ---- */

static const AVBufferRef *avframe_buffer(const AVFrame *frame, int index)
{
    if (index < AV_NUM_DATA_POINTERS)
        return frame->buf[index];
    index -= AV_NUM_DATA_POINTERS;
    return index < frame->nb_extended_buf ? frame->extended_buf[index] : NULL;
}

/* What av_frame_is_writable() says, of a frame that may be const. */
static bool avframe_is_writable(const AVFrame *frame)
{
    if (!frame->buf[0])
        return false;
    for (int i = 0; i < AV_NUM_DATA_POINTERS + frame->nb_extended_buf; i++) {
        const AVBufferRef *buffer = avframe_buffer(frame, i);
        if (buffer && !av_buffer_is_writable(buffer))
            return false;
    }
    return true;
}

/*
 * Rows that begin in a buffer must end in it. Some sources give frames a buffer that only stands for the memory and does
 * not contain it; then the frame is all there is to believe.
 */
static dlpark_status avframe_check_buffer(const AVFrame *frame, const avframe_layout *layout, const uint8_t *data,
                                          int64_t lowest, int64_t past, dlpark_error *err)
{
    for (int i = 0; i < AV_NUM_DATA_POINTERS + frame->nb_extended_buf; i++) {
        const AVBufferRef *buffer = avframe_buffer(frame, i);
        if (!buffer || (uintptr_t)data - (uintptr_t)buffer->data >= buffer->size)
            continue;
        uint64_t before = (uintptr_t)data - (uintptr_t)buffer->data, behind = buffer->size - before;
        if ((uint64_t)-lowest > before || (uint64_t)past > behind)
            return dlpark_error_set(
                err, DLPARK_E_ARGUMENT,
                "%s: the rows of plane %d take the bytes %lld to %lld, and its buffer has %lld to %lld", layout->format,
                (int)layout->plane, (long long)lowest, (long long)past, -(long long)before, (long long)behind);
        return DLPARK_OK;
    }
    return DLPARK_OK;
}

/* ---- What a part is ---- */

/* The rows of a plane: their distance, and that they do not meet. The longest row and the most of them stay below 2^63. */
static dlpark_status avframe_set_pitch(const AVFrame *frame, avframe_layout *layout, int64_t *pitch, dlpark_error *err)
{
    int64_t nbytes = dlpark__avframe_nbytes(layout->dtype), linesize = frame->linesize[layout->plane];

    *pitch = layout->shape[0] > 1 ? linesize : layout->row_nbytes;
    if (*pitch % nbytes != 0)
        return dlpark_error_set(err, DLPARK_E_STRIDES,
                                "%s: linesize[%d] is %lld, no multiple of the %lld bytes of a sample: %lld bytes would "
                                "have to be copied",
                                layout->format, (int)layout->plane, (long long)linesize, (long long)nbytes,
                                (long long)dlpark__avframe_rows_nbytes(layout));
    if (*pitch < layout->row_nbytes && -*pitch < layout->row_nbytes)
        return dlpark_error_set(
            err, DLPARK_E_STRIDES, "%s: linesize[%d] is %lld, and a row of %lld pixels has %lld bytes", layout->format,
            (int)layout->plane, (long long)linesize, (long long)layout->shape[1], (long long)layout->row_nbytes);
    layout->strides[0] = *pitch / nbytes;
    return DLPARK_OK;
}

static dlpark_status avframe_find_picture(const AVFrame *frame, int32_t part, avframe_layout *layout, uint8_t **data,
                                          dlpark_error *err)
{
    const AVPixFmtDescriptor *descriptor;
    int64_t pitch;

    DLPARK_TRY(dlpark__avframe_format_read(&descriptor, frame->format, err));
    DLPARK_TRY(dlpark__avframe_format_layout(layout, descriptor, frame->width, frame->height, part, err));
    DLPARK_TRY(avframe_set_pitch(frame, layout, &pitch, err));
    *data = frame->data[layout->plane];
    if (!*data)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: data[%d] is NULL", layout->format, (int)layout->plane);
    int64_t reach = (layout->shape[0] - 1) * pitch;
    DLPARK_TRY(avframe_check_buffer(frame, layout, *data, reach < 0 ? reach : 0,
                                    (reach > 0 ? reach : 0) + layout->row_nbytes, err));
    *data += layout->offset_nbytes;
    return DLPARK_OK;
}

static dlpark_status avframe_find_sound(const AVFrame *frame, int32_t part, avframe_layout *layout, uint8_t **data,
                                        dlpark_error *err)
{
    DLPARK_TRY(dlpark__avframe_audio_layout(layout, frame, part, err));
    if (layout->plane >= AV_NUM_DATA_POINTERS && frame->extended_data == frame->data)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: plane %d is wanted, and extended_data has %d",
                                layout->format, (int)layout->plane, AV_NUM_DATA_POINTERS);
    *data = frame->extended_data ? frame->extended_data[layout->plane] : NULL;
    if (!*data)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: extended_data[%d] is NULL", layout->format,
                                (int)layout->plane);
    if (frame->linesize[0] != 0 && frame->linesize[0] < layout->row_nbytes)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: linesize[0] is %d, and %d samples have %lld bytes",
                                layout->format, frame->linesize[0], frame->nb_samples, (long long)layout->row_nbytes);
    DLPARK_TRY(avframe_check_buffer(frame, layout, *data, 0, layout->row_nbytes, err));
    *data += layout->offset_nbytes;
    return DLPARK_OK;
}

static dlpark_status avframe_find(const AVFrame *frame, int32_t part, avframe_layout *layout, uint8_t **data,
                                  dlpark_error *err)
{
    if (!frame)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the frame is NULL");
    if (frame->width > 0 && frame->height > 0)
        return avframe_find_picture(frame, part, layout, data, err);
    if (frame->nb_samples > 0 && frame->width == 0 && frame->height == 0)
        return avframe_find_sound(frame, part, layout, data, err);
    return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the frame has %d x %d pixels and %d samples of sound",
                            frame->width, frame->height, frame->nb_samples);
}

dlpark_status dlpark_avframe_view(dlpark_view *view, const struct AVFrame *frame, int32_t part, dlpark_error *err)
{
    avframe_layout layout;
    uint8_t *data = NULL;

    DLPARK_TRY(avframe_find(frame, part, &layout, &data, err));
    bool is_writable = avframe_is_writable(frame);
    DLTensor tensor = {.data = data,
                       .device = {kDLCPU, 0},
                       .ndim = layout.ndim,
                       .dtype = layout.dtype,
                       .shape = layout.shape,
                       .strides = layout.strides};
    bool read_only = frame->buf[0] && !is_writable;
    DLPARK_TRY(dlpark_check(&tensor, read_only ? DLPARK_VIEW_READ_ONLY : 0, view, err));
    return is_writable ? dlpark_view_allow_write(view, err) : DLPARK_OK;
}

/* ---- Owners ---- */

static void avframe_end(void *owner)
{
    AVFrame *frame = owner;

    av_frame_free(&frame);
}

/* A frame that has a part, and a tensor to take it. */
static dlpark_status avframe_check(const dlpark_tensor *tensor, const AVFrame *frame, int32_t part,
                                   avframe_layout *layout, uint8_t **data, dlpark_error *err)
{
    if (!tensor)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the tensor is NULL");
    if (tensor->managed)
        return dlpark_error_set(err, DLPARK_E_NOT_EMPTY,
                                "the output tensor already holds one: release or export it first, and begin with "
                                "DLPARK_TENSOR_EMPTY");
    DLPARK_TRY(avframe_find(frame, part, layout, data, err));
    if (!frame->buf[0])
        return dlpark_error_set(
            err, DLPARK_E_ARGUMENT,
            "%s: the frame has no buffer, so nobody can keep its memory: borrow it by "
            "dlpark_avframe_view(), or copy its %lld bytes",
            layout->format, (long long)(frame->width > 0 ? dlpark__avframe_rows_nbytes(layout) : layout->row_nbytes));
    return DLPARK_OK;
}

static dlpark_status avframe_own(dlpark_tensor *tensor, AVFrame *frame, const avframe_layout *layout, uint8_t *data,
                                 uint64_t flags, dlpark_view *view, dlpark_error *err)
{
    return dlpark_tensor_new(tensor,
                             &(dlpark_tensor_desc){.data = data,
                                                   .dtype = layout->dtype,
                                                   .ndim = layout->ndim,
                                                   .shape = DLPARK_DIMS(layout->shape),
                                                   .strides = DLPARK_DIMS(layout->strides),
                                                   .flags = flags,
                                                   .owner = frame,
                                                   .release = avframe_end},
                             view, err);
}

dlpark_status dlpark_avframe_share(dlpark_tensor *tensor, const struct AVFrame *frame, int32_t part, dlpark_view *view,
                                   dlpark_error *err)
{
    avframe_layout layout;
    uint8_t *data = NULL;

    DLPARK_TRY(avframe_check(tensor, frame, part, &layout, &data, err));
    AVFrame *clone = av_frame_clone(frame);
    if (!clone)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "no memory to clone a frame of %s", layout.format);
    dlpark_status status = avframe_own(tensor, clone, &layout, data, DLPARK_TENSOR_READ_ONLY, view, err);
    if (status != DLPARK_OK)
        av_frame_free(&clone);
    return status;
}

dlpark_status dlpark_avframe_import(dlpark_tensor *tensor, struct AVFrame **frame, int32_t part, dlpark_view *view,
                                    dlpark_error *err)
{
    avframe_layout layout;
    uint8_t *data = NULL;

    if (!frame)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "the frame is NULL");
    DLPARK_TRY(avframe_check(tensor, *frame, part, &layout, &data, err));
    /* Never IS_COPIED: libavutil counts its own references, and a buffer may be around memory that others see. */
    uint64_t flags = avframe_is_writable(*frame) ? 0 : DLPARK_TENSOR_READ_ONLY;
    DLPARK_TRY(avframe_own(tensor, *frame, &layout, data, flags, view, err));
    *frame = NULL;
    return DLPARK_OK;
}
