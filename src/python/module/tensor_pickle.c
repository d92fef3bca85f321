/*
 * Pickles of a Tensor (PEP 574: the memory itself travels out of band where the pickler can), and the module `copy`.
 */
#include "arguments.h"
#include "consumer/interface_parts.h"
#include "dtype_object.h"
#include "tensor_methods.h"

/* From this version of pickle's protocol on buffers may travel out of band. */
#define PICKLE_OUT_OF_BAND 5

/* ---- Giving ---- */

static int pickle_check(PyObject *self, const dlpark_view *view)
{
    if (dlpark__py_is_host(view->device))
        return 0;
    PyObject *head = dlpark__py_tensor_head(self);
    if (head != NULL)
        PyErr_Format(PyExc_TypeError, "cannot pickle %U: the host cannot read it%s", head,
                     dlpark__py_host_hint(view->device));
    Py_XDECREF(head);
    return -1;
}

/* The bytes of compact elements, a Tensor of uint8: the buffer protocol has no format for many a dtype. */
static PyObject *pickle_bytes(PyObject *self, const dlpark_view *view)
{
    dlpark_view bytes;

    dlpark_view_copy(&bytes, view);
    bytes.shape[0] = dlpark_view_nbytes(view);
    bytes.strides[0] = 1;
    bytes.ndim = 1;
    bytes.dtype = DLPARK_U8;
    bytes.flags &= ~DLPARK_VIEW_PADDED;
    return dlpark__py_tensor_part(self, &bytes);
}

/* The same of any elements; what is not compact is copied. */
static PyObject *pickle_bytes_of_any(PyObject *self, const dlpark_view *view)
{
    dlpark_tensor copy = DLPARK_TENSOR_EMPTY;
    dlpark_view copied;

    if (dlpark_view_is_compact(view))
        return pickle_bytes(self, view);
    if (dlpark__py_copy(view, &copy) < 0)
        return NULL;
    PyObject *compact = dlpark__py_tensor_made(self, &copy);
    if (compact == NULL)
        return NULL;
    dlpark__py_tensor_describe(compact, &copied);
    PyObject *bytes = pickle_bytes(compact, &copied);
    Py_DECREF(compact);
    return bytes;
}

/* What goes into the pickle; takes the bytes. Something that may be written comes back as such, whatever the protocol. */
static PyObject *pickle_wrap(PyObject *bytes, long protocol, bool is_read_only)
{
    PyObject *wrapped = NULL;

    if (bytes == NULL)
        return NULL;
    if (protocol >= PICKLE_OUT_OF_BAND) {
        PyObject *module = PyImport_ImportModule("pickle");
        wrapped = module != NULL ? PyObject_CallMethod(module, "PickleBuffer", "O", bytes) : NULL;
        Py_XDECREF(module);
    } else {
        wrapped = is_read_only ? PyBytes_FromObject(bytes) : PyByteArray_FromObject(bytes);
    }
    Py_DECREF(bytes);
    return wrapped;
}

/* The function that makes a Tensor again: by its name, as pickle compares it with what it finds there. */
static PyObject *pickle_maker(void)
{
    PyObject *module = PyImport_ImportModule("dlpark._core");
    PyObject *maker = module != NULL ? PyObject_GetAttrString(module, "_from_buffer") : NULL;

    Py_XDECREF(module);
    return maker;
}

PyObject *dlpark__py_tensor_reduce(PyObject *self, PyObject *protocol)
{
    dlpark_view view;
    long number = PyLong_AsLong(protocol);

    if (number == -1 && PyErr_Occurred() != NULL)
        return NULL;
    dlpark__py_tensor_describe(self, &view);
    if (pickle_check(self, &view) < 0)
        return NULL;
    bool is_read_only = (view.flags & (DLPARK_VIEW_READ_ONLY | DLPARK_VIEW_UNKNOWN_WRITE)) != 0;
    bool is_padded = (view.flags & DLPARK_VIEW_PADDED) != 0;
    dlpark_name dtype = dlpark_dtype_long_name(view.dtype);
    PyObject *reduced = NULL;
    PyObject *maker = pickle_maker();
    PyObject *shape = maker != NULL ? PyObject_GetAttrString(self, "shape") : NULL;
    PyObject *buffer = shape != NULL ? pickle_wrap(pickle_bytes_of_any(self, &view), number, is_read_only) : NULL;

    if (buffer != NULL)
        reduced = Py_BuildValue("(O(OsOOO))", maker, buffer, dtype.text, shape, is_read_only ? Py_True : Py_False,
                                is_padded ? Py_True : Py_False);
    Py_XDECREF(maker);
    Py_XDECREF(shape);
    Py_XDECREF(buffer);
    return reduced;
}

/* ---- Taking ---- */

/* What a pickle says of a tensor, none of which is believed. */
typedef struct pickle_claim {
    DLDataType dtype;
    integer_list shape;
    bool is_read_only;
    bool is_padded;
} pickle_claim;

static int pickle_read_truth(PyObject *object, bool *out)
{
    int truth = PyObject_IsTrue(object);

    *out = truth > 0;
    return truth < 0 ? -1 : 0;
}

static int pickle_read_claim(PyObject *const *args, pickle_claim *out)
{
    if (!PyTuple_Check(args[2])) {
        dlpark_name type = dlpark__py_type_name(args[2]);
        PyErr_Format(PyExc_TypeError, "_from_buffer(): shape must be a tuple of integers, not %s", type.text);
        return -1;
    }
    if (dlpark__py_dtype(args[1], "dtype", &out->dtype) < 0 ||
        dlpark__py_integers("shape", &args[2], 1, &out->shape) < 0 ||
        pickle_read_truth(args[3], &out->is_read_only) < 0 || pickle_read_truth(args[4], &out->is_padded) < 0)
        return -1;
    return 0;
}

/* A tensor of the buffer, which `holder` keeps. */
static int pickle_make(const pickle_claim *claim, PyObject *holder, const Py_buffer *buffer, dlpark_tensor *out)
{
    dlpark_view view;
    dlpark_error err;
    bool is_read_only = claim->is_read_only || buffer->readonly != 0;
    const dlpark_tensor_desc desc = {
        .data = buffer->buf,
        .dtype = claim->dtype,
        .ndim = claim->shape.count,
        .shape = DLPARK_DIMS(claim->shape.values),
        .flags = (is_read_only ? DLPARK_TENSOR_READ_ONLY : 0) | (claim->is_padded ? DLPARK_TENSOR_PADDED : 0),
        .owner = Py_NewRef(holder),
        .release = dlpark__py_drop_anywhere,
    };

    if (dlpark_tensor_new(out, &desc, &view, &err) != DLPARK_OK) {
        Py_DECREF(holder);
        dlpark__py_raise_value(&err);
        return -1;
    }
    if (dlpark_view_nbytes(&view) == buffer->len)
        return 0;
    char text[256];
    dlpark_view_describe(&view, text, sizeof text);
    PyErr_Format(PyExc_ValueError, "%s takes %lld bytes, and the buffer has %zd", text,
                 (long long)dlpark_view_nbytes(&view), buffer->len);
    dlpark__py_tensor_release(out);
    return -1;
}

PyObject *dlpark__py_from_buffer(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    module_state *state = PyModule_GetState(module);
    const dlpark_py_origin origin = {.path = DLPARK_PY_PATH_BUFFER};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    pickle_claim claim;
    Py_buffer *buffer = NULL;
    PyObject *object = NULL;

    if (nargs != 5)
        return PyErr_Format(PyExc_TypeError, "_from_buffer() takes 5 positional arguments (%zd given)", nargs);
    if (pickle_read_claim(args, &claim) < 0)
        return NULL;
    /* No memoryview: the garbage collector shows it to everybody, and whoever releases it pulls the memory away. */
    PyObject *holder = dlpark__py_buffer_hold(args[0], PyBUF_SIMPLE, false, &buffer);
    if (holder == NULL)
        return NULL;
    if (pickle_make(&claim, holder, buffer, &tensor) == 0)
        object = dlpark__py_tensor_object_new(state->tensor_type, &tensor, &origin);
    dlpark__py_tensor_release(&tensor); /* ours still, only if there is no object */
    dlpark__py_drop(holder);
    return object;
}

/* ---- copy.copy(), copy.deepcopy() ---- */

PyObject *dlpark__py_tensor_copy_handle(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return dlpark__py_tensor_part(self, NULL);
}

PyObject *dlpark__py_tensor_deepcopy(PyObject *self, PyObject *memo)
{
    (void)memo;
    return dlpark__py_tensor_copy(self, NULL, 0, NULL);
}

/* ---- What help() says ---- */

const char dlpark__py_from_buffer_doc[] =
    "_from_buffer(buffer, dtype, shape, readonly, padded, /)\n--\n\n"
    "A Tensor of a buffer's memory, row-major, as pickles of Tensors are read. What they say is checked.";
const char dlpark__py_tensor_reduce_doc[] =
    "__reduce_ex__($self, protocol, /)\n--\n\n"
    "For pickle. From protocol 5 on the memory is a buffer that can travel out of band, without a copy;\n"
    "elements that are not compact are copied row-major. TypeError where the host cannot read them.";
const char dlpark__py_tensor_copy_handle_doc[] = "__copy__($self, /)\n--\n\n"
                                                 "Another Tensor of the same memory, for copy.copy().";
const char dlpark__py_tensor_deepcopy_doc[] = "__deepcopy__($self, memo, /)\n--\n\n"
                                              "As copy(), for copy.deepcopy().";
