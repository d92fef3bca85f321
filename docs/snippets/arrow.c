/* A tensor goes out as an Arrow array, and comes back. */
#include <stdio.h>

#include <dlpark/arrow.h>
#include <dlpark/dlpark.h>

static dlpark_status cross(float *pixels, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct ArrowSchema schema;
    struct ArrowArray array;
    dlpark_view view;
    char text[64];

    DLPARK_TRY(dlpark_tensor_new(
        &tensor,
        &(dlpark_tensor_desc){
            .data = pixels, .dtype = DLPARK_F32, .ndim = 3, .shape = DLPARK_DIMS((int64_t[]){2, 3, 4})},
        NULL, err));
    dlpark_status status = dlpark_arrow_export(&schema, &array, &tensor, err);
    if (status != DLPARK_OK) {
        dlpark_tensor_release(&tensor);
        return status;
    }
    printf("%lld tensors in an array of \"%s\"\n", (long long)array.length, schema.format);

    status = dlpark_arrow_import(&tensor, &schema, &array, &view, err);
    if (status == DLPARK_OK) {
        dlpark_view_describe(&view, text, sizeof text);
        printf("%s, %s\n", text, view.data == pixels ? "the same memory" : "other memory");
        dlpark_tensor_release(&tensor);
    } else {
        array.release(&array);
    }
    schema.release(&schema);
    return status;
}

int main(void)
{
    static float pixels[24];
    dlpark_error err;

    if (cross(pixels, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return 0;
}
