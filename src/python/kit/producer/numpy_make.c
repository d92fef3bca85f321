/*
 * Arrays for NumPy: new ones, and on the memory of others.
 */
#include "../numpy_parts.h"

/* ---- dtypes ---- */

/* The number of a dtype of NumPy's own; -1: none. */
static int numpy_number(const dlpark__py_numpy *numpy, DLDataType dtype)
{
    bool is_plain = dtype.lanes == 1 && dtype.code < NUMPY_CODES && (dtype.bits & (dtype.bits - 1)) == 0;

    return is_plain && dtype.bits != 0 ? numpy->numbers[dtype.code][__builtin_ctz(dtype.bits)] : -1;
}

/* ml_dtypes, imported if need be; NULL without an exception where it is not installed. */
static PyObject *numpy_ml_dtypes(void)
{
    PyObject *module = PyImport_ImportModule("ml_dtypes");

    if (module == NULL && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError))
        PyErr_Clear();
    return module;
}

static const numpy_user *numpy_find_user(DLDataType dtype)
{
    for (size_t i = 0; i < NUMPY_USER_TYPES; i++)
        if (dlpark_dtype_equal(dlpark__py_numpy_users[i].element.dtype, dtype))
            return &dlpark__py_numpy_users[i];
    return NULL;
}

/* The numbers of the dtypes in dlpark__py_numpy_users, 0 where they have not been met. */
static int numpy_user_numbers[NUMPY_USER_TYPES];

/* A dtype object of another library's; NULL with or without an exception. */
static PyObject *numpy_user_dtype(const dlpark__py_numpy *numpy, DLDataType dtype)
{
    const numpy_user *user = numpy_find_user(dtype);

    if (user == NULL)
        return NULL;
    int *known = &numpy_user_numbers[user - dlpark__py_numpy_users];
    int number = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (number != 0)
        return numpy->dtype_from_number(number);
    PyObject *module = numpy_ml_dtypes();
    PyObject *type = module != NULL ? PyObject_GetAttrString(module, user->name) : NULL;
    PyObject *made = type != NULL ? numpy->dtype_from_type(type) : NULL;
    if (made != NULL && ((const numpy_dtype *)made)->number >= NUMPY_USER)
        __atomic_store_n(known, ((const numpy_dtype *)made)->number, __ATOMIC_RELAXED);
    Py_XDECREF(module);
    Py_XDECREF(type);
    return made;
}

static PyObject *numpy_dtype_object(const dlpark__py_numpy *numpy, DLDataType dtype)
{
    int number = numpy_number(numpy, dtype);
    PyObject *made = number >= 0 ? numpy->dtype_from_number(number) : numpy_user_dtype(numpy, dtype);

    if (made == NULL && PyErr_Occurred() == NULL) {
        dlpark_name name = dlpark_dtype_long_name(dtype);
        PyErr_Format(PyExc_BufferError, "NumPy has no dtype for %s%s", name.text,
                     numpy_find_user(dtype) != NULL ? "; the package ml_dtypes has one, and is not installed" : "");
    }
    return made;
}

/* ---- Arrays ---- */

/* By NumPy's own measures: extents, and strides in bytes or NULL; memory of its own where `data` is NULL, else kept alive by
 * `owner`, which is taken on success. */
static PyObject *numpy_make_array(const dlpark__py_numpy *numpy, DLDataType dtype, int ndim, const Py_ssize_t *extents,
                                  const Py_ssize_t *strides, void *data, bool is_writable, PyObject *owner)
{
    PyObject *element = numpy_dtype_object(numpy, dtype);

    if (element == NULL)
        return NULL;
    PyObject *array = numpy->new_from_dtype(numpy->array_type, element, ndim, extents, strides, data,
                                            data != NULL && is_writable ? NUMPY_WRITEABLE : 0, NULL);
    if (array != NULL) /* the dtype has gone with it in any case */
        ((numpy_array *)array)->base = owner;
    return array;
}

PyObject *dlpark__py_numpy_new(const dlpark__py_numpy *numpy, DLDataType dtype, int32_t ndim, const int64_t *shape,
                               dlpark_view *view)
{
    Py_ssize_t extents[DLPARK_MAX_NDIM] DLPARK_UNINITIALIZED;

    if (ndim < 0 || ndim > DLPARK_MAX_NDIM)
        return PyErr_Format(PyExc_BufferError, "a NumPy array cannot have %d dimensions", (int)ndim);
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] > PY_SSIZE_T_MAX)
            return PyErr_Format(PyExc_BufferError, "shape[%d] is %lld, more than NumPy has", (int)i,
                                (long long)shape[i]);
        extents[i] = (Py_ssize_t)shape[i];
    }
    PyObject *array = numpy_make_array(numpy, dtype, (int)ndim, extents, NULL, NULL, true, NULL);
    if (array == NULL)
        return NULL;
    if (dlpark__py_numpy_view(numpy, array, view) == 1)
        return array;
    Py_DECREF(array);
    if (PyErr_Occurred() == NULL)
        PyErr_SetString(PyExc_SystemError, "a new NumPy array is not as it was asked for");
    return NULL;
}

PyObject *dlpark__py_numpy_new_plain(const dlpark__py_numpy *numpy, DLDataType dtype, int32_t ndim,
                                     const int64_t *shape, DLTensor *out)
{
    int number = numpy_number(numpy, dtype);
    uint32_t flags;

    if (number < 0 || sizeof(Py_ssize_t) != sizeof *shape)
        return NULL;
    PyObject *array = numpy->new_from_dtype(numpy->array_type, numpy->dtype_from_number(number), (int)ndim,
                                            (const Py_ssize_t *)(const void *)shape, NULL, NULL, 0, NULL);
    if (DLPARK_LIKELY(array != NULL && dlpark__py_numpy_compact(array, out, &flags) && flags == 0))
        return array;
    Py_XDECREF(array);
    PyErr_Clear();
    return NULL;
}

/* ---- Arrays on memory of others ---- */

/* Fills in the extents. *compact: elements lie in row-major order without gaps, so that NumPy finds the strides itself. */
static int numpy_extents(const DLTensor *tensor, Py_ssize_t *extents, bool *compact)
{
    int64_t expected = 1;
    bool empty = false;
    bool gaps = false;

    for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
        int64_t extent = tensor->shape[i];
        if (extent > PY_SSIZE_T_MAX) {
            PyErr_Format(PyExc_BufferError, "shape[%d] is %lld, more than NumPy has", (int)i, (long long)extent);
            return -1;
        }
        extents[i] = (Py_ssize_t)extent;
        empty |= extent == 0;
        gaps |= extent != 1 && tensor->strides[i] != expected;
        gaps |= __builtin_mul_overflow(expected, extent, &expected); /* which only a tensor without elements can do */
    }
    *compact = empty || !gaps;
    return 0;
}

/* Strides in bytes. One that is not used may be any number; it is left out where it is too large. */
static void numpy_strides(const DLTensor *tensor, Py_ssize_t item_nbytes, Py_ssize_t *strides)
{
    for (int32_t i = 0; i < tensor->ndim; i++)
        if (__builtin_mul_overflow(tensor->strides[i], item_nbytes, &strides[i]))
            strides[i] = item_nbytes;
}

PyObject *dlpark__py_numpy_wrap(const dlpark__py_numpy *numpy, const DLTensor *tensor, uint64_t flags, PyObject *owner)
{
    static _Alignas(16) char nothing[16]; /* where an array begins that has no elements */
    Py_ssize_t extents[DLPARK_MAX_NDIM] DLPARK_UNINITIALIZED;
    Py_ssize_t strides[DLPARK_MAX_NDIM] DLPARK_UNINITIALIZED;
    unsigned nbits = dlpark_dtype_nbits(tensor->dtype);
    bool is_writable = (flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
    bool compact;

    if (nbits % 8 != 0 && (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) == 0) {
        dlpark_name name = dlpark_dtype_long_name(tensor->dtype);
        return PyErr_Format(PyExc_BufferError, "NumPy has no packed %s, only one element in each byte", name.text);
    }
    if (numpy_extents(tensor, extents, &compact) < 0)
        return NULL;
    if (!compact)
        numpy_strides(tensor, (Py_ssize_t)((nbits + 7) / 8), strides);
    return numpy_make_array(numpy, tensor->dtype, (int)tensor->ndim, extents, compact ? NULL : strides,
                            tensor->data != NULL ? (char *)tensor->data + tensor->byte_offset : nothing, is_writable,
                            owner);
}
