/*
 * The kernels in plain C, for every processor; what the others fall back to at their edges, and are tested against.
 */
#include <stdbool.h>
#include <string.h>

#include "kernels.h"

/* A constant size lets the compiler turn memcpy into loads and stores, at any alignment. */
#define STRIDED_LOOP(nbytes)                                                                                           \
    for (int64_t i = 0; i < y.extent; i++, to += y.to, from += y.from) {                                               \
        unsigned char *out = to;                                                                                       \
        const unsigned char *in = from;                                                                                \
        for (int64_t j = 0; j < x.extent; j++, out += x.to, in += x.from)                                              \
            memcpy(out, in, (nbytes));                                                                                 \
    }
#define STRIDED_CASE(nbytes)                                                                                           \
    case (nbytes):                                                                                                     \
        STRIDED_LOOP(nbytes)                                                                                           \
        break

static void generic_strided(unsigned char *to, const unsigned char *from, size_t element, const dlpark__copy_dim *outer,
                            const dlpark__copy_dim *inner)
{
    /* Copies: what bytes are written could be these, as far as the compiler knows. */
    const dlpark__copy_dim y = *outer, x = *inner;

    switch (element) {
        STRIDED_CASE(1);
        STRIDED_CASE(2);
        STRIDED_CASE(3);
        STRIDED_CASE(4);
        STRIDED_CASE(6);
        STRIDED_CASE(8);
        STRIDED_CASE(12);
        STRIDED_CASE(16);
        STRIDED_CASE(24);
        STRIDED_CASE(32);
    default:
        STRIDED_LOOP(element)
    }
}

static void generic_transpose(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row,
                              size_t element, int64_t nx, int64_t ny, bool stream)
{

    const dlpark__copy_dim y = {ny, to_row, (int64_t)element}, x = {nx, (int64_t)element, from_row};

    (void)stream;
    generic_strided(to, from, element, &y, &x);
}

static void generic_split(unsigned char *to, int64_t to_plane, const unsigned char *from, size_t element, int channels,
                          int planes, int64_t count, bool stream)
{
    const dlpark__copy_dim plane = {planes, to_plane, (int64_t)element};
    const dlpark__copy_dim along = {count, (int64_t)element, (int64_t)element * channels};

    (void)stream;
    generic_strided(to, from, element, &plane, &along);
}

static void generic_join(unsigned char *to, const unsigned char *from, int64_t from_plane, size_t element, int channels,
                         int64_t count, bool stream)
{
    const dlpark__copy_dim along = {count, (int64_t)element * channels, (int64_t)element};
    const dlpark__copy_dim plane = {channels, (int64_t)element, from_plane};

    (void)stream;
    generic_strided(to, from, element, &along, &plane);
}

static void generic_reverse(unsigned char *to, const unsigned char *from, size_t element, int64_t count, bool stream)
{
    const dlpark__copy_dim once = {1, 0, 0}, along = {count, (int64_t)element, -(int64_t)element};

    (void)stream;
    generic_strided(to, from, element, &once, &along);
}

static void generic_blocks(unsigned char *to, const unsigned char *from, int64_t step, const dlpark__copy_block *block,
                           int64_t count, bool stream)
{
    (void)stream;
    for (int64_t i = 0; i < count; i++)
        for (int j = 0; j < block->nbytes; j++)
            to[i * block->nbytes + j] = from[i * step + block->map[j]];
}

static void generic_rows(unsigned char *to, int64_t to_row, const unsigned char *from, int64_t from_row, size_t nbytes,
                         int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_row, from + i * from_row, nbytes);
}

static void generic_stream(unsigned char *to, const unsigned char *from, size_t nbytes)
{
    memcpy(to, from, nbytes);
}

static void generic_fence(void)
{
}

const dlpark__kernels dlpark__kernels_generic = {
    .name = "generic",
    .strided = generic_strided,
    .transpose = generic_transpose,
    .split = generic_split,
    .join = generic_join,
    .reverse = generic_reverse,
    .blocks = generic_blocks,
    .rows = generic_rows,
    .stream = generic_stream,
    .fence = generic_fence,
};
