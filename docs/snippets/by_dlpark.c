/* The same by dlpark: what docs/from-dlpack-h.md ends with. */
#include <dlpark/array.h>
#include <dlpark/dlpark.h>
#include <stdio.h>
#include <stdlib.h>

static dlpark_status table_give(DLManagedTensorVersioned **out, float *values, int64_t rows, int64_t columns, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    DLPARK_TRY(dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
        .data = values, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){rows, columns}),
        .owner = values, .release = free}, NULL, err));
    *out = dlpark_tensor_export(&tensor);
    return DLPARK_OK;
}

static dlpark_status table_sum(DLManagedTensorVersioned **theirs, float *sum, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    DLPARK_TRY(dlpark_tensor_import(&tensor, theirs, &view, err));    /* checked; theirs is NULL now */
    const float *first = DLPARK_STRIDED(float, &view, err);           /* NULL with the reason */
    *sum = 0;
    if (first && view.ndim == 2)
        for (int64_t i = 0; i < view.shape[0]; i++)
            for (int64_t j = 0; j < view.shape[1]; j++) *sum += DLPARK_AT(first, &view, i, j);
    dlpark_status status = first ? DLPARK_OK : err->status;
    if (first && view.ndim != 2) status = dlpark_error_set(err, DLPARK_E_RANK, "expected 2 dimensions, got %d", (int)view.ndim);
    dlpark_tensor_release(&tensor);                                   /* calls their deleter, once */
    return status;
}

int main(void)
{
    dlpark_error err;
    DLManagedTensorVersioned *given = NULL;
    float sum, *values = malloc(6 * sizeof *values);
    for (int i = 0; values && i < 6; i++) values[i] = (float)i;

    if (table_give(&given, values, 2, 3, &err)) {
        free(values);
        return 1;
    }
    if (table_sum(&given, &sum, &err)) {
        fprintf(stderr, "%s\n", err.message);
        dlpark_managed_release(&given);
        return 1;
    }
    printf("%g\n", (double)sum);
}
