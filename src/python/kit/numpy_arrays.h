/*
 * NumPy's arrays through its own C API: read without a protocol, and made.
 */
#ifndef DLPARK_PYTHON_NUMPY_ARRAYS_H
#define DLPARK_PYTHON_NUMPY_ARRAYS_H

#include "kit.h"

/* ---- numpy_fields.c ---- */

/* NumPy's C API if NumPy has been imported and is of a known ABI; NULL, without an exception, if not. */
const dlpark__py_numpy *dlpark__py_numpy_get(dlpark__py_state *state);

/* Whether a type is numpy.ndarray itself. */
bool dlpark__py_is_ndarray(const dlpark__py_numpy *numpy, const PyTypeObject *type);

/* Whether an object is a number of NumPy's. It makes memory for each request: what is written to that is lost. */
bool dlpark__py_numpy_is_scalar(dlpark__py_state *state, PyObject *object);

/* Describes an exact ndarray. 1; 0 without an exception for what another way has to say (a dtype of a user's, elements
 * of the other byte order, a stride between elements); -1. Runs foreign code only for a dtype that is met for the first
 * time. */
int dlpark__py_numpy_view(const dlpark__py_numpy *numpy, PyObject *array, dlpark_view *view);

/* Describes an exact ndarray of a dtype of NumPy's own that is compact in row-major order; shape points into the array, and
 * strides stay NULL. flags: DLPARK_VIEW_READ_ONLY or 0. False for any other. Not checked: a description, not a view. */
bool dlpark__py_numpy_compact(PyObject *array, DLTensor *out, uint32_t *flags);

/* Whether an exact ndarray's elements are of the other byte order. */
bool dlpark__py_numpy_is_swapped(PyObject *array);

/* Its dtype; borrowed. */
PyObject *dlpark__py_numpy_dtype(PyObject *array);

/* ---- numpy_make.c ---- */

/* A new compact array whose elements are not set, and its view. NULL with an exception; BufferError for a dtype that
 * NumPy lacks. */
PyObject *dlpark__py_numpy_new(const dlpark__py_numpy *numpy, DLDataType dtype, int32_t ndim, const int64_t *shape,
                               dlpark_view *view);

/* The same of a rank and a dtype that NumPy has for certain, as a tensor without strides: its extents are those of the
 * array. NULL, without an exception, for any other, and where it failed. */
PyObject *dlpark__py_numpy_new_plain(const dlpark__py_numpy *numpy, DLDataType dtype, int32_t ndim,
                                     const int64_t *shape, DLTensor *out);

/* An array on the memory of an owner's tensor, which the host must reach, kept alive by `owner`; not writeable where the
 * flags say so, or it is unknown. Takes the reference of `owner` on success. */
PyObject *dlpark__py_numpy_wrap(const dlpark__py_numpy *numpy, const DLTensor *tensor, uint64_t flags, PyObject *owner);

#endif
