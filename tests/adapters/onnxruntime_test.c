/* Values of ONNX Runtime into dlpark, and how the library is found. */
#include "test.h"

#include <stdlib.h>

#include "failing_alloc.h"
#include "onnxruntime_fake.h"
#include "passage.h"

#include <pthread.h>

/* ---- The library ---- */

static void library_is_found(void **state)
{
    dlpark_onnxruntime again = DLPARK_ONNXRUNTIME_EMPTY;

    (void)state;
    assert_non_null(library.api);
    assert_non_null(library.host);
    assert_true(library.level >= DLPARK_ONNXRUNTIME_LEVEL_EXPORT);
    assert_ok(dlpark_onnxruntime_open(&again, NULL, e)); /* the loader has it by that name already */
    assert_ptr_equal(again.api, library.api);
    assert_fails(DLPARK_E_NOT_EMPTY, library.version, dlpark_onnxruntime_open(&again, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, library.version, dlpark_onnxruntime_init(&again, &fake.base, e));
}

static void library_is_missing(void **state)
{
    dlpark_onnxruntime none = DLPARK_ONNXRUNTIME_EMPTY;

    (void)state;
    assert_fails(DLPARK_E_NOT_FOUND, "/no/such/libonnxruntime.so.1",
                 dlpark_onnxruntime_open(&none, "/no/such/libonnxruntime.so.1", e));
    assert_fails(DLPARK_E_FOREIGN, "libc.so.6 has no OrtGetApiBase()", dlpark_onnxruntime_open(&none, "libc.so.6", e));
    assert_fails(DLPARK_E_ARGUMENT, "runtime is NULL", dlpark_onnxruntime_open(NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "base is NULL", dlpark_onnxruntime_init(&none, NULL, e));
    assert_null(none.api);
}

static void versions_are_asked_for_with_care(void **state)
{
    static const char *const refused[] = {"1.9.1", "1.0.0", "2.0.0", "0.22.0", "1.", "one", ""};
    dlpark_onnxruntime found = DLPARK_ONNXRUNTIME_EMPTY;

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        fake.version = refused[i];
        assert_fails(DLPARK_E_FOREIGN, "1.10 or a later 1.x is needed", dlpark_onnxruntime_init(&found, &fake.base, e));
    }
    fake.version = "1.10.0";
    assert_ok(dlpark_onnxruntime_init(&found, &fake.base, e));
    assert_int_equal(found.level, 10);
    found = (dlpark_onnxruntime)DLPARK_ONNXRUNTIME_EMPTY;
    fake.serves_none = true;
    assert_fails(DLPARK_E_FOREIGN, "does not serve version 10", dlpark_onnxruntime_init(&found, &fake.base, e));
    fake.serves_none = false;
    for (long nth = 1; nth <= 2; nth++) {
        fake_fail(nth);
        assert_int_equal(dlpark_onnxruntime_init(&found, &fake.base, NULL), DLPARK_E_FOREIGN);
        assert_null(found.api);
        assert_int_equal(fake.statuses, 0);
    }
    fake_fail(0);
    fake.version = library.version;
}

/* ---- Into dlpark ---- */

static void check_in(const fake_dtype *row, const fake_shape *shape)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view, borrowed;
    OrtValue *value = value_of(row->type, shape->ndim, shape->shape), *taken = value;
    void *data = value_data(value);

    assert_ok(dlpark_onnxruntime_view(&runtime, &borrowed, value, e));
    dlpark_status status = dlpark_onnxruntime_import(&runtime, &tensor, &taken, &view, NULL);
    passage_report("onnxruntime", PASSAGE_IN, row->dtype, shape->layout, status);
    assert_int_equal(status, DLPARK_OK);
    assert_null(taken);
    fake_assert_left(1);
    for (int i = 0; i < 2; i++) {
        const dlpark_view *made = i == 0 ? &view : &borrowed;
        assert_true(dlpark_dtype_equal(made->dtype, row->dtype));
        assert_true(dlpark_device_equal(made->device, DLPARK_DEVICE_CPU));
        assert_int_equal(made->flags, 0); /* it may be written */
        assert_int_equal(made->ndim, shape->ndim);
        assert_memory_equal(made->shape, shape->shape, shape->ndim * sizeof(int64_t));
        assert_true(dlpark_view_is_compact(made));
        assert_ptr_equal(made->data, dlpark_view_numel(made) == 0 ? NULL : data);
    }
    dlpark_tensor_release(&tensor);
    fake_assert_left(0);
}

static void every_element_type_comes_in(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAKE_DTYPES; i++)
        for (size_t j = 0; j < FAKE_SHAPES; j++)
            check_in(&fake_dtypes[i], &fake_shapes[j]);
}

/* Both functions refuse it in the same words, and the value is the caller's, as it was. */
static void check_refused(OrtValue *value, dlpark_status expected, const char *text)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    OrtValue *kept = value;

    assert_fails(expected, text, dlpark_onnxruntime_view(&runtime, &view, value, e));
    assert_fails(expected, text, dlpark_onnxruntime_import(&runtime, &tensor, &value, &view, e));
    assert_ptr_equal(value, kept);
    assert_null(tensor.managed);
    assert_int_equal(fake.statuses, 0);
    assert_int_equal(fake.infos, 0);
}

static void only_tensors_pass(void **state)
{
    OrtValue *strings = value_of(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, 1, (int64_t[]){2});
    OrtValue *keys = value_of(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 1, (int64_t[]){1});
    OrtValue *floats = value_of(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 1, (int64_t[]){1});
    OrtValue *sequence = NULL, *map = NULL, *sparse = NULL;
    OrtAllocator *allocator = NULL;

    (void)state;
    memset(value_data(keys), 0, sizeof(int64_t));
    memset(value_data(floats), 0, sizeof(float));
    assert_runs(fake.real->GetAllocatorWithDefaultOptions(&allocator));
    assert_runs(fake.real->CreateValue((const OrtValue *const[]){floats}, 1, ONNX_TYPE_SEQUENCE, &sequence));
    assert_runs(fake.real->CreateValue((const OrtValue *const[]){keys, floats}, 2, ONNX_TYPE_MAP, &map));
    assert_runs(fake.real->CreateSparseTensorAsOrtValue(allocator, (int64_t[]){3, 3}, 2,
                                                        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &sparse));
    check_refused(strings, DLPARK_E_DTYPE, "the value's elements are string");
    check_refused(sequence, DLPARK_E_ARGUMENT, "the value is a sequence; only tensors pass");
    check_refused(map, DLPARK_E_ARGUMENT, "the value is a map; only tensors pass");
    check_refused(sparse, DLPARK_E_ARGUMENT, "the value is a sparse tensor; only tensors pass");
    fake.kind = ONNX_TYPE_OPTIONAL;
    check_refused(sequence, DLPARK_E_ARGUMENT, "the value is an optional; only tensors pass");
    fake.kind = 99;
    check_refused(sequence, DLPARK_E_ARGUMENT, "the value is of no known kind; only tensors pass");
    fake.kind = -1;
    fake.has = 0;
    check_refused(floats, DLPARK_E_ARGUMENT, "an optional without anything in it");
    fake.has = -1;
    fake.real->ReleaseValue(sequence);
    fake.real->ReleaseValue(map);
    fake.real->ReleaseValue(sparse);
    value_release(strings);
    value_release(keys);
    value_release(floats);
    fake_assert_left(0);
}

static void what_a_value_says_is_checked(void **state)
{
    OrtValue *value = value_f32();

    (void)state;
    fake.type = 27;
    check_refused(value, DLPARK_E_DTYPE, "the number 27, which is not known");
    fake.type = 0;
    check_refused(value, DLPARK_E_DTYPE, "the value's elements are undefined");
    fake.type = -1;
    fake.rank = 65;
    check_refused(value, DLPARK_E_RANK, "rank is 65, at most 64");
    fake.rank = -1;
    value_release(value);
    fake_assert_left(0);
}

/* Without such a device: the library only notes the address that it is given. */
static void memory_goes_by_its_name(void **state)
{
    static const struct {
        const char *name;
        DLDevice device; /* type 0: refused */
    } rows[] = {{"Cpu", {kDLCPU, 0}},  {"Cuda", {kDLCUDA, 2}},          {"CudaPinned", {kDLCUDAHost, 0}},
                {"Hip", {kDLROCM, 2}}, {"HipPinned", {kDLROCMHost, 0}}, {"DML", {(DLDeviceType)0, 0}}};
    float memory[6] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        OrtMemoryInfo *info = NULL;
        OrtValue *value = NULL;
        dlpark_view view;
        assert_runs(fake.table.CreateMemoryInfo(rows[i].name, OrtDeviceAllocator, 2, OrtMemTypeDefault, &info));
        assert_runs(fake.table.CreateTensorWithDataAsOrtValue(info, memory, sizeof memory, (int64_t[]){6}, 1,
                                                              ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
        if (rows[i].device.device_type == 0) {
            check_refused(value, DLPARK_E_DEVICE, "the value's memory is called DML, id 2");
            value_release(value);
        } else {
            assert_ok(dlpark_onnxruntime_import(&runtime, &tensor, &value, &view, e));
            assert_true(dlpark_device_equal(view.device, rows[i].device));
            assert_ptr_equal(view.data, memory);
            dlpark_tensor_release(&tensor);
        }
        fake.table.ReleaseMemoryInfo(info);
        fake_assert_left(0);
    }
}

/* As a model's initializers are, which sessions share. */
static void weights_are_read_only(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtMemoryInfo *info = NULL;
    OrtValue *value = NULL;
    float memory[6] = {0};
    dlpark_view view;

    (void)state;
    assert_runs(fake.table.CreateMemoryInfo("Cpu", (OrtAllocatorType)2 /* OrtReadOnlyAllocator */, 0, OrtMemTypeDefault,
                                            &info));
    assert_runs(fake.table.CreateTensorWithDataAsOrtValue(info, memory, sizeof memory, (int64_t[]){6}, 1,
                                                          ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    fake.table.ReleaseMemoryInfo(info);
    assert_ok(dlpark_onnxruntime_view(&runtime, &view, value, e));
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    assert_ok(dlpark_onnxruntime_import(&runtime, &tensor, &value, &view, e));
    assert_true(view.flags & DLPARK_VIEW_READ_ONLY);
    assert_true(tensor.managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    passage_report("onnxruntime", PASSAGE_IN, DLPARK_F32, "read-only", DLPARK_OK);
    assert_fails(DLPARK_E_READ_ONLY, "read-only", dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, e));
    dlpark_tensor_release(&tensor);
    fake_assert_left(0);
}

static void sixty_four_dimensions_pass(void **state)
{
    int64_t shape[DLPARK_MAX_NDIM];
    OrtValue *value;
    dlpark_view view;

    (void)state;
    for (int i = 0; i < DLPARK_MAX_NDIM; i++)
        shape[i] = i % 32 == 7 ? 3 : 1;
    value = value_of(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, DLPARK_MAX_NDIM, shape);
    assert_ok(dlpark_onnxruntime_view(&runtime, &view, value, e));
    assert_int_equal(view.ndim, DLPARK_MAX_NDIM);
    assert_memory_equal(view.shape, shape, sizeof shape);
    value_release(value);
    fake_assert_left(0);
}

static void arguments_are_checked(void **state)
{
    dlpark_onnxruntime none = DLPARK_ONNXRUNTIME_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *value = value_f32(), *null = NULL;
    dlpark_view view;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "no ONNX Runtime is loaded", dlpark_onnxruntime_view(&none, &view, value, e));
    assert_fails(DLPARK_E_ARGUMENT, "runtime is NULL", dlpark_onnxruntime_view(NULL, &view, value, e));
    assert_fails(DLPARK_E_ARGUMENT, "view is NULL", dlpark_onnxruntime_view(&runtime, NULL, value, e));
    assert_fails(DLPARK_E_ARGUMENT, "value is NULL", dlpark_onnxruntime_view(&runtime, &view, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no ONNX Runtime is loaded",
                 dlpark_onnxruntime_import(&none, &tensor, &value, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_onnxruntime_import(&runtime, NULL, &value, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "value is NULL", dlpark_onnxruntime_import(&runtime, &tensor, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "value is NULL", dlpark_onnxruntime_import(&runtime, &tensor, &null, NULL, e));
    tensor.managed = (DLManagedTensorVersioned *)&view;
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_onnxruntime_import(&runtime, &tensor, &value, NULL, e));
    value_release(value);
    fake_assert_left(0);
}

/* ---- Failures ---- */

static void each_call_of_the_library_may_fail(void **state)
{
    OrtValue *value = value_f32();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_view view;
    long nth = 0;

    (void)state;
    for (;;) {
        fake_fail(++nth);
        dlpark_status status = dlpark_onnxruntime_import(&runtime, &tensor, &value, &view, &err);
        if (status == DLPARK_OK)
            break;
        assert_int_equal(status, DLPARK_E_FOREIGN);
        assert_non_null(strstr(err.message, fake.failed));
        assert_non_null(strstr(err.message, "planted"));
        assert_non_null(strstr(err.message, library.version));
        assert_non_null(value);
        assert_null(tensor.managed);
        fake_assert_left(1);
    }
    fake_fail(0);
    assert_true(nth > 9); /* so many calls that can fail */
    dlpark_tensor_release(&tensor);
    fake_assert_left(0);
}

static void no_memory_leaves_the_value(void **state)
{
    OrtValue *value = value_f32();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    long live = failing_alloc_live(), nth = 0;
    dlpark_status status = DLPARK_E_MEMORY;

    (void)state;
    while (status == DLPARK_E_MEMORY) {
        failing_alloc_arm(++nth);
        status = dlpark_onnxruntime_import(&runtime, &tensor, &value, NULL, NULL);
        failing_alloc_arm(0);
        if (status == DLPARK_E_MEMORY) {
            assert_non_null(value);
            assert_null(tensor.managed);
            assert_int_equal(failing_alloc_live(), live);
        }
    }
    assert_int_equal(status, DLPARK_OK);
    assert_int_equal(nth, 2); /* one allocation */
    dlpark_tensor_release(&tensor);
    assert_int_equal(failing_alloc_live(), live);
    fake_assert_left(0);
}

/* ---- Ends ---- */

static void the_last_owner_ends_the_value(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        dlpark_tensor whole = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
        OrtValue *value = value_f32();
        assert_ok(dlpark_onnxruntime_import(&runtime, &whole, &value, NULL, e));
        assert_ok(dlpark_tensor_share(&part, &whole, NULL, e));
        dlpark_tensor_release(first == 0 ? &whole : &part);
        fake_assert_left(1);
        dlpark_tensor_release(first == 0 ? &part : &whole);
        fake_assert_left(0);
    }
}

static void *release_there(void *tensor)
{
    dlpark_tensor_release(tensor);
    return NULL;
}

static void another_thread_may_end_it(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *value = value_f32();
    pthread_t thread;

    (void)state;
    assert_ok(dlpark_onnxruntime_import(&runtime, &tensor, &value, NULL, e));
    assert_int_equal(pthread_create(&thread, NULL, release_there, &tensor), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fake_assert_left(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_is_found),
        cmocka_unit_test(library_is_missing),
        cmocka_unit_test(versions_are_asked_for_with_care),
        cmocka_unit_test(every_element_type_comes_in),
        cmocka_unit_test(only_tensors_pass),
        cmocka_unit_test(what_a_value_says_is_checked),
        cmocka_unit_test(memory_goes_by_its_name),
        cmocka_unit_test(weights_are_read_only),
        cmocka_unit_test(sixty_four_dimensions_pass),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(each_call_of_the_library_may_fail),
        cmocka_unit_test(no_memory_leaves_the_value),
        cmocka_unit_test(the_last_owner_ends_the_value),
        cmocka_unit_test(another_thread_may_end_it),
    };

    return cmocka_run_group_tests(tests, fake_setup, NULL);
}
