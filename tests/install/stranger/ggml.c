#include <ggml.h>
#include <stdio.h>

#include <dlpark/dlpark.h>
#include <dlpark/ggml.h>

int main(void)
{
    struct ggml_context *context = ggml_init((struct ggml_init_params){.mem_size = 4096});
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;
    dlpark_view view;
    dlpark_error err;

    struct ggml_tensor *theirs = ggml_new_tensor_2d(context, GGML_TYPE_F32, 3, 2);
    if (dlpark_ggml_import(&tensor, theirs, &(dlpark_ggml_owner){.context = context}, 0, &view, &err) ||
        dlpark_ggml_export(&object, &tensor, 0, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (object.ggml->data != view.data || object.ggml->ne[0] != 3)
        return 1;
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)view.shape[0], (int)view.shape[1]);
    dlpark_ggml_release(&object);
    return 0;
}
