/* Views and tensors as pixels of other libraries, and pixels that are written and read by the codecs. */
#include "pixels_made.h"

#include <pthread.h>

#include <dlpark/array.h>

#include "failing_alloc.h"
#include "passage.h"

static _Alignas(16) unsigned char memory[4096];

static dlpark_view made_view(DLDataType dtype, int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    const dlpark_tensor_desc desc = {.data = memory + 2048,
                                     .dtype = dtype,
                                     .ndim = ndim,
                                     .shape = DLPARK_DIMS(shape),
                                     .strides = DLPARK_DIMS(strides)};
    dlpark_view view;

    assert_ok(dlpark_array_view(&view, &desc, e));
    return view;
}

static void a_compact_picture_is_described(void **state)
{
    const dlpark_view view = made_view(DLPARK_U16, 3, (int64_t[]){3, 5, 4}, (int64_t[]){20, 4, 1});
    dlpark_pixels pixels;

    (void)state;
    assert_ok(dlpark_pixels_borrow(&pixels, &view, "RGBA", NULL, DLPARK_IMAGE_HWC, e));
    assert_ptr_equal(pixels.data, memory + 2048);
    assert_null(pixels.data_const);
    assert_string_equal(pixels.channels, "RGBA");
    assert_true(dlpark_dtype_equal(pixels.dtype, DLPARK_U16));
    assert_true(pixels.width == 5 && pixels.height == 3 && !pixels.planar);
    assert_true(pixels.pitch_nbytes == 40 && pixels.pixel_nbytes == 8 && pixels.plane_nbytes == 0);
    assert_int_equal(pixels.nbytes, 120);
    assert_true(!pixels.owner && !pixels.release);
}

/* Every small layout of bytes, against the place of every sample. */
static void every_small_layout(void **state)
{
    enum { SHAPES = 27, STRIDES = 15 };
    int passed = 0, backwards = 0, met = 0, planar = 0;

    (void)state;
    for (int i = 0; i < SHAPES * STRIDES * STRIDES * STRIDES; i++) {
        const int of = i / SHAPES;
        const int64_t shape[] = {i % 3 + 1, i / 3 % 3 + 1, i / 9 % 3 + 1};
        const int64_t strides[] = {of % STRIDES - 7, of / STRIDES % STRIDES - 7, of / STRIDES / STRIDES - 7};
        const dlpark_view view = made_view(DLPARK_U8, 3, shape, strides);
        const char *letters = &"RGB"[3 - shape[2]];
        dlpark_pixels pixels;
        dlpark_error err;
        dlpark_status status = dlpark_pixels_borrow(&pixels, &view, letters, NULL, DLPARK_IMAGE_HWC, &err);
        if (status == DLPARK_OK) {
            assert_same_samples(&view, DLPARK_IMAGE_HWC, letters, &pixels);
            dlpark_view back; /* what is given out is taken back */
            assert_ok(dlpark_pixels_view(&back, &pixels, letters, DLPARK_IMAGE_HWC, e));
            assert_same_samples(&back, DLPARK_IMAGE_HWC, letters, &pixels);
            assert_true(shape[0] == 1 || shape[1] == 1 || llabs(pixels.pitch_nbytes) > pixels.pixel_nbytes);
            passed++;
            planar += pixels.planar;
        } else {
            assert_int_equal(status, DLPARK_E_LAYOUT);
            if (shape[1] > 1 && strides[1] < 0) {
                assert_non_null(strstr(err.message, "the columns lie backwards"));
                backwards++;
            } else {
                assert_non_null(strstr(err.message, "bytes lie within that step"));
                met++;
            }
        }
    }
    assert_true(passed > 1000 && backwards > 1000 && met > 1000 && planar > 100);
}

static void layouts_are_told_as_they_are(void **state)
{
    static const struct {
        int64_t shape[3], strides[3];
        const char *channels, *letters, *layout;
        dlpark_image_layout order;
        int64_t pitch_nbytes, pixel_nbytes, plane_nbytes, first;
    } rows[] = {
        {{3, 5, 3}, {15, 3, 1}, "RGB", "RGB", "interleaved", DLPARK_IMAGE_HWC, 15, 3, 0, 0},
        {{3, 5, 3}, {16, 3, 1}, "RGB", "RGB", "interleaved, rows with a pitch", DLPARK_IMAGE_HWC, 16, 3, 0, 0},
        {{3, 5, 3}, {-15, 3, 1}, "RGB", "RGB", "interleaved, rows from the bottom up", DLPARK_IMAGE_HWC, -15, 3, 0, 0},
        {{3, 5, 3}, {15, 3, -1}, "RGB", "BGR", "RGB of BGR", DLPARK_IMAGE_HWC, 15, 3, 0, -2},
        {{3, 5, 3}, {20, 4, -1}, "RGB", "BGR", "RGB of BGRA", DLPARK_IMAGE_HWC, 20, 4, 0, -2},
        {{3, 5, 1}, {20, 4, 9}, "A", "A", "A of BGRA", DLPARK_IMAGE_HWC, 20, 4, 0, 0},
        {{3, 3, 5}, {15, 5, 1}, "RGB", "RGB", "planes", DLPARK_IMAGE_CHW, 5, 1, 15, 0},
        {{3, 3, 5}, {24, 8, 1}, "RGB", "RGB", "planes, rows with a pitch", DLPARK_IMAGE_CHW, 8, 1, 24, 0},
        {{3, 3, 5}, {-15, 5, 1}, "RGB", "BGR", "planes, RGB of BGR", DLPARK_IMAGE_CHW, 5, 1, 15, -30},
        {{3, 3, 5}, {1, 15, 3}, "RGB", "RGB", "interleaved", DLPARK_IMAGE_CHW, 15, 3, 0, 0},
        {{1, 3, 5}, {0, 8, 1}, "Y", "Y", "grey", DLPARK_IMAGE_CHW, 8, 1, 0, 0},
        {{1, 1, 3}, {-9, 77, 1}, "RGB", "RGB", "interleaved", DLPARK_IMAGE_HWC, 3, 3, 0, 0},
        {{3, 1, 3}, {6, 77, 2}, "RGB", "RGB", "planes", DLPARK_IMAGE_HWC, 6, 1, 2, 0},
        {{0, 5, 3}, {0, -3, 0}, "RGB", "RGB", "without elements", DLPARK_IMAGE_HWC, 15, 3, 0, 0},
        {{3, 0, 3}, {0, -3, 0}, "RGB", "RGB", "without elements", DLPARK_IMAGE_HWC, 3, 3, 0, 0},
    };
    const DLDataType depths[] = {DLPARK_U8, DLPARK_U16, DLPARK_F16, DLPARK_F32};

    (void)state;
    for (size_t i = 0; i < 4 * sizeof rows / sizeof *rows; i++) {
        const size_t row = i / 4;
        const int64_t sample = depths[i % 4].bits / 8;
        const dlpark_view view = made_view(depths[i % 4], 3, rows[row].shape, rows[row].strides);
        dlpark_pixels pixels;
        assert_ok(dlpark_pixels_borrow(&pixels, &view, rows[row].channels, NULL, rows[row].order, e));
        assert_string_equal(pixels.channels, rows[row].letters);
        assert_int_equal(pixels.pitch_nbytes, rows[row].pitch_nbytes * sample);
        assert_int_equal(pixels.pixel_nbytes, rows[row].pixel_nbytes * sample);
        assert_int_equal(pixels.plane_nbytes, rows[row].plane_nbytes * sample);
        assert_int_equal(pixels.planar, rows[row].plane_nbytes != 0);
        if (dlpark_view_numel(&view) > 0)
            assert_ptr_equal(pixels.data, memory + 2048 + rows[row].first * sample);
        else
            assert_true(pixels.nbytes == 0 && !pixels.data);
        passage_report("image", PASSAGE_OUT, depths[i % 4], rows[row].layout, DLPARK_OK);
    }
}

static void rank_two_is_one_channel(void **state)
{
    const dlpark_view grey = made_view(DLPARK_U8, 2, (int64_t[]){3, 5}, (int64_t[]){-8, 1});
    dlpark_pixels pixels;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(dlpark_pixels_borrow(&pixels, &grey, "Y", "Y", i ? DLPARK_IMAGE_CHW : DLPARK_IMAGE_HWC, e));
        assert_true(pixels.width == 5 && pixels.height == 3 && pixels.pitch_nbytes == -8 && pixels.pixel_nbytes == 1);
        assert_int_equal(pixels.nbytes, 21);
    }
}

static void what_is_needed_is_there_or_refused(void **state)
{
    const dlpark_view rgb = made_view(DLPARK_U8, 3, (int64_t[]){3, 5, 3}, (int64_t[]){16, 3, 1});
    const dlpark_view bgr = made_view(DLPARK_U8, 3, (int64_t[]){3, 5, 3}, (int64_t[]){16, 3, -1});
    const dlpark_view apart = made_view(DLPARK_U8, 3, (int64_t[]){3, 5, 3}, (int64_t[]){20, 4, -1});
    const dlpark_view whole = made_view(DLPARK_U8, 3, (int64_t[]){3, 5, 4}, (int64_t[]){20, 4, 1});
    const dlpark_view planes = made_view(DLPARK_U8, 3, (int64_t[]){3, 3, 5}, (int64_t[]){15, 5, 1});
    dlpark_pixels pixels;

    (void)state;
    assert_ok(dlpark_pixels_borrow(&pixels, &rgb, "RGB", "RGB", DLPARK_IMAGE_HWC, e));
    assert_ok(dlpark_pixels_borrow(&pixels, &bgr, "RGB", "BGR", DLPARK_IMAGE_HWC, e));
    assert_ok(dlpark_pixels_borrow(&pixels, &whole, "BGRX", "BGRX", DLPARK_IMAGE_HWC, e));
    assert_fails(DLPARK_E_LAYOUT,
                 "the pixels lie as \"RGB\", 3 bytes apart, and are needed as \"BGR\", 3 bytes apart: they would have",
                 dlpark_pixels_borrow(&pixels, &rgb, "RGB", "BGR", DLPARK_IMAGE_HWC, e));
    assert_fails(DLPARK_E_LAYOUT, "lie as \"BGR\", 4 bytes apart, and are needed as \"BGR\", 3 bytes",
                 dlpark_pixels_borrow(&pixels, &apart, "RGB", "BGR", DLPARK_IMAGE_HWC, e));
    assert_fails(DLPARK_E_LAYOUT, "are needed as \"BGRX\", 4 bytes",
                 dlpark_pixels_borrow(&pixels, &apart, "RGB", "BGRX", DLPARK_IMAGE_HWC, e));
    assert_fails(DLPARK_E_LAYOUT, "lie as \"RGB\" in planes, 1 bytes apart",
                 dlpark_pixels_borrow(&pixels, &planes, "RGB", "RGB", DLPARK_IMAGE_CHW, e));
    assert_fails(DLPARK_E_ARGUMENT, "needed begins with \"b\"",
                 dlpark_pixels_borrow(&pixels, &rgb, "RGB", "bgr", DLPARK_IMAGE_HWC, e));
    passage_report("image", PASSAGE_OUT, DLPARK_U8, "RGB where BGR is needed", DLPARK_E_LAYOUT);
}

static void views_that_are_no_pictures_are_refused(void **state)
{
    static const struct {
        int32_t ndim;
        int64_t shape[4], strides[4];
        const char *channels, *says, *layout;
        dlpark_status status;
    } rows[] = {
        {1, {5}, {1}, "Y", "the rank is 1", "rank 1", DLPARK_E_RANK},
        {0, {0}, {0}, "Y", "the rank is 0", "rank 0", DLPARK_E_RANK},
        {4, {1, 3, 5, 3}, {45, 15, 3, 1}, "RGB", "the rank is 4, expected 3", "rank 4", DLPARK_E_RANK},
        {3, {3, 5, 8}, {40, 8, 1}, "RGB", "8 channels, expected 1 to 7", "8 channels", DLPARK_E_SHAPE},
        {3, {3, 5, 0}, {40, 8, 1}, "RGB", "0 channels", NULL, DLPARK_E_SHAPE},
        {3, {INT64_C(1) << 31, 0, 3}, {0, 0, 0}, "RGB", "0 x 2147483648", NULL, DLPARK_E_SHAPE},
        {3, {0, INT64_C(1) << 31, 3}, {0, 0, 0}, "RGB", "2147483648 x 0", NULL, DLPARK_E_SHAPE},
        {3, {3, 5, 3}, {15, 3, 1}, "RGBA", "channels is \"RGBA\", and the picture has 3", NULL, DLPARK_E_ARGUMENT},
        {3, {3, 5, 3}, {15, 3, 1}, "RRG", "with R twice", NULL, DLPARK_E_ARGUMENT},
        {3, {3, 5, 3}, {15, -3, 1}, "RGB", "the columns lie backwards, -6 bytes", "columns backwards", DLPARK_E_LAYOUT},
        {3,
         {3, 5, 3},
         {3, 9, 1},
         "RGB",
         "the rows lie 6 bytes apart, and 74 bytes",
         "rows and columns swapped",
         DLPARK_E_LAYOUT},
        {3, {3, 5, 3}, {0, 3, 1}, "RGB", "the rows lie 0 bytes apart", "one row, broadcast", DLPARK_E_LAYOUT},
        {3, {3, 5, 3}, {15, 3, 0}, "RGB", "the channels lie 0 bytes apart", "one channel, broadcast", DLPARK_E_LAYOUT},
        {3, {3, 5, 3}, {15, 2, 1}, "RGB", "the columns lie 4 bytes apart, and 6 bytes", NULL, DLPARK_E_LAYOUT},
    };
    dlpark_pixels pixels;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const dlpark_view view = made_view(DLPARK_U16, rows[i].ndim, rows[i].shape, rows[i].strides);
        assert_fails(rows[i].status, rows[i].says,
                     dlpark_pixels_borrow(&pixels, &view, rows[i].channels, NULL, DLPARK_IMAGE_HWC, e));
        if (rows[i].layout)
            passage_report("image", PASSAGE_OUT, DLPARK_U16, rows[i].layout, rows[i].status);
    }
    const dlpark_view widest = made_view(DLPARK_U8, 3, (int64_t[]){0, INT32_MAX, 3}, (int64_t[]){0, 0, 0});
    assert_ok(dlpark_pixels_borrow(&pixels, &widest, "RGB", NULL, DLPARK_IMAGE_HWC, e));
    assert_int_equal(pixels.width, INT32_MAX);
    const dlpark_view highest = made_view(DLPARK_U8, 3, (int64_t[]){INT32_MAX, 0, 3}, (int64_t[]){0, 0, 0});
    assert_ok(dlpark_pixels_borrow(&pixels, &highest, "RGB", NULL, DLPARK_IMAGE_HWC, e));
    const dlpark_view bits = made_view(DLPARK_I4, 3, (int64_t[]){3, 5, 4}, (int64_t[]){20, 4, 1});
    assert_fails(DLPARK_E_DTYPE, "a sample is i4",
                 dlpark_pixels_borrow(&pixels, &bits, "RGBA", NULL, DLPARK_IMAGE_HWC, e));
    passage_report("image", PASSAGE_OUT, DLPARK_I4, "interleaved", DLPARK_E_DTYPE);
    dlpark_view elsewhere = made_view(DLPARK_U8, 3, (int64_t[]){3, 5, 3}, (int64_t[]){15, 3, 1});
    assert_fails(DLPARK_E_ARGUMENT, "layout is -1",
                 dlpark_pixels_borrow(&pixels, &elsewhere, "RGB", NULL, (dlpark_image_layout)-1, e));
    elsewhere.device = (DLDevice){kDLMetal, 0};
    assert_fails(DLPARK_E_DEVICE, "metal:0",
                 dlpark_pixels_borrow(&pixels, &elsewhere, "RGB", NULL, DLPARK_IMAGE_HWC, e));
}

static void read_only_pixels_are_const(void **state)
{
    dlpark_view view = made_view(DLPARK_U8, 3, (int64_t[]){3, 5, 3}, (int64_t[]){15, 3, -1});
    const uint32_t flags[] = {DLPARK_VIEW_READ_ONLY, DLPARK_VIEW_UNKNOWN_WRITE};
    dlpark_pixels pixels;

    (void)state;
    for (int i = 0; i < 2; i++) {
        view.flags = flags[i];
        assert_ok(dlpark_pixels_borrow(&pixels, &view, "RGB", NULL, DLPARK_IMAGE_HWC, e));
        assert_null(pixels.data);
        assert_ptr_equal(pixels.data_const, memory + 2046);
    }
    passage_report("image", PASSAGE_OUT, DLPARK_U8, "read-only, as const", DLPARK_OK);
}

/* ---- Export ---- */

static int released;

static void count_release(void *owner)
{
    assert_ptr_equal(owner, memory);
    released++;
}

static void make_tensor(dlpark_tensor *tensor)
{
    assert_ok(dlpark_tensor_new(tensor,
                                &(dlpark_tensor_desc){.data = memory,
                                                      .dtype = DLPARK_U8,
                                                      .ndim = 3,
                                                      .shape = DLPARK_DIMS((int64_t[]){3, 5, 3}),
                                                      .owner = memory,
                                                      .release = count_release},
                                NULL, e));
}

static void *release_there(void *context)
{
    dlpark_pixels *pixels = context;

    pixels->release(pixels->owner);
    return NULL;
}

static void an_export_ends_the_tensor_once(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, other = DLPARK_TENSOR_EMPTY;
    dlpark_pixels pixels;
    dlpark_view view;
    pthread_t thread;

    (void)state;
    released = 0;
    make_tensor(&tensor);
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_tensor_share(&other, &tensor, &view, e));
    failing_alloc_arm(1); /* needs no memory */
    assert_ok(dlpark_pixels_export(&pixels, &tensor, "RGB", NULL, DLPARK_IMAGE_HWC, e));
    failing_alloc_arm(0);
    assert_null(tensor.managed);
    assert_ptr_equal(pixels.data, memory);
    dlpark_tensor_release(&other);
    assert_int_equal(released, 0);
    assert_int_equal(pthread_create(&thread, NULL, release_there, &pixels), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(released, 1);
}

static void a_failed_export_gives_nothing(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_pixels pixels, same;

    (void)state;
    memset(&pixels, 0x5A, sizeof pixels);
    memset(&same, 0x5A, sizeof same);
    released = 0;
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty",
                 dlpark_pixels_export(&pixels, &tensor, "RGB", NULL, DLPARK_IMAGE_HWC, e));
    make_tensor(&tensor);
    assert_fails(DLPARK_E_LAYOUT, "needed as \"BGR\"",
                 dlpark_pixels_export(&pixels, &tensor, "RGB", "BGR", DLPARK_IMAGE_HWC, e));
    assert_memory_equal(&pixels, &same, sizeof pixels);
    assert_non_null(tensor.managed);
    assert_int_equal(released, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(released, 1);
}

static void memory_stays_flat(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_pixels pixels;

    (void)state;
    released = 0;
    make_tensor(&tensor);
    const long live = failing_alloc_live();
    for (int i = 0; i < 100000; i++) {
        if (dlpark_pixels_export(&pixels, &tensor, "RGB", NULL, DLPARK_IMAGE_HWC, NULL))
            fail();
        pixels.release(pixels.owner);
        make_tensor(&tensor);
        pixels.owner = memory;
        pixels.release = NULL;
        dlpark_tensor_release(&tensor);
        if (dlpark_pixels_import(&tensor, &pixels, "BGR", DLPARK_IMAGE_CHW, NULL, NULL))
            fail();
        dlpark_tensor_release(&tensor);
        make_tensor(&tensor);
    }
    assert_int_equal(failing_alloc_live(), live);
    assert_int_equal(released, 200000);
    dlpark_tensor_release(&tensor);
}

/* ---- With the codecs ---- */

/* A picture goes through a lossless file into pixels of another order, and from there into a file again. */
static void codecs_read_and_write_such_memory(void **state)
{
    enum { W = 7, H = 4 };
    static const char *const orders[] = {"BGR", "BGRX", "XRGB", "RGBA", "GBR"};
    unsigned char plain[H][W][3], there[4 * 16 * H * W], back[H][W][3];
    dlpark_tensor file = DLPARK_TENSOR_EMPTY;
    dlpark_view picture, bytes, view, out;
    dlpark_pixels pixels;

    (void)state;
    for (int i = 0; i < H * W * 3; i++)
        (&plain[0][0][0])[i] = (unsigned char)(i * 37);
    assert_ok(dlpark_array_view(&picture, &DLPARK_ARRAY_3D(plain), e));
    assert_ok(dlpark_array_view(&out, &DLPARK_ARRAY_3D(back), e));
    for (size_t i = 0; i < 4 * sizeof orders / sizeof *orders; i++) {
        const char *order = orders[i / 4];
        memset(there, 0xEE, sizeof there);
        pixels = (dlpark_pixels){.data = there + 2 * 64 * H, .dtype = DLPARK_U8, .width = W, .height = H};
        memcpy(pixels.channels, order, strlen(order) + 1);
        pixels.pitch_nbytes = i % 2 ? 64 : -64;
        pixels.planar = i / 2 % 2;
        pixels.plane_nbytes = pixels.planar ? 16 : 0;
        dlpark_status status = dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, NULL);
        if (strcmp(order, "GBR") == 0) {
            assert_int_equal(status, DLPARK_E_LAYOUT);
            continue;
        }
        assert_int_equal(status, DLPARK_OK);
        assert_ok(
            dlpark_image_encode(&file, &picture, &(dlpark_image_save_desc){.format = DLPARK_IMAGE_PNG}, &bytes, e));
        assert_ok(dlpark_image_load_into(
            &view, &(dlpark_image_load_desc){.bytes = bytes.data, .nbytes = (size_t)bytes.shape[0]}, e));
        dlpark_tensor_release(&file);
        int64_t written = 0;
        for (size_t j = 0; j < sizeof there; j++)
            written += there[j] != 0xEE;
        assert_in_range(written, H * W * 3 - 3, H * W * 3); /* a sample may be 0xEE itself; nothing beside */
        assert_ok(dlpark_image_encode(&file, &view, &(dlpark_image_save_desc){.format = DLPARK_IMAGE_PNG}, &bytes, e));
        assert_ok(dlpark_image_load_into(
            &out, &(dlpark_image_load_desc){.bytes = bytes.data, .nbytes = (size_t)bytes.shape[0]}, e));
        dlpark_tensor_release(&file);
        assert_memory_equal(back, plain, sizeof plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compact_picture_is_described),     cmocka_unit_test(every_small_layout),
        cmocka_unit_test(layouts_are_told_as_they_are),       cmocka_unit_test(rank_two_is_one_channel),
        cmocka_unit_test(what_is_needed_is_there_or_refused), cmocka_unit_test(views_that_are_no_pictures_are_refused),
        cmocka_unit_test(read_only_pixels_are_const),         cmocka_unit_test(an_export_ends_the_tensor_once),
        cmocka_unit_test(a_failed_export_gives_nothing),      cmocka_unit_test(memory_stays_flat),
        cmocka_unit_test(codecs_read_and_write_such_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
