#include <gsl/gsl_matrix.h>
#include <stdio.h>

#include <dlpark/dlpark.h>
#include <dlpark/gsl.h>

int main(void)
{
    gsl_matrix *matrix = gsl_matrix_calloc(2, 3);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;

    if (dlpark_gsl_import(&tensor, &matrix, &view, &err) || dlpark_gsl_export(&matrix, &tensor, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)matrix->size1, (int)matrix->size2);
    dlpark_gsl_release(&matrix);
    return 0;
}
