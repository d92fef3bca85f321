/* Images of libvips into dlpark. Nothing is computed here: the thread sanitizer cannot look into libvips. */
#include "vips_made.h"

#include <malloc.h>
#include <pthread.h>

static void every_format_is_a_view(void **state)
{
    (void)state;
    for (size_t i = 0; i < BANDS_COUNT; i++)
        for (int count = 1; count <= 7; count += 2) {
            VipsImage *image = make_image(bands[i].format, 5, 4, count);
            dlpark_view view;
            assert_ok(dlpark_vips_view(&view, image, e));
            assert_shape(&view, 4, 5, count);
            assert_true(dlpark_dtype_equal(view.dtype, bands[i].dtype));
            assert_int_equal(dlpark_view_nbytes(&view), 4 * line_nbytes(image));
            assert_ptr_equal(view.data, pixels);
            assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
            assert_int_equal(references(image), 1);
            passage_report("vips", PASSAGE_IN, view.dtype, count == 1 ? "one band" : "interleaved bands", DLPARK_OK);
            g_object_unref(image);
        }
}

static void the_interpretation_changes_nothing(void **state)
{
    static const VipsInterpretation all[] = {VIPS_INTERPRETATION_MULTIBAND, VIPS_INTERPRETATION_LAB,
                                             VIPS_INTERPRETATION_CMYK, VIPS_INTERPRETATION_FOURIER};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        VipsImage *image = make_image(VIPS_FORMAT_FLOAT, 5, 4, 4);
        dlpark_view view;
        vips_image_init_fields(image, 5, 4, 4, VIPS_FORMAT_FLOAT, VIPS_CODING_NONE, all[i], 1, 1);
        assert_ok(dlpark_vips_view(&view, image, e));
        assert_shape(&view, 4, 5, 4);
        g_object_unref(image);
    }
}

static void a_share_adds_a_reference(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = make_image(VIPS_FORMAT_USHORT, 5, 4, 3);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_vips_share(&tensor, image, &view, e));
    assert_int_equal(references(image), 2);
    assert_shape(&view, 4, 5, 3);
    assert_ptr_equal(view.data, pixels);
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    assert_true(tensor.managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_vips_share(&tensor, image, &view, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_vips_import(&tensor, &image, &view, e));
    assert_int_equal(references(image), 2);
    dlpark_tensor_release(&tensor);
    assert_int_equal(references(image), 1);
    g_object_unref(image);
}

static void an_import_takes_the_reference(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = make_image(VIPS_FORMAT_FLOAT, 5, 4, 1), *mine = g_object_ref(image);
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_vips_import(&tensor, &image, &view, e));
    assert_null(image);
    assert_shape(&view, 4, 5, 1);
    assert_int_equal(references(mine), 2);
    dlpark_tensor_release(&tensor);
    assert_int_equal(references(mine), 1);
    g_object_unref(mine);
}

/* A memory image of libvips' own. */
static VipsImage *make_own(void)
{
    VipsImage *borrowed = make_image(VIPS_FORMAT_UCHAR, 5, 4, 3);
    VipsImage *own = vips_image_new_from_memory_copy(vips_image_get_data(borrowed), 60, 5, 4, 3, VIPS_FORMAT_UCHAR);

    g_object_unref(borrowed);
    assert_non_null(own);
    return own;
}

static void memory_that_nobody_else_sees_may_be_written(void **state)
{
    VipsImage *own = vips_image_new_matrixv(2, 2, 1.0, 2.0, 3.0, 4.0), *other;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_vips_import(&tensor, &own, &view, e));
    assert_int_equal(view.flags, 0);
    double *numbers = DLPARK_CPU_MUT(double, &view, NULL);
    assert_non_null(numbers);
    assert_true(numbers[3] == 4.0);
    numbers[3] = 5.0;
    dlpark_tensor_release(&tensor);
    /* Somebody else has a reference. */
    own = vips_image_new_matrixv(2, 2, 1.0, 2.0, 3.0, 4.0);
    other = g_object_ref(own);
    assert_ok(dlpark_vips_import(&tensor, &own, &view, e));
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    g_object_unref(other);
    dlpark_tensor_release(&tensor);
    /* Memory that libvips was lent as const, here by new_from_memory_copy() with a release of its own. */
    own = make_own();
    assert_ok(dlpark_vips_import(&tensor, &own, &view, e));
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    dlpark_tensor_release(&tensor);
}

static void our_own_memory_comes_back_as_it_went(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL, *other;
    dlpark_view view;

    (void)state;
    for (int read_only = 0; read_only < 2; read_only++)
        for (int shared = 0; shared < 2; shared++) {
            dlpark_tensor_desc desc = {.dtype = DLPARK_U8,
                                       .ndim = 2,
                                       .shape = DLPARK_DIMS((int64_t[]){4, 5}),
                                       .owner = pixels,
                                       .release = count_end};
            if (read_only)
                desc.data_const = pixels;
            else
                desc.data = pixels;
            atomic_store(&ended, 0);
            assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
            assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
            other = shared ? g_object_ref(image) : NULL;
            assert_ok(dlpark_vips_import(&tensor, &image, &view, e));
            assert_int_equal(view.flags, read_only || shared ? DLPARK_VIEW_READ_ONLY : 0);
            assert_ptr_equal(view.data, pixels);
            dlpark_tensor_release(&tensor);
            assert_int_equal(ended, !shared);
            if (other)
                g_object_unref(other);
            assert_int_equal(ended, 1);
        }
}

static void codings_are_refused(void **state)
{
    static const VipsCoding packed[] = {VIPS_CODING_LABQ, VIPS_CODING_RAD};
    static const char *const says[] = {"the coding 2 (labq)", "the coding 6 (rad)"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        VipsImage *image = make_image(VIPS_FORMAT_UCHAR, 5, 4, 4);
        dlpark_view view;
        vips_image_init_fields(image, 5, 4, 4, VIPS_FORMAT_UCHAR, packed[i], VIPS_INTERPRETATION_LABQ, 1, 1);
        assert_fails(DLPARK_E_DTYPE, says[i], dlpark_vips_view(&view, image, e));
        assert_fails(DLPARK_E_DTYPE, says[i], dlpark_vips_share(&tensor, image, NULL, e));
        assert_fails(DLPARK_E_DTYPE, "vips_image_decode()", dlpark_vips_import(&tensor, &image, NULL, e));
        assert_int_equal(references(image), 1);
        assert_null(tensor.managed);
        g_object_unref(image);
    }
    passage_report("vips", PASSAGE_IN, DLPARK_U8, "packed bands (LabQ, Radiance)", DLPARK_E_DTYPE);
}

static void images_that_are_none_are_refused(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL, *unset = vips_image_new(), *unwritten = vips_image_new_memory();
    dlpark_view view;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "the image is NULL", dlpark_vips_view(&view, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "the image is NULL", dlpark_vips_share(&tensor, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "the image is NULL", dlpark_vips_import(&tensor, &image, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "pointer to the image is NULL", dlpark_vips_import(&tensor, NULL, NULL, e));
    assert_fails(DLPARK_E_DATA, "not in memory", dlpark_vips_view(&view, unset, e));
    assert_fails(DLPARK_E_DATA, "not in memory", dlpark_vips_share(&tensor, unwritten, NULL, e));
    assert_fails(DLPARK_E_DATA, "NULL", dlpark_vips_import(&tensor, &unwritten, NULL, e));
    assert_int_equal(references(unwritten), 1);
    image = make_image(VIPS_FORMAT_UCHAR, 5, 4, 1);
    VipsBandFormat format = image->BandFmt;
    image->BandFmt = VIPS_FORMAT_NOTSET;
    assert_fails(DLPARK_E_DTYPE, "format -1", dlpark_vips_view(&view, image, e));
    image->BandFmt = (VipsBandFormat)77;
    assert_fails(DLPARK_E_DTYPE, "format 77", dlpark_vips_view(&view, image, e));
    image->BandFmt = format;
    image->Xsize = -5;
    assert_fails(DLPARK_E_SHAPE, "-5", dlpark_vips_view(&view, image, e));
    assert_fails(DLPARK_E_SHAPE, "-5", dlpark_vips_import(&tensor, &image, NULL, e));
    image->Xsize = 5;
    g_object_unref(image);
    g_object_unref(unset);
    g_object_unref(unwritten);
}

static void without_memory_nothing_changes(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = make_image(VIPS_FORMAT_UCHAR, 5, 4, 3), *before = image;
    dlpark_status status[2];

    (void)state;
    failing_alloc_arm_from(1);
    status[0] = dlpark_vips_share(&tensor, image, NULL, NULL);
    assert_int_equal(failing_alloc_count(), 2); /* the tensor, asked for twice, and there is no other of ours */
    failing_alloc_arm_from(1);
    status[1] = dlpark_vips_import(&tensor, &image, NULL, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status[0], DLPARK_E_MEMORY);
    assert_int_equal(status[1], DLPARK_E_MEMORY);
    assert_null(tensor.managed);
    assert_ptr_equal(image, before);
    assert_int_equal(references(image), 1);
    g_object_unref(image);
    /* A tensor goes out without an allocation of ours. */
    make_tensor(&tensor, DLPARK_U8, 2, (int64_t[]){4, 5}, NULL);
    image = NULL;
    failing_alloc_arm_from(1);
    status[0] = dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status[0], DLPARK_OK);
    g_object_unref(image);
    assert_int_equal(ended, 1);
}

static void whoever_is_last_ends_it(void **state)
{
    (void)state;
    for (int image_first = 0; image_first < 2; image_first++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        VipsImage *image = NULL;
        make_tensor(&tensor, DLPARK_F32, 3, (int64_t[]){4, 5, 3}, NULL);
        assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
        assert_ok(dlpark_vips_share(&tensor, image, NULL, e));
        if (image_first)
            g_object_unref(image);
        else
            dlpark_tensor_release(&tensor);
        assert_int_equal(ended, 0);
        if (image_first)
            dlpark_tensor_release(&tensor);
        else
            g_object_unref(image);
        assert_int_equal(ended, 1);
    }
}

static void *release_there(void *context)
{
    dlpark_tensor *tensor = context;

    dlpark_tensor_release(tensor);
    return NULL;
}

static void *unref_there(void *context)
{
    g_object_unref(context);
    return NULL;
}

static void another_thread_may_release(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        VipsImage *image = NULL;
        pthread_t threads[2];
        make_tensor(&tensor, DLPARK_F32, 3, (int64_t[]){4, 5, 3}, NULL);
        assert_ok(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, e));
        assert_ok(dlpark_vips_share(&tensor, image, NULL, e));
        assert_int_equal(pthread_create(&threads[0], NULL, release_there, &tensor), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, unref_there, image), 0);
        assert_int_equal(pthread_join(threads[0], NULL), 0);
        assert_int_equal(pthread_join(threads[1], NULL), 0);
        assert_int_equal(ended, 1);
    }
}

static void round_trips_leave_nothing_behind(void **state)
{
    long live = failing_alloc_live();
    size_t used = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        VipsImage *image = NULL;
        dlpark_view view;
        if (i == 1000)
            used = mallinfo2().uordblks;
        make_tensor(&tensor, DLPARK_U8, 3, (int64_t[]){4, 5, 3}, NULL);
        assert_int_equal(dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, NULL), DLPARK_OK);
        assert_int_equal(dlpark_vips_import(&tensor, &image, &view, NULL), DLPARK_OK);
        assert_ptr_equal(view.data, pixels);
        dlpark_tensor_release(&tensor);
        assert_int_equal(ended, 1);
    }
    assert_int_equal(failing_alloc_live(), live);
    assert_true(mallinfo2().uordblks <= used + 4096); /* of all allocations, libvips' too; 0 under a sanitizer */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_a_view),
        cmocka_unit_test(the_interpretation_changes_nothing),
        cmocka_unit_test(a_share_adds_a_reference),
        cmocka_unit_test(an_import_takes_the_reference),
        cmocka_unit_test(memory_that_nobody_else_sees_may_be_written),
        cmocka_unit_test(our_own_memory_comes_back_as_it_went),
        cmocka_unit_test(codings_are_refused),
        cmocka_unit_test(images_that_are_none_are_refused),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(whoever_is_last_ends_it),
        cmocka_unit_test(another_thread_may_release),
        cmocka_unit_test(round_trips_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, begin_libvips, end_libvips);
}
