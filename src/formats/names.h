/*
 * Finds texts by their bytes: an open table of numbers, whose hash nobody who writes a file can foresee.
 */
#ifndef DLPARK_FORMATS_NAMES_H
#define DLPARK_FORMATS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More have no place in a slot. */
#define DLPARK__NAMES_MOST ((size_t)(1 << 21) - 2)

/* A text within a larger one. */
typedef struct dlpark__span_text {
    uint32_t at;
    uint32_t nbytes;
} dlpark__span_text;

/* The texts are elsewhere: each begins a struct of `step` bytes in `items`, and lies in `text`. */
typedef struct dlpark__names {
    const char *text;
    const unsigned char *items;
    size_t step;
    uint64_t
        *slots; /* 0: empty; else the item's number and 1, above it some bits of the hash, and where its text begins */
    size_t nslots;
    uint64_t keys[2];
} dlpark__names;

/* Keys of chance; `somewhere` is an address that has some of it, for where the system gives none. */
void dlpark__names_choose_keys(dlpark__names *names, const void *somewhere);

uint32_t dlpark__names_hash(const dlpark__names *names, const char *text, size_t nbytes);

/* Room for `count` items, at most DLPARK__NAMES_MOST. False: out of memory. */
bool dlpark__names_begin(dlpark__names *names, const char *text, const void *items, size_t step, size_t count);

/* The same with keys that were chosen before. */
bool dlpark__names_begin_keyed(dlpark__names *names, const char *text, const void *items, size_t step, size_t count);

void dlpark__names_end(dlpark__names *names);

/* Adds an item; the number of one with the same text that is there, and then it is not added; else -1. */
int64_t dlpark__names_add(dlpark__names *names, size_t item);

/* Adds those from `item` on, whose hashes are there; the number of the first whose text the table has, and which is not
 * added; else -1. */
int64_t dlpark__names_fill(dlpark__names *names, const uint32_t *hashes, size_t item, size_t count);

/* The item with this text; -1: none. */
int64_t dlpark__names_find(const dlpark__names *names, const char *text, size_t nbytes);

#endif
