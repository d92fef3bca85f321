/*
 * A Tensor's elements in memory of their own, as bytes, as a NumPy array.
 */
#include "arguments.h"
#include "tensor_methods.h"

#include <string.h>

/* Below this many bytes a copy is over sooner than another thread would get the GIL. */
#define CONVERT_GIL_NBYTES 65536

/* ---- Copies ---- */

const char dlpark__py_tensor_copy_doc[] =
    "copy($self, /)\n--\n\n"
    "The elements in memory of their own: compact in row-major order, on the CPU, and writable.\n\n"
    "Returns\n"
    "-------\n"
    "Tensor\n"
    "    With `is_copied`.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    The memory is out of the host's reach.\n"
    "MemoryError\n"
    "    There is no memory for the copy.\n\n"
    "Examples\n"
    "--------\n"
    ">>> t = dlpark.from_dlpack(np.broadcast_to(np.float32(1), (2, 2)))\n"
    ">>> t.readonly, t.copy().readonly, t.copy().strides\n"
    "(True, False, (2, 1))";

PyObject *dlpark__py_tensor_copied(PyObject *self, const dlpark_view *view)
{
    dlpark_tensor copy = DLPARK_TENSOR_EMPTY;

    if (dlpark__py_require_host(view, "a copy") < 0 || dlpark__py_copy(view, &copy) < 0)
        return NULL;
    return dlpark__py_tensor_made(self, &copy);
}

PyObject *dlpark__py_tensor_copy(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const dlpark__py_signature signature = {.function = "copy"};
    dlpark_view view;

    if (dlpark__py_bind(&signature, args, nargs, keyword_names, NULL) < 0)
        return NULL;
    dlpark__py_tensor_describe(self, &view);
    return dlpark__py_tensor_copied(self, &view);
}

/* ---- Bytes ---- */

const char dlpark__py_tensor_tobytes_doc[] =
    "tobytes($self, /)\n--\n\n"
    "The bytes of the elements in row-major order.\n\n"
    "Returns\n"
    "-------\n"
    "bytes\n"
    "    `nbytes` of them, in the byte order of this machine. Packed elements stay packed, padded ones padded.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    The memory is out of the host's reach.\n"
    "MemoryError\n"
    "    There is no memory for them.\n\n"
    "Examples\n"
    "--------\n"
    ">>> dlpark.from_dlpack(np.array([[1, 2], [3, 4]], np.uint8)).T.tobytes()\n"
    "b'\\x01\\x03\\x02\\x04'";

/* Copies into memory of `nbytes`, that of a new bytes object. */
static dlpark_status convert_fill(const dlpark_view *from, void *memory, dlpark_error *err)
{
    int64_t shape[DLPARK_MAX_NDIM];
    dlpark_view to;
    DLTensor tensor = {
        .data = memory, .device = DLPARK_DEVICE_CPU, .ndim = from->ndim, .dtype = from->dtype, .shape = shape};

    memcpy(shape, from->shape, sizeof *shape * (size_t)from->ndim);
    DLPARK_TRY(dlpark_check(&tensor, from->flags & DLPARK_VIEW_PADDED, &to, err));
    DLPARK_TRY(dlpark_view_allow_write(&to, err));
    if (dlpark_view_nbytes(from) < CONVERT_GIL_NBYTES)
        return dlpark_copy(&to, from, err);
    PyThreadState *thread = PyEval_SaveThread();
    dlpark_status status = dlpark_copy(&to, from, err);
    PyEval_RestoreThread(thread);
    return status;
}

PyObject *dlpark__py_tensor_tobytes(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const dlpark__py_signature signature = {.function = "tobytes"};
    dlpark_view view;
    dlpark_error err;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, NULL) < 0 ||
        dlpark__py_require_host(&view, "tobytes()") < 0)
        return NULL;
    int64_t nbytes = dlpark_view_nbytes(&view);
    if (nbytes > PY_SSIZE_T_MAX)
        return PyErr_NoMemory();
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)nbytes);
    if (bytes == NULL || nbytes == 0)
        return bytes;
    /* Packed elements may end inside the last byte, of which a copy keeps the other bits. */
    PyBytes_AsString(bytes)[nbytes - 1] = 0;
    if (convert_fill(&view, PyBytes_AsString(bytes), &err) == DLPARK_OK)
        return bytes;
    Py_DECREF(bytes);
    return dlpark__py_raise_value(&err);
}

/* ---- NumPy ---- */

const char dlpark__py_tensor_numpy_doc[] =
    "numpy($self, /)\n--\n\n"
    "A NumPy array of the same memory.\n\n"
    "Returns\n"
    "-------\n"
    "numpy.ndarray\n"
    "    Not writeable where the tensor is read-only. bfloat16 and the narrow floats and integers are of ml_dtypes;\n"
    "    those of 4 and 6 bits only where each fills a byte, whose other bits must be 0. Lanes become a last "
    "dimension.\n\n"
    "Raises\n"
    "------\n"
    "TypeError\n"
    "    The memory is out of the host's reach, or no NumPy dtype says what the elements are.\n"
    "ModuleNotFoundError\n"
    "    NumPy is not installed, or ml_dtypes, where it is needed.\n\n"
    "Examples\n"
    "--------\n"
    ">>> a = np.zeros(2)\n"
    ">>> dlpark.from_dlpack(a).numpy()[0] = 1\n"
    ">>> a.tolist()\n"
    "[1.0, 0.0]";

/* How NumPy knows a dtype: its own, one of ml_dtypes on elements of so many bytes, or not at all. */
typedef enum convert_home { CONVERT_NUMPY, CONVERT_ML_DTYPES, CONVERT_NOWHERE } convert_home;

static convert_home convert_find_home(const dlpark_view *view)
{
    DLDataType dtype = view->dtype;
    unsigned least = dtype.code == kDLFloat ? 16 : 8;
    unsigned most = dtype.code == kDLComplex ? 128 : 64;

    if (dtype.code == kDLOpaqueHandle || dtype.bits > most)
        return CONVERT_NOWHERE;
    if (dtype.bits < 8)
        return (view->flags & DLPARK_VIEW_PADDED) != 0 && dtype.lanes == 1 ? CONVERT_ML_DTYPES : CONVERT_NOWHERE;
    if (dtype.code == kDLBfloat || dtype.code > kDLBool || (dtype.code == kDLComplex && dtype.bits == 32))
        return CONVERT_ML_DTYPES;
    return dtype.bits >= least ? CONVERT_NUMPY : CONVERT_NOWHERE;
}

const char *dlpark__py_tensor_numpy_hint(const dlpark_view *view)
{
    switch (convert_find_home(view)) {
    case CONVERT_ML_DTYPES:
        return "; the method numpy() gives an array of the package ml_dtypes";
    case CONVERT_NUMPY:
        return "; the method numpy() makes lanes a dimension";
    default:
        return "; tolist() reads the elements";
    }
}

static PyObject *convert_refuse_dtype(const dlpark_view *view)
{
    bool is_packed = dlpark_dtype_is_packed(view->dtype);

    return PyErr_Format(PyExc_TypeError, "NumPy has no dtype for %s%s%s", is_packed ? "packed " : "",
                        dlpark_dtype_long_name(view->dtype).text,
                        is_packed ? ", whose elements share bytes; tolist() reads them" : "");
}

/* The array of a view that the buffer protocol can express. */
static PyObject *convert_array(PyObject *self, const dlpark_view *view)
{
    PyObject *part = dlpark__py_tensor_part(self, view);
    PyObject *array = part != NULL ? dlpark__py_array(part, NULL, 0, NULL) : NULL;

    Py_XDECREF(part);
    return array;
}

/* A dtype of ml_dtypes by its name. */
static PyObject *convert_ml_dtype(const char *name)
{
    PyObject *module = PyImport_ImportModule("ml_dtypes");

    if (module == NULL) {
        if (PyErr_ExceptionMatches(PyExc_ModuleNotFoundError))
            PyErr_Format(PyExc_ModuleNotFoundError,
                         "NumPy knows %s through the package ml_dtypes, which is not installed; tolist() reads the "
                         "elements without it",
                         name);
        return NULL;
    }
    PyObject *dtype = PyObject_GetAttrString(module, name);
    Py_DECREF(module);
    if (dtype == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_TypeError, "the installed ml_dtypes has no %s", name);
    return dtype;
}

/* The array of a view whose elements NumPy takes for integers of their width. */
static PyObject *convert_ml_array(PyObject *self, dlpark_view *view)
{
    dlpark_name name = dlpark_dtype_long_name(view->dtype);
    dlpark_error err;

    DLDataType words_dtype = {kDLUInt, (uint8_t)(view->dtype.bits < 8 ? 8 : view->dtype.bits), 1};
    if (dlpark_view_reinterpret(view, words_dtype, &err) != DLPARK_OK)
        return dlpark__py_raise_value(&err);
    PyObject *dtype = convert_ml_dtype(name.text);
    PyObject *words = dtype != NULL ? convert_array(self, view) : NULL;
    PyObject *array = words != NULL ? PyObject_CallMethod(words, "view", "O", dtype) : NULL;
    Py_XDECREF(words);
    Py_XDECREF(dtype);
    return array;
}

/* Makes lanes a last dimension. */
static dlpark_status convert_spread_lanes(dlpark_view *view, dlpark_error *err)
{
    if (view->dtype.lanes == 1)
        return DLPARK_OK;
    DLPARK_TRY(dlpark_view_expand_dims(view, -1, err));
    return dlpark_view_reinterpret(view, DLPARK_DTYPE(view->dtype.code, view->dtype.bits, 1), err);
}

PyObject *dlpark__py_tensor_numpy(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const dlpark__py_signature signature = {.function = "numpy"};
    dlpark_view view;
    dlpark_error err;

    dlpark__py_tensor_describe(self, &view);
    if (dlpark__py_bind(&signature, args, nargs, keyword_names, NULL) < 0 ||
        dlpark__py_require_host(&view, "numpy()") < 0)
        return NULL;
    convert_home home = convert_find_home(&view);
    if (home == CONVERT_NOWHERE)
        return convert_refuse_dtype(&view);
    if (convert_spread_lanes(&view, &err) != DLPARK_OK)
        return dlpark__py_raise_value(&err);
    return home == CONVERT_NUMPY ? convert_array(self, &view) : convert_ml_array(self, &view);
}
