#include "test.h"

#include <stdbool.h>

#include "file_faults.h"

static const dlpark__source_name file_name = {"dir/x.safetensors"};

static void first_fault_is_the_error(void **state)
{
    dlpark_error err = test_fresh_error();
    dlpark__file_faults faults = {.file = &file_name, .err = &err};
    const dlpark__file_fault_place file = {"json", 17, NULL, 0}, tensor = {"size", UINT64_MAX, "a\033b", 3};

    (void)state;
    assert_false(dlpark__file_faults_add(&faults, DLPARK_E_FORMAT, &file, "%d of %s", 3, "them"));
    assert_int_equal(faults.count, 1);
    assert_int_equal(faults.status, DLPARK_E_FORMAT);
    assert_int_equal(err.status, DLPARK_E_FORMAT);
    assert_string_equal(err.message, "dir/x.safetensors: 3 of them (byte 17)");
    assert_false(dlpark__file_faults_add(&faults, DLPARK_E_LIMIT, &tensor, "another"));
    assert_int_equal(faults.count, 2);
    assert_int_equal(faults.status, DLPARK_E_FORMAT);
    assert_string_equal(err.message, "dir/x.safetensors: 3 of them (byte 17)");

    faults = (dlpark__file_faults){.file = &file_name, .err = &err};
    assert_false(dlpark__file_faults_add(&faults, DLPARK_E_LIMIT, &tensor, "is %u", 7u));
    assert_int_equal(err.status, DLPARK_E_LIMIT);
    assert_string_equal(err.message, "dir/x.safetensors: tensor 'a\\x1Bb': is 7 (byte 18446744073709551615)");
    faults = (dlpark__file_faults){.file = &file_name};
    assert_false(dlpark__file_faults_add(&faults, DLPARK_E_LIMIT, &tensor, "is %u", 7u));
    assert_false(dlpark__file_faults_add(&faults, DLPARK_E_LIMIT, &file, "is %u", 7u));
    assert_int_equal(faults.count, 2);
}

static void list_is_filled_as_far_as_it_goes(void **state)
{
    dlpark_file_fault list[4];
    const dlpark__file_fault_place file = {"json", 17, NULL, 0}, tensor = {"size", 99, "t", 1};

    (void)state;
    for (size_t capacity = 0; capacity <= 4; capacity++) {
        dlpark_error err = test_fresh_error(), untouched = test_fresh_error();
        dlpark__file_faults faults = {
            .file = &file_name, .err = &err, .lists = true, .list = capacity ? list : NULL, .capacity = capacity};
        memset(list, 0x5A, sizeof list);
        for (int i = 0; i < 3; i++)
            assert_true(dlpark__file_faults_add(&faults, DLPARK_E_FORMAT, i == 1 ? &tensor : &file, "number %d", i));
        assert_int_equal(faults.count, 3);
        for (size_t i = 0; i < 4; i++) {
            char text[32];
            if (i >= capacity || i >= 3) {
                assert_int_equal((unsigned char)list[i].message[0], 0x5A);
                continue;
            }
            snprintf(text, sizeof text, "number %zu", i);
            assert_string_equal(list[i].message, text);
            assert_string_equal(list[i].rule, i == 1 ? "size" : "json");
            assert_string_equal(list[i].tensor, i == 1 ? "t" : "");
            assert_int_equal(list[i].offset, i == 1 ? 99 : 17);
        }
        assert_memory_equal(&err, &untouched, sizeof err);
    }
}

static void long_texts_are_cut(void **state)
{
    dlpark_file_fault fault;
    dlpark__file_faults faults = {.file = &file_name, .lists = true, .list = &fault, .capacity = 1};
    char name[1000], text[1001];

    (void)state;
    memset(name, 'n', sizeof name);
    memset(text, 't', sizeof text);
    text[1000] = '\0';
    const dlpark__file_fault_place place = {"size", 1, name, sizeof name};
    assert_true(dlpark__file_faults_add(&faults, DLPARK_E_FORMAT, &place, "%s", text));
    assert_int_equal(strlen(fault.message), sizeof fault.message - 1);
    assert_int_equal(strlen(fault.tensor), 60);
    assert_string_equal(fault.tensor + 57, "...");
}

static void shards_are_named(void **state)
{
    dlpark_file_fault fault;
    dlpark_error err = test_fresh_error();
    dlpark__file_faults faults = {.file = &file_name, .err = &err, .within = "model-2"};
    const dlpark__file_fault_place place = {"json", 17, NULL, 0};

    (void)state;
    assert_false(dlpark__file_faults_add(&faults, DLPARK_E_FORMAT, &place, "%d of %s", 3, "them"));
    assert_string_equal(err.message, "dir/x.safetensors: in model-2: 3 of them (byte 17)");
    faults = (dlpark__file_faults){.lists = true, .list = &fault, .capacity = 1, .within = "model-2"};
    assert_true(dlpark__file_faults_add(&faults, DLPARK_E_FORMAT, &place, "%300d", 3));
    assert_int_equal(strlen(fault.message), sizeof fault.message - 1);
    assert_memory_equal(fault.message, "in model-2:  ", 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_fault_is_the_error),
        cmocka_unit_test(list_is_filled_as_far_as_it_goes),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(shards_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
