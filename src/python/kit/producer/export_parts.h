/*
 * What the sources of the producer's side share: the answers to __dlpack__, the exchange tables, the array interfaces.
 * Grouped by the file that defines it.
 */
#ifndef DLPARK_PYTHON_EXPORT_PARTS_H
#define DLPARK_PYTHON_EXPORT_PARTS_H

#include "../kit.h"

/* ---- export_request.c ---- */

/* What a consumer asks of __dlpack__, and who is asked. */
typedef struct dlpark__py_export_request {
    bool has_device;
    DLDevice device;
    dlpark_py_copy copy;
    bool is_legacy;
    PyObject *stream;                                                      /* borrowed; NULL: the default one */
    PyObject *self;                                                        /* borrowed; NULL where `order` is */
    int (*order)(PyObject *self, DLDevice device, dlpark_stream consumer); /* of dlpark_py_exchange */
} dlpark__py_export_request;

/* Whether a call says nothing but which ABI, in the plainest form, as nearly all do; no exception. */
bool dlpark__py_export_is_plain(PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names, bool *is_legacy);

/* The capsule that answers such a call. */
PyObject *dlpark__py_export_plain(dlpark_tensor *tensor, bool is_legacy);

/* Reads the four keywords, except that what `stream` means depends on the tensor's device. */
int dlpark__py_export_request_read(PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names,
                                   dlpark__py_export_request *out);

/* The capsule that answers: of a share of the tensor, or a copy where that was asked. */
PyObject *dlpark__py_export_answer(dlpark_tensor *tensor, const dlpark__py_export_request *request);

/* The same of an owner that was made for this answer, and is taken, on failure too. */
PyObject *dlpark__py_export_answer_owned(dlpark_tensor *made, const dlpark__py_export_request *request);

/* The tuple of a device; shared between calls. */
PyObject *dlpark__py_device_tuple_of(DLDevice device);

/* ---- py_exchange_table.c ---- */

/* A table for a type with these functions, by its number; -1, without an exception, where all are in use. */
int dlpark__py_exchange_claim(dlpark__py_state *state, const dlpark_py_exchange *functions);

/* What has been set up for a number: the table, and the methods __dlpack__ and __dlpack_device__. */
const DLPackExchangeAPI *dlpark__py_exchange_table(int number);
PyMethodDef *dlpark__py_exchange_methods(int number);

/* The functions that a table leads to; NULL for a table that is none of this copy of the kit. */
const dlpark_py_exchange *dlpark__py_exchange_functions(const void *table, int *number);

/* ---- exchange_make.c ---- */

/* The allocator of every table: memory of the host, without Python. `set_error` may be NULL. */
int dlpark__py_exchange_allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_context,
                                 void (*set_error)(void *error_context, const char *kind, const char *message));

/* An object of the type that has the table of a number. Takes the tensor whatever comes of it; of another major version only
 * the deleter is used. */
int dlpark__py_exchange_make(const dlpark_py_exchange *functions, int number, DLManagedTensorVersioned *managed,
                             void **out);

/* ---- interface_export.c ---- */

/* The answers of `owner`'s attributes __array_interface__ and __cuda_array_interface__: a new dict; NULL with an
 * AttributeError where the tensor cannot be described so, that hasattr() tells the truth. `origin`, optional, says on which
 * stream the data is ready; without it, or where that does not say, on CUDA's legacy default one. */
PyObject *dlpark__py_array_interface_dict(const dlpark_tensor *tensor, PyObject *owner);
PyObject *dlpark__py_cuda_array_interface_dict(const dlpark_tensor *tensor, const dlpark_py_origin *origin,
                                               PyObject *owner);

#endif
