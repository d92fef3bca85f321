/*
 * What the index file of a checkpoint says: which tensor is in which shard.
 */
#ifndef DLPARK_FORMATS_SHARDS_MAP_H
#define DLPARK_FORMATS_SHARDS_MAP_H

#include "../format.h"

typedef struct dlpark__shards_map {
    dlpark__index weights; /* its pairs: the name of a tensor, and of its shard. Its text is the other index's */
    dlpark__names names;   /* of the tensors, by the number of their pair */
    uint32_t *shard_of;    /* of each pair: the number of its shard */
} dlpark__shards_map;

/* The text and the metadata go to the index of the job, the shards, not yet opened, to its shards, the rest to the map,
 * which is empty before, and is ended by the caller in any case. It is whole when there are no faults. */
dlpark_status dlpark__shards_map_read(dlpark__shards_map *map, const dlpark__format_job *job, dlpark_error *err);

void dlpark__shards_map_end(dlpark__shards_map *map);

/* Whether a file begins as an index. No tensor file does: the length that one begins with has zeros in it. */
bool dlpark__shards_map_begins(const unsigned char *head, size_t nbytes);

#endif
