/*
 * A file that takes the place of another when it is whole, and not before: written under a name of its own in the same
 * folder, then renamed.
 */
#ifndef DLPARK_FORMATS_REPLACE_H
#define DLPARK_FORMATS_REPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <dlpark/status.h>

#include "source.h"

typedef struct dlpark__replace {
    int descriptor;
    char *path;      /* of the file to be; ours */
    char *temporary; /* what it is called until then */
    mode_t mode;     /* of a new file */
    dlpark__source_name name;
} dlpark__replace;

/* Makes the temporary file, of `nbytes` zeros. On failure nothing is left. */
dlpark_status dlpark__replace_begin(dlpark__replace *replace, const char *path, uint64_t nbytes, dlpark_error *err);

/* Writes all of it at a place. Threads: any. */
dlpark_status dlpark__replace_write(const dlpark__replace *replace, uint64_t offset, const void *bytes, size_t nbytes,
                                    dlpark_error *err);

/* Reads all of it at a place: what was written there, or zeros. Threads: any. */
dlpark_status dlpark__replace_read(const dlpark__replace *replace, uint64_t offset, void *to, size_t nbytes,
                                   dlpark_error *err);

/* Ends it at a byte. */
dlpark_status dlpark__replace_cut(const dlpark__replace *replace, uint64_t nbytes, dlpark_error *err);

/* Gives it its name; `sync`: returns when that is on the disk. On failure the old file is there, and the new one gone;
 * but where the folder alone could not be brought to the disk. */
dlpark_status dlpark__replace_commit(dlpark__replace *replace, bool sync, dlpark_error *err);

/* Ends one that was begun and not committed. */
void dlpark__replace_abandon(dlpark__replace *replace);

#endif
