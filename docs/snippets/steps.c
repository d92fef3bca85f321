/* The single steps below a call, and a type of one's own that speaks DLPack: docs/extension.md. */
#include <dlpark/python.h>

/* ---- To look at, to ask, to keep and give out ---- */

static PyObject *describe(PyObject *module, PyObject *object)
{
    DLPARK_UNINITIALIZED dlpark_view view;
    dlpark_tensor owner = DLPARK_TENSOR_EMPTY;
    char line[256];
    (void)module;
    if (dlpark_py_view(&view, &owner, object, NULL) < 0)
        return NULL;
    dlpark_view_describe(&view, line, sizeof line);
    dlpark_tensor_release(&owner); /* empty where the object's type only lent a description */
    return PyUnicode_FromString(line);
}

static PyObject *where(PyObject *module, PyObject *object)
{
    dlpark_py_request request;
    (void)module;
    if (dlpark_py_request_init(&request, object, 0) < 0)
        return NULL;
    PyObject *text = request.has_device ? PyUnicode_FromString(dlpark_device_name(request.device).text) : Py_NewRef(Py_None);
    dlpark_py_request_clear(&request); /* or dlpark_py_request_import(), with a stream of ours on that device */
    return text;
}

static PyObject *last(PyObject *module, PyObject *object)
{
    DLPARK_UNINITIALIZED dlpark_view view;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY, row = DLPARK_TENSOR_EMPTY;
    dlpark_error err;
    (void)module;
    if (dlpark_py_import(&tensor, object, NULL, NULL) < 0)
        return NULL;
    dlpark_tensor_view(&tensor, &view);
    dlpark_status status = dlpark_view_index(&view, 0, -1, &err);
    if (status == DLPARK_OK) status = dlpark_tensor_share(&row, &tensor, &view, &err);
    dlpark_tensor_release(&tensor); /* the row keeps the memory */
    if (status != DLPARK_OK)
        return dlpark_py_raise(&err);
    return dlpark_py_export(&row, DLPARK_SPEC_AS_UNSAID, object); /* takes the row, also when it fails */
}

/* ---- A type ---- */

typedef struct frame {
    PyObject_HEAD
    dlpark_tensor pixels;
} frame;

/* Takes the tensor. */
static PyObject *frame_wrap(PyTypeObject *type, dlpark_tensor *pixels)
{
    frame *self = (frame *)PyType_GenericAlloc(type, 0);
    if (self) self->pixels.managed = dlpark_tensor_export(pixels);
    return (PyObject *)self;
}

static PyObject *frame_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char name[] = "pixels", *names[] = {name, NULL};
    dlpark_tensor pixels = DLPARK_TENSOR_EMPTY;
    PyObject *object;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Frame", names, &object) ||
        dlpark_py_import(&pixels, object, NULL, NULL) < 0)
        return NULL;
    PyObject *self = frame_wrap(type, &pixels);
    dlpark_tensor_release(&pixels); /* empty, unless there is no frame */
    return self;
}

static void frame_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    dlpark_tensor_release(&((frame *)self)->pixels);
    type->tp_free(self);
    Py_DECREF(type);
}

static dlpark_tensor *frame_tensor(PyObject *self)
{
    return &((frame *)self)->pixels;
}

static const dlpark_py_exchange frame_exchange = {.tensor = frame_tensor, .wrap = frame_wrap};

static PyType_Slot frame_slots[] = {
    {Py_tp_new, (void *)frame_new},
    {Py_tp_dealloc, (void *)frame_dealloc},
    {0, NULL},
};

static PyType_Spec frame_spec = {
    .name = "steps.Frame", .basicsize = sizeof(frame), .flags = Py_TPFLAGS_DEFAULT, .slots = frame_slots};

/* ---- The module ---- */

static int steps_exec(PyObject *module)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &frame_spec, NULL);
    int status = type ? dlpark_py_install_exchange(type, &frame_exchange) : -1;
    if (status == 0) status = PyModule_AddType(module, type);
    Py_XDECREF(type);
    return status;
}

static PyMethodDef methods[] = {
    {"describe", describe, METH_O, NULL},
    {"where", where, METH_O, NULL},
    {"last", last, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)steps_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "steps", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit_steps(void)
{
    return PyModuleDef_Init(&definition);
}
