/*
 * Arguments of the functions of the module: keywords, pairs of integers, devices, the three answers to "copy".
 */
#include <string.h>

#include "../kit.h"

static int keywords_find(const char *function, PyObject *name, const char *const *names, Py_ssize_t count,
                         Py_ssize_t *found)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            *found = i;
            return 0;
        }
    }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", function, name);
    return -1;
}

int dlpark__py_keywords(const char *function, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names,
                        const char *const *names, PyObject **values, Py_ssize_t count)
{
    Py_ssize_t given = keyword_names != NULL ? PyTuple_Size(keyword_names) : 0;

    for (Py_ssize_t i = 0; i < given; i++) {
        Py_ssize_t at;
        if (keywords_find(function, PyTuple_GetItem(keyword_names, i), names, count, &at) < 0)
            return -1;
        values[at] = args[nargs + i];
    }
    return 0;
}

/* Decimal digits of a number that large would take long to find, and nobody would read them. */
#define KEYWORDS_MOST_BITS 128

dlpark_name dlpark__py_integer_text(PyObject *integer)
{
    dlpark_name name = {"an integer"};
    PyObject *bits = PyObject_CallMethod(integer, "bit_length", NULL);
    long long count = bits != NULL ? PyLong_AsLongLong(bits) : -1;
    PyObject *text = count >= 0 && count <= KEYWORDS_MOST_BITS ? PyObject_Str(integer) : NULL;
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;

    if (utf8 != NULL)
        PyOS_snprintf(name.text, sizeof name.text, "%s", utf8);
    else if (count >= 0)
        PyOS_snprintf(name.text, sizeof name.text, "an integer of %lld bits", count);
    Py_XDECREF(text);
    Py_XDECREF(bits);
    PyErr_Clear();
    return name;
}

static int keywords_integer(PyObject *object, const char *what, long long *out)
{
    PyObject *integer = PyLong_CheckExact(object) ? Py_NewRef(object) : PyNumber_Index(object);
    int overflow = 0;

    if (integer == NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            dlpark_name type = dlpark__py_type_name(object);
            PyErr_Format(PyExc_TypeError, "%s must be a tuple of two integers, but it has a %s", what, type.text);
        }
        return -1;
    }
    *out = PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (overflow != 0)
        PyErr_Format(PyExc_TypeError, "%s has %s in it: more than 64 bits", what,
                     dlpark__py_integer_text(integer).text);
    Py_DECREF(integer);
    if (overflow != 0)
        return -1;
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

int dlpark__py_pair(PyObject *object, const char *what, long long *first, long long *second)
{
    if (!PyTuple_Check(object)) {
        dlpark_name type = dlpark__py_type_name(object);
        PyErr_Format(PyExc_TypeError, "%s must be a tuple of two integers, not %s", what, type.text);
        return -1;
    }
    if (PyTuple_Size(object) != 2) {
        PyErr_Format(PyExc_TypeError, "%s must be a tuple of two integers, not of %zd", what, PyTuple_Size(object));
        return -1;
    }
    if (keywords_integer(PyTuple_GetItem(object, 0), what, first) < 0)
        return -1;
    return keywords_integer(PyTuple_GetItem(object, 1), what, second);
}

/* 1, 0 or -1: the truth of anything but a text. */
static int keywords_truth(PyObject *object, const char *what, const char *expected)
{
    if (!PyUnicode_Check(object) && !PyBytes_Check(object))
        return PyObject_IsTrue(object);
    PyErr_Format(PyExc_TypeError, "%s is %R, expected %s", what, object, expected);
    return -1;
}

int dlpark__py_read_bool(PyObject *object, const char *what)
{
    return keywords_truth(object, what, "True or False");
}

int dlpark__py_read_copy(PyObject *object, dlpark_py_copy *out)
{
    if (object == NULL || object == Py_None) {
        *out = DLPARK_PY_COPY_IF_NEEDED;
        return 0;
    }
    int truth = keywords_truth(object, "copy", "True, False or None");
    if (truth < 0)
        return -1;
    *out = truth ? DLPARK_PY_COPY_ALWAYS : DLPARK_PY_COPY_NEVER;
    return 0;
}

int dlpark__py_device_pair(PyObject *object, const char *what, DLDevice *out)
{
    long long type;
    long long id;

    if (dlpark__py_pair(object, what, &type, &id) < 0)
        return -1;
    if (type < INT32_MIN || type > INT32_MAX || id < INT32_MIN || id > INT32_MAX) {
        PyErr_Format(PyExc_BufferError, "%s is (%lld, %lld), which is no device", what, type, id);
        return -1;
    }
    *out = DLPARK_DEVICE((DLDeviceType)type, (int32_t)id);
    return 0;
}

int dlpark__py_device(PyObject *object, const char *what, DLDevice *out)
{
    dlpark_error err;

    if (PyTuple_Check(object))
        return dlpark__py_device_pair(object, what, out);
    if (!PyUnicode_Check(object)) {
        dlpark_name type = dlpark__py_type_name(object);
        PyErr_Format(PyExc_TypeError, "%s must be a name such as 'cpu' or a tuple of two integers, not %s", what,
                     type.text);
        return -1;
    }
    Py_ssize_t nbytes;
    const char *name = PyUnicode_AsUTF8AndSize(object, &nbytes);
    if (name == NULL)
        return -1;
    if (strlen(name) != (size_t)nbytes) {
        PyErr_Format(PyExc_ValueError, "%s has a null character in it", what);
        return -1;
    }
    if (dlpark_device_parse(name, out, &err)) {
        PyErr_Format(PyExc_ValueError, "%s: %s", what, err.message);
        return -1;
    }
    return 0;
}

int dlpark__py_has(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);

    if (value != NULL) {
        dlpark__py_drop(value);
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    return 0;
}

dlpark_name dlpark__py_type_name(PyObject *object)
{
    dlpark_name name = {"object"};
    pending_error saved = dlpark__py_error_save();
    PyObject *text = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    const char *utf8 = text != NULL && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;

    if (utf8 != NULL) {
        size_t nbytes = strlen(utf8);
        if (nbytes >= sizeof name.text) {
            nbytes = sizeof name.text - 1;
            while (nbytes > 0 && ((unsigned char)utf8[nbytes] & 0xC0) == 0x80)
                nbytes--;
        }
        memcpy(name.text, utf8, nbytes);
        name.text[nbytes] = '\0';
    }
    Py_XDECREF(text);
    PyErr_Clear();
    dlpark__py_error_restore(&saved);
    return name;
}
