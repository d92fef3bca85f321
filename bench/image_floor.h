/*
 * The least that a picture can cost: libjpeg, libpng and libwebp by hand, as by somebody who knows that the file is
 * sound, RGB and 8 bits deep. Anything else ends the program.
 */
#ifndef BENCH_IMAGE_FLOOR_H
#define BENCH_IMAGE_FLOOR_H

#include <stdbool.h>
#include <stddef.h>

enum { FLOOR_CHANNELS = 3, FLOOR_QUALITY = 90 };

typedef struct floor_bytes {
    unsigned char *data; /* free() ends it */
    size_t nbytes;
} floor_bytes;

/* RGB, rows one behind the other. */
typedef struct floor_picture {
    unsigned char *data; /* free() ends it */
    int width;
    int height;
} floor_picture;

/* One line about their versions. */
void floor_print_libraries(void);

/* What went wrong, on stderr; ends the program. */
_Noreturn void floor_die(const char *what);

/* As malloc() gives it; ends the program when there is none. */
void *floor_get(size_t nbytes);

/* As dlpark_tensor_alloc() gets it: aligned, and in huge pages where the system has them, from 4 MiB on. */
void *floor_memory(size_t nbytes);

floor_bytes floor_read(const char *path);

/* ---- decoding, into width * height * 3 bytes ---- */

typedef void floor_decode(unsigned char *out, const floor_bytes *file);

floor_decode floor_jpeg_decode;
floor_decode floor_png_decode;
floor_decode floor_webp_decode;

/* The JPEG as three planes of float in 0..1, a few rows at a time: by a table, and by AVX2 where the processor has it. */
void floor_jpeg_planes_table(float *out, const floor_bytes *file);
void floor_jpeg_planes_avx2(float *out, const floor_bytes *file);
bool floor_has_avx2(void);

/* ---- encoding, of which the second kind is progressive, interlaced, lossless ---- */

typedef floor_bytes floor_encode(const floor_picture *picture);

floor_encode floor_jpeg_encode;
floor_encode floor_jpeg_encode_progressive;
floor_encode floor_png_encode;
floor_encode floor_png_encode_interlaced;
floor_encode floor_webp_encode;
floor_encode floor_webp_encode_lossless;

/* ---- the photograph that is measured ---- */

floor_picture floor_photo(const char *path);

/* side x side pixels, by bilinear interpolation in integers: the same bytes on every machine. */
floor_picture floor_scale(const floor_picture *from, int side);

#endif
