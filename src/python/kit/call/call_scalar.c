/*
 * Arguments that are no tensors: Python's numbers, texts and whatever else.
 */
#include "call_parts.h"

#include <string.h>

static DLPARK_COLD dlpark__call_outcome scalar_refuse(const dlpark_call *call, int32_t index, const char *expected,
                                                      PyObject *object, dlpark_error *why)
{
    dlpark_name type = dlpark__py_type_name(object);

    (void)dlpark_error_set(why, DLPARK_E_ARGUMENT, "argument '%s': expected %s, got %s",
                           call->signature->arguments[index].name, expected, type.text);
    return DLPARK__CALL_REFUSED;
}

/* The pending exception came from the object, and passes with a note; but a TypeError says that it is no such number. */
static DLPARK_COLD dlpark__call_outcome scalar_raised(const dlpark_call *call, int32_t index, const char *expected,
                                                      PyObject *object, dlpark_error *why)
{
    if (expected != NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        return scalar_refuse(call, index, expected, object, why);
    }
    dlpark__call_note_argument(call, call->signature->arguments[index].name);
    return DLPARK__CALL_RAISED;
}

/* OverflowError with the value, unless that is too long for a message or for Python to print. */
static DLPARK_COLD dlpark__call_outcome scalar_overflow(const dlpark_call *call, int32_t index, PyObject *integer)
{
    const char *name = call->signature->arguments[index].name;
    PyObject *text = PyObject_Str(integer);

    PyErr_Clear();
    if (text != NULL && PyUnicode_GetLength(text) <= 100)
        PyErr_Format(PyExc_OverflowError, "%s() argument '%s': %U does not fit 64 bits", call->signature->name, name,
                     text);
    else
        PyErr_Format(PyExc_OverflowError, "%s() argument '%s': an integer of many digits does not fit 64 bits",
                     call->signature->name, name);
    Py_XDECREF(text);
    return DLPARK__CALL_RAISED;
}

static dlpark__call_outcome scalar_read_long(dlpark_call *call, int32_t index, PyObject *integer)
{
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);

    if (DLPARK_UNLIKELY(overflow != 0))
        return scalar_overflow(call, index, integer);
    call->scalars[index].integer = value;
    return DLPARK__CALL_FITS;
}

static dlpark__call_outcome scalar_read_int(dlpark_call *call, int32_t index, PyObject *object, bool *foreign,
                                            dlpark_error *why)
{
    if (DLPARK_LIKELY(PyLong_Check(object)))
        return scalar_read_long(call, index, object);
    if (!PyIndex_Check(object))
        return scalar_refuse(call, index, "int", object, why);
    *foreign = true;
    PyObject *integer = PyNumber_Index(object);
    if (integer == NULL)
        return scalar_raised(call, index, "int", object, why);
    dlpark__call_outcome outcome = scalar_read_long(call, index, integer);
    dlpark__py_drop(integer);
    return outcome;
}

static dlpark__call_outcome scalar_read_float(dlpark_call *call, int32_t index, PyObject *object, bool *foreign,
                                              dlpark_error *why)
{
    if (DLPARK_LIKELY(PyFloat_CheckExact(object))) {
        call->scalars[index].real = PyFloat_AsDouble(object);
        return DLPARK__CALL_FITS;
    }
    if (PyType_GetSlot(Py_TYPE(object), Py_nb_float) == NULL && !PyIndex_Check(object))
        return scalar_refuse(call, index, "float", object, why);
    *foreign = true;
    double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != NULL)
        return scalar_raised(call, index, "float", object, why);
    call->scalars[index].real = value;
    return DLPARK__CALL_FITS;
}

/* Whether the type is numpy.bool, which was numpy.bool_ before NumPy 2. */
static bool scalar_is_numpy_bool(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *module = PyObject_GetAttrString(type, "__module__");
    dlpark_name name = dlpark__py_type_name(object);
    bool is_numpy = module != NULL && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "numpy") == 0;

    dlpark__py_drop(module);
    PyErr_Clear();
    return is_numpy && (strcmp(name.text, "bool") == 0 || strcmp(name.text, "bool_") == 0);
}

static dlpark__call_outcome scalar_read_bool(dlpark_call *call, int32_t index, PyObject *object, bool *foreign,
                                             dlpark_error *why)
{
    int truth;

    if (object == Py_True || object == Py_False) {
        call->scalars[index].integer = object == Py_True;
        return DLPARK__CALL_FITS;
    }
    *foreign = true; /* anybody can say that a class is NumPy's */
    if (!scalar_is_numpy_bool(object))
        return scalar_refuse(call, index, "bool", object, why);
    truth = PyObject_IsTrue(object);
    if (truth < 0)
        return scalar_raised(call, index, NULL, object, why);
    call->scalars[index].integer = truth;
    return DLPARK__CALL_FITS;
}

static dlpark__call_outcome scalar_read_str(dlpark_call *call, int32_t index, PyObject *object, dlpark_error *why)
{
    Py_ssize_t length = 0;

    if (!PyUnicode_Check(object))
        return scalar_refuse(call, index, "str", object, why);
    const char *text = PyUnicode_AsUTF8AndSize(object, &length);
    if (text == NULL)
        return scalar_raised(call, index, NULL, object, why);
    if (strlen(text) != (size_t)length) {
        PyErr_SetString(PyExc_ValueError, "embedded null character");
        return scalar_raised(call, index, NULL, object, why);
    }
    call->scalars[index].text = text;
    return DLPARK__CALL_FITS;
}

dlpark__call_outcome dlpark__call_read_scalar(dlpark_call *call, int32_t index, PyObject *object, bool *foreign,
                                              dlpark_error *why)
{
    switch (call->signature->arguments[index].kind) {
    case DLPARK_SIGNATURE_INT:
        return scalar_read_int(call, index, object, foreign, why);
    case DLPARK_SIGNATURE_FLOAT:
        return scalar_read_float(call, index, object, foreign, why);
    case DLPARK_SIGNATURE_BOOL:
        return scalar_read_bool(call, index, object, foreign, why);
    case DLPARK_SIGNATURE_STR:
        return scalar_read_str(call, index, object, why);
    default:
        call->scalars[index].object = object;
        return DLPARK__CALL_FITS;
    }
}
