/*
 * What the ways in by the array interfaces and the buffer protocol share.
 */
#ifndef DLPARK_PYTHON_INTERFACE_PARTS_H
#define DLPARK_PYTHON_INTERFACE_PARTS_H

#include "../kit.h"

/* Memory as one of these ways describes it: strides in bytes, and nothing checked. Zeroed memory is where to begin. */
typedef struct dlpark__py_strided {
    PyObject *object;      /* borrowed: whose memory it is */
    const char *attribute; /* how it was asked, for messages: ".__array_interface__" */
    DLDevice device;
    void *data; /* element 0 */
    bool is_read_only;
    bool is_swapped; /* the elements have the other byte order */
    bool is_padded;
    bool has_strides;      /* else compact row-major */
    bool has_bounds;       /* the two below are known */
    int64_t before_nbytes; /* bytes that are there before element 0, and from it on */
    int64_t after_nbytes;
    DLDataType dtype;
    int64_t item_nbytes;
    int32_t ndim;
    int64_t shape[DLPARK_MAX_NDIM];
    int64_t strides[DLPARK_MAX_NDIM];
} dlpark__py_strided;

/* ---- interface.c ---- */

/* Sets an exception whose message begins with type and attribute; the format is PyUnicode_FromFormat's. Returns -1. */
int dlpark__py_interface_raise(const dlpark__py_strided *strided, PyObject *class, const char *format, ...);

/* The same for a failure of the C library. */
int dlpark__py_interface_refuse(const dlpark__py_strided *strided, const dlpark_error *err);

/* An attribute: 1 and a new reference; 0, without an exception, where the object has none; -1. */
int dlpark__py_interface_attribute(PyObject *object, const char *name, PyObject **out);

/* What a dict has under a key: 1 and a new reference; 0 where there is nothing, or None, with NULL; -1. */
int dlpark__py_interface_item(PyObject *dict, const char *key, PyObject **out);

/* The same of what must be there: 0; -1, with ValueError where there is nothing. */
int dlpark__py_interface_need(const dlpark__py_strided *strided, PyObject *dict, const char *key, PyObject **out);

/* An integer, numpy's too, that fits; a bool is none. `index` is of the entry, -1: `key` itself. */
int dlpark__py_interface_integer(const dlpark__py_strided *strided, const char *key, int index, PyObject *value,
                                 int64_t *out);

/* The same of an address. */
int dlpark__py_interface_address(const dlpark__py_strided *strided, const char *key, int index, PyObject *value,
                                 void **out);

/* Reads the keys that both dicts have: version (from `oldest` to 3), mask, shape, typestr, strides. */
int dlpark__py_interface_read(dlpark__py_strided *strided, PyObject *dict, int oldest);

/* Reads the tuple (address, whether it is read-only). */
int dlpark__py_interface_read_data(dlpark__py_strided *strided, PyObject *data);

/* Finds the dtype of a kind with a size; where that says nothing, by what the object's `dtype` is called. */
int dlpark__py_interface_read_kind(dlpark__py_strided *strided, char kind, int64_t item_nbytes);

/*
 * The tensor. 1; -1 with an exception. Takes the reference `owner`, on failure too: what keeps the memory alive.
 * `strided` is changed.
 */
int dlpark__py_strided_take(dlpark__py_strided *strided, PyObject *owner, const dlpark_py_options *options,
                            dlpark_tensor *tensor, bool *is_copied);

/* ---- buffer_import.c ---- */

/* Gets an object's buffer. A new reference to what holds it, and releases it when it is dropped; NULL with an exception.
 * The buffer is read-only where a writable one was not to be had; `writable` insists. */
PyObject *dlpark__py_buffer_hold(PyObject *object, int flags, bool writable, Py_buffer **out);

#endif
