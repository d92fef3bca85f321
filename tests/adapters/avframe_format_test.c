/* Every pixel format of libavutil: what tensors can say of it is what libavutil itself reads, and the rest is refused. */
#include "avframe_made.h"

enum { WIDTH = 7, HEIGHT = 5 };

/* The sample of an element, as the component says. */
static uint32_t sample_of(const dlpark_view *view, const dlpark_avframe_component *component, int y, int x)
{
    const unsigned char *at =
        (const unsigned char *)view->data + (y * view->strides[0] + x * view->strides[1]) * (view->dtype.bits / 8);
    uint32_t value = 0;

    if (view->dtype.bits == 8) {
        value = *at;
    } else if (view->dtype.bits == 16) {
        uint16_t narrow;
        memcpy(&narrow, at, sizeof narrow);
        value = narrow;
    } else {
        memcpy(&value, at, sizeof value);
    }
    return value >> component->shift & (uint32_t)((UINT64_C(1) << component->depth) - 1);
}

static void check_component(const AVFrame *frame, const AVPixFmtDescriptor *descriptor, int index)
{
    dlpark_avframe_component component;
    uint32_t line[WIDTH];
    dlpark_view view;

    assert_ok(dlpark_avframe_read_component(&component, frame->format, index, e));
    assert_ok(dlpark_avframe_view(&view, frame, DLPARK_AVFRAME_COMPONENT(index) | DLPARK_AVFRAME_ANY_DEPTH, e));
    assert_int_equal(view.ndim, 2);
    assert_true(dlpark_dtype_equal(view.dtype, component.dtype));
    assert_int_equal(view.shape[0], AV_CEIL_RSHIFT(HEIGHT, component.log2_height));
    assert_int_equal(view.shape[1], AV_CEIL_RSHIFT(WIDTH, component.log2_width));
    assert_ptr_equal(view.data, frame->data[component.plane] + component.offset_nbytes);
    for (int y = 0; y < (int)view.shape[0]; y++) {
        av_read_image_line2(line, (const uint8_t **)(uintptr_t)frame->data, frame->linesize, descriptor, 0, y, index,
                            (int)view.shape[1], 0, sizeof line[0]);
        for (int x = 0; x < (int)view.shape[1]; x++)
            assert_int_equal(sample_of(&view, &component, y, x), line[x]);
    }
}

/* A plane has the bytes of its rows, all of them and no others: libavutil allocates as many for rows without padding. */
static void check_planes(const AVFrame *frame, const AVPixFmtDescriptor *descriptor)
{
    int count = av_pix_fmt_count_planes(frame->format);
    dlpark_view view;

    for (int i = 0; i < count; i++) {
        assert_ok(dlpark_avframe_view(&view, frame, i | DLPARK_AVFRAME_ANY_DEPTH, e));
        assert_ptr_equal(view.data, frame->data[i]);
        assert_int_equal(view.strides[0] * (view.dtype.bits / 8), frame->linesize[i]);
        AVFrame *packed = av_frame_alloc();
        packed->format = frame->format;
        packed->width = WIDTH;
        packed->height = HEIGHT;
        assert_int_equal(av_frame_get_buffer(packed, 1), 0);
        assert_true(packed->linesize[i] >= dlpark_view_nbytes(&view) / view.shape[0]);
        assert_true(packed->linesize[i] < dlpark_view_nbytes(&view) / view.shape[0] + 32);
        av_frame_free(&packed);
    }
    assert_fails(DLPARK_E_INDEX, descriptor->name, dlpark_avframe_view(&view, frame, count, e));
}

static void every_format_as_libavutil_reads_it(void **state)
{
    const AVPixFmtDescriptor *descriptor = NULL;
    int passed = 0, refused = 0;

    (void)state;
    while ((descriptor = av_pix_fmt_desc_next(descriptor)) != NULL) {
        int format = av_pix_fmt_desc_get_id(descriptor);
        dlpark_avframe_component component;
        dlpark_error err;
        dlpark_status status = dlpark_avframe_read_component(&component, format, 0, &err);
        if (status != DLPARK_OK) {
            assert_true(status == DLPARK_E_DTYPE || status == DLPARK_E_DEVICE);
            assert_non_null(strstr(err.message, descriptor->name));
            refused++;
            continue;
        }
        AVFrame *frame = made_picture(format, WIDTH, HEIGHT);
        for (int i = 0; i < descriptor->nb_components; i++)
            check_component(frame, descriptor, i);
        check_planes(frame, descriptor);
        av_frame_free(&frame);
        passed++;
    }
    printf("%d formats pass, %d are refused\n", passed, refused);
    assert_true(passed >= 95);
    assert_true(refused >= 90);
}

/* ---- Refused by name ---- */

static void formats_that_no_tensor_says(void **state)
{
    static const struct {
        int format;
        dlpark_status status;
        const char *text;
    } cases[] = {
        {AV_PIX_FMT_PAL8, DLPARK_E_DTYPE, "pal8 has a palette"},
        {AV_PIX_FMT_MONOBLACK, DLPARK_E_DTYPE, "monob has samples that share bytes"},
        {AV_PIX_FMT_RGB8, DLPARK_E_DTYPE, "rgb8 has samples that share bytes"},
        {AV_PIX_FMT_RGB4_BYTE, DLPARK_E_DTYPE, "rgb4_byte has samples that share bytes"},
        {AV_PIX_FMT_RGB565, DLPARK_E_DTYPE, "has samples that share bytes: the frame would have to be converted"},
        {AV_PIX_FMT_X2RGB10, DLPARK_E_DTYPE, "has samples that share bytes"},
        {AV_PIX_FMT_BAYER_RGGB8, DLPARK_E_DTYPE, "bayer_rggb8 is a Bayer mosaic"},
        {AV_PIX_FMT_UYYVYY411, DLPARK_E_DTYPE, "uyyvyy411 has samples at no regular distance"},
        {AV_PIX_FMT_CUDA, DLPARK_E_DEVICE, "cuda is a frame in the memory of a device: av_hwframe_transfer_data()"},
        {AV_PIX_FMT_VAAPI, DLPARK_E_DEVICE, "vaapi is a frame in the memory of a device"},
        {AV_PIX_FMT_NONE, DLPARK_E_DTYPE, "knows no pixel format -1"},
        {99999, DLPARK_E_DTYPE, "knows no pixel format 99999"},
    };
    dlpark_avframe_component component;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_fails(cases[i].status, cases[i].text, dlpark_avframe_read_component(&component, cases[i].format, 0, e));
}

static void the_other_byte_order(void **state)
{
    static const int formats[] = {AV_PIX_FMT_RGB48, AV_PIX_FMT_GRAY16, AV_PIX_FMT_GRAYF32, AV_PIX_FMT_YUV420P10};
    dlpark_avframe_component component;
    char text[100];

    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        int other = av_pix_fmt_swap_endianness(formats[i]);
        snprintf(text, sizeof text, "%s has samples of %d bytes in the other byte order", av_get_pix_fmt_name(other),
                 formats[i] == AV_PIX_FMT_GRAYF32 ? 4 : 2);
        assert_fails(DLPARK_E_DTYPE, text, dlpark_avframe_read_component(&component, other, 0, e));
        snprintf(text, sizeof text, "converted, to %s", av_get_pix_fmt_name(formats[i]));
        assert_fails(DLPARK_E_DTYPE, text, dlpark_avframe_read_component(&component, other, 0, e));
        assert_ok(dlpark_avframe_read_component(&component, formats[i], 0, e));
    }
}

/* ---- Samples that do not fill their element ---- */

static void narrow_samples_come_to_who_asks(void **state)
{
    static const struct {
        int format, depth, shift;
    } cases[] = {
        {AV_PIX_FMT_P010, 10, 6}, {AV_PIX_FMT_GRAY10, 10, 0}, {AV_PIX_FMT_XYZ12, 12, 4}, {AV_PIX_FMT_YUV420P9, 9, 0}};
    char text[100];
    dlpark_view view;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AVFrame *frame = made_picture(cases[i].format, WIDTH, HEIGHT);
        snprintf(text, sizeof text, "%s has samples of %d bits, %d bits up in elements of 16",
                 av_get_pix_fmt_name(cases[i].format), cases[i].depth, cases[i].shift);
        assert_fails(DLPARK_E_DTYPE, text, dlpark_avframe_view(&view, frame, 0, e));
        assert_fails(DLPARK_E_DTYPE, text, dlpark_avframe_view(&view, frame, DLPARK_AVFRAME_COMPONENT(0), e));
        assert_ok(dlpark_avframe_view(&view, frame, DLPARK_AVFRAME_ANY_DEPTH, e));
        assert_true(dlpark_dtype_equal(view.dtype, DLPARK_U16));
        av_frame_free(&frame);
    }
}

/* ---- Those that people have, spelled out ---- */

static void planes_of_common_formats(void **state)
{
    static const struct {
        int format, part;
        DLDataType dtype;
        int ndim;
        int64_t shape[3];
        int data, offset;
        int64_t inner; /* the last stride of dimension 1 */
    } cases[] = {
        {AV_PIX_FMT_RGB24, 0, {kDLUInt, 8, 1}, 3, {5, 7, 3}, 0, 0, 3},
        {AV_PIX_FMT_BGR24, DLPARK_AVFRAME_COMPONENT(0), {kDLUInt, 8, 1}, 2, {5, 7}, 0, 2, 3},
        {AV_PIX_FMT_BGR0, 0, {kDLUInt, 8, 1}, 3, {5, 7, 4}, 0, 0, 4},
        {AV_PIX_FMT_GRAY8, 0, {kDLUInt, 8, 1}, 2, {5, 7}, 0, 0, 1},
        {AV_PIX_FMT_YUV420P, 0, {kDLUInt, 8, 1}, 2, {5, 7}, 0, 0, 1},
        {AV_PIX_FMT_YUV420P, 2, {kDLUInt, 8, 1}, 2, {3, 4}, 2, 0, 1},
        {AV_PIX_FMT_NV12, 1, {kDLUInt, 8, 1}, 3, {3, 4, 2}, 1, 0, 2},
        {AV_PIX_FMT_NV12, DLPARK_AVFRAME_COMPONENT(2), {kDLUInt, 8, 1}, 2, {3, 4}, 1, 1, 2},
        {AV_PIX_FMT_NV21, DLPARK_AVFRAME_COMPONENT(2), {kDLUInt, 8, 1}, 2, {3, 4}, 1, 0, 2},
        {AV_PIX_FMT_GBRP, DLPARK_AVFRAME_COMPONENT(0), {kDLUInt, 8, 1}, 2, {5, 7}, 2, 0, 1},
        {AV_PIX_FMT_GBRP, DLPARK_AVFRAME_COMPONENT(1), {kDLUInt, 8, 1}, 2, {5, 7}, 0, 0, 1},
        {AV_PIX_FMT_YUYV422, 0, {kDLUInt, 8, 1}, 3, {5, 4, 4}, 0, 0, 4},
        {AV_PIX_FMT_YUYV422, DLPARK_AVFRAME_COMPONENT(0), {kDLUInt, 8, 1}, 2, {5, 7}, 0, 0, 2},
        {AV_PIX_FMT_YUYV422, DLPARK_AVFRAME_COMPONENT(2), {kDLUInt, 8, 1}, 2, {5, 4}, 0, 3, 4},
        {AV_PIX_FMT_RGB48, 0, {kDLUInt, 16, 1}, 3, {5, 7, 3}, 0, 0, 3},
        {AV_PIX_FMT_RGBA64, DLPARK_AVFRAME_COMPONENT(3), {kDLUInt, 16, 1}, 2, {5, 7}, 0, 6, 4},
        {AV_PIX_FMT_GRAYF32, 0, {kDLFloat, 32, 1}, 2, {5, 7}, 0, 0, 1},
        {AV_PIX_FMT_GBRPF32, DLPARK_AVFRAME_COMPONENT(2), {kDLFloat, 32, 1}, 2, {5, 7}, 1, 0, 1},
        {AV_PIX_FMT_YUVA420P, 3, {kDLUInt, 8, 1}, 2, {5, 7}, 3, 0, 1},
        {AV_PIX_FMT_P010, 1 | DLPARK_AVFRAME_ANY_DEPTH, {kDLUInt, 16, 1}, 3, {3, 4, 2}, 1, 0, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AVFrame *frame = made_picture(cases[i].format, WIDTH, HEIGHT);
        dlpark_view view;
        assert_ok(dlpark_avframe_view(&view, frame, cases[i].part, e));
        assert_true(dlpark_dtype_equal(view.dtype, cases[i].dtype));
        assert_int_equal(view.ndim, cases[i].ndim);
        for (int k = 0; k < view.ndim; k++)
            assert_int_equal(view.shape[k], cases[i].shape[k]);
        assert_ptr_equal(view.data, frame->data[cases[i].data] + cases[i].offset);
        assert_int_equal(view.strides[1], cases[i].inner);
        av_frame_free(&frame);
    }
}

static void parts_that_there_are_not(void **state)
{
    AVFrame *frame = made_picture(AV_PIX_FMT_NV12, WIDTH, HEIGHT);
    dlpark_avframe_component component;
    dlpark_view view;

    (void)state;
    assert_fails(DLPARK_E_INDEX, "nv12 has 2 planes and 3 components, and no plane 2",
                 dlpark_avframe_view(&view, frame, 2, e));
    assert_fails(DLPARK_E_INDEX, "and no component 3",
                 dlpark_avframe_view(&view, frame, DLPARK_AVFRAME_COMPONENT(3), e));
    assert_fails(DLPARK_E_INDEX, "part -1 is neither", dlpark_avframe_view(&view, frame, -1, e));
    assert_fails(DLPARK_E_INDEX, "is neither", dlpark_avframe_view(&view, frame, 0x40000, e));
    assert_fails(DLPARK_E_INDEX, "nv12 has 3 components, and no component 3",
                 dlpark_avframe_read_component(&component, AV_PIX_FMT_NV12, 3, e));
    assert_fails(DLPARK_E_INDEX, "no component -1", dlpark_avframe_read_component(&component, AV_PIX_FMT_NV12, -1, e));
    av_frame_free(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_as_libavutil_reads_it),
        cmocka_unit_test(formats_that_no_tensor_says),
        cmocka_unit_test(the_other_byte_order),
        cmocka_unit_test(narrow_samples_come_to_who_asks),
        cmocka_unit_test(planes_of_common_formats),
        cmocka_unit_test(parts_that_there_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
