/*
 * What the format-independent half of the image adapter shares among its own files. Codecs need codec.h only.
 */
#ifndef DLPARK_IMAGE_ADAPTER_H
#define DLPARK_IMAGE_ADAPTER_H

#include "codec.h"

/* ---- name.c ---- */

/* A path's last 160 bytes after "..." when it is longer, whole characters of UTF-8 only; "<memory>" for NULL. */
typedef struct image_name {
    char text[168];
} image_name;
image_name dlpark__image_name(const char *path);

/* ---- image.c ---- */

/* Which dimension of a rank 3 view is which. */
typedef struct image_axes {
    int32_t y;
    int32_t x;
    int32_t c;
} image_axes;

/* A file with its codec's reader. The bytes are owned when they were read from a path, and borrowed otherwise. */
typedef struct image_opened {
    image_reader reader;
    image_name name; /* the reader's */
    image_buffer file;
} image_opened;

image_axes dlpark__image_axes(dlpark_image_layout layout);

/* "[512, 512, 3]", cut to fit. */
typedef struct image_shape_text {
    char text[96];
} image_shape_text;
image_shape_text dlpark__image_shape_text(int32_t ndim, const int64_t *shape);

/* Copies a caller's struct of `nbytes` bytes into ours of `known_nbytes`, zeroed first. */
dlpark_status dlpark__image_desc_copy(void *desc, size_t known_nbytes, const void *given, size_t nbytes,
                                      dlpark_error *err);

const image_codec *dlpark__image_codec_find(dlpark_image_format format);

/* Which codec reads a file that begins with these bytes; E_FORMAT when none does. */
dlpark_status dlpark__image_codec_match(const image_codec **codec, const char *name, const unsigned char *bytes,
                                        size_t nbytes, dlpark_error *err);

/* Checks the source fields of the description, reads the file and opens it. On failure nothing is held. */
dlpark_status dlpark__image_open(image_opened *opened, const dlpark_image_load_desc *desc, dlpark_error *err);
void dlpark__image_close(image_opened *opened);

/* ---- samples.c ---- */

size_t dlpark__image_sample_nbytes(image_sample sample);

/*
 * Converts `count` samples; `to_step` in bytes, of either sign, `from_step` in samples. The destination may be
 * misaligned. `from` is u8 or u16.
 */
void dlpark__image_samples(unsigned char *to, ptrdiff_t to_step, image_sample to_sample, const void *from,
                           size_t from_step, image_sample from_sample, size_t count);

/* The same for `count` RGB pixels into three planes whose rows are compact: u8 or f32, `plane_step` bytes apart. */
void dlpark__image_samples_split(unsigned char *to, ptrdiff_t plane_step, image_sample to_sample, const uint8_t *from,
                                 size_t count);

/* ---- image_file.c ---- */

/* The bytes that a file may have unless told otherwise. */
#define IMAGE_FILE_MAX_NBYTES ((size_t)UINT32_MAX)

/*
 * Reads a whole file of at most `max_nbytes`. Of a file that no codec matches, or that the system says is larger, only
 * the first bytes are read. On failure the buffer is empty.
 */
dlpark_status dlpark__image_file_read(const char *path, size_t max_nbytes, image_buffer *out, dlpark_error *err);

/*
 * Replaces the file at `path`, or makes it: under a temporary name in its directory first, then renamed. The mode is
 * the replaced file's, or as the umask says.
 */
dlpark_status dlpark__image_file_write(const char *path, const image_buffer *bytes, dlpark_error *err);

#endif
