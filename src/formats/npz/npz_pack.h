/*
 * The members of an archive that are deflated while it is written. Their bytes are written as they are at first, in any order
 * and from any thread; those that nothing is missing before are packed, in the order of the members, by several threads, and
 * moved to the front. So the sizes are known when a header is written, and the file is never read by its end.
 */
#ifndef DLPARK_FORMATS_NPZ_PACK_H
#define DLPARK_FORMATS_NPZ_PACK_H

#include <dlpark/deflate.h>

#include "../file_writer.h"
#include "npz_record.h"

/* A member, as the plan has it. */
typedef struct dlpark__npz_member {
    dlpark__span_text name; /* in the directory, without ".npy" */
    size_t header;          /* in the headers; with the array's */
    size_t header_nbytes;
    size_t array_header_nbytes; /* of them, at the end */
    size_t entry;               /* in the directory */
    uint64_t at;                /* in the file */
    uint64_t data;              /* in the file */
    uint64_t data_nbytes;
    bool is_wide;
} dlpark__npz_member;

/* All but the data. */
typedef struct dlpark__npz_archive {
    dlpark__npz_text headers;
    dlpark__npz_text directory; /* and the records at the end */
    dlpark__npz_member *members;
    size_t count;
    uint64_t directory_at;
    struct dlpark__npz_pack *pack; /* NULL: members are stored */
} dlpark__npz_archive;

/* The sum of a member, of whose data it is `sum`. */
uint32_t dlpark__npz_sum(const dlpark__npz_archive *archive, const dlpark__npz_member *member, uint32_t sum);

/* What packed bytes take in the worst case, of so many. Between that and the bytes themselves there is always room for
 * what is packed so far. */
uint64_t dlpark__npz_pack_bound(uint64_t nbytes);

typedef struct dlpark__npz_pack dlpark__npz_pack;

/* NULL: out of memory. */
dlpark__npz_pack *dlpark__npz_pack_new(const dlpark_deflate *deflate);

/* Accepts NULL. */
void dlpark__npz_pack_end(dlpark__npz_pack *pack);

/* Packs what is there of the first members, when it is enough to be worth it, and no other thread is about it. */
dlpark_status dlpark__npz_pack_advance(dlpark__npz_archive *archive, const dlpark_file_writer *writer,
                                       dlpark_error *err);

/* Packs the rest, and writes the directory and the end. */
dlpark_status dlpark__npz_pack_finish(dlpark__npz_archive *archive, const _Atomic(uint32_t) *sums,
                                      const dlpark__replace *file, dlpark_error *err);

#endif
