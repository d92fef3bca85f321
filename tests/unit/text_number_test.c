#include "test.h"

#include <math.h>
#include <stdbool.h>

#include "text/text_parts.h"

/* The text of a tensor of `count` elements in one dimension; of a lone element when it is 0. */
static void assert_text(DLDataType dtype, int count, const void *data, uint64_t flags, const char *expected)
{
    dlpark_text_options options = DLPARK_TEXT_DEFAULTS;
    int64_t shape[1] = {count};
    DLTensor tensor = {(void *)(uintptr_t)data, {kDLCPU, 0}, count != 0, dtype, shape, NULL, 0};
    dlpark_view view;
    char text[4096];

    options.linewidth = 10000;
    assert_ok(dlpark_check(&tensor, flags, &view, e));
    size_t length = dlpark_view_text(&view, &options, text, sizeof text);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
}

/* ---- Floats and complex numbers: what NumPy 2.4 prints ---- */

typedef struct value_case {
    DLDataType dtype;
    int count;
    double values[8]; /* both parts of a complex number */
    const char *text;
} value_case;

static void check_values(const value_case *row)
{
    bool is_single = dlpark_dtype_equal(row->dtype, DLPARK_F32) || dlpark_dtype_equal(row->dtype, DLPARK_C64);
    float singles[8];

    for (int i = 0; i < 8; i++)
        singles[i] = (float)row->values[i];
    assert_text(row->dtype, row->count, is_single ? (const void *)singles : row->values, 0, row->text);
}

static void test_columns_as_numpy_has_them(void **state)
{
    (void)state;
    const value_case value_cases[] = {
        {DLPARK_F64, 3, {1.0, 2.5, NAN}, "[1.  2.5 nan]"},
        {DLPARK_F64, 2, {NAN, NAN}, "[nan nan]"},
        {DLPARK_F64, 2, {INFINITY, NAN}, "[inf nan]"},
        {DLPARK_F64, 1, {-INFINITY}, "[-inf]"},
        {DLPARK_F64, 2, {1.0, -INFINITY}, "[  1. -inf]"},
        {DLPARK_F64, 2, {-INFINITY, 1.25}, "[-inf 1.25]"},
        {DLPARK_F64, 2, {0.0, -0.0}, "[ 0. -0.]"},
        {DLPARK_F64, 2, {100000000.0, 1.0}, "[1.e+08 1.e+00]"},
        {DLPARK_F64, 2, {99999999.0, 99999998.0}, "[99999999. 99999998.]"},
        {DLPARK_F64, 1, {1e-05}, "[1.e-05]"},
        {DLPARK_F64, 2, {0.0001, 0.1}, "[0.0001 0.1   ]"},
        {DLPARK_F64, 2, {0.3333333333333333, 0.6666666666666666}, "[0.33333333 0.66666667]"},
        {DLPARK_F64, 3, {1e+16, NAN, -INFINITY}, "[1.e+16    nan   -inf]"},
        {DLPARK_F64, 3, {1e+100, 1e-300, 0.0}, "[1.e+100 1.e-300 0.e+000]"},
        {DLPARK_F64, 2, {1234.5678, 1.0}, "[1.2345678e+03 1.0000000e+00]"},
        {DLPARK_F64, 2, {1.0, 1000.0}, "[   1. 1000.]"},
        {DLPARK_F64, 2, {0.999999999999, 0.0}, "[1. 0.]"},
        {DLPARK_F64, 2, {5e-324, 1.7976931348623157e+308}, "[4.94065646e-324 1.79769313e+308]"},
        {DLPARK_F64, 2, {-1.5, 100.0}, "[ -1.5 100. ]"},
        {DLPARK_F64, 2, {10000000000.0, 15000000000.0}, "[1.0e+10 1.5e+10]"},
        {DLPARK_F64, 1, {123456789.12345679}, "[1.23456789e+08]"},
        {DLPARK_F32, 2, {0.1, 0.3333333333333333}, "[0.1        0.33333334]"},
        {DLPARK_F32, 2, {1000000.0, 1.0}, "[1.e+06 1.e+00]"},
        {DLPARK_F32, 1, {999999.5}, "[999999.5]"},
        {DLPARK_F32, 1, {0.0001}, "[0.0001]"},
        {DLPARK_F32, 1, {9.999999e-05}, "[9.999999e-05]"},
        {DLPARK_F32, 2, {1000.0, 1.0}, "[1000.    1.]"},
        {DLPARK_F32, 2, {1000.03, 1.0}, "[1.00003e+03 1.00000e+00]"},
        {DLPARK_F32, 2, {16777216.0, 3.0}, "[1.6777216e+07 3.0000000e+00]"},
        {DLPARK_F32, 2, {1e-45, 3.4028235e+38}, "[1.4012985e-45 3.4028235e+38]"},
        {DLPARK_F32, 3, {1.1, NAN, INFINITY}, "[1.1 nan inf]"},
        {DLPARK_C64, 2, {1.0, 2.0, 3.25, -0.001}, "[1.  +2.e+00j 3.25-1.e-03j]"},
        {DLPARK_C128, 2, {NAN, 1.0, 1.0, -INFINITY}, "[nan +1.j  1.-infj]"},
        {DLPARK_C128, 2, {-0.0, -0.0, 0.0, NAN}, "[-0. -0.j  0.+nanj]"},
        {DLPARK_C128, 2, {10000000000.0, 1e-10, 1.0, 1.0}, "[1.e+10+1.e-10j 1.e+00+1.e+00j]"},
        {DLPARK_C128, 1, {NAN, NAN}, "[nan+nanj]"},
        {DLPARK_C64, 1, {0.3333333333333333, 1000000.0}, "[0.33333334+1.e+06j]"},
        {DLPARK_C128, 1, {-NAN, -NAN}, "[nan+nanj]"},
    };

    for (size_t i = 0; i < sizeof value_cases / sizeof value_cases[0]; i++)
        check_values(&value_cases[i]);
}

/* A rank of 0: all digits, and no column. */
static void test_lone_numbers_as_numpy_has_them(void **state)
{
    (void)state;
    const value_case value_cases[] = {
        {DLPARK_F64, 0, {0.0}, "0.0"},
        {DLPARK_F64, 0, {-0.0}, "-0.0"},
        {DLPARK_F64, 0, {1.0}, "1.0"},
        {DLPARK_F64, 0, {0.1}, "0.1"},
        {DLPARK_F64, 0, {0.3333333333333333}, "0.3333333333333333"},
        {DLPARK_F64, 0, {0.0001}, "0.0001"},
        {DLPARK_F64, 0, {9.9e-05}, "9.9e-05"},
        {DLPARK_F64, 0, {1000000000000000.0}, "1000000000000000.0"},
        {DLPARK_F64, 0, {9999999999999998.0}, "9999999999999998.0"},
        {DLPARK_F64, 0, {1e+16}, "1e+16"},
        {DLPARK_F64, 0, {1.5e+22}, "1.5e+22"},
        {DLPARK_F64, 0, {NAN}, "nan"},
        {DLPARK_F64, 0, {INFINITY}, "inf"},
        {DLPARK_F64, 0, {-INFINITY}, "-inf"},
        {DLPARK_F64, 0, {5e-324}, "5e-324"},
        {DLPARK_F64, 0, {1e+100}, "1e+100"},
        {DLPARK_F32, 0, {0.1}, "0.1"},
        {DLPARK_F32, 0, {999999.9}, "999999.9"},
        {DLPARK_F32, 0, {1000000.0}, "1e+06"},
        {DLPARK_F32, 0, {1500000.0}, "1.5e+06"},
        {DLPARK_F32, 0, {0.0001}, "1e-04"},
        {DLPARK_F32, 0, {0.00010000001}, "0.00010000001"},
        {DLPARK_C128, 0, {0.0, 0.0}, "0j"},
        {DLPARK_C128, 0, {1.0, 0.0}, "(1+0j)"},
        {DLPARK_C128, 0, {0.0, 1.0}, "1j"},
        {DLPARK_C128, 0, {-0.0, -1.0}, "(-0-1j)"},
        {DLPARK_C128, 0, {-0.0, 1.0}, "(-0+1j)"},
        {DLPARK_C128, 0, {0.0, -0.0}, "-0j"},
        {DLPARK_C128, 0, {1.0, -0.0}, "(1-0j)"},
        {DLPARK_C128, 0, {NAN, 1.0}, "(nan+1j)"},
        {DLPARK_C128, 0, {1.0, NAN}, "(1+nanj)"},
        {DLPARK_C128, 0, {0.0, INFINITY}, "infj"},
        {DLPARK_C128, 0, {1.0, -NAN}, "(1+nanj)"}, /* the sign of a NaN is not written */
        {DLPARK_C128, 0, {0.0, -INFINITY}, "-infj"},
        {DLPARK_C128, 0, {INFINITY, -INFINITY}, "(inf-infj)"},
        {DLPARK_C128, 0, {0.3333333333333333, 1e+20}, "(0.3333333333333333+1e+20j)"},
        {DLPARK_C64, 0, {1000000.0, 0.3333333333333333}, "(1e+06+0.33333334j)"},
    };

    for (size_t i = 0; i < sizeof value_cases / sizeof value_cases[0]; i++)
        check_values(&value_cases[i]);
}

typedef struct code_case {
    DLDataType dtype;
    int count;
    uint16_t codes[8];
    const char *text;
} code_case;

static void test_floats_of_16_bits(void **state)
{
    (void)state;
    const code_case half_cases[] = {
        {DLPARK_F16, 2, {0x2E66, 0x0400}, "[9.998e-02 6.104e-05]"},
        {DLPARK_F16, 2, {0x7BFF, 0x3C00}, "[6.55e+04 1.00e+00]"},
        {DLPARK_F16, 2, {0x63CF, 0x3C00}, "[999.5   1. ]"},
        {DLPARK_F16, 1, {0x63D0}, "[1.e+03]"},
        {DLPARK_F16, 3, {0x2E66, 0x3555, 0x7E00}, "[0.1    0.3333    nan]"},
        {DLPARK_F16, 2, {0x068E, 0x2E66}, "[0.0001 0.1   ]"},
        {DLPARK_F16, 2, {0x0001, 0x0000}, "[6.e-08 0.e+00]"},
        {DLPARK_F16, 2, {0x3554, 0x5D35}, "[3.330e-01 3.332e+02]"},
        {DLPARK_F16, 2, {0x2E66, 0x7206}, "[9.998e-02 1.234e+04]"},
        {DLPARK_F16, 0, {0x63D0}, "1e+03"},
        {DLPARK_F16, 0, {0x63CF}, "999.5"},
        {DLPARK_F16, 0, {0x2E66}, "0.1"},
        {DLPARK_F16, 0, {0x068E}, "0.0001"},
        {DLPARK_BF16, 2, {0x3DCD, 0x4040}, "[0.1 3. ]"},
        {DLPARK_BF16, 2, {0x7F7F, 0x3F80}, "[3.39e+38 1.00e+00]"},
        {DLPARK_BF16, 2, {0x4395, 0xC395}, "[ 298. -298.]"},
        {DLPARK_BF16, 0, {0x4395}, "298.0"},
        {DLPARK_BF16, 0, {0x7F80}, "inf"},
    };

    for (size_t i = 0; i < sizeof half_cases / sizeof half_cases[0]; i++)
        assert_text(half_cases[i].dtype, half_cases[i].count, half_cases[i].codes, 0, half_cases[i].text);
    const uint16_t complex_codes[] = {0x3C00, 0xC000};
    assert_text(DLPARK_DTYPE(kDLComplex, 32, 1), 1, complex_codes, 0, "[1.-2.j]");
}

/* No reference prints these. The rules are those of the half: all whole digits; after the point, and where there is an
 * exponent, the fewest. */
static void test_floats_of_8_bits_and_fewer(void **state)
{
    (void)state;
    const uint8_t e4m3fn[] = {0x7E, 0x38, 0x01, 0xFF};
    const uint8_t large[] = {0x7E, 0x38, 0x3A};
    const uint8_t e8m0[] = {0xFE, 0x7F, 0xFF};
    const uint8_t e5m2[] = {0x7B, 0x7C, 0xFC};
    const uint8_t e2m1[] = {0x21, 0xF4};       /* 0.5 1 2 -6 */
    const uint8_t e3m2[] = {0x41, 0xC0, 0x7F}; /* four in three bytes */

    assert_text(DLPARK_F8_E4M3FN, 4, e4m3fn, 0, "[4.5e+02 1.0e+00 2.0e-03     nan]");
    assert_text(DLPARK_F8_E4M3FN, 3, large, 0, "[448.    1.    1.2]");
    assert_text(DLPARK_F8_E4M3FN, 0, large, 0, "448.0");
    assert_text(DLPARK_F8_E8M0FNU, 3, e8m0, 0, "[2.e+38 1.e+00    nan]");
    assert_text(DLPARK_F8_E5M2, 3, e5m2, 0, "[6.e+04    inf   -inf]");
    assert_text(DLPARK_F4_E2M1FN, 4, e2m1, 0, "[ 0.5  1.   2.  -6. ]");
    assert_text(DLPARK_F6_E3M2FN, 4, e3m2, 0, "[  0.06   0.06 -16.    28.  ]");
}

static void test_a_float_of_128_bits(void **state)
{
    (void)state;
    static const uint64_t high[] = {UINT64_C(0x3FFF000000000000), UINT64_C(0xBFFD555555555555),
                                    UINT64_C(0x7FFF000000000000), UINT64_C(0x0000000000000000),
                                    UINT64_C(0x7FFE000000000000)};
    static const uint64_t low[] = {0, UINT64_C(0x5555555555555555), 0, 1, 0};
    const uint16_t probe = 1;
    bool is_little = *(const unsigned char *)&probe == 1;
    uint64_t data[10];
    DLDataType dtype = DLPARK_DTYPE(kDLFloat, 128, 1);

    for (int i = 0; i < 5; i++) {
        data[2 * i] = is_little ? low[i] : high[i];
        data[2 * i + 1] = is_little ? high[i] : low[i];
    }
    assert_text(dtype, 3, data, 0, "[ 1.         -0.33333333         inf]");
    assert_text(dtype, 5, data, 0,
                "[ 1.00000000e+0000 -3.33333333e-0001               inf  6.47517512e-4966  5.94865748e+4931]");
    assert_text(dtype, 0, data + 2, 0, "-0.3333333333333333333333333333333333");
    assert_text(dtype, 0, data + 6, 0, "6e-4966");
    assert_text(dtype, 0, data + 8, 0, "5.948657476786158825428796633140036e+4931");
    assert_text(dtype, 0, data + 4, 0, "inf");
}

/* ---- Integers, bool, opaque ---- */

static void test_integers(void **state)
{
    (void)state;
    const int8_t bytes[] = {-128, 5, 127};
    const uint64_t words[] = {0, UINT64_MAX};
    const int64_t signed_words[] = {INT64_MIN, 7};
    const uint8_t nibbles[] = {0x8F, 0x07}; /* -1 -8 7 */

    assert_text(DLPARK_I8, 3, bytes, 0, "[-128    5  127]");
    assert_text(DLPARK_U8, 3, bytes, 0, "[128   5 127]");
    assert_text(DLPARK_U64, 2, words, 0, "[                   0 18446744073709551615]");
    assert_text(DLPARK_I64, 2, signed_words, 0, "[-9223372036854775808                    7]");
    assert_text(DLPARK_I64, 0, signed_words, 0, "-9223372036854775808");
    assert_text(DLPARK_I4, 3, nibbles, 0, "[-1 -8  7]");
    assert_text(DLPARK_U4, 3, nibbles, 0, "[15  8  7]");
}

static void test_integers_of_128_bits(void **state)
{
    (void)state;
    const uint16_t probe = 1;
    bool is_little = *(const unsigned char *)&probe == 1;
    const uint64_t top = UINT64_C(1) << 63;
    uint64_t least[2] = {is_little ? 0 : top, is_little ? top : 0};
    uint64_t most[2] = {UINT64_MAX, UINT64_MAX};

    assert_text(DLPARK_DTYPE(kDLInt, 128, 1), 1, least, 0, "[-170141183460469231731687303715884105728]");
    assert_text(DLPARK_DTYPE(kDLUInt, 128, 1), 1, most, 0, "[340282366920938463463374607431768211455]");
    assert_text(DLPARK_DTYPE(kDLInt, 128, 1), 0, most, 0, "-1");
}

static void test_bools(void **state)
{
    (void)state;
    const uint8_t values[] = {1, 0, 2};

    assert_text(DLPARK_BOOL, 3, values, 0, "[ True False  True]");
    assert_text(DLPARK_BOOL, 0, values, 0, "True");
    assert_text(DLPARK_BOOL, 0, values + 1, 0, "False");
}

static void test_opaque_bytes_in_the_order_of_memory(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0xDE, 0xAD, 0x00, 0x0F};

    assert_text(DLPARK_DTYPE(kDLOpaqueHandle, 16, 1), 2, bytes, 0, "[dead 000f]");
    assert_text(DLPARK_DTYPE(kDLOpaqueHandle, 32, 1), 0, bytes, 0, "dead000f");
}

/* ---- Lanes, packing ---- */

static void test_lanes_are_a_tuple_of_one_column(void **state)
{
    (void)state;
    const int16_t integers[] = {1, -20, 3, 4};
    const float floats[] = {1, 2.5f, NAN, -3};
    const uint8_t nibbles[] = {0x21, 0x43, 0x65};

    assert_text(DLPARK_DTYPE(kDLInt, 16, 2), 2, integers, 0, "[(  1, -20) (  3,   4)]");
    assert_text(DLPARK_DTYPE(kDLInt, 16, 4), 0, integers, 0, "(1, -20, 3, 4)");
    assert_text(DLPARK_DTYPE(kDLFloat, 32, 4), 1, floats, 0, "[( 1. ,  2.5,  nan, -3. )]");
    assert_text(DLPARK_DTYPE(kDLUInt, 4, 3), 2, nibbles, 0, "[(1, 2, 3) (4, 5, 6)]");
    /* Padded, each element begins a byte; its lanes lie one after the other. */
    const uint8_t padded[] = {0x21, 0xF3, 0x54, 0xF6};
    assert_text(DLPARK_DTYPE(kDLUInt, 4, 3), 2, padded, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
                "[(1, 2, 3) (4, 5, 6)]");
}

static void test_padded_elements_fill_a_byte(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0xF1, 0x02, 0x8F};

    assert_text(DLPARK_U4, 3, bytes, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, "[ 1  2 15]");
}

/* ---- Precision ---- */

static void test_precision_cuts_and_rounds(void **state)
{
    (void)state;
    const double values[] = {1.0 / 3, 2.0 / 3, 10};
    const double scaled[] = {1.0 / 3, 2e10};
    static const struct {
        int32_t precision;
        const char *text, *exponential;
    } rows[] = {
        {3, "[ 0.333  0.667 10.   ]", "[3.333e-01 2.000e+10]"},
        {0, "[ 0.  1. 10.]", "[3.e-01 2.e+10]"},
        {-1, "[ 0.  1. 10.]", "[3.e-01 2.e+10]"},
        {16, "[ 0.3333333333333333  0.6666666666666666 10.                ]",
         "[3.333333333333333e-01 2.000000000000000e+10]"},
        {INT32_MAX, "[ 0.3333333333333333  0.6666666666666666 10.                ]",
         "[3.333333333333333e-01 2.000000000000000e+10]"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dlpark_text_options options = DLPARK_TEXT_DEFAULTS;
        int64_t shape[1] = {3};
        DLTensor tensor = {(void *)(uintptr_t)values, {kDLCPU, 0}, 1, DLPARK_F64, shape, NULL, 0};
        dlpark_view view;
        char text[256];
        options.precision = rows[i].precision;
        assert_ok(dlpark_check(&tensor, 0, &view, e));
        dlpark_view_text(&view, &options, text, sizeof text);
        assert_string_equal(text, rows[i].text);
        shape[0] = 2;
        tensor.data = (void *)(uintptr_t)scaled;
        assert_ok(dlpark_check(&tensor, 0, &view, e));
        dlpark_view_text(&view, &options, text, sizeof text);
        assert_string_equal(text, rows[i].exponential);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_as_numpy_has_them),
        cmocka_unit_test(test_lone_numbers_as_numpy_has_them),
        cmocka_unit_test(test_floats_of_16_bits),
        cmocka_unit_test(test_floats_of_8_bits_and_fewer),
        cmocka_unit_test(test_a_float_of_128_bits),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_integers_of_128_bits),
        cmocka_unit_test(test_bools),
        cmocka_unit_test(test_opaque_bytes_in_the_order_of_memory),
        cmocka_unit_test(test_lanes_are_a_tuple_of_one_column),
        cmocka_unit_test(test_padded_elements_fill_a_byte),
        cmocka_unit_test(test_precision_cuts_and_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
