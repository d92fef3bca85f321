/*
 * What the tests of stream.h and py_stream.c reach.
 */
#include "probe.h"

/* stream_read(device, stream): (kind, handle), or None for another library's queue, which must be handed on as it is. */
static PyObject *probe_stream_read(PyObject *module, PyObject *args)
{
    PyObject *device_object;
    PyObject *object;
    DLDevice device;
    dlpark_stream stream = {DLPARK_STREAM_PIN_32, NULL};

    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &device_object, &object) ||
        dlpark__py_device(device_object, "device", &device) < 0)
        return NULL;
    int status = dlpark__py_stream_read(device, object, &stream);
    if (status < 0)
        return NULL;
    if (status == 1 && (stream.kind != DLPARK_STREAM_HANDLE || stream.handle != object))
        return PyErr_Format(PyExc_SystemError, "a queue came out as another one");
    return status == 1 ? Py_NewRef(Py_None)
                       : Py_BuildValue("(iK)", (int)stream.kind, (unsigned long long)(uintptr_t)stream.handle);
}

/* stream_write(device[, wanted]): what is passed on, or () where the keyword is left out. */
static PyObject *probe_stream_write(PyObject *module, PyObject *args)
{
    PyObject *device_object;
    PyObject *wanted = NULL;
    DLDevice device;
    bool failed = true;

    (void)module;
    if (!PyArg_ParseTuple(args, "O|O", &device_object, &wanted) ||
        dlpark__py_device(device_object, "device", &device) < 0)
        return NULL;
    PyObject *value = dlpark__py_stream_write(device, wanted, &failed);
    if (failed != (PyErr_Occurred() != NULL) || (failed && value != NULL))
        return PyErr_Format(PyExc_SystemError, "failed is %d", (int)failed);
    return value != NULL || failed ? value : PyTuple_New(0);
}

static PyObject *probe_has_streams(PyObject *module, PyObject *device_object)
{
    DLDevice device;

    (void)module;
    if (dlpark__py_device(device_object, "device", &device) < 0)
        return NULL;
    return PyBool_FromLong(dlpark_device_has_streams(device));
}

PyMethodDef probe_stream_functions[] = {
    {"stream_read", probe_stream_read, METH_VARARGS, NULL},
    {"stream_write", probe_stream_write, METH_VARARGS, NULL},
    {"has_streams", probe_has_streams, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
