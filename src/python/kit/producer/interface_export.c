/*
 * A tensor as the dicts that NumPy's __array_interface__ and Numba's __cuda_array_interface__ are.
 */
#include "export_parts.h"

/* The newest version of both. */
#define DICT_VERSION 3

/* The number of CUDA's legacy default stream. */
#define DICT_STREAM_LEGACY 1

static PyObject *dict_refuse(PyObject *owner, const char *attribute, const char *reason, const char *what)
{
    dlpark_name type = dlpark__py_type_name(owner);

    return PyErr_Format(PyExc_AttributeError, "%s has no %s: %s %s", type.text, attribute, reason, what);
}

/* A tuple of extents, or of strides in bytes. A stride that means nothing is replaced: times the item size it may
 * overflow, and consumers take it for a number. */
static PyObject *dict_integers(const dlpark_view *view, bool is_strides, int64_t item_nbytes)
{
    PyObject *tuple = PyTuple_New(view->ndim);

    for (int32_t i = 0; tuple != NULL && i < view->ndim; i++) {
        int64_t stride = view->shape[i] == 1 ? item_nbytes : view->strides[i] * item_nbytes;
        PyObject *value = PyLong_FromLongLong(is_strides ? stride : view->shape[i]);
        if (value == NULL || PyTuple_SetItem(tuple, i, value) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* None for compact row-major. */
static PyObject *dict_strides(const dlpark_view *view)
{
    if (dlpark_view_is_compact(view))
        return Py_NewRef(Py_None);
    return dict_integers(view, true, dlpark_dtype_nbits(view->dtype) / 8);
}

/* Takes the value. */
static int dict_add(PyObject *dict, const char *key, PyObject *value)
{
    int status = value != NULL ? PyDict_SetItemString(dict, key, value) : -1;

    Py_XDECREF(value);
    return status;
}

static PyObject *dict_make(const dlpark_view *view, const char *typestr)
{
    bool is_read_only = (view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0;
    PyObject *dict = PyDict_New();

    if (dict != NULL &&
        (dict_add(dict, "shape", dict_integers(view, false, 0)) < 0 ||
         dict_add(dict, "typestr", PyUnicode_FromString(typestr)) < 0 ||
         dict_add(dict, "data",
                  Py_BuildValue("(NO)", PyLong_FromVoidPtr(view->data), is_read_only ? Py_True : Py_False)) < 0 ||
         dict_add(dict, "strides", dict_strides(view)) < 0 ||
         dict_add(dict, "version", PyLong_FromLong(DICT_VERSION)) < 0))
        Py_CLEAR(dict);
    return dict;
}

PyObject *dlpark__py_array_interface_dict(const dlpark_tensor *tensor, PyObject *owner)
{
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    const char *typestr = dlpark__py_typestr_of(view.dtype);
    if (!dlpark__py_is_host(view.device))
        return dict_refuse(owner, "__array_interface__", "the host cannot read memory on",
                           dlpark_device_name(view.device).text);
    if (typestr == NULL)
        return dict_refuse(owner, "__array_interface__", "NumPy has no dtype for",
                           dlpark_dtype_long_name(view.dtype).text);
    return dict_make(&view, typestr);
}

PyObject *dlpark__py_cuda_array_interface_dict(const dlpark_tensor *tensor, const dlpark_py_origin *origin,
                                               PyObject *owner)
{
    dlpark_view view;
    PyObject *stream;

    dlpark_tensor_view(tensor, &view);
    const char *typestr = dlpark__py_typestr_of(view.dtype);
    if (view.device.device_type != kDLCUDA && view.device.device_type != kDLCUDAManaged)
        return dict_refuse(owner, "__cuda_array_interface__", "the memory is on", dlpark_device_name(view.device).text);
    if (typestr == NULL)
        return dict_refuse(owner, "__cuda_array_interface__", "it has no dtype for",
                           dlpark_dtype_long_name(view.dtype).text);
    if (origin != NULL && origin->has_stream && origin->stream != NULL)
        stream = PyLong_FromVoidPtr(origin->stream);
    else
        stream = PyLong_FromLong(DICT_STREAM_LEGACY);
    PyObject *dict = stream != NULL ? dict_make(&view, typestr) : NULL;
    if (dict != NULL && dict_add(dict, "stream", Py_NewRef(stream)) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(stream);
    return dict;
}
