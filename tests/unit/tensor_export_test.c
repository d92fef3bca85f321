#include "tensor_foreign.h"

/* ---- The legacy ABI ---- */

static void export_legacy_refuses_what_it_cannot_say(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    DLManagedTensor *out = NULL, *full = &foreign_legacy;

    assert_fails(DLPARK_E_ARGUMENT, "empty", dlpark_tensor_export_legacy(&tensor, 0, &out, e));
    assert_fails(DLPARK_E_ARGUMENT, "empty", dlpark_tensor_export_legacy(NULL, 0, &out, e));
    foreign.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    foreign.dl_tensor.dtype = DLPARK_I4;
    assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "out is NULL", dlpark_tensor_export_legacy(&tensor, 0, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "not NULL", dlpark_tensor_export_legacy(&tensor, 0, &full, e));
    assert_fails(DLPARK_E_ARGUMENT, "dropped is 0x101", dlpark_tensor_export_legacy(&tensor, 0x101, &out, e));
    assert_fails(DLPARK_E_READ_ONLY, "read-only", dlpark_tensor_export_legacy(&tensor, DLPARK_TENSOR_PADDED, &out, e));
    assert_fails(DLPARK_E_FLAGS, "i4", dlpark_tensor_export_legacy(&tensor, DLPARK_TENSOR_READ_ONLY, &out, e));
    failing_alloc_arm(1);
    assert_int_equal(dlpark_tensor_export_legacy(&tensor, DLPARK_TENSOR_READ_ONLY | DLPARK_TENSOR_PADDED, &out, NULL),
                     DLPARK_E_MEMORY);
    assert_null(out);
    assert_ptr_equal(tensor.managed, &foreign);
    assert_ok(dlpark_tensor_export_legacy(&tensor, DLPARK_TENSOR_READ_ONLY | DLPARK_TENSOR_PADDED, &out, e));
    assert_null(tensor.managed);
    assert_ptr_equal(out->dl_tensor.data, values);
    assert_int_equal(ended, 0);
    out->deleter(out);
    assert_int_equal(ended, 1);
    assert_int_equal(failing_alloc_live(), live);
}

static void padded_whole_bytes_lose_nothing(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    DLManagedTensor *out = NULL;

    foreign.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_ok(dlpark_tensor_export_legacy(&tensor, 0, &out, e));
    out->deleter(out);
    assert_int_equal(ended, 1);
}

/* ---- To and fro ---- */

/* Exports a tensor and takes it back, `rounds` times. */
static void go_to_and_fro(dlpark_tensor *tensor, uint64_t dropped, int rounds, dlpark_view *view)
{
    for (int i = 0; i < rounds; i++) {
        DLManagedTensor *legacy = NULL;
        assert_ok(dlpark_tensor_export_legacy(tensor, dropped, &legacy, e));
        assert_ok(dlpark_tensor_import_legacy(tensor, &legacy, view, e));
        assert_null(legacy);
    }
}

/* If each round left a wrapper, the stack would not hold what ends them. */
static void going_to_and_fro_leaves_no_wrappers(void **state)
{
    (void)state;
    static const int64_t shape_2[] = {2};
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    dlpark_view view;

    assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
    go_to_and_fro(&tensor, 0, 200000, &view); /* a foreign one is boxed once */
    assert_int_equal(failing_alloc_live(), live + 1);
    assert_ptr_equal(view.data, values);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
    assert_int_equal(failing_alloc_live(), live);

    assert_ok(dlpark_tensor_new(
        &tensor,
        &(dlpark_tensor_desc){
            .data = values, .dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS(shape_2), .extra_nbytes = 8},
        NULL, e));
    DLManagedTensorVersioned *made = tensor.managed;
    go_to_and_fro(&tensor, 0, 3, &view);
    assert_ptr_equal(tensor.managed, made); /* ours is taken back itself */
    assert_non_null(dlpark_tensor_extra(&tensor));
    dlpark_tensor_release(&tensor);
    assert_int_equal(failing_alloc_live(), live);
}

/* Nothing that the legacy ABI cannot say comes back: it may have been through many hands. */
static void what_the_legacy_abi_loses_stays_lost(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view, later;

    for (uint64_t flags = 0; flags < 8; flags++) {
        DLManagedTensorVersioned *theirs = &foreign;
        reset(state);
        foreign.dl_tensor.dtype = DLPARK_I4;
        foreign.flags = flags;
        assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
        go_to_and_fro(&tensor, DLPARK_TENSOR_READ_ONLY | DLPARK_TENSOR_PADDED, 2, &view);
        dlpark_tensor_view(&tensor, &later);
        assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
        assert_int_equal(later.flags, DLPARK_VIEW_UNKNOWN_WRITE);
        assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
        assert_int_equal(foreign.flags, flags); /* a received struct is not written to */
        dlpark_tensor_release(&tensor);
        assert_int_equal(ended, 1);
    }
}

/* The holder of a legacy struct may have changed it: what it says counts, and what it holds is ended all the same. */
static void changed_struct_is_taken_as_it_is(void **state)
{
    (void)state;
    static int64_t other_shape[] = {2, 3}, other_strides[] = {3, 1};

    for (int field = 0; field < 7; field++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        DLManagedTensorVersioned *theirs = &foreign;
        DLManagedTensor *legacy = NULL;
        dlpark_view view;
        reset(state);
        foreign.dl_tensor.device.device_type = kDLMetal;
        assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
        assert_ok(dlpark_tensor_export_legacy(&tensor, 0, &legacy, e));
        DLTensor *changed = &legacy->dl_tensor;
        changed->data = field == 0 ? values + 1 : changed->data;
        changed->device.device_id = field == 1;
        changed->ndim = field == 2 ? 1 : 2;
        changed->dtype = field == 3 ? DLPARK_I32 : DLPARK_F32;
        changed->shape = field == 4 ? other_shape : changed->shape;
        changed->strides = field == 5 ? other_strides : changed->strides;
        changed->byte_offset = field == 6 ? 4 : 0;
        DLTensor expected = *changed;
        assert_ok(dlpark_tensor_import_legacy(&tensor, &legacy, &view, e));
        assert_memory_equal(&tensor.managed->dl_tensor, &expected, sizeof expected);
        assert_int_equal(view.ndim, expected.ndim);
        assert_int_equal(ended, 0);
        dlpark_tensor_release(&tensor);
        assert_int_equal(ended, 1);
    }
}

static void box_without_memory_takes_nothing(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    DLManagedTensor *legacy = NULL;

    assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_ok(dlpark_tensor_export_legacy(&tensor, 0, &legacy, e));
    DLManagedTensor *before = legacy;
    failing_alloc_arm(1);
    assert_int_equal(dlpark_tensor_import_legacy(&tensor, &legacy, NULL, NULL), DLPARK_E_MEMORY);
    assert_ptr_equal(legacy, before);
    assert_null(tensor.managed);
    failing_alloc_arm(0);
    dlpark_managed_release_legacy(&legacy);
    assert_int_equal(ended, 1);
}

/* ---- The end of life alone ---- */

static void deleter_alone_ends_the_tensor(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    void (*release)(void *) = NULL;
    void *context = &tensor;

    assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
    dlpark_tensor_export_deleter(&tensor, &release, &context);
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
    release(context);
    assert_int_equal(ended, 1);
    dlpark_tensor_export_deleter(&tensor, &release, &context);
    assert_null(context);
    release(context);
    assert_int_equal(ended, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(export_legacy_refuses_what_it_cannot_say),
        TEST(padded_whole_bytes_lose_nothing),
        TEST(going_to_and_fro_leaves_no_wrappers),
        TEST(what_the_legacy_abi_loses_stays_lost),
        TEST(changed_struct_is_taken_as_it_is),
        TEST(box_without_memory_takes_nothing),
        TEST(deleter_alone_ends_the_tensor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
