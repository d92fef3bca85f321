/* JPEG by hand, and the photograph, which is one. */
#include "image_floor.h"

#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FLOOR_AVX2 1
#endif

/* libjpeg gives that many rows a call at most. */
#define FLOOR_ROWS 4

/* ---- Decoding ---- */

static void jpeg_begin(struct jpeg_decompress_struct *cinfo, struct jpeg_error_mgr *errors, const floor_bytes *file)
{
    cinfo->err = jpeg_std_error(errors);
    jpeg_create_decompress(cinfo);
    jpeg_mem_src(cinfo, file->data, (unsigned long)file->nbytes);
    (void)jpeg_read_header(cinfo, TRUE);
    cinfo->out_color_space = JCS_RGB;
    (void)jpeg_start_decompress(cinfo);
}

static void jpeg_end(struct jpeg_decompress_struct *cinfo)
{
    (void)jpeg_finish_decompress(cinfo);
    jpeg_destroy_decompress(cinfo);
}

/* Fills as many rows as the library gives at once. */
static unsigned jpeg_rows(struct jpeg_decompress_struct *cinfo, unsigned char *to, size_t pitch)
{
    JSAMPROW rows[FLOOR_ROWS];
    unsigned left = cinfo->output_height - cinfo->output_scanline;
    unsigned count = left < FLOOR_ROWS ? left : FLOOR_ROWS;

    for (unsigned i = 0; i < count; i++)
        rows[i] = to + i * pitch;
    return jpeg_read_scanlines(cinfo, rows, count);
}

void floor_jpeg_decode(unsigned char *out, const floor_bytes *file)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;

    jpeg_begin(&cinfo, &errors, file);
    size_t pitch = (size_t)cinfo.output_width * FLOOR_CHANNELS;
    while (cinfo.output_scanline < cinfo.output_height)
        (void)jpeg_rows(&cinfo, out + cinfo.output_scanline * pitch, pitch);
    jpeg_end(&cinfo);
}

/* ---- Planes ---- */

typedef void floor_split(float *to, size_t plane, const unsigned char *row, size_t count);

static void jpeg_planes(float *out, const floor_bytes *file, floor_split *split)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;

    jpeg_begin(&cinfo, &errors, file);
    size_t width = cinfo.output_width, plane = width * cinfo.output_height;
    unsigned char *rows = floor_get(FLOOR_ROWS * width * FLOOR_CHANNELS);
    while (cinfo.output_scanline < cinfo.output_height) {
        size_t y = cinfo.output_scanline;
        unsigned count = jpeg_rows(&cinfo, rows, width * FLOOR_CHANNELS);
        for (size_t i = 0; i < count; i++)
            split(out + (y + i) * width, plane, rows + i * width * FLOOR_CHANNELS, width);
    }
    free(rows);
    jpeg_end(&cinfo);
}

static float table[256];

static void split_table(float *to, size_t plane, const unsigned char *row, size_t count)
{
    float *red = to, *green = to + plane, *blue = to + 2 * plane;

    for (size_t i = 0; i < count; i++, row += FLOOR_CHANNELS) {
        red[i] = table[row[0]];
        green[i] = table[row[1]];
        blue[i] = table[row[2]];
    }
}

void floor_jpeg_planes_table(float *out, const floor_bytes *file)
{
    for (int i = 0; i < 256; i++)
        table[i] = (float)i / 255.0f;
    jpeg_planes(out, file, split_table);
}

#if defined(FLOOR_AVX2)

/* 1/255 in two parts: a byte times the first is exact, so the sum is rounded once and equals the quotient. */
#define HIGH 0x1.01p-8f
#define LOW  ((float)(1.0 / 255.0 - 0x1.01p-8))

__attribute__((target("avx2,fma"))) static inline void put_16(float *to, __m128i bytes)
{
    __m256 high = _mm256_set1_ps(HIGH), low = _mm256_set1_ps(LOW);
    __m256 first = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    __m256 second = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)));

    _mm256_storeu_ps(to, _mm256_fmadd_ps(first, high, _mm256_mul_ps(first, low)));
    _mm256_storeu_ps(to + 8, _mm256_fmadd_ps(second, high, _mm256_mul_ps(second, low)));
}

/* 16 bytes from three registers, each of which gives some; -1 gives none. */
#define PICK(a, b, c) _mm_or_si128(_mm_or_si128(a, b), c)

__attribute__((target("avx2,fma"))) static void split_avx2(float *to, size_t plane, const unsigned char *row,
                                                           size_t count)
{
    const __m128i r0 = _mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i r1 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1);
    const __m128i r2 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13);
    const __m128i g0 = _mm_setr_epi8(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i g1 = _mm_setr_epi8(-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1);
    const __m128i g2 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14);
    const __m128i b0 = _mm_setr_epi8(2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i b1 = _mm_setr_epi8(-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1);
    const __m128i b2 = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15);
    float *red = to, *green = to + plane, *blue = to + 2 * plane;
    size_t i = 0;

    for (; i + 16 <= count; i += 16, row += 48) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)row);
        __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(row + 16));
        __m128i z = _mm_loadu_si128((const __m128i *)(const void *)(row + 32));
        put_16(red + i, PICK(_mm_shuffle_epi8(x, r0), _mm_shuffle_epi8(y, r1), _mm_shuffle_epi8(z, r2)));
        put_16(green + i, PICK(_mm_shuffle_epi8(x, g0), _mm_shuffle_epi8(y, g1), _mm_shuffle_epi8(z, g2)));
        put_16(blue + i, PICK(_mm_shuffle_epi8(x, b0), _mm_shuffle_epi8(y, b1), _mm_shuffle_epi8(z, b2)));
    }
    for (; i < count; i++, row += FLOOR_CHANNELS) {
        red[i] = (float)row[0] / 255.0f;
        green[i] = (float)row[1] / 255.0f;
        blue[i] = (float)row[2] / 255.0f;
    }
}

bool floor_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

void floor_jpeg_planes_avx2(float *out, const floor_bytes *file)
{
    jpeg_planes(out, file, split_avx2);
}

#else

bool floor_has_avx2(void)
{
    return false;
}

void floor_jpeg_planes_avx2(float *out, const floor_bytes *file)
{
    floor_jpeg_planes_table(out, file);
}

#endif

/* ---- Encoding ---- */

static floor_bytes jpeg_encode(const floor_picture *picture, bool progressive)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    floor_bytes out = {NULL, 0};
    unsigned long nbytes = 0;
    JSAMPROW rows[16];

    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &out.data, &nbytes);
    cinfo.image_width = (JDIMENSION)picture->width;
    cinfo.image_height = (JDIMENSION)picture->height;
    cinfo.input_components = FLOOR_CHANNELS;
    cinfo.in_color_space = JCS_RGB;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, FLOOR_QUALITY, TRUE);
    if (progressive)
        jpeg_simple_progression(&cinfo);
    jpeg_start_compress(&cinfo, TRUE);
    while (cinfo.next_scanline < cinfo.image_height) {
        unsigned left = cinfo.image_height - cinfo.next_scanline, count = left < 16 ? left : 16;
        for (size_t i = 0; i < count; i++)
            rows[i] = picture->data + (cinfo.next_scanline + i) * cinfo.image_width * FLOOR_CHANNELS;
        (void)jpeg_write_scanlines(&cinfo, rows, count);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    out.nbytes = nbytes;
    return out;
}

floor_bytes floor_jpeg_encode(const floor_picture *picture)
{
    return jpeg_encode(picture, false);
}

floor_bytes floor_jpeg_encode_progressive(const floor_picture *picture)
{
    return jpeg_encode(picture, true);
}

/* ---- The photograph ---- */

floor_picture floor_photo(const char *path)
{
    floor_bytes file = floor_read(path);
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    floor_picture out;

    jpeg_begin(&cinfo, &errors, &file);
    out = (floor_picture){NULL, (int)cinfo.output_width, (int)cinfo.output_height};
    jpeg_destroy_decompress(&cinfo);
    out.data = floor_get((size_t)out.width * (size_t)out.height * FLOOR_CHANNELS);
    floor_jpeg_decode(out.data, &file);
    free(file.data);
    return out;
}
