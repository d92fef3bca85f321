#include <dlpark/python.h>

static dlpark_signature scale_signature; /* parsed once, at module init */

static PyObject *scale(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &scale_signature, args, nargs, kwnames) < 0)
        return NULL;
    const float *x = DLPARK_CALL_DATA(float, &call, 0);
    float by = (float)dlpark_call_float(&call, 1, 2.0);
    float *out = DLPARK_CALL_RESULT(float, &call, 0);
    for (int64_t i = 0, n = dlpark_call_dim(&call, "n"); i < n; i++) out[i] = by * x[i];
    return dlpark_call_end(&call);
}

static PyMethodDef methods[] = {
    {"scale", (PyCFunction)(void (*)(void))scale, METH_FASTCALL | METH_KEYWORDS,
     "scale(x, by=2.0)\n--\n\nThe elements of `x`, each times `by`."},
    {NULL, NULL, 0, NULL},
};

static int mine_exec(PyObject *module)
{
    (void)module;
    return dlpark_signature_init(&scale_signature, "scale(x: f32[n] c cpu, by?: float) -> f32[n]");
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)mine_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "mine", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit_mine(void)
{
    return PyModuleDef_Init(&definition);
}
