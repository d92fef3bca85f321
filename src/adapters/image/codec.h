/*
 * What the parts of the image adapter say to each other: a reader per file, a sink for decoded rows, a source for
 * encoders. A codec knows its library; everything else (files, options, orientation, channels, depth, layout) is done
 * once, around it.
 *
 * The static names of a codec begin with read or write and the format, readpng_ or writejpeg_, and those of its errors
 * with pngfault_: png_ and jpeg_ are the libraries' own.
 */
#ifndef DLPARK_IMAGE_CODEC_H
#define DLPARK_IMAGE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpark/image.h>

typedef struct image_codec image_codec;

/*
 * Ends the message of a fault that is none to a reader which is tolerant. That one may meet another later: a progressive
 * JPEG can be cut amid a table of a scan.
 */
#define IMAGE_TOLERABLE "; `tolerant` may accept what is there"

/* One sample's type. */
typedef enum image_sample { IMAGE_U8, IMAGE_U16, IMAGE_F32 } image_sample;

/* A file being read. The caller fills all but `head` and `state`: codec->open fills them, codec->close ends `state`. */
typedef struct image_reader {
    const image_codec *codec;
    const char *name; /* for messages: dlpark__image_name() */
    const unsigned char *bytes;
    size_t nbytes;
    bool tolerant;
    int64_t max_pixels;
    int32_t max_scans;
    int32_t max_chunks;
    dlpark_image_info head; /* width and height as stored, before orientation */
    void *state;
} image_reader;

/*
 * Where decoded samples go. Sample (x, y, c) of the picture as the file stores it belongs at
 * data + x * x_stride + y * y_stride + c * c_stride, in bytes: orientation and layout are nothing but strides here,
 * which may therefore be negative or swapped. The sink asks for `channels`, which may differ from the file's.
 */
typedef struct image_sink {
    unsigned char *data;
    ptrdiff_t x_stride;
    ptrdiff_t y_stride;
    ptrdiff_t c_stride;
    image_sample sample;
    int32_t channels;
    int32_t width; /* as stored */
    int32_t height;
} image_sink;

/* Where an encoder finds its samples; strides in bytes, of either sign. u8 or u16 only. */
typedef struct image_source {
    const char *name; /* for messages, as a reader's */
    const unsigned char *data;
    ptrdiff_t x_stride;
    ptrdiff_t y_stride;
    ptrdiff_t c_stride;
    image_sample sample;
    int32_t channels;
    int32_t width;
    int32_t height;
} image_source;

/* Encoded bytes that grow. malloc'd; free(bytes) ends it. */
typedef struct image_buffer {
    unsigned char *bytes;
    size_t nbytes;
    size_t capacity;
} image_buffer;

struct image_codec {
    dlpark_image_format format;
    const char *name; /* "JPEG" */
    bool (*matches)(const unsigned char *bytes, size_t nbytes);
    /* Parses the head, fills reader->head and reader->state. On failure state is NULL. */
    dlpark_status (*open)(image_reader *reader, dlpark_error *err);
    /* Decodes every row into the sink. Called at most once per open. */
    dlpark_status (*decode)(image_reader *reader, const image_sink *sink, dlpark_error *err);
    void (*close)(image_reader *reader);
    /* Appends the encoded file. `desc` has been range-checked and defaults are filled in; the source has been checked
     * against what the format can hold (channels, depth), but not its sides. */
    dlpark_status (*encode)(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                            dlpark_error *err);
};

extern const image_codec dlpark__image_jpeg;
extern const image_codec dlpark__image_png;
extern const image_codec dlpark__image_webp;

/* ---- jpeg_write.c, png_write.c, webp_write.c: the encode of each codec ---- */

dlpark_status dlpark__jpeg_encode(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                                  dlpark_error *err);
dlpark_status dlpark__png_encode(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                                 dlpark_error *err);
dlpark_status dlpark__webp_encode(const image_source *source, const dlpark_image_save_desc *desc, image_buffer *out,
                                  dlpark_error *err);

/* ---- rows.c ---- */

/* Whether a library that writes interleaved rows of `sample` with `channels` may write row y at data + y * y_stride. */
bool dlpark__image_sink_is_direct(const image_sink *sink, image_sample sample, int32_t channels);

/* Converts one decoded row, interleaved u8 or u16 (host byte order) of `channels`, and puts it at row y of the sink. */
void dlpark__image_sink_put(const image_sink *sink, int32_t y, const void *row, image_sample sample, int32_t channels);

/*
 * The same for `nrows` rows from `y` on, `pitch_nbytes` apart. A sink that swaps rows and columns takes a block of rows
 * several times faster than single ones; others do not care.
 */
void dlpark__image_sink_put_rows(const image_sink *sink, int32_t y, int32_t nrows, const void *rows,
                                 size_t pitch_nbytes, image_sample sample, int32_t channels);

/* How many rows a decoder should collect for one put_rows: 64 for a sink that swaps rows and columns, else 4. */
int32_t dlpark__image_sink_block(const image_sink *sink);

/* Whether row y of the source can be handed to a library that wants interleaved rows. */
bool dlpark__image_source_is_direct(const image_source *source);

/* Gathers row y of the source, interleaved, same sample and channels, into `row`. */
void dlpark__image_source_get(const image_source *source, int32_t y, void *row);

/* ---- buffer.c ---- */

/* Makes room for `nbytes` more behind buffer->nbytes; false when memory is out, and the buffer is then as before. */
bool dlpark__image_buffer_reserve(image_buffer *buffer, size_t nbytes);

/* Appends; false when memory is out, and the buffer is then as before. */
bool dlpark__image_buffer_append(image_buffer *buffer, const void *bytes, size_t nbytes);

/* ---- exif.c ---- */

/* The orientation tag of a TIFF structure ("II*\0" or "MM\0*" first; a leading "Exif\0\0" is skipped), 1 when absent,
 * damaged or out of range. Never reads outside the bytes. */
int32_t dlpark__exif_orientation(const unsigned char *bytes, size_t nbytes);

#endif
