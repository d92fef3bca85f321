#include "transform_oracle.h"

/* ---- permute, transpose ---- */

static void permute_map(const int64_t *index, int64_t *from, const void *how)
{
    const int *order = how;

    for (int i = 0; i < 3; i++)
        from[order[i]] = index[i];
}

static void visit_permute(const dlpark_view *view)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    for (int i = 0; i < 6; i++) {
        int order[3];
        dlpark_view after = *view;
        for (int j = 0; j < view->ndim; j++)
            order[j] = orders[i][j] >= view->ndim ? -1 : orders[i][j];
        if (view->ndim < 3 && (i > 0 && !(view->ndim == 2 && i == 2)))
            continue; /* the orders of three cover those of two and one twice */
        for (int j = 0; j < view->ndim; j++)
            order[j] -= (i + j) % 2 ? view->ndim : 0; /* half of them from the end */
        assert_ok(dlpark_view_permute(&after, view->ndim, view->ndim == 0 ? NULL : order, e));
        assert_int_equal(after.ndim, view->ndim);
        for (int j = 0; j < view->ndim; j++)
            assert_int_equal(after.shape[j], view->shape[orders[i][j]]);
        oracle_compare(view, &after, permute_map, orders[i]);
    }
}

static void permute_moves_no_element(void **state)
{
    (void)state;
    oracle_each(3, visit_permute);
}

/* Rank 64, by every step that goes round all dimensions, so that the order is one ring or several. */
static void permute_of_many_dimensions(void **state)
{
    (void)state;
    for (int step = 0; step < 64; step++) {
        int64_t shape[64], strides[64];
        int order[64];
        for (int i = 0; i < 64; i++) {
            shape[i] = i % 8 == 7 ? 2 : 1;
            strides[i] = 100 + i;
            order[i] = step % 2 ? (i * step + 5) % 64 : i ^ step;
        }
        dlpark_view view = oracle_cpu(DLPARK_U8, 64, shape, strides);
        assert_ok(dlpark_view_permute(&view, 64, order, e));
        for (int i = 0; i < 64; i++) {
            assert_int_equal(view.strides[i], 100 + order[i]);
            assert_int_equal(view.shape[i], order[i] % 8 == 7 ? 2 : 1);
        }
    }
}

/* Every list of 2, 3 and 4 entries, right or not, against the plain rule: each dimension once, from either end. */
static void try_order(int ndim, const int *order)
{
    static const int64_t shape[] = {2, 3, 4, 5}, strides[] = {77, -9, 0, 200};
    dlpark_view view = oracle_cpu(DLPARK_U8, ndim, shape, strides);
    int seen = 0;

    for (int i = 0; i < ndim; i++)
        if (order[i] >= -ndim && order[i] < ndim)
            seen |= 1 << (order[i] + ndim) % ndim;
    if (seen != (1 << ndim) - 1) {
        assert_refused(DLPARK_E_ARGUMENT, "order[", view, dlpark_view_permute(&view, ndim, order, e));
        return;
    }
    assert_ok(dlpark_view_permute(&view, ndim, order, e));
    for (int i = 0; i < ndim; i++) {
        assert_int_equal(view.shape[i], shape[(order[i] + ndim) % ndim]);
        assert_int_equal(view.strides[i], strides[(order[i] + ndim) % ndim]);
    }
}

static void permute_of_every_short_list(void **state)
{
    (void)state;
    static const int entries[] = {0, 1, 2, 3, 4, -1, -2, -4, -5, 33, 0x10000002};
    enum { COUNT = sizeof entries / sizeof *entries };

    for (int n = 0; n < COUNT * COUNT * COUNT * COUNT; n++) {
        int order[4];
        for (int i = 0, rest = n; i < 4; i++, rest /= COUNT)
            order[i] = entries[rest % COUNT];
        try_order(4, order);
        if (n < COUNT * COUNT * COUNT)
            try_order(3, order);
        if (n < COUNT * COUNT)
            try_order(2, order);
    }
}

static void permute_refuses_what_is_no_order(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 3, (int64_t[]){2, 3, 4}, NULL);

    assert_refused(DLPARK_E_RANK, "the order has 2 dimensions, the view has 3", view,
                   dlpark_view_permute(&view, 2, (int[]){0, 1}, e));
    assert_refused(DLPARK_E_RANK, "has -1 dimensions", view, dlpark_view_permute(&view, -1, NULL, e));
    assert_refused(DLPARK_E_ARGUMENT, "order is NULL although the rank is 3", view,
                   dlpark_view_permute(&view, 3, NULL, e));
    assert_refused(DLPARK_E_ARGUMENT, "order[1] is 3, expected -3 to 2", view,
                   dlpark_view_permute(&view, 3, (int[]){0, 3, 1}, e));
    assert_refused(DLPARK_E_ARGUMENT, "order[0] is -4", view, dlpark_view_permute(&view, 3, (int[]){-4, 1, 1}, e));
    assert_refused(DLPARK_E_ARGUMENT, "order[0] and order[2] are both dimension 2", view,
                   dlpark_view_permute(&view, 3, (int[]){2, 0, -1}, e));
    assert_refused(DLPARK_E_ARGUMENT, "order[0] is -2147483648", view,
                   dlpark_view_permute(&view, 3, (int[]){INT32_MIN, INT32_MAX, 0}, e));
}

static void transpose_map(const int64_t *index, int64_t *from, const void *how)
{
    const int *dims = how;

    memcpy(from, index, 3 * sizeof *from);
    from[dims[0]] = index[dims[1]];
    from[dims[1]] = index[dims[0]];
}

static void visit_transpose(const dlpark_view *view)
{
    for (int i = 0; i < view->ndim; i++)
        for (int j = 0; j < view->ndim; j++) {
            dlpark_view after = *view;
            assert_ok(dlpark_view_transpose(&after, i, j - view->ndim, e));
            assert_int_equal(after.shape[i], view->shape[j]);
            assert_int_equal(after.shape[j], view->shape[i]);
            oracle_compare(view, &after, transpose_map, (int[]){i, j});
        }
}

static void transpose_swaps_two_dimensions(void **state)
{
    (void)state;
    oracle_each(3, visit_transpose);
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension 2, expected -2 to 1", view,
                   dlpark_view_transpose(&view, 2, 0, e));
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension -3", view, dlpark_view_transpose(&view, 0, -3, e));
    view = oracle_cpu(DLPARK_F32, 0, NULL, NULL);
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension 0, the rank is 0", view,
                   dlpark_view_transpose(&view, 0, 0, e));
}

/* ---- squeeze, expand ---- */

/* Dimension *how is left out of the result: index 0 in it. */
static void squeeze_map(const int64_t *index, int64_t *from, const void *how)
{
    const int *dim = how;

    for (int i = 0, j = 0; i < 4; i++)
        from[i] = i == *dim ? 0 : index[j++];
}

static void visit_squeeze(const dlpark_view *view)
{
    for (int i = 0; i < view->ndim; i++) {
        dlpark_view after;
        memcpy(&after, view, sizeof after);
        if (view->shape[i] != 1) {
            assert_refused(DLPARK_E_SHAPE, "only an extent of 1", after, dlpark_view_squeeze(&after, i, e));
            continue;
        }
        assert_ok(dlpark_view_squeeze(&after, i - view->ndim, e));
        assert_int_equal(after.ndim, view->ndim - 1);
        for (int j = 0; j < after.ndim; j++)
            assert_int_equal(after.shape[j], view->shape[j + (j >= i)]);
        oracle_compare(view, &after, squeeze_map, &i);
    }
}

static void squeeze_leaves_one_out(void **state)
{
    (void)state;
    oracle_each(3, visit_squeeze);
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){1, 3}, NULL);
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension 5", view, dlpark_view_squeeze(&view, 5, e));
    assert_refused(DLPARK_E_SHAPE, "shape[1] is 3", view, dlpark_view_squeeze(&view, -1, e));
}

static void visit_squeeze_all(const dlpark_view *view)
{
    dlpark_view after = *view;
    int64_t index[3], from[3];
    int kept = 0;

    dlpark_view_squeeze_all(&after);
    oracle_check_invariants(view, &after);
    for (int i = 0; i < view->ndim; i++)
        if (view->shape[i] != 1)
            assert_int_equal(after.shape[kept++], view->shape[i]);
    assert_int_equal(after.ndim, kept);
    for (int64_t n = 0; n < oracle_numel(view->ndim, view->shape); n++) {
        oracle_unravel(view->ndim, view->shape, n, from);
        oracle_unravel(after.ndim, after.shape, n, index);
        assert_int_equal(oracle_bit(&after, index), oracle_bit(view, from));
    }
}

static void squeeze_all_leaves_all_ones_out(void **state)
{
    (void)state;
    oracle_each(3, visit_squeeze_all);
}

static void expand_map(const int64_t *index, int64_t *from, const void *how)
{
    const int *dim = how;

    for (int i = 0, j = 0; i < 4; i++)
        if (i != *dim)
            from[j++] = index[i];
}

static void visit_expand(const dlpark_view *view)
{
    for (int i = 0; i <= view->ndim; i++)
        for (int end = 0; end < 2; end++) {
            dlpark_view after = *view;
            assert_ok(dlpark_view_expand_dims(&after, end ? i - view->ndim - 1 : i, e));
            assert_int_equal(after.ndim, view->ndim + 1);
            assert_int_equal(after.shape[i], 1);
            for (int j = 0; j < view->ndim; j++)
                assert_int_equal(after.shape[j + (j >= i)], view->shape[j]);
            oracle_compare(view, &after, expand_map, &i);
        }
}

static void expand_inserts_an_extent_of_1(void **state)
{
    (void)state;
    int64_t ones[64];

    oracle_each(3, visit_expand);
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension 3, expected -3 to 2", view,
                   dlpark_view_expand_dims(&view, 3, e));
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension -4", view, dlpark_view_expand_dims(&view, -4, e));
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    view = oracle_cpu(DLPARK_F32, 64, ones, NULL);
    assert_refused(DLPARK_E_RANK, "the rank is 64 already", view, dlpark_view_expand_dims(&view, 0, e));
    view = oracle_cpu(DLPARK_F32, 63, ones, NULL);
    assert_ok(dlpark_view_expand_dims(&view, 63, e));
    assert_int_equal(view.ndim, 64);
}

/* Readers that look at every stride find compact ones where the elements are compact. */
static void expand_keeps_strides_compact(void **state)
{
    (void)state;
    for (int at = 0; at <= 2; at++) {
        int64_t compact[3];
        dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);
        assert_ok(dlpark_view_expand_dims(&view, at, e));
        assert_ok(dlpark_layout_compact_strides(3, view.shape, compact, e));
        assert_memory_equal(view.strides, compact, sizeof compact);
    }
    /* What a stride of extent 1 holds is nobody's promise, and may be anything. */
    dlpark_view view = oracle_cpu(DLPARK_F32, 1, (int64_t[]){1}, (int64_t[]){INT64_MIN});
    assert_ok(dlpark_view_expand_dims(&view, 0, e));
    assert_shape(&view, 2, (int64_t[]){1, 1});
}

/* ---- broadcast ---- */

typedef struct broadcast_how {
    const dlpark_view *before;
    int ndim;
} broadcast_how;

static void broadcast_map(const int64_t *index, int64_t *from, const void *how)
{
    const broadcast_how *broadcast = how;

    for (int i = 0; i < broadcast->before->ndim; i++)
        from[i] = broadcast->before->shape[i] == 1 ? 0 : index[i + broadcast->ndim - broadcast->before->ndim];
}

static void try_broadcast(const dlpark_view *view, int ndim, const int64_t *shape)
{
    dlpark_view after;
    bool fits = ndim >= view->ndim;

    memcpy(&after, view, sizeof after);
    for (int i = 1; fits && i <= view->ndim; i++)
        fits = view->shape[view->ndim - i] == shape[ndim - i] || view->shape[view->ndim - i] == 1;
    if (!fits) {
        assert_refused(ndim < view->ndim ? DLPARK_E_RANK : DLPARK_E_SHAPE, "cannot broadcast", after,
                       dlpark_view_broadcast(&after, ndim, shape, e));
        return;
    }
    assert_ok(dlpark_view_broadcast(&after, ndim, shape, e));
    assert_shape(&after, ndim, shape);
    oracle_compare(view, &after, broadcast_map, &(broadcast_how){view, ndim});
    for (int i = 0; i < ndim; i++) {
        int at = i - (ndim - view->ndim);
        if (shape[i] > 1 && (at < 0 || view->shape[at] == 1))
            assert_int_equal(after.strides[i], 0);
    }
}

static void visit_broadcast(const dlpark_view *view)
{
    for (int ndim = 0; ndim <= 3; ndim++)
        for (int s = 0; s < 1 << 2 * ndim; s++)
            try_broadcast(view, ndim, (int64_t[]){s & 3, s >> 2 & 3, s >> 4 & 3});
}

static void broadcast_repeats_extents_of_1(void **state)
{
    (void)state;
    oracle_each(2, visit_broadcast);
}

static void broadcast_of_four_dimensions(void **state)
{
    (void)state;
    static const int64_t strides[] = {7, -20, 2, 40};

    for (int own = 0; own < 16; own++)
        for (int ndim = 3; ndim <= 6; ndim++)
            for (int s = 0; s < 1 << ndim; s++) {
                int64_t shape[4], to[6];
                for (int i = 0; i < 4; i++)
                    shape[i] = 1 + (own >> i & 1);
                for (int i = 0; i < ndim; i++)
                    to[i] = 1 + (s >> i & 1);
                dlpark_view three = oracle_cpu(DLPARK_U16, 3, shape, strides);
                dlpark_view four = oracle_cpu(DLPARK_U16, 4, shape, strides);
                try_broadcast(&three, ndim, to);
                try_broadcast(&four, ndim, to);
                to[s % ndim] = 0;
                try_broadcast(&four, ndim, to);
            }
}

static void broadcast_names_what_does_not_fit(void **state)
{
    (void)state;
    int64_t many[65];
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);

    for (int i = 0; i < 65; i++)
        many[i] = i < 63 ? 1 : i - 61;

    assert_refused(DLPARK_E_SHAPE,
                   "cannot broadcast shape [2, 3] to [5, 2, 4]: shape[1] is 3, and only an extent of 1 becomes 4", view,
                   dlpark_view_broadcast(&view, 3, (int64_t[]){5, 2, 4}, e));
    assert_refused(DLPARK_E_RANK, "to [3], which has fewer dimensions", view,
                   dlpark_view_broadcast(&view, 1, (int64_t[]){3}, e));
    assert_refused(DLPARK_E_SHAPE, "shape[0] is -1", view, dlpark_view_broadcast(&view, 2, (int64_t[]){-1, 3}, e));
    assert_refused(DLPARK_E_SHAPE, "shape is NULL", view, dlpark_view_broadcast(&view, 2, NULL, e));
    assert_refused(DLPARK_E_RANK, "ndim is 65", view, dlpark_view_broadcast(&view, 65, view.shape, e));
    assert_refused(DLPARK_E_RANK, "ndim is 65", view, dlpark_view_broadcast(&view, 65, many, e));
    assert_refused(DLPARK_E_RANK, "ndim is -1", view, dlpark_view_broadcast(&view, -1, NULL, e));
    assert_refused(DLPARK_E_SHAPE, "shape[0] is -1", view, dlpark_view_broadcast(&view, 3, (int64_t[]){-1, 2, 3}, e));
    view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 1}, NULL);
    assert_refused(DLPARK_E_SHAPE, "shape[1] is -1", view, dlpark_view_broadcast(&view, 2, (int64_t[]){2, -1}, e));
}

static void broadcast_catches_overflow(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 1, (int64_t[]){1}, (int64_t[]){INT64_MIN});
    int64_t large = INT64_C(1) << 61;

    assert_refused(DLPARK_E_OVERFLOW, "2305843009213693952 elements of f32, counted singly", view,
                   dlpark_view_broadcast(&view, 1, &large, e));
    assert_refused(DLPARK_E_OVERFLOW, "leaves 63 bits", view,
                   dlpark_view_broadcast(&view, 2, (int64_t[]){large, large}, e));
    assert_refused(DLPARK_E_OVERFLOW, "2305843009213693952 elements of f32, counted singly", view,
                   dlpark_view_broadcast(&view, 3, (int64_t[]){1, large, 1}, e));
    view.dtype = DLPARK_DTYPE(kDLUInt, 1, 9);
    assert_refused(DLPARK_E_OVERFLOW, "9223372036854775807 elements of", view,
                   dlpark_view_broadcast(&view, 1, (int64_t[]){INT64_MAX}, e));
    view.dtype = DLPARK_F32;
    large--;
    assert_ok(dlpark_view_broadcast(&view, 1, &large, e));
    assert_int_equal(view.strides[0], 0);
    assert_int_equal(dlpark_view_nbytes(&view), 4 * large);
    view = oracle_cpu(DLPARK_F32, 1, (int64_t[]){1}, NULL);
    assert_ok(dlpark_view_broadcast(&view, 3, (int64_t[]){INT64_MAX, INT64_MAX, 0}, e));
    assert_null(view.data);
    view = oracle_cpu(DLPARK_F32, 0, NULL, NULL);
    assert_ok(dlpark_view_broadcast(&view, 0, NULL, e));
    assert_non_null(view.data);
}

/* The shape asked for may be a part of the view's own list. */
static void broadcast_to_a_part_of_its_own_shape(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){1, 3}, (int64_t[]){9, 5});

    assert_ok(dlpark_view_broadcast(&view, 2, view.shape, e));
    assert_shape(&view, 2, (int64_t[]){1, 3});
    assert_int_equal(view.strides[1], 5);
    view.shape[2] = 2;
    view.ndim = 1;
    view.strides[0] = 7;
    assert_ok(dlpark_view_broadcast(&view, 2, &view.shape[1], e));
    assert_shape(&view, 2, (int64_t[]){3, 2});
    assert_int_equal(view.strides[0] | view.strides[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permute_moves_no_element),         cmocka_unit_test(permute_of_many_dimensions),
        cmocka_unit_test(permute_of_every_short_list),      cmocka_unit_test(broadcast_of_four_dimensions),
        cmocka_unit_test(permute_refuses_what_is_no_order), cmocka_unit_test(transpose_swaps_two_dimensions),
        cmocka_unit_test(squeeze_leaves_one_out),           cmocka_unit_test(squeeze_all_leaves_all_ones_out),
        cmocka_unit_test(expand_inserts_an_extent_of_1),    cmocka_unit_test(expand_keeps_strides_compact),
        cmocka_unit_test(broadcast_repeats_extents_of_1),   cmocka_unit_test(broadcast_names_what_does_not_fit),
        cmocka_unit_test(broadcast_catches_overflow),       cmocka_unit_test(broadcast_to_a_part_of_its_own_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
