/*
 * What the sources of the avframe adapter share. Grouped by the file that defines it.
 */
#ifndef DLPARK_AVFRAME_PARTS_H
#define DLPARK_AVFRAME_PARTS_H

#include <stdbool.h>

#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <libavutil/version.h>

#include <dlpark/avframe.h>
#include <dlpark/dlpark.h>

#if LIBAVUTIL_VERSION_INT < AV_VERSION_INT(57, 24, 100)
#error "dlpark::avframe needs libavutil 57.24 or later (FFmpeg 5.1)"
#endif

/* What a part of a frame is, but for where its rows are. Strides are in elements; strides[0] is set by the linesize. */
typedef struct avframe_layout {
    const char *format; /* its name */
    int32_t plane;      /* of data and linesize */
    int32_t ndim;       /* 2 or 3; for sound 1 or 2, and row is then all of it */
    DLDataType dtype;   /* of whole bytes */
    int64_t shape[3];   /* rows first */
    int64_t strides[3];
    int64_t offset_nbytes; /* of element 0 in its row */
    int64_t row_nbytes;    /* that all samples of the plane take in a row */
} avframe_layout;

static inline int64_t dlpark__avframe_nbytes(DLDataType dtype)
{
    return dtype.bits / 8;
}

/* An extent that is halved so often, rounded up. */
static inline int64_t dlpark__avframe_halve(int64_t extent, int times)
{
    return (extent + (INT64_C(1) << times) - 1) >> times;
}

/* What the rows of a plane hold, for messages; INT64_MAX where that is more. */
static inline int64_t dlpark__avframe_rows_nbytes(const avframe_layout *layout)
{
    int64_t nbytes;

    return __builtin_mul_overflow(layout->shape[0], layout->row_nbytes, &nbytes) ? INT64_MAX : nbytes;
}

/* ---- avframe_format.c ---- */

/* The descriptor of a pixel format whose samples tensors can say; refuses any other. */
dlpark_status dlpark__avframe_format_read(const AVPixFmtDescriptor **descriptor, int format, dlpark_error *err);

/* How many planes such a format has. */
int32_t dlpark__avframe_format_planes(const AVPixFmtDescriptor *descriptor);

/* How often a column of a plane halves the width. */
int32_t dlpark__avframe_format_halvings(const AVPixFmtDescriptor *descriptor, int32_t plane);

/* A part of a picture of so many pixels. */
dlpark_status dlpark__avframe_format_layout(avframe_layout *layout, const AVPixFmtDescriptor *descriptor, int64_t width,
                                            int64_t height, int32_t part, dlpark_error *err);

/* ---- avframe_audio.c ---- */

/* A part of a frame of sound. */
dlpark_status dlpark__avframe_audio_layout(avframe_layout *layout, const AVFrame *frame, int32_t part,
                                           dlpark_error *err);

/* ---- avframe_given.c ---- */

/* A tensor to be given out, and what it becomes. */
typedef struct avframe_given {
    dlpark_view view;
    int64_t lowest; /* bytes from element 0 to the first byte of the tensor, at most 0 */
    int64_t past;   /* to past the last */
} avframe_given;

/* What every tensor must be: not empty, on the host, with elements, aligned as its dtype. */
dlpark_status dlpark__avframe_given_read(avframe_given *given, const dlpark_tensor *tensor, dlpark_error *err);

/* A frame with a buffer for each of the tensors, of which it takes each; on failure of none. The fields are the caller's. */
dlpark_status dlpark__avframe_given_take(AVFrame **frame, dlpark_tensor *tensors, const avframe_given *given,
                                         int32_t count, dlpark_error *err);

/* DLPARK_E_NOT_EMPTY for an output that points to a frame. */
dlpark_status dlpark__avframe_check_output(AVFrame *const *frame, dlpark_error *err);

#endif
