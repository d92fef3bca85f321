#include <stdio.h>

#include <dlpark/dlpark.h>
#include <dlpark/onnxruntime.h>

int main(void)
{
    static float values[6];
    dlpark_onnxruntime runtime = DLPARK_ONNXRUNTIME_EMPTY;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct OrtValue *value = NULL;
    dlpark_view view;
    dlpark_error err;

    if (dlpark_onnxruntime_open(&runtime, NULL, &err) ||
        dlpark_tensor_new(&tensor,
                          &(dlpark_tensor_desc){
                              .data = values, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})},
                          NULL, &err) ||
        dlpark_onnxruntime_export(&runtime, &value, &tensor, 0, &err) ||
        dlpark_onnxruntime_import(&runtime, &tensor, &value, &view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)view.shape[0], (int)view.shape[1]);
    dlpark_tensor_release(&tensor);
    return 0;
}
