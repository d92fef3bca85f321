#include "tensor_good.h"

/* The usual case and the general way must judge alike and make the same of a description. */
static void compare_both_ways(const dlpark_tensor_desc *desc)
{
    static _Alignas(16) unsigned char
        storages[2][(DLPARK_TENSOR_STORAGE_NBYTES(DLPARK_MAX_NDIM) + 15) / 16 * 16]; /* both aligned */
    dlpark_tensor usual = DLPARK_TENSOR_EMPTY, general = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc one_desc = *desc, two_desc = *desc;
    dlpark_error usual_error, general_error;

    if (desc->storage != NULL) { /* each its own, so that one does not overwrite the other */
        one_desc.storage = storages[0];
        two_desc.storage = storages[1];
        memset(storages, 0xEE, sizeof storages);
    }
    dlpark_status one = dlpark_tensor_new(&usual, &one_desc, NULL, &usual_error);
    dlpark_status two = dlpark_tensor_new_sized(&general, &two_desc, sizeof two_desc, NULL, &general_error);

    assert_int_equal(one, two);
    assert_int_equal(usual.managed != NULL, one == DLPARK_OK);
    if (one != DLPARK_OK) {
        assert_string_equal(usual_error.message, general_error.message);
        return;
    }
    assert_true(desc->storage == NULL || (void *)usual.managed == storages[0]);
    const DLTensor *a = &usual.managed->dl_tensor, *b = &general.managed->dl_tensor;
    size_t nbytes = (size_t)desc->ndim * sizeof(int64_t);
    assert_ptr_equal(a->data, b->data);
    assert_int_equal(a->ndim, b->ndim);
    assert_memory_equal(&a->dtype, &b->dtype, sizeof a->dtype);
    assert_memory_equal(&a->device, &b->device, sizeof a->device);
    assert_memory_equal(a->shape, b->shape, nbytes);
    assert_memory_equal(a->strides, b->strides, nbytes);
    assert_int_equal(a->byte_offset, b->byte_offset);
    assert_int_equal(usual.managed->flags, general.managed->flags);
    assert_memory_equal(&usual.managed->version, &general.managed->version, sizeof(DLPackVersion));
    assert_ptr_equal(usual.managed->deleter, general.managed->deleter);
    assert_ptr_equal(usual.managed->manager_ctx, general.managed->manager_ctx);
    dlpark_tensor_release(&usual);
    dlpark_tensor_release(&general);
}

/* The same of memory that may be written and that must not, said in each of the ways. */
static void compare_all_ways(dlpark_tensor_desc desc)
{
    compare_both_ways(&desc);
    desc.flags = DLPARK_TENSOR_READ_ONLY;
    compare_both_ways(&desc);
    desc.data_const = desc.data;
    compare_both_ways(&desc); /* a contradiction, unless it is NULL */
    desc.data = NULL;
    compare_both_ways(&desc);
    desc.flags = 0;
    compare_both_ways(&desc);
}

/* The same with storage and without. */
static void compare_in_both_places(dlpark_tensor_desc desc)
{
    static _Alignas(16) unsigned char any[1];

    compare_all_ways(desc);
    desc.storage = any;
    desc.storage_nbytes = DLPARK_TENSOR_STORAGE_NBYTES(DLPARK_MAX_NDIM);
    compare_all_ways(desc);
}

static const int64_t telling[] = {0,         1,        2, 3, -1, INT64_C(1) << 27, INT64_C(1) << 28, INT64_C(1) << 40,
                                  INT64_MAX, INT64_MIN};
enum { TELLING = sizeof telling / sizeof telling[0] };

/* Sums of these wrap in many a way, which no sanitizer may see. */
static void every_layout_of_rank_1_by_both_ways(void **state)
{
    (void)state;
    static const int64_t more[] = {INT64_MAX - 1, INT64_MAX / 2,    INT64_MAX / 2 + 1,
                                   -INT64_MAX,    INT64_C(1) << 62, (INT64_C(1) << 28) - 1};
    enum { MORE = sizeof more / sizeof more[0], ALL = TELLING + MORE };

    for (int code = 0; code < ALL * ALL; code++) {
        int one = code % ALL, two = code / ALL;
        int64_t size = one < TELLING ? telling[one] : more[one - TELLING];
        int64_t step = two < TELLING ? telling[two] : more[two - TELLING];
        dlpark_tensor_desc desc = good();
        desc.ndim = 1;
        desc.shape = DLPARK_DIMS(&size);
        compare_in_both_places(desc);
        desc.strides = DLPARK_DIMS(&step);
        compare_in_both_places(desc);
    }
}

static void every_layout_of_rank_2_by_both_ways(void **state)
{
    (void)state;
    for (int code = 0; code < TELLING * TELLING * TELLING * TELLING; code++) {
        int64_t sizes[] = {telling[code % TELLING], telling[code / TELLING % TELLING]};
        int64_t steps[] = {telling[code / TELLING / TELLING % TELLING], telling[code / TELLING / TELLING / TELLING]};
        dlpark_tensor_desc desc = good();
        desc.shape = DLPARK_DIMS(sizes);
        if (code % 7 != 0)
            desc.strides = DLPARK_DIMS(steps);
        if (code % 3 == 0) /* about where the address space ends */
            desc.data = (void *)(UINTPTR_MAX - (uintptr_t)(code % 64));
        compare_in_both_places(desc);
    }
}

static void layouts_of_every_rank_by_both_ways(void **state)
{
    (void)state;
    uint64_t seed = 0x2545F4914F6CDD1Du;
    int64_t sizes[64], steps[64];

    for (int round = 0; round < 60000; round++) {
        dlpark_tensor_desc desc = good();
        desc.ndim = 1 + round % 64;
        for (int i = 0; i < desc.ndim; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t roll = seed >> 33;
            /* mostly what tensors have, so that high ranks are not all refused */
            sizes[i] = roll % 32 != 0 ? (int64_t)(1 + roll % 3 / 2) : telling[roll / 32 % TELLING];
            steps[i] = roll % 31 != 0 ? (int64_t)(roll % 5) : telling[roll / 31 % TELLING];
        }
        desc.shape = DLPARK_DIMS(sizes);
        if (round / 64 % 2 != 0)
            desc.strides = DLPARK_DIMS(steps);
        compare_in_both_places(desc);
    }
}

/* Ranks 3 and 4 have ways of their own; here extents, strides and products pass the limits in every combination. */
static void layouts_of_rank_3_and_4_by_both_ways(void **state)
{
    (void)state;
    static const int64_t edges[] = {0, 1, 3, -1, INT64_C(1) << 27, INT64_C(1) << 32};
    enum { EDGES = sizeof edges / sizeof edges[0] };

    for (int code = 0; code < EDGES * EDGES * EDGES * EDGES; code++) {
        int64_t sizes[8] = {edges[code % EDGES], edges[code / EDGES % EDGES], edges[code / EDGES / EDGES % EDGES],
                            edges[code / EDGES / EDGES / EDGES]};
        int64_t steps[8] = {0};
        dlpark_tensor_desc desc = good();
        desc.shape = DLPARK_DIMS(sizes);
        for (int way = 0; way < 6; way++) {
            desc.ndim = 3 + way % 2;
            desc.strides = way < 2 ? (dlpark_dims){NULL, 0, 0} : DLPARK_DIMS(steps);
            steps[code % 4] = way < 4 ? 2 : edges[code % EDGES];
            compare_in_both_places(desc);
        }
        desc.ndim = 8; /* zero extents, beyond the short ranks */
        for (int i = 4; i < 8; i++)
            sizes[i] = 1;
        compare_in_both_places(desc);
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
    desc.storage = NULL;
    assert_fails(DLPARK_E_ARGUMENT, "storage_nbytes is 40, and storage is NULL",
                 dlpark_tensor_new(&tensor, &desc, NULL, e));
    desc.storage = storage + 4; /* malloc's alignment is 8 or 16 */
    desc.storage_nbytes = 400;
    assert_fails(DLPARK_E_ARGUMENT, "is not aligned to", dlpark_tensor_new(&tensor, &desc, NULL, e));
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

/* What the usual case must not touch: a rank that is none, and no shape; with storage and without. */
static void no_dimensions_to_read_by_both_ways(void **state)
{
    (void)state;
    for (int32_t ndim = -1; ndim <= DLPARK_MAX_NDIM + 1; ndim += 1 + (ndim == 1) * (DLPARK_MAX_NDIM - 1)) {
        dlpark_tensor_desc desc = good();
        desc.ndim = ndim;
        desc.shape = DLPARK_DIMS((const int64_t *)NULL);
        compare_in_both_places(desc);
    }
}

static void wrong_tensor_leaves_the_storage_to_the_caller(void **state)
{
    (void)state;
    static _Alignas(16) unsigned char storage[DLPARK_TENSOR_STORAGE_NBYTES(2)];
    long live = failing_alloc_live();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    desc.storage = storage;
    desc.storage_nbytes = sizeof storage;
    desc.data = NULL;
    assert_fails(DLPARK_E_DATA, "6 elements", dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_int_equal(failing_alloc_live(), live);
    assert_int_equal(ended, 0);
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
        assert_int_equal((uintptr_t)extra % _Alignof(max_align_t), 0);
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
        TEST(every_layout_of_rank_1_by_both_ways),           TEST(layouts_of_rank_3_and_4_by_both_ways),
        TEST(every_layout_of_rank_2_by_both_ways),           TEST(layouts_of_every_rank_by_both_ways),
        TEST(storage_of_the_caller_costs_no_allocation),     TEST(storage_must_suffice_and_be_aligned),
        TEST(release_is_the_last_touch_of_storage),          TEST(extra_bytes_lie_in_the_same_block),
        TEST(extra_bytes_are_the_owner_when_there_is_none),  TEST(no_dimensions_to_read_by_both_ways),
        TEST(wrong_tensor_leaves_the_storage_to_the_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
