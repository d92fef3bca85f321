/*
 * A tensor from an object with NumPy's __array_interface__, a dict.
 */
#include "../numpy_arrays.h"
#include "interface_parts.h"

#define ARRAY_VERSION 3

/* Reads `offset`: the bytes from the start of the buffer to element 0. */
static int array_read_offset(const dlpark__py_strided *strided, PyObject *dict, int64_t *offset)
{
    PyObject *value;
    int found = dlpark__py_interface_item(dict, "offset", &value);

    *offset = 0;
    if (found <= 0)
        return found;
    int status = dlpark__py_interface_integer(strided, "offset", -1, value, offset);
    dlpark__py_drop(value);
    return status;
}

/* Finds element 0 in the buffer of `source`. A new reference to what holds that; NULL with an exception. */
static PyObject *array_read_buffer(dlpark__py_strided *strided, PyObject *source, int64_t offset, bool writable)
{
    Py_buffer *buffer = NULL;

    if (!PyObject_CheckBuffer(source)) {
        dlpark_name type = dlpark__py_type_name(source);
        dlpark__py_interface_raise(
            strided, PyExc_TypeError,
            "'data' must be a tuple of an address and a flag, or have a buffer, which %s has not", type.text);
        return NULL;
    }
    PyObject *holder = dlpark__py_buffer_hold(source, PyBUF_SIMPLE, writable, &buffer);
    if (holder == NULL)
        return NULL;
    if (offset < 0 || offset > buffer->len) {
        dlpark__py_interface_raise(strided, PyExc_BufferError, "offset is %lld, and the buffer has %zd bytes",
                                   (long long)offset, buffer->len);
        dlpark__py_drop(holder);
        return NULL;
    }
    strided->data = buffer->buf != NULL ? (char *)buffer->buf + offset : NULL;
    strided->is_read_only = buffer->readonly != 0;
    strided->has_bounds = true;
    strided->before_nbytes = offset;
    strided->after_nbytes = buffer->len - offset;
    return holder;
}

/*
 * Finds element 0: `data` is an address with a flag, or something with a buffer; without it the object itself has one.
 * The owner: a new reference to what keeps the memory alive. The dict is part of it, since NumPy's scalars make the
 * memory for it and keep that in it.
 */
static PyObject *array_read_data(dlpark__py_strided *strided, PyObject *dict, bool writable)
{
    PyObject *data = NULL;
    PyObject *owner = NULL;
    int64_t offset;

    if (array_read_offset(strided, dict, &offset) < 0 || dlpark__py_interface_item(dict, "data", &data) < 0)
        return NULL;
    if (data == NULL || !PyTuple_Check(data)) {
        PyObject *source = data != NULL ? data : strided->object;
        PyObject *holder = array_read_buffer(strided, source, offset, writable);
        if (holder != NULL)
            owner = PyTuple_Pack(3, strided->object, dict, holder);
        dlpark__py_drop(holder);
    } else if (offset != 0) {
        dlpark__py_interface_raise(strided, PyExc_ValueError,
                                   "offset is %lld, which has a meaning only where 'data' has a buffer",
                                   (long long)offset);
    } else if (dlpark__py_interface_read_data(strided, data) == 0) {
        owner = PyTuple_Pack(2, strided->object, dict);
    }
    dlpark__py_drop(data);
    return owner;
}

int dlpark__py_array_interface_import(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                                      dlpark_tensor *tensor, bool *is_copied)
{
    dlpark__py_strided strided = {.object = object, .attribute = ".__array_interface__", .device = DLPARK_DEVICE_CPU};
    bool writable = options->writable && options->copy != DLPARK_PY_COPY_ALWAYS;
    PyObject *dict;
    PyObject *owner = NULL;
    int found = dlpark__py_interface_attribute(object, "__array_interface__", &dict);

    if (found <= 0)
        return found;
    if (dlpark__py_interface_read(&strided, dict, ARRAY_VERSION) == 0)
        owner = array_read_data(&strided, dict, writable);
    strided.is_read_only |= dlpark__py_numpy_is_scalar(state, object);
    dlpark__py_drop(dict);
    return owner != NULL ? dlpark__py_strided_take(&strided, owner, options, tensor, is_copied) : -1;
}
