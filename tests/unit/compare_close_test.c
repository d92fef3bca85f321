#include "bitwise.h"
#include "golden_floats.h"

#include <float.h>

/* ---- The rule, written once more ---- */

/* Whole differences of numbers that are not so large that they overflow; an eighth of them where they are. */
static bool close_slowly(double a, double b, double rtol, double atol, bool equal_nan)
{
    bool a_nan = a != a, b_nan = b != b;

    if (a_nan || b_nan)
        return equal_nan && a_nan && b_nan;
    if (a > DBL_MAX || a < -DBL_MAX || b > DBL_MAX || b < -DBL_MAX)
        return a == b;
    double part = a > 1e300 || a < -1e300 || b > 1e300 || b < -1e300 ? 0.125 : 1;
    double far = a * part - b * part, limit = atol * part + rtol * ((b < 0 ? -b : b) * part);
    return (far < 0 ? -far : far) <= limit;
}

/* A pair at one place of a row of pairs that are close; whether all are, and where not. */
static bool close_in_a_row(DLDataType dtype, const void *a, const void *b, const void *harmless, int64_t count,
                           int64_t place, double rtol, double atol, bool equal_nan)
{
    static unsigned char a_row[300 * 16 + 1], b_row[300 * 16 + 1];
    size_t nbytes = (size_t)(dtype.bits * dtype.lanes + 7) / 8;
    int64_t stride = 1, where = -1;
    bool close = false;

    for (int64_t i = 0; i < count; i++) {
        memcpy(a_row + 1 + (size_t)i * nbytes, i == place ? a : harmless, nbytes);
        memcpy(b_row + 1 + (size_t)i * nbytes, i == place ? b : harmless, nbytes);
    }
    dlpark_view a_view = bitwise_view(a_row + 1, 0, dtype, DLPARK_VIEW_PADDED, 1, &count, &stride);
    dlpark_view b_view = bitwise_view(b_row + 1, 0, dtype, DLPARK_VIEW_PADDED, 1, &count, &stride);
    assert_ok(dlpark_allclose(&a_view, &b_view, rtol, atol, equal_nan, &close, &where, e));
    assert_int_equal(where, close ? -1 : place);
    return close;
}

/* Alone, and in rows longer than what is tested at a time. */
static bool close_anywhere(DLDataType dtype, const void *a, const void *b, const void *harmless, double rtol,
                           double atol, bool equal_nan)
{
    static const int64_t places[] = {0, 1, 127, 128, 299};
    bool close = close_in_a_row(dtype, a, b, harmless, 1, 0, rtol, atol, equal_nan);

    for (size_t i = 0; i < 5; i++)
        assert_int_equal(close_in_a_row(dtype, a, b, harmless, 300, places[i], rtol, atol, equal_nan), close);
    return close;
}

/* ---- Floats ---- */

static const double tolerances[][2] = {{0, 0},    {1e-5, 1e-8}, {0, 0.5},     {0.5, 0},       {0, 1e300},
                                       {3, 1e-9}, {1.9, 0},     {2.1, 0.125}, {DBL_MAX, 1.0}, {0, DBL_MAX}};

static size_t table_of_doubles(double values[40])
{
    static const double finite[] = {0,        1,      1 + 1e-9, 1.5, 2,        1e-9,    1e-300,  3e-310,
                                    1 + 2e-5, 100.25, 65504,    1e8, 1e8 + 64, 1.7e308, DBL_MAX, 1e300};
    size_t count = 0;

    for (size_t i = 0; i < sizeof finite / sizeof finite[0]; i++) {
        values[count++] = finite[i];
        values[count++] = -finite[i];
    }
    values[count++] = strtod("inf", NULL);
    values[count++] = strtod("-inf", NULL);
    values[count++] = strtod("nan", NULL);
    return count;
}

static void f64_by_the_rule(void **state)
{
    (void)state;
    double values[40], some = 3;
    size_t count = table_of_doubles(values);

    for (size_t t = 0; t < sizeof tolerances / sizeof tolerances[0]; t++)
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++)
                for (int nan = 0; nan < 2; nan++) {
                    double rtol = tolerances[t][0], atol = tolerances[t][1];
                    bool expected = close_slowly(values[i], values[j], rtol, atol, nan);
                    bool close = (i + j + t) % 8 == 0
                                     ? close_anywhere(DLPARK_F64, &values[i], &values[j], &some, rtol, atol, nan)
                                     : close_in_a_row(DLPARK_F64, &values[i], &values[j], &some, 1, 0, rtol, atol, nan);
                    if (close != expected)
                        fail_msg("%a and %a within %a and %a: expected %d", values[i], values[j], rtol, atol, expected);
                }
}

static void f32_by_the_rule(void **state)
{
    (void)state;
    double values[40];
    float some = 3;
    size_t count = table_of_doubles(values);

    for (size_t t = 0; t < sizeof tolerances / sizeof tolerances[0]; t++)
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++) {
                double rtol = tolerances[t][0], atol = tolerances[t][1];
                if ((values[i] > FLT_MAX && values[i] <= DBL_MAX) || (values[i] < -FLT_MAX && values[i] >= -DBL_MAX) ||
                    (values[j] > FLT_MAX && values[j] <= DBL_MAX) || (values[j] < -FLT_MAX && values[j] >= -DBL_MAX))
                    continue;
                float a = (float)values[i], b = (float)values[j];
                bool expected = close_slowly((double)a, (double)b, rtol, atol, t % 2 != 0);
                assert_int_equal(close_in_a_row(DLPARK_F32, &a, &b, &some, 1, 0, rtol, atol, t % 2 != 0), expected);
                if ((i + j + t) % 8 == 0)
                    assert_int_equal(close_anywhere(DLPARK_F32, &a, &b, &some, rtol, atol, t % 2 != 0), expected);
            }
}

static void exactly_at_the_limit_is_close(void **state)
{
    (void)state;
    double a = 1.5, b = 1, past = 1.5 + DBL_EPSILON, negative = -1;

    assert_true(close_anywhere(DLPARK_F64, &a, &b, &b, 0, 0.5, false));
    assert_true(close_anywhere(DLPARK_F64, &a, &b, &b, 0.5, 0, false));
    assert_true(close_anywhere(DLPARK_F64, &a, &b, &b, 0.25, 0.25, false));
    assert_false(close_anywhere(DLPARK_F64, &past, &b, &b, 0.25, 0.25, false));
    assert_false(close_anywhere(DLPARK_F64, &b, &a, &b, 0, 0.4999, false));
    assert_true(close_anywhere(DLPARK_F64, &b, &negative, &b, 2, 0, false));
    assert_false(close_anywhere(DLPARK_F64, &b, &negative, &b, 1.9999, 0, false));
    double zero = 0; /* the tolerance is relative to the second */
    assert_true(close_anywhere(DLPARK_F64, &zero, &b, &b, 1, 0, false));
    assert_false(close_anywhere(DLPARK_F64, &b, &zero, &b, 1, 0, false));
}

static void codes_of_the_small_floats(void **state)
{
    (void)state;
    static golden_format formats[GOLDEN_FORMATS];

    golden_read(formats);
    for (int format = 0; format < GOLDEN_FORMATS; format++)
        for (unsigned i = 0; i < formats[format].count; i++)
            for (unsigned j = i % 5; j < formats[format].count; j += 5) {
                unsigned char a = (unsigned char)i, b = (unsigned char)j;
                bool expected =
                    close_slowly(formats[format].value[i], formats[format].value[j], 0.25, 0.125, (i ^ j) & 1);
                if (close_in_a_row(formats[format].dtype, &a, &b, &a, 1, 0, 0.25, 0.125, (i ^ j) & 1) != expected)
                    fail_msg("%s 0x%02X and 0x%02X", dlpark_dtype_name(formats[format].dtype).text, i, j);
            }
}

static void f16_and_bf16_as_numbers(void **state)
{
    (void)state;
    uint16_t one = 0x3C00, next = 0x3C01, infinite = 0x7C00, largest = 0x7BFF, nan = 0x7E01; /* f16 */

    assert_true(close_anywhere(DLPARK_F16, &one, &next, &one, 1e-3, 0, false));
    assert_false(close_anywhere(DLPARK_F16, &one, &next, &one, 9e-4, 0, false));
    assert_false(close_anywhere(DLPARK_F16, &infinite, &largest, &one, 1, 1e9, false));
    assert_true(close_anywhere(DLPARK_F16, &infinite, &infinite, &one, 0, 0, false));
    assert_false(close_anywhere(DLPARK_F16, &nan, &nan, &one, 1, 1e9, false));
    assert_true(close_anywhere(DLPARK_F16, &nan, &nan, &one, 0, 0, true));
    uint16_t b_one = 0x3F80, b_next = 0x3F81;
    assert_true(close_anywhere(DLPARK_BF16, &b_one, &b_next, &b_one, 0.0078125, 0, false));
    assert_false(close_anywhere(DLPARK_BF16, &b_one, &b_next, &b_one, 0, 0.0078, false));
}

/* ---- Complex numbers ---- */

static bool complex_close(double ar, double ai, double br, double bi, double rtol, double atol, bool equal_nan)
{
    double a[] = {ar, ai}, b[] = {br, bi}, some[] = {1, 1};

    return close_anywhere(DLPARK_C128, a, b, some, rtol, atol, equal_nan);
}

static void complex_numbers_by_their_modulus(void **state)
{
    (void)state;
    double inf = strtod("inf", NULL), nan = strtod("nan", NULL);

    assert_true(complex_close(4, 5, 1, 1, 0, 5, false)); /* 3, 4, 5 */
    assert_false(complex_close(4, 5, 1, 1, 0, 4.999999999, false));
    assert_true(complex_close(1, 1, 6, 13, 0, 13, false));
    assert_false(complex_close(1, 1, 6, 13, 0, 12.999999999, false));
    assert_true(complex_close(0, 0, 3, -4, 1, 0, false)); /* relative to 5 */
    assert_false(complex_close(0, 0, 3, -4, 0.999999, 0, false));
    assert_true(complex_close(1, 0, 0, 0, 0, 1, false));
    assert_true(complex_close(0, 0, 0, -1, 1, 0, false));
    assert_true(complex_close(3e-300, 4e-300, 0, 0, 0, 5.0001e-300, false)); /* squares would be 0 */
    assert_false(complex_close(3e-300, 4e-300, 0, 0, 0, 4.9999e-300, false));
    assert_true(complex_close(3e300, 4e300, 0, 0, 0, 5.0001e300, false)); /* or infinite */
    assert_false(complex_close(3e300, 4e300, 0, 0, 0, 4.9999e300, false));
    assert_false(complex_close(DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, 1.9999, 0, false));
    assert_true(complex_close(DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, 2.0001, 0, false));
    assert_true(complex_close(inf, 1, inf, 1, 0, 0, false));
    assert_false(complex_close(inf, 1, inf, 2, 1, 1e300, false));
    assert_false(complex_close(inf, 1, 1, 1, 1, 1e300, false));
    assert_false(complex_close(1, 1, 1, -inf, 1, 1e300, false));
    assert_false(complex_close(nan, 1, nan, 1, 1, 1e300, false));
    assert_true(complex_close(nan, 1, 2, nan, 0, 0, true)); /* NaN, both, by a part */
    assert_false(complex_close(nan, 1, 2, 3, 1, 1e300, true));
    assert_false(complex_close(2, 3, 1, nan, 1, 1e300, true));
}

static void the_other_widths_of_complex(void **state)
{
    (void)state;
    float a[] = {4, 5}, b[] = {1, 1};
    uint16_t c[] = {0x4400, 0x4500}, d[] = {0x3C00, 0x3C00};

    assert_true(close_anywhere(DLPARK_C64, a, b, b, 0, 5, false));
    assert_false(close_anywhere(DLPARK_C64, a, b, b, 0, 4.99, false));
    assert_true(close_anywhere(DLPARK_DTYPE(kDLComplex, 32, 1), c, d, d, 0, 5, false));
    assert_false(close_anywhere(DLPARK_DTYPE(kDLComplex, 32, 1), c, d, d, 0, 4.99, false));
}

/* ---- Integers ---- */

static void bytes_far_and_near(void **state)
{
    (void)state;
    static const double limits[][2] = {{0, 0}, {0, 0.5}, {0, 1}, {0.25, 0}, {0.5, 3.5}, {2, 0}};

    for (int i = 0; i < 256; i++)
        for (int j = i % 3; j < 256; j += 3) {
            const double *limit = limits[(i + j / 3) % 6];
            uint8_t a = (uint8_t)i, b = (uint8_t)j;
            int far = i < j ? j - i : i - j;
            bool expected = far <= limit[1] + limit[0] * j;
            assert_int_equal(close_in_a_row(DLPARK_U8, &a, &b, &a, 1, 0, limit[0], limit[1], false), expected);
            int x = i - 128, y = j - 128;
            int8_t c = (int8_t)x, d = (int8_t)y;
            expected = (x < y ? y - x : x - y) <= limit[1] + limit[0] * (y < 0 ? -y : y);
            assert_int_equal(close_in_a_row(DLPARK_I8, &c, &d, &c, 1, 0, limit[0], limit[1], false), expected);
        }
}

static bool i64_close(int64_t a, int64_t b, double rtol, double atol)
{
    int64_t some = 1;

    return close_anywhere(DLPARK_I64, &a, &b, &some, rtol, atol, false);
}

static bool u64_close(uint64_t a, uint64_t b, double rtol, double atol)
{
    uint64_t some = 1;

    return close_anywhere(DLPARK_U64, &a, &b, &some, rtol, atol, false);
}

static void wide_integers_neither_overflow_nor_round(void **state)
{
    (void)state;
    const double two_64 = 18446744073709551616.0, below = 18446744073709549568.0; /* the double before */

    assert_true(i64_close(INT64_MIN, INT64_MAX, 0, two_64)); /* 2^64 - 1 apart */
    assert_false(i64_close(INT64_MIN, INT64_MAX, 0, below));
    assert_false(i64_close(INT64_MAX, INT64_MIN, 0, below));
    assert_true(i64_close(INT64_MAX, INT64_MIN, 2, 0));
    assert_false(i64_close(INT64_MAX, INT64_MIN, 1.9999, 0));
    assert_false(i64_close(INT64_MAX, INT64_MAX - 1, 0, 0.999)); /* one double for both */
    assert_true(i64_close(INT64_MAX, INT64_MAX - 1, 0, 1));
    assert_false(i64_close(INT64_MAX, INT64_MAX - 2, 0, 1));
    assert_true(i64_close(-5, -4, 0.25, 0));
    assert_false(i64_close(-5, -4, 0.2499, 0));
    assert_true(i64_close(-1, 1, 0, 2));
    assert_false(i64_close(-1, 1, 0, 1.5));
    assert_true(u64_close(UINT64_MAX, 0, 0, two_64));
    assert_false(u64_close(UINT64_MAX, 0, 0, below));
    assert_false(u64_close(0, UINT64_MAX, 0.999, 0));
    assert_true(u64_close(0, UINT64_MAX, 1.001, 0));
    assert_true(u64_close(UINT64_MAX, 0, 0, DBL_MAX));
}

/* Two halves as they lie in memory. */
static bool wide_close(uint8_t code, const uint64_t a[2], const uint64_t b[2], double rtol, double atol)
{
    bool little = *(const unsigned char *)&(uint16_t){1} == 1;
    uint64_t x[] = {a[little], a[!little]}, y[] = {b[little], b[!little]}, some[] = {1, 1};

    return close_anywhere(DLPARK_DTYPE(code, 128, 1), x, y, some, rtol, atol, false);
}

static void integers_of_128_bits(void **state)
{
    (void)state;
    const uint64_t zero[] = {0, 0}, one[] = {0, 1}, minus[] = {UINT64_MAX, UINT64_MAX}, big[] = {1, 0};
    const uint64_t lowest[] = {UINT64_C(1) << 63, 0}, highest[] = {UINT64_MAX >> 1, UINT64_MAX}, bigger[] = {3, 1};
    const double two_64 = 18446744073709551616.0, two_128 = two_64 * two_64;

    assert_true(wide_close(kDLInt, minus, one, 0, 2));
    assert_false(wide_close(kDLInt, minus, one, 0, 1.99));
    assert_false(wide_close(kDLUInt, minus, one, 0, two_64));
    assert_true(wide_close(kDLUInt, minus, zero, 0, two_128));
    assert_false(wide_close(kDLUInt, minus, zero, 0, two_128 * (1 - DBL_EPSILON)));
    assert_true(wide_close(kDLInt, lowest, highest, 0, two_128));
    assert_false(wide_close(kDLInt, lowest, highest, 0, two_128 * (1 - DBL_EPSILON)));
    assert_true(wide_close(kDLInt, big, zero, 0, two_64));
    assert_false(wide_close(kDLInt, big, zero, 0, two_64 * (1 - DBL_EPSILON)));
    assert_true(wide_close(kDLInt, bigger, one, 0, 3 * two_64));
    assert_false(wide_close(kDLInt, bigger, zero, 0, 3 * two_64)); /* by one */
    assert_true(wide_close(kDLInt, zero, bigger, 1.0001, 0));
    assert_false(wide_close(kDLInt, zero, bigger, 0.9999, 0));
}

static void sub_byte_integers_and_bools(void **state)
{
    (void)state;
    unsigned char minus = 0x0F, seven = 0x07, one = 0x01, two = 0x02, none = 0;

    assert_true(close_anywhere(DLPARK_I4, &minus, &one, &one, 0, 2, false)); /* -1 and 1 */
    assert_false(close_anywhere(DLPARK_U4, &minus, &one, &one, 0, 13, false));
    assert_true(close_anywhere(DLPARK_U4, &minus, &one, &one, 0, 14, false));
    assert_true(close_anywhere(DLPARK_I4, &seven, &one, &one, 6, 0, false));
    assert_true(close_anywhere(DLPARK_BOOL, &two, &one, &one, 0, 0, false)); /* both true */
    assert_false(close_anywhere(DLPARK_BOOL, &two, &none, &one, 0, 0.5, false));
    assert_true(close_anywhere(DLPARK_BOOL, &two, &none, &one, 0, 1, false));
}

/* ---- Whole views ---- */

static void strided_and_packed_views(void **state)
{
    (void)state;
    float rows[] = {1, 2, 3, 4, 5, 6}, columns[] = {1, 4, 2, 5, 3.25f, 6};
    static const int64_t shape[] = {2, 3}, row[] = {3, 1}, column[] = {1, 2};
    dlpark_view a = bitwise_view(rows, 0, DLPARK_F32, 0, 2, shape, row);
    dlpark_view b = bitwise_view(columns, 0, DLPARK_F32, 0, 2, shape, column);
    int64_t where[2];
    bool close = false;

    assert_ok(dlpark_allclose(&a, &b, 0, 0.25, false, &close, where, e));
    assert_true(close);
    assert_ok(dlpark_allclose(&a, &b, 0, 0.2, false, &close, where, e));
    assert_false(close);
    assert_int_equal(where[0], 0);
    assert_int_equal(where[1], 2);

    unsigned char packed[] = {0x10, 0x32, 0x54}, other[] = {0x01, 0x23, 0x47}; /* u4: 0 1 2 3 4 5; 1 0 3 2 7 4 */
    a = bitwise_view(packed, 0, DLPARK_U4, 0, 2, shape, row);
    b = bitwise_view(other, 0, DLPARK_U4, 0, 2, shape, row);
    assert_ok(dlpark_allclose(&a, &b, 0, 3, false, &close, NULL, e));
    assert_true(close);
    assert_ok(dlpark_allclose(&a, &b, 0, 2, false, &close, where, e));
    assert_false(close);
    assert_int_equal(where[0], 1);
    assert_int_equal(where[1], 1);
}

static void refusals_say_why(void **state)
{
    (void)state;
    static const int64_t shape[] = {1}, strides[] = {1};
    double values[2] = {0}, nan = strtod("nan", NULL), inf = strtod("inf", NULL);
    dlpark_view a = bitwise_view(values, 0, DLPARK_F64, 0, 1, shape, strides);
    bool close = true;

    assert_fails(DLPARK_E_ARGUMENT, "rtol is negative", dlpark_allclose(&a, &a, -1e-9, 0, false, &close, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "rtol is NaN", dlpark_allclose(&a, &a, nan, 0, false, &close, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "atol is infinite", dlpark_allclose(&a, &a, 0, inf, false, &close, NULL, e));
    a.dtype = DLPARK_DTYPE(kDLOpaqueHandle, 64, 1);
    assert_fails(DLPARK_E_DTYPE, "closeness of opaque64", dlpark_allclose(&a, &a, 0, 0, false, &close, NULL, e));
    a.dtype = DLPARK_DTYPE(kDLFloat, 128, 1);
    assert_fails(DLPARK_E_DTYPE, "closeness of f128", dlpark_allclose(&a, &a, 0, 0, false, &close, NULL, e));
    assert_true(close);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f64_by_the_rule),
        cmocka_unit_test(f32_by_the_rule),
        cmocka_unit_test(exactly_at_the_limit_is_close),
        cmocka_unit_test(codes_of_the_small_floats),
        cmocka_unit_test(f16_and_bf16_as_numbers),
        cmocka_unit_test(complex_numbers_by_their_modulus),
        cmocka_unit_test(the_other_widths_of_complex),
        cmocka_unit_test(bytes_far_and_near),
        cmocka_unit_test(wide_integers_neither_overflow_nor_round),
        cmocka_unit_test(integers_of_128_bits),
        cmocka_unit_test(sub_byte_integers_and_bools),
        cmocka_unit_test(strided_and_packed_views),
        cmocka_unit_test(refusals_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
