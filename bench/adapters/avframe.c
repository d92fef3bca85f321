/*
 * What a crossing costs beside libavutil's own calls: a clone of a frame, and a frame made around memory by hand. Each case
 * proves that the memory stayed where it is, so that no byte was copied.
 */
#include <stdlib.h>

#include <libavutil/frame.h>

#include <dlpark/avframe.h>

#include "harness.h"

enum { WIDTH = 640, HEIGHT = 360 };

static unsigned char pixels[HEIGHT][WIDTH][3];
static AVFrame *source;

/* ---- Into dlpark ---- */

static bool clone(void)
{
    AVFrame *frame = av_frame_clone(source);
    bool same = frame && frame->data[0] == source->data[0];

    av_frame_free(&frame);
    return same;
}

static bool view_plane(void)
{
    dlpark_view DLPARK_UNINITIALIZED view;

    return dlpark_avframe_view(&view, source, 0, NULL) == DLPARK_OK && view.data == source->data[0];
}

static bool share(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view DLPARK_UNINITIALIZED view;
    bool same = dlpark_avframe_share(&tensor, source, 0, &view, NULL) == DLPARK_OK && view.data == source->data[0];

    dlpark_tensor_release(&tensor);
    return same;
}

static bool import_clone(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    AVFrame *frame = av_frame_clone(source);
    dlpark_view DLPARK_UNINITIALIZED view;
    bool same = dlpark_avframe_import(&tensor, &frame, 0, &view, NULL) == DLPARK_OK && view.data == source->data[0];

    dlpark_tensor_release(&tensor);
    return same;
}

/* ---- Out of dlpark ---- */

static void end_nothing(void *owner)
{
    harness_use(owner);
}

static void end_buffer(void *opaque, uint8_t *data)
{
    harness_use(opaque);
    harness_use(data);
}

/* What a program without dlpark writes. */
static bool wrap_by_hand(void)
{
    AVFrame *frame = av_frame_alloc();

    if (!frame)
        return false;
    frame->buf[0] = av_buffer_create(&pixels[0][0][0], sizeof pixels, end_buffer, NULL, 0);
    frame->format = AV_PIX_FMT_RGB24;
    frame->width = WIDTH;
    frame->height = HEIGHT;
    frame->data[0] = &pixels[0][0][0];
    frame->linesize[0] = WIDTH * 3;
    bool made = frame->buf[0] != NULL;
    av_frame_free(&frame);
    return made;
}

static bool make(dlpark_tensor *tensor)
{
    const int64_t shape[] = {HEIGHT, WIDTH, 3};

    return dlpark_tensor_new(
               tensor,
               &(dlpark_tensor_desc){
                   .data = pixels, .dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS(shape), .release = end_nothing},
               NULL, NULL) == DLPARK_OK;
}

static bool make_only(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    bool made = make(&tensor);

    dlpark_tensor_release(&tensor);
    return made;
}

static bool export_frame(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    AVFrame *frame = NULL;
    bool same = make(&tensor) && dlpark_avframe_export(&frame, &tensor, AV_PIX_FMT_RGB24, NULL) == DLPARK_OK &&
                frame->data[0] == &pixels[0][0][0];

    av_frame_free(&frame);
    return same;
}

/* ---- The cases, each one of the functions above ---- */

typedef struct crossing {
    bool (*cross)(void);
} crossing;

static void run(const void *input, long count)
{
    const crossing *of = input;

    for (long i = 0; i < count; i++)
        if (!of->cross())
            abort();
}

static bool verify(const void *input)
{
    const crossing *of = input;

    return of->cross();
}

static const crossing by_clone = {clone}, by_view = {view_plane}, by_share = {share}, by_import = {import_clone};
static const crossing by_hand = {wrap_by_hand}, by_new = {make_only}, by_export = {export_frame};

/* The goal is 100 ns above libavutil's calls, which is 0.6 of their time here; making the tensor costs the rest. */
static const harness_group groups[] = {
    {"avframe",
     "into dlpark",
     -1,
     4,
     {{"av_frame_clone, av_frame_free", run, verify, &by_clone, {{NULL, 0}}},
      {"dlpark_avframe_view", run, verify, &by_view, {{"av_frame_clone, av_frame_free", 0.5}}},
      {"dlpark_avframe_share, release", run, verify, &by_share, {{"av_frame_clone, av_frame_free", 1.6}}},
      {"clone, dlpark_avframe_import, release", run, verify, &by_import, {{"av_frame_clone, av_frame_free", 1.6}}}}},
    {"avframe",
     "out of dlpark",
     -1,
     3,
     {{"av_frame_alloc, av_buffer_create, free", run, verify, &by_hand, {{NULL, 0}}},
      {"dlpark_tensor_new, release", run, verify, &by_new, {{NULL, 0}}},
      {"new, dlpark_avframe_export, free",
       run,
       verify,
       &by_export,
       {{"av_frame_alloc, av_buffer_create, free", 1.75}}}}},
};

int main(int argc, char **argv)
{
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    source = av_frame_alloc();
    if (!source)
        return 1;
    source->format = AV_PIX_FMT_YUV420P;
    source->width = WIDTH;
    source->height = HEIGHT;
    if (av_frame_get_buffer(source, 0) < 0)
        return 1;
    harness_print_machine(&options);
    for (int i = 0; i < 2; i++)
        wrong += harness_run(&groups[i], &options, &missed);
    av_frame_free(&source);
    return harness_finish(&options, wrong, missed);
}
