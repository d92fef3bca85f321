#include "ggml_made.h"

#include <pthread.h>
#include <stdlib.h>

#include <dlpark/ggml.h>

#include "failing_alloc.h"
#include "passage.h"

static void report_out(DLDataType dtype, const char *layout, dlpark_status status)
{
    passage_report("ggml", PASSAGE_OUT, dtype, layout, status);
}

/* ---- What passes ---- */

typedef struct layout_row {
    const char *name;
    dlpark_status status;
    int32_t ndim;
    int64_t shape[4];
    int64_t strides[4];
    const char *says;
} layout_row;

static const layout_row layouts[] = {
    {"compact", DLPARK_OK, 3, {2, 3, 4}, {12, 4, 1}, NULL},
    {"padded rows", DLPARK_OK, 2, {3, 2}, {4, 1}, NULL},
    {"outer dimensions permuted", DLPARK_OK, 3, {3, 2, 4}, {4, 12, 1}, NULL},
    {"transposed", DLPARK_E_STRIDES, 2, {4, 3}, {1, 4}, "stride[1] is 4: ggml needs 1 in the last dimension"},
    {"every second column", DLPARK_E_STRIDES, 2, {3, 2}, {8, 2}, "ggml_cont()"},
    {"rows backwards",
     DLPARK_E_STRIDES,
     2,
     {3, 4},
     {-4, 1},
     "stride[0] is -4: ggml has none below 0 and takes 0 for a transposed tensor; the "},
    {"columns backwards", DLPARK_E_STRIDES, 2, {3, 4}, {4, -1}, "stride[1] is -1"},
    {"one row repeated",
     DLPARK_E_STRIDES,
     2,
     {3, 4},
     {0, 1},
     "stride[0] is 0: ggml has none below 0 and takes 0 for a transposed tensor"},
    {"windows that overlap", DLPARK_E_STRIDES, 2, {3, 4}, {2, 1}, "elements may share their places"},
    {"empty", DLPARK_OK, 2, {0, 3}, {3, 1}, NULL},
};

static void assert_seen(const dlpark_ggml_object *object, made_type made, const layout_row *row, const void *data)
{
    const struct ggml_tensor *ggml = object->ggml;
    bool empty = ggml_nelements(ggml) == 0;
    dlpark_view back;

    assert_int_equal(ggml->type, made.type);
    assert_true(ggml_is_contiguous_rows(ggml));
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        assert_int_equal(ggml->ne[i], i < row->ndim ? row->shape[row->ndim - 1 - i] : 1);
        if (i < row->ndim && !empty)
            assert_int_equal(ggml->nb[i], (size_t)row->strides[row->ndim - 1 - i] * ggml_type_size(made.type));
    }
    assert_true(ggml_backend_buffer_is_host(ggml->buffer));
    assert_ok(dlpark_ggml_view_as(&back, ggml, DLPARK_GGML_NDIM(row->ndim), e));
    assert_ptr_equal(back.data, empty ? NULL : data);
    for (int32_t i = 0; i < row->ndim; i++) {
        assert_int_equal(back.shape[i], row->shape[i]);
        if (!empty)
            assert_int_equal(back.strides[i], row->strides[i]);
    }
}

static void every_type_and_layout(void **state)
{
    (void)state;
    for (int i = 0; i < MADE_TYPES; i++)
        for (size_t j = 0; j < sizeof layouts / sizeof *layouts; j++) {
            made_type made = made_type_at(i);
            dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
            size_t at = 64 + 3 * ggml_type_size(made.type);
            dlpark_tensor tensor = made_tensor(at, made.dtype, layouts[j].ndim, layouts[j].shape, layouts[j].strides);
            void *managed = tensor.managed;

            made_released = 0;
            if (layouts[j].status == DLPARK_OK) {
                assert_ok(dlpark_ggml_export(&object, &tensor, 0, e));
                assert_null(tensor.managed);
                assert_ptr_equal(object.tensor.managed, managed);
                assert_seen(&object, made, &layouts[j], made_memory + at);
            } else {
                assert_fails(layouts[j].status, layouts[j].says, dlpark_ggml_export(&object, &tensor, 0, e));
                assert_null(object.ggml);
                assert_null(object.tensor.managed);
                assert_ptr_equal(tensor.managed, managed);
            }
            report_out(made.dtype, layouts[j].name, layouts[j].status);
            assert_int_equal(made_released, 0);
            dlpark_ggml_release(&object);
            dlpark_ggml_release(&object);
            dlpark_tensor_release(&tensor);
            assert_int_equal(made_released, 1);
            assert_null(object.ggml);
        }
    dlpark_ggml_release(NULL);
}

static void types_that_ggml_lacks(void **state)
{
    const DLDataType lacking[] = {
        DLPARK_BOOL,
        DLPARK_U8,
        DLPARK_U16,
        DLPARK_U32,
        DLPARK_U64,
        DLPARK_C64,
        DLPARK_C128,
        DLPARK_F8_E5M2,
        DLPARK_F8_E4M3FN,
        DLPARK_F4_E2M1FN,
        DLPARK_I4,
        DLPARK_U4,
        DLPARK_F6_E2M3FN,
        DLPARK_DTYPE(kDLFloat, 32, 4),
        DLPARK_DTYPE(kDLFloat, 128, 1),
    };

    (void)state;
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
        dlpark_tensor tensor = made_tensor(0, lacking[i], 1, (int64_t[]){8}, NULL);
        char says[80];

        snprintf(says, sizeof says, "ggml has no %s; it has f16", dlpark_dtype_name(lacking[i]).text);
        assert_fails(DLPARK_E_DTYPE, says, dlpark_ggml_export(&object, &tensor, DLPARK_GGML_READ, e));
        report_out(lacking[i], "compact", DLPARK_E_DTYPE);
        dlpark_tensor_release(&tensor);
    }
}

static void ranks_are_kept_and_end_at_four(void **state)
{
    const int64_t ones[] = {1, 1, 1, 1, 1}, odd[] = {7, 7, 7, 7, 7};

    (void)state;
    for (int32_t ndim = 0; ndim <= 5; ndim++) {
        dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
        dlpark_tensor tensor = made_tensor(4, DLPARK_F32, ndim, ones, odd);
        dlpark_view view;

        if (ndim == 5) {
            assert_fails(DLPARK_E_RANK, "the rank is 5, ggml has 4", dlpark_ggml_export(&object, &tensor, 0, e));
            report_out(DLPARK_F32, "rank 5", DLPARK_E_RANK);
            dlpark_tensor_release(&tensor);
            break;
        }
        assert_ok(dlpark_ggml_export(&object, &tensor, 0, e));
        dlpark_tensor_view(&object.tensor, &view);
        assert_int_equal(view.ndim, ndim);
        assert_true(ggml_is_contiguous(object.ggml)); /* strides of extents of 1 say nothing */
        assert_int_equal(object.ggml->nb[3], 4);
        dlpark_ggml_release(&object);
        report_out(DLPARK_F32, ndim == 0 ? "rank 0" : "rank 1 to 4", DLPARK_OK);
    }
}

/* ---- What is refused ---- */

static void calls_that_are_wrong(void **state)
{
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "empty", dlpark_ggml_export(&object, &tensor, 0, e));
    tensor = made_tensor(0, DLPARK_F32, 1, (int64_t[]){3}, NULL);
    assert_fails(DLPARK_E_ARGUMENT, "flags are 0x6", dlpark_ggml_export(&object, &tensor, 6, e));
    assert_ok(dlpark_ggml_export(&object, &tensor, 0, e));
    tensor = made_tensor(0, DLPARK_F32, 1, (int64_t[]){3}, NULL);
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_ggml_export(&object, &tensor, 0, e));
    dlpark_ggml_release(&object);
    dlpark_tensor_release(&tensor);
}

static void refuse_memory(const dlpark_tensor_desc *desc, const char *layout, dlpark_status status, const char *says)
{
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    assert_ok(dlpark_tensor_new(&tensor, desc, NULL, e));
    assert_fails(status, says, dlpark_ggml_export(&object, &tensor, 0, e));
    report_out(desc->dtype, layout, status);
    dlpark_tensor_release(&tensor);
}

static void memory_that_ggml_cannot_take(void **state)
{
    const int64_t shape[] = {2, 3};
    dlpark_tensor_desc desc = {.data = made_memory, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS(shape)};
    const DLDeviceType devices[] = {kDLCUDA, kDLOpenCL, kDLMetal, kDLROCM};

    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        desc.device = DLPARK_DEVICE(devices[i], 0);
        refuse_memory(&desc, "on a device", DLPARK_E_DEVICE, "24 bytes would have to be copied");
    }
    desc.device = DLPARK_DEVICE_CPU;
    desc.data = made_memory + 33;
    refuse_memory(&desc, "misaligned", DLPARK_E_ALIGNMENT, "element 0 is 1 bytes past a multiple of 4; the 24 bytes");
    desc.data = (void *)(uintptr_t)16;
    refuse_memory(&desc, "at an address below 32", DLPARK_E_DATA, "at address 16");
    desc.data = NULL;
    desc.data_const = made_memory;
    refuse_memory(&desc, "read-only", DLPARK_E_READ_ONLY, "the memory must not be written, which ggml cannot be told");
}

static void legacy_end(DLManagedTensor *managed)
{
    (void)managed;
    made_released++;
}

static void reading_alone_is_asked_for_by_name(void **state)
{
    const int64_t shape[] = {3, 4}, strides[] = {2, 1};
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    int64_t extent = 5;
    DLManagedTensor legacy = {.dl_tensor = {.data = made_memory,
                                            .device = {kDLCPU, 0},
                                            .ndim = 1,
                                            .dtype = {kDLFloat, 32, 1},
                                            .shape = &extent},
                              .deleter = legacy_end};
    DLManagedTensor *theirs = &legacy;

    (void)state;
    assert_ok(dlpark_tensor_new(&tensor,
                                &(dlpark_tensor_desc){.data_const = made_memory,
                                                      .dtype = DLPARK_F32,
                                                      .ndim = 2,
                                                      .shape = DLPARK_DIMS(shape),
                                                      .strides = DLPARK_DIMS(strides)},
                                NULL, e));
    assert_ok(dlpark_ggml_export(&object, &tensor, DLPARK_GGML_READ, e));
    assert_int_equal(ggml_backend_buffer_get_usage(object.ggml->buffer), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    assert_ok(dlpark_ggml_view(&view, object.ggml, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_int_equal(view.strides[0], 2);
    dlpark_ggml_release(&object);
    report_out(DLPARK_F32, "read-only, with DLPARK_GGML_READ", DLPARK_OK);
    report_out(DLPARK_F32, "windows that overlap, with DLPARK_GGML_READ", DLPARK_OK);

    made_released = 0;
    assert_ok(dlpark_tensor_import_legacy(&tensor, &theirs, NULL, e));
    assert_fails(DLPARK_E_READ_ONLY, "nobody said", dlpark_ggml_export(&object, &tensor, 0, e));
    assert_ok(dlpark_ggml_export(&object, &tensor, DLPARK_GGML_READ, e));
    assert_int_equal(ggml_backend_buffer_get_usage(object.ggml->buffer), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    dlpark_ggml_release(&object);
    assert_int_equal(made_released, 1);

    tensor = made_tensor(0, DLPARK_F32, 1, &extent, NULL);
    assert_ok(dlpark_ggml_export(&object, &tensor, DLPARK_GGML_READ, e));
    assert_int_equal(ggml_backend_buffer_get_usage(object.ggml->buffer), GGML_BACKEND_BUFFER_USAGE_ANY);
    dlpark_ggml_release(&object);
}

/* ---- Blocks ---- */

static void blocks_that_are_none(void **state)
{
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_tensor tensor = made_tensor(0, DLPARK_U8, 2, (int64_t[]){2, 19}, NULL);

    (void)state;
    assert_fails(DLPARK_E_SHAPE, "the last extent is 19 bytes, not whole blocks of q4_0, of 18 bytes each",
                 dlpark_ggml_export_blocks(&object, &tensor, "Q4_0", 0, e));
    assert_fails(DLPARK_E_DTYPE, "called \"q4_99\"", dlpark_ggml_export_blocks(&object, &tensor, "q4_99", 0, e));
    assert_fails(DLPARK_E_DTYPE, "called \"q4_\"", dlpark_ggml_export_blocks(&object, &tensor, "q4_", 0, e));
    assert_fails(DLPARK_E_DTYPE, "no type of blocks that is called \"f32\"",
                 dlpark_ggml_export_blocks(&object, &tensor, "f32", 0, e));
    assert_fails(DLPARK_E_ARGUMENT, "flags", dlpark_ggml_export_blocks(&object, &tensor, "q4_0", 8, e));
    dlpark_tensor_release(&tensor);
    tensor = made_tensor(0, DLPARK_U8, 0, NULL, NULL);
    assert_fails(DLPARK_E_SHAPE, "is 1 bytes", dlpark_ggml_export_blocks(&object, &tensor, "q4_0", 0, e));
    dlpark_tensor_release(&tensor);
    tensor = made_tensor(0, DLPARK_I8, 1, (int64_t[]){18}, NULL);
    assert_fails(DLPARK_E_DTYPE, "the tensor is i8", dlpark_ggml_export_blocks(&object, &tensor, "q4_0", 0, e));
    dlpark_tensor_release(&tensor);
    tensor = made_tensor(1, DLPARK_U8, 1, (int64_t[]){18}, NULL);
    assert_fails(DLPARK_E_ALIGNMENT, "1 bytes past a multiple of 2",
                 dlpark_ggml_export_blocks(&object, &tensor, "q4_0", 0, e));
    dlpark_tensor_release(&tensor);
    tensor = made_tensor(0, DLPARK_U8, 2, (int64_t[]){4, 36}, (int64_t[]){40, 1});
    assert_fails(DLPARK_E_STRIDES, "stride[0] is 40 bytes, not whole blocks of q4_0, of 18 bytes each",
                 dlpark_ggml_export_blocks(&object, &tensor, "q4_0", 0, e));
    dlpark_tensor_release(&tensor);
    tensor = made_tensor(0, DLPARK_U8, 2, (int64_t[]){4, 36}, (int64_t[]){54, 1});
    assert_ok(dlpark_ggml_export_blocks(&object, &tensor, "q4_0", 0, e));
    assert_true(object.ggml->nb[1] == 54 && object.ggml->ne[0] == 64);
    dlpark_ggml_release(&object);
}

/* ---- Ends ---- */

static void no_memory_leaves_all_as_it_was(void **state)
{
    dlpark_status status = DLPARK_E_MEMORY;
    long nth = 0, live = failing_alloc_live();

    (void)state;
    while (status == DLPARK_E_MEMORY) {
        dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
        dlpark_tensor tensor = made_tensor(0, DLPARK_F32, 1, (int64_t[]){3}, NULL);

        made_released = 0;
        failing_alloc_arm_from(++nth);
        status = dlpark_ggml_export(&object, &tensor, 0, NULL);
        failing_alloc_arm(0);
        assert_int_equal(tensor.managed != NULL, status != DLPARK_OK);
        assert_int_equal(object.ggml != NULL, status == DLPARK_OK);
        assert_int_equal(made_released, 0);
        dlpark_ggml_release(&object);
        dlpark_tensor_release(&tensor);
        assert_int_equal(made_released, 1);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_int_equal(status, DLPARK_OK);
    assert_int_equal(nth, 2);
}

static void *end_elsewhere(void *object)
{
    dlpark_ggml_release(object);
    return NULL;
}

static void objects_end_on_another_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
        dlpark_tensor tensor = made_tensor(8, DLPARK_F32, 1, (int64_t[]){3}, NULL), share = DLPARK_TENSOR_EMPTY;
        pthread_t thread;

        made_released = 0;
        assert_ok(dlpark_ggml_export(&object, &tensor, 0, e));
        if (i % 2 != 0) /* a share of it may outlive the object */
            assert_ok(dlpark_tensor_share(&share, &object.tensor, NULL, e));
        assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &object), 0);
        pthread_join(thread, NULL);
        assert_int_equal(made_released, i % 2 == 0);
        dlpark_tensor_release(&share);
        assert_int_equal(made_released, 1);
    }
}

static void many_round_trips_need_no_more_memory(void **state)
{
    dlpark_tensor tensor = made_tensor(4, DLPARK_F32, 2, (int64_t[]){3, 4}, NULL);
    size_t before = 0;
    long live = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
        dlpark_tensor share = DLPARK_TENSOR_EMPTY;
        if (i == 1000) {
            before = made_bytes_in_use();
            live = failing_alloc_live();
        }
        assert_int_equal(dlpark_tensor_share(&share, &tensor, NULL, NULL), DLPARK_OK);
        assert_int_equal(dlpark_ggml_export(&object, &share, 0, NULL), DLPARK_OK);
        dlpark_ggml_release(&object);
    }
    assert_int_equal(failing_alloc_live(), live);
    assert_in_range(made_bytes_in_use(), 0, before + 4096);
    dlpark_tensor_release(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_layout),          cmocka_unit_test(types_that_ggml_lacks),
        cmocka_unit_test(ranks_are_kept_and_end_at_four), cmocka_unit_test(calls_that_are_wrong),
        cmocka_unit_test(memory_that_ggml_cannot_take),   cmocka_unit_test(reading_alone_is_asked_for_by_name),
        cmocka_unit_test(blocks_that_are_none),           cmocka_unit_test(no_memory_leaves_all_as_it_was),
        cmocka_unit_test(objects_end_on_another_thread),  cmocka_unit_test(many_round_trips_need_no_more_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
