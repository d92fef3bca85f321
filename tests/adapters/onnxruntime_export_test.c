#define _DEFAULT_SOURCE /* mallinfo2 */

/* Tensors in ONNX Runtime's hands: who ends them, when, on which thread, and what stays when something fails. */
#include "test.h"

#include <stdlib.h>

#include "failing_alloc.h"
#include "onnxruntime_fake.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <pthread.h>

static const int64_t shape[] = {2, 3};
static int ended;
static pthread_t ended_by;

static void count_end(void *owner)
{
    (void)owner;
    ended++;
    ended_by = pthread_self();
}

static void make_tensor(dlpark_tensor *tensor, float *floats, DLDevice device)
{
    const dlpark_tensor_desc desc = {.data = floats,
                                     .dtype = DLPARK_F32,
                                     .device = device,
                                     .ndim = 2,
                                     .shape = DLPARK_DIMS(shape),
                                     .release = count_end};

    ended = 0;
    assert_ok(dlpark_tensor_new(tensor, &desc, NULL, e));
}

static OrtValue *make_value(float *floats)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *value = NULL;

    make_tensor(&tensor, floats, (DLDevice){kDLCPU, 0});
    assert_ok(dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, e));
    return value;
}

/* ---- Ends ---- */

/* A sequence shares its elements: the tensor ends with the last that holds it. */
static void the_last_user_ends_the_tensor(void **state)
{
    float floats[6] = {0};

    (void)state;
    for (int first = 0; first < 2; first++) {
        OrtValue *value = make_value(floats), *sequence = NULL;
        assert_runs(fake.real->CreateValue((const OrtValue *const[]){value}, 1, ONNX_TYPE_SEQUENCE, &sequence));
        if (first)
            fake.real->ReleaseValue(sequence);
        else
            value_release(value);
        assert_int_equal(ended, 0);
        if (first)
            value_release(value);
        else
            fake.real->ReleaseValue(sequence);
        assert_int_equal(ended, 1);
        fake_assert_left(0);
    }
}

/* A shared tensor that is given out, and what is taken back of it, end in any order. */
static void shares_outlive_the_value(void **state)
{
    float floats[6] = {0};

    (void)state;
    for (int first = 0; first < 2; first++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, part = DLPARK_TENSOR_EMPTY;
        OrtValue *value = NULL;
        make_tensor(&tensor, floats, (DLDevice){kDLCPU, 0});
        assert_ok(dlpark_tensor_share(&part, &tensor, NULL, e));
        assert_ok(dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, e));
        assert_ok(dlpark_onnxruntime_import(&runtime, &tensor, &value, NULL, e));
        dlpark_tensor_release(first ? &part : &tensor);
        assert_int_equal(ended, 0);
        dlpark_tensor_release(first ? &tensor : &part);
        assert_int_equal(ended, 1);
        fake_assert_left(0);
    }
}

static void *release_there(void *value)
{
    value_release(value);
    return NULL;
}

static void another_thread_may_end_it(void **state)
{
    float floats[6] = {0};
    OrtValue *value = make_value(floats);
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, release_there, value), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ended, 1);
    assert_false(pthread_equal(ended_by, pthread_self()));
    fake_assert_left(0);
}

/* ---- Failures ---- */

static void each_call_of_the_library_may_fail(void **state)
{
    static const DLDevice devices[] = {{kDLCPU, 0}, {kDLCUDA, 1}};
    float floats[6] = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        OrtValue *given = NULL, *lent = NULL;
        dlpark_error err;
        dlpark_view view;
        make_tensor(&tensor, floats, devices[i]);
        dlpark_tensor_view(&tensor, &view);
        for (int nth = 1; nth <= 1 + i; nth++) { /* of the CPU the library has described its memory already */
            fake_fail(nth);
            assert_int_equal(dlpark_onnxruntime_export(&runtime, &given, &tensor, 0, &err), DLPARK_E_FOREIGN);
            assert_non_null(strstr(err.message, fake.failed));
            fake_fail(nth);
            assert_int_equal(dlpark_onnxruntime_borrow(&runtime, &lent, &view, 0, &err), DLPARK_E_FOREIGN);
            assert_non_null(strstr(err.message, "planted"));
            assert_non_null(tensor.managed);
            assert_int_equal(ended, 0);
            fake_assert_left(0);
        }
        fake_fail(2 + i);
        assert_ok(dlpark_onnxruntime_export(&runtime, &given, &tensor, 0, e));
        fake_fail(0);
        value_release(given);
        assert_int_equal(ended, 1);
        fake_assert_left(0);
    }
}

/* As the library does where its last allocation fails: it has called Free by then. */
static void a_value_that_ends_before_it_is_given_leaves_the_tensor(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *value = NULL;
    float floats[6] = {0};

    (void)state;
    make_tensor(&tensor, floats, (DLDevice){kDLCPU, 0});
    fake.fails_late = true;
    assert_fails(DLPARK_E_FOREIGN, "planted late", dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, e));
    fake.fails_late = false;
    assert_null(value);
    assert_int_equal(ended, 0);
    dlpark_tensor_release(&tensor);
    assert_int_equal(ended, 1);
    fake_assert_left(0);
}

static void no_memory_leaves_the_tensor(void **state)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *value = NULL;
    float floats[6] = {0};
    long live;

    (void)state;
    make_tensor(&tensor, floats, (DLDevice){kDLCPU, 0});
    live = failing_alloc_live();
    failing_alloc_arm(1);
    dlpark_status status = dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, NULL);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    assert_null(value);
    assert_non_null(tensor.managed);
    assert_int_equal(failing_alloc_live(), live);
    failing_alloc_arm(2); /* there is no second */
    assert_ok(dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, e));
    failing_alloc_arm(0);
    value_release(value);
    assert_int_equal(ended, 1);
    assert_int_equal(failing_alloc_live(), live - 1);
    fake_assert_left(0);
}

/* ---- Sessions ---- */

/* y = x * x of any float matrix, as ONNX writes it: opset 13. */
static const unsigned char square[] =
    "\x08\x08\x3a\x41\x0a\x0e\x0a\x01\x78\x0a\x01\x78\x12\x01\x79\x22\x03\x4d\x75\x6c\x12\x01\x67\x5a\x15\x0a\x01\x78"
    "\x12\x10\x0a\x0e\x08\x01\x12\x0a\x0a\x03\x12\x01\x6e\x0a\x03\x12\x01\x6d\x62\x15\x0a\x01\x79\x12\x10\x0a\x0e\x08"
    "\x01\x12\x0a\x0a\x03\x12\x01\x6e\x0a\x03\x12\x01\x6d\x42\x04\x0a\x00\x10\x0d";

static void sessions_compute_in_our_memory(void **state)
{
    const OrtApi *api = library.api;
    float in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
    OrtValue *x = make_value(in), *y = make_value(out), *y_before = y;
    OrtEnv *env = NULL;
    OrtSessionOptions *options = NULL;
    OrtSession *session = NULL;
    dlpark_tensor result = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)state;
    assert_runs(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "test", &env));
    assert_runs(api->CreateSessionOptions(&options));
    assert_runs(api->SetIntraOpNumThreads(options, 1));
    assert_runs(api->CreateSessionFromArray(env, square, sizeof square - 1, options, &session));
    assert_runs(api->Run(session, NULL, (const char *const[]){"x"}, (const OrtValue *const[]){x}, 1,
                         (const char *const[]){"y"}, 1, &y));
    assert_ptr_equal(y, y_before);
    for (int i = 0; i < 6; i++)
        assert_true(out[i] == in[i] * in[i]);
    ended = 0;
    value_release(x);
    assert_int_equal(ended, 1);
    assert_ok(dlpark_onnxruntime_import(&runtime, &result, &y, &view, e));
    assert_ptr_equal(view.data, out);
    api->ReleaseSession(session);
    api->ReleaseSessionOptions(options);
    api->ReleaseEnv(env);
    assert_int_equal(ended, 1); /* the result does not need its session */
    dlpark_tensor_release(&result);
    assert_int_equal(ended, 2);
    fake_assert_left(0);
}

/* ---- Memory ---- */

static size_t bytes_in_use(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* A tensor becomes a value, and that a tensor, which is the same memory. */
static void round_trip(float *memory)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    OrtValue *value = NULL;
    dlpark_view view;

    assert_int_equal(
        dlpark_tensor_new(&tensor,
                          &(dlpark_tensor_desc){
                              .data = memory, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})},
                          NULL, NULL),
        DLPARK_OK);
    assert_int_equal(dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, NULL), DLPARK_OK);
    assert_int_equal(dlpark_onnxruntime_import(&runtime, &tensor, &value, &view, NULL), DLPARK_OK);
    assert_ptr_equal(view.data, memory);
    dlpark_tensor_release(&tensor);
}

static void memory_stays_flat(void **state)
{
    static float memory[6];

    (void)state;
    for (int i = 0; i < 100; i++)
        round_trip(memory);
    long live = failing_alloc_live();
    size_t used = bytes_in_use();
    for (int i = 0; i < 100000; i++)
        round_trip(memory);
    assert_int_equal(failing_alloc_live(), live);
    assert_true(bytes_in_use() <= used + 4096); /* the library's own allocations count here too */
    fake_assert_left(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_user_ends_the_tensor),
        cmocka_unit_test(shares_outlive_the_value),
        cmocka_unit_test(another_thread_may_end_it),
        cmocka_unit_test(each_call_of_the_library_may_fail),
        cmocka_unit_test(a_value_that_ends_before_it_is_given_leaves_the_tensor),
        cmocka_unit_test(no_memory_leaves_the_tensor),
        cmocka_unit_test(sessions_compute_in_our_memory),
        cmocka_unit_test(memory_stays_flat),
    };

    return cmocka_run_group_tests(tests, fake_setup, NULL);
}
