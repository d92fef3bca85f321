#include "test.h"

#include <stdbool.h>

static const struct {
    int type;
    const char *word;
    bool host;
    bool addressable;
} known[] = {
    {1, "cpu", true, true},       {2, "cuda", false, true},         {3, "cuda_host", true, true},
    {4, "opencl", false, false},  {7, "vulkan", false, false},      {8, "metal", false, false},
    {9, "vpi", false, true},      {10, "rocm", false, true},        {11, "rocm_host", true, true},
    {12, "ext_dev", false, true}, {13, "cuda_managed", true, true}, {14, "one_api", false, true},
    {15, "webgpu", false, false}, {16, "hexagon", false, true},     {17, "maia", false, true},
    {18, "trn", false, true},
};

#define KNOWN (sizeof known / sizeof known[0])

static DLDevice device(int type, int32_t id)
{
    return DLPARK_DEVICE((DLDeviceType)type, id);
}

static void names_go_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < KNOWN; i++) {
        for (int32_t id = 0; id < 3; id++) {
            char expected[64];
            DLDevice parsed = device(99, 99);
            snprintf(expected, sizeof expected, id == 0 && known[i].host ? "%s" : "%s:%d", known[i].word, (int)id);
            assert_string_equal(dlpark_device_name(device(known[i].type, id)).text, expected);
            assert_ok(dlpark_device_parse(expected, &parsed, e));
            assert_true(dlpark_device_equal(parsed, device(known[i].type, id)));
            assert_ok(dlpark_device_check(parsed, e));
        }
        DLDevice bare = device(99, 99);
        assert_ok(dlpark_device_parse(known[i].word, &bare, e));
        assert_true(dlpark_device_equal(bare, device(known[i].type, 0)));
    }
}

static void what_the_host_may_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < KNOWN; i++) {
        assert_int_equal(dlpark_device_is_host_accessible(device(known[i].type, 0)), known[i].host);
        assert_int_equal(dlpark_device_is_addressable(device(known[i].type, 0)), known[i].addressable);
    }
    assert_false(dlpark_device_is_host_accessible(device(33, 0)));
    assert_false(dlpark_device_is_host_accessible(device(-31, 0)));
}

static void every_other_type_is_unknown(void **state)
{
    (void)state;
    for (int type = -40; type < 300; type++) {
        bool listed = false;
        for (size_t i = 0; i < KNOWN; i++)
            listed |= known[i].type == type;
        assert_int_equal(dlpark_device_check(device(type, 0), NULL) == DLPARK_OK, listed);
    }
    assert_fails(DLPARK_E_DEVICE, "type 20 (id 3)", dlpark_device_check(device(20, 3), e));
    assert_fails(DLPARK_E_DEVICE, "id -1 of cuda", dlpark_device_check(device(2, -1), e));
    assert_string_equal(dlpark_device_name(device(20, 0)).text, "device(type=20, id=0)");
    assert_string_equal(dlpark_device_name(device(INT32_MAX, INT32_MIN)).text,
                        "device(type=2147483647, id=-2147483648)");
}

static void largest_id_survives(void **state)
{
    (void)state;
    DLDevice parsed;

    assert_ok(dlpark_device_parse("cuda:2147483647", &parsed, e));
    assert_int_equal(parsed.device_id, INT32_MAX);
    assert_string_equal(dlpark_device_name(parsed).text, "cuda:2147483647");
}

static void nonsense_is_refused_with_its_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",        "gpu",     "CPU",     "cpu:",  "cpu:-1",   "cpu:00",
                                        "cuda:01", "cuda: 1", "cuda:1x", "cuda1", "cuda:1:2", "cuda:2147483648",
                                        ":0",      "cud",     "cudaa:0", " cpu",  "cpu:0 ",   "cuda:+1"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        DLDevice out = device(77, 78);
        assert_fails(DLPARK_E_DEVICE, wrong[i], dlpark_device_parse(wrong[i], &out, e));
        assert_true(dlpark_device_equal(out, device(77, 78)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(what_the_host_may_do),
        cmocka_unit_test(every_other_type_is_unknown),
        cmocka_unit_test(largest_id_survives),
        cmocka_unit_test(nonsense_is_refused_with_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
