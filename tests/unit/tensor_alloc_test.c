#include "tensor_good.h"

static void alloc_owns_aligned_memory_in_one_allocation(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    failing_alloc_arm(0);
    assert_ok(dlpark_tensor_alloc(
        &tensor, &(dlpark_tensor_desc){.dtype = DLPARK_F16, .ndim = 2, .shape = DLPARK_DIMS((int[]){5, 7})}, &view, e));
    assert_int_equal(failing_alloc_count(), 1);
    assert_int_equal((uintptr_t)view.data % 64, 0);
    assert_int_equal(view.strides[0], 7);
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    memset(view.data, 0xAB, 70);
    assert_int_equal(tensor.managed->dl_tensor.shape[1], 7);
    dlpark_tensor_release(&tensor);
    assert_int_equal(failing_alloc_live(), live);
}

/* Extents of int64_t and a plain dtype go a way of their own. */
static void alloc_is_the_same_whatever_type_the_extents_have(void **state)
{
    (void)state;
    const int64_t wide[] = {2, 3, 1, 4, 5, 6};
    const int narrow[] = {2, 3, 1, 4, 5, 6};
    long live = failing_alloc_live();

    for (int32_t ndim = 0; ndim <= 6; ndim++) {
        dlpark_tensor one = DLPARK_TENSOR_EMPTY, two = DLPARK_TENSOR_EMPTY;
        dlpark_view view, other;
        dlpark_tensor_desc desc = {.dtype = DLPARK_C128, .ndim = ndim, .shape = DLPARK_DIMS(wide)};
        assert_ok(dlpark_tensor_alloc(&one, &desc, &view, e));
        desc.shape = DLPARK_DIMS(narrow);
        assert_ok(dlpark_tensor_alloc(&two, &desc, &other, e));
        assert_int_equal(one.managed->flags, two.managed->flags);
        assert_int_equal((uintptr_t)view.data % 64, 0);
        assert_int_equal(dlpark_view_nbytes(&view), dlpark_view_nbytes(&other));
        assert_int_equal(view.ndim, ndim);
        assert_int_equal(one.managed->dl_tensor.shape == NULL, ndim == 0);
        assert_int_equal(one.managed->dl_tensor.strides == NULL, ndim == 0);
        assert_true(dlpark_dtype_equal(view.dtype, DLPARK_C128));
        assert_memory_equal(view.shape, other.shape, (size_t)ndim * sizeof(int64_t));
        assert_memory_equal(view.strides, other.strides, (size_t)ndim * sizeof(int64_t));
        memset(view.data, 0x77, (size_t)dlpark_view_nbytes(&view));
        dlpark_tensor part = DLPARK_TENSOR_EMPTY;
        assert_ok(dlpark_tensor_share(&part, &one, NULL, e));
        dlpark_tensor_release(&one);
        dlpark_tensor_release(&part); /* the memory goes with the last of them */
        dlpark_tensor_release(&two);
    }
    assert_int_equal(failing_alloc_live(), live);
}

static void alloc_of_every_size_holds_its_bytes(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    for (int64_t count = 0; count < ((int64_t)10 << 20); count = count * 3 + 1) {
        assert_ok(dlpark_tensor_alloc(
            &tensor, &(dlpark_tensor_desc){.dtype = DLPARK_U8, .ndim = 1, .shape = DLPARK_DIMS(&count)}, &view, e));
        assert_int_equal(dlpark_view_numel(&view), count);
        assert_int_equal(view.data == NULL, count == 0);
        if (count > 0)
            memset(view.data, 0x5A, (size_t)count);
        dlpark_tensor_release(&tensor);
    }
}

static void alloc_refuses_what_it_makes_itself(void **state)
{
    (void)state;
    static const int64_t strides[] = {3, 1};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc plain = good(), desc;

    plain.data = NULL;
    plain.owner = NULL;
    plain.release = NULL;
    desc = plain;
    desc.data = values;
    assert_fails(DLPARK_E_ARGUMENT, "data is given", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.data_const = values;
    assert_fails(DLPARK_E_ARGUMENT, "data is given", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.byte_offset = 4;
    assert_fails(DLPARK_E_ARGUMENT, "byte_offset", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.strides_borrowed = strides;
    assert_fails(DLPARK_E_ARGUMENT, "strides", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.strides = DLPARK_DIMS(strides);
    assert_fails(DLPARK_E_ARGUMENT, "strides", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.release = free;
    assert_fails(DLPARK_E_ARGUMENT, "release is given", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.owner = values;
    assert_fails(DLPARK_E_ARGUMENT, "owner is given", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.storage_nbytes = 5;
    assert_fails(DLPARK_E_ARGUMENT, "storage_nbytes is 5, and storage is NULL",
                 dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.flags = DLPARK_TENSOR_CLAIM_COPIED;
    assert_fails(DLPARK_E_ARGUMENT, "0x10000", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.device = DLPARK_DEVICE(kDLCPU, 1);
    assert_fails(DLPARK_E_DEVICE, "cpu:1", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.storage = values;
    assert_fails(DLPARK_E_ARGUMENT, "storage is given", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.flags = DLPARK_TENSOR_READ_ONLY;
    assert_fails(DLPARK_E_ARGUMENT, "flags is 0x1, and alloc takes PADDED only",
                 dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_fails(DLPARK_E_DEVICE, "cuda:0", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.shape = DLPARK_DIMS((int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40});
    assert_fails(DLPARK_E_OVERFLOW, "1099511627776", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc.shape = DLPARK_DIMS((int64_t[]){INT64_C(1) << 31, INT64_C(1) << 31});
    assert_fails(DLPARK_E_OVERFLOW, "4611686018427387904 elements of f32",
                 dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc.shape = DLPARK_DIMS((uint64_t[]){1, UINT64_MAX});
    assert_fails(DLPARK_E_OVERFLOW, "shape[1] is 18446744073709551615", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc.ndim = 65;
    assert_fails(DLPARK_E_RANK, "65", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.shape = DLPARK_DIMS((int64_t[]){2, -3});
    assert_fails(DLPARK_E_SHAPE, "shape[1] is -3", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc.shape = DLPARK_DIMS((const int64_t *)NULL);
    assert_fails(DLPARK_E_SHAPE, "shape is NULL", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
}

static void alloc_wants_a_description_and_room_for_a_tensor(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS(shape_2x3)};

    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_tensor_alloc(NULL, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_tensor_alloc(&tensor, NULL, NULL, e));
    assert_ok(dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    DLManagedTensorVersioned *made = tensor.managed;
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    assert_ptr_equal(tensor.managed, made);
    dlpark_tensor_release(&tensor);
}

static void alloc_without_memory_leaves_nothing(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int[]){1000})};
    dlpark_error err = test_fresh_error();

    failing_alloc_arm(1);
    assert_int_equal(dlpark_tensor_alloc(&tensor, &desc, NULL, &err), DLPARK_E_MEMORY);
    char expected[64];
    snprintf(expected, sizeof expected, "%zu bytes, its header included",
             (DLPARK_TENSOR_STORAGE_NBYTES(1) + 63) / 64 * 64 + 4000);
    assert_non_null(strstr(err.message, expected));
    assert_null(tensor.managed);
    assert_int_equal(failing_alloc_live(), live);
    desc.shape = DLPARK_DIMS((int64_t[]){1000});
    failing_alloc_arm_from(1);
    assert_fails(DLPARK_E_MEMORY, "bytes, its header included", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    failing_alloc_arm(0);
    desc.shape = DLPARK_DIMS((int64_t[]){INT64_MAX / 4});
    assert_fails(DLPARK_E_MEMORY, "bytes", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
}

static void alloc_with_extra_bytes(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    static const int64_t shape[] = {3};
    dlpark_view view;

    assert_ok(dlpark_tensor_alloc(
        &tensor, &(dlpark_tensor_desc){.dtype = DLPARK_F64, .ndim = 1, .shape_borrowed = shape, .extra_nbytes = 1000},
        &view, e));
    unsigned char *extra = dlpark_tensor_extra(&tensor);
    assert_non_null(extra);
    memset(extra, 0xAA, 1000);
    memset(view.data, 0xBB, 24);
    assert_int_equal(extra[999], 0xAA);
    assert_int_equal(tensor.managed->dl_tensor.shape[0], 3);
    dlpark_tensor_release(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(alloc_owns_aligned_memory_in_one_allocation),
        TEST(alloc_is_the_same_whatever_type_the_extents_have),
        TEST(alloc_of_every_size_holds_its_bytes),
        TEST(alloc_refuses_what_it_makes_itself),
        TEST(alloc_wants_a_description_and_room_for_a_tensor),
        TEST(alloc_without_memory_leaves_nothing),
        TEST(alloc_with_extra_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
