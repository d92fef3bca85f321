#include "avframe_made.h"

#include <malloc.h>
#include <pthread.h>

#include "passage.h"

static void release_elsewhere(dlpark_tensor *tensor);

/* ---- What a view says ---- */

static void views_say_whether_they_may_be_written(void **state)
{
    AVFrame *frame = made_picture(AV_PIX_FMT_RGB24, 5, 4);
    unsigned char memory[4 * 16];
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_avframe_view(&view, frame, 0, e));
    assert_int_equal(view.flags, 0);
    AVFrame *clone = av_frame_clone(frame);
    assert_ok(dlpark_avframe_view(&view, frame, 0, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    av_frame_free(&clone);
    av_frame_free(&frame);

    frame = made_around(AV_PIX_FMT_RGB24, 5, 4, memory, sizeof memory, 16, AV_BUFFER_FLAG_READONLY);
    assert_ok(dlpark_avframe_view(&view, frame, 0, e));
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    av_buffer_unref(&frame->buf[0]);
    assert_ok(dlpark_avframe_view(&view, frame, 0, e));
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE); /* nobody said it */
    av_frame_free(&frame);
}

static void rows_from_the_last_to_the_first(void **state)
{
    uint16_t memory[4][8];
    dlpark_view view;

    (void)state;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 8; x++)
            memory[y][x] = (uint16_t)(10 * y + x);
    AVFrame *frame = made_around(AV_PIX_FMT_GRAY16, 5, 4, memory, sizeof memory, 16, 0);
    frame->data[0] = (uint8_t *)memory[3];
    frame->linesize[0] = -16;
    assert_ok(dlpark_avframe_view(&view, frame, 0, e));
    assert_int_equal(view.strides[0], -8);
    const uint16_t *first = view.data;
    assert_int_equal(first[0], 30);
    assert_int_equal(first[3 * view.strides[0] + 4], 4);
    frame->height = 5;
    assert_fails(DLPARK_E_ARGUMENT, "the rows of plane 0 take the bytes -64 to 10, and its buffer has -48 to 16",
                 dlpark_avframe_view(&view, frame, 0, e));
    av_frame_free(&frame);
}

/* ---- Frames that are not what they say ---- */

static void broken_width(AVFrame *frame)
{
    frame->width = -5;
}

static void broken_size(AVFrame *frame)
{
    frame->width = frame->height = 0;
}

static void broken_height(AVFrame *frame)
{
    frame->height = 40;
}

static void broken_data(AVFrame *frame)
{
    frame->data[0] = NULL;
}

static void broken_sample(AVFrame *frame)
{
    frame->linesize[0] = 33;
}

static void broken_overlap(AVFrame *frame)
{
    frame->linesize[0] = 28;
}

static void broken_overlap_up(AVFrame *frame)
{
    frame->linesize[0] = -28;
}

static void broken_no_pitch(AVFrame *frame)
{
    frame->linesize[0] = 0;
}

static void broken_format(AVFrame *frame)
{
    frame->format = -1;
}

static void broken_huge(AVFrame *frame)
{
    frame->width = INT32_MAX;
    frame->height = INT32_MAX;
}

static void hostile_frames(void **state)
{
    static const struct {
        void (*break_it)(AVFrame *frame);
        dlpark_status status;
        const char *text;
    } cases[] = {
        {broken_width, DLPARK_E_ARGUMENT, "the frame has -5 x 4 pixels and 0 samples of sound"},
        {broken_size, DLPARK_E_ARGUMENT, "the frame has 0 x 0 pixels"},
        {broken_height, DLPARK_E_ARGUMENT, "the rows of plane 0 take the bytes 0 to 1278, and its buffer has 0 to 256"},
        {broken_data, DLPARK_E_ARGUMENT, "data[0] is NULL"},
        {broken_sample, DLPARK_E_STRIDES,
         "linesize[0] is 33, no multiple of the 2 bytes of a sample: 120 bytes would have to be copied"},
        {broken_overlap, DLPARK_E_STRIDES, "linesize[0] is 28, and a row of 5 pixels has 30 bytes"},
        {broken_overlap_up, DLPARK_E_STRIDES, "linesize[0] is -28, and a row of 5 pixels has 30 bytes"},
        {broken_no_pitch, DLPARK_E_STRIDES, "linesize[0] is 0"},
        {broken_format, DLPARK_E_DTYPE, "knows no pixel format -1"},
        {broken_huge, DLPARK_E_STRIDES, "a row of 2147483647 pixels has 12884901882 bytes"},
    };
    unsigned char memory[256];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AVFrame *frame = made_around(AV_PIX_FMT_RGB48, 5, 4, memory, sizeof memory, 32, 0), *kept = frame;
        cases[i].break_it(frame);
        long live = failing_alloc_live();
        assert_fails(cases[i].status, cases[i].text, dlpark_avframe_view(&view, frame, 0, e));
        assert_fails(cases[i].status, cases[i].text, dlpark_avframe_share(&tensor, frame, 0, &view, e));
        assert_fails(cases[i].status, cases[i].text, dlpark_avframe_import(&tensor, &frame, 0, &view, e));
        assert_ptr_equal(frame, kept);
        assert_null(tensor.managed);
        assert_int_equal(failing_alloc_live(), live);
        av_frame_free(&frame);
    }
    passage_report("avframe", PASSAGE_IN, DLPARK_U16, "picture, pitch no multiple of a sample", DLPARK_E_STRIDES);
    passage_report("avframe", PASSAGE_IN, DLPARK_U16, "picture, rows overlap", DLPARK_E_STRIDES);
}

static void what_is_missing(void **state)
{
    AVFrame *frame = NULL;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "the frame is NULL", dlpark_avframe_view(&view, NULL, 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "the frame is NULL", dlpark_avframe_share(&tensor, NULL, 0, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "the frame is NULL", dlpark_avframe_import(&tensor, NULL, 0, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "the frame is NULL", dlpark_avframe_import(&tensor, &frame, 0, NULL, e));
    frame = made_picture(AV_PIX_FMT_GRAY8, 5, 4);
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is NULL", dlpark_avframe_share(NULL, frame, 0, NULL, e));
    assert_ok(dlpark_avframe_share(&tensor, frame, 0, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds one", dlpark_avframe_share(&tensor, frame, 0, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds one", dlpark_avframe_import(&tensor, &frame, 0, NULL, e));
    dlpark_tensor_release(&tensor);
    av_frame_free(&frame);
}

static void frames_without_a_buffer_are_only_lent(void **state)
{
    unsigned char memory[4 * 16];
    AVFrame *frame = made_around(AV_PIX_FMT_RGB24, 5, 4, memory, sizeof memory, 16, 0);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    av_buffer_unref(&frame->buf[0]);
    assert_ok(dlpark_avframe_view(&view, frame, 0, e));
    assert_ptr_equal(view.data, memory);
    assert_fails(DLPARK_E_ARGUMENT,
                 "no buffer, so nobody can keep its memory: borrow it by dlpark_avframe_view(), or copy its 60",
                 dlpark_avframe_share(&tensor, frame, 0, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no buffer", dlpark_avframe_import(&tensor, &frame, 0, NULL, e));
    av_frame_free(&frame);
}

/* Some sources of frames give a buffer that stands for the memory and does not contain it. */
static void buffers_that_only_stand_for_the_memory(void **state)
{
    unsigned char memory[4 * 16], token[1];
    AVFrame *frame = made_around(AV_PIX_FMT_RGB24, 5, 4, token, sizeof token, 16, 0);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    frame->data[0] = memory;
    atomic_store(&made_ends, 0);
    assert_ok(dlpark_avframe_share(&tensor, frame, 0, &view, e));
    assert_ptr_equal(view.data, memory);
    av_frame_free(&frame);
    assert_int_equal(made_ends, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(made_ends, 1);
}

/* ---- Owners ---- */

static void shares_end_in_any_order(void **state)
{
    unsigned char memory[4 * 16];
    dlpark_view view;

    (void)state;
    for (int order = 0; order < 3; order++) {
        AVFrame *frame = made_around(AV_PIX_FMT_RGB24, 5, 4, memory, sizeof memory, 16, 0);
        dlpark_tensor a = DLPARK_TENSOR_EMPTY, b = DLPARK_TENSOR_EMPTY;
        atomic_store(&made_ends, 0);
        assert_ok(dlpark_avframe_share(&a, frame, 0, &view, e));
        assert_ok(dlpark_avframe_share(&b, frame, DLPARK_AVFRAME_COMPONENT(1), NULL, e));
        assert_ptr_equal(view.data, memory);
        assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
        assert_int_equal(av_buffer_get_ref_count(frame->buf[0]), 3);
        if (order == 0)
            av_frame_free(&frame);
        dlpark_tensor_release(&b);
        if (order == 1)
            av_frame_free(&frame);
        assert_int_equal(made_ends, 0);
        if (order == 2)
            release_elsewhere(&a);
        dlpark_tensor_release(&a);
        av_frame_free(&frame);
        assert_int_equal(made_ends, 1);
    }
}

static void imports_take_the_frame(void **state)
{
    unsigned char memory[4 * 16];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        AVFrame *frame =
            made_around(AV_PIX_FMT_RGB24, 5, 4, memory, sizeof memory, 16, kind == 1 ? AV_BUFFER_FLAG_READONLY : 0);
        AVFrame *other = kind == 2 ? av_frame_clone(frame) : NULL;
        atomic_store(&made_ends, 0);
        assert_ok(dlpark_avframe_import(&tensor, &frame, 0, &view, e));
        assert_null(frame);
        assert_ptr_equal(view.data, memory);
        assert_int_equal(view.flags, kind == 0 ? 0 : DLPARK_VIEW_READ_ONLY);
        assert_int_equal(tensor.managed->flags, kind == 0 ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY);
        assert_int_equal(made_ends, 0);
        release_elsewhere(&tensor);
        assert_int_equal(made_ends, other ? 0 : 1);
        av_frame_free(&other);
        assert_int_equal(made_ends, 1);
    }
}

static void *release_on_thread(void *tensor)
{
    dlpark_tensor_release(tensor);
    return NULL;
}

static void release_elsewhere(dlpark_tensor *tensor)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, release_on_thread, tensor), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(tensor->managed);
}

/* ---- Memory ---- */

static void no_memory_leaves_nothing(void **state)
{
    unsigned char memory[4 * 16];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_status status = DLPARK_E_MEMORY;
    dlpark_error err;
    long nth = 0;

    (void)state;
    AVFrame *frame = made_around(AV_PIX_FMT_RGB24, 5, 4, memory, sizeof memory, 16, 0), *kept = frame;
    atomic_store(&made_ends, 0);
    while (status == DLPARK_E_MEMORY) {
        failing_alloc_arm_from(++nth); /* a tensor is asked for twice */
        status = dlpark_avframe_share(&tensor, frame, 0, NULL, &err);
        failing_alloc_arm(0);
        assert_int_equal(tensor.managed == NULL, status != DLPARK_OK);
        assert_int_equal(av_buffer_get_ref_count(frame->buf[0]), status == DLPARK_OK ? 2 : 1);
    }
    assert_int_equal(status, DLPARK_OK);
    assert_true(nth >= (made_fails_in_libavutil() ? 4 : 2)); /* the clone, its reference, the tensor, and then none */
    dlpark_tensor_release(&tensor);

    failing_alloc_arm_from(1);
    assert_int_equal(dlpark_avframe_import(&tensor, &frame, 0, NULL, &err), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    assert_ptr_equal(frame, kept);
    assert_int_equal(made_ends, 0);
    assert_ok(dlpark_avframe_import(&tensor, &frame, 0, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(made_ends, 1);
}

static void many_round_trips_take_no_memory(void **state)
{
    AVFrame *frame = made_picture(AV_PIX_FMT_YUV420P, 64, 48);
    size_t used = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        dlpark_tensor shared = DLPARK_TENSOR_EMPTY, taken = DLPARK_TENSOR_EMPTY;
        AVFrame *clone = av_frame_clone(frame);
        if (dlpark_avframe_share(&shared, frame, i % 3, NULL, NULL) ||
            dlpark_avframe_import(&taken, &clone, DLPARK_AVFRAME_COMPONENT(i % 3), NULL, NULL))
            fail();
        dlpark_tensor_release(&shared);
        dlpark_tensor_release(&taken);
        if (i == 100)
            used = mallinfo2().uordblks;
    }
    assert_int_equal(mallinfo2().uordblks, used);
    assert_int_equal(av_buffer_get_ref_count(frame->buf[0]), 1);
    av_frame_free(&frame);
}

/* ---- The table of docs/adapters.md ---- */

static dlpark_status pass_picture(int format, int width, int height, bool flipped)
{
    AVFrame *frame = made_picture(format, width, height);
    const uint8_t *data = frame->data[0];
    dlpark_tensor shared = DLPARK_TENSOR_EMPTY, taken = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    if (flipped) {
        frame->data[0] += (height - 1) * frame->linesize[0];
        frame->linesize[0] *= -1;
    }
    dlpark_status status = dlpark_avframe_share(&shared, frame, 0, &view, NULL);
    if (status == DLPARK_OK) {
        assert_ptr_equal((uint8_t *)view.data + (flipped ? (height - 1) * frame->linesize[0] : 0), data);
        assert_int_equal(dlpark_avframe_import(&taken, &frame, 0, NULL, NULL), DLPARK_OK);
        assert_ptr_equal(taken.managed->dl_tensor.data, view.data);
    }
    dlpark_tensor_release(&shared);
    dlpark_tensor_release(&taken);
    av_frame_free(&frame);
    return status;
}

static void pictures_that_pass(void **state)
{
    static const struct {
        int format;
        DLDataType dtype;
        const char *layout;
        bool flipped;
    } cases[] = {
        {AV_PIX_FMT_GRAY8, {kDLUInt, 8, 1}, "picture [h, w]", false},
        {AV_PIX_FMT_GRAY16, {kDLUInt, 16, 1}, "picture [h, w]", false},
        {AV_PIX_FMT_GRAYF32, {kDLFloat, 32, 1}, "picture [h, w]", false},
        {AV_PIX_FMT_RGB24, {kDLUInt, 8, 1}, "picture [h, w, c]", false},
        {AV_PIX_FMT_RGB48, {kDLUInt, 16, 1}, "picture [h, w, c]", false},
        {AV_PIX_FMT_GBRP, {kDLUInt, 8, 1}, "picture, a plane for each component", false},
        {AV_PIX_FMT_GBRP16, {kDLUInt, 16, 1}, "picture, a plane for each component", false},
        {AV_PIX_FMT_GBRPF32, {kDLFloat, 32, 1}, "picture, a plane for each component", false},
        {AV_PIX_FMT_GRAY8, {kDLUInt, 8, 1}, "picture, rows flipped", true},
        {AV_PIX_FMT_GRAY16, {kDLUInt, 16, 1}, "picture, rows flipped", true},
        {AV_PIX_FMT_GRAYF32, {kDLFloat, 32, 1}, "picture, rows flipped", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark_status status = pass_picture(cases[i].format, 101, 50, cases[i].flipped);
        assert_int_equal(status, DLPARK_OK);
        passage_report("avframe", PASSAGE_IN, cases[i].dtype, cases[i].layout, status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_say_whether_they_may_be_written),
        cmocka_unit_test(rows_from_the_last_to_the_first),
        cmocka_unit_test(hostile_frames),
        cmocka_unit_test(what_is_missing),
        cmocka_unit_test(frames_without_a_buffer_are_only_lent),
        cmocka_unit_test(buffers_that_only_stand_for_the_memory),
        cmocka_unit_test(shares_end_in_any_order),
        cmocka_unit_test(imports_take_the_frame),
        cmocka_unit_test(no_memory_leaves_nothing),
        cmocka_unit_test(many_round_trips_take_no_memory),
        cmocka_unit_test(pictures_that_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
