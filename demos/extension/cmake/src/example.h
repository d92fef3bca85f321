/* What the sources of the extension share. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <dlpark/python.h>

DLPARK_BEGIN_C

extern dlpark_signature axpy_signature;
PyObject *axpy(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

DLPARK_END_C

#endif
