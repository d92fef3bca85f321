/* Tensors out of dlpark as Arrow arrays, read back by hand and by dlpark itself. */
#include <pthread.h>
#include <stdlib.h>

#include "arrow_made.h"

#include "failing_alloc.h"
#include "passage.h"

#include <dlpark/transform.h>

static int ended;

static void count_end(void *owner)
{
    (void)owner;
    ended++;
}

static void make_tensor(dlpark_tensor *tensor, DLDataType dtype, int32_t ndim, const int64_t *shape,
                        const int64_t *strides)
{
    const dlpark_tensor_desc desc = {.data_const = numbers,
                                     .dtype = dtype,
                                     .ndim = ndim,
                                     .shape = DLPARK_DIMS(shape),
                                     .strides = strides ? DLPARK_DIMS(strides) : (dlpark_dims){NULL, 0, 0},
                                     .release = count_end};

    ended = 0;
    assert_ok(dlpark_tensor_new(tensor, &desc, NULL, e));
}

/* The value of a key of metadata with two pairs. */
static void assert_extension(const char *metadata, const char *name, const char *says)
{
    char expected[512];

    make_metadata(expected, 2, (const char *const[]){"ARROW:extension:name", name, "ARROW:extension:metadata", says});
    size_t nbytes =
        4 + 16 + strlen("ARROW:extension:name") + strlen(name) + strlen("ARROW:extension:metadata") + strlen(says);
    assert_memory_equal(metadata, expected, nbytes);
}

static void rank_1_is_a_primitive_array(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLAIN_COUNT; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        struct ArrowSchema schema;
        struct ArrowArray array;
        make_tensor(&tensor, plain[i].dtype, 1, (int64_t[]){3}, NULL);
        assert_ok(dlpark_arrow_export(&schema, &array, &tensor, e));
        assert_null(tensor.managed);
        assert_string_equal(schema.format, plain[i].format);
        assert_string_equal(schema.name, "");
        assert_null(schema.metadata);
        assert_int_equal(schema.flags | schema.n_children, 0);
        assert_null(schema.dictionary);
        assert_int_equal(array.length, 3);
        assert_int_equal(array.null_count | array.offset | array.n_children, 0);
        assert_int_equal(array.n_buffers, 2);
        assert_null(array.buffers[0]);
        assert_ptr_equal(array.buffers[1], numbers);
        schema.release(&schema);
        assert_null(schema.release);
        assert_int_equal(ended, 0);
        array.release(&array);
        assert_null(array.release);
        assert_int_equal(ended, 1);
        passage_report("arrow", PASSAGE_OUT, plain[i].dtype, "rank 1", DLPARK_OK);
    }
}

static void bool_is_the_extension_bool8(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema;
    struct ArrowArray array;

    (void)state;
    make_tensor(&tensor, DLPARK_BOOL, 1, (int64_t[]){4}, NULL);
    assert_ok(dlpark_arrow_export(&schema, &array, &tensor, e));
    assert_string_equal(schema.format, "c");
    assert_extension(schema.metadata, "arrow.bool8", "");
    schema.release(&schema);
    array.release(&array);
    assert_int_equal(ended, 1);
    passage_report("arrow", PASSAGE_OUT, DLPARK_BOOL, "rank 1", DLPARK_OK);
    make_tensor(&tensor, DLPARK_BOOL, 2, (int64_t[]){2, 4}, NULL);
    assert_fails(DLPARK_E_RANK, "the rank is 2", dlpark_arrow_export(&schema, &array, &tensor, e));
    passage_report("arrow", PASSAGE_OUT, DLPARK_BOOL, "fixed_shape_tensor", DLPARK_E_RANK);
    dlpark_tensor_release(&tensor);
}

/* One row of the table below, given out, read by hand, and taken back. */
static void check_tensor(int32_t ndim, const int64_t *shape, const int64_t *strides, const char *format,
                         const char *says)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema;
    struct ArrowArray array;
    dlpark_view before, after;

    make_tensor(&tensor, DLPARK_F32, ndim, shape, strides);
    dlpark_tensor_view(&tensor, &before);
    assert_ok(dlpark_arrow_export(&schema, &array, &tensor, e));
    assert_string_equal(schema.format, format);
    assert_extension(schema.metadata, "arrow.fixed_shape_tensor", says);
    assert_int_equal(schema.n_children, 1);
    assert_string_equal(schema.children[0]->format, "f");
    assert_string_equal(schema.children[0]->name, "item");
    assert_int_equal(array.length, shape[0]);
    assert_int_equal(array.n_buffers, 1);
    assert_null(array.buffers[0]);
    assert_int_equal(array.n_children, 1);
    assert_int_equal(array.children[0]->length, dlpark_view_numel(&before));
    assert_ok(dlpark_arrow_import(&tensor, &schema, &array, &after, e));
    assert_int_equal(after.ndim, before.ndim);
    assert_ptr_equal(after.data, before.data);
    for (int32_t i = 0; i < ndim; i++) {
        assert_int_equal(after.shape[i], before.shape[i]);
        if (dlpark_view_numel(&before) && before.shape[i] > 1)
            assert_int_equal(after.strides[i], before.strides[i]);
    }
    schema.release(&schema);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

static void higher_ranks_are_tensors_in_any_order(void **state)
{
    (void)state;
    check_tensor(2, (int64_t[]){2, 3}, NULL, "+w:3", "{\"shape\":[3]}");
    check_tensor(3, (int64_t[]){2, 3, 4}, NULL, "+w:12", "{\"shape\":[3,4]}");
    passage_report("arrow", PASSAGE_OUT, DLPARK_F32, "fixed_shape_tensor", DLPARK_OK);
    check_tensor(3, (int64_t[]){2, 3, 4}, (int64_t[]){12, 1, 3}, "+w:12", "{\"shape\":[4,3],\"permutation\":[1,0]}");
    check_tensor(4, (int64_t[]){2, 2, 3, 2}, (int64_t[]){12, 3, 1, 6}, "+w:12",
                 "{\"shape\":[2,2,3],\"permutation\":[1,2,0]}");
    /* A dimension of one element lies where it stands, whatever its stride says. */
    check_tensor(4, (int64_t[]){2, 3, 1, 4}, (int64_t[]){12, 1, 777, 3}, "+w:12",
                 "{\"shape\":[4,1,3],\"permutation\":[2,1,0]}");
    check_tensor(3, (int64_t[]){1, 3, 4}, (int64_t[]){-5, 4, 1}, "+w:12", "{\"shape\":[3,4]}");
    check_tensor(3, (int64_t[]){2, 0, 4}, NULL, "+w:0", "{\"shape\":[0,4]}");
    check_tensor(3, (int64_t[]){0, 3, 4}, NULL, "+w:12", "{\"shape\":[3,4]}");
    check_tensor(2, (int64_t[]){0, 0}, NULL, "+w:0", "{\"shape\":[0]}");
}

static void sixty_four_dimensions_pass(void **state)
{
    int64_t shape[64];
    char says[1024] = "{\"shape\":[";

    (void)state;
    for (int i = 0; i < 64; i++) {
        shape[i] = i == 63 ? 24 : 1;
        if (i)
            strcat(says, i == 63 ? "24]}" : "1,");
    }
    check_tensor(64, shape, NULL, "+w:24", says);
}

static void what_would_have_to_be_copied_is_refused(void **state)
{
    static const struct {
        int32_t ndim;
        int64_t shape[3], strides[3];
        const char *says;
    } rows[] = {
        {1, {3}, {2}, "strides[0] is 2 where Arrow needs 1"},
        {1, {3}, {-1}, "strides[0] is -1 where Arrow needs 1"},
        {1, {3}, {0}, "strides[0] is 0 where Arrow needs 1"},
        {2, {3, 2}, {1, 3}, "strides[0] is 1 where Arrow needs 2"},
        {2, {3, 2}, {4, 1}, "strides[0] is 4 where Arrow needs 2"},
        {2, {2, 3}, {3, 0}, "strides[1] is 0 where Arrow needs 1"},
        {3, {2, 2, 2}, {4, -2, 1}, "strides[1] is -2"},
        {3, {2, 2, 2}, {4, 3, 1}, "strides[1] is 3 where Arrow needs 2"},
    };
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema;
    struct ArrowArray array;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t back = 0;
        for (int32_t d = 0; d < rows[i].ndim; d++)
            back -= rows[i].strides[d] < 0 ? (rows[i].shape[d] - 1) * rows[i].strides[d] : 0;
        const dlpark_tensor_desc desc = {.data_const = numbers + back,
                                         .dtype = DLPARK_F32,
                                         .ndim = rows[i].ndim,
                                         .shape = DLPARK_DIMS(rows[i].shape),
                                         .strides = DLPARK_DIMS(rows[i].strides)};
        assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
        assert_fails(DLPARK_E_LAYOUT, rows[i].says, dlpark_arrow_export(&schema, &array, &tensor, e));
        assert_non_null(tensor.managed);
        dlpark_tensor_release(&tensor);
    }
    passage_report("arrow", PASSAGE_OUT, DLPARK_F32, "gaps, negative or zero strides", DLPARK_E_LAYOUT);
}

static void what_arrow_cannot_say_is_refused(void **state)
{
    static const DLDataType dtypes[] = {
        {kDLComplex, 64, 1}, {kDLBfloat, 16, 1}, {kDLFloat8_e5m2, 8, 1}, {kDLInt, 4, 1}, {kDLFloat, 32, 2}};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema;
    struct ArrowArray array;

    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        make_tensor(&tensor, dtypes[i], 1, (int64_t[]){2}, NULL);
        assert_fails(DLPARK_E_DTYPE, dlpark_dtype_name(dtypes[i]).text,
                     dlpark_arrow_export(&schema, &array, &tensor, e));
        passage_report("arrow", PASSAGE_OUT, dtypes[i], "rank 1", DLPARK_E_DTYPE);
        dlpark_tensor_release(&tensor);
    }
    make_tensor(&tensor, DLPARK_F32, 0, NULL, NULL);
    assert_fails(DLPARK_E_RANK, "dlpark_view_expand_dims", dlpark_arrow_export(&schema, &array, &tensor, e));
    passage_report("arrow", PASSAGE_OUT, DLPARK_F32, "rank 0", DLPARK_E_RANK);
    dlpark_tensor_release(&tensor);
    assert_fails(DLPARK_E_ARGUMENT, "empty", dlpark_arrow_export(&schema, &array, &tensor, e));
}

/* Without elements, as nobody has memory for the others. */
static void rows_have_as_many_elements_as_a_list(void **state)
{
    static const struct {
        int64_t shape[4];
        const char *says;
    } rows[] = {
        {{0, INT64_C(3037000500), INT64_C(3037000500), 1}, "3037000500"},
        {{0, 1 << 20, 1 << 12, 1}, "a row has 4294967296 elements, and a list of Arrow at most 2147483647"},
        {{0, INT32_MAX, 1, 1}, NULL},
        {{2, 0, INT64_C(1) << 40, INT64_C(1) << 40}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        struct ArrowSchema schema;
        struct ArrowArray array;
        dlpark_view view;
        make_tensor(&tensor, DLPARK_F32, 4, rows[i].shape, NULL);
        if (rows[i].says) {
            assert_fails(DLPARK_E_OVERFLOW, rows[i].says, dlpark_arrow_export(&schema, &array, &tensor, e));
            dlpark_tensor_release(&tensor);
            continue;
        }
        assert_ok(dlpark_arrow_export(&schema, &array, &tensor, e));
        assert_ok(dlpark_arrow_view(&view, &schema, &array, e));
        assert_memory_equal(view.shape, rows[i].shape, sizeof rows[i].shape);
        assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
        schema.release(&schema);
        array.release(&array);
    }
}

static void other_devices_are_said(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
    dlpark_tensor_desc desc = {.data_const = numbers,
                               .dtype = DLPARK_F32,
                               .device = {kDLCUDA, 3},
                               .ndim = 1,
                               .shape = DLPARK_DIMS((int64_t[]){3})};

    (void)state;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "cuda:3", dlpark_arrow_export(&schema, &array.array, &tensor, e));
    memset(&array, 0x5A, sizeof array);
    assert_ok(dlpark_arrow_export_device(&schema, &array, &tensor, e));
    assert_int_equal(array.device_type, kDLCUDA);
    assert_int_equal(array.device_id, 3);
    assert_null(array.sync_event);
    for (int i = 0; i < 3; i++)
        assert_int_equal(array.reserved[i], 0);
    schema.release(&schema);
    array.array.release(&array.array);
    desc.device = (DLDevice){kDLCPU, 0};
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ok(dlpark_arrow_export_device(&schema, &array, &tensor, e));
    assert_int_equal(array.device_id, -1);
    schema.release(&schema);
    array.array.release(&array.array);
    desc.device = (DLDevice){kDLVulkan, 0};
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "handles", dlpark_arrow_export_device(&schema, &array, &tensor, e));
    dlpark_tensor_release(&tensor);
}

/* What a consumer may do by Arrow's rules: move the children out, and release in any order. */
static void children_may_be_moved_out(void **state)
{
    (void)state;
    for (int parent_first = 0; parent_first < 2; parent_first++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        struct ArrowSchema schema, child_schema;
        struct ArrowArray array, child;
        make_tensor(&tensor, DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);
        assert_ok(dlpark_arrow_export(&schema, &array, &tensor, e));
        child = *array.children[0];
        array.children[0]->release = NULL;
        child_schema = *schema.children[0];
        schema.children[0]->release = NULL;
        if (parent_first) {
            array.release(&array);
            schema.release(&schema);
        } else {
            child.release(&child);
            child_schema.release(&child_schema);
        }
        assert_int_equal(ended, 0);
        if (parent_first) {
            assert_ptr_equal(child.buffers[1], numbers);
            assert_string_equal(child_schema.format, "f");
            child.release(&child);
            child_schema.release(&child_schema);
        } else {
            assert_int_equal(array.length, 2);
            array.release(&array);
            schema.release(&schema);
        }
        assert_int_equal(ended, 1);
    }
}

static void without_memory_nothing_changes(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema = {.format = "untouched"};
    struct ArrowArray array = {.length = -77};
    long live;

    (void)state;
    make_tensor(&tensor, DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);
    live = failing_alloc_live();
    for (long nth = 1; nth <= 2; nth++) {
        failing_alloc_arm(nth);
        dlpark_status status = dlpark_arrow_export(&schema, &array, &tensor, NULL);
        failing_alloc_arm(0);
        assert_int_equal(status, DLPARK_E_MEMORY);
        assert_string_equal(schema.format, "untouched");
        assert_int_equal(array.length, -77);
        assert_non_null(tensor.managed);
        assert_int_equal(failing_alloc_live(), live);
    }
    failing_alloc_arm(3);
    assert_ok(dlpark_arrow_export(&schema, &array, &tensor, e));
    failing_alloc_arm(0);
    schema.release(&schema);
    array.release(&array);
    assert_int_equal(ended, 1);
}

static void *release_there(void *argument)
{
    struct ArrowArray *array = argument;

    array->release(array);
    return NULL;
}

static void another_thread_may_release(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        struct ArrowSchema schema;
        struct ArrowArray array, child;
        pthread_t thread;
        make_tensor(&tensor, DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);
        assert_ok(dlpark_arrow_export(&schema, &array, &tensor, e));
        child = *array.children[0];
        array.children[0]->release = NULL;
        assert_int_equal(pthread_create(&thread, NULL, release_there, &array), 0);
        child.release(&child);
        assert_int_equal(pthread_join(thread, NULL), 0);
        schema.release(&schema);
        assert_int_equal(ended, 1);
    }
}

static void round_trips_leave_nothing_behind(void **state)
{
    long live = failing_alloc_live();
    int64_t shape[] = {2, 3, 4};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct ArrowSchema schema;
        struct ArrowArray array;
        dlpark_view view;
        make_tensor(&tensor, DLPARK_F32, 3, shape, NULL);
        assert_int_equal(dlpark_arrow_export(&schema, &array, &tensor, NULL), DLPARK_OK);
        assert_int_equal(dlpark_arrow_import(&tensor, &schema, &array, &view, NULL), DLPARK_OK);
        assert_ptr_equal(view.data, numbers);
        schema.release(&schema);
        dlpark_tensor_release(&tensor);
        assert_int_equal(ended, 1);
    }
    assert_int_equal(failing_alloc_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_1_is_a_primitive_array),
        cmocka_unit_test(bool_is_the_extension_bool8),
        cmocka_unit_test(higher_ranks_are_tensors_in_any_order),
        cmocka_unit_test(sixty_four_dimensions_pass),
        cmocka_unit_test(what_would_have_to_be_copied_is_refused),
        cmocka_unit_test(what_arrow_cannot_say_is_refused),
        cmocka_unit_test(rows_have_as_many_elements_as_a_list),
        cmocka_unit_test(other_devices_are_said),
        cmocka_unit_test(children_may_be_moved_out),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(another_thread_may_release),
        cmocka_unit_test(round_trips_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
