/*
 * What the tests of the array interfaces, the buffer protocol and their formats reach.
 */
#include "probe.h"
#include "producer/export_parts.h"

#include <string.h>

/* Calls the Python function with device, producer's stream and consumer's; what it returns is the status. */
static int interfaces_order(void *context, DLDevice device, void *producer, void *consumer)
{
    PyObject *result = PyObject_CallFunction(context, "(ii)NN", (int)device.device_type, (int)device.device_id,
                                             PyLong_FromVoidPtr(producer), PyLong_FromVoidPtr(consumer));
    int status = result != NULL ? (int)PyLong_AsLong(result) : -1;

    Py_XDECREF(result);
    return status;
}

static int interfaces_take(const char *way, PyObject *object, const dlpark_py_options *options, dlpark_tensor *tensor,
                           dlpark_py_origin *origin)
{
    dlpark__py_state *state = dlpark__py_state_get();

    if (state == NULL)
        return -1;
    if (strcmp(way, "cuda_array_interface") == 0)
        return dlpark__py_cuda_array_import(state, object, options, tensor, origin);
    if (strcmp(way, "array_struct") == 0)
        return dlpark__py_array_struct_import(state, object, options, tensor, &origin->is_copied);
    if (strcmp(way, "array_interface") == 0)
        return dlpark__py_array_interface_import(state, object, options, tensor, &origin->is_copied);
    return dlpark__py_buffer_import(state, object, options, tensor, &origin->is_copied);
}

/* interface_import(way, object, copy=None, byteswap=False, order=None, writable=False, stream=None,
 * on_producer_stream=False): None where the object does not offer the way; else a capsule, whether it was copied, and
 * the stream that the object named, or None. */
static PyObject *probe_interface_import(PyObject *module, PyObject *args, PyObject *kwargs)
{
    char *names[] = {(char[]){"way"},
                     (char[]){"object"},
                     (char[]){"copy"},
                     (char[]){"byteswap"},
                     (char[]){"order"},
                     (char[]){"writable"},
                     (char[]){"stream"},
                     (char[]){"on_producer_stream"},
                     NULL};
    dlpark_py_options options = {0};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_py_origin origin = {.is_copied = true, .has_stream = true}; /* to be overwritten */
    const char *way;
    PyObject *object;
    PyObject *copy = NULL;
    PyObject *order = NULL;
    int byteswap = 0;
    int writable = 0;
    int on_producer_stream = 0;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|OpOpOp", names, &way, &object, &copy, &byteswap, &order,
                                     &writable, &options.stream, &on_producer_stream) ||
        dlpark__py_read_copy(copy, &options.copy) < 0)
        return NULL;
    options.byteswap = byteswap != 0;
    options.writable = writable != 0;
    options.on_producer_stream = on_producer_stream != 0;
    options.order = order != NULL ? interfaces_order : NULL;
    options.order_context = order;
    if (strcmp(way, "cuda_array_interface") != 0)
        origin.has_stream = false; /* theirs is not to say */
    int found = interfaces_take(way, object, &options, &tensor, &origin);
    if (found <= 0)
        return found == 0 ? Py_NewRef(Py_None) : NULL;
    PyObject *capsule = dlpark_py_capsule_new(&tensor);
    if (capsule == NULL) {
        dlpark__py_tensor_release(&tensor);
        return NULL;
    }
    return Py_BuildValue("(NNN)", capsule, PyBool_FromLong(origin.is_copied),
                         origin.has_stream ? PyLong_FromVoidPtr(origin.stream) : Py_NewRef(Py_None));
}

/* cuda_array_device(object): None, or the device. */
static PyObject *probe_cuda_array_device(PyObject *module, PyObject *object)
{
    dlpark__py_state *state = dlpark__py_state_get();
    DLDevice device;

    (void)module;
    int found = state != NULL ? dlpark__py_cuda_array_device(state, object, &device) : -1;
    if (found <= 0)
        return found == 0 ? Py_NewRef(Py_None) : NULL;
    return Py_BuildValue("(ii)", (int)device.device_type, (int)device.device_id);
}

/* array_interface(capsule, owner) and cuda_array_interface(capsule, owner, stream=None): the dicts. */
static PyObject *interfaces_dict(PyObject *args, bool is_cuda)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_py_origin origin = {0};
    dlpark_error err;
    PyObject *capsule;
    PyObject *owner;
    PyObject *stream = Py_None;
    PyObject *dict;

    if (!PyArg_ParseTuple(args, "OO|O", &capsule, &owner, &stream))
        return NULL;
    origin.has_stream = stream != Py_None;
    origin.stream = origin.has_stream ? PyLong_AsVoidPtr(stream) : NULL;
    if (PyErr_Occurred())
        return NULL;
    if (dlpark__py_capsule_import(capsule, &tensor, NULL, &err))
        return dlpark_py_raise(&err);
    if (is_cuda)
        dict = dlpark__py_cuda_array_interface_dict(&tensor, origin.has_stream ? &origin : NULL, owner);
    else
        dict = dlpark__py_array_interface_dict(&tensor, owner);
    dlpark__py_tensor_release(&tensor);
    return dict;
}

static PyObject *probe_array_interface(PyObject *module, PyObject *args)
{
    (void)module;
    return interfaces_dict(args, false);
}

static PyObject *probe_cuda_array_interface(PyObject *module, PyObject *args)
{
    (void)module;
    return interfaces_dict(args, true);
}

/* format(text, item_nbytes) and typestr(text): the dtype's name and whether it is of the other byte order. */
static PyObject *interfaces_dtype(dlpark_status status, DLDataType dtype, bool is_swapped, const dlpark_error *err)
{
    if (status != DLPARK_OK)
        return dlpark_py_raise(err);
    return Py_BuildValue("(sN)", dlpark_dtype_long_name(dtype).text, PyBool_FromLong(is_swapped));
}

static PyObject *probe_format(PyObject *module, PyObject *args)
{
    const char *text;
    long long item_nbytes;
    DLDataType dtype = {0, 0, 0};
    bool is_swapped = false;
    dlpark_error err;

    (void)module;
    if (!PyArg_ParseTuple(args, "sL", &text, &item_nbytes))
        return NULL;
    dlpark_status status = dlpark__py_format_parse(text, item_nbytes, &dtype, &is_swapped, &err);
    return interfaces_dtype(status, dtype, is_swapped, &err);
}

static PyObject *probe_typestr(PyObject *module, PyObject *args)
{
    const char *text;
    DLDataType dtype = {0, 0, 0};
    bool is_swapped = false;
    dlpark_error err;

    (void)module;
    if (!PyArg_ParseTuple(args, "s", &text))
        return NULL;
    dlpark_status status = dlpark__py_typestr_parse(text, &dtype, &is_swapped, &err);
    return interfaces_dtype(status, dtype, is_swapped, &err);
}

/* format_of(name) and typestr_of(name): of the dtype of that name, or None. */
static PyObject *interfaces_name_of(PyObject *args, const char *(*name_of)(DLDataType dtype))
{
    const char *text;
    DLDataType dtype;
    dlpark_error err;

    if (!PyArg_ParseTuple(args, "s", &text))
        return NULL;
    if (dlpark_dtype_parse(text, &dtype, &err))
        return dlpark_py_raise(&err);
    return Py_BuildValue("z", name_of(dtype));
}

static PyObject *probe_format_of(PyObject *module, PyObject *args)
{
    (void)module;
    return interfaces_name_of(args, dlpark__py_format_of);
}

static PyObject *probe_typestr_of(PyObject *module, PyObject *args)
{
    (void)module;
    return interfaces_name_of(args, dlpark__py_typestr_of);
}

/* ---- An object whose buffer is as it should not be ---- */

/* Its lists are those of the arguments, which it keeps; None is NULL. */
typedef struct strange_object {
    PyObject_HEAD PyObject *arguments;
    Py_buffer described;
    Py_ssize_t lists[3][DLPARK_MAX_NDIM + 2];
    char memory[256];
    PyObject *refused; /* flags of PyObject_GetBuffer() that make it fail, an int */
    Py_ssize_t gets;
    Py_ssize_t releases;
} strange_object;

static int strange_get(PyObject *self, Py_buffer *buffer, int flags)
{
    strange_object *strange = (strange_object *)self;

    if ((flags & (int)PyLong_AsLong(strange->refused)) != 0) {
        PyErr_SetString(PyExc_BufferError, "refused");
        return -1;
    }
    *buffer = strange->described;
    buffer->obj = Py_NewRef(self);
    buffer->internal = buffer; /* not to be moved */
    strange->gets++;
    return 0;
}

static void strange_release(PyObject *self, Py_buffer *buffer)
{
    if (buffer->internal == buffer)
        ((strange_object *)self)->releases++;
}

static void strange_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(((strange_object *)self)->arguments);
    Py_XDECREF(((strange_object *)self)->refused);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *strange_counts(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return Py_BuildValue("(nn)", ((strange_object *)self)->gets, ((strange_object *)self)->releases);
}

static PyMethodDef strange_methods[] = {
    {"counts", strange_counts, METH_NOARGS, "How often the buffer was got, and released."},
    {NULL, NULL, 0, NULL},
};

static Py_ssize_t *strange_list(Py_ssize_t *list, PyObject *tuple)
{
    if (tuple == Py_None)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple) && i < DLPARK_MAX_NDIM + 2; i++)
        list[i] = PyLong_AsSsize_t(PyTuple_GetItem(tuple, i));
    return list;
}

/* strange_buffer(format, itemsize, readonly, ndim, shape, strides, suboffsets, nbytes, refused_flags) */
static PyObject *probe_strange_buffer(PyObject *module, PyObject *args)
{
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)(uintptr_t)strange_dealloc},
        {Py_tp_methods, strange_methods},
        {Py_bf_getbuffer, (void *)(uintptr_t)strange_get},
        {Py_bf_releasebuffer, (void *)(uintptr_t)strange_release},
        {0, NULL},
    };
    PyType_Spec spec = {.name = "kit_probe.Strange",
                        .basicsize = (int)sizeof(strange_object),
                        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        .slots = slots};
    const char *format;
    PyObject *lists[3];
    PyObject *refused;
    Py_buffer described = {.buf = NULL};

    (void)module;
    if (!PyArg_ParseTuple(args, "znpiOOOnO", &format, &described.itemsize, &described.readonly, &described.ndim,
                          &lists[0], &lists[1], &lists[2], &described.len, &refused))
        return NULL;
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);
    strange_object *strange = type != NULL ? PyObject_New(strange_object, type) : NULL;
    Py_XDECREF((PyObject *)type); /* the object has its own */
    if (strange == NULL)
        return NULL;
    memset(strange->memory, 0, sizeof strange->memory);
    strange->arguments = Py_NewRef(args);
    strange->refused = Py_NewRef(refused);
    strange->gets = strange->releases = 0;
    described.buf = strange->memory + 64;
    described.format = (char *)(uintptr_t)format;
    described.shape = strange_list(strange->lists[0], lists[0]);
    described.strides = strange_list(strange->lists[1], lists[1]);
    described.suboffsets = strange_list(strange->lists[2], lists[2]);
    strange->described = described;
    return (PyObject *)strange;
}

/* caught(function): what it returns, or the exception itself, without a traceback, which would need memory. */
static PyObject *probe_caught(PyObject *module, PyObject *function)
{
    PyObject *result = PyObject_CallNoArgs(function);

    (void)module;
    if (result != NULL || PyErr_Occurred() == NULL)
        return result;
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type;
    PyObject *traceback;
    PyErr_Fetch(&type, &result, &traceback);
    PyErr_NormalizeException(&type, &result, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return result;
#endif
}

PyMethodDef probe_interface_functions[] = {
    {"caught", probe_caught, METH_O, NULL},
    {"strange_buffer", probe_strange_buffer, METH_VARARGS, NULL},
    {"interface_import", (PyCFunction)(void (*)(void))probe_interface_import, METH_VARARGS | METH_KEYWORDS, NULL},
    {"cuda_array_device", probe_cuda_array_device, METH_O, NULL},
    {"array_interface", probe_array_interface, METH_VARARGS, NULL},
    {"cuda_array_interface", probe_cuda_array_interface, METH_VARARGS, NULL},
    {"format", probe_format, METH_VARARGS, NULL},
    {"typestr", probe_typestr, METH_VARARGS, NULL},
    {"format_of", probe_format_of, METH_VARARGS, NULL},
    {"typestr_of", probe_typestr_of, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
