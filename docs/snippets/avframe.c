/* A picture of ours goes out as a frame of FFmpeg, and a part of it comes back. */
#include <stdio.h>

#include <libavutil/frame.h>

#include <dlpark/avframe.h>
#include <dlpark/dlpark.h>

static dlpark_status give(AVFrame **frame, dlpark_error *err)
{
    dlpark_tensor pixels = DLPARK_TENSOR_EMPTY;

    DLPARK_TRY(dlpark_tensor_alloc(
        &pixels, &(dlpark_tensor_desc){.dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS((int64_t[]){48, 64, 3})},
        NULL, err));
    dlpark_status status = dlpark_avframe_export(frame, &pixels, AV_PIX_FMT_RGB24, err);
    dlpark_tensor_release(&pixels); /* empty, where the frame has it */
    return status;
}

static dlpark_status look(const AVFrame *frame, dlpark_error *err)
{
    dlpark_tensor green = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    char text[80];

    DLPARK_TRY(dlpark_avframe_share(&green, frame, DLPARK_AVFRAME_COMPONENT(1), &view, err));
    dlpark_view_describe(&view, text, sizeof text);
    printf("%s, at %+d of the frame's data\n", text, (int)((uint8_t *)view.data - frame->data[0]));
    dlpark_tensor_release(&green);
    return DLPARK_OK;
}

int main(void)
{
    AVFrame *frame = NULL;
    dlpark_error err;

    if (give(&frame, &err) || look(frame, &err)) {
        fprintf(stderr, "%s\n", err.message);
        av_frame_free(&frame);
        return 1;
    }
    printf("%d x %d pixels, rows of %d bytes, writable: %d\n", frame->width, frame->height, frame->linesize[0],
           av_frame_is_writable(frame));
    av_frame_free(&frame);
    return 0;
}
