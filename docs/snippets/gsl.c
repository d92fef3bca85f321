/* GSL's matrix as a tensor, and a tensor as GSL's vector. */
#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_matrix.h>
#include <stdio.h>

#include <dlpark/array.h>
#include <dlpark/dlpark.h>
#include <dlpark/gsl.h>

/* Any tensor times one of GSL's matrices, in place: GSL computes on the memory that somebody else gave. */
static dlpark_status multiply(const dlpark_view *vector, const gsl_matrix *matrix, const dlpark_view *out,
                              dlpark_error *err)
{
    gsl_vector x, y;

    DLPARK_TRY(dlpark_gsl_borrow(&x, vector, err));
    DLPARK_TRY(dlpark_gsl_borrow_mut(&y, out, err));
    return gsl_blas_dgemv(CblasNoTrans, 1, matrix, &x, 0, &y) == GSL_SUCCESS
               ? DLPARK_OK
               : dlpark_error_set(err, DLPARK_E_FOREIGN, "GSL could not multiply");
}

static dlpark_status cross(dlpark_error *err)
{
    double in[] = {1, 2, 3}, out[2];
    gsl_matrix *matrix = gsl_matrix_alloc(2, 3);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view from, to, view;
    char text[64];

    gsl_matrix_set_all(matrix, 2);
    DLPARK_TRY(dlpark_array_view(&from, &DLPARK_ARRAY_1D(in), err));
    DLPARK_TRY(dlpark_array_view(&to, &DLPARK_ARRAY_1D(out), err));
    DLPARK_TRY(multiply(&from, matrix, &to, err));
    printf("GSL wrote %g, %g\n", out[0], out[1]);

    DLPARK_TRY(dlpark_gsl_import(&tensor, &matrix, &view, err));      /* takes it: the tensor frees the matrix */
    dlpark_view_describe(&view, text, sizeof text);
    printf("%s, matrix is %s\n", text, matrix ? "still ours" : "NULL");
    DLPARK_TRY(dlpark_gsl_export(&matrix, &tensor, err));             /* any tensor of rank 2 with rows, as a gsl_matrix */
    printf("%zu x %zu, %s\n", matrix->size1, matrix->size2, matrix->data == view.data ? "the same memory" : "other memory");
    dlpark_gsl_release(&matrix);                                      /* instead of gsl_matrix_free() */
    return DLPARK_OK;
}

int main(void)
{
    dlpark_error err;

    if (cross(&err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return 0;
}
