/*
 * Drivers that lack functions, and answers that none of the usual ones gives: dlsym() and dlopen() are
 * this test's.
 */
#include "gpu_fake.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_alloc.h"
#include "gpu_copy.h"

#include "../../src/devices/gpu/cuda_functions.h"

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

#define SYMBOL(field, symbol, is_optional, parameters) {#symbol, is_optional},
static const struct {
    const char *name;
    bool is_optional;
} symbols[] = {DLPARK__CUDA_FUNCTIONS(SYMBOL)};

enum { SYMBOLS = sizeof symbols / sizeof symbols[0] };

static const char *missing;  /* a function that is not there */
static bool lacks_optional;  /* none of the optional ones is */
static const char *replaced; /* a function, by the next */
static CUresult (*replacement)(void);
static bool refuse_atfork;

void *__wrap_dlsym(void *library, const char *name)
{
    void *found = NULL;

    for (int i = 0; i < SYMBOLS; i++)
        if (lacks_optional && symbols[i].is_optional && strcmp(name, symbols[i].name) == 0)
            return NULL;
    if (replaced && strcmp(name, replaced) == 0)
        memcpy(&found, &replacement, sizeof found);
    else if (!missing || strcmp(name, missing) != 0)
        found = __real_dlsym(library, name);
    return found;
}

/* A machine without a driver: none is found by its name alone. */
void *__wrap_dlopen(const char *path, int flags)
{
    return __real_dlopen(strchr(path, '/') ? path : "/nowhere/libcuda.so.1", flags);
}

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return refuse_atfork ? 12 : __real_pthread_atfork(prepare, parent, child);
}

/* A driver of its own, opened under the conditions above, which end with that. */
static dlpark_status open_copy(dlpark_cuda *found, dlpark_error *err)
{
    gpu_copy copy = gpu_copy_make(FAKECUDA_PATH);
    dlpark_status status = dlpark_cuda_open(found, copy.path, err);

    gpu_copy_end(&copy);
    missing = replaced = NULL;
    lacks_optional = false;
    return status;
}

/* The first one in the process, before the handler is there. */
static void without_a_handler_of_fork_nothing_is_opened(void **state)
{
    dlpark_cuda found = DLPARK_CUDA_EMPTY;

    (void)state;
    refuse_atfork = true;
    assert_fails(DLPARK_E_MEMORY, "handler of fork()", dlpark_cuda_open(&found, FAKECUDA_PATH, e));
    refuse_atfork = false;
    assert_null(found.driver);
}

/* Nothing has been opened yet, so that a child may do it; the parent's own comes after. */
static void a_child_opens_what_its_parent_did_not(void **state)
{
    dlpark_cuda found = DLPARK_CUDA_EMPTY;
    int status = -1;

    (void)state;
    assert_fails(DLPARK_E_NOT_FOUND, "", dlpark_cuda_open(&found, "/nowhere/libcuda.so.1", e));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        exit(dlpark_cuda_open(&found, FAKECUDA_PATH, NULL) != DLPARK_OK);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_ok(dlpark_cuda_open(&cuda, FAKECUDA_PATH, e));
}

static void a_machine_may_have_no_driver(void **state)
{
    dlpark_cuda none = DLPARK_CUDA_EMPTY;

    (void)state;
    assert_fails(DLPARK_E_NOT_FOUND, "the driver of CUDA cannot be loaded: ", dlpark_cuda_open(&none, NULL, e));
    assert_null(none.driver);
}

static void each_function_that_is_needed_is_missed(void **state)
{
    dlpark_error err;

    (void)state;
    for (int i = 0; i < SYMBOLS; i++) {
        dlpark_cuda found = DLPARK_CUDA_EMPTY;

        missing = symbols[i].name;
        dlpark_status status = open_copy(&found, &err);
        assert_int_equal(status, symbols[i].is_optional ? DLPARK_OK : DLPARK_E_FOREIGN);
        if (status != DLPARK_OK) {
            assert_non_null(strstr(err.message, symbols[i].name));
            assert_non_null(strstr(err.message, "too old"));
            assert_null(found.driver);
        }
    }
}

/* The first version of CUDA's functions had addresses of 32 bits, under the plain names. */
static void no_function_of_the_first_version_is_asked_for(void **state)
{
    static const char *const plain[] = {
        "cuMemAlloc",      "cuMemFree",         "cuCtxPushCurrent",         "cuCtxPopCurrent",
        "cuEventDestroy",  "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",        "cuMemcpyDtoDAsync",
        "cuMemcpy2DAsync", "cuStreamDestroy",   "cuDevicePrimaryCtxRelease"};

    (void)state;
    for (int i = 0; i < SYMBOLS; i++)
        for (size_t k = 0; k < sizeof plain / sizeof plain[0]; k++)
            assert_string_not_equal(symbols[i].name, plain[k]);
}

static CUresult says_11_2(int *version)
{
    *version = 11020;
    return CUDA_SUCCESS;
}

static CUresult says_none(int *count)
{
    *count = 0;
    return CUDA_SUCCESS;
}

static CUresult knows_no_attribute(void)
{
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult fails(void)
{
    return CUDA_ERROR_UNKNOWN;
}

/* CUDA 11.2, without any function that is younger: memory, streams and addresses are as with all of them. */
static void a_driver_without_the_optional_functions_works(void **state)
{
    dlpark_cuda found = DLPARK_CUDA_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_gpu_pointer pointer;
    dlpark_view view;
    static int here;

    (void)state;
    lacks_optional = true;
    replaced = "cuDriverGetVersion";
    memcpy(&replacement, &(CUresult(*)(int *)){says_11_2}, sizeof replacement);
    assert_ok(open_copy(&found, e));
    assert_int_equal(found.version, 11020);
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(NULL), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    assert_ok(dlpark_cuda_alloc(&found, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, &options, &view, e));
    assert_ok(dlpark_cuda_pointer_info(&found, view.data, &pointer, e));
    assert_ptr_equal(pointer.base, view.data);
    assert_int_equal(pointer.nbytes, 24);
    assert_int_equal(pointer.is_pool, 0);
    assert_int_equal(pointer.device.device_type, kDLCUDA);
    dlpark_tensor_release(&tensor);
    assert_ok(dlpark_cuda_pointer_info(&found, view.data, &pointer, e));
    assert_int_equal(pointer.ordinal, -1); /* it was freed */
    assert_ok(dlpark_cuda_pointer_info(&found, &here, &pointer, e));
    assert_int_equal(pointer.ordinal, -1);
    assert_ok(dlpark_cuda_alloc(&found, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, e));
    dlpark_tensor_release(&tensor);
}

/* Memory of a device that the driver did not count. */
static CUresult says_device_9(unsigned int count, CUpointer_attribute *attributes, void **answers, CUdeviceptr address)
{
    (void)address;
    for (unsigned int i = 0; i < count; i++)
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)answers[i] = 9;
        else if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            *(unsigned int *)answers[i] = CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

static void a_device_that_is_none_is_told(void **state)
{
    dlpark_cuda found = DLPARK_CUDA_EMPTY;
    dlpark_gpu_pointer pointer;

    (void)state;
    replaced = "cuPointerGetAttributes";
    memcpy(&replacement, &(CUresult(*)(unsigned int, CUpointer_attribute *, void **, CUdeviceptr)){says_device_9},
           sizeof replacement);
    assert_ok(open_copy(&found, e));
    assert_fails(DLPARK_E_DEVICE, "there is no device 9 of CUDA",
                 dlpark_cuda_pointer_info(&found, &found, &pointer, e));
}

/* Without an end in a stream's order the thread waits; where that fails for good, the memory is given up. */
static void a_stream_that_cannot_be_waited_for(void **state)
{
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(NULL), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    dlpark_cuda found = DLPARK_CUDA_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    lacks_optional = true;
    replaced = "cuStreamSynchronize";
    replacement = fails;
    assert_ok(open_copy(&found, e));
    assert_ok(dlpark_cuda_alloc(&found, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, &options, NULL, e));
    dlpark_tensor_release(&tensor);
    assert_int_equal(dlpark_cuda_poll(&found, false), 0);
}

static void odd_answers_are_understood(void **state)
{
    dlpark_cuda found = DLPARK_CUDA_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)state;
    replaced = "cuDeviceGetCount";
    memcpy(&replacement, &(CUresult(*)(int *)){says_none}, sizeof replacement);
    assert_int_equal(open_copy(&found, NULL), DLPARK_E_DEVICE);
    replaced = "cuDriverGetVersion";
    replacement = fails;
    dlpark_error err;
    assert_int_equal(open_copy(&found, &err), DLPARK_E_FOREIGN);
    assert_string_equal(err.message, "cuDriverGetVersion: CUDA_ERROR_UNKNOWN (999)");

    replaced = "cuDeviceGetAttribute"; /* which does not know of pools */
    replacement = knows_no_attribute;
    assert_ok(open_copy(&found, e));
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(NULL)};
    assert_ok(dlpark_cuda_alloc(&found, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, &options, NULL, e));
    dlpark_tensor_release(&tensor);

    found = (dlpark_cuda)DLPARK_CUDA_EMPTY;
    replaced = "cuDevicePrimaryCtxRetain"; /* the first use fails, and so does each other */
    assert_ok(open_copy(&found, e));
    for (int i = 0; i < 2; i++)
        assert_fails(DLPARK_E_FOREIGN, "cuDevicePrimaryCtxRetain: CUDA_ERROR_INVALID_VALUE (1)",
                     dlpark_cuda_alloc(&found, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, e));
    found = (dlpark_cuda)DLPARK_CUDA_EMPTY;
    replaced = "cuDeviceGet";
    replacement = fails;
    dlpark_name name;
    assert_ok(open_copy(&found, e));
    assert_fails(DLPARK_E_FOREIGN,
                 "cuDeviceGet: ", dlpark_cuda_wait(&found, cuda_0, (dlpark_stream){DLPARK_STREAM_DEFAULT, NULL}, e));
    assert_fails(DLPARK_E_FOREIGN, "cuDeviceGet: ", dlpark_cuda_device_name(&found, 0, &name, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_handler_of_fork_nothing_is_opened),
        cmocka_unit_test(a_child_opens_what_its_parent_did_not),
        cmocka_unit_test(a_machine_may_have_no_driver),
        cmocka_unit_test(each_function_that_is_needed_is_missed),
        cmocka_unit_test(no_function_of_the_first_version_is_asked_for),
        cmocka_unit_test(a_driver_without_the_optional_functions_works),
        cmocka_unit_test(odd_answers_are_understood),
        cmocka_unit_test(a_device_that_is_none_is_told),
        cmocka_unit_test(a_stream_that_cannot_be_waited_for),
    };

    (void)unsaid;
    (void)no_sync;
    (void)gpu_fake_released;
    return cmocka_run_group_tests_name("cuda_driver", tests, NULL, NULL);
}
