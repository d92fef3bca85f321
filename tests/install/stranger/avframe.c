#include <stdio.h>

#include <dlpark/avframe.h>
#include <dlpark/dlpark.h>

int main(void)
{
    static unsigned char values[6];
    const int gray = 8; /* AV_PIX_FMT_GRAY8, without FFmpeg's headers */
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    struct AVFrame *frame = NULL;
    dlpark_view view;
    dlpark_error err;

    if (dlpark_tensor_new(&tensor,
                          &(dlpark_tensor_desc){
                              .data = values, .dtype = DLPARK_U8, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})},
                          NULL, &err) ||
        dlpark_avframe_export(&frame, &tensor, gray, &err) || dlpark_avframe_import(&tensor, &frame, 0, &view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)view.shape[0], (int)view.shape[1]);
    dlpark_tensor_release(&tensor);
    return 0;
}
