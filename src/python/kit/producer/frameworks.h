/*
 * What the sources share that make objects of the frameworks: py_export.c, frameworks.c, framework_*.c, handoff.c.
 */
#ifndef DLPARK_PYTHON_FRAMEWORKS_H
#define DLPARK_PYTHON_FRAMEWORKS_H

#include "../kit.h"

/* ---- The ways of dlpark_py_export(): they take the tensor, on failure too, and it tells their exceptions again ---- */

PyObject *dlpark__py_to_dlpark(dlpark__py_state *state, dlpark_tensor *tensor);
PyObject *dlpark__py_to_memoryview(dlpark__py_state *state, dlpark_tensor *tensor);
PyObject *dlpark__py_to_numpy(dlpark__py_state *state, dlpark_tensor *tensor);
PyObject *dlpark__py_to_torch(dlpark__py_state *state, dlpark_tensor *tensor);
PyObject *dlpark__py_to_tensorflow(dlpark__py_state *state, dlpark_tensor *tensor);

/* By the framework's function that takes an object with `__dlpack__`: JAX, CuPy, MLX. */
PyObject *dlpark__py_to_consumer(dlpark__py_state *state, dlpark_tensor *tensor, dlpark_spec_framework framework);

/* By the function of an exchange table, which must have it. */
PyObject *dlpark__py_to_exchange(const DLPackExchangeAPI *table, dlpark_tensor *tensor);

/* ---- Their parts ---- */

/* A framework's function that takes tensors, imported if need be; borrowed. */
PyObject *dlpark__py_framework_function(dlpark__py_state *state, dlpark_spec_framework framework);

/* Calls it with a handoff of the tensor, which it takes, on failure too. */
PyObject *dlpark__py_framework_call(dlpark__py_state *state, dlpark_tensor *tensor, dlpark_spec_framework framework);

/*
 * Makes the header say what a framework understands: page-locked memory is the CPU's; and where nothing that is made can
 * be written (`is_immutable`), that the memory must not be written goes without saying. The header is one of our own
 * then. On failure the tensor is as it was.
 */
int dlpark__py_framework_relabel(dlpark_tensor *tensor, bool is_immutable);

/* Refuses extents whose product leaves 64 bits, as there may be up to an extent of 0: some end the process over it. */
int dlpark__py_framework_refuse_many(const DLTensor *tensor);

/* An object with `__dlpack__` and `__dlpack_device__` for a consumer that is called with it at once. Whoever exports a
 * tensor has ordered the work on it: what a consumer asks for as `stream` is not looked at. Takes the tensor on success. */
PyObject *dlpark__py_handoff_new(dlpark__py_state *state, dlpark_tensor *tensor);

#endif
