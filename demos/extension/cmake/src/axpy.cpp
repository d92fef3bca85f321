/* The same kit from C++: one template for each element type of the signature. */
#include "example.h"

dlpark_signature axpy_signature;

namespace
{

template <typename T> bool add(const dlpark_call &call, double a)
{
    T *y = DLPARK_CALL_DATA_MUT(T, &call, 0); // nullptr if the elements are others
    const T *x = DLPARK_CALL_DATA(T, &call, 1);

    if (y == nullptr)
        return false;
    for (int64_t i = 0, n = dlpark_call_dim(&call, "n"); i < n; i++)
        y[i] += static_cast<T>(a) * x[i];
    return true;
}

} // namespace

PyObject *axpy(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    if (dlpark_call_begin(&call, module, &axpy_signature, args, nargs, kwnames) < 0)
        return nullptr;
    const double a = dlpark_call_float(&call, 2, 1.0); // 1.0 when it is not given
    DLPARK_CALL_NOGIL(call)
    {
        add<float>(call, a) || add<double>(call, a);
    }
    return dlpark_call_end(&call); // None, as the signature has no result
}
