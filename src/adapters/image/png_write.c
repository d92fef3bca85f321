/*
 * PNG files by libpng's row interface. What can fail is a step, as png_fault.h says.
 */
#include "parts.h"
#include "png_fault.h"

#define WRITEPNG_SIDE_MAX    0x7fffffff
#define WRITEPNG_IDAT_NBYTES 65536

typedef struct writepng {
    pngfault fault;
    png_structp png;
    png_infop info;
    const image_source *source;
    const dlpark_image_save_desc *desc;
    image_buffer *out;
    unsigned char *row; /* gathered; NULL when the source's own rows can be handed on */
} writepng;

static void writepng_on_write(png_structp png, png_bytep bytes, size_t nbytes)
{
    writepng *w = png_get_io_ptr(png);
    if (!dlpark__image_buffer_append(w->out, bytes, nbytes)) {
        w->fault.out_of_memory = true;
        png_error(png, "out of memory");
    }
}

static void writepng_on_flush(png_structp png)
{
    (void)png;
}

static void writepng_step_create(void *context)
{
    writepng *w = context;
    w->png = dlpark__png_fault_writer(&w->fault);
    w->info = w->png != NULL ? png_create_info_struct(w->png) : NULL;
}

static void writepng_step_head(void *context)
{
    writepng *w = context;
    static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    const image_source *source = w->source;
    png_set_write_fn(w->png, w, writepng_on_write, writepng_on_flush);
    png_set_user_limits(w->png, WRITEPNG_SIDE_MAX, WRITEPNG_SIDE_MAX); /* libpng's own is a million */
    png_set_compression_buffer_size(w->png, WRITEPNG_IDAT_NBYTES);
    if (w->desc->compression != 0)
        png_set_compression_level(w->png, w->desc->compression);
    png_set_IHDR(w->png, w->info, (png_uint_32)source->width, (png_uint_32)source->height,
                 source->sample == IMAGE_U16 ? 16 : 8, types[source->channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    if (source->sample == IMAGE_U16 && parts_host_is_little_endian())
        png_set_swap(w->png);
}

static void writepng_step_rows(void *context)
{
    writepng *w = context;
    const image_source *source = w->source;
    for (int32_t y = 0; y < source->height; y++) {
        const unsigned char *row = source->data + y * source->y_stride;
        if (w->row != NULL) {
            dlpark__image_source_get(source, y, w->row);
            row = w->row;
        }
        png_write_row(w->png, row);
    }
    png_write_end(w->png, NULL);
}

static dlpark_status writepng_all(writepng *w, dlpark_error *err)
{
    if (dlpark__png_guard(&w->fault, writepng_step_create, w) && w->info != NULL &&
        dlpark__png_guard(&w->fault, writepng_step_head, w) && dlpark__png_guard(&w->fault, writepng_step_rows, w))
        return DLPARK_OK;
    const char *name = w->source->name;
    int width = (int)w->source->width;
    int height = (int)w->source->height;
    if (w->fault.out_of_memory)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a PNG of %d x %d pixels", name, width,
                                height);
    return dlpark_error_set(err, DLPARK_E_FOREIGN, "%s: libpng cannot write %d x %d pixels: %s", name, width, height,
                            w->fault.reason);
}

dlpark_status dlpark__png_encode(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                                 dlpark_error *err)
{
    writepng *w = calloc(1, sizeof *w);
    if (w == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a PNG writer", source->name);
    w->fault.tolerant = true; /* there is no damage here: libpng could only advise other settings */
    w->source = source;
    w->desc = desc;
    w->out = out;
    dlpark_status status = DLPARK_OK;
    if (!dlpark__image_source_is_direct(source)) {
        size_t row_nbytes = (size_t)source->width * (size_t)source->channels * (source->sample == IMAGE_U16 ? 2 : 1);
        w->row = malloc(row_nbytes);
        if (w->row == NULL)
            status = dlpark_error_set(err, DLPARK_E_MEMORY, "%s: out of memory for a row of %zu bytes", source->name,
                                      row_nbytes);
    }
    if (status == DLPARK_OK)
        status = writepng_all(w, err);
    if (w->png != NULL)
        png_destroy_write_struct(&w->png, &w->info);
    free(w->row);
    free(w);
    return status;
}
