#include "test.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "elements/element_parts.h"

#if LDBL_MANT_DIG == 113
typedef long double quad;
#define HAS_QUAD
#elif defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#define HAS_QUAD
#endif

/* By address: on its way through a register of the x87 a signalling NaN becomes quiet. */
static uint64_t bits_of(const double *value)
{
    uint64_t bits;

    memcpy(&bits, value, sizeof bits);
    return bits;
}

/* The same number, sign of zero included; of a NaN the sign. */
static void assert_double(double got, double expected)
{
    if (isnan(expected))
        assert_true(isnan(got) && !signbit(got) == !signbit(expected));
    else
        assert_int_equal(bits_of(&got), bits_of(&expected));
}

/* A lane of `nbytes` in memory of exactly that size, so that a sanitizer sees a byte too many, and at an odd address. */
static dlpark_scalar load(DLDataType dtype, unsigned bit, const void *bytes, size_t nbytes)
{
    dlpark_scalar scalar;
    unsigned char *memory = malloc(nbytes + 1);

    assert_non_null(memory);
    memset(&scalar, 0x5A, sizeof scalar);
    memcpy(memory + 1, bytes, nbytes);
    dlpark__element_load(memory + 1, bit, dtype, &scalar);
    free(memory);
    return scalar;
}

/* A code at every bit offset where its lane can lie, among zeros and among ones. */
static void check_code(DLDataType dtype, unsigned code, void (*check)(const dlpark_scalar *, const void *),
                       const void *expected)
{
    unsigned last = dtype.bits < 8 ? 7 : 0;

    for (unsigned bit = 0; bit <= last; bit += dtype.bits == 6 ? 2 : dtype.bits) {
        unsigned mask = ((1u << dtype.bits) - 1) << bit;
        for (unsigned around = 0; around <= 0xFFFF; around += 0xFFFF) {
            unsigned word = (around & ~mask) | code << bit;
            unsigned char bytes[2] = {(unsigned char)word, (unsigned char)(word >> 8)};
            dlpark_scalar scalar = load(dtype, bit, bytes, bit + dtype.bits > 8 ? 2 : 1);
            check(&scalar, expected);
        }
    }
}

static void check_float(const dlpark_scalar *scalar, const void *expected)
{
    assert_int_equal(scalar->kind, DLPARK_SCALAR_FLOAT);
    assert_true(scalar->is_exact);
    assert_double(scalar->re, strtod(expected, NULL));
}

static void check_integer(const dlpark_scalar *scalar, const void *expected)
{
    int64_t value = strtoll(expected, NULL, 10);

    assert_true(scalar->is_exact);
    assert_int_equal((int64_t)scalar->low, value);
    assert_int_equal(scalar->high, value < 0 ? UINT64_MAX : 0);
}

/* ---- Tables ---- */

static void test_every_code_of_the_narrow_types_agrees_with_the_golden_table(void **state)
{
    (void)state;
    FILE *file = fopen(DLPARK_CASES "/golden_floats.csv", "r");
    char line[96], name[32], value[48];
    unsigned code, rows = 0;
    DLDataType dtype;

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* the titles */
    while (fgets(line, sizeof line, file) != NULL) {
        assert_int_equal(sscanf(line, "%31[^,],%x,%47s", name, &code, value), 3);
        assert_ok(dlpark_dtype_parse(name, &dtype, e));
        check_code(dtype, code, dtype.code <= kDLUInt ? check_integer : check_float, value);
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, 2236);
}

/* The definition of a binary float, by multiplication with powers of two. */
static double slow_float(uint32_t code, int exponent_bits, int fraction_bits, int bias)
{
    int exponent = (int)(code >> fraction_bits) & ((1 << exponent_bits) - 1);
    double value = code & ((1u << fraction_bits) - 1);
    int scale = (exponent == 0 ? 1 : exponent) - bias - fraction_bits;
    double sign = code >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;

    if (exponent == (1 << exponent_bits) - 1)
        return sign * (double)INFINITY; /* for the caller to tell from NaN */
    if (exponent != 0)
        value += 1u << fraction_bits;
    for (; scale > 0; scale--)
        value *= 2;
    for (; scale < 0; scale++)
        value /= 2;
    return sign * value;
}

static void check_wide(DLDataType dtype, uint32_t code, const void *bytes, int exponent_bits, int fraction_bits,
                       int bias)
{
    dlpark_scalar scalar = load(dtype, 0, bytes, dtype.bits / 8u);
    double expected = slow_float(code, exponent_bits, fraction_bits, bias);
    uint32_t fraction = code & ((1u << fraction_bits) - 1);

    assert_int_equal(scalar.kind, DLPARK_SCALAR_FLOAT);
    if (isinf(expected) && fraction != 0) {
        uint64_t sign = (uint64_t)(expected < 0) << 63;
        uint64_t payload = (uint64_t)fraction << (52 - fraction_bits);
        assert_int_equal(bits_of(&scalar.re), sign | UINT64_C(0x7FF8000000000000) | payload);
    } else {
        assert_int_equal(bits_of(&scalar.re), bits_of(&expected));
    }
}

static void test_every_half_and_bfloat(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= UINT16_MAX; code++) {
        uint16_t word = (uint16_t)code;
        check_wide(DLPARK_F16, code, &word, 5, 10, 15);
        check_wide(DLPARK_BF16, code, &word, 8, 7, 127);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 32;
}

static void test_singles_and_doubles(void **state)
{
    (void)state;
    static const uint32_t special[] = {0,          1,          0x7FFFFF,   0x800000,  0x3F800000,
                                       0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000};
    uint64_t random = 1;

    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        uint32_t negative = special[i] | UINT32_C(0x80000000);
        check_wide(DLPARK_F32, special[i], &special[i], 8, 23, 127);
        check_wide(DLPARK_F32, negative, &negative, 8, 23, 127);
    }
    for (int i = 0; i < 10000; i++) {
        uint32_t code = (uint32_t)next_random(&random);
        uint64_t wide = next_random(&random) << 32 | code;
        check_wide(DLPARK_F32, code, &code, 8, 23, 127);
        dlpark_scalar scalar = load(DLPARK_F64, 0, &wide, 8);
        assert_int_equal(bits_of(&scalar.re), wide);
    }
}

static void test_complex_parts_are_in_order(void **state)
{
    (void)state;
    const uint16_t halves[] = {0x3C00, 0xC000};
    const float singles[] = {0.5f, -INFINITY};
    const double doubles[] = {1e300, -0.0};
    dlpark_scalar scalar = load(DLPARK_DTYPE(kDLComplex, 32, 1), 0, halves, sizeof halves);

    assert_int_equal(scalar.kind, DLPARK_SCALAR_COMPLEX);
    assert_double(scalar.re, 1);
    assert_double(scalar.im, -2);
    scalar = load(DLPARK_C64, 0, singles, sizeof singles);
    assert_double(scalar.re, 0.5);
    assert_double(scalar.im, -(double)INFINITY);
    scalar = load(DLPARK_C128, 0, doubles, sizeof doubles);
    assert_double(scalar.re, 1e300);
    assert_double(scalar.im, -0.0);
}

/* ---- Integers, bool, opaque ---- */

static void check_whole(DLDataType dtype, const void *bytes, uint64_t low, uint64_t high)
{
    dlpark_scalar scalar = load(dtype, 0, bytes, dtype.bits / 8u);

    assert_int_equal(scalar.kind, dtype.code == kDLInt ? DLPARK_SCALAR_INT : DLPARK_SCALAR_UINT);
    assert_int_equal(scalar.low, low);
    assert_int_equal(scalar.high, high);
}

static void test_integers_of_whole_bytes(void **state)
{
    (void)state;
    const int8_t one = -5;
    const int16_t two = INT16_MIN, positive = 300;
    const int32_t four = -70000;
    const int64_t eight = INT64_MIN;

    check_whole(DLPARK_I8, &one, (uint64_t)-5, UINT64_MAX);
    check_whole(DLPARK_U8, &one, 251, 0);
    check_whole(DLPARK_I16, &two, (uint64_t)INT16_MIN, UINT64_MAX);
    check_whole(DLPARK_I16, &positive, 300, 0);
    check_whole(DLPARK_U16, &two, 0x8000, 0);
    check_whole(DLPARK_I32, &four, (uint64_t)-70000, UINT64_MAX);
    check_whole(DLPARK_U32, &four, UINT32_C(0xFFFFFFFF) - 69999, 0);
    check_whole(DLPARK_I64, &eight, UINT64_C(1) << 63, UINT64_MAX);
    check_whole(DLPARK_U64, &eight, UINT64_C(1) << 63, 0);
}

#if defined(__SIZEOF_INT128__)
static void test_integers_of_128_bits_lie_in_the_order_of_the_host(void **state)
{
    (void)state;
    __extension__ const __int128 value = -((__extension__(__int128) 1 << 100) + 3);

    check_whole(DLPARK_DTYPE(kDLInt, 128, 1), &value, (uint64_t)-3, ~(UINT64_C(1) << 36));
    check_whole(DLPARK_DTYPE(kDLUInt, 128, 1), &value, (uint64_t)-3, ~(UINT64_C(1) << 36));
}
#endif

static void test_a_bool_is_true_for_every_byte_but_zero(void **state)
{
    (void)state;
    for (unsigned value = 0; value < 256; value++) {
        unsigned char byte = (unsigned char)value;
        dlpark_scalar scalar = load(DLPARK_BOOL, 0, &byte, 1);
        assert_int_equal(scalar.kind, DLPARK_SCALAR_BOOL);
        assert_int_equal(scalar.low, value != 0);
        assert_int_equal(scalar.high, 0);
    }
}

static void test_opaque_bytes_are_kept(void **state)
{
    (void)state;
    unsigned char bytes[31];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + 1);
    for (unsigned nbytes = 1; nbytes <= sizeof bytes; nbytes++) {
        dlpark_scalar scalar = load(DLPARK_DTYPE(kDLOpaqueHandle, nbytes * 8, 1), 0, bytes, nbytes);
        assert_int_equal(scalar.kind, DLPARK_SCALAR_OPAQUE);
        assert_int_equal(scalar.nbytes, nbytes);
        assert_memory_equal(scalar.raw, bytes, nbytes);
    }
}

/* ---- Elements of a view ---- */

/* A view of borrowed memory; strides NULL are compact. */
static dlpark_view view_of(const void *data, DLDataType dtype, uint64_t flags, int32_t ndim, const int64_t *shape,
                           const int64_t *strides)
{
    DLTensor tensor = {.data = (void *)(uintptr_t)data,
                       .device = DLPARK_DEVICE_CPU,
                       .ndim = ndim,
                       .dtype = dtype,
                       .shape = (int64_t *)(uintptr_t)shape,
                       .strides = (int64_t *)(uintptr_t)strides};
    dlpark_view view;

    assert_ok(dlpark_check(&tensor, flags, &view, e));
    return view;
}

static uint64_t read_low(const dlpark_view *view, const int64_t *index, uint32_t lane)
{
    dlpark_scalar scalar;

    assert_ok(dlpark_element_read(view, index, lane, &scalar, e));
    return scalar.low;
}

static void test_an_element_is_found_by_its_index(void **state)
{
    (void)state;
    const int16_t values[] = {0, 1, 2, 3, 4, 5};
    dlpark_view view = view_of(values, DLPARK_I16, 0, 2, (int64_t[]){2, 3}, NULL);

    for (int64_t i = -2; i < 2; i++)
        for (int64_t j = -3; j < 3; j++)
            assert_int_equal(read_low(&view, (int64_t[]){i, j}, 0), (i < 0 ? i + 2 : i) * 3 + (j < 0 ? j + 3 : j));
    view = view_of(values + 5, DLPARK_I16, 0, 1, (int64_t[]){3}, (int64_t[]){-2});
    assert_int_equal(read_low(&view, (int64_t[]){2}, 0), 1);
    view = view_of(values + 4, DLPARK_I16, 0, 0, NULL, NULL);
    assert_int_equal(read_low(&view, NULL, 0), 4);
    /* The stride of an extent of 1 means nothing. */
    view = view_of(values + 3, DLPARK_I16, 0, 1, (int64_t[]){1}, (int64_t[]){INT64_MAX});
    assert_int_equal(read_low(&view, (int64_t[]){-1}, 0), 3);
}

static void test_a_packed_element_is_found_inside_its_byte(void **state)
{
    (void)state;
    const unsigned char bytes[] = {0x21, 0x43, 0x65, 0x87};
    dlpark_view view = view_of(bytes, DLPARK_U4, 0, 1, (int64_t[]){8}, NULL);

    for (int64_t i = 0; i < 8; i++)
        assert_int_equal(read_low(&view, &i, 0), i + 1);
    assert_ok(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, -1, e));
    for (int64_t i = 0; i < 8; i++)
        assert_int_equal(read_low(&view, &i, 0), 8 - i);
    view = view_of(bytes, DLPARK_U4, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 1, (int64_t[]){4}, NULL);
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(read_low(&view, &i, 0), 2 * i + 1);
    /* Two lanes of six bits, side by side: 12 bits an element. */
    const unsigned char sixes[] = {0x41, 0x30, 0x10};
    view = view_of(sixes, DLPARK_DTYPE(kDLFloat6_e2m3fn, 6, 2), 0, 1, (int64_t[]){2}, NULL);
    dlpark_scalar scalar;
    const double expected[] = {0.125, 0.125, 0.375, 0.5};
    for (uint32_t i = 0; i < 4; i++) {
        assert_ok(dlpark_element_read(&view, (int64_t[]){i / 2}, i % 2, &scalar, e));
        assert_double(scalar.re, expected[i]);
    }
}

static void test_what_cannot_be_read_is_refused(void **state)
{
    (void)state;
    const float values[8] = {0};
    dlpark_scalar scalar, before;
    dlpark_view view = view_of(values, DLPARK_DTYPE(kDLFloat, 32, 4), 0, 1, (int64_t[]){2}, NULL);

    memset(&scalar, 0x5A, sizeof scalar);
    before = scalar;
    assert_fails(DLPARK_E_INDEX, "index 2 is out of range for dimension 0 of extent 2",
                 dlpark_element_read(&view, (int64_t[]){2}, 0, &scalar, e));
    assert_fails(DLPARK_E_INDEX, "index -3 ", dlpark_element_read(&view, (int64_t[]){-3}, 0, &scalar, e));
    dlpark_view empty = view_of(NULL, DLPARK_F32, 0, 2, (int64_t[]){3, 0}, (int64_t[]){INT64_MAX, 1});
    assert_fails(DLPARK_E_INDEX, "index 0 is out of range for dimension 1 of extent 0",
                 dlpark_element_read(&empty, (int64_t[]){2, 0}, 0, &scalar, e));
    assert_fails(DLPARK_E_ARGUMENT, "index is NULL although the rank is 1",
                 dlpark_element_read(&view, NULL, 0, &scalar, e));
    assert_fails(DLPARK_E_ARGUMENT, "lane 4 is out of range for f32x4",
                 dlpark_element_read(&view, (int64_t[]){0}, 4, &scalar, e));
    view.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_fails(DLPARK_E_DEVICE, "cuda:0", dlpark_element_read(&view, (int64_t[]){0}, 0, &scalar, e));
    assert_memory_equal(&scalar, &before, sizeof scalar);
}

/* ---- Writing ---- */

/* A view that may be written. */
static dlpark_view writable(void *data, DLDataType dtype, uint64_t flags, int32_t ndim, const int64_t *shape,
                            const int64_t *strides)
{
    dlpark_view view = view_of(data, dtype, flags, ndim, shape, strides);

    assert_ok(dlpark_view_allow_write(&view, e));
    return view;
}

static dlpark_scalar number(double value)
{
    return (dlpark_scalar){.kind = DLPARK_SCALAR_FLOAT, .re = value};
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    static const DLDataType dtypes[] = {{kDLInt, 4, 1},           {kDLUInt, 1, 1},         {kDLInt, 64, 1},
                                        {kDLBool, 8, 1},          {kDLFloat, 16, 1},       {kDLBfloat, 16, 1},
                                        {kDLFloat6_e2m3fn, 6, 1}, {kDLComplex, 64, 1},     {kDLFloat, 32, 3},
                                        {kDLFloat6_e3m2fn, 6, 2}, {kDLFloat4_e2m1fn, 4, 1}};
    unsigned char memory[256], before[256];

    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (int padded = 0; padded < 2; padded++) {
            uint64_t flags = padded ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0;
            dlpark_view view = writable(memory, dtypes[d], flags, 1, (int64_t[]){7}, NULL);
            for (int64_t i = 0; i < 7; i++)
                for (uint32_t lane = 0; lane < dtypes[d].lanes; lane++) {
                    dlpark_scalar scalar = number(1), read;
                    memset(memory, 0, sizeof memory);
                    assert_ok(dlpark_element_write(&view, &i, lane, &scalar, NULL, e));
                    assert_ok(dlpark_element_read(&view, &i, lane, &read, e));
                    bool is_float = read.kind == DLPARK_SCALAR_FLOAT || read.kind == DLPARK_SCALAR_COMPLEX;
                    assert_double(is_float ? read.re : (double)read.low, 1);
                    /* Every other lane stays as it is. */
                    for (int64_t j = 0; j < 7; j++)
                        for (uint32_t other = 0; other < dtypes[d].lanes; other++) {
                            assert_ok(dlpark_element_read(&view, &j, other, &scalar, e));
                            if (j != i || other != lane)
                                assert_double(is_float ? scalar.re : (double)scalar.low, 0);
                        }
                    /* And what was read can be written again. */
                    memcpy(before, memory, sizeof memory);
                    assert_ok(dlpark_element_write(&view, (int64_t[]){i - 7}, lane, &read, NULL, e));
                    assert_memory_equal(memory, before, sizeof memory);
                }
        }
}

static void test_neighbours_of_a_packed_element_stay(void **state)
{
    (void)state;
    unsigned char bytes[] = {0xFF, 0xFF, 0xFF};
    dlpark_view view = writable(bytes, DLPARK_U4, 0, 1, (int64_t[]){6}, NULL);
    dlpark_scalar zero = {.kind = DLPARK_SCALAR_UINT};

    assert_ok(dlpark_element_write(&view, (int64_t[]){3}, 0, &zero, NULL, e));
    assert_memory_equal(bytes, ((unsigned char[]){0xFF, 0x0F, 0xFF}), 3);
    assert_ok(dlpark_view_slice(&view, 0, 1, DLPARK_NONE, 2, e));
    assert_ok(dlpark_element_write(&view, (int64_t[]){0}, 0, &zero, NULL, e));
    assert_memory_equal(bytes, ((unsigned char[]){0x0F, 0x0F, 0xFF}), 3);
}

static void test_writing_has_the_rules_of_the_cast(void **state)
{
    (void)state;
    int8_t values[2] = {0, 0};
    dlpark_view view = writable(values, DLPARK_I8, 0, 1, (int64_t[]){2}, NULL);
    const int64_t second = 1;
    dlpark_scalar scalar = number(1000.5);
    dlpark_scalar integer = {.kind = DLPARK_SCALAR_INT, .low = (uint64_t)-200, .high = UINT64_MAX};
    dlpark_scalar yes = {.kind = DLPARK_SCALAR_BOOL, .low = 1};
    dlpark_scalar complex = {.kind = DLPARK_SCALAR_COMPLEX, .re = 3, .im = 4};

    assert_ok(dlpark_element_write(&view, &second, 0, &scalar, NULL, e));
    assert_int_equal(values[1], 127);
    assert_ok(dlpark_element_write(&view, &second, 0, &integer, NULL, e));
    assert_int_equal(values[1], 56); /* integers wrap */
    assert_ok(dlpark_element_write(&view, &second, 0, &yes, NULL, e));
    assert_int_equal(values[1], 1);
    assert_fails(DLPARK_E_VALUE, "-200, which i8 does not hold",
                 dlpark_element_write(&view, &second, 0, &integer,
                                      &(dlpark_cast_options){.overflow = DLPARK_OVERFLOW_REFUSE}, e));
    assert_fails(DLPARK_E_DTYPE, "imaginary", dlpark_element_write(&view, &second, 0, &complex, NULL, e));
    assert_ok(dlpark_element_write(&view, &second, 0, &complex, &(dlpark_cast_options){.real_part = true}, e));
    assert_int_equal(values[1], 3);
    assert_int_equal(values[0], 0);
}

static void test_what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    unsigned char bytes[32];
    int64_t zero = 0;
    dlpark_scalar one = {.kind = DLPARK_SCALAR_UINT, .low = 1};
    dlpark_scalar wide = {.kind = DLPARK_SCALAR_INT, .low = 1, .high = 1};
    dlpark_scalar opaque = {.kind = DLPARK_SCALAR_OPAQUE, .nbytes = 1};

    memset(bytes, 7, sizeof bytes);
    dlpark_view view = view_of(bytes, DLPARK_F32, DLPACK_FLAG_BITMASK_READ_ONLY, 1, (int64_t[]){2}, NULL);
    assert_fails(DLPARK_E_READ_ONLY, "read-only", dlpark_element_write(&view, &zero, 0, &one, NULL, e));
    view = view_of(bytes, DLPARK_F32, 0, 1, (int64_t[]){2}, NULL);
    view.flags |= DLPARK_VIEW_UNKNOWN_WRITE;
    assert_fails(DLPARK_E_READ_ONLY, "does not say", dlpark_element_write(&view, &zero, 0, &one, NULL, e));
    view = writable(bytes, DLPARK_F32, 0, 1, (int64_t[]){2}, NULL);
    assert_fails(DLPARK_E_INDEX, "index 2 ", dlpark_element_write(&view, (int64_t[]){2}, 0, &one, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "lane 1 ", dlpark_element_write(&view, &zero, 1, &one, NULL, e));
    assert_fails(DLPARK_E_VALUE, "more than 64 bits", dlpark_element_write(&view, &zero, 0, &wide, NULL, e));
    assert_fails(DLPARK_E_ARGUMENT, "kind 5", dlpark_element_write(&view, &zero, 0, &opaque, NULL, e));
    view = writable(bytes, DLPARK_DTYPE(kDLInt, 128, 1), 0, 1, (int64_t[]){2}, NULL);
    assert_fails(DLPARK_E_DTYPE, "i128", dlpark_element_write(&view, &zero, 0, &one, NULL, e));
    view.device = DLPARK_DEVICE(kDLCUDA, 0);
    assert_fails(DLPARK_E_DEVICE, "cuda:0", dlpark_element_write(&view, &zero, 0, &one, NULL, e));
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 7);
}

/* ---- binary128 ---- */

#if defined(HAS_QUAD)
static void check_quad(quad value)
{
    dlpark_scalar scalar = load(DLPARK_DTYPE(kDLFloat, 128, 1), 0, &value, sizeof value);
    uint64_t halves[2];

    assert_int_equal(scalar.kind, DLPARK_SCALAR_FLOAT);
    assert_double(scalar.re, (double)value);
    assert_int_equal(scalar.is_exact, value != value || (quad)(double)value == value);
    memcpy(halves, &value, sizeof halves);
    assert_true((scalar.low == halves[0] && scalar.high == halves[1]) ||
                (scalar.low == halves[1] && scalar.high == halves[0]));
}

static quad quad_of(uint64_t high, uint64_t low)
{
    const uint16_t probe = 1;
    bool is_little = *(const unsigned char *)&probe == 1;
    uint64_t halves[2] = {is_little ? low : high, is_little ? high : low};
    quad value;

    memcpy(&value, halves, sizeof value);
    return value;
}

static quad quad_power(int exponent)
{
    quad value = 1;

    for (; exponent > 0; exponent--)
        value *= 2;
    for (; exponent < 0; exponent++)
        value /= 2;
    return value;
}

/* The compiler's own arithmetic on binary128 is the oracle: all roundings at all exponents that a double has. */
static void test_a_float_of_128_bits_is_the_nearest_double(void **state)
{
    (void)state;
    static const int edges[] = {-16494, -16382, -1140, -1076, -1075, -1074, -1073, -1023,
                                -1022,  -1,     0,     1,     1022,  1023,  1024,  16383};
    uint64_t random = 2;

    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        quad power = quad_power(edges[i]);
        for (int step = 0; step < 64; step++) {
            quad tie = (quad)(step & 7) * quad_power(-54) + (quad)(step >> 3 & 3) * quad_power(-110);
            quad value = power * (step & 32 ? 2 - quad_power(-50) + tie : 1 + tie);
            check_quad(value);
            check_quad(-value);
        }
        for (int step = 0; step < 200; step++)
            check_quad(power * (1 + (quad)next_random(&random) * quad_power(-32 - step % 40) +
                                (quad)next_random(&random) * quad_power(-112 + step % 48)));
    }
    check_quad(0);
    check_quad(-(quad)0);
    check_quad((quad)INFINITY);
    check_quad(-(quad)INFINITY);
    check_quad((quad)NAN);
    check_quad(quad_of(UINT64_C(0x7FFF000000000000), 1));
    check_quad(quad_of(UINT64_C(0xFFFF000000000001), 0));
    check_quad(quad_of(1, 0)); /* subnormal */
    check_quad(quad_of(0, 1));
    check_quad(-(quad)NAN);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_of_the_narrow_types_agrees_with_the_golden_table),
        cmocka_unit_test(test_every_half_and_bfloat),
        cmocka_unit_test(test_singles_and_doubles),
        cmocka_unit_test(test_complex_parts_are_in_order),
        cmocka_unit_test(test_integers_of_whole_bytes),
#if defined(__SIZEOF_INT128__)
        cmocka_unit_test(test_integers_of_128_bits_lie_in_the_order_of_the_host),
#endif
        cmocka_unit_test(test_a_bool_is_true_for_every_byte_but_zero),
        cmocka_unit_test(test_opaque_bytes_are_kept),
        cmocka_unit_test(test_an_element_is_found_by_its_index),
        cmocka_unit_test(test_a_packed_element_is_found_inside_its_byte),
        cmocka_unit_test(test_what_cannot_be_read_is_refused),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_neighbours_of_a_packed_element_stay),
        cmocka_unit_test(test_writing_has_the_rules_of_the_cast),
        cmocka_unit_test(test_what_cannot_be_written_is_refused),
#if defined(HAS_QUAD)
        cmocka_unit_test(test_a_float_of_128_bits_is_the_nearest_double),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
