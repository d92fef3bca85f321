#include "test.h"

static void version_string_is_the_three_numbers(void **state)
{
    (void)state;
    char expected[32];

    snprintf(expected, sizeof expected, "%d.%d.%d", DLPARK_VERSION_MAJOR, DLPARK_VERSION_MINOR, DLPARK_VERSION_PATCH);
    assert_string_equal(dlpark_version(), expected);
}

static void abi_is_one_three(void **state)
{
    (void)state;
    DLPackVersion version = dlpark_abi_version();

    assert_int_equal(version.major, 1);
    assert_int_equal(version.minor, 3);
}

static void only_the_major_decides_compatibility(void **state)
{
    (void)state;
    assert_true(dlpark_abi_is_compatible((DLPackVersion){1, 0}));
    assert_true(dlpark_abi_is_compatible((DLPackVersion){1, UINT32_MAX}));
    assert_false(dlpark_abi_is_compatible((DLPackVersion){0, 3}));
    assert_false(dlpark_abi_is_compatible((DLPackVersion){2, 0}));
}

static void support_of_a_minor(void **state)
{
    (void)state;
    assert_true(dlpark_abi_supports((DLPackVersion){1, 2}, 2));
    assert_true(dlpark_abi_supports((DLPackVersion){1, 3}, 2));
    assert_false(dlpark_abi_supports((DLPackVersion){1, 1}, 2));
    assert_false(dlpark_abi_supports((DLPackVersion){2, 2}, 2));
    assert_false(dlpark_abi_supports((DLPackVersion){0, 9}, 2));
}

static void checked_form_names_both_versions(void **state)
{
    (void)state;
    assert_ok(dlpark_abi_check((DLPackVersion){1, 7}, e));
    assert_fails(DLPARK_E_VERSION, "the struct follows DLPack 2.5,", dlpark_abi_check((DLPackVersion){2, 5}, e));
    assert_fails(DLPARK_E_VERSION, "1.3", dlpark_abi_check((DLPackVersion){0, 0}, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_string_is_the_three_numbers),  cmocka_unit_test(abi_is_one_three),
        cmocka_unit_test(only_the_major_decides_compatibility), cmocka_unit_test(support_of_a_minor),
        cmocka_unit_test(checked_form_names_both_versions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
