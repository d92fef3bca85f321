/*
 * ZIP archives made by hand: right ones, of which a test knows where each field lies, so that it can make it wrong.
 */
#ifndef ZIP_MADE_H
#define ZIP_MADE_H

#include <stdbool.h>
#include <stdlib.h>

#include "npz/crc32.h"
#include "plain_inflate.h"
#include "test.h"

#define ZIP_MADE_MOST  8
#define ZIP_MADE_BLOCK 100

typedef struct zip_item {
    const char *name;
    const void *bytes;
    size_t nbytes;
    unsigned method; /* 8: in blocks of ZIP_MADE_BLOCK */
    unsigned flags;
    bool is_wide;      /* its sizes stand in ZIP64 fields, and in the directory its place too */
    size_t descriptor; /* bytes of it: 12, 16, 20 or 24 */
    bool hides_sizes;  /* its own header has zeros, as where a descriptor follows */
    size_t padding;    /* bytes of an extra field in its own header */
    const char *comment;
    size_t name_nbytes; /* 0: it is terminated */
} zip_item;

typedef struct zip_made {
    unsigned char *bytes;
    size_t nbytes, room;
    size_t count;
    size_t local[ZIP_MADE_MOST], data[ZIP_MADE_MOST], after[ZIP_MADE_MOST], entry[ZIP_MADE_MOST];
    size_t directory, wide, locator, end; /* wide and locator: 0 where there is none */
} zip_made;

static inline void zip_made_put(zip_made *made, const void *bytes, size_t nbytes)
{
    if (made->nbytes + nbytes >= made->room) {
        made->room = (made->nbytes + nbytes) * 2 + 256;
        made->bytes = realloc(made->bytes, made->room);
        assert_non_null(made->bytes);
    }
    if (nbytes > 0)
        memcpy(made->bytes + made->nbytes, bytes, nbytes);
    made->nbytes += nbytes;
}

static inline void zip_made_number(zip_made *made, uint64_t number, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++, number >>= 8)
        zip_made_put(made, (unsigned char[]){(unsigned char)(number & 0xFF)}, 1);
}

/* Writes a number over what is there. */
static inline void zip_made_set(const zip_made *made, size_t at, size_t nbytes, uint64_t number)
{
    assert_true(at + nbytes <= made->nbytes);
    for (size_t i = 0; i < nbytes; i++, number >>= 8)
        made->bytes[at + i] = (unsigned char)(number & 0xFF);
}

static inline size_t zip_item_name(const zip_item *item)
{
    return item->name_nbytes != 0 ? item->name_nbytes : strlen(item->name);
}

static inline size_t zip_item_packed(const zip_item *item)
{
    return item->method == 8 ? plain_deflate_nbytes(item->nbytes, ZIP_MADE_BLOCK) : item->nbytes;
}

static inline uint32_t zip_item_sum(const zip_item *item)
{
    return ~dlpark__crc32_add(DLPARK__CRC32_BEGIN, item->bytes, item->nbytes);
}

/* Flags to the length of the name, which headers and entries have in common. */
static inline void zip_made_common(zip_made *made, const zip_item *item, bool hides)
{
    size_t packed = zip_item_packed(item);

    zip_made_number(made, item->flags, 2);
    zip_made_number(made, item->method, 2);
    zip_made_number(made, 0x00210000, 4);
    zip_made_number(made, hides ? 0 : zip_item_sum(item), 4);
    zip_made_number(made, item->is_wide ? 0xFFFFFFFF : hides ? 0 : packed, 4);
    zip_made_number(made, item->is_wide ? 0xFFFFFFFF : hides ? 0 : item->nbytes, 4);
    zip_made_number(made, zip_item_name(item), 2);
}

static inline void zip_made_local(zip_made *made, const zip_item *item)
{
    size_t packed = zip_item_packed(item), i = made->count;

    made->local[i] = made->nbytes;
    zip_made_put(made, "PK\3\4", 4);
    zip_made_number(made, 20, 2);
    zip_made_common(made, item, item->hides_sizes);
    zip_made_number(made, (item->is_wide ? 20U : 0U) + item->padding, 2);
    zip_made_put(made, item->name, zip_item_name(item));
    if (item->is_wide) {
        zip_made_number(made, 1, 2);
        zip_made_number(made, 16, 2);
        zip_made_number(made, item->hides_sizes ? 0 : item->nbytes, 8);
        zip_made_number(made, item->hides_sizes ? 0 : packed, 8);
    }
    if (item->padding >= 4) {
        zip_made_number(made, 0xD935, 2);
        zip_made_number(made, item->padding - 4, 2);
        for (size_t p = 4; p < item->padding; p++)
            zip_made_number(made, 0, 1);
    } else {
        zip_made_number(made, 0, item->padding);
    }
    made->data[i] = made->nbytes;
    unsigned char *bytes = malloc(packed + 1);
    assert_non_null(bytes);
    if (item->method == 8)
        plain_deflate(bytes, item->bytes, item->nbytes, ZIP_MADE_BLOCK);
    else if (packed > 0)
        memcpy(bytes, item->bytes, packed);
    zip_made_put(made, bytes, packed);
    free(bytes);
    made->after[i] = made->nbytes;
    if (item->descriptor % 8 == 0 && item->descriptor != 0)
        zip_made_put(made, "PK\7\10", 4);
    if (item->descriptor != 0) {
        size_t width = item->descriptor < 20 ? 4 : 8;
        zip_made_number(made, zip_item_sum(item), 4);
        zip_made_number(made, packed, width);
        zip_made_number(made, item->nbytes, width);
    }
    made->count++;
}

static inline void zip_made_entry(zip_made *made, const zip_item *item, size_t i)
{
    size_t comment = item->comment != NULL ? strlen(item->comment) : 0;

    made->entry[i] = made->nbytes;
    zip_made_put(made, "PK\1\2", 4);
    zip_made_number(made, 20, 2);
    zip_made_number(made, 20, 2);
    zip_made_common(made, item, false);
    zip_made_number(made, item->is_wide ? 28 : 0, 2);
    zip_made_number(made, comment, 2);
    zip_made_number(made, 0, 8);
    zip_made_number(made, item->is_wide ? 0xFFFFFFFF : made->local[i], 4);
    zip_made_put(made, item->name, zip_item_name(item));
    if (item->is_wide) {
        zip_made_number(made, 1, 2);
        zip_made_number(made, 24, 2);
        zip_made_number(made, item->nbytes, 8);
        zip_made_number(made, zip_item_packed(item), 8);
        zip_made_number(made, made->local[i], 8);
    }
    zip_made_put(made, item->comment != NULL ? item->comment : "", comment);
}

/* Directory and end of what was put into `made`; `is_wide`: with the records in 64 bits. */
static inline void zip_made_finish(zip_made *made, const zip_item *items, bool is_wide, const char *comment)
{
    made->directory = made->nbytes;
    for (size_t i = 0; i < made->count; i++)
        zip_made_entry(made, &items[i], i);
    size_t nbytes = made->nbytes - made->directory;
    if (is_wide) {
        made->wide = made->nbytes;
        zip_made_put(made, "PK\6\6", 4);
        zip_made_number(made, 44, 8);
        zip_made_number(made, 45 | 45 << 16, 4);
        zip_made_number(made, 0, 8);
        zip_made_number(made, made->count, 8);
        zip_made_number(made, made->count, 8);
        zip_made_number(made, nbytes, 8);
        zip_made_number(made, made->directory, 8);
        made->locator = made->nbytes;
        zip_made_put(made, "PK\6\7", 4);
        zip_made_number(made, 0, 4);
        zip_made_number(made, made->wide, 8);
        zip_made_number(made, 1, 4);
    }
    made->end = made->nbytes;
    zip_made_put(made, "PK\5\6", 4);
    zip_made_number(made, 0, 4);
    zip_made_number(made, is_wide ? 0xFFFF : made->count, 2);
    zip_made_number(made, is_wide ? 0xFFFF : made->count, 2);
    zip_made_number(made, is_wide ? 0xFFFFFFFF : nbytes, 4);
    zip_made_number(made, is_wide ? 0xFFFFFFFF : made->directory, 4);
    zip_made_number(made, strlen(comment), 2);
    zip_made_put(made, comment, strlen(comment));
}

static inline zip_made zip_made_of(const zip_item *items, size_t count, bool is_wide, const char *comment)
{
    zip_made made = {.bytes = NULL};

    for (size_t i = 0; i < count; i++)
        zip_made_local(&made, &items[i]);
    zip_made_finish(&made, items, is_wide, comment);
    return made;
}

static inline void zip_made_end(zip_made *made)
{
    free(made->bytes);
    made->bytes = NULL;
}

#endif
