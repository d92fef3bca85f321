/*
 * The extension module dlpark._arrow: Arrow's capsules as DLPack's, and the other way. python/dlpark/_arrow_arrays.py is its
 * only caller.
 */
#include "kit.h"

#include <dlpark/arrow.h>

#define ARROW_SCHEMA       "arrow_schema"
#define ARROW_ARRAY        "arrow_array"
#define ARROW_DEVICE_ARRAY "arrow_device_array"

/* ---- Into dlpark ---- */

static dlpark_status arrows_import(dlpark_tensor *tensor, const struct ArrowSchema *schema, PyObject *capsule,
                                   dlpark_error *err)
{
    if (PyCapsule_IsValid(capsule, ARROW_DEVICE_ARRAY))
        return dlpark_arrow_import_device(tensor, schema, PyCapsule_GetPointer(capsule, ARROW_DEVICE_ARRAY), NULL, err);
    return dlpark_arrow_import(tensor, schema, PyCapsule_GetPointer(capsule, ARROW_ARRAY), NULL, err);
}

PyDoc_STRVAR(arrows_take_doc, "take(schema, array, /)\n--\n\nA DLPack capsule of what is in the capsules of Arrow.");

static PyObject *arrows_take(PyObject *module, PyObject *args)
{
    PyObject *schema_capsule, *array_capsule;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO:take", &schema_capsule, &array_capsule))
        return NULL;
    const struct ArrowSchema *schema = PyCapsule_GetPointer(schema_capsule, ARROW_SCHEMA);
    if (schema == NULL)
        return NULL;
    if (!PyCapsule_IsValid(array_capsule, ARROW_ARRAY) && !PyCapsule_IsValid(array_capsule, ARROW_DEVICE_ARRAY))
        return PyErr_Format(PyExc_TypeError, "%R is no capsule of the name '%s' or '%s'", array_capsule, ARROW_ARRAY,
                            ARROW_DEVICE_ARRAY);
    if (arrows_import(&tensor, schema, array_capsule, &err) != DLPARK_OK)
        return dlpark_py_raise(&err);
    PyObject *capsule = dlpark_py_capsule_new(&tensor);
    dlpark__py_tensor_release(&tensor);
    return capsule;
}

/* ---- Out of dlpark ---- */

static void arrows_schema_free(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, ARROW_SCHEMA);

    if (schema->release != NULL)
        schema->release(schema);
    PyMem_Free(schema);
}

static void arrows_array_free(PyObject *capsule)
{
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, ARROW_ARRAY);

    if (array->release != NULL)
        array->release(array);
    PyMem_Free(array);
}

/* An empty struct in a capsule that will end it. */
static PyObject *arrows_capsule_new(size_t nbytes, const char *name, PyCapsule_Destructor end)
{
    void *empty = PyMem_Calloc(1, nbytes);
    PyObject *capsule = empty != NULL ? PyCapsule_New(empty, name, end) : PyErr_NoMemory();

    if (capsule == NULL)
        PyMem_Free(empty);
    return capsule;
}

/* Fills both capsules from a DLPack capsule. */
static int arrows_export(PyObject *schema, PyObject *array, PyObject *capsule)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    dlpark_status status = dlpark__py_capsule_import(capsule, &tensor, NULL, &err);

    if (status == DLPARK_OK)
        status = dlpark_arrow_export(PyCapsule_GetPointer(schema, ARROW_SCHEMA),
                                     PyCapsule_GetPointer(array, ARROW_ARRAY), &tensor, &err);
    dlpark__py_tensor_release(&tensor);
    if (status == DLPARK_OK)
        return 0;
    (void)dlpark_py_raise(&err);
    return -1;
}

PyDoc_STRVAR(arrows_give_doc,
             "give(capsule, /)\n--\n\n(schema, array), capsules of Arrow, of what is in a DLPack capsule.");

static PyObject *arrows_give(PyObject *module, PyObject *capsule)
{
    PyObject *schema = arrows_capsule_new(sizeof(struct ArrowSchema), ARROW_SCHEMA, arrows_schema_free);
    PyObject *array =
        schema != NULL ? arrows_capsule_new(sizeof(struct ArrowArray), ARROW_ARRAY, arrows_array_free) : NULL;
    PyObject *pair = array != NULL ? PyTuple_Pack(2, schema, array) : NULL;

    (void)module;
    if (pair != NULL && arrows_export(schema, array, capsule) < 0)
        Py_CLEAR(pair);
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return pair;
}

/* ---- The module ---- */

static PyMethodDef arrows_functions[] = {
    {"take", arrows_take, METH_VARARGS, arrows_take_doc},
    {"give", arrows_give, METH_O, arrows_give_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot arrows_slots[] = {
#if defined(Py_mod_multiple_interpreters)
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef arrows_definition = {
    PyModuleDef_HEAD_INIT, .m_name = "dlpark._arrow",     .m_doc = "The adapter of dlpark for Apache Arrow.",
    .m_size = 0,           .m_methods = arrows_functions, .m_slots = arrows_slots,
};

PyMODINIT_FUNC PyInit__arrow(void);
PyMODINIT_FUNC PyInit__arrow(void)
{
    return PyModuleDef_Init(&arrows_definition);
}
