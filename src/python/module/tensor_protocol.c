/*
 * How a Tensor is given out: by DLPack, by the array interfaces, by NumPy's method.
 */
#include "devices.h"
#include "module.h"
#include "producer/export_parts.h"

/* ---- DLPack ---- */

static dlpark_tensor *protocol_tensor(PyObject *self)
{
    return &((tensor_object *)self)->tensor;
}

static int protocol_current_stream(DLDevice device, void **out)
{
    dlpark_stream stream = dlpark__py_device_stream(device);

    *out = stream.kind == DLPARK_STREAM_UNSAID ? NULL : dlpark_stream_native(device, stream);
    return 0;
}

static DLPARK_COLD int protocol_refuse_order(DLDevice device, dlpark_stream consumer, const dlpark_error *err)
{
    int64_t number = 0;

    if (dlpark_stream_encode(device, consumer, &number, NULL) != DLPARK_OK)
        number = 0; /* one that has no number came by no number */
    PyErr_Format(err->status == DLPARK_E_MEMORY ? PyExc_MemoryError : PyExc_BufferError,
                 "stream=%lld for a tensor on %s: the data cannot be made ready there: %s", (long long)number,
                 dlpark_device_name(device).text, err->message);
    return -1;
}

static bool protocol_is_same(dlpark_stream one, dlpark_stream other)
{
    return one.kind == other.kind && one.handle == other.handle;
}

/* Unless it is known on what stream the data is ready, it was imported for the default one. What this thread has done with
 * the Tensor since may be on its current stream. */
static int protocol_order(PyObject *self, DLDevice device, dlpark_stream consumer)
{
    const dlpark_py_origin *origin = &((tensor_object *)self)->origin;
    dlpark_stream producer = dlpark__py_stream_of_native(device, origin->has_stream ? origin->stream : NULL);
    dlpark_stream current = dlpark__py_device_stream(device);
    dlpark_status status = DLPARK_OK;
    dlpark_error err;

    if (!protocol_is_same(producer, consumer))
        status = dlpark__py_device_order(device, producer, consumer, &err);
    if (status == DLPARK_OK && current.kind != DLPARK_STREAM_UNSAID && !protocol_is_same(current, consumer) &&
        !protocol_is_same(current, producer))
        status = dlpark__py_device_order(device, current, consumer, &err);
    return status == DLPARK_OK ? 0 : protocol_refuse_order(device, consumer, &err);
}

int dlpark__py_tensor_make_ready(PyObject *self)
{
    DLDevice device = ((tensor_object *)self)->tensor.managed->dl_tensor.device;
    dlpark_stream current = dlpark__py_device_stream(device);

    return current.kind == DLPARK_STREAM_UNSAID ? 0 : protocol_order(self, device, current);
}

const dlpark_py_exchange dlpark__py_tensor_exchange = {
    .tensor = protocol_tensor, .current_stream = protocol_current_stream, .order = protocol_order};

/* ---- Array interfaces ---- */

PyObject *dlpark__py_tensor_get_array_interface(PyObject *self, void *closure)
{
    (void)closure;
    return dlpark__py_array_interface_dict(&((tensor_object *)self)->tensor, self);
}

PyObject *dlpark__py_tensor_get_cuda_array_interface(PyObject *self, void *closure)
{
    tensor_object *held = (tensor_object *)self;
    dlpark_py_origin origin = held->origin;
    dlpark_stream current = dlpark__py_device_stream(held->tensor.managed->dl_tensor.device);

    (void)closure;
    if (dlpark__py_tensor_make_ready(self) < 0)
        return NULL;
    if (current.kind != DLPARK_STREAM_UNSAID)
        dlpark__py_origin_note(&origin, current);
    return dlpark__py_cuda_array_interface_dict(&held->tensor, &origin, self);
}

/* ---- Arrow ---- */

/* The adapter is an extension of its own, which few need. */
PyObject *dlpark__py_tensor_arrow(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"requested_schema"};
    PyObject *values[] = {Py_None};

    if (nargs > 1)
        return PyErr_Format(PyExc_TypeError, "__arrow_c_array__() takes at most 1 argument (%zd given)", nargs);
    if (dlpark__py_keywords("__arrow_c_array__", args, nargs, keyword_names, names, values, 1) < 0)
        return NULL;
    PyObject *module = PyImport_ImportModule("dlpark._arrow_arrays");
    PyObject *pair = module != NULL ? PyObject_CallMethod(module, "to_arrow", "O", self) : NULL;
    Py_XDECREF(module);
    return pair;
}

/* ---- What help() says ---- */

const char dlpark__py_tensor_arrow_doc[] =
    "__arrow_c_array__($self, requested_schema=None)\n--\n\n"
    "The memory of the host as Arrow's C data interface has it, for pyarrow.array().\n\n"
    "Rank 1 is a primitive array, a higher rank an array of the extension type arrow.fixed_shape_tensor.\n\n"
    "Parameters\n"
    "----------\n"
    "requested_schema : capsule, optional\n"
    "    Not looked at: Arrow lets a producer give what it has.\n\n"
    "Returns\n"
    "-------\n"
    "tuple of two capsules\n"
    "    ``arrow_schema`` and ``arrow_array``. Both keep the memory.\n\n"
    "Raises\n"
    "------\n"
    "BufferError\n"
    "    Arrow has no such dtype, or the elements would have to be copied: make them compact by `copy()` first.";

const char dlpark__py_tensor_array_doc[] = "__array__($self, dtype=None, copy=None)\n--\n\n"
                                           "A NumPy array of the same memory, for numpy.asarray().\n\n"
                                           "Parameters\n"
                                           "----------\n"
                                           "dtype : dtype, optional\n"
                                           "    Convert to it, which copies unless it is the tensor's own.\n"
                                           "copy : bool, optional\n"
                                           "    True always copies, False never does.\n\n"
                                           "Returns\n"
                                           "-------\n"
                                           "numpy.ndarray\n"
                                           "    Not writeable where the tensor is read-only.\n\n"
                                           "Raises\n"
                                           "------\n"
                                           "TypeError\n"
                                           "    NumPy cannot read the memory, or has no such dtype.\n"
                                           "ValueError\n"
                                           "    `dtype` needs a copy, and copy=False.";
