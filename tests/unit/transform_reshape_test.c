#include "transform_oracle.h"

/* ---- Every small reshape ---- */

/*
 * Whether strides exist that put the elements of `view` in another shape, and which: the stride of a dimension can only
 * be the distance from element 0 to the next along it, so it is measured, and then every element is tried.
 */
static bool reshape_slowly(const dlpark_view *view, int ndim, const int64_t *shape, int64_t *strides)
{
    int64_t width = oracle_width(view->dtype, view->flags), numel = oracle_numel(ndim, shape);
    int64_t origin = oracle_bit(view, (int64_t[6]){0}), from[6], index[4];

    for (int i = ndim - 1, apart = 1; i >= 0; apart *= (int)shape[i], i--) {
        oracle_unravel(view->ndim, view->shape, shape[i] > 1 ? apart : 0, from);
        strides[i] = (oracle_bit(view, from) - origin) / width;
    }
    for (int64_t n = 0; n < numel; n++) {
        int64_t at = origin;
        oracle_unravel(view->ndim, view->shape, n, from);
        oracle_unravel(ndim, shape, n, index);
        for (int i = 0; i < ndim; i++)
            at += index[i] * strides[i] * width;
        if (at != oracle_bit(view, from))
            return false;
    }
    return true;
}

static void try_reshape(const dlpark_view *view, int ndim, const int64_t *shape)
{
    int64_t strides[4];
    dlpark_view after;

    memcpy(&after, view, sizeof after);
    if (!reshape_slowly(view, ndim, shape, strides)) {
        assert_refused(DLPARK_E_LAYOUT, "would continue dimension", after, dlpark_view_reshape(&after, ndim, shape, e));
        return;
    }
    assert_ok(dlpark_view_reshape(&after, ndim, shape, e));
    oracle_check_invariants(view, &after);
    assert_shape(&after, ndim, shape);
    assert_ptr_equal(after.data, view->data);
    assert_int_equal(after.byte_offset, view->byte_offset);
    assert_int_equal(after.bit_offset, view->bit_offset);
    for (int i = 0; i < ndim; i++)
        if (shape[i] > 1)
            assert_int_equal(after.strides[i], strides[i]);
    for (int i = 0; i < ndim; i++) { /* each extent in turn left to be worked out */
        int64_t open[4];
        dlpark_view again = *view;
        memcpy(open, shape, sizeof open);
        open[i] = -1;
        assert_ok(dlpark_view_reshape(&again, ndim, open, e));
        assert_shape(&again, ndim, shape);
    }
}

/* Every shape of rank 0 to 4 that has as many elements. */
static void visit_reshape(const dlpark_view *view)
{
    int64_t numel = oracle_numel(view->ndim, view->shape);

    if (numel == 0)
        return;
    if (numel == 1)
        try_reshape(view, 0, (int64_t[4]){0});
    for (int64_t a = 1; a <= numel; a++) {
        if (numel % a != 0)
            continue;
        for (int64_t b = 1; b <= numel / a; b++) {
            if (numel / a % b != 0)
                continue;
            if (a * b == numel)
                try_reshape(view, 2, (int64_t[4]){a, b});
            for (int64_t c = 1; c <= numel / a / b; c++) {
                if (numel / a / b % c != 0)
                    continue;
                if (a * b * c == numel)
                    try_reshape(view, 3, (int64_t[4]){a, b, c});
                try_reshape(view, 4, (int64_t[4]){a, b, c, numel / a / b / c});
            }
        }
    }
    try_reshape(view, 1, (int64_t[4]){numel});
}

static void reshape_exists_where_strides_do(void **state)
{
    (void)state;
    oracle_each_of_rank(0, DLPARK_DEVICE_CPU, DLPARK_F32, 0, visit_reshape);
    oracle_each_of_rank(1, DLPARK_DEVICE_CPU, DLPARK_F6_E2M3FN, 0, visit_reshape);
    oracle_each_of_rank(2, DLPARK_DEVICE(kDLMetal, 0), DLPARK_U16, DLPACK_FLAG_BITMASK_READ_ONLY, visit_reshape);
    oracle_each_of_rank(3, DLPARK_DEVICE_CPU, DLPARK_U8, 0, visit_reshape);
}

/* Three dimensions that join in all ways: the strides of a compact or a permuted block, with one row left out. */
static void reshape_of_joined_runs(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 3, 4};
    static const int64_t layouts[][3] = {{12, 4, 1}, {24, 4, 1}, {12, 5, 1}, {-12, -4, -1},
                                         {4, 8, 1},  {24, 8, 2}, {0, 0, 0}};

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        dlpark_view view = oracle_cpu(DLPARK_F32, 3, shape, layouts[i]);
        visit_reshape(&view);
    }
}

/* The same of four dimensions and more, with a row that ends at each of them. */
static void reshape_of_rows_cut_anywhere(void **state)
{
    (void)state;
    static const int64_t shape[] = {2, 3, 2, 1, 2, 2}, compact[] = {24, 8, 4, 4, 2, 1};

    for (int ndim = 4; ndim <= 6; ndim++)
        for (int cut = 0; cut <= 6; cut++) {
            int64_t strides[6];
            for (int i = 0; i < 6; i++)
                strides[i] = compact[i] + (i == 3 ? cut == 3 : i < cut ? compact[i] : 0);
            dlpark_view view = oracle_cpu(DLPARK_F32, ndim, shape + 6 - ndim, strides + 6 - ndim);
            visit_reshape(&view);
        }
}

/* ---- NumPy ---- */

/* What NumPy 2.4 answers, in elements; strides of extents of 1 included. Its own shape keeps whatever strides it has. */
static void strides_of_extents_of_1_are_numpys(void **state)
{
    (void)state;
    static const struct {
        int ndim;
        int64_t shape[4], strides[4];
        int to_ndim;
        int64_t to_shape[5], to_strides[5];
    } rows[] = {
        {2, {2, 3}, {10, 2}, 4, {1, 2, 1, 3}, {20, 10, 6, 2}},
        {2, {2, 3}, {10, 2}, 5, {2, 1, 3, 1, 1}, {10, 6, 2, 2, 2}},
        {3, {2, 1, 3}, {10, 77, 2}, 3, {2, 3, 1}, {10, 2, 2}},
        {3, {2, 1, 3}, {10, 77, 2}, 3, {2, 1, 3}, {10, 77, 2}},
        {2, {1, 1}, {55, 77}, 3, {1, 1, 1}, {1, 1, 1}},
        {2, {4, 3}, {-20, 2}, 5, {1, 2, 1, 2, 3}, {-80, -40, -40, -20, 2}},
        {4, {2, 1, 3, 4}, {50, 77, 4, 1}, 3, {2, 1, 12}, {50, 12, 1}},
        {4, {2, 1, 3, 4}, {50, 77, 4, 1}, 5, {2, 1, 3, 1, 4}, {50, 12, 4, 4, 1}},
        {4, {2, 1, 3, 4}, {50, 77, 4, 1}, 4, {2, 1, 3, 4}, {50, 77, 4, 1}},
        {2, {3, 1}, {1, 77}, 2, {1, 3}, {3, 1}},
        {2, {2, 3}, {10, 2}, 3, {2, 3, 1}, {10, 2, 2}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dlpark_view view = oracle_cpu(DLPARK_U8, rows[i].ndim, rows[i].shape, rows[i].strides);
        assert_ok(dlpark_view_reshape(&view, rows[i].to_ndim, rows[i].to_shape, e));
        assert_shape(&view, rows[i].to_ndim, rows[i].to_shape);
        for (int j = 0; j < rows[i].to_ndim; j++)
            assert_int_equal(view.strides[j], rows[i].to_strides[j]);
    }
}

/* ---- No elements ---- */

static void reshape_without_elements(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){0, 3}, (int64_t[]){INT64_MIN, 7}), kept = view;

    assert_ok(dlpark_view_reshape(&view, 3, (int64_t[]){5, 0, 2}, e));
    assert_shape(&view, 3, (int64_t[]){5, 0, 2});
    assert_null(view.data);
    assert_int_equal(view.strides[0], 2);
    assert_int_equal(view.strides[2], 1);
    view = kept;
    assert_ok(dlpark_view_reshape(&view, 2, (int64_t[]){-1, 3}, e));
    assert_shape(&view, 2, (int64_t[]){0, 3});
    view = kept;
    assert_ok(dlpark_view_reshape(&view, 3, (int64_t[]){INT64_MAX, INT64_MAX, 0}, e));
    assert_shape(&view, 3, (int64_t[]){INT64_MAX, INT64_MAX, 0});
    assert_int_equal(dlpark_view_numel(&view), 0);
    kept.bit_offset = 0;
    assert_refused(DLPARK_E_SHAPE, "cannot reshape [0, 3] to [0, -1]: beside an extent of 0, -1 could be any number",
                   kept, dlpark_view_reshape(&kept, 2, (int64_t[]){0, -1}, e));
    assert_refused(DLPARK_E_SHAPE, "cannot reshape [0, 3], 0 elements, to [2], 2 elements", kept,
                   dlpark_view_reshape(&kept, 1, (int64_t[]){2}, e));
}

/* ---- Refusals ---- */

static void reshape_names_both_counts(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 6}, NULL);

    assert_refused(DLPARK_E_SHAPE, "cannot reshape [2, 6], 12 elements, to [5, 2], 10 elements", view,
                   dlpark_view_reshape(&view, 2, (int64_t[]){5, 2}, e));
    assert_refused(DLPARK_E_SHAPE, "cannot reshape [2, 6], 12 elements, to [7], 7 elements", view,
                   dlpark_view_reshape(&view, 1, (int64_t[]){7}, e));
    assert_refused(DLPARK_E_SHAPE, "cannot reshape [2, 6] to [5, -1]: 12 elements are no multiple of 5", view,
                   dlpark_view_reshape(&view, 2, (int64_t[]){5, -1}, e));
    assert_refused(DLPARK_E_SHAPE, "no multiple of 24", view, dlpark_view_reshape(&view, 2, (int64_t[]){-1, 24}, e));
    assert_refused(DLPARK_E_SHAPE, "shape[0] and shape[2] are both -1", view,
                   dlpark_view_reshape(&view, 3, (int64_t[]){-1, 2, -1}, e));
    assert_refused(DLPARK_E_SHAPE, "shape[1] is -2, expected 0 or more, or -1 once", view,
                   dlpark_view_reshape(&view, 2, (int64_t[]){-1, -2}, e));
    assert_refused(DLPARK_E_SHAPE, "12 elements, to [0, 3], 0 elements", view,
                   dlpark_view_reshape(&view, 2, (int64_t[]){0, 3}, e));
    assert_refused(DLPARK_E_SHAPE, "12 elements, to [4611686018427387904, 4], more than 2^63-1", view,
                   dlpark_view_reshape(&view, 2, (int64_t[]){INT64_C(1) << 62, 4}, e));
    assert_refused(DLPARK_E_SHAPE, "12 elements, to [4, 2305843009213693952, 2, 2], more than 2^63-1", view,
                   dlpark_view_reshape(&view, 4, (int64_t[]){4, INT64_C(1) << 61, 2, 2}, e));
    assert_refused(DLPARK_E_SHAPE, "more than 2^63-1", view,
                   dlpark_view_reshape(&view, 4, (int64_t[]){3, 4, INT64_C(1) << 62, 2}, e));
    assert_refused(DLPARK_E_SHAPE, "more than 2^63-1", view,
                   dlpark_view_reshape(&view, 4, (int64_t[]){3, INT64_C(1) << 60, 4, 2}, e));
    assert_refused(DLPARK_E_SHAPE, "shape[0] is -3", view, dlpark_view_reshape(&view, 2, (int64_t[]){-3, -4}, e));
    assert_refused(DLPARK_E_SHAPE, "shape[1] is -4", view, dlpark_view_reshape(&view, 2, (int64_t[]){3, -4}, e));
    assert_refused(DLPARK_E_SHAPE, "shape[0] and shape[1] are both -1", view,
                   dlpark_view_reshape(&view, 4, (int64_t[]){-1, -1, -1, 12}, e));
    assert_refused(DLPARK_E_SHAPE, "shape[0] is -9223372036854775808", view,
                   dlpark_view_reshape(&view, 2, (int64_t[]){INT64_MIN, 1}, e));
    assert_refused(DLPARK_E_SHAPE, "shape is NULL although ndim is 2", view, dlpark_view_reshape(&view, 2, NULL, e));
    assert_refused(DLPARK_E_RANK, "ndim is -1", view, dlpark_view_reshape(&view, -1, view.shape, e));
    assert_refused(DLPARK_E_RANK, "ndim is 65", view, dlpark_view_reshape(&view, 65, view.shape, e));
    view = oracle_cpu(DLPARK_F32, 0, NULL, NULL);
    assert_ok(dlpark_view_reshape(&view, 0, NULL, e));
    assert_ok(dlpark_view_reshape(&view, 1, (int64_t[]){-1}, e));
    assert_shape(&view, 1, (int64_t[]){1});
    assert_ok(dlpark_view_reshape(&view, 0, NULL, e));
    assert_int_equal(view.ndim, 0);
}

static void reshape_names_the_dimension_in_the_way(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 3, (int64_t[]){3, 4, 5}, (int64_t[]){20, 1, 4});

    assert_refused(DLPARK_E_LAYOUT,
                   "strides[1] is 1, where 20 would continue dimension 2: copy to a compact tensor first, to reshape "
                   "[3, 4, 5] with strides [20, 1, 4] to [3, -1]",
                   view, dlpark_view_reshape(&view, 2, (int64_t[]){3, -1}, e));
    view = oracle_cpu(DLPARK_F32, 3, (int64_t[]){3, 4, 5}, (int64_t[]){30, 5, 1});
    assert_refused(DLPARK_E_LAYOUT, "strides[0] is 30, where 20 would continue dimension 1", view,
                   dlpark_view_reshape(&view, 1, (int64_t[]){60}, e));
}

/* However long the lists are. */
static void reshape_names_the_dimension_of_a_long_view(void **state)
{
    (void)state;
    int64_t shape[64], strides[64], halves[64];

    for (int i = 0; i < 64; i++) {
        shape[i] = strides[i] = halves[i] = 1;
        if (i > 50)
            strides[i] = 1000000000 - i;
    }
    shape[62] = shape[63] = 2;
    strides[62] = 7;
    halves[0] = 4;
    dlpark_view view = oracle_cpu(DLPARK_U8, 64, shape, strides);
    assert_refused(DLPARK_E_LAYOUT, "strides[62] is 7, where 1999999874 would continue dimension 63: copy to a compact",
                   view, dlpark_view_reshape(&view, 64, halves, e));
}

/* The stride that would continue the last dimension leaves 63 bits; modulo 2^64 it is the one that is there. */
static void reshape_of_far_strides(void **state)
{
    (void)state;
    int64_t far = (INT64_C(1) << 62) + 1, strides[] = {INT64_MIN + 2, far};
    DLTensor tensor = {
        .device = {kDLCUDA, 0}, .ndim = 2, .dtype = DLPARK_U8, .shape = (int64_t[]){2, 2}, .strides = strides};
    dlpark_view view;

    if (sizeof(void *) < 8)
        return; /* no such address */
    tensor.data = (void *)(UINTPTR_MAX / 2);
    memset(&view, 0xC3, sizeof view);
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_LAYOUT, "strides[0] is -9223372036854775806", view,
                   dlpark_view_reshape(&view, 1, (int64_t[]){4}, e));
}

/* More elements than 32 bits count. */
static void reshape_of_many_elements(void **state)
{
    (void)state;
    int64_t many = INT64_C(3) << 33;
    dlpark_view view = oracle_view(DLPARK_DEVICE(kDLMetal, 0), DLPARK_U8, 0, 1, &many, NULL);

    assert_ok(dlpark_view_reshape(&view, 3, (int64_t[]){1 << 20, -1, 1 << 10}, e));
    assert_shape(&view, 3, (int64_t[]){1 << 20, 24, 1 << 10});
    assert_int_equal(view.strides[0], 24 << 10);
    assert_ok(dlpark_view_reshape(&view, 2, (int64_t[]){-1, many}, e));
    assert_shape(&view, 2, (int64_t[]){1, many});
}

/* ---- Many dimensions, and a shape that lies in the view ---- */

static void reshape_of_many_dimensions(void **state)
{
    (void)state;
    int64_t shape[64], open[64];
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){4, 16}, (int64_t[]){100, 3});

    for (int i = 0; i < 64; i++)
        shape[i] = open[i] = i % 8 == 0 && i < 48 ? 2 : 1;
    open[63] = -1;
    assert_ok(dlpark_view_reshape(&view, 64, open, e));
    assert_shape(&view, 64, shape);
    assert_int_equal(view.strides[0], 200);
    assert_int_equal(view.strides[8], 100);
    assert_int_equal(view.strides[40], 3);
    assert_refused(DLPARK_E_LAYOUT, "strides[8] is 100, where 48 would continue dimension 16", view,
                   dlpark_view_reshape(&view, 9, (int64_t[]){64, 1, 1, 1, 1, 1, 1, 1, 1}, e));
    assert_ok(dlpark_view_reshape(&view, 2, (int64_t[]){4, -1}, e));
    assert_shape(&view, 2, (int64_t[]){4, 16});
}

/* The dimensions before the last stay, but there are no more than 64. */
static void reshape_after_many_dimensions(void **state)
{
    (void)state;
    int64_t shape[65], strides[62] = {0};

    for (int i = 0; i < 65; i++)
        shape[i] = i < 62 ? 2 : 1;
    strides[61] = 1;
    dlpark_view view = oracle_cpu(DLPARK_U8, 62, shape, strides);
    assert_refused(DLPARK_E_RANK, "ndim is 65", view, dlpark_view_reshape(&view, 65, shape, e));
    shape[61] = 1;
    shape[62] = -1;
    assert_ok(dlpark_view_reshape(&view, 64, shape, e));
    shape[62] = 2;
    assert_shape(&view, 64, shape);
    assert_int_equal(view.strides[60], 0);
    assert_int_equal(view.strides[62], 1);
}

static void reshape_to_a_part_of_its_own_shape(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 4, (int64_t[]){1, 1, 3, 5}, NULL);

    assert_ok(dlpark_view_reshape(&view, 2, &view.shape[2], e));
    assert_shape(&view, 2, (int64_t[]){3, 5});
    assert_int_equal(view.strides[0], 5);
    view.strides[0] = 7;
    assert_ok(dlpark_view_reshape(&view, 2, view.shape, e));
    assert_int_equal(view.strides[0], 7);
    view = oracle_cpu(DLPARK_F32, 4, (int64_t[]){1, 5, 3, 1}, NULL);
    assert_ok(dlpark_view_reshape(&view, 3, &view.shape[1], e));
    assert_shape(&view, 3, (int64_t[]){5, 3, 1});
    assert_int_equal(view.strides[0], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshape_exists_where_strides_do),
        cmocka_unit_test(reshape_of_joined_runs),
        cmocka_unit_test(reshape_of_rows_cut_anywhere),
        cmocka_unit_test(strides_of_extents_of_1_are_numpys),
        cmocka_unit_test(reshape_without_elements),
        cmocka_unit_test(reshape_names_both_counts),
        cmocka_unit_test(reshape_names_the_dimension_in_the_way),
        cmocka_unit_test(reshape_names_the_dimension_of_a_long_view),
        cmocka_unit_test(reshape_of_far_strides),
        cmocka_unit_test(reshape_of_many_elements),
        cmocka_unit_test(reshape_after_many_dimensions),
        cmocka_unit_test(reshape_of_many_dimensions),
        cmocka_unit_test(reshape_to_a_part_of_its_own_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
