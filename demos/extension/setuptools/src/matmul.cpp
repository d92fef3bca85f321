/* The same kit from C++: one template for each element type of the signature. */
#include "example.h"

#include <algorithm>

dlpark_signature matmul_signature;

namespace
{

template <typename T> bool multiply(dlpark_call &call)
{
    const T *a = DLPARK_CALL_DATA(T, &call, 0); // nullptr if the elements are others
    const T *b = DLPARK_CALL_DATA(T, &call, 1);
    T *out = DLPARK_CALL_RESULT(T, &call, 0);
    const int64_t n = dlpark_call_dim(&call, "n"), k = dlpark_call_dim(&call, "k"), m = dlpark_call_dim(&call, "m");

    if (a == nullptr)
        return false;
    std::fill(out, out + n * m, T(0));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++)
            for (int64_t l = 0; l < m; l++)
                out[i * m + l] += a[i * k + j] * b[j * m + l];
    return true;
}

} // namespace

PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call); // on the stack; no heap allocation for an argument
    if (dlpark_call_begin(&call, module, &matmul_signature, args, nargs, kwnames) < 0)
        return nullptr; // TypeError: matmul() argument 'b': expected same(a)=f32[k=3,m] c cpu, got f64[2,2]
    DLPARK_CALL_NOGIL(call)
    {
        multiply<float>(call) || multiply<double>(call);
    }
    return dlpark_call_end(&call); // releases the arguments; the result, or nullptr when an error is set
}
