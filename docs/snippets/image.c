/* A photograph as a tensor, as a network wants it, and back to a file. */
#include <dlpark/dlpark.h>
#include <dlpark/image.h>
#include <stdio.h>

int main(void)
{
    dlpark_tensor photo = DLPARK_TENSOR_EMPTY, input = DLPARK_TENSOR_EMPTY;
    dlpark_view view, planes;
    dlpark_error err;

    if (dlpark_image_load(&photo, &(dlpark_image_load_desc){.path = "photo.jpg"}, &view, &err) ||
        dlpark_image_load(&input, &(dlpark_image_load_desc){
            .path = "photo.jpg", .channels = 3, .layout = DLPARK_IMAGE_CHW, .dtype = DLPARK_F32}, &planes, &err) ||
        dlpark_image_save(&view, &(dlpark_image_save_desc){.path = "photo.webp", .quality = 80}, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("%s [%lld, %lld, %lld]\n", dlpark_dtype_name(view.dtype).text, (long long)view.shape[0],
           (long long)view.shape[1], (long long)view.shape[2]);
    printf("%s [%lld, %lld, %lld]\n", dlpark_dtype_name(planes.dtype).text, (long long)planes.shape[0],
           (long long)planes.shape[1], (long long)planes.shape[2]);
    dlpark_tensor_release(&photo);
    dlpark_tensor_release(&input);
}
