/*
 * The records of an archive that is written: headers of members, entries of the directory, and what stands at the end.
 */
#ifndef DLPARK_FORMATS_NPZ_RECORD_H
#define DLPARK_FORMATS_NPZ_RECORD_H

#include "zip_parts.h"

/* So many bytes an entry has beside its name, at most. */
#define DLPARK__NPZ_ENTRY_MOST (DLPARK__ZIP_ENTRY_NBYTES + 4 + 28)

/* A text that grows at its end. */
typedef struct dlpark__npz_text {
    char *bytes;
    size_t nbytes, room;
} dlpark__npz_text;

/* Room for so many bytes more. False: out of memory. */
bool dlpark__npz_reserve(dlpark__npz_text *text, size_t nbytes);

/* Bytes, for which there is room. */
void dlpark__npz_put(dlpark__npz_text *text, const void *bytes, size_t nbytes);

/* What a header and an entry have in common. */
typedef struct dlpark__npz_record {
    const char *name; /* without ".npy" */
    size_t name_nbytes;
    unsigned method;
    uint32_t sum;
    uint64_t packed_nbytes;
    uint64_t nbytes; /* of the array, with its own header */
    bool is_wide;    /* its header has the sizes in 64 bits */
    size_t padding;  /* bytes of that extra field */
} dlpark__npz_record;

/* Bytes of a header without padding. */
size_t dlpark__npz_header_nbytes(const dlpark__npz_record *record);

/* The bytes of the extra field that brings what is behind it from `at` to a multiple; it has some bytes of its own. */
size_t dlpark__npz_padding(uint64_t at, size_t alignment);

/* All for which there is room. */
void dlpark__npz_put_header(dlpark__npz_text *text, const dlpark__npz_record *record);
void dlpark__npz_put_entry(dlpark__npz_text *text, const dlpark__npz_record *record, uint64_t at);

/* Sum and sizes into a header that was written without them. */
void dlpark__npz_set_header(char *header, const dlpark__npz_record *record);

/* The sum into an entry. */
void dlpark__npz_set_entry(char *entry, uint32_t sum);

/* The records behind a directory that is the text so far and begins at `at`; those in 64 bits where they are needed. False:
 * out of memory. */
bool dlpark__npz_put_end(dlpark__npz_text *text, size_t count, uint64_t at);

#endif
