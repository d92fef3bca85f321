/*
 * JPEG files made by libjpeg for the tests, and libjpeg's own reading of them, row by row, as the oracle.
 */
#ifndef JPEG_MADE_H
#define JPEG_MADE_H

#include <stdio.h>

#include <jpeglib.h>

#include "picture.h"

typedef struct jpeg_recipe {
    J_COLOR_SPACE given;  /* of the picture: JCS_GRAYSCALE, JCS_RGB, JCS_CMYK */
    J_COLOR_SPACE stored; /* 0: as libjpeg likes */
    int h;                /* sampling factors of the first component; 0: 1 */
    int v;
    bool progressive;
    bool arithmetic;
    bool no_adobe;
    int restart; /* MCUs between restart markers */
    const unsigned char *exif;
    size_t exif_nbytes;
} jpeg_recipe;

static inline void jpeg_made_settings(struct jpeg_compress_struct *cinfo, const picture *p, const jpeg_recipe *recipe)
{
    cinfo->image_width = (JDIMENSION)p->width;
    cinfo->image_height = (JDIMENSION)p->height;
    cinfo->input_components = p->channels;
    cinfo->in_color_space = recipe->given;
    jpeg_set_defaults(cinfo);
    if (recipe->stored)
        jpeg_set_colorspace(cinfo, recipe->stored);
    jpeg_set_quality(cinfo, 85, TRUE);
    cinfo->comp_info[0].h_samp_factor = recipe->h ? recipe->h : 1;
    cinfo->comp_info[0].v_samp_factor = recipe->v ? recipe->v : 1;
    if (p->channels == 4) {
        cinfo->comp_info[3].h_samp_factor = cinfo->comp_info[0].h_samp_factor;
        cinfo->comp_info[3].v_samp_factor = cinfo->comp_info[0].v_samp_factor;
    }
    if (recipe->progressive)
        jpeg_simple_progression(cinfo);
    if (recipe->no_adobe)
        cinfo->write_Adobe_marker = FALSE;
    cinfo->arith_code = recipe->arithmetic;
    cinfo->restart_interval = (unsigned)recipe->restart;
}

static inline picture_bytes jpeg_made(const picture *p, const jpeg_recipe *recipe)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long nbytes = 0;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, &nbytes);
    jpeg_made_settings(&cinfo, p, recipe);
    jpeg_start_compress(&cinfo, TRUE);
    if (recipe->exif)
        jpeg_write_marker(&cinfo, JPEG_APP0 + 1, recipe->exif, (unsigned)recipe->exif_nbytes);
    const size_t samples = (size_t)p->width * (size_t)p->channels;
    unsigned char *row = picture_memory(samples);
    while (cinfo.next_scanline < cinfo.image_height) {
        for (size_t i = 0; i < samples; i++)
            row[i] = (unsigned char)p->samples[cinfo.next_scanline * samples + i];
        (void)jpeg_write_scanlines(&cinfo, &row, 1);
    }
    free(row);
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    picture_bytes made = picture_copy(bytes, nbytes);
    free(bytes);
    return made;
}

/* What libjpeg gives in the colour space, with its own settings. */
static inline picture jpeg_by_hand(const picture_bytes *file, J_COLOR_SPACE space)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, file->bytes, (unsigned long)file->nbytes);
    (void)jpeg_read_header(&cinfo, TRUE);
    cinfo.out_color_space = space;
    (void)jpeg_start_decompress(&cinfo);
    picture p = picture_new((int)cinfo.output_width, (int)cinfo.output_height, cinfo.output_components, 8);
    const size_t samples = (size_t)p.width * (size_t)p.channels;
    unsigned char *row = picture_memory(samples);
    while (cinfo.output_scanline < cinfo.output_height) {
        uint16_t *to = p.samples + cinfo.output_scanline * samples;
        (void)jpeg_read_scanlines(&cinfo, &row, 1);
        for (size_t i = 0; i < samples; i++)
            to[i] = row[i];
    }
    free(row);
    (void)jpeg_finish_decompress(&cinfo);
    jpeg_destroy_decompress(&cinfo);
    return p;
}

/* Soft colours with some noise: as in a photo, neighbours resemble each other. */
static inline picture jpeg_photo(int width, int height, int channels)
{
    picture p = picture_new(width, height, channels, 8);
    uint32_t state = 2463534242u;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++) {
                int value = (x * (3 + c) + y * (5 - c)) % 256 / 2 + 64 * (c % 2) + (int)(picture_random(&state) % 32);
                p.samples[((size_t)y * (size_t)width + (size_t)x) * (size_t)channels + (size_t)c] = (uint16_t)value;
            }
    return p;
}

/* "Exif\0\0" and a TIFF structure with nothing but the orientation, in either byte order. */
#define JPEG_EXIF_NBYTES (6 + PICTURE_EXIF_NBYTES)
static inline void jpeg_exif(unsigned char bytes[JPEG_EXIF_NBYTES], int orientation, bool big_endian)
{
    static const unsigned char big[PICTURE_EXIF_NBYTES] = {'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0,
                                                           3,   0,   0, 0,   1, 0, 0, 0, 0, 0, 0,    0,    0};
    memcpy(bytes, "Exif\0\0", 6);
    if (big_endian) {
        memcpy(bytes + 6, big, sizeof big);
        bytes[6 + 19] = (unsigned char)orientation;
    } else {
        picture_exif(bytes + 6, orientation);
    }
}

#endif
