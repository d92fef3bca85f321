/*
 * Elements of a Tensor as Python objects: one of them, all of them, and what int() and its like ask for.
 */
#include "arguments.h"
#include "tensor_methods.h"

/* ---- One scalar ---- */

/* (high << 64) | low, where `high` is above 64 bits and has the sign. */
static PyObject *value_wide(PyObject *high, PyObject *low)
{
    PyObject *width = PyLong_FromLong(64);
    PyObject *shifted = width != NULL ? PyNumber_Lshift(high, width) : NULL;
    PyObject *result = shifted != NULL ? PyNumber_Or(shifted, low) : NULL;

    Py_XDECREF(width);
    Py_XDECREF(shifted);
    return result;
}

static PyObject *value_integer(const dlpark_scalar *scalar)
{
    bool is_signed = scalar->kind == DLPARK_SCALAR_INT;
    int64_t whole = (int64_t)scalar->low;
    uint64_t extension = is_signed && whole < 0 ? UINT64_MAX : 0;

    if (scalar->high == extension)
        return is_signed ? PyLong_FromLongLong(whole) : PyLong_FromUnsignedLongLong(scalar->low);
    PyObject *high = is_signed ? PyLong_FromLongLong((int64_t)scalar->high) : PyLong_FromUnsignedLongLong(scalar->high);
    PyObject *low = high != NULL ? PyLong_FromUnsignedLongLong(scalar->low) : NULL;
    PyObject *result = low != NULL ? value_wide(high, low) : NULL;
    Py_XDECREF(high);
    Py_XDECREF(low);
    return result;
}

PyObject *dlpark__py_scalar_object(const dlpark_scalar *scalar)
{
    switch (scalar->kind) {
    case DLPARK_SCALAR_BOOL:
        return PyBool_FromLong(scalar->low != 0);
    case DLPARK_SCALAR_INT:
    case DLPARK_SCALAR_UINT:
        return value_integer(scalar);
    case DLPARK_SCALAR_COMPLEX:
        return PyComplex_FromDoubles(scalar->re, scalar->im);
    case DLPARK_SCALAR_OPAQUE:
        return PyBytes_FromStringAndSize((const char *)scalar->raw, (Py_ssize_t)scalar->nbytes);
    default:
        return PyFloat_FromDouble(scalar->re);
    }
}

/* An element: a list of its lanes where there are several. */
static PyObject *value_element(const dlpark_view *view, int64_t at)
{
    Py_ssize_t lanes = view->dtype.lanes;
    dlpark_scalar scalar;

    if (lanes == 1) {
        dlpark_element_load(view, at, 0, &scalar);
        return dlpark__py_scalar_object(&scalar);
    }
    PyObject *list = PyList_New(lanes);
    for (Py_ssize_t i = 0; list != NULL && i < lanes; i++) {
        dlpark_element_load(view, at, (uint32_t)i, &scalar);
        PyObject *value = dlpark__py_scalar_object(&scalar);
        if (value == NULL || PyList_SetItem(list, i, value) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* ---- All of them ---- */

const char dlpark__py_tensor_tolist_doc[] =
    "tolist($self, /)\n--\n\n"
    "The elements as Python objects, in lists of lists.\n\n"
    "Returns\n"
    "-------\n"
    "object\n"
    "    A list for each dimension; the lone element of a rank of 0. An element is a bool, int, float or complex,\n"
    "    exactly, whatever the width: a float128 alone is rounded. It is a list of its lanes where there are\n"
    "    several, and bytes where it is opaque.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    The memory is out of the host's reach.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.array([[1.5, 2], [3, 4]], np.float16)).tolist()\n"
    "[[1.5, 2.0], [3.0, 4.0]]";

/* Modulo 2^64: strides that mean nothing, as without elements, may be any number. */
static int64_t value_move(int64_t at, int64_t count, int64_t stride)
{
    return (int64_t)((uint64_t)at + (uint64_t)count * (uint64_t)stride);
}

static PyObject *value_nested(const dlpark_view *view, int32_t dim, int64_t at)
{
    if (dim == view->ndim)
        return value_element(view, at);
    int64_t extent = view->shape[dim];
    PyObject *list = extent <= PY_SSIZE_T_MAX ? PyList_New((Py_ssize_t)extent) : PyErr_NoMemory();
    for (Py_ssize_t i = 0; list != NULL && i < extent; i++) {
        PyObject *value = value_nested(view, dim + 1, value_move(at, i, view->strides[dim]));
        if (value == NULL || PyList_SetItem(list, i, value) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *dlpark__py_tensor_tolist(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const dlpark__py_signature signature = {.function = "tolist"};
    dlpark_view view;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, NULL) < 0 ||
        dlpark__py_require_host(&view, "tolist()") < 0)
        return NULL;
    return value_nested(&view, 0, 0);
}

/* ---- One of them ---- */

const char dlpark__py_tensor_item_doc[] =
    "item($self, /, *index)\n--\n\n"
    "One element as a Python object.\n\n"
    "Parameters\n"
    "----------\n"
    "*index : int\n"
    "    An index for each dimension; or one alone, which counts the elements in row-major order. Also as one tuple.\n"
    "    Nothing where there is one element.\n\n"
    "Returns\n"
    "-------\n"
    "object\n"
    "    As tolist() gives it.\n\n"
    "Raises\n"
    "------\n"
    "ValueError\n"
    "    Nothing is given, and there is not exactly one element; or there are not as many indices as dimensions.\n"
    "IndexError\n"
    "    An index is out of range.\n"
    "TypeError\n"
    "    The memory is out of the host's reach.\n\n"
    "Examples\n"
    "--------\n"
    ">>> t = dlpark.from_dlpack(np.arange(6).reshape(2, 3))\n"
    ">>> t.item(1, -1), t.item(3), t[0, 0].item()\n"
    "(5, 3, 0)";

/* Where the one element of a tensor lies; -1 with an exception of that class. */
static int value_only(const dlpark_view *view, const char *what, PyObject *exception)
{
    int64_t numel = dlpark_view_numel(view);

    if (numel == 1)
        return 0;
    PyErr_Format(exception, "%s needs a tensor of one element, and this has %lld", what, (long long)numel);
    return -1;
}

/* Row-major order, counted over all dimensions. */
static int value_flat(const dlpark_view *view, int64_t index, int64_t *at)
{
    int64_t numel = dlpark_view_numel(view);
    int64_t rest = index < 0 ? index + numel : index;

    if (rest < 0 || rest >= numel) {
        PyErr_Format(PyExc_IndexError, "index %lld is out of range for %lld elements", (long long)index,
                     (long long)numel);
        return -1;
    }
    *at = 0;
    for (int32_t i = view->ndim - 1; i >= 0; i--) {
        *at = value_move(*at, rest % view->shape[i], view->strides[i]);
        rest /= view->shape[i];
    }
    return 0;
}

static int value_place(const dlpark_view *view, const integer_list *index, int64_t *at)
{
    *at = 0;
    for (int32_t i = 0; i < view->ndim; i++) {
        int64_t extent = view->shape[i];
        int64_t place = index->values[i] < 0 ? index->values[i] + extent : index->values[i];
        if (place < 0 || place >= extent) {
            PyErr_Format(PyExc_IndexError, "index %lld is out of range for dimension %d with extent %lld",
                         (long long)index->values[i], (int)i, (long long)extent);
            return -1;
        }
        *at = value_move(*at, place, view->strides[i]);
    }
    return 0;
}

static int value_find(const dlpark_view *view, const integer_list *index, int64_t *at)
{
    *at = 0;
    if (index->count == 0)
        return value_only(view, "item() without an index", PyExc_ValueError);
    if (index->count == view->ndim)
        return value_place(view, index, at);
    if (index->count == 1)
        return value_flat(view, index->values[0], at);
    PyErr_Format(PyExc_ValueError, "item() has %d indices for a tensor of rank %d", (int)index->count, (int)view->ndim);
    return -1;
}

PyObject *dlpark__py_tensor_item(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const dlpark__py_signature signature = {.function = "item"};
    dlpark_view view;
    integer_list index;
    int64_t at;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args + nargs, 0, keyword_names, NULL) < 0 ||
        dlpark__py_integers("index", args, nargs, &index) < 0 || dlpark__py_require_host(&view, "item()") < 0 ||
        value_find(&view, &index, &at) < 0)
        return NULL;
    return value_element(&view, at);
}

/* ---- Numbers ---- */

/* The one element, a number. `several` is raised where there are more, or none. */
static PyObject *value_number(PyObject *self, const char *what, PyObject *several)
{
    dlpark_view view;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_require_host(&view, what) < 0 || value_only(&view, what, several) < 0)
        return NULL;
    if (view.dtype.lanes > 1 || view.dtype.code == kDLOpaqueHandle)
        return PyErr_Format(PyExc_TypeError, "%s: an element of %s is no number", what,
                            dlpark_dtype_long_name(view.dtype).text);
    return value_element(&view, 0);
}

/* What `convert` makes of the one element. */
static PyObject *value_converted(PyObject *self, const char *what, PyObject *(*convert)(PyObject *))
{
    PyObject *number = value_number(self, what, PyExc_TypeError);
    PyObject *result = number != NULL ? convert(number) : NULL;

    Py_XDECREF(number);
    return result;
}

PyObject *dlpark__py_tensor_int(PyObject *self)
{
    return value_converted(self, "int()", PyNumber_Long);
}

PyObject *dlpark__py_tensor_float(PyObject *self)
{
    return value_converted(self, "float()", PyNumber_Float);
}

static PyObject *value_as_complex(PyObject *number)
{
    if (PyComplex_Check(number))
        return Py_NewRef(number);
    PyObject *real = PyNumber_Float(number);
    PyObject *result = real != NULL ? PyComplex_FromDoubles(PyFloat_AsDouble(real), 0) : NULL;
    Py_XDECREF(real);
    return result;
}

const char dlpark__py_tensor_complex_doc[] = "__complex__($self, /)\n--\n\n"
                                             "The one element as a complex number, for complex().";

PyObject *dlpark__py_tensor_complex(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return value_converted(self, "complex()", value_as_complex);
}

int dlpark__py_tensor_bool(PyObject *self)
{
    PyObject *number = value_number(self, "bool()", PyExc_ValueError);
    int truth = number != NULL ? PyObject_IsTrue(number) : -1;

    Py_XDECREF(number);
    return truth;
}

PyObject *dlpark__py_tensor_index(PyObject *self)
{
    dlpark_view view;

    dlpark__py_tensor_describe(self, &view);
    bool is_integer = (view.dtype.code == kDLInt || view.dtype.code == kDLUInt) && view.dtype.lanes == 1;
    if (!is_integer || view.ndim != 0)
        return PyErr_Format(PyExc_TypeError,
                            "only a tensor of integers and of rank 0 stands for an integer, not %s of "
                            "rank %d",
                            dlpark_dtype_long_name(view.dtype).text, (int)view.ndim);
    return value_number(self, "an index", PyExc_TypeError);
}
