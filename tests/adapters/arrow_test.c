/* Arrow arrays into dlpark. */
#include "arrow_made.h"

#include "failing_alloc.h"
#include "passage.h"

static void primitive_arrays_are_views(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLAIN_COUNT; i++) {
        made producer;
        dlpark_view view;
        make_flat(&producer, plain[i].format, 3, numbers);
        assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
        assert_shape(&view, 1, (int64_t[]){3}, (int64_t[]){1});
        assert_true(dlpark_dtype_equal(view.dtype, plain[i].dtype));
        assert_ptr_equal(view.data, numbers);
        assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
        assert_int_equal(producer.released, 0);
        passage_report("arrow", PASSAGE_IN, view.dtype, "rank 1", DLPARK_OK);
    }
}

static void an_offset_counts_elements(void **state)
{
    made producer;
    dlpark_view view;

    (void)state;
    make_flat(&producer, "f", 3, numbers);
    producer.array.offset = 5;
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_ptr_equal(view.data, numbers + 5);
    /* [[8, 9], [10, 11]] of lists of two: two lists past the start, and two numbers past the child's. */
    make_lists(&producer, "+w:2", 2, "f", 20, numbers);
    producer.array.offset = 3;
    producer.child_array[0].offset = 2;
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_shape(&view, 2, (int64_t[]){2, 2}, (int64_t[]){2, 1});
    assert_ptr_equal(view.data, numbers + 8);
}

static void lists_of_lists_are_dimensions(void **state)
{
    made producer;
    dlpark_view view;

    (void)state;
    make(&producer, 3, (const char *const[]){"+w:3", "+w:4", "f"}, (const int64_t[]){2, 6, 24}, numbers);
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_shape(&view, 3, (int64_t[]){2, 3, 4}, (int64_t[]){12, 4, 1});
    passage_report("arrow", PASSAGE_IN, view.dtype, "fixed_size_list", DLPARK_OK);
}

static void tensors_say_their_shape_and_order(void **state)
{
    made producer;
    dlpark_view view;
    char metadata[256];

    (void)state;
    make_tensors(&producer, metadata, "{\"shape\": [3, 4]}", "+w:12", 2, 24, numbers);
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_shape(&view, 3, (int64_t[]){2, 3, 4}, (int64_t[]){12, 4, 1});
    make_tensors(&producer, metadata,
                 "{\"dim_names\":[\"a]\\\"\",\"b\"],\"permutation\":[1,0],\"x\":{\"y\":[1,{}]},\"shape\":[3,4]}",
                 "+w:12", 2, 24, numbers);
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_shape(&view, 3, (int64_t[]){2, 4, 3}, (int64_t[]){12, 1, 4});
    passage_report("arrow", PASSAGE_IN, view.dtype, "fixed_shape_tensor", DLPARK_OK);
    make_tensors(&producer, metadata, "{ \"shape\" : [ ] , \"permutation\" : null }", "+w:1", 2, 2, numbers);
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_shape(&view, 1, (int64_t[]){2}, (int64_t[]){1});
}

static void bool8_is_bool(void **state)
{
    made producer;
    dlpark_view view;
    char metadata[256];

    (void)state;
    make_flat(&producer, "c", 4, "\1\0\1\1");
    make_metadata(metadata, 2,
                  (const char *const[]){"ARROW:extension:name", "arrow.bool8", "ARROW:extension:metadata", ""});
    producer.schema.metadata = metadata;
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_true(dlpark_dtype_equal(view.dtype, DLPARK_BOOL));
    passage_report("arrow", PASSAGE_IN, view.dtype, "rank 1", DLPARK_OK);
}

static void arrays_without_elements_need_no_data(void **state)
{
    made producer;
    dlpark_view view;

    (void)state;
    make_flat(&producer, "g", 0, NULL);
    producer.array.null_count = -1;
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_shape(&view, 1, (int64_t[]){0}, (int64_t[]){1});
    make_lists(&producer, "+w:0", 5, "f", 0, NULL);
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_int_equal(dlpark_view_numel(&view), 0);
    assert_int_equal(view.shape[0], 5);
}

static void nulls_that_are_not_meant_do_not_matter(void **state)
{
    made producer;
    dlpark_view view;

    (void)state;
    make_flat(&producer, "f", 3, numbers);
    producer.array.offset = 9; /* elements 9 to 11: bits 1 to 3 of the second byte */
    producer.array.null_count = -1;
    producer.buffers[0][0] = "\x00\x0E";
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    producer.buffers[0][0] = "\xFF\xFB";
    assert_fails(DLPARK_E_ARGUMENT, "element 1 is null",
                 dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    producer.array.null_count = 1;
    assert_fails(DLPARK_E_ARGUMENT, "element 1 is null",
                 dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    producer.array.null_count = 0;
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    /* A null within a list that no list means: the second of three numbers, lists of one from the third on. */
    make_lists(&producer, "+w:1", 1, "f", 3, numbers);
    producer.array.offset = 2;
    producer.child_array[0].null_count = 1;
    producer.buffers[1][0] = "\x05";
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    producer.array.offset = 1;
    assert_fails(DLPARK_E_ARGUMENT, "is null", dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
}

static void types_that_are_no_numbers_are_refused_by_name(void **state)
{
    static const struct {
        const char *format, *says;
    } rows[] = {
        {"b", "booleans as bits"},
        {"n", "nothing but nulls"},
        {"d:10,2", "decimal"},
        {"w:16", "binary data of a fixed"},
        {"z", "binary"},
        {"Z", "binary"},
        {"vu", "views of text"},
        {"u", "text"},
        {"U", "text"},
        {"tdD", "whose unit"},
        {"+l", "lists of any"},
        {"+L", "lists of any"},
        {"+vl", "views of lists"},
        {"+s", "structs"},
        {"+m", "maps"},
        {"+ud:0,1", "unions"},
        {"+r", "runs"},
        {"?", "of no type"},
        {"+w:x", "lists of a fixed"},
        {"+w:99999999999999999999", "lists of a fixed"},
        {"+w:2x", "lists of a fixed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        made producer;
        dlpark_view view;
        make_flat(&producer, rows[i].format, 3, numbers);
        assert_fails(DLPARK_E_DTYPE, rows[i].says, dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
        assert_fails(DLPARK_E_DTYPE, rows[i].format, dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    }
}

static void other_extensions_and_dictionaries_are_refused(void **state)
{
    made producer;
    dlpark_view view;
    char metadata[256];

    (void)state;
    make_metadata(metadata, 1, (const char *const[]){"ARROW:extension:name", "arrow.uuid"});
    make_flat(&producer, "c", 3, numbers);
    producer.schema.metadata = metadata;
    assert_fails(DLPARK_E_DTYPE, "arrow.uuid", dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    make_lists(&producer, "+w:2", 2, "f", 4, numbers);
    producer.schema.metadata = metadata;
    assert_fails(DLPARK_E_DTYPE, "lists are of the extension type \"arrow.uuid\"",
                 dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    make_metadata(metadata, 1, (const char *const[]){"ARROW:extension:name", "arrow.bool8"});
    make_flat(&producer, "s", 3, numbers); /* bool8 is stored in one byte */
    producer.schema.metadata = metadata;
    assert_fails(DLPARK_E_DTYPE, "arrow.bool8", dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    make_flat(&producer, "c", 3, numbers);
    producer.schema.dictionary = &producer.child_schema[0];
    assert_fails(DLPARK_E_DTYPE, "dictionary-encoded", dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
}

static void shapes_that_are_none_are_refused(void **state)
{
    static const char *const says[] = {
        "",
        "{",
        "{}",
        "[3,4]",
        "{\"shape\":[3,4]",
        "{\"shape\":[3,4],}",
        "{\"shape\":3}",
        "{\"shape\":[3,,4]}",
        "{\"shape\":[-3,4]}",
        "{\"shape\":[3 4]}",
        "{\"shape\":[3,4",
        "{\"shape\":[9999999999999999999,1]}",
        "{\"shap\":[3,4]}",
        "{\"shape\" [3,4]}",
        "{shape:[3,4]}",
        "{\"x\":\"",
        "{\"x\":[",
        "{\"x",
        "{\"x\\",
        "{\"shape\":[3,4],\"permutation\":[0]}",
        "{\"shape\":[3,4],\"permutation\":[0,0]}",
        "{\"shape\":[3,4],\"permutation\":[0,2]}",
        "{\"shape\":[3,4],\"permutation\":[0,1,2]}",
        "{\"shape\":[3.0,4]}",
    };
    made producer;
    dlpark_view view;
    char metadata[256];

    (void)state;
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        make_tensors(&producer, metadata, says[i], "+w:12", 2, 24, numbers);
        assert_fails(DLPARK_E_ARGUMENT, "do not say its shape",
                     dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    }
    make_tensors(&producer, metadata, "{\"shape\":[3,5]}", "+w:12", 2, 24, numbers);
    assert_fails(DLPARK_E_ARGUMENT, "15", dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    make_metadata(metadata, 1, (const char *const[]){"ARROW:extension:name", "arrow.fixed_shape_tensor"});
    assert_fails(DLPARK_E_ARGUMENT, "do not say", dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    /* A count below zero ends the search for an extension. */
    memcpy(metadata + 4, &(int32_t){-1}, 4);
    assert_ok(dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_shape(&view, 2, (int64_t[]){2, 12}, (int64_t[]){12, 1});
}

static void arrays_that_contradict_themselves_are_refused(void **state)
{
    made producer;
    dlpark_view view;

    (void)state;
#define BROKEN(says, ...)                                                                                              \
    do {                                                                                                               \
        make_lists(&producer, "+w:2", 3, "f", 6, numbers);                                                             \
        __VA_ARGS__;                                                                                                   \
        assert_fails(DLPARK_E_ARGUMENT, says, dlpark_arrow_view(&view, &producer.schema, &producer.array, e));         \
    } while (0)
    BROKEN("length is -1", producer.array.length = -1);
    BROKEN("offset is -2", producer.array.offset = -2);
    BROKEN("offset is 9223372036854775807", producer.array.offset = INT64_MAX);
    BROKEN("end before what its list needs, at 5", producer.child_array[0].length = 5);
    BROKEN("end before", producer.array.offset = 1);
    BROKEN("length is -6", producer.child_array[0].length = -6);
    BROKEN("an offset of -1", producer.child_array[0].offset = -1);
    BROKEN("past 63 bits", producer.array.length = INT64_MAX / 2 + 1);
    BROKEN("n_buffers is 2", producer.array.n_buffers = 2);
    BROKEN("n_buffers is 1", producer.array.buffers = NULL);
    BROKEN("n_buffers is 1", producer.child_array[0].n_buffers = 1);
    BROKEN("n_children of the array is 2", producer.array.n_children = 2);
    BROKEN("n_children of the array is 1", producer.array_children[0] = NULL);
    BROKEN("n_children of the array is 1", producer.array.children = NULL);
    BROKEN("n_children of the array is 1", producer.child_array[0].n_children = 1);
    BROKEN("n_children of the type is 0", producer.schema.n_children = 0);
    BROKEN("n_children of the type is 1", producer.schema_children[0] = NULL);
    BROKEN("n_children of the type is 1", producer.schema.children = NULL);
    BROKEN("there is no bitmap, and null_count is 2", producer.array.null_count = 2);
    BROKEN("there is no bitmap, and null_count is -7", producer.child_array[0].null_count = -7);
    BROKEN("has a dictionary, and its type none", producer.child_array[0].dictionary = &producer.array);
    BROKEN("child of the array of type \"+w:2\" is released", producer.child_array[0].release = NULL);
    BROKEN("child of the schema of type \"+w:2\" is released", producer.child_schema[0].release = NULL);
    BROKEN("child of the schema", producer.child_schema[0].format = NULL);
    BROKEN("schema is released", producer.schema.release = NULL);
    BROKEN("array is released", producer.array.release = NULL);
    make_flat(&producer, "f", 3, NULL);
    assert_fails(DLPARK_E_DATA, "NULL", dlpark_arrow_view(&view, &producer.schema, &producer.array, e));
    assert_fails(DLPARK_E_ARGUMENT, "schema is NULL", dlpark_arrow_view(&view, NULL, &producer.array, e));
    assert_fails(DLPARK_E_ARGUMENT, "array is NULL", dlpark_arrow_view(&view, &producer.schema, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "array is NULL",
                 dlpark_arrow_import_device(&(dlpark_tensor)DLPARK_TENSOR_EMPTY, &producer.schema, NULL, NULL, e));
}

/* Lists within lists, as deep as somebody likes. */
static void more_lists_than_dimensions_are_refused(void **state)
{
    enum { DEEP = 70 };
    static struct ArrowSchema schemas[DEEP], *schema_children[DEEP];
    static struct ArrowArray arrays[DEEP], *array_children[DEEP];
    static const void *buffers[2] = {NULL, numbers};
    dlpark_view view;

    (void)state;
    for (int i = 0; i < DEEP; i++) {
        bool leaf = i == DEEP - 1;
        schema_children[i] = leaf ? NULL : &schemas[i + 1];
        array_children[i] = leaf ? NULL : &arrays[i + 1];
        schemas[i] = (struct ArrowSchema){.format = leaf ? "f" : "+w:1",
                                          .n_children = !leaf,
                                          .children = &schema_children[i],
                                          .release = made_release_schema};
        arrays[i] = (struct ArrowArray){.length = 1,
                                        .n_buffers = leaf ? 2 : 1,
                                        .buffers = buffers,
                                        .n_children = !leaf,
                                        .children = &array_children[i],
                                        .release = made_release_array};
    }
    assert_fails(DLPARK_E_RANK, "64", dlpark_arrow_view(&view, &schemas[0], &arrays[0], e));
    assert_ok(dlpark_arrow_view(&view, &schemas[6], &arrays[6], e));
    assert_int_equal(view.ndim, 64);
}

static void an_import_moves_the_array(void **state)
{
    made producer;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    make_lists(&producer, "+w:2", 3, "f", 6, numbers);
    assert_ok(dlpark_arrow_import(&tensor, &producer.schema, &producer.array, &view, e));
    assert_null(producer.array.release);
    assert_non_null(producer.schema.release);
    assert_shape(&view, 2, (int64_t[]){3, 2}, (int64_t[]){2, 1});
    assert_ptr_equal(view.data, numbers);
    assert_true(tensor.managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_int_equal(producer.released, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(producer.released, 1);
}

static void a_failed_import_takes_nothing(void **state)
{
    made producer;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, full = DLPARK_TENSOR_EMPTY;

    (void)state;
    make_flat(&producer, "u", 3, numbers);
    assert_fails(DLPARK_E_DTYPE, "text", dlpark_arrow_import(&tensor, &producer.schema, &producer.array, NULL, e));
    make_flat(&producer, "f", 3, numbers);
    failing_alloc_arm(1);
    dlpark_status status = dlpark_arrow_import(&tensor, &producer.schema, &producer.array, NULL, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    assert_non_null(producer.array.release);
    assert_null(tensor.managed);
    assert_ok(dlpark_arrow_import(&full, &producer.schema, &producer.array, NULL, e));
    make_flat(&producer, "f", 3, numbers);
    assert_fails(DLPARK_E_NOT_EMPTY, "", dlpark_arrow_import(&full, &producer.schema, &producer.array, NULL, e));
    assert_non_null(producer.array.release);
    assert_int_equal(producer.released, 0);
    dlpark_tensor_release(&full);
}

static void devices_have_dlpacks_numbers(void **state)
{
    made producer;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    struct ArrowDeviceArray on;
    int event;

    (void)state;
    make_flat(&producer, "f", 3, numbers);
    on = (struct ArrowDeviceArray){
        .array = producer.array, .device_id = 2, .device_type = kDLCUDA, .sync_event = &event};
    assert_fails(DLPARK_E_DEVICE, "wait for the event",
                 dlpark_arrow_import_device(&tensor, &producer.schema, &on, &view, e));
    on.sync_event = NULL;
    on.device_type = 99;
    assert_fails(DLPARK_E_DEVICE, "99", dlpark_arrow_import_device(&tensor, &producer.schema, &on, &view, e));
    on.device_type = kDLCUDA;
    on.device_id = INT64_C(1) << 32;
    assert_fails(DLPARK_E_DEVICE, "4294967296", dlpark_arrow_import_device(&tensor, &producer.schema, &on, &view, e));
    on.device_id = -2;
    assert_fails(DLPARK_E_DEVICE, "-2", dlpark_arrow_import_device(&tensor, &producer.schema, &on, &view, e));
    on.device_id = 2;
    producer.buffers[0][0] = numbers;
    on.array.null_count = -1;
    assert_fails(DLPARK_E_ARGUMENT, "cannot read memory of cuda:2",
                 dlpark_arrow_import_device(&tensor, &producer.schema, &on, &view, e));
    on.array.null_count = 2;
    assert_fails(DLPARK_E_ARGUMENT, "2 of 3", dlpark_arrow_import_device(&tensor, &producer.schema, &on, &view, e));
    on.array.null_count = 0;
    assert_ok(dlpark_arrow_import_device(&tensor, &producer.schema, &on, &view, e));
    assert_int_equal(view.device.device_type, kDLCUDA);
    assert_int_equal(view.device.device_id, 2);
    dlpark_tensor_release(&tensor);
    assert_int_equal(producer.released, 1);
    make_flat(&producer, "f", 3, numbers);
    on = (struct ArrowDeviceArray){.array = producer.array, .device_id = -1, .device_type = kDLCPU};
    assert_ok(dlpark_arrow_import_device(&tensor, &producer.schema, &on, &view, e));
    assert_int_equal(view.device.device_id, 0);
    dlpark_tensor_release(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitive_arrays_are_views),
        cmocka_unit_test(an_offset_counts_elements),
        cmocka_unit_test(lists_of_lists_are_dimensions),
        cmocka_unit_test(tensors_say_their_shape_and_order),
        cmocka_unit_test(bool8_is_bool),
        cmocka_unit_test(arrays_without_elements_need_no_data),
        cmocka_unit_test(nulls_that_are_not_meant_do_not_matter),
        cmocka_unit_test(types_that_are_no_numbers_are_refused_by_name),
        cmocka_unit_test(other_extensions_and_dictionaries_are_refused),
        cmocka_unit_test(shapes_that_are_none_are_refused),
        cmocka_unit_test(arrays_that_contradict_themselves_are_refused),
        cmocka_unit_test(more_lists_than_dimensions_are_refused),
        cmocka_unit_test(an_import_moves_the_array),
        cmocka_unit_test(a_failed_import_takes_nothing),
        cmocka_unit_test(devices_have_dlpacks_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
