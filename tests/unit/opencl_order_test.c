/* What queues are given so that one waits for another; the fake refuses a barrier for a marker that was not flushed. */
#include "opencl_made.h"

static void queues_of_a_context_wait_for_each_other(void **state)
{
    (void)state;
    assert_ok(dlpark_opencl_order(&opencl, queue, second_queue, e));
    assert_string_equal(fakeopencl_log(), "marker0 flush0 barrier1<0");
}

static void a_queue_waits_for_itself(void **state)
{
    (void)state;
    assert_ok(dlpark_opencl_order(&opencl, queue, queue, e));
    assert_string_equal(fakeopencl_log(), "barrier0");
}

static void the_host_waits_where_events_do_not_cross(void **state)
{
    (void)state;
    assert_ok(dlpark_opencl_order(&opencl, queue, other_queue, e));
    assert_string_equal(fakeopencl_log(), "finish0");
    assert_ok(dlpark_opencl_order(&opencl, other_queue, NULL, e));
    assert_string_equal(fakeopencl_log(), "finish2");
    assert_ok(dlpark_opencl_order(&opencl, NULL, queue, e));
    assert_ok(dlpark_opencl_order(&opencl, NULL, NULL, e));
    assert_string_equal(fakeopencl_log(), "");
}

static void each_call_may_fail(void **state)
{
    struct _cl_command_queue *consumers[] = {second_queue, queue, other_queue, NULL};
    dlpark_opencl none = DLPARK_OPENCL_EMPTY;

    (void)state;
    for (size_t i = 0; i < sizeof consumers / sizeof consumers[0]; i++) {
        fakeopencl_fail(0, 0);
        assert_ok(dlpark_opencl_order(&opencl, queue, consumers[i], e));
        long calls = fakeopencl_calls();
        assert_true(calls > 0);
        for (long nth = 1; nth <= calls; nth++) {
            dlpark_error err;
            fakeopencl_fail(nth, -36);
            assert_int_equal(dlpark_opencl_order(&opencl, queue, consumers[i], &err), DLPARK_E_FOREIGN);
            assert_non_null(strstr(err.message, fakeopencl_failed()));
            assert_non_null(strstr(err.message, ": CL_INVALID_COMMAND_QUEUE (-36)"));
            assert_int_equal(fakeopencl_live(), live_before);
        }
    }
    fakeopencl_fail(0, 0);
    assert_fails(DLPARK_E_ARGUMENT, "opencl is NULL", dlpark_opencl_order(NULL, queue, queue, e));
    assert_fails(DLPARK_E_ARGUMENT, "no loader", dlpark_opencl_order(&none, queue, queue, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENCL_TEST(queues_of_a_context_wait_for_each_other),
        OPENCL_TEST(a_queue_waits_for_itself),
        OPENCL_TEST(the_host_waits_where_events_do_not_cross),
        OPENCL_TEST(each_call_may_fail),
    };

    return cmocka_run_group_tests(tests, opencl_made_open, opencl_made_close);
}
