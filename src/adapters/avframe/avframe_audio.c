/* Sound: frames of samples as tensors, and tensors as frames of samples. */
#include <limits.h>

#include <libavutil/channel_layout.h>
#include <libavutil/samplefmt.h>

#include "avframe_parts.h"

static dlpark_status audio_dtype(int format, DLDataType *dtype, dlpark_error *err)
{
    switch (av_get_packed_sample_fmt(format)) {
    case AV_SAMPLE_FMT_U8:
        *dtype = DLPARK_U8;
        return DLPARK_OK;
    case AV_SAMPLE_FMT_S16:
        *dtype = DLPARK_I16;
        return DLPARK_OK;
    case AV_SAMPLE_FMT_S32:
        *dtype = DLPARK_I32;
        return DLPARK_OK;
    case AV_SAMPLE_FMT_S64:
        *dtype = DLPARK_I64;
        return DLPARK_OK;
    case AV_SAMPLE_FMT_FLT:
        *dtype = DLPARK_F32;
        return DLPARK_OK;
    case AV_SAMPLE_FMT_DBL:
        *dtype = DLPARK_F64;
        return DLPARK_OK;
    default:
        return dlpark_error_set(err, DLPARK_E_DTYPE, "libavutil knows no sample format %d", format);
    }
}

/* A channel of a packed frame is its plane 0 with an offset. */
dlpark_status dlpark__avframe_audio_layout(avframe_layout *layout, const AVFrame *frame, int32_t part,
                                           dlpark_error *err)
{
    bool is_component = (part & DLPARK_AVFRAME_COMPONENT(0)) != 0;
    bool is_planar = av_sample_fmt_is_planar(frame->format) != 0;
    int64_t channels = frame->ch_layout.nb_channels;
    int32_t number = part & 0xffff;

    *layout = (avframe_layout){.format = av_get_sample_fmt_name(frame->format)};
    DLPARK_TRY(audio_dtype(frame->format, &layout->dtype, err));
    if (channels < 1)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: the frame has %d channels", layout->format, (int)channels);
    if (part < 0 || part > (DLPARK_AVFRAME_COMPONENT(0xffff) | DLPARK_AVFRAME_ANY_DEPTH) ||
        number >= (is_component || is_planar ? channels : 1))
        return dlpark_error_set(err, DLPARK_E_INDEX, "%s has %d channels in %d planes, and no part %d", layout->format,
                                (int)channels, is_planar ? (int)channels : 1, (int)part);
    int64_t nbytes = dlpark__avframe_nbytes(layout->dtype), together = is_planar ? 1 : channels;
    layout->plane = is_planar ? number : 0;
    layout->ndim = is_planar || is_component ? 1 : 2;
    layout->shape[0] = frame->nb_samples;
    layout->shape[1] = channels;
    layout->strides[0] = together;
    layout->strides[1] = 1;
    layout->offset_nbytes = is_planar ? 0 : (is_component ? number : 0) * nbytes;
    if (__builtin_mul_overflow(layout->shape[0] * together, nbytes, &layout->row_nbytes))
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "%s: %d samples of %d channels are more than 63 bits count",
                                layout->format, frame->nb_samples, (int)channels);
    return DLPARK_OK;
}

/* The channels and samples of a tensor that a format takes, and the bytes from one channel's plane to the next. */
typedef struct audio_shape {
    int64_t channels;
    int64_t samples;
    int64_t plane_step_nbytes; /* 0: one plane */
    int64_t plane_nbytes;
} audio_shape;

static dlpark_status audio_check_strides(const dlpark_view *view, const char *name, bool is_planar, audio_shape *shape,
                                         dlpark_error *err)
{
    int64_t nbytes = dlpark__avframe_nbytes(view->dtype);
    int32_t last = view->ndim - 1;
    bool is_dense = view->shape[last] == 1 || view->strides[last] == 1;

    if (view->ndim == 2 && !is_planar)
        is_dense = is_dense && (shape->samples == 1 || view->strides[0] == shape->channels);
    if (!is_dense)
        return dlpark_error_set(err, DLPARK_E_STRIDES,
                                "%s takes samples side by side: %lld bytes would have to be copied", name,
                                (long long)dlpark_view_nbytes(view));
    shape->plane_nbytes = shape->samples * nbytes * (is_planar ? 1 : shape->channels);
    if (shape->plane_nbytes > INT_MAX)
        return dlpark_error_set(err, DLPARK_E_OVERFLOW, "%s: %lld bytes are more than linesize can say", name,
                                (long long)shape->plane_nbytes);
    shape->plane_step_nbytes = is_planar && shape->channels > 1 ? view->strides[0] * nbytes : 0;
    if (is_planar && shape->channels > 1 && shape->plane_step_nbytes < shape->plane_nbytes &&
        -shape->plane_step_nbytes < shape->plane_nbytes)
        return dlpark_error_set(err, DLPARK_E_STRIDES, "%s: channels of %lld bytes lie %lld bytes apart", name,
                                (long long)shape->plane_nbytes, (long long)shape->plane_step_nbytes);
    return DLPARK_OK;
}

static dlpark_status audio_read(const dlpark_view *view, int format, int sample_rate, audio_shape *shape,
                                dlpark_error *err)
{
    const char *name = av_get_sample_fmt_name(format);
    bool is_planar = av_sample_fmt_is_planar(format) != 0;
    DLDataType dtype;

    DLPARK_TRY(audio_dtype(format, &dtype, err));
    if (sample_rate < 1)
        return dlpark_error_set(err, DLPARK_E_ARGUMENT, "sample_rate is %d", sample_rate);
    if (!dlpark_dtype_equal(view->dtype, dtype))
        return dlpark_error_set(err, DLPARK_E_DTYPE, "%s takes %s, not %s", name, dlpark_dtype_name(dtype).text,
                                dlpark_dtype_name(view->dtype).text);
    if (view->ndim != 1 && view->ndim != 2)
        return dlpark_error_set(err, DLPARK_E_RANK, "%s takes %s[%s], not rank %d", name, dlpark_dtype_name(dtype).text,
                                is_planar ? "channels, samples" : "samples, channels", (int)view->ndim);
    shape->channels = view->ndim == 1 ? 1 : view->shape[is_planar ? 0 : 1];
    shape->samples = view->shape[view->ndim == 2 && is_planar ? 1 : 0];
    if (shape->samples > INT_MAX || shape->channels > (is_planar ? AV_NUM_DATA_POINTERS : INT_MAX))
        return dlpark_error_set(err, DLPARK_E_SHAPE, "%s: %lld samples of %lld channels; a planar frame has %d at most",
                                name, (long long)shape->samples, (long long)shape->channels, AV_NUM_DATA_POINTERS);
    return audio_check_strides(view, name, is_planar, shape, err);
}

dlpark_status dlpark_avframe_export_audio(struct AVFrame **frame, dlpark_tensor *tensor, int format, int sample_rate,
                                          dlpark_error *err)
{
    avframe_given given;
    audio_shape shape = {0};

    DLPARK_TRY(dlpark__avframe_check_output(frame, err));
    DLPARK_TRY(dlpark__avframe_given_read(&given, tensor, err));
    DLPARK_TRY(audio_read(&given.view, format, sample_rate, &shape, err));
    DLPARK_TRY(dlpark__avframe_given_take(frame, tensor, &given, 1, err));
    (*frame)->format = format;
    (*frame)->nb_samples = (int)shape.samples;
    (*frame)->sample_rate = sample_rate;
    (*frame)->ch_layout = (AVChannelLayout){.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = (int)shape.channels};
    (*frame)->linesize[0] = (int)shape.plane_nbytes;
    for (int64_t i = 0; i < (shape.plane_step_nbytes != 0 ? shape.channels : 1); i++)
        (*frame)->data[i] = (uint8_t *)given.view.data + i * shape.plane_step_nbytes;
    return DLPARK_OK;
}
