/*
 * The methods of Tensor, for people: one table, from which the type and its documentation are made. Grouped by the file
 * that defines them. How a Tensor is given out to others is in module.h.
 */
#ifndef DLPARK_PYTHON_TENSOR_METHODS_H
#define DLPARK_PYTHON_TENSOR_METHODS_H

#include "module.h"

/* X(name). All take METH_FASTCALL | METH_KEYWORDS. */
#define DLPARK__PY_TENSOR_METHOD_TABLE(X)                                                                              \
    X(astype)                                                                                                          \
    X(broadcast_to)                                                                                                    \
    X(copy)                                                                                                            \
    X(diagonal)                                                                                                        \
    X(expand_dims)                                                                                                     \
    X(flip)                                                                                                            \
    X(item)                                                                                                            \
    X(numpy)                                                                                                           \
    X(permute)                                                                                                         \
    X(reshape)                                                                                                         \
    X(sliding_window_view)                                                                                             \
    X(squeeze)                                                                                                         \
    X(to)                                                                                                              \
    X(tobytes)                                                                                                         \
    X(tolist)                                                                                                          \
    X(transpose)                                                                                                       \
    X(view)

#define DLPARK__PY_TENSOR_METHOD_DECLARATION(name)                                                                     \
    PyObject *dlpark__py_tensor_##name(PyObject *self, PyObject *const *args, Py_ssize_t nargs,                        \
                                       PyObject *keyword_names);                                                       \
    extern const char dlpark__py_tensor_##name##_doc[];
DLPARK__PY_TENSOR_METHOD_TABLE(DLPARK__PY_TENSOR_METHOD_DECLARATION)
#undef DLPARK__PY_TENSOR_METHOD_DECLARATION

/* ---- tensor_convert.c ---- */

/* A compact copy, as a new Tensor of the same type; TypeError where the host does not read the memory. */
PyObject *dlpark__py_tensor_copied(PyObject *self, const dlpark_view *view);

/* Says, behind a refusal of __array__, what reads such elements instead. */
const char *dlpark__py_tensor_numpy_hint(const dlpark_view *view);

/* ---- tensor_object.c ---- */

/* What a Tensor holds. */
void dlpark__py_tensor_describe(PyObject *self, dlpark_view *view);

/* A Tensor of a part of another one's memory. ValueError (it begins inside a byte), MemoryError. */
PyObject *dlpark__py_tensor_part(PyObject *self, const dlpark_view *view);

/* The same at the end of an operation on the view: if that has failed, its exception. */
PyObject *dlpark__py_tensor_finish(PyObject *self, const dlpark_view *view, dlpark_status status,
                                   const dlpark_error *err);

/* A Tensor of memory that was made for it. Takes `made`, on failure too. */
PyObject *dlpark__py_tensor_made(PyObject *self, dlpark_tensor *made);

/* The same of memory elsewhere, that is ready whatever stream `self` came on. */
PyObject *dlpark__py_tensor_placed(PyObject *self, dlpark_tensor *made);

/* ---- tensor_index.c ---- */

PyObject *dlpark__py_tensor_subscript(PyObject *self, PyObject *key);
int dlpark__py_tensor_assign(PyObject *self, PyObject *key, PyObject *value);
PyObject *dlpark__py_tensor_at(PyObject *self, Py_ssize_t index);
PyObject *dlpark__py_tensor_iterate(PyObject *self);
int dlpark__py_tensor_contains(PyObject *self, PyObject *value);

/* ---- tensor_transform.c, tensor_reshape.c: attributes ---- */

PyObject *dlpark__py_tensor_get_transposed(PyObject *self, void *closure);
PyObject *dlpark__py_tensor_get_matrix_transposed(PyObject *self, void *closure);
PyObject *dlpark__py_tensor_get_real(PyObject *self, void *closure);
PyObject *dlpark__py_tensor_get_imag(PyObject *self, void *closure);

/* ---- tensor_value.c ---- */

/* A bool, int, float, complex or bytes. */
PyObject *dlpark__py_scalar_object(const dlpark_scalar *scalar);

int dlpark__py_tensor_bool(PyObject *self);
PyObject *dlpark__py_tensor_int(PyObject *self);
PyObject *dlpark__py_tensor_float(PyObject *self);
PyObject *dlpark__py_tensor_index(PyObject *self);
PyObject *dlpark__py_tensor_complex(PyObject *self, PyObject *ignored);
extern const char dlpark__py_tensor_complex_doc[];

/* ---- tensor_text.c ---- */

PyObject *dlpark__py_tensor_repr(PyObject *self);
PyObject *dlpark__py_tensor_str(PyObject *self);

#endif
