/*
 * PNG files of every kind from known samples, by libpng; and what loading them has to give, computed here.
 */
#ifndef PNG_MAKE_H
#define PNG_MAKE_H

#include <png.h>

#include "picture.h"

typedef struct png_kind {
    int type; /* PNG_COLOR_TYPE_* */
    int depth;
    bool interlaced;
    bool trns;
    int filters; /* PNG_FILTER_*; 0: libpng's choice */
    int level;   /* of zlib, -1: its own */
    size_t idat_nbytes;
    bool odd_chunks; /* gAMA, sBIT, bKGD: none may change a sample */
} png_kind;

static const struct {
    int type;
    int depth;
} png_kinds[] = {
    {PNG_COLOR_TYPE_GRAY, 1},        {PNG_COLOR_TYPE_GRAY, 2},      {PNG_COLOR_TYPE_GRAY, 4},
    {PNG_COLOR_TYPE_GRAY, 8},        {PNG_COLOR_TYPE_GRAY, 16},     {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
    {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, {PNG_COLOR_TYPE_PALETTE, 1},   {PNG_COLOR_TYPE_PALETTE, 2},
    {PNG_COLOR_TYPE_PALETTE, 4},     {PNG_COLOR_TYPE_PALETTE, 8},   {PNG_COLOR_TYPE_RGB, 8},
    {PNG_COLOR_TYPE_RGB, 16},        {PNG_COLOR_TYPE_RGB_ALPHA, 8}, {PNG_COLOR_TYPE_RGB_ALPHA, 16},
};
#define PNG_KINDS (sizeof png_kinds / sizeof png_kinds[0])

static inline void png_make_error(png_structp png, png_const_charp text)
{
    (void)png;
    fail_msg("libpng cannot make the test's file: %s", text);
}

static inline void png_make_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static inline void png_make_write(png_structp png, png_bytep bytes, size_t nbytes)
{
    picture_bytes *file = png_get_io_ptr(png);
    file->bytes = realloc(file->bytes, file->nbytes + nbytes);
    assert_non_null(file->bytes);
    memcpy(file->bytes + file->nbytes, bytes, nbytes);
    file->nbytes += nbytes;
}

static inline void png_make_flush(png_structp png)
{
    (void)png;
}

static inline int png_file_channels(int type)
{
    return type == PNG_COLOR_TYPE_RGB          ? 3
           : type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
           : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                               : 1;
}

static inline png_color png_palette_colour(int index)
{
    return (png_color){(png_byte)(index * 37 + 11), (png_byte)(255 - index), (png_byte)(index * 91 ^ 0x5c)};
}

/* Opaque from the first index on for which tRNS has no entry. */
static inline int png_palette_alpha(const png_kind *kind, int index)
{
    int entries = (1 << kind->depth) / 2;
    return kind->trns && index < entries ? (index * 53 + 7) & 0xff : 255;
}

static inline void png_make_palette(png_structp png, png_infop info, const png_kind *kind)
{
    png_color colours[256];
    png_byte alphas[256];
    for (int i = 0; i < 1 << kind->depth; i++) {
        colours[i] = png_palette_colour(i);
        alphas[i] = (png_byte)png_palette_alpha(kind, i);
    }
    png_set_PLTE(png, info, colours, 1 << kind->depth);
    if (kind->trns)
        png_set_tRNS(png, info, alphas, (1 << kind->depth) / 2, NULL);
}

static inline void png_make_chunks(png_structp png, png_infop info, const png_kind *kind, const picture *raw)
{
    png_color_16 key = {0};
    if (kind->type == PNG_COLOR_TYPE_PALETTE)
        png_make_palette(png, info, kind);
    else if (kind->trns) {
        key.gray = (png_uint_16)picture_at(raw, 0, 0, 0);
        key.red = key.gray;
        key.green = (png_uint_16)picture_at(raw, 0, 0, raw->channels >= 3 ? 1 : 0);
        key.blue = (png_uint_16)picture_at(raw, 0, 0, raw->channels >= 3 ? 2 : 0);
        png_set_tRNS(png, info, NULL, 0, &key);
    }
    if (kind->odd_chunks) {
        png_color_8 sbit = {1, 1, 1, 1, 1};
        png_color_16 background = {0};
        png_set_gAMA(png, info, 0.45455);
        png_set_sBIT(png, info, &sbit);
        png_set_bKGD(png, info, &background);
        png_set_sRGB_gAMA_and_cHRM(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    }
}

/* The raw samples of the file, of any depth, packed as the format wants it. */
static inline void png_pack(const picture *raw, int depth, unsigned char *rows, size_t row_nbytes)
{
    for (int y = 0; y < raw->height; y++)
        for (int x = 0; x < raw->width; x++)
            for (int c = 0; c < raw->channels; c++) {
                size_t bit = ((size_t)x * (size_t)raw->channels + (size_t)c) * (size_t)depth;
                unsigned char *at = rows + (size_t)y * row_nbytes + bit / 8;
                uint32_t value = picture_at(raw, x, y, c);
                if (depth == 16) {
                    at[0] = (unsigned char)(value >> 8);
                    at[1] = (unsigned char)value;
                } else {
                    *at = (unsigned char)(*at | value << (8 - (size_t)depth - bit % 8));
                }
            }
}

/* Writes raw samples: for a palette they are indices. */
static inline picture_bytes png_make(const png_kind *kind, const picture *raw)
{
    picture_bytes file = {NULL, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_make_error, png_make_warning);
    png_infop info = png_create_info_struct(png);
    size_t row_nbytes = ((size_t)raw->width * (size_t)raw->channels * (size_t)kind->depth + 7) / 8;
    unsigned char *packed = picture_memory((size_t)raw->height * row_nbytes);
    png_bytepp rows = picture_memory((size_t)raw->height * sizeof *rows);
    for (int y = 0; y < raw->height; y++)
        rows[y] = packed + (size_t)y * row_nbytes;
    png_pack(raw, kind->depth, packed, row_nbytes);
    png_set_write_fn(png, &file, png_make_write, png_make_flush);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(png, info, (png_uint_32)raw->width, (png_uint_32)raw->height, kind->depth, kind->type,
                 kind->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (kind->filters)
        png_set_filter(png, PNG_FILTER_TYPE_BASE, kind->filters);
    if (kind->level >= 0)
        png_set_compression_level(png, kind->level);
    if (kind->idat_nbytes)
        png_set_compression_buffer_size(png, kind->idat_nbytes);
    png_make_chunks(png, info, kind, raw);
    png_write_info(png, info);
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    free(rows);
    free(packed);
    return file;
}

static inline picture png_raw(const png_kind *kind, int width, int height)
{
    return picture_noise(width, height, png_file_channels(kind->type), kind->depth);
}

/* Whether every channel is that of the first pixel, which is the transparent colour of png_make(). */
static inline bool png_is_key(const picture *raw, int x, int y)
{
    for (int c = 0; c < raw->channels; c++)
        if (picture_at(raw, x, y, c) != picture_at(raw, 0, 0, c))
            return false;
    return true;
}

static inline uint16_t png_expected(const png_kind *kind, const picture *raw, int x, int y, int c)
{
    uint32_t value = picture_at(raw, x, y, c < raw->channels ? c : 0);
    if (kind->type == PNG_COLOR_TYPE_PALETTE) {
        png_color colour = png_palette_colour((int)value);
        return c == 0   ? colour.red
               : c == 1 ? colour.green
               : c == 2 ? colour.blue
                        : (uint16_t)png_palette_alpha(kind, (int)value);
    }
    if (c >= raw->channels)
        return png_is_key(raw, x, y) ? 0 : kind->depth == 16 ? 65535 : 255;
    return (uint16_t)(kind->depth < 8 ? value * 255 / ((1u << kind->depth) - 1) : value);
}

/* What loading the file has to give, by the format's rules. */
static inline picture png_picture(const png_kind *kind, const picture *raw)
{
    int channels = (kind->type == PNG_COLOR_TYPE_PALETTE ? 3 : raw->channels) + (kind->trns ? 1 : 0);
    picture p = picture_new(raw->width, raw->height, channels, kind->depth == 16 ? 16 : 8);
    for (int y = 0; y < p.height; y++)
        for (int x = 0; x < p.width; x++)
            for (int c = 0; c < channels; c++)
                p.samples[((size_t)y * (size_t)p.width + (size_t)x) * (size_t)channels + (size_t)c] =
                    png_expected(kind, raw, x, y, c);
    return p;
}

/* 80 x 64 pixels of noise, which do not compress. */
static inline picture_bytes png_make_plain(int type, int depth, bool interlaced, size_t idat_nbytes, picture *raw)
{
    png_kind kind = {.type = type, .depth = depth, .interlaced = interlaced, .level = -1, .idat_nbytes = idat_nbytes};
    *raw = png_raw(&kind, 80, 64);
    return png_make(&kind, raw);
}

/* ---- chunks by hand ---- */

static inline uint32_t png_crc(const unsigned char *bytes, size_t nbytes)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < nbytes; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return ~crc;
}

static inline size_t png_find(const picture_bytes *file, const char *type)
{
    for (size_t at = 8; at + 12 <= file->nbytes; at += 12 + (size_t)png_get_uint_32(file->bytes + at))
        if (memcmp(file->bytes + at + 4, type, 4) == 0)
            return at;
    fail_msg("no chunk %s", type);
    return 0;
}

/* Puts a chunk before the first one of type `before`. */
static inline void png_insert(picture_bytes *file, const char *before, const char *type, const void *data,
                              size_t nbytes)
{
    unsigned char *chunk = picture_memory(nbytes + 12);
    png_save_uint_32(chunk, (png_uint_32)nbytes);
    memcpy(chunk + 4, type, 4);
    memcpy(chunk + 8, data, nbytes);
    png_save_uint_32(chunk + 8 + nbytes, png_crc(chunk + 4, nbytes + 4));
    picture_insert(file, png_find(file, before), chunk, nbytes + 12);
    free(chunk);
}

/* Makes the checksums right again, as far as chunks can be told, so that damage gets past them. */
static inline void png_seal(picture_bytes *file)
{
    for (size_t at = 8; at + 12 <= file->nbytes;) {
        size_t nbytes = png_get_uint_32(file->bytes + at);
        if (nbytes > file->nbytes - at - 12)
            return;
        png_save_uint_32(file->bytes + at + 8 + nbytes, png_crc(file->bytes + at + 4, nbytes + 4));
        at += 12 + nbytes;
    }
}

/* ---- decoding without the library under test ---- */

static inline void png_make_read(png_structp png, png_bytep to, size_t nbytes)
{
    picture_bytes *rest = png_get_io_ptr(png);
    assert_true(nbytes <= rest->nbytes);
    memcpy(to, rest->bytes, nbytes);
    rest->bytes += nbytes;
    rest->nbytes -= nbytes;
}

/* The samples of a file of 8 or 16 bits without a palette. */
static inline picture png_decode(picture_bytes file)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, png_make_error, png_make_warning);
    png_infop info = png_create_info_struct(png);
    png_set_read_fn(png, &file, png_make_read);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_read_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    picture p = picture_new((int)png_get_image_width(png, info), (int)png_get_image_height(png, info),
                            png_get_channels(png, info), png_get_bit_depth(png, info));
    const size_t row = (size_t)p.width * (size_t)p.channels;
    for (size_t i = 0; i < row * (size_t)p.height; i++) {
        const unsigned char *from = png_get_rows(png, info)[i / row] + i % row * (size_t)(p.bits / 8);
        p.samples[i] = (uint16_t)(p.bits == 16 ? from[0] << 8 | from[1] : from[0]);
    }
    png_destroy_read_struct(&png, &info, NULL);
    return p;
}

/* The picture in memory with the given order of bytes, as a view [h, w, c]; written, and decoded by libpng alone. */
static inline void png_check_written(const picture *p, const int64_t strides[3], int64_t first, int64_t span,
                                     int compression)
{
    const int64_t shape[3] = {p->height, p->width, p->channels};
    const bool wide = p->bits == 16;
    unsigned char *memory = picture_memory((size_t)span * 2);
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++)
            for (int c = 0; c < p->channels; c++) {
                int64_t at = first + y * strides[0] + x * strides[1] + c * strides[2];
                if (wide)
                    ((uint16_t *)(void *)memory)[at] = (uint16_t)picture_at(p, x, y, c);
                else
                    memory[at] = (unsigned char)picture_at(p, x, y, c);
            }
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor encoded = DLPARK_TENSOR_EMPTY;
    dlpark_view view, bytes;
    picture_wrap(&tensor, &view, memory + first * (wide ? 2 : 1), wide ? DLPARK_U16 : DLPARK_U8, shape, strides);
    dlpark_image_save_desc desc = {.format = DLPARK_IMAGE_PNG, .compression = compression};
    assert_ok(dlpark_image_encode(&encoded, &view, &desc, &bytes, e));
    picture back = png_decode((picture_bytes){bytes.data, (size_t)bytes.shape[0]});
    assert_int_equal(back.width, p->width);
    assert_int_equal(back.height, p->height);
    assert_int_equal(back.channels, p->channels);
    assert_int_equal(back.bits, p->bits);
    size_t count = (size_t)p->width * (size_t)p->height * (size_t)p->channels;
    assert_memory_equal(back.samples, p->samples, count * sizeof *p->samples);
    free(back.samples);
    dlpark_tensor_release(&encoded);
    dlpark_tensor_release(&tensor);
    free(memory);
}

#endif
