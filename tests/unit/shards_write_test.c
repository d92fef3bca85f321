#include "tensor_folder.h"

#include <errno.h>

#include <dlpark/file_write.h>

#include "failing_alloc.h"

/* ---- A write that fails when it is told to ---- */

static bool fail_next_write;

ssize_t __real_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset);

ssize_t __wrap_pwrite(int descriptor, const void *from, size_t nbytes, off_t offset)
{
    if (!fail_next_write)
        return __real_pwrite(descriptor, from, nbytes, offset);
    fail_next_write = false;
    errno = ENOSPC;
    return -1;
}

/* ---- An index ---- */

typedef struct place {
    tensor_folder folder;
    tensor_folder_path path;
} place;

static place somewhere(void)
{
    place made = {.folder = tensor_folder_make()};

    made.path = tensor_folder_path_of(&made.folder, "model.safetensors.index.json");
    return made;
}

static void assert_text(const place *made, const char *expected)
{
    char text[1024] = "";
    FILE *file = fopen(made->path.text, "rb");

    assert_non_null(file);
    size_t nbytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_int_equal(nbytes, strlen(expected));
    assert_string_equal(text, expected);
}

static dlpark_file_pair pair_of(const char *name, size_t nbytes, const char *shard)
{
    return (dlpark_file_pair){{name, nbytes}, {shard, strlen(shard)}};
}

/* As json.dumps(index, indent=2, sort_keys=True) + "\n" of Python. */
static void an_index_is_as_pythons(void **state)
{
    place made = somewhere();
    const dlpark_file_pair pairs[] = {
        pair_of("b", 1, "m2"),
        pair_of("a.b", 3, "m1"),
        pair_of("a", 1, "m1"),
        pair_of("a\"\\\n\x7F", 5, "m"),
        pair_of("\xC3\xA9", 2, "m'"),
        pair_of("\xF0\x9F\x98\x80", 4, "m1"),
        pair_of("\xE2\x82\xAC", 3, "-"),
        pair_of("\b\f\r\t\0\x1f", 6, "m1"),
        pair_of("", 0, "x"),
    };

    (void)state;
    assert_ok(dlpark_file_save_index(made.path.text, pairs, 9, UINT64_MAX, true, e));
    assert_text(&made, "{\n  \"metadata\": {\n    \"total_size\": 18446744073709551615\n  },\n  \"weight_map\": {\n"
                       "    \"\": \"x\",\n"
                       "    \"\\b\\f\\r\\t\\u0000\\u001f\": \"m1\",\n"
                       "    \"a\": \"m1\",\n"
                       "    \"a\\\"\\\\\\n\\u007f\": \"m\",\n"
                       "    \"a.b\": \"m1\",\n"
                       "    \"b\": \"m2\",\n"
                       "    \"\\u00e9\": \"m'\",\n"
                       "    \"\\u20ac\": \"-\",\n"
                       "    \"\\ud83d\\ude00\": \"m1\"\n"
                       "  }\n}\n");
    assert_ok(dlpark_file_save_index(made.path.text, NULL, 0, 0, false, e));
    assert_text(&made, "{\n  \"metadata\": {\n    \"total_size\": 0\n  },\n  \"weight_map\": {}\n}\n");
    tensor_folder_drop(&made.folder);
}

static void what_no_index_can_have(void **state)
{
    place made = somewhere();
    const dlpark_file_pair twice[] = {pair_of("a", 1, "m"), pair_of("b", 1, "m"), pair_of("a", 1, "n")};
    static const char *const shards[] = {"", ".", "..", "../m", "/m", "\xFF"};
    dlpark_file_pair one = pair_of("\xC3", 1, "m");

    (void)state;
    assert_fails(DLPARK_E_ARGUMENT, "the name '\\xC3' is no UTF-8",
                 dlpark_file_save_index(made.path.text, &one, 1, 0, false, e));
    assert_fails(DLPARK_E_ARGUMENT, "two of the tensors are called 'a'",
                 dlpark_file_save_index(made.path.text, twice, 3, 0, false, e));
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        one = pair_of("a", 1, shards[i]);
        assert_fails(DLPARK_E_ARGUMENT, "of tensor 'a' is no name of a file",
                     dlpark_file_save_index(made.path.text, &one, 1, 0, false, e));
    }
    assert_fails(DLPARK_E_NOT_FOUND, "no/such/x", dlpark_file_save_index("no/such/x", twice, 2, 0, false, e));
    assert_int_equal(tensor_folder_count(&made.folder), 0);
    tensor_folder_drop(&made.folder);
}

static void a_write_that_fails_leaves_nothing(void **state)
{
    place made = somewhere();
    const dlpark_file_pair one = pair_of("a", 1, "m");
    dlpark_error err;

    (void)state;
    assert_int_equal(dlpark_file_save_index("/dev/full", &one, 1, 0, false, NULL), DLPARK_E_IO);
    fail_next_write = true;
    assert_int_equal(dlpark_file_save_index(made.path.text, &one, 1, 0, false, &err), DLPARK_E_IO);
    assert_non_null(strstr(err.message, "No space left"));
    assert_int_equal(tensor_folder_count(&made.folder), 0);
    tensor_folder_drop(&made.folder);
}

static void no_memory_is_told(void **state)
{
    place made = somewhere();
    const dlpark_file_pair pairs[] = {pair_of("b", 1, "m"), pair_of("a", 1, "m")};
    long live = failing_alloc_live(), nth = 0;
    bool failed = true;

    (void)state;
    while (failed) {
        failing_alloc_arm(++nth);
        dlpark_status status = dlpark_file_save_index(made.path.text, pairs, 2, 0, false, NULL);
        failed = failing_alloc_count() >= nth;
        failing_alloc_arm(0);
        assert_int_equal(status, failed ? DLPARK_E_MEMORY : DLPARK_OK);
        assert_int_equal(tensor_folder_count(&made.folder), status == DLPARK_OK);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_int_equal(nth, 5);
    tensor_folder_drop(&made.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_is_as_pythons),
        cmocka_unit_test(what_no_index_can_have),
        cmocka_unit_test(a_write_that_fails_leaves_nothing),
        cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
