/*
 * What the tests of CUDA share: the fake driver, opened once, streams, and descriptions. A test ends with nothing alive.
 */
#ifndef GPU_FAKE_H
#define GPU_FAKE_H

#include "test.h"

#include "fakecuda/driver.h"
#include "fakecuda/fakecuda.h"

#include <dlpark/cuda.h>

static dlpark_cuda cuda = DLPARK_CUDA_EMPTY;

static const DLDevice cuda_0 = {kDLCUDA, 0};
static const dlpark_stream unsaid = {DLPARK_STREAM_UNSAID, NULL};
static const dlpark_stream no_sync = {DLPARK_STREAM_NO_SYNC, NULL};

/* 2 x 3 elements of four bytes, on cuda:0 where nothing else is said. */
#define DESC_OF_SIX .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})

static inline int gpu_fake_open(void **state)
{
    dlpark_error err;

    (void)state;
    fake_reset();
    return cuda.driver || dlpark_cuda_open(&cuda, FAKECUDA_PATH, &err) == DLPARK_OK ? 0 : -1;
}

/* The contexts are retained by the first use of a device, which makes calls of its own. */
static inline int gpu_fake_begin(void **state)
{
    dlpark_stream per_thread = {DLPARK_STREAM_PER_THREAD, NULL};

    (void)state;
    for (int i = 0; i < cuda.device_count; i++)
        assert_ok(dlpark_cuda_wait(&cuda, (DLDevice){kDLCUDA, i}, per_thread, e));
    fake_reset();
    return 0;
}

static inline int gpu_fake_end(void **state)
{
    (void)state;
    fake_reset();
    assert_int_equal(dlpark_cuda_poll(&cuda, true), 0);
    assert_int_equal(fake_live_all(), 0);
    assert_int_equal(fake_context_depth(), 0);
    assert_int_equal(fake_faults(), 0);
    return 0;
}

#define GPU_TEST(name) cmocka_unit_test_setup_teardown(name, gpu_fake_begin, gpu_fake_end)

/* The primary context of a device, as a program's own code has it current. */
static inline void gpu_fake_push(int ordinal)
{
    CUcontext context = NULL;

    assert_int_equal(cuDevicePrimaryCtxRetain(&context, ordinal), CUDA_SUCCESS);
    assert_int_equal(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRelease_v2(ordinal), CUDA_SUCCESS);
}

static inline void gpu_fake_pop(void)
{
    CUcontext context;

    assert_int_equal(cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
}

/* A stream of cuda:0 that is not ordered against the default stream. */
static inline CUstream gpu_fake_stream(void)
{
    CUstream stream = NULL;

    gpu_fake_push(0);
    assert_int_equal(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    gpu_fake_pop();
    return stream;
}

static inline void gpu_fake_close(CUstream stream)
{
    gpu_fake_push(0);
    assert_int_equal(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    gpu_fake_pop();
}

/* Work that the stream has to do; with another schedule than AT_ONCE it is not done until it is waited for. */
static inline void gpu_fake_kernel(void *argument)
{
    *(int *)argument += 1;
}

static inline void gpu_fake_work(CUstream stream, int *done)
{
    gpu_fake_push(0);
    assert_int_equal(fake_launch(stream, gpu_fake_kernel, done), CUDA_SUCCESS);
    gpu_fake_pop();
}

/* Memory of the driver that nobody owns yet. */
static inline void *gpu_fake_memory(int ordinal, size_t nbytes)
{
    CUdeviceptr address = 0;

    gpu_fake_push(ordinal);
    assert_int_equal(cuMemAlloc_v2(&address, nbytes), CUDA_SUCCESS);
    gpu_fake_pop();
    return (void *)(uintptr_t)address;
}

static inline void gpu_fake_free(void *memory)
{
    gpu_fake_push(0);
    assert_int_equal(cuMemFree_v2((CUdeviceptr)(uintptr_t)memory), CUDA_SUCCESS);
    gpu_fake_pop();
}

/* A release of the test's own, and how often it was called. */
static int gpu_fake_released;

static inline void gpu_fake_release(void *owner)
{
    (void)owner;
    gpu_fake_released++;
}

#endif
