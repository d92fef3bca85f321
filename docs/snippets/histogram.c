/* A result in whatever framework the argument is of. */
#include <dlpark/python.h>
#include <stdlib.h>

/* The counts, which it takes, as an object like `argument`: NumPy's for NumPy's, PyTorch's for PyTorch's. */
PyObject *histogram_result(int64_t *counts, int64_t bins, PyObject *argument)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data = counts, .dtype = DLPARK_I64, .ndim = 1, .shape = DLPARK_DIMS(&bins),
            .owner = counts, .release = free}, NULL, &err)) {
        free(counts);                                              /* new did not take them */
        return dlpark_py_raise(&err);
    }
    return dlpark_py_export(&tensor, DLPARK_SPEC_AS_UNSAID, argument); /* takes the tensor, also when it fails */
}
