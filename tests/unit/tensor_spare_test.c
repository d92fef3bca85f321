/* What tensor_share.c keeps of a part that has ended, for the next share of the whole, and the room that a part has. */
#include <pthread.h>
#include <sched.h>

#include "internal.h"
#include "tensor_good.h"

/* A foreign conformant tensor: its own lists, its own deleter. */
static int64_t foreign_shape[] = {2, 3};
static int64_t foreign_strides[] = {3, 1};

static void foreign_end(DLManagedTensorVersioned *self)
{
    assert_ptr_equal(self->manager_ctx, values);
}

static DLManagedTensorVersioned foreign_tensor(uint64_t flags)
{
    return (DLManagedTensorVersioned){.version = {1, 0},
                                      .manager_ctx = values,
                                      .deleter = foreign_end,
                                      .flags = flags,
                                      .dl_tensor = {.data = values,
                                                    .device = {kDLCPU, 0},
                                                    .ndim = 2,
                                                    .dtype = {kDLFloat, 32, 1},
                                                    .shape = foreign_shape,
                                                    .strides = foreign_strides}};
}

static dlpark_tensor make_good(dlpark_view *view)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = good();

    assert_ok(dlpark_tensor_new(&tensor, &desc, view, e));
    return tensor;
}

/* A part has room for the legacy struct: nothing more is allocated, and nothing is freed twice. */
static void part_needs_no_memory_for_the_legacy_abi(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = make_good(NULL), part = DLPARK_TENSOR_EMPTY;
    DLManagedTensor *legacy = NULL;
    dlpark_view view;

    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    DLManagedTensorVersioned *made = part.managed;
    for (int round = 0; round < 3; round++) {
        failing_alloc_arm(1);
        assert_ok(dlpark_tensor_export_legacy(&part, 0, &legacy, e));
        assert_memory_equal(&legacy->dl_tensor, &made->dl_tensor, sizeof legacy->dl_tensor);
        assert_memory_equal(made->dl_tensor.shape, shape_2x3, sizeof shape_2x3);
        assert_int_equal(made->dl_tensor.strides[0], 3);
        assert_int_equal(made->dl_tensor.strides[1], 1);
        assert_ok(dlpark_tensor_import_legacy(&part, &legacy, &view, e));
        failing_alloc_arm(0);
        assert_ptr_equal(part.managed, made); /* taken back itself */
        assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    }
    assert_ok(dlpark_tensor_export_legacy(&part, 0, &legacy, e));
    legacy->dl_tensor.ndim = 1; /* what the struct says counts */
    assert_ok(dlpark_tensor_import_legacy(&part, &legacy, &view, e));
    assert_int_equal(view.ndim, 1);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&part);
    assert_int_equal(ended, 1);
    assert_int_equal(failing_alloc_live(), live);
}

/* ---- The spare part ---- */

static void whole_is_shared_again_and_again_without_memory(void **state)
{
    (void)state;
    long live = failing_alloc_live();
    dlpark_tensor tensor = make_good(NULL), part = DLPARK_TENSOR_EMPTY, other = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    dlpark_tensor_release(&part);
    assert_int_equal(failing_alloc_live(), live + 1); /* whoever shares once keeps nothing */
    failing_alloc_arm(1);
    assert_int_equal(dlpark_tensor_share(&part, &tensor, NULL, &err), DLPARK_E_MEMORY);
    failing_alloc_arm(0);
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    for (int i = 0; i < 3; i++) {
        DLManagedTensorVersioned *spare = part.managed;
        failing_alloc_arm(1);
        assert_int_equal(dlpark_tensor_share(&other, &tensor, NULL, &err), DLPARK_E_MEMORY); /* the spare is out */
        assert_null(other.managed);
        failing_alloc_arm(0);
        assert_ok(dlpark_tensor_share(&other, &tensor, NULL, e));
        assert_ptr_not_equal(other.managed, spare);
        dlpark_tensor_release(&part);
        failing_alloc_arm(1);
        assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e)); /* and is back */
        assert_ptr_equal(part.managed, spare);
        failing_alloc_arm(0);
        dlpark_tensor_release(&other);
    }
    assert_int_equal(failing_alloc_live(), live + 2);
    dlpark_tensor_release(&part);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
    assert_int_equal(failing_alloc_live(), live);
}

static void spare_part_may_be_the_last_owner(void **state)
{
    (void)state;
    for (int also_shared = 0; also_shared < 2; also_shared++) {
        long live = failing_alloc_live();
        dlpark_tensor tensor = make_good(NULL), part = DLPARK_TENSOR_EMPTY, more = DLPARK_TENSOR_EMPTY;
        ended = 0;
        assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
        dlpark_tensor_release(&part);
        assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
        if (also_shared)
            assert_ok(dlpark_tensor_share(&more, &part, NULL, e)); /* counts at the root, as any */
        dlpark_tensor_release(&tensor);
        dlpark_tensor_release(&more);
        assert_int_equal(ended, 0);
        assert_int_equal(part.managed->dl_tensor.shape[1], 3);
        dlpark_tensor_release(&part);
        assert_int_equal(ended, 1);
        assert_int_equal(failing_alloc_live(), live);
    }
}

/* A consumer may write into the struct that it was given: the next one does not see it. */
static void spare_part_is_made_anew(void **state)
{
    (void)state;
    static const int ranks[] = {0, 1, 2, 3, 7};

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        int64_t shape[7] = {2, 1, 2, 1, 1, 2, 1}, strides[7] = {8, 3, 4, 3, 3, 2, 3};
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
        dlpark_tensor_desc desc = {.data = values,
                                   .dtype = DLPARK_F32,
                                   .ndim = ranks[i],
                                   .shape = DLPARK_DIMS(shape),
                                   .strides = DLPARK_DIMS(strides)};
        assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
        for (int round = 0; round < 4; round++) {
            assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
            DLManagedTensorVersioned *made = dlpark_tensor_export(&part);
            assert_int_equal(made->version.major, DLPARK_ABI_MAJOR);
            assert_int_equal(made->flags, 0);
            assert_ptr_equal(made->dl_tensor.data, values);
            assert_int_equal(made->dl_tensor.ndim, ranks[i]);
            assert_true(dlpark_dtype_equal(made->dl_tensor.dtype, DLPARK_F32));
            assert_memory_equal(made->dl_tensor.shape, shape, (size_t)ranks[i] * 8);
            assert_memory_equal(made->dl_tensor.strides, strides, (size_t)ranks[i] * 8);
            made->version.major = 9;
            made->flags = UINT64_MAX;
            if (ranks[i] > 0)
                made->dl_tensor.shape[0] = made->dl_tensor.strides[0] = -1;
            made->dl_tensor = (DLTensor){.ndim = 64, .device = {kDLCUDA, 9}};
            made->deleter(made);
        }
        dlpark_tensor_release(&tensor);
    }
}

static void spare_part_says_what_the_tensor_does(void **state)
{
    (void)state;
    for (uint64_t flags = 0; flags < 8; flags++) {
        for (int packed = 0; packed < 2; packed++) {
            DLManagedTensorVersioned theirs = foreign_tensor(flags), *given = &theirs;
            dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
            uint64_t expected = flags & DLPACK_FLAG_BITMASK_READ_ONLY;
            theirs.dl_tensor.dtype = packed ? DLPARK_I4 : DLPARK_F32;
            if (packed)
                expected |= flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
            assert_ok(dlpark_tensor_import(&tensor, &given, NULL, e));
            for (int round = 0; round < 4; round++) {
                assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
                assert_int_equal(part.managed->flags, expected);
                dlpark_tensor_release(&part);
            }
            dlpark_tensor_release(&tensor);
        }
    }
}

/* ---- Threads ---- */

enum { NROUNDS = 500 };

/* What the giver and the taker of the test below have in common. */
static DLManagedTensorVersioned *handed_over; /* atomic; NULL: the slot is free */

static void *end_what_is_handed_over(void *argument)
{
    for (int left = NROUNDS; left > 0;) {
        DLManagedTensorVersioned *got = __atomic_exchange_n(&handed_over, NULL, __ATOMIC_ACQUIRE);
        if (got == NULL) {
            (void)sched_yield();
            continue;
        }
        if (got->dl_tensor.shape[1] != 3 || got->dl_tensor.strides[0] != 3)
            argument = NULL;
        got->dl_tensor.shape[1] = left; /* a race with the next use of the part would be seen here */
        got->deleter(got);
        left--;
    }
    return argument;
}

static void spare_part_comes_back_from_another_thread(void **state)
{
    (void)state;
    dlpark_tensor tensor = make_good(NULL), part = DLPARK_TENSOR_EMPTY;
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, end_what_is_handed_over, &tensor), 0);
    for (int i = 0; i < NROUNDS; i++) {
        assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
        while (__atomic_load_n(&handed_over, __ATOMIC_RELAXED) != NULL)
            (void)sched_yield();
        __atomic_store_n(&handed_over, dlpark_tensor_export(&part), __ATOMIC_RELEASE);
    }
    dlpark_tensor_release(&tensor);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &tensor);
    assert_int_equal(ended, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(part_needs_no_memory_for_the_legacy_abi), TEST(whole_is_shared_again_and_again_without_memory),
        TEST(spare_part_may_be_the_last_owner),        TEST(spare_part_is_made_anew),
        TEST(spare_part_says_what_the_tensor_does),    TEST(spare_part_comes_back_from_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
