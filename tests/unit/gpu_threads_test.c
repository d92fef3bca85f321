#include <pthread.h>

#include "gpu_fake.h"

/* Many threads at once, with the driver's work as late as it may be: nothing is lost, freed twice or freed too early. */
enum { THREADS = 8, STREAMS = 4, ROUNDS = 12500 };

static CUstream streams[STREAMS];

static void fill_kernel(void *address)
{
    int *number = fake_touch((uintptr_t)address, sizeof *number);

    if (number)
        *number = 1;
}

static dlpark_stream stream_of(unsigned roll)
{
    return dlpark_cuda_stream(streams[roll % STREAMS]);
}

/* One tensor's life: made, written, given out to another stream, read there, and ended in one of the ways. */
static void live_once(unsigned roll)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *managed = NULL;
    bool is_pool = roll % 2 != 0;
    const dlpark_gpu_options options = {
        .stream = stream_of(roll), .release = roll % 4 == 3 ? DLPARK_GPU_RELEASE_ON_STREAM : DLPARK_GPU_RELEASE_WAIT};
    dlpark_view view;

    assert_ok(
        dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, is_pool ? &options : NULL, &view, e));
    assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
    assert_int_equal(fake_launch(streams[roll % STREAMS], fill_kernel, view.data), 0);
    assert_ok(dlpark_cuda_export(&cuda, &managed, &tensor, stream_of(roll), stream_of(roll / 4), e));
    assert_int_equal(fake_launch(streams[roll / 4 % STREAMS], fill_kernel, view.data), 0);
    assert_ok(dlpark_cuda_note_use(&cuda, &part, stream_of(roll / 4), e));
    if (roll / 16 % 2) {
        assert_ok(dlpark_cuda_release_after(&cuda, &part, stream_of(roll / 4), e));
        managed->deleter(managed);
    } else {
        managed->deleter(managed);
        dlpark_tensor_release(&part);
    }
}

static void *live_often(void *argument)
{
    unsigned roll = (unsigned)(uintptr_t)argument * 2654435761u;

    gpu_fake_push(0);
    for (int i = 0; i < ROUNDS; i++) {
        roll = roll * 1664525u + 1013904223u;
        live_once(roll >> 8);
        if (i % 64 == 0)
            (void)dlpark_cuda_poll(&cuda, false);
    }
    return (void *)(uintptr_t)(fake_context_depth() == 1);
}

static void threads_make_and_end_tensors(void **state)
{
    pthread_t threads[THREADS];
    void *is_alone;

    (void)state;
    gpu_fake_push(0);
    fake_schedule(FAKE_SHUFFLED);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, live_often, (void *)(uintptr_t)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &is_alone), 0);
        assert_non_null(is_alone);
    }
    assert_int_equal(dlpark_cuda_poll(&cuda, true), 0);
    fake_drain();
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(cuStreamDestroy_v2(streams[i]), CUDA_SUCCESS);
    fake_drain();
    assert_int_equal(fake_live_all(), 0);
    assert_string_equal(fake_fault(), "");
    CUcontext context;
    assert_int_equal(cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {GPU_TEST(threads_make_and_end_tensors)};

    return cmocka_run_group_tests(tests, gpu_fake_open, NULL);
}
