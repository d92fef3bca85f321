#include "test.h"

#include <complex.h>
#include <stdbool.h>
#include <stdlib.h>

#include "internal.h"

/* The same facts as the library's table, written down independently: code, bits, both names. */
static const struct {
    DLDataType dtype;
    const char *name;
    const char *long_name;
} known[] = {
    {{0, 1, 1}, "i1", "int1"},
    {{0, 2, 1}, "i2", "int2"},
    {{0, 4, 1}, "i4", "int4"},
    {{0, 8, 1}, "i8", "int8"},
    {{0, 16, 1}, "i16", "int16"},
    {{0, 32, 1}, "i32", "int32"},
    {{0, 64, 1}, "i64", "int64"},
    {{0, 128, 1}, "i128", "int128"},
    {{1, 1, 1}, "u1", "uint1"},
    {{1, 4, 1}, "u4", "uint4"},
    {{1, 8, 1}, "u8", "uint8"},
    {{1, 64, 1}, "u64", "uint64"},
    {{2, 16, 1}, "f16", "float16"},
    {{2, 32, 1}, "f32", "float32"},
    {{2, 64, 1}, "f64", "float64"},
    {{2, 128, 1}, "f128", "float128"},
    {{3, 64, 1}, "opaque64", "opaque64"},
    {{3, 24, 1}, "opaque24", "opaque24"},
    {{4, 16, 1}, "bf16", "bfloat16"},
    {{5, 32, 1}, "c32", "complex32"},
    {{5, 64, 1}, "c64", "complex64"},
    {{5, 128, 1}, "c128", "complex128"},
    {{6, 8, 1}, "bool", "bool"},
    {{7, 8, 1}, "f8_e3m4", "float8_e3m4"},
    {{8, 8, 1}, "f8_e4m3", "float8_e4m3"},
    {{9, 8, 1}, "f8_e4m3b11fnuz", "float8_e4m3b11fnuz"},
    {{10, 8, 1}, "f8_e4m3fn", "float8_e4m3fn"},
    {{11, 8, 1}, "f8_e4m3fnuz", "float8_e4m3fnuz"},
    {{12, 8, 1}, "f8_e5m2", "float8_e5m2"},
    {{13, 8, 1}, "f8_e5m2fnuz", "float8_e5m2fnuz"},
    {{14, 8, 1}, "f8_e8m0fnu", "float8_e8m0fnu"},
    {{15, 6, 1}, "f6_e2m3fn", "float6_e2m3fn"},
    {{16, 6, 1}, "f6_e3m2fn", "float6_e3m2fn"},
    {{17, 4, 1}, "f4_e2m1fn", "float4_e2m1fn"},
    {{2, 32, 4}, "f32x4", "float32x4"},
    {{6, 8, 3}, "boolx3", "boolx3"},
    {{17, 4, 2}, "f4_e2m1fnx2", "float4_e2m1fnx2"},
    {{13, 8, 65535}, "f8_e5m2fnuzx65535", "float8_e5m2fnuzx65535"},
};

static void names_go_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        DLDataType parsed = {99, 99, 99};
        assert_string_equal(dlpark_dtype_name(known[i].dtype).text, known[i].name);
        assert_string_equal(dlpark_dtype_long_name(known[i].dtype).text, known[i].long_name);
        assert_ok(dlpark_dtype_parse(known[i].name, &parsed, e));
        assert_true(dlpark_dtype_equal(parsed, known[i].dtype));
        assert_ok(dlpark_dtype_parse(known[i].long_name, &parsed, e));
        assert_true(dlpark_dtype_equal(parsed, known[i].dtype));
        assert_ok(dlpark_dtype_check(known[i].dtype, e));
    }
}

/* The rule of each code, said once more and differently. */
static bool rule_allows(unsigned code, unsigned bits, unsigned lanes)
{
    static const unsigned fixed[] = {[4] = 16, [6] = 8,  [7] = 8,  [8] = 8,  [9] = 8,  [10] = 8, [11] = 8,
                                     [12] = 8, [13] = 8, [14] = 8, [15] = 6, [16] = 6, [17] = 4};
    bool power =
        bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;

    if (lanes == 0 || code > 17)
        return false;
    if (code <= 1)
        return power;
    if (code == 2)
        return power && bits >= 16;
    if (code == 3)
        return bits > 0 && bits % 8 == 0;
    if (code == 5)
        return power && bits >= 32 && lanes == 1;
    return bits == fixed[code];
}

static void every_triple_is_judged_by_the_rule(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 256; code++)
        for (unsigned bits = 0; bits < 256; bits++)
            for (unsigned lanes = 0; lanes < 3; lanes++) {
                DLDataType dtype = {(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
                bool ok = dlpark_dtype_check(dtype, NULL) == DLPARK_OK;
                if (ok != rule_allows(code, bits, lanes))
                    fail_msg("code %u bits %u lanes %u: %d", code, bits, lanes, ok);
                bool named = strncmp(dlpark_dtype_name(dtype).text, "dtype(", 6) != 0;
                assert_int_equal(named, ok);
            }
}

static void unknown_triples_are_named_not_guessed(void **state)
{
    (void)state;
    assert_string_equal(dlpark_dtype_name((DLDataType){18, 16, 1}).text, "dtype(code=18, bits=16, lanes=1)");
    assert_string_equal(dlpark_dtype_long_name((DLDataType){255, 255, 65535}).text,
                        "dtype(code=255, bits=255, lanes=65535)");
    assert_fails(DLPARK_E_DTYPE, "code 18 (bits 16, lanes 1)", dlpark_dtype_check((DLDataType){18, 16, 1}, e));
    assert_fails(DLPARK_E_DTYPE, "cannot have 32 bits", dlpark_dtype_check((DLDataType){4, 32, 1}, e));
    assert_fails(DLPARK_E_DTYPE, "2 lanes of 32 bits", dlpark_dtype_check((DLDataType){5, 32, 2}, e));
    assert_fails(DLPARK_E_DTYPE, "2 lanes of 1 bit;", dlpark_dtype_check((DLDataType){5, 1, 2}, e));
    assert_fails(DLPARK_E_DTYPE, "0 lanes", dlpark_dtype_check((DLDataType){2, 32, 0}, e));
    assert_fails(DLPARK_E_DTYPE, "cannot have 8 bits", dlpark_dtype_check((DLDataType){17, 8, 1}, e));
}

/* Whether a number stands in a list such as "16, 32 or 64". */
static bool is_listed(const char *list, unsigned bits)
{
    while (*list != '\0') {
        char *end;
        unsigned long number = strtoul(list, &end, 10);
        if (end != list && number == bits)
            return true;
        list = end != list ? end : list + 1;
    }
    return false;
}

static void a_wrong_width_is_told_with_the_right_ones(void **state)
{
    (void)state;
    char expected[96];

    for (unsigned code = 0; code < 256; code++) {
        const char *widths = dlpark__dtype_widths((uint8_t)code);
        if (code > 17) {
            assert_string_equal(dlpark__dtype_code_name((uint8_t)code), "unknown");
            assert_string_equal(widths, "");
            continue;
        }
        for (unsigned bits = 0; bits < 256; bits++) {
            DLDataType dtype = {(uint8_t)code, (uint8_t)bits, 1};
            bool allowed = rule_allows(code, bits, 1);
            assert_int_equal(code == 3 ? bits != 0 && bits % 8 == 0 : is_listed(widths, bits), allowed);
            snprintf(expected, sizeof expected, "(%s) cannot have %u bit%s (lanes 1); expected %s",
                     dlpark__dtype_code_name((uint8_t)code), bits, bits == 1 ? "" : "s", widths);
            if (!allowed)
                assert_fails(DLPARK_E_DTYPE, expected, dlpark_dtype_check(dtype, e));
        }
    }
    assert_string_equal(dlpark__dtype_code_name(kDLFloat), "float");
    assert_string_equal(dlpark__dtype_code_name(kDLBfloat), "bfloat16");
    assert_string_equal(dlpark__dtype_widths(kDLFloat), "16, 32, 64 or 128");
    assert_string_equal(dlpark__dtype_widths(kDLOpaqueHandle), "a multiple of 8");
}

static void nonsense_is_refused_with_its_text(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",         "f",          "f33",       "F32",    " f32",     "f32 ",
        "f32x",     "f32x0",      "f32x65536", "f032",   "f32x04",   "u",
        "uint",     "int",        "float",     "bool8",  "bool1",    "bfloat",
        "bfloat32", "complex256", "opaque7",   "opaque", "c16",      "i3",
        "i256",     "f8",         "f8_",       "float8", "f32x4x2",  "f-32",
        "f+32",     "f32x-1",     "string",    "i8x1e1", "\xC3\xA9", "f99999999999999999999999999999",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        DLDataType out = {77, 78, 79};
        assert_fails(DLPARK_E_DTYPE, wrong[i], dlpark_dtype_parse(wrong[i], &out, e));
        assert_true(dlpark_dtype_equal(out, (DLDataType){77, 78, 79}));
    }
}

static void a_name_is_quoted_so_that_it_can_be_printed(void **state)
{
    (void)state;
    DLDataType out;

    assert_fails(DLPARK_E_DTYPE, "\"f32\\x0A\" is not a dtype", dlpark_dtype_parse("f32\n", &out, e));
    assert_fails(DLPARK_E_DTYPE, "\"\\x1B[31m\\xFF\" is not", dlpark_dtype_parse("\x1B[31m\xFF", &out, e));
}

/* Digits, limit, and what is read of it: how many digits, the value. */
static void decimals_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        int64_t limit;
        size_t count;
        int64_t value;
    } cases[] = {
        {"", 0, 9, 0, 0},
        {"x", 1, 9, 0, 0},
        {"-1", 2, 9, 0, 0},
        {"0", 1, 9, 1, 0},
        {"0x", 2, 9, 1, 0},
        {"00", 2, 9, 0, 0},
        {"07", 2, 9, 0, 7},
        {"9", 1, 9, 1, 9},
        {"10", 2, 9, 2, -1},
        {"100000000000000000000000000", 27, 9, 27, -1},
        {"255", 3, 255, 3, 255},
        {"256", 3, 255, 3, -1},
        {"256", 2, 255, 2, 25},
        {"9223372036854775807", 19, INT64_MAX, 19, INT64_MAX},
        {"9223372036854775808", 19, INT64_MAX, 19, -1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 77;
        assert_int_equal(dlpark__read_decimal(cases[i].text, cases[i].length, cases[i].limit, &value), cases[i].count);
        if (cases[i].count != 0)
            assert_true(value == cases[i].value);
    }
}

static void c_types_have_dtypes(void **state)
{
    (void)state;
#define CHECK(T, expected) assert_true(dlpark_dtype_equal(DLPARK_DTYPE_OF(T), (expected)))
    CHECK(bool, DLPARK_BOOL);
    CHECK(int8_t, DLPARK_I8);
    CHECK(int16_t, DLPARK_I16);
    CHECK(int32_t, DLPARK_I32);
    CHECK(int64_t, DLPARK_I64);
    CHECK(uint8_t, DLPARK_U8);
    CHECK(uint16_t, DLPARK_U16);
    CHECK(uint32_t, DLPARK_U32);
    CHECK(uint64_t, DLPARK_U64);
    CHECK(float, DLPARK_F32);
    CHECK(double, DLPARK_F64);
    CHECK(float _Complex, DLPARK_C64);
    CHECK(double _Complex, DLPARK_C128);
    CHECK(long long, DLPARK_I64);
    CHECK(long, DLPARK_DTYPE(kDLInt, sizeof(long) * 8, 1));
#undef CHECK
}

static void usual_dtypes_are_one_lane_of_whole_bytes(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 256; code++)
        for (unsigned bits = 0; bits < 256; bits++)
            for (unsigned lanes = 0; lanes < 3; lanes++) {
                DLDataType dtype = {(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
                bool listed = lanes == 1 && code <= 6 && code != 3 && bits >= 8 && rule_allows(code, bits, lanes) &&
                              !(code <= 1 && bits == 128) && !(code == 2 && bits == 128) && !(code == 5 && bits == 32);
                assert_int_equal(dlpark__dtype_is_usual(dtype), listed);
            }
}

static void widths(void **state)
{
    (void)state;
    assert_int_equal(dlpark_dtype_nbits(DLPARK_F4_E2M1FN), 4);
    assert_int_equal(dlpark_dtype_nbits(DLPARK_DTYPE(kDLFloat, 32, 3)), 96);
    assert_int_equal(dlpark_dtype_nbits(DLPARK_DTYPE(kDLInt, 128, 65535)), 128 * 65535);
    assert_true(dlpark_dtype_is_packed(DLPARK_I4));
    assert_true(dlpark_dtype_is_packed(DLPARK_F6_E2M3FN));
    assert_false(dlpark_dtype_is_packed(DLPARK_BOOL));
    assert_false(dlpark_dtype_is_packed(DLPARK_DTYPE(kDLFloat4_e2m1fn, 4, 2)));
}

static void equality_is_of_all_three_parts(void **state)
{
    (void)state;
    assert_true(dlpark_dtype_equal(DLPARK_F32, DLPARK_DTYPE(kDLFloat, 32, 1)));
    assert_false(dlpark_dtype_equal(DLPARK_F32, DLPARK_I32));
    assert_false(dlpark_dtype_equal(DLPARK_F32, DLPARK_F64));
    assert_false(dlpark_dtype_equal(DLPARK_F32, DLPARK_DTYPE(kDLFloat, 32, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(every_triple_is_judged_by_the_rule),
        cmocka_unit_test(unknown_triples_are_named_not_guessed),
        cmocka_unit_test(a_wrong_width_is_told_with_the_right_ones),
        cmocka_unit_test(nonsense_is_refused_with_its_text),
        cmocka_unit_test(a_name_is_quoted_so_that_it_can_be_printed),
        cmocka_unit_test(decimals_are_read),
        cmocka_unit_test(c_types_have_dtypes),
        cmocka_unit_test(usual_dtypes_are_one_lane_of_whole_bytes),
        cmocka_unit_test(widths),
        cmocka_unit_test(equality_is_of_all_three_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
