/*
 * The tensor's memory by Python's buffer protocol (PEP 3118), and as a NumPy array.
 */
#include "module.h"
#include "tensor_methods.h"

/* ---- The buffer ---- */

static bool buffer_is_column_major(const dlpark_view *view)
{
    int64_t shape[DLPARK_MAX_NDIM];
    int64_t strides[DLPARK_MAX_NDIM];

    for (int32_t i = 0; i < view->ndim; i++) {
        shape[i] = view->shape[view->ndim - 1 - i];
        strides[i] = view->strides[view->ndim - 1 - i];
    }
    return dlpark_layout_is_compact(view->ndim, shape, strides);
}

static int buffer_refuse(PyObject *self, const char *reason)
{
    PyObject *head = dlpark__py_tensor_head(self);

    if (head != NULL)
        PyErr_Format(PyExc_BufferError, "%U: %s", head, reason);
    Py_XDECREF(head);
    return -1;
}

/* Whether the tensor has the form that the flags ask for. */
static int buffer_check(PyObject *self, const dlpark_view *view, int flags)
{
    bool is_read_only = (view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0;
    bool is_row_major = dlpark_view_is_compact(view);

    if (!dlpark__py_is_host(view->device)) {
        PyErr_Format(PyExc_BufferError, "%R: the memory is not accessible to the host%s", self,
                     dlpark__py_host_hint(view->device));
        return -1;
    }
    if (dlpark__py_format_of(view->dtype) == NULL)
        return buffer_refuse(self, "the buffer protocol has no format for this dtype");
    if ((flags & PyBUF_WRITABLE) && is_read_only)
        return buffer_refuse(self, "a writable buffer was asked for, and the memory must not be written");
    if (is_row_major)
        return (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !buffer_is_column_major(view)
                   ? buffer_refuse(self, "a column-major buffer was asked for")
                   : 0;
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES)
        return buffer_refuse(self, "a buffer without strides was asked for, and the elements are not compact");
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS)
        return buffer_refuse(self, "a row-major buffer was asked for");
    if (((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS ||
         (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS) &&
        !buffer_is_column_major(view))
        return buffer_refuse(self, "a contiguous buffer was asked for");
    return 0;
}

/*
 * Extents and strides as the protocol wants them, in one block that the release frees. A stride of an extent of 1, or
 * of a tensor without elements, may be any number: it is replaced, since times the item size it may overflow.
 */
static Py_ssize_t *buffer_dimensions(const dlpark_view *view, Py_ssize_t item_nbytes)
{
    bool is_empty = dlpark_view_numel(view) == 0;
    Py_ssize_t *dimensions = PyMem_Malloc(2 * sizeof(Py_ssize_t) * (size_t)view->ndim + 1);

    for (int32_t i = 0; dimensions != NULL && i < view->ndim; i++) {
        bool means_nothing = is_empty || view->shape[i] == 1;
        dimensions[i] = (Py_ssize_t)view->shape[i];
        dimensions[view->ndim + i] = means_nothing ? item_nbytes : (Py_ssize_t)view->strides[i] * item_nbytes;
    }
    return dimensions;
}

int dlpark__py_buffer_get(PyObject *self, Py_buffer *buffer, int flags)
{
    dlpark_view view;

    buffer->obj = NULL;
    dlpark_tensor_view(&((tensor_object *)self)->tensor, &view);
    if (buffer_check(self, &view, flags) < 0)
        return -1;
    Py_ssize_t item_nbytes = (Py_ssize_t)(dlpark_dtype_nbits(view.dtype) / 8);
    Py_ssize_t *dimensions = buffer_dimensions(&view, item_nbytes);
    if (dimensions == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    buffer->buf = view.data != NULL ? view.data : (void *)self; /* without elements: an address that nobody reads */
    buffer->len = (Py_ssize_t)dlpark_view_nbytes(&view);
    buffer->itemsize = item_nbytes;
    buffer->readonly = (view.flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0;
    buffer->ndim = flags & PyBUF_ND ? view.ndim : 0; /* as NumPy has it: who wants no shape need not mind the rank */
    /* The protocol's struct has no const; a consumer does not write to the format. */
    buffer->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)dlpark__py_format_of(view.dtype) : NULL;
    buffer->shape = flags & PyBUF_ND && view.ndim > 0 ? dimensions : NULL;
    buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES && view.ndim > 0 ? dimensions + view.ndim : NULL;
    buffer->suboffsets = NULL;
    buffer->internal = dimensions;
    buffer->obj = Py_NewRef(self);
    return 0;
}

void dlpark__py_buffer_release(PyObject *self, Py_buffer *buffer)
{
    (void)self;
    PyMem_Free(buffer->internal);
}

/* ---- NumPy ---- */

/* A NumPy array of the same memory. */
static PyObject *buffer_as_array(PyObject *self)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *memory = numpy != NULL ? PyMemoryView_FromObject(self) : NULL;
    PyObject *array = memory != NULL ? PyObject_CallMethod(numpy, "asarray", "O", memory) : NULL;

    Py_XDECREF(memory);
    Py_XDECREF(numpy);
    return array;
}

static int buffer_check_array(PyObject *self)
{
    dlpark_view view;

    dlpark_tensor_view(&((tensor_object *)self)->tensor, &view);
    if (!dlpark__py_is_host(view.device)) {
        dlpark_name device = dlpark_device_name(view.device);
        PyErr_Format(PyExc_TypeError, "the tensor is on %s, where NumPy cannot read it%s", device.text,
                     dlpark__py_host_hint(view.device));
        return -1;
    }
    if (dlpark__py_format_of(view.dtype) == NULL) {
        dlpark_name dtype = dlpark_dtype_long_name(view.dtype);
        PyErr_Format(PyExc_TypeError, "NumPy has no dtype for %s%s", dtype.text, dlpark__py_tensor_numpy_hint(&view));
        return -1;
    }
    return 0;
}

/* Whether the array is of the dtype that `wanted` names; -1 when it names none. */
static int buffer_is_dtype(PyObject *array, PyObject *wanted)
{
    PyObject *own = PyObject_GetAttrString(array, "dtype");
    PyObject *numpy = own != NULL ? PyImport_ImportModule("numpy") : NULL;
    PyObject *dtype = numpy != NULL ? PyObject_CallMethod(numpy, "dtype", "O", wanted) : NULL;
    int is_same = dtype != NULL ? PyObject_RichCompareBool(own, dtype, Py_EQ) : -1;

    Py_XDECREF(dtype);
    Py_XDECREF(numpy);
    Py_XDECREF(own);
    return is_same;
}

static PyObject *buffer_convert(PyObject *array, PyObject *dtype, dlpark_py_copy copy)
{
    int is_same = buffer_is_dtype(array, dtype);

    if (is_same < 0)
        return NULL;
    if (is_same && copy != DLPARK_PY_COPY_ALWAYS)
        return Py_NewRef(array);
    if (!is_same && copy == DLPARK_PY_COPY_NEVER)
        return PyErr_Format(PyExc_ValueError, "dtype %S needs a copy, and copy=False", dtype);
    return PyObject_CallMethod(array, "astype", "O", dtype);
}

PyObject *dlpark__py_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"dtype", "copy"};
    PyObject *values[2] = {NULL};
    dlpark_py_copy copy;

    if (nargs > 2)
        return PyErr_Format(PyExc_TypeError, "__array__() takes at most 2 arguments (%zd given)", nargs);
    for (Py_ssize_t i = 0; i < nargs; i++)
        values[i] = args[i];
    if (dlpark__py_keywords("__array__", args, nargs, keyword_names, names, values, 2) < 0 ||
        dlpark__py_read_copy(values[1], &copy) < 0 || buffer_check_array(self) < 0)
        return NULL;
    PyObject *array = buffer_as_array(self);
    if (array == NULL)
        return NULL;
    PyObject *result;
    if (values[0] != NULL && values[0] != Py_None)
        result = buffer_convert(array, values[0], copy);
    else
        result = copy == DLPARK_PY_COPY_ALWAYS ? PyObject_CallMethod(array, "copy", NULL) : Py_NewRef(array);
    Py_DECREF(array);
    return result;
}
