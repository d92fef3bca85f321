/*
 * What python/file_peers.py calls where Python has no such call: a tensor of a file read into memory that there is, and the
 * reads of the system beside it. Built as a shared object.
 */
#define _GNU_SOURCE
#include <dlpark/dlpark.h>
#include <dlpark/file.h>
#include <fcntl.h>
#include <unistd.h>

#define PEERS_API   __attribute__((visibility("default")))
#define READ_NBYTES ((size_t)8 << 20)

PEERS_API int peers_file_read(const char *path, void *const *to, int64_t count);
PEERS_API int peers_system_read(const char *path, void *to, size_t nbytes, int direct);

/* Every tensor of a file, in the order of the file, into memory of its size. */
int peers_file_read(const char *path, void *const *to, int64_t count)
{
    dlpark_file *file = NULL;
    dlpark_status status = dlpark_file_open(&file, path, NULL, NULL);

    for (int64_t i = 0; i < count && status == DLPARK_OK; i++) {
        dlpark_file_entry entry;
        dlpark_view view;
        status = dlpark_file_entry_get(file, i, &entry, NULL);
        DLTensor tensor = {to[i], {kDLCPU, 0}, entry.ndim, entry.dtype, entry.shape, NULL, 0};
        if (status == DLPARK_OK)
            status = dlpark_check(&tensor, 0, &view, NULL);
        if (status == DLPARK_OK)
            status = dlpark_view_allow_write(&view, NULL);
        if (status == DLPARK_OK)
            status = dlpark_file_read(file, i, &view, NULL);
    }
    dlpark_file_release(&file);
    return (int)status;
}

/* The first bytes of a file by read(2), past the page cache or through it. 0: all came. */
int peers_system_read(const char *path, void *to, size_t nbytes, int direct)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    size_t done = 0;

    while (descriptor >= 0 && done < nbytes) {
        ssize_t got = read(descriptor, (char *)to + done, nbytes - done < READ_NBYTES ? nbytes - done : READ_NBYTES);
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    if (descriptor >= 0)
        (void)close(descriptor);
    return done == nbytes ? 0 : -1;
}
