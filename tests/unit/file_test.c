#include "tensor_file.h"

#include <limits.h>
#include <stdbool.h>

#include "failing_alloc.h"

static const char two_tensors[] = "{'__metadata__':{'format':'pt','':'\\u0000'},"
                                  "'second':{'dtype':'U8','shape':[2,3],'data_offsets':[4,10]},"
                                  "'first':{'dtype':'I16','shape':[2],'data_offsets':[0,4]}}";

static int released;

static void count_release(void *owner)
{
    released++;
    assert_ptr_equal(owner, &released);
}

static dlpark_status open_memory(dlpark_file **file, const tensor_file *made, const dlpark_file_options *options,
                                 dlpark_error *err)
{
    return dlpark_file_open_memory(file, made->bytes, made->nbytes, &released, count_release, options, err);
}

/* ---- Opening ---- */

static void check_two_tensors(dlpark_file *file, const tensor_file *made)
{
    dlpark_file_entry entry;

    assert_int_equal(dlpark_file_format_of(file), DLPARK_FILE_SAFETENSORS);
    assert_int_equal(dlpark_file_count(file), 2);
    assert_int_equal(dlpark_file_nbytes(file), made->nbytes);
    assert_int_equal(dlpark_file_find(file, "first", 5), 0);
    assert_int_equal(dlpark_file_find(file, "second", 6), 1);
    assert_int_equal(dlpark_file_find(file, "third", 5), -1);
    assert_ok(dlpark_file_entry_get(file, 1, &entry, e));
    assert_int_equal(entry.name_nbytes, 6);
    assert_memory_equal(entry.name, "second", 6);
    assert_string_equal(entry.type, "U8");
    assert_true(dlpark_dtype_equal(entry.dtype, DLPARK_U8));
    assert_int_equal(entry.offset, made->data + 4);
    assert_int_equal(entry.nbytes, 6);
    assert_int_equal(entry.ndim, 2);
    assert_int_equal(entry.shape[0], 2);
    assert_int_equal(entry.shape[1], 3);
}

static void all_ways_of_opening_see_one_file(void **state)
{
    tensor_file made = tensor_file_text(two_tensors, 10);
    tensor_file_path path = tensor_file_save(&made);
    FILE *stream = fopen(path.text, "rb");
    dlpark_file *file = NULL;

    (void)state;
    assert_non_null(stream);
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    check_two_tensors(file, &made);
    dlpark_file_release(&file);
    assert_null(file);
    assert_ok(dlpark_file_open_descriptor(&file, fileno(stream), NULL, NULL, e));
    assert_int_equal(fclose(stream), 0);
    check_two_tensors(file, &made);
    dlpark_file_release(&file);
    released = 0;
    assert_ok(open_memory(&file, &made, NULL, e));
    check_two_tensors(file, &made);
    assert_int_equal(released, 0);
    dlpark_file_release(&file);
    assert_int_equal(released, 1);
    assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, NULL, e));
    dlpark_file_release(&file);
    dlpark_file_release(&file);
    dlpark_file_release(NULL);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

/* The same call of each way; on failure nothing is left, and the caller's memory is the caller's. */
static void assert_no_way(dlpark_status status, const char *why, const dlpark_file_options *options,
                          const tensor_file *made)
{
    tensor_file_path path = tensor_file_save(made);
    dlpark_file *file = NULL;
    FILE *stream = fopen(path.text, "rb");
    long live = failing_alloc_live();
    size_t count;

    assert_non_null(stream);
    released = 0;
    assert_fails(status, why, dlpark_file_open(&file, path.text, options, e));
    assert_fails(status, why, dlpark_file_open_descriptor(&file, fileno(stream), "a name", options, e));
    assert_fails(status, why, open_memory(&file, made, options, e));
    assert_null(file);
    if (status == DLPARK_E_ARGUMENT)
        assert_fails(status, why, dlpark_file_check(path.text, options, NULL, 0, &count, e));
    assert_int_equal(released, 0);
    assert_int_equal(failing_alloc_live(), live);
    assert_int_equal(fclose(stream), 0);
    tensor_file_drop(&path);
}

static void options_are_checked(void **state)
{
    tensor_file made = tensor_file_text(two_tensors, 10);
    static const int formats[] = {50, -1, 100, DLPARK_FILE_PIN_32, INT_MIN};
    static const int forms[] = {3, -1, DLPARK_FILE_FLOAT4_PIN_32};
    dlpark_file *file = NULL;
    dlpark_file_options options = {.format = DLPARK_FILE_SAFETENSORS, .float4 = DLPARK_FILE_FLOAT4_BYTES};

    (void)state;
    assert_ok(open_memory(&file, &made, &options, e));
    dlpark_file_release(&file);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        assert_no_way(DLPARK_E_ARGUMENT, "there is no file format ",
                      &(dlpark_file_options){.format = (dlpark_file_format)formats[i]}, &made);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        assert_no_way(DLPARK_E_ARGUMENT, "of float4", &(dlpark_file_options){.float4 = (dlpark_file_float4)forms[i]},
                      &made);
    assert_no_way(DLPARK_E_ARGUMENT, "there is no access 4", &(dlpark_file_options){.access = (dlpark_file_access)4}, &made);
    assert_no_way(DLPARK_E_ARGUMENT, "there is no access -1", &(dlpark_file_options){.access = (dlpark_file_access)-1}, &made);
    assert_no_way(DLPARK_E_ARGUMENT, "threads is 65, expected 0 to 64", &(dlpark_file_options){.threads = 65}, &made);
    assert_no_way(DLPARK_E_ARGUMENT, "threads is -1", &(dlpark_file_options){.threads = -1}, &made);
    options = (dlpark_file_options){.is_private = true};
    released = 0;
    assert_fails(DLPARK_E_ARGUMENT, "privately", open_memory(&file, &made, &options, e));
    assert_int_equal(released, 0);
    assert_null(file);
    tensor_file_end(&made);
}

static void variable_must_be_empty(void **state)
{
    tensor_file made = tensor_file_text(two_tensors, 10);
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(open_memory(&file, &made, NULL, e));
    dlpark_file *before = file;
    released = 0;
    assert_fails(DLPARK_E_NOT_EMPTY, "holds one already", open_memory(&file, &made, NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "holds one already", dlpark_file_open(&file, "/nowhere", NULL, e));
    assert_fails(DLPARK_E_NOT_EMPTY, "holds one already", dlpark_file_open_descriptor(&file, -1, NULL, NULL, e));
    assert_ptr_equal(file, before);
    assert_int_equal(released, 0);
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

static void what_cannot_be_read_is_told(void **state)
{
    dlpark_file *file = NULL;
    size_t count = 42;

    (void)state;
    assert_fails(DLPARK_E_NOT_FOUND, "/nowhere/x: ", dlpark_file_open(&file, "/nowhere/x", NULL, e));
    assert_fails(DLPARK_E_NOT_FOUND, "/nowhere/x: ", dlpark_file_check("/nowhere/x", NULL, NULL, 0, &count, e));
    assert_fails(DLPARK_E_IO, "directory", dlpark_file_open(&file, "/tmp", NULL, e));
    assert_fails(DLPARK_E_IO, "<descriptor -1>", dlpark_file_open_descriptor(&file, -1, NULL, NULL, e));
    assert_fails(DLPARK_E_FORMAT, "/dev/null: has 0 bytes; ", dlpark_file_open(&file, "/dev/null", NULL, e));
    assert_null(file);
    assert_int_equal(count, 42);
}

static void broken_files_are_no_way_opened(void **state)
{
    tensor_file made = tensor_file_text("{'t':{'dtype':'U8','shape':[2],'data_offsets':[0,3]}}", 3);

    (void)state;
    assert_no_way(DLPARK_E_FORMAT, "tensor 't': shape [2] of U8 has 2 bytes", NULL, &made);
    tensor_file_end(&made);
    made = tensor_file_text("{'t':1}", 3);
    assert_no_way(DLPARK_E_FORMAT, "(byte 13)", NULL, &made);
    tensor_file_end(&made);
}

/* Each allocation in turn: nothing is left, and what is opened at last is whole. */
static void no_memory_leaves_nothing(void **state)
{
    tensor_file made = tensor_file_text(two_tensors, 10);
    tensor_file_path path = tensor_file_save(&made);
    long live = failing_alloc_live();

    (void)state;
    for (int way = 0; way < 3; way++) {
        dlpark_status status = DLPARK_E_MEMORY;
        int nth = 0;
        while (status == DLPARK_E_MEMORY) {
            dlpark_file *file = NULL;
            size_t count;
            failing_alloc_arm(++nth);
            released = 0;
            status = way == 0   ? dlpark_file_open(&file, path.text, NULL, NULL)
                     : way == 1 ? open_memory(&file, &made, NULL, NULL)
                                : dlpark_file_check(path.text, NULL, NULL, 0, &count, NULL);
            /* To give back what is not used may fail, and is no failure. */
            bool is_used = nth <= failing_alloc_count();
            failing_alloc_arm(0);
            assert_true(status == DLPARK_OK || status == DLPARK_E_MEMORY);
            assert_int_equal(file != NULL, status == DLPARK_OK && way < 2);
            if (file != NULL)
                check_two_tensors(file, &made);
            dlpark_file_release(&file);
            assert_int_equal(released, status == DLPARK_OK && way == 1);
            assert_int_equal(failing_alloc_live(), live);
            if (status == DLPARK_OK && is_used)
                status = DLPARK_E_MEMORY; /* go on */
        }
        assert_true(nth > 6);
    }
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

/* ---- Asking ---- */

static void formats_have_names(void **state)
{
    (void)state;
    assert_string_equal(dlpark_file_format_name(DLPARK_FILE_SAFETENSORS), "safetensors");
    assert_string_equal(dlpark_file_format_name(DLPARK_FILE_ANY), "any");
    assert_string_equal(dlpark_file_format_name((dlpark_file_format)77), "unknown");
    assert_string_equal(dlpark_file_format_name(DLPARK_FILE_PIN_32), "unknown");
    assert_int_equal(sizeof(dlpark_file_format), 4);
    assert_int_equal(sizeof(dlpark_file_float4), 4);
}

static void numbers_out_of_range(void **state)
{
    static const int64_t wrong[] = {2, 3, -2, INT64_MAX, INT64_MIN};
    tensor_file made = tensor_file_text(two_tensors, 10);
    dlpark_file *file = NULL;
    dlpark_file_entry entry, untouched;
    dlpark_file_text key = {"k", 1}, value = {"v", 1};

    (void)state;
    memset(&entry, 0x5A, sizeof entry);
    memset(&untouched, 0x5A, sizeof untouched);
    assert_ok(open_memory(&file, &made, NULL, e));
    assert_fails(DLPARK_E_INDEX, "<memory>: has no tensor of that name", dlpark_file_entry_get(file, -1, &entry, e));
    assert_fails(DLPARK_E_INDEX, "has no metadata -1, it has 2", dlpark_file_metadata_get(file, -1, &key, &value, e));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_fails(DLPARK_E_INDEX, ", it has 2", dlpark_file_entry_get(file, wrong[i], &entry, e));
        assert_fails(DLPARK_E_INDEX, ", it has 2", dlpark_file_metadata_get(file, wrong[i], &key, &value, e));
    }
    assert_memory_equal(&entry, &untouched, sizeof entry);
    assert_true(key.nbytes == 1 && key.text[0] == 'k' && value.nbytes == 1 && value.text[0] == 'v');
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

static void metadata_is_in_the_order_of_the_file(void **state)
{
    tensor_file made = tensor_file_text(two_tensors, 10);
    dlpark_file *file = NULL;
    dlpark_file_text key, value;

    (void)state;
    assert_ok(open_memory(&file, &made, NULL, e));
    assert_int_equal(dlpark_file_metadata_count(file), 2);
    assert_ok(dlpark_file_metadata_get(file, 0, &key, &value, e));
    assert_int_equal(key.nbytes, 6);
    assert_memory_equal(key.text, "format", 6);
    assert_int_equal(value.nbytes, 2);
    assert_memory_equal(value.text, "pt", 2);
    assert_ok(dlpark_file_metadata_get(file, 1, &key, &value, e));
    assert_int_equal(key.nbytes, 0);
    assert_int_equal(value.nbytes, 1);
    assert_int_equal(value.text[0], '\0');
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* ---- Every fault ---- */

static const char faulty[] = "{'a':{'dtype':'F99','shape':[4],'data_offsets':[0,4]},"
                             "'b':{'dtype':'U8','shape':[3],'data_offsets':[4,8]},"
                             "'c':{'dtype':'U8','shape':[4],'data_offsets':[6,10]},"
                             "'c':{'dtype':'U8','shape':[1],'data_offsets':[12,13]},"
                             "'__metadata__':{'k':'','k':''}}";

static void check_lists_every_fault(void **state)
{
    static const struct {
        const char *rule, *tensor, *message;
    } rows[] = {
        {"dtype", "a", "dtype \"F99\" is none of the format's"},
        {"size", "b", "shape [3] of U8 has 3 bytes, data_offsets [4, 8] span 4"},
        {"duplicate", "c", "there are two tensors of this name"},
        {"duplicate", "", "__metadata__ has two keys 'k'"},
        {"overlap", "c", "begins at 6 of the data, before 8, where the tensor before it ends"},
        {"hole", "c", "begins at 12 of the data, and bytes from 10 on belong to no tensor"},
        {"trailing", "", "2 bytes behind the last tensor belong to none"},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    tensor_file made = tensor_file_text(faulty, 15);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file_fault faults[ROWS + 1];
    size_t count = 42;

    (void)state;
    for (size_t capacity = 0; capacity <= ROWS + 1; capacity++) {
        memset(faults, 0x5A, sizeof faults);
        assert_ok(dlpark_file_check(path.text, NULL, capacity ? faults : NULL, capacity, &count, e));
        assert_int_equal(count, ROWS);
        for (size_t i = 0; i < ROWS + 1; i++) {
            if (i >= capacity || i >= ROWS) {
                assert_int_equal((unsigned char)faults[i].tensor[0], 0x5A);
                continue;
            }
            assert_string_equal(faults[i].rule, rows[i].rule);
            assert_string_equal(faults[i].tensor, rows[i].tensor);
            assert_string_equal(faults[i].message, rows[i].message);
            assert_true(faults[i].offset < made.nbytes);
        }
    }
    assert_int_equal(made.bytes[faults[0].offset + 1], 'F');
    assert_int_equal(made.bytes[faults[1].offset + 1], 'b');
    assert_int_equal(faults[4].offset, made.data + 6);
    assert_int_equal(faults[6].offset, made.data + 13);
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void check_of_a_whole_file_lists_nothing(void **state)
{
    tensor_file made = tensor_file_text(two_tensors, 10);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file_fault fault;
    size_t count = 42;

    (void)state;
    assert_ok(dlpark_file_check(path.text, NULL, &fault, 1, &count, e));
    assert_int_equal(count, 0);
    assert_ok(dlpark_file_check(path.text, &(dlpark_file_options){.max_header_nbytes = 20}, &fault, 1, &count, e));
    assert_int_equal(count, 1);
    assert_string_equal(fault.rule, "header-size");
    assert_ok(dlpark_file_check("/dev/null", NULL, &fault, 1, &count, e));
    assert_int_equal(count, 1);
    assert_string_equal(fault.rule, "short");
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

/* ---- Names for people ---- */

static void assert_shown(const char *name, size_t nbytes, const char *shown)
{
    char *copy = malloc(nbytes > 0 ? nbytes : 1); /* so that a sanitizer sees what is read beyond */

    assert_non_null(copy);
    memcpy(copy, name, nbytes);
    assert_string_equal(dlpark_file_name_text(copy, nbytes).text, shown);
    free(copy);
}

static void names_are_fit_to_be_printed(void **state)
{
    static const struct {
        const char *name, *shown; /* NULL: as it is */
    } rows[] = {
        {"", NULL},
        {"model.layers.0.weight", NULL},
        {"../../etc/passwd", NULL},
        {"\033[31m", "\\x1B[31m"},
        {"\x01\x1F\x20\x7E\x7F", "\\x01\\x1F ~\\x7F"},
        {"\xC2\x80\xC2\x9F", "\\x80\\x9F"},
        {"\xC2\xA0\xC3\xA4\xDF\xBF", NULL},
        {"\xE2\x80\x8D", NULL},                         /* U+200D */
        {"\xE2\x80\x8E\xE2\x80\x8F", "\\u200E\\u200F"}, /* marks of direction */
        {"\xE2\x80\x90\xE2\x80\xA7", NULL},             /* U+2010, U+2027 */
        {"\xE2\x80\xA8\xE2\x80\xAE", "\\u2028\\u202E"},
        {"\xE2\x80\xAF\xE2\x81\xA5", NULL}, /* U+202F, U+2065 */
        {"\xE2\x81\xA6\xE2\x81\xA9", "\\u2066\\u2069"},
        {"\xE2\x81\xAA", NULL},
        {"\xD8\x9B\xD8\x9D", NULL}, /* U+061B, U+061D */
        {"\xD8\x9C", "\\u061C"},
        {"\xEF\xBB\xBF", "\\uFEFF"},
        {"\xEF\xBF\xBD\xEF\xBF\xBF", NULL}, /* U+FFFD itself */
        {"\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF", NULL},
        {"\xFF\x80\xC1\xBF", "\\xFF\\x80\\xC1\\xBF"}, /* and what is no UTF-8 */
        {"\xC3", "\\xC3"},
        {"\xC3(", "\\xC3("},
        {"\xE2\x82", "\\xE2\\x82"},
        {"\xED\xA0\x80", "\\xED\\xA0\\x80"},
        {"\xF4\x90\x80\x80", "\\xF4\\x90\\x80\\x80"},
        {"\xF0\x9F\x98", "\\xF0\\x9F\\x98"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_shown(rows[i].name, strlen(rows[i].name), rows[i].shown != NULL ? rows[i].shown : rows[i].name);
    assert_shown("a\0b", 3, "a\\x00b");
    assert_shown("\0", 1, "\\x00");
}

/* 60 bytes at most, of whole characters and whole escapes. */
static void long_names_are_cut(void **state)
{
    static const char *const pieces[][2] = {{"a", "a"},
                                            {"\xC3\xA4", "\xC3\xA4"},
                                            {"\xE2\x82\xAC", "\xE2\x82\xAC"},
                                            {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
                                            {"\x1B", "\\x1B"},
                                            {"\xE2\x80\xAE", "\\u202E"}};

    (void)state;
    for (size_t kind = 0; kind < sizeof pieces / sizeof *pieces; kind++)
        for (int before = 0; before < 8; before++)
            for (int count = 0; count < 70; count++) {
                char name[512] = "xxxxxxx", shown[512] = "xxxxxxx", cut[512] = "";
                size_t used = (size_t)before, wide = (size_t)before, whole = (size_t)before;
                name[before] = shown[before] = '\0';
                for (int i = 0; i < count; i++) {
                    used += (size_t)snprintf(name + used, 8, "%s", pieces[kind][0]);
                    wide += (size_t)snprintf(shown + wide, 8, "%s", pieces[kind][1]);
                    whole = wide <= 57 ? wide : whole;
                }
                memcpy(cut, shown, whole);
                memcpy(cut + whole, "...", 4);
                assert_shown(name, used, wide <= 60 ? shown : cut);
            }
}

/* As snprintf(): what fits, of whole escapes and characters, and how long all of it would be. */
static void names_of_any_length_are_formatted(void **state)
{
    static const char name[] = "ab\x1B[0m\x7F"
                               "c\xC3\xA4\xE2\x80\xAE"
                               "d\xFF";
    static const char whole[] = "ab\\x1B[0m\\x7F"
                                "c\xC3\xA4\\u202E"
                                "d\\xFF";
    /* Where the text may be cut: not within these. */
    static const struct {
        size_t first, past;
    } units[] = {{2, 6}, {9, 13}, {14, 16}, {16, 22}, {23, 27}};
    char text[40];

    (void)state;
    assert_int_equal(dlpark_file_name_format(name, sizeof name - 1, NULL, 0), sizeof whole - 1);
    for (size_t room = 1; room <= sizeof text; room++) {
        size_t kept = room - 1 < sizeof whole - 1 ? room - 1 : sizeof whole - 1;
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            if (kept > units[i].first && kept < units[i].past)
                kept = units[i].first;
        memset(text, '#', sizeof text);
        assert_int_equal(dlpark_file_name_format(name, sizeof name - 1, text, room), sizeof whole - 1);
        assert_int_equal(strlen(text), kept);
        assert_memory_equal(text, whole, kept);
        for (size_t i = room; i < sizeof text; i++)
            assert_int_equal(text[i], '#');
    }
    assert_int_equal(dlpark_file_name_format("", 0, text, 1), 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_of_opening_see_one_file),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(variable_must_be_empty),
        cmocka_unit_test(what_cannot_be_read_is_told),
        cmocka_unit_test(broken_files_are_no_way_opened),
        cmocka_unit_test(no_memory_leaves_nothing),
        cmocka_unit_test(formats_have_names),
        cmocka_unit_test(numbers_out_of_range),
        cmocka_unit_test(metadata_is_in_the_order_of_the_file),
        cmocka_unit_test(check_lists_every_fault),
        cmocka_unit_test(check_of_a_whole_file_lists_nothing),
        cmocka_unit_test(names_are_fit_to_be_printed),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(names_of_any_length_are_formatted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
