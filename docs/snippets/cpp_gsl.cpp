#include <gsl/gsl_matrix.h>
#include <gsl/gsl_vector.h>

#include <cstdio>
#include <dlpark/gsl.h>

int main()
{
    gsl_matrix_float *matrix = gsl_matrix_float_calloc(2, 3);
    gsl_vector_float_const_view row = gsl_matrix_float_const_row(matrix, 1);
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view, part;
    dlpark_error err;

    if (dlpark_gsl_view(&part, &row.vector, &err) || dlpark_gsl_import(&tensor, &matrix, &view, &err)) {
        std::fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    std::printf("%s, rank %d and %d, %s\n", dlpark_dtype_name(view.dtype).text, view.ndim, part.ndim,
                part.flags & DLPARK_VIEW_READ_ONLY ? "the row is read-only" : "the row may be written");

    const gsl_matrix_float *out = nullptr;
    gsl_matrix_float borrowed;
    if (dlpark_gsl_borrow_mut(&borrowed, &view, &err) || dlpark_gsl_export(&out, &tensor, &err)) {
        std::fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    gsl_matrix_float_set(&borrowed, 1, 2, 7);
    std::printf("%g\n", static_cast<double>(gsl_matrix_float_get(out, 1, 2)));
    dlpark_gsl_release(&out);
}
