#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#define CPU                                                                                                            \
    {                                                                                                                  \
        kDLCPU, 0                                                                                                      \
    }

static int64_t numbers[4096];

static void fill_numbers(void)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        numbers[i] = (int64_t)i;
}

static dlpark_view view_of(const void *data, DLDevice device, DLDataType dtype, int32_t ndim, const int64_t *shape,
                           const int64_t *strides)
{
    dlpark_view view;
    DLTensor tensor = {(void *)(uintptr_t)data,       device, ndim, dtype, (int64_t *)(uintptr_t)shape,
                       (int64_t *)(uintptr_t)strides, 0};

    assert_ok(dlpark_check(&tensor, 0, &view, e));
    return view;
}

static dlpark_view numbers_of(int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    fill_numbers();
    return view_of(numbers, (DLDevice)CPU, DLPARK_I64, ndim, shape, strides);
}

/* ---- The line about a view ---- */

static void assert_line(const dlpark_view *view, const char *expected)
{
    char text[2048];

    assert_int_equal(dlpark_view_describe(view, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

static void test_the_line_says_the_layout(void **state)
{
    (void)state;
    const int64_t shape[] = {3, 4}, column[] = {1, 3}, gaps[] = {1, 8}, back[] = {-4, 1}, one[] = {3, 1};
    const int64_t one_strides[] = {1, 77}, none[] = {3, 0}, square[] = {2, 2};
    dlpark_view view = numbers_of(2, shape, NULL);

    assert_line(&view, "i64[3, 4] cpu c write unknown");
    view.flags = 0;
    assert_line(&view, "i64[3, 4] cpu c");
    view = numbers_of(2, shape, column);
    assert_line(&view, "i64[3, 4] cpu f write unknown");
    view = numbers_of(2, shape, gaps);
    assert_line(&view, "i64[3, 4] cpu strides [1, 8] write unknown");
    view = view_of(numbers + 8, (DLDevice)CPU, DLPARK_I64, 2, shape, back);
    assert_line(&view, "i64[3, 4] cpu strides [-4, 1] write unknown");
    view = numbers_of(2, one, one_strides);
    assert_line(&view, "i64[3, 1] cpu c write unknown");
    view = numbers_of(2, square, gaps);
    assert_line(&view, "i64[2, 2] cpu strides [1, 8] write unknown");
    view = numbers_of(2, none, NULL);
    assert_line(&view, "i64[3, 0] cpu empty write unknown");
    view = numbers_of(0, NULL, NULL);
    assert_line(&view, "i64[] cpu c write unknown");
}

static void test_an_extent_of_one_is_in_any_order(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 1, 3}, strides[] = {1, -50, 2};
    dlpark_view view = numbers_of(3, shape, strides);

    assert_line(&view, "i64[2, 1, 3] cpu f write unknown");
}

static void test_the_line_says_who_may_write(void **state)
{
    (void)state;
    const int64_t shape[] = {2};
    dlpark_view view = numbers_of(1, shape, NULL);

    view.flags = DLPARK_VIEW_READ_ONLY;
    assert_line(&view, "i64[2] cpu c read-only");
    view.flags = DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE;
    assert_line(&view, "i64[2] cpu c read-only");
}

static void test_the_line_says_what_a_description_cannot(void **state)
{
    (void)state;
    const int64_t shape[] = {4};
    dlpark_view view = view_of(numbers, (DLDevice)CPU, DLPARK_U4, 1, shape, NULL);

    view.flags = DLPARK_VIEW_PADDED;
    assert_line(&view, "u4[4] cpu c padded");
    view.flags = 0;
    view.bit_offset = 4;
    assert_line(&view, "u4[4] cpu strides [1] bit offset 4");
    assert_null(dlpark_view_bytes(&view, NULL, NULL)); /* what `c` would promise */
    view.shape[0] = 0;
    assert_line(&view, "u4[0] cpu empty bit offset 4");
    view = view_of(numbers, (DLDevice)CPU, DLPARK_F32, 1, shape, NULL);
    view.flags = DLPARK_VIEW_PADDED; /* harmless on whole bytes, and nothing to tell */
    assert_line(&view, "f32[4] cpu c");

    DLTensor handle = {numbers, {kDLOpenCL, 1}, 1, DLPARK_F32, (int64_t *)(uintptr_t)shape, NULL, 64};
    assert_ok(dlpark_check(&handle, DLPACK_FLAG_BITMASK_READ_ONLY, &view, e));
    assert_line(&view, "f32[4] opencl:1 c byte offset 64 read-only");
}

static void test_the_longest_line(void **state)
{
    (void)state;
    int64_t shape[DLPARK_MAX_NDIM], strides[DLPARK_MAX_NDIM];
    char text[4096];

    for (int i = 0; i < DLPARK_MAX_NDIM; i++) {
        shape[i] = 1;
        strides[i] = INT64_MIN;
    }
    shape[0] = 2;
    shape[1] = 2;
    strides[0] = -1;
    strides[1] = 3;
    dlpark_view view = view_of(numbers + 9, (DLDevice)CPU, DLPARK_I64, DLPARK_MAX_NDIM, shape, strides);
    size_t length = dlpark_view_describe(&view, text, sizeof text);
    assert_int_equal(length, strlen(text));
    const char *end = "-9223372036854775808] write unknown";
    assert_string_equal(text + length - strlen(end), end);
}

/* ---- Room ---- */

static void check_room(size_t (*write)(const dlpark_view *, char *, size_t), const dlpark_view *view)
{
    char whole[256], part[256];
    size_t length = write(view, NULL, 0);

    assert_true(length > 8 && length < sizeof whole);
    assert_int_equal(write(view, whole, sizeof whole), length);
    assert_int_equal(strlen(whole), length);
    for (size_t nbytes = 1; nbytes <= length + 1; nbytes++) {
        memset(part, 0x5A, sizeof part);
        assert_int_equal(write(view, part, nbytes), length);
        assert_int_equal(strlen(part), nbytes - 1);
        assert_memory_equal(part, whole, nbytes - 1);
        assert_int_equal(part[nbytes], 0x5A); /* nothing is touched behind the end */
    }
}

static size_t write_elements(const dlpark_view *view, char *text, size_t nbytes)
{
    return dlpark_view_text(view, NULL, text, nbytes);
}

static void test_both_texts_are_cut_to_the_room_there_is(void **state)
{
    (void)state;
    const int64_t shape[] = {3, 4};
    dlpark_view view = numbers_of(2, shape, NULL);

    check_room(dlpark_view_describe, &view);
    check_room(write_elements, &view);
}

/* ---- The elements ---- */

static void assert_elements(const dlpark_view *view, const dlpark_text_options *options, const char *expected)
{
    char text[8192];

    size_t length = dlpark_view_text(view, options, text, sizeof text);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
}

static void test_brackets_and_breaks(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 1, 2, 3}, none[] = {2, 0};
    dlpark_view view = numbers_of(4, shape, NULL);

    assert_elements(&view, NULL, "[[[[ 0  1  2]\n   [ 3  4  5]]]\n\n\n [[[ 6  7  8]\n   [ 9 10 11]]]]");
    view = numbers_of(2, shape + 2, NULL);
    assert_elements(&view, NULL, "[[0 1 2]\n [3 4 5]]");
    view = numbers_of(1, shape + 3, NULL);
    assert_elements(&view, NULL, "[0 1 2]");
    view = numbers_of(0, NULL, NULL);
    assert_elements(&view, NULL, "0");
    view = numbers_of(2, none, NULL);
    assert_elements(&view, NULL, "[]");
}

static void test_strides_of_any_sign(void **state)
{
    (void)state;
    const int64_t shape[] = {2, 3}, back[] = {-10, -2}, broadcast[] = {0, 1};
    dlpark_view view;

    fill_numbers();
    view = view_of(numbers + 20, (DLDevice)CPU, DLPARK_I64, 2, shape, back);
    assert_elements(&view, NULL, "[[20 18 16]\n [10  8  6]]");
    view = numbers_of(2, shape, broadcast);
    assert_elements(&view, NULL, "[[0 1 2]\n [0 1 2]]");
}

static void test_a_line_ends_before_it_is_too_long(void **state)
{
    (void)state;
    dlpark_text_options options = DLPARK_TEXT_DEFAULTS;
    const int64_t shape[] = {2, 5};
    dlpark_view view = numbers_of(2, shape, NULL);

    options.linewidth = 9;
    assert_elements(&view, &options, "[[0 1 2\n  3 4]\n [5 6 7\n  8 9]]");
    options.linewidth = 8; /* room for the two brackets is kept */
    assert_elements(&view, &options, "[[0 1\n  2 3\n  4]\n [5 6\n  7 8\n  9]]");
    options.linewidth = -5;
    assert_elements(&view, &options, "[[0\n  1\n  2\n  3\n  4]\n [5\n  6\n  7\n  8\n  9]]");
}

static void test_spaces_at_the_end_of_a_line_are_dropped(void **state)
{
    (void)state;
    const double values[] = {1, 2, 0.25, 3};
    const int64_t shape[] = {4};
    dlpark_text_options options = DLPARK_TEXT_DEFAULTS;
    dlpark_view view = view_of(values, (DLDevice)CPU, DLPARK_F64, 1, shape, NULL);

    options.linewidth = 12;
    assert_elements(&view, &options, "[1.   2.\n 0.25 3.  ]");
}

static void test_the_middle_of_many_elements_is_left_out(void **state)
{
    (void)state;
    const int64_t exact[] = {1000}, more[] = {1001}, matrix[] = {40, 50}, narrow[] = {6, 170}, cube[] = {4, 5, 60};
    dlpark_view view = numbers_of(1, more, NULL);

    assert_elements(&view, NULL, "[   0    1    2 ...  998  999 1000]");
    view = numbers_of(1, exact, NULL);
    assert_int_equal(dlpark_view_text(&view, NULL, NULL, 0),
                     3000 + 999 + 2 + 55); /* 56 lines of 18, all but the first indented */
    view = numbers_of(2, matrix, NULL);
    assert_elements(&view, NULL,
                    "[[   0    1    2 ...   47   48   49]\n [  50   51   52 ...   97   98   99]\n"
                    " [ 100  101  102 ...  147  148  149]\n ...\n [1850 1851 1852 ... 1897 1898 1899]\n"
                    " [1900 1901 1902 ... 1947 1948 1949]\n [1950 1951 1952 ... 1997 1998 1999]]");
    view = numbers_of(2, narrow, NULL); /* six are not more than three at each end */
    assert_elements(&view, NULL,
                    "[[   0    1    2 ...  167  168  169]\n [ 170  171  172 ...  337  338  339]\n"
                    " [ 340  341  342 ...  507  508  509]\n [ 510  511  512 ...  677  678  679]\n"
                    " [ 680  681  682 ...  847  848  849]\n [ 850  851  852 ... 1017 1018 1019]]");

    dlpark_text_options options = DLPARK_TEXT_DEFAULTS;
    options.edgeitems = 1;
    view = numbers_of(3, cube, NULL);
    assert_elements(&view, &options,
                    "[[[   0 ...   59]\n  ...\n  [ 240 ...  299]]\n\n ...\n\n [[ 900 ...  959]\n  ...\n"
                    "  [1140 ... 1199]]]");
}

static void test_threshold_and_edges(void **state)
{
    (void)state;
    dlpark_text_options options = DLPARK_TEXT_DEFAULTS;
    const int64_t shape[] = {7};
    dlpark_view view = numbers_of(1, shape, NULL);

    options.threshold = 7;
    options.edgeitems = 2;
    assert_elements(&view, &options, "[0 1 2 3 4 5 6]");
    options.threshold = 6;
    assert_elements(&view, &options, "[0 1 ... 5 6]");
    options.threshold = -1;
    options.edgeitems = -3; /* at least one */
    assert_elements(&view, &options, "[0 ... 6]");
    options.edgeitems = INT32_MAX;
    assert_elements(&view, &options, "[0 1 2 3 4 5 6]");
    options.edgeitems = 1;
    options.linewidth = 6;
    assert_elements(&view, &options, "[0\n ...\n 6]");
}

/* Only what is shown decides on the width of the columns. */
static void test_what_is_left_out_does_not_matter(void **state)
{
    (void)state;
    double *values = calloc(2000, sizeof *values);
    const int64_t shape[] = {2000};

    assert_non_null(values);
    values[1000] = 1e300;
    values[1999] = 1;
    dlpark_view view = view_of(values, (DLDevice)CPU, DLPARK_F64, 1, shape, NULL);
    assert_elements(&view, NULL, "[0. 0. 0. ... 0. 0. 1.]");
    free(values);
}

/* Elements at every bit, at positive and at negative strides. */
static void test_packed_elements_at_a_bit_offset(void **state)
{
    (void)state;
    const unsigned char nibbles[] = {0x10, 0x32, 0x54, 0x76, 0x98};
    const unsigned char sixes[] = {0x81, 0x30, 0x10, 0x45, 0x71, 0x1C}; /* u6 has no dtype: f6_e2m3fn */
    const int64_t shape[] = {4}, every_second[] = {2}, back[] = {-2};
    dlpark_view view = view_of(nibbles, (DLDevice)CPU, DLPARK_U4, 1, shape, every_second);

    assert_elements(&view, NULL, "[0 2 4 6]");
    view.bit_offset = 4;
    assert_elements(&view, NULL, "[1 3 5 7]");
    view.data = (void *)(uintptr_t)(nibbles + 4);
    view.strides[0] = back[0];
    assert_elements(&view, NULL, "[9 7 5 3]");
    view.bit_offset = 0;
    view.strides[0] = -1;
    assert_elements(&view, NULL, "[8 7 6 5]");
    view = view_of(sixes, (DLDevice)CPU, DLPARK_F6_E2M3FN, 1, shape, NULL);
    assert_elements(&view, NULL, "[0.1 0.2 0.4 0.5]");
    view.bit_offset = 6;
    view.shape[0] = 3;
    assert_elements(&view, NULL, "[0.2 0.4 0.5]");
}

/* Broadcast dimensions take no memory: without a limit some views would be written for years. */
static void test_too_many_elements_are_not_all_shown(void **state)
{
    (void)state;
    int64_t shape[DLPARK_MAX_NDIM], strides[DLPARK_MAX_NDIM] = {0};
    const int64_t lone[] = {1}, two[] = {2, 2, 2, 2, 2};
    const unsigned char byte = 7;
    char text[256];

    for (int i = 0; i < DLPARK_MAX_NDIM; i++)
        shape[i] = 6;
    dlpark_view view = view_of(&byte, (DLDevice)CPU, DLPARK_U8, 24, shape, strides);
    dlpark_view_text(&view, NULL, text, sizeof text);
    assert_memory_equal(text, "<u8[6, 6, 6, ", 13);
    size_t length = dlpark_view_text(&view, NULL, NULL, 0);
    assert_true(length > 100 && length < sizeof text);
    assert_string_equal(text + length - strlen(": too many elements to show>"), ": too many elements to show>");

    view = view_of(&byte, (DLDevice)CPU, DLPARK_U8, 8, shape, strides); /* 6^8 > 2^20 */
    dlpark_view_text(&view, NULL, text, sizeof text);
    assert_memory_equal(text, "[[[[[[[[7 ... 7]\n       ...\n       [7 ... 7]]\n", 46);

    dlpark_text_options options = DLPARK_TEXT_DEFAULTS; /* all of it is wished for, the edges are shown */
    options.threshold = INT64_MAX;
    shape[0] = (1 << 20) + 1;
    view = view_of(&byte, (DLDevice)CPU, DLPARK_U8, 1, shape, strides);
    assert_elements(&view, &options, "[7 7 7 ... 7 7 7]");
    options.edgeitems = INT32_MAX;
    assert_elements(&view, &options, "[7 ... 7]");
    view.shape[0] = 1 << 20;
    options.linewidth = INT32_MAX;
    assert_int_equal(dlpark_view_text(&view, &options, NULL, 0), 2 * (1 << 20) + 1);

    /* Lanes count: 32 elements of 65535. */
    view = view_of(numbers, (DLDevice)CPU, DLPARK_DTYPE(kDLUInt, 1, 65535), 5, two, strides);
    dlpark_view_text(&view, NULL, text, sizeof text);
    assert_string_equal(
        text, "<u1x65535[2, 2, 2, 2, 2] cpu strides [0, 0, 0, 0, 0] write unknown: too many elements to show>");
    view = view_of(numbers, (DLDevice)CPU, DLPARK_DTYPE(kDLUInt, 1, 65535), 1, lone, strides);
    assert_int_equal(dlpark_view_text(&view, &options, NULL, 0), 3 * 65535 + 2);
}

static void test_memory_that_the_host_cannot_access_is_not_read(void **state)
{
    (void)state;
    const int64_t shape[] = {3};
    dlpark_view view = view_of((const void *)16, (DLDevice){kDLCUDA, 1}, DLPARK_F32, 1, shape, NULL);

    assert_elements(&view, NULL, "<f32[3] cuda:1 c write unknown: not accessible to the host>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_line_says_the_layout),
        cmocka_unit_test(test_an_extent_of_one_is_in_any_order),
        cmocka_unit_test(test_the_line_says_who_may_write),
        cmocka_unit_test(test_the_line_says_what_a_description_cannot),
        cmocka_unit_test(test_the_longest_line),
        cmocka_unit_test(test_both_texts_are_cut_to_the_room_there_is),
        cmocka_unit_test(test_brackets_and_breaks),
        cmocka_unit_test(test_strides_of_any_sign),
        cmocka_unit_test(test_a_line_ends_before_it_is_too_long),
        cmocka_unit_test(test_spaces_at_the_end_of_a_line_are_dropped),
        cmocka_unit_test(test_the_middle_of_many_elements_is_left_out),
        cmocka_unit_test(test_threshold_and_edges),
        cmocka_unit_test(test_what_is_left_out_does_not_matter),
        cmocka_unit_test(test_packed_elements_at_a_bit_offset),
        cmocka_unit_test(test_too_many_elements_are_not_all_shown),
        cmocka_unit_test(test_memory_that_the_host_cannot_access_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
