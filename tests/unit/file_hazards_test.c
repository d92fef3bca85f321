#include "tensor_file.h"

#include <stdbool.h>

#include "format.h"

/* ---- What is told of a header ---- */

enum { MOST = 8 };

static size_t hazards_of(const char *header, size_t data_nbytes, dlpark_file_fault *list)
{
    tensor_file made = tensor_file_text(header, data_nbytes);
    dlpark_file *file = NULL;

    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    size_t count = dlpark_file_hazards(file, list, list != NULL ? MOST : 0);
    dlpark_file_release(&file);
    tensor_file_end(&made);
    return count;
}

/* One tensor of a byte with this name, whose hazards are `rules`, with blanks between. */
static void check_name(const char *name, const char *rules)
{
    char header[300], found[100] = "";
    dlpark_file_fault list[MOST];

    snprintf(header, sizeof header, "{'%s':{'dtype':'U8','shape':[1],'data_offsets':[0,1]}}", name);
    size_t count = hazards_of(header, 1, list);
    assert_true(count <= 2);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            strcat(found, " ");
        strcat(found, list[i].rule);
        assert_int_equal(list[i].offset, 8 + strlen(header));
    }
    assert_string_equal(found, rules);
}

static void names_that_readers_get_wrong(void **state)
{
    static const char *const names[][2] = {
        {"model.layers.0.weight", ""},
        {"model/layers/0", ""},
        {"a b", ""},
        {"\xC3\xA4", ""},
        {"...", ""},
        {"a..b", ""},
        {"x/.../y", ""},
        {"./x", ""},
        {"", "name"},
        {"a\\u0000b", "name"},
        {"\\u001b[2J", "name"},
        {"a\\u202Eb", "name"},
        {"..", "path"},
        {"../x", "path"},
        {"x/..", "path"},
        {"x/../y", "path"},
        {"x\\\\..\\\\y", "path"},
        {"/etc/passwd", "path"},
        {"\\\\x", "path"},
        {"../\\u0007", "name path"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_name(names[i][0], names[i][1]);
}

/* ---- Alignment and rank ---- */

static void numbers_that_are_not_aligned(void **state)
{
    dlpark_file_fault list[MOST];
    const char *header = "{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},"
                         "'b':{'dtype':'F32','shape':[1],'data_offsets':[1,5]},"
                         "'c':{'dtype':'C64','shape':[1],'data_offsets':[5,13]},"
                         "'d':{'dtype':'F4','shape':[2],'data_offsets':[13,14]},"
                         "'e':{'dtype':'F64','shape':[0],'data_offsets':[14,14]},"
                         "'f':{'dtype':'BOOL','shape':[2],'data_offsets':[14,16]},"
                         "'g':{'dtype':'F16','shape':[1],'data_offsets':[16,18]}}";
    size_t data = 8 + strlen(header);

    (void)state;
    size_t count = hazards_of(header, 18, list);
    size_t expected = 0;
    static const struct {
        const char *name;
        size_t begin, number;
    } tensors[] = {{"b", 1, 4}, {"c", 5, 4}, {"g", 16, 2}};
    for (size_t i = 0; i < 3; i++) {
        char text[32];
        if ((data + tensors[i].begin) % tensors[i].number == 0)
            continue;
        assert_true(expected < count);
        snprintf(text, sizeof text, "multiple of %zu,", tensors[i].number);
        assert_string_equal(list[expected].rule, "misaligned");
        assert_string_equal(list[expected].tensor, tensors[i].name);
        assert_int_equal(list[expected].offset, data + tensors[i].begin);
        assert_non_null(strstr(list[expected].message, text));
        expected++;
    }
    assert_int_equal(count, expected);
    assert_in_range(expected, 1, 3);
    assert_int_equal(hazards_of(header, 18, NULL), expected);
}

/* Nobody maps what has to be unpacked first. */
static void compressed_numbers_need_no_alignment(void **state)
{
    tensor_file made = tensor_file_text("{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},"
                                        "'b':{'dtype':'F64','shape':[1],'data_offsets':[1,9]},"
                                        "'c':{'dtype':'F64','shape':[1],'data_offsets':[9,17]}}",
                                        17);
    dlpark_file *file = NULL;
    dlpark_file_fault list[MOST];

    (void)state;
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    size_t count = dlpark_file_hazards(file, list, MOST);
    assert_in_range(count, 1, 2); /* one of them may be aligned by the header */
    assert_string_equal(list[0].rule, "misaligned");
    for (int i = 0; i < 3; i++)
        file->index.entries[i].is_compressed = true;
    assert_int_equal(dlpark_file_hazards(file, list, MOST), 0);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

static void a_rank_that_no_tensor_has(void **state)
{
    char header[400] = "{'x':{'dtype':'U8','shape':[1";
    dlpark_file_fault list[MOST];

    (void)state;
    for (int i = 1; i < 65; i++)
        strcat(header, ",1");
    strcat(header, "],'data_offsets':[0,1]}}");
    assert_int_equal(hazards_of(header, 1, list), 1);
    assert_string_equal(list[0].rule, "rank");
    assert_non_null(strstr(list[0].message, "has 65 dimensions, more than the 64"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_readers_get_wrong),
        cmocka_unit_test(numbers_that_are_not_aligned),
        cmocka_unit_test(compressed_numbers_need_no_alignment),
        cmocka_unit_test(a_rank_that_no_tensor_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
