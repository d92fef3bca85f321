/*
 * What the sources of gsl share. GSL has a struct for every type of element, all of one layout: one for vectors, one for
 * matrices.
 */
#ifndef DLPARK_GSL_PARTS_H
#define DLPARK_GSL_PARTS_H

#include <stdbool.h>

#include <dlpark/gsl.h>

/* X(name as in DLPARK_GSL_TABLE, vector, matrix, block, element of the data, code, bits) */
#define GSL_TYPES(X)                                                                                                   \
    X(DOUBLE, gsl_vector, gsl_matrix, gsl_block, double, kDLFloat, 64)                                                 \
    X(FLOAT, gsl_vector_float, gsl_matrix_float, gsl_block_float, float, kDLFloat, 32)                                 \
    X(LONG_DOUBLE, gsl_vector_long_double, gsl_matrix_long_double, gsl_block_long_double, long double, kDLFloat,       \
      GSL_LONG_DOUBLE_BITS)                                                                                            \
    X(CHAR, gsl_vector_char, gsl_matrix_char, gsl_block_char, char, GSL_CHAR_CODE, 8)                                  \
    X(UCHAR, gsl_vector_uchar, gsl_matrix_uchar, gsl_block_uchar, unsigned char, kDLUInt, 8)                           \
    X(SHORT, gsl_vector_short, gsl_matrix_short, gsl_block_short, short, kDLInt, 8 * sizeof(short))                    \
    X(USHORT, gsl_vector_ushort, gsl_matrix_ushort, gsl_block_ushort, unsigned short, kDLUInt, 8 * sizeof(short))      \
    X(INT, gsl_vector_int, gsl_matrix_int, gsl_block_int, int, kDLInt, 8 * sizeof(int))                                \
    X(UINT, gsl_vector_uint, gsl_matrix_uint, gsl_block_uint, unsigned int, kDLUInt, 8 * sizeof(int))                  \
    X(LONG, gsl_vector_long, gsl_matrix_long, gsl_block_long, long, kDLInt, 8 * sizeof(long))                          \
    X(ULONG, gsl_vector_ulong, gsl_matrix_ulong, gsl_block_ulong, unsigned long, kDLUInt, 8 * sizeof(long))            \
    X(COMPLEX, gsl_vector_complex, gsl_matrix_complex, gsl_block_complex, double, kDLComplex, 128)                     \
    X(COMPLEX_FLOAT, gsl_vector_complex_float, gsl_matrix_complex_float, gsl_block_complex_float, float, kDLComplex,   \
      64)                                                                                                              \
    X(COMPLEX_LONG_DOUBLE, gsl_vector_complex_long_double, gsl_matrix_complex_long_double,                             \
      gsl_block_complex_long_double, long double, kDLComplex, GSL_COMPLEX_LONG_DOUBLE_BITS)

/* What is behind `owner` of what dlpark_gsl_export() gives. Anything but 0 makes GSL end the block, which is NULL there. */
#define GSL_OURS 0x444C50

/* Every vector, every matrix and every block. */
typedef struct gsl_vector_layout {
    size_t size;
    size_t stride;
    void *data;
    void *block;
    int owner;
} gsl_vector_layout;

typedef struct gsl_matrix_layout {
    size_t size1;
    size_t size2;
    size_t tda;
    void *data;
    void *block;
    int owner;
} gsl_matrix_layout;

typedef struct gsl_block_layout {
    size_t size;
    void *data;
} gsl_block_layout;

/* ---- gsl_object.c ---- */

/* A type of elements. `dtype.bits` is 0 where DLPack has none. */
typedef struct gsl_type {
    const char *vector; /* "gsl_vector_float" */
    const char *matrix;
    void (*end_vector)(void *theirs);
    void (*end_matrix)(void *theirs);
    DLDataType dtype;
    uint32_t nbytes; /* of an element */
    uint32_t alignment_bytes;
} gsl_type;

/* Any vector or matrix. Those of a vector are the first ones; a matrix has the strides {tda, 1}. */
typedef struct gsl_object {
    const gsl_type *type;
    const char *name;          /* of the two in `type` */
    void (*end)(void *theirs); /* the same */
    int32_t ndim;
    size_t shape[2];
    size_t stride; /* of a vector; tda of a matrix */
    void *data;
    const void *block;
    int owner;
} gsl_object;

/* What a kind is: fills type, name, end and ndim. E_ARGUMENT for a kind that there is none of, E_DTYPE without a dtype. */
dlpark_status dlpark__gsl_object_init(gsl_object *object, uint32_t kind, dlpark_error *err);

/* Reads all fields of GSL's object, and writes them. Both have been initialised for it. */
void dlpark__gsl_object_read(gsl_object *object, const void *theirs);
void dlpark__gsl_object_write(const gsl_object *object, void *theirs);

/* The elements of a block, and where they begin. */
void dlpark__gsl_block_read(const void *block, size_t *size, void **data);

/* ---- gsl_export.c ---- */

/* Takes the tensor out of what dlpark_gsl_export() gave, and ends that. */
void dlpark__gsl_given_take(void *theirs, dlpark_tensor *tensor);

#endif
