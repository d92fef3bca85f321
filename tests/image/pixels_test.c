/* Pixels of other libraries as views and tensors. */
#include "pixels_made.h"

#include <pthread.h>

#include "failing_alloc.h"
#include "passage.h"

enum { WIDTH = 5, HEIGHT = 3 };

static _Alignas(16) unsigned char memory[16384];

static const DLDataType *samples(size_t *count)
{
    static DLDataType list[4];

    list[0] = DLPARK_U8;
    list[1] = DLPARK_U16;
    list[2] = DLPARK_F16;
    list[3] = DLPARK_F32;
    *count = 4;
    return list;
}

static dlpark_pixels described(const char *channels, DLDataType dtype)
{
    dlpark_pixels pixels = {.data = memory + 8192, .dtype = dtype, .width = WIDTH, .height = HEIGHT};

    memcpy(pixels.channels, channels, strlen(channels) + 1);
    return pixels;
}

/* What has to come of it, letter by letter. */
static dlpark_status expected(const char *channels, const char *wanted)
{
    for (const char *letter = wanted; *letter; letter++)
        if (*letter == 'X' || !strchr(channels, *letter))
            return DLPARK_E_ARGUMENT;
    for (size_t i = 2; i < strlen(wanted); i++)
        if (strchr(channels, wanted[i]) - strchr(channels, wanted[i - 1]) !=
            strchr(channels, wanted[1]) - strchr(channels, wanted[0]))
            return DLPARK_E_LAYOUT;
    return DLPARK_OK;
}

/* Every order, layout, depth and direction of rows, against the place of every sample. */
static void channels_are_found_where_strides_say_them(void **state)
{
    static const char *const orders[] = {"RGB",  "BGR",  "RGBA", "BGRA", "ARGB", "ABGR",
                                         "RGBX", "XBGR", "Y",    "AY",   "CMYK", "XRXGXBA"};
    static const char *const wants[] = {"RGB", "BGR", "RGBA", "BGRA", "R", "A", "YYY", "YA", "CMYK", "RB", "X", "RR"};
    static const int64_t pitches[] = {0, 512, -512};
    int passed = 0, refused = 0;
    size_t depths;
    const DLDataType *depth = samples(&depths);

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders * (sizeof wants / sizeof *wants) * depths * 3 * 4; i++) {
        size_t rest = i;
        dlpark_pixels pixels = described(orders[rest % (sizeof orders / sizeof *orders)], DLPARK_U8);
        rest /= sizeof orders / sizeof *orders;
        const char *wanted = wants[rest % (sizeof wants / sizeof *wants)];
        rest /= sizeof wants / sizeof *wants;
        pixels.dtype = depth[rest % depths];
        rest /= depths;
        pixels.pitch_nbytes = pitches[rest % 3];
        pixels.planar = rest / 3 % 2 == 1;
        dlpark_image_layout layout = rest / 6 ? DLPARK_IMAGE_CHW : DLPARK_IMAGE_HWC;
        dlpark_view view;
        dlpark_status status = dlpark_pixels_view(&view, &pixels, wanted, layout, NULL);
        assert_int_equal(status, expected(pixels.channels, wanted));
        if (status == DLPARK_OK)
            assert_same_samples(&view, layout, wanted, &pixels);
        passed += status == DLPARK_OK;
        refused += status != DLPARK_OK;
    }
    assert_true(passed > 500 && refused > 500);
}

static void without_letters_all_come_that_mean_something(void **state)
{
    static const struct {
        const char *channels, *all;
    } rows[] = {{"RGB", "RGB"}, {"BGRA", "BGRA"}, {"XRGB", "RGB"}, {"BGRX", "BGR"},
                {"YX", "Y"},    {"AZ", "AZ"},     {"RXGXB", "RGB"}};
    dlpark_view view;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const dlpark_pixels pixels = described(rows[i].channels, DLPARK_U8);
        assert_ok(dlpark_pixels_view(&view, &pixels, NULL, DLPARK_IMAGE_HWC, e));
        assert_same_samples(&view, DLPARK_IMAGE_HWC, rows[i].all, &pixels);
        assert_int_equal(view.flags, 0);
    }
}

static void passages_are_what_was_seen(void **state)
{
    static const struct {
        const char *channels, *wanted;
        int64_t pitch_nbytes;
        int32_t planar;
        const char *layout;
    } rows[] = {
        {"RGB", "RGB", 0, 0, "interleaved"},
        {"RGB", "RGB", 512, 0, "interleaved, rows with a pitch"},
        {"RGB", "RGB", -512, 0, "interleaved, rows from the bottom up"},
        {"RGB", "RGB", 0, 1, "planes"},
        {"RGB", "RGB", 512, 1, "planes, rows with a pitch"},
        {"BGR", "RGB", 0, 0, "RGB of BGR"},
        {"BGRA", "RGB", 0, 0, "RGB of BGRA"},
        {"BGRA", "A", 0, 0, "A of BGRA"},
        {"BGRA", "RGBA", 0, 0, "RGBA of BGRA"},
        {"Y", "Y", 512, 0, "grey"},
        {"Y", "YYY", 0, 0, "grey as RGB"},
    };
    size_t depths;
    const DLDataType *depth = samples(&depths);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < depths; j++) {
            dlpark_pixels pixels = described(rows[i].channels, depth[j]);
            dlpark_view view;
            pixels.pitch_nbytes = rows[i].pitch_nbytes;
            pixels.planar = rows[i].planar;
            passage_report("image", PASSAGE_IN, pixels.dtype, rows[i].layout,
                           dlpark_pixels_view(&view, &pixels, rows[i].wanted, DLPARK_IMAGE_HWC, NULL));
        }
}

static void distances_may_be_anything_that_leaves_room(void **state)
{
    static const struct {
        int64_t pitch_nbytes, pixel_nbytes, plane_nbytes;
        int32_t planar;
    } rows[] = {
        {0, 4, 0, 0},
        {20, 4, 0, 0},
        {-17, 3, 0, 0},
        {19, 4, 0, 0}, /* the last pixel needs its samples alone */
        {16, 3, 0, 0},
        {40, 8, 0, 0},
        {7, 1, 21, 1},
        {7, 0, 100, 1},
        {-7, 1, 21, 1},
        {30, 2, 9, 1} /* the planes' rows take turns */,
        {45, 9, 3, 1} /* planes within the pixels */,
    };
    dlpark_view view;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark_pixels pixels = described("RGB", DLPARK_U8);
        pixels.pitch_nbytes = rows[i].pitch_nbytes;
        pixels.pixel_nbytes = rows[i].pixel_nbytes;
        pixels.plane_nbytes = rows[i].plane_nbytes;
        pixels.planar = rows[i].planar;
        assert_ok(dlpark_pixels_view(&view, &pixels, "BGR", DLPARK_IMAGE_CHW, e));
        assert_same_samples(&view, DLPARK_IMAGE_CHW, "BGR", &pixels);
    }
}

static void extents_of_one_and_nothing_need_no_distance(void **state)
{
    dlpark_pixels pixels = described("RGB", DLPARK_F32);
    dlpark_view view;
    size_t depths;
    const DLDataType *depth = samples(&depths);

    (void)state;
    pixels.height = 1;
    pixels.pitch_nbytes = -7;
    assert_ok(dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, e));
    assert_int_equal(view.strides[1], 3);
    pixels.pitch_nbytes = INT64_MIN;
    assert_ok(dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, e));
    pixels.width = 1;
    pixels.pixel_nbytes = 2;
    assert_ok(dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, e));
    for (size_t i = 0; i < 2 * depths; i++) {
        pixels = described("BGR", depth[i / 2]);
        pixels.data = NULL;
        pixels.planar = 1;
        pixels.plane_nbytes = INT64_MAX;
        pixels.nbytes = 1;
        *(i % 2 ? &pixels.width : &pixels.height) = 0;
        assert_ok(dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, e));
        assert_int_equal(dlpark_view_numel(&view), 0);
        assert_int_equal(view.shape[2], 3);
        assert_null(view.data);
        passage_report("image", PASSAGE_IN, pixels.dtype, "without elements", DLPARK_OK);
    }
}

static void one_channel_three_times_is_not_written(void **state)
{
    const dlpark_pixels pixels = described("Y", DLPARK_U8);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_pixels_view(&view, &pixels, "YYY", DLPARK_IMAGE_HWC, e));
    assert_int_equal(view.strides[2], 0);
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_ok(dlpark_pixels_view(&view, &pixels, "Y", DLPARK_IMAGE_HWC, e));
    assert_int_equal(view.flags, 0);
    dlpark_pixels untouched = pixels;
    untouched.data = NULL;
    untouched.data_const = memory;
    assert_ok(dlpark_pixels_view(&view, &untouched, "Y", DLPARK_IMAGE_HWC, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_ptr_equal(view.data, memory);
}

static void memory_of_devices_is_described(void **state)
{
    dlpark_pixels pixels = described("BGR", DLPARK_U8);
    dlpark_view view;

    (void)state;
    pixels.device = (DLDevice){kDLCUDA, 1};
    pixels.pitch_nbytes = 512;
    assert_ok(dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, e));
    assert_int_equal(view.device.device_id, 1);
    assert_same_samples(&view, DLPARK_IMAGE_HWC, "RGB", &pixels);
    pixels.device = (DLDevice){kDLOpenCL, 0};
    assert_fails(DLPARK_E_DEVICE, "memory of opencl:0 has handles",
                 dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, e));
}

static void hostile_descriptions_are_refused(void **state)
{
    dlpark_pixels pixels;
    dlpark_view view;

    (void)state;
#define HOSTILE(status, says, wanted, ...)                                                                             \
    do {                                                                                                               \
        pixels = described("RGB", DLPARK_U16);                                                                         \
        __VA_ARGS__;                                                                                                   \
        assert_fails(status, says, dlpark_pixels_view(&view, &pixels, wanted, DLPARK_IMAGE_HWC, e));                   \
    } while (0)
    HOSTILE(DLPARK_E_SHAPE, "the pixels are -1 x 3", "RGB", pixels.width = -1);
    HOSTILE(DLPARK_E_SHAPE, "the pixels are 5 x -2147483648", "RGB", pixels.height = INT32_MIN);
    HOSTILE(DLPARK_E_DATA, "NULL", "RGB", pixels.data = NULL);
    HOSTILE(DLPARK_E_ARGUMENT, "data", "RGB", pixels.data_const = memory);
    HOSTILE(DLPARK_E_DTYPE, "a sample is i4", "RGB", pixels.dtype = DLPARK_I4);
    HOSTILE(DLPARK_E_DTYPE, "a sample is u8x3", "RGB", pixels.dtype = DLPARK_DTYPE(kDLUInt, 8, 3));
    HOSTILE(DLPARK_E_DTYPE, "99", "RGB", pixels.dtype = DLPARK_DTYPE(99, 8, 1));
    HOSTILE(DLPARK_E_DTYPE, "", "RGB", pixels.dtype = DLPARK_DTYPE(kDLUInt, 0, 0));
    HOSTILE(DLPARK_E_DTYPE, "", "RGB", pixels.dtype = DLPARK_DTYPE(kDLUInt, 0, 1));
    HOSTILE(DLPARK_E_DEVICE, "99", "RGB", pixels.device = (DLDevice){(DLDeviceType)99, 0});
    HOSTILE(DLPARK_E_STRIDES, "pitch_nbytes is 31, no multiple of the 2 bytes", "RGB", pixels.pitch_nbytes = 31);
    HOSTILE(DLPARK_E_STRIDES, "pitch_nbytes is -31", "RGB", pixels.pitch_nbytes = -31, pixels.height = 2);
    passage_report("image", PASSAGE_IN, DLPARK_U16, "a pitch of half a sample", DLPARK_E_STRIDES);
    HOSTILE(DLPARK_E_STRIDES, "pixel_nbytes is 7, no multiple", "RGB", pixels.pixel_nbytes = 7);
    HOSTILE(DLPARK_E_STRIDES, "plane_nbytes is 101, no multiple", "RGB", pixels.planar = 1, pixels.plane_nbytes = 101);
    HOSTILE(DLPARK_E_ARGUMENT, "pitch_nbytes is 28, and 30 bytes lie within that step", "RGB",
            pixels.pitch_nbytes = 28);
    HOSTILE(DLPARK_E_ARGUMENT, "pitch_nbytes is -28, and 30 bytes", "RGB", pixels.pitch_nbytes = -28);
    passage_report("image", PASSAGE_IN, DLPARK_U16, "rows that meet", DLPARK_E_ARGUMENT);
    HOSTILE(DLPARK_E_ARGUMENT, "pitch_nbytes is 6, and 122 bytes", "RGB", pixels.pitch_nbytes = 6,
            pixels.pixel_nbytes = 30);
    HOSTILE(DLPARK_E_ARGUMENT, "pixel_nbytes is 4, and 6 bytes", "RGB", pixels.pixel_nbytes = 4);
    HOSTILE(DLPARK_E_ARGUMENT, "pixel_nbytes is -6", "RGB", pixels.pixel_nbytes = -6);
    HOSTILE(DLPARK_E_ARGUMENT, "plane_nbytes is 28, and 30 bytes", "RGB", pixels.planar = 1, pixels.plane_nbytes = 28);
    HOSTILE(DLPARK_E_ARGUMENT, "plane_nbytes is 8, and 10 bytes", "RGB", pixels.planar = 1, pixels.plane_nbytes = 8,
            pixels.pitch_nbytes = 64);
    HOSTILE(DLPARK_E_ARGUMENT, "plane_nbytes -2", "RGB", pixels.planar = 1, pixels.plane_nbytes = -2);
    HOSTILE(DLPARK_E_ARGUMENT, "plane_nbytes is 64, and there are no planes", "RGB", pixels.plane_nbytes = 64);
    HOSTILE(DLPARK_E_ARGUMENT, "nbytes is 89, and the pixels take 90", "RGB", pixels.nbytes = 89);
    HOSTILE(DLPARK_E_ARGUMENT, "nbytes is 157, and the pixels take 158", "RGB", pixels.nbytes = 157,
            pixels.pitch_nbytes = -64);
    HOSTILE(DLPARK_E_ARGUMENT, "reserved is 1", "RGB", pixels.reserved = 1);
    HOSTILE(DLPARK_E_OVERFLOW, "2 steps of pitch_nbytes, which is 9223372036854775806", "RGB",
            pixels.pitch_nbytes = INT64_MAX - 1);
    HOSTILE(DLPARK_E_OVERFLOW, "pitch_nbytes, which is -9223372036854775808", "RGB", pixels.pitch_nbytes = INT64_MIN);
    HOSTILE(DLPARK_E_OVERFLOW, "4 steps of pixel_nbytes", "RGB", pixels.pixel_nbytes = INT64_MAX - 1,
            pixels.pitch_nbytes = INT64_MAX - 1);
    HOSTILE(DLPARK_E_OVERFLOW, "pixel_nbytes", "RGB", pixels.pixel_nbytes = INT64_MAX - 1, pixels.pitch_nbytes = 2);
    HOSTILE(DLPARK_E_OVERFLOW, "plane_nbytes", "RGB", pixels.planar = 1, pixels.plane_nbytes = INT64_MAX - 1);
    HOSTILE(DLPARK_E_OVERFLOW, "", "RGB", pixels.pitch_nbytes = INT64_MAX / 4 * 2);
    HOSTILE(DLPARK_E_OVERFLOW, "", "RGB", pixels.pixel_nbytes = INT64_MAX / 4 - 1);
    assert_fails(DLPARK_E_ARGUMENT, "layout is 7",
                 dlpark_pixels_view(&view, &pixels, "RGB", (dlpark_image_layout)7, e));
    assert_fails(DLPARK_E_ARGUMENT, "the pixels are NULL", dlpark_pixels_view(&view, NULL, "RGB", DLPARK_IMAGE_HWC, e));
}

static void letters_that_are_none_are_refused(void **state)
{
    dlpark_pixels pixels;
    dlpark_view view;

    (void)state;
    HOSTILE(DLPARK_E_ARGUMENT, "channels begins with \"\", expected 1 to 7 capital", NULL, pixels.channels[0] = '\0');
    HOSTILE(DLPARK_E_ARGUMENT, "channels begins with \"Rg\", expected", NULL, pixels.channels[1] = 'g');
    HOSTILE(DLPARK_E_ARGUMENT, "channels begins with \"RRRRRRRR\"", NULL, memset(pixels.channels, 'R', 8));
    HOSTILE(DLPARK_E_ARGUMENT, "channels is \"RGR\", with R twice", NULL, pixels.channels[2] = 'R');
    HOSTILE(DLPARK_E_ARGUMENT, "wanted begins with \"\"", "", (void)0);
    HOSTILE(DLPARK_E_ARGUMENT, "channels is \"XXX\", which are of no meaning all", NULL,
            memcpy(pixels.channels, "XXX", 3));
    HOSTILE(DLPARK_E_ARGUMENT, "wanted begins with \"RGb\"", "RGb", (void)0);
    HOSTILE(DLPARK_E_ARGUMENT, "wanted begins with \"BGRBGRBG\"", "BGRBGRBGR", (void)0);
    HOSTILE(DLPARK_E_ARGUMENT, "\"RGBA\" is wanted, and there is no channel A in \"RGB\"", "RGBA", (void)0);
    HOSTILE(DLPARK_E_ARGUMENT, "no channel X in \"RGX\"", "RGX", pixels.channels[2] = 'X');
    HOSTILE(DLPARK_E_LAYOUT, "\"GRB\" of \"RGB\" lies at no one distance", "GRB", (void)0);
}

/* ---- Import ---- */

static int released;
static pthread_t released_by;

static void count_release(void *owner)
{
    assert_ptr_equal(owner, memory);
    released++;
    released_by = pthread_self();
}

static void *release_there(void *tensor)
{
    dlpark_tensor_release(tensor);
    return NULL;
}

static void an_import_ends_the_pixels_once(void **state)
{
    const dlpark_pixels none = {.data = NULL};
    dlpark_pixels pixels = described("BGRX", DLPARK_U8);
    const dlpark_pixels same = pixels;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    pthread_t thread;

    (void)state;
    released = 0;
    pixels.owner = memory;
    pixels.release = count_release;
    assert_ok(dlpark_pixels_import(&tensor, &pixels, "RGB", DLPARK_IMAGE_HWC, &view, e));
    assert_memory_equal(&pixels, &none, sizeof pixels);
    assert_same_samples(&view, DLPARK_IMAGE_HWC, "RGB", &same);
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(released, 0);
    assert_int_equal(pthread_create(&thread, NULL, release_there, &part), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(released, 1);
    assert_false(pthread_equal(released_by, pthread_self()));
    /* Nothing to end. */
    pixels = same;
    assert_ok(dlpark_pixels_import(&tensor, &pixels, NULL, DLPARK_IMAGE_CHW, NULL, e));
    dlpark_tensor_release(&tensor);
}

static void a_failed_import_takes_nothing(void **state)
{
    dlpark_pixels pixels = described("BGRA", DLPARK_U8);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, full = DLPARK_TENSOR_EMPTY;

    (void)state;
    released = 0;
    pixels.owner = memory;
    pixels.release = count_release;
    const dlpark_pixels same = pixels;
    assert_fails(DLPARK_E_LAYOUT, "copied", dlpark_pixels_import(&tensor, &pixels, "RGBA", DLPARK_IMAGE_HWC, NULL, e));
    failing_alloc_arm(1);
    dlpark_status status = dlpark_pixels_import(&tensor, &pixels, "RGB", DLPARK_IMAGE_HWC, NULL, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    assert_memory_equal(&pixels, &same, sizeof pixels);
    assert_null(tensor.managed);
    assert_ok(dlpark_pixels_import(&full, &pixels, "RGB", DLPARK_IMAGE_HWC, NULL, e));
    pixels = same;
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_pixels_import(&full, &pixels, "RGB", DLPARK_IMAGE_HWC, NULL, e));
    assert_memory_equal(&pixels, &same, sizeof pixels);
    assert_int_equal(released, 0);
    dlpark_tensor_release(&full);
    assert_int_equal(released, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_found_where_strides_say_them),
        cmocka_unit_test(without_letters_all_come_that_mean_something),
        cmocka_unit_test(passages_are_what_was_seen),
        cmocka_unit_test(distances_may_be_anything_that_leaves_room),
        cmocka_unit_test(extents_of_one_and_nothing_need_no_distance),
        cmocka_unit_test(one_channel_three_times_is_not_written),
        cmocka_unit_test(memory_of_devices_is_described),
        cmocka_unit_test(hostile_descriptions_are_refused),
        cmocka_unit_test(letters_that_are_none_are_refused),
        cmocka_unit_test(an_import_ends_the_pixels_once),
        cmocka_unit_test(a_failed_import_takes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
