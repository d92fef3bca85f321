#include <stdlib.h>

#include <dlpark/layout.h>

#include "index.h"

void dlpark__index_end(dlpark__index *index)
{
    dlpark__names_end(&index->names);
    free(index->entries);
    free(index->extents);
    free(index->pairs);
    free(index->hashes);
    free(index->text);
    *index = (dlpark__index){0};
}

/* ---- Growing ---- */

/* Room for `more` items behind `count`; half as many again each time. False leaves all as it was. */
static bool index_reserve(void **items, size_t *room, size_t count, size_t more, size_t nbytes)
{
    size_t wanted = *room + *room / 2 + 16;

    if (more <= *room - count)
        return true;
    if (wanted - count < more)
        wanted = count + more;
    void *grown = NULL;
    if (wanted <= SIZE_MAX / 2 / nbytes) /* GCOVR_EXCL_BR_LINE: only where a size_t has 32 bits */
        grown = realloc(*items, wanted * nbytes);
    if (grown == NULL)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

bool dlpark__index_grow(dlpark__index *index, size_t words)
{
    void *entries = index->entries, *extents = index->extents;
    bool is_reserved =
        index->count < DLPARK__NAMES_MOST && index->extents_count <= UINT32_MAX - words &&
        index_reserve(&entries, &index->room, index->count, 1, sizeof *index->entries) &&
        /* one at least: also a scalar has a place to begin */
        index_reserve(&extents, &index->extents_room, index->extents_count, words > 0 ? words : 1, sizeof(uint32_t));

    index->entries = entries;
    index->extents = extents;
    if (index->room > DLPARK__NAMES_MOST) /* which the inline one does not look at */
        index->room = DLPARK__NAMES_MOST;
    return is_reserved;
}

dlpark__index_entry *dlpark__index_place(dlpark__index *index, uint16_t ndim, const int64_t *shape)
{
    size_t kept = ndim < DLPARK_MAX_NDIM ? ndim : DLPARK_MAX_NDIM, words;
    uint64_t seen = 0;

    for (size_t i = 0; i < kept; i++)
        seen |= (uint64_t)shape[i];
    bool is_wide = seen > UINT32_MAX;
    words = kept << is_wide;
    if (!dlpark__index_grow(index, words))
        return NULL;
    uint32_t *to = index->extents + index->extents_count;
    for (size_t i = 0; i < kept; i++) {
        *to++ = (uint32_t)shape[i];
        if (is_wide)
            *to++ = (uint32_t)((uint64_t)shape[i] >> 32);
    }
    dlpark__index_entry *entry = &index->entries[index->count++];
    entry->shape = (uint32_t)index->extents_count;
    entry->ndim = ndim;
    entry->is_wide = is_wide;
    index->extents_count += words;
    return entry;
}

bool dlpark__index_add_pair(dlpark__index *index, dlpark__span_text key, dlpark__span_text value)
{
    void *pairs = index->pairs;
    bool is_reserved = index->pairs_count < DLPARK__NAMES_MOST &&
                       index_reserve(&pairs, &index->pairs_room, index->pairs_count, 1, sizeof *index->pairs);

    index->pairs = pairs;
    if (!is_reserved)
        return false;
    index->pairs[index->pairs_count++] = (dlpark__index_pair){key, value};
    return true;
}

static void index_trim(void **items, size_t *room, size_t count, size_t nbytes)
{
    void *less = count > 0 && count < *room ? realloc(*items, count * nbytes) : NULL;

    if (less != NULL) {
        *items = less;
        *room = count;
    }
}

void dlpark__index_trim(dlpark__index *index)
{
    void *entries = index->entries, *extents = index->extents, *pairs = index->pairs;

    index_trim(&entries, &index->room, index->count, sizeof *index->entries);
    index_trim(&extents, &index->extents_room, index->extents_count, sizeof *index->extents);
    index_trim(&pairs, &index->pairs_room, index->pairs_count, sizeof *index->pairs);
    index->entries = entries;
    index->extents = extents;
    index->pairs = pairs;
}

/* ---- Order and names ---- */

static int index_compare(const void *left, const void *right)
{
    const dlpark__index_entry *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->nbytes != b->nbytes)
        return a->nbytes < b->nbytes ? -1 : 1;
    return a->name.at < b->name.at ? -1 : a->name.at > b->name.at; /* as they were written */
}

void dlpark__index_sort(dlpark__index *index)
{
    for (size_t i = 1; i < index->count; i++) {
        if (index_compare(&index->entries[i - 1], &index->entries[i]) > 0) {
            qsort(index->entries, index->count, sizeof *index->entries, index_compare);
            index->hashes_count = 0; /* of names that are elsewhere now */
            return;
        }
    }
}

bool dlpark__index_hash_names(dlpark__index *index)
{
    void *hashes = index->hashes;
    size_t at = index->hashes_count;
    bool is_reserved = index_reserve(&hashes, &index->hashes_room, at, index->count - at, sizeof *index->hashes);

    index->hashes = hashes;
    if (!is_reserved)
        return false;
    if (at == 0)
        dlpark__names_choose_keys(&index->names, index->entries);
    for (; at < index->count; at++) {
        dlpark__span_text name = index->entries[at].name;
        index->hashes[at] = dlpark__names_hash(&index->names, index->text + name.at, name.nbytes);
    }
    index->hashes_count = at;
    return true;
}

bool dlpark__index_find_names(dlpark__index *index, int64_t *twin)
{
    if (*twin < 0 &&
        (!dlpark__index_hash_names(index) ||
         !dlpark__names_begin_keyed(&index->names, index->text, index->entries, sizeof *index->entries, index->count)))
        return false;
    *twin = dlpark__names_fill(&index->names, index->hashes, (size_t)(*twin + 1), index->count);
    if (*twin < 0) {
        free(index->hashes);
        index->hashes = NULL;
        index->hashes_count = index->hashes_room = 0;
    }
    return true;
}

int32_t dlpark__index_rank(const dlpark__index_entry *entry)
{
    return entry->ndim < DLPARK_MAX_NDIM ? entry->ndim : DLPARK_MAX_NDIM;
}

void dlpark__index_shape(const dlpark__index *index, const dlpark__index_entry *entry, int64_t *shape)
{
    const uint32_t *from = index->extents + entry->shape;

    for (int32_t i = 0; i < dlpark__index_rank(entry); i++, from++) {
        uint64_t extent = *from;
        if (entry->is_wide)
            extent |= (uint64_t) * ++from << 32;
        shape[i] = (int64_t)extent;
    }
}
