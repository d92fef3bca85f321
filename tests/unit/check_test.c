#include "test.h"

static int64_t shape_2x3[] = {2, 3};
static int64_t strides_3x1[] = {3, 1};
static unsigned char memory[4096];

/* A tensor in which nothing is wrong. Each test spoils one thing. */
static DLTensor good(void)
{
    DLTensor tensor = {.data = memory,
                       .device = {kDLCPU, 0},
                       .ndim = 2,
                       .dtype = {kDLFloat, 32, 1},
                       .shape = shape_2x3,
                       .strides = strides_3x1,
                       .byte_offset = 0};
    return tensor;
}

static void good_tensor_becomes_a_view(void **state)
{
    (void)state;
    DLTensor tensor = good();
    dlpark_view view;

    memset(&view, 0x5A, sizeof view);
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ptr_equal(view.data, memory);
    assert_int_equal(view.byte_offset, 0);
    assert_int_equal(view.ndim, 2);
    assert_int_equal(view.bit_offset, 0);
    assert_true(dlpark_dtype_equal(view.dtype, DLPARK_F32));
    assert_true(dlpark_device_equal(view.device, DLPARK_DEVICE_CPU));
    assert_memory_equal(view.shape, shape_2x3, sizeof shape_2x3);
    assert_memory_equal(view.strides, strides_3x1, sizeof strides_3x1);
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(view.reserved[i], 0);
    assert_int_equal(view.shape[2], 0x5A5A5A5A5A5A5A5A); /* entries beyond the rank are left alone */
    assert_int_equal(view.strides[2], 0x5A5A5A5A5A5A5A5A);
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
}

static void flags_travel_but_for_is_copied(void **state)
{
    (void)state;
    DLTensor tensor = good();
    dlpark_view view;

    assert_ok(dlpark_check(&tensor, 7, &view, e)); /* of whole bytes PADDED means nothing */
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    tensor.dtype = DLPARK_I4;
    assert_ok(dlpark_check(&tensor, 7, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_PADDED);
    assert_fails(DLPARK_E_FLAGS, "0x8 has bits", dlpark_check(&tensor, 8, &view, e));
    assert_fails(DLPARK_E_FLAGS, "0x8000000000000001", dlpark_check(&tensor, UINT64_C(1) << 63 | 1, &view, e));
}

static void null_tensor(void **state)
{
    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "NULL", dlpark_check(NULL, 0, NULL, e));
}

static void rank_is_bounded(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t ones[65], strides[65];
    dlpark_view view;

    for (int i = 0; i < 65; i++) {
        ones[i] = 1;
        strides[i] = INT64_MIN + i; /* strides of extents of 1 mean nothing */
    }
    tensor.shape = ones;
    tensor.strides = strides;
    tensor.ndim = 64;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_int_equal(dlpark_view_numel(&view), 1);
    tensor.ndim = 65;
    assert_fails(DLPARK_E_RANK, "ndim is 65, expected 0 to 64", dlpark_check(&tensor, 0, &view, e));
    tensor.ndim = -1;
    assert_fails(DLPARK_E_RANK, "ndim is -1", dlpark_check(&tensor, 0, &view, e));
    tensor.ndim = INT32_MIN;
    assert_fails(DLPARK_E_RANK, "ndim is -2147483648", dlpark_check(&tensor, 0, &view, e));
}

static void scalar_needs_no_shape(void **state)
{
    (void)state;
    DLTensor tensor = good();
    dlpark_view view;

    tensor.ndim = 0;
    tensor.shape = NULL;
    tensor.strides = NULL;
    tensor.byte_offset = 12;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_int_equal(dlpark_view_numel(&view), 1);
    assert_ptr_equal(view.data, memory + 12);
}

static void shape_must_be_there_and_not_negative(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t shape[] = {2, -3};

    tensor.shape = NULL;
    assert_fails(DLPARK_E_SHAPE, "ndim is 2", dlpark_check(&tensor, 0, NULL, e));
    tensor.shape = shape;
    assert_fails(DLPARK_E_SHAPE, "shape[1] is -3", dlpark_check(&tensor, 0, NULL, e));
    shape[0] = 0; /* an extent of 0 excuses an overflow, not a negative extent */
    assert_fails(DLPARK_E_SHAPE, "shape[1] is -3", dlpark_check(&tensor, 0, NULL, e));
    shape[1] = INT64_MIN;
    assert_fails(DLPARK_E_SHAPE, "-9223372036854775808", dlpark_check(&tensor, 0, NULL, e));
}

static void null_strides_are_compact(void **state)
{
    (void)state;
    DLTensor tensor = good();
    dlpark_view view;

    tensor.strides = NULL;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_memory_equal(view.strides, strides_3x1, sizeof strides_3x1);
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
    int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    tensor.shape = huge;
    assert_fails(DLPARK_E_OVERFLOW, "shape[1] = 1099511627776", dlpark_check(&tensor, 0, &view, e));
}

static void dtype_and_device_must_be_known(void **state)
{
    (void)state;
    DLTensor tensor = good();

    tensor.dtype.code = 18;
    assert_fails(DLPARK_E_DTYPE, "code 18", dlpark_check(&tensor, 0, NULL, e));
    tensor = good();
    tensor.dtype.bits = 33;
    assert_fails(DLPARK_E_DTYPE, "33 bits", dlpark_check(&tensor, 0, NULL, e));
    tensor = good();
    tensor.dtype.lanes = 0;
    assert_fails(DLPARK_E_DTYPE, "0 lanes", dlpark_check(&tensor, 0, NULL, e));
    tensor = good();
    tensor.device.device_type = (DLDeviceType)5;
    assert_fails(DLPARK_E_DEVICE, "type 5", dlpark_check(&tensor, 0, NULL, e));
    tensor.device.device_type = (DLDeviceType)-1;
    assert_fails(DLPARK_E_DEVICE, "type -1", dlpark_check(&tensor, 0, NULL, e));
    tensor = good();
    tensor.device.device_id = -2;
    assert_fails(DLPARK_E_DEVICE, "id -2", dlpark_check(&tensor, 0, NULL, e));
}

static void null_data_only_without_elements(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t empty[] = {INT64_MAX, 0};
    int64_t wild[] = {INT64_MAX, INT64_MIN};
    dlpark_view view;

    tensor.data = NULL;
    assert_fails(DLPARK_E_DATA, "6 elements (shape [2, 3])", dlpark_check(&tensor, 0, NULL, e));
    tensor.byte_offset = 64;
    assert_fails(DLPARK_E_DATA, "NULL", dlpark_check(&tensor, 0, NULL, e));
    tensor.shape = empty;
    tensor.strides = wild;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_null(view.data);
    assert_int_equal(view.byte_offset, 0);
    assert_int_equal(dlpark_view_numel(&view), 0);
    tensor.data = memory; /* data without elements is allowed, and not passed on */
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_null(view.data);
}

static void byte_offset_is_applied_where_addresses_add_up(void **state)
{
    (void)state;
    DLTensor tensor = good();
    dlpark_view view;

    tensor.byte_offset = 100;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ptr_equal(view.data, memory + 100);
    assert_int_equal(view.byte_offset, 0);
    static const DLDeviceType handles[] = {kDLOpenCL, kDLVulkan, kDLMetal, kDLWebGPU};
    for (size_t i = 0; i < 4; i++) {
        tensor.device.device_type = handles[i];
        assert_ok(dlpark_check(&tensor, 0, &view, e));
        assert_ptr_equal(view.data, memory);
        assert_int_equal(view.byte_offset, 100);
    }
}

static void reach_must_fit_63_bits_and_the_address_space(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t two[] = {2, 1}, far[] = {INT64_C(1) << 61, 1};

    tensor.shape = two;
    tensor.strides = far;
    assert_fails(DLPARK_E_OVERFLOW, "2305843009213693952", dlpark_check(&tensor, 0, NULL, e));
    far[0] = -far[0];
    assert_fails(DLPARK_E_OVERFLOW, "-2305843009213693952", dlpark_check(&tensor, 0, NULL, e));
    far[0] = -(INT64_C(1) << 60);
    assert_fails(DLPARK_E_OVERFLOW, "address space", dlpark_check(&tensor, 0, NULL, e));

    tensor = good();
    tensor.byte_offset = UINT64_MAX - 4;
    assert_fails(DLPARK_E_OVERFLOW, "18446744073709551611", dlpark_check(&tensor, 0, NULL, e));
    tensor.byte_offset = UINT64_C(1) << 63;
    assert_fails(DLPARK_E_OVERFLOW, "9223372036854775808", dlpark_check(&tensor, 0, NULL, e));
    tensor.byte_offset = 0;
    tensor.data = (void *)(uintptr_t)(UINTPTR_MAX - 22);
    assert_fails(DLPARK_E_OVERFLOW, "24 above", dlpark_check(&tensor, 0, NULL, e));
    tensor.data = (void *)(uintptr_t)(UINTPTR_MAX - 23);
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
    int64_t backward[] = {-3, -1};
    tensor.strides = backward;
    tensor.data = (void *)(uintptr_t)16; /* 5 elements of 4 bytes lie below */
    assert_fails(DLPARK_E_OVERFLOW, "20 bytes below", dlpark_check(&tensor, 0, NULL, e));
    tensor.data = (void *)(uintptr_t)20; /* the last of them at address 0, where nothing is */
    assert_fails(DLPARK_E_OVERFLOW, "20 bytes below", dlpark_check(&tensor, 0, NULL, e));
    tensor.data = (void *)(uintptr_t)21;
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
}

static void alignment_is_nobodys_promise(void **state)
{
    (void)state;
    DLTensor tensor = good();
    dlpark_view view;

    for (uint64_t offset = 0; offset < 8; offset++) {
        tensor.byte_offset = offset;
        assert_ok(dlpark_check(&tensor, 0, &view, e));
        assert_ptr_equal(view.data, memory + offset);
        tensor.byte_offset = 0;
        tensor.data = memory + offset;
        assert_ok(dlpark_check(&tensor, 0, &view, e));
        assert_ptr_equal(view.data, memory + offset);
        tensor.data = memory;
    }
}

static void handle_reach_counts_from_its_offset(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t backward[] = {-3, -1};

    tensor.device.device_type = kDLOpenCL;
    tensor.strides = backward;
    tensor.byte_offset = 19;
    assert_fails(DLPARK_E_OVERFLOW, "byte_offset 19", dlpark_check(&tensor, 0, NULL, e));
    tensor.byte_offset = 20;
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
    tensor.strides = strides_3x1;
    tensor.byte_offset = INT64_MAX - 22;
    assert_fails(DLPARK_E_OVERFLOW, "9223372036854775785", dlpark_check(&tensor, 0, NULL, e));
    tensor.byte_offset = INT64_MAX - 23;
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
}

static void element_count_must_fit_even_when_it_is_broadcast(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t shape[] = {6, INT64_C(1) << 62, 4}, zero[] = {0, 0, 0};

    tensor.ndim = 3;
    tensor.shape = shape;
    tensor.strides = zero;
    assert_fails(DLPARK_E_OVERFLOW, "element count", dlpark_check(&tensor, 0, NULL, e));
    shape[0] = 1;
    shape[2] = 1; /* 2^62 elements fit 63 bits, their bytes do not */
    assert_fails(DLPARK_E_OVERFLOW, "4611686018427387904 elements of f32", dlpark_check(&tensor, 0, NULL, e));
    tensor.dtype = DLPARK_U8;
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
}

static void packed_reach_is_counted_in_bits(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t shape[] = {9}, stride[] = {-1};

    tensor.ndim = 1;
    tensor.dtype = DLPARK_I4;
    tensor.shape = shape;
    tensor.strides = stride;
    tensor.data = (void *)(uintptr_t)4; /* 8 elements of 4 bits lie below: 4 bytes */
    assert_fails(DLPARK_E_OVERFLOW, "4 bytes below", dlpark_check(&tensor, 0, NULL, e));
    tensor.data = (void *)(uintptr_t)5;
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
    assert_fails(DLPARK_E_OVERFLOW, "8 bytes below",
                 dlpark_check(&tensor, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, NULL, e));
}

static void reach_is_bounded_alike_on_both_sides(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t shape[] = {2}, stride[1];

    tensor.ndim = 1;
    tensor.dtype = DLPARK_DTYPE(kDLUInt, 1, 1);
    tensor.shape = shape;
    tensor.strides = stride;
    tensor.device.device_type = kDLOpenCL; /* whose bytes do not end with the address space */
    tensor.byte_offset = UINT64_C(1) << 62;
    static const int64_t beyond[] = {INT64_MAX, -INT64_MAX}, farthest[] = {INT64_MAX - 1, -INT64_MAX + 1};
    for (int side = 0; side < 2; side++) {
        stride[0] = beyond[side];
        assert_fails(DLPARK_E_OVERFLOW, "leaves 63 bits at shape[0] = 2", dlpark_check(&tensor, 0, NULL, e));
        stride[0] = farthest[side];
        assert_ok(dlpark_check(&tensor, 0, NULL, e));
    }
}

static void one_element_is_no_plural(void **state)
{
    (void)state;
    DLTensor tensor = good();
    int64_t one[] = {1, 1};

    tensor.data = NULL;
    assert_fails(DLPARK_E_DATA, "there are 6 elements (", dlpark_check(&tensor, 0, NULL, e));
    tensor.shape = one;
    assert_fails(DLPARK_E_DATA, "there is 1 element (", dlpark_check(&tensor, 0, NULL, e));
}

/* Its data is no address, and no part of what is wrong. */
static void message_about_a_handle_names_its_offset(void **state)
{
    (void)state;
    DLTensor tensor = good();

    tensor.device.device_type = kDLVulkan;
    tensor.byte_offset = INT64_MAX - 22;
    assert_fails(DLPARK_E_OVERFLOW,
                 "byte_offset 9223372036854775785 of a handle on vulkan:0, reaching 0 bytes below and 24 above element "
                 "0, expected bytes 0 to 2^63-1",
                 dlpark_check(&tensor, 0, NULL, e));
    tensor.byte_offset--;
    assert_ok(dlpark_check(&tensor, 0, NULL, e));
    tensor.byte_offset = (uint64_t)INT64_MAX + 1;
    assert_fails(DLPARK_E_OVERFLOW, "byte_offset 9223372036854775808 of a handle", dlpark_check(&tensor, 0, NULL, e));
}

static void view_can_be_checked_into_itself(void **state)
{
    (void)state;
    int64_t shape[] = {2, 3, 4, 5, 6}, strides[] = {360, 120, 30, 6, 1};
    DLTensor tensor = {memory, {kDLCPU, 0}, 5, {kDLUInt, 8, 1}, shape, strides, 8};
    dlpark_view view;

    for (int32_t ndim = 4; ndim <= 5; ndim++) {
        tensor.ndim = ndim;
        assert_ok(dlpark_check(&tensor, 0, &view, e));
        DLTensor borrowed;
        assert_ok(dlpark_view_borrow_dltensor(&view, &borrowed, e));
        assert_ok(dlpark_check(&borrowed, 0, &view, e));
        assert_memory_equal(view.shape, shape, (size_t)ndim * sizeof *shape);
        assert_memory_equal(view.strides, strides, (size_t)ndim * sizeof *strides);
        assert_ptr_equal(view.data, memory + 8);
    }
}

/* Whatever part of the view a list lies in, what comes out is what a view elsewhere would say. */
static void lists_may_point_into_the_view(void **state)
{
    (void)state;
    int64_t elsewhere[] = {4, 3, 2, 4, 3, 2};
    dlpark_view view, expected;

    for (int32_t code = 0; code < 7 * 7 * 7 * 2; code++) {
        int32_t ndim = code % 7, sizes_at = code / 7 % 7, steps_at = code / 7 / 7 % 7;
        int64_t sizes[6], steps[6];
        memset(&view, 0, sizeof view);
        for (int32_t i = 0; i < DLPARK_MAX_NDIM; i++) {
            view.shape[i] = 2 + i % 3;
            view.strides[i] = 1 + i;
        }
        int64_t *shape = sizes_at == 6 ? elsewhere : (sizes_at % 2 ? view.strides : view.shape) + sizes_at / 2;
        int64_t *strides = steps_at == 6 ? NULL : (steps_at % 2 ? view.strides : view.shape) + steps_at / 2;
        uint64_t offset = code / 7 / 7 / 7 ? UINT64_C(1) << 29 : 0; /* not of the usual kind */
        DLTensor tensor = {memory, {kDLCPU, 0}, ndim, {kDLUInt, 8, 1}, shape, strides, offset};
        DLTensor apart = tensor;
        memcpy(sizes, shape, sizeof sizes);
        memcpy(steps, strides != NULL ? strides : sizes, sizeof steps);
        apart.shape = sizes;
        apart.strides = strides != NULL ? steps : NULL;
        assert_ok(dlpark_check(&apart, 0, &expected, e));
        assert_ok(dlpark_check(&tensor, 0, &view, e));
        assert_int_equal(view.ndim, ndim);
        assert_ptr_equal(view.data, expected.data);
        assert_memory_equal(view.shape, expected.shape, (size_t)ndim * sizeof(int64_t));
        assert_memory_equal(view.strides, expected.strides, (size_t)ndim * sizeof(int64_t));
    }
    DLTensor tensor = {memory, {kDLCPU, 0}, 2, {kDLUInt, 8, 1}, NULL, view.strides, 0};
    assert_fails(DLPARK_E_SHAPE, "shape is NULL", dlpark_check(&tensor, 0, &view, e));
    tensor.shape = view.shape;
    tensor.ndim = 65; /* no length to copy */
    assert_fails(DLPARK_E_RANK, "ndim is 65", dlpark_check(&tensor, 0, &view, e));
    tensor.ndim = -1;
    assert_fails(DLPARK_E_RANK, "ndim is -1", dlpark_check(&tensor, 0, &view, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_tensor_becomes_a_view),
        cmocka_unit_test(flags_travel_but_for_is_copied),
        cmocka_unit_test(null_tensor),
        cmocka_unit_test(rank_is_bounded),
        cmocka_unit_test(scalar_needs_no_shape),
        cmocka_unit_test(shape_must_be_there_and_not_negative),
        cmocka_unit_test(null_strides_are_compact),
        cmocka_unit_test(dtype_and_device_must_be_known),
        cmocka_unit_test(null_data_only_without_elements),
        cmocka_unit_test(byte_offset_is_applied_where_addresses_add_up),
        cmocka_unit_test(alignment_is_nobodys_promise),
        cmocka_unit_test(reach_must_fit_63_bits_and_the_address_space),
        cmocka_unit_test(handle_reach_counts_from_its_offset),
        cmocka_unit_test(element_count_must_fit_even_when_it_is_broadcast),
        cmocka_unit_test(packed_reach_is_counted_in_bits),
        cmocka_unit_test(reach_is_bounded_alike_on_both_sides),
        cmocka_unit_test(one_element_is_no_plural),
        cmocka_unit_test(view_can_be_checked_into_itself),
        cmocka_unit_test(lists_may_point_into_the_view),
        cmocka_unit_test(message_about_a_handle_names_its_offset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
