/*
 * Bytes that are deflated in a file, unpacked in order, from the first on, by functions that are not ours.
 */
#ifndef DLPARK_FORMATS_UNPACK_H
#define DLPARK_FORMATS_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpark/file.h>

#include "../source.h"

/* What is packed is read in such pieces: after each zlib copies the last 32 KiB that it made. What is skipped is made in such. */
#define DLPARK__UNPACK_NBYTES  ((size_t)128 << 10)
#define DLPARK__UNPACK_SKIPPED ((size_t)16 << 10)

typedef struct dlpark__unpack {
    const dlpark__source *source;
    const dlpark_inflate *inflate;
    void *state;        /* of its functions */
    uint64_t begin;     /* in the file: of all that is packed; */
    uint64_t next, end; /* of what was not read yet */
    uint64_t done;      /* bytes that came out */
    uint32_t sum;       /* of them, as crc32.h has it */
    bool is_ended;
    const char *fault;   /* what is wrong with the packed bytes; NULL: nothing so far */
    unsigned char *held; /* in `packed` */
    size_t held_nbytes;
    unsigned char packed[DLPARK__UNPACK_NBYTES];
    unsigned char skipped[DLPARK__UNPACK_SKIPPED];
} dlpark__unpack;

/* `begin` and `nbytes`: of what is packed, which is within the file. Wants an empty variable, leaves it so on failure. */
dlpark_status dlpark__unpack_begin(dlpark__unpack **unpack, const dlpark__source *source, const dlpark_inflate *inflate,
                                   uint64_t begin, uint64_t nbytes, dlpark_error *err);

/* Accepts NULL. */
void dlpark__unpack_end(dlpark__unpack *unpack);

/* The next bytes; `to` NULL: to nowhere. DLPARK_OK also where there are not so many: then there is a fault. */
dlpark_status dlpark__unpack_read(dlpark__unpack *unpack, unsigned char *to, uint64_t nbytes, dlpark_error *err);

/* Finds a fault where what came out is not all, or has another sum. */
dlpark_status dlpark__unpack_finish(dlpark__unpack *unpack, uint32_t crc32, dlpark_error *err);

#endif
