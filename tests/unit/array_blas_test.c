#include "test.h"

#include <dlpark/array.h>

static int32_t cells[4096];

static dlpark_view matrix_view(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
{
    dlpark_view view;

    assert_ok(dlpark_array_view(&view,
                                &(dlpark_tensor_desc){.data = cells + 2048,
                                                      .dtype = DLPARK_I32,
                                                      .ndim = 2,
                                                      .shape = DLPARK_DIMS(((int64_t[]){rows, columns})),
                                                      .strides = DLPARK_DIMS(((int64_t[]){row_stride, column_stride}))},
                                e));
    return view;
}

/* Where BLAS finds element i, j of the matrix that it makes of an array in memory: op(A). */
static int64_t blas_place(int order, int transpose, int64_t ld, int64_t i, int64_t j)
{
    int64_t row = transpose == DLPARK_TRANSPOSE ? j : i, column = transpose == DLPARK_TRANSPOSE ? i : j;

    return order == DLPARK_ROW_MAJOR ? row * ld + column : column * ld + row;
}

static bool blas_finds_all(const dlpark_view *view, int order, int transpose, int64_t ld)
{
    for (int64_t i = 0; i < view->shape[0]; i++)
        for (int64_t j = 0; j < view->shape[1]; j++)
            if (blas_place(order, transpose, ld, i, j) != i * view->strides[0] + j * view->strides[1])
                return false;
    return true;
}

/* What BLAS asks of a leading dimension: at least 1, and the contiguous extent of the matrix in memory. */
static int64_t blas_least(const dlpark_view *view, int order, int transpose)
{
    bool by_rows = (order == DLPARK_ROW_MAJOR) == (transpose == DLPARK_NO_TRANSPOSE);
    int64_t extent = view->shape[by_rows ? 1 : 0];

    return extent > 1 ? extent : 1;
}

/* All that is possible is found, and what is found is right, by trying every leading dimension. */
static void every_small_matrix(void **state)
{
    (void)state;
    int given = 0, refused = 0;

    for (int64_t rows = 0; rows < 5; rows++)
        for (int64_t columns = 0; columns < 5; columns++)
            for (int64_t row = -7; row <= 7; row++)
                for (int64_t column = -7; column <= 7; column++)
                    for (int order = DLPARK_ROW_MAJOR; order <= DLPARK_COLUMN_MAJOR; order++) {
                        dlpark_view view = matrix_view(rows, columns, row, column);
                        int possible = 0, transpose = -1, transpose64 = -1;
                        int32_t ld = -1;
                        int64_t ld64 = -1;
                        for (int way = DLPARK_NO_TRANSPOSE; way <= DLPARK_TRANSPOSE; way++)
                            for (int64_t tried = blas_least(&view, order, way); tried < 9; tried++)
                                possible += blas_finds_all(&view, order, way, tried);
                        dlpark_error err = test_fresh_error();
                        dlpark_status status = dlpark_array_blas(&view, order, &transpose, &ld, &err);
                        assert_int_equal(dlpark_array_blas64(&view, order, &transpose64, &ld64, NULL), status);
                        assert_int_equal(transpose, transpose64);
                        assert_int_equal(ld, ld64);
                        if (possible == 0) {
                            assert_int_equal(status, DLPARK_E_LAYOUT);
                            assert_non_null(strstr(err.message, "copy the matrix to a compact one"));
                            assert_int_equal(ld, -1);
                            refused++;
                            continue;
                        }
                        assert_int_equal(status, DLPARK_OK);
                        assert_true(ld >= blas_least(&view, order, transpose));
                        assert_true(blas_finds_all(&view, order, transpose, ld));
                        given++;
                    }
    assert_true(given > 500 && refused > 500);
}

static void the_untransposed_is_preferred(void **state)
{
    (void)state;
    dlpark_view view = matrix_view(1, 1, 99, -99);
    int transpose;
    int32_t ld;

    assert_ok(dlpark_array_blas(&view, DLPARK_COLUMN_MAJOR, &transpose, &ld, e));
    assert_int_equal(transpose, DLPARK_NO_TRANSPOSE);
    assert_int_equal(ld, 1);
}

static void hostile_matrices(void **state)
{
    (void)state;
    dlpark_view view = matrix_view(3, 2, 4, 2), wide;
    int transpose = -1;
    int32_t ld = -1;
    int64_t ld64;

    assert_fails(DLPARK_E_LAYOUT, "shape [3, 2] with strides [4, 2] has no leading dimension",
                 dlpark_array_blas(&view, DLPARK_ROW_MAJOR, &transpose, &ld, e));
    assert_fails(DLPARK_E_LAYOUT, "of 24 bytes", dlpark_array_blas(&view, DLPARK_ROW_MAJOR, &transpose, &ld, e));
    assert_fails(DLPARK_E_ARGUMENT, "order is 111, expected 101 (DLPARK_ROW_MAJOR) or 102",
                 dlpark_array_blas(&view, 111, &transpose, &ld, e));
    view.ndim = 1;
    assert_fails(DLPARK_E_RANK, "expected a matrix of rank 2, got shape [3]",
                 dlpark_array_blas64(&view, DLPARK_ROW_MAJOR, &transpose, &ld64, e));

    wide = matrix_view(1, 1, 1, 1);
    wide.shape[0] = INT64_C(1) << 31;
    assert_fails(DLPARK_E_OVERFLOW, "shape[0] is 2147483648, and this BLAS",
                 dlpark_array_blas(&wide, DLPARK_ROW_MAJOR, &transpose, &ld, e));
    assert_ok(dlpark_array_blas64(&wide, DLPARK_ROW_MAJOR, &transpose, &ld64, e));
    wide = matrix_view(2, 1, 1, 1);
    wide.strides[0] = INT64_C(1) << 31;
    assert_fails(DLPARK_E_OVERFLOW, "the leading dimension is 2147483648",
                 dlpark_array_blas(&wide, DLPARK_ROW_MAJOR, &transpose, &ld, e));
    assert_int_equal(ld, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_small_matrix),
        cmocka_unit_test(the_untransposed_is_preferred),
        cmocka_unit_test(hostile_matrices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
