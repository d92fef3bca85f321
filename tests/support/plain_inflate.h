/*
 * Inflate for tests that have no zlib: streams of stored blocks, which zlib reads as well, and nothing else. And what makes
 * such streams.
 */
#ifndef PLAIN_INFLATE_H
#define PLAIN_INFLATE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dlpark/inflate.h>

#define PLAIN_INFLATE_HEADER 5

typedef struct plain_inflate_state {
    unsigned char header[PLAIN_INFLATE_HEADER];
    size_t got;  /* of the header */
    size_t left; /* of the block */
} plain_inflate_state;

static inline void *plain_inflate_begin(void *context)
{
    (void)context;
    return calloc(1, sizeof(plain_inflate_state));
}

/* A byte at a time. */
static inline dlpark_inflate_result plain_inflate_step(void *context, const unsigned char *from, size_t *from_nbytes,
                                                       unsigned char *to, size_t *to_nbytes)
{
    plain_inflate_state *state = context;

    for (;;) {
        if (state->got == PLAIN_INFLATE_HEADER && state->left == 0) {
            if (state->header[0] == 1)
                return DLPARK_INFLATE_END;
            state->got = 0;
        }
        if (*from_nbytes == 0)
            return DLPARK_INFLATE_MORE;
        if (state->got == PLAIN_INFLATE_HEADER) {
            if (*to_nbytes == 0)
                return DLPARK_INFLATE_MORE;
            *to++ = *from++;
            state->left--;
            (*to_nbytes)--;
        } else {
            state->header[state->got++] = *from++;
            state->left = (size_t)(state->header[1] | state->header[2] << 8);
            if (state->header[0] > 1 || (state->got == PLAIN_INFLATE_HEADER &&
                                         (state->left ^ (size_t)(state->header[3] | state->header[4] << 8)) != 0xFFFF))
                return DLPARK_INFLATE_BROKEN;
        }
        (*from_nbytes)--;
    }
}

static inline const dlpark_inflate *plain_inflate(void)
{
    static const dlpark_inflate functions = {plain_inflate_begin, plain_inflate_step, free, NULL};

    return &functions;
}

/* How long such a stream is. */
static inline size_t plain_deflate_nbytes(size_t nbytes, size_t block)
{
    return nbytes + (nbytes / block + 1) * PLAIN_INFLATE_HEADER;
}

/* In blocks of so many bytes; the last has fewer, or none. */
static inline void plain_deflate(unsigned char *to, const unsigned char *bytes, size_t nbytes, size_t block)
{
    for (;;) {
        size_t some = nbytes < block ? nbytes : block;
        *to++ = nbytes < block;
        *to++ = (unsigned char)(some & 0xFF);
        *to++ = (unsigned char)(some >> 8);
        *to++ = (unsigned char)(~some & 0xFF);
        *to++ = (unsigned char)(~some >> 8 & 0xFF);
        if (some > 0)
            memcpy(to, bytes, some);
        to += some;
        if (nbytes < block)
            return;
        bytes += some;
        nbytes -= some;
    }
}

#endif
