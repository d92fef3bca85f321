#if defined(__linux__)
#define _GNU_SOURCE /* copy_file_range() */
#endif
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../core/internal.h"
#include "copy_range.h"

#define COPY_RANGE_CALL  ((uint64_t)1 << 30) /* bytes of one call */
#define COPY_RANGE_PIECE ((size_t)1 << 20)   /* that go through memory at a time */

/* How many bytes the kernel copied. Whatever stops it, another file system or an old kernel or a full disk: who reads and
 * writes the rest finds a way, or finds the same fault and can say what it is. */
static uint64_t copy_range_kernel(int source, uint64_t from, int target, uint64_t to, uint64_t nbytes)
{
    uint64_t done = 0;

#if defined(__linux__)
    while (done < nbytes) {
        off64_t in = (off64_t)(from + done), out = (off64_t)(to + done);
        uint64_t left = nbytes - done;
        ssize_t copied =
            copy_file_range(source, &in, target, &out, (size_t)(left < COPY_RANGE_CALL ? left : COPY_RANGE_CALL), 0);
        if (copied > 0)
            done += (uint64_t)copied;
        else if (copied == 0 || errno != EINTR)
            break;
    }
#else
    (void)source, (void)from, (void)target, (void)to, (void)nbytes;
#endif
    return done;
}

static dlpark_status copy_range_pieces(const dlpark__source *source, uint64_t from, const dlpark__replace *replace,
                                       uint64_t to, uint64_t nbytes, dlpark_error *err)
{
    size_t room = nbytes < COPY_RANGE_PIECE ? (size_t)nbytes : COPY_RANGE_PIECE;
    unsigned char *piece = malloc(room);
    dlpark_status status = DLPARK_OK;

    if (piece == NULL)
        return dlpark_error_set(err, DLPARK_E_MEMORY, NULL);
    for (uint64_t done = 0; done < nbytes && status == DLPARK_OK; done += room) {
        if (nbytes - done < room)
            room = (size_t)(nbytes - done);
        status = dlpark__source_read(source, from + done, piece, room, err);
        if (status == DLPARK_OK)
            status = dlpark__replace_write(replace, to + done, piece, room, err);
    }
    free(piece);
    return status;
}

dlpark_status dlpark__copy_range(const dlpark__source *source, uint64_t from, const dlpark__replace *replace,
                                 uint64_t to, uint64_t nbytes, dlpark_error *err)
{
    if (source->descriptor >= 0) {
        uint64_t done = copy_range_kernel(source->descriptor, from, replace->descriptor, to, nbytes);
        from += done;
        to += done;
        nbytes -= done;
    }
    return nbytes > 0 ? copy_range_pieces(source, from, replace, to, nbytes, err) : DLPARK_OK;
}
