/*
 * Dtypes as arguments, and what dlpark.dtypes is made of. Functions that return -1 or NULL have set a Python exception.
 */
#ifndef DLPARK_PYTHON_DTYPE_OBJECT_H
#define DLPARK_PYTHON_DTYPE_OBJECT_H

#include "module.h"

/* A dtype by its name in any spelling that dlpark_dtype_from_name() takes, an object of a library that has one
 * (numpy.float32, numpy.dtype("float32"), torch.float32), or float, int, bool or complex of Python itself. TypeError for
 * what is none, or is of the other byte order. */
int dlpark__py_dtype(PyObject *object, const char *what, DLDataType *out);

/* _dtype_parts(dtype): names, code, bits and lanes. */
PyObject *dlpark__py_dtype_parts(PyObject *module, PyObject *object);

/* _dtype_limits(dtype): what it can hold. */
PyObject *dlpark__py_dtype_limits(PyObject *module, PyObject *object);

extern const char dlpark__py_dtype_parts_doc[];
extern const char dlpark__py_dtype_limits_doc[];

#endif
