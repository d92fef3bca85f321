#include <stdio.h>
#include <string.h>

#include <dlpark/dlpark.h>
#include <dlpark/image.h>

int main(void)
{
    dlpark_tensor pixels = DLPARK_TENSOR_EMPTY, file = DLPARK_TENSOR_EMPTY, back = DLPARK_TENSOR_EMPTY;
    dlpark_view view, bytes;
    dlpark_error err;

    if (dlpark_tensor_alloc(
            &pixels, &(dlpark_tensor_desc){.dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS((int64_t[]){2, 3, 3})},
            &view, &err))
        goto failed;
    memset(view.data, 7, 2 * 3 * 3);
    if (dlpark_image_encode(&file, &view, &(dlpark_image_save_desc){.format = DLPARK_IMAGE_PNG}, &bytes, &err))
        goto failed;
    if (dlpark_image_load(&back,
                          &(dlpark_image_load_desc){.bytes = bytes.data, .nbytes = (size_t)dlpark_view_nbytes(&bytes)},
                          &view, &err))
        goto failed;
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)view.shape[0], (int)view.shape[1]);
    dlpark_tensor_release(&back);
    dlpark_tensor_release(&file);
    dlpark_tensor_release(&pixels);
    return 0;
failed:
    fprintf(stderr, "%s\n", err.message);
    return 1;
}
