/**
 * How deflated bytes are unpacked: libdlpark needs no library for it, and is given one by who has it.
 *
 *     const dlpark_file_options options = {.inflate = dlpark_zlib_inflate()};    // of libdlpark-zlib
 */
#ifndef DLPARK_INFLATE_H
#define DLPARK_INFLATE_H

#include <stddef.h>

#include "api.h"

DLPARK_BEGIN_C

/** What a step came to. Four bytes in every build. */
typedef enum dlpark_inflate_result {
    DLPARK_INFLATE_MORE = 0, /**< goes on, with more to unpack or more room */
    DLPARK_INFLATE_END,      /**< that was all: what is left of the input is behind it */
    DLPARK_INFLATE_BROKEN,
    DLPARK_INFLATE_MEMORY, /**< there is none */
    DLPARK_INFLATE_PIN_32 = 0x7fffffff
} dlpark_inflate_result;

/** Functions that unpack a stream of RFC 1951, with nothing around it. For each stream there is a state; the functions are
 * called from any thread, for one state from one thread at a time. The layout is frozen. */
typedef struct dlpark_inflate {
    void *(*begin)(void *context); /**< a state; NULL: out of memory */
    /** Unpacks as much as there is, or as there is room for, which is not 0; both counts become what is left. */
    dlpark_inflate_result (*step)(void *state, const unsigned char *from, size_t *from_nbytes, unsigned char *to,
                                  size_t *to_nbytes);
    void (*end)(void *state); /**< frees the state */
    void *context;            /**< handed to `begin` */
} dlpark_inflate;

DLPARK_END_C

#endif
