/*
 * What the tests of py_export.h reach.
 */
#include "probe.h"
#include "producer/frameworks.h"

/*
 * export(producer, framework=0, like=NULL): the producer's tensor as an object; NULL for `like` where it is not given. The
 * tensor must be gone, whatever became of it.
 */
static PyObject *probe_export(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    int framework = nargs > 1 ? (int)PyLong_AsLong(args[1]) : 0;

    (void)module;
    if (nargs < 1 || nargs > 3 || PyErr_Occurred() != NULL)
        return PyErr_Format(PyExc_TypeError, "export(producer, framework, like)");
    if (PyCapsule_CheckExact(args[0])) { /* without an allocation of Python's, where that is made to fail */
        if (dlpark__py_capsule_import(args[0], &tensor, NULL, &err) != DLPARK_OK)
            return dlpark_py_raise(&err);
    } else if (dlpark_py_import(&tensor, args[0], NULL, NULL) < 0) {
        return NULL;
    }
    PyObject *object = dlpark_py_export(&tensor, (dlpark_spec_framework)framework, nargs > 2 ? args[2] : NULL);
    if (tensor.managed != NULL || (object == NULL) != (PyErr_Occurred() != NULL)) {
        Py_XDECREF(object);
        dlpark_tensor_release(&tensor);
        return PyErr_Format(PyExc_SystemError, "an export that kept the tensor, or said nothing");
    }
    return object;
}

static PyObject *probe_framework_of(PyObject *module, PyObject *object)
{
    (void)module;
    return PyLong_FromLong(dlpark_py_framework_of(object));
}

/* handoff(producer): the object that consumers are called with. */
static PyObject *probe_handoff(PyObject *module, PyObject *producer)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark__py_state *state = dlpark__py_state_get();

    (void)module;
    if (state == NULL || dlpark_py_import(&tensor, producer, NULL, NULL) < 0)
        return NULL;
    PyObject *handoff = dlpark__py_handoff_new(state, &tensor);
    dlpark__py_tensor_release(&tensor);
    return handoff;
}

/* A tensor whose deleter asks for no memory, for where that fails. */
static size_t probe_nended;

static void probe_count_end(void *owner)
{
    (void)owner;
    probe_nended++;
}

/* counted(code, bits): a capsule of six elements. */
static PyObject *probe_counted(PyObject *module, PyObject *args)
{
    static char memory[64];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    unsigned char code;
    unsigned char bits;

    (void)module;
    if (!PyArg_ParseTuple(args, "bb", &code, &bits))
        return NULL;
    if (dlpark_tensor_new(&tensor,
                          &(dlpark_tensor_desc){.data = memory,
                                                .dtype = {code, bits, 1},
                                                .ndim = 2,
                                                .shape = DLPARK_DIMS((int64_t[]){2, 3}),
                                                .owner = memory,
                                                .release = probe_count_end},
                          NULL, &err) != DLPARK_OK)
        return dlpark_py_raise(&err);
    return dlpark_py_capsule_new(&tensor);
}

/* ended(): how many of them have ended. */
static PyObject *probe_ended(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyLong_FromSize_t(probe_nended);
}

/* The exchange table of exchange_table(). */
static PyObject *probe_to_py_answer;

static int probe_to_py(DLManagedTensorVersioned *managed, void **out)
{
    PyObject *answer = PyObject_CallFunction(probe_to_py_answer, "K", (unsigned long long)(uintptr_t)managed);
    bool is_status = answer != NULL && PyLong_CheckExact(answer);

    if (!is_status) {
        *out = answer;
        return answer != NULL ? 0 : -1;
    }
    int status = (int)PyLong_AsLong(answer);
    Py_DECREF(answer);
    return status;
}

/*
 * exchange_table(function): a capsule of a table that makes objects by function(address). An integer is returned as it is,
 * without an object and without an exception. There is one function at a time; None: the table has no such function.
 */
static PyObject *probe_exchange_table(PyObject *module, PyObject *function)
{
    static DLPackExchangeAPI tables[2] = {
        {.header = {{1, 3}, NULL}}, {.header = {{1, 3}, NULL}, .managed_tensor_to_py_object_no_sync = probe_to_py}};

    (void)module;
    Py_XSETREF(probe_to_py_answer, Py_NewRef(function));
    return PyCapsule_New(&tables[function != Py_None], "dlpack_exchange_api", NULL);
}

PyMethodDef probe_export_functions[] = {
    {"counted", probe_counted, METH_VARARGS, NULL},
    {"ended", probe_ended, METH_NOARGS, NULL},
    {"exchange_table", probe_exchange_table, METH_O, NULL},
    {"export", (PyCFunction)(void (*)(void))probe_export, METH_FASTCALL, NULL},
    {"framework_of", probe_framework_of, METH_O, NULL},
    {"handoff", probe_handoff, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
