#define _DEFAULT_SOURCE
/*
 * What dlpark adds to the calls of CUDA's driver, with the fake driver of the tests: the same calls by hand are taken off, and
 * what is left is measured against 150 ns. And how many calls there are.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dlpark/cuda.h>
#include <dlpark/dlpark.h>

#include "fakecuda/driver.h"
#include "fakecuda/fakecuda.h"
#include "harness.h"

enum { NBYTES = 24, TARGET_NS = 150 };

static dlpark_cuda cuda = DLPARK_CUDA_EMPTY;
static CUcontext context;
static CUdeviceptr kept; /* memory that is imported */
static CUstream stream;
static dlpark_tensor tensor = DLPARK_TENSOR_EMPTY; /* one that is exported again and again */

static const dlpark_tensor_desc six = {.dtype = {kDLFloat, 32, 1}, .ndim = 2};

static dlpark_tensor_desc describe(void)
{
    static const int64_t shape[] = {2, 3};
    dlpark_tensor_desc desc = six;

    desc.shape = DLPARK_DIMS(shape);
    return desc;
}

/* ---- The floor ---- */

static long now_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (long)time.tv_sec * 1000000000L + time.tv_nsec;
}

static void run_target(const void *input, long count)
{
    long end = now_ns() + count * TARGET_NS;

    (void)input;
    while (now_ns() < end)
        continue;
}

static bool is_true(const void *input)
{
    return input != NULL;
}

/* ---- The driver's calls by hand ---- */

static void by_hand_alloc(void)
{
    CUdeviceptr address = 0;
    CUstreamCaptureStatus status;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUcontext popped;

    (void)cuCtxPushCurrent_v2(context);
    (void)cuMemAlloc_v2(&address, NBYTES);
    (void)cuCtxPopCurrent_v2(&popped);
    (void)cuCtxPushCurrent_v2(context);
    (void)cuThreadExchangeStreamCaptureMode(&mode);
    (void)cuStreamIsCapturing(CU_STREAM_LEGACY, &status);
    (void)cuCtxSynchronize();
    (void)cuMemFree_v2(address);
    (void)cuThreadExchangeStreamCaptureMode(&mode);
    (void)cuCtxPopCurrent_v2(&popped);
}

static void by_hand_import(void)
{
    unsigned int type = 0, managed = 0;
    int ordinal = 0;
    CUdeviceptr base = 0;
    size_t nbytes = 0;
    void *pool = NULL;
    void *answers[] = {&type, &ordinal, &managed, &base, &nbytes, &pool};
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED,  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE,  CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};

    (void)cuPointerGetAttributes(6, asked, answers, kept);
}

static void by_hand_order(void)
{
    CUevent event = NULL;
    CUcontext popped;

    (void)cuCtxPushCurrent_v2(context);
    (void)cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    (void)cuEventRecord(event, CU_STREAM_LEGACY);
    (void)cuStreamWaitEvent(stream, event, 0);
    (void)cuEventDestroy_v2(event);
    (void)cuCtxPopCurrent_v2(&popped);
}

static void by_hand_nothing(void)
{
    harness_use(&kept);
}

/* ---- The same by dlpark ---- */

static void ours_alloc(void)
{
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = describe();

    if (dlpark_cuda_alloc(&cuda, &made, &desc, NULL, NULL, NULL))
        abort();
    dlpark_tensor_release(&made);
}

static void keep(void *owner)
{
    harness_use(owner);
}

static void ours_import(void)
{
    static const dlpark_gpu_options options = {.release = DLPARK_GPU_RELEASE_CALLBACK};
    dlpark_tensor made = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = describe();

    desc.data = (void *)(uintptr_t)kept;
    desc.owner = &kept;
    desc.release = keep;
    if (dlpark_cuda_import(&cuda, &made, &desc, &options, NULL, NULL))
        abort();
    dlpark_tensor_release(&made);
}

static void ours_export(dlpark_stream consumer)
{
    static const dlpark_stream producer = {DLPARK_STREAM_DEFAULT, NULL};
    DLManagedTensorVersioned *managed = NULL;

    if (dlpark_cuda_export(&cuda, &managed, &tensor, producer, consumer, NULL))
        abort();
    tensor.managed = managed;
}

static void ours_export_same(void)
{
    ours_export(dlpark_cuda_stream(NULL));
}

static void ours_export_ordered(void)
{
    ours_export(dlpark_cuda_stream(stream));
}

/* ---- Both ---- */

typedef struct operation {
    const char *name;
    void (*ours)(void);
    void (*by_hand)(void);
    long calls; /* of the driver, at most */
} operation;

static const operation operations[] = {
    {"alloc and release", ours_alloc, by_hand_alloc, 10},
    {"import and release", ours_import, by_hand_import, 1},
    {"export, same stream", ours_export_same, by_hand_nothing, 0},
    {"export, another stream", ours_export_ordered, by_hand_order, 6},
};

static const char by_hand_name[] = "the driver's calls";

enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static void run_ours(const void *input, long count)
{
    const operation *of = input;

    for (long i = 0; i < count; i++)
        of->ours();
}

static void run_by_hand(const void *input, long count)
{
    const operation *of = input;

    for (long i = 0; i < count; i++)
        of->by_hand();
}

/* Whether ours makes the calls that are made by hand, and leaves nothing. */
static bool verify_ours(const void *input)
{
    const operation *of = input;
    long live = fake_live_all(), before = fake_calls(NULL);

    of->ours();
    long calls = fake_calls(NULL) - before;
    of->by_hand();
    printf("  %-24s %2ld calls of the driver, at most %ld\n", of->name, calls, of->calls);
    return calls <= of->calls && fake_calls(NULL) - before == 2 * calls && fake_live_all() == live;
}

static const char *less(const char *name)
{
    for (int i = 0; i < OPERATIONS; i++)
        if (strcmp(name, operations[i].name) == 0)
            return by_hand_name;
    return NULL;
}

static void prepare(void)
{
    dlpark_tensor_desc desc = describe();
    CUcontext popped;

    if (dlpark_cuda_open(&cuda, FAKECUDA_PATH, NULL) || dlpark_cuda_alloc(&cuda, &tensor, &desc, NULL, NULL, NULL) ||
        cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent_v2(context) || cuMemAlloc_v2(&kept, NBYTES) ||
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) || cuCtxPopCurrent_v2(&popped))
        abort();
}

int main(int argc, char **argv)
{
    harness_options options = harness_parse(argc, argv);
    int wrong = 0, missed = 0;

    options.less = less;
    harness_print_machine(&options);
    prepare();
    for (int i = 0; i < OPERATIONS; i++) {
        const operation *of = &operations[i];
        harness_group group = {"devices", of->name, -1, 3, {{"150 ns", run_target, is_true, of, {{NULL, 0}}}}};

        group.cases[1] = (harness_case){by_hand_name, run_by_hand, is_true, of, {{NULL, 0}}};
        group.cases[2] = (harness_case){of->name, run_ours, verify_ours, of, {{"150 ns", 1}}};
        wrong += harness_run(&group, &options, &missed);
    }
    return harness_finish(&options, wrong, missed);
}
