#include "test.h"

#include <dlpark/dlpark.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "failing_alloc.h"
#include "transfer_fake.h"

static dlpark_status transfer(const dlpark_view *to, const dlpark_view *from, dlpark_error *err)
{
    memset(&seen, 0, sizeof seen);
    dlpark_status status = dlpark__transfer_copy(&gpu, to, from, stream, err);
    assert_int_equal(seen.depth, 0);
    return status;
}

/* A view of the middle of the memory of a device, -1 the host, which may be written. */
static dlpark_view made(int where, DLDataType dtype, int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    dlpark_view view;
    DLTensor tensor = {.data = arena[where < 0 ? DEVICES : where] + ARENA / 2,
                       .device = where < 0 ? DLPARK_DEVICE_CPU : (DLDevice){kDLCUDA, where},
                       .ndim = ndim,
                       .dtype = dtype,
                       .shape = (int64_t *)(uintptr_t)shape,
                       .strides = (int64_t *)(uintptr_t)strides};

    assert_int_equal(dlpark_check(&tensor, 0, &view, NULL), DLPARK_OK);
    assert_int_equal(dlpark_view_allow_write(&view, NULL), DLPARK_OK);
    return view;
}

/* ---- Against a loop over the elements ---- */

static void fill_arenas(void)
{
    for (int i = 0; i <= DEVICES; i++)
        for (int at = 0; at < ARENA; at++)
            arena[i][at] = (unsigned char)(at * 7 + at / 256 + i * 61);
}

/* The address of an element by its number in row-major order. */
static unsigned char *element_at(const dlpark_view *view, int64_t number)
{
    int64_t at = 0;

    for (int32_t i = view->ndim - 1; i >= 0; i--) {
        at += number % view->shape[i] * view->strides[i];
        number /= view->shape[i];
    }
    return (unsigned char *)view->data + at * (view->dtype.bits / 8);
}

/* Whether two elements of a destination are one, so that nobody knows which of them stays. */
static bool meets_itself(const dlpark_view *view)
{
    static unsigned char taken[ARENA];
    int64_t count = dlpark_view_numel(view), nbytes = view->dtype.bits / 8;
    const unsigned char *base = (const unsigned char *)view->data - ARENA / 2;

    memset(taken, 0, sizeof taken);
    for (int64_t i = 0; i < count; i++)
        for (int64_t byte = 0; byte < nbytes; byte++)
            if (taken[element_at(view, i) + byte - base]++)
                return true;
    return false;
}

/* Copies, and holds all memory to what a loop over the elements makes of it. */
static void compare(const dlpark_view *to, const dlpark_view *from)
{
    static unsigned char expected[DEVICES + 1][ARENA], values[ARENA];
    int64_t count = dlpark_view_numel(to), nbytes = to->dtype.bits / 8;
    dlpark_error err;

    fill_arenas();
    memcpy(expected, arena, sizeof arena);
    for (int64_t i = 0; i < count; i++)
        memcpy(values + i * nbytes, element_at(from, i), (size_t)nbytes);
    for (int64_t i = 0; i < count; i++)
        memcpy(expected[0] + (element_at(to, i) - arena[0]), values + i * nbytes, (size_t)nbytes);
    assert_int_equal(transfer(to, from, &err), DLPARK_OK);
    assert_memory_equal(arena, expected, sizeof arena);
    if (count > 0 && (to->device.device_type == kDLCPU || from->device.device_type == kDLCPU))
        assert_true(seen.waits > 0);
}

static const int sides[][2] = {{0, -1}, {-1, 0}, {0, 0}, {0, 1}};

static void compare_all_sides(DLDataType dtype, int32_t ndim, const int64_t *shape, const int64_t *to_strides,
                              const int64_t *from_strides)
{
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        dlpark_view to = made(sides[i][0], dtype, ndim, shape, to_strides);
        dlpark_view from = made(sides[i][1], dtype, ndim, shape, from_strides);
        if (dlpark_view_numel(&to) > 0 && meets_itself(&to))
            return;
        compare(&to, &from);
    }
}

static void every_small_layout(void **state)
{
    (void)state;
    for (int code = 0; code < 4 * 4 * 9 * 9 * 9 * 9; code++) {
        int rest = code;
        int64_t shape[2], to[2], from[2];
        for (int i = 0; i < 2; i++, rest /= 4)
            shape[i] = rest % 4;
        for (int i = 0; i < 2; i++, rest /= 9)
            to[i] = rest % 9 - 4;
        for (int i = 0; i < 2; i++, rest /= 9)
            from[i] = rest % 9 - 4;
        compare_all_sides(code % 3 ? DLPARK_U8 : DLPARK_F32, 2, shape, to, from);
    }
}

/* Whether all elements lie in the arena. */
static bool fits(DLDataType dtype, int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    dlpark_view view = made(0, dtype, ndim, shape, strides);
    int64_t lowest, past;

    dlpark__view_byte_range(&view, &lowest, &past);
    return lowest >= -ARENA / 2 && past <= ARENA / 2;
}

static void layouts_of_higher_ranks(void **state)
{
    (void)state;
    int tried = 0;
    uint64_t seed = 0x2545F4914F6CDD1Du;
    const DLDataType dtypes[] = {DLPARK_U8, DLPARK_I16, DLPARK_F32, DLPARK_F64};

    for (int round = 0; round < 20000; round++) {
        int64_t shape[5], to[5], from[5], steps[2] = {1, 1};
        int32_t ndim = 3 + round % 3;
        for (int32_t i = ndim - 1; i >= 0; i--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t roll = seed >> 33;
            shape[i] = 1 + (int64_t)(roll % 3);
            /* mostly beside each other, with gaps, turned round or repeated at times */
            to[i] = steps[0] * (roll / 4 % 8 == 0 ? -1 : 1);
            from[i] = steps[1] * (roll / 32 % 8 == 0 ? -1 : roll / 32 % 8 == 1 ? 0 : 1);
            steps[0] *= shape[i] + (roll / 256 % 3 == 0);
            steps[1] *= shape[i] + (roll / 1024 % 3 == 0);
        }
        if (round % 2) { /* the source's dimensions in another order */
            int64_t kept = from[0];
            from[0] = from[ndim - 1];
            from[ndim - 1] = kept;
        }
        if (!fits(dtypes[round % 4], ndim, shape, to) || !fits(dtypes[round % 4], ndim, shape, from))
            continue;
        tried++;
        compare_all_sides(dtypes[round % 4], ndim, shape, to, from);
    }
    assert_true(tried > 10000);
}

/* ---- Which way ---- */

static void expect_calls(const dlpark_view *to, const dlpark_view *from, long copies, long rows, long peers, long waits)
{
    fill_arenas();
    assert_int_equal(transfer(to, from, NULL), DLPARK_OK);
    assert_int_equal(seen.copies, copies);
    assert_int_equal(seen.rows, rows);
    assert_int_equal(seen.peers, peers);
    assert_int_equal(seen.waits, waits);
}

static void pieces_and_rows_are_copied_where_they_are(void **state)
{
    (void)state;
    const int64_t shape[] = {4, 64}, gap[] = {80, 1}, compact[] = {64, 1};
    dlpark_view there = made(0, DLPARK_U8, 2, shape, compact), here = made(-1, DLPARK_U8, 2, shape, compact);
    dlpark_view rows_there = made(0, DLPARK_U8, 2, shape, gap), rows_here = made(-1, DLPARK_U8, 2, shape, gap);
    dlpark_view other = made(1, DLPARK_U8, 2, shape, compact), rows_other = made(1, DLPARK_U8, 2, shape, gap);

    expect_calls(&there, &here, 1, 0, 0, 1);
    expect_calls(&here, &there, 1, 0, 0, 1);
    expect_calls(&rows_there, &here, 0, 1, 0, 1);
    expect_calls(&here, &rows_there, 0, 1, 0, 1);
    expect_calls(&rows_here, &there, 0, 1, 0, 1);
    expect_calls(&there, &other, 0, 0, 1, 0);      /* nobody waits */
    expect_calls(&there, &rows_other, 2, 0, 0, 2); /* between devices only in one piece */
    there.data = (unsigned char *)there.data + 512;
    expect_calls(&there, &rows_there, 0, 1, 0, 0);
}

static void what_would_take_many_calls_goes_through_the_host(void **state)
{
    (void)state;
    const int64_t shape[] = {16, 32}, compact[] = {32, 1}, turned[] = {1, 16}, sparse_shape[] = {16}, sparse[] = {100},
                  one[] = {1};
    dlpark_view there = made(0, DLPARK_U8, 2, shape, compact), here = made(-1, DLPARK_U8, 2, shape, turned);
    dlpark_view elsewhere = made(0, DLPARK_U8, 2, shape, turned);

    expect_calls(&there, &here, 1, 0, 0, 1);
    expect_calls(&here, &there, 1, 0, 0, 1);
    elsewhere.data = (unsigned char *)elsewhere.data + 512;
    expect_calls(&there, &elsewhere, 2, 0, 0, 2);
    /* A hundred times what is wanted is not fetched. */
    dlpark_view few = made(0, DLPARK_U8, 1, sparse_shape, sparse), packed = made(-1, DLPARK_U8, 1, sparse_shape, one);
    expect_calls(&packed, &few, 0, 1, 0, 1);
    /* Gaps of a destination are not the host's to write. */
    expect_calls(&few, &packed, 0, 1, 0, 1);
}

static void memory_over_itself_is_read_first(void **state)
{
    (void)state;
    const int64_t shape[] = {100}, one[] = {1};
    dlpark_view to = made(0, DLPARK_U8, 1, shape, one), from = made(0, DLPARK_U8, 1, shape, one);

    expect_calls(&to, &from, 0, 0, 0, 0); /* it is there already */
    to.data = (unsigned char *)to.data + 3;
    compare(&to, &from);
    assert_int_equal(seen.copies, 2);
}

static void page_locked_memory_is_the_hosts(void **state)
{
    (void)state;
    const int64_t shape[] = {16, 32}, compact[] = {32, 1}, turned[] = {1, 16};
    dlpark_view there = made(0, DLPARK_U8, 2, shape, compact), here = made(-1, DLPARK_U8, 2, shape, compact);

    here.device = (DLDevice){kDLCUDAHost, 0};
    expect_calls(&there, &here, 1, 0, 0, 1);
    here = made(-1, DLPARK_U8, 2, shape, turned);
    here.device = (DLDevice){kDLCUDAHost, 0};
    expect_calls(&there, &here, 1, 0, 0, 2); /* before it is read, and before what is sent of it goes */
}

static void managed_memory_is_a_devices(void **state)
{
    (void)state;
    const int64_t shape[] = {100}, one[] = {1};
    dlpark_view to = made(1, DLPARK_U8, 1, shape, one), from = made(-1, DLPARK_U8, 1, shape, one);

    to.device = (DLDevice){kDLCUDAManaged, 0}; /* its id is 0 on every device */
    expect_calls(&to, &from, 1, 0, 0, 1);
    from = made(1, DLPARK_U8, 1, shape, one);
    from.data = (unsigned char *)from.data + 200;
    expect_calls(&to, &from, 1, 0, 0, 0);
}

/* ---- Packed elements ---- */

static void packed_elements_are_the_hosts_work(void **state)
{
    (void)state;
    const int64_t shape[] = {3, 4}, compact[] = {4, 1}, turned[] = {1, 3}, odd[] = {3}, one[] = {1};
    const DLDataType nibble = DLPARK_DTYPE(kDLUInt, 4, 1);
    dlpark_view there = made(0, nibble, 2, shape, compact), here = made(-1, nibble, 2, shape, turned);
    dlpark_view back = made(-1, nibble, 2, shape, compact), few = made(0, nibble, 1, odd, one);
    dlpark_view expected, few_here = made(-1, nibble, 1, odd, one);
    unsigned char wanted[6];

    fill_arenas();
    expected = made(-1, nibble, 2, shape, compact);
    expected.data = wanted;
    assert_ok(dlpark_copy(&expected, &here, e));
    assert_ok(transfer(&there, &here, e));
    assert_memory_equal(there.data, wanted, sizeof wanted);
    back.data = (unsigned char *)back.data + 64;
    assert_ok(transfer(&back, &there, e));
    assert_memory_equal(back.data, wanted, sizeof wanted);
    assert_ok(transfer(&few_here, &few, e));
    assert_fails(DLPARK_E_LAYOUT, "3 elements of u4 on cuda:0 do not fill whole bytes", transfer(&few, &few_here, e));
    there.bit_offset = 4;
    assert_fails(DLPARK_E_LAYOUT, "12 elements of u4", transfer(&there, &back, e));
    there = made(0, nibble, 2, shape, turned);
    assert_fails(DLPARK_E_LAYOUT, "12 elements of u4", transfer(&there, &back, e));
}

/* ---- What is refused, and what fails ---- */

static void views_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const int64_t shape[] = {4}, longer[] = {5}, one[] = {1}, zero[] = {0}, none[] = {0};
    dlpark_view there = made(0, DLPARK_U8, 1, shape, one), here = made(-1, DLPARK_U8, 1, shape, one);
    dlpark_view other = made(-1, DLPARK_U8, 1, longer, one), still = made(0, DLPARK_U8, 1, shape, zero);
    dlpark_view empty = made(0, DLPARK_U8, 1, none, one), empty_here = made(-1, DLPARK_U8, 1, none, one);

    assert_fails(DLPARK_E_SHAPE, "5", transfer(&there, &other, e));
    assert_fails(DLPARK_E_STRIDES, "0", transfer(&still, &here, e));
    assert_fails(DLPARK_E_DEVICE, "neither cpu nor cpu is a device", transfer(&here, &here, e));
    there.flags = DLPARK_VIEW_READ_ONLY;
    assert_fails(DLPARK_E_READ_ONLY, "read-only", transfer(&there, &here, e));
    there.flags = 0;
    there.device = (DLDevice){kDLROCM, 0};
    assert_fails(DLPARK_E_DEVICE, "rocm:0 is not a device of CUDA", transfer(&there, &here, e));
    assert_fails(DLPARK_E_DEVICE, "rocm", transfer(&here, &there, e));
    there.device = (DLDevice){kDLCUDA, 2};
    assert_fails(DLPARK_E_DEVICE, "2", transfer(&there, &here, e));
    there.device = (DLDevice){kDLCUDAManaged, 0};
    there.data = arena[DEVICES];
    assert_fails(DLPARK_E_DEVICE, "does not know the memory", transfer(&there, &here, e));
    assert_int_equal(seen.copies + seen.rows + seen.peers, 0);
    assert_ok(transfer(&empty, &empty_here, e));
    assert_int_equal(seen.all, 0);
    memset(&seen, 0, sizeof seen);
    there = made(0, DLPARK_U8, 1, shape, one);
    assert_fails(DLPARK_E_ARGUMENT, "stream",
                 dlpark__transfer_copy(&gpu, &there, &here, (dlpark_stream){DLPARK_STREAM_NO_SYNC, NULL}, e));
    assert_fails(DLPARK_E_ARGUMENT, "dlpark_cuda_open()", dlpark_cuda_copy(NULL, &there, &here, stream, e));
    assert_fails(DLPARK_E_ARGUMENT, "dlpark_hip_open()",
                 dlpark_hip_copy(&(dlpark_hip)DLPARK_HIP_EMPTY, &there, &here, stream, e));
}

/* Fails each call in turn, then each allocation; every time nothing of ours is left, and the context is as before. */
static void fail_each(const dlpark_view *to, const dlpark_view *from)
{
    dlpark_status status = DLPARK_E_FOREIGN;
    long live = failing_alloc_live(), nth;
    dlpark_error err;

    for (nth = 1; status != DLPARK_OK; nth++) {
        memset(&seen, 0, sizeof seen);
        seen.fail_at = nth;
        status = dlpark__transfer_copy(&gpu, to, from, stream, &err);
        assert_int_equal(seen.depth, 0);
        assert_int_equal(failing_alloc_live(), live);
        if (status != DLPARK_OK) {
            assert_int_equal(status, DLPARK_E_FOREIGN);
            assert_non_null(strstr(err.message, "FAKE_ERROR (700)"));
        }
    }
    assert_int_equal(seen.all, nth - 2);
    status = DLPARK_E_MEMORY;
    for (nth = 1; status != DLPARK_OK; nth++) {
        memset(&seen, 0, sizeof seen);
        failing_alloc_arm(nth);
        status = dlpark__transfer_copy(&gpu, to, from, stream, &err);
        failing_alloc_arm(0);
        assert_true(status == DLPARK_OK || status == DLPARK_E_MEMORY);
        assert_int_equal(failing_alloc_live(), live);
    }
}

static void whatever_fails_leaves_nothing(void **state)
{
    (void)state;
    const int64_t shape[] = {16, 32}, compact[] = {32, 1}, turned[] = {1, 16};

    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        dlpark_view to = made(sides[i][0], DLPARK_U8, 2, shape, compact);
        dlpark_view from = made(sides[i][1], DLPARK_U8, 2, shape, turned);
        fail_each(&to, &from);
        from = made(sides[i][1], DLPARK_U8, 2, shape, compact);
        from.data = (unsigned char *)from.data + 1024;
        fail_each(&to, &from);
    }
    dlpark_view to = made(0, DLPARK_U8, 2, shape, compact), from = made(-1, DLPARK_U8, 2, shape, turned);
    from.device = (DLDevice){kDLCUDAHost, 0};
    fail_each(&to, &from);
    from = made(1, DLPARK_U8, 2, shape, compact);
    from.device = (DLDevice){kDLCUDAManaged, 0};
    fail_each(&to, &from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_layout),
        cmocka_unit_test(layouts_of_higher_ranks),
        cmocka_unit_test(pieces_and_rows_are_copied_where_they_are),
        cmocka_unit_test(what_would_take_many_calls_goes_through_the_host),
        cmocka_unit_test(memory_over_itself_is_read_first),
        cmocka_unit_test(page_locked_memory_is_the_hosts),
        cmocka_unit_test(managed_memory_is_a_devices),
        cmocka_unit_test(packed_elements_are_the_hosts_work),
        cmocka_unit_test(views_that_do_not_fit_are_refused),
        cmocka_unit_test(whatever_fails_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
