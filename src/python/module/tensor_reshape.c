/*
 * Other Tensors of the same memory: another shape, a part of it, another dtype.
 */
#include "arguments.h"
#include "dtype_object.h"
#include "tensor_methods.h"

/* ---- Another shape ---- */

const char dlpark__py_tensor_reshape_doc[] =
    "reshape($self, /, *shape, copy=None)\n--\n\n"
    "Another shape for the same elements, in row-major order.\n\n"
    "Parameters\n"
    "----------\n"
    "*shape : int\n"
    "    The extents; also as one tuple. One may be -1: it is computed.\n"
    "copy : bool, optional\n"
    "    True always copies, False never does; by default the memory is shared unless no strides can say it.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory, or compact in memory of its own.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    The shape has another number of elements; or it needs a copy, and copy=False: the message says which\n"
    "    dimension is in the way.\n"
    "TypeError\n"
    "    It needs a copy, and the memory is out of the host's reach.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.arange(6)).reshape(2, -1).tolist()\n"
    "[[0, 1, 2], [3, 4, 5]]";

/* `view` is what is copied. */
static PyObject *reshape_copied(PyObject *self, const dlpark_view *view, const integer_list *shape)
{
    dlpark_tensor copy = DLPARK_TENSOR_EMPTY, shaped = DLPARK_TENSOR_EMPTY;
    dlpark_view whole;
    dlpark_error err;

    if (dlpark__py_require_host(view, "a copy") < 0 || dlpark__py_copy(view, &copy) < 0)
        return NULL;
    dlpark_tensor_view(&copy, &whole);
    dlpark_status status = dlpark_view_reshape(&whole, shape->count, shape->values, &err);
    if (status == DLPARK_OK)
        status = dlpark_tensor_share(&shaped, &copy, &whole, &err);
    dlpark_tensor_release(&copy);
    return status == DLPARK_OK ? dlpark__py_tensor_made(self, &shaped) : dlpark__py_raise_value(&err);
}

PyObject *dlpark__py_tensor_reshape(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"copy"};
    static const dlpark__py_signature signature = {"reshape", names, 1, 0, 0};
    PyObject *value = NULL;
    dlpark_view view, whole;
    dlpark_error err;
    dlpark_py_copy copy;
    integer_list shape;

    if (dlpark__py_bind(&signature, args + nargs, 0, keyword_names, &value) < 0 ||
        dlpark__py_read_copy(value, &copy) < 0 || dlpark__py_integers("shape", args, nargs, &shape) < 0)
        return NULL;
    dlpark__py_tensor_describe(self, &view);
    dlpark_view_copy(&whole, &view);
    dlpark_status status = dlpark_view_reshape(&view, shape.count, shape.values, &err);
    bool needs_copy = status == DLPARK_E_LAYOUT;
    if ((needs_copy && copy != DLPARK_PY_COPY_NEVER) || (status == DLPARK_OK && copy == DLPARK_PY_COPY_ALWAYS))
        return reshape_copied(self, &whole, &shape);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

/* ---- Parts ---- */

const char dlpark__py_tensor_diagonal_doc[] =
    "diagonal($self, /, offset=0, axis1=0, axis2=1)\n--\n\n"
    "The diagonal of two dimensions: both go away, and it becomes the last.\n\n"
    "Parameters\n"
    "----------\n"
    "offset : int\n"
    "    Above the main diagonal, below it where it is negative.\n"
    "axis1, axis2 : int\n"
    "    The two dimensions.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    A dimension is out of range, or both are the same.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.arange(9).reshape(3, 3)).diagonal(1).tolist()\n"
    "[1, 5]";

/* An offset beyond every extent is as far out as any other. */
static int reshape_offset(PyObject *object, int64_t *out)
{
    int overflow;

    *out = 0;
    if (object == NULL)
        return 0;
    if (dlpark__py_integer(object, "offset", out, &overflow) < 0)
        return -1;
    if (overflow != 0)
        *out = overflow > 0 ? INT64_MAX : -INT64_MAX;
    return 0;
}

static int reshape_axis_or(PyObject *object, int32_t otherwise, const char *what, int32_t ndim, int32_t *out)
{
    *out = otherwise;
    return object == NULL ? 0 : dlpark__py_axis(object, what, ndim, out);
}

PyObject *dlpark__py_tensor_diagonal(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"offset", "axis1", "axis2"};
    static const dlpark__py_signature signature = {"diagonal", names, 3, 3, 0};
    PyObject *values[3] = {NULL};
    dlpark_view view;
    dlpark_error err;
    int64_t offset;
    int32_t axis1, axis2;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, values) < 0 || reshape_offset(values[0], &offset) < 0)
        return NULL;
    if (view.ndim < 2)
        return PyErr_Format(PyExc_ValueError, "a diagonal needs two dimensions, and the rank is %d", (int)view.ndim);
    if (reshape_axis_or(values[1], 0, "axis1", view.ndim, &axis1) < 0 ||
        reshape_axis_or(values[2], 1, "axis2", view.ndim, &axis2) < 0)
        return NULL;
    dlpark_status status = dlpark_view_diagonal(&view, offset, axis1, axis2, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

const char dlpark__py_tensor_sliding_window_view_doc[] =
    "sliding_window_view($self, /, window_shape, axis=None)\n--\n\n"
    "Windows that slide along dimensions.\n\n"
    "Parameters\n"
    "----------\n"
    "window_shape : int or tuple of int\n"
    "    The extents of a window, which become the last dimensions.\n"
    "axis : int or tuple of int, optional\n"
    "    The dimension for each extent; all of them, in order, by default.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory, whose elements are in several windows; read-only.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    A window does not fit, a dimension is out of range, or there are not as many of one as of the other.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.arange(4)).sliding_window_view(3).tolist()\n"
    "[[0, 1, 2], [1, 2, 3]]";

PyObject *dlpark__py_tensor_sliding_window_view(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                                PyObject *keyword_names)
{
    static const char *const names[] = {"window_shape", "axis"};
    static const dlpark__py_signature signature = {"sliding_window_view", names, 2, 2, 1};
    PyObject *values[2] = {NULL, Py_None};
    dlpark_view view;
    dlpark_error err;
    integer_list sizes;
    axis_list axes;
    dlpark_status status = DLPARK_OK;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, values) < 0 ||
        dlpark__py_integers("window_shape", &values[0], 1, &sizes) < 0)
        return NULL;
    int named = values[1] == Py_None ? dlpark__py_axes_or_all(NULL, view.ndim, &axes)
                                     : dlpark__py_axes("axis", &values[1], 1, view.ndim, true, &axes);
    if (named < 0)
        return NULL;
    if (sizes.count != axes.count)
        return PyErr_Format(PyExc_ValueError, "window_shape has %d extents for %d dimensions", (int)sizes.count,
                            (int)axes.count);
    for (int32_t i = 0; status == DLPARK_OK && i < sizes.count; i++)
        status = dlpark_view_window(&view, axes.values[i], sizes.values[i], 1, &err);
    view.flags |= DLPARK_VIEW_READ_ONLY; /* who writes one window writes others */
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

/* ---- Another dtype ---- */

const char dlpark__py_tensor_view_doc[] =
    "view($self, /, dtype)\n--\n\n"
    "The same bytes as elements of another type.\n\n"
    "Parameters\n"
    "----------\n"
    "dtype : str or dtype\n"
    "    A name, such as 'uint16', or a dtype of NumPy, ml_dtypes or PyTorch. One of another width takes the last\n"
    "    dimension apart or puts it together; that must then be contiguous.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    `dtype` is none that DLPack has.\n"
    "ValueError\n"
    "    The last dimension is not contiguous, or no whole number of new elements.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.array([1.0], np.float32)).view('uint32').tolist()\n"
    "[1065353216]";

PyObject *dlpark__py_tensor_view(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"dtype"};
    static const dlpark__py_signature signature = {"view", names, 1, 1, 1};
    PyObject *value = NULL;
    DLDataType dtype;
    dlpark_view view;
    dlpark_error err;

    if (dlpark__py_bind(&signature, args, nargs, keyword_names, &value) < 0 ||
        dlpark__py_dtype(value, "dtype", &dtype) < 0)
        return NULL;
    dlpark__py_tensor_describe(self, &view);
    dlpark_status status = dlpark_view_reinterpret(&view, dtype, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

static bool reshape_is_complex(const dlpark_view *view)
{
    return view->dtype.code == kDLComplex;
}

static PyObject *reshape_refuse_part(const dlpark_view *view, const char *part)
{
    return PyErr_Format(PyExc_TypeError, "%s has no %s parts", dlpark_dtype_long_name(view->dtype).text, part);
}

PyObject *dlpark__py_tensor_get_real(PyObject *self, void *closure)
{
    dlpark_view view;
    dlpark_error err;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    if (view.dtype.code == kDLOpaqueHandle)
        return reshape_refuse_part(&view, "real");
    if (!reshape_is_complex(&view))
        return Py_NewRef(self);
    dlpark_status status = dlpark_view_real(&view, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

PyObject *dlpark__py_tensor_get_imag(PyObject *self, void *closure)
{
    dlpark_view view;
    dlpark_error err;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    if (!reshape_is_complex(&view))
        return reshape_refuse_part(&view, "imaginary");
    dlpark_status status = dlpark_view_imag(&view, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}
