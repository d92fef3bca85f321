#include "transform_oracle.h"

/* ---- reinterpret ---- */

static const DLDataType dtype_all[] = {
    {kDLUInt, 8, 1},          {kDLInt, 8, 1},  {kDLUInt, 16, 1},  {kDLFloat, 32, 1}, {kDLFloat, 64, 1},
    {kDLComplex, 128, 1},     {kDLUInt, 8, 3}, {kDLFloat, 32, 4}, {kDLInt, 4, 1},    {kDLFloat4_e2m1fn, 4, 1},
    {kDLFloat6_e2m3fn, 6, 1}, {kDLUInt, 1, 1}, {kDLInt, 2, 1},    {kDLUInt, 4, 3},
};
enum { DTYPE_ALL = sizeof dtype_all / sizeof *dtype_all };

/* Whether the definition holds, with everything counted in bits from the start of each row. */
static bool can_reinterpret(const dlpark_view *view, DLDataType dtype)
{
    int64_t old_width = oracle_width(view->dtype, view->flags);
    int64_t new_width = oracle_width(dtype, oracle_flags(view, dtype));
    int last = view->ndim - 1;
    bool empty = oracle_numel(view->ndim, view->shape) == 0;

    if (old_width == new_width)
        return true;
    if (view->ndim == 0 || view->shape[last] * old_width % new_width != 0)
        return false;
    if (new_width % 8 == 0 && view->bit_offset != 0)
        return false;
    for (int i = 0; i < last && !empty; i++)
        if (view->shape[i] > 1 && view->strides[i] * old_width % new_width != 0)
            return false;
    return empty || view->shape[last] == 1 || view->strides[last] == 1;
}

static void try_reinterpret(const dlpark_view *view, DLDataType dtype)
{
    int64_t old_width = oracle_width(view->dtype, view->flags);
    int64_t new_width = oracle_width(dtype, oracle_flags(view, dtype));
    int last = view->ndim > 0 ? view->ndim - 1 : 0;
    dlpark_view after;

    memcpy(&after, view, sizeof after);
    if (!can_reinterpret(view, dtype)) {
        assert_int_not_equal(dlpark_view_reinterpret(&after, dtype, NULL), DLPARK_OK);
        assert_memory_equal(&after, view, sizeof after);
        return;
    }
    assert_ok(dlpark_view_reinterpret(&after, dtype, e));
    assert_true(dlpark_dtype_equal(after.dtype, dtype));
    oracle_check_invariants(view, &after);
    assert_int_equal(after.ndim, view->ndim);
    for (int i = 0; i < view->ndim; i++)
        assert_int_equal(after.shape[i], i == last ? view->shape[i] * old_width / new_width : view->shape[i]);
    for (int64_t n = 0; n < oracle_numel(after.ndim, after.shape); n++) {
        int64_t index[3] = {0}, row[3] = {0};
        oracle_unravel(after.ndim, after.shape, n, index);
        memcpy(row, index, sizeof row);
        if (old_width != new_width)
            row[last] = 0;
        if (oracle_bit(&after, index) != oracle_bit(view, row) + (index[last] - row[last]) * new_width)
            fail_msg("element %d lies at bit %d", (int)n, (int)oracle_bit(&after, index));
    }
}

static void visit_reinterpret(const dlpark_view *view)
{
    for (int i = 0; i < DTYPE_ALL; i++)
        try_reinterpret(view, dtype_all[i]);
}

/* From every dtype to every other, packed and padded. */
static void reinterpret_moves_no_bit(void **state)
{
    (void)state;
    uint64_t padded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

    for (int i = 0; i < DTYPE_ALL; i++)
        for (int ndim = 0; ndim <= 2; ndim++) {
            oracle_each_of_rank(ndim, DLPARK_DEVICE_CPU, dtype_all[i], 0, visit_reinterpret);
            if (dtype_all[i].bits < 8)
                oracle_each_of_rank(ndim, DLPARK_DEVICE(kDLVulkan, 0), dtype_all[i], padded, visit_reinterpret);
        }
}

/* Longer rows, which other widths divide, of rank 1 to 3; element 0 at any bit. */
static void reinterpret_of_long_rows(void **state)
{
    (void)state;
    static const int64_t strides[][3] = {{48, 24, 1}, {96, 48, 1}, {-48, 0, 1}, {50, 25, 1}, {25, 48, 1}, {48, 24, 2}};

    static const int64_t lengths[] = {0, 1, 2, 3, 4, 7, 8, 12, 24};

    for (int i = 0; i < DTYPE_ALL; i++)
        for (int j = 0; j < 6; j++)
            for (int k = 0; k < 9; k++) {
                int64_t last = lengths[k];
                dlpark_view view = oracle_cpu(dtype_all[i], 3, (int64_t[]){2, 2, last}, strides[j]);
                visit_reinterpret(&view);
                if (last == 0)
                    continue;
                for (int64_t first = 1; first < 4; first++) {
                    dlpark_view part = view;
                    assert_ok(dlpark_view_slice(&part, 2, first, DLPARK_NONE, 1, e));
                    visit_reinterpret(&part);
                }
            }
}

static void reinterpret_there_and_back(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){3, 4}, NULL), kept = view;

    assert_ok(dlpark_view_reinterpret(&view, DLPARK_U8, e));
    assert_shape(&view, 2, (int64_t[]){3, 16});
    assert_int_equal(view.strides[0], 16);
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_F64, e));
    assert_shape(&view, 2, (int64_t[]){3, 2});
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_I4, e));
    assert_shape(&view, 2, (int64_t[]){3, 32});
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_F32, e));
    assert_memory_equal(&view, &kept, sizeof view);
}

/* The flag speaks of sub-byte elements: it goes with them, and no other dtype has a meaning for it. */
static void reinterpret_leaves_padded_to_sub_byte_types(void **state)
{
    (void)state;
    uint64_t padded = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    dlpark_view view = oracle_view(DLPARK_DEVICE_CPU, DLPARK_I4, padded, 1, (int64_t[]){8}, NULL);

    assert_true(view.flags & DLPARK_VIEW_PADDED);
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_F6_E2M3FN, e)); /* a byte each, as before */
    assert_shape(&view, 1, (int64_t[]){8});
    assert_true(view.flags & DLPARK_VIEW_PADDED);
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_U8, e));
    assert_shape(&view, 1, (int64_t[]){8});
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
    view = oracle_cpu(DLPARK_F32, 1, (int64_t[]){2}, NULL);
    view.flags |= DLPARK_VIEW_PADDED; /* which nobody should say of it */
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_I4, e));
    assert_shape(&view, 1, (int64_t[]){16});
    assert_int_equal(view.flags, DLPARK_VIEW_UNKNOWN_WRITE);
}

static void reinterpret_asks_for_no_alignment(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_U8, 1, (int64_t[]){9}, NULL);

    assert_ok(dlpark_view_slice(&view, 0, 1, DLPARK_NONE, 1, e));
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_F64, e));
    assert_shape(&view, 1, (int64_t[]){1});
    assert_ptr_equal(view.data, oracle_memory + ORACLE_START + 1);
}

static void reinterpret_names_what_is_in_the_way(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){3, 4}, (int64_t[]){5, 1});

    assert_refused(DLPARK_E_DTYPE, "cannot have 33 bits", view,
                   dlpark_view_reinterpret(&view, DLPARK_DTYPE(kDLFloat, 33, 1), e));
    assert_refused(DLPARK_E_STRIDES, "strides[0] is 5 elements of f32, no whole number of f64", view,
                   dlpark_view_reinterpret(&view, DLPARK_F64, e));
    assert_refused(DLPARK_E_SHAPE, "shape[1] is 4 elements of f32, no whole number of u8x3", view,
                   dlpark_view_reinterpret(&view, DLPARK_DTYPE(kDLUInt, 8, 3), e));
    view.strides[1] = -1;
    assert_refused(DLPARK_E_LAYOUT, "strides[1] is -1: only a contiguous last dimension of f32 can be taken as u8",
                   view, dlpark_view_reinterpret(&view, DLPARK_U8, e));
    view = oracle_cpu(DLPARK_F32, 0, NULL, NULL);
    assert_refused(DLPARK_E_RANK, "f32 of rank 0 has no dimension that could change with the width of f64", view,
                   dlpark_view_reinterpret(&view, DLPARK_F64, e));
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_I32, e));
    view = oracle_cpu(DLPARK_I4, 1, (int64_t[]){5}, NULL);
    assert_ok(dlpark_view_slice(&view, 0, 1, DLPARK_NONE, 1, e));
    assert_refused(DLPARK_E_LAYOUT, "element 0 begins 4 bits into its byte, and u8 takes whole ones", view,
                   dlpark_view_reinterpret(&view, DLPARK_U8, e));
    assert_ok(dlpark_view_reinterpret(&view, DLPARK_DTYPE(kDLUInt, 2, 1), e));
    assert_int_equal(view.bit_offset, 4);
}

static void reinterpret_catches_overflow(void **state)
{
    (void)state;
    static const DLDataType bit = {kDLUInt, 1, 1};
    int64_t half = INT64_C(1) << 62;
    DLTensor tensor = {.data = oracle_memory,
                       .device = {kDLMetal, 0},
                       .ndim = 2,
                       .dtype = DLPARK_U8,
                       .shape = (int64_t[]){2, 1},
                       .strides = (int64_t[]){half / 4, INT64_MIN},
                       .byte_offset = (uint64_t)half};
    dlpark_view view;

    memset(&view, 0xC3, sizeof view);
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "leaves 63 bits when its u8 are taken as u1", view,
                   dlpark_view_reinterpret(&view, bit, e));
    tensor.strides[0] = -half / 4; /* eight times that is -2^63, and has no opposite */
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "with strides [-1152921504606846976,", view,
                   dlpark_view_reinterpret(&view, bit, e));
    tensor.strides[0]++;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_reinterpret(&view, bit, e));
    assert_shape(&view, 2, (int64_t[]){2, 8});

    tensor.strides[0] = half / 4 - 1; /* the highest is 2^63 - 1, and cannot be counted from 1 */
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "with strides [1152921504606846975,", view,
                   dlpark_view_reinterpret(&view, bit, e));

    tensor.shape[0] = half / 4; /* the count alone */
    tensor.strides[0] = 0;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_refused(DLPARK_E_OVERFLOW, "shape [1152921504606846976, 1]", view, dlpark_view_reinterpret(&view, bit, e));
    tensor.ndim = 1;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    view.strides[0] = 1;
    assert_refused(DLPARK_E_OVERFLOW, "shape [1152921504606846976]", view, dlpark_view_reinterpret(&view, bit, e));
    tensor.shape[0] = half / 4 - 1; /* 2^63 - 8 elements */
    tensor.strides[0] = 1;
    assert_ok(dlpark_check(&tensor, 0, &view, e));
    assert_ok(dlpark_view_reinterpret(&view, bit, e));
    view = oracle_cpu(DLPARK_U8, 2, (int64_t[]){0, INT64_MAX}, NULL);
    assert_refused(DLPARK_E_OVERFLOW, "shape [0, 9223372036854775807]", view, dlpark_view_reinterpret(&view, bit, e));
    view = oracle_cpu(DLPARK_F32, 2, (int64_t[]){0, INT64_MAX}, NULL);
    assert_refused(DLPARK_E_OVERFLOW, "shape [0, 9223372036854775807]", view,
                   dlpark_view_reinterpret(&view, DLPARK_U8, e));
}

/* ---- real, imag ---- */

static void visit_parts(const dlpark_view *view)
{
    int64_t half = view->dtype.bits / 2;

    for (int imaginary = 0; imaginary < 2; imaginary++) {
        dlpark_view after = *view;
        if (imaginary)
            assert_ok(dlpark_view_imag(&after, e));
        else
            assert_ok(dlpark_view_real(&after, e));
        assert_shape(&after, view->ndim, view->shape);
        assert_true(dlpark_dtype_equal(after.dtype, DLPARK_DTYPE(kDLFloat, half, 1)));
        oracle_check_invariants(view, &after);
        for (int64_t n = 0; n < oracle_numel(view->ndim, view->shape); n++) {
            int64_t index[3];
            oracle_unravel(view->ndim, view->shape, n, index);
            assert_int_equal(oracle_bit(&after, index), oracle_bit(view, index) + imaginary * half);
        }
    }
}

static void parts_lie_half_an_element_apart(void **state)
{
    (void)state;
    for (int ndim = 0; ndim <= 2; ndim++) {
        oracle_each_of_rank(ndim, DLPARK_DEVICE_CPU, DLPARK_C64, DLPACK_FLAG_BITMASK_READ_ONLY, visit_parts);
        oracle_each_of_rank(ndim, DLPARK_DEVICE_CPU, DLPARK_C128, 0, visit_parts);
        oracle_each_of_rank(ndim, DLPARK_DEVICE(kDLOpenCL, 0), DLPARK_DTYPE(kDLComplex, 32, 1), 0, visit_parts);
    }
    /* The stride of an extent of 1 may be any number. */
    dlpark_view view = oracle_cpu(DLPARK_C64, 1, (int64_t[]){1}, (int64_t[]){INT64_MIN});
    assert_ok(dlpark_view_imag(&view, e));
    assert_ptr_equal(view.data, oracle_memory + ORACLE_START + 4);
}

static void parts_of_complex_numbers_only(void **state)
{
    (void)state;
    dlpark_view view = oracle_cpu(DLPARK_F32, 1, (int64_t[]){3}, NULL);

    assert_refused(DLPARK_E_DTYPE, "f32 has no real and imaginary parts", view, dlpark_view_real(&view, e));
    assert_refused(DLPARK_E_DTYPE, "expected c32, c64 or c128", view, dlpark_view_imag(&view, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reinterpret_moves_no_bit),
        cmocka_unit_test(reinterpret_of_long_rows),
        cmocka_unit_test(reinterpret_there_and_back),
        cmocka_unit_test(reinterpret_leaves_padded_to_sub_byte_types),
        cmocka_unit_test(reinterpret_asks_for_no_alignment),
        cmocka_unit_test(reinterpret_names_what_is_in_the_way),
        cmocka_unit_test(reinterpret_catches_overflow),
        cmocka_unit_test(parts_lie_half_an_element_apart),
        cmocka_unit_test(parts_of_complex_numbers_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
