/*
 * Arguments of the methods of Tensor, and exceptions as NumPy has them.
 */
#include "arguments.h"

/* ---- Exceptions ---- */

PyObject *dlpark__py_raise_as(PyObject *exception, const dlpark_error *err)
{
    if (err->status == DLPARK_E_MEMORY)
        exception = PyExc_MemoryError;
    return PyErr_Format(exception, "%s", err->message);
}

PyObject *dlpark__py_raise_value(const dlpark_error *err)
{
    return dlpark__py_raise_as(err->status == DLPARK_E_INDEX ? PyExc_IndexError : PyExc_ValueError, err);
}

int dlpark__py_require_host(const dlpark_view *view, const char *what)
{
    if (dlpark__py_is_host(view->device))
        return 0;
    dlpark_name device = dlpark_device_name(view->device);
    PyErr_Format(PyExc_TypeError, "%s reads the elements, and the tensor is on %s, out of the host's reach%s", what,
                 device.text, dlpark__py_host_hint(view->device));
    return -1;
}

/* ---- Binding ---- */

static int bind_keyword(const dlpark__py_signature *signature, Py_ssize_t nargs, PyObject *name, PyObject *value,
                        PyObject **values)
{
    for (Py_ssize_t i = 0; i < signature->count; i++) {
        if (PyUnicode_CompareWithASCIIString(name, signature->names[i]) != 0)
            continue;
        if (i < nargs) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'", signature->function,
                         signature->names[i]);
            return -1;
        }
        values[i] = value;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", signature->function, name);
    return -1;
}

int dlpark__py_bind(const dlpark__py_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *keyword_names, PyObject **values)
{
    Py_ssize_t nkeywords = keyword_names != NULL ? PyTuple_Size(keyword_names) : 0;

    if (nargs > signature->npositional) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd positional argument%s, %zd were given", signature->function,
                     signature->npositional, signature->npositional == 1 ? "" : "s", nargs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < nargs; i++)
        values[i] = args[i];
    for (Py_ssize_t i = 0; i < nkeywords; i++)
        if (bind_keyword(signature, nargs, PyTuple_GetItem(keyword_names, i), args[nargs + i], values) < 0)
            return -1;
    for (Py_ssize_t i = 0; i < signature->nrequired; i++) {
        if (values[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", signature->function,
                         signature->names[i]);
            return -1;
        }
    }
    return 0;
}

/* ---- Integers ---- */

int dlpark__py_integer(PyObject *object, const char *what, int64_t *out, int *overflow)
{
    PyObject *integer = PyBool_Check(object) || !PyIndex_Check(object) ? NULL : PyNumber_Index(object);

    if (integer == NULL) {
        if (PyErr_Occurred() != NULL && !PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        dlpark_name type = dlpark__py_type_name(object);
        PyErr_Format(PyExc_TypeError, "%s must be an integer, not %s", what, type.text);
        return -1;
    }
    *out = PyLong_AsLongLongAndOverflow(integer, overflow);
    Py_DECREF(integer);
    return 0;
}

static int arguments_integer(PyObject *object, const char *what, int64_t *out)
{
    int overflow;

    if (dlpark__py_integer(object, what, out, &overflow) < 0)
        return -1;
    if (overflow == 0)
        return 0;
    PyObject *integer = PyNumber_Index(object);
    if (integer != NULL)
        PyErr_Format(PyExc_ValueError, "%s is %s: more than 64 bits", what, dlpark__py_integer_text(integer).text);
    Py_XDECREF(integer);
    return -1;
}

static bool arguments_is_list(PyObject *object)
{
    return PyTuple_Check(object) || PyList_Check(object);
}

/* The entries of a tuple or list as a tuple of its own, which no foreign code can change. */
static PyObject *arguments_entries(PyObject *list)
{
    return PyTuple_CheckExact(list) ? Py_NewRef(list) : PySequence_Tuple(list);
}

static int arguments_check_count(const char *what, Py_ssize_t count)
{
    if (count <= DLPARK_MAX_NDIM)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries, at most %d dimensions are possible", what, count,
                 DLPARK_MAX_NDIM);
    return -1;
}

static int arguments_read_tuple(const char *what, PyObject *list, integer_list *out)
{
    PyObject *entries = arguments_entries(list);
    Py_ssize_t count = entries != NULL ? PyTuple_Size(entries) : 0;
    int status = entries != NULL ? arguments_check_count(what, count) : -1;

    for (Py_ssize_t i = 0; status == 0 && i < count; i++)
        status = arguments_integer(PyTuple_GetItem(entries, i), what, &out->values[i]);
    out->count = (int32_t)count;
    Py_XDECREF(entries);
    return status;
}

int dlpark__py_integers(const char *what, PyObject *const *args, Py_ssize_t nargs, integer_list *out)
{
    if (nargs == 1 && arguments_is_list(args[0]))
        return arguments_read_tuple(what, args[0], out);
    if (arguments_check_count(what, nargs) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (arguments_integer(args[i], what, &out->values[i]) < 0)
            return -1;
    out->count = (int32_t)nargs;
    return 0;
}

/* ---- Dimensions ---- */

static int arguments_axis_of(int64_t value, const char *what, int32_t ndim, int32_t *out)
{
    if (value >= -ndim && value < ndim) {
        *out = (int32_t)(value < 0 ? value + ndim : value);
        return 0;
    }
    if (ndim == 0)
        PyErr_Format(PyExc_ValueError, "%s is %lld, and a tensor of rank 0 has no dimension", what, (long long)value);
    else
        PyErr_Format(PyExc_ValueError, "%s is %lld, expected %d to %d for a rank of %d", what, (long long)value,
                     (int)-ndim, (int)(ndim - 1), (int)ndim);
    return -1;
}

int dlpark__py_axis(PyObject *object, const char *what, int32_t ndim, int32_t *out)
{
    int64_t value;

    if (arguments_integer(object, what, &value) < 0)
        return -1;
    return arguments_axis_of(value, what, ndim, out);
}

int dlpark__py_axes(const char *what, PyObject *const *args, Py_ssize_t nargs, int32_t ndim, bool repeated,
                    axis_list *out)
{
    integer_list given;

    out->named = 0;
    if (dlpark__py_integers(what, args, nargs, &given) < 0)
        return -1;
    for (int32_t i = 0; i < given.count; i++) {
        if (arguments_axis_of(given.values[i], what, ndim, &out->values[i]) < 0)
            return -1;
        uint64_t bit = UINT64_C(1) << out->values[i];
        if ((out->named & bit) != 0 && !repeated) {
            PyErr_Format(PyExc_ValueError, "%s names dimension %d twice", what, (int)out->values[i]);
            return -1;
        }
        out->named |= bit;
    }
    out->count = given.count;
    return 0;
}

int dlpark__py_axes_or_all(PyObject *axis, int32_t ndim, axis_list *out)
{
    if (axis != NULL && axis != Py_None)
        return dlpark__py_axes("axis", &axis, 1, ndim, false, out);
    out->count = ndim;
    for (int32_t i = 0; i < ndim; i++)
        out->values[i] = i;
    return 0;
}
