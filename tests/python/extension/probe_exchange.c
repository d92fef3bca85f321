/*
 * What the tests of py_exchange.h reach: types of an extension that are given the exchange table, with functions that do
 * as they are told.
 */
#include <string.h>

#include "probe.h"

/* An owner as extensions write them. */
typedef struct probe_image {
    PyObject_HEAD dlpark_tensor pixels;
} probe_image;

/* What the functions do: the name of a fault, or "". */
static char probe_fault[32];

static bool probe_has_fault(const char *name)
{
    return strcmp(probe_fault, name) == 0;
}

/* A failure as asked for: with an exception of its own, or without one. */
static int probe_fail(void)
{
    if (!probe_has_fault("silent"))
        PyErr_SetString(PyExc_KeyError, "as asked");
    return -1;
}

/* What was asked of current_stream and order last. */
static DLDevice probe_asked_device;
static dlpark_stream probe_asked_stream;

/* ---- The functions of a type ---- */

static dlpark_tensor *probe_image_tensor(PyObject *self)
{
    if (probe_has_fault("raise") || probe_has_fault("silent")) {
        (void)probe_fail();
        return NULL;
    }
    return &((probe_image *)self)->pixels;
}

static int probe_image_share(PyObject *self, dlpark_tensor *out)
{
    dlpark_error err;
    dlpark_tensor *pixels = &((probe_image *)self)->pixels;
    dlpark_view view;

    if (probe_has_fault("raise") || probe_has_fault("silent"))
        return probe_fail();
    if (probe_has_fault("nothing"))
        return 0;
    if (probe_has_fault("copy")) {
        dlpark_tensor_view(pixels, &view);
        return dlpark__py_copy(&view, out);
    }
    if (dlpark_tensor_share(out, pixels, NULL, &err) == DLPARK_OK)
        return probe_has_fault("both") ? probe_fail() : 0;
    dlpark_py_raise(&err);
    return -1;
}

static int probe_image_borrow(PyObject *self, DLTensor *out)
{
    if (probe_has_fault("raise") || probe_has_fault("silent"))
        return probe_fail();
    *out = ((probe_image *)self)->pixels.managed->dl_tensor;
    if (probe_has_fault("no strides"))
        out->strides = NULL;
    if (probe_has_fault("no shape"))
        out->shape = NULL;
    return 0;
}

static PyObject *probe_image_wrap(PyTypeObject *type, dlpark_tensor *tensor)
{
    if (probe_has_fault("raise") || probe_has_fault("silent")) {
        (void)probe_fail();
        return NULL;
    }
    probe_image *self = (probe_image *)PyType_GenericAlloc(type, 0);
    if (self != NULL) {
        self->pixels = *tensor;
        tensor->managed = NULL;
    }
    return (PyObject *)self;
}

static int probe_image_stream(DLDevice device, void **out)
{
    probe_asked_device = device;
    *out = (void *)(uintptr_t)(0x1000 + device.device_id);
    return probe_has_fault("raise") || probe_has_fault("silent") ? probe_fail() : 0;
}

static int probe_image_order(PyObject *self, DLDevice device, dlpark_stream consumer)
{
    (void)self;
    probe_asked_device = device;
    probe_asked_stream = consumer;
    return probe_has_fault("raise") || probe_has_fault("silent") ? probe_fail() : 0;
}

typedef struct probe_functions {
    const char *name;
    dlpark_py_exchange functions;
} probe_functions;

static const probe_functions probe_sets[] = {
    {"tensor", {.tensor = probe_image_tensor}},
    {"tensor all",
     {.tensor = probe_image_tensor,
      .wrap = probe_image_wrap,
      .current_stream = probe_image_stream,
      .order = probe_image_order}},
    {"share", {.share = probe_image_share}},
    {"share all",
     {.share = probe_image_share,
      .wrap = probe_image_wrap,
      .borrow = probe_image_borrow,
      .current_stream = probe_image_stream,
      .order = probe_image_order}},
    {"neither", {.wrap = probe_image_wrap}},
    {"both", {.tensor = probe_image_tensor, .share = probe_image_share}},
};

static const dlpark_py_exchange *probe_find(PyObject *name)
{
    for (size_t i = 0; i < sizeof probe_sets / sizeof probe_sets[0]; i++)
        if (PyUnicode_CompareWithASCIIString(name, probe_sets[i].name) == 0)
            return &probe_sets[i].functions;
    PyErr_Format(PyExc_ValueError, "no set of functions is called %R", name);
    return NULL;
}

/* ---- Types ---- */

static void probe_image_end(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc end = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    dlpark__py_tensor_release(&((probe_image *)self)->pixels);
    end(self);
    if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE))
        Py_DECREF((PyObject *)type);
}

static PyTypeObject probe_static_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "kit_probe.Static",
    .tp_basicsize = sizeof(probe_image),
    .tp_dealloc = probe_image_end,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A static type.",
};

/* exchange_type(flags, methods): a heap type of an image; `flags`: "immutable", "base" or "". `own`: a method that it has
 * of its own already, or None. */
static PyObject *probe_type(PyObject *module, PyObject *args)
{
    static PyMethodDef methods[2];
    const char *flags, *own;

    (void)module;
    if (!PyArg_ParseTuple(args, "sz", &flags, &own))
        return NULL;
    PyType_Slot slots[] = {
        {Py_tp_dealloc, (void *)(uintptr_t)probe_image_end},
        {own != NULL ? Py_tp_methods : 0, methods},
        {0, NULL},
    };
    methods[0] = (PyMethodDef){own, (PyCFunction)probe_type, METH_VARARGS, NULL};
    PyType_Spec spec = {
        .name = "kit_probe.Image",
        .basicsize = (int)sizeof(probe_image),
        .flags = Py_TPFLAGS_DEFAULT | (strcmp(flags, "immutable") == 0 ? Py_TPFLAGS_IMMUTABLETYPE : 0) |
                 (strcmp(flags, "base") == 0 ? Py_TPFLAGS_BASETYPE : 0),
        .slots = slots,
    };
    return PyType_FromSpec(&spec);
}

static PyObject *probe_static(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return Py_NewRef((PyObject *)&probe_static_type);
}

/* install_exchange(type, name of the functions). */
static PyObject *probe_install(PyObject *module, PyObject *args)
{
    PyObject *type, *name;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &type, &name))
        return NULL;
    const dlpark_py_exchange *functions = probe_find(name);
    if (functions == NULL || dlpark_py_install_exchange((PyTypeObject *)type, functions) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* exchange_make(type, producer): an image of the producer's tensor; an empty one for None. */
static PyObject *probe_make(PyObject *module, PyObject *args)
{
    PyObject *type, *producer;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &type, &producer) || PyType_Ready((PyTypeObject *)type) < 0 ||
        (producer != Py_None && dlpark_py_import(&tensor, producer, NULL, NULL) < 0))
        return NULL;
    PyObject *self = PyType_GenericAlloc((PyTypeObject *)type, 0);
    if (self != NULL)
        ((probe_image *)self)->pixels = tensor;
    else
        dlpark__py_tensor_release(&tensor);
    return self;
}

static PyObject *probe_set_fault(PyObject *module, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);

    (void)module;
    if (text == NULL)
        return NULL;
    PyOS_snprintf(probe_fault, sizeof probe_fault, "%s", text);
    Py_RETURN_NONE;
}

/* What current_stream and order were asked last: (device type, device id, kind, handle). */
static PyObject *probe_asked(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return Py_BuildValue("(iiiN)", (int)probe_asked_device.device_type, (int)probe_asked_device.device_id,
                         (int)probe_asked_stream.kind, PyLong_FromVoidPtr(probe_asked_stream.handle));
}

/* ---- The allocator, from a thread that Python does not know ---- */

typedef struct probe_message {
    int calls;
    char kind[32];
    char text[256];
} probe_message;

static void probe_take_message(void *context, const char *kind, const char *message)
{
    probe_message *taken = context;

    taken->calls++;
    PyOS_snprintf(taken->kind, sizeof taken->kind, "%s", kind);
    PyOS_snprintf(taken->text, sizeof taken->text, "%s", message);
}

/* allocate(table, prototype, told): calls the table's allocator without the GIL. (status, address of the tensor, calls of
 * SetError, kind, message). */
static PyObject *probe_allocate(PyObject *module, PyObject *args)
{
    unsigned long long table, prototype;
    int told, status;
    DLManagedTensorVersioned *made = (DLManagedTensorVersioned *)(uintptr_t)1;
    probe_message message = {0};

    (void)module;
    if (!PyArg_ParseTuple(args, "KKp", &table, &prototype, &told))
        return NULL;
    const DLPackExchangeAPI *api = (const DLPackExchangeAPI *)(uintptr_t)table;
    Py_BEGIN_ALLOW_THREADS status = api->managed_tensor_allocator((DLTensor *)(uintptr_t)prototype, &made, &message,
                                                                  told ? probe_take_message : NULL);
    Py_END_ALLOW_THREADS return Py_BuildValue("(iKiss)", status, (unsigned long long)(uintptr_t)made, message.calls,
                                              message.kind, message.text);
}

/* exchange_to_py(table, managed): the member of that name, without an allocation before it. */
static int probe_to_py_calls;

static PyObject *probe_to_py(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    void *made = NULL;

    (void)module;
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "two addresses are needed");
    const DLPackExchangeAPI *api = PyLong_AsVoidPtr(args[0]);
    DLManagedTensorVersioned *managed = PyLong_AsVoidPtr(args[1]);
    if (api == NULL || managed == NULL)
        return NULL;
    probe_to_py_calls++;
    return api->managed_tensor_to_py_object_no_sync(managed, &made) == 0 ? made : NULL;
}

static PyObject *probe_count_to_py(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    return PyLong_FromLong(probe_to_py_calls);
}

/* ---- The methods without a type ---- */

/* answer_dlpack(producer, **keywords): of a tensor that is the caller's own. */
static PyObject *probe_answer_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)module;
    if (nargs < 1 || dlpark_py_import(&tensor, args[0], NULL, NULL) < 0)
        return NULL;
    PyObject *capsule = dlpark_py_answer_dlpack(&tensor, args + 1, nargs - 1, names);
    dlpark__py_tensor_release(&tensor);
    return capsule;
}

static PyObject *probe_answer_device(PyObject *module, PyObject *producer)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    (void)module;
    if (dlpark_py_import(&tensor, producer, NULL, NULL) < 0)
        return NULL;
    PyObject *pair = dlpark_py_answer_dlpack_device(&tensor);
    dlpark__py_tensor_release(&tensor);
    return pair;
}

PyMethodDef probe_exchange_functions[] = {
    {"answer_dlpack", (PyCFunction)(void (*)(void))probe_answer_dlpack, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"answer_dlpack_device", probe_answer_device, METH_O, NULL},
    {"exchange_type", probe_type, METH_VARARGS, NULL},
    {"exchange_static_type", probe_static, METH_NOARGS, NULL},
    {"exchange_make", probe_make, METH_VARARGS, NULL},
    {"exchange_fault", probe_set_fault, METH_O, NULL},
    {"exchange_asked", probe_asked, METH_NOARGS, NULL},
    {"exchange_allocate", probe_allocate, METH_VARARGS, NULL},
    {"exchange_to_py", (PyCFunction)(void (*)(void))probe_to_py, METH_FASTCALL, NULL},
    {"exchange_to_py_calls", probe_count_to_py, METH_NOARGS, NULL},
    {"install_exchange", probe_install, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
