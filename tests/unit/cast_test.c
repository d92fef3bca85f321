#include "test.h"

#include <math.h>
#include <stdbool.h>

#include "failing_alloc.h"

/* A view of an array of the test's. */
static dlpark_view view_as(void *data, DLDataType dtype, int32_t ndim, const int64_t *shape, const int64_t *strides,
                           uint64_t flags)
{
    dlpark_view view;
    DLTensor tensor = {.data = data,
                       .device = {kDLCPU, 0},
                       .ndim = ndim,
                       .dtype = dtype,
                       .shape = (int64_t *)(uintptr_t)shape,
                       .strides = (int64_t *)(uintptr_t)strides};

    assert_ok(dlpark_check(&tensor, flags, &view, e));
    if ((flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0)
        assert_ok(dlpark_view_allow_write(&view, e)); /* it is the test's own memory */
    return view;
}

static dlpark_view row(void *data, DLDataType dtype, int64_t count)
{
    return view_as(data, dtype, 1, &count, NULL, 0);
}

/* ---- What it does ---- */

static void test_floats_become_halves(void **state)
{
    (void)state;
    float in[] = {1.0f, -2.5f, 65504.0f, 65520.0f, 1e-8f, -0.0f};
    const uint16_t expected[] = {0x3C00, 0xC100, 0x7BFF, 0x7C00, 0x0000, 0x8000};
    uint16_t out[6];
    dlpark_view from = row(in, DLPARK_F32, 6), to = row(out, DLPARK_F16, 6);

    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(out, expected, sizeof out);
}

static void test_the_default_of_each_kind(void **state)
{
    (void)state;
    double floats[] = {300.7, -1.0, NAN, -INFINITY};
    int32_t integers[] = {300, -1, 0, 256};
    uint8_t bytes[4];
    dlpark_view to = row(bytes, DLPARK_U8, 4), from = row(floats, DLPARK_F64, 4);

    assert_ok(dlpark_cast(&to, &from, NULL, e)); /* saturated */
    assert_memory_equal(bytes, ((uint8_t[]){255, 0, 0, 0}), 4);
    from = row(integers, DLPARK_I32, 4);
    assert_ok(dlpark_cast(&to, &from, NULL, e)); /* wrapped */
    assert_memory_equal(bytes, ((uint8_t[]){44, 255, 0, 0}), 4);
    dlpark_cast_options options = {.overflow = DLPARK_OVERFLOW_SATURATE};
    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(bytes, ((uint8_t[]){255, 0, 0, 255}), 4);
}

static void test_modes_of_floats(void **state)
{
    (void)state;
    double in[] = {1000.0, -1000.0, INFINITY};
    uint8_t out[3];
    dlpark_view from = row(in, DLPARK_F64, 3), to = row(out, DLPARK_F8_E4M3FN, 3);
    dlpark_cast_options options = {.overflow = DLPARK_OVERFLOW_NOSAT};

    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(out, ((uint8_t[]){0x7F, 0xFF, 0x7F}), 3);
    options.overflow = DLPARK_OVERFLOW_SATFINITE;
    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(out, ((uint8_t[]){0x7E, 0xFE, 0x7F}), 3);
    options.overflow = DLPARK_OVERFLOW_SATALL;
    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(out, ((uint8_t[]){0x7E, 0xFE, 0x7E}), 3);
}

/* Rounded down, what is beyond all powers is no power all the same. */
static void test_scales_end(void **state)
{
    (void)state;
    double in[] = {0x1.8p127, 0x1.fffffffffffffp127, 0x1p128, 0x1.8p500};
    uint8_t out[4];
    dlpark_view from = row(in, DLPARK_F64, 4), to = row(out, DLPARK_F8_E8M0FNU, 4);
    dlpark_cast_options options = {.scale = DLPARK_SCALE_DOWN};

    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(out, ((uint8_t[]){0xFE, 0xFE, 0xFF, 0xFF}), 4);
    options.overflow = DLPARK_OVERFLOW_SATFINITE;
    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(out, ((uint8_t[]){0xFE, 0xFE, 0xFE, 0xFE}), 4);
}

static void test_bools_are_0_and_1(void **state)
{
    (void)state;
    uint8_t stored[] = {0, 1, 2, 255}, bools[4];
    float floats[4], in[] = {0.0f, -0.0f, NAN, 1e-45f};
    dlpark_view from = row(stored, DLPARK_BOOL, 4), to = row(floats, DLPARK_F32, 4);

    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(floats, ((float[]){0, 1, 1, 1}), sizeof floats);
    from = row(in, DLPARK_F32, 4);
    to = row(bools, DLPARK_BOOL, 4);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(bools, ((uint8_t[]){0, 0, 1, 1}), 4);
}

static void test_complex_numbers(void **state)
{
    (void)state;
    float pairs[] = {1.5f, 2.0f, 0.0f, -3.0f}, reals[2];
    double wide[4];
    uint8_t bools[2];
    dlpark_view from = row(pairs, DLPARK_C64, 2), to = row(wide, DLPARK_C128, 2);

    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(wide, ((double[]){1.5, 2, 0, -3}), sizeof wide);
    to = row(bools, DLPARK_BOOL, 2);
    assert_ok(dlpark_cast(&to, &from, NULL, e)); /* 0 - 3j is not 0 */
    assert_memory_equal(bools, ((uint8_t[]){1, 1}), 2);
    to = row(reals, DLPARK_F32, 2);
    assert_fails(DLPARK_E_DTYPE, "cannot cast c64 to f32: the imaginary part would be lost",
                 dlpark_cast(&to, &from, NULL, e));
    dlpark_cast_options options = {.real_part = true};
    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(reals, ((float[]){1.5f, 0}), sizeof reals);
    from = row(reals, DLPARK_F32, 2);
    to = row(wide, DLPARK_C128, 2);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(wide, ((double[]){1.5, 0, 0, 0}), sizeof wide);
}

static void test_equal_dtypes_keep_their_bits(void **state)
{
    (void)state;
    uint32_t in[] = {0x7F800001, 0xFFC12345, 0x00000001}, out[3]; /* a NaN that signals among them */
    dlpark_view from = row(in, DLPARK_F32, 3), to = row(out, DLPARK_F32, 3);
    dlpark_cast_counts counts = {9, 9, 9};
    dlpark_cast_options options = {.counts = &counts, .overflow = DLPARK_OVERFLOW_SATALL};

    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(out, in, sizeof in);
    assert_memory_equal(&counts, &((dlpark_cast_counts){0, 0, 2}), sizeof counts);
}

/* ---- Shapes, strides, packing ---- */

static void test_any_strides(void **state)
{
    (void)state;
    int16_t in[] = {1, 2, 3, 4, 5, 6};
    float out[12];
    const int64_t shape[] = {3, 2}, across[] = {1, 3}, apart[] = {-4, 2};
    dlpark_view from = view_as(in, DLPARK_I16, 2, shape, across, 0); /* transposed */
    dlpark_view to = view_as(out + 8, DLPARK_F32, 2, shape, apart, 0);

    for (int i = 0; i < 12; i++)
        out[i] = -1;
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(out, ((float[]){3, -1, 6, -1, 2, -1, 5, -1, 1, -1, 4, -1}), sizeof out);

    const int64_t repeated[] = {0, 1}, wide[] = {4, 2};
    from = view_as(in, DLPARK_I16, 2, shape, repeated, 0);
    to = view_as(out, DLPARK_F32, 2, shape, wide, 0);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(out, ((float[]){1, -1, 2, -1, 1, -1, 2, -1, 1, -1, 2, -1}), sizeof out);
}

/* Channels last: runs of three elements, of which one tile takes many. */
static void test_many_short_runs(void **state)
{
    (void)state;
    enum { ROWS = 700 };
    static uint8_t in[ROWS * 4];
    static float out[ROWS * 3];
    const int64_t shape[] = {ROWS, 3}, strides[] = {4, 1};

    for (int i = 0; i < ROWS * 4; i++)
        in[i] = (uint8_t)(i * 7);
    dlpark_view from = view_as(in, DLPARK_U8, 2, shape, strides, 0), to = view_as(out, DLPARK_F32, 2, shape, NULL, 0);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < 3; c++)
            assert_true(out[i * 3 + c] == in[i * 4 + c]);
}

static void test_packed_neighbours_stay(void **state)
{
    (void)state;
    uint8_t in[] = {1, 2, 3}, out[] = {0xFF, 0xFF, 0xFF};
    const int64_t shape = 6;
    dlpark_view from = row(in, DLPARK_U8, 3), to = view_as(out, DLPARK_F4_E2M1FN, 1, &shape, NULL, 0);

    assert_ok(dlpark_view_slice(&to, 0, 1, 4, 1, e)); /* begins in the middle of a byte */
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(out, ((uint8_t[]){0x2F, 0x54, 0xFF}), 3); /* 1, 2, 3 are 2, 4, 5 */

    float back[3];
    dlpark_view floats = row(back, DLPARK_F32, 3);
    assert_ok(dlpark_cast(&floats, &to, NULL, e));
    assert_memory_equal(back, ((float[]){1, 2, 3}), sizeof back);
}

static void test_padded_elements_have_clean_bytes(void **state)
{
    (void)state;
    int32_t in[] = {-3, 7, 9};
    uint8_t out[] = {0xFF, 0xFF, 0xFF};
    const int64_t shape = 3;
    dlpark_view from = row(in, DLPARK_I32, 3);
    dlpark_view to = view_as(out, DLPARK_I4, 1, &shape, NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(out, ((uint8_t[]){0x0D, 0x07, 0x09}), 3);
    out[0] |= 0xA0; /* what others leave there is not read */
    int8_t back[3];
    dlpark_view bytes = row(back, DLPARK_I8, 3);
    assert_ok(dlpark_cast(&bytes, &to, NULL, e));
    assert_memory_equal(back, ((int8_t[]){-3, 7, -7}), 3);
}

static void test_lanes_side_by_side(void **state)
{
    (void)state;
    float in[] = {1, 2, 3, 4, 5, 6};
    uint8_t out[] = {0xFF, 0xFF, 0xFF, 0xFF};
    const int64_t shape = 2;
    dlpark_view from = view_as(in, DLPARK_DTYPE(kDLFloat, 32, 3), 1, &shape, NULL, 0);
    dlpark_view to =
        view_as(out, DLPARK_DTYPE(kDLUInt, 4, 3), 1, &shape, NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

    assert_ok(dlpark_cast(&to, &from, NULL, e)); /* 12 bits in 16, the rest of which is zero */
    assert_memory_equal(out, ((uint8_t[]){0x21, 0x03, 0x54, 0x06}), 4);
    to = view_as(out, DLPARK_DTYPE(kDLUInt, 8, 2), 1, &shape, NULL, 0);
    assert_fails(DLPARK_E_DTYPE, "cannot cast f32x3 to u8x2: elements have 3 and 2 lanes",
                 dlpark_cast(&to, &from, NULL, e));
}

/* Integers of as many bits, wrapped, are moved; what is no lane is zero all the same. */
static void test_integers_that_keep_their_bits(void **state)
{
    (void)state;
    int8_t in[] = {-1, 0, 1, -128};
    uint8_t out[4], halves[] = {0x4F, 0xF3, 0x21, 0xF8};
    const int64_t shape = 2;
    dlpark_view from = row(in, DLPARK_I8, 4), to = row(out, DLPARK_U8, 4);

    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(out, ((uint8_t[]){255, 0, 1, 128}), 4);
    to = row(in, DLPARK_U8, 4); /* in place */
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(in, out, 4);
    from = row(halves, DLPARK_I4, 4);
    int64_t four = 4;
    to = view_as(out, DLPARK_U4, 1, &four, NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(out, ((uint8_t[]){0xF, 0x4, 0x3, 0xF}), 4);
    from = view_as(halves, DLPARK_DTYPE(kDLInt, 4, 3), 1, &shape, NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
    to = view_as(out, DLPARK_DTYPE(kDLUInt, 4, 3), 1, &shape, NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(out, ((uint8_t[]){0x4F, 0x03, 0x21, 0x08}), 4);
}

static void test_more_lanes_than_anybody_has(void **state)
{
    (void)state;
    enum { LANES = 1001 };
    static uint8_t in[LANES], out[(4 * LANES + 7) / 8];
    dlpark_view from = view_as(in, DLPARK_DTYPE(kDLUInt, 8, LANES), 0, NULL, NULL, 0);
    dlpark_view to =
        view_as(out, DLPARK_DTYPE(kDLUInt, 4, LANES), 0, NULL, NULL, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);

    memset(in, 0x7, sizeof in);
    memset(out, 0xFF, sizeof out);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_int_equal(out[0], 0x77);
    assert_int_equal(out[sizeof out - 1], 0x07);
}

static void test_nothing_and_one(void **state)
{
    (void)state;
    double in = 2.5;
    float out = 0;
    const int64_t none[] = {3, 0};
    dlpark_view from = view_as(&in, DLPARK_F64, 0, NULL, NULL, 0), to = view_as(&out, DLPARK_F32, 0, NULL, NULL, 0);
    dlpark_cast_counts counts = {9, 9, 9};
    dlpark_cast_options options = {.counts = &counts};

    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_true(out == 2.5f);
    from = view_as(NULL, DLPARK_F64, 2, none, NULL, 0);
    to = view_as(NULL, DLPARK_F32, 2, none, NULL, 0);
    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(&counts, &((dlpark_cast_counts){0, 0, 0}), sizeof counts);
}

/* ---- What it refuses ---- */

static void test_values_are_refused_before_anything_is_written(void **state)
{
    (void)state;
    double in[] = {1, 2, 3, 4, 300.5, -1};
    uint8_t out[6] = {7, 7, 7, 7, 7, 7};
    const int64_t shape[] = {2, 3};
    dlpark_view from = view_as(in, DLPARK_F64, 2, shape, NULL, 0), to = view_as(out, DLPARK_U8, 2, shape, NULL, 0);
    dlpark_cast_options options = {.overflow = DLPARK_OVERFLOW_REFUSE};

    assert_fails(DLPARK_E_VALUE, "element [1, 1] is 300.5, which u8 does not hold",
                 dlpark_cast(&to, &from, &options, e));
    in[4] = 5;
    in[2] = NAN;
    assert_fails(DLPARK_E_VALUE, "element [0, 2] is nan", dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(out, ((uint8_t[]){7, 7, 7, 7, 7, 7}), 6);
    in[2] = 3.9;
    in[5] = 6;
    assert_ok(dlpark_cast(&to, &from, &options, e)); /* truncation is no overflow */
    assert_memory_equal(out, ((uint8_t[]){1, 2, 3, 4, 5, 6}), 6);

    in[0] = INFINITY;
    uint16_t halves[6];
    to = view_as(halves, DLPARK_F16, 2, shape, NULL, 0);
    assert_ok(dlpark_cast(&to, &from, &options, e)); /* an infinity stays one */
    assert_int_equal(halves[0], 0x7C00);
    in[0] = 1e6;
    assert_fails(DLPARK_E_VALUE, "element [0, 0] is 1000000, which f16 does not hold",
                 dlpark_cast(&to, &from, &options, e));

    /* Where there is no infinity, or no NaN, that is what does not fit. */
    static const DLDataType without[] = {{kDLFloat8_e4m3fn, 8, 1},   {kDLFloat8_e4m3fnuz, 8, 1},
                                         {kDLFloat8_e5m2fnuz, 8, 1}, {kDLFloat8_e4m3b11fnuz, 8, 1},
                                         {kDLFloat8_e8m0fnu, 8, 1},  {kDLFloat6_e2m3fn, 6, 1},
                                         {kDLFloat6_e3m2fn, 6, 1},   {kDLFloat4_e2m1fn, 4, 1}};
    in[0] = 1;
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        to = view_as(halves, without[i], 2, shape, NULL, 0);
        assert_ok(dlpark_cast(&to, &from, &options, e));
        in[4] = -(double)INFINITY;
        assert_fails(DLPARK_E_VALUE, "element [1, 1] is -inf, which f", dlpark_cast(&to, &from, &options, e));
        in[4] = (double)NAN;
        if (without[i].bits == 8)
            assert_ok(dlpark_cast(&to, &from, &options, e));
        else
            assert_fails(DLPARK_E_VALUE, "is nan, which f", dlpark_cast(&to, &from, &options, e));
        in[4] = 5;
    }

    float pairs[] = {1, 2, 3, 1e9f};
    const int64_t two = 2;
    from = view_as(pairs, DLPARK_C64, 1, &two, NULL, 0);
    to = view_as(halves, DLPARK_DTYPE(kDLComplex, 32, 1), 1, &two, NULL, 0);
    assert_fails(DLPARK_E_VALUE, "element [1] is 3+1e+09j", dlpark_cast(&to, &from, &options, e));
    int64_t integers[] = {-5, 0};
    from = row(integers, DLPARK_I64, 2);
    to = row(out, DLPARK_U8, 2);
    assert_fails(DLPARK_E_VALUE, "element [0] is -5, which u8 does not hold", dlpark_cast(&to, &from, &options, e));
    uint64_t large[] = {1, UINT64_MAX};
    from = row(large, DLPARK_U64, 2);
    assert_fails(DLPARK_E_VALUE, "element [1] is 18446744073709551615", dlpark_cast(&to, &from, &options, e));
}

static void test_counts(void **state)
{
    (void)state;
    float in[] = {1.0f, 1.0001f, 1e6f, NAN, INFINITY, 0.1f};
    uint16_t out[6];
    dlpark_view from = row(in, DLPARK_F32, 6), to = row(out, DLPARK_F16, 6);
    dlpark_cast_counts counts;
    dlpark_cast_options options = {.counts = &counts};

    assert_ok(dlpark_cast(&to, &from, &options, e));
    assert_memory_equal(&counts, &((dlpark_cast_counts){1, 2, 1}), sizeof counts);
    int16_t integers[6];
    to = row(integers, DLPARK_I16, 6);
    assert_ok(dlpark_cast(&to, &from, &options, e)); /* there infinity is one too many */
    assert_memory_equal(&counts, &((dlpark_cast_counts){2, 2, 1}), sizeof counts);
}

static void test_options_without_a_meaning(void **state)
{
    (void)state;
    double in[1] = {1};
    uint8_t out[8];
    dlpark_view from = row(in, DLPARK_F64, 1), to = row(out, DLPARK_U8, 1);
    dlpark_cast_options options = {.overflow = DLPARK_OVERFLOW_SATALL};

    assert_fails(DLPARK_E_ARGUMENT, "overflow is SATALL, which has no meaning for u8",
                 dlpark_cast(&to, &from, &options, e));
    options.overflow = (dlpark_overflow)7;
    assert_fails(DLPARK_E_ARGUMENT, "overflow is 7, which is no mode", dlpark_cast(&to, &from, &options, e));
    options.overflow = DLPARK_OVERFLOW_WRAP;
    to = row(out, DLPARK_F16, 1);
    assert_fails(DLPARK_E_ARGUMENT, "overflow is WRAP, which has no meaning for f16",
                 dlpark_cast(&to, &from, &options, e));
    to = row(out, DLPARK_BOOL, 1); /* where nothing overflows any mode will do */
    assert_ok(dlpark_cast(&to, &from, &options, e));
    options = (dlpark_cast_options){.scale = (dlpark_scale_rounding)3};
    assert_fails(DLPARK_E_ARGUMENT, "scale is 3", dlpark_cast(&to, &from, &options, e));
}

static void test_views_that_do_not_fit(void **state)
{
    (void)state;
    double in[6] = {0};
    float out[6] = {0};
    const int64_t shape[] = {2, 3}, other[] = {2, 2}, strides[] = {0, 1};
    dlpark_view from = view_as(in, DLPARK_F64, 2, shape, NULL, 0), to = row(out, DLPARK_F32, 6);

    assert_fails(DLPARK_E_RANK, "cannot cast shape [2, 3] to shape [6]", dlpark_cast(&to, &from, NULL, e));
    to = view_as(out, DLPARK_F32, 2, other, NULL, 0);
    assert_fails(DLPARK_E_SHAPE, "shape[1] is 3 in the source and 2 in the destination",
                 dlpark_cast(&to, &from, NULL, e));
    to = view_as(out, DLPARK_F32, 2, shape, strides, 0);
    assert_fails(DLPARK_E_STRIDES, "strides[0] of the destination is 0", dlpark_cast(&to, &from, NULL, e));
    to = view_as(out, DLPARK_F32, 2, shape, NULL, DLPACK_FLAG_BITMASK_READ_ONLY);
    assert_fails(DLPARK_E_READ_ONLY, "", dlpark_cast(&to, &from, NULL, e));
    to = view_as(out, DLPARK_DTYPE(kDLOpaqueHandle, 64, 1), 1, shape, NULL, 0);
    from = view_as(in, DLPARK_F64, 1, shape, NULL, 0);
    assert_fails(DLPARK_E_DTYPE, "the destination has dtype", dlpark_cast(&to, &from, NULL, e));
    to = view_as(out, DLPARK_F32, 1, shape, NULL, 0);
    from = view_as(in, DLPARK_DTYPE(kDLFloat, 128, 1), 1, shape, NULL, 0);
    assert_fails(DLPARK_E_DTYPE, "the source has dtype f128, which is not cast", dlpark_cast(&to, &from, NULL, e));
}

static void test_other_devices(void **state)
{
    (void)state;
    double in[2] = {0};
    float out[2];
    dlpark_view from = row(in, DLPARK_F64, 2), to = row(out, DLPARK_F32, 2);

    from.device.device_type = kDLCUDA;
    assert_fails(DLPARK_E_DEVICE, "cuda", dlpark_cast(&to, &from, NULL, e));
    from.device.device_type = kDLCPU;
    to.device.device_type = kDLCUDA;
    assert_fails(DLPARK_E_DEVICE, "cuda", dlpark_cast(&to, &from, NULL, e));
}

/* ---- In place ---- */

static void test_narrowing_in_place(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static double memory[COUNT];
    dlpark_view from = row(memory, DLPARK_F64, COUNT), to = row(memory, DLPARK_I16, COUNT);

    for (int i = 0; i < COUNT; i++)
        memory[i] = i;
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    for (int16_t i = 0; i < COUNT; i++)
        assert_int_equal(((int16_t *)(void *)memory)[i], i);
}

static void test_same_slots_in_place(void **state)
{
    (void)state;
    float memory[] = {1, 2, 3, 4};
    const int64_t shape[] = {2, 2};
    dlpark_view from = view_as(memory, DLPARK_F32, 2, shape, NULL, 0),
                to = view_as(memory, DLPARK_I32, 2, shape, NULL, 0);

    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(memory, ((int32_t[]){1, 2, 3, 4}), sizeof memory);
}

static void test_other_overlap_is_refused(void **state)
{
    (void)state;
    double memory[8] = {0};
    dlpark_view from = row(memory, DLPARK_F32, 8), to = row(memory, DLPARK_F64, 8);

    assert_fails(DLPARK_E_ARGUMENT, "the destination overlaps the source, and f32 cannot be cast to f64 in place",
                 dlpark_cast(&to, &from, NULL, e));
    from = row(memory, DLPARK_F64, 4);
    to = row((char *)memory + 4, DLPARK_F32, 4); /* begins elsewhere */
    assert_fails(DLPARK_E_ARGUMENT, "overlaps", dlpark_cast(&to, &from, NULL, e));
    const int64_t shape[] = {2, 2}, across[] = {1, 2};
    from = view_as(memory, DLPARK_F64, 2, shape, NULL, 0);
    to = view_as(memory, DLPARK_F32, 2, shape, across, 0); /* another order */
    assert_fails(DLPARK_E_ARGUMENT, "overlaps", dlpark_cast(&to, &from, NULL, e));
    to = view_as(memory + 4, DLPARK_F32, 2, shape, across, 0); /* side by side is apart */
    assert_ok(dlpark_cast(&to, &from, NULL, e));
}

/* Between equal dtypes it is a copy, which may overlap as it likes, and then needs memory. */
static void test_equal_dtypes_overlap(void **state)
{
    (void)state;
    float memory[] = {1, 2, 3, 4};
    const int64_t shape[] = {2, 2}, across[] = {1, 2};
    dlpark_view from = view_as(memory, DLPARK_F32, 2, shape, NULL, 0),
                to = view_as(memory, DLPARK_F32, 2, shape, across, 0);

    failing_alloc_arm_from(1);
    assert_fails(DLPARK_E_MEMORY, "no memory", dlpark_cast(&to, &from, NULL, e));
    failing_alloc_arm(0);
    assert_memory_equal(memory, ((float[]){1, 2, 3, 4}), sizeof memory);
    assert_ok(dlpark_cast(&to, &from, NULL, e));
    assert_memory_equal(memory, ((float[]){1, 3, 2, 4}), sizeof memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_become_halves),
        cmocka_unit_test(test_the_default_of_each_kind),
        cmocka_unit_test(test_modes_of_floats),
        cmocka_unit_test(test_scales_end),
        cmocka_unit_test(test_bools_are_0_and_1),
        cmocka_unit_test(test_complex_numbers),
        cmocka_unit_test(test_equal_dtypes_keep_their_bits),
        cmocka_unit_test(test_any_strides),
        cmocka_unit_test(test_many_short_runs),
        cmocka_unit_test(test_packed_neighbours_stay),
        cmocka_unit_test(test_padded_elements_have_clean_bytes),
        cmocka_unit_test(test_lanes_side_by_side),
        cmocka_unit_test(test_integers_that_keep_their_bits),
        cmocka_unit_test(test_more_lanes_than_anybody_has),
        cmocka_unit_test(test_nothing_and_one),
        cmocka_unit_test(test_values_are_refused_before_anything_is_written),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_options_without_a_meaning),
        cmocka_unit_test(test_views_that_do_not_fit),
        cmocka_unit_test(test_other_devices),
        cmocka_unit_test(test_narrowing_in_place),
        cmocka_unit_test(test_same_slots_in_place),
        cmocka_unit_test(test_other_overlap_is_refused),
        cmocka_unit_test(test_equal_dtypes_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
