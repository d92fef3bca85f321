/*
 * The current streams of a thread: what dlpark.stream() sets. Each thread has its own, as in the libraries that have
 * streams.
 */
#include "devices.h"

/* Devices whose stream one thread sets at a time. */
#define STREAM_DEVICES 16

static _Thread_local struct {
    DLDevice device;
    dlpark_stream stream;
} stream_current[STREAM_DEVICES];

static _Thread_local int stream_count;

/* Where managed memory is worked on. */
static DLDevice stream_device(DLDevice device)
{
    if (device.device_type == kDLCUDAManaged)
        device.device_type = kDLCUDA;
    return device;
}

static int stream_find(DLDevice device)
{
    int at = 0;

    while (at < stream_count && !dlpark_device_equal(stream_current[at].device, device))
        at++;
    return at;
}

dlpark_stream dlpark__py_device_stream(DLDevice device)
{
    int at = stream_find(stream_device(device));

    return at < stream_count ? stream_current[at].stream : (dlpark_stream){DLPARK_STREAM_UNSAID, NULL};
}

static int stream_put(DLDevice device, dlpark_stream stream)
{
    int at = stream_find(device);

    if (stream.kind == DLPARK_STREAM_UNSAID) {
        if (at < stream_count)
            stream_current[at] = stream_current[--stream_count];
        return 0;
    }
    if (at == STREAM_DEVICES) {
        PyErr_Format(PyExc_RuntimeError, "a thread has current streams of at most %d devices", STREAM_DEVICES);
        return -1;
    }
    stream_current[at].device = device;
    stream_current[at].stream = stream;
    stream_count += at == stream_count;
    return 0;
}

/* None for one that is unsaid. */
static PyObject *stream_object(DLDevice device, dlpark_stream stream)
{
    int64_t number;
    dlpark_error err;

    if (stream.kind == DLPARK_STREAM_UNSAID)
        Py_RETURN_NONE;
    if (dlpark_stream_encode(device, stream, &number, &err) != DLPARK_OK)
        return dlpark_py_raise(&err);
    return PyLong_FromLongLong(number);
}

/* The two arguments of both functions. */
static int stream_read(const char *function, PyObject *const *args, Py_ssize_t nargs, DLDevice *device,
                       dlpark_stream *stream)
{
    if (nargs != 2) {
        PyErr_Format(PyExc_TypeError, "%s() takes 2 arguments (%zd given)", function, nargs);
        return -1;
    }
    if (dlpark__py_device(args[0], "device", device) < 0)
        return -1;
    *device = stream_device(*device);
    if (!dlpark__py_device_has_driver(*device) || !dlpark_device_has_streams(*device)) {
        PyErr_Format(PyExc_ValueError, "device is %s, and streams are set of CUDA's and ROCm's devices",
                     dlpark_device_name(*device).text);
        return -1;
    }
    if (dlpark__py_stream_read(*device, args[1], stream) < 0)
        return -1;
    if (stream->kind != DLPARK_STREAM_NO_SYNC)
        return 0;
    PyErr_Format(PyExc_ValueError, "stream=-1 is no stream to work on");
    return -1;
}

const char dlpark__py_stream_number_doc[] =
    "_stream_number(device, stream, /)\n--\n\n"
    "A stream on which to work, as an int; None: none is said.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    It means nothing on the device, or the device has no streams that can be set.";

PyObject *dlpark__py_stream_number(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    DLDevice device;
    dlpark_stream stream;

    (void)module;
    if (stream_read("_stream_number", args, nargs, &device, &stream) < 0)
        return NULL;
    return stream_object(device, stream);
}

const char dlpark__py_stream_set_doc[] = "_stream_set(device, stream, /)\n--\n\n"
                                         "Make a stream this thread's current one of a device; None: there is none.\n\n"
                                         "Returns\n"
                                         "-------\n"
                                         "int or None\n"
                                         "    The one before.";

PyObject *dlpark__py_stream_set(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    DLDevice device;
    dlpark_stream stream;

    (void)module;
    if (stream_read("_stream_set", args, nargs, &device, &stream) < 0)
        return NULL;
    PyObject *before = stream_object(device, dlpark__py_device_stream(device));
    if (before != NULL && stream_put(device, stream) < 0)
        Py_CLEAR(before);
    return before;
}
