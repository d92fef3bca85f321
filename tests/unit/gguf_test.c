#include "gguf_made.h"

#include "failing_alloc.h"
#include "names.h"

/* ---- The cases that ggml and the package gguf were asked about ---- */

static gguf_made read_whole(const char *path)
{
    gguf_made made = {NULL, 0, 0};
    FILE *stream = fopen(path, "rb");
    char bytes[8192];

    if (stream == NULL)
        fail_msg("%s cannot be opened", path);
    gguf_made_put(&made, bytes, fread(bytes, 1, sizeof bytes, stream));
    assert_int_equal(fclose(stream), 0);
    assert_true(made.nbytes < sizeof bytes);
    return made;
}

/* The rules that each breaks; the other columns are what the others said. */
static void cases_have_their_verdicts(void **state)
{
    FILE *table = fopen(DLPARK_CASES "/gguf/expected.tsv", "r");
    char line[256], path[512];
    int count = 0;

    (void)state;
    assert_non_null(table);
    assert_non_null(fgets(line, sizeof line, table));
    while (fgets(line, sizeof line, table) != NULL) {
        char *rules = strchr(line, '\t'), *end = rules != NULL ? strchr(rules + 1, '\t') : NULL;
        assert_non_null(end);
        *rules = *end = '\0';
        snprintf(path, sizeof path, "%s/gguf/%.60s", DLPARK_CASES, line);
        gguf_made made = read_whole(path);
        gguf_made_faults(&made, strcmp(rules + 1, "ok") == 0 ? "" : rules + 1, "");
        count++;
    }
    assert_int_equal(fclose(table), 0);
    assert_int_equal(count, 84);
}

/* ---- The beginning ---- */

static void files_that_are_too_short(void **state)
{
    gguf_made made = gguf_made_begin(0, 0);
    dlpark_file *file = NULL;

    (void)state;
    for (size_t nbytes = 4; nbytes < 24; nbytes++) {
        made.nbytes = nbytes;
        assert_fails(DLPARK_E_FORMAT, "bytes, and the file has ", gguf_made_open(&file, &made, e));
        assert_null(file);
    }
    made.nbytes = 24;
    assert_ok(gguf_made_open(&file, &made, e));
    assert_int_equal(dlpark_file_count(file), 0);
    assert_int_equal(dlpark_file_metadata_count(file), 0);
    assert_int_equal(dlpark_file_format_of(file), DLPARK_FILE_GGUF);
    assert_string_equal(dlpark_file_format_name(DLPARK_FILE_GGUF), "gguf");
    dlpark_file_release(&file);
    gguf_made_end(&made);
}

static void letters_tell_the_format(void **state)
{
    static const char *const others[] = {"", "GGU", "GGUG", "ggml, which came before", "FUGG"};

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        gguf_made made = {NULL, 0, 0};
        gguf_made_put(&made, others[i], strlen(others[i]));
        gguf_made_faults(&made, "magic", "does not begin with 'GGUF'");
    }
}

static void versions_2_and_3_are_read(void **state)
{
    static const struct {
        uint64_t version;
        const char *rule, *message;
    } rows[] = {
        {0, "version", "is of version 0, and 2 and 3 are read"},
        {1, "version", "is of version 1, and 2 and 3 are read"},
        {2, "", ""},
        {3, "", ""},
        {4, "version", "is of version 4"},
        {0x03000000, "big-endian", "is a big-endian GGUF file (version 3)"},
        {0x02000000, "big-endian", "is a big-endian GGUF file (version 2)"},
        {0x01010000, "big-endian", "(version 257)"},
        {UINT32_MAX, "version", "is of version 4294967295"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gguf_made made = gguf_made_begin(0, 0);
        made.nbytes = 4;
        gguf_made_number(&made, rows[i].version, 4);
        gguf_made_number(&made, 0, 8);
        gguf_made_number(&made, 0, 8);
        gguf_made_faults(&made, rows[i].rule, rows[i].message);
    }
}

static void counts_fit_in_the_file(void **state)
{
    static const uint64_t counts[] = {5, UINT64_C(1) << 32, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        gguf_made made = gguf_made_begin(counts[i], 0);
        gguf_made_data(&made, 8, 4 * 24 + 23);
        gguf_made_faults(&made, "count", "tensors do not fit in the 119 bytes behind byte 24");
        made = gguf_made_begin(0, counts[i]);
        gguf_made_data(&made, 8, 4 * 14 + 13);
        gguf_made_faults(&made, "count", "metadata do not fit in the 69 bytes behind byte 24");
    }
}

/* A hole in the file is zeros that take no room. */
static void counts_have_a_limit(void **state)
{
    gguf_made made = gguf_made_begin(0, DLPARK__NAMES_MOST + 1);
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    dlpark_file *file = NULL;

    (void)state;
    assert_int_equal(truncate(path.text, 24 + (DLPARK__NAMES_MOST + 1) * 14), 0);
    assert_fails(DLPARK_E_LIMIT, "has 2097151 metadata, more than 2097150",
                 dlpark_file_open(&file, path.text, NULL, e));
    tensor_file_drop(&path);
    gguf_made_end(&made);
}

/* ---- What of the data belongs to whom ---- */

typedef struct place {
    const char *name;
    uint64_t begin;
    uint64_t numel; /* of I8 */
} place;

static gguf_made made_of(const place *places, uint64_t count, size_t nbytes)
{
    gguf_made made = gguf_made_begin(count, 0);

    for (uint64_t i = 0; i < count; i++)
        gguf_made_tensor(&made, places[i].name, 1, &places[i].numel, 24, places[i].begin);
    gguf_made_data(&made, 32, nbytes);
    return made;
}

static void bytes_are_of_one_tensor(void **state)
{
    static const struct {
        place places[3];
        size_t nbytes;
        const char *rules, *message;
    } rows[] = {
        {{{"a", 0, 5}, {"b", 32, 5}, {"c", 64, 32}}, 96, "", ""},
        {{{"a", 64, 32}, {"b", 0, 5}, {"c", 32, 5}}, 96, "", ""}, /* in any order */
        {{{"a", 0, 5}, {"b", 32, 0}, {"c", 32, 5}}, 64, "", ""},
        {{{"a", 0, 0}, {"b", 0, 0}, {"c", 0, 5}}, 5, "", ""}, /* the last padding may be missing */
        {{{"a", 0, 5}, {"b", 32, 5}, {"c", 64, 1}}, 96, "", ""},
        {{{"a", 0, 5}, {"b", 32, 5}, {"c", 64, 1}}, 95, "", ""},
        {{{"a", 0, 5}, {"b", 32, 5}, {"c", 64, 1}}, 97, "trailing", "1 bytes behind the last tensor and its padding"},
        {{{"a", 0, 33}, {"b", 32, 5}, {"c", 64, 1}}, 65, "overlap", "begins at 32 of the data, before 33"},
        {{{"a", 0, 65}, {"b", 32, 5}, {"c", 96, 1}}, 97, "overlap", "begins at 32 of the data, before 65"},
        {{{"a", 0, 65}, {"b", 32, 5}, {"c", 64, 1}}, 65, "overlap overlap", "begins at 64 of the data, before 65"},
        {{{"a", 0, 33}, {"b", 0, 5}, {"c", 64, 1}}, 65, "overlap", "begins at 0 of the data, before 5"},
        {{{"a", 0, 5}, {"b", 64, 5}, {"c", 96, 1}}, 97, "hole", "bytes from 32 on belong to no tensor"},
        {{{"a", 32, 5}, {"b", 96, 5}, {"c", 128, 1}}, 200, "hole hole trailing", "begins at 32 of the data"},
        {{{"a", 0, 5}, {"b", 64, 5}, {"c", 96, 9}}, 104, "truncated", "its 9 bytes begin at 96 of the data"},
        {{{"a", 0, 5}, {"b", 64, 50}, {"c", 96, 9}}, 100, "truncated truncated", "its 50 bytes begin at 64"},
        {{{"a", 0, 5}, {"a", 32, 5}, {"a", 64, 1}}, 65, "duplicate duplicate", "there are two tensors of this name"},
        {{{"a", 0, 5}, {"b", 32, 5}, {"a", 64, 1}}, 250, "duplicate trailing", "there are two tensors of this name"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gguf_made made = made_of(rows[i].places, 3, rows[i].nbytes);
        gguf_made_faults(&made, rows[i].rules, rows[i].message);
    }
}

/* The padding in front of the data may be missing where nothing comes behind it. */
static void files_may_end_behind_their_header(void **state)
{
    gguf_made made = gguf_made_begin(1, 0);

    (void)state;
    gguf_made_tensor(&made, "t", 1, (const uint64_t[]){0}, 24, 0);
    gguf_made_faults(&made, "", "");
    made = gguf_made_begin(1, 0);
    gguf_made_tensor(&made, "t", 1, (const uint64_t[]){1}, 24, 0);
    gguf_made_faults(&made, "truncated", "its 1 bytes begin at 0 of the data, of which the file has 0");
    made = gguf_made_begin(0, 1);
    gguf_made_key(&made, "k", MADE_U8);
    gguf_made_number(&made, 0, 1);
    gguf_made_faults(&made, "", "");
}

static void an_alignment_moves_the_data(void **state)
{
    static const uint64_t alignments[] = {8, 16, 32, 64, 4096, 65536};

    (void)state;
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        gguf_made made = gguf_made_begin(2, 1);
        dlpark_file *file = NULL;
        dlpark_file_entry entry;

        gguf_made_key(&made, "general.alignment", MADE_U32);
        gguf_made_number(&made, alignments[i], 4);
        gguf_made_tensor(&made, "a", 1, (const uint64_t[]){5}, 24, 0);
        gguf_made_tensor(&made, "b", 1, (const uint64_t[]){5}, 24, alignments[i]);
        gguf_made_data(&made, (size_t)alignments[i], (size_t)alignments[i] + 5);
        assert_ok(gguf_made_open(&file, &made, e));
        gguf_made_check(file);
        for (int64_t n = 0; n < 2; n++) {
            assert_ok(dlpark_file_entry_get(file, n, &entry, e));
            assert_int_equal(entry.offset % alignments[i], 0);
        }
        dlpark_file_release(&file);
        gguf_made_end(&made);
    }
}

static void keys_come_once(void **state)
{
    static const char *const keys[] = {"a", "b", "a", "general.alignment", "b", "a", "c"};
    gguf_made made = gguf_made_begin(0, 7);
    dlpark_file *file = NULL;

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        gguf_made_key(&made, keys[i], MADE_U32);
        gguf_made_number(&made, 32, 4);
    }
    assert_fails(DLPARK_E_FORMAT, "there are two metadata 'a' (byte 58)", gguf_made_open(&file, &made, e));
    gguf_made_faults(&made, "duplicate duplicate duplicate", "there are two metadata 'b'");
    made = gguf_made_begin(2, 2); /* beside tensors of one name the keys are not looked at, unless all is listed */
    for (size_t i = 0; i < 2; i++) {
        gguf_made_key(&made, "k", MADE_U32);
        gguf_made_number(&made, 32, 4);
    }
    for (size_t i = 0; i < 2; i++)
        gguf_made_tensor(&made, "t", 1, (const uint64_t[]){1}, 24, 32 * i);
    gguf_made_data(&made, 32, 33);
    gguf_made_faults(&made, "duplicate duplicate", "there are two metadata 'k'");
}

/* ---- Many ---- */

static void many_tensors_and_metadata(void **state)
{
    enum { MANY = 20000 };
    gguf_made made = gguf_made_begin(MANY, MANY);
    dlpark_file *file = NULL;
    dlpark_file_text key, value;
    char name[32];

    (void)state;
    for (uint64_t i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "key.%llu", (unsigned long long)i);
        gguf_made_key(&made, name, MADE_U32);
        gguf_made_number(&made, i, 4);
    }
    for (uint64_t i = 0; i < MANY; i++) { /* the last is the first */
        snprintf(name, sizeof name, "tensor.%llu", (unsigned long long)i);
        gguf_made_tensor(&made, name, 1, (const uint64_t[]){8}, 0, 32 * (MANY - 1 - i));
    }
    gguf_made_data(&made, 32, (size_t)32 * MANY);
    assert_ok(gguf_made_open(&file, &made, e));
    gguf_made_check(file);
    assert_int_equal(dlpark_file_find(file, "tensor.19999", 12), 0);
    assert_ok(dlpark_file_metadata_get(file, MANY - 1, &key, &value, e));
    assert_int_equal(value.nbytes, 5);
    assert_memory_equal(value.text, "19999", 5);
    dlpark_file_release(&file);
    gguf_made_end(&made);
}

/* ---- Damage ---- */

static gguf_made usual(void)
{
    gguf_made made = gguf_made_begin(2, 4);

    gguf_made_key(&made, "general.architecture", MADE_STR);
    gguf_made_string(&made, "test", 4);
    gguf_made_key(&made, "x", MADE_F32);
    gguf_made_number(&made, 0x3F800000, 4);
    gguf_made_array(&made, "list", MADE_STR, 2);
    gguf_made_string(&made, "a", 1);
    gguf_made_string(&made, "bc", 2);
    gguf_made_key(&made, "flag", MADE_BOOL);
    gguf_made_number(&made, 1, 1);
    gguf_made_tensor(&made, "plain", 2, (const uint64_t[]){2, 3}, 0, 0);
    gguf_made_tensor(&made, "blocks", 1, (const uint64_t[]){32}, 2, 32);
    gguf_made_data(&made, 32, 64);
    return made;
}

/* Whatever a byte is changed to: an error, or a file of which everything is true. */
static void every_byte_of_a_file_changed(void **state)
{
    gguf_made whole = usual();
    int opened = 0;

    (void)state;
    for (size_t at = 0; at < whole.nbytes; at++) {
        unsigned char before = whole.bytes[at];
        for (unsigned byte = 0; byte < 256; byte++) {
            dlpark_file *file = NULL;
            whole.bytes[at] = (unsigned char)byte;
            dlpark_status status = gguf_made_open(&file, &whole, NULL);
            assert_true(status == DLPARK_OK || status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT);
            assert_int_equal(file != NULL, status == DLPARK_OK);
            if (file != NULL)
                gguf_made_check(file);
            opened += file != NULL;
            assert_true(file != NULL || byte != before);
            dlpark_file_release(&file);
        }
        whole.bytes[at] = before;
    }
    assert_true(opened > 256 * 60); /* of the bytes of tensors all, and of names and texts many */
    gguf_made_end(&whole);
}

static void no_memory_is_told(void **state)
{
    gguf_made made = usual();
    dlpark_file *file = NULL;
    long live = failing_alloc_live(), failed = 0;
    bool is_last = false;

    (void)state;
    for (long nth = 1; !is_last; nth++) {
        dlpark_error err = {.status = DLPARK_OK};
        failing_alloc_arm(nth);
        dlpark_status status = gguf_made_open(&file, &made, &err);
        is_last = failing_alloc_count() < nth;
        failing_alloc_arm(0);
        failed += status != DLPARK_OK;
        assert_true(status == DLPARK_OK || (status == DLPARK_E_MEMORY && err.status == status && err.message[0] != 0));
        if (status == DLPARK_OK)
            gguf_made_check(file);
        dlpark_file_release(&file);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_true(failed >= 9); /* the file, window, text, pairs, entries, extents, both tables of names */
    gguf_made_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_have_their_verdicts),   cmocka_unit_test(files_that_are_too_short),
        cmocka_unit_test(letters_tell_the_format),     cmocka_unit_test(versions_2_and_3_are_read),
        cmocka_unit_test(counts_fit_in_the_file),      cmocka_unit_test(counts_have_a_limit),
        cmocka_unit_test(bytes_are_of_one_tensor),     cmocka_unit_test(files_may_end_behind_their_header),
        cmocka_unit_test(an_alignment_moves_the_data), cmocka_unit_test(keys_come_once),
        cmocka_unit_test(many_tensors_and_metadata),   cmocka_unit_test(every_byte_of_a_file_changed),
        cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
