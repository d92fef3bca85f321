/*
 * The exchange table that a type publishes.
 */
#include "import_parts.h"

#include <stdalign.h>

#define FIND_CAPSULE "dlpack_exchange_api"

/* How many tables of other major versions are passed: more than there will be, and an end to a chain that has none. */
#define FIND_MAX_TABLES 16

/* The table of our major version in the chain of those that a library offers. */
static const DLPackExchangeAPI *find_version(const DLPackExchangeAPIHeader *header)
{
    for (int i = 0; header != NULL && i < FIND_MAX_TABLES; i++) {
        if (header->version.major == DLPARK_ABI_MAJOR)
            return (const DLPackExchangeAPI *)header;
        header = header->prev_api;
    }
    return NULL;
}

/* An address that was published as an integer; NULL for a number that is none. */
static const void *find_integer(PyObject *value)
{
    unsigned long long number = PyLong_AsUnsignedLongLong(value);

    return PyErr_Occurred() == NULL && number <= UINTPTR_MAX ? (const void *)(uintptr_t)number : NULL;
}

/* A capsule, or as in 2025 the address as an integer; NULL for anything else. */
static const DLPackExchangeAPI *find_read(PyObject *value)
{
    const void *address = NULL;

    if (PyCapsule_IsValid(value, FIND_CAPSULE))
        address = PyCapsule_GetPointer(value, FIND_CAPSULE);
    else if (PyLong_CheckExact(value))
        address = find_integer(value);
    PyErr_Clear();
    /* A small number, or one that is not aligned, is no address of a table. */
    if ((uintptr_t)address < 4096 || (uintptr_t)address % alignof(DLPackExchangeAPI) != 0)
        return NULL;
    return find_version(address);
}

/* 1 and the table under one name; 0; -1 when the look-up failed, without an exception. */
static int find_named(dlpark__py_state *state, PyTypeObject *type, PyObject *name, const DLPackExchangeAPI **out)
{
    PyObject *value = PyObject_GetAttr((PyObject *)type, name);

    if (value == NULL) {
        int status = PyErr_ExceptionMatches(PyExc_AttributeError) ? 0 : -1;
        dlpark__py_error_forget(state);
        return status;
    }
    *out = find_read(value);
    dlpark__py_drop(value);
    return *out != NULL;
}

/* Whether a class itself, not one that it derives from, has an attribute. */
static bool find_is_own(dlpark__py_state *state, PyObject *class, PyObject *name)
{
    PyObject *dictionary = PyObject_GetAttrString(class, "__dict__");
    PyObject *value = dictionary != NULL ? PyObject_GetItem(dictionary, name) : NULL;
    bool has = value != NULL;

    Py_XDECREF(dictionary);
    Py_XDECREF(value);
    dlpark__py_error_forget(state);
    return has;
}

/* Whether on the way from the type to the class that has the table there is one with a __dlpack__ of its own, which
 * knows something that the table does not. *is_heir: that class is another one. */
static bool find_is_overridden(dlpark__py_state *state, PyTypeObject *type, PyObject *name, bool *is_heir)
{
    bool overridden = false;
    PyObject *order = PyObject_GetAttrString((PyObject *)type, "__mro__");
    Py_ssize_t count = order != NULL && PyTuple_Check(order) ? PyTuple_Size(order) : 0;

    dlpark__py_error_forget(state);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *class = PyTuple_GetItem(order, i);
        *is_heir = i > 0;
        if (find_is_own(state, class, name))
            break;
        overridden = overridden || find_is_own(state, class, state->name_dlpack);
    }
    Py_XDECREF(order);
    return overridden;
}

int dlpark__py_exchange_find(dlpark__py_state *state, PyTypeObject *type, const DLPackExchangeAPI **out,
                             bool *overridden, bool *is_heir)
{
    PyObject *names[] = {state->name_exchange, state->name_exchange_old};

    *out = NULL;
    *overridden = false;
    *is_heir = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int found = find_named(state, type, names[i], out);
        if (found == 1)
            *overridden = find_is_overridden(state, type, names[i], is_heir);
        if (found != 0)
            return found;
    }
    return 0;
}

const DLPackExchangeAPI *dlpark_py_exchange_of(PyTypeObject *type)
{
    pending_error saved = dlpark__py_error_save();
    dlpark__py_state *state = dlpark__py_state_get();
    const DLPackExchangeAPI *table = state != NULL ? dlpark__py_type_of(state, type)->exchange : NULL;

    PyErr_Clear();
    dlpark__py_error_restore(&saved);
    return table;
}
