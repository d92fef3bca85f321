/*
 * A tensor from an object with Numba's __cuda_array_interface__, a dict, of versions 0 to 3.
 *
 * The dict has no device. What the object says elsewhere is believed: __dlpack_device__(), then `device`. Otherwise it
 * is CUDA's device 0, since without a driver nobody can be asked where an address lies; nor whether it is page-locked
 * memory.
 */
#include "interface_parts.h"

/* ---- The device ---- */

/* A device by its number. */
static int cuda_read_id(const dlpark__py_strided *strided, PyObject *number, DLDevice *out)
{
    int64_t id;

    if (dlpark__py_interface_integer(strided, "device", -1, number, &id) < 0)
        return -1;
    if (id < 0 || id > INT32_MAX)
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "device is %lld", (long long)id);
    *out = DLPARK_DEVICE(kDLCUDA, id);
    return 0;
}

/* Reads `device`, of which there are many kinds: an id; something whose text is "cuda:1", such as PyTorch's; something
 * with an `id`, such as CuPy's. *out is left alone where it says nothing. */
static int cuda_read_device(const dlpark__py_strided *strided, PyObject *device, DLDevice *out)
{
    PyObject *id = NULL;

    if (PyLong_Check(device))
        return cuda_read_id(strided, device, out);
    PyObject *text = PyObject_Str(device);
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool is_named = utf8 != NULL && dlpark_device_parse(utf8, out, NULL) == DLPARK_OK;
    dlpark__py_drop(text);
    if (utf8 == NULL)
        return -1;
    if (is_named)
        return 0;
    int status = dlpark__py_interface_attribute(device, "id", &id);
    if (status == 1)
        status = PyLong_Check(id) ? cuda_read_id(strided, id, out) : 0;
    dlpark__py_drop(id);
    return status;
}

/* Where the object says that it is; CUDA's device 0 where it does not say. */
static int cuda_find_device(dlpark__py_state *state, const dlpark__py_strided *strided, DLDevice *out)
{
    PyObject *device = NULL;
    int found = dlpark__py_producer_device(state, strided->object, out);

    if (found == 0) {
        *out = DLPARK_DEVICE(kDLCUDA, 0);
        found = dlpark__py_interface_attribute(strided->object, "device", &device);
        if (found == 1)
            found = cuda_read_device(strided, device, out);
        dlpark__py_drop(device);
    }
    if (found < 0)
        return -1;
    switch ((int)out->device_type) {
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLCUDAManaged:
    case kDLROCM:
    case kDLROCMHost:
        return 0;
    }
    dlpark_name name = dlpark_device_name(*out);
    return dlpark__py_interface_raise(strided, PyExc_BufferError, "the object says that it is on %s", name.text);
}

/* ---- The stream ---- */

static int cuda_order_failed(const dlpark__py_strided *strided)
{
    if (PyErr_Occurred() == NULL)
        dlpark__py_interface_raise(strided, PyExc_BufferError,
                                   "the consumer's stream could not be made to wait for the producer's");
    return -1;
}

/* Whose streams write the memory: page-locked memory has none of its own. */
static DLDevice cuda_stream_device(DLDevice device)
{
    bool is_rocm = device.device_type == kDLROCM || device.device_type == kDLROCMHost;

    return DLPARK_DEVICE(is_rocm ? kDLROCM : kDLCUDA, 0);
}

/* The producer's stream by its number. */
static int cuda_decode(const dlpark__py_strided *strided, int64_t number, dlpark_stream *out)
{
    dlpark_status status;
    dlpark_error err;

    if (number == -1)
        status = dlpark_error_set(&err, DLPARK_E_ARGUMENT, "stream is -1, which is none");
    else
        status = dlpark_stream_decode(cuda_stream_device(strided->device), number, out, &err);
    return status == DLPARK_OK ? 0 : dlpark__py_interface_refuse(strided, &err);
}

/* Sees to it that the consumer comes after what the producer still does on the stream `first`. */
static int cuda_order(const dlpark__py_strided *strided, dlpark_stream producer, const dlpark_py_options *options)
{
    DLDevice device = strided->device;
    void *first = dlpark_stream_native(cuda_stream_device(device), producer);
    bool is_host = dlpark__py_is_host(device);
    dlpark_stream consumer;

    if (options->on_producer_stream && !is_host)
        return 0;
    if (dlpark__py_stream_read(device, options->stream != NULL ? options->stream : Py_None, &consumer) < 0)
        return -1;
    if (consumer.kind == DLPARK_STREAM_NO_SYNC)
        return 0;
    if (consumer.kind == DLPARK_STREAM_UNSAID)
        consumer = dlpark__py_current_stream(device);
    if (consumer.kind == DLPARK_STREAM_UNSAID)
        consumer.kind = DLPARK_STREAM_DEFAULT;
    void *then = dlpark_stream_native(device, consumer);
    if (!is_host && first == then)
        return 0;
    dlpark_error err = {.message = "the host has no streams"};
    if (!is_host && options->order == NULL && dlpark__py_order_streams(device, producer, consumer, &err) == DLPARK_OK)
        return 0;
    if (is_host || options->order == NULL)
        return dlpark__py_interface_raise(
            strided, PyExc_BufferError,
            "the data is ready on the stream %p, and there is no means to make %s wait for "
            "that (%s); import it for that stream, or with -1 after waiting",
            first, is_host ? "the host" : "another one", err.message);
    return options->order(options->order_context, device, first, then) < 0 ? cuda_order_failed(strided) : 0;
}

/* Reads the stream on which the data will be ready; one that is unsaid where it is ready. */
static int cuda_read_stream(const dlpark__py_strided *strided, PyObject *dict, dlpark_stream *out)
{
    PyObject *value;
    int64_t number = 0;
    int found = dlpark__py_interface_item(dict, "stream", &value);

    *out = (dlpark_stream){DLPARK_STREAM_UNSAID, NULL};
    if (found == 1 && (dlpark__py_interface_integer(strided, "stream", -1, value, &number) < 0 ||
                       cuda_decode(strided, number, out) < 0))
        found = -1;
    dlpark__py_drop(value);
    return found < 0 ? -1 : 0;
}

/* ---- The import ---- */

static PyObject *cuda_read(dlpark__py_state *state, dlpark__py_strided *strided, PyObject *dict, dlpark_stream *ready)
{
    PyObject *data;

    if (dlpark__py_interface_read(strided, dict, 0) < 0 || dlpark__py_interface_need(strided, dict, "data", &data) < 0)
        return NULL;
    int status = dlpark__py_interface_read_data(strided, data);
    dlpark__py_drop(data);
    if (status < 0 || cuda_find_device(state, strided, &strided->device) < 0 ||
        cuda_read_stream(strided, dict, ready) < 0)
        return NULL;
    return PyTuple_Pack(2, strided->object, dict);
}

int dlpark__py_cuda_array_import(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                                 dlpark_tensor *tensor, dlpark_py_origin *origin)
{
    dlpark__py_strided strided = {.object = object, .attribute = ".__cuda_array_interface__"};
    dlpark_stream ready;
    bool is_copied;
    PyObject *dict;
    int found = dlpark__py_interface_attribute(object, "__cuda_array_interface__", &dict);

    if (found <= 0)
        return found;
    PyObject *owner = cuda_read(state, &strided, dict, &ready);
    dlpark__py_drop(dict);
    if (owner == NULL || dlpark__py_strided_take(&strided, owner, options, tensor, &is_copied) < 0)
        return -1;
    if (ready.kind != DLPARK_STREAM_UNSAID && cuda_order(&strided, ready, options) < 0) {
        dlpark__py_tensor_release(tensor);
        return -1;
    }
    origin->is_copied = is_copied;
    origin->has_stream = ready.kind != DLPARK_STREAM_UNSAID;
    if (origin->has_stream)
        origin->stream = dlpark_stream_native(cuda_stream_device(strided.device), ready);
    return 1;
}

int dlpark__py_cuda_array_device(dlpark__py_state *state, PyObject *object, DLDevice *out)
{
    dlpark__py_strided strided = {.object = object, .attribute = ".__cuda_array_interface__"};
    PyObject *dict;
    int found = dlpark__py_interface_attribute(object, "__cuda_array_interface__", &dict);

    if (found <= 0)
        return found;
    dlpark__py_drop(dict);
    return cuda_find_device(state, &strided, out) < 0 ? -1 : 1;
}
