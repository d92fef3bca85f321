/*
 * A tensor from an object with Python's buffer protocol (PEP 3118).
 */
#include "interface_parts.h"

#define BUFFER_CAPSULE "dlpark.kit.buffer"

/* ---- Who holds the buffer ---- */

static void buffer_end(PyObject *capsule)
{
    Py_buffer *buffer = PyCapsule_GetPointer(capsule, BUFFER_CAPSULE);

    PyBuffer_Release(buffer);
    PyMem_Free(buffer);
}

PyObject *dlpark__py_buffer_hold(PyObject *object, int flags, bool writable, Py_buffer **out)
{
    /* Where it stays: its pointers may be to itself. */
    Py_buffer *buffer = PyMem_Calloc(1, sizeof *buffer);

    if (buffer == NULL)
        return PyErr_NoMemory();
    if (PyObject_GetBuffer(object, buffer, flags | (writable ? PyBUF_WRITABLE : 0)) < 0) {
        PyMem_Free(buffer);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(buffer, BUFFER_CAPSULE, buffer_end);
    if (capsule == NULL) {
        pending_error saved = dlpark__py_error_save();
        PyBuffer_Release(buffer);
        PyMem_Free(buffer);
        dlpark__py_error_restore(&saved);
        return NULL;
    }
    *out = buffer;
    return capsule;
}

/* ---- What it describes ---- */

static int buffer_read_format(dlpark__py_strided *strided, const Py_buffer *buffer)
{
    dlpark_error err;

    strided->item_nbytes = buffer->itemsize;
    if (dlpark__py_format_parse(buffer->format != NULL ? buffer->format : "B", buffer->itemsize, &strided->dtype,
                                &strided->is_swapped, &err) == DLPARK_OK)
        return 0;
    return dlpark__py_interface_refuse(strided, &err);
}

static int buffer_read(dlpark__py_strided *strided, const Py_buffer *buffer)
{
    if (buffer_read_format(strided, buffer) < 0)
        return -1;
    if (buffer->ndim < 0 || buffer->ndim > DLPARK_MAX_NDIM)
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "it has %d dimensions, and a tensor 0 to %d",
                                          buffer->ndim, DLPARK_MAX_NDIM);
    if (buffer->ndim > 0 && buffer->shape == NULL)
        return dlpark__py_interface_raise(strided, PyExc_BufferError, "it has %d dimensions, and no shape",
                                          buffer->ndim);
    for (int i = 0; buffer->suboffsets != NULL && i < buffer->ndim; i++)
        if (buffer->suboffsets[i] >= 0)
            return dlpark__py_interface_raise(
                strided, PyExc_BufferError, "the elements lie behind pointers (suboffsets[%d] is %zd), not at strides",
                i, buffer->suboffsets[i]);
    strided->data = buffer->buf;
    strided->is_read_only = buffer->readonly != 0;
    strided->ndim = buffer->ndim;
    strided->has_strides = buffer->strides != NULL;
    for (int i = 0; i < buffer->ndim; i++) {
        strided->shape[i] = buffer->shape[i];
        if (buffer->strides != NULL)
            strided->strides[i] = buffer->strides[i];
    }
    return 0;
}

int dlpark__py_buffer_import(dlpark__py_state *state, PyObject *object, const dlpark_py_options *options,
                             dlpark_tensor *tensor, bool *is_copied)
{
    dlpark__py_strided strided = {.object = object, .attribute = " buffer", .device = DLPARK_DEVICE_CPU};
    bool writable = options->writable && options->copy != DLPARK_PY_COPY_ALWAYS;
    Py_buffer *buffer = NULL;

    (void)state;
    if (!PyObject_CheckBuffer(object))
        return 0;
    PyObject *holder = dlpark__py_buffer_hold(object, PyBUF_FULL_RO, writable, &buffer);
    if (holder == NULL)
        return -1;
    if (buffer_read(&strided, buffer) < 0) {
        dlpark__py_drop(holder);
        return -1;
    }
    return dlpark__py_strided_take(&strided, holder, options, tensor, is_copied);
}
