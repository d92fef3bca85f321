/*
 * What differs between ROCm and CUDA; what they share is proved in gpu_test.c. The last test loads the real runtime, where
 * there is one.
 */
#include "test.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "fakecuda/driver.h"
#include "fakecuda/fakecuda.h"
#include "gpu_copy.h"

#include <dlpark/cuda.h>
#include <dlpark/hip.h>

#include "../../src/devices/gpu/gpu_parts.h"
#include "../../src/devices/gpu/hip_functions.h"

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

/* Of the fake, which is not linked: under its name the loader would take it for the real one. */
static int (*hipGetDevice)(int *device);
static int (*hipSetDevice)(int device);
static void (*set_version)(int version);

#define SYMBOL(field, symbol, is_optional, returns, parameters) {#symbol, is_optional},
static const struct {
    const char *name;
    bool is_optional;
} symbols[] = {DLPARK__HIP_FUNCTIONS(SYMBOL)};

enum { SYMBOLS = sizeof symbols / sizeof symbols[0] };

#define DESC_OF_SIX .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})

static dlpark_hip hip = DLPARK_HIP_EMPTY;
static const DLDevice rocm_1 = {kDLROCM, 1};
static const dlpark_stream unsaid = {DLPARK_STREAM_UNSAID, NULL};
static const char *missing, *replaced; /* a function that is not there, and one that fails */
static bool lacks_optional;

static int fails(int *out)
{
    (void)out;
    return CUDA_ERROR_UNKNOWN;
}

void *__wrap_dlsym(void *library, const char *name)
{
    for (int i = 0; i < SYMBOLS; i++)
        if (lacks_optional && symbols[i].is_optional && strcmp(name, symbols[i].name) == 0)
            return NULL;
    if (replaced && strcmp(name, replaced) == 0) {
        void *found;
        memcpy(&found, &(int (*)(int *)){fails}, sizeof found);
        return found;
    }
    return missing && strcmp(name, missing) == 0 ? NULL : __real_dlsym(library, name);
}

static int open_fake(void **state)
{
    dlpark_error err;
    void *library = dlopen(FAKEHIP_PATH, RTLD_NOW | RTLD_LOCAL);
    void *found[] = {__real_dlsym(library, "hipGetDevice"), __real_dlsym(library, "hipSetDevice"),
                     __real_dlsym(library, "fakehip_version")};

    memcpy(&hipGetDevice, &found[0], sizeof hipGetDevice);
    memcpy(&hipSetDevice, &found[1], sizeof hipSetDevice);
    memcpy(&set_version, &found[2], sizeof set_version);

    (void)state;
    fake_reset();
    return dlpark_hip_open(&hip, FAKEHIP_PATH, &err) == DLPARK_OK ? 0 : -1;
}

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < hip.device_count; i++)
        assert_ok(dlpark_hip_wait(&hip, (DLDevice){kDLROCM, i}, unsaid, e));
    fake_reset();
    set_version(60000000);
    return 0;
}

static int end(void **state)
{
    int device = -1;

    (void)state;
    fake_reset();
    assert_int_equal(dlpark_hip_poll(&hip, true), 0);
    assert_int_equal(fake_live_all(), 0);
    assert_int_equal(fake_context_depth(), 0);
    assert_int_equal(hipGetDevice(&device), 0);
    assert_int_equal(device, 0);
    return 0;
}

static dlpark_status open_copy(dlpark_hip *found, dlpark_error *err)
{
    gpu_copy copy = gpu_copy_make(FAKEHIP_PATH);
    dlpark_status status = dlpark_hip_open(found, copy.path, err);

    gpu_copy_end(&copy);
    missing = replaced = NULL;
    lacks_optional = false;
    return status;
}

static CUstream make_stream(void)
{
    CUcontext context = NULL;
    CUstream stream = NULL;

    assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    assert_int_equal(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    assert_int_equal(cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
    assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    return stream;
}

static void a_runtime_is_found(void **state)
{
    dlpark_hip again = DLPARK_HIP_EMPTY, none = DLPARK_HIP_EMPTY;
    dlpark_name name;

    (void)state;
    assert_int_equal(setenv("DLPARK_HIP_LIBRARY", FAKEHIP_PATH, 1), 0);
    assert_ok(dlpark_hip_open(&again, NULL, e));
    assert_int_equal(unsetenv("DLPARK_HIP_LIBRARY"), 0);
    assert_ptr_equal(again.driver, hip.driver);
    assert_int_equal(again.version, 60000000);
    assert_int_equal(again.device_count, 2);
    assert_fails(DLPARK_E_NOT_EMPTY, "already holds", dlpark_hip_open(&again, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "hip is NULL", dlpark_hip_open(NULL, NULL, e));
    assert_fails(DLPARK_E_NOT_FOUND, "the driver of ROCm cannot be loaded", dlpark_hip_open(&none, "/nowhere.so", e));
    dlpark_cuda other = DLPARK_CUDA_EMPTY;
    assert_ok(dlpark_cuda_open(&other, FAKECUDA_PATH, e)); /* the same library is no runtime of this kind */
    assert_fails(DLPARK_E_FOREIGN, "it is no driver of ROCm", dlpark_hip_open(&none, FAKECUDA_PATH, e));
    assert_ok(dlpark_hip_device_name(&hip, 1, &name, e));
    assert_true(name.text[0] != '\0');
}

static void without_a_runtime_every_call_says_so(void **state)
{
    const dlpark_hip none = DLPARK_HIP_EMPTY;
    const dlpark_tensor_desc desc = {DESC_OF_SIX};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *managed = NULL;
    dlpark_gpu_pointer found;
    dlpark_name name;

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "dlpark_hip_open()", dlpark_hip_alloc(&none, &tensor, &desc, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_hip_import(&none, &tensor, &desc, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_hip_order(NULL, rocm_1, unsaid, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_hip_wait(&none, rocm_1, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_hip_export(&none, &managed, &tensor, unsaid, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_hip_note_use(&none, &tensor, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_hip_release_after(&none, &tensor, unsaid, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_hip_pointer_info(&none, NULL, &found, e));
    assert_fails(DLPARK_E_ARGUMENT, "out is NULL", dlpark_hip_pointer_info(&hip, NULL, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "no driver", dlpark_hip_device_name(&none, 0, &name, e));
    assert_int_equal(dlpark_hip_poll(&none, true), 0);
    assert_int_equal(dlpark_hip_poll(NULL, true), 0);
}

static void each_function_that_is_needed_is_missed(void **state)
{
    dlpark_error err;

    (void)state;
    for (int i = 0; i < SYMBOLS; i++) {
        dlpark_hip found = DLPARK_HIP_EMPTY;

        missing = symbols[i].name;
        assert_int_equal(open_copy(&found, &err), symbols[i].is_optional ? DLPARK_OK : DLPARK_E_FOREIGN);
        if (!symbols[i].is_optional)
            assert_non_null(strstr(err.message, symbols[i].name));
    }
}

static void memory_is_of_rocm(void **state)
{
    static const DLDevice asked[] = {{(DLDeviceType)0, 0}, {kDLROCM, 1}, {kDLROCMHost, 1}};
    static const DLDevice made[] = {{kDLROCM, 0}, {kDLROCM, 1}, {kDLROCMHost, 0}};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, taken = DLPARK_TENSOR_EMPTY;
    dlpark_gpu_pointer found;
    dlpark_view view;
    static char here;

    (void)state;
    for (int version = 50221153; version <= 60000000; version += 60000000 - 50221153) {
        dlpark_hip runtime = DLPARK_HIP_EMPTY;

        set_version(version);
        hip.driver->version = version;
        runtime = hip;
        for (size_t i = 0; i < 3; i++) {
            assert_ok(dlpark_hip_alloc(&runtime, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .device = asked[i]}, NULL,
                                       &view, e));
            assert_true(dlpark_device_equal(view.device, made[i]));
            assert_ok(dlpark_hip_pointer_info(&runtime, (char *)view.data + 4, &found, e));
            assert_true(dlpark_device_equal(found.device, made[i]));
            assert_int_equal(found.ordinal, i > 0);
            assert_ptr_equal(found.base, view.data);
            assert_ok(dlpark_hip_import(&runtime, &taken, &(dlpark_tensor_desc){DESC_OF_SIX, .data = view.data},
                                        &(dlpark_gpu_options){.release = DLPARK_GPU_RELEASE_WAIT}, NULL, e));
            taken.managed->deleter(taken.managed); /* frees what `tensor` has as well */
            taken = (dlpark_tensor)DLPARK_TENSOR_EMPTY;
            ((dlpark__gpu_block *)tensor.managed->manager_ctx)->is_armed = false;
            dlpark_tensor_release(&tensor);
        }
        assert_ok(dlpark_hip_pointer_info(&runtime, &here, &found, e));
        assert_int_equal(found.ordinal, -1);
    }
    assert_fails(DLPARK_E_DEVICE, "is not a device of ROCm",
                 dlpark_hip_alloc(&hip, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .device = {kDLCUDAManaged, 0}},
                                  NULL, NULL, e));
}

/* Of page-locked memory the range may be unknown. */
static void a_range_that_is_unknown_is_not_checked(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_gpu_pointer found;
    dlpark_view view;

    (void)state;
    assert_ok(dlpark_hip_alloc(&hip, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, &view, e));
    fake_fail("cuMemGetAddressRange_v2", 1, CUDA_ERROR_NOT_FOUND);
    assert_ok(dlpark_hip_pointer_info(&hip, view.data, &found, e));
    assert_null(found.base);
    assert_int_equal(found.nbytes, 0);
    dlpark_tensor reaching = DLPARK_TENSOR_EMPTY;
    const dlpark_tensor_desc desc = {.dtype = DLPARK_F32,
                                     .ndim = 1,
                                     .shape = DLPARK_DIMS((int[]){100}),
                                     .data = view.data,
                                     .owner = view.data,
                                     .release = free};
    const dlpark_gpu_options options = {.release = DLPARK_GPU_RELEASE_CALLBACK};
    fake_fail("cuMemGetAddressRange_v2", 1, CUDA_ERROR_NOT_FOUND);
    assert_ok(dlpark_hip_import(&hip, &reaching, &desc, &options, NULL, e));
    ((dlpark__gpu_block *)reaching.managed->manager_ctx)->is_armed = false;
    dlpark_tensor_release(&reaching);
    dlpark_tensor_desc freed = desc; /* which then need not be known to begin here */
    freed.owner = NULL;
    freed.release = NULL;
    fake_fail("cuMemGetAddressRange_v2", 1, CUDA_ERROR_NOT_FOUND);
    assert_ok(dlpark_hip_import(&hip, &reaching, &freed, NULL, NULL, e));
    ((dlpark__gpu_block *)reaching.managed->manager_ctx)->is_armed = false;
    dlpark_tensor_release(&reaching);
    assert_fails(DLPARK_E_LAYOUT, "(24 bytes)", dlpark_hip_import(&hip, &reaching, &desc, &options, NULL, e));
    fake_fail("cuPointerGetAttribute", 1, CUDA_ERROR_UNKNOWN);
    assert_int_equal(dlpark_hip_pointer_info(&hip, view.data, &found, NULL), DLPARK_E_FOREIGN);
    dlpark_error err;
    fake_fail("cuPointerGetAttribute", 1, CUDA_ERROR_UNKNOWN);
    assert_int_equal(dlpark_hip_pointer_info(&hip, view.data, &found, &err), DLPARK_E_FOREIGN);
    assert_string_equal(err.message, "hipPointerGetAttributes: an unknown error (999)");
    dlpark_tensor_release(&tensor);
}

static void the_current_device_is_as_before(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *managed = NULL;
    CUstream stream = make_stream();
    int device = -1;

    (void)state;
    assert_int_equal(hipSetDevice(1), 0);
    assert_ok(dlpark_hip_alloc(&hip, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, e));
    assert_ok(dlpark_hip_note_use(&hip, &tensor, dlpark_hip_stream(stream), e));
    assert_ok(dlpark_hip_export(&hip, &managed, &tensor, dlpark_hip_stream(NULL), dlpark_hip_stream(stream), e));
    managed->deleter(managed);
    assert_ok(dlpark_hip_alloc(&hip, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, e));
    assert_ok(dlpark_hip_release_after(&hip, &tensor, dlpark_hip_stream(stream), e));
    assert_int_equal(dlpark_hip_poll(&hip, true), 0);
    assert_int_equal(hipGetDevice(&device), 0);
    assert_int_equal(device, 1);
    assert_int_equal(hipSetDevice(0), 0);
    assert_int_equal(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

static void streams_are_numbered_as_on_rocm(void **state)
{
    static const dlpark_stream per_thread = {DLPARK_STREAM_PER_THREAD, NULL};
    CUstream stream = make_stream();

    (void)state;
    fake_reset();
    assert_ok(dlpark_hip_order(&hip, rocm_1, unsaid, (dlpark_stream){DLPARK_STREAM_DEFAULT, NULL}, e));
    assert_ok(dlpark_hip_order(&hip, rocm_1, unsaid, (dlpark_stream){DLPARK_STREAM_HANDLE, NULL}, e));
    assert_int_equal(fake_calls(NULL), 0);
    assert_fails(DLPARK_E_ARGUMENT, "ROCm has no per-thread default stream",
                 dlpark_hip_order(&hip, rocm_1, unsaid, per_thread, e));
    assert_ok(dlpark_hip_order(&hip, (DLDevice){kDLROCM, 0}, unsaid, dlpark_hip_stream(stream), e));
    assert_int_equal(fake_calls("cuStreamWaitEvent"), 1);
    const dlpark_gpu_options options = {.stream = dlpark_hip_stream(NULL), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    assert_ok(dlpark_hip_alloc(&hip, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, &options, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(fake_calls("cuMemFreeAsync"), 1);
    assert_int_equal(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

static void a_runtime_without_the_optional_functions_works(void **state)
{
    dlpark_hip found = DLPARK_HIP_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const dlpark_gpu_options options = {.stream = dlpark_hip_stream(NULL), .release = DLPARK_GPU_RELEASE_ON_STREAM};

    (void)state;
    lacks_optional = true;
    assert_ok(open_copy(&found, e));
    assert_ok(dlpark_hip_alloc(&found, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, &options, NULL, e));
    assert_int_equal(fake_live(FAKE_MEMORY), 1);
    dlpark_tensor_release(&tensor);
    assert_ok(dlpark_hip_alloc(&found, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, &options, NULL, e));
    fake_fail("cuStreamSynchronize", 1, CUDA_ERROR_LAUNCH_FAILED);
    dlpark_tensor_release(&tensor);
    assert_int_equal(dlpark_hip_poll(&found, false), 0);
}

/* Each call of the runtime's that fails: what is on the way is undone, and nothing stays. */
static void each_call_fails_in_turn(void **state)
{
    const dlpark_gpu_options options = {.stream = dlpark_hip_stream(NULL), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    bool has_failed = true;

    (void)state;
    for (long n = 1; has_failed; n++) {
        dlpark_tensor tensors[2] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
        dlpark_error err;

        fake_fail(NULL, n, CUDA_ERROR_LAUNCH_FAILED);
        for (int i = 0; i < 2; i++)
            if (dlpark_hip_alloc(&hip, &tensors[i], &(dlpark_tensor_desc){DESC_OF_SIX, .device = {kDLROCM, i}},
                                 i == 0 ? &options : NULL, NULL, &err) != DLPARK_OK)
                assert_int_equal(err.status, DLPARK_E_FOREIGN);
        for (int i = 0; i < 2; i++)
            dlpark_tensor_release(&tensors[i]);
        has_failed = fake_failed();
        fake_reset();
        while (fake_context_depth() > 0) { /* the fake's own, which could not pop it */
            CUcontext context;
            (void)cuCtxPopCurrent_v2(&context);
        }
        (void)hipSetDevice(0);
        assert_int_equal(dlpark_hip_poll(&hip, true), 0);
        assert_int_equal(fake_live_all(), 0);
    }
}

static void open_tells_what_fails(void **state)
{
    dlpark_hip found = DLPARK_HIP_EMPTY;

    (void)state;
    fake_fail_from("cuInit", 1, CUDA_ERROR_NO_DEVICE);
    assert_int_equal(open_copy(&found, NULL), DLPARK_E_DEVICE);
    fake_reset();
    replaced = "hipDriverGetVersion";
    assert_int_equal(open_copy(&found, NULL), DLPARK_E_FOREIGN);
    replaced = "hipGetDevice";
    assert_ok(open_copy(&found, e));
    assert_fails(DLPARK_E_FOREIGN, "hipGetDevice: ", dlpark_hip_wait(&found, rocm_1, unsaid, e));
    found = (dlpark_hip)DLPARK_HIP_EMPTY;
    assert_ok(open_copy(&found, e));
    fake_fail_from("cuDeviceGetAttribute", 1, CUDA_ERROR_INVALID_VALUE); /* it knows of no pools */
    assert_ok(dlpark_hip_wait(&found, rocm_1, unsaid, e));
    fake_fail_from("cuDeviceGetAttribute", 1, CUDA_ERROR_LAUNCH_FAILED);
    assert_fails(DLPARK_E_FOREIGN,
                 "hipDeviceGetAttribute: ", dlpark_hip_wait(&found, (DLDevice){kDLROCM, 0}, unsaid, e));
}

/* What copies between devices call. */
static void bytes_are_copied_each_way(void **state)
{
    const unsigned char bytes[12] = "abcdefghijk";
    unsigned char back[12] = {0};
    dlpark_tensor tensors[2] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    const dlpark__gpu_platform *platform = &dlpark__hip_platform;
    dlpark_view views[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_ok(dlpark_hip_alloc(&hip, &tensors[i], &(dlpark_tensor_desc){DESC_OF_SIX, .device = {kDLROCM, i}}, NULL,
                                   &views[i], e));
    char *first = views[0].data;
    dlpark__gpu_rows rows = {.to = back, .from = first, .to_pitch = 6, .from_pitch = 4, .nbytes = 2, .count = 2};
    assert_int_equal(platform->copy(hip.driver, DLPARK__GPU_TO_DEVICE, first, bytes, 12, NULL).code, 0);
    assert_int_equal(platform->copy(hip.driver, DLPARK__GPU_ON_DEVICE, first + 12, first, 12, NULL).code, 0);
    assert_int_equal(platform->copy(hip.driver, DLPARK__GPU_TO_HOST, back, first + 12, 12, NULL).code, 0);
    assert_memory_equal(back, bytes, 12);
    assert_int_equal(platform->copy_rows(hip.driver, DLPARK__GPU_TO_HOST, &rows, NULL).code, 0);
    assert_memory_equal(back, "abcdefefijk", 12);
    assert_int_equal(platform->copy_peer(hip.driver, views[1].data, 1, first, 0, 12, NULL).code, 0);
    for (int i = 0; i < 2; i++)
        dlpark_tensor_release(&tensors[i]);
}

/* On a machine without a GPU of AMD's, which is where tests run, it says so and nothing else happens. */
static void the_real_runtime_says_whether_it_has_a_device(void **state)
{
    dlpark_hip real = DLPARK_HIP_EMPTY;
    dlpark_error err;

    (void)state;
    dlpark_status status = dlpark_hip_open(&real, NULL, &err);
    if (status == DLPARK_E_NOT_FOUND) {
        print_message("libamdhip64 was not found (Debian package libamdhip64-dev)\n");
        skip();
    }
    if (status == DLPARK_OK)
        assert_true(real.device_count > 0);
    else
        assert_non_null(strstr(err.message, "finds no device of ROCm"));
}

#define HIP_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HIP_TEST(a_runtime_is_found),
        HIP_TEST(without_a_runtime_every_call_says_so),
        HIP_TEST(each_function_that_is_needed_is_missed),
        HIP_TEST(memory_is_of_rocm),
        HIP_TEST(a_range_that_is_unknown_is_not_checked),
        HIP_TEST(the_current_device_is_as_before),
        HIP_TEST(streams_are_numbered_as_on_rocm),
        HIP_TEST(a_runtime_without_the_optional_functions_works),
        HIP_TEST(each_call_fails_in_turn),
        HIP_TEST(open_tells_what_fails),
        HIP_TEST(bytes_are_copied_each_way),
        cmocka_unit_test(the_real_runtime_says_whether_it_has_a_device),
    };

    return cmocka_run_group_tests_name("hip", tests, open_fake, NULL);
}
