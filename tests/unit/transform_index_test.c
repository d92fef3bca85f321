#include "transform_oracle.h"

/* ---- index ---- */

typedef struct index_how {
    int dim;
    int64_t place;
} index_how;

static void index_map(const int64_t *index, int64_t *from, const void *how)
{
    const index_how *at = how;

    for (int i = 0, j = 0; i < 4; i++)
        from[i] = i == at->dim ? at->place : index[j++];
}

static void visit_index(const dlpark_view *view)
{
    for (int i = 0; i < view->ndim; i++)
        for (int64_t place = -4; place <= 4; place++) {
            dlpark_view after;
            memcpy(&after, view, sizeof after);
            if (place < -view->shape[i] || place >= view->shape[i]) {
                assert_refused(DLPARK_E_INDEX, "out of range for dimension", after,
                               dlpark_view_index(&after, i, place, e));
                continue;
            }
            assert_ok(dlpark_view_index(&after, place % 2 ? i : i - view->ndim, place, e));
            assert_int_equal(after.ndim, view->ndim - 1);
            for (int j = 0; j < after.ndim; j++)
                assert_int_equal(after.shape[j], view->shape[j + (j >= i)]);
            oracle_compare(view, &after, index_map, &(index_how){i, place < 0 ? place + view->shape[i] : place});
        }
}

static void index_takes_one_place(void **state)
{
    (void)state;
    oracle_each(3, visit_index);
}

/* As the rest of the library does, so that a view that was made elsewhere still means the same everywhere. */
static void unknown_devices_have_addresses(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 1, (int64_t[]){3}, NULL);

    view.device.device_type = (DLDeviceType)40;
    assert_ok(dlpark_view_flip(&view, 0, e));
    assert_ok(dlpark_view_index(&view, 0, 0, e));
    assert_ptr_equal(view.data, oracle_memory + ORACLE_START + 8);
    assert_int_equal(view.byte_offset, 0);
}

static void index_names_what_is_out_of_range(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);

    assert_refused(DLPARK_E_INDEX, "index 3 is out of range for dimension 1 of extent 3", view,
                   dlpark_view_index(&view, -1, 3, e));
    assert_refused(DLPARK_E_INDEX, "index -3 is out of range for dimension 0 of extent 2", view,
                   dlpark_view_index(&view, 0, -3, e));
    assert_refused(DLPARK_E_INDEX, "index -9223372036854775808", view, dlpark_view_index(&view, 0, INT64_MIN, e));
    assert_refused(DLPARK_E_INDEX, "index 9223372036854775807", view, dlpark_view_index(&view, 0, INT64_MAX, e));
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension 2", view, dlpark_view_index(&view, 2, 0, e));
}

/* ---- slice ---- */

/* Any number beyond this is as good as infinite for the small extents here. */
static int64_t slice_saturate(int64_t value)
{
    return value > 1000 ? 1000 : value < -1000 ? -1000 : value;
}

/*
 * The places that Python's start:stop:step takes of `extent`, from the reference manual's words: "s + len(s)" for what is
 * negative, cut to what is there, then i, i + k, i + 2k ... up to but not including the stop. Returns how many.
 */
static int slice_slowly(int64_t extent, int64_t start, int64_t stop, int64_t step, int64_t *places)
{
    int64_t k = step == DLPARK_NONE ? 1 : slice_saturate(step);
    int64_t i, j;
    int count = 0;

    if (k > 0) {
        i = start == DLPARK_NONE        ? 0
            : slice_saturate(start) < 0 ? slice_saturate(start) + extent
                                        : slice_saturate(start);
        j = stop == DLPARK_NONE        ? 1000
            : slice_saturate(stop) < 0 ? slice_saturate(stop) + extent
                                       : slice_saturate(stop);
        for (i = i < 0 ? 0 : i; i < j && i < extent; i += k)
            places[count++] = i;
    } else {
        i = start == DLPARK_NONE        ? 1000
            : slice_saturate(start) < 0 ? slice_saturate(start) + extent
                                        : slice_saturate(start);
        j = stop == DLPARK_NONE        ? -1000
            : slice_saturate(stop) < 0 ? slice_saturate(stop) + extent
                                       : slice_saturate(stop);
        for (i = i >= extent ? extent - 1 : i; i > j && i >= 0; i += k)
            places[count++] = i;
    }
    return count;
}

typedef struct slice_how {
    int dim;
    const int64_t *places;
} slice_how;

static void slice_map(const int64_t *index, int64_t *from, const void *how)
{
    const slice_how *slice = how;

    memcpy(from, index, 4 * sizeof *from);
    from[slice->dim] = slice->places[index[slice->dim]];
}

static void try_slice(const dlpark_view *view, int dim, int64_t start, int64_t stop, int64_t step)
{
    int64_t places[16];
    int count = slice_slowly(view->shape[dim], start, stop, step, places);
    dlpark_view after = *view;

    assert_ok(dlpark_view_slice(&after, dim, start, stop, step, e));
    assert_int_equal(after.ndim, view->ndim);
    for (int i = 0; i < view->ndim; i++)
        assert_int_equal(after.shape[i], i == dim ? count : view->shape[i]);
    oracle_compare(view, &after, slice_map, &(slice_how){dim, places});
}

static const int64_t slice_bounds[] = {
    DLPARK_NONE, INT64_MIN + 1, INT64_MIN + 2, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, INT64_MAX - 1, INT64_MAX,
};
enum { SLICE_BOUNDS = sizeof slice_bounds / sizeof *slice_bounds };

static void try_all_slices(const dlpark_view *view)
{
    for (int i = 0; i < SLICE_BOUNDS; i++)
        for (int j = 0; j < SLICE_BOUNDS; j++)
            for (int k = 0; k < SLICE_BOUNDS; k++)
                if (slice_bounds[k] != 0)
                    try_slice(view, 0, slice_bounds[i], slice_bounds[j], slice_bounds[k]);
}

static void slice_is_pythons(void **state)
{
    (void)state;
    for (int64_t extent = 0; extent <= 5; extent++) {
        dlpark_view view = oracle_cpu(DLPARK_F32, 1, &extent, (int64_t[]){-3});
        try_all_slices(&view);
        view = oracle_view(DLPARK_DEVICE(kDLVulkan, 0), DLPARK_DTYPE(kDLInt, 2, 1), 0, 1, &extent, (int64_t[]){3});
        if (extent == 4)
            try_all_slices(&view);
    }
}

static void visit_slice(const dlpark_view *view)
{
    static const int64_t some[][3] = {{DLPARK_NONE, DLPARK_NONE, DLPARK_NONE},
                                      {1, DLPARK_NONE, 1},
                                      {DLPARK_NONE, -1, 1},
                                      {DLPARK_NONE, DLPARK_NONE, 2},
                                      {DLPARK_NONE, DLPARK_NONE, -1},
                                      {-1, 0, -2},
                                      {1, 1, 1}};

    for (int i = 0; i < view->ndim; i++)
        for (int j = 0; j < 7; j++)
            try_slice(view, i, some[j][0], some[j][1], some[j][2]);
}

static void slice_of_any_layout(void **state)
{
    (void)state;
    oracle_each(3, visit_slice);
}

static void slice_refusals(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);

    assert_refused(DLPARK_E_ARGUMENT, "the step of the slice of dimension 1 is 0", view,
                   dlpark_view_slice(&view, -1, 0, 1, 0, e));
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension -3", view, dlpark_view_slice(&view, -3, 0, 1, 1, e));
}

/* Extents and strides at the end of 63 bits, on a device where they need no address. */
static void slice_of_huge_extents(void **state)
{
    (void)state;
    int64_t huge = INT64_MAX;
    dlpark_view repeated = oracle_view(DLPARK_DEVICE(kDLMetal, 0), DLPARK_U8, 0, 1, &huge, (int64_t[]){0});
    dlpark_view view = repeated;

    assert_ok(dlpark_view_slice(&view, 0, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, e));
    assert_int_equal(view.shape[0], 2);
    view = repeated;
    assert_ok(dlpark_view_slice(&view, 0, INT64_MAX, INT64_MIN + 1, INT64_MIN + 1, e));
    assert_int_equal(view.shape[0], 1);
    view = repeated;
    assert_ok(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, -1, e));
    assert_int_equal(view.shape[0], INT64_MAX);
    view = repeated;
    assert_ok(dlpark_view_slice(&view, 0, -2, DLPARK_NONE, 1, e));
    assert_int_equal(view.shape[0], 2);

    /* One element is left, and the stride to the next has no meaning and no room. */
    int64_t far = INT64_C(1) << 62;
    view = oracle_view(DLPARK_DEVICE(kDLMetal, 0), DLPARK_U8, 0, 1, (int64_t[]){2}, &far);
    assert_ok(dlpark_view_slice(&view, 0, 1, DLPARK_NONE, 1 << 20, e));
    assert_int_equal(view.shape[0], 1);
    assert_int_equal(view.byte_offset, ORACLE_START + far);
    view = oracle_cpu(DLPARK_F32, 1, (int64_t[]){1}, (int64_t[]){INT64_MIN});
    assert_ok(dlpark_view_slice(&view, 0, DLPARK_NONE, DLPARK_NONE, -1, e));
    assert_ok(dlpark_view_flip(&view, 0, e));
    assert_ptr_equal(view.data, oracle_memory + ORACLE_START);
}

/* ---- flip ---- */

static void visit_flip(const dlpark_view *view)
{
    for (int i = 0; i < view->ndim; i++) {
        static const int64_t places[4][3] = {{0}, {0}, {1, 0}, {2, 1, 0}};
        dlpark_view after = *view;
        assert_ok(dlpark_view_flip(&after, i - view->ndim, e));
        assert_shape(&after, view->ndim, view->shape);
        oracle_compare(view, &after, slice_map, &(slice_how){i, places[view->shape[i]]});
    }
}

static void flip_turns_round(void **state)
{
    (void)state;
    oracle_each(3, visit_flip);
    dlpark_view view = oracle_cpu(DLPARK_F32, 0, NULL, NULL);
    assert_refused(DLPARK_E_ARGUMENT, "the rank is 0", view, dlpark_view_flip(&view, 0, e));
}

/*
 * A view that reaches far to both sides of element 0 may reach too far from one of its ends. A handle has room for 2^63
 * bytes: one element too many on the upper side.
 */
static void flip_catches_a_reach_that_leaves_63_bits(void **state)
{
    (void)state;
    int64_t half = INT64_C(1) << 62, shape[] = {2, 1, 2}, strides[] = {half - 1, INT64_MIN, -half};
    DLTensor tensor = {.data = oracle_memory,
                       .device = {kDLOpenCL, 0},
                       .ndim = 3,
                       .dtype = DLPARK_U8,
                       .shape = shape,
                       .strides = strides,
                       .byte_offset = (uint64_t)half};
    dlpark_view view, other;

    memset(&view, 0xC3, sizeof view);
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW,
                   "would reach too far, expected less than 2^63-1 elements and at most 2^63-1 bytes to either side",
                   view, dlpark_view_flip(&view, 0, e)); /* -2^63 + 1 */
    assert_refused(DLPARK_E_OVERFLOW, "turned round at dimension 2, shape [2, 1, 2] with strides [4611686018427387903,",
                   view, dlpark_view_flip(&view, 2, e));
    strides[0]--;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    other = view;
    assert_ok(dlpark_view_flip(&other, 0, e));
    assert_int_equal(other.byte_offset, INT64_MAX - 1);
    assert_ok(dlpark_view_flip(&view, 2, e));
    assert_int_equal(view.byte_offset, 0);
    strides[0] = 3;
    strides[2] = 5;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_flip(&view, 2, e)); /* far from the handle, and not far from element 0 */
    assert_int_equal(view.byte_offset, half + 5);
    tensor.byte_offset = 50; /* near to the handle, and to the wrong side */
    strides[0] = INT64_MAX - 50;
    strides[2] = -50;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "turned round at dimension 2", view, dlpark_view_flip(&view, 2, e));
    tensor.byte_offset = (uint64_t)half;

    /* The elements fit, their bytes do not. */
    tensor.dtype = DLPARK_U16;
    strides[0] = half / 2 - 1;
    strides[2] = -half / 2;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "turned round at dimension 2", view,
                   dlpark_view_slice(&view, 2, DLPARK_NONE, DLPARK_NONE, -1, e));
}

/* Addresses of 64 bits have room for 2^64 bytes. */
static void flip_catches_a_reach_below_too(void **state)
{
    (void)state;
    int64_t half = INT64_C(1) << 62, shape[] = {2, 2}, strides[] = {half, -half};
    DLTensor tensor = {.device = {kDLCUDA, 0}, .ndim = 2, .dtype = DLPARK_U8, .shape = shape, .strides = strides};
    dlpark_view view;

    if (sizeof(void *) < 8)
        return; /* no such address */
    tensor.data = (void *)(UINTPTR_MAX / 2);
    memset(&view, 0xC3, sizeof view);
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "turned round at dimension 0", view, dlpark_view_flip(&view, 0, e));
    strides[0]++;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "turned round at dimension 0", view, dlpark_view_flip(&view, 0, e));
    strides[0] -= 2;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "turned round at dimension 0", view, dlpark_view_flip(&view, 0, e));
    strides[0]--;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_flip(&view, 0, e));
    strides[0] = 3; /* a short way is too far as well */
    strides[1] = 4 - INT64_MAX;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_flip(&view, 0, e));
    strides[1]--;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "turned round at dimension 0", view, dlpark_view_flip(&view, 0, e));
}

/* ---- diagonal ---- */

typedef struct diagonal_how {
    int row, column, ndim;
    int64_t offset;
} diagonal_how;

static void diagonal_map(const int64_t *index, int64_t *from, const void *how)
{
    const diagonal_how *diagonal = how;
    int j = 0;

    for (int i = 0; i < diagonal->ndim; i++)
        if (i != diagonal->row && i != diagonal->column)
            from[i] = index[j++];
    from[diagonal->row] = index[j] + (diagonal->offset < 0 ? -diagonal->offset : 0);
    from[diagonal->column] = index[j] + (diagonal->offset > 0 ? diagonal->offset : 0);
}

static void try_diagonal(const dlpark_view *view, int64_t offset, int row, int column)
{
    dlpark_view after = *view;
    int64_t extent = 0, shape[3];
    int ndim = 0;

    for (int64_t i = 0; i < view->shape[row]; i++)
        extent += i + offset >= 0 && i + offset < view->shape[column];
    for (int i = 0; i < view->ndim; i++)
        if (i != row && i != column)
            shape[ndim++] = view->shape[i];
    shape[ndim++] = extent;
    assert_ok(dlpark_view_diagonal(&after, offset, row, column - view->ndim, e));
    assert_shape(&after, ndim, shape);
    oracle_compare(view, &after, diagonal_map, &(diagonal_how){row, column, view->ndim, offset});
}

static void visit_diagonal(const dlpark_view *view)
{
    for (int row = 0; row < view->ndim; row++)
        for (int column = 0; column < view->ndim; column++)
            for (int64_t offset = -4; row != column && offset <= 4; offset++)
                try_diagonal(view, offset, row, column);
}

static void diagonal_of_two_dimensions(void **state)
{
    (void)state;
    oracle_each(3, visit_diagonal);
}

static void diagonal_refusals_and_extremes(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 3}, NULL), after = view;

    assert_refused(DLPARK_E_ARGUMENT, "got dimension 1 twice", view, dlpark_view_diagonal(&view, 0, 1, -1, e));
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension 2", view, dlpark_view_diagonal(&view, 0, 2, 1, e));
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension -3", view, dlpark_view_diagonal(&view, 0, 0, -3, e));
    assert_ok(dlpark_view_diagonal(&after, INT64_MIN, 0, 1, e));
    assert_shape(&after, 1, (int64_t[]){0});
    after = view;
    assert_ok(dlpark_view_diagonal(&after, INT64_MAX, 0, 1, e));
    assert_shape(&after, 1, (int64_t[]){0});
    /* Two strides that mean nothing have a sum that means nothing. */
    view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){1, 1}, (int64_t[]){INT64_MIN, INT64_MIN});
    assert_ok(dlpark_view_diagonal(&view, 0, 0, 1, e));
    assert_ptr_equal(view.data, oracle_memory + ORACLE_START);
}

/* ---- window ---- */

typedef struct window_how {
    int dim, ndim;
    int64_t step;
} window_how;

static void window_map(const int64_t *index, int64_t *from, const void *how)
{
    const window_how *window = how;

    memcpy(from, index, (size_t)window->ndim * sizeof *from);
    from[window->dim] = index[window->dim] * window->step + index[window->ndim];
}

static void try_window(const dlpark_view *view, int dim, int64_t size, int64_t step)
{
    dlpark_view after;
    int64_t shape[4], count = 0;

    memcpy(&after, view, sizeof after);
    if (size < 1 || step < 1 || size > view->shape[dim]) {
        assert_refused(DLPARK_E_ARGUMENT, "the window", after, dlpark_view_window(&after, dim, size, step, e));
        return;
    }
    for (int64_t first = 0; first + size <= view->shape[dim]; first += step)
        count++;
    memcpy(shape, view->shape, (size_t)view->ndim * sizeof *shape);
    shape[dim] = count;
    shape[view->ndim] = size;
    assert_ok(dlpark_view_window(&after, dim - view->ndim, size, step, e));
    assert_shape(&after, view->ndim + 1, shape);
    oracle_compare(view, &after, window_map, &(window_how){dim, view->ndim, step});
}

static void visit_window(const dlpark_view *view)
{
    for (int i = 0; i < view->ndim; i++)
        for (int64_t size = 0; size <= 4; size++)
            for (int64_t step = 0; step <= 3; step++)
                try_window(view, i, size, step);
}

static void window_slides(void **state)
{
    (void)state;
    oracle_each(3, visit_window);
}

static void window_refusals_and_extremes(void **state)
{
    (void)state;
    int64_t ones[64], huge = INT64_MAX;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 3}, NULL);

    assert_refused(DLPARK_E_ARGUMENT, "size 4, expected 1 to 3, the extent of dimension 1", view,
                   dlpark_view_window(&view, 1, 4, 1, e));
    assert_refused(DLPARK_E_ARGUMENT, "the step of the window is 0", view, dlpark_view_window(&view, 1, 2, 0, e));
    assert_refused(DLPARK_E_ARGUMENT, "there is no dimension 2", view, dlpark_view_window(&view, 2, 1, 1, e));
    view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){2, 0}, NULL);
    assert_refused(DLPARK_E_ARGUMENT, "size 1, and dimension 1 has no place for one, expected an extent of at least 1",
                   view, dlpark_view_window(&view, 1, 1, 1, e));
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    view = oracle_cpu(DLPARK_F32, 64, ones, NULL);
    assert_refused(DLPARK_E_RANK, "the rank is 64 already", view, dlpark_view_window(&view, 0, 1, 1, e));

    view = oracle_view(DLPARK_DEVICE(kDLMetal, 0), DLPARK_U8, 0, 1, &huge, (int64_t[]){0});
    assert_refused(DLPARK_E_OVERFLOW, "4611686018427387904 windows of 4611686018427387904 along dimension 0", view,
                   dlpark_view_window(&view, 0, INT64_C(1) << 62, 1, e));
    assert_ok(dlpark_view_window(&view, 0, INT64_MAX, INT64_MAX, e));
    assert_shape(&view, 2, (int64_t[]){1, INT64_MAX});
    view =
        oracle_view(DLPARK_DEVICE(kDLMetal, 0), DLPARK_U8, 0, 2, (int64_t[]){3, INT64_C(1) << 40}, (int64_t[]){0, 0});
    assert_ok(dlpark_view_window(&view, 1, INT64_C(1) << 40, 1, e)); /* one of them, however long */
    assert_shape(&view, 3, (int64_t[]){3, 1, INT64_C(1) << 40});
    view = oracle_cpu(DLPARK_F32, 3, (int64_t[]){INT64_MAX, 0, INT64_MAX}, NULL);
    assert_ok(dlpark_view_window(&view, 0, INT64_MAX, 1, e));
    assert_shape(&view, 4, (int64_t[]){1, 0, INT64_MAX, INT64_MAX});
    huge = INT64_C(1) << 31;
    view = oracle_view(DLPARK_DEVICE(kDLMetal, 0), DLPARK_U64, 0, 1, &huge, (int64_t[]){0});
    assert_refused(DLPARK_E_OVERFLOW, "elements of u64, counted singly", view,
                   dlpark_view_window(&view, 0, huge / 2, 1, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_takes_one_place),
        cmocka_unit_test(unknown_devices_have_addresses),
        cmocka_unit_test(index_names_what_is_out_of_range),
        cmocka_unit_test(slice_is_pythons),
        cmocka_unit_test(slice_of_any_layout),
        cmocka_unit_test(slice_refusals),
        cmocka_unit_test(slice_of_huge_extents),
        cmocka_unit_test(flip_turns_round),
        cmocka_unit_test(flip_catches_a_reach_that_leaves_63_bits),
        cmocka_unit_test(flip_catches_a_reach_below_too),
        cmocka_unit_test(diagonal_of_two_dimensions),
        cmocka_unit_test(diagonal_refusals_and_extremes),
        cmocka_unit_test(window_slides),
        cmocka_unit_test(window_refusals_and_extremes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
