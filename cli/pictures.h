/*
 * Pictures among the files of the command: told by their first bytes, and opened as tensor files in memory, so that no verb
 * has a second way for them.
 */
#ifndef DLPARK_CLI_PICTURES_H
#define DLPARK_CLI_PICTURES_H

#include "command.h"

/* What pictures are called among the formats of files, beside those of the library. */
#define CLI_JPEG ((dlpark_file_format)0x101)
#define CLI_PNG  ((dlpark_file_format)0x102)
#define CLI_WEBP ((dlpark_file_format)0x103)

/* The name of the one tensor that a picture is. */
#define CLI_PICTURE_TENSOR "image"

/* What a picture says of itself, and its tensor will be. */
typedef struct cli_picture {
    dlpark_file_format format;
    DLDataType dtype; /* uint8, uint16 or float32 */
    int64_t shape[3]; /* height, width, channels, or as `is_chw` says */
} cli_picture;

/* How the tensor of a picture is to be. */
typedef struct cli_picture_form {
    bool is_chw;   /* channels, height, width */
    bool is_float; /* float32 from 0 to 1, not integers */
} cli_picture_form;

/* How a picture is written. */
typedef struct cli_picture_options {
    dlpark_file_format format;
    bool is_chw;     /* channels, height, width */
    int32_t quality; /* 0: the library's own */
} cli_picture_options;

/* What the command knows of codecs: one file has them, and another has none. */
typedef struct cli_codec {
    dlpark_status (*describe)(cli_picture *picture, const char *path, bool is_chw, dlpark_error *err);
    dlpark_status (*decode)(const dlpark_view *out, const char *path, bool is_chw, dlpark_error *err);
    dlpark_status (*save)(const dlpark_view *view, const char *path, const cli_picture_options *options,
                          dlpark_error *err);
} cli_codec;

extern const cli_codec *const cli_codec_built; /* NULL: the command was built without pictures */

/* ---- pictures.c ---- */

bool cli_is_picture(dlpark_file_format format);

/* "jpeg"; for all others as dlpark_file_format_name(). */
const char *cli_format_name(dlpark_file_format format);

/* The picture that a path's end asks for: ".jpg". DLPARK_FILE_ANY: none. */
dlpark_file_format cli_picture_of_name(const char *path);

/* What picture a file is by its first bytes, and whether that is what was asked for. `*found` is DLPARK_FILE_ANY for all
 * that dlpark_file_open() has to tell of. */
dlpark_status cli_picture_tell(const char *path, dlpark_file_format wanted, dlpark_file_format *found,
                               dlpark_error *err);

/* Opens a picture as a safetensors file in memory. Without `decodes` its numbers are zeros that were never touched: enough
 * for who asks for names and shapes. */
dlpark_status cli_picture_open(dlpark_file **file, const char *path, const cli_picture_form *form, bool decodes,
                               dlpark_error *err);

/* dlpark_file_open(), and a picture in that form. */
dlpark_status cli_open_file(dlpark_file **file, const char *path, const dlpark_file_options *options,
                            const cli_picture_form *form, dlpark_error *err);

/* cli_open(), and the same. */
int cli_open_formed(const cli_call *call, const char *path, int format, const cli_picture_form *form,
                    dlpark_file **file);

/* DLPARK_E_IO where the command was built without codecs. `verb`: what the file is, "is". */
dlpark_status cli_picture_check_codec(const char *path, const char *verb, dlpark_file_format format, dlpark_error *err);

/* ---- convert_picture.c ---- */

/* What convert makes a picture of. */
typedef struct cli_picture_source {
    dlpark_file *file;
    int64_t index; /* of the tensor */
    DLDataType dtype;
    const dlpark_cast_options *cast;
} cli_picture_source;

/* Writes a tensor as a picture; what the process ends with. */
int cli_picture_write(const cli_call *call, const char *path, const cli_picture_source *source,
                      const cli_picture_options *options);

/* The order of dimensions of --layout, and the number of --quality; false after telling what is wrong. */
bool cli_read_layout(const cli_call *call, int option, bool *is_chw);
bool cli_read_quality(const cli_call *call, int option, int32_t *quality);

#endif
