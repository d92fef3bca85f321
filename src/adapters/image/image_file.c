/*
 * Whole files in and out. Reading copies into memory rather than mapping: a file that another process cuts short while
 * it is decoded must be an error, not a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "adapter.h"

#define IMAGE_FILE_TEMPORARY_LENGTH ((size_t)40)
#define IMAGE_FILE_ATTEMPTS         100

/* Enough to tell every format. */
#define IMAGE_FILE_HEAD_NBYTES ((size_t)16)

static DLPARK_COLD dlpark_status image_file_fail(dlpark_error *err, const char *name, int number)
{
    char reason[160];
    if (strerror_r(number, reason, sizeof reason) != 0)
        return dlpark_error_set(err, DLPARK_E_IO, "%s: error %d", name, number);
    dlpark_status status = DLPARK_E_IO;
    if (number == ENOENT || number == ENOTDIR)
        status = DLPARK_E_NOT_FOUND;
    else if (number == EACCES || number == EPERM || number == EROFS)
        status = DLPARK_E_PERMISSION;
    else if (number == ENOMEM)
        status = DLPARK_E_MEMORY;
    return dlpark_error_set(err, status, "%s: %s", name, reason);
}

static DLPARK_COLD dlpark_status image_file_fail_size(dlpark_error *err, const char *name, size_t max_nbytes)
{
    return dlpark_error_set(err, DLPARK_E_LIMIT, "%s: has more than %zu bytes", name, max_nbytes);
}

/* Reads until `nbytes` are there or the file ends. 0, or the errno. */
static int image_file_read_head(int file, unsigned char *head, size_t nbytes, size_t *got_nbytes)
{
    *got_nbytes = 0;
    while (*got_nbytes < nbytes) {
        ssize_t got = read(file, head + *got_nbytes, nbytes - *got_nbytes);
        if (got < 0 && errno != EINTR)
            return errno;
        if (got == 0)
            return 0;
        if (got > 0)
            *got_nbytes += (size_t)got;
    }
    return 0;
}

/* Reads to the end, whatever the file's size was said to be, and at most one byte more than `max_nbytes`. */
static dlpark_status image_file_read_rest(int file, const char *name, size_t max_nbytes, image_buffer *out,
                                          dlpark_error *err)
{
    while (out->nbytes <= max_nbytes) {
        if (!dlpark__image_buffer_reserve(out, 1))
            return image_file_fail(err, name, ENOMEM);
        size_t room = out->capacity - out->nbytes;
        size_t left = max_nbytes - out->nbytes;
        ssize_t got = read(file, out->bytes + out->nbytes, room > left ? left + 1 : room);
        if (got < 0 && errno != EINTR)
            return image_file_fail(err, name, errno);
        if (got == 0)
            return DLPARK_OK;
        if (got > 0)
            out->nbytes += (size_t)got;
    }
    return image_file_fail_size(err, name, max_nbytes);
}

/* What is refused is refused before memory is taken. */
static dlpark_status image_file_read_all(int file, const char *name, size_t max_nbytes, image_buffer *out,
                                         dlpark_error *err)
{
    unsigned char head[IMAGE_FILE_HEAD_NBYTES];
    size_t head_nbytes;
    int failed = image_file_read_head(file, head, sizeof head, &head_nbytes);
    if (failed)
        return image_file_fail(err, name, failed);
    const image_codec *codec;
    DLPARK_TRY(dlpark__image_codec_match(&codec, name, head, head_nbytes, err));
    struct stat status;
    if (fstat(file, &status) != 0)
        return image_file_fail(err, name, errno);
    size_t expected = head_nbytes;
    if (S_ISREG(status.st_mode) && status.st_size > 0) {
        if ((uintmax_t)status.st_size > max_nbytes)
            return image_file_fail_size(err, name, max_nbytes);
        expected = (size_t)status.st_size > expected ? (size_t)status.st_size : expected;
    }
    /* One byte more than the size, so that the end is seen without growing. */
    if (expected == SIZE_MAX || !dlpark__image_buffer_reserve(out, expected + 1))
        return image_file_fail(err, name, ENOMEM);
    (void)dlpark__image_buffer_append(out, head, head_nbytes); /* there is room */
    return image_file_read_rest(file, name, max_nbytes, out, err);
}

dlpark_status dlpark__image_file_read(const char *path, size_t max_nbytes, image_buffer *out, dlpark_error *err)
{
    image_name name = dlpark__image_name(path);
    *out = (image_buffer){NULL, 0, 0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return image_file_fail(err, name.text, errno);
    dlpark_status status = image_file_read_all(file, name.text, max_nbytes, out, err);
    (void)close(file);
    if (status != DLPARK_OK) {
        free(out->bytes);
        *out = (image_buffer){NULL, 0, 0};
    }
    return status;
}

/*
 * 0, or the errno. Ends the file either way. The mode is set last: writing takes set-user-id bits away, and nobody who
 * may not read the old picture shall read the temporary file.
 */
static int image_file_write_all(int file, const image_buffer *bytes, const mode_t *mode)
{
    int failed = 0;
    for (size_t at = 0; at < bytes->nbytes && !failed;) {
        ssize_t put = write(file, bytes->bytes + at, bytes->nbytes - at);
        if (put > 0)
            at += (size_t)put;
        else if (put == 0)
            failed = EIO;
        else if (errno != EINTR)
            failed = errno;
    }
    if (mode && !failed && fchmod(file, *mode) != 0)
        failed = errno;
    if (close(file) != 0 && !failed && errno != EINTR)
        failed = errno;
    return failed;
}

/* Puts 16 digits in place of the name's end: unlikely to be taken already, and O_EXCL tells if they are. */
static void image_file_name(char *digits, unsigned attempt)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t seed = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)getpid() << 40 ^ (uintptr_t)digits;
    seed = (seed + attempt) * UINT64_C(0x9E3779B97F4A7C15);
    seed ^= seed >> 29;
    for (int i = 0; i < 16; i++, seed >>= 4)
        digits[i] = "0123456789abcdef"[seed & 15];
}

/* Makes "<directory of path>/.dlpark-<16 digits>.tmp", with `mode` less the umask. -1 with errno on failure. */
static int image_file_create(const char *path, char *temporary, mode_t mode)
{
    const char *slash = strrchr(path, '/');
    size_t directory = slash ? (size_t)(slash - path) + 1 : 0;
    memcpy(temporary, path, directory);
    memcpy(temporary + directory, ".dlpark-0123456789abcdef.tmp", sizeof ".dlpark-0123456789abcdef.tmp");
    for (unsigned attempt = 0; attempt < IMAGE_FILE_ATTEMPTS; attempt++) {
        image_file_name(temporary + directory + strlen(".dlpark-"), attempt);
        int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

/* 0, or the errno. `mode` is NULL for a file that is not there yet. */
static int image_file_replace(const char *path, const image_buffer *bytes, const mode_t *mode)
{
    char *temporary = malloc(strlen(path) + IMAGE_FILE_TEMPORARY_LENGTH);
    if (!temporary)
        return ENOMEM;
    int failed = 0;
    int file = image_file_create(path, temporary, mode ? 0600 : 0666);
    if (file < 0) {
        failed = errno;
    } else {
        failed = image_file_write_all(file, bytes, mode);
        if (!failed && rename(temporary, path) != 0)
            failed = errno;
        if (failed)
            (void)unlink(temporary);
    }
    free(temporary);
    return failed;
}

dlpark_status dlpark__image_file_write(const char *path, const image_buffer *bytes, dlpark_error *err)
{
    image_name name = dlpark__image_name(path);
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) /* a rename would put a file in the device's place */
        return dlpark_error_set(err, DLPARK_E_IO, "%s: exists and is not a regular file", name.text);
    /* Of a link nothing is kept: whoever made it need not be one who may write where it leads. */
    bool is_replaced = lstat(path, &status) == 0 && S_ISREG(status.st_mode);
    mode_t mode = is_replaced ? status.st_mode & 07777 : 0;
    int failed = image_file_replace(path, bytes, is_replaced ? &mode : NULL);
    return failed ? image_file_fail(err, name.text, failed) : DLPARK_OK;
}
