/*
 * Views and elements the slow way: one bit at a time, one index at a time. Shares nothing with the library but the
 * struct of the view.
 */
#ifndef BITWISE_H
#define BITWISE_H

#include "test.h"

#include <stdbool.h>

/* A writable view on the host, as it stands: nothing is checked. */
static inline dlpark_view bitwise_view(void *data, unsigned bit_offset, DLDataType dtype, uint32_t flags, int32_t ndim,
                                       const int64_t *shape, const int64_t *strides)
{
    dlpark_view view;

    memset(&view, 0, sizeof view);
    view.data = data;
    view.device = DLPARK_DEVICE(kDLCPU, 0);
    view.dtype = dtype;
    view.ndim = ndim;
    view.flags = flags;
    view.bit_offset = bit_offset;
    for (int i = 0; i < ndim; i++) {
        view.shape[i] = shape[i];
        view.strides[i] = strides[i];
    }
    return view;
}

/* The next index in row-major order, or false after the last. */
static inline bool bitwise_next(const dlpark_view *view, int64_t *index)
{
    for (int i = view->ndim - 1; i >= 0; i--) {
        if (++index[i] < view->shape[i])
            return true;
        index[i] = 0;
    }
    return false;
}

static inline int bitwise_width(const dlpark_view *view)
{
    return view->dtype.bits * view->dtype.lanes;
}

/* Bits that an element has for itself. */
static inline int bitwise_slot(const dlpark_view *view)
{
    int width = bitwise_width(view);

    while ((view->flags & DLPARK_VIEW_PADDED) && width % 8 != 0)
        width++;
    return width;
}

/* Where the first bit of an element is, counted from the view's data. */
static inline int64_t bitwise_at(const dlpark_view *view, const int64_t *index)
{
    int64_t at = 0;

    for (int i = 0; i < view->ndim; i++)
        at += index[i] * view->strides[i];
    return at * bitwise_slot(view) + view->bit_offset;
}

/* Where a bit is, counted from bit 0 of a base; before it where negative. */
static inline int64_t bitwise_byte(int64_t bit)
{
    return bit >= 0 ? bit / 8 : -((7 - bit) / 8);
}

static inline int bitwise_get(const void *base, int64_t bit)
{
    int64_t byte = bitwise_byte(bit);

    return ((const unsigned char *)base)[byte] >> (bit - 8 * byte) & 1;
}

static inline void bitwise_set(void *base, int64_t bit, int value)
{
    int64_t byte = bitwise_byte(bit);
    unsigned char *at = (unsigned char *)base + byte;

    *at = (unsigned char)((*at & ~(1 << (bit - 8 * byte))) | value << (bit - 8 * byte));
}

/* Whether no two elements of a small layout coincide, by trying all. */
static inline bool bitwise_is_injective(const dlpark_view *view)
{
    bool seen[512] = {false};
    int64_t index[8] = {0};

    do {
        int64_t at = 256;
        for (int i = 0; i < view->ndim; i++)
            at += index[i] * view->strides[i];
        if (seen[at])
            return false;
        seen[at] = true;
    } while (bitwise_next(view, index));
    return true;
}

/* A repeatable stream of bytes that have nothing to do with one another. */
static inline unsigned char bitwise_noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (unsigned char)(*state >> 24);
}

static inline void bitwise_fill(unsigned char *memory, size_t nbytes, uint32_t seed)
{
    for (size_t i = 0; i < nbytes; i++)
        memory[i] = bitwise_noise(&seed);
}

#endif
