/* Tensors that no picture can be, and calls that mean nothing: each is refused with its numbers, and nothing has changed. */
#include "avframe_given.h"

#include "passage.h"

/* One tensor, as a picture of a format; `layout` is its row of the table. */
static const struct refusal {
    given_desc desc;
    int format;
    dlpark_status status;
    const char *text;
    const char *layout;
} refusals[] = {
    {{.dtype = U8},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_RANK,
     "gray takes [height, width] or [height, width, samples], not rank 0",
     NULL},
    {{U8, 1, {5}, .strides = {0}}, AV_PIX_FMT_GRAY8, DLPARK_E_RANK, "not rank 1", NULL},
    {{U8, 4, {1, 4, 5, 3}, .strides = {0}}, AV_PIX_FMT_RGB24, DLPARK_E_RANK, "not rank 4", NULL},
    {{U8, 2, {4, 5}, .strides = {0}},
     AV_PIX_FMT_GBRP,
     DLPARK_E_RANK,
     "gbrp takes [3, height, width] as one tensor, or a tensor for each of its 3 planes",
     NULL},
    {{U8, 3, {4, 5, 3}, .strides = {0}}, AV_PIX_FMT_GBRP, DLPARK_E_SHAPE, "gbrp takes [3, height, width]", NULL},
    {{U8, 3, {4, 5, 4}, .strides = {0}},
     AV_PIX_FMT_RGB24,
     DLPARK_E_SHAPE,
     "rgb24: plane 0 takes u8[4, 5, 3], not u8[4, 5, 4]",
     NULL},
    {{U8, 2, {4, 5}, .strides = {0}},
     AV_PIX_FMT_RGB24,
     DLPARK_E_SHAPE,
     "rgb24: plane 0 takes u8[4, 5, 3], not u8[4, 5]",
     NULL},
    {{U8, 2, {0, 5}, .strides = {0}}, AV_PIX_FMT_GRAY8, DLPARK_E_SHAPE, "the tensor has no elements", "empty"},
    {{U16, 3, {4, 5, 3}, .strides = {0}},
     AV_PIX_FMT_RGB24,
     DLPARK_E_DTYPE,
     "rgb24: plane 0 takes u8[4, 5, 3], not u16[4, 5, 3]",
     NULL},
    {{{kDLInt, 8, 1}, 2, {4, 5}, .strides = {0}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_DTYPE,
     "takes u8[4, 5], not i8[4, 5]",
     "picture [h, w]"},
    {{{kDLFloat, 64, 1}, 2, {4, 5}, .strides = {0}},
     AV_PIX_FMT_GRAYF32,
     DLPARK_E_DTYPE,
     "not f64[4, 5]",
     "picture [h, w]"},
    {{{kDLUInt, 4, 1}, 2, {4, 6}, .strides = {0}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_DTYPE,
     "no frame has elements of u4",
     "picture [h, w]"},
    {{{kDLUInt, 8, 3}, 2, {4, 5}, .strides = {0}},
     AV_PIX_FMT_RGB24,
     DLPARK_E_DTYPE,
     "no frame has elements of u8x3",
     "picture [h, w]"},
    {{U8, 2, {4, 5}, .strides = {0}, .device = {kDLCUDA, 1}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_DEVICE,
     "the tensor is on cuda:1: 20 bytes would have to be copied to the host",
     "on a device"},
    {{U8, 2, {4, 5}, .strides = {1, 4}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_STRIDES,
     "gray: the pixels of a row do not lie side by side (strides 4, 1): 20 bytes would have to be copied",
     "picture, transposed"},
    {{U8, 3, {4, 5, 3}, .strides = {5, 1, 20}},
     AV_PIX_FMT_RGB24,
     DLPARK_E_STRIDES,
     "do not lie side by side (strides 1, 20): 60 bytes would have to be copied",
     "picture, planes as [h, w, c]"},
    {{U8, 3, {4, 5, 3}, .strides = {15, 3, -1}, .offset_nbytes = 2},
     AV_PIX_FMT_RGB24,
     DLPARK_E_STRIDES,
     "(strides 3, -1)",
     "picture, samples reversed"},
    {{U8, 3, {4, 5, 3}, .strides = {20, 4, 1}}, AV_PIX_FMT_RGB24, DLPARK_E_STRIDES, "(strides 4, 1)", NULL},
    {{U8, 2, {4, 5}, .strides = {0, 1}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_STRIDES,
     "gray: rows of 5 bytes overlap, 0 bytes apart: 20 bytes would have to be copied",
     "picture, rows overlap"},
    {{U8, 2, {4, 5}, .strides = {4, 1}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_STRIDES,
     "rows of 5 bytes overlap, 4 bytes apart",
     NULL},
    {{U8, 2, {4, 5}, .strides = {-4, 1}, .offset_nbytes = 12},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_STRIDES,
     "overlap, -4 bytes apart",
     NULL},
    {{U8, 3, {3, 4, 5}, .strides = {0, 5, 1}},
     AV_PIX_FMT_GBRP,
     DLPARK_E_STRIDES,
     "gbrp: the components overlap, 0 bytes apart, with 4 rows of 5 bytes, 5 bytes apart",
     NULL},
    {{U8, 3, {3, 4, 5}, .strides = {10, 5, 1}}, AV_PIX_FMT_GBRP, DLPARK_E_STRIDES, "overlap, 10 bytes apart", NULL},
    {{U16, 2, {4, 5}, .strides = {0}, .offset_nbytes = 1},
     AV_PIX_FMT_GRAY16,
     DLPARK_E_ALIGNMENT,
     "is no multiple of the 2 bytes of a sample: 40 bytes would have to be copied",
     "picture, misaligned"},
    {{F32, 2, {4, 5}, .strides = {0}, .offset_nbytes = 2},
     AV_PIX_FMT_GRAYF32,
     DLPARK_E_ALIGNMENT,
     "is no multiple of the 4 bytes of a sample: 80 bytes would have to be copied",
     "picture, misaligned"},
    {{U8, 2, {2, 5}, .strides = {INT64_C(1) << 31, 1}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_OVERFLOW,
     "rows are 2147483648 bytes apart, more than linesize can say",
     NULL},
    {{U8, 2, {1, INT64_C(1) << 31}, .strides = {0}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_OVERFLOW,
     "gray: 2147483648 x 1 pixels are more than an int can say",
     NULL},
    {{U8, 2, {INT64_C(1) << 31, 1}, .strides = {0}},
     AV_PIX_FMT_GRAY8,
     DLPARK_E_OVERFLOW,
     "1 x 2147483648 pixels",
     NULL},
    {{U8, 3, {1, INT32_MAX, 3}, .strides = {0}},
     AV_PIX_FMT_RGB24,
     DLPARK_E_OVERFLOW,
     "rows are 6442450941 bytes apart",
     NULL},
    {{U8, 2, {4, 5}, .strides = {0}}, AV_PIX_FMT_PAL8, DLPARK_E_DTYPE, "pal8 has a palette", NULL},
    {{U8, 2, {4, 5}, .strides = {0}},
     AV_PIX_FMT_CUDA,
     DLPARK_E_DEVICE,
     "cuda is a frame in the memory of a device",
     NULL},
    {{U8, 2, {4, 5}, .strides = {0}}, -1, DLPARK_E_DTYPE, "libavutil knows no pixel format -1", NULL},
    {{U8, 2, {4, 5}, .strides = {0}}, AV_PIX_FMT_NV12, DLPARK_E_ARGUMENT, "nv12 takes 2 tensors, and got 1", NULL},
    {{U8, 3, {3, 4, 5}, .strides = {0}},
     AV_PIX_FMT_YUV422P,
     DLPARK_E_ARGUMENT,
     "yuv422p takes 3 tensors, and got 1",
     NULL},
};

static void tensors_that_are_no_picture(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *refusal = &refusals[i];
        if (sizeof(void *) == 4 && refusal->status == DLPARK_E_OVERFLOW)
            continue; /* no tensor is that large there */
        dlpark_tensor tensor;
        AVFrame *frame = NULL;
        given_make(&tensor, &refusal->desc);
        long live = failing_alloc_live();
        given_ends = 0;
        assert_fails(refusal->status, refusal->text, dlpark_avframe_export(&frame, &tensor, refusal->format, e));
        assert_null(frame);
        assert_non_null(tensor.managed);
        assert_int_equal(given_ends, 0);
        assert_int_equal(failing_alloc_live(), live);
        dlpark_tensor_release(&tensor);
        assert_int_equal(given_ends, 1);
        if (refusal->layout)
            passage_report("avframe", PASSAGE_OUT, refusal->desc.dtype, refusal->layout, refusal->status);
    }
}

/* ---- Planes ---- */

static void planes_that_do_not_fit_each_other(void **state)
{
    static const given_desc y = {U8, 2, {5, 7}, .strides = {0}}, u = {U8, 2, {3, 4}, .strides = {0}};
    static const given_desc short_v = {U8, 2, {2, 4}, .strides = {0}}, wide_v = {U16, 2, {3, 4}, .strides = {0}};
    static const given_desc odd_v = {U16, 2, {3, 4}, .strides = {0}, .offset_nbytes = 1};
    const struct {
        const given_desc *v;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {&short_v, DLPARK_E_SHAPE, "yuv420p: plane 2 takes u8[3, 4], not u8[2, 4]"},
        {&wide_v, DLPARK_E_DTYPE, "yuv420p: plane 2 takes u8[3, 4], not u16[3, 4]"},
        {&odd_v, DLPARK_E_ALIGNMENT, "no multiple of the 2 bytes"},
    };
    dlpark_tensor planes[3];
    AVFrame *frame = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        given_make(&planes[0], &y);
        given_make(&planes[1], &u);
        given_make(&planes[2], cases[i].v);
        given_ends = 0;
        assert_fails(cases[i].status, cases[i].text,
                     dlpark_avframe_export_planes(&frame, planes, 3, AV_PIX_FMT_YUV420P, NULL, e));
        assert_fails(DLPARK_E_ARGUMENT, "yuv420p takes 3 tensors, and got 2",
                     dlpark_avframe_export_planes(&frame, planes, 2, AV_PIX_FMT_YUV420P, NULL, e));
        dlpark_tensor_release(&planes[2]);
        assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty",
                     dlpark_avframe_export_planes(&frame, planes, 3, AV_PIX_FMT_YUV420P, NULL, e));
        assert_null(frame);
        assert_int_equal(given_ends, 1);
        dlpark_tensor_release(&planes[0]);
        dlpark_tensor_release(&planes[1]);
    }
}

/* ---- Calls ---- */

static void options_out_of_range(void **state)
{
    static const given_desc desc = {U8, 2, {4, 5}, .strides = {0}};
    static const struct {
        dlpark_avframe_options options;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {{.width = -1}, DLPARK_E_ARGUMENT, "width is -1, height 0, require_padding 0"},
        {{.height = -2}, DLPARK_E_ARGUMENT, "height -2"},
        {{.require_padding = -3}, DLPARK_E_ARGUMENT, "require_padding -3"},
        {{.require_alignment = 24}, DLPARK_E_ARGUMENT, "require_alignment is 24, no power of two"},
        {{.require_alignment = INT32_MIN}, DLPARK_E_ARGUMENT, "no power of two"},
        {{.reserved = {0, 0, 1}}, DLPARK_E_ARGUMENT, "the reserved fields of the options are not 0"},
        {{.width = 6}, DLPARK_E_SHAPE, "gray: plane 0 takes u8[4, 6], not u8[4, 5]"},
        {{.height = 5}, DLPARK_E_SHAPE, "gray: plane 0 takes u8[5, 5], not u8[4, 5]"},
        {{.width = INT32_MAX, .height = INT32_MAX}, DLPARK_E_SHAPE, "takes u8[2147483647, 2147483647]"},
        {{.require_padding = INT32_MAX}, DLPARK_E_SHAPE, "2147483647 bytes are missing behind plane 0"},
    };
    dlpark_tensor tensor;
    AVFrame *frame = NULL;

    (void)state;
    given_make(&tensor, &desc);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_fails(cases[i].status, cases[i].text,
                     dlpark_avframe_export_planes(&frame, &tensor, 1, AV_PIX_FMT_GRAY8, &cases[i].options, e));
    assert_non_null(tensor.managed);
    dlpark_tensor_release(&tensor);
}

static void what_is_missing(void **state)
{
    static const given_desc desc = {U8, 2, {4, 5}, .strides = {0}};
    dlpark_tensor tensor, empty = DLPARK_TENSOR_EMPTY;
    AVFrame *frame = NULL, *other = av_frame_alloc(), *kept = other;

    (void)state;
    given_make(&tensor, &desc);
    assert_fails(DLPARK_E_ARGUMENT, "the frame is NULL", dlpark_avframe_export(NULL, &tensor, AV_PIX_FMT_GRAY8, e));
    assert_fails(DLPARK_E_ARGUMENT, "gray takes 1 tensors, and got 0",
                 dlpark_avframe_export(&frame, NULL, AV_PIX_FMT_GRAY8, e));
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty", dlpark_avframe_export(&frame, &empty, AV_PIX_FMT_GRAY8, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "already points to a frame",
                 dlpark_avframe_export(&other, &tensor, AV_PIX_FMT_GRAY8, e));
    assert_fails(DLPARK_E_ARGUMENT, "and got -1",
                 dlpark_avframe_export_planes(&frame, &tensor, -1, AV_PIX_FMT_GRAY8, NULL, e));
    assert_ptr_equal(other, kept);
    assert_non_null(tensor.managed);
    dlpark_tensor_release(&tensor);
    av_frame_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_that_are_no_picture),
        cmocka_unit_test(planes_that_do_not_fit_each_other),
        cmocka_unit_test(options_out_of_range),
        cmocka_unit_test(what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
