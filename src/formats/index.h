/*
 * What every format is read into: one entry a tensor, in the order of the bytes, and the texts beside them. Small, as
 * there may be millions: 32 bytes a tensor, 4 or 8 an extent, 12, or 9 of very many, for its name's place in the table.
 */
#ifndef DLPARK_FORMATS_INDEX_H
#define DLPARK_FORMATS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpark/dlpack.h>
#include <dlpark/status.h>

#include "names.h"

/* A row of a format's table of types. */
typedef struct dlpark__index_type {
    const char *name;
    DLDataType dtype;
    bool is_big_endian; /* its numbers in the file; else little-endian */
} dlpark__index_type;

typedef struct dlpark__index_entry {
    dlpark__span_text name;
    uint32_t shape;   /* where its extents begin in `extents` */
    uint16_t ndim;    /* of which the first 64 are kept */
    uint8_t type;     /* row of the format's table */
    bool is_wide : 1; /* an extent takes two words, the low one first */
    bool is_column_major : 1;
    bool is_compressed : 1; /* its bytes are not in the file as they are: the format's `read_bytes` has them */
    uint64_t begin;         /* in the file */
    uint64_t nbytes;
} dlpark__index_entry;

typedef struct dlpark__index_pair {
    dlpark__span_text key;
    dlpark__span_text value;
} dlpark__index_pair;

/* Grows as it is filled; empty when zeroed. */
typedef struct dlpark__index {
    char *text; /* names and metadata lie in it */
    const dlpark__index_type *types;
    dlpark__index_entry *entries;
    size_t count, room;
    uint32_t *extents;
    size_t extents_count, extents_room;
    dlpark__index_pair *pairs;
    size_t pairs_count, pairs_room;
    uint32_t *hashes; /* of the first names, until the table of all is made */
    size_t hashes_count, hashes_room;
    dlpark__names names;
} dlpark__index;

void dlpark__index_end(dlpark__index *index);

/* What the next one does where there is not room enough. */
bool dlpark__index_grow(dlpark__index *index, size_t words);

/* Room for one more entry, and so many words of extents. False: out of memory, or more than an index can have. */
static inline bool dlpark__index_reserve(dlpark__index *index, size_t words)
{
    return (index->count < index->room && index->extents_room - index->extents_count >= words) ||
           dlpark__index_grow(index, words);
}

/* Appends an entry of this rank with its extents; all else of it is the caller's to fill in. NULL: out of memory, or more
 * than an index can have. */
dlpark__index_entry *dlpark__index_place(dlpark__index *index, uint16_t ndim, const int64_t *shape);

/* These append. False: as above. Inline, as an entry that is put together in memory and read again at once is waited for. */
static inline bool dlpark__index_add(dlpark__index *index, const dlpark__index_entry *entry, const int64_t *shape)
{
    dlpark__index_entry *to = dlpark__index_place(index, entry->ndim, shape);

    if (to == NULL)
        return false;
    to->name = entry->name;
    to->type = entry->type;
    to->is_column_major = entry->is_column_major;
    to->is_compressed = entry->is_compressed;
    to->begin = entry->begin;
    to->nbytes = entry->nbytes;
    return true;
}

bool dlpark__index_add_pair(dlpark__index *index, dlpark__span_text key, dlpark__span_text value);

/* Brings the entries into the order of their bytes; those without bytes come first at their place. */
void dlpark__index_sort(dlpark__index *index);

/* Hashes the names that are not yet: soon after they were read, while they are near. False: out of memory. */
bool dlpark__index_hash_names(dlpark__index *index);

/* Makes the table of names, up to an entry whose name an earlier one has: `twin` is -1 before, and that entry after. Called
 * again with it, goes on behind it. -1 after: the table is whole. False: out of memory. */
bool dlpark__index_find_names(dlpark__index *index, int64_t *twin);

/* Gives back what was reserved and not used. */
void dlpark__index_trim(dlpark__index *index);

/* As many extents as are kept. */
int32_t dlpark__index_rank(const dlpark__index_entry *entry);
void dlpark__index_shape(const dlpark__index *index, const dlpark__index_entry *entry, int64_t *shape);

#endif
