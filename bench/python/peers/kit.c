/* The extension kit, as the guide has it: what its peers in this folder do. */
#include <dlpark/python.h>

static dlpark_signature kit_read_signature;
static dlpark_signature kit_write_signature;
static dlpark_signature kit_one_signature;
static dlpark_signature kit_four_signature;
static dlpark_signature kit_sixteen_signature;
static dlpark_signature kit_ones_signature;
static dlpark_signature kit_ones_like_signature;
static dlpark_signature kit_ones_numpy_signature;
static dlpark_signature kit_ones_torch_signature;

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

/* ---- 1, 4 and 16 tensors ---- */

static PyObject *kit_take(PyObject *module, const dlpark_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, signature, args, nargs, kwnames) < 0)
        return NULL;
    return dlpark_call_end(&call);
}

static PyObject *kit_one(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return kit_take(module, &kit_one_signature, args, nargs, kwnames);
}

static PyObject *kit_four(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return kit_take(module, &kit_four_signature, args, nargs, kwnames);
}

static PyObject *kit_sixteen(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return kit_take(module, &kit_sixteen_signature, args, nargs, kwnames);
}

/* ---- A vector of four ones: the library's own tensor, in the framework of the argument, in a named one ---- */

static PyObject *kit_make(PyObject *module, const dlpark_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, signature, args, nargs, kwnames) < 0)
        return NULL;
    float *ones = DLPARK_CALL_RESULT(float, &call, 0);
    for (int i = 0; i < 4; i++)
        ones[i] = 1;
    return dlpark_call_end(&call);
}

static PyObject *kit_ones(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return kit_make(module, &kit_ones_signature, args, nargs, kwnames);
}

static PyObject *kit_ones_like(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return kit_make(module, &kit_ones_like_signature, args, nargs, kwnames);
}

static PyObject *kit_ones_numpy(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return kit_make(module, &kit_ones_numpy_signature, args, nargs, kwnames);
}

static PyObject *kit_ones_torch(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return kit_make(module, &kit_ones_torch_signature, args, nargs, kwnames);
}

/* ---- The module ---- */

#define KIT_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef kit_functions[] = {
    {"read", KIT_METHOD(kit_read), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"write", KIT_METHOD(kit_write), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"one", KIT_METHOD(kit_one), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"four", KIT_METHOD(kit_four), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"sixteen", KIT_METHOD(kit_sixteen), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"ones", KIT_METHOD(kit_ones), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"ones_like", KIT_METHOD(kit_ones_like), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"ones_numpy", KIT_METHOD(kit_ones_numpy), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"ones_torch", KIT_METHOD(kit_ones_torch), METH_FASTCALL | METH_KEYWORDS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef kit_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "bench_kit",
    .m_size = -1,
    .m_methods = kit_functions,
};

PyMODINIT_FUNC PyInit_bench_kit(void);
PyMODINIT_FUNC PyInit_bench_kit(void)
{
    static const struct {
        dlpark_signature *signature;
        const char *text;
    } signatures[] = {
        {&kit_read_signature, "read(a: f32[n,k] c cpu, b: f32[_,_] c cpu, c: f32[_,_] c cpu)"},
        {&kit_write_signature, "write(a: f32[n,k] c cpu, b: f32[_,_] c cpu, c: f32[_,_] c cpu mut)"},
        {&kit_one_signature, "one(a: f32[_,_] c cpu)"},
        {&kit_four_signature, "four(a: f32[_,_] c cpu, b: f32[_,_] c cpu, c: f32[_,_] c cpu, d: f32[_,_] c cpu)"},
        {&kit_sixteen_signature, "sixteen(a: f32[_,_] c cpu, b: f32[_,_] c cpu, c: f32[_,_] c cpu, d: f32[_,_] c cpu, "
                                 "e: f32[_,_] c cpu, f: f32[_,_] c cpu, g: f32[_,_] c cpu, h: f32[_,_] c cpu, "
                                 "i: f32[_,_] c cpu, j: f32[_,_] c cpu, k: f32[_,_] c cpu, l: f32[_,_] c cpu, "
                                 "m: f32[_,_] c cpu, n: f32[_,_] c cpu, o: f32[_,_] c cpu, p: f32[_,_] c cpu)"},
        {&kit_ones_signature, "ones() -> f32[4]"},
        {&kit_ones_like_signature, "ones_like(a: f32[_,_]) -> f32[4]"},
        {&kit_ones_numpy_signature, "ones_numpy() -> f32[4] as=numpy"},
        {&kit_ones_torch_signature, "ones_torch() -> f32[4] as=torch"},
    };

    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (dlpark_signature_init(signatures[i].signature, signatures[i].text) < 0)
            return NULL;
    return PyModule_Create(&kit_module);
}
