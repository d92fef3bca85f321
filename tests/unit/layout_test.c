#include "test.h"

#include <stdbool.h>

#include "internal.h"

/* ---- A slow oracle in 128 bits, which shares no code with the library ---- */

__extension__ typedef __int128 wide;

static bool fits(wide value)
{
    return value >= INT64_MIN && value <= INT64_MAX;
}

/* Walks every element of a small layout and keeps the lowest and highest offset; false without elements. */
static bool walk(int ndim, const int64_t *shape, const int64_t *strides, wide *low, wide *high, long *count,
                 bool *in_order)
{
    int64_t index[8] = {0};

    *low = *high = 0;
    *count = 0;
    *in_order = true;
    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return false;
    for (;;) {
        wide at = 0;
        for (int i = 0; i < ndim; i++)
            at += (wide)index[i] * strides[i];
        *low = at < *low ? at : *low;
        *high = at > *high ? at : *high;
        *in_order &= at == *count;
        ++*count;
        int i = ndim - 1;
        for (; i >= 0; i--) {
            if (++index[i] < shape[i])
                break;
            index[i] = 0;
        }
        if (i < 0)
            return true;
    }
}

static void check_one_layout(int ndim, const int64_t *shape, const int64_t *strides)
{
    wide low, high;
    long count;
    bool in_order;
    bool some = walk(ndim, shape, strides, &low, &high, &count, &in_order);
    int64_t numel = -7, lowest = -7, highest = -7;

    assert_int_equal(dlpark_layout_numel(ndim, shape, &numel, NULL), DLPARK_OK);
    assert_int_equal(numel, some ? count : 0);
    assert_int_equal(dlpark_layout_span(ndim, shape, strides, &lowest, &highest, NULL), DLPARK_OK);
    assert_true(lowest == (some ? low : 0));
    assert_true(highest == (some ? high : -1));
    assert_int_equal(dlpark_layout_is_compact(ndim, shape, strides), !some || in_order);
}

/* Counts through all shapes with extents 0..3 and strides -4..4 of one rank. */
static void check_all_of_rank(int ndim)
{
    int64_t digits[8] = {0};
    int64_t shape[4], strides[4];

    for (;;) {
        for (int i = 0; i < ndim; i++) {
            shape[i] = digits[i];
            strides[i] = digits[ndim + i] - 4;
        }
        check_one_layout(ndim, shape, strides);
        int at = 0;
        for (; at < 2 * ndim; at++) {
            if (++digits[at] < (at < ndim ? 4 : 9))
                break;
            digits[at] = 0;
        }
        if (at == 2 * ndim)
            return;
    }
}

static void every_small_layout_agrees_with_the_oracle(void **state)
{
    (void)state;
    for (int ndim = 0; ndim <= 3; ndim++)
        check_all_of_rank(ndim);
}

static void compact_strides_make_compact_layouts(void **state)
{
    (void)state;
    for (int code = 0; code < 256; code++) {
        int64_t shape[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
        int64_t strides[4], expected = 1;
        assert_ok(dlpark_layout_compact_strides(4, shape, strides, e));
        assert_true(dlpark_layout_is_compact(4, shape, strides));
        for (int i = 3; i >= 0; i--) {
            assert_int_equal(strides[i], expected);
            expected *= shape[i] > 0 ? shape[i] : 1;
        }
    }
}

/* A deterministic stream of numbers near the limits of 63 bits. */
static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static int64_t random_extreme(uint64_t *seed)
{
    int64_t value = (int64_t)(random_next(seed) >> (random_next(seed) % 64));

    return random_next(seed) & 1 ? value : (int64_t)(0 - (uint64_t)value);
}

static void overflow_is_caught_exactly(void **state)
{
    (void)state;
    uint64_t seed = 0x9E3779B97F4A7C15u;

    for (int round = 0; round < 200000; round++) {
        int64_t shape[3], strides[3];
        int ndim = 1 + (int)(random_next(&seed) % 3);
        wide numel = 1, low = 0, high = 0;
        bool negative = false, empty = false, over = false;
        for (int i = 0; i < ndim; i++) {
            shape[i] = random_extreme(&seed) & INT64_MAX;
            if (random_next(&seed) % 16 == 0)
                shape[i] = -shape[i];
            strides[i] = random_extreme(&seed);
            negative |= shape[i] < 0;
            empty |= shape[i] == 0;
            over |= !fits(numel *= fits(numel) ? shape[i] : 1);
            wide reach = (wide)(shape[i] - 1) * strides[i];
            *(reach < 0 ? &low : &high) += shape[i] > 1 ? reach : 0;
            over |= !fits(reach * (shape[i] > 1));
        }
        bool numel_ok = fits(numel);
        over |= !fits(low - 2) || !fits(high + 1); /* as far to either side: less than 2^63-1 */

        int64_t got = -7, lowest, highest;
        dlpark_status status = dlpark_layout_numel(ndim, shape, &got, NULL);
        assert_int_equal(status, negative ? DLPARK_E_SHAPE : empty || numel_ok ? DLPARK_OK : DLPARK_E_OVERFLOW);
        if (status == DLPARK_OK)
            assert_true(got == (empty ? 0 : numel));
        else
            assert_int_equal(got, -7);
        status = dlpark_layout_span(ndim, shape, strides, &lowest, &highest, NULL);
        assert_int_equal(status, negative ? DLPARK_E_SHAPE : empty || !over ? DLPARK_OK : DLPARK_E_OVERFLOW);
    }
}

static void rank_and_missing_shape(void **state)
{
    (void)state;
    int64_t shape[65] = {0}, out[65];

    assert_fails(DLPARK_E_RANK, "ndim is -1", dlpark_layout_numel(-1, shape, out, e));
    assert_fails(DLPARK_E_RANK, "ndim is 65", dlpark_layout_compact_strides(65, shape, out, e));
    assert_fails(DLPARK_E_SHAPE, "ndim is 2", dlpark_layout_numel(2, NULL, out, e));
    assert_fails(DLPARK_E_RANK, "ndim is 65", dlpark_layout_span(65, shape, NULL, out, out + 1, e));
    assert_ok(dlpark_layout_numel(0, NULL, out, e));
    assert_int_equal(out[0], 1);
    for (int i = 0; i < 64; i++)
        shape[i] = 1;
    assert_ok(dlpark_layout_numel(64, shape, out, e));
    assert_int_equal(out[0], 1);
}

static void messages_have_the_numbers(void **state)
{
    (void)state;
    int64_t out[4], low, high;

    assert_fails(DLPARK_E_SHAPE, "shape[1] is -5", dlpark_layout_numel(2, (int64_t[]){3, -5}, out, e));
    assert_fails(DLPARK_E_OVERFLOW, "shape[2] = 4 of [6, 1152921504606846976, 4]",
                 dlpark_layout_numel(3, (int64_t[]){6, INT64_C(1) << 60, 4}, out, e));
    assert_fails(DLPARK_E_OVERFLOW, "strides[0] = 4611686018427387904",
                 dlpark_layout_span(1, (int64_t[]){4}, (int64_t[]){INT64_C(1) << 62}, &low, &high, e));
    assert_fails(DLPARK_E_OVERFLOW, "strides[0] = 9223372036854775807",
                 dlpark_layout_span(2, (int64_t[]){2, 2}, (int64_t[]){INT64_MAX, 1}, &low, &high, e));
    assert_fails(DLPARK_E_OVERFLOW, "strides[0] = -9223372036854775808",
                 dlpark_layout_span(1, (int64_t[]){2}, (int64_t[]){INT64_MIN}, &low, &high, e));
    assert_fails(DLPARK_E_OVERFLOW, "strides[0] = 9223372036854775807",
                 dlpark_layout_span(1, (int64_t[]){2}, (int64_t[]){INT64_MAX}, &low, &high, e));
    assert_fails(DLPARK_E_OVERFLOW, "shape[1] = 4",
                 dlpark_layout_span(2, (int64_t[]){INT64_MAX, 4}, NULL, &low, &high, e));
    assert_ok(dlpark_layout_numel(1, (int64_t[]){INT64_MAX}, out, e));
    assert_fails(DLPARK_E_OVERFLOW, "[9223372036854775807, 2]",
                 dlpark_layout_numel(2, (int64_t[]){INT64_MAX, 2}, out, e));
}

/* The last stride that fits, and the next one, up and down. */
static void the_reach_ends_alike_on_both_sides(void **state)
{
    (void)state;
    int64_t low, high;

    assert_ok(dlpark_layout_span(1, (int64_t[]){2}, (int64_t[]){INT64_MAX - 1}, &low, &high, e));
    assert_true(low == 0 && high == INT64_MAX - 1);
    assert_ok(dlpark_layout_span(1, (int64_t[]){2}, (int64_t[]){1 - INT64_MAX}, &low, &high, e));
    assert_true(low == 1 - INT64_MAX && high == 0);
    assert_fails(DLPARK_E_OVERFLOW,
                 "the reach in elements leaves 63 bits at shape[0] = 2 with strides[0] = -9223372036854775807, "
                 "expected less than 2^63-1 elements to either side",
                 dlpark_layout_span(1, (int64_t[]){2}, (int64_t[]){-INT64_MAX}, &low, &high, e));
    assert_fails(DLPARK_E_OVERFLOW, "strides[1] = -1, expected",
                 dlpark_layout_span(2, (int64_t[]){2, 2}, (int64_t[]){1 - INT64_MAX, -1}, &low, &high, e));
    DLTensor tensor = {.data = &low,
                       .device = {kDLOpenCL, 0},
                       .ndim = 1,
                       .dtype = DLPARK_DTYPE(kDLUInt, 1, 1),
                       .shape = (int64_t[]){2},
                       .strides = (int64_t[]){-INT64_MAX},
                       .byte_offset = INT64_MAX};
    assert_fails(DLPARK_E_OVERFLOW, "less than 2^63-1 elements", dlpark_check(&tensor, 0, NULL, e));
    tensor.strides = (int64_t[]){INT64_MAX};
    assert_fails(DLPARK_E_OVERFLOW, "less than 2^63-1 elements", dlpark_check(&tensor, 0, NULL, e));
}

/* Every fault in the words of its rule, and each of several is found. */
static void faults_are_found_for_the_judge_too(void **state)
{
    (void)state;
    dlpark__layout_fault fault;
    dlpark__span span;
    int64_t shape[] = {3, -1, 2, -4}, strides[] = {1, 1, 1, 1};

    assert_true(dlpark__layout_find_head(-2, shape, &fault));
    assert_true(fault.rule == DLPARK_RULE_RANK && fault.value == -2 && fault.limit == 0 && fault.dimension == -1);
    assert_true(dlpark__layout_find_head(65, shape, &fault));
    assert_true(fault.value == 65 && fault.limit == 64);
    assert_true(dlpark__layout_find_head(1, NULL, &fault));
    assert_int_equal(fault.rule, DLPARK_RULE_SHAPE);
    assert_string_equal(fault.text, "shape is NULL although ndim is 1");
    assert_false(dlpark__layout_find_head(0, NULL, &fault));
    assert_true(dlpark__layout_find_extent(4, shape, 0, &fault));
    assert_true(fault.rule == DLPARK_RULE_EXTENT && fault.dimension == 1 && fault.value == -1);
    assert_true(dlpark__layout_find_extent(4, shape, 2, &fault));
    assert_true(fault.dimension == 3 && fault.value == -4);
    assert_string_equal(fault.text, "shape[3] is -4");
    assert_false(dlpark__layout_find_extent(3, shape, 2, &fault));
    assert_true(dlpark__layout_find_numel(2, (int64_t[]){INT64_MAX, 2}, &span, &fault));
    assert_true(fault.rule == DLPARK_RULE_NUMEL && fault.dimension == 1 && fault.limit == INT64_MAX);
    strides[2] = INT64_MIN;
    shape[1] = 1;
    assert_true(dlpark__layout_find_reach(3, shape, strides, &span, &fault));
    assert_true(fault.rule == DLPARK_RULE_REACH && fault.dimension == 2 && fault.value == INT64_MIN);
    assert_int_equal(fault.limit, INT64_MAX - 1);
    assert_false(dlpark__layout_find_reach(2, shape, strides, &span, &fault));
    assert_true(span.lowest == 0 && span.highest == 2);
    assert_false(dlpark__layout_find_numel(3, shape, &span, &fault));
    assert_false(dlpark__layout_find_reach(3, shape, NULL, &span, &fault));
    assert_true(span.numel == 6 && span.lowest == 0 && span.highest == 5);
}

/* One list for both: the shape is read before it is written. */
static void strides_may_take_the_place_of_the_shape(void **state)
{
    (void)state;
    for (int code = 0; code < 256; code++) {
        int64_t shape[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
        int64_t strides[4];
        assert_ok(dlpark_layout_compact_strides(4, shape, strides, e));
        int64_t both[4];
        memcpy(both, shape, sizeof both);
        assert_int_equal(dlpark_layout_compact_strides(4, both, both, NULL), DLPARK_OK);
        assert_memory_equal(both, strides, sizeof both);
    }
    int64_t kept[] = {INT64_MAX, 2, -3};
    assert_fails(DLPARK_E_SHAPE, "shape[2] is -3, expected 0 or more", dlpark_layout_compact_strides(3, kept, kept, e));
    assert_fails(DLPARK_E_OVERFLOW, "expected at most 2^63-1 elements",
                 dlpark_layout_compact_strides(2, kept, kept, e));
    assert_true(kept[0] == INT64_MAX && kept[1] == 2 && kept[2] == -3);
}

static void no_elements_never_overflow(void **state)
{
    (void)state;
    int64_t shape[] = {INT64_MAX, INT64_MAX, 0}, strides[3], numel, low, high;

    assert_ok(dlpark_layout_numel(3, shape, &numel, e));
    assert_int_equal(numel, 0);
    assert_ok(dlpark_layout_compact_strides(3, shape, strides, e));
    assert_int_equal(strides[2], 1);
    assert_int_equal(strides[1], 1);
    assert_int_equal(strides[0], INT64_MAX);
    assert_ok(dlpark_layout_compact_strides(3, (int64_t[]){0, INT64_MAX, INT64_MAX}, strides, e));
    assert_int_equal(strides[0], 0);
    assert_ok(dlpark_layout_span(3, shape, (int64_t[]){INT64_MAX, INT64_MIN, 5}, &low, &high, e));
    assert_true(low == 0 && high == -1);
    assert_true(dlpark_layout_is_compact(3, (int64_t[]){0, INT64_MAX, 4}, (int64_t[]){1, 4, 1}));
}

static void null_strides_are_compact(void **state)
{
    (void)state;
    int64_t low, high;

    assert_true(dlpark_layout_is_compact(2, (int64_t[]){3, 4}, NULL));
    assert_ok(dlpark_layout_span(2, (int64_t[]){3, 4}, NULL, &low, &high, e));
    assert_true(low == 0 && high == 11);
}

static void dense_either_way(void **state)
{
    (void)state;
    int64_t shape[] = {2, 1, 3}, rows[] = {3, -7, 1}, columns[] = {1, -7, 2};

    assert_true(dlpark__layout_is_dense(3, shape, rows, false));
    assert_false(dlpark__layout_is_dense(3, shape, rows, true));
    assert_true(dlpark__layout_is_dense(3, shape, columns, true));
    assert_false(dlpark__layout_is_dense(3, shape, columns, false));
}

static void strides_pass_32_bits(void **state)
{
    (void)state;
    int64_t strides[3], low, high;

    assert_ok(dlpark_layout_compact_strides(3, (int64_t[]){2, 65536, 65536}, strides, e));
    assert_true(strides[0] == INT64_C(4294967296) && strides[1] == 65536 && strides[2] == 1);
    assert_ok(dlpark_layout_span(3, (int64_t[]){2, 65536, 65536}, strides, &low, &high, e));
    assert_true(low == 0 && high == INT64_C(8589934591));
    assert_true(dlpark_layout_is_compact(3, (int64_t[]){2, 65536, 65536}, strides));
    strides[0] = 0; /* what is left of it in 32 bits */
    assert_false(dlpark_layout_is_compact(3, (int64_t[]){2, 65536, 65536}, strides));
}

static void bytes_are_rounded_up_once(void **state)
{
    (void)state;
    int64_t out;

    for (int64_t count = 0; count < 40; count++) {
        assert_ok(dlpark_layout_nbytes(DLPARK_F6_E2M3FN, false, count, &out, e));
        assert_int_equal(out, (count * 6 + 7) / 8);
        assert_ok(dlpark_layout_nbytes(DLPARK_F6_E2M3FN, true, count, &out, e));
        assert_int_equal(out, count);
        assert_ok(dlpark_layout_nbytes(DLPARK_DTYPE(kDLInt, 4, 3), false, count, &out, e));
        assert_int_equal(out, (count * 12 + 7) / 8);
        assert_ok(dlpark_layout_nbytes(DLPARK_DTYPE(kDLInt, 4, 3), true, count, &out, e));
        assert_int_equal(out, count * 2);
    }
    assert_ok(dlpark_layout_nbytes(DLPARK_I4, false, INT64_MAX, &out, e));
    assert_int_equal(out, INT64_C(1) << 62);
    assert_ok(dlpark_layout_nbytes(DLPARK_U8, false, INT64_MAX, &out, e));
    assert_fails(DLPARK_E_OVERFLOW, "4611686018427387904 elements of f16",
                 dlpark_layout_nbytes(DLPARK_F16, false, INT64_C(1) << 62, &out, e));
    assert_fails(DLPARK_E_OVERFLOW, "i4x3",
                 dlpark_layout_nbytes(DLPARK_DTYPE(kDLInt, 4, 3), false, INT64_MAX, &out, e));
    DLDataType nine = {kDLUInt, 1, 9};
    int64_t eights = INT64_MAX / 9 * 8; /* whole bytes, with 7 left below the limit */
    assert_ok(dlpark_layout_nbytes(nine, false, eights + 6, &out, e));
    assert_int_equal(out, INT64_MAX);
    assert_fails(DLPARK_E_OVERFLOW, "u1x9", dlpark_layout_nbytes(nine, false, eights + 7, &out, e));
    assert_fails(DLPARK_E_ARGUMENT, "numel is -1, expected 0 or more",
                 dlpark_layout_nbytes(DLPARK_U8, false, -1, &out, e));
    assert_fails(DLPARK_E_DTYPE, "code 40", dlpark_layout_nbytes((DLDataType){40, 8, 1}, false, 1, &out, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_layout_agrees_with_the_oracle),
        cmocka_unit_test(compact_strides_make_compact_layouts),
        cmocka_unit_test(overflow_is_caught_exactly),
        cmocka_unit_test(rank_and_missing_shape),
        cmocka_unit_test(messages_have_the_numbers),
        cmocka_unit_test(the_reach_ends_alike_on_both_sides),
        cmocka_unit_test(faults_are_found_for_the_judge_too),
        cmocka_unit_test(strides_may_take_the_place_of_the_shape),
        cmocka_unit_test(no_elements_never_overflow),
        cmocka_unit_test(null_strides_are_compact),
        cmocka_unit_test(dense_either_way),
        cmocka_unit_test(strides_pass_32_bits),
        cmocka_unit_test(bytes_are_rounded_up_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
