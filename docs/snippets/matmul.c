#include <dlpark/python.h>

static dlpark_signature matmul_signature;   /* parsed once, at module init */

static void multiply(const float *a, const float *b, float *out, int64_t n, int64_t k, int64_t m)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            out[i * m + j] = 0;
            for (int64_t l = 0; l < k; l++) out[i * m + j] += a[i * k + l] * b[l * m + j];
        }
}

static PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);                      /* on the stack; no heap allocation for an argument */
    if (dlpark_call_begin(&call, module, &matmul_signature, args, nargs, kwnames) < 0)
        return NULL;                        /* TypeError: matmul() argument 'b': expected f32[k=4,m] c cpu, got f64[5,3] */
    multiply(DLPARK_CALL_DATA(float, &call, 0), DLPARK_CALL_DATA(float, &call, 1), DLPARK_CALL_RESULT(float, &call, 0),
             dlpark_call_dim(&call, "n"), dlpark_call_dim(&call, "k"), dlpark_call_dim(&call, "m"));
    return dlpark_call_end(&call);          /* releases the arguments; the result, None, or NULL when an error is set */
}

static PyMethodDef methods[] = {
    {"matmul", (PyCFunction)(void (*)(void))matmul, METH_FASTCALL | METH_KEYWORDS, "matmul(a, b)\n--\n\nA product."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "example", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_example(void)
{
    if (dlpark_signature_init(&matmul_signature, "matmul(a: f32[n,k] c cpu, b: f32[k,m] c cpu) -> f32[n,m]") < 0)
        return NULL;                        /* a ValueError that points into the text */
    return PyModule_Create(&module);
}
