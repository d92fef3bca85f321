/* What a signature can say, one function for each part of it: docs/extension.md. */
#include <dlpark/python.h>
#include <string.h>

static dlpark_signature row_sums_signature, clip_signature, histogram_signature, extremes_signature, mean_signature;
static dlpark_signature ramp_signature, reduce_signature, matvec_signature, matmul_signature;

/* ---- Several dtypes, strides ---- */

#define DEFINE_ROW_SUMS(T)                                                                                             \
    static void row_sums_##T(const T *x, int64_t stride, T *out, int64_t n, int64_t m)                                 \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++, x += stride) {                                                                 \
            out[i] = 0;                                                                                                \
            for (int64_t j = 0; j < m; j++) out[i] += x[j];                                                            \
        }                                                                                                              \
    }
DEFINE_ROW_SUMS(float)
DEFINE_ROW_SUMS(double)

static PyObject *row_sums(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    DLPARK_UNINITIALIZED dlpark_view x;
    if (dlpark_call_begin(&call, module, &row_sums_signature, args, nargs, kwnames) < 0)
        return NULL;
    if (dlpark_call_view(&call, 0, &x) == 0) {
        const float *floats = DLPARK_CALL_DATA(float, &call, 0); /* NULL where the elements are doubles */
        if (floats)
            row_sums_float(floats, x.strides[0], DLPARK_CALL_RESULT(float, &call, 0), x.shape[0], x.shape[1]);
        else
            row_sums_double(DLPARK_CALL_DATA(double, &call, 0), x.strides[0], DLPARK_CALL_RESULT(double, &call, 0),
                            x.shape[0], x.shape[1]);
    }
    return dlpark_call_end(&call);
}

/* ---- In place ---- */

static PyObject *clip(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    DLPARK_UNINITIALIZED dlpark_view x;
    if (dlpark_call_begin(&call, module, &clip_signature, args, nargs, kwnames) < 0)
        return NULL;
    if (dlpark_call_view(&call, 0, &x) == 0) {
        float *elements = DLPARK_CALL_DATA_MUT(float, &call, 0);
        float low = (float)dlpark_call_float(&call, 1, 0), high = (float)dlpark_call_float(&call, 2, 1);
        for (int64_t i = 0, count = dlpark_view_numel(&x); i < count; i++)
            elements[i] = elements[i] < low ? low : elements[i] > high ? high : elements[i];
    }
    return dlpark_call_end(&call); /* None: the signature has no result */
}

/* ---- Converted if need be; a result whose extent is found out ---- */

static PyObject *histogram(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    DLPARK_UNINITIALIZED dlpark_view x;
    if (dlpark_call_begin(&call, module, &histogram_signature, args, nargs, kwnames) < 0)
        return NULL;
    int64_t bins = dlpark_call_int(&call, 1, 4);
    if (bins < 1 || bins > 256)
        PyErr_Format(PyExc_ValueError, "histogram() argument 'bins' is %lld, not 1 to 256", (long long)bins);
    else if (dlpark_call_result_alloc(&call, 0, 1, &bins) == 0 && dlpark_call_view(&call, 0, &x) == 0) {
        const uint8_t *elements = DLPARK_CALL_DATA(uint8_t, &call, 0);
        int64_t *counts = DLPARK_CALL_RESULT(int64_t, &call, 0);
        memset(counts, 0, (size_t)bins * sizeof *counts);
        for (int64_t i = 0, count = dlpark_view_numel(&x); i < count; i++) counts[elements[i] * bins / 256]++;
    }
    return dlpark_call_end(&call); /* NULL, with all released, where an exception is set */
}

/* ---- Several results, without the GIL ---- */

static PyObject *extremes(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &extremes_signature, args, nargs, kwnames) < 0)
        return NULL;
    if (dlpark_call_dim(&call, "n") == 0)
        PyErr_SetString(PyExc_ValueError, "extremes() of nothing");
    DLPARK_CALL_NOGIL(call) /* does not run when an exception is set */
    {
        const float *x = DLPARK_CALL_DATA(float, &call, 0);
        float *low = DLPARK_CALL_RESULT(float, &call, 0), *high = DLPARK_CALL_RESULT(float, &call, 1);
        *low = *high = x[0];
        for (int64_t i = 1, n = dlpark_call_dim(&call, "n"); i < n; i++) {
            if (x[i] < *low) *low = x[i];
            if (x[i] > *high) *high = x[i];
        }
    }
    return dlpark_call_end(&call); /* a tuple of two */
}

/* ---- What may be left out, and what may be None ---- */

static PyObject *mean(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &mean_signature, args, nargs, kwnames) < 0)
        return NULL;
    const double *x = DLPARK_CALL_DATA(double, &call, 0);
    const double *weights = DLPARK_CALL_DATA(double, &call, 1); /* NULL where there are none */
    double sum = 0, total = 0;
    for (int64_t i = 0, n = dlpark_call_dim(&call, "n"); i < n; i++) {
        double weight = weights ? weights[i] : 1;
        sum += weight * x[i];
        total += weight;
    }
    *DLPARK_CALL_RESULT(double, &call, 0) = sum / total;
    return dlpark_call_end(&call);
}

/* ---- No tensor to take the framework from ---- */

static PyObject *ramp(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &ramp_signature, args, nargs, kwnames) < 0)
        return NULL;
    int64_t n = dlpark_call_int(&call, 0, 0);
    if (dlpark_call_result_alloc(&call, 0, 1, &n) == 0)
        for (int64_t i = 0; i < n; i++) DLPARK_CALL_RESULT(double, &call, 0)[i] = (double)i / (double)n;
    return dlpark_call_end(&call);
}

/* ---- Texts ---- */

static PyObject *reduce(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &reduce_signature, args, nargs, kwnames) < 0)
        return NULL;
    const char *how = dlpark_call_str(&call, 1, "sum");
    const int64_t *x = DLPARK_CALL_DATA(int64_t, &call, 0);
    int64_t *out = DLPARK_CALL_RESULT(int64_t, &call, 0);
    int64_t n = dlpark_call_dim(&call, "n");
    if (strcmp(how, "sum") == 0)
        for (int64_t i = *out = 0; i < n; i++) *out += x[i];
    else if (strcmp(how, "last") == 0 && n > 0)
        *out = x[n - 1];
    else
        PyErr_Format(PyExc_ValueError, "reduce() argument 'how' is '%s', not 'sum' or, of something, 'last'", how);
    return dlpark_call_end(&call);
}

/* ---- Overloads ---- */

static const dlpark_overloads apply_overloads = {.count = 2, .signatures = {&matvec_signature, &matmul_signature}};

static PyObject *apply(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin_overloads(&call, module, &apply_overloads, args, nargs, kwnames) < 0)
        return NULL; /* otherwise the index of the signature that fits */
    const float *a = DLPARK_CALL_DATA(float, &call, 0), *b = DLPARK_CALL_DATA(float, &call, 1);
    float *out = DLPARK_CALL_RESULT(float, &call, 0);
    int64_t n = dlpark_call_dim(&call, "n"), k = dlpark_call_dim(&call, "k"), m = dlpark_call_dim(&call, "m");
    if (m < 0) m = 1; /* the signature that fits has no m */
    for (int64_t i = 0; i < n * m; i++) {
        out[i] = 0;
        for (int64_t l = 0; l < k; l++) out[i] += a[i / m * k + l] * b[l * m + i % m];
    }
    return dlpark_call_end(&call);
}

/* ---- The module ---- */

typedef struct signature_text {
    dlpark_signature *signature;
    const char *text;
} signature_text;

static const signature_text signatures[] = {
    {&row_sums_signature, "row_sums(x: f32|f64[n,m] inner cpu) -> same(x)[n]"},
    {&clip_signature, "clip(x: f32 c mut cpu, low?: float, high?: float)"},
    {&histogram_signature, "histogram(x: u8 contig convert cpu, bins?: int) -> i64[?]"},
    {&extremes_signature, "extremes(x: f32[n] c cpu) -> f32[], f32[]"},
    {&mean_signature, "mean(x: f64[n] c cpu, weights?: f64[n] c cpu none) -> f64[]"},
    {&ramp_signature, "ramp(n: int) -> f64[?] as=numpy"},
    {&reduce_signature, "reduce(x: i64[n] c cpu, how?: str) -> i64[]"},
    {&matvec_signature, "apply(a: f32[n,k] c cpu, b: f32[k] c cpu) -> f32[n]"},
    {&matmul_signature, "apply(a: f32[n,k] c cpu, b: f32[k,m] c cpu) -> f32[n,m]"},
};

static int calls_exec(PyObject *module)
{
    (void)module;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (dlpark_signature_init(signatures[i].signature, signatures[i].text) < 0)
            return -1;
    return 0;
}

#define METHOD(function) {#function, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, NULL}

static PyMethodDef methods[] = {
    METHOD(row_sums), METHOD(clip),   METHOD(histogram), METHOD(extremes), METHOD(mean),
    METHOD(ramp),     METHOD(reduce), METHOD(apply),     {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)calls_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "calls", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit_calls(void)
{
    return PyModuleDef_Init(&definition);
}
