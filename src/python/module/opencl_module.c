/*
 * The extension module dlpark._opencl: buffers of OpenCL as DLPack capsules, by their handles. python/dlpark/opencl.py is its only
 * caller: here every argument is given, by position.
 */
#include "kit.h"

#include <pthread.h>

#include <dlpark/opencl.h>

static pthread_mutex_t opencls_lock = PTHREAD_MUTEX_INITIALIZER;
static dlpark_opencl opencls_found = DLPARK_OPENCL_EMPTY; /* under the lock; then as long as the process */

/* The loader, found when it is first needed; NULL with an exception. Nothing of Python is called under the lock. */
static const dlpark_opencl *opencls_open(void)
{
    dlpark_status status = DLPARK_OK;
    dlpark_error err;

    (void)pthread_mutex_lock(&opencls_lock);
    if (opencls_found.loader == NULL)
        status = dlpark_opencl_open(&opencls_found, NULL, &err);
    (void)pthread_mutex_unlock(&opencls_lock);
    if (status == DLPARK_OK)
        return &opencls_found;
    PyErr_Format(PyExc_RuntimeError, "there is no OpenCL to use: %s", err.message);
    return NULL;
}

/* Integers of a tuple; how many, or -1 with an exception. `what` is for the message. */
static int opencls_integers(PyObject *tuple, const char *what, int64_t *out)
{
    const Py_ssize_t count = PyTuple_Size(tuple);

    if (count > DLPARK_MAX_NDIM)
        PyErr_Format(PyExc_ValueError, "%s has %zd entries, expected at most %d", what, count, DLPARK_MAX_NDIM);
    if (count < 0 || count > DLPARK_MAX_NDIM)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (out[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return (int)count;
}

/* A capsule that takes the tensor, also where there is none. */
static PyObject *opencls_capsule(dlpark_tensor *tensor)
{
    PyObject *capsule = dlpark_py_capsule_new(tensor);

    dlpark__py_tensor_release(tensor);
    return capsule;
}

/* ---- Into dlpark ---- */

/* Shape and strides, whose number has to be the same where there are any. */
static int opencls_layout(PyObject *shape_tuple, PyObject *strides_tuple, int64_t *shape, int64_t *strides,
                          dlpark_tensor_desc *desc)
{
    const int ndim = opencls_integers(shape_tuple, "shape", shape);

    if (ndim < 0)
        return -1;
    desc->ndim = ndim;
    desc->shape = DLPARK_DIMS((const int64_t *)shape);
    if (strides_tuple == Py_None)
        return 0;
    const int count = opencls_integers(strides_tuple, "strides", strides);
    if (count < 0)
        return -1;
    if (count != ndim) {
        PyErr_Format(PyExc_ValueError, "strides has %d entries, and shape %d", count, ndim);
        return -1;
    }
    desc->strides = DLPARK_DIMS((const int64_t *)strides);
    return 0;
}

PyDoc_STRVAR(opencls_share_doc, "share(handle, dtype, shape, strides, byte_offset, readonly, /)\n--\n\n"
                                "A DLPack capsule of a cl_mem, to which it adds a reference.");

static PyObject *opencls_share(PyObject *module, PyObject *args)
{
    const dlpark_opencl *opencl = opencls_open();
    int64_t shape[DLPARK_MAX_NDIM], strides[DLPARK_MAX_NDIM];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_tensor_desc desc = {.ndim = 0};
    PyObject *handle, *shape_tuple, *strides_tuple, *byte_offset;
    const char *dtype;
    int readonly;
    dlpark_error err;

    (void)module;
    if (opencl == NULL || !PyArg_ParseTuple(args, "O!sO!OO!p:share", &PyLong_Type, &handle, &dtype, &PyTuple_Type,
                                            &shape_tuple, &strides_tuple, &PyLong_Type, &byte_offset, &readonly))
        return NULL;
    void *mem = PyLong_AsVoidPtr(handle);
    if (mem == NULL && PyErr_Occurred())
        return NULL;
    if (opencls_layout(shape_tuple, strides_tuple, shape, strides, &desc) < 0)
        return NULL;
    desc.byte_offset = PyLong_AsUnsignedLongLong(byte_offset);
    if (desc.byte_offset == UINT64_MAX && PyErr_Occurred())
        return NULL;
    desc.flags = readonly ? DLPARK_TENSOR_READ_ONLY : 0;
    dlpark_status status = dlpark_dtype_parse(dtype, &desc.dtype, &err);
    if (status == DLPARK_OK)
        status = dlpark_opencl_share(opencl, &tensor, mem, &desc, NULL, &err);
    return status == DLPARK_OK ? opencls_capsule(&tensor) : dlpark_py_raise(&err);
}

/* ---- Out of dlpark ---- */

/* The tensor of a capsule, which is used then. */
static int opencls_take(PyObject *capsule, dlpark_tensor *tensor)
{
    dlpark_error err;

    if (dlpark__py_capsule_import(capsule, tensor, NULL, &err) == DLPARK_OK)
        return 0;
    (void)dlpark_py_raise(&err);
    return -1;
}

PyDoc_STRVAR(opencls_borrow_doc,
             "borrow(capsule, /)\n--\n\n"
             "(cl_mem, byte offset) of what is in a DLPack capsule; valid while somebody else holds the tensor.");

static PyObject *opencls_borrow(PyObject *module, PyObject *capsule)
{
    const dlpark_opencl *opencl = opencls_open();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_view view;
    dlpark_error err;

    (void)module;
    if (opencl == NULL || opencls_take(capsule, &tensor) < 0)
        return NULL;
    dlpark_tensor_view(&tensor, &view);
    void *mem = dlpark_opencl_borrow(opencl, &view, &err);
    dlpark__py_tensor_release(&tensor);
    return mem != NULL ? Py_BuildValue("(NK)", PyLong_FromVoidPtr(mem), (unsigned long long)view.byte_offset)
                       : dlpark_py_raise(&err);
}

PyDoc_STRVAR(opencls_map_doc, "map(capsule, queue, access, /)\n--\n\n"
                              "A DLPack capsule of the same elements in memory of the host, unmapped when it ends.");

static PyObject *opencls_map(PyObject *module, PyObject *args)
{
    const dlpark_opencl *opencl = opencls_open();
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, mapped = DLPARK_TENSOR_EMPTY;
    PyObject *capsule, *handle;
    unsigned int access;
    dlpark_error err;

    (void)module;
    if (opencl == NULL || !PyArg_ParseTuple(args, "OO!I:map", &capsule, &PyLong_Type, &handle, &access))
        return NULL;
    void *queue = PyLong_AsVoidPtr(handle);
    if ((queue == NULL && PyErr_Occurred()) || opencls_take(capsule, &tensor) < 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread(); /* it waits for the queue */
    dlpark_status status = dlpark_opencl_map(opencl, &mapped, &tensor, NULL, queue, access, NULL, &err);
    PyEval_RestoreThread(thread);
    dlpark__py_tensor_release(&tensor);
    return status == DLPARK_OK ? opencls_capsule(&mapped) : dlpark_py_raise(&err);
}

/* ---- The module ---- */

static PyMethodDef opencls_functions[] = {
    {"share", opencls_share, METH_VARARGS, opencls_share_doc},
    {"borrow", opencls_borrow, METH_O, opencls_borrow_doc},
    {"map", opencls_map, METH_VARARGS, opencls_map_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot opencls_slots[] = {
#if defined(Py_mod_multiple_interpreters)
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef opencls_definition = {
    PyModuleDef_HEAD_INIT,           .m_name = "dlpark._opencl",     .m_doc = "Buffers of OpenCL for dlpark.",
    .m_size = sizeof(dlpark_opencl), .m_methods = opencls_functions, .m_slots = opencls_slots,
};

PyMODINIT_FUNC PyInit__opencl(void);
PyMODINIT_FUNC PyInit__opencl(void)
{
    return PyModuleDef_Init(&opencls_definition);
}
