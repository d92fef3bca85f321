#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "elements/float_parts.h"
#include "nearest.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t encode(double value, const dlpark__float_format *format, dlpark_overflow overflow, unsigned *events)
{
    dlpark__real real = dlpark__real_of_double(bits_of(value));

    return dlpark__float_encode(&real, format, overflow, DLPARK_SCALE_NEAREST, events);
}

/* ---- The golden table ---- */

static void test_the_golden_table(void **state)
{
    (void)state;
    static const dlpark_overflow modes[3] = {DLPARK_OVERFLOW_NOSAT, DLPARK_OVERFLOW_SATFINITE, DLPARK_OVERFLOW_SATALL};
    FILE *file = fopen(DLPARK_CASES "/golden_encode.csv", "r");
    char line[256], name[32];
    uint64_t bits;
    unsigned codes[3];
    int rows = 0;

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* the heading */
    for (; fgets(line, sizeof line, file) != NULL; rows++) {
        DLDataType dtype;
        assert_int_equal(sscanf(line, "%31[^,],0x%" SCNx64 ",", name, &bits), 2);
        char *tail = strchr(strchr(strchr(line, ',') + 1, ',') + 1, ',') + 1; /* behind the value */
        tail = strchr(tail, ',') + 1;                                         /* behind the bits of a float32 */
        assert_int_equal(sscanf(tail, "0x%x,0x%x,0x%x", &codes[0], &codes[1], &codes[2]), 3);
        assert_ok(dlpark_dtype_parse(name, &dtype, e));
        for (int i = 0; i < 3; i++) {
            unsigned events = 0;
            uint64_t code = encode(double_of(bits), dlpark__float_format_of(dtype), modes[i], &events);
            if (code != codes[i])
                fail_msg("%s of %a in mode %d: 0x%llX, expected 0x%X", name, double_of(bits), i,
                         (unsigned long long)code, codes[i]);
            nearest_number number = nearest_of_double(double_of(bits)); /* and the oracle below */
            assert_int_equal(nearest_code(dtype, &number, modes[i], DLPARK_SCALE_NEAREST, &events), codes[i]);
        }
    }
    fclose(file);
    assert_int_equal(rows, 240);
}

static void test_what_is_no_float(void **state)
{
    (void)state;
    const DLDataType dtypes[] = {{kDLFloat, 128, 1}, {kDLFloat, 8, 1},         {kDLComplex, 16, 1}, {kDLInt, 32, 1},
                                 {kDLBool, 8, 1},    {kDLOpaqueHandle, 64, 1}, {200, 32, 1}};

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        assert_null(dlpark__float_format_of(dtypes[i]));
    assert_ptr_equal(dlpark__float_format_of(DLPARK_C128), dlpark__float_format_of(DLPARK_F64));
}

/* ---- Beside an oracle that shares nothing ---- */

/* Events as the oracle names them. */
static unsigned nearest_events(unsigned events)
{
    unsigned lost = (events & DLPARK__EVENT_OVERFLOW) != 0  ? NEAREST_OVERFLOWED
                    : (events & DLPARK__EVENT_INEXACT) != 0 ? NEAREST_INEXACT
                                                            : 0;

    return lost | ((events & DLPARK__EVENT_NAN) != 0 ? NEAREST_WAS_NAN : 0);
}

/* In every mode; or, of dtypes with many codes, in one after the other. */
static void oracle_check(DLDataType dtype, double value)
{
    static int turn;
    static const dlpark_overflow modes[3] = {DLPARK_OVERFLOW_NOSAT, DLPARK_OVERFLOW_SATFINITE, DLPARK_OVERFLOW_SATALL};
    nearest_number number = nearest_of_double(value);
    int first = dtype.bits > 8 ? turn++ % 3 : 0, past = dtype.bits > 8 ? first + 1 : 3;

    for (int i = first; i < past; i++) {
        unsigned events = 0, expected_events = 0;
        uint64_t code = encode(value, dlpark__float_format_of(dtype), modes[i], &events);
        uint64_t expected = nearest_code(dtype, &number, modes[i], DLPARK_SCALE_NEAREST, &expected_events);
        if (code != expected || nearest_events(events) != expected_events)
            fail_msg("%s of %a in mode %d: 0x%llX with events %u, expected 0x%llX with %u",
                     dlpark_dtype_name(dtype).text, value, i, (unsigned long long)code, events,
                     (unsigned long long)expected, expected_events);
    }
}

#define ORACLE_DTYPES                                                                                                  \
    {                                                                                                                  \
        DLPARK_F16, DLPARK_BF16, DLPARK_F8_E3M4, DLPARK_F8_E4M3, DLPARK_F8_E4M3B11FNUZ, DLPARK_F8_E4M3FN,              \
            DLPARK_F8_E4M3FNUZ, DLPARK_F8_E5M2, DLPARK_F8_E5M2FNUZ, DLPARK_F8_E8M0FNU, DLPARK_F6_E2M3FN,               \
            DLPARK_F6_E3M2FN, DLPARK_F4_E2M1FN                                                                         \
    }

static double number_as_double(nearest_number number)
{
    return ldexp((double)number.significand, number.exponent);
}

/* Every value, every place midway, and what is next to each of them on either side. */
static void test_around_every_boundary(void **state)
{
    (void)state;
    const DLDataType dtypes[] = ORACLE_DTYPES;

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        for (uint64_t code = 0; code <= nearest_largest(dtypes[i]); code++) {
            double near[] = {number_as_double(nearest_value(dtypes[i], code)),
                             number_as_double(nearest_middle(dtypes[i], code))};
            for (int k = 0; k < 2; k++) {
                double around[] = {near[k], double_of(bits_of(near[k]) + 1),
                                   double_of(bits_of(near[k]) - (near[k] > 0)), near[k] * (1 + 0x1p-40),
                                   near[k] * (1 - 0x1p-40)};
                for (int j = 0; j < 5; j++) {
                    oracle_check(dtypes[i], around[j]);
                    oracle_check(dtypes[i], -around[j]);
                }
            }
        }
        oracle_check(dtypes[i], 0x1p-1074);
        oracle_check(dtypes[i], 0x1.fffffffffffffp1023);
        oracle_check(dtypes[i], INFINITY);
        oracle_check(dtypes[i], -INFINITY);
        oracle_check(dtypes[i], NAN);
        oracle_check(dtypes[i], -(double)NAN);
    }
}

static void test_anywhere(void **state)
{
    (void)state;
    const DLDataType dtypes[] = ORACLE_DTYPES;
    uint64_t random = 88172645463325252u;

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        for (int n = 0; n < 20000; n++) {
            /* Half of them within the reach of small formats. */
            uint64_t bits = next_random(&random);
            if (n % 2 == 0)
                bits = (bits & UINT64_C(0x800FFFFFFFFFFFFF)) | (UINT64_C(960) + (bits >> 52) % 128) << 52;
            oracle_check(dtypes[i], double_of(bits));
        }
    }
}

/* ---- Singles, and integers, by the processor ---- */

static void test_singles_as_the_processor_rounds(void **state)
{
    (void)state;
    const dlpark__float_format *format = dlpark__float_format_of(DLPARK_F32);
    uint64_t random = 1;

    for (int n = 0; n < 500000; n++) {
        uint64_t bits = next_random(&random);
        if (n % 4 != 0) /* around the subnormal numbers, and the whole range of a float32 */
            bits = (bits & UINT64_C(0x800FFFFFFFFFFFFF)) | (UINT64_C(860) + (bits >> 52) % 300) << 52;
        double value = double_of(bits);
        float expected = (float)value;
        uint32_t expected_bits;
        unsigned events = 0;
        memcpy(&expected_bits, &expected, sizeof expected_bits);
        uint64_t code = encode(value, format, DLPARK_OVERFLOW_NOSAT, &events);
        assert_int_equal(code, expected_bits);
    }
}

static uint64_t encode_integer(double value, unsigned nbits, bool is_signed, dlpark_overflow overflow, unsigned *events)
{
    dlpark__real real = dlpark__real_of_double(bits_of(value));

    return dlpark__integer_encode(&real, nbits, is_signed, overflow, events);
}

static void test_floats_are_truncated(void **state)
{
    (void)state;
    uint64_t random = 3;

    for (int n = 0; n < 200000; n++) {
        uint64_t bits = next_random(&random);
        bits = (bits & UINT64_C(0x800FFFFFFFFFFFFF)) | (UINT64_C(1010) + (bits >> 52) % 72) << 52; /* 2^-13 to 2^58 */
        double value = double_of(bits);
        unsigned events = 0;
        uint64_t code = encode_integer(value, 64, true, DLPARK_OVERFLOW_SATURATE, &events);
        assert_int_equal((int64_t)code, (int64_t)value);
        assert_int_equal(events, (double)(int64_t)value != value ? DLPARK__EVENT_INEXACT : 0);
        /* Modulo 2^8, of negative ones too. */
        assert_int_equal(encode_integer(value, 8, false, DLPARK_OVERFLOW_WRAP, &events), (uint8_t)(int64_t)value);
    }
}

static void test_integers_at_their_ends(void **state)
{
    (void)state;
    static const struct {
        double value;
        unsigned nbits;
        bool is_signed;
        dlpark_overflow overflow;
        uint64_t code;
        unsigned events;
    } cases[] = {
        {127.9, 8, true, DLPARK_OVERFLOW_SATURATE, 127, DLPARK__EVENT_INEXACT},
        {128.0, 8, true, DLPARK_OVERFLOW_SATURATE, 127, DLPARK__EVENT_OVERFLOW},
        {-128.9, 8, true, DLPARK_OVERFLOW_SATURATE, 0x80, DLPARK__EVENT_INEXACT},
        {-129.0, 8, true, DLPARK_OVERFLOW_SATURATE, 0x80, DLPARK__EVENT_OVERFLOW},
        {-0.9, 8, false, DLPARK_OVERFLOW_SATURATE, 0, DLPARK__EVENT_INEXACT},
        {-1.0, 8, false, DLPARK_OVERFLOW_SATURATE, 0, DLPARK__EVENT_OVERFLOW},
        {-1.0, 8, false, DLPARK_OVERFLOW_WRAP, 255, DLPARK__EVENT_OVERFLOW},
        {300.5, 8, false, DLPARK_OVERFLOW_WRAP, 44, DLPARK__EVENT_OVERFLOW},
        {0x1p63, 64, true, DLPARK_OVERFLOW_SATURATE, INT64_MAX, DLPARK__EVENT_OVERFLOW},
        {-0x1p63, 64, true, DLPARK_OVERFLOW_SATURATE, UINT64_C(1) << 63, 0},
        {0x1p64, 64, false, DLPARK_OVERFLOW_SATURATE, UINT64_MAX, DLPARK__EVENT_OVERFLOW},
        {0x1.fffffffffffffp63, 64, false, DLPARK_OVERFLOW_SATURATE, UINT64_C(0xFFFFFFFFFFFFF800), 0},
        {0x1p64, 64, false, DLPARK_OVERFLOW_WRAP, 0, DLPARK__EVENT_OVERFLOW},
        {0x1.8p1000, 32, true, DLPARK_OVERFLOW_WRAP, 0, DLPARK__EVENT_OVERFLOW},
        {1.0, 1, true, DLPARK_OVERFLOW_SATURATE, 0, DLPARK__EVENT_OVERFLOW}, /* one bit: 0 and -1 */
        {-1.0, 1, true, DLPARK_OVERFLOW_SATURATE, 1, 0},
        {2.0, 1, false, DLPARK_OVERFLOW_SATURATE, 1, DLPARK__EVENT_OVERFLOW},
        {7.5, 4, true, DLPARK_OVERFLOW_SATURATE, 7, DLPARK__EVENT_INEXACT},
        {-9.0, 4, true, DLPARK_OVERFLOW_SATURATE, 8, DLPARK__EVENT_OVERFLOW},
        {NAN, 16, true, DLPARK_OVERFLOW_SATURATE, 0, DLPARK__EVENT_NAN},
        {NAN, 16, true, DLPARK_OVERFLOW_WRAP, 0, DLPARK__EVENT_NAN},
        {INFINITY, 16, true, DLPARK_OVERFLOW_SATURATE, 0x7FFF, DLPARK__EVENT_OVERFLOW},
        {-INFINITY, 16, true, DLPARK_OVERFLOW_SATURATE, 0x8000, DLPARK__EVENT_OVERFLOW},
        {INFINITY, 16, false, DLPARK_OVERFLOW_WRAP, 0, DLPARK__EVENT_OVERFLOW},
        {0x1p-1074, 16, true, DLPARK_OVERFLOW_SATURATE, 0, DLPARK__EVENT_INEXACT},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned events = 0;
        uint64_t code = encode_integer(cases[i].value, cases[i].nbits, cases[i].is_signed, cases[i].overflow, &events);
        if (code != cases[i].code || events != cases[i].events)
            fail_msg("row %d, %a: %llu with events %u", (int)i, cases[i].value, (unsigned long long)code, events);
    }
}

/* Integers of 64 bits round once: what a float32 in between would lose decides. */
static void test_large_integers_round_once(void **state)
{
    (void)state;
    dlpark__real real = dlpark__real_of_integer(1103806595073, false); /* (1 + 2^-8) * 2^40 + 1 */
    unsigned events = 0;

    assert_int_equal(dlpark__float_encode(&real, dlpark__float_format_of(DLPARK_BF16), DLPARK_OVERFLOW_NOSAT,
                                          DLPARK_SCALE_NEAREST, &events),
                     0x5381);
    assert_int_equal(events, DLPARK__EVENT_INEXACT);
    real = dlpark__real_of_integer(UINT64_C(1) << 63, true); /* the least int64 */
    events = 0;
    assert_int_equal(dlpark__float_encode(&real, dlpark__float_format_of(DLPARK_F32), DLPARK_OVERFLOW_NOSAT,
                                          DLPARK_SCALE_NEAREST, &events),
                     0xDF000000);
    assert_int_equal(events, 0);
}

/* ---- NaN and powers of two ---- */

static void test_nan_keeps_sign_and_payload_where_there_is_room(void **state)
{
    (void)state;
    const struct {
        uint64_t bits;
        DLDataType dtype;
        uint64_t code;
    } cases[] = {
        {UINT64_C(0x7FF8000000000000), DLPARK_F16, 0x7E00},
        {UINT64_C(0xFFF0040000000000), DLPARK_F16, 0xFE01},
        {UINT64_C(0x7FF0000000000001), DLPARK_BF16, 0x7FC0},
        {UINT64_C(0xFFFE000000000000), DLPARK_BF16, 0xFFF0},
        {UINT64_C(0x7FF0000020000000), DLPARK_F32, 0x7FC00001},
        {UINT64_C(0x7FFFFFFFFFFFFFFF), DLPARK_F8_E5M2, 0x7E},
        {UINT64_C(0xFFF0000000000001), DLPARK_F8_E4M3FN, 0xFF},
        {UINT64_C(0xFFF0000000000001), DLPARK_F8_E5M2FNUZ, 0x80},
        {UINT64_C(0x7FF8000000000000), DLPARK_F6_E2M3FN, 0x20},
        {UINT64_C(0xFFF8000000000000), DLPARK_F4_E2M1FN, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark__real real = dlpark__real_of_double(cases[i].bits);
        unsigned events = 0;
        assert_int_equal(dlpark__float_encode(&real, dlpark__float_format_of(cases[i].dtype), DLPARK_OVERFLOW_SATALL,
                                              DLPARK_SCALE_NEAREST, &events),
                         cases[i].code);
        assert_int_equal(events, DLPARK__EVENT_NAN);
    }
}

static void test_scales_round_as_asked(void **state)
{
    (void)state;
    static const struct {
        double value;
        uint64_t nearest, up, down;
    } cases[] = {
        {1.0, 127, 127, 127},         {1.25, 127, 128, 127},
        {1.5, 128, 128, 127},         {0x1.7ffffp0, 127, 128, 127},
        {0x1p-127, 0, 0, 0},          {0x1.8p-127, 1, 1, 0},
        {0x1.7p-127, 0, 1, 0},        {0x1p-150, 0, 0, 0},
        {0x1.8p127, 0xFF, 0xFF, 254}, {0x1.0000001p127, 254, 0xFF, 254},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        dlpark__real real = dlpark__real_of_double(bits_of(cases[i].value));
        const uint64_t expected[] = {cases[i].nearest, cases[i].up, cases[i].down};
        for (int rounding = 0; rounding < 3; rounding++) {
            unsigned events = 0;
            uint64_t code = dlpark__float_encode(&real, dlpark__float_format_of(DLPARK_F8_E8M0FNU),
                                                 DLPARK_OVERFLOW_NOSAT, (dlpark_scale_rounding)rounding, &events);
            if (code != expected[rounding])
                fail_msg("%a, rounding %d: %d", cases[i].value, rounding, (int)code);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_golden_table),
        cmocka_unit_test(test_what_is_no_float),
        cmocka_unit_test(test_around_every_boundary),
        cmocka_unit_test(test_anywhere),
        cmocka_unit_test(test_singles_as_the_processor_rounds),
        cmocka_unit_test(test_floats_are_truncated),
        cmocka_unit_test(test_integers_at_their_ends),
        cmocka_unit_test(test_large_integers_round_once),
        cmocka_unit_test(test_nan_keeps_sign_and_payload_where_there_is_room),
        cmocka_unit_test(test_scales_round_as_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
