#include "tensor_good.h"

/* ---- new ---- */

static void new_takes_the_memory_and_export_gives_it_out(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_view view;

    failing_alloc_arm(0);
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    assert_int_equal(failing_alloc_count(), 1);
    assert_ptr_equal(view.data, values);
    assert_int_equal(view.flags, 0);
    assert_int_equal(view.shape[0], 2);
    assert_int_equal(view.strides[0], 3);
    assert_int_equal(view.strides[1], 1);

    DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);
    assert_null(tensor.managed);
    assert_null(dlpark_tensor_export(&tensor));
    assert_int_equal(handed->version.major, 1);
    assert_int_equal(handed->version.minor, 3);
    assert_int_equal(handed->flags, 0);
    assert_int_equal(handed->dl_tensor.byte_offset, 0);
    assert_non_null(handed->dl_tensor.strides);
    assert_int_equal(ended, 0);
    handed->deleter(handed);
    assert_int_equal(ended, 1);
    assert_ptr_equal(ended_owner, values);
    assert_int_equal(failing_alloc_live(), live);
}

static void release_is_idempotent_and_takes_nothing(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    dlpark_tensor_release(NULL);
    dlpark_tensor_release(&tensor);
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
    desc.release = NULL;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
    static _Alignas(16) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(2)];
    desc.storage = storage;
    desc.storage_nbytes = sizeof storage;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

#define CHECK_DIMS(type)                                                                                               \
    do {                                                                                                               \
        type shape[] = {2, 3}, strides[] = {8, 2};                                                                     \
        dlpark_tensor_desc desc = good();                                                                              \
        desc.shape = DLPARK_DIMS(shape);                                                                               \
        desc.strides = DLPARK_DIMS(strides);                                                                           \
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;                                                                    \
        dlpark_view view;                                                                                              \
        assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));                                                        \
        memset(shape, 0, sizeof shape); /* copied: what becomes of the caller's array does not matter */               \
        memset(strides, 0, sizeof strides);                                                                            \
        const DLTensor *made = &tensor.managed->dl_tensor;                                                             \
        assert_true(made->shape[0] == 2 && made->shape[1] == 3 && made->strides[0] == 8 && made->strides[1] == 2);     \
        assert_true(view.shape[0] == 2 && view.shape[1] == 3 && view.strides[0] == 8 && view.strides[1] == 2);         \
        dlpark_tensor_release(&tensor);                                                                                \
    } while (0)

static void shapes_come_in_any_integer_type(void **state)
{
    (void)state;
    CHECK_DIMS(int8_t);
    CHECK_DIMS(int16_t);
    CHECK_DIMS(int32_t);
    CHECK_DIMS(int64_t);
    CHECK_DIMS(uint8_t);
    CHECK_DIMS(uint16_t);
    CHECK_DIMS(uint32_t);
    CHECK_DIMS(uint64_t);
    CHECK_DIMS(long);
    CHECK_DIMS(long long);
    CHECK_DIMS(size_t);
}

static void signs_of_narrow_integers_are_kept(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.strides = DLPARK_DIMS((int8_t[]){-3, -1});
    desc.data = values + 32;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_int_equal(tensor.managed->dl_tensor.strides[0], -3);
    dlpark_tensor_release(&tensor);
    desc = good();
    desc.shape = DLPARK_DIMS((int16_t[]){2, -3});
    assert_fails(DLPARK_E_SHAPE, "shape[1] is -3", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.shape = DLPARK_DIMS((uint64_t[]){2, UINT64_MAX});
    assert_fails(DLPARK_E_OVERFLOW, "shape[1] is 18446744073709551615", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.strides = DLPARK_DIMS((uint64_t[]){UINT64_C(1) << 63, 1});
    assert_fails(DLPARK_E_OVERFLOW, "strides[0] is 9223372036854775808", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.shape.width = 3;
    assert_fails(DLPARK_E_ARGUMENT, "shape has integers of 3 bytes", dlpark_tensor_new(&tensor, &desc, NULL, e));
}

static void borrowed_lists_are_not_copied(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 3}, strides[] = {3, 1};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_view view;

    desc.shape = (dlpark_dims){NULL, 0, 0};
    desc.shape_borrowed = shape;
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    assert_ptr_equal(tensor.managed->dl_tensor.shape, shape);
    assert_int_equal(tensor.managed->dl_tensor.strides[0], 3);
    dlpark_tensor_release(&tensor);
    desc.strides_borrowed = strides;
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    assert_ptr_equal(tensor.managed->dl_tensor.strides, strides);
    assert_int_equal(view.strides[0], 3);
    dlpark_tensor_release(&tensor);
    desc = good();
    desc.strides_borrowed = strides;
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    assert_ptr_equal(tensor.managed->dl_tensor.strides, strides);
    assert_int_equal(tensor.managed->dl_tensor.shape[1], 3);
    dlpark_tensor_release(&tensor);
}

static void scalar_has_no_lists(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    assert_ok(dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){.data = values, .dtype = DLPARK_F32}, &view, e));
    assert_null(tensor.managed->dl_tensor.shape);
    assert_null(tensor.managed->dl_tensor.strides);
    assert_int_equal(dlpark_view_numel(&view), 1);
    dlpark_tensor_release(&tensor);
}

static void highest_rank_works(void **state)
{
    (void)state;
    int32_t shape[64];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_view view;

    for (int i = 0; i < 64; i++)
        shape[i] = 1 + (i == 3);
    desc.ndim = 64;
    desc.shape = DLPARK_DIMS(shape);
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    assert_int_equal(view.strides[2], 2);
    assert_int_equal(view.strides[3], 1);
    dlpark_tensor_release(&tensor);
    desc.ndim = 65;
    assert_fails(DLPARK_E_RANK, "65", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.ndim = -1;
    assert_fails(DLPARK_E_RANK, "-1", dlpark_tensor_new(&tensor, &desc, NULL, e));
}

static void const_data_is_read_only(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_view view;

    desc.data = NULL;
    desc.data_const = values;
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    assert_int_equal(view.flags, DLPARK_VIEW_READ_ONLY);
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_null(DLPARK_CPU_MUT(float, &view, NULL));
    dlpark_tensor_release(&tensor);
}

static void is_copied_is_claimed_only_by_name(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.flags = DLPACK_FLAG_BITMASK_IS_COPIED;
    assert_fails(DLPARK_E_FLAGS, "DLPARK_TENSOR_CLAIM_COPIED", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.flags = UINT64_C(1) << 40;
    assert_fails(DLPARK_E_FLAGS, "0x10000000000", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.flags = DLPARK_TENSOR_CLAIM_COPIED;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
    dlpark_tensor_release(&tensor);
}

static void padded_is_said_of_sub_byte_elements_only(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_view view;

    desc.flags = DLPARK_TENSOR_PADDED;
    for (int packed = 0; packed < 2; packed++) {
        uint64_t expected = packed ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0;
        desc.dtype = packed ? DLPARK_I4 : DLPARK_F32;
        assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
        assert_int_equal(tensor.managed->flags, expected);
        assert_int_equal(view.flags, expected);
        view.flags |= DLPARK_VIEW_PADDED;
        assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
        assert_int_equal(part.managed->flags, expected);
        dlpark_tensor_release(&part);
        dlpark_tensor_release(&tensor);
        dlpark_tensor_desc own = {
            .dtype = desc.dtype, .ndim = 1, .shape = DLPARK_DIMS((int[]){3}), .flags = DLPARK_TENSOR_PADDED};
        assert_ok(dlpark_tensor_alloc(&tensor, &own, &view, e));
        assert_int_equal(tensor.managed->flags, expected | DLPACK_FLAG_BITMASK_IS_COPIED);
        dlpark_tensor_release(&tensor);
    }
}

static void offset_is_folded_where_addresses_add_up(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.byte_offset = 8;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ptr_equal(tensor.managed->dl_tensor.data, values + 2);
    assert_int_equal(tensor.managed->dl_tensor.byte_offset, 0);
    dlpark_tensor_release(&tensor);
    static const DLDeviceType handles[] = {kDLOpenCL, kDLVulkan, kDLMetal, kDLWebGPU};
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        desc.device = DLPARK_DEVICE(handles[i], 1);
        assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
        assert_ptr_equal(tensor.managed->dl_tensor.data, values);
        assert_int_equal(tensor.managed->dl_tensor.byte_offset, 8);
        assert_int_equal(tensor.managed->dl_tensor.device.device_id, 1);
        dlpark_tensor_release(&tensor);
    }
}

static void negative_offset_is_refused(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.byte_offset = (uint64_t)INT64_C(-8); /* what a signed offset becomes */
    assert_fails(DLPARK_E_OVERFLOW, "18446744073709551608", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
}

/* Two extents of 1, so that strides which nobody needs are told from those that somebody normalised. */
static void strides_of_extents_of_1_are_given_out_as_given(void **state)
{
    (void)state;
    static const int64_t shape[] = {1, 3, 1}, strides[] = {77, 1, 9};

    for (int way = 0; way < 3; way++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_tensor_desc desc = good();
        dlpark_view view;
        desc.ndim = 3;
        desc.shape = DLPARK_DIMS(shape);
        desc.strides = DLPARK_DIMS(strides);
        desc.byte_offset = way == 1 ? 4 : 0;
        desc.flags = way == 2 ? DLPARK_TENSOR_READ_ONLY : 0;
        assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
        assert_memory_equal(view.strides, strides, sizeof strides);
        DLManagedTensorVersioned *handed = dlpark_tensor_export(&tensor);
        assert_memory_equal(handed->dl_tensor.strides, strides, sizeof strides);
        handed->deleter(handed);
    }
}

static void no_elements_export_no_data_but_end_their_owner(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.shape = DLPARK_DIMS((int[]){0, 3});
    desc.byte_offset = 16;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(tensor.managed->dl_tensor.data);
    assert_int_equal(tensor.managed->dl_tensor.byte_offset, 0);
    assert_non_null(tensor.managed->dl_tensor.strides);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

/* Nobody may multiply by what somebody left there. Borrowed ones stay, since they are the caller's. */
static void no_elements_have_compact_strides(void **state)
{
    (void)state;
    static const int64_t shape[] = {5, 0, 3}, strides[] = {INT64_MAX, -1, INT64_MIN}, compact[] = {3, 3, 1};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_view view;

    desc.ndim = 3;
    desc.shape = DLPARK_DIMS(shape);
    desc.strides = DLPARK_DIMS(strides);
    assert_ok(dlpark_tensor_new(&tensor, &desc, &view, e));
    assert_memory_equal(tensor.managed->dl_tensor.strides, compact, sizeof compact);
    assert_memory_equal(view.strides, compact, sizeof compact);
    dlpark_tensor_release(&tensor);
    desc.strides = (dlpark_dims){NULL, 0, 0};
    desc.strides_borrowed = strides;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ptr_equal(tensor.managed->dl_tensor.strides, strides);
    dlpark_tensor_release(&tensor);
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    static const int64_t list[] = {2, 3};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    const dlpark_tensor_desc *none = NULL;

    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_tensor_new(NULL, &desc, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_tensor_new(&tensor, none, NULL, e));
    desc.data_const = values;
    assert_fails(DLPARK_E_ARGUMENT, "data_const", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.shape_borrowed = list;
    assert_fails(DLPARK_E_ARGUMENT, "shape_borrowed", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.strides = DLPARK_DIMS(list);
    desc.strides_borrowed = list;
    assert_fails(DLPARK_E_ARGUMENT, "strides_borrowed", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.shape = (dlpark_dims){NULL, 0, 0};
    assert_fails(DLPARK_E_SHAPE, "shape is NULL although ndim is 2", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.data = NULL;
    assert_fails(DLPARK_E_DATA, "6 elements", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.dtype.code = 200;
    assert_fails(DLPARK_E_DTYPE, "200", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.device = DLPARK_DEVICE((DLDeviceType)6, 0);
    assert_fails(DLPARK_E_DEVICE, "type 6", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.device = DLPARK_DEVICE((DLDeviceType)0, 1); /* only {0, 0} is short for the CPU */
    assert_fails(DLPARK_E_DEVICE, "type 0 (id 1)", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc = good();
    desc.extra_nbytes = (size_t)INT32_MAX + 1;
    assert_fails(DLPARK_E_ARGUMENT, "extra_nbytes is 2147483648", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
}

static void output_must_be_empty(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    DLManagedTensorVersioned *before = tensor.managed;
    assert_fails(DLPARK_E_NOT_EMPTY, "release or export", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ptr_equal(tensor.managed, before);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
}

static void failing_allocation_takes_nothing(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    dlpark_error err = test_fresh_error();

    failing_alloc_arm_from(1);
    assert_int_equal(dlpark_tensor_new(&tensor, &desc, NULL, &err), DLPARK_E_MEMORY);
    assert_non_null(strstr(err.message, "bytes"));
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
    assert_int_equal(failing_alloc_live(), live);
    failing_alloc_arm(0);
}

static void bad_layout_frees_the_block(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.strides = DLPARK_DIMS((int64_t[]){INT64_MAX, INT64_MAX});
    assert_fails(DLPARK_E_OVERFLOW, "strides[0]", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
    assert_int_equal(failing_alloc_live(), live);
}

/* ---- Sizes of other versions ---- */

static void older_and_newer_descriptions(void **state)
{
    (void)state;
    struct {
        dlpark_tensor_desc known;
        unsigned char later[24];
    } newer;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.storage = &tensor; /* beyond what the older header knows: not read */
    assert_ok(dlpark_tensor_new_sized(&tensor, &desc, offsetof(dlpark_tensor_desc, storage), NULL, e));
    assert_ptr_not_equal(tensor.managed, &tensor);
    dlpark_tensor_release(&tensor);

    memset(&newer, 0, sizeof newer);
    newer.known = good();
    assert_ok(dlpark_tensor_new_sized(&tensor, &newer.known, sizeof newer, NULL, e));
    dlpark_tensor_release(&tensor);
    newer.later[20] = 1;
    assert_fails(DLPARK_E_ARGUMENT, "uses a field at byte",
                 dlpark_tensor_new_sized(&tensor, &newer.known, sizeof newer, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_tensor_new_sized(&tensor, NULL, 8, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "desc is NULL", dlpark_tensor_alloc_sized(&tensor, NULL, 8, NULL, e));
    dlpark_tensor_desc bare = {.dtype = DLPARK_U8};
    assert_ok(dlpark_tensor_alloc_sized(&tensor, &bare, offsetof(dlpark_tensor_desc, storage), NULL, e));
    dlpark_tensor_release(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_takes_the_memory_and_export_gives_it_out),
        TEST(release_is_idempotent_and_takes_nothing),
        TEST(shapes_come_in_any_integer_type),
        TEST(signs_of_narrow_integers_are_kept),
        TEST(borrowed_lists_are_not_copied),
        TEST(scalar_has_no_lists),
        TEST(highest_rank_works),
        TEST(const_data_is_read_only),
        TEST(is_copied_is_claimed_only_by_name),
        TEST(padded_is_said_of_sub_byte_elements_only),
        TEST(no_elements_have_compact_strides),
        TEST(offset_is_folded_where_addresses_add_up),
        TEST(negative_offset_is_refused),
        TEST(strides_of_extents_of_1_are_given_out_as_given),
        TEST(no_elements_export_no_data_but_end_their_owner),
        TEST(contradictions_are_refused),
        TEST(output_must_be_empty),
        TEST(failing_allocation_takes_nothing),
        TEST(bad_layout_frees_the_block),
        TEST(older_and_newer_descriptions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
