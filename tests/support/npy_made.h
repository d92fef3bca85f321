/*
 * Arrays as NumPy writes them, made by hand, and archives of them.
 */
#ifndef NPY_MADE_H
#define NPY_MADE_H

#include "zip_made.h"

typedef struct npy_made {
    unsigned char *bytes;
    size_t nbytes;
    size_t data; /* where they begin */
} npy_made;

/* Byte `i` of the data. */
static inline unsigned char npy_made_byte(size_t i)
{
    return (unsigned char)(i * 7 % 251);
}

/* A dictionary and spaces to `header_nbytes` in all, 0: to a multiple of 64; then so many bytes. */
static inline npy_made npy_made_of(const char *dictionary, size_t header_nbytes, size_t data_nbytes)
{
    size_t least = 10 + strlen(dictionary) + 1;
    npy_made made = {NULL, 0, header_nbytes != 0 ? header_nbytes : (least + 63) / 64 * 64};

    assert_true(made.data >= least && made.data - 10 <= 65535);
    made.nbytes = made.data + data_nbytes;
    made.bytes = malloc(made.nbytes);
    assert_non_null(made.bytes);
    memset(made.bytes, ' ', made.data);
    memcpy(made.bytes, "\x93NUMPY\1\0", 8);
    made.bytes[8] = (unsigned char)((made.data - 10) & 0xFF);
    made.bytes[9] = (unsigned char)((made.data - 10) >> 8);
    memcpy(made.bytes + 10, dictionary, strlen(dictionary));
    made.bytes[made.data - 1] = '\n';
    for (size_t i = 0; i < data_nbytes; i++)
        made.bytes[made.data + i] = npy_made_byte(i);
    return made;
}

static inline npy_made npy_made_u1(size_t nbytes)
{
    char text[200];

    snprintf(text, sizeof text, "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu,), }", nbytes);
    return npy_made_of(text, 0, nbytes);
}

static inline void npy_made_end(npy_made *made)
{
    free(made->bytes);
    made->bytes = NULL;
}

static inline zip_item npy_made_item(const npy_made *made, const char *name, unsigned method)
{
    return (zip_item){.name = name, .bytes = made->bytes, .nbytes = made->nbytes, .method = method};
}

#endif
