/*
 * Arrays of NumPy's made by hand: a header's text as it is to be, and bytes that can be told apart behind it.
 */
#ifndef NPY_FILE_H
#define NPY_FILE_H

#include "tensor_file.h"

/* A header of so many bytes, which may hold zeros, in a version. */
static inline tensor_file npy_file_of(int major, const char *text, size_t text_nbytes, size_t data_nbytes)
{
    size_t begin = major == 1 ? 10 : 12;
    tensor_file made = {NULL, begin + text_nbytes + data_nbytes, begin + text_nbytes};

    made.bytes = malloc(made.nbytes);
    assert_non_null(made.bytes);
    memcpy(made.bytes, "\x93NUMPY", 6);
    made.bytes[6] = (unsigned char)major;
    made.bytes[7] = 0;
    for (size_t i = 8; i < begin; i++)
        made.bytes[i] = (unsigned char)(text_nbytes >> 8 * (i - 8));
    memcpy(made.bytes + begin, text, text_nbytes);
    for (size_t i = 0; i < data_nbytes; i++)
        made.bytes[made.data + i] = tensor_file_byte(i);
    return made;
}

/* One of version 1.0. */
static inline tensor_file npy_file_text(const char *text, size_t data_nbytes)
{
    return npy_file_of(1, text, strlen(text), data_nbytes);
}

/* The same of a dtype, an order and a shape: "<f4", true, "(2, 3)". */
static inline tensor_file npy_file_array(const char *descr, bool is_column_major, const char *shape, size_t data_nbytes)
{
    char text[2048];

    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
             is_column_major ? "True" : "False", shape);
    return npy_file_text(text, data_nbytes);
}

#endif
