/*
 * A Tensor's elements as another dtype.
 */
#include "arguments.h"
#include "dtype_object.h"
#include "tensor_methods.h"

/* Below this many elements a cast is over sooner than another thread would get the GIL. */
#define CAST_GIL_NUMEL 16384

const char dlpark__py_tensor_astype_doc[] =
    "astype($self, /, dtype, *, overflow=None, copy=True)\n--\n\n"
    "The elements as another dtype, each rounded once from its exact value, to nearest with ties to even.\n\n"
    "Parameters\n"
    "----------\n"
    "dtype : str or dtype\n"
    "    A name, such as 'float32', or a dtype of NumPy, ml_dtypes or PyTorch.\n"
    "overflow : {None, 'nosat', 'satfinite', 'satall', 'wrap', 'saturate', 'refuse'}\n"
    "    What becomes of values that the dtype does not hold. To floats: infinity, or NaN where there is none "
    "('nosat', the\n"
    "    default); the largest value ('satfinite'), in place of infinity too ('satall'). To integers: modulo 2**bits\n"
    "    ('wrap', the default for integers), or the nearest that there is, 0 for NaN ('saturate', the default for "
    "floats).\n"
    "    'refuse' raises.\n"
    "copy : bool\n"
    "    False gives the tensor itself where it is of that dtype already.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    In memory of its own, as copy() gives it, or the tensor itself.\n\n"
    "Raises\n"
    "------\n"
    "OverflowError\n"
    "    With 'refuse': names the first such element.\n"
    "TypeError\n"
    "    `dtype` is none that DLPack has; or the pair is not cast: complex numbers to real ones, of which `real` is "
    "the part\n"
    "    that is meant, opaque and 128-bit elements; or the memory is out of the host's reach.\n"
    "ValueError\n"
    "    `overflow` is none of these, or has no meaning for the dtype.\n"
    "MemoryError\n"
    "    There is no memory for the copy.\n\n"
    "Examples\n"
    "--------\n"
    ">>> t = dlpark.from_dlpack(np.array([1.5, -3, 1000], np.float32))\n"
    ">>> t.astype('float8_e4m3fn').tolist(), t.astype('float8_e4m3fn', overflow='satfinite').tolist()\n"
    "([1.5, -3.0, nan], [1.5, -3.0, 448.0])\n"
    ">>> t.astype(np.uint8).tolist()\n"
    "[1, 0, 255]";

/* By the name in Python; the order of dlpark_overflow. */
static const char *const cast_overflows[] = {"nosat", "satfinite", "satall", "wrap", "saturate", "refuse"};

static int cast_overflow(PyObject *object, dlpark_overflow *out)
{
    if (object == Py_None)
        return 0;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "overflow is %R, expected a str or None", object);
        return -1;
    }
    for (size_t i = 0; i < sizeof cast_overflows / sizeof cast_overflows[0]; i++) {
        if (PyUnicode_CompareWithASCIIString(object, cast_overflows[i]) == 0) {
            *out = (dlpark_overflow)(i + DLPARK_OVERFLOW_NOSAT);
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "overflow is %R, expected 'nosat', 'satfinite', 'satall', 'wrap', 'saturate' or 'refuse'", object);
    return -1;
}

static PyObject *cast_raise(const dlpark_view *from, DLDataType dtype, dlpark_overflow overflow,
                            const dlpark_error *err)
{
    if (err->status == DLPARK_E_VALUE)
        return dlpark__py_raise_as(PyExc_OverflowError, err);
    if (err->status == DLPARK_E_DTYPE)
        return PyErr_Format(PyExc_TypeError, "astype() cannot cast %s to %s%s",
                            dlpark_dtype_long_name(from->dtype).text, dlpark_dtype_long_name(dtype).text,
                            from->dtype.code == kDLComplex ? ": the imaginary parts would be lost; take .real first"
                                                           : "");
    if (err->status == DLPARK_E_ARGUMENT)
        return PyErr_Format(PyExc_ValueError, "overflow is '%s', which has no meaning for %s: expected %s or 'refuse'",
                            cast_overflows[overflow - DLPARK_OVERFLOW_NOSAT], dlpark_dtype_long_name(dtype).text,
                            overflow <= DLPARK_OVERFLOW_SATALL ? "'wrap', 'saturate'"
                                                               : "'nosat', 'satfinite', 'satall'");
    return dlpark__py_raise_value(err);
}

static PyObject *cast_made(PyObject *self, const dlpark_view *from, DLDataType dtype,
                           const dlpark_cast_options *options)
{
    dlpark_tensor cast = DLPARK_TENSOR_EMPTY;
    dlpark_view to;
    dlpark_error err;
    dlpark_tensor_desc desc = {.dtype = dtype, .ndim = from->ndim, .shape = DLPARK_DIMS(from->shape)};
    dlpark_status status = dlpark_tensor_alloc(&cast, &desc, &to, &err);

    if (status == DLPARK_OK && dlpark_view_numel(from) >= CAST_GIL_NUMEL) {
        PyThreadState *thread = PyEval_SaveThread();
        status = dlpark_cast(&to, from, options, &err);
        PyEval_RestoreThread(thread);
    } else if (status == DLPARK_OK) {
        status = dlpark_cast(&to, from, options, &err);
    }
    if (status == DLPARK_OK)
        return dlpark__py_tensor_made(self, &cast);
    dlpark_tensor_release(&cast);
    return cast_raise(from, dtype, options->overflow, &err);
}

PyObject *dlpark__py_tensor_astype(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"dtype", "overflow", "copy"};
    static const dlpark__py_signature signature = {"astype", names, 3, 1, 1};
    PyObject *values[3] = {NULL, Py_None, Py_True};
    dlpark_cast_options options = {.overflow = DLPARK_OVERFLOW_DEFAULT};
    DLDataType dtype;
    dlpark_view view;

    if (dlpark__py_bind(&signature, args, nargs, keyword_names, values) < 0 ||
        dlpark__py_dtype(values[0], "dtype", &dtype) < 0 || cast_overflow(values[1], &options.overflow) < 0)
        return NULL;
    int copy = dlpark__py_read_bool(values[2], "copy");
    if (copy < 0)
        return NULL;
    dlpark__py_tensor_describe(self, &view);
    if (dlpark_dtype_equal(dtype, view.dtype))
        return copy ? dlpark__py_tensor_copied(self, &view) : Py_NewRef(self);
    if (dlpark__py_require_host(&view, "astype()") < 0)
        return NULL;
    dtype.lanes = dtype.lanes == 1 ? view.dtype.lanes : dtype.lanes; /* lanes stay, as the shape does */
    return cast_made(self, &view, dtype, &options);
}
