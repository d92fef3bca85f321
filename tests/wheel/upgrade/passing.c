/* An extension that takes tensors, gives them out, and refuses: by calls that the kit has had from its first release on. */
#include <dlpark/python.h>

/* A dlpark.Tensor of the same memory, whatever the object is: the type is the installed module's. */
static PyObject *passing_keep(PyObject *module, PyObject *object)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)module;
    if (dlpark_py_import(&tensor, object, NULL, NULL) < 0)
        return NULL;
    return dlpark_py_export(&tensor, DLPARK_SPEC_AS_DLPARK, NULL);
}

/* The same as a capsule, which any consumer takes. */
static PyObject *passing_capsule(PyObject *module, PyObject *object)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)module;
    if (dlpark_py_import(&tensor, object, NULL, NULL) < 0)
        return NULL;
    return dlpark_py_capsule_new(&tensor);
}

/* Asks for another device without a copy: the exception is the installed module's. */
static PyObject *passing_elsewhere(PyObject *module, PyObject *object)
{
    dlpark_py_options options = {.copy = DLPARK_PY_COPY_NEVER, .has_device = true, .device = {kDLCUDA, 0}};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)module;
    if (dlpark_py_import(&tensor, object, &options, NULL) < 0)
        return NULL;
    dlpark_tensor_release(&tensor);
    Py_RETURN_NONE;
}

static PyObject *passing_version(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    return PyUnicode_FromString(dlpark_version());
}

static PyMethodDef methods[] = {{"keep", passing_keep, METH_O, NULL},
                                {"capsule", passing_capsule, METH_O, NULL},
                                {"elsewhere", passing_elsewhere, METH_O, NULL},
                                {"version", passing_version, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT, .m_name = "passing", .m_methods = methods};

PyMODINIT_FUNC PyInit_passing(void)
{
    return PyModule_Create(&definition);
}
