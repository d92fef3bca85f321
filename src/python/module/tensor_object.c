/*
 * The type Tensor: how it is made and ends, attributes, length, comparison. Its methods are in tensor_*.c.
 */
#include "arguments.h"
#include "tensor_methods.h"

#include <stddef.h>
#include <structmember.h>

/* ---- Life ---- */

/* Ended objects are kept for the next ones: to get memory and give it back costs as much as to import a tensor. The GIL
 * guards them; this module is in no interpreter that has one of its own. */
#if defined(Py_GIL_DISABLED) || defined(__SANITIZE_ADDRESS__)
#define OBJECT_MAX_KEPT 0
#else
#define OBJECT_MAX_KEPT 16
#endif
static tensor_object *object_kept[OBJECT_MAX_KEPT + 1];
static int object_kept_count;

/* The default stream goes without saying. So does that of CUDA's threads, which is another one on each and cannot be kept: the
 * default one waits for it by itself. */
static DLPARK_COLD void object_keep_stream(tensor_object *self)
{
    dlpark_py_origin *origin = &self->origin;

    dlpark__py_origin_note(origin, dlpark__py_stream_of_native(self->tensor.managed->dl_tensor.device, origin->stream));
}

/* Without the garbage collector, which would cost as much again: the deleter of a foreign tensor may hold Python objects,
 * but nobody outside can see them. */
PyObject *dlpark__py_tensor_object_new(PyTypeObject *type, dlpark_tensor *tensor, const dlpark_py_origin *origin)
{
    tensor_object *self;

    if (DLPARK_LIKELY(object_kept_count > 0)) {
        self = object_kept[--object_kept_count];
        PyObject_Init((PyObject *)self, type);
    } else {
        self = PyObject_New(tensor_object, type);
        if (self == NULL)
            return NULL;
    }
    self->weak_references = NULL;
    self->tensor.managed = tensor->managed;
    self->origin = *origin;
    if (DLPARK_UNLIKELY(origin->has_stream))
        object_keep_stream(self);
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

/* The end of memory on a device may wait for it, which others need not wait for. */
static void object_release(dlpark_tensor *tensor)
{
    bool may_wait = tensor->managed != NULL && dlpark_device_has_streams(tensor->managed->dl_tensor.device);

    if (DLPARK_LIKELY(!may_wait)) {
        dlpark__py_tensor_release(tensor);
        return;
    }
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_tensor_release(tensor);
    PyEval_RestoreThread(thread);
}

static void object_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    if (((tensor_object *)self)->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    object_release(&((tensor_object *)self)->tensor);
    if (object_kept_count < OBJECT_MAX_KEPT)
        object_kept[object_kept_count++] = (tensor_object *)self;
    else
        PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

/* ---- Tensors of a Tensor ---- */

/* Sharing may put another header in the place of the tensor's, while another thread reads it. */
#if defined(Py_GIL_DISABLED)
#define OBJECT_LOCK(self)   Py_BEGIN_CRITICAL_SECTION(self);
#define OBJECT_UNLOCK(self) Py_END_CRITICAL_SECTION();
#else
#define OBJECT_LOCK(self)   {
#define OBJECT_UNLOCK(self) }
#endif

void dlpark__py_tensor_describe(PyObject *self, dlpark_view *view)
{
    OBJECT_LOCK(self)
    dlpark_tensor_view(&((tensor_object *)self)->tensor, view);
    OBJECT_UNLOCK(self)
}

/* A Tensor of `tensor`, which it takes, on failure too; on the device's stream on which `self` came. */
static PyObject *object_derive(PyObject *self, dlpark_tensor *tensor, bool is_copied)
{
    dlpark_py_origin origin = ((tensor_object *)self)->origin;

    origin.is_copied = is_copied;
    PyObject *made = dlpark__py_tensor_object_new(Py_TYPE(self), tensor, &origin);
    dlpark__py_tensor_release(tensor); /* ours still, only if there is no object */
    return made;
}

PyObject *dlpark__py_tensor_part(PyObject *self, const dlpark_view *view)
{
    dlpark_tensor part = DLPARK_TENSOR_EMPTY;
    dlpark_status status;
    dlpark_error err;

    OBJECT_LOCK(self)
    status = dlpark_tensor_share(&part, &((tensor_object *)self)->tensor, view, &err);
    OBJECT_UNLOCK(self)
    return status == DLPARK_OK ? object_derive(self, &part, false) : dlpark__py_raise_value(&err);
}

PyObject *dlpark__py_tensor_finish(PyObject *self, const dlpark_view *view, dlpark_status status,
                                   const dlpark_error *err)
{
    return status == DLPARK_OK ? dlpark__py_tensor_part(self, view) : dlpark__py_raise_value(err);
}

PyObject *dlpark__py_tensor_made(PyObject *self, dlpark_tensor *made)
{
    return object_derive(self, made, true);
}

PyObject *dlpark__py_tensor_placed(PyObject *self, dlpark_tensor *made)
{
    const dlpark_py_origin origin = {.is_copied = true};
    PyObject *object = dlpark__py_tensor_object_new(Py_TYPE(self), made, &origin);

    dlpark__py_tensor_release(made); /* ours still, only if there is no object */
    return object;
}

/* ---- Attributes ---- */

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
    dlpark_view view;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    return object_integers(view.ndim, view.shape);
}

static PyObject *object_get_strides(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    return object_integers(view.ndim, view.strides);
}

static PyObject *object_get_dtype(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    return PyUnicode_FromString(dlpark_dtype_long_name(view.dtype).text);
}

static PyObject *object_get_device(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    return PyUnicode_FromString(dlpark_device_name(view.device).text);
}

static PyObject *object_get_ndim(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    return PyLong_FromLong(view.ndim);
}

static PyObject *object_get_size(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    return PyLong_FromLongLong(dlpark_view_numel(&view));
}

static PyObject *object_get_nbytes(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    return PyLong_FromLongLong(dlpark_view_nbytes(&view));
}

static PyObject *object_get_readonly(PyObject *self, void *closure)
{
    dlpark_view view;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    return PyBool_FromLong((view.flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0);
}

static PyObject *object_get_is_copied(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((tensor_object *)self)->origin.is_copied);
}

static PyObject *object_get_stream(PyObject *self, void *closure)
{
    const dlpark_py_origin *origin = &((tensor_object *)self)->origin;

    (void)closure;
    return origin->has_stream ? PyLong_FromVoidPtr(origin->stream) : Py_NewRef(Py_None);
}

/* ---- Length, comparison ---- */

static Py_ssize_t object_length(PyObject *self)
{
    dlpark_view view;

    dlpark__py_tensor_describe(self, &view);
    if (view.ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "a tensor of rank 0 has no len()");
        return -1;
    }
    if (view.shape[0] > PY_SSIZE_T_MAX) {
        PyErr_Format(PyExc_OverflowError, "the first extent is %lld, which len() cannot return",
                     (long long)view.shape[0]);
        return -1;
    }
    return (Py_ssize_t)view.shape[0];
}

/* Identity, said here since a type that is not hashable inherits no comparison. */
static PyObject *object_compare(PyObject *self, PyObject *other, int relation)
{
    if (relation != Py_EQ && relation != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((self == other) == (relation == Py_EQ));
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
     "Whether the memory was made for this tensor, so that nobody else had it at that time.\n\n"
     "Never said of a tensor from a pickle, whose buffer somebody else may hold.",
     NULL},
    {"stream", object_get_stream, NULL,
     "The stream on which the data is ready, as an int; None: the default one.\n\n"
     "It is the one on which its producer worked, where that said so, or the one that was asked for.",
     NULL},
    {"T", dlpark__py_tensor_get_transposed, NULL, "The dimensions in reverse order: a Tensor of the same memory.",
     NULL},
    {"mT", dlpark__py_tensor_get_matrix_transposed, NULL,
     "The last two dimensions exchanged: a Tensor of the same memory. ValueError below a rank of 2.", NULL},
    {"real", dlpark__py_tensor_get_real, NULL,
     "The real parts of complex elements, a Tensor of the same memory; itself where they are real.", NULL},
    {"imag", dlpark__py_tensor_get_imag, NULL,
     "The imaginary parts of complex elements, a Tensor of the same memory. TypeError where they are real.", NULL},
    DLPARK__PY_TENSOR_PROTOCOL_ATTRIBUTES,
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(
    object_doc,
    "An immutable handle on a tensor: who owns the memory, where it is, how it is laid out.\n\n"
    "Made by from_dlpack() and load_image(). Every library that speaks DLPack takes it, without a\n"
    "copy; on the host it also offers its memory by the buffer protocol.\n\n"
    "Notes\n"
    "-----\n"
    "An index, a slice and every method that changes dimensions give another Tensor of the same memory,\n"
    "which keeps it alive, and is read-only where this one is. Indices are those of NumPy's basic indexing.\n\n"
    "The handle is immutable, the memory is not: write to it through numpy.from_dlpack(t). `==` asks whether\n"
    "two names stand for one Tensor, not what the elements are; a Tensor cannot be hashed.\n\n"
    "What reads elements needs memory of the host. Managed memory (cuda_managed) does not count as such:\n"
    "the device may still be at work on it.\n\n"
    "Examples\n"
    "--------\n"
    ">>> t = dlpark.from_dlpack(np.arange(6, dtype=np.int32).reshape(2, 3))\n"
    ">>> t\n"
    "Tensor(int32[2, 3], cpu, strides=[3, 1])\n"
    "[[0 1 2]\n"
    " [3 4 5]]\n"
    ">>> t[:, ::-1].T.shape\n"
    "(3, 2)");

#define OBJECT_METHOD(name)                                                                                            \
    {#name, DLPARK__PY_METHOD(dlpark__py_tensor_##name), METH_FASTCALL | METH_KEYWORDS, dlpark__py_tensor_##name##_doc},

static PyMethodDef object_methods[] = {
    DLPARK__PY_TENSOR_PROTOCOL_METHODS,
    DLPARK__PY_TENSOR_METHOD_TABLE(OBJECT_METHOD){"__complex__", dlpark__py_tensor_complex, METH_NOARGS,
                                                  dlpark__py_tensor_complex_doc},
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
        {Py_tp_repr, OBJECT_SLOT(dlpark__py_tensor_repr)},
        {Py_tp_str, OBJECT_SLOT(dlpark__py_tensor_str)},
        {Py_tp_hash, OBJECT_SLOT(PyObject_HashNotImplemented)},
        {Py_tp_richcompare, OBJECT_SLOT(object_compare)},
        {Py_tp_iter, OBJECT_SLOT(dlpark__py_tensor_iterate)},
        {Py_tp_methods, object_methods},
        {Py_tp_getset, object_attributes},
        {Py_tp_members, object_members},
        {Py_mp_length, OBJECT_SLOT(object_length)},
        {Py_mp_subscript, OBJECT_SLOT(dlpark__py_tensor_subscript)},
        {Py_mp_ass_subscript, OBJECT_SLOT(dlpark__py_tensor_assign)},
        {Py_sq_length, OBJECT_SLOT(object_length)},
        {Py_sq_item, OBJECT_SLOT(dlpark__py_tensor_at)},
        {Py_sq_contains, OBJECT_SLOT(dlpark__py_tensor_contains)},
        {Py_nb_bool, OBJECT_SLOT(dlpark__py_tensor_bool)},
        {Py_nb_int, OBJECT_SLOT(dlpark__py_tensor_int)},
        {Py_nb_float, OBJECT_SLOT(dlpark__py_tensor_float)},
        {Py_nb_index, OBJECT_SLOT(dlpark__py_tensor_index)},
        {Py_bf_getbuffer, OBJECT_SLOT(dlpark__py_buffer_get)},
        {Py_bf_releasebuffer, OBJECT_SLOT(dlpark__py_buffer_release)},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "dlpark.Tensor",
        .basicsize = (int)sizeof(tensor_object),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };

    return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}
