/*
 * A way to pack for tests that have no zlib: what is one byte all over becomes a run, everything else is for who asks to
 * store. And what unpacks both. A run is a byte 2, or 3 where it ends the stream, its length in four, the byte, and a byte of
 * nothing for each 1000 so that the archive is believable.
 */
#ifndef RUNS_DEFLATE_H
#define RUNS_DEFLATE_H

#include <stdatomic.h>
#include <stdlib.h>

#include <dlpark/deflate.h>
#include <dlpark/inflate.h>

#include "test.h"

enum { RUNS_STORED = 5, RUNS_RUN = 6, RUNS_RATIO = 1000 };

static atomic_int runs_live;
static atomic_int runs_pieces;  /* so far */
static bool runs_check_windows; /* numbers of 8 bytes, each one more than that before it */

static inline void *runs_begin(void *context)
{
    void *state = malloc(1);

    (void)context;
    if (state != NULL)
        (void)atomic_fetch_add(&runs_live, 1);
    return state;
}

static inline void runs_end(void *state)
{
    (void)atomic_fetch_sub(&runs_live, 1);
    free(state);
}

static inline void runs_check_window(const unsigned char *from, size_t window_nbytes)
{
    for (size_t i = 1; i * 8 <= window_nbytes; i++) {
        uint64_t number, before;
        memcpy(&number, from, sizeof number);
        memcpy(&before, from - i * 8, sizeof before);
        assert_true(before == number - i);
    }
}

static inline size_t runs_piece(void *state, const unsigned char *from, size_t from_nbytes, size_t window_nbytes,
                                bool is_last, unsigned char *to, size_t to_nbytes)
{
    size_t nbytes = RUNS_RUN + from_nbytes / RUNS_RATIO;

    (void)state;
    (void)atomic_fetch_add(&runs_pieces, 1);
    assert_true(window_nbytes <= DLPARK_DEFLATE_WINDOW && from_nbytes > 0);
    if (runs_check_windows)
        runs_check_window(from, window_nbytes);
    for (size_t i = 1; i < from_nbytes; i++)
        if (from[i] != from[0])
            return 0;
    if (nbytes > to_nbytes)
        return 0;
    memset(to, 0, nbytes);
    to[0] = is_last ? 3 : 2;
    for (size_t i = 0; i < 4; i++)
        to[1 + i] = (unsigned char)(from_nbytes >> 8 * i & 0xFF);
    to[5] = from[0];
    return nbytes;
}

static inline const dlpark_deflate *runs_deflate(void)
{
    static const dlpark_deflate functions = {runs_begin, runs_piece, runs_end, NULL};

    return &functions;
}

/* ---- Back ---- */

typedef struct runs_state {
    unsigned char header[RUNS_RUN];
    size_t got; /* of it */
    size_t left, nothing;
} runs_state;

static inline void *runs_unpack_begin(void *context)
{
    (void)context;
    return calloc(1, sizeof(runs_state));
}

static inline void runs_read_header(runs_state *state, unsigned char byte)
{
    const unsigned char *header = state->header;

    state->header[state->got++] = byte;
    if (header[0] <= 1 && state->got == RUNS_STORED) {
        state->left = (size_t)(header[1] | header[2] << 8);
        state->got = RUNS_RUN;
    } else if (state->got == RUNS_RUN) {
        state->left = header[1] | (size_t)header[2] << 8 | (size_t)header[3] << 16 | (size_t)header[4] << 24;
        state->nothing = state->left / RUNS_RATIO;
    }
}

static inline dlpark_inflate_result runs_unpack_step(void *context, const unsigned char *from, size_t *from_nbytes,
                                                     unsigned char *to, size_t *to_nbytes)
{
    runs_state *state = context;

    for (;;) {
        bool is_run = state->header[0] > 1;
        if (state->got == RUNS_RUN && state->left == 0 && state->nothing == 0) {
            if ((state->header[0] & 1) != 0)
                return DLPARK_INFLATE_END;
            state->got = 0;
        }
        bool gives = state->got == RUNS_RUN && state->left > 0;
        if ((gives && *to_nbytes == 0) || (!(gives && is_run) && *from_nbytes == 0))
            return DLPARK_INFLATE_MORE;
        unsigned char byte = gives && is_run ? state->header[5] : *from++;
        *from_nbytes -= !(gives && is_run);
        if (state->got < RUNS_RUN) {
            runs_read_header(state, byte);
        } else if (gives) {
            *to++ = byte;
            --*to_nbytes;
            state->left--;
        } else {
            state->nothing--;
        }
    }
}

static inline void runs_unpack_end(void *state)
{
    free(state);
}

static inline const dlpark_inflate *runs_inflate(void)
{
    static const dlpark_inflate functions = {runs_unpack_begin, runs_unpack_step, runs_unpack_end, NULL};

    return &functions;
}

#endif
