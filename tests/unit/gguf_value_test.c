#include "gguf_made.h"

#include "failing_alloc.h"

/* ---- One value as its text ---- */

static void assert_value(gguf_made *made, const char *text, size_t nbytes)
{
    dlpark_file *file = NULL;
    dlpark_file_text key, value;

    assert_ok(gguf_made_open(&file, made, e));
    assert_int_equal(dlpark_file_metadata_count(file), 1);
    assert_ok(dlpark_file_metadata_get(file, 0, &key, &value, e));
    assert_int_equal(key.nbytes, 1);
    assert_memory_equal(key.text, "k", 1);
    if (value.nbytes != nbytes || memcmp(value.text, text, nbytes) != 0)
        fail_msg("\"%.*s\" is not \"%s\"", (int)value.nbytes, value.text, text);
    dlpark_file_release(&file);
    gguf_made_end(made);
}

static void numbers_are_written_as_text(void **state)
{
    static const struct {
        int kind;
        uint64_t bits;
        size_t nbytes;
        const char *text;
    } rows[] = {
        {MADE_U8, 255, 1, "255"},
        {MADE_I8, 0x80, 1, "-128"},
        {MADE_I8, 127, 1, "127"},
        {MADE_U16, 65535, 2, "65535"},
        {MADE_I16, 0xFFFF, 2, "-1"},
        {MADE_U32, 32, 4, "32"},
        {MADE_I32, 0x80000000, 4, "-2147483648"},
        {MADE_U64, UINT64_MAX, 8, "18446744073709551615"},
        {MADE_I64, UINT64_C(1) << 63, 8, "-9223372036854775808"},
        {MADE_I64, INT64_MAX, 8, "9223372036854775807"},
        {MADE_F32, 0x3727C5AC, 4, "1e-05"},
        {MADE_F32, 0x461C4000, 4, "10000.0"},
        {MADE_F32, 0x3DCCCCCD, 4, "0.1"},
        {MADE_F32, 0xFF800000, 4, "-inf"},
        {MADE_F32, 0x7FC00000, 4, "nan"},
        {MADE_F64, UINT64_C(0x3FB999999999999A), 8, "0.1"},
        {MADE_F64, UINT64_C(0x0000000000000001), 8, "5e-324"},
        {MADE_F64, UINT64_C(0xBFF0000000000000), 8, "-1.0"},
        {MADE_BOOL, 0, 1, "false"},
        {MADE_BOOL, 1, 1, "true"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gguf_made made = gguf_made_begin(0, 1);
        gguf_made_key(&made, "k", (uint64_t)rows[i].kind);
        gguf_made_number(&made, rows[i].bits, rows[i].nbytes);
        assert_value(&made, rows[i].text, strlen(rows[i].text));
    }
}

static void strings_come_as_they_are(void **state)
{
    static const char *const texts[] = {"", "llama", "a\nb\"\\", "\xC3\xA9\xF0\x9F\x98\x80"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gguf_made made = gguf_made_begin(0, 1);
        gguf_made_key(&made, "k", MADE_STR);
        gguf_made_string(&made, texts[i], strlen(texts[i]));
        assert_value(&made, texts[i], strlen(texts[i]));
    }
    gguf_made made = gguf_made_begin(0, 1);
    gguf_made_key(&made, "k", MADE_STR);
    gguf_made_string(&made, "a\0b", 3);
    assert_value(&made, "a\0b", 3);
}

static void short_arrays_are_json(void **state)
{
    gguf_made made = gguf_made_begin(0, 1);

    (void)state;
    gguf_made_array(&made, "k", MADE_F32, 0);
    assert_value(&made, "[]", 2);
    made = gguf_made_begin(0, 1);
    gguf_made_array(&made, "k", MADE_I32, 3);
    for (int i = 0; i < 3; i++)
        gguf_made_number(&made, (uint64_t)(int64_t)(i - 1), 4);
    assert_value(&made, "[-1, 0, 1]", 10);
    made = gguf_made_begin(0, 1);
    gguf_made_array(&made, "k", MADE_BOOL, 2);
    gguf_made_number(&made, 1, 1);
    gguf_made_number(&made, 0, 1);
    assert_value(&made, "[true, false]", 13);
    made = gguf_made_begin(0, 1);
    gguf_made_array(&made, "k", MADE_STR, 3);
    gguf_made_string(&made, "a\"\\\n\0/", 6);
    gguf_made_string(&made, "", 0);
    gguf_made_string(&made, "\xC3\xA9\x7F", 3);
    static const char text[] = "[\"a\\\"\\\\\\u000a\\u0000/\", \"\", \"\xC3\xA9\x7F\"]";
    assert_value(&made, text, sizeof text - 1);
}

/* An array of `count` items of one type, each of them the same. */
static gguf_made many(int kind, uint64_t count)
{
    static const size_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    gguf_made made = gguf_made_begin(0, 1);

    gguf_made_array(&made, "k", (uint64_t)kind, count);
    for (uint64_t i = 0; i < count; i++) {
        if (kind == MADE_STR)
            gguf_made_string(&made, "token", 5);
        else
            gguf_made_number(&made, 1, widths[kind]);
    }
    return made;
}

static void long_arrays_are_counted(void **state)
{
    static const char *const names[] = {"u8",   "i8",  "u16", "i16", "u32", "i32", "f32",
                                        "bool", "str", "",    "u64", "i64", "f64"};

    (void)state;
    for (int kind = 0; kind <= MADE_F64; kind++) {
        char text[64];
        if (kind == MADE_ARR)
            continue;
        gguf_made made = many(kind, 257);
        snprintf(text, sizeof text, "array of 257 %s", names[kind]);
        assert_value(&made, text, strlen(text));
    }
    gguf_made made = many(MADE_U8, 256);
    char shown[256 * 3 + 1];
    for (size_t i = 0; i < 256; i++)
        memcpy(shown + 3 * i, i == 0 ? "[1" : ", 1", i == 0 ? 3 : 4); /* the next goes over the zero */
    memmove(shown + 2, shown + 3, 255 * 3);
    shown[2 + 255 * 3] = ']';
    assert_value(&made, shown, 2 + 255 * 3 + 1);
}

/* Tokens are bytes: what a tokenizer cut need not be a character. */
static void arrays_of_bytes_are_counted(void **state)
{
    gguf_made made = gguf_made_begin(0, 1);

    (void)state;
    gguf_made_array(&made, "k", MADE_STR, 4);
    gguf_made_string(&made, "a", 1);
    gguf_made_string(&made, "\xC3", 1);
    gguf_made_string(&made, "\"", 1);
    gguf_made_string(&made, "\xFF", 1);
    assert_value(&made, "array of 4 str", 14);
}

static void assert_texts(const char *first, size_t first_nbytes, const char *text, size_t nbytes)
{
    gguf_made made = gguf_made_begin(0, 1);

    gguf_made_array(&made, "k", MADE_STR, 2);
    gguf_made_string(&made, first, first_nbytes);
    gguf_made_string(&made, "y", 1);
    assert_value(&made, text, nbytes);
}

/* One long text is enough: it is not escaped. */
static void arrays_with_a_long_text_are_counted(void **state)
{
    enum { MOST = 65536 };
    static const char begin[] = "[\"", end[] = "\", \"y\"]";
    char *text = malloc(2 + MOST + sizeof end);

    (void)state;
    assert_non_null(text);
    memcpy(text, begin, 2);
    memset(text + 2, 'x', MOST);
    memcpy(text + 2 + MOST, end, sizeof end);
    assert_texts(text + 2, MOST, text, 2 + MOST + sizeof end - 1);
    text[2 + MOST] = 'x';
    assert_texts(text + 2, MOST + 1, "array of 2 str", 14);
    free(text);
}

/* ---- What is no pair ---- */

static void keys_that_are_none(void **state)
{
    gguf_made made = gguf_made_begin(0, 2);

    (void)state;
    gguf_made_key(&made, "", MADE_U8);
    gguf_made_number(&made, 1, 1);
    gguf_made_key(&made, "a\xFF", MADE_U8);
    gguf_made_number(&made, 1, 1);
    gguf_made_faults(&made, "key utf8", "a key has no letters|byte 0xFF of a key is no UTF-8");
    made = gguf_made_begin(0, 1);
    gguf_made_key(&made, "\xFF", MADE_U8);
    gguf_made_number(&made, 1, 1);
    gguf_made_faults(&made, "utf8", "of a key");
    made = gguf_made_begin(0, 2);
    gguf_made_key(&made, "k", MADE_STR);
    gguf_made_string(&made, "ab\x80", 3);
    gguf_made_key(&made, "l", MADE_U8);
    gguf_made_number(&made, 1, 1);
    gguf_made_faults(&made, "utf8", "byte 0x80 of a value is no UTF-8");
}

static void utf8_is_wrong_at_its_byte(void **state)
{
    gguf_made made = gguf_made_begin(0, 1);
    dlpark_file *file = NULL;

    (void)state;
    gguf_made_key(&made, "k", MADE_STR); /* 24 + 8 + 1 + 4 */
    gguf_made_string(&made,
                     "ab\x80"
                     "cd",
                     5);
    assert_fails(DLPARK_E_FORMAT, "byte 0x80 of a value is no UTF-8 (byte 47)", gguf_made_open(&file, &made, e));
    gguf_made_end(&made);
}

static void types_that_are_none(void **state)
{
    gguf_made made = gguf_made_begin(0, 2);

    (void)state;
    gguf_made_key(&made, "k", 13);
    gguf_made_data(&made, 1, 64);
    gguf_made_faults(&made, "value-type", "the value of 'k' is of type 13, and there are 0 to 12");
    made = gguf_made_begin(0, 1);
    gguf_made_array(&made, "k", 13, 1);
    gguf_made_data(&made, 1, 64);
    gguf_made_faults(&made, "value-type", "an array of type 13");
    made = gguf_made_begin(0, 1);
    gguf_made_array(&made, "k", MADE_ARR, 1);
    gguf_made_data(&made, 1, 64);
    gguf_made_faults(&made, "array", "an array of arrays (type 9)");
}

static void arrays_larger_than_the_file(void **state)
{
    static const uint64_t counts[] = {17, UINT64_C(1) << 61, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (int kind = 0; kind <= MADE_F64; kind++) {
            if (kind == MADE_ARR)
                continue;
            gguf_made made = gguf_made_begin(0, 1);
            gguf_made_array(&made, "k", (uint64_t)kind, counts[i]);
            gguf_made_number(&made, 0, 8);
            gguf_made_number(&made, 0, 8);
            gguf_made_faults(&made, "truncated", "and the file has 16 bytes behind byte 49");
        }
    }
}

static void truth_values_are_0_or_1(void **state)
{
    gguf_made made = gguf_made_begin(0, 2);

    (void)state;
    gguf_made_key(&made, "k", MADE_BOOL);
    gguf_made_number(&made, 2, 1);
    gguf_made_key(&made, "l", MADE_BOOL);
    gguf_made_number(&made, 255, 1);
    gguf_made_faults(&made, "bool bool", "byte 2 is neither 0 (false) nor 1 (true)|byte 255");
    for (size_t count = 2; count <= 300; count += 298) { /* shown and not: one is told of each */
        made = gguf_made_begin(0, 2);
        gguf_made_array(&made, "k", MADE_BOOL, count);
        for (size_t i = 0; i < count; i++)
            gguf_made_number(&made, i == 0 ? 1 : 7, 1);
        gguf_made_key(&made, "l", MADE_BOOL);
        gguf_made_number(&made, 3, 1);
        gguf_made_faults(&made, "bool bool", "byte 7 is neither 0 (false) nor 1 (true)|byte 3");
    }
    made = gguf_made_begin(0, 1);
    gguf_made_array(&made, "k", MADE_BOOL, 1);
    gguf_made_number(&made, 2, 1);
    gguf_made_faults(&made, "bool", "byte 2");
}

static void alignments_that_are_none(void **state)
{
    static const uint64_t wrong[] = {0, 1, 4, 7, 12, 48, 131072, UINT32_MAX};
    gguf_made made;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        made = gguf_made_begin(0, 1);
        gguf_made_key(&made, "general.alignment", MADE_U32);
        gguf_made_number(&made, wrong[i], 4);
        gguf_made_faults(&made, "alignment", "and has to be a power of two from 8 to 65536");
    }
    made = gguf_made_begin(0, 1);
    gguf_made_key(&made, "general.alignment", MADE_U64);
    gguf_made_number(&made, 32, 8);
    gguf_made_faults(&made, "alignment", "general.alignment is of type u64, and has to be of u32");
    made = gguf_made_begin(0, 2); /* names of the same length, and longer */
    gguf_made_key(&made, "general.alignmenT", MADE_U8);
    gguf_made_number(&made, 0, 1);
    gguf_made_key(&made, "general.alignments", MADE_U8);
    gguf_made_number(&made, 0, 1);
    gguf_made_faults(&made, "", "");
}

/* ---- Damage ---- */

/* A pair of each kind; before them a text of any length. */
static gguf_made every_kind(size_t nbytes)
{
    gguf_made made = gguf_made_begin(0, 6);
    char text[260];

    memset(text, 'x', sizeof text);
    gguf_made_key(&made, "long", MADE_STR);
    gguf_made_string(&made, text, nbytes);
    gguf_made_array(&made, "strings", MADE_STR, 2);
    gguf_made_string(&made, "ab\"\n", 4);
    gguf_made_string(&made, "e", 1);
    gguf_made_array(&made, "numbers", MADE_U16, 2);
    gguf_made_number(&made, 0xFFFFFFFF, 4);
    gguf_made_array(&made, "bools", MADE_BOOL, 3);
    gguf_made_number(&made, 0x010001, 3);
    gguf_made_array(&made, "many", MADE_STR, 257);
    for (int i = 0; i < 257; i++)
        gguf_made_string(&made, "x", 1);
    gguf_made_key(&made, "scalar", MADE_BOOL);
    gguf_made_number(&made, 1, 1);
    return made;
}

/* At each byte: what is missing is told, and nothing is read behind the end. */
static void pairs_that_are_cut(void **state)
{
    gguf_made made = every_kind(100);
    dlpark_file *file = NULL;

    (void)state;
    for (size_t nbytes = 0; nbytes < made.nbytes; nbytes++) {
        unsigned char *cut = malloc(nbytes > 0 ? nbytes : 1);
        assert_non_null(cut);
        memcpy(cut, made.bytes, nbytes);
        assert_int_equal(dlpark_file_open_memory(&file, cut, nbytes, NULL, NULL, NULL, NULL), DLPARK_E_FORMAT);
        assert_null(file);
        free(cut);
    }
    assert_ok(gguf_made_open(&file, &made, e));
    dlpark_file_release(&file);
    gguf_made_end(&made);
}

static void headers_that_are_limited(void **state)
{
    gguf_made made = every_kind(100);
    dlpark_file *file = NULL;
    size_t count;

    (void)state;
    for (uint64_t most = 1; most <= made.nbytes; most++) {
        const dlpark_file_options options = {.max_header_nbytes = most};
        dlpark_status status = dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, NULL);
        assert_int_equal(status, most < made.nbytes ? DLPARK_E_LIMIT : DLPARK_OK);
        dlpark_file_release(&file);
    }
    gguf_made_end(&made);
    made = gguf_made_begin(0, 1); /* behind a fault, too */
    gguf_made_array(&made, "k", MADE_BOOL, 100);
    gguf_made_data(&made, 1, 100); /* 1, 2, 3 */
    tensor_file_path path = tensor_file_save_bytes(made.bytes, made.nbytes);
    const dlpark_file_options options = {.max_header_nbytes = made.nbytes - 1};
    dlpark_file_fault faults[2];
    assert_ok(dlpark_file_check(path.text, &options, faults, 2, &count, e));
    assert_int_equal(count, 2);
    assert_string_equal(faults[0].rule, "bool");
    assert_string_equal(faults[1].rule, "header-size");
    tensor_file_drop(&path);
    gguf_made_end(&made);
}

/* The text grows now at one pair, now at another. */
static void no_memory_is_told(void **state)
{
    long live = failing_alloc_live();

    (void)state;
    for (size_t nbytes = 100; nbytes < 260; nbytes++) {
        gguf_made made = every_kind(nbytes);
        bool is_last = false;
        for (long nth = 1; !is_last; nth++) {
            dlpark_file *file = NULL;
            failing_alloc_arm(nth);
            dlpark_status status = gguf_made_open(&file, &made, NULL);
            is_last = failing_alloc_count() < nth;
            failing_alloc_arm(0);
            assert_true(status == DLPARK_OK || (status == DLPARK_E_MEMORY && file == NULL));
            dlpark_file_release(&file);
        }
        gguf_made_end(&made);
        assert_int_equal(failing_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_as_text), cmocka_unit_test(strings_come_as_they_are),
        cmocka_unit_test(short_arrays_are_json),       cmocka_unit_test(long_arrays_are_counted),
        cmocka_unit_test(arrays_of_bytes_are_counted), cmocka_unit_test(arrays_with_a_long_text_are_counted),
        cmocka_unit_test(keys_that_are_none),          cmocka_unit_test(utf8_is_wrong_at_its_byte),
        cmocka_unit_test(types_that_are_none),         cmocka_unit_test(arrays_larger_than_the_file),
        cmocka_unit_test(truth_values_are_0_or_1),     cmocka_unit_test(alignments_that_are_none),
        cmocka_unit_test(pairs_that_are_cut),          cmocka_unit_test(headers_that_are_limited),
        cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
