/* A tensor goes out as a value of ONNX Runtime, which is loaded here, and comes back. */
#include <stdio.h>

#include <dlpark/dlpark.h>
#include <dlpark/onnxruntime.h>

static dlpark_status cross(const dlpark_onnxruntime *runtime, float *pixels, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct OrtValue *value = NULL; /* what a session takes as an input, and fills as an output */
    dlpark_view view;
    char text[64];

    DLPARK_TRY(dlpark_tensor_new(
        &tensor,
        &(dlpark_tensor_desc){
            .data = pixels, .dtype = DLPARK_F32, .ndim = 3, .shape = DLPARK_DIMS((int64_t[]){2, 3, 4})},
        NULL, err));
    dlpark_status status = dlpark_onnxruntime_export(runtime, &value, &tensor, 0, err);
    if (status == DLPARK_OK) /* the value ends the tensor from here on; ReleaseValue() would */
        status = dlpark_onnxruntime_import(runtime, &tensor, &value, &view, err);
    if (status != DLPARK_OK) {
        dlpark_tensor_release(&tensor);
        return status;
    }
    dlpark_view_describe(&view, text, sizeof text);
    printf("%s, %s\n", text, view.data == pixels ? "the same memory" : "other memory");
    dlpark_tensor_release(&tensor); /* ends the value, and that the tensor */
    return DLPARK_OK;
}

int main(void)
{
    static float pixels[24];
    dlpark_onnxruntime runtime = DLPARK_ONNXRUNTIME_EMPTY;
    dlpark_error err;

    if (dlpark_onnxruntime_open(&runtime, NULL, &err) || cross(&runtime, pixels, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return 0;
}
