/* Sound, both ways. */
#include "avframe_given.h"

#include "passage.h"

#define I16                                                                                                            \
    {                                                                                                                  \
        kDLInt, 16, 1                                                                                                  \
    }
#define F32                                                                                                            \
    {                                                                                                                  \
        kDLFloat, 32, 1                                                                                                \
    }

static const struct {
    int packed, planar;
    DLDataType dtype;
} sounds[] = {
    {AV_SAMPLE_FMT_U8, AV_SAMPLE_FMT_U8P, {kDLUInt, 8, 1}},
    {AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16P, I16},
    {AV_SAMPLE_FMT_S32, AV_SAMPLE_FMT_S32P, {kDLInt, 32, 1}},
    {AV_SAMPLE_FMT_S64, AV_SAMPLE_FMT_S64P, {kDLInt, 64, 1}},
    {AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_FLTP, F32},
    {AV_SAMPLE_FMT_DBL, AV_SAMPLE_FMT_DBLP, {kDLFloat, 64, 1}},
};

enum { SOUNDS = sizeof sounds / sizeof sounds[0] };

/* ---- Into dlpark ---- */

static void planes_and_channels(void **state)
{
    dlpark_view view;

    (void)state;
    for (int i = 0; i < SOUNDS; i++) {
        AVFrame *packed = made_sound(sounds[i].packed, 100, 3), *planar = made_sound(sounds[i].planar, 100, 3);
        assert_ok(dlpark_avframe_view(&view, packed, 0, e));
        assert_true(dlpark_dtype_equal(view.dtype, sounds[i].dtype));
        assert_int_equal(view.ndim, 2);
        assert_int_equal(view.shape[0] * 10 + view.shape[1], 1003);
        assert_ptr_equal(view.data, packed->data[0]);
        assert_int_equal(view.flags, 0);
        passage_report("avframe", PASSAGE_IN, sounds[i].dtype, "sound [samples, channels]", DLPARK_OK);

        assert_ok(dlpark_avframe_view(&view, packed, DLPARK_AVFRAME_COMPONENT(2), e));
        assert_int_equal(view.ndim, 1);
        assert_int_equal(view.strides[0], 3);
        assert_ptr_equal(view.data, packed->data[0] + 2 * (sounds[i].dtype.bits / 8));

        for (int32_t part = 2; part < 3 + DLPARK_AVFRAME_COMPONENT(0); part += DLPARK_AVFRAME_COMPONENT(0)) {
            assert_ok(dlpark_avframe_view(&view, planar, part, e));
            assert_int_equal(view.ndim, 1);
            assert_int_equal(view.shape[0], 100);
            assert_int_equal(view.strides[0], 1);
            assert_ptr_equal(view.data, planar->data[2]);
        }
        passage_report("avframe", PASSAGE_IN, sounds[i].dtype, "sound, a plane for each channel", DLPARK_OK);
        av_frame_free(&packed);
        av_frame_free(&planar);
    }
}

static void more_channels_than_data_has(void **state)
{
    AVFrame *frame = made_sound(AV_SAMPLE_FMT_FLTP, 100, 12);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    const float *last = (const float *)(const void *)frame->extended_data[11];
    float first = last[0];
    assert_ok(dlpark_avframe_view(&view, frame, 11, e));
    assert_ptr_equal(view.data, last);
    assert_ok(dlpark_avframe_share(&tensor, frame, 11, &view, e));
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    av_frame_free(&frame);
    assert_memory_equal(view.data, &first, sizeof first);
    dlpark_tensor_release(&tensor);
}

/* The buffers beyond the eighth count as well. */
static void one_shared_buffer_is_enough(void **state)
{
    AVFrame *frame = made_sound(AV_SAMPLE_FMT_FLTP, 100, 12);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_avframe_view(&view, frame, 0, e));
    assert_int_equal(view.flags, 0);
    assert_true(frame->nb_extended_buf > 0);
    AVBufferRef *other = av_buffer_ref(frame->extended_buf[3]);
    assert_ok(dlpark_avframe_view(&view, frame, 0, e));
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    av_buffer_unref(&other);
    av_frame_free(&frame);
}

static void hostile_sounds(void **state)
{
    AVFrame *frame = made_sound(AV_SAMPLE_FMT_S16, 100, 2);
    int linesize = frame->linesize[0];
    dlpark_view view;

    (void)state;
    assert_fails(DLPARK_E_INDEX, "s16 has 2 channels in 1 planes, and no part 1",
                 dlpark_avframe_view(&view, frame, 1, e));
    assert_fails(DLPARK_E_INDEX, "no part 65538", dlpark_avframe_view(&view, frame, DLPARK_AVFRAME_COMPONENT(2), e));
    assert_fails(DLPARK_E_INDEX, "no part -1", dlpark_avframe_view(&view, frame, -1, e));
    frame->linesize[0] = 399;
    assert_fails(DLPARK_E_ARGUMENT, "s16: linesize[0] is 399, and 100 samples have 400 bytes",
                 dlpark_avframe_view(&view, frame, 0, e));
    frame->linesize[0] = linesize;
    frame->nb_samples = INT32_MAX;
    frame->linesize[0] = 0;
    assert_fails(DLPARK_E_ARGUMENT, "the rows of plane 0 take the bytes 0 to 8589934588, and its buffer has 0 to",
                 dlpark_avframe_view(&view, frame, 0, e));
    frame->format = AV_SAMPLE_FMT_DBL;
    frame->ch_layout.nb_channels = INT32_MAX;
    assert_fails(DLPARK_E_ARGUMENT, "dbl: 2147483647 samples of 2147483647 channels are more than 63 bits count",
                 dlpark_avframe_view(&view, frame, 0, e));
    frame->format = AV_SAMPLE_FMT_S16P;
    frame->nb_samples = 10;
    frame->ch_layout.nb_channels = 12;
    assert_fails(DLPARK_E_ARGUMENT, "s16p: plane 8 is wanted, and extended_data has 8",
                 dlpark_avframe_view(&view, frame, 8, e));
    frame->format = AV_SAMPLE_FMT_S16;
    frame->nb_samples = 100;
    frame->ch_layout.nb_channels = 0;
    assert_fails(DLPARK_E_ARGUMENT, "s16: the frame has 0 channels", dlpark_avframe_view(&view, frame, 0, e));
    frame->ch_layout.nb_channels = 2;
    frame->format = 77;
    assert_fails(DLPARK_E_DTYPE, "libavutil knows no sample format 77", dlpark_avframe_view(&view, frame, 0, e));
    frame->format = AV_SAMPLE_FMT_S16;
    frame->extended_data[0] = NULL;
    assert_fails(DLPARK_E_ARGUMENT, "extended_data[0] is NULL", dlpark_avframe_view(&view, frame, 0, e));
    frame->extended_data = NULL;
    assert_fails(DLPARK_E_ARGUMENT, "extended_data[0] is NULL", dlpark_avframe_view(&view, frame, 0, e));
    frame->extended_data = frame->data;
    av_frame_free(&frame);
}

/* ---- Out of dlpark ---- */

static AVFrame *give_sound(const given_desc *desc, int format)
{
    dlpark_tensor tensor;
    AVFrame *frame = NULL;

    given_make(&tensor, desc);
    given_ends = 0;
    assert_ok(dlpark_avframe_export_audio(&frame, &tensor, format, 44100, e));
    assert_null(tensor.managed);
    assert_int_equal(frame->format, format);
    assert_int_equal(frame->sample_rate, 44100);
    assert_int_equal(frame->width | frame->height, 0);
    return frame;
}

/* A clone reads what libavutil makes of it; the last of both ends the tensor. */
static void take_sound_back(AVFrame *frame, int channels, int samples)
{
    AVFrame *clone = av_frame_clone(frame);

    assert_non_null(clone);
    assert_int_equal(clone->ch_layout.nb_channels, channels);
    assert_int_equal(clone->nb_samples, samples);
    av_frame_free(&frame);
    assert_int_equal(given_ends, 0);
    assert_int_equal(av_frame_make_writable(clone), 0); /* it is: the only one */
    assert_true(clone->data[0] >= given_memory && clone->data[0] < given_memory + sizeof given_memory);
    av_frame_free(&clone);
    assert_int_equal(given_ends, 1);
}

static void tensors_that_are_sound(void **state)
{
    (void)state;
    for (int i = 0; i < SOUNDS; i++) {
        int nbytes = sounds[i].dtype.bits / 8;
        given_desc packed = {sounds[i].dtype, 2, {50, 3}, .strides = {0}};
        given_desc planar = {sounds[i].dtype, 2, {3, 50}, .strides = {60, 1}};
        given_desc one = {sounds[i].dtype, 1, {50}, .strides = {0}};
        AVFrame *frame = give_sound(&packed, sounds[i].packed);
        assert_ptr_equal(frame->data[0], given_memory);
        assert_int_equal(frame->linesize[0], 150 * nbytes);
        assert_null(frame->data[1]);
        take_sound_back(frame, 3, 50);
        passage_report("avframe", PASSAGE_OUT, sounds[i].dtype, "sound [samples, channels]", DLPARK_OK);

        frame = give_sound(&planar, sounds[i].planar);
        for (int k = 0; k < 3; k++)
            assert_ptr_equal(frame->extended_data[k], given_memory + k * 60 * nbytes);
        assert_int_equal(frame->linesize[0], 50 * nbytes);
        take_sound_back(frame, 3, 50);
        passage_report("avframe", PASSAGE_OUT, sounds[i].dtype, "sound, a plane for each channel", DLPARK_OK);

        frame = give_sound(&one, i % 2 ? sounds[i].packed : sounds[i].planar);
        take_sound_back(frame, 1, 50);
    }
}

static void channels_in_any_order(void **state)
{
    static const given_desc desc = {I16, 2, {2, 50}, .strides = {-50, 1}, .offset_nbytes = 100};
    AVFrame *frame = give_sound(&desc, AV_SAMPLE_FMT_S16P);

    (void)state;
    assert_ptr_equal(frame->data[0], given_memory + 100);
    assert_ptr_equal(frame->data[1], given_memory);
    assert_ptr_equal(frame->buf[0]->data, given_memory);
    take_sound_back(frame, 2, 50);
}

static void one_sample_has_no_pitch(void **state)
{
    static const given_desc desc = {I16, 2, {1, 2}, .strides = {-999, 1}};

    (void)state;
    take_sound_back(give_sound(&desc, AV_SAMPLE_FMT_S16), 2, 1);
}

static void tensors_that_are_no_sound(void **state)
{
    static const struct {
        given_desc desc;
        int format, rate;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {{.dtype = I16}, AV_SAMPLE_FMT_S16, 8000, DLPARK_E_RANK, "s16 takes i16[samples, channels], not rank 0"},
        {{I16, 3, {2, 3, 4}, .strides = {0}},
         AV_SAMPLE_FMT_S16P,
         8000,
         DLPARK_E_RANK,
         "s16p takes i16[channels, samples], not rank 3"},
        {{F32, 2, {50, 2}, .strides = {0}}, AV_SAMPLE_FMT_S16, 8000, DLPARK_E_DTYPE, "s16 takes i16, not f32"},
        {{I16, 2, {50, 2}, .strides = {0}}, AV_SAMPLE_FMT_S16, 0, DLPARK_E_ARGUMENT, "sample_rate is 0"},
        {{I16, 2, {50, 2}, .strides = {0}}, 77, 8000, DLPARK_E_DTYPE, "knows no sample format 77"},
        {{I16, 2, {50, 2}, .strides = {1, 50}},
         AV_SAMPLE_FMT_S16,
         8000,
         DLPARK_E_STRIDES,
         "s16 takes samples side by side: 200 bytes would have to be copied"},
        {{I16, 2, {50, 2}, .strides = {4, 1}}, AV_SAMPLE_FMT_S16, 8000, DLPARK_E_STRIDES, "side by side"},
        {{I16, 2, {2, 50}, .strides = {100, 2}}, AV_SAMPLE_FMT_S16P, 8000, DLPARK_E_STRIDES, "side by side"},
        {{I16, 2, {2, 50}, .strides = {0, 1}},
         AV_SAMPLE_FMT_S16P,
         8000,
         DLPARK_E_STRIDES,
         "s16p: channels of 100 bytes lie 0 bytes apart"},
        {{I16, 2, {2, 50}, .strides = {49, 1}}, AV_SAMPLE_FMT_S16P, 8000, DLPARK_E_STRIDES, "lie 98 bytes apart"},
        {{I16, 2, {9, 50}, .strides = {0}},
         AV_SAMPLE_FMT_S16P,
         8000,
         DLPARK_E_SHAPE,
         "s16p: 50 samples of 9 channels; a planar frame has 8 at most"},
        {{I16, 1, {0}, .strides = {0}}, AV_SAMPLE_FMT_S16, 8000, DLPARK_E_SHAPE, "no elements"},
        {{I16, 1, {50}, .strides = {0}, .offset_nbytes = 1}, AV_SAMPLE_FMT_S16, 8000, DLPARK_E_ALIGNMENT, "2 bytes"},
        {{I16, 1, {50}, .strides = {0}, .device = {kDLCUDA, 0}}, AV_SAMPLE_FMT_S16, 8000, DLPARK_E_DEVICE, "cuda:0"},
        {{I16, 1, {INT64_C(1) << 30}, .strides = {0}},
         AV_SAMPLE_FMT_S16,
         8000,
         DLPARK_E_OVERFLOW,
         "s16: 2147483648 bytes are more than linesize can say"},
    };
    dlpark_tensor tensor;
    AVFrame *frame = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (sizeof(void *) == 4 && cases[i].status == DLPARK_E_OVERFLOW)
            continue; /* no tensor is that large there */
        given_make(&tensor, &cases[i].desc);
        given_ends = 0;
        assert_fails(cases[i].status, cases[i].text,
                     dlpark_avframe_export_audio(&frame, &tensor, cases[i].format, cases[i].rate, e));
        assert_null(frame);
        assert_int_equal(given_ends, 0);
        dlpark_tensor_release(&tensor);
        assert_int_equal(given_ends, 1);
    }
}

static void without_memory_nothing_changes(void **state)
{
    static const given_desc desc = {I16, 2, {2, 50}, .strides = {0}};
    dlpark_status status = DLPARK_E_MEMORY;
    dlpark_tensor tensor;
    AVFrame *frame = NULL;
    long nth = 0;

    (void)state;
    given_make(&tensor, &desc);
    given_ends = 0;
    while (status == DLPARK_E_MEMORY) {
        failing_alloc_arm(++nth);
        status = dlpark_avframe_export_audio(&frame, &tensor, AV_SAMPLE_FMT_S16P, 8000, NULL);
        failing_alloc_arm(0);
        assert_int_equal(frame == NULL, status != DLPARK_OK);
        assert_int_equal(tensor.managed == NULL, status == DLPARK_OK);
    }
    assert_true(nth >= (made_fails_in_libavutil() ? 5 : 2));
    av_frame_free(&frame);
    assert_int_equal(given_ends, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_and_channels),
        cmocka_unit_test(more_channels_than_data_has),
        cmocka_unit_test(one_shared_buffer_is_enough),
        cmocka_unit_test(hostile_sounds),
        cmocka_unit_test(tensors_that_are_sound),
        cmocka_unit_test(channels_in_any_order),
        cmocka_unit_test(one_sample_has_no_pitch),
        cmocka_unit_test(tensors_that_are_no_sound),
        cmocka_unit_test(without_memory_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
