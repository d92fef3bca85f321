/* PNG by hand. Its default error handler ends the program when no setjmp was done. */
#include "image_floor.h"

#include <stdlib.h>
#include <string.h>

#include <png.h>

typedef struct png_place {
    const floor_bytes *file;
    size_t at;
} png_place;

static void png_take(png_structp png, png_bytep to, size_t nbytes)
{
    png_place *place = png_get_io_ptr(png);

    if (nbytes > place->file->nbytes - place->at)
        floor_die("the PNG is cut short");
    memcpy(to, place->file->data + place->at, nbytes);
    place->at += nbytes;
}

void floor_png_decode(unsigned char *out, const floor_bytes *file)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    png_place place = {file, 0};

    if (!info)
        floor_die("libpng has no memory");
    png_set_read_fn(png, &place, png_take);
    png_read_info(png, info);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    png_uint_32 height = png_get_image_height(png, info);
    size_t pitch = png_get_rowbytes(png, info);
    for (int pass = 0; pass < passes; pass++)
        for (png_uint_32 y = 0; y < height; y++)
            png_read_row(png, out + y * pitch, NULL);
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
}

typedef struct png_sink {
    floor_bytes bytes;
    size_t capacity;
} png_sink;

static void png_give(png_structp png, png_bytep from, size_t nbytes)
{
    png_sink *sink = png_get_io_ptr(png);

    if (nbytes > sink->capacity - sink->bytes.nbytes) {
        sink->capacity = 2 * sink->capacity + nbytes + 65536;
        sink->bytes.data = realloc(sink->bytes.data, sink->capacity);
        if (!sink->bytes.data)
            floor_die("out of memory");
    }
    memcpy(sink->bytes.data + sink->bytes.nbytes, from, nbytes);
    sink->bytes.nbytes += nbytes;
}

static void png_flush_nothing(png_structp png)
{
    (void)png;
}

static floor_bytes png_encode(const floor_picture *picture, int interlace)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    png_sink sink = {{NULL, 0}, 0};
    size_t pitch = (size_t)picture->width * FLOOR_CHANNELS;

    if (!info)
        floor_die("libpng has no memory");
    png_set_write_fn(png, &sink, png_give, png_flush_nothing);
    png_set_compression_buffer_size(png, 65536);
    png_set_IHDR(png, info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8, PNG_COLOR_TYPE_RGB, interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < picture->height; y++)
            png_write_row(png, picture->data + (size_t)y * pitch);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return sink.bytes;
}

floor_bytes floor_png_encode(const floor_picture *picture)
{
    return png_encode(picture, PNG_INTERLACE_NONE);
}

floor_bytes floor_png_encode_interlaced(const floor_picture *picture)
{
    return png_encode(picture, PNG_INTERLACE_ADAM7);
}
