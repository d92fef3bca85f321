/*
 * The bytes of a file: behind a descriptor, or in memory. Counted, as tensors that are mapped live longer than their file.
 */
#ifndef DLPARK_FORMATS_SOURCE_H
#define DLPARK_FORMATS_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpark/status.h>

/* What messages call a file: the last 160 bytes of its path after "...", without what would disturb a terminal. */
typedef struct dlpark__source_name {
    char text[168];
} dlpark__source_name;

dlpark__source_name dlpark__source_name_of(const char *path);

/* What an errno means for a file: "model.safetensors: Permission denied". */
dlpark_status dlpark__source_fail(const dlpark__source_name *name, int number, dlpark_error *err);

typedef struct dlpark__source {
    atomic_size_t owners;
    uint64_t nbytes;
    int descriptor;               /* -1: everything is in memory */
    bool is_private;              /* mapped to be written, by this process only */
    _Atomic(unsigned char *) map; /* all of it; NULL until somebody asks */
    void *owner;                  /* of the memory, ended by `release` */
    void (*release)(void *owner);
    dlpark__source_name name;
} dlpark__source;

/* Makers want an empty variable and leave it empty on failure. The descriptor is duplicated, the memory taken. */
dlpark_status dlpark__source_open(dlpark__source **source, const char *path, bool is_private, dlpark_error *err);
dlpark_status dlpark__source_open_descriptor(dlpark__source **source, int descriptor, const char *name, bool is_private,
                                             dlpark_error *err);
dlpark_status dlpark__source_open_memory(dlpark__source **source, const void *bytes, size_t nbytes, void *owner,
                                         void (*release)(void *owner), dlpark_error *err);

/* Takes a descriptor, on failure too. */
dlpark_status dlpark__source_adopt(dlpark__source **source, int descriptor, const dlpark__source_name *name,
                                   bool is_private, dlpark_error *err);

dlpark__source *dlpark__source_share(dlpark__source *source);

/* Takes void as it is the release function of tensors. */
void dlpark__source_release(void *source);

/* Copies bytes. E_FORMAT when the file ends before, which it did not when it was opened. */
dlpark_status dlpark__source_read(const dlpark__source *source, uint64_t offset, void *to, size_t nbytes,
                                  dlpark_error *err);

/* ---- source_threads.c ---- */

/* The same by at most so many threads. `to` NULL: the bytes are only read, for the system to keep. */
dlpark_status dlpark__source_read_threads(const dlpark__source *source, uint64_t offset, unsigned char *to,
                                          uint64_t nbytes, int threads, dlpark_error *err);

/* Takes all into memory, and lets go of the file. */
dlpark_status dlpark__source_take(dlpark__source *source, int threads, dlpark_error *err);

/* ---- source.c ---- */

/* The address of byte 0, mapped on the first call. Not NULL, unless the file is empty or on failure. */
dlpark_status dlpark__source_map(dlpark__source *source, unsigned char **bytes, dlpark_error *err);

#endif
