/*
 * The files that the tensors of one checkpoint are spread over, as an open file holds them.
 */
#ifndef DLPARK_FORMATS_SHARDS_H
#define DLPARK_FORMATS_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../names.h"
#include "../source.h"

typedef struct dlpark__shard {
    dlpark__span_text name; /* in the text of the index */
    const char *text;       /* the same, terminated */
    uint32_t first;         /* of its tensors, which follow one another */
    bool is_read;           /* and nothing is wrong with it */
    dlpark__source *source;
} dlpark__shard;

/* In the order of their names, and so are their tensors. Empty when zeroed. */
typedef struct dlpark__shards {
    dlpark__shard *items;
    size_t count;
} dlpark__shards;

void dlpark__shards_end(dlpark__shards *shards);

/* The shard of the tensor with this number; NULL where there are no shards. */
const dlpark__shard *dlpark__shards_find(const dlpark__shards *shards, int64_t index);

/* Whether a text may be the name of a shard: that of a file in the folder of the index, and of nothing else. */
bool dlpark__shards_is_plain(const char *name, size_t nbytes);

#endif
