/**
 * How bytes are packed for an archive: libdlpark needs no library for it, and is given one by who has it.
 *
 *     const dlpark_file_write_options options = {.deflate = dlpark_zlib_deflate(0)};    // of libdlpark-zlib
 */
#ifndef DLPARK_DEFLATE_H
#define DLPARK_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "api.h"

DLPARK_BEGIN_C

/** Bytes before a piece that it may refer to. */
#define DLPARK_DEFLATE_WINDOW ((size_t)32768)

/** Functions that pack a stream of RFC 1951 in pieces, each alone, so that several threads pack one stream. A state is used
 * by one thread at a time, for any piece of any stream. What they make of the same bytes is the same. The layout is frozen. */
typedef struct dlpark_deflate {
    void *(*begin)(void *context); /**< a state; NULL: out of memory */
    /** Packs a piece whole. Its bytes stand behind the `window_nbytes` before it in the stream, at most
     * DLPARK_DEFLATE_WINDOW. What is written ends with a whole byte, and is the end of the stream where the piece is the
     * last. Returns how much was written; 0: not all of it fits, and the piece is stored. */
    size_t (*piece)(void *state, const unsigned char *from, size_t from_nbytes, size_t window_nbytes, bool is_last,
                    unsigned char *to, size_t to_nbytes);
    void (*end)(void *state); /**< frees the state */
    void *context;            /**< handed to `begin` */
} dlpark_deflate;

DLPARK_END_C

#endif
