#include "test.h"

#include <stdbool.h>

#include "internal.h"

enum { MANY = 1000000 };

static unsigned char memory[4096];

/* A deterministic sequence, so that a failure can be repeated. */
static uint64_t next_number(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static int64_t next_below(uint64_t *seed, uint64_t limit)
{
    return (int64_t)(next_number(seed) >> 20) % (int64_t)limit;
}

static bool next_index(int ndim, const int64_t *shape, int64_t *index)
{
    for (int i = ndim - 1; i >= 0; i--) {
        if (++index[i] < shape[i])
            return true;
        index[i] = 0;
    }
    return false;
}

/* Whether an element is met twice, by looking. Offsets stay within 256 of the middle. */
static bool overlaps_slowly(int ndim, const int64_t *shape, const int64_t *strides)
{
    bool seen[512] = {false};
    int64_t index[4] = {0};

    do {
        int64_t at = 256;
        for (int i = 0; i < ndim; i++)
            at += index[i] * strides[i];
        if (seen[at])
            return true;
        seen[at] = true;
    } while (next_index(ndim, shape, index));
    return false;
}

static void compare_self(int ndim, const int64_t *shape, const int64_t *strides)
{
    bool expected = overlaps_slowly(ndim, shape, strides);

    assert_int_equal(dlpark__overlap_layout(ndim, shape, strides, MANY),
                     expected ? DLPARK__OVERLAP_YES : DLPARK__OVERLAP_NO);
    dlpark__overlap hasty = dlpark__overlap_layout(ndim, shape, strides, 1);
    assert_true(hasty == DLPARK__OVERLAP_UNDECIDED || (hasty == DLPARK__OVERLAP_YES) == expected);
}

static void every_layout_of_rank_2(void **state)
{
    (void)state;
    for (int code = 0; code < 5 * 5 * 25 * 25; code++) {
        int64_t shape[] = {code % 5 + 1, code / 5 % 5 + 1}, strides[] = {code / 25 % 25 - 12, code / 625 - 12};
        compare_self(2, shape, strides);
    }
}

static void layouts_of_rank_3_and_4(void **state)
{
    (void)state;
    uint64_t seed = 20261130;

    for (int code = 0; code < 20000; code++) {
        int64_t shape[4], strides[4];
        for (int i = 0; i < 4; i++) {
            shape[i] = next_below(&seed, 4) + 1;
            strides[i] = next_below(&seed, 41) - 20;
        }
        compare_self(3 + code % 2, shape, strides);
    }
}

/* Three coin values of which no two make each other: only the three together come back to where they started. */
static void what_no_pair_shows_is_found(void **state)
{
    (void)state;
    assert_int_equal(dlpark__overlap_layout(3, (int64_t[]){2, 2, 2}, (int64_t[]){3, 5, 8}, MANY), DLPARK__OVERLAP_YES);
    assert_int_equal(dlpark__overlap_layout(3, (int64_t[]){2, 2, 2}, (int64_t[]){3, 5, 9}, MANY), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(3, (int64_t[]){2, 2, 2}, (int64_t[]){3, 5, 8}, 0),
                     DLPARK__OVERLAP_UNDECIDED);
}

static void large_layouts_are_decided_in_few_steps(void **state)
{
    (void)state;
    int64_t batch[] = {64, 3, 1080, 1920};

    assert_int_equal(dlpark__overlap_layout(4, batch, (int64_t[]){6220800, 2073600, 1920, 1}, 10), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(4, batch, (int64_t[]){6220800, 1, 5760, 3}, 10), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(4, batch, (int64_t[]){6220800, -1, 5759, 3}, 10), DLPARK__OVERLAP_YES);
    assert_int_equal(dlpark__overlap_layout(2, (int64_t[]){1000, 16}, (int64_t[]){1, 1}, 10), DLPARK__OVERLAP_YES);
    assert_int_equal(dlpark__overlap_layout(0, NULL, NULL, 10), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(1, (int64_t[]){1}, (int64_t[]){INT64_MIN}, 10), DLPARK__OVERLAP_NO);
}

static void far_strides_are_decided(void **state)
{
    (void)state;
    int64_t one = (INT64_C(1) << 40) + 1, two = (INT64_C(1) << 39) + 5, shape[] = {2, 2, 2};

    assert_int_equal(dlpark__overlap_layout(2, shape, (int64_t[]){one, two}, 10), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(3, shape, (int64_t[]){one, one + two, two}, 10), DLPARK__OVERLAP_YES);
    assert_int_equal(dlpark__overlap_layout(3, shape, (int64_t[]){one, one + two + 1, two}, 10), DLPARK__OVERLAP_NO);
}

/* However large the numbers and however few the steps. */
static void strides_beyond_the_smaller_ones_are_decided(void **state)
{
    (void)state;
    int64_t two[] = {2, 2}, three[] = {2, 3, 2}, far = INT64_C(1) << 61;

    assert_int_equal(dlpark__overlap_layout(2, two, (int64_t[]){far, 1}, 0), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(2, two, (int64_t[]){1, -far}, 0), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(2, two, (int64_t[]){INT64_MAX - 2, 1}, 0), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(3, three, (int64_t[]){far + 1, far / 2, 1}, 0), DLPARK__OVERLAP_UNDECIDED);
    assert_int_equal(dlpark__overlap_layout(3, three, (int64_t[]){far + 2, far / 2, 1}, 0), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(2, two, (int64_t[]){far / 4, far / 4}, 0), DLPARK__OVERLAP_YES);
    assert_int_equal(dlpark__overlap_layout(2, two, (int64_t[]){far, 0}, 0), DLPARK__OVERLAP_YES);
}

static void numbers_beyond_63_bits_are_undecided(void **state)
{
    (void)state;
    int64_t shape[] = {3, 2};

    assert_int_equal(dlpark__overlap_layout(2, shape, (int64_t[]){INT64_MIN, 1}, MANY), DLPARK__OVERLAP_UNDECIDED);
    int64_t far = INT64_C(1) << 61;
    assert_int_equal(dlpark__overlap_layout(2, (int64_t[]){2, 3}, (int64_t[]){far + 1, far / 2 + 1}, MANY),
                     DLPARK__OVERLAP_UNDECIDED);
    assert_int_equal(dlpark__overlap_layout(2, shape, (int64_t[]){1 - (INT64_C(1) << 59), 1}, MANY),
                     DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_layout(3, (int64_t[]){1 << 16, 1 << 16, 3},
                                            (int64_t[]){(INT64_C(1) << 39) - 1, (INT64_C(1) << 39) - 3, 1 << 30}, MANY),
                     DLPARK__OVERLAP_NO);
}

/* ---- Two views ---- */

static dlpark_view view_of(int32_t ndim, const int64_t *shape, const int64_t *strides, DLDataType dtype, int64_t at)
{
    dlpark_view view;
    DLTensor tensor = {
        memory + at, {kDLCPU, 0}, ndim, dtype, (int64_t *)(uintptr_t)shape, (int64_t *)(uintptr_t)strides, 0};

    assert_int_equal(dlpark_check(&tensor, 0, &view, NULL), DLPARK_OK);
    return view;
}

/* Goes through the bits of a view in a map of `memory`: sets them, or says whether one of them is set. */
static bool visit(const dlpark_view *view, bool *bits, bool set)
{
    int64_t nbits = dlpark_dtype_nbits(view->dtype), index[4] = {0};
    bool met = false;

    do {
        int64_t at = (int64_t)((unsigned char *)view->data - memory) * 8 + view->bit_offset;
        for (int i = 0; i < view->ndim; i++)
            at += index[i] * view->strides[i] * nbits;
        for (int64_t bit = 0; bit < nbits; bit++) {
            met |= bits[at + bit];
            bits[at + bit] |= set;
        }
    } while (next_index(view->ndim, view->shape, index));
    return met;
}

static void compare_two(const dlpark_view *a, const dlpark_view *b)
{
    static bool bits[8 * sizeof memory];
    bool packed = dlpark_dtype_is_packed(a->dtype) && dlpark_dtype_is_packed(b->dtype);

    memset(bits, 0, sizeof bits);
    (void)visit(a, bits, true);
    bool expected = visit(b, bits, false);

    dlpark__overlap found = dlpark__overlap_two(a, b, MANY), other = dlpark__overlap_two(b, a, MANY);
    assert_int_equal(found, other);
    if (found == DLPARK__OVERLAP_UNDECIDED)
        assert_true(packed && !expected);
    else
        assert_int_equal(found, expected ? DLPARK__OVERLAP_YES : DLPARK__OVERLAP_NO);
    dlpark__overlap hasty = dlpark__overlap_two(a, b, 0);
    assert_true(hasty == DLPARK__OVERLAP_UNDECIDED || hasty == found);
}

static void pairs_of_views(void **state)
{
    (void)state;
    static const DLDataType dtypes[] = {
        {kDLUInt, 8, 1}, {kDLFloat, 32, 1}, {kDLFloat, 16, 3}, {kDLInt, 4, 1}, {kDLFloat6_e2m3fn, 6, 1}};
    uint64_t seed = 7;

    for (int code = 0; code < 3000; code++) {
        dlpark_view views[2];
        for (int k = 0; k < 2; k++) {
            int64_t shape[3], strides[3];
            for (int i = 0; i < 3; i++) {
                shape[i] = next_below(&seed, 4) + 1;
                strides[i] = next_below(&seed, 25) - 12;
            }
            DLDataType dtype = dtypes[next_below(&seed, 5)];
            views[k] = view_of(1 + code % 3, shape, strides, dtype, 2000 + next_below(&seed, 48));
            if (dlpark_dtype_is_packed(dtype))
                views[k].bit_offset = (uint32_t)next_below(&seed, 4) * 2;
        }
        compare_two(&views[0], &views[1]);
    }
}

static void parts_of_a_picture_do_not_meet(void **state)
{
    (void)state;
    int64_t half[] = {30, 20}, rows[] = {64, 1}, plane[] = {30, 20}, pixels[] = {60, 3};
    dlpark_view left = view_of(2, half, rows, DLPARK_U8, 0), right = view_of(2, half, rows, DLPARK_U8, 20);
    dlpark_view wide = view_of(2, half, rows, DLPARK_U8, 19);
    dlpark_view red = view_of(2, plane, pixels, DLPARK_U8, 0), blue = view_of(2, plane, pixels, DLPARK_U8, 2);

    assert_int_equal(dlpark__overlap_two(&left, &right, 4), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_two(&left, &wide, 4), DLPARK__OVERLAP_YES);
    assert_int_equal(dlpark__overlap_two(&red, &blue, 0), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_two(&red, &red, 4), DLPARK__OVERLAP_YES);
    assert_int_equal(dlpark__overlap_self(&red, 4), DLPARK__OVERLAP_NO);
    red.strides[0] = 30;
    assert_int_equal(dlpark__overlap_self(&red, 4), DLPARK__OVERLAP_YES);
}

static void no_elements_meet_nothing(void **state)
{
    (void)state;
    int64_t none[] = {0, 5}, some[] = {2, 5}, strides[] = {0, 0};
    dlpark_view empty = view_of(2, none, strides, DLPARK_U8, 0), full = view_of(2, some, strides, DLPARK_U8, 0);

    assert_int_equal(dlpark__overlap_two(&empty, &full, MANY), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_two(&full, &empty, MANY), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_self(&empty, MANY), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_self(&full, MANY), DLPARK__OVERLAP_YES);
}

static void padded_elements_have_whole_bytes(void **state)
{
    (void)state;
    int64_t shape[] = {2}, strides[] = {1};
    dlpark_view a = view_of(1, shape, strides, DLPARK_I4, 0), b = view_of(1, shape, strides, DLPARK_I4, 1);

    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_NO);
    a.flags |= DLPARK_VIEW_PADDED;
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_YES);
}

static void handles_are_compared_by_offset(void **state)
{
    (void)state;
    int64_t shape[] = {8}, strides[] = {1};
    dlpark_view host = view_of(1, shape, strides, DLPARK_U8, 0), a = host, b = host;

    a.device.device_type = b.device.device_type = kDLOpenCL;
    assert_int_equal(dlpark__overlap_two(&a, &host, MANY), DLPARK__OVERLAP_NO);
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_YES);
    b.byte_offset = 7;
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_YES);
    b.byte_offset = 8;
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_NO);
    b.byte_offset = 0;
    b.data = memory + 1;
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_NO);
}

static void far_views_are_undecided_where_they_might_meet(void **state)
{
    (void)state;
    int64_t shape[] = {2, 2}, near[] = {2, 1};
    dlpark_view a = view_of(2, shape, near, DLPARK_U8, 0), b;

    a.device.device_type = kDLMetal;
    a.strides[0] = INT64_C(1) << 60;
    b = a;
    b.byte_offset = UINT64_C(1) << 59;
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_UNDECIDED);
    b.byte_offset = 1;
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_YES);

    a.strides[0] = (INT64_C(1) << 61) + 1;
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_UNDECIDED);

    /* An odd bit makes bits the unit, in which the strides are too large. */
    a.dtype = b.dtype = DLPARK_I4;
    a.byte_offset = b.byte_offset = UINT64_C(1) << 60;
    b.bit_offset = 1;
    a.strides[0] = INT64_C(1) << 61;
    b.strides[0] = 4;
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_UNDECIDED);
    a.strides[0] = -a.strides[0];
    assert_int_equal(dlpark__overlap_two(&a, &b, MANY), DLPARK__OVERLAP_UNDECIDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_of_rank_2),
        cmocka_unit_test(layouts_of_rank_3_and_4),
        cmocka_unit_test(what_no_pair_shows_is_found),
        cmocka_unit_test(large_layouts_are_decided_in_few_steps),
        cmocka_unit_test(far_strides_are_decided),
        cmocka_unit_test(strides_beyond_the_smaller_ones_are_decided),
        cmocka_unit_test(numbers_beyond_63_bits_are_undecided),
        cmocka_unit_test(pairs_of_views),
        cmocka_unit_test(parts_of_a_picture_do_not_meet),
        cmocka_unit_test(no_elements_meet_nothing),
        cmocka_unit_test(padded_elements_have_whole_bytes),
        cmocka_unit_test(handles_are_compared_by_offset),
        cmocka_unit_test(far_views_are_undecided_where_they_might_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
