/* A tensor on a GPU, made, filled in a stream, and handed to a consumer whose stream is known. Without a driver it says so. */
#include <stdio.h>

#include <dlpark/cuda.h>
#include <dlpark/dlpark.h>

/* What the program does on the device; a kernel that fills six floats, say. */
static void launch(void *data, void *stream)
{
    (void)data;
    (void)stream;
}

static dlpark_status produce(const dlpark_cuda *cuda, void *stream, dlpark_stream consumer,
                             DLManagedTensorVersioned **managed, dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    DLPARK_TRY(dlpark_cuda_alloc(
        cuda, &tensor, &(dlpark_tensor_desc){.dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})},
        NULL, &view, err)); /* on cuda:0 */
    launch(view.data, stream);
    dlpark_status status = dlpark_cuda_export(cuda, managed, &tensor, dlpark_cuda_stream(stream), consumer, err);
    dlpark_tensor_release(&tensor); /* empty, unless that failed */
    return status;
}

static dlpark_status consume(const dlpark_cuda *cuda, DLManagedTensorVersioned **managed, void *stream,
                             dlpark_error *err)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    char text[64];

    DLPARK_TRY(dlpark_tensor_import(&tensor, managed, &view, err));
    dlpark_view_describe(&view, text, sizeof text);
    printf("%s\n", text);
    launch(view.data, stream);
    return dlpark_cuda_release_after(cuda, &tensor, dlpark_cuda_stream(stream), err); /* once that work is done */
}

int main(void)
{
    void *producing = NULL, *consuming = NULL; /* the streams of the two sides, CUstream or cudaStream_t */
    DLManagedTensorVersioned *managed = NULL;
    dlpark_cuda cuda = DLPARK_CUDA_EMPTY;
    dlpark_error err;

    if (dlpark_cuda_open(&cuda, NULL, &err)) {
        printf("no CUDA device was used: there is no driver\n");
        return 0;
    }
    if (produce(&cuda, producing, dlpark_cuda_stream(consuming), &managed, &err) ||
        consume(&cuda, &managed, consuming, &err)) {
        dlpark_managed_release(&managed);
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    return dlpark_cuda_poll(&cuda, true) != 0;
}
