#include "tensor_good.h"

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
        if (code % 3 == 0) /* about where the address space ends */
            desc.data = (void *)(UINTPTR_MAX - (uintptr_t)(code % 64));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(usual_case_agrees_with_the_general_way), TEST(storage_of_the_caller_costs_no_allocation),
        TEST(storage_must_suffice_and_be_aligned),    TEST(release_is_the_last_touch_of_storage),
        TEST(extra_bytes_lie_in_the_same_block),      TEST(extra_bytes_are_the_owner_when_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
