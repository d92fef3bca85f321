#include "test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "failing_alloc.h"

/* A release function that counts, and remembers what it ended. */
static int ended;
static void *ended_owner;

static void count_end(void *owner)
{
    ended++;
    ended_owner = owner;
}

static float values[64];
static const int64_t shape_2x3[] = {2, 3};

static int reset(void **state)
{
    (void)state;
    ended = 0;
    ended_owner = NULL;
    failing_alloc_arm(0);
    return 0;
}

static dlpark_tensor_desc good(void)
{
    return (dlpark_tensor_desc){.data = values,
                                .dtype = DLPARK_F32,
                                .ndim = 2,
                                .shape = DLPARK_DIMS(shape_2x3),
                                .owner = values,
                                .release = count_end};
}

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
    assert_fails(DLPARK_E_ARGUMENT, "DLPARK_TENSOR_CLAIM_COPIED", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.flags = UINT64_C(1) << 40;
    assert_fails(DLPARK_E_ARGUMENT, "0x10000000000", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.flags = DLPARK_TENSOR_CLAIM_COPIED | DLPARK_TENSOR_PADDED;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_int_equal(tensor.managed->flags, DLPACK_FLAG_BITMASK_IS_COPIED | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
    dlpark_tensor_release(&tensor);
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
    desc.device = DLPARK_DEVICE(kDLOpenCL, 1);
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ptr_equal(tensor.managed->dl_tensor.data, values);
    assert_int_equal(tensor.managed->dl_tensor.byte_offset, 8);
    assert_int_equal(tensor.managed->dl_tensor.device.device_id, 1);
    dlpark_tensor_release(&tensor);
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
    desc = good();
    desc.extra_nbytes = (size_t)1 << 33;
    assert_fails(DLPARK_E_ARGUMENT, "extra_nbytes is 8589934592", dlpark_tensor_new(&tensor, &desc, NULL, e));
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
    assert_fails(DLPARK_E_OVERFLOW, "strides[1]", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
    assert_int_equal(ended, 0);
    assert_int_equal(failing_alloc_live(), live);
}

/* The usual case and the general way must judge and make the same: every layout of rank 2 by both. */
static void usual_case_agrees_with_the_general_way(void **state)
{
    (void)state;
    static const int64_t numbers[] = {
        0, 1, 2, 3, -1, INT64_C(1) << 27, INT64_C(1) << 28, INT64_C(1) << 40, INT64_MAX, INT64_MIN};
    enum { COUNT = sizeof numbers / sizeof numbers[0] };

    for (int code = 0; code < COUNT * COUNT * COUNT * COUNT; code++) {
        int64_t shape[] = {numbers[code % COUNT], numbers[code / COUNT % COUNT]};
        int64_t strides[] = {numbers[code / COUNT / COUNT % COUNT], numbers[code / COUNT / COUNT / COUNT]};
        dlpark_tensor usual = DLPARK_TENSOR_EMPTY, general = DLPARK_TENSOR_EMPTY;
        dlpark_tensor_desc desc = good();
        dlpark_error usual_error, general_error;
        desc.shape = DLPARK_DIMS(shape);
        if (code % 7 != 0)
            desc.strides = DLPARK_DIMS(strides);
        dlpark_status one = dlpark_tensor_new(&usual, &desc, NULL, &usual_error);
        dlpark_status two = dlpark_tensor_new_sized(&general, &desc, sizeof desc, NULL, &general_error);
        assert_int_equal(one, two);
        assert_int_equal(usual.managed != NULL, one == DLPARK_OK);
        if (one != DLPARK_OK) {
            assert_string_equal(usual_error.message, general_error.message);
            continue;
        }
        const DLTensor *a = &usual.managed->dl_tensor, *b = &general.managed->dl_tensor;
        assert_ptr_equal(a->data, b->data);
        assert_int_equal(a->ndim, b->ndim);
        assert_memory_equal(&a->dtype, &b->dtype, sizeof a->dtype);
        assert_memory_equal(&a->device, &b->device, sizeof a->device);
        assert_memory_equal(a->shape, b->shape, 16);
        assert_memory_equal(a->strides, b->strides, 16);
        assert_int_equal(a->byte_offset, b->byte_offset);
        assert_int_equal(usual.managed->flags, general.managed->flags);
        assert_memory_equal(&usual.managed->version, &general.managed->version, sizeof(DLPackVersion));
        assert_ptr_equal(usual.managed->deleter, general.managed->deleter);
        dlpark_tensor_release(&usual);
        dlpark_tensor_release(&general);
    }
}

/* ---- Storage and extra bytes ---- */

static void storage_of_the_caller_costs_no_allocation(void **state)
{
    (void)state;
    static _Alignas(16) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(64) + 16];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    for (int32_t ndim = 0; ndim <= 64; ndim++) {
        int shape[64], strides[64];
        size_t nbytes = DLPARK_TENSOR_STORAGE_NBYTES(ndim);
        for (int i = 0; i < 64; i++)
            shape[i] = strides[i] = 1;
        dlpark_tensor_desc desc = good();
        desc.ndim = ndim;
        desc.shape = DLPARK_DIMS(shape);
        desc.strides = DLPARK_DIMS(strides);
        desc.storage = storage;
        desc.storage_nbytes = nbytes;
        memset(storage, 0xEE, sizeof storage);
        failing_alloc_arm(1);
        assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
        assert_int_equal(failing_alloc_count(), 0);
        assert_ptr_equal(tensor.managed, storage);
        for (size_t i = nbytes; i < sizeof storage; i++)
            assert_int_equal(storage[i], 0xEE);
        dlpark_tensor_release(&tensor);
        assert_int_equal(ended, ndim + 1);
    }
}

static void storage_must_suffice_and_be_aligned(void **state)
{
    (void)state;
    static _Alignas(16) unsigned char storage[512];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.storage = storage;
    desc.storage_nbytes = 40;
    assert_fails(DLPARK_E_ARGUMENT, "storage has 40 bytes", dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.storage = storage + 8;
    desc.storage_nbytes = 400;
    assert_fails(DLPARK_E_ARGUMENT, "not aligned to 16", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_int_equal(ended, 0);
}

static void *storage_given_back;

static void give_storage_back(void *owner)
{
    storage_given_back = owner;
    memset(owner, 0xDD, 128); /* nobody may touch it after this */
    free(owner);
}

static void release_is_the_last_touch_of_storage(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();
    void *storage = malloc(DLPARK_TENSOR_STORAGE_NBYTES(2));

    assert_non_null(storage);
    desc.storage = storage;
    desc.storage_nbytes = DLPARK_TENSOR_STORAGE_NBYTES(2);
    desc.owner = storage;
    desc.release = give_storage_back;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_ptr_equal(storage_given_back, storage);
}

static void extra_bytes_lie_in_the_same_block(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    for (int32_t ndim = 0; ndim <= 2; ndim++) {
        dlpark_tensor_desc desc = good();
        desc.ndim = ndim;
        desc.extra_nbytes = 100;
        failing_alloc_arm(0);
        assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
        assert_int_equal(failing_alloc_count(), 1);
        unsigned char *extra = dlpark_tensor_extra(&tensor);
        assert_non_null(extra);
        assert_int_equal((uintptr_t)extra % 16, 0);
        memset(extra, 0xAB, 100);
        assert_true(ndim == 0 || tensor.managed->dl_tensor.shape[0] == 2);
        dlpark_tensor_release(&tensor);
    }
    dlpark_tensor_desc desc = good();
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_null(dlpark_tensor_extra(&tensor));
    dlpark_tensor_release(&tensor);
    assert_null(dlpark_tensor_extra(&tensor));
}

static void extra_bytes_are_the_owner_when_there_is_none(void **state)
{
    (void)state;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.owner = NULL;
    desc.extra_nbytes = 8;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    void *extra = dlpark_tensor_extra(&tensor);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
    assert_ptr_equal(ended_owner, extra);
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

/* ---- alloc ---- */

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
    desc.release = free;
    assert_fails(DLPARK_E_ARGUMENT, "owner", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.storage = values;
    assert_fails(DLPARK_E_ARGUMENT, "storage", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.flags = DLPARK_TENSOR_READ_ONLY;
    assert_fails(DLPARK_E_ARGUMENT, "READ_ONLY", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_fails(DLPARK_E_DEVICE, "cuda:0", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc = plain;
    desc.shape = DLPARK_DIMS((int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40});
    assert_fails(DLPARK_E_OVERFLOW, "1099511627776", dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    desc.shape = DLPARK_DIMS((int64_t[]){INT64_C(1) << 31, INT64_C(1) << 31});
    assert_fails(DLPARK_E_OVERFLOW, "4611686018427387904 elements of f32",
                 dlpark_tensor_alloc(&tensor, &desc, NULL, e));
    assert_null(tensor.managed);
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
    assert_non_null(strstr(err.message, "4000 bytes"));
    assert_null(tensor.managed);
    assert_int_equal(failing_alloc_live(), live);
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

#define TEST(name) cmocka_unit_test_setup(name, reset)

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
        TEST(offset_is_folded_where_addresses_add_up),
        TEST(no_elements_export_no_data_but_end_their_owner),
        TEST(contradictions_are_refused),
        TEST(output_must_be_empty),
        TEST(failing_allocation_takes_nothing),
        TEST(bad_layout_frees_the_block),
        TEST(usual_case_agrees_with_the_general_way),
        TEST(storage_of_the_caller_costs_no_allocation),
        TEST(storage_must_suffice_and_be_aligned),
        TEST(release_is_the_last_touch_of_storage),
        TEST(extra_bytes_lie_in_the_same_block),
        TEST(extra_bytes_are_the_owner_when_there_is_none),
        TEST(older_and_newer_descriptions),
        TEST(alloc_owns_aligned_memory_in_one_allocation),
        TEST(alloc_of_every_size_holds_its_bytes),
        TEST(alloc_refuses_what_it_makes_itself),
        TEST(alloc_without_memory_leaves_nothing),
        TEST(alloc_with_extra_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
