/* The extension kit, as the guide has it: what its peers in this folder do. */
#include <dlpark/python.h>

static dlpark_signature kit_read_signature;
static dlpark_signature kit_write_signature;
static dlpark_signature kit_ones_signature;

static PyObject *kit_answer(dlpark_call *call)
{
    const float *a = DLPARK_CALL_DATA(float, call, 0);
    const float *b = DLPARK_CALL_DATA(float, call, 1);
    bool different = a != b;
    PyObject *none = dlpark_call_end(call);

    Py_XDECREF(none);
    return none != NULL ? PyBool_FromLong(different) : NULL;
}

static PyObject *kit_read(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &kit_read_signature, args, nargs, kwnames) < 0)
        return NULL;
    return kit_answer(&call);
}

static PyObject *kit_write(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &kit_write_signature, args, nargs, kwnames) < 0)
        return NULL;
    return kit_answer(&call);
}

/* A vector of four ones in the framework of the argument. */
static PyObject *kit_ones_like(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &kit_ones_signature, args, nargs, kwnames) < 0)
        return NULL;
    float *ones = DLPARK_CALL_RESULT(float, &call, 0);
    for (int i = 0; i < 4; i++)
        ones[i] = 1;
    return dlpark_call_end(&call);
}

#define KIT_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef kit_functions[] = {
    {"read", KIT_METHOD(kit_read), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"write", KIT_METHOD(kit_write), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"ones_like", KIT_METHOD(kit_ones_like), METH_FASTCALL | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef kit_module = {
    PyModuleDef_HEAD_INIT, .m_name = "bench_kit", .m_size = -1, .m_methods = kit_functions,
};

PyMODINIT_FUNC PyInit_bench_kit(void);
PyMODINIT_FUNC PyInit_bench_kit(void)
{
    if (dlpark_signature_init(&kit_read_signature, "read(a: f32[n,k] c cpu, b: f32[_,_] c cpu, c: f32[_,_] c cpu)") < 0 ||
        dlpark_signature_init(&kit_write_signature,
                              "write(a: f32[n,k] c cpu, b: f32[_,_] c cpu, c: f32[_,_] c cpu mut)") < 0 ||
        dlpark_signature_init(&kit_ones_signature, "ones_like(a: f32[_,_]) -> f32[4]") < 0)
        return NULL;
    return PyModule_Create(&kit_module);
}
