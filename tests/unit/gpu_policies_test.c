#include "test.h"

#include <stdbool.h>
#include <string.h>

#include <dlpark/cuda.h>

#include "fakecuda/driver.h"
#include "fakecuda/fakecuda.h"

/*
 * Who frees a device's memory when, while a consumer's work on another stream still runs. Each policy is tried with every order
 * of work that CUDA's model of streams allows the fake: the known-wrong ones have to fail in one of them, or the test would
 * prove nothing of those that pass in all.
 */

static dlpark_cuda cuda = DLPARK_CUDA_EMPTY;
static CUcontext context;
static CUstream producer, consumer;
static int seen;

static void write_kernel(void *address)
{
    int *number = fake_touch((uintptr_t)address, sizeof *number);

    if (number)
        *number = 42;
}

static void read_kernel(void *address)
{
    const int *number = fake_touch((uintptr_t)address, sizeof *number);

    seen = number ? *number : -1;
}

#define CU(call) assert_int_equal(call, CUDA_SUCCESS)

/* What a consumer's stream waits for, by hand. */
static void order_by_hand(CUstream first, CUstream second)
{
    CUevent event;

    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU(cuEventRecord(event, first));
    CU(cuStreamWaitEvent(second, event, 0));
    CU(cuEventDestroy_v2(event));
}

/* Both kernels, in between whatever makes the one wait for the other. */
static void produce(void *address)
{
    CU(fake_launch(producer, write_kernel, address));
}

static void consume(void *address)
{
    CU(fake_launch(consumer, read_kernel, address));
}

/* ---- By hand: what others do ---- */

static void *alloc_plain(void)
{
    CUdeviceptr address;

    CU(cuMemAlloc_v2(&address, 64));
    return (void *)(uintptr_t)address;
}

static void *alloc_pool(void)
{
    CUdeviceptr address;

    CU(cuMemAllocAsync(&address, 64, producer));
    return (void *)(uintptr_t)address;
}

static void free_plain(void *address)
{
    CU(cuMemFree_v2((uintptr_t)address));
}

static void free_on_producer(void *address)
{
    CU(cuMemFreeAsync((uintptr_t)address, producer));
}

static void not_ordered_at_all(void)
{
    void *address = alloc_plain();

    produce(address);
    consume(address);
    free_plain(address);
}

/* What the Rust crate's adapter of cudarc does. */
static void freed_on_the_producers_stream(void)
{
    void *address = alloc_pool();

    produce(address);
    order_by_hand(producer, consumer);
    consume(address);
    free_on_producer(address);
}

static void freed_by_a_call_that_waits(void)
{
    void *address = alloc_plain();

    produce(address);
    order_by_hand(producer, consumer);
    consume(address);
    free_plain(address);
}

/* The documentation says only that it may wait. */
static void freed_by_a_call_that_does_not_wait(void)
{
    fake_free_waits(false);
    freed_by_a_call_that_waits();
}

static void pool_memory_freed_by_that_call(void)
{
    void *address = alloc_pool();

    produce(address);
    order_by_hand(producer, consumer);
    consume(address);
    free_plain(address);
}

static void freed_after_the_context(void)
{
    void *address = alloc_pool();

    produce(address);
    order_by_hand(producer, consumer);
    consume(address);
    CU(cuCtxSynchronize());
    free_plain(address);
}

static void freed_after_the_consumers_event(void)
{
    void *address = alloc_pool();

    produce(address);
    order_by_hand(producer, consumer);
    consume(address);
    order_by_hand(consumer, producer);
    free_on_producer(address);
}

/* ---- dlpark's ---- */

static void make(dlpark_tensor *tensor, const dlpark_gpu_options *options, dlpark_view *view)
{
    assert_ok(dlpark_cuda_alloc(
        &cuda, tensor, &(dlpark_tensor_desc){.dtype = DLPARK_I32, .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){16})},
        options, view, e));
}

/* Gives the tensor out to the consumer's stream, which reads it. */
static DLManagedTensorVersioned *hand_over(dlpark_tensor *tensor, const dlpark_view *view, dlpark_stream to)
{
    DLManagedTensorVersioned *managed = NULL;

    produce(view->data);
    assert_ok(dlpark_cuda_export(&cuda, &managed, tensor, dlpark_cuda_stream(producer), to, e));
    consume(view->data);
    return managed;
}

static void make_hand_over_and_end(const dlpark_gpu_options *options, bool note, dlpark_stream to)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, keeper = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    make(&tensor, options, &view);
    if (note)
        assert_ok(dlpark_tensor_share(&keeper, &tensor, NULL, e));
    DLManagedTensorVersioned *managed = hand_over(&tensor, &view, to);
    if (note)
        assert_ok(dlpark_cuda_note_use(&cuda, &keeper, dlpark_cuda_stream(consumer), e));
    dlpark_tensor_release(&keeper);
    managed->deleter(managed);
}

static void ours_plain(void)
{
    make_hand_over_and_end(NULL, false, dlpark_cuda_stream(consumer));
}

static void ours_plain_noted(void)
{
    fake_free_waits(false);
    make_hand_over_and_end(NULL, true, dlpark_cuda_stream(consumer));
}

static void ours_of_the_pool(void)
{
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(producer)};

    make_hand_over_and_end(&options, false, dlpark_cuda_stream(consumer));
}

static void ours_of_the_pool_noted(void)
{
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(producer)};

    make_hand_over_and_end(&options, true, dlpark_cuda_stream(consumer));
}

static void ours_on_the_stream_noted(void)
{
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(producer),
                                        .release = DLPARK_GPU_RELEASE_ON_STREAM};

    make_hand_over_and_end(&options, true, dlpark_cuda_stream(consumer));
}

/* The consumer's own duty: it ends the tensor when its work is done, whatever the producer's deleter does. */
static void ours_released_after(void)
{
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(producer),
                                        .release = DLPARK_GPU_RELEASE_ON_STREAM};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, taken = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    make(&tensor, &options, &view);
    DLManagedTensorVersioned *managed = hand_over(&tensor, &view, dlpark_cuda_stream(consumer));
    assert_ok(dlpark_tensor_import(&taken, &managed, NULL, e));
    assert_ok(dlpark_cuda_release_after(&cuda, &taken, dlpark_cuda_stream(consumer), e));
    assert_int_equal(dlpark_cuda_poll(&cuda, true), 0);
}

/* The quick way, with nobody who says what the consumer does: wrong, as its page says. */
static void ours_on_the_stream_alone(void)
{
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(producer),
                                        .release = DLPARK_GPU_RELEASE_ON_STREAM};

    make_hand_over_and_end(&options, false, dlpark_cuda_stream(consumer));
}

static void ours_not_synchronised(void)
{
    make_hand_over_and_end(NULL, false, (dlpark_stream){DLPARK_STREAM_NO_SYNC, NULL});
}

/* ---- The table ---- */

typedef struct policy {
    const char *name;
    void (*run)(void);
    bool is_right;
} policy;

#define POLICY(name, is_right)                                                                                         \
    {                                                                                                                  \
#name, name, is_right                                                                                          \
    }
static const policy policies[] = {
    POLICY(not_ordered_at_all, false),
    POLICY(freed_on_the_producers_stream, false),
    POLICY(freed_by_a_call_that_waits, true),
    POLICY(freed_by_a_call_that_does_not_wait, false),
    POLICY(pool_memory_freed_by_that_call, false),
    POLICY(freed_after_the_context, true),
    POLICY(freed_after_the_consumers_event, true),
    POLICY(ours_plain, true),
    POLICY(ours_plain_noted, true),
    POLICY(ours_of_the_pool, true),
    POLICY(ours_of_the_pool_noted, true),
    POLICY(ours_on_the_stream_noted, true),
    POLICY(ours_released_after, true),
    POLICY(ours_on_the_stream_alone, false),
    POLICY(ours_not_synchronised, false),
};

/* One policy in one order of work: whether the consumer has read what the producer wrote, and nothing was used that was not
 * there. Either way nothing is left. */
static bool run_once(const policy *tried, fake_order order, bool consumer_is_older, uint64_t seed)
{
    CUstream *first = consumer_is_older ? &consumer : &producer, *second = consumer_is_older ? &producer : &consumer;

    fake_reset();
    fake_shuffle(seed);
    fake_schedule(order);
    CU(cuStreamCreate(first, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(second, CU_STREAM_NON_BLOCKING));
    seen = 0;
    tried->run();
    fake_drain();
    bool right = seen == 42 && fake_faults() == 0;
    CU(cuStreamDestroy_v2(producer));
    CU(cuStreamDestroy_v2(consumer));
    fake_drain();
    if (fake_live_all() != 0)
        fail_msg("%s leaves %ld things behind", tried->name, fake_live_all());
    return right;
}

static void right_policies_pass_in_every_order_and_wrong_ones_do_not(void **state)
{
    const fake_order orders[] = {FAKE_OLDEST_FIRST, FAKE_NEWEST_FIRST, FAKE_NEEDED_ONLY, FAKE_SHUFFLED};

    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        int failed = 0, tries = 0;
        for (size_t order = 0; order < sizeof orders / sizeof orders[0]; order++)
            for (uint64_t seed = 0; seed < (orders[order] == FAKE_SHUFFLED ? 40 : 2); seed++, tries++)
                failed += !run_once(&policies[i], orders[order], seed % 2 != 0, seed);
        printf("%-40s %d of %d orders\n", policies[i].name, tries - failed, tries);
        if (policies[i].is_right != (failed == 0))
            fail_msg("%s is %s and fails in %d of %d orders of work", policies[i].name,
                     policies[i].is_right ? "right" : "wrong", failed, tries);
    }
}

static int begin(void **state)
{
    (void)state;
    if (dlpark_cuda_open(&cuda, FAKECUDA_PATH, NULL) != DLPARK_OK ||
        cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
        return 1;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_policies_pass_in_every_order_and_wrong_ones_do_not),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
