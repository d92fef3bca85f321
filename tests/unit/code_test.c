#include "test.h"

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "golden_floats.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* ---- Every pair of functions, by its dtype ---- */

typedef struct code_row {
    DLDataType dtype;
    const char *name;
    float (*decode)(uint64_t code);
    uint64_t (*encode)(float value, dlpark_overflow overflow);
    bool is_lone; /* has no modes */
} code_row;

/* `arguments` is what the function is called with. */
#define CODE_FUNCTIONS(name, type, arguments)                                                                          \
    static float decode_##name(uint64_t code)                                                                          \
    {                                                                                                                  \
        return dlpark_##name##_decode((type)code);                                                                     \
    }                                                                                                                  \
    static uint64_t encode_##name(float value, dlpark_overflow overflow)                                               \
    {                                                                                                                  \
        (void)overflow;                                                                                                \
        return dlpark_##name##_encode arguments;                                                                       \
    }

CODE_FUNCTIONS(f16, uint16_t, (value))
CODE_FUNCTIONS(bf16, uint16_t, (value))
CODE_FUNCTIONS(f8_e3m4, uint8_t, (value, overflow))
CODE_FUNCTIONS(f8_e4m3, uint8_t, (value, overflow))
CODE_FUNCTIONS(f8_e4m3b11fnuz, uint8_t, (value, overflow))
CODE_FUNCTIONS(f8_e4m3fn, uint8_t, (value, overflow))
CODE_FUNCTIONS(f8_e4m3fnuz, uint8_t, (value, overflow))
CODE_FUNCTIONS(f8_e5m2, uint8_t, (value, overflow))
CODE_FUNCTIONS(f8_e5m2fnuz, uint8_t, (value, overflow))
CODE_FUNCTIONS(f8_e8m0fnu, uint8_t, (value, overflow))
CODE_FUNCTIONS(f6_e2m3fn, uint8_t, (value))
CODE_FUNCTIONS(f6_e3m2fn, uint8_t, (value))
CODE_FUNCTIONS(f4_e2m1fn, uint8_t, (value))

#define CODE_ROW(code, bits, name, is_lone)                                                                            \
    {                                                                                                                  \
        {code, bits, 1}, #name, decode_##name, encode_##name, is_lone                                                  \
    }

static const code_row rows[] = {
    CODE_ROW(kDLFloat, 16, f16, true),
    CODE_ROW(kDLBfloat, 16, bf16, true),
    CODE_ROW(kDLFloat8_e3m4, 8, f8_e3m4, false),
    CODE_ROW(kDLFloat8_e4m3, 8, f8_e4m3, false),
    CODE_ROW(kDLFloat8_e4m3b11fnuz, 8, f8_e4m3b11fnuz, false),
    CODE_ROW(kDLFloat8_e4m3fn, 8, f8_e4m3fn, false),
    CODE_ROW(kDLFloat8_e4m3fnuz, 8, f8_e4m3fnuz, false),
    CODE_ROW(kDLFloat8_e5m2, 8, f8_e5m2, false),
    CODE_ROW(kDLFloat8_e5m2fnuz, 8, f8_e5m2fnuz, false),
    CODE_ROW(kDLFloat8_e8m0fnu, 8, f8_e8m0fnu, false),
    CODE_ROW(kDLFloat6_e2m3fn, 6, f6_e2m3fn, true),
    CODE_ROW(kDLFloat6_e3m2fn, 6, f6_e3m2fn, true),
    CODE_ROW(kDLFloat4_e2m1fn, 4, f4_e2m1fn, true),
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const dlpark_overflow modes[] = {DLPARK_OVERFLOW_NOSAT, DLPARK_OVERFLOW_SATFINITE, DLPARK_OVERFLOW_SATALL};

static const code_row *row_of(DLDataType dtype)
{
    for (int i = 0; i < ROWS; i++)
        if (dlpark_dtype_equal(rows[i].dtype, dtype))
            return &rows[i];
    return NULL;
}

static uint32_t float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t double_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 32);
}

/* ---- The floating-point unit in another mode ---- */

static void set_mode(int mode)
{
    static const int roundings[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};

    assert_int_equal(fesetround(roundings[mode & 3]), 0);
#if defined(__SSE2__)
    unsigned csr = _mm_getcsr() & ~0x8040u;
    _mm_setcsr(mode & 4 ? csr | 0x8040u : csr); /* flush to zero, denormals are zero */
#endif
}

/* ---- The golden tables ---- */

static void test_every_code_of_the_golden_table(void **state)
{
    (void)state;
    static golden_format formats[GOLDEN_FORMATS];

    golden_read(formats);
    for (int i = 0; i < GOLDEN_FORMATS; i++) {
        const code_row *row = row_of(formats[i].dtype);
        assert_non_null(row);
        for (unsigned code = 0; code < formats[i].count; code++) {
            double expected = formats[i].value[code], general;
            float value = row->decode(code);
            assert_ok(dlpark_code_decode(row->dtype, code, &general, e));
            if (isnan(expected)) {
                assert_true(isnan(value) && isnan(general));
                continue;
            }
            assert_int_equal(double_bits((double)value), double_bits(expected));
            assert_int_equal(double_bits(general), double_bits(expected));
            for (int mode = 0; mode < 3; mode++)
                if (!isinf(expected) || modes[mode] != DLPARK_OVERFLOW_SATALL)
                    assert_int_equal(row->encode(value, modes[mode]), code);
        }
    }
}

static void test_the_golden_table_of_encoding(void **state)
{
    (void)state;
    FILE *file = fopen(DLPARK_CASES "/golden_encode.csv", "r");
    char line[256], name[32];
    int single = 0, all = 0;

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (; fgets(line, sizeof line, file) != NULL; all++) {
        char *at = strchr(line, ',') + 1;
        unsigned codes[3];
        DLDataType dtype;
        uint64_t bits = strtoull(at, &at, 16);
        double value;
        memcpy(&value, &bits, sizeof value);
        at = strchr(at + 1, ',') + 1; /* behind the value */
        bool is_single = *at != ',';
        at = strchr(at, ',') + 1;
        assert_int_equal(sscanf(at, "0x%x,0x%x,0x%x", &codes[0], &codes[1], &codes[2]), 3);
        assert_int_equal(sscanf(line, "%31[^,]", name), 1);
        assert_ok(dlpark_dtype_parse(name, &dtype, e));
        const code_row *row = row_of(dtype);
        assert_non_null(row);
        for (int mode = 0; mode < 3; mode++) {
            uint64_t code;
            assert_ok(dlpark_code_encode(dtype, value, modes[mode], &code, e));
            assert_int_equal(code, codes[mode]);
            if (is_single && (!row->is_lone || mode == 0)) {
                assert_int_equal(row->encode((float)value, modes[mode]), codes[mode]);
                single++;
            }
        }
    }
    fclose(file);
    assert_int_equal(all, 240);
    assert_true(single > 300);
}

/* ---- The cast, which shares no code with the inline functions ---- */

static dlpark_view view_as(void *data, DLDataType dtype, int64_t count)
{
    DLTensor tensor = {.data = data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = dtype, .shape = &count};
    dlpark_view view;

    assert_ok(dlpark_check(&tensor, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, &view, e));
    view.flags = dtype.bits < 8 ? DLPARK_VIEW_PADDED : 0; /* of our own: to be written */
    return view;
}

static uint64_t code_at(const void *codes, DLDataType dtype, size_t i)
{
    return dtype.bits == 16 ? ((const uint16_t *)codes)[i] : ((const uint8_t *)codes)[i];
}

static void test_all_codes_are_what_the_cast_makes_of_them(void **state)
{
    (void)state;
    static uint16_t codes[65536];
    static float expected[65536];

    for (int i = 0; i < ROWS; i++) {
        DLDataType dtype = rows[i].dtype;
        size_t count = (size_t)1 << dtype.bits;
        for (size_t code = 0; code < count; code++) {
            if (dtype.bits == 16)
                codes[code] = (uint16_t)code;
            else
                ((uint8_t *)codes)[code] = (uint8_t)code;
        }
        dlpark_view from = view_as(codes, dtype, (int64_t)count), to = view_as(expected, DLPARK_F32, (int64_t)count);
        assert_ok(dlpark_cast(&to, &from, NULL, e));
        for (int mode = 0; mode < 8; mode++) {
            set_mode(mode);
            for (size_t code = 0; code < count; code++) {
                uint32_t bits = float_bits(rows[i].decode(code));
                if (bits != float_bits(expected[code])) {
                    set_mode(0);
                    fail_msg("%s 0x%zX in mode %d: 0x%08X, expected 0x%08X", rows[i].name, code, mode, bits,
                             float_bits(expected[code]));
                }
            }
            set_mode(0);
        }
    }
}

enum { FLOATS = 1 << 16 };

/* What is hard for every format: both sides of each place between two codes, the ends, and numbers from everywhere. */
static void make_floats(float values[FLOATS])
{
    static const uint32_t special[] = {0,          1,          0x7FFFFF,   0x800000,   0x1FFFFF,
                                       0x200000,   0x200001,   0x5FFFFF,   0x600000,   0x600001,
                                       0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF,
                                       0x7F800100, 0x7F400000, 0x7F3FFFFF, 0x43E80000, 0x43E80001};
    uint64_t random = 7;
    int at = 0;

    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        values[at++] = float_of(special[i]);
        values[at++] = float_of(special[i] | UINT32_C(0x80000000));
    }
    for (int row = 1; row < ROWS; row++) { /* bfloat16 and below: halfway between each code and the next */
        unsigned half = 1u << (rows[row].dtype.bits - 1), step = rows[row].dtype.bits == 16 ? 13 : 1;
        for (unsigned code = 0; code + 1 < half; code += step) {
            float middle = (rows[row].decode(code) + rows[row].decode(code + 1)) / 2;
            for (int32_t off = -1; off <= 1 && isfinite(middle) && at + 2 < FLOATS; off++) {
                values[at++] = float_of(float_bits(middle) + (uint32_t)off);
                values[at] = -values[at - 1];
                at++;
            }
        }
    }
    assert_true(at > 10000 && at < FLOATS / 2);
    for (; at < FLOATS; at++) /* every fourth one where halves and less are */
        values[at] = float_of(at % 4 ? next_random(&random)
                                     : (next_random(&random) & UINT32_C(0x8FFFFFFF)) + UINT32_C(0x33000000));
}

static void test_floats_become_what_the_cast_makes_of_them(void **state)
{
    (void)state;
    static float values[FLOATS];
    static uint16_t codes[FLOATS];

    make_floats(values);
    for (int i = 0; i < ROWS; i++) {
        for (int m = 0; m < (rows[i].is_lone ? 1 : 3); m++) {
            dlpark_view from = view_as(values, DLPARK_F32, FLOATS), to = view_as(codes, rows[i].dtype, FLOATS);
            dlpark_cast_options options = {.overflow = modes[m]};
            assert_ok(dlpark_cast(&to, &from, &options, e));
            for (int mode = 0; mode < 8; mode++) {
                set_mode(mode);
                for (size_t at = 0; at < FLOATS; at++) {
                    uint64_t code = rows[i].encode(values[at], modes[m]);
                    if (code != code_at(codes, rows[i].dtype, at)) {
                        set_mode(0);
                        fail_msg("%s of 0x%08X in mode %d: 0x%X, expected 0x%X", rows[i].name, float_bits(values[at]),
                                 mode, (unsigned)code, (unsigned)code_at(codes, rows[i].dtype, at));
                    }
                }
                set_mode(0);
            }
        }
    }
}

static void test_no_flag_is_raised(void **state)
{
    (void)state;
    static float values[FLOATS];
    volatile float sum = 0;
    volatile uint64_t all = 0;

    make_floats(values);
    feclearexcept(FE_ALL_EXCEPT);
    for (int i = 0; i < ROWS; i++) {
        for (size_t at = 0; at < 40; at++) {
            uint32_t bits;
            memcpy(&bits, &values[at], sizeof bits);
            if ((bits & UINT32_C(0x7FC00000)) != UINT32_C(0x7F800000) || (bits & UINT32_C(0x3FFFFF)) == 0)
                all ^= rows[i].encode(values[at], DLPARK_OVERFLOW_NOSAT); /* an x87 signals when it loads such a NaN */
        }
        for (uint64_t code = 0; code < (UINT64_C(1) << rows[i].dtype.bits); code++) {
            float value = rows[i].decode(code);
            all ^= float_bits(value);
        }
    }
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    sum += 1;
    assert_true(all != 1 && sum > 0);
}

/* Modes that mean nothing to floats are the default; bits above a code are no part of it. */
static void test_odd_arguments(void **state)
{
    (void)state;
    assert_int_equal(dlpark_f8_e4m3fn_encode(500, DLPARK_OVERFLOW_DEFAULT), 0x7F);
    assert_int_equal(dlpark_f8_e4m3fn_encode(500, DLPARK_OVERFLOW_WRAP), 0x7F);
    assert_int_equal(dlpark_f8_e4m3fn_encode(500, DLPARK_OVERFLOW_REFUSE), 0x7F);
    assert_int_equal(dlpark_f8_e4m3fn_encode(-500, DLPARK_OVERFLOW_SATFINITE), 0xFE);
    assert_int_equal(float_bits(dlpark_f6_e2m3fn_decode(0xDF)), float_bits(dlpark_f6_e2m3fn_decode(0x1F)));
    assert_int_equal(float_bits(dlpark_f4_e2m1fn_decode(0xF3)), float_bits(1.5f));
    assert_int_equal(float_bits(dlpark_f4_e2m1fn_decode(0xFB)), float_bits(-1.5f));
}

/* ---- By dtype ---- */

static double decoded(DLDataType dtype, uint64_t code)
{
    double value = 0;

    assert_ok(dlpark_code_decode(dtype, code, &value, e));
    return value;
}

static uint64_t encoded(DLDataType dtype, double value, dlpark_overflow overflow)
{
    uint64_t code = 0;

    assert_ok(dlpark_code_encode(dtype, value, overflow, &code, e));
    return code;
}

static void test_any_dtype_is_decoded(void **state)
{
    (void)state;
    assert_int_equal(double_bits(decoded(DLPARK_F64, UINT64_C(0x7FF0000000000001))), UINT64_C(0x7FF0000000000001));
    assert_true(decoded(DLPARK_F32, 0x3FC00000) == 1.5);
    assert_true(decoded(DLPARK_I8, 0xABFF) == -1);
    assert_true(decoded(DLPARK_I4, 0xF8) == -8);
    assert_true(decoded(DLPARK_DTYPE(kDLInt, 1, 1), 1) == -1);
    assert_true(decoded(DLPARK_U4, 0xF8) == 8);
    assert_true(decoded(DLPARK_BOOL, 0x20) == 1);
    assert_true(decoded(DLPARK_BOOL, 0x100) == 0);
    assert_true(decoded(DLPARK_I64, UINT64_C(1) << 63) == -9223372036854775808.0);
    for (int mode = 0; mode < 8; mode++) {
        set_mode(mode);
        double value = decoded(DLPARK_U64, UINT64_MAX), tie = decoded(DLPARK_I64, (UINT64_C(1) << 53) + 1);
        set_mode(0);
        assert_true(value == 18446744073709551616.0);
        assert_true(tie == 9007199254740992.0);
    }
}

static void test_a_double_is_encoded_as_the_cast_does(void **state)
{
    (void)state;
    static const DLDataType others[] = {{kDLInt, 8, 1},    {kDLInt, 4, 1},   {kDLInt, 1, 1},   {kDLUInt, 2, 1},
                                        {kDLInt, 64, 1},   {kDLUInt, 64, 1}, {kDLUInt, 32, 1}, {kDLBool, 8, 1},
                                        {kDLFloat, 32, 1}, {kDLFloat, 64, 1}};
    static const double values[] = {0.0,
                                    -0.0,
                                    0.5,
                                    -0.9,
                                    1,
                                    -1,
                                    7.9,
                                    127.5,
                                    -128.9,
                                    255,
                                    256,
                                    1e10,
                                    1e19,
                                    2e19,
                                    1e300,
                                    -1e300,
                                    (double)INFINITY,
                                    -(double)INFINITY,
                                    1.0 + 1.0 / 4294967296.0,
                                    1e-310};
    enum { VALUES = sizeof values / sizeof values[0], OTHERS = sizeof others / sizeof others[0] };

    for (int d = 0; d < OTHERS + ROWS; d++) {
        DLDataType dtype = d < OTHERS ? others[d] : rows[d - OTHERS].dtype;
        for (int v = 0; v <= VALUES; v++) {
            double value = v < VALUES ? values[v] : (double)NAN;
            for (dlpark_overflow mode = DLPARK_OVERFLOW_DEFAULT; mode <= DLPARK_OVERFLOW_REFUSE; mode++) {
                uint64_t expected = 0, code = 0;
                dlpark_view from = view_as(&value, DLPARK_F64, 1), to = view_as(&expected, dtype, 1);
                dlpark_cast_options options = {.overflow = mode};
                dlpark_status status = dlpark_cast(&to, &from, &options, NULL);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
                expected >>= 64 - (dtype.bits < 8 ? 8 : dtype.bits);
#endif
                assert_int_equal(dlpark_code_encode(dtype, value, mode, &code, NULL), status);
                if (status == DLPARK_OK)
                    assert_int_equal(code, expected);
            }
        }
    }
}

static void test_what_cannot_be_encoded_is_refused(void **state)
{
    (void)state;
    uint64_t code = 77;
    double value = 77;

    assert_fails(DLPARK_E_DTYPE, "c64 is not one number", dlpark_code_decode(DLPARK_C64, 0, &value, e));
    assert_fails(DLPARK_E_DTYPE, "f128 is not", dlpark_code_decode(DLPARK_DTYPE(kDLFloat, 128, 1), 0, &value, e));
    assert_fails(DLPARK_E_DTYPE, "opaque64 is not",
                 dlpark_code_encode(DLPARK_DTYPE(kDLOpaqueHandle, 64, 1), 1, DLPARK_OVERFLOW_DEFAULT, &code, e));
    assert_fails(DLPARK_E_DTYPE, "dtype code 99",
                 dlpark_code_encode(DLPARK_DTYPE(99, 8, 1), 1, DLPARK_OVERFLOW_DEFAULT, &code, e));
    assert_fails(DLPARK_E_ARGUMENT, "overflow is 9", dlpark_code_encode(DLPARK_F16, 1, (dlpark_overflow)9, &code, e));
    assert_fails(DLPARK_E_ARGUMENT, "no meaning for f16",
                 dlpark_code_encode(DLPARK_F16, 1, DLPARK_OVERFLOW_WRAP, &code, e));
    assert_fails(DLPARK_E_VALUE, "the value is 65520, which f16 does not hold",
                 dlpark_code_encode(DLPARK_F16, 65520, DLPARK_OVERFLOW_REFUSE, &code, e));
    assert_fails(DLPARK_E_VALUE, "the value is inf, which f8_e4m3fn does not hold",
                 dlpark_code_encode(DLPARK_F8_E4M3FN, (double)INFINITY, DLPARK_OVERFLOW_REFUSE, &code, e));
    assert_int_equal(code, 77);
    assert_true(value == 77);
    assert_int_equal(encoded(DLPARK_F8_E5M2, (double)INFINITY, DLPARK_OVERFLOW_REFUSE), 0x7C);
    assert_int_equal(encoded(DLPARK_DTYPE(kDLFloat, 16, 4), 1, DLPARK_OVERFLOW_REFUSE), 0x3C00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_of_the_golden_table),
        cmocka_unit_test(test_the_golden_table_of_encoding),
        cmocka_unit_test(test_all_codes_are_what_the_cast_makes_of_them),
        cmocka_unit_test(test_floats_become_what_the_cast_makes_of_them),
        cmocka_unit_test(test_no_flag_is_raised),
        cmocka_unit_test(test_odd_arguments),
        cmocka_unit_test(test_any_dtype_is_decoded),
        cmocka_unit_test(test_a_double_is_encoded_as_the_cast_does),
        cmocka_unit_test(test_what_cannot_be_encoded_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
