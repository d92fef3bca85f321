/*
 * What the tests of call.h and signature.h reach: functions made of signatures, which tell what they were given.
 */
#include "probe.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A function as probe.function() makes it. It is never freed: Python may keep the function. */
typedef struct probe_function {
    dlpark_signature signatures[4];
    dlpark_overloads overloads;
    PyObject *hook;  /* called between begin and end with what was read; or NULL */
    PyObject *alloc; /* by index of a result that is open, its shape; or NULL */
    bool nogil;      /* with a block without the GIL, which waits for open_gate() */
    bool bare;       /* without telling: None, or the results */
    PyMethodDef definition;
} probe_function;

#define PROBE_FUNCTION "kit_probe.function"

/* ---- What was read ---- */

static PyObject *probe_integers(int32_t count, const int64_t *values)
{
    PyObject *tuple = PyTuple_New(count);

    for (int32_t i = 0; tuple != NULL && i < count; i++)
        PyTuple_SetItem(tuple, i, PyLong_FromLongLong(values[i]));
    return tuple;
}

static PyObject *probe_tell_view(const dlpark_view *view)
{
    return Py_BuildValue("{s:K,s:K,s:N,s:N,s:s,s:s,s:I,s:I}", "address", (unsigned long long)(uintptr_t)view->data,
                         "byte_offset", (unsigned long long)view->byte_offset, "shape",
                         probe_integers(view->ndim, view->shape), "strides", probe_integers(view->ndim, view->strides),
                         "dtype", dlpark_dtype_name(view->dtype).text, "device", dlpark_device_name(view->device).text,
                         "flags", view->flags, "bit_offset", view->bit_offset);
}

static PyObject *probe_tell_tensor(const dlpark_call *call, int32_t index)
{
    const dlpark_signature_argument *argument = &call->signature->arguments[index];
    dlpark_view view;

    if (dlpark_call_view(call, index, &view) < 0)
        return NULL;
    PyObject *told = probe_tell_view(&view);
    PyObject *more = Py_BuildValue("{s:i,s:i,s:K,s:K,s:K}", "owned", (int)(call->owned >> argument->tensor & 1), "lent",
                                   (int)(call->lent >> argument->tensor & 1), "f32",
                                   (unsigned long long)(uintptr_t)DLPARK_CALL_DATA(float, call, index), "f64",
                                   (unsigned long long)(uintptr_t)DLPARK_CALL_DATA(double, call, index), "f32_mut",
                                   (unsigned long long)(uintptr_t)DLPARK_CALL_DATA_MUT(float, call, index));
    if (told == NULL || more == NULL || PyDict_Update(told, more) < 0)
        Py_CLEAR(told);
    Py_XDECREF(more);
    return told;
}

static PyObject *probe_tell_argument(const dlpark_call *call, int32_t index)
{
    if (!dlpark_call_has(call, index))
        Py_RETURN_NONE;
    switch (call->signature->arguments[index].kind) {
    case DLPARK_SIGNATURE_TENSOR:
        return probe_tell_tensor(call, index);
    case DLPARK_SIGNATURE_INT:
        return PyLong_FromLongLong(dlpark_call_int(call, index, -1));
    case DLPARK_SIGNATURE_FLOAT:
        return PyFloat_FromDouble(dlpark_call_float(call, index, -1));
    case DLPARK_SIGNATURE_BOOL:
        return PyBool_FromLong(dlpark_call_bool(call, index, false));
    case DLPARK_SIGNATURE_STR:
        return PyUnicode_FromString(dlpark_call_str(call, index, "?"));
    default:
        return Py_XNewRef(dlpark_call_object(call, index, NULL));
    }
}

static PyObject *probe_tell_arguments(const dlpark_call *call)
{
    PyObject *list = PyList_New(call->signature->narguments);

    for (int32_t i = 0; list != NULL && i < call->signature->narguments; i++) {
        PyObject *told = probe_tell_argument(call, i);
        if (told == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, i, told);
    }
    return list;
}

static PyObject *probe_tell_dims(const dlpark_call *call)
{
    const dlpark_spec_names *names = &call->signature->names;
    PyObject *dict = PyDict_New();

    for (int32_t i = 0; dict != NULL && i < names->ndims; i++) {
        PyObject *extent = PyLong_FromLongLong(dlpark_call_dim(call, names->dims[i]));
        if (extent == NULL || PyDict_SetItemString(dict, names->dims[i], extent) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(extent);
    }
    return dict;
}

static PyObject *probe_tell_results(const dlpark_call *call)
{
    PyObject *list = PyList_New(0);

    for (int32_t i = 0; list != NULL && i < call->signature->nresults; i++) {
        dlpark_view view;
        PyObject *told = NULL;
        if (dlpark_call_result_view(call, i, &view) == 0) {
            told = probe_tell_view(&view);
        } else {
            PyErr_Clear();
            told = Py_NewRef(Py_None);
        }
        if (told == NULL || PyList_Append(list, told) < 0)
            Py_CLEAR(list);
        Py_XDECREF(told);
    }
    return list;
}

static PyObject *probe_tell(const dlpark_call *call, int overload)
{
    void *stream = NULL;

    if (dlpark_call_stream(call, &stream) < 0)
        return NULL;
    return Py_BuildValue("{s:i,s:N,s:N,s:N,s:K,s:i,s:i}", "overload", overload, "args", probe_tell_arguments(call),
                         "dims", probe_tell_dims(call), "results", probe_tell_results(call), "stream",
                         (unsigned long long)(uintptr_t)stream, "heap", call->heap != NULL, "owned", (int)call->owned);
}

/* ---- The function ---- */

static int probe_alloc(dlpark_call *call, PyObject *shapes)
{
    PyObject *key;
    PyObject *value;
    Py_ssize_t at = 0;

    while (shapes != NULL && PyDict_Next(shapes, &at, &key, &value)) {
        int64_t shape[DLPARK_MAX_NDIM];
        Py_ssize_t ndim = PyTuple_Size(value);
        for (Py_ssize_t i = 0; i < ndim && i < DLPARK_MAX_NDIM; i++)
            shape[i] = PyLong_AsLongLong(PyTuple_GetItem(value, i));
        if (PyErr_Occurred() != NULL ||
            dlpark_call_result_alloc(call, (int32_t)PyLong_AsLong(key), (int32_t)ndim, shape) < 0)
            return -1;
    }
    return 0;
}

/* Every byte of a result on the host is the result's number, from 1. */
static void probe_fill(dlpark_call *call)
{
    dlpark_view view;

    for (int32_t i = 0; i < call->signature->nresults; i++) {
        if ((call->made >> i & 1) == 0 || dlpark_call_result_view(call, i, &view) < 0)
            continue;
        if (dlpark_device_is_host_accessible(view.device) && view.data != NULL)
            memset(view.data, i + 1, (size_t)dlpark_view_nbytes(&view));
    }
}

static atomic_int probe_gate;

/* Waits until another thread of Python's has opened the gate; so it could run. */
static bool probe_wait(void)
{
    for (int i = 0; i < 20000 && atomic_load(&probe_gate) == 0; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    return atomic_load(&probe_gate) != 0;
}

static int probe_between(probe_function *function, dlpark_call *call, PyObject *told)
{
    bool waited = false;

    if (function->hook != NULL) {
        PyObject *answer = PyObject_CallOneArg(function->hook, told);
        Py_XDECREF(answer);
        if (answer == NULL)
            return -1;
    }
    if (!function->nogil)
        return 0;
    DLPARK_CALL_NOGIL(*call)
    {
        waited = probe_wait();
    }
    if (PyErr_Occurred() != NULL)
        return -1;
    PyObject *after = probe_tell(call, -1);
    int status = after == NULL ? -1 : PyDict_SetItemString(told, "after", after);
    Py_XDECREF(after);
    return status < 0 ? -1 : PyDict_SetItemString(told, "waited", waited ? Py_True : Py_False);
}

static PyObject *probe_call(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);
    probe_function *function = PyCapsule_GetPointer(self, PROBE_FUNCTION);
    int overload = 0;

    if (function->overloads.count == 1)
        overload = dlpark_call_begin(&call, self, &function->signatures[0], args, nargs, kwnames);
    else
        overload = dlpark_call_begin_overloads(&call, self, &function->overloads, args, nargs, kwnames);
    if (overload < 0)
        return NULL;
    if (function->bare)
        return dlpark_call_end(&call);
    PyObject *told = NULL;
    if (probe_alloc(&call, function->alloc) == 0) {
        probe_fill(&call);
        told = probe_tell(&call, overload);
        if (told != NULL && probe_between(function, &call, told) < 0)
            Py_CLEAR(told);
    }
    PyObject *result = dlpark_call_end(&call);
    if (result == NULL || told == NULL) {
        bool is_silent = PyErr_Occurred() == NULL;
        Py_XDECREF(told);
        Py_XDECREF(result);
        return is_silent ? PyErr_Format(PyExc_SystemError, "a call that failed silently") : NULL;
    }
    return Py_BuildValue("(NN)", told, result);
}

/* function(*signatures, hook=None, alloc=None, nogil=False, bare=False) */
static PyObject *probe_make(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"hook", "alloc", "nogil", "bare", NULL};
    PyObject *empty = PyTuple_New(0);
    PyObject *hook = NULL;
    PyObject *alloc = NULL;
    int nogil = 0;
    int bare = 0;

    (void)module;
    bool parsed =
        empty != NULL && PyArg_ParseTupleAndKeywords(empty, kwargs, "|$OOpp", names, &hook, &alloc, &nogil, &bare) != 0;
    Py_XDECREF(empty);
    probe_function *function = parsed ? calloc(1, sizeof *function) : NULL;
    if (function == NULL)
        return parsed ? PyErr_NoMemory() : NULL;
    for (Py_ssize_t i = 0; i < PyTuple_Size(args) && i < 4; i++) {
        const char *text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(args, i), NULL);
        if (text == NULL || dlpark_signature_init(&function->signatures[i], text) < 0)
            return NULL;
        function->overloads.signatures[function->overloads.count++] = &function->signatures[i];
    }
    function->hook = Py_XNewRef(hook);
    function->alloc = Py_XNewRef(alloc);
    function->nogil = nogil != 0;
    function->bare = bare != 0;
    function->definition =
        (PyMethodDef){"function", (PyCFunction)(void (*)(void))probe_call, METH_FASTCALL | METH_KEYWORDS, NULL};
    PyObject *self = PyCapsule_New(function, PROBE_FUNCTION, NULL);
    PyObject *made = self != NULL ? PyCFunction_NewEx(&function->definition, self, NULL) : NULL;
    Py_XDECREF(self);
    return made;
}

/* signature_text(text): a signature in its one form. */
static PyObject *probe_signature_text(PyObject *module, PyObject *text)
{
    static dlpark_signature signature;
    char printed[8192];
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, NULL);

    (void)module;
    if (utf8 == NULL || dlpark_signature_init(&signature, utf8) < 0)
        return NULL;
    dlpark_signature_text(&signature, printed, sizeof printed);
    return PyUnicode_FromString(printed);
}

static PyObject *probe_open_gate(PyObject *module, PyObject *open)
{
    (void)module;
    atomic_store(&probe_gate, PyObject_IsTrue(open));
    Py_RETURN_NONE;
}

/* without_signature(): a call whose signature was never parsed. */
static PyObject *probe_without(PyObject *module, PyObject *ignored)
{
    static dlpark_signature never;
    static dlpark_overloads none;
    DLPARK_CALL(call);

    (void)ignored;
    if (dlpark_call_begin_overloads(&call, module, &none, NULL, 0, NULL) >= 0 ||
        !PyErr_ExceptionMatches(PyExc_SystemError))
        return PyErr_Format(PyExc_AssertionError, "a call of no overloads");
    PyErr_Clear();
    return dlpark_call_begin(&call, module, &never, NULL, 0, NULL) < 0 ? NULL : dlpark_call_end(&call);
}

/* misuse(tensor, number): what the accessors answer for arguments and results that are not there, or of another kind. */
static PyObject *probe_misuse(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    static dlpark_signature signature;
    DLPARK_CALL(call);
    dlpark_view view;
    bool right = true;

    if (dlpark_signature_init(&signature,
                              "misuse(a: f32, n: int, s?: str, x?: float, b?: bool, o?: object) -> f32[?]") < 0 ||
        dlpark_call_begin(&call, module, &signature, args, nargs, NULL) < 0)
        return NULL;
    right &= dlpark_call_int(&call, 0, -7) == -7 && dlpark_call_int(&call, 2, -7) == -7;
    right &= dlpark_call_float(&call, 1, 0.5) == 0.5 && dlpark_call_float(&call, 3, 0.5) == 0.5;
    right &= dlpark_call_bool(&call, 1, true) && !dlpark_call_bool(&call, 4, false);
    right &= strcmp(dlpark_call_str(&call, 2, "none"), "none") == 0 && dlpark_call_object(&call, 5, NULL) == NULL;
    right &= !dlpark_call_has(&call, -1) && !dlpark_call_has(&call, 6) && !dlpark_call_has(&call, 1000);
    right &= dlpark_call_dim(&call, "q") == -1;
    right &= DLPARK_CALL_DATA(float, &call, 1) == NULL && DLPARK_CALL_DATA_MUT(float, &call, 0) == NULL;
    right &= DLPARK_CALL_RESULT(float, &call, 0) == NULL && DLPARK_CALL_RESULT(float, &call, -1) == NULL;
    right &= dlpark_call_view(&call, 1, &view) < 0 && PyErr_ExceptionMatches(PyExc_ValueError);
    PyErr_Clear();
    right &= dlpark_call_result_view(&call, 0, &view) < 0 && PyErr_ExceptionMatches(PyExc_ValueError);
    PyErr_Clear();
    right &= dlpark_call_result_alloc(&call, 1, 0, NULL) < 0 && PyErr_ExceptionMatches(PyExc_ValueError);
    PyErr_Clear();
    right &= dlpark_call_result_alloc(&call, 0, 1, (int64_t[]){2}) == 0;
    right &= DLPARK_CALL_RESULT(float, &call, 0) != NULL && DLPARK_CALL_RESULT(double, &call, 0) == NULL;
    right &= dlpark_call_result_alloc(&call, 0, 1, (int64_t[]){2}) < 0 && PyErr_ExceptionMatches(PyExc_ValueError);
    PyErr_Clear();
    PyObject *result = dlpark_call_end(&call);
    Py_XDECREF(result);
    return PyBool_FromLong(right && result != NULL);
}

/* retry(): a result for which many shapes are refused before one of rank 0 is made. Whether it took no room. */
static PyObject *probe_retry(PyObject *module, PyObject *ignored)
{
    static dlpark_signature signature;
    int64_t shape[2] = {INT64_MAX / 64, 1};
    DLPARK_CALL(call);

    (void)ignored;
    if (dlpark_signature_init(&signature, "retry() -> f64[...]") < 0 ||
        dlpark_call_begin(&call, module, &signature, NULL, 0, NULL) < 0)
        return NULL;
    for (int i = 0; i < 1000 && dlpark_call_result_alloc(&call, 0, 2, shape) < 0; i++)
        PyErr_Clear();
    bool took_none = call.pool_next == call.pool && call.heap == NULL;
    if (dlpark_call_result_alloc(&call, 0, 0, NULL) == 0)
        *DLPARK_CALL_RESULT(double, &call, 0) = 7;
    PyObject *result = dlpark_call_end(&call);
    return result != NULL ? Py_BuildValue("(NO)", result, took_none ? Py_True : Py_False) : NULL;
}

/* ---- A multiplication, as the manual has it ---- */

static dlpark_signature probe_matmul_signature;

static void probe_multiply(const float *a, const float *b, float *out, int64_t n, int64_t k, int64_t m)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            float sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += a[i * k + l] * b[l * m + j];
            out[i * m + j] = sum;
        }
}

static PyObject *probe_matmul(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    DLPARK_CALL(call);

    if (*probe_matmul_signature.name == '\0' &&
        dlpark_signature_init(&probe_matmul_signature, "matmul(a: f32[n,k] c cpu, b: f32[k,m] c cpu) -> f32[n,m]") < 0)
        return NULL;
    if (dlpark_call_begin(&call, module, &probe_matmul_signature, args, nargs, kwnames) < 0)
        return NULL;
    probe_multiply(DLPARK_CALL_DATA(float, &call, 0), DLPARK_CALL_DATA(float, &call, 1),
                   DLPARK_CALL_RESULT(float, &call, 0), dlpark_call_dim(&call, "n"), dlpark_call_dim(&call, "k"),
                   dlpark_call_dim(&call, "m"));
    return dlpark_call_end(&call);
}

/* ---- A device that is none: tensors that say they are on CUDA, in memory of the host ---- */

static int probe_device_fault; /* what the allocator does wrong: see device_fault() */
static int probe_device_live;
static void *probe_device_stream;

typedef struct probe_device_tensor {
    DLManagedTensorVersioned managed;
    int64_t dims[2 * DLPARK_MAX_NDIM];
    float memory[64];
} probe_device_tensor;

static void probe_device_end(DLManagedTensorVersioned *managed)
{
    probe_device_live--;
    free(managed->manager_ctx);
}

static int probe_device_alloc(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                              void (*complain)(void *, const char *, const char *))
{
    int64_t stride = 1;

    if (probe_device_fault == 1)
        complain(context, "MemoryError", "the device is full");
    if (probe_device_fault == 2)
        complain(context, "no exception at all", "");
    if (probe_device_fault == 3)
        complain(context, NULL, NULL);
    if (probe_device_fault >= 1 && probe_device_fault <= 4)
        return -1;
    if (probe_device_fault == 5)
        return 0;
    probe_device_tensor *made = calloc(1, sizeof *made);
    if (made == NULL)
        return -1;
    probe_device_live++;
    made->managed = (DLManagedTensorVersioned){.version = {1, 3}, .manager_ctx = made, .deleter = probe_device_end};
    DLTensor *tensor = &made->managed.dl_tensor;
    *tensor = *prototype;
    tensor->data = made->memory;
    tensor->shape = made->dims;
    tensor->strides = made->dims + tensor->ndim;
    for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
        tensor->shape[i] = prototype->shape[i] + (probe_device_fault == 6);
        tensor->strides[i] = stride;
        stride *= tensor->shape[i];
    }
    if (probe_device_fault == 7)
        tensor->ndim = -1;
    *out = &made->managed;
    return 0;
}

typedef struct probe_device_object {
    PyObject_HEAD DLManagedTensorVersioned *managed;
} probe_device_object;

static int probe_device_lend(void *object, DLTensor *out)
{
    *out = ((probe_device_object *)object)->managed->dl_tensor;
    return 0;
}

static int probe_device_work_stream(DLDeviceType type, int32_t id, void **out)
{
    (void)type;
    (void)id;
    *out = probe_device_stream;
    return 0;
}

static void probe_device_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    dlpark_managed_release(&((probe_device_object *)self)->managed);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyTypeObject *probe_device_type;

static int probe_device_to_py(DLManagedTensorVersioned *managed, void **out)
{
    probe_device_object *object = PyObject_New(probe_device_object, probe_device_type);

    if (object == NULL) {
        managed->deleter(managed);
        return -1;
    }
    object->managed = managed;
    *out = object;
    return 0;
}

static DLPackExchangeAPI probe_device_table = {.header = {.version = {1, 3}},
                                               .managed_tensor_allocator = probe_device_alloc,
                                               .managed_tensor_to_py_object_no_sync = probe_device_to_py,
                                               .dltensor_from_py_object_no_sync = probe_device_lend,
                                               .current_work_stream = probe_device_work_stream};

static int probe_device_ready(void)
{
    static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)(uintptr_t)probe_device_dealloc}, {0, NULL}};
    static PyType_Spec spec = {"kit_probe.DeviceTensor", (int)sizeof(probe_device_object), 0, Py_TPFLAGS_DEFAULT,
                               slots};

    if (probe_device_type != NULL)
        return 0;
    PyObject *type = PyType_FromSpec(&spec);
    PyObject *capsule = type != NULL ? PyCapsule_New(&probe_device_table, "dlpack_exchange_api", NULL) : NULL;
    int status = capsule != NULL ? PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule) : -1;
    Py_XDECREF(capsule);
    if (status == 0)
        probe_device_type = (PyTypeObject *)type;
    return status;
}

/* device_tensor(device type, device id, *shape): float32. */
static PyObject *probe_device_tensor_new(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    int64_t shape[DLPARK_MAX_NDIM];
    DLManagedTensorVersioned *managed = NULL;
    void *object = NULL;

    (void)module;
    if (probe_device_ready() < 0)
        return NULL;
    for (Py_ssize_t i = 2; i < nargs; i++)
        shape[i - 2] = PyLong_AsLongLong(args[i]);
    DLTensor prototype = {.device = DLPARK_DEVICE((int)PyLong_AsLong(args[0]), (int32_t)PyLong_AsLong(args[1])),
                          .dtype = DLPARK_F32,
                          .ndim = (int32_t)nargs - 2,
                          .shape = shape};
    if (PyErr_Occurred() != NULL || probe_device_alloc(&prototype, &managed, NULL, NULL) < 0 ||
        probe_device_to_py(managed, &object) < 0)
        return NULL;
    return object;
}

/* device_fault(kind, stream): what the allocator does wrong from now on, and what stream the device works on. How many
 * tensors live. */
static PyObject *probe_device_set(PyObject *module, PyObject *args)
{
    unsigned long long stream = 0;

    (void)module;
    if (!PyArg_ParseTuple(args, "iK", &probe_device_fault, &stream))
        return NULL;
    probe_device_stream = (void *)(uintptr_t)stream;
    return PyLong_FromLong(probe_device_live);
}

/* device_members(allocator): whether the table has one. */
static PyObject *probe_device_members(PyObject *module, PyObject *allocator)
{
    (void)module;
    probe_device_table.managed_tensor_allocator = PyObject_IsTrue(allocator) ? probe_device_alloc : NULL;
    Py_RETURN_NONE;
}

#define PROBE_FAST(function) (PyCFunction)(void (*)(void))(function)

PyMethodDef probe_call_functions[] = {
    {"function", PROBE_FAST(probe_make), METH_VARARGS | METH_KEYWORDS, NULL},
    {"signature_text", probe_signature_text, METH_O, NULL},
    {"open_gate", probe_open_gate, METH_O, NULL},
    {"without_signature", probe_without, METH_NOARGS, NULL},
    {"misuse", PROBE_FAST(probe_misuse), METH_FASTCALL, NULL},
    {"retry", probe_retry, METH_NOARGS, NULL},
    {"matmul", PROBE_FAST(probe_matmul), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"device_tensor", PROBE_FAST(probe_device_tensor_new), METH_FASTCALL, NULL},
    {"device_fault", probe_device_set, METH_VARARGS, NULL},
    {"device_members", probe_device_members, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
