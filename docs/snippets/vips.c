/* A tensor goes out as an image of libvips, which computes with it; what that computes comes back. */
#include <stdio.h>

#include <dlpark/dlpark.h>
#include <dlpark/vips.h>
#include <vips/vips.h>

/* [height, width, bands] of bytes in, the inverted image out. */
static dlpark_status invert(dlpark_tensor *inverted, dlpark_tensor *tensor, dlpark_view *view, dlpark_error *err)
{
    VipsImage *image = NULL, *out = NULL;
    dlpark_status status;

    DLPARK_TRY(dlpark_vips_export(&image, tensor, DLPARK_VIPS_GUESS, err)); /* tensor is empty now */
    printf("%d x %d, %d bands, %s\n", vips_image_get_width(image), vips_image_get_height(image),
           vips_image_get_bands(image), vips_enum_nick(VIPS_TYPE_INTERPRETATION, vips_image_get_interpretation(image)));
    if (vips_invert(image, &out, NULL)) {
        status = dlpark_error_set(err, DLPARK_E_FOREIGN, "%s", vips_error_buffer());
    } else {
        status = dlpark_vips_import(inverted, &out, view, err); /* computes what vips_invert() only planned */
        if (status != DLPARK_OK)
            g_object_unref(out);
    }
    g_object_unref(image);
    return status;
}

static void release_pixels(void *owner)
{
    (void)owner;
    printf("libvips has let go of the pixels\n");
}

int main(void)
{
    static uint8_t pixels[4 * 5 * 3] = {255, 200, 0};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, inverted = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;

    if (VIPS_INIT("vips"))
        return 1;
    if (dlpark_tensor_new(&tensor,
                          &(dlpark_tensor_desc){.data = pixels,
                                                .dtype = DLPARK_U8,
                                                .ndim = 3,
                                                .shape = DLPARK_DIMS((int64_t[]){4, 5, 3}),
                                                .owner = pixels,
                                                .release = release_pixels},
                          NULL, &err) ||
        invert(&inverted, &tensor, &view, &err)) {
        fprintf(stderr, "%s\n", err.message);
        dlpark_tensor_release(&tensor);
        return 1;
    }
    const uint8_t *values = DLPARK_CPU(uint8_t, &view, &err);
    if (values)
        printf("%d %d %d\n", values[0], values[1], values[2]);
    dlpark_tensor_release(&inverted);

    printf("the cache of operations still holds them\n");
    vips_cache_set_max(0);
    vips_shutdown();
    return 0;
}
