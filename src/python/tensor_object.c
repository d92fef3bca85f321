/*
 * The type Tensor: attributes, representation, length.
 */
#include "module.h"

#include <stddef.h>
#include <structmember.h>

module_state *dlpark__py_state_of(PyObject *tensor)
{
    return PyType_GetModuleState(Py_TYPE(tensor));
}

/* ---- Life ---- */

PyObject *dlpark__py_tensor_object_new(module_state *state, dlpark_tensor *tensor, bool is_copied)
{
    tensor_object *self = (tensor_object *)PyType_GenericAlloc(state->tensor_type, 0);

    if (self == NULL)
        return NULL;
    self->tensor.managed = tensor->managed;
    self->is_copied = is_copied;
    tensor->managed = NULL;
    return (PyObject *)self;
}

static PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)type;
    (void)args;
    (void)kwargs;
    PyErr_SetString(PyExc_TypeError, "a Tensor is made by dlpark.from_dlpack() or dlpark.load_image(), not by calling "
                                     "the class");
    return NULL;
}

/* The deleter of a foreign tensor may hold Python objects, but nobody outside can see them. */
static int object_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void object_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (((tensor_object *)self)->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    dlpark__py_tensor_release(&((tensor_object *)self)->tensor);
    PyObject_GC_Del(self);
    Py_DECREF((PyObject *)type);
}

/* ---- Attributes ---- */

static const DLTensor *object_dltensor(PyObject *self)
{
    return &((tensor_object *)self)->tensor.managed->dl_tensor;
}

static PyObject *object_integers(int32_t count, const int64_t *values)
{
    PyObject *tuple = PyTuple_New(count);

    for (int32_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (value == NULL || PyTuple_SetItem(tuple, i, value) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *object_get_shape(PyObject *self, void *closure)
{
    (void)closure;
    return object_integers(object_dltensor(self)->ndim, object_dltensor(self)->shape);
}

static PyObject *object_get_strides(PyObject *self, void *closure)
{
    (void)closure;
    return object_integers(object_dltensor(self)->ndim, object_dltensor(self)->strides);
}

static PyObject *object_get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(dlpark_dtype_long_name(object_dltensor(self)->dtype).text);
}

static PyObject *object_get_device(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(dlpark_device_name(object_dltensor(self)->device).text);
}

static PyObject *object_get_ndim(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(object_dltensor(self)->ndim);
}

static PyObject *object_get_size(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark_tensor_view(&((tensor_object *)self)->tensor, &view);
    return PyLong_FromLongLong(dlpark_view_numel(&view));
}

static PyObject *object_get_nbytes(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark_tensor_view(&((tensor_object *)self)->tensor, &view);
    return PyLong_FromLongLong(dlpark_view_nbytes(&view));
}

static bool object_is_read_only(PyObject *self)
{
    dlpark_view view;

    dlpark_tensor_view(&((tensor_object *)self)->tensor, &view);
    return (view.flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0;
}

static PyObject *object_get_readonly(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(object_is_read_only(self));
}

static PyObject *object_get_is_copied(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((tensor_object *)self)->is_copied);
}

/* ---- Representation and length ---- */

static PyObject *object_repr(PyObject *self)
{
    const DLTensor *tensor = object_dltensor(self);
    PyObject *text = NULL;
    PyObject *shape = object_integers(tensor->ndim, tensor->shape);
    PyObject *strides = object_integers(tensor->ndim, tensor->strides);
    PyObject *shape_list = shape != NULL ? PySequence_List(shape) : NULL;
    PyObject *strides_list = strides != NULL ? PySequence_List(strides) : NULL;
    dlpark_name dtype = dlpark_dtype_long_name(tensor->dtype);
    dlpark_name device = dlpark_device_name(tensor->device);

    if (shape_list != NULL && strides_list != NULL)
        text = PyUnicode_FromFormat("Tensor(%s%S, %s, strides=%S%s)", dtype.text, shape_list, device.text, strides_list,
                                    object_is_read_only(self) ? ", read-only" : "");
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(shape_list);
    Py_XDECREF(strides_list);
    return text;
}

/* The elements, in lines as NumPy has them. */
static PyObject *object_str(PyObject *self)
{
    dlpark_view view;
    char line[256];

    dlpark_tensor_view(&((tensor_object *)self)->tensor, &view);
    if (view.device.device_type == kDLCUDAManaged) {
        dlpark_view_describe(&view, line, sizeof line);
        return PyUnicode_FromFormat("<%s: not read, the device may be at work on it>", line);
    }
    size_t length = dlpark_view_text(&view, NULL, NULL, 0);
    char *text = PyMem_Malloc(length + 1);
    if (text == NULL)
        return PyErr_NoMemory();
    /* Whoever writes to the memory meanwhile may make it longer; then it is cut. */
    size_t written = dlpark_view_text(&view, NULL, text, length + 1);
    PyObject *result = PyUnicode_FromStringAndSize(text, (Py_ssize_t)(written < length ? written : length));
    PyMem_Free(text);
    return result;
}

static Py_ssize_t object_length(PyObject *self)
{
    const DLTensor *tensor = object_dltensor(self);

    if (tensor->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "a tensor of rank 0 has no len()");
        return -1;
    }
    if (tensor->shape[0] > PY_SSIZE_T_MAX) {
        PyErr_Format(PyExc_OverflowError, "the first extent is %lld, which len() cannot return",
                     (long long)tensor->shape[0]);
        return -1;
    }
    return (Py_ssize_t)tensor->shape[0];
}

/* ---- The type ---- */

static PyGetSetDef object_attributes[] = {
    {"shape", object_get_shape, NULL, "The extents, a tuple of integers.", NULL},
    {"strides", object_get_strides, NULL, "The strides in elements (not bytes), a tuple of integers.", NULL},
    {"dtype", object_get_dtype, NULL, "The element type by its long name, such as 'uint8' or 'bfloat16'.", NULL},
    {"device", object_get_device, NULL, "Where the memory is: 'cpu', 'cuda:0'.", NULL},
    {"ndim", object_get_ndim, NULL, "The number of dimensions.", NULL},
    {"size", object_get_size, NULL, "The number of elements.", NULL},
    {"nbytes", object_get_nbytes, NULL, "The bytes that the elements take when they lie one after the other.", NULL},
    {"readonly", object_get_readonly, NULL,
     "Whether the memory must not be written. Also true when its producer could not say, as in the legacy protocol.",
     NULL},
    {"is_copied", object_get_is_copied, NULL,
     "Whether the memory was made for this tensor, so that nobody else had it at that time.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(object_dlpack_doc,
             "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
             "A DLPack capsule of the tensor, for a consumer such as numpy.from_dlpack().\n\n"
             "Parameters\n"
             "----------\n"
             "stream : int, optional\n"
             "    On CUDA 1 and on ROCm 0, the default stream, on which the data is ready; -1 for no ordering.\n"
             "max_version : tuple of int, optional\n"
             "    The newest DLPack version that the consumer knows. A legacy capsule for None and (0, n).\n"
             "dl_device : tuple of int, optional\n"
             "    The device that the consumer wants: the tensor's own, or the CPU for page-locked memory.\n"
             "copy : bool, optional\n"
             "    True always copies, into host memory; otherwise the memory is shared.\n\n"
             "Returns\n"
             "-------\n"
             "capsule\n"
             "    Called 'dltensor_versioned', or 'dltensor' when it is a legacy one.\n\n"
             "Raises\n"
             "------\n"
             "BufferError\n"
             "    The tensor cannot be given out as asked: a legacy capsule of a read-only tensor, another device,\n"
             "    another stream. DeviceCopyError when copy=False forbids what another device needs.\n"
             "TypeError, ValueError\n"
             "    An argument is of another kind, or means nothing on the tensor's device.");
PyDoc_STRVAR(object_dlpack_device_doc, "__dlpack_device__($self, /)\n--\n\n"
                                       "The device as DLPack has it: (type, id).");
PyDoc_STRVAR(object_array_doc, "__array__($self, dtype=None, copy=None)\n--\n\n"
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
                               "    `dtype` needs a copy, and copy=False.");
PyDoc_STRVAR(object_doc,
             "An immutable handle on a tensor: who owns the memory, where it is, how it is laid out.\n\n"
             "Made by from_dlpack() and load_image(). Every library that speaks DLPack takes it, without a\n"
             "copy; on the host it also offers its memory by the buffer protocol. Managed memory (cuda_managed)\n"
             "is not counted as the host's: the device may still be at work on it.");

/* METH_FASTCALL functions have another type than PyMethodDef's; the flags say so. The detour by void (*)(void) tells
 * the compiler that this is meant. */
#define OBJECT_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef object_methods[] = {
    {"__dlpack__", OBJECT_METHOD(dlpark__py_dlpack), METH_FASTCALL | METH_KEYWORDS, object_dlpack_doc},
    {"__dlpack_device__", dlpark__py_dlpack_device, METH_NOARGS, object_dlpack_device_doc},
    {"__array__", OBJECT_METHOD(dlpark__py_array), METH_FASTCALL | METH_KEYWORDS, object_array_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef object_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tensor_object, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* A slot holds functions and data alike, which ISO C keeps apart. */
#define OBJECT_SLOT(function) ((void *)(uintptr_t)(function))

PyTypeObject *dlpark__py_tensor_type_new(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_doc, OBJECT_SLOT(object_doc)},
        {Py_tp_new, OBJECT_SLOT(object_new)},
        {Py_tp_dealloc, OBJECT_SLOT(object_dealloc)},
        {Py_tp_traverse, OBJECT_SLOT(object_traverse)},
        {Py_tp_repr, OBJECT_SLOT(object_repr)},
        {Py_tp_str, OBJECT_SLOT(object_str)},
        {Py_tp_methods, object_methods},
        {Py_tp_getset, object_attributes},
        {Py_tp_members, object_members},
        {Py_mp_length, OBJECT_SLOT(object_length)},
        {Py_bf_getbuffer, OBJECT_SLOT(dlpark__py_buffer_get)},
        {Py_bf_releasebuffer, OBJECT_SLOT(dlpark__py_buffer_release)},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "dlpark.Tensor",
        .basicsize = (int)sizeof(tensor_object),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };

    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
