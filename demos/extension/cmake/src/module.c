/* The extension module: matmul() in C, axpy() from axpy.cpp. */
#include "example.h"

static dlpark_signature matmul_signature; /* parsed once, at module init */

static void multiply(const float *a, const float *b, float *out, int64_t n, int64_t k, int64_t m)
{
    for (int64_t i = 0; i < n * m; i++)
        out[i] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++)
            for (int64_t l = 0; l < m; l++)
                out[i * m + l] += a[i * k + j] * b[j * m + l];
}

static PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call); /* on the stack; no heap allocation for an argument */
    if (dlpark_call_begin(&call, module, &matmul_signature, args, nargs, kwnames) < 0)
        return NULL; /* TypeError: matmul() argument 'b': expected f32[k=4,m] c cpu, got f64[5,3] */
    DLPARK_CALL_NOGIL(call)
    {
        multiply(DLPARK_CALL_DATA(float, &call, 0), DLPARK_CALL_DATA(float, &call, 1),
                 DLPARK_CALL_RESULT(float, &call, 0), dlpark_call_dim(&call, "n"), dlpark_call_dim(&call, "k"),
                 dlpark_call_dim(&call, "m"));
    }
    return dlpark_call_end(&call); /* releases the arguments; the result, or NULL when an error is set */
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"matmul", METHOD(matmul), METH_FASTCALL | METH_KEYWORDS,
     "matmul(a, b)\n--\n\nProduct of two float32 matrices, of the framework that `a` is of."},
    {"axpy", METHOD(axpy), METH_FASTCALL | METH_KEYWORDS,
     "axpy(y, x, a=1.0)\n--\n\nAdd `a` times `x` to `y`, in place."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    (void)module;
    if (dlpark_signature_init(&matmul_signature, "matmul(a: f32[n,k] c cpu, b: f32[k,m] c cpu) -> f32[n,m]") < 0)
        return -1;
    return dlpark_signature_init(&axpy_signature, "axpy(y: f32|f64[n] c mut cpu, x: same(y)[n] c cpu, a?: float)");
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
    .m_name = "example_cmake._example",
    .m_doc = "The C and C++ side of example_cmake.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__example(void)
{
    return PyModuleDef_Init(&definition);
}
