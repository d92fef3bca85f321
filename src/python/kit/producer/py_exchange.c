/*
 * Giving a type the DLPack protocol: its methods and its exchange table, under the two names that are in use.
 */
#include "export_parts.h"

/* What a type gets. */
typedef struct install_item {
    PyObject *name;
    PyObject *value;
} install_item;

enum { INSTALL_DLPACK, INSTALL_DEVICE, INSTALL_TABLE, INSTALL_OLD_TABLE, INSTALL_ITEMS };

static const char *const install_names[INSTALL_ITEMS] = {"__dlpack__", "__dlpack_device__", "__dlpack_c_exchange_api__",
                                                         "__c_dlpack_exchange_api__"};
static const char install_capsule_name[] = "dlpack_exchange_api";

/* ---- Types that die ---- */

/* Called when a type goes; `number` is its table's. */
static PyObject *install_forget(PyObject *number, PyObject *weak)
{
    dlpark__py_state *state = dlpark__py_state_get();
    long at = PyLong_AsLong(number);

    if (state == NULL)
        return NULL;
    if (state->installed[at].weak == weak) {
        state->installed[at].type = NULL;
        Py_CLEAR(state->installed[at].weak);
    }
    return Py_NewRef(Py_None);
}

static PyMethodDef install_forget_method = {"forget", install_forget, METH_O, NULL};

static PyObject *install_watch(PyTypeObject *type, int number)
{
    PyObject *self = PyLong_FromLong(number);
    PyObject *callback = self != NULL ? PyCFunction_New(&install_forget_method, self) : NULL;
    PyObject *weak = callback != NULL ? PyWeakref_NewRef((PyObject *)type, callback) : NULL;

    Py_XDECREF(self);
    Py_XDECREF(callback);
    return weak;
}

/* ---- What the type has already ---- */

/* Which of the names the type itself has: its index, INSTALL_ITEMS for none, -1. `found` is a new reference. */
static int install_find_own(PyTypeObject *type, PyObject **found)
{
    PyObject *own = PyObject_GetAttrString((PyObject *)type, "__dict__");
    int at = own != NULL ? 0 : -1;

    *found = NULL;
    for (; at >= 0 && at < INSTALL_ITEMS; at++) {
        *found = PyMapping_GetItemString(own, install_names[at]);
        if (*found != NULL)
            break;
        if (!PyErr_ExceptionMatches(PyExc_KeyError)) {
            at = -1;
            break;
        }
        PyErr_Clear();
    }
    Py_XDECREF(own);
    return at;
}

/* The number of the table of ours that the type has, with these functions; -1, without an exception, for none. */
static int install_find_table(PyTypeObject *type, const dlpark_py_exchange *functions)
{
    int number;
    PyObject *own = PyObject_GetAttrString((PyObject *)type, "__dict__");
    PyObject *capsule = own != NULL ? PyMapping_GetItemString(own, install_names[INSTALL_TABLE]) : NULL;
    const void *table = capsule != NULL ? PyCapsule_GetPointer(capsule, install_capsule_name) : NULL;
    bool is_ours = table != NULL && dlpark__py_exchange_functions(table, &number) == functions;

    PyErr_Clear();
    Py_XDECREF(capsule);
    Py_XDECREF(own);
    return is_ours ? number : -1;
}

/* ---- Writing into the type ---- */

static void install_clear(install_item *items)
{
    for (int i = 0; i < INSTALL_ITEMS; i++) {
        Py_CLEAR(items[i].name);
        Py_CLEAR(items[i].value);
    }
}

/* Everything that the type gets is made first. */
static int install_make(PyTypeObject *type, int number, install_item *items)
{
    const DLPackExchangeAPI *table = dlpark__py_exchange_table(number);
    PyMethodDef *methods = dlpark__py_exchange_methods(number);
    void *address = (void *)(uintptr_t)table; /* a capsule has no const */

    items[INSTALL_DLPACK].value = PyDescr_NewMethod(type, &methods[0]);
    items[INSTALL_DEVICE].value = PyDescr_NewMethod(type, &methods[1]);
    items[INSTALL_TABLE].value = PyCapsule_New(address, install_capsule_name, NULL);
    items[INSTALL_OLD_TABLE].value = PyLong_FromVoidPtr(address);
    for (int i = 0; i < INSTALL_ITEMS; i++) {
        items[i].name = PyUnicode_InternFromString(install_names[i]);
        if (items[i].name == NULL || items[i].value == NULL) {
            install_clear(items);
            return -1;
        }
    }
    return 0;
}

/*
 * All of it or nothing. By the generic function, since the type's own refuses to change immutable types, and static ones;
 * what other code remembers of the type is told to be out of date.
 */
static int install_write(PyTypeObject *type, const install_item *items)
{
    int done = 0;

    while (done < INSTALL_ITEMS && PyObject_GenericSetAttr((PyObject *)type, items[done].name, items[done].value) == 0)
        done++;
    if (done < INSTALL_ITEMS) {
        pending_error error = dlpark__py_error_save();
        while (done-- > 0)
            if (PyObject_GenericSetAttr((PyObject *)type, items[done].name, NULL) < 0)
                PyErr_Clear();
        dlpark__py_error_restore(&error);
        done = -1;
    }
    PyType_Modified(type);
    return done < 0 ? -1 : 0;
}

/* ---- The call ---- */

static int install_refuse(PyTypeObject *type, const char *name)
{
    PyErr_Format(PyExc_TypeError, "%R has %s already", type, name);
    return -1;
}

/* A number for the type. Types that are dead but lie in cycles hold theirs until those are collected. */
static int install_claim(dlpark__py_state *state, const dlpark_py_exchange *functions)
{
    int number = dlpark__py_exchange_claim(state, functions);

    if (number < 0) {
        PyGC_Collect();
        number = dlpark__py_exchange_claim(state, functions);
    }
    if (number < 0)
        PyErr_Format(PyExc_RuntimeError, "this extension has given the exchange table to %d types, which is the most",
                     DLPARK_PY_EXCHANGE_MAX);
    return number;
}

static int install_into(dlpark__py_state *state, PyTypeObject *type, int number, bool is_written)
{
    install_item items[INSTALL_ITEMS] = {{NULL, NULL}};

    if (state->installed[number].type != NULL) {
        PyErr_Format(PyExc_RuntimeError, "%R has an exchange table which in this interpreter is another type's", type);
        return -1;
    }
    PyObject *weak = install_watch(type, number);
    int status = weak != NULL ? 0 : -1;

    if (status == 0 && !is_written)
        status = install_make(type, number, items) == 0 ? install_write(type, items) : -1;
    install_clear(items);
    if (status < 0) {
        Py_XDECREF(weak);
        return -1;
    }
    state->installed[number] = (dlpark__py_installed){type, weak};
    return 0;
}

int dlpark_py_install_exchange(PyTypeObject *type, const dlpark_py_exchange *functions)
{
    dlpark__py_state *state = dlpark__py_state_get();
    PyObject *found;

    if (state == NULL || PyType_Ready(type) < 0)
        return -1;
    if ((functions->tensor != NULL) == (functions->share != NULL)) {
        PyErr_Format(PyExc_ValueError, "%R: exactly one of the functions `tensor` and `share` is needed", type);
        return -1;
    }
    int number = install_find_table(type, functions);
    if (number >= 0) /* a static type whose module is executed again, in another interpreter perhaps */
        return state->installed[number].type == type ? 0 : install_into(state, type, number, true);
    int own = install_find_own(type, &found);
    if (own < 0)
        return -1;
    if (own < INSTALL_ITEMS) {
        Py_DECREF(found);
        return install_refuse(type, install_names[own]);
    }
    number = install_claim(state, functions);
    return number >= 0 ? install_into(state, type, number, false) : -1;
}
