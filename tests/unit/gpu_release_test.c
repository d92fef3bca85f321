/*
 * What fails: each call of the driver in turn, each allocation in turn, a driver that has ended, a context that is lost,
 * and a child after fork().
 */
#include "gpu_fake.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_alloc.h"

/* A child has what the driver had, which no leak checker shall see; what counts branches wants a usual end. */
#if defined(__SANITIZE_ADDRESS__)
#define END_CHILD _exit
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define END_CHILD _exit
#endif
#endif
#if !defined(END_CHILD)
#define END_CHILD exit
#endif

static CUstream stream; /* one of the program's, while a case runs */
static void *memory;    /* memory of the program's */

static dlpark_status do_alloc(dlpark_error *err)
{
    static const DLDevice kinds[] = {{kDLCUDA, 0}, {kDLCUDA, 1}, {kDLCUDAManaged, 0}, {kDLCUDAHost, 1}};
    dlpark_status status = DLPARK_OK;

    for (size_t i = 0; i < 4 && status == DLPARK_OK; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

        status =
            dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .device = kinds[i]}, NULL, NULL, err);
        if (status != DLPARK_OK)
            assert_null(tensor.managed);
        dlpark_tensor_release(&tensor);
    }
    return status;
}

static dlpark_status do_alloc_on_stream(dlpark_error *err)
{
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(stream), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_status status = dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, &options, NULL, err);

    if (status == DLPARK_OK)
        status = dlpark_cuda_note_use(&cuda, &tensor, (dlpark_stream){DLPARK_STREAM_PER_THREAD, NULL}, err);
    dlpark_tensor_release(&tensor);
    return status;
}

static dlpark_status do_managed_on_stream(dlpark_error *err)
{
    const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(stream), .release = DLPARK_GPU_RELEASE_ON_STREAM};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_status status = dlpark_cuda_alloc(
        &cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .device = {kDLCUDAManaged, 0}}, &options, NULL, err);

    dlpark_tensor_release(&tensor);
    return status;
}

static dlpark_status do_import(dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    int released = gpu_fake_released;
    dlpark_status status = dlpark_cuda_import(
        &cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .release = gpu_fake_release}, NULL, NULL,
        err);

    dlpark_tensor_release(&tensor);
    if (status != DLPARK_OK)
        assert_int_equal(gpu_fake_released, released);
    return status;
}

static dlpark_status do_order(dlpark_error *err)
{
    return dlpark_cuda_order(&cuda, cuda_0, unsaid, dlpark_cuda_stream(stream), err);
}

static dlpark_status do_wait(dlpark_error *err)
{
    return dlpark_cuda_wait(&cuda, cuda_0, dlpark_cuda_stream(stream), err);
}

static dlpark_status do_export(dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLManagedTensorVersioned *managed = NULL;

    DLPARK_TRY(dlpark_tensor_new(
        &tensor, &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .device = {kDLCUDAManaged, 0}}, NULL, err));
    dlpark_status status = dlpark_cuda_export(&cuda, &managed, &tensor, unsaid, dlpark_cuda_stream(stream), err);
    assert_true((managed == NULL) == (status != DLPARK_OK) && (tensor.managed == NULL) == (status == DLPARK_OK));
    dlpark_managed_release(&managed);
    dlpark_tensor_release(&tensor);
    return status;
}

static dlpark_status do_note(dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_status status = dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, err);

    for (int i = 0; i < 3 && status == DLPARK_OK; i++)
        status = dlpark_cuda_note_use(&cuda, &tensor, dlpark_cuda_stream(stream), err);
    dlpark_tensor_release(&tensor);
    return status;
}

static dlpark_status do_release_after(dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_status status = dlpark_cuda_alloc(&cuda, &tensor, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, err);

    if (status == DLPARK_OK)
        status = dlpark_cuda_release_after(&cuda, &tensor, dlpark_cuda_stream(stream), err);
    dlpark_tensor_release(&tensor);
    (void)dlpark_cuda_poll(&cuda, true);
    return status;
}

static dlpark_status do_look(dlpark_error *err)
{
    dlpark_gpu_pointer found;
    dlpark_name name;

    DLPARK_TRY(dlpark_cuda_device_name(&cuda, 1, &name, err));
    return dlpark_cuda_pointer_info(&cuda, memory, &found, err);
}

static const struct {
    const char *name;
    dlpark_status (*run)(dlpark_error *err);
} cases[] = {
    {"alloc", do_alloc},
    {"alloc on a stream", do_alloc_on_stream},
    {"managed on a stream", do_managed_on_stream},
    {"import", do_import},
    {"order", do_order},
    {"wait", do_wait},
    {"export", do_export},
    {"note_use", do_note},
    {"release_after", do_release_after},
    {"pointer_info", do_look},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static void begin_case(void)
{
    stream = gpu_fake_stream();
    memory = gpu_fake_memory(0, 24);
    fake_reset();
}

/* Pops what a call that failed has left, ends what waits, and finds nothing but what is the program's. */
static void end_case(const char *name, long n)
{
    fake_reset();
    while (fake_context_depth() > 0)
        gpu_fake_pop();
    if (dlpark_cuda_poll(&cuda, true) != 0 || dlpark_cuda_poll(&cuda, true) != 0)
        fail_msg("%s, call %ld failed: something still waits", name, n);
    gpu_fake_free(memory);
    gpu_fake_close(stream);
    if (fake_live_all() != 0)
        fail_msg("%s, call %ld failed: %ld alive, of those %ld events", name, n, fake_live_all(),
                 fake_live(FAKE_EVENT));
    assert_int_equal(fake_faults(), 0);
}

/* Errors of three kinds: of the call, of a capture, and none that has a name. */
static void each_call_fails_in_turn(void **state)
{
    static const int errors[] = {CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 12345};

    (void)state;
    for (size_t i = 0; i < CASES * sizeof errors / sizeof errors[0]; i++) {
        bool has_failed = true;

        for (long n = 1; has_failed; n++) {
            dlpark_error err = {DLPARK_OK, ""};

            begin_case();
            fake_fail(NULL, n, errors[i / CASES]);
            if (cases[i % CASES].run(&err) != DLPARK_OK) {
                assert_int_equal(err.status, DLPARK_E_FOREIGN);
                assert_true(strncmp(err.message, "cu", 2) == 0); /* the function's name is in front */
            }
            has_failed = fake_failed();
            end_case(cases[i % CASES].name, n);
        }
    }
}

/* From the n-th on all calls fail: what the driver will never do again is given up, and the queue gets empty. */
static void all_calls_fail_from_one_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        bool has_failed = true;

        for (long n = 1; has_failed; n++) {
            begin_case();
            fake_fail_from(NULL, n, CUDA_ERROR_LAUNCH_FAILED);
            (void)cases[i].run(NULL);
            has_failed = fake_failed();
            (void)dlpark_cuda_poll(&cuda, false);
            assert_int_equal(dlpark_cuda_poll(&cuda, false), 0);
            fake_reset();
            while (fake_context_depth() > 0)
                gpu_fake_pop();
            gpu_fake_free(memory);
            gpu_fake_close(stream);
        }
    }
    fake_reset();
}

static void each_allocation_fails_in_turn(void **state)
{
    dlpark_status status;

    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        long n = 0, live = failing_alloc_live();

        do {
            dlpark_error err;

            begin_case();
            failing_alloc_arm(++n);
            status = cases[i].run(&err);
            failing_alloc_arm(0);
            if (status != DLPARK_OK)
                assert_int_equal(status, DLPARK_E_MEMORY);
            end_case(cases[i].name, n);
            assert_int_equal(failing_alloc_live(), live);
        } while (status != DLPARK_OK);
    }
}

/* The driver has shut down, or was never told of: all that it had is gone, and only memory of the host is left to free. */
static void a_driver_that_has_ended_is_no_failure_for_a_deleter(void **state)
{
    dlpark_tensor tensors[3] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    dlpark_tensor later = DLPARK_TENSOR_EMPTY;
    long live = failing_alloc_live();

    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        begin_case();
        const dlpark_gpu_options options = {.stream = dlpark_cuda_stream(stream),
                                            .release = DLPARK_GPU_RELEASE_ON_STREAM};
        gpu_fake_released = 0;
        assert_ok(dlpark_cuda_alloc(&cuda, &tensors[0], &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, e));
        assert_ok(dlpark_cuda_alloc(&cuda, &tensors[1], &(dlpark_tensor_desc){DESC_OF_SIX}, &options, NULL, e));
        assert_ok(dlpark_cuda_import(&cuda, &tensors[2],
                                     &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .release = gpu_fake_release},
                                     NULL, NULL, e));
        assert_ok(dlpark_cuda_alloc(&cuda, &later, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, e));
        fake_schedule(FAKE_NEEDED_ONLY);
        int done = 0;
        gpu_fake_work(stream, &done);
        for (int i = 0; i < 3; i++)
            assert_ok(dlpark_cuda_note_use(&cuda, &tensors[i], dlpark_cuda_stream(stream), e));
        assert_ok(dlpark_cuda_release_after(&cuda, &later, dlpark_cuda_stream(stream), e));
        if (ended)
            fake_fail_from(NULL, 1, CUDA_ERROR_DEINITIALIZED);
        else
            fake_uninit();
        for (int i = 0; i < 3; i++)
            dlpark_tensor_release(&tensors[i]);
        assert_int_equal(gpu_fake_released, 1);
        assert_int_equal(dlpark_cuda_poll(&cuda, false), 0);
        assert_int_equal(failing_alloc_live(), live);
        fake_reset();
        assert_int_equal(cuInit(0), CUDA_SUCCESS);
    }
}

/* ---- A child ---- */

/* What a child sees, as its exit status: 0 where all is as it shall be. */
static int look_in_child(dlpark_tensor *tensors, long live_before)
{
    dlpark_tensor none = DLPARK_TENSOR_EMPTY;
    dlpark_cuda again = DLPARK_CUDA_EMPTY;
    dlpark_error err;
    int wrong = 0;

    wrong |= dlpark_cuda_open(&again, FAKECUDA_PATH, &err) != DLPARK_E_FOREIGN;
    wrong |= strstr(err.message, "and this is its child") == NULL;
    wrong |= (dlpark_cuda_alloc(&cuda, &none, &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, &err) != DLPARK_E_FOREIGN)
             << 1;
    wrong |= (dlpark_cuda_order(&cuda, cuda_0, unsaid, unsaid, NULL) != DLPARK_E_FOREIGN) << 2;
    wrong |= (dlpark_cuda_poll(&cuda, true) != 0) << 3;
    for (int i = 0; i < 3; i++)
        dlpark_tensor_release(&tensors[i]);
    wrong |= (gpu_fake_released != 0) << 4;
    wrong |= (failing_alloc_live() != live_before) << 5;
    return wrong;
}

static void a_child_leaves_the_driver_alone(void **state)
{
    dlpark_tensor tensors[3] = {DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY, DLPARK_TENSOR_EMPTY};
    long live = failing_alloc_live();
    int status = -1;

    (void)state;
    begin_case();
    gpu_fake_released = 0;
    assert_ok(dlpark_cuda_alloc(&cuda, &tensors[0], &(dlpark_tensor_desc){DESC_OF_SIX}, NULL, NULL, e));
    assert_ok(dlpark_cuda_note_use(&cuda, &tensors[0], unsaid, e));
    assert_ok(dlpark_cuda_alloc(&cuda, &tensors[1], &(dlpark_tensor_desc){DESC_OF_SIX, .device = {kDLCUDAHost, 0}},
                                NULL, NULL, e));
    assert_ok(dlpark_cuda_import(&cuda, &tensors[2],
                                 &(dlpark_tensor_desc){DESC_OF_SIX, .data = memory, .release = gpu_fake_release},
                                 &(dlpark_gpu_options){.release = DLPARK_GPU_RELEASE_CALLBACK}, NULL, e));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        END_CHILD(look_in_child(tensors, live));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    for (int i = 0; i < 3; i++)
        dlpark_tensor_release(&tensors[i]);
    assert_int_equal(gpu_fake_released, 1);
    end_case("fork", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(each_call_fails_in_turn),
        GPU_TEST(each_allocation_fails_in_turn),
        GPU_TEST(a_child_leaves_the_driver_alone),
        cmocka_unit_test_setup(all_calls_fail_from_one_on, gpu_fake_begin),
        cmocka_unit_test_setup(a_driver_that_has_ended_is_no_failure_for_a_deleter, gpu_fake_begin),
    };

    return cmocka_run_group_tests_name("gpu_release", tests, gpu_fake_open, NULL);
}
