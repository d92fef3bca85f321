/*
 * What the sources of the module dlpark._core share. Grouped by the file that defines it.
 *
 * The module is a user of the extension kit, as any other; beyond that it has the type Tensor. dlpark._image
 * (image_module.c) speaks to it in DLPack capsules only. Functions that return -1 or NULL have set a Python exception,
 * unless they return a dlpark_status.
 */
#ifndef DLPARK_PYTHON_MODULE_H
#define DLPARK_PYTHON_MODULE_H

#include "kit.h"

/* What _core keeps for each time that it is executed. */
typedef struct module_state {
    PyTypeObject *tensor_type;
    PyObject *device_copy_error; /* class DeviceCopyError(BufferError, ValueError) */
    dlpark__py_shared shared;    /* what the module gives out of these */
} module_state;

/* The Python object. Immutable: what `tensor` holds is set when it is made and ends with it. */
typedef struct tensor_object {
    PyObject_HEAD PyObject *weak_references;
    dlpark_tensor
        tensor; /* shared with whatever was made of it, so it may come to be another header of the same memory */
    dlpark_py_origin origin;
} tensor_object;

/* ---- tensor_object.c ---- */

/* Makes the type Tensor; a new reference. */
PyTypeObject *dlpark__py_tensor_type_new(PyObject *module);

/* A Tensor of `tensor`, which it takes on success. */
PyObject *dlpark__py_tensor_object_new(PyTypeObject *type, dlpark_tensor *tensor, const dlpark_py_origin *origin);

/* ---- tensor_text.c ---- */

/* The description of a Tensor alone, on one line, for messages. */
PyObject *dlpark__py_tensor_head(PyObject *self);

/* ---- tensor_protocol.c ---- */

/* What the type gets by dlpark_py_install_exchange(), as any type would. */
extern const dlpark_py_exchange dlpark__py_tensor_exchange;

/* The attributes __array_interface__ and __cuda_array_interface__. */
PyObject *dlpark__py_tensor_get_array_interface(PyObject *self, void *closure);
PyObject *dlpark__py_tensor_get_cuda_array_interface(PyObject *self, void *closure);

/* Tensor.__arrow_c_array__. */
PyObject *dlpark__py_tensor_arrow(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names);

extern const char dlpark__py_tensor_array_doc[];
extern const char dlpark__py_tensor_arrow_doc[];

/* METH_FASTCALL functions have another type than PyMethodDef's; the flags say so. The detour by void (*)(void) tells
 * the compiler that this is meant. */
#define DLPARK__PY_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* The methods by which a Tensor is given out, for the table of the type. */
#define DLPARK__PY_TENSOR_PROTOCOL_METHODS                                                                             \
    {"__array__", DLPARK__PY_METHOD(dlpark__py_array), METH_FASTCALL | METH_KEYWORDS, dlpark__py_tensor_array_doc},    \
        {"__arrow_c_array__", DLPARK__PY_METHOD(dlpark__py_tensor_arrow), METH_FASTCALL | METH_KEYWORDS,               \
         dlpark__py_tensor_arrow_doc},                                                                                 \
        {"__reduce_ex__", dlpark__py_tensor_reduce, METH_O, dlpark__py_tensor_reduce_doc},                             \
        {"__copy__", dlpark__py_tensor_copy_handle, METH_NOARGS, dlpark__py_tensor_copy_handle_doc},                   \
    {                                                                                                                  \
        "__deepcopy__", dlpark__py_tensor_deepcopy, METH_O, dlpark__py_tensor_deepcopy_doc                             \
    }

/* The same for its attributes. */
#define DLPARK__PY_TENSOR_PROTOCOL_ATTRIBUTES                                                                          \
    {"__array_interface__", dlpark__py_tensor_get_array_interface, NULL,                                               \
     "The memory of the host as NumPy's array interface, version 3, has it: a dict.", NULL},                           \
    {                                                                                                                  \
        "__cuda_array_interface__", dlpark__py_tensor_get_cuda_array_interface, NULL,                                  \
            "The memory of a CUDA device as the CUDA array interface, version 3, has it: a dict.", NULL                \
    }

/* ---- tensor_pickle.c ---- */

PyObject *dlpark__py_tensor_reduce(PyObject *self, PyObject *protocol);
PyObject *dlpark__py_tensor_copy_handle(PyObject *self, PyObject *ignored);
PyObject *dlpark__py_tensor_deepcopy(PyObject *self, PyObject *memo);

/* _from_buffer(buffer, dtype, shape, readonly, padded): what pickles of Tensors call. */
PyObject *dlpark__py_from_buffer(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

extern const char dlpark__py_tensor_reduce_doc[];
extern const char dlpark__py_tensor_copy_handle_doc[];
extern const char dlpark__py_tensor_deepcopy_doc[];
extern const char dlpark__py_from_buffer_doc[];

/* ---- buffer_export.c ---- */

int dlpark__py_buffer_get(PyObject *self, Py_buffer *buffer, int flags);
void dlpark__py_buffer_release(PyObject *self, Py_buffer *buffer);

/* Tensor.__array__. */
PyObject *dlpark__py_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names);

/* ---- tensor_check.c ---- */

/* _check_rules(): every rule that tensors are judged by, (name, severity, field, limit, text). */
PyObject *dlpark__py_check_rules(PyObject *module, PyObject *ignored);

/* _check_capsule(capsule, consume): what is wrong with the tensor in a capsule. None where it is no capsule. */
PyObject *dlpark__py_check_capsule(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

extern const char dlpark__py_check_rules_doc[];
extern const char dlpark__py_check_capsule_doc[];

/* ---- from_dlpack.c ---- */

/* dlpark.from_dlpack(). */
PyObject *dlpark__py_from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names);

#endif
