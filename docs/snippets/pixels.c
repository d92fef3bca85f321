/* A photograph is decoded into a surface that another library has, and a tensor goes out as such pixels. */
#include <stdio.h>
#include <stdlib.h>

#include <dlpark/dlpark.h>
#include <dlpark/image.h>
#include <dlpark/pixels.h>

/* What libraries of windows and cameras have: blue, green, red and a byte of nothing, in rows of a length of their own. */
struct surface {
    int w, h, pitch;
    void *pixels;
};

static dlpark_status draw(const struct surface *surface, const char *path, dlpark_error *err)
{
    const dlpark_pixels pixels = {.data = surface->pixels, .channels = "BGRX", .dtype = DLPARK_U8,
                                  .width = surface->w, .height = surface->h, .pitch_nbytes = surface->pitch};
    dlpark_view view;
    char text[64];

    DLPARK_TRY(dlpark_pixels_view(&view, &pixels, "RGB", DLPARK_IMAGE_HWC, err));       /* the same bytes */
    dlpark_view_describe(&view, text, sizeof text);
    printf("%s\n", text);
    DLPARK_TRY(dlpark_image_load_into(&view, &(dlpark_image_load_desc){.path = path}, err));
    if (dlpark_pixels_view(&view, &(dlpark_pixels){.data = surface->pixels, .channels = "BGRA", .dtype = DLPARK_U8,
                                                   .width = 2, .height = 2}, "RGBA", DLPARK_IMAGE_HWC, err))
        printf("%s\n", err->message);
    return DLPARK_OK;
}

/* For a library that shows BGR and knows a callback for the end of its memory. */
static dlpark_status give(dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_pixels pixels;

    DLPARK_TRY(dlpark_pixels_export(&pixels, tensor, "BGR", "BGR", DLPARK_IMAGE_HWC, err));
    printf("%d x %d %s, %lld bytes a row\n", (int)pixels.width, (int)pixels.height, pixels.channels,
           (long long)pixels.pitch_nbytes);
    pixels.release(pixels.owner);
    return DLPARK_OK;
}

int main(void)
{
    struct surface surface = {640, 427, 2816, malloc((size_t)427 * 2816)};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    if (!surface.pixels || draw(&surface, "photo.jpg", &err) ||
        dlpark_tensor_alloc(&tensor, &(dlpark_tensor_desc){
            .dtype = DLPARK_U8, .ndim = 3, .shape = DLPARK_DIMS((int[]){480, 640, 3})}, NULL, &err) ||
        give(&tensor, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    free(surface.pixels);
    return 0;
}
