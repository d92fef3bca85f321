/*
 * An extension of CPython: a buffer of Metal in memory that CPU and GPU share. Buffer is the tensor on metal:0, host() the same
 * memory on the CPU, and total() adds up what anybody else gives, where it lies.
 */
#include <dlpark/python.h>

#include "origin.h"

static dlpark_metal metal = DLPARK_METAL_EMPTY; /* once for the process: it needs no closing */

typedef struct buffer {
    PyObject_HEAD dlpark_tensor tensor;
} buffer;

/* ---- The buffer ---- */

static int make_tensor(dlpark_tensor *tensor, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    dlpark_error err;
    void *made = origin_make((size_t)(rows * columns) * sizeof(float));

    if (!made) {
        PyErr_SetString(PyExc_MemoryError, "Metal gives no buffer");
        return -1;
    }
    if (dlpark_metal_import(&metal, tensor, &made,
                            &(dlpark_tensor_desc){.dtype = DLPARK_F32, .ndim = 2, .shape = DLPARK_DIMS(shape)}, NULL,
                            &err) == DLPARK_OK)
        return 0;
    metal.functions->release(made);
    (void)dlpark_py_raise(&err);
    return -1;
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    long long rows, columns;

    if (!PyArg_ParseTuple(args, "LL", &rows, &columns) || (keywords && PyDict_GET_SIZE(keywords) > 0))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "Buffer(rows, columns)");
    if (rows < 1 || columns < 1 || rows > 1 << 15 || columns > 1 << 15)
        return PyErr_Format(PyExc_ValueError, "a buffer of %lld rows and %lld columns", rows, columns);
    buffer *self = (buffer *)type->tp_alloc(type, 0);
    if (self && make_tensor(&self->tensor, rows, columns) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void buffer_dealloc(buffer *self)
{
    PyTypeObject *type = Py_TYPE(self);

    dlpark_tensor_release(&self->tensor);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *buffer_dlpack(buffer *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return dlpark_py_answer_dlpack(&self->tensor, args, nargs, names);
}

static PyObject *buffer_dlpack_device(buffer *self, PyObject *unused)
{
    (void)unused;
    return dlpark_py_answer_dlpack_device(&self->tensor);
}

/* The same memory on the CPU, as an array of NumPy: a tensor of its own over the one owner. */
static PyObject *buffer_host(buffer *self, PyObject *unused)
{
    dlpark_tensor host = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    (void)unused;
    if (dlpark_metal_map(&metal, &host, &self->tensor, NULL, NULL, &err) != DLPARK_OK)
        return dlpark_py_raise(&err);
    return dlpark_py_export(&host, DLPARK_SPEC_AS_NUMPY, NULL);
}

/* (the MTLBuffer, how many references it has) */
static PyObject *buffer_object(buffer *self, PyObject *unused)
{
    dlpark_view view;
    dlpark_error err;

    (void)unused;
    dlpark_tensor_view(&self->tensor, &view);
    void *object = dlpark_metal_borrow(&metal, &view, &err);
    return object ? Py_BuildValue("(Ni)", PyLong_FromVoidPtr(object), origin_references(object))
                  : dlpark_py_raise(&err);
}

/* ---- What others give ---- */

static dlpark_status add_up(const dlpark_view *view, double *sum, dlpark_error *err)
{
    const float *numbers = DLPARK_CPU(float, view, err);

    if (!numbers)
        return err->status;
    *sum = 0;
    for (int64_t i = 0; i < dlpark_view_numel(view); i++)
        *sum += (double)numbers[i];
    return DLPARK_OK;
}

/* The sum of float32, read where it lies: on metal through the host's view of the buffer. */
static PyObject *total(PyObject *module, PyObject *object)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, host = DLPARK_TENSOR_EMPTY;
    dlpark_status status = DLPARK_OK;
    dlpark_view view;
    dlpark_error err;
    double sum = 0;

    (void)module;
    if (dlpark_py_import(&tensor, object, NULL, NULL) < 0)
        return NULL;
    dlpark_tensor_view(&tensor, &view);
    const dlpark_name device = dlpark_device_name(view.device);
    if (view.device.device_type == kDLMetal)
        status = dlpark_metal_map(&metal, &host, &tensor, NULL, &view, &err);
    if (status == DLPARK_OK)
        status = add_up(&view, &sum, &err);
    dlpark_tensor_release(&host);
    dlpark_tensor_release(&tensor);
    return status == DLPARK_OK ? Py_BuildValue("(dsN)", sum, device.text, PyLong_FromVoidPtr(view.data))
                               : dlpark_py_raise(&err);
}

static PyObject *open_metal(PyObject *module, PyObject *unused)
{
    dlpark_error err;

    (void)module;
    (void)unused;
    if (!metal.functions && origin_open(&metal, &err) != DLPARK_OK)
        return dlpark_py_raise(&err);
    return Py_BuildValue("z", origin_device());
}

static PyObject *count_ended(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(origin_count_ended());
}

/* ---- The module ---- */

static PyMethodDef buffer_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))buffer_dlpack, METH_FASTCALL | METH_KEYWORDS, "The tensor on metal:0."},
    {"__dlpack_device__", (PyCFunction)buffer_dlpack_device, METH_NOARGS, "(8, 0): metal:0."},
    {"host", (PyCFunction)buffer_host, METH_NOARGS, "host()\n--\n\nThe same memory on the CPU, as an array of NumPy."},
    {"object", (PyCFunction)buffer_object, METH_NOARGS,
     "object()\n--\n\nThe MTLBuffer, and how many references it has; -1: not known."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot buffer_slots[] = {
    {Py_tp_doc, (void *)"Buffer(rows, columns)\n--\n\nfloat32 in a buffer that CPU and GPU share; not written yet."},
    {Py_tp_new, (void *)buffer_new},
    {Py_tp_dealloc, (void *)buffer_dealloc},
    {Py_tp_methods, buffer_methods},
    {0, NULL},
};

static PyType_Spec buffer_spec = {
    .name = "shared_buffer.Buffer", .basicsize = sizeof(buffer), .flags = Py_TPFLAGS_DEFAULT, .slots = buffer_slots};

static PyMethodDef methods[] = {
    {"open", open_metal, METH_NOARGS, "open()\n--\n\nThe name of Metal's device; None: there is none, but a stand-in."},
    {"total", total, METH_O,
     "total(x, /)\n--\n\nThe sum of float32, added up in C where it lies, its device, and the address."},
    {"count_ended", count_ended, METH_NOARGS,
     "count_ended()\n--\n\nHow many buffers of the stand-in have ended; -1: not known."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "shared_buffer",
                                        .m_doc = "A buffer of Metal that CPU and GPU share.", .m_methods = methods};

PyMODINIT_FUNC PyInit_shared_buffer(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = module ? PyType_FromSpec(&buffer_spec) : NULL;

    if (type && PyModule_AddObjectRef(module, "Buffer", type) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return type ? module : (Py_XDECREF(module), NULL);
}
