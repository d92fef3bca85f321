#include "test.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "golden_floats.h"

static dlpark_limits limits_of(DLDataType dtype)
{
    dlpark_limits limits;

    memset(&limits, 0x5A, sizeof limits);
    assert_ok(dlpark_dtype_limits(dtype, &limits, e));
    return limits;
}

/* By looking at every value: no rule of a format is used. */
static void check_by_looking(DLDataType dtype, unsigned count, const double *value)
{
    dlpark_limits limits = limits_of(dtype);
    double max = -INFINITY, lowest = (double)INFINITY, smallest = (double)INFINITY, next = (double)INFINITY;
    bool infinity = false, nan = false, minus_zero = false, zero = false;

    for (unsigned code = 0; code < count; code++) {
        double v = value[code];
        nan |= isnan(v);
        infinity |= isinf(v);
        zero |= v == 0;
        minus_zero |= v == 0 && signbit(v);
        if (!isfinite(v))
            continue;
        max = v > max ? v : max;
        lowest = v < lowest ? v : lowest;
        smallest = v > 0 && v < smallest ? v : smallest;
        next = v > 1 && v < next ? v : next;
    }
    assert_int_equal(limits.max.kind, DLPARK_SCALAR_FLOAT);
    assert_true(limits.max.re == max && limits.lowest.re == lowest);
    assert_true(limits.smallest_subnormal == smallest && limits.eps == next - 1);
    assert_int_equal(limits.has_infinity, infinity);
    assert_int_equal(limits.has_nan, nan);
    assert_int_equal(limits.has_signed_zero, minus_zero);
    assert_int_equal(limits.has_zero, zero);
    assert_int_equal(limits.has_subnormals, zero);
    /* From the smallest normal number on the values of a factor of two are 1 / eps. */
    int in_octave = 0;
    for (unsigned code = 0; code < count; code++)
        in_octave += value[code] >= limits.smallest_normal && value[code] < 2 * limits.smallest_normal;
    assert_true(in_octave * limits.eps == 1);
    if (limits.has_subnormals)
        assert_true(limits.smallest_subnormal == limits.smallest_normal * limits.eps);
    assert_true(ldexp(1, 1 - limits.digits) == limits.eps);
}

static void test_narrow_floats(void **state)
{
    (void)state;
    static golden_format formats[GOLDEN_FORMATS];

    golden_read(formats);
    for (int i = 0; i < GOLDEN_FORMATS; i++)
        check_by_looking(formats[i].dtype, formats[i].count, formats[i].value);
}

static void test_floats_of_16_bits(void **state)
{
    (void)state;
    static double value[65536];
    static const DLDataType dtypes[] = {{kDLFloat, 16, 1}, {kDLBfloat, 16, 1}};

    for (int i = 0; i < 2; i++) {
        for (unsigned code = 0; code < 65536; code++)
            assert_ok(dlpark_code_decode(dtypes[i], code, &value[code], e));
        check_by_looking(dtypes[i], 65536, value);
    }
}

static void test_singles_doubles_and_complex_numbers(void **state)
{
    (void)state;
    dlpark_limits limits = limits_of(DLPARK_F32);

    assert_true(limits.max.re == (double)FLT_MAX && limits.lowest.re == -(double)FLT_MAX);
    assert_true(limits.smallest_normal == (double)FLT_MIN && limits.eps == (double)FLT_EPSILON);
    assert_int_equal(limits.digits, FLT_MANT_DIG);
    dlpark_limits part = limits_of(DLPARK_C64);
    assert_memory_equal(&part, &limits, sizeof part);
    limits = limits_of(DLPARK_DTYPE(kDLFloat, 64, 4));
    assert_true(limits.max.re == DBL_MAX && limits.smallest_normal == DBL_MIN && limits.eps == DBL_EPSILON);
    assert_true(limits.smallest_subnormal == DBL_MIN * DBL_EPSILON);
    assert_int_equal(limits.digits, DBL_MANT_DIG);
    assert_true(limits.has_infinity && limits.has_nan && limits.has_signed_zero && limits.has_zero);
}

static void check_whole(DLDataType dtype, dlpark_scalar_kind kind, uint64_t low, uint64_t high, uint64_t lowest_low,
                        uint64_t lowest_high)
{
    dlpark_limits limits = limits_of(dtype);

    assert_int_equal(limits.max.kind, kind);
    assert_int_equal(limits.lowest.kind, kind);
    assert_int_equal(limits.max.low, low);
    assert_int_equal(limits.max.high, high);
    assert_int_equal(limits.lowest.low, lowest_low);
    assert_int_equal(limits.lowest.high, lowest_high);
    assert_true(limits.has_zero && !limits.has_nan && !limits.has_infinity && !limits.has_signed_zero);
    assert_true(limits.eps == 0 && limits.smallest_normal == 0);
}

static void test_integers_and_bool(void **state)
{
    (void)state;
    const uint64_t ones = UINT64_MAX;

    check_whole(DLPARK_BOOL, DLPARK_SCALAR_BOOL, 1, 0, 0, 0);
    check_whole(DLPARK_I8, DLPARK_SCALAR_INT, 127, 0, (uint64_t)-128, ones);
    check_whole(DLPARK_U8, DLPARK_SCALAR_UINT, 255, 0, 0, 0);
    check_whole(DLPARK_I4, DLPARK_SCALAR_INT, 7, 0, (uint64_t)-8, ones);
    check_whole(DLPARK_DTYPE(kDLInt, 1, 1), DLPARK_SCALAR_INT, 0, 0, ones, ones);
    check_whole(DLPARK_DTYPE(kDLUInt, 1, 1), DLPARK_SCALAR_UINT, 1, 0, 0, 0);
    check_whole(DLPARK_I64, DLPARK_SCALAR_INT, INT64_MAX, 0, UINT64_C(1) << 63, ones);
    check_whole(DLPARK_U64, DLPARK_SCALAR_UINT, ones, 0, 0, 0);
    check_whole(DLPARK_DTYPE(kDLInt, 128, 1), DLPARK_SCALAR_INT, ones, INT64_MAX, 0, UINT64_C(1) << 63);
    check_whole(DLPARK_DTYPE(kDLUInt, 128, 1), DLPARK_SCALAR_UINT, ones, ones, 0, 0);
    assert_int_equal(limits_of(DLPARK_I64).digits, 63);
    assert_int_equal(limits_of(DLPARK_U4).digits, 4);
}

static void test_what_has_no_limits(void **state)
{
    (void)state;
    dlpark_limits limits, before;

    memset(&limits, 0x5A, sizeof limits);
    before = limits;
    assert_fails(DLPARK_E_DTYPE, "f128 has no limits", dlpark_dtype_limits(DLPARK_DTYPE(kDLFloat, 128, 1), &limits, e));
    assert_fails(DLPARK_E_DTYPE, "opaque64", dlpark_dtype_limits(DLPARK_DTYPE(kDLOpaqueHandle, 64, 1), &limits, e));
    assert_fails(DLPARK_E_DTYPE, "code 40", dlpark_dtype_limits(DLPARK_DTYPE(40, 8, 1), &limits, e));
    assert_fails(DLPARK_E_DTYPE, "cannot have 16 bits",
                 dlpark_dtype_limits(DLPARK_DTYPE(kDLFloat8_e5m2, 16, 1), &limits, e));
    assert_memory_equal(&limits, &before, sizeof limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_floats),
        cmocka_unit_test(test_floats_of_16_bits),
        cmocka_unit_test(test_singles_doubles_and_complex_numbers),
        cmocka_unit_test(test_integers_and_bool),
        cmocka_unit_test(test_what_has_no_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
