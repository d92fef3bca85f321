/* The extension module: clip() in C, matmul() from matmul.cpp. */
#include "example.h"

#include <math.h>

static dlpark_signature clip_signature; /* parsed once, at module init */

static void clip_elements(float *x, int64_t count, float low, float high)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = x[i] < low ? low : x[i] > high ? high : x[i];
}

static PyObject *clip(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    dlpark_view view;

    if (dlpark_call_begin(&call, module, &clip_signature, args, nargs, kwnames) < 0)
        return NULL;
    if (dlpark_call_view(&call, 0, &view) == 0) {
        const double low = dlpark_call_float(&call, 1, -HUGE_VAL); /* no limit where none is given */
        const double high = dlpark_call_float(&call, 2, HUGE_VAL);
        clip_elements(DLPARK_CALL_DATA_MUT(float, &call, 0), dlpark_view_numel(&view), (float)low, (float)high);
    }
    return dlpark_call_end(&call); /* None, or NULL when an error is set */
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"matmul", METHOD(matmul), METH_FASTCALL | METH_KEYWORDS,
     "matmul(a, b)\n--\n\nProduct of two matrices of float32 or float64, of the framework that `a` is of."},
    {"clip", METHOD(clip), METH_FASTCALL | METH_KEYWORDS,
     "clip(x, low=..., high=...)\n--\n\nForce the elements of `x`, float32 of any rank, between two limits, in place."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    (void)module;
    if (dlpark_signature_init(&clip_signature, "clip(x: f32 c mut cpu, low?: float, high?: float)") < 0)
        return -1;
    return dlpark_signature_init(&matmul_signature,
                                 "matmul(a: f32|f64[n,k] c cpu, b: same(a)[k,m] c cpu) -> same(a)[n,m]");
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)module_exec},
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "example_setuptools._example",
    .m_doc = "The C and C++ side of example_setuptools.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__example(void)
{
    return PyModuleDef_Init(&definition);
}
