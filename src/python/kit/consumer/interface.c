/*
 * Reading the dicts of the array interfaces, and from memory that is described in bytes to a tensor.
 */
#include "interface_parts.h"

#include <string.h>

/* The version that both dicts have today. */
#define INTERFACE_VERSION 3

/* Below this many bytes it is over sooner than another thread would get the GIL. */
#define INTERFACE_GIL_NBYTES 65536

/* ---- Refusals ---- */

int dlpark__py_interface_raise(const dlpark__py_strided *strided, PyObject *class, const char *format, ...)
{
    dlpark_name type = dlpark__py_type_name(strided->object);
    va_list arguments;

    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (text != NULL)
        PyErr_Format(class, "%s%s: %U", type.text, strided->attribute, text);
    Py_XDECREF(text);
    return -1;
}

int dlpark__py_interface_refuse(const dlpark__py_strided *strided, const dlpark_error *err)
{
    dlpark_name type = dlpark__py_type_name(strided->object);
    dlpark_error whole;

    (void)dlpark_error_set(&whole, err->status, "%s%s: %s", type.text, strided->attribute, err->message);
    dlpark_py_raise(&whole);
    return -1;
}

/* ---- Values ---- */

/* An attribute that is missing is the usual case, and an exception costs more than all the rest. */
#if PY_VERSION_HEX >= 0x030D0000 && (!defined(Py_LIMITED_API) || Py_LIMITED_API + 0 >= 0x030D0000)

int dlpark__py_interface_attribute(PyObject *object, const char *name, PyObject **out)
{
    return PyObject_GetOptionalAttrString(object, name, out);
}

static int interface_find(PyObject *dict, PyObject *key, PyObject **out)
{
    return PyDict_GetItemRef(dict, key, out);
}

#else

int dlpark__py_interface_attribute(PyObject *object, const char *name, PyObject **out)
{
    PyObject *key = PyUnicode_FromString(name);

    *out = NULL;
    if (key == NULL)
        return -1;
#if defined(Py_LIMITED_API)
    *out = PyObject_GetAttr(object, key);
    int found = *out != NULL ? 1 : -1;
    if (found < 0 && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = 0;
    }
#else
    int found = _PyObject_LookupAttr(object, key, out);
#endif
    Py_DECREF(key);
    return found;
}

/* What a subclass does about its items is not asked, as in the other branch. */
static int interface_find(PyObject *dict, PyObject *key, PyObject **out)
{
    *out = PyDict_GetItemWithError(dict, key); /* borrowed */
    Py_XINCREF(*out);
    if (*out != NULL)
        return 1;
    return PyErr_Occurred() != NULL ? -1 : 0;
}

#endif

int dlpark__py_interface_item(PyObject *dict, const char *key, PyObject **out)
{
    PyObject *name = PyUnicode_FromString(key);
    int found = -1;

    *out = NULL;
    if (name != NULL)
        found = interface_find(dict, name, out);
    Py_XDECREF(name);
    if (found == 1 && *out == Py_None) {
        Py_CLEAR(*out);
        return 0;
    }
    return found;
}

int dlpark__py_interface_need(const dlpark__py_strided *strided, PyObject *dict, const char *key, PyObject **out)
{
    int found = dlpark__py_interface_item(dict, key, out);

    if (found == 0)
        return dlpark__py_interface_raise(strided, PyExc_ValueError, "there is no '%s' in it", key);
    return found < 0 ? -1 : 0;
}

/* "shape[1]", or the key alone. */
static dlpark_name interface_place(const char *key, int index)
{
    dlpark_name place;

    if (index < 0)
        PyOS_snprintf(place.text, sizeof place.text, "%s", key);
    else
        PyOS_snprintf(place.text, sizeof place.text, "%s[%d]", key, index);
    return place;
}

/* A new reference to a value as an int. A bool is more likely to be the wrong entry than a 0 or a 1. */
static PyObject *interface_index(const dlpark__py_strided *strided, const char *key, int index, PyObject *value)
{
    if (!PyBool_Check(value) && PyIndex_Check(value))
        return PyNumber_Index(value);
    dlpark_name place = interface_place(key, index);
    dlpark_name type = dlpark__py_type_name(value);
    dlpark__py_interface_raise(strided, PyExc_TypeError, "%s must be an integer, not %s", place.text, type.text);
    return NULL;
}

int dlpark__py_interface_integer(const dlpark__py_strided *strided, const char *key, int index, PyObject *value,
                                 int64_t *out)
{
    PyObject *integer = interface_index(strided, key, index, value);
    int overflow = 0;

    if (integer == NULL)
        return -1;
    long long read = PyLong_AsLongLongAndOverflow(integer, &overflow);
    if (overflow != 0) {
        dlpark_name place = interface_place(key, index);
        dlpark__py_interface_raise(strided, PyExc_BufferError, "%s is %s: more than 64 bits", place.text,
                                   dlpark__py_integer_text(integer).text);
    }
    Py_DECREF(integer);
    if (overflow != 0)
        return -1;
    *out = read;
    return 0;
}

int dlpark__py_interface_address(const dlpark__py_strided *strided, const char *key, int index, PyObject *value,
                                 void **out)
{
    PyObject *integer = interface_index(strided, key, index, value);

    if (integer == NULL)
        return -1;
    unsigned long long read = PyLong_AsUnsignedLongLong(integer);
    Py_DECREF(integer);
    if ((read == (unsigned long long)-1 && PyErr_Occurred()) || read > UINTPTR_MAX) {
        dlpark_name place = interface_place(key, index);
        PyErr_Clear();
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "%s is no address: negative, or too large",
                                          place.text);
    }
    *out = (void *)(uintptr_t)read;
    return 0;
}

/* ---- The dict ---- */

static int interface_read_list(const dlpark__py_strided *strided, const char *key, PyObject *list, int32_t *count,
                               int64_t *out)
{
    if (!PyTuple_Check(list)) {
        dlpark_name type = dlpark__py_type_name(list);
        return dlpark__py_interface_raise(strided, PyExc_TypeError, "'%s' must be a tuple, not %s", key, type.text);
    }
    Py_ssize_t length = PyTuple_Size(list);
    if (length > DLPARK_MAX_NDIM)
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "'%s' has %zd entries, and a tensor at most %d",
                                          key, length, DLPARK_MAX_NDIM);
    for (int i = 0; i < (int)length; i++)
        if (dlpark__py_interface_integer(strided, key, i, PyTuple_GetItem(list, i), &out[i]) < 0)
            return -1;
    *count = (int32_t)length;
    return 0;
}

static int interface_read_version(const dlpark__py_strided *strided, PyObject *dict, int oldest)
{
    PyObject *value;
    int64_t version;

    if (dlpark__py_interface_need(strided, dict, "version", &value) < 0)
        return -1;
    int status = dlpark__py_interface_integer(strided, "version", -1, value, &version);
    dlpark__py_drop(value);
    if (status == 0 && (version < oldest || version > INTERFACE_VERSION))
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "version is %lld, and is known from %d to %d",
                                          (long long)version, oldest, INTERFACE_VERSION);
    return status;
}

static int interface_read_shape(dlpark__py_strided *strided, PyObject *dict)
{
    PyObject *value;
    int32_t count = 0;

    if (dlpark__py_interface_need(strided, dict, "shape", &value) < 0)
        return -1;
    int status = interface_read_list(strided, "shape", value, &strided->ndim, strided->shape);
    dlpark__py_drop(value);
    if (status < 0)
        return -1;
    int found = dlpark__py_interface_item(dict, "strides", &value);
    if (found <= 0)
        return found;
    status = interface_read_list(strided, "strides", value, &count, strided->strides);
    dlpark__py_drop(value);
    if (status == 0 && count != strided->ndim)
        return dlpark__py_interface_raise(strided, PyExc_ValueError, "'strides' has %d entries, and 'shape' %d",
                                          (int)count, (int)strided->ndim);
    strided->has_strides = true;
    return status;
}

/* Tells the dtype of items that the interface calls mere bytes by the name of the object's dtype, such as "bfloat16" of
 * ml_dtypes or "torch.bfloat16". 1, 0, -1. */
static int interface_read_name(dlpark__py_strided *strided, int64_t item_nbytes)
{
    PyObject *dtype = NULL;
    PyObject *name = NULL;
    DLDataType read;
    int found = dlpark__py_interface_attribute(strided->object, "dtype", &dtype);

    if (found <= 0)
        return found;
    if (dlpark__py_interface_attribute(dtype, "name", &name) == 0)
        name = PyObject_Str(dtype);
    dlpark__py_drop(dtype);
    if (name == NULL)
        return -1;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : "";
    const char *dot = text != NULL ? strrchr(text, '.') : NULL;
    found = text != NULL ? 0 : -1;
    /* What has a kind of its own would have been called by it. */
    if (text != NULL && dlpark_dtype_parse(dot != NULL ? dot + 1 : text, &read, NULL) == DLPARK_OK && read.lanes == 1 &&
        (read.bits + 7) / 8 == item_nbytes && dlpark__py_typestr_of(read) == NULL) {
        strided->dtype = read;
        strided->is_padded = dlpark_dtype_is_packed(read);
        found = 1;
    }
    dlpark__py_drop(name);
    return found;
}

int dlpark__py_interface_read_kind(dlpark__py_strided *strided, char kind, int64_t item_nbytes)
{
    dlpark_error err;

    strided->item_nbytes = item_nbytes;
    if (dlpark__py_kind_parse(kind, item_nbytes, &strided->dtype, &err) == DLPARK_OK)
        return 0;
    int found = dlpark__py_kind_is_open(kind, item_nbytes) ? interface_read_name(strided, item_nbytes) : 0;
    if (found != 0)
        return found < 0 ? -1 : 0;
    return dlpark__py_interface_refuse(strided, &err);
}

static int interface_read_typestr(dlpark__py_strided *strided, PyObject *dict)
{
    PyObject *value;
    dlpark__py_typestr parts;
    dlpark_error err;

    if (dlpark__py_interface_need(strided, dict, "typestr", &value) < 0)
        return -1;
    if (!PyUnicode_Check(value)) {
        dlpark_name type = dlpark__py_type_name(value);
        dlpark__py_drop(value);
        return dlpark__py_interface_raise(strided, PyExc_TypeError, "'typestr' must be a str, not %s", type.text);
    }
    Py_ssize_t nbytes = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value, &nbytes);
    dlpark_status status = DLPARK_OK;
    if (text != NULL)
        status = strlen(text) == (size_t)nbytes
                     ? dlpark__py_typestr_split(text, &parts, &err)
                     : dlpark_error_set(&err, DLPARK_E_DTYPE, "the typestr has a null character in it");
    dlpark__py_drop(value);
    if (text == NULL)
        return -1;
    if (status != DLPARK_OK)
        return dlpark__py_interface_refuse(strided, &err);
    strided->is_swapped = parts.is_swapped;
    return dlpark__py_interface_read_kind(strided, parts.kind, parts.item_nbytes);
}

int dlpark__py_interface_read(dlpark__py_strided *strided, PyObject *dict, int oldest)
{
    PyObject *mask;

    if (!PyDict_Check(dict)) {
        dlpark_name type = dlpark__py_type_name(dict);
        return dlpark__py_interface_raise(strided, PyExc_TypeError, "it must be a dict, not %s", type.text);
    }
    if (interface_read_version(strided, dict, oldest) < 0)
        return -1;
    int masked = dlpark__py_interface_item(dict, "mask", &mask);
    if (masked < 0)
        return -1;
    dlpark__py_drop(mask);
    if (masked)
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "it has a mask, which a tensor cannot have");
    if (interface_read_typestr(strided, dict) < 0)
        return -1;
    return interface_read_shape(strided, dict);
}

int dlpark__py_interface_read_data(dlpark__py_strided *strided, PyObject *data)
{
    if (!PyTuple_Check(data)) {
        dlpark_name type = dlpark__py_type_name(data);
        return dlpark__py_interface_raise(strided, PyExc_TypeError,
                                          "'data' must be a tuple of an address and a flag, not %s", type.text);
    }
    if (PyTuple_Size(data) != 2)
        return dlpark__py_interface_raise(strided, PyExc_ValueError,
                                          "'data' must be a tuple of an address and a flag, not of %zd",
                                          PyTuple_Size(data));
    if (dlpark__py_interface_address(strided, "data", 0, PyTuple_GetItem(data, 0), &strided->data) < 0)
        return -1;
    int is_read_only = PyObject_IsTrue(PyTuple_GetItem(data, 1));
    strided->is_read_only = is_read_only != 0;
    return is_read_only < 0 ? -1 : 0;
}

/* ---- From bytes to a tensor ---- */

/* Turns the strides into elements. Where they mean nothing they may be anything. */
static int interface_to_elements(dlpark__py_strided *strided)
{
    bool is_empty = false;

    for (int32_t i = 0; i < strided->ndim; i++)
        is_empty = is_empty || strided->shape[i] == 0;
    for (int32_t i = 0; strided->has_strides && i < strided->ndim; i++) {
        bool means_nothing = is_empty || strided->shape[i] == 1;
        if (strided->strides[i] % strided->item_nbytes != 0 && !means_nothing)
            return dlpark__py_interface_raise(strided, PyExc_BufferError,
                                              "strides[%d] is %lld bytes, no multiple of the %lld of an element",
                                              (int)i, (long long)strided->strides[i], (long long)strided->item_nbytes);
        strided->strides[i] /= strided->item_nbytes;
    }
    return 0;
}

/* Whether the elements lie in the memory that there is. */
static int interface_check_bounds(const dlpark__py_strided *strided)
{
    int64_t lowest;
    int64_t highest;
    dlpark_error err;

    if (dlpark_layout_span(strided->ndim, strided->shape, strided->has_strides ? strided->strides : NULL, &lowest,
                           &highest, &err))
        return dlpark__py_interface_refuse(strided, &err);
    /* highest is at most 2^63-2. */
    if (-lowest > strided->before_nbytes / strided->item_nbytes ||
        highest + 1 > strided->after_nbytes / strided->item_nbytes)
        return dlpark__py_interface_raise(strided, PyExc_BufferError,
                                          "the elements %lld to %lld of %lld bytes do not lie in its buffer, which "
                                          "has %lld bytes before and %lld bytes from element 0 on",
                                          (long long)lowest, (long long)highest, (long long)strided->item_nbytes,
                                          (long long)strided->before_nbytes, (long long)strided->after_nbytes);
    return 0;
}

/* Whether what was described may be handed on as it was asked for. */
static int interface_check(dlpark__py_strided *strided, const dlpark_py_options *options)
{
    if (strided->is_swapped && !options->byteswap)
        return dlpark__py_interface_raise(strided, PyExc_BufferError,
                                          "the elements have the byte order of other machines; "
                                          "dlpark.from_dlpack(x, byteswap=True) takes a copy in this one's");
    if (strided->is_swapped && options->copy == DLPARK_PY_COPY_NEVER)
        return dlpark__py_interface_raise(strided, PyExc_BufferError,
                                          "the elements have the byte order of other machines: that needs a copy, and "
                                          "copy=False");
    if (strided->is_swapped && !dlpark__py_is_host(strided->device)) {
        dlpark_name device = dlpark_device_name(strided->device);
        return dlpark__py_interface_raise(strided, PyExc_BufferError,
                                          "the elements have the byte order of other machines, and on %s dlpark cannot "
                                          "swap them",
                                          device.text);
    }
    if (interface_to_elements(strided) < 0)
        return -1;
    return strided->has_bounds ? interface_check_bounds(strided) : 0;
}

/* Puts a copy in this machine's byte order in the tensor's place. */
static int interface_swap(dlpark_tensor *tensor, bool *is_copied)
{
    dlpark_tensor copy = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    int status = dlpark__py_copy(&view, &copy);
    dlpark__py_tensor_release(tensor);
    if (status < 0)
        return -1;
    dlpark_tensor_view(&copy, &view);
    PyThreadState *thread = dlpark_view_nbytes(&view) >= INTERFACE_GIL_NBYTES ? PyEval_SaveThread() : NULL;
    dlpark__py_swap(view.data, dlpark_view_nbytes(&view), view.dtype);
    if (thread != NULL)
        PyEval_RestoreThread(thread);
    *tensor = copy;
    *is_copied = true;
    return 1;
}

int dlpark__py_strided_take(dlpark__py_strided *strided, PyObject *owner, const dlpark_py_options *options,
                            dlpark_tensor *tensor, bool *is_copied)
{
    dlpark_error err;

    if (interface_check(strided, options) < 0) {
        dlpark__py_drop(owner);
        return -1;
    }
    dlpark_tensor_desc desc = {
        .data = strided->data,
        .dtype = strided->dtype,
        .device = strided->device,
        .ndim = strided->ndim,
        .shape = DLPARK_DIMS(strided->shape),
        .flags =
            (strided->is_read_only ? DLPARK_TENSOR_READ_ONLY : 0) | (strided->is_padded ? DLPARK_TENSOR_PADDED : 0),
        .owner = owner,
        .release = dlpark__py_drop_anywhere,
    };
    if (strided->has_strides)
        desc.strides = DLPARK_DIMS(strided->strides);
    if (dlpark_tensor_new(tensor, &desc, NULL, &err)) {
        dlpark__py_interface_refuse(strided, &err);
        dlpark__py_drop(owner);
        return -1;
    }
    *is_copied = false;
    return strided->is_swapped ? interface_swap(tensor, is_copied) : 1;
}
