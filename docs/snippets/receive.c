/* A function that receives a tensor from anybody, and ends it exactly once. */
#include <dlpark/dlpark.h>
#include <stdio.h>
#include <stdlib.h>

static dlpark_status add_rows(const dlpark_view *view, double *out, dlpark_error *err)
{
    if (view->ndim != 2)
        return dlpark_error_set(err, DLPARK_E_RANK, "expected rows and columns, got rank %d", (int)view->ndim);
    const double *values = DLPARK_CPU(double, view, err);
    if (!values)
        return err->status;                                          /* what err says: not double, not compact, ... */
    for (int64_t i = 0; i < view->shape[0]; i++) {
        out[i] = 0;
        for (int64_t j = 0; j < view->shape[1]; j++) out[i] += values[i * view->shape[1] + j];
    }
    return DLPARK_OK;
}

/* `err` must not be NULL here. */
static dlpark_status sum_rows(DLManagedTensorVersioned **theirs, double *out, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    DLPARK_TRY(dlpark_tensor_import(&tensor, theirs, &view, err));   /* on failure it is still theirs */
    dlpark_status status = add_rows(&view, out, err);
    dlpark_tensor_release(&tensor);                                  /* calls their deleter, once */
    return status;
}

int main(void)
{
    static const double values[] = {1, 2, 3, 4, 5, 6};
    dlpark_error err;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    double sums[2];

    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){.data_const = values, .dtype = DLPARK_F64, .ndim = 2,
                                                         .shape = DLPARK_DIMS((int[]){2, 3})}, NULL, &err))
        return 1;
    DLManagedTensorVersioned *theirs = dlpark_tensor_export(&tensor);
    if (sum_rows(&theirs, sums, &err)) {
        fprintf(stderr, "%s\n", err.message);
        dlpark_managed_release(&theirs);
        return 1;
    }
    printf("%g %g\n", sums[0], sums[1]);
}
