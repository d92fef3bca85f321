/*
 * Whole files in and out. Reading copies into memory rather than mapping: a file that another process cuts short while
 * it is decoded must be an error, not a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "adapter.h"

#define IMAGE_FILE_TEMPORARY_LENGTH ((size_t)40)
#define IMAGE_FILE_ATTEMPTS         100

static DLPARK_COLD dlpark_status image_file_fail(dlpark_error *err, const char *path, int number)
{
    char reason[160];
    if (strerror_r(number, reason, sizeof reason) != 0)
        return dlpark_error_set(err, DLPARK_E_IO, "%s: error %d", path, number);
    dlpark_status status = DLPARK_E_IO;
    if (number == ENOENT || number == ENOTDIR)
        status = DLPARK_E_NOT_FOUND;
    else if (number == EACCES || number == EPERM || number == EROFS)
        status = DLPARK_E_PERMISSION;
    else if (number == ENOMEM)
        status = DLPARK_E_MEMORY;
    return dlpark_error_set(err, status, "%s: %s", path, reason);
}

/* Reads to the end, whatever the file's size was said to be. 0, or the errno. */
static int image_file_read_all(int file, image_buffer *out)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return errno;
    /* One byte more than the size, so that the end is seen without growing. */
    size_t expected = S_ISREG(status.st_mode) && status.st_size > 0 ? (size_t)status.st_size + 1 : 1;
    for (;;) {
        if (!dlpark__image_buffer_reserve(out, expected))
            return ENOMEM;
        ssize_t got = read(file, out->bytes + out->nbytes, out->capacity - out->nbytes);
        if (got < 0 && errno != EINTR)
            return errno;
        if (got == 0)
            return 0;
        if (got > 0)
            out->nbytes += (size_t)got;
        expected = 1;
    }
}

dlpark_status dlpark__image_file_read(const char *path, image_buffer *out, dlpark_error *err)
{
    *out = (image_buffer){NULL, 0, 0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return image_file_fail(err, path, errno);
    int failed = image_file_read_all(file, out);
    (void)close(file);
    if (failed) {
        free(out->bytes);
        *out = (image_buffer){NULL, 0, 0};
        return image_file_fail(err, path, failed);
    }
    return DLPARK_OK;
}

/* 0, or the errno. Ends the file either way. */
static int image_file_write_all(int file, const image_buffer *bytes)
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

/* Makes "<directory of path>/.dlpark-<16 digits>.tmp", with permissions as the umask says. -1 with errno on failure. */
static int image_file_create(const char *path, char *temporary)
{
    const char *slash = strrchr(path, '/');
    size_t directory = slash ? (size_t)(slash - path) + 1 : 0;
    memcpy(temporary, path, directory);
    memcpy(temporary + directory, ".dlpark-0123456789abcdef.tmp", sizeof ".dlpark-0123456789abcdef.tmp");
    for (unsigned attempt = 0; attempt < IMAGE_FILE_ATTEMPTS; attempt++) {
        image_file_name(temporary + directory + strlen(".dlpark-"), attempt);
        int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

/* 0, or the errno; `path` is the file itself, not a link to it. */
static int image_file_replace(const char *path, const image_buffer *bytes)
{
    char *temporary = malloc(strlen(path) + IMAGE_FILE_TEMPORARY_LENGTH);
    if (!temporary)
        return ENOMEM;
    int failed = 0;
    int file = image_file_create(path, temporary);
    if (file < 0) {
        failed = errno;
    } else {
        failed = image_file_write_all(file, bytes);
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
    struct stat status;
    bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) /* a rename would put a file in the device's place */
        return dlpark_error_set(err, DLPARK_E_IO, "%s: exists and is not a regular file", path);
    if (!is_link) {
        int failed = image_file_replace(path, bytes);
        return failed ? image_file_fail(err, path, failed) : DLPARK_OK;
    }
    char target[PATH_MAX];
    int failed = realpath(path, target) ? image_file_replace(target, bytes) : errno;
    return failed ? image_file_fail(err, path, failed) : DLPARK_OK;
}
