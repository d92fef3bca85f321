/*
 * Other Tensors of the same memory: the dimensions in another order or number.
 */
#include "arguments.h"
#include "tensor_methods.h"

/* ---- Order ---- */

const char dlpark__py_tensor_permute_doc[] =
    "permute($self, /, *dims)\n--\n\n"
    "The dimensions in another order.\n\n"
    "Parameters\n"
    "----------\n"
    "*dims : int\n"
    "    Every dimension once, from the end where it is negative; also as one tuple. Dimension i of the result is\n"
    "    dimension dims[i].\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    A dimension is missing, there twice, or out of range.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.zeros((480, 640, 3), np.uint8)).permute(2, 0, 1).shape\n"
    "(3, 480, 640)";

PyObject *dlpark__py_tensor_permute(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const dlpark__py_signature signature = {.function = "permute"};
    dlpark_view view;
    dlpark_error err;
    axis_list axes;
    int order[DLPARK_MAX_NDIM];

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, 0, keyword_names, NULL) < 0 ||
        dlpark__py_axes("dims", args, nargs, view.ndim, true, &axes) < 0)
        return NULL;
    for (int32_t i = 0; i < axes.count; i++)
        order[i] = axes.values[i];
    dlpark_status status = dlpark_view_permute(&view, axes.count, order, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

const char dlpark__py_tensor_transpose_doc[] =
    "transpose($self, /, dim1, dim2)\n--\n\n"
    "Two dimensions change places, as PyTorch's method; NumPy calls it swapaxes.\n\n"
    "Parameters\n"
    "----------\n"
    "dim1, dim2 : int\n"
    "    From the end where they are negative. They may be the same.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    A dimension is out of range.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.zeros((2, 3, 4))).transpose(0, -1).shape\n"
    "(4, 3, 2)";

PyObject *dlpark__py_tensor_transpose(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"dim1", "dim2"};
    static const dlpark__py_signature signature = {"transpose", names, 2, 2, 2};
    PyObject *values[2] = {NULL};
    dlpark_view view;
    dlpark_error err;
    int32_t dims[2];

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, values) < 0 ||
        dlpark__py_axis(values[0], "dim1", view.ndim, &dims[0]) < 0 ||
        dlpark__py_axis(values[1], "dim2", view.ndim, &dims[1]) < 0)
        return NULL;
    dlpark_status status = dlpark_view_transpose(&view, dims[0], dims[1], &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

PyObject *dlpark__py_tensor_get_transposed(PyObject *self, void *closure)
{
    dlpark_view view;
    dlpark_error err;
    int order[DLPARK_MAX_NDIM];

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    for (int32_t i = 0; i < view.ndim; i++)
        order[i] = view.ndim - 1 - i;
    dlpark_status status = dlpark_view_permute(&view, view.ndim, order, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

PyObject *dlpark__py_tensor_get_matrix_transposed(PyObject *self, void *closure)
{
    dlpark_view view;
    dlpark_error err;

    (void)closure;
    dlpark__py_tensor_describe(self, &view);
    if (view.ndim < 2)
        return PyErr_Format(PyExc_ValueError, "mT needs two dimensions or more, and the rank is %d", (int)view.ndim);
    dlpark_status status = dlpark_view_transpose(&view, -2, -1, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

const char dlpark__py_tensor_flip_doc[] =
    "flip($self, /, axis=None)\n--\n\n"
    "Dimensions back to front.\n\n"
    "Parameters\n"
    "----------\n"
    "axis : int or tuple of int, optional\n"
    "    Which; all of them by default.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory, with negative strides. PyTorch and TensorFlow do not take those: copy() first.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    A dimension is out of range, or there twice.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.array([1, 2, 3])).flip().tolist()\n"
    "[3, 2, 1]";

PyObject *dlpark__py_tensor_flip(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"axis"};
    static const dlpark__py_signature signature = {"flip", names, 1, 1, 0};
    PyObject *axis = NULL;
    dlpark_view view;
    dlpark_error err;
    axis_list axes;
    dlpark_status status = DLPARK_OK;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, &axis) < 0 ||
        dlpark__py_axes_or_all(axis, view.ndim, &axes) < 0)
        return NULL;
    for (int32_t i = 0; status == DLPARK_OK && i < axes.count; i++)
        status = dlpark_view_flip(&view, axes.values[i], &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

/* ---- Fewer or more dimensions ---- */

const char dlpark__py_tensor_squeeze_doc[] = "squeeze($self, /, axis=None)\n--\n\n"
                                             "Leave out dimensions of extent 1.\n\n"
                                             "Parameters\n"
                                             "----------\n"
                                             "axis : int or tuple of int, optional\n"
                                             "    Which; every one of extent 1 by default.\n\n"
                                             "Returns\n"
                                             "-------\n"
                                             "Tensor\n"
                                             "    Of the same memory.\n\n"
                                             "Raises\n"
                                             "------\n"
                                             "ValueError\n"
                                             "    A dimension is out of range, there twice, or of another extent.\n\n"
                                             "Examples\n"
                                             "--------\n"
                                             ">>> dlpark.from_dlpack(np.zeros((1, 3, 1))).squeeze(0).shape\n"
                                             "(3, 1)";

PyObject *dlpark__py_tensor_squeeze(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"axis"};
    static const dlpark__py_signature signature = {"squeeze", names, 1, 1, 0};
    PyObject *axis = Py_None;
    dlpark_view view;
    dlpark_error err;
    axis_list axes;
    dlpark_status status = DLPARK_OK;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, &axis) < 0)
        return NULL;
    if (axis == Py_None) {
        dlpark_view_squeeze_all(&view);
        return dlpark__py_tensor_part(self, &view);
    }
    if (dlpark__py_axes("axis", &axis, 1, view.ndim, false, &axes) < 0)
        return NULL;
    for (int32_t i = view.ndim - 1; status == DLPARK_OK && i >= 0; i--) /* from the end, so that numbers stay */
        if ((axes.named >> i & 1) != 0)
            status = dlpark_view_squeeze(&view, i, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

const char dlpark__py_tensor_expand_dims_doc[] =
    "expand_dims($self, /, axis)\n--\n\n"
    "Insert dimensions of extent 1.\n\n"
    "Parameters\n"
    "----------\n"
    "axis : int or tuple of int\n"
    "    Where they are to be in the result, from its end where they are negative.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    A place is out of range or there twice, or the rank would be above 64.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.zeros((2, 3))).expand_dims((0, -1)).shape\n"
    "(1, 2, 3, 1)";

PyObject *dlpark__py_tensor_expand_dims(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *keyword_names)
{
    static const char *const names[] = {"axis"};
    static const dlpark__py_signature signature = {"expand_dims", names, 1, 1, 1};
    PyObject *axis = NULL;
    dlpark_view view;
    dlpark_error err;
    integer_list given;
    axis_list axes;
    dlpark_status status = DLPARK_OK;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, &axis) < 0 ||
        dlpark__py_integers("axis", &axis, 1, &given) < 0)
        return NULL;
    int32_t ndim = view.ndim + given.count;
    if (ndim > DLPARK_MAX_NDIM)
        return PyErr_Format(PyExc_ValueError, "the rank is %d, and %d more would be above %d", (int)view.ndim,
                            (int)given.count, DLPARK_MAX_NDIM);
    if (dlpark__py_axes("axis", &axis, 1, ndim, false, &axes) < 0)
        return NULL;
    for (int32_t i = 0; status == DLPARK_OK && i < ndim; i++)
        if ((axes.named >> i & 1) != 0)
            status = dlpark_view_expand_dims(&view, i, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

const char dlpark__py_tensor_broadcast_to_doc[] =
    "broadcast_to($self, /, shape)\n--\n\n"
    "Repeat dimensions of extent 1, and add dimensions in front.\n\n"
    "Parameters\n"
    "----------\n"
    "shape : int or tuple of int\n"
    "    What the result shall have.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    Of the same memory, with strides of 0 where it is repeated; read-only.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    The shape does not fit, or the elements, counted singly, leave 63 bits.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.array([1, 2])).broadcast_to((3, 2)).tolist()\n"
    "[[1, 2], [1, 2], [1, 2]]";

PyObject *dlpark__py_tensor_broadcast_to(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                         PyObject *keyword_names)
{
    static const char *const names[] = {"shape"};
    static const dlpark__py_signature signature = {"broadcast_to", names, 1, 1, 1};
    PyObject *shape = NULL;
    dlpark_view view;
    dlpark_error err;
    integer_list extents;

    if (dlpark__py_bind(&signature, args, nargs, keyword_names, &shape) < 0 ||
        dlpark__py_integers("shape", &shape, 1, &extents) < 0)
        return NULL;
    dlpark__py_tensor_describe(self, &view);
    dlpark_status status = dlpark_view_broadcast(&view, extents.count, extents.values, &err);
    view.flags |= DLPARK_VIEW_READ_ONLY; /* who writes one element writes many */
    return dlpark__py_tensor_finish(self, &view, status, &err);
}
