/* Tensors out of dlpark as pictures: where their rows lie, who may write them, and who ends them. */
#include "avframe_given.h"

#include <malloc.h>
#include <pthread.h>

#include "passage.h"

static void fill_memory(void)
{
    for (size_t i = 0; i < sizeof given_memory; i++)
        given_memory[i] = (unsigned char)(i * 37 + i / 256);
}

/* libavutil's own copy of a picture has the same samples at every place. */
static void assert_libavutil_reads_it(const AVFrame *frame)
{
    AVFrame *copy = made_picture(frame->format, frame->width, frame->height);
    const AVPixFmtDescriptor *descriptor = av_pix_fmt_desc_get(frame->format);
    dlpark_view ours, theirs;

    assert_int_equal(av_frame_copy(copy, frame), 0);
    for (int i = 0; i < descriptor->nb_components; i++) {
        int32_t part = DLPARK_AVFRAME_COMPONENT(i) | DLPARK_AVFRAME_ANY_DEPTH;
        assert_ok(dlpark_avframe_view(&ours, frame, part, e));
        assert_ok(dlpark_avframe_view(&theirs, copy, part, e));
        for (int64_t y = 0; y < ours.shape[0]; y++)
            for (int64_t x = 0; x < ours.shape[1]; x++) {
                size_t nbytes = ours.dtype.bits / 8;
                assert_memory_equal(
                    (const char *)ours.data + (y * ours.strides[0] + x * ours.strides[1]) * (int64_t)nbytes,
                    (const char *)theirs.data + (y * theirs.strides[0] + x * theirs.strides[1]) * (int64_t)nbytes,
                    nbytes);
            }
    }
    av_frame_free(&copy);
}

/* Gives one tensor out; the frame must be what was expected of it. */
static AVFrame *give(const given_desc *desc, int format)
{
    dlpark_tensor tensor;
    AVFrame *frame = NULL;

    given_make(&tensor, desc);
    given_ends = 0;
    assert_ok(dlpark_avframe_export(&frame, &tensor, format, e));
    assert_null(tensor.managed);
    assert_int_equal(frame->format, format);
    assert_ptr_equal(frame->extended_data, frame->data);
    assert_int_equal(av_frame_is_writable(frame), !desc->is_read_only);
    return frame;
}

static void give_back(AVFrame *frame)
{
    assert_int_equal(given_ends, 0);
    av_frame_free(&frame);
    assert_int_equal(given_ends, 1);
}

/* ---- Where the rows lie ---- */

static void pictures_in_one_plane(void **state)
{
    static const struct {
        given_desc desc;
        int format, width, height, linesize, first;
        const char *layout; /* of the table */
    } cases[] = {
        {{U8, 2, {4, 5}, .strides = {0}}, AV_PIX_FMT_GRAY8, 5, 4, 5, 0, "picture [h, w]"},
        {{U16, 2, {4, 5}, .strides = {0}}, AV_PIX_FMT_GRAY16, 5, 4, 10, 0, "picture [h, w]"},
        {{F32, 2, {4, 5}, .strides = {0}}, AV_PIX_FMT_GRAYF32, 5, 4, 20, 0, "picture [h, w]"},
        {{U8, 3, {4, 5, 1}, .strides = {0}}, AV_PIX_FMT_GRAY8, 5, 4, 5, 0, NULL},
        {{U8, 3, {4, 5, 3}, .strides = {0}}, AV_PIX_FMT_RGB24, 5, 4, 15, 0, "picture [h, w, c]"},
        {{U8, 3, {4, 5, 3}, .strides = {16, 3, 1}}, AV_PIX_FMT_BGR24, 5, 4, 16, 0, NULL},
        {{U16, 3, {4, 5, 3}, .strides = {0}}, AV_PIX_FMT_RGB48, 5, 4, 30, 0, "picture [h, w, c]"},
        {{U8, 3, {4, 5, 4}, .strides = {0}}, AV_PIX_FMT_YUYV422, 10, 4, 20, 0, NULL},
        {{U8, 3, {1, 5, 3}, .strides = {-999, 3, 1}}, AV_PIX_FMT_RGB24, 5, 1, 15, 0, NULL}, /* one row has no pitch */
        {{U8, 3, {4, 1, 3}, .strides = {20, -999, 1}}, AV_PIX_FMT_RGB24, 1, 4, 20, 0, NULL},
        {{U8, 2, {4, 5}, .strides = {-8, 1}, .offset_nbytes = 64},
         AV_PIX_FMT_GRAY8,
         5,
         4,
         -8,
         -24,
         "picture, rows flipped"},
        {{U16, 2, {4, 5}, .strides = {-8, 1}, .offset_nbytes = 64},
         AV_PIX_FMT_GRAY16,
         5,
         4,
         -16,
         -48,
         "picture, rows flipped"},
        {{F32, 2, {4, 5}, .strides = {-8, 1}, .offset_nbytes = 128},
         AV_PIX_FMT_GRAYF32,
         5,
         4,
         -32,
         -96,
         "picture, rows flipped"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const unsigned char *data = given_memory + cases[i].desc.offset_nbytes;
        AVFrame *frame = give(&cases[i].desc, cases[i].format);
        assert_int_equal(frame->width, cases[i].width);
        assert_int_equal(frame->height, cases[i].height);
        assert_int_equal(frame->linesize[0], cases[i].linesize);
        assert_ptr_equal(frame->data[0], data);
        assert_ptr_equal(frame->buf[0]->data, data + cases[i].first);
        assert_null(frame->buf[1]);
        assert_null(frame->data[1]);
        assert_libavutil_reads_it(frame);
        give_back(frame);
        if (cases[i].layout)
            passage_report("avframe", PASSAGE_OUT, cases[i].desc.dtype, cases[i].layout, DLPARK_OK);
    }
}

static void buffers_have_all_of_the_tensor(void **state)
{
    static const given_desc up = {U16, 2, {4, 5}, .strides = {-8, 1}, .offset_nbytes = 64};
    static const given_desc down = {U8, 3, {4, 5, 3}, .strides = {16, 3, 1}};
    AVFrame *frame = give(&up, AV_PIX_FMT_GRAY16);

    (void)state;
    assert_int_equal(frame->buf[0]->size, 3 * 16 + 10);
    give_back(frame);
    frame = give(&down, AV_PIX_FMT_RGB24);
    assert_int_equal(frame->buf[0]->size, 3 * 16 + 15);
    give_back(frame);
}

/* R G B in the tensor, G B R in the frame; behind each other, flipped, and row by row. */
static void components_find_their_planes(void **state)
{
    static const struct {
        given_desc desc;
        int format, linesize, step;
    } cases[] = {
        {{U8, 3, {3, 4, 5}, .strides = {0}}, AV_PIX_FMT_GBRP, 5, 20},
        {{U16, 3, {3, 4, 5}, .strides = {0}}, AV_PIX_FMT_GBRP16, 10, 40},
        {{F32, 3, {3, 4, 5}, .strides = {0}}, AV_PIX_FMT_GBRPF32, 20, 80},
        {{U8, 3, {3, 4, 5}, .strides = {5, 15, 1}}, AV_PIX_FMT_GBRP, 15, 5},
        {{U8, 3, {3, 4, 5}, .strides = {20, -5, 1}, .offset_nbytes = 20}, AV_PIX_FMT_GBRP, -5, 20},
        {{U8, 3, {3, 4, 5}, .strides = {-20, 5, 1}, .offset_nbytes = 40}, AV_PIX_FMT_GBRP, 5, -20},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AVFrame *frame = give(&cases[i].desc, cases[i].format);
        unsigned char *data = given_memory + cases[i].desc.offset_nbytes;
        assert_int_equal(frame->width, 5);
        assert_int_equal(frame->height, 4);
        assert_ptr_equal(frame->data[2], data);
        assert_ptr_equal(frame->data[0], data + cases[i].step);
        assert_ptr_equal(frame->data[1], data + 2 * cases[i].step);
        for (int k = 0; k < 3; k++)
            assert_int_equal(frame->linesize[k], cases[i].linesize);
        assert_null(frame->buf[1]);
        assert_libavutil_reads_it(frame);
        give_back(frame);
        passage_report("avframe", PASSAGE_OUT, cases[i].desc.dtype, "picture, a plane for each component", DLPARK_OK);
    }
}

static void a_tensor_for_each_plane(void **state)
{
    static const given_desc y = {U8, 2, {5, 7}, .strides = {16, 1}};
    static const given_desc u = {U8, 2, {3, 4}, .strides = {0}, .offset_nbytes = 100};
    static const given_desc v = {U8, 2, {3, 4}, .strides = {-4, 1}, .offset_nbytes = 208, .is_read_only = true};
    static const given_desc uv = {U8, 3, {3, 4, 2}, .strides = {0}, .offset_nbytes = 300};
    dlpark_tensor planes[3];
    AVFrame *frame = NULL;

    (void)state;
    given_make(&planes[0], &y);
    given_make(&planes[1], &u);
    given_make(&planes[2], &v);
    given_ends = 0;
    assert_ok(dlpark_avframe_export_planes(&frame, planes, 3, AV_PIX_FMT_YUV420P, NULL, e));
    for (int i = 0; i < 3; i++)
        assert_null(planes[i].managed);
    assert_ptr_equal(frame->data[2], given_memory + 208);
    assert_int_equal(frame->linesize[2], -4);
    assert_int_equal(frame->width * 100 + frame->height, 705);
    assert_int_equal(av_frame_is_writable(frame), 0); /* for one plane that is not */
    assert_libavutil_reads_it(frame);
    av_frame_free(&frame);
    assert_int_equal(given_ends, 3);

    given_make(&planes[0], &y);
    given_make(&planes[1], &uv);
    given_ends = 0;
    assert_ok(dlpark_avframe_export_planes(&frame, planes, 2, AV_PIX_FMT_NV12, NULL, e));
    assert_int_equal(frame->linesize[1], 8);
    assert_libavutil_reads_it(frame);
    av_frame_free(&frame);
    assert_int_equal(given_ends, 2);
}

static void narrow_samples_go_to_who_asks(void **state)
{
    static const given_desc gray = {U16, 2, {4, 5}, .strides = {0}};
    const dlpark_avframe_options any = {.any_depth = true};
    dlpark_tensor tensor;
    AVFrame *frame = NULL;

    (void)state;
    given_make(&tensor, &gray);
    assert_fails(DLPARK_E_DTYPE, "has samples of 10 bits, 0 bits up in elements of 16",
                 dlpark_avframe_export(&frame, &tensor, AV_PIX_FMT_GRAY10, e));
    assert_ok(dlpark_avframe_export_planes(&frame, &tensor, 1, AV_PIX_FMT_GRAY10, &any, e));
    assert_libavutil_reads_it(frame);
    av_frame_free(&frame);
}

/* ---- Padding ---- */

static void padding_is_shown_or_refused(void **state)
{
    static const given_desc wide = {U8, 3, {6, 32, 3}, .strides = {0}}, tight = {U8, 3, {4, 5, 3}, .strides = {0}};
    dlpark_avframe_options options = {
        .width = 5, .height = 4, .require_padding = DLPARK_AVFRAME_PADDING, .require_alignment = 32};
    dlpark_tensor tensor;
    AVFrame *frame = NULL;

    (void)state;
    given_make(&tensor, &wide);
    assert_ok(dlpark_avframe_export_planes(&frame, &tensor, 1, AV_PIX_FMT_RGB24, &options, e));
    assert_int_equal(frame->width * 100 + frame->height, 504);
    assert_int_equal(frame->linesize[0], 96);
    assert_int_equal(frame->buf[0]->size, 6 * 96);
    av_frame_free(&frame);

    /* Behind row 4 of 6 lie 2 * 96 bytes and what is left of its own row. */
    given_make(&tensor, &wide);
    options.require_padding = 2 * 96 + 96 - 15;
    assert_ok(dlpark_avframe_export_planes(&frame, &tensor, 1, AV_PIX_FMT_RGB24, &options, e));
    av_frame_free(&frame);
    given_make(&tensor, &wide);
    options.require_padding++;
    assert_fails(DLPARK_E_SHAPE, "1 bytes are missing behind plane 0: require_padding is 274, and the tensor has 273",
                 dlpark_avframe_export_planes(&frame, &tensor, 1, AV_PIX_FMT_RGB24, &options, e));
    dlpark_tensor_release(&tensor);

    given_make(&tensor, &tight);
    options = (dlpark_avframe_options){.require_padding = 16};
    assert_fails(DLPARK_E_SHAPE, "16 bytes are missing behind plane 0",
                 dlpark_avframe_export_planes(&frame, &tensor, 1, AV_PIX_FMT_RGB24, &options, e));
    options = (dlpark_avframe_options){.require_alignment = 16};
    assert_fails(DLPARK_E_ALIGNMENT, "with rows of 15 bytes, and 16 is asked for",
                 dlpark_avframe_export_planes(&frame, &tensor, 1, AV_PIX_FMT_RGB24, &options, e));
    assert_non_null(tensor.managed);
    dlpark_tensor_release(&tensor);

    static const given_desc row = {U8, 3, {1, 5, 3}, .strides = {0}}; /* no second one begins anywhere */
    given_make(&tensor, &row);
    assert_ok(dlpark_avframe_export_planes(&frame, &tensor, 1, AV_PIX_FMT_RGB24, &options, e));
    av_frame_free(&frame);
}

/* ---- Who may write, and who ends it ---- */

static void read_only_stays_read_only(void **state)
{
    static const given_desc desc = {U8, 3, {4, 5, 3}, .strides = {0}, .is_read_only = true};
    AVFrame *frame = give(&desc, AV_PIX_FMT_RGB24);
    uint8_t first = given_memory[0];

    (void)state;
    assert_int_equal(av_buffer_get_ref_count(frame->buf[0]), 1);
    assert_int_equal(av_frame_make_writable(frame), 0); /* copies, and lets go of ours */
    assert_int_equal(given_ends, 1);
    frame->data[0][0] ^= 0xff;
    assert_int_equal(given_memory[0], first);
    av_frame_free(&frame);
    assert_int_equal(given_ends, 1);
}

static void legacy_end(DLManagedTensor *managed)
{
    (void)managed;
    given_ends++;
}

static void unknown_is_not_writable(void **state)
{
    int64_t shape[] = {4, 5};
    DLManagedTensor legacy = {.dl_tensor = {given_memory, {kDLCPU, 0}, 2, U8, shape, NULL, 0}, .deleter = legacy_end};
    DLManagedTensor *given = &legacy;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    AVFrame *frame = NULL;

    (void)state;
    given_ends = 0;
    assert_ok(dlpark_tensor_import_legacy(&tensor, &given, NULL, e));
    assert_ok(dlpark_avframe_export(&frame, &tensor, AV_PIX_FMT_GRAY8, e));
    assert_int_equal(av_frame_is_writable(frame), 0);
    give_back(frame);
}

static void *free_there(void *frame)
{
    AVFrame *theirs = frame;

    av_frame_free(&theirs);
    return NULL;
}

static void the_last_reference_ends_it_anywhere(void **state)
{
    static const given_desc desc = {U8, 3, {4, 5, 3}, .strides = {0}};

    (void)state;
    for (int i = 0; i < 200; i++) {
        AVFrame *frame = give(&desc, AV_PIX_FMT_RGB24), *clone = av_frame_clone(frame);
        dlpark_tensor shared = DLPARK_TENSOR_EMPTY;
        pthread_t thread;
        assert_ok(dlpark_avframe_share(&shared, frame, 0, NULL, e));
        assert_int_equal(pthread_create(&thread, NULL, free_there, i % 2 ? frame : clone), 0);
        av_frame_free(i % 2 ? &clone : &frame);
        if (i % 3)
            dlpark_tensor_release(&shared);
        assert_int_equal(pthread_join(thread, NULL), 0);
        dlpark_tensor_release(&shared);
        assert_int_equal(given_ends, 1);
    }
}

/* ---- Memory ---- */

static void without_memory_nothing_changes(void **state)
{
    static const given_desc y = {U8, 2, {4, 6}, .strides = {0}}, uv = {U8, 3, {2, 3, 2}, .strides = {0}};
    dlpark_status status = DLPARK_E_MEMORY;
    dlpark_tensor planes[2];
    AVFrame *frame = NULL;
    long nth = 0;

    (void)state;
    given_make(&planes[0], &y);
    given_make(&planes[1], &uv);
    given_ends = 0;
    while (status == DLPARK_E_MEMORY) {
        size_t used = mallinfo2().uordblks;
        failing_alloc_arm(++nth);
        status = dlpark_avframe_export_planes(&frame, planes, 2, AV_PIX_FMT_NV12, NULL, NULL);
        failing_alloc_arm(0);
        if (status == DLPARK_OK)
            break;
        assert_null(frame);
        assert_non_null(planes[0].managed);
        assert_non_null(planes[1].managed);
        assert_int_equal(given_ends, 0);
        assert_int_equal(mallinfo2().uordblks, used);
    }
    assert_int_equal(status, DLPARK_OK);
    assert_true(nth >= (made_fails_in_libavutil()
                            ? 8
                            : 3)); /* the frame, and a hold, a buffer and its reference for each plane, and then none */
    av_frame_free(&frame);
    assert_int_equal(given_ends, 2);
}

static void many_round_trips_take_no_memory(void **state)
{
    static const given_desc desc = {U8, 3, {4, 5, 3}, .strides = {0}};
    size_t used = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        AVFrame *frame = give(&desc, AV_PIX_FMT_RGB24);
        dlpark_tensor back = DLPARK_TENSOR_EMPTY;
        assert_int_equal(dlpark_avframe_import(&back, &frame, 0, NULL, NULL), DLPARK_OK);
        assert_ptr_equal(back.managed->dl_tensor.data, given_memory);
        assert_int_equal(given_ends, 0);
        dlpark_tensor_release(&back);
        assert_int_equal(given_ends, 1);
        if (i == 100)
            used = mallinfo2().uordblks;
    }
    assert_int_equal(mallinfo2().uordblks, used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_in_one_plane),
        cmocka_unit_test(buffers_have_all_of_the_tensor),
        cmocka_unit_test(components_find_their_planes),
        cmocka_unit_test(a_tensor_for_each_plane),
        cmocka_unit_test(narrow_samples_go_to_who_asks),
        cmocka_unit_test(padding_is_shown_or_refused),
        cmocka_unit_test(read_only_stays_read_only),
        cmocka_unit_test(unknown_is_not_writable),
        cmocka_unit_test(the_last_reference_ends_it_anywhere),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(many_round_trips_take_no_memory),
    };

    fill_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
