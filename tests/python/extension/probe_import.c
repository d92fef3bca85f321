/*
 * What the tests of py_import.h reach.
 */
#include "numpy_arrays.h"
#include "probe.h"

#include <stdlib.h>

/* The pending exception as an object, None where there is none. */
static void probe_catch(PyObject **out)
{
    PyObject *type, *traceback;

    PyErr_Fetch(&type, out, &traceback);
    PyErr_NormalizeException(&type, out, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    if (*out == NULL)
        *out = Py_NewRef(Py_None);
}

/* ---- Options ---- */

/* A Python function as options.order: an exception fails with it, False without one. */
static int probe_order(void *context, DLDevice device, void *producer, void *consumer)
{
    PyObject *answer =
        PyObject_CallFunction(context, "(ii)KK", (int)device.device_type, (int)device.device_id,
                              (unsigned long long)(uintptr_t)producer, (unsigned long long)(uintptr_t)consumer);
    bool failed = answer == NULL || answer == Py_False;

    Py_XDECREF(answer);
    return failed ? -1 : 0;
}

/* (object, **options): the fields of dlpark_py_options by name. */
static int probe_options(PyObject *args, PyObject *keywords, PyObject **object, dlpark_py_options *options)
{
    static char *names[] = {
        "",      "paths", "copy", "device", "writable", "byteswap", "to_compact", "stream", "on_producer_stream",
        "order", NULL};
    unsigned paths = 0;
    int copy = 0, writable = 0, byteswap = 0, to_compact = 0, on_producer_stream = 0;
    PyObject *device = Py_None, *stream = NULL, *order = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|IiOpppOpO", names, object, &paths, &copy, &device, &writable,
                                     &byteswap, &to_compact, &stream, &on_producer_stream, &order))
        return -1;
    *options = (dlpark_py_options){.paths = paths,
                                   .copy = (dlpark_py_copy)copy,
                                   .has_device = device != Py_None,
                                   .writable = writable != 0,
                                   .byteswap = byteswap != 0,
                                   .to_compact = to_compact != 0,
                                   .on_producer_stream = on_producer_stream != 0,
                                   .stream = stream,
                                   .order = order != NULL ? probe_order : NULL,
                                   .order_context = order};
    return device == Py_None ? 0 : dlpark__py_device(device, "device", &options->device);
}

/* ---- Results ---- */

static PyObject *probe_list(int32_t count, const int64_t *values)
{
    PyObject *list = PyList_New(0);

    for (int32_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (value == NULL || PyList_Append(list, value) < 0)
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

/* (data, dtype, device, shape, strides, flags) */
static PyObject *probe_view(const dlpark_view *view)
{
    return Py_BuildValue("(KssNNI)", (unsigned long long)(uintptr_t)view->data,
                         dlpark_dtype_long_name(view->dtype).text, dlpark_device_name(view->device).text,
                         probe_list(view->ndim, view->shape), probe_list(view->ndim, view->strides), view->flags);
}

/* (path, is_copied, stream or None) */
static PyObject *probe_origin(const dlpark_py_origin *origin)
{
    PyObject *stream = origin->has_stream ? PyLong_FromVoidPtr(origin->stream) : Py_NewRef(Py_None);

    return Py_BuildValue("(INN)", origin->path, PyBool_FromLong(origin->is_copied), stream);
}

/* A capsule of the tensor with the origin, and what its view says. Takes the tensor. */
static PyObject *probe_imported(dlpark_tensor *tensor, const dlpark_py_origin *origin)
{
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    PyObject *capsule = dlpark_py_capsule_new(tensor);
    dlpark__py_tensor_release(tensor);
    return capsule != NULL ? Py_BuildValue("(NNN)", capsule, probe_origin(origin), probe_view(&view)) : NULL;
}

/* ---- Functions ---- */

/* py_import(object, **options): (capsule, origin, view) */
static PyObject *probe_py_import(PyObject *module, PyObject *args, PyObject *keywords)
{
    PyObject *object;
    dlpark_py_options options;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_py_origin origin = {.path = 0xFFFF};

    (void)module;
    if (probe_options(args, keywords, &object, &options) < 0)
        return NULL;
    if (dlpark_py_import(&tensor, object, keywords != NULL ? &options : NULL, &origin) == 0)
        return probe_imported(&tensor, &origin);
    if (tensor.managed != NULL || origin.path != 0xFFFF || PyErr_Occurred() == NULL)
        return PyErr_Format(PyExc_SystemError, "a failed import has left something, or no exception");
    return NULL;
}

/* py_view(object, **options): (view, whether something had to be owned) */
static PyObject *probe_py_view(PyObject *module, PyObject *args, PyObject *keywords)
{
    PyObject *object;
    dlpark_py_options options;
    dlpark_tensor owner = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)module;
    if (probe_options(args, keywords, &object, &options) < 0)
        return NULL;
    if (dlpark_py_view(&view, &owner, object, keywords != NULL ? &options : NULL) < 0) {
        if (owner.managed != NULL || PyErr_Occurred() == NULL)
            return PyErr_Format(PyExc_SystemError, "a failed view has left something, or no exception");
        return NULL;
    }
    PyObject *result = Py_BuildValue("(NN)", probe_view(&view), PyBool_FromLong(owner.managed != NULL));
    dlpark__py_tensor_release(&owner);
    return result;
}

/* lend(object, **options): the same without a look at whether the memory may be written */
static PyObject *probe_lend(PyObject *module, PyObject *args, PyObject *keywords)
{
    dlpark__py_state *state = dlpark__py_state_get();
    PyObject *object;
    dlpark_py_options options;
    dlpark_tensor owner = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    (void)module;
    if (state == NULL || probe_options(args, keywords, &object, &options) < 0)
        return NULL;
    const dlpark__py_type *entry = dlpark__py_type_of(state, Py_TYPE(object));
    if (dlpark__py_lend(state, object, entry, &options, &view, &owner.managed) < 0)
        return NULL;
    PyObject *result = Py_BuildValue("(NN)", probe_view(&view), PyBool_FromLong(owner.managed != NULL));
    dlpark__py_tensor_release(&owner);
    return result;
}

/* request(object, **options): (device, path, whether it is held, what then is imported); options.paths for the first step.
 * With `copy` 99 the request is dropped, and the last is None. */
static PyObject *probe_request(PyObject *module, PyObject *args, PyObject *keywords)
{
    PyObject *object, *imported;
    dlpark_py_options options;
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_py_request request;
    dlpark_py_origin origin;

    (void)module;
    if (probe_options(args, keywords, &object, &options) < 0 ||
        dlpark_py_request_init(&request, object, options.paths) < 0)
        return NULL;
    dlpark_name device = dlpark_device_name(request.device);
    bool is_held = request.tensor.managed != NULL;
    unsigned path = request.path;
    if ((int)options.copy == 99) {
        dlpark_py_request_clear(&request);
        dlpark_py_request_clear(&request);
        imported = Py_NewRef(Py_None);
    } else {
        options.paths = 0;
        imported = dlpark_py_request_import(&request, &tensor, &options, &origin) == 0
                       ? probe_imported(&tensor, &origin)
                       : NULL;
        if (request.object != NULL || request.tensor.managed != NULL)
            return PyErr_Format(PyExc_SystemError, "a request has not ended");
    }
    return imported != NULL ? Py_BuildValue("(sINN)", device.text, path, PyBool_FromLong(is_held), imported) : NULL;
}

/* request_again(object): a request that has ended, asked once more */
static PyObject *probe_request_again(PyObject *module, PyObject *object)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_py_request request;

    (void)module;
    if (dlpark_py_request_init(&request, object, 0) < 0)
        return NULL;
    dlpark_py_request_clear(&request);
    return dlpark_py_request_import(&request, &tensor, NULL, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *probe_table(const DLPackExchangeAPI *table)
{
    return table != NULL ? PyLong_FromVoidPtr((void *)(uintptr_t)table) : Py_NewRef(Py_None);
}

/* type_of(type): (route, address of the exchange table or None, framework) */
static PyObject *probe_type_of(PyObject *module, PyObject *type)
{
    dlpark__py_state *state = dlpark__py_state_get();

    (void)module;
    if (state == NULL)
        return NULL;
    const dlpark__py_type entry = *dlpark__py_type_of(state, (PyTypeObject *)type);
    return Py_BuildValue("(iNi)", (int)entry.route, probe_table(entry.exchange), (int)entry.framework);
}

/* exchange_of(type): the address of its table or None */
static PyObject *probe_exchange_of(PyObject *module, PyObject *type)
{
    (void)module;
    return probe_table(dlpark_py_exchange_of((PyTypeObject *)type));
}

/* numpy_new(dtype, shape): (array, view); None where NumPy is not there */
static PyObject *probe_numpy_new(PyObject *module, PyObject *args)
{
    dlpark__py_state *state = dlpark__py_state_get();
    const dlpark__py_numpy *numpy = state != NULL ? dlpark__py_numpy_get(state) : NULL;
    const char *name;
    PyObject *tuple;
    DLDataType dtype;
    int64_t shape[128];
    dlpark_view view;
    dlpark_error err;

    (void)module;
    if (!PyArg_ParseTuple(args, "sO!", &name, &PyTuple_Type, &tuple))
        return NULL;
    if (dlpark_dtype_parse(name, &dtype, &err))
        return dlpark_py_raise(&err);
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++)
        shape[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (numpy == NULL)
        Py_RETURN_NONE;
    PyObject *array = dlpark__py_numpy_new(numpy, dtype, (int32_t)PyTuple_Size(tuple), shape, &view);
    return array != NULL ? Py_BuildValue("(NN)", array, probe_view(&view)) : NULL;
}

/* shared(): whether dlpark._core is found, by the kit's own way of importing it */
static PyObject *probe_shared(PyObject *module, PyObject *unused)
{
    dlpark__py_state *state = dlpark__py_state_get();

    (void)module;
    (void)unused;
    if (state == NULL || dlpark__py_shared_get(state) == NULL)
        return NULL;
    Py_RETURN_TRUE;
}

/* ---- An exchange table whose functions are methods of the object ---- */

static PyObject *probe_stream_function; /* called for the current stream */

/* 0 and the address that the method returned; -1 with its exception, or for None without one. */
static int probe_address(PyObject *answer, void **out)
{
    int status = answer == NULL || answer == Py_None ? -1 : 0;

    if (status == 0)
        *out = PyLong_AsVoidPtr(answer);
    Py_XDECREF(answer);
    return status;
}

static int probe_table_own(void *object, DLManagedTensorVersioned **out)
{
    void *address;

    if (probe_address(PyObject_CallMethod(object, "own", NULL), &address) < 0)
        return -1;
    *out = address;
    return 0;
}

static int probe_table_lend(void *object, DLTensor *out)
{
    void *address;

    if (probe_address(PyObject_CallMethod(object, "lend", NULL), &address) < 0)
        return -1;
    *out = *(const DLTensor *)address;
    return 0;
}

static int probe_table_stream(DLDeviceType type, int32_t id, void **out)
{
    return probe_address(PyObject_CallFunction(probe_stream_function, "ii", (int)type, (int)id), out);
}

/* table_functions(current_stream): addresses of own(), lend() and current_stream() as C functions */
static PyObject *probe_table_functions(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(probe_stream_function, Py_NewRef(function));
    return Py_BuildValue("(KKK)", (unsigned long long)(uintptr_t)probe_table_own,
                         (unsigned long long)(uintptr_t)probe_table_lend,
                         (unsigned long long)(uintptr_t)probe_table_stream);
}

/* ---- An object with a table that needs no Python: of 2 x 3 float32, each owner counted ---- */

static long probe_owners;

static void probe_lender_end(DLManagedTensorVersioned *managed)
{
    probe_owners--;
    free(managed);
}

static void probe_lender_fill(DLTensor *tensor)
{
    static int64_t shape[] = {2, 3}, strides[] = {3, 1};
    static float data[6];

    *tensor = (DLTensor){
        .data = data, .device = DLPARK_DEVICE_CPU, .ndim = 2, .dtype = DLPARK_F32, .shape = shape, .strides = strides};
}

static int probe_lender_own(void *object, DLManagedTensorVersioned **out)
{
    DLManagedTensorVersioned *managed = calloc(1, sizeof *managed);

    (void)object;
    if (managed == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    managed->version = dlpark_abi_version();
    managed->deleter = probe_lender_end;
    probe_lender_fill(&managed->dl_tensor);
    probe_owners++;
    *out = managed;
    return 0;
}

static int probe_lender_lend(void *object, DLTensor *out)
{
    (void)object;
    probe_lender_fill(out);
    return 0;
}

static DLPackExchangeAPI probe_lender_table = {.header = {{1, 3}, NULL},
                                               .managed_tensor_from_py_object_no_sync = probe_lender_own,
                                               .dltensor_from_py_object_no_sync = probe_lender_lend};

/* lender_table(): its table as a capsule. lender_owners(): how many owners live. */
static PyObject *probe_lender_capsule(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyCapsule_New(&probe_lender_table, "dlpack_exchange_api", NULL);
}

static PyObject *probe_lender_owners(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(probe_owners);
}

#define PROBE_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

/* outputs(object): what import, view and request into a tensor that holds one raise, and whether it was let alone. */
static PyObject *probe_outputs(PyObject *module, PyObject *object)
{
    PyObject *raised[3] = {NULL, NULL, NULL};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_py_request request;
    dlpark_view view;

    (void)module;
    if (dlpark_tensor_alloc(&tensor, &(dlpark_tensor_desc){.dtype = DLPARK_U8}, NULL, NULL) != DLPARK_OK)
        return PyErr_NoMemory();
    const DLManagedTensorVersioned *held = tensor.managed;
    bool same = dlpark_py_import(&tensor, object, NULL, NULL) < 0 && tensor.managed == held;
    probe_catch(&raised[0]);
    same = dlpark_py_view(&view, &tensor, object, NULL) < 0 && tensor.managed == held && same;
    probe_catch(&raised[1]);
    if (dlpark_py_request_init(&request, object, 0) == 0)
        same = dlpark_py_request_import(&request, &tensor, NULL, NULL) < 0 && tensor.managed == held && same;
    probe_catch(&raised[2]);
    dlpark_tensor_release(&tensor);
    return Py_BuildValue("(NNNO)", raised[0], raised[1], raised[2], same ? Py_True : Py_False);
}

PyMethodDef probe_import_functions[] = {
    {"py_import", PROBE_KEYWORDS(probe_py_import), METH_VARARGS | METH_KEYWORDS, NULL},
    {"py_view", PROBE_KEYWORDS(probe_py_view), METH_VARARGS | METH_KEYWORDS, NULL},
    {"lend", PROBE_KEYWORDS(probe_lend), METH_VARARGS | METH_KEYWORDS, NULL},
    {"request", PROBE_KEYWORDS(probe_request), METH_VARARGS | METH_KEYWORDS, NULL},
    {"request_again", probe_request_again, METH_O, NULL},
    {"type_of", probe_type_of, METH_O, NULL},
    {"exchange_of", probe_exchange_of, METH_O, NULL},
    {"numpy_new", probe_numpy_new, METH_VARARGS, NULL},
    {"table_functions", probe_table_functions, METH_O, NULL},
    {"lender_table", probe_lender_capsule, METH_NOARGS, NULL},
    {"lender_owners", probe_lender_owners, METH_NOARGS, NULL},
    {"outputs", probe_outputs, METH_O, NULL},
    {"shared", probe_shared, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
