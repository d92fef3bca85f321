#include "tensor_foreign.h"

/* Imports `foreign`, expects that it had to be wrapped or not, and that releasing ends it once without a leak. */
static void check_import(bool wrapped, dlpark_view *view)
{
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    DLManagedTensorVersioned before = foreign;
    int64_t shape_before[64], strides_before[64];
    memcpy(shape_before, shape, sizeof shape);
    memcpy(strides_before, strides, sizeof strides);
    int expected_ends = ended + (foreign.deleter != NULL);

    failing_alloc_arm(0);
    assert_ok(dlpark_tensor_import(&tensor, &theirs, view, e));
    assert_int_equal(failing_alloc_count(), wrapped);
    assert_null(theirs);
    assert_int_equal(tensor.managed != &foreign, wrapped);
    assert_memory_equal(&foreign, &before, sizeof foreign); /* a received struct is read-only */
    assert_memory_equal(shape, shape_before, sizeof shape);
    assert_memory_equal(strides, strides_before, sizeof strides);
    const DLTensor *held = &tensor.managed->dl_tensor;
    assert_non_null(tensor.managed->deleter);
    assert_true(held->ndim == 0 || held->strides != NULL);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, expected_ends);
    assert_int_equal(failing_alloc_live(), live);
}

static void conformant_tensor_is_taken_as_it_is(void **state)
{
    (void)state;
    dlpark_view view;

    check_import(false, &view);
    assert_ptr_equal(view.data, values);
    assert_int_equal(view.flags, 0);
    foreign.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
    check_import(false, &view);
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    foreign.version.minor = 99;
    foreign.dl_tensor.ndim = 0;
    foreign.dl_tensor.shape = foreign.dl_tensor.strides = NULL;
    check_import(false, &view);
}

static void anything_else_is_wrapped(void **state)
{
    (void)state;
    dlpark_view view;

    foreign.dl_tensor.strides = NULL;
    check_import(true, &view);
    assert_int_equal(view.strides[0], 3);
    reset(state);
    foreign.deleter = NULL;
    check_import(true, &view);
    reset(state);
    foreign.dl_tensor.byte_offset = 12;
    check_import(true, &view);
    assert_ptr_equal(view.data, values + 3);
    reset(state);
    shape[1] = 0;
    check_import(true, &view);
    assert_null(view.data);
    foreign.dl_tensor.data = NULL;
    check_import(false, &view);
    foreign.dl_tensor.byte_offset = 638;
    check_import(true, &view);
    reset(state);
    foreign.dl_tensor.device.device_type = kDLOpenCL;
    foreign.dl_tensor.byte_offset = 12;
    check_import(false, &view);
    assert_int_equal(view.byte_offset, 12);
}

static void wrapper_keeps_the_promises_and_the_flags(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    dlpark_view view;

    foreign.dl_tensor.strides = NULL;
    foreign.dl_tensor.byte_offset = 4;
    foreign.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
    DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);
    assert_int_equal(handed->version.minor, 3);
    assert_int_equal(handed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_ptr_equal(handed->dl_tensor.data, values + 1);
    assert_int_equal(handed->dl_tensor.byte_offset, 0);
    assert_int_equal(handed->dl_tensor.strides[0], 3);
    assert_ok(dlpark_tensor_import(&tensor, &handed, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

static void other_major_allows_only_the_deleter(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;

    foreign.version.major = 2;
    foreign.flags = UINT64_MAX;
    memset(&foreign.dl_tensor, 0xFF, sizeof foreign.dl_tensor); /* of no meaning to us */
    assert_fails(DLPARK_E_VERSION, "DLPack 2.1", dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_ptr_equal(theirs, &foreign);
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
    dlpark_managed_release(&theirs);
    assert_null(theirs);
    assert_int_equal(ended, 1);
    dlpark_managed_release(&theirs);
    dlpark_managed_release(NULL);
    assert_int_equal(ended, 1);
    foreign.version.major = 0;
    theirs = &foreign;
    assert_fails(DLPARK_E_VERSION, "DLPack 0.1", dlpark_tensor_import(&tensor, &theirs, NULL, e));
}

static void refused_tensor_stays_theirs(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    DLManagedTensor *legacy = &foreign_legacy;
    dlpark_view view;

    foreign.dl_tensor.ndim = foreign_legacy.dl_tensor.ndim = 65;
    assert_fails(DLPARK_E_RANK, "65", dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_fails(DLPARK_E_RANK, "65", dlpark_tensor_import(&tensor, &theirs, &view, e));
    assert_fails(DLPARK_E_RANK, "65", dlpark_tensor_import_legacy(&tensor, &legacy, NULL, e));
    reset(state);
    shape[0] = -2;
    assert_fails(DLPARK_E_SHAPE, "shape[0] is -2", dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_fails(DLPARK_E_SHAPE, "shape[0] is -2", dlpark_tensor_import_legacy(&tensor, &legacy, NULL, e));
    reset(state);
    foreign.dl_tensor.data = foreign_legacy.dl_tensor.data = NULL;
    assert_fails(DLPARK_E_DATA, "6 elements", dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_fails(DLPARK_E_DATA, "6 elements", dlpark_tensor_import_legacy(&tensor, &legacy, NULL, e));
    reset(state);
    foreign.flags = 16;
    assert_fails(DLPARK_E_FLAGS, "0x10", dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_ptr_equal(theirs, &foreign);
    assert_ptr_equal(legacy, &foreign_legacy);
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign, *none = NULL;
    DLManagedTensor *legacy = NULL;

    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_tensor_import(NULL, &theirs, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "to take is NULL", dlpark_tensor_import(&tensor, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "to take is NULL", dlpark_tensor_import(&tensor, &none, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "to take is NULL", dlpark_tensor_import_legacy(&tensor, &legacy, NULL, e));
    assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
    theirs = &foreign;
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_tensor_import(&tensor, &theirs, NULL, e));
    assert_ptr_equal(theirs, &foreign);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

static void wrapper_without_memory_takes_nothing(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    DLManagedTensor *legacy = &foreign_legacy;

    foreign.dl_tensor.byte_offset = 4;
    failing_alloc_arm(1);
    assert_int_equal(dlpark_tensor_import(&tensor, &theirs, NULL, NULL), DLPARK_E_MEMORY);
    assert_ptr_equal(theirs, &foreign);
    failing_alloc_arm(1);
    assert_int_equal(dlpark_tensor_import_legacy(&tensor, &legacy, NULL, NULL), DLPARK_E_MEMORY);
    assert_ptr_equal(legacy, &foreign_legacy);
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
}

static void legacy_says_nothing_about_writing(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensor *legacy = &foreign_legacy;
    dlpark_view view, later;

    foreign_legacy.dl_tensor.byte_offset = 8;
    foreign_legacy.dl_tensor.strides = NULL;
    assert_ok(dlpark_tensor_import_legacy(&tensor, &legacy, &view, e));
    assert_null(legacy);
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    assert_ptr_equal(view.data, values + 2);
    dlpark_tensor_view(&tensor, &later);
    assert_int_equal(later.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    assert_ptr_equal(later.data, values + 2);
    DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);
    assert_int_equal(handed->flags, DLPACK_FLAG_BITMASK_READ_ONLY); /* others must not take it for writable */
    assert_ok(dlpark_tensor_import(&tensor, &handed, &view, e));    /* the same library remembers */
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    assert_ok(dlpark_view_allow_write(&view, e));
    DLManagedTensor *again = NULL;
    assert_ok(dlpark_tensor_export_legacy(&tensor, 0, &again, e)); /* loses nothing that anybody said */
    assert_ok(dlpark_tensor_import_legacy(&tensor, &again, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
    assert_int_equal(failing_alloc_live(), live);
}

static void legacy_without_a_deleter(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensor *legacy = &foreign_legacy;

    foreign_legacy.deleter = NULL;
    assert_ok(dlpark_tensor_import_legacy(&tensor, &legacy, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 0);
    legacy = &foreign_legacy;
    dlpark_managed_release_legacy(&legacy);
    assert_null(legacy);
    dlpark_managed_release_legacy(NULL);
    dlpark_managed_release_legacy(&legacy); /* cleared above */
    DLManagedTensor **none = NULL;
    assert_fails(DLPARK_E_ARGUMENT, "the tensor to take is NULL", dlpark_tensor_import_legacy(&tensor, none, NULL, e));
    assert_int_equal(ended, 0);
}

static void view_of_a_tensor_and_of_none(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *theirs = &foreign;
    dlpark_view view;

    dlpark_tensor_view(&tensor, &view);
    assert_int_equal(view.ndim, 1);
    assert_int_equal(dlpark_view_numel(&view), 0);
    assert_non_null(dlpark_view_bytes(&view, NULL, NULL));
    foreign.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
    dlpark_tensor_view(&tensor, &view);
    assert_ptr_equal(view.data, values);
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_int_equal(view.shape[1], 3);
    assert_null(dlpark_tensor_extra(&tensor));
    dlpark_tensor_release(&tensor);
}

/* Wrapped or taken as they are: strides that mean nothing, and the device with its number, arrive as they left. */
static void strides_and_device_travel_unchanged(void **state)
{
    (void)state;
    static const int32_t types[] = {kDLCPU, kDLCUDA, kDLROCM, kDLCUDAManaged, kDLOneAPI};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (int wrapped = 0; wrapped < 2; wrapped++) {
            dlpark_view view;
            reset(state);
            shape[0] = 1;
            strides[0] = 77;
            foreign.dl_tensor.byte_offset = wrapped ? 4 : 0;
            foreign.dl_tensor.device = DLPARK_DEVICE((DLDeviceType)types[i], (int32_t)i);
            check_import(wrapped, &view);
            assert_int_equal(view.strides[0], 77);
            assert_true(dlpark_device_equal(view.device, foreign.dl_tensor.device));
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
            DLManagedTensorVersioned *theirs = &foreign;
            assert_ok(dlpark_tensor_import(&tensor, &theirs, NULL, e));
            DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);
            assert_int_equal(handed->dl_tensor.strides[0], 77);
            assert_int_equal(handed->dl_tensor.device.device_type, types[i]);
            assert_int_equal(handed->dl_tensor.device.device_id, i);
            dlpark_managed_release(&handed);
        }
}

static void every_rank_is_wrapped(void **state)
{
    (void)state;
    dlpark_view view;

    for (int32_t ndim = 0; ndim <= 64; ndim++) {
        reset(state);
        for (int i = 0; i < 64; i++)
            shape[i] = 1;
        foreign.dl_tensor.ndim = ndim;
        foreign.dl_tensor.strides = NULL;
        foreign.dl_tensor.byte_offset = 4;
        check_import(true, &view);
        assert_int_equal(view.ndim, ndim);
        assert_ptr_equal(view.data, values + 1);
        assert_int_equal(dlpark_view_numel(&view), 1);
    }
    for (int i = 0; i < 64; i++)
        shape[i] = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(conformant_tensor_is_taken_as_it_is),
        TEST(anything_else_is_wrapped),
        TEST(wrapper_keeps_the_promises_and_the_flags),
        TEST(other_major_allows_only_the_deleter),
        TEST(refused_tensor_stays_theirs),
        TEST(arguments_are_checked),
        TEST(wrapper_without_memory_takes_nothing),
        TEST(legacy_says_nothing_about_writing),
        TEST(legacy_without_a_deleter),
        TEST(view_of_a_tensor_and_of_none),
        TEST(strides_and_device_travel_unchanged),
        TEST(every_rank_is_wrapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
