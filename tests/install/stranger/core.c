#include <stdio.h>

#include <dlpark/dlpark.h>

int main(void)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;

    if (dlpark_tensor_alloc(
            &tensor, &(dlpark_tensor_desc){.dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})},
            &view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)view.shape[0], (int)view.shape[1]);
    dlpark_tensor_release(&tensor);
    return 0;
}
