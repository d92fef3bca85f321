/* Tensors out as images of libvips, what libvips computes of them, and what its cache does with them. */
#include "vips_made.h"

#include <unistd.h>

static void every_dtype_of_a_band_is_an_image(void **state)
{
    (void)state;
    for (size_t i = 0; i < BANDS_COUNT; i++)
        for (int count = 0; count <= 7; count++) {
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
            VipsImage *image = NULL;
            make_tensor(&tensor, bands[i].dtype, count ? 3 : 2, (int64_t[]){4, 5, count}, NULL);
            assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
            assert_null(tensor.managed);
            assert_int_equal(vips_image_get_height(image), 4);
            assert_int_equal(vips_image_get_width(image), 5);
            assert_int_equal(vips_image_get_bands(image), count ? count : 1);
            assert_int_equal(vips_image_get_format(image), bands[i].format);
            assert_int_equal(line_nbytes(image), 5 * (size_t)(count ? count : 1) * bands[i].nbytes);
            assert_ptr_equal(vips_image_get_data(image), pixels);
            assert_int_equal(ended, 0);
            g_object_unref(image);
            assert_int_equal(ended, 1);
            passage_report("vips", PASSAGE_OUT, bands[i].dtype, count > 1 ? "interleaved bands" : "one band",
                           DLPARK_OK);
        }
}

/* The average of five numbers of one band, 1 to 5, as libvips reads them. */
static double average_of(DLDataType dtype)
{
    double real[5] = {1, 2, 3, 4, 5};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL;
    dlpark_view to, from;
    const DLTensor claim = {
        .data = real, .ndim = 2, .dtype = DLPARK_F64, .device = {kDLCPU, 0}, .shape = (int64_t[]){1, 5}};

    make_tensor(&tensor, dtype, 2, (int64_t[]){1, 5}, NULL);
    dlpark_tensor_view(&tensor, &to);
    assert_ok(dlpark_check(&claim, DLPACK_FLAG_BITMASK_READ_ONLY, &from, e));
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    double found = average(image);
    g_object_unref(image);
    return found;
}

static void libvips_reads_the_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < BANDS_COUNT; i++)
        assert_true(average_of(bands[i].dtype) == 3.0);
    vips_cache_set_max(0);
    vips_cache_set_max(100);
    memset(pixels, 0, sizeof pixels);
}

static void the_interpretation_is_what_was_asked_for(void **state)
{
    static const int asked[] = {VIPS_INTERPRETATION_MULTIBAND, VIPS_INTERPRETATION_LAB, VIPS_INTERPRETATION_scRGB,
                                VIPS_INTERPRETATION_XYZ};
    static const int none[] = {-2, 2, 30, 1000};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        make_tensor(&tensor, DLPARK_F32, 3, (int64_t[]){4, 5, 3}, NULL);
        assert_ok(dlpark_vips_export(&image, &tensor, asked[i], e));
        assert_int_equal(vips_image_get_interpretation(image), asked[i]);
        assert_int_equal(vips_image_get_width(image), 5);
        assert_ptr_equal(vips_image_get_data(image), pixels);
        g_clear_object(&image);
        assert_int_equal(ended, 1);
    }
    make_tensor(&tensor, DLPARK_U8, 3, (int64_t[]){4, 5, 3}, NULL);
    assert_fails(DLPARK_E_ARGUMENT, "the interpretation -2", dlpark_vips_export(&image, &tensor, none[0], e));
    for (size_t i = 1; i < sizeof none / sizeof none[0]; i++)
        assert_fails(DLPARK_E_ARGUMENT, "interpretation", dlpark_vips_export(&image, &tensor, none[i], e));
    assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    assert_int_equal(vips_image_get_interpretation(image), VIPS_INTERPRETATION_sRGB);
    g_object_unref(image);
}

/* Nothing may have changed by the refusal. */
static void assert_refused(dlpark_status expected, const char *text, DLDataType dtype, int32_t ndim,
                           const int64_t *shape, const int64_t *strides)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL;

    make_tensor(&tensor, dtype, ndim, shape, strides);
    assert_fails(expected, text, dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    assert_null(image);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

static void what_would_have_to_be_copied_is_refused(void **state)
{
    static const struct {
        const char *layout, *says;
        int64_t shape[3], strides[3];
    } rows[] = {
        {"planar", "strides[2] is 20 where libvips needs 1", {4, 5, 3}, {5, 1, 20}},
        {"padded rows", "strides[0] is 16 where libvips needs 15", {4, 5, 3}, {16, 3, 1}},
        {"padded pixels", "strides[1] is 4 where libvips needs 3", {4, 5, 3}, {20, 4, 1}},
        {"overlapping", "strides[0] is 1 where libvips needs 15", {4, 5, 3}, {1, 3, 1}},
        {"one column", "strides[0] is 7 where libvips needs 3", {20, 1, 3}, {7, 99, 1}},
        {"broadcast", "strides[0] is 0 where libvips needs 15", {4, 5, 3}, {0, 3, 1}},
    };

    (void)state;
    for (size_t i = 0; i < BANDS_COUNT; i++)
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            char nbytes[64];
            snprintf(nbytes, sizeof nbytes, "and %d bytes would have to be copied", 60 * (int)bands[i].nbytes);
            assert_refused(DLPARK_E_LAYOUT, rows[k].says, bands[i].dtype, 3, rows[k].shape, rows[k].strides);
            assert_refused(DLPARK_E_LAYOUT, nbytes, bands[i].dtype, 3, rows[k].shape, rows[k].strides);
            passage_report("vips", PASSAGE_OUT, bands[i].dtype, rows[k].layout, DLPARK_E_LAYOUT);
        }
    /* Strides of extents of 1 mean nothing. */
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL;
    make_tensor(&tensor, DLPARK_U8, 3, (int64_t[]){1, 5, 1}, (int64_t[]){-7, 1, 99});
    assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    g_object_unref(image);
}

/* The last row first, which lies below the data pointer. */
static void rows_from_below_are_refused(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL;
    dlpark_view view;

    (void)state;
    make_tensor(&tensor, DLPARK_U8, 2, (int64_t[]){4, 5}, NULL);
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, -1, e));
    dlpark_tensor part = DLPARK_TENSOR_EMPTY;
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_fails(DLPARK_E_LAYOUT, "strides[0] is -5 where libvips needs 5",
                 dlpark_vips_export(&image, &part, DLPARK_VIPS_GUESS, e));
    passage_report("vips", PASSAGE_OUT, DLPARK_U8, "rows reversed", DLPARK_E_LAYOUT);
    dlpark_tensor_release(&part);
    dlpark_tensor_release(&tensor);
}

static void dtypes_without_a_format_are_refused(void **state)
{
    static const DLDataType others[] = {
        {kDLBool, 8, 1},    {kDLInt, 64, 1},        {kDLUInt, 64, 1}, {kDLInt, 4, 1},      {kDLFloat, 16, 1},
        {kDLBfloat, 16, 1}, {kDLFloat8_e5m2, 8, 1}, {kDLUInt, 8, 4},  {kDLComplex, 32, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char says[96];
        snprintf(says, sizeof says, "libvips has no format for %s", dlpark_dtype_name(others[i]).text);
        assert_refused(DLPARK_E_DTYPE, says, others[i], 2, (int64_t[]){4, 6}, NULL);
        passage_report("vips", PASSAGE_OUT, others[i], "one band", DLPARK_E_DTYPE);
    }
}

static void what_is_no_image_is_refused(void **state)
{
    (void)state;
    assert_refused(DLPARK_E_RANK, "the rank is 0", DLPARK_U8, 0, (int64_t[]){0}, NULL);
    assert_refused(DLPARK_E_RANK, "the rank is 1", DLPARK_U8, 1, (int64_t[]){6}, NULL);
    assert_refused(DLPARK_E_RANK, "the rank is 4", DLPARK_U8, 4, (int64_t[]){1, 2, 3, 4}, NULL);
    assert_refused(DLPARK_E_SHAPE, "shape[1] is 0", DLPARK_U8, 2, (int64_t[]){4, 0}, NULL);
    assert_refused(DLPARK_E_SHAPE, "shape[2] is 0", DLPARK_U8, 3, (int64_t[]){4, 5, 0}, NULL);
    assert_refused(DLPARK_E_SHAPE, "shape[0] is 10000001, and libvips takes 1 to 10000000", DLPARK_U8, 2,
                   (int64_t[]){10000001, 1}, (int64_t[]){0, 1});
    assert_refused(DLPARK_E_SHAPE, "shape[2] is 4294967299", DLPARK_U8, 3, (int64_t[]){1, 1, INT64_C(4294967299)},
                   (int64_t[]){0, 0, 0});
}

static void other_memory_is_refused(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL, *there = make_image(VIPS_FORMAT_UCHAR, 5, 4, 1);
    dlpark_tensor_desc desc = {
        .data = pixels + 1, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){4, 5})};

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty", dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is NULL", dlpark_vips_export(&image, NULL, DLPARK_VIPS_GUESS, e));
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_ALIGNMENT, "1 bytes past a multiple of 4",
                 dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    assert_fails(DLPARK_E_ARGUMENT, "the image is NULL", dlpark_vips_export(NULL, &tensor, DLPARK_VIPS_GUESS, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_vips_export(&there, &tensor, DLPARK_VIPS_GUESS, e));
    dlpark_tensor_release(&tensor);
    g_object_unref(there);
    desc.data = pixels + 8; /* of halves of eight bytes */
    desc.dtype = DLPARK_C128;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    assert_ptr_equal(vips_image_get_data(image), pixels + 8);
    g_clear_object(&image);
    desc.data = pixels + 4;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_ALIGNMENT, "4 bytes past a multiple of 8",
                 dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    dlpark_tensor_release(&tensor);
    desc.device = (DLDevice){kDLCUDA, 1};
    desc.data = pixels;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "cuda:1", dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    passage_report("vips", PASSAGE_OUT, DLPARK_C128, "on a device", DLPARK_E_DEVICE);
    dlpark_tensor_release(&tensor);
}

/* ---- What is not in memory ---- */

static void what_is_not_computed_yet_is_refused_or_computed(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *source = make_image(VIPS_FORMAT_UCHAR, 5, 4, 3), *lazy = invert(source);
    dlpark_view view;

    (void)state;
    memset(pixels, 200, 60);
    assert_fails(DLPARK_E_DATA, "5 x 4 pixels of 3 bands would have to be computed", dlpark_vips_view(&view, lazy, e));
    assert_fails(DLPARK_E_DATA, "dlpark_vips_import()", dlpark_vips_share(&tensor, lazy, NULL, e));
    passage_report("vips", PASSAGE_IN, DLPARK_U8, "not computed yet", DLPARK_E_DATA);
    assert_true(vips_image_ispartial(lazy)); /* nobody computed it in place */
    VipsImage *mine = g_object_ref(lazy);
    assert_ok(dlpark_vips_import(&tensor, &lazy, &view, e));
    assert_null(lazy);
    assert_true(vips_image_ispartial(mine));
    assert_shape(&view, 4, 5, 3);
    assert_int_equal(view.flags, 0); /* nobody else has the result */
    const uint8_t *values = DLPARK_CPU(uint8_t, &view, NULL);
    for (int i = 0; i < 60; i++)
        assert_int_equal(values[i], 55);
    dlpark_tensor_release(&tensor);
    g_object_unref(mine);
    g_object_unref(source);
}

static void what_cannot_be_computed_stays_the_callers(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = vips_image_new(), *before = image; /* nothing says how to make its pixels */

    (void)state;
    vips_error_clear();
    assert_fails(DLPARK_E_FOREIGN, "libvips cannot compute the image: ", dlpark_vips_import(&tensor, &image, NULL, e));
    assert_string_equal(vips_error_buffer(), "");
    dlpark_error err;
    assert_int_equal(dlpark_vips_import(&tensor, &image, NULL, &err), DLPARK_E_FOREIGN);
    assert_null(strchr(err.message, '\n')); /* libvips ends with one */
    assert_ptr_equal(image, before);
    assert_int_equal(references(image), 1);
    g_object_unref(image);
    /* Computed, but no room for the tensor. */
    VipsImage *source = make_image(VIPS_FORMAT_UCHAR, 5, 4, 3);
    image = invert(source);
    unsigned held = references(image);
    failing_alloc_arm_from(1);
    dlpark_status status = dlpark_vips_import(&tensor, &image, NULL, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    assert_null(tensor.managed);
    assert_int_equal(references(image), held);
    g_object_unref(image);
    g_object_unref(source);
}

static void files_are_mapped_or_read(void **state)
{
    static const unsigned char contents[120] = {[119] = 7}; /* libvips maps no less than 64 bytes */
    char *path = NULL;
    int file = g_file_open_tmp("dlpark-XXXXXX", &path, NULL);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(write(file, contents, sizeof contents), sizeof contents);
    close(file);
    VipsImage *image = vips_image_new_from_file_raw(path, 5, 4, 6, 0), *mapped = g_object_ref(image);
    assert_fails(DLPARK_E_DATA, "would have to be read from its file", dlpark_vips_view(&view, image, e));
    assert_ok(dlpark_vips_import(&tensor, &image, &view, e));
    assert_int_equal(((const uint8_t *)view.data)[119], 7);
    assert_int_equal(view.flags, 0);
    dlpark_tensor_release(&tensor);
    /* libvips maps the whole file where it is asked for its data. */
    const void *data = vips_image_get_data(mapped);
    assert_ok(dlpark_vips_view(&view, mapped, e));
    assert_ptr_equal(view.data, data);
    assert_ok(dlpark_vips_import(&tensor, &mapped, &view, e));
    assert_ptr_equal(view.data, data);
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    assert_int_equal(((const uint8_t *)view.data)[119], 7);
    passage_report("vips", PASSAGE_IN, DLPARK_U8, "mapped file", DLPARK_OK);
    dlpark_tensor_release(&tensor);
    unlink(path);
    g_free(path);
}

/* A photograph, decoded as it is taken, goes back and is the same picture. */
static void a_photograph_is_decoded_on_import(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = vips_image_new_from_file(DLPARK_PAGES "/../snippets/data/photo.jpg", NULL);
    dlpark_view view;

    (void)state;
    assert_non_null(image);
    double expected = average(image);
    int height = vips_image_get_height(image), width = vips_image_get_width(image);
    assert_true(expected > 1.0 && expected < 254.0);
    assert_fails(DLPARK_E_DATA, "would have to be computed", dlpark_vips_view(&view, image, e));
    assert_ok(dlpark_vips_import(&tensor, &image, &view, e));
    assert_shape(&view, height, width, 3);
    assert_ok(dlpark_vips_export(&image, &tensor, VIPS_INTERPRETATION_sRGB, e));
    assert_ptr_equal(vips_image_get_data(image), view.data);
    assert_true(average(image) == expected);
    g_object_unref(image);
}

/* ---- The cache of operations ---- */

static VipsImage *export_row(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL;

    memset(pixels, 0, 60);
    make_tensor(&tensor, DLPARK_U8, 3, (int64_t[]){4, 5, 3}, NULL);
    assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
    return image;
}

/* The first trap. */
static void the_cache_keeps_the_tensor(void **state)
{
    (void)state;
    VipsImage *image = export_row(), *inverted = invert(image);
    assert_true(average(inverted) == 255.0);
    g_object_unref(inverted);
    g_object_unref(image);
    assert_int_equal(ended, 0);
    vips_cache_set_max(0);
    assert_int_equal(ended, 1);
    /* Without a cache the last reference is the end. */
    image = export_row();
    inverted = invert(image);
    g_object_unref(image);
    assert_true(average(inverted) == 255.0);
    assert_int_equal(ended, 0); /* what reads it holds it */
    g_object_unref(inverted);
    assert_int_equal(ended, 1);
    vips_cache_set_max(100);
}

/* The second trap. */
static void the_cache_does_not_see_writes(void **state)
{
    (void)state;
    VipsImage *image = export_row();
    assert_true(average(image) == 0.0);
    pixels[0] = 60;
    assert_true(average(image) == 0.0);
    vips_image_invalidate_all(image);
    assert_true(average(image) == 1.0);
    g_object_unref(image);
    vips_cache_set_max(0);
    assert_int_equal(ended, 1);
    /* Without a cache they are seen. */
    image = export_row();
    assert_true(average(image) == 0.0);
    pixels[0] = 60;
    assert_true(average(image) == 1.0);
    g_object_unref(image);
    assert_int_equal(ended, 1);
    vips_cache_set_max(100);
}

/* The third trap is vips_cache_drop_all(), after which operations crash: all that is here works without, many times. */
static void the_cache_is_emptied_and_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        VipsImage *image = export_row();
        assert_true(average(image) == 0.0);
        assert_true(vips_cache_get_size() > 0);
        g_object_unref(image);
        assert_int_equal(ended, 0);
        vips_cache_set_max(0);
        vips_cache_set_max(100);
        assert_int_equal(ended, 1);
        assert_int_equal(vips_cache_get_size(), 0);
    }
}

/* An operation that is cached refers to the tensor of a share, too. */
static void a_share_of_a_result_keeps_what_it_needs(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    VipsImage *image = export_row(), *inverted = invert(image);
    VipsImage *result = vips_image_copy_memory(inverted);
    assert_non_null(result);
    assert_ok(dlpark_vips_share(&tensor, result, &view, e));
    g_object_unref(image);
    g_object_unref(inverted);
    g_object_unref(result);
    vips_cache_set_max(0);
    vips_cache_set_max(100);
    assert_int_equal(ended, 1);
    assert_int_equal(((const uint8_t *)view.data)[59], 255);
    dlpark_tensor_release(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_of_a_band_is_an_image),
        cmocka_unit_test(libvips_reads_the_numbers),
        cmocka_unit_test(the_interpretation_is_what_was_asked_for),
        cmocka_unit_test(what_would_have_to_be_copied_is_refused),
        cmocka_unit_test(rows_from_below_are_refused),
        cmocka_unit_test(dtypes_without_a_format_are_refused),
        cmocka_unit_test(what_is_no_image_is_refused),
        cmocka_unit_test(other_memory_is_refused),
        cmocka_unit_test(what_is_not_computed_yet_is_refused_or_computed),
        cmocka_unit_test(what_cannot_be_computed_stays_the_callers),
        cmocka_unit_test(files_are_mapped_or_read),
        cmocka_unit_test(a_photograph_is_decoded_on_import),
        cmocka_unit_test(the_cache_keeps_the_tensor),
        cmocka_unit_test(the_cache_does_not_see_writes),
        cmocka_unit_test(the_cache_is_emptied_and_goes_on),
        cmocka_unit_test(a_share_of_a_result_keeps_what_it_needs),
    };

    return cmocka_run_group_tests(tests, begin_libvips, end_libvips);
}
