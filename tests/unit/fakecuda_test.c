/*
 * The fake CUDA driver by itself: that it answers as the driver does where a rule is broken, and that its work runs as late,
 * and in as odd an order, as the model allows, and no odder. What is proven with it stands on this.
 */
#include "test.h"

#include <string.h>

#include "fakecuda/driver.h"
#include "fakecuda/fakecuda.h"

#define CU(call) assert_int_equal(call, CUDA_SUCCESS)

static int begin(void **state)
{
    CUcontext context;

    (void)state;
    fake_reset();
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxPushCurrent_v2(context));
    return 0;
}

static int end(void **state)
{
    CUcontext context;

    (void)state;
    fake_mode(FAKE_MODE_USUAL);
    fake_drain();
    CU(cuCtxPopCurrent_v2(&context));
    CU(cuDevicePrimaryCtxRelease_v2(0));
    assert_int_equal(fake_live_all(), 0);
    assert_int_equal(fake_context_depth(), 0);
    return 0;
}

/* ---- Rules ---- */

static void calls_need_what_they_need(void **state)
{
    CUcontext context;
    CUdeviceptr pointer = 0;
    CUevent event;

    (void)state;
    CU(cuEventCreate(&event, 0));
    CU(cuCtxPopCurrent_v2(&context));
    assert_int_equal(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    fake_uninit();
    assert_int_equal(cuCtxPushCurrent_v2(context), CUDA_ERROR_NOT_INITIALIZED);
    CU(cuInit(0));
    CU(cuCtxPushCurrent_v2(context));
    CU(cuEventDestroy_v2(event));
    assert_int_equal(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
    fake_mode(FAKE_MODE_ENDED);
    assert_int_equal(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_DEINITIALIZED);
    fake_mode(FAKE_MODE_STUB);
    assert_int_equal(cuInit(0), CUDA_ERROR_STUB_LIBRARY);
    fake_mode(FAKE_MODE_NO_DEVICE);
    assert_int_equal(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

static void memory_ends_once(void **state)
{
    CUdeviceptr pointer, again;

    (void)state;
    assert_int_equal(cuMemAlloc_v2(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemAlloc_v2(&pointer, 16));
    assert_int_equal(cuMemFree_v2(pointer + 1), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemFree_v2(pointer));
    assert_int_equal(cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
    assert_null(fake_memory(pointer));
    CU(cuMemAlloc_v2(&again, 16)); /* elsewhere, so that a stale address is found out */
    assert_int_not_equal(again, pointer);
    CU(cuMemFree_v2(again));
}

static void copies_stay_in_their_allocation(void **state)
{
    CUdeviceptr pointer;
    char bytes[17] = "";

    (void)state;
    CU(cuMemAlloc_v2(&pointer, 16));
    CU(cuMemcpyHtoDAsync_v2(pointer, bytes, 16, NULL));
    assert_int_equal(cuMemcpyHtoDAsync_v2(pointer, bytes, 17, NULL), CUDA_ERROR_INVALID_VALUE);
    CU(cuMemFree_v2(pointer));
    assert_int_equal(cuMemcpyHtoDAsync_v2(pointer, bytes, 16, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(fake_faults(), 0);
}

static void errors_come_when_they_are_told_to(void **state)
{
    CUdeviceptr pointer;
    long calls;

    (void)state;
    fake_fail("cuMemAlloc_v2", 2, CUDA_ERROR_OUT_OF_MEMORY);
    calls = fake_calls(NULL);
    CU(cuMemAlloc_v2(&pointer, 16));
    assert_false(fake_failed());
    CU(cuMemFree_v2(pointer));
    assert_int_equal(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_OUT_OF_MEMORY);
    assert_true(fake_failed());
    assert_int_equal(fake_calls(NULL) - calls, 3);
    assert_int_equal(fake_live(FAKE_MEMORY), 0);
    fake_fail(NULL, 0, 0);
    fake_lose(0, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_LAUNCH_FAILED);
    fake_lose(0, 0);
}

/* ---- Work ---- */

typedef struct note {
    int *count;
    int *place; /* when it ran, from 1 on */
} note;

static void take_note(void *argument)
{
    const note *of = argument;

    *of->place = ++*of->count;
}

/* Two streams that do not wait for the default one, and a kernel in each of the three. */
typedef struct three {
    CUstream first, second;
    int count, places[3];
    note notes[3];
} three;

static void queue(three *of, CUevent between)
{
    memset(of, 0, sizeof *of);
    for (int i = 0; i < 3; i++)
        of->notes[i] = (note){&of->count, &of->places[i]};
    CU(cuStreamCreate(&of->first, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&of->second, CU_STREAM_NON_BLOCKING));
    CU(fake_launch(of->first, take_note, &of->notes[0]));
    if (between != NULL) {
        CU(cuEventRecord(between, of->first));
        CU(cuStreamWaitEvent(of->second, between, 0));
    }
    CU(fake_launch(of->second, take_note, &of->notes[1]));
    CU(fake_launch(NULL, take_note, &of->notes[2]));
}

static void end_streams(three *of)
{
    CU(cuStreamDestroy_v2(of->first));
    CU(cuStreamDestroy_v2(of->second));
    fake_drain();
}

static void work_is_as_late_as_it_may_be(void **state)
{
    three of;

    (void)state;
    fake_schedule(FAKE_NEEDED_ONLY);
    queue(&of, NULL);
    assert_int_equal(of.count, 0);
    assert_int_equal(fake_live(FAKE_WORK), 3);
    CU(cuStreamSynchronize(of.second));
    assert_int_equal(of.places[1], 1);
    assert_int_equal(of.count, 1);
    assert_int_equal(cuStreamQuery(of.first), CUDA_ERROR_NOT_READY);
    CU(cuCtxSynchronize());
    assert_int_equal(of.count, 3);
    end_streams(&of);
}

static void streams_run_in_the_order_that_is_chosen(void **state)
{
    three of;

    (void)state;
    fake_schedule(FAKE_OLDEST_FIRST);
    queue(&of, NULL);
    fake_drain();
    assert_true(of.places[0] < of.places[1]);
    end_streams(&of);
    fake_schedule(FAKE_NEWEST_FIRST);
    queue(&of, NULL);
    fake_drain();
    assert_true(of.places[0] > of.places[1]);
    end_streams(&of);
    fake_schedule(FAKE_AT_ONCE);
    queue(&of, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(of.places[i], i + 1);
    end_streams(&of);
}

/* Whatever is chosen: the event holds in all, and the order of one stream. */
static void events_hold_in_every_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        CUevent event;
        three of;
        int late = 0;
        note behind = {&of.count, &late};
        CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        fake_schedule(seed == 0 ? FAKE_NEWEST_FIRST : FAKE_SHUFFLED);
        fake_shuffle(seed);
        queue(&of, event);
        CU(fake_launch(of.first, take_note, &behind));
        CU(cuEventDestroy_v2(event)); /* what was queued with it holds all the same */
        fake_drain();
        assert_true(of.places[0] < of.places[1]);
        assert_true(of.places[0] < late);
        end_streams(&of);
    }
}

/* The legacy default stream comes after all that blocking streams were given before, and before what they are given then. */
static void the_default_stream_is_a_barrier_for_blocking_streams(void **state)
{
    const fake_order orders[] = {FAKE_OLDEST_FIRST, FAKE_NEWEST_FIRST, FAKE_NEEDED_ONLY};

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        CUstream blocking;
        int count = 0, places[3] = {0};
        note notes[3] = {{&count, &places[0]}, {&count, &places[1]}, {&count, &places[2]}};
        fake_schedule(orders[i]);
        CU(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
        CU(fake_launch(blocking, take_note, &notes[0]));
        CU(fake_launch(NULL, take_note, &notes[1]));
        CU(fake_launch(blocking, take_note, &notes[2]));
        CU(cuStreamDestroy_v2(blocking));
        fake_drain();
        for (int j = 0; j < 3; j++)
            assert_int_equal(places[j], j + 1);
    }
}

/* ---- Faults ---- */

static CUdeviceptr touched;

static void touch(void *argument)
{
    (void)argument;
    (void)fake_touch(touched, 16);
}

static void a_kernel_that_comes_too_late_is_a_fault(void **state)
{
    CUstream stream;

    (void)state;
    fake_free_waits(false); /* as the documentation has it */
    fake_schedule(FAKE_NEEDED_ONLY);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&touched, 16));
    CU(fake_launch(stream, touch, NULL));
    CU(cuMemFree_v2(touched));
    assert_int_equal(fake_faults(), 0);
    CU(cuStreamSynchronize(stream));
    assert_int_equal(fake_faults(), 1);
    assert_string_not_equal(fake_fault(), "");
    CU(cuStreamDestroy_v2(stream));
    fake_reset();
    assert_int_equal(fake_faults(), 0);
}

static void a_free_that_waits_is_none(void **state)
{
    CUstream stream;

    (void)state;
    fake_schedule(FAKE_NEEDED_ONLY);
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc_v2(&touched, 16));
    CU(fake_launch(stream, touch, NULL));
    CU(cuMemFree_v2(touched));
    CU(cuStreamDestroy_v2(stream));
    fake_drain();
    assert_int_equal(fake_faults(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_need_what_they_need, begin, end),
        cmocka_unit_test_setup_teardown(memory_ends_once, begin, end),
        cmocka_unit_test_setup_teardown(copies_stay_in_their_allocation, begin, end),
        cmocka_unit_test_setup_teardown(errors_come_when_they_are_told_to, begin, end),
        cmocka_unit_test_setup_teardown(work_is_as_late_as_it_may_be, begin, end),
        cmocka_unit_test_setup_teardown(streams_run_in_the_order_that_is_chosen, begin, end),
        cmocka_unit_test_setup_teardown(events_hold_in_every_order, begin, end),
        cmocka_unit_test_setup_teardown(the_default_stream_is_a_barrier_for_blocking_streams, begin, end),
        cmocka_unit_test_setup_teardown(a_kernel_that_comes_too_late_is_a_fault, begin, end),
        cmocka_unit_test_setup_teardown(a_free_that_waits_is_none, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
