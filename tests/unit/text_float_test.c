#include "test.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "text/text_parts.h"

static const dlpark__cut no_cut = {false, -1, -1};

static dlpark__binary read_code(DLDataType dtype, const void *bytes)
{
    dlpark_scalar scalar;
    dlpark__binary value;

    dlpark__element_load(bytes, 0, dtype, &scalar);
    dlpark__binary_read(&scalar, false, dlpark__element_grid(dtype), &value);
    return value;
}

static double double_of(DLDataType dtype, const void *bytes)
{
    dlpark_scalar scalar;

    dlpark__element_load(bytes, 0, dtype, &scalar);
    return fabs(scalar.re);
}

/* ---- The oracle: which decimals are read as a value, by the C library's own conversions ---- */

/* A value among the finite ones of its type: whether a decimal is read as it. `context` belongs to the type. */
typedef bool reads_as(const char *decimal, const void *context);

static bool reads_as_double(const char *decimal, const void *context)
{
    return strtod(decimal, NULL) == *(const double *)context;
}

static bool reads_as_single(const char *decimal, const void *context)
{
    return strtof(decimal, NULL) == (float)*(const double *)context;
}

/* For types whose midpoints are doubles, and of so few digits that a decimal is not mistaken for a midpoint. */
typedef struct narrow_value {
    double value;
    double below; /* the neighbours' midpoints */
    double above;
    bool is_even;
} narrow_value;

static bool reads_as_narrow(const char *decimal, const void *context)
{
    const narrow_value *narrow = context;
    double parsed = strtod(decimal, NULL);

    if (parsed == narrow->below || parsed == narrow->above)
        return narrow->is_even;
    return parsed > narrow->below && parsed < narrow->above;
}

static void print_digits(char *text, size_t nbytes, const dlpark__decimal *decimal)
{
    snprintf(text, nbytes, "%.*se%d", (int)decimal->count, decimal->digits,
             (int)(decimal->exponent + 1 - decimal->count));
}

/* The decimal of `count` digits closest to `value`, and the two beside it: the integer and the power of 10. */
static int64_t closest(double value, int count, int *power)
{
    char text[64];
    int64_t integer = 0;

    snprintf(text, sizeof text, "%.*e", count - 1, value);
    for (const char *at = text; *at != 'e'; at++)
        if (*at != '.')
            integer = integer * 10 + (*at - '0');
    *power = atoi(strchr(text, 'e') + 1) + 1 - count;
    return integer;
}

static bool is_read(int64_t integer, int power, reads_as *reads, const void *context)
{
    char text[64];

    snprintf(text, sizeof text, "%llde%d", (long long)integer, power);
    return reads(text, context);
}

/* The digits are read back as the value, none with one digit fewer are, and of as many digits none is closer. */
static void assert_shortest(const dlpark__binary *binary, double value, reads_as *reads, const void *context)
{
    dlpark__decimal decimal;
    char text[80];
    int power;

    dlpark__decimal_find(binary, no_cut, &decimal);
    print_digits(text, sizeof text, &decimal);
    if (!reads(text, context))
        fail_msg("%s is not read as %a", text, value);
    assert_int_not_equal(decimal.digits[0], '0');
    assert_int_not_equal(decimal.digits[decimal.count - 1], '0');
    if (decimal.count > 1) {
        int64_t integer = closest(value, decimal.count - 1, &power);
        for (int step = -1; step <= 1; step++)
            if (is_read(integer + step, power, reads, context))
                fail_msg("%s for %a, but %llde%d is enough", text, value, (long long)integer + step, power);
    }
    int64_t best = closest(value, decimal.count, &power);
    if (is_read(best, power, reads, context)) {
        char expected[80];
        while (best % 10 == 0) {
            best /= 10;
            power++;
        }
        snprintf(expected, sizeof expected, "%llde%d", (long long)best, power);
        assert_string_equal(text, expected);
    }
}

/* ---- Every value of the narrow types ---- */

static int order_doubles(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return (first > second) - (first < second);
}

/* All positive codes of a type of at most 16 bits, each compared with its neighbours in the list of all values. */
static void check_type(DLDataType dtype, unsigned codes)
{
    static double values[1 << 16];
    unsigned count = 0;

    for (unsigned code = 0; code < codes; code++) {
        uint16_t wide = (uint16_t)code;
        uint8_t byte = (uint8_t)code;
        double value = double_of(dtype, dtype.bits == 16 ? (const void *)&wide : &byte);
        if (isfinite(value) && value != 0)
            values[count++] = value;
    }
    qsort(values, count, sizeof values[0], order_doubles);
    for (unsigned code = 0; code < codes; code++) {
        uint16_t wide = (uint16_t)code;
        uint8_t byte = (uint8_t)code;
        const void *bytes = dtype.bits == 16 ? (const void *)&wide : &byte;
        double value = double_of(dtype, bytes);
        dlpark__binary binary = read_code(dtype, bytes);
        assert_int_equal(binary.is_finite, isfinite(value));
        assert_int_equal(binary.is_nan, isnan(value));
        if (!isfinite(value) || value == 0)
            continue;
        const double *at = bsearch(&value, values, count, sizeof values[0], order_doubles);
        double below = at > values ? at[-1] : dtype.code == kDLFloat8_e8m0fnu ? value : 0;
        double above = at < values + count - 1 ? at[1] : 0;
        /* Beyond the largest, as if the type went on; e8m0 below its smallest likewise. */
        if (above == 0)
            above = value + (value - below) * (dtype.code == kDLFloat8_e8m0fnu ? 2 : 1);
        narrow_value narrow = {value, value - (value - below) / 2, value + (above - value) / 2, (code & 1) == 0};
        if (dtype.code == kDLFloat8_e8m0fnu)
            narrow.is_even = false; /* its significand is 1 */
        if (at == values && dtype.code == kDLFloat8_e8m0fnu)
            narrow.below = value / 2;
        assert_shortest(&binary, value, reads_as_narrow, &narrow);
    }
}

static void test_every_value_of_the_narrow_types(void **state)
{
    (void)state;
    check_type(DLPARK_F8_E3M4, 128);
    check_type(DLPARK_F8_E4M3, 128);
    check_type(DLPARK_F8_E4M3B11FNUZ, 128);
    check_type(DLPARK_F8_E4M3FN, 128);
    check_type(DLPARK_F8_E4M3FNUZ, 128);
    check_type(DLPARK_F8_E5M2, 128);
    check_type(DLPARK_F8_E5M2FNUZ, 128);
    check_type(DLPARK_F8_E8M0FNU, 256);
    check_type(DLPARK_F6_E2M3FN, 32);
    check_type(DLPARK_F6_E3M2FN, 32);
    check_type(DLPARK_F4_E2M1FN, 8);
}

static void test_every_half(void **state)
{
    (void)state;
    check_type(DLPARK_F16, 1 << 15);
}

static void test_every_bfloat(void **state)
{
    (void)state;
    check_type(DLPARK_BF16, 1 << 15);
}

/* A power of two has a closer neighbour below, unless that is subnormal, and a subnormal one has not. */
static void test_which_values_have_a_closer_neighbour_below(void **state)
{
    (void)state;
    static const struct {
        uint16_t code;
        bool is_closer;
    } halves[] = {{0x0001, false}, {0x0200, false}, {0x0400, false}, {0x0401, false},
                  {0x0800, true},  {0x0801, false}, {0x3C00, true},  {0x7BFF, false}};
    dlpark__grid grid = dlpark__element_grid(DLPARK_DTYPE(kDLFloat, 128, 1));

    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
        assert_int_equal(read_code(DLPARK_F16, &halves[i].code).is_lower_closer, halves[i].is_closer);
    for (uint64_t exponent = 0; exponent < 4; exponent++) {
        dlpark_scalar scalar = {.kind = DLPARK_SCALAR_FLOAT, .high = exponent << 48, .low = 0};
        dlpark__binary binary;
        dlpark__binary_read(&scalar, false, grid, &binary);
        assert_int_equal(binary.is_lower_closer, exponent > 1);
    }
}

/* ---- Singles and doubles ---- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 32;
}

static void check_single(uint32_t bits)
{
    double value = double_of(DLPARK_F32, &bits);
    dlpark__binary binary = read_code(DLPARK_F32, &bits);

    if (isfinite(value) && value != 0)
        assert_shortest(&binary, value, reads_as_single, &value);
    else
        assert_int_equal(binary.is_nan, isnan(value));
}

static void check_double(uint64_t bits)
{
    double value = double_of(DLPARK_F64, &bits);
    dlpark__binary binary = read_code(DLPARK_F64, &bits);

    if (isfinite(value) && value != 0)
        assert_shortest(&binary, value, reads_as_double, &value);
    else
        assert_int_equal(binary.is_nan, isnan(value));
}

static void test_ten_thousand_singles(void **state)
{
    (void)state;
    uint64_t random = 3;

    for (int i = 0; i < 10000; i++)
        check_single((uint32_t)next_random(&random));
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (uint32_t fraction = 0; fraction < 3; fraction++)
            check_single(exponent << 23 | ((fraction - 1) & 0x7FFFFF));
}

static void test_ten_thousand_doubles(void **state)
{
    (void)state;
    uint64_t random = 4;

    for (int i = 0; i < 10000; i++)
        check_double(next_random(&random) << 32 | next_random(&random));
    for (uint64_t exponent = 0; exponent < 2047; exponent++)
        for (uint64_t fraction = 0; fraction < 3; fraction++)
            check_double(exponent << 52 | ((fraction - 1) & ((UINT64_C(1) << 52) - 1)));
}

/* Decimals of few digits, where the shortest is known: the decimal itself. */
static void test_short_decimals_come_back(void **state)
{
    (void)state;
    char text[40], got[80];

    for (int power = -300; power <= 300; power += 7)
        for (int64_t integer = 1; integer < 100000; integer = integer * 3 + 2) {
            if (integer % 10 == 0)
                continue;
            snprintf(text, sizeof text, "%llde%d", (long long)integer, power);
            double value = strtod(text, NULL);
            dlpark__binary binary = read_code(DLPARK_F64, &value);
            dlpark__decimal decimal;
            dlpark__decimal_find(&binary, no_cut, &decimal);
            print_digits(got, sizeof got, &decimal);
            assert_string_equal(got, text);
        }
}

/* ---- binary128 ---- */

/* The table was made with rational numbers. */
static void test_floats_of_128_bits_agree_with_the_table(void **state)
{
    (void)state;
    FILE *file = fopen(DLPARK_CASES "/shortest_binary128.csv", "r");
    char line[160], digits[64];
    unsigned long long high, low;
    int exponent, rows = 0;
    dlpark__grid grid = dlpark__element_grid(DLPARK_DTYPE(kDLFloat, 128, 1));

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* the titles */
    while (fgets(line, sizeof line, file) != NULL) {
        dlpark_scalar scalar = {.kind = DLPARK_SCALAR_FLOAT};
        dlpark__binary binary;
        dlpark__decimal decimal;
        assert_int_equal(sscanf(line, "%llx,%llx,%63[0-9],%d", &high, &low, digits, &exponent), 4);
        scalar.high = high | UINT64_C(1) << 63;
        scalar.low = low;
        dlpark__binary_read(&scalar, false, grid, &binary);
        assert_true(binary.is_negative && binary.is_finite && !binary.is_nan);
        dlpark__decimal_find(&binary, no_cut, &decimal);
        assert_int_equal(decimal.exponent, exponent);
        assert_int_equal(decimal.count, strlen(digits));
        assert_memory_equal(decimal.digits, digits, strlen(digits));
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, 40);
}

static void test_floats_of_128_bits_that_are_no_numbers(void **state)
{
    (void)state;
    dlpark__grid grid = dlpark__element_grid(DLPARK_DTYPE(kDLFloat, 128, 1));
    dlpark__binary binary;
    dlpark_scalar scalar = {.kind = DLPARK_SCALAR_FLOAT, .high = UINT64_C(0x7FFF000000000000), .low = 0};

    dlpark__binary_read(&scalar, false, grid, &binary);
    assert_true(!binary.is_finite && !binary.is_nan);
    scalar.low = 1;
    dlpark__binary_read(&scalar, false, grid, &binary);
    assert_true(!binary.is_finite && binary.is_nan);
    scalar.low = 0;
    scalar.high |= 1;
    dlpark__binary_read(&scalar, false, grid, &binary);
    assert_true(!binary.is_finite && binary.is_nan);
}

/* ---- Cuts ---- */

static void assert_cut(double value, bool is_fraction, int most, int least, const char *expected)
{
    dlpark__binary binary = read_code(DLPARK_F64, &value);
    dlpark__decimal decimal;
    char text[80];

    dlpark__decimal_find(&binary, (dlpark__cut){is_fraction, most, least}, &decimal);
    print_digits(text, sizeof text, &decimal);
    assert_string_equal(text, expected);
}

/* What printf() says of the exact value, rounded half to even, as long as the shortest digits are more. */
static void test_a_cut_rounds_the_exact_value(void **state)
{
    (void)state;
    uint64_t random = 6;
    char expected[80];

    for (int i = 0; i < 2000; i++) {
        double value =
            ldexp(1 + (double)next_random(&random) / 4294967296.0 + 0x1p-52, (int)next_random(&random) % 200 - 100);
        int count = 1 + (int)(next_random(&random) % 15), power;
        dlpark__binary binary = read_code(DLPARK_F64, &value);
        dlpark__decimal decimal;
        dlpark__decimal_find(&binary, (dlpark__cut){false, count, count}, &decimal);
        int64_t integer = 0;
        for (int digit = 0; digit < decimal.count; digit++)
            integer = integer * 10 + (decimal.digits[digit] - '0');
        for (int digit = decimal.count; digit < count; digit++)
            integer *= 10;
        int64_t best = closest(value, count, &power);
        snprintf(expected, sizeof expected, "%.*e", count - 1, value);
        if (integer != best || decimal.exponent + 1 - count != power)
            fail_msg("%lld digits %d for %s", (long long)integer, count, expected);
    }
}

static void test_cuts_of_known_values(void **state)
{
    (void)state;
    assert_cut(0, false, -1, -1, "0e0");
    assert_cut(0.1, false, -1, -1, "1e-1");
    assert_cut(0.1, false, 20, 20, "10000000000000000555e-20"); /* beyond what tells it apart */
    assert_cut(0.1, false, 60, 60,
               "100000000000000005551115123125782702118158340454e-48"); /* as far as there is room */
    assert_cut(1.0 / 3, true, 8, -1, "33333333e-8");
    assert_cut(1.0 / 3, true, 0, -1, "0e0");
    assert_cut(2.0 / 3, true, 0, -1, "1e0");
    assert_cut(0.5, true, 0, -1, "0e0"); /* ties go to the even digit */
    assert_cut(1.5, true, 0, -1, "2e0");
    assert_cut(2.5, true, 0, -1, "2e0");
    assert_cut(0.125, true, 2, -1, "12e-2");
    assert_cut(0.375, true, 2, -1, "38e-2");
    assert_cut(99.999, true, 2, -1, "1e2"); /* nines are carried */
    assert_cut(1.996, true, 2, -1, "2e0");
    assert_cut(0.001, true, 2, -1, "0e-2");
    assert_cut(0.006, true, 2, -1, "1e-2");
    assert_cut(1e-300, true, 2, -1, "0e-2");
    assert_cut(1e23, false, -1, -1, "1e23");
    assert_cut(1e22, true, 8, 0, "10000000000000000000000e0");
    assert_cut(5e-324, false, -1, -1, "5e-324");
    assert_cut(DBL_MAX, false, 3, -1, "18e307");
}

/* ---- The ratio ---- */

static void assert_exceeds(double large, double small, int precision, bool expected)
{
    assert_int_equal(
        dlpark__double_exceeds_1000(dlpark__double_magnitude(large), dlpark__double_magnitude(-small), precision),
        expected);
}

static void test_a_quotient_is_compared_after_rounding(void **state)
{
    (void)state;
    uint64_t random = 7;

    assert_exceeds(1000, 1, 53, false);
    assert_exceeds(1000 * (1 + DBL_EPSILON), 1, 53, true);
    assert_exceeds(1000.25, 1, 11, false); /* 1000 in a half, as a tie goes to even */
    assert_exceeds(1000.5, 1, 11, true);
    assert_exceeds(57344, 57, 3, true); /* 1006.04; not rounded */
    assert_exceeds(1, 1, 1, false);
#if FLT_EVAL_METHOD == 0 /* where a quotient is rounded once */
    for (int i = 0; i < 3000; i++) {
        volatile double small = 1 + (double)next_random(&random) / 65536;
        volatile double large = small * 1000 * (1 + ((double)(next_random(&random) % 9) - 4) * 0x1p-53);
        volatile double quotient = large / small;
        assert_exceeds(large, small, 53, quotient > 1000);
        volatile float narrow = (float)small;
        volatile float wide = (float)large;
        volatile float ratio = wide / narrow;
        assert_exceeds((double)wide, (double)narrow, 24, ratio > 1000);
    }
#else
    (void)random;
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value_of_the_narrow_types),
        cmocka_unit_test(test_every_half),
        cmocka_unit_test(test_every_bfloat),
        cmocka_unit_test(test_which_values_have_a_closer_neighbour_below),
        cmocka_unit_test(test_ten_thousand_singles),
        cmocka_unit_test(test_ten_thousand_doubles),
        cmocka_unit_test(test_short_decimals_come_back),
        cmocka_unit_test(test_floats_of_128_bits_agree_with_the_table),
        cmocka_unit_test(test_floats_of_128_bits_that_are_no_numbers),
        cmocka_unit_test(test_a_cut_rounds_the_exact_value),
        cmocka_unit_test(test_cuts_of_known_values),
        cmocka_unit_test(test_a_quotient_is_compared_after_rounding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
