#define _DEFAULT_SOURCE

#include "image_floor.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>
#include <webp/encode.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FLOOR_AVX2 1
#endif

/* libjpeg gives that many rows a call at most. */
#define FLOOR_ROWS 4

void floor_die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

void floor_print_libraries(void)
{
    const int webp = WebPGetDecoderVersion();

    printf("libraries: libjpeg-turbo %s, libpng %s, libwebp %d.%d.%d\n", TEXT(LIBJPEG_TURBO_VERSION),
           png_get_libpng_ver(NULL), webp >> 16, webp >> 8 & 0xff, webp & 0xff);
}

static void *floor_get(size_t nbytes)
{
    void *memory = malloc(nbytes);

    if (!memory)
        floor_die("out of memory");
    return memory;
}

void *floor_memory(size_t nbytes)
{
    const size_t huge_page = (size_t)2 << 20;
    bool huge = nbytes >= 2 * huge_page;
    void *memory;

    if (posix_memalign(&memory, huge ? huge_page : 64, nbytes) != 0)
        floor_die("out of memory");
#if defined(MADV_HUGEPAGE)
    if (huge)
        (void)madvise(memory, nbytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
    return memory;
}

floor_bytes floor_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    long nbytes;
    floor_bytes out;

    if (!file || fseek(file, 0, SEEK_END) != 0 || (nbytes = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        floor_die(path);
    out = (floor_bytes){floor_get((size_t)nbytes), (size_t)nbytes};
    if (fread(out.data, 1, out.nbytes, file) != out.nbytes)
        floor_die(path);
    fclose(file);
    return out;
}

/* ---- JPEG ---- */

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

/* ---- PNG. Its default error handler ends the program when no setjmp was done. ---- */

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

/* ---- WebP ---- */

void floor_webp_decode(unsigned char *out, const floor_bytes *file)
{
    int width, height;

    if (!WebPGetInfo(file->data, file->nbytes, &width, &height) ||
        !WebPDecodeRGBInto(file->data, file->nbytes, out, (size_t)width * (size_t)height * FLOOR_CHANNELS,
                           width * FLOOR_CHANNELS))
        floor_die("libwebp does not decode");
}

/* In the library's own memory, which free() ends as well: WebPFree() is nothing else. */
floor_bytes floor_webp_encode(const floor_picture *picture)
{
    floor_bytes out = {NULL, 0};

    out.nbytes = WebPEncodeRGB(picture->data, picture->width, picture->height, picture->width * FLOOR_CHANNELS,
                               FLOOR_QUALITY, &out.data);
    if (!out.nbytes)
        floor_die("libwebp does not encode");
    return out;
}

floor_bytes floor_webp_encode_lossless(const floor_picture *picture)
{
    floor_bytes out = {NULL, 0};

    out.nbytes = WebPEncodeLosslessRGB(picture->data, picture->width, picture->height, picture->width * FLOOR_CHANNELS,
                                       &out.data);
    if (!out.nbytes)
        floor_die("libwebp does not encode");
    return out;
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

/* Where pixel `at` of `side` lies among `from`, in 65536ths of a pixel. */
static uint32_t scale_place(int at, int side, int from)
{
    int64_t place = (2 * (int64_t)at + 1) * from * 32768 / side - 32768, last = (int64_t)(from - 1) * 65536;

    return (uint32_t)(place < 0 ? 0 : place > last ? last : place);
}

static unsigned char scale_sample(const unsigned char *upper, const unsigned char *lower, size_t right, uint32_t x,
                                  uint32_t y)
{
    uint64_t above = upper[0] * (uint64_t)(65536 - x) + upper[right] * (uint64_t)x;
    uint64_t below = lower[0] * (uint64_t)(65536 - x) + lower[right] * (uint64_t)x;

    return (unsigned char)((above * (65536 - y) + below * y + (UINT64_C(1) << 31)) >> 32);
}

floor_picture floor_scale(const floor_picture *from, int side)
{
    floor_picture out = {floor_get((size_t)side * (size_t)side * FLOOR_CHANNELS), side, side};
    size_t pitch = (size_t)from->width * FLOOR_CHANNELS;
    unsigned char *to = out.data;

    for (int y = 0; y < side; y++) {
        uint32_t down = scale_place(y, side, from->height);
        const unsigned char *upper = from->data + (down >> 16) * pitch;
        const unsigned char *lower = (int)(down >> 16) + 1 < from->height ? upper + pitch : upper;
        for (int x = 0; x < side; x++) {
            uint32_t along = scale_place(x, side, from->width);
            size_t at = (size_t)(along >> 16) * FLOOR_CHANNELS;
            size_t right = (int)(along >> 16) + 1 < from->width ? FLOOR_CHANNELS : 0;
            for (size_t c = 0; c < FLOOR_CHANNELS; c++)
                *to++ = scale_sample(upper + at + c, lower + at + c, right, along & 0xffff, down & 0xffff);
        }
    }
    return out;
}
