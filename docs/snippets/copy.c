/* A compact copy of a view with any strides. */
#include <dlpark/dlpark.h>
#include <stdio.h>

static dlpark_status pack(dlpark_tensor *packed, const dlpark_view *view, dlpark_view *out, dlpark_error *err)
{
    DLPARK_TRY(dlpark_tensor_alloc(packed, &(dlpark_tensor_desc){
        .dtype = view->dtype, .ndim = view->ndim, .shape = DLPARK_DIMS(view->shape)}, out, err));
    return dlpark_copy(out, view, err);
}

int main(void)
{
    float columns[] = {1, 2, 3, 4, 5, 6};                 /* 2 x 3, column after column */
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, packed = DLPARK_TENSOR_EMPTY;
    dlpark_view view, out;
    dlpark_error err;

    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data = columns, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int[]){2, 3}),
            .strides = DLPARK_DIMS((int[]){1, 2})}, &view, &err) || pack(&packed, &view, &out, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const float *values = DLPARK_CPU(float, &out, &err);
    for (int i = 0; values && i < 6; i++) printf("%g%c", (double)values[i], i % 3 == 2 ? '\n' : ' ');
    if (dlpark_copy_threads(&out, &view, 4, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_tensor_release(&packed);
    dlpark_tensor_release(&tensor);
}
