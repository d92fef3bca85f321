/*
 * Opened once, and asked for its size, read and mapped through that one descriptor: a path may mean another file the next
 * time. What cannot be mapped (pipes, files of procfs, some network file systems) is read into memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/internal.h"
#include "source.h"

/* One read() of more is refused by some systems. */
#define SOURCE_READ_NBYTES ((size_t)1 << 30)

/* ---- Messages ---- */

dlpark__source_name dlpark__source_name_of(const char *path)
{
    enum { MOST = 160 };
    dlpark__source_name out;
    size_t length = strlen(path), used = 0;
    const char *from = path;

    if (length > MOST) {
        from = path + length - MOST;
        while ((*from & 0xC0) == 0x80) /* a character that the cut went through */
            from++;
        memcpy(out.text, "...", 3);
        used = 3;
    }
    for (; *from != '\0'; from++)
        out.text[used++] = (unsigned char)*from < 0x20 || *from == 0x7F ? '?' : *from;
    out.text[used] = '\0';
    return out;
}

DLPARK_COLD dlpark_status dlpark__source_fail(const dlpark__source_name *name, int number, dlpark_error *err)
{
    char reason[160];
    dlpark_status status = DLPARK_E_IO;

    if (strerror_r(number, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", number);
    if (number == ENOENT || number == ENOTDIR)
        status = DLPARK_E_NOT_FOUND;
    else if (number == EACCES || number == EPERM || number == EROFS)
        status = DLPARK_E_PERMISSION;
    else if (number == ENOMEM)
        status = DLPARK_E_MEMORY;
    return dlpark_error_set(err, status, "%s: %s", name->text, reason);
}

/* ---- Making ---- */

static dlpark__source *source_new(const dlpark__source_name *name)
{
    dlpark__source *source = malloc(sizeof *source);

    if (source == NULL)
        return NULL;
    *source = (dlpark__source){.descriptor = -1, .name = *name};
    atomic_init(&source->owners, 1);
    atomic_init(&source->map, NULL);
    return source;
}

/* Devices have no size, and some no end: so many bytes are read of one. */
#define SOURCE_DEVICE_NBYTES ((size_t)16 << 20)

/* Reads what has no size to the end; the buffer doubles. A file has a position, which is its owner's. */
static int source_slurp(int descriptor, mode_t mode, unsigned char **bytes, size_t *nbytes)
{
    size_t room = 0, most = SIZE_MAX;

    if (S_ISCHR(mode) || S_ISBLK(mode)) /* GCOVR_EXCL_BR_LINE: not everywhere that tests run is a disk to be read */
        most = SOURCE_DEVICE_NBYTES;
    for (;;) {
        if (*nbytes == room) {
            if (room == most)
                return EFBIG;
            size_t more = room == 0 ? 65536 : room * 2;
            if (more < room) /* GCOVR_EXCL_BR_LINE: before that no memory is left */
                return ENOMEM;
            unsigned char *grown = realloc(*bytes, more);
            if (grown == NULL)
                return ENOMEM;
            *bytes = grown;
            room = more;
        }
        size_t some = room - *nbytes < SOURCE_READ_NBYTES ? room - *nbytes : SOURCE_READ_NBYTES;
        ssize_t got = S_ISREG(mode) ? pread(descriptor, *bytes + *nbytes, some, (off_t)*nbytes)
                                    : read(descriptor, *bytes + *nbytes, some);
        if (got == 0)
            return 0;
        if (got > 0)
            *nbytes += (size_t)got;
        else if (errno != EINTR)
            return errno;
    }
}

/* Takes the whole into memory and ends the descriptor. */
static int source_fill(dlpark__source *source, mode_t mode)
{
    unsigned char *bytes = NULL;
    size_t nbytes = 0;
    int failed = source_slurp(source->descriptor, mode, &bytes, &nbytes);

    if (failed != 0) {
        free(bytes);
        return failed;
    }
    (void)close(source->descriptor);
    source->descriptor = -1;
    source->nbytes = nbytes;
    source->owner = bytes;
    source->release = free;
    atomic_store_explicit(&source->map, bytes, memory_order_relaxed);
    return 0;
}

dlpark_status dlpark__source_adopt(dlpark__source **out, int descriptor, const dlpark__source_name *name,
                                   bool is_private, dlpark_error *err)
{
    struct stat status;
    dlpark__source *source = source_new(name);
    int failed = 0;

    if (source == NULL) {
        (void)close(descriptor);
        return dlpark__source_fail(name, ENOMEM, err);
    }
    source->descriptor = descriptor;
    source->is_private = is_private;
    if (fstat(descriptor, &status) != 0)
        failed = errno;
    else if (S_ISREG(status.st_mode) && status.st_size > 0)
        source->nbytes = (uint64_t)status.st_size;
    else /* files of procfs are regular and say that they have no bytes */
        failed = source_fill(source, status.st_mode);
    if (failed != 0) {
        dlpark__source_release(source);
        return dlpark__source_fail(name, failed, err);
    }
    *out = source;
    return DLPARK_OK;
}

dlpark_status dlpark__source_open(dlpark__source **source, const char *path, bool is_private, dlpark_error *err)
{
    dlpark__source_name name = dlpark__source_name_of(path);
    int descriptor;

    do
        descriptor = open(path, O_RDONLY | O_CLOEXEC);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return dlpark__source_fail(&name, errno, err);
    return dlpark__source_adopt(source, descriptor, &name, is_private, err);
}

dlpark_status dlpark__source_open_descriptor(dlpark__source **source, int descriptor, const char *name, bool is_private,
                                             dlpark_error *err)
{
    char number[32];

    snprintf(number, sizeof number, "<descriptor %d>", descriptor);
    dlpark__source_name label = dlpark__source_name_of(name != NULL ? name : number);
    int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return dlpark__source_fail(&label, errno, err);
    return dlpark__source_adopt(source, own, &label, is_private, err);
}

dlpark_status dlpark__source_open_memory(dlpark__source **out, const void *bytes, size_t nbytes, void *owner,
                                         void (*release)(void *owner), dlpark_error *err)
{
    dlpark__source_name name = dlpark__source_name_of("<memory>");
    dlpark__source *source = source_new(&name);

    if (source == NULL)
        return dlpark__source_fail(&name, ENOMEM, err);
    source->nbytes = nbytes;
    source->owner = owner;
    source->release = release;
    atomic_store_explicit(&source->map, dlpark__unconst(bytes), memory_order_relaxed);
    *out = source;
    return DLPARK_OK;
}

/* ---- Owners ---- */

dlpark__source *dlpark__source_share(dlpark__source *source)
{
    (void)atomic_fetch_add_explicit(&source->owners, 1, memory_order_relaxed);
    return source;
}

void dlpark__source_release(void *context)
{
    dlpark__source *source = context;
    unsigned char *map;

    if (source == NULL || atomic_fetch_sub_explicit(&source->owners, 1, memory_order_acq_rel) != 1)
        return;
    map = atomic_load_explicit(&source->map, memory_order_relaxed);
    if (source->release != NULL)
        source->release(source->owner);
    else if (source->descriptor >= 0 && map != NULL)
        (void)munmap(map, (size_t)source->nbytes);
    if (source->descriptor >= 0)
        (void)close(source->descriptor);
    free(source);
}

/* ---- Bytes ---- */

/* Nothing is at `offset`; the file may end before. */
static DLPARK_COLD dlpark_status source_fail_short(const dlpark__source *source, uint64_t offset, dlpark_error *err)
{
    struct stat status;

    if (fstat(source->descriptor, &status) == 0 && (uint64_t)status.st_size < offset)
        offset = (uint64_t)status.st_size;
    return dlpark_error_set(err, DLPARK_E_FORMAT,
                            "%s: ends at byte %llu, and had %llu when it was opened: another process cut it short",
                            source->name.text, (unsigned long long)offset, (unsigned long long)source->nbytes);
}

dlpark_status dlpark__source_read(const dlpark__source *source, uint64_t offset, void *to, size_t nbytes,
                                  dlpark_error *err)
{
    unsigned char *at = to;

    if (source->descriptor < 0) {
        if (nbytes != 0)
            memcpy(to, atomic_load_explicit(&source->map, memory_order_relaxed) + offset, nbytes);
        return DLPARK_OK;
    }
    while (nbytes > 0) {
        ssize_t got =
            pread(source->descriptor, at, nbytes < SOURCE_READ_NBYTES ? nbytes : SOURCE_READ_NBYTES, (off_t)offset);
        if (got < 0 && errno != EINTR)
            return dlpark__source_fail(&source->name, errno, err);
        if (got == 0)
            return source_fail_short(source, offset, err);
        if (got > 0) {
            at += got;
            offset += (uint64_t)got;
            nbytes -= (size_t)got;
        }
    }
    return DLPARK_OK;
}

/* Where mapping is not to be had, the whole is read. */
static int source_map_all(const dlpark__source *source, unsigned char **bytes)
{
    int protection = PROT_READ, kind = MAP_SHARED;

    if (source->nbytes > SIZE_MAX / 2)
        return ENOMEM;
    if (source->is_private) { /* without a reserve: a file larger than the memory can be opened to change a little */
        protection |= PROT_WRITE;
        kind = MAP_PRIVATE | MAP_NORESERVE;
    }
    void *map = mmap(NULL, (size_t)source->nbytes, protection, kind, source->descriptor, 0);
    if (map == MAP_FAILED)
        return errno;
    *bytes = map;
    return 0;
}

/* The same from anonymous pages, which munmap() ends as well. */
static dlpark_status source_map_copy(const dlpark__source *source, unsigned char **bytes, dlpark_error *err)
{
    void *map = mmap(NULL, (size_t)source->nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return dlpark__source_fail(&source->name, errno, err);
    dlpark_status status = dlpark__source_read(source, 0, map, (size_t)source->nbytes, err);
    if (status != DLPARK_OK) {
        (void)munmap(map, (size_t)source->nbytes);
        return status;
    }
    *bytes = map;
    return DLPARK_OK;
}

dlpark_status dlpark__source_map(dlpark__source *source, unsigned char **bytes, dlpark_error *err)
{
    unsigned char *map = atomic_load_explicit(&source->map, memory_order_acquire);
    unsigned char *found = NULL;

    if (map == NULL && source->nbytes > 0) {
        int failed = source_map_all(source, &map);
        if (failed == ENODEV || failed == EINVAL)
            DLPARK_TRY(source_map_copy(source, &map, err));
        else if (failed != 0)
            return dlpark__source_fail(&source->name, failed, err);
        /* Another thread may have been first. */
        if (!atomic_compare_exchange_strong_explicit(&source->map, &found, map, memory_order_acq_rel,
                                                     memory_order_acquire)) {
            (void)munmap(map, (size_t)source->nbytes);
            map = found;
        }
    }
    *bytes = map;
    return DLPARK_OK;
}
