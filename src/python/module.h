/*
 * What the sources of the Python extensions share. Grouped by the file that defines it.
 *
 * Two extensions are made of them: dlpark._core (everything but image_module.c) and dlpark._image (image_module.c,
 * capsule.c, errors.c, keywords.c). They speak to each other in DLPack capsules only, so neither needs the other's
 * symbols. Functions that return -1 or NULL have set a Python exception, unless they return a dlpark_status.
 */
#ifndef DLPARK_PYTHON_MODULE_H
#define DLPARK_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include <dlpark/dlpark.h>

/* What _core keeps for each interpreter that imports it. */
typedef struct module_state {
    PyTypeObject *tensor_type;
    PyObject *device_copy_error; /* class DeviceCopyError(BufferError, ValueError) */
    PyObject *name_dlpack;       /* "__dlpack__", and so on: interned */
    PyObject *name_dlpack_device;
    PyObject *name_stream;
    PyObject *name_max_version;
    PyObject *name_dl_device;
    PyObject *name_copy;
    PyObject *abi_version;      /* (1, 3) */
    PyObject *only_max_version; /* ("max_version",): the keywords of the usual call */
} module_state;

/* The Python object. Immutable: what `tensor` holds is set when it is made and ends with it. */
typedef struct tensor_object {
    PyObject_HEAD PyObject *weak_references;
    dlpark_tensor tensor;
    bool is_copied;
} tensor_object;

/* The three answers to "copy": None, False, True. */
typedef enum copy_wish { COPY_IF_NEEDED, COPY_NEVER, COPY_ALWAYS } copy_wish;

/* What is asked of a tensor on its way in or out. */
typedef struct tensor_request {
    bool has_device;
    DLDevice device;
    copy_wish copy;
} tensor_request;

/* ---- errors.c ---- */

/* Sets the exception that stands for err->status, with its message. Returns NULL. */
PyObject *dlpark__py_raise(const dlpark_error *err);

/* The same; what the file system refused is raised as open() does, with errno and `filename`. */
PyObject *dlpark__py_raise_file(const dlpark_error *err, PyObject *filename);

/* Sets DeviceCopyError: the two devices, and that a copy was forbidden. Returns -1. */
int dlpark__py_raise_device_copy(module_state *state, DLDevice from, DLDevice to);

/* The pending exception, put aside while foreign code runs. */
typedef struct pending_error {
    PyObject *type;
    PyObject *value;
    PyObject *traceback;
} pending_error;
pending_error dlpark__py_error_save(void);
void dlpark__py_error_restore(pending_error *saved);
void dlpark__py_error_discard(pending_error *saved);

/* Whether the exception has passed through a frame of Python code. */
bool dlpark__py_error_has_frames(const pending_error *saved);

/* End a tensor, drop a reference: foreign code may run, and a pending exception survives it. Accept empty and NULL. */
void dlpark__py_tensor_release(dlpark_tensor *tensor);
void dlpark__py_drop(PyObject *object);

/* ---- keywords.c ---- */

/*
 * Reads the keyword-only arguments of a METH_FASTCALL | METH_KEYWORDS function. values[i] is set to the borrowed value
 * of names[i] when it is given, and left alone otherwise.
 */
int dlpark__py_keywords(const char *function, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names,
                        const char *const *names, PyObject **values, Py_ssize_t count);

/* A tuple of two integers, such as (1, 3). `what` is for the message of the TypeError. */
int dlpark__py_pair(PyObject *object, const char *what, long long *first, long long *second);

/* None, or anything with a truth value. */
int dlpark__py_copy_wish(PyObject *object, copy_wish *out);

/* A device as the tuple (type, id) of __dlpack_device__. */
int dlpark__py_device_pair(PyObject *object, const char *what, DLDevice *out);

/* A device as a name ("cpu", "cuda:1") or a tuple. */
int dlpark__py_device(PyObject *object, const char *what, DLDevice *out);

/* The name of an object's type, for messages. */
dlpark_name dlpark__py_type_name(PyObject *object);

/* ---- capsule.c ---- */

/* A capsule of the versioned ABI. Takes the tensor on success; on failure the caller still owns it. */
PyObject *dlpark__py_capsule_new(dlpark_tensor *tensor);

/* A capsule of the legacy ABI; refuses what that cannot say. Takes the tensor on success. */
PyObject *dlpark__py_capsule_new_legacy(dlpark_tensor *tensor);

/*
 * Consumes a capsule of either ABI, told by its name; of several threads that try, one succeeds.
 *
 * A capsule of another name, or whose tensor is refused, is left alone: its producer's destructor ends it. Only when
 * memory fails has it been consumed, and the deleter called, once. Sets no exception, so that the caller can drop the
 * capsule first.
 *
 * @param is_copied  out, optional. Whether the producer said that it made a copy for this exchange.
 */
dlpark_status dlpark__py_capsule_import(PyObject *capsule, dlpark_tensor *tensor, bool *is_copied, dlpark_error *err);

/* ---- export.c ---- */

/* Whether the host may read the memory now, without waiting for a device. */
bool dlpark__py_is_host(DLDevice device);

/* The end of a refusal: why memory that the host could reach does not count as the host's. "" for any other. */
const char *dlpark__py_host_hint(DLDevice device);

/*
 * Makes it unknown whether the tensor may be written, as of a tensor that comes by the legacy ABI: a versioned capsule
 * of it says READ_ONLY, a legacy one is possible all the same. For tensors without flags.
 */
dlpark_status dlpark__py_forget_write(dlpark_tensor *tensor, dlpark_error *err);

/* A compact copy in host memory; releases the GIL when it is large. */
int dlpark__py_copy(const dlpark_view *from, dlpark_tensor *out);

/* The object's tensor under a header of its own: shared, or copied where that was asked. */
int dlpark__py_export(module_state *state, tensor_object *self, const tensor_request *request, dlpark_tensor *out);

/* Tensor.__dlpack__ and Tensor.__dlpack_device__. */
PyObject *dlpark__py_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names);
PyObject *dlpark__py_dlpack_device(PyObject *self, PyObject *ignored);

/* ---- import.c ---- */

/* dlpark.from_dlpack(). */
PyObject *dlpark__py_from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names);

/* ---- buffer_protocol.c ---- */

/* The format of the struct module for a dtype, or NULL. */
const char *dlpark__py_buffer_format(DLDataType dtype);

int dlpark__py_buffer_get(PyObject *self, Py_buffer *buffer, int flags);
void dlpark__py_buffer_release(PyObject *self, Py_buffer *buffer);

/* Tensor.__array__. */
PyObject *dlpark__py_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names);

/* ---- tensor_object.c ---- */

/* Makes the type Tensor; a new reference. */
PyTypeObject *dlpark__py_tensor_type_new(PyObject *module);

/* A Tensor of `tensor`, which it takes on success. */
PyObject *dlpark__py_tensor_object_new(module_state *state, dlpark_tensor *tensor, bool is_copied);

/* The state behind a Tensor. Cannot fail: the type is made by the module and has no subclasses. */
module_state *dlpark__py_state_of(PyObject *tensor);

#endif
