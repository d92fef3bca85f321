#define _DEFAULT_SOURCE /* setenv */

/* How the loader is found, and what it says when it is not one, or has nothing to offer. */
#include "opencl_made.h"

#include <stdlib.h>

#include "failing_alloc.h"
#include "opencl_parts.h"

static void an_absent_loader_is_told(void **state)
{
    dlpark_opencl none = DLPARK_OPENCL_EMPTY;

    (void)state;
    assert_fails(DLPARK_E_NOT_FOUND, "OpenCL's loader cannot be loaded: /nowhere/libOpenCL.so.1: cannot open",
                 dlpark_opencl_open(&none, "/nowhere/libOpenCL.so.1", e));
    assert_int_equal(setenv("DLPARK_OPENCL_LIBRARY", "/nowhere/named", 1), 0);
    assert_fails(DLPARK_E_NOT_FOUND, "/nowhere/named", dlpark_opencl_open(&none, NULL, e));
    assert_null(none.loader);
    assert_int_equal(unsetenv("DLPARK_OPENCL_LIBRARY"), 0);
}

static void a_library_that_is_no_loader_is_told(void **state)
{
    dlpark_opencl none = DLPARK_OPENCL_EMPTY;

    (void)state;
    assert_fails(DLPARK_E_FOREIGN, "has no clFinish(): it is no loader of OpenCL 1.2",
                 dlpark_opencl_open(&none, "libc.so.6", e));
    assert_fails(DLPARK_E_FOREIGN, "has no clEnqueueBarrierWithWaitList()",
                 dlpark_opencl_open(&none, FAKEOPENCL_OLD_PATH, e));
    assert_null(none.loader);
}

/* Nothing is kept of a loader that fails: it is asked again by the next call. */
static void a_loader_with_nothing_says_so(void **state)
{
    dlpark_opencl none = DLPARK_OPENCL_EMPTY;

    (void)state;
    fakeopencl.platforms_code = -1001;
    assert_fails(DLPARK_E_DEVICE, "finds no platform", dlpark_opencl_open(&none, FAKEOPENCL_PATH, e));
    fakeopencl = (fakeopencl_settings){.no_platforms = 1};
    assert_fails(DLPARK_E_DEVICE, "finds no platform", dlpark_opencl_open(&none, FAKEOPENCL_PATH, e));
    fakeopencl = (fakeopencl_settings){.devices_code = -1};
    assert_fails(DLPARK_E_DEVICE, "finds no device; platforms: 2", dlpark_opencl_open(&none, FAKEOPENCL_PATH, e));
    fakeopencl.devices_code = -33;
    assert_fails(DLPARK_E_FOREIGN, "clGetDeviceIDs: CL_INVALID_DEVICE (-33)",
                 dlpark_opencl_open(&none, FAKEOPENCL_PATH, e));
    fakeopencl = (fakeopencl_settings){.platforms_code = -6};
    assert_fails(DLPARK_E_MEMORY, "clGetPlatformIDs: CL_OUT_OF_HOST_MEMORY (-6)",
                 dlpark_opencl_open(&none, FAKEOPENCL_PATH, e));
    fakeopencl.platforms_code = -9999;
    assert_fails(DLPARK_E_FOREIGN, "clGetPlatformIDs: an error (-9999)", dlpark_opencl_open(&none, FAKEOPENCL_PATH, e));
    fakeopencl = (fakeopencl_settings){0};
    assert_null(none.loader);
}

static void want_of_memory_is_told(void **state)
{
    dlpark_opencl none = DLPARK_OPENCL_EMPTY;
    dlpark_error err;

    (void)state;
    failing_alloc_arm_from(1);
    dlpark_status status = dlpark_opencl_open(&none, FAKEOPENCL_PATH, &err);
    failing_alloc_arm(0);
    assert_int_equal(status, DLPARK_E_MEMORY);
    assert_non_null(strstr(err.message, "bytes of OpenCL's functions"));
    assert_int_equal(fakeopencl_live(), 0);
}

static void a_loader_is_opened_once(void **state)
{
    dlpark_opencl first = DLPARK_OPENCL_EMPTY, second = DLPARK_OPENCL_EMPTY, third = DLPARK_OPENCL_EMPTY;

    (void)state;
    assert_ok(dlpark_opencl_open(&first, FAKEOPENCL_PATH, e));
    assert_int_equal(first.platform_count, 2);
    assert_int_equal(first.device_count, 4);
    assert_string_equal(first.library, FAKEOPENCL_PATH);
    assert_fails(DLPARK_E_NOT_EMPTY, FAKEOPENCL_PATH, dlpark_opencl_open(&first, FAKEOPENCL_PATH, e));
    assert_fails(DLPARK_E_ARGUMENT, "opencl is NULL", dlpark_opencl_open(NULL, FAKEOPENCL_PATH, e));

    long blocks = failing_alloc_live();
    assert_int_equal(setenv("DLPARK_OPENCL_LIBRARY", FAKEOPENCL_PATH, 1), 0);
    assert_ok(dlpark_opencl_open(&second, NULL, e));
    assert_ptr_equal(second.loader, first.loader);
    assert_int_equal(failing_alloc_live(), blocks);

    /* An argument goes before the environment; more than can be counted is not. */
    assert_ok(dlpark_opencl_open(&third, FAKEOPENCL_MANY_PATH, e));
    assert_int_equal(third.platform_count, 16);
    assert_int_equal(third.device_count, 64);
    assert_ptr_not_equal(third.loader, first.loader);
    second = (dlpark_opencl)DLPARK_OPENCL_EMPTY;
    assert_ok(dlpark_opencl_open(&second, FAKEOPENCL_PATH, e)); /* which is not the last that was loaded */
    assert_ptr_equal(second.loader, first.loader);
    assert_int_equal(unsetenv("DLPARK_OPENCL_LIBRARY"), 0);
}

/* Where the variable is empty or absent, whatever is on this machine. */
static void the_usual_name_is_looked_for(void **state)
{
    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        dlpark_opencl usual = DLPARK_OPENCL_EMPTY;
        dlpark_error err;
        if (empty)
            assert_int_equal(setenv("DLPARK_OPENCL_LIBRARY", "", 1), 0);
        dlpark_status status = dlpark_opencl_open(&usual, NULL, &err);
        if (status == DLPARK_OK)
            assert_string_equal(usual.library, "libOpenCL.so.1");
        else
            assert_non_null(strstr(err.message, "libOpenCL.so.1"));
    }
    assert_int_equal(unsetenv("DLPARK_OPENCL_LIBRARY"), 0);
}

static void devices_have_names(void **state)
{
    dlpark_opencl fake = DLPARK_OPENCL_EMPTY, none = DLPARK_OPENCL_EMPTY;
    dlpark_name name;

    (void)state;
    assert_ok(dlpark_opencl_open(&fake, FAKEOPENCL_PATH, e));
    assert_ok(dlpark_opencl_device_name(&fake, 3, &name, e));
    assert_string_equal(name.text, "a device that is none, with a name of more than");
    assert_fails(DLPARK_E_DEVICE, "there is no opencl:4, 4 devices are known",
                 dlpark_opencl_device_name(&fake, 4, &name, e));
    assert_fails(DLPARK_E_DEVICE, "there is no opencl:-1", dlpark_opencl_device_name(&fake, -1, &name, e));
    dlpark_opencl one = fake;
    one.device_count = 1;
    assert_fails(DLPARK_E_DEVICE, "1 device is known", dlpark_opencl_device_name(&one, 1, &name, e));
    assert_fails(DLPARK_E_ARGUMENT, "name is NULL", dlpark_opencl_device_name(&fake, 0, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "opencl is NULL", dlpark_opencl_device_name(NULL, 0, &name, e));
    assert_fails(DLPARK_E_ARGUMENT, "dlpark_opencl_open() does", dlpark_opencl_device_name(&none, 0, &name, e));
    fakeopencl_fail(1, -33);
    assert_int_equal(dlpark_opencl_device_name(&fake, 0, &name, NULL), DLPARK_E_FOREIGN);
    fakeopencl_fail(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_absent_loader_is_told),
        cmocka_unit_test(a_library_that_is_no_loader_is_told),
        cmocka_unit_test(a_loader_with_nothing_says_so),
        cmocka_unit_test(want_of_memory_is_told),
        cmocka_unit_test(a_loader_is_opened_once),
        cmocka_unit_test(the_usual_name_is_looked_for),
        cmocka_unit_test(devices_have_names),
    };

    (void)opencl_made_open;
    (void)opencl_made_close;
    (void)opencl_made_nothing_left;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
