#include <stdio.h>

#include <dlpark/dlpark.h>
#include <dlpark/vips.h>

/* The two directions need none of libvips' own headers. */
int main(void)
{
    static const float values[6];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    VipsImage *image = NULL;
    dlpark_view view;
    dlpark_error err;

    if (dlpark_tensor_new(
            &tensor,
            &(dlpark_tensor_desc){
                .data_const = values, .dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){2, 3})},
            NULL, &err) ||
        dlpark_vips_export(&image, &tensor, DLPARK_VIPS_GUESS, &err) ||
        dlpark_vips_import(&tensor, &image, &view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("dlpark %s: %d x %d\n", dlpark_version(), (int)view.shape[0], (int)view.shape[1]);
    dlpark_tensor_release(&tensor);
    return 0;
}
