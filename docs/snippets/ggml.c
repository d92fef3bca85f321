/* ggml multiplies a tensor of ours, and its product comes back as one. */
#include <stdio.h>

#include <ggml-cpu.h>
#include <ggml.h>

#include <dlpark/dlpark.h>
#include <dlpark/ggml.h>

static dlpark_status multiply(dlpark_tensor *product, dlpark_tensor *rows, dlpark_view *view, dlpark_error *err)
{
    dlpark_ggml_object object = DLPARK_GGML_OBJECT_EMPTY;

    DLPARK_TRY(dlpark_ggml_export(&object, rows, DLPARK_GGML_READ, err));
    struct ggml_context *context = ggml_init((struct ggml_init_params){.mem_size = 1 << 20});
    struct ggml_tensor *out = ggml_mul_mat(context, object.ggml, object.ggml); /* each row by each row */
    struct ggml_cgraph *graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, out);
    ggml_graph_compute_with_ctx(context, graph, 1);
    dlpark_ggml_release(&object); /* after the last graph that reads it */

    dlpark_ggml_owner owner = {.context = context};
    dlpark_status status = dlpark_ggml_import(product, out, &owner, DLPARK_GGML_NDIM(2), view, err);
    ggml_free(owner.context); /* NULL once the tensor has it */
    return status;
}

int main(void)
{
    static const float numbers[] = {1, 2, 3, 4, 5, 6};
    dlpark_tensor rows = DLPARK_TENSOR_EMPTY, product = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;
    char text[128];

    if (dlpark_tensor_new(
            &rows,
            &(dlpark_tensor_desc){
                .data_const = numbers, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})},
            NULL, &err) ||
        multiply(&product, &rows, &view, &err)) {
        dlpark_tensor_release(&rows);
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_view_describe(&view, text, sizeof text);
    printf("%s: ", text);
    for (int i = 0; i < 4; i++)
        printf("%g%s", (double)((float *)view.data)[i], i < 3 ? " " : "\n");
    dlpark_tensor_release(&product);
    return 0;
}
