/* Ordinary memory: an array of the stack, a column-major matrix with a leading dimension, rows at pointers of their own. */
#include <dlpark/array.h>
#include <dlpark/dlpark.h>
#include <stdio.h>
#include <stdlib.h>

/* Adds one to each element, however they lie. */
static dlpark_status add_one(const dlpark_view *view, dlpark_error *err)
{
    double *first = DLPARK_STRIDED_MUT(double, view, err);       /* f64, on the host, writable, no two in one place */
    if (!first)
        return err->status;
    for (int64_t i = 0; i < view->shape[0]; i++)
        for (int64_t j = 0; j < view->shape[1]; j++)
            DLPARK_AT(first, view, i, j) += 1;
    return DLPARK_OK;
}

static dlpark_status fixed(dlpark_error *err)
{
    double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
    dlpark_view view;

    DLPARK_TRY(dlpark_array_view(&view, &DLPARK_ARRAY_2D(matrix), err));          /* borrows */
    DLPARK_TRY(dlpark_view_flip(&view, 0, err));                                 /* negative strides */
    DLPARK_TRY(add_one(&view, err));
    const double *last = DLPARK_AT_CHECKED(double, &view, err, -1, -1);
    printf("fixed: matrix[1][2] is %g, the last of the flipped is %g\n", matrix[1][2], last ? *last : 0);
    return DLPARK_OK;
}

/* A Fortran matrix of 3 x 2 in a buffer whose columns lie 4 elements apart, owned by a tensor. */
static dlpark_status columns(dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    const int64_t shape[] = {3, 2};
    int64_t strides[2];
    dlpark_view view;
    int transpose;
    int32_t ld;

    DLPARK_TRY(dlpark_array_strides(2, shape, DLPARK_COLUMN_MAJOR, 4, strides, err));
    double *values = calloc(8, sizeof *values);
    dlpark_status status = dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data = values, .dtype = DLPARK_F64, .ndim = 2, .shape = DLPARK_DIMS(shape), .strides = DLPARK_DIMS(strides),
            .owner = values, .release = free}, &view, err);
    if (status) {
        free(values);
        return status;
    }
    status = dlpark_array_blas(&view, DLPARK_ROW_MAJOR, &transpose, &ld, err);
    if (!status)
        printf("columns: as rows, BLAS is told %s and ld %d\n", transpose == DLPARK_TRANSPOSE ? "Trans" : "NoTrans", ld);
    dlpark_tensor_release(&tensor);
    return status;
}

static dlpark_status rows(dlpark_error *err)
{
    float first[] = {1, 2}, second[] = {3, 4}, *lines[] = {second, first}, packed[2][2];
    dlpark_view view;

    DLPARK_TRY(dlpark_array_view(&view, &DLPARK_ARRAY_2D(packed), err));
    DLPARK_TRY(dlpark_array_from_rows(&view, DLPARK_ROWS(lines), err));           /* float **, by copy */
    printf("rows: %g %g %g %g\n", packed[0][0], packed[0][1], packed[1][0], packed[1][1]);
    return DLPARK_OK;
}

int main(void)
{
    dlpark_error err;

    if (fixed(&err) || columns(&err) || rows(&err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
}
