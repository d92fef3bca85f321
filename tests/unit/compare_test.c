#include "bitwise.h"
#include "golden_floats.h"

#define MIDDLE 1024

static unsigned char one[2 * MIDDLE], other[2 * MIDDLE];

/* ---- Layouts, on integers, bit by bit ---- */

/* The first index at which two views differ; false when there is none. */
static bool differ_slowly(const dlpark_view *a, const dlpark_view *b, int64_t *index)
{
    memset(index, 0, 8 * sizeof *index);
    do {
        for (int bit = 0; bit < bitwise_width(a); bit++)
            if (bitwise_get(a->data, bitwise_at(a, index) + bit) != bitwise_get(b->data, bitwise_at(b, index) + bit))
                return true;
    } while (bitwise_next(a, index));
    return false;
}

static void check_equal(const dlpark_view *a, const dlpark_view *b)
{
    int64_t expected[8], where[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    bool differ = differ_slowly(a, b, expected), equal = differ, without = differ;

    assert_ok(dlpark_equal(a, b, &equal, where, e));
    assert_int_equal(equal, !differ);
    assert_ok(dlpark_equal(a, b, &without, NULL, e));
    assert_int_equal(without, !differ);
    for (int i = 0; i < 8; i++)
        assert_int_equal(where[i], differ && i < a->ndim ? expected[i] : -1);
}

/* Copies the elements of `a` to `b`, so that they are equal where `b` has room for each. */
static void copy_slowly(const dlpark_view *a, const dlpark_view *b)
{
    int64_t index[8] = {0};

    do {
        for (int bit = 0; bit < bitwise_width(a); bit++)
            bitwise_set(b->data, bitwise_at(b, index) + bit, bitwise_get(a->data, bitwise_at(a, index) + bit));
    } while (bitwise_next(a, index));
}

static const DLDataType dtypes[] = {
    {kDLUInt, 8, 1}, {kDLInt, 16, 1}, {kDLInt, 32, 1}, {kDLUInt, 64, 1},         {kDLInt, 128, 1}, {kDLUInt, 8, 3},
    {kDLUInt, 1, 1}, {kDLUInt, 2, 1}, {kDLInt, 4, 1},  {kDLOpaqueHandle, 24, 2}, {kDLInt, 4, 2},   {kDLInt, 4, 3},
};
#define DTYPES ((int)(sizeof dtypes / sizeof dtypes[0]))

/* Equal, and then with one bit of one element changed, of the first, the last and some in between. */
static void check_layouts(DLDataType dtype, int packing, int32_t ndim, const int64_t *shape, const int64_t *a_strides,
                          const int64_t *b_strides)
{
    uint32_t a_flags = packing & 1 ? DLPARK_VIEW_PADDED : 0, b_flags = packing & 2 ? DLPARK_VIEW_PADDED : 0;
    bool packed = dtype.bits * dtype.lanes % 8 != 0;
    dlpark_view a = bitwise_view(one + MIDDLE, packed && !a_flags ? 5 : 0, dtype, a_flags, ndim, shape, a_strides);
    dlpark_view b = bitwise_view(other + MIDDLE, packed && !b_flags ? 2 : 0, dtype, b_flags, ndim, shape, b_strides);
    int64_t index[8] = {0};
    int turn = 0;

    copy_slowly(&a, &b);
    check_equal(&a, &b);
    do {
        int64_t at = bitwise_at(&b, index) + turn % bitwise_width(&b);
        if (turn++ % 13 != 0)
            continue;
        bitwise_set(other + MIDDLE, at, !bitwise_get(other + MIDDLE, at));
        check_equal(&a, &b);
        bitwise_set(other + MIDDLE, at, !bitwise_get(other + MIDDLE, at));
    } while (bitwise_next(&b, index));
}

static void every_layout_of_rank_2(void **state)
{
    (void)state;
    bitwise_fill(one, sizeof one, 1);
    bitwise_fill(other, sizeof other, 2);
    for (int at = 0; at < 7 * 7 * 7 * 7; at += 2) {
        int64_t a[] = {at % 7 - 3, at / 7 % 7 - 3}, b[] = {at / 49 % 7 - 3, at / 343 - 3};
        for (int64_t rows = 1; rows <= 3; rows++)
            check_layouts(dtypes[(at + rows) % DTYPES], at / 3 % 4, 2, (int64_t[]){rows, 1 + (at + rows) % 3}, a, b);
    }
}

static void every_dtype_in_longer_layouts(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 1, 3, 7};
    static const int64_t layouts[][4] = {{21, 9, 7, 1}, {21, -9, -7, 1}, {1, 0, 2, 6}, {-21, 0, 7, -1},
                                         {0, 0, 7, 1},  {0, 0, 0, 0},    {21, 0, 0, 1}};

    bitwise_fill(one, sizeof one, 3);
    for (int dtype = 0; dtype < DTYPES; dtype++)
        for (int a = 0; a < 7; a++)
            for (int b = 0; b < 7; b++)
                for (int packing = 0; packing < 4; packing++)
                    check_layouts(dtypes[dtype], packing, 4, shape, layouts[a], layouts[b]);
}

/* Longer than what is gathered or tested at a time. */
static void a_difference_anywhere_in_a_long_row(void **state)
{
    (void)state;
    static const int64_t count = 600, strides[] = {1, -1, 2};
    static unsigned char a_row[2][2400 * 2], b_row[2][2400 * 2];

    bitwise_fill(a_row[0], sizeof a_row, 5);
    for (int dtype = 0; dtype < 9; dtype += 2)
        for (int layout = 0; layout < 3; layout++)
            for (int64_t at = 0; at < count; at += 1 + (at > 3 && at < 120) * 37 + (at > 140) * 57) {
                if (dtypes[dtype].bits > 32)
                    continue;
                dlpark_view a = bitwise_view(a_row[1], 0, dtypes[dtype], 0, 1, &count, &strides[layout]);
                dlpark_view b = bitwise_view(b_row[1], 0, dtypes[dtype], 0, 1, &count, &strides[0]);
                copy_slowly(&a, &b);
                int64_t bit = at * dtypes[dtype].bits;
                bitwise_set(b_row[1], bit, !bitwise_get(b_row[1], bit));
                check_equal(&a, &b);
            }
}

/* ---- Values ---- */

/* Two elements at one place of two rows of a harmless one; how they compare, and where that is found. */
static bool equal_in_a_row(DLDataType dtype, const void *a, const void *b, const void *harmless, int64_t count,
                           int64_t place)
{
    static unsigned char a_row[600 * 16 + 1], b_row[600 * 16 + 1];
    size_t nbytes = (size_t)(dtype.bits * dtype.lanes + 7) / 8;
    int64_t stride = 1, where = -1;
    bool equal = false;

    for (int64_t i = 0; i < count; i++) {
        memcpy(a_row + 1 + (size_t)i * nbytes, i == place ? a : harmless, nbytes);
        memcpy(b_row + 1 + (size_t)i * nbytes, i == place ? b : harmless, nbytes);
    }
    dlpark_view a_view = bitwise_view(a_row + 1, 0, dtype, DLPARK_VIEW_PADDED, 1, &count, &stride);
    dlpark_view b_view = bitwise_view(b_row + 1, 0, dtype, DLPARK_VIEW_PADDED, 1, &count, &stride);
    assert_ok(dlpark_equal(&a_view, &b_view, &equal, &where, e));
    assert_int_equal(where, equal ? -1 : place);
    return equal;
}

static bool equal_anywhere(DLDataType dtype, const void *a, const void *b, const void *harmless)
{
    static const int64_t places[] = {0, 1, 255, 256, 599};
    bool equal = equal_in_a_row(dtype, a, b, harmless, 1, 0);

    for (size_t i = 0; i < 5; i++)
        assert_int_equal(equal_in_a_row(dtype, a, b, harmless, 600, places[i]), equal);
    return equal;
}

static void codes_of_the_small_floats(void **state)
{
    (void)state;
    static golden_format formats[GOLDEN_FORMATS];

    golden_read(formats);
    for (int format = 0; format < GOLDEN_FORMATS; format++)
        for (unsigned i = 0; i < formats[format].count; i++)
            for (unsigned j = 0; j < formats[format].count; j++) {
                unsigned char a = (unsigned char)i, b = (unsigned char)j, some = 1;
                if ((i ^ j) % 128 != 0 && (i + j) % 7 != 0)
                    continue; /* other pairs are many of the same */
                bool expected = formats[format].value[i] == formats[format].value[j];
                if (equal_in_a_row(formats[format].dtype, &a, &b, &some, 1, 0) != expected)
                    fail_msg("%s 0x%02X and 0x%02X", dlpark_dtype_name(formats[format].dtype).text, i, j);
                if ((i * 256 + j) % 1021 == 0 || (j == i && (i & 0x7F) == 0))
                    assert_int_equal(equal_anywhere(formats[format].dtype, &a, &b, &some), expected);
            }
}

/* Codes of a float by what they are; two of one class are equal but for NaN. */
typedef struct code_class {
    uint64_t code;
    int class; /* 0: NaN */
} code_class;

static const code_class f16_codes[] = {{0x0000, 1}, {0x8000, 1}, {0x0001, 2}, {0x8001, 3}, {0x3C00, 4},
                                       {0xBC00, 5}, {0x7BFF, 6}, {0x7C00, 7}, {0xFC00, 8}, {0x7C01, 0},
                                       {0x7E00, 0}, {0xFFFF, 0}, {0xFC01, 0}, {0x03FF, 9}, {0x0400, 10}};
static const code_class bf16_codes[] = {{0x0000, 1}, {0x8000, 1}, {0x0001, 2}, {0x8001, 3}, {0x3F80, 4},
                                        {0xBF80, 5}, {0x7F7F, 6}, {0x7F80, 7}, {0xFF80, 8}, {0x7F81, 0},
                                        {0x7FC0, 0}, {0xFFFF, 0}, {0xFF81, 0}, {0x7C01, 9}};
static const code_class f32_codes[] = {{0x00000000, 1}, {0x80000000, 1}, {0x00000001, 2}, {0x80000001, 3},
                                       {0x3F800000, 4}, {0xBF800000, 5}, {0x7F7FFFFF, 6}, {0x7F800000, 7},
                                       {0xFF800000, 8}, {0x7F800001, 0}, {0x7FC00000, 0}, {0xFFFFFFFF, 0},
                                       {0xFF800001, 0}, {0x007FFFFF, 9}};
static const code_class f64_codes[] = {{0, 1},
                                       {UINT64_C(0x8000000000000000), 1},
                                       {1, 2},
                                       {UINT64_C(0x8000000000000001), 3},
                                       {UINT64_C(0x3FF0000000000000), 4},
                                       {UINT64_C(0xBFF0000000000000), 5},
                                       {UINT64_C(0x7FEFFFFFFFFFFFFF), 6},
                                       {UINT64_C(0x7FF0000000000000), 7},
                                       {UINT64_C(0xFFF0000000000000), 8},
                                       {UINT64_C(0x7FF0000000000001), 0},
                                       {UINT64_C(0x7FF8000000000000), 0},
                                       {UINT64_C(0xFFFFFFFFFFFFFFFF), 0},
                                       {UINT64_C(0x0000000100000000), 9}};

/* A code as it lies in memory. */
static void store_code(unsigned char *to, uint64_t code, int bits)
{
    uint16_t two = (uint16_t)code;
    uint32_t four = (uint32_t)code;

    memcpy(to, bits == 16 ? (void *)&two : bits == 32 ? (void *)&four : (void *)&code, (size_t)bits / 8);
}

static void check_classes(DLDataType dtype, const code_class *codes, size_t count)
{
    unsigned char a[8], b[8], some[8];

    store_code(some, codes[4].code, dtype.bits);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            store_code(a, codes[i].code, dtype.bits);
            store_code(b, codes[j].code, dtype.bits);
            bool expected = codes[i].class == codes[j].class && codes[i].class != 0;
            if (equal_anywhere(dtype, a, b, some) != expected)
                fail_msg("%s %llx and %llx", dlpark_dtype_name(dtype).text, (unsigned long long)codes[i].code,
                         (unsigned long long)codes[j].code);
        }
}

static void codes_of_the_wider_floats(void **state)
{
    (void)state;
    check_classes(DLPARK_F16, f16_codes, sizeof f16_codes / sizeof f16_codes[0]);
    check_classes(DLPARK_BF16, bf16_codes, sizeof bf16_codes / sizeof bf16_codes[0]);
    check_classes(DLPARK_F32, f32_codes, sizeof f32_codes / sizeof f32_codes[0]);
    check_classes(DLPARK_F64, f64_codes, sizeof f64_codes / sizeof f64_codes[0]);
}

static void codes_of_f128(void **state)
{
    (void)state;
    static const struct {
        uint64_t high, low;
        int class;
    } codes[] = {{0, 0, 1},
                 {UINT64_C(0x8000000000000000), 0, 1},
                 {0, 1, 2},
                 {UINT64_C(0x8000000000000000), 1, 3},
                 {UINT64_C(0x3FFF000000000000), 0, 4},
                 {UINT64_C(0x3FFF000000000000), 1, 5},
                 {1, 0, 6},
                 {UINT64_C(0x7FFF000000000000), 0, 7},
                 {UINT64_C(0xFFFF000000000000), 0, 8},
                 {UINT64_C(0x7FFF000000000000), 1, 0},
                 {UINT64_C(0xFFFF800000000000), 0, 0}};
    bool little = *(const unsigned char *)&(uint16_t){1} == 1;

    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 11; j++) {
            uint64_t a[] = {codes[i].high, codes[i].low}, b[] = {codes[j].high, codes[j].low}, some[] = {5, 5};
            if (little) {
                a[0] = codes[i].low, a[1] = codes[i].high;
                b[0] = codes[j].low, b[1] = codes[j].high;
            }
            assert_int_equal(equal_anywhere(DLPARK_DTYPE(kDLFloat, 128, 1), a, b, some),
                             codes[i].class == codes[j].class && codes[i].class != 0);
        }
}

static void a_complex_number_is_equal_by_both_parts(void **state)
{
    (void)state;
    double nan = strtod("nan", NULL);
    float some[] = {1, 2}, real[] = {3, 2}, imaginary[] = {1, 3}, zero[] = {0, -0.0f}, minus[] = {-0.0f, 0};
    double nan_part[] = {1, nan}, plain[] = {1, 2};

    assert_true(equal_anywhere(DLPARK_C64, some, some, some));
    assert_false(equal_anywhere(DLPARK_C64, some, real, some));
    assert_false(equal_anywhere(DLPARK_C64, some, imaginary, some));
    assert_true(equal_anywhere(DLPARK_C64, zero, minus, some));
    assert_false(equal_anywhere(DLPARK_C128, nan_part, nan_part, plain));
    uint16_t halves[] = {0x8000, 0x3C00}, same[] = {0, 0x3C00}, bad[] = {0x3C00, 0x7E00};
    assert_true(equal_anywhere(DLPARK_DTYPE(kDLComplex, 32, 1), halves, same, halves));
    assert_false(equal_anywhere(DLPARK_DTYPE(kDLComplex, 32, 1), bad, bad, halves));
}

static void a_bool_is_what_it_means(void **state)
{
    (void)state;
    for (int a = 0; a < 256; a += a < 3 ? 1 : 84)
        for (int b = 0; b < 256; b += b < 3 ? 1 : 84) {
            unsigned char x = (unsigned char)a, y = (unsigned char)b, some = 1;
            assert_int_equal(equal_anywhere(DLPARK_BOOL, &x, &y, &some), (a != 0) == (b != 0));
        }
}

/* What lies above a padded element's bits, and in the lanes of a vector. */
static void lanes_count_one_by_one_and_padding_does_not(void **state)
{
    (void)state;
    float some[] = {1, 2, 3}, zeros[] = {0, -0.0f, 0}, others[] = {0, 0, -0.0f}, last[] = {1, 2, 4};
    unsigned char clean = 0x05, dirty = 0xF5, different = 0x06;

    assert_true(equal_anywhere(DLPARK_DTYPE(kDLFloat, 32, 3), zeros, others, some));
    assert_false(equal_anywhere(DLPARK_DTYPE(kDLFloat, 32, 3), last, some, some));
    assert_true(equal_anywhere(DLPARK_I4, &clean, &dirty, &clean));
    assert_false(equal_anywhere(DLPARK_I4, &clean, &different, &clean));
    assert_true(equal_anywhere(DLPARK_F4_E2M1FN, &clean, &dirty, &clean));
    unsigned char zero_pair = 0x80, pair = 0x08; /* two lanes in a byte: 0 and -0, -0 and 0 */
    assert_true(equal_anywhere(DLPARK_DTYPE(kDLFloat4_e2m1fn, 4, 2), &zero_pair, &pair, &clean));
}

/* ---- What is not compared ---- */

static void refusals_say_what_differs(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 3}, longer[] = {2, 4}, strides[] = {3, 1};
    dlpark_view a = bitwise_view(one, 0, DLPARK_F32, 0, 2, shape, strides), b;
    int64_t where[2] = {7, 7};
    bool same = true;

    b = bitwise_view(one, 0, DLPARK_I32, 0, 2, shape, strides);
    assert_fails(DLPARK_E_DTYPE, "cannot compare f32 with i32", dlpark_equal(&a, &b, &same, where, e));
    assert_fails(DLPARK_E_DTYPE, "cannot compare f32 with i32", dlpark_allclose(&a, &b, 0, 0, false, &same, where, e));
    b = bitwise_view(one, 0, DLPARK_F32, 0, 2, longer, strides);
    assert_fails(DLPARK_E_SHAPE, "shape[1] is 3 in a and 4 in b", dlpark_equal(&a, &b, &same, where, e));
    b = bitwise_view(one, 0, DLPARK_F32, 0, 1, shape, strides);
    assert_fails(DLPARK_E_RANK, "shape [2, 3] with shape [2]", dlpark_equal(&a, &b, &same, where, e));
    b = a;
    b.device = DLPARK_DEVICE(kDLCUDA, 1);
    assert_fails(DLPARK_E_DEVICE, "cuda:1", dlpark_equal(&a, &b, &same, where, e));
    assert_fails(DLPARK_E_DEVICE, "cuda:1", dlpark_equal(&b, &a, &same, where, e));
    assert_true(same);
    assert_int_equal(where[0], 7);
}

static void no_elements_are_equal_and_one_is_of_rank_0(void **state)
{
    (void)state;
    dlpark_view a = bitwise_view(NULL, 0, DLPARK_F32, 0, 2, (int64_t[]){3, 0}, (int64_t[]){1, 1}), b = a;
    int64_t where[2] = {7, 7};
    bool same = false;

    assert_ok(dlpark_equal(&a, &b, &same, where, e));
    assert_true(same);
    a = bitwise_view(one, 0, DLPARK_U8, 0, 0, NULL, NULL);
    b = bitwise_view(one + 1, 0, DLPARK_U8, 0, 0, NULL, NULL);
    one[0] = 4;
    one[1] = 5;
    assert_ok(dlpark_equal(&a, &b, &same, where, e));
    assert_false(same);
    assert_int_equal(where[0], 7);
    assert_ok(dlpark_equal(&a, &a, &same, where, e));
    assert_true(same);
}

/* Or this would not end. */
static void elements_that_repeat_in_both_are_compared_once(void **state)
{
    (void)state;
    static const int64_t shape[] = {INT64_C(1) << 40, 3, 1 << 20}, a_strides[] = {0, 1, 0}, b_strides[] = {0, -1, 0};
    dlpark_view a = bitwise_view(one, 0, DLPARK_U8, 0, 3, shape, a_strides);
    dlpark_view b = bitwise_view(one + 6, 0, DLPARK_U8, 0, 3, shape, b_strides);
    int64_t where[3];
    bool same = false;

    memcpy(one, "abc-cba", 7);
    assert_ok(dlpark_equal(&a, &b, &same, where, e));
    assert_true(same);
    one[5] = 'x';
    assert_ok(dlpark_equal(&a, &b, &same, where, e));
    assert_false(same);
    assert_int_equal(where[0], 0);
    assert_int_equal(where[1], 1);
    assert_int_equal(where[2], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_of_rank_2),
        cmocka_unit_test(every_dtype_in_longer_layouts),
        cmocka_unit_test(a_difference_anywhere_in_a_long_row),
        cmocka_unit_test(codes_of_the_small_floats),
        cmocka_unit_test(codes_of_the_wider_floats),
        cmocka_unit_test(codes_of_f128),
        cmocka_unit_test(a_complex_number_is_equal_by_both_parts),
        cmocka_unit_test(a_bool_is_what_it_means),
        cmocka_unit_test(lanes_count_one_by_one_and_padding_does_not),
        cmocka_unit_test(refusals_say_what_differs),
        cmocka_unit_test(no_elements_are_equal_and_one_is_of_rank_0),
        cmocka_unit_test(elements_that_repeat_in_both_are_compared_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
