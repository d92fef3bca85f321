/*
 * The end of device memory: after the work on it, on threads without a context, beside a graph's capture, by many threads at
 * once, in a child, and when the process ends.
 */
#include "hardware.h"

#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 256 << 20, LARGE_OF_FAKE = 1 << 20, LITTLE = 4 << 20, THREADS = 4, ROUNDS = 200 };

static const DLDevice cuda_0 = {kDLCUDA, 0};

/* What is seen in how much is free: on a real device much more than what other programs come and go with. */
static int64_t large_nbytes(void)
{
    return driver_is_fake() ? LARGE_OF_FAKE : LARGE;
}

static verdict large_make(finding *seen, dlpark_tensor *tensor)
{
    const int64_t shape[] = {large_nbytes()};

    EXPECT_OK(dlpark_cuda_alloc(
        &cuda, tensor,
        &(dlpark_tensor_desc){.dtype = DLPARK_U8, .device = cuda_0, .ndim = 1, .shape = DLPARK_DIMS(shape)}, NULL, NULL,
        err));
    return PASSED;
}

/* A kernel that writes elsewhere still runs on a stream when the tensor ends; was it done when the release returned? */
static verdict release_waits(finding *seen, bool noted)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, witness = DLPARK_TENSOR_EMPTY;
    CUstream stream = NULL;
    dlpark_view view, there;
    uint32_t number = 0;

    EXPECT_CUDA(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    TRY(number_make(seen, &tensor, &view, cuda_0));
    TRY(number_make(seen, &witness, &there, cuda_0));
    EXPECT_CUDA(driver_launch_slow(stream, there.data, 3));
    if (noted)
        EXPECT_OK(dlpark_cuda_note_use(&cuda, &tensor, dlpark_cuda_stream(stream), err));
    dlpark_tensor_release(&tensor);
    EXPECT_CUDA(DRIVER(cuStreamQuery)(stream));
    TRY(number_read(seen, &there, stream, &number));
    EXPECT(number == 3, "the kernel has written %u", number);
    dlpark_tensor_release(&witness);
    EXPECT_CUDA(DRIVER(cuStreamDestroy_v2)(stream));
    return PASSED;
}

static verdict a_release_waits_for_the_work(finding *seen)
{
    TRY(release_waits(seen, false));
    TRY(release_waits(seen, true));
    return found(seen, PASSED, "%s was done when the release returned, noted or not", driver_slow_kernel());
}

/* Asked to wait for nobody, the release comes back at once, and the memory is freed behind the kernel. */
static verdict a_release_on_a_stream_does_not_wait(finding *seen)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    CUstream stream = NULL;
    dlpark_view view;

    EXPECT_CUDA(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(stream), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    EXPECT_OK(dlpark_cuda_alloc(
        &cuda, &tensor,
        &(dlpark_tensor_desc){.dtype = DLPARK_U32, .device = cuda_0, .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){1})},
        &options, &view, err));
    EXPECT_CUDA(driver_launch_slow(stream, view.data, 4));
    const double start = now_ms();
    dlpark_tensor_release(&tensor);
    const double ms = now_ms() - start;
    driver_push();
    const CUresult running = DRIVER(cuStreamQuery)(stream);
    driver_pop();
    EXPECT(running == CUDA_ERROR_NOT_READY, "the release took %.0f ms, and the kernel was done then: %d", ms,
           (int)running);
    EXPECT_CUDA(DRIVER(cuStreamSynchronize)(stream));
    EXPECT_CUDA(DRIVER(cuStreamDestroy_v2)(stream));
    return found(seen, PASSED, "it came back after %.2f ms, while %s ran", ms, driver_slow_kernel());
}

static int deleted;

static void note_deletion(void *owner)
{
    (void)owner;
    deleted++;
}

/* A consumer's: the deleter of anybody's tensor is called once its stream is done, and not before. */
static verdict a_consumer_lets_go_when_its_stream_is_done(finding *seen)
{
    dlpark_tensor owner = DLPARK_TENSOR_EMPTY, tensor = DLPARK_TENSOR_EMPTY;
    CUstream stream = NULL;
    dlpark_view view;

    deleted = 0;
    EXPECT_CUDA(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    TRY(number_make(seen, &owner, &view, cuda_0));
    EXPECT_OK(dlpark_tensor_new(&tensor,
                                &(dlpark_tensor_desc){.data = view.data,
                                                      .device = cuda_0,
                                                      .dtype = DLPARK_U32,
                                                      .ndim = 1,
                                                      .shape = DLPARK_DIMS(view.shape),
                                                      .release = note_deletion},
                                NULL, err));
    EXPECT_CUDA(driver_launch_slow(stream, view.data, 6));
    EXPECT_OK(dlpark_cuda_release_after(&cuda, &tensor, dlpark_cuda_stream(stream), err));
    EXPECT(dlpark_cuda_poll(&cuda, false) == 1 && deleted == 0, "deleted while the kernel runs");
    EXPECT(dlpark_cuda_poll(&cuda, true) == 0 && deleted == 1, "the kernel is done, and it was deleted %d times",
           deleted);
    dlpark_tensor_release(&owner);
    EXPECT_CUDA(DRIVER(cuStreamDestroy_v2)(stream));
    return found(seen, PASSED, "not while %s runs, and once after it", driver_slow_kernel());
}

static void *release_here(void *tensor)
{
    dlpark_tensor_release(tensor);
    return NULL;
}

static verdict a_thread_without_a_context_frees(finding *seen)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    size_t before, during, after;
    pthread_t thread;

    EXPECT(driver_free_nbytes(&before) == CUDA_SUCCESS, "cuMemGetInfo fails");
    TRY(large_make(seen, &tensor));
    EXPECT(driver_free_nbytes(&during) == CUDA_SUCCESS, "cuMemGetInfo fails");
    EXPECT(pthread_create(&thread, NULL, release_here, &tensor) == 0, "no thread");
    (void)pthread_join(thread, NULL);
    EXPECT(driver_free_nbytes(&after) == CUDA_SUCCESS, "cuMemGetInfo fails");
    EXPECT(before - during >= (size_t)large_nbytes(), "%d bytes were allocated, and %zu fewer are free",
           (int)large_nbytes(), before - during);
    EXPECT(after + (driver_is_fake() ? 0 : LITTLE) >= before, "%zu bytes were free before, %zu after", before, after);
    return found(seen, PASSED, "%zu MiB fewer free, and as many as before once a fresh thread had released them",
                 (before - during) >> 20);
}

/* Of a stream that the default stream waits for, as the driver tells of such captures alone. */
static verdict a_capture_goes_on(finding *seen)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    CUgraph graph = NULL;
    CUstream stream = NULL;
    size_t before, after;

    EXPECT(driver_free_nbytes(&before) == CUDA_SUCCESS, "cuMemGetInfo fails");
    TRY(large_make(seen, &tensor));
    EXPECT_CUDA(DRIVER(cuStreamCreate)(&stream, CU_STREAM_DEFAULT));
    EXPECT_CUDA(DRIVER(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    dlpark_tensor_release(&tensor);
    EXPECT_CUDA(DRIVER(cuStreamEndCapture)(stream, &graph));
    EXPECT(dlpark_cuda_poll(&cuda, true) == 0, "memory still waits to be freed");
    EXPECT(driver_free_nbytes(&after) == CUDA_SUCCESS, "cuMemGetInfo fails");
    EXPECT(after + (driver_is_fake() ? 0 : LITTLE) >= before, "%zu bytes were free before, %zu after", before, after);
    EXPECT_CUDA(DRIVER(cuStreamDestroy_v2)(stream));
    return found(seen, PASSED, "a release during a capture leaves it valid; the memory is freed by the next poll");
}

static void *live_often(void *failed)
{
    const dlpark_stream per_thread = {DLPARK_STREAM_PER_THREAD, NULL}, legacy = {DLPARK_STREAM_DEFAULT, NULL};
    finding unused;

    for (int i = 0; i < ROUNDS; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        dlpark_view view;

        if (number_make(&unused, &tensor, &view, cuda_0) != PASSED ||
            dlpark_cuda_order(&cuda, cuda_0, per_thread, legacy, NULL) != DLPARK_OK ||
            dlpark_cuda_note_use(&cuda, &tensor, per_thread, NULL) != DLPARK_OK)
            __atomic_fetch_add((int *)failed, 1, __ATOMIC_RELAXED);
        dlpark_tensor_release(&tensor);
    }
    return NULL;
}

static verdict threads_do_all_at_once(finding *seen)
{
    pthread_t threads[THREADS];
    size_t before, after;
    int failed = 0;

    EXPECT(driver_free_nbytes(&before) == CUDA_SUCCESS, "cuMemGetInfo fails");
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, live_often, &failed) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    EXPECT(driver_free_nbytes(&after) == CUDA_SUCCESS, "cuMemGetInfo fails");
    EXPECT(failed == 0, "%d of %d rounds failed", failed, THREADS * ROUNDS);
    EXPECT(after + (driver_is_fake() ? 0 : LITTLE) >= before, "%zu bytes are gone", before - after);
    return found(seen, PASSED, "%d threads, %d rounds each: allocated, ordered, noted, released; nothing is lost",
                 THREADS, ROUNDS);
}

/* ---- Processes ---- */

static verdict a_child_is_told(finding *seen)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    uint32_t number;
    int status = -1;

    TRY(number_make(seen, &tensor, &view, cuda_0));
    pid_t child = fork();
    if (child == 0) {
        dlpark_tensor none = DLPARK_TENSOR_EMPTY;
        finding unused;
        bool refused = number_make(&unused, &none, &view, cuda_0) != PASSED;
        dlpark_tensor_release(&tensor); /* leaves the memory to the parent */
        _exit(refused ? 0 : 1);
    }
    EXPECT(child > 0 && waitpid(child, &status, 0) == child, "no child");
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    TRY(number_read(seen, &view, NULL, &number));
    EXPECT(number == 0, "the number is %u in the parent", number);
    dlpark_tensor_release(&tensor);
    return found(seen, PASSED, "each call says so after fork(), and the parent's memory is as it was");
}

static dlpark_tensor last = DLPARK_TENSOR_EMPTY;

static void release_last(void)
{
    dlpark_tensor_release(&last);
}

/* What `--ending` does: a tensor outlives main(), and is released when the driver may have shut down. */
int end_with_a_tensor(void)
{
    finding seen;
    dlpark_view view;

    if (atexit(release_last) != 0 || number_make(&seen, &last, &view, cuda_0) != PASSED)
        return 1;
    return 0;
}

extern char **environ;

static verdict a_process_may_end(finding *seen)
{
    char *const arguments[] = {(char *)"hardware", (char *)"--ending", NULL};
    int status = -1;
    pid_t child;

    EXPECT(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0, "no process");
    EXPECT(waitpid(child, &status, 0) == child, "no process");
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the process ended with %d", status);
    return found(seen, PASSED, "a tensor that is released by atexit(), after main()");
}

const check end_checks[] = {
    {"a release waits for work that nobody noted, and for what was", a_release_waits_for_the_work},
    {"a release on a stream waits for nobody", a_release_on_a_stream_does_not_wait},
    {"a consumer's tensor ends after its stream's work", a_consumer_lets_go_when_its_stream_is_done},
    {"a thread without a context frees", a_thread_without_a_context_frees},
    {"a graph is captured meanwhile", a_capture_goes_on},
    {"threads do all of it at once", threads_do_all_at_once},
    {"a child after fork()", a_child_is_told},
    {"the end of the process", a_process_may_end},
    {NULL, NULL},
};
