/*
 * What the methods of Tensor share: arguments as Python gives them, and the exceptions that NumPy's users expect.
 * Functions that return -1 or NULL have set a Python exception.
 */
#ifndef DLPARK_PYTHON_ARGUMENTS_H
#define DLPARK_PYTHON_ARGUMENTS_H

#include "module.h"

/* A list of integers: extents, dimensions. */
typedef struct integer_list {
    int32_t count;
    int64_t values[DLPARK_MAX_NDIM];
} integer_list;

/* A set of dimensions of a rank, each counted from 0. */
typedef struct axis_list {
    int32_t count;
    int32_t values[DLPARK_MAX_NDIM]; /* in the order in which they were given */
    uint64_t named;                  /* a bit for each */
} axis_list;

/*
 * Binds the arguments of a METH_FASTCALL | METH_KEYWORDS function to names; each may come by position or by name.
 *
 * `npositional` of them may come by position, the others by name only; the first `nrequired` must come. values[i] is
 * left alone where the i-th is not given.
 */
typedef struct dlpark__py_signature {
    const char *function;
    const char *const *names;
    Py_ssize_t count;
    Py_ssize_t npositional;
    Py_ssize_t nrequired;
} dlpark__py_signature;
int dlpark__py_bind(const dlpark__py_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *keyword_names, PyObject **values);

/* An integer of anything with __index__ but a bool. `what` is for the message of the TypeError. An integer that leaves 64
 * bits is -1 with 1 in *overflow, as PyLong_AsLongLongAndOverflow() has it, and no exception. */
int dlpark__py_integer(PyObject *object, const char *what, int64_t *out, int *overflow);

/* Integers given as arguments of their own or as one tuple or list: (2, 3) and ((2, 3),). ValueError for more than 64. */
int dlpark__py_integers(const char *what, PyObject *const *args, Py_ssize_t nargs, integer_list *out);

/* A dimension of a tensor of that rank, counted from the end where it is negative; ValueError where there is none. */
int dlpark__py_axis(PyObject *object, const char *what, int32_t ndim, int32_t *out);

/* The same for several, given as dlpark__py_integers() takes them. `repeated`: one may be there twice. */
int dlpark__py_axes(const char *what, PyObject *const *args, Py_ssize_t nargs, int32_t ndim, bool repeated,
                    axis_list *out);

/* The same of an argument `axis`, where NULL and None mean all of them; none may be there twice. `named` is not set. */
int dlpark__py_axes_or_all(PyObject *axis, int32_t ndim, axis_list *out);

/* Raises what NumPy would: MemoryError, IndexError, and ValueError for shapes, strides and numbers. Returns NULL. */
PyObject *dlpark__py_raise_value(const dlpark_error *err);

/* Raises the message as an exception of that class; MemoryError stays one. Returns NULL. */
PyObject *dlpark__py_raise_as(PyObject *exception, const dlpark_error *err);

/* Whether the host may read the elements now; -1 with a TypeError that begins with `what`. */
int dlpark__py_require_host(const dlpark_view *view, const char *what);

#endif
