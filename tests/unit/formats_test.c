#include "test.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "formats.h"

static bool is_little(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1;
}

/* ---- Formats ---- */

static const struct {
    const char *format;
    int64_t nbytes;
    const char *name;
} formats[] = {
    {"?", 1, "bool"},
    {"b", 1, "i8"},
    {"B", 1, "u8"},
    {"h", sizeof(short), "i16"},
    {"H", sizeof(short), "u16"},
    {"i", sizeof(int), "i32"},
    {"I", sizeof(int), "u32"},
    {"l", sizeof(long), sizeof(long) == 8 ? "i64" : "i32"},
    {"L", sizeof(long), sizeof(long) == 8 ? "u64" : "u32"},
    {"=l", 4, "i32"},
    {"=L", 4, "u32"},
    {"q", 8, "i64"},
    {"Q", 8, "u64"},
    {"n", sizeof(size_t), sizeof(size_t) == 8 ? "i64" : "i32"},
    {"^N", sizeof(size_t), sizeof(size_t) == 8 ? "u64" : "u32"},
    {"e", 2, "f16"},
    {"@f", 4, "f32"},
    {"=d", 8, "f64"},
    {"Ze", 4, "c32"},
    {"Zf", 8, "c64"},
    {"=Zd", 16, "c128"},
    {"F", 8, "c64"},
    {"D", 16, "c128"},
    {"bfloat16", 2, "bf16"},
};

static void formats_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        DLDataType dtype;
        bool swapped = true;
        assert_ok(dlpark__py_format_parse(formats[i].format, formats[i].nbytes, &dtype, &swapped, e));
        assert_string_equal(dlpark_dtype_name(dtype).text, formats[i].name);
        assert_false(swapped);
        assert_fails(DLPARK_E_DTYPE, "but the items have",
                     dlpark__py_format_parse(formats[i].format, formats[i].nbytes + 1, &dtype, &swapped, e));
    }
}

static void byte_order_is_told(void **state)
{
    static const struct {
        const char *prefix;
        bool is_big;
        bool is_little;
    } prefixes[] = {{"<", false, true},  {">", true, false},  {"!", true, false}, {"=", false, false},
                    {"@", false, false}, {"^", false, false}, {"", false, false}};

    (void)state;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char text[8];
        DLDataType dtype;
        bool swapped;
        snprintf(text, sizeof text, "%sd", prefixes[i].prefix);
        assert_ok(dlpark__py_format_parse(text, 8, &dtype, &swapped, e));
        assert_int_equal(swapped, is_little() ? prefixes[i].is_big : prefixes[i].is_little);
        snprintf(text, sizeof text, "%sb", prefixes[i].prefix);
        assert_ok(dlpark__py_format_parse(text, 1, &dtype, &swapped, e));
        assert_false(swapped);
    }
}

static void formats_that_are_no_numbers(void **state)
{
    static const char *const wrong[][2] = {
        {"", "it is empty"},
        {"<", "it is empty"},
        {"3f", "repeat count"},
        {"0f", "repeat count"},
        {"ff", "more than one"},
        {"c", "a character"},
        {"s", "text is"},
        {"O", "Python objects"},
        {"P", "pointers"},
        {"&f", "pointers"},
        {"X{}", "pointers"},
        {"g", "long double"},
        {"Zg", "'e', 'f' and 'd'"},
        {"Z", "'e', 'f' and 'd'"},
        {"Zi", "'e', 'f' and 'd'"},
        {"Zff", "'e', 'f' and 'd'"},
        {"T{f:a:}", "a structure"},
        {"x", "padding"},
        {"(2)f", "within the element"},
        {"t", "bits"},
        {"k", "not known"},
        {"/", "not known"},
        {":", "not known"},
        {"=n", "not known"},
        {"<<f", "more than one"},
        {"\xff", "not known"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        DLDataType dtype = DLPARK_I4;
        bool swapped = true;
        assert_fails(DLPARK_E_DTYPE, wrong[i][1], dlpark__py_format_parse(wrong[i][0], 4, &dtype, &swapped, e));
        assert_true(swapped && dlpark_dtype_equal(dtype, DLPARK_I4)); /* not written */
    }
}

/* ---- Typestrs ---- */

static void typestrs_are_read(void **state)
{
    static const char *const known[][2] = {
        {"|b1", "bool"}, {"|i1", "i8"},  {"<i2", "i16"}, {"<i4", "i32"},   {"<i8", "i64"},
        {"|u1", "u8"},   {"<u2", "u16"}, {"<u4", "u32"}, {"<u8", "u64"},   {"<f2", "f16"},
        {"<f4", "f32"},  {"<f8", "f64"}, {"<c8", "c64"}, {"<c16", "c128"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        for (const char *order = "<>|="; *order != '\0'; order++) {
            char text[8];
            DLDataType dtype;
            bool swapped;
            snprintf(text, sizeof text, "%s", known[i][0]);
            text[0] = *order;
            assert_ok(dlpark__py_typestr_parse(text, &dtype, &swapped, e));
            assert_string_equal(dlpark_dtype_name(dtype).text, known[i][1]);
            assert_int_equal(swapped, dlpark_dtype_nbits(dtype) > 8 && *order == (is_little() ? '>' : '<'));
        }
    }
}

static void typestrs_that_are_no_numbers(void **state)
{
    static const char *const wrong[][2] = {
        {"", "not of the form"},
        {"<", "not of the form"},
        {"<f", "not of the form"},
        {"f4", "not of the form"},
        {"<f4x", "not of the form"},
        {"<f/", "not of the form"},
        {"<f:", "not of the form"},
        {"<f1234567890", "not of the form"},
        {"<f4[3]", "not of the form"},
        {"<f4[ns]", "not of the form"},
        {"<f0", "2, 4 or 8"},
        {"<f1", "2, 4 or 8"},
        {"<f3", "2, 4 or 8"},
        {"<f16", "2, 4 or 8"},
        {"<f123456789", "2, 4 or 8"},
        {"<c4", "8 or 16"},
        {"<c32", "8 or 16"},
        {"|b2", "1 byte"},
        {"<i16", "1, 2, 4 or 8"},
        {"<u16", "1, 2, 4 or 8"},
        {"|t1", "bits"},
        {"<m8[us]", "time differences"},
        {"<M8[ns]", "times have"},
        {"|O8", "Python objects"},
        {"|O", "Python objects"},
        {"|S3", "text"},
        {"|a3", "text"},
        {"<U3", "text"},
        {"|V8", "a structure"},
        {"<z4", "the kind 'z'"},
        {"<\0014", "the kind '?'"},
        {"<\x7f"
         "4",
         "the kind '?'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        DLDataType dtype = DLPARK_I4;
        bool swapped = true;
        assert_fails(DLPARK_E_DTYPE, wrong[i][1], dlpark__py_typestr_parse(wrong[i][0], &dtype, &swapped, e));
        assert_true(swapped && dlpark_dtype_equal(dtype, DLPARK_I4));
    }
}

static void parts_of_any_kind(void **state)
{
    dlpark__py_typestr parts;

    (void)state;
    assert_ok(dlpark__py_typestr_split(is_little() ? ">V12" : "<V12", &parts, e));
    assert_true(parts.is_swapped && parts.kind == 'V' && parts.item_nbytes == 12);
    assert_ok(dlpark__py_typestr_split("|V1", &parts, e));
    assert_true(!parts.is_swapped && parts.kind == 'V' && parts.item_nbytes == 1);
    assert_ok(dlpark__py_typestr_split("=Q999999999", &parts, e));
    assert_true(!parts.is_swapped && parts.kind == 'Q' && parts.item_nbytes == 999999999);
}

static void kinds_have_sizes(void **state)
{
    DLDataType dtype;
    const int64_t odd[] = {0, -1, -8, 3, 5, 17, 32, 64, 264, INT64_MAX, INT64_MIN};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (const char *kind = "biufc"; *kind != '\0'; kind++)
            assert_fails(DLPARK_E_DTYPE, "of no dtype", dlpark__py_kind_parse(*kind, odd[i], &dtype, e));
    assert_fails(DLPARK_E_DTYPE, "the kind '?'", dlpark__py_kind_parse('\0', 4, &dtype, e));
    assert_ok(dlpark__py_kind_parse('c', 16, &dtype, e));
    assert_true(dlpark_dtype_equal(dtype, DLPARK_C128));
}

static void kinds_of_other_names(void **state)
{
    (void)state;
    assert_true(dlpark__py_kind_is_open('V', 2));
    assert_true(dlpark__py_kind_is_open('W', 4)); /* ml_dtypes' complex32 */
    assert_true(dlpark__py_kind_is_open('f', 1)); /* its float8_e5m2 */
    assert_false(dlpark__py_kind_is_open('f', 16));
    assert_false(dlpark__py_kind_is_open('S', 1));
}

/* ---- The other way ---- */

static void names_go_both_ways(void **state)
{
    const DLDataType known[] = {DLPARK_BOOL, DLPARK_I8,  DLPARK_I16, DLPARK_I32, DLPARK_I64, DLPARK_U8,  DLPARK_U16,
                                DLPARK_U32,  DLPARK_U64, DLPARK_F16, DLPARK_F32, DLPARK_F64, DLPARK_C64, DLPARK_C128};
    const DLDataType unknown[] = {
        DLPARK_BF16,           DLPARK_I4, DLPARK_F8_E5M2, DLPARK_DTYPE(kDLFloat, 32, 2), DLPARK_DTYPE(kDLFloat, 128, 1),
        DLPARK_DTYPE(99, 8, 1)};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        DLDataType dtype;
        bool swapped;
        assert_ok(dlpark__py_typestr_parse(dlpark__py_typestr_of(known[i]), &dtype, &swapped, e));
        assert_true(dlpark_dtype_equal(dtype, known[i]) && !swapped);
        assert_ok(dlpark__py_format_parse(dlpark__py_format_of(known[i]), dlpark_dtype_nbits(known[i]) / 8, &dtype,
                                          &swapped, e));
        assert_true(dlpark_dtype_equal(dtype, known[i]) && !swapped);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_null(dlpark__py_typestr_of(unknown[i]));
        assert_null(dlpark__py_format_of(unknown[i]));
    }
}

static void bytes_are_swapped(void **state)
{
    static const struct {
        DLDataType dtype;
        const char *after;
    } rows[] = {
        {{kDLInt, 16, 1}, "1032547698badcfe"},     {{kDLBfloat, 16, 1}, "1032547698badcfe"},
        {{kDLFloat, 32, 1}, "32107654ba98fedc"},   {{kDLComplex, 64, 1}, "32107654ba98fedc"},
        {{kDLUInt, 64, 1}, "76543210fedcba98"},    {{kDLComplex, 128, 1}, "76543210fedcba98"},
        {{kDLComplex, 32, 1}, "1032547698badcfe"}, {{kDLBool, 8, 1}, "0123456789abcdef"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        union {
            char bytes[17];
            uint64_t aligned;
        } memory = {.bytes = "0123456789abcdef"};
        dlpark__py_swap(memory.bytes, 16, rows[i].dtype);
        assert_string_equal(memory.bytes, rows[i].after);
        dlpark__py_swap(memory.bytes, 16, rows[i].dtype);
        assert_string_equal(memory.bytes, "0123456789abcdef");
        dlpark__py_swap(NULL, 0, rows[i].dtype);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_read),
        cmocka_unit_test(byte_order_is_told),
        cmocka_unit_test(formats_that_are_no_numbers),
        cmocka_unit_test(typestrs_are_read),
        cmocka_unit_test(typestrs_that_are_no_numbers),
        cmocka_unit_test(parts_of_any_kind),
        cmocka_unit_test(kinds_have_sizes),
        cmocka_unit_test(kinds_of_other_names),
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(bytes_are_swapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
