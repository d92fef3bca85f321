#include <stdio.h>

#include <dlpark/arrow.h>
#include <dlpark/dlpark.h>

int main(void)
{
    static const float values[6];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema;
    struct ArrowArray array;
    dlpark_view view;
    dlpark_error err;

    if (dlpark_tensor_new(
            &tensor,
            &(dlpark_tensor_desc){
                .data_const = values, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})},
            NULL, &err) ||
        dlpark_arrow_export(&schema, &array, &tensor, &err) ||
        dlpark_arrow_import(&tensor, &schema, &array, &view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    schema.release(&schema);
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)view.shape[0], (int)view.shape[1]);
    dlpark_tensor_release(&tensor);
    return 0;
}
