/*
 * What numpy_fields.c and numpy_make.c share: NumPy's side, declared by hand as 1.x and 2.x have it in common.
 */
#ifndef DLPARK_PYTHON_NUMPY_PARTS_H
#define DLPARK_PYTHON_NUMPY_PARTS_H

#include "numpy_arrays.h"

#include <limits.h>

/* The head of an array object, the same in every NumPy since 1.7. */
typedef struct numpy_array {
    PyObject_HEAD char *data;
    int ndim;
    Py_ssize_t *shape;
    Py_ssize_t *strides; /* in bytes */
    PyObject *base;
    PyObject *dtype;
    int flags;
} numpy_array;

/* The head of a dtype object, before its size, which lies elsewhere in 2.x. */
typedef struct numpy_dtype {
    PyObject_HEAD PyTypeObject *scalar_type;
    char kind;
    char letter;
    char byteorder;
    char flags;
    int number;
} numpy_dtype;

/* Bits of an array's flags. A write to an array of the second warns today and will be refused one day. */
#define NUMPY_C_CONTIGUOUS  0x0001
#define NUMPY_WRITEABLE     0x0400
#define NUMPY_WARN_ON_WRITE INT_MIN

/* Numbers of dtypes. Those of other libraries begin at 256; of no more than this many is kept what they are. */
enum { NUMPY_HALF = 23, NUMPY_BUILTINS = 24, NUMPY_USER = 256, NUMPY_USERS = 128 };

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NUMPY_OTHER_ORDER '<'
#else
#define NUMPY_OTHER_ORDER '>'
#endif

typedef enum numpy_kind {
    NUMPY_UNSEEN = 0, /* of another library, and not looked at */
    NUMPY_SAME,       /* as DLPack has it */
    NUMPY_OTHER,      /* NumPy's own __dlpack__ has to say */
    NUMPY_NO_NUMBER   /* a date, a text, an object, a record */
} numpy_kind;

/* What a dtype's number means. Eight bytes, read and written as one. */
typedef struct numpy_element {
    _Alignas(8) DLDataType dtype;
    uint8_t shift; /* a byte stride is shifted right by so much */
    uint8_t flags; /* DLPARK_VIEW_PADDED, where an element is less than its byte */
    uint8_t kind;  /* numpy_kind */
} numpy_element;

/* The codes that NumPy has, and the widths as log2 of the bits. */
enum { NUMPY_CODES = kDLBool + 1, NUMPY_WIDTHS = 8 };

struct dlpark__py_numpy {
    PyTypeObject *array_type;                  /* static */
    PyTypeObject *scalar_type;                 /* numpy.generic; static */
    int8_t numbers[NUMPY_CODES][NUMPY_WIDTHS]; /* of NumPy's own dtypes; -1: none */
    PyObject *(*dtype_from_number)(int number);
    PyObject *(*dtype_from_type)(PyObject *type);
    PyObject *(*new_from_dtype)(PyTypeObject *type, PyObject *dtype, int ndim, const Py_ssize_t *shape,
                                const Py_ssize_t *strides, void *data, int flags, PyObject *like);
};

typedef struct numpy_user {
    const char *name; /* of the scalar type in the package ml_dtypes */
    numpy_element element;
} numpy_user;

enum { NUMPY_USER_TYPES = 19 };

/* What is known of NumPy's own numbers, and of the types of ml_dtypes. */
extern const numpy_element dlpark__py_numpy_builtins[NUMPY_BUILTINS];
extern const numpy_user dlpark__py_numpy_users[NUMPY_USER_TYPES];

#endif
