#include "test.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "elements/float_parts.h"

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
        }
    }
    fclose(file);
    assert_int_equal(rows, 240);
}

/* ---- An oracle that shares nothing: the nearest of all values of a format, found by looking ---- */

#define MOST_CODES 65536

typedef struct oracle {
    DLDataType dtype;
    const dlpark__float_format *format;
    int count;                /* of finite magnitudes, 0 among them but for e8m0; code i has value[i] */
    double value[MOST_CODES]; /* rising; one more, where the next would be if the format went on */
} oracle;

/* By the loader of elements, which has proofs of its own. */
static double oracle_value(DLDataType dtype, uint32_t code)
{
    dlpark_scalar scalar;
    uint16_t word = (uint16_t)code;
    unsigned char byte = (unsigned char)code;
    DLTensor tensor = {.data = dtype.bits == 16 ? (void *)&word : (void *)&byte, .device = {kDLCPU, 0}, .dtype = dtype};
    dlpark_view view;

    assert_int_equal(dlpark_check(&tensor, 0, &view, NULL), DLPARK_OK);
    dlpark_element_load(&view, 0, 0, &scalar);
    return scalar.re;
}

static oracle *oracle_new(DLDataType dtype)
{
    oracle *all = malloc(sizeof *all);
    uint32_t half = 1u << (dtype.bits - (dtype.code != kDLFloat8_e8m0fnu));

    assert_non_null(all);
    all->dtype = dtype;
    all->format = dlpark__float_format_of(dtype);
    for (all->count = 0; (uint32_t)all->count < half; all->count++) {
        all->value[all->count] = oracle_value(dtype, (uint32_t)all->count);
        if (!isfinite(all->value[all->count]))
            break;
        assert_true(all->count == 0 || all->value[all->count] > all->value[all->count - 1]);
    }
    double last = all->value[all->count - 1];
    all->value[all->count] = dtype.code == kDLFloat8_e8m0fnu ? 2 * last : last + (last - all->value[all->count - 2]);
    return all;
}

/* The code of a finite magnitude; `count` where it is beyond the largest. */
static int oracle_nearest(const oracle *all, double magnitude)
{
    int low = 0, high = all->count;

    if (magnitude <= all->value[0])
        return 0;
    if (magnitude >= all->value[high])
        return all->count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(all->value[middle] <= magnitude ? &low : &high) = middle;
    }
    double between = all->value[low] / 2 + all->value[high] / 2; /* exact: far from the ends of double */
    if (magnitude != between)
        return magnitude < between ? low : high;
    return all->dtype.code == kDLFloat8_e8m0fnu || low % 2 != 0 ? high : low; /* powers of two: up */
}

static void oracle_check(const oracle *all, double value)
{
    unsigned events = 0;
    uint64_t code = encode(value, all->format, DLPARK_OVERFLOW_SATFINITE, &events);
    uint64_t sign = UINT64_C(1) << (all->dtype.bits - 1);
    int nearest = oracle_nearest(all, fabs(value));
    bool beyond = nearest == all->count;
    uint64_t expected = (uint64_t)(beyond ? nearest - 1 : nearest);

    if (all->dtype.code != kDLFloat8_e8m0fnu) {
        bool no_minus_zero = all->format->flavour == DLPARK__FLOAT_FNUZ && expected == 0;
        expected |= signbit(value) && !no_minus_zero ? sign : 0;
    } else if (value <= 0) { /* no zero, and no sign */
        assert_int_equal(events, DLPARK__EVENT_OVERFLOW);
        assert_int_equal(code, 0);
        return;
    }
    if (code != expected)
        fail_msg("%s of %a: 0x%llX, expected 0x%llX", dlpark_dtype_name(all->dtype).text, value,
                 (unsigned long long)code, (unsigned long long)expected);
    assert_int_equal((events & DLPARK__EVENT_OVERFLOW) != 0, beyond);
    if (!beyond)
        assert_int_equal((events & DLPARK__EVENT_INEXACT) != 0, all->value[nearest] != fabs(value));
}

#define ORACLE_DTYPES                                                                                                  \
    {                                                                                                                  \
        DLPARK_F16, DLPARK_BF16, DLPARK_F8_E3M4, DLPARK_F8_E4M3, DLPARK_F8_E4M3B11FNUZ, DLPARK_F8_E4M3FN,              \
            DLPARK_F8_E4M3FNUZ, DLPARK_F8_E5M2, DLPARK_F8_E5M2FNUZ, DLPARK_F8_E8M0FNU, DLPARK_F6_E2M3FN,               \
            DLPARK_F6_E3M2FN, DLPARK_F4_E2M1FN                                                                         \
    }

/* Every value, every place midway, and what is next to each of them on either side. */
static void test_around_every_boundary(void **state)
{
    (void)state;
    const DLDataType dtypes[] = ORACLE_DTYPES;

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        oracle *all = oracle_new(dtypes[i]);
        for (int code = 0; code < all->count; code++) {
            double between = all->value[code] / 2 + all->value[code + 1] / 2;
            double near[] = {all->value[code], between};
            for (int k = 0; k < 2; k++) {
                double around[] = {near[k], double_of(bits_of(near[k]) + 1),
                                   double_of(bits_of(near[k]) - (near[k] > 0)), near[k] * (1 + 0x1p-40),
                                   near[k] * (1 - 0x1p-40)};
                for (int j = 0; j < 5; j++) {
                    oracle_check(all, around[j]);
                    oracle_check(all, -around[j]);
                }
            }
        }
        oracle_check(all, 0x1p-1074);
        oracle_check(all, 0x1.fffffffffffffp1023);
        free(all);
    }
}

static void test_anywhere(void **state)
{
    (void)state;
    const DLDataType dtypes[] = ORACLE_DTYPES;
    uint64_t random = 88172645463325252u;

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        oracle *all = oracle_new(dtypes[i]);
        for (int n = 0; n < 200000; n++) {
            /* Half of them within the reach of small formats. */
            uint64_t bits = next_random(&random);
            if (n % 2 == 0)
                bits = (bits & UINT64_C(0x800FFFFFFFFFFFFF)) | (UINT64_C(960) + (bits >> 52) % 128) << 52;
            if (isfinite(double_of(bits)))
                oracle_check(all, double_of(bits));
        }
        free(all);
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
