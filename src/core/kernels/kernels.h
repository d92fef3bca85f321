/*
 * The loops that move elements, one table for each instruction set. The best one that the processor has is chosen once;
 * whoever runs a loop takes it from the table. Strides and offsets are in bytes; alignment is never assumed; source and
 * destination never overlap. Every set answers the same: generic.c is what the others are tested against.
 */
#ifndef DLPARK_CORE_KERNELS_H
#define DLPARK_CORE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cast_steps.h"

/* One dimension of a copy. */
typedef struct dlpark__copy_dim {
    int64_t extent;
    int64_t to;
    int64_t from;
} dlpark__copy_dim;

/* Blocks of a few bytes whose order changes within the block: a pixel that loses its alpha, or turns BGR into RGB. */
typedef struct dlpark__copy_block {
    uint8_t map[16]; /* byte i of a block in the destination is byte map[i] of its span in the source */
    uint8_t nbytes;  /* in the destination, where blocks follow each other; 1 to 16 */
    uint8_t span;    /* in the source; 1 to 16 */
} dlpark__copy_block;

/* A kernel that may `stream` writes past the caches, where its destination is aligned to vectors. */
typedef struct dlpark__kernels {
    const char *name;
    const struct dlpark__kernels *below; /* the set that does what is too small for this one; NULL: none */
    int64_t nbytes;                      /* of its vectors; 0: none */

    /* Elements of any size along two dimensions with any strides. */
    void (*strided)(unsigned char *to, const unsigned char *from, size_t element, const dlpark__copy_dim *outer,
                    const dlpark__copy_dim *inner);

    /* Element (x, y): to + y * to_row + x * element gets from + x * from_row + y * element. 1, 2, 4, 8 or 16 bytes. */
    void (*transpose)(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row, size_t element,
                      int64_t nx, int64_t ny, bool stream);

    /* The first `planes` of `channels` (2 to 4) interleaved elements of 1, 2, 4 or 8 bytes, each to a plane of its own.
     * Reads nothing behind the last element that it copies. */
    void (*split)(unsigned char *to, int64_t to_plane, const unsigned char *from, size_t element, int channels,
                  int planes, int64_t count, bool stream);

    /* The way back: 2 to 4 planes to interleaved elements of 1, 2, 4 or 8 bytes. */
    void (*join)(unsigned char *to, const unsigned char *from, int64_t from_plane, size_t element, int channels,
                 int64_t count, bool stream);

    /* Elements of 1, 2, 4, 8 or 16 bytes in the order of falling addresses; `from` is the first to be read. */
    void (*reverse)(unsigned char *to, const unsigned char *from, size_t element, int64_t count, bool stream);

    /* Blocks one after the other from spans that lie `step` apart, either way. */
    void (*blocks)(unsigned char *to, const unsigned char *from, int64_t step, const dlpark__copy_block *block,
                   int64_t count, bool stream);

    /* Rows of at least 16 bytes. */
    void (*rows)(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row, size_t nbytes,
                 int64_t count);

    /* Bytes one after the other, past the caches. Ordered before what follows by fence() only. */
    void (*stream)(unsigned char *to, const unsigned char *from, size_t nbytes);
    void (*fence)(void);

    /* The steps of casts, DLPARK__CAST_STEPS of them; NULL: those of the set below, and in the end of cast_generic.c. */
    const dlpark__cast_step *cast;
} dlpark__kernels;

/* The sets. Those of other architectures are not defined. */
extern const dlpark__kernels dlpark__kernels_generic;
#if defined(__x86_64__) && defined(__GNUC__)
#define DLPARK__KERNELS_X86 1
extern const dlpark__kernels dlpark__kernels_ssse3;
extern const dlpark__kernels dlpark__kernels_avx2;
extern const dlpark__kernels dlpark__kernels_avx512;
extern const dlpark__kernels dlpark__kernels_avx512vbmi;
extern const dlpark__kernels dlpark__kernels_avx512bf16;
extern const dlpark__cast_step dlpark__cast_avx2[DLPARK__CAST_STEPS];
extern const dlpark__cast_step dlpark__cast_avx512[DLPARK__CAST_STEPS];
extern const dlpark__cast_step dlpark__cast_avx512vbmi[DLPARK__CAST_STEPS];
extern const dlpark__cast_step dlpark__cast_avx512bf16[DLPARK__CAST_STEPS];
#elif defined(__aarch64__) && defined(__GNUC__) && defined(__ARM_NEON)
#define DLPARK__KERNELS_NEON 1
extern const dlpark__kernels dlpark__kernels_neon;
extern const dlpark__cast_step dlpark__cast_neon[DLPARK__CAST_STEPS];
#endif

/* ---- kernels.c ---- */

/* The set in use; the processor is asked on the first call. Threads: any. */
const dlpark__kernels *dlpark__kernels_get(void);

/* The sets that this processor can run, the plainest first; NULL past the last. */
const dlpark__kernels *dlpark__kernels_list(size_t at);

/* For tests: makes `set` the one in use, NULL the best again. Not while another thread copies. */
void dlpark__kernels_use(const dlpark__kernels *set);

#endif
