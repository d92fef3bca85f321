/*
 * The consumer's side: from_dlpack().
 */
#include <string.h>

#include "module.h"

/* ---- After the import: device and copy ---- */

/* Gives the tensor, which lies in memory that the host reads, the device "cpu". */
static dlpark_status consume_as_cpu(dlpark_tensor *tensor, dlpark_error *err)
{
    dlpark_tensor relabelled = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    dlpark_tensor_view(tensor, &view);
    dlpark_tensor_desc desc = {
        .data = view.data,
        .dtype = view.dtype,
        .ndim = view.ndim,
        .shape = DLPARK_DIMS(view.shape),
        .strides = DLPARK_DIMS(view.strides),
        .flags = (view.flags & DLPARK_VIEW_PADDED ? DLPARK_TENSOR_PADDED : 0) |
                 (view.flags & DLPARK_VIEW_READ_ONLY ? DLPARK_TENSOR_READ_ONLY : 0),
        .owner = tensor->managed,
    };
    /* The end of life moves into the new header; should that fail, the tensor is as before. */
    dlpark_tensor moved = *tensor;
    dlpark_tensor_export_deleter(&moved, &desc.release, &desc.owner);
    DLPARK_TRY(dlpark_tensor_new(&relabelled, &desc, NULL, err));
    *tensor = relabelled;
    return view.flags & DLPARK_VIEW_UNKNOWN_WRITE ? dlpark__py_forget_write(tensor, err) : DLPARK_OK;
}

/* Sees to the device that was asked for. */
static int consume_fit_device(module_state *state, dlpark_tensor *tensor, const tensor_request *request, bool is_copied)
{
    DLDevice device = tensor->managed->dl_tensor.device;
    dlpark_error err;

    if (!request->has_device || dlpark_device_equal(device, request->device))
        return 0;
    if (dlpark__py_is_host(device) && dlpark_device_equal(request->device, DLPARK_DEVICE_CPU)) {
        if (request->copy == COPY_ALWAYS && !is_copied) /* the copy will be on the CPU */
            return 0;
        if (consume_as_cpu(tensor, &err) == DLPARK_OK)
            return 0;
        dlpark__py_raise(&err);
        return -1;
    }
    if (request->copy == COPY_NEVER)
        return dlpark__py_raise_device_copy(state, device, request->device);
    dlpark_name has = dlpark_device_name(device);
    dlpark_name wants = dlpark_device_name(request->device);
    PyErr_Format(PyExc_BufferError, "the tensor came on %s, and %s was asked for%s", has.text, wants.text,
                 dlpark__py_host_hint(device));
    return -1;
}

/* Sees to the copy that was asked for. */
static int consume_fit_copy(dlpark_tensor *tensor, const tensor_request *request, bool *is_copied)
{
    dlpark_tensor copy = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    if (request->copy == COPY_NEVER && *is_copied) {
        PyErr_SetString(PyExc_BufferError, "the producer made a copy although copy=False was asked for");
        return -1;
    }
    if (request->copy != COPY_ALWAYS || *is_copied)
        return 0;
    dlpark_tensor_view(tensor, &view);
    if (!dlpark__py_is_host(view.device) ||
        !(dlpark_device_equal(view.device, DLPARK_DEVICE_CPU) || request->has_device)) {
        dlpark_name name = dlpark_device_name(view.device);
        PyErr_Format(PyExc_BufferError, "copy=True: the producer did not make a copy, and on %s dlpark cannot",
                     name.text);
        return -1;
    }
    if (dlpark__py_copy(&view, &copy) < 0)
        return -1;
    dlpark__py_tensor_release(tensor);
    *tensor = copy;
    *is_copied = true;
    return 0;
}

/* Makes the object. Takes the tensor, on failure too. */
static PyObject *consume_finish(module_state *state, dlpark_tensor *tensor, bool is_copied,
                                const tensor_request *request)
{
    PyObject *object = NULL;

    if (consume_fit_device(state, tensor, request, is_copied) == 0 &&
        consume_fit_copy(tensor, request, &is_copied) == 0)
        object = dlpark__py_tensor_object_new(state, tensor, is_copied);
    dlpark__py_tensor_release(tensor);
    return object;
}

/* Consumes a capsule and drops the reference to it, before any exception is set. */
static PyObject *consume_capsule(module_state *state, PyObject *capsule, const tensor_request *request)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    bool is_copied;
    dlpark_error err;
    dlpark_status status = dlpark__py_capsule_import(capsule, &tensor, &is_copied, &err);

    Py_DECREF(capsule);
    if (status != DLPARK_OK)
        return dlpark__py_raise(&err);
    return consume_finish(state, &tensor, is_copied, request);
}

/* ---- The producer's methods ---- */

/* One call of __dlpack__: up to four keywords, some of which an old producer may not know. */
typedef struct producer_call {
    PyObject *producer;
    bool has_device; /* whether the producer says where it is; those of 2021 and before may not */
    DLDevice device;
    tensor_request request;
    int count;
    PyObject *names[4];  /* borrowed from the module's state */
    PyObject *values[4]; /* owned */
} producer_call;

/* Takes the value. */
static int producer_add(producer_call *call, PyObject *name, PyObject *value)
{
    if (value == NULL)
        return -1;
    call->names[call->count] = name;
    call->values[call->count] = value;
    call->count++;
    return 0;
}

static void producer_clear(producer_call *call)
{
    for (int i = 0; i < call->count; i++)
        dlpark__py_drop(call->values[i]);
    call->count = 0;
}

/* Whether the producer has to be asked for another device than its own. */
static bool producer_moves(const producer_call *call)
{
    const tensor_request *request = &call->request;

    return request->has_device && !(call->has_device && dlpark_device_equal(request->device, call->device));
}

/*
 * The keywords of a call: only those that say something. The stream on which the data shall be ready is the legacy
 * default one, unless the data is to come to the host; a producer's own default may be no synchronisation at all.
 */
static int producer_fill(module_state *state, producer_call *call)
{
    const tensor_request *request = &call->request;
    bool moves = producer_moves(call);
    bool is_cuda = call->device.device_type == kDLCUDA || call->device.device_type == kDLCUDAManaged;
    bool is_rocm = call->device.device_type == kDLROCM;

    if (producer_add(call, state->name_max_version, Py_NewRef(state->abi_version)) < 0)
        return -1;
    if (moves &&
        producer_add(call, state->name_dl_device,
                     Py_BuildValue("(ii)", (int)request->device.device_type, (int)request->device.device_id)) < 0)
        return -1;
    if (request->copy != COPY_IF_NEEDED &&
        producer_add(call, state->name_copy, PyBool_FromLong(request->copy == COPY_ALWAYS)) < 0)
        return -1;
    if ((is_cuda || is_rocm) && !moves)
        return producer_add(call, state->name_stream, PyLong_FromLong(is_cuda ? 1 : 0));
    return 0;
}

static PyObject *producer_call_once(module_state *state, const producer_call *call)
{
    PyObject *args[5] = {call->producer, NULL, NULL, NULL, NULL};
    PyObject *names = NULL;

    if (call->count == 1 && call->names[0] == state->name_max_version) {
        names = Py_NewRef(state->only_max_version);
    } else if (call->count > 0) {
        names = PyTuple_New(call->count);
        for (int i = 0; names != NULL && i < call->count; i++)
            PyTuple_SetItem(names, i, Py_NewRef(call->names[i]));
        if (names == NULL)
            return NULL;
    }
    for (int i = 0; i < call->count; i++)
        args[i + 1] = call->values[i];
    PyObject *result = PyObject_VectorcallMethod(state->name_dlpack, args, 1, names);
    dlpark__py_drop(names);
    return result;
}

/*
 * Whether a TypeError complains of a keyword of this call. *at: which of them, -1: keywords as such. The same words come
 * from calls that the producer makes; those have been through a frame of its own, and name another function.
 */
static bool producer_blames(const producer_call *call, const char *text, bool has_frames, int *at)
{
    bool is_ours = strstr(text, "__dlpack__()") != NULL;
    bool is_named = (is_ours || !has_frames) &&
                    (strstr(text, "unexpected keyword") != NULL || strstr(text, "invalid keyword") != NULL);

    for (int i = 0; is_named && i < call->count; i++) {
        char quoted[32];
        const char *name = PyUnicode_AsUTF8AndSize(call->names[i], NULL);
        PyOS_snprintf(quoted, sizeof quoted, "'%s'", name != NULL ? name : "");
        if (strstr(text, quoted) != NULL) {
            *at = i;
            return true;
        }
    }
    *at = -1;
    return is_ours && (strstr(text, "takes no keyword arguments") != NULL ||
                       strstr(text, "incompatible function arguments") != NULL);
}

/* Whether the call can do without a keyword, because dlpark can do itself what it asks. */
static bool producer_may_drop(module_state *state, const producer_call *call, PyObject *name)
{
    /* Of a producer that does not say where it is, the import sees whether what came is enough. */
    bool is_host = !call->has_device || dlpark__py_is_host(call->device);

    if (name == state->name_max_version)
        return true;
    if (name == state->name_copy)
        return call->request.copy == COPY_ALWAYS && is_host;
    if (name == state->name_dl_device)
        return !call->has_device || (is_host && dlpark_device_equal(call->request.device, DLPARK_DEVICE_CPU));
    return false;
}

/* Leaves out the keyword at `at`, or all when it is -1. -1 when one of them must not be dropped: with a BufferError. */
static int producer_drop(module_state *state, producer_call *call, int at)
{
    int kept = 0;

    for (int i = 0; i < call->count; i++) {
        bool is_dropped = at == -1 || at == i;
        if (is_dropped && !producer_may_drop(state, call, call->names[i])) {
            dlpark_name type = dlpark__py_type_name(call->producer);
            PyErr_Format(PyExc_BufferError, "%s.__dlpack__() does not know the keyword %U, so it cannot promise %U=%R",
                         type.text, call->names[i], call->names[i], call->values[i]);
            return -1;
        }
    }
    for (int i = 0; i < call->count; i++) {
        if (at == -1 || at == i) {
            Py_DECREF(call->values[i]);
            continue;
        }
        call->names[kept] = call->names[i];
        call->values[kept] = call->values[i];
        kept++;
    }
    call->count = kept;
    return 0;
}

/* Looks at the pending TypeError. 1: it was about keywords, and the call has been changed. 0: it stays pending. */
static int producer_adapt(module_state *state, producer_call *call)
{
    pending_error error = dlpark__py_error_save();
    PyObject *text = error.value != NULL ? PyObject_Str(error.value) : NULL;
    const char *utf8 = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool has_frames = dlpark__py_error_has_frames(&error);
    int at = -1;
    bool is_about_keywords = utf8 != NULL && call->count > 0 && producer_blames(call, utf8, has_frames, &at);

    PyErr_Clear();
    Py_XDECREF(text);
    if (!is_about_keywords) {
        dlpark__py_error_restore(&error);
        return 0;
    }
    dlpark__py_error_discard(&error);
    return producer_drop(state, call, at) < 0 ? -1 : 1;
}

static PyObject *producer_call_dlpack(module_state *state, producer_call *call)
{
    for (;;) {
        PyObject *capsule = producer_call_once(state, call);
        if (capsule != NULL || !PyErr_ExceptionMatches(PyExc_TypeError))
            return capsule;
        if (producer_adapt(state, call) <= 0)
            return NULL;
    }
}

/* Whether the pending exception is there because the method is missing: then it is dropped. */
static bool producer_lacks(PyObject *producer, PyObject *method)
{
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return false;
    pending_error error = dlpark__py_error_save();
    if (PyObject_HasAttr(producer, method)) {
        dlpark__py_error_restore(&error); /* it came from inside the method */
        return false;
    }
    dlpark__py_error_discard(&error);
    return true;
}

static int producer_ask_device(module_state *state, producer_call *call)
{
    PyObject *args[1] = {call->producer};
    PyObject *pair = PyObject_VectorcallMethod(state->name_dlpack_device, args, 1, NULL);

    if (pair == NULL)
        return producer_lacks(call->producer, state->name_dlpack_device) ? 0 : -1;
    const char *what = "__dlpack_device__()";
    char named[80];
    if (!PyTuple_CheckExact(pair)) { /* the name of the type is for a complaint, and costs as much as the call */
        PyOS_snprintf(named, sizeof named, "%s.__dlpack_device__()", dlpark__py_type_name(call->producer).text);
        what = named;
    }
    int status = dlpark__py_device_pair(pair, what, &call->device);
    call->has_device = status == 0;
    dlpark__py_drop(pair);
    return status;
}

static PyObject *producer_consume(module_state *state, PyObject *producer, const tensor_request *request)
{
    producer_call call = {.producer = producer, .request = *request};

    if (producer_ask_device(state, &call) < 0)
        return NULL;
    if (call.has_device && producer_moves(&call) && request->copy == COPY_NEVER && !dlpark__py_is_host(call.device)) {
        dlpark__py_raise_device_copy(state, call.device, request->device);
        return NULL;
    }
    PyObject *capsule = producer_fill(state, &call) == 0 ? producer_call_dlpack(state, &call) : NULL;
    producer_clear(&call);
    if (capsule == NULL && producer_lacks(producer, state->name_dlpack)) {
        dlpark_name type = dlpark__py_type_name(producer);
        return PyErr_Format(PyExc_AttributeError,
                            "%s has no __dlpack__: it does not offer its data by the DLPack protocol%s", type.text,
                            PyUnicode_Check(producer) ? "" : "; numpy.asarray(...) may make an array of it");
    }
    if (capsule == NULL)
        return NULL;
    if (!PyCapsule_CheckExact(capsule)) {
        dlpark_name type = dlpark__py_type_name(producer);
        dlpark_name returned = dlpark__py_type_name(capsule);
        Py_DECREF(capsule);
        return PyErr_Format(PyExc_TypeError, "%s.__dlpack__() returned %s, not a capsule", type.text, returned.text);
    }
    return consume_capsule(state, capsule, request);
}

/* ---- The function ---- */

/* A Tensor of ours needs no capsule. */
static PyObject *consume_own(module_state *state, PyObject *own, const tensor_request *request)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;

    if (dlpark__py_export(state, (tensor_object *)own, request, &tensor) < 0)
        return NULL;
    PyObject *object = dlpark__py_tensor_object_new(state, &tensor, request->copy == COPY_ALWAYS);
    dlpark__py_tensor_release(&tensor);
    return object;
}

PyObject *dlpark__py_from_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *keyword_names)
{
    static const char *const names[] = {"device", "copy"};
    module_state *state = PyModule_GetState(module);
    PyObject *values[2] = {NULL};
    tensor_request request = {0};

    if (nargs != 1)
        return PyErr_Format(PyExc_TypeError, "from_dlpack() takes 1 positional argument (%zd given)", nargs);
    if (dlpark__py_keywords("from_dlpack", args, nargs, keyword_names, names, values, 2) < 0)
        return NULL;
    request.has_device = values[0] != NULL && values[0] != Py_None;
    if (request.has_device && dlpark__py_device(values[0], "device", &request.device) < 0)
        return NULL;
    if (dlpark__py_copy_wish(values[1], &request.copy) < 0)
        return NULL;
    if (Py_TYPE(args[0]) == state->tensor_type)
        return consume_own(state, args[0], &request);
    if (PyCapsule_CheckExact(args[0]))
        return consume_capsule(state, Py_NewRef(args[0]), &request);
    return producer_consume(state, args[0], &request);
}
