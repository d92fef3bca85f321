/*
 * A Tensor as text: its description, and the elements as NumPy prints them.
 */
#include "tensor_methods.h"

/* With more elements than a small table has, the description stands alone. */
#define TEXT_REPR_ELEMENTS 100

static PyObject *text_list(int32_t count, const int64_t *values)
{
    PyObject *list = PyList_New(count);

    for (int32_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (value == NULL || PyList_SetItem(list, i, value) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *text_head(const dlpark_view *view)
{
    PyObject *shape = text_list(view->ndim, view->shape);
    PyObject *strides = shape != NULL ? text_list(view->ndim, view->strides) : NULL;
    PyObject *text = NULL;
    bool is_read_only = (view->flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0;

    if (strides != NULL)
        text = PyUnicode_FromFormat("Tensor(%s%S, %s, strides=%S%s)", dlpark_dtype_long_name(view->dtype).text, shape,
                                    dlpark_device_name(view->device).text, strides, is_read_only ? ", read-only" : "");
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return text;
}

static PyObject *text_elements(const dlpark_view *view)
{
    size_t length = dlpark_view_text(view, NULL, NULL, 0);
    char *text = PyMem_Malloc(length + 1);

    if (text == NULL)
        return PyErr_NoMemory();
    /* Whoever writes to the memory meanwhile may make it longer; then it is cut. */
    size_t written = dlpark_view_text(view, NULL, text, length + 1);
    PyObject *result = PyUnicode_FromStringAndSize(text, (Py_ssize_t)(written < length ? written : length));
    PyMem_Free(text);
    return result;
}

PyObject *dlpark__py_tensor_str(PyObject *self)
{
    dlpark_view view;
    char line[256];

    dlpark__py_tensor_describe(self, &view);
    if (view.device.device_type == kDLCUDAManaged) {
        dlpark_view_describe(&view, line, sizeof line);
        return PyUnicode_FromFormat("<%s: not read, the device may be at work on it>", line);
    }
    return text_elements(&view);
}

/* Whether all elements are shown beside the description. */
static bool text_is_small(const dlpark_view *view)
{
    int64_t numel = dlpark_view_numel(view);

    return dlpark__py_is_host(view->device) && numel > 0 && numel <= TEXT_REPR_ELEMENTS / view->dtype.lanes;
}

/* What fits on one line stays on it. */
static PyObject *text_join(PyObject *head, PyObject *elements)
{
    Py_ssize_t at = PyUnicode_FindChar(elements, '\n', 0, PyUnicode_GetLength(elements), 1);

    return at == -2 ? NULL : PyUnicode_FromFormat(at == -1 ? "%U %U" : "%U\n%U", head, elements);
}

PyObject *dlpark__py_tensor_repr(PyObject *self)
{
    dlpark_view view;

    dlpark__py_tensor_describe(self, &view);
    PyObject *head = text_head(&view);
    if (head == NULL || !text_is_small(&view))
        return head;
    PyObject *elements = text_elements(&view);
    PyObject *text = elements != NULL ? text_join(head, elements) : NULL;
    Py_DECREF(head);
    Py_XDECREF(elements);
    return text;
}

PyObject *dlpark__py_tensor_head(PyObject *self)
{
    dlpark_view view;

    dlpark__py_tensor_describe(self, &view);
    return text_head(&view);
}
