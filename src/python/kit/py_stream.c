/*
 * Streams as Python passes them: None, integers, objects with __cuda_stream__, other libraries' queues.
 */
#include "kit.h"

/* For a value that is no integer, or one that no integer of C takes. */
static int py_stream_refuse(DLDevice device, PyObject *stream, const char *allowed)
{
    dlpark_name name = dlpark_device_name(device);

    if (PyLong_Check(stream) || PyUnicode_CheckExact(stream)) {
        PyErr_Format(PyExc_ValueError, "stream=%R for a tensor on %s: expected %s", stream, name.text, allowed);
    } else {
        dlpark_name type = dlpark__py_type_name(stream);
        PyErr_Format(PyExc_ValueError, "stream=<%s object> for a tensor on %s: expected %s", type.text, name.text,
                     allowed);
    }
    return -1;
}

static int py_stream_decode(DLDevice device, long long number, dlpark_stream *out)
{
    dlpark_error err;

    if (dlpark_stream_decode(device, number, out, &err) == DLPARK_OK)
        return 0;
    dlpark_py_raise(&err);
    return -1;
}

/* What the table of numbers is about; every other device has streams, or none, by agreement. */
static bool py_stream_is_cuda(DLDevice device)
{
    return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged;
}

static bool py_stream_is_numbered(DLDevice device)
{
    return py_stream_is_cuda(device) || device.device_type == kDLROCM;
}

/* An integer. Takes `integer`. */
static int py_stream_read_integer(DLDevice device, PyObject *integer, dlpark_stream *out)
{
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
    int status = overflow != 0 ? py_stream_refuse(device, integer, "None, or an integer of a pointer's size")
                               : py_stream_decode(device, number, out);

    Py_DECREF(integer);
    return status;
}

/*
 * __cuda_stream__() of an object, the protocol of cuda.core: (0, address). An address of 0 is the default stream there,
 * which the array API standard calls 1 on CUDA. 1 when it is read; 0 where the object has no such method; -1.
 */
static int py_stream_read_object(DLDevice device, PyObject *object, dlpark_stream *out)
{
    dlpark__py_state *state = dlpark__py_state_get();
    PyObject *method = state != NULL ? PyObject_GetAttr(object, state->name_cuda_stream) : NULL;
    long long version;
    long long address;

    if (method == NULL) {
        if (state == NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    PyObject *pair = PyObject_CallNoArgs(method);
    dlpark__py_drop(method);
    if (pair == NULL)
        return -1;
    int status = dlpark__py_pair(pair, "what __cuda_stream__() returns", &version, &address);
    dlpark__py_drop(pair);
    if (status < 0)
        return -1;
    if (version != 0) {
        dlpark_name type = dlpark__py_type_name(object);
        PyErr_Format(PyExc_ValueError, "%s.__cuda_stream__() speaks version %lld of its protocol, and dlpark 0",
                     type.text, version);
        return -1;
    }
    return py_stream_decode(device, address == 0 && py_stream_is_cuda(device) ? 1 : address, out) < 0 ? -1 : 1;
}

int dlpark__py_stream_read(DLDevice device, PyObject *object, dlpark_stream *out)
{
    *out = (dlpark_stream){DLPARK_STREAM_UNSAID, NULL};
    if (object == NULL || object == Py_None)
        return 0;
    if (PyBool_Check(object))
        return py_stream_refuse(device, object, "None or an integer, not a bool");
    PyObject *integer = PyNumber_Index(object);
    if (integer != NULL)
        return py_stream_read_integer(device, integer, out);
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    if (!dlpark_device_has_streams(device))
        return py_stream_refuse(device, object, "None or -1, the host has no streams");
    if (!py_stream_is_numbered(device)) {
        *out = (dlpark_stream){DLPARK_STREAM_HANDLE, object};
        return 1;
    }
    int status = py_stream_read_object(device, object, out);
    if (status == 0)
        return py_stream_refuse(device, object, "None, an integer, or an object with __cuda_stream__");
    return status < 0 ? -1 : 0;
}

/* Writes what has been read of the consumer. */
static PyObject *py_stream_write_number(DLDevice device, dlpark_stream stream)
{
    dlpark_error err;
    int64_t number;

    if (dlpark_stream_encode(device, stream, &number, &err) != DLPARK_OK)
        return dlpark_py_raise(&err);
    return PyLong_FromLongLong(number);
}

PyObject *dlpark__py_stream_write(DLDevice device, PyObject *wanted, bool *failed)
{
    dlpark_stream stream;

    *failed = false;
    if (!dlpark_device_has_streams(device))
        return NULL;
    int status = dlpark__py_stream_read(device, wanted, &stream);
    if (status == 1)
        return Py_NewRef(wanted);
    if (status == 0 && stream.kind == DLPARK_STREAM_UNSAID)
        stream = dlpark__py_current_stream(device);
    if (status == 0 && stream.kind == DLPARK_STREAM_UNSAID) {
        if (!py_stream_is_numbered(device))
            return NULL;
        stream.kind = DLPARK_STREAM_DEFAULT; /* said aloud: for None some producers do not synchronise */
    }
    PyObject *number = status == 0 ? py_stream_write_number(device, stream) : NULL;
    *failed = number == NULL;
    return number;
}

void dlpark__py_origin_note(dlpark_py_origin *origin, dlpark_stream ready)
{
    origin->has_stream = ready.kind == DLPARK_STREAM_HANDLE;
    origin->stream = origin->has_stream ? ready.handle : NULL;
}
