/*
 * What the sources of imports share among themselves. Grouped by the file that defines it.
 */
#ifndef DLPARK_PYTHON_IMPORT_PARTS_H
#define DLPARK_PYTHON_IMPORT_PARTS_H

#include "../numpy_arrays.h"

/* ---- exchange_find.c ---- */

/* Looks for a type's exchange table: 1, and the table; 0 where there is none; -1, without an exception, when it could not
 * be looked for. *overridden: a subclass of the class that has it has a __dlpack__ of its own. *is_heir: the type is a
 * subclass of the class that has it. What memory failed for is in state->starved. */
int dlpark__py_exchange_find(dlpark__py_state *state, PyTypeObject *type, const DLPackExchangeAPI **out,
                             bool *overridden, bool *is_heir);

/* ---- import_fit.c ---- */

/* Whether the pending exception is what a producer raises that is on another device than was asked for, and cannot or will
 * not come to that. The exception stays. */
bool dlpark__py_was_elsewhere(dlpark__py_state *state, PyObject *object, const dlpark_py_options *wanted);

/* Sees to it that an imported tensor is what was asked for: device, copy, layout, whether it may be written. Replaces the
 * tensor by a copy, and says so in `origin`, where it has to and may. On failure the tensor is the caller's. */
int dlpark__py_import_fit(dlpark_tensor *tensor, const dlpark_py_options *options, dlpark_py_origin *origin);

/* For an output that holds a tensor already, before anything is asked of the object. Returns -1. */
int dlpark__py_refuse_output(void);

/* Makes the tensor an owner that keeps the array whose fields the view has: 1; -1. */
int dlpark__py_keep_array(PyObject *array, const dlpark_view *view, dlpark_tensor *tensor);

/* 0 if every option has a meaning; -1. They are a caller's memory, which may not have been set. */
int dlpark__py_check_options(const dlpark_py_options *options);

/* 0 if no element of a masked NumPy array is masked; -1. Foreign code may run. */
int dlpark__py_check_mask(PyObject *object);

/* 0 if the memory may be written; -1. */
int dlpark__py_check_write(const dlpark_view *view);

/* Whether a tensor on a device serves a consumer that asked for another, or for none. */
bool dlpark__py_serves_device(DLDevice device, const dlpark_py_options *options);

/* ---- own_take.c ---- */

/* What a dlpark.Tensor holds: of an object whose type's route is OWN. */
dlpark_tensor *dlpark__py_own_tensor(const dlpark__py_state *state, PyObject *object);

/* Whether a dlpark.Tensor serves as it is, on the device that was asked for and ready for the consumer: 1, and its stream in
 * `origin`; 0 where its __dlpack__ has to see to that; -1. */
int dlpark__py_own_is_ready(const dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                            dlpark_py_origin *origin);

/* ---- exchange_take.c ---- */

/* A tensor by its type's exchange table. 1; 0 where `__dlpack__` has to be asked, with *reason: why, and with the table's
 * own exception pending if there was one; -1. */
int dlpark__py_exchange_import(dlpark__py_state *state, PyObject *object, const dlpark__py_type *entry,
                               const dlpark_py_options *options, dlpark_tensor *tensor, dlpark_py_origin *origin,
                               const char **reason);

/* The same, lent where the table can: then *managed is NULL. */
int dlpark__py_exchange_lend(dlpark__py_state *state, PyObject *object, const dlpark__py_type *entry,
                             const dlpark_py_options *options, dlpark_view *view, DLManagedTensorVersioned **managed);

/* Makes the consumer's stream wait for the producer's, by options->order, else by the driver. 1, and the consumer's stream,
 * one that is unsaid where no order was wanted; 0 where it cannot; -1. */
int dlpark__py_order(DLDevice device, void *producer, const dlpark_py_options *options, dlpark_stream *consumer);

/* Where an object is, by its table; as dlpark__py_exchange_lend(). What it had to be asked for is in *managed. */
int dlpark__py_exchange_device(PyObject *object, const dlpark__py_type *entry, const dlpark_py_options *options,
                               DLDevice *out, DLManagedTensorVersioned **managed);

#endif
