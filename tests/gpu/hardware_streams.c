/*
 * The order of streams, seen with a kernel that takes its time: with the order the consumer reads what the kernel wrote, and
 * without it what was there before, so that the check is known to be able to fail.
 */
#include "hardware.h"

static const DLDevice cuda_0 = {kDLCUDA, 0};
static const dlpark_stream no_sync = {DLPARK_STREAM_NO_SYNC, NULL};

/* Two streams of cuda:0 that nobody orders, and a number that the producer's kernel will write. */
typedef struct pair {
    CUstream producer;
    CUstream consumer;
    dlpark_tensor tensor;
    dlpark_view view;
    uint32_t seen; /* by the consumer */
    double ms;     /* how long ordering took the host */
} pair;

static verdict pair_open(finding *seen, pair *made)
{
    *made = (pair){.tensor = DLPARK_TENSOR_EMPTY};
    EXPECT_CUDA(DRIVER(cuStreamCreate)(&made->producer, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(DRIVER(cuStreamCreate)(&made->consumer, CU_STREAM_NON_BLOCKING));
    return number_make(seen, &made->tensor, &made->view, cuda_0);
}

static verdict pair_close(finding *seen, pair *made)
{
    EXPECT_CUDA(DRIVER(cuStreamSynchronize)(made->producer));
    dlpark_tensor_release(&made->tensor);
    EXPECT_CUDA(DRIVER(cuStreamDestroy_v2)(made->producer));
    EXPECT_CUDA(DRIVER(cuStreamDestroy_v2)(made->consumer));
    return PASSED;
}

/* What a consumer reads that was ordered after the kernel as `as` says, on its own stream. */
static verdict read_after(finding *seen, dlpark_stream as, pair *with)
{
    TRY(pair_open(seen, with));
    EXPECT_CUDA(driver_launch_slow(with->producer, with->view.data, 7));
    const double start = now_ms();
    EXPECT_OK(dlpark_cuda_order(&cuda, cuda_0, dlpark_cuda_stream(with->producer),
                                as.kind == DLPARK_STREAM_HANDLE ? dlpark_cuda_stream(with->consumer) : as, err));
    with->ms = now_ms() - start;
    return number_read(seen, &with->view, with->consumer, &with->seen);
}

static verdict a_consumer_waits_for_the_producer(finding *seen)
{
    const dlpark_stream ordered = {DLPARK_STREAM_HANDLE, NULL};
    pair with;

    TRY(read_after(seen, ordered, &with));
    EXPECT(with.seen == 7, "ordered, and the consumer reads %u", with.seen);
    EXPECT(with.ms < SHORT_MS, "the host waited %.0f ms", with.ms);
    TRY(pair_close(seen, &with));
    return found(seen, PASSED, "the consumer reads what %s wrote; the call took the host %.2f ms", driver_slow_kernel(),
                 with.ms);
}

static verdict without_the_order_it_does_not(finding *seen)
{
    pair with;

    TRY(read_after(seen, no_sync, &with));
    EXPECT(with.seen == 0, "not ordered, and the consumer reads %u: the check above could not fail", with.seen);
    TRY(pair_close(seen, &with));
    return found(seen, PASSED, "with stream -1 the consumer reads what was there before the kernel");
}

/* Given out to one of the two default streams: what the array API standard calls 1 and 2. */
static verdict give_to(finding *seen, int64_t number, CUstream native)
{
    DLManagedTensorVersioned *managed = NULL;
    dlpark_stream consumer;
    pair with;

    TRY(pair_open(seen, &with));
    EXPECT_CUDA(driver_launch_slow(with.producer, with.view.data, 9));
    EXPECT_OK(dlpark_stream_decode(cuda_0, number, &consumer, err));
    EXPECT_OK(dlpark_cuda_export(&cuda, &managed, &with.tensor, dlpark_cuda_stream(with.producer), consumer, err));
    TRY(number_read(seen, &with.view, native, &with.seen));
    EXPECT(with.seen == 9, "given out to stream %d, which reads %u", (int)number, with.seen);
    managed->deleter(managed);
    return pair_close(seen, &with);
}

static verdict default_streams_wait_as_well(finding *seen)
{
    TRY(give_to(seen, 1, CU_STREAM_LEGACY));
    TRY(give_to(seen, 2, CU_STREAM_PER_THREAD));
    return found(seen, PASSED, "`dlpark_cuda_export()` to the streams 1 and 2 of the standard");
}

static verdict one_stream_needs_no_order(finding *seen)
{
    pair with;

    TRY(pair_open(seen, &with));
    EXPECT_CUDA(driver_launch_slow(with.producer, with.view.data, 5));
    EXPECT_OK(
        dlpark_cuda_order(&cuda, cuda_0, dlpark_cuda_stream(with.producer), dlpark_cuda_stream(with.producer), err));
    TRY(number_read(seen, &with.view, with.producer, &with.seen));
    EXPECT(with.seen == 5, "the stream reads %u of its own", with.seen);
    TRY(pair_close(seen, &with));
    return found(seen, PASSED, "producer and consumer on one stream");
}

/* The program's own context stays the current one, and so does none. */
static verdict the_current_context_stays(finding *seen)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    CUcontext before = NULL, inside = NULL, after = NULL;
    dlpark_view view;

    EXPECT(DRIVER(cuCtxGetCurrent)(&before) == CUDA_SUCCESS && before == NULL, "a context is current: %p",
           (void *)before);
    TRY(number_make(seen, &tensor, &view, cuda_0));
    driver_push();
    (void)DRIVER(cuCtxGetCurrent)(&before);
    dlpark_tensor_release(&tensor);
    (void)DRIVER(cuCtxGetCurrent)(&inside);
    driver_pop();
    (void)DRIVER(cuCtxGetCurrent)(&after);
    EXPECT(inside == before, "the current context was %p and is %p", (void *)before, (void *)inside);
    EXPECT(after == NULL, "no context was current, and now %p is", (void *)after);
    return found(seen, PASSED, "one of the program's, and none");
}

const check stream_checks[] = {
    {"a consumer's stream waits for the producer's", a_consumer_waits_for_the_producer},
    {"without that it does not", without_the_order_it_does_not},
    {"the default streams", default_streams_wait_as_well},
    {"one stream for both", one_stream_needs_no_order},
    {"the caller's current context is kept", the_current_context_stays},
    {NULL, NULL},
};
