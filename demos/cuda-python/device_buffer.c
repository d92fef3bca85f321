/*
 * An extension of CPython: numbers in memory of a GPU that C owns. Buffer speaks DLPack, so that any framework works on them in
 * place, in a stream of its own; read() has C read them, after that stream.
 */
#include <dlpark/python.h>

#include <dlpark/cuda.h>
#include <dlpark/transfer.h>

static dlpark_cuda cuda = DLPARK_CUDA_EMPTY; /* once for the process: it needs no closing */
static const DLDevice place = {kDLCUDA, 0};

/* What C gives to the GPU, it gives to the legacy default stream. */
static const dlpark_stream own_stream = {DLPARK_STREAM_DEFAULT, NULL};

typedef struct buffer {
    PyObject_HEAD dlpark_tensor tensor;
    PyObject *asked; /* what the last consumer said as `stream`; NULL: nothing yet */
} buffer;

/* ---- Streams ---- */

/* A stream as a consumer names it: None, or the array API standard's integer. */
static int read_stream(PyObject *said, dlpark_stream *stream)
{
    dlpark_error err;

    *stream = (dlpark_stream){DLPARK_STREAM_UNSAID, NULL};
    if (!said || said == Py_None)
        return 0;
    long long number = PyLong_AsLongLong(said);
    if (number == -1 && PyErr_Occurred())
        return -1;
    if (dlpark_stream_decode(place, number, stream, &err) == DLPARK_OK)
        return 0;
    (void)dlpark_py_raise(&err);
    return -1;
}

/* Work of the one stream after that of the other; nobody waits but the stream. */
static int order(dlpark_stream producer, dlpark_stream consumer)
{
    dlpark_error err;

    if (dlpark_cuda_order(&cuda, place, producer, consumer, &err) == DLPARK_OK)
        return 0;
    (void)dlpark_py_raise(&err);
    return -1;
}

/* ---- DLPack ---- */

/* Which of the keywords is the stream; -1: it is not there. */
static Py_ssize_t find_stream(PyObject *names)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "stream") == 0)
            return i;
    return -1;
}

/* What the kit answers to the request once the order is made: nothing is left to be ordered, which is -1. */
static PyObject *answer(buffer *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, Py_ssize_t at)
{
    PyObject *passed[8], *no_order = PyLong_FromLong(-1), *capsule = NULL;
    Py_ssize_t count = nargs + (names ? PyTuple_GET_SIZE(names) : 0);

    if (no_order && count <= 8) {
        memcpy(passed, args, (size_t)count * sizeof *passed);
        if (at >= 0)
            passed[nargs + at] = no_order;
        capsule = dlpark_py_answer_dlpack(&self->tensor, passed, nargs, names);
    } else if (no_order)
        PyErr_Format(PyExc_TypeError, "__dlpack__() takes 4 keywords, and was given %zd arguments", count);
    Py_XDECREF(no_order);
    return capsule;
}

/* The consumer's stream waits for what C has given to the GPU; all else that may be asked for is the kit's to answer. */
static PyObject *buffer_dlpack(buffer *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    const Py_ssize_t at = find_stream(names);
    PyObject *said = at >= 0 ? args[nargs + at] : Py_None, *before = self->asked;
    dlpark_stream consumer;

    self->asked = Py_NewRef(said);
    Py_XDECREF(before);
    if (read_stream(said, &consumer) < 0 || order(own_stream, consumer) < 0)
        return NULL;
    return answer(self, args, nargs, names, at);
}

static PyObject *buffer_dlpack_device(buffer *self, PyObject *unused)
{
    (void)unused;
    return dlpark_py_answer_dlpack_device(&self->tensor);
}

/* ---- C's own work ---- */

/* A compact tensor of the host of the same shape, for numbers to go to the GPU or to come from there. */
static dlpark_status make_host(dlpark_tensor *host, const dlpark_view *like, dlpark_view *view, dlpark_error *err)
{
    return dlpark_tensor_alloc(
        host, &(dlpark_tensor_desc){.dtype = like->dtype, .ndim = like->ndim, .shape = DLPARK_DIMS(like->shape)}, view,
        err);
}

static dlpark_status fill(const dlpark_view *there, dlpark_error *err)
{
    dlpark_tensor host = DLPARK_TENSOR_EMPTY;
    dlpark_view here;

    DLPARK_TRY(make_host(&host, there, &here, err));
    for (int64_t i = 0; i < dlpark_view_numel(&here); i++)
        ((float *)here.data)[i] = (float)i;
    dlpark_status status = dlpark_cuda_copy(&cuda, there, &here, own_stream, err);
    dlpark_tensor_release(&host);
    return status;
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    long long rows, columns;
    dlpark_view view;
    dlpark_error err;

    if (!PyArg_ParseTuple(args, "LL", &rows, &columns) || (keywords && PyDict_GET_SIZE(keywords) > 0))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "Buffer(rows, columns)");
    buffer *self = (buffer *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    dlpark_status status = dlpark_cuda_alloc(
        &cuda, &self->tensor,
        &(dlpark_tensor_desc){
            .dtype = DLPARK_F32, .device = place, .ndim = 2, .shape = DLPARK_DIMS((int64_t[]){rows, columns})},
        NULL, &view, &err);
    if (status == DLPARK_OK)
        status = fill(&view, &err);
    if (status == DLPARK_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return dlpark_py_raise(&err);
}

/* After the work of the stream that is named, the numbers are copied to the host, as an array of NumPy. */
static PyObject *buffer_read(buffer *self, PyObject *said)
{
    dlpark_tensor host = DLPARK_TENSOR_EMPTY;
    dlpark_view there, here;
    dlpark_stream stream;
    dlpark_error err;

    if (read_stream(said, &stream) < 0 || order(stream, own_stream) < 0)
        return NULL;
    dlpark_tensor_view(&self->tensor, &there);
    dlpark_status status = make_host(&host, &there, &here, &err);
    if (status == DLPARK_OK)
        status = dlpark_cuda_copy(&cuda, &here, &there, own_stream, &err);
    if (status == DLPARK_OK)
        return dlpark_py_export(&host, DLPARK_SPEC_AS_NUMPY, NULL);
    dlpark_tensor_release(&host);
    return dlpark_py_raise(&err);
}

static PyObject *buffer_address(buffer *self, void *unused)
{
    dlpark_view view;

    (void)unused;
    dlpark_tensor_view(&self->tensor, &view);
    return PyLong_FromVoidPtr(view.data);
}

static PyObject *buffer_asked(buffer *self, void *unused)
{
    (void)unused;
    return Py_NewRef(self->asked ? self->asked : Py_None);
}

/* Waits for all work on the memory, unless a consumer still has it: then that one does, when it ends. */
static void buffer_dealloc(buffer *self)
{
    PyTypeObject *type = Py_TYPE(self);

    dlpark_tensor_release(&self->tensor);
    Py_XDECREF(self->asked);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- The module ---- */

static PyMethodDef buffer_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))buffer_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "The numbers for a consumer, whose stream waits for what C has given to the GPU."},
    {"__dlpack_device__", (PyCFunction)buffer_dlpack_device, METH_NOARGS, "(2, 0): cuda:0."},
    {"read", (PyCFunction)buffer_read, METH_O,
     "read(stream, /)\n--\n\nThe numbers on the host, after the work of a stream; -1: after nothing."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef buffer_members[] = {
    {"address", (getter)buffer_address, NULL, "Where the numbers are, on the GPU.", NULL},
    {"asked", (getter)buffer_asked, NULL, "The stream that the last consumer named.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot buffer_slots[] = {
    {Py_tp_doc, (void *)"Buffer(rows, columns)\n--\n\nThe numbers 0, 1, 2 ... of float32 in memory of cuda:0."},
    {Py_tp_new, (void *)buffer_new},
    {Py_tp_dealloc, (void *)buffer_dealloc},
    {Py_tp_methods, buffer_methods},
    {Py_tp_getset, buffer_members},
    {0, NULL},
};

static PyType_Spec buffer_spec = {
    .name = "device_buffer.Buffer", .basicsize = sizeof(buffer), .flags = Py_TPFLAGS_DEFAULT, .slots = buffer_slots};

/* The driver, found once: (its file, its version, the name of cuda:0). */
static PyObject *open_driver(PyObject *module, PyObject *unused)
{
    dlpark_name name;
    dlpark_error err;

    (void)module;
    (void)unused;
    if (!cuda.driver && dlpark_cuda_open(&cuda, NULL, &err))
        return dlpark_py_raise(&err);
    if (dlpark_cuda_device_name(&cuda, 0, &name, &err))
        return dlpark_py_raise(&err);
    return Py_BuildValue("(sis)", cuda.library, (int)cuda.version, name.text);
}

static PyMethodDef methods[] = {
    {"open", open_driver, METH_NOARGS,
     "open()\n--\n\nFinds the driver of CUDA, or the one that DLPARK_CUDA_LIBRARY names: its file, version, and "
     "cuda:0."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "device_buffer",
                                        .m_doc = "Numbers in memory of a GPU that C owns.", .m_methods = methods};

PyMODINIT_FUNC PyInit_device_buffer(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = module ? PyType_FromSpec(&buffer_spec) : NULL;

    if (type && PyModule_AddObjectRef(module, "Buffer", type) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return type ? module : (Py_XDECREF(module), NULL);
}
