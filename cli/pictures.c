/*
 * Which files are pictures, and pictures as tensor files. A picture is decoded behind a header of safetensors, into memory
 * that is then opened as a file: every verb takes it for one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pictures.h"

/* ---- Which ---- */

typedef struct pictures_kind {
    dlpark_file_format format;
    const char *name;
    const char *title;
    const char *magic;
    size_t magic_nbytes;
    const char *second; /* what stands at byte 8 */
    const char *endings[2];
} pictures_kind;

static const pictures_kind pictures_kinds[] = {
    {CLI_JPEG, "jpeg", "a JPEG picture", "\xFF\xD8\xFF", 3, NULL, {".jpg", ".jpeg"}},
    {CLI_PNG, "png", "a PNG picture", "\x89PNG\r\n\x1A\n", 8, NULL, {".png", NULL}},
    {CLI_WEBP, "webp", "a WebP picture", "RIFF", 4, "WEBP", {".webp", NULL}},
};

#define PICTURES_KINDS (sizeof pictures_kinds / sizeof pictures_kinds[0])

static const pictures_kind *pictures_find(dlpark_file_format format)
{
    for (size_t i = 0; i < PICTURES_KINDS; i++)
        if (pictures_kinds[i].format == format)
            return &pictures_kinds[i];
    return NULL;
}

bool cli_is_picture(dlpark_file_format format)
{
    return pictures_find(format) != NULL;
}

const char *cli_format_name(dlpark_file_format format)
{
    const pictures_kind *kind = pictures_find(format);

    return kind != NULL ? kind->name : dlpark_file_format_name(format);
}

dlpark_file_format cli_picture_of_name(const char *path)
{
    size_t nbytes = strlen(path);

    for (size_t i = 0; i < 2 * PICTURES_KINDS; i++) {
        const char *ending = pictures_kinds[i / 2].endings[i % 2];
        size_t ending_nbytes = ending != NULL ? strlen(ending) : nbytes;
        if (ending_nbytes < nbytes && strcasecmp(path + nbytes - ending_nbytes, ending) == 0)
            return pictures_kinds[i / 2].format;
    }
    return DLPARK_FILE_ANY;
}

/* As many bytes as there are; what cannot be read is told by who opens the file next. */
static size_t pictures_read_head(int file, char *head, size_t nbytes)
{
    size_t got = 0;
    ssize_t some;

    while (got < nbytes && ((some = read(file, head + got, nbytes - got)) > 0 || (some < 0 && errno == EINTR)))
        got += some > 0 ? (size_t)some : 0;
    return got;
}

/* The bytes of what can be read only once, a pipe, are left to those who read them all. */
static dlpark_file_format pictures_tell(const char *path)
{
    struct stat status;
    char head[12];

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return DLPARK_FILE_ANY;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return DLPARK_FILE_ANY;
    size_t nbytes = pictures_read_head(file, head, sizeof head);
    (void)close(file);
    for (size_t i = 0; i < PICTURES_KINDS; i++) {
        const pictures_kind *kind = &pictures_kinds[i];
        if (nbytes >= kind->magic_nbytes && memcmp(head, kind->magic, kind->magic_nbytes) == 0 &&
            (kind->second == NULL || (nbytes == sizeof head && memcmp(head + 8, kind->second, 4) == 0)))
            return kind->format;
    }
    return DLPARK_FILE_ANY;
}

dlpark_status cli_picture_check_codec(const char *path, const char *verb, dlpark_file_format format, dlpark_error *err)
{
    if (cli_codec_built != NULL)
        return DLPARK_OK;
    return dlpark_error_set(err, DLPARK_E_IO, "%s: %s %s, and this dlpark was built without pictures", path, verb,
                            pictures_find(format)->title);
}

dlpark_status cli_picture_tell(const char *path, dlpark_file_format wanted, dlpark_file_format *found,
                               dlpark_error *err)
{
    struct stat status;

    *found = pictures_tell(path);
    if (*found == DLPARK_FILE_ANY && cli_is_picture(wanted)) {
        if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
            return dlpark_error_set(err, DLPARK_E_IO, "%s: is no regular file, and a picture is read from nothing else",
                                    path);
        *found = wanted; /* the codec says what is wrong */
    } else if (*found != DLPARK_FILE_ANY && wanted != DLPARK_FILE_ANY && *found != wanted) {
        return dlpark_error_set(err, DLPARK_E_FORMAT, "%s: is %s, and was to be %s", path, cli_format_name(*found),
                                cli_format_name(wanted));
    }
    return *found != DLPARK_FILE_ANY ? cli_picture_check_codec(path, "is", *found, err) : DLPARK_OK;
}

/* ---- As tensor files ---- */

/* Eight bytes of a length and so much JSON: all that can be said of a picture fits, and what follows is aligned. */
#define PICTURES_HEADER ((size_t)128)

static void pictures_put_header(unsigned char *bytes, const cli_picture *picture, uint64_t nbytes)
{
    char *text = (char *)bytes + 8;

    memset(bytes, 0, 8);
    bytes[0] = (unsigned char)(PICTURES_HEADER - 8);
    int length = snprintf(text, PICTURES_HEADER - 8,
                          "{\"" CLI_PICTURE_TENSOR "\":{\"dtype\":\"%c%d\",\"shape\":[%" PRId64 ",%" PRId64 ",%" PRId64
                          "],\"data_offsets\":[0,%" PRIu64 "]}}",
                          picture->dtype.code == kDLFloat ? 'F' : 'U', picture->dtype.bits, picture->shape[0],
                          picture->shape[1], picture->shape[2], nbytes);
    memset(text + length, ' ', PICTURES_HEADER - 8 - (size_t)length);
}

/* Numbers of a safetensors file have their lowest byte first. */
static void pictures_order_bytes(unsigned char *bytes, uint64_t nbytes, size_t number)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    for (uint64_t at = 0; first != 1 && at < nbytes; at += number) {
        for (size_t i = 0; i < number / 2; i++) {
            unsigned char kept = bytes[at + i];
            bytes[at + i] = bytes[at + number - 1 - i];
            bytes[at + number - 1 - i] = kept;
        }
    }
}

static dlpark_status pictures_decode(unsigned char *bytes, const cli_picture *picture, uint64_t nbytes,
                                     const char *path, bool is_chw, dlpark_error *err)
{
    const dlpark_tensor_desc desc = {
        .data = bytes, .dtype = picture->dtype, .ndim = 3, .shape = DLPARK_DIMS(picture->shape)};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    DLPARK_TRY(dlpark_tensor_new(&tensor, &desc, &view, err));
    dlpark_status status = cli_codec_built->decode(&view, path, is_chw, err);
    dlpark_tensor_release(&tensor);
    if (status == DLPARK_OK)
        pictures_order_bytes(bytes, nbytes, picture->dtype.bits / 8u);
    return status;
}

dlpark_status cli_picture_open(dlpark_file **file, const char *path, const cli_picture_form *form, bool decodes,
                               dlpark_error *err)
{
    cli_picture picture;

    DLPARK_TRY(cli_codec_built->describe(&picture, path, form->is_chw, err));
    if (form->is_float)
        picture.dtype = DLPARK_F32;
    uint64_t nbytes = (uint64_t)picture.dtype.bits / 8;
    for (int i = 0; i < 3; i++)
        nbytes *= (uint64_t)picture.shape[i]; /* the codec refuses more than 2^28 pixels */
    unsigned char *bytes = nbytes <= SIZE_MAX - PICTURES_HEADER ? calloc(PICTURES_HEADER + (size_t)nbytes, 1) : NULL;
    if (bytes == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, "%s: no memory for %" PRIu64 " bytes of pixels", path, nbytes);
    pictures_put_header(bytes, &picture, nbytes);
    dlpark_status status = DLPARK_OK;
    if (decodes)
        status = pictures_decode(bytes + PICTURES_HEADER, &picture, nbytes, path, form->is_chw, err);
    if (status == DLPARK_OK)
        status = dlpark_file_open_memory(file, bytes, PICTURES_HEADER + (size_t)nbytes, bytes, free, NULL, err);
    if (status != DLPARK_OK)
        free(bytes);
    return status;
}
