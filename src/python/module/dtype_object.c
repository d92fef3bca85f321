/*
 * Dtypes as Python's libraries give them: names, and objects that have one.
 */
#include <float.h>
#include <string.h>

#include "arguments.h"
#include "dtype_object.h"
#include "tensor_methods.h"

/* ---- Arguments ---- */

/* A string attribute; 0 where there is none. */
static int dtype_attribute(PyObject *object, const char *name, PyObject **out)
{
    *out = PyObject_GetAttrString(object, name);
    if (*out != NULL && PyUnicode_Check(*out))
        return 1;
    if (*out == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    Py_CLEAR(*out);
    return 0;
}

/* The name by which an object of a library calls itself: NumPy's dtypes have a `name`, scalar types a __name__, and the
 * dtypes of PyTorch and MLX are printed "torch.float32", "mlx.core.float32". */
static PyObject *dtype_name(PyObject *object)
{
    PyObject *name;

    if (PyUnicode_Check(object))
        return Py_NewRef(object);
    int found = dtype_attribute(object, "name", &name);
    if (found == 0)
        found = dtype_attribute(object, "__name__", &name);
    if (found == 0)
        name = PyObject_Str(object);
    return name;
}

/* Whether a NumPy dtype is of the other byte order; -1. */
static int dtype_is_swapped(PyObject *object)
{
    PyObject *native = PyObject_GetAttrString(object, "isnative");
    int status;

    if (native == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    status = native == Py_False;
    Py_DECREF(native);
    return status;
}

/* What NumPy makes of Python's own types; false for another object. */
static bool dtype_builtin(PyObject *object, DLDataType *out)
{
    if (object == (PyObject *)&PyFloat_Type)
        *out = DLPARK_F64;
    else if (object == (PyObject *)&PyLong_Type)
        *out = DLPARK_I64;
    else if (object == (PyObject *)&PyBool_Type)
        *out = DLPARK_BOOL;
    else if (object == (PyObject *)&PyComplex_Type)
        *out = DLPARK_C128;
    else
        return false;
    return true;
}

/* NumPy calls its long double so, whose 128 bits are those of IEEE on few machines. */
static bool dtype_is_long_double(const char *name)
{
    return LDBL_MANT_DIG != 113 && strcmp(name, "float128") == 0;
}

static int dtype_parse(PyObject *object, PyObject *name, const char *what, DLDataType *out)
{
    bool is_text = PyUnicode_Check(object);
    dlpark_error err;
    Py_ssize_t nbytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(name, &nbytes);

    if (utf8 == NULL)
        return -1;
    bool is_whole = strlen(utf8) == (size_t)nbytes;
    if (is_whole && (is_text || !dtype_is_long_double(utf8)) && dlpark_dtype_from_name(utf8, out, &err) == DLPARK_OK)
        return 0;
    if (is_whole && is_text) {
        PyErr_Format(PyExc_TypeError, "%s: %s", what, err.message);
        return -1;
    }
    /* Of a library that we do not know the long names are the same. */
    const char *dot = is_whole && !is_text ? strrchr(utf8, '.') : NULL;
    if (dot != NULL && dlpark_dtype_parse(dot + 1, out, NULL) == DLPARK_OK)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s is %R, expected one that DLPack has, by its name such as 'float32' or a library's own such as "
                 "numpy.float32",
                 what, object);
    return -1;
}

int dlpark__py_dtype(PyObject *object, const char *what, DLDataType *out)
{
    if (dtype_builtin(object, out))
        return 0;

    int swapped = PyUnicode_Check(object) ? 0 : dtype_is_swapped(object);
    PyObject *name = swapped == 0 ? dtype_name(object) : NULL;
    if (swapped > 0) {
        PyErr_Format(PyExc_TypeError, "%s is %R, of the other byte order, which DLPack cannot express", what, object);
        return -1;
    }
    if (name == NULL)
        return -1;
    int status = dtype_parse(object, name, what, out);
    dlpark__py_drop(name);
    return status;
}

/* ---- For dlpark.dtypes ---- */

const char dlpark__py_dtype_parts_doc[] =
    "_dtype_parts(dtype, /)\n--\n\n"
    "The long and the short name of a dtype of any library, and DLPack's code, bits and lanes.";

PyObject *dlpark__py_dtype_parts(PyObject *module, PyObject *object)
{
    DLDataType dtype;

    (void)module;
    if (dlpark__py_dtype(object, "dtype", &dtype) < 0)
        return NULL;
    return Py_BuildValue("(ssiii)", dlpark_dtype_long_name(dtype).text, dlpark_dtype_name(dtype).text, (int)dtype.code,
                         (int)dtype.bits, (int)dtype.lanes);
}

const char dlpark__py_dtype_limits_doc[] =
    "_dtype_limits(dtype, /)\n--\n\n"
    "The fields of dlpark.dtypes.Limits, a tuple. ValueError for a dtype that has none.";

PyObject *dlpark__py_dtype_limits(PyObject *module, PyObject *object)
{
    DLDataType dtype;
    dlpark_limits limits;
    dlpark_error err;

    (void)module;
    if (dlpark__py_dtype(object, "dtype", &dtype) < 0)
        return NULL;
    if (dlpark_dtype_limits(dtype, &limits, &err) != DLPARK_OK)
        return dlpark__py_raise_as(PyExc_ValueError, &err);
    PyObject *max = dlpark__py_scalar_object(&limits.max);
    PyObject *lowest = max != NULL ? dlpark__py_scalar_object(&limits.lowest) : NULL;
    if (lowest == NULL) {
        Py_XDECREF(max);
        return NULL;
    }
    return Py_BuildValue("(NNdddiNNNNN)", max, lowest, limits.smallest_normal, limits.smallest_subnormal, limits.eps,
                         (int)limits.digits, PyBool_FromLong(limits.has_infinity), PyBool_FromLong(limits.has_nan),
                         PyBool_FromLong(limits.has_signed_zero), PyBool_FromLong(limits.has_zero),
                         PyBool_FromLong(limits.has_subnormals));
}
