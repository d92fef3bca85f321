#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include "../core/internal.h"
#include "replace.h"

#define REPLACE_ATTEMPTS     100
#define REPLACE_WRITE_NBYTES ((size_t)1 << 30)

/* ---- The temporary name ---- */

/* "<folder of path>/.dlpark-<16 digits>.tmp"; the digits come later. NULL: out of memory. */
static char *replace_name_new(const char *path, size_t *digits)
{
    static const char pattern[] = ".dlpark-0123456789abcdef.tmp";
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *name = malloc(folder + sizeof pattern);

    if (name != NULL) {
        memcpy(name, path, folder);
        memcpy(name + folder, pattern, sizeof pattern);
    }
    *digits = folder + strlen(".dlpark-");
    return name;
}

static void replace_name_fill(char *digits)
{
    uint64_t random;

    if (getentropy(&random, sizeof random) != 0) { /* O_EXCL tells when it is taken */
        struct timespec now = {0, 0};
        (void)clock_gettime(CLOCK_REALTIME, &now);
        random = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid() ^ (uintptr_t)digits) * UINT64_C(0x9E3779B97F4A7C15);
    }
    for (int i = 0; i < 16; i++, random >>= 4)
        digits[i] = "0123456789abcdef"[random & 15];
}

/* What open() gives, and the mode that the umask leaves a new file. Until the file is whole nobody else may look into it. */
static int replace_create(char *temporary, size_t digits, mode_t *mode)
{
    struct stat status;
    int descriptor = -1;

    for (int attempt = 0; attempt < REPLACE_ATTEMPTS && descriptor < 0; attempt++) {
        replace_name_fill(temporary + digits);
        descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    if (descriptor < 0)
        return -1;
    if (fstat(descriptor, &status) == 0 && fchmod(descriptor, 0600) == 0) {
        *mode = status.st_mode & 0777;
        return descriptor;
    }
    int failed = errno;
    (void)close(descriptor);
    (void)unlink(temporary);
    errno = failed;
    return -1;
}

/* ---- Begin and end ---- */

dlpark_status dlpark__replace_begin(dlpark__replace *replace, const char *path, uint64_t nbytes, dlpark_error *err)
{
    struct stat status;
    size_t digits;

    *replace = (dlpark__replace){.descriptor = -1, .name = dlpark__source_name_of(path)};
    /* A rename would put a file in the place of a device, or of a link to one. */
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return dlpark_error_set(err, DLPARK_E_IO, "%s: exists and is not a regular file", replace->name.text);
    replace->path = malloc(strlen(path) + 1);
    replace->temporary = replace_name_new(path, &digits);
    int failed = ENOMEM;
    if (replace->path != NULL && replace->temporary != NULL) {
        memcpy(replace->path, path, strlen(path) + 1);
        replace->descriptor = replace_create(replace->temporary, digits, &replace->mode);
        failed = replace->descriptor < 0 ? errno : 0;
    }
    if (failed == 0 && (nbytes > INT64_MAX || ftruncate(replace->descriptor, (off_t)nbytes) != 0))
        failed = nbytes > INT64_MAX ? EFBIG : errno;
    if (failed == 0)
        return DLPARK_OK;
    dlpark__replace_abandon(replace);
    return dlpark__source_fail(&replace->name, failed, err);
}

static void replace_free(dlpark__replace *replace)
{
    free(replace->path);
    free(replace->temporary);
    replace->path = replace->temporary = NULL;
    replace->descriptor = -1;
}

void dlpark__replace_abandon(dlpark__replace *replace)
{
    if (replace->descriptor >= 0) {
        (void)close(replace->descriptor);
        (void)unlink(replace->temporary);
    }
    replace_free(replace);
}

/* The mode of the file that is replaced; else what the umask leaves. */
static int replace_set_mode(const dlpark__replace *replace)
{
    struct stat status;
    mode_t mode = replace->mode;

    if (lstat(replace->path, &status) == 0 && S_ISREG(status.st_mode))
        mode = status.st_mode & 0777;
    return fchmod(replace->descriptor, mode) == 0 ? 0 : errno;
}

/* The folder's list of names, onto the disk. Some file systems cannot, and need not. */
static int replace_sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *folder = malloc(length + 2);
    int failed = 0;

    if (folder == NULL)
        return ENOMEM;
    memcpy(folder, length > 0 ? path : ".", length > 0 ? length : 1);
    folder[length > 0 ? length : 1] = '\0';
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (descriptor < 0)
        return errno;
    if (fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP)
        failed = errno;
    (void)close(descriptor);
    return failed;
}

dlpark_status dlpark__replace_commit(dlpark__replace *replace, bool sync, dlpark_error *err)
{
    int failed = replace_set_mode(replace);

    if (failed == 0 && sync && fsync(replace->descriptor) != 0)
        failed = errno;
    if (failed != 0) {
        dlpark__replace_abandon(replace);
        return dlpark__source_fail(&replace->name, failed, err);
    }
    /* What a network file system could not write it says here at the latest. */
    if (close(replace->descriptor) != 0 && errno != EINTR)
        failed = errno;
    replace->descriptor = -1;
    if (failed == 0 && rename(replace->temporary, replace->path) != 0)
        failed = errno;
    if (failed != 0)
        (void)unlink(replace->temporary);
    else if (sync)
        failed = replace_sync_folder(replace->path);
    replace_free(replace);
    return failed == 0 ? DLPARK_OK : dlpark__source_fail(&replace->name, failed, err);
}

/* ---- Bytes ---- */

dlpark_status dlpark__replace_write(const dlpark__replace *replace, uint64_t offset, const void *bytes, size_t nbytes,
                                    dlpark_error *err)
{
    const unsigned char *at = bytes;

    while (nbytes > 0) {
        size_t some = nbytes < REPLACE_WRITE_NBYTES ? nbytes : REPLACE_WRITE_NBYTES;
        ssize_t put = pwrite(replace->descriptor, at, some, (off_t)offset);
        if (put < 0 && errno != EINTR)
            return dlpark__source_fail(&replace->name, errno, err);
        if (put > 0) {
            at += put;
            offset += (uint64_t)put;
            nbytes -= (size_t)put;
        }
    }
    return DLPARK_OK;
}

dlpark_status dlpark__replace_read(const dlpark__replace *replace, uint64_t offset, void *to, size_t nbytes,
                                   dlpark_error *err)
{
    unsigned char *at = to;

    while (nbytes > 0) {
        size_t some = nbytes < REPLACE_WRITE_NBYTES ? nbytes : REPLACE_WRITE_NBYTES;
        ssize_t got = pread(replace->descriptor, at, some, (off_t)offset);
        if (got == 0)
            return dlpark_error_set(err, DLPARK_E_IO, "%s: somebody cut it short while it was written",
                                    replace->name.text);
        if (got < 0 && errno != EINTR)
            return dlpark__source_fail(&replace->name, errno, err);
        if (got > 0) {
            at += got;
            offset += (uint64_t)got;
            nbytes -= (size_t)got;
        }
    }
    return DLPARK_OK;
}

dlpark_status dlpark__replace_cut(const dlpark__replace *replace, uint64_t nbytes, dlpark_error *err)
{
    if (ftruncate(replace->descriptor, (off_t)nbytes) != 0)
        return dlpark__source_fail(&replace->name, errno, err);
    return DLPARK_OK;
}
