#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include "names.h"

/* A slot, from its lowest bit on: the item's number and 1, the text's length, some bits of the hash, and where the text
 * begins. The length is all ones where one of the two does not fit: then the item is asked. */
#define NAMES_NUMBER_MASK  (((uint64_t)1 << 21) - 1)
#define NAMES_LENGTH_SHIFT 21
#define NAMES_LENGTH_ASK   63
#define NAMES_TAG_SHIFT    27
#define NAMES_TAG_MASK     ((uint64_t)1023 << NAMES_TAG_SHIFT)
#define NAMES_AT_SHIFT     37
#define NAMES_AT_MOST      (UINT64_MAX >> NAMES_AT_SHIFT)

/* Slots are asked for so many items before they are filled: they lie anywhere, and each would be waited for. */
#define NAMES_AHEAD 8

#define NAMES_MANY ((size_t)1 << 19)

/* ---- The hash ---- */

/* The two halves of a product of 128 bits, folded. */
static uint64_t names_fold(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 names_wide;
    names_wide product = (names_wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t low = a_low * b_low, middle = a_high * b_low, other = a_low * b_high, high = a_high * b_high;
    uint64_t carry = ((low >> 32) + (uint32_t)middle + (uint32_t)other) >> 32;
    return (low + (middle << 32) + (other << 32)) ^ (high + (middle >> 32) + (other >> 32) + carry);
#endif
}

static uint64_t names_word(const char *text)
{
    uint64_t word;

    memcpy(&word, text, sizeof word);
    return word;
}

/* A text of at most 16 bytes in two words, which may hold some of its bytes twice: with its length they say which. */
static void names_short(const char *text, size_t nbytes, uint64_t words[2])
{
    uint32_t first = 0, last = 0;

    words[0] = words[1] = 0;
    if (nbytes >= 8) {
        words[0] = names_word(text);
        words[1] = names_word(text + nbytes - 8);
    } else if (nbytes >= 4) {
        memcpy(&first, text, sizeof first);
        memcpy(&last, text + nbytes - 4, sizeof last);
        words[0] = first;
        words[1] = last;
    } else if (nbytes > 0) {
        words[0] = (unsigned char)text[0];
        words[1] = (uint64_t)(unsigned char)text[nbytes / 2] << 8 | (unsigned char)text[nbytes - 1];
    }
}

/* Two lanes of 16 bytes a step, which do not wait for each other, each half met by a secret; the end is the last 16 bytes,
 * some of which may have been taken before. */
uint32_t dlpark__names_hash(const dlpark__names *names, const char *text, size_t nbytes)
{
    uint64_t left_key = names->keys[1], right_key = names->keys[1] ^ UINT64_C(0xA0761D6478BD642F);
    uint64_t left = names->keys[0], right = names->keys[0] ^ UINT64_C(0xE7037ED1A0B428DB), words[2];
    const char *end = text + nbytes;

    if (nbytes > 16) {
        for (; end - text > 32; text += 32) {
            left = names_fold(names_word(text) ^ left_key, names_word(text + 8) ^ left);
            right = names_fold(names_word(text + 16) ^ right_key, names_word(text + 24) ^ right);
        }
        if (end - text > 16)
            left = names_fold(names_word(text) ^ left_key, names_word(text + 8) ^ left);
        words[0] = names_word(end - 16);
        words[1] = names_word(end - 8);
    } else {
        names_short(text, nbytes, words);
    }
    right = names_fold(words[0] ^ right_key, words[1] ^ right);
    return (uint32_t)(names_fold(left ^ nbytes ^ right_key, right ^ left_key) >> 32);
}

void dlpark__names_choose_keys(dlpark__names *names, const void *somewhere)
{
    struct timespec now = {0, 0};

    if (getentropy(names->keys, sizeof names->keys) == 0)
        return;
    /* No entropy, in a sandbox: what a stranger cannot easily know. */
    (void)clock_gettime(CLOCK_REALTIME, &now);
    names->keys[0] = names_fold((uintptr_t)names ^ UINT64_C(0x9E3779B97F4A7C15), (uint64_t)now.tv_nsec | 1);
    names->keys[1] = names_fold((uintptr_t)somewhere ^ names->keys[0], UINT64_C(0xD6E8FEB86659FD93));
}

/* ---- The table ---- */

bool dlpark__names_begin_keyed(dlpark__names *names, const char *text, const void *items, size_t step, size_t count)
{
    /* A third of the slots is empty; of very many an eighth, as memory counts more then. One is in any case. */
    size_t slots = 8 + (count <= NAMES_MANY ? count / 2 * 3 : count / 7 * 8);

    names->text = text;
    names->items = items;
    names->step = step;
    names->nslots = slots;
    names->slots = calloc(slots, sizeof *names->slots);
    return names->slots != NULL;
}

bool dlpark__names_begin(dlpark__names *names, const char *text, const void *items, size_t step, size_t count)
{
    bool is_begun = dlpark__names_begin_keyed(names, text, items, step, count);

    dlpark__names_choose_keys(names, names->slots);
    return is_begun;
}

void dlpark__names_end(dlpark__names *names)
{
    free(names->slots);
    names->slots = NULL;
}

static dlpark__span_text names_item(const dlpark__names *names, size_t item)
{
    dlpark__span_text span;

    memcpy(&span, names->items + item * names->step, sizeof span);
    return span;
}

static inline int64_t names_number(uint64_t slot)
{
    return (int64_t)(slot & NAMES_NUMBER_MASK) - 1;
}

static inline uint64_t names_tag(uint32_t hash)
{
    return (uint64_t)(hash & 1023) << NAMES_TAG_SHIFT; /* its upper bits say the slot */
}

/* Of a short text the item is not looked at: it would be waited for. */
static inline bool names_is(const dlpark__names *names, uint64_t slot, const char *text, size_t nbytes)
{
    size_t at = (size_t)(slot >> NAMES_AT_SHIFT), length = (slot >> NAMES_LENGTH_SHIFT) & NAMES_LENGTH_ASK;

    if (length == NAMES_LENGTH_ASK) {
        dlpark__span_text span = names_item(names, (size_t)names_number(slot));
        at = span.at;
        length = span.nbytes;
    }
    return length == nbytes && (nbytes == 0 || memcmp(names->text + at, text, nbytes) == 0);
}

/* Where the texts of a hash begin. */
static inline size_t names_first(const dlpark__names *names, uint32_t hash)
{
    return (size_t)((uint64_t)hash * names->nslots >> 32);
}

/* The slot with this text, or the empty one where it belongs. */
static inline size_t names_slot(const dlpark__names *names, const char *text, size_t nbytes, uint32_t hash)
{
    uint64_t tag = names_tag(hash);
    size_t at = names_first(names, hash);

    for (uint64_t slot; (slot = names->slots[at]) != 0; at = at + 1 < names->nslots ? at + 1 : 0)
        if ((slot & NAMES_TAG_MASK) == tag && names_is(names, slot, text, nbytes))
            break;
    return at;
}

static inline int64_t names_put(dlpark__names *names, size_t item, uint32_t hash)
{
    dlpark__span_text span = names_item(names, item);
    size_t at = names_slot(names, names->text + span.at, span.nbytes, hash);

    if (names->slots[at] != 0)
        return names_number(names->slots[at]);
    names->slots[at] = names_tag(hash) | (item + 1);
    if (span.nbytes < NAMES_LENGTH_ASK && span.at <= NAMES_AT_MOST)
        names->slots[at] |= (uint64_t)span.at << NAMES_AT_SHIFT | (uint64_t)span.nbytes << NAMES_LENGTH_SHIFT;
    else
        names->slots[at] |= (uint64_t)NAMES_LENGTH_ASK << NAMES_LENGTH_SHIFT;
    return -1;
}

int64_t dlpark__names_add(dlpark__names *names, size_t item)
{
    dlpark__span_text span = names_item(names, item);

    return names_put(names, item, dlpark__names_hash(names, names->text + span.at, span.nbytes));
}

int64_t dlpark__names_fill(dlpark__names *names, const uint32_t *hashes, size_t item, size_t count)
{
    for (; item < count; item++) {
        size_t ahead = item + NAMES_AHEAD < count ? item + NAMES_AHEAD : item;
        __builtin_prefetch(&names->slots[names_first(names, hashes[ahead])], 1);
        if (names_put(names, item, hashes[item]) >= 0)
            return (int64_t)item;
    }
    return -1;
}

int64_t dlpark__names_find(const dlpark__names *names, const char *text, size_t nbytes)
{
    size_t at = names_slot(names, text, nbytes, dlpark__names_hash(names, text, nbytes));

    return names_number(names->slots[at]);
}
