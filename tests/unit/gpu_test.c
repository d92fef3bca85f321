#include "gpu_fake.h"

#include <pthread.h>

#include "gpu_copy.h"

static const dlpark_stream per_thread = {DLPARK_STREAM_PER_THREAD, NULL};

static dlpark_stream handle_of(uintptr_t handle)
{
    return (dlpark_stream){DLPARK_STREAM_HANDLE, (void *)handle};
}

static void make(dlpark_tensor *tensor, const dlpark_gpu_options *options)
{
    assert_ok(dlpark_cuda_alloc(&cuda, tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, options, NULL, e));
}

/* The calls that a release makes without notes: push, relax, ask, wait, free, restore, pop. */
enum { CALLS_OF_RELEASE = 7, CALLS_OF_ORDER = 6 };

/* ---- Order ---- */

static void the_same_stream_needs_no_call(void **state)
{
    CUstream stream = gpu_fake_stream();
    const struct {
        dlpark_stream producer, consumer;
    } same[] = {
        {unsaid, unsaid},
        {unsaid, {DLPARK_STREAM_DEFAULT, NULL}},
        {unsaid, handle_of(1)},
        {handle_of(0), {DLPARK_STREAM_DEFAULT, NULL}},
        {per_thread, handle_of(2)},
        {dlpark_cuda_stream(stream), handle_of((uintptr_t)stream)},
        {dlpark_cuda_stream(NULL), unsaid},
        {no_sync, per_thread},
        {per_thread, no_sync},
    };

    (void)state;
    fake_reset();
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_ok(dlpark_cuda_order(&cuda, cuda_0, same[i].producer, same[i].consumer, e));
    assert_int_equal(fake_calls(NULL), 0);
    gpu_fake_close(stream);
}

static void one_stream_waits_for_another_in_six_calls(void **state)
{
    CUstream stream = gpu_fake_stream();

    (void)state;
    fake_reset();
    assert_ok(dlpark_cuda_order(&cuda, cuda_0, unsaid, dlpark_cuda_stream(stream), e));
    assert_int_equal(fake_calls(NULL), CALLS_OF_ORDER);
    assert_int_equal(fake_calls("cuStreamWaitEvent"), 1);
    assert_int_equal(fake_live(FAKE_EVENT), 0);
    assert_ok(dlpark_cuda_order(&cuda, cuda_0, per_thread, unsaid, e));
    assert_ok(dlpark_cuda_order(&cuda, (DLDevice){kDLCUDA, 1}, per_thread, dlpark_cuda_stream(stream), e));
    gpu_fake_close(stream);
}

static void order_refuses(void **state)
{
    (void)state;
    assert_fails(DLPARK_E_DEVICE, "cpu is not a device of CUDA",
                 dlpark_cuda_order(&cuda, DLPARK_DEVICE_CPU, unsaid, per_thread, e));
    assert_fails(DLPARK_E_DEVICE, "no device 9",
                 dlpark_cuda_order(&cuda, (DLDevice){kDLCUDA, 9}, unsaid, per_thread, e));
    assert_fails(DLPARK_E_ARGUMENT, "6 is no kind of stream",
                 dlpark_cuda_order(&cuda, cuda_0, (dlpark_stream){(dlpark_stream_kind)6, NULL}, per_thread, e));
    assert_fails(DLPARK_E_ARGUMENT, "6 is no kind of stream",
                 dlpark_cuda_order(&cuda, cuda_0, per_thread, (dlpark_stream){(dlpark_stream_kind)6, NULL}, e));
    assert_fails(DLPARK_E_DEVICE, "no device 9", dlpark_cuda_wait(&cuda, (DLDevice){kDLCUDA, 9}, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no kind",
                 dlpark_cuda_wait(&cuda, cuda_0, (dlpark_stream){(dlpark_stream_kind)6, NULL}, e));
    assert_int_equal(fake_calls(NULL), 0);
}

static void the_host_waits_for_a_stream(void **state)
{
    CUstream stream = gpu_fake_stream();
    int done = 0;

    (void)state;
    fake_schedule(FAKE_NEEDED_ONLY);
    gpu_fake_work(stream, &done);
    long before = fake_calls(NULL);
    assert_ok(dlpark_cuda_wait(&cuda, cuda_0, no_sync, e));
    assert_int_equal(fake_calls(NULL), before);
    assert_ok(dlpark_cuda_wait(&cuda, cuda_0, dlpark_cuda_stream(stream), e));
    assert_int_equal(done, 1);
    assert_int_equal(fake_calls(NULL), before + 3);
    gpu_fake_close(stream);
}

/* ---- Export ---- */

static void export_orders_and_hands_over(void **state)
{
    CUstream stream = gpu_fake_stream();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *managed = NULL;

    (void)state;
    make(&tensor, NULL);
    fake_reset();
    assert_ok(dlpark_cuda_export(&cuda, &managed, &tensor, dlpark_cuda_stream(stream), unsaid, e));
    assert_int_equal(fake_calls(NULL), CALLS_OF_ORDER);
    assert_null(tensor.managed);
    make(&tensor, NULL);
    assert_fails(DLPARK_E_NOT_EMPTY, "must point to NULL",
                 dlpark_cuda_export(&cuda, &managed, &tensor, unsaid, unsaid, e));
    managed->deleter(managed);
    managed = NULL;
    fake_reset();
    assert_ok(dlpark_cuda_export(&cuda, &managed, &tensor, unsaid, unsaid, e));
    assert_int_equal(fake_calls(NULL), 0);
    assert_fails(DLPARK_E_ARGUMENT, "managed is NULL", dlpark_cuda_export(&cuda, NULL, &tensor, unsaid, unsaid, e));
    DLManagedTensorVersioned *none = NULL;
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty",
                 dlpark_cuda_export(&cuda, &none, &tensor, unsaid, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_cuda_export(&cuda, &none, NULL, unsaid, unsaid, e));
    managed->deleter(managed);
    gpu_fake_close(stream);
}

/* Managed memory says device 0 whatever device it is of; streams of the other one must be found by the address. */
static void export_finds_the_device_of_managed_memory(void **state)
{
    static const DLDevice kinds[] = {{kDLCUDAManaged, 1}, {kDLCUDAHost, 1}};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, foreign = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *managed = NULL;
    dlpark_view view;

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        assert_ok(
            dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .device = kinds[i]}, NULL, &view, e));
        assert_ok(dlpark_tensor_new(
            &foreign, &(dlpark_tensor_desc){DESC_OF_SIX, .data = view.data, .device = view.device}, NULL, e));
        fake_reset();
        assert_ok(dlpark_cuda_export(&cuda, &managed, &foreign, per_thread, unsaid, e));
        assert_int_equal(fake_calls("cuPointerGetAttributes"), 1);
        managed->deleter(managed);
        managed = NULL;
        fake_reset();
        assert_ok(dlpark_cuda_export(&cuda, &managed, &tensor, per_thread, unsaid, e)); /* of ours it is known */
        assert_int_equal(fake_calls(NULL), i == 0 ? CALLS_OF_ORDER : 3);
        assert_int_equal(fake_calls("cuStreamSynchronize"), i);
        managed->deleter(managed);
        managed = NULL;
    }
    /* A host consumer that does not want to wait does not. */
    assert_ok(
        dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .device = kinds[1]}, NULL, &view, e));
    fake_reset();
    assert_ok(dlpark_cuda_export(&cuda, &managed, &tensor, per_thread, no_sync, e));
    assert_int_equal(fake_calls(NULL), 0);
    managed->deleter(managed);
}

static void export_of_others_memory(void **state)
{
    static float here[6];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *managed = NULL;
    dlpark_tensor_desc desc = {DESC_OF_SIX, .data = here};

    (void)state;
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "cpu is not a device",
                 dlpark_cuda_export(&cuda, &managed, &tensor, unsaid, unsaid, e));
    dlpark_tensor_release(&tensor);
    desc.device = (DLDevice){kDLCUDAHost, 0}; /* locked by something that this driver does not know */
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    assert_ok(dlpark_cuda_export(&cuda, &managed, &tensor, unsaid, unsaid, e));
    managed->deleter(managed);
    managed = NULL;
    desc.shape = DLPARK_DIMS((int64_t[]){2, 0});
    assert_ok(dlpark_tensor_new(&tensor, &desc, NULL, e));
    fake_reset();
    assert_ok(dlpark_cuda_export(&cuda, &managed, &tensor, per_thread, unsaid, e));
    assert_int_equal(fake_calls(NULL), 0); /* nothing to be ready */
    managed->deleter(managed);
}

/* ---- Release ---- */

static void release_waits_for_everything(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    CUstream stream = gpu_fake_stream();
    int done = 0;

    (void)state;
    make(&tensor, NULL);
    fake_schedule(FAKE_NEEDED_ONLY);
    gpu_fake_work(stream, &done);
    long before = fake_calls(NULL);
    dlpark_tensor_release(&tensor);
    assert_int_equal(done, 1);
    assert_int_equal(fake_calls(NULL) - before, CALLS_OF_RELEASE);
    gpu_fake_close(stream);
}

static void release_waits_for_what_was_noted(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    CUstream used = gpu_fake_stream();
    int done = 0;

    (void)state;
    make(&tensor, NULL);
    fake_schedule(FAKE_NEEDED_ONLY);
    gpu_fake_work(used, &done);
    assert_ok(dlpark_cuda_note_use(&cuda, &tensor, dlpark_cuda_stream(used), e));
    assert_int_equal(fake_live(FAKE_EVENT), 1);
    dlpark_tensor_release(&tensor);
    assert_int_equal(done, 1);
    assert_int_equal(fake_calls("cuCtxSynchronize"), 0);
    assert_int_equal(fake_calls("cuEventSynchronize"), 1);
    make(&tensor, NULL);
    assert_ok(dlpark_cuda_note_use(&cuda, &tensor, dlpark_cuda_stream(used), e));
    gpu_fake_close(used); /* nothing of it is kept */
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_calls("cuEventSynchronize"), 2);
    assert_int_equal(fake_live_all(), 0);
}

/* A use that is over makes room for the next one, one that is not stays. */
static void notes_do_not_pile_up(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    CUstream used = gpu_fake_stream();
    int done = 0;

    (void)state;
    make(&tensor, NULL);
    for (int i = 0; i < 5; i++)
        assert_ok(dlpark_cuda_note_use(&cuda, &tensor, dlpark_cuda_stream(used), e));
    assert_int_equal(fake_live(FAKE_EVENT), 1);
    fake_schedule(FAKE_NEEDED_ONLY);
    gpu_fake_work(used, &done);
    for (int i = 0; i < 3; i++)
        assert_ok(dlpark_cuda_note_use(&cuda, &tensor, dlpark_cuda_stream(used), e));
    assert_int_equal(fake_live(FAKE_EVENT), 3); /* the first one was used again, and then two more */
    fake_drain();
    assert_ok(dlpark_cuda_note_use(&cuda, &tensor, per_thread, e));
    assert_ok(dlpark_cuda_note_use(&cuda, &tensor, no_sync, e));
    assert_int_equal(fake_live(FAKE_EVENT), 3);
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_live(FAKE_EVENT), 0);
    gpu_fake_close(used);
}

static void a_use_can_be_noted_by_any_owner(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY, more = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    make(&tensor, NULL);
    dlpark_tensor_view(&tensor, &view);
    assert_ok(dlpark_view_slice(&view, 0, 1, 2, 1, e));
    assert_ok(dlpark_tensor_share(&part, &tensor, &view, e));
    assert_ok(dlpark_tensor_share(&more, &tensor, NULL, e));
    DLManagedTensorVersioned *managed = dlpark_tensor_export(&part);
    assert_ok(dlpark_tensor_import(&part, &managed, NULL, e));
    fake_schedule(FAKE_NEEDED_ONLY);
    assert_ok(dlpark_cuda_note_use(&cuda, &part, per_thread, e));
    assert_ok(dlpark_cuda_note_use(&cuda, &more, per_thread, e));
    assert_ok(dlpark_cuda_note_use(&cuda, &tensor, per_thread, e));
    assert_true(fake_live(FAKE_EVENT) >= 1);
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&more);
    assert_int_equal(fake_calls("cuMemFree_v2"), 0);
    dlpark_tensor_release(&part);
    assert_int_equal(fake_calls("cuMemFree_v2"), 1);
}

static void what_is_not_ours_cannot_be_noted(void **state)
{
    static float here[6];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_cuda_note_use(&cuda, NULL, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "the tensor is empty", dlpark_cuda_note_use(&cuda, &tensor, unsaid, e));
    assert_ok(dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .data = here}, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "is release_after", dlpark_cuda_note_use(&cuda, &tensor, unsaid, e));
    dlpark_tensor_release(&tensor);
    make(&tensor, NULL);
    assert_fails(DLPARK_E_ARGUMENT, "no kind",
                 dlpark_cuda_note_use(&cuda, &tensor, (dlpark_stream){(dlpark_stream_kind)6, NULL}, e));
    dlpark_cuda other = DLPARK_CUDA_EMPTY;
    gpu_copy copy = gpu_copy_make(FAKECUDA_PATH);
    assert_ok(dlpark_cuda_open(&other, copy.path, e));
    gpu_copy_end(&copy);
    assert_fails(DLPARK_E_ARGUMENT, "by this library and driver", dlpark_cuda_note_use(&other, &tensor, unsaid, e));
    dlpark_tensor_release(&tensor);
}

static void release_on_a_stream_does_not_wait(void **state)
{
    CUstream owned = gpu_fake_stream(), used = gpu_fake_stream();
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(owned), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    int done = 0;

    (void)state;
    make(&tensor, &options);
    fake_schedule(FAKE_NEEDED_ONLY);
    gpu_fake_work(used, &done);
    assert_ok(dlpark_cuda_note_use(&cuda, &tensor, dlpark_cuda_stream(used), e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_calls("cuStreamWaitEvent"), 1);
    assert_int_equal(fake_calls("cuMemFreeAsync"), 1);
    assert_int_equal(fake_calls("cuEventSynchronize") + fake_calls("cuCtxSynchronize"), 0);
    fake_drain();
    gpu_fake_close(owned);
    gpu_fake_close(used);
}

/* Of managed and page-locked memory there is no end in a stream's order. */
static void release_on_a_stream_of_other_memory_waits_for_it(void **state)
{
    static const DLDevice kinds[] = {{kDLCUDAManaged, 0}, {kDLCUDAHost, 0}};
    CUstream owned = gpu_fake_stream();
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(owned), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int done = 0;

        assert_ok(dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .device = kinds[i]}, &options,
                                    NULL, e));
        fake_schedule(FAKE_NEEDED_ONLY);
        gpu_fake_work(owned, &done);
        dlpark_tensor_release(&tensor);
        assert_int_equal(done, 1);
        fake_schedule(FAKE_AT_ONCE);
    }
    gpu_fake_close(owned);
}

static void a_release_of_the_callers_is_called(void **state)
{
    static const dlpark_gpu_release ways[] = {DLPARK_GPU_RELEASE_WAIT, DLPARK_GPU_RELEASE_ON_STREAM,
                                              DLPARK_GPU_RELEASE_CALLBACK};
    static const long synchronised[] = {1, 0, 0};
    CUstream owned = gpu_fake_stream();
    void *memory = gpu_fake_memory(0, 24);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    gpu_fake_released = 0;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(owned), .release = ways[i]};

        assert_ok(dlpark_cuda_import(&cuda, &tensor,
                                     &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .release = gpu_fake_release},
                                     &options, NULL, e));
        fake_reset();
        assert_ok(dlpark_cuda_note_use(&cuda, &tensor, unsaid, e));
        assert_int_equal(fake_calls(NULL) > 0, ways[i] != DLPARK_GPU_RELEASE_CALLBACK);
        fake_reset();
        dlpark_tensor_release(&tensor);
        assert_int_equal(gpu_fake_released, (int)i + 1);
        assert_int_equal(fake_calls("cuEventSynchronize"), synchronised[i]);
        assert_int_equal(fake_calls("cuMemFree_v2") + fake_calls("cuMemFreeAsync"), 0);
    }
    gpu_fake_free(memory);
    gpu_fake_close(owned);
}

static void *release_on_a_thread(void *tensor)
{
    dlpark_tensor_release(tensor);
    return (void *)(intptr_t)fake_context_depth();
}

static void any_thread_may_release(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    CUcontext before = NULL, after = NULL;
    pthread_t thread;
    void *depth;

    (void)state;
    make(&tensor, NULL);
    assert_int_equal(pthread_create(&thread, NULL, release_on_a_thread, &tensor), 0); /* no context is current there */
    assert_int_equal(pthread_join(thread, &depth), 0);
    assert_null(depth);
    assert_int_equal(fake_live_all(), 0);
    make(&tensor, NULL);
    gpu_fake_push(1);
    assert_int_equal(cuCtxGetCurrent(&before), CUDA_SUCCESS);
    dlpark_tensor_release(&tensor); /* with the other device's current */
    assert_int_equal(cuCtxGetCurrent(&after), CUDA_SUCCESS);
    assert_ptr_equal(before, after);
    gpu_fake_pop();
}

enum { THREADS = 4, ROUNDS = 100 };

/* Owners of one tensor note their uses and end at the same time, beside tensors of each thread's own. */
static void *use_on_a_thread(void *share)
{
    dlpark_tensor own = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    intptr_t failed = 0;

    for (int i = 0; i < ROUNDS; i++) {
        const dlpark_tensor_desc desc = {DESC_OF_SIX, .device = {kDLCUDA, i % 2}};

        failed += dlpark_cuda_note_use(&cuda, share, unsaid, &err) != DLPARK_OK;
        failed += dlpark_cuda_alloc(&cuda, &own, &desc, NULL, NULL, &err) != DLPARK_OK;
        failed += dlpark_cuda_order(&cuda, desc.device, unsaid, per_thread, &err) != DLPARK_OK;
        failed += dlpark_cuda_release_after(&cuda, &own, per_thread, &err) != DLPARK_OK;
        (void)dlpark_cuda_poll(&cuda, i % 3 == 0);
    }
    dlpark_tensor_release(share);
    return (void *)failed;
}

static void threads_do_not_meet(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, shares[THREADS];
    pthread_t threads[THREADS];
    void *failed;

    (void)state;
    make(&tensor, NULL);
    for (int i = 0; i < THREADS; i++) {
        shares[i] = (dlpark_tensor)DLPARK_TENSOR_EMPTY;
        assert_ok(dlpark_tensor_share(&shares[i], &tensor, NULL, e));
    }
    dlpark_tensor_release(&tensor);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_on_a_thread, &shares[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(dlpark_cuda_poll(&cuda, true), 0);
    assert_int_equal(fake_live_all(), 0);
}

/* ---- Later ---- */

static void a_tensor_ends_after_a_stream(void **state)
{
    CUstream stream = gpu_fake_stream();
    void *memory = gpu_fake_memory(0, 24);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    int done = 0;

    (void)state;
    gpu_fake_released = 0;
    fake_schedule(FAKE_NEEDED_ONLY);
    gpu_fake_work(stream, &done);
    for (int i = 0; i < 2; i++) { /* a tensor of others' */
        assert_ok(dlpark_tensor_new(&tensor,
                                    &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .device = cuda_0,
                                                          .owner = memory, .release = gpu_fake_release},
                                    NULL, e));
        assert_ok(dlpark_cuda_release_after(&cuda, &tensor, dlpark_cuda_stream(stream), e));
        assert_null(tensor.managed);
    }
    assert_int_equal(dlpark_cuda_poll(&cuda, false), 2);
    assert_int_equal(gpu_fake_released, 0);
    assert_int_equal(dlpark_cuda_poll(&cuda, true), 0);
    assert_int_equal(gpu_fake_released, 2);
    assert_int_equal(done, 1);
    gpu_fake_free(memory);
    gpu_fake_close(stream);
}

static void another_call_ends_what_is_due(void **state)
{
    dlpark_tensor first = DLPARK_TENSOR_EMPTY, second = DLPARK_TENSOR_EMPTY;
    CUstream stream = gpu_fake_stream();
    int done = 0;

    (void)state;
    make(&first, NULL);
    make(&second, NULL);
    fake_schedule(FAKE_NEEDED_ONLY);
    gpu_fake_work(stream, &done);
    assert_ok(dlpark_cuda_release_after(&cuda, &first, dlpark_cuda_stream(stream), e));
    assert_int_equal(fake_calls("cuMemFree_v2"), 0);
    fake_drain();
    assert_ok(dlpark_cuda_release_after(&cuda, &second, no_sync, e)); /* at once, and the other one is due */
    assert_int_equal(fake_calls("cuMemFree_v2"), 2);
    assert_ok(dlpark_cuda_release_after(&cuda, &second, unsaid, e)); /* empty */
    assert_fails(DLPARK_E_ARGUMENT, "tensor is NULL", dlpark_cuda_release_after(&cuda, NULL, unsaid, e));
    gpu_fake_close(stream);
}

static void release_after_refuses(void **state)
{
    static float here[6];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    assert_ok(dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .data = here}, NULL, e));
    assert_fails(DLPARK_E_DEVICE, "cpu is not a device", dlpark_cuda_release_after(&cuda, &tensor, unsaid, e));
    assert_non_null(tensor.managed);
    dlpark_tensor_release(&tensor);
    make(&tensor, NULL);
    assert_fails(DLPARK_E_ARGUMENT, "no kind",
                 dlpark_cuda_release_after(&cuda, &tensor, (dlpark_stream){(dlpark_stream_kind)6, NULL}, e));
    dlpark_tensor_release(&tensor);
}

/* ---- Captures ---- */

static void begin_capture(CUstream stream)
{
    gpu_fake_push(0);
    assert_int_equal(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    gpu_fake_pop();
}

static void end_capture(CUstream stream)
{
    CUgraph graph = NULL;

    gpu_fake_push(0);
    assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS); /* it is well */
    gpu_fake_pop();
}

/* Of a stream that the default stream waits for: that one tells of the capture. */
static void a_capture_is_not_spoilt_by_a_release(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, on_stream = DLPARK_TENSOR_EMPTY, noted = DLPARK_TENSOR_EMPTY;
    CUstream stream = NULL;

    (void)state;
    gpu_fake_push(0);
    assert_int_equal(cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    gpu_fake_pop();
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(stream), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    make(&tensor, NULL);
    make(&on_stream, &options);
    make(&noted, NULL);
    assert_ok(dlpark_cuda_note_use(&cuda, &noted, per_thread, e));
    begin_capture(stream);
    dlpark_tensor_release(&tensor);
    dlpark_tensor_release(&on_stream);
    assert_int_equal(dlpark_cuda_poll(&cuda, true), 2); /* a capture is not waited for */
    dlpark_tensor_release(&noted);                      /* waits for its own event only */
    assert_int_equal(fake_calls("cuMemFree_v2"), 1);
    assert_int_equal(fake_calls("cuCtxSynchronize") + fake_calls("cuMemFreeAsync"), 0);
    end_capture(stream);
    make(&tensor, NULL); /* takes up what is left */
    assert_int_equal(fake_live(FAKE_MEMORY), 1);
    assert_int_equal(fake_live(FAKE_POOL_MEMORY), 0);
    dlpark_tensor_release(&tensor);
    gpu_fake_close(stream);
}

static void alloc_leaves_the_tensors_of_others_alone(void **state)
{
    CUstream stream = gpu_fake_stream();
    void *memory = gpu_fake_memory(0, 24);
    dlpark_tensor foreign = DLPARK_TENSOR_EMPTY, tensor = DLPARK_TENSOR_EMPTY;
    int done = 0;

    (void)state;
    gpu_fake_released = 0;
    fake_schedule(FAKE_NEEDED_ONLY);
    gpu_fake_work(stream, &done);
    assert_ok(dlpark_tensor_new(&foreign,
                                &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .device = cuda_0, .owner = memory,
                                                      .release = gpu_fake_release},
                                NULL, e));
    assert_ok(dlpark_cuda_release_after(&cuda, &foreign, dlpark_cuda_stream(stream), e));
    fake_drain();
    make(&tensor, NULL);
    assert_int_equal(gpu_fake_released, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(dlpark_cuda_poll(&cuda, false), 0);
    assert_int_equal(gpu_fake_released, 1);
    gpu_fake_free(memory);
    gpu_fake_close(stream);
}

/* What fails once may be the failure of other work, and is tried again; a capture in between is no failure. */
static void a_release_is_tried_again(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    make(&tensor, NULL);
    fake_fail("cuMemFree_v2", 1, CUDA_ERROR_LAUNCH_FAILED);
    dlpark_tensor_release(&tensor);
    fake_fail("cuMemFree_v2", 1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(dlpark_cuda_poll(&cuda, false), 1);
    assert_int_equal(fake_live(FAKE_MEMORY), 1);
    assert_int_equal(dlpark_cuda_poll(&cuda, false), 0);
    assert_int_equal(fake_live(FAKE_MEMORY), 0);
}

static void the_driver_may_lack_memory_for_an_event(void **state)
{
    (void)state;
    fake_fail_from("cuEventCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
    assert_fails(DLPARK_E_MEMORY, "cuEventCreate: CUDA_ERROR_OUT_OF_MEMORY (2)",
                 dlpark_cuda_order(&cuda, cuda_0, unsaid, per_thread, e));
}

static void the_types_have_their_sizes(void **state)
{
    (void)state;
    assert_int_equal(sizeof(dlpark_gpu_release), 4);
    assert_int_equal(sizeof(dlpark_gpu_options), 2 * sizeof(void *) + 8);
    assert_int_equal(DLPARK_GPU_RELEASE_WAIT, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(the_same_stream_needs_no_call),
        GPU_TEST(one_stream_waits_for_another_in_six_calls),
        GPU_TEST(order_refuses),
        GPU_TEST(the_host_waits_for_a_stream),
        GPU_TEST(export_orders_and_hands_over),
        GPU_TEST(export_finds_the_device_of_managed_memory),
        GPU_TEST(export_of_others_memory),
        GPU_TEST(release_waits_for_everything),
        GPU_TEST(release_waits_for_what_was_noted),
        GPU_TEST(notes_do_not_pile_up),
        GPU_TEST(a_use_can_be_noted_by_any_owner),
        GPU_TEST(what_is_not_ours_cannot_be_noted),
        GPU_TEST(release_on_a_stream_does_not_wait),
        GPU_TEST(release_on_a_stream_of_other_memory_waits_for_it),
        GPU_TEST(a_release_of_the_callers_is_called),
        GPU_TEST(any_thread_may_release),
        GPU_TEST(threads_do_not_meet),
        GPU_TEST(a_tensor_ends_after_a_stream),
        GPU_TEST(another_call_ends_what_is_due),
        GPU_TEST(release_after_refuses),
        GPU_TEST(a_capture_is_not_spoilt_by_a_release),
        GPU_TEST(alloc_leaves_the_tensors_of_others_alone),
        GPU_TEST(a_release_is_tried_again),
        GPU_TEST(the_driver_may_lack_memory_for_an_event),
        GPU_TEST(the_types_have_their_sizes),
    };

    return cmocka_run_group_tests_name("gpu", tests, gpu_fake_open, NULL);
}
